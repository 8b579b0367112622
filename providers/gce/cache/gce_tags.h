/* SPDX-License-Identifier: Apache-2.0 */
/* gce_tags.h: network tags of the nodes, when the configuration names none.
 *
 * One filtered list of instances per zone and set of nodes; the answer is kept until the set
 * changes (§7.5, ours: upstream lists for every firewall).  Blocks; thread-safe. */
#ifndef TRIMTAB_GCE_TAGS_H
#define TRIMTAB_GCE_TAGS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "common/net/http.h"
#include "providers/gce/api/gce_api.h"
#include "providers/gce/model/gce_node_rules.h"

struct gce_tags;
struct gce_tags *gce_tags_new(void) _warn_unused_;
void gce_tags_free(struct gce_tags *t);

struct gce_tags_ask {
    const struct gce_api *api;
    const struct tt_call *call;
    struct http *http;
    const char *prefix; /* node-instance-prefix */
    const struct gce_members *members;
};
/* ERR_INVALID when a node has no tag that begins its name; the API's errors.  *ret_reads grows
 * by the requests made. */
int gce_tags_get(struct gce_tags *t, const struct gce_tags_ask *ask, struct arena *a,
                 struct str_set *ret, unsigned *ret_reads, struct err *err) _warn_unused_;

#endif
