/* SPDX-License-Identifier: Apache-2.0 */
/* tally.c: the names of operations and answers, and their counts (tally.h). */
#include "providers/local/kernel/tally.h"

#include <netinet/in.h>

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

/* ---- names --------------------------------------------------------------------------------------- */

struct op {
    uint16_t
        type; /* of the message; 0: a family of generic netlink, whose number the kernel chose */
    uint8_t command; /* of generic netlink */
    const char *name;
};
#define NFT(m, name)                                                                               \
    {                                                                                              \
        NFNL_SUBSYS_NFTABLES << 8 | (m), 0, name                                                   \
    }
#define CT(m, name)                                                                                \
    {                                                                                              \
        NFNL_SUBSYS_CTNETLINK << 8 | (m), 0, name                                                  \
    }
static const struct op ops[LOCAL_TALLY_OPS] = {
    {0, 0, "other"}, /* what is not named here */
    {NFNL_MSG_BATCH_BEGIN, 0, "batch_begin"},
    {NFNL_MSG_BATCH_END, 0, "batch_end"},
    NFT(NFT_MSG_NEWTABLE, "newtable"),
    NFT(NFT_MSG_GETTABLE, "gettable"),
    NFT(NFT_MSG_DELTABLE, "deltable"),
    NFT(NFT_MSG_NEWCHAIN, "newchain"),
    NFT(NFT_MSG_GETCHAIN, "getchain"),
    NFT(NFT_MSG_DELCHAIN, "delchain"),
    NFT(NFT_MSG_NEWRULE, "newrule"),
    NFT(NFT_MSG_GETRULE, "getrule"),
    NFT(NFT_MSG_DELRULE, "delrule"),
    NFT(NFT_MSG_NEWSET, "newset"),
    NFT(NFT_MSG_GETSET, "getset"),
    NFT(NFT_MSG_DELSET, "delset"),
    NFT(NFT_MSG_NEWSETELEM, "newsetelem"),
    NFT(NFT_MSG_GETSETELEM, "getsetelem"),
    NFT(NFT_MSG_DELSETELEM, "delsetelem"),
    NFT(NFT_MSG_GETGEN, "getgen"),
    CT(IPCTNL_MSG_CT_GET, "get"),
    CT(IPCTNL_MSG_CT_DELETE, "delete"),
    {RTM_GETLINK, 0, "getlink"},
    {RTM_NEWADDR, 0, "newaddr"},
    {RTM_DELADDR, 0, "deladdr"},
    {RTM_GETADDR, 0, "getaddr"},
    {RTM_NEWROUTE, 0, "newroute"},
    {RTM_DELROUTE, 0, "delroute"},
    {RTM_GETROUTE, 0, "getroute"},
    {RTM_GETNEIGH, 0, "getneigh"},
    {0, IPVS_CMD_NEW_SERVICE, "new_service"},
    {0, IPVS_CMD_SET_SERVICE, "set_service"},
    {0, IPVS_CMD_DEL_SERVICE, "del_service"},
    {0, IPVS_CMD_GET_SERVICE, "get_service"},
    {0, IPVS_CMD_NEW_DEST, "new_dest"},
    {0, IPVS_CMD_SET_DEST, "set_dest"},
    {0, IPVS_CMD_DEL_DEST, "del_dest"},
    {0, IPVS_CMD_GET_DEST, "get_dest"},
    {0, IPVS_CMD_GET_INFO, "get_info"},
    {0, IPVS_CMD_GET_DAEMON, "get_daemon"},
};

/* The errors that kernel.h knows (netlink.c), and one for all others. */
static const struct {
    int error;
    const char *name;
} answers[LOCAL_TALLY_ANSWERS] = {
    {0, "ok"},
    {-1, "other"},
    {ENOBUFS, "ENOBUFS"},
    {EPERM, "EPERM"},
    {EACCES, "EACCES"},
    {EEXIST, "EEXIST"},
    {EBUSY, "EBUSY"},
    {ENOENT, "ENOENT"},
    {ESRCH, "ESRCH"},
    {EADDRNOTAVAIL, "EADDRNOTAVAIL"},
    {EOPNOTSUPP, "EOPNOTSUPP"},
    {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
    {EAFNOSUPPORT, "EAFNOSUPPORT"},
    {ENOMEM, "ENOMEM"},
    {ENFILE, "ENFILE"},
    {EMFILE, "EMFILE"},
    {EINTR, "EINTR"},
    {EAGAIN, "EAGAIN"},
    {ERANGE, "ERANGE"},
    {ENETDOWN, "ENETDOWN"},
    {ENODEV, "ENODEV"},
    {EINVAL, "EINVAL"},
    {ENOTEMPTY, "ENOTEMPTY"},
};
#define ANSWER_OK    0
#define ANSWER_OTHER 1
#define ANSWER_LOST  2

static size_t answer_of(int error)
{
    for (size_t i = 0; i < LOCAL_TALLY_ANSWERS; i++) {
        if (answers[i].name != NULL && answers[i].error == error) {
            return i;
        }
    }
    return ANSWER_OTHER;
}

static size_t op_of(const struct local_tally *t, const struct nlmsghdr *m)
{
    bool generic = strcmp(t->api, "ipvs") == 0;
    const struct genlmsghdr *g = mnl_nlmsg_get_payload(m);
    uint8_t command = generic && m->nlmsg_type != GENL_ID_CTRL ? g->cmd : 0;
    uint16_t type = generic ? 0 : m->nlmsg_type;

    for (size_t i = 1; i < LOCAL_TALLY_OPS; i++) {
        if (ops[i].name != NULL && ops[i].type == type && ops[i].command == command) {
            return i;
        }
    }
    return 0;
}

/* ---- counting ------------------------------------------------------------------------------------ */

/* Moves one request to another answer, or all of them (seq 0, which no request has). */
static void move(struct local_tally *t, const uint8_t *data, size_t len, uint32_t seq,
                 size_t answer)
{
    int left = (int)len;

    for (const struct nlmsghdr *m = (const void *)data; mnl_nlmsg_ok(m, left);
         m = mnl_nlmsg_next(m, &left)) {
        uint64_t *n = t->n[op_of(t, m)];
        if ((seq == 0 || m->nlmsg_seq == seq) && n[ANSWER_OK] > 0) {
            n[ANSWER_OK]--;
            n[answer]++;
        }
    }
}

void local_tally_sent(struct local_tally *t, const uint8_t *data, size_t len)
{
    int left = (int)len;

    for (const struct nlmsghdr *m = (const void *)data; mnl_nlmsg_ok(m, left);
         m = mnl_nlmsg_next(m, &left)) {
        t->n[op_of(t, m)][ANSWER_OK]++;
    }
}

void local_tally_refused(struct local_tally *t, const uint8_t *data, size_t len, uint32_t seq,
                         int error)
{
    if (error != 0 && seq != 0) {
        move(t, data, len, seq, answer_of(error));
    }
}

void local_tally_lost(struct local_tally *t, const uint8_t *data, size_t len)
{
    move(t, data, len, 0, ANSWER_LOST);
}

uint64_t local_tally_sum(const struct local_tally *t)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < LOCAL_TALLY_OPS; i++) {
        for (size_t k = 0; k < LOCAL_TALLY_ANSWERS; k++) {
            sum += t->n[i][k];
        }
    }
    return sum;
}

void local_tally_each(const struct local_tally *t,
                      void (*each)(void *arg, const struct local_kernel_count *c), void *arg)
{
    for (size_t i = 0; i < LOCAL_TALLY_OPS; i++) {
        for (size_t k = 0; k < LOCAL_TALLY_ANSWERS; k++) {
            const struct local_kernel_count c = {t->api, ops[i].name, answers[k].name, t->n[i][k]};
            if (c.n > 0) {
                each(arg, &c);
            }
        }
    }
}

/* ---- time ---------------------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* which every kernel has */
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t local_tally_begin(const struct local_tally *t)
{
    return t->took == NULL ? 0 : now_ns();
}

void local_tally_end(const struct local_tally *t, int64_t began_ns)
{
    if (t->took != NULL) {
        t->took(t->took_arg, t->api, (double)(now_ns() - began_ns) / (double)NS_PER_S);
    }
}
