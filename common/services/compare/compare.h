/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: how the rules of a real node differ from what kube-proxy would install now, in words.
 *
 * Both sides are compared as the kernel's tools save them.  Differences that come from another
 * release or configuration of kube-proxy, not from other Services or pods, are said once and left
 * out of the comparison: counters, chains of others, canaries, display names with a trailing colon,
 * the mark's bit, --random-fully, the order of shared chains.  Pure.
 * Source: iptables 1.8.9's saved form; names of older releases as kube-proxy up to
 * 1.19 wrote them. */
#ifndef TRIMTAB_SERVICES_COMPARE_COMPARE_H
#define TRIMTAB_SERVICES_COMPARE_COMPARE_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/services/node/world.h"

enum ks_difference_kind {
    KS_DIFF_MISSING = 0, /* the node lacks it */
    KS_DIFF_EXTRA,       /* only the node has it */
    KS_DIFF_CHANGED,     /* both have it, with other content */
};
struct ks_difference {
    enum ks_difference_kind kind;
    const char *subject; /* the service port it belongs to; "" when not known */
    const char *what;    /* "chain KUBE-SVC-…", "rule of KUBE-SERVICES" */
    const char *want;    /* NULL: nothing */
    const char *have;    /* NULL: nothing */
};
struct ks_compared {
    const struct ks_difference *differences; /* by subject, then chain */
    const char *const *notes; /* what is known to differ between releases, said once */
    size_t n_differences;
    size_t n_notes;
    size_t n_rules;  /* of the node, in chains of kube-proxy */
    size_t n_others; /* rules in chains of others, which are not compared */
};

/* Compares with the text of iptables-save or ip6tables-save.  ERR_INVALID if it is not one: a line
 * that cannot be read is named.  Time and memory grow with the text and the world, no faster. */
int ks_compare_iptables(struct arena *a, const struct ks_world *w, const char *text, size_t n,
                        struct ks_compared *ret, struct err *err) _warn_unused_;
/* Compares with the texts of `ipvsadm -S -n`, `ipset save` and iptables-save, one behind the other
 * in any order; what is absent is not compared, and said.  Real servers of weight 0 drain, and are
 * said once.  ERR_INVALID when it holds none of them, or the rules of another mode. */
int ks_compare_ipvs(struct arena *a, const struct ks_world *w, const char *text, size_t n,
                    struct ks_compared *ret, struct err *err) _warn_unused_;
/* Compares with what `nft -j list table ip kube-proxy` (or ip6) or `nft -j list ruleset` printed;
 * never with nft's text.  Clients of affinity sets, counters, handles and comments are left out.
 * ERR_INVALID if it is not one, or has no such table. */
int ks_compare_nftables(struct arena *a, const struct ks_world *w, const char *text, size_t n,
                        struct ks_compared *ret, struct err *err) _warn_unused_;
/* The first line answers; a difference is a line, or three where a rule changed; the last
 * line says what to do. */
void ks_compared_text(struct str_buf *b, const char *node, const struct ks_compared *found);

#endif
