/* The examples of a demo: their files, the Frameworks in them, and what was seen of each so far. */
#ifndef DEMO_EXAMPLE_H
#define DEMO_EXAMPLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "tests/cluster/demo/expect.h"
#include "tests/cluster/demo/table.h"

/* One Framework of one file. */
struct example {
	char *ns;
	char *name;
	char *title; /* of its file: what it is about */
	struct expectation expectation;
	struct sight sight;
	enum verdict verdict;
	int64_t ended_ms;  /* after the start of the demo; 0 while awaited */
	char pod_name[64]; /* of one of its Tasks that runs; "" when none does */
};

/* Zero-initialise. */
struct examples {
	json_t *objects; /* all documents of all files, in their order */
	struct example *list;
	size_t count;
};

/* Adds what is in one file. An object that is no Framework, nor becomes one, is only submitted. 0, or -1 and *err naming file and line. */
int examples_add_file(struct examples *examples, const char *path, struct error *err);
void examples_free(struct examples *examples);

/* Takes in a Framework as the server has it now. The example it belongs to, or NULL when none does; an unreadable
 * status sets *err and changes nothing. */
struct example *examples_take(struct examples *examples, const json_t *framework, int64_t now_ms, struct error *err);
/* How many have this verdict. */
size_t examples_count(const struct examples *examples, enum verdict verdict);

/* One line, ended, on how an example ended or where it stands, and what it is about, at most width characters (0: no
 * limit). The caller frees. */
char *example_summary(const struct example *example, size_t name_width, size_t width) __attribute__((returns_nonnull));

#endif
