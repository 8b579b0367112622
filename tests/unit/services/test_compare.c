/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare.c: a node's rules against what kube-proxy would install: nothing, or
 * each difference once. */
#include "tests/unit/services/services_test.h"

#include "common/services/compare/compare.h"
#include "common/services/render/rules.h"

#define PODS "10.244.0.1 n1 rs; 10.244.0.2 n2 rs; 10.244.0.3 n2 rs"

static const struct ks_world *world_of(struct arena *a, const char *pods)
{
    const struct ks_node_config config = config_of(KS_IPV4);
    const struct ks_service **services = ARENA_ARRAY(a, const struct ks_service *, 1);
    const struct ks_slice **slices = ARENA_ARRAY(a, const struct ks_slice *, 1);
    services[0] = service_of(a, "web",
                             "'spec': {'type': 'NodePort', 'clusterIP': '10.1.0.1',"
                             " 'clusterIPs': ['10.1.0.1'], 'ipFamilies': ['IPv4'],"
                             " 'ports': [{'port': 80, 'nodePort': 30080}]}");
    slices[0] = slice_of(a, "web-1", "web", pods);
    return ks_world_make(a, &config, services, 1, slices, 1);
}

static const char *saved_of(struct arena *a, const char *pods)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct ks_tables t = ks_render_iptables(a, world_of(a, pods));
    const struct ks_tables saved = ks_iptables_saved(a, &t, KS_IPV4);
    ks_iptables_saved_text(&b, &saved);
    return str_buf_to_arena(&b, a);
}

static struct ks_compared compare_of(struct arena *a, const char *text)
{
    struct ks_compared found = {0};
    struct err err = ERR_INIT;
    int code = ks_compare_iptables(a, world_of(a, PODS), text, strlen(text), &found, &err);
    if (code != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return found;
}

static void compare__the_same_rules__no_difference(void **state)
{
    const char *same = saved_of(*state, PODS);
    const char *const texts[] = {
        same,
        str_replace(*state, same, "-A ", "[17:1020] -A "),
        str_replace(*state, same, "\n", "\r\n"),
        str_replace(*state, same, "0x4000", "0x100"),
        str_replace(*state, same, " --random-fully", ""),
        str_replace(*state, same, "0.33333333349", "0.33332999982"), /* as old releases wrote it */
        arena_printf(*state, "*mangle\n:KUBE-X - [0:0]\n-A KUBE-X -j DROP\nCOMMIT\n%s", same),
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const struct ks_compared found = compare_of(*state, texts[i]);
        if (found.n_differences != 0) {
            fail_msg("text %zu: %s", i, found.differences[0].what);
        }
        assert_true(found.n_rules > 10);
    }
}

static void compare__an_endpoint_that_came_or_went__is_one_difference(void **state)
{
    static const struct {
        const char *pods; /* of the node */
        enum ks_difference_kind kind;
        const char *what;
    } rows[] = {
        {"10.244.0.1 n1 rs; 10.244.0.2 n2 rs", KS_DIFF_MISSING,
         "endpoint 10.244.0.3:80 (KUBE-SEP-"},
        {PODS "; 10.244.0.4 n1 rs", KS_DIFF_EXTRA, "endpoint 10.244.0.4:80 (KUBE-SEP-"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_compared found = compare_of(*state, saved_of(*state, rows[i].pods));
        assert_int_equal(found.n_differences, 1);
        assert_int_equal(found.differences[0].kind, rows[i].kind);
        assert_string_equal(found.differences[0].subject, "ns/web");
        assert_true(str_has_prefix(found.differences[0].what, rows[i].what));
    }
}

static void compare__an_order_that_changed__is_said(void **state)
{
    const char *text = saved_of(*state, PODS);
    const char *first = str_replace(*state, text, "web -> 10.244.0.1:80", "web -> A");
    first =
        str_replace(*state, first, "--probability 0.33333333349", "--probability 0.10000000009");
    const struct ks_compared found = compare_of(*state, first);
    assert_int_equal(found.n_differences,
                     2); /* the rule that is wanted, and the one that is there */
    assert_string_equal(found.differences[0].subject, "ns/web");
}

static void compare__a_text_that_was_cut__is_an_error(void **state)
{
    const char *text = saved_of(*state, PODS);
    const struct ks_world *w = world_of(*state, PODS);
    for (size_t n = 0; n + 1 < strlen(text); n += 7) {
        struct ks_compared found = {0};
        struct err err = ERR_INIT;
        int code = ks_compare_iptables(*state, w, text, n, &found, &err);
        if (code != ERR_INVALID || *err.message == '\0') {
            fail_msg("cut at %zu of %zu: %d", n, strlen(text), code);
        }
    }
}

UNIT_MAIN(compare)
{
    const struct CMUnitTest tests[] = {
        services_test(compare__the_same_rules__no_difference),
        services_test(compare__an_endpoint_that_came_or_went__is_one_difference),
        services_test(compare__an_order_that_changed__is_said),
        services_test(compare__a_text_that_was_cut__is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
