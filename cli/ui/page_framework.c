/* The page of one Framework; see page.h. */
#include "cli/ui/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "cli/ui/html.h"
#include "cli/view/svg.h"
#include "cli/view/timeline.h"
#include "cli/view/tree.h"
#include "cli/view/why.h"
#include "common/base/mem.h"

/* Texts from so many bytes on may be higher than their box: the keyboard must reach them to scroll. */
enum { LONG_TEXT = 500 };

static const char *tone_class(enum tone tone)
{
	static const char *const classes[] = {
		[TONE_PLAIN] = "plain", [TONE_GOOD] = "good", [TONE_BAD] = "bad", [TONE_WAITS] = "waits"};

	return classes[tone];
}

static void put_element(struct buf *out, const char *name, const char *class, const char *text)
{
	buf_printf(out, "<%s class=\"%s\">", name, class);
	html_put(out, text);
	buf_printf(out, "</%s>", name);
}

static void put_pre(struct buf *out, const char *text)
{
	buf_puts(out, strlen(text) > LONG_TEXT ? "<pre tabindex=\"0\">" : "<pre>");
	html_put_lines(out, text);
	buf_puts(out, "</pre>");
}

static void put_why(struct buf *out, const struct inquiry *inquiry)
{
	struct why why;

	why_explain(inquiry, &why);
	buf_puts(out, "<section id=\"why\"><h2>Why</h2>\n");
	buf_printf(out, "<p class=\"answer\" data-kind=\"%s\">", why.kind);
	html_put_lines(out, why.answer);
	buf_puts(out, "</p>\n");
	if (why.fact_count > 0)
		buf_puts(out, "<h3>Evidence</h3><dl>");
	for (size_t i = 0; i < why.fact_count; i++) {
		buf_puts(out, "<dt>");
		html_put(out, why.facts[i].source);
		buf_puts(out, "</dt><dd>");
		put_pre(out, why.facts[i].text);
		buf_puts(out, "</dd>\n");
	}
	buf_puts(out, why.fact_count > 0 ? "</dl>\n" : "");
	if (why.advice_count > 0)
		buf_puts(out, "<h3>What to do</h3><ul>");
	for (size_t i = 0; i < why.advice_count; i++) {
		buf_puts(out, "<li>");
		html_put(out, why.advice[i].text);
		if (why.advice[i].command != NULL)
			put_pre(out, why.advice[i].command);
		buf_puts(out, "</li>\n");
	}
	buf_puts(out, why.advice_count > 0 ? "</ul>\n" : "");
	buf_puts(out, "</section>\n");
	why_free(&why);
}

static void put_node(struct buf *out, const struct tree_node *node)
{
	buf_puts(out, "<li>");
	put_element(out, "span", "name", node->name);
	if (node->state != NULL && *node->state != '\0') {
		buf_putc(out, ' ');
		put_element(out, "span", tone_class(node->tone), node->state);
	}
	if (node->detail != NULL && *node->detail != '\0') {
		buf_putc(out, ' ');
		put_element(out, "span", "detail", node->detail);
	}
	if (node->child_count > 0)
		buf_puts(out, "\n<ul>");
	for (size_t i = 0; i < node->child_count; i++)
		put_node(out, &node->children[i]);
	buf_puts(out, node->child_count > 0 ? "</ul></li>\n" : "</li>\n");
}

static void put_tree(struct buf *out, const struct inquiry *inquiry)
{
	struct tree_node root;

	tree_build(inquiry, false, false, &root);
	buf_puts(out, "<section id=\"tree\"><h2>TaskRoles, Tasks and Pods</h2>\n<ul class=\"tree\">");
	put_node(out, &root);
	buf_puts(out, "</ul></section>\n");
	tree_free(&root);
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

static void put_attempts(struct buf *out, const struct timeline_row *row)
{
	for (size_t i = 0; i < row->bar_count; i++) {
		const struct bar *bar = &row->bars[i];

		buf_printf(out, "%s%d: ", bar->earlier ? "before " : "", (int)bar->id);
		html_put_time(out, bar->start);
		if (bar->run != 0) {
			buf_puts(out, ", runs ");
			html_put_time(out, bar->run);
		}
		if (bar->end != 0) {
			buf_puts(out, ", ends ");
			html_put_time(out, bar->end);
		}
		buf_puts(out, "<br>");
	}
}

/* The same in words, for whoever does not see the picture. */
static void put_times(struct buf *out, const struct timeline *timeline)
{
	enum { COLUMNS = 800 };
	struct timeline_line *lines;
	size_t count = timeline_lines(timeline, COLUMNS, &lines);

	buf_puts(out, "<details id=\"times\"><summary>As a table</summary><table><thead><tr><th scope=\"col\">Task</th>"
		      "<th scope=\"col\">Result</th><th scope=\"col\">Attempts</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < count; i++) {
		buf_puts(out, "<tr><th scope=\"row\">");
		html_put(out, lines[i].name);
		buf_puts(out, "</th>");
		put_element(out, "td", tone_class(lines[i].row->tone), lines[i].row->result);
		buf_puts(out, "<td>");
		put_attempts(out, lines[i].row);
		buf_puts(out, "</td></tr>\n");
	}
	buf_puts(out, "</tbody></table></details>\n");
	timeline_lines_free(lines, count);
}

static void put_timeline(struct buf *out, const struct inquiry *inquiry)
{
	cleanup_buf struct buf svg = {0};
	struct timeline timeline;

	timeline_build(inquiry, NULL, 0, &timeline);
	svg_write_plain(&svg, &timeline);
	buf_puts(out,
		 "<section id=\"timeline\"><h2>Timeline</h2>\n<div class=\"picture\" tabindex=\"0\" role=\"group\" "
		 "aria-label=\"Timeline\">");
	/* Its text is escaped; what could change how other text is shown is not. */
	text_append_safe_lines(out, svg.data, svg.len, false);
	buf_puts(out,
		 "</div>\n<p class=\"legend\"><span class=\"pending\">pending</span> "
		 "<span class=\"running\">running</span> <span class=\"good\">succeeded</span> "
		 "<span class=\"bad\">failed</span> <span class=\"ended\">ended with its Framework's attempt</span> "
		 "<span class=\"earlier\">earlier attempts</span></p>\n");
	put_times(out, &timeline);
	buf_puts(out, "</section>\n");
	timeline_free(&timeline);
}

static void put_events(struct buf *out, const struct event_views *events)
{
	if (events == NULL)
		return;
	buf_puts(out, "<section id=\"events\"><h2>Events</h2>\n");
	if (events->count == 0)
		buf_puts(out, "<p>There are none.</p>");
	else
		buf_puts(out, "<table><thead><tr><th scope=\"col\">Last seen</th><th scope=\"col\">Count</th>"
			      "<th scope=\"col\">Reason</th><th scope=\"col\">Message</th></tr></thead><tbody>\n");
	for (size_t i = events->count; i-- > 0;) {
		const struct event_view *event = &events->list[i];

		buf_puts(out, "<tr><td>");
		html_put_time(out, event->last_time);
		buf_printf(out, "</td><td class=\"number\">%" PRId64 "</td>", event->count);
		put_element(out, "td", event->warning ? "bad" : "plain", event->reason);
		buf_puts(out, "<td>");
		put_pre(out, event->message);
		buf_puts(out, "</td></tr>\n");
	}
	buf_puts(out, events->count == 0 ? "</section>\n" : "</tbody></table></section>\n");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void put_notes(struct buf *out, const char *notes)
{
	buf_puts(out, "<section id=\"notes\">");
	if (*notes != '\0') {
		buf_puts(out, "<h2>Left out</h2>");
		put_pre(out, notes);
	}
	buf_puts(out, "</section>\n");
}

static void put_heading(struct buf *out, const char *ns, const char *name)
{
	buf_puts(out, "<h1><span class=\"namespace\">");
	html_put(out, ns);
	buf_puts(out, "/</span>");
	html_put(out, name);
	buf_puts(out, "</h1>\n");
}

void page_put_framework(struct buf *out, const struct inquiry *inquiry, const char *notes, uint64_t version)
{
	const struct framework_view *framework = inquiry->framework;
	bool over = framework->begun && framework->status.state == STATE_COMPLETED;

	buf_printf(out, "<div id=\"view\" data-version=\"%" PRIu64 "\" data-over=\"%s\">\n", version,
		   over ? "true" : "false");
	put_heading(out, framework->ns, framework->name);
	put_why(out, inquiry);
	put_tree(out, inquiry);
	put_timeline(out, inquiry);
	put_events(out, inquiry->events);
	put_notes(out, notes);
	buf_puts(out, "</div>\n");
}

void page_put_failure(struct buf *out, const char *ns, const char *name, const char *message)
{
	buf_puts(out, "<div>");
	put_heading(out, ns, name);
	buf_puts(out, "<p class=\"bad\">");
	html_put(out, message);
	buf_puts(out, "</p>\n<p><a href=\"frameworks\">All Frameworks</a></p></div>\n");
}
