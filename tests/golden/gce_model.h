/* SPDX-License-Identifier: Apache-2.0 */
/* gce_model.h: as much of the Compute API as a plan of Google's is carried out on in golden cases.
 *
 * Resources by path ("regions/us-central1/forwardingRules/NAME"), members of NEGs by zone.  It
 * refuses what would hide a planner's mistake: a name twice, a reference to what is not there, a
 * delete of what is in use, a protocol that changes under a rule, an outdated fingerprint, a
 * firewall without tags.  Not the simulator (sim/compute): no HTTP, no time, no operations; it
 * shares no code with providers/gce but the enums of gce_api.h.  Names that break a rule of
 * gce-l4.md §9.5 are reported as "BROKEN", which the runner never accepts. */
#ifndef TRIMTAB_TESTS_GOLDEN_GCE_MODEL_H
#define TRIMTAB_TESTS_GOLDEN_GCE_MODEL_H

#include "common/base/str.h"
#include "common/data/json.h"
#include "providers/gce/api/gce_api.h"

struct gce_model {
    struct arena *a;
    struct json_object *resources; /* path → resource */
    struct json_object *members;   /* zone → array of endpoints; there is one Service */
    const char *region;
    struct json_object *unheld; /* addresses of deleted rules that were not reserved */
    int next;                   /* of addresses, ids and fingerprints */
    int fails_in;               /* the so-manieth call from here fails; 0: none */
    bool forbids_firewall;      /* another program writes the firewalls */
    struct str_buf *broken;
};
/* `observed`: resources by path; what the cloud fills in may be left out.  `members`: zone
 * → names or endpoints. */
void gce_model_init(struct gce_model *m, struct arena *a, struct json_object *observed,
                    struct json_object *members);
void gce_model_done(struct gce_model *m);
/* Another program's writes: resources by path as they are from now on, null for one that is
 * gone. */
void gce_model_merge(struct gce_model *m, struct json_object *given);
const char *gce_model_path(const struct gce_model *m, enum gce_collection c, const char *zone,
                           const char *name);
/* NULL: absent. */
struct json_object *gce_model_get(const struct gce_model *m, enum gce_collection c,
                                  const char *zone, const char *name);
/* One call.  *ret_resource (may be NULL): as it is then. */
struct gce_model_call {
    enum gce_collection c;
    enum gce_verb verb;
    const char *zone;
    const char *name;
    struct json_object *body; /* borrowed */
};
int gce_model_do(struct gce_model *m, const struct gce_model_call *call,
                 struct json_object **ret_resource, struct err *err) _warn_unused_;
/* When a plan was carried out: what only shows at its end. */
void gce_model_end(struct gce_model *m);

#endif
