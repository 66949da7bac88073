/* What every program does before anything else, to keep what it holds to itself. */
#ifndef PROCESS_GUARD_H
#define PROCESS_GUARD_H

/* From now on: no core dump, and no other process of our user may look into our memory, where tokens and keys are
 * (prctl(2) PR_SET_DUMPABLE; not in DEBUG and sanitized builds, whose tools look into it). jansson ends the process
 * when memory runs out, as mem.h does, instead of leaving members out. First thing in main(); a child that executes
 * another program loses the first two. */
void process_guard(void);

#endif
