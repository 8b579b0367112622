/* SPDX-License-Identifier: Apache-2.0 */
/* name_words.h: names for tests of name rules: random legal ones of an alphabet, and the Services
 * of a recorded world.
 *
 * The alphabets stand in the tests, written from the clouds' pages and not from the rules that are
 * tested.  Included by test programs only; all functions are static. */
#ifndef TRIMTAB_TESTS_NAME_WORDS_H
#define TRIMTAB_TESTS_NAME_WORDS_H

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "tests/support/objects.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_PER_KIND  10000
#define WORLD_MAX_BYTES (16 << 20)
#define LOWER           "abcdefghijklmnopqrstuvwxyz"
#define UPPER           "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS          "0123456789"

struct alphabet {
    const char *first;
    const char *inner;
    const char *last;
    size_t min;
    size_t max;
};

static inline char any_of(struct rng *r, const char *set)
{
    return set[rng_below(r, strlen(set))];
}

/* A name of `w`, in `out` of more than w->max bytes. */
static inline const char *legal_name(struct rng *r, const struct alphabet *w, char *out)
{
    size_t n = w->min + rng_below(r, w->max - w->min + 1);
    for (size_t i = 0; i < n; i++) {
        out[i] = any_of(r, i == 0 ? w->first : i + 1 == n ? w->last : w->inner);
    }
    if (n == 1) {
        while (strchr(w->last, out[0]) == NULL) {
            out[0] = any_of(r, w->first);
        }
    }
    out[n] = '\0';
    return out;
}

/* A member of tests/data/NAME; NULL when the file is not there. */
static inline struct json_object *world_member(struct arena *a, const char *name,
                                               const char *member)
{
    char *text = NULL;
    size_t n = 0;
    struct json_object *world = NULL;
    const char *path = arena_printf(a, "%s/%s", getenv("TRIMTAB_TEST_DATA"), name);
    if (file_read(a, path, WORLD_MAX_BYTES, &text, &n, NULL) != ERR_OK ||
        json_parse_arena(a, text, n, NULL, &world, NULL) != ERR_OK) {
        return NULL;
    }
    return json_path(world, member);
}

/* Every Service of tests/data/NAME as if it were new: without its status. */
static inline size_t world_services(struct arena *a, const char *name,
                                    const struct tt_service ***ret)
{
    struct json_object *services = world_member(a, name, "kubernetes.services");
    size_t count = json_len(services);
    const struct tt_service **all = ARENA_ARRAY(a, const struct tt_service *, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct json_object *one = json_object_array_get_idx(services, i);
        json_object_object_del(one, "status");
        all[i] = test_service_text(a, json_text(a, one, JSON_COMPACT));
    }
    *ret = all;
    return count;
}

#endif
