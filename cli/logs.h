/* The streams of containers' logs behind kubectl framework logs. */
#ifndef CLI_LOGS_H
#define CLI_LOGS_H

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/view/log_line.h"
#include "common/base/hash.h"

struct logs;
struct log_pod;

/* A run of one container, of one Pod. */
struct log_stream {
	UT_hash_handle hh; /* by key */
	struct logs *logs;
	char *key;       /* pod uid/container/restart count */
	char *pod;       /* name */
	char *uid;       /* of the Pod */
	char *container; /* name */
	char *prefix;    /* "worker[3] ", "worker[3]#1/main " */
	enum style style;
	struct kube_call *call; /* NULL: it does not run */
	struct kube_call
		*check;  /* of -f: whose log this is. A log has the Pod's name only, and Pods follow each other */
	struct buf held; /* received before the check's answer */
	bool checked;    /* it is this Pod's */
	int64_t before;  /* lines since then, in unix seconds, are another Pod's; 0: none are */
	bool whole;      /* the call has ended, and all was received */
	struct log_lines lines;
	bool running; /* the container was, as the Pod last said */
	bool waits;   /* for another one's end */
	bool ended;   /* its log was read to its end */
	bool failed;  /* a failure was noted */
};

struct logs {
	struct cli *cli;
	const struct task_selector *selectors; /* none: all Tasks */
	size_t selector_count;
	struct log_stream *streams; /* by key */
	struct log_pod *pods;       /* whose streams have begun, by name */
	size_t open;                /* streams that run, or are checked */
	size_t begun;
	bool full; /* at some time; noted */
	bool forbidden;
};

/* Looks at a Pod: starts the streams of its containers that have started, and those that were cut off. */
void logs_look(struct logs *logs, const json_t *pod);
/* The Pod is deleted: its streams end by themselves, and do not begin anew. */
void logs_forget(struct logs *logs, const json_t *pod);
/* Starts the streams anew that ended while their containers ran, and those that waited. */
void logs_resume(struct logs *logs);
bool logs_wait(const struct logs *logs);
void logs_free(struct logs *logs);
/* Whether the Task is among those that were asked for. */
bool logs_selects(const struct logs *logs, const char *role, int64_t index);

#endif
