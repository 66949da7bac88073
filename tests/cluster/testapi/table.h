/* The forms an answer can take: the object itself, its metadata only, or a row of a Table. */
#ifndef TESTAPI_TABLE_H
#define TESTAPI_TABLE_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "tests/cluster/testapi/store.h"

/* Lists have a metadata form of their own; within watches either stands for FORM_METADATA. */
enum api_form { FORM_OBJECT, FORM_METADATA, FORM_METADATA_LIST, FORM_TABLE };

/* Appends the object as the body of its own: an object, a PartialObjectMetadata, or a Table of one row
 * (columns: with the columns' definitions). */
void api_render(struct buf *out, struct api_object *object, enum api_form form, bool columns);
/* Appends a list. resume is metadata.continue or NULL; remaining < 0: not told. */
void api_render_list(struct buf *out, const struct api_resource *resource, struct api_object *const *objects,
		     size_t count, uint64_t version, const char *resume, int64_t remaining, enum api_form form);

/* Appends what a person sees as an object's age: "5s", "3m", "2h", "4d"; as kubectl prints it. */
void api_print_age(struct buf *out, int64_t seconds);

#endif
