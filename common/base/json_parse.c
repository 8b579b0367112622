/* SPDX-License-Identifier: Apache-2.0 */
/* json_parse.c: outside bytes into a json-c tree, under caps.
 *
 * A recursive-descent parser of RFC 8259 that builds json-c objects as it goes, instead of json-c's own
 * tokener: that one neither counts values, nor sees duplicate members, nor says where it failed, and
 * checking first and tokenising afterwards would be two opinions about one text.  Recursion is as deep as
 * the depth cap, which is itself capped (DEPTH_CEILING); duplicates are found in json-c's seeded hash
 * table, so hostile input costs linear time.
 *
 * Numbers: whole ones of 64 bits (signed or unsigned) become ints; all others become doubles that remember
 * their text, so that what is not changed prints as it came.  Lone surrogates become U+FFFD, as in Go;
 * invalid UTF-8 is refused.  Pure. */
#include "common/base/json.h"
#include "common/base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_DEFAULT  ((size_t)64 * 1024 * 1024)
#define DEPTH_DEFAULT  64
#define DEPTH_CEILING  512
#define VALUES_DEFAULT ((size_t)4000000)

struct parser {
    const char *text; /* all of it */
    size_t n;
    size_t at; /* next byte */
    size_t values_left;
    int depth_left;
    bool allow_nul;
    const char *const *names;
    size_t n_names;
    struct lh_table *shared; /* text of a string → its object, borrowed; NULL: none is shared */
    struct str_buf word;     /* the last string, decoded; reused */
    struct err *err;
};

static int parse_value(struct parser *p, struct json_object **ret);

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

static void skip_blanks(struct parser *p)
{
    while (p->at < p->n && memchr(" \t\n\r", p->text[p->at], 4) != NULL) {
        p->at++;
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

/* The longest run of bytes that stand for themselves goes over in one piece. */
static int parse_plain_run(struct parser *p)
{
    size_t start = p->at;
    int rc = ERR_OK;
    while (p->at < p->n) {
        unsigned char c = (unsigned char)p->text[p->at];
        uint32_t rune;
        if (c == '"' || c == '\\') {
            break;
        }
        size_t len = c < 0x80 ? 1 : utf8_decode(p->text + p->at, p->n - p->at, &rune);
        if (c < 0x20 || len == 0) {
            rc = fail(p, c < 0x20 ? "control character in string" : "invalid UTF-8 in string");
            break;
        }
        p->at += len;
    }
    str_append_n(&p->word, p->text + start, p->at - start);
    return rc;
}

/* From the opening quote to behind the closing one; the text is then in p->word. */
static int parse_string(struct parser *p)
{
    size_t start = p->at++;
    str_buf_reset(&p->word);
    for (;;) {
        int rc = parse_plain_run(p);
        if (rc != ERR_OK) {
            return rc;
        }
        int c = peek(p);
        if (c < 0) {
            return fail_at(p, start, "string is not closed");
        }
        p->at++;
        if (c == '"') {
            return ERR_OK;
        }
        rc = parse_escape(p);
        if (rc != ERR_OK) {
            return rc;
        }
    }
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

static int parse_number(struct parser *p, struct json_object **ret)
{
    size_t start = p->at;
    bool whole;
    int rc = scan_number(p, &whole);
    if (rc != ERR_OK) {
        return rc;
    }
    str_buf_reset(&p->word);
    str_append_n(&p->word, p->text + start, p->at - start);
    const char *text = p->word.data;
    int64_t i;
    uint64_t u;
    if (whole && str_to_i64(text, &i)) {
        *ret = json_object_new_int64(i);
        return ERR_OK;
    }
    if (whole && str_to_u64(text, &u)) {
        *ret = json_object_new_uint64(u);
        return ERR_OK;
    }
    double d = strtod(text, NULL); /* the program never leaves the C locale */
    if (isinf(d)) {
        return fail_at(p, start, "number is out of range");
    }
    *ret = json_object_new_double_s(d, text);
    return ERR_OK;
}

static int parse_word(struct parser *p, const char *word, struct json_object *value,
                      struct json_object **ret)
{
    size_t n = strlen(word);
    if (p->n - p->at < n || memcmp(p->text + p->at, word, n) != 0) {
        json_object_put(value);
        return fail(p, "unexpected character");
    }
    p->at += n;
    *ret = value;
    return ERR_OK;
}

/* `"name": value`, added to `object`. */
static int compare_names(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

/* One of the names that live as long as the program; NULL when it is none. */
static const char *lasting(const struct parser *p, const char *name)
{
    const char *const *found =
        p->n_names > 0 ? bsearch(name, p->names, p->n_names, sizeof(*p->names), compare_names)
                       : NULL;
    return found != NULL ? *found : NULL;
}

static int parse_member(struct parser *p, struct json_object *object)
{
    size_t start = p->at;
    if (peek(p) != '"') {
        return fail(p, "want a member name in quotes");
    }
    int rc = parse_string(p);
    if (rc != ERR_OK) {
        return rc;
    }
    if (memchr(p->word.data, '\0', p->word.len) != NULL) {
        return fail_at(p, start, "NUL in a member name");
    }
    if (json_object_object_get_ex(object, p->word.data, NULL)) {
        return fail_at(p, start, "duplicate member");
    }
    char *name _cleanup_(xfreep) = xstrndup(p->word.data, p->word.len);
    skip_blanks(p);
    if (peek(p) != ':') {
        return fail(p, "want ':' after a member name");
    }
    p->at++;
    struct json_object *value = NULL;
    rc = parse_value(p, &value);
    if (rc == ERR_OK) {
        const char *known = lasting(p, name);
        unsigned how = known != NULL ? JSON_C_OBJECT_ADD_CONSTANT_KEY : 0;
        if (json_object_object_add_ex(object, known != NULL ? known : name, value,
                                      how | JSON_C_OBJECT_ADD_KEY_IS_NEW) != 0) {
            abort(); /* out of memory */
        }
    }
    return rc;
}

static int parse_element(struct parser *p, struct json_object *array)
{
    struct json_object *value = NULL;
    int rc = parse_value(p, &value);
    if (rc == ERR_OK && json_object_array_add(array, value) != 0) {
        abort(); /* out of memory */
    }
    return rc;
}

/* Items between brackets, separated by commas; `close` ends the container. */
static int parse_items(struct parser *p, char close, struct json_object *container,
                       int (*parse_item)(struct parser *p, struct json_object *container))
{
    p->at++;
    skip_blanks(p);
    if (peek(p) == close) {
        p->at++;
        return ERR_OK;
    }
    for (;;) {
        skip_blanks(p);
        int rc = parse_item(p, container);
        if (rc != ERR_OK) {
            return rc;
        }
        skip_blanks(p);
        int c = peek(p);
        if (c != ',' && c != close) {
            return fail(p, close == '}' ? "want ',' or '}'" : "want ',' or ']'");
        }
        p->at++;
        if (c == close) {
            return ERR_OK;
        }
    }
}

static int parse_container(struct parser *p, struct json_object **ret)
{
    if (p->depth_left == 0) {
        return fail(p, "nested too deeply");
    }
    p->depth_left--;
    bool is_object = peek(p) == '{';
    struct json_object *container _cleanup_(json_putp) =
        is_object ? json_object_new_object() : json_object_new_array_ext(1);
    int rc = is_object ? parse_items(p, '}', container, parse_member)
                       : parse_items(p, ']', container, parse_element);
    p->depth_left++;
    if (rc == ERR_OK) {
        json_slim(container);
        *ret = STEAL(container);
    }
    return rc;
}

/* IDs, etags and words stand in a document again and again. */
static struct json_object *string_of(struct parser *p)
{
    const char *text = str_buf_text(&p->word);
    bool counts = p->shared != NULL && strlen(text) == p->word.len;
    void *known = NULL;
    if (counts && lh_table_lookup_ex(p->shared, text, &known)) {
        return json_object_get(known);
    }
    struct json_object *made = json_object_new_string_len(text, (int)p->word.len);
    if (counts && lh_table_insert(p->shared, json_object_get_string(made), made) != 0) {
        abort(); /* out of memory */
    }
    return made;
}

static int parse_string_value(struct parser *p, struct json_object **ret)
{
    size_t start = p->at;
    int rc = parse_string(p);
    if (rc != ERR_OK) {
        return rc;
    }
    if (!p->allow_nul && p->word.len > 0 && memchr(p->word.data, '\0', p->word.len) != NULL) {
        return fail_at(p, start, "NUL in a string");
    }
    *ret = string_of(p);
    return ERR_OK;
}

static int parse_value(struct parser *p, struct json_object **ret)
{
    skip_blanks(p);
    if (p->values_left == 0) {
        return fail(p, "too many values");
    }
    p->values_left--;
    switch (peek(p)) {
    case '{':
    case '[':
        return parse_container(p, ret);
    case '"':
        return parse_string_value(p, ret);
    case 't':
        return parse_word(p, "true", json_object_new_boolean(1), ret);
    case 'f':
        return parse_word(p, "false", json_object_new_boolean(0), ret);
    case 'n':
        return parse_word(p, "null", NULL, ret);
    default:
        return peek(p) == '-' || (peek(p) >= '0' && peek(p) <= '9')
                   ? parse_number(p, ret)
                   : fail(p, "unexpected character");
    }
}

int json_parse(const char *text, size_t n, const struct json_limits *limits,
               struct json_object **ret, struct err *err)
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
        .depth_left = max_depth < DEPTH_CEILING ? max_depth : DEPTH_CEILING,
        .values_left = l->max_values > 0 ? l->max_values : VALUES_DEFAULT,
        .allow_nul = l->allow_nul,
        .names = l->names,
        .n_names = l->n_names,
        .shared = l->share_strings ? lh_kchar_table_new(64, NULL) : NULL,
        .err = err,
    };
    struct json_object *tree _cleanup_(json_putp) = NULL;
    int rc = parse_value(&p, &tree);
    skip_blanks(&p);
    if (rc == ERR_OK && p.at < n) {
        rc = fail(&p, "text after the JSON value");
    }
    str_buf_done(&p.word);
    if (p.shared != NULL) {
        lh_table_free(p.shared);
    }
    if (rc == ERR_OK) {
        *ret = STEAL(tree);
    }
    return rc;
}

static void put_tree(void *arg)
{
    json_object_put(arg);
}

int json_parse_arena(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                     struct json_object **ret, struct err *err)
{
    struct json_object *tree = NULL;
    int rc = json_parse(text, n, limits, &tree, err);
    if (rc == ERR_OK) {
        arena_defer(a, put_tree, tree);
        *ret = tree;
    }
    return rc;
}
