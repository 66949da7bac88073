/* Bus messages to bytes and back; see message.h. Numbers behind the head travel little-endian, bodies as JSON. */
#include "common/bus/message.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/json.h"
#include "common/base/json_field.h"
#include "common/base/mem.h"

static const char *const role_names[] = {[BUS_ROLE_RECONCILER] = "reconciler", [BUS_ROLE_BARRIER] = "barrier"};

static void put_le(unsigned char *out, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_le(const unsigned char *in, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)in[i] << (8 * i);
	return value;
}

void bus_head_write(const struct bus_head *head, unsigned char out[BUS_HEAD_SIZE])
{
	memset(out, 0, BUS_HEAD_SIZE);
	out[0] = 'F';
	out[1] = 'C';
	out[2] = head->protocol;
	out[4] = head->type;
	out[5] = head->kind;
	put_le(out + 8, head->epoch, 8);
	put_le(out + 16, head->version, 8);
	put_le(out + 24, head->sequence, 8);
	put_le(out + 32, (uint64_t)head->time_ms, 8);
	put_le(out + 40, head->shard, 4);
	put_le(out + 44, head->session, 4);
}

int bus_head_read(const void *frame, size_t len, struct bus_head *out, struct error *err)
{
	const unsigned char *in = frame;

	if (len != BUS_HEAD_SIZE)
		return error_set(err, "a head of %zu bytes, expected %d", len, BUS_HEAD_SIZE);
	if (in[0] != 'F' || in[1] != 'C')
		return error_set(err, "a head that begins with %02x %02x, expected \"FC\"", in[0], in[1]);
	*out = (struct bus_head){
		.protocol = in[2],
		.type = in[4],
		.kind = in[5],
		.epoch = get_le(in + 8, 8),
		.version = get_le(in + 16, 8),
		.sequence = get_le(in + 24, 8),
		.time_ms = (int64_t)get_le(in + 32, 8),
		.shard = (uint32_t)get_le(in + 40, 4),
		.session = (uint32_t)get_le(in + 44, 4),
	};
	return 0;
}

void shard_set_add(struct shard_set *set, uint32_t shard)
{
	if (shard < BUS_SHARD_MAX)
		set->bits[shard / 64] |= UINT64_C(1) << (shard % 64);
}

void shard_set_remove(struct shard_set *set, uint32_t shard)
{
	if (shard < BUS_SHARD_MAX)
		set->bits[shard / 64] &= ~(UINT64_C(1) << (shard % 64));
}

void shard_set_add_all(struct shard_set *set, const struct shard_set *shards)
{
	for (size_t i = 0; i < ARRAY_LEN(set->bits); i++)
		set->bits[i] |= shards->bits[i];
}

void shard_set_remove_all(struct shard_set *set, const struct shard_set *shards)
{
	for (size_t i = 0; i < ARRAY_LEN(set->bits); i++)
		set->bits[i] &= ~shards->bits[i];
}

uint32_t shard_set_count(const struct shard_set *set)
{
	uint32_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(set->bits); i++)
		count += (uint32_t)__builtin_popcountll(set->bits[i]);
	return count;
}

bool shard_set_empty(const struct shard_set *set)
{
	uint64_t any = 0;

	for (size_t i = 0; i < ARRAY_LEN(set->bits); i++)
		any |= set->bits[i];
	return any == 0;
}

uint32_t shard_of_key(const char *ns, const char *name, uint32_t shard_count)
{
	uLong hash = crc32(0, (const Bytef *)ns, (uInt)strlen(ns));

	hash = crc32(hash, (const Bytef *)"/", 1);
	hash = crc32(hash, (const Bytef *)name, (uInt)strlen(name));
	return (uint32_t)((uint64_t)(hash & UINT32_MAX) * shard_count >> 32);
}

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

/* The first one from there on that is in the set, or that is not in it; BUS_SHARD_MAX: there is none. */
static uint32_t find_shard(const struct shard_set *set, uint32_t from, bool in_set)
{
	while (from < BUS_SHARD_MAX) {
		uint64_t word = set->bits[from / 64];
		uint64_t rest = (in_set ? word : ~word) >> (from % 64);

		if (rest != 0)
			return from + (uint32_t)__builtin_ctzll(rest);
		from = (from / 64 + 1) * 64;
	}
	return BUS_SHARD_MAX;
}

/* A set travels as its runs, [[first,count],…], in ascending order. */
static void write_shards(struct buf *out, const char *name, const struct shard_set *set)
{
	enum { ROOM_BYTES = 128 }; /* for a run and some that follow */
	uint32_t end;

	buf_json_open(out, name, '[');
	for (uint32_t first = find_shard(set, 0, true); first < BUS_SHARD_MAX; first = find_shard(set, end, true)) {
		end = find_shard(set, first, false);
		buf_json_next(out);
		buf_reserve(out, ROOM_BYTES);
		buf_putc(out, '[');
		buf_put_int(out, first);
		buf_putc(out, ',');
		buf_put_int(out, end - first);
		buf_putc(out, ']');
	}
	buf_putc(out, ']');
}

static int read_shards(const struct json_field *body, const char *name, struct shard_set *out, struct error *err)
{
	struct json_field runs;
	json_int_t from = 0; /* runs that overlap could set each bit as often as there are runs */

	*out = (struct shard_set){0};
	if (json_field_list(body, name, &runs, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(runs.value); i++) {
		const struct json_field run = json_field_item(&runs, i);
		json_int_t first = json_integer_value(json_array_get(run.value, 0));
		json_int_t count = json_integer_value(json_array_get(run.value, 1));

		if (json_array_size(run.value) != 2 || !json_is_integer(json_array_get(run.value, 0)) || first < from ||
		    count < 1 || first >= BUS_SHARD_MAX || count > BUS_SHARD_MAX - first)
			return json_field_wrong(&run, NULL, "[first,count] within the shards and after the former run",
						err);
		for (json_int_t r = first; r < first + count; r++)
			shard_set_add(out, (uint32_t)r);
		from = first + count;
	}
	return 0;
}

/* All members are required. *json is the caller's to decref in any case. */
static int read_body(const char *kind, const char *text, size_t len, json_t **json, struct json_field *out,
		     struct error *err)
{
	*json = json_parse(text, len, err);
	*out = (struct json_field){.value = *json, .name = kind, .required = true};
	if (*json == NULL)
		return error_wrap(err, "%s", kind);
	return json_is_object(*json) ? 0 : json_field_wrong(out, NULL, "an object", err);
}

static int read_uint32(const struct json_field *body, const char *name, uint32_t min, uint32_t *out, struct error *err)
{
	int64_t value = 0;

	if (json_field_int(body, name, min, UINT32_MAX, &value, err) < 0)
		return -1;
	*out = (uint32_t)value;
	return 0;
}

static int read_uint64(const struct json_field *body, const char *name, uint64_t *out, struct error *err)
{
	int64_t value = 0;

	if (json_field_int(body, name, 0, INT64_MAX / 2, &value, err) < 0) /* so that one more is a number still */
		return -1;
	*out = (uint64_t)value;
	return 0;
}

static int read_short(const struct json_field *body, const char *name, char *out, size_t size, struct error *err)
{
	const char *text = json_str(body->value, name);

	if (text == NULL || strlen(text) >= size)
		return json_field_wrong(body, name, "a string that is not too long", err);
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

void bus_hello_write(struct buf *out, const struct bus_hello *hello)
{
	buf_putc(out, '{');
	buf_json_text(out, "name", hello->name);
	buf_json_text(out, "uuid", hello->uuid);
	buf_json_text(out, "role", role_names[hello->role]);
	buf_json_int(out, "shardCount", hello->shard_count);
	write_shards(out, "held", &hello->held);
	buf_json_int(out, "heldEpoch", (int64_t)hello->held_epoch);
	buf_json_int(out, "window", hello->window);
	buf_putc(out, '}');
}

static int read_role(const struct json_field *body, enum bus_role *out, struct error *err)
{
	const char *text = json_str(body->value, "role");

	for (size_t i = 0; text != NULL && i < ARRAY_LEN(role_names); i++) {
		if (strcmp(text, role_names[i]) == 0) {
			*out = (enum bus_role)i;
			return 0;
		}
	}
	return json_field_wrong(body, "role", "\"reconciler\" or \"barrier\"", err);
}

int bus_hello_read(const char *body, size_t len, struct bus_hello *out, struct error *err)
{
	cleanup_json json_t *json = NULL;
	struct json_field at;

	*out = (struct bus_hello){0};
	if (read_body("HELLO", body, len, &json, &at, err) < 0 ||
	    read_short(&at, "name", out->name, sizeof(out->name), err) < 0 ||
	    read_short(&at, "uuid", out->uuid, sizeof(out->uuid), err) < 0 || read_role(&at, &out->role, err) < 0 ||
	    read_uint32(&at, "shardCount", 0, &out->shard_count, err) < 0 ||
	    read_shards(&at, "held", &out->held, err) < 0 || read_uint64(&at, "heldEpoch", &out->held_epoch, err) < 0 ||
	    read_uint32(&at, "window", 1, &out->window, err) < 0)
		return -1;
	if (out->name[0] == '\0' || out->uuid[0] == '\0')
		return error_set(err, "HELLO: name and uuid may not be empty");
	return 0;
}

void bus_ping_write(struct buf *out, const struct bus_ping *ping)
{
	buf_putc(out, '{');
	write_shards(out, "held", &ping->held);
	write_shards(out, "draining", &ping->draining);
	buf_json_int(out, "consumed", (int64_t)ping->consumed);
	buf_json_int(out, "received", (int64_t)ping->received);
	buf_json_int(out, "backlog", ping->backlog);
	buf_putc(out, '}');
}

int bus_ping_read(const char *body, size_t len, struct bus_ping *out, struct error *err)
{
	cleanup_json json_t *json = NULL;
	struct json_field at;

	*out = (struct bus_ping){0};
	if (read_body("PING", body, len, &json, &at, err) < 0 || read_shards(&at, "held", &out->held, err) < 0 ||
	    read_shards(&at, "draining", &out->draining, err) < 0 ||
	    read_uint64(&at, "consumed", &out->consumed, err) < 0 ||
	    read_uint64(&at, "received", &out->received, err) < 0 ||
	    read_uint32(&at, "backlog", 0, &out->backlog, err) < 0)
		return -1;
	return 0;
}

void bus_assign_write(struct buf *out, const struct bus_assign *assign)
{
	buf_putc(out, '{');
	buf_json_int(out, "shardCount", assign->shard_count);
	write_shards(out, "shards", &assign->shards);
	write_shards(out, "fresh", &assign->fresh);
	buf_json_int(out, "leaseMs", assign->lease_ms);
	buf_putc(out, '}');
}

int bus_assign_read(const char *body, size_t len, struct bus_assign *out, struct error *err)
{
	cleanup_json json_t *json = NULL;
	struct shard_set wrong;
	struct json_field at;
	uint32_t at_fault;
	uint32_t beyond;

	*out = (struct bus_assign){0};
	if (read_body("ASSIGN", body, len, &json, &at, err) < 0 ||
	    read_uint32(&at, "shardCount", 1, &out->shard_count, err) < 0 ||
	    read_shards(&at, "shards", &out->shards, err) < 0 || read_shards(&at, "fresh", &out->fresh, err) < 0 ||
	    json_field_int(&at, "leaseMs", 1, INT32_MAX, &out->lease_ms, err) < 0)
		return -1;
	if (out->shard_count > BUS_SHARD_MAX)
		return error_set(err, "ASSIGN: shardCount: %u, expected at most %d", out->shard_count, BUS_SHARD_MAX);
	wrong = out->fresh;
	shard_set_remove_all(&wrong, &out->shards);
	at_fault = find_shard(&wrong, 0, true);
	beyond = find_shard(&out->shards, out->shard_count, true);
	if (beyond < at_fault)
		at_fault = beyond;
	if (at_fault < BUS_SHARD_MAX)
		return error_set(err, "ASSIGN: shard %u is not one of its %u shards, or fresh but not assigned",
				 at_fault, out->shard_count);
	return 0;
}

void bus_pong_write(struct buf *out, const struct bus_pong *pong)
{
	buf_putc(out, '{');
	buf_json_bool(out, "renewed", pong->renewed);
	buf_json_key(out, "qps");
	buf_printf(out, "%.17g", pong->qps); /* as it is: rounded to 0 it would be no limit */
	buf_json_int(out, "burst", pong->burst);
	buf_json_bool(out, "live", pong->live);
	buf_putc(out, '}');
}

int bus_pong_read(const char *body, size_t len, struct bus_pong *out, struct error *err)
{
	cleanup_json json_t *json = NULL;
	struct json_field at;
	int64_t burst = 0;

	*out = (struct bus_pong){0};
	if (read_body("PONG", body, len, &json, &at, err) < 0 ||
	    json_field_bool(&at, "renewed", &out->renewed, err) < 0 ||
	    json_field_int(&at, "burst", 0, INT32_MAX, &burst, err) < 0 ||
	    json_field_bool(&at, "live", &out->live, err) < 0)
		return -1;
	out->burst = (int32_t)burst;
	out->qps = json_number_value(json_object_get(json, "qps"));
	if (!json_is_number(json_object_get(json, "qps")) || out->qps < 0)
		return error_set(err, "PONG: qps: expected a number >= 0");
	return 0;
}

void bus_absent_write(struct buf *out, const struct bus_absent *absent)
{
	buf_putc(out, '{');
	buf_json_text(out, "namespace", absent->ns);
	buf_json_text(out, "name", absent->name);
	buf_json_text(out, "uid", absent->uid);
	buf_json_text(out, "resourceVersion", absent->resource_version);
	buf_json_text(out, "frameworkName", absent->framework_name);
	buf_json_bool(out, "deleting", absent->deleting);
	buf_putc(out, '}');
}

int bus_absent_read(const char *body, size_t len, struct bus_absent *out, struct error *err)
{
	cleanup_json json_t *json = NULL;
	struct json_field at;

	*out = (struct bus_absent){0};
	if (read_body("ABSENT", body, len, &json, &at, err) < 0 ||
	    json_field_text(&at, "namespace", &out->ns, err) < 0 || json_field_text(&at, "name", &out->name, err) < 0 ||
	    json_field_text(&at, "uid", &out->uid, err) < 0 ||
	    json_field_text(&at, "resourceVersion", &out->resource_version, err) < 0 ||
	    json_field_text(&at, "frameworkName", &out->framework_name, err) < 0 ||
	    json_field_bool(&at, "deleting", &out->deleting, err) < 0) {
		bus_absent_free(out);
		return -1;
	}
	return 0;
}

void bus_absent_free(struct bus_absent *absent)
{
	free(absent->ns);
	free(absent->name);
	free(absent->uid);
	free(absent->resource_version);
	free(absent->framework_name);
	*absent = (struct bus_absent){0};
}

struct bus_scope *bus_snapshot_end_add(struct bus_snapshot_end *end, const char *ns)
{
	struct bus_scope *scope;

	end->scopes = mem_realloc(end->scopes, end->scope_count + 1, sizeof(*end->scopes));
	scope = &end->scopes[end->scope_count++];
	*scope = (struct bus_scope){.ns = mem_strdup(ns)};
	return scope;
}

const struct bus_scope *bus_snapshot_end_scope(const struct bus_snapshot_end *end, const char *ns)
{
	for (size_t i = 0; i < end->scope_count; i++)
		if (end->scopes[i].ns[0] == '\0' || strcmp(end->scopes[i].ns, ns) == 0)
			return &end->scopes[i];
	return NULL;
}

void bus_snapshot_end_write(struct buf *out, const struct bus_snapshot_end *end)
{
	buf_putc(out, '{');
	write_shards(out, "shards", &end->shards);
	buf_json_open(out, "scopes", '[');
	for (size_t i = 0; i < end->scope_count; i++) {
		const struct bus_scope *scope = &end->scopes[i];

		buf_puts(out, i == 0 ? "{" : ",{");
		buf_json_text(out, "namespace", scope->ns);
		for (size_t kind = 0; kind < KIND_WORKLOAD; kind++)
			buf_json_text(out, object_kind_name((enum object_kind)kind),
				      scope->resource_version[kind] == NULL ? "" : scope->resource_version[kind]);
		buf_json_text_if_any(out, object_kind_name(KIND_WORKLOAD), scope->resource_version[KIND_WORKLOAD]);
		buf_putc(out, '}');
	}
	buf_puts(out, "]}");
}

static int read_scope(const struct json_field *field, struct bus_snapshot_end *out, struct error *err)
{
	struct bus_scope *scope = bus_snapshot_end_add(out, "");
	struct json_field optional = *field; /* Workloads may not be watched */

	if (json_field_text(field, "namespace", &scope->ns, err) < 0)
		return -1;
	for (size_t kind = 0; kind < KIND_WORKLOAD; kind++)
		if (json_field_text(field, object_kind_name((enum object_kind)kind), &scope->resource_version[kind],
				    err) < 0)
			return -1;
	optional.required = false;
	return json_field_text(&optional, object_kind_name(KIND_WORKLOAD), &scope->resource_version[KIND_WORKLOAD],
			       err);
}

int bus_snapshot_end_read(const char *body, size_t len, struct bus_snapshot_end *out, struct error *err)
{
	cleanup_json json_t *json = NULL;
	struct json_field at;
	struct json_field scopes;

	*out = (struct bus_snapshot_end){0};
	if (read_body("SNAPSHOT_END", body, len, &json, &at, err) < 0 ||
	    read_shards(&at, "shards", &out->shards, err) < 0 || json_field_list(&at, "scopes", &scopes, err) < 0)
		return -1;
	if (json_array_size(scopes.value) == 0)
		return json_field_wrong(&at, "scopes", "some", err);
	for (size_t i = 0; i < json_array_size(scopes.value); i++) {
		const struct json_field scope = json_field_item(&scopes, i);

		if (read_scope(&scope, out, err) < 0) {
			bus_snapshot_end_free(out);
			return -1;
		}
	}
	return 0;
}

void bus_snapshot_end_free(struct bus_snapshot_end *end)
{
	for (size_t i = 0; i < end->scope_count; i++) {
		free(end->scopes[i].ns);
		for (size_t kind = 0; kind < KIND_COUNT; kind++)
			free(end->scopes[i].resource_version[kind]);
	}
	free(end->scopes);
	*end = (struct bus_snapshot_end){0};
}

void bus_refuse_write(struct buf *out, const struct bus_refuse *refuse)
{
	buf_putc(out, '{');
	buf_json_text(out, "reason", refuse->reason);
	buf_json_bool(out, "final", refuse->final);
	buf_putc(out, '}');
}

int bus_refuse_read(const char *body, size_t len, struct bus_refuse *out, struct error *err)
{
	cleanup_json json_t *json = NULL;
	struct json_field at;

	*out = (struct bus_refuse){0};
	if (read_body("REFUSE", body, len, &json, &at, err) < 0 ||
	    read_short(&at, "reason", out->reason, sizeof(out->reason), err) < 0 ||
	    json_field_bool(&at, "final", &out->final, err) < 0)
		return -1;
	return 0;
}
