/* The state of the watcher's shards for people; see debug.h. */
#include "watcher/debug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"

enum { UUID_SHOWN = 8 };

void debug_write_shards(struct buf *out, const struct shard_set *set)
{
	const char *comma = "";

	for (uint32_t r = 0; r < BUS_SHARD_MAX; r++) {
		uint32_t last = r;

		if (!shard_set_has(set, r))
			continue;
		while (last + 1 < BUS_SHARD_MAX && shard_set_has(set, last + 1))
			last++;
		if (last == r)
			buf_printf(out, "%s%u", comma, r);
		else
			buf_printf(out, "%s%u-%u", comma, r, last);
		comma = ",";
		r = last;
	}
}

static void set_shards(json_t *object, const char *name, const struct shard_set *set)
{
	cleanup_buf struct buf text = {0};

	debug_write_shards(&text, set);
	json_object_set_new(object, name, json_string(text.len == 0 ? "" : text.data));
}

static void set_int(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer((json_int_t)value));
}

/* Tenths are enough for people. */
static void set_seconds(json_t *object, const char *name, int64_t ms)
{
	json_object_set_new(object, name, json_real((double)(ms - ms % 100) / 1000));
}

/* ---- members ---------------------------------------------------------------------------------------------------- */

static void describe_shards(const struct debug_view *view, json_t *object, const char *name)
{
	struct shard_set held = {0};
	struct shard_set draining = {0};

	for (uint32_t r = 0; r < view->shard_count; r++) {
		struct shard_view shard;

		shard_table_view_shard(router_shards(view->router), r, view->now_ms, &shard);
		if (shard.holder != NULL && strcmp(shard.holder, name) == 0)
			shard_set_add(shard.revoking ? &draining : &held, r);
	}
	set_shards(object, "shards", &held);
	set_int(object, "count", shard_set_count(&held));
	set_shards(object, "draining", &draining);
}

static void describe_pid(const struct debug_view *view, json_t *object, const char *name)
{
	char slot[POOL_NAME_SIZE];

	for (int i = 0; view->pool != NULL && i < view->workers; i++)
		if (strcmp(pool_name(i, slot), name) == 0) {
			if (pool_pid(view->pool, i) > 0) /* (a reader could run "kill 0") */
				set_int(object, "pid", (uint64_t)pool_pid(view->pool, i));
			set_int(object, "restarts", pool_slot_restarts(view->pool, i));
			json_object_set_new(object, "lastEnd", json_string(pool_slot_end(view->pool, i)));
		}
}

/* Whoever knows all of it, and has a reconciler's key, can claim shards in the member's name. */
static void set_uuid(json_t *object, const char *uuid)
{
	json_object_set_new(object, "uuid", json_stringn(uuid, strnlen(uuid, UUID_SHOWN)));
}

static json_t *describe_member(const struct debug_view *view, size_t index)
{
	json_t *object = json_object();
	struct shard_member_view member;

	shard_table_view_member(router_shards(view->router), index, view->now_ms, &member);
	json_object_set_new(object, "name", json_string(member.name));
	set_uuid(object, member.uuid);
	describe_pid(view, object, member.name);
	json_object_set_new(object, "state",
			    json_string(member.leaving   ? "leaving"
					: member.present ? "present"
							 : "gone"));
	describe_shards(view, object, member.name);
	set_int(object, "targetCount", member.target_count);
	set_seconds(object, "leaseSeconds", member.lease_left_ms);
	set_seconds(object, "receivedSecondsAgo", view->now_ms - member.received_ms);
	set_int(object, "keys", 0);
	set_int(object, "unsent", 0);
	set_int(object, "inFlight", 0);
	return object;
}

struct peers {
	const struct debug_view *view;
	json_t *members;
	json_t *barriers;
};

/* Adds what only the connection knows. */
static void add_peer(void *arg, const struct router_peer_view *peer)
{
	const struct peers *peers = arg;
	json_t *object = NULL;

	if (peer->role == BUS_ROLE_BARRIER) {
		object = json_object();
		json_object_set_new(object, "name", json_string(peer->name));
		set_uuid(object, peer->uuid);
		set_seconds(object, "receivedSecondsAgo", peers->view->now_ms - peer->received_ms);
		json_array_append_new(peers->barriers, object);
	} else {
		size_t i;
		json_t *member;

		json_array_foreach(peers->members, i, member)
			if (strcmp(json_str(member, "name"), peer->name) == 0)
				object = member;
		if (object == NULL)
			return;
		set_int(object, "keys", peer->backlog);
	}
	set_int(object, "unsent", peer->unsent);
	set_int(object, "inFlight", peer->in_flight);
}

/* ---- unheld shards ---------------------------------------------------------------------------------------------- */

static void end_run(json_t *list, const struct shard_set *run, const struct shard_view *shard)
{
	json_t *object;

	if (shard_set_empty(run))
		return;
	object = json_object();
	set_shards(object, "shards", run);
	json_object_set_new(object, "for", json_string(shard->target == NULL ? "" : shard->target));
	set_seconds(object, "blockedSeconds", shard->blocked_ms);
	json_array_append_new(list, object);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Joins neighbours that have the same target and time. */
static json_t *describe_unheld(const struct debug_view *view, uint32_t *held)
{
	json_t *list = json_array();
	struct shard_set run = {0};
	struct shard_view of_run = {0};

	*held = 0;
	for (uint32_t r = 0; r < view->shard_count; r++) {
		struct shard_view shard;
		bool joins;

		shard_table_view_shard(router_shards(view->router), r, view->now_ms, &shard);
		*held += shard.holder != NULL;
		joins = shard.holder == NULL && same_text(shard.target, of_run.target) &&
			shard.blocked_ms == of_run.blocked_ms;
		if (!joins) {
			end_run(list, &run, &of_run);
			run = (struct shard_set){0};
		}
		of_run = shard;
		if (shard.holder == NULL)
			shard_set_add(&run, r);
	}
	end_run(list, &run, &of_run);
	return list;
}

json_t *debug_shards(const struct debug_view *view)
{
	json_t *object = json_object();
	struct peers peers = {.view = view, .members = json_array(), .barriers = json_array()};
	json_t *unheld = NULL;
	uint32_t held = 0;

	if (view->router != NULL) {
		for (size_t i = 0; i < shard_table_size(router_shards(view->router)); i++)
			json_array_append_new(peers.members, describe_member(view, i));
		router_view_peers(view->router, add_peer, &peers);
		unheld = describe_unheld(view, &held);
	}
	json_object_set_new(object, "identity", json_string(view->identity));
	json_object_set_new(object, "leads", json_boolean(view->router != NULL));
	json_object_set_new(object, "leader", json_string(view->leader));
	json_object_set_new(object, "lease", json_sprintf("%s/%s", view->lease_ns, view->lease_name));
	set_int(object, "epoch", view->router == NULL ? 0 : router_epoch(view->router));
	json_object_set_new(object, "synced", json_boolean(view->synced));
	json_object_set_new(object, "live", json_boolean(view->live));
	set_int(object, "shardCount", view->shard_count);
	set_int(object, "held", held);
	set_int(object, "backlog", view->router == NULL ? 0 : router_backlog(view->router));
	json_object_set_new(object, "members", peers.members);
	json_object_set_new(object, "barriers", peers.barriers);
	json_object_set_new(object, "unheld", unheld == NULL ? json_array() : unheld);
	return object;
}

/* ---- as a table ------------------------------------------------------------------------------------------------- */

enum { COLUMNS_MAX = 12, CELL_MAX = 64 };

/* Rows are gathered first, so that columns are as wide as they have to be. */
struct table {
	size_t columns;
	size_t rows;
	char **cells;
};

static void add_row(struct table *table, ...)
{
	va_list cells;

	table->cells = mem_realloc(table->cells, (table->rows + 1) * table->columns, sizeof(*table->cells));
	va_start(cells, table);
	for (size_t i = 0; i < table->columns; i++)
		table->cells[table->rows * table->columns + i] = mem_strdup(va_arg(cells, const char *));
	va_end(cells);
	table->rows++;
}

static void end_table(struct table *table, struct buf *out)
{
	size_t widths[COLUMNS_MAX] = {0};

	for (size_t i = 0; i < table->rows * table->columns; i++)
		if (widths[i % table->columns] < strlen(table->cells[i]))
			widths[i % table->columns] = strlen(table->cells[i]);
	for (size_t i = 0; i < table->rows * table->columns; i++) {
		bool last = i % table->columns == table->columns - 1;

		buf_printf(out, "%-*s%s", last ? 0 : (int)widths[i % table->columns], table->cells[i],
			   last ? "\n" : "  ");
	}
	for (size_t i = 0; i < table->rows * table->columns; i++)
		free(table->cells[i]);
	free(table->cells);
}

/* Of a number. */
struct cell {
	char text[CELL_MAX];
};

static struct cell number(const json_t *object, const char *name)
{
	struct cell cell;

	snprintf(cell.text, sizeof(cell.text), "%lld", (long long)json_int(object, name, 0));
	return cell;
}

static struct cell number_if_any(const json_t *object, const char *name)
{
	const struct cell none = {"-"};

	return json_object_get(object, name) == NULL ? none : number(object, name);
}

static struct cell seconds(const json_t *object, const char *name)
{
	struct cell cell;

	snprintf(cell.text, sizeof(cell.text), "%.1fs", json_real_value(json_object_get(object, name)));
	return cell;
}

static const char *text(const json_t *object, const char *name)
{
	const char *found = json_str(object, name);

	return found == NULL || found[0] == '\0' ? "-" : found;
}

static void write_members(struct buf *out, const json_t *members)
{
	struct table table = {.columns = 12};
	size_t i;
	const json_t *member;

	/* (an end has blanks, so it is the last one) */
	add_row(&table, "MEMBER", "PID", "STATE", "SHARDS", "COUNT", "DRAINING", "LEASE", "RECEIVED", "KEYS", "UNSENT",
		"RESTARTS", "LAST END");
	json_array_foreach((json_t *)members, i, member)
		add_row(&table, text(member, "name"), number_if_any(member, "pid").text, text(member, "state"),
			text(member, "shards"), number(member, "count").text, text(member, "draining"),
			seconds(member, "leaseSeconds").text, seconds(member, "receivedSecondsAgo").text,
			number(member, "keys").text, number(member, "unsent").text,
			number_if_any(member, "restarts").text, text(member, "lastEnd"));
	end_table(&table, out);
}

static void write_barriers(struct buf *out, const json_t *barriers)
{
	struct table table = {.columns = 3};
	size_t i;
	const json_t *barrier;

	if (json_array_size(barriers) == 0)
		return;
	buf_puts(out, "\n");
	add_row(&table, "BARRIER", "RECEIVED", "UNSENT");
	json_array_foreach((json_t *)barriers, i, barrier)
		add_row(&table, text(barrier, "name"), seconds(barrier, "receivedSecondsAgo").text,
			number(barrier, "unsent").text);
	end_table(&table, out);
}

static void write_unheld(struct buf *out, const json_t *unheld)
{
	struct table table = {.columns = 3};
	size_t i;
	const json_t *run;

	if (json_array_size(unheld) == 0)
		return;
	buf_puts(out, "\n");
	add_row(&table, "UNHELD SHARDS", "FOR", "BLOCKED");
	json_array_foreach((json_t *)unheld, i, run)
		add_row(&table, text(run, "shards"), text(run, "for"), seconds(run, "blockedSeconds").text);
	end_table(&table, out);
}

void debug_write_table(struct buf *out, const json_t *shards)
{
	bool leads = json_bool(shards, "leads", false);
	/* the API server may be out of reach: nobody leads */
	bool named = !leads && strcmp(text(shards, "identity"), text(shards, "leader")) == 0;

	buf_printf(out, "This    %s, %s\nLeader  %s, by Lease %s\n", text(shards, "identity"),
		   leads   ? "leads"
		   : named ? "does not lead: its Lease has run out, or it has only just taken it"
			   : "standby",
		   named ? "-" : text(shards, "leader"), text(shards, "lease"));
	buf_printf(out, "Cache   %s, %s\n",
		   json_bool(shards, "synced", false) ? "everything is listed" : "not everything is listed yet",
		   json_bool(shards, "live", false) ? "watched" : "not all watches are connected");
	if (!leads)
		return;
	buf_printf(out, "Shards  %lld, %lld of them held; epoch %lld; %lld objects to send\n\n",
		   (long long)json_int(shards, "shardCount", 0), (long long)json_int(shards, "held", 0),
		   (long long)json_int(shards, "epoch", 0), (long long)json_int(shards, "backlog", 0));
	write_members(out, json_object_get(shards, "members"));
	write_barriers(out, json_object_get(shards, "barriers"));
	write_unheld(out, json_object_get(shards, "unheld"));
}
