/* What every program does before anything else, to keep what it holds to itself, and not to end by accident. */
#ifndef PROCESS_GUARD_H
#define PROCESS_GUARD_H

/* From now on: no core dump, and no other process of our user may look into our memory, where tokens and keys are
 * (prctl(2) PR_SET_DUMPABLE; not in DEBUG and sanitized builds, whose tools look into it). jansson ends the process
 * when memory runs out, as mem.h does, instead of leaving members out. SIGPIPE is nothing (libcurl's and GnuTLS' writes
 * raise it), nor is SIGHUP until somebody wants it: one that comes early, in a pool's child say, must not end the
 * process. As many file descriptors as the hard limit allows. First thing in main(); a child that executes another
 * program loses the first two. */
void process_guard(void);

#endif
