/* Filling in a struct why. Only the files why*.c include it. */
#ifndef CLI_VIEW_WHY_NOTE_H
#define CLI_VIEW_WHY_NOTE_H

#include "cli/view/why.h"

/* Append to the answer, replace brief, add evidence and advice. Formats as printf. */
void why_say(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
void why_brief(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
void why_fact(struct why *why, const char *source, const char *format, ...) __attribute__((format(printf, 3, 4)));
void why_advise(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A command for the advice before. */
void why_command(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Advice to change the Framework, with the command: "kubectl {verb} {name}{rest} -n {namespace}". If another controller
 * made the Framework, which would change it back: instead, and once, advice to change the object that controls it. */
void why_change(struct why *why, const struct inquiry *inquiry, const char *advice, const char *verb, const char *rest);
/* The same for kubectl edit, behind advice that says what to correct. */
void why_edit(struct why *why, const struct inquiry *inquiry);
/* The Event as evidence, with its age; NULL: nothing. */
void why_fact_event(struct why *why, const struct inquiry *inquiry, const struct event_view *event);

/* "5m", since a time in unix seconds until now; "an unknown time" for 0. */
enum { WHY_AGE_SIZE = 24 };
const char *why_age(const struct inquiry *inquiry, int64_t since, char out[WHY_AGE_SIZE]);
/* "2026-01-02T15:04:05Z (in 3m)", or "… (due)". */
enum { WHY_DUE_SIZE = 64 };
const char *why_due(const struct inquiry *inquiry, int64_t at, char out[WHY_DUE_SIZE]);

/* Whether the watchers' Lease is known, and nobody has held it for a minute. */
bool why_nobody_leads(const struct inquiry *inquiry);
/* The Lease as evidence, if it is known. */
void why_fact_lease(struct why *why, const struct inquiry *inquiry);

/* " -n NAMESPACE": commands in advice end with it. */
const char *why_namespace(const struct inquiry *inquiry, char out[80]);

/* The rules, each in its place of the table in why.c: true if it is the answer, which it has filled in. */
bool why_deleting(const struct inquiry *inquiry, struct why *why);
bool why_managed_by(const struct inquiry *inquiry, struct why *why);
bool why_malformed(const struct inquiry *inquiry, struct why *why);
bool why_no_controller(const struct inquiry *inquiry, struct why *why);
bool why_ended(const struct inquiry *inquiry, struct why *why);
bool why_suspended(const struct inquiry *inquiry, struct why *why);
bool why_not_started(const struct inquiry *inquiry, struct why *why);
bool why_queue(const struct inquiry *inquiry, struct why *why);
bool why_config_map(const struct inquiry *inquiry, struct why *why);
bool why_retry_delay(const struct inquiry *inquiry, struct why *why);
bool why_ending(const struct inquiry *inquiry, struct why *why);
bool why_no_tasks(const struct inquiry *inquiry, struct why *why);
bool why_too_many(const struct inquiry *inquiry, struct why *why);
bool why_tasks_wait(const struct inquiry *inquiry, struct why *why);
bool why_running(const struct inquiry *inquiry, struct why *why);
bool why_between(const struct inquiry *inquiry, struct why *why);

/* The meaning of the present completionStatus: sentences, evidence and advice. */
void why_completion(const struct inquiry *inquiry, const struct completion *completion, struct why *why);

#endif
