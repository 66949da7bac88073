/* Requests of reconcilers on their way: sent, carried out, answered; or lost,
 * late, refused. See sim.h.
 *
 *   request ─(queue)─▶ before_send ─▶ sent ─▶ carried out ─▶ answer ─▶ done
 *                          └ refused         └ never, late    └ lost: a reset,
 * or the deadline */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/kube/client/answer.h"
#include "tests/sim/check.h"

enum {
	RESET_MS = 200,
	LATE_MS = 60 * 1000,
	SLOW_SEND_MS = 15 * 1000,
	HELD_AGAIN_MS = 50,
	HELD_OFTEN = 300 /* of a thousand */
};

static void wire_free(struct wire *wire)
{
	free(wire->method);
	free(wire->path);
	free(wire->body);
	free(wire);
}

static void forget_if_over(struct wire *wire)
{
	struct world *world = wire->world;

	if (!wire->client_done || !wire->server_done || wire->events > 0)
		return;
	for (struct wire **place = &world->wires; *place != NULL; place = &(*place)->next) {
		if (*place == wire) {
			*place = wire->next;
			break;
		}
	}
	wire_free(wire);
}

static void drop_event(void *arg)
{
	struct wire *wire = arg;

	wire->events--; /* the process is gone: network_cancel() has seen to the rest */
	forget_if_over(wire);
}

static void arrange(struct wire *wire, int64_t at_ms, struct process *process,
		    void (*run)(struct world *world, void *arg))
{
	wire->events++;
	at(wire->world, at_ms, process, run, drop_event, wire);
}

/* The client learns what there is to learn. */
static void finish(struct wire *wire, enum kube_failure failure, const struct answer *answer)
{
	struct member *member = wire->member;
	struct kube_answer told = {
		.failure = failure,
		.body = "",
		.status = {.reason = "", .message = ""},
		.retry_after_ms = -1,
		.sent = wire->deadline_ms != 0,
		.message = "",
	};
	cleanup_json json_t *status = NULL;

	wire->client_done = true;
	if (failure == KUBE_OK && answer->code == 429)
		check_plea(wire);
	if (failure != KUBE_OK) {
		wire->late = true;
		told.message = failure == KUBE_TIMEOUT ? "timed out" : "no answer";
	} else {
		told.http_status = answer->code;
		told.body = answer->body;
		told.body_len = strlen(answer->body);
		if (answer->code >= 400) {
			answer_read_status(&told, wire->path, &status);
			told.message = told.status.message;
			if (answer->code == 429)
				told.retry_after_ms = wire->retry_after_ms;
		}
	}
	trace(wire->world, "%s: answer to #%llu %s %s: %d", member->process.label, (unsigned long long)wire->number,
	      wire->method, wire->path, failure == KUBE_OK ? told.http_status : -(int)failure);
	wire->done(wire->arg, &told);
	if (!member->ending)
		member_settle(member);
}

/* ---- answers ---- */

struct reply {
	struct wire *wire;
	struct answer answer;
};

static void reply_drop(void *arg)
{
	struct reply *reply = arg;

	drop_event(reply->wire);
	free(reply->answer.body);
	free(reply);
}

static void on_reply(struct world *world, void *arg)
{
	struct reply *reply = arg;

	(void)world;
	if (!reply->wire->client_done)
		finish(reply->wire, KUBE_OK, &reply->answer);
	reply_drop(reply);
}

static void on_failure(struct world *world, void *arg)
{
	struct wire *wire = arg;

	(void)world;
	if (!wire->client_done)
		finish(wire, KUBE_NETWORK, NULL);
	drop_event(wire);
}

static void on_deadline(struct world *world, void *arg)
{
	struct wire *wire = arg;

	(void)world;
	if (!wire->client_done && process_now_ms(&wire->member->process) < wire->expires_ms)
		arrange(wire, process_time_ms(&wire->member->process, wire->expires_ms), &wire->member->process,
			on_deadline); /* its clock has stood still */
	else if (!wire->client_done)
		finish(wire, KUBE_TIMEOUT, NULL);
	drop_event(wire);
}

/* ---- the server's end ---- */

int64_t network_travel_ms(struct world *world)
{
	return world->faults.calm || world->healed ? pick(world, 1, 5) : pick(world, 1, chance(world, 100) ? 400 : 20);
}

/* travel_ms: how long it takes; 0: as long as others do. */
static void send_answer(struct wire *wire, struct answer *answer, int64_t travel_ms)
{
	struct world *world = wire->world;
	struct reply *reply;

	if (wire->answer_lost || wire->client_done) {
		free(answer->body);
		if (!wire->client_done && chance(world, 500)) /* else it waits for its deadline */
			arrange(wire, world->now_ms + pick(world, 1, RESET_MS), &wire->member->process, on_failure);
		return;
	}
	reply = mem_calloc(1, sizeof(*reply));
	reply->wire = wire;
	reply->answer = *answer;
	wire->events++;
	if (travel_ms == 0)
		travel_ms = !world->faults.calm && !world->healed && chance(world, world->faults.slow_answer)
				    ? pick(world, 1, wire->timeout_ms)
				    : network_travel_ms(world);
	at(world, world->now_ms + travel_ms, &wire->member->process, on_reply, reply_drop, reply);
}

/* The name of the object in the body of a create. False: it has none. */
static bool name_in_body(const struct wire *wire, char *out, size_t size)
{
	static const char name_key[] = "\"name\":\"";
	const char *at = strstr(wire->body, name_key);

	if (at == NULL)
		return false;
	at += strlen(name_key);
	snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
	return true;
}

/* A create that is held waits until nobody has its name any more: so it comes when its attempt is over. */
static bool waits_for_name(const struct wire *wire)
{
	char name[96];
	int plan;

	if (wire->world->now_ms >= wire->held_until_ms || !name_in_body(wire, name, sizeof(name)))
		return false;
	plan = check_subject(wire);
	return plan >= 0 && api_find(wire->world, KIND_POD, plan_ns(plan), name) != NULL;
}

/* A proxy does not know the way, or a server does not serve the resource yet: nothing is carried out. */
static void answer_as_stranger(struct world *world, struct answer *out)
{
	static const char *const bodies[] = {
		"default backend - 404", "404 page not found\n",
		"{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"the server could not find the requested "
		"resource\",\"details\":{},\"code\":404}"};

	out->code = 404;
	out->body = mem_strdup(bodies[pick(world, 0, (int64_t)ARRAY_LEN(bodies) - 1)]);
}

static bool is_pod_create(const struct wire *wire)
{
	return strcmp(wire->method, "POST") == 0 && strstr(wire->path, "/pods") != NULL;
}

/* For how long the answer to a create of a Pod is held back that nobody is to see; 0: it is not. */
static int64_t unseen_ms(const struct wire *wire, const struct answer *answer)
{
	char name[96];
	int plan = check_subject(wire);

	if (answer->code != 201 || !is_pod_create(wire) || plan < 0 || !name_in_body(wire, name, sizeof(name)))
		return 0;
	return faults_created(wire->world, plan_ns(plan), name);
}

static void on_arrival(struct world *world, void *arg)
{
	struct wire *wire = arg;
	struct answer answer = {0};

	if (waits_for_name(wire)) {
		arrange(wire, world->now_ms + HELD_AGAIN_MS, NULL, on_arrival);
		drop_event(wire);
		return;
	}
	wire->server_done = true;
	if (world->now_ms > wire->deadline_ms)
		wire->late = true; /* one that stands still has yet to learn it */
	if (wire->stranger) {
		/* to whoever asks what is served, it looks like a server that does not serve it */
		if (strstr(wire->path, "/namespaces/") == NULL && world->gang_unserved_until_ms < world->now_ms)
			world->gang_unserved_until_ms = world->now_ms;
		answer_as_stranger(world, &answer);
		send_answer(wire, &answer, 0);
	} else if (wire->fault != 0 && !wire->fault_after) {
		api_status(&answer, wire->fault, wire->fault == 429 ? "TooManyRequests" : "InternalError", "fault");
		send_answer(wire, &answer, 0);
	} else if (world->now_ms <= wire->deadline_ms || world->faults.late) {
		trace(world, "carried out #%llu of %s: %s %s%s", (unsigned long long)wire->number,
		      wire->member->process.label, wire->method, wire->path, wire->late ? " (late)" : "");
		api_handle(world, wire, &answer);
		if (wire->fault != 0) {
			free(answer.body);
			api_status(&answer, wire->fault, "InternalError", "fault");
		}
		send_answer(wire, &answer, unseen_ms(wire, &answer));
	}
	drop_event(wire);
}

/* ---- the client's end ---- */

static void choose_fate(struct wire *wire, int64_t *arrival_ms)
{
	static const int codes[] = {429, 500, 503, 504};
	struct world *world = wire->world;
	const struct faults *faults = &world->faults;

	*arrival_ms = world->now_ms + network_travel_ms(world);
	if (faults->calm || world->healed)
		return;
	if (faults->row == ROW_LATE_WRITES && is_pod_create(wire) && chance(world, HELD_OFTEN)) {
		*arrival_ms = wire->deadline_ms + pick(world, 1, 2000);
		wire->held_until_ms = wire->deadline_ms + LATE_MS;
		return;
	}
	if (world->now_ms < faults->outage_until_ms || chance(world, faults->lose_request)) {
		wire->server_done = true; /* it never arrives */
		arrange(wire, world->now_ms + pick(world, 1, RESET_MS), &wire->member->process, on_failure);
		return;
	}
	if (chance(world, faults->refuse)) {
		wire->fault = codes[pick(world, 0, 3)];
		wire->retry_after_ms = pick(world, 1, 8) * 1000;
		wire->fault_after = wire->fault >= 500 && wire->fault != 503 && chance(world, 400);
	}
	wire->stranger = faults->stranger > 0 && chance(world, faults->stranger);
	wire->answer_lost = chance(world, faults->lose_answer);
	if (chance(world, faults->delay))
		*arrival_ms += pick(world, 1, faults->late ? LATE_MS : wire->timeout_ms);
}

static void on_send(struct world *world, void *arg)
{
	struct wire *wire = arg;
	struct member *member = wire->member;
	int64_t clock_ms = process_now_ms(&member->process);
	int64_t wait_ms = token_bucket_wait_ms(&member->bucket, clock_ms);
	int64_t arrival_ms;

	if (wait_ms > 0) {
		arrange(wire, process_time_ms(&member->process, clock_ms + wait_ms), &member->process, on_send);
		drop_event(wire);
		return;
	}
	if (wire->before_send != NULL && !wire->before_send(wire->arg, &wire->timeout_ms)) {
		wire->server_done = true;
		finish(wire, KUBE_REFUSED, NULL);
		drop_event(wire);
		return;
	}
	wire->late = member_blind(member);
	token_bucket_take(&member->bucket);
	check_rate(world);
	wire->sent_ms = world->now_ms;
	wire->expires_ms = clock_ms + wire->timeout_ms;
	wire->deadline_ms = process_time_ms(&member->process, wire->expires_ms);
	trace(world, "%s: sent #%llu %s %s", member->process.label, (unsigned long long)wire->number, wire->method,
	      wire->path);
	choose_fate(wire, &arrival_ms);
	if (!wire->server_done)
		arrange(wire, arrival_ms, NULL, on_arrival);
	arrange(wire, wire->deadline_ms, &member->process, on_deadline);
	drop_event(wire);
	if (++member->requests == member->crash_after)
		member_kill(member, "right after a request");
}

struct kube_call *network_request(void *context, const struct kube_request *request, kube_done *done, void *arg)
{
	struct member *member = context;
	struct world *world = member->process.world;
	struct wire *wire = mem_calloc(1, sizeof(*wire));
	int64_t send_ms;

	wire->world = world;
	wire->member = member;
	wire->number = ++world->wire_numbers;
	wire->method = mem_strdup(request->method);
	wire->path = mem_strdup(request->path);
	wire->body = mem_strndup(request->body == NULL ? "" : request->body, request->body_len);
	wire->metadata_only = request->accept != NULL && strstr(request->accept, "as=PartialObjectMetadata") != NULL;
	mark(world, wire->number + request->body_len);
	wire->timeout_ms = request->timeout_ms;
	wire->before_send = request->before_send;
	wire->done = done;
	wire->arg = arg;
	wire->next = world->wires;
	world->wires = wire;
	check_asked(wire);
	check_service_sent(wire);
	check_gang_sent(wire);
	check_queue_sent(wire);
	send_ms = world->now_ms + (chance(world, world->faults.slow_send) && !world->healed
					   ? pick(world, 1, SLOW_SEND_MS)
					   : pick(world, 0, 2));
	arrange(wire, send_ms < member->sends_from_ms ? member->sends_from_ms : send_ms, &member->process, on_send);
	return (struct kube_call *)wire;
}

/* ---- ends of connections ---- */

void network_cancel(struct member *member)
{
	struct wire *next;

	for (struct wire *wire = member->process.world->wires; wire != NULL; wire = next) {
		next = wire->next;
		if (wire->member != member || wire->client_done)
			continue;
		if (wire->deadline_ms == 0)
			wire->server_done = true;
		wire->late = true;
		finish(wire, KUBE_CANCELLED, NULL);
		forget_if_over(wire);
	}
}

static const void *wire_of(void (*drop)(void *arg), void *arg)
{
	if (drop == reply_drop)
		return ((const struct reply *)arg)->wire;
	return drop == drop_event ? arg : NULL;
}

void network_abandon(struct member *member)
{
	struct wire *next;

	for (struct wire *wire = member->process.world->wires; wire != NULL; wire = next) {
		next = wire->next;
		if (wire->member != member)
			continue;
		wire->server_done = wire->server_done || wire->deadline_ms == 0;
		wire->late = wire->late || !wire->client_done;
		wire->client_done = true;
		/* the event that was under way when the process ended is over */
		wire->events = events_of(wire->world, wire, wire_of);
		forget_if_over(wire);
	}
}

void network_reset(struct member *member)
{
	for (struct wire *wire = member->process.world->wires; wire != NULL; wire = wire->next)
		if (wire->member == member && !wire->client_done && wire->deadline_ms != 0)
			arrange(wire, wire->world->now_ms, &member->process, on_failure);
}

bool network_quiet(const struct world *world)
{
	return world->wires == NULL;
}

void network_free(struct world *world)
{
	while (world->wires != NULL) {
		struct wire *wire = world->wires;

		world->wires = wire->next;
		wire_free(wire);
	}
}
