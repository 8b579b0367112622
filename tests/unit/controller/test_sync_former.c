/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_former.c: what a Service asked for is kept on it while something that worked is
 * replaced, and is led back to when the replacement fails (controller/sync/sync_former.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/arena.h"
#include "common/base/str.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define CAPS   (TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS)
#define STANDS STAND_STATUS("203.0.113.10")
#define EDITED "\"generation\":2," STAND_WITH_F
#define STICKY STAND_LB ",\"sessionAffinity\":\"ClientIP\""
#define TYPE   "trimtab.io/LoadBalancerReplacing"
#define KEPT                                                                                       \
    STANDS ",\"conditions\":[{\"type\":\"" TYPE "\",\"status\":\"True\",\"reason\":\"Replacing\"," \
           "\"message\":\"put back if the replacement is refused: {\\\"ports\\\":[{\\\"port\\\":"  \
           "80,\\\"protocol\\\":\\\"TCP\\\"}],\\\"sessionAffinity\\\":\\\"None\\\"}\"}]"

static void answer(struct stand *r, int32_t code)
{
    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, code, "no", 0, false});
}

static struct stand *new_stand(void)
{
    struct stand *r = stand_new(CAPS);
    r->provider->plan_operations = 1;
    stand_node(r, "node1", NULL, NULL);
    return r;
}

/* web stands and was ensured by this process; then it is edited, and the plan of that takes
 * something down. */
static struct stand *replacing(int32_t code)
{
    struct stand *r = new_stand();
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    fake_provider_forget(r->provider);
    r->provider->operation_flags = TT_OP_PUT_BACK;
    if (code != TT_OK) {
        answer(r, code);
    }
    stand_service(r, "web", STICKY, EDITED, STANDS);
    stand_run(r);
    return r;
}

/* How many patches name the condition; the last one's body. */
static size_t count_kept(struct stand *r, const char **ret_last)
{
    size_t n = 0;
    *ret_last = "";
    for (size_t i = 0; i < stand_patches(r); i++) {
        if (strstr(stand_patch(r, i), TYPE) != NULL) {
            *ret_last = stand_patch(r, i);
            n++;
        }
    }
    return n;
}

static bool takes_off(const char *body)
{
    return strstr(body, "\"$patch\":\"delete\"") != NULL;
}

static void ensure__takes_down__kept_before_and_off_after(void **state)
{
    (void)state;
    struct stand *r = replacing(TT_OK);
    const char *last = NULL;
    assert_int_equal(2, count_kept(r, &last));
    assert_true(takes_off(last));
    size_t first = 0;
    while (strstr(stand_patch(r, first), TYPE) == NULL) {
        first++;
    }
    assert_non_null(strstr(stand_patch(r, first), "put back if the replacement is refused"));
    assert_non_null(strstr(stand_patch(r, first), "\\\"nodePort\\\":30080"));
    assert_string_equal(stand_story(r), "ensure demo/web");
    stand_free(r);
}

static void ensure__takes_nothing_down__nothing_is_kept(void **state)
{
    (void)state;
    struct stand *r = new_stand();
    const char *last = NULL;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    stand_service(r, "web", STICKY, EDITED, STANDS);
    stand_run(r);
    assert_int_equal(0, count_kept(r, &last));
    stand_free(r);
}

/* The status is another process' to write. */
static void ensure__status_is_anothers__nothing_is_kept(void **state)
{
    (void)state;
    struct stand *r = new_stand();
    const char *last = NULL;
    r->provider->own = TT_OWN_STATUS;
    r->provider->operation_flags = TT_OP_PUT_BACK;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    stand_service(r, "web", STICKY, EDITED, STANDS);
    stand_run(r);
    assert_int_equal(0, count_kept(r, &last));
    stand_free(r);
}

/* The first sync puts back by itself what it took; from the next one on it may have failed to. */
static void refused__next_try_fails_too__led_back(void **state)
{
    (void)state;
    struct stand *r = replacing(TT_QUOTA);
    const char *last = NULL;
    assert_string_equal(stand_story(r), "ensure demo/web");
    assert_int_equal(2, count_kept(r, &last)); /* before, and that it was refused */
    assert_false(takes_off(last));
    fake_provider_forget(r->provider);
    answer(r, TT_QUOTA);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_string_equal(stand_story(r), "ensure demo/web, ensure demo/web");
    struct fake_call as_edited = fake_provider_call(r->provider, TT_VERB_ENSURE, 0);
    struct fake_call as_before = fake_provider_call(r->provider, TT_VERB_ENSURE, 1);
    assert_string_equal(as_edited.affinity, "ClientIP");
    assert_int_equal(as_edited.flags & TT_ITEM_FORMER, 0);
    assert_string_equal(as_before.affinity, "");
    assert_int_equal(as_before.flags & TT_ITEM_FORMER, TT_ITEM_FORMER);
    assert_false(takes_off(last));
    stand_free(r);
}

static void fail_again(struct stand *r, const char *story)
{
    fake_provider_forget(r->provider);
    answer(r, TT_QUOTA);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_string_equal(stand_story(r), story);
}

/* Else the settings that a try prepares would be undone after it, and prepared anew by the next. */
static void led_back__further_tries_take_nothing_down__not_led_back_again(void **state)
{
    (void)state;
    struct stand *r = replacing(TT_QUOTA);
    fail_again(r, "ensure demo/web, ensure demo/web");
    r->provider->operation_flags = 0;
    fail_again(r, "ensure demo/web");
    r->provider->plan_operations = 0;
    fail_again(r, "ensure demo/web");
    r->provider->plan_operations = 1;
    r->provider->operation_flags = TT_OP_PUT_BACK;
    fail_again(r, "ensure demo/web, ensure demo/web");
    stand_free(r);
}

/* The cloud said no to what was tried first. */
static void refused__nothing_was_taken_down__not_led_back(void **state)
{
    (void)state;
    struct stand *r = new_stand();
    const char *last = NULL;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    r->provider->operation_flags = TT_OP_PUT_BACK;
    r->provider->fails_first = true;
    answer(r, TT_TRANSIENT);
    stand_service(r, "web", STICKY, EDITED, STANDS);
    stand_run(r);
    assert_int_equal(1, count_kept(r, &last));
    fail_again(r, "ensure demo/web");
    stand_free(r);
}

/* How often the provider is asked to lead back in the next sync, which fails with `text`; leading
 * back then fails with "no right". */
static size_t led_back_after(struct stand *r, const char *text)
{
    const char *const texts[] = {text, "no right"};
    fake_provider_forget(r->provider);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        fake_provider_answer(
            r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_FORBIDDEN, texts[i], 0, false});
    }
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    r->provider->n_answers = 0;
    return fake_provider_count(r->provider, TT_VERB_ENSURE) - 1;
}

/* One right is missing for both: each try would prepare the new settings and then the former ones.
 * Another refusal may not be one of the former settings, and after a while nor may this one. */
static void led_back__refused_in_the_same_words__not_again_until_the_words_differ(void **state)
{
    (void)state;
    struct stand *r = replacing(TT_FORBIDDEN);
    r->provider->operation_flags = 0;
    assert_int_equal(led_back_after(r, "no right"), 1);
    assert_int_equal(led_back_after(r, "no right"), 0);
    assert_int_equal(led_back_after(r, "no right"), 0);
    assert_int_equal(led_back_after(r, "no room"), 1);
    assert_int_equal(led_back_after(r, "no room"), 1);
    assert_int_equal(led_back_after(r, "no right"), 1);
    assert_int_equal(led_back_after(r, "no right"), 0);
    clock_fake_advance(r->clock, 31 * 60000);
    assert_int_equal(led_back_after(r, "no right"), 1);
    clock_fake_advance(r->clock, 31 * 60000);
    assert_int_equal(led_back_after(r, "no right"), 0);
    clock_fake_advance(r->clock, 31 * 60000);
    assert_int_equal(led_back_after(r, "no right"), 1);
    stand_free(r);
}

/* Where the address was given up, what was put back has another one: clients hear of it, although
 * the ensure failed. */
static void led_back__with_another_address__status_has_it(void **state)
{
    (void)state;
    struct stand *r = replacing(TT_QUOTA);
    size_t before = stand_patches(r);
    answer(r, TT_QUOTA);
    r->provider->ip = "203.0.113.77";
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    size_t told = 0;
    for (size_t i = before; i < stand_patches(r); i++) {
        told += strstr(stand_patch(r, i), "\"ip\":\"203.0.113.77\"") != NULL;
    }
    assert_int_equal(told, 1);
    stand_free(r);
}

#define SPARED "thing a thing stands, and is not taken down"

static uint32_t flags_of(struct stand *r, size_t i)
{
    return fake_provider_call(r->provider, TT_VERB_ENSURE, i).flags & TT_ITEM_SPARE;
}

/* Answers as the driver does: a plan that would take something down is not carried out. */
static void try_again(struct stand *r, int64_t after_ms)
{
    fake_provider_forget(r->provider);
    r->provider->plan_operations = 0;
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_IN_USE, SPARED, 0, false});
    stand_advance(r, after_ms);
}

/* The provider is asked to spare what works until half an hour is over, and the owner reads why and
 * until when; the next refusal doubles it. */
static void refused_for_good__spared_for_a_while__then_tried_and_spared_longer(void **state)
{
    (void)state;
    struct stand *r = replacing(TT_QUOTA);
    const char *last = NULL;
    assert_int_equal(2, count_kept(r, &last));
    assert_non_null(strstr(last, "\\\"tries\\\":1"));
    assert_non_null(strstr(last, "\"reason\":\"Refused\""));
    assert_non_null(
        strstr(stand_events(r), "no; what works is not taken down for it again before "));
    for (int i = 0; i < 5; i++) {
        try_again(r, 300000);
        assert_int_equal(flags_of(r, 0), TT_ITEM_SPARE);
        assert_int_equal(2, count_kept(r, &last));
    }
    assert_null(strstr(stand_events(r), SPARED));
    fake_provider_forget(r->provider);
    r->provider->plan_operations = 1;
    answer(r, TT_QUOTA);
    stand_advance(r, 301000);
    assert_int_equal(flags_of(r, 0), 0);
    assert_int_equal(3, count_kept(r, &last));
    assert_non_null(strstr(last, "\\\"tries\\\":2"));
    for (int i = 0; i < 11; i++) {
        try_again(r, 300000);
        assert_int_equal(flags_of(r, 0), TT_ITEM_SPARE);
    }
    stand_free(r);
}

/* Nothing serves, because the former could not be restored: the next try is soon. */
/* A right may be back any time: where the provider can ask for it, each try does. */
static void refused_for_a_right__asked_for_from_five_seconds_on(void **state)
{
    (void)state;
    struct stand *r = new_stand();
    r->provider->desc.capabilities |= TT_CAP_ASKS_AGAIN;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    fake_provider_forget(r->provider);
    r->provider->operation_flags = TT_OP_PUT_BACK;
    answer(r, TT_FORBIDDEN);
    stand_service(r, "web", STICKY, EDITED, STANDS);
    stand_run(r);
    assert_non_null(strstr(stand_events(r), "unless the cloud allows it sooner"));
    for (int64_t wait_ms = 5000; wait_ms <= 40000; wait_ms *= 2) {
        try_again(r, wait_ms);
        assert_int_equal(fake_provider_call(r->provider, TT_VERB_ENSURE, 0).flags &
                             (TT_ITEM_SPARE | TT_ITEM_ASKS),
                         TT_ITEM_SPARE | TT_ITEM_ASKS);
    }
    stand_free(r);
}

static void refused_for_good__not_restored__tried_again_as_usual(void **state)
{
    (void)state;
    struct stand *r = new_stand();
    const char *last = NULL;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    r->provider->operation_flags = TT_OP_PUT_BACK;
    r->provider->restore_code = TT_FORBIDDEN;
    answer(r, TT_FORBIDDEN);
    stand_service(r, "web", STICKY, EDITED, STANDS);
    stand_run(r);
    assert_int_equal(1, count_kept(r, &last));
    assert_null(strstr(stand_events(r), "is not taken down"));
    fake_provider_forget(r->provider);
    r->provider->restore_code = TT_OK;
    stand_advance(r, 6000);
    assert_int_equal(fake_provider_count(r->provider, TT_VERB_ENSURE), 1);
    assert_int_equal(flags_of(r, 0), 0);
    stand_free(r);
}

static void refused_for_good__edited__tried_at_once(void **state)
{
    (void)state;
    struct stand *r = replacing(TT_QUOTA);
    fake_provider_forget(r->provider);
    stand_service(r, "web", STICKY ",\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]",
                  "\"generation\":3," STAND_WITH_F, STANDS);
    stand_run(r);
    assert_int_equal(flags_of(r, 0), 0);
    stand_free(r);
}

/* The cloud did not say no: the usual back-off, and nothing is remembered. */
static void no_refusal__tried_again_as_usual(void **state)
{
    static const int32_t codes[] = {TT_TRANSIENT, TT_THROTTLED};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct stand *r = replacing(codes[i]);
        const char *last = NULL;
        assert_int_equal(1, count_kept(r, &last));
        fake_provider_forget(r->provider);
        stand_advance(r, 60000);
        assert_int_equal(flags_of(r, 0), 0);
        stand_free(r);
    }
}

/* Another process goes by what the Service says, for the wish that was refused alone. */
static void new_process__refused_before__spared(void **state)
{
    (void)state;
    struct stand *old = replacing(TT_QUOTA);
    const char *last = NULL;
    assert_int_equal(2, count_kept(old, &last));
    struct arena *a = arena_new();
    char *message = arena_strdup(a, strstr(last, "\"message\":\""));
    message[strstr(message, "}}\"") + 3 - message] = '\0';
    const char *status = arena_printf(a,
                                      STANDS ",\"conditions\":[{\"type\":\"" TYPE "\",\"status\":"
                                             "\"True\",\"reason\":\"Refused\",%s}]",
                                      message);
    struct stand *r = new_stand();
    stand_service(r, "web", STICKY, EDITED, status);
    stand_run(r);
    assert_int_equal(flags_of(r, 0), TT_ITEM_SPARE);
    stand_free(r);
    r = new_stand();
    stand_service(r, "web", STAND_LB, EDITED, status);
    stand_run(r);
    assert_int_equal(flags_of(r, 0), 0);
    stand_free(r);
    stand_free(old);
    arena_free(a);
}

/* A process that died in between: what the Service says is all that is known. */
static void new_process__refused__led_back_by_what_the_service_says(void **state)
{
    (void)state;
    struct stand *r = new_stand();
    answer(r, TT_INVALID);
    stand_service(r, "web", STICKY, STAND_WITH_F, KEPT);
    stand_run(r);
    assert_string_equal(stand_story(r), "ensure demo/web, ensure demo/web");
    struct fake_call back = fake_provider_call(r->provider, TT_VERB_ENSURE, 1);
    assert_string_equal(back.affinity, "None");
    assert_int_equal(back.flags & TT_ITEM_FORMER, TT_ITEM_FORMER);
    /* Each further try takes down what works: not before five minutes are over. */
    fake_provider_forget(r->provider);
    stand_advance(r, 299000);
    assert_string_equal(stand_story(r), "");
    stand_advance(r, 2000);
    assert_string_equal(stand_story(r), "ensure demo/web");
    assert_non_null(strstr(stand_events(r), "no; the last applied settings were restored"));
    stand_free(r);
}

static void new_process__ensured__taken_off(void **state)
{
    (void)state;
    struct stand *r = new_stand();
    const char *last = NULL;
    r->provider->plan_operations = 0;
    stand_service(r, "web", STICKY, STAND_WITH_F, KEPT);
    stand_run(r);
    assert_string_equal(stand_story(r), "ensure demo/web");
    assert_int_equal(1, count_kept(r, &last));
    assert_true(takes_off(last));
    stand_free(r);
}

static void new_process__text_of_somebody_else__not_led_back(void **state)
{
    (void)state;
    struct stand *r = new_stand();
    answer(r, TT_INVALID);
    stand_service(r, "web", STICKY, STAND_WITH_F,
                  STANDS ",\"conditions\":[{\"type\":\"" TYPE "\",\"status\":\"True\","
                         "\"reason\":\"X\",\"message\":\"anything\"}]");
    stand_run(r);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_ENSURE));
    stand_free(r);
}

/* Nothing may be sent, the cloud is at work, or the balancer is another program's. */
static void new_process__not_called_for__not_led_back(void **state)
{
    static const int32_t codes[] = {TT_CANCELLED, TT_IN_PROGRESS, TT_IMPLEMENTED_ELSEWHERE};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct stand *r = new_stand();
        answer(r, codes[i]);
        stand_service(r, "web", STICKY, STAND_WITH_F, KEPT);
        stand_run(r);
        assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_ENSURE));
        stand_free(r);
    }
}

static void deleted__taken_off_with_the_rest(void **state)
{
    (void)state;
    struct stand *r = new_stand();
    const char *last = NULL;
    stand_service(r, "web", STAND_CLUSTER_IP, STAND_WITH_F, KEPT);
    stand_add(r, "web", TT_REASON_SPEC);
    stand_run(r);
    assert_int_equal(1, count_kept(r, &last));
    assert_true(takes_off(last));
    stand_free(r);
}

UNIT_MAIN(sync_former)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ensure__takes_down__kept_before_and_off_after),
        cmocka_unit_test(ensure__takes_nothing_down__nothing_is_kept),
        cmocka_unit_test(ensure__status_is_anothers__nothing_is_kept),
        cmocka_unit_test(refused__next_try_fails_too__led_back),
        cmocka_unit_test(led_back__further_tries_take_nothing_down__not_led_back_again),
        cmocka_unit_test(refused__nothing_was_taken_down__not_led_back),
        cmocka_unit_test(led_back__with_another_address__status_has_it),
        cmocka_unit_test(led_back__refused_in_the_same_words__not_again_until_the_words_differ),
        cmocka_unit_test(new_process__refused__led_back_by_what_the_service_says),
        cmocka_unit_test(refused_for_good__spared_for_a_while__then_tried_and_spared_longer),
        cmocka_unit_test(refused_for_a_right__asked_for_from_five_seconds_on),
        cmocka_unit_test(refused_for_good__not_restored__tried_again_as_usual),
        cmocka_unit_test(refused_for_good__edited__tried_at_once),
        cmocka_unit_test(no_refusal__tried_again_as_usual),
        cmocka_unit_test(new_process__refused_before__spared),
        cmocka_unit_test(new_process__ensured__taken_off),
        cmocka_unit_test(new_process__text_of_somebody_else__not_led_back),
        cmocka_unit_test(new_process__not_called_for__not_led_back),
        cmocka_unit_test(deleted__taken_off_with_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
