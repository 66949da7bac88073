/* Reads HTTP requests, checks their access, and adds them to the waiters; see front.h. */
#include "barrier/front.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

#define PATH_PREFIX "/v1/namespaces/"

enum {
	TIMEOUT_DEFAULT_SEC = 30,
	TIMEOUT_MAX_SEC = 60,
	UID_MAX = 128,
	NAME_ROOM = 64, /* 63 bytes and a NUL */
	AWAY_RETRY_SEC = 1,
};

/* One whose access is being checked. */
struct question {
	struct front *front;
	struct serve_request *request;
	struct access_check *check;
	char ns[NAME_ROOM];
	char name[NAME_ROOM];
	const char *uid;    /* the request's; NULL: any */
	int64_t timeout_ms; /* the answer is due so long … */
	int64_t asked_ms;   /* … after this, by CLOCK_BOOTTIME */
};

struct front {
	struct access *access;
	struct readiness *readiness;
	struct wait_groups *groups;
	bool closed;
};

/* ---- reading what is asked --------------------------------------------------------------------------------------- */

/* The text up to the next '/', into out; the rest after it, or NULL when it is too long or nothing follows. */
static const char *take_segment(const char *path, char out[NAME_ROOM])
{
	const char *slash = strchr(path, '/');

	if (slash == NULL || (size_t)(slash - path) >= NAME_ROOM)
		return NULL;
	memcpy(out, path, (size_t)(slash - path));
	out[slash - path] = '\0';
	return slash + 1;
}

/* false: no path of ours. */
static bool read_path(const char *path, struct question *out)
{
	static const char middle[] = "frameworks/";

	path = take_segment(path + strlen(PATH_PREFIX), out->ns);
	if (path == NULL || strncmp(path, middle, sizeof(middle) - 1) != 0)
		return false;
	path = take_segment(path + sizeof(middle) - 1, out->name);
	return path != NULL && strcmp(path, "barrier") == 0;
}

/* Seconds in decimal digits; more than the most count as the most. */
static int read_timeout(const char *text, int64_t *out_ms)
{
	int64_t seconds = 0;

	if (text == NULL) {
		*out_ms = TIMEOUT_DEFAULT_SEC * 1000;
		return 0;
	}
	if (*text == '\0')
		return -1;
	for (; *text != '\0'; text++) {
		if (!isdigit((unsigned char)*text))
			return -1;
		seconds = seconds * 10 + (*text - '0');
		if (seconds > TIMEOUT_MAX_SEC)
			seconds = TIMEOUT_MAX_SEC;
	}
	*out_ms = seconds * 1000;
	return 0;
}

/* false: answered. */
static bool read_question(struct serve_request *request, struct question *out)
{
	const char *method = serve_request_method(request);
	const char *timeout = serve_request_query(request, "timeoutSeconds");

	out->asked_ms = clock_boot_ms();
	if (!read_path(serve_request_path(request), out)) {
		serve_request_fail(request, 404, -1,
				   "unknown path: expected /v1/namespaces/{namespace}/frameworks/{name}/barrier");
		return false;
	}
	if (strcmp(method, "GET") != 0) {
		serve_request_fail(request, 405, -1, "found method %.16s, expected GET", method);
		return false;
	}
	if (!namespace_name_valid(out->ns) || !framework_name_valid(out->name)) {
		serve_request_fail(request, 400, -1, "found \"%s/%s\", expected the namespace and name of a Framework",
				   out->ns, out->name);
		return false;
	}
	if (read_timeout(timeout, &out->timeout_ms) < 0) {
		serve_request_fail(request, 400, -1, "timeoutSeconds: found \"%.32s\", expected a number of seconds",
				   timeout);
		return false;
	}
	out->uid = serve_request_query(request, "uid");
	if (out->uid != NULL && strlen(out->uid) > UID_MAX) {
		serve_request_fail(request, 400, -1, "uid: found %zu bytes, expected at most %d", strlen(out->uid),
				   UID_MAX);
		return false;
	}
	return true;
}

/* The token of "Authorization: Bearer …" (RFC 6750 §2.1), or NULL. */
static const char *bearer_token(const struct serve_request *request)
{
	const char *text = serve_request_header(request, "Authorization");

	if (text == NULL || strncasecmp(text, "Bearer ", 7) != 0)
		return NULL;
	text += 7;
	text += strspn(text, " ");
	return *text == '\0' ? NULL : text;
}

/* ---- access ------------------------------------------------------------------------------------------------------ */

/* Much may have changed while access was checked. */
static void add_waiter(struct front *front, const struct question *question)
{
	int64_t left_ms = question->asked_ms + question->timeout_ms - clock_boot_ms();

	if (front->closed) {
		serve_request_fail(question->request, 503, AWAY_RETRY_SEC, "this server is shutting down: try again");
		return;
	}
	serve_request_vouch(question->request);
	wait_groups_add(front->groups, question->request, question->ns, question->name, question->uid,
			left_ms > 0 ? left_ms : 0);
}

static void decide(struct front *front, const struct question *question, enum access_verdict verdict)
{
	struct serve_request *request = question->request;

	switch (verdict) {
	case ACCESS_ALLOWED: add_waiter(front, question); break;
	case ACCESS_UNAUTHORIZED:
		serve_request_fail(request, 401, -1, "the API server does not accept this token");
		break;
	case ACCESS_FORBIDDEN:
		serve_request_fail(request, 403, -1,
				   "this token's user is not allowed to get Frameworks in namespace %s", question->ns);
		break;
	case ACCESS_BUSY:
		serve_request_fail(
			request, 429, AWAY_RETRY_SEC,
			"%d namespaces are being reviewed for this token's user already, the limit of this server",
			ACCESS_REVIEWS_PER_USER);
		break;
	case ACCESS_PENDING:
	case ACCESS_UNKNOWN:
		serve_request_fail(request, 503, AWAY_RETRY_SEC,
				   "the API server does not answer about this token: try again");
		break;
	}
}

static struct question *question_keep(struct front *front, const struct question *question)
{
	struct question *kept = mem_alloc(sizeof(*kept));

	*kept = *question;
	kept->front = front;
	return kept;
}

static void on_checked(void *arg, enum access_verdict verdict)
{
	struct question *question = arg;

	decide(question->front, question, verdict);
	free(question);
}

static void on_gone(void *arg)
{
	struct question *question = arg;

	access_cancel(question->check);
	free(question);
}

static void check_access(struct front *front, const struct question *question, const char *token)
{
	struct question *kept = question_keep(front, question);
	enum access_verdict verdict;

	kept->check = access_ask(front->access, serve_request_source(question->request), token, question->ns,
				 on_checked, kept, &verdict);
	if (kept->check != NULL) {
		serve_request_park(question->request, on_gone, kept);
		return;
	}
	free(kept);
	decide(front, question, verdict);
}

static void on_request(void *arg, struct serve_request *request)
{
	struct front *front = arg;
	struct question question = {.request = request};
	const char *token;

	if (!read_question(request, &question))
		return;
	token = bearer_token(request);
	if (front->access != NULL && token == NULL)
		serve_request_fail(request, 401, -1, "expected the header Authorization: Bearer <token>");
	else if (front->closed)
		serve_request_fail(request, 503, AWAY_RETRY_SEC, "this server is shutting down: try again");
	else if (!readiness_admits(front->readiness))
		serve_request_fail(request, 503, AWAY_RETRY_SEC, "the view of the cluster is not up to date");
	else if (wait_groups_refuse(front->groups, request, question.ns))
		return;
	else if (front->access != NULL)
		check_access(front, &question, token);
	else
		add_waiter(front, &question);
}

struct front *front_new(struct serve *serve, struct access *access, struct readiness *readiness,
			struct wait_groups *groups)
{
	struct front *front = mem_calloc(1, sizeof(*front));

	front->access = access;
	front->readiness = readiness;
	front->groups = groups;
	serve_mount(serve, PATH_PREFIX, on_request, front);
	return front;
}

void front_free(struct front *front)
{
	free(front);
}

void front_close(struct front *front)
{
	front->closed = true;
	wait_groups_send_away(front->groups, "this server is shutting down: try again");
}
