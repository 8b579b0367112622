/* SPDX-License-Identifier: Apache-2.0 */
/* rtnl.c: links, addresses and routes over rtnetlink.
 *
 * Routes and addresses of ours have our protocol number; others are never touched.  A hold is a
 * route of type local in the table local, as the kernel makes one for each address; an export is a
 * blackhole in a table that routing daemons read. */
#include "providers/local/kernel/real.h"

#include <net/if.h>
#include <netinet/in.h>

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

static int refused(struct err *err, int error, const char *what)
{
    if (error == EPERM || error == EACCES) {
        return err_set(err, ERR_AUTH,
                       "not allowed to change addresses and routes: CAP_NET_ADMIN is needed");
    }
    return err_set(err, local_nl_code(error), "%s: %s", what, strerror(error));
}

/* An address of IPv6 is refused with EACCES where the sysctl says so, and with others where
 * the kernel has none. */
static bool no_ipv6(struct err *err, int error, int link, const struct ip_addr *addr)
{
    char text[IP_TEXT_MAX], name[IF_NAMESIZE] = "";
    if (addr->len != 16 || (error != EACCES && error != EOPNOTSUPP && error != EAFNOSUPPORT)) {
        return false;
    }
    ip_format(addr, text);
    (void)if_indextoname((unsigned)link, name); /* the sentence is fine without */
    (void)err_set(err, ERR_TRANSIENT,
                  "%s: IPv6 is off on %s (sysctl -w net.ipv6.conf.%s.disable_ipv6=0; a kernel "
                  "without IPv6 was started with ipv6.disable=1)",
                  text, name, name);
    return true;
}

/* Sends one request that lists something, and hands each message to `each`. */
static int list(struct local_nl *nl, struct local_nl_buf *b,
                void (*each)(void *arg, const struct nlmsghdr *m), void *arg, struct err *err)
{
    struct local_nl_hear hear = {.message = each, .arg = arg};
    int error = 0;
    local_nl_end(b);
    int code = local_nl_ask(nl, b, &hear, &error, err);
    local_nl_buf_done(b);
    if (code == ERR_OK && error != 0 && error != ENOENT) { /* ENOENT: no such routing table yet */
        code = refused(err, error, "list");
    }
    return code;
}

/* A growing array in an arena. */
static void *grow(struct arena *a, void *items, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0 || (n != 0 && n < 8)) {
        return items;
    }
    void *more = arena_calloc(a, n < 8 ? 8 : 2 * n, size);
    if (n > 0) {
        memcpy(more, items, n * size);
    }
    return more;
}

static bool read_addr(const struct nlattr *a, struct ip_addr *ret)
{
    size_t n = a == NULL ? 0 : mnl_attr_get_payload_len(a);
    if (n != 4 && n != 16) {
        return false;
    }
    *ret = (struct ip_addr){.len = (uint8_t)n};
    memcpy(ret->bytes, mnl_attr_get_payload(a), n);
    return true;
}

static uint8_t family_of(const struct ip_addr *a)
{
    return a->len == 16 ? AF_INET6 : AF_INET;
}

/* --- links ------------------------------------------------------------------------------------ */

struct links {
    struct arena *a;
    struct local_link *items;
    size_t n;
};

/* Of a port of a bridge; other masters (bonds, teams) are not checked. */
static void read_port(const struct local_nl_attrs *link_at, struct local_link *ret)
{
    struct local_nl_attrs info, port;
    local_nl_parse_nest(link_at->at[IFLA_LINKINFO], &info);
    if (!local_nl_text_is(info.at[IFLA_INFO_SLAVE_KIND], "bridge")) {
        return;
    }
    local_nl_parse_nest(info.at[IFLA_INFO_SLAVE_DATA], &port);
    ret->bridge = (int)local_nl_u32(link_at->at[IFLA_MASTER]);
    ret->hairpin = local_nl_u8(port.at[IFLA_BRPORT_MODE]) != 0;
}

static void keep_link(void *arg, const struct nlmsghdr *m)
{
    struct links *l = arg;
    const struct ifinfomsg *i = mnl_nlmsg_get_payload(m);
    struct local_nl_attrs at;
    if (m->nlmsg_type != RTM_NEWLINK) {
        return;
    }
    local_nl_parse(m, sizeof(*i), &at);
    const struct nlattr *mac = at.at[IFLA_ADDRESS], *name = at.at[IFLA_IFNAME];
    struct local_link link = {
        .index = i->ifi_index,
        .name = name == NULL ? ""
                             : arena_strndup(l->a, mnl_attr_get_payload(name),
                                             mnl_attr_get_payload_len(name)),
        .up = (i->ifi_flags & IFF_UP) != 0 && (i->ifi_flags & IFF_LOWER_UP) != 0,
        .loopback = (i->ifi_flags & IFF_LOOPBACK) != 0,
        .mtu = local_nl_u32(at.at[IFLA_MTU]),
    };
    if (i->ifi_type == ARPHRD_ETHER && mac != NULL &&
        mnl_attr_get_payload_len(mac) == sizeof(link.mac)) {
        link.ethernet = (i->ifi_flags & IFF_NOARP) == 0;
        memcpy(link.mac, mnl_attr_get_payload(mac), sizeof(link.mac));
    }
    read_port(&at, &link);
    l->items = grow(l->a, l->items, l->n, sizeof(link));
    l->items[l->n++] = link;
}

int local_rtnl_links(struct local_nl *nl, struct arena *a, struct local_link **ret, size_t *ret_n,
                     struct err *err)
{
    struct local_nl_buf b = {0};
    struct links l = {.a = a};
    struct nlmsghdr *m = local_nl_begin(nl, &b, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
    mnl_attr_put_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS); /* half of what a link costs */
    int code = list(nl, &b, keep_link, &l, err);
    if (code == ERR_OK) {
        *ret = l.items;
        *ret_n = l.n;
    }
    return code;
}

/* --- addresses -------------------------------------------------------------------------------- */

struct addrs {
    struct arena *a;
    struct local_link_addr *items;
    size_t n;
    uint8_t protocol;
};

static void keep_addr(void *arg, const struct nlmsghdr *m)
{
    struct addrs *l = arg;
    const struct ifaddrmsg *i = mnl_nlmsg_get_payload(m);
    struct local_nl_attrs at;
    struct local_link_addr addr = {.valid_ms = -1};
    if (m->nlmsg_type != RTM_NEWADDR) {
        return;
    }
    local_nl_parse(m, sizeof(*i), &at);
    if (!read_addr(at.at[IFA_LOCAL] != NULL ? at.at[IFA_LOCAL] : at.at[IFA_ADDRESS],
                   &addr.net.addr)) {
        return;
    }
    addr.link = (int)i->ifa_index;
    addr.net.prefix = i->ifa_prefixlen;
    addr.ours = at.at[IFA_PROTO] != NULL && local_nl_u8(at.at[IFA_PROTO]) == l->protocol;
    const struct nlattr *life = at.at[IFA_CACHEINFO];
    if (life != NULL && mnl_attr_get_payload_len(life) >= sizeof(struct ifa_cacheinfo)) {
        const struct ifa_cacheinfo *c = mnl_attr_get_payload(life);
        addr.valid_ms = c->ifa_valid == UINT32_MAX ? -1 : (int64_t)c->ifa_valid * 1000;
    }
    l->items = grow(l->a, l->items, l->n, sizeof(addr));
    l->items[l->n++] = addr;
}

int local_rtnl_addrs(struct local_nl *nl, uint8_t protocol, struct arena *a,
                     struct local_link_addr **ret, size_t *ret_n, struct err *err)
{
    struct local_nl_buf b = {0};
    struct addrs l = {.a = a, .protocol = protocol};
    local_nl_begin(nl, &b, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
    int code = list(nl, &b, keep_addr, &l, err);
    if (code == ERR_OK) {
        *ret = l.items;
        *ret_n = l.n;
    }
    return code;
}

/* Whole seconds, rounded down so that the kernel never keeps an address for longer than
 * asked; at least one. */
static uint32_t seconds(int64_t ms)
{
    if (ms < 0) {
        return UINT32_MAX;
    }
    return ms < 1000 ? 1 : (uint32_t)(ms / 1000);
}

static void put_addr_message(struct local_nl *nl, struct local_nl_buf *b,
                             const struct local_rtnl_addr *c)
{
    uint16_t how = c->del ? 0 : NLM_F_CREATE | NLM_F_REPLACE;
    bool v6 = c->addr.len == 16;
    struct nlmsghdr *m = local_nl_begin(nl, b, c->del ? RTM_DELADDR : RTM_NEWADDR,
                                        (uint16_t)(how | NLM_F_ACK), sizeof(struct ifaddrmsg));
    struct ifaddrmsg *i = mnl_nlmsg_get_payload(m);
    i->ifa_family = family_of(&c->addr);
    i->ifa_prefixlen = (uint8_t)(8 * c->addr.len);
    i->ifa_index = (uint32_t)c->link;
    mnl_attr_put(m, IFA_LOCAL, c->addr.len, c->addr.bytes);
    mnl_attr_put(m, IFA_ADDRESS, c->addr.len, c->addr.bytes);
    if (!c->del) {
        /* A preferred lifetime of 0: the kernel never chooses the address as a source by itself. */
        struct ifa_cacheinfo life = {.ifa_valid = seconds(c->valid_ms)};
        life.ifa_prefered = v6 ? 0 : life.ifa_valid;
        mnl_attr_put(m, IFA_CACHEINFO, sizeof(life), &life);
        mnl_attr_put_u8(m, IFA_PROTO, c->protocol);
        mnl_attr_put_u32(m, IFA_FLAGS, IFA_F_NOPREFIXROUTE | (v6 ? IFA_F_NODAD : 0));
    }
    local_nl_end(b);
}

int local_rtnl_addr_change(struct local_nl *nl, const struct local_rtnl_addr *c, struct err *err)
{
    struct local_nl_buf b = {0};
    int error = 0;
    char text[IP_TEXT_MAX];
    put_addr_message(nl, &b, c);
    int code = local_nl_ask(nl, &b, NULL, &error, err);
    local_nl_buf_done(&b);
    if (code != ERR_OK || error == 0 || (c->del && error == EADDRNOTAVAIL)) {
        return code;
    }
    ip_format(&c->addr, text);
    return no_ipv6(err, error, c->link, &c->addr) ? ERR_TRANSIENT : refused(err, error, text);
}

/* --- neighbours ------------------------------------------------------------------------------- */

struct neighbours {
    struct arena *a;
    struct local_neighbour *items;
    size_t n;
};

static void keep_neighbour(void *arg, const struct nlmsghdr *m)
{
    struct neighbours *l = arg;
    struct local_nl_attrs at;
    struct local_neighbour one;
    if (m->nlmsg_type != RTM_NEWNEIGH) {
        return;
    }
    local_nl_parse(m, sizeof(struct ndmsg), &at);
    const struct nlattr *mac = at.at[NDA_LLADDR];
    if (!read_addr(at.at[NDA_DST], &one.addr) || mac == NULL ||
        mnl_attr_get_payload_len(mac) != sizeof(one.mac)) {
        return;
    }
    memcpy(one.mac, mnl_attr_get_payload(mac), sizeof(one.mac));
    l->items = grow(l->a, l->items, l->n, sizeof(one));
    l->items[l->n++] = one;
}

int local_rtnl_neighbours(struct local_nl *nl, struct arena *a, struct local_neighbour **ret,
                          size_t *ret_n, struct err *err)
{
    struct local_nl_buf b = {0};
    struct neighbours l = {.a = a};
    local_nl_begin(nl, &b, RTM_GETNEIGH, NLM_F_DUMP, sizeof(struct ndmsg));
    int code = list(nl, &b, keep_neighbour, &l, err);
    if (code == ERR_OK) {
        *ret = l.items;
        *ret_n = l.n;
    }
    return code;
}

struct addr_part {
    const struct local_held_addr *items;
    size_t from, n;
    uint32_t first_seq;
    int *codes; /* errnos at first */
};

static void keep_addr_error(void *arg, const struct local_nl_ack *a)
{
    struct addr_part *p = arg;
    size_t i = p->from + (a->seq - p->first_seq);
    if (i < p->n) {
        p->codes[i] = a->error;
    }
}

static int send_addr_part(struct local_nl *nl, struct addr_part *p,
                          const struct local_rtnl_addr *how, size_t to, struct err *err)
{
    struct local_nl_buf b = {0};
    struct local_nl_hear hear = {.ack = keep_addr_error, .arg = p};
    for (size_t i = p->from; i < to; i++) {
        struct local_rtnl_addr c = *how;
        c.link = p->items[i].link;
        c.addr = p->items[i].addr;
        put_addr_message(nl, &b, &c);
    }
    p->first_seq = b.first_seq;
    int code = local_nl_talk(nl, &b, b.first_seq + b.n - 1, &hear, err);
    local_nl_buf_done(&b);
    return code;
}

int local_rtnl_addrs_change(struct local_nl *nl, const struct local_held_addr *items, size_t n,
                            const struct local_rtnl_addr *how, int *codes, struct err *err)
{
    struct addr_part p = {.items = items, .n = n, .codes = codes};
    int first = ERR_OK;
    memset(codes, 0, n * sizeof(*codes));
    while (p.from < n && first == ERR_OK) {
        size_t to = n - p.from > LOCAL_NL_IN_FLIGHT ? p.from + LOCAL_NL_IN_FLIGHT : n;
        first = send_addr_part(nl, &p, how, to, err);
        p.from = to;
    }
    bool talked = first == ERR_OK;
    for (size_t i = 0; i < n; i++) {
        int error = codes[i];
        bool gone = how->del && (error == EADDRNOTAVAIL || error == ENODEV);
        codes[i] = !talked ? first : error == 0 || gone ? ERR_OK : local_nl_code(error);
        if (codes[i] != ERR_OK && first == ERR_OK) {
            char text[IP_TEXT_MAX];
            ip_format(&items[i].addr, text);
            bool off = no_ipv6(err, error, items[i].link, &items[i].addr);
            first = off ? ERR_TRANSIENT : refused(err, error, text);
            codes[i] = first;
        }
    }
    return first;
}

/* --- routes ----------------------------------------------------------------------------------- */

struct routes {
    struct arena *a;
    const struct local_rt_args *rt;
    enum local_route_kind kind;
    struct local_route *items;
    size_t n;
};

static uint32_t table_of(const struct local_rt_args *rt, enum local_route_kind kind)
{
    return kind == LOCAL_ROUTE_HOLD ? RT_TABLE_LOCAL : rt->table;
}

static uint8_t type_of(enum local_route_kind kind)
{
    return kind == LOCAL_ROUTE_HOLD ? RTN_LOCAL : RTN_BLACKHOLE;
}

static void keep_route(void *arg, const struct nlmsghdr *m)
{
    struct routes *l = arg;
    const struct rtmsg *i = mnl_nlmsg_get_payload(m);
    struct local_nl_attrs at;
    struct local_route r = {.kind = l->kind};
    if (m->nlmsg_type != RTM_NEWROUTE || i->rtm_protocol != l->rt->protocol ||
        i->rtm_type != type_of(l->kind)) {
        return;
    }
    local_nl_parse(m, sizeof(*i), &at);
    uint32_t table = at.at[RTA_TABLE] != NULL ? local_nl_u32(at.at[RTA_TABLE]) : i->rtm_table;
    if (table != table_of(l->rt, l->kind) || !read_addr(at.at[RTA_DST], &r.addr) ||
        i->rtm_dst_len != 8 * r.addr.len) {
        return;
    }
    l->items = grow(l->a, l->items, l->n, sizeof(r));
    l->items[l->n++] = r;
}

/* A socket with strict checks lists only routes with the table, type and protocol
 * of the request. */
static int list_routes(struct local_nl *nl, struct routes *l, uint8_t family, struct err *err)
{
    struct local_nl_buf b = {0};
    struct nlmsghdr *m = local_nl_begin(nl, &b, RTM_GETROUTE, NLM_F_DUMP, sizeof(struct rtmsg));
    struct rtmsg *i = mnl_nlmsg_get_payload(m);
    i->rtm_family = family;
    i->rtm_protocol = l->rt->protocol;
    i->rtm_type = type_of(l->kind);
    mnl_attr_put_u32(m, RTA_TABLE, table_of(l->rt, l->kind));
    return list(nl, &b, keep_route, l, err);
}

int local_rtnl_routes(struct local_nl *nl, const struct local_rt_args *rt, struct arena *a,
                      struct local_route **ret, size_t *ret_n, struct err *err)
{
    static const uint8_t families[] = {AF_INET, AF_INET6};
    struct routes l = {.a = a, .rt = rt};
    int code = ERR_OK;
    for (unsigned i = 0; i < 4 && code == ERR_OK; i++) {
        l.kind = i < 2 ? LOCAL_ROUTE_HOLD : LOCAL_ROUTE_EXPORT;
        code = list_routes(nl, &l, families[i % 2], err);
    }
    if (code == ERR_OK) {
        *ret = l.items;
        *ret_n = l.n;
    }
    return code;
}

static void put_route(struct local_nl *nl, struct local_nl_buf *b,
                      const struct local_rtnl_change *c, const struct local_route *r)
{
    uint16_t how = c->del       ? 0
                   : c->replace ? NLM_F_CREATE | NLM_F_REPLACE
                                : NLM_F_CREATE | NLM_F_EXCL;
    struct nlmsghdr *m = local_nl_begin(nl, b, c->del ? RTM_DELROUTE : RTM_NEWROUTE,
                                        (uint16_t)(how | NLM_F_ACK), sizeof(struct rtmsg));
    struct rtmsg *i = mnl_nlmsg_get_payload(m);
    uint32_t loopback = 1; /* the index of lo in every network namespace */
    i->rtm_family = family_of(&r->addr);
    i->rtm_dst_len = (uint8_t)(8 * r->addr.len);
    i->rtm_protocol = c->rt->protocol;
    i->rtm_type = type_of(r->kind);
    i->rtm_scope = r->kind == LOCAL_ROUTE_HOLD ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
    mnl_attr_put_u32(m, RTA_TABLE, table_of(c->rt, r->kind));
    mnl_attr_put(m, RTA_DST, r->addr.len, r->addr.bytes);
    if (r->kind == LOCAL_ROUTE_HOLD) {
        mnl_attr_put_u32(m, RTA_OIF, loopback);
    }
    local_nl_end(b);
}

struct part {
    const struct local_rtnl_change *c;
    uint32_t first_seq;
    size_t from;
    int *errors; /* of all routes */
};

static void keep_error(void *arg, const struct local_nl_ack *a)
{
    struct part *p = arg;
    size_t i = p->from + (a->seq - p->first_seq);
    if (i < p->c->n) {
        p->errors[i] = a->error;
    }
}

static int send_part(struct local_nl *nl, struct part *p, size_t to, struct err *err)
{
    struct local_nl_buf b = {0};
    struct local_nl_hear hear = {.ack = keep_error, .arg = p};
    for (size_t i = p->from; i < to; i++) {
        put_route(nl, &b, p->c, &p->c->routes[i]);
    }
    p->first_seq = b.first_seq;
    int code = local_nl_talk(nl, &b, b.first_seq + b.n - 1, &hear, err);
    local_nl_buf_done(&b);
    return code;
}

static int route_cmp(const void *a, const void *b)
{
    const struct local_route *x = a, *y = b;
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    int diff = (int)x->addr.len - (int)y->addr.len;
    return diff != 0 ? diff : memcmp(x->addr.bytes, y->addr.bytes, x->addr.len);
}

/* All routes of ours, sorted. */
static int list_ours(struct local_nl *nl, const struct local_rt_args *rt, struct arena *a,
                     struct routes *ret, struct err *err)
{
    int code = local_rtnl_routes(nl, rt, a, &ret->items, &ret->n, err);
    if (code == ERR_OK && ret->n > 0) {
        qsort(ret->items, ret->n, sizeof(*ret->items), route_cmp);
    }
    return code;
}

static bool is_listed(const struct routes *l, const struct local_route *r)
{
    return l->n > 0 && bsearch(r, l->items, l->n, sizeof(*r), route_cmp) != NULL;
}

/* Turns errnos into codes; EEXIST is fine where the route is ours. */
static int judge(struct local_nl *nl, const struct local_rtnl_change *c, int *errors,
                 struct err *err)
{
    struct routes ours = {0};
    bool listed = false;
    int first = ERR_OK;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < c->n; i++) {
        bool gone = c->del && (errors[i] == ESRCH || errors[i] == ENOENT);
        c->codes[i] = errors[i] == 0 || gone ? ERR_OK : local_nl_code(errors[i]);
        if (!c->del && errors[i] == EEXIST) {
            int code = listed ? ERR_OK : list_ours(nl, c->rt, a, &ours, err);
            if (code != ERR_OK) {
                return code;
            }
            listed = true;
            c->codes[i] = is_listed(&ours, &c->routes[i]) ? ERR_OK : ERR_IN_USE;
        }
        if (c->codes[i] != ERR_OK && first == ERR_OK) {
            char text[IP_TEXT_MAX];
            first = c->codes[i];
            ip_format(&c->routes[i].addr, text);
            if (errors[i] == EEXIST) {
                err_set(err, first, "%s: another program has a route for it", text);
            } else {
                (void)refused(err, errors[i], text); /* the code is known */
            }
        }
    }
    return first;
}

int local_rtnl_routes_change(struct local_nl *nl, const struct local_rtnl_change *c,
                             struct err *err)
{
    int *errors = xcalloc(c->n + 1, sizeof(*errors));
    int code = ERR_OK;
    struct part p = {.c = c, .errors = errors};
    while (p.from < c->n && code == ERR_OK) {
        size_t to = c->n - p.from > LOCAL_NL_IN_FLIGHT ? p.from + LOCAL_NL_IN_FLIGHT : c->n;
        code = send_part(nl, &p, to, err);
        p.from = to;
    }
    if (code == ERR_OK) {
        code = judge(nl, c, errors, err);
    } else {
        for (size_t i = 0; i < c->n; i++) {
            c->codes[i] = code;
        }
    }
    free(errors);
    return code;
}
