/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_args.c: the command lines of the sub-commands: every form of a flag, every
 * refusal, and --help. */
#include "controller/cmd/cmd_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/install_paths.h"
#include "tests/support/unit.h"

#define WORDS_MAX 16

static const struct tt_option extra[] = {
    {"grace", TT_OPTION_DURATION, 0, "1m", "how long"},
    {"careful", TT_OPTION_BOOL, 0, NULL, "look twice"},
    {"size", TT_OPTION_INT, 0, "", "how many"},
    {"ranges", TT_OPTION_LIST, 0, "10.0.0.0/8", "where"},
    {"pin", TT_OPTION_INT, 1, "", "nobody may see it"},
};

/* Splits at blanks; argv[0] is the command. */
static int parse(struct arena *a, unsigned command, const char *line, struct cmd_args *ret,
                 struct err *err)
{
    size_t n = 0;
    char **words = str_split(a, line, ' ', &n);
    char *argv[WORDS_MAX + 1] = {0};
    assert_true(n < WORDS_MAX);
    memcpy(argv, words, n * sizeof(*argv));
    return cmd_args_parse(a, command, (int)n, argv, extra, ARRAY_LEN(extra), ret, err);
}

static const char *option_of(const struct cmd_args *args, const char *name)
{
    for (uint32_t i = 0; i < args->n_options; i++) {
        if (str_eq(args->options[i].key, name)) {
            return args->options[i].value;
        }
    }
    return NULL;
}

/* With a part of the Services the rest would look like orphans. */
static void cmd_args__orphans__no_nodes_and_nothing_to_validate(void **state)
{
    (void)state;
    static const char *const lines[] = {"orphans --nodes=x", "orphans --validate=warn"};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct cmd_args args;
    struct err err = ERR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_int_equal(ERR_INVALID, parse(a, CMD_ORPHANS, lines[i], &args, &err));
        err_clear(&err);
    }
    assert_int_equal(ERR_OK, parse(a, CMD_ORPHANS, "orphans --delete -y --force a b", &args, &err));
    assert_true(args.delete &&args.yes && args.force);
    assert_int_equal(2, args.words.n);
    assert_int_equal(ERR_INVALID, parse(a, CMD_PLAN, "plan --delete", &args, &err));
}

static void cmd_args__names_of_services__the_same_flags_everywhere(void **state)
{
    (void)state;
    static const struct {
        unsigned command;
        const char *name;
    } commands[] = {{CMD_PLAN, "plan"},
                    {CMD_EXPLAIN, "explain"},
                    {CMD_STATUS, "status"},
                    {CMD_ORPHANS, "orphans"}};
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct cmd_args args;
        struct err err = ERR_INIT;
        const char *line = arena_printf(a, "%s -n demo -f a -f=b svc/web -A", commands[i].name);
        assert_int_equal(ERR_OK, parse(a, commands[i].command, line, &args, &err));
        assert_string_equal("demo", args.ns);
        assert_int_equal(2, args.files.n);
        assert_string_equal("svc/web", args.words.items[0]);
        assert_true(args.all_namespaces);
        assert_null(args.validate);
    }
}

/* A mode needs its '=', as with kubectl: the next word is a name. */
static void cmd_args__validate__bare_is_strict(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct cmd_args args;
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, parse(a, CMD_PLAN, "plan --validate warn", &args, &err));
    assert_string_equal("strict", args.validate);
    assert_int_equal(1, args.words.n);
    assert_int_equal(ERR_OK, parse(a, CMD_PLAN, "plan --validate=warn", &args, &err));
    assert_string_equal("warn", args.validate);
}

static void cmd_args__every_form_of_a_flag__same_value(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "plan --output=json -f a -f b",   "plan --output json --filename=a --filename b",
        "plan -o json -fa -fb",           "plan -ojson -f=a -f=b",
        "plan -o=json --filename a -f b",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct cmd_args args;
        struct err err = ERR_INIT;
        assert_int_equal(ERR_OK, parse(a, CMD_PLAN, lines[i], &args, &err));
        assert_string_equal("json", args.output);
        assert_int_equal(2, args.files.n);
        assert_string_equal("a", args.files.items[0]);
        assert_string_equal("b", args.files.items[1]);
    }
}

static void cmd_args__switches_underscores_and_words__taken(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct cmd_args args;
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, parse(a, CMD_PLAN,
                                   "plan demo/web -v --no_color=false --cloud_provider=x -- -f",
                                   &args, &err));
    assert_true(args.verbose);
    assert_false(args.no_color);
    assert_string_equal("x", args.cloud_provider);
    assert_int_equal(2, args.words.n);
    assert_string_equal("demo/web", args.words.items[0]);
    assert_string_equal("-f", args.words.items[1]);
}

static void cmd_args__options_of_the_provider__checked_and_sorted(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct cmd_args args;
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK,
                     parse(a, CMD_PLAN, "plan --careful --grace 2s --repair-adopted", &args, &err));
    assert_int_equal(ARRAY_LEN(extra) + 1, args.n_options);
    for (uint32_t i = 1; i < args.n_options; i++) {
        assert_true(strcmp(args.options[i - 1].key, args.options[i].key) < 0);
    }
    assert_string_equal("true", option_of(&args, "careful"));
    assert_string_equal("2000", option_of(&args, "grace"));
    assert_string_equal("", option_of(&args, "size"));
    assert_string_equal("10.0.0.0/8", option_of(&args, "ranges"));
    assert_string_equal("true", option_of(&args, "repair-adopted"));
}

static void cmd_args__patience_and_log_level__read(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        unsigned command;
        int64_t timeout_ms, verbosity;
    } rows[] = {
        {"plan", CMD_PLAN, 120000, 0},
        {"status --timeout=30s", CMD_STATUS, 30000, 0},
        {"orphans --v=4", CMD_ORPHANS, 900000, 4},
        {"orphans --timeout 1m30s", CMD_ORPHANS, 90000, 0},
        {"explain --timeout=1ns --v 1", CMD_EXPLAIN, 1, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct cmd_args args;
        struct err err = ERR_INIT;
        assert_int_equal(ERR_OK, parse(a, rows[i].command, rows[i].line, &args, &err));
        assert_int_equal(rows[i].timeout_ms, args.timeout_ms);
        assert_int_equal(rows[i].verbosity, args.verbosity);
    }
}

static void cmd_args__refusals__say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *text;
        unsigned command;
    } rows[] = {
        {"plan --outptu=json", "unknown flag: --outptu; did you mean --output?", CMD_PLAN},
        {"plan --carefull", "unknown flag: --carefull; did you mean --careful?", CMD_PLAN},
        {"plan --zzzzzzzz", "unknown flag: --zzzzzzzz", CMD_PLAN},
        {"plan -z", "unknown shorthand flag: 'z' in -z", CMD_PLAN},
        {"plan -vz", "unknown shorthand flag: 'z' in -z", CMD_PLAN},
        {"plan --state", "flag needs an argument: --state", CMD_PLAN},
        {"plan -f", "flag needs an argument: 'f' in -f", CMD_PLAN},
        {"plan --verbose=maybe", "invalid argument \"maybe\" for \"--verbose\": want true or false",
         CMD_PLAN},
        {"plan -o yaml", "-o yaml: unknown output format; allowed: json (without -o: text)",
         CMD_PLAN},
        {"plan --size=many", "invalid argument \"many\" for \"--size\": want a number", CMD_PLAN},
        {"plan --careful=2", "invalid argument \"2\" for \"--careful\": want true or false",
         CMD_PLAN},
        {"plan --pin=secret", "invalid argument \"***\" for \"--pin\": want a number", CMD_PLAN},
        {"version x", "unknown argument \"x\": only flags are taken here", CMD_VERSION},
        {"check-config x", "unknown argument \"x\": only flags are taken here", CMD_CHECK_CONFIG},
        {"plan --timeout=0s",
         "invalid argument \"0s\" for \"--timeout\": want a time to wait, as in 30s or 2m",
         CMD_PLAN},
        {"plan --timeout=soon",
         "invalid argument \"soon\" for \"--timeout\": time: invalid duration \"soon\"", CMD_PLAN},
        {"status --v=11", "invalid argument \"11\" for \"--v\": want 0 to 10", CMD_STATUS},
        {"version --timeout=1s", "unknown flag: --timeout", CMD_VERSION},
        /* flags of other commands are none of this one's */
        {"version --state=x", "unknown flag: --state", CMD_VERSION},
        {"explain --strict", "unknown flag: --strict", CMD_EXPLAIN},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct cmd_args args;
        struct err err = ERR_INIT;
        assert_int_equal(ERR_INVALID, parse(a, rows[i].command, rows[i].line, &args, &err));
        assert_string_equal(rows[i].text, err.message);
    }
}

static void cmd_args__bad_duration__named_with_its_flag(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct cmd_args args;
    struct err err = ERR_INIT;
    assert_int_equal(ERR_INVALID, parse(a, CMD_PLAN, "plan --grace=5", &args, &err));
    assert_true(str_has_prefix(err.message, "invalid argument for --grace: "));
}

static void cmd_args_peek__broken_lines__what_can_be_read(void **state)
{
    (void)state;
    static const struct {
        const char *line, *provider, *dir;
        bool allow_writable;
    } rows[] = {
        {"plan --cloud-provider=a --allow-writable-plugins", "a", TRIMTAB_PLUGIN_DIR, true},
        {"plan --cloud-provider=a --allow-writable-plugins=false", "a", TRIMTAB_PLUGIN_DIR, false},
        {"plan --cloud-provider=a --provider-plugin-dir /p", "a", "/p"},
        {"plan --nonsense --cloud_provider b", "b", TRIMTAB_PLUGIN_DIR},
        {"plan --cloud-provider", "", TRIMTAB_PLUGIN_DIR},
        {"plan -- --cloud-provider=c", "", TRIMTAB_PLUGIN_DIR},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        size_t n = 0;
        char **words = str_split(a, rows[i].line, ' ', &n);
        struct plugin_search search = {0};
        cmd_args_peek((int)n, words, &search);
        assert_string_equal(rows[i].provider, search.name);
        assert_string_equal(rows[i].dir, search.dir);
        assert_int_equal(rows[i].allow_writable, search.allow_writable);
    }
}

static void cmd_args_help__every_line__within_100_columns(void **state)
{
    (void)state;
    for (unsigned command = CMD_PLAN; command <= CMD_COMPLETION; command <<= 1) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        size_t n = 0;
        cmd_args_help(&b, command, extra, ARRAY_LEN(extra));
        char **lines = str_split(a, str_buf_text(&b), '\n', &n);
        for (size_t i = 0; i < n; i++) {
            assert_true(str_columns(lines[i]) <= STR_COLUMNS);
            assert_false(str_has_suffix(lines[i], " "));
        }
        assert_non_null(strstr(str_buf_text(&b), "-h, --help"));
        assert_non_null(
            strstr(str_buf_text(&b), "  --grace=DURATION                   how long\n"));
    }
}

UNIT_MAIN(cmd_args)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmd_args__orphans__no_nodes_and_nothing_to_validate),
        cmocka_unit_test(cmd_args__names_of_services__the_same_flags_everywhere),
        cmocka_unit_test(cmd_args__validate__bare_is_strict),
        cmocka_unit_test(cmd_args__every_form_of_a_flag__same_value),
        cmocka_unit_test(cmd_args__switches_underscores_and_words__taken),
        cmocka_unit_test(cmd_args__options_of_the_provider__checked_and_sorted),
        cmocka_unit_test(cmd_args__patience_and_log_level__read),
        cmocka_unit_test(cmd_args__refusals__say_what_is_wrong),
        cmocka_unit_test(cmd_args__bad_duration__named_with_its_flag),
        cmocka_unit_test(cmd_args_peek__broken_lines__what_can_be_read),
        cmocka_unit_test(cmd_args_help__every_line__within_100_columns),
    };
    return cmocka_run_group_tests_name("cmd-args", tests, NULL, NULL);
}
