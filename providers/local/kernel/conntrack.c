/* SPDX-License-Identifier: Apache-2.0 */
/* conntrack.c: ends connections of VIPs with targets that have left, and all of a port that goes,
 * over ctnetlink.
 *
 * One walk of the kernel through its table serves all that are asked for.  For one frontend and
 * target the kernel lists the entries that fit (a filter, from 5.8 on); what comes is checked again
 * here, because an older one lists all.  An entry that ends by itself meanwhile is not counted. */
#include "providers/local/kernel/real.h"

#include <netinet/in.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <stdlib.h>
#include <string.h>

/* Bits of CTA_FILTER_*_FLAGS, in the order in which the kernel numbers them. */
enum {
    BIT_IP_SRC = 1 << 0,
    BIT_IP_DST = 1 << 1,
    BIT_PROTOCOL = 1 << 3,
    BIT_SRC_PORT = 1 << 4,
    BIT_DST_PORT = 1 << 5,
};

struct wanted {
    const struct local_connection *gone; /* sorted */
    size_t n;
    /* The found entry: copies of CTA_TUPLE_ORIG, CTA_ZONE and CTA_ID, one behind the other. */
    struct arena *a;
    struct entry {
        void *tuple, *zone, *id;
        size_t tuple_len, zone_len, id_len;
        int family;
        struct entry *next;
    } *first;
    unsigned deleted;
};

struct side {
    struct ip_addr src, dst;
    uint8_t protocol;
    uint16_t src_port, dst_port;
};

static void read_addr(const struct nlattr *a, struct ip_addr *ret)
{
    size_t n = a == NULL ? 0 : mnl_attr_get_payload_len(a);
    *ret = (struct ip_addr){0};
    if (n == 4 || n == 16) {
        ret->len = (uint8_t)n;
        memcpy(ret->bytes, mnl_attr_get_payload(a), n);
    }
}

static struct side read_side(const struct nlattr *tuple)
{
    struct local_nl_attrs t, ip, proto;
    struct side s;
    local_nl_parse_nest(tuple, &t);
    local_nl_parse_nest(t.at[CTA_TUPLE_IP], &ip);
    local_nl_parse_nest(t.at[CTA_TUPLE_PROTO], &proto);
    bool v6 = ip.at[CTA_IP_V6_DST] != NULL;
    read_addr(ip.at[v6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC], &s.src);
    read_addr(ip.at[v6 ? CTA_IP_V6_DST : CTA_IP_V4_DST], &s.dst);
    s.protocol = local_nl_u8(proto.at[CTA_PROTO_NUM]);
    s.src_port = local_nl_be16(proto.at[CTA_PROTO_SRC_PORT]);
    s.dst_port = local_nl_be16(proto.at[CTA_PROTO_DST_PORT]);
    return s;
}

static int by_addr(const struct ip_addr *a, const struct ip_addr *b)
{
    return a->len != b->len ? (int)a->len - (int)b->len : memcmp(a->bytes, b->bytes, a->len);
}

static int by_connection(const void *x, const void *y)
{
    const struct local_connection *a = x;
    const struct local_connection *b = y;
    int order = by_addr(&a->id.vip, &b->id.vip);
    order = order != 0 ? order : (int)a->id.port - (int)b->id.port;
    order = order != 0 ? order : (int)a->id.protocol - (int)b->id.protocol;
    order = order != 0 ? order : by_addr(&a->target, &b->target);
    return order != 0 ? order : (int)a->port - (int)b->port;
}

static bool is_among(const struct wanted *w, const struct local_connection *key)
{
    return bsearch(key, w->gone, w->n, sizeof(*key), by_connection) != NULL;
}

static bool is_over(const struct nlattr *protoinfo)
{
    struct local_nl_attrs of, tcp;
    local_nl_parse_nest(protoinfo, &of);
    local_nl_parse_nest(of.at[CTA_PROTOINFO_TCP], &tcp);
    uint8_t state = local_nl_u8(tcp.at[CTA_PROTOINFO_TCP_STATE]);

    return state == TCP_CONNTRACK_TIME_WAIT || state == TCP_CONNTRACK_CLOSE;
}

/* With a target that is asked for, and not over: the kernel takes the entry of one that is over
 * away when its client comes again from the same port, and the new entry can stand at the same
 * place in memory, with the same CTA_ID, before ours is deleted.  Or with any target, over or not:
 * the port is closed, and no client comes again.  What the machine answers itself was translated
 * to no target. */
static bool is_wanted(const struct wanted *w, const struct local_connection *key, bool over)
{
    const struct local_connection any = {.id = key->id};
    bool own = ip_eq(&key->target, &key->id.vip) && key->port == key->id.port;

    return (!over && is_among(w, key)) || (!own && is_among(w, &any));
}

static void *copy(struct arena *a, const struct nlattr *at, size_t *ret_len)
{
    *ret_len = at == NULL ? 0 : mnl_attr_get_payload_len(at);
    return at == NULL ? NULL : arena_memdup(a, mnl_attr_get_payload(at), *ret_len);
}

static void keep_entry(void *arg, const struct nlmsghdr *m)
{
    struct wanted *w = arg;
    struct local_nl_attrs at;
    local_nl_parse(m, sizeof(struct nfgenmsg), &at);
    struct side orig = read_side(at.at[CTA_TUPLE_ORIG]);
    struct side reply = read_side(at.at[CTA_TUPLE_REPLY]);
    const struct local_connection key = {
        .id = {.vip = orig.dst, .protocol = orig.protocol, .port = orig.dst_port},
        .target = reply.src,
        .port = reply.src_port};
    if (!is_wanted(w, &key, is_over(at.at[CTA_PROTOINFO]))) {
        return;
    }
    struct entry *e = ARENA_NEW(w->a, struct entry);
    e->tuple = copy(w->a, at.at[CTA_TUPLE_ORIG], &e->tuple_len);
    e->zone = copy(w->a, at.at[CTA_ZONE], &e->zone_len);
    e->id = copy(w->a, at.at[CTA_ID], &e->id_len);
    e->family = orig.dst.len == 16 ? AF_INET6 : AF_INET;
    e->next = w->first;
    w->first = e;
}

static struct nlmsghdr *begin(struct local_nl *nl, struct local_nl_buf *b, uint16_t type,
                              uint16_t flags, int family)
{
    struct nlmsghdr *m = local_nl_begin(nl, b, (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type), flags,
                                        sizeof(struct nfgenmsg));
    struct nfgenmsg *g = mnl_nlmsg_get_payload(m);
    g->nfgen_family = (uint8_t)family;
    return m;
}

/* One direction of the filter: an address and a port. */
struct end {
    const struct ip_addr *addr;
    uint16_t port;
    bool source;
};

static void put_side(struct nlmsghdr *m, uint16_t type, uint8_t protocol, const struct end *e)
{
    uint16_t v4 = e->source ? CTA_IP_V4_SRC : CTA_IP_V4_DST;
    uint16_t v6 = e->source ? CTA_IP_V6_SRC : CTA_IP_V6_DST;
    struct nlattr *tuple = mnl_attr_nest_start(m, type);
    struct nlattr *ip = mnl_attr_nest_start(m, CTA_TUPLE_IP);
    mnl_attr_put(m, e->addr->len == 16 ? v6 : v4, e->addr->len, e->addr->bytes);
    mnl_attr_nest_end(m, ip);
    struct nlattr *proto = mnl_attr_nest_start(m, CTA_TUPLE_PROTO);
    mnl_attr_put_u8(m, CTA_PROTO_NUM, protocol);
    mnl_attr_put_u16(m, e->source ? CTA_PROTO_SRC_PORT : CTA_PROTO_DST_PORT, htons(e->port));
    mnl_attr_nest_end(m, proto);
    mnl_attr_nest_end(m, tuple);
}

static int failed(struct err *err, int error)
{
    if (error == EPERM || error == EACCES) {
        return err_set(err, ERR_AUTH, "not allowed to end connections: CAP_NET_ADMIN is needed");
    }
    if (error == EINVAL || error == EOPNOTSUPP) {
        return err_set(err, ERR_INVALID, "%s", LOCAL_CT_NONE);
    }
    return err_set(err, local_nl_code(error), "connections: %s", strerror(error));
}

static void put_filter(struct nlmsghdr *m, const struct local_connection *c)
{
    uint8_t protocol = c->id.protocol;
    put_side(m, CTA_TUPLE_ORIG, protocol, &(struct end){&c->id.vip, c->id.port, false});
    bool any = c->target.len == 0;
    if (!any) {
        put_side(m, CTA_TUPLE_REPLY, protocol, &(struct end){&c->target, c->port, true});
    }
    struct nlattr *filter = mnl_attr_nest_start(m, CTA_FILTER);
    mnl_attr_put_u32(m, CTA_FILTER_ORIG_FLAGS, BIT_IP_DST | BIT_PROTOCOL | BIT_DST_PORT);
    mnl_attr_put_u32(m, CTA_FILTER_REPLY_FLAGS, any ? 0 : BIT_IP_SRC | BIT_PROTOCOL | BIT_SRC_PORT);
    mnl_attr_nest_end(m, filter);
}

/* AF_UNSPEC lists both. */
static int family_of(const struct wanted *w)
{
    uint8_t len = w->gone[0].id.vip.len;
    for (size_t i = 1; i < w->n; i++) {
        if (w->gone[i].id.vip.len != len) {
            return AF_UNSPEC;
        }
    }
    return len == 16 ? AF_INET6 : AF_INET;
}

static int find(struct local_nl *nl, struct wanted *w, struct err *err)
{
    struct local_nl_buf b = {0};
    struct local_nl_hear hear = {.message = keep_entry, .arg = w};
    int error = 0;
    struct nlmsghdr *m = begin(nl, &b, IPCTNL_MSG_CT_GET, NLM_F_DUMP, family_of(w));
    if (w->n == 1) {
        put_filter(m, w->gone);
    }
    local_nl_end(&b);
    int code = local_nl_ask(nl, &b, &hear, &error, err);
    local_nl_buf_done(&b);
    return code != ERR_OK || error == 0 ? code : failed(err, error);
}

struct deleting {
    struct wanted *w;
    int error;
};

static void keep_result(void *arg, const struct local_nl_ack *a)
{
    struct deleting *d = arg;
    d->w->deleted += a->error == 0;
    if (a->error != 0 && a->error != ENOENT) {
        d->error = a->error;
    }
}

static int delete_some(struct local_nl *nl, struct wanted *w, struct err *err)
{
    struct local_nl_buf b = {0};
    struct deleting d = {.w = w};
    struct local_nl_hear hear = {.ack = keep_result, .arg = &d};
    for (; w->first != NULL && b.n < LOCAL_NL_IN_FLIGHT; w->first = w->first->next) {
        const struct entry *e = w->first;
        struct nlmsghdr *m = begin(nl, &b, IPCTNL_MSG_CT_DELETE, NLM_F_ACK, e->family);
        mnl_attr_put(m, CTA_TUPLE_ORIG | NLA_F_NESTED, e->tuple_len, e->tuple);
        if (e->zone != NULL) {
            mnl_attr_put(m, CTA_ZONE, e->zone_len, e->zone);
        }
        if (e->id != NULL) {
            mnl_attr_put(m, CTA_ID, e->id_len, e->id);
        }
        local_nl_end(&b);
    }
    int code = local_nl_talk(nl, &b, b.first_seq + b.n - 1, &hear, err);
    local_nl_buf_done(&b);
    return code != ERR_OK || d.error == 0 ? code : failed(err, d.error);
}

int local_ct_delete(struct local_nl *nl, const struct local_connection *gone, size_t n,
                    unsigned *ret_n, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    if (n == 0) {
        *ret_n = 0;
        return ERR_OK;
    }
    struct local_connection *sorted = arena_memdup(a, gone, n * sizeof(*gone));
    qsort(sorted, n, sizeof(*sorted), by_connection);
    struct wanted w = {.gone = sorted, .n = n, .a = a};
    int code = find(nl, &w, err);
    while (code == ERR_OK && w.first != NULL) {
        code = delete_some(nl, &w, err);
    }
    if (code == ERR_OK) {
        *ret_n = w.deleted;
    }
    return code;
}
