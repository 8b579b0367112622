/* SPDX-License-Identifier: Apache-2.0 */
/* model_test.h: what the tests of this room share: cmocka, an arena per test, findings as text. */
#ifndef TRIMTAB_TESTS_UNIT_LOCAL_MODEL_TEST_H
#define TRIMTAB_TESTS_UNIT_LOCAL_MODEL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "providers/local/model/config.h"
#include "tests/support/unit.h"

#define V   "apiVersion: local.trimtab.io/v1\n"
#define ONE V "pools: [{name: p, addresses: [10.0.0.0/29]}]\n"

static inline int arena_setup(void **state)
{
    *state = arena_new();
    return 0;
}

static inline int arena_teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define model_test(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

/* "error 3: …\nwarning 4: …\n"; "" without findings.  *ret (may be NULL) is NULL when one of
 * them is an error. */
static inline const char *findings_text(struct arena *a, const char *text, const char *role,
                                        const struct local_config **ret)
{
    struct str_buf b = STR_BUF_INIT;
    struct local_config_findings f;
    struct err err = ERR_INIT;
    const struct local_config *config = NULL;
    int rc = local_config_read(a, "local.yaml", text, strlen(text), role, &config, &f, &err);
    bool has_error = false;
    for (size_t i = 0; i < f.n; i++) {
        has_error = has_error || f.items[i].is_error;
        str_appendf(&b, "%s %zu: %s\n", f.items[i].is_error ? "error" : "warning", f.items[i].line,
                    f.items[i].text);
    }
    assert_int_equal(rc, has_error ? ERR_INVALID : ERR_OK);
    assert_int_equal(config == NULL, has_error);
    assert_int_equal(err.message[0] == '\0', !has_error);
    if (ret != NULL) {
        *ret = config;
    }
    const char *all = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return all;
}

/* The configuration of a text that has no error. */
static inline const struct local_config *config_of(struct arena *a, const char *text)
{
    const struct local_config *config = NULL;
    const char *findings = findings_text(a, text, NULL, &config);
    if (config == NULL) {
        fail_msg("%s\n%s", text, findings);
    }
    return config;
}

#endif
