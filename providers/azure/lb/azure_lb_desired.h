/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_desired.h: the rules and probes that one Service wants on a load balancer, for one
 * address family.
 *
 * Its fragment of the shared document; azure_lb_merge_rules.h puts it there.  In the order of the
 * Service's ports; a probe stands where the first rule needs it.
 * Source: docs/spec/azure.md 6.5, 6.6, 6.7.  Pure. */
#ifndef TRIMTAB_AZURE_LB_DESIRED_H
#define TRIMTAB_AZURE_LB_DESIRED_H

#include "providers/azure/model/azure_service.h"

#include "common/data/json.h"

struct azure_fragment {
    struct json_object **probes;
    size_t n_probes;
    struct json_object **rules;
    size_t n_rules;
};
struct azure_fragment_ask {
    const struct azure_naming *naming;
    const struct azure_service *service;
    const char *lb;
    enum azure_family family;
    const char *frontend_id;
    const char *pool_id;
};
/* ERR_INVALID: what 6.5 to 6.7 refuse, naming annotation or port. */
int azure_lb_desired(struct arena *a, const struct azure_fragment_ask *ask,
                     struct azure_fragment *ret, struct err *err) _warn_unused_;
/* Checks as azure_lb_desired(), independent of the balancer.  Keeps nothing. */
int azure_lb_check(const struct azure_naming *naming, const struct azure_service *s,
                   struct err *err) _warn_unused_;
/* "Tcp", "Udp", "All"; NULL: no protocol that Azure knows. */
const char *azure_lb_protocol(const char *kubernetes);
/* Equal in everything that is ours (6.5).  `want`: the idle time-out counts. */
bool azure_lb_rule_equal(struct json_object *x, struct json_object *y, bool want);

#endif
