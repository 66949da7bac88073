/* Rows of a timeline cut into equal parts of its time, and equal rows as one line; see timeline.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/view/timeline.h"
#include "common/base/mem.h"

/* The part in which a time lies; times outside lie in the first or the last one. */
static size_t column_of(const struct timeline *timeline, size_t columns, int64_t time)
{
	int64_t length = timeline->to - timeline->from, at = time - timeline->from;

	if (at <= 0 || length <= 0)
		return 0;
	if (at >= length)
		return columns - 1;
	return (size_t)(at * (int64_t)columns / length);
}

static void fill(const struct timeline *timeline, size_t columns, char *out, int64_t from, int64_t to, char cell)
{
	size_t first = column_of(timeline, columns, from), last = column_of(timeline, columns, to);

	if (last < first) /* by another process, with a slower clock */
		last = first;
	memset(out + first, cell, last - first + 1);
}

static char end_of(const struct bar *bar)
{
	return bar->tone == TONE_GOOD ? CELL_GOOD : bar->tone == TONE_BAD ? CELL_BAD : CELL_ENDED;
}

static void put_bar(const struct timeline *timeline, const struct bar *bar, size_t columns, char *out)
{
	int64_t end = bar->end != 0 ? bar->end : timeline->to;

	if (bar->start == 0)
		return;
	if (bar->earlier) {
		fill(timeline, columns, out, bar->start, end, CELL_EARLIER);
		return;
	}
	fill(timeline, columns, out, bar->start, bar->run != 0 ? bar->run : end, CELL_PENDING);
	if (bar->run != 0)
		fill(timeline, columns, out, bar->run, end, CELL_RUNNING);
}

void timeline_cells(const struct timeline *timeline, const struct timeline_row *row, size_t columns, char *out)
{
	memset(out, CELL_NOTHING, columns);
	out[columns] = '\0';
	for (size_t i = 0; i < row->bar_count; i++)
		put_bar(timeline, &row->bars[i], columns, out);
	/* Ends are drawn last, so that an attempt that begins in the same second hides none of them. */
	for (size_t i = 0; i < row->bar_count; i++)
		if (row->bars[i].completed && !row->bars[i].earlier && row->bars[i].start != 0 && row->bars[i].end != 0)
			out[column_of(timeline, columns, row->bars[i].end)] = end_of(&row->bars[i]);
}

static bool same_line(const struct timeline_line *line, const struct timeline_row *row, const char *cells)
{
	return line->row->role != NULL && row->role != NULL && strcmp(line->row->role, row->role) == 0 &&
	       strcmp(line->cells, cells) == 0 && strcmp(line->row->result, row->result) == 0;
}

struct growing {
	struct timeline_line *lines;
	struct index_list *indexes; /* one for each line */
	size_t count;
};

static void add_row(struct growing *growing, const struct timeline_row *row, const char *cells)
{
	size_t at = growing->count;

	/* the last lines first: neighbours are mostly alike */
	while (at > 0 && !same_line(&growing->lines[at - 1], row, cells))
		at--;
	if (at == 0) {
		growing->lines = mem_realloc(growing->lines, growing->count + 1, sizeof(*growing->lines));
		growing->indexes = mem_realloc(growing->indexes, growing->count + 1, sizeof(*growing->indexes));
		growing->lines[growing->count] = (struct timeline_line){.cells = mem_strdup(cells), .row = row};
		growing->indexes[growing->count] = (struct index_list){0};
		at = ++growing->count;
	}
	growing->lines[at - 1].count++;
	index_list_add(&growing->indexes[at - 1], row->index);
}

size_t timeline_lines(const struct timeline *timeline, size_t columns, struct timeline_line **out)
{
	cleanup_free char *cells = mem_alloc(columns + 1);
	struct growing growing = {0};

	for (size_t i = 0; i < timeline->row_count; i++) {
		timeline_cells(timeline, &timeline->rows[i], columns, cells);
		add_row(&growing, &timeline->rows[i], cells);
	}
	for (size_t i = 0; i < growing.count; i++) {
		struct timeline_line *line = &growing.lines[i];

		line->name = line->row->role == NULL
				     ? mem_strdup(timeline->name)
				     : mem_printf("%s[%s]", line->row->role, index_list_text(&growing.indexes[i]));
		index_list_free(&growing.indexes[i]);
	}
	free(growing.indexes);
	*out = growing.lines;
	return growing.count;
}

void timeline_lines_free(struct timeline_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(lines[i].name);
		free(lines[i].cells);
	}
	free(lines);
}
