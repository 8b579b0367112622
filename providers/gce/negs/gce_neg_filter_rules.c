/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_filter_rules.c: which nodes may be behind a balancer at all (gce_neg_rules.h).
 *
 * One look at a node's labels, taints and conditions answers for all four uses; the membership of
 * NEGs (gce_neg_members_rules.c) and of instance groups (gce_groups_rules.c) chooses among the
 * answers.  Unready and cordoned nodes stay in NEGs on purpose: when the control plane loses a
 * zone, the balancer's own health check decides, not we.
 * Source: gce-l4.md §3.1; vectors V198–V206, V212–V213.  Pure. */
#include "providers/gce/model/gce_neg_rules.h"

#include "common/base/hash.h"
#include "common/base/str.h"

#include <string.h>

#define LABEL_SUBNET      "cloud.google.com/gke-node-pool-subnet"
#define LABEL_OPERATION   "operation.gke.io/type"
#define LABEL_MASTER      "node-role.kubernetes.io/master"
#define LABEL_EXCLUDE_OLD "alpha.service-controller.kubernetes.io/exclude-balancer"
#define LABEL_EXCLUDE     "node.kubernetes.io/exclude-from-external-load-balancers"
#define TAINT_TO_GO       "ToBeDeletedByClusterAutoscaler"
#define OPERATION_DRAIN   "drain"
#define PROVIDER_PREFIX   "gce://"
#define ANN_NETWORKS      "networking.gke.io/north-interfaces"

/* Input of the predicates for a node. */
struct traits {
    const char *subnet; /* the label, "" when absent */
    bool excluded;      /* a label or the autoscaler's taint */
    bool drains;
    bool ready; /* no Ready condition says otherwise */
    bool has_conditions;
    bool has_pod_cidr;
};

static void traits_of_labels(const struct tt_node *n, struct traits *t)
{
    for (uint32_t i = 0; i < n->n_labels; i++) {
        const char *key = n->labels[i].key;
        const char *value = str_nonnull(n->labels[i].value);
        switch (key[0]) {
        case 'a':
            t->excluded = t->excluded || str_eq(key, LABEL_EXCLUDE_OLD);
            break;
        case 'c':
            t->subnet = str_eq(key, LABEL_SUBNET) ? value : t->subnet;
            break;
        case 'n':
            t->excluded = t->excluded || str_eq(key, LABEL_MASTER) || str_eq(key, LABEL_EXCLUDE);
            break;
        case 'o':
            t->drains =
                t->drains || (str_eq(key, LABEL_OPERATION) && str_eq(value, OPERATION_DRAIN));
            break;
        default:
            break;
        }
    }
}

static struct traits traits_of(const struct tt_node *n)
{
    struct traits t = {
        .subnet = "",
        .ready = true,
        .has_conditions = n->n_conditions > 0,
        .has_pod_cidr = n->n_pod_cidrs > 0 && !str_is_empty(n->pod_cidrs[0]),
    };
    traits_of_labels(n, &t);
    for (uint32_t i = 0; i < n->n_taints; i++) {
        t.excluded = t.excluded || str_eq(n->taints[i].key, TAINT_TO_GO);
    }
    for (uint32_t i = 0; i < n->n_conditions; i++) {
        if (str_eq(n->conditions[i].type, "Ready") && !str_eq(n->conditions[i].status, "True")) {
            t.ready = false;
        }
    }
    return t;
}

/* "gce://PROJECT/ZONE/INSTANCE": the zone, which may be "" here; NULL when it is no such id. */
static const char *zone_of_provider_id(struct arena *a, const char *id)
{
    if (!str_has_prefix(id, PROVIDER_PREFIX)) {
        return NULL;
    }
    const char *project = id + strlen(PROVIDER_PREFIX);
    const char *first = strchr(project, '/');
    const char *second = first == NULL ? NULL : strchr(first + 1, '/');
    bool whole =
        second != NULL && first > project && second[1] != '\0' && strchr(second + 1, '/') == NULL;
    return whole ? arena_strndup(a, first + 1, (size_t)(second - first - 1)) : NULL;
}

/* Zone and subnet are known together or not at all: without either the node has no place. */
static void tell_place(struct arena *a, const struct gce_node_filter *f, const struct tt_node *n,
                       const struct traits *t, struct gce_node_verdict *ret)
{
    const char *zone = zone_of_provider_id(a, str_nonnull(n->provider_id));
    bool needs_cidr = f->needs_pod_cidr && f->mode != GCE_NODES_LEGACY;
    if (str_is_empty(zone) || (needs_cidr && !t->has_pod_cidr)) {
        return;
    }
    ret->zone = zone;
    if (f->mode != GCE_NODES_LEGACY) {
        ret->subnet = str_or(t->subnet, str_nonnull(f->default_subnet));
    }
}

void gce_node_judge(struct arena *a, const struct gce_node_filter *f, const struct tt_node *n,
                    struct gce_node_verdict *ret)
{
    struct traits t = traits_of(n);
    *ret = (struct gce_node_verdict){.all = true};
    tell_place(a, f, n, &t, ret);
    if (f->mode == GCE_NODES_DEFAULT_SUBNET) {
        bool elsewhere = *t.subnet != '\0' && !str_eq(t.subnet, str_nonnull(f->default_subnet));
        ret->all = !elsewhere && (t.has_pod_cidr || !f->needs_pod_cidr);
    }
    bool plain = ret->all && !t.excluded && t.has_conditions;
    ret->candidate = plain && t.ready;
    ret->candidate_or_unready = plain && !t.drains;
    ret->candidate_or_draining = plain;
}

/* ---- what of a node matters ------------------------------------------------------------------ */

static uint64_t mix(uint64_t h, const char *text)
{
    text = str_nonnull(text);
    return hash_bytes(h, text, strlen(text) + 1);
}

static uint64_t mix_labels(uint64_t h, const struct tt_node *n)
{
    static const char *const zones[] = {"failure-domain.beta.kubernetes.io/zone",
                                        "topology.kubernetes.io/zone"};
    for (uint32_t i = 0; i < n->n_labels; i++) {
        const struct tt_kv *l = &n->labels[i];
        if (str_eq(l->key, zones[0]) || str_eq(l->key, zones[1])) {
            h = mix(mix(h, l->key), l->value);
        }
    }
    for (uint32_t i = 0; i < n->n_annotations; i++) {
        if (str_eq(n->annotations[i].key, ANN_NETWORKS)) {
            h = mix(h, n->annotations[i].value);
        }
    }
    return h;
}

uint64_t gce_node_digest(const struct tt_node *n)
{
    struct traits t = traits_of(n);
    const char flags[] = {
        t.excluded ? 'x' : '-',
        t.drains ? 'd' : '-',
        t.ready ? 'r' : '-',
        t.has_conditions ? 'c' : '-',
        n->unschedulable != 0 ? 'u' : '-',
        '\0',
    };
    uint64_t h = mix(mix(mix(mix(0, n->name), n->provider_id), t.subnet), flags);
    h = mix_labels(h, n);
    h = mix(h, t.has_pod_cidr ? n->pod_cidrs[0] : "");
    for (uint32_t i = 0; i < n->n_addresses; i++) {
        if (str_eq(n->addresses[i].type, "InternalIP")) {
            h = mix(h, n->addresses[i].address);
        }
    }
    /* Eligibility as the service controller counts it: target pools and old groups. */
    return mix(h, (n->flags & TT_NODE_ELIGIBLE) != 0 ? "e" : "-");
}
