/* The credentials of a client: token, CA, client certificate and key. They are renewed when their files change (rotated
 * service account tokens and CAs are replaced by renaming a symlink), or when the credentials of an exec plugin expire
 * or are refused. */
#ifndef KUBE_CREDENTIALS_H
#define KUBE_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/kube/config/exec_plugin.h"
#include "common/kube/kubeconfig.h"

struct ev_loop;

/* One credential, inline or from a file. */
struct credential {
	const char *path;        /* NULL when inline or absent; the config's */
	char *text;              /* NULL when absent */
	bool trim;               /* a token: white space around it is removed */
	bool failing;            /* the last reading failed and was reported */
	struct file_stamp stamp; /* of the file that was read */
};

/* An exec plugin has ended; credentials_ready() returns the result. It may start requests at once. */
typedef void credentials_settled(void *arg);

/* State of an exec plugin, and when to run it again. */
struct credentials_exec {
	bool used; /* there is one, and no token that takes precedence */
	struct exec_plugin *running;
	bool given;         /* it has returned credentials */
	bool gave_cert;     /* its last run returned a client certificate */
	bool refused;       /* by the API server: a 401 */
	int64_t refused_ms; /* boot clock: the last run because of a 401; 0: never */
	int64_t renew_s;    /* wall clock: from then on it runs again, while the old credentials are still valid */
	int64_t expires_s;  /* wall clock, INT64_MAX: never */
	unsigned failures;  /* in a row */
	int64_t failed_ms;  /* boot clock: the last one */
	char *failure;      /* the last failure */
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
	unsigned token_generation; /* increases when the token or a plugin's credentials change */
	unsigned tls_generation;   /* increases when anything else changes */
	int64_t looked_ms;         /* when the files were last looked at */
	int64_t token_read_ms;     /* when the token was last read */
};

/* config must outlive it. No plugin is run yet; settled is called for each of its runs. The loop must be the default
 * one if there is a plugin. 0, or -1 and *err naming the file. */
int credentials_load(struct credentials *credentials, const struct kube_config *config, struct ev_loop *loop,
		     credentials_settled *settled, void *arg, struct error *err);
void credentials_free(struct credentials *credentials);
/* Reads changed files again; cheap, may be called before every request. An unreadable or empty file is reported once,
 * and the old credential kept (common/README.md §6.10). force: reads all files now, and runs the plugin again. */
void credentials_refresh(struct credentials *credentials, bool force);

enum credentials_state {
	CREDENTIALS_READY,  /* requests can be sent */
	CREDENTIALS_COMING, /* the plugin runs: check again in `settled` */
	CREDENTIALS_NONE,   /* it failed; *why, borrowed. A later call runs it again. */
};

/* Call it before requests are sent: it runs the plugin when that is due. */
enum credentials_state credentials_ready(struct credentials *credentials, const char **why);
/* After a 401 to a request of that token_generation: reads the token file, or runs the plugin again. Returns whether to
 * send the request again. */
bool credentials_rejected(struct credentials *credentials, unsigned generation);
/* "Authorization: …", to be freed; NULL: nothing to send. */
char *credentials_authorization(const struct credentials *credentials);

#endif
