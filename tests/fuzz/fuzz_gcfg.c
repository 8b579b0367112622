/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gcfg.c: gcfg_parse() and gcfg_decode().
 *
 * What holds for every input: entries have a section, a position inside the text, and values
 * without carriage returns that are valid UTF-8; decoding accepts only what parsing accepts; a
 * refusal begins with "line:column: ". */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/str.h"
#include "common/data/gcfg.h"

struct conf {
    const char *text;
    bool flag;
    struct gcfg_list list;
    int64_t number;
    double real;
};
static const struct gcfg_key keys[] = {
    {"global", "token-url", GCFG_STR, offsetof(struct conf, text)},
    {"global", "regional", GCFG_BOOL, offsetof(struct conf, flag)},
    {"global", "node-tags", GCFG_STRS, offsetof(struct conf, list)},
    {"global", "number", GCFG_INT, offsetof(struct conf, number)},
    {"global", "real", GCFG_DOUBLE, offsetof(struct conf, real)},
    {0},
};

static void check_entry(const struct gcfg_entry *e, size_t size)
{
    FUZZ_CHECK(e->section != NULL && e->section[0] != '\0');
    FUZZ_CHECK(e->line >= 1 && e->column >= 1 && (size_t)e->line <= size &&
               (size_t)e->column <= size);
    FUZZ_CHECK(e->key != NULL || e->value == NULL);
    FUZZ_CHECK(e->key == NULL || strpbrk(e->key, " \t\r\n_\"=[]") == NULL);
    if (e->value != NULL) {
        FUZZ_CHECK(strchr(e->value, '\r') == NULL);
        FUZZ_CHECK(str_is_utf8(e->value, strlen(e->value)));
    }
}

static void check_refusal(int rc, const struct err *err)
{
    size_t line = strspn(err->message, "0123456789");
    FUZZ_CHECK(rc == ERR_INVALID && line > 0 && err->message[line] == ':');
    size_t column = strspn(err->message + line + 1, "0123456789");
    FUZZ_CHECK(column > 0 && strncmp(err->message + line + 1 + column, ": ", 2) == 0);
}

FUZZ_TARGET(gcfg, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct gcfg_entry *entries = NULL;
    size_t n = 0;
    int parsed = gcfg_parse(a, (const char *)data, size, &entries, &n, &err);
    if (parsed != ERR_OK) {
        check_refusal(parsed, &err);
    }
    for (size_t i = 0; i < n; i++) {
        check_entry(&entries[i], size);
    }
    struct conf conf = {0};
    struct gcfg_unknown *unknown = NULL;
    size_t n_unknown = 0;
    struct err decode_err = ERR_INIT;
    int decoded =
        gcfg_decode(a, (const char *)data, size, keys, &conf, &unknown, &n_unknown, &decode_err);
    FUZZ_CHECK(parsed == ERR_OK || decoded == parsed);
    if (decoded != ERR_OK) {
        check_refusal(decoded, &decode_err);
    }
    for (size_t i = 0; i < n_unknown; i++) {
        FUZZ_CHECK(unknown[i].section != NULL && unknown[i].line >= 1);
    }
    arena_free(a);
    return 0;
}
