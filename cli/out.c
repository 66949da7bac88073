/* The writer; see out.h. */
#define _GNU_SOURCE
#include "cli/out.h"

#include <errno.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/text.h"
#include "cli/yaml_write.h"
#include "common/base/mem.h"

enum { FLUSH_AT = 64 * 1024, WIDTH_USUAL = 80, WIDTH_LEAST = 20 };

/* ECMA-48, 8.3.117 SGR. */
static const char *const styles[] = {
	[STYLE_PLAIN] = "",       [STYLE_HEAD] = "\033[1m",   [STYLE_GOOD] = "\033[32m",
	[STYLE_BAD] = "\033[31m", [STYLE_WAITS] = "\033[33m", [STYLE_DIM] = "\033[2m",
};
#define STYLE_END "\033[0m"
/* ED and CUP of the same standard: erase the screen, go to its first column. */
#define CLEAR_SCREEN "\033[H\033[2J"

void out_measure(struct out *out)
{
	struct winsize size;

	out->width = out->height = 0;
	if (!out->terminal || ioctl(out->fd, TIOCGWINSZ, &size) != 0)
		return;
	out->width = size.ws_col;
	out->height = size.ws_row;
}

void out_init(struct out *out, int fd)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	*out = (struct out){.fd = fd, .terminal = isatty(fd) == 1};
	out->colour = out->terminal && (no_colour == NULL || *no_colour == '\0') && term != NULL &&
		      strcmp(term, "dumb") != 0;
	out->ascii_glyphs = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	out->ascii_text = out->ascii_glyphs && out->terminal;
	out_measure(out);
}

int out_flush(struct out *out)
{
	for (size_t done = 0; done < out->text.len && out->failed == 0;) {
		ssize_t count = write(out->fd, out->text.data + done, out->text.len - done);

		if (count > 0)
			done += (size_t)count;
		else if (count == 0 || errno != EINTR)
			out->failed = count == 0 ? EIO : errno;
	}
	buf_clear(&out->text);
	return out->failed != 0 ? -1 : 0;
}

int out_finish(struct out *out)
{
	int result = out_flush(out);

	buf_free(&out->text);
	return result;
}

void out_text(struct out *out, const char *text)
{
	text_append_safe(&out->text, text, strlen(text), out->ascii_text);
	if (out->text.len >= FLUSH_AT)
		out_flush(out);
}

static void print(struct out *out, const char *format, va_list args)
{
	cleanup_free char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		mem_exhausted();
	out_text(out, text);
}

void out_printf(struct out *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(out, format, args);
	va_end(args);
}

void out_styled(struct out *out, enum style style, const char *text)
{
	bool coloured = out->colour && styles[style][0] != '\0';

	if (coloured)
		buf_puts(&out->text, styles[style]);
	out_text(out, text);
	if (coloured)
		buf_puts(&out->text, STYLE_END);
}

void out_end_line(struct out *out)
{
	buf_putc(&out->text, '\n');
}

void out_line(struct out *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(out, format, args);
	va_end(args);
	out_end_line(out);
}

void out_lines(struct out *out, const char *text)
{
	size_t len = strlen(text);

	text_append_safe_lines(&out->text, text, len, out->ascii_text);
	if (len == 0 || text[len - 1] != '\n')
		out_end_line(out);
	if (out->text.len >= FLUSH_AT)
		out_flush(out);
}

void out_paragraph(struct out *out, size_t indent, const char *text)
{
	size_t width = out->width == 0 ? WIDTH_USUAL : out->width < WIDTH_LEAST ? WIDTH_LEAST : out->width;
	cleanup_buf struct buf safe = {0};
	size_t used = 0;

	buf_puts(&safe, "");
	text_append_safe(&safe, text, strlen(text), out->ascii_text);
	for (char *state = NULL, *word = strtok_r(safe.data, " ", &state); word != NULL;
	     word = strtok_r(NULL, " ", &state)) {
		size_t columns = text_columns(word);

		if (used > indent && used + 1 + columns > width) {
			out_end_line(out);
			used = 0;
		}
		if (used == 0)
			out_printf(out, "%*s", (int)indent, "");
		else
			out_text(out, " ");
		used = used == 0 ? indent + columns : used + 1 + columns;
		out_text(out, word);
	}
	out_end_line(out);
}

static int append_json(const char *text, size_t len, void *arg)
{
	buf_append(arg, text, len);
	return 0;
}

void out_json(struct out *out, const json_t *value)
{
	cleanup_buf struct buf text = {0};

	buf_puts(&text, "");
	if (json_dump_callback(value, append_json, &text, JSON_INDENT(4) | JSON_ENCODE_ANY) != 0)
		mem_exhausted();
	buf_put_safe(&out->text, text.data, text.len);
	out_end_line(out);
	if (out->text.len >= FLUSH_AT)
		out_flush(out);
}

void out_yaml(struct out *out, const json_t *value)
{
	yaml_write(&out->text, value);
	if (out->text.len >= FLUSH_AT)
		out_flush(out);
}

void out_clear_screen(struct out *out)
{
	if (out->terminal)
		buf_puts(&out->text, CLEAR_SCREEN);
}
