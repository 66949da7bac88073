/* The certificate of the process' one server with TLS, read again when its files change: libmicrohttpd asks for it at
 * each handshake. GnuTLS passes no argument of ours to its callback, so a process has only one such server. */
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/serve/internal.h"

enum { CHAIN_MAX = 8, LOOK_MS = 1000, FILE_MAX = 1024 * 1024 };

/* One reading of the files. Handshakes in progress may still use a replaced one, so none is freed: each renewal costs
 * some KiB. */
struct material {
	struct material *older;
	gnutls_pcert_st chain[CHAIN_MAX];
	unsigned chain_len;
	gnutls_privkey_t key;
};

static struct {
	char *cert_file;
	char *key_file;
	struct file_stamp cert_stamp;
	struct file_stamp key_stamp;
	int64_t looked_ms;
	struct material *material; /* the newest first */
	struct log_last complaint;
} tls;

static void material_free(struct material *material)
{
	for (unsigned i = 0; i < material->chain_len; i++)
		gnutls_pcert_deinit(&material->chain[i]);
	if (material->key != NULL)
		gnutls_privkey_deinit(material->key);
	free(material);
}

/* flag: of fc-barrier, which alone has certificates; for whoever reads the message. */
static int read_file(const char *flag, const char *path, struct buf *out, struct error *err)
{
	if (file_read(path, FILE_MAX, out, NULL, err) < 0)
		return error_wrap(err, "%s", flag);
	if (out->len == 0)
		return error_set(err, "%s: %s is empty, expected PEM text", flag, path);
	return 0;
}

static int load_chain(struct material *material, const struct buf *pem, struct error *err)
{
	gnutls_datum_t datum = {(unsigned char *)pem->data, (unsigned)pem->len};
	unsigned count = CHAIN_MAX;
	int result = gnutls_pcert_list_import_x509_raw(material->chain, &count, &datum, GNUTLS_X509_FMT_PEM, 0);

	if (result < 0)
		return error_set(err, "certificate %s: %s", tls.cert_file, gnutls_strerror(result));
	material->chain_len = count;
	return 0;
}

static int load_key(struct material *material, const struct buf *pem, struct error *err)
{
	gnutls_datum_t datum = {(unsigned char *)pem->data, (unsigned)pem->len};
	int result = gnutls_privkey_init(&material->key);

	if (result == 0)
		result = gnutls_privkey_import_x509_raw(material->key, &datum, GNUTLS_X509_FMT_PEM, NULL, 0);
	if (result < 0)
		return error_set(err, "key %s: %s", tls.key_file, gnutls_strerror(result));
	return 0;
}

/* While files are being replaced one may already be new and the other not. */
static int check_pair(const struct buf *cert, const struct buf *key, struct error *err)
{
	const gnutls_datum_t cert_datum = {(unsigned char *)cert->data, (unsigned)cert->len};
	const gnutls_datum_t key_datum = {(unsigned char *)key->data, (unsigned)key->len};
	gnutls_certificate_credentials_t pair;
	int result = gnutls_certificate_allocate_credentials(&pair);

	if (result == 0) {
		result = gnutls_certificate_set_x509_key_mem(pair, &cert_datum, &key_datum, GNUTLS_X509_FMT_PEM);
		gnutls_certificate_free_credentials(pair);
	}
	if (result == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return error_set(err, "key %s does not belong to certificate %s", tls.key_file, tls.cert_file);
	return result < 0 ? error_set(err, "key %s: %s", tls.key_file, gnutls_strerror(result)) : 0;
}

static struct material *load(struct error *err)
{
	cleanup_buf struct buf cert = {0};
	cleanup_buf struct buf key = {0};
	struct material *material = mem_calloc(1, sizeof(*material));

	if (read_file("--tls-cert", tls.cert_file, &cert, err) == 0 &&
	    read_file("--tls-key", tls.key_file, &key, err) == 0 && load_chain(material, &cert, err) == 0 &&
	    load_key(material, &key, err) == 0 && check_pair(&cert, &key, err) == 0)
		return material;
	material_free(material);
	return NULL;
}

static void refresh(void)
{
	struct file_stamp cert = file_stamp_now(tls.cert_file);
	struct file_stamp key = file_stamp_now(tls.key_file);
	struct material *fresh;
	struct error err;

	tls.looked_ms = clock_boot_ms();
	if (file_stamp_same(&cert, &tls.cert_stamp) && file_stamp_same(&key, &tls.key_stamp))
		return;
	/* what does not load now may do so a moment later without another stamp: when it is given to our group, or when
	 * there are descriptors again */
	fresh = load(&err);
	if (fresh == NULL) {
		if (log_is_news(&tls.complaint, tls.looked_ms, err.message))
			log_error("keeping the old certificate: %s", err.message);
		return;
	}
	tls.complaint.any = false;
	tls.cert_stamp = cert;
	tls.key_stamp = key;
	log_info("read certificate %s again", tls.cert_file);
	fresh->older = tls.material;
	tls.material = fresh;
}

static int on_retrieve(gnutls_session_t session, const gnutls_datum_t *request_cas, int request_cas_count,
		       const gnutls_pk_algorithm_t *algorithms, int algorithms_count, gnutls_pcert_st **chain,
		       unsigned *chain_len, gnutls_privkey_t *key)
{
	(void)session;
	(void)request_cas;
	(void)request_cas_count;
	(void)algorithms;
	(void)algorithms_count;
	if (clock_boot_ms() >= tls.looked_ms + LOOK_MS)
		refresh();
	*chain = tls.material->chain;
	*chain_len = tls.material->chain_len;
	*key = tls.material->key;
	return 0;
}

void *tls_callback(void)
{
	gnutls_certificate_retrieve_function2 *callback = on_retrieve;

	return (void *)callback;
}

int tls_start(const char *cert_file, const char *key_file, struct error *err)
{
	if (tls.material != NULL)
		return error_set(err, "this process serves TLS already");
	tls.cert_file = mem_strdup(cert_file);
	tls.key_file = mem_strdup(key_file);
	tls.cert_stamp = file_stamp_now(cert_file);
	tls.key_stamp = file_stamp_now(key_file);
	tls.looked_ms = clock_boot_ms();
	tls.material = load(err);
	if (tls.material != NULL)
		return 0;
	tls_stop();
	return -1;
}

void tls_stop(void)
{
	while (tls.material != NULL) {
		struct material *material = tls.material;

		tls.material = material->older;
		material_free(material);
	}
	free(tls.cert_file);
	free(tls.key_file);
	tls.cert_file = tls.key_file = NULL;
}
