/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_tool_ipvs.c: commands of kernel-tool for IPVS (kernel_tool.c). */
#include "tests/local/kernel_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tool_ipvs_look(struct tool *t)
{
    return t->k->ops->ipvs_look(t->k, &t->err);
}

/* add|set|del VIP tcp|udp PORT SCHEDULER FLAGS TIMEOUT, add-dest|set-dest|del-dest VIP tcp|udp PORT
 * ADDR PORT nat|dr|ipip|gue|gre WEIGHT:  several, with "+" between them. */
static void read_change(const struct tool *t, size_t i, struct local_ipvs_change *c)
{
    static const char *const words[] = {"add", "set", "del", "add-dest", "set-dest", "del-dest"};
    static const char *const ways[] = {"ipip", "gue", "gre"};
    *c = (struct local_ipvs_change){.service = {.id = tool_frontend(t, i + 1)}};
    for (size_t k = 0; k < ARRAY_LEN(words); k++) {
        if (strcmp(tool_word(t, i), words[k]) == 0) {
            c->what = (enum local_ipvs_what)k;
        }
    }
    if (c->what < LOCAL_IPVS_ADD_DEST) {
        if (c->what != LOCAL_IPVS_DEL_SERVICE) {
            snprintf(c->service.scheduler, sizeof(c->service.scheduler), "%s", tool_word(t, i + 4));
            c->service.flags = (uint32_t)tool_number(t, i + 5);
            c->service.timeout_s = (uint32_t)tool_number(t, i + 6);
        }
        return;
    }
    c->dest = (struct local_ipvs_dest){.addr = tool_addr(t, i + 4),
                                       .port = (uint16_t)tool_number(t, i + 5)};
    if (c->what != LOCAL_IPVS_DEL_DEST) {
        const char *way = tool_word(t, i + 6);
        c->dest.method = strcmp(way, "nat") == 0  ? LOCAL_IPVS_NAT
                         : strcmp(way, "dr") == 0 ? LOCAL_IPVS_DR
                                                  : LOCAL_IPVS_TUNNEL;
        for (size_t k = 0; k < ARRAY_LEN(ways); k++) {
            c->dest.tunnel = strcmp(way, ways[k]) == 0 ? (enum local_tunnel)k : c->dest.tunnel;
        }
        c->dest.tunnel_port = strcmp(way, "gue") == 0 ? 6080 : 0;
        c->dest.weight = (uint16_t)tool_number(t, i + 7);
    }
}

int tool_ipvs(struct tool *t)
{
    struct local_ipvs_change *changes = ARENA_ARRAY(t->a, struct local_ipvs_change, t->n);
    int *codes = ARENA_ARRAY(t->a, int, t->n);
    size_t n = 0;
    read_change(t, 0, &changes[n++]);
    for (size_t i = 0; i < t->n; i++) {
        if (strcmp(t->words[i], "+") == 0) {
            read_change(t, i + 1, &changes[n++]);
        }
    }
    int code = t->k->ops->ipvs_change(t->k, changes, n, codes, &t->err);
    for (size_t i = 0; i < n; i++) {
        printf("%s%s", i == 0 ? "" : " ", err_code_name(codes[i]));
    }
    printf("\n");
    return code;
}

int tool_ipvs_read(struct tool *t)
{
    struct local_ipvs_list l = {.service = {.id = tool_frontend(t, 0)}};
    int code = t->k->ops->ipvs_read(t->k, t->a, &l, &t->err);
    printf("there=%d scheduler=%s flags=%x timeout=%u\n", l.there, l.service.scheduler,
           (unsigned)l.service.flags, (unsigned)l.service.timeout_s);
    for (size_t i = 0; i < l.n_dests; i++) {
        char text[IP_TEXT_MAX];
        const struct local_ipvs_dest *d = &l.dests[i];
        ip_format(&d->addr, text);
        printf("%s %u method=%d weight=%u tunnel=%d port=%u active=%u\n", text, (unsigned)d->port,
               (int)d->method, (unsigned)d->weight, (int)d->tunnel, (unsigned)d->tunnel_port,
               (unsigned)d->active);
    }
    return code;
}

static int line_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int tool_ipvs_services(struct tool *t)
{
    struct local_ipvs_service *items = NULL;
    size_t n = 0;
    char **lines = NULL;
    int code = t->k->ops->ipvs_services(t->k, t->a, &items, &n, &t->err);
    lines = ARENA_ARRAY(t->a, char *, n + 1);
    for (size_t i = 0; i < n && code == ERR_OK; i++) {
        char text[LOCAL_FRONTEND_TEXT_MAX];
        local_frontend_text(&items[i].id, text);
        lines[i] = arena_printf(t->a, "%s %s", text, items[i].scheduler);
    }
    if (n > 1) {
        qsort(lines, n, sizeof(*lines), line_cmp);
    }
    for (size_t i = 0; i < n && code == ERR_OK; i++) {
        printf("%s\n", lines[i]);
    }
    return code;
}

/* Connections, bytes in and out of each virtual service. */
int tool_ipvs_traffic(struct tool *t)
{
    struct local_ipvs_traffic *items = NULL;
    size_t n = 0;
    int code = t->k->ops->ipvs_traffic(t->k, t->a, &items, &n, &t->err);
    for (size_t i = 0; i < n && code == ERR_OK; i++) {
        char text[LOCAL_FRONTEND_TEXT_MAX];
        local_frontend_text(&items[i].id, text);
        printf("%s %llu %llu %llu\n", text, (unsigned long long)items[i].connections,
               (unsigned long long)items[i].in_bytes, (unsigned long long)items[i].out_bytes);
    }
    return code;
}

/* start|stop master|backup INTERFACE ID */
int tool_ipvs_daemon(struct tool *t)
{
    struct local_ipvs_daemon d = {.backup = strcmp(tool_word(t, 1), "backup") == 0,
                                  .id = (uint8_t)tool_number(t, 3)};
    snprintf(d.interface, sizeof(d.interface), "%s", tool_word(t, 2));
    return t->k->ops->ipvs_daemon_change(t->k, strcmp(tool_word(t, 0), "stop") == 0, &d, &t->err);
}

int tool_ipvs_daemons(struct tool *t)
{
    struct local_ipvs_daemon all[LOCAL_IPVS_DAEMONS];
    size_t n = 0;
    int code = t->k->ops->ipvs_daemons(t->k, all, &n, &t->err);
    for (int backup = 0; backup < 2; backup++) { /* the kernel has an order of its own */
        for (size_t i = 0; i < n && code == ERR_OK; i++) {
            if (all[i].backup == (backup == 1)) {
                printf("%s %s %u\n", all[i].backup ? "backup" : "master", all[i].interface,
                       (unsigned)all[i].id);
            }
        }
    }
    return code;
}
