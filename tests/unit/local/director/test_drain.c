/* SPDX-License-Identifier: Apache-2.0 */
/* test_drain.c: connections to targets that left end after their time, unless the
 * target is back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "providers/local/director/director.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/unit.h"

struct row {
    const char *what;
    int64_t after_ms;
    int64_t back_ms; /* when it is a target again; 0: never */
    int64_t look_ms;
    int refused;    /* the request to the kernel of this number is; 0: none */
    unsigned stays; /* connections that are there then */
};

/* How many connections an end of all would find. */
static unsigned left(struct local_kernel *k, const struct local_connection *c)
{
    struct err err = ERR_INIT;
    unsigned n = 99;

    assert_int_equal(k->ops->connections_delete(k, c, 1, &n, &err), ERR_OK);
    return n;
}

static void drain__target_left__connections_end_in_time(void **state)
{
    static const struct row rows[] = {
        {"before its time", 60000, 0, 59999, 0, 1},
        {"L12: at its time", 60000, 0, 60000, 0, 0},
        {"L13: at once", 0, 0, 0, 0, 0},
        {"L15: back before", 60000, 30000, 200000, 0, 1},
        {"the kernel refuses once", 60000, 0, 60999, 1, 1},
        {"the kernel refuses once, a second later", 60000, 0, 61000, 1, 0},
    };
    const struct local_rt_args rt = {.protocol = 116, .table = 116};
    struct local_connection c = {.id = {.protocol = 6, .port = 80}, .port = 30080};
    struct local_target target = {.port = 30080};

    (void)state;
    assert_true(ip_parse("192.0.2.50", &c.id.vip) && ip_parse("10.1.0.1", &c.target));
    target.addr = c.target;
    const struct local_target_set targets = {.items = &target, .n = 1};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct clock *clock = clock_fake_new(1000, 0);
        const struct local_director_args args = {
            .kernel = fake_kernel_new(&rt), .clock = clock, .rng = rng_real()};
        struct local_director *d = local_director_new(&args);
        fake_kernel_connection(args.kernel, &c.id, &c.target, c.port);
        (void)local_director_turn(d);
        local_director_drain(d, &c, rows[i].after_ms);
        bool refused = false;
        for (int64_t now = 0; now < rows[i].look_ms;) {
            int64_t wait = local_director_turn(d) - 1000 - now;
            bool back = rows[i].back_ms > now && rows[i].back_ms <= now + wait;
            wait = back ? rows[i].back_ms - now : wait;
            wait = now + wait > rows[i].look_ms ? rows[i].look_ms - now : wait;
            now += wait;
            clock_fake_advance(clock, wait);
            if (back) {
                local_director_stays(d, &c.id, &targets);
            }
            if (rows[i].refused > 0 && now >= rows[i].after_ms && !refused) {
                refused = true; /* the first request of this turn looks at links */
                fake_kernel_plan(args.kernel,
                                 &(struct fake_kernel_plan){.fault = FAKE_KERNEL_REFUSE,
                                                            .step = 2,
                                                            .code = ERR_TRANSIENT});
            }
        }
        (void)local_director_turn(d);
        assert_int_equal(left(args.kernel, &c), rows[i].stays);
        local_director_free(d);
        clock_fake_free(clock);
    }
}

static void count_news(void *arg, const struct local_news *news)
{
    unsigned *n = arg;

    *n += news->text != NULL && strstr(news->text, "has no ctnetlink") != NULL;
}

static void drain__kernel_cannot__is_told_once_and_not_asked_each_second(void **state)
{
    const struct local_rt_args rt = {.protocol = 116, .table = 116};
    struct clock *clock = clock_fake_new(1000, 0);
    unsigned told = 0;
    const struct local_director_args args = {.kernel = fake_kernel_new(&rt),
                                             .clock = clock,
                                             .rng = rng_real(),
                                             .tell = count_news,
                                             .arg = &told};
    struct local_director *d = local_director_new(&args);
    struct local_connection c = {.id = {.protocol = 6, .port = 80}, .port = 30080};

    (void)state;
    assert_true(ip_parse("192.0.2.50", &c.id.vip) && ip_parse("10.1.0.1", &c.target));
    fake_kernel_no_ctnetlink(args.kernel, true);
    for (int i = 0; i < 3; i++) {
        c.port++;
        local_director_drain(d, &c, 1000);
        clock_fake_advance(clock, 1000);
        (void)local_director_turn(d);
        assert_int_equal(local_director_draining(d), 0);
        assert_int_equal(args.kernel->ops->requests(args.kernel, "ct"), (uint64_t)i + 1);
    }
    assert_int_equal(told, 1);
    local_director_free(d);
    clock_fake_free(clock);
}

UNIT_MAIN(drain)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drain__target_left__connections_end_in_time),
        cmocka_unit_test(drain__kernel_cannot__is_told_once_and_not_asked_each_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
