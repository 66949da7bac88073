/* The frame of all pages, and the list; see page.h. */
#include "cli/ui/page.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/ui/assets.h"
#include "cli/ui/html.h"
#include "common/base/mem.h"

/* Bytes of a reason; the page of the Framework has all of it. Rows in a group: a browser lays out and paints no group
 * that is out of sight (ui.css), and looks at each group for each frame. */
enum { REASON_MOST = 200, GROUP_ROWS = 50 };

static const struct {
	const char *value;
	const char *text;
} states[] = {
	{"", "all"},
	{"active", "not completed"},
	{"waiting", "waiting"},
	{"running", "running"},
	{"succeeded", "succeeded"},
	{"failed", "failed or stopped"},
};

/* The part of ui.html up to a mark, which *at then is behind of. */
static void put_until(struct buf *out, const char **at, const char *mark)
{
	const char *end = strstr(*at, mark);

	buf_append(out, *at, (size_t)(end - *at));
	*at = end + strlen(mark);
}

void page_put(struct buf *out, const char *title, const char *scope, const char *main)
{
	const char *at = ui_html;

	put_until(out, &at, "<!--title-->");
	html_put(out, title);
	put_until(out, &at, "<!--scope-->");
	html_put(out, scope);
	put_until(out, &at, "<!--main-->");
	buf_puts(out, main);
	buf_puts(out, at);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static const char *tone_class(const struct summary *summary)
{
	return summary->tone == TONE_BAD ? "bad" : summary->tone == TONE_GOOD ? "good" : "waits";
}

static void put_number(struct buf *out, size_t number, bool bad)
{
	buf_printf(out, "<span role=\"cell\" class=\"number%s\">%zu</span>", bad ? " bad" : "", number);
}

static void put_row(struct buf *out, const struct ui_row *row)
{
	const struct summary *summary = &row->summary;

	buf_puts(out, "<div role=\"row\" data-key=\"");
	html_put(out, row->key);
	buf_puts(out, "\"><span role=\"cell\"><a href=\"");
	html_put_link(out, summary->ns, summary->name);
	buf_puts(out, "\"><span class=\"namespace\">");
	html_put(out, summary->ns);
	buf_puts(out, "/</span>");
	html_put(out, summary->name);
	buf_printf(out, "</a></span><span role=\"cell\" class=\"%s\">", tone_class(summary));
	html_put_short(out, summary->state, REASON_MOST);
	buf_puts(out, "</span>");
	put_number(out, summary->counts.ready, false);
	put_number(out, summary->counts.running, false);
	put_number(out, summary->counts.failed, summary->counts.failed > 0);
	put_number(out, summary->counts.total, false);
	put_number(out, summary->retries < 0 ? 0 : (size_t)summary->retries, false);
	buf_puts(out, "<span role=\"cell\">");
	html_put_time(out, summary->creation_time);
	buf_puts(out, "</span><span role=\"cell\" class=\"why\">");
	html_put_short(out, summary->why, REASON_MOST);
	buf_puts(out, "</span></div>\n");
}

static void put_filter(struct buf *out, const struct rows_filter *filter)
{
	const char *state = filter->state == NULL ? "" : filter->state;

	buf_puts(out, "<form id=\"filter\" action=\"frameworks\" role=\"search\">"
		      "<label>Text <input type=\"search\" name=\"q\" value=\"");
	html_put(out, filter->text == NULL ? "" : filter->text);
	buf_puts(out, "\"></label> <label>State <select name=\"state\">");
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		buf_printf(out, "<option value=\"%s\"%s>%s</option>", states[i].value,
			   strcmp(states[i].value, state) == 0 ? " selected" : "", states[i].text);
	buf_puts(out, "</select></label> <button>Filter</button></form>\n");
}

/* All rows, in groups. */
struct grouping {
	struct buf *out;
	size_t count;
};

static void put_grouped(void *arg, const struct ui_row *row)
{
	struct grouping *grouping = arg;

	if (grouping->count % GROUP_ROWS == 0)
		buf_printf(grouping->out, "%s<div role=\"rowgroup\" class=\"group\">\n",
			   grouping->count == 0 ? "" : "</div>\n");
	grouping->count++;
	put_row(grouping->out, row);
}

/* Returns their number. */
static size_t put_all(struct buf *out, struct rows *rows, const struct rows_filter *filter)
{
	struct grouping grouping = {.out = out};

	buf_puts(out, "");
	rows_each(rows, filter, 0, put_grouped, NULL, &grouping);
	buf_puts(out, grouping.count == 0 ? "" : "</div>\n");
	return grouping.count;
}

void page_put_list(struct buf *out, struct rows *rows, const struct rows_filter *filter)
{
	static const char *const heads[] = {"Framework", "State",   "Ready",
					    "Running",   "Failed",  "Tasks",
					    "Retries",   "Created", "Waits for, or because"};
	cleanup_buf struct buf text = {0};
	size_t count = put_all(&text, rows, filter);

	buf_printf(out, "<div id=\"view\" data-version=\"%" PRIu64 "\">\n<h1>Frameworks</h1>\n", rows->version);
	put_filter(out, filter);
	buf_printf(out, "<p><output id=\"count\">%zu</output> shown</p>\n", count);
	buf_puts(out, "<div role=\"table\" aria-label=\"Frameworks\" class=\"list\"><div role=\"rowgroup\" "
		      "class=\"heads\"><div role=\"row\">");
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		buf_printf(out, "<span role=\"columnheader\">%s</span>", heads[i]);
	buf_puts(out, "</div></div>\n<div id=\"rows\">\n");
	buf_append(out, text.data, text.len);
	buf_puts(out, "</div></div></div>\n");
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

struct changes {
	struct buf rows;
	struct buf gone;
};

static void put_present(void *arg, const struct ui_row *row)
{
	put_row(&((struct changes *)arg)->rows, row);
}

static void put_gone(void *arg, const char *key)
{
	struct changes *changes = arg;

	buf_json_next(&changes->gone);
	buf_json_string(&changes->gone, key);
}

bool page_put_changes(struct buf *out, struct rows *rows, const struct rows_filter *filter, uint64_t since,
		      const char *lost)
{
	struct changes changes = {0};
	bool reset = since == 0 || rows_too_old(rows, since), any;

	buf_puts(&changes.rows, "");
	buf_putc(&changes.gone, '[');
	if (reset)
		put_all(&changes.rows, rows, filter);
	else
		rows_each(rows, filter, since, put_present, put_gone, &changes);
	any = reset || changes.rows.len > 0 || changes.gone.len > 1;
	buf_printf(out, "{\"version\":%" PRIu64 ",\"lost\":", rows->version);
	if (lost == NULL)
		buf_puts(out, "null");
	else
		buf_json_string(out, lost);
	buf_printf(out, ",\"reset\":%s,\"rows\":", reset ? "true" : "false");
	buf_json_string_n(out, changes.rows.data, changes.rows.len);
	buf_printf(out, ",\"gone\":%s]}\n", changes.gone.data);
	buf_free(&changes.rows);
	buf_free(&changes.gone);
	return any;
}
