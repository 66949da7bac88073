/* kubectl framework ui: a page on loopback, with the user's rights. One watch keeps the list; what the page of a
 * Framework needs more is read when somebody looks at it. */
#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/reason_watch.h"
#include "cli/ui/page.h"
#include "cli/ui/pages.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/kube/reflector.h"

/* The page of a Framework that somebody waits for. Requests to the API server run the loop themselves, so they are made
 * one after the other, and never within a callback. While other pages wait, one may take JOB_MS. */
enum { JOB_MS = 5000, JOB_LOOK_MS = 500 };
struct ui_job {
	struct ui_job *prev, *next;
	struct serve_request *request; /* NULL: nobody waits any more */
	char *ns;
	char *name;
	unsigned parts; /* for load_framework() */
};

struct ui {
	struct cli *cli;
	struct pages pages;
	struct serve *serve;
	struct reflector *reflector;
	struct reason_watch reason_watch;
	struct ui_job *jobs;
	struct ev_timer job_timer; /* looks at the first job while it is done */
	int64_t job_begun_ms;      /* by clock_boot_ms() */
	bool job_cut;              /* it has taken too long */
	struct ev_signal signals[3];
	bool listed;
	bool stopped;
};

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static void on_present(void *arg, json_t *object)
{
	struct ui *ui = arg;
	struct framework_view view;
	struct error err;

	if (framework_view_read(object, &view, &err) == 0)
		rows_put(&ui->pages.rows, &view, load_follows(&view), clock_wall_ms());
	framework_view_free(&view);
	if (ui->pages.rows.wants_events)
		reason_watch_ask(&ui->reason_watch);
	pages_changed(&ui->pages);
}

static void on_reasons(void *arg, const char *key)
{
	struct ui *ui = arg;

	rows_renew(&ui->pages.rows, key, clock_wall_ms());
	pages_changed(&ui->pages);
}

static void on_deleted(void *arg, json_t *object)
{
	struct ui *ui = arg;
	struct framework_view view;
	struct error err;

	if (framework_view_read(object, &view, &err) == 0)
		rows_delete(&ui->pages.rows, view.ns, view.name);
	framework_view_free(&view);
	pages_changed(&ui->pages);
}

static void on_list_begin(void *arg)
{
	rows_list_begin(&((struct ui *)arg)->pages.rows);
}

static void on_list_end(void *arg, const char *resource_version)
{
	struct ui *ui = arg;

	(void)resource_version;
	rows_list_end(&ui->pages.rows);
	ui->listed = true;
	pages_changed(&ui->pages);
}

static void on_live(void *arg, bool live)
{
	struct ui *ui = arg;

	if (live)
		pages_set_lost(&ui->pages, NULL);
	else if (ui->pages.lost == NULL) /* else the reason is known */
		pages_set_lost(&ui->pages, PAGES_NO_ANSWER);
}

/* The page stays, and says what it lacks: the right may come back. */
static bool on_refused(void *arg, const char *right, int http_status, const char *message)
{
	struct ui *ui = arg;
	const struct cli *cli = ui->cli;
	struct error err;

	cli_refused(right, "frameworks", cli->options.all_namespaces ? NULL : cli->ns, http_status, message, &err);
	err.message[0] = (char)toupper((unsigned char)err.message[0]);
	pages_set_lost(&ui->pages, err.message);
	return ui->listed; /* before that nobody can see the page */
}

static void watch(struct ui *ui, const char *path)
{
	static const struct reflector_handler handler = {.present = on_present,
							 .deleted = on_deleted,
							 .list_begin = on_list_begin,
							 .list_end = on_list_end,
							 .live = on_live,
							 .refused = on_refused};
	const struct reflector_options options = {
		.path = path, .label_selector = ui->cli->options.selector, .what = "Frameworks", .page_size = CLI_PAGE};

	reason_watch_start(&ui->reason_watch, ui->cli, &ui->pages.rows.reasons);
	ui->reflector = reflector_new(ui->cli->loop, ui->cli->client, &options, &handler, ui);
	reflector_start(ui->reflector);
}

/* ---- one Framework ----------------------------------------------------------------------------------------------- */

static void on_job_gone(void *arg)
{
	((struct ui_job *)arg)->request = NULL;
}

static void take_job(void *arg, struct serve_request *request, const struct ui_row *row)
{
	struct ui *ui = arg;
	struct ui_job *job = mem_calloc(1, sizeof(*job));
	bool stale = row->lagging_ms != 0 && clock_wall_ms() - row->lagging_ms >= LOAD_FOLLOW_MS;

	job->request = request;
	job->ns = mem_strdup(row->summary.ns);
	job->name = mem_strdup(row->summary.name);
	job->parts = LOAD_PODS | LOAD_EVENTS | LOAD_DOUBTS | LOAD_WATCHED | (stale ? LOAD_STALE : 0);
	DL_APPEND(ui->jobs, job);
	serve_request_park(request, on_job_gone, job);
}

static void free_job(struct ui *ui, struct ui_job *job)
{
	DL_DELETE(ui->jobs, job);
	free(job->ns);
	free(job->name);
	free(job);
}

static int status_of(int code)
{
	return code == 0 ? 200 : code == CLI_ABSENT ? 404 : code == CLI_FORBIDDEN ? 403 : 502;
}

static bool others_wait(const struct ui *ui)
{
	const struct ui_job *job = ui->jobs->next;

	while (job != NULL && job->request == NULL)
		job = job->next;
	return job != NULL;
}

/* The end of the loop's run cancels the request that it waits for (kube_client_call_wait()). */
static void on_job_time(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct ui *ui = timer->data;

	(void)events;
	if (clock_boot_ms() - ui->job_begun_ms < JOB_MS || !others_wait(ui))
		return;
	ui->job_cut = true;
	ev_break(loop, EVBREAK_ONE);
}

static int load_in_time(struct ui *ui, const struct ui_job *job, struct loaded *loaded, struct error *err)
{
	int code;

	ui->job_cut = false;
	ui->job_begun_ms = clock_boot_ms();
	ev_timer_init(&ui->job_timer, on_job_time, JOB_LOOK_MS / 1000., JOB_LOOK_MS / 1000.);
	ui->job_timer.data = ui;
	ev_timer_start(ui->cli->loop, &ui->job_timer);
	code = load_framework(ui->cli, job->name, job->parts, loaded, err);
	ev_timer_stop(ui->cli->loop, &ui->job_timer);
	if (code != 0 && ui->job_cut)
		error_set(
			err,
			"The API server has not sent the parts of this page within %d s, and other pages wait. Reload "
			"this page.",
			JOB_MS / 1000);
	return code;
}

static void do_job(struct ui *ui, struct ui_job *job)
{
	cleanup_buf struct buf notes = {0}, main = {0}, page = {0};
	uint64_t version = ui->pages.rows.version; /* of before: what changes from now on is asked for again */
	struct loaded loaded;
	struct error err;
	int code;

	buf_puts(&notes, "");
	ui->cli->notes = &notes;
	mem_replace(&ui->cli->ns, job->ns);
	code = load_in_time(ui, job, &loaded, &err);
	ui->cli->notes = NULL;
	if (job->request != NULL) {
		if (code == 0)
			page_put_framework(&main, &loaded.inquiry, notes.data, version);
		else
			page_put_failure(&main, job->ns, job->name, err.message);
		page_put(&page, job->name, ui->pages.scope, main.data);
		guard_reply(job->request, status_of(code), "text/html; charset=utf-8", page.data, page.len);
	}
	loaded_free(&loaded);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* The second one does not wait for the API server. */
static void on_signal(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct ui *ui = signal->data;

	(void)loop;
	(void)events;
	if (ui->stopped)
		_exit(CLI_DONE);
	ui->stopped = true;
}

/* The end of its terminal, too, is its end. */
static void catch_signals(struct ui *ui)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		ev_signal_init(&ui->signals[i], on_signal, numbers[i]);
		ui->signals[i].data = ui;
		ev_signal_start(ui->cli->loop, &ui->signals[i]);
	}
}

static int run(struct ui *ui, const char *path, struct error *err)
{
	const struct serve_options options = {.address = "127.0.0.1:0", .mounts_only = true};
	struct cli *cli = ui->cli;
	int code = cli_probe(cli, path, cli->options.selector, err);

	if (code != 0)
		return code;
	ui->serve = serve_new(cli->loop, &options, err);
	if (ui->serve == NULL)
		return CLI_FAILED;
	guard_init(&ui->pages.guard, serve_address(ui->serve));
	serve_mount(ui->serve, "/", pages_handle, &ui->pages);
	catch_signals(ui);
	watch(ui, path);
	while (!ui->stopped && !ui->listed)
		ev_run(cli->loop, EVRUN_ONCE);
	if (!ui->stopped) {
		out_line(&cli->out, "http://%s/%s/frameworks", ui->pages.guard.host, ui->pages.guard.token);
		if (out_flush(&cli->out) < 0)
			return 0; /* nobody knows the address */
		cli_note(cli,
			 "open this address in a browser on this machine; anybody with the address can see all that "
			 "you can see; press Ctrl-C to stop");
	}
	while (!ui->stopped) {
		if (ui->jobs != NULL) {
			if (ui->jobs->request != NULL)
				do_job(ui, ui->jobs);
			free_job(ui, ui->jobs);
		} else {
			ev_run(cli->loop, EVRUN_ONCE);
		}
	}
	return 0;
}

static char *scope_of(const struct cli *cli)
{
	const char *selector = cli->options.selector;
	cleanup_free char *where = cli->options.all_namespaces ? mem_strdup("all namespaces")
							       : mem_printf("namespace %s", cli->ns);

	return mem_printf("%s%s%s", where, selector == NULL ? "" : ", labels ", selector == NULL ? "" : selector);
}

int command_ui(struct cli *cli)
{
	struct ui ui = {.cli = cli, .reason_watch = {.changed = on_reasons, .arg = &ui}};
	cleanup_free char *path = NULL, *scope = NULL;
	struct error err;
	int code = cli_connect(cli, &err);

	if (code != 0)
		return cli_complain(cli, code, &err);
	path = cli_frameworks_path(cli->options.all_namespaces ? NULL : cli->ns, NULL);
	scope = scope_of(cli);
	ui.pages.loop = cli->loop;
	ui.pages.scope = scope;
	ui.pages.framework = take_job;
	ui.pages.arg = &ui;
	pages_init(&ui.pages);
	code = run(&ui, path, &err);
	if (ui.reflector != NULL)
		reflector_free(ui.reflector);
	reason_watch_stop(&ui.reason_watch);
	serve_free(ui.serve);
	while (ui.jobs != NULL)
		free_job(&ui, ui.jobs);
	pages_free(&ui.pages);
	for (size_t i = 0; i < ARRAY_LEN(ui.signals); i++)
		ev_signal_stop(cli->loop, &ui.signals[i]);
	return code == 0 ? CLI_DONE : cli_complain(cli, code, &err);
}
