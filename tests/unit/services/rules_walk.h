/* SPDX-License-Identifier: Apache-2.0 */
/* rules_walk.h: a packet's way through rules, read from their text alone.
 *
 * Judges the renderers: it shares no header with the library, and knows of kube-proxy only which
 * hooks its chains hang on.  A rule that chooses at random forks the way; the outcome lists all
 * ends with their probabilities.  A rule that the walker does not understand ends the process, so
 * that no text passes unread. */
#ifndef TRIMTAB_TESTS_UNIT_SERVICES_RULES_WALK_H
#define TRIMTAB_TESTS_UNIT_SERVICES_RULES_WALK_H

#include <stdbool.h>
#include <stddef.h>

#define WALK_TEXT 64

/* A new connection. */
struct walk_packet {
    const char *source;
    const char *dest;
    int port;
    const char *protocol;     /* "tcp", "udp", "sctp" */
    const char *interface;    /* by which it came in; NULL: sent by the node itself */
    const char *const *local; /* addresses of the node, besides loopback */
    size_t n_local;
};
/* One end that the packet may come to. */
struct walk_end {
    char endpoint[WALK_TEXT]; /* "ip:port", or "DROP", "REJECT", "ACCEPT", "" (nothing happened) */
    double probability;
    bool masquerade;
};
struct walk_outcome {
    struct walk_end *ends; /* in the order of the rules; equal ends are one */
    size_t n;
    size_t cap;
};

/* The rules of one node, parsed. */
struct walk_rules;
/* `text` is iptables-restore's input, or what iptables-save printed. */
struct walk_rules *walk_iptables_parse(const char *text);
struct walk_outcome walk_iptables(const struct walk_rules *rules, const struct walk_packet *p);
/* Lines of `nft -f` input. */
struct walk_rules *walk_nftables_parse(const char *const *lines, size_t n);
struct walk_outcome walk_nftables(const struct walk_rules *rules, const struct walk_packet *p);
/* The parts that IPVS mode needs, one after another: ipset, ipvsadm, addresses, iptables. */
struct walk_rules *walk_ipvs_parse(const char *text);
struct walk_outcome walk_ipvs(const struct walk_rules *rules, const struct walk_packet *p);
void walk_rules_free(struct walk_rules *rules);
void walk_outcome_done(struct walk_outcome *o);

#endif
