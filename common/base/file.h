/* Reading files, and detecting whether a file has changed since it was read, by its device, inode, size and
 * modification time. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/base/buf.h"
#include "common/base/error.h"

/* Zeroed: no file. */
struct file_stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t mtime_ns;
};

/* The stamp of the file that now has this path; zeroed if there is none. */
struct file_stamp file_stamp_now(const char *path);
bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b);

/* Appends a regular file of at most max bytes; out->data is not NULL then. stamp, unless it is NULL: of the content
 * that was read. 0, or -1 and *err, which names the file. */
int file_read(const char *path, size_t max, struct buf *out, struct file_stamp *stamp, struct error *err);
/* Appends the content of an open file of any kind, but stops behind max bytes. path is for *err. */
int file_read_fd(int fd, const char *path, size_t max, struct buf *out, struct error *err);

/* Writes all of it, to the disk. 0, or -1 and errno. */
int file_write(int fd, const char *data, size_t len);

#endif
