/* Watches of the test API server: where they start, what they see through a selector, how they end. */
#include "tests/unit/testapi_fixture.h"
#include "tests/unit/proto.h"

#define CMS NS "/configmaps"
#define WATCH_LIST "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"

/* The events a watch has to give now, parsed; the array is the caller's. */
static json_t *read_events(struct api_watch *watch, ssize_t *last)
{
	json_t *events = json_array();
	cleanup_buf struct buf text = {0};
	char chunk[37]; /* small, so that events come in pieces */
	char *state = NULL;

	while ((*last = api_watch_read(watch, chunk, sizeof(chunk))) > 0)
		buf_append(&text, chunk, (size_t)*last);
	if (text.len > 0)
		for (char *line = strtok_r(text.data, "\n", &state); line != NULL;
		     line = strtok_r(NULL, "\n", &state)) {
			json_t *event = json_parse(line, strlen(line), NULL);

			json_array_append_new(events, event == NULL ? json_string(line) : event);
		}
	return events;
}

/* Reads and compares with "TYPE name,TYPE name". */
static void expect_events(struct api_watch *watch, const char *wanted, ssize_t wanted_last)
{
	ssize_t last;
	cleanup_json json_t *events = read_events(watch, &last);
	cleanup_buf struct buf seen = {0};
	size_t index;
	const json_t *event;

	json_array_foreach(events, index, event) {
		const char *name = json_str(json_path(event, "object", "metadata", NULL), "name");

		buf_printf(&seen, "%s%s%s%s", index > 0 ? "," : "",
			   json_is_string(event) ? "half" : json_str(event, "type"), name == NULL ? "" : " ",
			   name == NULL ? "" : name);
	}
	assert_string_equal(seen.data == NULL ? "" : seen.data, wanted);
	assert_int_equal(last, wanted_last);
}

static struct api_watch *watch_of(struct fixture *f, const char *query)
{
	cleanup_free char *url = mem_printf(CMS "?watch=1&%s", query);
	struct api_watch *watch;

	expect_call(f, 200, "GET", url, NULL);
	watch = f->answer.watch;
	f->answer.watch = NULL;
	assert_non_null(watch);
	return watch;
}

static void create(struct fixture *f, const char *name, const char *labels)
{
	cleanup_free char *body = mem_printf("{\"metadata\":{\"name\":\"%s\",\"labels\":%s}}", name, labels);

	f->local.content_type = NULL;
	expect_call(f, 201, "POST", CMS, body);
}

static void patch(struct fixture *f, const char *name, const char *body)
{
	cleanup_free char *url = mem_printf(CMS "/%s", name);

	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", url, body);
	f->local.content_type = NULL;
}

static void starts_from_what_is_there(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;

	create(f, "b", "{}");
	create(f, "a", "{}");
	watch = watch_of(f, "");
	expect_events(watch, "ADDED a,ADDED b", WATCH_NOTHING);
	patch(f, "a", "{\"data\":{\"k\":\"v\"}}");
	expect_call(f, 200, "DELETE", CMS "/b", NULL);
	expect_events(watch, "MODIFIED a,DELETED b", WATCH_NOTHING);
	api_watch_free(watch);
}

static void resumes_at_a_version(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;
	cleanup_free char *query = NULL;

	create(f, "a", "{}");
	query = mem_printf("resourceVersion=%s", at(f, "metadata.resourceVersion"));
	create(f, "b", "{}");
	patch(f, "a", "{\"data\":{\"k\":\"v\"}}");
	/* an update without a change makes no event */
	patch(f, "a", "{\"data\":{\"k\":\"v\"}}");
	watch = watch_of(f, query);
	expect_events(watch, "ADDED b,MODIFIED a", WATCH_NOTHING);
	api_watch_free(watch);
}

static void too_old_is_410(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *url = NULL;

	create(f, "a", "{}");
	url = mem_printf(CMS "?watch=1&resourceVersion=%s", at(f, "metadata.resourceVersion"));
	expect_call(f, 200, "POST", "/fc-testapi/compact", NULL);
	expect_call(f, 410, "GET", url, NULL);
	assert_string_equal(at(f, "reason"), "Expired");
	expect_call(f, 500, "GET", CMS "?watch=1&resourceVersion=abc", NULL);
}

/* What happened before is forgotten for those who come, not for those who are there. */
static void what_is_forgotten_reaches_who_watches(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;

	create(f, "a", "{}");
	watch = watch_of(f, "");
	expect_events(watch, "ADDED a", WATCH_NOTHING);
	create(f, "b", "{}");
	expect_call(f, 200, "POST", "/fc-testapi/compact", NULL);
	create(f, "c", "{}");
	expect_events(watch, "ADDED b,ADDED c", WATCH_NOTHING);
	api_watch_free(watch);
}

/* As a real server: no error, just nothing until that version has passed. */
static void waits_for_the_future(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;
	cleanup_free char *query = NULL;

	create(f, "a", "{}");
	query = mem_printf("resourceVersion=%lld", atoll(at(f, "metadata.resourceVersion")) + 1);
	watch = watch_of(f, query);
	create(f, "b", "{}");
	expect_events(watch, "", WATCH_NOTHING);
	create(f, "c", "{}");
	expect_events(watch, "ADDED c", WATCH_NOTHING);
	api_watch_free(watch);
}

/* A client too slow for the log gets 410 inside its stream. */
static void overtaken_by_the_log(void **state)
{
	struct fixture *f = fixture_new(&(struct api_options){.event_log = 4});
	struct api_watch *watch = watch_of(f, "");

	for (int i = 0; i < 6; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%d", i);
		create(f, name, "{}");
	}
	expect_events(watch, "ERROR", WATCH_END);
	api_watch_free(watch);
	*state = f;
}

/* Losing the label looks like a deletion, with the previous state and no deletionTimestamp (common/README.md §6.9). */
static void selector_translates(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;
	ssize_t last;
	cleanup_json json_t *events = NULL;
	const json_t *metadata;

	create(f, "other", "{}");
	create(f, "a", "{\"l\":\"1\"}");
	watch = watch_of(f, "labelSelector=l");
	expect_events(watch, "ADDED a", WATCH_NOTHING);
	patch(f, "other", "{\"metadata\":{\"labels\":{\"l\":\"2\"}}}");
	patch(f, "a", "{\"data\":{\"k\":\"v\"}}");
	expect_events(watch, "ADDED other,MODIFIED a", WATCH_NOTHING);
	patch(f, "a", "{\"metadata\":{\"labels\":null}}");
	events = read_events(watch, &last);
	assert_string_equal(json_str(json_array_get(events, 0), "type"), "DELETED");
	metadata = json_path(json_array_get(events, 0), "object", "metadata", NULL);
	assert_string_equal(json_str(json_object_get(metadata, "labels"), "l"), "1");
	assert_null(json_object_get(metadata, "deletionTimestamp"));
	assert_string_equal(json_str(metadata, "resourceVersion"), at(f, "metadata.resourceVersion"));
	/* and what it does afterwards is not seen */
	patch(f, "a", "{\"data\":{\"k\":\"w\"}}");
	expect_call(f, 200, "DELETE", CMS "/a", NULL);
	expect_events(watch, "", WATCH_NOTHING);
	api_watch_free(watch);
}

static void only_its_namespace(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch = watch_of(f, "");

	expect_call(f, 201, "POST", "/api/v1/namespaces/kube-system/configmaps", "{\"metadata\":{\"name\":\"far\"}}");
	create(f, "near", "{}");
	expect_events(watch, "ADDED near", WATCH_NOTHING);
	api_watch_free(watch);
}

/* A Pod deleted at once is first seen deleting, then deleted: a real server writes before it removes. */
static void pods_show_their_deletion(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;

	expect_call(f, 201, "POST", NS "/pods",
		    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
	expect_call(f, 200, "GET", NS "/pods?watch=1", NULL);
	watch = f->answer.watch;
	f->answer.watch = NULL;
	expect_events(watch, "ADDED p", WATCH_NOTHING);
	expect_call(f, 200, "DELETE", NS "/pods/p", NULL);
	expect_events(watch, "MODIFIED p,DELETED p", WATCH_NOTHING);
	api_watch_free(watch);
}

static void other_forms(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;
	ssize_t last;
	json_t *events;

	create(f, "a", "{}");
	create(f, "b", "{}");
	f->local.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
	watch = watch_of(f, "");
	events = read_events(watch, &last);
	assert_string_equal(json_str(json_object_get(json_array_get(events, 0), "object"), "kind"),
			    "PartialObjectMetadata");
	json_decref(events);
	api_watch_free(watch);
	f->local.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
	watch = watch_of(f, "");
	events = read_events(watch, &last);
	assert_true(json_is_array(json_path(json_array_get(events, 0), "object", "columnDefinitions", NULL)));
	assert_true(json_is_null(json_path(json_array_get(events, 1), "object", "columnDefinitions", NULL)));
	json_decref(events);
	api_watch_free(watch);
}

static void bookmarks(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch = watch_of(f, "allowWatchBookmarks=true&resourceVersion=1");
	struct api_watch *initial;
	ssize_t last;
	cleanup_json json_t *events = NULL;

	expect_events(watch, "", WATCH_NOTHING);
	/* another kind's change moves the version on */
	expect_call(f, 201, "POST", NS "/secrets", "{\"metadata\":{\"name\":\"s\"}}");
	watch->next_bookmark = 0;
	events = read_events(watch, &last);
	assert_string_equal(json_str(json_array_get(events, 0), "type"), "BOOKMARK");
	assert_string_equal(
		json_str(json_path(json_array_get(events, 0), "object", "metadata", NULL), "resourceVersion"),
		at(f, "metadata.resourceVersion"));
	api_watch_free(watch);
	create(f, "a", "{}");
	initial = watch_of(f, "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
	expect_events(initial, "ADDED a,BOOKMARK", WATCH_NOTHING);
	api_watch_free(initial);
}

/* What is there, then a bookmark that says so with the version to go on from; then what happens. */
static void watch_list(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;
	ssize_t last;
	cleanup_json json_t *events = NULL;
	const json_t *metadata;
	cleanup_free char *version = NULL;
	cleanup_free char *query = NULL;

	create(f, "a", "{\"l\":\"1\"}");
	create(f, "b", "{}");
	version = mem_strdup(at(f, "metadata.resourceVersion"));
	watch = watch_of(f, WATCH_LIST "&allowWatchBookmarks=true&labelSelector=l");
	events = read_events(watch, &last);
	assert_int_equal(json_array_size(events), 2);
	metadata = json_path(json_array_get(events, 1), "object", "metadata", NULL);
	assert_string_equal(json_str(json_object_get(metadata, "annotations"), "k8s.io/initial-events-end"), "true");
	assert_string_equal(json_str(metadata, "resourceVersion"), version);
	create(f, "c", "{\"l\":\"1\"}");
	expect_events(watch, "ADDED c", WATCH_NOTHING);
	api_watch_free(watch);
	/* a version that it must reach: the state is the present one all the same */
	query = mem_printf(WATCH_LIST "&allowWatchBookmarks=true&resourceVersion=%s", version);
	watch = watch_of(f, query);
	expect_events(watch, "ADDED a,ADDED b,ADDED c,BOOKMARK", WATCH_NOTHING);
	api_watch_free(watch);
	expect_call(f, 504, "GET", CMS "?watch=1&" WATCH_LIST "&resourceVersion=1000000", NULL);
	/* none of them, by request */
	watch = watch_of(f, "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0");
	expect_events(watch, "", WATCH_NOTHING);
	create(f, "d", "{}");
	expect_events(watch, "ADDED d", WATCH_NOTHING);
	api_watch_free(watch);
}

#define FORBIDDEN(field, why) "ListOptions.meta.k8s.io \"\" is invalid: " field ": Forbidden: " why

static void options_that_contradict(void **state)
{
	static const struct {
		const char *query;
		const char *message;
	} cases[] = {
		{"watch=1&sendInitialEvents=true",
		 FORBIDDEN("resourceVersionMatch",
			   "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")},
		{"watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1",
		 FORBIDDEN("resourceVersionMatch",
			   "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")},
		{"watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
		 "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: sendInitialEvents "
		 "requires "
		 "setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: \"Exact\": "
		 "supported values: \"NotOlderThan\"]"},
		{"watch=1&" WATCH_LIST "&continue=x",
		 FORBIDDEN("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")},
		{"sendInitialEvents=false", FORBIDDEN("sendInitialEvents", "sendInitialEvents is forbidden for list")},
		{"resourceVersionMatch=Exact",
		 FORBIDDEN("resourceVersionMatch",
			   "resourceVersionMatch is forbidden unless resourceVersion is provided")},
		{"resourceVersionMatch=Exact&resourceVersion=0",
		 FORBIDDEN("resourceVersionMatch",
			   "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")},
		{"resourceVersionMatch=Older&resourceVersion=1",
		 "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \"Older\": "
		 "supported "
		 "values: \"Exact\", \"NotOlderThan\", \"\""},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *url = mem_printf(CMS "?%s", cases[i].query);

		expect_call(f, 422, "GET", url, NULL);
		assert_string_equal(message(f), cases[i].message);
		assert_string_equal(at(f, "details.kind"), "ListOptions");
	}
	expect_call(f, 200, "GET", CMS "?resourceVersionMatch=NotOlderThan&resourceVersion=0", NULL);
}

/* The frames of a protobuf watch, in the words of expect_events. */
static void expect_frames(struct api_watch *watch, const char *wanted, struct proto_span *last)
{
	static char data[4096];
	ssize_t len = api_watch_read(watch, data, sizeof(data));
	cleanup_buf struct buf seen = {0};

	assert_in_range(len, 5, (ssize_t)sizeof(data) - 1);
	for (ssize_t at = 0; at < len;) {
		const unsigned char *head = (const unsigned char *)data + at;
		size_t size = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
		struct proto_span event = {data + at + 4, size};
		char type[16];
		char name[16];

		at += 4 + (ssize_t)size;
		proto_text(event, 1, type, sizeof(type));
		*last = proto_object(proto_field(proto_field(event, 2), 1));
		proto_text(proto_field(*last, PROTO_METADATA), PROTO_META_NAME, name, sizeof(name));
		buf_printf(&seen, "%s%s%s%s", seen.len > 0 ? "," : "", type, name[0] == '\0' ? "" : " ", name);
	}
	assert_string_equal(seen.data, wanted);
	assert_int_equal(api_watch_read(watch, data + len, 1), WATCH_NOTHING);
}

static void pods_as_protobuf(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;
	struct proto_span object;
	struct proto_span entry;
	char text[48];

	expect_call(f, 201, "POST", NS "/pods",
		    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
	f->local.accept = "application/vnd.kubernetes.protobuf;stream=watch,application/json";
	expect_call(f, 200, "GET", NS "/pods?watch=1&" WATCH_LIST "&allowWatchBookmarks=true", NULL);
	assert_string_equal(f->answer.content_type, "application/vnd.kubernetes.protobuf;stream=watch");
	watch = f->answer.watch;
	f->answer.watch = NULL;
	expect_frames(watch, "ADDED p,BOOKMARK", &object);
	entry = proto_field(proto_field(object, PROTO_METADATA), 12);
	proto_text(entry, 1, text, sizeof(text));
	assert_string_equal(text, "k8s.io/initial-events-end");
	expect_call(f, 200, "DELETE", NS "/pods/p", NULL);
	expect_frames(watch, "MODIFIED p,DELETED p", &object);
	proto_text(proto_field(object, 3), 1, text, sizeof(text));
	assert_string_equal(text, "Pending");
	api_watch_expire(watch);
	assert_int_equal(api_watch_read(watch, text, 4), 4); /* a frame's length */
	api_watch_free(watch);
	/* other kinds, and bodies, as before */
	create(f, "a", "{}");
	watch = watch_of(f, "");
	expect_events(watch, "ADDED a", WATCH_NOTHING);
	api_watch_free(watch);
}

static void time_runs_out(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch = watch_of(f, "timeoutSeconds=5");

	assert_true(watch->expires - ev_now(f->loop) > 4 && watch->expires - ev_now(f->loop) < 6);
	expect_events(watch, "", WATCH_NOTHING);
	create(f, "a", "{}");
	watch->expires = 0;
	/* what is there still goes out */
	expect_events(watch, "ADDED a", WATCH_END);
	api_watch_free(watch);
}

static int woken;

static void count_wake(void *arg, struct api_watch *watch)
{
	(void)arg;
	(void)watch;
	woken++;
}

static void wakes_only_who_has_news(void **state)
{
	struct fixture *f = *state;
	struct api_watch *one = watch_of(f, "fieldSelector=metadata.name%3Da");
	struct api_watch *all = watch_of(f, "");

	f->api->wake = count_wake;
	expect_events(one, "", WATCH_NOTHING);
	expect_events(all, "", WATCH_NOTHING);
	create(f, "b", "{}");
	woken = 0;
	api_watch_flush(f->api);
	assert_int_equal(woken, 1);
	api_watch_flush(f->api);
	assert_int_equal(woken, 1);
	create(f, "a", "{}");
	api_watch_flush(f->api);
	assert_int_equal(woken, 2); /* `all` was woken already and has not read yet */
	expect_events(one, "ADDED a", WATCH_NOTHING);
	expect_events(all, "ADDED b,ADDED a", WATCH_NOTHING);
	api_watch_free(one);
	api_watch_free(all);
}

static void faults_on_watches(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch = watch_of(f, "");
	struct api_watch *second = watch_of(f, "");

	expect_call(f, 201, "POST", "/fc-testapi/faults",
		    "{\"match\":{\"resource\":\"configmaps\"},\"action\":{\"freezeWatches\":true}}");
	create(f, "a", "{}");
	expect_events(watch, "", WATCH_NOTHING);
	expect_call(f, 200, "DELETE", "/fc-testapi/faults", NULL);
	expect_events(watch, "ADDED a", WATCH_NOTHING);
	expect_events(second, "ADDED a", WATCH_NOTHING);
	expect_call(f, 200, "POST", "/fc-testapi/watches",
		    "{\"match\":{\"resource\":\"configmaps\"},\"do\":\"expire\"}");
	assert_int_equal(json_int(f->body, "watches", 0), 2);
	expect_events(watch, "ERROR", WATCH_END);
	api_watch_free(watch);
	api_watch_free(second);
	watch = watch_of(f, "");
	expect_events(watch, "ADDED a", WATCH_NOTHING);
	expect_call(f, 200, "POST", "/fc-testapi/watches", "{\"do\":\"break\"}");
	expect_events(watch, "", WATCH_NOTHING);
	create(f, "b", "{}");
	expect_events(watch, "half", WATCH_CUT);
	api_watch_free(watch);
}

static void ends_with_its_crd(void **state)
{
	struct fixture *f = *state;
	struct api_watch *watch;

	expect_call(f, 201, "POST", FW "/namespaces/default/frameworks",
		    "{\"apiVersion\":\"frameworkcontroller.microsoft.com/"
		    "v1\",\"kind\":\"Framework\",\"metadata\":{\"name\":\"a\"}}");
	expect_call(f, 200, "GET", FW "/frameworks?watch=1", NULL);
	watch = f->answer.watch;
	f->answer.watch = NULL;
	expect_events(watch, "ADDED a", WATCH_NOTHING);
	expect_call(f, 200, "DELETE", CRDS "/frameworks.frameworkcontroller.microsoft.com", NULL);
	settle(f);
	expect_events(watch, "DELETED a", WATCH_END);
	api_watch_free(watch);
}

static int no_set_up(void **state)
{
	*state = NULL;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(starts_from_what_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(resumes_at_a_version, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_old_is_410, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_forgotten_reaches_who_watches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waits_for_the_future, set_up, tear_down),
		cmocka_unit_test_setup_teardown(overtaken_by_the_log, no_set_up, tear_down),
		cmocka_unit_test_setup_teardown(selector_translates, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_its_namespace, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pods_show_their_deletion, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_forms, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bookmarks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(watch_list, set_up, tear_down),
		cmocka_unit_test_setup_teardown(options_that_contradict, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pods_as_protobuf, set_up, tear_down),
		cmocka_unit_test_setup_teardown(time_runs_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wakes_only_who_has_news, set_up, tear_down),
		cmocka_unit_test_setup_teardown(faults_on_watches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_with_its_crd, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
