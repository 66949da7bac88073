/* The environment of every command: its outputs and its connection to the API server, which the first request opens. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "cli/out.h"
#include "common/base/error.h"
#include "common/kube/client.h"

/* The outcome of a request. */
enum cli_fate {
	CLI_CARRIED_OUT,
	CLI_REFUSED, /* or not sent: the API server has changed nothing */
	CLI_TAKEN, /* 409 AlreadyExists: the name of the new object is taken, if only by an earlier try of this request
		    */
	CLI_UNKNOWN, /* no answer, or one of 5xx: the API server may have carried it out, or will do so */
};

/* With HTTP/1.1; a log that is followed has one of its own. */
enum { CLI_CONNECTIONS = 256 };

struct cli {
	struct options options;
	int64_t begun_ms;   /* by clock_boot_ms(): when the command started, for --timeout */
	struct out out;     /* stdout */
	struct out err_out; /* stderr */
	struct ev_loop *loop;
	struct kube_config config;
	struct kube_client *client; /* NULL: no request was made yet */
	char *ns;                   /* of --namespace, the context, or "default"; NULL until connected */
	enum cli_fate fate;         /* of the last cli_send() */
	int64_t ahead_sec;          /* of this machine's clock, before the API server's */
	struct buf *notes;          /* NULL: remarks go to stderr. Else they are lines of this */
};

/* Zeroes it and prepares its writers. Call setlocale(LC_CTYPE, "") before. */
void cli_init(struct cli *cli);
/* Writes pending output, closes connections, frees. Returns code. If it is CLI_DONE and stdout could not be written:
 * CLI_NO_READER, or CLI_FAILED after an error message. */
int cli_finish(struct cli *cli, int code);

/* Prints "kubectl framework: message" on stderr. Returns code. */
int cli_complain(struct cli *cli, int code, const struct error *err);
/* A remark on stderr about something that is left out or may surprise. */
void cli_note(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads the kubeconfig and creates the client; opens no connection. 0, or a code and *err. */
int cli_connect(struct cli *cli, struct error *err);

/* Unix seconds by the API server's clock, as of its last answer: times in objects are compared with it. */
int64_t cli_now(const struct cli *cli);

/* The functions below connect if need be. They return 0, or a code of options.h and *err, which contains the API
 * server's message. Paths begin at the root and have no query unless one is named. */
int cli_get(struct cli *cli, const char *path, json_t **out, struct error *err);
/* One request that shows whether the collection can be read, with that selector (NULL: none): a reflector would try for
 * ever. Likewise. */
int cli_probe(struct cli *cli, const char *path, const char *selector, struct error *err);
/* Each object of a list, in pages of CLI_PAGE; each one is borrowed. An item that is no JSON object is left out and
 * noted. query: "labelSelector=…" or "". resource_version: of the list, the caller frees; may be NULL. */
enum { CLI_PAGE = 500 };
typedef void cli_each(void *arg, json_t *object);
int cli_list(struct cli *cli, const char *path, const char *query, cli_each *each, void *arg, struct error *err);
/* body: a JSON value, or NULL. out may be NULL. */
int cli_send(struct cli *cli, const char *method, const char *path, const char *content_type, const json_t *body,
	     json_t **out, struct error *err);

/* The error of a list or watch that the API server refuses (reflector.h, refused()). ns NULL: all namespaces. Returns
 * the code. */
int cli_refused(const char *right, const char *resource, const char *ns, int http_status, const char *message,
		struct error *err);

/* Paths. The caller frees. ns NULL: all namespaces. name NULL: the collection. */
char *cli_frameworks_path(const char *ns, const char *name);
char *cli_core_path(const char *ns, const char *resource, const char *name);
/* Appends name=value to a query, with escapes (RFC 3986 §2.1). */
void cli_put_query(struct buf *query, const char *name, const char *value);

/* Runs the loop for so long; for a second look at something that may be about to change. */
void cli_pause(struct cli *cli, int64_t ms);

#endif
