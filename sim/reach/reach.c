/* SPDX-License-Identifier: Apache-2.0 */
/* reach.c: see reach.h.
 *
 * Collects what the clouds' own files find, and prints it.  Owns the order and the
 * reasons; knows no cloud. */
#include "sim/reach/reach.h"

#include <string.h>

#include "common/base/map.h"
#include "common/base/str.h"

struct target {
    bool healthy;
    struct reach_ranges clients;
};
struct reach_port {
    struct reach *reach;
    bool internal;
    const char *why;
    struct map *targets; /* name → struct target; NULL: none yet */
};
struct reach {
    struct arena *a;
    struct map *addresses; /* address → map of key ("TCP/80") → struct reach_port, arena */
    struct reach_answers *cluster; /* with is_read */
    bool is_read;
};

static void free_map(void *m)
{
    map_free(m);
}

struct map *reach_map(struct arena *a)
{
    struct map *m = map_new(NULL);
    arena_defer(a, free_map, m);
    return m;
}

struct reach *reach_new(struct arena *a)
{
    struct reach *r = ARENA_NEW(a, struct reach);
    r->a = a;
    r->addresses = map_new(free_map);
    arena_defer(a, free_map, r->addresses);
    return r;
}

const struct reach_answers *reach_cluster(struct reach *r, struct json_object *world)
{
    if (!r->is_read) {
        r->cluster = reach_answers_read(r->a, world);
        r->is_read = true;
    }
    return r->cluster;
}

struct arena *reach_arena(struct reach *r)
{
    return r->a;
}

static const char *key_of(struct arena *a, const struct reach_listener *l)
{
    if (l->protocol == NULL) {
        return "*";
    }
    if (l->low == 0) {
        return arena_printf(a, "%s/*", l->protocol);
    }
    return l->high > l->low ? arena_printf(a, "%s/%u-%u", l->protocol, l->low, l->high)
                            : arena_printf(a, "%s/%u", l->protocol, l->low);
}

struct reach_port *reach_listen(struct reach *r, const struct reach_listener *l)
{
    struct map *ports = map_get(r->addresses, l->address);
    if (ports == NULL) {
        ports = map_new(NULL);
        map_set(r->addresses, l->address, ports);
    }
    const char *key = key_of(r->a, l);
    struct reach_port *p = map_get(ports, key);
    if (p == NULL) {
        p = ARENA_NEW(r->a, struct reach_port);
        *p = (struct reach_port){.reach = r, .internal = l->internal, .why = l->why};
        map_set(ports, key, p);
    }
    p->why = l->why != NULL ? p->why : NULL;
    return p;
}

void reach_target(struct reach_port *p, const char *target, bool healthy,
                  struct reach_ranges permitted)
{
    struct arena *a = p->reach->a;
    if (p->targets == NULL) {
        p->targets = reach_map(a);
    }
    struct target *t = map_get(p->targets, target);
    if (t == NULL) {
        t = ARENA_NEW(a, struct target);
        map_set(p->targets, target, t);
    }
    t->healthy = t->healthy || healthy;
    t->clients = reach_ranges_or(a, t->clients, permitted);
}

struct sum {
    struct arena *a;
    struct reach_ranges all;
};

static bool add_clients(const char *name, void *value, void *arg)
{
    const struct target *t = value;
    struct sum *sum = arg;
    (void)name;
    if (!reach_ranges_equal(sum->all, t->clients)) {
        sum->all = reach_ranges_or(sum->a, sum->all, t->clients);
    }
    return true;
}

static struct reach_ranges all_clients(const struct reach_port *p)
{
    struct sum sum = {p->reach->a, REACH_NOBODY};
    if (p->targets != NULL) {
        map_each(p->targets, add_clients, &sum);
    }
    return sum.all;
}

static const char *reason_of(const struct reach_port *p, struct reach_ranges clients)
{
    if (p->why != NULL) {
        return p->why;
    }
    if (p->targets == NULL) {
        return REACH_NO_TARGET;
    }
    return reach_ranges_empty(clients) ? REACH_NO_PERMISSION : NULL;
}

struct listing {
    struct json_object *list;
    struct reach_ranges clients; /* of the port */
};

static bool add_target(const char *name, void *value, void *arg)
{
    const struct target *t = value;
    struct listing *l = arg;
    struct json_object *o = json_object_new_object();
    json_add_str(o, "target", name);
    json_add_bool(o, "healthy", t->healthy);
    if (!reach_ranges_equal(t->clients, l->clients)) {
        json_add(o, "clients", reach_ranges_json(t->clients));
    }
    json_object_array_add(l->list, o);
    return true;
}

static struct json_object *targets_json(const struct reach_port *p, struct reach_ranges clients)
{
    struct listing l = {json_object_new_array(), clients};
    if (p->targets != NULL) {
        map_each(p->targets, add_target, &l);
    }
    return l.list;
}

static bool add_port(const char *key, void *value, void *arg)
{
    const struct reach_port *p = value;
    struct json_object *ports = arg;
    struct reach_ranges clients = p->why == NULL ? all_clients(p) : REACH_NOBODY;
    const char *why = reason_of(p, clients);
    struct json_object *o = json_object_new_object();
    json_add_str(o, "from", p->internal ? "network" : "internet");
    json_add(o, "clients", reach_ranges_json(clients));
    json_add(o, "targets", p->why == NULL ? targets_json(p, clients) : json_object_new_array());
    json_add(o, "why", why != NULL ? json_object_new_string(why) : NULL);
    json_add(ports, key, o);
    return true;
}

static bool add_address(const char *address, void *value, void *arg)
{
    struct json_object *ports = json_object_new_object();
    map_each(value, add_port, ports);
    json_add(arg, address, ports);
    return true;
}

struct json_object *reach_json(struct reach *r)
{
    struct json_object *o = json_object_new_object();
    map_each(r->addresses, add_address, o);
    return o;
}

struct json_object *reach_of_world(struct json_object *world)
{
    struct arena *a = arena_new();
    struct reach *r = reach_new(a);
    reach_gce(r, world);
    reach_azure(r, world);
    reach_aws(r, world);
    struct json_object *document = reach_json(r);
    arena_free(a);
    return document;
}
