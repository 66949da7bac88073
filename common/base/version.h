/* The order of resourceVersions. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* Orders two resourceVersions of one resource: well-formed decimals by length, then bytes;
 * anything else by equality only (0 when equal, 1
 * otherwise). NULL and "" count as older than all. <0, 0, >0. */
int version_compare(const char *a, const char *b);

#endif
