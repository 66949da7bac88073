/* The quota that a Framework in a queue asks for is what its Pods request (CONTRACT.md §4.20, §21.2, §21.4): no
 * placeholder in the template hides a request from its Workload. */
#include "tests/unit/kueue_world.h"

/* Waits with two Tasks of the TaskRole and that Pod template. */
static void begin_pod(struct world *w, const char *role, const char *pod)
{
	cleanup_free char *spec = mem_printf("{'taskRoles':[{'name':'%s','taskNumber':2,'task':{'pod':%s}}]}", role,
					     pod);

	begin(w, "", "", "");
	world_edit(w, spec);
	world_settle(w);
}

/* Kueue admits it in the flavor spot. */
static void admit(struct world *w, const char *role)
{
	cleanup_free char *status = mem_printf(
		"{'conditions':[{'type':'QuotaReserved','status':'True'},{'type':'Admitted','status':'True'}"
		"],'admission':{'clusterQueue':'cq','podSetAssignments':[{'name':'%s','count':2,'flavors':{"
		"'cpu':'spot'}}]}}",
		role);

	decide(w, status);
}

/* The member of the spec is the same in the Workload and in the Pods of both Tasks. */
static void assert_same(struct world *w, const char *member, const char *expected)
{
	cleanup_free char *asked = mem_printf("spec.podSets.0.template.spec.%s", member);
	cleanup_free char *path = mem_printf("spec.%s", member);

	assert_json(json_at(workload(w), asked), expected);
	assert_json(json_at(world_pod(w, "f-s-0"), path), expected);
	assert_json(json_at(world_pod(w, "f-s-1"), path), expected);
}

/* Members and values that are what they are for Kubernetes only when their placeholders are replaced. */
static void test_placeholders(void **state)
{
	struct world w;

	(void)state;
	begin_pod(&w, "s",
		  "{'metadata':{'label{{FC_TASKROLE_NAME}}':{'{{FC_FRAMEWORK_NAME}}':'{{FC_CONFIGMAP_NAME}}'}},'spec':{"
		  "'initContainer{{FC_TASKROLE_NAME}}':[{'name':'i','restartPolicy':'Alway{{FC_TASKROLE_NAME}}'}],"
		  "'containers':[{'name':'c','resource{{FC_TASKROLE_NAME}}':{'limits':{'cpu':'64',"
		  "'{{FC_FRAMEWORK_NAMESPACE}}.com/gpu':8}}}]}}");
	assert_json(json_at(workload(&w), "spec.podSets.0.template.metadata"), "{'labels':{'f':'f-attempt'}}");
	admit(&w, "s");
	assert_same(&w, "containers.0.resources", "{'limits':{'cpu':'64','ns.com/gpu':8}}");
	assert_same(&w, "initContainers.0.restartPolicy", "'Always'");
	assert_json(json_at(world_pod(&w, "f-s-0"), "metadata.labels.f"), "'f-attempt'");
	/* a member of this name counts like one that was written so: it gets the environment */
	assert_json(json_at(world_pod(&w, "f-s-0"), "spec.initContainers.0.env.0.name"), "'FC_FRAMEWORK_NAMESPACE'");
	world_end(&w);
}

/* Of members that get the same name, Workload and Pod have the same one. */
static void test_same_name(void **state)
{
	static const char *const templates[] = {
		"{'spec':{'containers':[{'name':'c','resources':{'limits':{'cpu':'1'}},'resource{{FC_TASKROLE_NAME}}':{"
		"'limits':{'cpu':'64'}}}]}}",
		"{'spec':{'containers':[{'name':'c','resources':{'limits':{'cpu':'1','cp{{FC_TASKROLE_NAME}}':'2'},"
		"'limit{{FC_TASKROLE_NAME}}':{'cpu':'64'}}}]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
		struct world w;

		begin_pod(&w, "s", templates[i]);
		admit(&w, "s");
		assert_same(&w, "containers.0.resources", "{'limits':{'cpu':'64'}}");
		world_end(&w);
	}
}

/* The value of the flavor wins. */
static void test_flavor(void **state)
{
	struct world w;

	(void)state;
	begin_pod(&w, "l", "{'spec':{'nodeSelector':{'poo{{FC_TASKROLE_NAME}}':'ondemand'},'containers':[]}}");
	assert_json(json_at(workload(&w), "spec.podSets.0.template.spec.nodeSelector"), "{'pool':'ondemand'}");
	admit(&w, "l");
	assert_json(json_at(world_pod(&w, "f-l-0"), "spec.nodeSelector"), "{'pool':'spot'}");
	world_end(&w);
}

#define OF_TASKS                                                                                          \
	"{'metadata':{'labels':{'r-{{FC_TASK_INDEX}}':'{{FC_POD_NAME}}'}},'spec':{'containers':[{'name':" \
	"'n{{FC_TASK_INDEX}}','resources':{'limits':{'x.com/y{{FC_TASK_INDEX}}':1}}}],'overhead':{"       \
	"'{{FC_POD_NAME}}':1},'resources':{'requests':{'x.com/y{{FC_TASK_INDEX}}':2}},'nodeSelector':{"   \
	"'n-{{FC_TASK_INDEX}}':'{{FC_TASK_INDEX}}'}}}"

/* One podSet cannot ask for resources whose names differ from Task to Task: Pods that ask for them are refused. Other
 * names and all values may differ. */
static void test_placeholders_of_tasks(void **state)
{
	struct world w;

	(void)state;
	begin_pod(&w, "s", OF_TASKS);
	admit(&w, "s");
	assert_same(&w, "containers.0.resources", "{'limits':{'x.com/y{{FC_TASK_INDEX}}':1}}");
	assert_same(&w, "resources", "{'requests':{'x.com/y{{FC_TASK_INDEX}}':2}}");
	assert_same(&w, "overhead", "{'{{FC_POD_NAME}}':1}");
	assert_json(json_at(world_pod(&w, "f-s-1"), "spec.nodeSelector"), "{'n-1':'1','pool':'spot'}");
	assert_json(json_at(world_pod(&w, "f-s-1"), "spec.containers.0.name"), "'n1'");
	assert_json(json_at(world_pod(&w, "f-s-1"), "metadata.labels.r-1"), "'f-s-1'");
	world_end(&w);
}

/* Without a queue, every name may differ. */
static void test_placeholders_without_queue(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[{'name':'s','taskNumber':2,'task':{'pod':" OF_TASKS "}}]}");
	world_settle(&w);
	assert_json(json_at(world_pod(&w, "f-s-1"), "spec.containers.0.resources"), "{'limits':{'x.com/y1':1}}");
	assert_json(json_at(world_pod(&w, "f-s-1"), "spec.resources"), "{'requests':{'x.com/y1':2}}");
	assert_json(json_at(world_pod(&w, "f-s-1"), "spec.overhead"), "{'f-s-1':1}");
	world_end(&w);
}

static const char *request(struct world *w)
{
	return json_str(json_at(workload(w), "metadata.annotations"), "FC_WORKLOAD_REQUEST");
}

/* The same from release to release, or Frameworks that run are evicted: the SHA-256 of the JSON as 21.4 has it. */
static void test_request(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", ",'activeDeadlineSec':600");
	world_settle(&w);
	/* {"podSets":[{"count":2,"name":"a","template":{"metadata":{},"spec":{"containers":[{"name":"c"}]}}}],
	 * "priorityClass":null,"queue":"team"} without the line end */
	assert_string_equal(request(&w), "17e4ec48377117550a5be7e0bac1b8ac4c7ea5bd7c10d3a98b5eed8a87697957/600");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placeholders),
		cmocka_unit_test(test_same_name),
		cmocka_unit_test(test_flavor),
		cmocka_unit_test(test_placeholders_of_tasks),
		cmocka_unit_test(test_placeholders_without_queue),
		cmocka_unit_test(test_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
