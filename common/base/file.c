/* Files; see file.h. */
#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/base/mem.h"

enum { CHUNK = 4096 };

static struct file_stamp stamp_of(const struct stat *info)
{
	return (struct file_stamp){
		.device = info->st_dev,
		.inode = info->st_ino,
		.size = info->st_size,
		.mtime_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec,
	};
}

struct file_stamp file_stamp_now(const char *path)
{
	struct stat info;

	if (stat(path, &info) < 0)
		return (struct file_stamp){0};
	return stamp_of(&info);
}

bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

int file_read_fd(int fd, const char *path, size_t max, struct buf *out, struct error *err)
{
	size_t begin = out->len;

	while (out->len - begin <= max) {
		ssize_t count;

		buf_reserve(out, CHUNK);
		count = read(fd, out->data + out->len, CHUNK);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_set_errno(err, errno, "read %s", path);
		out->len += (size_t)count;
		out->data[out->len] = '\0';
		if (count == 0)
			break;
	}
	return 0;
}

int file_read(const char *path, size_t max, struct buf *out, struct file_stamp *stamp, struct error *err)
{
	/* a FIFO, which is refused then, must not keep us waiting */
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t begin = out->len;
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return error_set_errno(err, errno, "open %s", path);
	if (stamp != NULL)
		*stamp = stamp_of(&info);
	if (!S_ISREG(info.st_mode))
		return error_set(err, "%s: expected a regular file", path);
	if (file_read_fd(fd, path, max, out, err) < 0)
		return -1;
	return out->len - begin > max ? error_set(err, "%s: longer than %zu bytes", path, max) : 0;
}

int file_write(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t count = write(fd, data, len);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -1;
		data += count;
		len -= (size_t)count;
	}
	return fsync(fd);
}
