/* SPDX-License-Identifier: Apache-2.0 */
/* known.c: see known.h. */
#include "tests/edits/known.h"

#include "common/base/file.h"
#include "common/base/str.h"

#define KNOWN_MAX (1 << 20)

struct known *known_read(struct arena *a, struct err *err)
{
    struct known *k = ARENA_NEW(a, struct known);
    char *text = NULL;
    size_t n = 0;
    if (file_read(a, TRIMTAB_EDITS_KNOWN, KNOWN_MAX, &text, &n, err) != ERR_OK) {
        return NULL;
    }
    *k = (struct known){0};
    k->lines = str_split(a, text, '\n', &k->n);
    k->met = ARENA_ARRAY(a, bool, k->n + 1);
    return k;
}

bool known_is_glob(const struct known *k, size_t i)
{
    return *k->lines[i] != '\0' && *k->lines[i] != '#';
}

bool known_has(struct known *k, const char *key)
{
    bool has = false;
    for (size_t i = 0; i < k->n; i++) {
        bool hit = known_is_glob(k, i) && str_glob(k->lines[i], key);
        k->met[i] = k->met[i] || hit;
        has = has || hit;
    }
    return has;
}
