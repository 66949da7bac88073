/* What processes take: their peak memory (proportional set size: shared pages count in parts), together and each,
 * their CPU time, and how often their threads were switched to, from the start of this program until SIGTERM. */
#include <dirent.h>
#include <ev.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "tests/bench/tool/bench.h"

enum { INTERVAL_MS = 100 };

/* Context switches, voluntary and not (proc(5)). */
struct switches {
	int64_t main;   /* of the thread that runs the loop */
	int64_t others; /* of the libraries' threads */
};

struct process {
	char *name;
	char *pid;
	bool ours; /* else its CPU time alone: to walk through the memory of an API server takes long */
	int64_t peak_kb;
	int64_t now_kb;
	double cpu_begin_s;
	double cpu_s;
	struct switches switches_begin;
	struct switches switches;
};

struct sample {
	struct process *processes;
	size_t count;
	int64_t peak_kb; /* of the sum */
};

/* false: the process has ended. */
static bool read_file(const struct process *process, const char *file, char *out, size_t size)
{
	cleanup_free char *path = mem_printf("/proc/%s/%s", process->pid, file);
	FILE *in = fopen(path, "re");
	size_t len;

	if (in == NULL)
		return false;
	len = fread(out, 1, size - 1, in);
	out[len] = '\0';
	fclose(in);
	return len > 0;
}

static void read_memory(struct process *process)
{
	char text[2048];
	const char *line;

	process->now_kb = 0;
	if (!read_file(process, "smaps_rollup", text, sizeof(text)))
		return;
	line = strstr(text, "\nPss:");
	if (line != NULL)
		process->now_kb = strtoll(line + strlen("\nPss:"), NULL, 10);
	if (process->now_kb > process->peak_kb)
		process->peak_kb = process->now_kb;
}

double bench_cpu_s(const char *pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)atoi(pid), &clock) != 0 || clock_gettime(clock, &used) < 0)
		return -1;
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Of a process that has ended, what it was last. */
static double read_cpu(const struct process *process)
{
	double cpu_s = bench_cpu_s(process->pid);

	return cpu_s < 0 ? process->cpu_begin_s + process->cpu_s : cpu_s;
}

static int64_t switches_of(const struct process *process, const char *thread)
{
	cleanup_free char *file = mem_printf("task/%s/status", thread);
	char text[4096];
	const char *line;
	int64_t sum = 0;

	if (!read_file(process, file, text, sizeof(text)))
		return 0;
	line = strstr(text, "\nvoluntary_ctxt_switches:");
	if (line != NULL)
		sscanf(line, "\nvoluntary_ctxt_switches: %" SCNd64, &sum);
	line = strstr(text, "\nnonvoluntary_ctxt_switches:");
	if (line != NULL)
		sum += strtoll(line + strlen("\nnonvoluntary_ctxt_switches:"), NULL, 10);
	return sum;
}

/* Of the threads that there are; of a process that has ended, what it was last. */
static struct switches read_switches(const struct process *process)
{
	cleanup_free char *path = mem_printf("/proc/%s/task", process->pid);
	DIR *threads = opendir(path);
	struct switches out = {0};
	const struct dirent *thread;

	if (threads == NULL)
		return (struct switches){process->switches_begin.main + process->switches.main,
					 process->switches_begin.others + process->switches.others};
	while ((thread = readdir(threads)) != NULL) {
		if (thread->d_name[0] == '.')
			continue;
		if (strcmp(thread->d_name, process->pid) == 0)
			out.main += switches_of(process, thread->d_name);
		else
			out.others += switches_of(process, thread->d_name);
	}
	closedir(threads);
	return out;
}

static void take(struct sample *sample)
{
	int64_t sum_kb = 0;

	for (size_t i = 0; i < sample->count; i++) {
		struct process *process = &sample->processes[i];

		if (process->ours)
			read_memory(process);
		process->cpu_s = read_cpu(process) - process->cpu_begin_s;
		if (process->ours) {
			struct switches now = read_switches(process);

			process->switches.main = now.main - process->switches_begin.main;
			process->switches.others = now.others - process->switches_begin.others;
		}
		sum_kb += process->now_kb;
	}
	if (sum_kb > sample->peak_kb)
		sample->peak_kb = sum_kb;
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	take(timer->data);
}

static void on_end(struct ev_loop *loop, ev_signal *signal, int events)
{
	(void)signal;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

static void print_processes(const struct sample *sample, const char *name, bool ours)
{
	const char *comma = "";

	printf(",\"%s\":[", name);
	for (size_t i = 0; i < sample->count; i++) {
		const struct process *process = &sample->processes[i];

		if (process->ours != ours)
			continue;
		printf("%s{\"name\":\"%s\",\"cpu_s\":%.2f", comma, process->name, process->cpu_s);
		if (ours)
			printf(",\"peak_pss_mb\":%.1f,\"end_pss_mb\":%.1f,\"switches\":%" PRId64
			       ",\"switches_of_threads\":%" PRId64,
			       (double)process->peak_kb / 1024, (double)process->now_kb / 1024, process->switches.main,
			       process->switches.others);
		putchar('}');
		comma = ",";
	}
	putchar(']');
}

static void print(const struct sample *sample)
{
	double cpu_s = 0;
	int64_t switches = 0;

	for (size_t i = 0; i < sample->count; i++) {
		if (!sample->processes[i].ours)
			continue;
		cpu_s += sample->processes[i].cpu_s;
		switches += sample->processes[i].switches.main + sample->processes[i].switches.others;
	}
	printf("{\"cpu_s\":%.2f,\"peak_pss_mb\":%.1f,\"switches\":%" PRId64, cpu_s, (double)sample->peak_kb / 1024,
	       switches);
	print_processes(sample, "processes", true);
	print_processes(sample, "others", false);
	puts("}");
}

static void add(struct sample *sample, const char *text, bool ours)
{
	const char *equals = strchr(text, '=');
	struct process *process = &sample->processes[sample->count++];

	if (equals == NULL)
		bench_fail("process %s: expected name=pid", text);
	process->name = mem_strndup(text, (size_t)(equals - text));
	process->pid = mem_strdup(equals + 1);
	process->ours = ours;
	process->cpu_begin_s = read_cpu(process);
	if (ours)
		process->switches_begin = read_switches(process);
}

int bench_sample(const struct bench_options *options)
{
	struct ev_loop *loop = ev_default_loop(0);
	struct sample sample = {0};
	ev_timer timer;
	ev_signal end;

	sample.processes = mem_calloc(options->process_count + options->other_count, sizeof(*sample.processes));
	for (size_t i = 0; i < options->process_count; i++)
		add(&sample, options->processes[i], true);
	for (size_t i = 0; i < options->other_count; i++)
		add(&sample, options->others[i], false);
	take(&sample);
	ev_timer_init(&timer, on_timer, INTERVAL_MS / 1000., INTERVAL_MS / 1000.);
	timer.data = &sample;
	ev_timer_start(loop, &timer);
	ev_signal_init(&end, on_end, SIGTERM);
	ev_signal_start(loop, &end);
	fputs("sampling\n", stderr);
	ev_run(loop, 0);
	take(&sample);
	print(&sample);
	for (size_t i = 0; i < sample.count; i++) {
		free(sample.processes[i].name);
		free(sample.processes[i].pid);
	}
	free(sample.processes);
	return 0;
}
