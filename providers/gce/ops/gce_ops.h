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

#include "common/data/json.h"
#include "common/lb/plan.h"
#include "providers/gce/api/gce_api.h"
#include "providers/gce/model/gce_resources.h"

struct gce_cloud;

/* How an operation ends, besides the cloud's own codes:
 *   CONFLICT  the name of an insert is taken, what is written or referred to is gone or in use, the
 *             fingerprint is outdated (412): look and plan again.  A delete of something in use
 *             stays IN_USE
 *   EXISTS    an address is to be held that is reserved already, under whatever name: it
 *             cannot be lost; "value" is that address
 *   INVALID   the owner must fix it (gce_ops_refusals.h)
 *   BUG       the planner's: a firewall without target tags, a late member whose value is
 *             unknown */
/* Stands in a planner's texts for a value that is known only when the operation begins. */
#define GCE_LATER "@later@"
/* A member of the body that is put in when the operation begins, in place of what the planner
 * wrote there; when its value is absent, nothing is put in. */
struct gce_op_late {
    const char *member; /* "IPAddress"; "destinationRanges": a list of this one text */
    struct lb_value value;
    /* of a list: the items that stand in it besides */
    struct gce_strs beside;
    const char *prefix; /* put before it, for texts that tell the value; or NULL */
    /* appended, but to a value that has a prefix length already: "/96"; or NULL */
    const char *suffix;
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
     * output "value" (an address that the cloud chose: "IPAddress", "address"), without its prefix
     * length; NULL: not read. */
    const char *read_member;
    /* The resource is read before, and its fingerprint goes into the body: others, or we ourselves,
     * wrote since it was made. */
    bool fingerprint;
    /* attach, detach, add, remove, and a target pool that is made: a member that is gone, that is
     * there already, or that is no member is left out, and the rest is sent again. */
    bool members;
    /* detach: none of the members that serve stays, so that those that join must be in before. */
    bool swaps;
    /* Target pools: their owners read the cloud's own words, so a refusal keeps them, and no event
     * says what was done. */
    bool plain;
    /* Firewalls on a Shared VPC: what a person can do by hand; NULL: no event.  After
     * FORBIDDEN it is in *ret_value, too, with the first late value for each GCE_LATER. */
    const char *command;
    /* Sent as a part of the same operation, once this one has ended well: a target pool's new
     * health check after the old one, its members beyond those of an insert.  NULL: none. */
    const struct gce_op *then;
    const struct tt_call *call; /* for reports */
    const char **ret_value;     /* where the output goes besides, or NULL */
};
/* The types, named for logs. */
extern const struct lb_op_type gce_op_type_insert;
extern const struct lb_op_type gce_op_type_update;
extern const struct lb_op_type gce_op_type_patch;
extern const struct lb_op_type gce_op_type_delete;
extern const struct lb_op_type gce_op_type_members;
extern const struct lb_op_type gce_op_type_swap; /* of a target pool's health check */
const struct lb_op_type *gce_op_type_of(enum gce_verb verb);
/* "backend service", "NEG": the cloud's word. */
const char *gce_collection_word(enum gce_collection c);
/* The same as the kind of an operation in a plan. */
const char *gce_op_kind(enum gce_collection c);
/* The API's word where several collections have one kind: "regionHealthChecks"; else NULL. */
const char *gce_op_api_kind(enum gce_collection c);
/* How many requests the operation is expected to take, waiting included. */
unsigned gce_op_calls(const struct gce_op *op);

/* After an operation: what was written is known to the snapshot, what failed is forgotten.
 * (gce_ops_remember.c) */
void gce_op_wrote(struct gce_cloud *cloud, const struct lb_op *op, unsigned outcome,
                  const struct err *err);

#endif
