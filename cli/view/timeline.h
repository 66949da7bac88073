/* When each attempt of a Framework and of its Tasks was pending, ran and ended. */
#ifndef CLI_VIEW_TIMELINE_H
#define CLI_VIEW_TIMELINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/view/tree.h"
#include "cli/view/wait.h"

/* One attempt of a Task or, in the row without a role, of the Framework. Unix seconds, 0: not yet, or unknown. */
struct bar {
	int32_t framework_attempt;
	int32_t id;
	int64_t start; /* it is pending from here on */
	int64_t run;
	int64_t end;  /* its result is decided and its Pod is gone */
	bool earlier; /* stands for all attempts before the known ones, whose times are not known */
	bool completed;
	int32_t code;
	enum tone tone; /* of its result */
};

struct timeline_row {
	char *role; /* NULL: the Framework itself */
	size_t index;
	struct bar *bars; /* by start */
	size_t bar_count;
	char *result; /* "Running", "0 Succeeded", "210 ContainerPermanentFailed" */
	enum tone tone;
};

struct timeline_mark {
	int64_t time;
	const char *text; /* of the Event; borrowed from the inquiry */
};

struct timeline {
	char *name; /* of the Framework */
	int64_t from;
	int64_t to;
	struct timeline_row *rows; /* the Framework, then Tasks in the order of the status */
	size_t row_count;
	struct timeline_mark *marks; /* retries that Events report */
	size_t mark_count;
	size_t snapshot_count; /* lines of the log that are of the Framework */
};

/* Takes past attempts from ObjectSnapshot lines of a log (CONTRACT.md §14), if text is not NULL: those of this
 * Framework's uid. Never fails; lines that are no snapshots are passed over. */
void timeline_build(const struct inquiry *inquiry, const char *log, size_t log_len, struct timeline *out);
void timeline_free(struct timeline *timeline);

/* The cell of a row for one of the equal parts of the time. */
enum timeline_cell {
	CELL_NOTHING = ' ',
	CELL_PENDING = '.',
	CELL_RUNNING = '#',
	CELL_EARLIER = '~', /* attempts of which only the whole time is known */
	CELL_GOOD = '+',    /* the end of an attempt that succeeded */
	CELL_BAD = 'x',
	CELL_ENDED = '|', /* the end of one that was ended with its Framework's attempt */
};
/* out has room for columns + 1 bytes, and is NUL-terminated. columns > 0. */
void timeline_cells(const struct timeline *timeline, const struct timeline_row *row, size_t columns, char *out);

/* Rows that show the same in so many columns are one line. */
struct timeline_line {
	char *name; /* "hello", "worker[3..97]" */
	char *cells;
	const struct timeline_row *row; /* the first one */
	size_t count;
};
/* Returns the number of lines. Free with timeline_lines_free(). */
size_t timeline_lines(const struct timeline *timeline, size_t columns, struct timeline_line **out);
void timeline_lines_free(struct timeline_line *lines, size_t count);

/* {"name", "from", "to", "rows": [{"task", "result", "attempts": [{…}]}], "marks": []}; times as RFC 3339. */
json_t *timeline_json(const struct timeline *timeline);

#endif
