/* SPDX-License-Identifier: Apache-2.0 */
/* slips.c: see slips.h. */
#include "tests/support/slips.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "tests/support/sample.h"

#define KEYS_PARTS 6 /* of a sample */

struct slips {
    const char *word;
    const char **items;
    size_t n;
};

static void add(struct slips *s, const char *slip)
{
    bool is_new = !str_eq(slip, s->word) && *slip != '\0';
    for (size_t i = 0; i < s->n && is_new; i++) {
        is_new = !str_eq(s->items[i], slip);
    }
    if (is_new) {
        s->items[s->n++] = slip;
    }
}

static void add_at(struct arena *a, struct slips *s, size_t i)
{
    const char *w = s->word;
    int before = (int)i;
    char other = w[i] == 'x' ? 'q' : 'x';
    add(s, arena_printf(a, "%.*s%s", before, w, w + i + 1));
    add(s, arena_printf(a, "%.*s%c%s", before, w, w[i], w + i));
    add(s, arena_printf(a, "%.*s%c%s", before, w, other, w + i + 1));
    add(s, arena_printf(a, "%.*s%c%s", before, w, toupper((unsigned char)w[i]), w + i + 1));
    if (w[i + 1] != '\0') {
        add(s, arena_printf(a, "%.*s%c%c%s", before, w, w[i + 1], w[i], w + i + 2));
    }
    if (w[i] == '-') {
        add(s, arena_printf(a, "%.*s_%s", before, w, w + i + 1));
    }
}

const char **slips_of(struct arena *a, const char *word, size_t *ret_n)
{
    size_t len = strlen(word);
    struct slips s = {.word = word, .items = ARENA_ARRAY(a, const char *, 6 * len + 3)};
    for (size_t i = 0; i < len; i++) {
        add_at(a, &s, i);
    }
    add(&s, str_upper(a, word));
    add(&s, arena_printf(a, "%ss", word));
    add(&s, str_replace(a, word, "-", "_"));
    *ret_n = s.n;
    return s.items;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static const char *meant(struct arena *a, const struct lb_annotation_keys *keys, const char *key)
{
    return lb_annotation_meant(a, keys, key);
}

static bool is_known(const struct lb_annotation_keys *keys, const char *key)
{
    for (const char *const *k = keys->known; *k != NULL; k++) {
        if (str_glob(*k, key)) {
            return true;
        }
    }
    for (const char *const *k = keys->others; *k != NULL; k++) {
        if (str_glob(*k, key)) {
            return true;
        }
    }
    return false;
}

/* The intended key is `key`, or another known key that is as near to the slip. */
static void check_slip(struct arena *a, const struct lb_annotation_keys *keys, const char *slip,
                       const char *key)
{
    const char *got = meant(a, keys, slip);
    if (is_known(keys, slip)) {
        if (got != NULL) {
            fail_msg("%s is right, and is told as %s", slip, got);
        }
        return;
    }
    const char *lower = str_lower(a, slip);
    if (got == NULL || str_distance(lower, got) > str_distance(lower, key)) {
        fail_msg("%s: %s, want %s", slip, str_or(got, "nothing"), key);
    }
}

static void check_key(const struct lb_annotation_keys *keys, const char *row)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *key = str_replace(a, row, "<port>", "80");
    const char *slash = strchr(key, '/');
    const char *domain = arena_strndup(a, key, (size_t)(slash - key));
    size_t n = 0;
    assert_null(meant(a, keys, key));
    const char **names = slips_of(a, slash + 1, &n);
    for (size_t i = 0; i < n; i++) {
        bool same_port = strstr(names[i], "_80_") != NULL || strchr(row, '<') == NULL;
        if (same_port) { /* another number is another port's key */
            check_slip(a, keys, arena_printf(a, "%s/%s", domain, names[i]), key);
        }
    }
    const char **domains = slips_of(a, domain, &n);
    for (size_t i = 0; i < n; i++) {
        check_slip(a, keys, arena_printf(a, "%s%s", domains[i], slash), key);
    }
}

void slips_check_keys(const struct lb_annotation_keys *keys, const char *const *more)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct sample sample = sample_of_test(KEYS_PARTS);
    for (const char *const *k = keys->known; *k != NULL; k++) {
        if (strchr(*k, '*') == NULL && sample_takes(&sample, *k)) {
            check_key(keys, *k);
        }
    }
    for (const char *const *k = keys->others; *k != NULL; k++) {
        assert_null(meant(a, keys, str_replace(a, *k, "*", "x")));
    }
    for (const char *const *k = more; *k != NULL; k++) {
        if (meant(a, keys, *k) != NULL) {
            fail_msg("%s is told as %s", *k, meant(a, keys, *k));
        }
    }
}
