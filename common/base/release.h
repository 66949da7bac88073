/* Which release this is: --version, user agents. */
#ifndef BASE_RELEASE_H
#define BASE_RELEASE_H

#define RELEASE "1.0"

/* What --version does: prints "program 1.0" on stdout and exits with 0. */
void release_print(const char *program) __attribute__((noreturn));

#endif
