/* SPDX-License-Identifier: Apache-2.0 */
/* tls_flags.h: the TLS flags, whose words are Go's, in OpenSSL's words.
 *
 * Names are upstream's (Go's crypto/tls), so that command lines of the Go controllers can be taken
 * over.  What Go knows and this OpenSSL does not have (RC4, 3DES, post-quantum groups before
 * OpenSSL 3.5) is left out with a warning; only when nothing is left it is an error.  Source:
 * controller.md §3.2 "Secure serving".  Pure. */
#ifndef TRIMTAB_SERVE_TLS_FLAGS_H
#define TRIMTAB_SERVE_TLS_FLAGS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "controller/options/options.h"

struct tls_flags {
    int min_version;      /* TLS1_VERSION … TLS1_3_VERSION */
    const char *ciphers;  /* OpenSSL's list; never NULL: without the flag Go's defaults */
    const char *groups;   /* OpenSSL's list; NULL: its defaults */
    const char *left_out; /* names that this OpenSSL does not have, "a, b"; NULL: none */
    struct tls_sni *sni;
    size_t n_sni;
};
/* One --tls-sni-cert-key. */
struct tls_sni {
    const char *cert_file;
    const char *key_file;
    const char *const *names; /* n_names 0: those of the certificate */
    size_t n_names;
};

/* INVALID with the flag, the word, and what is allowed.  Everything is in `a`. */
int tls_flags_read(struct arena *a, const struct options *o, struct tls_flags *ret,
                   struct err *err) _warn_unused_;

#endif
