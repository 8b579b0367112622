/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c: what is known, for how long, and what is forgotten; the lock of the shared
 * check; what was told already. */
#include "tests/unit/gce/pure.h"

#include "common/base/clock.h"
#include "providers/gce/gce_lock.h"
#include "providers/gce/gce_snapshot.h"
#include "providers/gce/gce_told.h"

#include <pthread.h>

struct kit {
    struct arena *a;
    struct clock *clock;
    struct gce_snapshot *s;
};

static int setup(void **state)
{
    struct kit *k = xcalloc(1, sizeof(*k));
    k->a = arena_new();
    k->clock = clock_fake_new(1000, 0);
    k->s = gce_snapshot_new(k->clock);
    *state = k;
    return 0;
}

static int teardown(void **state)
{
    struct kit *k = *state;
    gce_snapshot_free(k->s);
    clock_fake_free(k->clock);
    arena_free(k->a);
    free(k);
    return 0;
}

static enum gce_known look(struct kit *k, enum gce_collection c, const char *name, int64_t age,
                           const char *member, const char **ret)
{
    struct json_object *o = NULL;
    enum gce_known known = gce_snapshot_get(k->s, GCE_KEY(c, name), age, k->a, &o);
    *ret = known == GCE_PRESENT ? json_str(o, member) : NULL;
    return known;
}

static void fill(struct kit *k, enum gce_collection c, const char *const *items, size_t n)
{
    struct gce_fill *f = gce_fill_begin(k->s, c);
    for (size_t i = 0; i < n; i++) {
        gce_fill_item(f, items[i], strlen(items[i]));
    }
    gce_fill_commit(f);
}

static void get__never_seen_listed_aged_forgotten(void **state)
{
    struct kit *k = *state;
    const char *v;
    static const char *const rules[] = {"{\"name\":\"a\",\"IPAddress\":\"1.1.1.1\",\"id\":\"9\"}",
                                        "no JSON"};
    assert_int_equal(look(k, GCE_RULES, "a", GCE_SNAPSHOT_ANY, "IPAddress", &v), GCE_UNKNOWN);
    assert_false(gce_snapshot_has_all(k->s, GCE_RULES));
    fill(k, GCE_RULES, rules, 2);
    assert_true(gce_snapshot_has_all(k->s, GCE_RULES));
    assert_int_equal(look(k, GCE_RULES, "a", 60000, "IPAddress", &v), GCE_PRESENT);
    assert_string_equal(v, "1.1.1.1");
    assert_int_equal(look(k, GCE_RULES, "a", 60000, "id", &v), GCE_PRESENT);
    assert_null(v); /* only members that we know are kept */
    assert_int_equal(look(k, GCE_RULES, "b", 60000, "x", &v), GCE_ABSENT);
    clock_fake_advance(k->clock, 60001);
    assert_int_equal(look(k, GCE_RULES, "a", 60000, "x", &v), GCE_UNKNOWN);
    assert_int_equal(look(k, GCE_RULES, "b", 60000, "x", &v), GCE_UNKNOWN);
    assert_int_equal(look(k, GCE_RULES, "b", GCE_SNAPSHOT_ANY, "x", &v), GCE_ABSENT);
    gce_snapshot_put(k->s, GCE_KEY(GCE_RULES, "b"), pure_json(k->a, "{\"name\":\"b\"}"));
    assert_int_equal(look(k, GCE_RULES, "b", 0, "name", &v), GCE_PRESENT);
    gce_snapshot_put(k->s, GCE_KEY(GCE_RULES, "b"), NULL);
    assert_int_equal(look(k, GCE_RULES, "b", 0, "name", &v), GCE_ABSENT);
    gce_snapshot_forget(k->s, GCE_KEY(GCE_RULES, "b"));
    assert_int_equal(look(k, GCE_RULES, "b", GCE_SNAPSHOT_ANY, "name", &v), GCE_UNKNOWN);
}

static void fill__while_we_wrote__our_writes_win(void **state)
{
    struct kit *k = *state;
    const char *v;
    static const char *const old_rule = "{\"name\":\"a\",\"IPAddress\":\"1.1.1.1\"}";
    struct gce_fill *f = gce_fill_begin(k->s, GCE_RULES);
    gce_fill_item(f, old_rule, strlen(old_rule));
    clock_fake_advance(k->clock, 10);
    gce_snapshot_put(k->s, GCE_KEY(GCE_RULES, "a"), NULL); /* deleted meanwhile */
    gce_snapshot_forget(k->s, GCE_KEY(GCE_RULES, "b"));    /* touched by something that failed */
    gce_fill_commit(f);
    assert_int_equal(look(k, GCE_RULES, "a", GCE_SNAPSHOT_ANY, "x", &v), GCE_ABSENT);
    assert_int_equal(look(k, GCE_RULES, "b", GCE_SNAPSHOT_ANY, "x", &v), GCE_UNKNOWN);
}

static void pools__same_members_are_kept_once_and_come_back_whole(void **state)
{
    struct kit *k = *state;
    static const char *const pools[] = {
        ("{\"name\":\"a\",\"instances\":[\"/zones/z/instances/x\",\"/zones/z/instances/y\"],"
         "\"healthChecks\":[\"https://h/projects/p/global/httpHealthChecks/k8s-c-node\"]}"),
        "{\"name\":\"b\",\"instances\":[\"/zones/z/instances/x\",\"/zones/z/instances/y\"]}",
        "{\"name\":\"c\",\"instances\":[]}",
    };
    struct json_object *o = NULL;
    fill(k, GCE_POOLS, pools, 3);
    assert_int_equal(gce_snapshot_get(k->s, GCE_KEY(GCE_POOLS, "b"), 0, k->a, &o), GCE_PRESENT);
    assert_int_equal(json_len(json_member(o, "instances")), 2);
    assert_int_equal(gce_snapshot_get(k->s, GCE_KEY(GCE_POOLS, "c"), 0, k->a, &o), GCE_PRESENT);
    assert_int_equal(json_len(json_member(o, "instances")), 0);
    assert_true(gce_snapshot_check_is_used(k->s, "k8s-c-node", "b"));
    assert_false(gce_snapshot_check_is_used(k->s, "k8s-c-node", "a"));
    gce_snapshot_put(k->s, GCE_KEY(GCE_POOLS, "a"), NULL);
    assert_false(gce_snapshot_check_is_used(k->s, "k8s-c-node", ""));
    fill(k, GCE_POOLS, pools, 0);
}

static void address__by_ip(void **state)
{
    struct kit *k = *state;
    static const char *const addresses[] = {"{\"name\":\"mine\",\"address\":\"1.2.3.4\"}",
                                            "{\"name\":\"other\",\"address\":\"1.2.3.45\"}"};
    struct json_object *o = NULL;
    assert_int_equal(gce_snapshot_address(k->s, "1.2.3.4", 60000, k->a, &o), GCE_UNKNOWN);
    fill(k, GCE_ADDRESSES, addresses, 2);
    assert_int_equal(gce_snapshot_address(k->s, "1.2.3.4", 60000, k->a, &o), GCE_PRESENT);
    assert_string_equal(json_str(o, "name"), "mine");
    assert_int_equal(gce_snapshot_address(k->s, "9.9.9.9", 60000, k->a, &o), GCE_ABSENT);
    gce_snapshot_forget(k->s, GCE_KEY(GCE_ADDRESSES, "other"));
    assert_int_equal(gce_snapshot_address(k->s, "9.9.9.9", 60000, k->a, &o), GCE_UNKNOWN);
}

static void deny__others(void **state)
{
    struct kit *k = *state;
    static const char *const firewalls[] = {"{\"name\":\"k8s-fw-a-deny\"}",
                                            "{\"name\":\"k8s-fw-a\"}"};
    fill(k, GCE_FIREWALLS, firewalls, 2);
    assert_true(gce_snapshot_has_deny(k->s, "k8s-fw-b-deny"));
    assert_false(gce_snapshot_has_deny(k->s, "k8s-fw-a-deny"));
}

static void unlistable__counts_as_listed_but_nothing_is_known(void **state)
{
    struct kit *k = *state;
    const char *v;
    for (int c = 0; (GCE_KINDS_TARGET_POOL & GCE_KIND(c)) != 0; c++) {
        assert_false(gce_snapshot_was_listed(k->s, GCE_KINDS_TARGET_POOL, GCE_SNAPSHOT_ANY));
        if (c == GCE_FIREWALLS) {
            gce_snapshot_set_unlistable(k->s, GCE_FIREWALLS);
        } else {
            fill(k, (enum gce_collection)c, NULL, 0);
        }
    }
    assert_true(gce_snapshot_was_listed(k->s, GCE_KINDS_TARGET_POOL, GCE_SNAPSHOT_ANY));
    assert_false(gce_snapshot_has_all(k->s, GCE_FIREWALLS));
    assert_int_equal(look(k, GCE_FIREWALLS, "k8s-x", GCE_SNAPSHOT_ANY, "x", &v), GCE_UNKNOWN);
}

static void claim__one_filler_at_a_time(void **state)
{
    struct kit *k = *state;
    assert_true(gce_snapshot_claim(k->s, NULL));
    gce_snapshot_filled(k->s);
    assert_true(gce_snapshot_claim(k->s, NULL));
    struct cancel *c = cancel_new(NULL);
    cancel_fire(c);
    assert_false(gce_snapshot_claim(k->s, c)); /* does not wait for ever */
    cancel_free(c);
    gce_snapshot_filled(k->s);
}

/* ---- the lock ---------------------------------------------------------------------------------------- */

struct other {
    struct gce_lock *l;
    enum gce_hold want;
    bool got;
};

static void *take_and_give_back(void *arg)
{
    struct other *o = arg;
    o->got = gce_lock_change(o->l, GCE_HOLD_NOT, o->want, NULL);
    (void)gce_lock_change(o->l, o->want, GCE_HOLD_NOT, NULL);
    return NULL;
}

static void lock__together_and_alone(void **state)
{
    (void)state;
    struct gce_lock *l = gce_lock_new();
    pthread_t t;
    struct other o = {.l = l, .want = GCE_HOLD_TOGETHER};
    assert_true(gce_lock_change(l, GCE_HOLD_NOT, GCE_HOLD_TOGETHER, NULL));
    assert_int_equal(pthread_create(&t, NULL, take_and_give_back, &o), 0);
    pthread_join(t, NULL); /* does not wait for us */
    assert_true(o.got);
    o.want = GCE_HOLD_ALONE;
    assert_int_equal(pthread_create(&t, NULL, take_and_give_back, &o), 0);
    assert_true(gce_lock_change(l, GCE_HOLD_TOGETHER, GCE_HOLD_NOT, NULL));
    pthread_join(t, NULL); /* came in once we had gone */
    assert_true(o.got);
    struct cancel *c = cancel_new(NULL);
    assert_true(gce_lock_change(l, GCE_HOLD_NOT, GCE_HOLD_ALONE, NULL));
    cancel_fire(c);
    assert_false(gce_lock_change(l, GCE_HOLD_NOT, GCE_HOLD_TOGETHER, c));
    assert_true(gce_lock_change(l, GCE_HOLD_ALONE, GCE_HOLD_TOGETHER, NULL));
    assert_true(gce_lock_change(l, GCE_HOLD_TOGETHER, GCE_HOLD_NOT, NULL));
    cancel_free(c);
    gce_lock_free(l);
}

static void told__once_until_the_text_changes(void **state)
{
    (void)state;
    struct gce_told *t = gce_told_new();
    assert_true(gce_told_is_news(t, "a", "x"));
    assert_false(gce_told_is_news(t, "a", "x"));
    assert_true(gce_told_is_news(t, "a", "y"));
    assert_true(gce_told_is_news(t, "b", "y"));
    gce_told_forget(t, "a");
    assert_true(gce_told_is_news(t, "a", "y"));
    gce_told_free(t);
}

/* ---- load balancers by state ------------------------------------------------------------------- */

static void set_gauge(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                      uint32_t n, double value)
{
    struct str_buf *b = (struct str_buf *)ctx;
    assert_string_equal(name, "number_of_l4_netlbs");
    assert_int_equal(n, 2);
    str_appendf(b, "%s/%s=%d ", labels[0].value, labels[1].value, (int)value);
}

static void states__M7_M8__gauges_follow_each_change(void **state)
{
    (void)state;
    struct str_buf b = STR_BUF_INIT;
    const struct tt_host host = {.ctx = (struct tt_host_ctx *)&b, .metric_set = set_gauge};
    static const struct {
        const char *row, *key, *status, *deny, *want;
    } rows[] = {
        {"first", "a", "Success", "", "Success/=1 "},
        {"second", "b", "Success", "", "Success/=2 "},
        {"the same again", "b", "Success", "", ""},
        {"deny is off but cleaned up", "b", "Success", "DISABLED",
         "Success/=1 Success/DISABLED=1 "},
        {"deny is on", "b", "Success", "IPv4", "Success/DISABLED=0 Success/IPv4=1 "},
        {"it fails", "b", "Error", "", "Success/IPv4=0 Error/=1 "},
        {"it is gone", "b", NULL, "", "Error/=0 "},
    };
    struct gce_states *s = gce_states_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        gce_states_set(s, &host, rows[i].key, rows[i].status, rows[i].deny);
        same_text(rows[i].row, str_buf_text(&b), rows[i].want);
        str_buf_reset(&b);
    }
    gce_states_free(s);
    str_buf_done(&b);
}

#define KIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(get__never_seen_listed_aged_forgotten),
        KIT_TEST(fill__while_we_wrote__our_writes_win),
        KIT_TEST(pools__same_members_are_kept_once_and_come_back_whole),
        KIT_TEST(address__by_ip),
        KIT_TEST(deny__others),
        KIT_TEST(unlistable__counts_as_listed_but_nothing_is_known),
        KIT_TEST(claim__one_filler_at_a_time),
        cmocka_unit_test(lock__together_and_alone),
        cmocka_unit_test(told__once_until_the_text_changes),
        cmocka_unit_test(states__M7_M8__gauges_follow_each_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
