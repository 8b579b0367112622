/* SPDX-License-Identifier: Apache-2.0 */
/* test_decide_rules.c: upstream's own questions about ownership, one by one, and the decision's
 * answers to them.
 *
 * Rows V… are those of gce-l4.md §11.1–11.5, O… those of gce-cloud-provider.md §9.6; the words are
 * explained in decide_rows.h. */
#include "tests/eval/eval_gce_asked.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/decide_rows.h"
#include "tests/unit/gce/upstream_questions.h"

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
    assert_false(upstream_wants_ilb(NULL) || upstream_wants_netlb(NULL)); /* V1 */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s = decide_service(a, rows[i].words);
        same_text(rows[i].number,
                  arena_printf(a, "ilb %s netlb %s", yes_no(upstream_wants_ilb(s)),
                               yes_no(upstream_wants_netlb(s))),
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
        same_text(
            rows[i].number,
            arena_printf(a, "%s %s",
                         yes_no(upstream_netlb_is_rbs(c.service, c.rule_found, &c.rule, false)),
                         yes_no(upstream_netlb_is_rbs(c.service, c.rule_found, &c.rule, true))),
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
                  yes_no(upstream_netlb_needs_deletion(c.service, c.rule_found, &c.rule)),
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
                  arena_printf(a, "%s %s", yes_no(upstream_ilb_needs_deletion(c.service)),
                               yes_no(upstream_ilb_is_ours(c.service, c.rule_found, &c.rule))),
                  rows[i].want);
    }
}

static const char *const guards[] = {[UPSTREAM_GUARD_CONTINUE] = "continue",
                                     [UPSTREAM_GUARD_RACE] = "race",
                                     [UPSTREAM_GUARD_MIGRATION] = "migration",
                                     [UPSTREAM_GUARD_STOP] = "stop"};

static void guard__target_pool__V46_to_V49(void **state)
{
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
        same_text(rows[i].number, guards[upstream_netlb_guard(c.service, c.rule_found, &c.rule)],
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
        same_text(rows[i].number, yes_no(upstream_netlb_uses_negs(&c)), rows[i].want);
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
        same_text(
            rows[i].number,
            arena_printf(a, "%s %s",
                         yes_no(upstream_ilb_groups_is_ours(c.service, true, has_rule, subsets)),
                         yes_no(upstream_ilb_groups_is_ours(c.service, false, has_rule, subsets))),
            rows[i].want);
    }
}

/* ---- upstream's answers, and the decision's -------------------------------------------------- */

/* One Service, what was found of its rule, and an answer of each. */
struct combination {
    const char *words; /* decide_rows.h */
    struct asked q;
    bool has_class;
    bool named; /* a status annotation names the rule "a<uid>" */
    const char *rule;
    const char *theirs;
    const char *ours;
    unsigned *seen; /* differences, by row */
};

static bool has_word(const struct combination *c, const char *word)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    return decide_has(a, c->words, word);
}

static bool is_unreadable(const struct combination *c)
{
    return str_eq(c->rule, "failed");
}

static bool is_named_pool(const struct combination *c)
{
    return c->named && str_eq(c->rule, "pool");
}

static bool has_class(const struct combination *c)
{
    return c->has_class;
}

static bool was_made_twice(const struct combination *c)
{
    return has_word(c, "i1") && has_word(c, "i2") && str_eq(c->ours, "yes");
}

static bool is_unmarked(const struct combination *c)
{
    return has_word(c, "deleted") && c->q.service->n_finalizers == 0 && str_eq(c->ours, "yes");
}

/* The annotation names a rule that is not there, or is none of a backend service. */
static bool is_named_alone(const struct combination *c)
{
    return c->named && !str_eq(c->rule, "bs") && str_eq(c->theirs, "yes");
}

/* Upstream does not look at the rule when it updates or deletes, once subsetting is on. */
static bool has_groups_rule(const struct combination *c)
{
    return str_eq(c->rule, "internal") && str_eq(c->ours, "yes");
}

static bool is_of_other_kind(const struct combination *c)
{
    return str_eq(c->rule, "") && !has_word(c, "i1") && str_eq(c->ours, "no") &&
           (c->named || c->q.service->n_finalizers > 0);
}

/* Rows of docs/deviations.md, "Google: the program that serves a Service" but for the last. */
static const struct {
    const char *row;
    bool (*is)(const struct combination *c);
} known[] = {
    {"§1.5: a failed look at the forwarding rule", is_unreadable},
    {"§1.6.1 step 5: a status annotation beside a target pool", is_named_pool},
    {"§1.5–1.7: a class decides alone", has_class},
    {"§1.6.2, §1.5: both internal kinds", was_made_twice},
    {"§1.7: a Service that carries only the generic finalizer", is_unmarked},
    {"§1.7: a status annotation without the rule", is_named_alone},
    {"§1.4, A24: no forwarding rule when it updates or deletes", has_groups_rule},
    {"§15.16, §4.1, E12: a deletion goes by what is there", is_of_other_kind},
};

static void compare(struct combination *c, const char *question, const char *theirs,
                    const char *ours)
{
    c->theirs = theirs;
    c->ours = ours;
    if (str_eq(theirs, ours)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i].is(c)) {
            c->seen[i]++;
            return;
        }
    }
    fail_msg("%s [%s]: upstream says %s, we say %s, and no row of docs/deviations.md says why",
             question, c->words, theirs, ours);
}

static void compare_l4(struct arena *a, struct combination *c)
{
    const struct asked *q = &c->q;
    const struct tt_service *s = q->service;
    compare(c, "wants ilb", yes_no(upstream_wants_ilb(s)), yes_no(asked_wants_ilb(a, s)));
    compare(c, "wants netlb", yes_no(upstream_wants_netlb(s)), yes_no(asked_wants_netlb(a, s)));
    compare(c, "ilb is ours", yes_no(upstream_ilb_is_ours(s, q->found, &q->rule)),
            yes_no(asked_ilb_is_ours(a, q)));
    compare(c, "ilb needs deletion", yes_no(upstream_ilb_needs_deletion(s)),
            yes_no(asked_ilb_needs_deletion(s)));
    compare(c, "is rbs", yes_no(upstream_netlb_is_rbs(s, q->found, &q->rule, false)),
            yes_no(asked_netlb_is_rbs(a, q, false)));
    compare(c, "is rbs by default", yes_no(upstream_netlb_is_rbs(s, q->found, &q->rule, true)),
            yes_no(asked_netlb_is_rbs(a, q, true)));
    compare(c, "netlb needs deletion", yes_no(upstream_netlb_needs_deletion(s, q->found, &q->rule)),
            yes_no(asked_netlb_needs_deletion(q)));
    compare(c, "guard", guards[upstream_netlb_guard(s, q->found, &q->rule)],
            asked_netlb_guard(a, q));
}

static void compare_groups(struct arena *a, struct combination *c)
{
    static const char *const ops[] = {
        [ASKED_ENSURE] = "ensure", [ASKED_UPDATE] = "update", [ASKED_DELETE] = "delete"};
    const struct tt_service *s = c->q.service;
    bool has_rule = c->q.found == GCE_FOUND_PRESENT;
    for (size_t op = 0; op < ARRAY_LEN(ops); op++) {
        for (int subsets = 0; subsets < 2; subsets++) {
            compare(c, ops[op],
                    yes_no(upstream_ilb_groups_is_ours(s, op == ASKED_ENSURE, has_rule, subsets)),
                    yes_no(asked_ilb_groups_is_ours(a, s, (enum asked_op)op, has_rule, subsets)));
        }
    }
}

/* The Service of the words with each rule. */
static void compare_rules(const char *words, unsigned *seen)
{
    static const char *const rules[] = {"", "pool", "bs", "internal", "odd", "failed"};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_service *s = decide_service(a, words);
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        bool none = *rules[i] == '\0';
        const struct gce_case k =
            decide_case(a, none ? "" : arena_printf(a, "rule=%s", rules[i]), NULL);
        struct combination c = {
            .words = none ? words : arena_printf(a, "%s rule=%s", words, rules[i]),
            .q = {.service = s, .found = k.rule_found, .rule = k.rule},
            .has_class = s->lb_class != NULL,
            .named = decide_has(a, words, "tcp=" DECIDE_RULE_NAME),
            .rule = rules[i],
            .seen = seen,
        };
        compare_l4(a, &c);
        if (none || str_eq(rules[i], "internal")) {
            compare_groups(a, &c);
        }
    }
}

/* The class of a Service, or its type: only a LoadBalancer has a class. */
static const char *const what[] = {"",
                                   "class=l4-regional-internal",
                                   "class=l4-regional-external",
                                   "class=l4-regional-internal-legacy",
                                   "class=l4-regional-external-legacy",
                                   "class=custom",
                                   "clusterip"};
static const char *const wishes[] = {"", "internal", "rbs"};
#define FINALIZERS 32

/* Over all kinds of Services, finalizers and rules: upstream's answers are ours, or a row of
 * docs/deviations.md says otherwise; and each row shows somewhere. */
static void decision__all_combinations__upstreams_answers_but_for_the_deviations(void **state)
{
    static const char *const finalizers[] = {"v1", "v2", "v3", "i1", "i2"};
    unsigned seen[ARRAY_LEN(known)] = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(what) * ARRAY_LEN(wishes) * FINALIZERS * 4; i++) {
        _cleanup_(str_buf_done) struct str_buf words = STR_BUF_INIT;
        size_t rest = i / 4;
        str_appendf(&words, "%s %s", what[rest % ARRAY_LEN(what)],
                    wishes[rest / ARRAY_LEN(what) % ARRAY_LEN(wishes)]);
        unsigned marks = (unsigned)(rest / ARRAY_LEN(what) / ARRAY_LEN(wishes));
        for (size_t k = 0; k < ARRAY_LEN(finalizers); k++) {
            str_appendf(&words, "%s%s", (marks & 1u << k) != 0 ? " " : "",
                        (marks & 1u << k) != 0 ? finalizers[k] : "");
        }
        str_append(&words, (i & 1) != 0 ? " deleted" : "");
        str_append(&words, (i & 2) != 0 ? " tcp=" DECIDE_RULE_NAME : "");
        compare_rules(str_buf_text(&words), seen);
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (seen[i] == 0) {
            fail_msg("%s: no answer differs", known[i].row);
        }
    }
}

/* Groups or NEGs, over all that counts: the same answer, without a deviation. */
static void uses_negs__all_combinations__upstreams_answer(void **state)
{
    static const char *const finalizers[] = {"", "v2", "v3", "v2 v3"};
    static const char *const backends[] = {
        "", "backend=groups", "backend=negs", "backend=none", "backend=ilb", "backend=failed"};
    static const char *const flags[] = {"", "neg", "negdefault", "neg negdefault"};
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(finalizers) * ARRAY_LEN(backends) * ARRAY_LEN(flags); i++) {
        const char *words = arena_printf(a, "%s %s", finalizers[i % ARRAY_LEN(finalizers)],
                                         backends[i / ARRAY_LEN(finalizers) % ARRAY_LEN(backends)]);
        const char *on = flags[i / ARRAY_LEN(finalizers) / ARRAY_LEN(backends)];
        const struct gce_switches f = decide_flags(a, on);
        const struct gce_case c = decide_case(a, words, &f);
        same_text(arena_printf(a, "%s [%s]", words, on), yes_no(asked_netlb_uses_negs(a, &c)),
                  yes_no(upstream_netlb_uses_negs(&c)));
    }
}

UNIT_MAIN(decide_rules)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(wants__type_annotation_class__V1_to_V14),
        PURE_TEST(is_rbs__V16_to_V30),
        PURE_TEST(needs_deletion__netlb__V31_to_V35),
        PURE_TEST(ilb__section_1_5_and_1_7),
        PURE_TEST(guard__target_pool__V46_to_V49),
        PURE_TEST(uses_negs__section_1_6_3),
        PURE_TEST(ilb_groups__O9_to_O11),
        PURE_TEST(decision__all_combinations__upstreams_answers_but_for_the_deviations),
        PURE_TEST(uses_negs__all_combinations__upstreams_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
