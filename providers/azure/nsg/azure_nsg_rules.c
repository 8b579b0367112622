/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_rules.c: what one Service does to the rules of a security
 * group (azure_nsg_rules.h). Pure. */
#include "providers/azure/nsg/azure_nsg_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

/* Azure's limits of one security group (9.6). */
#define MAX_RULES        1000
#define MAX_SOURCES      4000
#define MAX_DESTINATIONS 4000

#define INBOUND "Inbound"
#define ALLOW   "Allow"
#define DENY    "Deny"

static bool has_any(const struct str_set *set, const struct str_set *items)
{
    const char *item;
    STR_SET_EACH (item, items) {
        if (str_set_has(set, item)) {
            return true;
        }
    }
    return false;
}

static bool has_all(const struct str_set *set, const struct str_set *items)
{
    const char *item;
    STR_SET_EACH (item, items) {
        if (!str_set_has(set, item)) {
            return false;
        }
    }
    return true;
}

static struct str_set common(struct arena *a, const struct str_set *x, const struct str_set *y)
{
    struct str_set only_x = str_set_minus(a, x, y);
    return str_set_minus(a, x, &only_x);
}

/* ---- rules by name --------------------------------------------------------------------------- */

/* Priorities are apart for each direction; one without direction is taken to be in the way. */
static bool priority_is_taken(const struct azure_nsg *g, int64_t priority)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->rules[i]->now.priority == priority &&
            !str_eq_nocase(g->rules[i]->now.direction, "Outbound")) {
            return true;
        }
    }
    return false;
}

/* Allow rules from the top down, deny rules from the bottom up, so that an allow rule
 * always comes first. */
static int free_priority(const struct azure_nsg *g, bool deny, int64_t *ret, struct err *err)
{
    for (int64_t i = 0; i < AZURE_NSG_PRIORITY_MAX - AZURE_NSG_PRIORITY_MIN; i++) {
        int64_t p = deny ? AZURE_NSG_PRIORITY_MAX - 1 - i : AZURE_NSG_PRIORITY_MIN + i;
        if (!priority_is_taken(g, p)) {
            *ret = p;
            return ERR_OK;
        }
    }
    return err_set(err, ERR_QUOTA, "no priority from %d to %d is free in the security group",
                   AZURE_NSG_PRIORITY_MIN, AZURE_NSG_PRIORITY_MAX - 1);
}

/* Makes the rule, or says again what it must be, and adds the destinations. */
static int put_rule(struct azure_nsg *g, const struct azure_nsg_want *w, struct err *err)
{
    struct azure_nsg_rule *r = azure_nsg_find(g, w->name);
    const char *any = "*";
    if (r == NULL) {
        int64_t priority = 0;
        int rc = free_priority(g, w->deny, &priority, err);
        if (rc != ERR_OK) {
            return rc;
        }
        r = azure_nsg_append(g, w->name);
        r->now.priority = priority;
    }
    r->now.protocol = azure_protocol_text(w->protocol);
    r->now.access = w->deny ? DENY : ALLOW;
    r->now.direction = INBOUND;
    r->now.sources = w->sources;
    r->now.source_ports = str_set_make(g->a, &any, 1);
    r->now.ports = w->ports;
    if (!has_all(&r->now.destinations, &w->destinations)) {
        r->now.destinations = str_set_union(g->a, &r->now.destinations, &w->destinations);
    }
    return ERR_OK;
}

/* ---- clean ----------------------------------------------------------------------------------- */

/* The Service's desired rules, computed before any removal, so that unchanged ones stay. */
struct wants {
    const struct azure_nsg_want *items;
    size_t n;
};
struct clean {
    struct azure_nsg *g;
    const struct azure_nsg_pass *p;
    const struct wants *wants;
    enum azure_protocol protocol;
    enum azure_family family;
};

/* The ports as plain numbers; false when one is a range or "*". */
static bool numeric_ports(struct arena *a, const struct str_set *ports, struct str_set *ret)
{
    const char **texts = ARENA_ARRAY(a, const char *, ports->n);
    for (size_t i = 0; i < ports->n; i++) {
        int64_t port;
        if (!str_to_i64(ports->items[i], &port)) {
            return false;
        }
        texts[i] = arena_printf(a, "%lld", (long long)port);
    }
    *ret = str_set_make(a, texts, ports->n);
    return true;
}

/* The deny rule of a family stays on every address for which another owner wants it (18 row 2).
 * Other deny rules in our range are not made by us: they lose the addresses when no other
 * Service has ports there. */
static void clean_deny(const struct clean *c, struct azure_nsg_rule *r)
{
    struct arena *a = c->g->a;
    struct str_set go = c->p->destinations[c->family];
    if (str_eq_nocase(r->name, azure_nsg_deny_name(c->family))) {
        go = str_set_minus(a, &go, &c->p->shared.denied);
    } else if (c->p->shared.ports[c->protocol].n > 0) {
        return;
    }
    r->now.destinations = str_set_minus(a, &r->now.destinations, &go);
}

/* Taking the destinations out of a list of a thousand and putting them in again would leave
 * it as it is. */
static bool comes_back(const struct wants *w, const struct azure_nsg_rule *r,
                       const struct str_set *destinations)
{
    for (size_t i = 0; i < w->n; i++) {
        if (str_eq_nocase(w->items[i].name, r->name) &&
            str_set_eq(&w->items[i].destinations, destinations)) {
            return true;
        }
    }
    return false;
}

/* 9.5.  What others need is split off into a rule of its own, for those addresses of this Service
 * that the rule had and another one has: no client is let in where none was. */
static int clean_allow(const struct clean *c, struct azure_nsg_rule *r, struct err *err)
{
    struct arena *a = c->g->a;
    const struct str_set *destinations = &c->p->destinations[c->family];
    struct str_set ports;
    if (!has_any(&r->now.destinations, destinations) || !numeric_ports(a, &r->now.ports, &ports)) {
        return ERR_OK;
    }
    struct str_set keep = common(a, &ports, &c->p->shared.ports[c->protocol]);
    if (keep.n == ports.n || (keep.n == 0 && comes_back(c->wants, r, destinations))) {
        return ERR_OK;
    }
    struct str_set hit = common(a, &r->now.destinations, destinations);
    struct str_set split_off = common(a, &hit, &c->p->shared.addresses);
    r->now.destinations = str_set_minus(a, &r->now.destinations, &hit);
    if (keep.n == 0 || split_off.n == 0) {
        return ERR_OK;
    }
    struct azure_nsg_want split = {
        .protocol = c->protocol,
        .sources = r->now.sources,
        .ports = keep,
        .destinations = split_off,
    };
    int rc = azure_nsg_allow_name(a, &split, c->family, &split.name, err);
    return rc == ERR_OK ? put_rule(c->g, &split, err) : rc;
}

static int compare_rules(const void *x, const void *y)
{
    const struct azure_nsg_rule *const *a = x;
    const struct azure_nsg_rule *const *b = y;
    return strcmp((*a)->name, (*b)->name);
}

/* By name: what is split off gets its priority in an order that does not depend on
 * the document's (18 row 12). */
static int clean_family(const struct clean *c, struct azure_nsg_rule *const *hit, size_t n,
                        struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct azure_nsg_rule *r = hit[i];
        if (!str_eq_nocase(r->now.protocol, azure_protocol_text(c->protocol))) {
            continue;
        }
        int rc = ERR_OK;
        if (str_eq_nocase(r->now.access, DENY)) {
            clean_deny(c, r);
        } else {
            rc = clean_allow(c, r, err);
        }
        if (rc != ERR_OK) {
            return rc;
        }
    }
    return ERR_OK;
}

/* Our rules that hold an address of this Service, by name.  What clean adds to other rules is
 * retained there. */
static struct azure_nsg_rule **hit_rules(const struct azure_nsg *g, const struct azure_nsg_pass *p,
                                         size_t *ret_n)
{
    struct azure_nsg_rule **hit = ARENA_ARRAY(g->a, struct azure_nsg_rule *, g->n);
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct str_set *has = &g->rules[i]->now.destinations;
        if (azure_nsg_is_managed(g->rules[i]) && (has_any(has, &p->destinations[AZURE_IPV4]) ||
                                                  has_any(has, &p->destinations[AZURE_IPV6]))) {
            hit[n++] = g->rules[i];
        }
    }
    if (n > 0) {
        qsort(hit, n, sizeof(struct azure_nsg_rule *), compare_rules);
    }
    *ret_n = n;
    return hit;
}

static int clean(struct azure_nsg *g, const struct azure_nsg_pass *p, const struct wants *wants,
                 struct err *err)
{
    struct clean c = {.g = g, .p = p, .wants = wants};
    size_t n;
    struct azure_nsg_rule **hit = hit_rules(g, p, &n);
    for (int protocol = 0; protocol < AZURE_PROTOCOLS; protocol++) {
        for (int f = 0; f < AZURE_FAMILIES; f++) {
            c.protocol = (enum azure_protocol)protocol;
            c.family = (enum azure_family)f;
            int rc = p->destinations[f].n > 0 ? clean_family(&c, hit, n, err) : ERR_OK;
            if (rc != ERR_OK) {
                return rc;
            }
        }
    }
    return ERR_OK;
}

/* ---- patch and retain ------------------------------------------------------------------------ */

static int patch(struct azure_nsg *g, const struct wants *w, struct err *err)
{
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < w->n; i++) {
        rc = put_rule(g, &w->items[i], err);
    }
    return rc;
}

/* Those of `set` that one of the other two has; *set itself when that is all. */
static struct str_set among(struct arena *a, const struct str_set *set, const struct str_set *x,
                            const struct str_set *y)
{
    const char **items = NULL;
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        bool stays = str_set_has(x, set->items[i]) || str_set_has(y, set->items[i]);
        if (!stays && items == NULL) {
            items = arena_memdup(a, set->items, set->n * sizeof *items);
        } else if (stays && items != NULL) {
            items[n] = set->items[i];
        }
        n += stays;
    }
    if (items == NULL) {
        return *set;
    }
    return (struct str_set){.items = n > 0 ? items : NULL, .n = n};
}

/* The rules as they were before this Service, to see what it changed or to take it back. */
struct mark {
    struct azure_nsg_rule *rules; /* heap */
    size_t n;
};

/* All of them may stay, whichever Service's turn it is.  When that was so before this Service,
 * only its own can be others. */
static bool is_settled(const struct azure_nsg_rule *r, const struct azure_nsg_rule *before,
                       const struct azure_nsg_pass *p)
{
    bool was = before != NULL && before->settled != NULL &&
               before->settled == before->now.destinations.items;
    if (was && r->now.destinations.items == before->settled) {
        return true;
    }
    return was ? has_all(&p->allowed, &p->destinations[AZURE_IPV4]) &&
                     has_all(&p->allowed, &p->destinations[AZURE_IPV6])
               : has_all(&p->allowed, &r->now.destinations);
}

static void retain(struct azure_nsg *g, const struct mark *m, const struct azure_nsg_pass *p)
{
    for (size_t i = 0; i < g->n; i++) {
        struct azure_nsg_rule *r = g->rules[i];
        if (!azure_nsg_is_managed(r)) {
            continue;
        }
        if (is_settled(r, i < m->n ? &m->rules[i] : NULL, p)) {
            r->settled = r->now.destinations.items;
            continue;
        }
        size_t before = r->now.destinations.n;
        r->now.destinations = among(g->a, &r->now.destinations, &p->allowed, &p->allowed_now);
        r->stale = r->stale || r->now.destinations.n < before;
    }
}

/* ---- one Service ----------------------------------------------------------------------------- */

/* Less than before is always fine: a group that is too large must be able to shrink. */
static int check_limit(const char *what, size_t before, size_t after, size_t most, struct err *err)
{
    if (after <= most || after <= before) {
        return ERR_OK;
    }
    return err_set(err, ERR_QUOTA,
                   "the security group exceeds the maximum number of %s (%zu > %zu)", what, after,
                   most);
}

static int check_limits(const struct azure_nsg_size *before, const struct azure_nsg *g,
                        struct err *err)
{
    struct azure_nsg_size now = azure_nsg_measure(g);
    int rc = check_limit("rules", before->rules, now.rules, MAX_RULES, err);
    if (rc == ERR_OK) {
        rc = check_limit("source IP addresses", before->sources, now.sources, MAX_SOURCES, err);
    }
    if (rc == ERR_OK) {
        rc = check_limit("destination IP addresses", before->destinations, now.destinations,
                         MAX_DESTINATIONS, err);
    }
    return rc;
}

static struct mark mark_rules(const struct azure_nsg *g)
{
    struct mark m = {.rules = xcalloc(g->n + 1, sizeof *m.rules), .n = g->n};
    for (size_t i = 0; i < g->n; i++) {
        m.rules[i] = *g->rules[i];
    }
    return m;
}

static void take_back(struct azure_nsg *g, const struct mark *m)
{
    for (size_t i = 0; i < m->n; i++) {
        *g->rules[i] = m->rules[i];
    }
    g->n = m->n;
}

static void note_owner(struct azure_nsg *g, const struct mark *m, const char *key)
{
    struct str_set owner = str_set_make(g->a, &key, 1);
    for (size_t i = 0; i < g->n; i++) {
        struct azure_nsg_rule *r = g->rules[i];
        if (i >= m->n || !azure_nsg_body_eq(&r->now, &m->rules[i].now)) {
            r->owners = str_set_union(g->a, &r->owners, &owner);
        }
    }
}

int azure_nsg_apply(struct azure_nsg *g, const struct azure_nsg_pass *p, struct err *err)
{
    struct azure_nsg_size before = azure_nsg_measure(g);
    struct mark m = mark_rules(g);
    struct wants w = {0};
    int rc = p->patch ? azure_nsg_desired(g->a, p->access, p->destinations, &w.items, &w.n, err)
                      : ERR_OK;
    if (rc == ERR_OK && !p->adds_only) {
        rc = clean(g, p, &w, err);
    }
    if (rc == ERR_OK) {
        rc = patch(g, &w, err);
    }
    if (rc == ERR_OK && !p->adds_only) {
        retain(g, &m, p);
    }
    if (rc == ERR_OK) {
        rc = check_limits(&before, g, err);
    }
    if (rc == ERR_OK) {
        note_owner(g, &m, p->access->service->key);
    } else {
        take_back(g, &m);
    }
    free(m.rules);
    return rc;
}

int azure_nsg_try(struct azure_nsg *g, const struct azure_access *x,
                  const bool families[AZURE_FAMILIES], struct err *err)
{
    /* Which address it gets does not matter: it counts once. */
    static const char *const any[AZURE_FAMILIES] = {"192.0.2.0", "2001:db8::"};
    struct azure_nsg_pass p = {.access = x, .patch = true, .adds_only = true};
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        p.destinations[f] = str_set_make(g->a, &any[f], families[f] ? 1 : 0);
    }
    return azure_nsg_apply(g, &p, err);
}
