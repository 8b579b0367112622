/* SPDX-License-Identifier: Apache-2.0 */
/* nft_others.c: whether kube-proxy translates packets on this machine: its table, or its chain
 * where iptables is nftables'.
 *
 * Each is asked for by its name, so that it costs the same whatever stands in them.  Rules of
 * iptables-legacy are not seen. */
#include "providers/local/kernel/nft.h"

#include <errno.h>

struct place {
    uint8_t family;
    const char *table, *chain; /* NULL: the table alone */
    const char *text;
};
static const struct place places[] = {
    {NFPROTO_IPV4, "kube-proxy", NULL, "table ip kube-proxy"},
    {NFPROTO_IPV6, "kube-proxy", NULL, "table ip6 kube-proxy"},
    {NFPROTO_IPV4, "nat", "KUBE-SERVICES", "chain KUBE-SERVICES"},
    {NFPROTO_IPV6, "nat", "KUBE-SERVICES", "chain KUBE-SERVICES"},
};

/* *ret_error: what the kernel says to the question; 0: it is there. */
static int ask(struct local_nl *nl, const struct place *p, int *ret_error, struct err *err)
{
    struct local_nl_buf b = {0};
    struct local_nl_hear none = {0};
    uint16_t get = p->chain == NULL ? NFT_MSG_GETTABLE : NFT_MSG_GETCHAIN;
    struct nlmsghdr *m = local_nft_begin(nl, &b, get, NLM_F_ACK);
    ((struct nfgenmsg *)mnl_nlmsg_get_payload(m))->nfgen_family = p->family;

    mnl_attr_put_strz(m, p->chain == NULL ? NFTA_TABLE_NAME : NFTA_CHAIN_TABLE, p->table);
    if (p->chain != NULL) {
        mnl_attr_put_strz(m, NFTA_CHAIN_NAME, p->chain);
    }
    local_nl_end(&b);
    int code = local_nl_ask(nl, &b, &none, ret_error, err);
    local_nl_buf_done(&b);
    return code;
}

int local_nft_kube_proxy(struct local_nl *nl, const char **ret, struct err *err)
{
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        int error = 0;
        int code = ask(nl, &places[i], &error, err);
        if (code != ERR_OK) {
            return code;
        }
        if (error == 0) {
            *ret = places[i].text;
            return ERR_OK;
        }
        if (error != ENOENT) {
            return local_nft_error(err, error, places[i].text, "");
        }
    }
    *ret = NULL;
    return ERR_OK;
}
