/* Splitting multi-document YAML, and the REST paths of the kinds that examples use; see documents.h. */
#include "tests/cluster/demo/documents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/yaml.h"
#include "common/framework/names.h"
#include "jobs/kinds/job.h"

/* No discovery: the kinds an example may hold are these. */
static const struct kind {
	const char *group; /* "" for the core group */
	const char *name;
	const char *plural;
	bool cluster_wide;
} kinds[] = {
	{FRAMEWORK_GROUP, "Framework", "frameworks", false},
	{"", "Service", "services", false},
	{"", "ServiceAccount", "serviceaccounts", false},
	{"", "ConfigMap", "configmaps", false},
	{"", "Secret", "secrets", false},
	{"", "Pod", "pods", false},
	{"", "Namespace", "namespaces", true},
	{"rbac.authorization.k8s.io", "Role", "roles", false},
	{"rbac.authorization.k8s.io", "RoleBinding", "rolebindings", false},
	{"rbac.authorization.k8s.io", "ClusterRole", "clusterroles", true},
	{"rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", true},
	{"scheduling.k8s.io", "PriorityClass", "priorityclasses", true},
	{"apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", true},
	{"kubeflow.caicloud.io", "TFJob", "tfjobs", false},
	{"kubeflow.org", "TFJob", "tfjobs", false},
	{"kubeflow.org", "PyTorchJob", "pytorchjobs", false},
};

static const struct kind *find_kind(const json_t *object)
{
	const char *version = json_str(object, "apiVersion"), *name = json_str(object, "kind");
	const char *slash = version == NULL ? NULL : strchr(version, '/');
	size_t group_len = slash == NULL ? 0 : (size_t)(slash - version);

	for (size_t i = 0; version != NULL && name != NULL && i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0 && strlen(kinds[i].group) == group_len &&
		    strncmp(kinds[i].group, version, group_len) == 0)
			return &kinds[i];
	return NULL;
}

const char *document_namespace(const json_t *object)
{
	const char *ns = json_str(json_object_get(object, "metadata"), "namespace");

	return ns == NULL || ns[0] == '\0' ? "default" : ns;
}

/* JOB_KINDS: it is none. */
static enum job_kind job_kind_of(const json_t *object)
{
	const char *version = json_str(object, "apiVersion"), *name = json_str(object, "kind");
	enum job_kind kind = 0;

	while (kind < JOB_KINDS &&
	       (strcmp(job_names(kind)->api_version, version) != 0 || strcmp(job_names(kind)->kind, name) != 0))
		kind++;
	return kind;
}

bool document_is_job(const json_t *object)
{
	return job_kind_of(object) != JOB_KINDS;
}

char *document_framework(const json_t *object)
{
	const char *name = json_str(json_object_get(object, "metadata"), "name");
	char framework[JOB_FRAMEWORK_NAME_SIZE];

	if (strcmp(find_kind(object)->name, "Framework") == 0)
		return mem_strdup(name);
	return document_is_job(object) ? mem_strdup(job_framework_name(job_kind_of(object), name, framework)) : NULL;
}

char *document_path(const json_t *object)
{
	const struct kind *kind = find_kind(object);
	const char *version = json_str(object, "apiVersion");
	const char *root = kind->group[0] == '\0' ? "api" : "apis";

	if (kind->cluster_wide)
		return mem_printf("/%s/%s/%s", root, version, kind->plural);
	return mem_printf("/%s/%s/namespaces/%s/%s", root, version, document_namespace(object), kind->plural);
}

/* YAML 1.2 §9.1.2: three hyphens at the start of a line, and then white space or its end. */
static bool is_marker(const char *line, const char *end)
{
	return end - line >= 3 && memcmp(line, "---", 3) == 0 &&
	       (end - line == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r' || line[3] == '\n');
}

/* One document into *objects, unless there is nothing in it. */
static int parse_one(const char *file, const char *text, size_t len, json_t *objects, struct error *err)
{
	struct yaml_node *root = NULL;
	json_t *object;
	int result = 0;

	if (yaml_load(file, text, len, &root, err) != 0)
		return -1;
	if (yaml_is_null(root)) {
		yaml_tree_free(root);
		return 0;
	}
	object = yaml_to_json(root);
	if (!json_is_object(object))
		result = yaml_error(root, err, "found no mapping, expected an API object");
	else if (find_kind(object) == NULL)
		result = yaml_error(root, err, "found apiVersion \"%s\", kind \"%s\": the demo cannot submit this kind",
				    json_str(object, "apiVersion"), json_str(object, "kind"));
	else if (json_str(json_object_get(object, "metadata"), "name") == NULL)
		result = yaml_error(root, err, "metadata.name is missing");
	else
		json_array_append(objects, object);
	json_decref(object);
	yaml_tree_free(root);
	return result;
}

int documents_parse(const char *file, const char *text, size_t len, json_t **out, struct error *err)
{
	const char *end = text + len;
	json_t *objects = json_array();
	/* The piece at hand, after as many empty lines as it has lines before it, for the line numbers in messages. */
	struct buf piece = {0};
	size_t line_number = 0;
	int result = 0;

	for (const char *line = text; line < end && result == 0;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *next = newline == NULL ? end : newline + 1;

		if (is_marker(line, end)) {
			result = parse_one(file, piece.data == NULL ? "" : piece.data, piece.len, objects, err);
			buf_clear(&piece);
			for (size_t i = 0; i < line_number; i++)
				buf_putc(&piece, '\n');
		}
		buf_append(&piece, line, (size_t)(next - line));
		line_number++;
		line = next;
	}
	if (result == 0)
		result = parse_one(file, piece.data == NULL ? "" : piece.data, piece.len, objects, err);
	buf_free(&piece);
	if (result != 0)
		json_decref(objects);
	else
		*out = objects;
	return result;
}

char *documents_read(const char *path, size_t *len, struct error *err)
{
	FILE *file = fopen(path, "re");
	char *text;

	if (file == NULL) {
		error_set_errno(err, errno, "%s", path);
		return NULL;
	}
	text = mem_alloc(YAML_MAX_BYTES + 1);
	*len = fread(text, 1, YAML_MAX_BYTES + 1, file);
	if (ferror(file) || *len > YAML_MAX_BYTES) {
		error_set(err, "%s: cannot be read, or is larger than %d bytes", path, YAML_MAX_BYTES);
		free(text);
		text = NULL;
	} else {
		text[*len] = '\0';
	}
	fclose(file);
	return text;
}
