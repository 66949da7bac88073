/* The Lease on the server and its record; see lease.h. It sends one request of the election at a time, passes each
 * answer or failure to the election, and calls the owner's handlers. */
#include "common/leader/lease.h"

#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/base/version.h"
#include "common/config/config.h"
#include "common/leader/identity.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/%s/leases"
#define CONFIG_MAPS "/api/v1/namespaces/%s/configmaps"
#define ANNOTATION_GRANTS "frameworkcontroller.microsoft.com/leader-grants"
#define ANNOTATION_MEMBER "frameworkcontroller.microsoft.com/leader-member-lease-ms"
#define ANNOTATION_PROCESS "frameworkcontroller.microsoft.com/leader-process"

enum { RELEASE_MS = 3000, JITTER_PART = 5 /* of the retry period, at most; as client-go */ };

struct lease {
	struct ev_loop *loop;
	struct kube_client *client;
	const struct lease_handler *handler;
	void *arg;
	char *ns;
	char *names[ELECTION_OBJECTS];
	char identity[ELECTION_IDENTITY_SIZE];
	struct election *election;
	json_t *stored[ELECTION_OBJECTS]; /* as last answered; NULL: none */
	char newest[ELECTION_OBJECTS][VERSION_SIZE];
	bool went_back; /* one of them is older than that */
	/* what the owner's handlers were called with */
	bool leading;
	uint64_t term;
	bool restored;
	bool released;
	enum election_object asked;
	struct kube_call *call;   /* at most one */
	bool freed;               /* waits for that call's callback */
	int64_t release_until_ms; /* 0: not releasing */
	struct log_last complaint;
	char *holder; /* the last one logged */
	ev_timer timer;
};

static const char *const grants_names[] = {
	[ELECTION_GRANTS_NONE] = "none",
	[ELECTION_GRANTS_CHILDREN] = "children",
	[ELECTION_GRANTS_MEMBERS] = "members",
};

static void destroy(struct lease *lease)
{
	election_free(lease->election);
	for (size_t i = 0; i < ELECTION_OBJECTS; i++) {
		json_decref(lease->stored[i]);
		free(lease->names[i]);
	}
	free(lease->ns);
	free(lease->holder);
	free(lease);
}

/* ---- between JSON and what matters ------------------------------------------------------------------------------ */

static void copy_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text == NULL ? "" : text);
}

/* Limits a number to 0..INT32_MAX: both objects hold int32, and another value, written by somebody else, must not cause
 * an overflow. */
static int64_t as_int32(int64_t number)
{
	return number < 0 ? 0 : number > INT32_MAX ? INT32_MAX : number;
}

/* 0: absent, or none. */
static int64_t read_number(const json_t *texts, const char *name)
{
	const char *text = json_str(texts, name);

	return text == NULL ? 0 : as_int32(strtoll(text, NULL, 10));
}

static void write_number(json_t *texts, const char *name, int64_t number)
{
	cleanup_free char *text = mem_printf("%lld", (long long)number);

	json_object_set_new(texts, name, json_string(text));
}

static int64_t read_member_ms(const json_t *texts, const char *name)
{
	int64_t ms = read_number(texts, name);

	return ms > MEMBER_LEASE_SEC_MAX * 1000 ? MEMBER_LEASE_SEC_MAX * 1000
						: ms; /* no watcher can have written more */
}

static void read_lease(const json_t *object, struct election_lease *out)
{
	const json_t *spec = json_path(object, "spec", NULL);
	const json_t *annotations = json_path(object, "metadata", "annotations", NULL);
	const char *grants = json_str(annotations, ANNOTATION_GRANTS);

	*out = (struct election_lease){
		.duration_ms = as_int32(json_int(spec, "leaseDurationSeconds", 0)) * 1000,
		.transitions = (uint64_t)as_int32(json_int(spec, "leaseTransitions", 0)),
		.member_ms = read_member_ms(annotations, ANNOTATION_MEMBER),
		.grants = ELECTION_GRANTS_MEMBERS,
	};
	copy_text(out->holder, sizeof(out->holder), json_str(spec, "holderIdentity"));
	copy_text(out->process, sizeof(out->process), json_str(annotations, ANNOTATION_PROCESS));
	for (size_t i = 0; grants != NULL && i < ARRAY_LEN(grants_names); i++)
		if (strcmp(grants, grants_names[i]) == 0)
			out->grants = (enum election_grants)i;
}

static void read_record(const json_t *object, struct election_lease *out)
{
	const json_t *data = json_path(object, "data", NULL);

	*out = (struct election_lease){
		.duration_ms = read_number(data, "leaseMs"),
		.transitions = (uint64_t)read_number(data, "epoch"),
		.member_ms = read_member_ms(data, "memberLeaseMs"),
		.grants = ELECTION_GRANTS_MEMBERS,
	};
	copy_text(out->holder, sizeof(out->holder), json_str(data, "holder"));
}

/* object[name], made if it is not there. Borrowed. */
static json_t *member(json_t *object, const char *name)
{
	json_t *found = json_object_get(object, name);

	if (json_is_object(found))
		return found;
	json_object_set_new(object, name, json_object());
	return json_object_get(object, name);
}

/* MicroTime (API conventions): six digits behind the second. */
static char *micro_time_now(void)
{
	int64_t wall_ms = clock_wall_ms();
	char text[TIME_RFC3339_SIZE];

	time_format_rfc3339(wall_ms / 1000, text);
	text[strcspn(text, "Z")] = '\0';
	return mem_printf("%s.%03d000Z", text, (int)(wall_ms % 1000));
}

static void write_lease(json_t *object, const struct election_request *request)
{
	json_t *annotations = member(member(object, "metadata"), "annotations");
	json_t *spec = member(object, "spec");
	cleanup_free char *now = micro_time_now();

	json_object_set_new(object, "apiVersion", json_string("coordination.k8s.io/v1"));
	json_object_set_new(object, "kind", json_string("Lease"));
	json_object_set_new(annotations, ANNOTATION_GRANTS, json_string(grants_names[request->lease.grants]));
	write_number(annotations, ANNOTATION_MEMBER, request->lease.member_ms);
	json_object_set_new(annotations, ANNOTATION_PROCESS, json_string(request->lease.process));
	/* nobody is left out, as present client-go does, rather than "" */
	if (request->lease.holder[0] == '\0')
		json_object_del(spec, "holderIdentity");
	else
		json_object_set_new(spec, "holderIdentity", json_string(request->lease.holder));
	json_object_set_new(spec, "leaseDurationSeconds", json_integer(request->lease.duration_ms / 1000));
	json_object_set_new(spec, "leaseTransitions", json_integer((json_int_t)request->lease.transitions));
	json_object_set_new(spec, "renewTime", json_string(now));
	if (request->acquires || json_str(spec, "acquireTime") == NULL)
		json_object_set_new(spec, "acquireTime", json_string(now));
}

static void write_record(json_t *object, const struct election_lease *record)
{
	json_t *data = member(object, "data");

	json_object_set_new(object, "apiVersion", json_string("v1"));
	json_object_set_new(object, "kind", json_string("ConfigMap"));
	json_object_set_new(data, "holder", json_string(record->holder));
	write_number(data, "epoch", (int64_t)record->transitions);
	write_number(data, "leaseMs", record->duration_ms);
	write_number(data, "memberLeaseMs", record->member_ms);
}

/* Keeps the fields that others wrote into the object. */
static char *write_object(const struct lease *lease, const struct election_request *request)
{
	const json_t *stored = lease->stored[request->object];
	cleanup_json json_t *object = request->verb == ELECTION_UPDATE && stored != NULL ? json_deep_copy(stored)
											 : json_object();
	json_t *meta = member(object, "metadata");

	json_object_set_new(meta, "name", json_string(lease->names[request->object]));
	json_object_set_new(meta, "namespace", json_string(lease->ns));
	json_object_del(meta, "managedFields");
	if (request->object == ELECTION_LEASE)
		write_lease(object, request);
	else
		write_record(object, &request->lease);
	return json_text(object);
}

/* ---- reports ---------------------------------------------------------------------------------------------------- */

static const char *kind_name(const struct lease *lease)
{
	return lease->asked == ELECTION_LEASE ? "Lease" : "ConfigMap";
}

static void complain(struct lease *lease, const char *message)
{
	cleanup_free char *text = mem_printf("the %s %s/%s: %s", kind_name(lease), lease->ns,
					     lease->names[lease->asked], message);

	if (log_is_news(&lease->complaint, clock_boot_ms(), text))
		log_warning("%s", text);
}

static void log_holder(struct lease *lease)
{
	const char *holder = lease_holder(lease);

	if (lease->holder != NULL && strcmp(lease->holder, holder) == 0)
		return;
	mem_replace(&lease->holder, holder);
	if (holder[0] != '\0' && strcmp(holder, lease->identity) != 0)
		log_info("%s has the Lease", holder);
}

/* By what the server answered last. */
static bool holds(const struct lease *lease)
{
	struct election_lease stored = {.holder = ""};

	if (lease->stored[ELECTION_LEASE] != NULL)
		read_lease(lease->stored[ELECTION_LEASE], &stored);
	return strcmp(stored.holder, lease->identity) == 0;
}

/* The owner's handlers; they may call lease_*(), but not free it. */
static void notify_owner(struct lease *lease)
{
	struct election *election = lease->election;
	bool leads = election_leads(election, clock_boot_ms());

	if (lease->leading && (!leads || election_term(election) != lease->term)) {
		lease->leading = false;
		if (!election_released(election)) {
			log_error("leading no longer: %s",
				  holds(lease) ? "the Lease was not renewed in time"
					       : "another process holds the Lease, or it was deleted");
			lease->handler->deposed(lease->arg);
		}
	}
	if (!lease->leading && leads && lease->release_until_ms == 0) {
		lease->leading = true;
		lease->term = election_term(election);
		log_info("leading as %s, epoch %llu%s", lease->identity, (unsigned long long)election_epoch(election),
			 election_former_until_ms(election) > 0 ? ", after another leader" : "");
		lease->handler->led(lease->arg, election_epoch(election), election_former_until_ms(election));
	}
	if (lease->went_back && !lease->restored) {
		lease->restored = true;
		lease->handler->restored(lease->arg);
	}
	if (!lease->released && lease->release_until_ms != 0 &&
	    (election_released(election) || clock_boot_ms() >= lease->release_until_ms)) {
		lease->released = true;
		lease->handler->released(lease->arg);
	}
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

static void drive(struct lease *lease);

/* When to come back: the clock of the timer is the loop's. */
static void wake_at(struct lease *lease, int64_t due_ms)
{
	int64_t wait_ms = due_ms - clock_boot_ms();

	ev_timer_stop(lease->loop, &lease->timer);
	ev_now_update(lease->loop);
	ev_timer_set(&lease->timer, wait_ms < 0 ? 0 : (double)wait_ms / 1000, 0);
	ev_timer_start(lease->loop, &lease->timer);
}

static enum election_outcome outcome_of(const struct kube_answer *answer)
{
	if (answer->failure != KUBE_OK)
		return ELECTION_FAILED;
	if (answer->http_status < 300)
		return ELECTION_ANSWERED;
	if (answer->http_status == 409)
		return ELECTION_CONFLICT;
	if (answer->absent)
		return ELECTION_ABSENT;
	return ELECTION_FAILED;
}

/* One request is out at a time, and the store itself answers each: versions only grow, unless it was restored. */
static void check_version(struct lease *lease, const json_t *object)
{
	const char *version = json_str(json_path(object, "metadata", NULL), "resourceVersion");
	char *newest = lease->newest[lease->asked];

	if (version == NULL || strlen(version) >= VERSION_SIZE)
		return;
	if (version_compare(version, newest) >= 0) {
		memcpy(newest, version, strlen(version) + 1);
	} else if (!lease->went_back) {
		log_error("the %s %s/%s has resourceVersion %s, after %s: the API server's store was restored from a "
			  "backup. This process ends, because its view of the cluster is out of date",
			  kind_name(lease), lease->ns, lease->names[lease->asked], version, newest);
		lease->went_back = true;
	}
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct lease *lease = arg;
	enum election_outcome outcome = outcome_of(answer);
	json_t **stored = &lease->stored[lease->asked];
	const struct election_lease *held;
	struct election_lease seen;
	struct error err;
	json_t *object = NULL;

	lease->call = NULL;
	if (lease->freed) {
		destroy(lease);
		return;
	}
	if (outcome == ELECTION_ANSWERED) {
		object = json_parse(answer->body, answer->body_len, &err);
		if (!json_is_object(object)) {
			complain(lease, object == NULL ? err.message : "the answer is not a JSON object");
			outcome = ELECTION_FAILED;
		}
	} else if (outcome == ELECTION_FAILED) {
		complain(lease, answer->message);
	}
	if (outcome == ELECTION_ANSWERED || outcome == ELECTION_ABSENT) {
		json_decref(*stored);
		*stored = outcome == ELECTION_ANSWERED ? json_incref(object) : NULL;
	}
	if (outcome == ELECTION_ANSWERED) {
		(lease->asked == ELECTION_LEASE ? read_lease : read_record)(object, &seen);
		copy_text(seen.version, sizeof(seen.version),
			  json_str(json_path(object, "metadata", NULL), "resourceVersion"));
		check_version(lease, object);
	}
	json_decref(object);
	election_answered(lease->election, outcome, outcome == ELECTION_ANSWERED ? &seen : NULL, clock_boot_ms());
	held = election_seen(lease->election);
	if (held != NULL && identity_process_ended(held->process))
		election_holder_dead(lease->election);
	drive(lease);
}

static void send(struct lease *lease, const struct election_request *request)
{
	static const char *const methods[] = {
		[ELECTION_READ] = "GET", [ELECTION_CREATE] = "POST", [ELECTION_UPDATE] = "PUT"};
	cleanup_free char *folder = request->object == ELECTION_LEASE ? mem_printf(LEASES, lease->ns)
								      : mem_printf(CONFIG_MAPS, lease->ns);
	cleanup_free char *path = request->verb == ELECTION_CREATE
					  ? mem_strdup(folder)
					  : mem_printf("%s/%s", folder, lease->names[request->object]);
	cleanup_free char *body = request->verb == ELECTION_READ ? NULL : write_object(lease, request);
	const struct kube_request call = {
		.method = methods[request->verb],
		.path = path,
		.body = body,
		.body_len = body == NULL ? 0 : strlen(body),
		.timeout_ms = request->timeout_ms,
		.exempt = true, /* common/README.md §2.3: renewals never wait in the rate limit */
		.server_timeout = true,
	};

	lease->asked = request->object;
	lease->call = kube_client_call(lease->client, &call, on_answer, lease);
}

static void drive(struct lease *lease)
{
	struct election_request request;

	notify_owner(lease); /* what was lost, before anything new is begun */
	if (election_next(lease->election, clock_boot_ms(), &request))
		send(lease, &request);
	log_holder(lease);
	notify_owner(lease);
	if (!lease->released) {
		int64_t due_ms = election_due_ms(lease->election);

		if (lease->release_until_ms != 0 && lease->release_until_ms < due_ms)
			due_ms = lease->release_until_ms;
		if (due_ms != INT64_MAX)
			wake_at(lease, due_ms);
	}
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	drive(timer->data);
}

/* ---- the owner's side ------------------------------------------------------------------------------------------- */

struct lease *lease_new(struct ev_loop *loop, struct kube_client *client, const struct lease_options *options,
			const struct lease_handler *handler, void *arg)
{
	struct lease *lease = mem_calloc(1, sizeof(*lease));
	struct election_options election = options->election;
	struct random random;

	lease->loop = loop;
	lease->client = client;
	lease->handler = handler;
	lease->arg = arg;
	lease->ns = mem_strdup(options->ns);
	lease->names[ELECTION_LEASE] = mem_strdup(options->name);
	lease->names[ELECTION_RECORD] = mem_printf("%s-epoch", options->name);
	identity_make(lease->identity, sizeof(lease->identity));
	memcpy(election.identity, lease->identity, sizeof(election.identity));
	random_init(&random);
	election.jitter_ms = random_between(&random, 0, election.retry_ms / JITTER_PART);
	identity_process(election.process, sizeof(election.process));
	lease->election = election_new(&election, clock_boot_ms());
	ev_init(&lease->timer, on_timer);
	lease->timer.data = lease;
	wake_at(lease, 0);
	return lease;
}

void lease_free(struct lease *lease)
{
	if (lease == NULL)
		return;
	ev_timer_stop(lease->loop, &lease->timer);
	if (lease->call != NULL) {
		lease->freed = true; /* its callback frees */
		kube_call_cancel(lease->call);
		return;
	}
	destroy(lease);
}

bool lease_leads(const struct lease *lease)
{
	return lease->leading && election_term(lease->election) == lease->term &&
	       election_leads(lease->election, clock_boot_ms());
}

void lease_release(struct lease *lease, bool drained)
{
	int64_t now_ms = clock_boot_ms();

	if (lease->release_until_ms != 0)
		return;
	lease->release_until_ms = now_ms + RELEASE_MS;
	election_release(lease->election, drained, now_ms);
	wake_at(lease, 0);
}

const char *lease_identity(const struct lease *lease)
{
	return lease->identity;
}

const char *lease_holder(const struct lease *lease)
{
	const struct election_lease *seen = election_seen(lease->election);

	return seen == NULL ? "" : seen->holder;
}
