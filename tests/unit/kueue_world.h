/* What the tests of Frameworks in queues of Kueue share: a Framework with the label of a queue on the server of
 * sync_world.h, and what Kueue writes into its Workload. */
#ifndef UNIT_KUEUE_WORLD_H
#define UNIT_KUEUE_WORLD_H

#include "tests/unit/sync_world.h"

#define ROLE "{'name':'a','taskNumber':2,'task':{'pod':{'spec':{'containers':[{'name':'c'}]}}%s}%s}"

static const char admitted[] =
	"{'conditions':[{'type':'QuotaReserved','status':'True'},{'type':'Admitted','status':'True'}],"
	"'admission':{'clusterQueue':'cq','podSetAssignments':[{'name':'a','count':2,'flavors':{"
	"'cpu':'spot','memory':'spot'}}]}}";

static inline json_t *workload(struct world *w)
{
	return json_object_get(w->workloads, WORLD_WORKLOAD);
}

/* A Framework with that label and spec; rest: further members of the TaskRole. */
static inline void begin(struct world *w, const char *task_rest, const char *role_rest, const char *spec_rest)
{
	cleanup_free char *role = mem_printf(ROLE, task_rest, role_rest);
	cleanup_free char *spec = mem_printf("{'taskRoles':[%s]%s}", role, spec_rest);

	world_init(w);
	w->config.kueue = true;
	w->framework->kueue.on = true;
	json_object_set_new(w->kueue_objects, "resourceflavors/spot",
			    json_of("{'metadata':{'name':'spot'},'spec':{'nodeLabels':{'pool':'spot'},'tolerations':[{"
				    "'key':'spot','operator':'Exists'}]}}"));
	w->mute = true;
	world_create_framework(w, spec, NULL);
	w->mute = false;
	json_object_set_new(json_object_get(w->object, "metadata"), "labels",
			    json_of("{'kueue.x-k8s.io/queue-name':'team'}"));
	world_tell_framework(w);
}

/* Kueue writes that status. */
static inline void decide(struct world *w, const char *status)
{
	json_object_set_new(workload(w), "status", json_of(status));
	world_stamp(w, workload(w));
	world_workload_changed(w);
	world_settle(w);
}

static inline void begin_admitted(struct world *w, const char *task_rest, const char *role_rest, const char *spec_rest)
{
	begin(w, task_rest, role_rest, spec_rest);
	world_settle(w);
	decide(w, admitted);
	world_clear_log(w);
}

static inline void run_all(struct world *w)
{
	world_pod_phase(w, "f-a-0", "Running");
	world_pod_phase(w, "f-a-1", "Running");
	world_settle(w);
}

static inline bool suspended(const struct world *w)
{
	return w->framework->status.conditions[CONDITION_SUSPENDED].value == CONDITION_TRUE;
}

static inline const char *condition(struct world *w, const char *type, const char *member)
{
	size_t i;
	const json_t *entry;

	json_array_foreach(json_at(workload(w), "status.conditions"), i, entry)
		if (strcmp(json_str(entry, "type"), type) == 0)
			return json_str(entry, member);
	return "none";
}

#endif
