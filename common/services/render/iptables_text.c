/* SPDX-License-Identifier: Apache-2.0 */
/* iptables_text.c: tables as iptables-restore reads them, and as iptables-save prints them. */
#include "common/services/render/rules.h"

#include <stdlib.h>

static void append_rule(struct str_buf *b, const struct ks_chain *chain, size_t i)
{
    str_append(b, "-A ");
    str_append(b, chain->name);
    str_append_c(b, ' ');
    str_append(b, chain->rules[i]);
    str_append_c(b, '\n');
}

static void append_ordered(struct str_buf *b, const struct ks_table *t)
{
    size_t *next = xcalloc(t->n_chains, sizeof(*next)); /* the next rule of each chain */
    for (size_t i = 0; i < t->n_order; i++) {
        append_rule(b, &t->chains[t->order[i]], next[t->order[i]]++);
    }
    free(next);
}

void ks_iptables_text(struct str_buf *b, const struct ks_tables *tables)
{
    for (size_t i = 0; i < tables->n_tables; i++) {
        const struct ks_table *t = &tables->tables[i];
        str_appendf(b, "*%s\n", t->name);
        for (size_t c = 0; c < t->n_chains; c++) {
            str_appendf(b, ":%s - [0:0]\n", t->chains[c].name);
        }
        if (t->n_order > 0) {
            append_ordered(b, t);
        }
        for (size_t c = 0; c < t->n_chains && t->n_order == 0; c++) {
            for (size_t r = 0; r < t->chains[c].n_rules; r++) {
                append_rule(b, &t->chains[c], r);
            }
        }
        str_append(b, "COMMIT\n");
    }
}

void ks_iptables_jumps_text(struct str_buf *b, const struct ks_tables *jumps)
{
    for (size_t i = 0; i < jumps->n_tables; i++) {
        const struct ks_table *t = &jumps->tables[i];
        str_appendf(b, "*%s\n", t->name);
        for (size_t c = 0; c < t->n_chains; c++) {
            for (size_t r = 0; r < t->chains[c].n_rules; r++) {
                append_rule(b, &t->chains[c], r);
            }
        }
        str_append(b, "COMMIT\n");
    }
}

void ks_iptables_saved_text(struct str_buf *b, const struct ks_tables *t)
{
    ks_iptables_text(b, t);
}
