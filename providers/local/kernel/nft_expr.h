/* SPDX-License-Identifier: Apache-2.0 */
/* nft_expr.h: the expressions that rules of nf_tables consist of, as attributes of a message.
 *
 * An expression reads and writes registers.  There are 16 of 4 bytes; a value takes as many as it
 * needs, beginning at a multiple.  local_nft_reg() names the register that begins at the i-th 4
 * bytes, as nft does, so that both make equal rules.  Pure. */
#ifndef TRIMTAB_LOCAL_KERNEL_NFT_EXPR_H
#define TRIMTAB_LOCAL_KERNEL_NFT_EXPR_H

#include "providers/local/kernel/netlink.h"

#include <linux/netfilter/nf_tables.h>

/* A rule in progress; `exprs` is the open list of its expressions. */
struct local_nft_rule {
    struct nlmsghdr *m;
    struct nlattr *exprs;
};

uint32_t local_nft_reg(unsigned word);

/* `key` is an NFT_META_*. */
void local_nft_meta_load(struct local_nft_rule *r, uint32_t key, uint32_t reg);
void local_nft_meta_set(struct local_nft_rule *r, uint32_t key, uint32_t reg);
/* `base` is an NFT_PAYLOAD_*_HEADER. */
void local_nft_payload(struct local_nft_rule *r, uint32_t base, uint32_t offset, uint32_t len,
                       uint32_t reg);
/* `op` is NFT_CMP_EQ or NFT_CMP_NEQ; the rule continues if it holds. */
void local_nft_cmp(struct local_nft_rule *r, uint32_t op, uint32_t reg, const void *value,
                   size_t len);
/* reg = (reg & mask) ^ flip, of 4 bytes in the machine's order. */
void local_nft_bits(struct local_nft_rule *r, uint32_t reg, uint32_t mask, uint32_t flip);
/* The rule continues if the key is in the set, or, with absent, if it is not.  `id` is that of the
 * set in this transaction. */
void local_nft_lookup(struct local_nft_rule *r, const char *set, uint32_t id, uint32_t reg,
                      bool absent);
/* The same in a map, whose value goes to `to`. */
void local_nft_lookup_map(struct local_nft_rule *r, const char *map, uint32_t id, uint32_t reg,
                          uint32_t to);
/* 0…mod-1, one after the other. */
void local_nft_numgen(struct local_nft_rule *r, uint32_t mod, uint32_t reg);
/* Jenkins' hash of `len` bytes at `from`, modulo. */
void local_nft_jhash(struct local_nft_rule *r, uint32_t from, uint32_t len, uint32_t mod,
                     uint32_t seed, uint32_t reg);
/* `verdict` is NF_DROP, NF_ACCEPT or NFT_RETURN. */
void local_nft_verdict(struct local_nft_rule *r, int verdict);
/* `type` is an NFT_REJECT_*. */
void local_nft_reject(struct local_nft_rule *r, uint32_t type, uint8_t icmp_code);
void local_nft_dnat(struct local_nft_rule *r, uint32_t family, uint32_t addr_reg,
                    uint32_t port_reg);
/* `flags` are those of NF_NAT_RANGE_*. */
void local_nft_masquerade(struct local_nft_rule *r, uint32_t flags);

#endif
