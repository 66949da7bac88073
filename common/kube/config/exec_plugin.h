/* Runs an exec plugin once: a command that prints credentials. It does not block the loop: pipes carry its output, a
 * child watcher reports its end, and size and time are limited. A failure's message contains the end of its stderr. If
 * it runs for more than a second, the lines of its stderr are logged as they come: it may wait for a person who signs
 * in. */
#ifndef KUBE_EXEC_PLUGIN_H
#define KUBE_EXEC_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/kube/config/exec_credential.h"

struct ev_loop;
struct exec_plugin;

enum {
	EXEC_OUTPUT_MAX_BYTES = 1024 * 1024, /* with more output it is killed */
	EXEC_TIME_MAX_MS = 60 * 1000,        /* then it is killed, unless the client allows more */
};

/* credential: owned by the callee (exec_credential_free), or NULL and why, which names the plugin. The plugin is freed
 * when this returns. */
typedef void exec_plugin_done(void *arg, struct exec_credential *credential, const char *failure);

/* Starts it: standard input empty, environment ours and the config's and KUBERNETES_EXEC_INFO, a process group of its
 * own. config (its exec is there) must outlive it; ca: see exec_credential_ask; time_ms: normally EXEC_TIME_MAX_MS. The
 * loop must be the default one: only that one watches children. NULL and *err when it cannot be started; else done is
 * called exactly once, not from within this function, unless it is freed before. */
struct exec_plugin *exec_plugin_start(struct ev_loop *loop, const struct kube_config *config, const char *ca,
				      int64_t time_ms, exec_plugin_done *done, void *arg, struct error *err);
/* Kills it if it still runs; done is not called. NULL is fine. */
void exec_plugin_free(struct exec_plugin *plugin);

#endif
