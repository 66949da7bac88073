/* Connections by their source address; see internal.h. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "common/serve/internal.h"

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

struct source *source_find(const struct serve *serve, const struct sockaddr *address)
{
	char name[SOURCE_NAME_SIZE];
	struct source *source;

	name_of(address, name);
	HASH_FIND_STR(serve->sources, name, source);
	return source;
}

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

	conn->source = source_find(serve, address);
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
