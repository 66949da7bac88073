/* The server as a whole, without its network; see api.h. */
#include "tests/cluster/testapi/api.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "tests/cluster/testapi/access.h"
#include "tests/cluster/testapi/faults.h"
#include "tests/cluster/testapi/gc.h"
#include "tests/cluster/testapi/log.h"
#include "tests/cluster/testapi/namespaces.h"
#include "tests/cluster/testapi/store.h"

enum { EVENT_LOG_DEFAULT = 16384 };

static void wake_nobody(void *arg, struct api_watch *watch)
{
	(void)arg;
	(void)watch;
}

struct api *api_new(struct ev_loop *loop, const struct api_options *options, struct error *err)
{
	struct api *api = mem_calloc(1, sizeof(*api));

	api->loop = loop;
	api->options = *options;
	if (api->options.event_log == 0)
		api->options.event_log = EVENT_LOG_DEFAULT;
	if (api->options.bookmark_sec <= 0)
		api->options.bookmark_sec = 60;
	if (api->options.gc_delay_sec <= 0)
		api->options.gc_delay_sec = 0.005;
	api->version = options->first_version;
	api->wake = wake_nobody;
	random_init(&api->random);
	api->access = access_new(options->token_file, err);
	if (api->access == NULL) {
		free(api);
		return NULL;
	}
	api->faults = api_faults_new();
	api->gc = api_gc_new(api);
	api_resource_builtins(api);
	api_namespaces_create(api);
	return api;
}

void api_free(struct api *api)
{
	struct api_resource *resource;
	struct api_resource *next;

	api_log_clients_free(api);
	api_gc_free(api->gc);
	LL_FOREACH_SAFE(api->resources, resource, next)
		api_resource_free(resource);
	api_faults_free(api->faults);
	access_free(api->access);
	free(api);
}
