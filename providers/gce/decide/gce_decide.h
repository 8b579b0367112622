/* SPDX-License-Identifier: Apache-2.0 */
/* gce_decide.h: which load balancer a Service gets, whose it is, and by which rule.
 *
 * Google has five ways to serve a Service; upstream spreads the choice over two programs and a
 * dozen ifs.  Here it is one pure function over everything that may count: the Service's class,
 * annotations and finalizers, the forwarding rule of its legacy name, the backend service that it
 * had, and the flags.  Kinds stick: what was built stays what it is until the Service is deleted,
 * whatever annotations or flags say later.  Each answer names the rule that gave it; the rules are
 * a table, from which `trimtab explain` and docs/providers/gce.md are printed.
 * Source: gce-l4.md §1, §11.1–11.5; gce-cloud-provider.md §5.2, §8.  Pure. */
#ifndef TRIMTAB_GCE_DECIDE_H
#define TRIMTAB_GCE_DECIDE_H

#include "common/base/arena.h"
#include "common/base/str.h"
#include "common/lb/explain.h"
#include "providers/gce/model/gce_resources.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/types.h>

/* The kind to build. */
enum gce_kind {
    GCE_KIND_NONE = 0,     /* nothing of ours */
    GCE_KIND_TARGET_POOL,  /* external, target pool (cloud-provider-gcp) */
    GCE_KIND_ILB_GROUPS,   /* internal, instance groups (cloud-provider-gcp) */
    GCE_KIND_ILB_NEGS,     /* internal, GCE_VM_IP NEGs: subsetting (ingress-gce) */
    GCE_KIND_NETLB_GROUPS, /* external, backend service with instance groups (ingress-gce) */
    GCE_KIND_NETLB_NEGS,   /* external, backend service with GCE_VM_IP NEGs (ingress-gce) */
    GCE_KIND_NEGS_ONLY,    /* standalone: NEGs, and a status from forwarding rules of the user's */
    GCE_KIND_MAX,
};
/* Which part of upstream it belongs to; trimtab plays both, or either (§7.5). */
enum gce_part {
    GCE_PART_NOBODY = 0, /* another controller's, unknown to us */
    /* cloud-provider-gcp: the generic service controller's events and finalizers */
    GCE_PART_LEGACY,
    GCE_PART_L4, /* ingress-gce's L4 controllers: theirs */
};
/* "internal, GCE_VM_IP NEGs": for plans and explain. */
const char *gce_kind_text(enum gce_kind kind);
enum gce_part gce_kind_part(enum gce_kind kind);
bool gce_kind_is_internal(enum gce_kind kind);
bool gce_kind_has_negs(enum gce_kind kind);
/* A backend service of ours, with health check and rules: all kinds but target pools
 * and NEGs alone. */
bool gce_kind_has_service(enum gce_kind kind);
/* The finalizer that identifies the kind ("gke.networking.io/l4-ilb-v2"); NULL: none. */
const char *gce_kind_finalizer(enum gce_kind kind);

/* The flags that count (gce_options.h). */
struct gce_switches {
    /* --controllers=-service-lb-controller: no target pools, no groups of the legacy kind */
    bool legacy_off;
    /* --controllers=…,gke-service-lb-controller: Services of the two legacy classes are served */
    bool gke_classes;
    bool run_ilb;           /* --run-l4-controller */
    bool run_netlb;         /* --run-l4-netlb-controller */
    bool ilb_subsets;       /* alpha feature ILBSubsets, or run_ilb together with the legacy part */
    bool rbs_default;       /* --enable-rbs-default-l4-netlb, --enable-l4-netlb-rbs-by-default */
    bool neg_ilb;           /* --enable-l4-neg */
    bool neg_netlb;         /* --enable-l4-netlb-neg */
    bool neg_default;       /* --enable-l4-netlb-neg-default */
    bool standalone_negs;   /* --enable-l4-standalone-negs: NEGs alone are made */
    bool standalone_status; /* --run-l4-standalone-neg-controller: their status is published */
    bool multi_network;     /* --enable-multi-networking */
};
/* The resource found under a name. */
enum gce_found {
    GCE_FOUND_UNKNOWN = 0, /* not looked for */
    GCE_FOUND_ABSENT,
    GCE_FOUND_PRESENT,
    GCE_FOUND_FAILED, /* the look-up failed with something else than 404 */
};
/* One case. */
struct gce_case {
    const struct tt_service *service; /* NULL: the answer is GCE_KIND_NONE */
    /* As this process carried it out last, or NULL.  Its finalizers tell what a Service has that
     * wants nothing any more. */
    const struct tt_service *previous;
    const struct gce_switches *flags;
    bool gone;                    /* to be deleted, whatever the object says: it has vanished */
    enum gce_found rule_found;    /* forwarding rule of the legacy name, "a<uid>" */
    struct gce_rule rule;         /* PRESENT */
    enum gce_found backend_found; /* backend service of the L4 name */
    const char *backend_scheme;   /* PRESENT: loadBalancingScheme */
    const char *backend_group;    /* PRESENT: link of its first backend, "" without any */
    /* an internal rule with one of the Service's L4 names stands; looked for with the other one */
    bool has_l4_rule;
};
/* The missing input of a decision; call again with it. */
#define GCE_NEEDS_RULE    0x1u
#define GCE_NEEDS_BACKEND 0x2u

struct gce_decision {
    /* The kind to build; with `teardown` the one to take away.  NONE: there is nothing
     * to do here. */
    enum gce_kind kind;
    enum gce_kind is;    /* the kind that it is or will be, also where another program serves it */
    enum gce_part part;  /* whose `is` is */
    const char *rule;    /* id of the row, "netlb-v2" (gce_decide_table.h) */
    const char *says;    /* the row in words, ends a sentence "because …" */
    const char *members; /* NETLB kinds: id of the row that says groups or NEGs; else NULL */
    const char *members_say;
    enum gce_kind
        /* the kind whose finalizer it carries: `kind`, or GCE_KIND_NETLB_GROUPS for NEGs
         * of another network */
        mark;
    /* GCE_NEEDS_…: until these are known, kind is what it were if they were absent */
    unsigned needs;
    bool teardown;   /* it wants nothing that is built here: what it has goes */
    unsigned former; /* bits 1u << enum gce_kind: what of ours it has beside `kind`; goes first,
                      * or last (gce_kinds_stand_together()) */
    /* A target-pool Service that asks for a backend service, or has both marks (§1.6.2); only where
     * the external L4 part is run here. */
    /* event CanNotMigrateTargetPoolToRBS, and the l4-rbs annotation is taken away */
    bool guard_migration;
    bool guard_race; /* event TargetPoolRaceWithRBS, and what RBS made is collected first */
    bool conflict;   /* class and type annotation disagree: Warning ConflictingConfiguration */
};
/* Share `kind` and the former one no name?  Then the new load balancer is made beside the former
 * one, which goes when it is complete (docs/adr/0060); else what it was goes first. */
bool gce_kinds_stand_together(enum gce_kind kind, unsigned former);
/* --prevent-legacy-race-l4-ilb (§1.5 step 2): for how long, in ms, a new internal Service without a
 * class waits for a sign that the other program, which has the legacy part, takes it; counted from
 * its creation.  0: it need not. */
int64_t gce_decide_wait_ms(const struct gce_decision *d, const struct gce_case *c,
                           int64_t period_ms, int64_t wall_us);
/* Does the part that makes target pools and the legacy kind of groups run for the
 * Service?  NULL: for any. */
bool gce_legacy_is_on(const struct gce_switches *f, const struct tt_service *s);
/* Is the kind's part run by this process? */
bool gce_kind_is_run(const struct gce_switches *f, enum gce_kind kind);
/* Whole decision: what the Service is, and what is to be built. */
void gce_decide(const struct gce_case *c, struct gce_decision *ret);
/* The path through the tree, one row per question asked: "finalizer l4-netlb-v2", "absent", "→ …".
 * Written while the decision is made: it cannot tell another path than the one that was gone. */
void gce_decide_explain(struct lb_explain *x, const struct gce_case *c, struct gce_decision *ret);
/* "is served by an internal load balancer with GCE_VM_IP NEGs.": the answer, for people. */
const char *gce_decide_answer(struct arena *a, const struct gce_case *c,
                              const struct gce_decision *d);
/* The same for programs: the verdict of TT_EXPLAIN_ANSWER. */
const char *gce_decide_verdict(const struct gce_case *c, const struct gce_decision *d);
/* "internal load balancer with GCE_VM_IP NEGs"; NULL for GCE_KIND_NONE. */
const char *gce_decide_kind(enum gce_kind kind);

/* ---- marks (gce_decide_rules.c) -------------------------------------------------------------- */
/* cloud.google.com/l4-rbs: enabled (gce-l4.md §1.6).  NULL: false. */
bool gce_l4_has_rbs_annotation(const struct tt_service *s);
/* "Has an RBS rule": the legacy name is in a status annotation, or the rule of that name is
 * external with a backend service. */
bool gce_l4_netlb_has_rule(const struct tt_service *s, enum gce_found found,
                           const struct gce_rule *rule);
/* Is a rule of the Service's legacy name the Service's?  Without a class, the name says so.  With
 * one, its description or the address in the status must, because what the class asks for takes
 * away what stands. */
bool gce_rule_is_own(const struct tt_service *s, const struct gce_rule *rule);

#endif
