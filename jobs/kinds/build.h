/* The pieces of a Framework's spec, and changes of Pod templates. All JSON. */
#ifndef JOBS_BUILD_H
#define JOBS_BUILD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/json_field.h"
#include "jobs/kinds/translate.h"

/* How often the Tasks of a role are retried; max_retry_count as in CONTRACT.md §9.3. */
struct build_retry {
	bool fancy;
	int64_t max_retry_count;
};

/* Thresholds of a role's frameworkAttemptCompletionPolicy. */
enum { BUILD_NEVER = -1 };

/* Refuses a member of the object that is not in the list, which ends with NULL. 0, or -1 and *err. */
int build_known(const struct json_field *object, const char *const *names, struct error *err);
/* Adds a text to the translation's warnings. */
void build_warn(struct job_translation *translation, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Names the Framework, and begins its labels and spec with what all jobs have. It lives as long as its job. */
void build_begin(const struct job *job, struct job_translation *out);
/* Adds a role to the translation and a TaskRole to its spec. pod is the template; the reference is taken over. */
void build_role(struct job_translation *out, const struct job_role *role, json_t *pod, int64_t min_failed,
		int64_t min_succeeded, const struct build_retry *retry);
/* Gives the Pods stable names (spec.network). */
void build_network(struct job_translation *out);
/* The name of a Task's Pod in the DNS, and a port. The caller frees. index may be a placeholder (CONTRACT.md §4.8). */
char *build_host(const struct job *job, const struct job_translation *translation, const char *role, const char *index,
		 int64_t port);

/* A copy of a Pod template that can be changed; it has metadata.labels and spec. Never NULL. */
json_t *build_pod(const json_t *template);
void build_label(json_t *pod, const char *name, const char *value);
/* The container of that name; NULL: there is none. Borrowed. */
json_t *build_container(const json_t *pod, const char *name);
/* Sets a variable after all others, in place of one of the same name. */
void build_env(json_t *container, const char *name, const char *value);

/* How many bytes a text has at most in the Tasks of a role, whose index replaces BUILD_INDEX. */
size_t build_length(const char *text, int32_t replicas);

/* The index of the Task (CONTRACT.md §4.8). */
#define BUILD_INDEX "{{FC_TASK_INDEX}}"

#endif
