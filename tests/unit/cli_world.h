/* Frameworks, Pods and Events as JSON with ' for ", and what the views make of them. */
#ifndef TESTS_UNIT_CLI_WORLD_H
#define TESTS_UNIT_CLI_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/view/wait.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/unit/cli_asserts.h"

/* 2026-01-01T01:00:00Z: an hour after everything begins. */
enum { CLI_NOW = 1767229200 };
#define CLI_BEGIN "2026-01-01T00:00:00Z"

static inline json_t *cli_json(const char *text)
{
	cleanup_free char *quoted = mem_strdup(text);
	struct error err = {.message = ""};
	json_t *value;

	for (char *c = quoted; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	value = json_parse(quoted, strlen(quoted), &err);
	if (value == NULL)
		print_error("%s\n%s\n", err.message, quoted);
	assert_non_null(value);
	return value;
}

/* A status of a Framework in the given state, with the given members of its attempt, and TaskRoles. */
static inline char *cli_status(const char *state, const char *more, const char *attempt, const char *roles)
{
	return mem_printf(
		"{'observedGeneration':1,'startTime':'" CLI_BEGIN "','runTime':null,'completionTime':null,"
		"'state':'%s','transitionTime':'" CLI_BEGIN "',%s"
		"'retryPolicyStatus':{'totalRetriedCount':0,'accountableRetriedCount':0,'retryDelaySec':null},"
		"'attemptStatus':{'id':0,'startTime':'" CLI_BEGIN "','configMapUID':'cm','instanceUID':'0_cm',%s"
		"'taskRoleStatuses':[%s]}}",
		state, more, attempt, roles);
}

/* One TaskRole's status. */
static inline char *cli_role(const char *name, const char *tasks)
{
	return mem_printf("{'name':'%s','instanceUID':'r','podGracefulDeletionTimeoutSec':null,'taskStatuses':[%s]}",
			  name, tasks);
}

/* One Task's status; more: further members of its attemptStatus, each behind a comma. */
static inline char *cli_task(size_t index, const char *state, const char *more)
{
	return mem_printf(
		"{'index':%zu,'instanceUID':'t','startTime':'" CLI_BEGIN "','state':'%s','transitionTime':'" CLI_BEGIN
		"','deletionPending':false,'retryPolicyStatus':{'totalRetriedCount':0,'accountableRetriedCount':0,"
		"'retryDelaySec':null},'attemptStatus':{'id':0,'startTime':'" CLI_BEGIN "'%s}}",
		index, state, more);
}

struct cli_world {
	struct framework_view framework;
	struct pod_views pods;
	struct event_views events;
	struct inquiry inquiry;
};

/* spec: members of spec; status: a status, or NULL. */
static inline void cli_world_begin(struct cli_world *w, const char *spec, const char *status)
{
	cleanup_free char *text = mem_printf("{'metadata':{'name':'f','namespace':'ns','uid':'u','generation':1,"
					     "'creationTimestamp':'" CLI_BEGIN "'},'spec':{%s}%s%s}",
					     spec, status == NULL ? "" : ",'status':", status == NULL ? "" : status);
	json_t *object = cli_json(text);

	*w = (struct cli_world){0};
	assert_int_equal(framework_view_read(object, &w->framework, NULL), 0);
	json_decref(object);
	w->inquiry = (struct inquiry){.framework = &w->framework,
				      .pods = &w->pods,
				      .events = &w->events,
				      .config_map_known = true,
				      .now = CLI_NOW};
}

/* more: members of metadata, behind a comma. */
static inline void cli_world_pod(struct cli_world *w, const char *name, const char *metadata, const char *spec,
				 const char *status)
{
	cleanup_free char *text = mem_printf(
		"{'metadata':{'name':'%s','namespace':'ns','uid':'p-%s','creationTimestamp':'" CLI_BEGIN
		"'%s},'spec':{%s},'status':{%s}}",
		name, name, metadata, spec, status);
	json_t *object = cli_json(text);

	pod_views_add(&w->pods, object);
	json_decref(object);
}

static inline void cli_world_event(struct cli_world *w, const char *reason, const char *message)
{
	cleanup_free char *text = mem_printf("{'reason':'%s','message':'%s','type':'Warning','count':3,'lastTimestamp':"
					     "'2026-01-01T00:30:00Z'}",
					     reason, message);
	json_t *object = cli_json(text);

	event_views_add(&w->events, object);
	json_decref(object);
}

static inline void cli_world_end(struct cli_world *w)
{
	framework_view_free(&w->framework);
	pod_views_free(&w->pods);
	event_views_free(&w->events);
}

#endif
