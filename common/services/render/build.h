/* SPDX-License-Identifier: Apache-2.0 */
/* build.h: lists of lines with names, and the pieces of rules that the three renderers share.
 *
 * A chain with its rules, an nftables set with its elements and an ipset with its entries are all
 * the same here: a group with a name and items.  Items are added in the order in which kube-proxy
 * writes them, to any group; ks_groups_finish() sorts them into their groups, keeps their order
 * inside a group, and remembers the order in which they were written.  Everything lives in the
 * arena.  Only for common/services/render. */
#ifndef TRIMTAB_SERVICES_RENDER_BUILD_H
#define TRIMTAB_SERVICES_RENDER_BUILD_H

#include "common/services/render/rules.h"

struct ks_group {
    const char *name;
    const char *tail;         /* text behind the name in a declaration; NULL: none */
    const char *const *items; /* set by ks_groups_finish() */
    size_t n;
};
struct ks_item {
    const char *text;
    uint32_t group;
};
struct ks_groups {
    struct arena *arena;
    struct ks_group *groups; /* in the order of ks_group_new() */
    size_t n_groups;
    size_t cap_groups;
    struct ks_item *items; /* as they were added */
    size_t n_items;
    size_t cap_items;
};

struct ks_groups ks_groups_make(struct arena *a);
/* A new empty group; returns its number.  `name` and `tail` are borrowed. */
size_t ks_group_new(struct ks_groups *g, const char *name, const char *tail);
/* Adds one item; `text` is borrowed. */
void ks_group_add(struct ks_groups *g, size_t group, const char *text);
/* The pieces joined with blanks, as one text; NULL pieces are left out. */
const char *ks_words(struct arena *a, const char *const *pieces, size_t n);
#define KS_WORDS(a, ...)                                                                           \
    ks_words((a), (const char *const[]){__VA_ARGS__},                                              \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
/* Adds a rule made of pieces. */
#define KS_RULE(g, group, ...) ks_group_add((g), (group), KS_WORDS((g)->arena, __VA_ARGS__))

/* Sets `items` and `n` of each group. */
void ks_groups_finish(struct ks_groups *g);
/* Sorts the items of each group by their keys, as bytes; of several with the same key the first
 * that was added stays.  `key_len` returns how much of an item is its key; NULL: all of it.  After
 * ks_groups_finish(). */
void ks_groups_sort_items(struct ks_groups *g, size_t (*key_len)(const char *item));
/* Numbers of the groups, sorted by name. */
const size_t *ks_groups_by_name(const struct ks_groups *g);
/* A finished table of iptables, with the order in which its rules were written. */
struct ks_table ks_groups_table(struct ks_groups *g, const char *name);

/* Questions after what exists of a service port on this node: those that every renderer asks. */
struct ks_exists {
    bool cluster;      /* the chain of the cluster list */
    bool local;        /* the chain of the local list */
    bool external;     /* the chain of external destinations */
    bool restricted;   /* source ranges guard its VIPs */
    bool node_allowed; /* a source range has the node's own address */
    bool has_internal; /* the cluster IP has endpoints to go to */
    bool has_external; /* external destinations have endpoints to go to, short circuits apart */
};
struct ks_exists ks_exists_of(const struct ks_world *w, const struct ks_port *p);

/* Text of an address, a network, a number. */
const char *ks_ip_text(struct arena *a, const struct ip_addr *ip);
const char *ks_net_text(struct arena *a, const struct ip_net *net);
const char *ks_number(struct arena *a, int64_t n);
/* The mark that asks for masquerading: 0x and eight digits. */
const char *ks_mark(struct arena *a, const struct ks_node_config *config);

/* Pieces of iptables rules. */
/* -m comment --comment "…", in quotes if `text` has a blank. */
const char *ks_comment(struct arena *a, const char *text);
const char *ks_commentf(struct arena *a, const char *fmt, ...) _printf_(2, 3);
/* The match for packets of pods of this node, and for others; NULL without a detector. */
const char *ks_if_local(struct arena *a, const struct ks_node_config *config);
const char *ks_if_not_local(struct arena *a, const struct ks_node_config *config);
/* The rules that masquerade marked packets, and those that mark them. */
void ks_masquerade_rules(struct ks_groups *nat, size_t postrouting, size_t mark_masq,
                         const struct ks_node_config *config);
/* The ACCEPT rules of KUBE-FORWARD. */
void ks_forward_rules(struct ks_groups *filter, size_t forward,
                      const struct ks_node_config *config);

#endif
