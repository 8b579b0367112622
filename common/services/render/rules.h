/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h: what kube-proxy on a node installs, in the words of iptables, IPVS and nftables.
 *
 * The same world gives the same text, always: where upstream leaves an order to a hash, names and
 * addresses are sorted.  A first, full sync on a node without old rules.  Pure.
 * Source: kube-proxy 1.36, iptables/proxier.go, ipvs/proxier.go, nftables/proxier.go; iptables
 * 1.8.9 for saved forms. */
#ifndef TRIMTAB_SERVICES_RENDER_RULES_H
#define TRIMTAB_SERVICES_RENDER_RULES_H

#include "common/base/str.h"
#include "common/services/node/world.h"

/* A chain with its rules, each the text behind "-A CHAIN ". */
struct ks_chain {
    const char *name;
    const char *const *rules;
    size_t n_rules;
};
struct ks_table {
    const char *name;              /* "filter", "nat" */
    const struct ks_chain *chains; /* in the order in which kube-proxy names them */
    size_t n_chains;
    const uint32_t *order; /* per rule, in the order written: the place of its chain in `chains` */
    size_t n_order;        /* 0: chain by chain */
};
struct ks_tables {
    struct ks_table tables[2];
    size_t n_tables;
};

/* iptables mode: filter, then nat, as written (not as saved). */
struct ks_tables ks_render_iptables(struct arena *a, const struct ks_world *w);
/* The input of iptables-restore --noflush --counters. */
void ks_iptables_text(struct str_buf *b, const struct ks_tables *t);
/* The same tables with each rule as iptables-save prints it, and as text with "# …" lines and
 * built-in chains left out. */
struct ks_tables ks_iptables_saved(struct arena *a, const struct ks_tables *t,
                                   enum ks_family family);
void ks_iptables_saved_text(struct str_buf *b, const struct ks_tables *t);

/* The jumps from the kernel's chains (INPUT and so on) to kube-proxy's, in the order in
 * which they stand there. */
struct ks_tables ks_iptables_jumps(struct arena *a, const struct ks_world *w);
struct ks_tables ks_ipvs_jumps(struct arena *a);
/* Jumps as the input of iptables-restore --noflush, which appends them to the kernel's chains:
 * these are not declared. */
void ks_iptables_jumps_text(struct str_buf *b, const struct ks_tables *jumps);

/* One ipset. */
struct ks_ipset {
    const char *name;
    const char *type;
    const char *family;         /* "inet", "inet6"; NULL for bitmaps */
    const char *const *entries; /* sorted */
    size_t n_entries;
};
struct ks_virtual_server {
    struct ip_addr address;
    int32_t port;
    const char *protocol; /* "TCP" */
    const char *scheduler;
    int32_t persistent_s; /* 0: none */
    bool mh_port;
    const char *const *real; /* "ip:port", sorted; each of weight 1 */
    size_t n_real;
};
struct ks_ipvs {
    const struct ks_ipset *sets; /* all 17, in the order of the spec's table */
    size_t n_sets;
    const struct ks_virtual_server *servers; /* sorted by address as text, port, protocol */
    size_t n_servers;
    const char *const *bound; /* addresses of kube-ipvs0, sorted as text */
    size_t n_bound;
    struct ks_tables tables; /* nat, then filter */
};
struct ks_ipvs ks_render_ipvs(struct arena *a, const struct ks_world *w);
/* As `ipset save`, `ipvsadm -S -n`, `ip addr` of kube-ipvs0 and iptables-restore read them, one
 * part after another, each with a comment line that names it. */
void ks_ipvs_text(struct str_buf *b, const struct ks_ipvs *v);

/* nftables mode: the lines of `nft -f` input that describe the table, in the order of the lines:
 * table; chains, sets, maps (each sorted by name); rules, chain by chain; elements, sets before
 * maps, each sorted. */
struct ks_lines {
    const char *const *items;
    size_t n;
};
struct ks_lines ks_render_nftables(struct arena *a, const struct ks_world *w);

#endif
