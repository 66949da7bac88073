/* /etc/hosts for real Pods; see hosts.h. */
#include "tests/cluster/testkubelet/hosts.h"

#include <stdbool.h>

static void put_names(struct buf *out, const char *name, const char *ns)
{
	buf_printf(out, " %s.%s.svc.cluster.local %s %s.%s %s.%s.svc", name, ns, name, name, ns, name, ns);
}

static bool has_subdomain(const struct hosts_pod *pod)
{
	return pod->subdomain != NULL && pod->subdomain[0] != '\0';
}

void hosts_write_head(struct buf *out)
{
	buf_puts(out, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
}

void hosts_write_self(struct buf *out, const char *ns, const struct hosts_pod *self)
{
	buf_puts(out, self->ip);
	if (has_subdomain(self))
		buf_printf(out, " %s.%s.%s.svc.cluster.local", self->hostname, self->subdomain, ns);
	buf_printf(out, " %s\n", self->hostname);
}

void hosts_write_pod(struct buf *out, const char *ns, const struct hosts_pod *pod)
{
	cleanup_buf struct buf name = {0};

	if (!has_subdomain(pod))
		return;
	buf_printf(&name, "%s.%s", pod->hostname, pod->subdomain);
	buf_puts(out, pod->ip);
	put_names(out, name.data, ns);
	buf_putc(out, '\n');
}

void hosts_write_service(struct buf *out, const char *ns, const char *service, const char *ip)
{
	buf_puts(out, ip);
	put_names(out, service, ns);
	buf_putc(out, '\n');
}
