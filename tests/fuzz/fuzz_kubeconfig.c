/* A kubeconfig, by way of a file in memory. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/kube/kubeconfig.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kube_config config = {0};
	cleanup_free char *path = NULL;
	struct error err;
	int fd = memfd_create("kubeconfig", MFD_CLOEXEC);

	FUZZ_EXPECT(fd >= 0);
	FUZZ_EXPECT(write(fd, data, size) == (ssize_t)size);
	path = mem_printf("/proc/self/fd/%d", fd);
	if (kube_config_load(NULL, path, NULL, &config, &err) == 0) {
		FUZZ_EXPECT(config.server != NULL);
		kube_config_free(&config);
	}
	close(fd);
	return 0;
}
