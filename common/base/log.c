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

int log_verbosity = 0;
static char log_prefix[64];
static void (*log_sink)(char severity, const char *message);

void log_set_prefix(const char *prefix)
{
	snprintf(log_prefix, sizeof(log_prefix), "%s", prefix == NULL ? "" : prefix);
}

void log_set_sink(void (*sink)(char severity, const char *message))
{
	log_sink = sink;
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

/* Text from outside must not end the line, nor change how a terminal shows it. */
static void make_safe(struct buf *line, size_t head)
{
	cleanup_buf struct buf safe = {0};
	bool wide = false;

	for (size_t i = head; i < line->len; i++) {
		unsigned char byte = (unsigned char)line->data[i];

		if (byte < 0x20 && byte != '\t')
			line->data[i] = byte == '\n' ? ' ' : '?';
		wide = wide || byte >= 0x7F;
	}
	if (!wide)
		return;
	buf_put_safe(&safe, line->data + head, line->len - head);
	line->len = head;
	buf_append(line, safe.data, safe.len);
}

/* Processes that share a pipe or a socket write one line at a time. A process that ends gives its lock back. Whatever
 * else stderr is, is not locked: strangers have /dev/null open, too. */
static void lock_stderr(short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
	struct stat stat;

	if (fstat(STDERR_FILENO, &stat) < 0 || !(S_ISFIFO(stat.st_mode) || S_ISSOCK(stat.st_mode)))
		return;
	while (fcntl(STDERR_FILENO, F_SETLKW, &lock) < 0 && errno == EINTR)
		;
}

/* A log that cannot be written has nowhere to complain: the rest of the line is dropped. A part of it that has been
 * written gets its end before the next one. */
static void put_line(struct buf *line, size_t head)
{
	static bool cut;

	make_safe(line, head);
	buf_putc(line, '\n');
	lock_stderr(F_WRLCK);
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
	lock_stderr(F_UNLCK);
}

void log_write(char severity, const char *file, int number, const char *format, ...)
{
	cleanup_buf struct buf line = {0};
	char text[4096];
	va_list args;
	size_t head;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (log_sink != NULL) {
		log_sink(severity, text);
		return;
	}
	put_head(&line, severity, file, number);
	head = line.len;
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
