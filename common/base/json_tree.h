/* Trees of JSON text as API servers write it, read several times as fast as jansson reads them. Only json.c includes
 * it. */
#ifndef BASE_JSON_TREE_H
#define BASE_JSON_TREE_H

#include <jansson.h>
#include <stddef.h>

/* The tree that jansson makes of the text. NULL: the text has a mistake, names with escapes, names that occur twice, or
 * numbers that are not integers of few digits; jansson is to read it. The caller decrefs. */
json_t *json_tree_read(const char *text, size_t len);

#endif
