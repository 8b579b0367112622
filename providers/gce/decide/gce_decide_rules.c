/* SPDX-License-Identifier: Apache-2.0 */
/* gce_decide_rules.c: marks of a backend service of ingress-gce's on an external Service, and whose
 * a forwarding rule is.
 *
 * Source: gce-l4.md §1.3, §1.6.  Pure. */
#include "providers/gce/decide/gce_decide.h"

#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/model/gce_shared_ip_rules.h"

bool gce_l4_has_rbs_annotation(const struct tt_service *s)
{
    return s != NULL && str_eq(svc_annotation(s, GCE_ANN_RBS), "enabled");
}

/* One of the status annotations of rules names the legacy rule: the RBS controller made it, and
 * upstream saves the look. */
static bool names_legacy_rule(const struct tt_service *s)
{
    static const char *const keys[] = {GCE_ANN_STATUS_PREFIX "tcp-forwarding-rule",
                                       GCE_ANN_STATUS_PREFIX "udp-forwarding-rule"};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *name = svc_default_lb_name(a, str_nonnull(s->uid));
    return str_eq(svc_annotation(s, keys[0]), name) || str_eq(svc_annotation(s, keys[1]), name);
}

bool gce_l4_netlb_has_rule(const struct tt_service *s, enum gce_found found,
                           const struct gce_rule *rule)
{
    return names_legacy_rule(s) ||
           (found == GCE_FOUND_PRESENT && str_eq(rule->scheme, "EXTERNAL") &&
            !str_is_empty(rule->backend_service));
}

bool gce_rule_is_own(const struct tt_service *s, const struct gce_rule *rule)
{
    if (s->lb_class == NULL) {
        return true;
    }
    for (uint32_t i = 0; i < s->n_ingress && !str_is_empty(rule->ip); i++) {
        if (str_eq(s->ingress[i].ip, rule->ip)) {
            return true;
        }
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    return str_eq(gce_description_service(a, rule->description), svc_key(a, s));
}
