/* status.conditions of the jobs of kubeflow.org/v1, changed as kubeflow/training-operator 1.9 does: pkg/util/status.go.
 */
#ifndef JOBS_CONDITIONS_H
#define JOBS_CONDITIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether the list has a condition of that type with status True. NULL is an empty list. */
bool condition_is_true(const json_t *conditions, const char *type);
bool condition_exists(const json_t *conditions, const char *type);

/* Sets a condition: the last one of the list is the job's state for kubectl. Nothing changes if the job has ended, or
 * if the condition has this status and reason already. Running and Restarting replace each other; the end makes Running
 * False. Returns whether anything has changed. */
bool condition_set(json_t *conditions, const char *type, bool value, const char *reason, const char *message,
		   int64_t now_sec);

#endif
