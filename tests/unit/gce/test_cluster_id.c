/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster_id.c: the ConfigMap that names a cluster; §13 of the GCE specification. */
#include "tests/unit/gce/rig.h"

#include "providers/gce/cache/gce_cluster_id.h"
#include "tests/support/unit.h"

#include <string.h>

static void read__provider_uid_before_uid(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    static const struct {
        const char *json, *want;
        int code;
    } rows[] = {
        {"{\"data\":{\"uid\":\"u\"}}", "u", ERR_OK},
        {"{\"data\":{\"uid\":\"u\",\"provider-uid\":\"p\"}}", "p", ERR_OK},
        {"{\"data\":{\"uid\":\"u\",\"provider-uid\":\"\"}}", "u", ERR_OK},
        {"{\"data\":{\"provider-uid\":\"p\"}}", NULL, ERR_INVALID},
        {"{\"metadata\":{\"name\":\"ingress-uid\"},\"data\":{\"uid\":\"u\"}}", "u", ERR_OK},
        {"{\"metadata\":{\"name\":\"others\"},\"data\":{\"uid\":\"u\"}}", NULL, ERR_TRANSIENT},
        {"{}", NULL, ERR_INVALID},
        {"nonsense", NULL, ERR_TRANSIENT}, /* the server's fault */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = NULL;
        int rc = gce_cluster_id_read(a, rows[i].json, strlen(rows[i].json), &got, NULL);
        assert_int_equal(rc, rows[i].code);
        assert_true(str_eq(got, rows[i].want));
    }
    arena_free(a);
}

static void ensure__no_config_map__made_once_with_both_keys(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_set_cluster_id(r, NULL);
    rig_service(r, "web", "{}");
    assert_non_null(strstr(rig_plan(r, "web"), GCE_CLUSTER_ID_UNKNOWN));
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    const char *id = rig_cluster_id(r);
    assert_int_equal(strlen(id), 16);
    assert_int_equal(strspn(id, "0123456789abcdef"), 16);
    assert_non_null(
        rig_resource(r, arena_printf(rig_arena(r), "httpHealthChecks/k8s-%s-node", id)));
    rig_reopen(r);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_string_equal(rig_cluster_id(r), id);
    rig_stop(r);
}

static void ensure__config_map_without_uid__refused(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_set_configmap(r, "{\"data\":{}}");
    rig_service(r, "web", "{}");
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_INVALID);
    assert_non_null(strstr(res->message, "Could not retrieve cluster id"));
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

static void ensure__config_map_gone_later__known_id_is_used(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    rig_set_configmap(r, "{\"data\":{}}");
    rig_forget(r);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

UNIT_MAIN(cluster_id)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__provider_uid_before_uid),
        cmocka_unit_test(ensure__no_config_map__made_once_with_both_keys),
        cmocka_unit_test(ensure__config_map_without_uid__refused),
        cmocka_unit_test(ensure__config_map_gone_later__known_id_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
