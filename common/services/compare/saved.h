/* SPDX-License-Identifier: Apache-2.0 */
/* saved.h: the text of iptables-save, read into chains of normalised rules.  Private to this room.
 *
 * A rule loses what releases and counters make different: its counters, its comment (kept beside
 * it), a probability beyond four decimals, the name of an accounting object.  Rules of other tables
 * than filter and nat are passed over. */
#ifndef TRIMTAB_SERVICES_COMPARE_SAVED_H
#define TRIMTAB_SERVICES_COMPARE_SAVED_H

#include "common/base/map.h"
#include "common/services/compare/compare.h"

struct ks_saved_rule {
    const char *text;    /* normalised, behind "-A CHAIN " */
    const char *full;    /* as it stands in the file */
    const char *subject; /* the service port that its comment names; "" for none */
    const char *jump;    /* the target of -j or -g; "" for none */
    const char *to;      /* of --to-destination; "" for none */
};
struct ks_saved_chain {
    const char *table;
    const char *name;
    struct ks_saved_rule *rules;
    size_t n_rules;
    size_t cap_rules;
};
struct ks_saved {
    struct arena *a;
    struct map *at; /* "table/chain" → index + 1 */
    struct ks_saved_chain *chains;
    size_t n_chains;
    size_t cap_chains;
    bool has_tables; /* there was a line "*filter" or "*nat" */
    /* what the rules tell of release and configuration */
    bool random_fully;
    bool nfacct;
    bool drops_invalid;
    bool old_names; /* display names that end in ':' */
    bool has_mark;
    unsigned long mark; /* of KUBE-MARK-MASQ */
};

/* Reads text[0..n).  ERR_INVALID names the line that is not one of iptables-save.  The caller calls
 * ks_saved_done(). */
int ks_saved_read(struct ks_saved *s, struct arena *a, const char *text, size_t n,
                  struct err *err) _warn_unused_;
void ks_saved_done(struct ks_saved *s);
/* NULL when there is no such chain. */
const struct ks_saved_chain *ks_saved_find(const struct ks_saved *s, const char *table,
                                           const char *name);

#endif
