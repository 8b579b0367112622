/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_tool_table.c: commands of kernel-tool for the table as a whole (kernel_tool.h). */
#include "tests/local/kernel_tool.h"

#include <stdio.h>
#include <string.h>

/* "drop", "mark N" and "routes PROTOCOL TABLE" among the words. */
static struct local_nft_table_args table_args(struct tool *t)
{
    struct local_nft_table_args args = {.instance = INSTANCE,
                                        .director = "d1",
                                        .mark_bit = 0x2000,
                                        .routes = {.protocol = 116, .table = 116}};
    for (unsigned i = 0; i < t->n; i++) {
        if (strcmp(tool_word(t, i), "drop") == 0) {
            args.closed_ports_drop = true;
        } else if (strcmp(tool_word(t, i), "mark") == 0) {
            args.mark_bit = (uint32_t)tool_number(t, i + 1);
        } else if (strcmp(tool_word(t, i), "routes") == 0) {
            args.routes = (struct local_rt_args){.protocol = (uint8_t)tool_number(t, i + 1),
                                                 .table = (uint32_t)tool_number(t, i + 2)};
        }
    }
    return args;
}

int tool_make(struct tool *t)
{
    const struct local_nft_table_args args = table_args(t);
    return t->k->ops->nft_make(t->k, &args, &t->err);
}

int tool_look(struct tool *t)
{
    struct local_nft_table table;
    int code = t->k->ops->nft_look(t->k, INSTANCE, &table, &t->err);
    if (code == ERR_OK) {
        printf("exists=%d ours=%d layout=%u\n", table.exists, table.ours, table.layout);
    }
    return code;
}

int tool_adopt(struct tool *t)
{
    const struct local_rt_args old = {.protocol = (uint8_t)tool_number(t, 0),
                                      .table = (uint32_t)tool_number(t, 1)};
    return t->k->ops->routes_adopt(t->k, &old, &t->err);
}

int tool_check(struct tool *t)
{
    const struct local_nft_table_args args = table_args(t);
    struct local_rt_args routes = {0};
    bool whole = false;
    int code = t->k->ops->nft_check(t->k, &args, &whole, &routes, &t->err);
    if (code == ERR_OK) {
        printf("whole=%d\n", whole);
        if (routes.protocol != 0 &&
            (routes.protocol != args.routes.protocol || routes.table != args.routes.table)) {
            printf("routes %u %u\n", (unsigned)routes.protocol, (unsigned)routes.table);
        }
    }
    return code;
}

int tool_remove(struct tool *t)
{
    return t->k->ops->nft_remove(t->k, INSTANCE, &t->err);
}

int tool_remake(struct tool *t)
{
    const struct local_nft_table_args args = table_args(t);
    int code = t->k->ops->nft_remake(t->k, &args, t->changes, t->n_changes, &t->err);
    t->n_changes = 0;
    arena_reset(t->changes_arena);
    return code;
}

int tool_kube_proxy(struct tool *t)
{
    const char *where = NULL;
    int code = t->k->ops->kube_proxy(t->k, &where, &t->err);

    if (code == ERR_OK) {
        printf("%s\n", where == NULL ? "no" : where);
    }
    return code;
}
