/* SPDX-License-Identifier: Apache-2.0 */
/* tls_client.h: a client that says exactly what a test wants to a TLS port on loopback, and shows
 * what it got.
 *
 * Blocking, one thread per client.  A handshake that fails is an outcome (NULL and a text),
 * everything else that goes wrong aborts.  Certificates of servers are taken as they
 * are: tests look at them. */
#ifndef TRIMTAB_TESTS_TLS_CLIENT_H
#define TRIMTAB_TESTS_TLS_CLIENT_H

#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tls_client;
struct tls_client_spec {
    const char *name;     /* SNI; NULL: none */
    const char *address;  /* NULL: 127.0.0.1 */
    int min, max;         /* versions; 0: the library's */
    const char *ciphers;  /* TLS 1.2 and older; NULL: the library's */
    const char *groups;   /* NULL: the library's */
    const char *cert_pem; /* shown when asked; NULL: none */
    const char *key_pem;
    bool offer_h2; /* ALPN "h2", "http/1.1" */
};
/* NULL: the handshake failed, or the server closed; `why` (256 bytes) may be NULL. */
struct tls_client *tls_client_connect(uint16_t port, const struct tls_client_spec *spec, char *why);
void tls_client_close(struct tls_client *c); /* NULL is fine */
bool tls_client_send(struct tls_client *c, const char *text);
/* One answer, head and body by Content-Length (no body for `head`); free() it.  NULL:
 * the server closed first. */
char *tls_client_read(struct tls_client *c, bool head);
/* connect, "GET path" with these header lines ("" or "A: b\r\n"), read, close. */
char *tls_client_get(uint16_t port, const char *path, const char *headers);
/* True when the server closes without another byte. */
bool tls_client_ended(struct tls_client *c);

int tls_client_version(const struct tls_client *c);        /* TLS1_2_VERSION … */
const char *tls_client_cipher(const struct tls_client *c); /* OpenSSL's name */
const char *tls_client_alpn(const struct tls_client *c);   /* "" none; valid until the next call */
bool tls_client_was_asked(const struct tls_client *c);     /* for a certificate */
size_t tls_client_ca_names(const struct tls_client *c);    /* that came with the question */
X509 *tls_client_peer(const struct tls_client *c);         /* borrowed */
/* The common name of the server's certificate; valid until the client is closed. */
const char *tls_client_peer_cn(struct tls_client *c);
int tls_client_fd(const struct tls_client *c);

#endif
