/* The common parts of all programs' starts; see process.h. */
#include "common/process/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/address.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/kube/config/url.h"
#include "common/process/arguments.h"
#include "common/process/gather.h"

/* Of serve.h's connections: a flood of idle ones does not keep the kubelet's probes out. */
enum { SPARE_CONNECTIONS = 16 };

static struct gather gather; /* of the process's loop */
static struct kube_config api_server;

int process_flag(const char *program, int option, const char *argument, struct process_flags *flags)
{
	int64_t level = 0;

	switch (option) {
	case PROCESS_NAME: flags->name = argument; break;
	case PROCESS_BUS: flags->bus = argument; break;
	case PROCESS_BUS_KEYS: flags->security.keys = argument; break;
	case PROCESS_BUS_INSECURE: flags->security.insecure = true; break;
	case PROCESS_CONFIG: flags->config = argument; break;
	case PROCESS_STRICT_CONFIG: flags->unknown_keys = CONFIG_UNKNOWN_REFUSE; break;
	case PROCESS_KUBECONFIG: flags->kubeconfig = argument; break;
	case PROCESS_CONTEXT: flags->context = argument; break;
	case PROCESS_ADDRESS: flags->address = argument; break;
	case PROCESS_EXPECT_SERVER: flags->expected_server = argument; break;
	case PROCESS_HTTP: flags->http = argument; break;
	case PROCESS_HTTP_INSECURE: flags->http_insecure = true; break;
	case 'v':
		flags->verbosity = argument;
		if (process_verbosity(program, argument, &level) < 0)
			return -1;
		log_verbosity = (int)level;
		break;
	case 'h':
	case PROCESS_HELP: return 1;
	case PROCESS_VERSION: release_print(program);
	default: fprintf(stderr, "Try %s --help.\n", program); return -1;
	}
	return 0;
}

struct kube_client *process_client(struct ev_loop *loop, const struct process_flags *flags, const struct config *config,
				   const struct kube_client_options *options, struct error *err)
{
	cleanup_free char *expected = NULL;
	struct kube_client *client;

	/* (fc-watcher warns for its pool) */
	if (flags->kubeconfig == NULL && config->kube_config_from_environment &&
	    flags->unknown_keys != CONFIG_UNKNOWN_IGNORE)
		config_warn_kubeconfig(config->kube_config_file_path);
	if (kube_config_load(flags->address != NULL ? flags->address : config->kube_api_server_address,
			     flags->kubeconfig != NULL ? flags->kubeconfig : config->kube_config_file_path,
			     flags->context, &api_server, err) < 0) {
		if (flags->kubeconfig == NULL && !config->kube_config_from_environment &&
		    strncmp(err->message, "kubeconfig", strlen("kubeconfig")) == 0)
			error_wrap(err, "kubeConfigFilePath");
		return NULL;
	}
	/* (given in another form, it may be the same) */
	if (flags->expected_server != NULL && url_check_server(flags->expected_server, &expected) != NULL)
		expected = mem_strdup(flags->expected_server);
	if (expected != NULL && strcmp(expected, api_server.server) != 0) {
		error_set(err, "%s: found the API server %s, expected %s (--expect-server)", api_server.source,
			  api_server.server, expected);
		return NULL;
	}
	if (flags->name == NULL)
		log_info("API server: %s", api_server.source);
	else
		log_info("this is %s; the bus: %s; API server: %s", flags->name, process_bus(flags, config),
			 api_server.source);
	client = kube_client_new(loop, &api_server, options, err);
	gather_for(&gather, client);
	return client;
}

const struct kube_config *process_api_server(void)
{
	return &api_server;
}

int process_start_code(const struct error *err)
{
	switch (err->code) {
	case EADDRINUSE:
	case EADDRNOTAVAIL: /* one that this machine may still get */
	case EAGAIN:        /* the resolver does not answer */
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOSPC: return EXIT_FAILURE;
	default: return EXIT_BAD_USE;
	}
}

const char *process_bus(const struct process_flags *flags, const struct config *config)
{
	return flags->bus != NULL ? flags->bus : config->bus_address;
}

bool process_refused(struct ev_loop *loop, const char *reason, bool final)
{
	static struct log_last last; /* it comes each second */

	if (!final) {
		if (log_is_news(&last, clock_boot_ms(), reason))
			log_warning("the watcher refused this process for now: %s; trying again", reason);
		return false;
	}
	log_error("the watcher refused this process for good: %s", reason);
	ev_break(loop, EVBREAK_ALL);
	return true;
}

struct ev_loop *process_loop(int gather_ms)
{
	struct ev_loop *loop = ev_default_loop(0);

	if (loop == NULL) {
		log_error("cannot create the event loop: epoll is missing, or no file descriptors are left");
		exit(EXIT_FAILURE);
	}
	gather_start(&gather, loop, gather_ms);
	return loop;
}

void process_gather(int most_ms)
{
	gather_set(&gather, most_ms);
}

int process_gathers_ms(void)
{
	return gather.now_ms;
}

int process_serve(struct ev_loop *loop, const struct process_flags *flags, const struct serve_options *options,
		  struct serve **out, struct error *err)
{
	const char *option = flags->http_option != NULL ? flags->http_option : "--http";
	struct serve_options filled = *options;

	if (flags->http == NULL)
		return 0;
	filled.address = flags->http;
	if (filled.spare == 0)
		filled.spare = SPARE_CONNECTIONS;
	*out = serve_new(loop, &filled, err);
	if (*out == NULL)
		return error_wrap(err, "%s", option);
	/* asked of the listener, as a name may mean any address */
	if (!flags->http_insecure && !address_is_loopback(serve_address(*out))) {
		serve_free(*out);
		*out = NULL;
		return error_set(err,
				 "%s %s can be reached from other machines: expected a loopback address, "
				 "127.0.0.1:PORT (or --http-insecure)",
				 option, flags->http);
	}
	log_info("listening on http://%s", serve_address(*out));
	return 0;
}

static void on_end(struct ev_loop *loop, ev_signal *signal, int events)
{
	const struct process_signals *signals = signal->data;

	(void)loop;
	(void)events;
	log_info("received signal %d, stopping", signal->signum);
	signals->end(signals->arg);
}

static void on_hangup(struct ev_loop *loop, ev_signal *signal, int events)
{
	const struct process_signals *signals = signal->data;

	(void)loop;
	(void)events;
	if (*signals->client == NULL)
		return;
	log_info("reading the files of credentials again");
	kube_client_reload(*signals->client);
	if (signals->reloaded != NULL)
		signals->reloaded(signals->arg);
}

void process_signals_start(struct process_signals *signals, struct ev_loop *loop, void (*end)(void *arg), void *arg,
			   struct kube_client **client)
{
	signals->end = end;
	signals->arg = arg;
	signals->client = client;
	ev_signal_init(&signals->terminate, on_end, SIGTERM);
	ev_signal_init(&signals->interrupt, on_end, SIGINT);
	ev_signal_init(&signals->hangup, on_hangup, SIGHUP);
	signals->terminate.data = signals->interrupt.data = signals->hangup.data = signals;
	ev_signal_start(loop, &signals->terminate);
	ev_signal_start(loop, &signals->interrupt);
	ev_signal_start(loop, &signals->hangup);
}
