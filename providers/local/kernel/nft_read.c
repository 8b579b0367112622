/* SPDX-License-Identifier: Apache-2.0 */
/* nft_read.c: what the sets and maps of our table hold: all of them, or the elements of one
 * frontend.
 *
 * A frontend is read with one message that asks for the first slot in each map, for the VIP, and
 * whether all clients may come; and with a second one for all its slots.  Ranges can only be found
 * in the list of their set; a copy of it (nft_ranges.h) is made when the VIP is there and does
 * not let all clients in. */
#include "providers/local/kernel/nft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The elements of one set as they are heard. */
struct listing {
    struct local_nft_set_info set;
    local_nft_each_fn *each;
    void *arg;
    unsigned found;
    bool absent; /* there is no such set */
    bool old;    /* it is of layout 1 */
    /* Ends of intervals of a scope: they are put together when all are there. */
    struct edge {
        uint8_t key[16];
        bool end;
    } *edges;
    size_t n_edges, cap_edges;
};

static void hand_out(struct listing *l, const struct local_nft_element *e)
{
    l->found++;
    l->each(l->arg, e);
}

static void keep_edge(struct listing *l, const uint8_t *key, size_t n, uint32_t flags)
{
    if (n > sizeof(l->edges->key)) {
        return;
    }
    if (l->n_edges == l->cap_edges) {
        l->cap_edges = 2 * l->cap_edges + 16;
        l->edges = xrealloc(l->edges, l->cap_edges * sizeof(*l->edges));
    }
    struct edge *e = &l->edges[l->n_edges++];
    *e = (struct edge){.end = (flags & NFT_SET_ELEM_INTERVAL_END) != 0};
    memcpy(e->key, key, n);
}

static const struct nlattr *value_of(const struct nlattr *nest)
{
    struct local_nl_attrs a;
    local_nl_parse_nest(nest, &a);
    return a.at[NFTA_DATA_VALUE];
}

static void hear_element(struct listing *l, const struct nlattr *item)
{
    struct local_nl_attrs a;
    struct local_nft_element e;
    char comment[LOCAL_NFT_UDATA_MAX];
    local_nl_parse_nest(item, &a);
    const struct nlattr *key = value_of(a.at[NFTA_SET_ELEM_KEY]);
    const struct nlattr *last = value_of(a.at[NFTA_SET_ELEM_KEY_END]);
    const struct nlattr *value = value_of(a.at[NFTA_SET_ELEM_DATA]);
    const struct nlattr *notes = a.at[NFTA_SET_ELEM_USERDATA];
    if (key == NULL) {
        return;
    }
    size_t n = mnl_attr_get_payload_len(key);
    if (l->set.set == LOCAL_NFT_SCOPE) {
        keep_edge(l, mnl_attr_get_payload(key), n, local_nl_be32(a.at[NFTA_SET_ELEM_FLAGS]));
        return;
    }
    const uint8_t *end =
        last != NULL && mnl_attr_get_payload_len(last) == n ? mnl_attr_get_payload(last) : NULL;
    if (!local_nft_read_key(&l->set, mnl_attr_get_payload(key), n, end, &e)) {
        return;
    }
    if (l->old && e.net.prefix == 0) {
        e = (struct local_nft_element){.set = LOCAL_NFT_ALL, .id = e.id};
    }
    if (l->set.set == LOCAL_NFT_SLOT &&
        (value == NULL || !local_nft_read_value(&l->set, mnl_attr_get_payload(value),
                                                mnl_attr_get_payload_len(value), &e))) {
        return;
    }
    if (notes != NULL) {
        size_t len;
        const char *text = local_nft_read_comment(mnl_attr_get_payload(notes),
                                                  mnl_attr_get_payload_len(notes), &len);
        if (text != NULL) {
            snprintf(comment, sizeof(comment), "%.*s", (int)len, text);
            e.comment = comment;
        }
    }
    hand_out(l, &e);
}

static void hear_elements(void *arg, const struct nlmsghdr *m)
{
    struct listing *l = arg;
    struct local_nl_attrs a;
    const struct nlattr *item;
    local_nl_parse(m, sizeof(struct nfgenmsg), &a);
    if (a.at[NFTA_SET_ELEM_LIST_ELEMENTS] == NULL) {
        return;
    }
    LOCAL_NL_EACH_IN(item, a.at[NFTA_SET_ELEM_LIST_ELEMENTS])
    {
        hear_element(l, item);
    }
}

static int edge_cmp(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    int diff = memcmp(x->key, y->key, sizeof(x->key));
    return diff != 0 ? diff : (int)y->end - (int)x->end;
}

/* An interval goes from an edge to the one behind it, without that; the last one may have none. */
static void hand_out_scopes(struct listing *l)
{
    uint8_t len = l->set.v6 ? 16 : 4;
    if (l->n_edges > 0) {
        qsort(l->edges, l->n_edges, sizeof(*l->edges), edge_cmp);
    }
    for (size_t i = 0; i < l->n_edges; i++) {
        uint8_t last[16];
        struct local_nft_element e = {.set = LOCAL_NFT_SCOPE};
        if (l->edges[i].end) {
            continue;
        }
        memset(last, 0xff, sizeof(last));
        if (i + 1 < l->n_edges) {
            memcpy(last, l->edges[i + 1].key, len);
            for (int k = len - 1; k >= 0 && last[k]-- == 0; k--) {
            }
        }
        if (local_nft_net_of(l->edges[i].key, last, len, &e.net)) {
            hand_out(l, &e);
        }
    }
}

/* Lists a set. */
static int dump(struct local_nl *nl, const char *instance, struct listing *l, struct err *err)
{
    struct local_nl_buf b = {0};
    struct local_nl_hear hear = {.message = hear_elements, .arg = l};
    int error = 0;
    struct nlmsghdr *m = local_nft_begin(nl, &b, NFT_MSG_GETSETELEM, NLM_F_DUMP);
    mnl_attr_put_strz(m, NFTA_SET_ELEM_LIST_TABLE, instance);
    mnl_attr_put_strz(m, NFTA_SET_ELEM_LIST_SET, l->set.name);
    local_nl_end(&b);
    int code = local_nl_ask(nl, &b, &hear, &error, err);
    local_nl_buf_done(&b);
    l->absent = code == ERR_OK && error == ENOENT;
    if (code == ERR_OK && error != 0) {
        code = local_nft_error(err, error, l->set.name, "");
    }
    return code;
}

#define LISTED (LOCAL_NFT_SETS + 2) /* sets of this layout, then those of layout 1 */

int local_nft_list(struct local_nl *nl, const char *instance, local_nft_each_fn *each, void *arg,
                   struct err *err)
{
    struct err absent = ERR_INIT;
    unsigned n_absent = 0;
    int code = ERR_OK;
    for (unsigned i = 0; i < LISTED && code == ERR_OK; i++) {
        struct listing l = {.each = each, .arg = arg, .old = i >= LOCAL_NFT_SETS};
        if (l.old) {
            local_nft_old_set_info(i > LOCAL_NFT_SETS, &l.set);
        } else {
            local_nft_set_info(i, &l.set);
        }
        code = dump(nl, instance, &l, &absent);
        if (l.absent) { /* another layout has no such set */
            code = ERR_OK;
            n_absent++;
        } else if (code != ERR_OK) {
            err_copy(err, &absent);
        } else {
            hand_out_scopes(&l);
        }
        free(l.edges);
    }
    return n_absent == LISTED ? err_copy(err, &absent) : code;
}

/* --- one frontend ----------------------------------------------------------------------------- */

#define FIRST_ROUND (LOCAL_NFT_SETS_HALF - 3) /* all of a family but the scope and the ranges */
#define SLOTS_MAX   256

struct reading {
    struct local_nl *nl;
    const char *instance;
    const struct local_frontend_id *id;
    struct local_nl_buf b;
    /* One listing for each message of the buffer. */
    struct listing *of;
    /* The result. */
    struct local_nft_element slots[SLOTS_MAX];
    bool has_slot[SLOTS_MAX];
    bool vip_there, open_to_all;
    uint32_t generation;
    struct local_nft_ranges *ranges;
    local_nft_each_fn *each;
    void *arg;
};

static void hear_by_seq(void *arg, const struct nlmsghdr *m)
{
    struct reading *r = arg;
    if (local_nft_read_generation(m, &r->generation)) {
        return;
    }
    hear_elements(&r->of[m->nlmsg_seq - r->b.first_seq], m);
}

/* Sends what is in the buffer; refusals mean that something is absent, and *ret_absent
 * says whether one did. */
static int hear_all(struct reading *r, bool *ret_absent, struct err *err)
{
    struct local_nl_hear hear = {.message = hear_by_seq, .arg = r};
    int error = 0;
    int code = local_nl_ask(r->nl, &r->b, &hear, &error, err);
    local_nl_buf_reset(&r->b);
    *ret_absent = error == ENOENT;
    return code != ERR_OK || error == 0 || error == ENOENT
               ? code
               : local_nft_error(err, error, r->instance, "");
}

static struct nlmsghdr *begin_get(struct reading *r, const char *set, struct nlattr **ret_list)
{
    struct nlmsghdr *m = local_nft_begin(r->nl, &r->b, NFT_MSG_GETSETELEM, NLM_F_ACK);
    *ret_list = local_nft_begin_list(m, r->instance, set);
    return m;
}

static void end_get(struct reading *r, struct nlmsghdr *m, struct nlattr *list)
{
    mnl_attr_nest_end(m, list);
    local_nl_end(&r->b);
}

static void keep_first(void *arg, const struct local_nft_element *e)
{
    struct reading *r = arg;
    if (e->set == LOCAL_NFT_SLOT) {
        return; /* its map is read in the second round */
    }
    r->vip_there = r->vip_there || e->set == LOCAL_NFT_VIP;
    r->open_to_all = r->open_to_all || e->set == LOCAL_NFT_ALL;
    r->each(r->arg, e);
}

static int first_round(struct reading *r, struct err *err)
{
    bool v6 = r->id->vip.len == 16, absent;
    unsigned n = 0;
    for (unsigned i = 0; i < LOCAL_NFT_SETS_HALF; i++) {
        struct local_nft_set_info set;
        struct nlattr *list;
        local_nft_set_info((v6 ? LOCAL_NFT_SETS_HALF : 0) + i, &set);
        if (set.set == LOCAL_NFT_SCOPE || local_nft_has_ranges(set.set)) {
            continue;
        }
        r->of[n++] = (struct listing){.set = set, .each = keep_first, .arg = r};
        const struct local_nft_element e = {.set = set.set, .id = *r->id};
        struct nlmsghdr *m = begin_get(r, set.name, &list);
        local_nft_put_key(m, &e);
        end_get(r, m, list);
    }
    local_nft_begin(r->nl, &r->b, NFT_MSG_GETGEN, NLM_F_ACK);
    local_nl_end(&r->b);
    return hear_all(r, &absent, err);
}

static void keep_slot(void *arg, const struct local_nft_element *e)
{
    struct reading *r = arg;
    if (e->slot < SLOTS_MAX) {
        r->slots[e->slot] = *e;
        r->has_slot[e->slot] = true;
    }
}

/* Asks for the slots of a map that were not found so far: in one message, or each in one
 * of its own. */
static int ask_slots(struct reading *r, const struct local_nft_set_info *s, bool each_alone,
                     bool *ret_absent, struct err *err)
{
    struct local_nft_element e = {.set = LOCAL_NFT_SLOT, .id = *r->id};
    struct nlattr *list = NULL;
    struct nlmsghdr *m = NULL;
    for (; e.slot < s->m; e.slot++) {
        if (r->has_slot[e.slot]) {
            continue;
        }
        if (m == NULL) {
            r->of[r->b.n] = (struct listing){.set = *s, .each = keep_slot, .arg = r};
            m = begin_get(r, s->name, &list);
        }
        local_nft_put_key(m, &e);
        if (each_alone) {
            end_get(r, m, list);
            m = NULL;
        }
    }
    if (m != NULL) {
        end_get(r, m, list);
    }
    *ret_absent = false;
    return r->b.n == 0 ? ERR_OK : hear_all(r, ret_absent, err);
}

static int read_slots(struct reading *r, const struct local_nft_set_info *s, struct err *err)
{
    bool absent = false;
    memset(r->has_slot, 0, sizeof(r->has_slot));
    int code = ask_slots(r, s, false, &absent, err);
    if (code == ERR_OK && absent) {
        code = ask_slots(r, s, true, &absent, err);
    }
    for (unsigned i = 0; code == ERR_OK && i < s->m; i++) {
        if (r->has_slot[i]) {
            r->each(r->arg, &r->slots[i]);
        }
    }
    return code;
}

static void keep_range(void *arg, const struct local_nft_element *e)
{
    local_nft_ranges_add(arg, e);
}

/* Makes the copy again, as of the generation that was asked for before: if that is older than the
 * lists, the copy does not count the next time. */
static int list_ranges(struct reading *r, struct err *err)
{
    int code = ERR_OK;
    local_nft_ranges_begin(r->ranges, r->instance, r->generation);
    for (unsigned i = 0; i < LOCAL_NFT_SETS && code == ERR_OK; i++) {
        struct listing l = {.each = keep_range, .arg = r->ranges};
        local_nft_set_info(i, &l.set);
        if (local_nft_has_ranges(l.set.set)) {
            code = dump(r->nl, r->instance, &l, err);
        }
    }
    if (code != ERR_OK) {
        local_nft_ranges_forget(r->ranges);
    }
    return code;
}

static int read_ranges(struct reading *r, struct err *err)
{
    int code = ERR_OK;
    if (r->open_to_all) {
        return ERR_OK;
    }
    bool copied = local_nft_ranges_count(r->ranges, r->instance, r->generation);
    if (!copied && r->vip_there) {
        code = list_ranges(r, err);
        copied = code == ERR_OK;
    }
    if (copied) {
        local_nft_ranges_each(r->ranges, r->id, r->each, r->arg);
    }
    return code;
}

static int read_all(struct reading *r, struct err *err)
{
    struct local_nft_set_info sets[FIRST_ROUND];
    bool found[FIRST_ROUND];
    int code = first_round(r, err);
    for (unsigned i = 0; i < FIRST_ROUND; i++) {
        sets[i] = r->of[i].set;
        found[i] = r->of[i].found > 0;
    }
    for (unsigned i = 0; i < FIRST_ROUND && code == ERR_OK; i++) {
        if (sets[i].set == LOCAL_NFT_SLOT && found[i]) {
            code = read_slots(r, &sets[i], err);
        }
    }
    return code == ERR_OK ? read_ranges(r, err) : code;
}

int local_nft_read(struct local_nl *nl, struct local_nft_ranges *ranges,
                   const struct local_nft_read_args *args, struct err *err)
{
    struct reading *r = xcalloc(1, sizeof(*r));
    *r = (struct reading){.nl = nl,
                          .ranges = ranges,
                          .instance = args->instance,
                          .id = args->id,
                          .each = args->each,
                          .arg = args->arg};
    r->of = xcalloc(SLOTS_MAX, sizeof(*r->of));
    int code = read_all(r, err);
    local_nl_buf_done(&r->b);
    free(r->of);
    free(r);
    return code;
}
