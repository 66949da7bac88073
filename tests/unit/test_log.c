/* Log lines of several processes on one pipe, and those that come again and again. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"

enum { WRITERS = 4, ROUNDS = 40, LONG = 20000, PIPE_SIZE = 4096 };

static void make_pipe(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE) >= PIPE_SIZE);
}

/* In a child: long lines (some times what the pipe holds) and short ones that consist of its letter. */
static void write_lines(int pipe_end, char letter)
{
	cleanup_buf struct buf text = {0};

	dup2(pipe_end, STDERR_FILENO);
	for (int i = 0; i < LONG; i++)
		buf_putc(&text, letter);
	for (int i = 0; i < ROUNDS; i++) {
		log_write_text('I', "a.c", 1, text.data, text.len);
		log_info("%.20s", text.data);
	}
}

/* The length of a line's text that is of one letter; 0: it is not. */
static size_t text_length(const char *line)
{
	const char *text = strstr(line, "] ");
	size_t len;

	if (text == NULL)
		return 0;
	text += 2;
	len = strlen(text);
	return len == strspn(text, (char[]){text[0], '\0'}) ? len : 0;
}

/* The pipe holds a part of a long line, so that somebody waits in the midst of one all the time. */
static void lines_are_whole(void **state)
{
	char *line = NULL;
	size_t size = 0;
	int count[2] = {0};
	int ends[2];
	FILE *in;

	(void)state;
	make_pipe(ends);
	for (int i = 0; i < WRITERS; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			close(ends[0]); /* so that they end with us */
			write_lines(ends[1], (char)('a' + i));
			_exit(0);
		}
	}
	close(ends[1]);
	in = fdopen(ends[0], "r");
	assert_non_null(in);
	while (getline(&line, &size, in) > 0) {
		size_t len;

		line[strcspn(line, "\n")] = '\0';
		len = text_length(line);
		if (len != LONG && len != 20)
			fail_msg("not one line: %.200s", line);
		count[len == LONG]++;
	}
	assert_int_equal(count[0], WRITERS * ROUNDS);
	assert_int_equal(count[1], WRITERS * ROUNDS);
	for (int i = 0; i < WRITERS; i++)
		assert_true(wait(NULL) > 0);
	fclose(in);
	free(line);
}

static char sunk[64];

static void sink(char severity, const char *message)
{
	snprintf(sunk, sizeof(sunk), "%c %s", severity, message);
}

/* A program with a screen of its own gets messages as they are, and stderr nothing. */
static void a_sink_gets_all(void **state)
{
	int ends[2], err = dup(STDERR_FILENO);
	char byte;

	(void)state;
	make_pipe(ends);
	dup2(ends[1], STDERR_FILENO);
	log_set_sink(sink);
	log_warning("found %s", "a\033b");
	log_set_sink(NULL);
	dup2(err, STDERR_FILENO);
	close(err);
	close(ends[1]);
	assert_string_equal(sunk, "W found a\033b");
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

/* What others wrote neither ends the line nor changes what a terminal shows. JSON keeps its value. */
static void others_text_is_safe(void **state)
{
	static const struct {
		const char *text;
		const char *expected;
	} rows[] = {
		{"a\033[2J\nb\tc", "a?[2J b\tc"},
		{"x\302\2332J\177", "x\\u009b2J\\u007f"},
		{"\342\200\256exe.txt \363\240\200\201", "\\u202eexe.txt \\udb40\\udc01"},
		{"caf\303\251 \346\227\245", "caf\303\251 \346\227\245"},
		{"\233x", "\357\277\275x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int ends[2], err = dup(STDERR_FILENO);
		char line[256];
		ssize_t len;

		make_pipe(ends);
		dup2(ends[1], STDERR_FILENO);
		log_info("%s|", rows[i].text);
		dup2(err, STDERR_FILENO);
		close(err);
		close(ends[1]);
		len = read(ends[0], line, sizeof(line) - 1);
		close(ends[0]);
		assert_true(len > 0);
		line[len] = '\0';
		*strchr(line, '|') = '\0';
		assert_string_equal(strstr(line, "] ") + 2, rows[i].expected);
	}
}

/* What comes again and again is written when it changes, and now and then. */
static void repetitions_are_few(void **state)
{
	struct log_last last = {0};
	char longer[2 * sizeof(last.text)];

	(void)state;
	assert_true(log_is_news(&last, 0, ""));
	assert_false(log_is_news(&last, 0, ""));
	assert_true(log_is_news(&last, 1000, "a"));
	assert_false(log_is_news(&last, 1000 + LOG_AGAIN_MS - 1, "a"));
	assert_true(log_is_news(&last, 1000 + LOG_AGAIN_MS, "a"));
	assert_false(log_is_news(&last, 1001 + LOG_AGAIN_MS, "a"));
	assert_true(log_is_news(&last, 1001 + LOG_AGAIN_MS, "b"));
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_true(log_is_news(&last, 1001 + LOG_AGAIN_MS, longer));
	assert_false(log_is_news(&last, 1001 + LOG_AGAIN_MS, longer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_whole),
		cmocka_unit_test(others_text_is_safe),
		cmocka_unit_test(a_sink_gets_all),
		cmocka_unit_test(repetitions_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
