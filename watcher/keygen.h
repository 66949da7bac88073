/* `fc-watcher keygen`: keys for a bus on tcp:// (common/bus/curve.h). */
#ifndef WATCHER_KEYGEN_H
#define WATCHER_KEYGEN_H

/* Takes the arguments after "keygen". Prints on stdout what each directory is for, or on stderr what is wrong. Returns
 * the exit status. */
int keygen_main(int argc, char **argv);

#endif
