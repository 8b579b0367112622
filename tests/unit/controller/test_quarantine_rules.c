/* SPDX-License-Identifier: Apache-2.0 */
/* test_quarantine_rules.c: counting deaths in a plugin, from text to text; and what the counts mean
 * for a Service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/attr.h"
#include "common/base/str.h"
#include "controller/rules/quarantine_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define MINUTE_US ((int64_t)60 * 1000000)

static const struct tt_provider acme = {.name = "acme", .version = "1"};
static const struct tt_provider newer = {.name = "acme", .version = "2"};

/* As the programs do it: each reads what the one before wrote. */
static const char *die(struct arena *a, const char *text, const struct tt_provider *desc,
                       const char *key, uint64_t digest, int64_t at_us)
{
    struct quarantine_record r = quarantine_parse(a, text);
    const struct quarantine_entry death = {
        .key = key, .call = "ensure_load_balancer", .digest = digest, .at_us = at_us};

    quarantine_count(a, &r, desc, &death);
    return quarantine_print(a, &r);
}

static bool holds(struct arena *a, const char *text, const struct tt_provider *desc,
                  const char *key, uint64_t digest)
{
    const struct quarantine_record r = quarantine_parse(a, text);

    return quarantine_find(&r, desc, key, digest) != NULL;
}

static void quarantine__three_in_a_row__hold_that_service_as_it_is(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *text = NULL;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_false(holds(a, text, &acme, "demo/web", UINT64_MAX));
        text = die(a, text, &acme, "demo/web", UINT64_MAX, i * 10 * MINUTE_US);
    }
    assert_true(holds(a, text, &acme, "demo/web", UINT64_MAX));
    assert_false(holds(a, text, &acme, "demo/web", 7));   /* it was edited */
    assert_false(holds(a, text, &acme, "demo/other", 1)); /* another */
    assert_false(holds(a, text, &newer, "demo/web", UINT64_MAX));
    text = die(a, text, &acme, "demo/web", 7, 40 * MINUTE_US); /* an edit counts from one */
    assert_false(holds(a, text, &acme, "demo/web", 7));
}

static void quarantine__far_between__is_no_row(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *text = NULL;

    (void)state;
    for (int i = 0; i < 9; i++) {
        text = die(a, text, &acme, "demo/web", 5, i * 61 * MINUTE_US);
    }
    assert_false(holds(a, text, &acme, "demo/web", 5));
}

static void quarantine__another_version__begins_anew(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *text = NULL;

    (void)state;
    for (int i = 0; i < 3; i++) {
        text = die(a, text, &acme, "demo/web", 5, i);
    }
    text = die(a, text, &newer, "demo/api", 6, 4);
    assert_null(strstr(text, "demo/web"));
    assert_non_null(strstr(text, "\"version\":\"2\""));
}

/* Whether each is called for by itself at that time. */
static bool alone(struct arena *a, const char *text, const struct tt_provider *desc, int64_t now_us)
{
    const struct quarantine_record r = quarantine_parse(a, text);
    return quarantine_wants_alone(&r, desc, now_us);
}

static void quarantine__several_at_once__each_alone_for_an_hour(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *text = die(a, NULL, &acme, QUARANTINE_SEVERAL, 1, MINUTE_US);

    (void)state;
    assert_true(alone(a, text, &acme, MINUTE_US));
    assert_true(alone(a, text, &acme, 61 * MINUTE_US));
    assert_false(alone(a, text, &acme, 61 * MINUTE_US + 1));
    assert_false(alone(a, text, &newer, MINUTE_US));
    text = die(a, text, &acme, QUARANTINE_SEVERAL, 1, 90 * MINUTE_US);
    assert_true(alone(a, text, &acme, 120 * MINUTE_US));
}

static void quarantine__several_at_once__together_again_when_the_culprit_is_held(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *text = NULL;

    (void)state;
    for (int i = 0; i < QUARANTINE_DEATHS; i++) {
        text = die(a, text, &acme, "demo/older", 4, i);
    }
    text = die(a, text, &acme, QUARANTINE_SEVERAL, 1, 10);
    for (int i = 0; i < QUARANTINE_DEATHS; i++) {
        assert_true(alone(a, text, &acme, 20));
        text = die(a, text, &acme, "demo/web", 5, 11 + i);
    }
    assert_false(alone(a, text, &acme, 20));
    text = die(a, text, &acme, QUARANTINE_SEVERAL, 1, 30); /* there is a second one */
    assert_true(alone(a, text, &acme, 40));
    assert_true(holds(a, text, &acme, "demo/web", 5));
}

static void quarantine__many__the_oldest_goes(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *text = NULL;

    (void)state;
    for (int i = 0; i < QUARANTINE_KEYS_MAX + 1; i++) {
        text = die(a, text, &acme, arena_printf(a, "demo/s%d", i), 1, i);
    }
    assert_null(strstr(text, "\"demo/s0\""));
    assert_non_null(strstr(text, "\"demo/s1\""));
    assert_int_equal(QUARANTINE_KEYS_MAX, quarantine_parse(a, text).n);
}

static void quarantine_parse__what_cannot_be_read__is_empty(void **state)
{
    static const char *const texts[] = {
        NULL, "", "x", "[]", "{}", "{\"services\":[1]}", "{\"provider\":1,\"services\":{\"a\":1}}"};
    _cleanup_(arena_freep) struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const struct quarantine_record r = quarantine_parse(a, texts[i]);
        assert_null(quarantine_find(&r, &acme, "a", 0));
        (void)die(a, texts[i], &acme, "demo/web", 1, 1);
    }
}

static void quarantine_digest__an_edit_changes_it__our_own_writing_does_not(void **state)
{
    static const char *const own[] = {"acme.example.com/made-*"};
    const struct tt_provider d = {
        .name = "acme", .own_annotations = own, .n_own_annotations = ARRAY_LEN(own)};
    const struct tt_kv before[] = {{"a", "1"}};
    const struct tt_kv edited[] = {{"a", "2"}};
    const struct tt_kv written[] = {
        {"a", "1"}, {"acme.example.com/made-x", "y"}, {"trimtab.io/last-error", "z"}};
    const struct tt_port port = {.protocol = "TCP", .port = 80};
    struct tt_service s = {
        .uid = "u", .type = "LoadBalancer", .annotations = before, .n_annotations = 1};
    uint64_t first = quarantine_digest(&s, &d, false);

    (void)state;
    assert_int_not_equal(first, quarantine_digest(&s, &d, true));
    s.annotations = written;
    s.n_annotations = 3;
    s.n_ingress = 1;
    assert_int_equal(first, quarantine_digest(&s, &d, false));
    s.annotations = edited;
    s.n_annotations = 1;
    assert_int_not_equal(first, quarantine_digest(&s, &d, false));
    s.annotations = before;
    s.ports = &port;
    s.n_ports = 1;
    assert_int_not_equal(first, quarantine_digest(&s, &d, false));
    s.n_ports = 0;
    s.deleted_us = 1;
    assert_int_not_equal(first, quarantine_digest(&s, &d, false));
}

/* ---- what it means for the controller -------------------------------------------------------- */

static void sync__quarantined__not_called_and_told_until_it_is_edited(void **state)
{
    struct stand *r = stand_new(0);
    struct board_view v;
    struct kube_object *o;

    (void)state;
    stand_node(r, "node-0", NULL, NULL);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    o = kube_store_get(r->syncer.services, "demo/web");
    struct quarantine_entry entry = {
        .key = "demo/web", .call = "ensure_load_balancer", .deaths = QUARANTINE_DEATHS};
    entry.digest = quarantine_digest(o->service, r->syncer.desc, false);
    kube_object_unref(o);
    const struct quarantine_record record = {.provider = r->syncer.desc->name,
                                             .version = r->syncer.desc->version,
                                             .entries = &entry,
                                             .n = 1};
    r->syncer.quarantine = &record;
    r->syncer.board = board_new(r->clock);
    stand_run(r);
    assert_string_equal("", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    board_look(r->syncer.board, r->a, &v);
    assert_int_equal(BOARD_FAILED, v.rows[0].state);
    assert_non_null(strstr(v.rows[0].message, "quarantined: provider fake ended the process 3 "));
    stand_service(r, "web", STAND_LB ",\"loadBalancerIP\":\"192.0.2.3\"", STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_non_null(strstr(stand_events(r), "Warning SyncLoadBalancerFailed Error syncing load "
                                            "balancer: quarantined: provider fake"));
    board_free(STEAL(r->syncer.board));
    stand_free(r);
}

static void sync__several_died__batches_are_taken_apart(void **state)
{
    struct stand *r = stand_new(0);
    struct quarantine_entry entry = {
        .key = QUARANTINE_SEVERAL, .call = "reconcile_batch", .deaths = 1, .digest = 1};

    (void)state;
    entry.at_us = clock_wall_us(r->clock);
    fake_provider_batches(r->provider);
    stand_describe(r);
    const struct quarantine_record record = {.provider = r->syncer.desc->name,
                                             .version = r->syncer.desc->version,
                                             .entries = &entry,
                                             .n = 1};
    r->syncer.quarantine = &record;
    stand_service(r, "a", STAND_LB, STAND_WITH_F, NULL);
    stand_service(r, "b", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    (void)stand_advance(r, 5000);
    assert_int_equal(2, fake_provider_count(r->provider, TT_VERB_ENSURE));
    assert_int_equal(1, fake_provider_call(r->provider, TT_VERB_ENSURE, 0).n_items);
    assert_int_equal(1, fake_provider_call(r->provider, TT_VERB_ENSURE, 1).n_items);
    stand_free(r);
}

UNIT_MAIN(quarantine_rules)
{
#define T(f) cmocka_unit_test(f)
    const struct CMUnitTest tests[] = {
        T(quarantine__three_in_a_row__hold_that_service_as_it_is),
        T(quarantine__far_between__is_no_row),
        T(quarantine__another_version__begins_anew),
        T(quarantine__several_at_once__each_alone_for_an_hour),
        T(quarantine__several_at_once__together_again_when_the_culprit_is_held),
        T(quarantine__many__the_oldest_goes),
        T(quarantine_parse__what_cannot_be_read__is_empty),
        T(quarantine_digest__an_edit_changes_it__our_own_writing_does_not),
        T(sync__quarantined__not_called_and_told_until_it_is_edited),
        T(sync__several_died__batches_are_taken_apart),
    };
    return cmocka_run_group_tests_name("controller-quarantine-rules", tests, NULL, NULL);
}
