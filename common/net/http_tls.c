/* SPDX-License-Identifier: Apache-2.0 */
/* http_tls.c: the CA, certificate and key that new connections use, re-read when their files
 * change.
 *
 * Source: controller.md §4.3.  A new CA is used by new connections; a new client certificate also
 * ends the old ones: kept connections are closed, requests in progress may finish but give their
 * connection up, and endless streams are ended so that they come back with the new certificate.
 * New contents that are no certificate, or a key that does not fit (files of a pair are not
 * replaced in one instant), are ignored until they are good: the old ones stay in use.
 * Must not log or show key text.  One thread. */
#include <stdlib.h>
#include <string.h>

#include "common/net/http_internal.h"

void http_tls_done(struct tls_state *s)
{
    if (s->key.pem.len > 0) {
        explicit_bzero(s->key.pem.data, s->key.pem.len);
    }
    str_buf_done(&s->ca.pem);
    str_buf_done(&s->cert.pem);
    str_buf_done(&s->key.pem);
}

bool http_tls_has_files(const struct http *h)
{
    const struct http_tls *tls = h->cfg.tls;
    return tls != NULL && (tls->ca_file != NULL || tls->cert_file != NULL ||
                           tls->key_file != NULL || tls->pair != NULL);
}

/* --- reading --------------------------------------------------------------------------------- */

/* One text as it is now: of the file, else the given one, else NULL. */
struct reading {
    char *text;
    size_t n;
    uint64_t generation;
};

static int read_text(struct file_watch *file, const char *pem, struct arena *a, struct reading *ret,
                     struct err *err)
{
    *ret = (struct reading){.generation = 1};
    if (file != NULL) {
        if (file_watch_get(file, a, &ret->text, &ret->n, &ret->generation, err) != ERR_OK) {
            if (err != NULL) {
                err->code = ERR_AUTH; /* whatever kept the file from being read */
            }
            return ERR_AUTH;
        }
        return ERR_OK;
    }
    if (pem != NULL) {
        ret->text = arena_strdup(a, pem);
        ret->n = strlen(pem);
    }
    return ERR_OK;
}

static bool is_new(const struct tls_text *kept, const struct reading *r)
{
    return !kept->loaded || kept->generation != r->generation;
}

static void keep(struct tls_text *kept, const struct reading *r)
{
    str_buf_reset(&kept->pem);
    str_append_n(&kept->pem, r->text, r->n);
    kept->generation = r->generation;
    kept->loaded = true;
}

/* Changed contents, or the same ones after a touch? */
static bool differs(const struct tls_text *kept, const struct reading *r)
{
    return kept->pem.len != r->n || (r->n > 0 && memcmp(kept->pem.data, r->text, r->n) != 0);
}

static int refresh_ca(struct http *h, struct arena *a, bool *changed, struct err *err)
{
    const struct http_tls *tls = h->cfg.tls;
    struct tls_text *kept = &h->tls.ca;
    struct reading r;
    int rc = read_text(tls->ca_file, tls->ca_pem, a, &r, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "CA file");
        return rc;
    }
    if (r.text == NULL || !is_new(kept, &r)) {
        return ERR_OK;
    }
    if (!http_pem_is_cert(r.text, r.n)) {
        return kept->loaded ? ERR_OK
                            : err_set(err, ERR_AUTH, "CA file holds no certificate in PEM");
    }
    *changed |= kept->loaded && differs(kept, &r);
    keep(kept, &r);
    return ERR_OK;
}

static int refresh_pair(struct http *h, struct arena *a, bool *changed, struct err *err)
{
    const struct http_tls *tls = h->cfg.tls;
    struct tls_text *cert = &h->tls.cert;
    struct tls_text *key = &h->tls.key;
    struct reading c, k;
    int rc = read_text(tls->cert_file, tls->cert_pem, a, &c, err);
    if (rc == ERR_OK) {
        rc = read_text(tls->key_file, tls->key_pem, a, &k, err);
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "client certificate");
        return rc;
    }
    if (c.text == NULL || k.text == NULL || (!is_new(cert, &c) && !is_new(key, &k))) {
        return ERR_OK;
    }
    if (!http_pair_fits(c.text, c.n, k.text, k.n, NULL)) {
        return cert->loaded
                   ? ERR_OK
                   : err_set(err, ERR_AUTH,
                             "client certificate: certificate and key do not fit together");
    }
    *changed |= cert->loaded && (differs(cert, &c) || differs(key, &k));
    keep(cert, &c);
    keep(key, &k);
    return ERR_OK;
}

static void forget(struct tls_text *kept)
{
    if (kept->pem.len > 0) {
        explicit_bzero(kept->pem.data, kept->pem.len);
    }
    str_buf_reset(&kept->pem);
    kept->loaded = false;
}

/* It was judged when it was handed over. */
static void refresh_handed(struct http *h, struct arena *a, bool *changed)
{
    struct tls_text *cert = &h->tls.cert;
    struct tls_text *key = &h->tls.key;
    char *c, *k;
    if (!http_pair_take(h->cfg.tls->pair, a, &h->tls.handed, &c, &k)) {
        return;
    }
    bool had = cert->loaded;
    if (c == NULL) {
        forget(cert);
        forget(key);
        *changed |= had;
        return;
    }
    const struct reading rc = {.text = c, .n = strlen(c)};
    const struct reading rk = {.text = k, .n = strlen(k)};
    /* Connections that were made without one are as good as those with an old one. */
    *changed |= !had || differs(cert, &rc) || differs(key, &rk);
    keep(cert, &rc);
    keep(key, &rk);
    explicit_bzero(k, rk.n);
}

/* --- acting ---------------------------------------------------------------------------------- */

static void retire_connections(struct http *h, bool end_streams)
{
    h->drop_connections = true;
    for (struct http_transfer *t = h->first; t != NULL; t = t->next) {
        if (!t->running) {
            continue;
        }
        curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
        if (end_streams && http_transfer_is_endless(t) && str_eq(t->url.scheme, "https")) {
            err_set(http_transfer_wrong(t), ERR_TRANSIENT,
                    "stream from %s was ended: the client certificate was replaced",
                    http_origin(t));
            t->ended = true;
        }
    }
}

int http_tls_refresh(struct http *h, bool *ret_changed, struct err *err)
{
    *ret_changed = false;
    if (h->cfg.tls == NULL || h->tls.settled) {
        return ERR_OK;
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    bool ca_changed = false;
    bool pair_changed = false;
    h->tls.checked_ms = clock_now_ms(h->cfg.clock);
    int rc = refresh_ca(h, a, &ca_changed, err);
    if (rc == ERR_OK && h->cfg.tls->pair != NULL) {
        refresh_handed(h, a, &pair_changed);
    } else if (rc == ERR_OK) {
        rc = refresh_pair(h, a, &pair_changed, err);
    }
    h->tls.settled = rc == ERR_OK && !http_tls_has_files(h);
    if (rc == ERR_OK && (ca_changed || pair_changed)) {
        retire_connections(h, pair_changed);
        *ret_changed = true;
    }
    return rc;
}

static void set_blob(CURL *easy, CURLoption option, const struct str_buf *pem)
{
    struct curl_blob blob = {.data = pem->data, .len = pem->len, .flags = CURL_BLOB_COPY};
    curl_easy_setopt(easy, option, &blob);
}

/* As Go: SSL_CERT_FILE and SSL_CERT_DIR stand in for the built-in places. */
static void use_system_roots(CURL *easy)
{
    const char *file = getenv("SSL_CERT_FILE");
    const char *dir = getenv("SSL_CERT_DIR");
    if (!str_is_empty(file)) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, file);
    }
    if (!str_is_empty(dir)) {
        curl_easy_setopt(easy, CURLOPT_CAPATH, dir);
    }
}

void http_tls_apply(struct http_transfer *t)
{
    const struct http_tls *tls = t->http->cfg.tls;
    const struct tls_state *s = &t->http->tls;
    CURL *e = t->easy;
    curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (!s->ca.loaded) {
        use_system_roots(e);
    }
    if (tls == NULL) {
        return;
    }
    if (s->ca.loaded) {
        set_blob(e, CURLOPT_CAINFO_BLOB, &s->ca.pem);
        /* The folder of the system's roots would be searched beside the given CA. */
        curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
        curl_easy_setopt(e, CURLOPT_PROXY_CAPATH, NULL);
        set_blob(e, CURLOPT_PROXY_CAINFO_BLOB, &s->ca.pem); /* as Go: one TLS config for both */
    }
    if (tls->insecure) {
        curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
        curl_easy_setopt(e, CURLOPT_PROXY_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(e, CURLOPT_PROXY_SSL_VERIFYHOST, 0L);
    }
    if (s->cert.loaded && t->with_credentials) {
        set_blob(e, CURLOPT_SSLCERT_BLOB, &s->cert.pem);
        set_blob(e, CURLOPT_SSLKEY_BLOB, &s->key.pem);
    }
}
