/* What an example is expected to come to, what can be seen of it, and whether the two agree. Pure.
 *
 * An example file says it in a comment line of its own:
 *   # expect: Completed CODE[, N retries]     the Framework ends with that code, after N retries of its own if given
 *   # expect: Running                         it does not end: all of its Tasks run
 *   # expect: Suspended                       it does not begin before somebody sets spec.suspend to false */
#ifndef DEMO_EXPECT_H
#define DEMO_EXPECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/framework/names.h"

struct expectation {
	bool running;
	int32_t code;    /* unless running or suspended */
	int32_t retries; /* -1: any number */
	bool suspended;
};

/* Finds the line in the text of an example. 0; or -1 and *err naming file, line, what was found and expected. */
int expectation_parse(const char *file, const char *text, struct expectation *out, struct error *err);
/* Appends "Completed 0", "Completed 0, 2 retries", "Running", "Suspended". */
void expectation_write(struct buf *out, const struct expectation *expectation);
/* The first comment line of an example, without "# " and up to a colon or full stop: what it is about. "" when the text
 * does not begin with one. The caller frees. */
char *example_title(const char *text);

/* The facts of a Framework that people look at. Zero-initialise: nothing seen yet. */
struct sight {
	bool seen;  /* the object is there */
	bool begun; /* it has a status */
	enum attempt_state state;
	bool suspended;
	size_t tasks[STATE_COUNT]; /* how many Tasks are in each state */
	size_t task_count;
	int32_t retries;      /* of the Framework */
	int64_t task_retries; /* of all Tasks of this attempt */
	bool has_code;
	int32_t code;
	char phrase[64];       /* "" without a code; cut when longer */
	int64_t creation_time; /* unix seconds */
};

/* 0 and *out, or -1 and *err when its status cannot be read. */
int sight_read(const json_t *framework, struct sight *out, struct error *err);

/* The state as people see it. */
const char *sight_state_name(const struct sight *sight);

enum verdict { VERDICT_AWAITED, VERDICT_AS_EXPECTED, VERDICT_OTHERWISE };

/* What has not begun is awaited; a Framework that is Completed otherwise than expected will not change any more. */
enum verdict expectation_judge(const struct expectation *expectation, const struct sight *sight);

#endif
