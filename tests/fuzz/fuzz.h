/* What every fuzz target shares (tests/HARDENING.md). A target is one file: it takes any bytes as input,
 * hands them to one part of the program the way the world would, and checks what must hold of the result. The same
 * file runs under libFuzzer (make fuzz) and, with replay.c, over its corpus (a stage of make test). */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 always: what is wrong aborts. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An expectation that no input may break. */
#define FUZZ_EXPECT(condition)                                                                        \
	do {                                                                                          \
		if (!(condition)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
			abort();                                                                      \
		}                                                                                     \
	} while (0)

/* Input as a sequence of decisions and texts. Past its end there are zeros and empty texts. */
struct fuzz_input {
	const uint8_t *data;
	size_t left;
};

static inline unsigned fuzz_byte(struct fuzz_input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->data++;
}

/* Up to the next newline, or the rest. Borrowed, not NUL-terminated. */
static inline const char *fuzz_line(struct fuzz_input *input, size_t *len)
{
	const char *text = (const char *)input->data;
	const uint8_t *end = input->left == 0 ? NULL : memchr(input->data, '\n', input->left);
	size_t whole = end == NULL ? input->left : (size_t)(end - input->data) + 1;

	*len = end == NULL ? input->left : whole - 1;
	if (whole > 0)
		input->data += whole;
	input->left -= whole;
	return text;
}

#endif
