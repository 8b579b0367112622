/* SPDX-License-Identifier: Apache-2.0 */
/* test_time.c: RFC 3339 and Go's durations. */
#include "tests/unit/base/base_test.h"

#include <string.h>

#include "common/base/clock.h"
#include "tests/support/unit.h"

static void time_rfc3339__moments__both_ways(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us;
        const char *whole, *micro;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
        {"2026-01-02T15:04:05Z", 1767366245000000, "2026-01-02T15:04:05Z",
         "2026-01-02T15:04:05.000000Z"},
        {"1969-12-31T23:59:59.5Z", -500000, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500000Z"},
        {"2024-02-29T00:30:00+01:00", 1709163000000000, "2024-02-28T23:30:00Z",
         "2024-02-28T23:30:00.000000Z"},
        {"2000-02-29T12:00:00.123456789Z", 951825600123456, "2000-02-29T12:00:00Z",
         "2000-02-29T12:00:00.123456Z"},
        {"0000-01-01T00:00:00Z", -62167219200000000, "0000-01-01T00:00:00Z",
         "0000-01-01T00:00:00.000000Z"},
        {"9999-12-31T23:59:59.999999999Z", 253402300799999999, "9999-12-31T23:59:59Z",
         "9999-12-31T23:59:59.999999Z"},
        {"1900-03-01T00:00:00-23:59", -2203804860000000, "1900-03-01T23:59:00Z",
         "1900-03-01T23:59:00.000000Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t us = 1;
        char whole[32];
        char micro[40];
        assert_true(time_parse_rfc3339(rows[i].text, &us));
        assert_int_equal(us, rows[i].us);
        time_format_rfc3339(us, whole);
        assert_string_equal(whole, rows[i].whole);
        time_format_micro(us, micro);
        assert_string_equal(micro, rows[i].micro);
    }
}

static void time_format__outside_the_calendar__clamped(void **state)
{
    (void)state;
    char out[32];
    time_format_rfc3339(INT64_MIN, out);
    assert_string_equal(out, "0000-01-01T00:00:00Z");
    time_format_rfc3339(INT64_MAX, out);
    assert_string_equal(out, "9999-12-31T23:59:59Z");
}

static void time_parse_rfc3339__broken__refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "2026",
        "2026-01-02",
        "2026-01-02T15:04:05",
        "2026-01-02t15:04:05Z",
        "2026-01-02T15:04:05z",
        "2026-01-02 15:04:05Z",
        "2026-13-02T15:04:05Z",
        "2026-00-02T15:04:05Z",
        "2026-01-00T15:04:05Z",
        "2026-01-32T15:04:05Z",
        "2023-02-29T15:04:05Z",
        "1900-02-29T15:04:05Z",
        "2026-01-02T24:04:05Z",
        "2026-01-02T15:60:05Z",
        "2026-01-02T15:04:60Z",
        "2026-01-02T15:04:05.Z",
        "2026-01-02T15:04:05,5Z",
        "2026-01-02T15:04:05.1234567890Z",
        "2026-01-02T15:04:05+24:00",
        "2026-01-02T15:04:05+01:60",
        "2026-01-02T15:04:05+0100",
        "2026-01-02T15:04:05Zx",
        "2026-01-02T15:04:05 Z",
        "2026/01/02T15:04:05Z",
        "2026-01/02T15:04:05Z",
        "2026-01-02T15.04:05Z",
        "2026-01-02T15:04.05Z",
        "2026-01-02Tab:04:05Z",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t us = 77;
        if (time_parse_rfc3339(rows[i], &us)) {
            fail_msg("accepted \"%s\"", rows[i]);
        }
        assert_int_equal(us, 77);
    }
    int64_t us;
    assert_false(time_parse_rfc3339(NULL, &us));
}

static void duration__recorded__equal(struct arena *a, struct json_object *line, void *arg)
{
    (void)arg;
    struct err err = ERR_INIT;
    struct json_object *out = json_member(line, "out");
    int64_t ns = 77;
    int rc = duration_parse(json_str(line, "in"), &ns, &err);
    if (out == NULL) {
        assert_int_equal(rc, ERR_INVALID);
        assert_int_equal(ns, 77);
        assert_true(strncmp(err.message, "time: ", 6) == 0);
        return;
    }
    assert_fine(rc, &err);
    bool pair = json_object_is_type(out, json_type_array);
    int64_t want = json_object_get_int64(pair ? json_object_array_get_idx(out, 0) : out);
    assert_int_equal(ns, want);
    if (pair) {
        char text[40];
        duration_format(ns, text);
        assert_string_equal(text, json_object_get_string(json_object_array_get_idx(out, 1)));
        int64_t again;
        assert_fine(duration_parse(text, &again, &err), &err);
        assert_int_equal(again, ns);
    }
}

static void duration__recorded_from_go__equal(void **state)
{
    (void)state;
    assert_int_equal(vectors_each("duration.jsonl", duration__recorded__equal, NULL), 64);
    assert_int_equal(vectors_each("go_duration.jsonl", duration__recorded__equal, NULL), 240);
}

static void duration_parse__errors__say_what_go_says(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } rows[] = {
        {"", "time: invalid duration \"\""},
        {"-", "time: invalid duration \"-\""},
        {".", "time: invalid duration \".\""},
        {".s", "time: invalid duration \".s\""},
        {"s", "time: invalid duration \"s\""},
        {"1", "time: missing unit in duration \"1\""},
        {"1.5", "time: missing unit in duration \"1.5\""},
        {"1x", "time: unknown unit \"x\" in duration \"1x\""},
        {"1h 2m", "time: unknown unit \"h \" in duration \"1h 2m\""},
        {"3000000h", "time: invalid duration \"3000000h\""},
        {"9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""},
        {"9223372036854775809ns", "time: invalid duration \"9223372036854775809ns\""},
        {"99999999999999999999ns", "time: invalid duration \"99999999999999999999ns\""},
        {"9223372036854775807ns1ns", "time: invalid duration \"9223372036854775807ns1ns\""},
        {"9223372036854775.808us1ns", "time: invalid duration \"9223372036854775.808us1ns\""},
        {"\x01", "time: invalid duration \"\\x01\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        int64_t ns;
        assert_int_equal(duration_parse(rows[i].in, &ns, &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].want);
    }
    int64_t ns;
    assert_int_equal(duration_parse("-9223372036854775808ns", &ns, NULL), ERR_OK);
    assert_true(ns == INT64_MIN);
    assert_int_equal(duration_parse("0.9223372036854775808h", &ns, NULL), ERR_OK);
    assert_int_equal(duration_parse("0.100000000000000000000h", &ns, NULL), ERR_OK);
    assert_int_equal(ns, 360000000000);
}

static void duration_format__magnitudes__like_go(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *want;
    } rows[] = {
        {0, "0s"},
        {1, "1ns"},
        {999, "999ns"},
        {1100, "1.1\xC2\xB5s"},
        {2200000, "2.2ms"},
        {800000000, "800ms"},
        {3300000000, "3.3s"},
        {60000000000, "1m0s"},
        {90000000000, "1m30s"},
        {INT64_C(245001000000), "4m5.001s"},
        {INT64_C(3600000000000), "1h0m0s"},
        {INT64_C(18367001000000), "5h6m7.001s"},
        {INT64_C(480000000001), "8m0.000000001s"},
        {-1, "-1ns"},
        {INT64_MAX, "2562047h47m16.854775807s"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char out[40];
        duration_format(rows[i].ns, out);
        assert_string_equal(out, rows[i].want);
    }
}

UNIT_MAIN(time)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_rfc3339__moments__both_ways),
        cmocka_unit_test(time_format__outside_the_calendar__clamped),
        cmocka_unit_test(time_parse_rfc3339__broken__refused),
        cmocka_unit_test(duration__recorded_from_go__equal),
        cmocka_unit_test(duration_parse__errors__say_what_go_says),
        cmocka_unit_test(duration_format__magnitudes__like_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
