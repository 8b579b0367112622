/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_findings.c: places and texts of findings about a cloud-config, without a provider's
 * keys. */
#include "common/base/str.h"
#include "common/cloud/config_findings.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct tt_host_ctx {
    struct str_buf said; /* "severity where: text", a line each */
};

static void report_finding(struct tt_host_ctx *ctx, uint32_t severity, const char *where,
                           const char *message)
{
    str_appendf(&ctx->said, "%u %s: %s\n", severity, where, message);
}

struct kit {
    struct tt_host_ctx ctx;
    struct tt_host host;
    struct tt_open_args args;
    struct config_findings f;
};

static void kit_open(struct kit *k, struct arena *a, const char *text)
{
    *k = (struct kit){
        .ctx = {.said = STR_BUF_INIT},
        .host = {.size = sizeof(k->host), .ctx = &k->ctx, .report_finding = report_finding},
        .args = {.size = sizeof(k->args), .config_path = "c.conf", .config_text = text},
    };
    k->args.host = &k->host;
    k->args.config_len = text != NULL ? strlen(text) : 0;
    k->f = (struct config_findings){.a = a, .args = &k->args};
    config_findings_lines(&k->f);
}

static void kit_said(struct kit *k, const char *want)
{
    assert_string_equal(str_buf_text(&k->ctx.said), want);
    str_buf_done(&k->ctx.said);
}

static bool is_tags(const struct gcfg_entry *e)
{
    return gcfg_name_is("tags", e->key);
}

static bool none(const struct gcfg_entry *e)
{
    (void)e;
    return false;
}

static void place__line_zero__is_the_file_alone(void **state)
{
    struct kit k;
    kit_open(&k, *state, "[global]\n");
    assert_string_equal(config_line(*state, config_file(&k.args), 0), "c.conf");
    assert_string_equal(config_line(*state, config_file(&k.args), 7), "c.conf:7");
    k.args.config_path = NULL;
    assert_string_equal(config_file(&k.args), "cloud config");
    assert_string_equal(config_near(*state, NULL), "");
    assert_string_equal(config_near(*state, "zone"), "; did you mean \"zone\"?");
    kit_said(&k, "");
}

static void where__a_key_set_twice__names_the_last_line_of_its_sections(void **state)
{
    static const char *const sections[] = {"global", "more"};
    struct kit k;
    kit_open(&k, *state, "[global]\nzone = a\n[other]\nzone = b\n[More]\nZONE = c\n");
    assert_string_equal(config_where(&k.f, sections, 1, "zone"), "c.conf:2");
    assert_string_equal(config_where(&k.f, sections, 2, "zone"), "c.conf:6");
    assert_string_equal(config_where(&k.f, sections, 2, "vpc"), "c.conf");
    kit_said(&k, "");
}

static void repeated__single_keys_of_one_section__each_names_the_line_before(void **state)
{
    struct kit k;
    kit_open(&k, *state,
             "[g]\nzone = a\nzone = b\ntags = x\ntags = y\n[g \"1\"]\nzone = c\n[g]\nZone = d\n");
    config_check_repeated(&k.f, is_tags);
    kit_said(&k, "1 c.conf:3: zone is set again: line 2 no longer counts\n"
                 "1 c.conf:9: Zone is set again: line 3 no longer counts\n");
}

static void empty__keys_that_may_not_be__are_warned_of(void **state)
{
    struct kit k;
    kit_open(&k, *state, "[g]\nzone =\ntags =\nbare\nvpc = v\n");
    config_check_empty(&k.f, is_tags);
    kit_said(&k, "1 c.conf:2: zone is empty, which counts as not set\n");
}

static void lines__no_file_or_an_unreadable_one__has_no_findings(void **state)
{
    static const char *const texts[] = {NULL, "zone = a\nzone = b\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct kit k;
        kit_open(&k, *state, texts[i]);
        config_check_repeated(&k.f, none);
        config_check_empty(&k.f, none);
        kit_said(&k, "");
    }
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define ARENA_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(config_findings)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(place__line_zero__is_the_file_alone),
        ARENA_TEST(where__a_key_set_twice__names_the_last_line_of_its_sections),
        ARENA_TEST(repeated__single_keys_of_one_section__each_names_the_line_before),
        ARENA_TEST(empty__keys_that_may_not_be__are_warned_of),
        ARENA_TEST(lines__no_file_or_an_unreadable_one__has_no_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
