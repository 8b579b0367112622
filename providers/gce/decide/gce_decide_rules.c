/* SPDX-License-Identifier: Apache-2.0 */
/* gce_decide_rules.c: upstream's own questions about whose a Service is, one function each.
 *
 * These answer exactly as cloud-provider-gcp and ingress-gce do, each for itself; trimtab-eval asks
 * them.  What trimtab does follows from gce_decide() (gce_decide.c), which puts them into one order
 * and knows more: that a target pool stays one whatever the other program would say, and which
 * parts are run here.
 * Source: gce-l4.md §1.3–1.7, vectors V1–V49; gce-cloud-provider.md §5.2.  Pure. */
#include "providers/gce/decide/gce_decide.h"

#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

/* ---- what it wants (§1.3) -------------------------------------------------------------------- */

static bool is_lb(const struct tt_service *s)
{
    return s != NULL && str_eq(s->type, "LoadBalancer");
}

bool gce_l4_wants_ilb(const struct tt_service *s)
{
    if (!is_lb(s)) {
        return false;
    }
    return s->lb_class != NULL ? str_eq(s->lb_class, GCE_CLASS_INTERNAL)
                               : gce_svc_scheme(s) == GCE_INTERNAL;
}

bool gce_l4_wants_netlb(const struct tt_service *s)
{
    if (!is_lb(s)) {
        return false;
    }
    return s->lb_class != NULL ? str_eq(s->lb_class, GCE_CLASS_EXTERNAL)
                               : gce_svc_scheme(s) == GCE_EXTERNAL;
}

bool gce_l4_has_rbs_annotation(const struct tt_service *s)
{
    return s != NULL && str_eq(svc_annotation(s, GCE_ANN_RBS), "enabled");
}

/* ---- internal, subsetting (§1.5, §1.7) ------------------------------------------------------- */

bool gce_l4_ilb_is_ours(const struct tt_service *s, enum gce_found found,
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

bool gce_l4_ilb_needs_deletion(const struct tt_service *s)
{
    bool v2 = svc_has_finalizer(s, GCE_FINALIZER_ILB_V2);
    bool mine = s->lb_class != NULL ? str_eq(s->lb_class, GCE_CLASS_INTERNAL) : v2;
    return mine && ((s->deleted_us != 0 && v2) || !gce_l4_wants_ilb(s));
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

bool gce_l4_netlb_has_rule(const struct tt_service *s, enum gce_found found,
                           const struct gce_rule *rule)
{
    return names_legacy_rule(s) ||
           (found == GCE_FOUND_PRESENT && str_eq(rule->scheme, "EXTERNAL") &&
            !str_is_empty(rule->backend_service));
}

bool gce_l4_netlb_is_rbs(const struct tt_service *s, enum gce_found found,
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

bool gce_l4_netlb_needs_deletion(const struct tt_service *s, enum gce_found found,
                                 const struct gce_rule *rule)
{
    bool mine = has_netlb_finalizer(s) || str_eq(s->lb_class, GCE_CLASS_EXTERNAL) ||
                gce_l4_netlb_has_rule(s, found, rule);
    return mine && (s->deleted_us != 0 || !gce_l4_wants_netlb(s));
}

enum gce_guard gce_l4_netlb_guard(const struct tt_service *s, enum gce_found found,
                                  const struct gce_rule *rule)
{
    if (!is_legacy_owned(s, found, rule)) {
        return GCE_GUARD_CONTINUE;
    }
    if (has_netlb_finalizer(s)) {
        return GCE_GUARD_RACE;
    }
    return gce_l4_has_rbs_annotation(s) ? GCE_GUARD_MIGRATION : GCE_GUARD_STOP;
}

bool gce_l4_netlb_uses_negs(const struct gce_case *c)
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

bool gce_l4_netlb_should_process(const struct tt_service *s, const struct tt_service *old_svc,
                                 enum gce_found found, const struct gce_rule *rule,
                                 const struct gce_process_flags *f, bool *ret_resync)
{
    *ret_resync = false;
    if (s->lb_class != NULL && !str_eq(s->lb_class, GCE_CLASS_EXTERNAL)) {
        return false;
    }
    if (!gce_l4_netlb_is_rbs(s, found, rule, f->rbs_default) &&
        (old_svc == NULL || !gce_l4_netlb_is_rbs(old_svc, found, rule, f->rbs_default))) {
        return false;
    }
    if (old_svc == NULL) {
        return gce_l4_wants_netlb(s) || gce_l4_netlb_needs_deletion(s, found, rule);
    }
    if (gce_l4_netlb_needs_update(old_svc, s, f->dual_stack) ||
        gce_l4_netlb_needs_deletion(s, found, rule)) {
        return true;
    }
    *ret_resync = f->unchanged && gce_l4_wants_netlb(s);
    return *ret_resync;
}

/* ---- internal, instance groups (gce-cloud-provider.md §5.2) ---------------------------------- */

bool gce_ilb_legacy_is_ours(const struct tt_service *s, bool ensure, bool has_rule,
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
