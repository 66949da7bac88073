/* Many watchers on one Lease with everything that goes wrong, of which never two may lead. */
#include "common/base/random.h"
#include "tests/unit/election_world.h"

enum { PROCESSES = 3, STORY_MS = 460 * 1000, CALM_MS = 120 * 1000, STEP_MS = 25, LATE_MAX = 4, LATE_MS = 60 * 1000 };

static const char *const names[PROCESSES] = {"p0", "p1", "p2"};

/* The Lease or its record. */
struct object {
	bool present;
	uint64_t version;
	struct election_lease lease;
};

/* A write that its sender has given up. */
struct late {
	struct election_request request;
	uint64_t on_version;
	int64_t arrives_ms; /* 0: none */
};

struct server {
	struct object objects[ELECTION_OBJECTS];
	struct late late[LATE_MAX];
	uint64_t version;
	uint64_t led;                 /* the epoch of the newest leader */
	struct election_lease newest; /* the term that the record named, with the largest epoch */
	int64_t storm_until_ms;       /* until then somebody deletes the Lease whenever it is there */
};

struct candidate {
	const char *name;
	struct election *election;
	struct election_request request;
	uint64_t on_versions[ELECTION_OBJECTS]; /* that it last saw */
	int64_t arrives_ms;                     /* at the server; 0: nothing is on its way */
	int64_t answers_ms;
	enum election_outcome outcome;
	struct election_lease answer;
	uint64_t answer_version;
	bool carried_out;
	int64_t stopped_until_ms;
	int64_t cut_until_ms;
};

static int64_t below(struct random *random, int64_t limit)
{
	return random_between(random, 0, limit - 1);
}

static void store(struct server *server, struct object *object, const struct election_lease *lease)
{
	if (object == &server->objects[ELECTION_RECORD] && lease->transitions > server->newest.transitions)
		server->newest = *lease;
	object->lease = *lease;
	object->present = true;
	object->version = ++server->version;
	snprintf(object->lease.version, sizeof(object->lease.version), "%llu", (unsigned long long)object->version);
}

static enum election_outcome carry_out(struct server *server, const struct election_request *request,
				       uint64_t on_version)
{
	struct object *object = &server->objects[request->object];

	if (request->verb != ELECTION_CREATE && !object->present)
		return ELECTION_ABSENT;
	if ((request->verb == ELECTION_CREATE && object->present) ||
	    (request->verb == ELECTION_UPDATE && object->version != on_version))
		return ELECTION_CONFLICT;
	if (request->verb != ELECTION_READ)
		store(server, object, &request->lease);
	return ELECTION_ANSWERED;
}

static void arrive(struct server *server, struct candidate *candidate)
{
	const struct election_request *request = &candidate->request;

	candidate->carried_out = true;
	candidate->outcome = carry_out(server, request, candidate->on_versions[request->object]);
	candidate->answer = server->objects[request->object].lease;
	candidate->answer_version = server->objects[request->object].version;
}

/* The server carries it out some time, unless there is no room to remember it. */
static void leave(struct server *server, const struct candidate *candidate, int64_t arrives_ms)
{
	const struct election_request *request = &candidate->request;

	for (int i = 0; i < LATE_MAX; i++)
		if (server->late[i].arrives_ms == 0) {
			server->late[i] = (struct late){*request, candidate->on_versions[request->object], arrives_ms};
			return;
		}
}

static void arrive_late(struct server *server, int64_t now_ms)
{
	for (int i = 0; i < LATE_MAX; i++) {
		struct late *late = &server->late[i];

		if (late->arrives_ms == 0 || now_ms < late->arrives_ms)
			continue;
		late->arrives_ms = 0;
		carry_out(server, &late->request, late->on_version);
	}
}

/* slow_ms: how long requests and answers take at most. */
static void act(struct server *server, struct candidate *candidate, struct random *random, int64_t slow_ms, bool calm,
		int64_t now_ms)
{
	bool cut = now_ms < candidate->cut_until_ms;

	/* the network goes on while a process stands still */
	if (candidate->arrives_ms != 0 && now_ms >= candidate->arrives_ms && !candidate->carried_out && !cut)
		arrive(server, candidate);
	if (now_ms < candidate->stopped_until_ms)
		return;
	if (candidate->arrives_ms != 0 && now_ms >= candidate->answers_ms) {
		bool lost = cut || !candidate->carried_out || (!calm && below(random, 20) == 0);

		candidate->arrives_ms = 0;
		if (!candidate->carried_out)
			leave(server, candidate, now_ms + below(random, LATE_MS));
		if (!lost && candidate->outcome == ELECTION_ANSWERED)
			candidate->on_versions[candidate->request.object] = candidate->answer_version;
		election_answered(candidate->election, lost ? ELECTION_FAILED : candidate->outcome,
				  lost || candidate->outcome != ELECTION_ANSWERED ? NULL : &candidate->answer, now_ms);
	}
	if (election_next(candidate->election, now_ms, &candidate->request)) {
		candidate->arrives_ms = now_ms + below(random, slow_ms);
		candidate->answers_ms = candidate->arrives_ms + below(random, slow_ms);
		candidate->carried_out = false;
	}
}

/* Deletes it, unless it alone names the newest term: with that gone nobody can know who leads. */
static void delete_one(struct server *server, enum election_object object)
{
	const struct object *other = &server->objects[object == ELECTION_LEASE ? ELECTION_RECORD : ELECTION_LEASE];

	if (other->present && other->lease.transitions == server->newest.transitions &&
	    strcmp(other->lease.holder, server->newest.holder) == 0)
		server->objects[object].present = false;
}

static void disturb(struct server *server, struct candidate *candidates, struct random *random, int64_t now_ms)
{
	struct candidate *victim = &candidates[below(random, PROCESSES)];

	switch (below(random, 6)) {
	case 0: victim->stopped_until_ms = now_ms + below(random, 40000); break;
	case 1: victim->cut_until_ms = now_ms + below(random, 40000); break;
	case 2: delete_one(server, ELECTION_LEASE); break;
	case 3: delete_one(server, ELECTION_RECORD); break;
	case 4: server->storm_until_ms = now_ms + below(random, 60000); break;
	default:
		server->objects[ELECTION_LEASE].lease.holder[0] = '\0';
		if (server->objects[ELECTION_LEASE].present)
			store(server, &server->objects[ELECTION_LEASE], &server->objects[ELECTION_LEASE].lease);
		break;
	}
}

static void one_story(uint64_t seed)
{
	struct server server = {.version = 100};
	struct candidate candidates[PROCESSES] = {0};
	uint64_t epoch_of[PROCESSES] = {0};
	int64_t pace_ms = seed % 3 == 0 ? 500 : 8000;
	bool quick = seed % 2 == 0;
	struct random random;
	int leaders = 0;

	random_init_seed(&random, seed);
	for (int i = 0; i < PROCESSES; i++) {
		candidates[i].name = names[i];
		candidates[i].election = make(candidates[i].name, ELECTION_GRANTS_CHILDREN);
	}
	for (int64_t now_ms = START; now_ms < START + STORY_MS; now_ms += STEP_MS) {
		bool calm = now_ms > START + STORY_MS - CALM_MS;

		if (!calm && below(&random, pace_ms / STEP_MS) == 0)
			disturb(&server, candidates, &random, now_ms);
		if (!calm && now_ms < server.storm_until_ms && (!quick || below(&random, 100) == 0))
			delete_one(&server, ELECTION_LEASE);
		arrive_late(&server, now_ms);
		leaders = 0;
		for (int i = 0; i < PROCESSES; i++) {
			struct candidate *candidate = &candidates[i];
			uint64_t epoch;

			act(&server, candidate, &random, calm || quick ? 50 : 3000, calm, now_ms);
			if (!election_leads(candidate->election, now_ms))
				continue;
			leaders++;
			epoch = election_epoch(candidate->election);
			if (epoch == epoch_of[i])
				continue;
			/* nobody ever led with it, and all who led had older ones */
			if (epoch <= server.led)
				fail_msg("seed %llu: at %lld %s leads with epoch %llu after %llu",
					 (unsigned long long)seed, (long long)now_ms, candidate->name,
					 (unsigned long long)epoch, (unsigned long long)server.led);
			server.led = epoch_of[i] = epoch;
		}
		if (leaders > 1)
			fail_msg("seed %llu: %d leaders at %lld", (unsigned long long)seed, leaders, (long long)now_ms);
	}
	if (leaders != 1)
		fail_msg("seed %llu: %d leaders in the end", (unsigned long long)seed, leaders);
	for (int i = 0; i < PROCESSES; i++)
		election_free(candidates[i].election);
}

/* However they stand still, whatever is cut, and whatever somebody does to the Lease or to the record, never do two
 * lead at one moment; and in the end one does. */
static void stories(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3000; seed++)
		one_story(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
