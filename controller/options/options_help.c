/* SPDX-License-Identifier: Apache-2.0 */
/* options_help.c: --help, in sections as kubectl and upstream print it; and which program a
 * flag is of. */
#include <string.h>

#include "controller/options/options.h"

#define TEXT_AT 16 /* column of what a flag is for */

static const char *type_word(enum option_type type)
{
    switch (type) {
    case OPTION_BOOL:
        return "";
    case OPTION_STRING:
        return " string";
    case OPTION_INT:
        return " int";
    case OPTION_FLOAT:
        return " float";
    case OPTION_DURATION:
        return " duration";
    case OPTION_LIST:
    case OPTION_STRINGS:
        return " strings";
    case OPTION_GATES:
        return " mapStringBool";
    case OPTION_VERSION:
        return " version[=true]";
    }
    return "";
}

static bool default_is_worth_showing(const struct option_def *def)
{
    return def->default_text[0] != '\0' && strcmp(def->default_text, "false") != 0 &&
           strcmp(def->default_text, "0") != 0 && strcmp(def->default_text, "0s") != 0;
}

static void append_default(struct str_buf *b, const struct option_def *def)
{
    if (def->type == OPTION_STRING) {
        str_appendf(b, "(default \"%s\")", def->default_text);
    } else if (def->type == OPTION_LIST) {
        str_appendf(b, "(default [%s])", def->default_text);
    } else {
        str_appendf(b, "(default %s)", def->default_text);
    }
}

static void flag_help(struct str_buf *b, const struct option_def *def)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;

    if (def->shorthand != '\0') {
        str_appendf(b, "  -%c, --%s%s\n", def->shorthand, def->name, type_word(def->type));
    } else {
        str_appendf(b, "      --%s%s\n", def->name, type_word(def->type));
    }
    str_append(&text, def->help);
    if (default_is_worth_showing(def)) {
        str_append(&text, text.len > 0 ? " " : "");
        append_default(&text, def);
    }
    if (def->deprecated != NULL) {
        str_appendf(&text, "%s(DEPRECATED: %s)", text.len > 0 ? " " : "", def->deprecated);
    }
    if (text.len > 0) {
        str_appendf(b, "%*s", TEXT_AT, "");
        str_append_wrapped(b, str_buf_text(&text), TEXT_AT, TEXT_AT);
        str_append_c(b, '\n');
    }
}

void options_help(struct str_buf *b, const struct tt_option *extra, size_t n)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    size_t n_all = 0;
    const struct option_def *all = options_full_table(a, extra, n, &n_all);
    const char *section = "";

    for (size_t i = 0; i < n_all; i++) {
        if (strcmp(section, all[i].section) != 0) {
            section = all[i].section;
            str_appendf(b, "\n%s:\n\n", section);
        }
        flag_help(b, &all[i]);
    }
}
