/* SPDX-License-Identifier: Apache-2.0 */
/* gcfg.c: the gcfg dialect of git-config as a flat list of entries.
 *
 * Accepts and refuses exactly what upstream's library does (gce-cloud-provider.md 1.1, 17): names
 * of any script's letters and digits but no underscore, quotes anywhere in a value, a backslash
 * outside quotes only before a line end or a quote, and no invalid UTF-8 or NUL anywhere, comments
 * included.  The first error ends the parse; its message has line and byte column.  Meaning is
 * gcfg_decode.c's.  Pure. */
#include "common/data/gcfg.h"
#include "common/base/str.h"
#include "common/base/utf8.h"

#include <string.h>

#define ENTRIES_MAX ((size_t)100000)
#define END         UINT32_MAX /* "character" behind the last one */

struct scanner {
    const char *text;
    size_t n;
    size_t at;         /* of the current character */
    size_t len;        /* its bytes; 0 at the end */
    uint32_t c;        /* the character, or END */
    size_t line_start; /* where the current line begins */
    int line;          /* 1… */
    struct arena *arena;
    struct err *err;
    struct gcfg_entry *entries; /* heap; moved to the arena at the end */
    size_t count;
    size_t cap;
};

/* Where a token began, for messages and entries. */
struct mark {
    int line;
    int column;
};

static struct mark mark_here(const struct scanner *s)
{
    return (struct mark){.line = s->line, .column = (int)(s->at - s->line_start + 1)};
}

static int fail(struct scanner *s, struct mark at, const char *what)
{
    return err_set(s->err, ERR_INVALID, "%d:%d: %s", at.line, at.column, what);
}

/* Decodes the character at s->at. */
static int look(struct scanner *s)
{
    if (s->at >= s->n) {
        s->c = END;
        s->len = 0;
        return ERR_OK;
    }
    s->len = utf8_decode(s->text + s->at, s->n - s->at, &s->c);
    if (s->len == 0) {
        return fail(s, mark_here(s), "illegal UTF-8 encoding");
    }
    return s->c == 0 ? fail(s, mark_here(s), "illegal character NUL") : ERR_OK;
}

static int next(struct scanner *s)
{
    bool line_ended = s->c == '\n';
    s->at += s->len;
    if (line_ended) {
        s->line++;
        s->line_start = s->at;
    }
    return look(s);
}

static bool is_blank(uint32_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int skip_blanks(struct scanner *s)
{
    int rc = ERR_OK;
    while (rc == ERR_OK && is_blank(s->c)) {
        rc = next(s);
    }
    return rc;
}

/* Blanks and a comment, up to the line end. */
static int skip_to_token(struct scanner *s)
{
    int rc = skip_blanks(s);
    if (rc == ERR_OK && (s->c == ';' || s->c == '#')) {
        while (rc == ERR_OK && s->c != '\n' && s->c != END) {
            rc = next(s);
        }
    }
    return rc;
}

static int illegal(struct scanner *s)
{
    struct str_buf what _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_appendf(&what, "illegal character U+%04X", (unsigned)s->c);
    if (unicode_is_print(s->c)) {
        str_append(&what, " '");
        str_append_n(&what, s->text + s->at, s->len);
        str_append_c(&what, '\'');
    }
    return fail(s, mark_here(s), str_buf_text(&what));
}

/* A character that begins no token is its own error; otherwise `what` was expected here. */
static int unexpected(struct scanner *s, const char *what)
{
    bool begins_token = s->c == END || s->c == '\n' || s->c == '"' || s->c == '[' || s->c == ']' ||
                        s->c == '=' || unicode_is_letter(s->c);
    return begins_token ? fail(s, mark_here(s), what) : illegal(s);
}

/* Allowed characters after a header or a value. */
static int expect_line_end(struct scanner *s)
{
    int rc = skip_to_token(s);
    if (rc == ERR_OK && s->c != '\n' && s->c != END) {
        rc = unexpected(s, "expected EOL, EOF, or comment");
    }
    return rc;
}

static int scan_name(struct scanner *s, const char **ret)
{
    size_t start = s->at;
    int rc = ERR_OK;
    while (rc == ERR_OK && s->c != END &&
           (s->c == '-' || unicode_is_letter(s->c) || unicode_is_digit(s->c))) {
        rc = next(s);
    }
    if (rc == ERR_OK) {
        *ret = arena_strndup(s->arena, s->text + start, s->at - start);
    }
    return rc;
}

/* Takes the current character over and continues. */
static int take(struct scanner *s, struct str_buf *b)
{
    str_append_n(b, s->text + s->at, s->len);
    return next(s);
}

/* Behind a backslash inside quotes.  Names of sub-sections know fewer escapes than values. */
static int scan_escape(struct scanner *s, bool in_value, struct str_buf *b)
{
    if (s->c == '\\' || s->c == '"') {
        return take(s, b);
    }
    if (in_value && (s->c == 'n' || s->c == 't')) {
        str_append_c(b, s->c == 'n' ? '\n' : '\t');
        return next(s);
    }
    return fail(s, mark_here(s), "unknown escape sequence");
}

/* `"sub"`, at its opening quote. */
static int scan_subsection(struct scanner *s, const char **ret)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct mark start = mark_here(s);
    int rc = next(s);
    while (rc == ERR_OK && s->c != '"') {
        if (s->c == '\n' || s->c == END) {
            return fail(s, start, "string not terminated");
        }
        if (s->c == '\\') {
            rc = next(s);
            rc = rc == ERR_OK ? scan_escape(s, false, &b) : rc;
        } else {
            rc = take(s, &b);
        }
    }
    rc = rc == ERR_OK ? next(s) : rc;
    if (rc == ERR_OK) {
        *ret = str_buf_to_arena(&b, s->arena);
    }
    return rc;
}

/* Behind a backslash outside quotes: a line end (dropped) or a literal quote, after
 * an optional CR. */
static int scan_bare_escape(struct scanner *s, struct mark value, struct str_buf *b)
{
    int rc = s->c == '\r' ? next(s) : ERR_OK;
    if (rc != ERR_OK) {
        return rc;
    }
    if (s->c != '\n' && s->c != '"') {
        return fail(s, value, "unquoted '\\' must be followed by new line or double quote");
    }
    if (s->c == '"') {
        str_append_c(b, '"');
    }
    return next(s);
}

/* One step inside a value; *in_quote follows the quotes.  Carriage returns are never kept. */
static int scan_value_step(struct scanner *s, struct mark value, bool *in_quote, struct str_buf *b)
{
    if (*in_quote && (s->c == '\n' || s->c == END)) {
        return fail(s, value, "string not terminated");
    }
    if (s->c == '\\') {
        int rc = next(s);
        if (rc != ERR_OK) {
            return rc;
        }
        return *in_quote ? scan_escape(s, true, b) : scan_bare_escape(s, value, b);
    }
    if (s->c == '"' || s->c == '\r') {
        *in_quote = *in_quote != (s->c == '"');
        return next(s);
    }
    return take(s, b);
}

/* Behind `=`: up to the line end or a comment, without blanks at both ends. */
static int scan_value(struct scanner *s, const char **ret)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    bool in_quote = false;
    size_t keep = 0; /* length without trailing blanks that stand outside quotes */
    int rc = skip_blanks(s);
    struct mark start = mark_here(s);
    while (rc == ERR_OK &&
           (in_quote || (s->c != END && s->c != '\n' && s->c != ';' && s->c != '#'))) {
        bool blank = is_blank(s->c);
        rc = scan_value_step(s, start, &in_quote, &b);
        if (in_quote || !blank) {
            keep = b.len;
        }
    }
    if (rc == ERR_OK) {
        *ret = arena_strndup(s->arena, str_buf_text(&b), keep);
    }
    return rc;
}

static int add_entry(struct scanner *s, const struct gcfg_entry *entry)
{
    if (s->count == ENTRIES_MAX) {
        return fail(s, (struct mark){entry->line, entry->column}, "too many entries");
    }
    if (s->count == s->cap) {
        s->cap = s->cap > 0 ? s->cap * 2 : 32;
        s->entries = xrealloc(s->entries, s->cap * sizeof *s->entries);
    }
    s->entries[s->count++] = *entry;
    return ERR_OK;
}

/* `[name]` or `[name "sub"]`, at the bracket. */
static int scan_header(struct scanner *s, struct gcfg_entry *section)
{
    *section = (struct gcfg_entry){.line = mark_here(s).line, .column = mark_here(s).column};
    int rc = next(s);
    rc = rc == ERR_OK ? skip_to_token(s) : rc;
    if (rc == ERR_OK && (s->c == END || !unicode_is_letter(s->c))) {
        rc = unexpected(s, "expected section name");
    }
    rc = rc == ERR_OK ? scan_name(s, &section->section) : rc;
    rc = rc == ERR_OK ? skip_to_token(s) : rc;
    if (rc == ERR_OK && s->c == '"') {
        struct mark at = mark_here(s);
        rc = scan_subsection(s, &section->subsection);
        if (rc == ERR_OK && section->subsection[0] == '\0') {
            rc = fail(s, at, "empty subsection name");
        }
        rc = rc == ERR_OK ? skip_to_token(s) : rc;
    }
    if (rc == ERR_OK && s->c != ']') {
        rc = unexpected(s, section->subsection == NULL ? "expected subsection name or right bracket"
                                                       : "expected right bracket");
    }
    rc = rc == ERR_OK ? next(s) : rc;
    rc = rc == ERR_OK ? expect_line_end(s) : rc;
    return rc == ERR_OK ? add_entry(s, section) : rc;
}

/* `key`, `key =` or `key = value`, at the first letter. */
static int scan_variable(struct scanner *s, const struct gcfg_entry *section)
{
    struct mark at = mark_here(s);
    struct gcfg_entry entry = {.section = section->section,
                               .subsection = section->subsection,
                               .line = at.line,
                               .column = at.column};
    int rc = scan_name(s, &entry.key);
    if (rc == ERR_OK && section->section == NULL) {
        return fail(s, at, "expected section header");
    }
    rc = rc == ERR_OK ? skip_to_token(s) : rc;
    if (rc == ERR_OK && s->c == '=') {
        rc = next(s);
        rc = rc == ERR_OK ? scan_value(s, &entry.value) : rc;
        rc = rc == ERR_OK ? expect_line_end(s) : rc;
    } else if (rc == ERR_OK && s->c != '\n' && s->c != END) {
        rc = unexpected(s, "expected '='");
    }
    return rc == ERR_OK ? add_entry(s, &entry) : rc;
}

static int scan_all(struct scanner *s)
{
    struct gcfg_entry section = {0};
    int rc = look(s);
    while (rc == ERR_OK) {
        rc = skip_to_token(s);
        if (rc != ERR_OK || s->c == END) {
            break;
        }
        if (s->c == '\n') {
            rc = next(s);
        } else if (s->c == '[') {
            rc = scan_header(s, &section);
        } else if (unicode_is_letter(s->c)) {
            rc = scan_variable(s, &section);
        } else {
            rc = unexpected(s, section.section == NULL
                                   ? "expected section header"
                                   : "expected section header or variable declaration");
        }
    }
    return rc;
}

int gcfg_parse(struct arena *a, const char *text, size_t n, struct gcfg_entry **ret, size_t *ret_n,
               struct err *err)
{
    struct scanner s = {.text = text, .n = n, .line = 1, .arena = a, .err = err};
    int rc = scan_all(&s);
    if (rc == ERR_OK) {
        *ret = ARENA_ARRAY(a, struct gcfg_entry, s.count);
        if (s.count > 0) {
            memcpy(*ret, s.entries, s.count * sizeof *s.entries);
        }
        *ret_n = s.count;
    }
    free(s.entries);
    return rc;
}
