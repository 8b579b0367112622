/* SPDX-License-Identifier: Apache-2.0 */
/* gce_ops.h: operations on Compute resources whose bodies the planner wrote, and how they are
 * carried out.
 *
 * The planner (pure) fills a struct gce_op: which resource, which verb, the whole body as JSON, and
 * which members of it are known only after an earlier operation (an address).  One step function
 * carries all of them out; what differs is in the members.  So a plan can be tested down to the
 * bytes that it will send.  What was written goes into the snapshot (gce_op_wrote). */
#ifndef TRIMTAB_GCE_OPS_H
#define TRIMTAB_GCE_OPS_H

#include "common/base/json.h"
#include "common/lb/plan.h"
#include "providers/gce/gce_api.h"

struct gce_provider;

/* A member of the body that is put in when the operation begins. */
struct gce_op_late {
    const char *member; /* "IPAddress"; "destinationRanges": a list of this one text */
    struct lb_value value;
    const char *suffix; /* appended: "/96"; or NULL */
};
#define GCE_OP_LATE_MAX 2
struct gce_op {
    enum gce_collection c;
    enum gce_verb verb;
    const char *zone;         /* zonal collections */
    const char *name;         /* of the resource */
    struct json_object *body; /* arena-owned; NULL: none */
    struct gce_op_late late[GCE_OP_LATE_MAX];
    size_t n_late;
    /* After a mutation that ended well the resource is read, and this member of it becomes the
     * output "value" (an address that the cloud chose: "IPAddress", "address"); NULL: not read. */
    const char *read_member;
    /* An insert whose name is taken (409), or a write of something that is gone (404), or an outdated
     * fingerprint (412), is a CONFLICT: look and plan again.  So is "in use by" on a write that is no
     * delete. */
    bool
        members; /* attach, detach, add, remove: an instance that is gone is left out and the rest sent
                          * again; what is there already, or gone already, counts as done */
    const char *
        command; /* firewalls on a Shared VPC: what a person can do by hand; NULL: nobody is told */
    const struct tt_call *call; /* for reports */
    const char **ret_value;     /* where the output goes besides, or NULL */
};
/* The types, named for logs. */
extern const struct lb_op_type gce_op_type_insert;
extern const struct lb_op_type gce_op_type_update;
extern const struct lb_op_type gce_op_type_patch;
extern const struct lb_op_type gce_op_type_delete;
extern const struct lb_op_type gce_op_type_members;
const struct lb_op_type *gce_op_type_of(enum gce_verb verb);
/* "backend service", "NEG": the cloud's word. */
const char *gce_collection_word(enum gce_collection c);
/* How many requests the operation is expected to take, waiting included. */
unsigned gce_op_calls(const struct gce_op *op);

/* After an operation: what was written is known, what failed is forgotten. */
void gce_op_wrote(struct gce_provider *p, const struct lb_op *op, unsigned outcome,
                  const struct err *err);

#endif
