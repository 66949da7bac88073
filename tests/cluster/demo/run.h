/* Inside the demo: the state of a run, shared by demo.c (what happens) and show.c (what is said about it); nobody else
 * includes this. */
#ifndef DEMO_RUN_H
#define DEMO_RUN_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/kube/client.h"
#include "common/kube/reflector.h"
#include "tests/cluster/demo/children.h"
#include "tests/cluster/demo/demo.h"
#include "tests/cluster/demo/example.h"
#include "tests/cluster/demo/screen.h"

/* What is waited for. Each phase is entered from the one before it. */
enum phase {
	PHASE_API,     /* fc-testapi listens and has written its kubeconfig */
	PHASE_BARRIER, /* fc-barrier listens, where there is one */
	PHASE_CRD,     /* the controller's CRD is Established */
	PHASE_SUBMIT,  /* the examples are posted, one after the other */
	PHASE_WATCH,   /* every Framework reaches an end */
};

struct demo {
	const struct demo_options *options;
	struct ev_loop *loop;
	ev_timer tick;
	ev_signal signals[6];
	struct screen screen;
	struct children children;
	struct examples examples;
	struct table table; /* of the lines, when not live */
	struct row *rows;   /* as last shown, one per example */
	char *directory;
	char *kubeconfig;
	char *bus;             /* endpoint of the watcher's bus; NULL: there is no barrier */
	char *barrier_address; /* URL; NULL: not known yet */
	struct kube_client *client;
	struct reflector *reflector;
	enum phase phase;
	bool calling;     /* a call of this phase is under way */
	size_t submitted; /* documents */
	int64_t started_ms;
	int64_t deadline_ms;
	int interrupted_by; /* a signal, or 0 */
	bool failed;
	struct error failure;
	const char *failed_log; /* borrowed; NULL: the watcher's */
};

/* For messages. */
static inline double seconds(int64_t ms)
{
	return (double)ms / 1000;
}

int64_t demo_elapsed_ms(const struct demo *demo);
/* Path of a child's log, or NULL. */
const char *demo_log(const struct demo *demo, const char *name);

/* The headings, before anything was seen. Makes demo->rows. */
void show_begin(struct demo *demo);
/* Brings the rows up to what was seen: redraws the table, or prints a line for each row that changed. */
void show_progress(struct demo *demo);
/* When live: draws the rows as they are. */
void show_table(struct demo *demo);
/* How each example ended, and how many did so as expected. */
void show_summary(struct demo *demo);
/* What kubectl framework shows of one example: its tree and its timeline. While the cluster is up. */
void show_views(struct demo *demo);
/* What can be tried on a kept cluster as it stands, and how to stop it. */
void show_next_steps(struct demo *demo);
/* The failure, where the logs are, and the end of the one that may say more. */
void show_failure(struct demo *demo);

#endif
