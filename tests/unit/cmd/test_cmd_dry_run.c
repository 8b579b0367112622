/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_dry_run.c: the patch that a dry run sends, and what a plan says of the answer. */
#include "controller/cmd/cmd_dry_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/unit.h"

static struct json_object *tree(struct arena *a, const char *text)
{
    struct json_object *o = NULL;
    assert_int_equal(ERR_OK, json_parse_arena(a, text, strlen(text), NULL, &o, NULL));
    return o;
}

/* A live object that the last kubectl apply made from `last`. */
static struct json_object *applied(struct arena *a, const char *last)
{
    struct json_object *live = tree(a, "{\"metadata\":{\"annotations\":{}}}");
    json_add_str(json_path(live, "metadata.annotations"),
                 "kubectl.kubernetes.io/last-applied-configuration", last);
    return live;
}

static void cmd_dry_run_patch__last_apply__what_is_missing_becomes_null(void **state)
{
    (void)state;
    static const struct {
        const char *manifest, *last, *patch;
    } rows[] = {
        {"{\"kind\":\"Service\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"NodePort\"},"
         "\"status\":{}}",
         NULL, "{\"metadata\":{},\"spec\":{\"type\":\"NodePort\"}}"},
        {"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}},\"spec\":{}}",
         "{\"kind\":\"Service\",\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"0\",\"y\":\"2\"},"
         "\"annotations\":{\"z\":\"3\"}},\"spec\":{\"loadBalancerIP\":\"1.2.3.4\"}}",
         "{\"metadata\":{\"annotations\":null,\"labels\":{\"x\":\"1\",\"y\":null}},\"spec\":{"
         "\"loadBalancerIP\":null}}"},
        {"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":[{\"port\":80}]}}",
         "{\"spec\":{\"ports\":[{\"port\":80},{\"port\":443}]}}",
         "{\"metadata\":{},\"spec\":{\"ports\":[{\"port\":80},{\"$patch\":\"delete\",\"port\":443}]"
         "}}"},
        {"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":[{\"port\":80}]}}", "[1]",
         "{\"metadata\":{},\"spec\":{\"ports\":[{\"port\":80}]}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const struct cmd_manifest m = {
            .ns = "demo", .name = "a", .object = tree(a, rows[i].manifest)};
        struct json_object *live = rows[i].last == NULL ? tree(a, "{}") : applied(a, rows[i].last);
        _cleanup_(json_putp) struct json_object *patch = cmd_dry_run_patch(a, &m, live);
        assert_string_equal(rows[i].patch, json_text(a, patch, JSON_SORTED));
    }
}

static void cmd_dry_run_compare__differences__filled_and_changed(void **state)
{
    (void)state;
    static const struct {
        const char *ours, *servers, *filled, *changed;
    } rows[] = {
        {"{\"metadata\":{\"labels\":{},\"uid\":\"1\"},\"spec\":{\"type\":\"x\"}}",
         "{\"metadata\":{\"uid\":\"2\"},\"spec\":{\"type\":\"x\"}}", NULL, NULL},
        {"{\"spec\":{\"ports\":[{\"port\":1,\"nodePort\":30001}]}}",
         "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"ports\":[{\"port\":1,\"nodePort\":"
         "32769}]}}",
         "metadata.labels {\"a\":\"b\"}, spec.ports[0].nodePort 32769", NULL},
        {"{\"spec\":{\"ports\":[{\"port\":1}],\"type\":\"x\",\"externalIPs\":[\"1.1.1.1\"]}}",
         "{\"spec\":{\"ports\":[{\"port\":2}],\"type\":\"y\"}}", NULL,
         "spec.ports[0].port from 1 to 2, spec.type from \"x\" to \"y\", spec.externalIPs from "
         "[\"1.1.1.1\"] to absent"},
        {"{\"spec\":{}}",
         "{\"spec\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1}}",
         "spec.a 1, spec.b 1, spec.c 1, spec.d 1, spec.e 1, spec.f 1, spec.g 1, spec.h 1, and 1 "
         "more",
         NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const struct cmd_dry_run_notes notes =
            cmd_dry_run_compare(a, tree(a, rows[i].ours), tree(a, rows[i].servers));
        const char *filled = rows[i].filled;
        const char *changed = rows[i].changed;
        static const char head[] = "the API server's dry run";
        assert_string_equal(filled == NULL ? "none"
                                           : arena_printf(a, "%s fills in → %s", head, filled),
                            str_or(notes.filled, "none"));
        assert_string_equal(changed == NULL ? "none"
                                            : arena_printf(a, "%s changes → %s", head, changed),
                            str_or(notes.changed, "none"));
    }
}

UNIT_MAIN(cmd_dry_run)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmd_dry_run_patch__last_apply__what_is_missing_becomes_null),
        cmocka_unit_test(cmd_dry_run_compare__differences__filled_and_changed),
    };
    return cmocka_run_group_tests_name("cmd-dry-run", tests, NULL, NULL);
}
