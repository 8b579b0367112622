/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_faults.c: collects and prints the faults of manifests; see the header. */
#include "controller/cmd/cmd_faults.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/base/str.h"
#include "common/data/yaml.h"

int cmd_validate_parse(const char *text, enum cmd_validate *ret, struct err *err)
{
    static const struct {
        const char *word;
        enum cmd_validate how;
    } words[] = {{"strict", CMD_VALIDATE_STRICT},
                 {"true", CMD_VALIDATE_STRICT},
                 {"warn", CMD_VALIDATE_WARN},
                 {"ignore", CMD_VALIDATE_IGNORE},
                 {"false", CMD_VALIDATE_IGNORE}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (text == NULL || str_eq(text, words[i].word)) {
            *ret = words[i].how;
            return ERR_OK;
        }
    }
    return err_set(err, ERR_INVALID,
                   "invalid argument \"%s\" for \"--validate\": allowed: strict (or true), warn, "
                   "ignore (or false)",
                   text);
}

char *cmd_path_text(struct arena *a, const struct cmd_path *path)
{
    if (path == NULL) {
        return arena_strdup(a, "");
    }
    const char *up = cmd_path_text(a, path->up);
    return path->name == NULL ? arena_printf(a, "%s[%zu]", up, path->index)
                              : arena_printf(a, "%s%s%s", up, *up == '\0' ? "" : ".", path->name);
}

static size_t path_len(const struct cmd_path *path)
{
    size_t n = 0;
    for (; path != NULL; path = path->up) {
        n++;
    }
    return n;
}

static size_t line_of(struct arena *a, const struct cmd_origin *o, const struct cmd_path *path)
{
    size_t n = o->n_steps + path_len(path);
    const char **steps = ARENA_ARRAY(a, const char *, n);
    size_t at = n;
    if (o->text == NULL) {
        return 0;
    }
    for (; path != NULL; path = path->up) {
        steps[--at] = path->name != NULL ? path->name : arena_printf(a, "%zu", path->index);
    }
    for (size_t i = 0; i < o->n_steps; i++) {
        steps[i] = o->steps[i];
    }
    return yaml_find_line(o->text, o->text_len, o->doc, steps, n);
}

char *cmd_origin_place(struct arena *a, const struct cmd_origin *origin)
{
    size_t line = line_of(a, origin, NULL);
    return line == 0 ? arena_strdup(a, origin->file)
                     : arena_printf(a, "%s:%zu", origin->file, line);
}

static void push(struct cmd_faults *f, const struct cmd_origin *o, size_t line, bool hard,
                 const char *text)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, o->file);
    if (line > 0) {
        str_appendf(&b, ":%zu", line);
    }
    str_append(&b, ": ");
    if (o->n_docs > 1) {
        str_appendf(&b, "document %zu%s", o->doc + 1, str_is_empty(o->subject) ? ": " : ", ");
    }
    if (!str_is_empty(o->subject)) {
        str_appendf(&b, "%s: ", o->subject);
    }
    str_append(&b, text);
    if (f->n == f->cap) {
        size_t cap = f->cap == 0 ? 8 : 2 * f->cap;
        struct cmd_fault *items = ARENA_ARRAY(f->a, struct cmd_fault, cap);
        for (size_t i = 0; i < f->n; i++) {
            items[i] = f->items[i];
        }
        f->items = items;
        f->cap = cap;
    }
    f->items[f->n++] = (struct cmd_fault){str_clean(f->a, str_buf_to_arena(&b, f->a)), hard};
}

void cmd_faults_add(struct cmd_faults *f, const struct cmd_origin *origin,
                    const struct cmd_path *path, bool hard, const char *fmt, ...)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    va_list ap;
    /* More are counted only: finding a line reads the whole text again. */
    size_t line = f->n < 2 * CMD_FAULTS_SHOWN ? line_of(f->a, origin, path) : 0;
    va_start(ap, fmt);
    str_vappendf(&b, fmt, ap);
    va_end(ap);
    push(f, origin, line, hard, str_buf_text(&b));
}

void cmd_faults_add_line(struct cmd_faults *f, const struct cmd_origin *origin, size_t line,
                         const char *text)
{
    push(f, origin, line, false, text);
}

static size_t count(const struct cmd_faults *f, bool soft_too)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        n += soft_too || f->items[i].hard;
    }
    return n;
}

size_t cmd_faults_hard(const struct cmd_faults *f)
{
    return count(f, false);
}

static void print(const struct cmd_faults *f, const char *word, bool hard, bool soft)
{
    size_t shown = 0;
    size_t left = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (f->items[i].hard ? !hard : !soft) {
            continue;
        }
        if (shown < CMD_FAULTS_SHOWN) {
            fprintf(stderr, "%s: %s\n", word, f->items[i].text);
            shown++;
        } else {
            left++;
        }
    }
    if (left > 0) {
        fprintf(stderr, "%s: … and %zu more\n", word, left);
    }
}

/* The only error there is. */
static const char *only(const struct cmd_faults *f, bool soft_too)
{
    size_t i = 0;
    while (!soft_too && !f->items[i].hard) {
        i++;
    }
    return f->items[i].text;
}

int cmd_faults_settle(const struct cmd_faults *f, enum cmd_validate how, struct err *err)
{
    bool strict = how == CMD_VALIDATE_STRICT;
    size_t errors = count(f, strict);
    if (how == CMD_VALIDATE_WARN) {
        print(f, "warning", false, true);
    }
    if (errors == 0) {
        return ERR_OK;
    }
    if (errors == 1) {
        return err_set(err, ERR_INVALID, "%s", only(f, strict));
    }
    print(f, "error", true, strict);
    return err_set(err, ERR_INVALID, "%zu faults in the given files: nothing was changed%s", errors,
                   strict && cmd_faults_hard(f) < f->n
                       ? "; --validate=warn passes over unknown and duplicate fields"
                       : "");
}
