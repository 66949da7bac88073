/* Stamps of files; see file_stamp.h. */
#include "common/base/file_stamp.h"

struct file_stamp file_stamp_of(const struct stat *info)
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
	return file_stamp_of(&info);
}

bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}
