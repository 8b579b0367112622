/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h: the sub-commands that controller/cmd/cmd.c lists.  Each gets argv from its own name
 * on and returns the exit code. */
#ifndef TRIMTAB_CONTROLLER_CMD_COMMANDS_H
#define TRIMTAB_CONTROLLER_CMD_COMMANDS_H

int cmd_plan(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_check_config(int argc, char **argv);
int cmd_orphans(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_rbac(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_render(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_completion(int argc, char **argv);

#endif
