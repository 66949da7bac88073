/* Many watchers on one Lease with everything that goes wrong, of which never two may lead. */
#include "common/base/random.h"
#include "tests/unit/election_world.h"

enum { PROCESSES = 3, STORY_MS = 400 * 1000, STEP_MS = 25 };

static const char *const names[PROCESSES] = {"p0", "p1", "p2"};

struct server {
	bool present;
	uint64_t version;
	struct election_lease lease;
};

struct candidate {
	const char *name;
	struct election *election;
	struct election_request request;
	uint64_t on_version; /* that it last saw */
	int64_t arrives_ms;  /* at the server; 0: nothing is on its way */
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

static void carry_out(struct server *server, struct candidate *candidate, int64_t now_ms)
{
	const struct election_request *request = &candidate->request;

	candidate->carried_out = true;
	candidate->outcome = ELECTION_ANSWERED;
	if (request->verb != ELECTION_CREATE && !server->present) {
		candidate->outcome = ELECTION_ABSENT;
		return;
	}
	if ((request->verb == ELECTION_CREATE && server->present) ||
	    (request->verb == ELECTION_UPDATE && server->version != candidate->on_version)) {
		candidate->outcome = ELECTION_CONFLICT;
		return;
	}
	if (request->verb != ELECTION_READ) {
		server->lease = request->lease;
		server->present = true;
		server->version++;
		snprintf(server->lease.renewed, sizeof(server->lease.renewed), "%lld %s", (long long)now_ms,
			 candidate->name);
	}
	candidate->answer = server->lease;
	candidate->answer_version = server->version;
}

static void act(struct server *server, struct candidate *candidate, struct random *random, bool calm, int64_t now_ms)
{
	bool cut = now_ms < candidate->cut_until_ms;

	/* the network goes on while a process stands still */
	if (candidate->arrives_ms != 0 && now_ms >= candidate->arrives_ms && !candidate->carried_out && !cut)
		carry_out(server, candidate, now_ms);
	if (now_ms < candidate->stopped_until_ms)
		return;
	if (candidate->arrives_ms != 0 && now_ms >= candidate->answers_ms) {
		bool lost = cut || !candidate->carried_out || (!calm && below(random, 20) == 0);

		candidate->arrives_ms = 0;
		if (!lost && candidate->outcome == ELECTION_ANSWERED)
			candidate->on_version = candidate->answer_version;
		election_answered(candidate->election, lost ? ELECTION_FAILED : candidate->outcome,
				  lost || candidate->outcome != ELECTION_ANSWERED ? NULL : &candidate->answer, now_ms);
	}
	if (election_next(candidate->election, now_ms, &candidate->request)) {
		candidate->arrives_ms = now_ms + below(random, calm ? 50 : 3000);
		candidate->answers_ms = candidate->arrives_ms + below(random, calm ? 50 : 3000);
		candidate->carried_out = false;
	}
}

static void disturb(struct server *server, struct candidate *candidates, struct random *random, int64_t now_ms)
{
	struct candidate *victim = &candidates[below(random, PROCESSES)];

	switch (below(random, 4)) {
	case 0: victim->stopped_until_ms = now_ms + below(random, 40000); break;
	case 1: victim->cut_until_ms = now_ms + below(random, 40000); break;
	case 2:
		/* for one that has not seen how far they had come, epochs would begin anew */
		for (int i = 0; i < PROCESSES; i++) {
			const struct election_lease *seen = election_seen(candidates[i].election);

			if (seen == NULL || seen->transitions != server->lease.transitions)
				return;
		}
		server->present = false;
		break;
	default:
		server->lease.holder[0] = '\0';
		server->version++;
		break;
	}
}

static void one_story(uint64_t seed)
{
	struct server server = {.version = 100};
	struct candidate candidates[PROCESSES] = {0};
	uint64_t epoch_of[PROCESSES] = {0};
	uint64_t newest = 0;
	struct random random;
	int leaders = 0;

	random_init_seed(&random, seed);
	for (int i = 0; i < PROCESSES; i++) {
		candidates[i].name = names[i];
		candidates[i].election = make(candidates[i].name, ELECTION_GRANTS_CHILDREN);
	}
	for (int64_t now_ms = START; now_ms < START + STORY_MS; now_ms += STEP_MS) {
		bool calm = now_ms > START + STORY_MS - 60000;

		if (!calm && below(&random, 4000 / STEP_MS) == 0)
			disturb(&server, candidates, &random, now_ms);
		leaders = 0;
		for (int i = 0; i < PROCESSES; i++) {
			struct candidate *candidate = &candidates[i];
			uint64_t epoch;

			act(&server, candidate, &random, calm, now_ms);
			if (!election_leads(candidate->election, now_ms))
				continue;
			leaders++;
			epoch = election_epoch(candidate->election);
			if (epoch == epoch_of[i])
				continue;
			/* nobody ever led with it, and all who led had older ones */
			if (epoch <= newest)
				fail_msg("seed %llu: at %lld %s leads with epoch %llu after %llu",
					 (unsigned long long)seed, (long long)now_ms, candidate->name,
					 (unsigned long long)epoch, (unsigned long long)newest);
			newest = epoch_of[i] = epoch;
		}
	}
	if (leaders != 1)
		fail_msg("seed %llu: %d leaders in the end", (unsigned long long)seed, leaders);
	for (int i = 0; i < PROCESSES; i++)
		election_free(candidates[i].election);
}

/* With Leases cleared by hand two may lead for a moment, but only by different epochs, of which peers heed the newest;
 * and in the end one leads. */
static void stories(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++)
		one_story(seed);
}

/* Without anybody's hand in it, never do two lead at one moment, however they stand still and whatever is cut. */
static void never_two(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct server server = {.version = 100};
		struct candidate candidates[PROCESSES] = {0};
		struct random random;

		random_init_seed(&random, seed);
		for (int i = 0; i < PROCESSES; i++) {
			candidates[i].name = names[i];
			candidates[i].election = make(candidates[i].name, ELECTION_GRANTS_CHILDREN);
		}
		for (int64_t now_ms = START; now_ms < START + STORY_MS; now_ms += STEP_MS) {
			struct candidate *victim = &candidates[below(&random, PROCESSES)];
			int leaders = 0;

			if (below(&random, 4000 / STEP_MS) == 0)
				victim->stopped_until_ms = now_ms + below(&random, 40000);
			else if (below(&random, 4000 / STEP_MS) == 0)
				victim->cut_until_ms = now_ms + below(&random, 40000);
			for (int i = 0; i < PROCESSES; i++) {
				act(&server, &candidates[i], &random, false, now_ms);
				leaders += election_leads(candidates[i].election, now_ms);
			}
			if (leaders > 1)
				fail_msg("seed %llu: %d leaders at %lld", (unsigned long long)seed, leaders,
					 (long long)now_ms);
		}
		for (int i = 0; i < PROCESSES; i++)
			election_free(candidates[i].election);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stories),
		cmocka_unit_test(never_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
