/* Closes connections when few are left. Authenticated ones stay. Of the others, the address that has the most loses one
 * to an address that has fewer. See serve.h. */
#include <sys/socket.h>

#include "common/serve/internal.h"

enum { AWAY_RETRY_SEC = 1 };

/* A parked request gets this answer; its gone() is called. */
static void displace(struct conn *conn)
{
	struct serve_request *request = conn->request;

	conn->displaced = true;
	source_sort(conn);
	conn->serve->counters.displaced++;
	if (request == NULL || !request->parked) {
		shutdown(conn->fd, SHUT_RDWR); /* libmicrohttpd sees the end and closes it */
		return;
	}
	request->parked = false;
	request->gone(request->gone_arg);
	serve_request_fail(request, MHD_HTTP_TOO_MANY_REQUESTS, AWAY_RETRY_SEC,
			   "too many unauthenticated connections from %s", conn->source->name);
}

/* One that has as many strangers as all have on average, or more. There always is one; mostly it is the same as the
 * last time. */
static struct source *find_greedy(struct serve *serve, unsigned fair)
{
	struct source *source = serve->greedy != NULL ? serve->greedy : serve->sources;

	while (source->strangers < fair)
		source = source->hh.next != NULL ? source->hh.next : serve->sources;
	serve->greedy = source;
	return source;
}

enum MHD_Result conn_admit(void *arg, const struct sockaddr *address, socklen_t address_len)
{
	struct serve *serve = arg;
	struct source *own;
	struct source *greedy;
	unsigned sources = HASH_COUNT(serve->sources);
	unsigned fair;

	(void)address_len;
	if (serve->spare == 0 || serve->counters.open + serve->spare < serve->max_connections ||
	    serve->strangers == 0 || sources == 0)
		return MHD_YES;
	fair = (serve->strangers + sources - 1) / sources;
	own = source_find(serve, address);
	greedy = own != NULL && own->strangers >= fair ? own : find_greedy(serve, fair);
	/* The longest idle goes; where none is, whoever came last, but for another address only. */
	if (greedy->idle != NULL) {
		displace(greedy->idle);
	} else if (greedy != own) {
		displace(greedy->asking->prev_of_source);
	} else {
		serve->counters.displaced++;
		return MHD_NO;
	}
	return MHD_YES;
}
