/* SPDX-License-Identifier: Apache-2.0 */
/* nft_make.c: transactions that make our table, or make it again in place of one that is there.
 *
 * nft_table.c has the messages.  A table of another layout gets the sets that it lacks, then all
 * rules in one transaction, and loses the sets that no rule needs: each packet meets old rules or
 * new ones, with sets that are filled.  (A table that is deleted and made in one transaction is not
 * enough: elements of concatenated intervals can be found only after the new rules count.)  The
 * comment of a table cannot be changed, so that it keeps the number of the layout that made it;
 * rules and sets are compared (nft_check.c). */
#include "providers/local/kernel/nft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last message asks for an acknowledgement, because older kernels give none for the end
 * of a transaction. */
void local_nft_ask_ack(struct local_nl_buf *b, uint32_t seq)
{
    int left = (int)b->len;
    for (struct nlmsghdr *m = (void *)b->data; mnl_nlmsg_ok(m, left);
         m = mnl_nlmsg_next(m, &left)) {
        if (m->nlmsg_seq == seq) {
            m->nlmsg_flags |= NLM_F_ACK;
        }
    }
}

/* --- making ----------------------------------------------------------------------------------- */

struct making {
    const struct local_nl_buf *b;
    struct local_nft_refusal no; /* the first one */
    struct local_nft_lacks lacks;
};

static void hear_refusal(void *arg, const struct local_nl_ack *a)
{
    struct making *x = arg;
    local_nft_lacks_note(&x->lacks, x->b, a);
    if (a->error != 0 && x->no.error == 0) {
        x->no.error = a->error;
        x->no.seq = a->seq;
        snprintf(x->no.text, sizeof(x->no.text), "%s", a->text != NULL ? a->text : "");
    }
}

/* Ends the transaction and sends it.  `makes`: what it names is not there before, so that
 * ENOENT means that something of nf_tables is missing. */
static int send_all(struct local_nl *nl, struct local_nl_buf *b, uint32_t last,
                    const char *instance, bool makes, struct err *err)
{
    struct making x = {.b = b};
    struct local_nl_hear hear = {.ack = hear_refusal, .arg = &x};
    char what[64];
    local_nft_ask_ack(b, last);
    local_nft_batch_end(nl, b);
    int code = local_nl_talk(nl, b, last, &hear, err);
    if (code != ERR_OK || x.no.error == 0) {
        return code;
    }
    bool table = x.no.seq == b->first_seq + 1;
    if (local_nft_lacks_some(&x.lacks) || (makes && x.no.error == ENOENT && !table)) {
        return local_nft_lacks_say(&x.lacks, err);
    }
    snprintf(what, sizeof(what), "table inet %.32s", instance);
    return local_nft_error(err, makes && x.no.error == ENOENT ? EOPNOTSUPP : x.no.error, what,
                           x.no.text);
}

int local_nft_make(struct local_nl *nl, const struct local_nft_table_args *args, struct err *err)
{
    struct local_nl_buf b = {0};
    uint32_t last;
    local_nft_batch_begin(nl, &b);
    local_nft_put_table(nl, &b, args, &last);
    int code = send_all(nl, &b, last, args->instance, true, err);
    local_nl_buf_done(&b);
    return code;
}

/* --- making again ----------------------------------------------------------------------------- */

#define NAMES_MAX 96

/* Sets or chains of the table that is there, those of rules left out. */
struct names {
    const char *table;
    uint16_t type; /* of the messages */
    uint16_t table_attr, name_attr;
    char items[NAMES_MAX][NFT_NAME_MAXLEN];
    uint32_t key_len[NAMES_MAX]; /* of sets */
    size_t n;
};

static void note_name(void *arg, const struct nlmsghdr *m)
{
    struct names *l = arg;
    struct local_nl_attrs at;
    if (m->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | l->type) || l->n == NAMES_MAX) {
        return;
    }
    local_nl_parse(m, sizeof(struct nfgenmsg), &at);
    bool set = l->type == NFT_MSG_NEWSET;
    if (!local_nl_text_is(at.at[l->table_attr], l->table) || at.at[l->name_attr] == NULL ||
        (set && (local_nl_be32(at.at[NFTA_SET_FLAGS]) & NFT_SET_ANONYMOUS) != 0)) {
        return;
    }
    l->key_len[l->n] = set ? local_nl_be32(at.at[NFTA_SET_KEY_LEN]) : 0;
    snprintf(l->items[l->n++], NFT_NAME_MAXLEN, "%s", mnl_attr_get_str(at.at[l->name_attr]));
}

static int list_names(struct local_nl *nl, struct names *l, uint16_t get, struct err *err)
{
    struct local_nl_buf b = {0};
    struct local_nl_hear hear = {.message = note_name, .arg = l};
    int error = 0;
    struct nlmsghdr *m = local_nft_begin(nl, &b, get, NLM_F_DUMP);
    mnl_attr_put_strz(m, l->table_attr, l->table);
    local_nl_end(&b);
    int code = local_nl_ask(nl, &b, &hear, &error, err);
    local_nl_buf_done(&b);
    return code == ERR_OK && error != 0 ? local_nft_error(err, error, l->table, "") : code;
}

static int find_name(const struct names *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->items[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static int list_sets(struct local_nl *nl, const char *instance, struct names *ret, struct err *err)
{
    *ret = (struct names){.table = instance,
                          .type = NFT_MSG_NEWSET,
                          .table_attr = NFTA_SET_TABLE,
                          .name_attr = NFTA_SET_NAME};
    return list_names(nl, ret, NFT_MSG_GETSET, err);
}

/* Sets of ours that are not there, with their elements: they stand before a rule
 * looks into them. */
static int add_sets(struct local_nl *nl, const char *instance, const struct names *there,
                    const struct local_nft_change *adds, size_t n, struct err *err)
{
    struct local_nl_buf b = {0};
    bool missing[LOCAL_NFT_SETS];
    uint32_t last = 0;
    struct local_nft_change *some = xcalloc(n + 1, sizeof(*some));
    size_t n_some = 0;
    int code = ERR_OK;
    local_nft_batch_begin(nl, &b);
    for (unsigned i = 0; i < LOCAL_NFT_SETS; i++) {
        struct local_nft_set_info info;
        local_nft_set_info(i, &info);
        missing[i] = find_name(there, info.name) < 0;
        if (missing[i]) {
            local_nft_put_set(nl, &b, instance, i, &last);
        }
    }
    for (size_t i = 0; code == ERR_OK && i < n; i++) {
        unsigned set = 0;
        code = local_nft_set_of(&adds[i].e, &set, err);
        if (code == ERR_OK && missing[set]) {
            some[n_some++] = adds[i];
        }
    }
    if (code == ERR_OK) {
        code = local_nft_put_adds(nl, &b, instance, some, n_some, &last, err);
    }
    if (code == ERR_OK && last != 0) {
        code = send_all(nl, &b, last, instance, false, err);
    }
    free(some);
    local_nl_buf_done(&b);
    return code;
}

static void delete_named(struct local_nl *nl, struct local_nl_buf *b, const struct names *l,
                         uint16_t type, const char *name)
{
    struct nlmsghdr *m = local_nft_begin(nl, b, type, 0);
    mnl_attr_put_strz(m, l->table_attr, l->table);
    mnl_attr_put_strz(m, l->name_attr, name);
    local_nl_end(b);
}

/* All rules go, and ours come, in one transaction: the kernel changes from one to the
 * other between two packets. */
static int swap_rules(struct local_nl *nl, const struct local_nft_table_args *args, struct err *err)
{
    struct local_nl_buf b = {0};
    struct names chains = {.table = args->instance,
                           .type = NFT_MSG_NEWCHAIN,
                           .table_attr = NFTA_CHAIN_TABLE,
                           .name_attr = NFTA_CHAIN_NAME};
    uint32_t last = 0;
    int code = list_names(nl, &chains, NFT_MSG_GETCHAIN, err);
    if (code != ERR_OK) {
        return code;
    }
    local_nft_batch_begin(nl, &b);
    struct nlmsghdr *m = local_nft_begin(nl, &b, NFT_MSG_DELRULE, 0);
    mnl_attr_put_strz(m, NFTA_RULE_TABLE, args->instance);
    local_nl_end(&b);
    for (size_t i = 0; i < chains.n; i++) {
        if (!local_nft_is_chain(chains.items[i])) {
            delete_named(nl, &b, &chains, NFT_MSG_DELCHAIN, chains.items[i]);
        }
    }
    local_nft_put_rules(nl, &b, args, &last);
    code = send_all(nl, &b, last, args->instance, false, err);
    local_nl_buf_done(&b);
    return code;
}

/* No rule looks into them any more. */
static int drop_sets(struct local_nl *nl, const char *instance, const struct names *there,
                     struct err *err)
{
    struct local_nl_buf b = {0};
    uint32_t last = 0;
    int code = ERR_OK;
    local_nft_batch_begin(nl, &b);
    for (size_t i = 0; i < there->n; i++) {
        if (!local_nft_is_set(there->items[i])) {
            delete_named(nl, &b, there, NFT_MSG_DELSET, there->items[i]);
            last = nl->seq;
        }
    }
    if (last != 0) {
        code = send_all(nl, &b, last, instance, false, err);
    }
    local_nl_buf_done(&b);
    return code;
}

int local_nft_remake(struct local_nl *nl, const struct local_nft_table_args *args,
                     const struct local_nft_change *adds, size_t n, struct err *err)
{
    struct names *there = xcalloc(1, sizeof(*there));
    int code = list_sets(nl, args->instance, there, err);
    if (code == ERR_OK) {
        code = add_sets(nl, args->instance, there, adds, n, err);
    }
    if (code == ERR_OK) {
        code = swap_rules(nl, args, err);
    }
    if (code == ERR_OK) {
        code = drop_sets(nl, args->instance, there, err);
    }
    free(there);
    return code;
}
