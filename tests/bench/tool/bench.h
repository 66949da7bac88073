/* What the subcommands of fc-bench share: options, plain clients of the API server, many requests at a time.
 * Measurements go to stdout as one JSON object per subcommand. Whatever fails ends the program: figures of a run in
 * which something failed are none. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/kube/client.h"

struct ev_loop;

/* Of all subcommands together; each reads some. */
struct bench_options {
	const char *kubeconfig;
	const char *ns;      /* default "bench" */
	const char *prefix;  /* of the Frameworks' names, default "f" */
	int64_t frameworks;  /* how many, default 1 */
	int64_t tasks;       /* of each, default 1 */
	int64_t run_seconds; /* each Pod's, on a scripted kubelet; < 0: until it is deleted */
	int64_t clients;     /* connections to the API server, default 8 */
	int64_t at_once;     /* requests under way over all clients, default 64 */
	int64_t count;       /* of whatever the subcommand makes */
	int64_t waiters;     /* per Framework */
	int64_t rate;        /* statuses that complete a gang, or new Frameworks, a second; 0: as many as are taken */
	int64_t seconds;     /* limit of time, default 600 */
	const char *until;   /* what is waited for */
	const char *address; /* of fc-barrier, "127.0.0.1:port" */
	bool latency;        /* watch Pods too */
	const char *kind;    /* of the objects that stand for the work: Framework (default), TFJob or Job */
	const char *like;    /* file of a Framework called BENCH_LIKE, which all are to be like; NULL: none */
	const char **processes; /* "name=pid" */
	size_t process_count;
	const char **others; /* the same, of which only the CPU time is measured */
	size_t other_count;
	const char **urls;
	size_t url_count;
};

/* Ends the program with a message. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Microseconds of a clock that only goes forward. */
int64_t bench_now_us(void);

/* User and system time of a process in seconds; -1: it has ended. */
double bench_cpu_s(const char *pid);

/* The loop and so many clients without a rate limit, each with connections of its own. */
struct bench_api {
	struct ev_loop *loop;
	struct kube_client **clients;
	size_t count;
};
void bench_connect(struct bench_api *api, const struct bench_options *options);
void bench_disconnect(struct bench_api *api);
/* Requests a second from now on, of all clients together; 0: as many as are answered. */
void bench_set_rate(const struct bench_api *api, int64_t rate);

/* Where --address points, on this machine. */
struct sockaddr_in bench_address(const struct bench_options *options);

/* Many requests of one kind. make fills in the index-th: its path and body are taken from the two buffers, which come
 * empty, the rest from *request. done may be NULL; answers other than 2xx end the program. */
struct bench_pump {
	size_t count;
	size_t at_once;
	void (*make)(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body);
	void (*done)(void *arg, size_t index, const struct kube_answer *answer);
	void *arg;
};
/* Starts them; *left counts down to 0 while the loop runs. The pump must live until then. */
struct bench_run;
struct bench_run *bench_pump_start(struct bench_api *api, const struct bench_pump *pump, size_t *left);
void bench_pump_free(struct bench_run *run);
/* All of them, and how long they took, in microseconds. */
int64_t bench_pump(struct bench_api *api, const struct bench_pump *pump);

/* What the index-th Framework's name takes the place of in options->like. */
#define BENCH_LIKE "placeholder"
/* Appends the index-th Framework. */
void bench_framework(struct buf *out, const struct bench_options *options, size_t index);
/* The same work as a TFJob of kubeflow.org: so many Workers. */
void bench_tfjob(struct buf *out, const struct bench_options *options, size_t index);
/* The same work as a Job of batch/v1, all of whose Pods may run at once. */
void bench_job(struct buf *out, const struct bench_options *options, size_t index);
/* Appends what a reconciler puts to the status subresource of the index-th Framework; all its Tasks have an IP, or all
 * but the last. */
void bench_status_update(struct buf *out, const struct bench_options *options, size_t index, const char *uid,
			 const char *version, bool complete);

/* Frameworks whose statuses are written as if by reconcilers: all Tasks have an IP but the last one, until the gangs
 * are completed. The loop runs meanwhile. */
struct bench_gang {
	char *uid;
	char *version;        /* before it was completed */
	int64_t persisted_us; /* when the write that completed it was answered */
};
struct bench_gangs {
	const struct bench_options *options;
	struct bench_api *api;
	struct bench_gang *all;
	size_t count;
	bool completing;
};
void bench_gangs_make(struct bench_gangs *gangs, struct bench_api *api, const struct bench_options *options);
/* At options->rate. */
void bench_gangs_complete(struct bench_gangs *gangs);
/* When the last one was completed. */
int64_t bench_gangs_persisted_us(const struct bench_gangs *gangs);
/* The Frameworks stay. */
void bench_gangs_free(struct bench_gangs *gangs);

/* Sorts; the value below which so many hundredths of them lie (0 of none). */
int64_t bench_percentile(int64_t *values, size_t count, double hundredths);

int bench_load(const struct bench_options *options);
int bench_calibrate(const struct bench_options *options);
int bench_sample(const struct bench_options *options);
int bench_await(const struct bench_options *options);
int bench_barrier(const struct bench_options *options);
int bench_echo(const struct bench_options *options);
int bench_flood(const struct bench_options *options);

#endif
