/* SPDX-License-Identifier: Apache-2.0 */
/* gce_decide_explain.c: a decision in words: the answer.
 *
 * gce_decide.c says what was asked and found; this file says how that looks (ux.md).  Pure. */
#include "providers/gce/decide/gce_decide.h"

#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

static const char *noun(enum gce_kind kind)
{
    static const char *const nouns[GCE_KIND_MAX] = {
        [GCE_KIND_NONE] = "nothing",
        [GCE_KIND_TARGET_POOL] = "an external load balancer with a target pool",
        [GCE_KIND_ILB_GROUPS] = "an internal load balancer with instance groups",
        [GCE_KIND_ILB_NEGS] = "an internal load balancer with GCE_VM_IP NEGs",
        [GCE_KIND_NETLB_GROUPS] = "an external load balancer with a backend service and instance "
                                  "groups",
        [GCE_KIND_NETLB_NEGS] = "an external load balancer with a backend service and GCE_VM_IP "
                                "NEGs",
        [GCE_KIND_NEGS_ONLY] = "GCE_VM_IP NEGs, which wait for a load balancer of your own",
    };
    return nouns[kind];
}

/* The kind to delete first, or instead: " first …", with every kind named. */
static void append_former(struct str_buf *b, unsigned former)
{
    const char *between = "";
    for (int k = 0; k < GCE_KIND_MAX; k++) {
        if ((former & (1u << (unsigned)k)) != 0) {
            str_appendf(b, "%s%s", between, noun((enum gce_kind)k));
            between = ", and ";
        }
    }
}

static const char *who(enum gce_part part)
{
    return part == GCE_PART_L4 ? "ingress-gce" : "cloud-provider-gcp";
}

/* It has something of ours beside another controller's class. */
static bool has_class_of_others(const struct gce_case *c, const struct gce_decision *d)
{
    return d->teardown && d->is == GCE_KIND_NONE && c->service->lb_class != NULL && !c->gone &&
           c->service->deleted_us == 0;
}

/* That class came while what the Service has was not watched, and another program made it: nothing
 * is done for it until the Service is deleted. */
static bool is_left_standing(const struct gce_case *c, const struct gce_decision *d)
{
    return has_class_of_others(c, d) && !mark_is_by(c->service, GCE_PROVIDER);
}

/* Of any kind, or the generic one: the API server keeps the Service until it is taken off. */
static bool has_finalizer(const struct tt_service *svc)
{
    bool any = svc_has_finalizer(svc, LB_CLEANUP_FINALIZER);
    for (int k = GCE_KIND_NONE; k < GCE_KIND_MAX; k++) {
        const char *name = gce_kind_finalizer((enum gce_kind)k);
        any = any || (name != NULL && svc_has_finalizer(svc, name));
    }
    return any;
}

const char *gce_decide_answer(struct arena *a, const struct gce_case *c,
                              const struct gce_decision *d)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    bool wants = c->service != NULL && str_eq(c->service->type, "LoadBalancer") &&
                 c->service->deleted_us == 0 && !c->gone;
    if (is_left_standing(c, d)) {
        str_appendf(&b, "is served by another controller (loadBalancerClass). It still has ");
        append_former(&b, d->former | 1u << (unsigned)d->kind);
        str_appendf(&b, has_finalizer(c->service)
                            ? ", which goes with the Service."
                            : ", which stays when the Service goes: no finalizer is on it.");
    } else if (d->teardown) {
        str_appendf(&b, "loses ");
        append_former(&b, d->former | 1u << (unsigned)d->kind);
        str_appendf(&b, "%s",
                    has_class_of_others(c, d) ? ", because its loadBalancerClass is another "
                                                "controller's."
                    : wants                   ? ", because it asks for another one."
                                              : ".");
    } else if (d->kind != GCE_KIND_NONE) {
        str_appendf(&b, d->kind == GCE_KIND_NEGS_ONLY ? "gets %s" : "is served by %s",
                    noun(d->kind));
        bool together = gce_kinds_stand_together(d->kind, d->former);
        str_appendf(&b, d->former == 0 ? "." : together ? "; then it loses " : "; first it loses ");
        append_former(&b, d->former);
        str_appendf(&b, d->former != 0 ? "." : "");
    } else if (d->is != GCE_KIND_NONE) {
        str_appendf(&b, "is served by %s: %s.", who(d->part), noun(d->is));
    } else if (c->service != NULL && c->service->lb_class != NULL) {
        str_appendf(&b, "is served by another controller (loadBalancerClass).");
    } else if (d->needs != 0) {
        str_appendf(&b, "is left alone: %s.", d->says);
    } else {
        str_appendf(&b, "gets no load balancer: %s.", d->says);
    }
    return str_buf_to_arena(&b, a);
}

const char *gce_decide_verdict(const struct gce_case *c, const struct gce_decision *d)
{
    bool has_class = c->service != NULL && c->service->lb_class != NULL;
    if (d->teardown && !is_left_standing(c, d)) {
        return "loses";
    }
    if (d->kind != GCE_KIND_NONE && !d->teardown) {
        return "served";
    }
    return d->is != GCE_KIND_NONE || has_class || d->needs != 0 ? "elsewhere" : "none";
}

const char *gce_decide_kind(enum gce_kind kind)
{
    static const char article[] = "an ";
    const char *text = noun(kind);
    if (kind == GCE_KIND_NONE) {
        return NULL;
    }
    return str_has_prefix(text, article) ? text + strlen(article) : text;
}
