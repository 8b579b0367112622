/* SPDX-License-Identifier: Apache-2.0 */
/* rules_walk_internal.h: what both walkers share: words, chains, addresses, ends. */
#ifndef TRIMTAB_TESTS_UNIT_SERVICES_RULES_WALK_INTERNAL_H
#define TRIMTAB_TESTS_UNIT_SERVICES_RULES_WALK_INTERNAL_H

#include "tests/unit/services/rules_walk.h"

#define WALK_DEPTH 16

/* A rule as words; texts in quotes are one word, without the quotes. */
struct walk_rule {
    char **words;
    size_t n;
};
/* A chain with its rules, a set or map with its elements. */
struct walk_chain {
    char *name; /* "nat KUBE-SERVICES", "chain services", "map service-ips" */
    struct walk_rule *rules;
    size_t n;
    size_t cap;
};
struct walk_rules {
    struct walk_chain **chains; /* sorted by name once parsed */
    size_t n;
    size_t cap;
};
/* Where one way of a packet is. */
struct walk_state {
    const struct walk_rules *rules;
    const struct walk_packet *packet;
    struct walk_outcome *outcome;
    const struct walk_chain *chain[WALK_DEPTH]; /* from the hook to the chain in which it is */
    size_t at[WALK_DEPTH];                      /* the next rule in each */
    size_t depth;                               /* chains on the stack */
    double probability;
    unsigned long mark;
    bool masquerade; /* a rule asked for it */
};

/* How a way through a chain continues. */
enum walk_way {
    WALK_ON = 0, /* it came to the chain's end */
    WALK_LEFT,   /* the table is left: ACCEPT in nat, or MASQUERADE */
    WALK_ENDED,  /* its end is in the outcome */
};
/* Through one chain of iptables, which a hook calls. */
enum walk_way walk_iptables_chain(struct walk_state *s, const char *table, const char *chain);

void walk_fail(const char *why, const struct walk_rule *rule);
size_t walk_number(const char *text);
struct walk_rules *walk_rules_new(void);
/* Finds a chain, or adds it. */
struct walk_chain *walk_chain_add(struct walk_rules *r, const char *kind, const char *name);
/* After the last one was added: sorts, so that they are found by bisection. */
void walk_rules_sort(struct walk_rules *r);
const struct walk_chain *walk_chain_find(const struct walk_rules *r, const char *kind,
                                         const char *name);
/* The same, NULL when there is none. */
const struct walk_chain *walk_chain_get(const struct walk_rules *r, const char *kind,
                                        const char *name);
struct walk_rule walk_split(const char *text);
void walk_chain_append(struct walk_chain *c, struct walk_rule rule);
void walk_end_at(struct walk_state *s, const char *endpoint, bool masquerade);
/* "10.0.0.1", "10.0.0.0/8", also of IPv6. */
bool walk_address_in(const char *address, const char *net);
bool walk_is_local(const struct walk_packet *p, const char *address);
/* "eth0" or a prefix that ends in `wild`. */
bool walk_interface_is(const struct walk_packet *p, const char *name, char wild);
void walk_push(struct walk_state *s, const struct walk_chain *c);

#endif
