/* SPDX-License-Identifier: Apache-2.0 */
/* test_announce.c: when addresses are announced: the schedule alone, and turns of a director over
 * the kernel in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/str.h"
#include "providers/local/director/director_internal.h"
#include "tests/support/clock_fake.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/unit.h"

static const uint8_t other_mac[6] = {0x52, 0x54, 0, 1, 2, 3};

/* ---- the schedule ---------------------------------------------------------------------------- */

struct row {
    bool probe;
    int64_t refresh_ms;
    const uint8_t *mac; /* of another host that answers; NULL: none does */
    int64_t again_ms;   /* when the link comes back; 0: never */
    int64_t until_ms;
    const char *acts; /* p probe, l listen, a announce, each with its moment */
};

static void run_row(const struct row *r)
{
    static const char letters[] = "-pla";
    struct local_announcement e = {.refresh_ms = r->refresh_ms};
    struct str_buf b = STR_BUF_INIT;
    bool again = r->again_ms == 0;

    local_announcement_begin(&e, r->probe, 0);
    while ((again ? e.next_ms : r->again_ms) <= r->until_ms) {
        if (!again && e.next_ms >= r->again_ms) {
            again = true;
            local_announcement_again(&e, r->again_ms);
        }
        int64_t now = e.next_ms;
        enum local_announce_act due = local_announcement_due(&e, now);
        assert_int_equal(local_announcement_due(&e, now - 1), LOCAL_ACT_NOTHING);
        str_appendf(&b, "%s%c%lld", b.len == 0 ? "" : " ", letters[due], (long long)now);
        if (due == LOCAL_ACT_LISTEN) {
            local_announcement_heard(&e, r->mac, now);
        } else {
            local_announcement_did(&e, due, now);
        }
    }
    assert_string_equal(b.data, r->acts);
    str_buf_done(&b);
}

static void schedule__acts__at_their_moments(void **state)
{
    static const struct row rows[] = {
        /* Takeover of an address that was held before, then each minute. */
        {false, 60000, NULL, 0, 125000, "a0 a100 a1000 a2000 a5000 a65000 a125000"},
        /* Without refresh: on changes only. */
        {false, 0, NULL, 0, 1000000, "a0 a100 a1000 a2000 a5000"},
        /* A new address: three probes, then the burst. */
        {true, 60000, NULL, 0, 6000, "p0 p200 p400 l600 a600 a700 a1600 a2600 a5600"},
        /* L28: another host answers: never announced, asked again each minute. */
        {true, 60000, other_mac, 0, 61000, "p0 p200 p400 l600 p60600 p60800 p61000"},
        /* L26, L27: the link is back, or has another MAC. */
        {false, 60000, NULL, 30000, 36000,
         "a0 a100 a1000 a2000 a5000 a30000 a30100 a31000 a32000 a35000"},
        {false, 60000, NULL, 500, 3000, "a0 a100 a500 a600 a1500 a2500"},
        /* An address in use is asked for at once when the link is back: it may
         * be another network. */
        {true, 60000, other_mac, 1000, 2000, "p0 p200 p400 l600 p1000 p1200 p1400 l1600"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        run_row(&rows[i]);
    }
}

static void schedule__thread_late__skips_what_it_missed(void **state)
{
    struct local_announcement e = {.refresh_ms = 60000};

    (void)state;
    local_announcement_begin(&e, false, 0);
    local_announcement_did(&e, LOCAL_ACT_ANNOUNCE, 1500);
    assert_int_equal(e.next_ms, 2000);
    local_announcement_did(&e, LOCAL_ACT_ANNOUNCE, 9000);
    assert_int_equal(e.next_ms, 69000);
}

static void pace__second_full__waits_for_the_next(void **state)
{
    struct local_pace p = {0};
    int64_t when = 0;

    (void)state;
    for (int i = 0; i < LOCAL_FRAMES_PER_S / 2; i++) {
        assert_true(local_pace_take(&p, 2, 5000 + i, &when));
    }
    assert_false(local_pace_take(&p, 1, 5999, &when));
    assert_int_equal(when, 6000);
    assert_true(local_pace_take(&p, 2, 6000, &when));
}

/* ---- turns ----------------------------------------------------------------------------------- */

struct rig {
    struct clock *clock;
    struct local_kernel *kernel;
    struct local_director *director;
    struct local_link eth0;
    char told[300]; /* the last news */
    unsigned n_told;
    unsigned n_counted;
    unsigned n_answers;
};

static void tell(void *arg, const struct local_news *news)
{
    struct rig *r = arg;

    if (news->text == NULL) {
        (void)snprintf(r->told, sizeof r->told, "%s is otherwise", news->service);
    } else {
        (void)snprintf(r->told, sizeof r->told, "%s %s: %s", news->service, news->reason,
                       news->text);
    }
    r->n_told++;
}

static void count(void *arg, const char *counter, const char *first, const char *second, unsigned n)
{
    (void)second;
    assert_string_equal(counter, "local_announcements_total");
    if (str_eq(first, "answer")) {
        ((struct rig *)arg)->n_answers += n;
        return;
    }
    assert_string_equal(first, "arp");
    ((struct rig *)arg)->n_counted += n;
}

static void rig_init(struct rig *r)
{
    const struct local_rt_args rt = {.protocol = 116, .table = 116};

    *r = (struct rig){.clock = clock_fake_new(1000, 0), .kernel = fake_kernel_new(&rt)};
    const struct local_director_args args = {.kernel = r->kernel,
                                             .clock = r->clock,
                                             .rng = rng_real(),
                                             .tell = tell,
                                             .count = count,
                                             .arg = r};
    r->director = local_director_new(&args);
    r->eth0 = (struct local_link){.index = 2, .name = "eth0", .up = true, .ethernet = true};
}

static void rig_done(struct rig *r)
{
    local_director_free(r->director);
    clock_fake_free(r->clock);
}

static struct ip_addr addr(const char *text)
{
    struct ip_addr a;

    assert_true(ip_parse(text, &a));
    return a;
}

static void order(struct rig *r, const char *text, bool probe)
{
    const struct local_link *links[] = {&r->eth0};
    const struct local_announce_order o = {.addr = addr(text),
                                           .links = links,
                                           .n_links = 1,
                                           .refresh_ms = 60000,
                                           .probe = probe,
                                           .owner = "demo/web"};

    local_director_announce(r->director, &o);
}

/* Makes turns for `ms`, each when the last one asked for it. */
static void pass(struct rig *r, int64_t ms)
{
    int64_t end = clock_now_ms(r->clock) + ms;
    int64_t next = local_director_turn(r->director);

    while (next <= end) {
        int64_t now = clock_now_ms(r->clock);
        assert_true(next > now);
        clock_fake_advance(r->clock, next - now);
        next = local_director_turn(r->director);
    }
    clock_fake_advance(r->clock, end - clock_now_ms(r->clock));
}

static unsigned announced(const struct rig *r, const char *text)
{
    struct ip_addr a = addr(text);

    return fake_kernel_announced(r->kernel, &a);
}

static void turns__new_address__probed_then_announced(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    order(&r, "192.0.2.50", true);
    order(&r, "192.0.2.51", false);
    pass(&r, 599);
    assert_int_equal(announced(&r, "192.0.2.50"), 0);
    assert_int_equal(announced(&r, "192.0.2.51"), 2);
    pass(&r, 6000);
    assert_int_equal(announced(&r, "192.0.2.50"), 5);
    pass(&r, 60000);
    assert_int_equal(announced(&r, "192.0.2.50"), 6);
    assert_int_equal(announced(&r, "192.0.2.51"), 6);
    assert_int_equal(r.n_counted, 12);
    assert_int_equal(r.n_told, 0);
    rig_done(&r);
}

static bool answers(struct rig *r, const char *text)
{
    struct ip_addr a = addr(text);
    unsigned before = fake_kernel_answered(r->kernel);

    fake_kernel_ask(r->kernel, &a);
    (void)local_director_turn(r->director);
    return fake_kernel_answered(r->kernel) > before;
}

/* F12: by what the kernel makes of arp_ignore. */
static void turns__arp_ignore__answered_in_place_of_the_kernel(void **state)
{
    static const struct {
        int64_t all, own;
        bool ours;
    } rows[] = {{0, 0, false}, {1, 0, true},  {0, 1, true},  {2, 1, true}, {3, 0, true},
                {8, 0, true},  {0, 4, false}, {1, 5, false}, {0, 9, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig r;
        rig_init(&r);
        fake_kernel_sysctl(r.kernel, "net.ipv4.conf.all.arp_ignore", rows[i].all);
        fake_kernel_sysctl(r.kernel, "net.ipv4.conf.eth0.arp_ignore", rows[i].own);
        order(&r, "192.0.2.50", false);
        pass(&r, 100);
        assert_int_equal(answers(&r, "192.0.2.50"), rows[i].ours);
        assert_int_equal(r.n_answers, rows[i].ours);
        rig_done(&r);
    }
}

static void turns__arp_ignore__which_addresses_and_for_how_long(void **state)
{
    struct rig r;
    struct ip_addr a = addr("192.0.2.50");
    struct ip_addr taken = addr("192.0.2.52");

    (void)state;
    rig_init(&r);
    fake_kernel_sysctl(r.kernel, "net.ipv4.conf.eth0.arp_ignore", 1);
    fake_kernel_neighbour(r.kernel, &taken, other_mac);
    assert_false(answers(&r, "192.0.2.50"));
    order(&r, "192.0.2.50", false);
    order(&r, "192.0.2.51", true);
    order(&r, "192.0.2.52", true);
    pass(&r, 100);
    assert_true(answers(&r, "192.0.2.50"));
    assert_false(answers(&r, "192.0.2.51")); /* it is probed */
    assert_false(answers(&r, "192.0.2.99"));
    pass(&r, 1000);
    assert_true(answers(&r, "192.0.2.51"));
    assert_false(answers(&r, "192.0.2.52")); /* another host has it */
    fake_kernel_sysctl(r.kernel, "net.ipv4.conf.eth0.arp_ignore", 0);
    pass(&r, 10000);
    assert_false(answers(&r, "192.0.2.50")); /* the kernel does */
    fake_kernel_sysctl(r.kernel, "net.ipv4.conf.eth0.arp_ignore", 2);
    pass(&r, 10000);
    assert_true(answers(&r, "192.0.2.50"));
    local_director_withdraw(r.director, &a);
    assert_false(answers(&r, "192.0.2.50"));
    rig_done(&r);
}

static void turns__withdrawn__no_more(void **state)
{
    struct rig r;
    struct ip_addr a = addr("192.0.2.50");

    (void)state;
    rig_init(&r);
    order(&r, "192.0.2.50", false);
    pass(&r, 500);
    local_director_withdraw(r.director, &a);
    pass(&r, 100000);
    assert_int_equal(announced(&r, "192.0.2.50"), 2);
    assert_false(local_director_announced(r.director, &a).known);
    rig_done(&r);
}

static void turns__address_of_another_host__told_and_not_announced(void **state)
{
    struct rig r;
    struct ip_addr a = addr("192.0.2.50");

    (void)state;
    rig_init(&r);
    fake_kernel_neighbour(r.kernel, &a, other_mac);
    order(&r, "192.0.2.50", true);
    pass(&r, 59000);
    assert_int_equal(announced(&r, "192.0.2.50"), 0);
    assert_int_equal(r.n_told, 1);
    assert_string_equal(r.told, "demo/web AddressInUse: 192.0.2.50 answers from "
                                "52:54:00:01:02:03; not announced");
    struct local_announce_state st = local_director_announced(r.director, &a);
    assert_true(st.in_use && !st.probing);
    assert_int_equal(st.ago_ms, -1);
    fake_kernel_neighbour(r.kernel, &a, NULL);
    pass(&r, 3000); /* probed again after a minute */
    assert_int_equal(r.n_told, 2);
    assert_string_equal(r.told, "demo/web is otherwise");
    assert_false(local_director_announced(r.director, &a).in_use);
    pass(&r, 120000);
    assert_int_equal(r.n_told, 2);
    rig_done(&r);
}

static void turns__link_down_and_up__announced_again(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    order(&r, "192.0.2.50", false);
    pass(&r, 10000);
    assert_int_equal(announced(&r, "192.0.2.50"), 5);
    r.eth0.up = false; /* L26 */
    fake_kernel_link(r.kernel, &r.eth0);
    pass(&r, 100000);
    assert_int_equal(announced(&r, "192.0.2.50"), 5);
    assert_int_equal(r.n_told, 1);
    assert_string_equal(r.told,
                        "demo/web InterfaceDown: 192.0.2.50 is not announced on eth0: it has no "
                        "carrier");
    r.eth0.up = true;
    fake_kernel_link(r.kernel, &r.eth0);
    pass(&r, 7000);
    assert_int_equal(announced(&r, "192.0.2.50"), 10);
    r.eth0.mac[5] = 7; /* L27 */
    fake_kernel_link(r.kernel, &r.eth0);
    pass(&r, 7000);
    assert_int_equal(announced(&r, "192.0.2.50"), 15);
    rig_done(&r);
}

static void turns__kernel_refuses__told(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    (void)local_director_turn(r.director);
    order(&r, "192.0.2.50", false);
    fake_kernel_plan(r.kernel, &(struct fake_kernel_plan){
                                   .fault = FAKE_KERNEL_REFUSE, .step = 1, .code = ERR_AUTH});
    pass(&r, 500);
    assert_int_equal(r.n_told, 1);
    assert_non_null(strstr(r.told, "not announced on eth0: refused by a test"));
    assert_int_equal(announced(&r, "192.0.2.50"), 1);
    rig_done(&r);
}

static void turns__many_addresses__first_at_once_rest_paced(void **state)
{
    struct rig r;
    char text[IP_TEXT_MAX];

    (void)state;
    rig_init(&r);
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(text, sizeof text, "10.0.%d.%d", i / 250, i % 250 + 1);
        order(&r, text, false);
    }
    (void)local_director_turn(r.director);
    assert_int_equal(r.n_counted, 2000);
    pass(&r, 1099); /* of the second announcement, 1,000 frames are 500 addresses */
    assert_in_range(r.n_counted, 2500, 3000);
    rig_done(&r);
}

/* Was the thread asked for a turn since the last question? */
static bool woken(const struct rig *r)
{
    char bytes[8];

    return read(r->director->wake[0], bytes, sizeof bytes) > 0;
}

static void follow(struct rig *r, const char *text, const struct local_link *link)
{
    const struct local_link *links[] = {link};
    const struct local_announce_order o = {
        .addr = addr(text), .links = links, .n_links = 1, .refresh_ms = 60000};

    local_director_follow_links(r->director, &o);
}

/* Each sync of each Service asks. */
static void follow_links__the_same_ones__no_turn_is_made(void **state)
{
    struct rig r;
    const struct local_link eth1 = {.index = 3, .name = "eth1", .up = true, .ethernet = true};
    struct ip_addr a = addr("10.0.0.7");

    (void)state;
    rig_init(&r);
    order(&r, "10.0.0.7", false);
    assert_true(woken(&r));
    follow(&r, "10.0.0.7", &r.eth0);
    follow(&r, "10.0.0.8", &r.eth0); /* not announced */
    assert_false(woken(&r));
    follow(&r, "10.0.0.7", &eth1);
    assert_true(woken(&r));
    local_director_again(r.director, &a);
    assert_true(woken(&r));
    rig_done(&r);
}

UNIT_MAIN(announce)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule__acts__at_their_moments),
        cmocka_unit_test(schedule__thread_late__skips_what_it_missed),
        cmocka_unit_test(pace__second_full__waits_for_the_next),
        cmocka_unit_test(turns__new_address__probed_then_announced),
        cmocka_unit_test(turns__arp_ignore__answered_in_place_of_the_kernel),
        cmocka_unit_test(turns__arp_ignore__which_addresses_and_for_how_long),
        cmocka_unit_test(turns__withdrawn__no_more),
        cmocka_unit_test(turns__address_of_another_host__told_and_not_announced),
        cmocka_unit_test(turns__link_down_and_up__announced_again),
        cmocka_unit_test(turns__kernel_refuses__told),
        cmocka_unit_test(turns__many_addresses__first_at_once_rest_paced),
        cmocka_unit_test(follow_links__the_same_ones__no_turn_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
