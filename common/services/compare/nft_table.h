/* SPDX-License-Identifier: Apache-2.0 */
/* nft_table.h: a table of nftables as chains of rules, and sets and maps of elements.  Private to
 * this room.
 *
 *     the renderer's lines ──┐
 *                            ├──▶ words of each rule ──▶ key (what is compared)
 *     nft -j list table ─────┘
 *
 * A key leaves out comments, the order of endpoints in a random map, and how a list of addresses is
 * cut into ranges.  Handles and counters do not reach the words. */
#ifndef TRIMTAB_SERVICES_COMPARE_NFT_TABLE_H
#define TRIMTAB_SERVICES_COMPARE_NFT_TABLE_H

#include "common/base/err.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/services/render/rules.h"

/* A rule of a chain, or an element of a set or map. */
struct nft_entry {
    const char *words; /* as people read it, without a comment */
    /* equal on both sides when the entries are; of an element the part before its value */
    const char *key;
    const char *value;   /* of a map's element: "goto …", "drop"; "" */
    const char *comment; /* "" */
};
struct nft_object {
    const char *name;
    const char *about; /* what a declaration says: hook and priority, timeout; "" */
    struct nft_entry *entries;
    size_t n;
    size_t cap;
    bool is_chain;
    bool is_map;
};
struct nft_table {
    struct arena *a;
    struct arena *scratch; /* for the key of one rule */
    const char *family;    /* "ip", "ip6" */
    struct map *at;        /* "chain NAME" or "set NAME" (maps, too) → index + 1 */
    struct nft_object *objects;
    size_t n;
    size_t cap;
    size_t n_others; /* rules of other tables */
    bool found;      /* the text has the table */
};

void nft_table_begin(struct nft_table *t, struct arena *a, const char *family);
void nft_table_done(struct nft_table *t);
/* The chain (else the set or map) of that name, made where it is absent. */
struct nft_object *nft_table_object(struct nft_table *t, bool is_chain, const char *name);
/* NULL: absent. */
const struct nft_object *nft_table_find(const struct nft_table *t, bool is_chain, const char *name);
void nft_table_add_rule(struct nft_table *t, struct nft_object *o, const char *words,
                        const char *comment);
void nft_table_add_element(struct nft_table *t, struct nft_object *o, struct nft_entry element);

/* Reads the renderer's lines. */
void nft_table_read_lines(struct nft_table *t, const struct ks_lines *lines);
/* Reads what `nft -j list table` or `nft -j list ruleset` printed.  ERR_INVALID when it is not
 * that, or has no such table. */
int nft_table_read_json(struct nft_table *t, const char *text, size_t n,
                        struct err *err) _warn_unused_;

#endif
