/* Log lines in klog format on stderr: `I1121 05:06:07.123456    4242 file.c:12] message`.
 * Lines of several processes on one pipe or socket do not mix, however long they are (fcntl(2) locks). */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stddef.h>

enum { LOG_VERBOSITY_MAX = 10 }; /* what -v takes */

/* Most verbose level that is printed; set by the -v flag; default 0. */
extern int log_verbosity;

/* Put into every line after the bracket, e.g. "fc-reconciler/2: "; NULL for none. Copied, at most 63 bytes. */
void log_set_prefix(const char *prefix);

/* Lines of log_write() go to sink instead of stderr, as messages without head and prefix, which can contain any bytes;
 * NULL: to stderr. For programs whose stderr is a terminal that people work at. */
void log_set_sink(void (*sink)(char severity, const char *message));

void log_write(char severity, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same for a message of any length that is already text (ObjectSnapshot lines). In either, line ends become blanks,
 * other control bytes but for tabs '?', and what buf_put_safe() escapes is escaped: a line stays a line. */
void log_write_text(char severity, const char *file, int line, const char *text, size_t len);

#define log_info(...) log_write('I', __FILE__, __LINE__, __VA_ARGS__)
#define log_warning(...) log_write('W', __FILE__, __LINE__, __VA_ARGS__)
#define log_error(...) log_write('E', __FILE__, __LINE__, __VA_ARGS__)
/* Only at -v level and above. */
#define log_v(level, ...)                                                \
	do {                                                             \
		if (log_verbosity >= (level))                            \
			log_write('I', __FILE__, __LINE__, __VA_ARGS__); \
	} while (0)

#endif
