/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c: parses list filters by recursive descent, and matches resources against them.
 *
 * filter.h says which forms there are.  Parentheses nest at most DEPTH_MAX deep.  Values are texts;
 * numbers are compared as numbers when both sides are such.  A field that leads through a list
 * matches if any item does. */
#include "sim/compute/filter.h"

#include "common/data/json.h"

#include <regex.h>
#include <string.h>

#define DEPTH_MAX 32

enum node_kind { NODE_AND = 0, NODE_OR, NODE_NOT, NODE_TERM };
enum op { OP_EQ_REGEX = 0, OP_NE_REGEX, OP_EQ, OP_NE, OP_HAS, OP_LT, OP_LE, OP_GT, OP_GE };

struct filter {
    enum node_kind kind;
    struct filter *left, *right; /* right: NULL for NOT */
    /* a term */
    const char *field;
    enum op op;
    const char *value;
    regex_t *regex;
};

struct parser {
    struct arena *a;
    const char *at;
    int depth;
    bool old_form, new_form;
    struct err *err;
};

static struct filter *parse_or(struct parser *p);

static struct filter *fail(struct parser *p, const char *why)
{
    if (!p->err->code) {
        err_set(p->err, ERR_INVALID, "%s at '%.40s'", why, p->at);
    }
    return NULL;
}

static void skip_blanks(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

/* A word in its place ("AND"), followed by something that is not part of a name. */
static bool take_word(struct parser *p, const char *word)
{
    size_t n = strlen(word);
    skip_blanks(p);
    if (strncmp(p->at, word, n) != 0 || !strchr(" \t\r\n(\"'", p->at[n])) {
        return false;
    }
    p->at += n;
    return true;
}

static struct filter *node(struct parser *p, enum node_kind kind, struct filter *left,
                           struct filter *right)
{
    struct filter *f = ARENA_NEW(p->a, struct filter);
    f->kind = kind;
    f->left = left;
    f->right = right;
    return f;
}

/* --- terms ------------------------------------------------------------------------------------ */

static const struct {
    const char *text;
    enum op op;
} operators[] = {
    {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE}, {"=", OP_EQ},
    {":", OP_HAS}, {"<", OP_LT},  {">", OP_GT},
};

static bool parse_operator(struct parser *p, enum op *ret)
{
    if (take_word(p, "eq") || take_word(p, "ne")) {
        *ret = p->at[-1] == 'q' ? OP_EQ_REGEX : OP_NE_REGEX;
        p->old_form = true;
        return true;
    }
    skip_blanks(p);
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        if (str_has_prefix(p->at, operators[i].text)) {
            p->at += strlen(operators[i].text);
            *ret = operators[i].op;
            p->new_form = true;
            return true;
        }
    }
    return false;
}

/* A value in quotes; backslash takes the next byte as it is. */
static const char *parse_quoted(struct parser *p, bool keep_backslash)
{
    struct str_buf b = STR_BUF_INIT;
    char quote = *p->at++;
    while (*p->at && *p->at != quote) {
        if (*p->at == '\\' && p->at[1] != '\0') {
            if (keep_backslash && p->at[1] != quote) {
                str_append_c(&b, '\\');
            }
            p->at++;
        }
        str_append_c(&b, *p->at++);
    }
    const char *value = *p->at == quote ? str_buf_to_arena(&b, p->a) : NULL;
    p->at += value != NULL;
    str_buf_done(&b);
    return value;
}

/* A bare regular expression: to the parenthesis that closes the group around it, or to the end. */
static const char *parse_bare_regex(struct parser *p)
{
    const char *start = p->at;
    int open = 0;
    for (; *p->at; p->at++) {
        if (*p->at == '\\' && p->at[1] != '\0') {
            p->at++;
        } else if (*p->at == '(') {
            open++;
        } else if (*p->at == ')' && open-- == 0 && p->depth > 0) {
            break;
        }
    }
    const char *value = str_trim(p->a, arena_strndup(p->a, start, (size_t)(p->at - start)));
    return *value ? value : NULL;
}

static const char *parse_value(struct parser *p, bool regex)
{
    skip_blanks(p);
    if (*p->at == '"' || *p->at == '\'') {
        return parse_quoted(p, regex);
    }
    if (regex) {
        return parse_bare_regex(p);
    }
    size_t n = strcspn(p->at, " \t\r\n()");
    const char *value = n ? arena_strndup(p->a, p->at, n) : NULL;
    p->at += n;
    return value;
}

static void free_regex(void *arg)
{
    regfree(arg);
}

static bool compile(struct parser *p, struct filter *f)
{
    struct str_buf b = STR_BUF_INIT;
    bool no_case = false;
    f->regex = ARENA_NEW(p->a, regex_t);
    bool ok = ce_regex_to_posix(&b, f->value, &no_case) &&
              regcomp(f->regex, str_buf_text(&b),
                      REG_EXTENDED | REG_NOSUB | (no_case ? REG_ICASE : 0)) == 0;
    str_buf_done(&b);
    if (ok) {
        arena_defer(p->a, free_regex, f->regex);
    }
    return ok;
}

static struct filter *parse_term(struct parser *p)
{
    skip_blanks(p);
    size_t n =
        strspn(p->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/[]");
    if (n == 0) {
        return fail(p, "a field name is missing");
    }
    struct filter *f = node(p, NODE_TERM, NULL, NULL);
    f->field = arena_strndup(p->a, p->at, n);
    p->at += n;
    if (!parse_operator(p, &f->op)) {
        return fail(p, "an operator is missing");
    }
    bool regex = f->op == OP_EQ_REGEX || f->op == OP_NE_REGEX;
    f->value = parse_value(p, regex);
    if (!f->value) {
        return fail(p, "a value is missing");
    }
    if (regex && !compile(p, f)) {
        return fail(p, "the regular expression is not valid");
    }
    return f;
}

/* --- expressions ------------------------------------------------------------------------------ */

static struct filter *parse_primary(struct parser *p)
{
    skip_blanks(p);
    if (*p->at != '(') {
        return parse_term(p);
    }
    if (p->depth == DEPTH_MAX) {
        return fail(p, "parentheses are nested too deep");
    }
    p->at++;
    p->depth++;
    struct filter *f = parse_or(p);
    p->depth--;
    skip_blanks(p);
    if (f && *p->at++ != ')') {
        p->at--;
        return fail(p, "a closing parenthesis is missing");
    }
    return f;
}

static struct filter *parse_unary(struct parser *p)
{
    if (take_word(p, "NOT") || (*p->at == '-' && p->at[1] != '\0' && p->at++)) {
        struct filter *f = parse_primary(p);
        return f ? node(p, NODE_NOT, f, NULL) : NULL;
    }
    return parse_primary(p);
}

static bool at_or(const struct parser *p)
{
    return str_has_prefix(p->at, "OR") && strchr(" \t\r\n(", p->at[2]);
}

static struct filter *parse_and(struct parser *p)
{
    struct filter *f = parse_unary(p);
    while (f) {
        bool word = take_word(p, "AND");
        skip_blanks(p);
        if (!word && (*p->at == '\0' || *p->at == ')' || at_or(p))) {
            return f;
        }
        struct filter *right = parse_unary(p);
        f = right ? node(p, NODE_AND, f, right) : NULL;
    }
    return NULL;
}

static struct filter *parse_or(struct parser *p)
{
    struct filter *f = parse_and(p);
    while (f && take_word(p, "OR")) {
        struct filter *right = parse_and(p);
        f = right ? node(p, NODE_OR, f, right) : NULL;
    }
    return f;
}

int ce_filter_parse(struct arena *a, const char *text, struct filter **ret, struct err *err)
{
    struct err local = ERR_INIT;
    struct parser p = {.a = a, .at = text, .err = &local};
    struct filter *f = parse_or(&p);
    skip_blanks(&p);
    if (f && *p.at) {
        f = fail(&p, "unexpected text");
    }
    if (f && p.old_form && p.new_form) {
        f = fail(&p, "eq and ne cannot be mixed with other operators");
    }
    if (!f) {
        return err_copy(err, &local);
    }
    *ret = f;
    return ERR_OK;
}

/* --- matching --------------------------------------------------------------------------------- */

static bool compare(const struct filter *f, const char *text)
{
    int64_t x, y;
    bool numbers = str_to_i64(text, &x) && str_to_i64(f->value, &y);
    int order = numbers ? (x > y) - (x < y) : strcmp(text, f->value);
    switch (f->op) {
    case OP_EQ_REGEX:
    case OP_NE_REGEX:
        return regexec(f->regex, text, 0, NULL, 0) == 0;
    case OP_EQ:
    case OP_NE:
        return strchr(f->value, '*') ? str_glob(f->value, text) : order == 0;
    case OP_HAS:
        return strchr(f->value, '*') ? str_glob(f->value, text) : strstr(text, f->value) != NULL;
    case OP_LT:
        return order < 0;
    case OP_LE:
        return order <= 0;
    case OP_GT:
        return order > 0;
    case OP_GE:
        return order >= 0;
    }
    return false;
}

/* Does any value at `path` (dots, through lists) compare? */
static bool any_value(struct arena *a, const struct filter *f, struct json_object *o,
                      const char *path)
{
    if (!o) {
        return false;
    }
    if (json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < json_len(o); i++) {
            if (any_value(a, f, json_object_array_get_idx(o, i), path)) {
                return true;
            }
        }
        return false;
    }
    if (*path == '\0') {
        return compare(f, json_object_get_string(o));
    }
    size_t n = strcspn(path, ".");
    char *name = arena_strndup(a, path, n);
    return any_value(a, f, json_member(o, name), path + n + (path[n] == '.'));
}

bool ce_filter_matches(struct arena *a, const struct filter *f, struct json_object *o)
{
    switch (f->kind) {
    case NODE_AND:
        return ce_filter_matches(a, f->left, o) && ce_filter_matches(a, f->right, o);
    case NODE_OR:
        return ce_filter_matches(a, f->left, o) || ce_filter_matches(a, f->right, o);
    case NODE_NOT:
        return !ce_filter_matches(a, f->left, o);
    case NODE_TERM:
        break;
    }
    bool any = any_value(a, f, o, f->field);
    return f->op == OP_NE_REGEX || f->op == OP_NE ? !any : any;
}
