/* SPDX-License-Identifier: Apache-2.0 */
/* aws_observe_others.c: what other load balancers need of security groups that a sync may change.
 *
 * A group is shared when another Service names it, when it was made for another Service (its name
 * says so), or when another classic balancer has it in the cloud.  An annotation alone does not
 * decide: a Service may name a group that is another's own, and what a Service says now may not be
 * carried out yet.  Balancers are listed only where a rule may be taken away from nodes and nothing
 * else says that the group is shared (4.11, FIX). */
#include "common/base/str.h"
#include "common/cloud/inventory.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "providers/aws/aws_sync.h"
#include "providers/aws/plan/aws_groups_plan.h"

#include <stdlib.h>
#include <string.h>

/* ---- other Services -------------------------------------------------------------------------- */

static bool is_node_port(const struct aws_service *s, int32_t port)
{
    for (size_t i = 0; i < s->n_ports; i++) {
        if (s->ports[i].node_port == port) {
            return true;
        }
    }
    return false;
}

/* Rules that let our probes in may let another balancer's in, too: who comes second needs
 * none of his own. */
static bool has_health_rules(struct aws_sync *y, const struct aws_item *it)
{
    const char *ours = arena_printf(y->s->a, AWS_RULE_HEALTH "%s", it->service->lb_name);
    for (size_t i = 0; i < it->around.n_groups; i++) {
        const struct aws_rules *rules = &it->around.groups[i]->rules;
        for (size_t k = 0; k < rules->n; k++) {
            const struct aws_rule *r = &rules->items[k];
            if (str_eq(r->description, ours) && !is_node_port(it->service, r->from)) {
                return true;
            }
        }
    }
    return false;
}

/* Health checks can need the same rule as another Service's.  The port that the Service asked for
 * before its last edit is seen by its rules. */
static bool shares_health_port(struct aws_sync *y, const struct aws_item *it)
{
    const char *port = svc_annotation(it->service->in, AWS_ANNOTATION "healthcheck-port");
    return y->p->naming.probe_mode == AWS_PROBE_SHARED ||
           (!str_is_empty(port) && !str_eq(port, "traffic-port")) || has_health_rules(y, it);
}

static bool has_node_port(const struct tt_service *svc, int32_t port)
{
    for (uint32_t i = 0; i < svc->n_ports; i++) {
        if (svc->ports[i].node_port == port) {
            return true;
        }
    }
    return false;
}

/* Node ports are one Service's own, but one that a Service gave up may be another's now.  EC2 has
 * each rule once: the rule for clients bears the name of the Service that came first, and the
 * second relies on it. */
static bool hands_node_port_on(struct aws_sync *y, const struct aws_item *it,
                               const struct tt_service *const *all, uint32_t n)
{
    const char *ours = arena_printf(y->s->a, AWS_RULE_CLIENT "%s", it->service->lb_name);
    for (size_t i = 0; i < it->around.n_groups; i++) {
        const struct aws_rules *rules = &it->around.groups[i]->rules;
        for (size_t k = 0; k < rules->n; k++) {
            const struct aws_rule *r = &rules->items[k];
            bool is_ours = str_eq(r->description, ours);
            bool is_used = is_node_port(it->service, r->from);
            if (!is_ours && is_used && str_has_prefix(r->description, AWS_RULE_CLIENT)) {
                return true;
            }
            for (uint32_t s = 0; is_ours && !is_used && s < n; s++) {
                if (has_node_port(all[s], r->from)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* The balancer that a rule's description names, if it is one of ours; NULL: it names none. */
static const char *balancer_of(const struct aws_rule *r)
{
    const char *text = str_nonnull(r->description);
    const char *name = str_has_prefix(text, AWS_RULE_CLIENT)   ? text + strlen(AWS_RULE_CLIENT)
                       : str_has_prefix(text, AWS_RULE_HEALTH) ? text + strlen(AWS_RULE_HEALTH)
                                                               : "";
    return inventory_is_lb_name(name, strlen(name)) ? name : NULL;
}

/* Rules of a balancer that no Service has: what a process left that ended before EC2 showed
 * them. */
static bool has_left_rules(const struct aws_sync *y, const struct aws_item *it,
                           const struct tt_service *const *all, uint32_t n)
{
    struct arena *a = y->s->a;
    struct str_set named = {0};
    for (size_t i = 0; i < it->around.n_groups; i++) {
        const struct aws_group *g = it->around.groups[i];
        bool owned = g->rules.n > 0 && aws_tags_are_owned(&y->p->naming, &g->tags);
        const char **items = ARENA_ARRAY(a, const char *, owned ? g->rules.n : 0);
        size_t n_items = 0;
        for (size_t k = 0; owned && k < g->rules.n; k++) {
            const char *name = balancer_of(&g->rules.items[k]);
            if (name != NULL && !str_eq(name, it->service->lb_name)) {
                items[n_items++] = name;
            }
        }
        struct str_set here = str_set_make(a, items, n_items);
        named = str_set_union(a, &named, &here);
    }
    const char **names = ARENA_ARRAY(a, const char *, named.n > 0 ? n : 0);
    for (uint32_t i = 0; named.n > 0 && i < n; i++) {
        names[i] = svc_default_lb_name(a, all[i]->uid);
    }
    const struct str_set known = str_set_make(a, names, named.n > 0 ? n : 0);
    return str_set_minus(a, &named, &known).n > 0;
}

/* Ids of groups. */
struct other_ids {
    const char **items;
    size_t n;
    size_t cap;
};
struct others {
    struct aws_sync *y;
    struct aws_item *it;
    const char **names;
    size_t n_names;
    const char **own_names; /* that their own groups have or would have */
    size_t n_own_names;
    struct other_ids going;  /* names of balancers of Services that are being deleted */
    struct other_ids groups; /* that they name, or have in the cloud */
    struct other_ids mains;  /* those of classic balancers */
    struct aws_rule *needed;
    size_t n_needed;
    size_t cap_needed;
    bool rules;
    bool unreadable;    /* one of them cannot be read whole */
    bool may_be_on_own; /* one of them may have a classic balancer, whose groups only AWS knows */
    bool unsure;        /* it is not known what each of them needs of nodes */
    const struct aws_doc *subnets; /* of the VPC, when `rules` */
};

static void add_id(struct other_ids *ids, const char *id)
{
    if (ids->n == ids->cap) {
        ids->cap = ids->cap == 0 ? 8 : 2 * ids->cap;
        ids->items = xrealloc(ids->items, ids->cap * sizeof(*ids->items));
    }
    ids->items[ids->n++] = id;
}

static void other_group(struct others *o, const struct aws_service *s, const char *id)
{
    add_id(&o->groups, id);
    if (s->kind == AWS_CLASSIC && s->in->deleted_us == 0) {
        add_id(&o->mains, id);
    }
}

static void other_rule(struct others *o, const char *protocol, int32_t port, const char *cidr)
{
    if (o->n_needed == o->cap_needed) {
        o->cap_needed = o->cap_needed == 0 ? 16 : 2 * o->cap_needed;
        o->needed = xrealloc(o->needed, o->cap_needed * sizeof(*o->needed));
    }
    o->needed[o->n_needed++] = (struct aws_rule){.protocol = protocol,
                                                 .from = port,
                                                 .to = port,
                                                 .peer = AWS_PEER_CIDR,
                                                 .source = cidr,
                                                 .user = "",
                                                 .description = ""};
}

/* Health rules of an NLB of another Service, from every subnet: which ones it has is
 * not known here. */
static void other_rules(struct others *o, const struct aws_service *s)
{
    static const char *const any[] = {"any"};
    const struct aws_texts one = {.items = any, .n = 1};
    const struct aws_subnet *subnets = o->subnets->items;
    struct aws_service plain = *s; /* how many subnets it has does not matter here */
    struct aws_nlb_want want;
    struct err err = ERR_INIT;
    plain.has_allocations = plain.has_addresses = false;
    if (s->kind != AWS_NLB || aws_nlb_desired(o->y->s->a, &o->y->p->naming, &plain, one,
                                              (struct aws_texts){0}, &want, &err) != ERR_OK) {
        o->unsure = o->unsure || s->kind == AWS_NLB;
        return;
    }
    int64_t port = 0;
    bool own = str_eq(want.health.port, "traffic-port");
    for (size_t i = 0; i < want.n_ports; i++) {
        for (size_t k = 0; k < o->subnets->n && (own || str_to_i64(want.health.port, &port)); k++) {
            other_rule(o, "tcp", own ? want.ports[i].node_port : (int32_t)port, subnets[k].cidr);
        }
        const char *protocol = want.ports[i].protocol;
        bool both = str_eq(protocol, "TCP_UDP");
        for (size_t k = 0; k < s->ranges.n; k++) {
            other_rule(o, str_eq(protocol, "UDP") ? "udp" : "tcp", want.ports[i].node_port,
                       s->ranges.items[k]);
            if (both) {
                other_rule(o, "udp", want.ports[i].node_port, s->ranges.items[k]);
            }
        }
    }
}

/* Also one of another class, or that is going: it may have been ours, and its groups may stand. */
static bool may_have_groups(const struct tt_service *svc)
{
    return str_eq(svc->type, "LoadBalancer") || svc_is_unreadable(svc) ||
           svc_has_finalizer(svc, LB_CLEANUP_FINALIZER);
}

/* One that came back with the name of the Service that goes is another one: what it needs stays. */
static bool is_itself(const struct others *o, const struct aws_service *s)
{
    const struct aws_service *mine = o->it->service;
    return str_eq(s->key, mine->key) && str_eq(s->in->uid, mine->in->uid);
}

/* One that is being deleted needs nothing of nodes any more: of two that go at once, each would
 * leave the rules to the other. */
static void other_service(struct others *o, const struct tt_service *svc)
{
    const struct aws_service *s = aws_service_read(o->y->s->a, &o->y->p->naming, svc);
    if (is_itself(o, s)) {
        return;
    }
    o->own_names[o->n_own_names++] = s->classic_group;
    o->own_names[o->n_own_names++] = s->nlb_group;
    if (svc->deleted_us != 0) {
        add_id(&o->going, s->lb_name);
    }
    /* Of those that are NLBs now, one may have been a classic balancer. */
    o->may_be_on_own = o->may_be_on_own || s->kind == AWS_CLASSIC || svc_is_unreadable(svc) ||
                       o->it->service->kind == AWS_CLASSIC;
    if (s->kind == AWS_ELSEWHERE || (!svc_wants_lb(svc) && !svc_is_unreadable(svc))) {
        return;
    }
    o->names[o->n_names++] = s->lb_name;
    o->unreadable = o->unreadable || svc_is_unreadable(svc);
    o->unsure = o->unsure || o->unreadable || s->err.code != ERR_OK;
    for (size_t i = 0; i < s->groups.n; i++) {
        other_group(o, s, s->groups.items[i]);
    }
    for (size_t i = 0; i < s->extra_groups.n; i++) {
        other_group(o, s, s->extra_groups.items[i]);
    }
    if (s->groups.n == 0 && s->kind == AWS_CLASSIC && !str_is_empty(o->y->p->naming.shared_group)) {
        other_group(o, s, o->y->p->naming.shared_group);
    }
    if (o->rules && s->err.code == ERR_OK && svc->deleted_us == 0) {
        other_rules(o, s);
    }
}

/* ---- what stands in the cloud ---------------------------------------------------------------- */

/* A group that was made for another Service is that Service's, whatever names it. */
static void own_groups_of_others(struct others *o)
{
    const struct aws_surroundings *around = &o->it->around;
    struct str_set names = str_set_make(o->y->s->a, o->own_names, o->n_own_names);
    for (size_t i = 0; i < around->n_groups; i++) {
        const struct aws_group *g = around->groups[i];
        if (str_set_has(&names, g->name) && str_eq(g->vpc, o->y->p->naming.vpc)) {
            add_id(&o->groups, g->id);
            add_id(&o->mains, g->id);
        }
    }
}

static bool has_targets(const struct aws_item *it, const char *id)
{
    for (size_t i = 0; i < it->around.n_instances; i++) {
        const struct aws_instance *in = &it->around.instances[i];
        for (size_t k = 0; k < in->n_groups; k++) {
            if (str_eq(in->groups[k].id, id)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_among(const struct aws_texts *t, const char *id)
{
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->items[i], id)) {
            return true;
        }
    }
    return false;
}

static bool is_named(const struct aws_service *s, const char *id)
{
    return is_among(&s->groups, id) || is_among(&s->extra_groups, id);
}

/* May this sync take away what nodes let in from the group?  A group of the Service's own is made
 * for it alone, but another's balancer may have it in the cloud still, after an edit that is not
 * carried out yet, or of a Service that cannot be read. */
static bool may_shut_out(const struct others *o, const char *id)
{
    const struct aws_item *it = o->it;
    bool goes = !it->want || it->service->kind != AWS_CLASSIC;
    bool own = false;
    for (size_t i = 0; i < it->around.n_groups; i++) {
        const struct aws_group *g = it->around.groups[i];
        own = own || (str_eq(g->id, id) && aws_is_own_group(o->y, it, g));
    }
    if (own) {
        return o->may_be_on_own && (goes || it->service->groups.n > 0);
    }
    const struct str_set one = str_set_make(o->y->s->a, &id, 1);
    for (size_t i = 0; i < it->around.n_groups; i++) {
        const struct aws_group *g = it->around.groups[i];
        if (str_set_has(&it->around.tagged, g->id) &&
            aws_group_references(o->y->s->a, g, &one, false).n > 0 &&
            (goes || !is_named(it->service, id) || !has_targets(it, g->id))) {
            return true;
        }
    }
    return false;
}

/* Is there a group whose traffic may be shut out, and of which it is not known yet that
 * others need it? */
static bool asks_what_stands(const struct others *o)
{
    const struct aws_item *it = o->it;
    const char *const *of_seen = it->seen.classic != NULL ? it->seen.classic->groups.items : NULL;
    size_t n_seen = it->seen.classic != NULL ? it->seen.classic->groups.n : 0;
    const struct str_set known = str_set_make(o->y->s->a, o->mains.items, o->mains.n);
    if (o->y->p->naming.no_node_rules) {
        return false;
    }
    const char *first =
        it->service->groups.n > 0 ? it->service->groups.items[0] : o->y->p->naming.shared_group;
    bool asks = it->service->kind == AWS_CLASSIC && !str_is_empty(first) &&
                !str_set_has(&known, first) && may_shut_out(o, first);
    for (size_t i = 0; i < n_seen && !asks; i++) {
        asks = !str_set_has(&known, of_seen[i]) && may_shut_out(o, of_seen[i]);
    }
    for (size_t i = 0; o->may_be_on_own && i < it->around.n_groups && !asks; i++) {
        const struct aws_group *g = it->around.groups[i];
        asks =
            aws_is_own_group(o->y, it, g) && !str_set_has(&known, g->id) && may_shut_out(o, g->id);
    }
    return asks;
}

static bool has_id(const struct other_ids *ids, const char *id)
{
    for (size_t i = 0; i < ids->n; i++) {
        if (str_eq(ids->items[i], id)) {
            return true;
        }
    }
    return false;
}

/* Groups that classic balancers have, whatever their Services say now: of an edit that is not
 * carried out yet, of a Service that cannot be read or is not known any more,
 * of another cluster. */
static int groups_of_balancers(struct others *o, struct err *err)
{
    /* Read after the Services: a list from before would show balancers of Services that are gone,
     * and the rule would stay. */
    const struct aws_doc *all = aws_sync_read(o->y, AWS_DOC_CLASSICS, NULL, INT64_MAX, err);
    const struct aws_classic *items = all != NULL ? all->items : NULL;
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        const struct aws_texts *groups = &items[i].groups;
        bool ours =
            str_eq(items[i].name, o->it->service->lb_name) || has_id(&o->going, items[i].name);
        for (size_t k = 0; !ours && k < groups->n; k++) {
            add_id(&o->groups, groups->items[k]);
            add_id(&o->mains, groups->items[k]);
        }
    }
    return all != NULL ? ERR_OK : err->code;
}

/* Groups in which nodes are: nodes talk to each other by them, whether a balancer has them,
 * too, or not. */
static int groups_of_nodes(struct others *o, struct err *err)
{
    struct aws_sync *y = o->y;
    const struct tt_batch *batch = y->s->batch;
    const struct aws_tags all = {0};
    struct aws_texts left_out = {0};
    struct aws_instances_need need = {.fresh = false};
    need.ids = aws_node_instances(y->s->a, batch->nodes, batch->n_nodes, &all, &left_out);
    int rc = aws_cloud_instances(y->p->cloud, y->s->http, y->s->cancel, y->s->a, &need,
                                 &y->s->reads, err);
    for (size_t i = 0; rc == ERR_OK && i < need.n; i++) {
        for (size_t k = 0; k < need.items[i].n_groups; k++) {
            add_id(&o->mains, need.items[i].groups[k].id);
        }
    }
    return rc;
}

static int groups_that_stand(struct others *o, struct err *err)
{
    if (!asks_what_stands(o)) {
        return ERR_OK;
    }
    int rc = groups_of_balancers(o, err);
    return rc == ERR_OK ? groups_of_nodes(o, err) : rc;
}

/* Another balancer's probes may come in by rules that bear this Service's name.  While it is not
 * known what all need, those stay; the last Service takes them (aws_left_descriptions). */
static void keep_shared_checks(struct others *o)
{
    const char *ours = arena_printf(o->y->s->a, AWS_RULE_HEALTH "%s", o->it->service->lb_name);
    for (size_t i = 0; o->rules && o->unsure && i < o->it->around.n_groups; i++) {
        const struct aws_rules *rules = &o->it->around.groups[i]->rules;
        for (size_t k = 0; k < rules->n; k++) {
            const struct aws_rule *r = &rules->items[k];
            if (str_eq(r->description, ours) && r->peer == AWS_PEER_CIDR && r->from == r->to &&
                !is_node_port(o->it->service, r->from)) {
                other_rule(o, r->protocol, r->from, r->source);
            }
        }
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* A plan of what goes, or of an edit, must know what others need as the sync will; one of a Service
 * that may be as it should be reads lists alone. */
static bool plans_a_change(const struct aws_sync *y, const struct aws_item *it)
{
    return y->s->planning && (!it->want || it->item->in->reasons != TT_REASON_RESYNC);
}

/* Asked only where something is taken away: others must not lose it. */
int aws_observe_others(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    bool looks = (!it->want || it->seen.nlb != NULL || it->seen.classic != NULL ||
                  aws_has_own_group(y, it)) &&
                 (plans_a_change(y, it) || !aws_sync_asks_lists(y, it));
    if (!looks) {
        return ERR_OK;
    }
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    y->p->host->services(y->p->host->ctx, y->s->call, &all, &n);
    struct others o = {.y = y, .it = it};
    bool rights = !it->want || y->p->repair_adopted || lb_puts_right(it->item->in);
    o.rules = shares_health_port(y, it) || hands_node_port_on(y, it, all, n) ||
              (rights && has_left_rules(y, it, all, n));
    o.names = xcalloc((size_t)n + 1, sizeof(*o.names));
    o.own_names = xcalloc(2 * (size_t)n + 1, sizeof(*o.own_names));
    /* Not for around.places: a balancer that keeps its subnets is planned without those
     * of the VPC. */
    struct aws_need subnets = {.kind = AWS_DOC_SUBNETS,
                               .not_older_ms = aws_sync_facts_not_older(y)};
    int rc = o.rules ? aws_sync_read_all(y, &subnets, 1, err) : ERR_OK;
    o.subnets = subnets.doc;
    for (uint32_t i = 0; rc == ERR_OK && i < n; i++) {
        if (may_have_groups(all[i])) {
            other_service(&o, all[i]);
        }
    }
    if (rc == ERR_OK) {
        own_groups_of_others(&o);
        keep_shared_checks(&o);
        rc = groups_that_stand(&o, err);
    }
    it->around.other_names = str_set_make(y->s->a, o.names, o.n_names);
    it->around.other_groups = str_set_make(y->s->a, o.groups.items, o.groups.n);
    it->around.other_mains = str_set_make(y->s->a, o.mains.items, o.mains.n);
    it->around.needed = aws_rules_sorted(y->s->a, o.needed, o.n_needed);
    it->around.knows_needed = o.rules && rc == ERR_OK && !o.unsure;
    free(o.names);
    free(o.own_names);
    free(o.going.items);
    free(o.groups.items);
    free(o.mains.items);
    free(o.needed);
    return rc;
}
