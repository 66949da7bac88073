/* `fc-watcher keygen`: keys for a bus on tcp:// (common/bus/curve.h). */
#ifndef WATCHER_KEYGEN_H
#define WATCHER_KEYGEN_H

/* Takes the arguments after "keygen". Prints the purpose of each directory on stdout, or the error on stderr. Returns
 * the exit status. */
int keygen_main(int argc, char **argv);

#endif
