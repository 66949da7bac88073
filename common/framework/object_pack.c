/* Packed Pods; see object_pack.h. */
#include "common/framework/object_pack.h"

#include <string.h>

#include "common/base/mem.h"

enum { POD_TEXTS = 15 };

static void list_texts(struct pod *pod, const char **out[POD_TEXTS])
{
	const char **const texts[POD_TEXTS] = {
		&pod->meta.ns,
		&pod->meta.name,
		&pod->meta.uid,
		&pod->meta.resource_version,
		&pod->meta.controller_kind,
		&pod->meta.controller_name,
		&pod->meta.controller_uid,
		&pod->meta.framework_name,
		&pod->task_uid,
		&pod->framework_attempt_instance_uid,
		&pod->node_name,
		&pod->pod_ip,
		&pod->host_ip,
		&pod->reason,
		&pod->message,
	};

	memcpy((void *)out, (const void *)texts, sizeof(texts));
}

/* Moves borrowed texts into one piece of memory. */
static char *own_texts(const char **const *texts, size_t count)
{
	size_t room = 0;
	char *strings;
	char *at;

	for (size_t i = 0; i < count; i++)
		room += strlen(*texts[i]) + 1;
	at = strings = mem_alloc(room);
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(*texts[i]) + 1;

		memcpy(at, *texts[i], size);
		*texts[i] = at;
		at += size;
	}
	return strings;
}

static void pack_numbers(struct pack *pack, struct object_meta *meta)
{
	pack_int(pack, &meta->generation);
	pack_time(pack, &meta->creation_time);
	pack_time(pack, &meta->deletion_time);
	pack_int(pack, &meta->deletion_grace_sec);
}

bool pod_packs(const struct pod *pod)
{
	return pod->container_count == 0 && pod->wait == NULL;
}

void pack_pod(struct pack *pack, struct pod *pod)
{
	const char **texts[POD_TEXTS];

	if (pack->reading)
		*pod = (struct pod){0};
	list_texts(pod, texts);
	for (size_t i = 0; i < POD_TEXTS; i++)
		pack_text(pack, texts[i]);
	pack_numbers(pack, &pod->meta);
	PACK_AS_INT(pack, pod->task_attempt_id);
	PACK_AS_INT(pack, pod->phase);
	PACK_AS_INT(pack, pod->ready_wanted);
	PACK_AS_INT(pack, pod->ready);
	if (pack->reading)
		pod->meta.strings = own_texts(texts, POD_TEXTS);
}

static void pack_object(struct pack *pack, struct object_meta *meta, const char **more)
{
	const char **const texts[] = {
		&meta->ns,
		&meta->name,
		&meta->uid,
		&meta->resource_version,
		&meta->controller_kind,
		&meta->controller_name,
		&meta->controller_uid,
		&meta->framework_name,
		more,
	};
	size_t count = ARRAY_LEN(texts) - (more == NULL);

	for (size_t i = 0; i < count; i++)
		pack_text(pack, texts[i]);
	pack_numbers(pack, meta);
	if (pack->reading)
		meta->strings = own_texts(texts, count);
}

void pack_meta(struct pack *pack, struct object_meta *meta)
{
	if (pack->reading)
		*meta = (struct object_meta){0};
	pack_object(pack, meta, NULL);
}

void pack_config_map(struct pack *pack, struct config_map *config_map)
{
	if (pack->reading)
		*config_map = (struct config_map){0};
	pack_object(pack, &config_map->meta, &config_map->framework_uid);
	PACK_AS_INT(pack, config_map->attempt_id);
}
