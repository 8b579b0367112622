/* SPDX-License-Identifier: Apache-2.0 */
/* credentials.h: what a request to the API server carries to say who we are.
 *
 * Used by the client and by the reflectors.  Source: controller.md §4.2, 4.3, 4.5. */
#ifndef TRIMTAB_KUBE_CREDENTIALS_H
#define TRIMTAB_KUBE_CREDENTIALS_H

#include "controller/kube/client/config.h"
#include "controller/kube/client/credentials_source.h"

/* Headers and token of one request; everything lives in the arena or the configuration. */
struct kube_credentials {
    const char *bearer;          /* or NULL */
    struct http_header *headers; /* Accept, impersonation, basic; room for `spare` more */
    size_t n_headers;
    uint64_t generation; /* of the configuration's source; 0: it has none */
};
/* Reads the token file if it is due.  ERR_AUTH when there is none to be had; ERR_IN_PROGRESS while
 * a plugin runs or a token is asked for: ask again soon.  Blocks on the disk only.  Thread-safe. */
int kube_credentials_get(const struct kube_config *c, struct arena *a, size_t spare,
                         struct kube_credentials *ret, struct err *err) _warn_unused_;
/* The same for those who may wait for a plugin or a token, a minute at most.  ERR_CANCELLED and
 * ERR_TRANSIENT as credentials_source_get(). */
int kube_credentials_wait(const struct kube_config *c, struct arena *a, size_t spare,
                          const struct credentials_waiter *waiter, struct kube_credentials *ret,
                          struct err *err) _warn_unused_;
/* After a 401: the token file is read again whatever its age, a source is asked for another
 * credential.  True when the request is worth a second try: the next get brings something else than
 * `used` (§4.3 C), or waits for it. */
bool kube_credentials_renew(const struct kube_config *c, struct arena *a,
                            const struct kube_credentials *used);
/* Hides them in an error that quotes the server (err_mask). */
void kube_credentials_mask(const struct kube_credentials *creds, struct err *err);
/* The handle's configuration for this server; the caller adds what is its own. */
struct http_config kube_http_config(const struct kube_config *c, const char *user_agent);

#endif
