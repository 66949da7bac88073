/* Resource quantities of Kubernetes ("500m", "1Gi", 0.5), added up without loss. */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"

/* In billionths, which is the finest that the API server keeps. */
struct quantity {
	__int128 nano;
};

/* The factor that the suffix of a quantity stands for. */
struct quantity_scale {
	int decimal;     /* a power of 10 … */
	int binary;      /* … and of 1024 */
	bool scientific; /* it was written as an exponent */
};
/* "Gi", "m", "e3", "". 0, or -1 if the text is no suffix. Exponents are cut to -1000..1000. */
int quantity_read_suffix(const char *suffix, struct quantity_scale *out);

/* 0, or -1 if the text is no quantity. As in the API server, fractions finer than a billionth are rounded up, and
 * numbers above 2^63-1 count as 2^63-1. */
int quantity_parse(const char *text, struct quantity *out);
/* a is at most 2^63-1, and count is the number of some objects: there is no overflow before 10^10 of them. */
void quantity_add_times(struct quantity *sum, const struct quantity *a, int64_t count);
bool quantity_less(const struct quantity *a, const struct quantity *b);
/* Appends it as a JSON string: an integer, with the suffix m, u or n if it has a fraction. */
void quantity_write(struct buf *out, const struct quantity *quantity);

#endif
