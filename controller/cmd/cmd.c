/* SPDX-License-Identifier: Apache-2.0 */
/* cmd.c: the table of sub-commands, and finding one by its name. */
#include "controller/cmd/cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "controller/cmd/commands.h"

#define CMD_MAX    32
#define SUMMARY_AT 17 /* column of a summary in --help */

const struct cmd cmd_table[] = {
    {"plan", "show the changes to the cloud, and why, without making them", cmd_plan},
    {"explain", "say which load balancer a Service gets, and by which rule", cmd_explain},
    {"trace", "say whether a client reaches a Service's address, by which nodes and pods",
     cmd_trace},
    {"render", "print the rules of kube-proxy on a node, or a node's differences", cmd_render},
    {"check-config", "check a cloud-config file", cmd_check_config},
    {"orphans", "list and delete resources of trimtab without a Service", cmd_orphans},
    {"status", "show the state of a running trimtab and of each Service", cmd_status},
    {"rbac", "print the roles that the controller needs in the cluster", cmd_rbac},
    {"version", "print versions and built-in providers", cmd_version},
    {"completion", "print a completion script for bash, zsh or fish", cmd_completion},
    {0},
};

void cmd_append_help(struct str_buf *b, const char *program)
{
    str_append(b, "\nCommands:\n");
    for (const struct cmd *c = cmd_table; c->name != NULL; c++) {
        str_appendf(b, "  %-14s ", c->name);
        str_append_wrapped(b, c->summary, SUMMARY_AT, SUMMARY_AT);
        str_append_c(b, '\n');
    }
    str_appendf(b, "\nUse \"%s <command> --help\" for more about a command.\n", program);
}

static const struct cmd *find(const char *name)
{
    for (const struct cmd *c = cmd_table; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

static int unknown(const char *name)
{
    const char *names[CMD_MAX] = {"help"};
    size_t n = 1;

    for (const struct cmd *c = cmd_table; c->name != NULL && n < CMD_MAX; c++) {
        names[n++] = c->name;
    }
    const char *near = str_nearest(name, names, n);
    fprintf(stderr, "error: unknown command \"%s\" for \"trimtab\"%s%s%s\n", name,
            near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
            near != NULL ? "\"?" : "");
    fprintf(stderr, "Run 'trimtab --help' for usage.\n");
    return 1;
}

int cmd_run(int argc, char **argv)
{
    char help_flag[] = "--help";
    bool help = strcmp(argv[1], "help") == 0 && argc > 2; /* alone it is the controller's */
    const struct cmd *c = find(argv[help ? 2 : 1]);

    if (c == NULL) {
        return unknown(argv[help ? 2 : 1]);
    }
    if (help) {
        char *ask[] = {argv[2], help_flag, NULL};
        return c->run(2, ask);
    }
    return c->run(argc - 1, argv + 1);
}
