/* SPDX-License-Identifier: Apache-2.0 */
/* gce_network_rules.h: Services of other networks than the cluster's own
 * (--enable-multi-networking).
 *
 *     Service  spec.selector["networking.gke.io/network"]: blue
 *        └─▶ Network blue              spec.type L3, spec.parametersRef ─┐
 *               GKENetworkParamSet   ◀──────────────────────────────────┘ spec.vpc, spec.vpcSubnet
 *                  └─▶ projects/<network project>/global/networks/<vpc>,
 *                      …/regions/<region>/subnetworks/<vpcSubnet>
 *     Node     annotation networking.gke.io/north-interfaces: its address in blue (gce_neg_rules.h)
 *
 * Both kinds of objects are cluster-wide.  Whatever is wrong with them, or keeps them from being
 * found, is the user's to fix: ERR_INVALID, in upstream's words.  A load balancer never moves from
 * one network to another, because nothing that it is made of can: what stands elsewhere is a reason
 * to refuse, not to make it again.
 * Source: gce-l4.md §4.13, §1.6.3 rule 6, §1.9.  Pure. */
#ifndef TRIMTAB_GCE_NETWORK_RULES_H
#define TRIMTAB_GCE_NETWORK_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/types.h>

#define GCE_NETWORK_SELECTOR "networking.gke.io/network"

/* The Network object that the Service names, whatever the flag says; NULL: the cluster's own
 * network, which also has the names "" and "default". */
const char *gce_network_of_service(const struct tt_service *s);

/* Network → name of its GKENetworkParamSet, in the arena.  `name` is the Network's; `o` NULL if
 * there is none.  ERR_INVALID. */
int gce_network_params_name(struct arena *a, const char *name, struct json_object *o,
                            const char **ret, struct err *err) _warn_unused_;

/* Where a Service's load balancer is. */
struct gce_network_place {
    const char *network;    /* link of the VPC */
    const char *subnetwork; /* link */
};
/* Input of links. */
struct gce_network_links {
    const char *projects_base; /* "https://…/compute/v1/projects/" */
    const char *project;       /* the network project */
    const char *region;
};
/* GKENetworkParamSet → links, in the arena.  `name` is the object's; `o` NULL if there
 * is none. ERR_INVALID. */
int gce_network_place_of(struct arena *a, const struct gce_network_links *l, const char *name,
                         struct json_object *o, struct gce_network_place *ret,
                         struct err *err) _warn_unused_;

/* ---- what stands elsewhere ------------------------------------------------------------------- */
/* One resource of the Service that was seen. */
struct gce_network_seen {
    const char *what; /* "forwarding rule" */
    const char *name;
    const char *network; /* link; "": it does not say */
};
struct gce_network_case {
    const char *selected;     /* gce_network_of_service() */
    bool enabled;             /* --enable-multi-networking */
    const char *wanted;       /* link of the network in which the load balancer is to be */
    bool groups_instead_negs; /* its backends are NEGs, and would be replaced by instance groups */
    const struct gce_network_seen *seen;
    size_t n;
};
/* ERR_INVALID when making the Service as it is wanted would take away what serves it in another
 * network: the flag is off and the Service names a network (the text says so), or the flag is on
 * and the network it names is another now. */
int gce_network_check_seen(const struct gce_network_case *c, struct err *err) _warn_unused_;

#endif
