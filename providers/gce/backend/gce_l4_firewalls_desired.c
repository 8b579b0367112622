/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_firewalls_desired.c: the firewalls of ingress-gce's balancers, and the annotations that
 * tell what was made.
 *
 * A family of which no source range is left gets no firewall that lets clients in: one without
 * sources would let in all clients (gce-l4.md Appendix A, A8; --empty-source-family-allows-all
 * brings upstream's answer back).
 * Source: gce-l4.md §2.6, §4.3, §4.8, §4.11, §5.7; Appendix C row 7.  Part of
 * gce_bs_desired_parts.h.  Pure. */
#include "providers/gce/backend/gce_bs_desired_parts.h"

#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/lb/service_rules.h"

#include <stdlib.h>
#include <string.h>

static const char *description(const struct gce_l4_wish *w, const char *ip)
{
    return gce_l4_describe(
        w->a, &(struct gce_l4_description){.service = w->in->key, .version = "ga", .ip = ip});
}

/* Members common to all firewalls. */
static struct gce_firewall common(const struct gce_l4_wish *w, const char *name, const char *ip)
{
    return (struct gce_firewall){
        .name = name,
        .description = description(w, ip),
        .network = w->f->network,
        .direction = "",
        .tags = gce_strs_of(w->a, w->in->tags.items, w->in->tags.n),
        .priority = GCE_PRIORITY_DEFAULT,
    };
}

/* ---- those that let clients in, and the one that keeps all others out ------------------------ */

/* Sources of a side; false: no client of this family may come in. */
static bool sources_of(const struct gce_l4_wish *w, bool v6, struct gce_strs *ret)
{
    *ret = v6 ? w->ranges.v6 : w->ranges.v4;
    if (ret->n > 0) {
        return true;
    }
    if (w->f->flags.empty_family_opens) {
        *ret = gce_strs_one(w->a, v6 ? "0::0/0" : "0.0.0.0/0");
        return true;
    }
    return false;
}

static void traffic(const struct gce_l4_wish *w, struct gce_bs_side *side)
{
    const struct gce_l4_flags *flags = &w->f->flags;
    const char *ip = !w->internal && !side->v6 ? str_nonnull(w->s->lb_ip) : "";
    struct gce_firewall f = common(w, side->v6 ? w->names.firewall_v6 : w->names.firewall, ip);
    bool open = sources_of(w, side->v6, &f.sources);
    f.allowed = w->ports.allowed;
    if (!w->internal && flags->deny_firewall) {
        f.priority = GCE_PRIORITY_ABOVE_DENY;
    }
    side->firewall = f;
    side->want_firewall = side->wanted && !flags->disable_firewall && open;
    side->nobody = side->wanted && !flags->disable_firewall && !open;
}

/* It closes the balancer's address, never a node: its destination is put in
 * whatever `pinhole` says. */
static void deny(const struct gce_l4_wish *w, struct gce_bs_side *side)
{
    const struct gce_l4_flags *flags = &w->f->flags;
    struct gce_firewall f =
        common(w, side->v6 ? w->names.deny_v6 : w->names.deny, str_nonnull(w->s->lb_ip));
    f.sources = gce_strs_one(w->a, side->v6 ? "::/0" : "0.0.0.0/0");
    f.denied = gce_bs_allow(w->a, "all", (struct gce_strs){0});
    side->deny = f;
    side->want_deny =
        side->wanted && !w->internal && flags->deny_firewall && !flags->disable_firewall;
}

/* ---- that of the health check ---------------------------------------------------------------- */

static struct gce_strs check_sources(const struct gce_l4_wish *w, bool v6, bool shared)
{
    const struct gce_bs_facts *f = w->f;
    if (!v6) {
        return f->check_sources;
    }
    if (!shared) {
        return w->internal ? f->check_sources_v6_ilb : f->check_sources_v6_netlb;
    }
    /* Both kinds share it, so it has the sources of both. */
    struct str_set ilb = gce_strs_set(w->a, &f->check_sources_v6_ilb);
    struct str_set netlb = gce_strs_set(w->a, &f->check_sources_v6_netlb);
    struct str_set both = str_set_union(w->a, &ilb, &netlb);
    return gce_strs_of(w->a, both.items, both.n);
}

static void check_firewall(const struct gce_l4_wish *w, const struct gce_bs_desired *d,
                           struct gce_bs_side *side)
{
    const struct gce_l4_names *n = &w->names;
    bool shared = d->check_firewall_shared;
    const char *local = side->v6 ? n->local_check_firewall_v6 : n->local_check_firewall;
    const char *common_name = side->v6 ? n->shared_check_firewall_v6 : n->shared_check_firewall;
    struct gce_firewall f = common(w, shared ? common_name : local, "");
    if (shared) {
        f.description = gce_l4_describe(
            w->a, &(struct gce_l4_description){
                      .service = "", .version = "ga", .text = gce_l4_shared_text(w->a, "")});
    }
    f.sources = check_sources(w, side->v6, shared);
    f.allowed =
        gce_bs_allow(w->a, "TCP", gce_strs_one(w->a, arena_printf(w->a, "%d", d->check.port)));
    if (w->f->flags.deny_firewall) {
        f.priority = GCE_PRIORITY_ABOVE_DENY;
    }
    side->check_firewall = f;
}

void gce_l4_desired_firewalls(const struct gce_l4_wish *w, struct gce_bs_desired *d)
{
    struct gce_bs_side *sides[] = {&d->v4, &d->v6};
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        traffic(w, sides[i]);
        deny(w, sides[i]);
        check_firewall(w, d, sides[i]);
        d->warn_family_dropped = d->warn_family_dropped || sides[i]->nobody;
    }
}

/* ---- annotations ----------------------------------------------------------------------------- */

#define ANNOTATIONS_MAX 14

/* Wanted ones have a value, those that may be left from before have none. */
struct annotations {
    struct arena *a;
    struct tt_kv *items;
    size_t n;
};

static void annotate(struct annotations *out, const char *key, bool v6, const char *value)
{
    out->items[out->n++] = (struct tt_kv){
        .key = arena_printf(out->a, "%s%s%s", GCE_ANN_STATUS_PREFIX, key, v6 ? "-ipv6" : ""),
        .value = value};
}

static const char *rule_of(const struct gce_bs_side *side, const char *protocol)
{
    for (size_t i = 0; side->wanted && i < side->n_rules; i++) {
        if (str_eq(side->rules[i].protocol, protocol)) {
            return side->rules[i].name;
        }
    }
    return NULL;
}

static void annotate_side(struct annotations *out, const struct gce_bs_side *side)
{
    annotate(out, "tcp-forwarding-rule", side->v6, rule_of(side, "TCP"));
    annotate(out, "udp-forwarding-rule", side->v6, rule_of(side, "UDP"));
    annotate(out, "l3-forwarding-rule", side->v6, rule_of(side, "L3_DEFAULT"));
    annotate(out, "firewall-rule", side->v6, side->want_firewall ? side->firewall.name : NULL);
    annotate(out, "firewall-rule-deny", side->v6, side->want_deny ? side->deny.name : NULL);
    annotate(out, "firewall-rule-for-hc", side->v6,
             side->wanted ? side->check_firewall.name : NULL);
}

static int by_key(const void *x, const void *y)
{
    return strcmp(((const struct tt_kv *)x)->key, ((const struct tt_kv *)y)->key);
}

void gce_l4_desired_annotations(const struct gce_l4_wish *w, struct gce_bs_desired *d)
{
    struct annotations out = {.a = w->a, .items = ARENA_ARRAY(w->a, struct tt_kv, ANNOTATIONS_MAX)};
    annotate(&out, "backend-service", false, d->service.name);
    annotate(&out, "healthcheck", false, d->check.name);
    annotate_side(&out, &d->v4);
    if (w->dual_on) {
        annotate_side(&out, &d->v6);
    }
    qsort(out.items, out.n, sizeof(*out.items), by_key);
    d->annotations = out.items;
    d->n_annotations = out.n;
}
