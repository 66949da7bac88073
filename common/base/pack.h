/* Packs structs into a few bytes, and unpacks them: for what is kept by the hundred thousand and seldom looked at. What
 * is packed stays within the process that packed it, and is trusted. One function describes a struct in both
 * directions:
 *
 *   static void pack_thing(struct pack *pack, struct thing *thing)
 *   {
 *           pack_text(pack, &thing->name);
 *           pack_int(pack, &thing->count);
 *   }
 *
 * Texts that were packed before, uids, decimal numbers, and numbers or uids behind
 * "N_" take less than their characters; so do times near the one before. */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* So many texts are compared with those that come after them. */
enum { PACK_TEXTS = 512, PACK_BUCKETS = 1024 };

struct pack {
	bool reading;
	struct buf out;          /* writing */
	const unsigned char *at; /* reading */
	char *scratch;           /* reading: the texts */
	size_t scratch_len;      /* reading: used of it; writing: what it will take */
	int64_t time;            /* the last one */
	const char *prefix;      /* of pack_prefix(); NULL: none */
	uint16_t count;
	const char *texts[PACK_TEXTS]; /* those that may come again */
	uint16_t buckets[PACK_BUCKETS];
};

/* Begins to write. Texts are borrowed until pack_finish(). */
void pack_write(struct pack *pack);
/* Ends writing. The caller frees. */
void *pack_finish(struct pack *pack, size_t *len);
/* Begins to read what pack_finish() returned. */
void pack_read(struct pack *pack, const void *data);
/* Ends reading: frees the texts. */
void pack_end(struct pack *pack);

/* A text or NULL. Reading: it is borrowed until pack_end(). */
void pack_text(struct pack *pack, const char **text);
/* The same for a text that its struct owns: reading makes a copy. */
void pack_own_text(struct pack *pack, char **text);
void pack_int(struct pack *pack, int64_t *value);
/* Texts that are packed from here on often begin as this one does. Who reads says the same, at the same place. */
void pack_prefix(struct pack *pack, const char *prefix);
/* A text that may come again, and that who reads knows: the same at the same place. */
void pack_known(struct pack *pack, const char *text);
/* Bytes as they are, which are borrowed in either direction. */
void pack_bytes(struct pack *pack, const void **bytes, size_t *len);
/* A time; 0 stands for none. */
void pack_time(struct pack *pack, int64_t *time);
/* The memory of a struct of which most is zero, of a multiple of eight bytes. */
void pack_memory(struct pack *pack, void *memory, size_t size);
/* Members of other types, for which `pack_int(pack, &value)` does not do. */
#define PACK_AS_INT(pack, member)                      \
	do {                                           \
		int64_t as_int = (int64_t)(member);    \
		pack_int(pack, &as_int);               \
		(member) = (__typeof__(member))as_int; \
	} while (0)

#endif
