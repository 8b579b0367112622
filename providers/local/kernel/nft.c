/* SPDX-License-Identifier: Apache-2.0 */
/* nft.c: transactions of nf_tables, and what their refusals mean (nft.h). */
#include "providers/local/kernel/nft.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct nlmsghdr *local_nft_begin(struct local_nl *nl, struct local_nl_buf *b, uint16_t type,
                                 uint16_t flags)
{
    struct nlmsghdr *m = local_nl_begin(nl, b, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags,
                                        sizeof(struct nfgenmsg));
    struct nfgenmsg *g = mnl_nlmsg_get_payload(m);
    g->nfgen_family = NFPROTO_INET;
    return m;
}

static void frame(struct local_nl *nl, struct local_nl_buf *b, uint16_t type)
{
    struct nlmsghdr *m = local_nl_begin(nl, b, type, 0, sizeof(struct nfgenmsg));
    struct nfgenmsg *g = mnl_nlmsg_get_payload(m);
    g->res_id = htons(NFNL_SUBSYS_NFTABLES);
    local_nl_end(b);
}

void local_nft_batch_begin(struct local_nl *nl, struct local_nl_buf *b)
{
    frame(nl, b, NFNL_MSG_BATCH_BEGIN);
}

void local_nft_batch_end(struct local_nl *nl, struct local_nl_buf *b)
{
    frame(nl, b, NFNL_MSG_BATCH_END);
}

static void keep_refusal(void *arg, const struct local_nl_ack *a)
{
    struct local_nft_refusal *r = arg;
    if (a->error != 0 && r->error == 0) {
        r->error = a->error;
        r->seq = a->seq;
        r->offset = a->offset;
        snprintf(r->text, sizeof(r->text), "%s", a->text != NULL ? a->text : "");
    }
}

int local_nft_send(struct local_nl *nl, const struct local_nl_buf *b, uint32_t last,
                   struct local_nft_refusal *ret, struct err *err)
{
    *ret = (struct local_nft_refusal){0};
    struct local_nl_hear hear = {.ack = keep_refusal, .arg = ret};
    return local_nl_talk(nl, b, last, &hear, err);
}

int local_nft_error(struct err *err, int error, const char *what, const char *words)
{
    const char *colon = words[0] != '\0' ? ": " : "";
    switch (error) {
    case EPERM:
    case EACCES:
        return err_set(err, ERR_AUTH, "not allowed to change nftables: CAP_NET_ADMIN is needed");
    case EEXIST:
    case EBUSY:
    case ENOTEMPTY:
    case ENOENT:
    case ESRCH:
        return err_set(err, ERR_CONFLICT, "somebody else changed %s (%s%s%s)", what,
                       strerror(error), colon, words);
    case ENFILE: /* a set with a size; ours have none */
    case ENOSPC:
    case E2BIG:
        return err_set(err, ERR_INVALID,
                       "nft set full: no room for %s (%s); others made the set with a size, or it "
                       "has more elements than this kernel allows",
                       what, strerror(error));
    case EOPNOTSUPP:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
        return err_set(err, ERR_INVALID, LOCAL_NFT_NONE);
    default:
        return err_set(err, local_nl_code(error), "nft: %s: %s%s%s", what, strerror(error), colon,
                       words);
    }
}
