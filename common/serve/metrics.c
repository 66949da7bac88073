/* The Prometheus text format; see metrics.h. */
#include "common/serve/metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { FDS_KEPT_MS = 1000 };

void metrics_family(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Whole numbers up to 2^53 as such, and fractions of seconds since 1970; "%g" alone would round them. */
static void put_number(struct buf *out, double value)
{
	if (isinf(value))
		buf_puts(out, value > 0 ? "+Inf" : "-Inf");
	else if (value == floor(value) && fabs(value) < 9007199254740992.0)
		buf_printf(out, "%.0f", value);
	else
		buf_printf(out, "%.15g", value);
}

static void put_label(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%s=\"", name);
	for (const char *c = value; *c != '\0'; c++) {
		if (*c == '\n')
			buf_puts(out, "\\n");
		else if (*c == '"' || *c == '\\')
			buf_printf(out, "\\%c", *c);
		else
			buf_putc(out, *c);
	}
	buf_putc(out, '"');
}

void metrics_value(struct buf *out, const char *name, double value, ...)
{
	va_list labels;
	const char *label;
	char separator = '{';

	buf_puts(out, name);
	va_start(labels, value);
	while ((label = va_arg(labels, const char *)) != NULL) {
		const char *text = va_arg(labels, const char *);

		buf_putc(out, separator);
		put_label(out, label, text == NULL ? "" : text);
		separator = ',';
	}
	va_end(labels);
	buf_puts(out, separator == ',' ? "} " : " ");
	put_number(out, value);
	buf_putc(out, '\n');
}

void metrics_counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
	metrics_family(out, name, "counter", help);
	metrics_value(out, name, (double)value, NULL);
}

void metrics_gauge(struct buf *out, const char *name, const char *help, double value)
{
	metrics_family(out, name, "gauge", help);
	metrics_value(out, name, value, NULL);
}

/* ---- histograms -------------------------------------------------------------------------------------------------- */

void metrics_histogram_init(struct metrics_histogram *histogram, double first, double factor, size_t count)
{
	*histogram = (struct metrics_histogram){0};
	for (size_t i = 0; i < count && i < METRICS_BUCKETS_MAX; i++) {
		histogram->bounds[histogram->bound_count++] = first;
		first *= factor;
	}
}

void metrics_histogram_observe(struct metrics_histogram *histogram, double value)
{
	size_t i = 0;

	while (i < histogram->bound_count && value > histogram->bounds[i])
		i++;
	histogram->buckets[i]++;
	histogram->sum += value;
}

void metrics_histogram_write(struct buf *out, const char *name, const char *help, const char *label, const char *value,
			     const struct metrics_histogram *histogram)
{
	cleanup_buf struct buf family = {0};
	cleanup_buf struct buf bound = {0};
	uint64_t total = 0;

	metrics_family(out, name, "histogram", help);
	buf_printf(&family, "%s_bucket", name);
	for (size_t i = 0; i <= histogram->bound_count; i++) {
		total += histogram->buckets[i];
		buf_clear(&bound);
		put_number(&bound, i < histogram->bound_count ? histogram->bounds[i] : INFINITY);
		metrics_value(out, family.data, (double)total, "le", bound.data, label, value, NULL);
	}
	buf_clear(&family);
	buf_printf(&family, "%s_sum", name);
	metrics_value(out, family.data, histogram->sum, label, value, NULL);
	buf_clear(&family);
	buf_printf(&family, "%s_count", name);
	metrics_value(out, family.data, (double)total, label, value, NULL);
}

/* ---- the process itself ------------------------------------------------------------------------------------------ */

static double resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long size;
	long resident = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* At most one second old: the count takes longer the more connections there are, and each of them may ask for it. */
static double open_fds(void)
{
	static int64_t counted_ms;
	static double count;
	int64_t now_ms = clock_boot_ms();
	DIR *dir;

	if (counted_ms != 0 && now_ms - counted_ms < FDS_KEPT_MS)
		return count;
	dir = opendir("/proc/self/fd");
	if (dir == NULL) /* there is none left: as many as before, at least */
		return count;
	counted_ms = now_ms;
	count = -1; /* the directory's own */
	for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (entry->d_name[0] != '.')
			count++;
	closedir(dir);
	return count;
}

/* Unix seconds; from the boot clock's ticks in /proc/self/stat, field 22 (proc(5)). Computed once: the clocks move
 * against each other, and a value that changes means a restart. */
static double start_time(void)
{
	static double started;
	FILE *file;
	char line[1024] = "";
	const char *field;
	unsigned long long ticks = 0;

	if (started != 0)
		return started;
	file = fopen("/proc/self/stat", "re");
	if (file == NULL)
		return 0;
	if (fgets(line, sizeof(line), file) == NULL)
		line[0] = '\0';
	fclose(file);
	field = strrchr(line, ')'); /* the program's name may hold spaces */
	for (int number = 2; field != NULL && number < 22; number++)
		field = strchr(field + 1, ' ');
	if (field != NULL)
		ticks = strtoull(field, NULL, 10);
	started = (double)(clock_wall_ms() - clock_boot_ms()) / 1000 + (double)ticks / (double)sysconf(_SC_CLK_TCK);
	return started;
}

void metrics_process(struct buf *out)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	metrics_family(out, "process_cpu_seconds_total", "counter", "User and system CPU time spent.");
	metrics_value(out, "process_cpu_seconds_total",
		      (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
		      NULL);
	metrics_gauge(out, "process_resident_memory_bytes", "Resident memory.", resident_bytes());
	metrics_gauge(out, "process_open_fds", "Open file descriptors.", open_fds());
	metrics_gauge(out, "process_start_time_seconds", "Start of the process, in unix seconds.", start_time());
}
