/* Reads Kubernetes' protobuf field by field, as far as tests of the embedded API server look at it. */
#ifndef TESTS_PROTO_H
#define TESTS_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* at NULL: there is none. */
struct proto_span {
	const char *at;
	size_t len;
};

/* Fields of runtime.Unknown, of every object, and of its ObjectMeta. */
enum { PROTO_UNKNOWN_RAW = 2, PROTO_METADATA = 1, PROTO_META_NAME = 1 };

static inline uint64_t proto_varint(struct proto_span *rest)
{
	uint64_t value = 0;
	unsigned char byte = 0x80;

	for (unsigned shift = 0; rest->len > 0 && shift < 64 && (byte & 0x80) != 0; shift += 7) {
		byte = (unsigned char)*rest->at++;
		rest->len--;
		value |= (uint64_t)(byte & 0x7F) << shift;
	}
	return value;
}

/* The last field of that number that is a string, bytes or a message. */
static inline struct proto_span proto_field(struct proto_span message, uint64_t number)
{
	enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };
	struct proto_span found = {0};

	while (message.len > 0) {
		uint64_t key = proto_varint(&message);
		uint64_t len = (key & 7) == BYTES ? proto_varint(&message) : (key & 7) == FIXED64 ? 8 : 4;

		if ((key & 7) == VARINT) {
			proto_varint(&message);
			continue;
		}
		if (len > message.len)
			break;
		if (key >> 3 == number && (key & 7) == BYTES)
			found = (struct proto_span){message.at, (size_t)len};
		message.at += len;
		message.len -= (size_t)len;
	}
	return found;
}

static inline void proto_text(struct proto_span message, uint64_t number, char *out, size_t size)
{
	struct proto_span text = proto_field(message, number);

	snprintf(out, size, "%.*s", (int)text.len, text.at == NULL ? "" : text.at);
}

/* The object in a body, which is "k8s", a NUL and a runtime.Unknown. */
static inline struct proto_span proto_object(struct proto_span body)
{
	if (body.len < 4 || memcmp(body.at, "k8s", 4) != 0)
		return (struct proto_span){0};
	return proto_field((struct proto_span){body.at + 4, body.len - 4}, PROTO_UNKNOWN_RAW);
}

#endif
