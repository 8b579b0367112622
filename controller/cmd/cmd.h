/* SPDX-License-Identifier: Apache-2.0 */
/* cmd.h: the sub-commands: `trimtab NAME …`.
 *
 * main.c hands over when the first argument is a word.  A command gets argv from its own name on,
 * prints its answer to stdout and its trouble to stderr, and returns the exit code (0 fine, 1
 * error, 2 changes or findings). */
#ifndef TRIMTAB_CONTROLLER_CMD_H
#define TRIMTAB_CONTROLLER_CMD_H

#include <stddef.h>

#include "common/base/str.h"

struct cmd {
    const char *name;
    const char *summary;               /* one line for --help */
    int (*run)(int argc, char **argv); /* argv[0] is the name */
};

/* Ends with a NULL name. */
extern const struct cmd cmd_table[];

/* Runs argv[1]; "help NAME" is "NAME --help".  An unknown name is an error with the
 * nearest known one. */
int cmd_run(int argc, char **argv);

/* Appends all commands with their summaries to the text of --help; `program` is the name
 * it was called by. */
void cmd_append_help(struct str_buf *b, const char *program);

#endif
