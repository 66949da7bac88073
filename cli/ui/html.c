/* See html.h. */
#include "cli/ui/html.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

/* text: safe already. */
static void put_escaped(struct buf *out, const char *text)
{
	for (const char *at = text; *at != '\0';) {
		size_t plain = strcspn(at, "<>&\"'");

		buf_append(out, at, plain);
		at += plain;
		switch (*at) {
		case '<': buf_puts(out, "&lt;"); break;
		case '>': buf_puts(out, "&gt;"); break;
		case '&': buf_puts(out, "&amp;"); break;
		case '"': buf_puts(out, "&quot;"); break;
		case '\'': buf_puts(out, "&#39;"); break;
		default: return;
		}
		at++;
	}
}

void html_put(struct buf *out, const char *text)
{
	cleanup_buf struct buf safe = {0};

	buf_puts(&safe, "");
	text_append_safe(&safe, text, strlen(text), false);
	put_escaped(out, safe.data);
}

void html_put_lines(struct buf *out, const char *text)
{
	cleanup_buf struct buf safe = {0};

	buf_puts(&safe, "");
	text_append_safe_lines(&safe, text, strlen(text), false);
	put_escaped(out, safe.data);
}

void html_put_short(struct buf *out, const char *text, size_t most)
{
	cleanup_free char *begin = NULL;

	if (strlen(text) <= most) {
		html_put(out, text);
		return;
	}
	while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80)
		most--;
	begin = mem_strndup(text, most);
	html_put(out, begin);
	buf_puts(out, "…");
}

void html_put_link(struct buf *out, const char *ns, const char *name)
{
	cleanup_buf struct buf query = {0};

	cli_put_query(&query, "namespace", ns);
	cli_put_query(&query, "name", name);
	buf_puts(out, "framework?");
	put_escaped(out, query.data);
}

void html_put_time(struct buf *out, int64_t unix_sec)
{
	char time[TIME_RFC3339_SIZE];

	if (unix_sec == 0) {
		buf_puts(out, "-");
		return;
	}
	time_format_rfc3339(unix_sec, time);
	buf_printf(out, "<time datetime=\"%s\">%.10s %s</time>", time, time, time + 11);
}
