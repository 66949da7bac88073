/* Resource quantities (apimachinery's resource.Quantity, CanonicalizeBytes): no fraction, the largest suffix that loses
 * nothing; see quantity.h. */
#include "tests/cluster/testapi/quantity.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/quantity.h"

enum { DIGITS_MAX = 18, EXPONENT_MIN = -9 };

/* A quantity as it is written. */
struct notation {
	bool negative;
	int64_t mantissa;
	int exponent; /* decimal */
	struct quantity_scale scale;
};

static const char *read_digits(const char *at, struct notation *quantity)
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

/* Down to an integer of bytes and up again by 1024s; small values count as decimal. */
static char *print_binary(struct notation *quantity)
{
	static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	int power = 0;
	int64_t value = quantity->mantissa;

	for (int i = 0; i < quantity->scale.binary; i++)
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

static char *print_decimal(struct notation *quantity)
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
	if (quantity->scale.scientific && quantity->exponent != 0)
		return mem_printf("%s%llde%d", quantity->negative ? "-" : "", (long long)quantity->mantissa,
				  quantity->exponent);
	return mem_printf("%s%lld%s", quantity->negative ? "-" : "", (long long)quantity->mantissa,
			  suffixes[(quantity->exponent - EXPONENT_MIN) / 3]);
}

char *quantity_canonical(const char *text)
{
	struct notation quantity = {0};
	const char *suffix = read_digits(text, &quantity);

	if (suffix == NULL || quantity_read_suffix(suffix, &quantity.scale) < 0)
		return NULL;
	quantity.exponent += quantity.scale.decimal;
	if (quantity.mantissa == 0)
		return mem_strdup("0");
	return quantity.scale.binary > 0 ? print_binary(&quantity) : print_decimal(&quantity);
}
