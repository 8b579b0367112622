/* SPDX-License-Identifier: Apache-2.0 */
/* drift.c: the whole program with outside changes of its load balancers, and the conditions of
 * Services.
 *
 * Counted are the calls: looking changes nothing and lists rather than reads; what Services say
 * costs no request. */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "controller/kube/store/store.h"
#include "controller/process/app_internal.h"
#include "tests/support/unit.h"

#define SERVICES  "/api/v1/namespaces/default/services"
#define FIREWALLS "/compute/v1/projects/p1/global/firewalls/"

static struct rig *start(const char *world, const char *const *flags)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    const struct rig_args args = {
        .world_file = world,
        .sim = {.seed = 7,
                .nodes = world == NULL ? 3 : 0,
                .cloud = world != NULL && str_has_prefix(world, "azure/") ? "azure" : NULL},
        .flags = flags};
    if (rig_new(&args, &r, &err) != ERR_OK || rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(rig_settle(r, RIG_SOON));
    return r;
}

static void settle(struct rig *r, int64_t ahead_ms)
{
    if (!rig_settle(r, ahead_ms)) {
        fail_msg("it does not come to rest:\n%s", rig_log(r));
    }
}

/* Two periods: every Service was looked at. */
static void look(struct rig *r)
{
    for (int i = 0; i < 8; i++) {
        rig_advance(r, 15 * 60 * 1000);
        settle(r, RIG_SOON);
    }
}

static const char *uid_of(struct rig *r, const char *name)
{
    struct json_object *svc = rig_get(r, arena_printf(rig_arena(r), SERVICES "/%s", name));
    assert_non_null(svc);
    return json_str(json_member(svc, "metadata"), "uid");
}

/* "a<uid>" */
static const char *lb_of(struct rig *r, const char *name)
{
    char out[33] = "a";
    size_t n = 1;
    for (const char *p = uid_of(r, name); *p != '\0' && n < 32; p++) {
        if (*p != '-') {
            out[n++] = *p;
        }
    }
    return arena_strdup(rig_arena(r), out);
}

/* Opens a firewall of trimtab to all clients. */
static const char *open_firewall(struct rig *r, const char *name)
{
    struct json_object *world = rig_world(r);
    struct err err = ERR_INIT;
    const char *path =
        arena_printf(rig_arena(r), "projects/p1/global/firewalls/k8s-fw-%s", lb_of(r, name));
    struct json_object *firewall = json_member(json_member(world, "gce"), path);
    assert_non_null(firewall);
    struct json_object *ranges = json_object_new_array();
    json_push_str(ranges, "198.51.100.0/24");
    json_add(firewall, "sourceRanges", ranges);
    if (rig_load(r, world, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    settle(r, RIG_SOON);
    return path;
}

static const char *ranges_of(struct rig *r, const char *path)
{
    struct json_object *o = json_member(json_member(rig_world(r), "gce"), path);
    return json_text(rig_arena(r), json_member(o, "sourceRanges"), JSON_COMPACT);
}

static double found(struct rig *r)
{
    static const struct tt_kv kind[] = {{"kind", "firewall"}};
    return metrics_value(rig_app(r)->metrics, METRIC_DRIFT, kind, 1);
}

/* Events of this reason about a Service; the last one's message. */
static size_t events_of(struct rig *r, const char *name, const char **ret_message)
{
    struct json_object *list =
        json_member(rig_get(r, "/api/v1/namespaces/default/events"), "items");
    size_t n = 0;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *e = json_object_array_get_idx(list, i);
        if (str_eq(json_str(e, "reason"), "LoadBalancerDrift") &&
            str_eq(json_str(json_member(e, "involvedObject"), "name"), name)) {
            *ret_message = json_str(e, "message");
            n += (size_t)json_int(e, "count", 1);
        }
    }
    return n;
}

static const char *const report[] = {"--drift=report", "--drift-period=1h", "--cluster-name=c1",
                                     NULL};
static const char *const repair[] = {"--drift=repair", "--drift-period=1h", "--cluster-name=c1",
                                     NULL};

static void adopted_world__no_drift_and_few_calls(void **state)
{
    (void)state;
    struct rig *r = start("gce/world-legacy.json", report);
    rig_counts_reset(r);
    look(r);
    assert_int_equal(rig_mutations(r), 0);
    assert_int_equal(rig_service_writes(r), 0);
    assert_true(found(r) == 0);
    assert_non_null(strstr(rig_log(r), "Watching"));
    int64_t lists =
        rig_calls(r, "gce", "compute.*.list") + rig_calls(r, "gce", "compute.*.aggregatedList");
    int64_t reads = rig_calls(r, "gce", "compute.*.get");
    /* 18 Services, 2 rounds: a list of each kind per round, not a read of each piece (18 x
     * 5 and more). */
    if (lists == 0 || lists + reads > 60) {
        fail_msg("%lld lists, %lld reads\n%s", (long long)lists, (long long)reads,
                 json_text(rig_arena(r), rig_counts(r), JSON_PRETTY));
    }
    rig_free(r);
}

/* Clouds that the Go controllers left, of all kinds: nothing of them is drift. */
static void adopted_worlds__of_both_clouds__no_drift(void **state)
{
    (void)state;
    static const struct {
        const char *world;
        const char *flags[10];
    } rows[] = {
        {"gce/world-l4.json",
         {"--v=4", "--drift=report", "--cluster-name=c1", "--run-l4-controller",
          "--run-l4-netlb-controller", "--enable-l4-neg"}},
        {"gce/world-l4-netlb-neg.json",
         {"--v=4", "--drift=report", "--cluster-name=c1", "--run-l4-controller",
          "--run-l4-netlb-controller", "--enable-l4-neg", "--enable-l4-netlb-neg",
          "--enable-l4-netlb-neg-default"}},
        {"azure/world-nic.json", {"--v=4", "--drift=report", "--cluster-name=c1"}},
        {"azure/world-node-ip.json", {"--v=4", "--drift=report", "--cluster-name=c1"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = start(rows[i].world, rows[i].flags);
        rig_counts_reset(r);
        look(r);
        if (strstr(rig_log(r), "Another program or person changed") != NULL) {
            fail_msg("%s\n%s", rows[i].world, rig_log(r));
        }
        size_t looks = 0;
        for (const char *p = rig_log(r); (p = strstr(p, "\"Looked at a load balancer\"")) != NULL;
             p++) {
            const char *end = strchr(p, '\n');
            const char *ok = strstr(p, "code=\"ok\"");
            if (ok == NULL || ok > end) {
                fail_msg("%s: %.400s", rows[i].world, p);
            }
            looks++;
        }
        if (looks < kube_store_count(rig_app(r)->services) / 2) {
            fail_msg("%s: %zu looks", rows[i].world, looks);
        }
        assert_int_equal(rig_mutations(r), 0);
        assert_int_equal(rig_service_writes(r), 0);
        rig_free(r);
    }
}

static void report__told_once_and_nothing_changed(void **state)
{
    (void)state;
    const char *message = "";
    struct rig *r = start("gce/world-legacy.json", report);
    const char *path = open_firewall(r, "ext-local");
    rig_counts_reset(r);
    look(r);
    look(r);
    assert_true(found(r) == 1);
    assert_int_equal(rig_mutations(r), 0);
    assert_string_equal(ranges_of(r, path), "[\"198.51.100.0/24\"]");
    assert_int_equal(events_of(r, "ext-local", &message), 1);
    assert_non_null(strstr(message, "firewall k8s-fw-"));
    assert_non_null(strstr(message, "sourceRanges has 198.51.100.0/24"));
    assert_non_null(strstr(message, "Nothing is changed (--drift=report)"));
    assert_int_equal(events_of(r, "ext-cluster", &message), 0);
    rig_free(r);
}

static void repair__put_right_as_it_was(void **state)
{
    (void)state;
    const char *message = "";
    struct rig *r = start("gce/world-legacy.json", repair);
    const char *before =
        ranges_of(r, arena_printf(rig_arena(r), "projects/p1/global/firewalls/k8s-fw-%s",
                                  lb_of(r, "ext-local")));
    const char *path = open_firewall(r, "ext-local");
    rig_counts_reset(r);
    look(r);
    assert_true(found(r) == 1);
    assert_string_equal(ranges_of(r, path), before);
    assert_int_equal(rig_mutations(r), 1);
    assert_int_equal(events_of(r, "ext-local", &message), 1);
    assert_non_null(strstr(message, "It is put right now (--drift=repair)"));
    rig_counts_reset(r);
    look(r);
    assert_int_equal(rig_mutations(r), 0);
    assert_true(found(r) == 1);
    rig_free(r);
}

/* ---- what Services say ----------------------------------------------------------------------- */

static int64_t patches_of_a_life(const char *const *flags, struct rig **ret)
{
    struct rig *r = start(NULL, flags);
    rig_counts_reset(r);
    assert_int_equal(
        rig_kube(r, "POST", SERVICES,
                 "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"web\"},"
                 "\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80}]}}",
                 NULL),
        201);
    settle(r, RIG_SOON);
    int64_t n = rig_calls(r, "kubernetes", "services.status.patch");
    *ret = r;
    return n;
}

static void reports__cost_no_request_and_no_sync(void **state)
{
    (void)state;
    static const char *const off[] = {"--cluster-name=c1", NULL};
    static const char *const on[] = {"--cluster-name=c1", "--service-conditions",
                                     "--service-annotations", NULL};
    struct rig *r = NULL;
    int64_t plain = patches_of_a_life(off, &r);
    rig_free(r);
    int64_t with = patches_of_a_life(on, &r);
    assert_int_equal(with, plain);

    struct json_object *svc = rig_get(r, SERVICES "/web");
    struct json_object *conditions = json_path(svc, "status.conditions");
    assert_int_equal(json_len(conditions), 1);
    struct json_object *c = json_object_array_get_idx(conditions, 0);
    assert_string_equal(json_str(c, "type"), "trimtab.io/LoadBalancerReady");
    assert_string_equal(json_str(c, "status"), "True");
    const char *plan = json_str(json_path(svc, "metadata.annotations"), "trimtab.io/last-plan");
    assert_non_null(plan);
    assert_non_null(strstr(plan, " to create, 0 to change, "));
    assert_non_null(strstr(plan, "+ forwarding rule a"));

    /* Its own writes cause no sync, and a re-sync of a healthy Service writes nothing. */
    rig_counts_reset(r);
    settle(r, RIG_LATER);
    assert_int_equal(rig_calls(r, "gce", "compute.*"), 0);
    struct err err = ERR_INIT;
    assert_true(rig_stop(r));
    rig_counts_reset(r);
    if (rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    settle(r, RIG_SOON);
    assert_int_equal(rig_service_writes(r), 0);
    assert_int_equal(rig_mutations(r), 0);

    /* With the load balancer they go. */
    assert_int_equal(
        rig_kube(r, "PATCH", SERVICES "/web", "{\"spec\":{\"type\":\"ClusterIP\"}}", NULL), 200);
    settle(r, RIG_SOON);
    svc = rig_get(r, SERVICES "/web");
    assert_int_equal(json_len(json_path(svc, "status.conditions")), 0);
    assert_null(json_str(json_path(svc, "metadata.annotations"), "trimtab.io/last-plan"));
    rig_free(r);
}

static void reports__failure__says_why_and_when(void **state)
{
    (void)state;
    static const char *const on[] = {"--cluster-name=c1", "--service-conditions",
                                     "--service-annotations", NULL};
    struct rig *r = start(NULL, on);
    struct err err = ERR_INIT;
    assert_int_equal(rig_fault(r,
                               "{\"match\":{\"op\":\"compute.forwardingRules.insert\"},\"count\":0,"
                               "\"do\":\"refuse\",\"status\":403}",
                               NULL, &err),
                     ERR_OK);
    assert_int_equal(
        rig_kube(r, "POST", SERVICES,
                 "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"web\"},"
                 "\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80}]}}",
                 NULL),
        201);
    settle(r, RIG_SOON);
    struct json_object *svc = rig_get(r, SERVICES "/web");
    struct json_object *c = json_object_array_get_idx(json_path(svc, "status.conditions"), 0);
    assert_non_null(c);
    assert_string_equal(json_str(c, "status"), "False");
    assert_string_equal(json_str(c, "reason"), "Forbidden");
    const char *error = json_str(json_path(svc, "metadata.annotations"), "trimtab.io/last-error");
    assert_non_null(error);
    assert_true(str_has_prefix(error, "since "));
    rig_fault_remove(r, 0);
    settle(r, 60000);
    svc = rig_get(r, SERVICES "/web");
    c = json_object_array_get_idx(json_path(svc, "status.conditions"), 0);
    assert_string_equal(json_str(c, "status"), "True");
    assert_null(json_str(json_path(svc, "metadata.annotations"), "trimtab.io/last-error"));
    rig_free(r);
}

UNIT_MAIN(drift)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adopted_world__no_drift_and_few_calls),
        cmocka_unit_test(adopted_worlds__of_both_clouds__no_drift),
        cmocka_unit_test(report__told_once_and_nothing_changed),
        cmocka_unit_test(repair__put_right_as_it_was),
        cmocka_unit_test(reports__cost_no_request_and_no_sync),
        cmocka_unit_test(reports__failure__says_why_and_when),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
