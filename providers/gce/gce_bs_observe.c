/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_observe.c: one look at a balancer with a backend service (gce_flow.h, gce_slots.h).
 *
 * Everything that may matter is one wave of reads, or none when the snapshot knows it; then come
 * members of NEGs that must be listed, and network tags when a firewall may have to be written.
 * With what was seen, the desired state is made once more: it names the tags, and the addresses
 * that annotations stand for.  The health check of policy Cluster is shared: who uses it holds its
 * lock together with others, who may make or delete it holds it alone (hold.h). */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/ops/gce_ops.h"

/* ---- the shared health check ----------------------------------------------------------------- */

/* One lock for the check of cloud-provider-gcp's internal balancers, one for both of ingress-gce's,
 * the global and the regional one: these share their firewalls, so that of two who drop a check
 * each, the second must see that the first did. */
static struct hold *lock_of(struct gce_provider *p, enum gce_kind kind)
{
    return p->shared_checks[kind == GCE_KIND_ILB_GROUPS ? 0 : 1];
}

static void give_back(void *arg)
{
    struct gce_bs_item *b = arg;
    (void)hold_change(b->lock, b->hold, HOLD_NOT, NULL);
    b->hold = HOLD_NOT;
}

void gce_bs_flow_release(struct gce_bs_item *b)
{
    if (b->lock_deferred) {
        give_back(b);
    }
}

/* False: a look that writes nothing takes no lock. */
static bool begin_hold(struct lb_sync *s, struct gce_bs_item *b)
{
    struct gce_provider *p = gce_provider_of(s);
    if (s->planning || p->cloud.offline || b->in.verb == TT_VERB_UPDATE) {
        return false;
    }
    if (!b->lock_deferred) {
        b->lock = lock_of(p, b->in.kind);
        b->lock_deferred = true;
        arena_defer(s->life, give_back, b);
    }
    return true;
}

static int hold(struct lb_sync *s, struct gce_bs_item *b, enum hold_how then, struct err *err)
{
    if (!begin_hold(s, b)) {
        return ERR_OK;
    }
    bool got = hold_change(b->lock, b->hold, then, s->cancel);
    b->hold = got ? then : HOLD_NOT;
    return got ? ERR_OK : err_set(err, ERR_CANCELLED, "asked to stop");
}

static bool is_there(struct lb_sync *s, enum gce_collection c, const char *name)
{
    const struct gce_provider *p = gce_provider_of(s);
    return str_is_empty(name) || gce_snapshot_get(p->cloud.snapshot, GCE_KEY(c, name),
                                                  GCE_SNAPSHOT_ANY, s->a, NULL) == GCE_PRESENT;
}

/* As the snapshot knows it, the check and its firewalls stand. */
static bool check_stands(struct lb_sync *s, const struct gce_bs_item *b)
{
    const struct gce_bs_desired *d = &b->d;
    return is_there(s, d->check_regional ? GCE_REGION_HCS : GCE_HCS, d->check.name) &&
           (!d->v4.wanted || is_there(s, GCE_FIREWALLS, d->v4.check_firewall.name)) &&
           (!d->v6.wanted || is_there(s, GCE_FIREWALLS, d->v6.check_firewall.name));
}

static bool uses_shared(const struct gce_bs_item *b)
{
    return b->in.verb == TT_VERB_ENSURE && b->has_desired && b->d.check_shared;
}

void gce_bs_flow_share(struct lb_sync *s, struct gce_bs_item *b, const struct lb_op *op,
                       const struct err *err)
{
    if (!b->lock_deferred || b->hold != HOLD_ALONE || !uses_shared(b)) {
        return;
    }
    const struct gce_bs_desired *d = &b->d;
    bool part = str_eq(op->name, d->check.name) ||
                (d->v4.wanted && str_eq(op->name, d->v4.check_firewall.name)) ||
                (d->v6.wanted && str_eq(op->name, d->v6.check_firewall.name));
    if (!part) {
        return;
    }
    gce_op_wrote(gce_cloud_of(s), op, LB_DONE, err);
    if (check_stands(s, b)) {
        hold_share(b->lock);
        b->hold = HOLD_TOGETHER;
    }
}

static bool kind_shares(enum gce_kind one, enum gce_kind other)
{
    bool legacy = one == GCE_KIND_ILB_GROUPS;
    return legacy == (other == GCE_KIND_ILB_GROUPS) &&
           gce_kind_is_internal(one) == gce_kind_is_internal(other);
}

/* A Service with policy Cluster has a balancer whose check is that of `arg`, a gce_kind. */
static bool wants_check(const struct tt_service *other, const struct gce_decision *d,
                        const void *arg)
{
    const enum gce_kind *kind = arg;
    return !svc_only_local_traffic(other) && gce_kind_has_service(d->kind) &&
           kind_shares(*kind, d->kind);
}

struct look_again {
    struct lb_sync *s;
    const struct gce_bs_item *b;
};

static enum hold_how hold_wanted(void *arg)
{
    const struct look_again *again = arg;
    return check_stands(again->s, again->b) ? HOLD_TOGETHER : HOLD_ALONE;
}

static int hold_before_look(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    if (!uses_shared(b)) {
        b->in.others_want_shared_check = b->in.verb == TT_VERB_UPDATE ||
                                         gce_others_any(s, b->in.service, wants_check, &b->in.kind);
        return b->in.others_want_shared_check ? ERR_OK : hold(s, b, HOLD_ALONE, err);
    }
    b->in.others_want_shared_check = true;
    if (b->hold == HOLD_ALONE) {
        return ERR_OK;
    }
    /* While it waits, the Service before it may make what is missing. */
    if (!begin_hold(s, b)) {
        return ERR_OK;
    }
    struct look_again again = {s, b};
    bool got = hold_as_wanted(b->lock, b->hold, hold_wanted, &again, s->cancel, &b->hold);
    return got ? ERR_OK : err_set(err, ERR_CANCELLED, "asked to stop");
}

static bool firewall_is_fine(struct lb_sync *s, const struct gce_bs_item *b,
                             const struct gce_bs_side *side)
{
    const struct gce_firewall *is = gce_slots_firewall(&b->slots, side->check_firewall.name);
    bool same = false;
    if (!side->wanted || str_is_empty(side->check_firewall.name)) {
        return true;
    }
    return is != NULL &&
           gce_l4_firewall_equal(s->a, is, &side->check_firewall, true, &same, NULL) == ERR_OK &&
           same;
}

/* The snapshot said that the shared check stands, the cloud says that it is not as it should be. */
static bool must_be_alone(struct lb_sync *s, const struct gce_bs_item *b)
{
    const char *because;
    if (!uses_shared(b) || b->hold != HOLD_TOGETHER || !s->fresh) {
        return false;
    }
    const struct gce_hc *hc = gce_slots_hc(&b->slots, b->d.check_regional, b->d.check.name);
    return hc == NULL || gce_hc_needs_update(hc, &b->d.check, &because) ||
           !firewall_is_fine(s, b, &b->d.v4) || !firewall_is_fine(s, b, &b->d.v6);
}

/* ---- network tags ---------------------------------------------------------------------------- */

/* The nodes whose tags count: eligible ones in the old kind, ready candidates in the others
 * (gce-l4.md §3.1). */
static void tag_members(struct lb_sync *s, const struct gce_bs_item *b, struct gce_members *ret)
{
    struct gce_provider *p = gce_provider_of(s);
    struct gce_node_filter filter = gce_bs_node_filter(&b->facts);
    const struct tt_node **nodes = ARENA_ARRAY(s->a, const struct tt_node *, s->batch->n_nodes);
    size_t n = 0;
    for (uint32_t i = 0; i < s->batch->n_nodes; i++) {
        struct gce_node_verdict v = {.candidate = true};
        if (b->in.kind != GCE_KIND_ILB_GROUPS) {
            gce_node_judge(s->a, &filter, s->batch->nodes[i], &v);
        }
        if (v.candidate) {
            nodes[n++] = s->batch->nodes[i];
        }
    }
    gce_members_of(s->a, nodes, n, p->cloud.facts.project, p->cloud.facts.region, ret);
}

static void look_up_tags(struct lb_sync *s, struct gce_bs_item *b)
{
    struct gce_provider *p = gce_provider_of(s);
    struct gce_members members;
    b->in.tags = p->tp_facts.node_tags;
    b->in.tags_known = b->in.tags.n > 0;
    if (b->in.tags_known || p->cloud.offline) {
        return;
    }
    tag_members(s, b, &members);
    const struct gce_tags_ask ask = {.api = &p->cloud.api,
                                     .call = s->call,
                                     .http = s->http,
                                     .prefix = p->config.node_instance_prefix,
                                     .members = &members};
    struct err why = ERR_INIT;
    b->in.tags_err = NULL;
    b->in.tags_known = true;
    if (gce_tags_get(p->tags, &ask, s->a, &b->in.tags, &s->reads, &why) != ERR_OK) {
        b->in.tags = (struct str_set){0};
        b->in.tags_err = arena_memdup(s->a, &why, sizeof(why));
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

/* At the slots, and at NEGs. */
static int look_at(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    if (gce_kind_has_negs(b->in.kind) || b->in.verb == TT_VERB_DELETE) {
        gce_bs_members_slots(s, b);
    }
    if (b->slots.n == 0) {
        s->observed_fresh = true; /* own writes told the mirror everything that this verb touches */
        return ERR_OK;
    }
    return gce_slots_look(&b->slots, s, err);
}

static int look_once(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    gce_slots_init(&b->slots, s->a);
    gce_bs_slots(&b->slots, &b->facts, &b->in, b->has_desired ? &b->d : NULL);
    b->slots.more_kinds = b->lists_groups ? GCE_KIND(GCE_GROUPS) : 0;
    if (b->in.verb == TT_VERB_ENSURE) {
        gce_bs_named_slots(s, b);
    }
    int rc = look_at(s, b, err);
    return rc == ERR_OK && gce_bs_flow_find_older(s, b) ? gce_slots_look(&b->slots, s, err) : rc;
}

static int look(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    int rc = look_once(s, b, err);
    return rc == ERR_OK && gce_bs_named_forget_miss(s, b) ? look_once(s, b, err) : rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void see_other_scheme(struct gce_bs_item *b)
{
    struct gce_l4_names n;
    struct arena *a = b->slots.a;
    if (b->in.kind == GCE_KIND_ILB_GROUPS) {
        return;
    }
    gce_l4_names_make(a, b->facts.kube_system_uid, b->in.service->ns, b->in.service->name,
                      str_nonnull(b->in.service->uid), &n);
    b->in.other_scheme_has_check =
        gce_slots_hc(&b->slots, gce_kind_is_internal(b->in.kind), n.shared_check) != NULL;
}

/* NEGs alone: they, and nothing else. */
static int observe_negs(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                        struct err *err)
{
    gce_slots_init(&b->slots, s->a);
    gce_bs_slots(&b->slots, &b->facts, &b->in, NULL);
    if (!gce_bs_has_negs(s, b)) {
        s->observed_fresh = true; /* there is nothing of ours to be seen */
        return ERR_OK;
    }
    int rc = look_at(s, b, err);
    if (rc == ERR_OK) {
        rc = gce_bs_flow_check_network(s, b, err);
    }
    return rc == ERR_OK ? gce_bs_members_observe(s, item, b, err) : rc;
}

int gce_bs_flow_observe(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                        struct err *err)
{
    if (!gce_kind_has_service(b->in.kind)) {
        return observe_negs(s, item, b, err);
    }
    if (gce_kind_has_groups(b->in.kind) && b->in.verb != TT_VERB_DELETE) {
        b->in.zones = gce_groups_zones(gce_provider_of(s)->groups, s->a, b->group_name, &b->groups);
    }
    int rc = hold_before_look(s, b, err);
    if (rc == ERR_OK) {
        rc = look(s, b, err);
    }
    if (rc == ERR_OK && must_be_alone(s, b)) {
        rc = hold(s, b, HOLD_ALONE, err);
        rc = rc == ERR_OK ? look(s, b, err) : rc;
    }
    if (rc == ERR_OK) {
        gce_flow_see_gone(s, item, &b->slots);
        rc = gce_bs_flow_check_network(s, b, err);
    }
    if (rc == ERR_OK && (gce_kind_has_negs(b->in.kind) || b->in.verb == TT_VERB_DELETE)) {
        rc = gce_bs_members_observe(s, item, b, err);
    }
    if (rc != ERR_OK) {
        return rc; /* nothing may have been looked at: a lock was not to be had */
    }
    see_other_scheme(b);
    if (b->in.verb != TT_VERB_ENSURE) {
        return ERR_OK;
    }
    gce_bs_named_take(s, item, b);
    look_up_tags(s, b);
    rc = gce_bs_named_check(b, err);
    rc = rc != ERR_OK ? rc : gce_bs_desired_make(s->a, &b->facts, &b->in, &b->d, err);
    if (rc == ERR_OK) {
        gce_bs_named_reserved(s, b);
    }
    return rc != ERR_OK ? rc : gce_bs_named_check_ip(s, b, err);
}
