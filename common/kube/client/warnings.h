/* Warning headers of the API server (RFC 7234 §5.5). */
#ifndef KUBE_WARNINGS_H
#define KUBE_WARNINGS_H

#include <curl/curl.h>
#include <stddef.h>

/* Texts that were logged; zero-initialised. */
struct warnings {
	char **texts;
	size_t count;
};

/* Logs each warning in the headers of the answer that easy received, with the request that it answers, unless an equal
 * text was logged before. Only code 299 counts, which is the one of API servers. After 100 different texts a last
 * line says that no further ones are logged. */
void warnings_note(struct warnings *warnings, CURL *easy, const char *method, const char *path);
void warnings_free(struct warnings *warnings);

#endif
