/* Errors with context: a message that grows a prefix on its way up, so that what a person finally
 * reads names the object, the operation and the cause. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

enum { ERROR_MESSAGE_MAX = 2048 };

/* Owned by the caller, on its stack; untouched on success. Longer messages are cut. */
struct error {
	int code; /* an errno, or 0 where none applies */
	char message[ERROR_MESSAGE_MAX];
};

/* Sets the message; err may be NULL. Returns -1, so that a function can `return error_set(…)`. */
int error_set(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, with ": " + strerror(code) appended. */
int error_set_errno(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Puts "prefix: " before the message. Returns -1. */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
