/* Writes framework.json and injector.sh; see output.h. */
#define _GNU_SOURCE
#include "barrier/init/output.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/framework/network.h"

enum { PORT_DIGITS_MAX = 5 };

/* ---- the injector ------------------------------------------------------------------------------------------------ */

/* An address in digits alone: nothing in it means anything to a shell. inet_pton takes no scope ("%eth0"), no name. */
static int read_ip(const struct gang_role *role, int32_t task, char out[INET6_ADDRSTRLEN], struct error *err)
{
	const struct json_span *ip = &role->ips[task];
	unsigned char address[sizeof(struct in6_addr)];

	if (ip->len < INET6_ADDRSTRLEN) {
		json_span_decode(ip, out);
		if (inet_pton(AF_INET, out, address) == 1 || inet_pton(AF_INET6, out, address) == 1)
			return 0;
	}
	return error_set(err, "podIP of Task %s-%" PRId32 " is \"%.*s\", expected an IP address", role->name, task,
			 (int)(ip->len < 100 ? ip->len : 100), ip->at);
}

static void put_ip(struct buf *out, const char *ip, const char *env_name, bool with_port)
{
	if (!with_port)
		buf_puts(out, ip);
	else
		buf_printf(out, strchr(ip, ':') != NULL ? "[%s]:${FB_%s_PORT}" : "%s:${FB_%s_PORT}", ip, env_name);
}

/* Quoted, since export's words are subject to splitting and patterns in dash and ash, where [ begins one. Exported, a
 * value that is too long would keep every later command of the container from starting. */
static int put_variable(struct buf *out, const struct gang_role *role, const char *env_name, bool with_port,
			struct error *err)
{
	cleanup_free char *name = mem_printf("FB_%s_%s", env_name, with_port ? "ADDRESSES" : "IPS");
	cleanup_buf struct buf value = {0};
	size_t port_len = strlen("${FB_") + strlen(env_name) + strlen("_PORT}");
	size_t len;
	char ip[INET6_ADDRSTRLEN];

	for (int32_t i = 0; i < role->task_number; i++) {
		if (i > 0)
			buf_putc(&value, ',');
		if (read_ip(role, i, ip, err) < 0)
			return -1;
		put_ip(&value, ip, env_name, with_port);
	}
	len = strlen(name) + strlen("=") + value.len + 1;
	if (with_port)
		len = len - (size_t)role->task_number * port_len + (size_t)role->task_number * PORT_DIGITS_MAX;
	if (len > VARIABLE_MAX) {
		log_warning("%s is too long for an environment variable: it is not exported; read framework.json",
			    name);
		buf_printf(out,
			   "echo \"%s is too long for an environment variable: it is not exported\" >&2\nunset %s\n",
			   name, name);
	} else {
		buf_puts(out, "export ");
	}
	buf_printf(out, "%s=\"%s\"\necho \"%s=${%s}\"\n", name, value.data == NULL ? "" : value.data, name, name);
	return 0;
}

int injector_write(struct buf *out, const struct gang *gang, struct error *err)
{
	buf_puts(out, "#!/bin/bash\n");
	for (const struct gang_role *role = gang->roles; role != NULL; role = role->hh.next) {
		cleanup_free char *env_name = mem_strdup(role->name);

		for (char *c = env_name; *c != '\0'; c++)
			*c = (char)toupper((unsigned char)*c);
		buf_putc(out, '\n');
		if (put_variable(out, role, env_name, false, err) < 0 ||
		    put_variable(out, role, env_name, true, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int write_file(const char *directory, const char *name, mode_t mode, const char *data, size_t len,
		      struct error *err)
{
	cleanup_free char *path = mem_printf("%s/%s", directory, name);
	cleanup_free char *temporary = mem_printf("%s/.%s.XXXXXX", directory, name);
	int fd = mkostemp(temporary, O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, errno, "create %s", temporary);
	if (fchmod(fd, mode) < 0 || file_write(fd, data, len) < 0) {
		error_set_errno(err, errno, "write %s", temporary);
		close(fd);
		unlink(temporary);
		return -1;
	}
	if (close(fd) < 0 || rename(temporary, path) < 0) {
		error_set_errno(err, errno, "write %s", path);
		unlink(temporary);
		return -1;
	}
	return 0;
}

int output_write(const char *directory, const char *framework, const struct buf *injector, struct error *err)
{
	if (write_file(directory, "framework.json", 0644, framework, strlen(framework), err) < 0)
		return -1;
	return write_file(directory, "injector.sh", 0755, injector->data, injector->len, err);
}
