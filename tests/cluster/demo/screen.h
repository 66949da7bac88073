/* What the demo shows: on a terminal a text that is redrawn in place, elsewhere plain lines. */
#ifndef DEMO_SCREEN_H
#define DEMO_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

struct screen {
	int fd;
	bool live;    /* a terminal that can move its cursor */
	bool colour;  /* live, and NO_COLOR is not set (no-color.org) */
	bool drawing; /* between the first screen_draw and screen_finish */
	size_t lines; /* of the text that stands there */
	char *text;   /* that text; NULL: none */
};

void screen_init(struct screen *screen, int fd);
/* The room for a text, in characters; width is one less than the terminal's, so that no line wraps. 0 and 0 when not
 * live: no limit. */
void screen_size(const struct screen *screen, size_t *width, size_t *height);
/* Only when live: replaces the text drawn before; its lines are all ended and within screen_size. */
void screen_draw(struct screen *screen, const char *text);
/* After the terminal's size changed: forgets where the text stood, so that the next one is drawn from the top. */
void screen_resized(struct screen *screen);
/* The text stays where it is, the cursor is below it and shown again. */
void screen_finish(struct screen *screen);
/* Writes text as it is; not while drawing. */
void screen_print(struct screen *screen, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
