/* SPDX-License-Identifier: Apache-2.0 */
/* nft_table.c: our table, all of it in one transaction: sets, maps, chains and a fixed number of
 * rules.
 *
 *   tt_guard     prerouting −120: packets to a VIP continue if their frontend is open for all, or
 *                for their source; frontends of snat get the mark
 *   tt_dnat      prerouting −105, and tt_dnat_out output −105 for clients on this machine: a rule
 *                for each map of slots
 *   tt_snat      postrouting: what has the mark is masqueraded
 *
 * docs/providers/local.md has it as nft prints it.  No rule names a VIP: rules do not
 * grow with Services. */
#include "providers/local/kernel/nft.h"
#include "providers/local/kernel/nft_expr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_PRIORITY (-120)
#define DNAT_PRIORITY  (NF_IP_PRI_NAT_DST - 5)
/* The same on every director, so that all of them choose the same target for a client. */
#define HASH_SEED 0x7472696du
/* Offsets in the IP headers. */
enum { IP4_SADDR = 12, IP4_DADDR = 16, IP6_SADDR = 8, IP6_DADDR = 24, TH_DPORT = 2 };
/* The word of the registers from which jhash reads an address: behind the longest key. */
#define HASH_WORD 8

struct make {
    struct local_nl *nl;
    struct local_nl_buf *b;
    const struct local_nft_table_args *args;
    struct local_nft_set_info sets[LOCAL_NFT_SETS];
    uint32_t anonymous; /* sets made so far */
    uint32_t last;      /* sequence number of the newest message */
};

static struct nlmsghdr *begin(struct make *k, uint16_t type, uint16_t flags)
{
    struct nlmsghdr *m = local_nft_begin(k->nl, k->b, type, (uint16_t)(NLM_F_CREATE | flags));
    k->last = m->nlmsg_seq;
    return m;
}

/* --- table and sets --------------------------------------------------------------------------- */

static void make_table(struct make *k)
{
    char text[LOCAL_NFT_COMMENT_MAX + 1];
    uint8_t notes[LOCAL_NFT_UDATA_MAX];
    snprintf(text, sizeof(text), LOCAL_NFT_COMMENT "%.80s %d", k->args->director, LOCAL_NFT_LAYOUT);
    struct nlmsghdr *m = begin(k, NFT_MSG_NEWTABLE, NLM_F_EXCL);
    mnl_attr_put_strz(m, NFTA_TABLE_NAME, k->args->instance);
    local_nl_put_be32(m, NFTA_TABLE_FLAGS, 0);
    mnl_attr_put(m, NFTA_TABLE_USERDATA, local_nft_comment_notes(text, notes), notes);
    local_nl_end(k->b);
}

/* The lengths of the parts of a key, which the kernel needs for intervals. */
static void put_parts(struct nlmsghdr *m, const uint32_t *lens, unsigned n)
{
    struct nlattr *desc = mnl_attr_nest_start(m, NFTA_SET_DESC);
    struct nlattr *concat = mnl_attr_nest_start(m, NFTA_SET_DESC_CONCAT);
    for (unsigned i = 0; i < n; i++) {
        struct nlattr *part = mnl_attr_nest_start(m, NFTA_LIST_ELEM);
        local_nl_put_be32(m, NFTA_SET_FIELD_LEN, lens[i]);
        mnl_attr_nest_end(m, part);
    }
    mnl_attr_nest_end(m, concat);
    mnl_attr_nest_end(m, desc);
}

static uint32_t set_flags(const struct local_nft_set_info *s)
{
    switch (s->set) {
    case LOCAL_NFT_SCOPE:
        return NFT_SET_INTERVAL;
    case LOCAL_NFT_FROM:
    case LOCAL_NFT_ALSO:
        return NFT_SET_INTERVAL | NFT_SET_CONCAT;
    case LOCAL_NFT_SLOT:
        return NFT_SET_MAP;
    default:
        return 0;
    }
}

/* The number of a set in this transaction. */
static uint32_t set_id(unsigned i)
{
    return i + 1;
}

static void make_set(struct make *k, unsigned i)
{
    const struct local_nft_set_info *s = &k->sets[i];
    uint8_t notes[LOCAL_NFT_UDATA_MAX];
    uint32_t addr = s->v6 ? 16 : 4;
    struct nlmsghdr *m = begin(k, NFT_MSG_NEWSET, 0);
    mnl_attr_put_strz(m, NFTA_SET_TABLE, k->args->instance);
    mnl_attr_put_strz(m, NFTA_SET_NAME, s->name);
    local_nl_put_be32(m, NFTA_SET_FLAGS, set_flags(s));
    local_nl_put_be32(m, NFTA_SET_KEY_TYPE, local_nft_key_type(s));
    local_nl_put_be32(m, NFTA_SET_KEY_LEN, (uint32_t)local_nft_key_len(s));
    local_nl_put_be32(m, NFTA_SET_ID, set_id(i));
    if (s->set == LOCAL_NFT_SLOT) {
        local_nl_put_be32(m, NFTA_SET_DATA_TYPE, local_nft_value_type(s));
        local_nl_put_be32(m, NFTA_SET_DATA_LEN, addr + 4);
    }
    if (local_nft_has_ranges(s->set)) {
        put_parts(m, (uint32_t[]){addr, 1, 2, addr}, 4);
    }
    mnl_attr_put(m, NFTA_SET_USERDATA, local_nft_set_notes(s, notes), notes);
    local_nl_end(k->b);
}

/* nft's numbers of types of one byte. */
enum { TYPE_PROTOCOL = 12, TYPE_ICMP = 14, TYPE_ICMP6 = 29 };

/* A set of a rule's own: { a, b, c }.  Returns its number. */
static uint32_t make_anonymous(struct make *k, uint32_t type, const uint8_t *values, unsigned n)
{
    uint32_t id = set_id(LOCAL_NFT_SETS) + k->anonymous++;
    struct nlmsghdr *m = begin(k, NFT_MSG_NEWSET, 0);
    mnl_attr_put_strz(m, NFTA_SET_TABLE, k->args->instance);
    mnl_attr_put_strz(m, NFTA_SET_NAME, "__set%d");
    local_nl_put_be32(m, NFTA_SET_FLAGS, NFT_SET_ANONYMOUS | NFT_SET_CONSTANT);
    local_nl_put_be32(m, NFTA_SET_KEY_TYPE, type);
    local_nl_put_be32(m, NFTA_SET_KEY_LEN, 1);
    local_nl_put_be32(m, NFTA_SET_ID, id);
    struct nlattr *desc = mnl_attr_nest_start(m, NFTA_SET_DESC);
    local_nl_put_be32(m, NFTA_SET_DESC_SIZE, n);
    mnl_attr_nest_end(m, desc);
    local_nl_end(k->b);
    m = begin(k, NFT_MSG_NEWSETELEM, 0);
    mnl_attr_put_strz(m, NFTA_SET_ELEM_LIST_TABLE, k->args->instance);
    mnl_attr_put_strz(m, NFTA_SET_ELEM_LIST_SET, "__set%d");
    local_nl_put_be32(m, NFTA_SET_ELEM_LIST_SET_ID, id);
    struct nlattr *list = mnl_attr_nest_start(m, NFTA_SET_ELEM_LIST_ELEMENTS);
    for (unsigned i = 0; i < n; i++) {
        struct nlattr *item = mnl_attr_nest_start(m, NFTA_LIST_ELEM);
        struct nlattr *key = mnl_attr_nest_start(m, NFTA_SET_ELEM_KEY);
        mnl_attr_put(m, NFTA_DATA_VALUE, 1, &values[i]);
        mnl_attr_nest_end(m, key);
        mnl_attr_nest_end(m, item);
    }
    mnl_attr_nest_end(m, list);
    local_nl_end(k->b);
    return id;
}

/* --- chains and rules ------------------------------------------------------------------------- */

struct chain {
    const char *name;
    const char *type;
    uint32_t hook;
    int32_t priority;
};

static void make_chain(struct make *k, const struct chain *c)
{
    struct nlmsghdr *m = begin(k, NFT_MSG_NEWCHAIN, 0);
    mnl_attr_put_strz(m, NFTA_CHAIN_TABLE, k->args->instance);
    mnl_attr_put_strz(m, NFTA_CHAIN_NAME, c->name);
    mnl_attr_put_strz(m, NFTA_CHAIN_TYPE, c->type);
    local_nl_put_be32(m, NFTA_CHAIN_POLICY, NF_ACCEPT);
    struct nlattr *hook = mnl_attr_nest_start(m, NFTA_CHAIN_HOOK);
    local_nl_put_be32(m, NFTA_HOOK_HOOKNUM, c->hook);
    local_nl_put_be32(m, NFTA_HOOK_PRIORITY, (uint32_t)c->priority);
    mnl_attr_nest_end(m, hook);
    local_nl_end(k->b);
}

static struct local_nft_rule begin_rule(struct make *k, const char *chain)
{
    struct nlmsghdr *m = begin(k, NFT_MSG_NEWRULE, NLM_F_APPEND);
    mnl_attr_put_strz(m, NFTA_RULE_TABLE, k->args->instance);
    mnl_attr_put_strz(m, NFTA_RULE_CHAIN, chain);
    return (struct local_nft_rule){m, mnl_attr_nest_start(m, NFTA_RULE_EXPRESSIONS)};
}

static void end_rule(struct make *k, struct local_nft_rule *r)
{
    mnl_attr_nest_end(r->m, r->exprs);
    local_nl_end(k->b);
}

static void only_family(struct local_nft_rule *r, bool v6)
{
    uint8_t family = v6 ? NFPROTO_IPV6 : NFPROTO_IPV4;
    local_nft_meta_load(r, NFT_META_NFPROTO, local_nft_reg(0));
    local_nft_cmp(r, NFT_CMP_EQ, local_nft_reg(0), &family, 1);
}

static void only_l4(struct local_nft_rule *r, uint8_t protocol)
{
    local_nft_meta_load(r, NFT_META_L4PROTO, local_nft_reg(0));
    local_nft_cmp(r, NFT_CMP_EQ, local_nft_reg(0), &protocol, 1);
}

static void load_addr(struct local_nft_rule *r, bool v6, bool source, unsigned word)
{
    uint32_t at = v6 ? (source ? IP6_SADDR : IP6_DADDR) : (source ? IP4_SADDR : IP4_DADDR);
    local_nft_payload(r, NFT_PAYLOAD_NETWORK_HEADER, at, v6 ? 16 : 4, local_nft_reg(word));
}

/* Loads daddr . l4proto . dport; returns the word behind them. */
static unsigned load_frontend(struct local_nft_rule *r, bool v6)
{
    unsigned word = v6 ? 4 : 1;
    load_addr(r, v6, false, 0);
    local_nft_meta_load(r, NFT_META_L4PROTO, local_nft_reg(word));
    local_nft_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, TH_DPORT, 2, local_nft_reg(word + 1));
    return word + 2;
}

static unsigned set_number(bool v6, enum local_nft_set set)
{
    return (v6 ? LOCAL_NFT_SETS_HALF : 0) + (unsigned)set;
}

static void lookup(struct make *k, struct local_nft_rule *r, bool v6, enum local_nft_set set,
                   bool absent)
{
    unsigned i = set_number(v6, set);
    local_nft_lookup(r, k->sets[i].name, set_id(i), local_nft_reg(0), absent);
}

/* Packets allowed to a VIP beside the frontends: pings, errors of connections, and neighbour
 * discovery. */
static const uint8_t icmp_types[] = {ICMP_ECHO, ICMP_DEST_UNREACH, ICMP_TIME_EXCEEDED};
static const uint8_t icmp6_types[] = {ICMP6_ECHO_REQUEST,  ICMP6_DST_UNREACH, ICMP6_PACKET_TOO_BIG,
                                      ICMP6_TIME_EXCEEDED, ICMP6_PARAM_PROB,  ND_NEIGHBOR_SOLICIT,
                                      ND_NEIGHBOR_ADVERT};

static void guard_icmp(struct make *k, bool v6)
{
    uint32_t id = v6 ? make_anonymous(k, TYPE_ICMP6, icmp6_types, sizeof(icmp6_types))
                     : make_anonymous(k, TYPE_ICMP, icmp_types, sizeof(icmp_types));
    struct local_nft_rule r = begin_rule(k, "tt_guard");
    only_family(&r, v6);
    only_l4(&r, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    local_nft_payload(&r, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1, local_nft_reg(0));
    local_nft_lookup(&r, "__set%d", id, local_nft_reg(0), false);
    local_nft_verdict(&r, NFT_RETURN);
    end_rule(k, &r);
}

static void mark_rule(struct make *k, const char *chain, bool v6)
{
    uint32_t bit = k->args->mark_bit;
    struct local_nft_rule r = begin_rule(k, chain);
    only_family(&r, v6);
    (void)load_frontend(&r, v6); /* no more parts */
    lookup(k, &r, v6, LOCAL_NFT_SNAT, false);
    local_nft_meta_load(&r, NFT_META_MARK, local_nft_reg(0));
    local_nft_bits(&r, local_nft_reg(0), ~bit, bit);
    local_nft_meta_set(&r, NFT_META_MARK, local_nft_reg(0));
    end_rule(k, &r);
}

/* A packet whose frontend, and with FROM and ALSO its source, is in the set continues. */
static void open_rule(struct make *k, bool v6, enum local_nft_set set)
{
    struct local_nft_rule r = begin_rule(k, "tt_guard");
    only_family(&r, v6);
    unsigned word = load_frontend(&r, v6);
    if (local_nft_has_ranges(set)) {
        load_addr(&r, v6, true, word);
    }
    lookup(k, &r, v6, set, false);
    local_nft_verdict(&r, NFT_RETURN);
    end_rule(k, &r);
}

static void guard_family(struct make *k, bool v6)
{
    struct local_nft_rule r = begin_rule(k, "tt_guard");
    only_family(&r, v6);
    load_addr(&r, v6, false, 0);
    lookup(k, &r, v6, LOCAL_NFT_VIP, true);
    local_nft_verdict(&r, NFT_RETURN);
    end_rule(k, &r);
    guard_icmp(k, v6);
    mark_rule(k, "tt_guard", v6);
    open_rule(k, v6, LOCAL_NFT_ALL);
    open_rule(k, v6, LOCAL_NFT_FROM);
    open_rule(k, v6, LOCAL_NFT_ALSO);
}

/* The rest goes to a VIP without an open frontend. */
static void guard_end(struct make *k)
{
    struct local_nft_rule r;
    if (k->args->closed_ports_drop) {
        r = begin_rule(k, "tt_guard");
        local_nft_verdict(&r, NF_DROP);
        end_rule(k, &r);
        return;
    }
    r = begin_rule(k, "tt_guard");
    only_l4(&r, IPPROTO_TCP);
    local_nft_reject(&r, NFT_REJECT_TCP_RST, 0);
    end_rule(k, &r);
    r = begin_rule(k, "tt_guard");
    local_nft_reject(&r, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_PORT_UNREACH);
    end_rule(k, &r);
}

static void dnat_rule(struct make *k, const char *chain, unsigned i)
{
    static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};
    const struct local_nft_set_info *s = &k->sets[i];
    uint32_t id = make_anonymous(k, TYPE_PROTOCOL, protocols, sizeof(protocols));
    struct local_nft_rule r = begin_rule(k, chain);
    local_nft_meta_load(&r, NFT_META_L4PROTO, local_nft_reg(0));
    local_nft_lookup(&r, "__set%d", id, local_nft_reg(0), false);
    only_family(&r, s->v6);
    uint32_t slot = local_nft_reg(load_frontend(&r, s->v6));
    if (s->hash) {
        load_addr(&r, s->v6, true, HASH_WORD);
        local_nft_jhash(&r, local_nft_reg(HASH_WORD), s->v6 ? 16 : 4, s->m, HASH_SEED, slot);
    } else {
        local_nft_numgen(&r, s->m, slot);
    }
    local_nft_lookup_map(&r, s->name, set_id(i), local_nft_reg(0), local_nft_reg(0));
    local_nft_dnat(&r, s->v6 ? NFPROTO_IPV6 : NFPROTO_IPV4, local_nft_reg(0),
                   local_nft_reg(s->v6 ? 4 : 1));
    end_rule(k, &r);
}

static void put_routes(const struct make *k, struct nlmsghdr *m)
{
    char text[LOCAL_NFT_COMMENT_MAX];
    uint8_t notes[LOCAL_NFT_UDATA_MAX];
    snprintf(text, sizeof(text), LOCAL_NFT_ROUTES, (unsigned)k->args->routes.protocol,
             (unsigned)k->args->routes.table);
    mnl_attr_put(m, NFTA_RULE_USERDATA, local_nft_comment_notes(text, notes), notes);
}

static void snat_rule(struct make *k)
{
    uint32_t none = 0;
    struct local_nft_rule r = begin_rule(k, "tt_snat");
    local_nft_meta_load(&r, NFT_META_MARK, local_nft_reg(0));
    local_nft_bits(&r, local_nft_reg(0), k->args->mark_bit, 0);
    local_nft_cmp(&r, NFT_CMP_NEQ, local_nft_reg(0), &none, sizeof(none));
    local_nft_masquerade(&r, NF_NAT_RANGE_PROTO_RANDOM_FULLY);
    mnl_attr_nest_end(r.m, r.exprs);
    put_routes(k, r.m);
    local_nl_end(k->b);
}

static const struct chain chains[LOCAL_NFT_CHAINS] = {
    {"tt_guard", "filter", NF_INET_PRE_ROUTING, GUARD_PRIORITY},
    {"tt_dnat", "nat", NF_INET_PRE_ROUTING, DNAT_PRIORITY},
    {"tt_dnat_out", "nat", NF_INET_LOCAL_OUT, DNAT_PRIORITY},
    {"tt_snat", "nat", NF_INET_POST_ROUTING, NF_IP_PRI_NAT_SRC},
};

static void make_rules(struct make *k)
{
    for (unsigned i = 0; i < ARRAY_LEN(chains); i++) {
        make_chain(k, &chains[i]);
    }
    guard_family(k, false);
    guard_family(k, true);
    guard_end(k);
    /* Packets of this machine's own processes pass no prerouting, and get their mark here. */
    mark_rule(k, "tt_dnat_out", false);
    mark_rule(k, "tt_dnat_out", true);
    for (unsigned i = 0; i < LOCAL_NFT_SETS; i++) {
        if (k->sets[i].set == LOCAL_NFT_SLOT) {
            dnat_rule(k, "tt_dnat", i);
            dnat_rule(k, "tt_dnat_out", i);
        }
    }
    snat_rule(k);
}

static void note_sets(struct make *k)
{
    for (unsigned i = 0; i < LOCAL_NFT_SETS; i++) {
        local_nft_set_info(i, &k->sets[i]);
    }
}

void local_nft_put_table(struct local_nl *nl, struct local_nl_buf *b,
                         const struct local_nft_table_args *args, uint32_t *ret_last)
{
    struct make k = {.nl = nl, .b = b, .args = args};
    note_sets(&k);
    make_table(&k);
    for (unsigned i = 0; i < LOCAL_NFT_SETS; i++) {
        make_set(&k, i);
    }
    make_rules(&k);
    *ret_last = k.last;
}

void local_nft_put_rules(struct local_nl *nl, struct local_nl_buf *b,
                         const struct local_nft_table_args *args, uint32_t *ret_last)
{
    struct make k = {.nl = nl, .b = b, .args = args};
    note_sets(&k);
    make_rules(&k);
    *ret_last = k.last;
}

void local_nft_put_set(struct local_nl *nl, struct local_nl_buf *b, const char *instance,
                       unsigned number, uint32_t *ret_last)
{
    const struct local_nft_table_args args = {.instance = instance};
    struct make k = {.nl = nl, .b = b, .args = &args};
    note_sets(&k);
    make_set(&k, number);
    *ret_last = k.last;
}

bool local_nft_is_chain(const char *name)
{
    for (unsigned i = 0; i < ARRAY_LEN(chains); i++) {
        if (strcmp(chains[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

bool local_nft_is_set(const char *name)
{
    for (unsigned i = 0; i < LOCAL_NFT_SETS; i++) {
        struct local_nft_set_info info;
        local_nft_set_info(i, &info);
        if (strcmp(info.name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* --- look, remove ----------------------------------------------------------------------------- */

static void read_table(void *arg, const struct nlmsghdr *m)
{
    struct local_nft_table *t = arg;
    struct local_nl_attrs a;
    local_nl_parse(m, sizeof(struct nfgenmsg), &a);
    const struct nlattr *notes = a.at[NFTA_TABLE_USERDATA];
    size_t n = 0;
    const char *text = notes == NULL ? NULL
                                     : local_nft_read_comment(mnl_attr_get_payload(notes),
                                                              mnl_attr_get_payload_len(notes), &n);
    char copy[LOCAL_NFT_UDATA_MAX];
    t->exists = true;
    snprintf(copy, sizeof(copy), "%.*s", (int)n, text != NULL ? text : "");
    t->ours = strncmp(copy, LOCAL_NFT_COMMENT, strlen(LOCAL_NFT_COMMENT)) == 0;
    const char *layout = strrchr(copy, ' ');
    t->layout = t->ours && layout != NULL ? (unsigned)strtoul(layout, NULL, 10) : 0;
}

static void read_look(void *arg, const struct nlmsghdr *m)
{
    struct local_nft_table *t = arg;

    if (!local_nft_read_generation(m, &t->generation)) {
        read_table(t, m);
    }
}

/* Both questions in one exchange. */
int local_nft_look(struct local_nl *nl, const char *instance, struct local_nft_table *ret,
                   struct err *err)
{
    struct local_nl_buf b = {0};
    struct local_nft_table t = {0};
    struct local_nl_hear hear = {.message = read_look, .arg = &t};
    int error = 0;
    struct nlmsghdr *m = local_nft_begin(nl, &b, NFT_MSG_GETTABLE, NLM_F_ACK);
    mnl_attr_put_strz(m, NFTA_TABLE_NAME, instance);
    local_nl_end(&b);
    local_nft_begin(nl, &b, NFT_MSG_GETGEN, NLM_F_ACK);
    local_nl_end(&b);
    int code = local_nl_ask(nl, &b, &hear, &error, err);
    local_nl_buf_done(&b);
    if (code == ERR_OK && error != 0 && error != ENOENT) {
        code = local_nft_error(err, error, instance, "");
    }
    if (code == ERR_OK) {
        *ret = t;
    }
    return code;
}

struct instances {
    struct arena *a;
    const char **names;
    size_t n;
};

static void keep_instance(void *arg, const struct nlmsghdr *m)
{
    struct instances *l = arg;
    struct local_nft_table t = {0};
    struct local_nl_attrs at;
    const struct nfgenmsg *head = mnl_nlmsg_get_payload(m);
    if (m->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE) ||
        head->nfgen_family != NFPROTO_INET) {
        return;
    }
    read_table(&t, m);
    local_nl_parse(m, sizeof(struct nfgenmsg), &at);
    if (!t.ours || at.at[NFTA_TABLE_NAME] == NULL) {
        return;
    }
    const char **more = ARENA_ARRAY(l->a, const char *, l->n + 1);
    if (l->n > 0) {
        memcpy(more, l->names, l->n * sizeof(*more));
    }
    l->names = more;
    l->names[l->n++] = arena_strdup(l->a, mnl_attr_get_str(at.at[NFTA_TABLE_NAME]));
}

int local_nft_instances(struct local_nl *nl, struct arena *a, const char ***ret, size_t *ret_n,
                        struct err *err)
{
    struct local_nl_buf b = {0};
    struct instances l = {.a = a};
    struct local_nl_hear hear = {.message = keep_instance, .arg = &l};
    int error = 0;
    local_nft_begin(nl, &b, NFT_MSG_GETTABLE, NLM_F_DUMP);
    local_nl_end(&b);
    int code = local_nl_ask(nl, &b, &hear, &error, err);
    local_nl_buf_done(&b);
    if (code == ERR_OK && error != 0) {
        code = local_nft_error(err, error, "tables", "");
    }
    *ret = l.names;
    *ret_n = l.n;
    return code;
}

bool local_nft_read_generation(const struct nlmsghdr *m, uint32_t *ret)
{
    struct local_nl_attrs a;
    if (m->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWGEN)) {
        return false;
    }
    local_nl_parse(m, sizeof(struct nfgenmsg), &a);
    *ret = local_nl_be32(a.at[NFTA_GEN_ID]);
    return true;
}

static void read_generation(void *arg, const struct nlmsghdr *m)
{
    (void)local_nft_read_generation(m, arg); /* nothing else was asked for */
}

int local_nft_generation(struct local_nl *nl, uint32_t *ret, struct err *err)
{
    struct local_nl_buf b = {0};
    struct local_nl_hear hear = {.message = read_generation, .arg = ret};
    int error = 0;
    local_nft_begin(nl, &b, NFT_MSG_GETGEN, NLM_F_ACK);
    local_nl_end(&b);
    int code = local_nl_ask(nl, &b, &hear, &error, err);
    local_nl_buf_done(&b);
    if (code == ERR_OK && error == EINVAL) {
        error = EOPNOTSUPP; /* nfnetlink knows no such subsystem */
    }
    return code != ERR_OK || error == 0 ? code : local_nft_error(err, error, "the rule set", "");
}

int local_nft_remove(struct local_nl *nl, const char *instance, struct err *err)
{
    struct local_nl_buf b = {0};
    struct local_nft_refusal no;
    local_nft_batch_begin(nl, &b);
    struct nlmsghdr *m = local_nft_begin(nl, &b, NFT_MSG_DELTABLE, NLM_F_ACK);
    mnl_attr_put_strz(m, NFTA_TABLE_NAME, instance);
    uint32_t seq = m->nlmsg_seq;
    local_nl_end(&b);
    local_nft_batch_end(nl, &b);
    int code = local_nft_send(nl, &b, seq, &no, err);
    local_nl_buf_done(&b);
    if (code != ERR_OK || no.error == 0 || no.error == ENOENT) {
        return code;
    }
    return local_nft_error(err, no.error, instance, no.text);
}
