/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_azure_config.c: azure_config_decode() and azure_config_parse().
 *
 * What holds for every input: no text of a configuration is NULL; a balancer of a list that is used
 * has a VM set of its own; unknown keys have a path, and a line of the text; parsing accepts only
 * what decoding accepts; a refusal is INVALID and says something. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "providers/azure/config/azure_config_keys.h"
#include "tests/support/azure_config_text.h"

static void check_texts(const struct azure_config *c)
{
    /* The member c is the first of struct azure_raw, so the table's offsets are those of the
     * configuration, too. */
    for (const struct azure_key *k = azure_config_keys; k->name != NULL; k++) {
        if ((k->type == AZURE_KEY_TEXT || k->type == AZURE_KEY_WORD) &&
            k->offset != AZURE_KEY_UNUSED) {
            FUZZ_CHECK(*(const char *const *)((const char *)c + k->offset) != NULL);
        }
    }
    FUZZ_CHECK(c->vnet_resource_group != NULL && c->vm_type_text[0] != '\0');
    FUZZ_CHECK(c->max_rules != 0 && c->shared_probe_port != 0 && c->limits[0].bucket > 0);
    for (size_t i = 0; i < c->n_tags_map; i++) {
        FUZZ_CHECK(c->tags_map[i].key != NULL && c->tags_map[i].value != NULL);
    }
}

static void check_lbs(const struct azure_config *c)
{
    for (size_t i = 0; i < c->n_lbs; i++) {
        FUZZ_CHECK(c->lbs[i].name != NULL);
        FUZZ_CHECK(!azure_config_is_multi_slb(c) || c->lbs[i].primary_vm_set[0] != '\0');
    }
}

static void check_unknown(const struct azure_unknown_key *keys, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(keys[i].path != NULL && keys[i].line >= 0 && (size_t)keys[i].line <= size + 1);
    }
}

/* The first half as a file, the rest as a Secret over it. */
static void check_merged(struct arena *a, const char *text, size_t size)
{
    static const struct azure_env env;
    const struct azure_config_texts texts = {
        .file = {"file", text, size / 2},
        .secret = {"secret", text + size / 2, size - size / 2},
    };
    struct azure_config merged;
    const struct azure_unknown_key *unknown = NULL;
    size_t n = 0;
    struct err err = ERR_INIT;
    if (azure_config_parse_texts(a, &texts, &env, &merged, &unknown, &n, &err) == ERR_OK) {
        check_texts(&merged);
        check_lbs(&merged);
    } else {
        FUZZ_CHECK(err.code == ERR_INVALID && (strncmp(err.message, "file:", 5) == 0 ||
                                               strncmp(err.message, "secret:", 7) == 0));
    }
}

FUZZ_TARGET(azure_config, const uint8_t *data, size_t size)
{
    static const struct azure_env env;
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct azure_config decoded;
    struct azure_config parsed;
    const struct azure_unknown_key *unknown = NULL;
    size_t n = 0;
    const char *text = (const char *)data;
    int decoding = azure_config_decode(a, text, size, &env, &decoded, &unknown, &n, &err);
    if (decoding == ERR_OK) {
        check_texts(&decoded);
        check_unknown(unknown, n, size);
    }
    err_clear(&err);
    int parsing = azure_config_parse(a, text, size, &env, &parsed, &unknown, &n, &err);
    if (parsing == ERR_OK) {
        FUZZ_CHECK(decoding == ERR_OK);
        check_lbs(&parsed);
    } else {
        FUZZ_CHECK(parsing == ERR_INVALID && err.message[0] != '\0');
    }
    check_merged(a, text, size);
    arena_free(a);
    return 0;
}
