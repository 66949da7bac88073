/* Adding up what Pods ask for; see requests.h. */
#include "common/framework/requests.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"

static struct request *look_up(const struct requests *requests, const char *name)
{
	for (size_t i = 0; i < requests->count; i++)
		if (strcmp(requests->items[i].name, name) == 0)
			return &requests->items[i];
	return NULL;
}

/* NULL: there are REQUESTS_MAX others already. */
static struct request *find(struct requests *requests, const char *name)
{
	struct request *found = look_up(requests, name);

	if (found != NULL || requests->count == REQUESTS_MAX)
		return found;
	requests->items = mem_realloc(requests->items, requests->count + 1, sizeof(*requests->items));
	requests->items[requests->count] = (struct request){.name = mem_strdup(name)};
	return &requests->items[requests->count++];
}

void requests_add(struct requests *sum, const struct requests *other, int64_t times)
{
	for (size_t i = 0; i < other->count; i++) {
		struct request *own = find(sum, other->items[i].name);

		if (own != NULL)
			quantity_add_times(&own->quantity, &other->items[i].quantity, times);
	}
}

static void raise_to(struct requests *requests, const struct requests *other)
{
	for (size_t i = 0; i < other->count; i++) {
		struct request *own = find(requests, other->items[i].name);

		if (own != NULL && quantity_less(&own->quantity, &other->items[i].quantity))
			own->quantity = other->items[i].quantity;
	}
}

void requests_free(struct requests *requests)
{
	for (size_t i = 0; i < requests->count; i++)
		free(requests->items[i].name);
	free(requests->items);
	*requests = (struct requests){0};
}

static void set(struct requests *requests, const char *name, const struct quantity *quantity)
{
	struct request *own = find(requests, name);

	if (own != NULL)
		own->quantity = *quantity;
}

/* Reads the list (requests, limits, overhead), whose values replace earlier ones of the same name. */
static void read_list(const json_t *list, struct requests *out)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)list, name, value) {
		cleanup_free char *number = json_is_number(value) ? json_text(value) : NULL;
		const char *text = number != NULL ? number : json_string_value(value);
		struct quantity quantity;

		if (text != NULL && quantity_parse(text, &quantity) == 0)
			set(out, name, &quantity);
	}
}

static void read_resources(const json_t *container, struct requests *out)
{
	const json_t *resources = json_object_get(container, "resources");

	read_list(json_object_get(resources, "limits"), out);
	read_list(json_object_get(resources, "requests"), out);
}

static void add_containers(const json_t *pod_spec, struct requests *out)
{
	const json_t *container;
	size_t i;

	json_array_foreach(json_object_get(pod_spec, "containers"), i, container) {
		struct requests own = {0};

		read_resources(container, &own);
		requests_add(out, &own, 1);
		requests_free(&own);
	}
}

/* One that restarts always goes on beside the containers; the others run one after another, with those before them that
 * go on. */
static void add_init_containers(const json_t *pod_spec, struct requests *out)
{
	struct requests beside = {0};
	struct requests most = {0};
	const json_t *container;
	size_t i;

	json_array_foreach(json_object_get(pod_spec, "initContainers"), i, container) {
		const char *policy = json_str(container, "restartPolicy");
		struct requests own = {0};

		read_resources(container, &own);
		requests_add(&own, &beside, 1);
		raise_to(&most, &own);
		if (policy != NULL && strcmp(policy, "Always") == 0) {
			requests_free(&beside);
			beside = own;
		} else {
			requests_free(&own);
		}
	}
	requests_add(out, &beside, 1);
	raise_to(out, &most);
	requests_free(&beside);
	requests_free(&most);
}

static bool is_hugepages(const char *name)
{
	return strncmp(name, "hugepages-", strlen("hugepages-")) == 0;
}

/* Only these can be asked for by the Pod as a whole. */
static bool is_of_pods(const char *name)
{
	return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 || is_hugepages(name);
}

/* Those of the Pod as a whole go over what its containers ask for. Its limit is a request only where nobody asks for
 * the resource; but of hugepages nobody may have more than was asked for, and the Pod's limit goes over that of
 * containers. */
static void read_of_pod(const json_t *pod_spec, struct requests *out)
{
	const json_t *resources = json_object_get(pod_spec, "resources");
	struct requests limits = {0};
	struct requests requests = {0};

	read_list(json_object_get(resources, "limits"), &limits);
	read_list(json_object_get(resources, "requests"), &requests);
	for (size_t i = 0; i < limits.count; i++) {
		const char *name = limits.items[i].name;

		if (is_of_pods(name) && (is_hugepages(name) || look_up(out, name) == NULL))
			set(out, name, &limits.items[i].quantity);
	}
	for (size_t i = 0; i < requests.count; i++)
		if (is_of_pods(requests.items[i].name))
			set(out, requests.items[i].name, &requests.items[i].quantity);
	requests_free(&limits);
	requests_free(&requests);
}

void requests_of_pod(const json_t *pod_spec, struct requests *out)
{
	struct requests overhead = {0};

	add_containers(pod_spec, out);
	add_init_containers(pod_spec, out);
	read_of_pod(pod_spec, out);
	read_list(json_object_get(pod_spec, "overhead"), &overhead);
	requests_add(out, &overhead, 1);
	requests_free(&overhead);
}

void requests_write(struct buf *out, const struct requests *requests)
{
	buf_putc(out, '{');
	for (size_t i = 0; i < requests->count; i++) {
		buf_json_next(out);
		buf_json_string(out, requests->items[i].name);
		buf_putc(out, ':');
		quantity_write(out, &requests->items[i].quantity);
	}
	buf_putc(out, '}');
}
