/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_tool_lost.c: the command `overrun` of kernel-tool: a socket of each API is asked more than it has room for answers. */
#include "providers/local/kernel/netlink.h"
#include "providers/local/kernel/tally.h"
#include "tests/local/kernel_tool.h"

#include <netinet/in.h>

#include <linux/genetlink.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#define QUESTIONS 600
#define ROOM      16384 /* bytes of the socket */

struct kind {
    const char *api;
    int bus;
    uint16_t type;
    size_t extra;
};
static const struct kind kinds[] = {
    {"rtnl", NETLINK_ROUTE, RTM_GETLINK, sizeof(struct ifinfomsg)},
    {"nft", NETLINK_NETFILTER, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN, sizeof(struct nfgenmsg)},
    {"ct", NETLINK_NETFILTER, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET_STATS,
     sizeof(struct nfgenmsg)},
    {"ipvs", NETLINK_GENERIC, GENL_ID_CTRL, sizeof(struct genlmsghdr)},
};

static const struct kind *kind_of(const char *api)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].api, api) == 0) {
            return &kinds[i];
        }
    }
    return &kinds[0];
}

static void count_message(void *arg, const struct nlmsghdr *m)
{
    (void)m;
    ++*(unsigned *)arg;
}

/* Which every kernel answers with a message: a link, the count of transactions, statistics, a family. */
static void put_question(const struct kind *k, struct local_nl *nl, struct local_nl_buf *b)
{
    uint16_t dump = strcmp(k->api, "ct") == 0 ? NLM_F_DUMP : NLM_F_ACK;
    struct nlmsghdr *m = local_nl_begin(nl, b, k->type, dump, k->extra);

    if (k->bus == NETLINK_ROUTE) {
        ((struct ifinfomsg *)mnl_nlmsg_get_payload(m))->ifi_index = 1;
    } else if (k->bus == NETLINK_GENERIC) {
        ((struct genlmsghdr *)mnl_nlmsg_get_payload(m))->cmd = CTRL_CMD_GETFAMILY;
        mnl_attr_put_strz(m, CTRL_ATTR_FAMILY_NAME, "nlctrl");
    }
    local_nl_end(b);
}

static void add_lost(void *arg, const struct local_kernel_count *c)
{
    if (strcmp(c->code, "ENOBUFS") == 0) {
        *(uint64_t *)arg += c->n;
    }
}

/* More questions at once than the socket has room for answers; and then one, whose answer must be its own. */
int tool_overrun(struct tool *t)
{
    const struct kind *k = kind_of(tool_word(t, 0));
    struct local_tally tally = {.api = k->api};
    unsigned heard = 0;
    uint64_t n_lost = 0;
    int room = ROOM, error = 0;
    struct local_nl nl;
    struct local_nl_buf b = {0};
    struct local_nl_hear hear = {.message = count_message, .arg = &heard};
    int code = local_nl_open(&nl, k->bus, &tally, &t->err);

    if (code != ERR_OK) {
        return code;
    }
    setsockopt(mnl_socket_get_fd(nl.socket), SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    for (unsigned i = 0; i < QUESTIONS; i++) {
        put_question(k, &nl, &b);
    }
    code = local_nl_talk(&nl, &b, b.first_seq + b.n - 1, &hear, &t->err);
    local_tally_each(&tally, add_lost, &n_lost);
    printf("%s, %s, %s, %u lost\n", err_code_name(code), t->err.message,
           heard < QUESTIONS ? "not all heard" : "all heard", (unsigned)n_lost);
    heard = 0;
    local_nl_buf_reset(&b);
    put_question(k, &nl, &b);
    err_clear(&t->err);
    code = local_nl_ask(&nl, &b, &hear, &error, &t->err);
    printf("then heard %s, errno %d\n", heard > 0 ? "its answer" : "nothing", error);
    local_nl_buf_done(&b);
    local_nl_close(&nl);
    return code;
}
