/* The clock, the events and the trace; see sim.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/sim/check.h"

enum {
	STEPS_MAX = 400 * 1000,
	REST_LOOK_MS = 1000,
	STRANGER_EVERY = 3,
	REST_LIMIT_MS = 40 * 60 * 1000, /* after the last fault */
	REST_HOLD_MS = 12 * 1000,       /* it must stay at rest */
	REST_HOLD_SMALL_MS = 2 * 1000,  /* … in a small world */
};

struct event {
	int64_t at_ms;
	uint64_t sequence;
	struct process *process;
	uint64_t life;
	void (*run)(struct world *world, void *arg);
	void (*drop)(void *arg);
	void *arg;
};

bool sim_tracing;
struct world *sim_world;

/* ---- events ---- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->sequence < b->sequence;
}

static void heap_push(struct world *world, struct event *event)
{
	size_t place = world->heap_count++;

	if (world->heap_count > world->heap_cap) {
		world->heap_cap = world->heap_cap == 0 ? 256 : world->heap_cap * 2;
		world->heap = mem_realloc(world->heap, world->heap_cap, sizeof(*world->heap));
	}
	while (place > 0 && before(event, world->heap[(place - 1) / 2])) {
		world->heap[place] = world->heap[(place - 1) / 2];
		place = (place - 1) / 2;
	}
	world->heap[place] = event;
}

static struct event *heap_pop(struct world *world)
{
	struct event *first = world->heap[0];
	struct event *last = world->heap[--world->heap_count];
	size_t place = 0;

	for (size_t child = 1; child < world->heap_count; child = place * 2 + 1) {
		if (child + 1 < world->heap_count && before(world->heap[child + 1], world->heap[child]))
			child++;
		if (!before(world->heap[child], last))
			break;
		world->heap[place] = world->heap[child];
		place = child;
	}
	if (world->heap_count > 0)
		world->heap[place] = last;
	return first;
}

void at(struct world *world, int64_t at_ms, struct process *process, void (*run)(struct world *world, void *arg),
	void (*drop)(void *arg), void *arg)
{
	struct event *event = mem_alloc(sizeof(*event));

	*event = (struct event){
		.at_ms = at_ms < world->now_ms ? world->now_ms : at_ms,
		.sequence = ++world->sequence,
		.process = process,
		.life = process == NULL ? 0 : process->life,
		.run = run,
		.drop = drop,
		.arg = arg,
	};
	heap_push(world, event);
}

static void out_of_memory(struct world *world, struct process *process)
{
	for (int i = 0; i < SIM_WATCHERS; i++)
		if (process == &world->watchers[i].process)
			watcher_out_of_memory(&world->watchers[i]);
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (process == &world->members[i].process)
			member_out_of_memory(&world->members[i]);
}

static void step(struct world *world)
{
	struct event *event = heap_pop(world);
	const struct process *process = event->process;

	world->now_ms = event->at_ms;
	if (process != NULL && (!process->alive || process->life != event->life)) {
		if (event->drop != NULL)
			event->drop(event->arg);
		free(event);
		return;
	}
	if (process != NULL && process->paused_until_ms > world->now_ms) {
		event->at_ms = process->paused_until_ms;
		event->sequence = ++world->sequence; /* behind what waits already */
		heap_push(world, event);
		return;
	}
	world->steps++;
	mark(world, (uint64_t)world->now_ms);
	mark(world, event->sequence);
	world->running = process;
	if (!memory_run(event->process, event->run, world, event->arg))
		out_of_memory(world, event->process);
	world->running = NULL;
	free(event);
	if (world->changed) {
		world->changed = false;
		check_step(world);
	}
	if ((world->healed || world->faults.row == ROW_LATE_WRITES) && world->now_ms >= world->strays_look_ms) {
		world->looks_anew = world->now_ms > world->strays_look_ms + SIM_STRAYS_LOOK_MS;
		world->strays_look_ms = world->now_ms + SIM_STRAYS_LOOK_MS;
		check_strays(world);
		check_gangs(world);
		if (world->lively && world->healed)
			check_overdue(world);
		check_queues_former(world);
	}
}

int events_of(const struct world *world, const void *arg, const void *(*subject)(void (*drop)(void *arg), void *arg))
{
	int count = 0;

	for (size_t i = 0; i < world->heap_count; i++)
		if (subject(world->heap[i]->drop, world->heap[i]->arg) == arg)
			count++;
	return count;
}

/* ---- chance ---- */

int64_t pick(struct world *world, int64_t low, int64_t high)
{
	return random_between(&world->fault_random, low, high);
}

bool chance(struct world *world, int per_thousand)
{
	return per_thousand > 0 && pick(world, 0, 999) < per_thousand;
}

/* ---- trace ---- */

void mark(struct world *world, uint64_t value)
{
	world->hash = (world->hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
	world->hash ^= world->hash >> 32;
}

void trace(struct world *world, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (!sim_tracing)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("%10lld %s\n", (long long)world->now_ms, text);
}

void violated(struct world *world, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (const struct object *object = sim_tracing ? world->objects : NULL; object != NULL; object = object->next) {
		cleanup_free char *json = json_text(object->json);

		printf("%s\n", json);
	}
	fflush(stdout);
	fprintf(stderr, "seed %llu%s: at %lld ms, step %llu: %s\n", (unsigned long long)world->seed,
		world->faults.calm ? " (calm)" : "", (long long)world->now_ms, (unsigned long long)world->steps, text);
	_exit(1);
}

/* ---- one seed ---- */

static struct world *world_make(uint64_t seed, bool calm, struct tally *tally)
{
	struct world *world = mem_calloc(1, sizeof(*world));

	world->tally = tally;
	world->seed = seed;
	world->hash = 0xCBF29CE484222325U;
	world->now_ms = 1000 * 1000;
	world->wall_base_ms = INT64_C(1700000000000);
	world->version = VERSION_BASE;
	random_init_seed(&world->work_random, seed);
	random_init_seed(&world->fault_random, seed ^ UINT64_C(0x5151515151515151));
	world->faults.calm = calm;
	world->by_namespace = seed % 4 == 3;
	world->gather = seed % 2 == 0 && row_of_seed(seed) == ROW_NONE;
	sim_world = world;
	workload_make(world);
	faults_make(world);
	world->shard_count = SIM_SHARDS;
	world->member_lease_ms = world->lease_ms;
	machines_make(world);
	if (!calm && seed % STRANGER_EVERY == 2 && row_of_seed(seed) == ROW_NONE)
		stranger_begin(world);
	return world;
}

static void world_start(struct world *world)
{
	for (int i = 0; i < world->watcher_count; i++)
		watcher_start(world, i);
	for (int i = 0; !world->pool && i < world->member_count; i++)
		member_start(world, i);
	for (int i = 0; i < world->barrier_count; i++)
		barrier_start(world, i);
}

static void world_free(struct world *world)
{
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive)
			member_kill(&world->members[i], "end");
	for (int i = 0; i < SIM_BARRIERS; i++)
		if (world->barriers[i].process.alive)
			barrier_kill(&world->barriers[i], "end");
	for (int i = 0; i < SIM_WATCHERS; i++)
		if (world->watchers[i].process.alive)
			watcher_kill(&world->watchers[i], "end");
	for (size_t i = 0; i < world->heap_count; i++) {
		if (world->heap[i]->drop != NULL)
			world->heap[i]->drop(world->heap[i]->arg);
		free(world->heap[i]);
	}
	free(world->heap);
	network_free(world);
	kubelet_free(world);
	api_free(world);
	services_free(world);
	gangs_free(world);
	queues_free(world);
	workload_forget(world);
	sim_world = NULL;
	free(world);
}

/* Until nothing more is to be expected, and for a while after. */
static void run_to_rest(struct world *world)
{
	int64_t give_up_ms = world->now_ms + REST_LIMIT_MS;
	int64_t hold_ms = world->size->small ? REST_HOLD_SMALL_MS : REST_HOLD_MS;
	int64_t look_ms = world->now_ms;
	int64_t rest_since_ms = -1;
	uint64_t rest_version = 0;
	const char *why = "";

	while (world->heap_count > 0) {
		step(world);
		if (world->now_ms < look_ms)
			continue;
		look_ms = world->now_ms + REST_LOOK_MS;
		if (!check_rest(world, &why)) {
			rest_since_ms = -1;
		} else if (rest_since_ms < 0 || rest_version != world->version) {
			rest_since_ms = world->now_ms;
			rest_version = world->version;
		} else if (world->now_ms >= rest_since_ms + hold_ms) {
			return;
		}
		if (world->now_ms > give_up_ms)
			violated(world, "never comes to rest: %s", why);
		if (world->steps > STEPS_MAX)
			violated(world, "more than %d steps: %s", STEPS_MAX, why);
	}
}

uint64_t world_run(uint64_t seed, bool calm, struct outcome outcomes[SIM_FRAMEWORKS], struct tally *tally,
		   bool tame[SIM_FRAMEWORKS])
{
	struct world *world = world_make(seed, calm, tally);
	int64_t until_ms = world->work_until_ms;
	uint64_t hash;

	world_start(world);
	if (!calm && world->faults.until_ms > until_ms)
		until_ms = world->faults.until_ms;
	while (world->heap_count > 0 && world->now_ms < until_ms && world->steps < STEPS_MAX)
		step(world);
	faults_heal(world);
	workload_close(world);
	run_to_rest(world);
	check_end(world);
	check_outcomes(world, outcomes);
	for (int i = 0; i < SIM_FRAMEWORKS; i++)
		tame[i] = world->plans[i].used && world->plans[i].tame;
	tally->steps += world->steps;
	hash = world->hash;
	world_free(world);
	return hash;
}

enum { SETTLED_MS = 60 * 1000, FAILOVER_MAX_MS = 120 * 1000 };

int64_t world_failover(uint64_t seed, bool pool)
{
	struct tally tally = {0};
	struct world *world = world_make(seed, true, &tally);
	int64_t lost_ms;
	int leader;

	world->watcher_count = SIM_WATCHERS;
	world->member_count = SIM_MEMBERS;
	world->pool = pool;
	world->same_machine = false;
	world_start(world);
	/* not at the same point of its renewals and of the members' pings each time */
	lost_ms = world->now_ms + SETTLED_MS + pick(world, 0, 5000);
	while (world->now_ms < lost_ms)
		step(world);
	world->faults.lost = true;
	leader = watcher_leads(&world->watchers[0]) ? 0 : 1;
	watcher_kill(&world->watchers[leader], "is lost with its machine");
	lost_ms = world->now_ms;
	do
		step(world);
	while (!(watcher_leads(&world->watchers[1 - leader]) && check_held(world)) &&
	       world->now_ms < lost_ms + FAILOVER_MAX_MS);
	lost_ms = world->now_ms - lost_ms;
	world_free(world);
	return lost_ms;
}
