/* The environment and command line of a container, by Kubernetes' rules. Pure. */
#ifndef TESTKUBELET_PODENV_H
#define TESTKUBELET_PODENV_H

#include <jansson.h>
#include <stddef.h>

/* Variables in the order they were first set; a later value replaces an earlier one. Zero-initialise. */
struct podenv {
	char **names;
	char **values;
	size_t count;
};

void podenv_set(struct podenv *env, const char *name, const char *value);
/* NULL when not set. */
const char *podenv_get(const struct podenv *env, const char *name);
void podenv_free(struct podenv *env);
/* "NAME=value" strings ending with NULL, as execve wants them. The caller frees with podenv_free_list. */
char **podenv_list(const struct podenv *env);
void podenv_free_list(char **list);

/* What a Pod is told about itself; the strings are borrowed. */
struct podenv_facts {
	const char *node_name;
	const char *pod_ip;
	const char *host_ip;
};

/* Replaces $(NAME) by the variable's value, $$ by $; an unknown $(NAME) stays as it is (k8s third_party/forked/
 * golang/expansion). The caller frees. */
char *podenv_expand(const struct podenv *env, const char *text);

/* The value of a fieldRef's fieldPath: metadata.name, .namespace, .uid, .labels['k'], .annotations['k'], metadata
 * .labels and .annotations as lines key="value"; spec.nodeName, .serviceAccountName; status.podIP(s), .hostIP(s).
 * "" for a key that is missing; NULL for another path. The caller frees. */
char *podenv_field(const json_t *pod, const char *path, const struct podenv_facts *facts);

/* Adds a container's env list to env. Entries that cannot be resolved (Secrets, ConfigMaps) are left out; how many
 * of them were not optional is the return value. */
size_t podenv_add_container(struct podenv *env, const json_t *pod, const json_t *container,
			    const struct podenv_facts *facts);

/* command and args, expanded, ending with NULL. Without a command, args are run by `sh -c` when they are one text,
 * else as a command of their own: there is no image to ask for its entry point. NULL when both are empty.
 * The caller frees with podenv_free_list. */
char **podenv_command(const struct podenv *env, const json_t *container);

#endif
