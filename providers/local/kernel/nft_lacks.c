/* SPDX-License-Identifier: Apache-2.0 */
/* nft_lacks.c: which module of nf_tables a refused message asks for (nft.h).  Pure.
 *
 * The kernel says ENOENT, or EOPNOTSUPP, of an expression or a type of chain that it does not know,
 * and where in the message it stands.  A transaction is read to its end, so that all of
 * them are named at once. */
#include "providers/local/kernel/nft.h"

#include "common/base/str.h"

#include <errno.h>
#include <string.h>

enum { CHAIN_NAT = 0, REJECT = LOCAL_NFT_MODULES - 1 };
static const struct module {
    const char *of; /* name of the expression; NULL: the chain type nat */
    const char *name;
    const char *config;
} modules[LOCAL_NFT_MODULES] = {
    [CHAIN_NAT] = {NULL, "nft_chain_nat", "CONFIG_NFT_NAT"},
    {"hash", "nft_hash", "CONFIG_NFT_HASH"},
    {"masq", "nft_masq", "CONFIG_NFT_MASQ"},
    {"nat", "nft_nat", "CONFIG_NFT_NAT"},
    {"numgen", "nft_numgen", "CONFIG_NFT_NUMGEN"},
    [REJECT] = {"reject", "nft_reject_inet", "CONFIG_NFT_REJECT_INET"},
};

static const struct nlmsghdr *message_of(const struct local_nl_buf *b, uint32_t seq)
{
    int left = (int)b->len;
    for (const struct nlmsghdr *m = (const void *)b->data; mnl_nlmsg_ok(m, left);
         m = mnl_nlmsg_next(m, &left)) {
        if (m->nlmsg_seq == seq) {
            return m;
        }
    }
    return NULL;
}

/* The name of the expression at this place of the message; NULL: there is none. */
static const struct nlattr *expression_at(const struct nlmsghdr *m, size_t offset)
{
    const struct nlattr *at = (const void *)((const char *)m + offset);
    struct local_nl_attrs a;
    if (offset < MNL_NLMSG_HDRLEN + sizeof(struct nfgenmsg) || offset >= m->nlmsg_len ||
        !mnl_attr_ok(at, (int)(m->nlmsg_len - offset)) || mnl_attr_get_type(at) != NFTA_LIST_ELEM) {
        return NULL;
    }
    local_nl_parse_nest(at, &a);
    return a.at[NFTA_EXPR_NAME];
}

void local_nft_lacks_note(struct local_nft_lacks *l, const struct local_nl_buf *b,
                          const struct local_nl_ack *ack)
{
    const struct nlmsghdr *m = message_of(b, ack->seq);
    struct local_nl_attrs a;
    if (m == NULL || (ack->error != ENOENT && ack->error != EOPNOTSUPP)) {
        return;
    }
    local_nl_parse(m, sizeof(struct nfgenmsg), &a);
    uint16_t type = m->nlmsg_type & 0xff;
    const struct nlattr *name = type == NFT_MSG_NEWRULE ? expression_at(m, ack->offset) : NULL;
    bool nat = type == NFT_MSG_NEWCHAIN && local_nl_text_is(a.at[NFTA_CHAIN_TYPE], "nat");
    for (size_t i = 0; i < LOCAL_NFT_MODULES; i++) {
        l->lacks[i] =
            l->lacks[i] ||
            (modules[i].of == NULL ? nat : name != NULL && local_nl_text_is(name, modules[i].of));
    }
}

bool local_nft_lacks_some(const struct local_nft_lacks *l)
{
    bool some = false;
    for (size_t i = 0; i < LOCAL_NFT_MODULES; i++) {
        some = some || l->lacks[i];
    }
    return some;
}

int local_nft_lacks_say(const struct local_nft_lacks *l, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf names = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf configs = STR_BUF_INIT;
    bool all = !local_nft_lacks_some(l); /* an older kernel does not say which */
    for (size_t i = 0; i < LOCAL_NFT_MODULES; i++) {
        /* Without that type of chain no expression of its rules was looked at. */
        bool unknown = l->lacks[CHAIN_NAT] && i != REJECT;
        if (!all && !l->lacks[i] && !unknown) {
            continue;
        }
        str_appendf(&names, " %s", modules[i].name);
        if (strstr(str_buf_text(&configs), modules[i].config) == NULL) {
            str_appendf(&configs, "%s%s", configs.len == 0 ? "" : ", ", modules[i].config);
        }
    }
    /* Not the Service's fault, and mended without a change of it: asked again soon. */
    return err_set(err, ERR_TRANSIENT, "this kernel has not all of nf_tables: modprobe%s (%s)",
                   str_buf_text(&names), str_buf_text(&configs));
}
