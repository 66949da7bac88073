/* `fc-watcher status`: what a running watcher says of itself. */
#ifndef WATCHER_STATUS_H
#define WATCHER_STATUS_H

/* The arguments behind the word "status". The exit status: 0; 1: it does not answer; 2: bad use. */
int status_main(int argc, char **argv);

/* Where it asks unless it is told: the HOST:PORT at which the manifests have a Pod's watcher serve, $POD_IP:8080; this
 * machine's 8080 where there is no POD_IP. To be freed. */
char *status_address(void);

#endif
