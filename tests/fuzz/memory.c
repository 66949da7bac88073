/* Memory that runs out: a fuzz target over files, each as often as it allocates, with the n-th allocation failing: ours
 * and every library's. Each run is a process of its own, which must go on or end by abort() with a word about memory;
 * anything else is corruption. -s N looks at every N-th allocation only. Not for sanitized builds, which have an
 * allocator of their own. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/process/guard.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_MAX = 64 * 1024, RUN_MAX_SEC = 30, OUTPUT_MAX = 64 * 1024 };

/* glibc's own, which those below stand in front of ("Replacing malloc" in its manual). */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *memory);

static bool counting;
static long count;
static long fails_at; /* 0: none */

static bool refused(void)
{
	if (!counting || ++count != fails_at)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return refused() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return refused() ? NULL : __libc_realloc(old, size);
}

void free(void *memory)
{
	__libc_free(memory);
}

static char text[TEXT_MAX];
static size_t text_len;

static void run(long n)
{
	count = 0;
	fails_at = n;
	counting = true;
	LLVMFuzzerTestOneInput((const uint8_t *)text, text_len);
	counting = false;
}

/* Whether a run with the n-th allocation failing ended well; says so if not. */
static bool try_one(const char *path, long n)
{
	static char output[OUTPUT_MAX];
	size_t len = 0;
	ssize_t got;
	int ends[2];
	int status;
	pid_t child;
	bool well;

	if (pipe(ends) < 0 || (child = fork()) < 0) {
		perror("fork");
		exit(1);
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		alarm(RUN_MAX_SEC);
		run(n);
		_exit(0);
	}
	close(ends[1]);
	while ((got = read(ends[0], output + len, sizeof(output) - 1 - len)) > 0)
		len = len + (size_t)got > sizeof(output) / 2 ? 0 : len + (size_t)got; /* the last of it counts */
	close(ends[0]);
	output[len] = '\0';
	waitpid(child, &status, 0);
	well = (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
	       (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strcasestr(output, "memory") != NULL);
	if (!well)
		printf("not ok: %s: allocation %ld fails: status %#x: %s\n", path, n, (unsigned)status, output);
	return well;
}

int main(int argc, char **argv)
{
	const struct rlimit no_core = {0, 0};
	long step = 1;
	long tried = 0;
	long failed = 0;
	int first = 1;

	if (argc > 2 && strcmp(argv[1], "-s") == 0) {
		step = strtol(argv[2], NULL, 10);
		first = 3;
	}
	process_guard();
	setrlimit(RLIMIT_CORE, &no_core);
	for (int i = first; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		long all;

		if (file == NULL) {
			perror(argv[i]);
			return 1;
		}
		text_len = fread(text, 1, sizeof(text), file);
		fclose(file);
		run(0);
		all = count;
		for (long n = 1; n <= all && failed < 10; n += step) {
			tried++;
			failed += !try_one(argv[i], n);
		}
	}
	printf("%ld passed, %ld failed\n", tried - failed, failed);
	return failed > 0 || tried == 0;
}
