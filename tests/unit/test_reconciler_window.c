/* The window of requests in flight: smaller while answers are late, larger while they are not and requests wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reconciler/window.h"

/* A round: as many answers as the window has places. */
static void answer_round(struct window *window, int64_t took_ms, bool filled)
{
	for (uint32_t i = window->size; i > 0; i--)
		window_answered(window, took_ms, filled && i == 1);
}

static void late_answers(void **state)
{
	struct window window;
	uint32_t before;

	(void)state;
	window_init(&window);
	before = window.size;
	answer_round(&window, WINDOW_ANSWER_MS + 1, true);
	assert_int_equal(window.size, before - before / 4);
	for (int i = 0; i < 20; i++)
		answer_round(&window, 30000, true);
	assert_int_equal(window.size, WINDOW_LEAST);
	answer_round(&window, WINDOW_ANSWER_MS, true);
	assert_int_equal(window.size, WINDOW_LEAST + WINDOW_LEAST / 4);
}

/* One late answer of many does not count, and a window that is not filled does not grow. */
static void answers_in_time(void **state)
{
	struct window window;
	uint32_t before;

	(void)state;
	window_init(&window);
	before = window.size;
	window_answered(&window, 5 * WINDOW_ANSWER_MS, true);
	for (uint32_t i = 1; i < before; i++)
		window_answered(&window, 10, false);
	assert_int_equal(window.size, before + before / 4);
	before = window.size;
	answer_round(&window, 10, false);
	assert_int_equal(window.size, before);
	for (int i = 0; i < 40; i++)
		answer_round(&window, 10, true);
	assert_int_equal(window.size, WINDOW_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_answers),
		cmocka_unit_test(answers_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
