/* SPDX-License-Identifier: Apache-2.0 */
/* differences.h: what the comparisons of this room share: a list of differences that grows, and the
 * rules of iptables.  Private to it. */
#ifndef TRIMTAB_SERVICES_COMPARE_DIFFERENCES_H
#define TRIMTAB_SERVICES_COMPARE_DIFFERENCES_H

#include "common/services/compare/compare.h"
#include "common/services/node/plan.h"

struct ks_differences {
    struct arena *a;
    struct ks_difference *items;
    size_t n;
    size_t cap;
    const char *notes[8];
    size_t n_notes;
    size_t n_rules;
    size_t n_others;
};

void ks_differences_add(struct ks_differences *d, struct ks_difference difference);
/* Notes that are said once; beyond eight notes nothing is added. */
void ks_differences_note(struct ks_differences *d, const char *text);
/* Sorts by subject, then by what differs, and fills *ret. */
void ks_differences_finish(struct ks_differences *d, struct ks_compared *ret);
/* Adds how the text of iptables-save differs from the rules of mode iptables or ipvs, and the
 * numbers of rules.  ERR_INVALID as ks_compare_iptables(). */
int ks_compare_saved(struct ks_differences *d, const struct ks_world *w, enum ks_mode mode,
                     const char *text, size_t n, struct err *err) _warn_unused_;
/* The number of the only bit of a mark. */
unsigned ks_mark_bit(unsigned long mark);

#endif
