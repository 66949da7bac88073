/* The files of manifests/examples as API objects: one file may hold several YAML documents, and each goes to the path
 * of its kind. Pure but for documents_read. */
#ifndef DEMO_DOCUMENTS_H
#define DEMO_DOCUMENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* The documents of one text as a JSON array; pieces of comments only are left out. file is for messages, whose line
 * numbers count from the start of the file. Each object has apiVersion, kind and metadata.name, and a kind that
 * document_path knows. 0 and *out, which the caller decrefs; or -1 and *err "file:line:column: …". */
int documents_parse(const char *file, const char *text, size_t len, json_t **out, struct error *err);

/* Reads a file whole, NUL-terminated; the caller frees. NULL and *err for what cannot be read or is over 1 MiB. */
char *documents_read(const char *path, size_t *len, struct error *err);

/* Where to POST an object that documents_parse gave: "/api/v1/namespaces/default/services". An object of a namespaced
 * kind that names no namespace goes to "default". The caller frees. */
char *document_path(const json_t *object) __attribute__((returns_nonnull));

/* metadata.namespace, or "default". Borrowed. */
const char *document_namespace(const json_t *object);
/* The name of the Framework that the object is, or that fc-jobs makes of it if it is a job; the caller frees. NULL: none. */
char *document_framework(const json_t *object);
/* Whether it is a job for fc-jobs. */
bool document_is_job(const json_t *object);

#endif
