/* SPDX-License-Identifier: Apache-2.0 */
/* credentials.h: what a request to the API server carries to say who we are.
 *
 * Used by the client and by the reflectors.  Source: controller.md §4.2, 4.3, 4.5. */
#ifndef TRIMTAB_KUBE_CREDENTIALS_H
#define TRIMTAB_KUBE_CREDENTIALS_H

#include "controller/kube/config.h"

/* Headers and token of one request; everything lives in the arena or the configuration. */
struct kube_credentials {
    const char *bearer;          /* or NULL */
    struct http_header *headers; /* Accept, impersonation, basic; room for `spare` more */
    size_t n_headers;
};

/* Reads the token file if it is due.  ERR_AUTH when there is none to be had.  Blocks on the disk only.
 * Thread-safe. */
int kube_credentials_get(const struct kube_config *c, struct arena *a, size_t spare,
                         struct kube_credentials *ret, struct err *err) _warn_unused_;
/* After a 401: the token file is read again whatever its age.  True when the token is another one than `used`, so that
 * the request is worth a second try (§4.3 C). */
bool kube_credentials_renew(const struct kube_config *c, struct arena *a, const char *used);
/* Hides them in an error that quotes the server (err_mask). */
void kube_credentials_mask(const struct kube_credentials *creds, struct err *err);
/* The handle's configuration for this server; the caller adds what is its own. */
struct http_config kube_http_config(const struct kube_config *c, const char *user_agent);

#endif
