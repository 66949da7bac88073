/* Cutting protobuf into objects; see proto_cut.h. It parses only the wire format and the few fields named there. */
#include "common/kube/proto_cut.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum { VARINT_SHIFT_MAX = 63 };
enum { MAGIC_SIZE = 4, UNKNOWN_RAW = 2, LIST_METADATA = 1, LIST_ITEMS = 2 };
/* Of a piece that is too large, this much is kept: enough to name the object. */
enum { HEAD_KEPT = 64 * 1024 };
/* A buffer that grew past this is given back rather than kept for the next piece. */
enum { PART_KEPT = 1024 * 1024 };

static const char magic[MAGIC_SIZE] = "k8s";

/* ---- a message in memory ---- */

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

struct proto_field {
	uint64_t number;
	enum wire wire;
	uint64_t value;          /* of a varint */
	struct proto_span bytes; /* of anything else */
};

static bool take_field(struct proto_span *rest, struct proto_field *out)
{
	uint64_t key;
	uint64_t len;

	if (!take_varint(rest, &key))
		return false;
	out->number = key >> 3;
	out->wire = (enum wire)(key & 7);
	switch (out->wire) {
	case WIRE_VARINT: return take_varint(rest, &out->value);
	case WIRE_FIXED64: return take_bytes(rest, 8, &out->bytes);
	case WIRE_FIXED32: return take_bytes(rest, 4, &out->bytes);
	case WIRE_BYTES: return take_varint(rest, &len) && take_bytes(rest, len, &out->bytes);
	default: return false;
	}
}

struct proto_span proto_field(struct proto_span message, uint32_t number)
{
	struct proto_span found = {0};
	struct proto_field field;

	while (message.len > 0 && take_field(&message, &field))
		if (field.number == number && field.wire == WIRE_BYTES)
			found = field.bytes;
	return found;
}

int64_t proto_number(struct proto_span message, uint32_t number, int64_t fallback)
{
	int64_t found = fallback;
	struct proto_field field;

	while (message.len > 0 && take_field(&message, &field))
		if (field.number == number && field.wire == WIRE_VARINT)
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
	if (body.len < MAGIC_SIZE || memcmp(body.at, magic, MAGIC_SIZE) != 0)
		return (struct proto_span){0};
	body.at += MAGIC_SIZE;
	body.len -= MAGIC_SIZE;
	return proto_field(body, UNKNOWN_RAW);
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

/* ---- pieces ---- */

/* Keeps what belongs to a piece, or the head of one that is too large. */
static void keep(struct buf *part, const char *data, size_t len, bool too_large)
{
	size_t head = part->len < HEAD_KEPT ? HEAD_KEPT - part->len : 0;

	buf_append(part, data, too_large && len > head ? head : len);
}

static void clear_part(struct buf *part)
{
	if (part->cap > PART_KEPT)
		buf_free(part);
	buf_clear(part);
}

/* ---- lists ---- */

enum place { AT_MAGIC, AT_KEY, AT_NUMBER, AT_LENGTH, IN_SKIPPED, IN_METADATA, IN_ITEM };

void proto_list_cut_init(struct proto_list_cut *cut, size_t item_max, cut_piece *item, void *arg)
{
	*cut = (struct proto_list_cut){
		.item = item, .arg = arg, .item_max = item_max, .place = AT_MAGIC, .left = MAGIC_SIZE};
}

void proto_list_cut_free(struct proto_list_cut *cut)
{
	buf_free(&cut->metadata);
	buf_free(&cut->part);
}

bool proto_list_cut_complete(const struct proto_list_cut *cut)
{
	return cut->place == AT_KEY && cut->shift == 0 && cut->list_came && !cut->in_list;
}

/* One byte of a varint; 1 when it ends with it, -1 when it is none. */
static int feed_varint(struct proto_list_cut *cut, unsigned char byte)
{
	if (cut->shift == 0)
		cut->number = 0;
	if (cut->shift > VARINT_SHIFT_MAX)
		return -1;
	cut->number |= (uint64_t)(byte & 0x7F) << cut->shift;
	cut->shift += 7;
	if ((byte & 0x80) != 0)
		return 0;
	cut->shift = 0;
	return 1;
}

/* A value of so many bytes begins. */
static void begin_value(struct proto_list_cut *cut, enum place place, uint64_t len)
{
	cut->place = (int)place;
	cut->left = len;
	cut->too_large = len > cut->item_max;
	clear_part(&cut->part);
}

static int end_value(struct proto_list_cut *cut)
{
	enum place place = (enum place)cut->place;

	cut->place = AT_KEY;
	if (place == IN_METADATA && !cut->too_large) {
		struct buf old = cut->metadata;

		cut->metadata = cut->part;
		cut->part = old;
		buf_reserve(&cut->metadata, 0);
	} else if (place == IN_ITEM) {
		cut->stopped = !cut->item(cut->arg, cut->part.data == NULL ? "" : cut->part.data, cut->part.len,
					  cut->too_large);
	}
	return 0;
}

static int end_key(struct proto_list_cut *cut, struct error *err)
{
	cut->key = cut->number;
	switch ((enum wire)(cut->key & 7)) {
	case WIRE_VARINT: cut->place = AT_NUMBER; return 0;
	case WIRE_FIXED64: begin_value(cut, IN_SKIPPED, 8); return 0;
	case WIRE_FIXED32: begin_value(cut, IN_SKIPPED, 4); return 0;
	case WIRE_BYTES: cut->place = AT_LENGTH; return 0;
	default: return error_set(err, "invalid protobuf: a field of wire type %d", (int)(cut->key & 7));
	}
}

static int end_length(struct proto_list_cut *cut, struct error *err)
{
	uint64_t field = cut->key >> 3;

	if (!cut->in_list && field == UNKNOWN_RAW) {
		if (cut->list_came)
			return error_set(err, "invalid protobuf: two lists in one body");
		cut->in_list = cut->list_came = true;
		cut->list_left = cut->number;
		cut->place = AT_KEY;
		return 0;
	}
	if (cut->in_list && cut->number > cut->list_left)
		return error_set(err, "invalid protobuf: a field is longer than its list");
	if (cut->in_list && field == LIST_METADATA)
		begin_value(cut, IN_METADATA, cut->number);
	else if (cut->in_list && field == LIST_ITEMS)
		begin_value(cut, IN_ITEM, cut->number);
	else
		begin_value(cut, IN_SKIPPED, cut->number);
	return cut->left == 0 ? end_value(cut) : 0;
}

/* A byte of a key, a number or a length. */
static int feed_varint_of(struct proto_list_cut *cut, unsigned char byte, struct error *err)
{
	int ended = feed_varint(cut, byte);

	if (ended < 0)
		return error_set(err, "invalid protobuf: a number of more than 64 bits");
	if (ended == 0)
		return 0;
	if (cut->place == AT_KEY)
		return end_key(cut, err);
	if (cut->place == AT_LENGTH)
		return end_length(cut, err);
	cut->place = AT_KEY;
	return 0;
}

/* A stretch of a value. */
static int feed_value(struct proto_list_cut *cut, const char *data, size_t len, struct error *err)
{
	if (cut->place == AT_MAGIC && memcmp(data, magic + MAGIC_SIZE - cut->left, len) != 0)
		return error_set(err, "found something else, expected Kubernetes protobuf");
	if (cut->place == IN_METADATA || cut->place == IN_ITEM)
		keep(&cut->part, data, len, cut->too_large);
	cut->left -= len;
	return cut->left == 0 ? end_value(cut) : 0;
}

int proto_list_cut_feed(struct proto_list_cut *cut, const char *data, size_t len, struct error *err)
{
	while (len > 0 && !cut->stopped) {
		bool in_list = cut->in_list;
		bool at_value = cut->place == AT_MAGIC || cut->place >= IN_SKIPPED;
		size_t used = at_value && cut->left < len ? (size_t)cut->left : len;

		if (!at_value)
			used = 1;
		if (in_list && used > cut->list_left)
			return error_set(err, "invalid protobuf: the list ends in the middle of a field");
		if ((at_value ? feed_value(cut, data, used, err) : feed_varint_of(cut, (unsigned char)*data, err)) < 0)
			return -1;
		if (in_list)
			cut->list_left -= used;
		if (cut->in_list && cut->list_left == 0) {
			if (cut->place != AT_KEY || cut->shift != 0)
				return error_set(err, "invalid protobuf: the list ends in the middle of a field");
			cut->in_list = false;
		}
		data += used;
		len -= used;
	}
	return 0;
}

/* ---- frames ---- */

static uint64_t frame_length(const unsigned char head[4])
{
	return (uint64_t)head[0] << 24 | (uint64_t)head[1] << 16 | (uint64_t)head[2] << 8 | head[3];
}

bool frame_cut_feed(struct frame_cut *cut, const char *data, size_t len, cut_piece *frame, void *arg)
{
	while (len > 0) {
		size_t used;
		bool go_on;

		if (cut->head_len < sizeof(cut->head)) {
			cut->head[cut->head_len++] = (unsigned char)*data++;
			len--;
			if (cut->head_len == sizeof(cut->head)) {
				cut->left = frame_length(cut->head);
				cut->too_large = cut->left > cut->frame_max;
				cut->broken = cut->left > FRAME_BEYOND;
				if (cut->broken)
					return false;
				if (cut->left == 0)
					cut->head_len = 0; /* says nothing */
			}
			continue;
		}
		used = cut->left < len ? (size_t)cut->left : len;
		if (used == cut->left && cut->part.len == 0 && !cut->too_large) {
			frame_cut_reset(cut);
			go_on = frame(arg, data, used, false);
		} else {
			keep(&cut->part, data, used, cut->too_large);
			cut->left -= used;
			if (cut->left > 0)
				return true;
			go_on = frame(arg, cut->part.data, cut->part.len, cut->too_large);
			frame_cut_reset(cut);
		}
		if (!go_on)
			return false;
		data += used;
		len -= used;
	}
	return true;
}

void frame_cut_reset(struct frame_cut *cut)
{
	clear_part(&cut->part);
	cut->head_len = 0;
	cut->left = 0;
	cut->too_large = false;
	cut->broken = false;
}

void frame_cut_free(struct frame_cut *cut)
{
	buf_free(&cut->part);
}
