/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c: the flags of a sub-command as --help prints them: one column of flags, one of texts,
 * as wide as the terminal.
 *
 * Knows only the tables (cmd_args.h, the provider's options), so no flag can be forgotten. */
#include "controller/cmd/cmd_args.h"

#include <string.h>
#include <unistd.h>

#include "controller/base/term.h"

#define HELP_AT    37 /* column of the texts */
#define HELP_BELOW 8  /* the same where the terminal has no room for two columns */
#define HELP_ROOM  30 /* a column of texts that is narrower is none */

/* A command that people paste into a shell. */
static bool is_example(const char *line)
{
    return (str_has_prefix(line, "trimtab ") || str_has_prefix(line, "kubectl ")) &&
           strchr(line, '[') == NULL;
}

/* Lines that a shell takes for one. */
static void append_continued(struct str_buf *b, const char *text)
{
    for (; *text != '\0'; text++) {
        str_append(b, *text == '\n' ? " \\" : "");
        str_append_c(b, *text);
    }
}

/* One line of the usage. */
static void usage_line(struct str_buf *b, const char *line, size_t n)
{
    char text[512];
    size_t lead = strspn(line, " ");
    if (n >= sizeof text || lead >= n || str_buf_columns(b) >= STR_COLUMNS) {
        str_append_n(b, line, n);
        return;
    }
    memcpy(text, line, n);
    text[n] = '\0';
    str_append_n(b, line, lead);
    if (is_example(text + lead)) {
        _cleanup_(str_buf_done) struct str_buf command = {.columns = b->columns - 2};
        str_append_wrapped(&command, text + lead, lead, lead + 4);
        append_continued(b, str_buf_text(&command));
    } else {
        str_append_wrapped(b, text + lead, lead, lead > 0 ? lead + 4 : 0);
    }
}

struct str_buf cmd_help_begin(const char *usage)
{
    struct str_buf b = {.columns = term_of(STDOUT_FILENO, false).columns};
    for (const char *line = usage; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        usage_line(&b, line, n);
        if (line[n] == '\n') {
            str_append_c(&b, '\n');
            n++;
        }
        line += n;
    }
    return b;
}

static void help_line(struct str_buf *b, const char *flag, const char *text)
{
    size_t wide = str_columns(flag) + 2;
    size_t column = HELP_AT + HELP_ROOM <= str_buf_columns(b) ? HELP_AT : HELP_BELOW;
    str_appendf(b, "  %s", flag);
    if (wide + 1 >= column) {
        str_append_c(b, '\n');
        wide = 0;
    }
    str_appendf(b, "%*s", (int)(column - wide), "");
    str_append_wrapped(b, text, column, column);
    str_append_c(b, '\n');
}

static void help_option(struct str_buf *b, const struct tt_option *o)
{
    static const char *const values[] = {[TT_OPTION_STRING] = "=TEXT",
                                         [TT_OPTION_BOOL] = "",
                                         [TT_OPTION_INT] = "=N",
                                         [TT_OPTION_DURATION] = "=DURATION",
                                         [TT_OPTION_LIST] = "=A,B,…"};
    _cleanup_(str_buf_done) struct str_buf flag = STR_BUF_INIT;
    str_appendf(&flag, "--%s%s", o->name,
                o->type < ARRAY_LEN(values) ? str_nonnull(values[o->type]) : "");
    help_line(b, str_buf_text(&flag), str_nonnull(o->help));
}

void cmd_args_help(struct str_buf *b, unsigned command, const struct tt_option *extra, size_t n)
{
    str_append(b, "\nFlags:\n");
    for (size_t i = 0; i < cmd_flags_n; i++) {
        const struct cmd_flag *f = &cmd_flags[i];
        if ((f->commands & command) == 0) {
            continue;
        }
        struct str_buf flag = STR_BUF_INIT;
        if (f->shorthand != 0) {
            str_appendf(&flag, "-%c, ", f->shorthand);
        }
        str_appendf(&flag, "--%s%s%s", f->name, f->value == NULL ? "" : "=", str_nonnull(f->value));
        help_line(b, str_buf_text(&flag), f->help);
        str_buf_done(&flag);
    }
    if (n > 0) {
        str_append(b, "\nFlags of the provider:\n");
    } else if ((command & (CMD_PLAN | CMD_EXPLAIN | CMD_CHECK_CONFIG)) != 0) {
        str_append_c(b, '\n');
        str_append_wrapped(b, "With --cloud-provider=NAME the provider's own flags are shown, too.",
                           0, 0);
        str_append_c(b, '\n');
    }
    for (size_t i = 0; i < n; i++) {
        help_option(b, &extra[i]);
    }
}
