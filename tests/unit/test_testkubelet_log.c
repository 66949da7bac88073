/* What one run of a container prints, as readers of the test kubelet get it. Every wait is for a condition, and
 * bounded. */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/runlog.h"
#include "tests/unit/temp.h"

static const struct log_query everything = {.tail_lines = -1, .limit_bytes = -1};
/* Far more than the loop takes to tell of a file. */
static const double patience_s = 30;

struct fixture {
	char path[TEMP_PATH_SIZE];
	int fd; /* what a container writes to */
	struct run_log *log;
};

static void print(struct fixture *f, const char *text)
{
	assert_int_equal(write(f->fd, text, strlen(text)), strlen(text));
}

static int open_log(void **state)
{
	struct fixture *f = mem_calloc(1, sizeof(*f));
	struct error err;

	f->fd = temp_file(f->path);
	print(f, "of the run before\n");
	f->log = run_log_begin(ev_default_loop(0), f->path, &err);
	assert_non_null(f->log);
	assert_int_equal(run_log_start(f->log), 18);
	*state = f;
	return 0;
}

static int close_log(void **state)
{
	struct fixture *f = *state;

	run_log_unref(f->log);
	close(f->fd);
	unlink(f->path);
	free(f);
	return 0;
}

/* All that the reader has now, by three bytes at a time; *last: why it ended. To be freed. */
static char *take_all(struct log_reader *reader, ssize_t *last)
{
	struct buf text = {0};
	char part[3];

	buf_puts(&text, "");
	while ((*last = log_reader_take(reader, part, sizeof(part))) > 0)
		buf_append(&text, part, (size_t)*last);
	return buf_steal(&text);
}

static void wake_nobody(void *arg)
{
	(void)arg;
}

static void expect_read(struct fixture *f, const struct log_query *query, const char *expected)
{
	struct log_reader *reader = log_reader_new(f->log, query, wake_nobody, NULL);
	ssize_t last;
	cleanup_free char *text = take_all(reader, &last);

	log_reader_free(reader);
	assert_string_equal(text, expected);
	assert_int_equal(last, LOG_READER_END);
}

static void expect_tail(struct fixture *f, int64_t lines, const char *expected)
{
	struct log_query query = everything;

	query.tail_lines = lines;
	expect_read(f, &query, expected);
}

static void expect_limited(struct fixture *f, int64_t bytes, const char *expected)
{
	struct log_query query = everything;

	query.limit_bytes = bytes;
	expect_read(f, &query, expected);
}

static void parts(void **state)
{
	struct fixture *f = *state;

	expect_read(f, &everything, "");
	expect_tail(f, 1, "");
	print(f, "one\ntwo\n\nfour");
	expect_read(f, &everything, "one\ntwo\n\nfour");
	expect_tail(f, 0, "");
	expect_tail(f, 1, "four");
	expect_tail(f, 2, "\nfour");
	expect_tail(f, 4, "one\ntwo\n\nfour");
	expect_tail(f, 400, "one\ntwo\n\nfour");
	print(f, "\n");
	expect_tail(f, 1, "four\n");
	expect_limited(f, 0, "");
	expect_limited(f, 5, "one\nt");
	expect_limited(f, 500, "one\ntwo\n\nfour\n");
	run_log_end(f->log);
	print(f, "of the run after\n");
	expect_tail(f, 1, "four\n");
}

/* More lines than are read at a time, and one that is longer. */
static void large(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf text = {0};

	for (int i = 0; i < 20000; i++)
		buf_printf(&text, "line %d\n", i);
	for (int i = 0; i < 20000; i++)
		buf_puts(&text, "long ");
	buf_puts(&text, "\n");
	print(f, text.data);
	expect_read(f, &everything, text.data);
	expect_tail(f, 2, strstr(text.data, "line 19999"));
}

/* Each line has one time for all readers, later than that of the line before it. */
static void times(void **state)
{
	struct fixture *f = *state;
	const struct log_query timed = {.timestamps = true, .tail_lines = -1, .limit_bytes = -1};
	struct log_query since = everything;
	int64_t began_ms = clock_wall_ms();
	struct log_reader *reader = log_reader_new(f->log, &timed, wake_nobody, NULL);
	cleanup_free char *text = NULL, *tail = NULL, *before = mem_strdup("");
	char *rest, *line;
	ssize_t last;
	int count = 0;

	log_reader_free(reader);
	print(f, "a\na\na");
	reader = log_reader_new(f->log, &timed, wake_nobody, NULL);
	log_reader_free(reader);
	print(f, "b\nc\n");
	reader = log_reader_new(f->log, &timed, wake_nobody, NULL);
	text = take_all(reader, &last);
	log_reader_free(reader);
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
		int64_t seconds;

		assert_int_equal(line[30], ' ');
		assert_int_equal(line[19], '.');
		assert_int_equal(line[29], 'Z');
		assert_true(strncmp(line, before, 30) > 0);
		mem_replace(&before, line);
		memcpy(line + 19, "Z", 2);
		assert_int_equal(time_parse_rfc3339(line, &seconds), 0);
		assert_in_range(seconds, began_ms / 1000, clock_wall_ms() / 1000);
		count++;
	}
	assert_int_equal(count, 4);
	reader = log_reader_new(f->log, &(struct log_query){.timestamps = true, .tail_lines = 1, .limit_bytes = -1},
				wake_nobody, NULL);
	tail = take_all(reader, &last);
	log_reader_free(reader);
	assert_memory_equal(tail, before, 32);
	since.since_ms = began_ms;
	expect_read(f, &since, "a\na\nab\nc\n");
	since.since_ms = clock_wall_ms() + 1000;
	expect_read(f, &since, "");
}

/* From a later time on, without the rest of a line that had begun before. */
static void since(void **state)
{
	struct fixture *f = *state;
	struct log_query query = everything;
	int64_t first_ms;

	print(f, "early\nhal");
	expect_read(f, &everything, "early\nhal");
	for (first_ms = clock_wall_ms(); clock_wall_ms() == first_ms;)
		;
	query.since_ms = first_ms + 1;
	print(f, "f\nlate\n");
	expect_read(f, &query, "late\n");
}

static void on_wake(void *arg)
{
	++*(int *)arg;
	ev_break(ev_default_loop(0), EVBREAK_ALL);
}

static void on_patience(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
	fail_msg("nothing happened for %g seconds", patience_s);
}

/* Until the reader has this, or is over. */
static void wait_for_text(struct log_reader *reader, const int *wakes, const char *expected, ssize_t end)
{
	cleanup_buf struct buf text = {0};
	ev_timer patience;
	ssize_t last;

	ev_timer_init(&patience, on_patience, patience_s, 0);
	ev_timer_start(ev_default_loop(0), &patience);
	buf_puts(&text, "");
	for (;;) {
		cleanup_free char *more = take_all(reader, &last);
		int before = *wakes;

		buf_puts(&text, more);
		if (strcmp(text.data, expected) == 0 && last == end)
			break;
		assert_int_equal(last, LOG_READER_NOTHING);
		while (*wakes == before)
			ev_run(ev_default_loop(0), 0);
	}
	ev_timer_stop(ev_default_loop(0), &patience);
}

static void follow(void **state)
{
	struct fixture *f = *state;
	const struct log_query query = {.follow = true, .tail_lines = -1, .limit_bytes = -1};
	int wakes = 0;
	struct log_reader *reader = log_reader_new(f->log, &query, on_wake, &wakes);

	wait_for_text(reader, &wakes, "", LOG_READER_NOTHING);
	print(f, "one\ntw");
	/* (a line is shown when it is whole) */
	wait_for_text(reader, &wakes, "one\n", LOG_READER_NOTHING);
	print(f, "o\nthree");
	wait_for_text(reader, &wakes, "two\n", LOG_READER_NOTHING);
	wakes = 0;
	run_log_end(f->log);
	assert_int_equal(wakes, 1);
	print(f, "of the run after\n");
	wait_for_text(reader, &wakes, "three", LOG_READER_END);
	log_reader_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts, open_log, close_log),
		cmocka_unit_test_setup_teardown(large, open_log, close_log),
		cmocka_unit_test_setup_teardown(times, open_log, close_log),
		cmocka_unit_test_setup_teardown(since, open_log, close_log),
		cmocka_unit_test_setup_teardown(follow, open_log, close_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
