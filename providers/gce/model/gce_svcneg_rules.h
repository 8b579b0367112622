/* SPDX-License-Identifier: Apache-2.0 */
/* gce_svcneg_rules.h: a ServiceNetworkEndpointGroup as it should be, and what is to be written into
 * the one that is there.
 *
 * ingress-gce keeps one such object beside each Service that has NEGs: it names them, so that a
 * Service that is gone without a trace leaves something to clean up by.  Byte for byte as upstream
 * makes it, but written only when it would say something else: upstream patches lastSyncTime at
 * every node event (A19).
 * Source: gce-l4.md §3.9, §3.10.  Pure: the time is a parameter. */
#ifndef TRIMTAB_GCE_SVCNEG_RULES_H
#define TRIMTAB_GCE_SVCNEG_RULES_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "providers/gce/model/gce_l4_resources.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/types.h>

#define GCE_SVCNEG_VERSION   "networking.gke.io/v1beta1"
#define GCE_SVCNEG_RESOURCE  "servicenetworkendpointgroups"
#define GCE_SVCNEG_FINALIZER "networking.gke.io/neg-finalizer"
/* By which ours are listed. */
#define GCE_SVCNEG_SELECTOR "networking.gke.io/managed-by=neg-controller"

/* How the last sync of the NEGs went. */
enum gce_svcneg_phase {
    GCE_SVCNEG_SYNCED = 0,
    GCE_SVCNEG_INIT_FAILED, /* NEGs could not be made */
    GCE_SVCNEG_SYNC_FAILED, /* members could not be changed */
};
struct gce_svcneg_wish {
    const struct tt_service *service;
    const char *name;           /* of the NEGs, and of the object */
    const struct gce_neg *negs; /* all that exist, in any zone; needed: zone, link, id */
    size_t n_negs;
    enum gce_svcneg_phase phase;
    const char *message; /* of a failure */
    /* With --enable-multi-subnet-cluster-phase1 each one's state and subnetwork are written, too:
     * ACTIVE in these zones (where the Service has candidates), INACTIVE in others. */
    bool with_states;
    struct gce_strs zones; /* sorted */
};

/* Two digests are equal when nothing is to be written. */
uint64_t gce_svcneg_digest_wanted(struct arena *a, const struct gce_svcneg_wish *w);
uint64_t gce_svcneg_digest_found(struct arena *a, struct json_object *object, bool with_states);
/* The Service that it says it is for; NULL if it is not one of the kind that we make. */
const char *gce_svcneg_service_of(struct json_object *object);
/* The uid of the one owner that it has, a Service; NULL: it has none such. */
const char *gce_svcneg_owner_of(struct json_object *object);
bool gce_svcneg_is_deleting(struct json_object *object);
/* Links of the NEGs that it names. */
struct gce_strs gce_svcneg_links_of(struct arena *a, struct json_object *object);

/* `now`: RFC 3339, seconds.  The body of a new one, and the merge patch for one that is there:
 * what another program put into it stays, and so does the moment of a transition that is none. */
char *gce_svcneg_create(struct arena *a, const struct gce_svcneg_wish *w, const char *now);
char *gce_svcneg_patch(struct arena *a, struct json_object *object, const struct gce_svcneg_wish *w,
                       const char *now);
/* The merge patch that lets go of our finalizer; NULL: it is not there. */
char *gce_svcneg_release(struct arena *a, struct json_object *object);

/* The value of annotation cloud.google.com/neg-status; `zones` sorted. */
char *gce_neg_status_text(struct arena *a, const char *neg, const struct gce_strs *zones);
/* Does the annotation's value name NEGs of nodes?  Theirs is port "0"; NEGs of pods, which are not
 * ours, have the Service's ports.  NULL: no. */
bool gce_neg_status_names_nodes(const char *text);

#endif
