/* Limits repeated log lines; see log_last.h. */
#include "common/base/log_last.h"

#include <stdio.h>
#include <string.h>

bool log_is_news(struct log_last *last, int64_t now_ms, const char *text)
{
	if (last->any && now_ms - last->at_ms < LOG_AGAIN_MS && strncmp(last->text, text, sizeof(last->text) - 1) == 0)
		return false;
	last->any = true;
	last->at_ms = now_ms;
	snprintf(last->text, sizeof(last->text), "%s", text);
	return true;
}
