/* SPDX-License-Identifier: Apache-2.0 */
/* sigv4.c: see sigv4.h.
 *
 * Steps as in docs/spec/aws.md 2.7: canonical request, string to sign, key, signature.  Buffers
 * that held a key are wiped.  No lock is held while anything is computed. */
#include "common/net/sigv4.h"

#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/net/url.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#define SHA_BYTES   32
#define ALGORITHM   "AWS4-HMAC-SHA256"
#define TERMINATION "aws4_request"
#define DATE_CHARS  8 /* of YYYYMMDDTHHMMSSZ */

/* ---- bytes ----------------------------------------------------------------------------------- */

static void sha256(const void *p, size_t n, unsigned char out[SHA_BYTES])
{
    if (EVP_Digest(p, n, out, NULL, EVP_sha256(), NULL) != 1) {
        out_of_memory(0); /* only without memory, or without SHA-256 */
    }
}

static void hmac(const void *key, size_t n_key, const char *text, unsigned char out[SHA_BYTES])
{
    unsigned n = 0;
    if (HMAC(EVP_sha256(), key, (int)n_key, (const unsigned char *)text, strlen(text), out, &n) ==
            NULL ||
        n != SHA_BYTES) {
        out_of_memory(0);
    }
}

static const char *hex(struct arena *a, const unsigned char bytes[SHA_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    char *out = arena_alloc(a, 2 * SHA_BYTES + 1);
    for (size_t i = 0; i < SHA_BYTES; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    return out;
}

static const char *sha256_hex(struct arena *a, const void *p, size_t n)
{
    unsigned char digest[SHA_BYTES];
    sha256(p, n, digest);
    return hex(a, digest);
}

static void append_escaped(struct str_buf *b, const char *s, bool keep_slash)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '_' || c == '.' || c == '~' || (keep_slash && c == '/');
        if (plain) {
            str_append_c(b, (char)c);
        } else {
            str_append_c(b, '%');
            str_append_c(b, digits[c >> 4]);
            str_append_c(b, digits[c & 15]);
        }
    }
}

void sigv4_append_pair(struct str_buf *b, const char *name, const char *value)
{
    str_append(b, b->len > 0 ? "&" : "");
    append_escaped(b, name, false);
    str_append_c(b, '=');
    append_escaped(b, value, false);
}

/* ---- canonical request (2.7 rows 2 to 5) ----------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct http_header *x = a;
    const struct http_header *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->value, y->value);
}

static const char *escaped(struct arena *a, const char *s)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    append_escaped(&b, s, false);
    return str_buf_to_arena(&b, a);
}

static int append_query(struct arena *a, const char *query, struct str_buf *b, struct err *err)
{
    struct url_param *params = NULL;
    size_t n = 0;
    int rc = url_query_parse(a, query, &params, &n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct http_header *pairs = ARENA_ARRAY(a, struct http_header, n);
    for (size_t i = 0; i < n; i++) {
        pairs[i] = (struct http_header){escaped(a, params[i].name), escaped(a, params[i].value)};
    }
    if (n > 0) {
        qsort(pairs, n, sizeof *pairs, by_name);
    }
    for (size_t i = 0; i < n; i++) {
        str_appendf(b, "%s%s=%s", i > 0 ? "&" : "", pairs[i].name, pairs[i].value);
    }
    return ERR_OK;
}

/* As libcurl sends it: as written, without user info and without the scheme's own port. */
static const char *host_of(struct arena *a, const char *text, const struct url *u)
{
    const char *authority = strstr(text, "://") + 3;
    size_t n = strcspn(authority, "/?#");
    const char *at = memrchr(authority, '@', n);
    if (at != NULL) {
        n -= (size_t)(at + 1 - authority);
        authority = at + 1;
    }
    const char *whole = arena_strndup(a, authority, n);
    const char *colon = strrchr(whole, ':');
    bool has_colon = colon != NULL && strchr(colon, ']') == NULL;
    const char *name = has_colon ? arena_strndup(a, whole, (size_t)(colon - whole)) : whole;
    uint16_t own = str_eq(u->scheme, "https") ? 443 : 80;
    return !u->has_port || u->port == own ? name : arena_printf(a, "%s:%u", name, u->port);
}

/* Without blanks at both ends, inner runs as one. */
static const char *header_value(struct arena *a, const char *value)
{
    char *out = str_trim(a, value);
    size_t n = 0;
    for (size_t i = 0; out[i] != '\0'; i++) {
        if (out[i] != ' ' || n == 0 || out[n - 1] != ' ') {
            out[n++] = out[i];
        }
    }
    out[n] = '\0';
    return out;
}

/* The signed headers, sorted. */
struct headers {
    struct http_header *items;
    size_t n;
};

static int collect_headers(struct arena *a, const struct sigv4_request *req,
                           const struct http_header own[3], struct headers *ret, struct err *err)
{
    ret->items = ARENA_ARRAY(a, struct http_header, req->n_headers + 3);
    ret->n = 0;
    for (size_t i = 0; i < 3; i++) {
        if (own[i].value != NULL) {
            ret->items[ret->n++] = own[i];
        }
    }
    for (size_t i = 0; i < req->n_headers; i++) {
        const char *name = str_lower(a, req->headers[i].name);
        bool ours = str_eq(name, "authorization") || str_eq(name, own[0].name) ||
                    str_eq(name, own[1].name) || str_eq(name, own[2].name);
        if (ours) {
            return err_set(err, ERR_INVALID, "signature: the header %s is not the caller's", name);
        }
        ret->items[ret->n++] = (struct http_header){name, header_value(a, req->headers[i].value)};
    }
    qsort(ret->items, ret->n, sizeof *ret->items, by_name);
    return ERR_OK;
}

/* Several of one name are one, with commas. */
static void append_headers(const struct headers *h, struct str_buf *b, struct str_buf *names)
{
    for (size_t i = 0; i < h->n; i++) {
        bool again = i > 0 && str_eq(h->items[i].name, h->items[i - 1].name);
        bool more = i + 1 < h->n && str_eq(h->items[i].name, h->items[i + 1].name);
        if (!again) {
            str_appendf(b, "%s:", h->items[i].name);
            str_appendf(names, "%s%s", i > 0 ? ";" : "", h->items[i].name);
        }
        str_appendf(b, "%s%s", h->items[i].value, more ? "," : "\n");
    }
}

static int append_request(struct arena *a, const struct sigv4_request *req,
                          const struct headers *headers, const struct url *u,
                          const char *payload_hash, struct str_buf *b, struct str_buf *names,
                          struct err *err)
{
    str_appendf(b, "%s\n", req->method);
    append_escaped(b, str_or(u->path, "/"), true);
    str_append_c(b, '\n');
    int rc = append_query(a, u->query, b, err);
    if (rc != ERR_OK) {
        return rc;
    }
    str_append_c(b, '\n');
    append_headers(headers, b, names);
    str_appendf(b, "\n%s\n%s", str_buf_text(names), payload_hash);
    return ERR_OK;
}

/* ---- key (2.7 row 7) ------------------------------------------------------------------------- */

void sigv4_cache_init(struct sigv4_cache *c)
{
    *c = (struct sigv4_cache){0};
    mutex_init(&c->lock);
}

void sigv4_cache_done(struct sigv4_cache *c)
{
    mutex_done(&c->lock);
    OPENSSL_cleanse(c->slots, sizeof c->slots);
}

static bool cache_get(struct sigv4_cache *c, const unsigned char id[SHA_BYTES],
                      unsigned char key[SHA_BYTES])
{
    bool found = false;
    mutex_lock(&c->lock);
    for (size_t i = 0; i < c->used && !found; i++) {
        found = memcmp(c->slots[i].id, id, SHA_BYTES) == 0;
        if (found) {
            memcpy(key, c->slots[i].key, SHA_BYTES);
        }
    }
    mutex_unlock(&c->lock);
    return found;
}

static void cache_put(struct sigv4_cache *c, const unsigned char id[SHA_BYTES],
                      const unsigned char key[SHA_BYTES])
{
    mutex_lock(&c->lock);
    memcpy(c->slots[c->next].id, id, SHA_BYTES);
    memcpy(c->slots[c->next].key, key, SHA_BYTES);
    c->next = (c->next + 1) % SIGV4_CACHE_SLOTS;
    c->used += c->used < SIGV4_CACHE_SLOTS ? 1 : 0;
    mutex_unlock(&c->lock);
}

static void derive(const char *secret, const char *date, const struct sigv4_request *req,
                   unsigned char key[SHA_BYTES])
{
    _cleanup_(str_buf_done) struct str_buf first = STR_BUF_INIT;
    unsigned char step[SHA_BYTES];
    str_buf_reserve(&first, strlen(secret) + 4); /* so that no copy of it stays behind */
    str_append(&first, "AWS4");
    str_append(&first, secret);
    hmac(first.data, first.len, date, key);
    hmac(key, SHA_BYTES, req->region, step);
    hmac(step, SHA_BYTES, req->service, key);
    hmac(key, SHA_BYTES, TERMINATION, step);
    memcpy(key, step, SHA_BYTES);
    OPENSSL_cleanse(first.data, first.len);
    OPENSSL_cleanse(step, sizeof step);
}

/* The secret is part of the digest: one access key may come with another one. */
static void find_key(struct sigv4_cache *cache, const struct sigv4_keys *keys, const char *date,
                     const struct sigv4_request *req, unsigned char key[SHA_BYTES])
{
    unsigned char id[SHA_BYTES];
    if (cache == NULL) {
        derive(keys->secret_key, date, req, key);
        return;
    }
    hmac(keys->secret_key, strlen(keys->secret_key), keys->access_key, id);
    unsigned char more[SHA_BYTES];
    hmac(id, SHA_BYTES, date, more);
    hmac(more, SHA_BYTES, req->region, id);
    hmac(id, SHA_BYTES, req->service, more);
    if (!cache_get(cache, more, key)) {
        derive(keys->secret_key, date, req, key);
        cache_put(cache, more, key);
    }
}

/* ---- signature ------------------------------------------------------------------------------- */

/* 20150830T123600Z */
static const char *stamp_of(struct arena *a, int64_t time_s)
{
    char text[32];
    time_format_rfc3339(time_s * 1000000, text);
    char *out = arena_alloc(a, sizeof text);
    size_t n = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p != '-' && *p != ':') {
            out[n++] = *p;
        }
    }
    return out;
}

int sigv4_sign(struct arena *a, struct sigv4_cache *cache, const struct sigv4_keys *keys,
               const struct sigv4_request *req, struct sigv4_signature *ret, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf canonical = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf names = STR_BUF_INIT;
    struct url u;
    struct headers headers;
    int rc = url_parse(a, req->url, &u, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const char *stamp = stamp_of(a, req->time_s);
    const struct http_header own[3] = {
        {"host", host_of(a, req->url, &u)},
        {"x-amz-date", stamp},
        {"x-amz-security-token",
         str_is_empty(keys->session_token) ? NULL : header_value(a, keys->session_token)},
    };
    const char *payload_hash = sha256_hex(a, req->body != NULL ? req->body : "", req->body_len);
    rc = collect_headers(a, req, own, &headers, err);
    rc = rc == ERR_OK ? append_request(a, req, &headers, &u, payload_hash, &canonical, &names, err)
                      : rc;
    if (rc != ERR_OK) {
        return rc;
    }
    const char *date = arena_strndup(a, stamp, DATE_CHARS);
    const char *scope = arena_printf(a, "%s/%s/%s/" TERMINATION, date, req->region, req->service);
    const char *canonical_hash = sha256_hex(a, canonical.data, canonical.len);
    const char *to_sign = arena_printf(a, ALGORITHM "\n%s\n%s\n%s", stamp, scope, canonical_hash);
    unsigned char key[SHA_BYTES];
    unsigned char signature[SHA_BYTES];
    find_key(cache, keys, date, req, key);
    hmac(key, SHA_BYTES, to_sign, signature);
    OPENSSL_cleanse(key, sizeof key);
    *ret = (struct sigv4_signature){
        .authorization =
            arena_printf(a, ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
                         keys->access_key, scope, str_buf_text(&names), hex(a, signature)),
        .date = stamp,
        .payload_hash = payload_hash,
        .canonical_hash = canonical_hash,
    };
    return ERR_OK;
}

int sigv4_sign_http(struct arena *a, struct sigv4_cache *cache, const struct sigv4_keys *keys,
                    const char *region, const char *service, int64_t time_s,
                    struct http_request *req, struct err *err)
{
    const struct sigv4_request to_sign = {
        .method = req->method,
        .url = req->url,
        .headers = req->headers,
        .n_headers = req->n_headers,
        .body = req->body,
        .body_len = req->body_len,
        .region = region,
        .service = service,
        .time_s = time_s,
    };
    struct sigv4_signature signature;
    int rc = sigv4_sign(a, cache, keys, &to_sign, &signature, err);
    if (rc != ERR_OK) {
        return rc;
    }
    size_t n = req->n_headers;
    struct http_header *headers = ARENA_ARRAY(a, struct http_header, n + 3);
    if (n > 0) {
        memcpy(headers, req->headers, n * sizeof *headers);
    }
    headers[n++] = (struct http_header){"X-Amz-Date", signature.date};
    if (!str_is_empty(keys->session_token)) {
        headers[n++] = (struct http_header){"X-Amz-Security-Token", keys->session_token};
    }
    headers[n++] = (struct http_header){"Authorization", signature.authorization};
    req->headers = headers;
    req->n_headers = n;
    return ERR_OK;
}
