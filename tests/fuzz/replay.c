/* Runs a fuzz target over files, without a fuzzer: the corpora in make test, and an input that a fuzzer found. Each
 * is run three times. It fails if it takes too long each time; the program fails if its memory keeps growing. */
#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/slow.h"

/* Of CPU time, so that a busy machine changes nothing; ten times that under sanitizers. */
#if defined(__SANITIZE_ADDRESS__)
enum { INPUT_MAX_MS = 500 };
#else
enum { INPUT_MAX_MS = 50 };
#endif
/* How much more may be in use after the inputs were run a second and a third time. */
enum { GROWTH_MAX_BYTES = 256 * 1024, ROUNDS = 3 };

struct input {
	char *path;
	int64_t least_ms;
};

static struct input *inputs;
static size_t input_count;
static const char *present = "the start";

/* Of a broken expectation, a crash, or one that takes too long: says which input it was. */
static void on_signal(int signal_number)
{
	static const char message[] = "not ok: a signal at ";
	bool said = write(STDERR_FILENO, message, sizeof(message) - 1) > 0 &&
		    write(STDERR_FILENO, present, strlen(present)) > 0 && write(STDERR_FILENO, "\n", 1) > 0;

	(void)said;
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void add_path(const char *path)
{
	struct stat status;
	struct dirent **names;
	int count;

	if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode)) {
		inputs = mem_realloc(inputs, input_count + 1, sizeof(*inputs));
		inputs[input_count++] = (struct input){.path = mem_strdup(path), .least_ms = INT64_MAX};
		return;
	}
	count = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.') {
			cleanup_free char *inner = mem_printf("%s/%s", path, names[i]->d_name);

			add_path(inner);
		}
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

/* A machine may be slow for a moment: the least time counts. */
static void run_input(struct input *input)
{
	cleanup_buf struct buf text = {0};
	char part[4096];
	FILE *file = fopen(input->path, "rb");
	int64_t begin_ms;
	int64_t took_ms;
	size_t got;

	if (file == NULL) {
		perror(input->path);
		return;
	}
	while ((got = fread(part, 1, sizeof(part), file)) > 0)
		buf_append(&text, part, got);
	fclose(file);
	present = input->path;
	begin_ms = cpu_ms();
	alarm(60);
	LLVMFuzzerTestOneInput((const uint8_t *)(text.data == NULL ? "" : text.data), text.len);
	alarm(0);
	took_ms = cpu_ms() - begin_ms;
	if (took_ms < input->least_ms)
		input->least_ms = took_ms;
}

/* Returns how many inputs failed; frees them. */
static size_t end_inputs(void)
{
	size_t failed = 0;

	for (size_t i = 0; i < input_count; i++) {
		const struct input *input = &inputs[i];

		if (input->least_ms == INT64_MAX) {
			printf("not ok: %s cannot be read\n", input->path);
			failed++;
		} else if (input->least_ms > allowed_ms(INPUT_MAX_MS)) {
			printf("not ok: %s takes %lld ms, %lld are allowed\n", input->path, (long long)input->least_ms,
			       (long long)allowed_ms(INPUT_MAX_MS));
			failed++;
		}
		free(input->path);
	}
	free(inputs);
	return failed;
}

int main(int argc, char **argv)
{
	struct mallinfo2 before = {0};
	size_t failed = 0;
	size_t failed_inputs;

	signal(SIGABRT, on_signal);
	signal(SIGSEGV, on_signal);
	signal(SIGALRM, on_signal);
	for (int i = 1; i < argc; i++)
		add_path(argv[i]);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < input_count; i++)
			run_input(&inputs[i]);
		if (round == 0)
			before = mallinfo2(); /* zeros under ASan, whose leak check looks at the same */
	}
	if (mallinfo2().uordblks > before.uordblks + GROWTH_MAX_BYTES) {
		printf("not ok: %s: %zu bytes in use after one round, %zu after %d\n", argv[0], before.uordblks,
		       mallinfo2().uordblks, ROUNDS);
		failed++;
	}
	if (input_count == 0) {
		printf("not ok: %s: no input was found\n", argv[0]);
		failed++;
	}
	failed_inputs = end_inputs();
	printf("%zu passed, %zu failed\n", input_count - failed_inputs, failed + failed_inputs);
	return failed + failed_inputs > 0;
}
