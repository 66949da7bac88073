/* In the place of common/base/log.c: the cores' log lines go into the trace, with the simulated time. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "tests/sim/sim.h"

int log_verbosity = 0;

void log_set_prefix(const char *prefix)
{
	(void)prefix;
}

void log_write_text(char severity, const char *file, int line, const char *text, size_t len)
{
	const char *base = strrchr(file, '/');

	if (sim_tracing && sim_world != NULL)
		printf("%10lld   %c %s:%d] %.*s\n", (long long)sim_world->now_ms, severity,
		       base == NULL ? file : base + 1, line, (int)len, text);
}

void log_write(char severity, const char *file, int line, const char *format, ...)
{
	char text[2048];
	va_list args;

	if (!sim_tracing)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_write_text(severity, file, line, text, strlen(text));
}
