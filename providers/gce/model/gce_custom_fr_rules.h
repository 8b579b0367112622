/* SPDX-License-Identifier: Apache-2.0 */
/* gce_custom_fr_rules.h: the forwarding rules that the owner of a Service with NEGs alone made
 * himself: which the Service names, which of them lead to its NEGs, and what its status says of
 * that.
 *
 *     annotation networking.gke.io/custom-forwarding-rule → references → (what was read of each) →
 *     verdict
 *
 * A rule counts when it is external and passes packets through, and its backend service has one of
 * the Service's NEGs.  One that is right is enough: its address is published, an event names the
 * others.  What could not be read, as opposed to what is not there, takes no address away that is
 * published already (docs/deviations.md).
 * Source: gce-l4.md §1.8; pkg/l4/controllers/standalonenegcontroller.go.  Pure; everything lives in
 * the arena. */
#ifndef TRIMTAB_GCE_CUSTOM_FR_RULES_H
#define TRIMTAB_GCE_CUSTOM_FR_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_resources.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/types.h>

#define GCE_CUSTOM_FR_MAX       10 /* that one Service can name */
#define GCE_CUSTOM_FR_CONDITION "ExternalIPProgrammed"

/* ---- what the Service names ------------------------------------------------------------------ */
struct gce_custom_ref {
    const char *text;     /* as written: a name, or a link */
    struct gce_link link; /* where it is: project, region ("" = global), name */
};
struct gce_custom_refs {
    struct gce_custom_ref *items; /* at most GCE_CUSTOM_FR_MAX, sorted by text, each once */
    size_t n;
    struct gce_strs bad;     /* what is no reference to a forwarding rule */
    struct gce_strs surplus; /* behind the tenth */
};
/* `annotation` may be NULL.  A name alone is one of `project` and `region`. */
void gce_custom_refs_parse(struct arena *a, const char *annotation, const char *project,
                           const char *region, struct gce_custom_refs *ret);

/* ---- what was read --------------------------------------------------------------------------- */
/* One reference.  All zero: not read. */
struct gce_custom_seen {
    struct err rule_err; /* of reading the rule; NOT_FOUND: there is none */
    const char *scheme;  /* loadBalancingScheme */
    const char *protocol;
    struct gce_strs ips; /* IPAddresses, else IPAddress; as the API has them */
    const char *backend; /* link of its backend service; "" = none */
    bool service_looked; /* its backend service was asked for, and it has a name */
    struct err service_err;
    struct gce_strs groups; /* links of that one's backends */
};
/* Takes apart what the API answered. */
void gce_custom_rule_take(struct arena *a, struct json_object *rule, struct gce_custom_seen *ret);
void gce_custom_service_take(struct arena *a, struct json_object *service,
                             struct gce_custom_seen *ret);
/* Is it worth while to read the rule's backend service?  Not of a rule that cannot
 * be used anyway. */
bool gce_custom_wants_service(const struct gce_custom_seen *seen);

/* ---- what follows ---------------------------------------------------------------------------- */
struct gce_custom_verdict {
    /* for status.loadBalancer.ingress, each with ipMode VIP; canonical, each once */
    struct gce_strs ips;
    struct tt_condition condition;
    const char *event_reason; /* Warning for the owner; NULL: none */
    const char *event;
    bool asks;    /* the Service names a rule */
    bool is_fine; /* every rule that it names can be used */
};
/* `seen`: one for each of refs->items.  `neg`: the name of the Service's NEGs, in whatever zone. */
void gce_custom_judge(struct arena *a, const struct tt_service *s,
                      const struct gce_custom_refs *refs, const struct gce_custom_seen *seen,
                      const char *neg, struct gce_custom_verdict *ret);

#endif
