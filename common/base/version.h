/* The order of resourceVersions. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* Orders two resourceVersions of one resource as the API's own clients do: decimals without leading zeros by length,
 * then bytes; anything else by equality only (0 when equal, else 1: it counts as newer). NULL and "" are the same,
 * older than all. <0, 0, >0. */
int version_compare(const char *a, const char *b);

#endif
