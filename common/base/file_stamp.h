/* Whether a file is still the one that was read, by its looks: for whoever reads it again when it changes. */
#ifndef BASE_FILE_STAMP_H
#define BASE_FILE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Zeroed: of no file. */
struct file_stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t mtime_ns;
};

/* info: of the opened file, so that it is of what is read. */
struct file_stamp file_stamp_of(const struct stat *info);
/* Of the file that is there now; of no file when there is none. */
struct file_stamp file_stamp_now(const char *path);
bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b);

#endif
