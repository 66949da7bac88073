/* kubectl framework logs: the logs of all Tasks at once. Without -f: what there is now. With -f: until the Framework is
 * Completed or deleted, through all retries of its Tasks and of itself. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/logs.h"
#include "cli/view/read.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "common/kube/reflector.h"

enum { RESUME_MS = 1000 };

/* ---- the words that are left of Pods that are gone ----------------------------------------------------------------
 */

static void print_last_words(struct cli *cli, const char *role, size_t index, const struct task_status *task,
			     bool *headed)
{
	const struct completion *completion = task->attempt.completion;
	cleanup_json json_t *pod = NULL;
	const json_t *container;
	size_t i;

	if (completion == NULL || completion->pod == NULL)
		return;
	pod = json_parse(completion->pod, strlen(completion->pod), NULL);
	json_array_foreach(json_object_get(pod, "containers"), i, container) {
		const char *message = view_text(container, "message");

		if (*message == '\0')
			continue;
		if (!*headed)
			cli_note(cli, "the controller has deleted the Pods of these Tasks, with their logs; "
				      "the status has their termination messages:");
		*headed = true;
		for (const char *line = message; *line != '\0';) {
			size_t len = strcspn(line, "\n");

			out_line(&cli->out, "%s[%zu] %.*s", role, index, (int)len, line);
			line += len + (line[len] == '\n');
		}
	}
}

static void print_what_is_left(struct logs *logs, const struct loaded *loaded)
{
	const struct framework_attempt_status *attempt = &loaded->framework.status.attempt;
	bool headed = false;

	for (size_t i = 0; loaded->framework.begun && i < attempt->role_count; i++)
		for (size_t j = 0; j < attempt->roles[i].task_count; j++) {
			cleanup_free char *pod = pod_name_of(&loaded->framework, attempt->roles[i].name, j);

			if (logs_selects(logs, attempt->roles[i].name, (int64_t)j) &&
			    pod_views_find(&loaded->pods, pod) == NULL)
				print_last_words(logs->cli, attempt->roles[i].name, j, &attempt->roles[i].tasks[j],
						 &headed);
		}
	if (headed || logs->begun > 0)
		return;
	if (loaded->framework.begun && loaded->framework.status.state == STATE_COMPLETED)
		cli_note(logs->cli,
			 "there are no logs: Framework %s is Completed, and its Pods are deleted, with their logs; "
			 "the status contains no termination messages",
			 loaded->framework.name);
	else
		cli_note(logs->cli, "there are no logs: no container of Framework %s has started, or its Pods are gone",
			 loaded->framework.name);
}

static int print_present(struct logs *logs, struct loaded *loaded)
{
	const struct pod_view *pod, *next;

	HASH_ITER(hh, loaded->pods.by_name, pod, next) {
		logs_look(logs, pod->object);
	}
	while (logs->open > 0 && logs->cli->out.failed == 0)
		ev_run(logs->cli->loop, EVRUN_ONCE);
	print_what_is_left(logs, loaded);
	return logs->forbidden ? CLI_FORBIDDEN : 0;
}

/* ---- -f ---------------------------------------------------------------------------------------------------------- */

struct following {
	struct logs *logs;
	bool over;         /* the Framework is Completed or deleted */
	bool seen;         /* by the list that runs */
	struct error *err; /* of the refusal */
	int code;          /* 0: the API server has refused no watch */
};

static void on_pod(void *arg, json_t *object)
{
	struct following *following = arg;

	logs_look(following->logs, object);
}

static void on_pod_deleted(void *arg, json_t *object)
{
	struct following *following = arg;

	logs_forget(following->logs, object);
}

static void ignore_list(void *arg)
{
	(void)arg;
}

static void ignore_list_end(void *arg, const char *resource_version)
{
	(void)arg;
	(void)resource_version;
}

static void ignore_live(void *arg, bool live)
{
	(void)arg;
	(void)live;
}

static bool on_pods_refused(void *arg, const char *right, int http_status, const char *message)
{
	struct following *following = arg;

	following->code = cli_refused(right, "pods", following->logs->cli->ns, http_status, message, following->err);
	return true;
}

static bool on_framework_refused(void *arg, const char *right, int http_status, const char *message)
{
	struct following *following = arg;

	following->code = cli_refused(right, "frameworks", following->logs->cli->ns, http_status, message,
				      following->err);
	return true;
}

static void on_framework(void *arg, json_t *object)
{
	struct following *following = arg;

	following->seen = true;
	following->over = strcmp(view_text(json_object_get(object, "status"), "state"),
				 attempt_state_name(STATE_COMPLETED)) == 0;
}

static void on_framework_deleted(void *arg, json_t *object)
{
	struct following *following = arg;

	(void)object;
	following->over = true;
}

static void on_frameworks_begin(void *arg)
{
	struct following *following = arg;

	following->seen = false;
}

static void on_frameworks_end(void *arg, const char *resource_version)
{
	struct following *following = arg;

	(void)resource_version;
	if (!following->seen)
		following->over = true;
}

static void on_resume(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct following *following = timer->data;

	(void)loop;
	(void)events;
	logs_resume(following->logs);
}

static int follow_all(struct logs *logs, const char *name, struct error *err)
{
	static const struct reflector_handler pods_handler = {.present = on_pod,
							      .deleted = on_pod_deleted,
							      .list_begin = ignore_list,
							      .list_end = ignore_list_end,
							      .live = ignore_live,
							      .refused = on_pods_refused};
	static const struct reflector_handler framework_handler = {.present = on_framework,
								   .deleted = on_framework_deleted,
								   .list_begin = on_frameworks_begin,
								   .list_end = on_frameworks_end,
								   .live = ignore_live,
								   .refused = on_framework_refused};
	struct cli *cli = logs->cli;
	cleanup_free char *collection = cli_frameworks_path(cli->ns, NULL);
	cleanup_free char *one = mem_printf("%s?fieldSelector=metadata.name%%3D%s", collection, name);
	cleanup_free char *all = cli_core_path(cli->ns, "pods", NULL);
	cleanup_free char *selector = mem_printf("%s=%s", FC_FRAMEWORK_NAME, name);
	struct reflector_options options = {.path = all, .label_selector = selector, .what = "Pods"};
	struct following following = {.logs = logs, .err = err};
	struct reflector *pods, *framework;
	ev_timer timer;

	pods = reflector_new(cli->loop, cli->client, &options, &pods_handler, &following);
	options = (struct reflector_options){.path = one, .what = "Framework"};
	framework = reflector_new(cli->loop, cli->client, &options, &framework_handler, &following);
	ev_timer_init(&timer, on_resume, RESUME_MS / 1000.0, RESUME_MS / 1000.0);
	timer.data = &following;
	ev_timer_start(cli->loop, &timer);
	reflector_start(pods);
	reflector_start(framework);
	while (cli->out.failed == 0 && following.code == 0 && !logs->forbidden &&
	       !(following.over && logs->open == 0 && !logs_wait(logs)))
		ev_run(cli->loop, EVRUN_ONCE);
	ev_timer_stop(cli->loop, &timer);
	reflector_free(pods);
	reflector_free(framework);
	return following.code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int parse_selectors(struct cli *cli, struct task_selector *selectors, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (task_selector_parse(cli->options.arguments[i + 1], &selectors[i], err) < 0)
			return CLI_BAD_USE;
	return 0;
}

static bool has_role(const struct framework_view *framework, const char *role)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;

	for (size_t i = 0; i < attempt->role_count; i++)
		if (strcmp(attempt->roles[i].name, role) == 0)
			return true;
	return framework->has_spec && framework_spec_find_role(&framework->spec, role) >= 0;
}

/* A TaskRole or Task that the Framework does not have. */
static int check_selectors(const struct framework_view *framework, const struct logs *logs, struct error *err)
{
	for (size_t i = 0; i < logs->selector_count && framework->begun; i++) {
		const struct task_selector *wanted = &logs->selectors[i];

		if (framework_view_task(framework, wanted->role, wanted->index < 0 ? 0 : wanted->index) != NULL)
			continue;
		if (!has_role(framework, wanted->role))
			framework_without_role(framework->object, wanted->role, err);
		else
			error_set(err, "Framework %s has no Task %s[%lld]", framework->name, wanted->role,
				  (long long)(wanted->index < 0 ? 0 : wanted->index));
		return CLI_ABSENT;
	}
	return 0;
}

static int show(struct cli *cli, struct logs *logs, struct error *err)
{
	const char *name = cli->options.arguments[0];
	struct loaded loaded;
	int code = load_framework(cli, name, LOAD_PODS, &loaded, err);

	if (code == 0 && loaded.inquiry.pods == NULL) {
		error_set(err, "logs need the right to list Pods in namespace %s", cli->ns);
		code = CLI_FORBIDDEN;
	}
	if (code == 0)
		code = check_selectors(&loaded.framework, logs, err);
	if (code == 0 && cli->options.follow &&
	    !(loaded.framework.begun && loaded.framework.status.state == STATE_COMPLETED)) {
		code = follow_all(logs, name, err);
		if (logs->forbidden)
			code = CLI_FORBIDDEN;
	} else if (code == 0) {
		code = print_present(logs, &loaded);
	}
	if (logs->forbidden)
		error_set(err, "logs need the right to get pods/log in namespace %s", cli->ns);
	loaded_free(&loaded);
	return code;
}

int command_logs(struct cli *cli)
{
	size_t count = cli->options.argument_count - 1;
	struct task_selector *selectors = mem_calloc(count + 1, sizeof(*selectors));
	struct logs logs = {.cli = cli, .selectors = selectors, .selector_count = count};
	struct error err;
	int code = parse_selectors(cli, selectors, count, &err);

	if (code == 0)
		code = show(cli, &logs, &err);
	/* (calls that run are cancelled with their client, and look at their streams then) */
	kube_client_free(cli->client);
	cli->client = NULL;
	logs_free(&logs);
	free(selectors);
	return code == 0 ? CLI_DONE : cli_complain(cli, code, &err);
}
