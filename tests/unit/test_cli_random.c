/* The views of kubectl framework on objects that nobody would write: Frameworks, Pods and Events in which any value may
 * be any other. They neither crash nor read what is not theirs: the sanitizers look. */
#include "cli/view/retry.h"
#include "cli/view/scale.h"
#include "cli/view/svg.h"
#include "cli/view/timeline.h"
#include "cli/view/tree.h"
#include "cli/view/why.h"
#include "common/base/clock.h"
#include "common/base/random.h"
#include "tests/unit/cli_world.h"

enum { ROUNDS = 3000 };

/* Clocks differ, and are set back. */
static json_t *odd_time(struct random *random)
{
	char text[TIME_RFC3339_SIZE];

	time_format_rfc3339(random_between(random, CLI_NOW - 3600, CLI_NOW + 60), text);
	return json_string(text);
}

static json_t *odd_value(struct random *random)
{
	switch (random_between(random, 0, 12)) {
	case 0: return json_null();
	case 1: return json_integer((json_int_t)random_u64(random));
	case 2: return json_integer(-1);
	case 3: return json_string("");
	case 4: return json_string("a\033[31m\nb\342\200\256");
	case 5: return json_true();
	case 6: return json_array();
	case 7: return json_object();
	case 8: return json_string("Completed");
	case 9:
	case 10:
	case 11: return odd_time(random);
	default: return json_real(1e300);
	}
}

/* Puts an odd value in the place of some others, at any depth. */
static void spoil(json_t *value, struct random *random, int odds)
{
	const char *name;
	json_t *item;
	void *next;
	size_t i;

	json_object_foreach_safe(value, next, name, item) {
		if (random_between(random, 1, odds) == 1)
			json_object_set_new(value, name, odd_value(random));
		else if (random_between(random, 1, odds) == 1)
			json_object_del(value, name);
		else
			spoil(item, random, odds);
	}
	json_array_foreach(value, i, item) {
		if (random_between(random, 1, odds) == 1)
			json_array_set_new(value, i, odd_value(random));
		else
			spoil(item, random, odds);
	}
}

#define FRAMEWORK                                                                                                      \
	"{'metadata':{'name':'f','namespace':'ns','uid':'u','generation':2,'creationTimestamp':'" CLI_BEGIN            \
	"','labels':{'a':'b'},'annotations':{'c':'d'},'finalizers':['foregroundDeletion']},'spec':{'executionType':'"  \
	"Start',"                                                                                                      \
	"'suspend':false,'podFailureSpec':[{'code':7,'phrase':'P','podPatterns':[{'reasonRegex':'x'}]}],'retryPolicy'" \
	":{"                                                                                                           \
	"'fancyRetryPolicy':true,'maxRetryCount':3},'taskRoles':[{'name':'a','taskNumber':3,'"                         \
	"frameworkAttemptCompletionPolicy':"                                                                           \
	"{'minFailedTaskCount':1,'minSucceededTaskCount':3}}]},'status':{'observedGeneration':1,'startTime':"          \
	"'" CLI_BEGIN "','state':'%s','transitionTime':'" CLI_BEGIN "','retryPolicyStatus':{'totalRetriedCount':1,"    \
	"'accountableRetriedCount':1,'retryDelaySec':60},'attemptStatus':{'id':1,'startTime':'" CLI_BEGIN              \
	"','completionTime':'" CLI_BEGIN                                                                               \
	"','instanceUID':'1_c','configMapUID':'c','completionStatus':{'code':7,'phrase':'P',"                          \
	"'type':{'name':'Failed','attributes':['Transient']},'diagnostics':'Pod failed: PodPattern matched: "          \
	"{}','trigger':{"                                                                                              \
	"'message':'m','taskRoleName':'a','taskIndex':0}},'taskRoleStatuses':[{'name':'a','instanceUID':'r','"         \
	"taskStatuses':["                                                                                              \
	"{'index':0,'instanceUID':'t','startTime':'" CLI_BEGIN "','state':'Completed','transitionTime':'" CLI_BEGIN    \
	"','deletionPending':false,'retryPolicyStatus':{'totalRetriedCount':2},'attemptStatus':{'id':2,'startTime':"   \
	"'" CLI_BEGIN "','podUID':'p','instanceUID':'2_p','podName':'f-a-0','podNodeName':'n','podIP':'10.0.0.1','"    \
	"completionStatus':{'code':7,"                                                                                 \
	"'phrase':'P','type':{'name':'Failed','attributes':[]},'diagnostics':'d','pod':{'reason':'r','containers':[{'" \
	"name':'c',"                                                                                                   \
	"'code':7,'message':'x\\ny','signal':9}]}}}},{'index':1,'instanceUID':'t','state':'AttemptPreparing','"        \
	"retryPolicyStatus':"                                                                                          \
	"{},'attemptStatus':{'id':0}},{'index':2,'instanceUID':'t','state':'AttemptCreationPending','"                 \
	"retryPolicyStatus':{},"                                                                                       \
	"'attemptStatus':{'id':0}}]}]}}}"

#define POD                                                                                                            \
	"{'metadata':{'name':'f-a-1','uid':'p','labels':{'FC_TASKROLE_NAME':'a'},'annotations':{'FC_FRAMEWORK_NAME':'" \
	"f'},"                                                                                                         \
	"'ownerReferences':[{'controller':true,'uid':'c'}],'finalizers':['x']},'spec':{'nodeName':'n','"               \
	"initContainers':[{"                                                                                           \
	"'name':'i','image':'frameworkbarrier'}],'schedulingGates':[{'name':'g'}]},'status':{'phase':'Pending','"      \
	"conditions':[{"                                                                                               \
	"'type':'Ready','status':'True'},{'type':'PodScheduled','status':'False','reason':'Unschedulable','message':'" \
	"m'}],"                                                                                                        \
	"'initContainerStatuses':[{'name':'i','state':{'running':{}}}],'containerStatuses':[{'name':'c','state':{'"    \
	"waiting':{"                                                                                                   \
	"'reason':'ErrImagePull','message':'m'}}}]}}"

#define EVENT                                                                    \
	"{'reason':'NamingConflict','message':'Task a[1] waits: Unschedulable: " \
	"x','type':'Warning','count':3,'lastTimestamp':"                         \
	"'2026-01-01T00:30:00Z','firstTimestamp':null}"

static json_t *spoiled(const char *text, struct random *random)
{
	json_t *value = cli_json(text);

	spoil(value, random, (int)random_between(random, 4, 200));
	return value;
}

static void look(const struct inquiry *inquiry)
{
	cleanup_buf struct buf svg = {0}, log = {0};
	struct timeline timeline;
	struct tree_node tree;
	cleanup_json json_t *why_value = NULL, *tree_value = NULL, *timeline_value = NULL;
	struct why why;

	why_explain(inquiry, &why);
	assert_true(why.answer != NULL && why.brief != NULL && *why.kind != '\0');
	why_value = why_json(inquiry->framework, &why);
	assert_non_null(why_value);
	why_free(&why);
	tree_build(inquiry, false, false, &tree);
	tree_value = tree_json(&tree);
	tree_free(&tree);
	buf_puts(&log, "x: ObjectSnapshot: ");
	buf_puts(&log, "{\"kind\":\"Task\",\"metadata\":{\"annotations\":{\"FC_FRAMEWORK_UID\":\"u\",\"FC_TASKROLE_"
		       "NAME\":7}}}\n");
	timeline_build(inquiry, log.data, log.len, &timeline);
	svg_write(&svg, &timeline);
	timeline_value = timeline_json(&timeline);
	timeline_free(&timeline);
}

static void test_random(void **state)
{
	struct random random;
	int readable = 0;

	(void)state;
	random_init_seed(&random, 7);
	for (int i = 0; i < ROUNDS; i++) {
		const char *name = attempt_state_name((enum attempt_state)random_between(&random, 0, STATE_COUNT - 1));
		cleanup_buf struct buf text = {0};
		cleanup_json json_t *object = NULL, *pod = spoiled(POD, &random), *event = spoiled(EVENT, &random);
		cleanup_json json_t *patch = NULL, *again = NULL;
		struct pod_views pods = {0};
		struct event_views events = {0};
		struct framework_view view;

		buf_printf(&text, FRAMEWORK, name);
		object = spoiled(text.data, &random);
		pod_views_add(&pods, pod);
		event_views_add(&events, event);
		event_views_sort(&events);
		if (framework_view_read(object, &view, NULL) == 0)
			look(&(const struct inquiry){.framework = &view,
						     .pods = i % 3 == 0 ? NULL : &pods,
						     .events = i % 5 == 0 ? NULL : &events,
						     .config_map_known = true,
						     .config_map = i % 2 == 0 ? pod : NULL,
						     .lease = i % 7 == 0 ? event : NULL,
						     .stale = i % 4 == 0,
						     .now = CLI_NOW});
		readable += view.begun && view.problem == NULL ? 1 : 0;
		framework_view_free(&view);
		patch = scale_patch(object, (struct scale_wish[]){{"a", 5}}, 1, true, NULL, &(struct error){0});
		again = retry_object(object, "g");
		pod_views_free(&pods);
		event_views_free(&events);
	}
	/* (the others are malformed, and told so) */
	assert_in_range(readable, ROUNDS / 10, ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("cli_random", tests, NULL, NULL);
}
