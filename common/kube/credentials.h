/* What a client proves itself with, as loaded: token, CA, client certificate and key; and its renewal when the files
 * it came from change (rotated service account tokens and CAs are replaced by renaming a symlink). */
#ifndef KUBE_CREDENTIALS_H
#define KUBE_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/kube/kubeconfig.h"

/* One piece: given inline, or read from a file. */
struct credential {
	const char *path; /* NULL when inline or absent; the config's */
	char *text;       /* NULL when absent */
	bool trim;        /* a token: white space around it is no part of it */
	bool failing;     /* the last reading failed and was reported */
	/* what the file was when read */
	int64_t mtime_ns;
	ino_t inode;
	off_t size;
};

struct credentials {
	struct credential token;
	struct credential ca;
	struct credential client_cert;
	struct credential client_key;
	unsigned token_generation; /* raised when the token changes */
	unsigned tls_generation;   /* raised when anything else changes */
	int64_t looked_ms;         /* when the files were last looked at */
	int64_t token_read_ms;     /* when the token was last read */
};

/* config must outlive it. 0, or -1 and *err naming the file. */
int credentials_load(struct credentials *credentials, const struct kube_config *config, struct error *err);
void credentials_free(struct credentials *credentials);
/* Reads again what changed; cheap, may be called before every request. What cannot be read or is empty is reported
 * once and the old one kept (PITFALLS "Watching" 10). force: reads all of it now. */
void credentials_refresh(struct credentials *credentials, bool force);
/* Reads the token now (after a 401). Whether there is a token file at all. */
bool credentials_reread_token(struct credentials *credentials);

#endif
