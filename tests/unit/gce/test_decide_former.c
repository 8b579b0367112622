/* SPDX-License-Identifier: Apache-2.0 */
/* test_decide_former.c: what stands tells which kind a Service had when its finalizers are lost
 * (docs/adr/0096); the words are explained in decide_rows.h. */
#include "providers/gce/decide/gce_decide_table.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/decide_rows.h"

#define CHECK(a, rows) decide_check((a), (rows), ARRAY_LEN(rows))

/* The rule that stands is as good a witness of the former kind as its finalizer is. */
static void flips__finalizer_lost__the_rule_tells(void **state)
{
#define CLASS_E "class=l4-regional-external"
#define CLASS_I "class=l4-regional-internal"
    static const struct decide_row rows[] = {
        {"pool to class external", CLASS_E " rule=pool", "both", "egroups first=pool"},
        {"pool to class internal", CLASS_I " rule=pool", "both", "inegs first=pool"},
        {"pool to class internal, made", CLASS_I " i2 rule=pool", "both", "inegs first=pool"},
        {"their pool, class external", CLASS_E " rule=pool", "l4", "(pool)"},
        {"their pool, class internal", CLASS_I " rule=pool", "l4", "inegs"},
        {"our pool, their class", CLASS_E " rule=pool", "legacy", "pool teardown"},
        {"rbs to class internal", CLASS_I " rule=bs", "both", "inegs first=egroups"},
        {"rbs to legacy class", "class=l4-regional-external-legacy rule=bs", "both gke",
         "pool first=egroups"},
        {"their rbs, legacy class", "class=l4-regional-external-legacy rule=bs", "gke",
         "(egroups)"},
        {"groups to class internal", CLASS_I " rule=internal", "both", "inegs first=igroups"},
        {"groups to class external", CLASS_E " rule=internal", "both", "egroups first=igroups"},
        {"class external stays", CLASS_E " rule=bs", "both", "egroups"},
        {"… with its NEGs", CLASS_E " rule=bs backend=negs", "both neg", "enegs"},
        {"pool to a foreign class", "class=custom rule=pool", "both", "pool teardown"},
        {"rbs to a foreign class", "class=custom rule=bs", "both", "egroups teardown"},
        {"theirs to a foreign class", "class=custom rule=pool", "l4", "none"},
        {"pool to NEGs alone", "class=standalone-passthrough-lb-neg rule=pool", "both standalone",
         "negs first=pool"},
        {"another owner's", CLASS_E " rule=theirs", "both", "egroups"},
        {"another owner's", CLASS_I " rule=theirs", "both", "inegs"},
        {"another owner's", "class=custom rule=theirs", "both", "none"},
        {"deleted", "deleted " CLASS_E " v2 rule=pool", "both", "pool teardown first=egroups"},
        {"deleted", "deleted " CLASS_I " i2 rule=pool", "both", "pool teardown first=inegs"},
        {"deleted", "deleted class=custom rule=pool", "both", "pool teardown"},
        {"deleted", "deleted class=custom rule=theirs", "both", "none"},
        {"subsetting to pool", "l4rule", "both", "pool first=inegs"},
        {"subsetting to rbs", "rbs l4rule", "both", "egroups first=inegs"},
        {"subsetting to class external", CLASS_E " l4rule", "both", "egroups first=inegs"},
        {"subsetting to a foreign class", "class=custom l4rule", "both", "inegs teardown"},
        {"subsetting stays", "internal l4rule", "both", "inegs"},
        {"deleted", "deleted l4rule", "both", "inegs teardown"},
    };
    CHECK(*state, rows);
#undef CLASS_E
#undef CLASS_I
}

/* Finalizers and type were taken off at once: our mark tells that something was there. */
static void gone__our_mark_alone__by_what_it_asked_for(void **state)
{
    static const struct decide_row rows[] = {
        {"pool", "clusterip mark=gce", "both", "pool teardown"},
        {"subsetting", "clusterip mark=gce internal", "both subsets", "inegs teardown"},
        {"groups", "clusterip mark=gce internal", "legacy", "igroups teardown"},
        {"groups, rule there", "clusterip mark=gce rule=internal", "both", "igroups teardown"},
        {"rbs", "clusterip mark=gce rbs", "both", "egroups teardown"},
        {"l4: subsetting", "clusterip mark=gce internal", "l4", "inegs teardown"},
        {"l4: pool", "clusterip mark=gce", "l4", "(pool)"},
        {"no mark", "clusterip internal", "both", "none"},
        {"another's mark", "clusterip mark=local internal", "both", "none"},
        {"an older mark", "clusterip mark=none internal", "both", "none"},
    };
    CHECK(*state, rows);
}

/* The same while this process watches: what it saw before tells, as the finalizers did, also of
 * what was only taken over. */
static void gone__finalizers_with_the_type__what_was_seen_before_tells(void **state)
{
    static const struct decide_row rows[] = {
        {"subsetting", "clusterip gone internal was=internal,i2", "both subsets", "inegs teardown"},
        {"groups", "clusterip gone internal was=internal,i1", "legacy", "igroups teardown"},
        {"annotation went, too", "clusterip gone was=internal,i2", "both", "inegs teardown"},
        {"rbs", "clusterip gone was=rbs,v2", "both", "egroups teardown"},
        {"pool", "clusterip gone was=v1", "both", "pool teardown"},
        {"another's class", "class=custom gone was=internal,i2", "both", "inegs teardown"},
        {"another program's kind", "clusterip gone was=internal,i1", "l4", "(igroups)"},
        {"still wanted", "internal was=rbs,v2", "both", "inegs"},
        {"without one before", "clusterip gone internal was=internal", "both", "none"},
    };
    CHECK(*state, rows);
}

/* The generic part serves no class, so its finalizer tells of a time before. */
static void gone__generic_finalizer_beside_a_class__a_pool_is_looked_for(void **state)
{
    static const struct decide_row rows[] = {
        {"foreign class", "deleted cleanup class=custom", "both", "pool teardown"},
        {"foreign class, no finalizer", "deleted class=custom", "both", "none"},
        {"class external", "deleted cleanup class=l4-regional-external", "both",
         "pool teardown first=egroups"},
        {"class internal", "deleted cleanup i2 class=l4-regional-internal", "both",
         "pool teardown first=inegs"},
    };
    CHECK(*state, rows);
}

static void class__rule_not_looked_for_or_unreadable__is_asked_for(void **state)
{
    static const struct decide_row rows[] = {
        {"unknown", "class=custom rule=unknown", "both", "none needs-rule"},
        {"a finalizer tells already", "class=custom v1 rule=unknown", "both",
         "pool teardown needs-rule"},
        {"failed", "class=l4-regional-external rule=failed", "both", "none needs-rule"},
    };
    CHECK(*state, rows);
}

static void explained__foreign_class__says_what_stands_and_whether_it_goes(void **state)
{
#define HAS                                                                                        \
    "is served by another controller (loadBalancerClass). It still has an external load balancer " \
    "with a target pool, which "
    static const struct {
        const char *words;
        const char *answer;
        const char *verdict;
    } rows[] = {
        {"class=custom v1 rule=pool", HAS "goes with the Service.", "elsewhere"},
        {"class=custom cleanup rule=pool", HAS "goes with the Service.", "elsewhere"},
        {"class=custom rule=pool", HAS "stays when the Service goes: no finalizer is on it.",
         "elsewhere"},
        {"class=custom rule=theirs", "is served by another controller (loadBalancerClass).",
         "elsewhere"},
        {"class=custom v1 rule=pool deleted", "loses an external load balancer with a target pool.",
         "loses"},
    };
    const struct gce_switches f = decide_flags(*state, "both");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_case c = decide_case(*state, rows[i].words, &f);
        struct gce_decision d;
        gce_decide(&c, &d);
        same_text(rows[i].words, gce_decide_answer(*state, &c, &d), rows[i].answer);
        same_text(rows[i].words, gce_decide_verdict(&c, &d), rows[i].verdict);
    }
#undef HAS
}

UNIT_MAIN(decide_former)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(flips__finalizer_lost__the_rule_tells),
        PURE_TEST(gone__generic_finalizer_beside_a_class__a_pool_is_looked_for),
        PURE_TEST(gone__our_mark_alone__by_what_it_asked_for),
        PURE_TEST(gone__finalizers_with_the_type__what_was_seen_before_tells),
        PURE_TEST(explained__foreign_class__says_what_stands_and_whether_it_goes),
        PURE_TEST(class__rule_not_looked_for_or_unreadable__is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
