/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h: who calls, and what they may do, when the simulator runs with --rbac.
 *
 * The manifest's Roles, ClusterRoles and their bindings are enforced; nothing else is.  Tokens:
 *   sa:NAMESPACE:NAME   the service account (also what POST …/serviceaccounts/NAME/token gives)
 *   sim-admin           a member of system:masters
 * No token is system:anonymous; any other one is 401.  Without --rbac every request is allowed.
 * Recorded: 126–134, 147. */
#ifndef TRIMTAB_SIM_KUBE_AUTH_H
#define TRIMTAB_SIM_KUBE_AUTH_H

#include "sim/kube/kube.h"

struct kube_auth;

/* The user of a token. */
struct kube_user {
    const char *name;
    const char *const *groups;
    size_t n_groups;
};

/* A request to authorize. */
struct kube_access {
    const struct kube_user *user;
    const char *verb;
    const char *group, *resource, *subresource; /* "" for none */
    const char *namespace, *name;               /* "" for all, none */
    const char *path;                           /* not NULL: no resource */
};

int kube_auth_load(const char *file, struct kube_auth **ret, struct err *err) _warn_unused_;
void kube_auth_free(struct kube_auth *auth);
/* NULL for an unknown token; memory in `a`. */
const struct kube_user *kube_auth_user(struct arena *a, const char *token);
bool kube_auth_allows(const struct kube_auth *auth, const struct kube_access *what);
/* Checks a request and sets its user; a refusal or NULL. */
struct json_object *kube_auth_check(struct kube_request *r);

#endif
