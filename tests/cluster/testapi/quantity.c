/* Resource quantities (apimachinery's resource.Quantity, CanonicalizeBytes): no fraction, the largest suffix that loses
 * nothing; see quantity.h. */
#include "tests/cluster/testapi/quantity.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

enum { DIGITS_MAX = 18, EXPONENT_MIN = -9 };

struct quantity {
	bool negative;
	int64_t mantissa;
	int exponent; /* decimal */
	int binary;   /* powers of 1024 */
	bool scientific;
};

static const char *read_digits(const char *at, struct quantity *quantity)
{
	bool fraction = false;
	int digits = 0;

	if (*at == '+' || *at == '-')
		quantity->negative = *at++ == '-';
	for (; isdigit((unsigned char)*at) || (*at == '.' && !fraction); at++) {
		if (*at == '.') {
			fraction = true;
			continue;
		}
		if (++digits > DIGITS_MAX)
			return NULL;
		quantity->mantissa = quantity->mantissa * 10 + (*at - '0');
		quantity->exponent -= fraction;
	}
	return digits > 0 ? at : NULL;
}

static int read_suffix(const char *suffix, struct quantity *quantity)
{
	static const char decimal[] = "numkMGTPE";
	static const int exponents[] = {-9, -6, -3, 3, 6, 9, 12, 15, 18};
	static const char binary[] = "KMGTPE";
	const char *found;
	size_t len = strlen(suffix);

	if (len == 0)
		return 0;
	if (len == 2 && suffix[1] == 'i' && (found = strchr(binary, suffix[0])) != NULL) {
		quantity->binary = (int)(found - binary) + 1;
		return 0;
	}
	if (len == 1 && (found = strchr(decimal, suffix[0])) != NULL) {
		quantity->exponent += exponents[found - decimal];
		return 0;
	}
	if (suffix[0] == 'e' || suffix[0] == 'E') {
		char *end;
		long exponent = strtol(suffix + 1, &end, 10);

		quantity->scientific = true;
		quantity->exponent += (int)exponent;
		return *end == '\0' && end != suffix + 1 && exponent > -100 && exponent < 100 ? 0 : -1;
	}
	return -1;
}

/* Down to an integer of bytes and up again by 1024s; small values count as decimal. */
static char *print_binary(struct quantity *quantity)
{
	static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	int power = 0;
	int64_t value = quantity->mantissa;

	for (int i = 0; i < quantity->binary; i++)
		if (__builtin_mul_overflow(value, 1024, &value))
			return NULL;
	for (; quantity->exponent < 0; quantity->exponent++)
		value = value / 10 + (value % 10 != 0); /* a fraction of a byte rounds up */
	while (value != 0 && value % 1024 == 0 && power < 6) {
		value /= 1024;
		power++;
	}
	return mem_printf("%s%lld%s", quantity->negative ? "-" : "", (long long)value, suffixes[power]);
}

static char *print_decimal(struct quantity *quantity)
{
	static const char *const suffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};

	while (quantity->mantissa != 0 && quantity->mantissa % 10 == 0) {
		quantity->mantissa /= 10;
		quantity->exponent++;
	}
	for (; quantity->exponent < EXPONENT_MIN; quantity->exponent++)
		quantity->mantissa = quantity->mantissa / 10 + (quantity->mantissa % 10 != 0);
	while (quantity->exponent % 3 != 0 || quantity->exponent > 18) {
		if (__builtin_mul_overflow(quantity->mantissa, 10, &quantity->mantissa))
			return NULL;
		quantity->exponent--;
	}
	if (quantity->scientific && quantity->exponent != 0)
		return mem_printf("%s%llde%d", quantity->negative ? "-" : "", (long long)quantity->mantissa,
				  quantity->exponent);
	return mem_printf("%s%lld%s", quantity->negative ? "-" : "", (long long)quantity->mantissa,
			  suffixes[(quantity->exponent - EXPONENT_MIN) / 3]);
}

char *quantity_canonical(const char *text)
{
	struct quantity quantity = {0};
	const char *suffix = read_digits(text, &quantity);

	if (suffix == NULL || read_suffix(suffix, &quantity) < 0)
		return NULL;
	if (quantity.mantissa == 0)
		return mem_strdup("0");
	return quantity.binary > 0 ? print_binary(&quantity) : print_decimal(&quantity);
}

double quantity_value(const char *text)
{
	struct quantity quantity = {0};
	const char *suffix = read_digits(text, &quantity);
	double value;

	if (suffix == NULL || read_suffix(suffix, &quantity) < 0)
		return 0;
	value = (double)quantity.mantissa;
	for (; quantity.exponent > 0; quantity.exponent--)
		value *= 10;
	for (; quantity.exponent < 0; quantity.exponent++)
		value /= 10;
	for (int i = 0; i < quantity.binary; i++)
		value *= 1024;
	return quantity.negative ? -value : value;
}
