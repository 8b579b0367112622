/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kube_patch.c: the simulator's four kinds of PATCH, and the typed reading of what comes out.
 *
 * Input: one letter (s, m, j, a), the document up to the first NUL or line feed, the patch after
 * it.  What holds: the inputs are left alone; the answer is a refusal with a text or a tree that
 * prints as JSON; a merge patch that is applied twice is applied once; a decoded object that is
 * decoded again is the same. */
#include "common/data/json.h"
#include "sim/kube/decode.h"
#include "sim/kube/kube_status.h"
#include "sim/kube/patch/patch.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static struct json_object *run(struct arena *a, char how, struct json_object *doc,
                               struct json_object *patch, struct json_object **ret)
{
    switch (how) {
    case 's':
        return kube_patch_strategic(a, &kube_type_service, doc, patch, ret);
    case 'm':
        return kube_patch_merge(doc, patch, ret);
    case 'j':
        return kube_patch_json(a, doc, patch, ret);
    default:
        return kube_patch_apply(a, &kube_type_node, doc, patch, ret);
    }
}

static void check_decoded(struct arena *a, struct json_object *o)
{
    struct kube_decode d = {.arena = a};
    struct json_object *first = kube_decode(&d, &kube_type_service, o);
    FUZZ_CHECK((first == NULL) == (d.error != NULL));
    if (first) {
        struct kube_decode again = {.arena = a};
        struct json_object *second = kube_decode(&again, &kube_type_service, first);
        FUZZ_CHECK(second && again.n_unknown == 0);
        FUZZ_CHECK(strcmp(json_text(a, first, JSON_COMPACT), json_text(a, second, JSON_COMPACT)) ==
                   0);
        json_object_put(second);
    }
    json_object_put(first);
}

static void check(struct arena *a, char how, struct json_object *doc, struct json_object *patch)
{
    const char *doc_text = json_text(a, doc, JSON_COMPACT);
    const char *patch_text = json_text(a, patch, JSON_COMPACT);
    struct json_object *got = NULL;
    struct json_object *refusal = run(a, how, doc, patch, &got);
    FUZZ_CHECK(strcmp(doc_text, json_text(a, doc, JSON_COMPACT)) == 0);
    FUZZ_CHECK(strcmp(patch_text, json_text(a, patch, JSON_COMPACT)) == 0);
    FUZZ_CHECK(!refusal ||
               (kube_status_code(refusal) >= 400 && !got && *json_str(refusal, "message")));
    if (!refusal) {
        check_decoded(a, got);
    }
    if (!refusal && how == 'm') {
        struct json_object *twice = NULL;
        FUZZ_CHECK(kube_patch_merge(got, patch, &twice) == NULL);
        FUZZ_CHECK(json_equal(got, twice));
        json_object_put(twice);
    }
    json_object_put(refusal);
    json_object_put(got);
}

FUZZ_TARGET(kube_patch, const uint8_t *data, size_t size)
{
    static const struct json_limits limits = {
        .max_bytes = 1 << 14, .max_depth = 32, .max_values = 2000};
    struct arena *a = arena_new();
    struct json_object *doc = NULL;
    struct json_object *patch = NULL;
    const char *text = size ? (const char *)data + 1 : "";
    size_t left = size ? size - 1 : 0;
    size_t n = 0;
    while (n < left && text[n] != '\n' && text[n] != '\0') {
        n++;
    }
    if (n < left && json_parse_arena(a, text, n, &limits, &doc, NULL) == ERR_OK &&
        json_parse_arena(a, text + n + 1, left - n - 1, &limits, &patch, NULL) == ERR_OK &&
        json_object_is_type(doc, json_type_object)) {
        check(a, (char)data[0], doc, patch);
    }
    arena_free(a);
    return 0;
}
