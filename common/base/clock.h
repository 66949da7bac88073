/* Time: the two clocks, and RFC 3339 as Kubernetes writes it (UTC, whole seconds). */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds since boot, suspended time included (CLOCK_BOOTTIME): for leases, timers, durations. */
int64_t clock_boot_ms(void);
/* Milliseconds since 1970-01-01 UTC: for times that are written into objects. May jump. */
int64_t clock_wall_ms(void);

enum { TIME_RFC3339_SIZE = 32 };

/* Writes "2006-01-02T15:04:05Z"; unix_sec within years 1..9999. Returns out. */
char *time_format_rfc3339(int64_t unix_sec, char out[TIME_RFC3339_SIZE]);
/* Parses RFC 3339 with any fraction and offset; 0 and *unix_sec, or -1, for times outside years 1..9999 too. */
int time_parse_rfc3339(const char *text, int64_t *unix_sec);

enum { DURATION_SIZE = 32 };

/* Seconds >= 0 as Go's time.Duration prints them: "45s", "5m0s", "1h0m0s". Returns out. */
char *duration_format(int64_t seconds, char out[DURATION_SIZE]);

#endif
