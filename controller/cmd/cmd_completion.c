/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_completion.c: `trimtab completion SHELL`: a script that completes sub-commands, flags and file names.
 *
 * Generated from the tables of flags, so it is never out of date. */
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "controller/cmd.h"
#include "controller/cmd/cmd_args.h"
#include "controller/cmd/commands.h"
#include "controller/options.h"

static const char usage[] = "Prints a completion script for a shell.\n"
                            "\n"
                            "Usage:\n"
                            "  trimtab completion bash|zsh|fish\n"
                            "\n"
                            "Examples:\n"
                            "  source <(trimtab completion bash)\n"
                            "  trimtab completion fish > ~/.config/fish/completions/trimtab.fish\n";

static unsigned command_bit(const char *name)
{
    static const struct {
        const char *name;
        unsigned bit;
    } bits[] = {{"plan", CMD_PLAN},
                {"explain", CMD_EXPLAIN},
                {"check-config", CMD_CHECK_CONFIG},
                {"version", CMD_VERSION},
                {"completion", CMD_COMPLETION}};
    for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
        if (str_eq(bits[i].name, name)) {
            return bits[i].bit;
        }
    }
    return 0;
}

static void append_flags(struct str_buf *b, const char *command)
{
    for (size_t i = 0; command != NULL && i < cmd_flags_n; i++) {
        if ((cmd_flags[i].commands & command_bit(command)) != 0) {
            str_appendf(b, " --%s%s", cmd_flags[i].name, cmd_flags[i].value == NULL ? "" : "=");
        }
    }
    for (size_t i = 0; command == NULL && i < options_table_n; i++) {
        str_appendf(b, " --%s", options_table[i].name);
    }
}

static void append_names(struct str_buf *b)
{
    for (const struct cmd *c = cmd_table; c->name != NULL; c++) {
        str_appendf(b, "%s%s", c == cmd_table ? "" : " ", c->name);
    }
}

static void print_bash(struct str_buf *b)
{
    str_append(b, "_trimtab() {\n    local cur=${COMP_WORDS[COMP_CWORD]} words\n    case "
                  "${COMP_WORDS[1]} in\n");
    for (const struct cmd *c = cmd_table; c->name != NULL; c++) {
        str_appendf(b, "    %s) words=\"", c->name);
        append_flags(b, c->name);
        str_append(b, str_eq(c->name, "completion") ? " bash zsh fish\" ;;\n" : "\" ;;\n");
    }
    str_append(b, "    *) words=\"");
    append_names(b);
    append_flags(b, NULL);
    str_append(b, "\" ;;\n    esac\n"
                  "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                  "    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                  "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
                  "}\ncomplete -o filenames -F _trimtab trimtab\n");
}

static void print_fish(struct str_buf *b)
{
    for (const struct cmd *c = cmd_table; c->name != NULL; c++) {
        str_appendf(b, "complete -c trimtab -n __fish_use_subcommand -a %s -d '%s'\n", c->name,
                    c->summary);
        for (size_t i = 0; i < cmd_flags_n; i++) {
            if ((cmd_flags[i].commands & command_bit(c->name)) != 0) {
                str_appendf(b, "complete -c trimtab -n '__fish_seen_subcommand_from %s' -l %s%s\n",
                            c->name, cmd_flags[i].name, cmd_flags[i].value == NULL ? "" : " -r");
            }
        }
    }
}

int cmd_completion(int argc, char **argv)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const char *shell = argc > 1 ? argv[1] : "";
    if (str_eq(shell, "--help") || str_eq(shell, "-h")) {
        fputs(usage, stdout);
        return 0;
    }
    if (str_eq(shell, "bash")) {
        print_bash(&b);
    } else if (str_eq(shell, "zsh")) {
        str_append(&b, "autoload -U +X bashcompinit && bashcompinit\n");
        print_bash(&b);
    } else if (str_eq(shell, "fish")) {
        print_fish(&b);
    } else {
        fprintf(stderr, "error: completion: unknown shell \"%s\"; allowed: bash, zsh, fish\n",
                shell);
        return 1;
    }
    fputs(str_buf_text(&b), stdout);
    return 0;
}
