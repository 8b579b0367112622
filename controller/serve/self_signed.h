/* SPDX-License-Identifier: Apache-2.0 */
/* self_signed.h: a certificate of our own making, for when none was given.
 *
 * As upstream makes it (controller.md §3.6): an RSA-2048 CA "localhost-ca@TIME" and a leaf
 * "localhost@TIME" of it, for a year from an hour ago, for "localhost", 127.0.0.1 and the address
 * that is served on.  The text holds the leaf, then the CA.  No client can trust it without having
 * read it: it is for probes and first steps.  Takes 0.1 to 0.7 s of CPU: two RSA keys. */
#ifndef TRIMTAB_SERVE_SELF_SIGNED_H
#define TRIMTAB_SERVE_SELF_SIGNED_H

#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/err.h"

struct self_signed {
    char *cert_pem;  /* leaf and CA */
    char *key_pem;   /* the leaf's; a secret */
    int64_t ends_us; /* wall time */
};
/* `bind_address` is numeric; 0.0.0.0 and :: add nothing.  Texts are in the arena.
 * BUG: OpenSSL refuses. */
int self_signed_make(struct arena *a, const char *bind_address, int64_t wall_us,
                     struct self_signed *ret, struct err *err) _warn_unused_;

#endif
