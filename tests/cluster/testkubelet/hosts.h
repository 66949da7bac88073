/* The /etc/hosts that real Pods see, in place of a cluster's DNS. Pure. */
#ifndef TESTKUBELET_HOSTS_H
#define TESTKUBELET_HOSTS_H

#include <stddef.h>

#include "common/base/buf.h"

/* One Pod with an address; subdomain NULL or "" when it has none. */
struct hosts_pod {
	const char *ip;
	const char *hostname;
	const char *subdomain;
};

/* Appends what is the same for all Pods: localhost. */
void hosts_write_head(struct buf *out);
/* The Pod's own line, which must come first: "ip fqdn hostname". */
void hosts_write_self(struct buf *out, const char *ns, const struct hosts_pod *self);
/* hostname.subdomain[.ns[.svc[.cluster.local]]] of a Pod of the same namespace, which a headless Service of the name
 * `subdomain` selects; nothing when it has no subdomain. */
void hosts_write_pod(struct buf *out, const char *ns, const struct hosts_pod *pod);
/* service[.ns[.svc[.cluster.local]]] for one Pod behind it. */
void hosts_write_service(struct buf *out, const char *ns, const char *service, const char *ip);

#endif
