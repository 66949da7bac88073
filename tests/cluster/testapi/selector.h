/* Label and field selectors of lists and watches. */
#ifndef TESTAPI_SELECTOR_H
#define TESTAPI_SELECTOR_H

#include "tests/cluster/testapi/store.h"

enum selector_operator { SELECT_EXISTS, SELECT_ABSENT, SELECT_IN, SELECT_NOT_IN };

struct selector_term {
	enum selector_operator operator;
	char *key;
	char **values;
	size_t value_count;
	int field; /* field selectors: index into resource->fields, or one of FIELD_… */
};

enum { FIELD_NAME = -1, FIELD_NAMESPACE = -2 };

/* Zero-initialise; all terms must hold. */
struct api_selector {
	struct selector_term *labels;
	size_t label_count;
	struct selector_term *fields;
	size_t field_count;
};

/* Either text may be NULL or "". -1 and *failure (400) when it cannot be understood or names a field the resource
 * cannot be selected by. */
int api_selector_parse(struct api_selector *selector, const struct api_resource *resource, const char *labels,
		       const char *fields, struct api_failure *failure);
void api_selector_free(struct api_selector *selector);
bool api_selector_matches(const struct api_selector *selector, const struct api_object *object);
bool api_selector_empty(const struct api_selector *selector);

#endif
