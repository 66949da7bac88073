/* The release, for --version and user agents. */
#ifndef BASE_RELEASE_H
#define BASE_RELEASE_H

#define RELEASE "1.0"

/* Prints "program 1.0" on stdout and exits with 0, for --version. */
void release_print(const char *program) __attribute__((noreturn));

#endif
