/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c: what others do to our table, to routes, addresses and links, as the kernel tells members
 * of its multicast groups.
 *
 * A message names the socket whose request it follows; those of this process are left out, as are
 * transactions that have nothing to do with our table.  A filter in the kernel drops the former,
 * and routes of other tables than ours: a routing daemon may change a million. */
#include "providers/local/kernel/nft.h"
#include "providers/local/kernel/real.h"
#include "providers/local/kernel/tally.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATAGRAMS_MAX 4096 /* of one call */
#define INSTANCE_MAX  32

struct local_watch {
    struct local_nl nft, rtnl;
    struct local_rt_args rt;
    char instance[INSTANCE_MAX];
    uint32_t own[LOCAL_WATCH_OWN]; /* port numbers of netlink */
    unsigned n_own;
    struct local_tally tally; /* no request is sent */
};
struct hearing {
    const struct local_watch *w;
    void (*each)(void *arg, const struct local_event *e);
    void *arg;
    bool table_told, link_told; /* once is enough for a call */
};

/* --- the sockets ------------------------------------------------------------------------------ */

static int join(struct local_nl *nl, const int *groups, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (mnl_socket_setsockopt(nl->socket, NETLINK_ADD_MEMBERSHIP, (void *)&groups[i],
                                  sizeof(groups[i])) != 0) {
            int e = errno;
            return err_set(err, local_nl_code(e), "the kernel does not tell of changes: %s",
                           strerror(e));
        }
    }
    return ERR_OK;
}

/* Drops a message that follows a request of this process; the jumps lead behind it, to `n_rest`
 * statements and two ends. */
static size_t put_own(const struct local_watch *w, struct sock_filter *to, size_t n_rest)
{
    size_t n = 0;
    to[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                           offsetof(struct nlmsghdr, nlmsg_pid));
    for (unsigned i = 0; i < w->n_own; i++) {
        /* Behind the others of ours and the rest comes "all of it", and then "nothing". */
        uint8_t drop = (uint8_t)(w->n_own - 1 - i + n_rest + 1);
        to[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(w->own[i]), drop, 0);
    }
    return n;
}

/* Messages that are not for us never reach the socket: those that follow our own requests, of which
 * a load makes a hundred thousand, and those about routes of tables that have nothing of ours.  A
 * table above 255 has the number RT_TABLE_COMPAT here.  What is let through is checked again. */
static void filter(const struct local_watch *w, const struct local_nl *nl, bool routes)
{
    uint32_t table = w->rt.table > 255 ? RT_TABLE_COMPAT : w->rt.table;
    const struct sock_filter of_routes[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, NLMSG_HDRLEN + offsetof(struct rtmsg, rtm_table)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RT_TABLE_LOCAL, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, table, 0, 1),
    };
    const struct sock_filter ends[] = {BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
                                       BPF_STMT(BPF_RET | BPF_K, 0)};
    struct sock_filter code[1 + LOCAL_WATCH_OWN + ARRAY_LEN(of_routes) + ARRAY_LEN(ends)];
    size_t n_rest = routes ? ARRAY_LEN(of_routes) : 0;
    size_t n = put_own(w, code, n_rest);
    memcpy(code + n, of_routes, n_rest * sizeof(*code));
    n += n_rest;
    memcpy(code + n, ends, sizeof(ends));
    n += ARRAY_LEN(ends);
    const struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    /* Without it more is heard than is needed. */
    (void)setsockopt(mnl_socket_get_fd(nl->socket), SOL_SOCKET, SO_ATTACH_FILTER, &program,
                     sizeof(program));
}

int local_watch_new(const struct local_watch_args *args, struct local_watch **ret, struct err *err)
{
    static const int nft_groups[] = {NFNLGRP_NFTABLES};
    static const int rtnl_groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                      RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};
    struct local_watch *w = xcalloc(1, sizeof(*w));
    w->rt = *args->rt;
    (void)snprintf(w->instance, sizeof(w->instance), "%s", args->instance);
    for (unsigned i = 0; i < LOCAL_WATCH_OWN; i++) {
        if (args->own[i] != NULL && args->own[i]->socket != NULL) {
            w->own[w->n_own++] = mnl_socket_get_portid(args->own[i]->socket);
        }
    }
    int code = local_nl_open(&w->nft, NETLINK_NETFILTER, &w->tally, err);
    if (code == ERR_OK) {
        code = local_nl_open(&w->rtnl, NETLINK_ROUTE, &w->tally, err);
    }
    if (code == ERR_OK) {
        filter(w, &w->nft, false);
        filter(w, &w->rtnl, true);
        code = join(&w->nft, nft_groups, ARRAY_LEN(nft_groups), err);
    }
    if (code == ERR_OK) {
        code = join(&w->rtnl, rtnl_groups, ARRAY_LEN(rtnl_groups), err);
    }
    if (code != ERR_OK) {
        local_watch_free(w);
        return code;
    }
    *ret = w;
    return ERR_OK;
}

void local_watch_free(struct local_watch *w)
{
    if (w != NULL) {
        local_nl_close(&w->nft);
        local_nl_close(&w->rtnl);
        free(w);
    }
}

unsigned local_watch_fds(const struct local_watch *w, int fds[LOCAL_WATCH_FDS])
{
    fds[0] = mnl_socket_get_fd(w->nft.socket);
    fds[1] = mnl_socket_get_fd(w->rtnl.socket);
    return LOCAL_WATCH_FDS;
}

/* --- what a message says ---------------------------------------------------------------------- */

static void tell(const struct hearing *h, enum local_event_kind kind, const struct ip_addr *addr)
{
    const struct local_event e = {.kind = kind,
                                  .addr = addr == NULL ? (struct ip_addr){.len = 0} : *addr};
    h->each(h->arg, &e);
}

static bool is_own(const struct local_watch *w, const struct nlmsghdr *m)
{
    for (unsigned i = 0; i < w->n_own; i++) {
        if (w->own[i] == m->nlmsg_pid) {
            return true;
        }
    }
    return false;
}

/* In messages about tables, chains, rules, sets and elements attribute 1 is the table's name. */
static void hear_nft(struct hearing *h, const struct nlmsghdr *m)
{
    struct local_nl_attrs at;
    const struct nfgenmsg *g = mnl_nlmsg_get_payload(m);
    bool generation = (m->nlmsg_type & 0xff) == NFT_MSG_NEWGEN;
    if (h->table_told || generation || m->nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES ||
        m->nlmsg_len < NLMSG_HDRLEN + sizeof(*g) || g->nfgen_family != NFPROTO_INET) {
        return;
    }
    local_nl_parse(m, sizeof(*g), &at);
    if (local_nl_text_is(at.at[NFTA_TABLE_NAME], h->w->instance)) {
        h->table_told = true;
        tell(h, LOCAL_EVENT_TABLE, NULL);
    }
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

/* A route that comes matters only where it takes the place of another one. */
static void hear_route(const struct hearing *h, const struct nlmsghdr *m)
{
    const struct rtmsg *r = mnl_nlmsg_get_payload(m);
    struct local_nl_attrs at;
    struct ip_addr addr;
    bool gone = m->nlmsg_type == RTM_DELROUTE;
    if (m->nlmsg_len < NLMSG_HDRLEN + sizeof(*r)) {
        return;
    }
    local_nl_parse(m, sizeof(*r), &at);
    uint32_t table = at.at[RTA_TABLE] != NULL ? local_nl_u32(at.at[RTA_TABLE]) : r->rtm_table;
    if ((table != RT_TABLE_LOCAL && table != h->w->rt.table) || !read_addr(at.at[RTA_DST], &addr) ||
        r->rtm_dst_len != 8 * addr.len) {
        return;
    }
    bool ours = r->rtm_protocol == h->w->rt.protocol;
    if (gone) {
        tell(h, ours ? LOCAL_EVENT_HOLD : LOCAL_EVENT_FREED, &addr);
    } else if (!ours && (m->nlmsg_flags & NLM_F_REPLACE) != 0) {
        tell(h, LOCAL_EVENT_HOLD, &addr);
    }
}

static void hear_addr(const struct hearing *h, const struct nlmsghdr *m)
{
    const struct ifaddrmsg *i = mnl_nlmsg_get_payload(m);
    struct local_nl_attrs at;
    struct ip_addr addr;
    if (m->nlmsg_len < NLMSG_HDRLEN + sizeof(*i)) {
        return;
    }
    local_nl_parse(m, sizeof(*i), &at);
    bool ours = at.at[IFA_PROTO] != NULL && local_nl_u8(at.at[IFA_PROTO]) == h->w->rt.protocol;
    if (read_addr(at.at[IFA_LOCAL] != NULL ? at.at[IFA_LOCAL] : at.at[IFA_ADDRESS], &addr)) {
        tell(h, ours ? LOCAL_EVENT_HOLD : LOCAL_EVENT_FREED, &addr);
    }
}

static void hear_rtnl(struct hearing *h, const struct nlmsghdr *m)
{
    switch (m->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        hear_route(h, m);
        return;
    case RTM_DELADDR:
        hear_addr(h, m);
        return;
    case RTM_NEWADDR: /* a network may be new */
    case RTM_NEWLINK:
    case RTM_DELLINK:
        if (!h->link_told) {
            h->link_told = true;
            tell(h, LOCAL_EVENT_LINK, NULL);
        }
        return;
    default:
        return;
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_socket(struct hearing *h, const struct local_nl *nl,
                       void (*hear)(struct hearing *h, const struct nlmsghdr *m), struct err *err)
{
    for (unsigned i = 0; i < DATAGRAMS_MAX; i++) {
        ssize_t n = recv(mnl_socket_get_fd(nl->socket), nl->rx, LOCAL_NL_MESSAGE_MAX, MSG_DONTWAIT);
        int e = n < 0 ? errno : 0;
        if (e == EAGAIN) {
            return ERR_OK;
        }
        if (e == ENOBUFS) {
            tell(h, LOCAL_EVENT_LOST, NULL);
        } else if (e != 0 && e != EINTR) {
            return err_set(err, local_nl_code(e), "netlink: %s", strerror(e));
        }
        int left = n < 0 ? 0 : (int)n;
        for (const struct nlmsghdr *m = (const void *)nl->rx; mnl_nlmsg_ok(m, left);
             m = mnl_nlmsg_next(m, &left)) {
            if (!is_own(h->w, m)) {
                hear(h, m);
            }
        }
    }
    return ERR_OK; /* the rest is read next time */
}

int local_watch_hear(struct local_watch *w, void (*each)(void *arg, const struct local_event *e),
                     void *arg, struct err *err)
{
    struct hearing h = {.w = w, .each = each, .arg = arg};
    int code = read_socket(&h, &w->nft, hear_nft, err);
    return code == ERR_OK ? read_socket(&h, &w->rtnl, hear_rtnl, err) : code;
}
