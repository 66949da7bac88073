/* spec.network and spec.distributed: what is read and refused, and the environment that follows (CONTRACT.md §2.19,
 * §4.12, §4.14). */
#include "common/framework/distributed.h"
#include "common/framework/names.h"
#include "reconciler/sync/podtemplate.h"
#include "tests/unit/slow.h"
#include "tests/unit/spec_asserts.h"
#include "tests/unit/sync_world.h"

#define ROLES "'taskRoles':[{'name':'chief','taskNumber':1},{'name':'worker','taskNumber':3},{'name':'none'}]"

static void test_read(void **state)
{
	struct framework_spec spec;
	struct error err;

	(void)state;
	assert_int_equal(parse("{}", &spec, &err), 0);
	assert_false(spec.network.hostnames);
	assert_int_equal(spec.distributed.kind, DISTRIBUTED_NONE);
	framework_spec_free(&spec);

	assert_int_equal(parse("{'network':{}}", &spec, &err), 0);
	assert_true(spec.network.hostnames);
	assert_true(spec.network.publish_not_ready);
	assert_string_equal(framework_spec_subdomain(&spec, "f"), "f");
	framework_spec_free(&spec);

	assert_int_equal(parse("{'network':{'enableDNSHostnames':false,'subdomain':'a-1','publishNotReadyAddresses':"
			       "false}}",
			       &spec, &err),
			 0);
	assert_false(spec.network.hostnames);
	assert_false(spec.network.publish_not_ready);
	assert_string_equal(framework_spec_subdomain(&spec, "f"), "a-1");
	framework_spec_free(&spec);

	assert_int_equal(parse("{" ROLES ",'distributed':{'kind':'TensorFlow'}}", &spec, &err), 0);
	assert_true(spec.network.hostnames);
	assert_int_equal(spec.distributed.port, 2222);
	assert_int_equal(spec.distributed.processes_per_task, 1);
	assert_int_equal(spec.distributed.role_count, 3);
	assert_int_equal(spec.distributed.roles[2], 2);
	framework_spec_free(&spec);

	assert_int_equal(parse("{" ROLES ",'network':null,'distributed':{'kind':'PyTorch','port':7,'processesPerTask':"
			       "'auto','taskRoles':['worker','chief']}}",
			       &spec, &err),
			 0);
	assert_int_equal(spec.distributed.port, 7);
	assert_int_equal(spec.distributed.processes_per_task, 0);
	assert_int_equal(spec.distributed.role_count, 2);
	assert_int_equal(spec.distributed.roles[0], 1);
	framework_spec_free(&spec);
}

static void test_refused(void **state)
{
	static const char label[] = ", expected a name like ^[a-z]([-a-z0-9]*[a-z0-9])?$ of at most 63 characters";
	static const char *const labels[] = {
		"",    "1a", "a-",
		"A",   "-a", "a.b",
		"a_b", "a/", "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-abcdefghijk"};

	(void)state;
	assert_refused("{'network':true}", "spec.network is true, expected an object");
	assert_refused("{'network':{'enableDNSHostnames':'no'}}",
		       "spec.network.enableDNSHostnames is \"no\", expected true or false");
	assert_refused("{'network':{'publishNotReadyAddresses':1}}",
		       "spec.network.publishNotReadyAddresses is 1, expected true or false");
	assert_refused("{'network':{'subdomain':7}}", "spec.network.subdomain is 7, expected a string");
	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		cleanup_free char *text = mem_printf("{'network':{'subdomain':'%s'}}", labels[i]);
		cleanup_free char *message = mem_printf("spec.network.subdomain is \"%s\"%s", labels[i], label);

		assert_refused(text, message);
	}
	assert_refused("{'placement':'rack'}", "spec.placement is \"rack\", expected an object");
	assert_refused("{'placement':{'exclusiveTopologyKey':1}}",
		       "spec.placement.exclusiveTopologyKey is 1, expected a string");
	assert_refused("{'placement':{'exclusiveTopologyKey':'a b'}}",
		       "spec.placement.exclusiveTopologyKey is \"a b\", expected the key of a node label");
	assert_refused("{'distributed':[]}", "spec.distributed is [], expected an object");
	assert_refused("{'distributed':{}}",
		       "spec.distributed.kind is missing, expected \"TensorFlow\", \"PyTorch\" or \"JAX\"");
	assert_refused("{'distributed':{'kind':'MPI'}}",
		       "spec.distributed.kind is \"MPI\", expected \"TensorFlow\", \"PyTorch\" or \"JAX\"");
	assert_refused("{'distributed':{'kind':'JAX','port':0}}",
		       "spec.distributed.port is 0, expected an integer in 1..65535");
	assert_refused("{'distributed':{'kind':'PyTorch','processesPerTask':0}}",
		       "spec.distributed.processesPerTask is 0, expected an integer in 1..2147483647");
	assert_refused("{'distributed':{'kind':'PyTorch','processesPerTask':'gpu'}}",
		       "spec.distributed.processesPerTask is \"gpu\", expected an integer of 1 or more, or \"auto\"");
	assert_refused("{'distributed':{'kind':'JAX','processesPerTask':2}}",
		       "spec.distributed.processesPerTask is 2, expected 1: only PyTorch starts more processes in a "
		       "Task");
	assert_refused("{'distributed':{'kind':'TensorFlow','processesPerTask':'auto'}}",
		       "spec.distributed.processesPerTask is \"auto\", expected an integer in 1..2147483647");
	assert_refused("{" ROLES ",'distributed':{'kind':'JAX','taskRoles':[]}}",
		       "spec.distributed.taskRoles is [], expected at least one TaskRole");
	assert_refused("{" ROLES ",'distributed':{'kind':'JAX','taskRoles':['chief','ps']}}",
		       "spec.distributed.taskRoles[1] is \"ps\", expected the name of a TaskRole of this Framework");
	assert_refused("{" ROLES ",'distributed':{'kind':'JAX','taskRoles':[0]}}",
		       "spec.distributed.taskRoles[0] is 0, expected the name of a TaskRole of this Framework");
	assert_refused("{" ROLES ",'distributed':{'kind':'JAX','taskRoles':['worker','worker']}}",
		       "spec.distributed.taskRoles[1] is \"worker\", expected each TaskRole at most once");
	assert_refused(
		"{" ROLES ",'network':{'enableDNSHostnames':false},'distributed':{'kind':'JAX'}}",
		"spec.network.enableDNSHostnames is false, expected true: spec.distributed needs the names of the "
		"Pods");
}

static void check_names(const char *text, const char *name, const char *message)
{
	struct framework_spec spec;
	struct error err;
	int found;

	assert_int_equal(parse(text, &spec, &err), 0);
	found = framework_spec_check_names(&spec, name, &err);
	if (message == NULL && found < 0)
		fail_msg("%s", err.message);
	if (message != NULL) {
		assert_int_equal(found, -1);
		assert_string_equal(err.message, message);
	}
	framework_spec_free(&spec);
}

static void test_names(void **state)
{
	static const char role61[] = "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxy";
	cleanup_free char *fits = mem_printf("{'network':{},'taskRoles':[{'name':'%s','taskNumber':10}]}", role61);
	cleanup_free char *longer = mem_printf("{'network':{},'taskRoles':[{'name':'%s','taskNumber':11}]}", role61);
	cleanup_free char *unasked = mem_printf("{'taskRoles':[{'name':'%s','taskNumber':11}]}", role61);
	cleanup_free char *message = mem_printf(
		"spec.taskRoles[0].name is \"%s\", expected at most 60 characters: with spec.network its Pods have "
		"hostnames like %s-0, which have at most 63",
		role61, role61);

	(void)state;
	assert_int_equal(strlen(role61), 61);
	check_names("{'network':{}}", "f", NULL);
	check_names("{}", "1f", NULL);
	check_names("{'network':{'subdomain':'f'}}", "1f", NULL);
	check_names("{'network':{'enableDNSHostnames':false}}", "1f", NULL);
	check_names(
		"{'network':{}}", "1f",
		"spec.network.subdomain is missing, and metadata.name is \"1f\", which no Service can have: expected "
		"a subdomain, a name like ^[a-z]([-a-z0-9]*[a-z0-9])?$ of at most 63 characters");
	check_names(fits, "f", NULL);
	check_names(unasked, "f", NULL);
	check_names(longer, "f", message);
	/* what no program could be started with */
	check_names("{'taskRoles':[{'name':'worker','taskNumber':5000}],'distributed':{'kind':'TensorFlow'}}", "f",
		    NULL);
	check_names("{'taskRoles':[{'name':'worker','taskNumber':10000}],'distributed':{'kind':'JAX'}}", "f", NULL);
	check_names("{'taskRoles':[{'name':'worker','taskNumber':10000}],'distributed':{'kind':'TensorFlow'}}", "f",
		    "spec.distributed: TF_CONFIG would have 208986 bytes with the names of all Tasks, expected at most "
		    "131072, which Linux takes: have fewer Tasks, or a shorter spec.network.subdomain");
}

/* Each TaskRole's template has it: what a small spec may ask for has a bound. */
static void test_many_roles(void **state)
{
	cleanup_buf struct buf text = {0};

	(void)state;
	buf_puts(&text, "{'distributed':{'kind':'TensorFlow'},'taskRoles':[");
	for (int i = 0; i < 500; i++)
		buf_printf(&text, "%s{'name':'r%d','taskNumber':1}", i == 0 ? "" : ",", i);
	buf_puts(&text, "]}");
	check_names(text.data, "f",
		    "spec.distributed: TF_CONFIG would have 2101600 bytes or more in the templates of 500 TaskRoles, "
		    "expected at most 2097152 in all: have fewer TaskRoles or Tasks in it");
}

/* The work is that of one pass over the TaskRoles, of which an object has room for many. */
static void test_no_squares(void **state)
{
	static const char *const kinds[] = {"JAX", "PyTorch"};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		cleanup_buf struct buf text = {0};
		int64_t begin_ms = cpu_ms();

		buf_printf(&text, "{'distributed':{'kind':'%s'},'taskRoles':[{'name':'first','taskNumber':1}",
			   kinds[k]);
		for (int i = 0; i < 25000; i++)
			buf_printf(&text, ",{'name':'r%d'}", i);
		buf_puts(&text, "]}");
		check_names(text.data, "f", NULL);
		assert_true(cpu_ms() - begin_ms < allowed_ms(1000));
	}
}

static void test_label_keys(void **state)
{
	static const char *const good[] = {"a", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "A_b.c-9"};
	static const char *const bad[] = {"",
					  "/",
					  "a/",
					  "/a",
					  "a/b/c",
					  "a b",
					  "-a",
					  "a-",
					  "a_b/c",
					  "a\"b",
					  "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-abcdefghijk"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(label_key_valid(good[i]));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(label_key_valid(bad[i]));
}

#define OWN_TERM "{'labelSelector':{'matchLabels':{'FC_FRAMEWORK_UID':'fw-uid-1'}},'topologyKey':'rack'}"
#define OTHER_TERMS                                                                                                   \
	"{'labelSelector':{'matchExpressions':[{'key':'FC_FRAMEWORK_NAME','operator':'Exists'},{'key':'FC_FRAMEWORK_" \
	"UID','operator':'NotIn','values':['fw-uid-1']}]},'namespaceSelector':{},'topologyKey':'rack'}"
#define REQUIRED "'requiredDuringSchedulingIgnoredDuringExecution'"

/* The template's affinity stays; one of a wrong type is for the API server to refuse. */
static void test_exclusive(void **state)
{
	static const struct {
		const char *affinity; /* of the template, with its name */
		const char *expected;
	} rows[] = {
		{"",
		 "{'podAffinity':{" REQUIRED ":[" OWN_TERM "]},'podAntiAffinity':{" REQUIRED ":[" OTHER_TERMS "]}}"},
		{"'affinity':null,",
		 "{'podAffinity':{" REQUIRED ":[" OWN_TERM "]},'podAntiAffinity':{" REQUIRED ":[" OTHER_TERMS "]}}"},
		{"'affinity':{'nodeAffinity':{'x':1},'podAffinity':{'y':2," REQUIRED ":[3]},'podAntiAffinity':null},",
		 "{'nodeAffinity':{'x':1},'podAffinity':{'y':2," REQUIRED ":[3," OWN_TERM
		 "]},'podAntiAffinity':{" REQUIRED ":[" OTHER_TERMS "]}}"},
		{"'affinity':'yes',", "'yes'"},
		{"'affinity':{'podAffinity':7},", "{'podAffinity':7}"},
		{"'affinity':{'podAntiAffinity':{" REQUIRED ":{}}},", "{'podAntiAffinity':{" REQUIRED ":{}}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *spec = mem_printf("{'placement':{'exclusiveTopologyKey':'rack'},'taskRoles':[{'name'"
						     ":'a','taskNumber':1,'task':{'pod':{"
						     "'spec':{%s'containers':[{'name':'c'}]}}}}]}",
						     rows[i].affinity);
		struct world w;

		world_begin(&w, spec);
		world_settle(&w);
		assert_json(json_at(world_pod(&w, "f-a-0"), "spec.affinity"), rows[i].expected);
		assert_json(json_at(world_pod(&w, "f-a-0"), "metadata.labels.FC_FRAMEWORK_UID"), "'fw-uid-1'");
		world_end(&w);
	}
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

/* "NAME=value\n" of the variables after the controller's own, up to the template's. */
static char *env_of(json_t *container)
{
	enum { OWN = 15 };
	json_t *env = json_object_get(container, "env");
	struct buf out = {0};

	buf_puts(&out, "");
	for (size_t i = OWN; i < json_array_size(env); i++)
		buf_printf(&out, "%s=%s\n", json_str(json_array_get(env, i), "name"),
			   json_str(json_array_get(env, i), "value"));
	return buf_steal(&out);
}

static json_t *render(struct world *w, size_t role, size_t index)
{
	cleanup_buf struct buf text = {0};
	struct error err;
	json_t *body;

	pod_template_render(w->framework, role, index, &text);
	body = json_parse(text.data, text.len, &err);
	if (body == NULL)
		fail_msg("%s in %s", err.message, text.data);
	return body;
}

/* roles: names and numbers of Tasks; each has an init container and a container that sets RANK itself. */
static void begin(struct world *w, const char *rest)
{
	cleanup_free char *spec = mem_printf(
		"{'taskRoles':[{'name':'chief','taskNumber':1,'task':{'pod':{'spec':{'initContainers':[{'name':'i'}],"
		"'containers':[{'name':'c','env':[{'name':'RANK','value':'$(PET_NODE_RANK)'}]}]}}}},"
		"{'name':'worker','taskNumber':3,'task':{'pod':{'spec':{'containers':[{'name':'c'}]}}}},"
		"{'name':'board','taskNumber':1,'task':{'pod':{'spec':{'hostname':'own','subdomain':'','containers':["
		"{'name':'c'}]}}}}]%s}",
		rest);

	world_begin(w, spec);
	world_settle(w);
}

static void assert_env(struct world *w, size_t role, size_t index, const char *container, const char *expected)
{
	cleanup_json json_t *body = render(w, role, index);
	cleanup_free char *found = env_of(json_at(body, container));

	assert_string_equal(found, expected);
}

static void test_tensorflow(void **state)
{
	static const char cluster[] = "{\"cluster\":{\"chief\":[\"chief-0.sub:2222\"],\"worker\":[\"worker-0.sub:"
				      "2222\",\"worker-1.sub:2222\","
				      "\"worker-2.sub:2222\"]}";
	cleanup_free char *chief = mem_printf(
		"TF_CONFIG=%s,\"task\":{\"type\":\"chief\",\"index\":0},\"environment\":\"cloud\"}\n", cluster);
	cleanup_free char *last = mem_printf(
		"TF_CONFIG=%s,\"task\":{\"type\":\"worker\",\"index\":2},\"environment\":\"cloud\"}\n", cluster);
	struct world w;

	(void)state;
	begin(&w, ",'network':{'subdomain':'sub'},'distributed':{'kind':'TensorFlow','taskRoles':['chief','worker']}");
	assert_env(&w, 0, 0, "spec.initContainers.0", chief);
	assert_env(&w, 1, 2, "spec.containers.0", last);
	assert_env(&w, 2, 0, "spec.containers.0", ""); /* takes no part */
	world_end(&w);
}

static void test_pytorch(void **state)
{
	struct world w;

	(void)state;
	begin(&w, ",'distributed':{'kind':'PyTorch','processesPerTask':8,'taskRoles':['chief','worker']}");
	assert_env(&w, 1, 1, "spec.containers.0",
		   "MASTER_ADDR=chief-0.f\nMASTER_PORT=29500\nWORLD_SIZE=32\nRANK=2\nPYTHONUNBUFFERED=1\nPET_NNODES=4\n"
		   "PET_NPROC_PER_NODE=8\nPET_NODE_RANK=2\nPET_MASTER_ADDR=chief-0.f\nPET_MASTER_PORT=29500\n");
	/* what the template sets stays the template's, and may refer to ours */
	assert_env(&w, 0, 0, "spec.containers.0",
		   "MASTER_ADDR=chief-0.f\nMASTER_PORT=29500\nWORLD_SIZE=32\nPYTHONUNBUFFERED=1\nPET_NNODES=4\n"
		   "PET_NPROC_PER_NODE=8\nPET_NODE_RANK=0\nPET_MASTER_ADDR=chief-0.f\nPET_MASTER_PORT=29500\n"
		   "RANK=$(PET_NODE_RANK)\n");
	world_end(&w);

	begin(&w,
	      ",'distributed':{'kind':'PyTorch','port':7,'processesPerTask':'auto','taskRoles':['worker','chief']}");
	assert_env(&w, 0, 0, "spec.initContainers.0",
		   "MASTER_ADDR=worker-0.f\nMASTER_PORT=7\nWORLD_SIZE=4\nRANK=3\nPYTHONUNBUFFERED=1\nPET_NNODES=4\n"
		   "PET_NPROC_PER_NODE=auto\nPET_NODE_RANK=3\nPET_MASTER_ADDR=worker-0.f\nPET_MASTER_PORT=7\n");
	world_end(&w);
}

static void test_jax(void **state)
{
	struct world w;

	(void)state;
	begin(&w, ",'distributed':{'kind':'JAX'}");
	assert_env(&w, 1, 2, "spec.containers.0",
		   "JAX_COORDINATOR_ADDRESS=chief-0.f:29500\nJAX_NUM_PROCESSES=5\nJAX_PROCESS_ID=3\n"
		   "COORDINATOR_ADDRESS=chief-0.f\nCOORDINATOR_PORT=29500\nNUM_PROCESSES=5\nPROCESS_ID=3\n");
	/* its own hostname stays; an empty subdomain is none */
	{
		cleanup_json json_t *body = render(&w, 2, 0);

		assert_json(json_at(body, "spec.hostname"), "'own'");
		assert_json(json_at(body, "spec.subdomain"), "'f'");
	}
	world_end(&w);
}

/* Rank 0 is the first Task that there is; a rescale counts for what is created from then on. */
static void test_rescaled(void **state)
{
	static const char spec[] =
		"{'distributed':{'kind':'JAX'},'taskRoles':[{'name':'none'},{'name':'a','taskNumber':%d,"
		"'task':{'pod':{'spec':{'containers':[{'name':'c'}]}}}}]}";
	cleanup_free char *before = mem_printf(spec, 1);
	cleanup_free char *after = mem_printf(spec, 2);
	struct world w;

	(void)state;
	world_begin(&w, before);
	world_settle(&w);
	world_edit(&w, after);
	world_settle(&w);
	assert_json(json_at(world_pod(&w, "f-a-0"), "spec.containers.0.env.15"),
		    "{'name':'JAX_COORDINATOR_ADDRESS','value':'a-0.f:29500'}");
	assert_json(json_at(world_pod(&w, "f-a-0"), "spec.containers.0.env.16.value"), "'1'");
	assert_json(json_at(world_pod(&w, "f-a-1"), "spec.containers.0.env.16.value"), "'2'");
	assert_json(json_at(world_pod(&w, "f-a-1"), "spec.containers.0.env.17.value"), "'1'");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),       cmocka_unit_test(test_refused),    cmocka_unit_test(test_names),
		cmocka_unit_test(test_tensorflow), cmocka_unit_test(test_pytorch),    cmocka_unit_test(test_jax),
		cmocka_unit_test(test_rescaled),   cmocka_unit_test(test_many_roles), cmocka_unit_test(test_label_keys),
		cmocka_unit_test(test_exclusive),  cmocka_unit_test(test_no_squares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
