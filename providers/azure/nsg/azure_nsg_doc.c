/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_doc.c: the rules of one security group, read and written (azure_nsg_doc.h).  Pure. */
#include "providers/azure/nsg/azure_nsg_doc.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"

#define MANAGED_PREFIX "k8s-azure-lb"

/* The pairs of members that mean one set, and where it is kept. */
static const struct set_member {
    const char *one;
    const char *many;
    size_t at;
    bool always_many; /* we write the plural form also for one item */
} set_members[] = {
    {"sourceAddressPrefix", "sourceAddressPrefixes", offsetof(struct azure_nsg_body, sources),
     false},
    {"sourcePortRange", "sourcePortRanges", offsetof(struct azure_nsg_body, source_ports), false},
    {"destinationAddressPrefix", "destinationAddressPrefixes",
     offsetof(struct azure_nsg_body, destinations), false},
    {"destinationPortRange", "destinationPortRanges", offsetof(struct azure_nsg_body, ports), true},
};

static struct str_set *set_at(struct azure_nsg_body *b, size_t at)
{
    return (struct str_set *)((char *)b + at);
}

static const struct str_set *set_of(const struct azure_nsg_body *b, size_t at)
{
    return (const struct str_set *)((const char *)b + at);
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct str_set read_set(struct arena *a, struct json_object *props,
                               const struct set_member *m)
{
    struct json_object *many = json_member(props, m->many);
    const char *one = json_str(props, m->one);
    const char **items = ARENA_ARRAY(a, const char *, json_len(many) + 1);
    size_t n = 0;
    if (!str_is_empty(one)) {
        items[n++] = one;
    }
    for (size_t i = 0; i < json_len(many); i++) {
        struct json_object *item = json_object_array_get_idx(many, i);
        if (json_object_is_type(item, json_type_string)) {
            items[n++] = json_object_get_string(item);
        }
    }
    return str_set_dup(a, items, n);
}

static struct str_set read_groups(struct arena *a, struct json_object *props, const char *name)
{
    struct json_object *groups = json_member(props, name);
    const char **ids = ARENA_ARRAY(a, const char *, json_len(groups));
    for (size_t i = 0; i < json_len(groups); i++) {
        ids[i] = str_nonnull(json_str(json_object_array_get_idx(groups, i), "id"));
    }
    return str_set_dup(a, ids, json_len(groups));
}

static const char *read_text(struct arena *a, struct json_object *props, const char *name)
{
    return arena_strdup(a, str_nonnull(json_str(props, name)));
}

static struct azure_nsg_body read_body(struct arena *a, struct json_object *props)
{
    struct azure_nsg_body b = {
        .priority = json_int(props, "priority", 0),
        .protocol = read_text(a, props, "protocol"),
        .access = read_text(a, props, "access"),
        .direction = read_text(a, props, "direction"),
        .source_groups = read_groups(a, props, "sourceApplicationSecurityGroups"),
        .destination_groups = read_groups(a, props, "destinationApplicationSecurityGroups"),
    };
    for (size_t i = 0; i < ARRAY_LEN(set_members); i++) {
        *set_at(&b, set_members[i].at) = read_set(a, props, &set_members[i]);
    }
    return b;
}

struct azure_nsg_rule *azure_nsg_append(struct azure_nsg *g, const char *name)
{
    if (g->n == g->cap) {
        size_t cap = g->cap * 2 + 16;
        struct azure_nsg_rule **more = ARENA_ARRAY(g->a, struct azure_nsg_rule *, cap);
        if (g->n > 0) {
            memcpy(more, g->rules, g->n * sizeof *more);
        }
        g->rules = more;
        g->cap = cap;
    }
    struct azure_nsg_rule *r = ARENA_NEW(g->a, struct azure_nsg_rule);
    *r = (struct azure_nsg_rule){
        .name = arena_strdup(g->a, name),
        .now = {.protocol = "", .access = "", .direction = ""},
        .was = {.protocol = "", .access = "", .direction = ""},
    };
    g->rules[g->n++] = r;
    return r;
}

int azure_nsg_read(struct arena *a, struct json_object *rules, struct azure_nsg *ret,
                   struct err *err)
{
    if (!json_object_is_type(rules, json_type_array)) {
        return err_set(err, ERR_TRANSIENT, "the security group came without its rules");
    }
    struct azure_nsg g = {.a = a, .doc = rules};
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *o = json_object_array_get_idx(rules, i);
        struct json_object *props = json_member(o, "properties"); /* as it is, object or not */
        if (!json_object_is_type(o, json_type_object) ||
            (props != NULL && !json_object_is_type(props, json_type_object))) {
            return err_set(err, ERR_TRANSIENT,
                           "securityRules[%zu] of the security group is no rule", i);
        }
        struct azure_nsg_rule *r = azure_nsg_append(&g, azure_doc_name(o));
        r->json = o;
        r->now = read_body(a, props);
        r->was = r->now;
    }
    *ret = g;
    return ERR_OK;
}

/* ---- looking --------------------------------------------------------------------------------- */

bool azure_nsg_is_managed(const struct azure_nsg_rule *r)
{
    return str_has_prefix(r->name, MANAGED_PREFIX) && r->now.priority >= AZURE_NSG_PRIORITY_MIN &&
           r->now.priority <= AZURE_NSG_PRIORITY_MAX;
}

bool azure_nsg_is_empty(const struct azure_nsg_rule *r)
{
    return r->dropped || (azure_nsg_is_managed(r) && r->now.destinations.n == 0 &&
                          r->now.destination_groups.n == 0);
}

struct azure_nsg_rule *azure_nsg_find(const struct azure_nsg *g, const char *name)
{
    for (size_t i = 0; i < g->n; i++) {
        if (str_eq_nocase(g->rules[i]->name, name)) {
            return g->rules[i];
        }
    }
    return NULL;
}

bool azure_nsg_body_eq(const struct azure_nsg_body *x, const struct azure_nsg_body *y)
{
    for (size_t i = 0; i < ARRAY_LEN(set_members); i++) {
        const struct str_set *in_x = set_of(x, set_members[i].at);
        const struct str_set *in_y = set_of(y, set_members[i].at);
        bool same = in_x->items == in_y->items && in_x->n == in_y->n;
        if (!same && !str_set_eq(in_x, in_y)) {
            return false;
        }
    }
    return x->priority == y->priority && str_eq_nocase(x->protocol, y->protocol) &&
           str_eq_nocase(x->access, y->access) && str_eq_nocase(x->direction, y->direction);
}

struct azure_nsg_size azure_nsg_measure(const struct azure_nsg *g)
{
    struct azure_nsg_size size = {0};
    for (size_t i = 0; i < g->n; i++) {
        if (!azure_nsg_is_empty(g->rules[i])) {
            size.rules++;
            size.sources += g->rules[i]->now.sources.n;
            size.destinations += g->rules[i]->now.destinations.n;
        }
    }
    return size;
}

static bool rule_changed(const struct azure_nsg_rule *r)
{
    bool left_out = azure_nsg_is_empty(r);
    if (r->json == NULL) {
        return !left_out;
    }
    return left_out || !azure_nsg_body_eq(&r->now, &r->was);
}

bool azure_nsg_changed(const struct azure_nsg *g)
{
    for (size_t i = 0; i < g->n; i++) {
        if (rule_changed(g->rules[i])) {
            return true;
        }
    }
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_text(struct json_object *props, const char *name, const char *was,
                       const char *now)
{
    if (!str_eq_nocase(was, now)) {
        json_object_object_del(props, name);
        json_add_str(props, name, now);
    }
}

/* Azure refuses a rule that has both members of a pair. */
static void write_set(struct json_object *props, const struct set_member *m,
                      const struct str_set *was, const struct str_set *now)
{
    if (str_set_eq(was, now)) {
        return;
    }
    json_object_object_del(props, m->one);
    json_object_object_del(props, m->many);
    bool star = now->n == 1 && str_eq(now->items[0], "*");
    if (now->n == 1 && (star || !m->always_many)) {
        json_add_str(props, m->one, now->items[0]);
    } else if (now->n > 0) {
        json_add(props, m->many, json_strs(now->items, now->n));
    }
}

/* A new reference: what was read when the rule is as it was. */
static struct json_object *write_rule(const struct azure_nsg_rule *r)
{
    if (r->json != NULL && azure_nsg_body_eq(&r->now, &r->was)) {
        return json_object_get(r->json);
    }
    struct json_object *o = r->json != NULL ? json_copy(r->json) : json_object_new_object();
    if (r->json == NULL) {
        json_add_str(o, "name", r->name);
    }
    struct json_object *props = azure_props_make(o);
    write_text(props, "protocol", r->was.protocol, r->now.protocol);
    write_text(props, "access", r->was.access, r->now.access);
    write_text(props, "direction", r->was.direction, r->now.direction);
    if (r->was.priority != r->now.priority) {
        json_object_object_del(props, "priority");
        json_add_int(props, "priority", r->now.priority);
    }
    for (size_t i = 0; i < ARRAY_LEN(set_members); i++) {
        const struct set_member *m = &set_members[i];
        write_set(props, m, set_of(&r->was, m->at), set_of(&r->now, m->at));
    }
    return o;
}

struct json_object *azure_nsg_write(const struct azure_nsg *g)
{
    if (!azure_nsg_changed(g)) {
        return g->doc;
    }
    struct json_object *array = azure_own(g->a, json_object_new_array());
    for (size_t i = 0; i < g->n; i++) {
        if (!azure_nsg_is_empty(g->rules[i])) {
            json_object_array_add(array, write_rule(g->rules[i]));
        }
    }
    return array;
}

void azure_nsg_rule_fields(struct lb_diff *d, const struct azure_nsg_rule *r)
{
    if (r->json == NULL) {
        (void)lb_diff_text(d, "priority", NULL,
                           arena_printf(d->a, "%lld", (long long)r->now.priority));
    } else {
        (void)lb_diff_int(d, "priority", r->was.priority, r->now.priority);
    }
    (void)lb_diff_text(d, "access", r->was.access, r->now.access);
    (void)lb_diff_text(d, "direction", r->was.direction, r->now.direction);
    (void)lb_diff_text(d, "protocol", r->was.protocol, r->now.protocol);
    for (size_t i = 0; i < ARRAY_LEN(set_members); i++) {
        const struct set_member *m = &set_members[i];
        (void)lb_diff_set(d, m->many, set_of(&r->was, m->at), set_of(&r->now, m->at));
    }
}
