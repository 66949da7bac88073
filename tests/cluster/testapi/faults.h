/* Faults on demand and the count of requests: what tests steer and read under /fc-testapi/. Requests there are never
 * counted, nor hit by faults, and need no token.
 *
 * POST /fc-testapi/faults {"match": {…}, "skip": 0, "count": 1, "action": {…}}; answers 201 {"id": 1}.
 *
 * match, each member optional: method, verb, resource, subresource, namespace, name (strings, equal; subresource ""
 * means none), path (a regular expression), userAgent (the first word, as in the counts), replica
 * {"number": 0, "of": 2} (as if connections led in turn to so many servers behind the address, to this one of them).
 *
 * skip: so many matching requests pass before it strikes; count: so many are struck; absent: all.
 *
 * action: latencyMs (waits before the request is carried out), answerLatencyMs (after), status with reason, message,
 * retryAfter (answers this instead; 429 without a reason and a message as priority and fairness does), warning (one
 * more in the answer's headers), close (the connection ends after the answer, as that of a server that shuts down), cut
 * (closes the connection instead), cutAnswer (carries it out, then closes the connection unanswered), reset (these two
 * by RST), staleReads (get and list see the store as it was when the fault was set, as from a replica that lags
 * behind), freezeWatches (matching watches get nothing until the fault is deleted).
 *
 * GET /fc-testapi/faults (each as it was set, with id, hits, left), DELETE /fc-testapi/faults, DELETE
 * /fc-testapi/faults/{id}.
 *
 * POST /fc-testapi/watches {"match": {"resource", "namespace", "userAgent"}, "do": "end"|"break"|"reset"|"expire"}:
 * running watches end, are cut in the middle of their next event (by FIN or RST), or get 410 in an ERROR event; answers
 * {"watches": n}. GET /fc-testapi/watches: how many run.
 *
 * POST /fc-testapi/compact: every resourceVersion before now is too old; answers {"resourceVersion": "…"}.
 *
 * POST /fc-testapi/objects {"file": "PATH"}: stores the objects of a file as they are (load.h); answers {"objects": n}.
 *
 * GET /fc-testapi/requests: [{"userAgent", "verb", "resource", "code", "count"}…], where resource is "pods" or
 * "frameworks/status", and code 0 means that no answer was given; DELETE sets them to zero. */
#ifndef TESTAPI_FAULTS_H
#define TESTAPI_FAULTS_H

#include "tests/cluster/testapi/request.h"

struct api_faults;

struct api_faults *api_faults_new(void);
void api_faults_free(struct api_faults *faults);

/* What is to happen to one request; zero: nothing. The strings are copies, freed by api_strike_free. */
struct api_strike {
	int64_t latency_ms;
	int64_t answer_latency_ms;
	bool cut;
	bool cut_answer;
	bool reset;
	uint64_t as_of; /* for api_request's; 0: none */
	int status;
	char *reason;
	char *message;
	int retry_after;
	char *warning;
	bool close;
};

/* Asks (and uses up) the faults for a routed request. */
void api_faults_strike(struct api *api, const struct api_request *request, struct api_strike *strike);
void api_strike_free(struct api_strike *strike);
/* What the strike makes of the answer, or the whole answer for one with a status. */
void api_strike_answer(const struct api_strike *strike, struct api_answer *answer);

/* Whether the watch is held by a fault now. */
bool api_faults_frozen(const struct api *api, const struct api_watch *watch);

void api_faults_count(struct api *api, const struct api_request *request, int code);

/* Carries out requests under /fc-testapi/; false for others. */
bool api_faults_admin(struct api *api, const struct api_request *request, struct api_answer *answer);

/* The first word of a User-Agent, up to a blank or '/'; "" for none. out has size bytes. */
void api_agent(const char *user_agent, char *out, size_t size);

#endif
