/* libcurl's handles with the options that are the same for all calls of a transport. A handle keeps them from one call
 * to the next. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/kube/client/call.h"

/* The bytes that a stream reads at once: events that were gathered (process/gather.h) come together. */
enum { STREAM_READ_BYTES = 128 * 1024 };

/* ---- the server's address ---- */

static int take_apart(struct kube_client *client, struct error *err)
{
	CURLUcode code;

	client->url = curl_url();
	if (client->url == NULL)
		mem_exhausted();
	code = curl_url_set(client->url, CURLUPART_URL, client->url_base, 0);
	return code == CURLUE_OK ? 0
				 : error_set(err, "%s: server \"%s\": %s", client->config->source,
					     client->config->server, curl_url_strerror(code));
}

int handle_resolve_server(struct kube_client *client, struct error *err)
{
	const char *server = client->config->server;
	const char *name = client->config->tls_server_name;
	const char *host;
	const char *host_end;
	const char *port_end;
	cleanup_free char *port = NULL;
	cleanup_free char *real = NULL;
	cleanup_free char *entry = NULL;

	if (server == NULL)
		return error_set(err, "%s: no server address", client->config->source);
	client->tls = strncmp(server, "https://", 8) == 0;
	if (!client->tls && strncmp(server, "http://", 7) != 0)
		return error_set(err, "%s: server \"%s\": expected http://… or https://…", client->config->source,
				 server);
	host = strstr(server, "://") + 3;
	port_end = host + strcspn(host, "/");
	client->url_prefix = mem_strdup(port_end);
	if (!client->tls || name == NULL) {
		client->url_base = mem_strndup(server, (size_t)(port_end - server));
		return take_apart(client, err);
	}
	/* libcurl takes SNI and the name to verify from the URL: name that one there, and connect elsewhere */
	host_end = *host == '[' ? strchr(host, ']') : host + strcspn(host, ":/");
	if (host_end == NULL)
		return error_set(err, "%s: server \"%s\": no ']' after the address", client->config->source, server);
	if (*host == '[')
		host_end++;
	port = *host_end == ':' ? mem_strndup(host_end + 1, (size_t)(port_end - host_end - 1)) : mem_strdup("443");
	real = mem_strndup(host, (size_t)(host_end - host));
	entry = mem_printf("::%s:%s", real, port);
	client->url_base = mem_printf("https://%s:%s", name, port);
	client->host_header = mem_printf("Host: %s:%s", real, port);
	client->connect_to = curl_slist_append(NULL, entry);
	return take_apart(client, err);
}

/* ---- options ---- */

static void set_blob(CURL *easy, CURLoption option, const char *text)
{
	struct curl_blob blob = {.data = (char *)text, .len = strlen(text), .flags = CURL_BLOB_COPY};

	curl_easy_setopt(easy, option, &blob);
}

static void set_tls(struct kube_client *client, CURL *easy)
{
	const struct credentials *credentials = &client->credentials;

	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 (long)(client->config->no_http2 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (credentials->ca.text != NULL) {
		/* this CA alone, not the system's beside it */
		curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
		set_blob(easy, CURLOPT_CAINFO_BLOB, credentials->ca.text);
	}
	if (client->config->insecure_skip_tls_verify) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (credentials->client_cert.text != NULL) {
		curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
		set_blob(easy, CURLOPT_SSLCERT_BLOB, credentials->client_cert.text);
	}
	if (credentials->client_key.text != NULL) {
		curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
		set_blob(easy, CURLOPT_SSLKEY_BLOB, credentials->client_key.text);
		/* an encrypted key is an error then; without a passphrase libcurl reads it from NULL */
		curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "");
	}
	if (client->connect_to != NULL)
		curl_easy_setopt(easy, CURLOPT_CONNECT_TO, client->connect_to);
}

/* The configuration already holds the environment's proxy settings: libcurl must neither read the environment nor
 * decide by the URL's host, which is not always the server's.
 * An https proxy is trusted as the server is, which is what client-go does. */
static void set_proxy(struct kube_client *client, CURL *easy)
{
	const struct kube_config *config = client->config;

	curl_easy_setopt(easy, CURLOPT_PROXY, config->proxy_url == NULL ? "" : config->proxy_url);
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	if (config->proxy_url == NULL)
		return;
	curl_easy_setopt(easy, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (client->credentials.ca.text != NULL) {
		curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, NULL);
		curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, NULL);
		set_blob(easy, CURLOPT_PROXY_CAINFO_BLOB, client->credentials.ca.text);
	}
	if (config->insecure_skip_tls_verify) {
		curl_easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYHOST, 0L);
	}
}

/* What is the same for all calls of the transport. */
static void set_constants(struct kube_client *client, CURL *easy, struct transport *transport)
{
	if (client->config->proxy_url == NULL) {
		curl_easy_setopt(easy, CURLOPT_URL, client->url_base);
		curl_easy_setopt(easy, CURLOPT_CURLU, client->url);
	}
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* libcurl asks for names in a thread, and would wait for its end, loop and all, when the transfer's time is up
	 */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	/* each handle that has sent a body keeps such a buffer, and libcurl 8 fills more of it */
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BYTES);
	set_proxy(client, easy);
	if (client->tls)
		set_tls(client, easy);
	else {
		curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
		curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	}
	if (transport != client->shared) {
		/* so that a connection whose peer is gone is never used again, and no stream slows another */
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	}
	if (transport == client->watching) {
		curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)STREAM_READ_BYTES);
	} else if (transport == client->http1) {
		curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	} else if (client->tls && !client->config->no_http2) {
		/* share the connection that is being set up, rather than open one per call */
		curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
	}
	transport_prepare(transport, easy);
}

/* ---- handles ---- */

CURL *handle_take(struct kube_client *client, struct transport *transport)
{
	CURL *easy;

	if (transport == client->shared && client->idle_count > 0)
		return client->idle_handles[--client->idle_count];
	easy = curl_easy_init();
	if (easy == NULL)
		mem_exhausted();
	set_constants(client, easy, transport);
	return easy;
}

void handle_return(struct kube_client *client, const struct transport *transport, CURL *easy)
{
	if (transport == client->shared && client->idle_count < IDLE_HANDLES_MAX)
		client->idle_handles[client->idle_count++] = easy;
	else
		curl_easy_cleanup(easy);
}

void handle_free_idle(struct kube_client *client)
{
	while (client->idle_count > 0)
		curl_easy_cleanup(client->idle_handles[--client->idle_count]);
}
