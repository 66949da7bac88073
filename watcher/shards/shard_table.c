/* The table of shards; see shard_table.h. Invariants:
 * - a shard has at most one holder, and becomes FREE before it gets another one;
 * - a holder's shard becomes FREE only when the holder released it, its process has ended, or its lease has ended by
 *   this table;
 * - every change of a member's assignment has a new version, and only a ping with the present version renews the lease.
 *   So a member that has not applied a revocation keeps its old lease. */
#include "watcher/shards/shard_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"

enum {
	MEMBERS_MAX = 1024,
	UUID_MAX = 40,
	NAME_MAX_BYTES = 64,
	EARLY_ENDS_MAX = 2, /* in a row; the pool waits up to 32 s between them */
};

enum shard_state { SHARD_FREE, SHARD_GRANTED, SHARD_REVOKING };

struct shard_member {
	char name[NAME_MAX_BYTES];
	char uuid[UUID_MAX]; /* "" : expected, or dead */
	bool present;        /* sent a message within lease + margin: may be granted shards */
	bool leaving;
	bool in_use;
	bool changed; /* its assignment changed in this update */
	uint64_t version;
	int64_t received_ms;
	int64_t joined_ms;    /* first HELLO of the process */
	uint32_t early_ends;  /* processes in a row that ended within the grace time */
	int64_t lease_end_ms; /* by our count, margin included; 0: no lease was ever given, or none any more */
	struct shard_set granted;
	struct shard_set fresh;
	uint32_t targets; /* shards with this target; scratch of the balance */
	uint32_t quota;
};

struct shard {
	enum shard_state state;
	struct shard_member *holder; /* unless FREE */
	struct shard_member *target; /* who should have it; NULL: nobody yet */
	uint64_t taken_version;      /* REVOKING: the holder's version that lacks it */
	uint32_t claims;             /* members that held it under a former leader, as they say */
};

struct shard_table {
	struct shard_options options;
	struct shard shards[BUS_SHARD_MAX];
	struct shard_member *members[MEMBERS_MAX];
	size_t member_count;
	uint64_t version; /* the last one given to any member */
	bool closed;
};

static int64_t lease_span(const struct shard_table *table)
{
	return table->options.lease_ms + table->options.margin_ms;
}

struct shard_table *shard_table_new(const struct shard_options *options)
{
	struct shard_table *table = mem_calloc(1, sizeof(*table));

	table->options = *options;
	return table;
}

void shard_table_free(struct shard_table *table)
{
	if (table == NULL)
		return;
	for (size_t i = 0; i < table->member_count; i++)
		free(table->members[i]);
	free(table);
}

static struct shard_member *find(const struct shard_table *table, const char *name)
{
	for (size_t i = 0; i < table->member_count; i++)
		if (strcmp(table->members[i]->name, name) == 0)
			return table->members[i];
	return NULL;
}

/* Members are kept sorted by name, so that the outcome does not depend on who came first. */
static struct shard_member *add(struct shard_table *table, const char *name, int64_t now_ms)
{
	struct shard_member *member;
	size_t at = table->member_count;

	if (table->member_count == MEMBERS_MAX)
		return NULL;
	member = mem_calloc(1, sizeof(*member));
	strncpy(member->name, name, sizeof(member->name) - 1);
	member->received_ms = now_ms;
	while (at > 0 && strcmp(table->members[at - 1]->name, member->name) > 0) {
		table->members[at] = table->members[at - 1];
		at--;
	}
	table->members[at] = member;
	table->member_count++;
	return member;
}

static bool leased(const struct shard_member *member, int64_t now_ms)
{
	return member->lease_end_ms > now_ms;
}

/* Whether shards wait for its return: not for the next process of those that end early. */
static bool awaited(const struct shard_table *table, const struct shard_member *member, int64_t now_ms)
{
	if (member->uuid[0] == '\0' && member->early_ends >= EARLY_ENDS_MAX)
		return false;
	return now_ms < member->received_ms + table->options.grace_ms;
}

/* Whether it is the target of shards. */
static bool eligible(const struct shard_table *table, const struct shard_member *member, int64_t now_ms)
{
	return !member->leaving && (member->present || leased(member, now_ms) || awaited(table, member, now_ms));
}

static void mark_changed(struct shard_table *table, struct shard_member *member)
{
	if (!member->changed)
		member->version = ++table->version;
	member->changed = true;
}

static void set_free(struct shard_table *table, uint32_t r)
{
	struct shard *shard = &table->shards[r];
	struct shard_member *holder = shard->holder;

	if (shard->state == SHARD_GRANTED) {
		shard_set_remove(&holder->granted, r);
		shard_set_remove(&holder->fresh, r);
		mark_changed(table, holder);
	}
	shard->state = SHARD_FREE;
	shard->holder = NULL;
}

static void set_granted(struct shard_table *table, uint32_t r, struct shard_member *member)
{
	struct shard *shard = &table->shards[r];

	shard->state = SHARD_GRANTED;
	shard->holder = member;
	shard->target = member;
	shard_set_add(&member->granted, r);
	shard_set_add(&member->fresh, r);
	mark_changed(table, member);
}

static void set_revoking(struct shard_table *table, uint32_t r)
{
	struct shard *shard = &table->shards[r];
	struct shard_member *holder = shard->holder;

	shard_set_remove(&holder->granted, r);
	shard_set_remove(&holder->fresh, r);
	mark_changed(table, holder);
	shard->state = SHARD_REVOKING;
	shard->taken_version = holder->version;
}

/* Whether it holds a shard or is the target of one. */
static bool holds_any(const struct shard_table *table, const struct shard_member *member)
{
	for (uint32_t r = 0; r < table->options.shard_count; r++)
		if (table->shards[r].holder == member || table->shards[r].target == member)
			return true;
	return false;
}

/* Its process may not act any more: no lease is left by our count, or it is dead. */
static void end_lease(struct shard_table *table, struct shard_member *member)
{
	member->lease_end_ms = 0;
	for (uint32_t r = 0; r < table->options.shard_count; r++)
		if (table->shards[r].holder == member)
			set_free(table, r);
}

/* ---- received messages ------------------------------------------------------------------------------------------ */

void shard_table_expect(struct shard_table *table, const char *name, int64_t now_ms)
{
	if (find(table, name) == NULL)
		add(table, name, now_ms);
}

static void forget_process(struct shard_table *table, struct shard_member *member)
{
	member->uuid[0] = '\0';
	member->present = false;
	member->leaving = false;
	end_lease(table, member);
}

/* Whether it is uncertain which member may have a lease on the shard from a former leader. */
static bool blocked(const struct shard_table *table, const struct shard *shard, int64_t now_ms)
{
	return shard->claims != 1 && now_ms < table->options.former_until_ms;
}

/* One of two claims on a shard may be wrong, so neither holds until the leases of both are over for certain. */
static void contest(struct shard_table *table, uint32_t r, const struct shard_member *member)
{
	struct shard *shard = &table->shards[r];

	log_warning("shard %u is held by %s and claimed by %s: no member gets it until their leases have ended", r,
		    shard->holder == NULL ? "others" : shard->holder->name, member->name);
	if (shard->state == SHARD_GRANTED)
		set_revoking(table, r);
}

static void take_claims(struct shard_table *table, struct shard_member *member, const struct shard_set *claimed)
{
	for (uint32_t r = 0; r < table->options.shard_count; r++) {
		struct shard *shard = &table->shards[r];

		if (!shard_set_has(claimed, r) || shard->holder == member)
			continue;
		if (++shard->claims == 1 && shard->state == SHARD_FREE)
			set_granted(table, r, member);
		else
			contest(table, r, member);
		if (member->lease_end_ms < table->options.former_until_ms)
			member->lease_end_ms = table->options.former_until_ms;
	}
}

enum shard_answer shard_table_hello(struct shard_table *table, const char *name, const char *uuid,
				    const struct shard_set *claimed, int64_t now_ms, struct shard_member **out)
{
	struct shard_member *member = find(table, name);

	if (member == NULL)
		member = add(table, name, now_ms);
	if (member == NULL)
		return SHARD_FULL;
	if (strcmp(member->uuid, uuid) != 0) {
		if (member->uuid[0] != '\0' && leased(member, now_ms))
			return SHARD_BUSY;
		forget_process(table, member);
		strncpy(member->uuid, uuid, sizeof(member->uuid) - 1);
		member->joined_ms = now_ms;
	}
	member->present = true;
	member->received_ms = now_ms;
	if (claimed != NULL && now_ms < table->options.former_until_ms)
		take_claims(table, member, claimed);
	*out = member;
	return SHARD_JOINED;
}

bool shard_table_ping(struct shard_table *table, struct shard_member *member, uint64_t version,
		      const struct shard_set *held, const struct shard_set *draining, int64_t now_ms)
{
	member->present = true;
	member->received_ms = now_ms;
	for (uint32_t r = 0; r < table->options.shard_count; r++) {
		const struct shard *shard = &table->shards[r];

		if (shard->holder == member && shard->state == SHARD_REVOKING && version >= shard->taken_version &&
		    !shard_set_has(held, r) && !shard_set_has(draining, r))
			set_free(table, r);
	}
	if (version == 0 || version != member->version)
		return false;
	/* one that left and let go of everything needs no lease: its successor need not wait for it */
	if (member->leaving && !holds_any(table, member))
		member->lease_end_ms = 0;
	else if (member->lease_end_ms < now_ms + lease_span(table)) /* one that was claimed may run longer than ours */
		member->lease_end_ms = now_ms + lease_span(table);
	return true;
}

void shard_table_bye(struct shard_table *table, struct shard_member *member)
{
	member->leaving = true;
	for (uint32_t r = 0; r < table->options.shard_count; r++) {
		if (table->shards[r].target == member)
			table->shards[r].target = NULL;
		if (table->shards[r].holder == member && table->shards[r].state == SHARD_GRANTED)
			set_revoking(table, r);
	}
	mark_changed(table, member); /* a version to let go at, even when it held nothing */
}

void shard_table_dead(struct shard_table *table, const char *name, int64_t now_ms)
{
	struct shard_member *member = find(table, name);

	if (member == NULL)
		return;
	if (member->uuid[0] == '\0' || now_ms < member->joined_ms + table->options.grace_ms)
		member->early_ends++;
	else
		member->early_ends = 0;
	forget_process(table, member);
	member->received_ms = now_ms;
}

void shard_table_close(struct shard_table *table)
{
	table->closed = true;
}

/* ---- balance ---------------------------------------------------------------------------------------------------- */

/* How many shards each eligible member should have: as equal as can be, the odd ones to those that have most already,
 * so that few move. Returns the number of eligible members. */
static uint32_t set_quotas(struct shard_table *table, int64_t now_ms)
{
	uint32_t count = 0;
	uint32_t odd;

	for (size_t i = 0; i < table->member_count; i++) {
		table->members[i]->targets = 0;
		table->members[i]->quota = 0;
		count += eligible(table, table->members[i], now_ms) ? 1 : 0;
	}
	for (uint32_t r = 0; r < table->options.shard_count; r++) {
		struct shard *shard = &table->shards[r];

		if (shard->target != NULL && !eligible(table, shard->target, now_ms))
			shard->target = NULL;
		if (shard->target != NULL)
			shard->target->targets++;
	}
	if (count == 0)
		return 0;
	for (size_t i = 0; i < table->member_count; i++)
		if (eligible(table, table->members[i], now_ms))
			table->members[i]->quota = table->options.shard_count / count;
	for (odd = table->options.shard_count % count; odd > 0; odd--) {
		struct shard_member *most = NULL;

		for (size_t i = 0; i < table->member_count; i++) {
			struct shard_member *member = table->members[i];

			if (eligible(table, member, now_ms) && member->quota == table->options.shard_count / count &&
			    (most == NULL || member->targets > most->targets))
				most = member;
		}
		if (most == NULL)
			break; /* not while count members are eligible */
		most->quota++;
	}
	return count;
}

static bool has_room(const struct shard_member *member)
{
	return member != NULL && member->targets < member->quota;
}

/* The neighbour's owner if it has room, else who lacks most: so that each member owns few runs. */
static struct shard_member *choose(const struct shard_table *table, uint32_t r)
{
	struct shard_member *best = NULL;

	if (r > 0 && has_room(table->shards[r - 1].target))
		return table->shards[r - 1].target;
	if (r + 1 < table->options.shard_count && has_room(table->shards[r + 1].target))
		return table->shards[r + 1].target;
	for (size_t i = 0; i < table->member_count; i++) {
		struct shard_member *member = table->members[i];

		if (has_room(member) && (best == NULL || member->quota - member->targets > best->quota - best->targets))
			best = member;
	}
	return best;
}

static void balance(struct shard_table *table, int64_t now_ms)
{
	if (set_quotas(table, now_ms) == 0)
		return;
	for (uint32_t r = table->options.shard_count; r-- > 0;) {
		struct shard *shard = &table->shards[r];

		if (shard->target != NULL && shard->target->targets > shard->target->quota) {
			shard->target->targets--;
			shard->target = NULL;
		}
	}
	for (uint32_t r = 0; r < table->options.shard_count; r++) {
		struct shard *shard = &table->shards[r];

		if (shard->target != NULL)
			continue;
		shard->target = choose(table, r);
		if (shard->target != NULL)
			shard->target->targets++;
	}
}

/* ---- what follows ----------------------------------------------------------------------------------------------- */

static void expire(struct shard_table *table, int64_t now_ms)
{
	for (size_t i = 0; i < table->member_count; i++) {
		struct shard_member *member = table->members[i];

		if (member->lease_end_ms != 0 && !leased(member, now_ms)) {
			log_warning("the lease of %s expired", member->name);
			end_lease(table, member);
		}
		if (now_ms >= member->received_ms + lease_span(table))
			member->present = false;
		/* without a lease it may not act, and none can be renewed but at a newer version */
		if (!member->present && member->lease_end_ms == 0)
			end_lease(table, member);
	}
}

static void grant(struct shard_table *table, int64_t now_ms)
{
	if (table->closed)
		return; /* nor is anything revoked: holders write their statuses, and leave by themselves */
	for (uint32_t r = 0; r < table->options.shard_count; r++) {
		struct shard *shard = &table->shards[r];

		if (shard->state == SHARD_GRANTED && shard->holder != shard->target && shard->target != NULL)
			set_revoking(table, r);
		if (shard->state == SHARD_FREE && shard->target != NULL && shard->target->present &&
		    !blocked(table, shard, now_ms))
			set_granted(table, r, shard->target);
	}
}

static void forget_gone(struct shard_table *table, int64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->member_count; i++) {
		struct shard_member *member = table->members[i];

		if (member->in_use || eligible(table, member, now_ms) || leased(member, now_ms) ||
		    holds_any(table, member) || member->early_ends > 0) /* (only of the pool's few names) */
			table->members[kept++] = member;
		else
			free(member);
	}
	table->member_count = kept;
}

void shard_table_update(struct shard_table *table, int64_t now_ms)
{
	expire(table, now_ms);
	balance(table, now_ms);
	grant(table, now_ms);
	for (size_t i = 0; i < table->member_count; i++)
		table->members[i]->changed = false;
	forget_gone(table, now_ms);
}

/* ---- what is asked ---------------------------------------------------------------------------------------------- */

void shard_member_use(struct shard_member *member, bool in_use)
{
	member->in_use = in_use;
}

uint64_t shard_member_version(const struct shard_member *member)
{
	return member->version;
}

const struct shard_set *shard_member_shards(const struct shard_member *member)
{
	return &member->granted;
}

void shard_member_take_fresh(struct shard_member *member, struct shard_set *out)
{
	*out = member->fresh;
	member->fresh = (struct shard_set){0};
}

size_t shard_table_size(const struct shard_table *table)
{
	return table->member_count;
}

void shard_table_view_member(const struct shard_table *table, size_t index, int64_t now_ms,
			     struct shard_member_view *out)
{
	const struct shard_member *member = table->members[index];

	*out = (struct shard_member_view){
		.name = member->name,
		.uuid = member->uuid,
		.present = member->present,
		.leaving = member->leaving,
		.lease_left_ms = leased(member, now_ms) ? member->lease_end_ms - now_ms : 0,
		.received_ms = member->received_ms,
	};
	for (uint32_t r = 0; r < table->options.shard_count; r++)
		out->target_count += table->shards[r].target == member;
}

void shard_table_view_shard(const struct shard_table *table, uint32_t r, int64_t now_ms, struct shard_view *out)
{
	const struct shard *shard = &table->shards[r];

	*out = (struct shard_view){
		.holder = shard->holder == NULL ? NULL : shard->holder->name,
		.revoking = shard->state == SHARD_REVOKING,
		.target = shard->target == NULL ? NULL : shard->target->name,
		.blocked_ms = blocked(table, shard, now_ms) ? table->options.former_until_ms - now_ms : 0,
	};
}

const char *shard_table_holder(const struct shard_table *table, uint32_t shard)
{
	const struct shard_member *holder = table->shards[shard].holder;

	return holder == NULL ? NULL : holder->name;
}
