/* SPDX-License-Identifier: Apache-2.0 */
/* gce_decide_table.h: the kinds, and the rows of the decision, as tables.
 *
 * Private to gce_decide*.c and to tests; all other code asks gce_decide.h.  The rows stand in the
 * order in which they are asked; docs/providers/gce.md is printed from them.  Pure. */
#ifndef TRIMTAB_GCE_DECIDE_TABLE_H
#define TRIMTAB_GCE_DECIDE_TABLE_H

#include "providers/gce/decide/gce_decide.h"

enum row {
    ROW_NOT_LB,
    ROW_GONE,
    ROW_GONE_CLEAN,
    ROW_CLASS_FOREIGN,
    ROW_CLASS_STANDALONE,
    ROW_CLASS_INTERNAL,
    ROW_CLASS_EXTERNAL,
    ROW_CLASS_INTERNAL_LEGACY,
    ROW_CLASS_EXTERNAL_LEGACY,
    ROW_RULE_UNREADABLE,
    ROW_NAME_TAKEN,
    ROW_ILB_V1,
    ROW_ILB_RULE,
    ROW_ILB_V2,
    ROW_ILB_SUBSETS,
    ROW_ILB_DEFAULT,
    ROW_NETLB_V1,
    ROW_NETLB_POOL,
    ROW_NETLB_V3,
    ROW_NETLB_V2,
    ROW_NETLB_RULE,
    ROW_NETLB_ASKED,
    ROW_NETLB_DEFAULT,
    ROW_POOL_DEFAULT,
    ROW_MEMBERS_FLAG_OFF,
    ROW_MEMBERS_V2,
    ROW_MEMBERS_V3,
    ROW_MEMBERS_ARE_GROUPS,
    ROW_MEMBERS_ARE_NEGS,
    ROW_MEMBERS_NEG_DEFAULT,
    ROW_MEMBERS_DEFAULT,
    ROW_MEMBERS_NETWORK,
    ROW_MAX,
};

struct gce_kind_row {
    const char *text;
    enum gce_part part;
    const char *finalizer;
    const char *mark; /* "finalizer l4-netlb-v1": the question about it */
    unsigned family;  /* bits of the kinds that share names and clean-up with it */
};
/* One row of the decision. */
struct gce_decide_row {
    const char *id;
    const char *when; /* "class networking.gke.io/l4-regional-internal" */
    enum gce_kind kind;
    const char *section; /* "gce-l4.md §1.4" */
};

extern const struct gce_kind_row gce_kinds[GCE_KIND_MAX];
extern const struct gce_decide_row gce_rows[ROW_MAX];

#endif
