/* Answers: one body in memory for any number of requests, plain and gzip; see serve.h. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/mem.h"
#include "common/serve/internal.h"

/* Below GZIP_MIN a gzip body saves a few packets, for a fraction of a millisecond's work. The window is zlib's largest,
 * + 16 for a gzip header (zlib.h). Level 1: a Framework's status is repetitive enough, and somebody waits. */
enum { GZIP_MIN = 16 * 1024, GZIP_WINDOW = 15 + 16, GZIP_LEVEL = 1, GZIP_MEMORY = 8 };

/* The bodies belong to libmicrohttpd's responses, which live until the last client has taken them. */
struct serve_answer {
	unsigned references;
	int status;
	const char *body;
	size_t len;
	bool gzip_tried;
	struct MHD_Response *plain;
	struct MHD_Response *gzip; /* NULL: not made, or no smaller */
};

static struct MHD_Response *make_response(char *body, size_t len)
{
	struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback(len, body, free);

	if (response == NULL)
		mem_exhausted();
	return response;
}

struct serve_answer *serve_answer_new(int status, const char *content_type, const void *body, size_t len)
{
	struct serve_answer *answer = mem_calloc(1, sizeof(*answer));
	char *copy = mem_alloc(len + 1);

	memcpy(copy, body, len);
	copy[len] = '\0';
	answer->references = 1;
	answer->status = status;
	answer->body = copy;
	answer->len = len;
	answer->plain = make_response(copy, len);
	serve_answer_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
	serve_answer_header(answer, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	serve_answer_header(answer, "X-Content-Type-Options", "nosniff");
	return answer;
}

void serve_answer_header(struct serve_answer *answer, const char *name, const char *value)
{
	MHD_add_response_header(answer->plain, name, value);
}

struct serve_answer *answer_hold(struct serve_answer *answer)
{
	answer->references++;
	return answer;
}

void serve_answer_free(struct serve_answer *answer)
{
	if (answer == NULL || --answer->references > 0)
		return;
	MHD_destroy_response(answer->plain);
	if (answer->gzip != NULL)
		MHD_destroy_response(answer->gzip);
	free(answer);
}

int answer_status(const struct serve_answer *answer)
{
	return answer->status;
}

static enum MHD_Result copy_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct MHD_Response *to = arg;

	(void)kind;
	MHD_add_response_header(to, name, value);
	return MHD_YES;
}

static void make_gzip(struct serve_answer *answer)
{
	z_stream stream = {0};
	char *out;
	size_t len;

	answer->gzip_tried = true;
	if (answer->len > UINT32_MAX ||
	    deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	out = mem_alloc(answer->len);
	stream.next_in = (Bytef *)answer->body;
	stream.avail_in = (uInt)answer->len;
	stream.next_out = (Bytef *)out;
	stream.avail_out = (uInt)answer->len;
	if (deflate(&stream, Z_FINISH) != Z_STREAM_END) { /* no smaller than it was */
		deflateEnd(&stream);
		free(out);
		return;
	}
	len = stream.total_out;
	deflateEnd(&stream);
	answer->gzip = make_response(mem_realloc(out, len, 1), len);
	MHD_get_response_headers(answer->plain, copy_header, answer->gzip);
	MHD_add_response_header(answer->gzip, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
}

/* RFC 9110 §12.5.3, as far as it matters here: gzip is named and not refused with q=0. */
static bool accepts_gzip(struct MHD_Connection *mhd)
{
	const char *accept = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);
	const char *gzip = accept == NULL ? NULL : strstr(accept, "gzip");

	if (gzip == NULL)
		return false;
	gzip += strlen("gzip");
	return strncmp(gzip + strspn(gzip, "; \t"), "q=0", strlen("q=0")) != 0;
}

enum MHD_Result answer_queue(struct serve_answer *answer, struct MHD_Connection *mhd)
{
	struct MHD_Response *response = answer->plain;

	if (answer->len >= GZIP_MIN && accepts_gzip(mhd)) {
		if (!answer->gzip_tried)
			make_gzip(answer);
		if (answer->gzip != NULL)
			response = answer->gzip;
	}
	return MHD_queue_response(mhd, (unsigned)answer->status, response);
}
