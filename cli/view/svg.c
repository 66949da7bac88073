/* See svg.h. */
#include "cli/view/svg.h"

#include <string.h>

#include "cli/view/age.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"

/* Pixels. */
enum {
	NAME_WIDTH = 220,
	BAR_WIDTH = 800,
	RESULT_WIDTH = 260,
	LINE_HEIGHT = 20,
	BAR_HEIGHT = 12,
	TOP = 30,
	MARGIN = 10
};

static const struct {
	char cell;
	const char *class;
} classes[] = {
	{CELL_PENDING, "pending"}, {CELL_RUNNING, "running"}, {CELL_EARLIER, "earlier"},
	{CELL_GOOD, "good"},       {CELL_BAD, "bad"},         {CELL_ENDED, "ended"},
};

static void put_text(struct buf *out, const char *text)
{
	size_t len = strlen(text), size;

	for (size_t at = 0; at < len; at += size) {
		size = utf8_sequence(text + at, len - at);
		switch (text[at]) {
		case '<': buf_puts(out, "&lt;"); break;
		case '>': buf_puts(out, "&gt;"); break;
		case '&': buf_puts(out, "&amp;"); break;
		case '"': buf_puts(out, "&quot;"); break;
		default:
			if (size == 0 || ((unsigned char)text[at] < 0x20 && text[at] != '\n' && text[at] != '\t'))
				buf_puts(out, "\xEF\xBF\xBD");
			else
				buf_append(out, text + at, size);
		}
		if (size == 0)
			size = 1;
	}
}

static void put_label(struct buf *out, size_t x, size_t y, const char *text)
{
	buf_printf(out, "<text x=\"%zu\" y=\"%zu\">", x, y);
	put_text(out, text);
	buf_puts(out, "</text>\n");
}

static const char *class_of(char cell)
{
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if (classes[i].cell == cell)
			return classes[i].class;
	return NULL;
}

/* Ends of attempts are a few pixels wide, or nobody would see them. */
static void put_bars(struct buf *out, const char *cells, size_t y)
{
	enum { END_WIDTH = 4 };

	for (size_t i = 0, run; cells[i] != '\0'; i += run) {
		const char *class = class_of(cells[i]);
		bool end = cells[i] == CELL_GOOD || cells[i] == CELL_BAD || cells[i] == CELL_ENDED;
		size_t x = NAME_WIDTH + i;

		for (run = 1; cells[i + run] == cells[i]; run++)
			continue;
		if (class == NULL)
			continue;
		if (end && i >= END_WIDTH - 1)
			x -= END_WIDTH - 1;
		buf_printf(out, "<rect class=\"%s\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%d\"/>\n", class, x, y,
			   end && run < END_WIDTH ? (size_t)END_WIDTH : run, BAR_HEIGHT);
	}
}

static void put_title(struct buf *out, const struct timeline_line *line)
{
	const struct timeline_row *row = line->row;
	char start[TIME_RFC3339_SIZE], end[TIME_RFC3339_SIZE];

	buf_puts(out, "<title>");
	put_text(out, line->name);
	for (size_t i = 0; i < row->bar_count; i++) {
		const struct bar *bar = &row->bars[i];

		if (bar->start == 0)
			continue;
		buf_printf(out, "\n%s %d", bar->earlier ? "before attempt" : "attempt",
			   (int)(bar->earlier ? row->bars[row->bar_count - 1].id : bar->id));
		if (row->role != NULL && bar->framework_attempt > 0)
			buf_printf(out, " of the Framework's attempt %d", (int)bar->framework_attempt);
		buf_printf(out, ": %s to %s", time_format_rfc3339(bar->start, start),
			   bar->end == 0 ? "now" : time_format_rfc3339(bar->end, end));
		if (bar->completed && !bar->earlier)
			buf_printf(out, ", code %d", (int)bar->code);
	}
	buf_puts(out, "</title>\n");
}

static void put_head(struct buf *out, const struct timeline *timeline, size_t lines, bool styled)
{
	size_t width = NAME_WIDTH + BAR_WIDTH + MARGIN + RESULT_WIDTH, height = TOP + lines * LINE_HEIGHT + MARGIN;
	char from[TIME_RFC3339_SIZE], to[TIME_RFC3339_SIZE], age[AGE_SIZE];
	cleanup_free char *title = NULL;

	buf_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" "
		   "role=\"img\">\n",
		   width, height, width, height);
	if (styled) {
		buf_puts(out, "<style>text{font:12px sans-serif;fill:#222}.pending{fill:#bbb}.running{fill:#3b78c4}"
			      ".earlier{fill:#a98fc4}.good{fill:#2a8f3c}.bad{fill:#c22}.ended{fill:#666}</style>\n");
		buf_puts(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	}
	title = mem_printf("Framework %s, %s to %s (%s)", timeline->name, time_format_rfc3339(timeline->from, from),
			   time_format_rfc3339(timeline->to, to), age_text(timeline->to - timeline->from, age));
	put_label(out, MARGIN, TOP - MARGIN, title);
}

static void put_picture(struct buf *out, const struct timeline *timeline, bool styled)
{
	struct timeline_line *lines;
	size_t count = timeline_lines(timeline, BAR_WIDTH, &lines);

	put_head(out, timeline, count, styled);
	for (size_t i = 0; i < count; i++) {
		size_t y = TOP + i * LINE_HEIGHT;

		buf_puts(out, "<g>");
		put_title(out, &lines[i]);
		put_label(out, MARGIN, y + BAR_HEIGHT - 1, lines[i].name);
		put_bars(out, lines[i].cells, y);
		put_label(out, NAME_WIDTH + BAR_WIDTH + MARGIN, y + BAR_HEIGHT - 1, lines[i].row->result);
		buf_puts(out, "</g>\n");
	}
	buf_puts(out, "</svg>\n");
	timeline_lines_free(lines, count);
}

void svg_write(struct buf *out, const struct timeline *timeline)
{
	put_picture(out, timeline, true);
}

void svg_write_plain(struct buf *out, const struct timeline *timeline)
{
	put_picture(out, timeline, false);
}
