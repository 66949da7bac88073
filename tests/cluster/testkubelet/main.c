/* fc-testkubelet: command line, loop and signals of the test kubelet (ARCHITECTURE.md §10.2). */
#include <errno.h>
#include <ev.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/kube/client.h"
#include "common/kube/kubeconfig.h"
#include "tests/cluster/testkubelet/kubelet.h"
#include "tests/cluster/testkubelet/runtime.h"

static const char usage[] =
	"Usage: fc-testkubelet [flags]\n"
	"Scheduler and kubelets of a test cluster: binds all Pods, and runs those of its own nodes.\n"
	"  --mode scripted|real     scripted (default): Pods end as their annotations or simple commands say;\n"
	"                           real: containers are local processes\n"
	"  --address URL            URL of the API server, used without credentials; default $KUBE_APISERVER_ADDRESS\n"
	"  --kubeconfig FILE        kubeconfig; default $KUBECONFIG, ~/.kube/config, else in-cluster\n"
	"  --node-name NAME         name of the node, default node-0; with --nodes: prefix of the names\n"
	"  --nodes N                serve N nodes NAME-0 … NAME-(N-1), and bind Pods to them in turn\n"
	"  --no-register            do not create Node objects\n"
	"  --pods-capacity N        Pods that are bound and have not ended (default: no limit); others wait\n"
	"  --termination-seconds S  scripted: seconds until a deleted Pod ends (default 0)\n"
	"  --only-namespace NAME    ignore the Pods of all other namespaces\n"
	"  --not-namespace NAME     ignore the Pods of this namespace\n"
	"  --max-calls N            requests in flight at one time (default 64)\n"
	"  --root DIR               real: directory of logs and volumes; default: a temporary one\n"
	"  --pod-env NAME=VALUE     real: environment variable for each container; may be repeated\n"
	"  --image-bin DIR          real: directory to put first into the PATH of each container\n"
	"  --volumes DIR            real: directory of volume contents: DIR/configmap/NAME, DIR/secret/NAME, and\n"
	"                           DIR/account/NAME for the token of a service account\n"
	"  --tls-cert FILE          PEM certificate of the server of logs, and --tls-key FILE its key, as "
	"kube-apiserver\n"
	"                           wants it; default: plain HTTP, as fc-testapi wants it\n"
	"  --die-with-parent        end when the parent process ends\n"
	"  -v N                     log level, default 0\n"
	"  --help, --version\n";

enum {
	CONTAINERS_KILLED_WITHIN_MS = 5000,
	NODES_MAX = 65536,
};

struct program {
	struct ev_loop *loop;
	struct kubelet *kubelet;
	ev_timer deadline;
	ev_check check;
	bool stopping;
};

struct arguments {
	struct kubelet_options kubelet;
	const char *address;
	const char *kubeconfig;
	const char *node_name;
	const char *tls_cert;
	const char *tls_key;
	bool nodes_given;
	bool die_with_parent;
	const char **pod_env;
};

__attribute__((format(printf, 1, 2), noreturn)) static void fail_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\nTry fc-testkubelet --help.\n", stderr);
	exit(2);
}

static double parse_number(const char *flag, const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= min && value <= max))
		fail_usage("%s: found \"%s\", expected a number from %g to %g", flag, text, min, max);
	return value;
}

static void parse_arguments(int argc, char **argv, struct arguments *out)
{
	enum {
		MODE = 256,
		ADDRESS,
		KUBECONFIG,
		NODE_NAME,
		NODES,
		NO_REGISTER,
		CAPACITY,
		TERMINATION,
		CALLS,
		ONLY,
		NOT,
		ROOT,
		ENV,
		BIN,
		VOLUMES,
		TLS_CERT,
		TLS_KEY,
		DIE,
		HELP,
		VERSION
	};
	static const struct option options[] = {
		{"mode", required_argument, NULL, MODE},
		{"address", required_argument, NULL, ADDRESS},
		{"kubeconfig", required_argument, NULL, KUBECONFIG},
		{"node-name", required_argument, NULL, NODE_NAME},
		{"nodes", required_argument, NULL, NODES},
		{"no-register", no_argument, NULL, NO_REGISTER},
		{"pods-capacity", required_argument, NULL, CAPACITY},
		{"termination-seconds", required_argument, NULL, TERMINATION},
		{"only-namespace", required_argument, NULL, ONLY},
		{"not-namespace", required_argument, NULL, NOT},
		{"max-calls", required_argument, NULL, CALLS},
		{"root", required_argument, NULL, ROOT},
		{"pod-env", required_argument, NULL, ENV},
		{"image-bin", required_argument, NULL, BIN},
		{"volumes", required_argument, NULL, VOLUMES},
		{"tls-cert", required_argument, NULL, TLS_CERT},
		{"tls-key", required_argument, NULL, TLS_KEY},
		{"die-with-parent", no_argument, NULL, DIE},
		{"help", no_argument, NULL, HELP},
		{"version", no_argument, NULL, VERSION},
		{NULL, 0, NULL, 0},
	};
	struct kubelet_options *kubelet = &out->kubelet;
	size_t env_count = 0;
	int flag;

	*out = (struct arguments){
		.kubelet = {.nodes = {.count = 1}, .register_nodes = true, .max_calls = 64},
		.pod_env = mem_calloc((size_t)argc, sizeof(char *)),
	};
	while ((flag = getopt_long(argc, argv, "v:", options, NULL)) != -1) {
		switch (flag) {
		case MODE:
			if (strcmp(optarg, "real") != 0 && strcmp(optarg, "scripted") != 0)
				fail_usage("--mode: found \"%s\", expected scripted or real", optarg);
			kubelet->real = optarg[0] == 'r';
			break;
		case ADDRESS: out->address = optarg; break;
		case KUBECONFIG: out->kubeconfig = optarg; break;
		case NODE_NAME: out->node_name = optarg; break;
		case NODES:
			kubelet->nodes.count = (int)parse_number("--nodes", optarg, 1, NODES_MAX);
			out->nodes_given = true;
			break;
		case NO_REGISTER: kubelet->register_nodes = false; break;
		case CAPACITY: kubelet->capacity = (size_t)parse_number("--pods-capacity", optarg, 0, 1e9); break;
		case TERMINATION:
			kubelet->termination_ms = llround(1000 *
							  parse_number("--termination-seconds", optarg, 0, 86400));
			break;
		case CALLS: kubelet->max_calls = (size_t)parse_number("--max-calls", optarg, 1, 10000); break;
		case ONLY: kubelet->only_namespace = optarg; break;
		case NOT: kubelet->not_namespace = optarg; break;
		case ROOT: kubelet->root = optarg; break;
		case ENV:
			if (strchr(optarg, '=') == NULL || optarg[0] == '=')
				fail_usage("--pod-env: found \"%s\", expected NAME=VALUE", optarg);
			out->pod_env[env_count++] = optarg;
			break;
		case BIN: kubelet->image_bin = optarg; break;
		case VOLUMES: kubelet->volumes = optarg; break;
		case TLS_CERT: out->tls_cert = optarg; break;
		case TLS_KEY: out->tls_key = optarg; break;
		case DIE: out->die_with_parent = true; break;
		case 'v': log_verbosity = (int)parse_number("-v", optarg, 0, 10); break;
		case VERSION: release_print("fc-testkubelet");
		case HELP: fputs(usage, stdout); exit(0);
		default: fail_usage("see above");
		}
	}
	if (optind < argc)
		fail_usage("found argument \"%s\", expected only flags", argv[optind]);
	if ((out->tls_cert == NULL) != (out->tls_key == NULL))
		fail_usage("found only one of --tls-cert and --tls-key, expected both or neither");
	kubelet->nodes.base = out->node_name == NULL ? "node" : out->node_name;
	kubelet->nodes.single = out->node_name != NULL && !out->nodes_given;
	kubelet->pod_env = out->pod_env;
	kubelet->pod_env_count = env_count;
}

/* The defaults of CONTRACT.md §15. */
static int load_config(const struct arguments *arguments, struct kube_config *config, struct error *err)
{
	const char *address = arguments->address, *kubeconfig = arguments->kubeconfig;
	const char *home = getenv("HOME");
	cleanup_free char *in_home = NULL;

	if (address == NULL && kubeconfig == NULL) {
		address = getenv("KUBE_APISERVER_ADDRESS");
		kubeconfig = getenv("KUBECONFIG");
		if (kubeconfig != NULL && access(kubeconfig, F_OK) != 0)
			kubeconfig = NULL;
		in_home = mem_printf("%s/.kube/config", home == NULL ? "" : home);
		if (kubeconfig == NULL && home != NULL && access(in_home, F_OK) == 0)
			kubeconfig = in_home;
	}
	return kube_config_load(address, kubeconfig, NULL, config, err);
}

/* The directory for logs and volumes, made where it is missing, to be freed: containers run in others, so it is
 * absolute. NULL and errno if there is none. */
static char *make_root(const char *path)
{
	char temporary[] = "/tmp/fc-testkubelet.XXXXXX";

	if (path == NULL)
		return mkdtemp(temporary) == NULL ? NULL : mem_strdup(temporary);
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		return NULL;
	return realpath(path, NULL);
}

static void on_signal(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct program *program = signal->data;

	(void)events;
	if (program->stopping)
		return;
	program->stopping = true;
	kubelet_stop(program->kubelet);
	if (kubelet_processes_left(program->kubelet) == 0)
		ev_break(loop, EVBREAK_ALL);
	ev_timer_start(loop, &program->deadline);
}

/* Once stopped, the loop ends with the last process. */
static void on_check(struct ev_loop *loop, ev_check *check, int events)
{
	struct program *program = check->data;

	(void)events;
	if (program->stopping && kubelet_processes_left(program->kubelet) == 0)
		ev_break(loop, EVBREAK_ALL);
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	log_warning("Some processes of containers have not ended");
	ev_break(loop, EVBREAK_ALL);
}

static void run(struct program *program, struct kube_client *client)
{
	struct ev_loop *loop = program->loop;
	ev_signal on_term, on_int;
	struct kubelet_counts counts;

	ev_signal_init(&on_term, on_signal, SIGTERM);
	ev_signal_init(&on_int, on_signal, SIGINT);
	on_term.data = on_int.data = program;
	ev_signal_start(loop, &on_term);
	ev_signal_start(loop, &on_int);
	ev_timer_init(&program->deadline, on_deadline, CONTAINERS_KILLED_WITHIN_MS / 1000.0, 0);
	ev_check_init(&program->check, on_check);
	program->check.data = program;
	ev_check_start(loop, &program->check);

	kubelet_start(program->kubelet);
	ev_run(loop, 0);

	counts = kubelet_counts(program->kubelet);
	log_info("Stopped: %llu Pods bound, %llu finished, %llu deleted; %llu status writes, %llu failed calls",
		 (unsigned long long)counts.bound, (unsigned long long)counts.finished,
		 (unsigned long long)counts.deleted, (unsigned long long)counts.statuses,
		 (unsigned long long)counts.errors);
	kube_client_free(client);
	kubelet_free(program->kubelet);
	ev_check_stop(loop, &program->check);
	ev_timer_stop(loop, &program->deadline);
	ev_signal_stop(loop, &on_term);
	ev_signal_stop(loop, &on_int);
}

int main(int argc, char **argv)
{
	static const struct kube_client_options client_options = {.user_agent = "fc-testkubelet/1.0"};
	struct arguments arguments;
	struct kube_config config;
	struct program program = {0};
	struct kube_client *client;
	cleanup_free char *root = NULL;
	bool is_temporary;
	pid_t parent = getppid();
	struct error err;

	parse_arguments(argc, argv, &arguments);
	signal(SIGPIPE, SIG_IGN);
	if (arguments.die_with_parent) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			return 0;
	}
	is_temporary = arguments.kubelet.real && arguments.kubelet.root == NULL;
	if (arguments.kubelet.real)
		arguments.kubelet.root = root = make_root(arguments.kubelet.root);
	if (arguments.kubelet.real && root == NULL) {
		log_error("Cannot create the directory for logs and volumes: %s", strerror(errno));
		return 1;
	}
	if (load_config(&arguments, &config, &err) != 0) {
		log_error("%s", err.message);
		return 1;
	}
	program.loop = ev_default_loop(0);
	client = kube_client_new(program.loop, &config, &client_options, &err);
	if (client == NULL) {
		log_error("%s", err.message);
		return 1;
	}
	program.kubelet = kubelet_new(program.loop, client, &arguments.kubelet);
	if (arguments.kubelet.register_nodes &&
	    kubelet_serve_logs(program.kubelet, arguments.tls_cert, arguments.tls_key, &err) != 0) {
		log_error("%s", err.message);
		return 1;
	}
	log_info("Serving %d node%s %s%s, %s Pods, API server by %s", arguments.kubelet.nodes.count,
		 arguments.kubelet.nodes.count == 1 ? "" : "s", arguments.kubelet.nodes.base,
		 arguments.kubelet.nodes.single ? "" : "-*", arguments.kubelet.real ? "real" : "scripted",
		 config.source);
	run(&program, client);
	if (is_temporary)
		runtime_remove_tree(root);
	kube_config_free(&config);
	free(arguments.pod_env);
	return 0;
}
