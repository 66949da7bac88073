/* Environment variables for launchers; see distributed.h.
 *
 * Hosts are named {role}-{index}.{subdomain}. The resolver of a container completes that by the search domains of its
 * /etc/resolv.conf, so that the controller need not know the cluster's domain, and lists of many Tasks stay short.
 * Launchers take such names: who is rank 0 knows that by its rank, the others only connect to it, and nobody compares
 * the name with its own (torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py; Kubeflow Trainer sets names of
 * this form, pkg/runtime/framework/plugins/torch). */
#include "common/framework/distributed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/mem.h"

enum { INDEX_DIGITS_MAX = 5 };

static void put_host(struct buf *out, const struct framework_spec *spec, const char *framework_name, size_t role,
		     int32_t index)
{
	buf_printf(out, "%s-%d.%s", spec->roles[role].name, (int)index, framework_spec_subdomain(spec, framework_name));
}

/* before is taken over. */
static void add_with(struct distributed_env *env, const char *name, char *before, enum distributed_hole hole,
		     const char *after)
{
	env->vars[env->count++] = (struct distributed_var){name, before, hole, after};
}

static void add(struct distributed_env *env, const char *name, const char *value)
{
	add_with(env, name, mem_strdup(value), HOLE_OF_NONE, "");
}

static void add_number(struct distributed_env *env, const char *name, int64_t value)
{
	add_with(env, name, mem_printf("%" PRId64, value), HOLE_OF_NONE, "");
}

static void add_rank(struct distributed_env *env, const char *name)
{
	add_with(env, name, mem_strdup(""), HOLE_OF_RANK, "");
}

/* Names are made of lower case letters, digits and hyphens: none needs escaping. */
static char *tf_config(const struct framework_spec *spec, const char *framework_name, size_t role)
{
	const struct distributed_spec *distributed = &spec->distributed;
	struct buf out = {0};

	buf_puts(&out, "{\"cluster\":{");
	for (size_t i = 0; i < distributed->role_count; i++) {
		const struct task_role_spec *member = &spec->roles[distributed->roles[i]];

		buf_printf(&out, "%s\"%s\":[", i > 0 ? "," : "", member->name);
		for (int32_t n = 0; n < member->task_number; n++) {
			buf_puts(&out, n > 0 ? ",\"" : "\"");
			put_host(&out, spec, framework_name, distributed->roles[i], n);
			buf_printf(&out, ":%d\"", (int)distributed->port);
		}
		buf_putc(&out, ']');
	}
	buf_printf(&out, "},\"task\":{\"type\":\"%s\",\"index\":", spec->roles[role].name);
	return buf_steal(&out);
}

/* The host of rank 0. */
static char *master(const struct framework_spec *spec, const char *framework_name)
{
	struct buf out = {0};

	put_host(&out, spec, framework_name, spec->distributed.master, 0);
	return buf_steal(&out);
}

/* WORLD_SIZE and RANK are for programs that are started without torchrun, PET_* for torchrun. With auto, torchrun
 * counts the processes: then the Task counts as one. */
static void add_torch(struct distributed_env *env, const struct distributed_spec *distributed, const char *host)
{
	int64_t tasks = distributed->tasks, processes = distributed->processes_per_task;

	add(env, "MASTER_ADDR", host);
	add_number(env, "MASTER_PORT", distributed->port);
	add_number(env, "WORLD_SIZE", tasks * (processes == 0 ? 1 : processes));
	add_rank(env, "RANK");
	add(env, "PYTHONUNBUFFERED", "1");
	add_number(env, "PET_NNODES", tasks);
	if (processes == 0)
		add(env, "PET_NPROC_PER_NODE", "auto");
	else
		add_number(env, "PET_NPROC_PER_NODE", processes);
	add_rank(env, "PET_NODE_RANK");
	add(env, "PET_MASTER_ADDR", host);
	add_number(env, "PET_MASTER_PORT", distributed->port);
}

static void add_jax(struct distributed_env *env, const struct distributed_spec *distributed, const char *host)
{
	add_with(env, "JAX_COORDINATOR_ADDRESS", mem_printf("%s:%d", host, (int)distributed->port), HOLE_OF_NONE, "");
	add_number(env, "JAX_NUM_PROCESSES", distributed->tasks);
	add_rank(env, "JAX_PROCESS_ID");
	add(env, "COORDINATOR_ADDRESS", host);
	add_number(env, "COORDINATOR_PORT", distributed->port);
	add_number(env, "NUM_PROCESSES", distributed->tasks);
	add_rank(env, "PROCESS_ID");
}

void distributed_env_make(const struct framework_spec *spec, const char *framework_name, size_t role,
			  struct distributed_env *out)
{
	const struct distributed_spec *distributed = &spec->distributed;
	cleanup_free char *host = NULL;

	*out = (struct distributed_env){0};
	if (distributed->role_count == 0 || distributed->first_ranks[role] < 0)
		return;
	out->first_rank = distributed->first_ranks[role];
	host = master(spec, framework_name);
	switch (distributed->kind) {
	case DISTRIBUTED_TENSORFLOW:
		add_with(out, "TF_CONFIG", tf_config(spec, framework_name, role), HOLE_OF_INDEX,
			 "},\"environment\":\"cloud\"}");
		break;
	case DISTRIBUTED_PYTORCH: add_torch(out, distributed, host); break;
	case DISTRIBUTED_JAX: add_jax(out, distributed, host); break;
	case DISTRIBUTED_NONE: break;
	}
}

void distributed_env_free(struct distributed_env *env)
{
	for (size_t i = 0; i < env->count; i++)
		free(env->vars[i].before);
	*env = (struct distributed_env){0};
}

size_t distributed_env_longest(const struct framework_spec *spec, const char *framework_name, size_t role)
{
	struct distributed_env env;
	size_t longest = 0;

	distributed_env_make(spec, framework_name, role, &env);
	for (size_t i = 0; i < env.count; i++) {
		const struct distributed_var *var = &env.vars[i];
		size_t len = strlen(var->name) + 1 + strlen(var->before) + INDEX_DIGITS_MAX + strlen(var->after) + 1;

		if (len > longest)
			longest = len;
	}
	distributed_env_free(&env);
	return longest;
}
