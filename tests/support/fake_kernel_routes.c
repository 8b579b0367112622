/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel_routes.c: routes of the kernel in memory (fake_kernel.h): ours, those of an earlier
 * run with other numbers, and others'. */
#include "tests/support/fake_kernel.h"

#include "tests/support/fake_kernel_internal.h"
#include "tests/support/fake_kernel_ipvs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY 128

static void route_key(const struct local_route *r, uint32_t table, char key[KEY])
{
    char text[IP_TEXT_MAX];
    ip_format(&r->addr, text);
    snprintf(key, KEY, "%d %u %s", (int)r->kind,
             r->kind == LOCAL_ROUTE_EXPORT ? (unsigned)table : 0, text);
}

static bool is_of(const struct fake_route *r, const struct local_rt_args *rt)
{
    return r->rt.protocol == rt->protocol &&
           (r->route.kind == LOCAL_ROUTE_HOLD || r->rt.table == rt->table);
}

struct routes {
    const struct local_rt_args *rt; /* NULL: of all numbers but others' */
    struct local_route *items;
    size_t n;
};

static bool keep(const char *key, void *value, void *arg)
{
    const struct fake_route *r = value;
    struct routes *l = arg;
    (void)key;
    if (l->rt == NULL ? r->rt.protocol != 0 : is_of(r, l->rt)) {
        l->items[l->n++] = r->route;
    }
    return true;
}

int fake_routes(struct local_kernel *k, struct arena *a, struct local_route **ret, size_t *ret_n,
                struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = fake_kernel_step(k, &f->rtnl_requests, err);
    code = code == ERR_OK ? fake_kernel_done(k, code, err) : code;
    if (code == ERR_OK) {
        struct routes l = {.rt = &f->rt,
                           .items = ARENA_ARRAY(a, struct local_route, map_size(f->routes) + 1)};
        map_each(f->routes, keep, &l);
        *ret = l.items;
        *ret_n = l.n;
    }
    return code;
}

static void add_route(struct fake_kernel *f, const struct local_route *r, struct local_rt_args rt)
{
    char key[KEY];
    struct fake_route *made = xcalloc(1, sizeof(*made));
    *made = (struct fake_route){*r, rt};
    route_key(r, rt.table, key);
    map_set(f->routes, key, made);
}

static int change_route(struct fake_kernel *f, bool del, const struct local_route *r)
{
    char key[KEY];
    route_key(r, f->rt.table, key);
    const struct fake_route *there = map_get(f->routes, key);
    if (del) {
        if (there != NULL && is_of(there, &f->rt)) {
            map_remove(f->routes, key);
            fake_kernel_tell(f, LOCAL_EVENT_HOLD, &r->addr);
        }
        return ERR_OK;
    }
    if (there != NULL) {
        return is_of(there, &f->rt) ? ERR_OK : ERR_IN_USE;
    }
    add_route(f, r, f->rt);
    return ERR_OK;
}

int fake_routes_change(struct local_kernel *k, bool del, const struct local_route *items, size_t n,
                       int *ret_codes, struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = fake_kernel_step(k, &f->rtnl_requests, err);
    for (size_t i = 0; i < n; i++) {
        ret_codes[i] = code;
    }
    if (code != ERR_OK) {
        return code;
    }
    for (size_t i = 0; i < n; i++) {
        ret_codes[i] = change_route(f, del, &items[i]);
        if (ret_codes[i] != ERR_OK && code == ERR_OK) {
            code = err_set(err, ret_codes[i], "another program has a route for it");
        }
    }
    int told = fake_kernel_done(k, code, err);
    for (size_t i = 0; told != code && i < n; i++) {
        ret_codes[i] = told; /* the answers are lost */
    }
    return told;
}

/* --- other numbers ---------------------------------------------------------------------------- */

void fake_kernel_numbers(struct local_kernel *k, const struct local_rt_args *rt)
{
    struct fake_kernel *f = fake(k);
    if (f->rt.protocol != rt->protocol) {
        f->addrs_were = f->rt.protocol;
        for (size_t i = 0; i < f->n_addrs; i++) {
            f->addrs[i].ours = false;
        }
    }
    f->rt = *rt;
}

struct adopting {
    const struct local_rt_args *old;
    struct fake_route *items;
    char (*keys)[KEY];
    size_t n;
};

static bool find_old(const char *key, void *value, void *arg)
{
    struct adopting *x = arg;
    const struct fake_route *r = value;
    if (is_of(r, x->old)) {
        snprintf(x->keys[x->n], KEY, "%s", key);
        x->items[x->n++] = *r;
    }
    return true;
}

int fake_routes_adopt(struct local_kernel *k, const struct local_rt_args *old, struct err *err)
{
    struct fake_kernel *f = fake(k);
    size_t n = map_size(f->routes) + 1;
    int code = fake_kernel_step(k, &f->rtnl_requests, err);
    if (code != ERR_OK) {
        return code;
    }
    struct adopting x = {
        .old = old, .items = xcalloc(n, sizeof(*x.items)), .keys = xcalloc(n, sizeof(*x.keys))};
    map_each(f->routes, find_old, &x);
    for (size_t i = 0; i < x.n; i++) {
        map_remove(f->routes, x.keys[i]);
        add_route(f, &x.items[i].route, f->rt);
    }
    for (size_t i = 0; old->protocol == f->addrs_were && i < f->n_addrs; i++) {
        /* This machine's own ones are in subnets. */
        f->addrs[i].ours = f->addrs[i].net.prefix == 8 * f->addrs[i].net.addr.len;
    }
    free(x.items);
    free(x.keys);
    return fake_kernel_done(k, ERR_OK, err);
}

/* --- others ----------------------------------------------------------------------------------- */

void fake_kernel_foreign_route(struct local_kernel *k, const struct local_route *route)
{
    add_route(fake(k), route, (struct local_rt_args){.table = fake(k)->rt.table});
}

void fake_kernel_foreign_route_gone(struct local_kernel *k, const struct local_route *route)
{
    char key[KEY];
    route_key(route, fake(k)->rt.table, key);
    const struct fake_route *there = map_get(fake(k)->routes, key);
    if (there != NULL && there->rt.protocol == 0) {
        map_remove(fake(k)->routes, key);
        fake(k)->others = true;
        fake_kernel_tell(fake(k), LOCAL_EVENT_FREED, &route->addr);
        fake(k)->others = false;
    }
}

void fake_kernel_holds(const struct local_kernel *k,
                       void (*each)(void *arg, const struct ip_addr *addr,
                                    enum local_route_kind kind, int link),
                       void *arg)
{
    const struct fake_kernel *f = fake(k);
    struct local_route *items = xcalloc(map_size(f->routes) + 1, sizeof(*items));
    struct routes made = {.items = items};
    map_each(f->routes, keep, &made);
    for (size_t i = 0; i < made.n; i++) {
        each(arg, &items[i].addr, items[i].kind, 0);
    }
    for (size_t i = 0; i < f->n_addrs; i++) {
        if (f->addrs[i].ours) {
            each(arg, &f->addrs[i].net.addr, LOCAL_ROUTE_HOLD, f->addrs[i].link);
        }
    }
    free(items);
}
