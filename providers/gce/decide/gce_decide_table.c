/* SPDX-License-Identifier: Apache-2.0 */
/* gce_decide_table.c: the kinds of load balancers, and the rows of the decision
 * (gce_decide_table.h). */
#include "providers/gce/decide/gce_decide_table.h"

#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_service_rules.h"

/* ---- kinds ----------------------------------------------------------------------------------- */

#define BIT(kind) (1u << (unsigned)(kind))
#define BIT_NETLB (BIT(GCE_KIND_NETLB_GROUPS) | BIT(GCE_KIND_NETLB_NEGS))

const struct gce_kind_row gce_kinds[GCE_KIND_MAX] = {
    [GCE_KIND_NONE] = {.text = "nothing of ours"},
    [GCE_KIND_TARGET_POOL] = {"external, target pool", GCE_PART_LEGACY, GCE_FINALIZER_NETLB_V1,
                              "finalizer l4-netlb-v1", BIT(GCE_KIND_TARGET_POOL)},
    [GCE_KIND_ILB_GROUPS] = {"internal, instance groups", GCE_PART_LEGACY, GCE_FINALIZER_ILB_V1,
                             "finalizer l4-ilb-v1", BIT(GCE_KIND_ILB_GROUPS)},
    [GCE_KIND_ILB_NEGS] = {"internal, GCE_VM_IP NEGs", GCE_PART_L4, GCE_FINALIZER_ILB_V2,
                           "finalizer l4-ilb-v2", BIT(GCE_KIND_ILB_NEGS)},
    [GCE_KIND_NETLB_GROUPS] = {"external, backend service with instance groups", GCE_PART_L4,
                               GCE_FINALIZER_NETLB_V2, "finalizer l4-netlb-v2", BIT_NETLB},
    [GCE_KIND_NETLB_NEGS] = {"external, backend service with GCE_VM_IP NEGs", GCE_PART_L4,
                             GCE_FINALIZER_NETLB_V3, "finalizer l4-netlb-v3", BIT_NETLB},
    [GCE_KIND_NEGS_ONLY] = {.text = "GCE_VM_IP NEGs only",
                            .part = GCE_PART_L4,
                            .family = BIT(GCE_KIND_NEGS_ONLY)},
};

const char *gce_kind_text(enum gce_kind kind)
{
    return gce_kinds[kind].text;
}

enum gce_part gce_kind_part(enum gce_kind kind)
{
    return gce_kinds[kind].part;
}

bool gce_kind_is_internal(enum gce_kind kind)
{
    return kind == GCE_KIND_ILB_GROUPS || kind == GCE_KIND_ILB_NEGS;
}

bool gce_kind_has_negs(enum gce_kind kind)
{
    return kind == GCE_KIND_ILB_NEGS || kind == GCE_KIND_NETLB_NEGS || kind == GCE_KIND_NEGS_ONLY;
}

bool gce_kind_has_service(enum gce_kind kind)
{
    return kind >= GCE_KIND_ILB_GROUPS && kind <= GCE_KIND_NETLB_NEGS;
}

bool gce_kinds_stand_together(enum gce_kind kind, unsigned former)
{
    return (kind == GCE_KIND_ILB_NEGS && former == 1u << GCE_KIND_TARGET_POOL) ||
           (kind == GCE_KIND_TARGET_POOL && former == 1u << GCE_KIND_ILB_NEGS);
}

const char *gce_kind_finalizer(enum gce_kind kind)
{
    return gce_kinds[kind].finalizer;
}

bool gce_legacy_is_on(const struct gce_switches *f, const struct tt_service *s)
{
    bool by_class = s != NULL && (str_eq(s->lb_class, GCE_CLASS_INTERNAL_LEGACY) ||
                                  str_eq(s->lb_class, GCE_CLASS_EXTERNAL_LEGACY));
    if (s == NULL) {
        return !f->legacy_off || f->gke_classes;
    }
    return by_class ? f->gke_classes : !f->legacy_off;
}

bool gce_kind_is_run(const struct gce_switches *f, enum gce_kind kind)
{
    switch (kind) {
    case GCE_KIND_TARGET_POOL:
    case GCE_KIND_ILB_GROUPS:
        return !f->legacy_off;
    case GCE_KIND_ILB_NEGS:
        return f->run_ilb;
    case GCE_KIND_NETLB_GROUPS:
    case GCE_KIND_NETLB_NEGS:
        return f->run_netlb;
    case GCE_KIND_NEGS_ONLY:
        return f->standalone_negs || f->standalone_status;
    default:
        return false;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

const struct gce_decide_row gce_rows[ROW_MAX] = {
    [ROW_NOT_LB] = {"not-a-load-balancer",
                    "its type is not LoadBalancer, and it has nothing of a load balancer",
                    GCE_KIND_NONE, "gce-l4.md §1.4"},
    [ROW_GONE] = {"gone", "it is being deleted or its type is no longer LoadBalancer",
                  GCE_KIND_NONE, "gce-l4.md §1.7"},
    [ROW_GONE_CLEAN] = {"gone-clean",
                        "it is being deleted or its type is no longer LoadBalancer, and only the "
                        "finalizer " LB_CLEANUP_FINALIZER " may be left",
                        GCE_KIND_NONE, "docs/adr/0011"},
    [ROW_CLASS_FOREIGN] = {"class-foreign", "its loadBalancerClass is another controller's",
                           GCE_KIND_NONE, "gce-l4.md §1.3"},
    [ROW_CLASS_STANDALONE] = {"class-standalone", "its loadBalancerClass is " GCE_CLASS_STANDALONE,
                              GCE_KIND_NEGS_ONLY, "gce-l4.md §1.8"},
    [ROW_CLASS_INTERNAL] = {"class-internal", "its loadBalancerClass is " GCE_CLASS_INTERNAL,
                            GCE_KIND_ILB_NEGS, "gce-l4.md §1.5"},
    [ROW_CLASS_EXTERNAL] = {"class-external", "its loadBalancerClass is " GCE_CLASS_EXTERNAL,
                            GCE_KIND_NETLB_GROUPS, "gce-l4.md §1.6.1"},
    [ROW_CLASS_INTERNAL_LEGACY] = {"class-internal-legacy",
                                   "its loadBalancerClass is " GCE_CLASS_INTERNAL_LEGACY,
                                   GCE_KIND_ILB_GROUPS, "gce-cloud-provider.md §5.2"},
    [ROW_CLASS_EXTERNAL_LEGACY] = {"class-external-legacy",
                                   "its loadBalancerClass is " GCE_CLASS_EXTERNAL_LEGACY,
                                   GCE_KIND_TARGET_POOL, "gce-cloud-provider.md §8.1"},
    [ROW_RULE_UNREADABLE] = {"rule-unreadable",
                             "its forwarding rule cannot be read, which would say what it is",
                             GCE_KIND_NONE, "gce-l4.md §1.5"},
    [ROW_NAME_TAKEN] = {"name-taken",
                        "a load balancer of the other side, which another program must take away "
                        "first, has its forwarding rule's name",
                        GCE_KIND_NONE, "gce-cloud-provider.md §8.4"},
    [ROW_ILB_V1] = {"ilb-v1", "it has the finalizer " GCE_FINALIZER_ILB_V1, GCE_KIND_ILB_GROUPS,
                    "gce-l4.md §1.5"},
    [ROW_ILB_RULE] = {"ilb-rule", "the forwarding rule of its legacy name is internal",
                      GCE_KIND_ILB_GROUPS, "gce-l4.md §1.5"},
    [ROW_ILB_V2] = {"ilb-v2", "it has the finalizer " GCE_FINALIZER_ILB_V2, GCE_KIND_ILB_NEGS,
                    "gce-cloud-provider.md §5.2"},
    [ROW_ILB_SUBSETS] = {"ilb-subsetting",
                         "subsetting is on (--run-l4-controller, or alpha feature ILBSubsets)",
                         GCE_KIND_ILB_NEGS, "gce-l4.md §1.4"},
    [ROW_ILB_DEFAULT] = {"ilb-default", "subsetting is off", GCE_KIND_ILB_GROUPS, "gce-l4.md §1.4"},
    [ROW_NETLB_V1] = {"netlb-v1", "it has the finalizer " GCE_FINALIZER_NETLB_V1,
                      GCE_KIND_TARGET_POOL, "gce-cloud-provider.md §8.1"},
    [ROW_NETLB_POOL] = {"netlb-pool", "the forwarding rule of its legacy name has a target pool",
                        GCE_KIND_TARGET_POOL, "gce-l4.md §1.6.1"},
    [ROW_NETLB_V3] = {"netlb-v3", "it has the finalizer " GCE_FINALIZER_NETLB_V3,
                      GCE_KIND_NETLB_NEGS, "gce-l4.md §1.6.1"},
    [ROW_NETLB_V2] = {"netlb-v2", "it has the finalizer " GCE_FINALIZER_NETLB_V2,
                      GCE_KIND_NETLB_GROUPS, "gce-l4.md §1.6.1"},
    [ROW_NETLB_RULE] = {"netlb-rule",
                        "the forwarding rule of its legacy name has a backend service",
                        GCE_KIND_NETLB_GROUPS, "gce-l4.md §1.6.1"},
    [ROW_NETLB_ASKED] = {"netlb-asked", "annotation " GCE_ANN_RBS " is enabled",
                         GCE_KIND_NETLB_GROUPS, "gce-l4.md §1.6.1"},
    [ROW_NETLB_DEFAULT] = {"netlb-default", "backend services are the default for new Services",
                           GCE_KIND_NETLB_GROUPS, "gce-l4.md §1.6.1"},
    [ROW_POOL_DEFAULT] = {"pool-default",
                          "neither annotation, finalizer nor flag asks for a backend service",
                          GCE_KIND_TARGET_POOL, "gce-l4.md §1.4"},
    [ROW_MEMBERS_FLAG_OFF] = {"members-flag-off", "--enable-l4-netlb-neg is off",
                              GCE_KIND_NETLB_GROUPS, "gce-l4.md §1.6.3"},
    [ROW_MEMBERS_V2] = {"members-v2", "it has the finalizer " GCE_FINALIZER_NETLB_V2,
                        GCE_KIND_NETLB_GROUPS, "gce-l4.md §1.6.3"},
    [ROW_MEMBERS_V3] = {"members-v3", "it has the finalizer " GCE_FINALIZER_NETLB_V3,
                        GCE_KIND_NETLB_NEGS, "gce-l4.md §1.6.3"},
    [ROW_MEMBERS_ARE_GROUPS] = {"members-are-groups", "its backend service has instance groups",
                                GCE_KIND_NETLB_GROUPS, "gce-l4.md §1.6.3"},
    [ROW_MEMBERS_ARE_NEGS] = {"members-are-negs", "its backend service has NEGs",
                              GCE_KIND_NETLB_NEGS, "gce-l4.md §1.6.3"},
    [ROW_MEMBERS_NEG_DEFAULT] = {"members-neg-default", "--enable-l4-netlb-neg-default is on",
                                 GCE_KIND_NETLB_NEGS, "gce-l4.md §1.6.3"},
    [ROW_MEMBERS_DEFAULT] = {"members-default", "--enable-l4-netlb-neg-default is off",
                             GCE_KIND_NETLB_GROUPS, "gce-l4.md §1.6.3"},
    [ROW_MEMBERS_NETWORK] = {"members-network",
                             "it would have groups, but spec.selector names another network than "
                             "the cluster's; its finalizer is that of groups",
                             GCE_KIND_NETLB_NEGS, "gce-l4.md §1.6.3"},
};
