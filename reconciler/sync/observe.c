/* Takes in observed objects (ARCHITECTURE.md §6.5): never back to an older version, never up from the dead; see sync.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/config/failure.h"
#include "reconciler/sync/podtemplate.h"
#include "reconciler/sync/rules.h"

/* Each problem is reported once, until there is another one or none. */
static void report_problem(struct framework *framework, const char *former)
{
	if (framework->problem == NULL || (former != NULL && strcmp(former, framework->problem) == 0))
		return;
	log_error("[%s/%s]: the controller does not act on this Framework: %s", framework->ns, framework->name,
		  framework->problem);
	framework->problem_reported = false;
}

/* The tree of a part, whatever error there was is *err; NULL when the part is not there. */
static json_t *part_tree(const struct json_span *part, struct error *err)
{
	return part->at == NULL ? NULL : json_parse(part->at, part->len, err);
}

static int read_spec(const struct framework *framework, const json_t *spec, struct framework_spec *out,
		     struct error *err)
{
	if (framework_spec_parse(spec, out, err) < 0)
		return -1;
	if (failure_spec_parse(json_object_get(spec, "podFailureSpec"), "spec.podFailureSpec", &out->failures, err) <
		    0 ||
	    framework_spec_check_names(out, framework->name, err) < 0) {
		framework_spec_free(out);
		return -1;
	}
	return 0;
}

void framework_read_spec_again(struct framework *framework)
{
	const struct json_span text = {.at = framework->spec_text, .len = strlen(framework->spec_text)};
	struct error err;
	cleanup_json json_t *spec = part_tree(&text, &err);

	if (spec == NULL || read_spec(framework, spec, &framework->spec, &err) < 0)
		abort(); /* it was read before */
}

static void take_spec(struct framework *framework, const struct json_span *part)
{
	const struct json_span text = part->at == NULL ? (struct json_span){.at = "{}", .len = 2} : *part;
	cleanup_json json_t *spec = NULL;
	struct framework_spec read;
	struct error err;

	if (framework->spec_text != NULL && framework->problem == NULL && json_span_is(&text, framework->spec_text))
		return;
	pod_templates_free(framework);
	kueue_forget_request(framework);
	free(framework->task_texts);
	framework->task_texts = NULL;
	free(framework->spec_text);
	framework->spec_text = mem_strndup(text.at, text.len);
	framework->scale = true;
	framework->sweep = true;
	spec = part_tree(part, &err);
	framework->managed_by_others = framework_spec_managed_by_others(spec);
	if (framework->managed_by_others) { /* whatever the rest of it says */
		framework_forget(framework);
		mem_replace(&framework->problem, NULL);
		return;
	}
	if ((spec == NULL && part->at != NULL) || read_spec(framework, spec, &read, &err) < 0) {
		mem_replace(&framework->problem, err.message);
		return;
	}
	framework_spec_free(&framework->spec);
	framework->spec = read;
	mem_replace(&framework->problem, NULL);
}

static void take_status(struct framework *framework, const struct json_span *part)
{
	struct error err;
	cleanup_json json_t *status = part_tree(part, &err);
	struct framework_status read;

	if (status == NULL && part->at != NULL) {
		mem_replace(&framework->problem, err.message);
		return;
	}
	if (!framework_status_present(status))
		return;
	if (framework_status_parse(status, &read, &err) < 0) {
		mem_replace(&framework->problem, err.message);
		return;
	}
	framework_adopt_status(framework, &read);
	/* Others wrote it, and perhaps more since: the view may be one that the grant's snapshot did not even hold. */
	framework_fence(framework);
}

static void take_marks(struct framework *framework, const json_t *status)
{
	framework->status.fenced = json_is_true(json_object_get(status, "fenced"));
	framework_status_writer(status, framework->status.writer);
}

/* Reads the marks that a write of unknown outcome may have left. */
static void check_marks(struct framework *framework, const struct json_span *part)
{
	struct error err;
	cleanup_json json_t *status = part_tree(part, &err);

	take_marks(framework, status);
}

/* Whether another process of ours wrote it: one of us two has lost the key, and does not know. Whichever it is, a
 * process that goes on from the stored status takes nothing back. */
static bool is_anothers(const struct framework *framework, const struct json_span *part)
{
	char writer[STATUS_WRITER_SIZE];
	struct json_reader reader;
	struct json_span span;

	if (framework->writer == NULL || part->at == NULL)
		return false;
	json_reader_init(&reader, part->at, part->len);
	if (!json_reader_find(&reader, "writer"))
		return false;
	span = json_reader_string(&reader);
	if (span.at == NULL || span.len == 0 || span.len >= sizeof(writer))
		return false;
	json_span_decode(&span, writer);
	return strcmp(writer, framework->writer) != 0;
}

/* Whether the stored compressed status equals ours, however it was compressed. */
static bool packs_ours(const struct framework *framework, const char *packed)
{
	cleanup_buf struct buf stored = {0};
	cleanup_buf struct buf ours = {0};
	struct error err;

	if (text_decompress(packed, strlen(packed), &stored, &err) < 0)
		return false;
	role_statuses_write(&ours, &framework->status.attempt, framework->name);
	return stored.len == ours.len && memcmp(stored.data, ours.data, ours.len) == 0;
}

static bool is_ours(const struct framework *framework, json_t *status)
{
	const char *packed = json_string_value(json_path(status, "attemptStatus", "taskRoleStatusesCompressed", NULL));
	cleanup_buf struct buf text = {0};
	cleanup_json json_t *ours = NULL;
	struct error err;

	if (packed != NULL && !packs_ours(framework, packed))
		return false;
	framework_status_write(&text, &framework->status, framework->name, packed);
	ours = json_parse(text.data, text.len, &err);
	return json_equal(ours, status);
}

/* Somebody else wrote the status: ours goes over it (CONTRACT.md §12). Only looked for when nothing of ours is on the
 * way, so that an own write whose answer is late is never taken for somebody else's. */
static void check_status(struct framework *framework, const struct json_span *part)
{
	cleanup_json json_t *status = NULL;
	struct error err;

	if (!framework->has_status || framework->version != framework->written)
		return;
	status = part_tree(part, &err);
	take_marks(framework, status);
	if (is_ours(framework, status))
		return;
	log_warning("[%s/%s]: another client wrote the status; the controller overwrites it", framework->ns,
		    framework->name);
	framework->version++;
	pace_hurry(framework);
}

static bool is_other(const struct framework *framework, const struct object_meta *meta)
{
	return !framework->exists || strcmp(framework->uid, meta->uid) != 0;
}

/* An object that is seen exists, even if it was believed gone. */
static void revive(struct slot *slot, const struct object_meta *meta)
{
	if (slot->gone_uid == NULL || strcmp(slot->gone_uid, meta->uid) != 0)
		return;
	mem_replace(&slot->gone_uid, NULL);
	mem_replace(&slot->gone_version, NULL);
}

/* Whether the observed object is older than the end of its uid. At that version or later it exists: that was not its
 * end. */
static bool is_dead(const struct slot *slot, const struct object_meta *meta)
{
	return slot->gone_uid != NULL && strcmp(slot->gone_uid, meta->uid) == 0 &&
	       version_compare(meta->resource_version, slot->gone_version) < 0;
}

/* Whether the object was seen at a newer version than that: then it did not end there. */
static bool seen_after(const struct slot *slot, const char *uid, const char *version)
{
	return slot->meta != NULL && strcmp(slot->meta->uid, uid) == 0 &&
	       version_compare(slot->meta->resource_version, version) > 0;
}

/* Only of what may be there. */
static void set_unseen(struct slot *slot)
{
	slot->unseen = slot->meta != NULL || slot->call != CALL_NONE;
}

void framework_set_unseen(struct framework *framework)
{
	set_unseen(&framework->config_map);
	set_unseen(&framework->owned[SLOT_WORKLOAD - SLOT_SERVICE]);
	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		set_unseen(slot);
}

bool framework_has_seen(const struct framework *framework, const char *version)
{
	/* of a namesake, too: what a GET has shown is newer than a view that lags behind */
	return framework->exists && version_compare(version, framework->resource_version) <= 0;
}

/* Of the Frameworks of a name, those that are older than the end of the last one ended before it. */
static bool is_news_of(const struct framework *framework, const struct object_meta *meta)
{
	if (framework->gone_version != NULL && version_compare(meta->resource_version, framework->gone_version) < 0)
		return false;
	return !framework_has_seen(framework, meta->resource_version);
}

bool framework_observe(struct framework *framework, const struct object_parts *object, enum observed_by by)
{
	const struct object_meta *meta = &object->meta;
	cleanup_free char *former_problem = NULL;
	bool fresh;

	if (!is_news_of(framework, meta))
		return false;
	fresh = is_other(framework, meta);
	if (fresh) {
		framework_observe_absent(framework, meta->resource_version);
		framework->exists = true;
		mem_replace(&framework->uid, meta->uid);
	}
	mem_replace(&framework->resource_version, meta->resource_version);
	if (meta->generation != framework->generation) {
		backoff_reset(&framework->creates); /* the cause of a refusal may have been corrected */
		backoff_reset(&framework->config_map_creates);
		backoff_reset(&framework->owned_calls);
	}
	if (meta->deletion_time != framework->deletion_time)
		framework->sweep = true; /* the delays of Tasks end */
	framework->generation = meta->generation;
	framework->deletion_time = meta->deletion_time;
	free(framework->metadata_text);
	framework->metadata_text = mem_strndup(object->metadata.at, object->metadata.len);
	kueue_take_metadata(framework, &object->metadata);
	if (framework->problem != NULL)
		former_problem = mem_strdup(framework->problem);
	take_spec(framework, &object->spec);
	if (framework->managed_by_others)
		return true;
	/* Until a write of ours has succeeded, the stored status takes precedence over ours, which rests on an older
	 * view: its former owner may have written since. */
	if (fresh || !framework->has_status || !fence_proven(framework) || is_anothers(framework, &object->status))
		take_status(framework, &object->status);
	else if (by == OBSERVED_EVENT)
		check_status(framework, &object->status);
	else
		check_marks(framework, &object->status);
	report_problem(framework, former_problem);
	return true;
}

/* Nobody waits any more for an object without our label, and no event will report its deletion. A namesake of the
 * Framework has Events of its own. */
static void forget_slot(const struct framework *framework, struct slot *slot)
{
	if (slot_lost(framework, slot))
		slot_clear(slot);
	if (slot->reported == REPORTED_CONFLICT)
		slot->reported = REPORTED_NOTHING;
}

void framework_observe_absent(struct framework *framework, const char *version)
{
	if (framework->uid != NULL)
		mem_replace(&framework->gone_version, version != NULL ? version : framework->resource_version);
	forget_slot(framework, &framework->config_map);
	for (int i = 0; i < OWNED_KINDS; i++)
		forget_slot(framework, &framework->owned[i]);
	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		forget_slot(framework, slot);
	framework_wake_waiting(framework); /* there will be no write */
	framework_forget(framework);
	pod_templates_free(framework);
	free(framework->task_texts);
	framework->task_texts = NULL;
	framework_spec_free(&framework->spec);
	framework->exists = false;
	mem_replace(&framework->uid, NULL);
	mem_replace(&framework->resource_version, NULL);
	mem_replace(&framework->metadata_text, NULL);
	mem_replace(&framework->spec_text, NULL);
	mem_replace(&framework->problem, NULL);
	framework->generation = 0;
	framework->deletion_time = 0;
}

/* Whether a newly seen object says anything new about the slot. An answer may come after the news that its object is
 * gone; what lacks our label is in no list, though. */
static bool is_news(const struct framework *framework, const struct slot *slot, const struct object_meta *meta)
{
	if (is_dead(slot, meta))
		return false;
	if (framework_labels(framework, meta) && version_compare(meta->resource_version, slot->absent_version) < 0)
		return false;
	return slot->meta == NULL || version_compare(meta->resource_version, slot->meta->resource_version) > 0;
}

/* Another uid has the name: the former object is gone. */
static void make_room(struct slot *slot, const struct object_meta *meta)
{
	const struct slot before = *slot;
	bool same = slot->meta != NULL && strcmp(slot->meta->uid, meta->uid) == 0;

	if (slot->meta != NULL && !same) {
		slot_gone(slot, slot->meta->uid, meta->resource_version);
		slot->reported = REPORTED_NOTHING;
	}
	if (same)
		slot->wait = NULL; /* goes on */
	slot_clear(slot);
	revive(slot, meta);
	slot_news(slot);
	if (!same) {
		mem_replace(&slot->first_version, meta->resource_version);
		return;
	}
	if (before.deletion == SLOT_FORCED) { /* it moves: the next thing to happen may be its end */
		slot->polls = 0;
		slot->poll_ms = 0;
	}
	slot->deletion = before.deletion;
	slot->straggler = before.straggler;
	slot->confirmed_by = before.confirmed_by;
	slot->vouched_by = before.vouched_by;
	slot->wait = before.wait;
	slot->ungated_sec = before.ungated_sec;
	slot->reported = before.reported;
}

bool framework_observe_pod(struct framework *framework, struct pod *pod)
{
	struct slot *slot = slot_find(framework, pod->meta.name);

	if (!is_news(framework, slot, &pod->meta)) {
		pod_free(pod);
		return false;
	}
	make_room(slot, &pod->meta);
	slot->pod = pod;
	slot->meta = &pod->meta;
	slot_mark_dirty(framework, slot);
	return true;
}

void slot_observe_owned(struct slot *slot, struct owned_object *object)
{
	if (is_dead(slot, &object->meta)) {
		owned_object_free(object);
		return;
	}
	make_room(slot, &object->meta);
	slot->owned = object;
	slot->meta = &object->meta;
}

bool framework_observe_workload(struct framework *framework, struct workload *workload)
{
	struct slot *slot = owned_slot(framework, SLOT_WORKLOAD);

	if (!workload_named(framework, workload->meta.name) || !is_news(framework, slot, &workload->meta)) {
		workload_free(workload);
		return false;
	}
	if (slot->name == NULL)
		slot->name = mem_strdup(workload->meta.name);
	make_room(slot, &workload->meta);
	slot->workload = workload;
	slot->meta = &workload->meta;
	slot->vouched_by = framework->writes_begun + 1;
	return true;
}

bool framework_observe_config_map(struct framework *framework, struct config_map *config_map)
{
	struct slot *slot = &framework->config_map;

	if (strcmp(slot->name, config_map->meta.name) != 0 || !is_news(framework, slot, &config_map->meta)) {
		config_map_free(config_map);
		return false;
	}
	if (slot->meta == NULL || strcmp(slot->meta->uid, config_map->meta.uid) != 0)
		framework->sweep = true; /* Pods that waited for it are created */
	make_room(slot, &config_map->meta);
	mem_replace(&framework->config_map_end, NULL);
	slot->config_map = config_map;
	slot->meta = &config_map->meta;
	return true;
}

void framework_observe_gone(struct framework *framework, enum object_kind kind, const char *name, const char *uid,
			    const char *version, bool certain)
{
	struct slot *slot;
	bool known;

	if (kind == KIND_CONFIG_MAP) {
		slot = &framework->config_map;
		if (strcmp(slot->name, name) != 0)
			return;
	} else if (kind == KIND_WORKLOAD) {
		slot = owned_slot(framework, SLOT_WORKLOAD);
		if (slot->name == NULL || strcmp(slot->name, name) != 0)
			return;
	} else {
		HASH_FIND_STR(framework->slots, name, slot);
		if (slot == NULL && (!certain || uid[0] == '\0'))
			return;
		if (slot == NULL)
			slot = slot_find(framework, name);
	}
	if (version_compare(version, slot->absent_version) > 0)
		mem_replace(&slot->absent_version, version);
	if (kind == KIND_CONFIG_MAP && (slot->meta == NULL || uid[0] == '\0' || strcmp(slot->meta->uid, uid) == 0))
		mem_replace(&framework->config_map_end, uid[0] == '\0' ? NULL : version);
	known = slot->meta != NULL && !slot_lost(framework, slot) &&
		version_compare(slot->meta->resource_version, version) <= 0;
	if (certain && uid[0] != '\0' && !seen_after(slot, uid, version))
		slot_gone(slot, uid, version);
	if (known && slot->meta != NULL) {
		/* Lists and streams lack objects without our label, so their absence there says nothing about them. A
		 * labelled one may have lost its label. Where another uid had the name at that version, ours had gone
		 * before. */
		slot_clear(slot);
		slot->known = SLOT_IN_DOUBT;
	} else if (uid[0] == '\0') {
		return;
	}
	slot_news(slot);
	slot->poll_ms = 0;
	backoff_reset(&framework->others);
	/* The end of a ConfigMap says nothing about Pods: an attempt whose Pods are refused ends with it, and the next
	 * one must not ask for them at once. */
	backoff_reset(kind == KIND_POD ? &framework->creates : &framework->config_map_creates);
	if (kind == KIND_POD)
		slot_mark_dirty(framework, slot);
}
