/* `fc-watcher status`: what a running watcher says of itself. */
#ifndef WATCHER_STATUS_H
#define WATCHER_STATUS_H

/* The arguments behind the word "status". The exit status: 0; 1: it does not answer; 2: bad use. */
int status_main(int argc, char **argv);

#endif
