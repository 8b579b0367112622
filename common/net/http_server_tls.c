/* SPDX-License-Identifier: Apache-2.0 */
/* http_server_tls.c: certificates of the HTTP server as OpenSSL wants them, and which one a client
 * gets.
 *
 * Owns the SSL_CTX of every pair and the table of names that leads to them.  The handshake starts
 * with the context of `own`; once the client's name is known, another pair's is put in its place
 * (certificate and key only: versions, ciphers and what is asked of the client stay as they were).
 * Must not read files or know a connection.  One thread at a time. */
#include "common/net/http_server_tls.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/net/http_server_internal.h"

/* More names than that in one certificate are not checked. */
#define MAX_NAMES 1000

struct server_tls {
    unsigned refs;
    SSL_CTX **ctx; /* [0] own, then the others */
    size_t n;
    struct arena *arena; /* of the names */
    struct map *names;   /* lower-case name or pattern → SSL_CTX ** in ctx */
};

static int make_ctx(const struct server_tls_spec *spec, const struct server_tls_pair *pair,
                    SSL_CTX **ret, struct err *err);
static int apply_spec(SSL_CTX *ctx, const struct server_tls_spec *spec, struct err *err);
static void register_names(struct server_tls *t, const struct server_tls_spec *spec);
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                       const unsigned char *in, unsigned int in_len, void *arg);
static int choose_pair(SSL *ssl, int *alert, void *arg);

int server_tls_new(const struct server_tls_spec *spec, struct server_tls **ret, struct err *err)
{
    struct server_tls *t = xcalloc(1, sizeof(*t));
    t->refs = 1;
    t->n = spec->n_others + 1;
    t->ctx = xcalloc(t->n, sizeof(SSL_CTX *));
    t->arena = arena_new();
    t->names = map_new(NULL);
    int rc = make_ctx(spec, &spec->own, &t->ctx[0], err);
    for (size_t i = 1; rc == ERR_OK && i < t->n; i++) {
        rc = make_ctx(spec, &spec->others[i - 1], &t->ctx[i], err);
    }
    ERR_clear_error();
    if (rc != ERR_OK) {
        server_tls_unref(t);
        return rc;
    }
    register_names(t, spec);
    SSL_CTX_set_tlsext_servername_callback(t->ctx[0], choose_pair);
    SSL_CTX_set_tlsext_servername_arg(t->ctx[0], t);
    *ret = t;
    return ERR_OK;
}

struct server_tls *server_tls_ref(struct server_tls *t)
{
    t->refs++;
    return t;
}

void server_tls_unref(struct server_tls *t)
{
    if (t == NULL || --t->refs > 0) {
        return;
    }
    for (size_t i = 0; i < t->n; i++) {
        SSL_CTX_free(t->ctx[i]);
    }
    map_free(t->names);
    arena_free(t->arena);
    free(t->ctx);
    free(t);
}

SSL *server_tls_accept(struct server_tls *t)
{
    return SSL_new(t->ctx[0]);
}

/* --- one pair --------------------------------------------------------------------------------- */

/* Without it OpenSSL would ask for a password on the terminal. */
static int no_password(char *buf, int size, int for_writing, void *arg)
{
    (void)buf, (void)size, (void)for_writing, (void)arg;
    return -1;
}

/* The first certificate is the server's, the others its chain. */
static bool use_cert_chain(SSL_CTX *ctx, const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, no_password, NULL);
    bool ok = cert != NULL && SSL_CTX_use_certificate(ctx, cert) == 1;
    X509_free(cert);
    while (ok && (cert = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
        ok = SSL_CTX_add1_chain_cert(ctx, cert) == 1;
        X509_free(cert);
    }
    BIO_free(bio);
    return ok;
}

static const char *use_pair(SSL_CTX *ctx, const struct server_tls_pair *pair)
{
    if (pair->cert_pem == NULL || pair->key_pem == NULL) {
        return "certificate and key are needed both";
    }
    if (!use_cert_chain(ctx, pair->cert_pem)) {
        return "the certificate cannot be read; it must be PEM";
    }
    BIO *bio = BIO_new_mem_buf(pair->key_pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    BIO_free(bio);
    if (key == NULL) {
        return "the private key cannot be read; it must be PEM and not encrypted";
    }
    bool fits = SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;
    EVP_PKEY_free(key);
    return fits ? NULL : "certificate and private key do not fit together";
}

static int make_ctx(const struct server_tls_spec *spec, const struct server_tls_pair *pair,
                    SSL_CTX **ret, struct err *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    *ret = ctx; /* freed with the rest, also on failure */
    if (ctx == NULL) {
        return err_set(err, ERR_BUG, "TLS: no context");
    }
    int rc = apply_spec(ctx, spec, err);
    const char *wrong = rc == ERR_OK ? use_pair(ctx, pair) : NULL;
    if (wrong != NULL) {
        rc = err_set(err, ERR_INVALID, "TLS of %s: %s", str_or(pair->label, "the server"), wrong);
    }
    return rc;
}

/* --- what holds for all pairs ----------------------------------------------------------------- */

/* The handler judges certificates; the handshake takes any. */
static int accept_any(X509_STORE_CTX *store, void *arg)
{
    (void)store, (void)arg;
    return 1;
}

static void ask_client_cert(SSL_CTX *ctx, const STACK_OF(X509_NAME) * names)
{
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(ctx, accept_any, NULL);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    (void)SSL_CTX_set_num_tickets(ctx, 0); /* 1.3 would send stateful ones */
    if (names != NULL) {
        SSL_CTX_set0_CA_list(ctx, SSL_dup_CA_list(names));
    }
}

static bool require_client_cert(SSL_CTX *ctx, const char *ca_pem)
{
    BIO *bio = BIO_new_mem_buf(ca_pem, -1);
    X509 *ca = PEM_read_bio_X509(bio, NULL, no_password, NULL);
    bool ok = ca != NULL && X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca) == 1 &&
              SSL_CTX_add_client_CA(ctx, ca) == 1;
    X509_free(ca);
    BIO_free(bio);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    /* Without it, sessions of clients with certificates cannot be resumed
     * (SSL_CTX_set_verify(3)). */
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"trimtab", 7);
    return ok;
}

static int apply_spec(SSL_CTX *ctx, const struct server_tls_spec *spec, struct err *err)
{
    int min = spec->min_version == 0 ? TLS1_2_VERSION : spec->min_version;
    if (min < TLS1_2_VERSION) {
        SSL_CTX_set_security_level(ctx, 0); /* OpenSSL 3 does not speak 1.0 and 1.1 above it */
    }
    /* A client that renegotiates costs us much more than itself. */
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_set_min_proto_version(ctx, min) != 1) {
        return err_set(err, ERR_INVALID, "TLS: this version cannot be spoken here");
    }
    if (spec->ciphers != NULL && SSL_CTX_set_cipher_list(ctx, spec->ciphers) != 1) {
        return err_set(err, ERR_INVALID, "TLS: none of the cipher suites \"%s\" is there",
                       spec->ciphers);
    }
    if (spec->groups != NULL && SSL_CTX_set1_groups_list(ctx, spec->groups) != 1) {
        return err_set(err, ERR_INVALID, "TLS: one of the groups \"%s\" is not there",
                       spec->groups);
    }
    if (spec->ask_client_cert) {
        ask_client_cert(ctx, spec->client_ca_names);
    }
    if (spec->require_client_ca_pem != NULL &&
        !require_client_cert(ctx, spec->require_client_ca_pem)) {
        return err_set(err, ERR_INVALID, "TLS: the CA of clients cannot be read; it must be PEM");
    }
    SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, NULL);
    return ERR_OK;
}

/* We speak HTTP/1.1 only, and say so to clients that offer HTTP/2 as well. */
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                       const unsigned char *in, unsigned int in_len, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;
    (void)ssl, (void)arg;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* --- names ------------------------------------------------------------------------------------ */

static void register_name(struct server_tls *t, const char *name, size_t i)
{
    map_set(t->names, str_lower(t->arena, name), &t->ctx[i]);
}

/* "*", or dots between labels of letters, digits and '-', the first of which may be "*". */
static bool is_host_name(const char *s)
{
    if (str_eq(s, "*")) {
        return true;
    }
    s += str_has_prefix(s, "*.") ? 2 : 0;
    char before = '.';
    for (; *s != '\0'; before = *s++) {
        bool edge = before == '.';
        if (!isalnum((unsigned char)*s) && (edge || (*s != '-' && *s != '.'))) {
            return false;
        }
        if (*s == '.' && before == '-') {
            return false;
        }
    }
    return before != '.' && before != '-';
}

static bool is_ip(const char *s)
{
    unsigned char buf[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, s, buf) == 1 || inet_pton(AF_INET6, s, buf) == 1;
}

/* The common name if it is one, and the DNS names.  Addresses in a certificate are ignored:
 * the caller names the addresses of a pair. */
static void register_cert_names(struct server_tls *t, size_t i)
{
    X509 *cert = SSL_CTX_get0_certificate(t->ctx[i]);
    char cn[256];
    int n = X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, cn, sizeof(cn));
    if (n > 0 && strlen(cn) == (size_t)n && !is_ip(cn) && is_host_name(cn)) {
        register_name(t, cn, i);
    }
    GENERAL_NAMES *alt = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int k = 0; alt != NULL && k < sk_GENERAL_NAME_num(alt) && k < MAX_NAMES; k++) {
        const GENERAL_NAME *g = sk_GENERAL_NAME_value(alt, k);
        if (g->type == GEN_DNS) {
            const char *dns = (const char *)ASN1_STRING_get0_data(g->d.dNSName);
            if (strlen(dns) == (size_t)ASN1_STRING_length(g->d.dNSName)) {
                register_name(t, dns, i);
            }
        }
    }
    GENERAL_NAMES_free(alt);
}

/* Later entries overwrite: names of certificates first, then those that were given; the
 * last pair first. */
static void register_names(struct server_tls *t, const struct server_tls_spec *spec)
{
    for (size_t i = t->n - 1; i > 0; i--) {
        if (spec->others[i - 1].n_names == 0) {
            register_cert_names(t, i);
        }
    }
    for (size_t i = t->n - 1; i > 0; i--) {
        for (size_t k = 0; k < spec->others[i - 1].n_names; k++) {
            register_name(t, spec->others[i - 1].names[k], i);
        }
    }
}

size_t server_tls_choose(const struct server_tls *t, const char *name)
{
    char key[512];
    size_t n = strlen(name);
    if (n == 0 || n >= sizeof(key)) {
        return 0;
    }
    for (size_t i = 0; i <= n; i++) {
        key[i] = (char)tolower((unsigned char)name[i]);
    }
    SSL_CTX *const *found = map_get(t->names, key);
    char *rest = strchr(key, '.');
    if (found == NULL && rest != NULL && rest > key) {
        *--rest = '*';
        found = map_get(t->names, rest);
    } else if (found == NULL && rest == NULL) {
        found = map_get(t->names, "*");
    }
    return found == NULL ? 0 : (size_t)(found - t->ctx);
}

/* The address that the client has reached, as text. */
static bool local_address(SSL *ssl, char *out, size_t n)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    if (getsockname(SSL_get_fd(ssl), (struct sockaddr *)&ss, &len) != 0) {
        return false;
    }
    return http_address_text((const struct sockaddr *)&ss, out, n);
}

static int choose_pair(SSL *ssl, int *alert, void *arg)
{
    struct server_tls *t = arg;
    char address[INET6_ADDRSTRLEN];
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    (void)alert;
    if (name == NULL && local_address(ssl, address, sizeof(address))) {
        name = address;
    }
    size_t i = name == NULL ? 0 : server_tls_choose(t, name);
    if (i > 0) {
        (void)SSL_set_SSL_CTX(ssl, t->ctx[i]); /* fails when memory is out: `own` is used */
    }
    return SSL_TLSEXT_ERR_OK;
}
