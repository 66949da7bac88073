/* See follow.h. */
#include "cli/follow.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/kube/reflector.h"

enum { LOOK_MS = 60 * 1000 };

struct run {
	const struct follow *what;
	bool listed;  /* the first list is complete */
	bool changed; /* since the last settle() */
	bool late;
	const struct cli *cli;
	struct error *err; /* of the refusal */
	int code;          /* 0: the API server has refused nothing */
};

static void on_present(void *arg, json_t *object)
{
	struct run *run = arg;

	run->what->present(run->what->arg, object);
	run->changed = true;
}

static void on_deleted(void *arg, json_t *object)
{
	struct run *run = arg;

	run->what->deleted(run->what->arg, object);
	run->changed = true;
}

static void on_list_begin(void *arg)
{
	struct run *run = arg;

	if (run->what->list_begin != NULL)
		run->what->list_begin(run->what->arg);
}

static void on_list_end(void *arg, const char *resource_version)
{
	struct run *run = arg;

	(void)resource_version;
	if (run->what->list_end != NULL)
		run->what->list_end(run->what->arg);
	run->listed = true;
	run->changed = true;
}

static void on_live(void *arg, bool live)
{
	(void)arg;
	(void)live;
}

static bool on_refused(void *arg, const char *right, int http_status, const char *message)
{
	struct run *run = arg;
	const char *ns = run->cli->options.all_namespaces ? NULL : run->cli->ns;

	run->code = cli_refused(right, "frameworks", ns, http_status, message, run->err);
	return true;
}

static void on_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct run *run = timer->data;

	(void)loop;
	(void)events;
	run->late = true;
}

/* How long to follow. For one look: as long as a list takes at most. */
static int64_t time_left(const struct cli *cli, const struct follow *what, bool *once)
{
	int64_t left = what->timeout_ms - (clock_boot_ms() - cli->begun_ms);

	*once = what->timeout_ms >= 0 && left <= 0;
	return *once ? LOOK_MS : left;
}

int follow_run(struct cli *cli, const struct follow *what, struct error *err)
{
	static const struct reflector_handler handler = {.present = on_present,
							 .deleted = on_deleted,
							 .list_begin = on_list_begin,
							 .list_end = on_list_end,
							 .live = on_live,
							 .refused = on_refused};
	const struct reflector_options options = {
		.path = what->path, .label_selector = what->selector, .what = "Frameworks", .page_size = CLI_PAGE};
	struct run run = {.what = what, .cli = cli, .err = err};
	struct reflector *reflector;
	ev_timer timer;
	bool more = true, once;
	int64_t left;
	int code = cli_probe(cli, what->path, what->selector, err);

	if (code != 0)
		return code;
	left = time_left(cli, what, &once);
	ev_timer_init(&timer, on_late, (double)left / 1000, 0);
	timer.data = &run;
	ev_now_update(cli->loop);
	if (what->timeout_ms >= 0)
		ev_timer_start(cli->loop, &timer);
	reflector = reflector_new(cli->loop, cli->client, &options, &handler, &run);
	reflector_start(reflector);
	while (more && !run.late && run.code == 0) {
		if ((run.changed || (what->touched != NULL && *what->touched)) && run.listed) {
			run.changed = false;
			if (what->touched != NULL)
				*what->touched = false;
			more = what->settle(cli, what->arg);
			run.late = run.late || once;
		} else {
			ev_run(cli->loop, EVRUN_ONCE);
		}
	}
	reflector_free(reflector);
	ev_timer_stop(cli->loop, &timer);
	if (run.code != 0)
		return run.code;
	return more ? CLI_TIME_OUT : 0;
}

char *follow_path_of(const char *collection, const char *name)
{
	return mem_printf("%s?fieldSelector=metadata.name%%3D%s", collection, name);
}

/* ---- one Framework ----------------------------------------------------------------------------------------------- */

static void ignore(void *arg, json_t *object)
{
	(void)arg;
	(void)object;
}

int follow_framework(struct cli *cli, const char *name, bool (*changed)(struct cli *cli, void *arg), void *arg,
		     struct error *err)
{
	cleanup_free char *collection = cli_frameworks_path(cli->ns, NULL);
	cleanup_free char *path = follow_path_of(collection, name);
	const struct follow what = {
		.path = path, .present = ignore, .deleted = ignore, .settle = changed, .arg = arg, .timeout_ms = -1};

	return follow_run(cli, &what, err);
}
