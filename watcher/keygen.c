/* `fc-watcher keygen`; see keygen.h. */
#include "watcher/keygen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/bus/curve.h"
#include "common/process/process.h"

static const char usage[] =
	"Usage: fc-watcher keygen DIR [NAME...]\n"
	"Makes the keys of a bus on tcp://. They authenticate both ends of a connection and encrypt the messages.\n"
	"\n"
	"  DIR/server   for fc-watcher --bus-keys: server.secret, and clients, the public keys that may connect;\n"
	"               an existing key is kept\n"
	"  DIR/NAME     for --bus-keys of fc-reconciler or fc-barrier: client.secret and server.public\n"
	"               (default names: reconciler and barrier)\n"
	"\n"
	"Store each directory in a Secret of its own. All reconcilers may share one. To revoke a key, delete its line\n"
	"in clients: the watcher reads the file again at once. role=barrier, role=reconciler and member=NAME after a\n"
	"key limit its use; keygen adds the role if NAME ends with barrier or reconciler. Restart the watcher after a\n"
	"change of the server key.\n";

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
		return EXIT_BAD_USE;
	}
	if (argc == 1)
		result = curve_keygen(argv[0], usual, ARRAY_LEN(usual), &err);
	else
		result = curve_keygen(argv[0], (const char *const *)(argv + 1), (size_t)(argc - 1), &err);
	if (result < 0) {
		fprintf(stderr, "fc-watcher: keygen: %s\n", err.message);
		return process_start_code(&err);
	}
	printf("%s/server is for fc-watcher --bus-keys\n", argv[0]);
	for (int i = 1; i < argc; i++)
		printf("%s/%s is for a peer's --bus-keys\n", argv[0], argv[i]);
	for (size_t i = 0; argc == 1 && i < ARRAY_LEN(usual); i++)
		printf("%s/%s is for a peer's --bus-keys\n", argv[0], usual[i]);
	return EXIT_SUCCESS;
}
