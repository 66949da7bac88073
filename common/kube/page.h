/* Finds the objects of a list's page in the answer before they are parsed, by their brackets
 * and quotes. So an unreadable object affects no other (common/README.md §10.1). */
#ifndef KUBE_PAGE_H
#define KUBE_PAGE_H

#include <stddef.h>

#include "common/base/error.h"
#include "common/kube/reflector.h"

struct page {
	struct reflector_object *items; /* borrowed from the body, not yet checked */
	size_t count;
	char *version; /* metadata.resourceVersion; NULL: none */
	char *more;    /* metadata.continue; NULL: this page is the last one */
	/* private */
	size_t room;
};

/* Reads the body of an answer. 0, or -1 and *err if it is no list or ends early. Free the page in either case. */
int page_read(struct page *page, const char *body, size_t len, struct error *err);
void page_free(struct page *page);

#endif
