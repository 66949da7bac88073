/* `fc-watcher status`: prints the state of a running watcher. */
#ifndef WATCHER_STATUS_H
#define WATCHER_STATUS_H

/* Takes the arguments after "status". Returns the exit status: 0; 1: the watcher does not answer; 2: bad use. */
int status_main(int argc, char **argv);

/* The default of --http: $POD_IP:8080, where the watcher of the manifests serves; 127.0.0.1:8080 without POD_IP. The
 * caller frees. */
char *status_address(void);
/* The URL of an address as --http takes it: of an IPv6 address without brackets, too. The caller frees. */
char *status_server(const char *address);

#endif
