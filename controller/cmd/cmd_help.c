/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c: the flags of a sub-command as --help prints them: one column of flags, one of texts, 100 columns wide.
 *
 * Knows only the tables (cmd_args.h, the provider's options), so no flag can be forgotten. */
#include "controller/cmd/cmd_args.h"

#define HELP_AT 37 /* column of the texts */

static void help_line(struct str_buf *b, const char *flag, const char *text)
{
    size_t wide = str_columns(flag) + 2;
    str_appendf(b, "  %s", flag);
    if (wide + 1 >= HELP_AT) {
        str_append_c(b, '\n');
        wide = 0;
    }
    str_appendf(b, "%*s", (int)(HELP_AT - wide), "");
    str_append_wrapped(b, text, HELP_AT, HELP_AT);
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
        str_append(b, "\nWith --cloud-provider=NAME the provider's own flags are shown, too.\n");
    }
    for (size_t i = 0; i < n; i++) {
        help_option(b, &extra[i]);
    }
}
