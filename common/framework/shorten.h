/* Shortens the messages of containers and servers in statuses that are too large (CONTRACT.md §13). Codes, phrases,
 * types, states, counters and UIDs stay as they are. */
#ifndef FRAMEWORK_SHORTEN_H
#define FRAMEWORK_SHORTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/framework/status.h"

/* Replaces the removed text. */
#define SHORTENED_MARK "...[shortened]..."

/* The steps; each removes more than the one before:
 * 1     of the messages in pod, those that diagnostics has as well
 * 2     the middle of messages of more than 64 KiB
 * 3–12  the same from 32 KiB down to 64 bytes, halved each time; other texts keep 256 bytes
 * 13    all messages
 * 14    all of the JSON in diagnostics, so that the codes of containers are in pod alone
 * 15    the same of pod */
enum { SHORTEN_NOTHING = 0, SHORTEN_DUPLICATES = 1, SHORTEN_MESSAGES = 13, SHORTEN_JSON = 14, SHORTEN_POD = 15 };

/* Shortens by all steps up to this one. The JSON in diagnostics is JSON still, and ends them as before. Returns whether
 * anything changed; a repeated call changes nothing. */
bool completion_shorten(struct completion *completion, int step);
/* The same for the attempt and all its Tasks. The attempt's own message, a copy of one of its Tasks', keeps 2 KiB up to
 * SHORTEN_MESSAGES: there is only one, and users read it first. */
bool attempt_shorten(struct framework_attempt_status *attempt, int step);
/* Bytes of diagnostics and pod, of the attempt and all its Tasks. */
size_t attempt_text_bytes(const struct framework_attempt_status *attempt);
size_t completion_text_bytes(const struct completion *completion);

#endif
