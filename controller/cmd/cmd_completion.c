/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_completion.c: `trimtab completion SHELL`: a script that completes sub-commands, flags and
 * file names.
 *
 * Generated from the tables of flags, so it is never out of date. */
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/cmd_args.h"
#include "controller/cmd/cmd_session.h"
#include "controller/cmd/commands.h"
#include "controller/options/options.h"
#include "providers/builtin.h"

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
    } bits[] = {
        {"plan", CMD_PLAN},       {"explain", CMD_EXPLAIN}, {"check-config", CMD_CHECK_CONFIG},
        {"status", CMD_STATUS},   {"version", CMD_VERSION}, {"completion", CMD_COMPLETION},
        {"orphans", CMD_ORPHANS}, {"rbac", CMD_RBAC},       {"trace", CMD_TRACE},
        {"render", CMD_RENDER}};
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
        str_appendf(b, " --%s%s", options_table[i].name,
                    options_table[i].type == OPTION_BOOL ? "" : "=");
    }
}

static void append_providers(struct str_buf *b)
{
    size_t n = 0;
    const struct tt_provider *const *builtins = trimtab_builtin_providers(&n);
    for (size_t i = 0; i < n; i++) {
        str_appendf(b, "%s%s", i == 0 ? "" : " ", builtins[i]->name);
    }
}

/* Words behind the name of the command. */
static void append_words(struct str_buf *b, const char *command)
{
    append_flags(b, command);
    if (str_eq(command, "completion")) {
        str_append(b, " bash zsh fish");
    }
}

/* Bash splits at '=', so that a flag's value is a word of its own. */
static const char bash_begin[] =
    "_trimtab() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} flag= words=\n"
    "    if [[ $cur == = ]]; then\n"
    "        flag=$prev cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        flag=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    elif [[ $prev == -[fno] ]]; then\n"
    "        flag=$prev\n"
    "    fi\n"
    "    COMPREPLY=()\n";

static void print_bash(struct str_buf *b)
{
    str_append(b, bash_begin);
    str_append(b, "    case $flag in\n    '') ;;\n    --cloud-provider) words=\"");
    append_providers(b);
    str_append(b, "\" ;;\n    -o | --output) words=json ;;\n"
                  "    --mode) words=\"iptables ipvs nftables\" ;;\n"
                  "    --protocol) words=\"TCP UDP SCTP\" ;;\n"
                  "    --family) words=\"IPv4 IPv6\" ;;\n"
                  "    --form) words=\"saved restore\" ;;\n"
                  "    --from | --to | --node) return ;;\n"
                  "    --validate) words=\"strict warn ignore\" ;;\n"
                  "    -n | --namespace) return ;;\n"
                  "    *) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n    esac\n"
                  "    if [[ -n $flag ]]; then\n        :\n"
                  "    elif [[ $COMP_CWORD -eq 1 ]]; then\n        words=\"");
    for (const struct cmd *c = cmd_table; c->name != NULL; c++) {
        str_appendf(b, "%s ", c->name);
    }
    str_append(b, "help");
    append_flags(b, NULL);
    str_append(b, "\"\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (const struct cmd *c = cmd_table; c->name != NULL; c++) {
        str_appendf(b, "        %s) words=\"", c->name);
        append_words(b, c->name);
        str_append(b, "\" ;;\n");
    }
    str_append(b, "        help) words=\"");
    for (const struct cmd *c = cmd_table; c->name != NULL; c++) {
        str_appendf(b, "%s ", c->name);
    }
    str_append(b, "\" ;;\n        *) words=\"");
    append_flags(b, NULL);
    str_append(b, "\" ;;\n        esac\n    fi\n"
                  "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                  "    if [[ ${#COMPREPLY[@]} -eq 0 && $cur != -* ]]; then\n"
                  "        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n"
                  "    if [[ ${COMPREPLY[0]-} == *= ]]; then\n        compopt -o nospace\n    fi\n"
                  "}\ncomplete -o filenames -F _trimtab trimtab\n");
}

static void append_fish_text(struct str_buf *b, const char *text)
{
    str_append(b, " -d '");
    for (; *text != '\0'; text++) {
        str_append(b, *text == '\'' || *text == '\\' ? "\\" : "");
        str_append_c(b, *text);
    }
    str_append(b, "'\n");
}

static void print_fish(struct str_buf *b)
{
    for (const struct cmd *c = cmd_table; c->name != NULL; c++) {
        str_appendf(b, "complete -c trimtab -n __fish_use_subcommand -a %s", c->name);
        append_fish_text(b, c->summary);
        for (size_t i = 0; i < cmd_flags_n; i++) {
            const struct cmd_flag *f = &cmd_flags[i];
            if ((f->commands & command_bit(c->name)) == 0) {
                continue;
            }
            str_appendf(b, "complete -c trimtab -n '__fish_seen_subcommand_from %s' -l %s", c->name,
                        f->name);
            if (f->shorthand != '\0') {
                str_appendf(b, " -s %c", f->shorthand);
            }
            str_append(b, f->value == NULL ? "" : " -r");
            append_fish_text(b, f->help);
        }
    }
}

static int print_script(const char *shell)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    if (str_eq(shell, "bash")) {
        print_bash(&b);
    } else if (str_eq(shell, "zsh")) {
        str_append(&b, "autoload -U +X bashcompinit && bashcompinit\n");
        print_bash(&b);
    } else if (str_eq(shell, "fish")) {
        print_fish(&b);
    } else {
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_INVALID, "unknown shell \"%s\"; allowed: bash, zsh, fish", shell);
        return cmd_fail_usage("completion", &err);
    }
    fputs(str_buf_text(&b), stdout);
    return 0;
}

int cmd_completion(int argc, char **argv)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct cmd_args args;
    struct err err = ERR_INIT;
    int code = cmd_args_parse(a, CMD_COMPLETION, argc, argv, NULL, 0, &args, &err);
    if (code == ERR_OK && args.help) {
        _cleanup_(str_buf_done) struct str_buf b = cmd_help_begin(usage);
        cmd_args_help(&b, CMD_COMPLETION, NULL, 0);
        fputs(str_buf_text(&b), stdout);
        return 0;
    }
    if (code == ERR_OK && args.words.n != 1) {
        code = err_set(&err, ERR_INVALID, "name one shell: bash, zsh or fish");
    }
    return code != ERR_OK ? cmd_fail_usage("completion", &err) : print_script(args.words.items[0]);
}
