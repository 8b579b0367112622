/* SPDX-License-Identifier: Apache-2.0 */
/* nft_elements.c: elements of our sets and maps in messages, and changes of them in one
 * transaction.
 *
 * A transaction first takes away and then adds, whatever order the changes have, so that a range
 * may be replaced by one that overlaps it.  Elements of one set share a message. */
#include "providers/local/kernel/nft.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A list of elements is an attribute, and its length has 16 bits. */
#define LIST_BYTES 48000

struct nlattr *local_nft_begin_list(struct nlmsghdr *m, const char *instance, const char *set)
{
    mnl_attr_put_strz(m, NFTA_SET_ELEM_LIST_TABLE, instance);
    mnl_attr_put_strz(m, NFTA_SET_ELEM_LIST_SET, set);
    return mnl_attr_nest_start(m, NFTA_SET_ELEM_LIST_ELEMENTS);
}

static void put_value(struct nlmsghdr *m, uint16_t type, const uint8_t *value, size_t n)
{
    struct nlattr *nest = mnl_attr_nest_start(m, type);
    mnl_attr_put(m, NFTA_DATA_VALUE, n, value);
    mnl_attr_nest_end(m, nest);
}

/* The end of an interval of a set without concatenation is an element of its own. */
static void put_scope_end(struct nlmsghdr *m, const struct local_nft_element *e)
{
    uint8_t key[LOCAL_NFT_KEY_MAX];
    size_t n = local_nft_key(e, true, key);
    if (n == 0) {
        return;
    }
    struct nlattr *item = mnl_attr_nest_start(m, NFTA_LIST_ELEM);
    put_value(m, NFTA_SET_ELEM_KEY, key, n);
    local_nl_put_be32(m, NFTA_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
    mnl_attr_nest_end(m, item);
}

void local_nft_put_key(struct nlmsghdr *m, const struct local_nft_element *e)
{
    uint8_t key[LOCAL_NFT_KEY_MAX];
    struct nlattr *item = mnl_attr_nest_start(m, NFTA_LIST_ELEM);
    put_value(m, NFTA_SET_ELEM_KEY, key, local_nft_key(e, false, key));
    mnl_attr_nest_end(m, item);
}

/* A key alone is enough to take away. */
static void put_element(struct nlmsghdr *m, const struct local_nft_element *e, bool key_only)
{
    uint8_t bytes[LOCAL_NFT_KEY_MAX], notes[LOCAL_NFT_UDATA_MAX];
    struct nlattr *item = mnl_attr_nest_start(m, NFTA_LIST_ELEM);
    put_value(m, NFTA_SET_ELEM_KEY, bytes, local_nft_key(e, false, bytes));
    if (local_nft_has_ranges(e->set)) {
        put_value(m, NFTA_SET_ELEM_KEY_END, bytes, local_nft_key(e, true, bytes));
    }
    if (e->set == LOCAL_NFT_SLOT && !key_only) {
        put_value(m, NFTA_SET_ELEM_DATA, bytes, local_nft_value(e, bytes));
    }
    if (e->comment != NULL && !key_only) {
        mnl_attr_put(m, NFTA_SET_ELEM_USERDATA, local_nft_comment_notes(e->comment, notes), notes);
    }
    mnl_attr_nest_end(m, item);
    if (e->set == LOCAL_NFT_SCOPE) {
        put_scope_end(m, e);
    }
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Where a change stands in the buffer, to find the one that the kernel dislikes. */
struct place {
    uint32_t seq;
    size_t offset; /* of its element in the message */
    size_t change;
};
struct commit {
    struct local_nl *nl;
    struct local_nl_buf b;
    const char *instance;
    struct place *places;
    size_t n_places;
    uint8_t *sets;               /* of each change */
    bool has[2][LOCAL_NFT_SETS]; /* adds, deletes */
    /* The message in progress; NULL: none. */
    struct nlmsghdr *m;
    struct nlattr *list;
    uint32_t last; /* sequence number */
};

static void close_list(struct commit *c, bool ack)
{
    if (c->m == NULL) {
        return;
    }
    if (ack) {
        c->m->nlmsg_flags |= NLM_F_ACK;
    }
    c->last = c->m->nlmsg_seq;
    mnl_attr_nest_end(c->m, c->list);
    local_nl_end(&c->b);
    c->m = NULL;
}

static void open_list(struct commit *c, bool del, unsigned set)
{
    struct local_nft_set_info info;
    local_nft_set_info(set, &info);
    c->m = local_nft_begin(c->nl, &c->b, del ? NFT_MSG_DELSETELEM : NFT_MSG_NEWSETELEM,
                           del ? 0 : NLM_F_CREATE);
    c->list = local_nft_begin_list(c->m, c->instance, info.name);
}

/* Notes the set of each change, and refuses what cannot be an element. */
static int sort_out(struct commit *c, const struct local_nft_change *changes, size_t n,
                    struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct local_nft_element *e = &changes[i].e;
        unsigned set;
        int code = local_nft_set_of(e, &set, err);
        if (code != ERR_OK) {
            return code;
        }
        if (e->comment != NULL && strlen(e->comment) > LOCAL_NFT_COMMENT_MAX) {
            return err_set(err, ERR_BUG, "a comment has more than %d bytes", LOCAL_NFT_COMMENT_MAX);
        }
        c->sets[i] = (uint8_t)set;
        c->has[changes[i].del][set] = true;
    }
    return ERR_OK;
}

static void put_set(struct commit *c, bool del, unsigned set,
                    const struct local_nft_change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (changes[i].del != del || c->sets[i] != set) {
            continue;
        }
        if (c->m != NULL && c->m->nlmsg_len > LIST_BYTES) {
            close_list(c, false);
        }
        if (c->m == NULL) {
            open_list(c, del, set);
        }
        c->places[c->n_places++] = (struct place){c->m->nlmsg_seq, c->m->nlmsg_len, i};
        put_element(c->m, &changes[i].e, del);
    }
}

static const struct local_nft_element *culprit(const struct commit *c,
                                               const struct local_nft_change *changes,
                                               const struct local_nft_refusal *no)
{
    const struct local_nft_element *found = NULL;
    for (size_t i = 0; i < c->n_places; i++) {
        if (c->places[i].seq == no->seq && (found == NULL || c->places[i].offset <= no->offset)) {
            found = &changes[c->places[i].change].e;
        }
    }
    return found;
}

static int refused(const struct commit *c, const struct local_nft_change *changes,
                   const struct local_nft_refusal *no, struct err *err)
{
    char what[LOCAL_NFT_TEXT_MAX];
    const struct local_nft_element *e = culprit(c, changes, no);
    if (e != NULL) {
        local_nft_element_text(e, what);
    } else {
        snprintf(what, sizeof(what), "table inet %.32s", c->instance);
    }
    return local_nft_error(err, no->error, what, no->text);
}

static int commit_all(struct commit *c, const struct local_nft_change *changes, size_t n,
                      struct err *err)
{
    struct local_nft_refusal no;
    int code = sort_out(c, changes, n, err);
    if (code != ERR_OK) {
        return code;
    }
    local_nft_batch_begin(c->nl, &c->b);
    for (int half = 1; half >= 0; half--) { /* what goes, then what comes */
        for (unsigned set = 0; set < LOCAL_NFT_SETS; set++) {
            if (c->has[half][set]) {
                put_set(c, half == 1, set, changes, n);
                close_list(c, c->n_places == n); /* the last one is acknowledged */
            }
        }
    }
    local_nft_batch_end(c->nl, &c->b);
    code = local_nft_send(c->nl, &c->b, c->last, &no, err);
    return code != ERR_OK || no.error == 0 ? code : refused(c, changes, &no, err);
}

int local_nft_put_adds(struct local_nl *nl, struct local_nl_buf *b, const char *instance,
                       const struct local_nft_change *adds, size_t n, uint32_t *ret_last,
                       struct err *err)
{
    struct commit c = {.nl = nl, .b = *b, .instance = instance, .last = *ret_last};
    c.places = xcalloc(n + 1, sizeof(*c.places));
    c.sets = xcalloc(n + 1, sizeof(*c.sets));
    int code = sort_out(&c, adds, n, err);
    for (unsigned set = 0; code == ERR_OK && set < LOCAL_NFT_SETS; set++) {
        if (c.has[0][set]) {
            put_set(&c, false, set, adds, n);
            close_list(&c, false);
        }
    }
    *b = c.b;
    *ret_last = c.last;
    free(c.places);
    free(c.sets);
    return code;
}

int local_nft_commit(struct local_nl *nl, struct local_nft_ranges *ranges, const char *instance,
                     const struct local_nft_change *changes, size_t n, struct err *err)
{
    if (n == 0) {
        return ERR_OK;
    }
    struct commit c = {.nl = nl, .instance = instance};
    c.places = xcalloc(n, sizeof(*c.places));
    c.sets = xcalloc(n, sizeof(*c.sets));
    int code = commit_all(&c, changes, n, err);
    if (code == ERR_OK) {
        local_nft_ranges_follow(ranges, instance, changes, n);
    } else {
        local_nft_ranges_forget(ranges); /* it may have been done */
    }
    local_nl_buf_done(&c.b);
    free(c.places);
    free(c.sets);
    return code;
}
