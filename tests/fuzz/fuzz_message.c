/* Single bus messages: the head, and the body of every type. The first byte is the type; what reads must be writable,
 * and read again as the same. */
#include "common/bus/message.h"
#include "tests/fuzz/fuzz.h"

#define LOOK(kind, text, text_len, release)                                                        \
	do {                                                                                       \
		struct bus_##kind first_ = {0};                                                    \
		struct bus_##kind second_ = {0};                                                   \
		struct buf one_ = {0};                                                             \
		struct buf two_ = {0};                                                             \
		struct error err_;                                                                 \
		if (bus_##kind##_read(text, text_len, &first_, &err_) == 0) {                      \
			bus_##kind##_write(&one_, &first_);                                        \
			FUZZ_EXPECT(bus_##kind##_read(one_.data, one_.len, &second_, &err_) == 0); \
			bus_##kind##_write(&two_, &second_);                                       \
			FUZZ_EXPECT(strcmp(one_.data, two_.data) == 0);                            \
			release(&first_);                                                          \
			release(&second_);                                                         \
		}                                                                                  \
		buf_free(&one_);                                                                   \
		buf_free(&two_);                                                                   \
	} while (0)

#define owns_nothing(message) (void)(message)

static void look_at_head(const void *frame, size_t len)
{
	unsigned char again[BUS_HEAD_SIZE];
	struct bus_head head;
	struct bus_head second;
	struct error err;

	if (bus_head_read(frame, len, &head, &err) < 0)
		return;
	bus_head_write(&head, again);
	FUZZ_EXPECT(bus_head_read(again, sizeof(again), &second, &err) == 0);
	FUZZ_EXPECT(second.type == head.type && second.sequence == head.sequence && second.shard == head.shard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *body = (const char *)data + 1;

	if (size == 0)
		return 0;
	size--;
	switch (data[0] % 8) {
	case 0: look_at_head(body, size); break;
	case 1: LOOK(hello, body, size, owns_nothing); break;
	case 2: LOOK(ping, body, size, owns_nothing); break;
	case 3: LOOK(assign, body, size, owns_nothing); break;
	case 4: LOOK(pong, body, size, owns_nothing); break;
	case 5: LOOK(absent, body, size, bus_absent_free); break;
	case 6: LOOK(snapshot_end, body, size, bus_snapshot_end_free); break;
	default: LOOK(refuse, body, size, owns_nothing); break;
	}
	return 0;
}
