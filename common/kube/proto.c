/* Protobuf read field by field; see proto.h. It parses only the wire format and the few fields named there. */
#include "common/kube/proto.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum { VARINT_SHIFT_MAX = 63 };

static bool take_varint(struct proto_span *rest, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; rest->len > 0 && shift <= VARINT_SHIFT_MAX; shift += 7) {
		unsigned char byte = (unsigned char)*rest->at;

		rest->at++;
		rest->len--;
		*out |= (uint64_t)(byte & 0x7F) << shift;
		if ((byte & 0x80) == 0)
			return true;
	}
	return false;
}

static bool take_bytes(struct proto_span *rest, uint64_t len, struct proto_span *out)
{
	bool short_of = len > rest->len;

	if (short_of && !rest->cut)
		return false;
	if (short_of)
		len = rest->len;
	*out = (struct proto_span){rest->at, (size_t)len, short_of};
	rest->at += len;
	rest->len -= (size_t)len;
	return true;
}

bool proto_next(struct proto_span *message, struct proto_field *out)
{
	uint64_t key;
	uint64_t len;
	enum wire wire;

	if (!take_varint(message, &key))
		return false;
	wire = (enum wire)(key & 7);
	*out = (struct proto_field){
		.number = key >> 3, .is_bytes = wire == WIRE_BYTES, .is_number = wire == WIRE_VARINT};
	switch (wire) {
	case WIRE_VARINT: return take_varint(message, &out->value);
	case WIRE_FIXED64: return take_bytes(message, 8, &out->bytes);
	case WIRE_FIXED32: return take_bytes(message, 4, &out->bytes);
	case WIRE_BYTES: return take_varint(message, &len) && take_bytes(message, len, &out->bytes);
	default: return false;
	}
}

struct proto_span proto_field(struct proto_span message, uint32_t number)
{
	struct proto_span found = {0};
	struct proto_field field;

	while (message.len > 0 && proto_next(&message, &field))
		if (field.number == number && field.is_bytes)
			found = field.bytes;
	return found;
}

int64_t proto_number(struct proto_span message, uint32_t number, int64_t fallback)
{
	int64_t found = fallback;
	struct proto_field field;

	while (message.len > 0 && proto_next(&message, &field))
		if (field.number == number && field.is_number)
			found = (int64_t)field.value;
	return found;
}

void proto_text(struct proto_span message, uint32_t number, char *out, size_t size)
{
	struct proto_span text = proto_field(message, number);
	size_t kept = text.len < size - 1 ? text.len : size - 1;

	if (kept > 0)
		memcpy(out, text.at, kept);
	out[kept] = '\0';
}

struct proto_span proto_object(struct proto_span body)
{
	if (body.len < sizeof(PROTO_MAGIC) || memcmp(body.at, PROTO_MAGIC, sizeof(PROTO_MAGIC)) != 0)
		return (struct proto_span){0};
	body.at += sizeof(PROTO_MAGIC);
	body.len -= sizeof(PROTO_MAGIC);
	return proto_field(body, PROTO_UNKNOWN_RAW);
}

json_t *proto_status(struct proto_span status)
{
	enum { MESSAGE = 3, REASON = 4, DETAILS = 5, CODE = 6, RETRY_AFTER = 5 };
	char reason[128];
	char message[4096];

	proto_text(status, REASON, reason, sizeof(reason));
	proto_text(status, MESSAGE, message, sizeof(message));
	/* json_string() takes no broken UTF-8: then it says nothing */
	return json_pack("{s:s,s:o*,s:o*,s:I,s:{s:I}}", "kind", "Status", "reason", json_string(reason), "message",
			 json_string(message), "code", (json_int_t)proto_number(status, CODE, 0), "details",
			 "retryAfterSeconds", (json_int_t)proto_number(proto_field(status, DETAILS), RETRY_AFTER, 0));
}
