/* See cli.h. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/config/config.h"
#include "common/framework/names.h"
#include "common/kube/page.h"

enum {
	BUSY_MAX = 10,
	BUSY_NOTED_MS = 5 * 1000,
	EXPIRED_MAX = 3 /* tokens of a list, in a row */,
	REQUEST_TIMEOUT_MS = 60 * 1000,
	SIGN_IN_MS = 15 * 60 * 1000, /* for a person; a device code lives so long */
};

/* The command whose stderr gets log lines: those of the client (warnings of the API server), which can quote the
 * cluster. */
static struct cli *logging;

static void on_log(char severity, const char *message)
{
	if (severity != 'I' || log_verbosity > 0)
		cli_note(logging, "%s", message);
}

void cli_init(struct cli *cli)
{
	*cli = (struct cli){.begun_ms = clock_boot_ms()};
	out_init(&cli->out, STDOUT_FILENO);
	out_init(&cli->err_out, STDERR_FILENO);
	logging = cli;
	log_set_sink(on_log);
}

/* The outcome of a command whose output could not be written. */
static int judge_output(struct cli *cli)
{
	struct error err;

	if (cli->out.failed == EPIPE)
		return CLI_NO_READER;
	error_set(&err, "cannot write to stdout: %s", strerror(cli->out.failed));
	return cli_complain(cli, CLI_FAILED, &err);
}

int cli_finish(struct cli *cli, int code)
{
	if (out_flush(&cli->out) < 0 && code == CLI_DONE)
		code = judge_output(cli);
	out_finish(&cli->out);
	out_finish(&cli->err_out);
	log_set_sink(NULL);
	logging = NULL;
	kube_client_free(cli->client);
	kube_config_free(&cli->config);
	if (cli->loop != NULL)
		ev_loop_destroy(cli->loop);
	free(cli->ns);
	return code;
}

int cli_complain(struct cli *cli, int code, const struct error *err)
{
	out_flush(&cli->out);
	out_styled(&cli->err_out, STYLE_BAD, "kubectl framework:");
	out_line(&cli->err_out, " %s", err->message);
	out_flush(&cli->err_out);
	return code;
}

void cli_note(struct cli *cli, const char *format, ...)
{
	char text[ERROR_MESSAGE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (cli->notes != NULL) {
		buf_printf(cli->notes, "%s\n", text);
		return;
	}
	out_flush(&cli->out);
	out_styled(&cli->err_out, STYLE_WAITS, "note:");
	out_line(&cli->err_out, " %s", text);
	out_flush(&cli->err_out);
}

/* --as replaces the kubeconfig's impersonation as a whole, as in kubectl. */
static void impersonate(struct cli *cli)
{
	const struct options *options = &cli->options;
	char **lines;

	if (options->as == NULL)
		return;
	for (char **at = cli->config.impersonate; at != NULL && *at != NULL; at++)
		free(*at);
	free(cli->config.impersonate);
	lines = mem_calloc(options->as_group_count + 2, sizeof(*lines));
	lines[0] = mem_printf("Impersonate-User: %s", options->as);
	for (size_t i = 0; i < options->as_group_count; i++)
		lines[i + 1] = mem_printf("Impersonate-Group: %s", options->as_groups[i]);
	cli->config.impersonate = lines;
}

/* The file or files of --kubeconfig, $KUBECONFIG or ~/.kube/config; "": none. Where $KUBECONFIG names only files that
 * do not exist, ~/.kube/config is not read, as in kubectl: it can be another cluster's. The caller frees; NULL and
 * *err. */
static char *find_kubeconfig(const struct cli *cli, struct error *err)
{
	const char *named = getenv("KUBECONFIG");
	char *found;

	if (cli->options.kubeconfig != NULL)
		return mem_strdup(cli->options.kubeconfig);
	found = config_environment_kubeconfig();
	if (named == NULL || *named == '\0' || strcmp(found, named) == 0)
		return found;
	free(found);
	error_set(err, "found no kubeconfig: $KUBECONFIG is %.200s, which does not exist", named);
	return NULL;
}

int cli_connect(struct cli *cli, struct error *err)
{
	const struct kube_client_options client = {.user_agent = "kubectl-framework/" RELEASE,
						   .max_connections = CLI_CONNECTIONS,
						   .exec_time_ms = SIGN_IN_MS};
	cleanup_free char *kubeconfig = NULL;

	if (cli->client != NULL)
		return 0;
	kubeconfig = find_kubeconfig(cli, err);
	if (kubeconfig == NULL)
		return CLI_BAD_USE;
	if (*kubeconfig == '\0' && getenv("KUBERNETES_SERVICE_HOST") == NULL) {
		error_set(err, "found no kubeconfig: neither --kubeconfig nor $KUBECONFIG names one, and there is no "
			       "~/.kube/config");
		return CLI_BAD_USE;
	}
	if (kube_config_load(NULL, kubeconfig, cli->options.context, &cli->config, err) < 0)
		return CLI_BAD_USE;
	impersonate(cli);
	/* (exec plugins need the default loop) */
	cli->loop = ev_default_loop(EVFLAG_AUTO);
	cli->client = kube_client_new(cli->loop, &cli->config, &client, err);
	if (cli->client == NULL)
		return CLI_BAD_USE;
	cli->ns = mem_strdup(cli->options.namespace_name != NULL  ? cli->options.namespace_name
			     : cli->config.namespace_name != NULL ? cli->config.namespace_name
								  : "default");
	return 0;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static int judge(const struct kube_answer *answer, struct error *err)
{
	const struct kube_status *status = &answer->status;

	if (answer->failure == KUBE_OK && answer->http_status < 300)
		return 0;
	if (answer->failure == KUBE_OK && status->is_status && *status->message != '\0')
		error_set(err, "the API server answers %d (%s): %s", answer->http_status, status->reason,
			  status->message);
	else
		error_set(err, "%s", answer->message);
	if (answer->http_status == 401 || answer->http_status == 403)
		return CLI_FORBIDDEN;
	return answer->http_status == 404 ? CLI_ABSENT : CLI_FAILED;
}

static enum cli_fate fate_of(const struct kube_answer *answer)
{
	if (answer->failure == KUBE_OK && answer->http_status < 300)
		return CLI_CARRIED_OUT;
	if (answer->failure == KUBE_OK && strcmp(answer->status.reason, "AlreadyExists") == 0)
		return CLI_TAKEN;
	return answer->sent && (answer->failure != KUBE_OK || answer->http_status >= 500) ? CLI_UNKNOWN : CLI_REFUSED;
}

int64_t cli_now(const struct cli *cli)
{
	return clock_wall_ms() / 1000 - cli->ahead_sec;
}

/* A second more or less is the answer's way. */
static void note_clock(struct cli *cli, const struct kube_answer *answer)
{
	int64_t ahead = clock_wall_ms() / 1000 - answer->date_sec;

	if (answer->date_sec != 0)
		cli->ahead_sec = ahead < -1 || ahead > 1 ? ahead : 0;
}

/* A server that is busy (429 with Retry-After) has done nothing: it is asked again, as often as client-go does. */
static void ask(struct cli *cli, const struct kube_request *request, struct kube_answer *answer)
{
	int64_t wait_ms;

	for (int tries = 0;; tries++) {
		kube_client_call_wait(cli->client, request, answer);
		note_clock(cli, answer);
		wait_ms = answer->retry_after_ms;
		if (answer->http_status != 429 || wait_ms < 0 || tries == BUSY_MAX)
			return;
		kube_answer_free(answer);
		if (wait_ms >= BUSY_NOTED_MS)
			cli_note(cli, "the API server is busy, and wants to be asked again in %lld s",
				 (long long)wait_ms / 1000);
		cli_pause(cli, wait_ms);
	}
}

static int call(struct cli *cli, const struct kube_request *request, struct kube_answer *answer, struct error *err)
{
	int code = cli_connect(cli, err);

	cli->fate = CLI_REFUSED;
	if (code != 0)
		return code;
	ask(cli, request, answer);
	cli->fate = fate_of(answer);
	code = judge(answer, err);
	if (code != 0)
		kube_answer_free(answer);
	return code;
}

int cli_send(struct cli *cli, const char *method, const char *path, const char *content_type, const json_t *body,
	     json_t **out, struct error *err)
{
	cleanup_free char *text = body == NULL ? NULL : json_text(body);
	const struct kube_request request = {
		.method = method,
		.path = path,
		.content_type = content_type,
		.body = text,
		.body_len = text == NULL ? 0 : strlen(text),
		.timeout_ms = REQUEST_TIMEOUT_MS,
		.gzip = true,
	};
	struct kube_answer answer;
	int code = call(cli, &request, &answer, err);

	if (code != 0)
		return code;
	if (out != NULL) {
		*out = json_parse(answer.body, answer.body_len, err);
		if (*out == NULL) {
			error_wrap(err, "the API server's answer to %s %s", method, path);
			code = CLI_FAILED;
		}
	}
	kube_answer_free(&answer);
	return code;
}

int cli_get(struct cli *cli, const char *path, json_t **out, struct error *err)
{
	return cli_send(cli, "GET", path, NULL, NULL, out, err);
}

int cli_probe(struct cli *cli, const char *path, const char *selector, struct error *err)
{
	cleanup_buf struct buf url = {0};
	cleanup_json json_t *answer = NULL;

	buf_printf(&url, "%s%climit=1", path, strchr(path, '?') == NULL ? '?' : '&');
	if (selector != NULL)
		cli_put_query(&url, "labelSelector", selector);
	return cli_get(cli, url.data, &answer, err);
}

/* The token that the API server gives with 410 when a list took longer than it keeps versions: the rest of the list, of
 * the present version (API concepts, "Retrieving large results sets in chunks"). NULL: none. */
static char *token_after_gone(const struct kube_answer *answer)
{
	cleanup_json json_t *status = NULL;

	if (answer->http_status != 410)
		return NULL;
	status = json_parse(answer->body, answer->body_len, NULL);
	return mem_strdup(json_str(json_object_get(status, "metadata"), "continue"));
}

static void hand_on(struct cli *cli, const struct reflector_object *item, cli_each *each, void *arg)
{
	struct error err;
	cleanup_json json_t *object = json_parse(item->data, item->len, &err);

	if (json_is_object(object))
		each(arg, object);
	else
		cli_note(cli, "one object of the list cannot be read, and is left out: %s",
			 object == NULL ? err.message : "it is no JSON object");
}

static int take_page(struct cli *cli, const struct kube_answer *answer, cli_each *each, void *arg, char **more,
		     struct error *err)
{
	struct page page;
	int result = page_read(&page, answer->body, answer->body_len, err);

	for (size_t i = 0; result == 0 && i < page.count; i++)
		hand_on(cli, &page.items[i], each, arg);
	*more = result == 0 ? mem_strdup(page.more) : NULL;
	page_free(&page);
	return result == 0 ? 0 : CLI_FAILED;
}

/* Where a list stands. */
struct paging {
	const char *path;
	const char *query;
	int limit;   /* of the next page */
	char *more;  /* its token; NULL: it is the first one */
	int expired; /* tokens, in a row */
	bool over;
};

static void ask_page(struct cli *cli, const struct paging *paging, struct kube_answer *answer)
{
	struct kube_request request = {.method = "GET", .timeout_ms = REQUEST_TIMEOUT_MS, .gzip = true};
	cleanup_buf struct buf url = {0};

	buf_printf(&url, "%s?limit=%d%s%s", paging->path, paging->limit, *paging->query == '\0' ? "" : "&",
		   paging->query);
	if (paging->more != NULL)
		cli_put_query(&url, "continue", paging->more);
	request.path = url.data;
	ask(cli, &request, answer);
}

/* Whether the page is to be asked for again: in halves, or with the token that the server gives for an expired one. */
static bool again(struct paging *paging, const struct kube_answer *answer)
{
	char *token;

	if (answer->too_large && paging->limit > 1) {
		paging->limit /= 2;
		return true;
	}
	token = paging->expired < EXPIRED_MAX ? token_after_gone(answer) : NULL;
	if (token == NULL)
		return false;
	paging->expired++;
	free(paging->more);
	paging->more = token;
	return true;
}

static int next_page(struct cli *cli, struct paging *paging, cli_each *each, void *arg, struct error *err)
{
	struct kube_answer answer;
	char *more = NULL;
	int code = 0;

	ask_page(cli, paging, &answer);
	if (!again(paging, &answer)) {
		code = judge(&answer, err);
		if (code == 0)
			code = take_page(cli, &answer, each, arg, &more, err);
		free(paging->more);
		paging->more = more;
		paging->expired = 0;
		paging->over = more == NULL;
	}
	kube_answer_free(&answer);
	return code;
}

int cli_list(struct cli *cli, const char *path, const char *query, cli_each *each, void *arg, struct error *err)
{
	struct paging paging = {.path = path, .query = query, .limit = CLI_PAGE};
	int code = cli_connect(cli, err);

	while (code == 0 && !paging.over)
		code = next_page(cli, &paging, each, arg, err);
	free(paging.more);
	return code;
}

int cli_refused(const char *right, const char *resource, const char *ns, int http_status, const char *message,
		struct error *err)
{
	const char *in = ns == NULL ? "all namespaces" : "namespace ", *name = ns == NULL ? "" : ns;

	if (http_status == 401)
		error_set(err, "the API server does not accept the user's credentials for %s in %s%s: %s", resource, in,
			  name, message);
	else
		error_set(err, "the right to %s %s in %s%s is missing: %s", right, resource, in, name, message);
	return CLI_FORBIDDEN;
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static char *resource_path(const char *root, const char *ns, const char *resource, const char *name)
{
	return mem_printf("%s%s%s/%s%s%s", root, ns == NULL ? "" : "/namespaces/", ns == NULL ? "" : ns, resource,
			  name == NULL ? "" : "/", name == NULL ? "" : name);
}

char *cli_frameworks_path(const char *ns, const char *name)
{
	return resource_path("/apis/" FRAMEWORK_API_VERSION, ns, "frameworks", name);
}

char *cli_core_path(const char *ns, const char *resource, const char *name)
{
	return resource_path("/api/v1", ns, resource, name);
}

void cli_put_query(struct buf *query, const char *name, const char *value)
{
	buf_printf(query, "%s%s=", query->len == 0 ? "" : "&", name);
	for (; *value != '\0'; value++)
		if (isalnum((unsigned char)*value) || strchr("-._~", *value) != NULL)
			buf_putc(query, *value);
		else
			buf_printf(query, "%%%02X", (unsigned char)*value);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void on_pause(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	ev_break(loop, EVBREAK_ONE);
}

void cli_pause(struct cli *cli, int64_t ms)
{
	ev_timer timer;

	ev_now_update(cli->loop);
	ev_timer_init(&timer, on_pause, (double)ms / 1000, 0);
	ev_timer_start(cli->loop, &timer);
	ev_run(cli->loop, 0);
	ev_timer_stop(cli->loop, &timer);
}
