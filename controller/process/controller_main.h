/* SPDX-License-Identifier: Apache-2.0 */
/* controller_main.h: the controller as a program: command line, signals, exit
 * codes (controller.md §3.4, 3.8). */
#ifndef TRIMTAB_CONTROLLER_CONTROLLER_MAIN_H
#define TRIMTAB_CONTROLLER_CONTROLLER_MAIN_H

#include <stddef.h>
#include <trimtab/provider.h>

#include "common/base/str.h"

struct controller_program {
    const char *name; /* that it was called by */
    /* Appends the list of sub-commands to the text of --help; NULL: this name takes none. */
    void (*append_commands)(struct str_buf *b, const char *name);
    const struct tt_provider *const *builtins;
    size_t n_builtins;
};
/* Returns the exit code: 0 after --help, --version and SIGTERM or SIGINT; 1 for every error that
 * keeps it from running. */
int controller_main(const struct controller_program *p, int argc, char **argv);

#endif
