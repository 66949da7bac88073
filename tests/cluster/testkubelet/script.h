/* What a Pod is to do when nobody runs it: read from its annotations, or from a command simple enough to foresee.
 * Pure: no I/O, no clock.
 *
 * Annotations, all optional, all strings:
 *   testkubelet/run-seconds         how long it runs, e.g. "1.5"; "" or "forever": until it is deleted
 *   testkubelet/exit-code           of the container named below, else of the first one; the others end with 0
 *   testkubelet/signal              state.terminated.signal; the exit code is then 128 + signal unless given
 *   testkubelet/reason, /message    of the same container; reason defaults to Completed or Error
 *   testkubelet/random-message      that many bytes for a message, another text for each Pod; it does not compress
 *   testkubelet/container           name of the (init) container that the above are about
 *   testkubelet/pod-reason, /pod-message   the Pod fails as a whole, without any container status ("Evicted"):
 *                                   after run-seconds, or if that is not given before it ever runs
 *   testkubelet/phase               "hold": never scheduled; "unschedulable": the same, and the condition PodScheduled
 *                                   says so, with the message; "pending": scheduled, but stays Pending, and the
 *                                   container waits for the reason, if one is given, with the message
 *   testkubelet/ignore-termination  "true": a graceful deletion is never confirmed
 * Each value may be a list with one item per TaskAttempt, chosen by the Pod's annotation FC_TASK_ATTEMPT_ID, the
 * last item serving all that follow: "1,0" fails once. Items are separated by commas; of the two messages, by '|'.
 * testkubelet/attempt-exit-code and so on are the same by FC_FRAMEWORK_ATTEMPT_ID, and win when both are there.
 *
 * Without run-seconds the first container's command decides: `sleep N`, alone or as `sh -c` text of statements
 * among sleep, exit, echo, true and false joined by ';', '&&' or newlines. Anything else runs for ever — or, when an
 * annotation says how it ends, not at all. A run longer than spec.activeDeadlineSeconds is cut short by it. A Pod with
 * an image whose name no kubelet can read stays Pending with the reason InvalidImageName. */
#ifndef TESTKUBELET_SCRIPT_H
#define TESTKUBELET_SCRIPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum script_kind { SCRIPT_RUN, SCRIPT_HOLD, SCRIPT_UNSCHEDULABLE, SCRIPT_PENDING };

enum { SCRIPT_FOREVER = -1 };

/* What a kubelet says of a Pod that outlived its activeDeadlineSeconds; the reason is DeadlineExceeded. */
#define SCRIPT_DEADLINE_MESSAGE "Pod was active on the node longer than the specified deadline"

/* Strings are owned, NULL where not given. Free with script_free. */
struct script {
	enum script_kind kind;
	int64_t run_ms; /* SCRIPT_FOREVER: until deleted */
	int32_t exit_code;
	int32_t signal;
	char *container;
	char *reason;
	char *message;
	char *pod_reason;
	char *pod_message;
	bool pod_failure; /* one of the two above is given */
	bool never_runs;  /* a pod_failure without run-seconds: Failed at once */
	bool ignore_termination;
};

/* Values that make no sense count as not given. */
void script_parse(const json_t *pod, struct script *out);
void script_free(struct script *script);

/* The command's length and end, as above. true when it could be foreseen; *run_ms may be SCRIPT_FOREVER. */
bool script_foresee(const json_t *container, int64_t *run_ms, int32_t *exit_code);

/* Item `index` of list, the last one when there are fewer; index < 0 counts as 0. The caller frees. */
char *script_list_item(const char *list, char separator, int64_t index);

#endif
