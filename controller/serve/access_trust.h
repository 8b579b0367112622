/* SPDX-License-Identifier: Apache-2.0 */
/* access_trust.h: whom we believe: CAs of clients and of the aggregation proxy, and the proxy's header names.
 *
 * A trust is immutable and reference counted, so that a change is one exchange of a pointer while requests run.  It is
 * built whole or not at all: what cannot be read leaves the old one in place.  Sources: the files of the flags, and the
 * data of ConfigMap kube-system/extension-apiserver-authentication for what no flag gives.
 * Source: controller.md §3.6.  No I/O here: contents come in; access_lookup.h fetches them. */
#ifndef TRIMTAB_SERVE_ACCESS_TRUST_H
#define TRIMTAB_SERVE_ACCESS_TRUST_H

#include <openssl/x509.h>

#include "common/base/json.h"
#include "controller/serve/access_header_rules.h"

struct access_trust {
    X509_STORE *client_cas;      /* NULL: certificates name nobody */
    X509_STORE *proxy_cas;       /* NULL: there is no proxy */
    STACK_OF(X509_NAME) * names; /* subjects of both, for the handshake; may be empty */
    struct access_header_names headers;
    struct arena *a; /* owns it and its texts */
};
struct access_trust *access_trust_ref(struct access_trust *t);
void access_trust_unref(struct access_trust *t); /* NULL is fine */

/* What the ConfigMap says.  Members are NULL, or have no items, where it says nothing. */
struct access_config {
    const char *client_ca; /* PEM */
    const char *proxy_ca;
    struct access_header_names headers;
};
/* `data`: the ConfigMap's member of that name; NULL: it has none.  INVALID: a list that is no JSON array of strings, a
 * name that is empty, more than ACCESS_HEADERS_MAX names. */
int access_config_read(struct arena *a, struct json_object *data, struct access_config *ret,
                       struct err *err) _warn_unused_;

struct access_trust_parts {
    const char *client_ca; /* content of --client-ca-file; NULL: the ConfigMap's counts */
    const char *proxy_ca;  /* content of --requestheader-client-ca-file; NULL: likewise */
    const struct access_header_names *headers; /* of the flags; counts beside proxy_ca */
    const struct access_config *config;        /* NULL: it is not known */
};
/* A new one with one reference.  INVALID: a bundle that cannot be read; the text says whose. */
int access_trust_new(const struct access_trust_parts *parts, struct access_trust **ret,
                     struct err *err) _warn_unused_;

#endif
