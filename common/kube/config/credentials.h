/* What a client proves itself with, as loaded: token, CA, client certificate and key; and its renewal: when
 * the files it came from change (rotated service account tokens and CAs are replaced by renaming a symlink), or when
 * what an exec plugin gave runs out or is refused. */
#ifndef KUBE_CREDENTIALS_H
#define KUBE_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/file_stamp.h"
#include "common/kube/config/exec_plugin.h"
#include "common/kube/kubeconfig.h"

struct ev_loop;

/* One piece: given inline, or read from a file. */
struct credential {
	const char *path;        /* NULL when inline or absent; the config's */
	char *text;              /* NULL when absent */
	bool trim;               /* a token: white space around it is no part of it */
	bool failing;            /* the last reading failed and was reported */
	struct file_stamp stamp; /* of the file that was read */
};

/* An exec plugin was at work: credentials_ready() says what came of it. May start requests at once. */
typedef void credentials_settled(void *arg);

/* What an exec plugin gave, and when to ask it again. */
struct credentials_exec {
	bool used; /* there is one, and no token goes before it */
	struct exec_plugin *running;
	bool given;         /* it gave something once */
	bool gave_cert;     /* the last time, a client certificate */
	bool refused;       /* by the API server: a 401 */
	int64_t refused_ms; /* boot clock: when that last had it asked again; 0: never */
	int64_t renew_s;    /* wall clock: from then on it is asked while the old one still serves */
	int64_t expires_s;  /* wall clock, INT64_MAX: never */
	unsigned failures;  /* in a row */
	int64_t failed_ms;  /* boot clock: the last one */
	char *failure;      /* what it was */
	struct ev_loop *loop;
	int64_t time_ms; /* how long it may take */
	credentials_settled *settled;
	void *arg;
};

struct credentials {
	const struct kube_config *config;
	struct credential token;
	struct credential ca;
	struct credential client_cert;
	struct credential client_key;
	struct credentials_exec exec;
	unsigned token_generation; /* raised when the token changes, or what a plugin gave */
	unsigned tls_generation;   /* raised when anything else changes */
	int64_t looked_ms;         /* when the files were last looked at */
	int64_t token_read_ms;     /* when the token was last read */
};

/* config must outlive it. No plugin is run yet; settled is called for each of its runs. The loop must be the default
 * one if there is a plugin. 0, or -1 and *err naming the file. */
int credentials_load(struct credentials *credentials, const struct kube_config *config, struct ev_loop *loop,
		     credentials_settled *settled, void *arg, struct error *err);
void credentials_free(struct credentials *credentials);
/* Reads again what changed; cheap, may be called before every request. What cannot be read or is empty is reported
 * once and the old one kept (common/README.md §6.10). force: reads all of it now, and asks the plugin again. */
void credentials_refresh(struct credentials *credentials, bool force);

enum credentials_state {
	CREDENTIALS_READY,  /* requests can be sent */
	CREDENTIALS_COMING, /* the plugin is being asked: `settled` says when to look again */
	CREDENTIALS_NONE,   /* it failed; *why, borrowed. It is asked again at some later call. */
};

/* To be asked before requests are sent: starts the plugin when that is due. */
enum credentials_state credentials_ready(struct credentials *credentials, const char **why);
/* After a 401 to a request of that token_generation: reads the token file, or has the plugin asked again. Whether it
 * makes sense to send the request once more. */
bool credentials_rejected(struct credentials *credentials, unsigned generation);
/* "Authorization: …", to be freed; NULL: nothing to send. */
char *credentials_authorization(const struct credentials *credentials);

#endif
