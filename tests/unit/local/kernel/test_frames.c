/* SPDX-License-Identifier: Apache-2.0 */
/* test_frames.c: frames of ARP and neighbour discovery, byte for byte, and what is read
 * from those of others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "providers/local/kernel/frames.h"
#include "tests/support/unit.h"

static const uint8_t mac[LOCAL_MAC_LEN] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};

static struct ip_addr addr(const char *text)
{
    struct ip_addr a;
    assert_true(ip_parse(text, &a));
    return a;
}

static void assert_frame(const struct local_frame *f, const char *want)
{
    char got[2 * LOCAL_FRAME_MAX + 1] = "";
    for (size_t i = 0; i < f->len; i++) {
        snprintf(got + 2 * i, 3, "%02x", f->bytes[i]);
    }
    assert_string_equal(got, want);
}

static void garp__request_and_reply(void **state)
{
    (void)state;
    struct local_frame f;
    struct ip_addr a = addr("203.0.113.5");
    local_frame_garp(&a, mac, false, &f);
    assert_frame(&f, "ffffffffffff525400123456"
                     "0806"
                     "0001080006040001"
                     "525400123456cb007105"
                     "000000000000cb007105");
    local_frame_garp(&a, mac, true, &f);
    assert_frame(&f, "ffffffffffff525400123456"
                     "0806"
                     "0001080006040002"
                     "525400123456cb007105"
                     "525400123456cb007105");
}

static void probe__arp__sender_address_is_zero(void **state)
{
    (void)state;
    struct local_frame f;
    struct ip_addr a = addr("203.0.113.5"), ignored;
    uint8_t who[LOCAL_MAC_LEN];
    local_frame_probe(&a, mac, &f);
    assert_frame(&f, "ffffffffffff525400123456"
                     "0806"
                     "0001080006040001"
                     "52540012345600000000"
                     "000000000000cb007105");
    assert_false(local_frame_claim(f.bytes, f.len, &ignored, who));
}

/* The checksums were reckoned by another program. */
static void nd__advert_and_solicitation(void **state)
{
    (void)state;
    struct local_frame f;
    struct ip_addr a = addr("2001:db8::5");
    local_frame_advert(&a, mac, &f);
    assert_frame(&f, "333300000001525400123456"
                     "86dd"
                     "6000000000203aff"
                     "20010db8000000000000000000000005"
                     "ff020000000000000000000000000001"
                     "8800746720000000"
                     "20010db8000000000000000000000005"
                     "0201525400123456");
    local_frame_probe(&a, mac, &f);
    assert_frame(&f, "3333ff000005525400123456"
                     "86dd"
                     "6000000000183aff"
                     "00000000000000000000000000000000"
                     "ff0200000000000000000001ff000005"
                     "87004ce500000000"
                     "20010db8000000000000000000000005");
}

static void asks__who_has__answered_to_the_asker(void **state)
{
    (void)state;
    struct local_frame f;
    struct ip_addr a = addr("203.0.113.5"), got;
    struct local_asker by;
    local_frame_probe(&a, mac, &f);
    assert_true(local_frame_asks(f.bytes, f.len, &got, &by));
    assert_true(ip_eq(&got, &a));
    memcpy(f.bytes + 28, (const uint8_t[]){203, 0, 113, 9}, 4); /* no probe: a host that wants it */
    assert_true(local_frame_asks(f.bytes, f.len, &got, &by));
    assert_memory_equal(by.mac, mac, sizeof(mac));
    for (size_t n = 0; n < 42; n++) {
        uint8_t *cut = xmalloc(n + 1);
        memcpy(cut, f.bytes, n);
        assert_false(local_frame_asks(cut, n, &got, &by));
        free(cut);
    }
    static const uint8_t own[LOCAL_MAC_LEN] = {2, 0, 0, 0, 0, 1};
    local_frame_answer(&a, own, &by, &f);
    assert_frame(&f, "525400123456020000000001"
                     "0806"
                     "0001080006040002"
                     "020000000001cb007105"
                     "525400123456cb007109");
    assert_false(local_frame_asks(f.bytes, f.len, &got, &by)); /* a reply */
    local_frame_garp(&a, mac, false, &f);
    assert_false(local_frame_asks(f.bytes, f.len, &got, &by)); /* an announcement */
    a = addr("2001:db8::5");
    local_frame_probe(&a, mac, &f);
    assert_false(local_frame_asks(f.bytes, f.len, &got, &by));
}

static void claim__own_frames__are_read_back(void **state)
{
    static const char *const texts[] = {"203.0.113.5", "2001:db8::5"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct local_frame f;
        struct ip_addr a = addr(texts[i]), got;
        uint8_t who[LOCAL_MAC_LEN];
        if (a.len == 4) {
            local_frame_garp(&a, mac, true, &f);
        } else {
            local_frame_advert(&a, mac, &f);
        }
        assert_true(local_frame_claim(f.bytes, f.len, &got, who));
        assert_true(ip_eq(&got, &a));
        assert_memory_equal(who, mac, sizeof(mac));
        for (size_t n = 0; n < (a.len == 4 ? 42u : 78u); n++) {
            uint8_t *cut = xmalloc(n + 1); /* a sanitizer sees a byte that is read behind it */
            memcpy(cut, f.bytes, n);
            assert_false(local_frame_claim(cut, n, &got, who));
            free(cut);
        }
    }
}

static void claim__other_frames__are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        size_t at;
        uint8_t value;
    } rows[] = {{"another type of frame", 13, 0x01},
                {"not Ethernet", 15, 0x06},
                {"not IPv4", 17, 0x01},
                {"MACs of 8 bytes", 18, 8},
                {"addresses of 16", 19, 16}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct local_frame f;
        struct ip_addr a = addr("203.0.113.5"), got;
        uint8_t who[LOCAL_MAC_LEN];
        local_frame_garp(&a, mac, true, &f);
        f.bytes[rows[i].at] = rows[i].value;
        if (local_frame_claim(f.bytes, f.len, &got, who)) {
            fail_msg("%s: read", rows[i].what);
        }
    }
}

UNIT_MAIN(frames)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garp__request_and_reply),
        cmocka_unit_test(probe__arp__sender_address_is_zero),
        cmocka_unit_test(nd__advert_and_solicitation),
        cmocka_unit_test(asks__who_has__answered_to_the_asker),
        cmocka_unit_test(claim__own_frames__are_read_back),
        cmocka_unit_test(claim__other_frames__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
