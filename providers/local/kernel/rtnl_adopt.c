/* SPDX-License-Identifier: Apache-2.0 */
/* rtnl_adopt.c: routes and addresses of an earlier run, which had other numbers (routeProtocol,
 * routeTable), become those of this one.
 *
 * The table of nftables says which numbers they were.  The kernel puts a route in the place of
 * another one in one step. */
#include "providers/local/kernel/real.h"

#include <stdlib.h>

static size_t of_kind(struct arena *a, enum local_route_kind kind, const struct local_route *all,
                      size_t n, struct local_route **ret)
{
    size_t n_some = 0;
    *ret = ARENA_ARRAY(a, struct local_route, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (all[i].kind == kind) {
            (*ret)[n_some++] = all[i];
        }
    }
    return n_some;
}

static int change(struct local_nl *nl, struct arena *a, struct local_rtnl_change c, struct err *err)
{
    c.codes = ARENA_ARRAY(a, int, c.n + 1);
    return c.n == 0 ? ERR_OK : local_rtnl_routes_change(nl, &c, err);
}

static int adopt_routes(struct local_nl *nl, struct arena *a, const struct local_rt_args *old,
                        const struct local_rt_args *now, struct err *err)
{
    struct local_route *all = NULL, *some;
    size_t n = 0;
    int code = local_rtnl_routes(nl, old, a, &all, &n, err);
    if (code == ERR_OK) {
        size_t n_some = of_kind(a, LOCAL_ROUTE_HOLD, all, n, &some);
        const struct local_rtnl_change c = {
            .rt = now, .replace = true, .routes = some, .n = n_some};
        code = old->protocol == now->protocol ? ERR_OK : change(nl, a, c, err);
    }
    size_t n_out = code == ERR_OK ? of_kind(a, LOCAL_ROUTE_EXPORT, all, n, &some) : 0;
    if (code == ERR_OK) {
        const struct local_rtnl_change c = {.rt = now, .replace = true, .routes = some, .n = n_out};
        code = change(nl, a, c, err);
    }
    if (code == ERR_OK && old->table != now->table) {
        const struct local_rtnl_change c = {.rt = old, .del = true, .routes = some, .n = n_out};
        code = change(nl, a, c, err);
    }
    return code;
}

static int adopt_addrs(struct local_nl *nl, struct arena *a, uint8_t old, uint8_t now,
                       struct err *err)
{
    struct local_link_addr *addrs = NULL;
    size_t n = 0;
    int code = local_rtnl_addrs(nl, old, a, &addrs, &n, err);
    for (size_t i = 0; code == ERR_OK && i < n; i++) {
        const struct local_rtnl_addr c = {.link = addrs[i].link,
                                          .addr = addrs[i].net.addr,
                                          .valid_ms = addrs[i].valid_ms,
                                          .protocol = now};
        if (addrs[i].ours) {
            code = local_rtnl_addr_change(nl, &c, err);
        }
    }
    return code;
}

int local_rtnl_adopt(struct local_nl *nl, const struct local_rt_args *old,
                     const struct local_rt_args *now, struct err *err)
{
    struct arena *a = arena_new();
    int code = adopt_routes(nl, a, old, now, err);
    if (code == ERR_OK && old->protocol != now->protocol) {
        code = adopt_addrs(nl, a, old->protocol, now->protocol, err);
    }
    arena_free(a);
    return code;
}
