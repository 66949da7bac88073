/* Resource quantities ("500m", "1Gi", 0.5) in the one form the API server prints them in. */
#ifndef TESTAPI_QUANTITY_H
#define TESTAPI_QUANTITY_H

/* NULL when text is no quantity. The caller frees. */
char *quantity_canonical(const char *text);

#endif
