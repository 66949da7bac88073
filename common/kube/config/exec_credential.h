/* Input and output of an exec plugin: the ExecCredential of client.authentication.k8s.io/v1 and v1beta1
 * (https://kubernetes.io/docs/reference/config-api/client-authentication.v1/). These functions start no process. */
#ifndef KUBE_EXEC_CREDENTIAL_H
#define KUBE_EXEC_CREDENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/kube/kubeconfig.h"

/* Owned; a token, a certificate with its key, or both. */
struct exec_credential {
	char *token;
	char *client_cert; /* PEM */
	char *client_key;  /* PEM */
	int64_t expires_s; /* unix seconds; INT64_MAX: never */
};

/* The value of KUBERNETES_EXEC_INFO. config->exec is there; ca: PEM, NULL for none. The caller frees. */
char *exec_credential_ask(const struct kube_config *config, const char *ca);
/* Reads the answer. 0, or -1 and *err; the message contains no values of the answer. */
int exec_credential_read(const struct kube_exec *exec, const char *text, size_t len, struct exec_credential *out,
			 struct error *err);
void exec_credential_free(struct exec_credential *credential);

#endif
