/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_tool.h: what the files of kernel-tool share (kernel_tool.c). */
#ifndef TRIMTAB_TESTS_LOCAL_KERNEL_TOOL_H
#define TRIMTAB_TESTS_LOCAL_KERNEL_TOOL_H

#include "providers/local/kernel/kernel.h"

#define INSTANCE "trimtab" /* name of the table */

struct tool {
    struct local_kernel *k;
    struct arena *a; /* of one command */
    char **words;    /* without the command's name */
    size_t n;
    /* The transaction in progress. */
    struct arena *changes_arena;
    struct local_nft_change *changes;
    size_t n_changes, cap_changes;
    struct err err;
};
/* Word i of the command, in these forms; a program that is used wrongly ends. */
const char *tool_word(const struct tool *t, size_t i);
struct ip_addr tool_addr(const struct tool *t, size_t i);
long tool_number(const struct tool *t, size_t i);
struct local_frontend_id tool_frontend(const struct tool *t, size_t i);

/* Commands of kernel_tool_table.c. */
int tool_adopt(struct tool *t);
int tool_check(struct tool *t);
int tool_kube_proxy(struct tool *t);
int tool_look(struct tool *t);
int tool_make(struct tool *t);
int tool_remake(struct tool *t);
int tool_remove(struct tool *t);
/* Commands of kernel_tool_ipvs.c. */
int tool_ipvs(struct tool *t);
int tool_ipvs_look(struct tool *t);
int tool_ipvs_read(struct tool *t);
int tool_ipvs_services(struct tool *t);
int tool_ipvs_traffic(struct tool *t);
int tool_ipvs_daemon(struct tool *t);
int tool_ipvs_daemons(struct tool *t);
/* Command of kernel_tool_lost.c. */
int tool_overrun(struct tool *t);

#endif
