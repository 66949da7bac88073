/* fc-bench: the clients and the measuring of tests/bench. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/release.h"
#include "tests/bench/tool/bench.h"

enum { EXIT_BAD_USE = 2 };

static const char usage[] =
	"Usage: fc-bench load|calibrate|barrier|echo|flood|sample [options]\n"
	"Prints what it measures as a JSON object.\n"
	"\n"
	"  load       creates Frameworks and waits until all are --until completed or running, or Pods created\n"
	"             --frameworks N, --tasks N, --run-seconds N (none: Pods run until they are deleted), --prefix "
	"TEXT,\n"
	"             --rate N Frameworks a second, --latency: from a Pod that runs to a status that says so;\n"
	"             --kind TFJob|Job instead of Framework, until completed; --like FILE: Frameworks like this one, "
	"which\n"
	"             is called " BENCH_LIKE "\n"
	"  calibrate  what the API server does for plain clients: --count of each kind of request; CPU time of each\n"
	"             --other process for each request\n"
	"  barrier    completes gangs of --frameworks N, --tasks N, for whom --waiters N each wait at the fc-barrier "
	"at\n"
	"             --address 127.0.0.1:PORT; BENCH_TOKEN: what they show it; --rate N gangs a second\n"
	"  echo       completes gangs likewise: until a watch shows each, and a GET then answers\n"
	"  flood      keeps --count N connections to --address open that ask for nothing, until SIGTERM\n"
	"  sample     CPU time and peak memory of each --process NAME=PID, CPU time of each --other, until SIGTERM\n"
	"\n"
	"  --kubeconfig FILE --namespace NAME (bench) --clients N (8) --at-once N (64) --seconds N (600)\n"
	"  --help, --version\n";

static int64_t read_number(const char *option, const char *text)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < 0)
		bench_fail("--%s: found \"%s\", expected a number", option, text);
	return value;
}

static void add(const char ***list, size_t *count, const char *text)
{
	*list = mem_realloc(*list, *count + 1, sizeof(**list));
	(*list)[(*count)++] = text;
}

static void parse_options(int argc, char **argv, struct bench_options *out)
{
	static const struct option known[] = {
		{"kubeconfig", required_argument, NULL, 'k'},
		{"namespace", required_argument, NULL, 'n'},
		{"prefix", required_argument, NULL, 'p'},
		{"frameworks", required_argument, NULL, 'f'},
		{"tasks", required_argument, NULL, 't'},
		{"run-seconds", required_argument, NULL, 'r'},
		{"clients", required_argument, NULL, 'c'},
		{"at-once", required_argument, NULL, 'a'},
		{"waiters", required_argument, NULL, 'w'},
		{"count", required_argument, NULL, 'C'},
		{"seconds", required_argument, NULL, 's'},
		{"until", required_argument, NULL, 'u'},
		{"address", required_argument, NULL, 'A'},
		{"latency", no_argument, NULL, 'l'},
		{"kind", required_argument, NULL, 'K'},
		{"like", required_argument, NULL, 'L'},
		{"process", required_argument, NULL, 'P'},
		{"other", required_argument, NULL, 'O'},
		{"url", required_argument, NULL, 'U'},
		{"help", no_argument, NULL, 'h'},
		{"rate", required_argument, NULL, 'R'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	int option;
	int index = 0;

	while ((option = getopt_long(argc, argv, "h", known, &index)) != -1) {
		switch (option) {
		case 'k': out->kubeconfig = optarg; break;
		case 'n': out->ns = optarg; break;
		case 'p': out->prefix = optarg; break;
		case 'f': out->frameworks = read_number(known[index].name, optarg); break;
		case 't': out->tasks = read_number(known[index].name, optarg); break;
		case 'r': out->run_seconds = read_number(known[index].name, optarg); break;
		case 'c': out->clients = read_number(known[index].name, optarg); break;
		case 'a': out->at_once = read_number(known[index].name, optarg); break;
		case 'C': out->count = read_number(known[index].name, optarg); break;
		case 'w': out->waiters = read_number(known[index].name, optarg); break;
		case 'R': out->rate = read_number(known[index].name, optarg); break;
		case 's': out->seconds = read_number(known[index].name, optarg); break;
		case 'u': out->until = optarg; break;
		case 'A': out->address = optarg; break;
		case 'l': out->latency = true; break;
		case 'K': out->kind = optarg; break;
		case 'L': out->like = optarg; break;
		case 'P': add(&out->processes, &out->process_count, optarg); break;
		case 'O': add(&out->others, &out->other_count, optarg); break;
		case 'U': add(&out->urls, &out->url_count, optarg); break;
		case 'V': release_print("fc-bench");
		case 'h': fputs(usage, stdout); exit(EXIT_SUCCESS);
		default: fputs("Try fc-bench --help.\n", stderr); exit(EXIT_BAD_USE);
		}
	}
	if (out->clients < 1 || out->at_once < 1)
		bench_fail("--clients and --at-once: expected at least 1");
}

void bench_fail(const char *format, ...)
{
	va_list args;

	fputs("fc-bench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const struct bench_options *options);
	} commands[] = {
		{"load", bench_load},       {"calibrate", bench_calibrate}, {"sample", bench_sample},
		{"barrier", bench_barrier}, {"flood", bench_flood},         {"echo", bench_echo},
	};
	struct bench_options options = {
		.ns = "bench",
		.prefix = "f",
		.frameworks = 1,
		.tasks = 1,
		.run_seconds = -1,
		.clients = 8,
		.at_once = 64,
		.count = 1000,
		.waiters = 1,
		.seconds = 600,
		.until = "completed",
		.kind = "Framework",
	};
	int code = -1;

	signal(SIGPIPE, SIG_IGN);
	parse_options(argc, argv, &options);
	for (size_t i = 0; i < ARRAY_LEN(commands) && optind + 1 == argc; i++)
		if (strcmp(argv[optind], commands[i].name) == 0)
			code = commands[i].run(&options);
	free(options.processes);
	free(options.others);
	free(options.urls);
	if (code < 0)
		bench_fail("expected one subcommand: see --help");
	return code;
}
