/* SPDX-License-Identifier: Apache-2.0 */
/* test_decide_rules.c: upstream's own questions about ownership, one by one.
 *
 * Rows V… are those of gce-l4.md §11.1–11.5, O… those of gce-cloud-provider.md §9.6; the words are
 * explained in decide_rows.h. */
#include "tests/support/unit.h"
#include "tests/unit/gce/decide_rows.h"

#define POOL_RULE "rule=pool"

struct answer_row {
    const char *number;
    const char *words;
    const char *want;
};

static const char *yes_no(bool yes)
{
    return yes ? "yes" : "no";
}

/* A case whose flags do not count. */
static struct gce_case read_case(struct arena *a, const char *words)
{
    return decide_case(a, words, NULL);
}

static void wants__type_annotation_class__V1_to_V14(void **state)
{
    static const struct answer_row rows[] = {
        {"V2", "clusterip", "ilb no netlb no"},
        {"V2 class", "clusterip class=l4-regional-internal", "ilb no netlb no"},
        {"V3", "", "ilb no netlb yes"},
        {"V4", "internal", "ilb yes netlb no"},
        {"V5", "old-internal", "ilb yes netlb no"},
        {"V6", "type=INTERNAL", "ilb no netlb yes"},
        {"V7", "type=External old-internal", "ilb no netlb yes"},
        {"V7 empty", "type= old-internal", "ilb no netlb yes"},
        {"V8", "class=custom", "ilb no netlb no"},
        {"V8 internal", "class=custom internal", "ilb no netlb no"},
        {"V9", "class=l4-regional-internal", "ilb yes netlb no"},
        {"V10", "class=l4-regional-external", "ilb no netlb yes"},
        {"V13", "class=l4-regional-external internal", "ilb no netlb yes"},
        {"legacy", "class=l4-regional-internal-legacy internal", "ilb no netlb no"},
        {"legacy", "class=l4-regional-external-legacy", "ilb no netlb no"},
    };
    struct arena *a = *state;
    assert_false(gce_l4_wants_ilb(NULL) || gce_l4_wants_netlb(NULL)); /* V1 */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s = decide_service(a, rows[i].words);
        same_text(rows[i].number,
                  arena_printf(a, "ilb %s netlb %s", yes_no(gce_l4_wants_ilb(s)),
                               yes_no(gce_l4_wants_netlb(s))),
                  rows[i].want);
    }
    assert_false(gce_l4_has_rbs_annotation(decide_service(a, ""))); /* V14 */
    assert_true(gce_l4_has_rbs_annotation(decide_service(a, "rbs")));
    assert_false(gce_l4_has_rbs_annotation(decide_service(a, "rbs=disabled")));
    assert_false(gce_l4_has_rbs_annotation(decide_service(a, "rbs=Enabled")));
}

/* Two answers: default flag off, on. */
static void is_rbs__V16_to_V30(void **state)
{
    static const struct answer_row rows[] = {
        {"V16 V23", "", "no yes"},
        {"V17", "cleanup", "no yes"},
        {"V18", "v2", "yes yes"},
        {"V18 v3", "v3", "yes yes"},
        {"V19", "cleanup v2", "yes yes"},
        {"V20", "rbs", "yes yes"},
        {"V21", "rule=bs", "yes yes"},
        {"V22 V24", POOL_RULE, "no no"},
        {"V25", "v1", "no no"},
        {"V26", "tcp=fr-1 udp=fr-2", "no yes"},
        {"V27", "tcp=" DECIDE_RULE_NAME, "yes yes"},
        {"V28", "udp=" DECIDE_RULE_NAME, "yes yes"},
        {"V29", "internal tcp=k8s2-tcp-x udp=k8s2-udp-x", "no yes"},
        {"V30", "clusterip v2 rbs rule=bs tcp=" DECIDE_RULE_NAME, "no no"},
        {"step 2", "class=l4-regional-external", "yes yes"},
        {"step 2", "class=l4-regional-internal v2 rbs", "no no"},
        {"step 5 skips the look", POOL_RULE " tcp=" DECIDE_RULE_NAME, "yes yes"},
        {"step 7 scheme", "rule=internal", "no yes"},
        {"look failed", "rule=failed", "no yes"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_case c = read_case(a, rows[i].words);
        same_text(rows[i].number,
                  arena_printf(a, "%s %s",
                               yes_no(gce_l4_netlb_is_rbs(c.service, c.rule_found, &c.rule, false)),
                               yes_no(gce_l4_netlb_is_rbs(c.service, c.rule_found, &c.rule, true))),
                  rows[i].want);
    }
}

static void needs_deletion__netlb__V31_to_V35(void **state)
{
    static const struct answer_row rows[] = {
        {"V31", "v2 rule=bs", "no"},
        {"V32", "deleted", "no"},
        {"V33", "deleted v2", "yes"},
        {"V34", "deleted v3", "yes"},
        {"V35", "deleted rule=bs", "yes"},
        {"class", "deleted class=l4-regional-external", "yes"},
        {"type", "clusterip v3", "yes"},
        {"flip", "internal v2", "yes"},
        {"flip, not mine", "internal v1", "no"},
        {"class is another's", "class=l4-regional-internal v2", "yes"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_case c = read_case(a, rows[i].words);
        same_text(rows[i].number,
                  yes_no(gce_l4_netlb_needs_deletion(c.service, c.rule_found, &c.rule)),
                  rows[i].want);
    }
}

/* Two answers: needs deletion; is processed, when it wants to be. */
static void ilb__section_1_5_and_1_7(void **state)
{
    static const struct answer_row rows[] = {
        {"new", "internal", "no yes"},
        {"V8", "class=custom internal", "no no"},
        {"V9", "class=l4-regional-internal rule=internal i1", "no yes"},
        {"V11", "internal i2", "no yes"},
        {"step 3", "internal i1", "no no"},
        {"step 4", "internal rule=failed", "no no"},
        {"step 5", "internal rule=internal", "no no"},
        {"step 5, v2", "internal i2 rule=internal", "no no"},
        {"step 5, a former external one", "internal rule=bs", "no yes"},
        {"deleted", "deleted internal i2", "yes yes"},
        {"deleted without the finalizer", "deleted internal", "no yes"},
        {"deleted class without it", "deleted class=l4-regional-internal", "no yes"},
        {"flip", "i2", "yes yes"},
        {"type", "clusterip i2", "yes yes"},
        {"foreign class", "class=custom i2", "no no"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_case c = read_case(a, rows[i].words);
        same_text(rows[i].number,
                  arena_printf(a, "%s %s", yes_no(gce_l4_ilb_needs_deletion(c.service)),
                               yes_no(gce_l4_ilb_is_ours(c.service, c.rule_found, &c.rule))),
                  rows[i].want);
    }
}

/* §11.4: base is a Service with a target pool. */
static void should_process__netlb__V36_to_V45(void **state)
{
    static const struct {
        const char *number;
        const char *old_words; /* NULL: an add event */
        const char *words;
        bool unchanged;
        const char *want;
    } rows[] = {
        {"V36", NULL, POOL_RULE, false, "no"},
        {"V37", NULL, "v2 " POOL_RULE, false, "yes"},
        {"V38", NULL, "rbs " POOL_RULE, false, "yes"},
        {"V39", NULL, "v2 rbs " POOL_RULE, false, "yes"},
        {"V40", NULL, "class=testLBClass rbs " POOL_RULE, false, "no"},
        {"V41", NULL, "class=l4-regional-external " POOL_RULE, false, "yes"},
        {"V42", POOL_RULE, "v2 " POOL_RULE, false, "no"},
        {"V43", POOL_RULE, "rbs " POOL_RULE, false, "yes"},
        {"V44", POOL_RULE, "v2 rbs " POOL_RULE, false, "yes"},
        {"V45", "v2 rbs " POOL_RULE, "v2 rbs " POOL_RULE, true, "yes resync"},
        {"deletion", "v2 rbs " POOL_RULE, "deleted v2 rbs " POOL_RULE, false, "yes"},
        {"added while it goes", NULL, "deleted v2 rbs rule=bs", false, "yes"},
        {"no LoadBalancer any more", "rbs v2", "clusterip rbs v2", false, "yes"},
        {"other class", "rbs", "class=l4-regional-internal rbs", false, "no"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_case c = read_case(a, rows[i].words);
        const struct gce_process_flags f = {.unchanged = rows[i].unchanged};
        const struct tt_service *old_svc =
            rows[i].old_words == NULL ? NULL : decide_service(a, rows[i].old_words);
        bool resync = true;
        bool process =
            gce_l4_netlb_should_process(c.service, old_svc, c.rule_found, &c.rule, &f, &resync);
        same_text(rows[i].number, arena_printf(a, "%s%s", yes_no(process), resync ? " resync" : ""),
                  rows[i].want);
    }
}

static void guard__target_pool__V46_to_V49(void **state)
{
    static const char *const words[] = {[GCE_GUARD_CONTINUE] = "continue",
                                        [GCE_GUARD_RACE] = "race",
                                        [GCE_GUARD_MIGRATION] = "migration",
                                        [GCE_GUARD_STOP] = "stop"};
    static const struct answer_row rows[] = {
        {"V46", "rbs " POOL_RULE, "migration"},
        {"V47", "rbs v2 " POOL_RULE, "race"},
        {"V47 v3", "v3 v1", "race"},
        {"V48", "rbs v2 rule=bs", "continue"},
        {"V49", "rbs v2", "continue"},
        {"silently", POOL_RULE, "stop"},
        {"silently", "v1", "stop"},
        {"V46 by its finalizer", "rbs v1", "migration"},
        {"its own rule", POOL_RULE " udp=" DECIDE_RULE_NAME, "continue"},
        {"look failed", "rbs rule=failed", "continue"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_case c = read_case(a, rows[i].words);
        same_text(rows[i].number, words[gce_l4_netlb_guard(c.service, c.rule_found, &c.rule)],
                  rows[i].want);
    }
}

static void uses_negs__section_1_6_3(void **state)
{
    static const struct decide_row rows[] = {
        {"1", "v3", "negdefault", "no"},
        {"2", "v2", "neg negdefault", "no"},
        {"3", "v3", "neg", "yes"},
        {"4", "backend=negs", "neg", "no"},
        {"5 failed", "backend=failed", "neg negdefault", "yes"},
        {"5 absent", "", "neg negdefault", "yes"},
        {"5 internal", "backend=ilb", "neg negdefault", "yes"},
        {"5 no backends", "backend=none", "neg negdefault", "yes"},
        {"5 groups", "backend=groups", "neg negdefault", "no"},
        {"5 NEGs", "backend=negs", "neg negdefault", "yes"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_switches f = decide_flags(a, rows[i].flags);
        const struct gce_case c = decide_case(a, rows[i].words, &f);
        same_text(rows[i].number, yes_no(gce_l4_netlb_uses_negs(&c)), rows[i].want);
    }
}

/* gce-cloud-provider.md §5.2.  Two answers: ensure; update and delete. */
static void ilb_groups__O9_to_O11(void **state)
{
    static const struct decide_row rows[] = {
        {"O9 custom", "class=custom", "subsets", "no no"},
        {"O9 internal-legacy", "class=l4-regional-internal-legacy", "subsets", "yes yes"},
        {"O9 external-legacy", "class=l4-regional-external-legacy", "subsets", "no no"},
        {"O9 none", "", "subsets", "no no"},
        {"O10 custom", "class=custom", "", "no no"},
        {"O10 internal-legacy", "class=l4-regional-internal-legacy", "", "yes yes"},
        {"O10 none", "", "", "yes yes"},
        {"O11 rule", "rule=internal", "subsets", "yes no"},
        {"O11 v1", "i1", "subsets", "yes yes"},
        {"O11 v2", "i2", "subsets", "no no"},
        {"O11 v2, rule", "i2 rule=internal", "subsets", "yes no"},
        {"O11 v1 v2", "i1 i2", "subsets", "yes yes"},
        {"ours: v2 alone", "i2", "", "no no"},
        {"v2, rule", "i2 rule=internal", "", "yes yes"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_case c = read_case(a, rows[i].words);
        bool has_rule = c.rule_found == GCE_FOUND_PRESENT;
        bool subsets = *rows[i].flags != '\0';
        same_text(rows[i].number,
                  arena_printf(a, "%s %s",
                               yes_no(gce_ilb_legacy_is_ours(c.service, true, has_rule, subsets)),
                               yes_no(gce_ilb_legacy_is_ours(c.service, false, has_rule, subsets))),
                  rows[i].want);
    }
}

UNIT_MAIN(decide_rules)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(wants__type_annotation_class__V1_to_V14),
        PURE_TEST(is_rbs__V16_to_V30),
        PURE_TEST(needs_deletion__netlb__V31_to_V35),
        PURE_TEST(ilb__section_1_5_and_1_7),
        PURE_TEST(should_process__netlb__V36_to_V45),
        PURE_TEST(guard__target_pool__V46_to_V49),
        PURE_TEST(uses_negs__section_1_6_3),
        PURE_TEST(ilb_groups__O9_to_O11),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
