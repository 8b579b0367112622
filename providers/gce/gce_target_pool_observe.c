/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_observe.c: one look at a balancer with a target pool (gce_target_pool_observe.h).
 *
 * gce_target_pool_slots.c says which resources are looked at, gce_slots_look.c how.  Here are the
 * lock of the health check that all Services with policy Cluster share, the address that the
 * Service names, network tags, and what of other Services matters. */
#include "providers/gce/gce_target_pool_observe.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/cache/gce_cluster_id.h"
#include "providers/gce/cache/gce_shared_ip.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/gce_target_pool_others.h"
#include "providers/gce/model/gce_firewall_diff.h"
#include "providers/gce/model/gce_links.h"

#include <string.h>

struct look {
    struct lb_sync *s;
    struct lb_item *item;
    struct gce_tp_item *t;
    struct gce_provider *p;
};

static int look_at_slots(struct look *l, struct err *err)
{
    int rc = gce_slots_look(&l->t->slots, l->s, err);
    gce_tp_observed_of(&l->t->slots, &l->t->names, &l->t->o);
    return rc;
}

/* ---- the user's address ---------------------------------------------------------------------- */

static void take_address(void *arg, const char *text, size_t n)
{
    struct look *l = arg;
    struct json_object *o;
    struct gce_address found;
    if (json_parse_arena(l->s->a, text, n, NULL, &o, NULL) == ERR_OK &&
        gce_address_decode(l->s->a, o, &found, NULL) == ERR_OK &&
        str_eq(found.ip, l->t->desired.user_ip)) {
        l->t->o.has_user_address = GCE_PRESENT;
        l->t->o.user_address = found;
    }
}

/* §4.4 step 1: whose is spec.loadBalancerIP?  The filter is a pattern, so the answer is compared
 * again.  A Service is not refused because a list of all lacks the address. */
static int look_up_user_address(struct look *l, struct err *err)
{
    struct gce_tp_observed *o = &l->t->o;
    struct lb_sync *s = l->s;
    struct json_object *json = NULL;
    bool listed = (l->t->slots.listed_now & GCE_KIND(GCE_ADDRESSES)) != 0;
    if (listed || l->p->cloud.offline) {
        o->has_user_address = gce_snapshot_address(l->p->cloud.snapshot, l->t->desired.user_ip,
                                                   GCE_SNAPSHOT_ANY, s->a, &json);
        if (o->has_user_address == GCE_PRESENT) {
            return gce_address_decode(s->a, json, &o->user_address, err);
        }
    }
    if (l->p->cloud.offline) {
        return ERR_OK;
    }
    struct gce_read read;
    struct gce_splitter cutter;
    struct http_job *jobs[] = {&read.job};
    gce_splitter_init(&cutter, take_address, l);
    struct gce_call_spec spec = {
        .collection = GCE_ADDRESSES,
        .verb = GCE_LIST,
        .filter = arena_printf(s->a, "address eq %s", l->t->desired.user_ip),
        .cutter = &cutter,
    };
    o->has_user_address = GCE_ABSENT;
    gce_read_init(&read, &l->p->cloud.api, s->call, s->a, &spec);
    read.job.cancel = s->cancel;
    http_run(s->http, jobs, 1);
    gce_splitter_done(&cutter);
    s->reads += read.call.requests;
    if (read.job.err.code != ERR_OK) {
        (void)err_copy(err, &read.job.err);
        (void)err_prefix(err, "error getting address %s", l->t->desired.user_ip);
        return read.job.err.code;
    }
    return ERR_OK;
}

/* ---- the shared health check ----------------------------------------------------------------- */

static void give_back(void *arg)
{
    struct gce_tp_item *t = arg;
    (void)hold_change(t->lock, t->hold, HOLD_NOT, NULL);
}

static bool wants_node_check(const struct look *l)
{
    return l->t->in.verb == TT_VERB_ENSURE && !l->t->desired.local;
}

static bool is_locked(const struct look *l)
{
    return !l->s->planning && !l->p->cloud.offline && l->t->in.verb != TT_VERB_UPDATE;
}

/* How a Service that wants the shared check must hold it, by what is known of it. */
static enum hold_how hold_wanted(void *arg)
{
    const struct look *l = arg;
    return gce_tp_check_stands(&l->p->cloud, l->s->a, &l->t->names) ? HOLD_TOGETHER : HOLD_ALONE;
}

static void hold_begin(struct look *l)
{
    struct gce_tp_item *t = l->t;
    if (!t->lock_deferred) {
        t->lock = l->p->node_check;
        t->lock_deferred = true;
        arena_defer(l->s->a, give_back, t);
    }
}

static bool hold(struct look *l, enum hold_how then, struct err *err)
{
    struct gce_tp_item *t = l->t;
    hold_begin(l);
    bool got = hold_change(t->lock, t->hold, then, l->s->cancel);
    t->hold = got ? then : HOLD_NOT;
    if (!got) {
        (void)err_set(err, ERR_CANCELLED, "asked to stop");
    }
    return got;
}

/* Before the cloud is read, by a Service that wants the check.  While it waits, the Service before
 * it may make what is missing (gce_op_wrote): then no Service needs to be alone any more. */
static int hold_to_use(struct look *l, struct err *err)
{
    struct gce_tp_item *t = l->t;
    if (!is_locked(l)) {
        return ERR_OK;
    }
    hold_begin(l);
    bool got = hold_as_wanted(t->lock, t->hold, hold_wanted, l, l->s->cancel, &t->hold);
    return got ? ERR_OK : err_set(err, ERR_CANCELLED, "asked to stop");
}

/* Other Services that need it now.  A Service that needs it itself keeps it without this search. */
static void ask_others(struct look *l)
{
    struct gce_tp_item *t = l->t;
    if (t->in.verb != TT_VERB_UPDATE) {
        t->in.others_want_node_check =
            wants_node_check(l) || gce_tp_others_want_node_check(l->p, l->s->call, t->in.service);
    }
}

static bool has_node_check(const struct look *l, const struct gce_pool *pool)
{
    for (size_t i = 0; i < pool->checks.n; i++) {
        if (str_eq(gce_link_last(pool->checks.items[i]), l->t->names.node_check)) {
            return true;
        }
    }
    return false;
}

/* Of a part of the shared check, by the snapshot.  Before the cluster's id is chosen (only a plan
 * comes that far) it has no name to ask for. */
static bool may_be_there(const struct look *l, enum gce_collection c, const char *name)
{
    const struct gce_slots *slots = &l->t->slots;
    bool listed = (slots->listed_now & GCE_KIND(c)) != 0; /* a list may lack what is there */
    bool by_name = (slots->by_name || listed) && !l->s->planning;
    return strstr(name, GCE_CLUSTER_ID_UNKNOWN) == NULL &&
           (by_name || gce_snapshot_get(l->p->cloud.snapshot, GCE_KEY(c, name), GCE_SNAPSHOT_ANY,
                                        l->s->a, NULL) != GCE_ABSENT);
}

static bool node_check_may_be_there(const struct look *l)
{
    const struct gce_names *n = &l->t->names;
    return may_be_there(l, GCE_CHECKS, n->node_check) ||
           may_be_there(l, GCE_FIREWALLS, n->node_check_firewall);
}

/* At the shared check, by a Service that does not want it. */
static int look_at_shared(struct look *l, struct err *err)
{
    gce_tp_slots_shared(&l->t->slots, false, &l->t->names);
    return look_at_slots(l, err);
}

/* After the cloud was read, by a Service that does not want the check.  If its pool has the check,
 * it must not take the pool apart while another deletes the check: that would be refused, and not
 * tried again.  If it finds only a leftover, it does not wait for a Service that is at it just
 * now. */
static int hold_to_leave(struct look *l, struct err *err)
{
    const struct gce_tp_observed *o = &l->t->o;
    bool used = o->has_pool == GCE_PRESENT && has_node_check(l, &o->pool);
    if (l->t->in.others_want_node_check && used && is_locked(l)) {
        if (!hold(l, HOLD_TOGETHER, err)) {
            return err->code;
        }
        ask_others(l); /* until now the last of them could go without being able to delete it */
    }
    if (l->t->in.others_want_node_check) {
        return ERR_OK;
    }
    if (!node_check_may_be_there(l)) {
        return look_at_shared(l, err); /* no request: it says that they are absent */
    }
    if (is_locked(l) && l->t->hold != HOLD_ALONE) {
        hold_begin(l);
        if (used && !hold(l, HOLD_ALONE, err)) {
            return err->code;
        }
        if (!used && !hold_try_alone(l->t->lock)) {
            return ERR_OK; /* the shared check stays unknown: no plan touches it */
        }
        l->t->hold = HOLD_ALONE;
    }
    return look_at_shared(l, err);
}

/* By the snapshot; a pool that was written and not read since is unknown: the policy tells. */
static bool pool_may_have_check(const struct look *l)
{
    struct gce_pool pool;
    const struct json_view *v = NULL;
    enum gce_known known = gce_snapshot_view(
        l->p->cloud.snapshot, GCE_KEY(GCE_POOLS, l->t->names.lb), GCE_SNAPSHOT_ANY, l->s->a, &v);
    if (known == GCE_PRESENT && gce_pool_decode_view(l->s->a, v, &pool, NULL) == ERR_OK) {
        return has_node_check(l, &pool);
    }
    return known == GCE_UNKNOWN && l->t->in.verb == TT_VERB_DELETE &&
           !svc_only_local_traffic(l->t->in.service);
}

/* The last Service with the check takes it along: held alone, it is read beside all else. */
static int hold_to_take_along(struct look *l, struct err *err)
{
    if (l->t->in.others_want_node_check || !is_locked(l) || l->t->hold != HOLD_NOT ||
        !pool_may_have_check(l) || !node_check_may_be_there(l)) {
        return ERR_OK;
    }
    int rc = hold(l, HOLD_ALONE, err) ? ERR_OK : ERR_CANCELLED;
    ask_others(l); /* while it waited, another one may have come */
    gce_tp_slots_shared(&l->t->slots, false, &l->t->names);
    return rc;
}

static bool check_is_fine(const struct look *l)
{
    const struct gce_tp_item *t = l->t;
    const struct gce_tp_observed *o = &t->o;
    return o->has_node_check == GCE_PRESENT && o->has_node_firewall == GCE_PRESENT &&
           !gce_check_differs(&o->node_check, &t->desired.check) &&
           !gce_firewall_check_differs(l->s->a, &o->node_firewall, &t->desired.check_firewall);
}

/* Nothing was known of the shared check, and it is fine: other Services need not wait.  The
 * snapshot said that it is fine, the cloud says that it is not: take it alone, look again. */
static int hold_alone_if_needed(struct look *l, struct err *err)
{
    struct gce_tp_item *t = l->t;
    if (t->hold == HOLD_ALONE && check_is_fine(l)) {
        hold_share(t->lock);
        t->hold = HOLD_TOGETHER;
    }
    if (t->hold != HOLD_TOGETHER || t->slots.from_snapshot || check_is_fine(l)) {
        return ERR_OK;
    }
    if (!hold(l, HOLD_ALONE, err)) {
        return err->code;
    }
    for (size_t i = 0; i < t->slots.n; i++) {
        struct gce_slot *slot = &t->slots.items[i];
        slot->looked = slot->looked && !str_eq(slot->name, t->names.node_check) &&
                       !str_eq(slot->name, t->names.node_check_firewall);
    }
    return look_at_slots(l, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Tags are needed by who may have to write a firewall; a failure counts only then. */
static void look_up_tags(struct look *l)
{
    struct gce_tp_item *t = l->t;
    struct gce_provider *p = l->p;
    if (t->in.verb != TT_VERB_ENSURE) {
        return;
    }
    t->in.tags = p->tp_facts.node_tags;
    t->in.tags_known = t->in.tags.n > 0;
    if (t->in.tags_known || p->cloud.offline || !l->s->observed_fresh) {
        return;
    }
    const struct gce_tags_ask ask = {
        .api = &p->cloud.api,
        .call = l->s->call,
        .http = l->s->http,
        .prefix = p->config.node_instance_prefix,
        .members = &t->in.members,
    };
    struct err why = ERR_INIT;
    t->in.tags_err = NULL;
    t->in.tags_known = true;
    if (gce_tags_get(p->tags, &ask, l->s->a, &t->in.tags, &l->s->reads, &why) != ERR_OK) {
        t->in.tags = (struct str_set){0};
        t->in.tags_err = arena_memdup(l->s->a, &why, sizeof(why));
    }
}

/* The needs of other Services that matter to this one. */
static int judge_others(struct look *l, struct err *err)
{
    struct gce_tp_item *t = l->t;
    bool there = t->o.has_node_check == GCE_PRESENT || t->o.has_node_firewall == GCE_PRESENT;
    t->in.node_check_is_orphan =
        there && t->in.verb != TT_VERB_UPDATE && !t->in.others_want_node_check &&
        gce_snapshot_has_all(l->p->cloud.snapshot, GCE_POOLS) &&
        !gce_snapshot_check_is_used(l->p->cloud.snapshot, t->names.node_check, t->names.lb);
    t->in.others_have_deny = false;
    if (!l->p->options.deny_cleanup || t->in.verb != TT_VERB_ENSURE) {
        return ERR_OK;
    }
    return gce_tp_others_have_deny(l->s, t, &t->in.others_have_deny, err);
}

/* The lock of the shared check is taken before the cloud is read by a Service that wants it, and
 * by one that takes it along; after that by one that only leaves it. */
static int look(struct look *l, struct err *err)
{
    bool wants = wants_node_check(l);
    int rc = wants ? hold_to_use(l, err) : hold_to_take_along(l, err);
    if (rc == ERR_OK) {
        rc = look_at_slots(l, err);
    }
    if (rc != ERR_OK || l->t->in.verb == TT_VERB_UPDATE) {
        return rc;
    }
    return wants ? hold_alone_if_needed(l, err) : hold_to_leave(l, err);
}

/* A rule that stands goes before the new one is made, so who has the address that it is to have
 * must be known before.  A first rule is made beside nothing: only a Service that is known to have
 * the address makes that worth a look. */
static int ask_for_user_address(struct look *l, struct err *err)
{
    struct gce_tp_item *t = l->t;
    const char *ip = t->desired.user_ip;
    struct gce_ip_uses uses;
    bool doubtful = t->o.has_rule == GCE_PRESENT || gce_ip_is_anothers(l->s, t->in.service, ip);
    if (!gce_ip_may_look(l->s) || !doubtful) {
        return look_up_user_address(l, err);
    }
    int rc = gce_ip_look(l->s, ip, &uses, err);
    if (rc != ERR_OK) {
        return rc;
    }
    t->o.has_user_address = uses.reserved ? GCE_PRESENT : GCE_ABSENT;
    t->o.user_address = uses.address;
    gce_give_way_leave_out(l->s, t->in.service, "", &uses);
    return gce_ip_check_rules(l->s->a, &uses, t->in.service, false, &t->desired.rule, 1, err);
}

/* By the snapshot: what it does not know is found out when the address is asked for.  One that an
 * interrupted run holds is given back, and does not count. */
static bool rule_ip_is_reserved(const struct look *l)
{
    const struct gce_tp_observed *o = &l->t->o;
    struct json_object *json = NULL;
    return o->has_rule == GCE_PRESENT &&
           gce_snapshot_address(l->p->cloud.snapshot, o->rule.ip, GCE_SNAPSHOT_ANY, l->s->a,
                                &json) == GCE_PRESENT &&
           !str_eq(json_str(json, "name"), l->t->names.lb);
}

int gce_tp_observe(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    struct gce_tp_item *t = item->data;
    struct look l = {.s = s, .item = item, .t = t, .p = gce_provider_of(s)};
    ask_others(&l);
    gce_slots_init(&t->slots, s->a);
    gce_tp_slots(&t->slots, &l.p->tp_facts, &t->in, &t->names, &t->desired);
    t->slots.items[0].ahead = STEAL(t->ahead);
    int rc = look(&l, err);
    if (rc == ERR_OK) {
        gce_flow_see_gone(s, item, &t->slots);
        gce_tp_observed_of(&t->slots, &t->names, &t->o);
        rc = judge_others(&l, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    t->o.rule_ip_is_reserved = rule_ip_is_reserved(&l);
    look_up_tags(&l);
    gce_tp_desired_tag(s->a, &t->desired, &t->in.tags);
    if (t->in.verb == TT_VERB_ENSURE &&
        gce_tp_needs_user_address(s->a, &t->in, &t->desired, &t->o)) {
        return ask_for_user_address(&l, err);
    }
    return ERR_OK;
}
