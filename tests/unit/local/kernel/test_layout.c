/* SPDX-License-Identifier: Apache-2.0 */
/* test_layout.c: sets, keys and values of our table, and the notes by which nft prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "providers/local/kernel/nft_layout.h"
#include "tests/support/unit.h"

static void hex(const uint8_t *bytes, size_t n, char *out)
{
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

static struct local_nft_element element(enum local_nft_set set, const char *vip, const char *net)
{
    struct local_nft_element e = {.set = set, .id = {.protocol = IPPROTO_TCP, .port = 80}};
    if (set != LOCAL_NFT_SCOPE) {
        assert_true(ip_parse(vip, &e.id.vip));
    }
    if (net != NULL) {
        assert_true(ip_net_parse(net, &e.net));
    }
    if (set == LOCAL_NFT_SLOT) {
        e.hash = true;
        e.m = 16;
        e.slot = 9;
        e.target = e.id.vip;
        e.target.bytes[e.target.len - 1] = 77;
        e.target_port = 30080;
    }
    return e;
}

/* 9 as the machine keeps it in 4 bytes. */
static const char *slot_hex(void)
{
    const uint32_t nine = 9;
    return *(const uint8_t *)&nine == 9 ? "09000000" : "00000009";
}

struct key_row {
    enum local_nft_set set;
    const char *vip, *net, *key, *last;
};
static const struct key_row key_rows[] = {
    {LOCAL_NFT_SCOPE, NULL, "10.0.0.0/29", "0a000000", "0a000008"},
    {LOCAL_NFT_SCOPE, NULL, "255.255.0.0/16", "ffff0000", ""}, /* no end */
    {LOCAL_NFT_SCOPE, NULL, "0.0.0.0/0", "00000000", ""},
    {LOCAL_NFT_VIP, "203.0.113.5", NULL, "cb007105", "cb007105"},
    {LOCAL_NFT_ALL, "203.0.113.5", NULL,
     "cb007105"
     "06000000"
     "00500000",
     "cb007105"
     "06000000"
     "00500000"},
    {LOCAL_NFT_FROM, "203.0.113.5", "192.0.2.0/24",
     "cb007105"
     "06000000"
     "00500000"
     "c0000200",
     "cb007105"
     "06000000"
     "00500000"
     "c00002ff"},
    {LOCAL_NFT_ALSO, "203.0.113.5", "192.0.2.1/32",
     "cb007105"
     "06000000"
     "00500000"
     "c0000201",
     "cb007105"
     "06000000"
     "00500000"
     "c0000201"},
    {LOCAL_NFT_SNAT, "2001:db8::5", NULL,
     "20010db8000000000000000000000005"
     "06000000"
     "00500000",
     "20010db8000000000000000000000005"
     "06000000"
     "00500000"},
};

static void keys__written__as_the_kernel_wants(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(key_rows); i++) {
        const struct key_row *r = &key_rows[i];
        struct local_nft_element e = element(r->set, r->vip, r->net);
        uint8_t bytes[LOCAL_NFT_KEY_MAX];
        char got[2 * LOCAL_NFT_KEY_MAX + 1];
        hex(bytes, local_nft_key(&e, false, bytes), got);
        assert_string_equal(got, r->key);
        hex(bytes, local_nft_key(&e, true, bytes), got);
        assert_string_equal(got, r->last);
    }
    struct local_nft_element slot = element(LOCAL_NFT_SLOT, "203.0.113.5", NULL);
    uint8_t bytes[LOCAL_NFT_KEY_MAX];
    char got[2 * LOCAL_NFT_KEY_MAX + 1], want[64];
    snprintf(want, sizeof(want), "cb0071050600000000500000%s", slot_hex());
    hex(bytes, local_nft_key(&slot, false, bytes), got);
    assert_string_equal(got, want);
    hex(bytes, local_nft_value(&slot, bytes), got);
    assert_string_equal(got, "cb00714d75800000");
}

static void keys__read_back__are_the_elements(void **state)
{
    static const char *const vips[] = {"203.0.113.5", "2001:db8::5"};
    static const char *const nets[] = {"192.0.2.0/24", "2001:db8:9::/48"};
    (void)state;
    for (unsigned i = 0; i < 2 * 6; i++) {
        struct local_nft_element e = element((enum local_nft_set)(i % 6), vips[i / 6], nets[i / 6]),
                                 got;
        if (e.set == LOCAL_NFT_SCOPE) {
            continue; /* its ends are put together by nft_read.c */
        }
        struct local_nft_set_info s;
        unsigned set;
        uint8_t key[LOCAL_NFT_KEY_MAX], last[LOCAL_NFT_KEY_MAX], value[LOCAL_NFT_KEY_MAX];
        assert_int_equal(local_nft_set_of(&e, &set, NULL), ERR_OK);
        local_nft_set_info(set, &s);
        size_t n = local_nft_key(&e, false, key);
        assert_int_equal(n, local_nft_key_len(&s));
        (void)local_nft_key(&e, true, last); /* of the same length */
        assert_true(local_nft_read_key(&s, key, n, last, &got));
        assert_true(ip_eq(&got.id.vip, &e.id.vip));
        assert_int_equal(got.set, e.set);
        if (local_nft_has_ranges(e.set)) {
            assert_true(ip_net_eq(&got.net, &e.net));
        }
        if (e.set == LOCAL_NFT_SLOT) {
            assert_int_equal(got.slot, 9);
            assert_int_equal(got.m, 16);
            assert_true(got.hash);
            assert_true(local_nft_read_value(&s, value, local_nft_value(&e, value), &got));
            assert_true(ip_eq(&got.target, &e.target));
            assert_int_equal(got.target_port, 30080);
        }
        assert_false(local_nft_read_key(&s, key, n - 4, last, &got));
    }
}

static void sets__numbered__have_their_names(void **state)
{
    static const char *const want[LOCAL_NFT_SETS] = {
        "scope4",     "vip4",        "all4",       "from4",      "also4",     "snat4",
        "f4_rr_4",    "f4_rr_16",    "f4_rr_64",   "f4_rr_256",  "f4_hash_4", "f4_hash_16",
        "f4_hash_64", "f4_hash_256", "scope6",     "vip6",       "all6",      "from6",
        "also6",      "snat6",       "f6_rr_4",    "f6_rr_16",   "f6_rr_64",  "f6_rr_256",
        "f6_hash_4",  "f6_hash_16",  "f6_hash_64", "f6_hash_256"};
    (void)state;
    for (unsigned i = 0; i < LOCAL_NFT_SETS; i++) {
        struct local_nft_set_info s;
        local_nft_set_info(i, &s);
        assert_string_equal(s.name, want[i]);
    }
}

static void set_of__elements_that_no_set_can_have__are_bugs(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    unsigned set;
    struct local_nft_element e = element(LOCAL_NFT_FROM, "203.0.113.5", "2001:db8::/32");
    assert_int_equal(local_nft_set_of(&e, &set, &err), ERR_BUG);
    e = element(LOCAL_NFT_SLOT, "203.0.113.5", NULL);
    e.slot = 16;
    assert_int_equal(local_nft_set_of(&e, &set, &err), ERR_BUG);
    assert_string_equal(err.message, "slot 16 of 16: there is no such map");
    e = element(LOCAL_NFT_SLOT, "203.0.113.5", NULL);
    e.m = 5;
    assert_int_equal(local_nft_set_of(&e, &set, &err), ERR_BUG);
    e = element(LOCAL_NFT_SLOT, "203.0.113.5", NULL);
    assert_true(ip_parse("2001:db8::7", &e.target));
    assert_int_equal(local_nft_set_of(&e, &set, &err), ERR_BUG);
    e = (struct local_nft_element){.set = LOCAL_NFT_VIP};
    assert_int_equal(local_nft_set_of(&e, &set, &err), ERR_BUG);
}

static void nets__of_first_and_last(void **state)
{
    static const struct {
        uint8_t first[4], last[4];
        int prefix; /* -1: no network */
    } rows[] = {
        {{10, 0, 0, 0}, {10, 0, 0, 255}, 24}, {{10, 0, 0, 7}, {10, 0, 0, 7}, 32},
        {{0}, {255, 255, 255, 255}, 0},       {{10, 0, 0, 0}, {10, 0, 0, 5}, -1},
        {{10, 0, 0, 1}, {10, 0, 0, 2}, -1},   {{10, 0, 0, 4}, {10, 0, 0, 7}, 30},
        {{10, 0, 0, 2}, {10, 0, 0, 5}, -1},   {{128, 0, 0, 0}, {255, 255, 255, 255}, 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ip_net net = {.prefix = 99};
        bool is_net = local_nft_net_of(rows[i].first, rows[i].last, 4, &net);
        if (is_net != (rows[i].prefix >= 0) || (is_net && net.prefix != rows[i].prefix)) {
            fail_msg("row %zu: %d, /%d", i, is_net, net.prefix);
        }
    }
}

/* nft 1.0.6 leaves these notes when it makes such sets itself; numbers in them are in
 * the machine's order. */
static void notes__equal_those_of_nft(void **state)
{
    static const struct {
        unsigned set;
        const char *want;
    } rows[] = {
        {0, "0004020000000314000407000000010c00040c00000001040c000000"},
        {3, "000400000000035a00040d00000001520014000407000000010c00040c00000001040c000000010e000409"
            "0000000106000410000000"
            "0214000407000000010c00040b0000000104020000000314000407000000010c00040c00000001040b0000"
            "00"},
        {6, "000400000000010400000000036000040d00000001580014000407000000010c00040c00000001040c0000"
            "00010e000409000000010600"
            "04100000000214000407000000010c00040b000000010402000000031a0004170000000112000400000000"
            "010404000000020400000000"
            "043400040d000000012c0014000407000000010c00040c00000001040c0000000114000407000000010c00"
            "040b0000000104020000000"
            "60400000000"},
        {17, "000400000000035a00040d00000001520014000407000000010c00040d000000010409000000010e00040"
             "90000000106000410000000"
             "0214000407000000010c00040b0000000104020000000314000407000000010c00040d000000010408000"
             "000"},
    };
    (void)state;
    if (strcmp(slot_hex(), "09000000") != 0) {
        skip(); /* the table is that of a little-endian machine */
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct local_nft_set_info s;
        uint8_t notes[LOCAL_NFT_UDATA_MAX];
        char got[2 * LOCAL_NFT_UDATA_MAX + 1];
        local_nft_set_info(rows[i].set, &s);
        hex(notes, local_nft_set_notes(&s, notes), got);
        assert_string_equal(got, rows[i].want);
    }
}

static void types__equal_those_of_nft(void **state)
{
    static const struct {
        unsigned set;
        uint32_t key, value;
    } rows[] = {{0, 7, 0},         {15, 8, 0},           {3, 0x1cc347, 0},
                {17, 0x20c348, 0}, {2, 0x730d, 0},       {4, 0x1cc347, 0},
                {5, 0x730d, 0},    {6, 0x1cc344, 0x1cd}, {20, 0x20c344, 0x20d}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct local_nft_set_info s;
        local_nft_set_info(rows[i].set, &s);
        assert_int_equal(local_nft_key_type(&s), rows[i].key);
        if (s.set == LOCAL_NFT_SLOT) {
            assert_int_equal(local_nft_value_type(&s), rows[i].value);
        }
    }
}

static void comments__noted_and_read__and_nonsense_is_none(void **state)
{
    (void)state;
    uint8_t notes[LOCAL_NFT_UDATA_MAX];
    size_t len = 0, n = local_nft_comment_notes("demo/web", notes);
    const char *text = local_nft_read_comment(notes, n, &len);
    assert_non_null(text);
    assert_int_equal(len, 8);
    assert_memory_equal(text, "demo/web", 8);
    for (size_t cut = 0; cut < n; cut++) {
        assert_null(local_nft_read_comment(notes, cut, &len));
    }
    assert_null(local_nft_read_comment((const uint8_t[]){7, 1, 'x'}, 3, &len));
    char longest[300];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(local_nft_comment_notes(longest, notes), 2 + LOCAL_NFT_COMMENT_MAX + 1);
}

static void texts__say_what_an_element_is_about(void **state)
{
    char text[LOCAL_NFT_TEXT_MAX];
    (void)state;
    struct local_nft_element e = element(LOCAL_NFT_SLOT, "203.0.113.5", NULL);
    local_nft_element_text(&e, text);
    assert_string_equal(text, "203.0.113.5:80/tcp");
    e = element(LOCAL_NFT_FROM, "2001:db8::5", "::/0");
    e.id.protocol = IPPROTO_UDP;
    local_nft_element_text(&e, text);
    assert_string_equal(text, "[2001:db8::5]:80/udp");
    e = element(LOCAL_NFT_VIP, "2001:db8::5", NULL);
    local_nft_element_text(&e, text);
    assert_string_equal(text, "2001:db8::5");
    e = element(LOCAL_NFT_SCOPE, NULL, "10.0.0.0/24");
    local_nft_element_text(&e, text);
    assert_string_equal(text, "10.0.0.0/24");
}

UNIT_MAIN(layout)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys__written__as_the_kernel_wants),
        cmocka_unit_test(keys__read_back__are_the_elements),
        cmocka_unit_test(sets__numbered__have_their_names),
        cmocka_unit_test(set_of__elements_that_no_set_can_have__are_bugs),
        cmocka_unit_test(nets__of_first_and_last),
        cmocka_unit_test(notes__equal_those_of_nft),
        cmocka_unit_test(types__equal_those_of_nft),
        cmocka_unit_test(comments__noted_and_read__and_nonsense_is_none),
        cmocka_unit_test(texts__say_what_an_element_is_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
