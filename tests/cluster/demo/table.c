/* Laying out the table; see table.h. */
#include "tests/cluster/demo/table.h"

#include <stdio.h>
#include <string.h>

#include "common/base/mem.h"

static const char *const heads[COLUMNS] = {"FRAMEWORK", "STATE", "TASKS", "RETRIES", "CODE", "AGE"};

enum { GAP = 2 };

/* Those of kubectl's own tables would not help: colour says only what the verdict is. */
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

void tasks_write(char out[CELL_SIZE], const struct sight *sight)
{
	static const char common[] = "Attempt";
	size_t len = 0;

	out[0] = '\0';
	for (int state = 0; state < STATE_COUNT; state++) {
		const char *name = attempt_state_name((enum attempt_state)state);
		int added;

		if (sight->tasks[state] == 0)
			continue;
		/* AttemptCompleted keeps it: Completed is another one. */
		if (state != STATE_ATTEMPT_COMPLETED && strncmp(name, common, sizeof(common) - 1) == 0)
			name += sizeof(common) - 1;
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
	snprintf(row->cells[COLUMN_STATE], CELL_SIZE, "%s", attempt_state_name(sight->state));
	tasks_write(row->cells[COLUMN_TASKS], sight);
	if (sight->task_retries > 0)
		snprintf(row->cells[COLUMN_RETRIES], CELL_SIZE, "%d +%lld Task", sight->retries,
			 (long long)sight->task_retries);
	else
		snprintf(row->cells[COLUMN_RETRIES], CELL_SIZE, "%d", sight->retries);
	if (sight->has_code)
		snprintf(row->cells[COLUMN_CODE], CELL_SIZE, "%d %s", sight->code, sight->phrase);
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

void table_fit(struct table *table, const struct row *row)
{
	for (int i = 0; i < COLUMNS; i++) {
		size_t len = strlen(row->cells[i]), head = strlen(heads[i]);

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
		buf_printf(out, "%-*s", (int)(table->widths[i] + GAP), cells[i]);
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
		cells[i] = row->cells[i];
	write_cells(out, table, cells, width);
}

void table_write(struct buf *out, const struct table *table, const struct row *rows, size_t count, size_t width,
		 size_t height, bool colour)
{
	static const char *const colours[] = {
		[VERDICT_AWAITED] = "", [VERDICT_AS_EXPECTED] = COLOUR_RIGHT, [VERDICT_OTHERWISE] = COLOUR_WRONG};
	size_t skip_right = 0, left_out = 0, room;

	if (count + 1 > height) {
		size_t right = 0;

		for (size_t i = 0; i < count; i++)
			right += rows[i].verdict == VERDICT_AS_EXPECTED ? 1 : 0;
		left_out = count - (height - 2);
		skip_right = left_out < right ? left_out : right;
	}
	room = count - left_out;
	if (colour)
		buf_puts(out, COLOUR_HEAD);
	table_write_head(out, table, width);
	buf_puts(out, colour ? COLOUR_END "\n" : "\n");
	for (size_t i = 0; i < count && room > 0; i++) {
		const char *begin = colour ? colours[rows[i].verdict] : "";

		if (rows[i].verdict == VERDICT_AS_EXPECTED && skip_right > 0) {
			skip_right--;
			continue;
		}
		buf_puts(out, begin);
		table_write_row(out, table, &rows[i], width);
		buf_puts(out, begin[0] != '\0' ? COLOUR_END "\n" : "\n");
		room--;
	}
	if (left_out > 0) {
		cleanup_free char *line = mem_printf("and %zu more", left_out);

		buf_append(out, line, width > 0 && strlen(line) > width ? width : strlen(line));
		buf_putc(out, '\n');
	}
}
