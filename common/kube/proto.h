/* Reads Kubernetes' protobuf field by field, without a tree. A body is "k8s\0" and a runtime.Unknown, whose field `raw`
 * is the object. */
#ifndef KUBE_PROTO_H
#define KUBE_PROTO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The media type; that of a watch answer ends with ";stream=watch". */
#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"
/* The beginning of every body, with its NUL. */
#define PROTO_MAGIC "k8s"

struct proto_span {
	const char *at; /* NULL: there is none */
	size_t len;
	bool cut; /* its end is missing, and perhaps the end of its last field, which is used nevertheless */
};

struct proto_field {
	uint64_t number;
	bool is_bytes;           /* a string, bytes or a message */
	bool is_number;          /* a varint; neither: eight or four bytes */
	uint64_t value;          /* of a number */
	struct proto_span bytes; /* of every other field */
};

/* Takes the next field from a message; false if it is unreadable. */
bool proto_next(struct proto_span *message, struct proto_field *out);
/* The last field of that number that is a string, bytes or a message. The search ends at the first unreadable field. */
struct proto_span proto_field(struct proto_span message, uint32_t number);
/* The last such field that is a number; fallback when there is none. */
int64_t proto_number(struct proto_span message, uint32_t number, int64_t fallback);
/* Copies a field's text into out, cut to size; "" when there is none. */
void proto_text(struct proto_span message, uint32_t number, char *out, size_t size);
/* The object in a body; at is NULL when it is none. */
struct proto_span proto_object(struct proto_span body);
/* metav1.Status as its JSON has it: kind, message, reason, code, details.retryAfterSeconds. The caller decrefs. */
json_t *proto_status(struct proto_span status);

/* Fields of runtime.Unknown; of ObjectMeta, which is field 1 of every object; of lists and their ListMeta. */
enum {
	PROTO_UNKNOWN_RAW = 2,
	PROTO_METADATA = 1,
	PROTO_META_NAME = 1,
	PROTO_META_NAMESPACE = 3,
	PROTO_META_VERSION = 6,
	PROTO_LIST_METADATA = 1,
	PROTO_LIST_ITEMS = 2,
	PROTO_LIST_VERSION = 2,
	PROTO_LIST_CONTINUE = 3,
};

#endif
