/* The loop of a watcher's reflectors: the part of libev that they use, on the simulator's events; with it the clock and
 * the random numbers that they read. See sim.h. */
#include <ev.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "tests/sim/sim.h"

/* ---- the clock and random numbers ---- */

int64_t __real_clock_boot_ms(void);
int64_t __wrap_clock_boot_ms(void);
void __wrap_random_init(struct random *random);

int64_t __wrap_clock_boot_ms(void)
{
	if (sim_world == NULL)
		return __real_clock_boot_ms();
	if (sim_world->running == NULL)
		violated(sim_world, "nobody's clock is asked");
	return process_now_ms(sim_world->running);
}

void __wrap_random_init(struct random *random)
{
	random_init_seed(random, (uint64_t)pick(sim_world, 0, INT64_MAX - 1));
}

/* ---- timers ---- */

struct alarm {
	struct watcher *watcher;
	uint64_t number;
};

static void on_alarm(struct world *world, void *arg)
{
	struct alarm *alarm = arg;
	struct watcher *watcher = alarm->watcher;

	(void)world;
	for (size_t i = 0; i < ARRAY_LEN(watcher->timers); i++) {
		struct ev_timer *timer = watcher->timers[i].timer;

		if (timer == NULL || watcher->timers[i].number != alarm->number)
			continue;
		watcher->timers[i].timer = NULL;
		timer->cb((struct ev_loop *)(void *)watcher, timer, EV_TIMER);
		watcher_settle(watcher);
		break;
	}
	free(alarm);
}

void ev_timer_start(struct ev_loop *loop, struct ev_timer *timer)
{
	struct watcher *watcher = (struct watcher *)(void *)loop;
	struct world *world = watcher->process.world;
	struct alarm *alarm = mem_calloc(1, sizeof(*alarm));
	size_t place = 0;

	while (watcher->timers[place].timer != NULL)
		if (++place == ARRAY_LEN(watcher->timers))
			violated(world, "more timers than there are reflectors");
	alarm->watcher = watcher;
	alarm->number = ++watcher->timer_numbers;
	watcher->timers[place].timer = timer;
	watcher->timers[place].number = alarm->number;
	at(world,
	   process_time_ms(&watcher->process, process_now_ms(&watcher->process) + (int64_t)(timer->at * 1000) + 1),
	   &watcher->process, on_alarm, free, alarm);
}

void ev_timer_stop(struct ev_loop *loop, struct ev_timer *timer)
{
	struct watcher *watcher = (struct watcher *)(void *)loop;

	for (size_t i = 0; i < ARRAY_LEN(watcher->timers); i++)
		if (watcher->timers[i].timer == timer)
			watcher->timers[i].timer = NULL;
}

void ev_now_update(struct ev_loop *loop)
{
	(void)loop;
}
