/* Credentials and their renewal; see credentials.h. */
#define _GNU_SOURCE
#include "common/kube/config/credentials.h"

#include <ctype.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

enum { LOOK_EVERY_MS = 5000, READ_TOKEN_EVERY_MS = 60000 };
/* A CA bundle may be large, a token is a few KiB; past this the path is surely a mistake. */
enum { CREDENTIAL_MAX_BYTES = 4 * 1024 * 1024 };
/* A plugin runs again this long before its credentials expire, or in the last tenth of their life if that is shorter.
 * The old ones stay in use meanwhile. */
enum { RENEW_BEFORE_S = 60, RENEW_LIFE_PART = 10 };
/* A plugin that fails runs again after 1 s, 2 s, … 30 s; one whose credentials are refused, at most this often. */
enum { FAILED_FIRST_MS = 1000, FAILED_MAX_MS = 30000, REFUSED_AGAIN_MS = 10000 };

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
	struct file_stamp stamp;

	if (credential->path == NULL)
		return 0;
	if (file_read(credential->path, CREDENTIAL_MAX_BYTES, &text, &stamp, err) < 0)
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
	credential->stamp = stamp;
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

/* A token of the user's goes before a plugin, as client-go has it. */
static void prepare_exec(struct credentials_exec *exec, const struct kube_config *config)
{
	exec->used = config->exec != NULL && config->token == NULL && config->token_file == NULL;
	exec->time_ms = EXEC_TIME_MAX_MS;
}

int credentials_load(struct credentials *credentials, const struct kube_config *config, struct ev_loop *loop,
		     credentials_settled *settled, void *arg, struct error *err)
{
	*credentials = (struct credentials){
		.config = config,
		.looked_ms = clock_boot_ms(),
		.token_read_ms = clock_boot_ms(),
		.exec = {.loop = loop, .settled = settled, .arg = arg},
	};
	prepare_exec(&credentials->exec, config);
	if (credentials->exec.used && !ev_is_default_loop(loop))
		return error_set(err, "%s: plugins run on the default loop only", config->exec->place);
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
	exec_plugin_free(credentials->exec.running);
	free(credentials->exec.failure);
	credentials->exec.running = NULL;
	credentials->exec.failure = NULL;
	free_one(&credentials->token);
	free_one(&credentials->ca);
	free_one(&credentials->client_cert);
	free_one(&credentials->client_key);
}

static bool refresh_one(struct credential *credential, bool force)
{
	struct file_stamp now;
	struct error err;
	int changed;

	if (credential->path == NULL)
		return false;
	now = file_stamp_now(credential->path);
	if (!force && file_stamp_same(&now, &credential->stamp))
		return false;
	changed = read_credential(credential, &err);
	if (changed < 0 && !credential->failing)
		log_warning("%s; keeping the one that was read before", err.message);
	credential->failing = changed < 0;
	if (changed > 0)
		log_info("%s has changed: read it again", credential->path);
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
	if (force)
		credentials->exec.renew_s = 0;
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

/* ---- exec plugins ---- */

/* The text (consumed) in place of the old one. Whether it is another one. */
static bool replace_text(struct credential *credential, char **text)
{
	bool other = credential->text == NULL || strcmp(credential->text, *text) != 0;

	free_one(credential);
	credential->text = *text;
	*text = NULL;
	return other;
}

static int64_t wall_s(void)
{
	return clock_wall_ms() / 1000;
}

static void note_life(struct credentials_exec *exec, int64_t expires_s)
{
	int64_t life_s = expires_s - wall_s();

	exec->expires_s = exec->renew_s = expires_s;
	if (expires_s != INT64_MAX && life_s > 0)
		exec->renew_s -= life_s / RENEW_LIFE_PART < RENEW_BEFORE_S ? life_s / RENEW_LIFE_PART : RENEW_BEFORE_S;
}

static void take_given(struct credentials *credentials, struct exec_credential *given)
{
	bool tls = false;

	if (given->token != NULL)
		replace_text(&credentials->token, &given->token);
	else
		free_one(&credentials->token);
	if (given->client_cert == NULL && credentials->exec.gave_cert) {
		free_one(&credentials->client_cert);
		free_one(&credentials->client_key);
		tls = true;
	}
	credentials->exec.gave_cert = given->client_cert != NULL;
	if (given->client_cert != NULL) {
		tls = replace_text(&credentials->client_cert, &given->client_cert);
		tls |= replace_text(&credentials->client_key, &given->client_key);
	}
	credentials->token_generation++;
	if (tls)
		credentials->tls_generation++;
	note_life(&credentials->exec, given->expires_s);
	credentials->exec.given = true;
}

/* The former credentials stay in use while they are valid. Consumes message. */
static void note_failure(struct credentials_exec *exec, char *message)
{
	exec->failures++;
	exec->failed_ms = clock_boot_ms();
	exec->refused = false;
	log_warning("%s", message);
	free(exec->failure);
	exec->failure = message;
}

static void on_exec_done(void *arg, struct exec_credential *given, const char *failure)
{
	struct credentials *credentials = arg;
	struct credentials_exec *exec = &credentials->exec;

	exec->running = NULL;
	if (given != NULL && given->expires_s <= wall_s()) {
		/* (taken, it would be asked for again at once, without end) */
		note_failure(exec,
			     mem_printf("%s: its credentials had already expired", credentials->config->exec->place));
	} else if (given != NULL) {
		exec->failures = 0;
		exec->refused = false;
		take_given(credentials, given);
		log_info("%s: got new credentials", credentials->config->exec->place);
	} else {
		note_failure(exec, mem_strdup(failure));
	}
	if (given != NULL)
		exec_credential_free(given);
	exec->settled(exec->arg);
}

static int64_t pause_ms(const struct credentials_exec *exec)
{
	return backoff_doubled(FAILED_FIRST_MS, (int)exec->failures - 1, FAILED_MAX_MS);
}

static void ask_exec(struct credentials *credentials)
{
	struct credentials_exec *exec = &credentials->exec;
	struct error err;

	if (exec->running != NULL || (exec->failures > 0 && clock_boot_ms() - exec->failed_ms < pause_ms(exec)))
		return;
	exec->running = exec_plugin_start(exec->loop, credentials->config, credentials->ca.text, exec->time_ms,
					  on_exec_done, credentials, &err);
	if (exec->running == NULL)
		note_failure(exec, mem_strdup(err.message));
}

enum credentials_state credentials_ready(struct credentials *credentials, const char **why)
{
	struct credentials_exec *exec = &credentials->exec;
	int64_t now_s = wall_s();
	bool serves;

	if (!exec->used)
		return CREDENTIALS_READY;
	if (!exec->given || exec->refused || now_s >= exec->renew_s)
		ask_exec(credentials);
	serves = exec->given && !exec->refused && now_s < exec->expires_s;
	if (serves)
		return CREDENTIALS_READY;
	if (exec->running != NULL)
		return CREDENTIALS_COMING;
	*why = exec->failure;
	return CREDENTIALS_NONE;
}

/* Whether the plugin is to be asked, or was asked since. */
static bool exec_rejected(struct credentials *credentials, unsigned generation)
{
	struct credentials_exec *exec = &credentials->exec;

	if (generation != credentials->token_generation || exec->refused || exec->running != NULL)
		return true;
	if (exec->refused_ms != 0 && clock_boot_ms() - exec->refused_ms < REFUSED_AGAIN_MS)
		return false;
	exec->refused = true;
	exec->refused_ms = clock_boot_ms();
	return true;
}

bool credentials_rejected(struct credentials *credentials, unsigned generation)
{
	if (credentials->exec.used)
		return exec_rejected(credentials, generation);
	if (credentials->token.path == NULL)
		return false;
	credentials->token_read_ms = clock_boot_ms();
	if (refresh_one(&credentials->token, true))
		credentials->token_generation++;
	return true;
}

/* ---- what is sent ---- */

char *credentials_authorization(const struct credentials *credentials)
{
	return credentials->token.text == NULL ? NULL : mem_printf("Authorization: Bearer %s", credentials->token.text);
}
