/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_tool.c: does to a kernel what each line of its input says, through the functions of
 * kernel.h, and prints the result.
 *
 *   kernel-tool real|fake      tests/local/kernel_test.py has the commands
 *
 * An answer is lines of results, and "ok" or "CODE: message" at its end.  The same input to both
 * kernels must give the same output. */
#include "tests/local/kernel_tool.h"
#include "providers/local/kernel/kernel.h"
#include "providers/local/kernel/netlink.h"
#include "tests/support/fake_kernel.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define WORDS_MAX    3000
#define LOAD_TARGETS 4

static void bad(const char *what)
{
    fprintf(stderr, "kernel-tool: %s\n", what);
    exit(2);
}

const char *tool_word(const struct tool *t, size_t i)
{
    if (i >= t->n) {
        bad("a word is missing");
    }
    return t->words[i];
}

struct ip_addr tool_addr(const struct tool *t, size_t i)
{
    struct ip_addr a;
    if (!ip_parse(tool_word(t, i), &a)) {
        bad(tool_word(t, i));
    }
    return a;
}

long tool_number(const struct tool *t, size_t i)
{
    return strtol(tool_word(t, i), NULL, 10);
}

/* "ADDRESS tcp|udp PORT". */
struct local_frontend_id tool_frontend(const struct tool *t, size_t i)
{
    return (struct local_frontend_id){
        .vip = tool_addr(t, i),
        .protocol = strcmp(tool_word(t, i + 1), "udp") == 0 ? IPPROTO_UDP : IPPROTO_TCP,
        .port = (uint16_t)tool_number(t, i + 2)};
}

/* --- nftables --------------------------------------------------------------------------------- */

static void add_change(struct tool *t, bool del, const struct local_nft_element *e)
{
    if (t->n_changes == t->cap_changes) {
        t->cap_changes = 2 * t->cap_changes + 64;
        t->changes = xrealloc(t->changes, t->cap_changes * sizeof(*t->changes));
    }
    t->changes[t->n_changes++] = (struct local_nft_change){.del = del, .e = *e};
}

/* Words: vip ADDR [COMMENT] | scope NET | open FRONTEND NET | from FRONTEND NET |
 * also FRONTEND NET | snat FRONTEND | slot FRONTEND rr|hash M SLOT TARGET PORT |
 * slots FRONTEND rr|hash M TARGET PORT [TARGET PORT…]: all slots, in turn.
 * "from" is always one of the ranges; "open" to all clients is not. */
static int do_change(struct tool *t, bool del)
{
    const char *kind = tool_word(t, 0);
    struct local_nft_element e = {0};
    if (strcmp(kind, "scope") == 0 || strcmp(kind, "vip") == 0) {
        e.set = kind[0] == 's' ? LOCAL_NFT_SCOPE : LOCAL_NFT_VIP;
        if (e.set == LOCAL_NFT_SCOPE && !ip_net_parse(tool_word(t, 1), &e.net)) {
            bad(tool_word(t, 1));
        }
        if (e.set == LOCAL_NFT_VIP) {
            e.id.vip = tool_addr(t, 1);
            e.comment = t->n > 2 ? arena_strdup(t->changes_arena, tool_word(t, 2)) : NULL;
        }
        add_change(t, del, &e);
        return ERR_OK;
    }
    e.id = tool_frontend(t, 1);
    if (strcmp(kind, "open") == 0 || strcmp(kind, "from") == 0 || strcmp(kind, "also") == 0) {
        if (!ip_net_parse(tool_word(t, 4), &e.net)) {
            bad(tool_word(t, 4));
        }
        e.set = kind[0] == 'a'                        ? LOCAL_NFT_ALSO
                : kind[0] == 'o' && e.net.prefix == 0 ? LOCAL_NFT_ALL
                                                      : LOCAL_NFT_FROM;
    } else if (strcmp(kind, "snat") == 0) {
        e.set = LOCAL_NFT_SNAT;
    } else {
        bool all = strcmp(kind, "slots") == 0;
        e.set = LOCAL_NFT_SLOT;
        e.hash = strcmp(tool_word(t, 4), "hash") == 0;
        e.m = (uint16_t)tool_number(t, 5);
        e.slot = all ? 0 : (uint16_t)tool_number(t, 6);
        size_t first = all ? 6 : 7, targets = (t->n - first) / 2;
        for (unsigned i = 0; i < (all ? e.m : 1u); i++) {
            e.target = tool_addr(t, first + 2 * (i % targets));
            e.target_port = (uint16_t)tool_number(t, first + 2 * (i % targets) + 1);
            add_change(t, del, &e);
            e.slot++;
        }
        return ERR_OK;
    }
    add_change(t, del, &e);
    return ERR_OK;
}

static int do_add(struct tool *t)
{
    return do_change(t, false);
}

static int do_del(struct tool *t)
{
    return do_change(t, true);
}

static int do_commit(struct tool *t)
{
    int code = t->k->ops->nft_commit(t->k, INSTANCE, t->changes, t->n_changes, &t->err);
    t->n_changes = 0;
    arena_reset(t->changes_arena);
    return code;
}

/* With what was added since the last commit. */
struct lines {
    struct arena *a;
    char **items;
    size_t n, cap;
};

static void keep_line(void *arg, const struct local_nft_element *e)
{
    static const char *const names[] = {"scope", "vip", "open", "open", "also", "snat", "slot"};
    struct lines *l = arg;
    char vip[IP_TEXT_MAX] = "", net[IP_TEXT_MAX] = "", target[IP_TEXT_MAX] = "";
    ip_format(&e->id.vip, vip);
    ip_net_format(&e->net, net);
    bool everybody_is_a_range = e->set == LOCAL_NFT_FROM && e->net.prefix == 0;
    ip_format(&e->target, target);
    const char *protocol = e->id.protocol == IPPROTO_UDP ? "udp" : "tcp";
    if (l->n == l->cap) {
        l->cap = 2 * l->cap + 64;
        l->items = xrealloc(l->items, l->cap * sizeof(*l->items));
    }
    char **line = &l->items[l->n++];
    if (e->set == LOCAL_NFT_SCOPE) {
        *line = arena_printf(l->a, "scope %s", net);
    } else if (e->set == LOCAL_NFT_VIP) {
        *line = arena_printf(l->a, "vip %s %s", vip, e->comment != NULL ? e->comment : "-");
    } else if (e->set == LOCAL_NFT_SLOT) {
        *line = arena_printf(l->a, "slot %s %s %u %s %u %u %s %u", vip, protocol,
                             (unsigned)e->id.port, e->hash ? "hash" : "rr", (unsigned)e->m,
                             (unsigned)e->slot, target, (unsigned)e->target_port);
    } else {
        *line = arena_printf(l->a, "%s %s %s %u %s", everybody_is_a_range ? "from" : names[e->set],
                             vip, protocol, (unsigned)e->id.port,
                             e->set == LOCAL_NFT_FROM || e->set == LOCAL_NFT_ALSO ? net
                             : e->set == LOCAL_NFT_ALL && e->id.vip.len == 16     ? "::/0"
                             : e->set == LOCAL_NFT_ALL                            ? "0.0.0.0/0"
                                                                                  : "");
    }
}

static int line_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_lines(struct lines *l)
{
    if (l->n > 0) {
        qsort(l->items, l->n, sizeof(*l->items), line_cmp);
    }
    for (size_t i = 0; i < l->n; i++) {
        printf("%s\n", l->items[i]);
    }
    free(l->items);
}

static int do_list(struct tool *t)
{
    struct lines l = {.a = t->a};
    int code = t->k->ops->nft_list(t->k, INSTANCE, keep_line, &l, &t->err);
    print_lines(&l);
    return code;
}

static int do_read(struct tool *t)
{
    struct lines l = {.a = t->a};
    struct local_frontend_id id = tool_frontend(t, 0);
    int code = t->k->ops->nft_read(t->k, INSTANCE, &id, keep_line, &l, &t->err);
    print_lines(&l);
    return code;
}

/* --- many frontends --------------------------------------------------------------------------- */

/* The i-th frontend of a load: 10.A.B.C:80. */
static struct local_frontend_id nth(unsigned i)
{
    struct local_frontend_id id = {.protocol = IPPROTO_TCP, .port = 80};
    uint8_t bytes[4] = {10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
    id.vip.len = 4;
    memcpy(id.vip.bytes, bytes, sizeof(bytes));
    return id;
}

static struct local_nft_element nth_slot(unsigned i, unsigned slot, unsigned target)
{
    uint8_t bytes[4] = {172, 16, (uint8_t)target, 1};
    struct local_nft_element e = {.set = LOCAL_NFT_SLOT,
                                  .id = nth(i),
                                  .m = LOAD_TARGETS,
                                  .slot = (uint16_t)slot,
                                  .target_port = 30080};
    e.target.len = 4;
    memcpy(e.target.bytes, bytes, sizeof(bytes));
    return e;
}

/* FROM TO: frontends with four targets, in transactions of LOCAL_NFT_BATCH elements. */
static int do_load(struct tool *t)
{
    unsigned from = (unsigned)tool_number(t, 0), to = (unsigned)tool_number(t, 1);
    int code = ERR_OK;
    for (unsigned i = from; i < to && code == ERR_OK; i++) {
        struct local_nft_element e = {.set = LOCAL_NFT_VIP, .id = nth(i), .comment = "demo/web"};
        add_change(t, false, &e);
        e.comment = NULL;
        e.set = LOCAL_NFT_ALL;
        add_change(t, false, &e);
        e.set = LOCAL_NFT_SNAT;
        add_change(t, false, &e);
        for (unsigned s = 0; s < LOAD_TARGETS; s++) {
            e = nth_slot(i, s, s);
            add_change(t, false, &e);
        }
        if (t->n_changes + 3 + LOAD_TARGETS > LOCAL_NFT_BATCH || i + 1 == to) {
            code = do_commit(t);
        }
    }
    return code;
}

static void count(void *arg, const struct local_nft_element *e)
{
    (void)e;
    (*(unsigned *)arg)++;
}

/* I OLD NEW: reads frontend I, gives slot 0 another target, and prints how many
 * requests that took. */
static int do_move(struct tool *t)
{
    unsigned i = (unsigned)tool_number(t, 0), n = 0;
    struct local_frontend_id id = nth(i);
    uint64_t before = t->k->ops->requests(t->k, "nft");
    int code = t->k->ops->nft_read(t->k, INSTANCE, &id, count, &n, &t->err);
    struct local_nft_element e = nth_slot(i, 0, (unsigned)tool_number(t, 1));
    add_change(t, true, &e);
    e = nth_slot(i, 0, (unsigned)tool_number(t, 2));
    add_change(t, false, &e);
    code = code == ERR_OK ? do_commit(t) : code;
    printf("elements=%u requests=%u\n", n, (unsigned)(t->k->ops->requests(t->k, "nft") - before));
    return code;
}

/* CPU time so far, and the most memory that was resident (of this program, not of the
 * one that started it). */
static int do_spent(struct tool *t)
{
    struct rusage u;
    char *line = NULL;
    size_t cap = 0;
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    (void)t;
    while (f != NULL && getline(&line, &cap, f) > 0) {
        (void)sscanf(line, "VmHWM: %ld", &kib); /* other lines do not fit */
    }
    if (f != NULL) {
        fclose(f);
    }
    free(line);
    getrusage(RUSAGE_SELF, &u);
    printf("cpu_us=%ld rss_kib=%ld\n",
           (long)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec +
               u.ru_stime.tv_usec,
           kib);
    return ERR_OK;
}

static int do_requests(struct tool *t)
{
    printf("%u\n", (unsigned)t->k->ops->requests(t->k, tool_word(t, 0)));
    return ERR_OK;
}

static void print_count(void *arg, const struct local_kernel_count *c)
{
    (void)arg;
    printf("%s %s %s %u\n", c->api, c->op, c->code, (unsigned)c->n);
}

/* Of the real kernel alone: the one in memory does not tell operations apart. */
static int do_counts(struct tool *t)
{
    t->k->ops->counts(t->k, print_count, NULL);
    return ERR_OK;
}

/* --- links, addresses, routes ----------------------------------------------------------------- */

static int find_link(struct tool *t, const char *name, struct local_link *ret)
{
    struct local_link *items = NULL;
    size_t n = 0;
    int code = t->k->ops->links(t->k, t->a, &items, &n, &t->err);
    for (size_t i = 0; i < n && code == ERR_OK; i++) {
        if (strcmp(items[i].name, name) == 0) {
            *ret = items[i];
            return ERR_OK;
        }
    }
    return code != ERR_OK ? code : err_set(&t->err, ERR_NOT_FOUND, "no link %s", name);
}

static int do_links(struct tool *t)
{
    struct local_link *l = NULL;
    size_t n = 0;
    int code = t->k->ops->links(t->k, t->a, &l, &n, &t->err);
    for (size_t i = 0; i < n && code == ERR_OK; i++) {
        printf("%s index=%d up=%d ethernet=%d loopback=%d %02x:%02x:%02x:%02x:%02x:%02x\n",
               l[i].name, l[i].index, l[i].up, l[i].ethernet, l[i].loopback, l[i].mac[0],
               l[i].mac[1], l[i].mac[2], l[i].mac[3], l[i].mac[4], l[i].mac[5]);
    }
    return code;
}

static int do_addrs(struct tool *t)
{
    struct local_link_addr *items = NULL;
    size_t n = 0;
    int code = t->k->ops->addrs(t->k, t->a, &items, &n, &t->err);
    for (size_t i = 0; i < n && code == ERR_OK; i++) {
        char text[IP_TEXT_MAX];
        ip_net_format(&items[i].net, text);
        printf("%s link=%d forever=%d ours=%d\n", text, items[i].link, items[i].valid_ms < 0,
               items[i].ours);
    }
    return code;
}

/* LINK ADDR MS. */
static int do_addr(struct tool *t)
{
    struct ip_addr a = tool_addr(t, 1);
    struct local_link link;
    int code = find_link(t, tool_word(t, 0), &link);
    return code != ERR_OK ? code
                          : t->k->ops->addr_set(t->k, link.index, &a, tool_number(t, 2), &t->err);
}

static int do_addr_del(struct tool *t)
{
    struct ip_addr a = tool_addr(t, 1);
    struct local_link link;
    int code = find_link(t, tool_word(t, 0), &link);
    return code != ERR_OK ? code : t->k->ops->addr_del(t->k, link.index, &a, &t->err);
}

static int change_routes(struct tool *t, bool del, enum local_route_kind kind)
{
    struct local_route *items = ARENA_ARRAY(t->a, struct local_route, t->n);
    int *codes = ARENA_ARRAY(t->a, int, t->n);
    for (size_t i = 0; i < t->n; i++) {
        items[i] = (struct local_route){kind, tool_addr(t, i)};
    }
    int code = t->k->ops->routes_change(t->k, del, items, t->n, codes, &t->err);
    for (size_t i = 0; i < t->n; i++) {
        if (codes[i] != ERR_OK) {
            printf("%s %s\n", t->words[i], err_code_name(codes[i]));
        }
    }
    return code;
}

static int do_hold(struct tool *t)
{
    return change_routes(t, false, LOCAL_ROUTE_HOLD);
}

static int do_let_go(struct tool *t)
{
    return change_routes(t, true, LOCAL_ROUTE_HOLD);
}

static int do_export(struct tool *t)
{
    return change_routes(t, false, LOCAL_ROUTE_EXPORT);
}

static int do_withdraw(struct tool *t)
{
    return change_routes(t, true, LOCAL_ROUTE_EXPORT);
}

static int do_routes(struct tool *t)
{
    struct local_route *items = NULL;
    size_t n = 0;
    struct lines l = {.a = t->a};
    int code = t->k->ops->routes(t->k, t->a, &items, &n, &t->err);
    l.items = xcalloc(n + 1, sizeof(*l.items));
    for (size_t i = 0; i < n && code == ERR_OK; i++) {
        char text[IP_TEXT_MAX];
        ip_format(&items[i].addr, text);
        l.items[l.n++] = arena_printf(t->a, "%s %s",
                                      items[i].kind == LOCAL_ROUTE_HOLD ? "hold" : "export", text);
    }
    print_lines(&l);
    return code;
}

/* --- ARP, connections, sysctls ---------------------------------------------------------------- */

static int do_announce(struct tool *t)
{
    struct local_link link;
    int code = find_link(t, tool_word(t, 0), &link);
    struct ip_addr *items = ARENA_ARRAY(t->a, struct ip_addr, t->n);
    for (size_t i = 1; i < t->n; i++) {
        items[i - 1] = tool_addr(t, i);
    }
    return code != ERR_OK ? code : t->k->ops->announce(t->k, &link, items, t->n - 1, &t->err);
}

static int do_probe(struct tool *t)
{
    struct local_link link;
    struct ip_addr a = tool_addr(t, 1);
    int code = find_link(t, tool_word(t, 0), &link);
    return code != ERR_OK ? code : t->k->ops->probe_send(t->k, &link, &a, &t->err);
}

static int do_answer(struct tool *t)
{
    struct local_link link;
    struct local_probe_answer r = {0};
    struct ip_addr a = tool_addr(t, 1);
    int code = find_link(t, tool_word(t, 0), &link);
    code = code == ERR_OK ? t->k->ops->probe_answer(t->k, &link, &a, &r, &t->err) : code;
    if (code == ERR_OK && r.answered) {
        printf("%02x:%02x:%02x:%02x:%02x:%02x\n", r.mac[0], r.mac[1], r.mac[2], r.mac[3], r.mac[4],
               r.mac[5]);
    }
    return code;
}

/* FRONTEND TARGET PORT, perhaps several times; TARGET "any": whatever target it is. */
static int do_end(struct tool *t)
{
    struct local_connection gone[4];
    size_t n_gone = 0;
    unsigned n = 0;
    for (size_t i = 0; i + 5 <= t->n && n_gone < ARRAY_LEN(gone); i += 5) {
        gone[n_gone] = (struct local_connection){.id = tool_frontend(t, i)};
        if (!str_eq(tool_word(t, i + 3), "any")) {
            gone[n_gone].target = tool_addr(t, i + 3);
            gone[n_gone].port = (uint16_t)tool_number(t, i + 4);
        }
        n_gone++;
    }
    int code = t->k->ops->connections_delete(t->k, gone, n_gone, &n, &t->err);
    if (code == ERR_OK) {
        printf("%u\n", n);
    }
    return code;
}

static int do_sysctl(struct tool *t)
{
    int64_t value = 0;
    if (t->n > 1) {
        return t->k->ops->sysctl_write(t->k, tool_word(t, 0), tool_number(t, 1), &t->err);
    }
    int code = t->k->ops->sysctl_read(t->k, tool_word(t, 0), &value, &t->err);
    if (code == ERR_OK) {
        printf("%ld\n", (long)value);
    }
    return code;
}

static int do_lock(struct tool *t)
{
    int fd; /* held until the end of the process */
    return local_kernel_lock(tool_word(t, 0), &fd, &t->err);
}

/* --- the loop --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(struct tool *t);
} commands[] = {
    {"+", do_add},
    {"-", do_del},
    {"addr", do_addr},
    {"addr-del", do_addr_del},
    {"addrs", do_addrs},
    {"announce", do_announce},
    {"answer", do_answer},
    {"adopt", tool_adopt},
    {"check", tool_check},
    {"commit", do_commit},
    {"counts", do_counts},
    {"end", do_end},
    {"export", do_export},
    {"hold", do_hold},
    {"ipvs", tool_ipvs},
    {"ipvs-look", tool_ipvs_look},
    {"ipvs-read", tool_ipvs_read},
    {"ipvs-services", tool_ipvs_services},
    {"ipvs-traffic", tool_ipvs_traffic},
    {"ipvs-daemon", tool_ipvs_daemon},
    {"ipvs-daemons", tool_ipvs_daemons},
    {"kube-proxy", tool_kube_proxy},
    {"let-go", do_let_go},
    {"links", do_links},
    {"list", do_list},
    {"load", do_load},
    {"lock", do_lock},
    {"look", tool_look},
    {"make", tool_make},
    {"move", do_move},
    {"overrun", tool_overrun},
    {"probe", do_probe},
    {"read", do_read},
    {"remake", tool_remake},
    {"remove", tool_remove},
    {"requests", do_requests},
    {"routes", do_routes},
    {"spent", do_spent},
    {"sysctl", do_sysctl},
    {"withdraw", do_withdraw},
};

static int run(struct tool *t, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return commands[i].run(t);
        }
    }
    bad(name);
    return ERR_BUG;
}

static void obey(struct tool *t, char *line)
{
    char *words[WORDS_MAX];
    char *rest = NULL;
    size_t n = 0;
    for (char *w = strtok_r(line, " \n", &rest); w != NULL && n < WORDS_MAX;
         w = strtok_r(NULL, " \n", &rest)) {
        words[n++] = w;
    }
    if (n == 0) {
        return;
    }
    t->words = words + 1;
    t->n = n - 1;
    err_clear(&t->err);
    int code = run(t, words[0]);
    if (code == ERR_OK) {
        printf("ok\n");
    } else {
        printf("%s: %s\n", err_code_name(code), t->err.message);
    }
    fflush(stdout);
    arena_reset(t->a);
}

int main(int argc, char **argv)
{
    struct tool t = {.a = arena_new(), .changes_arena = arena_new()};
    struct local_rt_args args = {.protocol = 116, .table = 116};
    char *line = NULL;
    size_t cap = 0;
    int status = 0;
    if (argc > 1 && strcmp(argv[1], "fake") == 0) {
        t.k = fake_kernel_new(&args);
    } else if (local_kernel_open(&args, &t.k, &t.err) != ERR_OK) {
        printf("%s: %s\n", err_code_name(t.err.code), t.err.message);
        status = 1;
    }
    while (status == 0 && getline(&line, &cap, stdin) > 0) {
        obey(&t, line);
    }
    if (t.k != NULL) {
        t.k->ops->free(t.k);
    }
    free(line);
    free(t.changes);
    arena_free(t.changes_arena);
    arena_free(t.a);
    return status;
}
