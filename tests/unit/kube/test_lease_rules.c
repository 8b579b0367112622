/* SPDX-License-Identifier: Apache-2.0 */
/* test_lease_rules.c: attempts on a lease, one call after the other; vectors 144–151 and 154–158 of
 * controller.md §6.9.
 *
 * 152 and 153, which count requests, are in test_lease.c. */
#include "controller/kube/lease/lease_body.h"
#include "controller/kube/lease/lease_rules.h"
#include "tests/unit/kube/kube_test.h"

#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

#define NOW_MS  INT64_C(1000000)
#define WALL_US (INT64_C(1800000000) * 1000000)

static const struct lease_terms baz = {
    .ns = "kube-system",
    .name = "l4-lb-controller-gce-lock",
    .identity = "baz",
    .duration_ms = 10000,
    .renew_deadline_ms = 5000,
    .retry_ms = 2000,
};

static struct lease_record record(const char *holder, int32_t duration_s, int32_t transitions)
{
    struct lease_record r = {.duration_s = duration_s,
                             .transitions = transitions,
                             .acquired_us = WALL_US - 60000000,
                             .renewed_us = WALL_US - 5000000};
    (void)snprintf(r.holder, sizeof r.holder, "%s", holder);
    return r;
}

/* The server's reaction to the calls of one attempt. */
struct server {
    const struct lease_record *stored; /* NULL: 404 */
    bool get_fails, create_fails;
    bool update_fails[2];
};

/* Walks through an attempt; the calls go to `calls`, as "get,update". */
static struct lease_try walk(struct lease_view *view, const struct server *s, int64_t now_ms,
                             char calls[64])
{
    static const char *const names[] = {"get", "create", "update"};
    struct lease_try t;
    int updates = 0;
    lease_try_begin(&t, &baz, view, now_ms, WALL_US);
    calls[0] = '\0';
    while (t.next != LEASE_END) {
        enum lease_step step = t.next;
        size_t n = strlen(calls);
        (void)snprintf(calls + n, 64 - n, "%s%s", n > 0 ? "," : "", names[step]);
        bool fails = step == LEASE_GET      ? s->get_fails
                     : step == LEASE_CREATE ? s->create_fails
                                            : s->update_fails[updates++];
        if (fails) {
            lease_try_failed(&t);
        } else if (step == LEASE_GET) {
            lease_try_read(&t, s->stored, now_ms);
        } else {
            lease_try_written(&t, now_ms);
        }
    }
    return t;
}

/* --- vectors ---------------------------------------------------------------------------------- */

static void lease_try__vectors__as_upstream(void **state)
{
    (void)state;
    const struct lease_record empty = {0};
    const struct lease_record bing = record("bing", 10, 0);
    const struct lease_record bing_0s = record("bing", 0, 0);
    const struct lease_record bing_3s = record("bing", 3, 0);
    const struct lease_record nobody = record("", 10, 4);
    const struct lease_record self = record("baz", 10, 2);
    const struct {
        const char *name;
        const struct lease_record *observed; /* NULL: a fresh process */
        int64_t observed_ms;                 /* against now */
        const struct lease_record *stored;   /* NULL: 404 */
        const char *calls;
        bool leads;
        int32_t transitions; /* written */
        const char *holder;  /* observed in the end */
    } rows[] = {
        {"144 no lease", NULL, 0, NULL, "get,create", true, 0, "baz"},
        {"145 no fields", NULL, 0, &empty, "get,update", true, 1, "baz"},
        {"146 unchanged for 2.999 s", &bing_3s, -2999, &bing_3s, "get", false, 0, "bing"},
        {"146 unchanged for 3 s", &bing_3s, -3000, &bing_3s, "get,update", true, 1, "baz"},
        {"146 seen for the first time", NULL, 0, &bing_3s, "get", false, 0, "bing"},
        {"147 nobody", NULL, 0, &nobody, "get,update", true, 5, "baz"},
        {"148 observed long ago", &bing_0s, -3600000, &bing_0s, "get,update", true, 1, "baz"},
        {"149 nobody, observed in the future", &nobody, 1000, &nobody, "get,update", true, 5,
         "baz"},
        {"150 just changed", &bing_3s, -60000, &bing, "get", false, 0, "bing"},
        {"151 self, valid", &self, -1000, &self, "update", true, 2, "baz"},
        {"self, run out: read first", &self, -10000, &self, "get,update", true, 2, "baz"},
        {"self once, another now", &self, -10000, &bing, "get", false, 0, "bing"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct lease_view view = {0};
        char calls[64];
        if (rows[i].observed != NULL) {
            view = (struct lease_view){.has_observed = true,
                                       .observed = *rows[i].observed,
                                       .observed_ms = NOW_MS + rows[i].observed_ms,
                                       .has_read = true,
                                       .read = *rows[i].observed};
        }
        const struct server s = {.stored = rows[i].stored};
        struct lease_try t = walk(&view, &s, NOW_MS, calls);
        if (!str_eq(calls, rows[i].calls) || t.leads != rows[i].leads ||
            (t.leads && t.wanted.transitions != rows[i].transitions) ||
            !str_eq(view.observed.holder, rows[i].holder)) {
            fail_msg("%s: want %s %d %d %s, got %s %d %d %s", rows[i].name, rows[i].calls,
                     rows[i].leads, rows[i].transitions, rows[i].holder, calls, t.leads,
                     t.wanted.transitions, view.observed.holder);
        }
    }
}

static void lease_try__renewed__acquisition_and_transitions_stay(void **state)
{
    (void)state;
    const struct lease_record self = record("baz", 10, 2);
    struct lease_view view = {.has_observed = true, .observed = self, .observed_ms = NOW_MS};
    char calls[64];
    const struct server s = {.stored = &self};
    struct lease_try t = walk(&view, &s, NOW_MS + 2000, calls);
    assert_true(t.leads);
    assert_int_equal(t.wanted.acquired_us, self.acquired_us); /* 151 */
    assert_int_equal(t.wanted.renewed_us, WALL_US);
    assert_int_equal(t.wanted.duration_s, 10);
    assert_int_equal(view.observed_ms, NOW_MS + 2000);
}

/* A fast update that fails is followed by a read; a record written then keeps what the fast one
 * would have said. */
static void lease_try__fast_update_fails__reads_and_tries_again(void **state)
{
    (void)state;
    const struct lease_record self = record("baz", 10, 2);
    const struct lease_record nobody = record("", 10, 7);
    static const struct {
        const char *name, *calls;
        bool gone, second_fails, taken, leads;
        int32_t transitions;
    } rows[] = {
        {"ours still", "update,get,update", false, false, false, true, 2},
        {"fails twice", "update,get,update", false, true, false, false, 2},
        {"gone", "update,get,create", true, false, false, true, 2},
        {"let go by somebody", "update,get,update", false, false, true, true, 8},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct lease_view view = {.has_observed = true, .observed = self, .observed_ms = NOW_MS};
        char calls[64];
        const struct server s = {
            .stored = rows[i].gone    ? NULL
                      : rows[i].taken ? &nobody
                                      : &self,
            .update_fails = {true, rows[i].second_fails},
        };
        struct lease_try t = walk(&view, &s, NOW_MS + 1000, calls);
        if (!str_eq(calls, rows[i].calls) || t.leads != rows[i].leads ||
            t.wanted.transitions != rows[i].transitions) {
            fail_msg("%s: want %s %d %d, got %s %d %d", rows[i].name, rows[i].calls, rows[i].leads,
                     rows[i].transitions, calls, t.leads, t.wanted.transitions);
        }
        assert_int_equal(t.wanted.acquired_us, self.acquired_us);
        assert_int_equal(t.slow_path, !rows[i].gone && !rows[i].taken);
    }
}

/* Clocks of others say nothing: a lease whose times are of last year, or of next year, runs
 * out as any other. */
static void lease_try__skewed_clocks__only_observation_counts(void **state)
{
    (void)state;
    static const int64_t skews_us[] = {INT64_C(-31536000000000), INT64_C(31536000000000)};
    for (size_t i = 0; i < ARRAY_LEN(skews_us); i++) {
        struct lease_record bing = record("bing", 3, 0);
        bing.renewed_us += skews_us[i];
        const struct server s = {.stored = &bing};
        struct lease_view view = {0};
        char calls[64];
        assert_false(walk(&view, &s, NOW_MS, calls).leads);
        assert_false(walk(&view, &s, NOW_MS + 2000, calls).leads);
        bing.renewed_us += 2000000; /* renewed: it counts again */
        assert_false(walk(&view, &s, NOW_MS + 4000, calls).leads);
        assert_false(walk(&view, &s, NOW_MS + 6999, calls).leads);
        assert_true(walk(&view, &s, NOW_MS + 7000, calls).leads);
    }
}

static void lease_try__renewed_within_one_second__counts_anew(void **state)
{
    (void)state;
    struct lease_record bing = record("bing", 3, 0);
    const struct server s = {.stored = &bing};
    struct lease_view view = {0};
    char calls[64];
    assert_int_equal(bing.renewed_us % 1000000, 0);
    assert_false(walk(&view, &s, NOW_MS, calls).leads);
    bing.renewed_us += 900000;
    assert_false(walk(&view, &s, NOW_MS + 900, calls).leads);
    assert_false(walk(&view, &s, NOW_MS + 3899, calls).leads);
    assert_true(walk(&view, &s, NOW_MS + 3900, calls).leads);
}

static void lease_release_record__held__nobody_for_a_second(void **state)
{
    (void)state;
    const struct lease_record self = record("baz", 10, 2);
    struct lease_record r;
    lease_release_record(&self, WALL_US, &r); /* 154 */
    assert_string_equal(r.holder, "");
    assert_int_equal(r.duration_s, 1);
    assert_int_equal(r.transitions, 2);
    assert_int_equal(r.renewed_us, WALL_US);
    assert_int_equal(r.acquired_us, WALL_US);
}

static void lease_terms_check__wrong__in_upstreams_words(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t duration_ms, renew_deadline_ms, retry_ms;
        const char *identity, *says;
    } rows[] = {
        {"defaults", 15000, 10000, 2000, "a", NULL},
        {"155", 15000, 15000, 2000, "a", "leaseDuration must be greater than renewDeadline"},
        {"156", 15000, 2000, 2000, "a",
         "renewDeadline must be greater than retryPeriod*JitterFactor"},
        {"just not", 15000, 2400, 2000, "a",
         "renewDeadline must be greater than retryPeriod*JitterFactor"},
        {"just", 15000, 2401, 2000, "a", NULL},
        {"no pause", 15000, 10000, 0, "a", "retryPeriod must be greater than zero"},
        {"nobody", 15000, 10000, 2000, "", "Lock identity is empty"},
        {"whole seconds count", 10900, 10500, 2000, "a",
         "leaseDuration must be greater than renewDeadline"},
        {"too short to be said", 900, 500, 100, "a", "leaseDuration must be a second or more"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        const struct lease_terms t = {.ns = "n",
                                      .name = "l",
                                      .identity = rows[i].identity,
                                      .duration_ms = rows[i].duration_ms,
                                      .renew_deadline_ms = rows[i].renew_deadline_ms,
                                      .retry_ms = rows[i].retry_ms};
        int rc = lease_terms_check(&t, &err);
        if (rc != (rows[i].says == NULL ? ERR_OK : ERR_INVALID) ||
            !str_eq(err.message, str_nonnull(rows[i].says))) {
            fail_msg("%s: want \"%s\", got %d \"%s\"", rows[i].name, str_nonnull(rows[i].says), rc,
                     err.message);
        }
    }
}

static void lease_times__health_and_pauses(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool held;
        int64_t ago_ms;
        bool healthy;
    } rows[] = {
        {"157 34 s", true, 34000, true},
        {"157 36 s", true, 36000, false},
        {"not the leader", false, 36000, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (lease_is_healthy(rows[i].held, NOW_MS - rows[i].ago_ms, 15000, NOW_MS) !=
            rows[i].healthy) {
            fail_msg("%s: want %d", rows[i].name, rows[i].healthy);
        }
    }
    const struct lease_terms two = {.retry_ms = 2000}; /* 158 */
    assert_int_equal(lease_acquire_wait_ms(&two, 0), 2000);
    assert_int_equal(lease_acquire_wait_ms(&two, 0.5), 3200);
    assert_in_range(lease_acquire_wait_ms(&two, 0.999999), 4300, 4399);
}

/* --- bodies ----------------------------------------------------------------------------------- */

static void lease_body__update__only_the_spec_changes(void **state)
{
    struct json_object *lease =
        json_member(json_member(recorded(*state, "109-"), "response"), "body");
    struct lease_record r;
    lease_body_read(lease, &r);
    assert_string_equal(r.holder, "a_1");
    assert_int_equal(r.duration_s, 15);
    assert_int_equal(r.transitions, 0);
    assert_int_equal(r.renewed_us, INT64_C(1795255200000000));
    r.renewed_us += 1500001;
    struct json_object *sent = NULL;
    const char *text = lease_body_update(*state, lease, &r);
    assert_int_equal(json_parse_arena(*state, text, strlen(text), NULL, &sent, NULL), ERR_OK);
    assert_string_equal(json_text(*state, json_member(sent, "metadata"), JSON_SORTED),
                        json_text(*state, json_member(lease, "metadata"), JSON_SORTED));
    assert_string_equal(json_text(*state, json_member(sent, "spec"), JSON_COMPACT),
                        "{\"holderIdentity\":\"a_1\",\"leaseDurationSeconds\":15,"
                        "\"acquireTime\":\"2026-11-21T10:00:00.000000Z\","
                        "\"renewTime\":\"2026-11-21T10:00:01.500001Z\",\"leaseTransitions\":0}");
}

static void lease_body__create__as_the_server_wants_it(void **state)
{
    struct lease_record r = record("baz", 10, 0);
    r.acquired_us = r.renewed_us = INT64_C(1767366245123456);
    assert_string_equal(
        lease_body_create(*state, &baz, &r),
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":"
        "{\"name\":\"l4-lb-controller-gce-lock\",\"namespace\":\"kube-system\"},"
        "\"spec\":{\"holderIdentity\":\"baz\",\"leaseDurationSeconds\":10,"
        "\"acquireTime\":\"2026-01-02T15:04:05.123456Z\","
        "\"renewTime\":\"2026-01-02T15:04:05.123456Z\",\"leaseTransitions\":0}}");
}

static void lease_body_read__odd_leases__nothing_is_made_up(void **state)
{
    static const struct {
        const char *name, *lease;
        const char *holder;
        int32_t duration_s, transitions;
        int64_t renewed_us;
    } rows[] = {
        {"empty", "{}", "", 0, 0, 0},
        {"no spec", "{'spec':null}", "", 0, 0, 0},
        {"nulls", "{'spec':{'holderIdentity':null,'renewTime':null}}", "", 0, 0, 0},
        {"wrong types", "{'spec':{'holderIdentity':7,'leaseDurationSeconds':'x','renewTime':1}}",
         "", 0, 0, 0},
        {"negative", "{'spec':{'leaseDurationSeconds':-1,'leaseTransitions':-5}}", "", 0, 0, 0},
        {"too large", "{'spec':{'leaseTransitions':99999999999}}", "", 0, INT32_MAX, 0},
        {"nine digits", "{'spec':{'renewTime':'2026-11-21T10:00:00.123456789Z'}}", "", 0, 0,
         INT64_C(1795255200123456)},
        {"an offset", "{'spec':{'renewTime':'2026-11-21T12:00:00+02:00'}}", "", 0, 0,
         INT64_C(1795255200000000)},
        {"no time", "{'spec':{'holderIdentity':'x','renewTime':'yesterday'}}", "x", 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *lease = NULL;
        struct lease_record r;
        const char *text = quoted(*state, rows[i].lease);
        assert_int_equal(json_parse_arena(*state, text, strlen(text), NULL, &lease, NULL), ERR_OK);
        lease_body_read(lease, &r);
        if (!str_eq(r.holder, rows[i].holder) || r.duration_s != rows[i].duration_s ||
            r.transitions != rows[i].transitions || r.renewed_us != rows[i].renewed_us) {
            fail_msg("%s: got %s %d %d %lld", rows[i].name, r.holder, r.duration_s, r.transitions,
                     (long long)r.renewed_us);
        }
    }
}

UNIT_MAIN(lease_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_try__vectors__as_upstream),
        cmocka_unit_test(lease_try__renewed__acquisition_and_transitions_stay),
        cmocka_unit_test(lease_try__fast_update_fails__reads_and_tries_again),
        cmocka_unit_test(lease_try__skewed_clocks__only_observation_counts),
        cmocka_unit_test(lease_try__renewed_within_one_second__counts_anew),
        cmocka_unit_test(lease_release_record__held__nobody_for_a_second),
        cmocka_unit_test(lease_terms_check__wrong__in_upstreams_words),
        cmocka_unit_test(lease_times__health_and_pauses),
        KUBE_TEST(lease_body__update__only_the_spec_changes),
        KUBE_TEST(lease_body__create__as_the_server_wants_it),
        KUBE_TEST(lease_body_read__odd_leases__nothing_is_made_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
