/* See runlog.h. The loop tells when the file has grown: what was added gets that time. */
#define _GNU_SOURCE
#include "tests/cluster/testkubelet/runlog.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

enum { BLOCK = 64 * 1024, NS_IN_MS = 1000 * 1000 };

/* From this place on, up to the next mark, the file has grown at this time. */
struct mark {
	off_t from;
	int64_t ms;
};

struct run_log {
	struct ev_loop *loop;
	unsigned refs;
	int fd;
	off_t start;
	off_t end; /* as far as it is marked; all of it once it has ended */
	bool ended;
	struct mark *marks;
	size_t mark_count;
	ev_stat file;
	char *path;
	struct log_reader *readers;
};

struct log_reader {
	struct log_reader *prev, *next;
	struct run_log *log;
	struct log_query query;
	void (*wake)(void *arg);
	void *arg;
	off_t at;
	off_t stop;  /* follow: not known before the log has ended */
	bool within; /* a line */
	struct buf text;
	size_t taken; /* of the text */
	char block[BLOCK];
};

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* Marks what was added since the last time. */
static void look(struct run_log *log)
{
	int64_t now_ms = clock_wall_ms();
	struct stat info;

	if (log->ended || fstat(log->fd, &info) != 0 || info.st_size <= log->end)
		return;
	if (log->mark_count == 0 || log->marks[log->mark_count - 1].ms < now_ms) {
		log->marks = mem_realloc(log->marks, log->mark_count + 1, sizeof(log->marks[0]));
		log->marks[log->mark_count++] = (struct mark){.from = log->end, .ms = now_ms};
	}
	log->end = info.st_size;
}

static void wake_all(struct run_log *log)
{
	struct log_reader *reader, *next;

	DL_FOREACH_SAFE(log->readers, reader, next)
		reader->wake(reader->arg);
}

static void on_file(struct ev_loop *loop, ev_stat *file, int events)
{
	struct run_log *log = file->data;

	(void)loop;
	(void)events;
	look(log);
	wake_all(log);
}

struct run_log *run_log_begin(struct ev_loop *loop, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
	struct run_log *log;
	struct stat info;

	if (fd < 0 || fstat(fd, &info) != 0) {
		error_set_errno(err, errno, "open %s", path);
		return NULL;
	}
	log = mem_calloc(1, sizeof(*log));
	*log = (struct run_log){.loop = loop, .refs = 1, .fd = fd, .start = info.st_size, .end = info.st_size};
	log->path = mem_strdup(path);
	ev_stat_init(&log->file, on_file, log->path, 0);
	log->file.data = log;
	ev_stat_start(loop, &log->file);
	return log;
}

off_t run_log_start(const struct run_log *log)
{
	return log->start;
}

void run_log_end(struct run_log *log)
{
	look(log);
	log->ended = true;
	ev_stat_stop(log->loop, &log->file);
	wake_all(log);
}

void run_log_unref(struct run_log *log)
{
	if (log == NULL || --log->refs > 0)
		return;
	ev_stat_stop(log->loop, &log->file);
	close(log->fd);
	free(log->marks);
	free(log->path);
	free(log);
}

/* ---- where to begin ---------------------------------------------------------------------------------------------- */

static off_t start_of_tail(const struct run_log *log, int64_t lines)
{
	char block[4096];
	off_t at = log->end;

	if (lines == 0)
		return at;
	while (at > log->start) {
		size_t len = at - log->start < (off_t)sizeof(block) ? (size_t)(at - log->start) : sizeof(block);
		ssize_t got = pread(log->fd, block, len, at - (off_t)len);

		if (got != (ssize_t)len)
			return log->start;
		for (; len > 0; len--, at--)
			/* (the end of the last line begins none) */
			if (block[len - 1] == '\n' && at < log->end && --lines == 0)
				return at;
	}
	return log->start;
}

/* The first line that begins at that time or later. */
static off_t start_since(const struct run_log *log, int64_t since_ms)
{
	char block[4096];
	off_t at = log->end;
	ssize_t got;

	for (size_t i = 0; i < log->mark_count; i++)
		if (log->marks[i].ms >= since_ms) {
			at = log->marks[i].from;
			break;
		}
	if (at == log->start)
		return at;
	/* behind the line that had begun before */
	for (at--; (got = pread(log->fd, block, sizeof(block), at)) > 0; at += got) {
		const char *newline = memchr(block, '\n', (size_t)got);

		if (newline != NULL)
			return at + (newline - block) + 1;
	}
	return log->end;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void put_time(const struct run_log *log, off_t at, struct buf *out)
{
	char text[TIME_RFC3339_SIZE];
	size_t low = 0, high = log->mark_count;
	int64_t ns;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (log->marks[middle].from <= at)
			low = middle;
		else
			high = middle;
	}
	/* Lines of one mark differ, and are in order. */
	ns = at - log->marks[low].from;
	ns = log->marks[low].ms % 1000 * NS_IN_MS + (ns < NS_IN_MS ? ns : NS_IN_MS - 1);
	time_format_rfc3339(log->marks[low].ms / 1000, text);
	buf_printf(out, "%.19s.%09lldZ ", text, (long long)ns);
}

static void put_lines(struct log_reader *reader, const char *data, size_t len)
{
	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t part = newline == NULL ? len : (size_t)(newline - data) + 1;

		if (reader->query.timestamps && !reader->within)
			put_time(reader->log, reader->at, &reader->text);
		buf_append(&reader->text, data, part);
		reader->within = newline == NULL;
		reader->at += (off_t)part;
		data += part;
		len -= part;
	}
}

/* The next lines; false: there is nothing now. A line that has no end is shown when it cannot get one any more. */
static bool fill(struct log_reader *reader)
{
	struct run_log *log = reader->log;
	off_t stop = reader->query.follow ? log->end : reader->stop;
	bool more = reader->query.follow && !log->ended;
	ssize_t len = reader->at < stop ? stop - reader->at : 0;
	const char *newline;

	buf_clear(&reader->text);
	reader->taken = 0;
	len = pread(log->fd, reader->block, len > BLOCK ? BLOCK : (size_t)len, reader->at);
	if (len <= 0)
		return false;
	newline = memrchr(reader->block, '\n', (size_t)len);
	if (newline != NULL)
		len = newline - reader->block + 1;
	else if (more && len < BLOCK)
		return false;
	put_lines(reader, reader->block, (size_t)len);
	return true;
}

struct log_reader *log_reader_new(struct run_log *log, const struct log_query *query, void (*wake)(void *arg),
				  void *arg)
{
	struct log_reader *reader = mem_calloc(1, sizeof(*reader));
	off_t since, tail;

	look(log);
	since = query->since_ms > 0 ? start_since(log, query->since_ms) : log->start;
	tail = query->tail_lines >= 0 ? start_of_tail(log, query->tail_lines) : log->start;
	log->refs++;
	reader->log = log;
	reader->query = *query;
	reader->wake = wake;
	reader->arg = arg;
	reader->at = since > tail ? since : tail;
	reader->stop = log->end;
	DL_APPEND(log->readers, reader);
	return reader;
}

void log_reader_free(struct log_reader *reader)
{
	DL_DELETE(reader->log->readers, reader);
	run_log_unref(reader->log);
	buf_free(&reader->text);
	free(reader);
}

ssize_t log_reader_take(struct log_reader *reader, char *out, size_t max)
{
	int64_t *limit = &reader->query.limit_bytes;
	size_t len;

	look(reader->log);
	if (*limit == 0)
		return LOG_READER_END;
	if (reader->taken == reader->text.len && !fill(reader))
		return reader->query.follow && !reader->log->ended ? LOG_READER_NOTHING : LOG_READER_END;
	len = reader->text.len - reader->taken;
	len = len < max ? len : max;
	if (*limit > 0) {
		len = (int64_t)len < *limit ? len : (size_t)*limit;
		*limit -= (int64_t)len;
	}
	memcpy(out, reader->text.data + reader->taken, len);
	reader->taken += len;
	return (ssize_t)len;
}
