/* Jobs from files and texts, for the tests of translations and statuses. */
#ifndef UNIT_JOBS_WORLD_H
#define UNIT_JOBS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/yaml.h"
#include "jobs/kinds/translate.h"

static inline json_t *yaml_of_file(const char *path)
{
	struct yaml_node *root;
	struct error err;
	json_t *value;

	if (yaml_load_file(path, &root, &err) < 0)
		fail_msg("%s", err.message);
	value = yaml_to_json(root);
	yaml_tree_free(root);
	return value;
}

static inline json_t *yaml_of(const char *text)
{
	struct yaml_node *root;
	struct error err;
	json_t *value;

	if (yaml_load("text", text, strlen(text), &root, &err) < 0)
		fail_msg("%s", err.message);
	value = yaml_to_json(root);
	yaml_tree_free(root);
	return value;
}

/* The job of an object that has no uid and namespace yet. */
static inline void job_of(json_t *object, struct job *out)
{
	json_t *meta = json_object_get(object, "metadata");
	enum job_kind kind = JOB_CAICLOUD_TFJOB;
	cleanup_free char *text = NULL;
	struct error err;

	while (strcmp(job_names(kind)->kind, json_str(object, "kind")) != 0 ||
	       strcmp(job_names(kind)->api_version, json_str(object, "apiVersion")) != 0)
		assert_true(++kind < JOB_KINDS);
	json_object_set_new(meta, "namespace", json_string("ns"));
	json_object_set_new(meta, "uid", json_string("uid-1"));
	text = json_text(object);
	if (job_read(kind, text, strlen(text), out, &err) < 0)
		fail_msg("%s", err.message);
}

/* The same for YAML in the flow style. */
static inline void job_of_text(const char *text, struct job *out)
{
	cleanup_json json_t *object = yaml_of(text);

	job_of(object, out);
}

static inline void assert_json(const char *what, const json_t *found, const json_t *expected)
{
	char *found_text;
	char *expected_text;

	if (json_equal(found, expected))
		return;
	found_text = json_dumps(found, JSON_INDENT(2) | JSON_SORT_KEYS);
	expected_text = json_dumps(expected, JSON_INDENT(2) | JSON_SORT_KEYS);
	fprintf(stderr, "%s: found\n%s\nexpected\n%s\n", what, found_text, expected_text); /* (print_error() cuts it) */
	fail();
}

#endif
