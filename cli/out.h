/* The only way to the user's terminal: everything that the program prints passes through a writer, which makes it safe
 * (text.h). Colours are the writer's own; text cannot contain any. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/error.h"

enum style { STYLE_PLAIN, STYLE_HEAD, STYLE_GOOD, STYLE_BAD, STYLE_WAITS, STYLE_DIM };

struct out {
	int fd;
	bool terminal;
	bool colour;       /* a terminal without NO_COLOR (no-color.org) and with a TERM other than dumb */
	bool ascii_glyphs; /* lines and bars are drawn with ASCII: the locale has no UTF-8 */
	bool ascii_text;   /* … and it is a terminal: text is ASCII as well */
	size_t width;      /* columns of the terminal; 0: no limit */
	size_t height;     /* lines; 0: no limit */
	int failed;        /* errno of the write that failed: nothing more is written; 0: none */
	struct buf text;   /* not written yet */
};

/* Call setlocale(LC_CTYPE, "") before. */
void out_init(struct out *out, int fd);
/* Reads the terminal's size again. */
void out_measure(struct out *out);
/* Writes pending output. 0, or -1 after a write has failed. */
int out_flush(struct out *out);
/* Flushes and frees. The result of the last out_flush(). */
int out_finish(struct out *out);

/* Text within a line. */
void out_text(struct out *out, const char *text);
void out_printf(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void out_styled(struct out *out, enum style style, const char *text);
void out_end_line(struct out *out);
/* Text followed by the end of its line. */
void out_line(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text of several lines, which ends with a line end. */
void out_lines(struct out *out, const char *text);
/* Words within the terminal's width (80 columns without one), each line behind indent blanks. */
void out_paragraph(struct out *out, size_t indent, const char *text);

/* A value as kubectl prints it with -o json and -o yaml: whole, with unsafe characters as escapes. */
void out_json(struct out *out, const json_t *value);
void out_yaml(struct out *out, const json_t *value);

/* On a terminal: clears it, so that what follows begins at its top. */
void out_clear_screen(struct out *out);

#endif
