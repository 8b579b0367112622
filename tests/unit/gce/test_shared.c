/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared.c: two Services, "theirs" and "ours".  "ours" points at the address of "theirs", is
 * edited and goes, with a new process in between: the cloud is then as it was before "ours" came,
 * and what "theirs" has never changed. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

static const struct tt_kv l4[] = {{"enable-l4-neg", "true"},
                                  {"gce-nodes-need-pod-cidr", "false"},
                                  {"run-l4-controller", "true"},
                                  {"run-l4-netlb-controller", "true"}};

static const char *const kinds[] = {
    "{%s}",
    "{\"metadata\":{\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"}}%s}",
    "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":\"Internal\"}}%s}",
};

/* The resources that bear the Service's name or its UID, whole, one per line. */
static const char *documents_of(struct rig *r, const char *lb)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const char *text = rig_fingerprint(r);
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        size_t n = end != NULL ? (size_t)(end - line) : strlen(line);
        const char *copy = arena_strndup(rig_arena(r), line, n);
        if (strstr(copy, lb) != NULL || strstr(copy, "theirs") != NULL) {
            str_appendf(&b, "%s\n", copy);
        }
        line = end != NULL ? end + 1 : NULL;
    }
    return arena_strdup(rig_arena(r), str_buf_text(&b));
}

static void same(const char *what, size_t kind, const char *got, const char *want)
{
    if (!str_eq(got, want)) {
        fail_msg("kind %zu, %s:\n%s\ninstead of\n%s", kind, what, got, want);
    }
}

/* The edit may be refused; the test checks what "theirs" keeps. */
static void live(struct rig *r, size_t kind, const char *spec)
{
    rig_service(r, "ours", arena_printf(rig_arena(r), kinds[kind], spec));
    rig_pods(r, "ours", "node-0 node-1");
    (void)rig_ensure(r, "ours");
}

static void pointed_at_the_address_of_theirs__theirs_stays(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++) {
        const struct rig_options opt = {.flags = l4, .n_flags = ARRAY_LEN(l4)};
        struct rig *r = rig_start(&opt);
        rig_service(r, "theirs", arena_printf(rig_arena(r), kinds[kind], ""));
        rig_pods(r, "theirs", "node-0 node-1");
        assert_int_equal(rig_ensure(r, "theirs")->code, TT_OK);
        const char *ip = arena_strdup(rig_arena(r), rig_ensure(r, "theirs")->ip);
        assert_true(ip[0] != '\0');
        const char *all = arena_strdup(rig_arena(r), rig_fingerprint(r));
        const char *lb = arena_strdup(rig_arena(r), rig_lb_name(r, "theirs"));
        const char *before = documents_of(r, lb);
        assert_non_null(strstr(before, "forwardingRules/"));
        const char *pointed =
            arena_printf(rig_arena(r), ",\"spec\":{\"loadBalancerIP\":\"%s\"}", ip);
        const char *const steps[] = {kind == 0 ? pointed + 1 : pointed, "",
                                     kind == 0 ? pointed + 1 : pointed};
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
            live(r, kind, steps[i]);
            same(steps[i], kind, documents_of(r, lb), before);
            rig_reopen(r);
        }
        for (int i = 0; i < 3 && rig_delete(r, "ours")->code != TT_OK; i++) {
            rig_reopen(r);
        }
        same("ours is gone", kind, rig_fingerprint(r), all);
        rig_stop(r);
    }
}

UNIT_MAIN(shared)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointed_at_the_address_of_theirs__theirs_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
