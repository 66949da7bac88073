/* Streams of the watcher; the test takes the place of their reflectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/kube/reflector.h"
#include "watcher/view/cache.h"
#include "watcher/view/streams.h"

enum { STREAMS = 3, SHARDS = 4 };

/* What the streams gave to their reflectors, in the order of the kinds. */
struct reflector {
	const struct reflector_handler *handler;
	void *arg;
};

static struct reflector reflectors[STREAMS];
static size_t reflector_count;
static int relisted;
static bool live;

struct reflector *reflector_new(struct ev_loop *loop, struct kube_client *client,
				const struct reflector_options *options, const struct reflector_handler *handler,
				void *arg)
{
	struct reflector *reflector = &reflectors[reflector_count++];

	(void)loop;
	(void)client;
	(void)options;
	*reflector = (struct reflector){.handler = handler, .arg = arg};
	return reflector;
}

void reflector_start(struct reflector *reflector)
{
	(void)reflector;
}

void reflector_free(struct reflector *reflector)
{
	(void)reflector;
}

void reflector_note_version(const struct reflector_object *object, const char *version)
{
	(void)object;
	(void)version;
}

static void on_synced(void *arg)
{
	(void)arg;
}

static void on_relisted(void *arg)
{
	(void)arg;
	assert_false(live);
	relisted++;
}

static void on_live(void *arg, bool now)
{
	(void)arg;
	live = now;
}

static void list(size_t i)
{
	reflectors[i].handler->list_begin(reflectors[i].arg);
	reflectors[i].handler->list_end(reflectors[i].arg, "7");
}

static void watch(size_t i, bool on)
{
	reflectors[i].handler->live(reflectors[i].arg, on);
}

static struct streams *start(struct cache *cache)
{
	static const struct streams_handler handler = {.synced = on_synced, .relisted = on_relisted, .live = on_live};
	const struct namespaces all = {0};
	struct streams *streams;

	reflector_count = 0;
	relisted = 0;
	live = false;
	streams = streams_new(NULL, NULL, cache, &all, false, &handler, NULL);
	assert_int_equal(reflector_count, STREAMS);
	for (size_t i = 0; i < STREAMS; i++) {
		list(i);
		watch(i, true);
	}
	assert_true(live);
	assert_int_equal(relisted, 0);
	return streams;
}

/* All watches end, as they do when the API server restarts: the peers get one snapshot, and not one for each list. */
static void test_relisted_together(void **state)
{
	struct cache *cache = cache_new(SHARDS, NULL, NULL);
	struct streams *streams = start(cache);

	(void)state;
	for (size_t i = 0; i < STREAMS; i++)
		watch(i, false);
	for (size_t i = 0; i < STREAMS; i++) {
		assert_int_equal(relisted, 0);
		list(i);
		if (i < STREAMS - 1)
			watch(i, true);
	}
	assert_int_equal(relisted, 1);
	watch(STREAMS - 1, true);
	assert_true(live);
	assert_int_equal(relisted, 1);
	streams_free(streams);
	cache_free(cache);
}

/* One watch that ends alone does not wait for another one; nor is a list forgotten because another watch goes on
 * without a list. */
static void test_relisted_alone(void **state)
{
	struct cache *cache = cache_new(SHARDS, NULL, NULL);
	struct streams *streams = start(cache);

	(void)state;
	watch(1, false);
	list(1);
	assert_int_equal(relisted, 1);
	watch(0, false);
	watch(1, true);
	watch(1, false);
	list(1);
	assert_int_equal(relisted, 1);
	watch(1, true);
	assert_int_equal(relisted, 1);
	watch(0, true);
	assert_true(live);
	assert_int_equal(relisted, 2);
	streams_free(streams);
	cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relisted_together),
		cmocka_unit_test(test_relisted_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
