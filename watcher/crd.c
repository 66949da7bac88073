/* The text of the CRD, and the changes that the CRD on the server needs; see crd.h. */
#include "watcher/crd.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/yaml.h"

#define HASH_ANNOTATION "frameworkcontroller.microsoft.com/crd-hash"

/* manifests/crd.yaml, and a NUL. The Makefile knows that this file depends on it. */
__asm__(".pushsection .rodata\n"
	"crd_yaml:\n"
	".incbin \"manifests/crd.yaml\"\n"
	".byte 0\n"
	".popsection\n");
extern const char crd_yaml[] __attribute__((visibility("hidden")));

/* A rule that servers since 1.25 enforce and older ones drop. The manifest lacks it, because kubectl refuses a field
 * that its server does not know. */
static const char managed_by_rule[] = "has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || "
				      "self.managedBy == oldSelf.managedBy)";

const char *crd_text(void)
{
	return crd_yaml;
}

static const json_t *version_of(const json_t *crd)
{
	return json_find(json_path(crd, "spec", "versions", NULL), "name", "v1");
}

json_t *crd_object(void)
{
	struct yaml_node *root;
	struct error err;
	json_t *crd;
	json_t *spec;

	if (yaml_load("manifests/crd.yaml", crd_yaml, strlen(crd_yaml), &root, &err) < 0) {
		log_error("%s", err.message);
		abort();
	}
	crd = yaml_to_json(root);
	yaml_tree_free(root);
	spec = json_path(version_of(crd), "schema", "openAPIV3Schema", "properties", "spec", NULL);
	json_object_set_new(
		spec, "x-kubernetes-validations",
		json_pack("[{s:s,s:s}]", "rule", managed_by_rule, "message", "managedBy cannot be changed"));
	return crd;
}

static const char *hash_of(const json_t *crd)
{
	return json_str(json_path(crd, "metadata", "annotations", NULL), HASH_ANNOTATION);
}

/* ---- what the server has ---------------------------------------------------------------------------------------- */

/* Whether it is the hash in the text, which is looked at every few seconds: parsing it each time costs more than all
 * else that an idle watcher does. */
static bool is_our_hash(const char *hash)
{
	const char *at = strstr(crd_yaml, "\n    " HASH_ANNOTATION ": ");
	size_t len = strlen(hash);

	at += strlen("\n    " HASH_ANNOTATION ": ");
	at += strspn(at, "\"'");
	return strcspn(at, "\"'\n") == len && memcmp(at, hash, len) == 0;
}

enum crd_need crd_need(const json_t *stored)
{
	const json_t *version = version_of(stored);
	const char *hash = hash_of(stored);

	if (stored == NULL)
		return CRD_CREATE;
	if (hash == NULL || !is_our_hash(hash) || !json_is_object(json_path(version, "subresources", "status", NULL)) ||
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

	if (!json_is_object(old_meta)) /* there is none, or the answer is no object of the API */
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
	const json_t *condition = json_find(json_path(stored, "status", "conditions", NULL), "type", "Established");
	const char *status = json_str(condition, "status");

	return status != NULL && strcmp(status, "True") == 0;
}
