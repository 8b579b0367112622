/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_yaml.c: yaml_parse_all().
 *
 * What holds for every input: documents are JSON trees (they print as JSON that is accepted and
 * equal), and that JSON is YAML with the same meaning; a refusal has a text with a line. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/data/json.h"
#include "common/data/yaml.h"

static void check_document(struct arena *a, struct json_object *doc)
{
    static const struct json_limits wide = {.max_depth = 64};
    struct json_object *as_json = NULL;
    struct json_object *as_yaml = NULL;
    const char *text = json_text(a, doc, JSON_COMPACT);
    FUZZ_CHECK(json_parse_arena(a, text, strlen(text), &wide, &as_json, NULL) == ERR_OK);
    FUZZ_CHECK(json_equal(doc, as_json));
    if (text[0] == '{' || text[0] == '[') {
        FUZZ_CHECK(yaml_parse(a, text, strlen(text), &as_yaml, NULL) == ERR_OK);
        FUZZ_CHECK(json_equal(doc, as_yaml));
    }
}

FUZZ_TARGET(yaml, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct json_object **docs = NULL;
    size_t n = 0;
    if (size <= 1 << 14) {
        int rc = yaml_parse_all(a, (const char *)data, size, &docs, &n, &err);
        FUZZ_CHECK(rc == ERR_OK || (rc == ERR_INVALID && strncmp(err.message, "line ", 5) == 0));
        for (size_t i = 0; rc == ERR_OK && i < n; i++) {
            FUZZ_CHECK(docs[i] != NULL);
            check_document(a, docs[i]);
        }
    }
    arena_free(a);
    return 0;
}
