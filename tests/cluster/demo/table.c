/* Laying out the table; see table.h. */
#include "tests/cluster/demo/table.h"

#include <stdio.h>
#include <string.h>

#include "common/base/mem.h"

static const char *const heads[COLUMNS] = {"FRAMEWORK", "STATE", "TASKS", "RETRIES", "CODE", "AGE"};

enum { GAP = 2, TASKS_MIN = 9 };

/* Live columns are at least so wide, so that they seldom move. */
static const size_t widths_usual[COLUMNS] = {
	[COLUMN_STATE] = 14, [COLUMN_TASKS] = 22, [COLUMN_RETRIES] = 9, [COLUMN_CODE] = 4, [COLUMN_AGE] = 3};

static const char common[] = "Attempt";

/* ECMA-48 SGR: the colour is the verdict. */
#define COLOUR_RIGHT "\033[32m"
#define COLOUR_WRONG "\033[31m"
#define COLOUR_HEAD "\033[1m"
#define COLOUR_END "\033[0m"

void age_write(char out[CELL_SIZE], int64_t seconds)
{
	if (seconds < 0)
		seconds = 0;
	if (seconds < 60)
		snprintf(out, CELL_SIZE, "%llds", (long long)seconds);
	else if (seconds < 3600)
		snprintf(out, CELL_SIZE, "%lldm%llds", (long long)seconds / 60, (long long)seconds % 60);
	else
		snprintf(out, CELL_SIZE, "%lldh%lldm", (long long)seconds / 3600, (long long)seconds / 60 % 60);
}

/* "Running" of "AttemptRunning"; but AttemptCompleted keeps its first word: Completed is another state. */
static const char *brief_state(const char *state)
{
	if (strcmp(state, attempt_state_name(STATE_ATTEMPT_COMPLETED)) == 0 ||
	    strncmp(state, common, sizeof(common) - 1) != 0)
		return state;
	return state + sizeof(common) - 1;
}

void tasks_write(char out[CELL_SIZE], const struct sight *sight)
{
	size_t len = 0;

	out[0] = '\0';
	for (int state = 0; state < STATE_COUNT; state++) {
		const char *name = brief_state(attempt_state_name((enum attempt_state)state));
		int added;

		if (sight->tasks[state] == 0)
			continue;
		added = snprintf(out + len, CELL_SIZE - len, "%s%zu %s", len == 0 ? "" : ", ", sight->tasks[state],
				 name);
		len += (size_t)added;
		if (len >= CELL_SIZE)
			return;
	}
}

void row_fill(struct row *row, const char *name, const struct sight *sight, enum verdict verdict, int64_t now)
{
	*row = (struct row){.verdict = verdict};
	snprintf(row->cells[COLUMN_FRAMEWORK], CELL_SIZE, "%s", name);
	if (!sight->seen) {
		snprintf(row->cells[COLUMN_STATE], CELL_SIZE, "-");
		return;
	}
	age_write(row->cells[COLUMN_AGE], now - sight->creation_time);
	if (!sight->begun) {
		snprintf(row->cells[COLUMN_STATE], CELL_SIZE, "created");
		return;
	}
	snprintf(row->cells[COLUMN_STATE], CELL_SIZE, "%s", sight_state_name(sight));
	tasks_write(row->cells[COLUMN_TASKS], sight);
	if (sight->task_retries > 0)
		snprintf(row->cells[COLUMN_RETRIES], CELL_SIZE, "%d +%lld Task", sight->retries,
			 (long long)sight->task_retries);
	else
		snprintf(row->cells[COLUMN_RETRIES], CELL_SIZE, "%d", sight->retries);
	if (sight->has_code) {
		snprintf(row->bare_code, sizeof(row->bare_code), "%d", sight->code);
		snprintf(row->cells[COLUMN_CODE], CELL_SIZE, "%d %s", sight->code, sight->phrase);
	}
	for (char *c = row->cells[COLUMN_CODE]; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

bool row_same(const struct row *a, const struct row *b)
{
	for (int i = 0; i < COLUMNS; i++)
		if (i != COLUMN_AGE && strcmp(a->cells[i], b->cells[i]) != 0)
			return false;
	return a->verdict == b->verdict;
}

static const char *cell(const struct table *table, const struct row *row, int column)
{
	if (column == COLUMN_STATE && table->words >= WORDS_BRIEF_STATE)
		return brief_state(row->cells[column]);
	if (column == COLUMN_CODE && table->words >= WORDS_BARE_CODE)
		return row->bare_code;
	return row->cells[column];
}

void table_fit(struct table *table, const struct row *row)
{
	for (int i = 0; i < COLUMNS; i++) {
		size_t len = strlen(cell(table, row, i)), head = strlen(heads[i]);

		if (len < head)
			len = head;
		if (table->widths[i] < len)
			table->widths[i] = len;
	}
}

static void write_cells(struct buf *out, const struct table *table, const char *const cells[COLUMNS], size_t width)
{
	size_t begin = out->len, end;

	for (int i = 0; i < COLUMNS; i++)
		buf_printf(out, "%-*.*s", (int)(table->widths[i] + GAP), (int)table->widths[i], cells[i]);
	end = out->len;
	if (width > 0 && end - begin > width)
		end = begin + width;
	while (end > begin && out->data[end - 1] == ' ')
		end--;
	out->len = end;
	out->data[end] = '\0';
}

void table_write_head(struct buf *out, const struct table *table, size_t width)
{
	write_cells(out, table, heads, width);
}

void table_write_row(struct buf *out, const struct table *table, const struct row *row, size_t width)
{
	const char *cells[COLUMNS];

	for (int i = 0; i < COLUMNS; i++)
		cells[i] = cell(table, row, i);
	write_cells(out, table, cells, width);
}

static size_t fit_all(struct table *table, const struct row *rows, size_t count, enum words words)
{
	size_t total = 0;

	table->words = words;
	memcpy(table->widths, widths_usual, sizeof(widths_usual));
	for (size_t i = 0; i < count; i++)
		table_fit(table, &rows[i]);
	for (int i = 0; i < COLUMNS; i++)
		total += table->widths[i] + (i + 1 < COLUMNS ? GAP : 0);
	return total;
}

/* The columns for these rows on a screen of that width. */
static struct table lay_out(const struct row *rows, size_t count, size_t width)
{
	struct table table = {0};

	for (int words = WORDS_WHOLE; words <= WORDS_BARE_CODE; words++) {
		size_t total = fit_all(&table, rows, count, (enum words)words);
		size_t *tasks = &table.widths[COLUMN_TASKS];

		if (width == 0 || total <= width)
			break;
		if (words == WORDS_BARE_CODE)
			*tasks = *tasks > TASKS_MIN + (total - width) ? *tasks - (total - width) : TASKS_MIN;
	}
	return table;
}

/* How many rows that are as expected must be left out, and how many rows in all (*left_out). */
static size_t choose_left_out(const struct row *rows, size_t count, size_t height, size_t *left_out)
{
	size_t right = 0;

	*left_out = 0;
	if (height == 0 || count + 1 <= height)
		return 0;
	for (size_t i = 0; i < count; i++)
		right += rows[i].verdict == VERDICT_AS_EXPECTED ? 1 : 0;
	*left_out = count - (height - 2);
	return *left_out < right ? *left_out : right;
}

void table_write(struct buf *out, const struct row *rows, size_t count, size_t width, size_t height, bool colour)
{
	static const char *const colours[] = {
		[VERDICT_AWAITED] = "", [VERDICT_AS_EXPECTED] = COLOUR_RIGHT, [VERDICT_OTHERWISE] = COLOUR_WRONG};
	struct table table = lay_out(rows, count, width);
	size_t left_out, skip = choose_left_out(rows, count, height, &left_out), room = count - left_out;

	if (colour)
		buf_puts(out, COLOUR_HEAD);
	table_write_head(out, &table, width);
	buf_puts(out, colour ? COLOUR_END "\n" : "\n");
	for (size_t i = 0; i < count && room > 0; i++) {
		const char *begin = colour ? colours[rows[i].verdict] : "";

		if (rows[i].verdict == VERDICT_AS_EXPECTED && skip > 0) {
			skip--;
			continue;
		}
		buf_puts(out, begin);
		table_write_row(out, &table, &rows[i], width);
		buf_puts(out, begin[0] != '\0' ? COLOUR_END "\n" : "\n");
		room--;
	}
	if (left_out > 0) {
		cleanup_free char *line = mem_printf("and %zu more", left_out);

		buf_append(out, line, width > 0 && strlen(line) > width ? width : strlen(line));
		buf_putc(out, '\n');
	}
}
