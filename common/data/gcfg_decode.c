/* SPDX-License-Identifier: Apache-2.0 */
/* gcfg_decode.c: what the keys of a gcfg file mean.
 *
 * Fills a structure from a table of keys with upstream's rules (gce-cloud-provider.md 1.1): the
 * last value of a single key wins, lists grow by repetition, a blank is true for a bool, empties a
 * list, and is an error for the rest.  Unknown sections and keys are not errors; they are returned
 * so that the caller can warn.  A sub-section of a known section counts as unknown.  Pure. */
#include "common/base/str.h"
#include "common/base/utf8.h"
#include "common/data/gcfg.h"

#include <errno.h>
#include <string.h>

#define UNKNOWN_MAX ((size_t)100) /* more are not worth a warning each */

struct decoder {
    struct arena *arena;
    const struct gcfg_key *keys;
    void *out;
    struct gcfg_unknown *unknown; /* UNKNOWN_MAX of them */
    size_t n_unknown;
    struct err *err;
};

/* Names compare under Unicode's simple case folding; two characters above ASCII fold
 * to ASCII letters. */
static uint32_t fold(uint32_t rune)
{
    if (rune >= 'A' && rune <= 'Z') {
        return rune - 'A' + 'a';
    }
    return rune == 0x17F ? 's' : rune == 0x212A ? 'k' : rune;
}

bool gcfg_name_is(const char *known, const char *written)
{
    size_t n = strlen(written);
    uint32_t rune;
    size_t len;
    for (; *known != '\0' && (len = utf8_decode(written, n, &rune)) > 0; known++) {
        if (fold((unsigned char)*known) != fold(rune)) {
            return false;
        }
        written += len;
        n -= len;
    }
    return *known == '\0' && n == 0;
}

bool gcfg_bool(const char *value, bool *ret)
{
    static const char *const words[] = {"true", "yes", "on", "1", "false", "no", "off", "0"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eq_nocase(value, words[i])) {
            *ret = i < ARRAY_LEN(words) / 2;
            return true;
        }
    }
    return false;
}

static int refuse(const struct decoder *d, const struct gcfg_entry *e, const char *what)
{
    return err_set(d->err, ERR_INVALID, "%d:%d: %s at section \"%s\", variable \"%s\"", e->line,
                   e->column, what, e->section, e->key);
}

static int refuse_value(const struct decoder *d, const struct gcfg_entry *e, const char *type)
{
    struct str_buf what _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_appendf(&what, "failed to parse %s ", type);
    str_append_go_quoted(&what, e->value);
    return refuse(d, e, str_buf_text(&what));
}

/* Decimal, or hex behind 0x; leading zeros mean nothing. */
static bool read_int(const char *s, int64_t *ret)
{
    if (!str_has_prefix(s, "0x") && !str_has_prefix(s, "-0x")) {
        return str_to_i64(s, ret);
    }
    bool negative = *s == '-';
    s += negative ? 3 : 2;
    uint64_t value = 0;
    if (*s == '\0' || s[strspn(s, "0123456789abcdefABCDEF")] != '\0') {
        return false;
    }
    errno = 0;
    value = strtoull(s, NULL, 16);
    if (errno != 0 || value > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        return false;
    }
    *ret = (int64_t)(negative ? 0 - value : value);
    return true;
}

static bool read_double(const char *s, double *ret)
{
    char *end;
    if (strspn(s, "0123456789+-.") == 0) {
        return false; /* no blanks before it, and no hex, inf or nan without a sign or digit */
    }
    *ret = strtod(s, &end);
    return *end == '\0';
}

/* The array doubles whenever the count is a power of two, so its capacity need not be kept. */
static void list_add(const struct decoder *d, struct gcfg_list *list, const char *value)
{
    if ((list->n & (list->n - 1)) == 0) {
        const char **grown = ARENA_ARRAY(d->arena, const char *, list->n > 0 ? 2 * list->n : 1);
        if (list->n > 0) {
            memcpy(grown, list->items, list->n * sizeof *grown);
        }
        list->items = grown;
    }
    list->items[list->n++] = value;
}

/* A key without "=". */
static int set_blank(const struct decoder *d, const struct gcfg_key *key,
                     const struct gcfg_entry *e)
{
    void *at = (char *)d->out + key->offset;
    switch (key->type) {
    case GCFG_BOOL:
        *(bool *)at = true;
        return ERR_OK;
    case GCFG_STRS:
        *(struct gcfg_list *)at = (struct gcfg_list){0};
        return ERR_OK;
    default:
        return refuse(d, e, "blank value not supported for type");
    }
}

static int set_value(const struct decoder *d, const struct gcfg_key *key,
                     const struct gcfg_entry *e)
{
    void *at = (char *)d->out + key->offset;
    bool flag;
    int64_t integer;
    double real;
    switch (key->type) {
    case GCFG_STR:
        *(const char **)at = e->value;
        return ERR_OK;
    case GCFG_STRS:
        list_add(d, at, e->value);
        return ERR_OK;
    case GCFG_BOOL:
        if (!gcfg_bool(e->value, &flag)) {
            return refuse_value(d, e, "bool");
        }
        *(bool *)at = flag;
        return ERR_OK;
    case GCFG_INT:
        if (!read_int(str_trim_unicode(d->arena, e->value), &integer)) {
            return refuse_value(d, e, "int");
        }
        *(int64_t *)at = integer;
        return ERR_OK;
    case GCFG_DOUBLE:
        if (!read_double(e->value, &real)) {
            return refuse_value(d, e, "float");
        }
        *(double *)at = real;
        return ERR_OK;
    }
    return err_set(d->err, ERR_BUG, "gcfg key %s: type %d", key->key, (int)key->type);
}

static bool section_is_known(const struct decoder *d, const struct gcfg_entry *e)
{
    for (const struct gcfg_key *key = d->keys; key->section != NULL; key++) {
        if (e->subsection == NULL && gcfg_name_is(key->section, e->section)) {
            return true;
        }
    }
    return false;
}

static const struct gcfg_key *find_key(const struct decoder *d, const struct gcfg_entry *e)
{
    for (const struct gcfg_key *key = d->keys; key->section != NULL; key++) {
        if (gcfg_name_is(key->section, e->section) && gcfg_name_is(key->key, e->key)) {
            return key;
        }
    }
    return NULL;
}

/* The known key of this section, or the known section, that the unknown word is nearest to. */
static const char *nearest(const struct decoder *d, const char *section, const char *word)
{
    const char *lower = str_lower(d->arena, word);
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (const struct gcfg_key *key = d->keys; key->section != NULL; key++) {
        if (section != NULL && !gcfg_name_is(key->section, section)) {
            continue;
        }
        const char *candidate = section != NULL ? key->key : key->section;
        size_t distance = str_distance(candidate, lower);
        if (str_nearest(lower, &candidate, 1) != NULL && distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

static void add_unknown(struct decoder *d, const struct gcfg_entry *e, bool whole_section)
{
    const char *section = e->section;
    if (e->subsection != NULL) {
        section = arena_printf(d->arena, "%s \"%s\"", e->section, e->subsection);
    }
    const char *key = whole_section ? NULL : e->key;
    for (size_t i = 0; i < d->n_unknown; i++) {
        const struct gcfg_unknown *u = &d->unknown[i];
        if (str_eq_nocase(u->section, section) && str_eq_nocase(u->key, key)) {
            return;
        }
    }
    if (d->n_unknown < UNKNOWN_MAX) {
        bool plain = e->subsection == NULL;
        d->unknown[d->n_unknown++] = (struct gcfg_unknown){
            .section = section,
            .key = key,
            .nearest = key != NULL ? nearest(d, section, key)
                       : plain     ? nearest(d, NULL, section)
                                   : NULL,
            .line = e->line,
        };
    }
}

static int decode_entry(struct decoder *d, const struct gcfg_entry *e)
{
    if (!section_is_known(d, e)) {
        add_unknown(d, e, true);
        return ERR_OK;
    }
    if (e->key == NULL) {
        return ERR_OK;
    }
    const struct gcfg_key *key = find_key(d, e);
    if (key == NULL) {
        add_unknown(d, e, false);
        return ERR_OK;
    }
    return e->value == NULL ? set_blank(d, key, e) : set_value(d, key, e);
}

int gcfg_decode_entries(struct arena *a, const struct gcfg_entry *entries, size_t n,
                        const struct gcfg_key *keys, void *out, struct gcfg_unknown **ret_unknown,
                        size_t *ret_n_unknown, struct err *err)
{
    struct decoder d = {.arena = a, .keys = keys, .out = out, .err = err};
    int rc = ERR_OK;
    d.unknown = ARENA_ARRAY(a, struct gcfg_unknown, n < UNKNOWN_MAX ? n : UNKNOWN_MAX);
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        rc = decode_entry(&d, &entries[i]);
    }
    if (rc == ERR_OK) {
        *ret_unknown = d.unknown;
        *ret_n_unknown = d.n_unknown;
    }
    return rc;
}

int gcfg_decode(struct arena *a, const char *text, size_t n, const struct gcfg_key *keys, void *out,
                struct gcfg_unknown **ret_unknown, size_t *ret_n_unknown, struct err *err)
{
    struct gcfg_entry *entries = NULL;
    size_t count = 0;
    int rc = gcfg_parse(a, text, n, &entries, &count, err);
    return rc == ERR_OK
               ? gcfg_decode_entries(a, entries, count, keys, out, ret_unknown, ret_n_unknown, err)
               : rc;
}
