/* Names of processes; see identity.h. */
#include "common/leader/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

enum { PLACE_SIZE = 160 };

/* A small file of /proc; false when there is none. */
static bool slurp(const char *path, char *out, size_t size)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, out, size - 1);

	out[len < 0 ? 0 : len] = '\0';
	return len > 0;
}

/* Its start in ticks since boot; false when it is not there, or is only waiting to be reaped. *seen: whether /proc said
 * so. */
static bool start_of(long pid, unsigned long long *out, bool *seen)
{
	char path[64];
	char stat[1024];
	const char *at;
	char state;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	/* the name in brackets may hold anything; the 20th field behind it is the 22nd of all: proc(5) */
	*seen = slurp(path, stat, sizeof(stat));
	if (!*seen || (at = strrchr(stat, ')')) == NULL || at[1] != ' ')
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

/* "BOOT-ID/POD/" and "NAMESPACE/" of ourselves. */
static bool write_place(char *pod, size_t pod_size, char *space, size_t space_size)
{
	const char *uid = getenv("POD_UID");
	char boot[64];
	char link[64];
	ssize_t len = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	if (len < 0 || !slurp("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)))
		return false;
	link[len] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
	return (size_t)snprintf(pod, pod_size, "%s/%s/", boot, uid == NULL ? "" : uid) < pod_size &&
	       (size_t)snprintf(space, space_size, "%s/", link) < space_size;
}

/* "/NAMESPACE/NAME" of a StatefulSet's Pod; "" elsewhere. */
static void write_pod_name(char *out, size_t size)
{
	const char *ns = getenv("POD_NAMESPACE");
	const char *name = getenv("STATEFULSET_POD_NAME");

	out[0] = '\0';
	if (ns != NULL && name != NULL && name[0] != '\0' && (size_t)snprintf(out, size, "/%s/%s", ns, name) >= size)
		out[0] = '\0';
}

/* Whether it was of a Pod of our name, which only one can have, and not of ours. pod: "BOOT-ID/POD/" of ourselves. */
static bool former_pod_of_name(const char *process, const char *pod)
{
	const char *uid = strchr(process, '/');
	const char *own = strchr(pod, '/');
	char name[PLACE_SIZE];
	size_t len;

	write_pod_name(name, sizeof(name));
	len = strlen(name);
	/* both have to know their uid */
	if (len == 0 || uid == NULL || uid[1] == '/' || own[1] == '/' || strlen(process) < len ||
	    strcmp(process + strlen(process) - len, name) != 0)
		return false;
	return strncmp(uid, own, strlen(own)) != 0;
}

void identity_process(char *out, size_t size)
{
	unsigned long long start;
	char pod[PLACE_SIZE];
	char space[PLACE_SIZE];
	char name[PLACE_SIZE];
	bool seen;

	out[0] = '\0';
	if (!write_place(pod, sizeof(pod), space, sizeof(space)) || !start_of(getpid(), &start, &seen))
		return;
	write_pod_name(name, sizeof(name));
	if ((size_t)snprintf(out, size, "%s%s%ld/%llu%s", pod, space, (long)getpid(), start, name) >= size)
		out[0] = '\0';
}

bool identity_process_ended(const char *process)
{
	char pod[PLACE_SIZE];
	char space[PLACE_SIZE];
	unsigned long long start;
	unsigned long long now;
	long pid;
	bool seen;

	if (!write_place(pod, sizeof(pod), space, sizeof(space)))
		return false;
	if (former_pod_of_name(process, pod))
		return true;
	if (strncmp(process, pod, strlen(pod)) != 0)
		return false;
	process += strlen(pod);
	if (strncmp(process, space, strlen(space)) != 0)
		return pod[strlen(pod) - 2] != '/' && strncmp(process, "pid:[", strlen("pid:[")) == 0;
	if (sscanf(process + strlen(space), "%ld/%llu", &pid, &start) != 2)
		return false;
	if (start_of(pid, &now, &seen))
		return now != start;
	/* what /proc hides (hidepid), or has no descriptor for, may well run */
	return seen || (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH);
}
