/* SPDX-License-Identifier: Apache-2.0 */
/* test_inventory.c: parts of one load balancer have one owner, and a Service that can delete them. */
#include "common/cloud/inventory.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LB "a0123456789abcdef0123456789abcde"

struct stand {
    struct arena *a;
    struct inventory inv;
    struct str_buf told; /* of the host */
};

static int setup(void **state)
{
    struct arena *a = arena_new();
    struct stand *s = ARENA_NEW(a, struct stand);
    s->a = a;
    inventory_init(&s->inv, a);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct stand *s = *state;
    str_buf_done(&s->told);
    arena_free(s->a);
    return 0;
}

static void put(struct stand *s, unsigned kind, const char *unit, const char *name, const char *key)
{
    inventory_put(&s->inv,
                  (struct inventory_item){.kind = kind, .unit = unit, .name = name, .key = key});
}

static void settle__parts_of_a_unit__sorted_with_the_first_owner(void **state)
{
    struct stand *s = *state;
    struct inventory_unit u;
    size_t at = 0;
    put(s, 1, "u2", "b", NULL);
    put(s, 1, "u1", "z", "ns/second");
    put(s, 0, "u1", "y", "ns/first");
    put(s, 1, "u1", "a", NULL);
    inventory_settle(&s->inv);
    assert_true(inventory_next(&s->inv, &at, &u));
    assert_int_equal(u.n, 3);
    assert_string_equal(u.items[0]->name, "y");
    assert_string_equal(u.items[1]->name, "a");
    assert_string_equal(u.items[2]->name, "z");
    for (size_t i = 0; i < u.n; i++) {
        assert_string_equal(u.items[i]->key, "ns/first");
    }
    assert_true(inventory_next(&s->inv, &at, &u));
    assert_int_equal(u.n, 1);
    assert_null(u.items[0]->key);
    assert_false(inventory_next(&s->inv, &at, &u));
}

static void settle__shared__each_a_unit_of_its_own(void **state)
{
    struct stand *s = *state;
    struct inventory_unit u;
    size_t at = 0;
    put(s, 0, "", "x", "ns/name");
    put(s, 0, "", "y", NULL);
    inventory_settle(&s->inv);
    assert_true(inventory_next(&s->inv, &at, &u));
    assert_int_equal(u.n, 1);
    assert_true(inventory_next(&s->inv, &at, &u));
    assert_null(u.items[0]->key);
}

static void add__over_the_cap__is_an_error(void **state)
{
    struct stand *s = *state;
    struct inventory_item one = {.unit = "", .name = ""};
    struct err err = ERR_INIT;
    for (size_t i = 0; i < INVENTORY_MAX; i++) {
        inventory_add(&s->inv, &one);
    }
    assert_int_equal(inventory_check(&s->inv, &err), ERR_OK);
    inventory_add(&s->inv, &one);
    assert_int_equal(inventory_check(&s->inv, &err), ERR_QUOTA);
    assert_int_equal(s->inv.n, INVENTORY_MAX);
}

static void service__of_a_name__has_that_name_again(void **state)
{
    struct stand *s = *state;
    assert_true(inventory_is_lb_name(LB, strlen(LB)));
    assert_false(inventory_is_lb_name(LB "f", strlen(LB) + 1));
    assert_false(inventory_is_lb_name("b0123456789abcdef0123456789abcde", 32));
    assert_false(inventory_is_lb_name("a0123456789abcdef0123456789abcdX", 32));
    const struct tt_service *svc = inventory_service(s->a, "shop/old", inventory_uid_of(s->a, LB));
    assert_string_equal(svc->ns, "shop");
    assert_string_equal(svc->name, "old");
    assert_string_equal(svc_default_lb_name(s->a, svc->uid), LB);
    static const char *const bad[] = {NULL, "", "old", "/old", "shop/"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_null(inventory_service(s->a, bad[i], ""));
    }
}

/* ---- report -------------------------------------------------------------------------------------- */

static void hear(struct tt_host_ctx *ctx, const struct tt_call *call, const struct tt_owned *owned)
{
    struct stand *s = (struct stand *)ctx;
    (void)call;
    str_appendf(&s->told, "%s %s of %s: %s, %s%s\n", owned->kind, owned->name,
                str_or(owned->owner, "?"), str_nonnull(owned->command),
                owned->remove_as == NULL ? "-" : owned->remove_as->name,
                (owned->flags & TT_OWNED_USED) != 0 ? ", used" : "");
}

static const char *command_of(const void *arg, const struct inventory_item *item)
{
    const struct stand *s = arg;
    return arena_printf(s->a, "rm %s", item->name);
}

static const struct tt_service *remover_of(const void *arg, const struct inventory_unit *unit)
{
    const struct stand *s = arg;
    return inventory_service(s->a, unit->items[0]->key, "");
}

static void report__used_items__have_no_remover(void **state)
{
    static const struct inventory_words words[] = {{"rule", "free"}, {NULL, NULL}};
    struct stand *s = *state;
    const struct tt_host host = {
        .size = sizeof host, .ctx = (struct tt_host_ctx *)s, .report_resource = hear};
    const struct inventory_report r = {
        .host = &host, .words = words, .command = command_of, .remover = remover_of, .arg = s};
    put(s, 0, "u", "one", "ns/web");
    put(s, 1, "u", "two", NULL);
    s->inv.items[1]->used = true;
    inventory_settle(&s->inv);
    inventory_report(&s->inv, &r);
    assert_string_equal(str_buf_text(&s->told), "rule one of ns/web: rm one, web\n"
                                                "resource two of ns/web: rm two, -, used\n");
}

#define STAND_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(inventory)
{
    const struct CMUnitTest tests[] = {
        STAND_TEST(settle__parts_of_a_unit__sorted_with_the_first_owner),
        STAND_TEST(settle__shared__each_a_unit_of_its_own),
        STAND_TEST(add__over_the_cap__is_an_error),
        STAND_TEST(service__of_a_name__has_that_name_again),
        STAND_TEST(report__used_items__have_no_remover),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
