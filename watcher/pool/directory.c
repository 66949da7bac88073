/* The private directory of a pool's bus socket; see pool.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "watcher/pool/pool.h"

#define PREFIX "frameworkcontroller-"
#define SOCKET "bus"

enum { STARTING_S = 60 /* a socket is there a moment before somebody listens */ };

/* Whether it is one of ours whose watcher has ended for certain: its socket is there, nobody holds the directory's
 * lock, and nobody listens. A connection would look like a broken handshake to a living watcher: only one of an older
 * version, which holds no lock, gets it. */
static bool is_left_behind(int directory)
{
	cleanup_close int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat info;

	if (probe < 0 || fstat(directory, &info) < 0 || info.st_uid != geteuid() ||
	    fstatat(directory, SOCKET, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISSOCK(info.st_mode) ||
	    info.st_mtim.tv_sec > clock_wall_ms() / 1000 - STARTING_S || flock(directory, LOCK_EX | LOCK_NB) < 0)
		return false;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SOCKET, directory);
	return connect(probe, (const struct sockaddr *)&address, sizeof(address)) < 0 && errno == ECONNREFUSED;
}

/* Removes the directories that killed watchers have left there. */
static void clean(const char *parent)
{
	DIR *entries = opendir(parent);
	const struct dirent *entry;

	while (entries != NULL && (entry = readdir(entries)) != NULL) {
		cleanup_free char *path = NULL;
		cleanup_close int directory = -1;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		directory = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (directory < 0 || !is_left_behind(directory))
			continue;
		path = mem_printf("%s/%s", parent, entry->d_name);
		if (unlinkat(directory, SOCKET, 0) == 0 && rmdir(path) == 0)
			log_info("removed %s, left behind by a watcher that was killed", path);
	}
	if (entries != NULL)
		closedir(entries);
}

int pool_directory_make(char **directory, int *lock, char **endpoint, struct error *err)
{
	/* not $XDG_RUNTIME_DIR: it is removed after the user's last logout (pam_systemd(8)), and we may run on */
	const char *parents[] = {getenv("TMPDIR"), "/tmp"};
	struct sockaddr_un address;

	for (size_t i = 0; i < ARRAY_LEN(parents); i++) {
		char *path;

		if (parents[i] == NULL || parents[i][0] != '/')
			continue;
		clean(parents[i]);
		path = mem_printf("%s/" PREFIX "XXXXXX", parents[i]);
		if (strlen(path) + sizeof("/" SOCKET) <= sizeof(address.sun_path) && mkdtemp(path) != NULL) {
			/* Where no lock can be had, others find the listener. */
			*lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (*lock >= 0)
				flock(*lock, LOCK_EX | LOCK_NB);
			*directory = path;
			*endpoint = mem_printf("ipc://%s/" SOCKET, path);
			return 0;
		}
		error_set_errno(err, errno, "cannot make a directory for the bus socket, %s", path);
		free(path);
	}
	return -1;
}

void pool_directory_remove(const char *directory, int lock)
{
	cleanup_free char *socket = mem_printf("%s/" SOCKET, directory);

	if (unlink(socket) < 0 && errno != ENOENT)
		log_warning("cannot remove %s: %s", socket, strerror(errno));
	if (rmdir(directory) < 0 && errno != ENOENT)
		log_warning("cannot remove %s: %s", directory, strerror(errno));
	if (lock >= 0)
		close(lock);
}
