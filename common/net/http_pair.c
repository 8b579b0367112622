/* SPDX-License-Identifier: Apache-2.0 */
/* http_pair.c: what is a certificate, what a pair; and a pair that is handed over while the program
 * runs.
 *
 * A handle asks http_pair_take() before each request and every few seconds beside streams
 * (http_tls.c); the generation tells it cheaply that nothing is new.  Must not log or
 * show key text. */
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/lock.h"
#include "common/base/secret.h"
#include "common/net/http_internal.h"

struct http_pair {
    struct mutex lock;
    char *cert _guarded_by_(&lock); /* NULL: none */
    char *key _guarded_by_(&lock);
    uint64_t generation _guarded_by_(&lock); /* from 1 */
};

/* --- judging contents ------------------------------------------------------------------------ */

/* A daemon has no user to ask: OpenSSL would do it at the terminal, for certificates as well
 * as for keys. */
static int no_passphrase(char *buf, int size, int rwflag, void *arg)
{
    (void)buf, (void)size, (void)rwflag, (void)arg;
    return -1;
}

static X509 *first_cert(const char *pem, size_t n)
{
    BIO *bio = BIO_new_mem_buf(pem, (int)n);
    X509 *cert = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    ERR_clear_error();
    return cert;
}

bool http_pem_is_cert(const char *pem, size_t n)
{
    X509 *cert = first_cert(pem, n);
    X509_free(cert);
    return cert != NULL;
}

static int64_t seconds_of(const ASN1_TIME *t)
{
    struct tm tm;
    return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

bool http_pair_fits(const char *cert_pem, size_t cert_n, const char *key_pem, size_t key_n,
                    struct http_pair_life *ret_life)
{
    X509 *cert = first_cert(cert_pem, cert_n);
    BIO *bio = BIO_new_mem_buf(key_pem, (int)key_n);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    bool fits = cert != NULL && key != NULL && X509_check_private_key(cert, key) == 1;
    if (fits && ret_life != NULL) {
        ret_life->from_s = seconds_of(X509_get0_notBefore(cert));
        ret_life->until_s = seconds_of(X509_get0_notAfter(cert));
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return fits;
}

/* --- handing over ---------------------------------------------------------------------------- */

struct http_pair *http_pair_new(void)
{
    struct http_pair *p = xcalloc(1, sizeof *p);
    mutex_init(&p->lock);
    mutex_lock(&p->lock);
    p->generation = 1;
    mutex_unlock(&p->lock);
    return p;
}

void http_pair_free(struct http_pair *p) _no_lock_check_
{
    if (p == NULL) {
        return;
    }
    free(p->cert);
    secret_free(p->key);
    mutex_done(&p->lock);
    free(p);
}

int http_pair_set(struct http_pair *p, const char *cert_pem, const char *key_pem,
                  struct http_pair_life *ret_life, bool *ret_changed, struct err *err)
{
    bool has = cert_pem != NULL && key_pem != NULL;
    if (has && !http_pair_fits(cert_pem, strlen(cert_pem), key_pem, strlen(key_pem), ret_life)) {
        return err_set(err, ERR_INVALID,
                       "certificate and key are not PEM, or do not belong together");
    }
    mutex_lock(&p->lock);
    bool same = str_eq(p->cert, has ? cert_pem : NULL) && str_eq(p->key, has ? key_pem : NULL);
    if (!same) {
        free(p->cert);
        secret_free(p->key);
        p->cert = has ? xstrdup(cert_pem) : NULL;
        p->key = has ? xstrdup(key_pem) : NULL;
        p->generation++;
    }
    mutex_unlock(&p->lock);
    if (ret_changed != NULL) {
        *ret_changed = !same;
    }
    return ERR_OK;
}

bool http_pair_take(struct http_pair *p, struct arena *a, uint64_t *generation, char **ret_cert,
                    char **ret_key)
{
    mutex_lock(&p->lock);
    bool is_new = p->generation != *generation;
    if (is_new) {
        *generation = p->generation;
        *ret_cert = arena_strdup(a, p->cert);
        *ret_key = arena_strdup(a, p->key);
    }
    mutex_unlock(&p->lock);
    return is_new;
}
