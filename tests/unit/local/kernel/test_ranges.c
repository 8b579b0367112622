/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranges.c: the copy of source ranges: whose transactions it follows, and when it counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>

#include "common/base/str.h"
#include "providers/local/kernel/nft_ranges.h"
#include "tests/support/unit.h"

static struct local_nft_change change(bool del, uint16_t port, const char *net)
{
    struct local_nft_change c = {.del = del, .e = {.id = {.protocol = IPPROTO_TCP, .port = port}}};
    assert_true(ip_parse("203.0.113.5", &c.e.id.vip));
    assert_true(ip_net_parse(net, &c.e.net));
    c.e.set = c.e.net.prefix == 0 ? LOCAL_NFT_ALL : LOCAL_NFT_FROM;
    return c;
}

static void append(void *arg, const struct local_nft_element *e)
{
    char text[IP_TEXT_MAX];
    ip_net_format(&e->net, text);
    str_appendf(arg, "%s ", text);
}

static void assert_ranges(const struct local_nft_ranges *r, uint16_t port, const char *want)
{
    _cleanup_(str_buf_done) struct str_buf got = STR_BUF_INIT;
    struct local_nft_change c = change(false, port, "0.0.0.0/0");
    local_nft_ranges_each(r, &c.e.id, append, &got);
    assert_string_equal(str_buf_text(&got), want);
}

static void ranges__follow_our_own_transactions(void **state)
{
    (void)state;
    struct local_nft_ranges r = {0};
    const struct local_nft_change first[] = {change(false, 80, "10.0.0.0/8"),
                                             change(false, 80, "10.0.0.0/8"),
                                             change(false, 81, "0.0.0.0/0")};
    const struct local_nft_change second[] = {change(false, 80, "192.0.2.0/24"),
                                              change(true, 80, "10.0.0.0/8"),
                                              change(true, 82, "10.0.0.0/8")};
    local_nft_ranges_follow(&r, "tt", first, 3); /* nothing is known yet */
    assert_false(local_nft_ranges_count(&r, "tt", 1));
    local_nft_ranges_begin(&r, "tt", 7);
    local_nft_ranges_add(&r, &first[0].e);
    assert_true(local_nft_ranges_count(&r, "tt", 7));
    local_nft_ranges_follow(&r, "tt", first, 3);
    assert_true(local_nft_ranges_count(&r, "tt", 8));
    assert_ranges(&r, 80, "10.0.0.0/8 ");
    assert_ranges(&r, 81, ""); /* open for all: the kernel says that itself */
    local_nft_ranges_follow(&r, "tt", second, 3);
    assert_ranges(&r, 80, "192.0.2.0/24 ");
    local_nft_ranges_follow(&r, "other", first, 3);
    assert_ranges(&r, 80, "192.0.2.0/24 ");
    assert_true(local_nft_ranges_count(&r, "tt", 10));
    local_nft_ranges_forget(&r);
}

static void ranges__others_have_changed_something__do_not_count(void **state)
{
    (void)state;
    struct local_nft_ranges r = {0};
    local_nft_ranges_begin(&r, "tt", 7);
    assert_false(local_nft_ranges_count(&r, "tt", 8));
    assert_false(local_nft_ranges_count(&r, "other", 7));
    local_nft_ranges_forget(&r);
    assert_false(local_nft_ranges_count(&r, "tt", 7));
    assert_ranges(&r, 80, "");
}

UNIT_MAIN(ranges)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges__follow_our_own_transactions),
        cmocka_unit_test(ranges__others_have_changed_something__do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
