/* Names of processes; see identity.h. */
#include "watcher/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/random.h"

void identity_make(char *out, size_t size)
{
	struct random random;
	char host[64] = "";
	char uuid[UUID_SIZE];

	random_init(&random);
	gethostname(host, sizeof(host) - 1);
	snprintf(out, size, "%s_%s", host, random_uuid(&random, uuid));
}

/* A small file of /proc; false when there is none. */
static bool slurp(const char *path, char *out, size_t size)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, out, size - 1);

	out[len < 0 ? 0 : len] = '\0';
	return len > 0;
}

/* Its start in ticks since boot; false when it is not there, or is only waiting to be reaped. */
static bool start_of(long pid, unsigned long long *out)
{
	char path[64];
	char stat[1024];
	const char *at;
	char state;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	/* the name in brackets may hold anything; the 20th field behind it is the 22nd of all: proc(5) */
	if (!slurp(path, stat, sizeof(stat)) || (at = strrchr(stat, ')')) == NULL || at[1] != ' ')
		return false;
	state = at[2];
	at += 2;
	for (int field = 3; field < 22 && at != NULL; field++) {
		at = strchr(at, ' ');
		at = at == NULL ? NULL : at + 1;
	}
	if (at == NULL || state == 'Z' || state == 'X')
		return false;
	*out = strtoull(at, NULL, 10);
	return true;
}

/* "BOOT-ID/NAMESPACE/" of ourselves. */
static bool write_machine(char *out, size_t size)
{
	char boot[64];
	char space[64];
	ssize_t len = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);

	if (len < 0 || !slurp("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)))
		return false;
	space[len] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
	return (size_t)snprintf(out, size, "%s/%s/", boot, space) < size;
}

void identity_process(char *out, size_t size)
{
	unsigned long long start;
	char machine[128];

	out[0] = '\0';
	if (write_machine(machine, sizeof(machine)) && start_of(getpid(), &start))
		snprintf(out, size, "%s%ld/%llu", machine, (long)getpid(), start);
}

bool identity_process_ended(const char *process)
{
	char machine[128];
	unsigned long long start;
	unsigned long long now;
	long pid;

	if (!write_machine(machine, sizeof(machine)) || strncmp(process, machine, strlen(machine)) != 0 ||
	    sscanf(process + strlen(machine), "%ld/%llu", &pid, &start) != 2)
		return false;
	return !start_of(pid, &now) || now != start;
}
