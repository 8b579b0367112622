/* SPDX-License-Identifier: Apache-2.0 */
/* aws_classic_settings_plan.c: attributes, health check, and tags that are added to a classic load
 * balancer later.
 *
 * Attributes are compared by the members that the controller sets: AWS answers more of them, and
 * upstream, which compares all, writes on every sync (docs/spec/aws.md 4.8).  Members of a feature
 * that is off are not compared, because AWS need not keep them.  AWS spells a health check's
 * protocol in capitals; it is compared without case (4.12). */
#include "providers/aws/plan/aws_classic_internal_plan.h"

#include "common/base/str.h"

#include <string.h>

/* ---- attributes ------------------------------------------------------------------------------ */

#define UNSET (-1)
/* Defaults of a new balancer. */
static const struct aws_classic_attributes fresh_attributes = {
    .access_log = 0,
    .emit_interval = UNSET,
    .draining = 0,
    .draining_timeout = UNSET,
    .idle_timeout = 60,
    .cross_zone = 0,
};

/* One draft is made when the first difference is found. */
struct modify {
    struct aws_classic_run *r;
    const struct aws_classic_attributes *want;
    const struct aws_classic_attributes *have;
    int draft;
};

static const char *bool_text(int value)
{
    return value == UNSET ? NULL : value != 0 ? "true" : "false";
}

static const char *int_text(struct arena *a, int32_t value)
{
    return value == UNSET ? NULL : arena_printf(a, "%d", value);
}

struct member {
    const char *name; /* below "LoadBalancerAttributes." */
    const char *have;
    const char *want; /* NULL: not set by the Service */
};

/* A switch that AWS does not answer is off. */
static bool differs(const struct member *m)
{
    bool off = m->have == NULL && str_eq(m->want, "false");
    return m->want != NULL && !off && !str_eq(m->have, m->want);
}

/* AWS takes a feature whole: when one member differs, all that are set are sent. */
static void feature(struct modify *m, const struct member *members, size_t n, bool compare_all)
{
    struct aws_planning *p = m->r->p;
    bool changed = differs(&members[0]);
    for (size_t i = 1; i < n && compare_all; i++) {
        changed = changed || differs(&members[i]);
    }
    if (!changed) {
        return;
    }
    if (m->draft < 0) {
        m->draft = aws_classic_draft(m->r, m->r->fill, "ModifyLoadBalancerAttributes",
                                     "annotations, or their defaults, say so");
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = arena_printf(p->a, "LoadBalancerAttributes.%s", members[i].name);
        aws_draft_text(p, m->draft, name, members[i].want);
        if (differs(&members[i])) {
            aws_draft_field(p, m->draft, members[i].name, members[i].have, members[i].want);
        }
    }
}

static void plan_attributes(struct aws_classic_run *r)
{
    struct arena *a = r->p->a;
    struct modify m = {.r = r, .want = &r->want->attributes, .draft = -1};
    m.have = r->seen == NULL ? &fresh_attributes : r->p->seen->classic_attributes;
    if (m.have == NULL) {
        return;
    }
    const struct aws_classic_attributes *h = m.have;
    const struct aws_classic_attributes *w = m.want;
    feature(&m,
            (const struct member[]){
                {"AccessLog.Enabled", bool_text(h->access_log), bool_text(w->access_log)},
                {"AccessLog.EmitInterval", int_text(a, h->emit_interval),
                 int_text(a, w->emit_interval)},
                {"AccessLog.S3BucketName", h->bucket, w->bucket},
                {"AccessLog.S3BucketPrefix", h->prefix, w->prefix},
            },
            4, w->access_log > 0);
    feature(&m,
            (const struct member[]){
                {"ConnectionDraining.Enabled", bool_text(h->draining), bool_text(w->draining)},
                {"ConnectionDraining.Timeout", int_text(a, h->draining_timeout),
                 int_text(a, w->draining_timeout)},
            },
            2, w->draining > 0);
    feature(&m,
            (const struct member[]){{"ConnectionSettings.IdleTimeout", int_text(a, h->idle_timeout),
                                     int_text(a, w->idle_timeout)}},
            1, false);
    feature(&m,
            (const struct member[]){{"CrossZoneLoadBalancing.Enabled", bool_text(h->cross_zone),
                                     bool_text(w->cross_zone)}},
            1, false);
}

/* ---- health check ---------------------------------------------------------------------------- */

/* "HTTP:80/Path": the protocol without case, the rest as it is. */
static bool same_target(struct arena *a, const char *x, const char *y)
{
    const char *x_rest = strchr(str_nonnull(x), ':');
    const char *y_rest = strchr(str_nonnull(y), ':');
    if (x_rest == NULL || y_rest == NULL) {
        return str_eq_nocase(str_nonnull(x), str_nonnull(y));
    }
    return str_eq(x_rest, y_rest) && str_eq_nocase(arena_strndup(a, x, (size_t)(x_rest - x)),
                                                   arena_strndup(a, y, (size_t)(y_rest - y)));
}

static void health_number(struct aws_planning *p, int d, const char *name, int32_t have,
                          int32_t want)
{
    aws_draft_int(p, d, arena_printf(p->a, "HealthCheck.%s", name), want);
    if (have != want) {
        aws_draft_field(p, d, arena_printf(p->a, "HealthCheck.%s", name),
                        have == 0 ? NULL : arena_printf(p->a, "%d", have),
                        arena_printf(p->a, "%d", want));
    }
}

static void plan_health(struct aws_classic_run *r)
{
    struct aws_planning *p = r->p;
    const struct aws_classic_health *w = &r->want->health;
    struct aws_classic_health have = {0};
    if (r->seen != NULL && r->seen->health.known) {
        have = r->seen->health;
    }
    if (have.known && same_target(p->a, have.target, w->target) && have.interval == w->interval &&
        have.timeout == w->timeout && have.unhealthy == w->unhealthy &&
        have.healthy == w->healthy) {
        return;
    }
    int d = aws_classic_draft(r, r->fill, "ConfigureHealthCheck",
                              r->seen == NULL ? "a new load balancer has AWS' health check"
                                              : "the Service asks for another health check");
    aws_draft_text(p, d, "HealthCheck.Target", w->target);
    aws_draft_field(p, d, "HealthCheck.Target", have.target, w->target);
    health_number(p, d, "Interval", have.interval, w->interval);
    health_number(p, d, "Timeout", have.timeout, w->timeout);
    health_number(p, d, "UnhealthyThreshold", have.unhealthy, w->unhealthy);
    health_number(p, d, "HealthyThreshold", have.healthy, w->healthy);
}

/* ---- tags ------------------------------------------------------------------------------------ */

/* Does the controller give this key another value, which wins? */
static bool is_ours(const struct aws_classic_want *w, const struct aws_tag *t)
{
    const char *ours = aws_tag(&w->tags, t->key);
    return ours != NULL && !str_eq(ours, t->value);
}

/* Those of the annotation that it does not have.  Not known: all of them, when the
 * Service was edited. */
static void plan_tags(struct aws_classic_run *r)
{
    struct aws_planning *p = r->p;
    const struct aws_tags *add = &r->want->add_tags;
    const struct aws_observed *seen = p->seen;
    struct aws_tag *items = ARENA_ARRAY(p->a, struct aws_tag, add->n);
    struct aws_tags missing = {.items = items};
    for (size_t i = 0; i < add->n; i++) {
        const struct aws_tag *t = &add->items[i];
        bool lacks = seen->has_classic_tags
                         ? !str_eq(aws_tag(&seen->classic_tags, t->key), t->value)
                         : p->edited;
        if (lacks && !is_ours(r->want, t)) {
            items[missing.n++] = *t;
        }
    }
    if (r->seen == NULL || missing.n == 0) {
        return;
    }
    /* Last: an edit whose listeners are refused changes no tags either. */
    int d = aws_draft(p, AWS_PHASE_DROP, LB_CHANGE, "classic load balancer", r->want->name,
                      "the annotation aws-load-balancer-additional-resource-tags names them");
    aws_draft_action(p, d, AWS_ELB, "AddTags");
    aws_draft_text(p, d, "LoadBalancerNames.member.1", r->want->name);
    aws_draft_tags(p, d, "Tags.member", &missing);
    for (size_t i = 0; i < missing.n; i++) {
        aws_draft_field(p, d, arena_printf(p->a, "tags.%s", items[i].key),
                        aws_tag(&seen->classic_tags, items[i].key), items[i].value);
    }
    r->changes++;
}

void aws_classic_plan_settings(struct aws_classic_run *r)
{
    plan_attributes(r);
    plan_health(r);
    plan_tags(r);
}
