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

/* Moves borrowed texts into one piece of memory, which is the Pod's. */
static void own_texts(struct pod *pod, const char **texts[POD_TEXTS])
{
	size_t room = 0;
	char *at;

	for (size_t i = 0; i < POD_TEXTS; i++)
		room += strlen(*texts[i]) + 1;
	at = pod->meta.strings = mem_alloc(room);
	for (size_t i = 0; i < POD_TEXTS; i++) {
		size_t size = strlen(*texts[i]) + 1;

		memcpy(at, *texts[i], size);
		*texts[i] = at;
		at += size;
	}
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
	pack_int(pack, &pod->meta.generation);
	pack_int(pack, &pod->meta.creation_time);
	pack_int(pack, &pod->meta.deletion_time);
	pack_int(pack, &pod->meta.deletion_grace_sec);
	PACK_AS_INT(pack, pod->task_attempt_id);
	PACK_AS_INT(pack, pod->phase);
	PACK_AS_INT(pack, pod->ready_wanted);
	PACK_AS_INT(pack, pod->ready);
	if (pack->reading)
		own_texts(pod, texts);
}
