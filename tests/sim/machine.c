/* Machines and their monotonic clocks. All processes of a machine have the same clock. It begins at a time of its own,
 * is a little faster or slower than time as long as it runs, and stands still while the machine is paused, as that of a
 * virtual machine does: its processes cannot tell. How much two clocks may differ follows from the margin of a lease:
 * see machines_make(). What rests on leases and clocks does not hold for a process whose machine was paused, until the
 * leases that it had are over by its own clock: machine_blind(). See sim.h. */
#include "tests/sim/sim.h"
#include "watcher/shards/shard_table.h"

enum {
	MILLION = 1000 * 1000,
	MOST_PPM = 400 * 1000,
	BEGIN_MAX_MS = 2000 * 1000,
	LONG_LEASE_MS = 8000,
	USUAL_PPM = 500, /* as much as NTP changes a clock's frequency */
};

int64_t machine_now_ms(const struct machine *machine, int64_t now_ms)
{
	int64_t ran_ms = now_ms - machine->from_ms;

	return ran_ms <= 0 ? machine->clock_ms : machine->clock_ms + ran_ms + ran_ms * machine->ppm / MILLION;
}

int64_t process_now_ms(const struct process *process)
{
	return machine_now_ms(process->machine, process->world->now_ms);
}

int64_t process_time_ms(const struct process *process, int64_t clock_ms)
{
	const struct machine *machine = process->machine;
	int64_t at_ms;

	if (clock_ms == INT64_MAX)
		return INT64_MAX;
	at_ms = machine->from_ms + (clock_ms - machine->clock_ms) * MILLION / (MILLION + machine->ppm);
	while (machine_now_ms(machine, at_ms) < clock_ms)
		at_ms++;
	return at_ms;
}

int64_t other_lease_ms(const struct world *world)
{
	return world->lease_ms < LONG_LEASE_MS ? world->lease_ms * SIM_LEASE_TIMES : world->lease_ms / SIM_LEASE_TIMES;
}

int64_t longest_lease_ms(const struct world *world)
{
	int64_t other_ms = other_lease_ms(world);

	return other_ms > world->lease_ms ? other_ms : world->lease_ms;
}

/* A member acts for a lease by a clock that is slow, and the leader counts that and the margin by one that is fast. The
 * Lease allows for more than MOST_PPM, what is due (check_due.c) does not. */
static int most_ppm(const struct world *world)
{
	int64_t most = SHARD_MARGIN_MS * INT64_C(1000000) / longest_lease_ms(world);

	if (most > MOST_PPM)
		most = MOST_PPM;

	return (int)(most * MILLION / (2 * MILLION + most));
}

void machines_make(struct world *world)
{
	int64_t most = world->faults.calm ? 0 : chance(world, 500) ? USUAL_PPM : most_ppm(world);

	for (size_t i = 0; i < ARRAY_LEN(world->machines); i++) {
		struct machine *machine = &world->machines[i];

		*machine = (struct machine){
			.from_ms = world->now_ms,
			.clock_ms = pick(world, 1, BEGIN_MAX_MS),
			.ppm = (int)(chance(world, 500)   ? pick(world, -most, most)
				     : chance(world, 500) ? most
							  : -most),
		};
	}
}

bool machine_blind(const struct machine *machine, int64_t now_ms)
{
	return machine_now_ms(machine, now_ms) < machine->blind_until_ms;
}

static void stand_still(struct process *process, const struct machine *machine)
{
	if (process->machine == machine && process->paused_until_ms < machine->from_ms)
		process->paused_until_ms = machine->from_ms;
}

void machine_pause(struct world *world, struct machine *machine, int64_t span_ms)
{
	machine->clock_ms = machine_now_ms(machine, world->now_ms);
	machine->blind_until_ms = machine->clock_ms + SIM_RENEW_MS + longest_lease_ms(world);
	world->stood_still_ms += span_ms;
	if (machine->from_ms < world->now_ms + span_ms)
		machine->from_ms = world->now_ms + span_ms;
	if (world->paused_until_ms < machine->from_ms)
		world->paused_until_ms = machine->from_ms;
	for (int i = 0; i < SIM_WATCHERS; i++)
		stand_still(&world->watchers[i].process, machine);
	for (int i = 0; i < SIM_PROCESSES; i++)
		stand_still(&world->members[i].process, machine);
	for (int i = 0; i < SIM_BARRIERS; i++)
		stand_still(&world->barriers[i].process, machine);
}
