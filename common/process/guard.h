/* The first call of every program: protects its memory, and ignores signals that would end it by accident. */
#ifndef PROCESS_GUARD_H
#define PROCESS_GUARD_H

/* From now on the process writes no core dump, and no other process of our user can read its memory, which holds tokens
 * and keys (prctl(2) PR_SET_DUMPABLE; not in DEBUG and sanitized builds, whose tools read it). jansson ends the process
 * when memory runs out, as mem.h does, instead of leaving members out. SIGPIPE is ignored (writes of libcurl and GnuTLS
 * raise it), and SIGHUP too until a handler is set, so that an early one, for example in a pool's child, does not end
 * the process. RLIMIT_NOFILE is raised to the hard limit. Call it first in main(); a child that executes another
 * program loses the first two. */
void process_guard(void);

/* The last of it alone, for programs of the tests. */
void process_raise_descriptors(void);

#endif
