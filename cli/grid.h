/* A table of text, printed as kubectl prints its tables. */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/out.h"

struct grid_cell {
	char *text;
	enum style style;
};

struct grid {
	const char *const *heads; /* one for each column; borrowed */
	size_t columns;
	struct grid_cell *cells; /* row by row */
	size_t count;
	size_t room;
};

/* heads must outlive the grid; the list has `columns` items. */
void grid_begin(struct grid *grid, const char *const *heads, size_t columns);
/* The next cell, from left to right and from top to bottom. */
void grid_put(struct grid *grid, enum style style, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Prints the complete rows. Each column is as wide as its widest cell. On a terminal, lines are cut at its width unless
 * whole is set, and at most `most` rows are printed (0: all). */
void grid_print(const struct grid *grid, struct out *out, bool headers, bool whole, size_t most);
void grid_free(struct grid *grid);

#endif
