/* Reads Warning headers and logs each text once; see warnings.h. */
#include "common/kube/client/warnings.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/mem.h"

/* A server has a few dozen; what a text quotes can be anything. */
enum { WARNINGS_MAX = 100, TEXT_MAX = 1024 };

static bool known(const struct warnings *warnings, const char *text)
{
	for (size_t i = 0; i < warnings->count; i++)
		if (strcmp(warnings->texts[i], text) == 0)
			return true;
	return false;
}

static void note(struct warnings *warnings, const char *text, const char *method, const char *path)
{
	if (warnings->count > WARNINGS_MAX || known(warnings, text))
		return;
	warnings->texts = mem_realloc(warnings->texts, warnings->count + 1, sizeof(*warnings->texts));
	warnings->texts[warnings->count++] = mem_strdup(text);
	if (warnings->count > WARNINGS_MAX)
		log_warning("the API server sent more than %d different warnings; no further ones are logged",
			    WARNINGS_MAX);
	else
		log_warning("%s %.*s: the API server warns: %s", method, (int)strcspn(path, "?"), path, text);
}

/* Reads a quoted string at *at into text, and moves *at past it. False: there is none. */
static bool read_quoted(const char **at, struct buf *text)
{
	const char *from = *at;

	buf_clear(text);
	buf_puts(text, "");
	if (*from++ != '"')
		return false;
	for (; *from != '\0' && *from != '"'; from++) {
		if (*from == '\\' && from[1] != '\0')
			from++;
		if (text->len < TEXT_MAX)
			buf_putc(text, *from);
	}
	if (*from != '"')
		return false;
	*at = from + 1;
	return true;
}

/* One header: warnings with commas between them, each `code agent "text"`, perhaps with a quoted date behind. */
static void read_header(struct warnings *warnings, const char *at, const char *method, const char *path)
{
	cleanup_buf struct buf text = {0};
	cleanup_buf struct buf date = {0};

	for (;;) {
		bool counts;

		at += strspn(at, " \t,");
		counts = strncmp(at, "299 ", 4) == 0;
		at += strcspn(at, " ");
		at += strspn(at, " ");
		at += strcspn(at, " ");
		at += strspn(at, " ");
		if (!read_quoted(&at, &text))
			return;
		if (counts && text.len > 0)
			note(warnings, text.data, method, path);
		at += strspn(at, " ");
		read_quoted(&at, &date);
	}
}

void warnings_note(struct warnings *warnings, CURL *easy, const char *method, const char *path)
{
	struct curl_header *header;

	for (size_t i = 0; curl_easy_header(easy, "Warning", i, CURLH_HEADER, -1, &header) == CURLHE_OK; i++)
		read_header(warnings, header->value, method, path);
}

void warnings_free(struct warnings *warnings)
{
	for (size_t i = 0; i < warnings->count; i++)
		free(warnings->texts[i]);
	free(warnings->texts);
	*warnings = (struct warnings){0};
}
