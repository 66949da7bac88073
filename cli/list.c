/* kubectl framework list: one row for each Framework, read page by page; of an object only its row is kept. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/grid.h"
#include "cli/load.h"
#include "cli/reason_watch.h"
#include "cli/show.h"
#include "cli/view/age.h"
#include "cli/view/lease.h"
#include "cli/view/read.h"
#include "cli/view/summary.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

struct row {
	UT_hash_handle hh; /* by key, in the order in which they came */
	char *key;         /* namespace/name */
	struct summary summary;
	json_t *object; /* kept if the summary may change without it; else NULL */
	bool seen;      /* by the list that runs */
	bool printed;   /* as it is */
};

struct listing {
	struct cli *cli;
	struct row *rows;
	struct reasons reasons;
	struct reason_watch reason_watch; /* of -w */
	bool touched;                     /* a row has changed, and not its Framework */
	json_t *objects;                  /* of -o json and yaml */
	bool named;                       /* a Framework that was named: alone it is printed without a list around it */
};

static enum style style_of(enum tone tone)
{
	return tone == TONE_BAD ? STYLE_BAD : tone == TONE_GOOD ? STYLE_GOOD : STYLE_WAITS;
}

static void free_content(struct row *row)
{
	summary_free(&row->summary);
	json_decref(row->object);
}

static void free_row(struct row *row)
{
	free_content(row);
	free(row->key);
	free(row);
}

static struct row *row_new(const struct listing *listing, const struct framework_view *view)
{
	struct row *row = mem_calloc(1, sizeof(*row));

	summary_read(view, &listing->reasons, cli_now(listing->cli), &row->summary);
	row->key = mem_printf("%s/%s", view->ns, view->name);
	row->seen = true;
	row->object = row->summary.by_events || row->summary.by_time ? json_incref(view->object) : NULL;
	return row;
}

static void put_row(struct listing *listing, struct row *row)
{
	struct row *old;

	HASH_FIND_STR(listing->rows, row->key, old);
	if (old == NULL) {
		HASH_ADD_KEYPTR(hh, listing->rows, row->key, strlen(row->key), row);
		return;
	}
	/* in its place, so that rows do not move */
	free_content(old);
	free(row->key);
	row->key = old->key;
	row->hh = old->hh;
	*old = *row;
	free(row);
}

static void print_name(struct listing *listing, const struct framework_view *view)
{
	out_line(&listing->cli->out, "framework.%s/%s", FRAMEWORK_GROUP, view->name);
}

static void take(void *arg, json_t *object)
{
	struct listing *listing = arg;
	struct framework_view view;
	struct error err;

	if (listing->objects != NULL) {
		show_trim(object);
		json_array_append(listing->objects, object);
		return;
	}
	if (framework_view_read(object, &view, &err) < 0)
		cli_note(listing->cli, "%s", err.message);
	else if (listing->cli->options.output == OUTPUT_NAME)
		print_name(listing, &view);
	else
		put_row(listing, row_new(listing, &view));
	framework_view_free(&view);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

enum column {
	COLUMN_NAMESPACE,
	COLUMN_NAME,
	COLUMN_STATE,
	COLUMN_READY,
	COLUMN_RUNNING,
	COLUMN_FAILED,
	COLUMN_TASKS,
	COLUMN_RETRIES,
	COLUMN_AGE,
	COLUMN_COMPLETION,
	COLUMN_WHY,
	COLUMN_COUNT,
};

static const char *const heads[] = {
	"NAMESPACE",          "NAME", "STATE", "READY", "RUNNING", "FAILED", "TASKS", "RETRIES", "AGE", "COMPLETION",
	"WAITS FOR / BECAUSE"};

/* On narrow terminals the last column matters more than some others. */
static bool is_shown(const struct cli *cli, enum column column)
{
	enum { NARROW = 110, NARROWER = 80, NARROWEST = 56 };
	bool wide = cli->options.output == OUTPUT_WIDE;
	size_t width = wide ? 0 : cli->out.width;

	switch (column) {
	case COLUMN_NAMESPACE: return cli->options.all_namespaces;
	case COLUMN_READY:
	case COLUMN_RETRIES: return width == 0 || width >= NARROW;
	case COLUMN_FAILED:
	case COLUMN_AGE: return width == 0 || width >= NARROWER;
	case COLUMN_RUNNING:
	case COLUMN_TASKS: return width == 0 || width >= NARROWEST;
	case COLUMN_COMPLETION: return wide;
	default: return true;
	}
}

static void put_cell(struct grid *grid, const struct summary *summary, enum column column, int64_t now)
{
	char age[AGE_SIZE];

	switch (column) {
	case COLUMN_NAMESPACE: grid_put(grid, STYLE_PLAIN, "%s", summary->ns); break;
	case COLUMN_NAME: grid_put(grid, STYLE_PLAIN, "%s", summary->name); break;
	case COLUMN_STATE: grid_put(grid, style_of(summary->tone), "%s", summary->state); break;
	case COLUMN_READY: grid_put(grid, STYLE_PLAIN, "%zu", summary->counts.ready); break;
	case COLUMN_RUNNING: grid_put(grid, STYLE_PLAIN, "%zu", summary->counts.running); break;
	case COLUMN_FAILED:
		grid_put(grid, summary->counts.failed > 0 ? STYLE_BAD : STYLE_PLAIN, "%zu", summary->counts.failed);
		break;
	case COLUMN_TASKS: grid_put(grid, STYLE_PLAIN, "%zu", summary->counts.total); break;
	case COLUMN_RETRIES: grid_put(grid, STYLE_PLAIN, "%d", (int)summary->retries); break;
	case COLUMN_AGE: grid_put(grid, STYLE_PLAIN, "%s", age_text(now - summary->creation_time, age)); break;
	case COLUMN_COMPLETION: grid_put(grid, STYLE_PLAIN, "%s", summary->code); break;
	default: grid_put(grid, STYLE_PLAIN, "%s", summary->why); break;
	}
}

/* all: else only those that have changed since they were printed. */
static void print_rows(struct listing *listing, bool all, bool headers)
{
	struct cli *cli = listing->cli;
	const char *shown[COLUMN_COUNT];
	size_t count = 0, height = cli->options.watch ? cli->out.height : 0;
	int64_t now = cli_now(cli);
	struct row *row, *next;
	struct grid grid;

	for (int i = 0; i < COLUMN_COUNT; i++)
		if (is_shown(cli, (enum column)i))
			shown[count++] = heads[i];
	grid_begin(&grid, shown, count);
	HASH_ITER(hh, listing->rows, row, next) {
		for (int i = 0; i < COLUMN_COUNT && (all || !row->printed); i++)
			if (is_shown(cli, (enum column)i))
				put_cell(&grid, &row->summary, (enum column)i, now);
		row->printed = true;
	}
	if (grid.count > 0)
		grid_print(&grid, &cli->out, headers, cli->options.output == OUTPUT_WIDE, height > 2 ? height - 2 : 0);
	grid_free(&grid);
}

static void print_objects(struct listing *listing)
{
	struct cli *cli = listing->cli;
	json_t *value;

	if (listing->named && json_array_size(listing->objects) == 1)
		value = json_incref(json_array_get(listing->objects, 0));
	else
		value = json_pack("{s:s, s:O, s:s, s:{s:s}}", "apiVersion", "v1", "items", listing->objects, "kind",
				  "List", "metadata", "resourceVersion", "");
	if (cli->options.output == OUTPUT_JSON)
		out_json(&cli->out, value);
	else
		out_yaml(&cli->out, value);
	json_decref(value);
}

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

static void renew(struct listing *listing, struct row *row)
{
	if (!summary_renew(&row->summary, row->object, &listing->reasons, cli_now(listing->cli)))
		return;
	row->printed = false;
	listing->touched = true;
}

static void on_reasons(void *arg, const char *key)
{
	struct listing *listing = arg;
	struct row *row = NULL;

	if (key != NULL) {
		HASH_FIND_STR(listing->rows, key, row);
		if (row != NULL)
			renew(listing, row);
		return;
	}
	for (row = listing->rows; row != NULL; row = row->hh.next)
		renew(listing, row);
}

static void take_event(void *arg, json_t *object)
{
	struct listing *listing = arg;
	cleanup_free char *key = reasons_key(object);
	const struct row *row;

	HASH_FIND_STR(listing->rows, key, row);
	if (row != NULL && row->summary.by_events)
		reasons_put(&listing->reasons, object);
}

static bool wants_events(const struct listing *listing)
{
	for (const struct row *row = listing->rows; row != NULL; row = row->hh.next)
		if (row->summary.by_events)
			return true;
	return false;
}

/* The warnings of one namespace or all, only if some Framework waits for what its status does not say. Without the
 * right to list Events the rows stay as they are. */
static void ask_events(struct listing *listing)
{
	cleanup_free char *path = reason_events_path(listing->cli);
	struct error err;

	if (!wants_events(listing))
		return;
	cli_list(listing->cli, path, REASON_EVENTS_QUERY, take_event, listing, &err);
	on_reasons(listing, NULL);
}

/* ---- -w ---------------------------------------------------------------------------------------------------------- */

static void on_deleted(void *arg, json_t *object)
{
	struct listing *listing = arg;
	struct framework_view view;
	cleanup_free char *key = NULL;
	struct row *row;
	struct error err;

	if (listing->objects == NULL && framework_view_read(object, &view, &err) == 0) {
		key = mem_printf("%s/%s", view.ns, view.name);
		HASH_FIND_STR(listing->rows, key, row);
		if (row != NULL) {
			HASH_DEL(listing->rows, row);
			free_row(row);
		}
		framework_view_free(&view);
	}
}

static void on_list_begin(void *arg)
{
	struct listing *listing = arg;

	for (struct row *row = listing->rows; row != NULL; row = row->hh.next)
		row->seen = false;
}

static void on_list_end(void *arg)
{
	struct listing *listing = arg;
	struct row *row, *next;

	HASH_ITER(hh, listing->rows, row, next) {
		if (row->seen)
			continue;
		HASH_DEL(listing->rows, row);
		free_row(row);
	}
}

static bool on_settled(struct cli *cli, void *arg)
{
	struct listing *listing = arg;

	if (listing->objects != NULL) {
		const json_t *object;
		size_t i;

		json_array_foreach(listing->objects, i, object) {
			if (cli->options.output == OUTPUT_JSON)
				out_json(&cli->out, object);
			else
				out_yaml(&cli->out, object);
		}
		json_array_clear(listing->objects);
	} else if (cli->options.output != OUTPUT_NAME) {
		if (!listing->reason_watch.asked && wants_events(listing)) {
			ask_events(listing); /* so that no row is printed without its reason first */
			reason_watch_ask(&listing->reason_watch);
		}
		if (cli->out.terminal) {
			out_measure(&cli->out);
			out_clear_screen(&cli->out);
		}
		print_rows(listing, cli->out.terminal,
			   !cli->options.no_headers && (cli->out.terminal || !listing->named));
		listing->named = true; /* the headings have been printed */
	}
	return out_flush(&cli->out) == 0;
}

static int watch_all(struct cli *cli, struct listing *listing, const char *path, struct error *err)
{
	const struct follow what = {
		.path = path,
		.selector = cli->options.selector,
		.present = take,
		.deleted = on_deleted,
		.list_begin = on_list_begin,
		.list_end = on_list_end,
		.settle = on_settled,
		.arg = listing,
		.touched = &listing->touched,
		.timeout_ms = -1,
	};
	int code;

	reason_watch_start(&listing->reason_watch, cli, &listing->reasons);
	code = follow_run(cli, &what, err);
	reason_watch_stop(&listing->reason_watch);
	return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Those that can be read are printed, as by kubectl get; the first failure's code counts. */
static int list_named(struct cli *cli, struct listing *listing)
{
	int result = 0;

	for (size_t i = 0; i < cli->options.argument_count; i++) {
		cleanup_free char *path = cli_frameworks_path(cli->ns, cli->options.arguments[i]);
		cleanup_json json_t *object = NULL;
		struct error err;
		int code = cli_get(cli, path, &object, &err);

		if (code == 0)
			take(listing, object);
		else
			cli_complain(cli, code, &err);
		if (result == 0)
			result = code;
	}
	return result;
}

static int list_all(struct cli *cli, struct listing *listing)
{
	cleanup_free char *path = cli_frameworks_path(cli->options.all_namespaces ? NULL : cli->ns, NULL);
	cleanup_buf struct buf query = {0};
	struct error err;
	int code;

	buf_puts(&query, "");
	if (cli->options.selector != NULL)
		cli_put_query(&query, "labelSelector", cli->options.selector);
	code = cli->options.watch ? watch_all(cli, listing, path, &err)
				  : cli_list(cli, path, query.data, take, listing, &err);
	return code == 0 ? 0 : cli_complain(cli, code, &err);
}

static int watch_named(struct cli *cli, struct listing *listing)
{
	cleanup_free char *collection = cli_frameworks_path(cli->ns, NULL);
	cleanup_free char *path = follow_path_of(collection, cli->options.arguments[0]);
	struct error err;
	int code = watch_all(cli, listing, path, &err);

	return code == 0 ? 0 : cli_complain(cli, code, &err);
}

/* Complains of what fails. */
static int run(struct cli *cli, struct listing *listing)
{
	struct error err;
	int code = cli_connect(cli, &err);

	if (code != 0)
		return cli_complain(cli, code, &err);
	if (cli->options.argument_count == 0)
		return list_all(cli, listing);
	return cli->options.watch ? watch_named(cli, listing) : list_named(cli, listing);
}

/* If no fc-watcher leads, as far as the user may know. */
static void note_leader(struct listing *listing)
{
	cleanup_json json_t *lease = NULL;
	int64_t changed = 0;
	bool any = false;

	for (const struct row *row = listing->rows; row != NULL; row = row->hh.next) {
		any = any || !row->summary.over;
		if (row->summary.changed_time > changed)
			changed = row->summary.changed_time;
	}
	if (any)
		lease = load_lease(listing->cli);
	if (lease_is_given_up(lease, changed, cli_now(listing->cli))) {
		const json_t *meta = json_object_get(lease, "metadata");

		cli_note(listing->cli,
			 "no fc-watcher leads by Lease %s/%s: until one does, the controller does nothing, and states "
			 "stay as they are",
			 view_text(meta, "namespace"), view_text(meta, "name"));
	}
}

/* code: of run(). */
static void print_found(struct listing *listing, int code)
{
	struct cli *cli = listing->cli;

	if (listing->rows != NULL) {
		ask_events(listing);
		print_rows(listing, true, !cli->options.no_headers);
		note_leader(listing);
	} else if (json_array_size(listing->objects) > 0 || (listing->objects != NULL && code == 0)) {
		print_objects(listing);
	} else if (code == 0 && cli->options.output != OUTPUT_NAME) {
		cli_note(cli, "found no Frameworks%s%s", cli->options.all_namespaces ? "" : " in namespace ",
			 cli->options.all_namespaces ? "" : cli->ns);
	}
}

int command_list(struct cli *cli)
{
	const struct options *options = &cli->options;
	bool whole = options->output == OUTPUT_JSON || options->output == OUTPUT_YAML;
	struct listing listing = {.cli = cli,
				  .objects = whole ? json_array() : NULL,
				  .reason_watch = {.changed = on_reasons, .arg = &listing}};
	struct row *row, *next;
	struct error err;
	int code;

	if (options->argument_count > 0 &&
	    (options->selector != NULL || options->all_namespaces || (options->watch && options->argument_count > 1))) {
		error_set(&err, "list: names exclude --selector and --all-namespaces, and --watch takes one name");
		return cli_complain(cli, CLI_BAD_USE, &err);
	}
	listing.named = options->argument_count > 0 && !options->watch;
	code = run(cli, &listing);
	if (!options->watch && (code == 0 || listing.named))
		print_found(&listing, code);
	HASH_ITER(hh, listing.rows, row, next) {
		HASH_DEL(listing.rows, row);
		free_row(row);
	}
	reasons_free(&listing.reasons);
	json_decref(listing.objects);
	return code;
}
