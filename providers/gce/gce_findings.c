/* SPDX-License-Identifier: Apache-2.0 */
/* gce_findings.c: see gce_findings.h. */
#include "providers/gce/gce_findings.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/list_limits.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_network_rules.h"
#include "providers/gce/model/gce_service_rules.h"

#define BIT(kind) (1u << (kind))
#define POOL      BIT(GCE_KIND_TARGET_POOL)
#define INTERNAL  (BIT(GCE_KIND_ILB_GROUPS) | BIT(GCE_KIND_ILB_NEGS))
#define NETLB     (BIT(GCE_KIND_NETLB_GROUPS) | BIT(GCE_KIND_NETLB_NEGS))
#define L4        (BIT(GCE_KIND_ILB_NEGS) | NETLB)
#define NEGS_ONLY BIT(GCE_KIND_NEGS_ONLY)
#define EVERY     (POOL | INTERNAL | NETLB | NEGS_ONLY)

/* ---- keys ------------------------------------------------------------------------------------ */

static const char *const prefixes[] = {"alpha.cloud.google.com/", "cloud.google.com/",
                                       "networking.gke.io/",      "service.beta.kubernetes.io/",
                                       "service.kubernetes.io/",  NULL};

static const char *const known[] = {GCE_ANN_TYPE,
                                    GCE_ANN_TYPE_OLD,
                                    GCE_ANN_SHARE,
                                    GCE_ANN_SHARE_OLD,
                                    GCE_ANN_GLOBAL_ACCESS,
                                    GCE_ANN_SUBNET,
                                    GCE_ANN_SUBNET_NEW,
                                    GCE_ANN_TIER,
                                    GCE_ANN_RBS,
                                    GCE_ANN_TARGET_POOL,
                                    GCE_ANN_BACKEND,
                                    GCE_ANN_IP_ADDRESSES,
                                    GCE_ANN_WEIGHTED,
                                    GCE_ANN_STRONG_AFFINITY,
                                    GCE_ANN_L4LB_CONFIG,
                                    GCE_ANN_IP_COLLECTION,
                                    GCE_ANN_CUSTOM_RULES,
                                    GCE_ANN_NEG_STATUS,
                                    GCE_ANN_STATUS_PREFIX "*",
                                    LB_SOURCE_RANGES_ANNOTATION,
                                    NULL};

/* Sources: ingress-gce, pkg/annotations/service.go (NEGs of pods, BackendConfig, health checks,
 * spillover); GKE's pages on Services, Gateways, multi-cluster Services and Private Service
 * Connect; the Service page of Kubernetes' documentation. */
static const char *const others[] = {"alpha.cloud.google.com/load-balancer-neg",
                                     "cloud.google.com/app-protocols",
                                     "cloud.google.com/backend-config",
                                     "cloud.google.com/gke-*",
                                     "cloud.google.com/load-balancer-neg*",
                                     "cloud.google.com/neg",
                                     "cloud.google.com/neg-status",
                                     "cloud.google.com/psc-*",
                                     "networking.gke.io/api-version",
                                     "networking.gke.io/managed-*",
                                     "networking.gke.io/max-rate-per-endpoint",
                                     "networking.gke.io/network",
                                     "networking.gke.io/networks",
                                     "networking.gke.io/north-interfaces",
                                     "networking.gke.io/resource-description",
                                     "networking.gke.io/service-*",
                                     "networking.gke.io/transparent-health-checker",
                                     "networking.gke.io/v1*",
                                     "networking.gke.io/zonal-affinity-spillover-ratio",
                                     "service.beta.kubernetes.io/alibaba-*",
                                     "service.beta.kubernetes.io/aws-*",
                                     "service.beta.kubernetes.io/azure-*",
                                     "service.beta.kubernetes.io/do-*",
                                     "service.beta.kubernetes.io/ibm-*",
                                     "service.beta.kubernetes.io/oci-*",
                                     "service.beta.kubernetes.io/openstack-*",
                                     "service.kubernetes.io/*",
                                     NULL};

const struct lb_annotation_keys gce_annotation_keys = {
    .prefixes = prefixes, .known = known, .others = others};

/* ---- values ---------------------------------------------------------------------------------- */

static const char *const booleans[] = {"true", "false", NULL};
static const char *const tiers[] = {"Premium", "Standard", NULL};
static const char *const enabled[] = {"enabled", "disabled", NULL};
static const char *const weighted[] = {"pods-per-node", NULL};

enum needs {
    NEEDS_NOTHING = 0,
    NEEDS_WEIGHTED, /* the flag of the kind */
    NEEDS_LOGGING,
    NEEDS_BYO,
};

struct row {
    const char *key;
    unsigned on;              /* kinds on which it has an effect */
    const char *const *words; /* what is understood, compared as it is; NULL: other rules judge */
    const char *otherwise;    /* what another word does */
    enum needs needs;
};

static const struct row rows[] = {
    {GCE_ANN_RBS, EVERY & ~INTERNAL & ~NEGS_ONLY, enabled, "asks for nothing", NEEDS_NOTHING},
    {GCE_ANN_TIER, POOL | NETLB, tiers, "counts as absent", NEEDS_NOTHING},
    {GCE_ANN_GLOBAL_ACCESS, INTERNAL, booleans, "counts as false", NEEDS_NOTHING},
    {GCE_ANN_SUBNET, INTERNAL, NULL, NULL, NEEDS_NOTHING},
    {GCE_ANN_SUBNET_NEW, L4, NULL, NULL, NEEDS_NOTHING},
    {GCE_ANN_IP_ADDRESSES, L4, NULL, NULL, NEEDS_NOTHING},
    {GCE_ANN_SHARE, BIT(GCE_KIND_ILB_GROUPS), booleans, "counts as false", NEEDS_NOTHING},
    {GCE_ANN_SHARE_OLD, BIT(GCE_KIND_ILB_GROUPS), booleans, "counts as false", NEEDS_NOTHING},
    {GCE_ANN_WEIGHTED, L4, weighted, "asks for nothing", NEEDS_WEIGHTED},
    {GCE_ANN_STRONG_AFFINITY, NETLB, enabled, "asks for nothing", NEEDS_NOTHING},
    {GCE_ANN_L4LB_CONFIG, L4, NULL, NULL, NEEDS_LOGGING},
    {GCE_ANN_IP_COLLECTION, NETLB | INTERNAL, NULL, NULL,
     NEEDS_BYO}, /* internal: by what is desired */
    {GCE_ANN_CUSTOM_RULES, NEGS_ONLY, NULL, NULL, NEEDS_NOTHING},
};

static bool is_understood(const char *value, const char *const *words)
{
    for (; words != NULL && *words != NULL; words++) {
        if (str_eq(value, *words)) {
            return true;
        }
    }
    return false;
}

static const char *words_text(struct arena *a, const char *const *words)
{
    size_t n = 0;
    while (words[n] != NULL) {
        n++;
    }
    return str_join(a, words, n, " or ");
}

/* The flag without which it has no effect; NULL: none is missing. */
static const char *missing(const struct row *row, enum gce_kind kind, const struct gce_options *o)
{
    bool internal = gce_kind_is_internal(kind);
    switch (row->needs) {
    case NEEDS_NOTHING:
        return NULL;
    case NEEDS_WEIGHTED:
        if (internal) {
            return o->l4.weighted_ilb ? NULL : "--enable-weighted-l4-ilb";
        }
        return o->l4.weighted_netlb ? NULL : "--enable-weighted-l4-netlb";
    case NEEDS_LOGGING:
        return o->l4.logging ? NULL : "--manage-l4lb-logging";
    case NEEDS_BYO:
        break;
    }
    return o->l4.byo_ipv6 ? NULL : "--enable-byo-ipv6";
}

static void find(struct lb_sync *s, const struct lb_item *item, const struct row *row,
                 enum gce_kind kind, const struct gce_options *o)
{
    const char *value = svc_annotation(item->in->service, row->key);
    if (value == NULL || *str_trim(s->a, value) == '\0') {
        return;
    }
    const char *flag = missing(row, kind, o);
    if ((row->on & BIT(kind)) == 0) {
        lb_finding(s, item, LB_FINDING_IGNORED, row->key,
                   "annotation %s has no effect on this kind of load balancer (%s)", row->key,
                   gce_kind_text(kind));
    } else if (row->words != NULL && !is_understood(value, row->words)) {
        lb_finding(s, item, LB_FINDING_IGNORED, row->key,
                   "annotation %s: \"%s\" is not understood and %s; want %s", row->key,
                   lb_finding_value(s->a, value), row->otherwise, words_text(s->a, row->words));
    } else if (flag != NULL) {
        lb_finding(s, item, LB_FINDING_IGNORED, row->key, "annotation %s has no effect without %s",
                   row->key, flag);
    }
}

/* The older key where the newer one is there and says something else. */
static void find_older_type(struct lb_sync *s, const struct lb_item *item)
{
    const struct tt_service *svc = item->in->service;
    const char *older = svc_annotation(svc, GCE_ANN_TYPE_OLD);
    if (older != NULL && str_eq(gce_svc_type_key(svc), GCE_ANN_TYPE) &&
        gce_type_says_internal(older) != gce_type_says_internal(gce_svc_type_text(svc))) {
        lb_finding(s, item, LB_FINDING_IGNORED, GCE_ANN_TYPE_OLD,
                   "annotation %s: \"%s\" has no effect beside " GCE_ANN_TYPE, GCE_ANN_TYPE_OLD,
                   lb_finding_value(s->a, older));
    }
}

static void find_type(struct lb_sync *s, const struct lb_item *item, enum gce_kind kind)
{
    const struct tt_service *svc = item->in->service;
    const char *key = gce_svc_type_key(svc);
    const char *text = gce_svc_type_text(svc);
    const char *word = str_lower(s->a, str_trim(s->a, str_nonnull(text)));
    bool internal = gce_type_says_internal(text);

    find_older_type(s, item);
    if (*word == '\0') {
        return;
    }
    if (svc->lb_class != NULL) {
        if (internal != gce_kind_is_internal(kind)) {
            lb_finding(s, item, LB_FINDING_IGNORED, key,
                       "annotation %s: \"%s\" has no effect beside spec.loadBalancerClass", key,
                       lb_finding_value(s->a, text));
        }
    } else if (!internal && !str_eq(word, "external")) {
        bool slip = gce_svc_type_slip(s->a, svc) != NULL;
        lb_finding(s, item, LB_FINDING_IGNORED, key,
                   "annotation %s: \"%s\" is not understood and counts as External; %s", key,
                   lb_finding_value(s->a, text),
                   slip ? "\"Internal\" was probably meant" : "want Internal or External");
    }
}

/* Without the flag the selector chooses pods, as any other label, and the load balancer stays in
 * the cluster's own network. */
static void find_network(struct lb_sync *s, const struct lb_item *item, enum gce_kind kind,
                         const struct gce_options *o)
{
    static const char field[] = "spec.selector[\"" GCE_NETWORK_SELECTOR "\"]";
    if (gce_network_of_service(item->in->service) == NULL) {
        return;
    }
    if (((L4 | NEGS_ONLY) & BIT(kind)) == 0) {
        lb_finding(s, item, LB_FINDING_IGNORED, "spec.selector",
                   "%s has no effect on this kind of load balancer (%s)", field,
                   gce_kind_text(kind));
    } else if (!o->l4.multi_network) {
        lb_finding(s, item, LB_FINDING_IGNORED, "spec.selector",
                   "%s has no effect without --enable-multi-networking", field);
    }
}

void gce_findings(struct lb_sync *s, const struct lb_item *item, enum gce_kind kind,
                  const struct gce_options *o)
{
    find_type(s, item, kind);
    find_network(s, item, kind, o);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        find(s, item, &rows[i], kind, o);
    }
    lb_findings_unknown(s, item, &gce_annotation_keys);
}

int gce_findings_type_key_check(struct arena *a, const struct tt_service *s, bool lenient,
                                struct err *err)
{
    bool says =
        lenient || s->lb_class != NULL || gce_svc_type_text(s) != NULL || gce_svc_public_by_slip(s);
    const struct tt_kv *slip =
        says ? NULL : lb_private_slip(a, &gce_annotation_keys, s, GCE_ANN_TYPE);
    slip =
        slip != NULL || says ? slip : lb_private_slip(a, &gce_annotation_keys, s, GCE_ANN_TYPE_OLD);
    return slip == NULL
               ? ERR_OK
               : lb_private_slip_refuse(slip, GCE_ANN_TYPE, "--lenient-load-balancer-type", err);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Limits of Google cannot be raised.  A longer list of source ranges is refused; of nodes Google
 * takes more than it sends traffic to.  Forwarding rules, backend services, addresses and firewalls
 * are counted by project and region, where others have theirs, too: they are not here.
 * Source: Google's pages "Quotas" of Cloud NGFW and of VPC (source ranges), "Internal LoadBalancer
 * Services" of GKE (250 nodes without subsetting); gce-l4.md §3.4, §8.3. */
static const struct lb_limit ranges = {
    .list = "source ranges", .most = 5000, .beyond = "Google refuses more"};
static const struct lb_limit ilb_nodes = {.list = "nodes behind an internal load balancer",
                                          .most = 250,
                                          .beyond = "Google sends traffic to no more"};
static const struct lb_limit local_ilb = {.list = "nodes with endpoints in its NEGs",
                                          .most = GCE_NEG_LOCAL_MAX_ILB,
                                          .beyond = "the other nodes get no traffic"};
static const struct lb_limit local_netlb = {.list = "nodes with endpoints in its NEGs",
                                            .most = GCE_NEG_LOCAL_MAX_NETLB,
                                            .beyond = "the other nodes get no traffic"};

/* Google refuses such a firewall last, when address and forwarding rule stand. */
static bool is_refused(struct lb_item *item, const struct gce_firewall *f)
{
    if (str_is_empty(f->name) || f->sources.n <= ranges.most) {
        return false;
    }
    (void)err_set(&item->err, ERR_INVALID,
                  "firewall %s would have %zu source ranges, and Google takes %zu", f->name,
                  f->sources.n, ranges.most);
    return true;
}

bool gce_limits_refuse(struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    const struct gce_bs_desired *d = &g->bs.d;
    if (item->in->verb != TT_VERB_ENSURE || item->in->service->n_ingress > 0) {
        return false;
    }
    if (!gce_item_is_bs(item)) {
        return is_refused(item, &g->tp.desired.traffic);
    }
    return g->bs.has_desired &&
           (is_refused(item, &d->v4.firewall) || is_refused(item, &d->v6.firewall));
}

static void of_firewall(struct lb_sync *s, const struct lb_item *item, const struct gce_firewall *f)
{
    if (!str_is_empty(f->name)) {
        lb_limit_find(s, item, &ranges, "spec.loadBalancerSourceRanges",
                      arena_printf(s->a, "firewall %s", f->name), 0, f->sources.n);
    }
}

static void of_groups(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->groups.n; i++) {
        const struct gce_zone_nodes *z = &b->groups.zones[i];
        n += z->nodes.n;
        if (z->n_beyond > 0) {
            lb_finding(s, item, LB_FINDING_LIMIT, NULL,
                       "instance group %s takes %zu nodes of zone %s (--max-ig-size), and %zu more "
                       "are left out",
                       b->group_name, z->nodes.n, z->zone, z->n_beyond);
        }
    }
    if (gce_kind_is_internal(b->in.kind)) {
        lb_limit_find(s, item, &ilb_nodes, NULL, arena_printf(s->a, "load balancer %s", b->d.name),
                      0, n);
    }
}

static void of_bs(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b)
{
    of_firewall(s, item, &b->d.v4.firewall);
    of_firewall(s, item, &b->d.v6.firewall);
    of_groups(s, item, b);
    lb_limit_find(s, item, gce_kind_is_internal(b->in.kind) ? &local_ilb : &local_netlb, NULL,
                  arena_printf(s->a, "load balancer %s", b->d.name), 0, b->members.candidates);
}

void gce_limits_find(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    if (item->in->verb != TT_VERB_ENSURE) {
        return;
    }
    if (!gce_item_is_bs(item)) {
        of_firewall(s, item, &g->tp.desired.traffic);
    } else if (g->bs.has_desired) {
        of_bs(s, item, &g->bs);
    }
}
