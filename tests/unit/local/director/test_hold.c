/* SPDX-License-Identifier: Apache-2.0 */
/* test_hold.c: addresses that a director holds for a time only: turns over the kernel in memory,
 * with whose they are as the test says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "providers/local/director/director.h"
#include "tests/support/clock_fake.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/unit.h"

#define LIFETIME_MS 10000

static const uint8_t other_mac[6] = {0x52, 0x54, 0, 1, 2, 3};

struct fixture {
    struct local_kernel *kernel;
    struct clock *clock;
    struct rng *rng;
    struct local_director *d;
    struct local_sharing sharing;
    struct ip_addr vip;
    bool mine;
    int64_t until_ms;
    enum local_heard_answer answer;
    unsigned dropped, heard;
    char told[200];
};

static int64_t turn(void *arg, int64_t now_ms)
{
    const struct fixture *f = arg;

    (void)now_ms;
    return f->until_ms;
}

static bool holds(void *arg, const struct ip_addr *addr)
{
    const struct fixture *f = arg;

    return f->mine && ip_eq(addr, &f->vip);
}

static void look(void *arg, struct local_kernel *k, const struct local_link *links, size_t n)
{
    (void)arg;
    (void)k;
    (void)links;
    assert_int_equal(n, 2);
}

static void dropping(void *arg)
{
    (void)arg;
}

static void dropped(void *arg)
{
    struct fixture *f = arg;

    f->dropped++;
}

static enum local_heard_answer heard(void *arg, const struct ip_addr *addr, int64_t now_ms)
{
    struct fixture *f = arg;

    (void)now_ms;
    assert_true(ip_eq(addr, &f->vip));
    f->heard++;
    return f->answer;
}

static void tell(void *arg, const struct local_news *news)
{
    struct fixture *f = arg;

    (void)snprintf(f->told, sizeof f->told, "%s", news->text);
}

static int set_up(void **state)
{
    static struct fixture f;
    const struct local_rt_args rt = {.protocol = 116, .table = 116};
    const struct local_link eth0 = {
        .index = 2, .name = "eth0", .up = true, .mac = {2, 0, 0, 0, 0, 2}, .ethernet = true};

    f = (struct fixture){.kernel = fake_kernel_new(&rt),
                         .clock = clock_fake_new(1000000, 0),
                         .rng = rng_seeded_new(1)};
    assert_true(ip_parse("192.0.2.5", &f.vip));
    f.sharing = (struct local_sharing){.turn = turn,
                                       .holds = holds,
                                       .look = look,
                                       .dropping = dropping,
                                       .dropped = dropped,
                                       .heard = heard,
                                       .arg = &f,
                                       .renew_ms = 3000};
    const struct local_director_args args = {.kernel = f.kernel,
                                             .clock = f.clock,
                                             .rng = f.rng,
                                             .tell = tell,
                                             .arg = &f,
                                             .sharing = &f.sharing};
    f.d = local_director_new(&args);
    const struct local_link *links[] = {&eth0};
    const struct local_announce_order order = {
        .addr = f.vip, .links = links, .n_links = 1, .refresh_ms = 60000, .owner = "demo/web"};
    local_director_offer(f.d, &f.vip, 1);
    local_director_announce(f.d, &order);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    local_director_free(f->d); /* and the kernel */
    clock_fake_free(f->clock);
    rng_free(f->rng);
    return 0;
}

/* Time goes by, for the kernel too, and the director makes a turn. */
static void pass(struct fixture *f, int64_t ms)
{
    clock_fake_advance(f->clock, ms);
    fake_kernel_pass(f->kernel, ms);
    (void)local_director_turn(f->d);
}

/* Seconds of its lifetime that are left; -1: the kernel does not have it. */
static int64_t left_s(struct fixture *f)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct local_link_addr *addrs = NULL;
    size_t n = 0;

    assert_int_equal(f->kernel->ops->addrs(f->kernel, a, &addrs, &n, NULL), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        if (ip_eq(&addrs[i].net.addr, &f->vip)) {
            return addrs[i].valid_ms / 1000;
        }
    }
    return -1;
}

static void take(struct fixture *f)
{
    f->mine = true;
    f->until_ms = clock_now_ms(f->clock) + LIFETIME_MS;
    pass(f, 0);
}

static void hold__taken_renewed_and_let_go(void **state)
{
    struct fixture *f = *state;

    pass(f, 0);
    assert_int_equal(left_s(f), -1);
    assert_int_equal(fake_kernel_announced(f->kernel, &f->vip), 0);
    take(f);
    assert_int_equal(left_s(f), 10);
    assert_int_equal(fake_kernel_announced(f->kernel, &f->vip), 1); /* at once, without a probe */
    pass(f, 3000);
    assert_int_equal(left_s(f), 7); /* not renewed: `until` is as it was */
    f->until_ms += 3000;
    pass(f, 0);
    assert_int_equal(left_s(f), 10);
    f->mine = false;
    f->dropped = 0;
    pass(f, 0);
    assert_int_equal(left_s(f), -1);
    assert_int_equal(f->dropped, 1);
    unsigned before = fake_kernel_announced(f->kernel, &f->vip);
    pass(f, 120000);
    assert_int_equal(fake_kernel_announced(f->kernel, &f->vip), before);
    take(f);
    assert_int_equal(fake_kernel_announced(f->kernel, &f->vip), before + 1); /* a new burst */
}

static void hold__lease_runs_out__gone_and_not_set_for_a_moment(void **state)
{
    struct fixture *f = *state;

    take(f);
    pass(f, 9500);
    assert_int_equal(left_s(f), -1); /* what is left is less than the kernel can count */
    pass(f, 1000);
    assert_int_equal(left_s(f), -1);
}

static void hold__kernel_refuses__dropped_only_when_gone(void **state)
{
    struct fixture *f = *state;
    const struct fake_kernel_plan refuse = {
        .fault = FAKE_KERNEL_REFUSE, .step = 1, .code = ERR_TRANSIENT};

    take(f);
    f->mine = false;
    f->dropped = 0;
    fake_kernel_plan(f->kernel, &refuse);
    pass(f, 0);
    assert_int_equal(f->dropped, 0);
    assert_non_null(strstr(f->told, "addresses could not be let go"));
    pass(f, 100);
    assert_int_equal(f->dropped, 1);
    assert_int_equal(left_s(f), -1);
}

static void hold__another_host_claims_it__defended_once_a_second_or_given_up(void **state)
{
    struct fixture *f = *state;

    take(f);
    pass(f, 6000); /* the burst is over */
    unsigned before = fake_kernel_announced(f->kernel, &f->vip);
    f->until_ms = clock_now_ms(f->clock) + LIFETIME_MS;
    f->answer = LOCAL_HEARD_DEFEND;
    fake_kernel_claim(f->kernel, &f->vip, other_mac);
    fake_kernel_claim(f->kernel, &f->vip, other_mac);
    pass(f, 0);
    assert_int_equal(f->heard, 1);
    assert_int_equal(fake_kernel_announced(f->kernel, &f->vip), before + 1);
    assert_string_equal(f->told, "192.0.2.5 is claimed by 52:54:00:01:02:03; this director holds "
                                 "it and announces it again");
    pass(f, 1000);
    f->answer = LOCAL_HEARD_YIELD;
    f->mine = false; /* as the rules say from then on */
    fake_kernel_claim(f->kernel, &f->vip, other_mac);
    pass(f, 0);
    assert_int_equal(left_s(f), -1);
    assert_non_null(strstr(f->told, "does not reach the API server and lets it go"));
}

static void hold__taken_back__gone_when_it_returns(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;

    take(f);
    assert_int_equal(local_director_take_back(f->d, &f->vip, 2, &err), ERR_OK);
    assert_int_equal(left_s(f), 10); /* another link: it was offered again */
    assert_int_equal(local_director_take_back(f->d, &f->vip, 1, &err), ERR_OK);
    assert_int_equal(left_s(f), -1);
    pass(f, 1000);
    assert_int_equal(left_s(f), -1);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

UNIT_MAIN(hold)
{
    const struct CMUnitTest tests[] = {
        T(hold__taken_renewed_and_let_go),
        T(hold__lease_runs_out__gone_and_not_set_for_a_moment),
        T(hold__kernel_refuses__dropped_only_when_gone),
        T(hold__another_host_claims_it__defended_once_a_second_or_given_up),
        T(hold__taken_back__gone_when_it_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
