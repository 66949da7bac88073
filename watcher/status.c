/* The subcommand `status`; see status.h. */
#include "watcher/status.h"

#include <ev.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/kube/client.h"
#include "watcher/debug.h"
#include "watcher/flags.h"

#define DEFAULT_HOST "127.0.0.1"
#define DEFAULT_PORT "8080"

enum { TIMEOUT_MS = 5000 };

static const char usage[] = "Usage: fc-watcher status [--http HOST:PORT] [-o table|json]\n"
			    "Shows the leader and the shards of each reconciler. Asks the watcher that "
			    "serves --http at HOST:PORT.\n"
			    "\n"
			    "  --http HOST:PORT   default $POD_IP:" DEFAULT_PORT ", or " DEFAULT_HOST ":" DEFAULT_PORT
			    " if POD_IP is not set\n"
			    "  -o FORMAT          table (default), or json: the answer of /debug/shards\n";

char *status_address(void)
{
	const char *ip = getenv("POD_IP");
	const char *host = ip != NULL && ip[0] != '\0' ? ip : DEFAULT_HOST;

	return strchr(host, ':') != NULL ? mem_printf("[%s]:" DEFAULT_PORT, host)
					 : mem_printf("%s:" DEFAULT_PORT, host);
}

static int print_answer(const struct kube_answer *answer, bool as_json)
{
	cleanup_buf struct buf table = {0};
	cleanup_json json_t *shards = NULL;
	struct error err;

	if (answer->failure != KUBE_OK || answer->http_status != 200) {
		fprintf(stderr, "fc-watcher status: %s: expected the --http address of a running fc-watcher\n",
			answer->message);
		return EXIT_FAILURE;
	}
	shards = json_parse(answer->body, answer->body_len, &err);
	if (!json_is_object(shards)) {
		fprintf(stderr, "fc-watcher status: %s\n",
			shards == NULL ? err.message : "the answer is not a JSON object");
		return EXIT_FAILURE;
	}
	if (as_json) {
		json_dumpf(shards, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
		putchar('\n');
	} else {
		debug_write_table(&table, shards);
		fwrite(table.data, 1, table.len, stdout);
	}
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

char *status_server(const char *address)
{
	const char *colon = strrchr(address, ':');
	const char *first = strchr(address, ':');

	if (address[0] == ':' && first == colon)
		return mem_printf("http://" DEFAULT_HOST "%s", address);
	if (address[0] == '[' || first == colon)
		return mem_printf("http://%s", address);
	return mem_printf("http://[%.*s]%s", (int)(colon - address), address, colon);
}

static int ask(const char *address, bool as_json)
{
	const struct kube_client_options options = {.user_agent = "fc-watcher-status/" RELEASE};
	const struct kube_request request = {.method = "GET", .path = "/debug/shards", .timeout_ms = TIMEOUT_MS};
	cleanup_free char *server = status_server(address);
	struct kube_config config = {.source = "--http", .server = server};
	struct ev_loop *loop = ev_loop_new(0);
	struct kube_answer answer;
	struct kube_client *client;
	struct error err;
	int code = EXIT_FAILURE;

	client = kube_client_new(loop, &config, &options, &err);
	if (client == NULL) {
		fprintf(stderr, "fc-watcher status: %s\n", err.message);
		code = EXIT_BAD_USE;
	} else {
		kube_client_call_wait(client, &request, &answer);
		code = print_answer(&answer, as_json);
		kube_answer_free(&answer);
		kube_client_free(client);
	}
	ev_loop_destroy(loop);
	return code;
}

int status_main(int argc, char **argv)
{
	enum { HTTP = 256, HELP };
	static const struct option options[] = {
		{"http", required_argument, NULL, HTTP},
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, HELP},
		{NULL, 0, NULL, 0},
	};
	cleanup_free char *usual = status_address();
	const char *address = usual;
	const char *format = "table";
	int option;

	while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (option) {
		case HTTP: address = optarg; break;
		case 'o': format = optarg; break;
		case 'h':
		case HELP: fputs(usage, stdout); return EXIT_SUCCESS;
		default: fputs("Try fc-watcher status --help.\n", stderr); return EXIT_BAD_USE;
		}
	}
	if (optind < argc || (strcmp(format, "table") != 0 && strcmp(format, "json") != 0)) {
		fprintf(stderr, "fc-watcher status: %s %s: expected %s\nTry fc-watcher status --help.\n",
			optind < argc ? "unexpected argument" : "-o", optind < argc ? argv[optind] : format,
			optind < argc ? "none" : "table or json");
		return EXIT_BAD_USE;
	}
	return ask(address, strcmp(format, "json") == 0);
}
