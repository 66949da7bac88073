/* Packed structs; see pack.h. Integers are of variable length, seven bits a byte, the lowest first. A text is a number
 * of which the lowest bits are its form, and what belongs to that form. */
#include "common/base/pack.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

enum form {
	FORM_NULL,
	FORM_PLAIN,    /* its length, its characters */
	FORM_EARLIER,  /* which one of the earlier texts */
	FORM_UID,      /* 16 bytes: the hexadecimal digits of a uid in its usual form */
	FORM_NUMBER,   /* a decimal number */
	FORM_NUMBERED, /* the number of "N_", and then the text behind it */
	FORM_PREFIXED, /* how much of the prefix, the length of what follows, its characters */
	FORM_BITS = 3,
};

enum { UID_LEN = 36, UID_BYTES = 16, NUMBER_DIGITS = 18, PREFIX_MIN = 3 };

/* ---- numbers ---- */

static void put_number(struct pack *pack, uint64_t value)
{
	unsigned char bytes[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (unsigned char)(value | 0x80);
	bytes[len++] = (unsigned char)value;
	buf_append(&pack->out, bytes, len);
}

static uint64_t take_number(struct pack *pack)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (; *pack->at & 0x80; shift += 7)
		value |= (uint64_t)(*pack->at++ & 0x7f) << shift;
	return value | (uint64_t)*pack->at++ << shift;
}

void pack_int(struct pack *pack, int64_t *value)
{
	uint64_t bits;

	if (pack->reading) {
		bits = take_number(pack);
		*value = (int64_t)(bits >> 1 ^ -(bits & 1));
	} else {
		bits = (uint64_t)*value;
		put_number(pack, bits << 1 ^ -(bits >> 63));
	}
}

void pack_time(struct pack *pack, int64_t *time)
{
	int64_t change = *time == 0 ? 0 : *time - pack->time;

	/* no time: 0; the others: what they differ by, away from 0 */
	if (!pack->reading && *time != 0 && change >= 0)
		change++;
	pack_int(pack, &change);
	if (pack->reading)
		*time = change == 0 ? 0 : pack->time + change - (change > 0);
	if (*time != 0)
		pack->time = *time;
}

/* Each word that is not zero, behind the number of words from the one before; 0: no more. */
void pack_memory(struct pack *pack, void *memory, size_t size)
{
	unsigned char *bytes = memory;
	int64_t gap = 0;
	int64_t word = 0;

	if (pack->reading) {
		memset(memory, 0, size);
		for (pack_int(pack, &gap); gap != 0; pack_int(pack, &gap)) {
			bytes += (size_t)gap * sizeof(word);
			pack_int(pack, &word);
			memcpy(bytes - sizeof(word), &word, sizeof(word));
		}
		return;
	}
	for (size_t at = 0; at + sizeof(word) <= size; at += sizeof(word)) {
		gap++;
		memcpy(&word, bytes + at, sizeof(word));
		if (word == 0)
			continue;
		pack_int(pack, &gap);
		pack_int(pack, &word);
		gap = 0;
	}
	gap = 0;
	pack_int(pack, &gap);
}

/* ---- texts that came before ---- */

/* FNV-1a. */
static uint16_t *bucket_of(struct pack *pack, const char *text)
{
	uint32_t hash = 2166136261U;
	uint32_t at;

	for (const char *c = text; *c != '\0'; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619U;
	at = (hash ^ hash >> 16) % PACK_BUCKETS;
	while (pack->buckets[at] != 0 && strcmp(pack->texts[pack->buckets[at] - 1], text) != 0)
		at = (at + 1) % PACK_BUCKETS;
	return &pack->buckets[at];
}

static void remember(struct pack *pack, const char *text)
{
	if (pack->count == PACK_TEXTS)
		return;
	pack->texts[pack->count++] = text;
}

/* ---- texts ---- */

static bool is_dash_place(size_t at)
{
	return at == 8 || at == 13 || at == 18 || at == 23;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_uid(const char *text, size_t len, unsigned char out[UID_BYTES])
{
	size_t digits = 0;

	if (len != UID_LEN)
		return false;
	for (size_t i = 0; i < UID_LEN; i++) {
		int value = hex_value(text[i]);

		if (is_dash_place(i)) {
			if (text[i] != '-')
				return false;
			continue;
		}
		if (value < 0)
			return false;
		out[digits / 2] = (unsigned char)(digits % 2 == 0 ? value << 4 : out[digits / 2] | value);
		digits++;
	}
	return true;
}

static void write_uid(const unsigned char bytes[UID_BYTES], char *text)
{
	size_t digits = 0;

	for (size_t i = 0; i < UID_LEN; i++) {
		if (is_dash_place(i)) {
			text[i] = '-';
			continue;
		}
		text[i] = "0123456789abcdef"[digits % 2 == 0 ? bytes[digits / 2] >> 4 : bytes[digits / 2] & 15];
		digits++;
	}
}

/* How many characters at the beginning are a decimal number without leading zeros that fits; 0: none. */
static size_t number_len(const char *text, uint64_t *value)
{
	size_t len = 0;

	*value = 0;
	while (text[len] >= '0' && text[len] <= '9' && len < NUMBER_DIGITS)
		*value = *value * 10 + (uint64_t)(text[len++] - '0');
	return len > 1 && text[0] == '0' ? 0 : len;
}

static void put_form(struct pack *pack, enum form form, uint64_t value)
{
	put_number(pack, value << FORM_BITS | form);
}

/* How many characters the text and the prefix have in common; 0: too few. */
static size_t common_len(const struct pack *pack, const char *text)
{
	size_t len = 0;

	while (pack->prefix != NULL && text[len] != '\0' && text[len] == pack->prefix[len])
		len++;
	return len < PREFIX_MIN ? 0 : len;
}

static void put_text(struct pack *pack, const char *text)
{
	unsigned char uid[UID_BYTES];
	uint16_t *bucket;
	uint64_t number;
	size_t digits;
	size_t common;
	size_t len;

	if (text == NULL) {
		put_form(pack, FORM_NULL, 0);
		return;
	}
	bucket = bucket_of(pack, text);
	if (*bucket != 0) {
		put_form(pack, FORM_EARLIER, *bucket - 1U);
		return;
	}
	len = strlen(text);
	digits = number_len(text, &number);
	/* (one number, and no more: texts come from anybody) */
	if (digits > 0 && text[digits] == '_' && text[digits + 1] != '\0' && strchr(text + digits + 1, '_') == NULL) {
		put_form(pack, FORM_NUMBERED, number);
		put_text(pack, text + digits + 1);
		bucket = bucket_of(pack, text); /* the rest may have taken its place */
	} else if (digits > 0 && digits == len) {
		put_form(pack, FORM_NUMBER, number);
	} else if (read_uid(text, len, uid)) {
		put_form(pack, FORM_UID, 0);
		buf_append(&pack->out, uid, sizeof(uid));
	} else if ((common = common_len(pack, text)) > 0) {
		put_form(pack, FORM_PREFIXED, common);
		put_number(pack, len - common);
		buf_append(&pack->out, text + common, len - common);
	} else {
		put_form(pack, FORM_PLAIN, len);
		buf_append(&pack->out, text, len);
	}
	pack->scratch_len += len + 1;
	remember(pack, text);
	if (pack->count < PACK_TEXTS)
		*bucket = pack->count;
}

/* The text that was just written at the end of the scratch. */
static const char *end_text(struct pack *pack, size_t len)
{
	const char *text = pack->scratch + pack->scratch_len;

	pack->scratch[pack->scratch_len + len] = '\0';
	pack->scratch_len += len + 1;
	remember(pack, text);
	return text;
}

static size_t print_number(char *out, uint64_t value)
{
	char digits[24];
	size_t len = 0;
	size_t written = 0;

	do {
		digits[len++] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	while (len > 0)
		out[written++] = digits[--len];
	return written;
}

static const char *take_text(struct pack *pack)
{
	uint64_t head = take_number(pack);
	uint64_t value = head >> FORM_BITS;
	const char *rest = NULL;
	size_t rest_len;
	char *out;
	size_t len = 0;

	if (head == FORM_NULL)
		return NULL;
	switch ((enum form)(head & ((1 << FORM_BITS) - 1))) {
	case FORM_EARLIER: return pack->texts[value];
	case FORM_NUMBERED: rest = take_text(pack); break;
	default: break;
	}
	out = pack->scratch + pack->scratch_len;
	switch ((enum form)(head & ((1 << FORM_BITS) - 1))) {
	case FORM_NUMBERED:
		len = print_number(out, value);
		out[len++] = '_';
		rest_len = strlen(rest);
		memcpy(out + len, rest, rest_len);
		len += rest_len;
		break;
	case FORM_NUMBER: len = print_number(out, value); break;
	case FORM_UID:
		write_uid(pack->at, out);
		pack->at += UID_BYTES;
		len = UID_LEN;
		break;
	case FORM_PREFIXED:
		rest_len = take_number(pack);
		memcpy(out, pack->prefix, value);
		memcpy(out + value, pack->at, rest_len);
		pack->at += rest_len;
		len = value + rest_len;
		break;
	default:
		len = value;
		memcpy(out, pack->at, len);
		pack->at += len;
		break;
	}
	return end_text(pack, len);
}

void pack_text(struct pack *pack, const char **text)
{
	if (pack->reading)
		*text = take_text(pack);
	else
		put_text(pack, *text);
}

void pack_prefix(struct pack *pack, const char *prefix)
{
	pack->prefix = prefix;
}

void pack_known(struct pack *pack, const char *text)
{
	uint16_t *bucket = pack->reading ? NULL : bucket_of(pack, text);

	remember(pack, text);
	if (bucket != NULL && *bucket == 0 && pack->count < PACK_TEXTS)
		*bucket = pack->count;
}

void pack_bytes(struct pack *pack, const void **bytes, size_t *len)
{
	if (pack->reading) {
		*len = take_number(pack);
		*bytes = pack->at;
		pack->at += *len;
	} else {
		put_number(pack, *len);
		buf_append(&pack->out, *bytes, *len);
	}
}

void pack_own_text(struct pack *pack, char **text)
{
	if (pack->reading)
		*text = mem_strdup(take_text(pack));
	else
		put_text(pack, *text);
}

/* ---- beginning and end ---- */

static void begin(struct pack *pack, bool reading)
{
	pack->reading = reading;
	pack->out = (struct buf){0};
	pack->at = NULL;
	pack->scratch = NULL;
	pack->scratch_len = 0;
	pack->time = 0;
	pack->prefix = NULL;
	pack->count = 0;
}

void pack_write(struct pack *pack)
{
	begin(pack, false);
	memset(pack->buckets, 0, sizeof(pack->buckets));
}

void *pack_finish(struct pack *pack, size_t *len)
{
	cleanup_buf struct buf body = pack->out;
	char *data;

	pack->out = (struct buf){0};
	put_number(pack, pack->scratch_len); /* first: how much room the texts take */
	*len = pack->out.len + body.len;
	data = mem_alloc(*len);
	memcpy(data, pack->out.data, pack->out.len);
	if (body.len > 0)
		memcpy(data + pack->out.len, body.data, body.len);
	buf_free(&pack->out);
	return data;
}

void pack_read(struct pack *pack, const void *data)
{
	begin(pack, true);
	pack->at = data;
	pack->scratch = mem_alloc(take_number(pack) + 1);
}

void pack_end(struct pack *pack)
{
	free(pack->scratch);
	pack->scratch = NULL;
}
