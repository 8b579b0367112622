/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_rules.c: names of Google's things: legal ones pass, hostile ones are refused with field
 * and pattern, and gce.conf confines whose things a Service may name. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_name_rules.h"
#include "providers/gce/model/gce_service_rules.h"
#include "tests/support/name_words.h"
#include "tests/support/unit.h"

#define IP_ADDRESSES "networking.gke.io/load-balancer-ip-addresses"
#define SUBNET       "networking.gke.io/internal-load-balancer-subnet"
#define SUBNET_NEW   "networking.gke.io/load-balancer-subnet"
#define COLLECTION   "networking.gke.io/ip-collection-v6"
#define RULES        "networking.gke.io/custom-forwarding-rule"

static const struct gce_name_scope open_scope = {.project = "ours", .network_project = "host"};

static int check(struct arena *a, const struct gce_name_scope *scope, const char *key,
                 const char *value, bool stands, struct err *err)
{
    static const struct tt_ingress address = {.ip = "192.0.2.1"};
    const struct tt_kv kv = {key, value};
    const struct tt_service s = {.annotations = &kv,
                                 .n_annotations = 1,
                                 .ingress = stands ? &address : NULL,
                                 .n_ingress = stands};
    err_clear(err);
    return gce_names_check(a, scope, &s, NULL, err);
}

static void names__legal__pass(void **state)
{
    (void)state;
    static const struct {
        const char *key, *form;
        struct alphabet words;
    } kinds[] = {
        {IP_ADDRESSES, "%s, other", {LOWER, LOWER DIGITS "-", LOWER DIGITS, 1, 63}},
        {SUBNET, "%s", {LOWER, LOWER DIGITS "-", LOWER DIGITS, 1, 63}},
        {COLLECTION,
         "projects/%s/regions/us-central1/publicDelegatedPrefixes/p",
         {LOWER, LOWER DIGITS "-", LOWER DIGITS, 6, 30}},
        {COLLECTION,
         "projects/example.com:%s/regions/us-central1/publicDelegatedPrefixes/p",
         {LOWER, LOWER DIGITS "-", LOWER DIGITS, 6, 30}},
    };
    struct rng *r = rng_seeded_new(20);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct arena *a = arena_new();
        char word[256];
        for (int i = 0; i < WORDS_PER_KIND; i++) {
            struct err err = ERR_INIT;
            arena_reset(a);
            const char *name = legal_name(r, &kinds[k].words, word);
            const char *value = str_replace(a, kinds[k].form, "%s", name);
            if (check(a, &open_scope, kinds[k].key, value, false, &err) != ERR_OK) {
                fail_msg("%s", err.message);
            }
        }
        arena_free(a);
    }
    rng_free(r);
}

static void names__recorded_worlds__pass_as_new(void **state)
{
    struct arena *a = *state;
    static const char *const worlds[] = {"gce/world-both.json",
                                         "gce/world-l4-dual-external.json",
                                         "gce/world-l4-dual-internal.json",
                                         "gce/world-l4-netlb-neg.json",
                                         "gce/world-l4.json",
                                         "gce/world-legacy.json",
                                         "fault/foreign.json"};
    size_t seen = 0;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        const struct tt_service **all = NULL;
        size_t n = world_services(a, worlds[i], &all);
        for (size_t k = 0; k < n; k++, seen++) {
            struct err err = ERR_INIT;
            if (gce_names_check(a, &open_scope, all[k], NULL, &err) != ERR_OK) {
                fail_msg("%s: %s: %s", worlds[i], all[k]->name, err.message);
            }
        }
    }
    assert_true(seen >= 30);
}

/* Names that Google itself printed. */
static void names__recorded_clouds__hold_the_patterns(void **state)
{
    struct arena *a = *state;
    static const char *const worlds[] = {"gce/world-both.json", "gce/world-l4.json",
                                         "gce/world-legacy.json"};
    size_t seen = 0;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        struct json_object *cloud = world_member(a, worlds[i], "gce");
        json_object_object_foreach(cloud, path, value)
        {
            (void)value;
            print_message("# %s\n", path);
            const char *slash = strrchr(path, '/');
            assert_true(name_rule_holds(&gce_resource_name_rule, slash == NULL ? path : slash + 1));
            seen++;
        }
    }
    assert_true(seen >= 30);
}

static void names__hostile__refused_in_every_field(void **state)
{
    struct arena *a = *state;
    static const char *const keys[] = {IP_ADDRESSES, SUBNET, SUBNET_NEW, COLLECTION};
    static const char *const texts[] = {"default/../../..?alt=media#",
                                        "x?alt=media",
                                        "x#",
                                        "..",
                                        "%2e%2e",
                                        "projects/a/regions/../publicDelegatedPrefixes/p",
                                        "projects/../regions/r/publicDelegatedPrefixes/p",
                                        "projects/a/regions/r/publicDelegatedPrefixes/p?x=y"};
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
            for (int stands = 0; stands < 2; stands++) {
                struct err err = ERR_INIT;
                print_message("# %s: %s\n", keys[k], texts[t]);
                assert_int_equal(check(a, &open_scope, keys[k], texts[t], stands, &err),
                                 ERR_INVALID);
                assert_non_null(strstr(err.message, keys[k]));
                assert_non_null(strstr(err.message, "[a-z]([-a-z0-9]{0,61}[a-z0-9])?"));
            }
        }
    }
}

/* A subnet with a line feed behind it, as a block of YAML leaves it, counts as absent where it is
 * read: the load balancer would move to another subnet than the one that is named. */
static void names__blanks_around__refused_where_they_would_be_sent(void **state)
{
    static const char *const keys[] = {SUBNET, SUBNET_NEW, COLLECTION};
    static const char *const texts[] = {"other\n", "other ", "  "};
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
            struct err err = ERR_INIT;
            print_message("# %s: text %zu\n", keys[k], t);
            assert_int_equal(check(*state, &open_scope, keys[k], texts[t], false, &err),
                             ERR_INVALID);
            assert_non_null(strstr(err.message, keys[k]));
        }
    }
    struct err err = ERR_INIT;
    assert_int_equal(check(*state, &open_scope, IP_ADDRESSES, "a , b\n", false, &err), ERR_OK);
}

/* A target pool has no subnet, and no addresses but the one of the spec. */
static void names__fields_that_nobody_reads__refuse_nothing(void **state)
{
    struct gce_name_scope pool = open_scope;
    struct err err = ERR_INIT;
    pool.target_pool = true;
    assert_int_equal(check(*state, &pool, SUBNET, "projects/p/regions/r/subnetworks/s", true, &err),
                     ERR_OK);
    assert_int_equal(check(*state, &pool, IP_ADDRESSES, "a/b", true, &err), ERR_OK);
    assert_int_equal(check(*state, &open_scope, IP_ADDRESSES, "a/b", true, &err), ERR_INVALID);
}

static void names__address_of_the_spec__no_filter(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text;
        int want;
    } rows[] = {{"", ERR_OK},
                {"192.0.2.1", ERR_OK},
                {"2001:DB8::1", ERR_OK},
                {"1.2.3.4 OR name eq x", ERR_INVALID},
                {"1.2.3.4)", ERR_INVALID}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        const struct tt_service s = {.lb_ip = rows[i].text};
        assert_int_equal(gce_names_check(a, &open_scope, &s, NULL, &err), rows[i].want);
    }
}

static void names__allowed_projects__confine(void **state)
{
    struct arena *a = *state;
    static const char *const items[] = {"friends"};
    const struct gce_name_scope confined = {
        .project = "ours", .network_project = "host", .projects = {items, 1, true}};
    static const struct {
        const char *key, *value;
        bool allowed;
    } rows[] = {
        {COLLECTION, "prefix", true},
        {COLLECTION, "projects/ours/regions/r/publicDelegatedPrefixes/p", true},
        {COLLECTION, "projects/host/regions/r/publicDelegatedPrefixes/p", true},
        {COLLECTION, "projects/friends/regions/r/publicDelegatedPrefixes/p", true},
        {COLLECTION, "projects/theirs/regions/r/publicDelegatedPrefixes/p", false},
        {RULES, "rule-1", true},
        {RULES, "projects/ours/regions/r/forwardingRules/x", true},
        {RULES, "a,projects/theirs/regions/r/forwardingRules/x", false},
        {RULES,
         "https://compute.googleapis.com/compute/v1/projects/theirs/global/forwardingRules/x",
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int stands = 0; stands < 2; stands++) {
            struct err err = ERR_INIT;
            print_message("# %s\n", rows[i].value);
            assert_int_equal(check(a, &open_scope, rows[i].key, rows[i].value, stands, &err),
                             ERR_OK);
            assert_int_equal(check(a, &confined, rows[i].key, rows[i].value, stands, &err),
                             rows[i].allowed ? ERR_OK : ERR_INVALID);
            assert_true(rows[i].allowed || strstr(err.message, "allowed-projects") != NULL);
        }
    }
}

/* A Service that goes is cleaned up whatever it says: what is impossible counts as absent. */
static void service__impossible_names__count_as_absent(void **state)
{
    struct arena *a = *state;
    const struct tt_service *s = test_service_text(
        a, "{\"metadata\":{\"namespace\":\"d\",\"annotations\":{\"" IP_ADDRESSES
           "\":\"a/../b,fine\",\"" SUBNET "\":\"x?y\",\"" SUBNET_NEW "\":\"..\"}}}");
    struct gce_strs names = gce_l4_address_names(a, s);
    assert_int_equal(names.n, 1);
    same_text("address", names.items[0], "fine");
    same_text("subnet", gce_l4_subnet(s, true), "");
    same_text("subnet of groups", gce_svc_subnet(s), "");
}

UNIT_MAIN(name_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names__legal__pass),
        PURE_TEST(names__recorded_worlds__pass_as_new),
        PURE_TEST(names__recorded_clouds__hold_the_patterns),
        PURE_TEST(names__blanks_around__refused_where_they_would_be_sent),
        PURE_TEST(names__fields_that_nobody_reads__refuse_nothing),
        PURE_TEST(names__hostile__refused_in_every_field),
        PURE_TEST(names__address_of_the_spec__no_filter),
        PURE_TEST(names__allowed_projects__confine),
        PURE_TEST(service__impossible_names__count_as_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
