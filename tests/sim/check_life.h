/* What check_life.c and check_due.c share. */
#ifndef SIM_CHECK_LIFE_H
#define SIM_CHECK_LIFE_H

#include "tests/sim/check.h"

/* The true time of day, in ms. */
int64_t wall_ms(const struct world *world);
/* How much earlier than true time a reconciler may believe that a time has come that another one has written. */
int64_t slack_ms(const struct world *world);
/* Of a Framework's or a Task's status: its retryPolicyStatus, and a number in it. */
const json_t *retry_of(const json_t *status);
int64_t count_of(const json_t *status, const char *name);
/* When the retry is due that was decided, in unix ms. */
int64_t retry_due_ms(const json_t *status);
bool stopped(const json_t *spec);
/* It is asked for, and not stopped. */
bool suspended(const json_t *spec);
/* Whether the condition Suspended is True. */
bool says_suspended(const json_t *status);
/* `task` of the TaskRole; NULL: it is not in the spec. */
const json_t *task_of_spec(const json_t *spec, const char *name);
/* When activeDeadlineSec of the spec is over, in unix ms; INT64_MAX: never. */
int64_t deadline_ms(const json_t *spec, const json_t *status);

#endif
