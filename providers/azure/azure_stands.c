/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stands.c: does what stands now serve clients, whatever was planned (docs/adr/0093,
 * 0077)?
 *
 * Asked of a Service whose sync has failed, or is only planned.  The documents answer, as this sync
 * has read and written them last; nothing is read for it.  A client is served where an address of
 * the status has a frontend, with a rule of the Service for whatever port, to a pool with a member,
 * and where the security group lets some client in.  What the sync has not seen, or has written
 * without hearing how that ended, is not known, and then nothing is said.  Whether a member is
 * healthy Azure's probes know. */
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/azure_findings.h"
#include "providers/azure/azure_told.h"
#include "providers/azure/lb/azure_lb_index.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_node_rules.h"
#include "providers/azure/model/azure_prefix.h"
#include "providers/azure/nsg/azure_nsg_open_rules.h"
#include "providers/azure/pip/azure_pip_index.h"

/* A part that the Service lacks; the later, the further packets come. */
enum lack { NO_FRONTEND = 0, NO_RULE, NO_MEMBER, NOT_LET_IN, NOTHING };

/* A frontend with a private address. */
struct inner {
    size_t lb;
    struct json_object *frontend;
    struct inner *next;
};
/* The documents; the same for all Services of the sync. */
struct azure_stood {
    struct json_object *const *lbs;
    struct azure_lb_index **indexes;
    size_t n_lbs;
    bool has_lbs;
    struct map *inner; /* canonical address → struct inner */
    struct azure_pips pips;
    struct azure_nsg group; /* incoming traffic */
    const char *group_name; /* NULL: the group is not known */
};

/* One Service. */
struct look {
    struct azure_sync *y;
    struct azure_stood *stood;
    const struct azure_service *service;
    bool unknown;   /* something that may serve is not known */
    enum lack lack; /* of what comes nearest to serving */
    const char *why;
};

/* ---- the documents --------------------------------------------------------------------------- */

static void read_group(struct azure_sync *y, struct azure_stood *stood)
{
    struct json_object *const *groups = NULL;
    struct azure_nsg group;
    size_t n = 0;
    if (!azure_last_seen(y, AZURE_NSGS, &groups, &n) || n == 0) {
        return;
    }
    struct json_object *rules = azure_array(groups[0], "securityRules");
    rules = rules != NULL ? rules : azure_own(y->s->a, json_object_new_array());
    if (azure_nsg_read(y->s->a, rules, &group, NULL) == ERR_OK) {
        stood->group = azure_nsg_inbound(&group);
        stood->group_name = azure_doc_name(groups[0]);
    }
}

static void put_map(void *arg)
{
    map_free(arg);
}

static void read_inner(struct arena *a, struct azure_stood *stood, size_t lb)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(stood->lbs[lb], "frontendIPConfigurations")) {
        const char *ip =
            azure_addr_canonical(a, str_nonnull(azure_prop_str(o, "privateIPAddress")));
        if (ip != NULL && azure_ref(o, "publicIPAddress") == NULL) {
            struct inner *one = ARENA_NEW(a, struct inner);
            *one = (struct inner){.lb = lb, .frontend = o, .next = map_get(stood->inner, ip)};
            map_set(stood->inner, ip, one);
        }
    }
}

/* Once, at the end of the sync: nothing is read or written any more. */
static struct azure_stood *stood_of(struct azure_sync *y)
{
    struct arena *a = y->s->a;
    if (y->stood != NULL) {
        return y->stood;
    }
    struct azure_stood *stood = ARENA_NEW(a, struct azure_stood);
    stood->has_lbs = azure_last_seen(y, AZURE_LBS, &stood->lbs, &stood->n_lbs);
    stood->indexes = ARENA_ARRAY(a, struct azure_lb_index *, stood->n_lbs + 1);
    stood->inner = map_new(NULL);
    arena_defer(a, put_map, stood->inner);
    for (size_t i = 0; i < stood->n_lbs; i++) {
        stood->indexes[i] = azure_lb_index_new(a, stood->lbs[i]);
        read_inner(a, stood, i);
    }
    (void)azure_last_seen(y, AZURE_PIPS, &stood->pips.items, &stood->pips.n);
    stood->pips.index = azure_pip_index_new(a, stood->pips.items, stood->pips.n);
    read_group(y, stood);
    return y->stood = stood;
}

/* ---- one Service ----------------------------------------------------------------------------- */

static void lacks(struct look *l, enum lack lack, const char *why)
{
    if (l->why == NULL || lack > l->lack) {
        l->lack = lack;
        l->why = why;
    }
}

static size_t n_members(struct json_object *pool)
{
    return json_len(azure_array(pool, "backendIPConfigurations")) +
           json_len(azure_array(pool, "loadBalancerBackendAddresses"));
}

/* The first pool of the rule that has members, else the last one that it names; NULL: none. */
static struct json_object *pool_of(struct json_object *lb, struct json_object *rule)
{
    struct json_object *pools = azure_array(lb, "backendAddressPools");
    struct json_object *found =
        azure_find(pools, azure_id_last(azure_ref(rule, "backendAddressPool")));
    struct json_object *o;
    AZURE_EACH (o, azure_array(rule, "backendAddressPools")) {
        struct json_object *one = azure_find(pools, azure_id_last(json_str(o, "id")));
        found = one != NULL && (found == NULL || n_members(found) == 0) ? one : found;
    }
    return found;
}

static enum azure_nsg_answer better(enum azure_nsg_answer x, enum azure_nsg_answer y)
{
    bool open = x == AZURE_NSG_OPEN || y == AZURE_NSG_OPEN;
    return open ? AZURE_NSG_OPEN : x == AZURE_NSG_CLOSED ? y : x;
}

/* Without floating IP packets arrive at the nodes: of those of the pool that say their address, and
 * of all nodes otherwise. */
static enum azure_nsg_answer lets_in_on_nodes(const struct look *l, struct json_object *pool,
                                              struct azure_nsg_packet p, enum azure_family f)
{
    const struct tt_batch *batch = l->y->s->batch;
    struct json_object *o;
    enum azure_nsg_answer answer = AZURE_NSG_CLOSED;
    size_t n = 0;
    p.to_network = true;
    AZURE_EACH (o, azure_array(pool, "loadBalancerBackendAddresses")) {
        if (azure_addr_parse(str_nonnull(azure_prop_str(o, "ipAddress")), &p.to)) {
            answer = better(answer, azure_nsg_lets_in(&l->stood->group, &p));
            n++;
        }
    }
    for (uint32_t i = 0; n == 0 && i < batch->n_nodes; i++) {
        if (azure_addr_parse(azure_node_internal_ip(batch->nodes[i], f), &p.to)) {
            answer = better(answer, azure_nsg_lets_in(&l->stood->group, &p));
            n++;
        }
    }
    return n > 0 ? answer : AZURE_NSG_UNSURE;
}

static enum azure_nsg_answer lets_in(const struct look *l, struct json_object *rule,
                                     struct json_object *pool, const char *ip, bool public)
{
    bool floats = azure_prop_bool(rule, "enableFloatingIP", false);
    struct azure_nsg_packet p = {
        .to_network = !public,
        .from_outside = public,
        .protocol = str_nonnull(azure_prop_str(rule, "protocol")),
        .port = azure_prop_int(rule, floats ? "frontendPort" : "backendPort", 0),
    };
    if (l->service->disable_nsg_rule) {
        return AZURE_NSG_OPEN; /* its rules are its owner's */
    }
    if (l->stood->group_name == NULL || !azure_addr_parse(ip, &p.to)) {
        return AZURE_NSG_UNSURE;
    }
    return floats ? azure_nsg_lets_in(&l->stood->group, &p)
                  : lets_in_on_nodes(l, pool, p, azure_addr_family(&p.to));
}

static void look_at_rule(struct look *l, struct json_object *lb, struct json_object *rule,
                         const char *ip, bool public)
{
    struct arena *a = l->y->s->a;
    struct json_object *pool = pool_of(lb, rule);
    if (pool == NULL || n_members(pool) == 0) {
        l->unknown = l->unknown || l->y->unsure[AZURE_POOLS];
        lacks(l, NO_MEMBER,
              arena_printf(a, "no node is behind load balancer %s", azure_doc_name(lb)));
        return;
    }
    switch (lets_in(l, rule, pool, ip, public)) {
    case AZURE_NSG_OPEN:
        lacks(l, NOTHING, "");
        return;
    case AZURE_NSG_UNSURE:
        l->unknown = true;
        return;
    case AZURE_NSG_CLOSED:
        lacks(
            l, NOT_LET_IN,
            arena_printf(a, "security group %s lets no client in at %s", l->stood->group_name, ip));
        return;
    }
}

static void look_at_frontend(struct look *l, size_t lb, struct json_object *frontend,
                             const char *ip, bool public)
{
    struct arena *a = l->y->s->a;
    struct json_object *doc = l->stood->lbs[lb];
    struct azure_elements rules =
        azure_lb_rules_at(a, l->stood->indexes[lb], doc, azure_doc_id(frontend));
    bool some = false;
    for (size_t i = 0; i < rules.n; i++) {
        if (azure_has_prefix(azure_doc_name(rules.items[i]), l->service->base)) {
            some = true;
            look_at_rule(l, doc, rules.items[i], ip, public);
        }
    }
    if (!some) {
        lacks(l, NO_RULE,
              arena_printf(a, "load balancer %s has no rule for %s", azure_doc_name(doc), ip));
    }
}

/* Frontends of one balancer that have the public address. */
static void look_at_balancer(struct look *l, size_t lb, const char *ip)
{
    struct arena *a = l->y->s->a;
    struct azure_pip_slots slots = azure_pip_index_by_ip(l->stood->pips.index, ip);
    struct json_object *doc = l->stood->lbs[lb];
    for (size_t i = 0; i < slots.n; i++) {
        struct json_object *pip = slots.items[i]->doc;
        if (pip == NULL || !azure_address_eq(azure_pip_address(pip), ip)) {
            continue;
        }
        struct azure_elements at =
            azure_lb_with_pip(a, l->stood->indexes[lb], doc, azure_doc_id(pip));
        for (size_t k = 0; k < at.n; k++) {
            look_at_frontend(l, lb, at.items[k], ip, true);
        }
    }
    struct azure_elements own =
        azure_lb_named(a, l->stood->indexes[lb], doc, AZURE_LB_FRONTENDS, l->service);
    for (size_t i = 0; i < own.n; i++) {
        const char *pip = azure_ref(own.items[i], "publicIPAddress");
        l->unknown = l->unknown || (pip != NULL && azure_pip_by_id(&l->stood->pips, pip) == NULL);
    }
}

static void look_at_address(struct look *l, const char *ip)
{
    struct arena *a = l->y->s->a;
    const char *canonical = azure_addr_canonical(a, ip);
    const struct inner *one = canonical != NULL ? map_get(l->stood->inner, canonical) : NULL;
    for (; one != NULL; one = one->next) {
        look_at_frontend(l, one->lb, one->frontend, ip, false);
    }
    for (size_t i = 0; i < l->stood->n_lbs; i++) {
        look_at_balancer(l, i, ip);
    }
    lacks(l, NO_FRONTEND, arena_printf(a, "no load balancer has address %s", ip));
}

const char *azure_stands(const struct lb_sync *s, const struct lb_item *item)
{
    struct azure_sync *y = s->data;
    const struct azure_item *it = y != NULL && y->items != NULL ? &y->items[item - s->items] : NULL;
    if (it == NULL || it->service == NULL || !it->want || it->left) {
        return NULL;
    }
    struct look l = {.y = y, .stood = stood_of(y), .service = it->service};
    if (!l.stood->has_lbs) {
        return NULL;
    }
    /* The host has written the addresses of this sync, unless it said that it could not. */
    struct azure_texts ips = it->told.n > 0 && !item->unpublished ? it->told : azure_told(s->a, it);
    for (size_t i = 0; i < ips.n; i++) {
        look_at_address(&l, ips.items[i]);
    }
    if (l.lack == NOTHING) {
        return "";
    }
    return l.unknown ? NULL : l.why;
}
