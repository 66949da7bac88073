/* The table of Frameworks as text: columns that only grow, lines cut to the terminal. Pure. */
#ifndef DEMO_TABLE_H
#define DEMO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "tests/cluster/demo/expect.h"

enum column {
	COLUMN_FRAMEWORK,
	COLUMN_STATE,
	COLUMN_TASKS,
	COLUMN_RETRIES,
	COLUMN_CODE,
	COLUMN_AGE,
	COLUMNS,
};

enum { CELL_SIZE = 160 };

struct row {
	char cells[COLUMNS][CELL_SIZE]; /* printable ASCII */
	char bare_code[16];             /* COLUMN_CODE without its phrase */
	enum verdict verdict;
};

/* How much is said. Each of them leaves out what the one before it does, and more. */
enum words {
	WORDS_WHOLE,
	WORDS_BRIEF_STATE, /* states without the "Attempt" that most share */
	WORDS_BARE_CODE,   /* codes without their phrases */
};

/* Zero-initialise. */
struct table {
	size_t widths[COLUMNS];
	enum words words;
};

/* Fills the row; name as it stands in metadata.name, cut when longer than a cell; now in unix seconds. */
void row_fill(struct row *row, const char *name, const struct sight *sight, enum verdict verdict, int64_t now);
/* Whether both say the same, whatever the age. */
bool row_same(const struct row *a, const struct row *b);

/* "2 Running, 1 Completed": Tasks by state, the farthest behind first, without the words that all states share; ""
 * when there are none. Cut when longer. */
void tasks_write(char out[CELL_SIZE], const struct sight *sight);
/* "5s", "2m10s", "3h5m": whole seconds, two units at most; negative counts as 0. */
void age_write(char out[CELL_SIZE], int64_t seconds);

/* Makes the columns wide enough for the row and the headings. */
void table_fit(struct table *table, const struct row *row);
/* Append one line without its end, at most width bytes (0: no limit), no blanks at its end. */
void table_write_head(struct buf *out, const struct table *table, size_t width);
void table_write_row(struct buf *out, const struct table *table, const struct row *row, size_t width);
/* Appends a whole table that fits its rows, each line ended, at most height lines (>= 3; 0: no limit) of at most width
 * bytes without colours. Where width is too small, the states become brief, then the codes lose their phrases, then the
 * Tasks' cells are cut. When rows must be left out, these are first the ones that are as expected, and a last line says
 * how many. */
void table_write(struct buf *out, const struct row *rows, size_t count, size_t width, size_t height, bool colour);

#endif
