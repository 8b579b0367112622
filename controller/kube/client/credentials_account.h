/* SPDX-License-Identifier: Apache-2.0 */
/* credentials_account.h: speaking as a service account whose tokens the API server issues (§3.9).
 *
 * For --use-service-account-credentials: the service controller speaks as
 * kube-system/service-controller, with the permissions of that account instead of the process'.
 * The account is made when it is missing. */
#ifndef TRIMTAB_KUBE_CREDENTIALS_ACCOUNT_H
#define TRIMTAB_KUBE_CREDENTIALS_ACCOUNT_H

#include "controller/kube/client/client.h"
#include "controller/kube/client/config.h"

struct account_args {
    const struct kube_config *main; /* how to reach and trust the server */
    struct kube_client *client; /* asks for tokens, as the process itself; both must live longer */
    const char *ns;             /* "kube-system"; borrowed */
    const char *name;           /* "service-controller"; borrowed */
    struct clock *clock;
};

/* The same server, nothing else of `main`'s user (no certificate, no impersonation), and an issuer
 * that keeps a token of the account: an hour long, a new one at 80 % of its life.  Asks nothing
 * yet.  Free with kube_config_free(). */
struct kube_config *account_config_new(const struct account_args *args) _warn_unused_;

#endif
