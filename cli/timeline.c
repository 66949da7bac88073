/* kubectl framework timeline: bars in the terminal, or a picture. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/text.h"
#include "cli/view/age.h"
#include "cli/view/svg.h"
#include "cli/view/timeline.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/mem.h"

enum {
	WIDTH_USUAL = 100,
	BARS_LEAST = 10,
	NAME_MOST = 32,
	RESULT_MOST = 30,
	LOG_MAX = 1024 * 1024 * 1024, /* of snapshots: 10 000 Tasks have 20 MiB in an attempt */
};

/* A whole file of log lines. 0, or -1 and *err. */
static int read_log(const char *path, struct buf *out, struct error *err)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, errno, "--snapshots: open %s", path);
	if (file_read_fd(fd, path, LOG_MAX, out, err) < 0)
		return error_wrap(err, "--snapshots");
	if (out->len > LOG_MAX)
		return error_set(err, "--snapshots: %s is larger than %d bytes", path, LOG_MAX);
	return 0;
}

/* ---- bars -------------------------------------------------------------------------------------------------------- */

static const char *glyph_of(char cell, bool ascii)
{
	switch (cell) {
	case CELL_PENDING: return ascii ? "." : "░";
	case CELL_RUNNING: return ascii ? "#" : "█";
	case CELL_EARLIER: return ascii ? "~" : "▒";
	case CELL_GOOD: return ascii ? "+" : "✔";
	case CELL_BAD: return ascii ? "x" : "✘";
	case CELL_ENDED: return ascii ? "|" : "▏";
	default: return " ";
	}
}

static enum style style_of(char cell)
{
	switch (cell) {
	case CELL_PENDING:
	case CELL_EARLIER: return STYLE_DIM;
	case CELL_RUNNING:
	case CELL_GOOD: return STYLE_GOOD;
	case CELL_BAD: return STYLE_BAD;
	default: return STYLE_PLAIN;
	}
}

static void print_bars(struct out *out, const char *cells)
{
	for (size_t i = 0, run; cells[i] != '\0'; i += run) {
		cleanup_buf struct buf text = {0};

		for (run = 0; cells[i + run] == cells[i]; run++)
			buf_puts(&text, glyph_of(cells[i], out->ascii_glyphs));
		out_styled(out, style_of(cells[i]), text.data);
	}
}

/* Text in so many columns, cut or filled. */
static void print_padded(struct out *out, const char *text, size_t columns)
{
	cleanup_buf struct buf safe = {0};
	size_t fits;

	buf_puts(&safe, "");
	text_append_safe(&safe, text, strlen(text), false);
	fits = text_fit(safe.data, columns);
	safe.data[fits] = '\0';
	out_text(out, safe.data);
	out_printf(out, "%*s", (int)(columns - text_columns(safe.data)), "");
}

static void print_legend(struct out *out, const struct timeline *timeline, size_t indent)
{
	char from[TIME_RFC3339_SIZE], to[TIME_RFC3339_SIZE], age[AGE_SIZE];
	bool ascii = out->ascii_glyphs;

	out_line(out, "%*s%s to %s (%s)", (int)indent, "", time_format_rfc3339(timeline->from, from),
		 time_format_rfc3339(timeline->to, to), age_text(timeline->to - timeline->from, age));
	out_line(out,
		 "%s pending  %s running  %s succeeded  %s failed  %s ended with its Framework's attempt  %s earlier "
		 "attempts",
		 glyph_of(CELL_PENDING, ascii), glyph_of(CELL_RUNNING, ascii), glyph_of(CELL_GOOD, ascii),
		 glyph_of(CELL_BAD, ascii), glyph_of(CELL_ENDED, ascii), glyph_of(CELL_EARLIER, ascii));
}

/* Without the diagnostics, which are behind the code and its phrase: kubectl framework why prints them. */
static void print_marks(struct out *out, const struct timeline *timeline)
{
	char time[TIME_RFC3339_SIZE];

	for (size_t i = 0; i < timeline->mark_count; i++) {
		const char *text = timeline->marks[i].text, *end = strstr(text, "): ");

		out_line(out, "%s  %.*s", time_format_rfc3339(timeline->marks[i].time, time),
			 (int)(end == NULL ? strlen(text) : (size_t)(end + 1 - text)), text);
	}
}

static size_t widest(const struct timeline *timeline, size_t columns, bool names)
{
	struct timeline_line *lines;
	size_t count = timeline_lines(timeline, columns, &lines), most = 0;

	for (size_t i = 0; i < count; i++) {
		size_t width = text_columns(names ? lines[i].name : lines[i].row->result);

		most = width > most ? width : most;
	}
	timeline_lines_free(lines, count);
	return most;
}

static void print_timeline(struct out *out, const struct timeline *timeline)
{
	size_t width = out->width == 0 ? WIDTH_USUAL : out->width, bars;
	size_t name = widest(timeline, width, true), result = widest(timeline, width, false), count;
	struct timeline_line *lines;

	name = name > NAME_MOST ? NAME_MOST : name;
	result = result > RESULT_MOST ? RESULT_MOST : result;
	bars = name + result + 4 + BARS_LEAST <= width ? width - name - result - 4 : BARS_LEAST;
	count = timeline_lines(timeline, bars, &lines);
	for (size_t i = 0; i < count; i++) {
		print_padded(out, lines[i].name, name);
		out_text(out, "  ");
		print_bars(out, lines[i].cells);
		out_text(out, "  ");
		out_styled(out, lines[i].row->tone == TONE_BAD ? STYLE_BAD : STYLE_PLAIN, lines[i].row->result);
		out_end_line(out);
	}
	timeline_lines_free(lines, count);
	print_legend(out, timeline, name + 2);
	print_marks(out, timeline);
}

static void print(struct cli *cli, const struct timeline *timeline)
{
	cleanup_buf struct buf svg = {0};
	json_t *value;

	switch (cli->options.output) {
	case OUTPUT_SVG:
		svg_write(&svg, timeline);
		out_lines(&cli->out, svg.data);
		break;
	case OUTPUT_JSON:
	case OUTPUT_YAML:
		value = timeline_json(timeline);
		if (cli->options.output == OUTPUT_JSON)
			out_json(&cli->out, value);
		else
			out_yaml(&cli->out, value);
		json_decref(value);
		break;
	default: print_timeline(&cli->out, timeline); break;
	}
}

int command_timeline(struct cli *cli)
{
	cleanup_buf struct buf log = {0};
	struct timeline timeline;
	struct loaded loaded;
	struct error err;
	int code;

	if (cli->options.snapshots != NULL && read_log(cli->options.snapshots, &log, &err) < 0)
		return cli_complain(cli, CLI_BAD_USE, &err);
	code = load_framework(cli, cli->options.arguments[0], LOAD_EVENTS, &loaded, &err);
	if (code == 0) {
		timeline_build(&loaded.inquiry, log.data, log.len, &timeline);
		if (cli->options.snapshots != NULL && timeline.snapshot_count == 0)
			cli_note(
				cli,
				"--snapshots: %s has no ObjectSnapshot lines of Framework %s (uid %s): former attempts "
				"are one bar",
				cli->options.snapshots, loaded.framework.name, loaded.framework.uid);
		print(cli, &timeline);
		timeline_free(&timeline);
	}
	loaded_free(&loaded);
	return code == 0 ? CLI_DONE : cli_complain(cli, code, &err);
}
