/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c: the kernel's state as the provider reads it, for --local-state-dump: JSON, sorted, for
 * support and for comparisons. */
#include "providers/local/provider.h"

#include <stdio.h>

#include "common/data/json.h"

static struct json_object *addr_json(const struct ip_addr *addr)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    return json_object_new_string(text);
}

static struct json_object *nets_json(const struct ip_net *nets, size_t n)
{
    struct json_object *list = json_object_new_array();
    char text[IP_TEXT_MAX];

    for (size_t i = 0; i < n; i++) {
        ip_net_format(&nets[i], text);
        json_object_array_add(list, json_object_new_string(text));
    }
    return list;
}

static struct json_object *slots_json(const struct local_front *f)
{
    struct json_object *list = json_object_new_array();
    char text[IP_TEXT_MAX];
    char where[IP_TEXT_MAX + 10];

    for (unsigned i = 0; i < f->m; i++) {
        ip_format(&f->slots[i].addr, text);
        (void)snprintf(where, sizeof where, f->slots[i].addr.len == 16 ? "[%s]:%u" : "%s:%u", text,
                       f->slots[i].port);
        json_object_array_add(list,
                              f->slots[i].addr.len == 0 ? NULL : json_object_new_string(where));
    }
    return list;
}

static struct json_object *dests_json(const struct local_ipvs_front *f)
{
    struct json_object *list = json_object_new_array();

    for (size_t i = 0; i < f->n_reals; i++) {
        const struct local_ipvs_dest *d = &f->reals[i].dest;
        struct json_object *o = json_object_new_object();
        json_add(o, "address", addr_json(&d->addr));
        json_add(o, "port", json_object_new_int(d->port));
        json_add(o, "weight", json_object_new_int(d->weight));
        json_add(o, "method", json_object_new_int((int)d->method));
        json_add(o, "activeConnections", json_object_new_int64(d->active));
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *front_json(const struct local_front *f)
{
    struct json_object *o = json_object_new_object();
    char text[LOCAL_FRONTEND_TEXT_MAX];

    local_frontend_text(&f->id, text);
    json_add_str(o, "frontend", text);
    const struct ip_net all_clients = {.addr = {.len = f->id.vip.len}};
    json_add(o, "sourceRanges",
             f->all ? nets_json(&all_clients, 1) : nets_json(f->open, f->n_open));
    json_add(o, "snat", json_object_new_boolean(f->snat));
    if (f->m > 0) {
        json_add_str(o, "map", f->hash ? "hash" : "rr");
        json_add(o, "slots", slots_json(f));
    }
    if (f->ipvs.served) {
        json_add_str(o, "scheduler", f->ipvs.service.scheduler);
        json_add(o, "flags", json_object_new_int64(f->ipvs.service.flags));
        json_add(o, "destinations", dests_json(&f->ipvs));
    }
    return o;
}

static void add_address(void *arg, const struct local_mirror_vip *v)
{
    struct json_object *o = json_object_new_object();
    struct json_object *fronts = json_object_new_array();

    json_add(o, "address", addr_json(&v->vip.addr));
    json_add(o, "guarded", json_object_new_boolean(v->vip.guarded));
    if (v->vip.comment != NULL) {
        json_add_str(o, "service", v->vip.comment);
    }
    json_add(o, "held", json_object_new_boolean(v->vip.held));
    json_add(o, "link", json_object_new_int(v->vip.held_on));
    json_add(o, "exported", json_object_new_boolean(v->vip.exported));
    for (size_t i = 0; i < v->n_fronts; i++) {
        json_object_array_add(fronts, front_json(&v->fronts[i]));
    }
    json_add(o, "frontends", fronts);
    json_object_array_add(arg, o);
}

static void add_dest_lists(struct local_provider *p, struct arena *a, struct local_ipvs_list *lists,
                           size_t n)
{
    struct err ignored = ERR_INIT; /* one that went meanwhile is left out */

    for (size_t i = 0; i < n; i++) {
        if (p->kernel->ops->ipvs_read(p->kernel, a, &lists[i], &ignored) == ERR_OK) {
            local_mirror_ipvs(p->mirror, &lists[i], 0);
        }
    }
}

struct serving {
    struct arena *a;
    struct local_ipvs_list *lists; /* NULL: they are counted */
    size_t n;
};

static void note_served(void *arg, const struct local_mirror_vip *v)
{
    struct serving *s = arg;

    for (size_t i = 0; i < v->n_fronts; i++) {
        if (v->fronts[i].ipvs.served) {
            if (s->lists != NULL) {
                s->lists[s->n].service.id = v->fronts[i].id;
            }
            s->n++;
        }
    }
}

static int read_kernel(struct local_provider *p, struct arena *a, struct err *err)
{
    struct local_link_addr *addrs = NULL;
    size_t n_addrs = 0;
    struct serving s = {.a = a};

    int rc = p->kernel->ops->addrs(p->kernel, a, &addrs, &n_addrs, err);
    rc = rc == ERR_OK ? local_read_all(p, a, addrs, n_addrs, err) : rc;
    if (rc == ERR_OK) {
        local_mirror_each(p->mirror, note_served, &s);
        s = (struct serving){.a = a, .lists = ARENA_ARRAY(a, struct local_ipvs_list, s.n + 1)};
        local_mirror_each(p->mirror, note_served, &s);
        add_dest_lists(p, a, s.lists, s.n);
    }
    return rc;
}

int local_state_dump(struct local_provider *p, struct arena *a, const char **ret, struct err *err)
{
    _cleanup_(json_putp) struct json_object *o = json_object_new_object();
    struct json_object *table = json_object_new_object();
    struct json_object *addresses = json_object_new_array();
    size_t n_scope = 0;

    mutex_lock(&p->lock);
    int rc = read_kernel(p, a, err);
    if (rc == ERR_OK) {
        json_add_str(table, "name", p->config->instance);
        json_add(table, "exists", json_object_new_boolean(p->table.exists));
        json_add(table, "layout", json_object_new_int64(p->table.layout));
        json_add(table, "whole", json_object_new_boolean(p->table.exists && !p->table_changed));
        const struct ip_net *scope = local_mirror_scope(p->mirror, &n_scope);
        json_add(o, "scope", nets_json(scope, n_scope));
        local_mirror_each(p->mirror, add_address, addresses);
    }
    mutex_unlock(&p->lock);
    json_add(o, "table", table);
    json_add(o, "addresses", addresses);
    if (rc == ERR_OK) {
        *ret = arena_strdup(a, json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
    }
    return rc;
}
