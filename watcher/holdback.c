/* Log lines of a standby; see holdback.h. */
#include "watcher/holdback.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

struct line {
	struct line *next;
	int64_t seen_ms;
	size_t len;
	char *text;
};

static struct {
	bool holds;
	int64_t keep_ms;
	struct line *first;
	struct line *last;
	size_t bytes;
} held;

static void drop_first(void)
{
	struct line *line = held.first;

	held.first = line->next;
	if (held.first == NULL)
		held.last = NULL;
	held.bytes -= line->len;
	free(line->text);
	free(line);
}

static void drop_old(void)
{
	int64_t now_ms = clock_boot_ms();

	while (held.first != NULL &&
	       (held.bytes > HOLDBACK_BYTES_MAX || now_ms - held.first->seen_ms > held.keep_ms + HOLDBACK_SLACK_MS))
		drop_first();
}

void holdback_begin(int64_t keep_ms)
{
	held.keep_ms = keep_ms;
	held.holds = true;
}

void holdback_set_leading(bool leading)
{
	held.holds = !leading;
	drop_old();
	while (leading && held.first != NULL) {
		log_write_text('I', __FILE__, __LINE__, held.first->text, held.first->len);
		drop_first();
	}
}

void holdback_line(const char *text, size_t len)
{
	struct line *line;

	if (!held.holds) {
		log_write_text('I', __FILE__, __LINE__, text, len);
		return;
	}
	line = mem_calloc(1, sizeof(*line));
	line->seen_ms = clock_boot_ms();
	line->text = mem_memdup(text, len);
	line->len = len;
	if (held.last == NULL)
		held.first = line;
	else
		held.last->next = line;
	held.last = line;
	held.bytes += len;
	drop_old();
}

void holdback_end(void)
{
	held.holds = false;
	while (held.first != NULL)
		drop_first();
}
