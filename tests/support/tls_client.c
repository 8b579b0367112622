/* SPDX-License-Identifier: Apache-2.0 */
/* tls_client.c: OpenSSL's client over a blocking socket. */
#include "tests/support/tls_client.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/str.h"

struct tls_client {
    int fd;
    SSL_CTX *ctx;
    SSL *ssl;
    bool was_asked;
    char cn[256];
    char alpn[16];
};

static void must(bool ok)
{
    if (!ok) {
        abort();
    }
}

static int connect_to(const char *address, uint16_t port)
{
    struct sockaddr_storage ss = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&ss;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ss;
    socklen_t len = sizeof(*v4);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    if (inet_pton(AF_INET, address, &v4->sin_addr) != 1) {
        len = sizeof(*v6);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        must(inet_pton(AF_INET6, address, &v6->sin6_addr) == 1);
    }
    int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&ss, len) == 0);
    return fd;
}

/* Only whether it is called says that the server has asked. */
static int on_asked(SSL *ssl, void *arg)
{
    struct tls_client *c = arg;
    (void)ssl;
    c->was_asked = true;
    return 1;
}

static void use_pair(SSL_CTX *ctx, const char *cert_pem, const char *key_pem)
{
    BIO *cert_bio = BIO_new_mem_buf(cert_pem, -1), *key_bio = BIO_new_mem_buf(key_pem, -1);
    X509 *cert = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);
    must(SSL_CTX_use_certificate(ctx, cert) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1);
    X509_free(cert);
    EVP_PKEY_free(key);
    BIO_free(cert_bio);
    BIO_free(key_bio);
}

static SSL_CTX *new_ctx(const struct tls_client_spec *spec)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(ctx, 0); /* what is too old is the server's to say */
    must(SSL_CTX_set_min_proto_version(ctx, spec->min == 0 ? TLS1_VERSION : spec->min) == 1);
    must(SSL_CTX_set_max_proto_version(ctx, spec->max) == 1);
    must(spec->ciphers == NULL || SSL_CTX_set_cipher_list(ctx, spec->ciphers) == 1);
    must(spec->groups == NULL || SSL_CTX_set1_groups_list(ctx, spec->groups) == 1);
    if (spec->cert_pem != NULL) {
        use_pair(ctx, spec->cert_pem, spec->key_pem);
    }
    if (spec->offer_h2) {
        static const unsigned char both[] = "\x02h2\x08http/1.1";
        must(SSL_CTX_set_alpn_protos(ctx, both, sizeof(both) - 1) == 0);
    }
    return ctx;
}

struct tls_client *tls_client_connect(uint16_t port, const struct tls_client_spec *spec, char *why)
{
    static const struct tls_client_spec plain;
    spec = spec == NULL ? &plain : spec;
    struct tls_client *c = xcalloc(1, sizeof(*c));
    c->ctx = new_ctx(spec);
    SSL_CTX_set_cert_cb(c->ctx, on_asked, c);
    c->fd = connect_to(str_or(spec->address, "127.0.0.1"), port);
    c->ssl = SSL_new(c->ctx);
    must(SSL_set_fd(c->ssl, c->fd) == 1);
    must(spec->name == NULL || SSL_set_tlsext_host_name(c->ssl, spec->name) == 1);
    if (SSL_connect(c->ssl) != 1) {
        if (why != NULL) {
            ERR_error_string_n(ERR_peek_error(), why, 256);
        }
        ERR_clear_error();
        tls_client_close(c);
        return NULL;
    }
    return c;
}

void tls_client_close(struct tls_client *c)
{
    if (c != NULL) {
        SSL_free(c->ssl);
        SSL_CTX_free(c->ctx);
        close(c->fd);
        free(c);
    }
}

bool tls_client_send(struct tls_client *c, const char *text)
{
    bool ok = SSL_write(c->ssl, text, (int)strlen(text)) == (int)strlen(text);
    ERR_clear_error();
    return ok;
}

/* At most `most` bytes more. */
static bool read_some(struct tls_client *c, struct str_buf *b, size_t most)
{
    char buf[16384];
    int n = SSL_read(c->ssl, buf, (int)(most < sizeof(buf) ? most : sizeof(buf)));
    ERR_clear_error();
    if (n > 0) {
        str_append_n(b, buf, (size_t)n);
    }
    return n > 0;
}

static size_t content_length(const char *head)
{
    for (const char *line = head; line != NULL; line = strstr(line, "\r\n")) {
        line += line == head ? 0 : 2;
        if (strncasecmp(line, "Content-Length:", 15) == 0) {
            return strtoul(line + 15, NULL, 10);
        }
    }
    return 0;
}

char *tls_client_read(struct tls_client *c, bool head)
{
    struct str_buf b = STR_BUF_INIT;
    bool ok = true;
    while (ok && !str_has_suffix(str_buf_text(&b), "\r\n\r\n")) {
        ok = read_some(c, &b, 1);
    }
    size_t want = b.len + (ok && !head ? content_length(str_buf_text(&b)) : 0);
    while (ok && b.len < want) {
        ok = read_some(c, &b, want - b.len);
    }
    if (!ok) {
        str_buf_done(&b);
        return NULL;
    }
    return str_buf_steal(&b);
}

char *tls_client_get(uint16_t port, const char *path, const char *headers)
{
    struct tls_client *c = tls_client_connect(port, NULL, NULL);
    must(c != NULL);
    char *request = xasprintf("GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", path, headers);
    must(tls_client_send(c, request));
    char *answer = tls_client_read(c, false);
    free(request);
    tls_client_close(c);
    return answer;
}

bool tls_client_ended(struct tls_client *c)
{
    char byte;
    int n = SSL_read(c->ssl, &byte, 1);
    ERR_clear_error();
    return n <= 0;
}

int tls_client_version(const struct tls_client *c)
{
    return SSL_version(c->ssl);
}

const char *tls_client_cipher(const struct tls_client *c)
{
    return SSL_get_cipher_name(c->ssl);
}

const char *tls_client_alpn(const struct tls_client *c)
{
    struct tls_client *m = (struct tls_client *)c;
    const unsigned char *p;
    unsigned n;
    SSL_get0_alpn_selected(c->ssl, &p, &n);
    snprintf(m->alpn, sizeof(m->alpn), "%.*s", (int)n, n == 0 ? "" : (const char *)p);
    return m->alpn;
}

bool tls_client_was_asked(const struct tls_client *c)
{
    return c->was_asked;
}

size_t tls_client_ca_names(const struct tls_client *c)
{
    const STACK_OF(X509_NAME) *names = SSL_get0_peer_CA_list(c->ssl);
    return names == NULL ? 0 : (size_t)sk_X509_NAME_num(names);
}

X509 *tls_client_peer(const struct tls_client *c)
{
    return SSL_get0_peer_certificate(c->ssl);
}

const char *tls_client_peer_cn(struct tls_client *c)
{
    X509_NAME_get_text_by_NID(X509_get_subject_name(tls_client_peer(c)), NID_commonName, c->cn,
                              sizeof(c->cn));
    return c->cn;
}

int tls_client_fd(const struct tls_client *c)
{
    return c->fd;
}
