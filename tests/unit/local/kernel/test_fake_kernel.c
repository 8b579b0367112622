/* SPDX-License-Identifier: Apache-2.0 */
/* test_fake_kernel.c: the faults of the kernel in memory: refused, lost, dead; what it answers
 * otherwise is compared with a real kernel by tests/local/kernel_test.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "tests/support/fake_kernel.h"
#include "tests/support/unit.h"

static struct local_kernel *kernel(void)
{
    const struct local_rt_args args = {.protocol = 116, .table = 116};
    return fake_kernel_new(&args);
}

static struct local_route hold(const char *text)
{
    struct local_route r = {.kind = LOCAL_ROUTE_HOLD};
    assert_true(ip_parse(text, &r.addr));
    return r;
}

static int add(struct local_kernel *k, const char *text, struct err *err)
{
    struct local_route r = hold(text);
    int code;
    return k->ops->routes_change(k, false, &r, 1, &code, err);
}

static size_t held(struct local_kernel *k)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct local_route *items;
    size_t n = 99;
    assert_int_equal(k->ops->routes(k, a, &items, &n, NULL), ERR_OK);
    return n;
}

static void refuse__second_step__nothing_is_done(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct local_kernel *k = kernel();
    fake_kernel_plan(
        k, &(struct fake_kernel_plan){.fault = FAKE_KERNEL_REFUSE, .step = 2, .code = ERR_AUTH});
    assert_int_equal(add(k, "192.0.2.1", &err), ERR_OK);
    assert_int_equal(add(k, "192.0.2.2", &err), ERR_AUTH);
    assert_int_equal(fake_kernel_steps(k), 2);
    err_clear(&err);
    assert_int_equal(held(k), 1);
    assert_int_equal(add(k, "192.0.2.2", &err), ERR_OK);
    k->ops->free(k);
}

static void lose__first_step__it_is_done(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct local_kernel *k = kernel();
    fake_kernel_plan(k, &(struct fake_kernel_plan){.fault = FAKE_KERNEL_LOSE, .step = 1});
    assert_int_equal(add(k, "192.0.2.1", &err), ERR_TRANSIENT);
    assert_string_equal(err.message, "the kernel's answers are lost (ENOBUFS)");
    assert_int_equal(held(k), 1);
    k->ops->free(k);
}

struct death {
    struct local_kernel *k;
    size_t seen;
    jmp_buf *back;
};

static void die(void *arg)
{
    struct death *d = arg;
    longjmp(*d->back, 1);
}

static void die__before_and_after__state_stays(void **state)
{
    (void)state;
    static const struct {
        enum fake_kernel_fault fault;
        size_t want;
    } rows[] = {{FAKE_KERNEL_DIE_BEFORE, 0}, {FAKE_KERNEL_DIE_AFTER, 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        jmp_buf back;
        struct local_kernel *k = kernel();
        struct death d = {.k = k, .back = &back};
        fake_kernel_plan(k, &(struct fake_kernel_plan){
                                .fault = rows[i].fault, .step = 1, .die = die, .arg = &d});
        if (setjmp(back) == 0) {
            (void)add(k, "192.0.2.1", NULL); /* never returns */
            fail_msg("the call came back");
        }
        fake_kernel_plan(k, &(struct fake_kernel_plan){0});
        assert_int_equal(held(k), rows[i].want);
        k->ops->free(k);
    }
}

static void count(void *arg, struct local_kernel *k)
{
    (void)k;
    ++*(unsigned *)arg;
}

static void watch__is_called_around_each_step(void **state)
{
    (void)state;
    unsigned n = 0;
    struct local_kernel *k = kernel();
    fake_kernel_watch(k, count, &n);
    assert_int_equal(add(k, "192.0.2.1", NULL), ERR_OK);
    assert_int_equal(n, 2);
    k->ops->free(k);
}

static void world__foreign_things__stand_in_the_way(void **state)
{
    (void)state;
    struct local_kernel *k = kernel();
    struct local_nft_table table;
    struct local_route foreign = hold("192.0.2.9");
    const struct local_nft_table_args args = {
        .instance = "trimtab", .director = "d1", .mark_bit = 0x2000};
    fake_kernel_foreign_table(k, "trimtab");
    assert_int_equal(k->ops->nft_look(k, "trimtab", &table, NULL), ERR_OK);
    assert_true(table.exists && !table.ours);
    assert_int_equal(k->ops->nft_make(k, &args, NULL), ERR_CONFLICT);
    fake_kernel_foreign_route(k, &foreign);
    assert_int_equal(add(k, "192.0.2.9", NULL), ERR_IN_USE);
    assert_int_equal(held(k), 0);
    k->ops->free(k);
}

static void world__time_neighbours_connections(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
    struct local_kernel *k = kernel();
    struct ip_addr vip = hold("192.0.2.9").addr, target = hold("10.0.0.1").addr;
    struct local_link *links;
    struct local_link_addr *addrs;
    struct local_probe_answer answer;
    size_t n;
    unsigned ended = 0;
    assert_int_equal(k->ops->links(k, a, &links, &n, NULL), ERR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(k->ops->addr_set(k, 1, &vip, 10000, NULL), ERR_OK);
    fake_kernel_pass(k, 9999);
    assert_int_equal(k->ops->addrs(k, a, &addrs, &n, NULL), ERR_OK);
    assert_int_equal(n, 1);
    fake_kernel_pass(k, 1);
    assert_int_equal(k->ops->addrs(k, a, &addrs, &n, NULL), ERR_OK);
    assert_int_equal(n, 0);
    assert_int_equal(k->ops->probe_send(k, &links[1], &vip, NULL), ERR_OK);
    assert_int_equal(k->ops->probe_answer(k, &links[1], &vip, &answer, NULL), ERR_OK);
    assert_false(answer.answered);
    fake_kernel_neighbour(k, &vip, mac);
    assert_int_equal(k->ops->probe_answer(k, &links[1], &vip, &answer, NULL), ERR_OK);
    assert_true(answer.answered);
    assert_int_equal(k->ops->announce(k, &links[1], &vip, 1, NULL), ERR_OK);
    assert_int_equal(fake_kernel_announced(k, &vip), 1);
    const struct local_frontend_id id = {.vip = vip, .protocol = IPPROTO_TCP, .port = 80};
    fake_kernel_connection(k, &id, &target, 30080);
    const struct local_connection gone[] = {{id, target, 30081}, {id, target, 30080}};
    assert_int_equal(k->ops->connections_delete(k, gone, 1, &ended, NULL), ERR_OK);
    assert_int_equal(ended, 0);
    assert_int_equal(k->ops->connections_delete(k, gone, 2, &ended, NULL), ERR_OK);
    assert_int_equal(ended, 1);
    const struct local_connection any = {.id = id};
    fake_kernel_connection(k, &id, &target, 30080);
    assert_int_equal(k->ops->connections_delete(k, &any, 1, &ended, NULL), ERR_OK);
    assert_int_equal(ended, 1);
    k->ops->free(k);
}

UNIT_MAIN(fake_kernel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuse__second_step__nothing_is_done),
        cmocka_unit_test(lose__first_step__it_is_done),
        cmocka_unit_test(die__before_and_after__state_stays),
        cmocka_unit_test(watch__is_called_around_each_step),
        cmocka_unit_test(world__foreign_things__stand_in_the_way),
        cmocka_unit_test(world__time_neighbours_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
