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

/* Linux refuses to start a program with one environment string longer than this (MAX_ARG_STRLEN, execve(2)). */
enum { ENVIRONMENT_STRING_MAX = 128 * 1024 };

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

/* Quoted, since export's words are subject to splitting and patterns in dash and ash, where [ begins one. */
static int put_variable(struct buf *out, const struct gang_role *role, const char *env_name, bool with_port,
			struct error *err)
{
	const char *suffix = with_port ? "ADDRESSES" : "IPS";
	size_t begin = out->len;
	char ip[INET6_ADDRSTRLEN];

	buf_printf(out, "export FB_%s_%s=\"", env_name, suffix);
	for (int32_t i = 0; i < role->task_number; i++) {
		if (i > 0)
			buf_putc(out, ',');
		if (read_ip(role, i, ip, err) < 0)
			return -1;
		put_ip(out, ip, env_name, with_port);
	}
	if (out->len - begin > ENVIRONMENT_STRING_MAX)
		log_warning("FB_%s_%s is too long for an environment variable: read framework.json instead", env_name,
			    suffix);
	buf_printf(out, "\"\necho \"FB_%s_%s=${FB_%s_%s}\"\n", env_name, suffix, env_name, suffix);
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
