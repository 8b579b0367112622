/* SPDX-License-Identifier: Apache-2.0 */
/* http_server_tls.h: what an HTTPS server shows its clients: certificates, versions, ciphers.
 *
 *     server_tls_new(&spec, &tls, &err);      everything is read and checked here
 *     http_server_set_tls(server, tls);     new connections use it; old ones keep theirs
 *     server_tls_unref(tls);
 *
 * Which certificate a client gets: that of the name it asks for (SNI), without one that of the
 * address it has reached; else `own`.  Names that are given win over names that were taken from
 * certificates, earlier pairs over later ones; a wildcard stands for exactly one label.  As the API
 * server does it (controller.md §3.6).  Immutable once made; counted without atomics, so
 * one thread at a time. */
#ifndef TRIMTAB_NET_HTTP_SERVER_TLS_H
#define TRIMTAB_NET_HTTP_SERVER_TLS_H

#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/attr.h"
#include "common/base/err.h"

struct server_tls;

/* One certificate with its key.  All texts are read by server_tls_new() and not kept. */
struct server_tls_pair {
    const char *label;    /* for errors: "tls.crt"; NULL: "the server" */
    const char *cert_pem; /* its chain behind it */
    const char *key_pem;  /* not encrypted */
    /* Names it is for: "a.example", "*.example", "10.0.0.1"; none: those in the certificate. */
    const char *const *names;
    size_t n_names;
};

struct server_tls_spec {
    struct server_tls_pair own;           /* when no other fits */
    const struct server_tls_pair *others; /* chosen by name */
    size_t n_others;
    int min_version;     /* TLS1_VERSION … TLS1_3_VERSION; 0: TLS1_2_VERSION */
    const char *ciphers; /* OpenSSL's names with ':' between; TLS 1.2 and older; NULL: its own */
    const char *groups;  /* the same for key exchange; NULL: its own */
    /* Clients are asked for a certificate; whether they show one, and which, is the handler's
     * affair.  Sessions are then never resumed: every connection shows its certificate itself. */
    bool ask_client_cert;
    const STACK_OF(X509_NAME) * client_ca_names; /* told to clients that are asked; NULL: none */
    const char *require_client_ca_pem; /* clients without a certificate of this CA are refused */
};

/* INVALID: which pair, and what is wrong with it (no PEM, an encrypted key, key of another
 * certificate …). */
int server_tls_new(const struct server_tls_spec *spec, struct server_tls **ret,
                   struct err *err) _warn_unused_;
struct server_tls *server_tls_ref(struct server_tls *t);
void server_tls_unref(struct server_tls *t); /* NULL is fine */

/* Which pair a client gets that asks for `name` (0: own, 1…: others), for tests and logs. */
size_t server_tls_choose(const struct server_tls *t, const char *name);

#endif
