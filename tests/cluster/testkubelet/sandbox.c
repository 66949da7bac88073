/* A container's file system; see sandbox.h.
 * A directory of the host cannot get new entries without the host seeing them; so a directory that lacks one is
 * *shadowed*: a tmpfs is mounted over it, and what it held is bound into that. The root is the first one shadowed. */
#define _GNU_SOURCE
#include "tests/cluster/testkubelet/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"

struct sandbox {
	const char *stage;
	char **own; /* directories where an entry can be made: shadows, what is in them, volumes; "" for the root */
	size_t own_count;
};

static int write_file(const char *path, const char *text)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

int sandbox_unshare(void)
{
	int flags = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWPID;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (uid == 0)
		return unshare(flags);
	if (unshare(flags | CLONE_NEWUSER) != 0)
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
	if (write_file("/proc/self/setgroups", "deny") != 0 || write_file("/proc/self/uid_map", map) != 0)
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", (unsigned)gid);
	return write_file("/proc/self/gid_map", map);
}

static int make_file(const char *path)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return fd < 0 ? -1 : 0;
}

/* Binds source (with what is mounted below it) to a new entry at target. */
static int bind_new(const char *source, const char *target, mode_t mode)
{
	if (S_ISDIR(mode) ? mkdir(target, mode & 07777) != 0 && errno != EEXIST : make_file(target) != 0)
		return -1;
	return mount(source, target, NULL, MS_BIND | MS_REC, NULL);
}

/* Gives new_dir, an empty directory, the entries of the host's old_dir, except for `skip` (NULL: none). */
static int copy_entries(const char *old_dir, const char *new_dir, const char *const *skip)
{
	DIR *dir = opendir(old_dir);
	struct dirent *entry;

	if (dir == NULL)
		return -1;
	while ((entry = readdir(dir)) != NULL) {
		cleanup_free char *source = mem_printf("%s/%s", old_dir, entry->d_name);
		cleanup_free char *target = mem_printf("%s/%s", new_dir, entry->d_name);
		bool skipped = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
		char link[PATH_MAX];
		struct stat info;
		ssize_t len;

		for (size_t i = 0; skip != NULL && skip[i] != NULL; i++)
			skipped = skipped || strcmp(entry->d_name, skip[i]) == 0;
		if (skipped || lstat(source, &info) != 0)
			continue;
		if (!S_ISLNK(info.st_mode)) {
			/* Best effort: an entry that cannot be bound is one the container does without. */
			(void)bind_new(source, target, info.st_mode);
			continue;
		}
		len = readlink(source, link, sizeof(link) - 1);
		if (len < 0)
			continue;
		link[len] = '\0';
		(void)!symlink(link, target);
	}
	closedir(dir);
	return 0;
}

static void note_own(struct sandbox *sandbox, const char *path)
{
	sandbox->own = mem_realloc(sandbox->own, sandbox->own_count + 1, sizeof(char *));
	sandbox->own[sandbox->own_count++] = mem_strdup(path);
}

static bool is_own(const struct sandbox *sandbox, const char *path)
{
	for (size_t i = 0; i < sandbox->own_count; i++)
		if (strcmp(sandbox->own[i], path) == 0)
			return true;
	return false;
}

static int shadow(struct sandbox *sandbox, const char *path, const char *const *skip)
{
	cleanup_free char *target = mem_printf("%s%s", sandbox->stage, path);

	if (mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0)
		return -1;
	/* What is bound from the host must not bring the stage itself along. */
	if (path[0] == '\0' && mount(NULL, target, NULL, MS_UNBINDABLE, NULL) != 0)
		return -1;
	note_own(sandbox, path);
	return copy_entries(path[0] == '\0' ? "/" : path, target, skip);
}

/* Makes path (absolute, as the container sees it) exist below the stage: a directory, or an empty file. */
static int make_entry(struct sandbox *sandbox, const char *path, bool directory)
{
	cleanup_free char *partial = mem_strdup(path);
	cleanup_free char *parent = mem_strdup("");

	for (char *slash = partial; slash != NULL;) {
		cleanup_free char *full = NULL;
		struct stat info;
		char *next = strchr(slash + 1, '/');

		if (next != NULL)
			*next = '\0';
		if (slash[1] != '\0') {
			full = mem_printf("%s%s", sandbox->stage, partial);
			if (stat(full, &info) != 0) {
				if (!is_own(sandbox, parent) && shadow(sandbox, parent, NULL) != 0)
					return -1;
				if (next == NULL && !directory ? make_file(full) != 0 : mkdir(full, 0777) != 0)
					return -1;
				note_own(sandbox, partial);
			}
			mem_replace(&parent, partial);
		}
		if (next != NULL)
			*next = '/';
		slash = next;
	}
	return 0;
}

/* A /dev with the devices every container has, and nothing of the host's. */
static int make_dev(struct sandbox *sandbox)
{
	static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
	static const char *const links[][2] = {
		{"/proc/self/fd", "fd"},
		{"/proc/self/fd/0", "stdin"},
		{"/proc/self/fd/1", "stdout"},
		{"/proc/self/fd/2", "stderr"},
	};
	cleanup_free char *dev = mem_printf("%s/dev", sandbox->stage);
	cleanup_free char *shm = mem_printf("%s/shm", dev);

	if (mkdir(dev, 0755) != 0 || mount("tmpfs", dev, "tmpfs", MS_NOSUID, "mode=755") != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		cleanup_free char *source = mem_printf("/dev/%s", devices[i]);
		cleanup_free char *target = mem_printf("%s/%s", dev, devices[i]);

		(void)bind_new(source, target, S_IFREG);
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		cleanup_free char *target = mem_printf("%s/%s", dev, links[i][1]);

		(void)!symlink(links[i][0], target);
	}
	note_own(sandbox, "/dev");
	return mkdir(shm, 01777);
}

static int make_proc(struct sandbox *sandbox)
{
	cleanup_free char *proc = mem_printf("%s/proc", sandbox->stage);

	if (mkdir(proc, 0555) != 0)
		return -1;
	/* Refused in some containers; the host's /proc shows other pids, but the rest of it is right. */
	if (mount("proc", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
		return 0;
	return mount("/proc", proc, NULL, MS_BIND | MS_REC, NULL);
}

/* path with the symbolic links in the part of it that the host has resolved: the stage looks like the host there,
 * but an absolute link would lead out of it. */
static char *resolve(const char *path)
{
	char *prefix = mem_strdup(path);
	size_t len = strlen(path);
	char real[PATH_MAX];

	while (len > 0) {
		char *result = NULL;

		prefix[len] = '\0';
		if (realpath(prefix, real) != NULL)
			result = mem_printf("%s%s", strcmp(real, "/") == 0 ? "" : real, path + len);
		if (result != NULL) {
			free(prefix);
			return result;
		}
		do
			len--;
		while (len > 0 && path[len] != '/');
	}
	free(prefix);
	return mem_strdup(path);
}

static int add_mount(struct sandbox *sandbox, const struct launch_mount *item)
{
	cleanup_free char *path = resolve(item->target);
	cleanup_free char *target = mem_printf("%s%s", sandbox->stage, path);
	struct stat info;

	if (stat(item->source, &info) != 0 || make_entry(sandbox, path, S_ISDIR(info.st_mode)) != 0 ||
	    mount(item->source, target, NULL, MS_BIND | MS_REC, NULL) != 0)
		return -1;
	if (item->read_only)
		(void)mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
	note_own(sandbox, path);
	return 0;
}

int sandbox_enter(const struct launch *launch, struct error *err)
{
	static const char *const own[] = {"dev", "proc", NULL};
	/* Not freed: the process becomes the container's init. */
	struct sandbox sandbox = {.stage = launch->stage};

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return error_set_errno(err, errno, "make the mounts private");
	if (shadow(&sandbox, "", own) != 0)
		return error_set_errno(err, errno, "build a root directory on %s", launch->stage);
	if (make_proc(&sandbox) != 0)
		return error_set_errno(err, errno, "mount /proc");
	if (make_dev(&sandbox) != 0)
		return error_set_errno(err, errno, "build /dev");
	for (size_t i = 0; i < launch->mount_count; i++)
		if (add_mount(&sandbox, &launch->mounts[i]) != 0)
			return error_set_errno(err, errno, "mount %s on %s", launch->mounts[i].source,
					       launch->mounts[i].target);
	if (chroot(launch->stage) != 0 || chdir("/") != 0)
		return error_set_errno(err, errno, "enter %s", launch->stage);
	return 0;
}
