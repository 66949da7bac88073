/* Inside the kubeconfig reader: one entry's mapping and its fields. Messages name file:line:column, the entry and the
 * field. */
#ifndef KUBE_KUBECONFIG_ENTRY_H
#define KUBE_KUBECONFIG_ENTRY_H

#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/yaml.h"
#include "common/kube/kubeconfig.h"

struct section {
	const struct yaml_node *entry; /* the item of the list, for errors about missing fields */
	const struct yaml_node *map;   /* NULL: empty */
	char *name;                    /* clusters["k"].cluster; owned; NULL when no entry is named */
};

void section_free(struct section *section);
#define cleanup_section __attribute__((cleanup(section_free)))

/* The field as a string, copied into *out, which the caller frees; absent, null and "" leave it unchanged. */
int section_string(const struct section *section, const char *key, char **out, struct error *err);
/* The same for a secret, which no message contains. */
int section_secret(const struct section *section, const char *key, char **out, struct error *err);
/* The same for a path, which is relative to the directory of its file. */
int section_path(const struct section *section, const char *key, char **out, struct error *err);
/* The same for PEM in base64: *out is the PEM. */
int section_data(const struct section *section, const char *key, char **out, struct error *err);
int section_bool(const struct section *section, const char *key, bool *out, struct error *err);
/* Sets *err to "file:line:column: entry.key: …", at the field if there is one. Returns -1. */
int section_error(const struct section *section, const char *key, struct error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads the credentials of an entry of `users` into config. */
int kubeconfig_user_read(const struct section *user, struct kube_config *config, struct error *err);

#endif
