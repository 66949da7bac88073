/* Access to kubectl framework ui: a request needs the random token of its address, and must come from a page that it
 * served. */
#ifndef CLI_UI_GUARD_H
#define CLI_UI_GUARD_H

#include <stddef.h>

#include "common/serve/serve.h"

enum { GUARD_TOKEN_BYTES = 32, GUARD_TOKEN_SIZE = 2 * GUARD_TOKEN_BYTES + 1, GUARD_HOST_SIZE = 32 };

struct guard {
	char token[GUARD_TOKEN_SIZE]; /* hexadecimal, of the kernel's random numbers */
	/* The values of Host that a browser sends to this server. Another value comes from a foreign page whose name
	 * resolves to this address (DNS rebinding). */
	char host[GUARD_HOST_SIZE];  /* "127.0.0.1:34567" */
	char local[GUARD_HOST_SIZE]; /* "localhost:34567" */
};

/* address: where the server listens, "127.0.0.1:34567". */
void guard_init(struct guard *guard, const char *address);

/* The part of the path behind "/TOKEN/". NULL: the request is refused, and answered: 405 unless it reads, 403 if its
 * Host, its Origin (RFC 6454 §7; only if it has one) or its token is not ours. Tokens are compared in constant time. */
const char *guard_admit(const struct guard *guard, struct serve_request *request);

/* Answers with headers for the browser: the page may load its own script and style and nothing else, runs no inline
 * script, is in no frame, and sends no Referer header. */
void guard_reply(struct serve_request *request, int status, const char *content_type, const void *body, size_t len);

#endif
