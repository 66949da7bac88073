/* See grid.h. */
#define _GNU_SOURCE
#include "cli/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "common/base/mem.h"

enum { GAP = 3 };

void grid_begin(struct grid *grid, const char *const *heads, size_t columns)
{
	*grid = (struct grid){.heads = heads, .columns = columns};
}

void grid_put(struct grid *grid, enum style style, const char *format, ...)
{
	cleanup_free char *text = NULL;
	struct buf safe = {0};
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		mem_exhausted();
	va_end(args);
	if (grid->count == grid->room) {
		grid->room = grid->room == 0 ? 64 : grid->room * 2;
		grid->cells = mem_realloc(grid->cells, grid->room, sizeof(*grid->cells));
	}
	/* safe here already, so that its columns can be counted */
	text_append_safe(&safe, text, strlen(text), false);
	grid->cells[grid->count++] = (struct grid_cell){.text = buf_steal(&safe), .style = style};
}

/* One line. The last cell needs no blanks behind it. */
static void print_row(const struct grid *grid, struct out *out, const struct grid_cell *cells, const size_t *widths,
		      size_t limit)
{
	size_t used = 0, last = grid->columns - 1;

	while (last > 0 && cells[last].text[0] == '\0')
		last--;
	for (size_t i = 0; i <= last; i++) {
		size_t columns = text_columns(cells[i].text);
		size_t fits = limit == 0 || used + columns <= limit ? strlen(cells[i].text)
								    : text_fit(cells[i].text, limit - used);
		cleanup_free char *text = mem_strndup(cells[i].text, fits);

		out_styled(out, cells[i].style, text);
		used += columns;
		if (limit != 0 && used >= limit)
			break;
		if (i < last) {
			size_t blanks = widths[i] - columns + GAP;

			if (limit != 0 && used + blanks >= limit)
				break;
			out_printf(out, "%*s", (int)blanks, "");
			used += blanks;
		}
	}
	out_end_line(out);
}

static void print_heads(const struct grid *grid, struct out *out, const size_t *widths, size_t limit)
{
	struct grid_cell *heads = mem_calloc(grid->columns, sizeof(*heads));

	for (size_t i = 0; i < grid->columns; i++)
		heads[i] = (struct grid_cell){.text = mem_strdup(grid->heads[i]), .style = STYLE_HEAD};
	print_row(grid, out, heads, widths, limit);
	for (size_t i = 0; i < grid->columns; i++)
		free(heads[i].text);
	free(heads);
}

void grid_print(const struct grid *grid, struct out *out, bool headers, bool whole, size_t most)
{
	size_t rows = grid->count / grid->columns, limit = whole ? 0 : out->width;
	size_t *widths = mem_calloc(grid->columns, sizeof(*widths));

	if (most != 0 && rows > most)
		rows = most;
	for (size_t i = 0; i < grid->columns; i++)
		widths[i] = headers ? strlen(grid->heads[i]) : 0;
	for (size_t i = 0; i < rows * grid->columns; i++) {
		size_t columns = text_columns(grid->cells[i].text);

		if (widths[i % grid->columns] < columns)
			widths[i % grid->columns] = columns;
	}
	if (headers)
		print_heads(grid, out, widths, limit);
	for (size_t i = 0; i < rows; i++)
		print_row(grid, out, &grid->cells[i * grid->columns], widths, limit);
	free(widths);
}

void grid_free(struct grid *grid)
{
	for (size_t i = 0; i < grid->count; i++)
		free(grid->cells[i].text);
	free(grid->cells);
	*grid = (struct grid){0};
}
