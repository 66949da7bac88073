/* The barrier's HTTP side over a real connection: any bytes, in pieces, on one connection that is then closed. Every
 * answer is one of HTTP's, and whoever has left waits no longer. The first byte says how the input is split, and
 * whether tokens are checked (the API server that would check them is not there). */
#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "barrier/front.h"
#include "common/base/mem.h"
#include "tests/fuzz/fuzz.h"

/* Of one kind of server; both live as long as the process. */
struct room {
	struct kube_client *client;
	struct readiness *readiness;
	struct wait_groups *groups;
	struct access *access;
	struct serve *serve;
	struct front *front;
	struct sockaddr_in address;
};

static struct ev_loop *loop;
static struct room rooms[2];

static void on_changed(void *arg, const char *key)
{
	wait_groups_changed(((struct room *)arg)->groups, key);
}

static bool on_wanted(void *arg, const char *key)
{
	return wait_groups_wanted(((struct room *)arg)->groups, key);
}

static void room_init(struct room *room, bool checked)
{
	static const struct readiness_handler handler = {.changed = on_changed, .wanted = on_wanted};
	const struct kube_client_options client_options = {.user_agent = "fuzz"};
	const struct serve_options serve_options = {.address = "127.0.0.1:0", .head_max = 4096};
	static const struct kube_config config = {.server = "http://127.0.0.1:1", .source = "fuzz"};
	const struct shard_set all = {.bits = {1}};
	static const char framework[] = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"fw\",\"uid\":\"u\","
					"\"resourceVersion\":\"1\"},\"spec\":{\"taskRoles\":[{\"name\":\"a\","
					"\"taskNumber\":2}]}}";
	const char *colon;

	room->client = kube_client_new(loop, &config, &client_options, NULL);
	FUZZ_EXPECT(room->client != NULL);
	room->readiness = readiness_new(&handler, room);
	room->groups = wait_groups_new(loop, room->client, room->readiness, 10, 10);
	room->access = checked ? access_new(loop, room->client, 100) : NULL;
	room->serve = serve_new(loop, &serve_options, NULL);
	FUZZ_EXPECT(room->serve != NULL);
	room->front = front_new(room->serve, room->access, room->readiness, room->groups);
	readiness_granted(room->readiness, &all);
	FUZZ_EXPECT(readiness_object(room->readiness, framework, strlen(framework)));
	readiness_complete(room->readiness, &all, 1);
	readiness_live(room->readiness, true);
	FUZZ_EXPECT(readiness_synced(room->readiness));
	colon = strrchr(serve_address(room->serve), ':');
	room->address = (struct sockaddr_in){.sin_family = AF_INET,
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					     .sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10))};
}

static void turn(int times)
{
	for (int i = 0; i < times; i++)
		ev_run(loop, EVRUN_NOWAIT);
}

/* What came so far; false when the server has closed the connection. */
static bool take(int fd, struct buf *in)
{
	char part[2048];
	ssize_t got;

	while ((got = recv(fd, part, sizeof(part), MSG_DONTWAIT)) > 0)
		buf_append(in, part, (size_t)got);
	return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* A signal (libFuzzer's timer) may interrupt the call; the connection is then made all the same. */
static void connect_to(int fd, const struct sockaddr_in *address)
{
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	int reason = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : errno;
	socklen_t size = sizeof(reason);

	if (reason == EINTR) {
		while (poll(&wait, 1, -1) < 0)
			FUZZ_EXPECT(errno == EINTR);
		FUZZ_EXPECT(getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size) == 0);
	}
	if (reason != 0)
		fprintf(stderr, "connect: %s\n", strerror(reason));
	FUZZ_EXPECT(reason == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 0};
	cleanup_buf struct buf in = {0};
	struct room *room;
	size_t step;
	bool open = true;
	int fd;

	if (size < 1)
		return 0;
	if (loop == NULL) {
		loop = ev_loop_new(EVFLAG_AUTO);
		room_init(&rooms[0], false);
		room_init(&rooms[1], true);
	}
	room = &rooms[data[0] & 1];
	step = (data[0] >> 1) == 0 ? size : (size_t)(data[0] >> 1) * 8;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FUZZ_EXPECT(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)); /* or ports run out */
	connect_to(fd, &room->address);
	turn(2);
	for (size_t at = 1; at < size && open; at += step) {
		size_t part = size - at < step ? size - at : step;

		if (send(fd, data + at, part, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		turn(3);
		open = take(fd, &in);
	}
	turn(3);
	take(fd, &in);
	FUZZ_EXPECT(in.len == 0 || strncmp(in.data, "HTTP/1.", in.len < 7 ? in.len : 7) == 0);
	close(fd);
	for (int i = 0;
	     i < 1000 && (serve_counters(room->serve)->open > 0 || wait_groups_counters(room->groups)->waiting > 0);
	     i++)
		turn(1);
	FUZZ_EXPECT(serve_counters(room->serve)->parked == 0);
	FUZZ_EXPECT(wait_groups_counters(room->groups)->waiting == 0);
	return 0;
}
