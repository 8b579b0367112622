/* SPDX-License-Identifier: Apache-2.0 */
/* test_slips.c: misspelled annotations and values become findings, and right ones do not
 * (docs/adr/0031). */
#include "providers/azure/azure_findings.h"
#include "tests/support/slips.h"
#include "tests/support/unit.h"
#include "tests/unit/azure/azure_test.h"

static const char *const right_keys[] = {
    "external-dns.alpha.kubernetes.io/hostname",
    "kubectl.kubernetes.io/last-applied-configuration",
    "meta.helm.sh/release-name",
    "prometheus.io/scrape",
    "service.alpha.kubernetes.io/tolerate-unready-endpoints",
    "service.kubernetes.io/topology-mode",
    AZURE_ANNOTATION_PREFIX "aws-load-balancer-internal",
    NULL,
};

static void keys__each_slip_is_told_and_no_right_key(void **state)
{
    slips_check_keys(azure_annotation_keys(*state), right_keys);
}

/* All rows of the table whose values are words: a right word for each. */
static const char *const *right_words(enum azure_value kind)
{
    static const char *const switches[] = {"true", "false", NULL};
    static const char *const protocols[] = {"tcp", "http", "https", NULL};
    static const char *const none[] = {NULL};
    bool is_switch = kind == AZURE_VALUE_SWITCH || kind == AZURE_VALUE_SWITCH_TRIMMED;
    return is_switch ? switches : kind == AZURE_VALUE_PROBE ? protocols : none;
}

/* Findings about that annotation. */
static size_t told(struct arena *a, const char *name, const char *value)
{
    const struct azure_config config = azure_test_config();
    const struct azure_naming naming = {.config = &config, .cluster = "kubernetes"};
    const struct azure_service *s = azure_service_read(
        a, &naming,
        azure_test_service(a, "web", arena_printf(a, "{\"%s\":\"%s\"}", name, value),
                           "\"ports\":[{\"port\":80,\"nodePort\":30080,"
                           "\"protocol\":\"TCP\"}],\"ipFamilies\":[\"IPv4\"]"));
    const char *key = arena_printf(a, AZURE_ANNOTATION_PREFIX "%s: \"", name);
    size_t n = 0;
    for (size_t i = 0; i < s->n_findings; i++) {
        n += strstr(s->findings[i].message, key) != NULL &&
             strstr(s->findings[i].message, "want an internal") == NULL; /* pls-create itself */
    }
    return n;
}

static void values__each_slip_is_told_and_no_right_value(void **state)
{
    (void)state;
    static const char *const other_cases[] = {"true", "false", "tcp", "http", "https"};
    for (const struct azure_annotation *row = azure_annotation_table; row->name != NULL; row++) {
        for (const char *const *w = right_words(row->value); *w != NULL; w++) {
            _cleanup_(arena_freep) struct arena *a = arena_new();
            const char *name = str_replace(a, row->name, "<port>", "80");
            size_t n = 0;
            const char **slips = slips_of(a, *w, &n);
            if (told(a, name, *w) != 0) {
                fail_msg("%s: \"%s\" is right, and is told", name, *w);
            }
            for (size_t i = 0; i < n; i++) {
                bool right = false; /* compared without case, and http and https are near */
                for (size_t k = 0; k < ARRAY_LEN(other_cases); k++) {
                    right = right || str_eq_nocase(slips[i], other_cases[k]);
                }
                if (!right && told(a, name, slips[i]) != 1) {
                    fail_msg("%s: \"%s\" is not told", name, slips[i]);
                }
            }
        }
    }
}

UNIT_MAIN(slips)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(values__each_slip_is_told_and_no_right_value),
        PURE_TEST(keys__each_slip_is_told_and_no_right_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
