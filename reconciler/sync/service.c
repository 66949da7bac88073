/* The Service of spec.network (CONTRACT.md §4.13), a kind of owned.c. */
#include <string.h>

#include "reconciler/sync/owned_kind.h"

static bool service_name(const struct framework *framework, char name[OWNED_NAME_SIZE])
{
	if (!framework->spec.network.hostnames)
		return false;
	strncpy(name, framework_spec_subdomain(&framework->spec, framework->name), OWNED_NAME_SIZE - 1);
	return true;
}

static size_t service_resources(const struct framework *framework,
				const struct owned_resource *resources[OWNED_RESOURCES_MAX])
{
	(void)framework;
	resources[0] = owned_api_resource(API_CORE);
	return 1;
}

/* Headless: the names of the Pods, and no address of its own. */
static void write_service(const struct framework *framework, struct buf *out)
{
	buf_printf(out,
		   "{\"clusterIP\":\"None\",\"publishNotReadyAddresses\":%s,\"selector\":{\"" FC_FRAMEWORK_NAME
		   "\":\"%s\"}}",
		   framework->spec.network.publish_not_ready ? "true" : "false", framework->name);
}

const struct owned_kind service_kind = {
	.kind = "Service",
	.failed_create = "FailedCreateService",
	.hint = ". The rights that spec.network needs are in manifests/rbac/network; Pods are created after it",
	.name = service_name,
	.resources = service_resources,
	.write_spec = write_service,
};
