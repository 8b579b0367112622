/* SPDX-License-Identifier: Apache-2.0 */
/* gce_idle.c: annotations that Google knows and that have no effect beside what the Service says
 * otherwise, or beside what stands: one row each (gce_findings.h).
 *
 *     idle    the annotation has no effect as long as the condition holds
 *     kept    the annotation has gone, and its effect stays: told of the edit that took it away
 *     ranges  source ranges of a family of which the load balancer has no address
 * Names of addresses are found or not by the look at the load balancer. */
#include <string.h>

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_findings.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_service_rules.h"

#define BIT(kind) (1u << (kind))
#define POOL      BIT(GCE_KIND_TARGET_POOL)
#define ILB       BIT(GCE_KIND_ILB_GROUPS)
#define NETLB     (BIT(GCE_KIND_NETLB_GROUPS) | BIT(GCE_KIND_NETLB_NEGS))
#define ANEW      "make the Service anew to change its kind"

struct asked {
    struct arena *a;
    const struct tt_service *service;
    const struct gce_decision *decision;
    const struct gce_l4_flags *flags;
};

/* ---- beside what the Service says ------------------------------------------------------------ */

/* Where ingress-gce's part is run, the guard says it and takes the annotation away (gce_flow.c). */
static bool is_pool_for_good(const struct asked *q)
{
    return gce_l4_has_rbs_annotation(q->service) && !q->decision->guard_migration &&
           !q->decision->guard_race;
}

static bool differs(const struct asked *q, const char *newer, const char *older)
{
    const char *counts = svc_annotation(q->service, newer);
    return counts != NULL && !str_eq(counts, svc_annotation(q->service, older));
}

static bool has_newer_type(const struct asked *q)
{
    return differs(q, GCE_ANN_TYPE, GCE_ANN_TYPE_OLD);
}

static bool has_newer_subnet(const struct asked *q)
{
    return differs(q, GCE_ANN_SUBNET_NEW, GCE_ANN_SUBNET);
}

static bool is_of_ipv4(const struct asked *q)
{
    return !gce_l4_wants_v6(q->service, q->flags->dual_stack_netlb);
}

static bool is_local(const struct asked *q)
{
    bool asks = str_eq(svc_annotation(q->service, GCE_ANN_SHARE), "true") ||
                str_eq(svc_annotation(q->service, GCE_ANN_SHARE_OLD), "true");
    return asks && svc_only_local_traffic(q->service);
}

static bool has_ranges(const struct asked *q)
{
    const struct tt_service *svc = q->service;
    const char *in_spec = str_join(q->a, svc->source_ranges, svc->n_source_ranges, ",");
    return svc->n_source_ranges > 0 &&
           !str_eq(in_spec, svc_annotation(svc, LB_SOURCE_RANGES_ANNOTATION));
}

static const struct idle {
    const char *key;
    unsigned on; /* kinds */
    bool (*is)(const struct asked *q);
    const char *why; /* follows "has no effect" */
} idle[] = {
    {GCE_ANN_RBS, POOL, is_pool_for_good, "on a load balancer that has a target pool; " ANEW},
    {GCE_ANN_TYPE_OLD, ~0u, has_newer_type, "beside " GCE_ANN_TYPE},
    {GCE_ANN_SUBNET, BIT(GCE_KIND_ILB_NEGS), has_newer_subnet, "beside " GCE_ANN_SUBNET_NEW},
    {GCE_ANN_SUBNET_NEW, NETLB, is_of_ipv4, "on an external Service without an IPv6 address"},
    {GCE_ANN_IP_COLLECTION, NETLB, is_of_ipv4, "on a Service without an IPv6 address"},
    {GCE_ANN_SHARE, ILB, is_local, "with externalTrafficPolicy Local"},
    {GCE_ANN_SHARE_OLD, ILB, is_local, "with externalTrafficPolicy Local"},
    {LB_SOURCE_RANGES_ANNOTATION, ~0u, has_ranges, "beside spec.loadBalancerSourceRanges"},
};

/* ---- what is no longer asked for, and stays -------------------------------------------------- */

static bool had_backend_service(const struct asked *now, const struct asked *before)
{
    return gce_l4_has_rbs_annotation(before->service) && !gce_l4_has_rbs_annotation(now->service);
}

static bool had_other_tier(const struct asked *now, const struct asked *before)
{
    return str_eq(svc_annotation(before->service, GCE_ANN_TIER), "Standard") &&
           svc_annotation(now->service, GCE_ANN_TIER) == NULL;
}

static const struct kept {
    const char *key;
    unsigned on;
    bool (*is)(const struct asked *now, const struct asked *before);
    const char *text;
} kept[] = {
    {GCE_ANN_RBS, NETLB, had_backend_service,
     "has gone; the load balancer keeps its backend service; " ANEW},
    {GCE_ANN_TIER, POOL | NETLB, had_other_tier,
     "has gone; the forwarding rule keeps the tier Standard; name Premium to change it"},
};

/* ---- findings -------------------------------------------------------------------------------- */

static void find_idle(struct lb_sync *s, const struct lb_item *item, const struct asked *q)
{
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        const struct idle *row = &idle[i];
        const char *value = svc_annotation(q->service, row->key);
        bool blank = value == NULL || *str_trim(s->a, value) == '\0';
        if (!blank && (row->on & BIT(q->decision->kind)) != 0 && row->is(q)) {
            lb_finding(s, item, LB_FINDING_IGNORED, row->key, "annotation %s has no effect %s",
                       row->key, row->why);
        }
    }
}

static void find_kept(struct lb_sync *s, const struct lb_item *item, const struct asked *q)
{
    const struct asked before = {.service = item->in->previous};
    for (size_t i = 0; before.service != NULL && i < ARRAY_LEN(kept); i++) {
        const struct kept *row = &kept[i];
        if ((row->on & BIT(q->decision->kind)) != 0 && row->is(q, &before)) {
            lb_finding(s, item, LB_FINDING_IGNORED, row->key, "annotation %s %s", row->key,
                       row->text);
        }
    }
}

/* Does a load balancer of that kind get an address of the family? */
static bool has_family(const struct asked *q, bool v6)
{
    const struct tt_service *svc = q->service;
    bool v4_only = (BIT(q->decision->kind) & (POOL | ILB)) != 0 || svc->n_ip_families == 0;
    for (uint32_t i = 0; !v4_only && i < svc->n_ip_families; i++) {
        if (str_eq(svc->ip_families[i], v6 ? "IPv6" : "IPv4")) {
            return true;
        }
    }
    return v4_only && !v6;
}

/* A Service of which no range counts is refused, or gce_findings_nobody() reports it. */
static void find_ranges(struct lb_sync *s, const struct lb_item *item, const struct asked *q)
{
    struct str_set all;
    size_t n_idle = 0;
    const char *idle_ranges = "";
    const char *range;
    if (svc_source_ranges(s->a, q->service, &all, NULL) != ERR_OK) {
        return;
    }
    STR_SET_EACH (range, &all) {
        if (!has_family(q, strchr(range, ':') != NULL)) {
            idle_ranges = arena_printf(s->a, "%s%s%s", idle_ranges, n_idle > 0 ? ", " : "", range);
            n_idle++;
        }
    }
    if (n_idle > 0 && n_idle < all.n) {
        bool in_spec = q->service->n_source_ranges > 0;
        lb_finding(s, item, "SourceRangesOfOneFamily",
                   in_spec ? "spec.loadBalancerSourceRanges" : LB_SOURCE_RANGES_ANNOTATION,
                   "source ranges %s have no effect: the load balancer has no %s address",
                   lb_finding_value(s->a, idle_ranges), has_family(q, true) ? "IPv4" : "IPv6");
    }
}

/* A family that the Service requires, and that this kind of load balancer, or these flags, do not
 * give. */
static void find_families(struct lb_sync *s, const struct lb_item *item, const struct asked *q)
{
    bool internal = BIT(q->decision->kind) == BIT(GCE_KIND_ILB_NEGS);
    bool flag = internal ? q->flags->dual_stack_ilb : q->flags->dual_stack_netlb;
    bool v4_only = (BIT(q->decision->kind) & (POOL | ILB)) != 0;
    const char *missed = lb_family_missed(q->service, v4_only || gce_l4_wants_v4(q->service, flag),
                                          !v4_only && gce_l4_wants_v6(q->service, flag));
    if (missed != NULL) {
        lb_finding(s, item, LB_FINDING_FAMILY, "spec.ipFamilies",
                   "spec.ipFamilies: %s has no effect: %s", missed,
                   v4_only ? "this kind of load balancer has an IPv4 address alone"
                           : "dual stack is switched off for this kind of load balancer");
    }
}

void gce_idle_findings(struct lb_sync *s, const struct lb_item *item, const struct gce_decision *d,
                       const struct gce_options *o)
{
    const struct asked q = {s->a, item->in->service, d, &o->l4};
    find_idle(s, item, &q);
    find_kept(s, item, &q);
    if (d->kind != GCE_KIND_NEGS_ONLY) {
        find_ranges(s, item, &q);
        find_families(s, item, &q);
    }
}

static const char *left_out_because(struct arena *a, const struct gce_bs_item *b, size_t nth,
                                    const char *name)
{
    const struct gce_slot *slot = gce_slots_find(&b->slots, GCE_ADDRESSES, NULL, name);
    if (nth >= GCE_L4_ADDRESS_NAMES_MAX) {
        return arena_printf(a, "only the first %d names count", GCE_L4_ADDRESS_NAMES_MAX);
    }
    if (slot == NULL || slot->known == GCE_UNKNOWN) {
        return NULL;
    }
    if (slot->known == GCE_ABSENT) {
        return arena_printf(a, "no address of this name is reserved in %s", b->facts.region);
    }
    bool v6 = str_eq(((const struct gce_address *)slot->as)->ip_version, "IPV6");
    const char *family = v6 ? "IPv6" : "IPv4";
    const struct gce_bs_user_address *user = v6 ? &b->in.user_v6 : &b->in.user_v4;
    if (!(v6 ? b->d.v6.wanted : b->d.v4.wanted)) {
        return arena_printf(a, "the Service has no %s address", family);
    }
    return user->reserved && !str_eq(user->name, name)
               ? arena_printf(a, "the %s address is that of %s", family, user->name)
               : NULL;
}

void gce_idle_addresses(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b)
{
    const char *value = svc_annotation(b->in.service, GCE_ANN_IP_ADDRESSES);
    size_t n = 0;
    char **names = value == NULL ? NULL : str_split(s->a, value, ',', &n);
    for (size_t i = 0; b->in.kind != GCE_KIND_ILB_GROUPS && i < n; i++) {
        const char *name = str_trim_unicode(s->a, names[i]);
        const char *why = *name == '\0' ? NULL : left_out_because(s->a, b, i, name);
        if (why != NULL) {
            lb_finding(s, item, LB_FINDING_IGNORED, GCE_ANN_IP_ADDRESSES,
                       "annotation %s: \"%s\" is left out, %s", GCE_ANN_IP_ADDRESSES,
                       lb_finding_value(s->a, name), why);
        }
    }
}
