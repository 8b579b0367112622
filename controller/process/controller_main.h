/* SPDX-License-Identifier: Apache-2.0 */
/* controller_main.h: the controller as a program: command line, signals, exit
 * codes (controller.md §3.4, 3.8). */
#ifndef TRIMTAB_CONTROLLER_CONTROLLER_MAIN_H
#define TRIMTAB_CONTROLLER_CONTROLLER_MAIN_H

#include <stddef.h>
#include <trimtab/provider.h>

/* `program` is the name it was called by.  Returns the exit code: 0 after --help, --version and
 * SIGTERM or SIGINT; 1 for whatever keeps it from running. */
int controller_main(const char *program, int argc, char **argv,
                    const struct tt_provider *const *builtins, size_t n_builtins);

#endif
