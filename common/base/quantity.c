/* Exact arithmetic of resource quantities; see quantity.h. */
#include "common/base/quantity.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

/* The largest: 2^63-1 units. */
#define UNIT ((__int128)1000000000)
#define LARGEST (UNIT * INT64_MAX)

enum { NANO = -9, EXPONENT_MAX = 1000, TEXT_SIZE = 48 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int read_exponent(const char *text, int *out)
{
	char *end;
	long exponent;

	if (!is_digit(text[0]) && !((text[0] == '+' || text[0] == '-') && is_digit(text[1])))
		return -1;
	exponent = strtol(text, &end, 10);
	if (*end != '\0')
		return -1;
	*out = exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent < -EXPONENT_MAX ? -EXPONENT_MAX : (int)exponent;
	return 0;
}

int quantity_read_suffix(const char *suffix, struct quantity_scale *out)
{
	static const char decimal[] = "numkMGTPE";
	static const int decimals[] = {-9, -6, -3, 3, 6, 9, 12, 15, 18};
	static const char binary[] = "KMGTPE";
	const char *found;
	size_t len = strlen(suffix);

	*out = (struct quantity_scale){0};
	if (len == 0)
		return 0;
	if (len == 2 && suffix[1] == 'i' && (found = strchr(binary, suffix[0])) != NULL) {
		out->binary = (int)(found - binary) + 1;
		return 0;
	}
	if (len == 1 && (found = strchr(decimal, suffix[0])) != NULL) {
		out->decimal = decimals[found - decimal];
		return 0;
	}
	out->scientific = suffix[0] == 'e' || suffix[0] == 'E';
	return out->scientific ? read_exponent(suffix + 1, &out->decimal) : -1;
}

static __int128 times(__int128 value, int factor)
{
	return value > LARGEST / factor ? LARGEST : value * factor;
}

/* The digits of a number times 10^exponent, in billionths. */
static __int128 scaled(const char *digits, size_t len, int exponent, int binary)
{
	__int128 value = 0;
	bool rest = false;
	int power = exponent - NANO;

	for (size_t i = 0; i < len; i++) {
		if (digits[i] == '.')
			continue;
		value = times(value, 10);
		value = value > LARGEST - (digits[i] - '0') ? LARGEST : value + (digits[i] - '0');
	}
	for (int i = 0; i < binary; i++)
		value = times(value, 1024);
	for (; power > 0 && value != 0 && value != LARGEST; power--)
		value = times(value, 10);
	for (; power < 0 && (value != 0 || rest) && value != LARGEST; power++) {
		if (value == 0)
			break;
		rest = rest || value % 10 != 0;
		value /= 10;
	}
	return value + (rest && value < LARGEST);
}

int quantity_parse(const char *text, struct quantity *out)
{
	bool negative = text[0] == '-';
	const char *digits = text + (text[0] == '-' || text[0] == '+');
	size_t len = strspn(digits, "0123456789.");
	const char *point = memchr(digits, '.', len);
	struct quantity_scale scale;
	int fraction = 0;

	if (len == 0 ||
	    (point != NULL && (len == 1 || memchr(point + 1, '.', len - (size_t)(point + 1 - digits)) != NULL)) ||
	    len > TEXT_SIZE || quantity_read_suffix(digits + len, &scale) < 0)
		return -1;
	if (point != NULL)
		fraction = (int)(len - (size_t)(point + 1 - digits));
	out->nano = scaled(digits, len, scale.decimal - fraction, scale.binary);
	if (negative)
		out->nano = -out->nano;
	return 0;
}

void quantity_add_times(struct quantity *sum, const struct quantity *a, int64_t count)
{
	sum->nano += a->nano * count;
}

bool quantity_less(const struct quantity *a, const struct quantity *b)
{
	return a->nano < b->nano;
}

void quantity_write(struct buf *out, const struct quantity *quantity)
{
	static const char *const suffixes[] = {"n", "u", "m", ""};
	char text[TEXT_SIZE];
	char *at = text + sizeof(text);
	__int128 value = quantity->nano < 0 ? -quantity->nano : quantity->nano;
	size_t i = 0;

	for (; i < ARRAY_LEN(suffixes) - 1 && value % 1000 == 0; i++)
		value /= 1000;
	*--at = '\0';
	do {
		*--at = (char)('0' + (int)(value % 10));
		value /= 10;
	} while (value != 0);
	if (quantity->nano < 0)
		*--at = '-';
	buf_printf(out, "\"%s%s\"", at, suffixes[i]);
}
