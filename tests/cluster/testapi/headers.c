/* The headers and bodies of answers; see headers.h. */
#include "tests/cluster/testapi/headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

/* Of the flow schema and the priority level, which real servers name in every answer: any will do. */
#define FLOW_SCHEMA_UID "8a9f2f1e-5c5b-4b0e-9d63-0d7d3c2e6a11"
#define PRIORITY_LEVEL_UID "3d0c6c7a-91f4-4c0b-8f5e-6b1f0a4e2c22"

/* What a server's HTTP library keeps before it decides. */
enum { LENGTH_KNOWN_MAX = 2048 };

/* RFC 7234 §5.5 as servers write it: a code, no agent, the text in quotes. */
static void add_warning(const char *text, size_t len, api_header *add, void *arg)
{
	cleanup_buf struct buf value = {0};

	buf_puts(&value, "299 - \"");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			buf_putc(&value, '\\');
		buf_putc(&value, text[i]);
	}
	buf_putc(&value, '"');
	add(arg, "Warning", value.data);
}

void api_answer_headers(const struct api_answer *answer, api_header *add, void *arg)
{
	add(arg, "Content-Type", answer->content_type);
	add(arg, "Cache-Control", "no-cache, private");
	add(arg, "X-Kubernetes-Pf-Flowschema-Uid", FLOW_SCHEMA_UID);
	add(arg, "X-Kubernetes-Pf-Prioritylevel-Uid", PRIORITY_LEVEL_UID);
	if (answer->retry_after > 0) {
		char seconds[16];

		snprintf(seconds, sizeof(seconds), "%d", answer->retry_after);
		add(arg, "Retry-After", seconds);
	}
	if (answer->close)
		add(arg, "Connection", "close");
	if (answer->warnings.len > 0)
		for (const char *line = answer->warnings.data; *line != '\0'; line += strcspn(line, "\n") + 1)
			add_warning(line, strcspn(line, "\n"), add, arg);
}

bool api_answer_in_chunks(const struct api_answer *answer)
{
	return answer->body.len > LENGTH_KNOWN_MAX;
}

size_t api_answer_part(const struct api_answer *answer, size_t position, char *out, size_t max)
{
	size_t rest = answer->body.len - position;
	size_t len = rest < max ? rest : max;

	memcpy(out, answer->body.data + position, len);
	return len;
}
