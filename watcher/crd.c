/* The text of the CRD; see crd.h. Nothing in it is stricter than the original controller's schema: a stored object that
 * broke a new rule could get neither a status nor rid of a finalizer any more. */
#include "watcher/crd.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include <zlib.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#define HASH_ANNOTATION "frameworkcontroller.microsoft.com/crd-hash"

/* Servers do not enforce formats, so every int32 has its maximum beside it. */
#define INT32_FROM(minimum) "\"type\":\"integer\",\"format\":\"int32\",\"minimum\":" minimum ",\"maximum\":2147483647"
#define NAME_PATTERN "\"type\":\"string\",\"pattern\":\"^[a-z0-9]{1,63}$\""
#define ANYTHING "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true"

/* The descriptions are what `kubectl explain` shows; more is in reconciler/README.md. */
#define RETRY_POLICY                                                                                               \
	"{\"description\":\"Whether an attempt that has ended is followed by another one.\","                      \
	"\"type\":\"object\",\"default\":{},\"properties\":{"                                                      \
	"\"fancyRetryPolicy\":{\"description\":\"Retry failures that pass without counting them, and never those " \
	"that would come again.\","                                                                                \
	"\"type\":\"boolean\",\"default\":false},"                                                                 \
	"\"maxRetryCount\":{\"description\":\"How many failures are retried; -1: all; -2: successes, "             \
	"too.\"," INT32_FROM("-2") ",\"default\":0}}}"

/* Absent as a whole it has a default; a member that is missing from one that is present means "never", which is what
 * the controller reads it as: so the members have none. */
#define COMPLETION_POLICY                                                                                             \
	"{\"description\":\"What ends the attempt before all Tasks have ended. A member that is left out means "      \
	"never.\","                                                                                                   \
	"\"type\":\"object\",\"default\":{\"minFailedTaskCount\":1,\"minSucceededTaskCount\":-1},"                    \
	"\"properties\":{"                                                                                            \
	"\"minFailedTaskCount\":{\"description\":\"With so many failed Tasks the attempt ends, like the last one of " \
	"them; -1: never.\"," INT32_FROM("-1") "},"                                                                   \
					       "\"minSucceededTaskCount\":{\"description\":\"With so many succeeded " \
					       "Tasks the attempt ends, with success; -1: never.\"," INT32_FROM(      \
						       "-1") "}}}"

#define TASK                                                                                                      \
	"{\"description\":\"What each Task of the TaskRole is.\","                                                \
	"\"type\":\"object\",\"properties\":{"                                                                    \
	"\"retryPolicy\":" RETRY_POLICY ",\"podGracefulDeletionTimeoutSec\":{"                                    \
	"\"description\":\"A deleted Pod that stays for so long is deleted by force, and its Task may run twice " \
	"then; null: never.\","                                                                                   \
	"\"type\":\"integer\",\"format\":\"int64\",\"nullable\":true},"                                           \
	"\"pod\":{\"description\":\"A PodTemplateSpec: see kubectl explain podtemplate.template.\"," ANYTHING "}}}"

#define TASK_ROLE                                                                                              \
	"{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"                                        \
	"\"name\":{\"description\":\"Lower case letters and digits; once in a Framework.\"," NAME_PATTERN "}," \
	"\"taskNumber\":{\"description\":\"How many Tasks there are; may be changed at any time.\","           \
	"\"type\":\"integer\",\"format\":\"int32\",\"minimum\":0,\"maximum\":10000},"                          \
	"\"frameworkAttemptCompletionPolicy\":" COMPLETION_POLICY ",\"task\":" TASK "}}"

#define SCHEMA                                                                                                     \
	"{\"description\":\"One application: TaskRoles of Tasks, each of which runs as a Pod.\","                  \
	"\"type\":\"object\",\"properties\":{"                                                                     \
	"\"apiVersion\":{\"type\":\"string\"},"                                                                    \
	"\"kind\":{\"type\":\"string\"},"                                                                          \
	"\"metadata\":{\"type\":\"object\",\"properties\":{\"name\":{" NAME_PATTERN "}}},"                         \
	"\"spec\":{\"description\":\"What shall run.\","                                                           \
	"\"type\":\"object\",\"properties\":{"                                                                     \
	"\"description\":{\"description\":\"A text for people.\","                                                 \
	"\"type\":\"string\",\"nullable\":true},"                                                                  \
	"\"executionType\":{\"description\":\"Create: nothing runs yet. Start: it runs. Stop: it ends, with code " \
	"-210.\","                                                                                                 \
	"\"type\":\"string\",\"enum\":[\"Create\",\"Start\",\"Stop\"],\"default\":\"Start\"},"                     \
	"\"retryPolicy\":" RETRY_POLICY                                                                            \
	",\"taskRoles\":{\"description\":\"Groups of Tasks that run the same Pod template.\","                     \
	"\"type\":\"array\",\"nullable\":true,"                                                                    \
	"\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"name\"],"                            \
	"\"items\":" TASK_ROLE "}}},"                                                                              \
	"\"status\":{\"description\":\"What has become of it: its state, conditions, and each Task.\"," ANYTHING   \
	",\"nullable\":true}}}"

#define COLUMN(name, type, path) "{\"name\":\"" name "\",\"type\":\"" type "\",\"jsonPath\":\"" path "\"}"

static const char crd_text[] =
	"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
	"\"metadata\":{\"name\":\"" CRD_NAME "\"},"
	"\"spec\":{\"group\":\"frameworkcontroller.microsoft.com\",\"scope\":\"Namespaced\","
	"\"names\":{\"plural\":\"frameworks\",\"singular\":\"framework\",\"kind\":\"Framework\","
	"\"listKind\":\"FrameworkList\",\"shortNames\":[\"fw\"],\"categories\":[\"all\"]},"
	"\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
	"\"schema\":{\"openAPIV3Schema\":" SCHEMA "},"
	"\"subresources\":{\"status\":{}},"
	"\"additionalPrinterColumns\":[" COLUMN("State", "string", ".status.state") "," COLUMN("Tasks", "string", ".status.conditions[?(@.type==\\\"Running\\\")].message") "," COLUMN(
		"Retries", "integer",
		".status.retryPolicyStatus.totalRetriedCount") "," COLUMN("Code", "integer",
									  ".status.attemptStatus.completionStatus."
									  "code") "," COLUMN("Phrase", "string",
											     ".status."
											     "attemptStatus."
											     "completionStatus."
											     "phrase") "," COLUMN("Age",
														  "dat"
														  "e",
														  ".met"
														  "adat"
														  "a."
														  "crea"
														  "tion"
														  "Time"
														  "stam"
														  "p") "]}]}}";

static const char *text_hash(char out[16])
{
	snprintf(out, 16, "%08lx", crc32(0, (const Bytef *)crd_text, sizeof(crd_text) - 1));
	return out;
}

json_t *crd_object(void)
{
	struct error err;
	json_t *crd = json_parse(crd_text, sizeof(crd_text) - 1, &err);
	char hash[16];

	if (crd == NULL) {
		log_error("the CRD's own text: %s", err.message);
		abort();
	}
	json_object_set_new(json_object_get(crd, "metadata"), "annotations",
			    json_pack("{s:s}", HASH_ANNOTATION, text_hash(hash)));
	return crd;
}

/* ---- YAML ------------------------------------------------------------------------------------------------------- */

static int append_yaml(void *arg, unsigned char *data, size_t len)
{
	buf_append(arg, data, len);
	return 1;
}

static void emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
	if (!yaml_emitter_emit(emitter, event))
		abort(); /* only for events in a wrong order */
}

static void emit_scalar(yaml_emitter_t *emitter, const char *text, yaml_scalar_style_t style)
{
	yaml_event_t event;

	yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text), 1, 1, style);
	emit(emitter, &event);
}

static bool plain_word(const char *text)
{
	return text[0] != '\0' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./")] == '\0' &&
	       text[strspn(text, "0123456789.-e")] != '\0' && strcmp(text, "true") != 0 && strcmp(text, "false") != 0 &&
	       strcmp(text, "null") != 0;
}

static void emit_value(yaml_emitter_t *emitter, const json_t *value)
{
	yaml_event_t event;
	const char *name;
	json_t *member;
	size_t i;

	if (json_is_object(value)) {
		yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE);
		emit(emitter, &event);
		json_object_foreach((json_t *)value, name, member) {
			emit_scalar(emitter, name, YAML_PLAIN_SCALAR_STYLE);
			emit_value(emitter, member);
		}
		yaml_mapping_end_event_initialize(&event);
		emit(emitter, &event);
	} else if (json_is_array(value)) {
		yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE);
		emit(emitter, &event);
		json_array_foreach((json_t *)value, i, member)
			emit_value(emitter, member);
		yaml_sequence_end_event_initialize(&event);
		emit(emitter, &event);
	} else if (json_is_string(value)) {
		const char *text = json_string_value(value);

		emit_scalar(emitter, text,
			    plain_word(text) ? YAML_PLAIN_SCALAR_STYLE : YAML_SINGLE_QUOTED_SCALAR_STYLE);
	} else {
		cleanup_free char *text = json_text(value);

		emit_scalar(emitter, text, YAML_PLAIN_SCALAR_STYLE);
	}
}

void crd_write_yaml(struct buf *out)
{
	cleanup_json json_t *crd = crd_object();
	yaml_emitter_t emitter;
	yaml_event_t event;

	if (!yaml_emitter_initialize(&emitter))
		abort();
	yaml_emitter_set_output(&emitter, append_yaml, out);
	yaml_emitter_set_width(&emitter, -1);
	yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
	emit(&emitter, &event);
	yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
	emit(&emitter, &event);
	emit_value(&emitter, crd);
	yaml_document_end_event_initialize(&event, 1);
	emit(&emitter, &event);
	yaml_stream_end_event_initialize(&event);
	emit(&emitter, &event);
	yaml_emitter_delete(&emitter);
}

/* ---- what the server has ---------------------------------------------------------------------------------------- */

static const json_t *version_of(const json_t *crd)
{
	const json_t *versions = json_path(crd, "spec", "versions", NULL);
	size_t i;
	json_t *version;

	json_array_foreach((json_t *)versions, i, version) {
		const char *name = json_str(version, "name");

		if (name != NULL && strcmp(name, "v1") == 0)
			return version;
	}
	return NULL;
}

enum crd_need crd_need(const json_t *stored)
{
	const json_t *version = version_of(stored);
	const char *hash = json_str(json_path(stored, "metadata", "annotations", NULL), HASH_ANNOTATION);
	char ours[16];

	if (stored == NULL)
		return CRD_CREATE;
	if (hash == NULL || strcmp(hash, text_hash(ours)) != 0 ||
	    !json_is_object(json_path(version, "subresources", "status", NULL)) ||
	    json_path(version, "schema", "openAPIV3Schema", "properties", "spec", NULL) == NULL)
		return CRD_UPDATE;
	return CRD_CURRENT;
}

json_t *crd_merge(const json_t *stored)
{
	json_t *crd = crd_object();
	const json_t *old_meta = json_object_get(stored, "metadata");
	json_t *meta;
	json_t *annotations;

	if (!json_is_object(old_meta)) /* there is none, or what was answered is no object of the API */
		return crd;
	meta = json_deep_copy(old_meta);
	json_object_del(meta, "managedFields");
	annotations = json_object_get(meta, "annotations");
	if (!json_is_object(annotations)) {
		annotations = json_object();
		json_object_set_new(meta, "annotations", annotations);
	}
	json_object_update(annotations, json_path(crd, "metadata", "annotations", NULL));
	/* what kubectl applied last is not what it is now */
	json_object_del(annotations, "kubectl.kubernetes.io/last-applied-configuration");
	json_object_set_new(crd, "metadata", meta);
	return crd;
}

bool crd_established(const json_t *stored)
{
	const json_t *conditions = json_path(stored, "status", "conditions", NULL);
	size_t i;
	json_t *condition;

	json_array_foreach((json_t *)conditions, i, condition) {
		const char *type = json_str(condition, "type");
		const char *status = json_str(condition, "status");

		if (type != NULL && strcmp(type, "Established") == 0)
			return status != NULL && strcmp(status, "True") == 0;
	}
	return false;
}
