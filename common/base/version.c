/* The order of resourceVersions; see version.h. */
#include "common/base/version.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool well_formed(const char *version)
{
	size_t len = strspn(version, "0123456789");

	return len > 0 && version[len] == '\0' && (version[0] != '0' || len == 1);
}

int version_compare(const char *a, const char *b)
{
	size_t a_len = a == NULL ? 0 : strlen(a);
	size_t b_len = b == NULL ? 0 : strlen(b);

	if (a_len == 0 || b_len == 0)
		return (a_len > 0) - (b_len > 0);
	if (!well_formed(a) || !well_formed(b))
		return strcmp(a, b) == 0 ? 0 : 1;
	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	return strcmp(a, b);
}

void version_mark_note(struct version_mark *mark, const char *version, int64_t now_ms)
{
	if (version == NULL || strlen(version) >= VERSION_SIZE || version_compare(version, mark->newest) <= 0)
		return;
	if (now_ms - mark->former_ms >= VERSION_SETTLED_MS) {
		memcpy(mark->settled, mark->former, VERSION_SIZE);
		memcpy(mark->former, mark->newest, VERSION_SIZE);
		mark->former_ms = now_ms;
	}
	memcpy(mark->newest, version, strlen(version) + 1);
	mark->newest_ms = now_ms;
}

const char *version_mark_settled(const struct version_mark *mark, int64_t now_ms)
{
	if (now_ms - mark->newest_ms >= VERSION_SETTLED_MS)
		return mark->newest;
	return now_ms - mark->former_ms >= VERSION_SETTLED_MS ? mark->former : mark->settled;
}
