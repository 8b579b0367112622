/* SPDX-License-Identifier: Apache-2.0 */
/* test_decide.c: which load balancer a Service gets, whose it is, what goes first.
 *
 * Rows V… are those of gce-l4.md §11.1–11.5, O… those of gce-cloud-provider.md §9.6, T… of its
 * table §8.4; the words are explained in decide_rows.h. */
#include "providers/gce/decide/gce_decide_table.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/decide_rows.h"

#define CHECK(a, rows) decide_check((a), (rows), ARRAY_LEN(rows))

/* ---- upstream's vectors, both parts in one process ------------------------------------------- */

static void both_parts__type_and_class__V1_to_V13(void **state)
{
    static const struct decide_row rows[] = {
        {"V2", "clusterip", "both", "none"},
        {"V3", "", "both", "pool"},
        {"V4", "internal", "both", "inegs"},
        {"V5", "old-internal", "both", "inegs"},
        {"V6", "type=INTERNAL", "both", "pool"},
        {"V7", "type=External old-internal", "both", "pool"},
        {"V8", "class=custom", "both", "none"},
        {"V8 internal", "class=custom internal", "both", "none"},
        {"V9", "class=l4-regional-internal", "both", "inegs"},
        {"V10", "class=l4-regional-external", "both", "egroups"},
        {"V11", "internal", "both", "inegs"},
        {"V12", "rbs", "both", "egroups"},
        {"V13", "class=l4-regional-external internal", "both", "egroups conflict"},
        {"V13 only the exact value", "class=l4-regional-external type=internal", "both", "egroups"},
        {"V14", "rbs=disabled", "both", "pool"},
        {"§4.3 step 4", "class=l4-regional-external-legacy internal", "both gke", "pool conflict"},
        {"§1.3", "class=l4-regional-internal-legacy", "both gke", "igroups"},
        {"§1.3", "class=l4-regional-external-legacy", "both gke", "pool"},
        {"§1.3", "class=L4-regional-external", "both", "none"},
        {"§1.8", "class=standalone-passthrough-lb-neg", "both standalone", "negs"},
        {"§1.8 flag off", "class=standalone-passthrough-lb-neg", "both", "(negs)"},
    };
    CHECK(*state, rows);
}

static void nil__V1__nothing(void **state)
{
    (void)state;
    const struct gce_switches f = {.run_ilb = true};
    const struct gce_case c = {.flags = &f};
    struct gce_decision d;
    gce_decide(&c, &d);
    assert_int_equal(d.kind, GCE_KIND_NONE);
    assert_int_equal(d.part, GCE_PART_NOBODY);
    assert_int_equal(d.needs, 0);
}

static void both_parts__is_rbs__V16_to_V30(void **state)
{
    static const struct decide_row rows[] = {
        {"V16", "", "both", "pool"},
        {"V17", "cleanup", "both", "pool"},
        {"V18", "v2", "both", "egroups"},
        {"V18 v3", "v3", "both neg", "enegs"},
        {"V19", "cleanup v2", "both", "egroups"},
        {"V20", "rbs", "both", "egroups"},
        {"V21", "rule=bs", "both", "egroups"},
        {"V22", "rule=pool", "both", "pool"},
        {"V23", "", "both default", "egroups"},
        {"V24", "rule=pool", "both default", "pool"},
        {"V25", "v1", "both default", "pool"},
        {"V26", "tcp=fr-1 udp=fr-2", "both", "pool"},
        {"V27", "tcp=" DECIDE_RULE_NAME, "both", "egroups"},
        {"V28", "udp=" DECIDE_RULE_NAME, "both", "egroups"},
        {"V29", "internal tcp=k8s2-tcp-x", "both", "inegs"},
        {"V30", "clusterip", "both default", "none"},
        {"V30 annotation", "clusterip rbs", "both", "none"},
        /* The existing state takes precedence over an annotation. */
        {"ours", "rule=pool tcp=" DECIDE_RULE_NAME, "both", "pool"},
    };
    CHECK(*state, rows);
}

static void both_parts__needs_deletion__V31_to_V35(void **state)
{
    static const struct decide_row rows[] = {
        {"V31", "v2 rule=bs", "both", "egroups"},
        {"V32", "deleted", "l4", "(pool)"},
        {"V33", "deleted v2", "both", "egroups teardown"},
        {"V34", "deleted v3", "both neg", "enegs teardown"},
        {"V34 though NEGs are off now", "deleted v3", "both", "enegs teardown"},
        {"V35", "deleted rule=bs", "both", "egroups teardown"},
        {"§1.7 class", "deleted class=l4-regional-external", "l4", "egroups teardown"},
        {"§1.7 class", "deleted class=l4-regional-internal", "l4", "(inegs)"},
        {"§1.7 class", "deleted class=l4-regional-internal i2", "l4", "inegs teardown"},
        {"§1.7 type", "clusterip v2", "both", "egroups teardown"},
        {"§1.7 type", "clusterip i2", "both", "inegs teardown"},
        {"§1.7 type", "clusterip rule=bs", "both", "egroups teardown"},
        {"§1.7 type", "clusterip tcp=" DECIDE_RULE_NAME, "both", "egroups teardown"},
    };
    CHECK(*state, rows);
}

/* gce-l4.md §1.6.3 rule 6, §1.9, §4.13. */
static void both_parts__other_network__always_negs(void **state)
{
    static const struct decide_row rows[] = {
        {"flag off", "rbs net=blue", "both", "egroups"},
        {"flag off", "internal net=blue", "both", "inegs"},
        {"no name", "rbs net=", "both multinet", "egroups"},
        {"the cluster's own", "rbs net=default", "both multinet", "egroups"},
        {"rule 6", "rbs net=blue", "both multinet", "enegs mark=egroups"},
        {"rule 6 v2", "rbs v2 net=blue", "both multinet neg", "enegs mark=egroups"},
        {"rule 6 v3", "rbs v3 net=blue", "both multinet neg", "enegs"},
        {"NEGs by default", "rbs net=blue", "both multinet neg negdefault", "enegs"},
        {"its backends are NEGs", "rbs rule=bs backend=negs net=blue", "both multinet neg",
         "enegs"},
        {"class", "class=l4-regional-external net=blue", "both multinet", "enegs mark=egroups"},
        {"internal", "internal net=blue", "both multinet", "inegs"},
        {"a target pool is in the cluster's network", "net=blue", "both multinet", "pool"},
        {"groups of the old kind are, too", "internal i1 net=blue", "both multinet", "igroups"},
        {"goes", "deleted v2 net=blue", "both multinet", "enegs teardown mark=egroups"},
        {"goes, flag off", "deleted v2 net=blue", "both", "egroups teardown"},
        {"goes v3", "deleted v3 net=blue", "both multinet neg", "enegs teardown"},
        {"becomes internal", "internal v2 net=blue", "both multinet", "inegs first=egroups"},
    };
    CHECK(*state, rows);
}

static void l4_run__target_pool_guard__V46_to_V49(void **state)
{
    static const struct decide_row rows[] = {
        {"V46", "rbs rule=pool", "both", "pool migration"},
        {"V46 v1", "rbs v1", "both", "pool migration"},
        {"V47", "rbs rule=pool v2", "both", "pool first=egroups race"},
        {"V47 v1", "rbs v1 v2 rule=pool", "both", "pool first=egroups race"},
        {"V47 v3", "v1 v3 rule=pool", "both neg", "pool first=enegs race"},
        {"V48", "rbs rule=bs v2", "both", "egroups"},
        {"V49", "rbs v2", "both", "egroups"},
        /* The other program has the pool: the guard is ours, the pool is not. */
        {"V46 alone", "rbs rule=pool", "l4", "(pool) migration"},
        {"V47 alone", "rbs rule=pool v2", "l4", "egroups teardown race"},
        {"silently", "rule=pool", "l4", "(pool)"},
        {"silently v1", "v1", "l4", "(pool)"},
        /* ingress-gce guards where it runs. */
        {"theirs", "rbs v1", "legacy", "pool"},
        {"a deleted one has no guard", "deleted rbs v1", "both", "pool teardown"},
    };
    CHECK(*state, rows);
}

/* ---- the legacy part alone: as cloud-provider-gcp decides, with the rule in hand ------------- */

static void legacy_alone__table_of_8_4(void **state)
{
    static const struct decide_row rows[] = {
        {"T1", "", "legacy", "pool"},
        {"T1 on", "", "legacy default", "(egroups)"},
        {"T2", "rbs", "legacy", "(egroups)"},
        {"T2 on", "rbs", "legacy default", "(egroups)"},
        {"T3", "rule=pool", "legacy", "pool"},
        {"T3 on", "rule=pool", "legacy default", "(pool)"},
        {"T4", "rule=bs", "legacy", "(egroups)"},
        {"T4 on", "rule=bs", "legacy default", "(egroups)"},
        {"T5", "v1", "legacy", "pool"},
        {"T5 on", "v1", "legacy default", "pool"},
        {"T5 rbs", "v1 rbs", "legacy default", "pool"},
        {"T5 rule", "v1 rule=pool", "legacy default", "pool"},
        {"T5 rule", "v1 rule=bs", "legacy default", "pool"},
        {"T6 v2", "v2", "legacy", "(egroups)"},
        {"T6 v3", "v3 rbs", "legacy", "(enegs)"},
        {"T6 on", "v2", "legacy default", "(egroups)"},
        {"T6 rule", "v2 rule=pool", "legacy", "(pool)"},
        {"T7", "v1 v2", "legacy", "pool"},
        {"T7 on", "v1 v2 rbs", "legacy default", "pool"},
    };
    CHECK(*state, rows);
}

static void legacy_alone__ownership__O1_to_O11(void **state)
{
    static const struct decide_row rows[] = {
        {"O1", "rbs", "legacy", "(egroups)"},
        {"O1 deleted", "deleted rbs", "legacy", "(egroups)"},
        {"O2", "", "legacy", "pool"},
        {"O3", "rbs=WrongValue", "legacy", "pool"},
        {"O3 on", "rbs=WrongValue", "legacy default", "(egroups)"},
        {"O4", "v2", "legacy", "(egroups)"},
        {"O4 deleted", "deleted v3", "legacy", "(enegs)"},
        {"O5", "v1", "legacy default", "pool"},
        {"O6", "deleted v2 rule=pool", "legacy", "(egroups)"},
        {"O6 v3", "deleted v3 rule=pool", "legacy", "(enegs)"},
        {"O7", "rule=bs", "legacy", "(egroups)"},
        {"O7 empty", "rule=odd", "legacy", "pool"},
        {"O8", "class=custom", "legacy", "none"},
        {"O8", "class=l4-regional-external-legacy", "legacy default gke", "pool"},
        {"O8 none, on", "", "legacy default", "(egroups)"},
        {"O9", "class=custom internal", "legacy subsets", "none"},
        {"O9", "class=l4-regional-internal-legacy", "legacy subsets gke", "igroups"},
        {"O9 none", "internal", "legacy subsets", "(inegs)"},
        {"O10 none", "internal", "legacy", "igroups"},
        {"O10", "class=l4-regional-internal-legacy", "legacy gke", "igroups"},
        {"O11 new", "internal", "legacy subsets", "(inegs)"},
        {"O11 rule", "internal rule=internal", "legacy subsets", "igroups"},
        {"O11 v1", "internal i1", "legacy subsets", "igroups"},
        {"O11 v2", "internal i2", "legacy subsets", "(inegs)"},
        {"O11 v2, rule", "internal i2 rule=internal", "legacy subsets", "igroups"},
        {"O11 v1 v2", "internal i1 i2", "legacy subsets", "igroups"},
        {"O11 v2, gate off", "internal i2", "legacy", "(inegs)"},
        {"O13", "class=l4-regional-external", "legacy", "(egroups)"},
        {"O13", "class=l4-regional-internal", "legacy", "(inegs)"},
        {"O14", "class=l4-regional-internal-legacy clusterip", "legacy gke", "none"},
        {"O14 off", "class=l4-regional-external-legacy", "legacy", "(pool)"},
        {"O14 off, deleted", "class=l4-regional-external-legacy v1 deleted", "legacy", "(pool)"},
        {"O14 alone", "class=l4-regional-internal-legacy", "gke", "igroups"},
        {"O14 gone", "class=l4-regional-external-legacy v1 deleted", "gke", "pool teardown"},
    };
    CHECK(*state, rows);
}

/* ---- one part, both, none -------------------------------------------------------------------- */

static void parts__every_kind__is_told_and_built_only_where_its_part_runs(void **state)
{
    static const struct decide_row rows[] = {
        {"pool", "v1", "legacy", "pool"},
        {"pool", "v1", "l4", "(pool)"},
        {"pool", "v1", "", "(pool)"},
        {"igroups", "internal i1", "legacy", "igroups"},
        {"igroups", "internal i1", "l4", "(igroups)"},
        {"igroups", "internal rule=internal", "l4", "(igroups)"},
        {"igroups", "internal", "", "(igroups)"},
        {"inegs", "internal i2", "l4", "inegs"},
        {"inegs", "internal i2", "legacy", "(inegs)"},
        {"inegs", "internal", "l4", "inegs"},
        {"egroups", "v2", "l4", "egroups"},
        {"egroups", "v2", "legacy", "(egroups)"},
        {"enegs", "v3", "l4 neg", "enegs"},
        {"enegs", "v3", "legacy", "(enegs)"},
        {"external default, alone", "", "l4", "(pool)"},
        {"external default, alone", "", "l4 default", "egroups"},
    };
    CHECK(*state, rows);
}

static void kinds_stick__annotations_and_flags_change__same_kind(void **state)
{
    static const struct decide_row rows[] = {
        {"pool, rbs added", "v1 rule=pool rbs", "both", "pool migration"},
        {"pool, default on", "v1 rule=pool", "both default", "pool"},
        {"pool, finalizer lost", "rule=pool", "both default", "pool"},
        {"pool, though the rule has a backend service", "v1 rule=bs", "both", "pool"},
        {"rbs, annotation removed", "v2 rule=bs", "both", "egroups"},
        {"rbs, annotation removed", "v3 rule=bs", "both neg", "enegs"},
        {"rbs, all but the rule lost", "rule=bs", "both", "egroups"},
        {"rbs, all but the status annotation lost", "tcp=" DECIDE_RULE_NAME, "both", "egroups"},
        {"groups, subsetting on", "internal i1", "both", "igroups"},
        {"groups, finalizer lost", "internal rule=internal", "both", "igroups"},
        {"NEGs, subsetting off", "internal i2", "legacy", "(inegs)"},
        {"NEGs, class", "class=l4-regional-internal i2", "both", "inegs"},
    };
    CHECK(*state, rows);
}

static void members__groups_or_negs__rows_of_1_6_3(void **state)
{
    static const struct decide_row rows[] = {
        {"flag off", "rbs", "both", "egroups"},
        {"flag off, v3", "v3", "both negdefault", "egroups"},
        {"v2", "v2", "both neg negdefault", "egroups"},
        {"v3", "v3", "both neg", "enegs"},
        {"new, not default", "rbs", "both neg", "egroups"},
        {"new, default", "rbs", "both neg negdefault", "enegs"},
        {"look first", "rbs backend=unknown", "both neg negdefault", "enegs needs-backend"},
        {"look failed", "rbs backend=failed", "both neg negdefault", "enegs needs-backend"},
        {"has groups", "rbs backend=groups", "both neg negdefault", "egroups"},
        {"has NEGs", "rbs backend=negs", "both neg negdefault", "enegs"},
        {"has none", "rbs backend=none", "both neg negdefault", "enegs"},
        {"a former internal one", "rbs backend=ilb", "both neg negdefault", "enegs"},
        {"class", "class=l4-regional-external", "both neg negdefault", "enegs"},
        /* Finalizers lost, and NEGs are not the default (any more): what stands says what it is. */
        {"stands with NEGs", "rule=bs backend=negs", "both neg", "enegs"},
        {"stands with groups", "rule=bs backend=groups", "both neg", "egroups"},
        {"stands, unseen", "rule=bs backend=unknown", "both neg", "egroups needs-backend"},
        {"nobody looks at what is new", "rbs backend=unknown", "both neg", "egroups"},
    };
    CHECK(*state, rows);
}

/* ---- what goes ------------------------------------------------------------------------------- */

static void flips__the_other_side_goes_first(void **state)
{
    static const struct decide_row rows[] = {
        {"pool to NEGs", "internal v1 rule=pool", "both", "inegs first=pool"},
        {"pool to NEGs, finalizer lost", "internal rule=pool", "both", "inegs first=pool"},
        {"pool to groups", "internal v1 rule=pool", "legacy", "igroups first=pool"},
        {"pool to what others serve", "internal v1 rule=pool", "legacy subsets", "pool teardown"},
        {"their pool", "internal v1 rule=pool", "l4", "inegs"},
        {"rbs to NEGs", "internal v2 rule=bs", "both", "inegs first=egroups"},
        {"rbs to NEGs, NEGs", "internal v3 rule=bs", "both neg", "inegs first=enegs"},
        {"rbs to NEGs, by the rule", "internal rule=bs backend=negs", "both neg",
         "inegs first=enegs"},
        {"rbs to NEGs, unseen", "internal rule=bs backend=unknown", "both neg",
         "inegs first=egroups needs-backend"},
        {"their rbs has our name", "internal rule=bs", "legacy", "(egroups)"},
        {"groups to pool", "i1 rule=internal", "both", "pool first=igroups"},
        {"groups to rbs", "rbs i1 rule=internal", "both", "egroups first=igroups"},
        {"their groups have our name", "rbs i1 rule=internal", "l4", "(igroups)"},
        {"their groups are gone", "rbs i1", "l4", "egroups"},
        {"NEGs to pool", "i2", "both", "pool first=inegs"},
        {"NEGs to their pool", "i2", "l4", "inegs teardown"},
        {"NEGs to rbs", "rbs i2", "both", "egroups first=inegs"},
        {"NEGs to class external", "class=l4-regional-external i2", "both", "egroups first=inegs"},
        {"pool to class external", "class=l4-regional-external v1", "both", "egroups first=pool"},
        {"their pool, class external", "class=l4-regional-external v1", "l4", "(pool)"},
        {"pool to class internal", "class=l4-regional-internal v1", "both", "inegs first=pool"},
        {"rbs to legacy class", "class=l4-regional-external-legacy v2", "both gke",
         "pool first=egroups"},
        {"ours to a foreign class", "class=custom v1 i2", "both", "pool teardown first=inegs"},
        {"theirs to a foreign class", "class=custom v1", "l4", "none"},
        {"a race of both internal kinds", "internal i1 i2", "both", "igroups first=inegs"},
    };
    CHECK(*state, rows);
}

static void gone__by_what_it_has(void **state)
{
    static const struct decide_row rows[] = {
        {"pool", "deleted v1 rule=pool", "both", "pool teardown"},
        {"pool, no rule left", "deleted v1", "both", "pool teardown"},
        {"the rule beats the annotation", "deleted internal v1 rule=pool", "both", "pool teardown"},
        {"groups", "deleted i1 rule=internal", "both", "igroups teardown"},
        {"groups, finalizer lost", "deleted rule=internal", "both", "igroups teardown"},
        {"NEGs", "deleted internal i2", "both", "inegs teardown"},
        {"rbs, NEGs", "deleted v3 rule=bs", "both neg", "enegs teardown"},
        {"rbs, lost its finalizer", "deleted rule=bs backend=negs", "both neg", "enegs teardown"},
        {"two kinds", "deleted v1 v2 rule=pool", "both", "pool teardown first=egroups"},
        {"two kinds", "deleted i1 v2 rule=bs", "both", "egroups teardown first=igroups"},
        {"one is theirs", "deleted i1 v2 rule=bs", "l4", "egroups teardown"},
        {"one is theirs", "deleted i1 v2 rule=internal", "legacy", "igroups teardown"},
        {"all is theirs", "deleted v1 rule=pool", "l4", "(pool)"},
        {"type changed", "clusterip v1", "both", "pool teardown"},
        {"vanished", "gone v1", "both", "pool teardown"},
        {"vanished", "gone rule=bs", "both", "egroups teardown"},
    };
    CHECK(*state, rows);
}

/* docs/adr/0011 */
static void gone__only_the_generic_finalizer__by_the_parts(void **state)
{
    static const struct decide_row rows[] = {
        {"both: rbs", "deleted cleanup rbs", "both", "egroups teardown"},
        {"both: subsetting", "deleted cleanup internal", "both", "inegs teardown"},
        {"both: pool", "deleted cleanup", "both", "pool teardown"},
        {"both: type changed", "clusterip cleanup internal", "both", "inegs teardown"},
        {"both: no finalizer, never was", "clusterip", "both", "none"},
        {"legacy: rbs", "deleted cleanup rbs", "legacy", "(egroups)"},
        {"legacy: subsetting", "deleted cleanup internal", "legacy subsets", "(inegs)"},
        {"legacy: groups", "deleted cleanup internal", "legacy", "igroups teardown"},
        {"legacy: pool", "deleted cleanup", "legacy", "pool teardown"},
        {"l4: rbs", "deleted cleanup rbs", "l4", "(egroups)"},
        {"l4: subsetting", "deleted cleanup internal", "l4", "(inegs)"},
        {"l4: pool", "deleted cleanup", "l4", "(pool)"},
    };
    CHECK(*state, rows);
}

/* NEGs alone leave no finalizer: class, annotation, or the deletion itself show them. */
static void negs_only__come_and_go__by_class_and_annotation(void **state)
{
#define ALONE "class=standalone-passthrough-lb-neg"
    static const struct decide_row rows[] = {
        {"made", ALONE, "both standalone", "negs"},
        {"made beside another ccm", ALONE, "l4 standalone", "negs"},
        {"status alone", ALONE, "both status", "negs"},
        {"an internal one's finalizer", ALONE " i2", "both standalone", "negs first=inegs"},
        {"deleted", ALONE " deleted", "both standalone", "negs teardown"},
        {"vanished", ALONE " gone", "both standalone", "negs teardown"},
        {"vanished, not ours", ALONE " gone", "both", "(negs)"},
        {"type changed", "clusterip negs=0", "both standalone", "negs teardown"},
        {"type changed, not ours", "clusterip negs=0", "both", "none"},
        {"type changed, NEGs of pods", "clusterip negs=80", "both standalone", "none"},
        {"type changed, an internal one's", "clusterip negs=0 i2", "both standalone",
         "inegs teardown"},
        {"type changed before it was said", "clusterip gone", "both standalone", "negs teardown"},
        {"type changed, nothing of ours", "clusterip gone", "both", "none"},
        {"explained", "clusterip", "both standalone", "none"},
        {"type changed and back", "negs=0", "both standalone", "pool first=negs"},
        {"… to groups", "negs=0 rbs", "both standalone", "egroups first=negs"},
        {"… to NEGs: taken over", "negs=0 internal", "both standalone", "inegs"},
        {"… NEGs of pods", "negs=80", "both standalone", "pool"},
        {"… without the flag", "negs=0", "both", "pool"},
    };
    CHECK(*state, rows);
#undef ALONE
}

static void rule__not_looked_for_or_unreadable__is_asked_for(void **state)
{
    static const struct decide_row rows[] = {
        {"new", "rule=unknown", "both", "pool needs-rule"},
        {"v1", "v1 rule=unknown", "both", "pool needs-rule"},
        {"internal", "internal rule=unknown", "both", "inegs needs-rule"},
        {"deleted", "deleted v2 rule=unknown", "both", "egroups teardown needs-rule"},
        {"class", "class=l4-regional-internal rule=unknown", "both", "inegs needs-rule"},
        {"failed", "internal rule=failed", "both", "none needs-rule"},
        {"failed", "rbs rule=failed", "both", "none needs-rule"},
        {"failed", "deleted v1 rule=failed", "both", "none needs-rule"},
    };
    CHECK(*state, rows);
}

/* ---- properties over everything that can be said --------------------------------------------- */

static const char *const all_classes[] = {NULL,
                                          GCE_CLASS_EXTERNAL_LEGACY,
                                          GCE_CLASS_INTERNAL_LEGACY,
                                          GCE_CLASS_EXTERNAL,
                                          GCE_CLASS_INTERNAL,
                                          GCE_CLASS_STANDALONE,
                                          "example.com/lb"};
static const char *const all_rules[] = {NULL, "pool", "bs", "internal", "odd"};
static const char *const all_finalizers[] = {
    GCE_FINALIZER_NETLB_V1, GCE_FINALIZER_NETLB_V2, GCE_FINALIZER_NETLB_V3,
    GCE_FINALIZER_ILB_V1,   GCE_FINALIZER_ILB_V2,   "service.kubernetes.io/load-balancer-cleanup"};

struct sweep {
    struct tt_service s;
    const char *finalizers[ARRAY_LEN(all_finalizers)];
    struct tt_kv annotations[2];
    struct gce_case c;
};

/* The case of a number; false if there is none of it. */
static bool sweep_make(struct sweep *w, unsigned n)
{
    memset(w, 0, sizeof(*w));
    w->s = (struct tt_service){.size = sizeof(w->s),
                               .ns = "demo",
                               .name = "web",
                               .type = "LoadBalancer",
                               .uid = "09e0afad-b26f-4dcc-bc25-d00f971b2890",
                               .finalizers = w->finalizers,
                               .annotations = w->annotations};
    for (size_t i = 0; i < ARRAY_LEN(all_finalizers); i++, n /= 2) {
        if (n % 2 == 1) {
            w->finalizers[w->s.n_finalizers++] = all_finalizers[i];
        }
    }
    if (n % 2 == 1) {
        w->annotations[w->s.n_annotations++] = (struct tt_kv){GCE_ANN_RBS, "enabled"};
    }
    n /= 2;
    if (n % 2 == 1) {
        w->annotations[w->s.n_annotations++] = (struct tt_kv){GCE_ANN_TYPE, "Internal"};
    }
    n /= 2;
    w->s.deleted_us = n % 3 == 1 ? 1 : 0;
    w->s.type = n % 3 == 2 ? "ClusterIP" : "LoadBalancer";
    n /= 3;
    w->s.lb_class = all_classes[n % ARRAY_LEN(all_classes)];
    n /= ARRAY_LEN(all_classes);
    const char *rule = all_rules[n % ARRAY_LEN(all_rules)];
    n /= ARRAY_LEN(all_rules);
    w->c = (struct gce_case){.service = &w->s,
                             .rule_found = decide_found(rule),
                             .rule = decide_rule(rule),
                             .backend_found = GCE_FOUND_ABSENT};
    return n == 0;
}

static bool is_built(const struct gce_decision *d)
{
    return d->kind != GCE_KIND_NONE && !d->teardown;
}

static void check_decision(unsigned n, const struct gce_switches *f, const struct gce_decision *d)
{
    bool fine = d->rule != NULL && d->says != NULL && d->part == gce_kind_part(d->is);
    fine = fine && (d->kind == GCE_KIND_NONE ? d->former == 0 && !d->teardown
                                             : gce_kind_is_run(f, d->kind));
    for (int k = 0; k < GCE_KIND_MAX; k++) {
        if ((d->former & 1u << (unsigned)k) != 0) {
            fine = fine && k != (int)d->kind && gce_kind_is_run(f, (enum gce_kind)k);
        }
    }
    fine = fine && (!d->guard_race || !d->guard_migration) && d->needs == 0;
    if (!fine) {
        fail_msg("case %u: rule %s, is %d, kind %d", n, d->rule, d->is, d->kind);
    }
}

static void sweep__every_case_and_part__the_answer_is_sound(void **state)
{
    struct sweep w;
    unsigned n = 0;
    (void)state;
    for (; sweep_make(&w, n); n++) {
        for (unsigned bits = 0; bits < 64; bits++) {
            const struct gce_switches f = {.legacy_off = (bits & 1) != 0,
                                           .gke_classes = (bits & 32) != 0,
                                           .run_ilb = (bits & 2) != 0,
                                           .run_netlb = (bits & 4) != 0,
                                           .rbs_default = (bits & 8) != 0,
                                           .neg_netlb = (bits & 16) != 0};
            struct gce_decision d;
            w.c.flags = &f;
            gce_decide(&w.c, &d);
            struct gce_switches for_it = f;
            for_it.legacy_off = !gce_legacy_is_on(&f, &w.s);
            check_decision(n, &for_it, &d);
        }
    }
    assert_int_equal(n, 64 * 4 * 3 * 7 * 5);
}

/* cloud-provider-gcp's part in one process and ingress-gce's in another: only one builds. */
static void sweep__parts_in_two_processes__never_two_builders(void **state)
{
    struct sweep w;
    (void)state;
    for (unsigned n = 0; sweep_make(&w, n); n++) {
        for (unsigned bits = 0; bits < 4; bits++) {
            struct gce_switches legacy = {.ilb_subsets = true,
                                          .gke_classes = true,
                                          .rbs_default = (bits & 1) != 0,
                                          .neg_netlb = (bits & 2) != 0};
            struct gce_switches l4 = legacy;
            struct gce_decision theirs;
            struct gce_decision d;
            l4.gke_classes = false;
            l4.legacy_off = l4.run_ilb = l4.run_netlb = l4.standalone_negs = true;
            w.c.flags = &legacy;
            gce_decide(&w.c, &theirs);
            w.c.flags = &l4;
            gce_decide(&w.c, &d);
            if (is_built(&theirs) && is_built(&d)) {
                fail_msg("case %u: %s and %s", n, theirs.rule, d.rule);
            }
        }
    }
}

/* Both parts in one process: each Service that asks for a load balancer of Google's is served. */
static void sweep__both_parts__everybody_is_served(void **state)
{
    struct sweep w;
    struct gce_switches f = {.run_ilb = true, .run_netlb = true, .ilb_subsets = true};
    f.standalone_negs = f.gke_classes = true;
    (void)state;
    for (unsigned n = 0; sweep_make(&w, n); n++) {
        struct gce_decision d;
        w.c.flags = &f;
        gce_decide(&w.c, &d);
        bool wants = str_eq(w.s.type, "LoadBalancer") && w.s.deleted_us == 0 &&
                     !str_eq(w.s.lb_class, "example.com/lb");
        if (wants != is_built(&d)) {
            fail_msg("case %u: rule %s, is %d, kind %d", n, d.rule, d.is, d.kind);
        }
    }
}

/* ---- the race with another program ----------------------------------------------------------- */

static void wait__new_internal_service_beside_another_program__until_it_is_old_enough(void **state)
{
    static const struct {
        const char *words;
        const char *flags;
        int64_t period_ms;
        int64_t age_ms;
        int64_t want;
    } rows[] = {
        {"internal", "l4", 3000, 1000, 2000},
        {"internal", "l4", 3000, 3000, 0},
        {"internal", "l4", 0, 0, 0},
        {"internal", "l4", 3000, -5000, 0}, /* clocks differ: no Service waits forever */
        {"internal", "both", 3000, 1000, 0},
        {"internal i2", "l4", 3000, 1000, 0},
        {"internal i1", "l4", 3000, 1000, 0},
        {"class=l4-regional-internal", "l4", 3000, 1000, 0},
        {"rbs", "l4", 3000, 1000, 0},
        {"deleted internal i2", "l4", 3000, 1000, 0},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_switches f = decide_flags(a, rows[i].flags);
        const struct gce_case c = decide_case(a, rows[i].words, &f);
        struct gce_decision d;
        gce_decide(&c, &d);
        int64_t now_us = c.service->created_us + rows[i].age_ms * 1000;
        assert_int_equal(gce_decide_wait_ms(&d, &c, rows[i].period_ms, now_us), rows[i].want);
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

static void explain__says_the_path_that_was_gone(void **state)
{
    static const struct decide_row rows[] = {
        {"new internal", "internal", "both",
         "  loadBalancerClass            not set\n"
         "  load-balancer-type           Internal         → internal\n"
         "  finalizer l4-ilb-v1          absent\n"
         "  forwarding rule a<uid>       absent\n"
         "  finalizer l4-ilb-v2          absent\n"
         "  subsetting                   on               → GCE_VM_IP NEGs\n"
         "is served by an internal load balancer with GCE_VM_IP NEGs."},
        {"rbs", "rbs rule=bs v2", "both neg",
         "  loadBalancerClass            not set\n"
         "  load-balancer-type           not set          → external\n"
         "  finalizer l4-netlb-v1        absent\n"
         "  forwarding rule a<uid>       external, backend service\n"
         "  finalizer l4-netlb-v3        absent\n"
         "  finalizer l4-netlb-v2        set              → stays with a backend service\n"
         "  members                      finalizer v2     → instance groups\n"
         "is served by an external load balancer with a backend service and instance groups."},
        {"pool", "rbs rule=pool", "both",
         "  loadBalancerClass            not set\n"
         "  load-balancer-type           not set          → external\n"
         "  finalizer l4-netlb-v1        absent\n"
         "  forwarding rule a<uid>       external, target pool → stays a target pool\n"
         "  l4-rbs annotation            enabled          → taken away: a target pool stays one\n"
         "is served by an external load balancer with a target pool."},
        {"class", "class=l4-regional-internal", "legacy",
         "  loadBalancerClass            networking.gke.io/l4-regional-internal → internal, "
         "GCE_VM_IP NEGs\n"
         "is served by ingress-gce: an internal load balancer with GCE_VM_IP NEGs."},
        {"flip", "internal v1", "legacy subsets",
         "  loadBalancerClass            not set\n"
         "  load-balancer-type           Internal         → internal\n"
         "  finalizer l4-ilb-v1          absent\n"
         "  forwarding rule a<uid>       absent\n"
         "  finalizer l4-ilb-v2          absent\n"
         "  subsetting                   on               → GCE_VM_IP NEGs\n"
         "loses an external load balancer with a target pool, because it asks for another one."},
        {"gone", "deleted cleanup", "both",
         "  deletionTimestamp            set              → wants no load balancer\n"
         "  forwarding rule a<uid>       absent\n"
         "loses an external load balancer with a target pool."},
        {"not one", "clusterip", "both",
         "  type                         ClusterIP        → wants no load balancer\n"
         "  forwarding rule a<uid>       absent\n"
         "gets no load balancer: its type is not LoadBalancer, and it has nothing of a load "
         "balancer."},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        const struct gce_switches f = decide_flags(a, rows[i].flags);
        const struct gce_case c = decide_case(a, rows[i].words, &f);
        struct gce_decision d;
        struct lb_explain x;
        lb_explain_init(&x, a);
        gce_decide_explain(&x, &c, &d);
        lb_explain_text(&b, "", x.rows, x.n);
        str_append(&b, gce_decide_answer(a, &c, &d));
        same_text(rows[i].number, str_buf_text(&b), rows[i].want);
    }
}

static void rows__each_has_an_id_words_and_a_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_MAX; i++) {
        const struct gce_decide_row *r = &gce_rows[i];
        assert_true(r->id != NULL && r->when != NULL && r->section != NULL);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(r->id, gce_rows[k].id);
        }
    }
}

UNIT_MAIN(decide)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(both_parts__type_and_class__V1_to_V13),
        PURE_TEST(nil__V1__nothing),
        PURE_TEST(both_parts__is_rbs__V16_to_V30),
        PURE_TEST(both_parts__needs_deletion__V31_to_V35),
        PURE_TEST(both_parts__other_network__always_negs),
        PURE_TEST(l4_run__target_pool_guard__V46_to_V49),
        PURE_TEST(legacy_alone__table_of_8_4),
        PURE_TEST(legacy_alone__ownership__O1_to_O11),
        PURE_TEST(parts__every_kind__is_told_and_built_only_where_its_part_runs),
        PURE_TEST(kinds_stick__annotations_and_flags_change__same_kind),
        PURE_TEST(members__groups_or_negs__rows_of_1_6_3),
        PURE_TEST(flips__the_other_side_goes_first),
        PURE_TEST(gone__by_what_it_has),
        PURE_TEST(gone__only_the_generic_finalizer__by_the_parts),
        PURE_TEST(negs_only__come_and_go__by_class_and_annotation),
        PURE_TEST(rule__not_looked_for_or_unreadable__is_asked_for),
        PURE_TEST(sweep__every_case_and_part__the_answer_is_sound),
        PURE_TEST(sweep__parts_in_two_processes__never_two_builders),
        PURE_TEST(sweep__both_parts__everybody_is_served),
        PURE_TEST(wait__new_internal_service_beside_another_program__until_it_is_old_enough),
        PURE_TEST(explain__says_the_path_that_was_gone),
        PURE_TEST(rows__each_has_an_id_words_and_a_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
