/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_targets.c: names of Services and namespaces on a command line, and
 * what contradicts itself. */
#include "controller/cmd/cmd_targets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/unit.h"

static void cmd_targets_key__every_form__namespace_and_name(void **state)
{
    (void)state;
    static const struct {
        const char *word, *ns, *config_ns, *key; /* key NULL: refused */
    } rows[] = {
        {"web", NULL, NULL, "default/web"},
        {"web", NULL, "home", "home/web"},
        {"web", "prod", "home", "prod/web"},
        {"demo/web", NULL, "home", "demo/web"},
        {"demo/web", "demo", NULL, "demo/web"},
        {"demo/web", "prod", NULL, NULL},
        {"svc/web", NULL, "home", "home/web"},
        {"service/web", "prod", NULL, "prod/web"},
        {"services/web", NULL, NULL, "default/web"},
        {"svc/demo/web", NULL, NULL, NULL},
        {"a/b/c", NULL, NULL, NULL},
        {"/web", NULL, NULL, NULL},
        {"demo/", NULL, NULL, NULL},
        {"svc/", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const struct cmd_targets t = {.ns = rows[i].ns};
        struct err err = ERR_INIT;
        const char *key = NULL;
        int code = cmd_targets_key(a, &t, rows[i].word, rows[i].config_ns, &key, &err);
        if (code != (rows[i].key == NULL ? ERR_INVALID : ERR_OK) || !str_eq(key, rows[i].key)) {
            fail_msg("\"%s\": want %s, got %s (%s)", rows[i].word, str_or(rows[i].key, "a refusal"),
                     str_or(key, "none"), err.message);
        }
    }
}

static void cmd_targets_read__flags__all_or_contradiction(void **state)
{
    (void)state;
    const char *word = "web";
    const char *file = "/dev/null/none";
    const struct cmd_list one_word = {&word, 1};
    const struct cmd_list one_file = {&file, 1};
    const struct {
        struct cmd_args args;
        const char *error; /* NULL: fine, "" any */
        bool all;
    } rows[] = {
        {{0}, NULL, true},
        {{.ns = "demo"}, NULL, true},
        {{.all_namespaces = true}, NULL, true},
        {{.words = one_word, .ns = "demo"}, NULL, false},
        {{.all_namespaces = true, .ns = "demo"}, "-A is for all namespaces", false},
        {{.all_namespaces = true, .words = one_word}, "\"web\" is one of them", false},
        {{.all_namespaces = true, .files = one_file}, "-f for those of files", false},
        {{.ns = ""}, "want the name of a namespace", false},
        {{.validate = "never"}, "allowed: strict (or true), warn, ignore (or false)", false},
        {{.files = one_file}, "/dev/null/none", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct cmd_targets t = {0};
        struct err err = ERR_INIT;
        int code = cmd_targets_read(a, &rows[i].args, &t, &err);
        if (rows[i].error == NULL) {
            assert_int_equal(ERR_OK, code);
            assert_int_equal(rows[i].all, t.all);
        } else {
            assert_int_not_equal(ERR_OK, code);
            assert_non_null(strstr(err.message, rows[i].error));
        }
    }
}

static void cmd_targets_keys__words_and_manifests__in_order(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *words[] = {"svc/b", "x/a"};
    struct cmd_manifest items[] = {{.name = "m"}, {.ns = "y", .name = "n"}};
    const struct cmd_targets t = {.words = {words, 2}, .manifests = {.items = items, .n = 2}};
    static const char *const want[] = {"home/b", "x/a", "home/m", "y/n"};
    struct err err = ERR_INIT;
    const char **keys = NULL;
    size_t n = 0;
    assert_int_equal(ERR_OK, cmd_targets_keys(a, &t, "home", &keys, &n, &err));
    assert_int_equal(ARRAY_LEN(want), n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(want[i], keys[i]);
    }
}

UNIT_MAIN(cmd_targets)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmd_targets_key__every_form__namespace_and_name),
        cmocka_unit_test(cmd_targets_read__flags__all_or_contradiction),
        cmocka_unit_test(cmd_targets_keys__words_and_manifests__in_order),
    };
    return cmocka_run_group_tests_name("cmd-targets", tests, NULL, NULL);
}
