/* Clocks and RFC 3339 times; see clock.h. */
#define _GNU_SOURCE
#include "common/base/clock.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The bounds of the years that four digits can write. */
#define YEAR_1_BEGINS_SEC INT64_C(-62135596800)
#define YEAR_10000_BEGINS_SEC INT64_C(253402300800)

static int64_t read_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_boot_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

int64_t clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

static char *put_digits(char *out, int64_t value, int count)
{
	for (int i = count; i-- > 0; value /= 10)
		out[i] = (char)('0' + value % 10);
	return out + count;
}

char *time_format_rfc3339(int64_t unix_sec, char out[TIME_RFC3339_SIZE])
{
	const time_t seconds = unix_sec;
	struct tm utc = {0};
	char *at = out;

	gmtime_r(&seconds, &utc);
	at = put_digits(at, utc.tm_year + 1900, 4);
	*at++ = '-';
	at = put_digits(at, utc.tm_mon + 1, 2);
	*at++ = '-';
	at = put_digits(at, utc.tm_mday, 2);
	*at++ = 'T';
	at = put_digits(at, utc.tm_hour, 2);
	*at++ = ':';
	at = put_digits(at, utc.tm_min, 2);
	*at++ = ':';
	at = put_digits(at, utc.tm_sec, 2);
	*at++ = 'Z';
	*at = '\0';
	return out;
}

static int two_digits(const char *text, int low, int high, int *value)
{
	if (!isdigit((unsigned char)text[0]) || !isdigit((unsigned char)text[1]))
		return -1;
	*value = (text[0] - '0') * 10 + (text[1] - '0');
	return *value < low || *value > high ? -1 : 0;
}

int time_parse_rfc3339(const char *text, int64_t *unix_sec)
{
	struct tm utc = {0};
	int century;
	int year;
	int hours = 0;
	int minutes = 0;
	int sign = 0;
	int day;
	bool leap_second;
	const char *rest;
	int64_t seconds;

	if (strnlen(text, 20) < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') ||
	    text[13] != ':' || text[16] != ':')
		return -1;
	if (two_digits(text, 0, 99, &century) < 0 || two_digits(text + 2, 0, 99, &year) < 0 ||
	    two_digits(text + 5, 1, 12, &utc.tm_mon) < 0 || two_digits(text + 8, 1, 31, &utc.tm_mday) < 0 ||
	    two_digits(text + 11, 0, 23, &utc.tm_hour) < 0 || two_digits(text + 14, 0, 59, &utc.tm_min) < 0 ||
	    two_digits(text + 17, 0, 60, &utc.tm_sec) < 0)
		return -1;
	utc.tm_year = century * 100 + year - 1900;
	utc.tm_mon -= 1;
	rest = text + 19;
	if (*rest == '.') {
		rest++;
		if (!isdigit((unsigned char)*rest))
			return -1;
		while (isdigit((unsigned char)*rest))
			rest++;
	}
	if (*rest == '+' || *rest == '-') {
		sign = *rest == '+' ? 1 : -1;
		if (two_digits(rest + 1, 0, 23, &hours) < 0 || rest[3] != ':' ||
		    two_digits(rest + 4, 0, 59, &minutes) < 0 || rest[6] != '\0')
			return -1;
	} else if ((*rest != 'Z' && *rest != 'z') || rest[1] != '\0') {
		return -1;
	}
	day = utc.tm_mday;
	leap_second = utc.tm_sec == 60;
	seconds = (int64_t)timegm(&utc) - sign * (hours * 3600 + minutes * 60);
	if (utc.tm_mday != day && !leap_second) /* February 30 is moved into March */
		return -1;
	if (seconds < YEAR_1_BEGINS_SEC || seconds >= YEAR_10000_BEGINS_SEC)
		return -1;
	*unix_sec = seconds;
	return 0;
}

char *duration_format(int64_t seconds, char out[DURATION_SIZE])
{
	long long hours = seconds / 3600;
	int minutes = (int)(seconds / 60 % 60);
	int rest = (int)(seconds % 60);

	if (hours > 0)
		snprintf(out, DURATION_SIZE, "%lldh%dm%ds", hours, minutes, rest);
	else if (minutes > 0)
		snprintf(out, DURATION_SIZE, "%dm%ds", minutes, rest);
	else
		snprintf(out, DURATION_SIZE, "%ds", rest);
	return out;
}
