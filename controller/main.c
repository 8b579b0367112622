/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the program `trimtab`: a sub-command when the first argument is a word, else the
 * controller.
 *
 * Called as cloud-controller-manager it is the controller whatever the arguments are, so that it
 * can take the place of upstream's binary.  The one file that knows which providers
 * are built in. */
#include <string.h>

#include "common/base/caps.h"
#include "common/base/cores.h"
#include "common/base/output.h"
#include "controller/cmd/cmd.h"
#include "controller/process/controller_main.h"
#include "providers/builtin.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static int run(int argc, char **argv)
{
    const char *program = argc > 0 ? base_name(argv[0]) : "trimtab";
    size_t n = 0;

    cores_forbid(); /* credentials are in memory */
    caps_take();
    const struct tt_provider *const *builtins = trimtab_builtin_providers(&n);

    /* Upstream's name stands for the controller alone: it takes no commands. */
    bool commands = strcmp(program, "cloud-controller-manager") != 0;
    const struct controller_program p = {
        .name = program,
        .append_commands = commands ? cmd_append_help : NULL,
        .builtins = builtins,
        .n_builtins = n,
    };
    if (argc > 1 && argv[1][0] != '-' && commands) {
        char help_flag[] = "--help";
        char *help[] = {argv[0], help_flag, NULL};
        if (argc == 2 && strcmp(argv[1], "help") == 0) {
            return controller_main(&p, 2, help);
        }
        return cmd_run(argc, argv);
    }
    return controller_main(&p, argc, argv);
}

int main(int argc, char **argv)
{
    return output_close(run(argc, argv));
}
