/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_keys.c: every key of the cloud-config's tables, one after another: what it takes and
 * what it refuses, in YAML and JSON, with line and name in the refusal and never the value
 * (docs/spec/azure.md 1.1, 1.2, 18 row 5). */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/config/azure_config_keys.h"
#include "tests/support/azure_config_text.h"
#include "tests/support/unit.h"

/* Stands where a secret may stand: it must be nowhere in messages. */
#define MARK "hunter2-do-not-print"

enum form {
    FORM_YAML,
    FORM_JSON,
    FORMS,
};

/* Line 3 holds the key; a key of several balancers stands in its list. */
static const char *document(struct arena *a, enum form form, bool of_lb, const char *key,
                            const char *value)
{
    if (form == FORM_JSON) {
        return arena_printf(a,
                            of_lb ? "{\"filler\": \"x\",\n"
                                    "\"multipleStandardLoadBalancerConfigurations\": [{\n"
                                    "\"%s\": %s}]}"
                                  : "{\"filler\": \"x\",\n\n\"%s\": %s}",
                            key, value);
    }
    return arena_printf(a,
                        of_lb ? "filler: x\nmultipleStandardLoadBalancerConfigurations:\n- %s: %s\n"
                              : "filler: x\n\n%s: %s\n",
                        key, value);
}

static int decode(struct arena *a, const char *text, struct err *err)
{
    static const struct azure_env no_env;
    struct azure_config c;
    const struct azure_unknown_key *unknown;
    size_t n;
    return azure_config_decode(a, text, strlen(text), &no_env, &c, &unknown, &n, err);
}

/* Which values each type takes; JSON is YAML, so one spelling serves both. */
static const struct {
    const char *value;
    const char *types; /* of enum azure_key_type, as letters: T S F N R M O L B W A */
} values[] = {
    {"\"" MARK "\"", "TW"},
    {"\"5\"", "TW"},
    {"true", "TSF"},
    {"false", "TSF"},
    {"5", "TNR"},
    {"-3", "TNR"},
    {"5.5", "TR"},
    {"99999999999", "TR"},
    {"[\"" MARK "\"]", "A"},
    {"[]", "LA"},
    {"{}", "MOB"},
    {"null", "TSFNRMOLBWA"},
    {"[\"" MARK "\", 5]", ""},
    {"{\"a\": {}}", "OB"},
    {"{\"a\": 1}", "MOB"},
};

static char letter_of(enum azure_key_type type)
{
    static const char letters[] = "?TSFNRMOLBWA";
    return letters[type];
}

static void check_value(struct arena *a, const struct azure_key *k, bool of_lb, enum form form,
                        size_t v)
{
    struct err err = ERR_INIT;
    const char *text = document(a, form, of_lb, k->name, values[v].value);
    bool list_of_others = k->type == AZURE_KEY_LIST && values[v].value[0] == '[';
    bool takes = strchr(values[v].types, letter_of(k->type)) != NULL;
    int rc = decode(a, text, &err);
    if (list_of_others && !takes) {
        assert_int_equal(rc, ERR_INVALID); /* its members are no mappings */
    } else if ((rc == ERR_OK) != takes) {
        fail_msg("%s: %s", text, rc == ERR_OK ? "is taken" : err.message);
    } else if (!takes) {
        const char *path =
            of_lb
                ? arena_printf(a, "line 3: multipleStandardLoadBalancerConfigurations[0].%s: want ",
                               k->name)
                : arena_printf(a, "line 3: %s: want ", k->name);
        if (!str_has_prefix(err.message, path)) {
            fail_msg("%s: got %s, want %s…", text, err.message, path);
        }
    }
    if (strstr(err.message, MARK) != NULL) {
        fail_msg("%s: the value is told: %s", text, err.message);
    }
}

static void every_key__takes_its_type_and_refuses_others_by_line(void **state)
{
    const struct azure_key *const tables[] = {azure_config_keys, azure_lb_config_keys};
    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (const struct azure_key *k = tables[t]; k->name != NULL; k++) {
            _cleanup_(arena_freep) struct arena *a = arena_new();
            for (size_t v = 0; v < ARRAY_LEN(values); v++) {
                check_value(a, k, t == 1, FORM_YAML, v);
                check_value(a, k, t == 1, FORM_JSON, v);
            }
        }
    }
}

/* Members of blocks have types, too. */
static void blocks__members_are_read_by_their_own_table(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"auxiliaryTokenProvider:\n  vaultName: [x]\n",
         "line 2: auxiliaryTokenProvider.vaultName: want text, got a list"},
        {"auxiliaryTokenProvider: 5\n",
         "line 1: auxiliaryTokenProvider: want a mapping, got a number"},
        {"cloudProviderRateLimitQPS: 1\nloadBalancerRateLimit:\n  cloudProviderRateLimit: true\n"
         "  cloudProviderRateLimitQPS: many\n",
         "line 4: loadBalancerRateLimit.cloudProviderRateLimitQPS: want a number, got text"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        assert_int_equal(decode(a, rows[i].text, &err), ERR_INVALID);
        same_text(rows[i].text, err.message, rows[i].want);
    }
}

static void secrets__broken_text__is_not_quoted(void **state)
{
    struct arena *a = *state;
    static const char *const texts[] = {
        "aadClientSecret: \"" MARK "\nlocation: x\n",
        "aadClientSecret: " MARK ": x: y\n  - z\n",
        "{\"aadClientSecret\": \"" MARK "\",, \"location\": \"x\"}",
        "{\"aadClientSecret\": \"" MARK "",
        "aadClientSecret: [" MARK "\n",
        "aadClientSecret: *" MARK "\n",
        "aadClientSecret: !!binary " MARK "\n",
        "aadClientSecret: |\n" MARK "\n" MARK "\n",
        MARK "\n",
        "'" MARK "'",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = ERR_INIT;
        int rc = decode(a, texts[i], &err);
        if (strstr(err.message, MARK) != NULL) {
            fail_msg("%s: told: %s (%d)", texts[i], err.message, rc);
        }
    }
}

UNIT_MAIN(config_keys)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(every_key__takes_its_type_and_refuses_others_by_line),
        PURE_TEST(blocks__members_are_read_by_their_own_table),
        PURE_TEST(secrets__broken_text__is_not_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
