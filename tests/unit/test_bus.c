/* Bus messages: bytes and bodies both ways, and what of a hostile body is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/bus/message.h"

static void test_head(void **state)
{
	const struct bus_head head = {
		.protocol = 1,
		.type = BUS_UPDATE,
		.kind = KIND_POD,
		.epoch = 0x0102030405060708,
		.version = UINT64_MAX,
		.sequence = 3,
		.time_ms = -5,
		.shard = 0x01020304,
		.session = 0xA0B0C0D0,
	};
	unsigned char bytes[BUS_HEAD_SIZE];
	unsigned char again[BUS_HEAD_SIZE];
	struct bus_head out;
	struct error err;

	(void)state;
	bus_head_write(&head, bytes);
	assert_memory_equal(bytes, "FC\x01\x00", 4);
	assert_memory_equal(bytes + 8, "\x08\x07\x06\x05\x04\x03\x02\x01", 8); /* the wire is little-endian */
	assert_int_equal(bus_head_read(bytes, sizeof(bytes), &out, &err), 0);
	bus_head_write(&out, again);
	assert_memory_equal(again, bytes, sizeof(bytes));
	assert_int_equal(out.kind, KIND_POD);
	assert_true(out.epoch == head.epoch && out.version == head.version && out.sequence == 3 && out.time_ms == -5);
	assert_true(out.shard == head.shard && out.session == head.session);
	assert_int_equal(bus_head_read(bytes, sizeof(bytes) - 1, &out, &err), -1);
	assert_int_equal(bus_head_read(bytes, 0, &out, &err), -1);
	bytes[1] = 'D';
	assert_int_equal(bus_head_read(bytes, sizeof(bytes), &out, &err), -1);
}

static void test_shards(void **state)
{
	struct shard_set set = {0};

	(void)state;
	assert_true(shard_set_empty(&set));
	shard_set_add(&set, 0);
	shard_set_add(&set, 63);
	shard_set_add(&set, 64);
	shard_set_add(&set, BUS_SHARD_MAX - 1);
	shard_set_add(&set, BUS_SHARD_MAX); /* out of bounds: nothing */
	assert_int_equal(shard_set_count(&set), 4);
	assert_true(shard_set_has(&set, 63));
	assert_false(shard_set_has(&set, 62));
	assert_false(shard_set_has(&set, BUS_SHARD_MAX));
	shard_set_remove(&set, 63);
	shard_set_remove(&set, UINT32_MAX);
	assert_int_equal(shard_set_count(&set), 3);
}

/* The hash is part of the protocol: zlib's crc32 of "ns/name", high bits first. */
static void test_shard_of_key(void **state)
{
	uint32_t counts[64] = {0};
	char name[32];

	(void)state;
	/* crc32("default/abc") == 0x707c9273 */
	assert_int_equal(shard_of_key("default", "abc", 1), 0);
	assert_int_equal(shard_of_key("default", "abc", 64), 28);
	assert_int_equal(shard_of_key("default", "abc", 4096), 0x707);
	for (uint32_t i = 0; i < 6400; i++) {
		snprintf(name, sizeof(name), "fw%u", i);
		assert_true(shard_of_key("default", name, 64) < 64);
		counts[shard_of_key("default", name, 64)]++;
	}
	for (size_t i = 0; i < 64; i++)
		assert_in_range(counts[i], 50, 150);
	/* contiguous: twice as many shards cut each in two */
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "fw%u", i);
		assert_int_equal(shard_of_key("a", name, 128) / 2, shard_of_key("a", name, 64));
	}
}

static void test_hello(void **state)
{
	struct bus_hello hello = {.name = "pool-0",
				  .uuid = "u",
				  .role = BUS_ROLE_BARRIER,
				  .shard_count = 4096,
				  .held_epoch = 9,
				  .window = 5};
	struct bus_hello out;
	cleanup_buf struct buf body = {0};
	cleanup_buf struct buf again = {0};

	(void)state;
	shard_set_add(&hello.held, 0);
	shard_set_add(&hello.held, 1);
	shard_set_add(&hello.held, 4095);
	bus_hello_write(&body, &hello);
	assert_non_null(
		strstr(body.data, "\"shardCount\":4096,\"held\":[[0,2],[4095,1]],\"heldEpoch\":9,\"window\":5}"));
	assert_int_equal(bus_hello_read(body.data, body.len, &out, NULL), 0);
	bus_hello_write(&again, &out);
	assert_string_equal(again.data, body.data);
}

static void test_ping(void **state)
{
	struct bus_ping ping = {.consumed = 1234567890123, .received = 1234567890124, .backlog = 7};
	struct bus_ping out;
	cleanup_buf struct buf body = {0};
	cleanup_buf struct buf again = {0};

	(void)state;
	shard_set_add(&ping.held, 3);
	shard_set_add(&ping.draining, 4);
	bus_ping_write(&body, &ping);
	assert_int_equal(bus_ping_read(body.data, body.len, &out, NULL), 0);
	bus_ping_write(&again, &out);
	assert_string_equal(again.data, body.data);
}

static void test_assign(void **state)
{
	struct bus_assign assign = {.shard_count = 64, .lease_ms = 10000};
	struct bus_assign out;
	cleanup_buf struct buf body = {0};
	cleanup_buf struct buf again = {0};
	struct error err;

	(void)state;
	shard_set_add(&assign.shards, 3);
	shard_set_add(&assign.shards, 63);
	shard_set_add(&assign.fresh, 3);
	bus_assign_write(&body, &assign);
	assert_int_equal(bus_assign_read(body.data, body.len, &out, NULL), 0);
	bus_assign_write(&again, &out);
	assert_string_equal(again.data, body.data);

	shard_set_add(&assign.shards, 64); /* beyond its shards */
	buf_clear(&body);
	bus_assign_write(&body, &assign);
	assert_int_equal(bus_assign_read(body.data, body.len, &out, &err), -1);

	shard_set_remove(&assign.shards, 64);
	shard_set_add(&assign.fresh, 4); /* fresh, but not assigned */
	buf_clear(&body);
	bus_assign_write(&body, &assign);
	assert_int_equal(bus_assign_read(body.data, body.len, &out, &err), -1);
}

static void test_pong(void **state)
{
	const struct bus_pong pong = {.renewed = true, .qps = 1e-5 / 3, .burst = 3, .live = true};
	struct bus_pong out;
	cleanup_buf struct buf body = {0};

	(void)state;
	bus_pong_write(&body, &pong);
	assert_int_equal(bus_pong_read(body.data, body.len, &out, NULL), 0);
	assert_true(out.renewed);
	assert_true(out.live);
	assert_int_equal(out.burst, 3);
	assert_true(out.qps == pong.qps); /* rounded to 0 it would be no limit */
}

static void test_absent(void **state)
{
	struct bus_absent absent = {.ns = (char *)"a",
				    .name = (char *)"b\"c",
				    .uid = (char *)"",
				    .resource_version = (char *)"12",
				    .framework_name = (char *)"f",
				    .deleting = true};
	struct bus_absent out;
	cleanup_buf struct buf body = {0};

	(void)state;
	bus_absent_write(&body, &absent);
	assert_int_equal(bus_absent_read(body.data, body.len, &out, NULL), 0);
	assert_string_equal(out.ns, "a");
	assert_string_equal(out.name, "b\"c");
	assert_string_equal(out.uid, "");
	assert_string_equal(out.resource_version, "12");
	assert_string_equal(out.framework_name, "f");
	assert_true(out.deleting);
	bus_absent_free(&out);
	bus_absent_free(&out);
}

static void test_snapshot_end(void **state)
{
	struct bus_scope scopes[] = {
		{.ns = (char *)"a", .resource_version = {(char *)"1", (char *)"2", NULL}},
		{.ns = (char *)"b", .resource_version = {(char *)"4", (char *)"5", (char *)"6"}},
	};
	struct bus_snapshot_end end = {.scopes = scopes, .scope_count = ARRAY_LEN(scopes)};
	const struct bus_scope *scope;
	struct bus_snapshot_end out;
	cleanup_buf struct buf body = {0};

	(void)state;
	shard_set_add(&end.shards, 5);
	bus_snapshot_end_write(&body, &end);
	assert_int_equal(bus_snapshot_end_read(body.data, body.len, &out, NULL), 0);
	assert_true(shard_set_has(&out.shards, 5));
	scope = bus_snapshot_end_scope(&out, "a");
	assert_string_equal(scope->resource_version[KIND_FRAMEWORK], "1");
	assert_string_equal(scope->resource_version[KIND_CONFIG_MAP], "2");
	assert_string_equal(scope->resource_version[KIND_POD], "");
	assert_string_equal(bus_snapshot_end_scope(&out, "b")->resource_version[KIND_FRAMEWORK], "4");
	assert_null(bus_snapshot_end_scope(&out, "c"));
	bus_snapshot_end_free(&out);
}

static void test_refuse(void **state)
{
	const struct bus_refuse refuse = {.reason = "no", .final = true};
	struct bus_refuse out;
	cleanup_buf struct buf body = {0};

	(void)state;
	bus_refuse_write(&body, &refuse);
	assert_int_equal(bus_refuse_read(body.data, body.len, &out, NULL), 0);
	assert_string_equal(out.reason, "no");
	assert_true(out.final);
}

/* Runs that overlap or go back: 64 KiB of them would set each bit thousands of times. */
static void test_runs(void **state)
{
	static const char *const refused[] = {"[[0,4096],[0,4096]]", "[[4,2],[5,1]]", "[[4,2],[0,1]]", "[[4,2],[4,2]]"};
	static const char body[] = "{\"held\":%s,\"draining\":[],\"consumed\":0,\"received\":0,\"backlog\":0}";
	struct bus_ping ping;
	struct error err;
	char text[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		snprintf(text, sizeof(text), body, refused[i]);
		if (bus_ping_read(text, strlen(text), &ping, &err) == 0)
			fail_msg("accepted %s", text);
		assert_non_null(strstr(err.message, "PING.held[1]"));
		assert_non_null(strstr(err.message, "after the former run"));
	}
	snprintf(text, sizeof(text), body, "[[0,2],[2,1],[4095,1]]"); /* adjacent ones do not overlap */
	assert_int_equal(bus_ping_read(text, strlen(text), &ping, &err), 0);
	assert_int_equal(shard_set_count(&ping.held), 4);
}

/* Bodies that no peer of ours writes: each is refused with a message, none overruns anything. */
static void test_hostile_bodies(void **state)
{
	static const char *const hellos[] = {
		"",
		"{",
		"[]",
		"7",
		"{}",
		"{\"name\":\"\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"barrier\",\"held\":[],\"heldEpoch\":0,"
		"\"window\":1}",
		"{\"name\":\"n\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"king\",\"held\":[],\"heldEpoch\":0,"
		"\"window\":1}",
		"{\"name\":\"n\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"barrier\",\"held\":[[0]],\"heldEpoch\":0,"
		"\"window\":1}",
		"{\"name\":\"n\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"barrier\",\"held\":[[0,0]],\"heldEpoch\":0,"
		"\"window\":1}",
		"{\"name\":\"n\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"barrier\",\"held\":[[-1,1]],\"heldEpoch\":"
		"0,"
		"\"window\":1}",
		"{\"name\":\"n\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"barrier\",\"held\":[[4095,2]],"
		"\"heldEpoch\":0,"
		"\"window\":1}",
		"{\"name\":\"n\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"barrier\",\"held\":[[1,9223372036854775807]"
		"],"
		"\"heldEpoch\":"
		"0,"
		"\"window\":1}",
		"{\"name\":\"n\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"barrier\",\"held\":[],\"heldEpoch\":-1,"
		"\"window\":1}",
		"{\"name\":\"n\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"barrier\",\"held\":[],\"heldEpoch\":"
		"9223372036854775807,"
		"\"window\":1}",
		"{\"name\":\"n\",\"uuid\":\"u\",\"shardCount\":4,\"role\":\"barrier\",\"held\":[],\"heldEpoch\":0,"
		"\"window\":0}",
		"{\"name\":\"n\",\"uuid\":\"0123456789012345678901234567890123456789\",\"shardCount\":4,\"role\":"
		"\"barrier\",\"held\":[]"
		","
		"\"heldEpoch\":0,\"window\":1}",
	};
	struct bus_hello hello;
	struct bus_absent absent;
	struct bus_snapshot_end end;
	struct bus_pong pong;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hellos); i++) {
		err.message[0] = '\0';
		if (bus_hello_read(hellos[i], strlen(hellos[i]), &hello, &err) == 0)
			fail_msg("accepted %s", hellos[i]);
		assert_non_null(strstr(err.message, "HELLO"));
	}
	assert_int_equal(bus_absent_read("{\"namespace\":\"a\",\"name\":1}", 26, &absent, &err), -1);
	assert_null(absent.ns); /* nothing is left to be freed */
	assert_int_equal(bus_snapshot_end_read("{\"shards\":[],\"scopes\":[{\"namespace\":\"\",\"Framework\":\"1\"}]}",
					       59, &end, &err),
			 -1);
	assert_null(end.scopes);
	assert_int_equal(bus_snapshot_end_read("{\"shards\":[],\"scopes\":[]}", 26, &end, &err), -1);
	assert_int_equal(bus_pong_read("{\"renewed\":true,\"live\":true,\"burst\":1,\"qps\":-1}", 48, &pong, &err), -1);
	assert_int_equal(bus_pong_read("{\"renewed\":1,\"live\":true,\"burst\":1,\"qps\":1}", 44, &pong, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head),   cmocka_unit_test(test_shards), cmocka_unit_test(test_shard_of_key),
		cmocka_unit_test(test_hello),  cmocka_unit_test(test_ping),   cmocka_unit_test(test_assign),
		cmocka_unit_test(test_pong),   cmocka_unit_test(test_absent), cmocka_unit_test(test_snapshot_end),
		cmocka_unit_test(test_refuse), cmocka_unit_test(test_runs),   cmocka_unit_test(test_hostile_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
