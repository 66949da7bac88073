/* spec.gang: what is read and refused, and how Pods are stamped (CONTRACT.md §2.20, §4.18, §4.19). */
#include "common/framework/gang_spec.h"
#include "tests/unit/spec_asserts.h"
#include "tests/unit/sync_world.h"

static void test_read(void **state)
{
	struct framework_spec spec;
	struct error err;

	(void)state;
	assert_int_equal(parse("{'gang':null}", &spec, &err), 0);
	assert_int_equal(spec.gang.scheduler, GANG_NONE);
	framework_spec_free(&spec);

	assert_int_equal(parse("{'gang':{'scheduler':'Volcano','minTaskNumber':3,'queue':'q.a','priorityClassName':"
			       "'high'}}",
			       &spec, &err),
			 0);
	assert_int_equal(spec.gang.scheduler, GANG_VOLCANO);
	assert_int_equal(spec.gang.min_tasks, 3);
	assert_string_equal(spec.gang.queue, "q.a");
	assert_string_equal(spec.gang.priority_class, "high");
	framework_spec_free(&spec);

	assert_int_equal(parse("{'gang':{'scheduler':'Coscheduling'}}", &spec, &err), 0);
	assert_int_equal(spec.gang.min_tasks, 0);
	assert_int_equal(spec.gang.schedule_timeout_sec, 60);
	framework_spec_free(&spec);

	assert_int_equal(parse("{'gang':{'scheduler':'Kubernetes','topologyKey':'example.com/rack'}}", &spec, &err), 0);
	assert_string_equal(spec.gang.topology_key, "example.com/rack");
	framework_spec_free(&spec);
}

static void test_refused(void **state)
{
	static const char *const cases[][2] = {
		{"{'gang':7}", "spec.gang is 7, expected an object"},
		{"{'gang':{}}",
		 "spec.gang.scheduler is missing, expected \"Volcano\", \"Coscheduling\" or \"Kubernetes\""},
		{"{'gang':{'scheduler':''}}",
		 "spec.gang.scheduler is \"\", expected \"Volcano\", \"Coscheduling\" or \"Kubernetes\""},
		{"{'gang':{'scheduler':'Volcano','minTaskNumber':0}}",
		 "spec.gang.minTaskNumber is 0, expected an integer in 1..2147483647"},
		{"{'gang':{'scheduler':'Volcano','topologyKey':'rack'}}",
		 "spec.gang.topologyKey is \"rack\", expected no topologyKey: PodGroups of scheduler Volcano have "
		 "none"},
		{"{'gang':{'scheduler':'Volcano','scheduleTimeoutSec':5}}",
		 "spec.gang.scheduleTimeoutSec is 5, expected no scheduleTimeoutSec: PodGroups of scheduler Volcano "
		 "have "
		 "none"},
		{"{'gang':{'scheduler':'Coscheduling','queue':'q'}}",
		 "spec.gang.queue is \"q\", expected no queue: PodGroups of scheduler Coscheduling have none"},
		{"{'gang':{'scheduler':'Coscheduling','priorityClassName':'p'}}",
		 "spec.gang.priorityClassName is \"p\", expected no priorityClassName: PodGroups of scheduler "
		 "Coscheduling have none"},
		{"{'gang':{'scheduler':'Coscheduling','scheduleTimeoutSec':0}}",
		 "spec.gang.scheduleTimeoutSec is 0, expected an integer in 1..2147483647"},
		{"{'gang':{'scheduler':'Kubernetes','queue':'q'}}",
		 "spec.gang.queue is \"q\", expected no queue: PodGroups of scheduler Kubernetes have none"},
		{"{'gang':{'scheduler':'Kubernetes','topologyKey':'a b'}}",
		 "spec.gang.topologyKey is \"a b\", expected the key of a node label"},
		{"{'gang':{'scheduler':'Volcano','queue':'Q'}}",
		 "spec.gang.queue is \"Q\", expected the name of an object: lower case letters, digits, - and ."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_refused(cases[i][0], cases[i][1]);
}

#define A(n) "{'name':'a','taskNumber':" #n "}"
#define B(n) "{'name':'b','taskNumber':" #n ",'dependsOn':[{'taskRole':'a','status':'Running'}]}"

/* The Pods that the scheduler waits for must all come. */
static void test_depends(void **state)
{
	static const char *const read[] = {
		"{'taskRoles':[" A(2) "," B(3) "],'gang':{'scheduler':'Volcano','minTaskNumber':2}}",
		"{'taskRoles':[" A(0) "," B(3) "],'gang':{'scheduler':'Volcano'}}",
		"{'taskRoles':[" A(2) "," B(0) "],'gang':{'scheduler':'Volcano'}}",
		"{'taskRoles':[" A(2) "],'gang':{'scheduler':'Volcano','minTaskNumber':9}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(read); i++) {
		struct framework_spec spec;
		struct error err;

		if (parse(read[i], &spec, &err) < 0)
			fail_msg("%s: %s", read[i], err.message);
		framework_spec_free(&spec);
	}
	assert_refused(
		"{'taskRoles':[" A(2) "," B(3) "],'gang':{'scheduler':'Volcano','minTaskNumber':3}}",
		"spec.gang.minTaskNumber is 3, expected at most 2: the Pods of TaskRoles with dependsOn are created "
		"when others run, which they never would");
	assert_refused(
		"{'taskRoles':[" A(2) "," B(1) "],'gang':{'scheduler':'Volcano','minTaskNumber':4}}",
		"spec.gang.minTaskNumber is 4 of 3 Tasks, expected at most 2: the Pods of TaskRoles with dependsOn are "
		"created when others run, which they never would");
	assert_refused(
		"{'taskRoles':[" A(2) "," B(3) "],'gang':{'scheduler':'Volcano'}}",
		"spec.gang.minTaskNumber is 5 (all Tasks), expected at most 2: the Pods of TaskRoles with dependsOn "
		"are created when others run, which they never would");
}

/* The label of Coscheduling has the name of the PodGroup. */
static void test_name(void **state)
{
	static const char long_name[] = "n123456789012345678901234567890123456789012345678901x";
	struct gang_spec gang = {.scheduler = GANG_COSCHEDULING};
	struct error err;

	(void)state;
	assert_int_equal(gang_spec_check_name(&gang, long_name + 1, &err), 0);
	assert_int_equal(gang_spec_check_name(&gang, long_name, &err), -1);
	assert_string_equal(
		err.message,
		"metadata.name is \"n123456789012345678901234567890123456789012345678901x\", expected at most "
		"52 characters: with spec.gang.scheduler Coscheduling, the label of its Pods has at most 63");
	gang.scheduler = GANG_VOLCANO;
	assert_int_equal(gang_spec_check_name(&gang, long_name, &err), 0);
}

static json_t *pod_of(struct world *w, const char *gang, const char *pod_spec)
{
	cleanup_free char *spec = mem_printf(
		"{'gang':%s,'taskRoles':[{'name':'a','taskNumber':1,'task':{'pod':{'metadata'"
		":{'labels':{'scheduling.x-k8s.io/pod-group':'x'},'annotations':{'"
		"scheduling.k8s.io/group-name':'x'}},'spec':{%s'containers':[]}}}}]}",
		gang, pod_spec);

	world_begin(w, spec);
	world_settle(w);
	return world_pod(w, "f-a-0");
}

static void assert_member(json_t *pod, const char *map, const char *name, const char *expected)
{
	const char *found = json_str(json_at(pod, map), name);

	if ((found == NULL) != (expected == NULL) || (found != NULL && strcmp(found, expected) != 0))
		fail_msg("%s of %s is %s, expected %s", name, map, found == NULL ? "missing" : found,
			 expected == NULL ? "none" : expected);
}

/* Ours go over what the template has, but for the scheduler's name. */
static void test_stamps(void **state)
{
	struct world w;
	json_t *pod;

	(void)state;
	pod = pod_of(&w, "{'scheduler':'Volcano'}", "");
	assert_member(pod, "metadata.annotations", "scheduling.k8s.io/group-name", "f-0");
	assert_member(pod, "metadata.annotations", "volcano.sh/task-spec", "a");
	assert_member(pod, "spec", "schedulerName", "volcano");
	assert_member(pod, "metadata.labels", "scheduling.x-k8s.io/pod-group", "x");
	world_end(&w);

	pod = pod_of(&w, "{'scheduler':'Volcano'}", "'schedulerName':'volcano-2',");
	assert_member(pod, "spec", "schedulerName", "volcano-2");
	world_end(&w);

	pod = pod_of(&w, "{'scheduler':'Volcano'}", "'schedulerName':'',");
	assert_member(pod, "spec", "schedulerName", "volcano");
	world_end(&w);

	pod = pod_of(&w, "{'scheduler':'Coscheduling'}", "'schedulingGroup':{'podGroupName':'x'},");
	assert_member(pod, "metadata.labels", "scheduling.x-k8s.io/pod-group", "f-0");
	assert_member(pod, "metadata.annotations", "scheduling.k8s.io/group-name", "x");
	assert_member(pod, "spec", "schedulerName", NULL);
	assert_json(json_at(pod, "spec.schedulingGroup"), "{'podGroupName':'x'}");
	world_end(&w);

	pod = pod_of(&w, "{'scheduler':'Kubernetes'}", "'schedulingGroup':{'podGroupName':'x'},");
	assert_json(json_at(pod, "spec.schedulingGroup"), "{'podGroupName':'f-0'}");
	assert_member(pod, "metadata.labels", "scheduling.x-k8s.io/pod-group", "x");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read), cmocka_unit_test(test_refused), cmocka_unit_test(test_depends),
		cmocka_unit_test(test_name), cmocka_unit_test(test_stamps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
