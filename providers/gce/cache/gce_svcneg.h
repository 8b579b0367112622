/* SPDX-License-Identifier: Apache-2.0 */
/* gce_svcneg.h: the ServiceNetworkEndpointGroup objects of this cluster: making, fixing and letting
 * go.
 *
 * What is in them is kept as a digest per object: one list when the first is asked for, later only
 * own writes.  So the re-sync of thousands of Services asks nothing and writes nothing.  An object
 * that is deleted by hand is made again at the next write, or after a restart; one that was
 * not allowed is tried again after ten minutes.  Where the kind does not exist (404 of the list) or
 * may not be touched (403), load balancers work without: it is said in the log, and looked again
 * after a while.
 * Source: gce-l4.md §3.9, §3.10, §6.4.  Thread-safe; blocks. */
#ifndef TRIMTAB_GCE_SVCNEG_H
#define TRIMTAB_GCE_SVCNEG_H

#include "providers/gce/model/gce_svcneg_rules.h"

#include "common/base/err.h"

#include <trimtab/provider.h>

struct gce_svcneg;
/* `with_states`: --enable-multi-subnet-cluster-phase1. */
struct gce_svcneg *gce_svcneg_new(bool with_states) _warn_unused_;
void gce_svcneg_free(struct gce_svcneg *c); /* NULL is fine */

/* How the API server is reached. */
struct gce_svcneg_call {
    const struct tt_host *host;
    const struct tt_call *call;
};
/* The Service's object says what `w` says.  No request when it is known to; one when it is new;
 * else two.  ERR_INVALID: the name belongs to another Service's object. */
int gce_svcneg_ensure(struct gce_svcneg *c, const struct gce_svcneg_call *k,
                      const struct gce_svcneg_wish *w, struct err *err) _warn_unused_;
/* After the NEGs are gone.  No request when there is none. */
int gce_svcneg_delete(struct gce_svcneg *c, const struct gce_svcneg_call *k, const char *ns,
                      const char *name, struct err *err) _warn_unused_;
/* Links of the NEGs that the object names: also in zones where there is no node any more.  None
 * when there is no object; also allowed while planning.  One request when there is one. */
int gce_svcneg_links(struct gce_svcneg *c, const struct gce_svcneg_call *k, struct arena *a,
                     const char *ns, const char *name, struct gce_strs *ret,
                     struct err *err) _warn_unused_;

#endif
