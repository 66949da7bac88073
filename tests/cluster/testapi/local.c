/* Requests without a network; see local.h. */
#include "tests/cluster/testapi/local.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "tests/cluster/testapi/faults.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes in place; '+' is a blank in queries. */
static void decode(char *text, bool query)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		if (from[0] == '%' && hex(from[1]) >= 0 && hex(from[2]) >= 0) {
			*to++ = (char)(hex(from[1]) * 16 + hex(from[2]));
			from += 2;
		} else {
			*to++ = query && *from == '+' ? ' ' : *from;
		}
	}
	*to = '\0';
}

static void read_query(struct api_request *request, char *query)
{
	char *state = NULL;

	for (char *item = strtok_r(query, "&", &state); item != NULL && request->query_count < QUERY_MAX;
	     item = strtok_r(NULL, "&", &state)) {
		char *value = strchr(item, '=');

		if (value != NULL)
			*value++ = '\0';
		decode(item, true);
		if (value != NULL)
			decode(value, true);
		request->query[request->query_count++] = (struct query_item){.name = item, .value = value};
	}
}

int api_local(struct api *api, const struct api_local *local, const char *method, const char *url, const char *body,
	      struct api_answer *answer)
{
	cleanup_free char *path = mem_strdup(url);
	char *query = strchr(path, '?');
	struct api_request request = {
		.method = method,
		.path = path,
		.user_agent = "local/1",
		.accept = local == NULL ? NULL : local->accept,
		.content_type = local == NULL ? NULL : local->content_type,
		.authorization = local == NULL ? NULL : local->authorization,
		.body = body == NULL ? "" : body,
		.body_len = body == NULL ? 0 : strlen(body),
	};

	if (query != NULL) {
		*query++ = '\0';
		read_query(&request, query);
	}
	decode(path, false);
	request.too_large = request.body_len > REQUEST_BYTES_MAX;
	api_answer_free(answer);
	api_route(api, &request);
	if (!api_faults_admin(api, &request, answer)) {
		api_handle(api, &request, answer);
		api_faults_count(api, &request, answer->status);
	}
	api_request_free(&request);
	return answer->status;
}

const char *api_answer_text(const struct api_answer *answer)
{
	if (answer->object != NULL)
		return answer->object->text;
	return answer->body.data == NULL ? "" : answer->body.data;
}
