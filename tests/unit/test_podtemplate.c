/* Pod bodies (CONTRACT.md §4): the original's golden Pods, placeholders in values and keys, the environment's order,
 * and that everything else reaches the API server as the user wrote it. */
#include <time.h>

#include "reconciler/sync/podtemplate.h"
#include "tests/unit/sync_world.h"

/* A Framework of one role "a" whose ConfigMap is there and whose Pods are about to be created from the template. */
static void begin_with(struct world *w, int tasks, const char *pod)
{
	cleanup_free char *spec = mem_printf("{'taskRoles':[{'name':'a','taskNumber':%d,'task':{'pod':%s}}]}", tasks,
					     pod);

	world_begin(w, spec);
	world_reconcile(w);
	world_write(w);
	world_reconcile(w);
	world_carry(w);
	world_reconcile(w);
}

static json_t *render(struct world *w, size_t index)
{
	cleanup_buf struct buf text = {0};
	struct error err;
	json_t *body;

	pod_template_render(w->framework, 0, index, &text);
	body = json_parse(text.data, text.len, &err);
	if (body == NULL)
		fail_msg("%s in %s", err.message, text.data);
	return body;
}

static json_t *body_of(const char *pod)
{
	struct world w;
	json_t *body;

	begin_with(&w, 1, pod);
	body = render(&w, 0);
	world_end(&w);
	return body;
}

/* ---- the original's Pods ----------------------------------------------------------------------------------------- */

/* Members that the API server filled in, in the golden Pod and not in the template. */
static void drop_defaults(json_t *spec)
{
	static const char *const lists[] = {"containers", "initContainers"};
	static const char *const names[] = {"terminationMessagePath", "resources", "imagePullPolicy"};

	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		size_t i;
		json_t *container;

		json_array_foreach(json_object_get(spec, lists[l]), i, container) {
			for (size_t n = 0; n < ARRAY_LEN(names); n++)
				json_object_del(container, names[n]);
			json_object_del(json_at(container, "env.13.valueFrom.fieldRef"), "apiVersion");
		}
	}
}

/* UIDs → UID, namespace → NS, as the golden file says. */
static json_t *normalised(struct world *w, const json_t *value)
{
	const char *const uids[] = {
		w->framework->uid,
		w->framework->status.attempt.config_map_uid,
		w->framework->status.attempt.roles[0].instance_uid,
		world_task(w, 0, 0)->instance_uid,
		world_task(w, 0, 1)->instance_uid,
	};
	const char *text = json_string_value(value);
	const char *name;
	json_t *member;
	json_t *out;
	size_t i;

	if (json_is_object(value)) {
		out = json_object();
		json_object_foreach((json_t *)(uintptr_t)value, name, member)
			json_object_set_new(out, name, normalised(w, member));
		return out;
	}
	if (json_is_array(value)) {
		out = json_array();
		json_array_foreach(value, i, member)
			json_array_append_new(out, normalised(w, member));
		return out;
	}
	if (text == NULL)
		return json_deep_copy(value);
	for (i = 0; i < ARRAY_LEN(uids); i++) {
		const char *at = strstr(text, uids[i]);

		if (at != NULL)
			return json_sprintf("%.*sUID", (int)(at - text), text);
	}
	if (strlen(text) >= 2 && strcmp(text + strlen(text) - 2, WORLD_NS) == 0)
		return json_sprintf("%.*sNS", (int)strlen(text) - 2, text);
	return json_string(text);
}

static void assert_same(struct world *w, const json_t *found, const json_t *wanted)
{
	cleanup_json json_t *ours = normalised(w, found);
	cleanup_free char *ours_text = json_dumps(ours, JSON_SORT_KEYS | JSON_ENCODE_ANY);
	cleanup_free char *theirs_text = json_dumps(wanted, JSON_SORT_KEYS | JSON_ENCODE_ANY);

	assert_string_equal(ours_text, theirs_text);
}

static void take_uid(json_t *owner, const char *uid)
{
	assert_string_equal(json_str(owner, "uid"), uid);
	json_object_del(owner, "uid");
}

static void test_golden(void **state)
{
	json_error_t error;
	cleanup_json json_t *all = json_load_file("tests/unit/data/golden.json", 0, &error);
	json_t *golden = json_at(all, "pod_body.result");
	json_t *meta;
	struct world w;

	(void)state;
	assert_non_null(golden);
	begin_with(&w, 2,
		   "{'metadata':{'labels':{'app':'x'},'annotations':{'note':'task {{FC_TASK_INDEX}} of "
		   "{{FC_FRAMEWORK_NAME}} {{UNKNOWN}}'}},'spec':{'restartPolicy':'Never','hostname':"
		   "'{{FC_TASKROLE_NAME}}-{{FC_TASK_INDEX}}','subdomain':'{{FC_FRAMEWORK_NAME}}','initContainers':[{"
		   "'name':'init','image':'i','terminationMessagePolicy':'File'}],'containers':[{'name':'c','image':"
		   "'img:{{FC_TASKROLE_NAME}}','command':['sh','-c','sleep infinity # {{FC_POD_NAME}} "
		   "{{FC_CONFIGMAP_NAME}} {{FC_FRAMEWORK_NAMESPACE}}'],'env':[{'name':'MINE','value':"
		   "'$(FC_TASK_INDEX)'}]},{'name':'d','image':'i'}]}}");
	assert_json(json_at(w.config_map, "apiVersion"), "'v1'");
	assert_json(json_at(w.config_map, "kind"), "'ConfigMap'");
	assert_null(json_object_get(w.config_map, "data"));
	meta = json_object_get(w.config_map, "metadata");
	take_uid(json_at(meta, "ownerReferences.0"), w.framework->uid);
	for (size_t i = 0; i < 3; i++) {
		static const char *const servers[] = {"uid", "resourceVersion", "namespace"};

		json_object_del(meta, servers[i]);
	}
	assert_same(&w, meta, json_object_get(golden, "cm"));
	for (size_t i = 0; i < 2; i++) {
		cleanup_json json_t *body = render(&w, i);
		json_t *wanted = json_array_get(json_object_get(golden, "pods"), i);

		meta = json_object_get(body, "metadata");
		take_uid(json_at(meta, "ownerReferences.0"), w.framework->status.attempt.config_map_uid);
		drop_defaults(json_object_get(wanted, "spec"));
		assert_same(&w, json_object_get(meta, "annotations"), json_object_get(wanted, "annotations"));
		assert_same(&w, json_object_get(meta, "labels"), json_object_get(wanted, "labels"));
		assert_same(&w, json_object_get(meta, "name"), json_object_get(wanted, "name"));
		assert_same(&w, json_object_get(meta, "ownerReferences"), json_object_get(wanted, "owners"));
		assert_same(&w, json_object_get(body, "spec"), json_object_get(wanted, "spec"));
	}
	world_end(&w);
}

/* What somebody writes into the status becomes the value of a text, and nothing else. */
static void test_uids_of_a_status(void **state)
{
	static const char odd[] = "x\"}],\"y\":[{\"z\":\"\f";
	cleanup_json json_t *body = NULL;
	const json_t *annotations;
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_reconcile(&w);
	mem_replace(&w.framework->status.attempt.instance_uid, odd);
	mem_replace(&w.framework->status.attempt.config_map_uid, odd);
	mem_replace(&w.framework->status.attempt.roles[0].instance_uid, odd);
	mem_replace(&w.framework->status.attempt.roles[0].tasks[0].instance_uid, odd);
	body = render(&w, 0);
	annotations = json_at(body, "metadata.annotations");
	assert_string_equal(json_str(annotations, "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID"), odd);
	assert_string_equal(json_str(annotations, "FC_CONFIGMAP_UID"), odd);
	assert_string_equal(json_str(annotations, "FC_TASKROLE_UID"), odd);
	assert_string_equal(json_str(annotations, "FC_TASK_UID"), odd);
	assert_string_equal(json_str(json_at(body, "metadata.ownerReferences.0"), "uid"), odd);
	world_end(&w);
}

/* ---- placeholders ------------------------------------------------------------------------------------------------ */

static void test_placeholders(void **state)
{
	static const struct {
		const char *text; /* of a JSON string */
		const char *expected;
	} rows[] = {
		{"{{FC_FRAMEWORK_NAMESPACE}}", "ns"},
		{"{{FC_FRAMEWORK_NAME}}", "f"},
		{"{{FC_TASKROLE_NAME}}", "a"},
		{"{{FC_TASK_INDEX}}", "0"},
		{"{{FC_CONFIGMAP_NAME}}", "f-attempt"},
		{"{{FC_POD_NAME}}", "f-a-0"},
		{"x{{FC_POD_NAME}}y{{FC_TASK_INDEX}}{{FC_TASK_INDEX}}z", "xf-a-0y00z"},
		/* any other {{…}} stays as it is */
		{"{{FC_TASK_UID}} {{FC_POD_UID}} {{X}} {{}} {{ FC_TASK_INDEX }}",
		 "{{FC_TASK_UID}} {{FC_POD_UID}} {{X}} {{}} {{ FC_TASK_INDEX }}"},
		{"{{fc_task_index}}", "{{fc_task_index}}"},
		{"{{FC_TASK_INDEX}", "{{FC_TASK_INDEX}"},
		{"{FC_TASK_INDEX}}", "{FC_TASK_INDEX}}"},
		{"{{FC_TASK_INDEX", "{{FC_TASK_INDEX"},
		{"FC_TASK_INDEX}}", "FC_TASK_INDEX}}"},
		{"{{{FC_TASK_INDEX}}}", "{0}"},
		{"{{{{FC_TASK_INDEX}}}}", "{{0}}"},
		{"{{X{{FC_TASK_INDEX}}}}", "{{X0}}"},
		{"{{", "{{"},
		{"}}{{", "}}{{"},
		{"", ""},
		{"\\u00e9{{FC_TASK_INDEX}}\\ud83d\\ude00\\t\\\\", "\xc3\xa9"
								  "0"
								  "\xf0\x9f\x98\x80\t\\"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *pod = mem_printf("{'spec':{'hostname':'%s','list':['%s',{'k':'%s'}]}}", rows[i].text,
						    rows[i].text, rows[i].text);
		cleanup_json json_t *body = body_of(pod);

		assert_string_equal(json_string_value(json_at(body, "spec.hostname")), rows[i].expected);
		assert_string_equal(json_string_value(json_at(body, "spec.list.0")), rows[i].expected);
		assert_string_equal(json_string_value(json_at(body, "spec.list.1.k")), rows[i].expected);
	}
}

/* Each Task has its own values; keys are strings, too; a NUL in a value survives. */
static void test_placeholders_elsewhere(void **state)
{
	struct world w;
	cleanup_json json_t *body = NULL;

	(void)state;
	begin_with(&w, 12,
		   "{'metadata':{'labels':{'r-{{FC_TASK_INDEX}}':'{{FC_POD_NAME}}'},'annotations':{"
		   "'{{FC_FRAMEWORK_NAME}}/x':'y'},'finalizers':['{{FC_TASKROLE_NAME}}/z']},'spec':{'nodeSelector':{"
		   "'{{FC_TASKROLE_NAME}}':'v'},'containers':[{'name':'n{{FC_TASK_INDEX}}','env':[{'name':"
		   "'E{{FC_TASK_INDEX}}','value':'a\\u0000{{FC_TASK_INDEX}}b'}]}]}}");
	body = render(&w, 11);
	assert_json(json_at(body, "metadata.labels"),
		    "{'r-11':'f-a-11','FC_FRAMEWORK_NAME':'f','FC_TASKROLE_NAME':'a','FC_TASK_INDEX':'11'}");
	assert_json(json_at(body, "metadata.annotations.f/x"), "'y'");
	assert_json(json_at(body, "metadata.finalizers"), "['a/z']");
	assert_json(json_at(body, "spec.nodeSelector"), "{'a':'v'}");
	assert_json(json_at(body, "spec.containers.0.name"), "'n11'");
	assert_json(json_at(body, "spec.containers.0.env.15.name"), "'E11'");
	assert_int_equal(json_string_length(json_at(body, "spec.containers.0.env.15.value")), 5);
	assert_memory_equal(json_string_value(json_at(body, "spec.containers.0.env.15.value")),
			    "a\0"
			    "11b",
			    5);
	world_end(&w);
}

/* A hostile template costs no more than its size. */
static void test_many_braces(void **state)
{
	enum { BRACES = 300 * 1024 };
	cleanup_free char *braces = mem_alloc(BRACES + 1);
	cleanup_free char *pod = NULL;
	cleanup_json json_t *body = NULL;
	clock_t start;

	(void)state;
	memset(braces, '{', BRACES);
	braces[BRACES] = '\0';
	pod = mem_printf("{'spec':{'hostname':'%s}}'}}", braces);
	start = clock();
	body = body_of(pod);
	assert_int_equal(json_string_length(json_at(body, "spec.hostname")), BRACES + 2);
	/* Quadratic would be minutes under a sanitizer and seconds without, linear is milliseconds. */
	assert_true((clock() - start) / CLOCKS_PER_SEC < 2);
}

/* ---- what the controller puts in --------------------------------------------------------------------------------- */

static void test_environment(void **state)
{
	static const char *const names[] = {
		FC_FRAMEWORK_NAMESPACE,
		FC_FRAMEWORK_NAME,
		FC_TASKROLE_NAME,
		FC_TASK_INDEX,
		FC_CONFIGMAP_NAME,
		FC_POD_NAME,
		FC_FRAMEWORK_UID,
		FC_FRAMEWORK_ATTEMPT_ID,
		FC_FRAMEWORK_ATTEMPT_INSTANCE_UID,
		FC_CONFIGMAP_UID,
		FC_TASKROLE_UID,
		FC_TASK_UID,
		FC_TASK_ATTEMPT_ID,
		FC_POD_UID,
		FC_TASK_ATTEMPT_INSTANCE_UID,
	};
	struct world w;
	cleanup_json json_t *body = NULL;
	static const char *const paths[] = {"spec.initContainers.0.env", "spec.containers.0.env",
					    "spec.containers.1.env"};

	(void)state;
	begin_with(&w, 1,
		   "{'spec':{'initContainers':[{'name':'i','env':null}],'containers':[{'name':'c','env':[{'name':'A',"
		   "'value':'1'},{'name':'FC_TASK_INDEX','value':'mine'}],'terminationMessagePolicy':'File'},{'name':"
		   "'d','terminationMessagePolicy':null}]}}");
	body = render(&w, 0);
	for (size_t p = 0; p < ARRAY_LEN(paths); p++) {
		const json_t *env = json_at(body, paths[p]);

		assert_int_equal(json_array_size(env), p == 1 ? 17 : 15);
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			assert_string_equal(json_str(json_array_get(env, i), "name"), names[i]);
		assert_json(json_array_get(env, 13),
			    "{'name':'FC_POD_UID','valueFrom':{'fieldRef':{'fieldPath':'metadata.uid'}}}");
		assert_json(json_array_get(env, 14),
			    "{'name':'FC_TASK_ATTEMPT_INSTANCE_UID','value':'0_$(FC_POD_UID)'}");
		assert_string_equal(json_str(json_array_get(env, 11), "value"), world_task(&w, 0, 0)->instance_uid);
		assert_string_equal(json_str(json_array_get(env, 8), "value"), "0_cm-uid-2");
	}
	/* The user's come after, so that theirs can refer to ours, and win. */
	assert_json(json_at(body, "spec.containers.0.env.15"), "{'name':'A','value':'1'}");
	assert_json(json_at(body, "spec.containers.0.env.16"), "{'name':'FC_TASK_INDEX','value':'mine'}");
	assert_json(json_at(body, "spec.containers.0.terminationMessagePolicy"), "'File'");
	assert_json(json_at(body, "spec.containers.1.terminationMessagePolicy"), "'FallbackToLogsOnError'");
	assert_json(json_at(body, "spec.initContainers.0.terminationMessagePolicy"), "'FallbackToLogsOnError'");
	world_end(&w);
}

/* Only metadata and spec are used; our names win over the template's. */
static void test_overwritten(void **state)
{
	struct world w;
	cleanup_json json_t *body = NULL;

	(void)state;
	begin_with(
		&w, 1,
		"{'apiVersion':'v9','kind':'Mine','status':{'phase':'Running'},'metadata':{'name':'x','namespace':'y',"
		"'generateName':'g','labels':{'FC_TASK_INDEX':'9','k':'v'},'annotations':{'FC_TASK_UID':'9','a':'b'},"
		"'ownerReferences':[{'kind':'X','uid':'{{FC_POD_NAME}}'}]},'spec':{}}");
	body = render(&w, 0);
	assert_json(json_at(body, "apiVersion"), "'v1'");
	assert_json(json_at(body, "kind"), "'Pod'");
	assert_null(json_at(body, "status"));
	assert_json(json_at(body, "metadata.name"), "'f-a-0'");
	assert_json(json_at(body, "metadata.namespace"), "'ns'");
	assert_json(json_at(body, "metadata.generateName"), "'g'");
	assert_json(json_at(body, "metadata.labels.FC_TASK_INDEX"), "'0'");
	assert_json(json_at(body, "metadata.labels.k"), "'v'");
	assert_json(json_at(body, "metadata.annotations.a"), "'b'");
	assert_int_equal(json_object_size(json_at(body, "metadata.annotations")), 14);
	assert_string_equal(json_string_value(json_at(body, "metadata.annotations.FC_TASK_UID")),
			    world_task(&w, 0, 0)->instance_uid);
	assert_json(json_at(body, "metadata.ownerReferences.0"), "{'kind':'X','uid':'f-a-0'}");
	assert_json(json_at(body, "metadata.ownerReferences.1"),
		    "{'apiVersion':'v1','kind':'ConfigMap','name':'f-attempt','uid':'cm-uid-2','controller':true,"
		    "'blockOwnerDeletion':true}");
	world_end(&w);
}

/* Values of the wrong type and fields that do not exist reach the API server as the user wrote them (CONTRACT.md §19).
 */
static void test_passed_through(void **state)
{
	static const struct {
		const char *pod;
		const char *path;
		const char *expected;
	} rows[] = {
		{"{'spec':{'hostNetwork':'true','noSuchField':{'a':[1,null,true,0.5]}}}", "spec",
		 "{'hostNetwork':'true','noSuchField':{'a':[1,null,true,0.5]}}"},
		{"{'spec':{'containers':[{'env':'text'}]}}", "spec.containers.0.env", "'text'"},
		{"{'spec':{'containers':[{'env':{'a':1}}]}}", "spec.containers.0.env", "{'a':1}"},
		{"{'spec':{'containers':[{'env':[7,null]}]}}", "spec.containers.0.env.15", "7"},
		{"{'spec':{'containers':['text',5]}}", "spec.containers", "['text',5]"},
		{"{'spec':{'containers':'{{FC_TASK_INDEX}}'}}", "spec.containers", "'0'"},
		{"{'spec':{'containers':[{'env':[{'name':'A','value':5}]}]}}", "spec.containers.0.env.15",
		 "{'name':'A','value':5}"},
		{"{'spec':'text'}", "spec", "'text'"},
		{"{'metadata':{'labels':'text'}}", "metadata.labels", "'text'"},
		{"{'metadata':{'annotations':[1]}}", "metadata.annotations", "[1]"},
		{"{'metadata':{'labels':{'a':5}}}", "metadata.labels.a", "5"},
		{"{'metadata':{'labels':null}}", "metadata.labels.FC_TASK_INDEX", "'0'"},
		{"{'metadata':{'ownerReferences':'x'}}", "metadata.ownerReferences", "'x'"},
		{"{'metadata':'text','spec':{}}", "metadata", "'text'"},
		{"null", "metadata.name", "'f-a-0'"},
		{"[]", "metadata.name", "'f-a-0'"},
		{"{'spec':{'a':9007199254740993,'b':-9223372036854775807}}", "spec",
		 "{'a':9007199254740993,'b':-9223372036854775807}"},
		{"{'spec':{'<&>':'<&>'}}", "spec", "{'<&>':'<&>'}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_json json_t *body = body_of(rows[i].pod);

		assert_json(json_at(body, rows[i].path), rows[i].expected);
	}
}

/* Where the template sets no policy, ours is set; "" sets none, and what is no policy is for the API server to refuse.
 */
static void test_termination_message_policy(void **state)
{
	static const struct {
		const char *container;
		const char *expected;
	} rows[] = {
		{"{'name':'c'}", "'FallbackToLogsOnError'"},
		{"{'name':'c','terminationMessagePolicy':null}", "'FallbackToLogsOnError'"},
		{"{'name':'c','terminationMessagePolicy':''}", "'FallbackToLogsOnError'"},
		{"{'name':'c','terminationMessagePolicy':'File'}", "'File'"},
		{"{'name':'c','terminationMessagePolicy':' '}", "' '"},
		{"{'name':'c','terminationMessagePolicy':0}", "0"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *pod = mem_printf("{'spec':{'containers':[%s],'initContainers':[%s]}}",
						    rows[i].container, rows[i].container);
		cleanup_json json_t *body = body_of(pod);

		assert_json(json_at(body, "spec.containers.0.terminationMessagePolicy"), rows[i].expected);
		assert_json(json_at(body, "spec.initContainers.0.terminationMessagePolicy"), rows[i].expected);
	}
}

/* An edited template is what the next Pod is made of; the one that is there stays as it is. */
static void test_edited(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[{'name':'a','taskNumber':1,'task':{'retryPolicy':{'maxRetryCount':-2},'pod':{"
			"'spec':{'containers':[{'image':'one'}]}}}}]}");
	world_settle(&w);
	assert_json(json_at(world_pod(&w, "f-a-0"), "spec.containers.0.image"), "'one'");
	world_edit(&w, "{'taskRoles':[{'name':'z'},{'name':'a','taskNumber':1,'task':{'retryPolicy':{'maxRetryCount':"
		       "-2},'pod':{'spec':{'containers':[{'image':'two'}]}}}}]}");
	world_settle(&w);
	assert_json(json_at(world_pod(&w, "f-a-0"), "spec.containers.0.image"), "'one'");
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	assert_json(json_at(world_pod(&w, "f-a-0"), "spec.containers.0.image"), "'two'");
	assert_json(json_at(world_pod(&w, "f-a-0"), "metadata.annotations.FC_TASK_ATTEMPT_ID"), "'1'");
	world_end(&w);
}

/* Small to store, but with 1 KB of ours for each container larger than any request that the API server takes. */
static void test_too_large(void **state)
{
	cleanup_buf struct buf spec = {0};
	struct world w;

	(void)state;
	buf_puts(&spec, "{'taskRoles':[{'name':'a','taskNumber':2,'task':{'pod':{'spec':{'containers':[{}");
	for (int i = 0; i < 6000; i++)
		buf_puts(&spec, ",{}");
	buf_puts(&spec, "]}}}}]}");
	world_begin(&w, spec.data);
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_POD_CREATION_PERMANENT_ERROR);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_uids_of_a_status),
		cmocka_unit_test(test_placeholders),
		cmocka_unit_test(test_placeholders_elsewhere),
		cmocka_unit_test(test_many_braces),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_overwritten),
		cmocka_unit_test(test_passed_through),
		cmocka_unit_test(test_termination_message_policy),
		cmocka_unit_test(test_edited),
		cmocka_unit_test(test_too_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
