/* See reasons.h. */
#include "cli/view/reasons.h"

#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "common/base/hash.h"
#include "common/base/mem.h"

struct framework_reasons {
	UT_hash_handle hh; /* by uid */
	char *uid;
	struct event_views events;
};

static const char *uid_of(const json_t *event)
{
	return view_text(json_object_get(event, "involvedObject"), "uid");
}

static struct framework_reasons *find(struct framework_reasons *table, const char *uid)
{
	struct framework_reasons *found;

	HASH_FIND_STR(table, uid, found);
	return found;
}

static void free_one(struct framework_reasons **table, struct framework_reasons *one)
{
	HASH_DEL(*table, one);
	event_views_free(&one->events);
	free(one->uid);
	free(one);
}

static void free_all(struct framework_reasons **table)
{
	struct framework_reasons *one, *next;

	HASH_ITER(hh, *table, one, next) {
		free_one(table, one);
	}
}

void reasons_put(struct reasons *reasons, json_t *event)
{
	struct framework_reasons **table = reasons->listing ? &reasons->listed : &reasons->by_uid;
	struct framework_reasons *one = find(*table, uid_of(event));

	if (*uid_of(event) == '\0')
		return;
	if (one == NULL) {
		one = mem_calloc(1, sizeof(*one));
		one->uid = mem_strdup(uid_of(event));
		HASH_ADD_KEYPTR(hh, *table, one->uid, strlen(one->uid), one);
	}
	event_views_remove(&one->events, event);
	event_views_add(&one->events, event);
}

void reasons_delete(struct reasons *reasons, const json_t *event)
{
	struct framework_reasons *one = find(reasons->by_uid, uid_of(event));

	if (one == NULL)
		return;
	event_views_remove(&one->events, event);
	if (one->events.count == 0)
		free_one(&reasons->by_uid, one);
}

void reasons_list_begin(struct reasons *reasons)
{
	free_all(&reasons->listed);
	reasons->listing = true;
}

void reasons_list_end(struct reasons *reasons)
{
	free_all(&reasons->by_uid);
	reasons->by_uid = reasons->listed;
	reasons->listed = NULL;
	reasons->listing = false;
}

const struct event_views *reasons_of(const struct reasons *reasons, const char *uid)
{
	const struct framework_reasons *one = find(reasons->by_uid, uid);

	return one == NULL ? NULL : &one->events;
}

void reasons_free(struct reasons *reasons)
{
	free_all(&reasons->by_uid);
	free_all(&reasons->listed);
	reasons->listing = false;
}

char *reasons_key(const json_t *event)
{
	const json_t *of = json_object_get(event, "involvedObject");

	return mem_printf("%s/%s", view_text(of, "namespace"), view_text(of, "name"));
}
