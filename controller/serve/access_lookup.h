/* SPDX-License-Identifier: Apache-2.0 */
/* access_lookup.h: keeps the trust (access_trust.h) up to date: files of the flags, and the
 * cluster's ConfigMap.
 *
 * Reads all of it once, then two threads look after it: one reads the files again each minute, one
 * watches the ConfigMap.  What cannot be used is logged and changes nothing.
 * Source: controller.md §3.2, §3.6.  Thread-safe. */
#ifndef TRIMTAB_SERVE_ACCESS_LOOKUP_H
#define TRIMTAB_SERVE_ACCESS_LOOKUP_H

#include "controller/serve/access_api.h"
#include "controller/serve/access_trust.h"

#define ACCESS_CONFIG_NS   "kube-system"
#define ACCESS_CONFIG_NAME "extension-apiserver-authentication"

struct access_lookup;

struct access_lookup_args {
    const struct options *options; /* must live longer */
    struct access_api *api;        /* NULL: the ConfigMap cannot be read */
    const char *user_agent;
    struct clock *clock;
    struct rng *rng;
};
/* INVALID, NOT_FOUND, FORBIDDEN: a file.  FORBIDDEN, AUTH, INVALID: the ConfigMap, unless that is
 * tolerated.  Blocks for one request. */
int access_lookup_new(const struct access_lookup_args *args, struct access_lookup **ret,
                      struct err *err) _warn_unused_;
void access_lookup_free(struct access_lookup *l); /* NULL is fine */
/* A reference to what counts now. */
struct access_trust *access_lookup_trust(struct access_lookup *l);

#endif
