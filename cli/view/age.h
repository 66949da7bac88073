/* Durations as kubectl shows ages. */
#ifndef CLI_VIEW_AGE_H
#define CLI_VIEW_AGE_H

#include <stdint.h>

enum { AGE_SIZE = 24 };
/* "45s", "3m20s", "2h", "5d"; negative ones as "0s". Returns out. */
char *age_text(int64_t seconds, char out[AGE_SIZE]);

#endif
