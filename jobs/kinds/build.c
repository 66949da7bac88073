/* The pieces of a Framework's spec; see build.h. */
#include "jobs/kinds/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

/* Between the retries of a Task, as the kubelet waits between restarts of a container: 10 s, doubling to 5 minutes,
 * anew after 10 minutes (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy). */
enum { BACKOFF_INITIAL_SEC = 10, BACKOFF_MAX_SEC = 300, BACKOFF_RESET_SEC = 600 };

int build_known(const struct json_field *object, const char *const *names, struct error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)object->value, name, value) {
		const char *const *known = names;

		while (*known != NULL && strcmp(*known, name) != 0)
			known++;
		if (*known == NULL)
			return json_field_wrong(object, name, "no field of this name", err);
	}
	return 0;
}

void build_warn(struct job_translation *translation, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	json_array_append_new(translation->warnings, json_string(text));
}

static json_t *retry_policy(bool fancy, int64_t max_retry_count)
{
	return json_object_of("fancyRetryPolicy", json_boolean(fancy), "maxRetryCount", json_integer(max_retry_count),
			      NULL);
}

void build_begin(const struct job *job, struct job_translation *out)
{
	*out = (struct job_translation){.ttl_sec = -1, .backoff_limit = -1};
	job_framework_name(job->kind, job->name, out->framework);
	out->labels = job->labels == NULL ? json_object() : json_deep_copy(job->labels);
	json_object_set_new(out->labels, JOB_LABEL, json_string(job_names(job->kind)->full));
	out->warnings = json_array();
	/* The Framework goes with the job; without it nobody would know any more that the job has run. */
	out->spec = json_object_of("executionType", json_string("Start"), "suspend", json_false(),
				   "ttlSecondsAfterCompleted", json_integer(INT32_MAX), "retryPolicy",
				   retry_policy(false, 0), "taskRoles", json_array(), NULL);
}

/* A Pod of spec.network has a name in the DNS that follows from the Task, and its own hostname would hide it. */
static void drop_names(struct job_translation *out, const struct job_role *role, json_t *pod)
{
	static const char *const names[] = {"hostname", "subdomain"};
	json_t *spec = json_object_get(pod, "spec");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (json_object_del(spec, names[i]) == 0)
			build_warn(out,
				   "%s of the template of %s has no effect: replicas find each other by other names",
				   names[i], role->type);
}

void build_role(struct job_translation *out, const struct job_role *role, json_t *pod, int64_t min_failed,
		int64_t min_succeeded, const struct build_retry *retry)
{
	json_t *policy = retry_policy(retry->fancy, retry->max_retry_count);
	json_t *completion = json_object_of("minFailedTaskCount", json_integer(min_failed), "minSucceededTaskCount",
					    json_integer(min_succeeded), NULL);

	if (json_object_get(out->spec, "network") != NULL)
		drop_names(out, role, pod);
	if (retry->fancy || retry->max_retry_count != 0)
		json_object_set_new(policy, "backoff",
				    json_object_of("initialSec", json_integer(BACKOFF_INITIAL_SEC), "maxSec",
						   json_integer(BACKOFF_MAX_SEC), "resetAfterSec",
						   json_integer(BACKOFF_RESET_SEC), NULL));
	json_array_append_new(json_object_get(out->spec, "taskRoles"),
			      json_object_of("name", json_string(role->name), "taskNumber",
					     json_integer(role->replicas), "frameworkAttemptCompletionPolicy",
					     completion, "task",
					     json_object_of("retryPolicy", policy, "pod", pod, NULL), NULL));
	out->roles[out->role_count++] = *role;
}

void build_network(struct job_translation *out)
{
	json_object_set_new(out->spec, "network", json_object());
}

char *build_host(const struct job *job, const struct job_translation *translation, const char *role, const char *index,
		 int64_t port)
{
	return mem_printf("%s-%s.%s.%s.svc:%lld", role, index, translation->framework, job->ns, (long long)port);
}

/* object[name], made if it is not an object. Borrowed. */
static json_t *member(json_t *object, const char *name)
{
	if (!json_is_object(json_object_get(object, name)))
		json_object_set_new(object, name, json_object());
	return json_object_get(object, name);
}

json_t *build_pod(const json_t *template)
{
	json_t *pod = json_is_object(template) ? json_deep_copy(template) : json_object();

	member(member(pod, "metadata"), "labels");
	member(pod, "spec");
	return pod;
}

void build_label(json_t *pod, const char *name, const char *value)
{
	json_object_set_new(member(member(pod, "metadata"), "labels"), name, json_string(value));
}

json_t *build_container(const json_t *pod, const char *name)
{
	json_t *containers = json_path(pod, "spec", "containers", NULL);
	json_t *container;
	size_t i;

	json_array_foreach(containers, i, container) {
		const char *found = json_str(container, "name");

		if (found != NULL && strcmp(found, name) == 0)
			return container;
	}
	return NULL;
}

void build_env(json_t *container, const char *name, const char *value)
{
	json_t *env = json_object_get(container, "env");

	if (!json_is_array(env)) {
		json_object_set_new(container, "env", json_array());
		env = json_object_get(container, "env");
	}
	for (size_t i = json_array_size(env); i > 0; i--) {
		const char *found = json_str(json_array_get(env, i - 1), "name");

		if (found != NULL && strcmp(found, name) == 0)
			json_array_remove(env, i - 1);
	}
	json_array_append_new(env, json_object_of("name", json_string(name), "value", json_string(value), NULL));
}

size_t build_length(const char *text, int32_t replicas)
{
	size_t index_len = (size_t)snprintf(NULL, 0, "%d", replicas > 0 ? replicas - 1 : 0);
	size_t len = strlen(text);

	while ((text = strstr(text, BUILD_INDEX)) != NULL) {
		text += strlen(BUILD_INDEX);
		len -= strlen(BUILD_INDEX) - index_len;
	}
	return len;
}
