/* SPDX-License-Identifier: Apache-2.0 */
/* gce_owned_rules.h: whose a resource of a project is, by its name, its description and what it
 * refers to.  Pure.
 *
 * Names of three kinds are ours (gce_names.h, gce_ilb_names.h, gce_l4_names.h):
 *     with our cluster's id or hash   "k8s-<id>-node", "k8s2-<hash>-…": ours for certain
 *     with another cluster's          never ours
 *     "a<uid>" and what holds it      says nothing of the cluster.  The pieces of one such load
 *                                     balancer vouch for each other: one that refers to our nodes,
 *                                     groups or shared check makes all of them ours, one that
 *                                     refers to another cluster's makes none ours; else it is
 *                                     unknown.
 * A piece is used when a Service that counts has its name, shared ones as long as any Service
 * counts.  Names with the hash are made of namespace and name, not of the uid: a Service that came
 * back as a target pool has no use for what an older one of its name had.
 * Source: docs/adr/0020. */
#ifndef TRIMTAB_GCE_OWNED_RULES_H
#define TRIMTAB_GCE_OWNED_RULES_H

#include "common/base/map.h"
#include "common/base/strset.h"
#include "common/cloud/inventory.h"
#include "common/data/json.h"
#include "providers/gce/api/gce_api.h"

#include <trimtab/provider.h>

/* Known data of cluster and Services. */
struct gce_owned_facts {
    struct arena *a;
    const char *cluster_id; /* "" unknown */
    const char *l4_hash;    /* "" unknown */
    const char *group;      /* name of the instance groups */
    struct str_set nodes;   /* names of the cluster's */
    struct str_set tags;    /* of the cluster's nodes, as far as they are known */
    struct map *used;       /* names that Services that count have, whatever they are now */
    /* "a<uid>" of Services that count → "ns/name"; "": it has a mark of ingress-gce's */
    struct map *lbs;
    /* "ns/name" of those without such a mark whose rule leads to a target pool */
    struct map *pools;
    bool any_counts;       /* there is such a Service */
    bool in_use_elsewhere; /* Ingress may use the instance groups */
    const char *project;
    const char *network_project;
    const char *region;
};
/* Adds the names of a Service that counts.  `kube_system_uid` "" when unknown. */
void gce_owned_facts_add(struct gce_owned_facts *f, const struct tt_service *svc,
                         const char *kube_system_uid);

/* Signs of the cluster in a resource; bits.  Ids are proof, and one of another cluster's counts
 * most; instances come next; tags can only speak against. */
#define GCE_VOUCH_ID_OURS      0x1u
#define GCE_VOUCH_ID_OTHERS    0x2u
#define GCE_VOUCH_NODES_OURS   0x4u
#define GCE_VOUCH_NODES_OTHERS 0x8u
/* Signs of the kind of load balancer in a resource; bits. */
#define GCE_PIECE_POOL     0x1u /* target pool */
#define GCE_PIECE_INTERNAL 0x2u
#define GCE_PIECE_EXTERNAL 0x4u /* with a backend service */
#define GCE_PIECE_NEGS     0x8u

/* An item's kind is its enum gce_collection, its place the zone; its unit is "a<uid>", or "ns/name"
 * of ingress-gce's. */
struct gce_owned {
    struct inventory_item item;
    bool l4;         /* ingress-gce's */
    unsigned pieces; /* GCE_PIECE_… */
    unsigned vouch;  /* GCE_VOUCH_… */
};
/* False: none of ours.  `o` is only read; texts go to the arena. */
bool gce_owned_read(const struct gce_owned_facts *f, enum gce_collection c, struct json_object *o,
                    struct gce_owned *ret);
/* When all are known (each item embedded in a struct gce_owned): pieces vouch for each other.
 * Drops what is others'. */
void gce_owned_settle(const struct gce_owned_facts *f, struct inventory *inv);

/* "forwarding rule", "billed by the hour", "gcloud compute …" */
extern const struct inventory_words gce_owned_words[GCE_COLLECTION_MAX];
const char *gce_owned_command(const struct gce_owned_facts *f, const struct inventory_item *item);
/* A Service by which the items of a unit that no Service uses can be deleted; NULL: its owner, or
 * the part that made it, is not known, or one of them is used. */
const struct tt_service *gce_owned_service(const struct gce_owned_facts *f,
                                           const struct inventory_unit *unit);

#endif
