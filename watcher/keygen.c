/* `fc-watcher keygen`; see keygen.h. */
#include "watcher/keygen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/bus/curve.h"
#include "watcher/flags.h"

static const char usage[] =
	"Usage: fc-watcher keygen DIR [NAME...]\n"
	"Makes the keys of a bus on tcp://, with which its ends know each other and nobody reads along.\n"
	"\n"
	"  DIR/server   for fc-watcher --bus-keys: server.secret, and clients, the public keys of those it lets in;\n"
	"               kept when it is there already\n"
	"  DIR/NAME     for --bus-keys of fc-reconciler or fc-barrier: client.secret and server.public;\n"
	"               without names: reconciler and barrier\n"
	"\n"
	"Each is fit for a Secret of its own. All reconcilers may share one. To shut one out, take its line off "
	"clients: it\n"
	"is read again at once. role=barrier or role=reconciler behind a key, as it is written for names that end so, "
	"and\n"
	"member=NAME limit what it is good for. A new server key takes a restart of the watcher.\n";

int keygen_main(int argc, char **argv)
{
	static const char *const usual[] = {"reconciler", "barrier"};
	struct error err;
	int result;

	if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	}
	if (argc < 1 || argv[0][0] == '-') {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (argc == 1)
		result = curve_keygen(argv[0], usual, ARRAY_LEN(usual), &err);
	else
		result = curve_keygen(argv[0], (const char *const *)(argv + 1), (size_t)(argc - 1), &err);
	if (result < 0) {
		fprintf(stderr, "fc-watcher: keygen: %s\n", err.message);
		return EXIT_FAILURE;
	}
	printf("%s/server is for fc-watcher --bus-keys\n", argv[0]);
	for (int i = 1; i < argc; i++)
		printf("%s/%s is for a peer's --bus-keys\n", argv[0], argv[i]);
	for (size_t i = 0; argc == 1 && i < ARRAY_LEN(usual); i++)
		printf("%s/%s is for a peer's --bus-keys\n", argv[0], usual[i]);
	return EXIT_SUCCESS;
}
