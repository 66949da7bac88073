/* The command line: checked as a whole before anything is asked of the API server. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* Exit codes; documented in cli/README.md and the man page. */
enum {
	CLI_DONE = 0,
	CLI_FAILED = 1,       /* a request failed, or anything that has no code of its own */
	CLI_BAD_USE = 2,      /* the command line or the kubeconfig is wrong: nothing was changed */
	CLI_ABSENT = 3,       /* a Framework, or something that was named, does not exist */
	CLI_FORBIDDEN = 4,    /* the API server refuses the request: 401 or 403 */
	CLI_TIME_OUT = 5,     /* wait and delete: not within --timeout */
	CLI_UNSUCCESSFUL = 6, /* wait: the Framework completed and did not succeed */
	CLI_CONFLICT = 7,     /* scale: the Framework is not as it was when it was read */
	CLI_NO_READER = 141,  /* nobody reads stdout any more; as of a program that SIGPIPE (13) ends, in shells */
};

enum output_format { OUTPUT_TEXT, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_NAME, OUTPUT_SVG };

/* Bits: which options a command takes. */
enum option_group {
	TAKES_NAMESPACE = 1 << 0,
	TAKES_ALL = 1 << 1,      /* -A */
	TAKES_SELECTOR = 1 << 2, /* -l */
	TAKES_DATA = 1 << 3,     /* -o json, yaml */
	TAKES_WIDE = 1 << 4,     /* -o wide */
	TAKES_SVG = 1 << 5,      /* -o svg */
	TAKES_WATCH = 1 << 6,    /* -w */
	TAKES_HEADERS = 1 << 7,  /* --no-headers */
	TAKES_LOGS = 1 << 8,     /* -f, --tail, --since, -c, --timestamps, --prefix */
	TAKES_WAIT = 1 << 9,     /* --for, --timeout */
	TAKES_TIMEOUT = 1 << 10,
	TAKES_SCALE = 1 << 11,     /* --adjust-min-succeeded */
	TAKES_SNAPSHOTS = 1 << 12, /* --snapshots */
	TAKES_NEW_NAME = 1 << 13,  /* --name */
	TAKES_REPLACE = 1 << 14,   /* --replace */
	TAKES_REST = 1 << 15,      /* what follows -- */
	TAKES_NO_WAIT = 1 << 16,   /* --no-wait */
	TAKES_UNFOLDED = 1 << 17,  /* --all-tasks */
	TAKES_CONTAINER = 1 << 18, /* -c */
	TAKES_NAME = 1 << 19,      /* -o name */
};

/* Strings are those of argv; NULL where not given. */
struct options {
	char **arguments; /* without the command */
	size_t argument_count;
	char **rest; /* behind "--" */
	size_t rest_count;
	const char *namespace_name;
	const char *context;
	const char *kubeconfig;
	const char *as;
	const char *as_groups[16];
	size_t as_group_count;
	const char *selector;
	enum output_format output;
	bool all_namespaces; /* goes before namespace_name, as in kubectl */
	bool watch;
	bool no_headers;
	bool all_tasks;
	bool follow;
	bool timestamps;
	bool no_prefix;
	bool adjust_min;
	bool replace;
	bool no_wait;
	int64_t tail;       /* lines, or -1 */
	int64_t since_sec;  /* or -1 */
	int64_t timeout_ms; /* of the whole command; 0: looks once; -1: waits for ever */
	const char *container;
	const char *condition; /* of --for */
	const char *snapshots;
	const char *new_name;
};

/* Reads everything behind the command's name. groups: of enum option_group. 0; 1: --help; or -1 and *err. */
int options_parse(int argc, char **argv, unsigned groups, struct options *out, struct error *err);

/* "worker", "worker[3]" or "worker-3". index is -1 for all of the role. */
struct task_selector {
	char role[64];
	int64_t index;
};
int task_selector_parse(const char *text, struct task_selector *out, struct error *err);
/* A Framework's name, as "hello", "fw/hello" or "framework/hello". NULL and *err if it can be none. */
const char *framework_argument(const char *text, struct error *err);

#endif
