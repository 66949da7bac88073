/* The forms of answers; see table.h. Columns are those of kubectl's usual view (pkg/printers/internalversion). */
#include "tests/cluster/testapi/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/jsonpath.h"
#include "tests/cluster/testapi/podview.h"

struct column {
	const char *name;
	const char *type;
	const char *format;
	int priority; /* > 0: with -o wide only */
};

enum { COLUMNS_MAX = 12 };

struct view {
	const char *group;
	const char *plural;
	struct column columns[COLUMNS_MAX];
	/* Appends the cells, comma-separated. */
	void (*cells)(struct buf *out, const json_t *json);
};

void api_print_age(struct buf *out, int64_t seconds)
{
	static const struct {
		int64_t below;
		int64_t big, small; /* units; 0: the unit stands alone */
		char big_name, small_name;
	} steps[] = {
		/* apimachinery's duration.HumanDuration */
		{120, 1, 0, 's', 0},           {600, 60, 1, 'm', 's'},    {10800, 60, 0, 'm', 0},
		{28800, 3600, 60, 'h', 'm'},   {172800, 3600, 0, 'h', 0}, {691200, 86400, 3600, 'd', 'h'},
		{INT64_MAX, 86400, 0, 'd', 0},
	};

	if (seconds < 0)
		seconds = 0;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		int64_t rest;

		if (seconds >= steps[i].below)
			continue;
		buf_put_int(out, seconds / steps[i].big);
		buf_putc(out, steps[i].big_name);
		rest = steps[i].small == 0 ? 0 : seconds % steps[i].big / steps[i].small;
		if (rest > 0) {
			buf_put_int(out, rest);
			buf_putc(out, steps[i].small_name);
		}
		return;
	}
}

static void put_age_of(struct buf *out, const char *stamp)
{
	int64_t then;

	if (stamp == NULL || time_parse_rfc3339(stamp, &then) < 0) {
		buf_puts(out, "\"<unknown>\"");
		return;
	}
	buf_putc(out, '"');
	api_print_age(out, clock_wall_ms() / 1000 - then);
	buf_putc(out, '"');
}

static void put_age(struct buf *out, const json_t *json)
{
	put_age_of(out, json_str(json_object_get(json, "metadata"), "creationTimestamp"));
}

static void put_name(struct buf *out, const json_t *json)
{
	buf_json_string(out, json_str(json_object_get(json, "metadata"), "name"));
}

static void put_text(struct buf *out, const char *text, const char *fallback)
{
	buf_putc(out, ',');
	buf_json_string(out, text == NULL || text[0] == '\0' ? fallback : text);
}

static void plain_cells(struct buf *out, const json_t *json)
{
	put_name(out, json);
	buf_putc(out, ',');
	put_age(out, json);
}

static void configmap_cells(struct buf *out, const json_t *json)
{
	put_name(out, json);
	buf_printf(out, ",%zu,",
		   json_object_size(json_object_get(json, "data")) +
			   json_object_size(json_object_get(json, "binaryData")));
	put_age(out, json);
}

static void secret_cells(struct buf *out, const json_t *json)
{
	put_name(out, json);
	put_text(out, json_str(json, "type"), "Opaque");
	buf_printf(out, ",%zu,", json_object_size(json_object_get(json, "data")));
	put_age(out, json);
}

static void namespace_cells(struct buf *out, const json_t *json)
{
	put_name(out, json);
	put_text(out, json_str(json_object_get(json, "status"), "phase"), "");
	buf_putc(out, ',');
	put_age(out, json);
}

static void node_cells(struct buf *out, const json_t *json)
{
	const json_t *status = json_object_get(json, "status");
	const char *ready = "Unknown";
	size_t index;
	const json_t *condition;

	json_array_foreach(json_object_get(status, "conditions"), index, condition) {
		const char *type = json_str(condition, "type");
		const char *state = json_str(condition, "status");

		if (type != NULL && state != NULL && strcmp(type, "Ready") == 0)
			ready = strcmp(state, "True") == 0 ? "Ready" : "NotReady";
	}
	put_name(out, json);
	put_text(out, ready, "");
	put_text(out, NULL, "<none>");
	buf_putc(out, ',');
	put_age(out, json);
	put_text(out, json_str(json_object_get(status, "nodeInfo"), "kubeletVersion"), "");
}

static void service_cells(struct buf *out, const json_t *json)
{
	const json_t *spec = json_object_get(json, "spec");
	cleanup_buf struct buf ports = {0};
	size_t index;
	const json_t *port;

	json_array_foreach(json_object_get(spec, "ports"), index, port) {
		const char *protocol = json_str(port, "protocol");

		buf_printf(&ports, "%s%lld/%s", index > 0 ? "," : "", (long long)json_int(port, "port", 0),
			   protocol == NULL ? "TCP" : protocol);
	}
	put_name(out, json);
	put_text(out, json_str(spec, "type"), "ClusterIP");
	put_text(out, json_str(spec, "clusterIP"), "<none>");
	put_text(out, NULL, "<none>");
	put_text(out, ports.data, "<none>");
	buf_putc(out, ',');
	put_age(out, json);
}

static void event_cells(struct buf *out, const json_t *json)
{
	const json_t *object = json_object_get(json, "involvedObject");
	const char *seen = json_str(json, "lastTimestamp");
	const char *kind = json_str(object, "kind");
	cleanup_free char *title = NULL;

	if (seen == NULL)
		seen = json_str(json, "eventTime");
	put_age_of(out, seen);
	put_text(out, json_str(json, "type"), "");
	put_text(out, json_str(json, "reason"), "");
	title = mem_printf("%s/%s", kind == NULL ? "" : kind,
			   json_str(object, "name") == NULL ? "" : json_str(object, "name"));
	for (char *at = title; *at != '\0' && *at != '/'; at++)
		*at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
	put_text(out, title, "");
	put_text(out, json_str(object, "fieldPath"), "");
	put_text(out, json_str(json_object_get(json, "source"), "component"), "");
	put_text(out, json_str(json, "message"), "");
	buf_putc(out, ',');
	put_age_of(out, json_str(json, "firstTimestamp"));
	buf_putc(out, ',');
	buf_put_int(out, json_int(json, "count", 1));
	put_text(out, json_str(json_object_get(json, "metadata"), "name"), "");
}

static void crd_cells(struct buf *out, const json_t *json)
{
	put_name(out, json);
	put_text(out, json_str(json_object_get(json, "metadata"), "creationTimestamp"), "");
}

static const struct view VIEWS[] = {
	{"",
	 "pods",
	 {{"Name", "string", "name", 0},
	  {"Ready", "string", "", 0},
	  {"Status", "string", "", 0},
	  {"Restarts", "integer", "", 0},
	  {"Age", "string", "", 0},
	  {"IP", "string", "", 1},
	  {"Node", "string", "", 1},
	  {"Nominated Node", "string", "", 1},
	  {"Readiness Gates", "string", "", 1}},
	 podview_cells},
	{"",
	 "configmaps",
	 {{"Name", "string", "name", 0}, {"Data", "string", "", 0}, {"Age", "string", "", 0}},
	 configmap_cells},
	{"",
	 "secrets",
	 {{"Name", "string", "name", 0},
	  {"Type", "string", "", 0},
	  {"Data", "string", "", 0},
	  {"Age", "string", "", 0}},
	 secret_cells},
	{"",
	 "namespaces",
	 {{"Name", "string", "name", 0}, {"Status", "string", "", 0}, {"Age", "string", "", 0}},
	 namespace_cells},
	{"",
	 "nodes",
	 {{"Name", "string", "name", 0},
	  {"Status", "string", "", 0},
	  {"Roles", "string", "", 0},
	  {"Age", "string", "", 0},
	  {"Version", "string", "", 0}},
	 node_cells},
	{"",
	 "services",
	 {{"Name", "string", "name", 0},
	  {"Type", "string", "", 0},
	  {"Cluster-IP", "string", "", 0},
	  {"External-IP", "string", "", 0},
	  {"Port(s)", "string", "", 0},
	  {"Age", "string", "", 0}},
	 service_cells},
	{"",
	 "events",
	 {{"Last Seen", "string", "", 0},
	  {"Type", "string", "", 0},
	  {"Reason", "string", "", 0},
	  {"Object", "string", "", 0},
	  {"Subobject", "string", "", 1},
	  {"Source", "string", "", 1},
	  {"Message", "string", "", 0},
	  {"First Seen", "string", "", 1},
	  {"Count", "string", "", 1},
	  {"Name", "string", "name", 1}},
	 event_cells},
	{"apiextensions.k8s.io",
	 "customresourcedefinitions",
	 {{"Name", "string", "name", 0}, {"Created At", "date", "", 0}},
	 crd_cells},
};

static const struct view PLAIN = {"", "", {{"Name", "string", "name", 0}, {"Age", "string", "", 0}}, plain_cells};

static const struct view *view_of(const struct api_resource *resource)
{
	for (size_t i = 0; i < ARRAY_LEN(VIEWS); i++)
		if (strcmp(VIEWS[i].plural, resource->plural) == 0 && strcmp(VIEWS[i].group, resource->group) == 0)
			return &VIEWS[i];
	return &PLAIN;
}

static void put_column(struct buf *out, const char *name, const char *type, const char *format, const char *description,
		       int64_t priority)
{
	buf_json_next(out);
	buf_puts(out, "{\"name\":");
	buf_json_string(out, name);
	buf_json_key(out, "type");
	buf_json_string(out, type);
	buf_json_key(out, "format");
	buf_json_string(out, format == NULL ? "" : format);
	buf_json_key(out, "description");
	buf_json_string(out, description == NULL ? "" : description);
	buf_json_key(out, "priority");
	buf_put_int(out, priority);
	buf_putc(out, '}');
}

static void put_columns(struct buf *out, const struct api_resource *resource)
{
	const struct view *view = view_of(resource);
	size_t index;
	const json_t *column;

	buf_puts(out, "\"columnDefinitions\":[");
	if (resource->columns != NULL) {
		put_column(out, "Name", "string", "name", "Name must be unique within a namespace.", 0);
		json_array_foreach(resource->columns, index, column)
			put_column(out, json_str(column, "name"), json_str(column, "type"), json_str(column, "format"),
				   json_str(column, "description"), json_int(column, "priority", 0));
	} else {
		for (size_t i = 0; i < COLUMNS_MAX && view->columns[i].name != NULL; i++)
			put_column(out, view->columns[i].name, view->columns[i].type, view->columns[i].format, NULL,
				   view->columns[i].priority);
	}
	buf_putc(out, ']');
}

static void custom_cell(struct buf *out, const json_t *json, const json_t *column)
{
	const char *path = json_str(column, "jsonPath");
	const char *type = json_str(column, "type");
	const json_t *value = path == NULL ? NULL : jsonpath_first(json, path);
	cleanup_free char *text = NULL;

	if (value == NULL || json_is_null(value)) {
		buf_puts(out, "null");
		return;
	}
	if (type != NULL && strcmp(type, "date") == 0) {
		put_age_of(out, json_string_value(value));
		return;
	}
	text = json_text(value);
	if (type != NULL && strcmp(type, "string") == 0 && !json_is_string(value))
		buf_json_string(out, text);
	else
		buf_puts(out, text);
}

static void put_cells(struct buf *out, const struct api_resource *resource, const json_t *json)
{
	size_t index;
	const json_t *column;

	if (resource->columns == NULL) {
		view_of(resource)->cells(out, json);
		return;
	}
	put_name(out, json);
	json_array_foreach(resource->columns, index, column) {
		buf_putc(out, ',');
		custom_cell(out, json, column);
	}
}

static void put_metadata(struct buf *out, struct api_object *object)
{
	cleanup_free char *metadata = json_text(json_object_get(api_object_json(object), "metadata"));

	buf_puts(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
	buf_puts(out, metadata);
	buf_putc(out, '}');
}

static void put_row(struct buf *out, struct api_object *object)
{
	buf_puts(out, "{\"cells\":[");
	put_cells(out, object->resource, api_object_json(object));
	buf_puts(out, "],\"object\":");
	put_metadata(out, object);
	buf_putc(out, '}');
}

static void begin_table(struct buf *out)
{
	buf_puts(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{");
}

void api_render(struct buf *out, struct api_object *object, enum api_form form, bool columns)
{
	switch (form) {
	case FORM_OBJECT: buf_append(out, object->text, object->text_len); break;
	case FORM_METADATA:
	case FORM_METADATA_LIST: put_metadata(out, object); break;
	case FORM_TABLE:
		begin_table(out);
		buf_printf(out, "\"resourceVersion\":\"%llu\"},", (unsigned long long)object->version);
		if (columns)
			put_columns(out, object->resource);
		else
			buf_puts(out, "\"columnDefinitions\":null");
		buf_puts(out, ",\"rows\":[");
		put_row(out, object);
		buf_puts(out, "]}");
		break;
	}
}

static void put_list_metadata(struct buf *out, const struct api_resource *resource, enum api_form form,
			      uint64_t version, const char *resume, int64_t remaining)
{
	buf_printf(out, "\"resourceVersion\":\"%llu\"", (unsigned long long)version);
	/* unstructured lists always have it */
	if (resume == NULL && resource->custom && form == FORM_OBJECT)
		resume = "";
	if (resume != NULL) {
		buf_json_key(out, "continue");
		buf_json_string(out, resume);
	}
	if (remaining >= 0) {
		buf_json_key(out, "remainingItemCount");
		buf_put_int(out, remaining);
	}
	buf_puts(out, "},");
}

static void put_item(struct buf *out, struct api_object *object, enum api_form form)
{
	size_t skip = strlen(object->resource->item_prefix);

	buf_json_next(out);
	switch (form) {
	case FORM_TABLE: put_row(out, object); break;
	case FORM_METADATA:
	case FORM_METADATA_LIST: put_metadata(out, object); break;
	case FORM_OBJECT:
		if (object->resource->custom) {
			buf_append(out, object->text, object->text_len);
			break;
		}
		/* items of built-in lists carry no apiVersion and kind */
		buf_putc(out, '{');
		buf_append(out, object->text + skip, object->text_len - skip);
		break;
	}
}

void api_render_list(struct buf *out, const struct api_resource *resource, struct api_object *const *objects,
		     size_t count, uint64_t version, const char *resume, int64_t remaining, enum api_form form)
{
	switch (form) {
	case FORM_TABLE: begin_table(out); break;
	case FORM_METADATA:
	case FORM_METADATA_LIST:
		buf_puts(out,
			 "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{");
		break;
	case FORM_OBJECT:
		buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{", resource->list_kind,
			   resource->api_version);
		break;
	}
	put_list_metadata(out, resource, form, version, resume, remaining);
	if (form == FORM_TABLE) {
		put_columns(out, resource);
		buf_puts(out, ",\"rows\":[");
	} else if (count == 0 && form != FORM_OBJECT) {
		/* so Go prints a slice that was never made */
		buf_puts(out, "\"items\":null}");
		return;
	} else {
		buf_puts(out, "\"items\":[");
	}
	for (size_t i = 0; i < count; i++)
		put_item(out, objects[i], form);
	buf_puts(out, "]}");
}
