/* See rows.h. */
#define _GNU_SOURCE
#include "cli/ui/rows.h"

#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "common/base/mem.h"

enum { GONE_MAX = 10000 };

static struct ui_row *find(const struct rows *rows, const char *ns, const char *name)
{
	cleanup_free char *key = mem_printf("%s/%s", ns, name);
	struct ui_row *row;

	HASH_FIND_STR(rows->table, key, row);
	return row;
}

static void free_row(struct rows *rows, struct ui_row *row)
{
	HASH_DEL(rows->table, row);
	summary_free(&row->summary);
	json_decref(row->object);
	free(row->resource_version);
	free(row->key);
	free(row);
}

static struct ui_row *row_new(struct rows *rows, const char *ns, const char *name)
{
	struct ui_row *row = mem_calloc(1, sizeof(*row));

	row->key = mem_printf("%s/%s", ns, name);
	row->gone = true;
	rows->gone_count++;
	rows->unsorted = true;
	HASH_ADD_KEYPTR(hh, rows->table, row->key, strlen(row->key), row);
	return row;
}

/* Keeps rows->count and gone_count. */
static void set_gone(struct rows *rows, struct ui_row *row, bool gone)
{
	if (row->gone == gone)
		return;
	row->gone = gone;
	rows->count += gone ? (size_t)-1 : 1;
	rows->gone_count += gone ? 1 : (size_t)-1;
}

void rows_put(struct rows *rows, const struct framework_view *view, bool follows, int64_t now_ms)
{
	const char *version = view_text(json_object_get(view->object, "metadata"), "resourceVersion");
	struct ui_row *row = find(rows, view->ns, view->name);

	if (row == NULL)
		row = row_new(rows, view->ns, view->name);
	row->seen = true;
	if (!row->gone && strcmp(row->resource_version, version) == 0)
		return;
	summary_free(&row->summary);
	summary_read(view, &rows->reasons, now_ms / 1000, &row->summary);
	json_decref(row->object);
	row->object = row->summary.by_events || row->summary.by_time ? json_incref(view->object) : NULL;
	rows->wants_events = rows->wants_events || row->summary.by_events;
	mem_replace(&row->resource_version, version);
	row->lagging_ms = follows ? 0 : row->lagging_ms != 0 ? row->lagging_ms : now_ms;
	row->version = ++rows->version;
	set_gone(rows, row, false);
}

static void renew(struct rows *rows, struct ui_row *row, int64_t now_ms)
{
	if (!row->gone && summary_renew(&row->summary, row->object, &rows->reasons, now_ms / 1000))
		row->version = ++rows->version;
}

void rows_renew(struct rows *rows, const char *key, int64_t now_ms)
{
	struct ui_row *row = NULL;

	if (key != NULL) {
		HASH_FIND_STR(rows->table, key, row);
		if (row != NULL)
			renew(rows, row, now_ms);
		return;
	}
	for (row = rows->table; row != NULL; row = row->hh.next)
		renew(rows, row, now_ms);
}

static void forget_gone(struct rows *rows)
{
	struct ui_row *row, *next;

	HASH_ITER(hh, rows->table, row, next) {
		if (row->gone)
			free_row(rows, row);
	}
	rows->gone_count = 0;
	rows->forgotten = rows->version;
}

static void remove_row(struct rows *rows, struct ui_row *row)
{
	set_gone(rows, row, true);
	row->lagging_ms = 0;
	row->version = ++rows->version;
}

void rows_delete(struct rows *rows, const char *ns, const char *name)
{
	struct ui_row *row = find(rows, ns, name);

	if (row != NULL && !row->gone)
		remove_row(rows, row);
	if (rows->gone_count > GONE_MAX)
		forget_gone(rows);
}

void rows_list_begin(struct rows *rows)
{
	for (struct ui_row *row = rows->table; row != NULL; row = row->hh.next)
		row->seen = false;
}

void rows_list_end(struct rows *rows)
{
	for (struct ui_row *row = rows->table; row != NULL; row = row->hh.next)
		if (!row->seen && !row->gone)
			remove_row(rows, row);
	if (rows->version == 0)
		rows->version = 1; /* 0 is the version of pages that know nothing */
	if (rows->gone_count > GONE_MAX)
		forget_gone(rows);
}

const struct ui_row *rows_find(const struct rows *rows, const char *ns, const char *name)
{
	const struct ui_row *row = find(rows, ns, name);

	return row == NULL || row->gone ? NULL : row;
}

void rows_free(struct rows *rows)
{
	struct ui_row *row, *next;

	HASH_ITER(hh, rows->table, row, next) {
		free_row(rows, row);
	}
	reasons_free(&rows->reasons);
	*rows = (struct rows){0};
}

/* ---- what a page shows ------------------------------------------------------------------------------------------- */

static bool given(const char *text)
{
	return text != NULL && *text != '\0';
}

static bool state_matches(const struct summary *summary, const char *state)
{
	bool succeeded = strcmp(summary->kind, "succeeded") == 0;
	bool failed = strcmp(summary->kind, "failed") == 0 || strcmp(summary->kind, "stopped") == 0 ||
		      strcmp(summary->kind, "malformed") == 0;
	bool running = strcmp(summary->kind, "running") == 0;

	if (strcmp(state, "succeeded") == 0)
		return succeeded;
	if (strcmp(state, "failed") == 0)
		return failed;
	if (strcmp(state, "running") == 0)
		return running;
	if (strcmp(state, "waiting") == 0)
		return !succeeded && !failed && !running;
	return strcmp(state, "active") != 0 || (!succeeded && !failed);
}

/* The namespace and the name of a row never change: a row that this rejects was never sent. */
static bool is_asked_for(const struct ui_row *row, const struct rows_filter *filter)
{
	return (!given(filter->ns) || strcmp(filter->ns, row->summary.ns) == 0) &&
	       (!given(filter->name) || strcmp(filter->name, row->summary.name) == 0);
}

static bool rows_match(const struct ui_row *row, const struct rows_filter *filter)
{
	const struct summary *summary = &row->summary;

	if (!is_asked_for(row, filter) || (given(filter->state) && !state_matches(summary, filter->state)))
		return false;
	return !given(filter->text) || strcasestr(row->key, filter->text) != NULL ||
	       strcasestr(summary->state, filter->text) != NULL || strcasestr(summary->why, filter->text) != NULL;
}

static int compare_keys(const struct ui_row *a, const struct ui_row *b)
{
	return strcmp(a->key, b->key);
}

void rows_each(struct rows *rows, const struct rows_filter *filter, uint64_t since,
	       void (*present)(void *arg, const struct ui_row *row), void (*gone)(void *arg, const char *key),
	       void *arg)
{
	if (rows->unsorted)
		HASH_SRT(hh, rows->table, compare_keys);
	rows->unsorted = false;
	for (const struct ui_row *row = rows->table; row != NULL; row = row->hh.next) {
		if (row->version <= since || !is_asked_for(row, filter))
			continue;
		if (!row->gone && rows_match(row, filter))
			present(arg, row);
		else if (gone != NULL && since != 0)
			gone(arg, row->key);
	}
}

bool rows_too_old(const struct rows *rows, uint64_t since)
{
	return since < rows->forgotten || since > rows->version;
}
