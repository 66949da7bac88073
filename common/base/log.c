/* klog lines on stderr; see log.h. */
#define _GNU_SOURCE
#include "common/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"

enum { TURN_WAIT_MS = 100 };

/* Two bytes of the pipe that are locked, each by at most one process: whoever writes has the first, whoever is next the
 * second. Without the second, a process with many lines would hardly let another in. */
enum { LOCK_WRITER, LOCK_NEXT };

int log_verbosity = 0;
static char log_prefix[64];

void log_set_prefix(const char *prefix)
{
	snprintf(log_prefix, sizeof(log_prefix), "%s", prefix == NULL ? "" : prefix);
}

static void put_head(struct buf *line, char severity, const char *file, int number)
{
	struct timespec now;
	struct tm local;
	const char *base = strrchr(file, '/');

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &local);
	buf_printf(line, "%c%02d%02d %02d:%02d:%02d.%06ld %7d %s:%d] %s", severity, local.tm_mon + 1, local.tm_mday,
		   local.tm_hour, local.tm_min, local.tm_sec, now.tv_nsec / 1000, (int)getpid(),
		   base == NULL ? file : base + 1, number, log_prefix);
}

/* Locks go with their process, however it ends. */
static bool lock_pipe(short type, int place)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = place, .l_len = 1};

	return fcntl(STDERR_FILENO, F_SETLK, &lock) == 0;
}

/* A write is whole only up to PIPE_BUF, or as long as the pipe has room: the parts of a line are kept together by
 * record locks of the pipe, which exclude all processes that have it as stderr. Whoever stands still with them is
 * waited for only once. Whether the turn is ours; the line is written in any case. */
static bool take_turn(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	static bool impatient;
	struct stat about;
	int lock = LOCK_NEXT;

	if (fstat(STDERR_FILENO, &about) < 0 || !S_ISFIFO(about.st_mode))
		return false;
	for (int waited_ms = 0; lock >= LOCK_WRITER;) {
		if (lock_pipe(F_WRLCK, lock)) {
			lock--;
			continue;
		}
		if ((errno != EAGAIN && errno != EACCES) || impatient || waited_ms++ >= TURN_WAIT_MS) {
			impatient = true;
			lock_pipe(F_UNLCK, LOCK_NEXT);
			return false;
		}
		nanosleep(&pause, NULL);
	}
	impatient = false;
	lock_pipe(F_UNLCK, LOCK_NEXT);
	return true;
}

/* A log that cannot be written has nowhere to complain: what is left of the line is dropped. A part of it that has been
 * written gets its end before the next one. */
static void put_line(struct buf *line, size_t head)
{
	static bool cut;
	bool ours;

	for (size_t i = head; i < line->len; i++)
		if ((unsigned char)line->data[i] < 0x20 && line->data[i] != '\t')
			line->data[i] = line->data[i] == '\n' ? ' ' : '?';
	buf_putc(line, '\n');
	ours = take_turn();
	if (cut && write(STDERR_FILENO, "\n", 1) == 1)
		cut = false;
	for (size_t done = 0; done < line->len;) {
		ssize_t count = write(STDERR_FILENO, line->data + done, line->len - done);

		if (count <= 0) {
			cut = cut || done > 0;
			break;
		}
		done += (size_t)count;
	}
	if (ours)
		lock_pipe(F_UNLCK, LOCK_WRITER);
}

void log_write(char severity, const char *file, int number, const char *format, ...)
{
	cleanup_buf struct buf line = {0};
	char text[4096];
	va_list args;
	size_t head;
	int len;

	put_head(&line, severity, file, number);
	head = line.len;
	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buf_puts(&line, text);
	if (len >= (int)sizeof(text))
		buf_puts(&line, "…");
	put_line(&line, head);
}

void log_write_text(char severity, const char *file, int number, const char *text, size_t len)
{
	cleanup_buf struct buf line = {0};
	size_t head;

	put_head(&line, severity, file, number);
	head = line.len;
	buf_append(&line, text, len);
	put_line(&line, head);
}
