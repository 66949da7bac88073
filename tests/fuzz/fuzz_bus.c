/* The bus protocol as a living machine: a watcher with its router, two honest reconcilers, a barrier, and whatever a
 * hostile peer or a broken network makes of their talk. Input is lines:
 *   hTSQ{…}   a stranger sends the router a message: type T (a letter from 'a' on), session and sequence digits S and
 *             Q, body {…}                    HTSQ{…}   the same from a second connection
 *   dNTSQ{…}  process N hears such a message, as from the watcher
 *   xNDW…     of the messages on their way up (D=u) or down (D=d) of process N: W is 0 the first is lost, 1 it is
 *             swapped with the second, 2 it comes twice, 3 it is cut in half, 4… a byte of its body is flipped
 *   pKI gKI   object I of kind K appears or changes, or is gone          r  the watcher lists everything again
 *   kN nN cN  process N is killed, started, connected again              w  the watcher is replaced
 *   s         all messages are delivered                                 tN  N seconds pass
 * In the end everybody is quiet in bounded time: no input makes them talk for ever. As long as nobody lies (h, H, d,
 * and bytes that are flipped) no shard has two holders, whatever becomes of messages on their way. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/bus_world.h"

enum { LINES_MAX = 300, PROCESSES = 3, BARRIER = 2, OBJECTS = 8 };

static struct world *world;
static int leaders;
static bool lied;
static bool objects[KIND_COUNT][OBJECTS];

static size_t digit(const char *text, size_t len, size_t at)
{
	return at < len && text[at] >= '0' ? (size_t)(text[at] - '0') : 0;
}

/* A head and a body out of "TSQ{…}". */
static struct bus_head head_of(const char **text, size_t *len)
{
	struct bus_head head = {.protocol = BUS_PROTOCOL};
	size_t used = *len < 3 ? *len : 3;

	if (*len > 0)
		head.type = (uint8_t)(**text - 'a' + 1);
	head.session = (uint32_t)digit(*text, *len, 1);
	head.sequence = digit(*text, *len, 2);
	head.version = head.sequence;
	head.epoch = 1 + head.session / 2;
	head.shard = head.session;
	head.kind = (uint8_t)(head.sequence % 4);
	head.time_ms = world->now_ms;
	*text += used;
	*len -= used;
	return head;
}

static void stranger(const char *id, const char *text, size_t len)
{
	struct bus_head head = head_of(&text, &len);
	cleanup_free char *body = mem_memdup(len == 0 ? "" : text, len);

	router_receive(world->router, (const unsigned char *)id, strlen(id), &head, body, len);
}

static void whisper(struct node *node, const char *text, size_t len)
{
	struct bus_head head = head_of(&text, &len);
	cleanup_free char *body = mem_memdup(len == 0 ? "" : text, len);

	if (node->peer != NULL)
		session_receive(node->peer, 0, &head, body, len);
}

static void spoil(struct queue *queue, size_t how)
{
	struct message *first = queue->first;
	struct message *second = first == NULL ? NULL : first->next;

	if (first == NULL)
		return;
	switch (how) {
	case 0: free(queue_take(queue)); break;
	case 1:
		if (second == NULL)
			return;
		first->next = second->next;
		second->next = first;
		queue->first = second;
		if (queue->last == second)
			queue->last = first;
		break;
	case 2: queue_put(queue, first->from, &first->head, first->body, first->len, first->due_ms); break;
	case 3: first->len /= 2; break;
	default:
		lied = true;
		if (first->len > 0)
			first->body[(how * 7) % first->len] ^= (char)how;
		break;
	}
}

static void change(size_t kind, size_t i, bool gone)
{
	char name[24];
	char uid[24];

	kind %= KIND_COUNT;
	i %= OBJECTS;
	snprintf(name, sizeof(name), "%c%zu", "fcpw"[kind], i);
	snprintf(uid, sizeof(uid), "u%zu-%zu", kind, i);
	if (gone && objects[kind][i])
		world_deleted(world, (enum object_kind)kind, "f0", name, uid, i % 2 == 0);
	else if (!gone)
		world_present(world, (enum object_kind)kind, "f0", name, uid);
	objects[kind][i] = !gone;
}

static void new_watcher(void)
{

	if (world->router != NULL)
		world_stop_watcher(world);
	memset(objects, 0, sizeof(objects));
	world->blocked_ms = leaders == 0 ? 0 : WORLD_LEASE + WORLD_MARGIN;
	world_start_watcher(world, (uint64_t)++leaders);
	router_synced(world->router);
	for (size_t i = 0; i < WORLD_PEERS; i++)
		if (world->nodes[i].peer != NULL)
			world_connect(&world->nodes[i]);
}

static void start(size_t slot)
{
	static const char *const names[PROCESSES] = {"m0", "m1", "barrier"};

	if (world->nodes[slot].peer == NULL)
		world_start(world, (int)slot, names[slot], slot == BARRIER ? BUS_ROLE_BARRIER : BUS_ROLE_RECONCILER);
}

static void check_leases(void)
{
	for (uint32_t shard = 0; shard < WORLD_SHARDS; shard++) {
		int holders = 0;

		for (size_t i = 0; i < BARRIER; i++)
			if (world->nodes[i].peer != NULL && session_lease_left_ms(world->nodes[i].peer, shard) > 0)
				holders++;
		FUZZ_EXPECT(holders <= 1);
	}
}

static void run_line(const char *text, size_t len)
{
	size_t n = digit(text, len, 1) % PROCESSES;

	if (len == 0)
		return;
	switch (text[0]) {
	case 'h':
	case 'H':
		lied = true;
		stranger(text[0] == 'h' ? "stranger" : "second", text + 1, len - 1);
		break;
	case 'd':
		lied = true;
		if (len > 2)
			whisper(&world->nodes[n], text + 2, len - 2);
		break;
	case 'x':
		if (len > 3)
			spoil(text[2] == 'u' ? &world->nodes[n].up : &world->nodes[n].down, digit(text, len, 3));
		break;
	case 'p': change(digit(text, len, 1), digit(text, len, 2), false); break;
	case 'g': change(digit(text, len, 1), digit(text, len, 2), true); break;
	case 'r': router_relisted(world->router); break;
	case 'k': world_kill(world, (int)n); break;
	case 'n': start(n); break;
	case 'c':
		if (world->nodes[n].peer != NULL)
			world_connect(&world->nodes[n]);
		break;
	case 'w': new_watcher(); break;
	case 's': world_settle(world); break;
	case 't': world_run(world, (int64_t)(1 + digit(text, len, 1) % 30) * 1000); break;
	default: break;
	}
	world_deliver(world);
	router_flush(world->router);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {.data = data, .left = size};

	leaders = 0;
	lied = false;
	world = world_new();
	new_watcher();
	for (size_t i = 0; i < PROCESSES; i++)
		start(i);
	world_settle(world);
	for (int i = 0; i < LINES_MAX && input.left > 0; i++) {
		size_t len;
		const char *line = fuzz_line(&input, &len);

		run_line(line, len);
		if (!lied)
			check_leases();
	}
	world_run(world, 2000);
	world_free(world);
	world = NULL;
	return 0;
}
