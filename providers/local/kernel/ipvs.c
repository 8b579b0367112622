/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs.c: virtual services and their destinations, over the generic netlink family IPVS. */
#include "providers/local/kernel/real.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <stdlib.h>
#include <string.h>

#define ADDR_BYTES 16   /* of the kernel's union of addresses */
#define HASHED     0x2u /* a flag that the kernel sets */
#define IN_FLIGHT                                                                                  \
    128 /* requests that are each acknowledged; more overrun a socket of the usual size */
#define MAX_ALL_BITS (~0u)

/* --- messages --------------------------------------------------------------------------------- */

static struct nlmsghdr *begin(struct local_ipvs *x, struct local_nl_buf *b, uint8_t command,
                              uint16_t flags)
{
    struct nlmsghdr *m = local_nl_begin(&x->nl, b, x->family, flags, sizeof(struct genlmsghdr));
    struct genlmsghdr *g = mnl_nlmsg_get_payload(m);
    g->cmd = command;
    g->version = IPVS_GENL_VERSION;
    return m;
}

static uint16_t family_of(const struct ip_addr *a)
{
    return a->len == 16 ? AF_INET6 : AF_INET;
}

static void put_addr(struct nlmsghdr *m, uint16_t type, const struct ip_addr *a)
{
    uint8_t bytes[ADDR_BYTES] = {0};
    memcpy(bytes, a->bytes, a->len);
    mnl_attr_put(m, type, sizeof(bytes), bytes);
}

static void put_service(struct nlmsghdr *m, const struct local_ipvs_service *s, bool whole)
{
    struct nlattr *nest = mnl_attr_nest_start(m, IPVS_CMD_ATTR_SERVICE);
    mnl_attr_put_u16(m, IPVS_SVC_ATTR_AF, family_of(&s->id.vip));
    mnl_attr_put_u16(m, IPVS_SVC_ATTR_PROTOCOL, s->id.protocol);
    put_addr(m, IPVS_SVC_ATTR_ADDR, &s->id.vip);
    mnl_attr_put_u16(m, IPVS_SVC_ATTR_PORT, htons(s->id.port));
    if (whole) {
        const struct ip_vs_flags flags = {.flags = s->flags, .mask = MAX_ALL_BITS};
        mnl_attr_put_strz(m, IPVS_SVC_ATTR_SCHED_NAME, s->scheduler);
        mnl_attr_put(m, IPVS_SVC_ATTR_FLAGS, sizeof(flags), &flags);
        mnl_attr_put_u32(m, IPVS_SVC_ATTR_TIMEOUT, s->timeout_s);
        mnl_attr_put_u32(m, IPVS_SVC_ATTR_NETMASK, s->id.vip.len == 16 ? 128 : MAX_ALL_BITS);
    }
    mnl_attr_nest_end(m, nest);
}

static uint8_t kernels_tunnel(enum local_tunnel t)
{
    return t == LOCAL_TUNNEL_GUE   ? IP_VS_CONN_F_TUNNEL_TYPE_GUE
           : t == LOCAL_TUNNEL_GRE ? IP_VS_CONN_F_TUNNEL_TYPE_GRE
                                   : IP_VS_CONN_F_TUNNEL_TYPE_IPIP;
}

static void put_dest(struct nlmsghdr *m, const struct local_ipvs_dest *d, bool whole)
{
    struct nlattr *nest = mnl_attr_nest_start(m, IPVS_CMD_ATTR_DEST);
    mnl_attr_put_u16(m, IPVS_DEST_ATTR_ADDR_FAMILY, family_of(&d->addr));
    put_addr(m, IPVS_DEST_ATTR_ADDR, &d->addr);
    mnl_attr_put_u16(m, IPVS_DEST_ATTR_PORT, htons(d->port));
    if (whole) {
        mnl_attr_put_u32(m, IPVS_DEST_ATTR_FWD_METHOD, d->method);
        mnl_attr_put_u32(m, IPVS_DEST_ATTR_WEIGHT, d->weight);
        mnl_attr_put_u32(m, IPVS_DEST_ATTR_U_THRESH, 0);
        mnl_attr_put_u32(m, IPVS_DEST_ATTR_L_THRESH, 0);
    }
    if (whole && d->method == LOCAL_IPVS_TUNNEL) {
        mnl_attr_put_u8(m, IPVS_DEST_ATTR_TUN_TYPE, kernels_tunnel(d->tunnel));
        mnl_attr_put_u16(m, IPVS_DEST_ATTR_TUN_PORT, htons(d->tunnel_port));
        mnl_attr_put_u16(m, IPVS_DEST_ATTR_TUN_FLAGS, IP_VS_TUNNEL_ENCAP_FLAG_NOCSUM);
    }
    mnl_attr_nest_end(m, nest);
}

static void read_addr(const struct nlattr *a, uint8_t len, struct ip_addr *ret)
{
    *ret = (struct ip_addr){.len = len};
    if (a != NULL && mnl_attr_get_payload_len(a) >= len) {
        memcpy(ret->bytes, mnl_attr_get_payload(a), len);
    }
}

static uint16_t read_u16(const struct nlattr *a)
{
    return ntohs(local_nl_be16(a)); /* the kernel's own order */
}

/* False: by firewall mark. */
static bool read_service(const struct nlattr *nest, struct local_ipvs_service *ret)
{
    struct local_nl_attrs at;
    local_nl_parse_nest(nest, &at);
    const struct nlattr *name = at.at[IPVS_SVC_ATTR_SCHED_NAME];
    *ret = (struct local_ipvs_service){.id = {.port = local_nl_be16(at.at[IPVS_SVC_ATTR_PORT])}};
    if (at.at[IPVS_SVC_ATTR_FWMARK] != NULL || at.at[IPVS_SVC_ATTR_ADDR] == NULL) {
        return false;
    }
    uint8_t len = read_u16(at.at[IPVS_SVC_ATTR_AF]) == AF_INET6 ? 16 : 4;
    read_addr(at.at[IPVS_SVC_ATTR_ADDR], len, &ret->id.vip);
    ret->id.protocol = (uint8_t)read_u16(at.at[IPVS_SVC_ATTR_PROTOCOL]);
    if (name != NULL) {
        size_t n = mnl_attr_get_payload_len(name);
        n = n < sizeof(ret->scheduler) ? n : sizeof(ret->scheduler) - 1;
        memcpy(ret->scheduler, mnl_attr_get_payload(name), n);
    }
    ret->flags = local_nl_u32(at.at[IPVS_SVC_ATTR_FLAGS]) & ~HASHED;
    /* The kernel tells its own default time of a service that is not persistent. */
    ret->timeout_s =
        (ret->flags & LOCAL_IPVS_PERSISTENT) != 0 ? local_nl_u32(at.at[IPVS_SVC_ATTR_TIMEOUT]) : 0;
    return true;
}

static void read_dest(const struct nlattr *nest, uint8_t family_len, struct local_ipvs_dest *ret)
{
    struct local_nl_attrs at;
    local_nl_parse_nest(nest, &at);
    uint32_t weight = local_nl_u32(at.at[IPVS_DEST_ATTR_WEIGHT]);
    uint8_t tunnel = local_nl_u8(at.at[IPVS_DEST_ATTR_TUN_TYPE]);
    uint8_t len = family_len;
    if (at.at[IPVS_DEST_ATTR_ADDR_FAMILY] != NULL) {
        len = read_u16(at.at[IPVS_DEST_ATTR_ADDR_FAMILY]) == AF_INET6 ? 16 : 4;
    }
    *ret = (struct local_ipvs_dest){
        .port = local_nl_be16(at.at[IPVS_DEST_ATTR_PORT]),
        .weight = weight > UINT16_MAX ? UINT16_MAX : (uint16_t)weight,
        .method = (enum local_ipvs_method)(local_nl_u32(at.at[IPVS_DEST_ATTR_FWD_METHOD]) &
                                           IP_VS_CONN_F_FWD_MASK),
        .active = local_nl_u32(at.at[IPVS_DEST_ATTR_ACTIVE_CONNS]),
    };
    read_addr(at.at[IPVS_DEST_ATTR_ADDR], len, &ret->addr);
    if (ret->method == LOCAL_IPVS_TUNNEL) {
        ret->tunnel = tunnel == IP_VS_CONN_F_TUNNEL_TYPE_GUE   ? LOCAL_TUNNEL_GUE
                      : tunnel == IP_VS_CONN_F_TUNNEL_TYPE_GRE ? LOCAL_TUNNEL_GRE
                                                               : LOCAL_TUNNEL_IPIP;
        ret->tunnel_port = local_nl_be16(at.at[IPVS_DEST_ATTR_TUN_PORT]);
    }
}

/* --- the family ------------------------------------------------------------------------------- */

static int no_ipvs(struct err *err)
{
    return err_set(err, ERR_INVALID, LOCAL_IPVS_NONE);
}

static void keep_family(void *arg, const struct nlmsghdr *m)
{
    struct local_nl_attrs at;
    local_nl_parse(m, sizeof(struct genlmsghdr), &at);
    *(uint16_t *)arg = read_u16(at.at[CTRL_ATTR_FAMILY_ID]);
}

static int resolve(struct local_ipvs *x, struct err *err)
{
    if (x->family != 0) {
        return ERR_OK;
    }
    int code =
        x->nl.socket != NULL ? ERR_OK : local_nl_open(&x->nl, NETLINK_GENERIC, x->tally, err);
    if (code != ERR_OK) {
        return code == ERR_INVALID ? no_ipvs(err) : code;
    }
    struct local_nl_buf b = {0};
    uint16_t family = 0;
    int error = 0;
    struct local_nl_hear hear = {.message = keep_family, .arg = &family};
    struct nlmsghdr *m =
        local_nl_begin(&x->nl, &b, GENL_ID_CTRL, NLM_F_ACK, sizeof(struct genlmsghdr));
    struct genlmsghdr *g = mnl_nlmsg_get_payload(m);
    g->cmd = CTRL_CMD_GETFAMILY;
    g->version = 1;
    mnl_attr_put_strz(m, CTRL_ATTR_FAMILY_NAME, IPVS_GENL_NAME);
    local_nl_end(&b);
    code = local_nl_ask(&x->nl, &b, &hear, &error, err);
    local_nl_buf_done(&b);
    x->family = family;
    return code != ERR_OK ? code : error != 0 || family == 0 ? no_ipvs(err) : ERR_OK;
}

/* Of a question; what it says stands for the kernel, not for a service. */
static int asked(int error, struct err *err)
{
    const struct local_ipvs_change none = {.what = LOCAL_IPVS_SET_DEST};
    return local_ipvs_said(&none, error, err);
}

int local_ipvs_look(struct local_ipvs *x, struct err *err)
{
    struct local_nl_buf b = {0};
    int error = 0;
    int code = resolve(x, err);
    if (code == ERR_OK) {
        (void)begin(x, &b, IPVS_CMD_GET_INFO, NLM_F_ACK);
        local_nl_end(&b);
        code = local_nl_ask(&x->nl, &b, NULL, &error, err);
    }
    local_nl_buf_done(&b);
    return code != ERR_OK ? code : asked(error, err);
}

void local_ipvs_close(struct local_ipvs *x)
{
    local_nl_close(&x->nl);
}

/* --- lists ------------------------------------------------------------------------------------ */

struct listing {
    struct arena *a;
    struct local_ipvs_service *services;
    struct local_ipvs_dest *dests;
    struct local_ipvs_traffic *traffic;
    size_t n, cap;
    uint8_t family_len;
    int error;
};

static void *room(struct listing *l, void *items, size_t size)
{
    if (l->n < l->cap) {
        return items;
    }
    size_t cap = l->cap == 0 ? 8 : 2 * l->cap;
    char *more = arena_alloc(l->a, cap * size);
    if (l->n > 0) {
        memcpy(more, items, l->n * size);
    }
    l->cap = cap;
    return more;
}

static void keep_service(void *arg, const struct nlmsghdr *m)
{
    struct listing *l = arg;
    struct local_nl_attrs at;
    struct local_ipvs_service s;
    local_nl_parse(m, sizeof(struct genlmsghdr), &at);
    if (at.at[IPVS_CMD_ATTR_SERVICE] != NULL && read_service(at.at[IPVS_CMD_ATTR_SERVICE], &s)) {
        l->services = room(l, l->services, sizeof(s));
        l->services[l->n++] = s;
    }
}

static void keep_traffic(void *arg, const struct nlmsghdr *m)
{
    struct listing *l = arg;
    struct local_nl_attrs at, of, counts;
    struct local_ipvs_service s;
    local_nl_parse(m, sizeof(struct genlmsghdr), &at);
    if (at.at[IPVS_CMD_ATTR_SERVICE] == NULL || !read_service(at.at[IPVS_CMD_ATTR_SERVICE], &s)) {
        return;
    }
    local_nl_parse_nest(at.at[IPVS_CMD_ATTR_SERVICE], &of);
    local_nl_parse_nest(of.at[IPVS_SVC_ATTR_STATS64], &counts);
    l->traffic = room(l, l->traffic, sizeof(*l->traffic));
    l->traffic[l->n++] =
        (struct local_ipvs_traffic){.id = s.id,
                                    .connections = local_nl_u64(counts.at[IPVS_STATS_ATTR_CONNS]),
                                    .in_bytes = local_nl_u64(counts.at[IPVS_STATS_ATTR_INBYTES]),
                                    .out_bytes = local_nl_u64(counts.at[IPVS_STATS_ATTR_OUTBYTES])};
}

static void keep_dest(void *arg, const struct nlmsghdr *m)
{
    struct listing *l = arg;
    struct local_nl_attrs at;
    local_nl_parse(m, sizeof(struct genlmsghdr), &at);
    if (at.at[IPVS_CMD_ATTR_DEST] != NULL) {
        l->dests = room(l, l->dests, sizeof(*l->dests));
        read_dest(at.at[IPVS_CMD_ATTR_DEST], l->family_len, &l->dests[l->n++]);
    }
}

static void keep_error(void *arg, const struct local_nl_ack *ack)
{
    struct listing *l = arg;
    l->error = l->error == 0 ? ack->error : l->error;
}

static int hear_all(struct local_ipvs *x, struct local_nl_buf *b, struct listing *l,
                    void (*each)(void *arg, const struct nlmsghdr *m), struct err *err)
{
    struct local_nl_hear hear = {.message = each, .ack = keep_error, .arg = l};
    l->error = 0;
    int code = local_nl_talk(&x->nl, b, b->first_seq + b->n - 1, &hear, err);
    local_nl_buf_done(b);
    return code;
}

static int list(struct local_ipvs *x, struct listing *l,
                void (*each)(void *arg, const struct nlmsghdr *m), struct err *err)
{
    struct local_nl_buf b = {0};
    int code = resolve(x, err);
    if (code == ERR_OK) {
        (void)begin(x, &b, IPVS_CMD_GET_SERVICE, NLM_F_DUMP);
        local_nl_end(&b);
        code = hear_all(x, &b, l, each, err);
    }
    return code != ERR_OK || l->error == 0 ? code : asked(l->error, err);
}

int local_ipvs_services(struct local_ipvs *x, struct arena *a, struct local_ipvs_service **ret,
                        size_t *ret_n, struct err *err)
{
    struct listing l = {.a = a};
    int code = list(x, &l, keep_service, err);
    *ret = l.services;
    *ret_n = l.n;
    return code;
}

int local_ipvs_traffic(struct local_ipvs *x, struct arena *a, struct local_ipvs_traffic **ret,
                       size_t *ret_n, struct err *err)
{
    struct listing l = {.a = a};
    int code = list(x, &l, keep_traffic, err);
    *ret = l.traffic;
    *ret_n = l.n;
    return code;
}

static int dest_cmp(const void *a, const void *b)
{
    const struct local_ipvs_dest *x = a, *y = b;
    int diff = local_addr_cmp(&x->addr, &y->addr);
    return diff != 0 ? diff : (int)x->port - (int)y->port;
}

static int read_dests(struct local_ipvs *x, struct listing *l, const struct local_ipvs_service *s,
                      struct err *err)
{
    struct local_nl_buf b = {0};
    struct nlmsghdr *m = begin(x, &b, IPVS_CMD_GET_DEST, NLM_F_DUMP);
    put_service(m, s, false);
    local_nl_end(&b);
    l->family_len = s->id.vip.len;
    int code = hear_all(x, &b, l, keep_dest, err);
    if (code != ERR_OK || l->error != 0) {
        return code != ERR_OK ? code : asked(l->error, err);
    }
    if (l->n > 1) {
        qsort(l->dests, l->n, sizeof(*l->dests), dest_cmp);
    }
    return ERR_OK;
}

int local_ipvs_read(struct local_ipvs *x, struct arena *a, struct local_ipvs_list *ret,
                    struct err *err)
{
    struct local_nl_buf b = {0};
    struct listing l = {.a = a};
    int code = resolve(x, err);
    ret->there = false;
    ret->n_dests = 0;
    if (code != ERR_OK) {
        return code;
    }
    struct nlmsghdr *m = begin(x, &b, IPVS_CMD_GET_SERVICE, NLM_F_ACK);
    put_service(m, &ret->service, false);
    local_nl_end(&b);
    code = hear_all(x, &b, &l, keep_service, err);
    if (code != ERR_OK || l.error == ESRCH) {
        return code;
    }
    if (l.error != 0 || l.n != 1) {
        return l.error != 0 ? asked(l.error, err)
                            : err_set(err, ERR_TRANSIENT, "the kernel has not answered");
    }
    ret->service = l.services[0];
    ret->there = true;
    l.n = l.cap = 0;
    code = read_dests(x, &l, &ret->service, err);
    ret->dests = l.dests;
    ret->n_dests = l.n;
    return code;
}

/* --- changes ---------------------------------------------------------------------------------- */

static void put_change(struct local_ipvs *x, struct local_nl_buf *b,
                       const struct local_ipvs_change *c)
{
    static const uint8_t commands[] = {
        [LOCAL_IPVS_ADD_SERVICE] = IPVS_CMD_NEW_SERVICE,
        [LOCAL_IPVS_SET_SERVICE] = IPVS_CMD_SET_SERVICE,
        [LOCAL_IPVS_DEL_SERVICE] = IPVS_CMD_DEL_SERVICE,
        [LOCAL_IPVS_ADD_DEST] = IPVS_CMD_NEW_DEST,
        [LOCAL_IPVS_SET_DEST] = IPVS_CMD_SET_DEST,
        [LOCAL_IPVS_DEL_DEST] = IPVS_CMD_DEL_DEST,
    };
    struct nlmsghdr *m = begin(x, b, commands[c->what], NLM_F_ACK);
    put_service(m, &c->service,
                c->what == LOCAL_IPVS_ADD_SERVICE || c->what == LOCAL_IPVS_SET_SERVICE);
    if (c->what >= LOCAL_IPVS_ADD_DEST) {
        put_dest(m, &c->dest, c->what != LOCAL_IPVS_DEL_DEST);
    }
    local_nl_end(b);
}

struct sent {
    int *errors; /* of each */
    uint32_t first_seq;
    size_t n;
};

static void keep_answer(void *arg, const struct local_nl_ack *a)
{
    struct sent *s = arg;
    size_t i = a->seq - s->first_seq;
    if (i < s->n) {
        s->errors[i] = a->error;
    }
}

/* At most IN_FLIGHT of them; those that may not be asked for get their code and are not sent. */
static int change_some(struct local_ipvs *x, const struct local_ipvs_change *changes, size_t n,
                       int *codes, struct err *err)
{
    size_t at[IN_FLIGHT];
    int errors[IN_FLIGHT];
    struct local_nl_buf b = {0};
    struct sent s = {.errors = errors};
    struct local_nl_hear hear = {.ack = keep_answer, .arg = &s};
    struct err later = ERR_INIT;
    int first = ERR_OK;
    for (size_t i = 0; i < n; i++) {
        codes[i] = local_ipvs_check(&changes[i], first == ERR_OK ? err : &later);
        first = first == ERR_OK ? codes[i] : first;
        if (codes[i] == ERR_OK) {
            errors[s.n] = EAGAIN;
            put_change(x, &b, &changes[i]);
            at[s.n++] = i;
        }
    }
    s.first_seq = b.first_seq;
    int code = s.n == 0 ? ERR_OK : local_nl_talk(&x->nl, &b, b.first_seq + b.n - 1, &hear, err);
    local_nl_buf_done(&b);
    for (size_t i = 0; i < s.n; i++) {
        struct err *e = first == ERR_OK ? err : &later;
        codes[at[i]] = code != ERR_OK ? code : local_ipvs_said(&changes[at[i]], errors[i], e);
        first = first == ERR_OK ? codes[at[i]] : first;
    }
    return first;
}

int local_ipvs_changes(struct local_ipvs *x, const struct local_ipvs_change *changes, size_t n,
                       int *ret_codes, struct err *err)
{
    int code = resolve(x, err);
    for (size_t i = 0; code != ERR_OK && i < n; i++) {
        ret_codes[i] = code;
    }
    int first = code;
    for (size_t from = 0; code == ERR_OK && from < n; from += IN_FLIGHT) {
        struct err later = ERR_INIT;
        size_t some = n - from > IN_FLIGHT ? IN_FLIGHT : n - from;
        int rc =
            change_some(x, changes + from, some, ret_codes + from, first == ERR_OK ? err : &later);
        first = first == ERR_OK ? rc : first;
    }
    return first;
}

int local_ipvs_begin(struct local_ipvs *x, struct local_nl_buf *b, uint8_t command, uint16_t flags,
                     struct nlmsghdr **ret, struct err *err)
{
    int code = resolve(x, err);
    if (code == ERR_OK) {
        *ret = begin(x, b, command, flags);
    }
    return code;
}
