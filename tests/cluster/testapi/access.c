/* Tokens, users, groups; see access.h. */
#include "tests/cluster/testapi/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"

struct user {
	struct user *next;
	char *token;
	char *name;
	char *uid;
	json_t *groups;
};

struct api_access {
	struct user *users;
	bool open; /* no token file: everyone is admin */
};

static void free_user(struct user *user)
{
	free(user->token);
	free(user->name);
	free(user->uid);
	json_decref(user->groups);
	free(user);
}

void access_free(struct api_access *access)
{
	while (access->users != NULL) {
		struct user *user = access->users;

		access->users = user->next;
		free_user(user);
	}
	free(access);
}

/* One CSV field, quoted or not; *at moves behind its comma. */
static char *read_field(char **at)
{
	char *start = *at;
	char *end;

	if (*start == '"') {
		start++;
		end = strchr(start, '"');
		if (end == NULL)
			end = start + strlen(start);
		*at = end + (*end == '"') + strcspn(end, ",");
		*at = end + strcspn(end, ",");
	} else {
		end = start + strcspn(start, ",");
		*at = end;
	}
	if (**at == ',')
		(*at)++;
	return mem_strndup(start, (size_t)(end - start));
}

static void add_groups(struct user *user, char *groups)
{
	char *state = NULL;

	for (char *group = strtok_r(groups, ",", &state); group != NULL; group = strtok_r(NULL, ",", &state))
		json_array_append_new(user->groups, json_string(group));
	json_array_append_new(user->groups, json_string("system:authenticated"));
}

static void read_line(struct api_access *access, char *line)
{
	struct user *user;
	char *groups;

	line[strcspn(line, "\r\n")] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return;
	user = mem_calloc(1, sizeof(*user));
	user->token = read_field(&line);
	user->name = read_field(&line);
	user->uid = read_field(&line);
	groups = read_field(&line);
	user->groups = json_array();
	add_groups(user, groups);
	free(groups);
	user->next = access->users;
	access->users = user;
}

struct api_access *access_new(const char *path, struct error *err)
{
	struct api_access *access = mem_calloc(1, sizeof(*access));
	cleanup_free char *line = NULL;
	size_t size = 0;
	FILE *file;

	access->open = path == NULL;
	if (path == NULL)
		return access;
	file = fopen(path, "re");
	if (file == NULL) {
		error_set_errno(err, errno, "token file %s", path);
		free(access);
		return NULL;
	}
	while (getline(&line, &size, file) >= 0)
		read_line(access, line);
	fclose(file);
	return access;
}

static const struct user *find_token(const struct api_access *access, const char *token)
{
	for (const struct user *user = access->users; user != NULL; user = user->next)
		if (strcmp(user->token, token) == 0)
			return user;
	return NULL;
}

static bool in_group(const json_t *groups, const char *name)
{
	size_t index;
	const json_t *group;

	json_array_foreach(groups, index, group)
		if (json_is_string(group) && strcmp(json_string_value(group), name) == 0)
			return true;
	return false;
}

const char *access_admin_token(const struct api_access *access)
{
	for (const struct user *user = access->users; user != NULL; user = user->next)
		if (in_group(user->groups, "system:masters"))
			return user->token;
	return NULL;
}

static const struct user *who(const struct api_access *access, const struct api_request *request)
{
	static const char bearer[] = "Bearer ";
	const char *text = request->authorization;

	if (text == NULL)
		return NULL;
	return strncmp(text, bearer, strlen(bearer)) == 0 ? find_token(access, text + strlen(bearer)) : NULL;
}

static bool is_self_review(const struct api_request *request)
{
	return request->resource != NULL && strcmp(request->resource->plural, "selfsubjectaccessreviews") == 0;
}

/* Whether the next part of a rule, up to ':', is word or '*'; *rule moves behind it. */
static bool part_allows(const char **rule, const char *word)
{
	size_t len = strcspn(*rule, ":");
	const char *part = *rule;

	*rule += len + (part[len] == ':');
	return (len == 1 && part[0] == '*') || (strlen(word) == len && strncmp(part, word, len) == 0);
}

/* resource: "pods" or "pods/status". */
static bool groups_allow(const json_t *groups, const char *verb, const char *resource, const char *namespace_name)
{
	static const char prefix[] = "testapi:";
	size_t index;
	const json_t *group;

	if (in_group(groups, "system:masters"))
		return true;
	json_array_foreach(groups, index, group) {
		const char *rule = json_string_value(group);

		if (rule == NULL || strncmp(rule, prefix, strlen(prefix)) != 0)
			continue;
		rule += strlen(prefix);
		if (part_allows(&rule, verb) && part_allows(&rule, resource) &&
		    (rule[0] == '\0' || strcmp(rule, namespace_name) == 0))
			return true;
	}
	return false;
}

int access_check(struct api *api, const struct api_request *request, struct api_failure *failure)
{
	const struct user *user;
	cleanup_free char *title = NULL;
	cleanup_free char *resource = NULL;
	bool named = request->name[0] != '\0';

	if (api->access->open)
		return 0;
	user = who(api->access, request);
	if (user == NULL)
		return api_fail(failure, 401, "Unauthorized", "Unauthorized");
	if (request->resource_name == NULL || is_self_review(request))
		return 0;
	resource = mem_printf("%s%s%s", request->resource_name, request->subresource[0] != '\0' ? "/" : "",
			      request->subresource);
	if (groups_allow(user->groups, request->verb, resource, request->namespace_name))
		return 0;
	title = request->resource != NULL ? api_resource_title(request->resource) : mem_strdup(request->resource_name);
	return api_fail(failure, 403, "Forbidden",
			"%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API group \"%s\" %s%s%s",
			title, named ? " \"" : "", request->name, named ? "\"" : "", user->name, request->verb,
			resource, request->group,
			request->namespace_name[0] != '\0' ? "in the namespace \"" : "at the cluster scope",
			request->namespace_name, request->namespace_name[0] != '\0' ? "\"" : "");
}

bool access_is_review(const struct api_resource *resource)
{
	return strcmp(resource->plural, "tokenreviews") == 0 || strcmp(resource->plural, "subjectaccessreviews") == 0 ||
	       strcmp(resource->plural, "selfsubjectaccessreviews") == 0;
}

static json_t *review_token(const struct api_access *access, const json_t *spec)
{
	const char *token = json_str(spec, "token");
	const struct user *user = token == NULL ? NULL : find_token(access, token);

	if (access->open && token != NULL)
		return json_pack("{s:b,s:{s:s,s:[s,s]}}", "authenticated", 1, "user", "username", "admin", "groups",
				 "system:masters", "system:authenticated");
	if (user == NULL)
		return json_pack("{s:{},s:s}", "user", "error", "invalid bearer token");
	return json_pack("{s:b,s:{s:s,s:s,s:O}}", "authenticated", 1, "user", "username", user->name, "uid", user->uid,
			 "groups", user->groups);
}

static const struct user *find_user(const struct api_access *access, const char *name)
{
	for (const struct user *user = access->users; user != NULL; user = user->next)
		if (strcmp(user->name, name) == 0)
			return user;
	return NULL;
}

/* Whether groups may do what the spec of a review asks. */
static bool attributes_allowed(const json_t *groups, const json_t *spec)
{
	const json_t *asked = json_object_get(spec, "resourceAttributes");
	const char *verb = json_str(asked, "verb");
	const char *resource = json_str(asked, "resource");
	const char *subresource = json_str(asked, "subresource");
	const char *namespace_name = json_str(asked, "namespace");
	cleanup_free char *full = mem_printf("%s%s%s", resource == NULL ? "" : resource,
					     subresource == NULL || subresource[0] == '\0' ? "" : "/",
					     subresource == NULL ? "" : subresource);

	return groups_allow(groups, verb == NULL ? "" : verb, full, namespace_name == NULL ? "" : namespace_name);
}

static json_t *review_access(const struct api_access *access, const json_t *spec)
{
	const char *name = json_str(spec, "user");
	const struct user *user = name == NULL ? NULL : find_user(access, name);

	return json_pack("{s:b}", "allowed",
			 access->open || attributes_allowed(json_object_get(spec, "groups"), spec) ||
				 (user != NULL && attributes_allowed(user->groups, spec)));
}

static json_t *review_self(const struct api_access *access, const struct api_request *request, const json_t *spec)
{
	const struct user *user = who(access, request);

	return json_pack("{s:b}", "allowed", access->open || (user != NULL && attributes_allowed(user->groups, spec)));
}

int access_review(struct api *api, const struct api_request *request, struct api_answer *answer,
		  struct api_failure *failure)
{
	cleanup_json json_t *body = NULL;
	const json_t *spec;
	json_t *status;
	char *text;

	if (strcmp(request->verb, "create") != 0)
		return api_fail(failure, 405, "MethodNotAllowed",
				"the server does not allow this method on the requested resource");
	body = api_body(request, failure);
	if (body == NULL)
		return -1;
	spec = json_object_get(body, "spec");
	if (strcmp(request->resource->plural, "tokenreviews") == 0)
		status = review_token(api->access, spec);
	else if (is_self_review(request))
		status = review_self(api->access, request, spec);
	else
		status = review_access(api->access, spec);
	json_object_set_new(body, "kind", json_string(request->resource->kind));
	json_object_set_new(body, "apiVersion", json_string(request->resource->api_version));
	json_object_set_new(body, "status", status);
	text = json_text(body);
	buf_puts(&answer->body, text);
	free(text);
	answer->status = 201;
	return 0;
}
