/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_desired.h: the security rules that a Service wants, and the names by which they are
 * shared.
 *
 * A rule is named by a hash of protocol, sources and ports: Services that ask for the same thing
 * share one rule and only add their addresses to it.  So the texts that are hashed, and their
 * order, are part of the contract.
 * Source: docs/spec/azure.md 9.1, 9.4 (2); vectors 13.8 G-01 to G-12, G-20 to G-26.  Pure. */
#ifndef TRIMTAB_AZURE_NSG_DESIRED_H
#define TRIMTAB_AZURE_NSG_DESIRED_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "providers/azure/model/azure_access_rules.h"

#include <stdbool.h>
#include <stddef.h>

/* A rule before it has a priority. */
struct azure_nsg_want {
    const char *name;
    enum azure_protocol protocol;
    bool deny;
    struct str_set sources;
    struct str_set ports;        /* decimal texts, or "*" */
    struct str_set destinations; /* canonical addresses of one family, at least one */
};

/* "k8s-azure-lb_allow_IPv4_<md5>".  ERR_BUG when OpenSSL has no MD5. */
int azure_nsg_allow_name(struct arena *a, const struct azure_nsg_want *w, enum azure_family f,
                         const char **ret, struct err *err) _warn_unused_;
const char *azure_nsg_deny_name(enum azure_family f);

/* In the order in which priorities are given out.  `destinations` has one set for each family. */
int azure_nsg_desired(struct arena *a, const struct azure_access *x,
                      const struct str_set destinations[AZURE_FAMILIES],
                      const struct azure_nsg_want **ret, size_t *ret_n,
                      struct err *err) _warn_unused_;
/* Would the Service have any rule, once it has addresses? */
bool azure_nsg_wants_any(struct arena *a, const struct azure_access *x);

#endif
