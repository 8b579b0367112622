/* SPDX-License-Identifier: Apache-2.0 */
/* test_status_rules.c: comparing status, and the exact bodies of patches.
 *
 * The numbers in the rows are those of controller.md §6.3 and 6.8; rows without a number are the
 * table of bodies in §1.13, which upstream's own diff code has written. */
#include "tests/unit/lb/lb_test.h"

#include "common/lb/service_rules.h"
#include "common/lb/status_rules.h"
#include "tests/support/unit.h"

#define F LB_CLEANUP_FINALIZER

struct status {
    const struct tt_ingress *in;
    size_t n;
};
#define S(...)                                                                                     \
    {                                                                                              \
        (const struct tt_ingress[]){__VA_ARGS__},                                                  \
            sizeof((const struct tt_ingress[]){__VA_ARGS__}) / sizeof(struct tt_ingress)           \
    }
#define NONE                                                                                       \
    {                                                                                              \
        NULL, 0                                                                                    \
    }
#define PORTS(...)                                                                                 \
    .ports = (const struct tt_port_status[]){__VA_ARGS__},                                         \
    .n_ports =                                                                                     \
        sizeof((const struct tt_port_status[]){__VA_ARGS__}) / sizeof(struct tt_port_status)

static void status_equal__pairs__vectors(void **state)
{
    (void)state;
    const struct {
        int row;
        struct status a, b;
        bool equal;
    } rows[] = {
        {132, NONE, NONE, true},
        {132, S({.ip = "10.0.0.1"}), S({.ip = "10.0.0.1"}), true},
        {132, S({.ip = "10.0.0.1"}), S({.ip = "10.0.0.2"}), false},
        {132, S({.ip = "10.0.0.1", .ip_mode = "VIP"}), S({.ip = "10.0.0.1", .ip_mode = "VIP"}),
         true},
        {132, S({.ip = "10.0.0.1", .ip_mode = "VIP"}), S({.ip = "10.0.0.1"}), false},
        {133, S({.ip = "1", .ip_mode = "VIP"}), S({.ip = "1", .ip_mode = "Proxy"}), false},
        {133, S({.ip = "1", PORTS({"TCP", .port = 80})}),
         S({.ip = "1", PORTS({"TCP", .port = 80})}), true},
        {133, S({.ip = "1", PORTS({"TCP", .port = 80})}),
         S({.ip = "1", PORTS({"UDP", .port = 80})}), false},
        {133, S({.ip = "1", PORTS({"TCP", .port = 80})}), S({.ip = "1"}), false},
        {133, S({.ip = "1"}, {.ip = "2"}), S({.ip = "2"}, {.ip = "1"}), false},
        {133, NONE, {(const struct tt_ingress[]){{0}}, 0}, true},
        {0, S({.hostname = "a"}), S({.hostname = "a", .ip = ""}), true},
        {0, S({.hostname = "a"}), S({.hostname = "b"}), false},
        {0, S({.ip = "1"}), S({.ip = "1"}, {.ip = "1"}), false},
        {0, S({.ip = "1", PORTS({"TCP", "x", 80})}), S({.ip = "1", PORTS({"TCP", NULL, 80})}),
         false},
        {0, S({.ip = "1", PORTS({"TCP", "", 80})}), S({.ip = "1", PORTS({"TCP", NULL, 80})}),
         false},
        {0, S({.ip = "1", PORTS({"TCP", NULL, 80})}), S({.ip = "1", PORTS({"TCP", NULL, 81})}),
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# row %d (%zu)\n", rows[i].row, i);
        assert_int_equal(status_equal(rows[i].a.in, rows[i].a.n, rows[i].b.in, rows[i].b.n),
                         rows[i].equal);
    }
}

static void assert_body(const char *got, const char *want)
{
    assert_string_equal(got != NULL ? got : "(nothing)", want != NULL ? want : "(nothing)");
}

static void status_patch__changes__upstreams_bytes(void **state)
{
    const struct {
        int row;
        struct status o, n;
        const char *body;
    } rows[] = {
        {38, S({.ip = "8.8.8.8"}), S({.ip = "8.8.8.8"}), NULL},
        {38, NONE, S({.ip = "8.8.8.8"}),
         "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"8.8.8.8\"}]}}}"},
        {38, NONE, NONE, NULL},
        {38, S({.ip = "8.8.8.8"}), NONE, "{\"status\":{\"loadBalancer\":{\"ingress\":null}}}"},
        {0, S({.ip = "203.0.113.10"}), S({.ip = "203.0.113.10"}, {.ip = "203.0.113.11"}),
         "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"203.0.113.10\"},{\"ip\":\"203.0."
         "113."
         "11\"}]}}}"},
        {0, NONE, S({.hostname = "lb.example.com"}),
         "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"lb.example.com\"}]}}}"},
        {0, NONE, S({.ip = "203.0.113.10", .ip_mode = "VIP", PORTS({"TCP", .port = 80})}),
         "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"203.0.113.10\",\"ipMode\":\"VIP\","
         "\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]}]}}}"},
        {0, NONE, S({PORTS({"UDP", "", 1}, {"TCP", "x.io/Bad", 2})}),
         "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ports\":[{\"error\":\"\",\"port\":1,"
         "\"protocol\":\"UDP\"},{\"error\":\"x.io/Bad\",\"port\":2,\"protocol\":\"TCP\"}]}]}}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# row %d (%zu)\n", rows[i].row, i);
        assert_body(status_patch(*state, rows[i].o.in, rows[i].o.n, rows[i].n.in, rows[i].n.n),
                    rows[i].body);
    }
}

static void status_normalise__ip_without_mode__vip(void **state)
{
    const struct tt_ingress in[] = {{.ip = "1"},
                                    {.ip = "2", .ip_mode = "Proxy"},
                                    {.hostname = "h", PORTS({"TCP", .port = 80})}};
    struct tt_ingress *out = status_normalise(*state, in, 3);
    assert_string_equal(out[0].ip_mode, "VIP");
    assert_string_equal(out[1].ip_mode, "Proxy");
    assert_null(out[2].ip_mode);
    assert_true(status_equal(&in[1], 2, &out[1], 2));
    assert_ptr_not_equal(out[2].hostname, in[2].hostname);
}

#define NAMES(...)                                                                                 \
    (const char *const[]){__VA_ARGS__},                                                            \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

static void finalizer_patch_add__lists__upstreams_bytes(void **state)
{
    struct arena *a = *state;
    assert_body(
        finalizer_patch_add(a, NULL, 0, NAMES(F)),
        "{\"metadata\":{\"finalizers\":[\"service.kubernetes.io/load-balancer-cleanup\"]}}");
    assert_body(finalizer_patch_add(a, NAMES("foo"), NAMES(F)),
                "{\"metadata\":{\"$setElementOrder/finalizers\":[\"foo\",\"service.kubernetes.io/"
                "load-balancer-cleanup\"],\"finalizers\":[\"service.kubernetes.io/load-balancer-"
                "cleanup\"]}}");
    assert_body(finalizer_patch_add(a, NAMES("foo", F), NAMES(F)), NULL); /* row 36 */
    assert_body(finalizer_patch_add(a, NAMES("foo"), NAMES("bar")),       /* row 39 */
                "{\"metadata\":{\"$setElementOrder/finalizers\":[\"foo\",\"bar\"],\"finalizers\":"
                "[\"bar\"]}}");
    assert_body(finalizer_patch_add(a, NAMES("a"), NAMES("b", "a", "c", "b")),
                "{\"metadata\":{\"$setElementOrder/finalizers\":[\"a\",\"b\",\"c\"],\"finalizers\":"
                "[\"b\",\"c\"]}}");
}

/* Never {"finalizers":null}: that would wipe what others have put there. */
static void finalizer_patch_remove__lists__only_ours(void **state)
{
    struct arena *a = *state;
    const char *body = "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":"
                       "[\"service.kubernetes.io/load-balancer-cleanup\"]}}";
    assert_body(finalizer_patch_remove(a, NAMES(F), NAMES(F)), body); /* row 37 */
    assert_body(finalizer_patch_remove(a, NAMES("foo", F, "bar"), NAMES(F)), body);
    assert_body(finalizer_patch_remove(a, NAMES("foo"), NAMES(F)), NULL);
    assert_body(finalizer_patch_remove(a, NULL, 0, NAMES(F)), NULL);
    assert_body(finalizer_patch_remove(a, NAMES("a", "b", "c"), NAMES("c", "x", "a", "c")),
                "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"c\",\"a\"]}}");
}

static void annotations_patch__wishes__only_these_keys_and_what_differs(void **state)
{
    struct arena *a = *state;
    static const struct tt_kv wish[] = {{"a", NULL}, {"b", "x\"y"}, {"c", ""}, {"d", "4"}};
    static const struct {
        const char *now[ARRAY_LEN(wish)];
        bool drops_all;
        const char *want;
    } rows[] = {
        {{NULL, "x\"y", "", "4"}, false, NULL},
        {{NULL, "x\"y", "", "4"}, true, "{\"metadata\":{\"annotations\":{\"a\":null}}}"},
        {{"1", "x\"y", "", "4"}, false, "{\"metadata\":{\"annotations\":{\"a\":null}}}"},
        {{"1", NULL, NULL, "5"},
         true,
         "{\"metadata\":{\"annotations\":{\"a\":null,\"b\":\"x\\\"y\",\"c\":\"\",\"d\":\"4\"}}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_body(annotations_patch(a, wish, rows[i].now, ARRAY_LEN(wish), rows[i].drops_all),
                    rows[i].want);
    }
    assert_body(annotations_patch(a, NULL, NULL, 0, true), NULL);
}

static void patches_join__several__united(void **state)
{
    static const char *const patches[] = {
        "{\"status\":{\"conditions\":[{\"type\":\"a\"}]}}",
        "{\"status\":{\"conditions\":[{\"type\":\"b\"}]}}",
        "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"f\"]}}",
        "{\"metadata\":{\"annotations\":{\"k\":null}}}",
        "{\"status\":{\"loadBalancer\":{\"ingress\":null}}}"};
    assert_null(patches_join(*state, patches, 0));
    assert_body(patches_join(*state, patches, 1), patches[0]);
    const char *all = patches_join(*state, patches, 5);
    assert_body(all, "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"f\"],"
                     "\"annotations\":{\"k\":null}},\"status\":{\"conditions\":[{\"type\":\"a\"},"
                     "{\"type\":\"b\"}],\"loadBalancer\":{\"ingress\":null}}}");
    /* the uid goes into the one there is: a second "metadata" would be read, and this one not */
    assert_body(patch_for_object(*state, all, "u", NULL),
                "{\"metadata\":{\"uid\":\"u\",\"$deleteFromPrimitiveList/finalizers\":[\"f\"],"
                "\"annotations\":{\"k\":null}},\"status\":{\"conditions\":[{\"type\":\"a\"},"
                "{\"type\":\"b\"}],\"loadBalancer\":{\"ingress\":null}}}");
}

static void condition_patch_remove__type__directive_by_merge_key(void **state)
{
    assert_body(condition_patch_remove(*state, "a\"b"),
                "{\"status\":{\"conditions\":[{\"$patch\":\"delete\",\"type\":\"a\\\"b\"}]}}");
}

static void condition_patch__condition__one_list_entry(void **state)
{
    const struct tt_condition c = {.type = "Ready",
                                   .status = "False",
                                   .reason = "Quota",
                                   .message = "no \"address\"",
                                   .last_transition_us = 1767366245000000,
                                   .observed_generation = 7};
    assert_body(condition_patch(*state, &c),
                "{\"status\":{\"conditions\":[{\"lastTransitionTime\":\"2026-01-02T15:04:05Z\","
                "\"message\":\"no \\\"address\\\"\",\"observedGeneration\":7,\"reason\":\"Quota\","
                "\"status\":\"False\",\"type\":\"Ready\"}]}}");
}

static void patch_for_object__patches__for_this_object_only(void **state)
{
    assert_body(patch_for_object(*state, "{\"metadata\":{\"finalizers\":[\"a\"]}}", "u-1", ""),
                "{\"metadata\":{\"uid\":\"u-1\",\"finalizers\":[\"a\"]}}");
    assert_body(patch_for_object(*state, "{\"status\":{}}", "u-1", NULL),
                "{\"metadata\":{\"uid\":\"u-1\"},\"status\":{}}");
    assert_body(patch_for_object(*state, "{\"status\":{}}", "u-1", "7"),
                "{\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"7\"},\"status\":{}}");
    assert_body(patch_for_object(*state, "{\"status\":{}}", NULL, "7"), "{\"status\":{}}");
}

UNIT_MAIN(status_rules)
{
    const struct CMUnitTest tests[] = {
        lb_test(status_equal__pairs__vectors),
        lb_test(status_patch__changes__upstreams_bytes),
        lb_test(status_normalise__ip_without_mode__vip),
        lb_test(finalizer_patch_add__lists__upstreams_bytes),
        lb_test(finalizer_patch_remove__lists__only_ours),
        lb_test(annotations_patch__wishes__only_these_keys_and_what_differs),
        lb_test(condition_patch__condition__one_list_entry),
        lb_test(condition_patch_remove__type__directive_by_merge_key),
        lb_test(patches_join__several__united),
        lb_test(patch_for_object__patches__for_this_object_only),
    };
    return cmocka_run_group_tests_name("status_rules", tests, NULL, NULL);
}
