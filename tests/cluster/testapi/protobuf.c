/* Kubernetes' protobuf bodies; see protobuf.h. The envelope is "k8s\0" and a runtime.Unknown; the field numbers are
 * those of generated.proto in k8s.io/api and k8s.io/apimachinery. */
#include "tests/cluster/testapi/protobuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"

/* fields: "number:name:type …". Types: s string, b bool, i integer, t Time, q Quantity, y bytes (base64 in JSON), m map
 * of strings, Y map of bytes, Q map of quantities, any other word a message; '[' before: repeated. */
struct message {
	const char *name;
	const char *fields;
};

static const char MAGIC[4] = {'k', '8', 's', 0};

static const struct message MESSAGES[] = {
	{"Unknown", "1:typeMeta:TypeMeta 2:raw:y"},
	{"TypeMeta", "1:apiVersion:s 2:kind:s"},
	{"ObjectMeta", "1:name:s 2:generateName:s 3:namespace:s 5:uid:s 6:resourceVersion:s 7:generation:i "
		       "8:creationTimestamp:t 9:deletionTimestamp:t 10:deletionGracePeriodSeconds:i 11:labels:m "
		       "12:annotations:m 13:ownerReferences:[OwnerReference 14:finalizers:[s"},
	{"OwnerReference", "5:apiVersion:s 1:kind:s 3:name:s 4:uid:s 6:controller:b 7:blockOwnerDeletion:b"},
	{"Namespace", "1:metadata:ObjectMeta"},
	{"ConfigMap", "1:metadata:ObjectMeta 2:data:m 3:binaryData:Y 4:immutable:b"},
	{"Secret", "1:metadata:ObjectMeta 2:data:Y 3:type:s 4:stringData:m 5:immutable:b"},
	{"ServiceAccount", "1:metadata:ObjectMeta 4:automountServiceAccountToken:b"},
	{"ResourceQuota", "1:metadata:ObjectMeta 2:spec:ResourceQuotaSpec"},
	{"ResourceQuotaSpec", "1:hard:Q 2:scopes:[s"},
	{"Role", "1:metadata:ObjectMeta 2:rules:[PolicyRule"},
	{"ClusterRole", "1:metadata:ObjectMeta 2:rules:[PolicyRule"},
	{"PolicyRule", "1:verbs:[s 2:apiGroups:[s 3:resources:[s 4:resourceNames:[s 5:nonResourceURLs:[s"},
	{"RoleBinding", "1:metadata:ObjectMeta 2:subjects:[Subject 3:roleRef:RoleRef"},
	{"ClusterRoleBinding", "1:metadata:ObjectMeta 2:subjects:[Subject 3:roleRef:RoleRef"},
	{"Subject", "1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s"},
	{"RoleRef", "1:apiGroup:s 2:kind:s 3:name:s"},
	{"PriorityClass", "1:metadata:ObjectMeta 2:value:i 3:globalDefault:b 4:description:s 5:preemptionPolicy:s"},
	{"TokenReview", "2:spec:TokenReviewSpec"},
	{"TokenReviewSpec", "1:token:s 2:audiences:[s"},
	{"SubjectAccessReview", "2:spec:SubjectAccessReviewSpec"},
	{"SubjectAccessReviewSpec", "1:resourceAttributes:ResourceAttributes "
				    "2:nonResourceAttributes:NonResourceAttributes 3:user:s 4:groups:[s 6:uid:s"},
	{"SelfSubjectAccessReview", "2:spec:SelfSubjectAccessReviewSpec"},
	{"SelfSubjectAccessReviewSpec",
	 "1:resourceAttributes:ResourceAttributes 2:nonResourceAttributes:NonResourceAttributes"},
	{"ResourceAttributes", "1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s 6:subresource:s 7:name:s"},
	{"NonResourceAttributes", "1:path:s 2:verb:s"},
	{"DeleteOptions",
	 "1:gracePeriodSeconds:i 2:preconditions:Preconditions 3:orphanDependents:b 4:propagationPolicy:s "
	 "5:dryRun:[s"},
	{"Preconditions", "1:uid:s 2:resourceVersion:s"},
	{"ListMeta", "2:resourceVersion:s 3:continue:s 4:remainingItemCount:i"},
	{"Status", "1:metadata:ListMeta 2:status:s 3:message:s 4:reason:s 5:details:StatusDetails 6:code:i"},
	{"StatusDetails", "1:name:s 2:group:s 3:kind:s 5:retryAfterSeconds:i 6:uid:s"},
	{"PodList", "1:metadata:ListMeta 2:items:[Pod"},
	{"Pod", "1:metadata:ObjectMeta 2:spec:PodSpec 3:status:PodStatus"},
	{"PodSpec",
	 "2:containers:[Container 3:restartPolicy:s 4:terminationGracePeriodSeconds:i "
	 "5:activeDeadlineSeconds:i 7:nodeSelector:m 8:serviceAccountName:s 10:nodeName:s 19:schedulerName:s "
	 "20:initContainers:[Container 25:priority:i"},
	{"Container", "1:name:s 2:image:s 3:command:[s 4:args:[s 5:workingDir:s"},
	{"PodStatus", "1:phase:s 2:conditions:[PodCondition 3:message:s 4:reason:s 5:hostIP:s 6:podIP:s 7:startTime:t "
		      "8:containerStatuses:[ContainerStatus 9:qosClass:s 10:initContainerStatuses:[ContainerStatus"},
	{"PodCondition", "1:type:s 2:status:s 4:lastTransitionTime:t 5:reason:s 6:message:s"},
	{"ContainerStatus",
	 "1:name:s 2:state:ContainerState 3:lastState:ContainerState 4:ready:b 5:restartCount:i 6:image:s "
	 "7:imageID:s 8:containerID:s"},
	{"ContainerState", "1:waiting:Waiting 2:running:Running 3:terminated:Terminated"},
	{"Waiting", "1:reason:s 2:message:s"},
	{"Running", "1:startedAt:t"},
	{"Terminated", "1:exitCode:i 2:signal:i 3:reason:s 4:message:s 5:startedAt:t 6:finishedAt:t 7:containerID:s"},
};

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5, WORD_SIZE = 48 };

struct input {
	const unsigned char *at;
	const unsigned char *end;
};

static int read_varint(struct input *in, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		unsigned char byte = *in->at++;

		*value |= (uint64_t)(byte & 0x7F) << shift;
		if (byte < 0x80)
			return 0;
	}
	return -1;
}

/* One field: its number, and either a varint or a run of bytes. */
static int read_field(struct input *in, uint64_t *number, uint64_t *varint, struct input *bytes)
{
	uint64_t tag;
	uint64_t len = 0;

	*bytes = (struct input){0};
	*varint = 0;
	if (read_varint(in, &tag) < 0)
		return -1;
	*number = tag >> 3;
	switch (tag & 7) {
	case WIRE_VARINT: return read_varint(in, varint);
	case WIRE_FIXED64: len = 8; break;
	case WIRE_FIXED32: len = 4; break;
	case WIRE_BYTES:
		if (read_varint(in, &len) < 0)
			return -1;
		break;
	default: return -1;
	}
	if (len > (uint64_t)(in->end - in->at))
		return -1;
	*bytes = (struct input){in->at, in->at + len};
	in->at += len;
	return 0;
}

static const struct message *find_message(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(MESSAGES); i++)
		if (strcmp(MESSAGES[i].name, name) == 0)
			return &MESSAGES[i];
	return NULL;
}

/* Kinds of answers. The table has a part of their members, so that none is read from a body. */
static bool is_answer(const char *kind)
{
	return strcmp(kind, "Pod") == 0 || strcmp(kind, "PodList") == 0 || strcmp(kind, "Status") == 0;
}

static json_t *decode_message(const struct message *message, struct input in);

static json_t *base64(struct input in)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = (size_t)(in.end - in.at);
	cleanup_free char *text = mem_alloc((len + 2) / 3 * 4 + 1);
	char *to = text;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)in.at[i] << 16 | (i + 1 < len ? (uint32_t)in.at[i + 1] << 8 : 0) |
				(i + 2 < len ? in.at[i + 2] : 0);

		*to++ = letters[bits >> 18];
		*to++ = letters[bits >> 12 & 63];
		*to++ = i + 1 < len ? letters[bits >> 6 & 63] : '=';
		*to++ = i + 2 < len ? letters[bits & 63] : '=';
	}
	*to = '\0';
	return json_string(text);
}

static json_t *decode_time(struct input in)
{
	char text[TIME_RFC3339_SIZE];

	while (in.at < in.end) {
		uint64_t number;
		uint64_t seconds;
		struct input bytes;

		if (read_field(&in, &number, &seconds, &bytes) < 0)
			return NULL;
		if (number == 1)
			return json_string(time_format_rfc3339((int64_t)seconds, text));
	}
	return json_null();
}

static json_t *decode_quantity(struct input in)
{
	while (in.at < in.end) {
		uint64_t number;
		uint64_t varint;
		struct input bytes;

		if (read_field(&in, &number, &varint, &bytes) < 0)
			return NULL;
		if (number == 1)
			return json_stringn((const char *)bytes.at, (size_t)(bytes.end - bytes.at));
	}
	return json_string("0");
}

static json_t *decode_value(const char *type, uint64_t varint, struct input bytes)
{
	const struct message *message;

	if (type[1] != '\0') {
		message = find_message(type);
		return message == NULL ? NULL : decode_message(message, bytes);
	}
	switch (type[0]) {
	case 'b': return json_boolean(varint != 0);
	case 'i': return json_integer((json_int_t)varint);
	case 't': return decode_time(bytes);
	case 'q': return decode_quantity(bytes);
	case 'y': return base64(bytes);
	default: return json_stringn((const char *)bytes.at, (size_t)(bytes.end - bytes.at));
	}
}

/* One entry of a map: key 1, value 2. */
static int decode_entry(json_t *map, const char *type, struct input in)
{
	const char *value_type = type[0] == 'm' ? "s" : type[0] == 'Y' ? "y" : "q";
	cleanup_free char *key = mem_strdup("");
	json_t *value = NULL;

	while (in.at < in.end) {
		uint64_t number;
		uint64_t varint;
		struct input bytes;

		if (read_field(&in, &number, &varint, &bytes) < 0)
			break;
		if (number == 1) {
			free(key);
			key = mem_strndup((const char *)bytes.at, (size_t)(bytes.end - bytes.at));
		} else if (number == 2) {
			json_decref(value);
			value = decode_value(value_type, varint, bytes);
		}
	}
	if (in.at < in.end) {
		json_decref(value);
		return -1;
	}
	return json_object_set_new(map, key, value == NULL ? json_string("") : value);
}

static json_t *member_of(json_t *object, const char *name, json_t *(*make)(void))
{
	json_t *member = json_object_get(object, name);

	if (member == NULL) {
		member = make();
		json_object_set_new(object, name, member);
	}
	return member;
}

/* Looks up number in the table; false when it is not there. */
static bool find_field(const struct message *message, uint64_t number, char *name, char *type)
{
	for (const char *at = message->fields; *at != '\0';) {
		unsigned long long this_number;
		int used = 0;

		if (sscanf(at, "%llu:%47[^:]:%47s%n", &this_number, name, type, &used) != 3)
			abort(); /* the table is ours */
		if (this_number == number)
			return true;
		at += used;
		at += strspn(at, " ");
	}
	return false;
}

static int decode_field(const struct message *message, json_t *object, uint64_t number, uint64_t varint,
			struct input bytes)
{
	char name[WORD_SIZE];
	char type[WORD_SIZE];
	json_t *value;

	if (!find_field(message, number, name, type))
		return 0;
	if (strchr("mYQ", type[0]) != NULL && type[1] == '\0')
		return decode_entry(member_of(object, name, json_object), type, bytes);
	value = decode_value(type[0] == '[' ? type + 1 : type, varint, bytes);
	if (value == NULL)
		return -1;
	if (type[0] == '[')
		return json_array_append_new(member_of(object, name, json_array), value);
	return json_object_set_new(object, name, value);
}

static json_t *decode_message(const struct message *message, struct input in)
{
	json_t *object = json_object();

	while (in.at < in.end) {
		uint64_t number;
		uint64_t varint;
		struct input bytes;

		if (read_field(&in, &number, &varint, &bytes) < 0 ||
		    decode_field(message, object, number, varint, bytes) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

json_t *protobuf_decode(const char *data, size_t len)
{
	struct input in = {(const unsigned char *)data, (const unsigned char *)data + len};
	struct input raw = {0};
	json_t *meta = NULL;
	json_t *object = NULL;
	const struct message *message;
	const char *kind;

	if (len < sizeof(MAGIC) || memcmp(data, MAGIC, sizeof(MAGIC)) != 0)
		return NULL;
	in.at += sizeof(MAGIC);
	while (in.at < in.end) {
		uint64_t number;
		uint64_t varint;
		struct input bytes;

		if (read_field(&in, &number, &varint, &bytes) < 0)
			break;
		if (number == 1 && meta == NULL)
			meta = decode_message(find_message("TypeMeta"), bytes);
		else if (number == 2)
			raw = bytes;
	}
	kind = json_string_value(json_object_get(meta, "kind"));
	message = kind == NULL ? NULL : find_message(kind);
	if (message != NULL && !is_answer(kind))
		object = decode_message(message, raw);
	if (object != NULL)
		json_object_update(object, meta);
	json_decref(meta);
	return object;
}

/* ---- answers ---- */

static void put_varint(struct buf *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buf_putc(out, (char)(value | 0x80));
	buf_putc(out, (char)value);
}

static void put_bytes(struct buf *out, uint64_t number, const char *data, size_t len)
{
	put_varint(out, number << 3 | WIRE_BYTES);
	put_varint(out, len);
	buf_append(out, data, len);
}

static void put_integer(struct buf *out, uint64_t number, int64_t value)
{
	put_varint(out, number << 3 | WIRE_VARINT);
	put_varint(out, (uint64_t)value);
}

static void encode_message(struct buf *out, const struct message *message, const json_t *object);

/* The entries of a map of strings. */
static void encode_map(struct buf *out, uint64_t number, json_t *map)
{
	const char *key;
	json_t *value;

	json_object_foreach(map, key, value) {
		cleanup_buf struct buf entry = {0};

		put_bytes(&entry, 1, key, strlen(key));
		put_bytes(&entry, 2, json_string_value(value), json_string_length(value));
		put_bytes(out, number, entry.data, entry.len);
	}
}

static void encode_value(struct buf *out, uint64_t number, const char *type, json_t *value)
{
	cleanup_buf struct buf part = {0};
	int64_t seconds;

	if (type[1] != '\0') {
		encode_message(&part, find_message(type), value);
		put_bytes(out, number, part.data == NULL ? "" : part.data, part.len);
	} else if (type[0] == 's') {
		put_bytes(out, number, json_string_value(value), json_string_length(value));
	} else if (type[0] == 't') {
		if (time_parse_rfc3339(json_string_value(value), &seconds) == 0)
			put_integer(&part, 1, seconds);
		put_bytes(out, number, part.data, part.len);
	} else if (type[0] == 'm') {
		encode_map(out, number, value);
	} else {
		put_integer(out, number, json_is_boolean(value) ? json_is_true(value) : json_integer_value(value));
	}
}

static void encode_message(struct buf *out, const struct message *message, const json_t *object)
{
	for (const char *at = message->fields; *at != '\0'; at += strspn(at, " ")) {
		char name[WORD_SIZE];
		char type[WORD_SIZE];
		unsigned long long number;
		int used = 0;
		json_t *value;
		size_t index;
		json_t *item;

		if (sscanf(at, "%llu:%47[^:]:%47s%n", &number, name, type, &used) != 3)
			abort(); /* the table is ours */
		at += used;
		value = json_object_get(object, name);
		if (value == NULL || json_is_null(value))
			continue;
		if (type[0] == '[')
			json_array_foreach(value, index, item)
				encode_value(out, number, type + 1, item);
		else
			encode_value(out, number, type, value);
	}
}

bool protobuf_encode(struct buf *out, const json_t *object)
{
	const char *kind = json_str(object, "kind");
	cleanup_buf struct buf meta = {0};
	cleanup_buf struct buf raw = {0};

	if (kind == NULL || !is_answer(kind))
		return false;
	encode_message(&meta, find_message("TypeMeta"), object);
	encode_message(&raw, find_message(kind), object);
	buf_append(out, MAGIC, sizeof(MAGIC));
	put_bytes(out, 1, meta.data, meta.len);
	put_bytes(out, 2, raw.data == NULL ? "" : raw.data, raw.len);
	return true;
}

void protobuf_encode_event(struct buf *out, const json_t *event)
{
	const char *type = json_str(event, "type");
	cleanup_buf struct buf object = {0};
	cleanup_buf struct buf raw = {0};
	cleanup_buf struct buf frame = {0};

	protobuf_encode(&object, json_object_get(event, "object"));
	put_bytes(&raw, 1, object.data, object.len);
	put_bytes(&frame, 1, type, strlen(type));
	put_bytes(&frame, 2, raw.data, raw.len);
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_putc(out, (char)(frame.len >> shift));
	buf_append(out, frame.data, frame.len);
}
