/* SPDX-License-Identifier: Apache-2.0 */
/* nftables.h: what the two halves of the nftables renderer share.  Only for
 * common/services/render. */
#ifndef TRIMTAB_SERVICES_RENDER_NFTABLES_H
#define TRIMTAB_SERVICES_RENDER_NFTABLES_H

#include "common/services/node/names.h"
#include "common/services/render/build.h"

/* Chains that are always there, by their numbers in ks_groups. */
enum nft_chain {
    CHAIN_PREROUTING_PRE_DNAT = 0,
    CHAIN_OUTPUT_PRE_DNAT,
    CHAIN_FILTER_INPUT,
    CHAIN_FILTER_FORWARD,
    CHAIN_FILTER_OUTPUT,
    CHAIN_NAT_PREROUTING,
    CHAIN_NAT_OUTPUT,
    CHAIN_NAT_POSTROUTING,
    CHAIN_CLUSTER_IPS_CHECK,
    CHAIN_FIREWALL_CHECK,
    CHAIN_MASQUERADING,
    CHAIN_NODEPORT_ENDPOINTS_CHECK,
    CHAIN_REJECT,
    CHAIN_SERVICE_ENDPOINTS_CHECK,
    CHAIN_SERVICES,
};
enum nft_set {
    NFT_SET_CLUSTER_IPS = 0,
    NFT_SET_HAIRPIN_CONNECTIONS,
    NFT_SET_NODEPORT_IPS, /* unless every address takes node ports */
};
enum nft_map {
    NFT_MAP_FIREWALL_IPS = 0,
    NFT_MAP_NO_ENDPOINT_NODEPORTS,
    NFT_MAP_NO_ENDPOINT_SERVICES,
    NFT_MAP_SERVICE_IPS,
    NFT_MAP_SERVICE_NODEPORTS,
};

/* The table under construction. */
struct nft {
    struct arena *arena;
    const struct ks_world *world;
    const char *ip;   /* "ip", "ip6" */
    const char *mark; /* "mark set mark or 0x…" */
    struct ks_groups chains;
    struct ks_groups sets;
    struct ks_groups maps;
};

/* The match for packets of pods of this node; NULL without a detector. */
const char *nft_if_local(const struct nft *t);
const char *nft_if_not_local(const struct nft *t);
/* "comment \"…\"". */
const char *nft_comment(struct arena *a, const char *text);
/* Adds what one service port needs to chains, sets and maps. */
void nft_port(struct nft *t, const struct ks_port *p);

#endif
