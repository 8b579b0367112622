/* SPDX-License-Identifier: Apache-2.0 */
/* json_grammar.c: outside bytes read as JSON, under caps.
 *
 * A recursive-descent reader of RFC 8259 instead of json-c's own tokener: that one neither counts
 * values, nor sees duplicate members, nor says where it failed, and checking first and tokenising
 * afterwards would be two opinions about one text.  Recursion is as deep as the depth cap, which is
 * itself capped.
 *
 * Numbers: whole ones of 64 bits (signed or unsigned) are ints; all others are doubles that
 * remember their text, so that what is not changed prints as it came.  Lone surrogates become
 * U+FFFD, as in Go; invalid UTF-8 is refused.  Builds nothing.  Pure. */
#include "common/data/json_grammar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/plain_run.h"
#include "common/base/utf8.h"

#define BYTES_DEFAULT  ((size_t)64 * 1024 * 1024)
#define DEPTH_DEFAULT  64
#define VALUES_DEFAULT ((size_t)4000000)
#define SURE_DIGITS    ((size_t)18) /* with a sign; all of these fit into int64_t */

struct parser {
    const char *text; /* all of it */
    size_t n;
    size_t at; /* next byte */
    size_t values_left;
    int depth_left;
    bool allow_nul;
    const struct json_builder *builder;
    void *arg;
    struct str_buf word; /* the last text that does not stand as it is; reused */
    struct err *err;
};
/* A text that was read. */
struct piece {
    const char *text;
    size_t n;
    bool in_place; /* as struct json_builder has it */
};

static int parse_value(struct parser *p);

static int fail_at(struct parser *p, size_t at, const char *what)
{
    size_t line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < at && i < p->n; i++) {
        if (p->text[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    return err_set(p->err, ERR_INVALID, "line %zu, column %zu: %s", line, at - line_start + 1,
                   what);
}

static int fail(struct parser *p, const char *what)
{
    return fail_at(p, p->at, p->at >= p->n ? "unexpected end of JSON" : what);
}

static int peek(const struct parser *p)
{
    return p->at < p->n ? (unsigned char)p->text[p->at] : -1;
}

static void skip_blanks_slowly(struct parser *p)
{
    while (p->at < p->n) {
        char c = p->text[p->at];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            return;
        }
        p->at++;
    }
}

/* Most texts have none. */
static inline void skip_blanks(struct parser *p)
{
    if (p->at < p->n && (unsigned char)p->text[p->at] <= ' ') {
        skip_blanks_slowly(p);
    }
}

/* Four hex digits behind \u. */
static bool read_hex4(struct parser *p, uint32_t *ret)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int c = peek(p);
        int lower = c | 0x20;
        if (c >= '0' && c <= '9') {
            value = value << 4 | (uint32_t)(c - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            value = value << 4 | (uint32_t)(lower - 'a' + 10);
        } else {
            return false;
        }
        p->at++;
    }
    *ret = value;
    return true;
}

/* Behind "\u": one code unit, or two that make a pair.  A half pair is U+FFFD by itself. */
static int parse_unicode_escape(struct parser *p)
{
    uint32_t rune;
    if (!read_hex4(p, &rune)) {
        return fail(p, "want four hex digits after \\u");
    }
    if (rune >= 0xD800 && rune < 0xDC00 && p->n - p->at >= 6 && p->text[p->at] == '\\' &&
        p->text[p->at + 1] == 'u') {
        size_t before = p->at;
        uint32_t low;
        p->at += 2;
        if (!read_hex4(p, &low)) {
            return fail(p, "want four hex digits after \\u");
        }
        if (low >= 0xDC00 && low < 0xE000) {
            rune = 0x10000 + ((rune - 0xD800) << 10) + (low - 0xDC00);
        } else {
            p->at = before;
        }
    }
    char bytes[UTF8_MAX_BYTES];
    str_append_n(&p->word, bytes, utf8_encode(rune, bytes));
    return ERR_OK;
}

static int parse_escape(struct parser *p)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meaning[] = "\"\\/\b\f\n\r\t";
    int c = peek(p);
    if (c == 'u') {
        p->at++;
        return parse_unicode_escape(p);
    }
    const char *at = c > 0 ? strchr(letters, c) : NULL;
    if (at == NULL) {
        return fail(p, "unknown escape in string");
    }
    str_append_c(&p->word, meaning[at - letters]);
    p->at++;
    return ERR_OK;
}

/* To the end of the longest run of bytes that stand for themselves. */
static int skip_plain_run(struct parser *p)
{
    for (;;) {
        p->at += plain_run_ascii(p->text + p->at, p->n - p->at);
        int c = peek(p);
        if (c < 0 || c == '"' || c == '\\') {
            return ERR_OK;
        }
        if (c < 0x20) {
            return fail(p, "control character in string");
        }
        uint32_t rune;
        size_t len = utf8_decode(p->text + p->at, p->n - p->at, &rune);
        if (len == 0) {
            return fail(p, "invalid UTF-8 in string");
        }
        p->at += len;
    }
}

/* A string with escapes, with more than ASCII, or that is wrong.  p->at is somewhere behind the
 * opening quote; all between them is plain. */
static _noinline_ int parse_odd_string(struct parser *p, size_t start, struct piece *ret)
{
    size_t from = start + 1;
    bool escaped = false;
    for (;;) {
        int rc = skip_plain_run(p);
        if (rc != ERR_OK) {
            return rc;
        }
        int c = peek(p);
        if (c < 0) {
            return fail_at(p, start, "string is not closed");
        }
        if (c == '"' && !escaped) {
            *ret = (struct piece){p->text + from, p->at++ - from, true};
            return ERR_OK;
        }
        if (!escaped) {
            str_buf_reset(&p->word);
            escaped = true;
        }
        str_append_n(&p->word, p->text + from, p->at++ - from);
        if (c == '"') {
            *ret = (struct piece){p->word.data, p->word.len, false};
            return ERR_OK;
        }
        rc = parse_escape(p);
        if (rc != ERR_OK) {
            return rc;
        }
        from = p->at;
    }
}

/* From the opening quote to behind the closing one. */
static inline int parse_string(struct parser *p, struct piece *ret)
{
    size_t start = p->at;
    const char *from = p->text + start + 1;
    size_t n = plain_run_ascii(from, p->n - start - 1);
    p->at = start + 1 + n;
    if (p->at < p->n && from[n] == '"') {
        *ret = (struct piece){from, n, true};
        p->at++;
        return ERR_OK;
    }
    return parse_odd_string(p, start, ret);
}

/* Only an escape can have made one. */
static inline bool has_nul(const struct piece *s)
{
    return !s->in_place && memchr(s->text, '\0', s->n) != NULL;
}

static size_t skip_digits(struct parser *p)
{
    size_t start = p->at;
    while (peek(p) >= '0' && peek(p) <= '9') {
        p->at++;
    }
    return p->at - start;
}

/* Checks the grammar and says whether the number has a fraction or an exponent. */
static int scan_number(struct parser *p, bool *ret_whole)
{
    *ret_whole = true;
    if (peek(p) == '-') {
        p->at++;
    }
    size_t start = p->at;
    size_t digits = skip_digits(p);
    if (digits == 0) {
        return fail(p, "want a digit");
    }
    if (digits > 1 && p->text[start] == '0') {
        return fail_at(p, start, "number with a leading zero");
    }
    if (peek(p) == '.') {
        *ret_whole = false;
        p->at++;
        if (skip_digits(p) == 0) {
            return fail(p, "want a digit");
        }
    }
    if (peek(p) == 'e' || peek(p) == 'E') {
        *ret_whole = false;
        p->at++;
        if (peek(p) == '+' || peek(p) == '-') {
            p->at++;
        }
        if (skip_digits(p) == 0) {
            return fail(p, "want a digit");
        }
    }
    return ERR_OK;
}

/* A whole number without sign or with '-'; false when it has too many digits to be sure
 * that it fits. */
static bool short_number(const char *text, size_t n, int64_t *ret)
{
    bool negative = text[0] == '-';
    int64_t value = 0;
    if (n > SURE_DIGITS) {
        return false;
    }
    for (size_t i = negative; i < n; i++) {
        value = value * 10 + (text[i] - '0');
    }
    *ret = negative ? -value : value;
    return true;
}

static int parse_number(struct parser *p)
{
    size_t start = p->at;
    bool whole;
    int rc = scan_number(p, &whole);
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_view v = {.type = JSON_V_INT};
    if (!whole || !short_number(p->text + start, p->at - start, &v.i)) {
        str_buf_reset(&p->word);
        str_append_n(&p->word, p->text + start, p->at - start);
        const char *text = p->word.data;
        if (whole && str_to_i64(text, &v.i)) {
            v.type = JSON_V_INT;
        } else if (whole && str_to_u64(text, &v.u)) {
            v.type = JSON_V_UINT;
        } else if (isinf(strtod(text, NULL))) { /* the program never leaves the C locale */
            return fail_at(p, start, "number is out of range");
        } else {
            v.type = JSON_V_DOUBLE;
            v.text = text;
            v.n = (uint32_t)p->word.len;
        }
    }
    p->builder->scalar(p->arg, &v);
    return ERR_OK;
}

static int parse_word(struct parser *p, const char *word, const struct json_view *value)
{
    size_t n = strlen(word);
    if (p->n - p->at < n || memcmp(p->text + p->at, word, n) != 0) {
        return fail(p, "unexpected character");
    }
    p->at += n;
    p->builder->scalar(p->arg, value);
    return ERR_OK;
}

/* `"name": value`. */
static inline int parse_member(struct parser *p)
{
    size_t start = p->at;
    struct piece name;
    if (peek(p) != '"') {
        return fail(p, "want a member name in quotes");
    }
    int rc = parse_string(p, &name);
    if (rc != ERR_OK) {
        return rc;
    }
    if (has_nul(&name)) {
        return fail_at(p, start, "NUL in a member name");
    }
    if (!p->builder->name(p->arg, name.text, name.n, name.in_place)) {
        return fail_at(p, start, "duplicate member");
    }
    skip_blanks(p);
    if (peek(p) != ':') {
        return fail(p, "want ':' after a member name");
    }
    p->at++;
    return parse_value(p);
}

/* Items between brackets, separated by commas. */
static int parse_items(struct parser *p, bool is_object)
{
    int close = is_object ? '}' : ']';
    p->at++;
    skip_blanks(p);
    if (peek(p) == close) {
        p->at++;
        return ERR_OK;
    }
    for (;;) {
        skip_blanks(p);
        int rc = is_object ? parse_member(p) : parse_value(p);
        if (rc != ERR_OK) {
            return rc;
        }
        skip_blanks(p);
        int c = peek(p);
        if (c != ',' && c != close) {
            return fail(p, is_object ? "want ',' or '}'" : "want ',' or ']'");
        }
        p->at++;
        if (c == close) {
            return ERR_OK;
        }
    }
}

static int parse_container(struct parser *p, bool is_object)
{
    if (p->depth_left == 0) {
        return fail(p, "nested too deeply");
    }
    p->depth_left--;
    p->builder->open(p->arg, is_object);
    int rc = parse_items(p, is_object);
    p->depth_left++;
    if (rc == ERR_OK) {
        p->builder->close(p->arg);
    }
    return rc;
}

static int parse_string_value(struct parser *p)
{
    size_t start = p->at;
    struct piece s;
    int rc = parse_string(p, &s);
    if (rc != ERR_OK) {
        return rc;
    }
    bool nul = has_nul(&s);
    if (nul && !p->allow_nul) {
        return fail_at(p, start, "NUL in a string");
    }
    p->builder->string(p->arg, s.text, s.n, nul, s.in_place);
    return ERR_OK;
}

static int parse_value(struct parser *p)
{
    static const struct json_view yes = {.type = JSON_V_BOOL, .b = true};
    static const struct json_view no = {.type = JSON_V_BOOL, .b = false};
    static const struct json_view none = {.type = JSON_V_NULL};
    skip_blanks(p);
    if (p->values_left == 0) {
        return fail(p, "too many values");
    }
    p->values_left--;
    switch (peek(p)) {
    case '{':
        return parse_container(p, true);
    case '[':
        return parse_container(p, false);
    case '"':
        return parse_string_value(p);
    case 't':
        return parse_word(p, "true", &yes);
    case 'f':
        return parse_word(p, "false", &no);
    case 'n':
        return parse_word(p, "null", &none);
    default:
        return peek(p) == '-' || (peek(p) >= '0' && peek(p) <= '9')
                   ? parse_number(p)
                   : fail(p, "unexpected character");
    }
}

int json_grammar_read(const char *text, size_t n, const struct json_limits *limits,
                      const struct json_builder *builder, void *arg, struct err *err)
{
    static const struct json_limits defaults = {0};
    const struct json_limits *l = limits != NULL ? limits : &defaults;
    size_t max_bytes = l->max_bytes > 0 ? l->max_bytes : BYTES_DEFAULT;
    int max_depth = l->max_depth > 0 ? l->max_depth : DEPTH_DEFAULT;
    if (n > max_bytes || n > INT32_MAX) {
        return err_set(err, ERR_INVALID, "line 1, column 1: %zu bytes of JSON are more than %zu", n,
                       max_bytes);
    }
    struct parser p = {
        .text = text,
        .n = n,
        .depth_left = max_depth < JSON_DEPTH_CEILING ? max_depth : JSON_DEPTH_CEILING,
        .values_left = l->max_values > 0 ? l->max_values : VALUES_DEFAULT,
        .allow_nul = l->allow_nul,
        .builder = builder,
        .arg = arg,
        .err = err,
    };
    int rc = parse_value(&p);
    skip_blanks(&p);
    if (rc == ERR_OK && p.at < n) {
        rc = fail(&p, "text after the JSON value");
    }
    str_buf_done(&p.word);
    return rc;
}
