/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c: the two forms of a line, levels, and where lines go. */
#include "tests/unit/base/base_test.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log_line.h"
#include "tests/support/foreign.h"
#include "tests/support/unit.h"

static const char *const names[] = {"a", "b \"c\""};

static struct log_line sample(const struct log_kv *kvs)
{
    /* 2026-11-21T10:00:01.123456Z; the tests set TZ=UTC */
    return (struct log_line){.severity = LOG_INFO,
                             .v = 2,
                             .file = "../tree/controller/sync/sync.c",
                             .line = 210,
                             .msg = "Synced",
                             .kvs = kvs,
                             .wall_us = 1795255201123456,
                             .pid = 4711};
}

static void log_line_text__every_type__one_klog_line(void **state)
{
    (void)state;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    const struct log_kv kvs[] = {
        LOG_S("service", "demo/web"), LOG_I("calls", 14),        LOG_B("dirty", true),
        LOG_B("clean", false),        LOG_MS("took", 1500),      LOG_LIST("nodes", names, 2),
        LOG_SECRET("token"),          LOG_S("null", NULL),       LOG_S("lines", "x\ny"),
        LOG_MS("long", INT64_MAX),    LOG_MS("back", INT64_MIN), {0}};
    struct log_line l = sample(kvs);
    log_line_text(&b, &l);
    assert_string_equal(
        b.data, "I1121 10:00:01.123456    4711 sync.c:210] \"Synced\" service=\"demo/web\" "
                "calls=14 dirty=true "
                "clean=false took=\"1.5s\" nodes=[\"a\",\"b \\\"c\\\"\"] token=\"***\" null=\"\" "
                "lines=\"x\\ny\" long=\"2562047h47m16.854s\" back=\"-2562047h47m16.854s\"\n");
}

static void log_line_text__severities_and_error__letter_and_err_first(void **state)
{
    (void)state;
    static const char letters[] = "IWEF";
    for (int sev = LOG_INFO; sev <= LOG_FATAL; sev++) {
        struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
        const struct log_kv kvs[] = {LOG_I("n", -1), {0}};
        struct log_line l = sample(kvs);
        l.severity = (enum log_severity)sev;
        l.file = "sync.c";
        l.pid = 12345678;
        l.err_text = "no \"luck\"";
        log_line_text(&b, &l);
        assert_int_equal(b.data[0], letters[sev]);
        assert_string_equal(
            b.data + 1,
            "1121 10:00:01.123456 12345678 sync.c:210] \"Synced\" err=\"no \\\"luck\\\"\" n=-1\n");
    }
}

static void log_line_json__info__keys_of_component_base(void **state)
{
    (void)state;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    const struct log_kv kvs[] = {LOG_S("service", "demo/\"web\""),
                                 LOG_I("calls", 14),
                                 LOG_B("dirty", 1),
                                 LOG_MS("took", 20),
                                 LOG_LIST("nodes", names, 2),
                                 LOG_SECRET("token"),
                                 {0}};
    struct log_line l = sample(kvs);
    log_line_json(&b, &l);
    assert_string_equal(
        b.data, "{\"ts\":1795255201123.456,\"caller\":\"sync/sync.c:210\","
                "\"msg\":\"Synced\",\"v\":2,"
                "\"service\":\"demo/\\\"web\\\"\",\"calls\":14,\"dirty\":true,\"took\":\"20ms\","
                "\"nodes\":[\"a\",\"b \\\"c\\\"\"],\"token\":\"***\"}\n");
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    assert_fine(json_parse(b.data, b.len, NULL, &o, &err), &err);
    json_object_put(o);
}

static void log_line__foreign_text__one_line_that_shows_all(void **state)
{
    (void)state;
    static const char *const nodes[] = {FOREIGN_TEXT};
    const struct log_kv kvs[] = {LOG_S("message", FOREIGN_TEXT), LOG_LIST("nodes", nodes, 1), {0}};
    void (*const forms[])(struct str_buf *, const struct log_line *) = {log_line_text,
                                                                        log_line_json};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
        struct log_line l = sample(kvs);
        l.severity = LOG_ERROR;
        l.err_text = FOREIGN_TEXT;
        forms[i](&b, &l);
        assert_true(foreign_is_shown(b.data, 1)); /* the line's own end */
    }
}

static void log_line_json__error__err_and_no_v(void **state)
{
    (void)state;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct log_line l = sample(NULL);
    l.severity = LOG_ERROR;
    l.err_text = "boom";
    l.file = "main.c";
    log_line_json(&b, &l);
    assert_string_equal(b.data, "{\"ts\":1795255201123.456,\"caller\":\"main.c:210\",\"msg\":"
                                "\"Synced\",\"err\":\"boom\"}\n");
}

static void log_line__huge_value__cut_at_a_character(void **state)
{
    (void)state;
    for (int shift = 0; shift < 4; shift++) {
        struct str_buf value _cleanup_(str_buf_done) = STR_BUF_INIT;
        str_append_n(&value, "xxxx", (size_t)shift);
        for (int i = 0; i < 10000; i++) {
            str_append(&value, "\xE6\x97\xA5");
        }
        struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
        const struct log_kv kvs[] = {LOG_S("k", value.data), {0}};
        struct log_line l = sample(kvs);
        log_line_text(&b, &l);
        assert_true(b.len < 17000);
        assert_true(str_is_utf8(b.data, b.len));
        assert_true(str_has_suffix(b.data, "\xE2\x80\xA6\"\n"));
        assert_null(strchr(b.data, '\\'));
    }
}

static void log_module_of__paths__bare_names(void **state)
{
    (void)state;
    char out[8];
    log_module_of("a/b/sync.c", out, sizeof out);
    assert_string_equal(out, "sync");
    log_module_of("plain", out, sizeof out);
    assert_string_equal(out, "plain");
    log_module_of("a/very-long-name.c", out, sizeof out);
    assert_string_equal(out, "very-lo");
}

static void log_vmodule__lists__as_klog_reads_them(void **state)
{
    (void)state;
    static const char *const good[] = {NULL,    "",        ",", "sync=2", "sync=2,http*=4",
                                       ",a=0,", "a=1,,b=2"};
    static const char *const bad[] = {"sync",          "sync=",   "=2",
                                      "sync=x",        "sync=-1", "a=1,b",
                                      "a=99999999999", "a=1=2",   "a=123456789012345678"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(log_vmodule_valid(good[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(log_vmodule_valid(bad[i]));
    }
    char longer[200];
    memset(longer, 'a', sizeof longer);
    memcpy(longer + sizeof longer - 3, "=1", 3);
    assert_false(log_vmodule_valid(longer));
    log_setup(&(struct log_config){.verbosity = 1, .vmodule = "sync=3,http*=5,all*=0", .fd = 2});
    assert_true(log_enabled(1, "x/other.c"));
    assert_false(log_enabled(2, "x/other.c"));
    assert_true(log_enabled(3, "x/sync.c"));
    assert_false(log_enabled(4, "x/sync.c"));
    assert_true(log_enabled(5, "net/http_async.c"));
    assert_false(log_enabled(2, "all_of_it.c"));
    log_setup(&(struct log_config){.verbosity = 0, .fd = 2});
    assert_false(log_enabled(1, "x/sync.c"));
}

static size_t read_pipe(int fd, char *out, size_t cap)
{
    ssize_t n = read(fd, out, cap - 1);
    assert_true(n >= 0);
    out[n] = '\0';
    return (size_t)n;
}

static void log_macros__both_formats__written_in_one_piece(void **state)
{
    (void)state;
    int fds[2];
    char text[4096];
    assert_int_equal(pipe(fds), 0);
    log_setup(&(struct log_config){.format = LOG_TEXT, .verbosity = 2, .fd = fds[1]});
    log_info(2, "seen", LOG_S("service", "a/b"), LOG_I("n", 1));
    log_info(3, "not seen");
    log_warning("careful");
    log_error("boom", "failed", LOG_SECRET("password"));
    read_pipe(fds[0], text, sizeof text);
    assert_non_null(strstr(text, "] \"seen\" service=\"a/b\" n=1\n"));
    assert_null(strstr(text, "not seen"));
    assert_non_null(strstr(text, "\nW"));
    assert_non_null(strstr(text, "] \"failed\" err=\"boom\" password=\"***\"\n"));
    log_setup(&(struct log_config){.format = LOG_JSON, .verbosity = 0, .fd = fds[1]});
    log_info(0, "json", LOG_B("ok", true));
    read_pipe(fds[0], text, sizeof text);
    assert_non_null(strstr(text, "\"msg\":\"json\",\"v\":0,\"ok\":true}\n"));
    log_setup(&(struct log_config){.fd = -1});
    log_error("nobody hears", "write fails quietly");
    log_setup(&(struct log_config){.fd = 2});
    close(fds[0]);
    close(fds[1]);
}

static void log_limit_ok__burst_then_interval__counted(void **state)
{
    (void)state;
    struct log_limit l = {.interval_ms = 1000, .burst = 2};
    assert_true(log_limit_ok(&l, 0));
    assert_true(log_limit_ok(&l, 10));
    assert_false(log_limit_ok(&l, 20));
    assert_false(log_limit_ok(&l, 1009));
    assert_true(log_limit_ok(&l, 1010));
    assert_false(log_limit_ok(&l, 1011));
    assert_true(log_limit_ok(&l, 5000));
}

UNIT_MAIN(log)
{
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_line_text__every_type__one_klog_line),
        cmocka_unit_test(log_line_text__severities_and_error__letter_and_err_first),
        cmocka_unit_test(log_line_json__info__keys_of_component_base),
        cmocka_unit_test(log_line__foreign_text__one_line_that_shows_all),
        cmocka_unit_test(log_line_json__error__err_and_no_v),
        cmocka_unit_test(log_line__huge_value__cut_at_a_character),
        cmocka_unit_test(log_module_of__paths__bare_names),
        cmocka_unit_test(log_vmodule__lists__as_klog_reads_them),
        cmocka_unit_test(log_macros__both_formats__written_in_one_piece),
        cmocka_unit_test(log_limit_ok__burst_then_interval__counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
