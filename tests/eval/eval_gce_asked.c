/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_asked.c: upstream's questions asked of gce_decide() (eval_gce_asked.h). */
#include "tests/eval/eval_gce_asked.h"

#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

#define BIT(kind) (1u << (unsigned)(kind))
#define BIT_NETLB (BIT(GCE_KIND_NETLB_GROUPS) | BIT(GCE_KIND_NETLB_NEGS))

/* One process that plays all parts. */
static const struct gce_switches both = {
    .run_ilb = true, .run_netlb = true, .ilb_subsets = true, .neg_ilb = true};
/* cloud-provider-gcp alone, which serves its own classes, too. */
static const struct gce_switches legacy = {.gke_classes = true};

static struct gce_decision decide(const struct tt_service *s, const struct asked *q,
                                  const struct gce_switches *flags)
{
    const struct gce_case c = {
        .service = s, .flags = flags, .rule_found = q->found, .rule = q->rule};
    struct gce_decision d;
    gce_decide(&c, &d);
    return d;
}

static bool is_netlb(enum gce_kind kind)
{
    return (BIT(kind) & BIT_NETLB) != 0;
}

/* ---- premises -------------------------------------------------------------------------------- */

static struct tt_service *alive(struct arena *a, const struct tt_service *s)
{
    struct tt_service *copy = arena_memdup(a, s, sizeof(*s));
    copy->deleted_us = 0;
    return copy;
}

/* Its annotations without those of the type; with `value` for them, unless that is NULL. */
static void set_type(struct arena *a, struct tt_service *s, const char *value)
{
    struct tt_kv *kept = ARENA_ARRAY(a, struct tt_kv, s->n_annotations + 1);
    uint32_t n = 0;
    bool put = value == NULL;
    for (uint32_t i = 0; i < s->n_annotations; i++) { /* sorted by key */
        const struct tt_kv *kv = &s->annotations[i];
        if (!put && strcmp(kv->key, GCE_ANN_TYPE) > 0) {
            kept[n++] = (struct tt_kv){.key = GCE_ANN_TYPE, .value = value};
            put = true;
        }
        if (!str_eq(kv->key, GCE_ANN_TYPE) && !str_eq(kv->key, GCE_ANN_TYPE_OLD)) {
            kept[n++] = *kv;
        }
    }
    if (!put) {
        kept[n++] = (struct tt_kv){.key = GCE_ANN_TYPE, .value = value};
    }
    s->annotations = kept;
    s->n_annotations = n;
}

/* A Service that is not being deleted, of one side if no class says which. */
static struct tt_service *of_side(struct arena *a, const struct tt_service *s, bool internal)
{
    struct tt_service *copy = alive(a, s);
    set_type(a, copy, internal ? "Internal" : NULL);
    return copy;
}

/* The same, and a LoadBalancer whatever its type says. */
static struct tt_service *lb_of_side(struct arena *a, const struct tt_service *s, bool internal)
{
    struct tt_service *copy = of_side(a, s, internal);
    copy->type = "LoadBalancer";
    return copy;
}

/* By a class upstream answers without the rule.  The product looks at the rule for what stands
 * beside, and tries again when that fails. */
static struct asked by_class(const struct asked *q)
{
    struct asked known = *q;
    if (q->service->lb_class != NULL && q->found == GCE_FOUND_FAILED) {
        known.found = GCE_FOUND_ABSENT;
    }
    return known;
}

/* ---- what it wants (§1.3) -------------------------------------------------------------------- */

/* The kind that it would get as a new Service, of the L4 controllers alone. */
static enum gce_kind wanted(struct arena *a, const struct tt_service *s)
{
    struct gce_switches flags = both;
    const struct asked none = {.found = GCE_FOUND_ABSENT};
    flags.legacy_off = true;
    flags.rbs_default = true;
    struct tt_service *fresh = alive(a, s);
    fresh->n_finalizers = 0;
    struct gce_decision d = decide(fresh, &none, &flags);
    return d.teardown ? GCE_KIND_NONE : d.kind;
}

bool asked_wants_ilb(struct arena *a, const struct tt_service *s)
{
    return s != NULL && wanted(a, s) == GCE_KIND_ILB_NEGS;
}

bool asked_wants_netlb(struct arena *a, const struct tt_service *s)
{
    return s != NULL && is_netlb(wanted(a, s));
}

/* ---- internal, subsetting -------------------------------------------------------------------- */

bool asked_ilb_is_ours(struct arena *a, const struct asked *q)
{
    const struct asked known = by_class(q);
    struct gce_decision d = decide(lb_of_side(a, q->service, true), &known, &both);
    return d.kind == GCE_KIND_ILB_NEGS && !d.teardown;
}

bool asked_ilb_needs_deletion(const struct tt_service *s)
{
    const struct asked none = {.found = GCE_FOUND_ABSENT};
    struct gce_decision d = decide(s, &none, &both);
    return (d.teardown && d.kind == GCE_KIND_ILB_NEGS) || (d.former & BIT(GCE_KIND_ILB_NEGS)) != 0;
}

/* ---- external with a backend service --------------------------------------------------------- */

bool asked_netlb_is_rbs(struct arena *a, const struct asked *q, bool rbs_default)
{
    struct gce_switches flags = both;
    flags.rbs_default = rbs_default;
    const struct asked known = by_class(q);
    struct gce_decision d = decide(of_side(a, q->service, false), &known, &flags);
    return (is_netlb(d.kind) && !d.teardown) || d.guard_race || d.guard_migration;
}

bool asked_netlb_needs_deletion(const struct asked *q)
{
    const struct asked known = by_class(q);
    struct gce_decision d = decide(q->service, &known, &both);
    return (d.teardown && is_netlb(d.kind)) || ((d.former & BIT_NETLB) != 0 && !d.guard_race);
}

const char *asked_netlb_guard(struct arena *a, const struct asked *q)
{
    const struct asked known = by_class(q);
    struct gce_decision d = decide(lb_of_side(a, q->service, false), &known, &both);
    bool has_pool = str_eq(d.rule, "netlb-v1") || str_eq(d.rule, "netlb-pool");
    return d.guard_race ? "race" : d.guard_migration ? "migration" : has_pool ? "stop" : "continue";
}

bool asked_netlb_uses_negs(struct arena *a, const struct gce_case *c)
{
    struct gce_switches flags = both;
    struct gce_case as_class = *c;
    struct gce_decision d;
    struct tt_service *s = alive(a, c->service);
    flags.neg_netlb = c->flags->neg_netlb;
    flags.neg_default = c->flags->neg_default;
    s->type = "LoadBalancer";
    s->lb_class = GCE_CLASS_EXTERNAL;
    as_class.service = s;
    as_class.flags = &flags;
    as_class.rule_found = GCE_FOUND_ABSENT;
    gce_decide(&as_class, &d);
    return d.kind == GCE_KIND_NETLB_NEGS;
}

/* ---- internal, instance groups --------------------------------------------------------------- */

bool asked_ilb_groups_is_ours(struct arena *a, const struct tt_service *s, enum asked_op op,
                              bool has_rule, bool ilb_subsets)
{
    const struct asked q = {
        .found = has_rule ? GCE_FOUND_PRESENT : GCE_FOUND_ABSENT,
        .rule = {.scheme = "INTERNAL", .target = "", .backend_service = "backendServices/x"}};
    struct gce_switches flags = legacy;
    flags.ilb_subsets = ilb_subsets;
    const struct gce_case c = {.service = lb_of_side(a, s, true),
                               .flags = &flags,
                               .gone = op == ASKED_DELETE,
                               .rule_found = q.found,
                               .rule = q.rule};
    struct gce_decision d;
    gce_decide(&c, &d);
    if (op == ASKED_DELETE) {
        return d.kind == GCE_KIND_ILB_GROUPS || (d.former & BIT(GCE_KIND_ILB_GROUPS)) != 0;
    }
    return d.kind == GCE_KIND_ILB_GROUPS && !d.teardown;
}

enum gce_kind asked_legacy_kind(const struct tt_service *s, bool ilb_subsets, bool rbs_default)
{
    const struct asked none = {.found = GCE_FOUND_ABSENT};
    struct gce_switches flags = legacy;
    flags.ilb_subsets = ilb_subsets;
    flags.rbs_default = rbs_default;
    return decide(s, &none, &flags).kind;
}
