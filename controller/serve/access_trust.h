/* SPDX-License-Identifier: Apache-2.0 */
/* access_trust.h: what we trust: CAs of clients and of the aggregation proxy, and the proxy's
 * header names.
 *
 * A trust is immutable and reference counted, so that a change is one exchange of a pointer while
 * requests run.  It has two parts, the clients' and the proxy's (CAs and header names).  A part
 * that cannot be read leaves the old one in place and does not hold up the other: a CA that is
 * taken out must be out.  Sources: the files of the flags, and the data of ConfigMap
 * kube-system/extension-apiserver-authentication for what no flag gives.
 * Source: controller.md §3.6.  No I/O here: contents come in; access_lookup.h fetches them. */
#ifndef TRIMTAB_SERVE_ACCESS_TRUST_H
#define TRIMTAB_SERVE_ACCESS_TRUST_H

#include <openssl/x509.h>

#include "common/data/json.h"
#include "controller/serve/access_header_rules.h"

struct access_trust {
    X509_STORE *client_cas;             /* NULL: client certificates are not accepted */
    X509_STORE *proxy_cas;              /* NULL: there is no proxy */
    STACK_OF(X509_NAME) * client_names; /* subjects, for the handshake; may be empty */
    STACK_OF(X509_NAME) * proxy_names;
    struct access_header_names headers;
    struct arena *a; /* owns its texts */
};
struct access_trust *access_trust_ref(struct access_trust *t);
void access_trust_unref(struct access_trust *t); /* NULL is fine */

/* Contents of the ConfigMap.  Members are NULL, or have no items, where it says nothing. */
struct access_config {
    const char *client_ca; /* PEM */
    const char *proxy_ca;
    struct access_header_names headers;
    struct err fault; /* of the header names: they are not to be used */
};
/* `data`: the ConfigMap's member of that name; NULL: it has none.  Errors (INVALID): a list that is
 * not a JSON array of strings, a name that is empty, more than ACCESS_HEADERS_MAX names. */
struct access_config access_config_read(struct arena *a, struct json_object *data);

struct access_trust_parts {
    const char *client_ca; /* content of --client-ca-file; NULL: the ConfigMap's counts */
    const char *proxy_ca;  /* content of --requestheader-client-ca-file; NULL: likewise */
    const struct access_header_names *headers; /* of the flags; counts beside proxy_ca */
    const struct access_config *config;        /* NULL: it is not known */
    const struct access_trust *old;            /* gives what cannot be read; NULL: nothing does */
};
/* INVALID, saying whose bundle or list it is, for a part that is the old one's; OK otherwise. */
struct access_trust_faults {
    struct err client;
    struct err proxy;
};
/* A new one with one reference. */
struct access_trust *access_trust_new(const struct access_trust_parts *parts,
                                      struct access_trust_faults *ret) _warn_unused_;

#endif
