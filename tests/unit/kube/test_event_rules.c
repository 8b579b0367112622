/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_rules.c: the event correlator, vectors 176–186 of controller.md §6.12 (184 is about
 * a fieldPath: none is sent), and the bodies that are sent.
 *
 * A row is: `n` earlier events of one kind, `step_s` apart, then one more, and what
 * becomes of it. */
#include "controller/kube/events/event_rules.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/str.h"
#include "controller/kube/events/event_body.h"
#include "tests/support/foreign.h"
#include "tests/support/unit.h"

/* How the i-th earlier event differs from the new one. */
enum difference {
    SAME = 0,
    OTHER_MESSAGE, /* same reason: "similar" */
    OTHER_OBJECT,
    OTHER_REASON,
    OTHER_TYPE,
};

static struct event_input input(struct arena *a, enum difference d, int i)
{
    struct event_input in = {
        .component = "service-controller",
        .kind = "Service",
        .api_version = "v1",
        .ns = "demo",
        .name = "web",
        .uid = "uid-1",
        .type = "Warning",
        .reason = "SyncLoadBalancerFailed",
        .message = "similar message",
    };
    switch (d) {
    case SAME:
        break;
    case OTHER_MESSAGE:
        in.message = arena_printf(a, "similar message %d", i);
        break;
    case OTHER_OBJECT:
        in.name = arena_printf(a, "web-%d", i);
        break;
    case OTHER_REASON:
        in.reason = arena_printf(a, "Reason%d", i);
        break;
    case OTHER_TYPE:
        in.type = "Normal";
        break;
    }
    return in;
}

static void event_rules__vectors__sent_patched_merged_or_dropped(void **state)
{
    const struct {
        int vector;
        int burst; /* 0: upstream's */
        int n;
        enum difference differs;
        int step_s;
        bool drop, patch, aggregate;
        int count;
    } rows[] = {
        {176, 0, 0, SAME, 5, false, false, false, 1},
        {177, 0, 1, SAME, 5, false, true, false, 2},
        {178, 0, 10, SAME, 30, false, true, false, 11},
        {179, 0, 26, SAME, 1, true, true, false, 27},
        {180, 0, 30, OTHER_OBJECT, 5, false, false, false, 1},
        {181, 0, 9, OTHER_MESSAGE, 5, false, false, true, 1},
        {182, 0, 10, OTHER_MESSAGE, 5, false, true, true, 2},
        {183, 0, 9, OTHER_MESSAGE, 600, false, false, false, 1},
        {185, 1, 1, OTHER_REASON, 5, true, false, false, 1},
        {186, 0, 25, OTHER_TYPE, 0, false, false, false, 1},
        /* the 25th of a burst is sent, the 26th is not, five minutes later one more is */
        {0, 0, 24, OTHER_REASON, 0, false, false, false, 1},
        {0, 0, 25, OTHER_REASON, 0, true, false, false, 1},
        {0, 0, 8, OTHER_MESSAGE, 5, false, false, false, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct event_rules_params params = {.burst = rows[i].burst};
        struct event_rules *r = event_rules_new(&params);
        struct event_verdict v;
        int64_t now_ms = 1000;
        for (int k = 0; k < rows[i].n; k++) {
            struct event_input in = input(*state, rows[i].differs, k);
            event_rules_see(r, &in, now_ms, now_ms * 1000, &v);
            if (v.event_name == NULL && !v.drop) {
                event_rules_named(r, arena_printf(*state, "web.%d", k));
            }
            now_ms += rows[i].step_s * 1000;
        }
        struct event_input in = input(*state, SAME, 0);
        event_rules_see(r, &in, now_ms, now_ms * 1000, &v);
        if (v.drop != rows[i].drop || v.aggregate != rows[i].aggregate ||
            v.count != rows[i].count || (!v.drop && v.patch != rows[i].patch)) {
            fail_msg("row %zu (vector %d): drop %d, patch %d, aggregate %d, count %d", i,
                     rows[i].vector, v.drop, v.patch, v.aggregate, v.count);
        }
        assert_string_equal(v.message, v.aggregate
                                           ? "(combined from similar events): similar message"
                                           : "similar message");
        event_rules_free(r);
    }
}

static void event_rules__bucket__refills_one_per_five_minutes(void **state)
{
    struct event_rules *r = event_rules_new(NULL);
    struct event_verdict v;
    int sent = 0;
    for (int minute = 0; minute < 60; minute++) {
        for (int k = 0; k < 2; k++) {
            struct event_input in = input(*state, SAME, 0);
            event_rules_see(r, &in, (int64_t)minute * 60000, 0, &v);
            sent += !v.drop;
        }
    }
    assert_int_equal(sent, 25 + 11); /* the bucket, and one each at 5, 10 … 55 minutes */
    event_rules_free(r);
}

static void event_rules__repetition__keeps_name_and_first_time(void **state)
{
    struct event_rules *r = event_rules_new(NULL);
    struct event_input in = input(*state, SAME, 0);
    struct event_verdict v;
    event_rules_see(r, &in, 0, 111, &v);
    assert_null(v.event_name);
    event_rules_named(r, "web.1");
    event_rules_see(r, &in, 5000, 222, &v);
    assert_string_equal(v.event_name, "web.1");
    assert_true(v.first_us == 111);
    event_rules_free(r);
}

/* An event that was never created cannot be patched. */
static void event_rules__repetition_of_unnamed__created(void **state)
{
    struct event_rules *r = event_rules_new(NULL);
    struct event_input in = input(*state, SAME, 0);
    struct event_verdict v;
    event_rules_see(r, &in, 0, 0, &v);
    event_rules_see(r, &in, 0, 0, &v);
    assert_false(v.patch);
    assert_int_equal(v.count, 2);
    event_rules_free(r);
}

static void event_rules__memory_full__oldest_forgotten(void **state)
{
    const struct event_rules_params params = {.max_keys = 3};
    struct event_rules *r = event_rules_new(&params);
    struct event_verdict v;
    const int order[] = {0, 1, 2, 0, 3, 1, 0};
    const int counts[] = {1, 1, 1, 2, 1, 1, 3};
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        struct event_input in = input(*state, OTHER_OBJECT, order[i]);
        event_rules_see(r, &in, (int64_t)i, 0, &v);
        assert_int_equal(v.count, counts[i]);
    }
    event_rules_free(r);
}

/* --- bodies ----------------------------------------------------------------------------------- */

static const struct event_input nlb = {
    .component = "service-controller",
    .kind = "Service",
    .api_version = "v1",
    .ns = "default",
    .name = "nlb",
    .uid = "fd75c174-a5aa-4d97-b79c-c707c6d1bb5c",
    .type = "Normal",
    .reason = "EnsuringLoadBalancer",
    .message = "Ensuring load balancer",
};
#define AT_US INT64_C(1795279578123456) /* 2026-11-21T16:46:18Z */

/* Member by member what a Go controller sent to a real API server. */
static void event_body__create_and_patch__as_recorded(void **state)
{
    const struct event_verdict v = {.count = 1, .message = nlb.message, .first_us = AT_US};
    assert_string_equal(
        event_body_create(*state, &nlb, "31864", &v, "nlb.18ea1d43ea04fb6b", AT_US),
        quoted(
            *state,
            "{'kind':'Event','apiVersion':'v1','metadata':{'name':'nlb.18ea1d43ea04fb6b','"
            "namespace':"
            "'default'},'involvedObject':{'kind':'Service','namespace':'default','name':'nlb','uid'"
            ":"
            "'fd75c174-a5aa-4d97-b79c-c707c6d1bb5c','apiVersion':'v1','resourceVersion':'31864'},"
            "'reason':'EnsuringLoadBalancer','message':'Ensuring load "
            "balancer','source':{'component':"
            "'service-controller'},'firstTimestamp':'2026-11-21T16:46:18Z','lastTimestamp':"
            "'2026-11-21T16:46:18Z','count':1,'type':'Normal','eventTime':null,'reportingComponent'"
            ":"
            "'service-controller','reportingInstance':''}"));
    const struct event_verdict again = {.count = 2, .message = nlb.message};
    assert_string_equal(event_body_patch(*state, &again, AT_US + 13000000),
                        quoted(*state,
                               "{'count':2,'lastTimestamp':'2026-11-21T16:46:31Z','message':"
                               "'Ensuring load balancer'}"));
}

static void event_body__foreign_text__visible_and_of_one_line(void **state)
{
    const struct event_verdict v = {.count = 2, .message = FOREIGN_TEXT};
    const char *bodies[] = {event_body_create(*state, &nlb, "1", &v, "x", AT_US),
                            event_body_patch(*state, &v, AT_US)};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct json_object *o = NULL;
        struct err err = ERR_INIT;
        assert_int_equal(json_parse_arena(*state, bodies[i], strlen(bodies[i]), NULL, &o, &err),
                         ERR_OK);
        assert_string_equal(json_str(o, "message"), FOREIGN_BLANK);
    }
}

static void event_body_create__aggregate__without_reporter(void **state)
{
    const struct event_verdict v = {.count = 1, .message = "m", .aggregate = true};
    const char *body = event_body_create(*state, &nlb, "1", &v, "x", AT_US);
    assert_non_null(strstr(body, "\"reportingComponent\":\"\""));
}

static void event_name__objects__hex_or_uuid(void **state)
{
    const char *const uuid = "11111111-2222-4333-8444-555555555555";
    assert_string_equal(event_name(*state, "my-svc", INT64_C(0x18a1b2c3d4e5f607), uuid),
                        "my-svc.18a1b2c3d4e5f607");
    assert_string_equal(event_name(*state, "Upper", 1, uuid), uuid);
    assert_string_equal(event_name(*state, "a..b", 1, uuid), uuid);
    assert_string_equal(event_name(*state, "-a", 1, uuid), uuid);
    char *longest = arena_alloc(*state, 254);
    memset(longest, 'a', 253);
    assert_string_equal(event_name(*state, longest, 1, uuid), uuid);
}

static void event_text_cut__characters__never_split(void **state)
{
    assert_int_equal(event_text_cut("abc", 4), 3);
    assert_int_equal(event_text_cut("abcd", 4), 4);
    assert_int_equal(event_text_cut("abcde", 4), 4);
    assert_int_equal(event_text_cut("abc\xC3\xA9", 4), 3);
    assert_int_equal(event_text_cut("a\xF0\x9F\x98\x80z", 4), 1);
    assert_int_equal(event_text_cut("a\xF0\x9F\x98\x80z", 5), 5);
    (void)state;
}

UNIT_MAIN(event_rules)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(event_rules__vectors__sent_patched_merged_or_dropped),
        KUBE_TEST(event_rules__bucket__refills_one_per_five_minutes),
        KUBE_TEST(event_rules__repetition__keeps_name_and_first_time),
        KUBE_TEST(event_rules__repetition_of_unnamed__created),
        KUBE_TEST(event_rules__memory_full__oldest_forgotten),
        KUBE_TEST(event_body__create_and_patch__as_recorded),
        KUBE_TEST(event_body__foreign_text__visible_and_of_one_line),
        KUBE_TEST(event_body_create__aggregate__without_reporter),
        KUBE_TEST(event_name__objects__hex_or_uuid),
        KUBE_TEST(event_text_cut__characters__never_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
