/* Credentials and their renewal; see credentials.h. */
#define _GNU_SOURCE
#include "common/kube/credentials.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

enum { LOOK_EVERY_MS = 5000, READ_TOKEN_EVERY_MS = 60000 };
/* A CA bundle may be large, a token is a few KiB; past this the path is surely a mistake. */
enum { CREDENTIAL_MAX_BYTES = 4 * 1024 * 1024 };

static void note_file(struct credential *credential, const struct stat *info)
{
	credential->mtime_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
	credential->inode = info->st_ino;
	credential->size = info->st_size;
}

static int read_all(int fd, const char *path, struct buf *text, struct error *err)
{
	for (;;) {
		ssize_t count;

		buf_reserve(text, 4096);
		count = read(fd, text->data + text->len, 4096);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_set_errno(err, errno, "read %s", path);
		if (count == 0)
			return 0;
		text->len += (size_t)count;
		text->data[text->len] = '\0';
		if (text->len > CREDENTIAL_MAX_BYTES)
			return error_set(err, "%s: larger than %d bytes", path, CREDENTIAL_MAX_BYTES);
	}
}

static void trim(struct buf *text)
{
	size_t start = 0;

	while (text->len > 0 && isspace((unsigned char)text->data[text->len - 1]))
		text->len--;
	text->data[text->len] = '\0';
	while (isspace((unsigned char)text->data[start]))
		start++;
	buf_consume(text, start);
}

/* 1 when the text changed, 0 when not, -1 on failure (the old text is kept). */
static int read_credential(struct credential *credential, struct error *err)
{
	cleanup_buf struct buf text = {0};
	cleanup_close int fd = -1;
	struct stat info;

	if (credential->path == NULL)
		return 0;
	fd = open(credential->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_set_errno(err, errno, "open %s", credential->path);
	if (fstat(fd, &info) < 0)
		return error_set_errno(err, errno, "stat %s", credential->path);
	if (!S_ISREG(info.st_mode))
		return error_set(err, "%s: not a regular file", credential->path);
	if (read_all(fd, credential->path, &text, err) < 0)
		return -1;
	if (credential->trim)
		trim(&text);
	if (text.len == 0)
		return error_set(err, "%s: empty", credential->path);
	/* a line break in a token would be a header of its own */
	if (credential->trim && strpbrk(text.data, "\r\n") != NULL)
		return error_set(err, "%s: found several lines, expected one token", credential->path);
	/* a file that is just being written, or another one by mistake */
	if (!credential->trim && strstr(text.data, "-----BEGIN ") == NULL)
		return error_set(err, "%s: found no \"-----BEGIN \", expected PEM", credential->path);
	note_file(credential, &info);
	if (credential->text != NULL && strcmp(credential->text, text.data) == 0)
		return 0;
	if (credential->text != NULL)
		explicit_bzero(credential->text, strlen(credential->text));
	free(credential->text);
	credential->text = buf_steal(&text);
	return 1;
}

static int load_one(struct credential *credential, const char *data, const char *path, const char *what,
		    struct error *err)
{
	*credential = (struct credential){.trim = strcmp(what, "token") == 0};
	if (data != NULL) {
		credential->text = mem_strdup(data);
		return 0;
	}
	credential->path = path;
	return read_credential(credential, err) < 0 ? error_wrap(err, "%s", what) : 0;
}

int credentials_load(struct credentials *credentials, const struct kube_config *config, struct error *err)
{
	*credentials = (struct credentials){.looked_ms = clock_boot_ms(), .token_read_ms = clock_boot_ms()};
	if (load_one(&credentials->token, config->token, config->token_file, "token", err) < 0 ||
	    load_one(&credentials->ca, config->ca_data, config->ca_file, "certificate authority", err) < 0 ||
	    load_one(&credentials->client_cert, config->client_cert_data, config->client_cert_file,
		     "client certificate", err) < 0 ||
	    load_one(&credentials->client_key, config->client_key_data, config->client_key_file, "client key", err) <
		    0) {
		credentials_free(credentials);
		return -1;
	}
	return 0;
}

static void free_one(struct credential *credential)
{
	if (credential->text != NULL)
		explicit_bzero(credential->text, strlen(credential->text));
	free(credential->text);
	*credential = (struct credential){0};
}

void credentials_free(struct credentials *credentials)
{
	free_one(&credentials->token);
	free_one(&credentials->ca);
	free_one(&credentials->client_cert);
	free_one(&credentials->client_key);
}

/* Whether the file is another one than the one that was read, by its looks. */
static bool file_changed(const struct credential *credential)
{
	struct credential now = {0};
	struct stat info;

	if (credential->path == NULL)
		return false;
	if (stat(credential->path, &info) < 0)
		return true; /* reading it will say why */
	note_file(&now, &info);
	return now.mtime_ns != credential->mtime_ns || now.inode != credential->inode || now.size != credential->size;
}

static bool refresh_one(struct credential *credential, bool force)
{
	struct error err;
	int changed;

	if (credential->path == NULL || (!force && !file_changed(credential)))
		return false;
	changed = read_credential(credential, &err);
	if (changed < 0 && !credential->failing)
		log_warning("%s; the one read before stays in use", err.message);
	credential->failing = changed < 0;
	if (changed > 0)
		log_info("%s: read again, it has changed", credential->path);
	return changed > 0;
}

void credentials_refresh(struct credentials *credentials, bool force)
{
	int64_t now_ms = clock_boot_ms();
	bool read_token = force || now_ms - credentials->token_read_ms >= READ_TOKEN_EVERY_MS;
	bool tls;

	if (!force && now_ms - credentials->looked_ms < LOOK_EVERY_MS)
		return;
	credentials->looked_ms = now_ms;
	if (read_token)
		credentials->token_read_ms = now_ms;
	if (refresh_one(&credentials->token, read_token))
		credentials->token_generation++;
	tls = refresh_one(&credentials->ca, force);
	/* the pair is replaced file by file; a mismatch fails the handshakes until the next look */
	tls |= refresh_one(&credentials->client_cert, force);
	tls |= refresh_one(&credentials->client_key, force);
	if (tls)
		credentials->tls_generation++;
}

bool credentials_reread_token(struct credentials *credentials)
{
	if (credentials->token.path == NULL)
		return false;
	credentials->token_read_ms = clock_boot_ms();
	if (refresh_one(&credentials->token, true))
		credentials->token_generation++;
	return true;
}
