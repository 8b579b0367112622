/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_plan.c: many Services, one security group (azure_nsg_plan.h).  Pure. */
#include "providers/azure/nsg/azure_nsg_plan.h"

#include <string.h>

#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/nsg/azure_nsg_legacy.h"
#include "providers/azure/nsg/azure_nsg_rules.h"

/* ---- addresses ------------------------------------------------------------------------------- */

/* A growing list of canonical addresses; what is no address is left out. */
struct list {
    struct arena *a;
    const char **items;
    size_t n;
    size_t cap;
};

static void list_add(struct list *l, const char *text)
{
    const char *canonical = azure_addr_canonical(l->a, text);
    if (canonical == NULL) {
        return;
    }
    if (l->n == l->cap) {
        size_t cap = l->cap * 2 + 8;
        const char **more = ARENA_ARRAY(l->a, const char *, cap);
        if (l->n > 0) {
            memcpy(more, l->items, l->n * sizeof *more);
        }
        l->items = more;
        l->cap = cap;
    }
    l->items[l->n++] = canonical;
}

static void list_add_texts(struct list *l, const struct azure_texts *t)
{
    for (size_t i = 0; i < t->n; i++) {
        list_add(l, t->items[i]);
    }
}

static struct str_set list_set(const struct list *l)
{
    return str_set_make(l->a, l->items, l->n);
}

static struct str_set set_of_texts(struct arena *a, const struct azure_texts *t)
{
    struct list l = {.a = a};
    list_add_texts(&l, t);
    return list_set(&l);
}

/* ---- the batch ------------------------------------------------------------------------------- */

struct member {
    const struct azure_access *access;
    struct str_set addresses; /* status, assigned, and what the batch gives it */
    size_t gone_after;        /* index of the change that deletes it; SIZE_MAX: none does */
    bool cleaned;
};
/* Members that may meet somewhere. */
struct meeting {
    const struct member **items;
    size_t n;
    size_t cap;
};
struct batch {
    struct arena *a;
    const struct azure_nsg_input *in;
    struct member *members;
    size_t n_members;
    struct map *changes;     /* identity of a Service → its change */
    struct map *by_address;  /* canonical address → struct meeting */
    struct meeting on_nodes; /* those without floating IP */
    struct str_set always;   /* may be destinations during the whole batch */
    struct azure_nsg g;
    struct err *errs;
};

static bool same_service(const struct azure_access *x, const struct azure_access *y)
{
    return azure_service_is(x->service, y->service);
}

static void add_status(struct list *l, const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_ingress; i++) {
        list_add(l, s->ingress[i].ip);
    }
}

static struct member read_member(const struct batch *b, const struct azure_nsg_member *in)
{
    struct member m = {.access = in->access, .gone_after = SIZE_MAX, .cleaned = in->cleaned};
    struct list l = {.a = b->a};
    const struct azure_nsg_change *c =
        map_get(b->changes, azure_service_identity(b->a, in->access->service));
    if (c == NULL || !c->has_left) { /* what the sync has read is older */
        add_status(&l, in->access->service->in);
    }
    list_add_texts(&l, &in->assigned);
    /* Its status shows what it does not get, too. */
    struct str_set has = list_set(&l);
    struct str_set withheld = set_of_texts(b->a, &in->access->withheld);
    has = str_set_minus(b->a, &has, &withheld);
    struct list given = {.a = b->a};
    if (c != NULL && c->want) {
        list_add_texts(&given, &c->lb_ips);
        list_add_texts(&given, &c->access->additional);
    } else if (c != NULL) {
        m.gone_after = (size_t)(c - b->in->changes);
    }
    struct str_set gets = list_set(&given);
    m.addresses = str_set_union(b->a, &has, &gets);
    return m;
}

/* Possible destinations (9.4 (3)): addresses of all Services and of all nodes. */
static void add_member_addresses(struct list *l, const struct member *m)
{
    for (size_t i = 0; i < m->addresses.n; i++) {
        list_add(l, m->addresses.items[i]);
    }
    list_add_texts(l, &m->access->additional);
}

/* A Service of the batch that no list shows yet: the others must not take its addresses away. */
static struct member new_member(const struct batch *b, const struct azure_nsg_change *c)
{
    struct list l = {.a = b->a};
    list_add_texts(&l, &c->lb_ips);
    list_add_texts(&l, &c->access->additional);
    return (struct member){.access = c->access, .addresses = list_set(&l), .gone_after = SIZE_MAX};
}

static void put_map(void *arg)
{
    map_free(arg);
}

static struct map *own_map(struct arena *a)
{
    struct map *m = map_new(NULL);
    arena_defer(a, put_map, m);
    return m;
}

static void meet(struct arena *a, struct meeting *at, const struct member *m)
{
    if (at->n > 0 && at->items[at->n - 1] == m) {
        return;
    }
    if (at->n == at->cap) {
        at->cap = at->cap * 2 + 2;
        const struct member **more = ARENA_ARRAY(a, const struct member *, at->cap);
        if (at->n > 0) {
            memcpy(more, at->items, at->n * sizeof(*more));
        }
        at->items = more;
    }
    at->items[at->n++] = m;
}

/* Index of addresses: a thousand Services that each search all others would search a million
 * times. */
static void index_members(struct batch *b)
{
    b->by_address = own_map(b->a);
    for (size_t i = 0; i < b->n_members; i++) {
        const struct member *m = &b->members[i];
        const char *ip;
        STR_SET_EACH (ip, &m->addresses) {
            struct meeting *at = map_get(b->by_address, ip);
            if (at == NULL) {
                at = ARENA_NEW(b->a, struct meeting);
                map_set(b->by_address, ip, at);
            }
            meet(b->a, at, m);
        }
        if (m->access->service->disable_floating_ip) {
            meet(b->a, &b->on_nodes, m);
        }
    }
}

static void read_members(struct batch *b)
{
    struct list always = {.a = b->a};
    struct map *listed = own_map(b->a);
    b->changes = own_map(b->a);
    for (size_t i = 0; i < b->in->n_changes; i++) {
        const struct azure_nsg_change *c = &b->in->changes[i];
        map_set(b->changes, azure_service_identity(b->a, c->access->service), (void *)(uintptr_t)c);
    }
    b->members = ARENA_ARRAY(b->a, struct member, b->in->n_members + b->in->n_changes);
    for (size_t i = 0; i < b->in->n_members; i++) {
        b->members[b->n_members++] = read_member(b, &b->in->members[i]);
        map_set(listed, azure_service_identity(b->a, b->in->members[i].access->service), NULL);
    }
    for (size_t i = 0; i < b->in->n_changes; i++) {
        const struct azure_nsg_change *c = &b->in->changes[i];
        if (c->want && !map_has(listed, azure_service_identity(b->a, c->access->service))) {
            b->members[b->n_members++] = new_member(b, c);
        }
    }
    for (size_t i = 0; i < b->n_members; i++) {
        if (!b->members[i].cleaned && b->members[i].gone_after == SIZE_MAX) {
            add_member_addresses(&always, &b->members[i]);
        }
    }
    list_add_texts(&always, &b->in->node_ips);
    b->always = list_set(&always);
    index_members(b);
}

/* Services that are deleted later in the batch keep their addresses until their turn comes,
 * as does this one. */
static struct str_set allowed_for(const struct batch *b, size_t at)
{
    const struct azure_nsg_change *c = &b->in->changes[at];
    struct list l = {.a = b->a};
    for (size_t i = 0; i < b->n_members; i++) {
        const struct member *m = &b->members[i];
        if (!m->cleaned && m->gone_after != SIZE_MAX && m->gone_after >= at) {
            add_member_addresses(&l, m);
        }
    }
    list_add_texts(&l, &c->lb_ips);
    list_add_texts(&l, &c->access->additional);
    return list_set(&l);
}

/* ---- what others need ------------------------------------------------------------------------ */

static bool needs_ports(const struct batch *b, const struct member *m, size_t at)
{
    const struct azure_nsg_change *c = &b->in->changes[at];
    bool gone = m->cleaned || (m->gone_after != SIZE_MAX && m->gone_after < at);
    return !gone && !same_service(m->access, c->access);
}

/* With floating IP off, Services of that kind meet on the nodes (9.5). */
static bool meet_on_nodes(const struct member *m, const struct azure_nsg_change *c)
{
    return c->access->service->disable_floating_ip && m->access->service->disable_floating_ip;
}

static void add_shared(const struct batch *b, const struct member *m, bool on_nodes,
                       const struct str_set *destinations, struct azure_nsg_shared *s)
{
    for (int p = 0; p < AZURE_PROTOCOLS; p++) {
        struct str_set ports = azure_access_ports(b->a, m->access, p);
        s->ports[p] = str_set_union(b->a, &s->ports[p], &ports);
    }
    s->addresses = str_set_union(b->a, &s->addresses, on_nodes ? destinations : &m->addresses);
    if (m->access->deny_all && !m->access->service->disable_nsg_rule) {
        s->denied = str_set_union(b->a, &s->denied, on_nodes ? destinations : &m->addresses);
    }
}

/* All others meet where they have an address in common: also a Service without floating IP, by its
 * additional ones. */
static struct azure_nsg_shared shared_for(const struct batch *b, size_t at,
                                          const struct str_set *destinations)
{
    const struct azure_nsg_change *c = &b->in->changes[at];
    struct azure_nsg_shared s = {0};
    const char *ip;
    for (size_t i = 0; c->access->service->disable_floating_ip && i < b->on_nodes.n; i++) {
        if (needs_ports(b, b->on_nodes.items[i], at)) {
            add_shared(b, b->on_nodes.items[i], true, destinations, &s);
        }
    }
    STR_SET_EACH (ip, destinations) {
        const struct meeting *there = map_get(b->by_address, ip);
        for (size_t i = 0; there != NULL && i < there->n; i++) {
            const struct member *m = there->items[i];
            if (!meet_on_nodes(m, c) && needs_ports(b, m, at)) {
                add_shared(b, m, false, destinations, &s);
            }
        }
    }
    return s;
}

/* ---- one Service ----------------------------------------------------------------------------- */

/* One that goes may have let traffic in to its addresses before its floating IP
 * was switched off. */
static struct str_set destinations_of(const struct batch *b, const struct azure_nsg_change *c)
{
    struct list l = {.a = b->a};
    bool on_nodes = c->access->service->disable_floating_ip;
    list_add_texts(&l, &c->access->additional);
    if (on_nodes) {
        list_add_texts(&l, &c->backend_ips);
    }
    if (!on_nodes || !c->want) {
        list_add_texts(&l, &c->lb_ips);
    }
    return list_set(&l);
}

static void split_families(struct arena *a, const struct str_set *all,
                           struct str_set ret[AZURE_FAMILIES])
{
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        const char **items = ARENA_ARRAY(a, const char *, all->n);
        size_t n = 0;
        const char *item;
        STR_SET_EACH (item, all) {
            if (azure_addr_text_family(item) == (enum azure_family)f) {
                items[n++] = item;
            }
        }
        ret[f] = str_set_make(a, items, n);
    }
}

static int check_change(const struct batch *b, const struct azure_nsg_change *c, struct err *err)
{
    if (!c->want) {
        return ERR_OK; /* what is wrong with it must not keep its rules alive */
    }
    if (!c->planned && set_of_texts(b->a, &c->lb_ips).n == 0) {
        return err_set(err, ERR_TRANSIENT,
                       "no load balancer IP for setting up security rules for service %s",
                       c->access->service->key);
    }
    return azure_access_check_rules(c->access, err);
}

/* Takes addresses out of our rules, but for ports that others need there.  Where that cannot be (a
 * rule for the others finds no priority) they stay: it does not hold up what the Service asks for,
 * and its next change tries again. */
static void close_at(struct batch *b, size_t at, const struct str_set *addresses,
                     const struct azure_nsg_shared *shared)
{
    struct azure_nsg_pass pass = {
        .access = b->in->changes[at].access,
        .shared = *shared,
        .allowed = b->always,
        .allowed_now = allowed_for(b, at),
    };
    split_families(b->a, addresses, pass.destinations);
    int rc = azure_nsg_apply(&b->g, &pass, NULL);
    (void)rc;
}

/* Ports that the Service has left. */
static void close_left(struct batch *b, size_t at, const struct str_set *destinations)
{
    const struct azure_nsg_change *c = &b->in->changes[at];
    struct str_set left = set_of_texts(b->a, &c->left);
    left = str_set_minus(b->a, &left, destinations);
    if (left.n > 0 && !c->adds_only) {
        struct azure_nsg_shared shared = shared_for(b, at, &left);
        close_at(b, at, &left, &shared);
    }
}

static int apply_change(struct batch *b, size_t at, struct err *err)
{
    const struct azure_nsg_change *c = &b->in->changes[at];
    int rc = check_change(b, c, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct str_set destinations = destinations_of(b, c);
    struct azure_nsg_pass pass = {
        .access = c->access,
        .patch = c->want && !c->access->service->disable_nsg_rule,
        .adds_only = c->adds_only,
        .shared = shared_for(b, at, &destinations),
        .allowed = b->always,
        .allowed_now = allowed_for(b, at),
    };
    split_families(b->a, &destinations, pass.destinations);
    rc = azure_nsg_apply(&b->g, &pass, err);
    if (rc == ERR_OK) {
        close_left(b, at, &destinations);
    }
    return rc;
}

/* ---- the nodes ------------------------------------------------------------------------------- */

static bool stands(const struct batch *b, const struct member *m)
{
    return !m->cleaned && (m->gone_after == SIZE_MAX || b->errs[m->gone_after].code != ERR_OK);
}

/* Needs of Services at the nodes: those without floating IP, and those that name an address
 * of a node. */
static struct azure_nsg_shared needed_at(const struct batch *b, const struct str_set *nodes)
{
    struct azure_nsg_shared s = {0};
    const char *ip;
    for (size_t i = 0; i < b->on_nodes.n; i++) {
        if (stands(b, b->on_nodes.items[i])) {
            add_shared(b, b->on_nodes.items[i], true, nodes, &s);
        }
    }
    STR_SET_EACH (ip, nodes) {
        const struct meeting *there = map_get(b->by_address, ip);
        for (size_t i = 0; there != NULL && i < there->n; i++) {
            if (stands(b, there->items[i])) {
                add_shared(b, there->items[i], false, nodes, &s);
            }
        }
    }
    return s;
}

/* Floating IP was switched on, a node port changed, while no controller ran or under another
 * one: such a rule has no owner.  A group that only was taken over is not written
 * for its sake. */
static void close_nodes(struct batch *b)
{
    struct str_set nodes = set_of_texts(b->a, &b->in->node_ips);
    size_t at = 0;
    while (at < b->in->n_changes && b->errs[at].code != ERR_OK) {
        at++;
    }
    if (at == b->in->n_changes || nodes.n == 0 || b->in->changes[at].adds_only ||
        !(b->in->closes_nodes || azure_nsg_changed(&b->g))) {
        return;
    }
    struct azure_nsg_shared shared = needed_at(b, &nodes);
    close_at(b, at, &nodes, &shared);
}

/* ---- nodes that join what stands ------------------------------------------------------------- */

static bool has_some(const struct str_set *set, const struct str_set *of)
{
    const char *text;
    STR_SET_EACH (text, of) {
        if (str_set_has(set, text)) {
            return true;
        }
    }
    return false;
}

/* A rule that lets clients in to one of these ports on some node lets them in on all
 * nodes behind it. */
static void admit_nodes(struct batch *b, const struct azure_nsg_standing *s,
                        const struct str_set *nodes)
{
    struct str_set behind = set_of_texts(b->a, &s->node_ips);
    for (size_t i = 0; i < b->g.n; i++) {
        struct azure_nsg_rule *r = b->g.rules[i];
        bool lets_in =
            azure_nsg_is_managed(r) && azure_eq(r->now.access, "Allow") &&
            has_some(&r->now.ports, &s->ports) &&
            (has_some(&r->now.destinations, nodes) || has_some(&r->now.destinations, &behind));
        struct str_set all = str_set_union(b->a, &r->now.destinations, &behind);
        if (lets_in && all.n > r->now.destinations.n) {
            struct str_set one = str_set_make(b->a, &s->key, 1);
            r->now.destinations = all;
            r->owners = str_set_union(b->a, &r->owners, &one);
        }
    }
}

/* ---- the result ------------------------------------------------------------------------------ */

static const char *why_of(const struct azure_nsg_rule *r, enum lb_verb verb)
{
    if (r->dropped) {
        return "a release before 1.29 made it; today's rules do its work";
    }
    if (verb == LB_CREATE) {
        return "clients must get through to the Service";
    }
    if (verb == LB_DELETE) {
        return r->stale ? "its last destination is stale" : "no Service needs it any more";
    }
    return r->stale ? "it has a stale destination" : "the ports that a Service opens have changed";
}

static bool describe(const struct batch *b, const struct azure_nsg_rule *r,
                     struct azure_nsg_rule_change *ret)
{
    bool empty = azure_nsg_is_empty(r);
    bool made = r->json == NULL;
    if (made ? empty : !empty && azure_nsg_body_eq(&r->now, &r->was)) {
        return false;
    }
    struct lb_diff d;
    lb_diff_init(&d, b->a);
    azure_nsg_rule_fields(&d, r);
    const char *key =
        b->in->n_changes > 0 ? b->in->changes[0].access->service->key : b->in->standing[0].key;
    *ret = (struct azure_nsg_rule_change){
        .verb = made ? LB_CREATE : (empty ? LB_DELETE : LB_CHANGE),
        .name = r->name,
        .owners = r->owners.n > 0 ? r->owners : str_set_make(b->a, &key, 1),
        .fields = d.fields,
        .n_fields = d.n,
    };
    ret->why = why_of(r, ret->verb);
    return true;
}

static void describe_all(const struct batch *b, struct azure_nsg_result *ret)
{
    struct azure_nsg_rule_change *diff = ARENA_ARRAY(b->a, struct azure_nsg_rule_change, b->g.n);
    ret->diff = diff;
    ret->n_diff = 0;
    for (size_t i = 0; i < b->g.n; i++) {
        ret->n_diff += describe(b, b->g.rules[i], &diff[ret->n_diff]);
    }
}

/* ---- rules of older releases (9.9) ----------------------------------------------------------- */

/* The addresses of a Service that no other one has. */
static struct str_set own_addresses(const struct batch *b, size_t at)
{
    const struct azure_nsg_change *c = &b->in->changes[at];
    struct str_set own = destinations_of(b, c);
    for (size_t i = 0; i < b->n_members; i++) {
        const struct member *m = &b->members[i];
        _cleanup_(arena_freep) struct arena *passing = arena_new();
        struct list l = {.a = passing};
        if (needs_ports(b, m, at)) {
            add_member_addresses(&l, m);
            struct str_set theirs = list_set(&l);
            own = str_set_minus(b->a, &own, &theirs);
        }
    }
    return own;
}

static bool is_touched(const struct batch *b, const struct azure_nsg_change *c)
{
    for (size_t i = 0; i < b->g.n; i++) {
        if (str_set_has(&b->g.rules[i]->owners, c->access->service->key)) {
            return true;
        }
    }
    return false;
}

/* Of a Service that stays they go together with a change of its own rules, or when repairs are
 * asked for: taking over a cluster makes no write.  Its rules of today are in the
 * document by then. */
static void drop_legacy(struct batch *b, size_t at)
{
    const struct azure_nsg_change *c = &b->in->changes[at];
    bool opens = c->want && !c->access->service->disable_nsg_rule;
    bool goes = !c->want || (opens && (b->in->repair_adopted || is_touched(b, c)));
    if (goes && !c->adds_only && !c->retreats) {
        /* Only rules that Services shared are asked for addresses, and few clusters have one. */
        struct str_set own =
            azure_nsg_has_shared_legacy(&b->g) ? own_addresses(b, at) : (struct str_set){0};
        azure_nsg_drop_legacy(&b->g, c->access, &own);
    }
}

int azure_nsg_plan(struct arena *a, const struct azure_nsg_input *in, struct azure_nsg_result *ret,
                   struct err *err)
{
    struct batch b = {.a = a, .in = in};
    *ret = (struct azure_nsg_result){.rules = in->rules};
    int rc = azure_nsg_read(a, in->rules, &b.g, err);
    if (rc != ERR_OK || in->n_changes + in->n_standing == 0) {
        return rc;
    }
    b.errs = ARENA_ARRAY(a, struct err, in->n_changes + 1);
    read_members(&b);
    bool any = false;
    for (size_t i = 0; i < in->n_changes; i++) {
        if (apply_change(&b, i, &b.errs[i]) == ERR_OK) {
            drop_legacy(&b, i);
            any = true;
        }
    }
    close_nodes(&b);
    struct str_set nodes = set_of_texts(a, &in->node_ips);
    for (size_t i = 0; i < in->n_standing; i++) {
        admit_nodes(&b, &in->standing[i], &nodes);
        any = true;
    }
    ret->errs = b.errs;
    if (!any || !azure_nsg_changed(&b.g)) {
        return ERR_OK; /* nothing could be applied: an empty rule that was there may stay */
    }
    ret->changed = true;
    ret->rules = azure_nsg_write(&b.g);
    describe_all(&b, ret);
    return ERR_OK;
}
