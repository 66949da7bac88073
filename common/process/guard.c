/* The first call of every program; see guard.h. */
#include "common/process/guard.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/mem.h"

/* clang says it by __has_feature, gcc by a macro. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

/* Raises the limit of descriptors, which limits connections (common/README.md §8.10). Raising it to the hard limit is
 * always allowed, unless a sandbox forbids the call: then the process runs with what it has. */
void process_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* If a standard descriptor were closed, the next socket would get its number, and log lines would go there. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void process_guard(void)
{
	fill_standard_descriptors();
	process_raise_descriptors();
	json_set_alloc_funcs(mem_alloc, free);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
#if !defined(SANITIZED) && !defined(DEBUG)
	/* Either may be forbidden; the other is there then. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	prctl(PR_SET_DUMPABLE, 0);
#endif
}
