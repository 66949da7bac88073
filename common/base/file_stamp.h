/* Detects whether a file has changed since it was read, by its device, inode, size and modification time. */
#ifndef BASE_FILE_STAMP_H
#define BASE_FILE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Zeroed: no file. */
struct file_stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t mtime_ns;
};

/* info: of the opened file (fstat(2)), so that the stamp belongs to the content that is read. */
struct file_stamp file_stamp_of(const struct stat *info);
/* Of the file that now has this path; zeroed if there is none. */
struct file_stamp file_stamp_now(const char *path);
bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b);

#endif
