/* See options.h. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

enum option_name {
	OPTION_CONTEXT = 1000,
	OPTION_KUBECONFIG,
	OPTION_AS,
	OPTION_AS_GROUP,
	OPTION_NO_HEADERS,
	OPTION_TAIL,
	OPTION_SINCE,
	OPTION_TIMESTAMPS,
	OPTION_NO_PREFIX,
	OPTION_FOR,
	OPTION_TIMEOUT,
	OPTION_ADJUST,
	OPTION_SNAPSHOTS,
	OPTION_NAME,
	OPTION_REPLACE,
	OPTION_NO_WAIT,
	OPTION_ALL_TASKS,
	OPTION_HELP,
};

static const struct option known[] = {
	{"namespace", required_argument, NULL, 'n'},
	{"all-namespaces", no_argument, NULL, 'A'},
	{"selector", required_argument, NULL, 'l'},
	{"output", required_argument, NULL, 'o'},
	{"v", required_argument, NULL, 'v'}, /* as in kubectl, --v=N is -v N */
	{"watch", no_argument, NULL, 'w'},
	{"follow", no_argument, NULL, 'f'},
	{"container", required_argument, NULL, 'c'},
	{"context", required_argument, NULL, OPTION_CONTEXT},
	{"kubeconfig", required_argument, NULL, OPTION_KUBECONFIG},
	{"as", required_argument, NULL, OPTION_AS},
	{"as-group", required_argument, NULL, OPTION_AS_GROUP},
	{"no-headers", no_argument, NULL, OPTION_NO_HEADERS},
	{"tail", required_argument, NULL, OPTION_TAIL},
	{"since", required_argument, NULL, OPTION_SINCE},
	{"timestamps", no_argument, NULL, OPTION_TIMESTAMPS},
	{"no-prefix", no_argument, NULL, OPTION_NO_PREFIX},
	{"for", required_argument, NULL, OPTION_FOR},
	{"timeout", required_argument, NULL, OPTION_TIMEOUT},
	{"adjust-min-succeeded", no_argument, NULL, OPTION_ADJUST},
	{"snapshots", required_argument, NULL, OPTION_SNAPSHOTS},
	{"name", required_argument, NULL, OPTION_NAME},
	{"replace", no_argument, NULL, OPTION_REPLACE},
	{"no-wait", no_argument, NULL, OPTION_NO_WAIT},
	{"all-tasks", no_argument, NULL, OPTION_ALL_TASKS},
	{"help", no_argument, NULL, OPTION_HELP},
	{NULL, 0, NULL, 0},
};

/* Which group an option belongs to; 0: every command takes it. */
static unsigned group_of(int option)
{
	switch (option) {
	case 'n': return TAKES_NAMESPACE;
	case 'A': return TAKES_ALL;
	case 'l': return TAKES_SELECTOR;
	case 'o': return TAKES_DATA | TAKES_NAME | TAKES_WIDE | TAKES_SVG;
	case 'w': return TAKES_WATCH;
	case 'c': return TAKES_LOGS | TAKES_CONTAINER;
	case 'f':
	case OPTION_TAIL:
	case OPTION_SINCE:
	case OPTION_TIMESTAMPS:
	case OPTION_NO_PREFIX: return TAKES_LOGS;
	case OPTION_NO_HEADERS: return TAKES_HEADERS;
	case OPTION_FOR: return TAKES_WAIT;
	case OPTION_TIMEOUT: return TAKES_WAIT | TAKES_TIMEOUT;
	case OPTION_ADJUST: return TAKES_SCALE;
	case OPTION_SNAPSHOTS: return TAKES_SNAPSHOTS;
	case OPTION_NAME: return TAKES_NEW_NAME;
	case OPTION_REPLACE: return TAKES_REPLACE;
	case OPTION_NO_WAIT: return TAKES_NO_WAIT;
	case OPTION_ALL_TASKS: return TAKES_UNFOLDED;
	default: return 0;
	}
}

/* The option as the user may write it. */
static const char *spelling(int option)
{
	for (size_t i = 0; known[i].name != NULL; i++)
		if (known[i].val == option)
			return known[i].name;
	return "?";
}

static int parse_output(const char *text, unsigned groups, enum output_format *out, struct error *err)
{
	static const struct {
		const char *name;
		enum output_format format;
		unsigned group;
	} formats[] = {
		{"json", OUTPUT_JSON, TAKES_DATA}, {"yaml", OUTPUT_YAML, TAKES_DATA}, {"name", OUTPUT_NAME, TAKES_NAME},
		{"wide", OUTPUT_WIDE, TAKES_WIDE}, {"svg", OUTPUT_SVG, TAKES_SVG},
	};
	cleanup_buf struct buf expected = {0};

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (!(groups & formats[i].group))
			continue;
		if (strcmp(text, formats[i].name) == 0) {
			*out = formats[i].format;
			return 0;
		}
		buf_printf(&expected, "%s%s", expected.len == 0 ? "" : ", ", formats[i].name);
	}
	return error_set(err, "--output: found \"%.64s\", expected one of %s", text, expected.data);
}

static int parse_count(const char *name, const char *text, int64_t *out, struct error *err)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < -1)
		return error_set(err, "--%s: found \"%.64s\", expected a number of lines, or -1 for all", name, text);
	*out = value;
	return 0;
}

/* "5", "90s", "5m", "1h30m", "2d" in milliseconds. */
static int duration_parse(const char *text, int64_t *ms, struct error *err)
{
	static const struct {
		char unit;
		int64_t sec;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	enum { MOST_SEC = 366 * 86400 };
	const char *at = text;
	int64_t total = 0;

	do {
		char *end;
		long long value = strtoll(at, &end, 10);
		int64_t unit = *end == '\0' ? 1 : 0;

		for (size_t i = 0; i < ARRAY_LEN(units); i++)
			if (*end == units[i].unit)
				unit = units[i].sec;
		if (end == at || *at < '0' || *at > '9' || unit == 0 || value > MOST_SEC / unit)
			return error_set(err,
					 "found \"%.64s\", expected a duration of at most a year, as 90s, 5m or 1h30m",
					 text);
		total += value * unit;
		at = *end == '\0' ? end : end + 1;
	} while (*at != '\0');
	*ms = total * 1000;
	return 0;
}

static int parse_duration(const char *name, const char *text, int64_t *ms, struct error *err)
{
	return duration_parse(text, ms, err) < 0 ? error_wrap(err, "--%s", name) : 0;
}

static int parse_verbosity(const char *text, struct error *err)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end != '\0' || value < 0 || value > LOG_VERBOSITY_MAX)
		return error_set(err, "-v %.32s: expected a number 0..%d", text, LOG_VERBOSITY_MAX);
	log_verbosity = (int)value;
	return 0;
}

/* A header line is made of it. */
static int check_identity(const char *name, const char *text, struct error *err)
{
	for (const char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7F)
			return error_set(err, "--%s: found a control character, expected a name", name);
	return *text == '\0' ? error_set(err, "--%s: found \"\", expected a name", name) : 0;
}

static int add_group(const char *text, struct options *out, struct error *err)
{
	if (out->as_group_count == ARRAY_LEN(out->as_groups))
		return error_set(err, "--as-group: expected at most %zu groups", ARRAY_LEN(out->as_groups));
	out->as_groups[out->as_group_count++] = text;
	return check_identity("as-group", text, err);
}

static int take(int option, char *value, unsigned groups, struct options *out, struct error *err)
{
	switch (option) {
	case 'n':
		out->namespace_name = value;
		return namespace_name_valid(value)
			       ? 0
			       : error_set(err, "--namespace: found \"%.64s\", expected the name of a namespace",
					   value);
	case 'A': out->all_namespaces = true; return 0;
	case 'l': out->selector = value; return 0;
	case 'o': return parse_output(value, groups, &out->output, err);
	case 'w': out->watch = true; return 0;
	case 'f': out->follow = true; return 0;
	case 'c': out->container = value; return 0;
	case 'v': return parse_verbosity(value, err);
	case OPTION_CONTEXT: out->context = value; return 0;
	case OPTION_KUBECONFIG: out->kubeconfig = value; return 0;
	case OPTION_AS: out->as = value; return check_identity("as", value, err);
	case OPTION_AS_GROUP: return add_group(value, out, err);
	case OPTION_NO_HEADERS: out->no_headers = true; return 0;
	case OPTION_TAIL: return parse_count("tail", value, &out->tail, err);
	case OPTION_SINCE:
		if (parse_duration("since", value, &out->since_sec, err) < 0)
			return -1;
		out->since_sec /= 1000;
		return 0;
	case OPTION_TIMESTAMPS: out->timestamps = true; return 0;
	case OPTION_NO_PREFIX: out->no_prefix = true; return 0;
	case OPTION_FOR: out->condition = value; return 0;
	case OPTION_TIMEOUT: return parse_duration("timeout", value, &out->timeout_ms, err);
	case OPTION_ADJUST: out->adjust_min = true; return 0;
	case OPTION_SNAPSHOTS: out->snapshots = value; return 0;
	case OPTION_NAME: out->new_name = value; return 0;
	case OPTION_REPLACE: out->replace = true; return 0;
	case OPTION_NO_WAIT: out->no_wait = true; return 0;
	case OPTION_ALL_TASKS: out->all_tasks = true; return 0;
	default: return -1;
	}
}

/* -o=json, as kubectl takes it; a value that is a word of its own stays as it is. */
static char *short_value(char *value, const char *word)
{
	bool attached = value != NULL && value != word && strncmp(word, "--", 2) != 0;

	return attached && *value == '=' ? value + 1 : value;
}

int options_parse(int argc, char **argv, unsigned groups, struct options *out, struct error *err)
{
	int option, plain = argc;

	*out = (struct options){.tail = -1, .since_sec = -1, .timeout_ms = -1};
	for (int i = 1; i < argc && (groups & TAKES_REST); i++)
		if (strcmp(argv[i], "--") == 0) {
			out->rest = argv + i + 1;
			out->rest_count = (size_t)(argc - i - 1);
			plain = i;
			break;
		}
	opterr = 0;
	optind = 0; /* (glibc: begin anew) */
	while ((option = getopt_long(plain, argv, ":n:Al:o:wfc:v:h", known, NULL)) != -1) {
		if (option == 'h' || option == OPTION_HELP)
			return 1;
		if (option == ':')
			return error_set(err, "%s needs a value", argv[optind - 1]);
		if (option == '?')
			return error_set(err, "there is no option %.64s", argv[optind - 1]);
		if (group_of(option) != 0 && !(groups & group_of(option)))
			return error_set(err, "this command takes no --%s", spelling(option));
		if (take(option, short_value(optarg, argv[optind - 1]), groups, out, err) < 0)
			return -1;
	}
	if (out->as_group_count > 0 && out->as == NULL)
		return error_set(err, "--as-group needs --as");
	out->arguments = argv + optind;
	out->argument_count = (size_t)(plain - optind);
	return 0;
}

static bool valid_role(const char *role, size_t len, char out[64])
{
	if (len == 0 || len >= 64)
		return false;
	memcpy(out, role, len);
	out[len] = '\0';
	return framework_name_valid(out);
}

int task_selector_parse(const char *text, struct task_selector *out, struct error *err)
{
	size_t len = strcspn(text, "[-");
	char *end = NULL;
	long index = -1;

	if (text[len] != '\0') {
		const char *number = text + len + 1;

		index = strtol(number, &end, 10);
		if (end == number || *number < '0' || *number > '9' || index > 9999 ||
		    strcmp(end, text[len] == '[' ? "]" : "") != 0)
			len = 0;
	}
	if (!valid_role(text, len, out->role))
		return error_set(
			err, "found \"%.80s\", expected a TaskRole, as worker, or a Task, as worker[3] or worker-3%s",
			text, strchr(text, '#') == NULL ? "" : ", without the attempt behind the #");
	out->index = index;
	return 0;
}

const char *framework_argument(const char *text, struct error *err)
{
	static const char *const prefixes[] = {"fw/", "framework/", "frameworks/", FRAMEWORK_CRD_NAME "/",
					       "framework." FRAMEWORK_GROUP "/"};
	const char *name = text;

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			name = text + strlen(prefixes[i]);
	if (framework_name_valid(name))
		return name;
	/* the name of a job, mostly (jobs/README.md) */
	if (strchr(name, '-') != NULL && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(name))
		error_set(
			err,
			"found \"%.80s\", expected the name of a Framework: 1 to 63 of a-z and 0-9. The Framework of a "
			"TFJob or PyTorchJob of that name: kubectl framework list -l "
			"training.kubeflow.org/job-name=%.63s",
			text, name);
	else
		error_set(err, "found \"%.80s\", expected the name of a Framework: 1 to 63 of a-z and 0-9", text);
	return NULL;
}
