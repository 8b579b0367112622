/* SPDX-License-Identifier: Apache-2.0 */
/* rbac_rules.h: what trimtab may do in the cluster: rules of Roles, made from what the code says
 * that it does.
 *
 * Two sources: the table of the controller's own requests (rbac_rules.c), and the provider's
 * descriptor (kube_kinds, leases, capabilities), which the host enforces as well (host_kube.c).
 * Nothing is added by hand, so a role that was made here is as small as the tables are; that these
 * are not larger than what is used is shown by tests/deploy.
 * Source: controller.md §4.11; docs/adr/0021.  Pure: no I/O, everything in the arena. */
#ifndef TRIMTAB_CONTROLLER_RBAC_RULES_H
#define TRIMTAB_CONTROLLER_RBAC_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/str.h"

/* Rights that the controller's flags add. */
struct rbac_input {
    const struct tt_provider *desc;
    const char *lease_ns, *lease_name; /* the controller's own lease; name NULL: no election */
    bool quarantines; /* a plugin: without election its deaths are counted in a ConfigMap */
    const char *secret_ns, *secret_name; /* --cloud-config-secret-…; name NULL: none */
    const char *account_ns, *account;    /* the ServiceAccount; also the name of its roles */
    /* --use-service-account-credentials: Services are RBAC_SERVICES_ACCOUNT's business */
    bool splits;
    const struct tt_kv *options; /* of the provider: its flags may make kinds needless */
    uint32_t n_options;
};
#define RBAC_SERVICES_NS      "kube-system"
#define RBAC_SERVICES_ACCOUNT "service-controller" /* upstream's name */

/* The account of a request: with `splits` there are two accounts, without all are RBAC_ALL. */
#define RBAC_PROCESS  1u /* watches, leases, the other account's tokens */
#define RBAC_SERVICES 2u /* what is done for Services */
#define RBAC_ALL      (RBAC_PROCESS | RBAC_SERVICES)

/* One rule: these verbs on these resources of one group. */
struct rbac_rule {
    const char *ns;    /* "": in the whole cluster */
    const char *group; /* "": the core group */
    const char *name;  /* "": any object; else resourceNames */
    const char **resources;
    size_t n_resources;
    unsigned verbs; /* 1 << index into rbac_verbs */
};
extern const char *const rbac_verbs[];
extern const size_t rbac_verbs_n;
/* Reads "get,list" into bits as above.  INVALID names the verb that RBAC does not know. */
int rbac_read_verbs(const char *text, unsigned *ret, struct err *err) _warn_unused_;

/* All rules of those (`whose`: RBAC_…), sorted by namespace, name, group, resources; no verb on a
 * resource twice.  INVALID: a kind of the provider has a verb that RBAC does not know. */
int rbac_rules(struct arena *a, const struct rbac_input *in, unsigned whose, struct rbac_rule **ret,
               size_t *ret_n, struct err *err) _warn_unused_;
/* Roles and bindings as one YAML stream. */
int rbac_print(struct str_buf *b, struct arena *a, const struct rbac_input *in,
               struct err *err) _warn_unused_;

#endif
