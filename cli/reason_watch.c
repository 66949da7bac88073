/* See reason_watch.h. */
#include "cli/reason_watch.h"

#include "common/base/mem.h"
#include "common/kube/reflector.h"

char *reason_events_path(const struct cli *cli)
{
	return cli_core_path(cli->options.all_namespaces ? NULL : cli->ns, "events", NULL);
}

static void report(struct reason_watch *watch, const json_t *event)
{
	cleanup_free char *key = reasons_key(event);

	if (!watch->reasons->listing)
		watch->changed(watch->arg, key);
}

static void on_present(void *arg, json_t *event)
{
	struct reason_watch *watch = arg;

	reasons_put(watch->reasons, event);
	report(watch, event);
}

static void on_deleted(void *arg, json_t *event)
{
	struct reason_watch *watch = arg;

	reasons_delete(watch->reasons, event);
	report(watch, event);
}

static void on_list_begin(void *arg)
{
	reasons_list_begin(((struct reason_watch *)arg)->reasons);
}

static void on_list_end(void *arg, const char *resource_version)
{
	struct reason_watch *watch = arg;

	(void)resource_version;
	reasons_list_end(watch->reasons);
	watch->changed(watch->arg, NULL);
}

/* Without the right to watch Events, rows have the reasons of the Framework alone, as without the right to list them.
 */
static bool on_refused(void *arg, const char *right, int http_status, const char *message)
{
	struct reason_watch *watch = arg;

	(void)right;
	(void)http_status;
	(void)message;
	reflector_free(watch->reflector);
	watch->reflector = NULL;
	return true;
}

static void on_time(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct reason_watch *watch = timer->data;

	(void)loop;
	(void)events;
	watch->changed(watch->arg, NULL);
}

void reason_watch_start(struct reason_watch *watch, struct cli *cli, struct reasons *reasons)
{
	watch->cli = cli;
	watch->reasons = reasons;
	ev_timer_init(&watch->timer, on_time, REASON_LOOK_MS / 1000., REASON_LOOK_MS / 1000.);
	watch->timer.data = watch;
	ev_timer_start(cli->loop, &watch->timer);
}

void reason_watch_ask(struct reason_watch *watch)
{
	static const struct reflector_handler handler = {.present = on_present,
							 .deleted = on_deleted,
							 .list_begin = on_list_begin,
							 .list_end = on_list_end,
							 .refused = on_refused};
	cleanup_free char *collection = NULL, *path = NULL;
	struct reflector_options options = {.what = "Events", .page_size = CLI_PAGE};

	if (watch->asked)
		return;
	watch->asked = true;
	collection = reason_events_path(watch->cli);
	path = mem_printf("%s?%s", collection, REASON_EVENTS_QUERY);
	options.path = path;
	watch->reflector = reflector_new(watch->cli->loop, watch->cli->client, &options, &handler, watch);
	reflector_start(watch->reflector);
}

void reason_watch_stop(struct reason_watch *watch)
{
	if (watch->cli == NULL)
		return;
	ev_timer_stop(watch->cli->loop, &watch->timer);
	reflector_free(watch->reflector);
	watch->reflector = NULL;
}
