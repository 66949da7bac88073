/* `fc-watcher keygen`: keys for a bus on tcp:// (common/bus/curve.h). */
#ifndef WATCHER_KEYGEN_H
#define WATCHER_KEYGEN_H

/* The arguments behind "keygen". The process' exit status; says on stdout what to do with the files, or on stderr what
 * is wrong. */
int keygen_main(int argc, char **argv);

#endif
