/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_budget.c: what the requests of a call take of the subscription's budgets
 * (azure_budget.h). */
#include "providers/azure/arm/azure_budget.h"
#include "tests/unit/azure/call.h"

static void note_refused(void *arg, enum budget_event event, const struct budget_view *now)
{
    if (event == BUDGET_REFUSED) {
        *(const char **)arg = now->kind;
    }
}

/* Looks at a write are reads, the last one of the resource, too: each takes a token when it is due,
 * and a refusal closes reads, not writes. */
static void budget__looks_at_a_write__are_reads(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    const char *refused = NULL;
    struct turn put = {"PUT", ARM LB V, 0, 201, "Azure-AsyncOperation", STATUS, DOC("Updating")};
    struct turn works = {"GET", STATUS, 0, 200, NULL, NULL, "{\"status\":\"InProgress\"}"};
    struct turn done = {"GET", STATUS, 0, 200, NULL, NULL, "{\"status\":\"Succeeded\"}"};
    struct turn busy = {
        "GET",
        ARM LB V,
        0,
        429,
        "Retry-After",
        "2",
        "{\"error\":{\"code\":\"SubscriptionRequestsThrottled\",\"message\":\"too many\"}}"};
    call_open(&c, k, CONFIG);
    c.arm.budgets =
        budgets_new(azure_budget_limits, AZURE_BUDGETS, k->clock, note_refused, &refused);
    call_begin(&c, AZURE_PUT);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    assert_int_equal(answer(&c, "put", 0, &put), HTTP_SEND);
    assert_int_equal(answer(&c, "works", 1, &works), HTTP_WAIT);
    int64_t due_ms = k->req.not_before_ms - clock_now_ms(k->clock);
    assert_int_equal(due_ms, 1000);
    clock_fake_advance(k->clock, 400); /* something else happened */
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_WAIT);
    clock_fake_advance(k->clock, 600);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    assert_int_equal(answer(&c, "done", 2, &done), HTTP_SEND);
    assert_int_equal(answer(&c, "busy", 3, &busy), HTTP_SEND);
    assert_int_equal(k->req.not_before_ms - clock_now_ms(k->clock), 2000);
    same_text("refused", refused, azure_budget_limits[azure_budget_of(AZURE_GET)].kind);
    ask_now(&c, AZURE_PUT, HTTP_SEND, 0); /* writing does not wait */
    budgets_free(c.arm.budgets);
    c.arm.budgets = NULL;
    call_close(&c);
}

/* While less than half of the reads is left, nothing is looked at before it is done most
 * likely. */
static void budget__reads_are_short__looks_later(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    bool again;
    struct turn put = {"PUT", ARM LB V, 0, 201, "Azure-AsyncOperation", STATUS, DOC("Updating")};
    call_open(&c, k, CONFIG);
    c.arm.budgets = budgets_new(azure_budget_limits, AZURE_BUDGETS, k->clock, NULL, NULL);
    c.arm.usual_ms[AZURE_LBS][0] = 4000;
    for (int i = 0; i < azure_budget_limits[azure_budget_of(AZURE_GET)].burst; i++) {
        (void)budgets_take(c.arm.budgets, azure_budget_of(AZURE_GET), false, &again);
    }
    call_begin(&c, AZURE_PUT);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    assert_int_equal(answer(&c, "put", 0, &put), HTTP_WAIT);
    int64_t due_ms = k->req.not_before_ms - clock_now_ms(k->clock);
    assert_int_equal(due_ms, 4500);
    budgets_free(c.arm.budgets);
    c.arm.budgets = NULL;
    call_close(&c);
}

UNIT_MAIN(call_budget)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(budget__looks_at_a_write__are_reads),
        KIT_TEST(budget__reads_are_short__looks_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
