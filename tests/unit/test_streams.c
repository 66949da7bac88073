/* Streams of the watcher; the test takes the place of their reflectors. */
#include "tests/unit/reflectors.h"
#include "watcher/view/cache.h"
#include "watcher/view/streams.h"

enum { STREAMS = 3, NAMESPACES = 2, REFUSALS = 6, SHARDS = 4 };

static int synced;
static int relisted;
static bool live;

static void on_synced(void *arg)
{
	(void)arg;
	synced++;
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

static void watch(size_t i, bool on)
{
	reflectors[i].handler->live(reflectors[i].arg, on);
}

static struct streams *create(struct cache *cache, const struct namespaces *namespaces)
{
	static const struct streams_handler handler = {.synced = on_synced, .relisted = on_relisted, .live = on_live};

	reflector_count = 0;
	synced = 0;
	relisted = 0;
	live = false;
	return streams_new(NULL, NULL, cache, namespaces, false, &handler, NULL);
}

static struct streams *start(struct cache *cache)
{
	const struct namespaces all = {0};
	struct streams *streams = create(cache, &all);

	assert_int_equal(reflector_count, STREAMS);
	for (size_t i = 0; i < STREAMS; i++) {
		list(i);
		watch(i, true);
	}
	assert_true(live);
	assert_int_equal(relisted, 0);
	return streams;
}

static void refuse(size_t i, int times)
{
	while (times-- > 0)
		assert_false(reflectors[i].handler->refused(reflectors[i].arg, "list", 403, "no Role"));
}

static void go_on(size_t i)
{
	list(i);
	watch(i, true);
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

/* A namespace that was deleted, or the RoleBinding in it: the other ones are served after a while, and it is served
 * again when access is back, all of it at once. */
static void test_refused_namespace(void **state)
{
	static const char *const names[NAMESPACES] = {"team-a", "team-b"};
	const struct namespaces namespaces = {names, NAMESPACES};
	struct cache *cache = cache_new(SHARDS, NULL, NULL);
	struct streams *streams = create(cache, &namespaces);

	(void)state;
	assert_int_equal(reflector_count, STREAMS * NAMESPACES);
	for (size_t i = 0; i < STREAMS; i++)
		go_on(i);
	for (size_t i = STREAMS; i < reflector_count; i++) {
		refuse(i, REFUSALS - 1);
		assert_int_equal(synced, 0);
	}
	/* a Role that lacks one kind is a mistake, for which all wait */
	refuse(STREAMS, 1);
	refuse(STREAMS + 1, 3);
	assert_int_equal(synced, 0);
	assert_false(live);
	refuse(STREAMS + 2, 1);
	assert_int_equal(synced, 1);
	assert_true(live);
	/* the other ones are listed again meanwhile */
	watch(1, false);
	assert_false(live);
	list(1);
	assert_int_equal(relisted, 1);
	watch(1, true);
	assert_true(live);
	/* access is back: nobody concludes anything before all kinds are there */
	go_on(STREAMS);
	assert_false(live);
	go_on(STREAMS + 2);
	assert_int_equal(relisted, 1);
	list(STREAMS + 1);
	assert_int_equal(relisted, 2);
	watch(STREAMS + 1, true);
	assert_true(live);
	assert_int_equal(synced, 1);
	/* and gone again, while watches run on that were allowed before */
	for (size_t i = STREAMS; i < reflector_count; i++) {
		watch(i, false);
		assert_false(live);
		refuse(i, REFUSALS);
	}
	assert_true(live);
	streams_free(streams);
	cache_free(cache);
}

/* Access to a namespace is lost while its watches run on: when the first one has ended and is refused, the others of
 * this namespace begin anew, to be refused as well. */
static void test_refused_while_others_watch(void **state)
{
	static const char *const names[NAMESPACES] = {"team-a", "team-b"};
	const struct namespaces namespaces = {names, NAMESPACES};
	struct cache *cache = cache_new(SHARDS, NULL, NULL);
	struct streams *streams = create(cache, &namespaces);

	(void)state;
	for (size_t i = 0; i < reflector_count; i++)
		go_on(i);
	watch(STREAMS + 1, false);
	refuse(STREAMS + 1, 1);
	assert_int_equal(reflectors[STREAMS].again + reflectors[STREAMS + 2].again, 0);
	refuse(STREAMS + 1, REFUSALS - 1);
	for (size_t i = 0; i < reflector_count; i++)
		assert_int_equal(reflectors[i].again, i == STREAMS || i == STREAMS + 2);
	/* one that is refused already learns nothing more */
	watch(STREAMS, false);
	refuse(STREAMS, REFUSALS);
	assert_int_equal(reflectors[STREAMS + 1].again, 0);
	assert_int_equal(reflectors[STREAMS + 2].again, 2);
	assert_false(live);
	watch(STREAMS + 2, false);
	refuse(STREAMS + 2, REFUSALS + 1);
	assert_true(live);
	assert_int_equal(reflectors[STREAMS].again, 1);
	streams_free(streams);
	cache_free(cache);
}

/* Where nothing at all can be listed, nothing is complete. */
static void test_all_refused(void **state)
{
	static const char *const names[NAMESPACES] = {"team-a", "team-b"};
	const struct namespaces rows[] = {{0}, {names, 1}, {names, NAMESPACES}};

	(void)state;
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct cache *cache = cache_new(SHARDS, NULL, NULL);
		struct streams *streams = create(cache, &rows[row]);

		for (size_t i = 0; i < reflector_count; i++)
			refuse(i, REFUSALS + 1);
		assert_int_equal(synced, 0);
		assert_false(live);
		for (size_t i = 0; i < reflector_count; i++)
			go_on(i);
		assert_int_equal(synced, 1);
		assert_true(live);
		streams_free(streams);
		cache_free(cache);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relisted_together), cmocka_unit_test(test_relisted_alone),
		cmocka_unit_test(test_refused_namespace), cmocka_unit_test(test_refused_while_others_watch),
		cmocka_unit_test(test_all_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
