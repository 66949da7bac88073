/* Where connections come from, and who gives way when few are left: whoever a handler has vouched for stays; of the
 * others, the address that has most gives one up for an address that has fewer. See serve.h. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "common/serve/internal.h"

enum { AWAY_RETRY_SEC = 1 };

/* The address as text, an IPv4 one always as such. */
static void name_of(const struct sockaddr *address, char out[SOURCE_NAME_SIZE])
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;

	snprintf(out, SOURCE_NAME_SIZE, "?");
	if (address == NULL)
		return;
	if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, out, SOURCE_NAME_SIZE);
	else if (address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], out, SOURCE_NAME_SIZE);
	else if (address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, out, SOURCE_NAME_SIZE);
}

static struct source *find(const struct serve *serve, const struct sockaddr *address)
{
	char name[SOURCE_NAME_SIZE];
	struct source *source;

	name_of(address, name);
	HASH_FIND_STR(serve->sources, name, source);
	return source;
}

/* ---- which of them a connection is among --------------------------------------------------------------------------
 */

static void leave_list(struct conn *conn)
{
	struct source *source = conn->source;

	if (conn->list == NULL)
		return;
	DL_DELETE2(*conn->list, conn, prev_of_source, next_of_source);
	conn->list = NULL;
	source->strangers--;
	conn->serve->strangers--;
}

void source_sort(struct conn *conn)
{
	struct source *source = conn->source;

	leave_list(conn);
	if (conn->vouched || conn->displaced)
		return;
	conn->list = conn->phase == CONN_READING ? &source->idle : &source->asking;
	DL_APPEND2(*conn->list, conn, prev_of_source, next_of_source);
	source->strangers++;
	conn->serve->strangers++;
}

void source_open(struct conn *conn, const struct sockaddr *address)
{
	struct serve *serve = conn->serve;

	conn->source = find(serve, address);
	if (conn->source == NULL) {
		conn->source = mem_calloc(1, sizeof(*conn->source));
		name_of(address, conn->source->name);
		HASH_ADD_STR(serve->sources, name, conn->source);
	}
	conn->source->connections++;
	source_sort(conn);
}

void source_close(struct conn *conn)
{
	struct serve *serve = conn->serve;
	struct source *source = conn->source;

	leave_list(conn);
	if (--source->connections > 0)
		return;
	if (serve->greedy == source)
		serve->greedy = source->hh.next;
	HASH_DEL(serve->sources, source);
	free(source);
}

/* ---- who gives way ------------------------------------------------------------------------------------------------
 */

/* One that waits for its answer gets this one; its handler hears that it has gone. */
static void displace(struct conn *conn)
{
	struct serve_request *request = conn->request;

	conn->displaced = true;
	leave_list(conn);
	conn->serve->counters.displaced++;
	if (request == NULL || !request->parked) {
		shutdown(conn->fd, SHUT_RDWR); /* libmicrohttpd sees the end and closes it */
		return;
	}
	request->parked = false;
	request->gone(request->gone_arg);
	serve_request_fail(request, MHD_HTTP_TOO_MANY_REQUESTS, AWAY_RETRY_SEC,
			   "too many connections from %s, of callers that are not known yet", conn->source->name);
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

enum MHD_Result source_admit(void *arg, const struct sockaddr *address, socklen_t address_len)
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
	own = find(serve, address);
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
