/* SPDX-License-Identifier: Apache-2.0 */
/* test_rbac_rules.c: roles out of descriptors.  Those of the real providers are tests/deploy's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "controller/rbac/rbac_rules.h"
#include "tests/support/unit.h"

static struct rbac_input input(const struct tt_provider *d)
{
    return (struct rbac_input){
        .desc = d, .account_ns = "kube-system", .account = "trimtab", .lease_ns = "kube-system"};
}

static const char *printed(struct arena *a, const struct rbac_input *in)
{
    struct str_buf b = STR_BUF_INIT;
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, rbac_print(&b, a, in, &err));
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static void want_line(const char *text, const char *line)
{
    if (strstr(text, line) == NULL) {
        fail_msg("no line\n%s\nin\n%s", line, text);
    }
}

static void rbac__a_provider_without_tables__the_controllers_own_rules_only(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_provider d = {.name = "x"};
    const struct rbac_input in = input(&d);
    struct rbac_rule *rules = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;

    assert_int_equal(ERR_OK, rbac_rules(a, &in, RBAC_ALL, &rules, &n, &err));
    assert_int_equal(3, n);
    const char *text = printed(a, &in);
    want_line(text, "\n- {apiGroups: [\"\"], resources: [events], verbs: [create, patch]}\n");
    want_line(text,
              "\n- {apiGroups: [\"\"], resources: [nodes, services], verbs: [list, watch]}\n");
    want_line(text, "\n- {apiGroups: [\"\"], resources: [services/status], verbs: [patch]}\n");
    assert_null(strstr(text, "endpointslices"));
    assert_null(strstr(text, "leases"));
    assert_null(strstr(text, "kind: Role\n"));
}

/* With election the lease carries the count; what may be done to that is granted anyway. */
static void rbac__a_plugin__counts_deaths_in_a_config_map_without_election(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_provider d = {.name = "x"};
    struct rbac_input in = input(&d);

    in.quarantines = true;
    const char *text = printed(a, &in);
    want_line(text, "resources: [configmaps], resourceNames: [trimtab-quarantine], verbs: [get, "
                    "update]}\n");
    want_line(text, "resources: [configmaps], verbs: [create]}\n");
    in.lease_name = "trimtab";
    assert_null(strstr(printed(a, &in), "configmaps"));
}

static void rbac__endpoints_and_leases__as_the_descriptor_and_the_flags_say(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_lease leases[] = {{"kube-system", "its-own"}};
    const struct tt_provider d = {
        .capabilities = TT_CAP_WANTS_ENDPOINTS, .leases = leases, .n_leases = 1};
    struct rbac_input in = input(&d);

    in.lease_name = "trimtab";
    in.secret_ns = "conf";
    in.secret_name = "cloud";
    const char *text = printed(a, &in);
    want_line(text, "resources: [endpointslices], verbs: [list, watch]}");
    want_line(text, "resources: [leases], verbs: [create]}");
    want_line(text, "resources: [leases], resourceNames: [its-own], verbs: [get, watch, update]}");
    want_line(text, "resources: [leases], resourceNames: [trimtab], verbs: [get, watch, update]}");
    want_line(text, "resources: [secrets], resourceNames: [cloud], verbs: [get]}");
    want_line(text, "kind: Role\nmetadata: {name: trimtab, namespace: conf");
    want_line(text, "kind: RoleBinding\nmetadata: {name: trimtab, namespace: kube-system");
}

static void rbac__rows_about_one_thing__joined_and_nothing_twice(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_kube_kind kinds[] = {
        {"v1", "configmaps", "ns", "one", "get,watch"}, /* get: the second row says it, too */
        {"v1", "configmaps", "ns", NULL, "get"},
        {"v1", "configmaps", NULL, NULL, "create"},
        {"v1", "configmaps", "ns", "one", "create"}, /* in the whole cluster already */
        {"example.com/v1", "things", NULL, NULL, "list"},
        {"example.com/v1", "others", NULL, NULL, "list"},
        {"v1", "nodes", NULL, NULL, "watch,get"}, /* beside the controller's own list, watch */
    };
    const struct tt_provider d = {.kube_kinds = kinds, .n_kube_kinds = ARRAY_LEN(kinds)};
    const struct rbac_input in = input(&d);
    const char *text = printed(a, &in);

    want_line(text, "resources: [configmaps], resourceNames: [one], verbs: [watch]}");
    want_line(text, "\n- {apiGroups: [\"\"], resources: [configmaps], verbs: [get]}");
    want_line(text, "\n- {apiGroups: [\"\"], resources: [configmaps], verbs: [create]}");
    want_line(text, "{apiGroups: [example.com], resources: [others, things], verbs: [list]}");
    want_line(text, "resources: [nodes], verbs: [get, list, watch]}");
    want_line(text, "resources: [services], verbs: [list, watch]}");
}

static uint32_t needs_kind(const struct tt_kv *options, uint32_t n, const struct tt_kube_kind *kind)
{
    bool quiet = n == 1 && strcmp(options[0].value, "quiet") == 0;
    return !quiet || strcmp(kind->resource, "leases") == 0;
}

static void rbac__flags_of_the_provider__make_kinds_needless(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_kube_kind kinds[] = {
        {"v1", "namespaces", NULL, NULL, "list"},
        {"coordination.k8s.io/v1", "leases", "kube-system", NULL, "list,patch"},
    };
    const struct tt_provider d = {.size = sizeof d,
                                  .capabilities = TT_CAP_WANTS_ENDPOINTS,
                                  .kube_kinds = kinds,
                                  .n_kube_kinds = ARRAY_LEN(kinds),
                                  .needs_kind = needs_kind};
    const struct tt_kv quiet = {"way", "quiet"};
    struct rbac_input in = input(&d);

    const char *text = printed(a, &in);
    want_line(text, "resources: [namespaces], verbs: [list]}");
    want_line(text, "resources: [services/status], verbs: [patch]}");
    want_line(text, "resources: [endpointslices], verbs: [list, watch]}");
    in.options = &quiet;
    in.n_options = 1;
    text = printed(a, &in);
    assert_null(strstr(text, "namespaces]"));
    assert_null(strstr(text, "services/status"));
    assert_null(strstr(text, "endpointslices"));
    want_line(text, "resources: [leases], verbs: [list, patch]}");
    want_line(text, "resources: [nodes, services], verbs: [list, watch]}");
}

static void rbac__a_verb_that_is_none__refused_with_its_kind(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_kube_kind kind = {"v1", "pods", NULL, NULL, "get,eat"};
    const struct tt_provider d = {.kube_kinds = &kind, .n_kube_kinds = 1};
    const struct rbac_input in = input(&d);
    struct rbac_rule *rules = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;

    assert_int_equal(ERR_INVALID, rbac_rules(a, &in, RBAC_ALL, &rules, &n, &err));
    assert_string_equal("v1 pods: unknown verb \"eat\"", err.message);
}

static void rbac__names_from_the_command_line__checked_and_quoted(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_provider d = {.name = "x"};
    static const char *const bad[] = {"", "a b", "A", "-a", "a.", "a}\nb"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct rbac_input in = input(&d);
        struct err err = ERR_INIT;
        struct str_buf b = STR_BUF_INIT;
        in.lease_name = bad[i];
        assert_int_equal(ERR_INVALID, rbac_print(&b, a, &in, &err));
        assert_non_null(strstr(err.message, "the lease \""));
        str_buf_done(&b);
    }
    struct rbac_input in = input(&d);
    in.lease_name = "on"; /* YAML would read true */
    want_line(printed(a, &in), "resourceNames: [\"on\"]");
    in.lease_name = "1e3";
    want_line(printed(a, &in), "resourceNames: [\"1e3\"]");
}

/* Each request is one account's, and none may do what the other does. */
static void rbac__an_account_for_services__two_sets_of_roles(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_kube_kind kinds[] = {{"v1", "configmaps", "kube-system", "ids", "get,update"}};
    const struct tt_provider d = {.name = "x",
                                  .capabilities = TT_CAP_WANTS_ENDPOINTS,
                                  .kube_kinds = kinds,
                                  .n_kube_kinds = ARRAY_LEN(kinds)};
    struct rbac_input in = input(&d);
    in.lease_name = "l";
    in.splits = true;
    const char *text = printed(a, &in);
    const char *services = strstr(text, "metadata: {name: trimtab-service-controller,");
    assert_non_null(services);
    want_line(services, "subjects: [{kind: ServiceAccount, name: service-controller, namespace: "
                        "kube-system}]\n");
    want_line(services, "resources: [services/status], verbs: [patch]}\n");
    want_line(services, "resources: [events], verbs: [create, patch]}\n");
    want_line(services, "resources: [configmaps], resourceNames: [ids], verbs: [get, update]}\n");
    assert_null(strstr(services, "watch"));
    assert_null(strstr(services, "leases"));
    size_t n = (size_t)(services - text);
    const char *process = arena_printf(a, "%.*s", (int)n, text);
    want_line(process, "resources: [nodes, services], verbs: [list, watch]}\n");
    want_line(process, "resources: [events], verbs: [create, patch]}\n");
    want_line(process, "resources: [serviceaccounts], verbs: [create]}\n");
    want_line(process, "resources: [serviceaccounts/token], resourceNames: [service-controller], "
                       "verbs: [create]}\n");
    want_line(process, "resources: [leases], resourceNames: [l], verbs: [get, watch, update]}\n");
    assert_null(strstr(process, "services/status"));
    assert_null(strstr(process, "configmaps"));
}

UNIT_MAIN(rbac_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rbac__a_provider_without_tables__the_controllers_own_rules_only),
        cmocka_unit_test(rbac__a_plugin__counts_deaths_in_a_config_map_without_election),
        cmocka_unit_test(rbac__endpoints_and_leases__as_the_descriptor_and_the_flags_say),
        cmocka_unit_test(rbac__rows_about_one_thing__joined_and_nothing_twice),
        cmocka_unit_test(rbac__flags_of_the_provider__make_kinds_needless),
        cmocka_unit_test(rbac__a_verb_that_is_none__refused_with_its_kind),
        cmocka_unit_test(rbac__names_from_the_command_line__checked_and_quoted),
        cmocka_unit_test(rbac__an_account_for_services__two_sets_of_roles),
    };
    return cmocka_run_group_tests_name("rbac-rules", tests, NULL, NULL);
}
