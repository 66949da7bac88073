/* The common parts of all programs' starts: common options, signals, the client of the API server, health. */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include <ev.h>
#include <getopt.h>
#include <stdbool.h>

#include "common/base/error.h"
#include "common/bus/curve.h"
#include "common/config/config.h"
#include "common/kube/client.h"
#include "common/kube/kubeconfig.h"
#include "common/serve/serve.h"

enum { EXIT_BAD_USE = 2 }; /* also for an invalid configuration */

/* Strings are those of argv; NULL where not given. kubeconfig and address may be "": none, whatever the configuration
 * and the environment say. */
struct process_flags {
	const char *name;      /* on the bus; fc-watcher has none */
	const char *verbosity; /* of -v */
	const char *bus;
	struct bus_security security; /* of the bus */
	const char *config;
	const char *kubeconfig;
	const char *context; /* of the kubeconfig */
	const char *address;
	const char *expected_server; /* of --expect-server */
	const char *http;
	const char *http_option; /* the name of --http in messages, if it is another one */
	bool http_insecure;
	enum config_unknown unknown_keys;
};

/* Values of the common options, larger than any character that a program uses as an option. */
enum process_option {
	PROCESS_NAME = 1000,
	PROCESS_BUS,
	PROCESS_BUS_KEYS,
	PROCESS_BUS_INSECURE,
	PROCESS_CONFIG,
	PROCESS_STRICT_CONFIG,
	PROCESS_KUBECONFIG,
	PROCESS_CONTEXT,
	PROCESS_ADDRESS,
	PROCESS_EXPECT_SERVER,
	PROCESS_HTTP,
	PROCESS_HTTP_INSECURE,
	PROCESS_HELP,
	PROCESS_VERSION,
};

/* For getopt_long(), of programs on the bus; also {"name", required_argument, NULL, PROCESS_NAME}, if it connects to
 * the watcher. */
#define PROCESS_BUS_OPTIONS                                                                                     \
	{"bus", required_argument, NULL, PROCESS_BUS}, {"bus-keys", required_argument, NULL, PROCESS_BUS_KEYS}, \
	{                                                                                                       \
		"bus-insecure", no_argument, NULL, PROCESS_BUS_INSECURE                                         \
	}

/* The same with "v:h"; --v=N is what components of Kubernetes take. Put the program's other options before them, and
 * an empty one after them. */
#define PROCESS_OPTIONS                                                                                           \
	{"config", required_argument, NULL, PROCESS_CONFIG},                                                      \
		{"strict-config", no_argument, NULL, PROCESS_STRICT_CONFIG},                                      \
		{"kubeconfig", required_argument, NULL, PROCESS_KUBECONFIG},                                      \
		{"context", required_argument, NULL, PROCESS_CONTEXT},                                            \
		{"address", required_argument, NULL, PROCESS_ADDRESS},                                            \
		{"expect-server", required_argument, NULL, PROCESS_EXPECT_SERVER},                                \
		{"http", required_argument, NULL, PROCESS_HTTP},                                                  \
		{"http-insecure", no_argument, NULL, PROCESS_HTTP_INSECURE}, {"v", required_argument, NULL, 'v'}, \
		{"help", no_argument, NULL, PROCESS_HELP},                                                        \
	{                                                                                                         \
		"version", no_argument, NULL, PROCESS_VERSION                                                     \
	}

/* The lines of --help for them. */
#define PROCESS_USAGE                                                                                         \
	"  --name NAME        name of this process on the bus (default: the host name)\n"                     \
	"  --bus ENDPOINT     the watcher's bus, ipc://path or tcp://host:port (default: busAddress of the "  \
	"configuration)\n"                                                                                    \
	"                     of several watchers: ENDPOINT,ENDPOINT\n"                                       \
	"  --bus-keys DIR     the key of this process, and the watcher's public key; see fc-watcher keygen\n" \
	"  --bus-insecure     connect to a watcher on another machine without keys\n"                         \
	"  --config FILE      configuration (default ./frameworkcontroller.yaml)\n"                           \
	"  --strict-config    refuse unknown keys in the configuration\n"                                     \
	"  --kubeconfig FILE  overrides kubeConfigFilePath\n"                                                 \
	"  --context NAME     use this context of the kubeconfig instead of current-context\n"                \
	"  --address URL      overrides kubeApiServerAddress\n"                                               \
	"  --expect-server URL  end with an error if the API server has another address than this\n"          \
	"  --http HOST:PORT   serve /healthz, /readyz and /metrics on a loopback address, without TLS\n"      \
	"  --http-insecure    allow --http on an address that other machines can reach\n"                     \
	"  -v LEVEL           log level, 0 (default) to 10\n"                                                 \
	"  --help, --version\n"

/* Handles one of these options, or -v, of getopt_long(). 0; 1: --help; -1: another option, or a mistake, which is
 * printed on stderr. */
int process_flag(const char *program, int option, const char *argument, struct process_flags *flags);

/* Creates the client, and logs the process's name, its bus and its API server.
 * A process has one. NULL and *err when there is no usable API server address or credential, or if the address is not
 * the one of --expect-server. The qps, burst and user agent are the caller's. */
struct kube_client *process_client(struct ev_loop *loop, const struct process_flags *flags, const struct config *config,
				   const struct kube_client_options *options, struct error *err);

/* The API server and credentials of process_client(). Borrowed. */
const struct kube_config *process_api_server(void);

/* The exit code of a program that cannot start: EXIT_FAILURE if the machine lacks something at the moment (the address
 * is in use, no descriptors are left); else EXIT_BAD_USE, since then the command line, the configuration or a file that
 * they name is wrong. */
int process_start_code(const struct error *err);

/* The endpoint of the bus to connect to. Borrowed. */
const char *process_bus(const struct process_flags *flags, const struct config *config);

/* How long a loop gathers the events of a stream (gather.h): one with deadlines of people, any other one, and one that
 * waits for more anyway. */
enum { GATHER_SOON_MS = 2, GATHER_STREAM_MS = 20, GATHER_SLOW_MS = 100 };

/* The process's loop, of which there is one; the caller destroys it. Ends the process if no loop can be created. */
struct ev_loop *process_loop(int gather_ms);

/* Another time from now on: gather_part_ms, gather_peers_ms. */
void process_gather(int most_ms);
/* How long the present turn of the loop gathers; 0: events have lately come alone. */
int process_gathers_ms(void);

/* Handles the watcher's refusal: logs it, and the same reason at most once a minute. True if it is final: the loop
 * ends, and the program must exit with an error. */
bool process_refused(struct ev_loop *loop, const char *reason, bool final);

/* Serves --http, if the flag is set, without TLS, and logs "listening on http://HOST:PORT". -1 and *err naming the
 * address, for example if it is in use, or if other machines can reach it without --http-insecure (common/README.md
 * §12.1). */
int process_serve(struct ev_loop *loop, const struct process_flags *flags, const struct serve_options *options,
		  struct serve **out, struct error *err);

/* SIGTERM and SIGINT call end, each time; SIGHUP reads the client's credentials again, and calls reloaded unless that
 * is NULL. */
struct process_signals {
	ev_signal terminate;
	ev_signal interrupt;
	ev_signal hangup;
	void (*end)(void *arg);
	void (*reloaded)(void *arg); /* to be set after the start */
	void *arg;
	struct kube_client **client; /* address of the variable that will hold it */
};

void process_signals_start(struct process_signals *signals, struct ev_loop *loop, void (*end)(void *arg), void *arg,
			   struct kube_client **client);

#endif
