/* Pods as protobuf: the same Pod comes out of both encodings, lists and frames are cut wherever they are split, and
 * what is hostile is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/framework/object.h"
#include "common/kube/page.h"
#include "common/kube/pieces.h"
#include "common/kube/proto.h"

/* ---- writing messages ---- */

static void put_varint(struct buf *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buf_putc(out, (char)(value | 0x80));
	buf_putc(out, (char)value);
}

static void put_bytes(struct buf *out, uint32_t field, const void *data, size_t len)
{
	put_varint(out, (uint64_t)field << 3 | 2);
	put_varint(out, len);
	buf_append(out, data, len);
}

static void put_string(struct buf *out, uint32_t field, const char *text)
{
	put_bytes(out, field, text, strlen(text));
}

static void put_number(struct buf *out, uint32_t field, int64_t value)
{
	put_varint(out, (uint64_t)field << 3);
	put_varint(out, (uint64_t)value);
}

/* Puts the message as a field, and empties it. */
static void put_message(struct buf *out, uint32_t field, struct buf *message)
{
	put_bytes(out, field, message->data, message->len);
	buf_clear(message);
}

static void put_time(struct buf *out, uint32_t field, int64_t seconds)
{
	cleanup_buf struct buf time = {0};

	put_number(&time, 1, seconds);
	put_number(&time, 2, 0);
	put_message(out, field, &time);
}

static void put_entry(struct buf *out, uint32_t field, const char *key, const char *value)
{
	cleanup_buf struct buf entry = {0};

	put_string(&entry, 1, key);
	put_string(&entry, 2, value);
	put_message(out, field, &entry);
}

static void put_owner(struct buf *out, const char *kind, const char *name, const char *uid, bool controller)
{
	cleanup_buf struct buf owner = {0};

	put_string(&owner, 5, "v1");
	put_string(&owner, 1, kind);
	put_string(&owner, 3, name);
	put_string(&owner, 4, uid);
	put_number(&owner, 6, controller);
	put_message(out, 13, &owner);
}

static void put_container(struct buf *out, uint32_t field, const char *name, bool terminated)
{
	cleanup_buf struct buf container = {0};
	cleanup_buf struct buf state = {0};
	cleanup_buf struct buf end = {0};

	put_string(&container, 1, name);
	if (terminated) {
		put_number(&end, 1, 137);
		put_number(&end, 2, 9);
		put_string(&end, 3, "OOMKilled");
		put_string(&end, 4, "caf\xc3\xa9 \"x\"");
		put_time(&end, 5, 1714979329);
		put_time(&end, 6, 1714979339);
		put_string(&end, 7, "docker://1");
		put_message(&state, 3, &end);
	} else {
		put_time(&end, 1, 1714979329);
		put_message(&state, 2, &end); /* running */
	}
	put_message(&container, 2, &state);
	put_number(&container, 4, 1);
	put_string(&container, 6, "image");
	put_message(out, field, &container);
}

/* As generated marshallers write it: strings that are not set are there, empty. */
static void write_pod(struct buf *out, const char *phase, bool deleting)
{
	cleanup_buf struct buf part = {0};

	put_string(&part, 1, "fw-worker-0");
	put_string(&part, 2, "");
	put_string(&part, 3, "ns");
	put_string(&part, 4, "/self");
	put_string(&part, 5, "u1");
	put_string(&part, 6, "7");
	put_number(&part, 7, 3);
	put_time(&part, 8, 1714979289);
	if (deleting) {
		put_time(&part, 9, 1714979349);
		put_number(&part, 10, 30);
	}
	put_entry(&part, 11, "FC_FRAMEWORK_NAME", "fw");
	put_entry(&part, 11, "other", "x");
	put_entry(&part, 12, "FC_TASK_UID", "t1");
	put_entry(&part, 12, "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID", "2_c1");
	put_entry(&part, 12, "FC_TASK_ATTEMPT_ID", "4");
	put_owner(&part, "Other", "o", "uo", false);
	put_owner(&part, "ConfigMap", "fw-attempt", "c1", true);
	put_string(&part, 17, "managed by somebody");
	put_message(out, 1, &part);
	put_string(&part, 2, "volumes and such");
	put_string(&part, 10, "n1");
	put_number(&part, 21, -5);
	put_message(out, 2, &part);
	put_string(&part, 1, phase);
	put_string(&part, 3, "no room");
	put_string(&part, 4, "Evicted");
	put_string(&part, 5, "10.1.0.1");
	put_string(&part, 6, "10.0.0.1");
	put_container(&part, 8, "main", true);
	put_container(&part, 8, "side", false);
	put_container(&part, 10, "barrier", true);
	put_message(out, 3, &part);
}

#define JSON_POD(phase, deletion)                                                                                    \
	"{\"metadata\":{\"name\":\"fw-worker-0\",\"namespace\":\"ns\",\"uid\":\"u1\",\"resourceVersion\":\"7\","     \
	"\"generation\":3,\"creationTimestamp\":\"2024-05-06T07:08:09Z\"" deletion                                   \
	",\"labels\":{\"FC_FRAMEWORK_NAME\":\"fw\",\"other\":\"x\"},"                                                \
	"\"annotations\":{\"FC_TASK_UID\":\"t1\",\"FC_FRAMEWORK_ATTEMPT_INSTANCE_UID\":\"2_c1\","                    \
	"\"FC_TASK_ATTEMPT_ID\":\"4\"},\"ownerReferences\":[{\"kind\":\"Other\",\"name\":\"o\",\"uid\":\"uo\"},"     \
	"{\"kind\":\"ConfigMap\",\"name\":\"fw-attempt\",\"uid\":\"c1\",\"controller\":true}]},"                     \
	"\"spec\":{\"nodeName\":\"n1\"},\"status\":{" phase                                                          \
	"\"reason\":\"Evicted\",\"message\":\"no room\",\"hostIP\":\"10.1.0.1\",\"podIP\":\"10.0.0.1\","             \
	"\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"exitCode\":137,\"signal\":9,"        \
	"\"reason\":\"OOMKilled\",\"message\":\"caf\xc3\xa9 \\\"x\\\"\",\"finishedAt\":\"2024-05-06T07:08:59Z\"}}}," \
	"{\"name\":\"side\",\"state\":{\"running\":{}}}],\"initContainerStatuses\":[{\"name\":\"barrier\","          \
	"\"state\":{\"terminated\":{\"exitCode\":137,\"signal\":9,\"reason\":\"OOMKilled\","                         \
	"\"message\":\"caf\xc3\xa9 \\\"x\\\"\",\"finishedAt\":\"2024-05-06T07:08:59Z\"}}}]}}"
#define DELETION ",\"deletionTimestamp\":\"2024-05-06T07:09:09Z\",\"deletionGracePeriodSeconds\":30"

static void test_same_pod(void **state)
{
	static const struct {
		const char *phase;
		bool deleting;
		const char *json;
	} cases[] = {
		{"Failed", true, JSON_POD("\"phase\":\"Failed\",", DELETION)},
		{"Succeeded", false, JSON_POD("\"phase\":\"Succeeded\",", "")},
		{"Running", false, JSON_POD("\"phase\":\"Running\",", "")},
		{"", false, JSON_POD("", "")},
		{"Odd", true, JSON_POD("\"phase\":\"Odd\",", DELETION)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_buf struct buf message = {0};
		cleanup_buf struct buf from_proto = {0};
		cleanup_buf struct buf from_json = {0};
		struct error err = {0};
		struct pod *proto;
		struct pod *json;

		write_pod(&message, cases[i].phase, cases[i].deleting);
		proto = pod_read_proto(message.data, message.len, &err);
		json = pod_read(cases[i].json, strlen(cases[i].json), &err);
		if (proto == NULL || json == NULL)
			fail_msg("%s", err.message);
		pod_write(&from_proto, proto);
		pod_write(&from_json, json);
		assert_string_equal(from_proto.data, from_json.data);
		assert_true(pod_same(proto, json));
		pod_free(proto);
		pod_free(json);
	}
}

/* Cut short, with bytes changed, with lengths that lie: an error or a Pod, and nothing else. */
static void test_hostile(void **state)
{
	cleanup_buf struct buf message = {0};
	struct random random;
	struct error err;
	size_t refused = 0;

	(void)state;
	random_init_seed(&random, 11);
	write_pod(&message, "Failed", true);
	for (int round = 0; round < 20000; round++) {
		size_t len = message.len;
		cleanup_free char *copy = NULL;
		struct pod *pod;

		if (random_between(&random, 0, 1) == 0)
			len = (size_t)random_between(&random, 0, (int64_t)len - 1);
		copy = mem_alloc(len == 0 ? 1 : len); /* of its size, so that reading past it is found */
		memcpy(copy, message.data, len);
		for (int64_t i = random_between(&random, 0, 4); i > 0 && len > 0; i--)
			copy[random_between(&random, 0, (int64_t)len - 1)] = (char)random_between(&random, 0, 255);
		pod = pod_read_proto(copy, len, &err);
		refused += pod == NULL;
		pod_free(pod);
	}
	assert_true(refused > 5000);
	assert_null(pod_read_proto("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, &err));
	assert_string_equal(err.message, "invalid protobuf");
	assert_null(pod_read_proto("", 0, &err));
	assert_string_equal(err.message, "metadata.name is missing or not a string");
}

/* A small message of very many fields takes no more memory than its share. */
static void test_many_small_fields(void **state)
{
	cleanup_buf struct buf message = {0};
	cleanup_buf struct buf status = {0};
	struct error err;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		put_bytes(&status, 8, "", 0);
	put_message(&message, 3, &status);
	assert_null(pod_read_proto(message.data, message.len, &err));
}

/* ---- lists and frames ---- */

static bool note_piece(void *arg, const char *text, size_t len, bool too_large)
{
	struct buf *out = arg;
	char name[32];

	if (too_large) {
		proto_text(proto_field((struct proto_span){text, len, true}, PROTO_METADATA), PROTO_META_NAME, name,
			   sizeof(name));
		buf_printf(out, "large:%s ", name);
	} else {
		proto_text(proto_field((struct proto_span){text, len, false}, PROTO_METADATA), PROTO_META_NAME, name,
			   sizeof(name));
		buf_printf(out, "%s:%zu ", name, len);
	}
	return true;
}

static void put_item(struct buf *out, uint32_t field, const char *name, size_t more)
{
	cleanup_buf struct buf meta = {0};
	cleanup_buf struct buf item = {0};
	cleanup_free char *filling = mem_calloc(more + 1, 1);

	memset(filling, 'x', more);
	put_string(&meta, PROTO_META_NAME, name);
	put_message(&item, PROTO_METADATA, &meta);
	put_string(&item, 3, filling);
	put_message(out, field, &item);
}

/* A body around an object. */
static void wrap(struct buf *out, const char *kind, struct buf *object)
{
	cleanup_buf struct buf type = {0};

	buf_append(out, "k8s", 4);
	put_string(&type, 1, "v1");
	put_string(&type, 2, kind);
	put_message(out, 1, &type);
	put_message(out, 2, object);
	put_string(out, 3, "");
	put_string(out, 4, "");
}

static void write_list(struct buf *out)
{
	cleanup_buf struct buf list = {0};
	cleanup_buf struct buf part = {0};

	put_string(&part, 1, "");
	put_string(&part, PROTO_LIST_VERSION, "12");
	put_string(&part, PROTO_LIST_CONTINUE, "more");
	put_message(&list, 1, &part);
	put_item(&list, 2, "a", 0);
	put_item(&list, 2, "b", 200);
	put_item(&list, 2, "c", 3000);
	put_number(&list, 9, 300);
	put_item(&list, 2, "d", 1);
	wrap(out, "PodList", &list);
}

static void tell_items(const struct page *page, struct buf *told)
{
	for (size_t i = 0; i < page->count; i++)
		note_piece(told, page->items[i].data, page->items[i].len, false);
}

static void test_list(void **state)
{
	cleanup_buf struct buf body = {0};

	(void)state;
	write_list(&body);
	/* nothing but the whole is taken; only fields of the envelope may be left out at its end */
	for (size_t len = 0; len <= body.len; len++) {
		cleanup_free char *copy = mem_memdup(body.data, len);
		cleanup_buf struct buf told = {0};
		struct page page;
		int result = page_read(&page, copy, len, NULL);

		assert_int_equal(result, len == body.len || len == body.len - 2 || len == body.len - 4 ? 0 : -1);
		if (result == 0) {
			tell_items(&page, &told);
			assert_string_equal(told.data, "a:7 b:208 c:3008 d:8 ");
			assert_string_equal(page.version, "12");
			assert_string_equal(page.more, "more");
		}
		page_free(&page);
	}
}

static void test_list_hostile(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bodies[] = {
		{"{\"kind\":", 8},
		{"k8s\1", 4},
		{"k8s\0\x13", 5},                                              /* a group */
		{"k8s\0\x12\x05\x12\x09zzz", 11},                              /* an item longer than its list */
		{"k8s\0\x12\x03\x12\x01z\x12\x00", 11},                        /* two lists */
		{"k8s\0\x12\x01\x12\x01", 8},                                  /* the list ends within a field */
		{"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 16}, /* no number */
		{"k8s\0\x12\x05\x09zzzz", 11}, /* eight bytes, of which four are there */
	};
	struct random random;
	cleanup_buf struct buf body = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		cleanup_free char *copy = mem_memdup(bodies[i].bytes, bodies[i].len);
		struct page page;
		struct error err = {0};

		if (page_read(&page, copy, bodies[i].len, &err) == 0)
			fail_msg("body %zu is taken", i);
		assert_int_not_equal(strlen(err.message), 0);
		page_free(&page);
	}
	random_init_seed(&random, 5);
	write_list(&body);
	for (int round = 0; round < 20000; round++) {
		cleanup_buf struct buf told = {0};
		cleanup_free char *copy = mem_alloc(body.len);
		struct page page;

		memcpy(copy, body.data, body.len);
		for (int i = 0; i < 3; i++)
			copy[random_between(&random, 0, (int64_t)body.len - 1)] = (char)random_between(&random, 0, 255);
		page_read(&page, copy, body.len, NULL);
		tell_items(&page, &told);
		page_free(&page);
	}
}

static void put_frame(struct buf *out, const char *name, size_t more)
{
	cleanup_buf struct buf frame = {0};

	put_item(&frame, 15, name, more);
	frame.data[frame.len] = '\0';
	buf_putc(out, (char)(frame.len >> 24));
	buf_putc(out, (char)(frame.len >> 16));
	buf_putc(out, (char)(frame.len >> 8));
	buf_putc(out, (char)frame.len);
	buf_append(out, frame.data, frame.len);
}

static bool note_frame(void *arg, const char *text, size_t len, bool too_large)
{
	struct proto_span item = proto_field((struct proto_span){text, len, too_large}, 15);

	return note_piece(arg, item.at, item.len, too_large);
}

static void test_frames(void **state)
{
	cleanup_buf struct buf stream = {0};
	cleanup_buf struct buf told = {0};
	struct pieces cut = {.max = 1000, .frames = true};

	(void)state;
	put_frame(&stream, "a", 10);
	buf_append(&stream, "\0\0\0\0", 4);
	put_frame(&stream, "b", 200);
	put_frame(&stream, "c", 100000);
	put_frame(&stream, "d", 0);
	for (size_t split = 0; split <= stream.len; split += split < 300 || split > stream.len - 40 ? 1 : 997) {
		buf_clear(&told);
		assert_true(pieces_feed(&cut, stream.data, split, note_frame, &told));
		assert_true(pieces_feed(&cut, stream.data + split, stream.len - split, note_frame, &told));
		assert_string_equal(told.data, "a:17 b:208 large:c d:7 ");
		assert_int_equal(cut.head_len, 0);
	}
	buf_clear(&told);
	assert_true(pieces_feed(&cut, stream.data, 30, note_frame, &told));
	pieces_reset(&cut);
	assert_true(pieces_feed(&cut, stream.data, stream.len, note_frame, &told));
	assert_false(pieces_feed(&cut, "\x20\0\0\0zz", 6, note_frame, &told));
	assert_true(cut.broken);
	pieces_free(&cut);
}

static void test_status(void **state)
{
	cleanup_buf struct buf status = {0};
	cleanup_buf struct buf part = {0};
	cleanup_buf struct buf body = {0};
	cleanup_json json_t *read = NULL;
	cleanup_json json_t *nothing = NULL;

	(void)state;
	put_string(&status, 2, "Failure");
	put_string(&status, 3, "too old");
	put_string(&status, 4, "Expired");
	put_number(&part, 5, 7);
	put_message(&status, 5, &part);
	put_number(&status, 6, 410);
	wrap(&body, "Status", &status);
	read = proto_status(proto_object((struct proto_span){body.data, body.len, false}));
	assert_string_equal(json_str(read, "message"), "too old");
	assert_string_equal(json_str(read, "reason"), "Expired");
	assert_int_equal(json_int(read, "code", 0), 410);
	assert_int_equal(json_int(json_object_get(read, "details"), "retryAfterSeconds", 0), 7);
	nothing = proto_status((struct proto_span){"\x1a\x02\xff\xff\x22", 5, false});
	assert_non_null(nothing);
	assert_null(json_str(nothing, "message")); /* no UTF-8 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_pod),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_many_small_fields),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_hostile),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
