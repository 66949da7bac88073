/* Terminal output (ECMA-48 control sequences, as every terminal since the VT100 knows them); see screen.h. */
#define _GNU_SOURCE
#include "tests/cluster/demo/screen.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/mem.h"

#define CURSOR_HIDE "\033[?25l"
#define CURSOR_SHOW "\033[?25h"
#define ERASE_REST_OF_LINE "\033[K"
#define ERASE_BELOW "\033[J"
#define ERASE_ALL "\033[H\033[2J"

enum { WIDTH_DEFAULT = 80, HEIGHT_DEFAULT = 24, HEIGHT_MIN = 4 };

void screen_init(struct screen *screen, int fd)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	*screen = (struct screen){.fd = fd};
	screen->live = isatty(fd) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
	screen->colour = screen->live && (no_color == NULL || no_color[0] == '\0');
}

void screen_size(const struct screen *screen, size_t *width, size_t *height)
{
	struct winsize size = {0};

	*width = *height = 0;
	if (!screen->live)
		return;
	(void)ioctl(screen->fd, TIOCGWINSZ, &size);
	*width = (size.ws_col > 1 ? size.ws_col : (size_t)WIDTH_DEFAULT) - 1;
	*height = (size.ws_row > HEIGHT_MIN ? size.ws_row : (size_t)HEIGHT_DEFAULT) - 1;
}

/* A reader that is gone or slow is no reason to fail: what cannot be written is lost. */
static void put(const struct screen *screen, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t written = write(screen->fd, data, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN) {
			struct pollfd ready = {.fd = screen->fd, .events = POLLOUT};

			if (poll(&ready, 1, 1000) > 0)
				continue;
		}
		if (written < 0)
			return;
		data += written;
		len -= (size_t)written;
	}
}

void screen_print(struct screen *screen, const char *format, ...)
{
	char *line;
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		abort();
	va_end(args);
	put(screen, line, strlen(line));
	free(line);
}

void screen_draw(struct screen *screen, const char *text)
{
	struct buf out = {0};
	size_t lines = 0;

	if (!screen->live || (screen->text != NULL && strcmp(screen->text, text) == 0))
		return;
	if (!screen->drawing)
		buf_puts(&out, CURSOR_HIDE);
	if (screen->lines > 0)
		buf_printf(&out, "\033[%zuA", screen->lines);
	for (const char *line = text; *line != '\0'; lines++) {
		size_t len = strcspn(line, "\n");

		buf_append(&out, line, len);
		buf_puts(&out, ERASE_REST_OF_LINE "\n");
		line += len + (line[len] == '\n' ? 1 : 0);
	}
	buf_puts(&out, ERASE_BELOW);
	put(screen, out.data, out.len);
	buf_free(&out);
	screen->drawing = true;
	screen->lines = lines;
	mem_replace(&screen->text, text);
}

void screen_resized(struct screen *screen)
{
	if (!screen->drawing)
		return;
	put(screen, ERASE_ALL, sizeof(ERASE_ALL) - 1);
	screen->lines = 0;
	mem_replace(&screen->text, NULL);
}

void screen_finish(struct screen *screen)
{
	if (screen->drawing)
		put(screen, CURSOR_SHOW, sizeof(CURSOR_SHOW) - 1);
	screen->drawing = false;
	screen->lines = 0;
	mem_replace(&screen->text, NULL);
}
