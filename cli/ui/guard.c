/* See guard.h. */
#include "cli/ui/guard.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"

#define POLICY                                                                                           \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; " \
	"form-action 'self'; frame-ancestors 'none'"

void guard_init(struct guard *guard, const char *address)
{
	unsigned char random[GUARD_TOKEN_BYTES];

	if (getentropy(random, sizeof(random)) < 0) {
		log_error("no random numbers: %m");
		abort();
	}
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(guard->token + 2 * i, 3, "%02x", random[i]);
	snprintf(guard->host, sizeof(guard->host), "%s", address);
	snprintf(guard->local, sizeof(guard->local), "localhost%s", strrchr(address, ':'));
}

static bool is_ours(const struct guard *guard, const char *host)
{
	return host != NULL && (strcmp(host, guard->host) == 0 || strcmp(host, guard->local) == 0);
}

/* Without Origin it is no request of a script, or one of our own page. */
static bool origin_is_ours(const struct guard *guard, const char *origin)
{
	static const char scheme[] = "http://";

	return origin == NULL ||
	       (strncmp(origin, scheme, strlen(scheme)) == 0 && is_ours(guard, origin + strlen(scheme)));
}

static const char *behind_token(const struct guard *guard, const char *path)
{
	size_t len = strlen(guard->token);

	if (*path != '/' || strnlen(path + 1, len + 1) < len + 1 || path[1 + len] != '/' ||
	    gnutls_memcmp(path + 1, guard->token, len) != 0)
		return NULL;
	return path + len + 2;
}

static void refuse(struct serve_request *request, int status, const char *text)
{
	guard_reply(request, status, "text/plain; charset=utf-8", text, strlen(text));
}

const char *guard_admit(const struct guard *guard, struct serve_request *request)
{
	const char *method = serve_request_method(request), *path;

	if (!is_ours(guard, serve_request_header(request, "Host"))) {
		refuse(request, 403, "Host: found another one, expected the address of kubectl framework ui\n");
		return NULL;
	}
	if (!origin_is_ours(guard, serve_request_header(request, "Origin"))) {
		refuse(request, 403, "Origin: found another one, expected the address of kubectl framework ui\n");
		return NULL;
	}
	path = behind_token(guard, serve_request_path(request));
	if (path == NULL) {
		refuse(request, 403,
		       "Token: found another one, expected the address that kubectl framework ui printed\n");
		return NULL;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		refuse(request, 405, "Method: expected GET\n");
		return NULL;
	}
	serve_request_vouch(request);
	return path;
}

void guard_reply(struct serve_request *request, int status, const char *content_type, const void *body, size_t len)
{
	struct serve_answer *answer = serve_answer_new(status, content_type, body, len);

	serve_answer_header(answer, "Content-Security-Policy", POLICY);
	serve_answer_header(answer, "Referrer-Policy", "no-referrer");
	serve_answer_header(answer, "Cross-Origin-Resource-Policy", "same-origin");
	serve_request_answer(request, answer);
	serve_answer_free(answer);
}
