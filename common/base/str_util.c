/* SPDX-License-Identifier: Apache-2.0 */
/* str_util.c: small questions about strings, numbers in strings, and new strings in an arena.
 *
 * Where a function has a counterpart in Go's package strings or strconv, its edge cases are those
 * of Go, because annotations and config values must be read as upstream reads them.  Pure. */
#include "common/base/str.h"
#include "common/base/utf8.h"
#include "common/base/uuid.h"

#include <string.h>

static char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static char ascii_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

bool str_eq(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return strcmp(a, b) == 0;
}

bool str_eq_nocase(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    while (*a != '\0' && ascii_lower(*a) == ascii_lower(*b)) {
        a++;
        b++;
    }
    return ascii_lower(*a) == ascii_lower(*b);
}

bool str_is_empty(const char *s)
{
    return s == NULL || s[0] == '\0';
}

bool str_has_prefix(const char *s, const char *prefix)
{
    return s != NULL && prefix != NULL && strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_has_suffix(const char *s, const char *suffix)
{
    if (s == NULL || suffix == NULL) {
        return false;
    }
    size_t n = strlen(s);
    size_t k = strlen(suffix);
    return k <= n && memcmp(s + n - k, suffix, k) == 0;
}

const char *str_or(const char *s, const char *otherwise)
{
    return str_is_empty(s) ? otherwise : s;
}

const char *str_nonnull(const char *s)
{
    return s != NULL ? s : "";
}

static const char blanks[] = " \t\n\v\f\r";

static size_t trimmed(const char **s)
{
    *s += strspn(*s, blanks);
    size_t n = strlen(*s);
    while (n > 0 && strchr(blanks, (*s)[n - 1]) != NULL) {
        n--;
    }
    return n;
}

char *str_trim(struct arena *a, const char *s)
{
    size_t n = trimmed(&s);
    return arena_strndup(a, s, n);
}

char *str_trim_here(char *s)
{
    const char *from = s;
    size_t n = trimmed(&from);
    s += from - s;
    s[n] = '\0';
    return s;
}

char *str_trim_unicode(struct arena *a, const char *s)
{
    size_t n = strlen(s);
    uint32_t rune;
    size_t len;
    while ((len = utf8_decode(s, n, &rune)) > 0 && unicode_is_space(rune)) {
        s += len;
        n -= len;
    }
    while ((len = utf8_decode_last(s, n, &rune)) > 0 && unicode_is_space(rune)) {
        n -= len;
    }
    return arena_strndup(a, s, n);
}

char **str_split(struct arena *a, const char *s, char sep, size_t *ret_n)
{
    size_t n = 1;
    for (const char *p = s; *p != '\0'; p++) {
        n += *p == sep;
    }
    char **items = ARENA_ARRAY(a, char *, n);
    for (size_t i = 0; i < n; i++) {
        const char *end = strchrnul(s, sep);
        items[i] = arena_strndup(a, s, (size_t)(end - s));
        s = *end != '\0' ? end + 1 : end;
    }
    *ret_n = n;
    return items;
}

char *str_join(struct arena *a, const char *const *items, size_t n, const char *sep)
{
    size_t sep_len = strlen(sep);
    size_t total = 1;
    for (size_t i = 0; i < n; i++) {
        total += strlen(items[i]) + (i > 0 ? sep_len : 0);
    }
    char *text = arena_alloc(a, total);
    char *w = text;
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            w = mempcpy(w, sep, sep_len);
        }
        w = mempcpy(w, items[i], strlen(items[i]));
    }
    return text;
}

char *str_count(struct arena *a, size_t n, const char *noun)
{
    return arena_printf(a, "%zu %s%s", n, noun, n == 1 ? "" : "s");
}

char *str_lower(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s);
    for (char *p = copy; p != NULL && *p != '\0'; p++) {
        *p = ascii_lower(*p);
    }
    return copy;
}

char *str_upper(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s);
    for (char *p = copy; p != NULL && *p != '\0'; p++) {
        *p = ascii_upper(*p);
    }
    return copy;
}

char *str_replace(struct arena *a, const char *s, const char *from, const char *to)
{
    size_t from_len = strlen(from);
    size_t to_len = strlen(to);
    if (from_len == 0) {
        return arena_strdup(a, s);
    }
    size_t hits = 0;
    for (const char *p = strstr(s, from); p != NULL; p = strstr(p + from_len, from)) {
        hits++;
    }
    char *text = arena_alloc(a, strlen(s) - hits * from_len + hits * to_len + 1);
    char *w = text;
    for (const char *p = strstr(s, from); p != NULL; p = strstr(s, from)) {
        w = mempcpy(w, s, (size_t)(p - s));
        w = mempcpy(w, to, to_len);
        s = p + from_len;
    }
    memcpy(w, s, strlen(s));
    return text;
}

bool str_to_u64(const char *s, uint64_t *ret)
{
    uint64_t value = 0;
    if (str_is_empty(s)) {
        return false;
    }
    for (; *s != '\0'; s++) {
        if (*s < '0' || *s > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value)) {
            return false;
        }
    }
    *ret = value;
    return true;
}

bool str_to_i64(const char *s, int64_t *ret)
{
    if (s == NULL) {
        return false;
    }
    bool negative = *s == '-';
    uint64_t magnitude;
    if (!str_to_u64(s + (negative || *s == '+' ? 1 : 0), &magnitude) ||
        magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        return false;
    }
    *ret = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

bool str_to_go_bool(const char *s, bool *ret)
{
    static const char *const words[] = {"1", "t", "T", "true",  "TRUE",  "True",
                                        "0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eq(s, words[i])) {
            *ret = i < ARRAY_LEN(words) / 2;
            return true;
        }
    }
    return false;
}

/* Nearly every text is.  The last word may overlap the one before. */
static bool is_ascii(const char *s, size_t n)
{
    uint64_t word;
    uint64_t all = 0;
    if (n < sizeof word) {
        for (size_t i = 0; i < n; i++) {
            all |= (unsigned char)s[i];
        }
        return (all & 0x80) == 0;
    }
    for (size_t i = 0; i + sizeof word <= n; i += sizeof word) {
        memcpy(&word, s + i, sizeof word);
        all |= word;
    }
    memcpy(&word, s + n - sizeof word, sizeof word);
    return ((all | word) & UINT64_C(0x8080808080808080)) == 0;
}

bool str_is_utf8(const char *s, size_t n)
{
    const uint64_t highs = UINT64_C(0x8080808080808080);
    if (is_ascii(s, n)) {
        return true;
    }
    for (size_t i = 0; i < n;) {
        uint64_t word = highs;
        if (n - i >= sizeof word) {
            memcpy(&word, s + i, sizeof word);
        }
        bool ascii = (word & highs) == 0; /* nearly all of nearly every text */
        if (ascii || (unsigned char)s[i] < 0x80) {
            i += ascii ? sizeof word : 1;
            continue;
        }
        uint32_t rune;
        size_t len = utf8_decode(s + i, n - i, &rune);
        if (len == 0) {
            return false;
        }
        i += len;
    }
    return true;
}

/* ---- UUIDs ----------------------------------------------------------------------------------- */

static const char digits[] = "0123456789abcdef";

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool dash_before(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

bool uuid_read(const char *text, uint8_t ret[UUID_BYTES])
{
    for (size_t i = 0; i < UUID_BYTES; i++) {
        if (dash_before(i) && *text++ != '-') {
            return false;
        }
        int high = digit_of(text[0]);
        int low = high < 0 ? -1 : digit_of(text[1]);
        if (low < 0) {
            return false;
        }
        ret[i] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    return true;
}

void uuid_format(const uint8_t bytes[UUID_BYTES], char ret[UUID_TEXT])
{
    for (size_t i = 0; i < UUID_BYTES; i++) {
        if (dash_before(i)) {
            *ret++ = '-';
        }
        *ret++ = digits[bytes[i] >> 4];
        *ret++ = digits[bytes[i] & 15];
    }
    *ret = '\0';
}
