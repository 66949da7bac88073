/* Errors with context; see error.h. */
#define _GNU_SOURCE
#include "common/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, const char *format, ...)
{
	va_list args;

	if (err == NULL)
		return -1;
	err->code = 0;
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	return -1;
}

int error_set_errno(struct error *err, int code, const char *format, ...)
{
	va_list args;
	size_t len;
	char reason[128];

	if (err == NULL)
		return -1;
	err->code = code;
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	len = strlen(err->message);
	snprintf(err->message + len, sizeof(err->message) - len, ": %s", strerror_r(code, reason, sizeof(reason)));
	return -1;
}

int error_wrap(struct error *err, const char *format, ...)
{
	va_list args;
	char prefix[ERROR_MESSAGE_MAX / 2];
	size_t prefix_len;
	size_t kept;

	if (err == NULL)
		return -1;
	va_start(args, format);
	vsnprintf(prefix, sizeof(prefix) - 2, format, args);
	va_end(args);
	prefix_len = strlen(prefix);
	memcpy(prefix + prefix_len, ": ", sizeof(": "));
	prefix_len += 2;
	kept = strnlen(err->message, sizeof(err->message) - 1 - prefix_len);
	memmove(err->message + prefix_len, err->message, kept);
	memcpy(err->message, prefix, prefix_len);
	err->message[prefix_len + kept] = '\0';
	return -1;
}
