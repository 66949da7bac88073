/* See keep.h. */
#define _GNU_SOURCE
#include "cli/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/json.h"
#include "common/base/mem.h"

#define SUFFIX ".json"

static char *path_in(const char *directory, const char *name)
{
	return mem_printf("%s/%s-retry-XXXXXX" SUFFIX, directory, name);
}

/* In the first directory that takes it; the last one's errno counts. */
static int open_new(const char *name, char **path)
{
	const char *room = getenv("TMPDIR");
	const char *const directories[] = {".", room == NULL || *room == '\0' ? "/tmp" : room};

	for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
		int fd;

		*path = path_in(directories[i], name);
		fd = mkostemps(*path, (int)strlen(SUFFIX), O_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (i + 1 < ARRAY_LEN(directories))
			free(*path);
	}
	return -1;
}

int keep_object(const json_t *object, const char *name, char **path, struct error *err)
{
	cleanup_free char *text = json_text(object);
	char *file = NULL;
	int fd = open_new(name, &file);
	int result = 0;

	if (fd < 0)
		result = error_set_errno(err, errno, "create %s", file);
	else if (file_write(fd, text, strlen(text)) < 0)
		result = error_set_errno(err, errno, "write %s", file);
	if (fd >= 0)
		close(fd);
	if (result < 0 && fd >= 0)
		unlink(file);
	if (result < 0)
		free(file);
	else
		*path = file;
	return result;
}
