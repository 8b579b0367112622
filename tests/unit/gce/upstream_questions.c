/* SPDX-License-Identifier: Apache-2.0 */
/* upstream_questions.c: upstream's own questions about a Service's owner (upstream_questions.h). */
#include "tests/unit/gce/upstream_questions.h"

#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

/* ---- what it wants (§1.3) -------------------------------------------------------------------- */

static bool is_lb(const struct tt_service *s)
{
    return s != NULL && str_eq(s->type, "LoadBalancer");
}

bool upstream_wants_ilb(const struct tt_service *s)
{
    if (!is_lb(s)) {
        return false;
    }
    return s->lb_class != NULL ? str_eq(s->lb_class, GCE_CLASS_INTERNAL)
                               : gce_svc_scheme(s) == GCE_INTERNAL;
}

bool upstream_wants_netlb(const struct tt_service *s)
{
    if (!is_lb(s)) {
        return false;
    }
    return s->lb_class != NULL ? str_eq(s->lb_class, GCE_CLASS_EXTERNAL)
                               : gce_svc_scheme(s) == GCE_EXTERNAL;
}

/* ---- internal, subsetting (§1.5, §1.7) ------------------------------------------------------- */

bool upstream_ilb_is_ours(const struct tt_service *s, enum gce_found found,
                          const struct gce_rule *rule)
{
    if (s->lb_class != NULL) {
        return str_eq(s->lb_class, GCE_CLASS_INTERNAL);
    }
    if (svc_has_finalizer(s, GCE_FINALIZER_ILB_V1) || found == GCE_FOUND_FAILED) {
        return false;
    }
    return found != GCE_FOUND_PRESENT || !str_eq(rule->scheme, "INTERNAL");
}

bool upstream_ilb_needs_deletion(const struct tt_service *s)
{
    bool v2 = svc_has_finalizer(s, GCE_FINALIZER_ILB_V2);
    bool mine = s->lb_class != NULL ? str_eq(s->lb_class, GCE_CLASS_INTERNAL) : v2;
    return mine && ((s->deleted_us != 0 && v2) || !upstream_wants_ilb(s));
}

/* ---- external with a backend service (§1.6, §1.7) -------------------------------------------- */

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

static bool has_netlb_finalizer(const struct tt_service *s)
{
    return svc_has_finalizer(s, GCE_FINALIZER_NETLB_V2) ||
           svc_has_finalizer(s, GCE_FINALIZER_NETLB_V3);
}

static bool is_legacy_owned(const struct tt_service *s, enum gce_found found,
                            const struct gce_rule *rule)
{
    if (svc_has_finalizer(s, GCE_FINALIZER_NETLB_V1)) {
        return true;
    }
    return !names_legacy_rule(s) && found == GCE_FOUND_PRESENT && !str_is_empty(rule->target);
}

bool upstream_netlb_is_rbs(const struct tt_service *s, enum gce_found found,
                           const struct gce_rule *rule, bool rbs_default)
{
    if (!is_lb(s)) {
        return false;
    }
    if (s->lb_class != NULL) {
        return str_eq(s->lb_class, GCE_CLASS_EXTERNAL);
    }
    if (has_netlb_finalizer(s) || gce_l4_has_rbs_annotation(s)) {
        return true;
    }
    if (is_legacy_owned(s, found, rule)) {
        return false;
    }
    return rbs_default || gce_l4_netlb_has_rule(s, found, rule);
}

bool upstream_netlb_needs_deletion(const struct tt_service *s, enum gce_found found,
                                   const struct gce_rule *rule)
{
    bool mine = has_netlb_finalizer(s) || str_eq(s->lb_class, GCE_CLASS_EXTERNAL) ||
                gce_l4_netlb_has_rule(s, found, rule);
    return mine && (s->deleted_us != 0 || !upstream_wants_netlb(s));
}

enum upstream_guard upstream_netlb_guard(const struct tt_service *s, enum gce_found found,
                                         const struct gce_rule *rule)
{
    if (!is_legacy_owned(s, found, rule)) {
        return UPSTREAM_GUARD_CONTINUE;
    }
    if (has_netlb_finalizer(s)) {
        return UPSTREAM_GUARD_RACE;
    }
    return gce_l4_has_rbs_annotation(s) ? UPSTREAM_GUARD_MIGRATION : UPSTREAM_GUARD_STOP;
}

bool upstream_netlb_uses_negs(const struct gce_case *c)
{
    const struct gce_switches *f = c->flags;
    if (!f->neg_netlb || svc_has_finalizer(c->service, GCE_FINALIZER_NETLB_V2)) {
        return false;
    }
    if (svc_has_finalizer(c->service, GCE_FINALIZER_NETLB_V3)) {
        return true;
    }
    if (!f->neg_default) {
        return false;
    }
    bool has_groups = c->backend_found == GCE_FOUND_PRESENT &&
                      str_eq(c->backend_scheme, "EXTERNAL") && c->backend_group != NULL &&
                      strstr(c->backend_group, "/instanceGroups/") != NULL;
    return !has_groups;
}

/* ---- internal, instance groups (gce-cloud-provider.md §5.2) ---------------------------------- */

bool upstream_ilb_groups_is_ours(const struct tt_service *s, bool ensure, bool has_rule,
                                 bool ilb_subsets)
{
    bool v1 = svc_has_finalizer(s, GCE_FINALIZER_ILB_V1);
    bool v2 = svc_has_finalizer(s, GCE_FINALIZER_ILB_V2);
    bool own_class = str_eq(s->lb_class, GCE_CLASS_INTERNAL_LEGACY);
    if (ensure) {
        return has_rule || v1 || own_class || (s->lb_class == NULL && !ilb_subsets && !v2);
    }
    if (s->lb_class != NULL && !own_class) {
        return false;
    }
    if (ilb_subsets && !v1 && !own_class) {
        return false;
    }
    return v1 || has_rule || !v2;
}
