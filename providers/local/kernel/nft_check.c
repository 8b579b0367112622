/* SPDX-License-Identifier: Apache-2.0 */
/* nft_check.c: does the table have the sets, chains and rules that this version makes for this
 * configuration?
 *
 * Rules are compared by a digest of each chain: the expressions in order, and of each its
 * attributes in the order of their numbers.  The kernel shows a rule in its own words: it leaves
 * out numbers that are 0 or adds them, gives the sets of a rule names, and adds what it derives for
 * itself; the digest leaves all of that out. */
#include "common/base/hash.h"
#include "providers/local/kernel/nft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAINS_MAX 8
#define OWN_SET    "__set" /* what the name of a rule's own set begins with */

/* Rules of one table. */
struct rules {
    const char *table;
    struct chain_rules {
        char name[NFT_NAME_MAXLEN];
        uint64_t digest;
    } chains[CHAINS_MAX];
    size_t n;
    bool too_many;
    struct local_rt_args routes; /* that the comment of a rule says */
};

/* --- what is compared of a rule --------------------------------------------------------------- */

/* Attributes of expressions that are not plain values. */
static const struct {
    const char *expr;
    uint16_t type;
    enum { NESTED, DERIVED, SET_NAME } how;
} special[] = {
    {"bitwise", NFTA_BITWISE_MASK, NESTED},  {"bitwise", NFTA_BITWISE_XOR, NESTED},
    {"cmp", NFTA_CMP_DATA, NESTED},          {"immediate", NFTA_IMMEDIATE_DATA, NESTED},
    {"lookup", NFTA_LOOKUP_SET, SET_NAME},   {"lookup", NFTA_LOOKUP_SET_ID, DERIVED},
    {"nat", NFTA_NAT_REG_ADDR_MAX, DERIVED}, {"nat", NFTA_NAT_REG_PROTO_MAX, DERIVED},
    {"nat", NFTA_NAT_FLAGS, DERIVED},
};

static int special_of(const char *expr, uint16_t type)
{
    for (size_t i = 0; i < ARRAY_LEN(special); i++) {
        if (special[i].type == type && strcmp(special[i].expr, expr) == 0) {
            return (int)special[i].how;
        }
    }
    return -1;
}

static uint64_t add_value(uint64_t digest, uint16_t type, const void *value, size_t n)
{
    const uint8_t *bytes = value;
    size_t i = 0;
    while (i < n && bytes[i] == 0) {
        i++;
    }
    if (i == n) {
        return digest;
    }
    digest = hash_bytes(digest, &type, sizeof(type));
    return hash_bytes(digest, value, n);
}

/* NFTA_DATA_VALUE, or NFTA_DATA_VERDICT with its code. */
static uint64_t add_data(uint64_t digest, uint16_t type, const struct nlattr *data)
{
    struct local_nl_attrs at;
    local_nl_parse_nest(data, &at);
    const struct nlattr *value = at.at[NFTA_DATA_VALUE];
    if (at.at[NFTA_DATA_VERDICT] != NULL) {
        struct local_nl_attrs verdict;
        local_nl_parse_nest(at.at[NFTA_DATA_VERDICT], &verdict);
        value = verdict.at[NFTA_VERDICT_CODE];
    }
    return value == NULL ? digest
                         : add_value(digest, type, mnl_attr_get_payload(value),
                                     mnl_attr_get_payload_len(value));
}

static uint64_t add_attr(uint64_t digest, const char *expr, uint16_t type, const struct nlattr *a)
{
    const char *text = mnl_attr_get_payload(a);
    size_t n = mnl_attr_get_payload_len(a);
    switch (special_of(expr, type)) {
    case NESTED:
        return add_data(digest, type, a);
    case DERIVED:
        return digest;
    case SET_NAME:
        n = strnlen(text, n);
        n = strncmp(text, OWN_SET, strlen(OWN_SET)) == 0 ? strlen(OWN_SET) : n;
        break;
    default:
        break;
    }
    return add_value(digest, type, text, n);
}

static uint64_t add_expr(uint64_t digest, const struct nlattr *expr)
{
    struct local_nl_attrs e, data;
    local_nl_parse_nest(expr, &e);
    if (e.at[NFTA_EXPR_NAME] == NULL) {
        return digest;
    }
    char name[NFT_NAME_MAXLEN];
    snprintf(name, sizeof(name), "%.*s", (int)mnl_attr_get_payload_len(e.at[NFTA_EXPR_NAME]),
             (const char *)mnl_attr_get_payload(e.at[NFTA_EXPR_NAME]));
    digest = hash_bytes(digest, name, strlen(name) + 1);
    if (e.at[NFTA_EXPR_DATA] == NULL) {
        return digest;
    }
    local_nl_parse_nest(e.at[NFTA_EXPR_DATA], &data);
    for (uint16_t type = 0; type < LOCAL_NL_ATTRS; type++) {
        if (data.at[type] != NULL) {
            digest = add_attr(digest, name, type, data.at[type]);
        }
    }
    return digest;
}

/* --- rules ------------------------------------------------------------------------------------ */

static struct chain_rules *chain_of(struct rules *r, const struct nlattr *name)
{
    for (size_t i = 0; i < r->n; i++) {
        if (local_nl_text_is(name, r->chains[i].name)) {
            return &r->chains[i];
        }
    }
    if (r->n == ARRAY_LEN(r->chains)) {
        r->too_many = true;
        return NULL;
    }
    struct chain_rules *c = &r->chains[r->n++];
    *c = (struct chain_rules){.digest = 1};
    snprintf(c->name, sizeof(c->name), "%.*s", (int)mnl_attr_get_payload_len(name),
             (const char *)mnl_attr_get_payload(name));
    return c;
}

static void read_routes(const struct nlattr *notes, struct local_rt_args *ret)
{
    size_t n = 0;
    unsigned protocol = 0, table = 0;
    char text[LOCAL_NFT_UDATA_MAX];
    const char *comment =
        local_nft_read_comment(mnl_attr_get_payload(notes), mnl_attr_get_payload_len(notes), &n);
    snprintf(text, sizeof(text), "%.*s", (int)n, comment == NULL ? "" : comment);
    if (sscanf(text, LOCAL_NFT_ROUTES, &protocol, &table) == 2 && protocol <= UINT8_MAX) {
        *ret = (struct local_rt_args){.protocol = (uint8_t)protocol, .table = table};
    }
}

static void note_rule(void *arg, const struct nlmsghdr *m)
{
    struct rules *r = arg;
    struct local_nl_attrs at;
    const struct nlattr *item;
    if (m->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE)) {
        return;
    }
    local_nl_parse(m, sizeof(struct nfgenmsg), &at);
    if (!local_nl_text_is(at.at[NFTA_RULE_TABLE], r->table) || at.at[NFTA_RULE_CHAIN] == NULL ||
        at.at[NFTA_RULE_EXPRESSIONS] == NULL) {
        return;
    }
    struct chain_rules *c = chain_of(r, at.at[NFTA_RULE_CHAIN]);
    if (c == NULL) {
        return;
    }
    if (at.at[NFTA_RULE_USERDATA] != NULL) {
        read_routes(at.at[NFTA_RULE_USERDATA], &r->routes);
    }
    LOCAL_NL_EACH_IN(item, at.at[NFTA_RULE_EXPRESSIONS])
    {
        c->digest = add_expr(c->digest, item);
    }
    c->digest = hash_bytes(c->digest, ";", 1);
}

static bool has_chain(const struct rules *r, const struct chain_rules *c)
{
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->chains[i].name, c->name) == 0) {
            return r->chains[i].digest == c->digest;
        }
    }
    return false;
}

static void note_wanted(struct local_nl *nl, const struct local_nft_table_args *args,
                        struct rules *ret)
{
    struct local_nl_buf b = {0};
    uint32_t last;
    local_nft_put_table(nl, &b, args, &last);
    int left = (int)b.len;
    for (const struct nlmsghdr *m = (const void *)b.data; mnl_nlmsg_ok(m, left);
         m = mnl_nlmsg_next(m, &left)) {
        note_rule(ret, m);
    }
    local_nl_buf_done(&b);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* Dumps what one kind of message says of the table. */
static int dump(struct local_nl *nl, uint16_t type, uint16_t table_attr, const char *table,
                const struct local_nl_hear *hear, struct err *err)
{
    struct local_nl_buf b = {0};
    int error = 0;
    struct nlmsghdr *m = local_nft_begin(nl, &b, type, NLM_F_DUMP);
    mnl_attr_put_strz(m, table_attr, table);
    local_nl_end(&b);
    int code = local_nl_ask(nl, &b, hear, &error, err);
    local_nl_buf_done(&b);
    return code == ERR_OK && error != 0 && error != ENOENT ? local_nft_error(err, error, table, "")
                                                           : code;
}

static int check_rules(struct local_nl *nl, const struct local_nft_table_args *args,
                       bool *ret_whole, struct local_rt_args *ret_routes, struct err *err)
{
    struct rules wanted = {.table = args->instance}, there = wanted;
    const struct local_nl_hear hear = {.message = note_rule, .arg = &there};
    note_wanted(nl, args, &wanted);
    int code = dump(nl, NFT_MSG_GETRULE, NFTA_RULE_TABLE, args->instance, &hear, err);
    *ret_routes = there.routes;
    *ret_whole = !there.too_many && there.n == wanted.n &&
                 there.routes.protocol == wanted.routes.protocol &&
                 there.routes.table == wanted.routes.table;
    for (size_t i = 0; i < wanted.n; i++) {
        *ret_whole = *ret_whole && has_chain(&there, &wanted.chains[i]);
    }
    return code;
}

struct counting {
    const char *table;
    size_t ours, others;
};

static void count_chain(void *arg, const struct nlmsghdr *m)
{
    struct counting *c = arg;
    struct local_nl_attrs at;
    if (m->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN)) {
        return;
    }
    local_nl_parse(m, sizeof(struct nfgenmsg), &at);
    if (!local_nl_text_is(at.at[NFTA_CHAIN_TABLE], c->table) || at.at[NFTA_CHAIN_NAME] == NULL) {
        return;
    }
    bool accepts = local_nl_be32(at.at[NFTA_CHAIN_POLICY]) == NF_ACCEPT;
    bool ours = local_nft_is_chain(mnl_attr_get_str(at.at[NFTA_CHAIN_NAME])) && accepts;
    c->ours += ours;
    c->others += !ours;
}

static void count_set(void *arg, const struct nlmsghdr *m)
{
    struct counting *c = arg;
    struct local_nl_attrs at;
    if (m->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWSET)) {
        return;
    }
    local_nl_parse(m, sizeof(struct nfgenmsg), &at);
    if (!local_nl_text_is(at.at[NFTA_SET_TABLE], c->table) || at.at[NFTA_SET_NAME] == NULL ||
        (local_nl_be32(at.at[NFTA_SET_FLAGS]) & NFT_SET_ANONYMOUS) != 0) {
        return;
    }
    bool ours = local_nft_is_set(mnl_attr_get_str(at.at[NFTA_SET_NAME]));
    c->ours += ours;
    c->others += !ours;
}

int local_nft_check(struct local_nl *nl, const struct local_nft_table_args *args, bool *ret_whole,
                    struct local_rt_args *ret_routes, struct err *err)
{
    struct counting sets = {.table = args->instance}, chains = sets;
    bool rules = false;
    int code = check_rules(nl, args, &rules, ret_routes, err);
    if (code == ERR_OK) {
        const struct local_nl_hear hear = {.message = count_set, .arg = &sets};
        code = dump(nl, NFT_MSG_GETSET, NFTA_SET_TABLE, args->instance, &hear, err);
    }
    if (code == ERR_OK) {
        const struct local_nl_hear hear = {.message = count_chain, .arg = &chains};
        code = dump(nl, NFT_MSG_GETCHAIN, NFTA_CHAIN_TABLE, args->instance, &hear, err);
    }
    if (code == ERR_OK) {
        *ret_whole = rules && sets.ours == LOCAL_NFT_SETS && sets.others == 0 &&
                     chains.ours == LOCAL_NFT_CHAINS && chains.others == 0;
    }
    return code;
}
