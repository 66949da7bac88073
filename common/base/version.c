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
