/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_observe.c: what is there: one wave of reads, or none (gce_target_pool_observe.h).
 *
 * Each resource that may matter is a *slot*.  Main slots are what the verb is about; extra slots
 * are what an interrupted run may have left: these are read only while the snapshot does not
 * know them to be absent.  A normal create so takes five reads in one wave, a re-sync of what
 * was listed a moment ago none. */
#include "providers/gce/gce_target_pool_observe.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/cache/gce_cluster_id.h"
#include "providers/gce/cache/gce_shared_ip.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/gce_target_pool_others.h"
#include "providers/gce/model/gce_firewall_diff.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/ops/gce_snapshot_list.h"

#include <string.h>

#define SLOTS_MAX    12
#define BULK_WAITING 8 /* so many waiting keys make listing cheaper than reading */

struct slot {
    enum gce_collection c;
    const char *name;
    enum gce_known *known;
    void *dest;
    bool main;
    bool late; /* of the shared check, for who does not want it: read when it is held */
    bool read; /* in this wave */
    struct gce_read get;
    struct gce_read *got; /* the answer: `get`, or what was read ahead */
};
struct look {
    struct lb_sync *s;
    struct lb_item *item;
    struct gce_tp_item *t;
    struct gce_provider *p;
    struct slot slots[SLOTS_MAX];
    size_t n;
    bool listed_now; /* everything was listed by this very observation */
    bool by_name;    /* nothing is taken for absent that was not asked for by its name */
};

/* ---- slots ----------------------------------------------------------------------------------- */

static void add(struct look *l, bool main, enum gce_collection c, const char *name,
                enum gce_known *known, void *dest)
{
    l->slots[l->n++] =
        (struct slot){.c = c, .name = name, .known = known, .dest = dest, .main = main};
}

static void slots_of_checks(struct look *l, bool local_is_main, bool node_is_main)
{
    struct gce_tp_observed *o = &l->t->o;
    const struct gce_names *n = &l->t->names;
    add(l, local_is_main, GCE_CHECKS, n->local_check, &o->has_local_check, &o->local_check);
    add(l, local_is_main, GCE_FIREWALLS, n->local_check_firewall, &o->has_local_firewall,
        &o->local_firewall);
    add(l, node_is_main, GCE_CHECKS, n->node_check, &o->has_node_check, &o->node_check);
    add(l, node_is_main, GCE_FIREWALLS, n->node_check_firewall, &o->has_node_firewall,
        &o->node_firewall);
    l->slots[l->n - 1].late = l->slots[l->n - 2].late = !node_is_main;
}

static void slots_init(struct look *l)
{
    struct gce_tp_item *t = l->t;
    struct gce_tp_observed *o = &t->o;
    const struct gce_names *n = &t->names;
    const struct gce_options *opt = &l->p->options;
    memset(o, 0, sizeof(*o));
    add(l, true, GCE_POOLS, n->lb, &o->has_pool, &o->pool);
    if (t->in.verb == TT_VERB_UPDATE) {
        return;
    }
    add(l, true, GCE_RULES, n->lb, &o->has_rule, &o->rule);
    add(l, true, GCE_FIREWALLS, n->firewall, &o->has_traffic, &o->traffic);
    bool ensure = t->in.verb == TT_VERB_ENSURE;
    slots_of_checks(l, ensure && t->desired.local, ensure && !t->desired.local);
    add(l, false, GCE_ADDRESSES, n->lb, &o->has_address, &o->address);
    /* Main, even if it is to go: allow must not be raised to it because a list lacks it (§4.13). */
    if (opt->deny_firewall || opt->deny_cleanup) {
        add(l, ensure, GCE_FIREWALLS, n->deny_firewall, &o->has_deny, &o->deny);
    }
}

/* A rule that is just being made may be shown without its IP.  A sync that went on would point
 * firewalls at nothing, or give up a held address as useless.  A deletion needs no IP. */
static int want_ip(const struct look *l, const struct slot *slot, const char *ip, struct err *err)
{
    if (!str_is_empty(ip) || l->t->in.verb != TT_VERB_ENSURE) {
        return ERR_OK;
    }
    return err_set(err, ERR_TRANSIENT, "%s has no IP yet", slot->name);
}

static int decode(const struct look *l, struct slot *slot, const struct json_view *o,
                  struct err *err)
{
    struct arena *a = l->s->a;
    int rc;
    switch (slot->c) {
    case GCE_RULES:
        rc = gce_rule_decode_view(a, o, slot->dest, err);
        return rc != ERR_OK ? rc : want_ip(l, slot, ((struct gce_rule *)slot->dest)->ip, err);
    case GCE_POOLS:
        return gce_pool_decode_view(a, o, slot->dest, err);
    case GCE_FIREWALLS:
        return gce_firewall_decode_view(a, o, slot->dest, err);
    case GCE_CHECKS:
        return gce_check_decode_view(a, o, slot->dest, err);
    default:
        rc = gce_address_decode_view(a, o, slot->dest, err);
        return rc != ERR_OK ? rc : want_ip(l, slot, ((struct gce_address *)slot->dest)->ip, err);
    }
}

/* ---- the snapshot ---------------------------------------------------------------------------- */

static int from_snapshot(struct look *l, struct slot *slot, int64_t max_age_ms, struct err *err)
{
    const struct json_view *o = NULL;
    *slot->known = gce_snapshot_view(l->p->cloud.snapshot, GCE_KEY(slot->c, slot->name), max_age_ms,
                                     l->s->a, &o);
    return *slot->known == GCE_PRESENT ? decode(l, slot, o, err) : ERR_OK;
}

/* True when everything main is known and young, and nothing says already that something must be
 * made. */
static bool answered_by_snapshot(struct look *l, int64_t max_age_ms, struct err *err)
{
    bool all = true;
    for (size_t i = 0; i < l->n; i++) {
        struct slot *slot = &l->slots[i];
        if (slot->late && l->t->in.others_want_node_check) {
            continue; /* whether it is there is no affair of this Service */
        }
        int64_t age = slot->main ? max_age_ms : GCE_SNAPSHOT_ANY;
        if (from_snapshot(l, slot, age, err) != ERR_OK) {
            err_clear(err);
            *slot->known = GCE_UNKNOWN;
        }
        all = all && *slot->known != GCE_UNKNOWN;
    }
    return all;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int take(struct look *l, struct slot *slot, struct err *err)
{
    struct json_object *o;
    int rc = gce_read_json(slot->got, l->s->a, &o, err);
    if (rc == ERR_NOT_FOUND) {
        err_clear(err);
        *slot->known = GCE_ABSENT;
        gce_snapshot_put(l->p->cloud.snapshot, GCE_KEY(slot->c, slot->name), NULL);
        return ERR_OK;
    }
    if (rc == ERR_OK) {
        const struct json_view v = json_view_of_tree(o);
        rc = decode(l, slot, &v, err);
    }
    if (rc != ERR_OK) {
        gce_snapshot_forget(l->p->cloud.snapshot, GCE_KEY(slot->c, slot->name));
        return rc;
    }
    *slot->known = GCE_PRESENT;
    gce_snapshot_put(l->p->cloud.snapshot, GCE_KEY(slot->c, slot->name), o);
    return ERR_OK;
}

static const char *word_of(enum gce_collection c)
{
    switch (c) {
    case GCE_RULES:
        return "forwarding rule";
    case GCE_POOLS:
        return "target pool";
    case GCE_FIREWALLS:
        return "firewall";
    case GCE_CHECKS:
        return "HTTP health check";
    default:
        return "address";
    }
}

static void read_begin(struct look *l, struct slot *slot)
{
    const struct gce_call_spec spec = {.collection = slot->c, .verb = GCE_GET, .name = slot->name};
    gce_read_init(&slot->get, &l->p->cloud.api, l->s->call, l->s->a, &spec);
    slot->get.job.cancel = l->s->cancel;
    slot->got = &slot->get;
}

/* One wave for all slots marked `read`. */
static int read_wave(struct look *l, struct err *err)
{
    struct http_job *jobs[SLOTS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct slot *slot = &l->slots[i];
        if (slot->read && slot->c == GCE_POOLS && l->t->ahead != NULL) {
            slot->got = STEAL(l->t->ahead);
        } else if (slot->read) {
            read_begin(l, slot);
            jobs[n++] = &slot->get.job;
        }
    }
    if (n > 0) {
        http_run(l->s->http, jobs, n);
    }
    int rc = ERR_OK;
    for (size_t i = 0; i < l->n; i++) {
        struct slot *slot = &l->slots[i];
        struct err one = ERR_INIT;
        if (!slot->read) {
            continue;
        }
        l->s->reads += slot->got->call.requests;
        if (take(l, slot, &one) != ERR_OK && rc == ERR_OK) {
            (void)err_prefix(&one, "error getting %s %s", word_of(slot->c), slot->name);
            rc = err_copy(err, &one);
        }
    }
    return rc;
}

/* Before the cluster's id is chosen (only a plan comes that far) its shared check has no
 * name to ask for. */
static bool may_exist(const struct slot *slot)
{
    return strstr(slot->name, GCE_CLUSTER_ID_UNKNOWN) == NULL;
}

static bool known_absent(const struct look *l, const struct slot *slot)
{
    struct json_object *o;
    return !may_exist(slot) || (!slot->main && !l->by_name &&
                                gce_snapshot_get(l->p->cloud.snapshot, GCE_KEY(slot->c, slot->name),
                                                 GCE_SNAPSHOT_ANY, l->s->a, &o) == GCE_ABSENT);
}

/* One wave: the late slots, or all others. */
static int read_cloud(struct look *l, bool late, struct err *err)
{
    for (size_t i = 0; i < l->n; i++) {
        struct slot *slot = &l->slots[i];
        slot->read = false;
        if (slot->late == late) {
            bool absent = known_absent(l, slot);
            slot->read = !absent;
            *slot->known = absent ? GCE_ABSENT : GCE_UNKNOWN;
        }
    }
    return read_wave(l, err);
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
    if (l->listed_now || l->p->cloud.offline) {
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

static bool node_check_may_be_there(const struct look *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->slots[i].late && !known_absent(l, &l->slots[i])) {
            return true;
        }
    }
    return false;
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
        return read_cloud(l, true, err); /* no request: it says that they are absent */
    }
    if (is_locked(l) && l->t->hold != HOLD_ALONE) {
        hold_begin(l);
        if (used && !hold(l, HOLD_ALONE, err)) {
            return err->code;
        }
        if (!used && !hold_try_alone(l->t->lock)) {
            return ERR_OK; /* the late slots stay unknown: no plan touches them */
        }
        l->t->hold = HOLD_ALONE;
    }
    return read_cloud(l, true, err);
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
    for (size_t i = 0; i < l->n; i++) {
        l->slots[i].late = false;
    }
    return rc;
}

/* The snapshot said that the shared check is fine, the cloud says that it is not: take it alone,
 * look again. */
static int hold_alone_if_needed(struct look *l, struct err *err)
{
    struct gce_tp_item *t = l->t;
    const struct gce_tp_observed *o = &t->o;
    if (t->hold != HOLD_TOGETHER) {
        return ERR_OK;
    }
    bool fine = o->has_node_check == GCE_PRESENT && o->has_node_firewall == GCE_PRESENT &&
                !gce_check_differs(&o->node_check, &t->desired.check) &&
                !gce_firewall_check_differs(l->s->a, &o->node_firewall, &t->desired.check_firewall);
    if (fine) {
        return ERR_OK;
    }
    if (!hold(l, HOLD_ALONE, err)) {
        return err->code;
    }
    for (size_t i = 0; i < l->n; i++) {
        struct slot *slot = &l->slots[i];
        slot->read = str_eq(slot->name, t->names.node_check) ||
                     str_eq(slot->name, t->names.node_check_firewall);
    }
    return read_wave(l, err);
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

/* Lists everything when nothing was ever listed, or when so many wait that it is cheaper; not
 * again within a minute: what is new since is read one by one, or a thousand new Services would
 * list a thousand times. */
static int fill_if_worth(struct look *l, bool answered, struct err *err)
{
    struct lb_sync *s = l->s;
    struct gce_snapshot *snapshot = l->p->cloud.snapshot;
    bool first = !gce_snapshot_was_listed(snapshot, GCE_KINDS_TARGET_POOL, GCE_SNAPSHOT_ANY);
    bool many = !answered && s->call->waiting >= BULK_WAITING && l->t->in.verb != TT_VERB_UPDATE &&
                !gce_snapshot_was_listed(snapshot, GCE_KINDS_TARGET_POOL, GCE_SNAPSHOT_AGE_MS);
    if ((!first && !many) || !gce_snapshot_claim(snapshot, s->cancel)) {
        return ERR_OK;
    }
    l->listed_now = true;
    int rc =
        gce_snapshot_list(&l->p->cloud, GCE_KINDS_TARGET_POOL, s->http, s->call, &s->reads, err);
    gce_snapshot_filled(snapshot);
    return rc;
}

static int observe_offline(struct look *l, struct err *err)
{
    (void)answered_by_snapshot(l, GCE_SNAPSHOT_ANY, err);
    l->s->observed_fresh = true;
    return ERR_OK;
}

/* A list may lag behind, or be wrong.  So what it lacks counts only for who asks for a Service's
 * first load balancer: one with no address yet, of which no list knows anything. */
static bool is_new(const struct look *l)
{
    const struct gce_names *n = &l->t->names;
    bool none = l->t->in.verb == TT_VERB_ENSURE && l->item->in->service->n_ingress == 0;
    for (size_t i = 0; none && i < l->n; i++) {
        const struct slot *slot = &l->slots[i];
        bool shared =
            str_eq(slot->name, n->node_check) || str_eq(slot->name, n->node_check_firewall);
        none = shared || *slot->known == GCE_ABSENT;
    }
    return none;
}

/* Whether what the snapshot knows may stand for the cloud: what the verb is about is there, or
 * nothing will be made at all, because this only plans.  What a plan then changes is read from the
 * cloud first (driver_stage.c). */
static bool is_enough(const struct look *l)
{
    const struct gce_tp_observed *o = &l->t->o;
    enum gce_known known = l->t->in.verb == TT_VERB_UPDATE ? o->has_pool : o->has_rule;
    return known == GCE_PRESENT || (l->s->planning && is_new(l));
}

/* From the cloud; for who is new, what was listed a moment ago is as good. */
static int observe_cloud(struct look *l, struct err *err)
{
    bool wants = wants_node_check(l);
    int rc = wants ? hold_to_use(l, err) : hold_to_take_along(l, err);
    if (rc != ERR_OK) {
        return rc;
    }
    l->s->observed_fresh = true;
    bool listed = l->listed_now && answered_by_snapshot(l, GCE_SNAPSHOT_AGE_MS, err) && is_new(l);
    if (!listed) {
        l->by_name = !l->s->planning && (l->listed_now || l->t->in.verb == TT_VERB_DELETE);
        rc = read_cloud(l, false, err);
    }
    if (rc == ERR_OK && wants) {
        rc = hold_alone_if_needed(l, err);
    } else if (rc == ERR_OK && l->t->in.verb != TT_VERB_UPDATE) {
        rc = hold_to_leave(l, err);
    }
    return rc;
}

static int observe_main(struct look *l, struct err *err)
{
    if (!l->s->fresh) {
        bool answered = answered_by_snapshot(l, GCE_SNAPSHOT_AGE_MS, err);
        if (answered && is_enough(l)) {
            return ERR_OK;
        }
        int rc = fill_if_worth(l, answered, err);
        if (rc != ERR_OK) {
            return rc;
        }
        if (answered_by_snapshot(l, GCE_SNAPSHOT_AGE_MS, err) && is_enough(l)) {
            return ERR_OK; /* this one or another caller has just listed */
        }
    }
    return observe_cloud(l, err);
}

/* Takes things that are planned away before the pool is made for gone. */
static void see_gone(struct look *l)
{
    for (size_t i = 0; l->t->in.verb == TT_VERB_ENSURE && i < l->n; i++) {
        if (gce_flow_is_gone(l->s, l->item, l->slots[i].c, l->slots[i].name)) {
            *l->slots[i].known = GCE_ABSENT;
        }
    }
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

int gce_tp_observe(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    /* Its slots, 20 KB, are filled one by one.  On the stack of a task they would stay in memory
     * for as long as the Service is in flight. */
    _cleanup_(xfreep) struct look *l = xmalloc(sizeof(*l));
    l->s = s;
    l->item = item;
    l->t = item->data;
    l->p = gce_provider_of(s);
    l->n = 0;
    l->listed_now = false;
    l->by_name = false;
    ask_others(l);
    slots_init(l);
    int rc = l->p->cloud.offline ? observe_offline(l, err) : observe_main(l, err);
    if (rc == ERR_OK) {
        rc = judge_others(l, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    see_gone(l);
    look_up_tags(l);
    gce_tp_desired_tag(s->a, &l->t->desired, &l->t->in.tags);
    if (l->t->in.verb == TT_VERB_ENSURE &&
        gce_tp_needs_user_address(s->a, &l->t->in, &l->t->desired, &l->t->o)) {
        return ask_for_user_address(l, err);
    }
    return ERR_OK;
}
