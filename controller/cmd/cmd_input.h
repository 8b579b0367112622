/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_input.h: the files of a command line: regular ones, pipes, standard input, folders.  Reads
 * files; nothing else. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_INPUT_H
#define TRIMTAB_CONTROLLER_CMD_CMD_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "controller/cmd/cmd_args.h"

struct cmd_input {
    const char *path; /* "-": standard input */
    bool in_folder;   /* it was not named itself */
};
/* The files that -f names, in order; of a folder its *.yaml, *.yml and *.json, sorted by name,
 * without those of folders in it.  ERR_INVALID for a folder without any, and when "-"
 * is named twice. */
int cmd_input_expand(struct arena *a, const struct cmd_list *names, struct cmd_input **ret,
                     size_t *ret_n, struct err *err) _warn_unused_;
/* The whole text, in the arena; blocks until a pipe ends.  Errors name the file. */
int cmd_input_read(struct arena *a, const char *path, size_t max_bytes, char **ret, size_t *ret_n,
                   struct err *err) _warn_unused_;
/* As messages call it: "standard input" for "-". */
const char *cmd_input_name(const char *path);

#endif
