/* SPDX-License-Identifier: Apache-2.0 */
/* nft_expr.c: expressions of nf_tables (nft_expr.h).  Each is an item of the rule's list: a name,
 * and a nest of attributes whose numbers are in network order. */
#include "providers/local/kernel/nft_expr.h"

#include <linux/netfilter.h>

struct expr {
    struct nlattr *item;
    struct nlattr *data;
};

static struct expr begin(struct local_nft_rule *r, const char *name)
{
    struct expr e = {.item = mnl_attr_nest_start(r->m, NFTA_LIST_ELEM)};
    mnl_attr_put_strz(r->m, NFTA_EXPR_NAME, name);
    e.data = mnl_attr_nest_start(r->m, NFTA_EXPR_DATA);
    return e;
}

static void end(struct local_nft_rule *r, struct expr e)
{
    mnl_attr_nest_end(r->m, e.data);
    mnl_attr_nest_end(r->m, e.item);
}

static void put_value(struct local_nft_rule *r, uint16_t type, const void *value, size_t len)
{
    struct nlattr *nest = mnl_attr_nest_start(r->m, type);
    mnl_attr_put(r->m, NFTA_DATA_VALUE, len, value);
    mnl_attr_nest_end(r->m, nest);
}

uint32_t local_nft_reg(unsigned word)
{
    return word % 4 == 0 ? NFT_REG_1 + word / 4 : NFT_REG32_00 + word;
}

void local_nft_meta_load(struct local_nft_rule *r, uint32_t key, uint32_t reg)
{
    struct expr e = begin(r, "meta");
    local_nl_put_be32(r->m, NFTA_META_KEY, key);
    local_nl_put_be32(r->m, NFTA_META_DREG, reg);
    end(r, e);
}

void local_nft_meta_set(struct local_nft_rule *r, uint32_t key, uint32_t reg)
{
    struct expr e = begin(r, "meta");
    local_nl_put_be32(r->m, NFTA_META_KEY, key);
    local_nl_put_be32(r->m, NFTA_META_SREG, reg);
    end(r, e);
}

void local_nft_payload(struct local_nft_rule *r, uint32_t base, uint32_t offset, uint32_t len,
                       uint32_t reg)
{
    struct expr e = begin(r, "payload");
    local_nl_put_be32(r->m, NFTA_PAYLOAD_DREG, reg);
    local_nl_put_be32(r->m, NFTA_PAYLOAD_BASE, base);
    local_nl_put_be32(r->m, NFTA_PAYLOAD_OFFSET, offset);
    local_nl_put_be32(r->m, NFTA_PAYLOAD_LEN, len);
    end(r, e);
}

void local_nft_cmp(struct local_nft_rule *r, uint32_t op, uint32_t reg, const void *value,
                   size_t len)
{
    struct expr e = begin(r, "cmp");
    local_nl_put_be32(r->m, NFTA_CMP_SREG, reg);
    local_nl_put_be32(r->m, NFTA_CMP_OP, op);
    put_value(r, NFTA_CMP_DATA, value, len);
    end(r, e);
}

void local_nft_bits(struct local_nft_rule *r, uint32_t reg, uint32_t mask, uint32_t flip)
{
    struct expr e = begin(r, "bitwise");
    local_nl_put_be32(r->m, NFTA_BITWISE_SREG, reg);
    local_nl_put_be32(r->m, NFTA_BITWISE_DREG, reg);
    local_nl_put_be32(r->m, NFTA_BITWISE_LEN, sizeof(mask));
    put_value(r, NFTA_BITWISE_MASK, &mask, sizeof(mask));
    put_value(r, NFTA_BITWISE_XOR, &flip, sizeof(flip));
    end(r, e);
}

void local_nft_lookup(struct local_nft_rule *r, const char *set, uint32_t id, uint32_t reg,
                      bool absent)
{
    struct expr e = begin(r, "lookup");
    mnl_attr_put_strz(r->m, NFTA_LOOKUP_SET, set);
    local_nl_put_be32(r->m, NFTA_LOOKUP_SREG, reg);
    local_nl_put_be32(r->m, NFTA_LOOKUP_SET_ID, id);
    if (absent) {
        local_nl_put_be32(r->m, NFTA_LOOKUP_FLAGS, NFT_LOOKUP_F_INV);
    }
    end(r, e);
}

void local_nft_lookup_map(struct local_nft_rule *r, const char *map, uint32_t id, uint32_t reg,
                          uint32_t to)
{
    struct expr e = begin(r, "lookup");
    mnl_attr_put_strz(r->m, NFTA_LOOKUP_SET, map);
    local_nl_put_be32(r->m, NFTA_LOOKUP_SREG, reg);
    local_nl_put_be32(r->m, NFTA_LOOKUP_DREG, to);
    local_nl_put_be32(r->m, NFTA_LOOKUP_SET_ID, id);
    end(r, e);
}

void local_nft_numgen(struct local_nft_rule *r, uint32_t mod, uint32_t reg)
{
    struct expr e = begin(r, "numgen");
    local_nl_put_be32(r->m, NFTA_NG_DREG, reg);
    local_nl_put_be32(r->m, NFTA_NG_MODULUS, mod);
    local_nl_put_be32(r->m, NFTA_NG_TYPE, NFT_NG_INCREMENTAL);
    end(r, e);
}

void local_nft_jhash(struct local_nft_rule *r, uint32_t from, uint32_t len, uint32_t mod,
                     uint32_t seed, uint32_t reg)
{
    struct expr e = begin(r, "hash");
    local_nl_put_be32(r->m, NFTA_HASH_SREG, from);
    local_nl_put_be32(r->m, NFTA_HASH_DREG, reg);
    local_nl_put_be32(r->m, NFTA_HASH_LEN, len);
    local_nl_put_be32(r->m, NFTA_HASH_MODULUS, mod);
    local_nl_put_be32(r->m, NFTA_HASH_SEED, seed);
    local_nl_put_be32(r->m, NFTA_HASH_TYPE, NFT_HASH_JENKINS);
    end(r, e);
}

void local_nft_verdict(struct local_nft_rule *r, int verdict)
{
    struct expr e = begin(r, "immediate");
    local_nl_put_be32(r->m, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    struct nlattr *data = mnl_attr_nest_start(r->m, NFTA_IMMEDIATE_DATA);
    struct nlattr *nest = mnl_attr_nest_start(r->m, NFTA_DATA_VERDICT);
    local_nl_put_be32(r->m, NFTA_VERDICT_CODE, (uint32_t)verdict);
    mnl_attr_nest_end(r->m, nest);
    mnl_attr_nest_end(r->m, data);
    end(r, e);
}

void local_nft_reject(struct local_nft_rule *r, uint32_t type, uint8_t icmp_code)
{
    struct expr e = begin(r, "reject");
    local_nl_put_be32(r->m, NFTA_REJECT_TYPE, type);
    mnl_attr_put_u8(r->m, NFTA_REJECT_ICMP_CODE, icmp_code);
    end(r, e);
}

void local_nft_dnat(struct local_nft_rule *r, uint32_t family, uint32_t addr_reg, uint32_t port_reg)
{
    struct expr e = begin(r, "nat");
    local_nl_put_be32(r->m, NFTA_NAT_TYPE, NFT_NAT_DNAT);
    local_nl_put_be32(r->m, NFTA_NAT_FAMILY, family);
    local_nl_put_be32(r->m, NFTA_NAT_REG_ADDR_MIN, addr_reg);
    local_nl_put_be32(r->m, NFTA_NAT_REG_PROTO_MIN, port_reg);
    end(r, e);
}

void local_nft_masquerade(struct local_nft_rule *r, uint32_t flags)
{
    struct expr e = begin(r, "masq");
    local_nl_put_be32(r->m, NFTA_MASQ_FLAGS, flags);
    end(r, e);
}
