/* SPDX-License-Identifier: Apache-2.0 */
/* flow_commands.c: the commands of the scripts (flow_kit.h). */
#include "tests/support/clock_fake.h"
#include "tests/unit/local/flow/flow_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- commands -------------------------------------------------------------------------------- */

static void foreign(struct flow_kit *k, char **w, size_t n)
{
    const char *what = w[1];
    struct ip_net net = {.addr = {.len = 4, .bytes = {192, 0, 2}}, .prefix = 24};
    const struct local_nft_change others = {.e = {.set = LOCAL_NFT_SCOPE, .net = net}};
    const struct local_nft_change undo = {.del = true, .e = others.e};
    struct err err = ERR_INIT;

    k->conflicts = true;
    fake_kernel_others(k->kernel, !str_eq(w[n - 1], "quiet"));
    if (flow_others_foreign(k, w, n)) {
        k->watching = false;
    } else if (str_eq(what, "table")) {
        fake_kernel_foreign_table(k->kernel, "trimtab");
    } else if (str_eq(what, "flush")) {
        k->watching = false;
        k->flushed = true;
        (void)k->real_ops.nft_remove(k->kernel, "trimtab", &err); /* a fault may hit it, too */
    } else if (str_eq(what, "ipvs")) {
        flow_world_clear_ipvs(k);
    } else if (str_eq(what, "bump")) { /* without a table none can */
        (void)k->real_ops.nft_commit(k->kernel, "trimtab", &others, 1, &err);
        (void)k->real_ops.nft_commit(k->kernel, "trimtab", &undo, 1, &err);
    } else {
        flow_world_foreign(k, what);
    }
    fake_kernel_others(k->kernel, false);
}

static int code_of(const char *name)
{
    static const int codes[] = {ERR_AUTH, ERR_CONFLICT, ERR_TRANSIENT, ERR_INVALID};

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (str_eq(err_code_name(codes[i]), name)) {
            return codes[i];
        }
    }
    fail_msg("code %s", name);
    return ERR_BUG;
}

static bool fault_command(struct flow_kit *k, char **w, size_t n)
{
    struct fake_kernel_plan plan = {.fault = FAKE_KERNEL_WELL};

    if (str_eq(w[0], "refuse") && n > 2) {
        plan = (struct fake_kernel_plan){.fault = FAKE_KERNEL_REFUSE,
                                         .code = code_of(w[1]),
                                         .step = (unsigned)strtoul(w[2], NULL, 10)};
        k->conflicts = plan.code == ERR_CONFLICT;
    } else if ((str_eq(w[0], "lose") || str_eq(w[0], "kill")) && n > 1) {
        plan =
            (struct fake_kernel_plan){.fault = w[0][0] == 'k' ? FAKE_KERNEL_GONE : FAKE_KERNEL_LOSE,
                                      .code = ERR_TRANSIENT,
                                      .step = (unsigned)strtoul(w[1], NULL, 10)};
    } else if (!str_eq(w[0], "well")) {
        return false;
    }
    k->killed_at = plan.fault == FAKE_KERNEL_GONE ? plan.step : 0;
    fake_kernel_plan(k->kernel, &plan);
    return true;
}

static bool world_command(struct flow_kit *k, char **w, size_t n)
{
    struct kit_service *s = n > 1 && strchr(w[1], '/') != NULL ? flow_world_service(k, w[1]) : NULL;
    const char *rest = n > 2 ? str_join(k->a, (const char *const *)w + 2, n - 2, " ") : "";

    if (str_eq(w[0], "svc")) {
        const char *st = strstr(rest, "st=");
        flow_world_make(k, w[1], rest);
        if (st != NULL) {
            (void)snprintf(s->status, sizeof s->status, "%.*s", (int)strcspn(st + 3, " "), st + 3);
        }
    } else if (str_eq(w[0], "eps")) {
        s->has_endpoints = true;
        s->endpoints = arena_strdup(k->a, rest);
    } else if (str_eq(w[0], "nodes")) {
        (void)snprintf(k->nodes, sizeof k->nodes, "%s",
                       n > 1 ? str_join(k->a, (const char *const *)w + 1, n - 1, " ") : "");
    } else if (str_eq(w[0], "forbid")) {
        k->forbidden = !k->forbidden;
    } else if (str_eq(w[0], "unwritten")) {
        k->unwritten = !k->unwritten;
    } else if (str_eq(w[0], "refuse-address")) {
        k->refusing = (struct ip_addr){.len = 0};
        (void)ip_parse(w[1], &k->refusing); /* "none": nothing is refused any more */
    } else if (str_eq(w[0], "many")) {
        for (unsigned long i = 0; i < strtoul(w[1], NULL, 10); i++) {
            flow_world_make(k, arena_printf(k->a, "d/s%03lu", i), "");
        }
    } else if (str_eq(w[0], "delete")) {
        s->deleting = true;
        s->version++;
        s->seen = NULL;
    } else if (str_eq(w[0], "vanish")) {
        s->gone = true;
    } else if (str_eq(w[0], "active")) {
        flow_world_active(k, (uint32_t)strtoul(w[1], NULL, 10), w + 2, n - 2);
    } else if (str_eq(w[0], "drains")) {
        k->drain_ms = strtol(w[1], NULL, 10);
    } else if (str_eq(w[0], "pass") && !k->directed) {
        clock_fake_advance(k->clock, strtol(w[1], NULL, 10));
    } else if (str_eq(w[0], "foreign")) {
        foreign(k, w, n);
    } else {
        return false;
    }
    return true;
}

static uint64_t count_requests(struct flow_kit *k)
{
    static const char *const apis[] = {"nft", "rtnl", "ct", "ipvs"};
    uint64_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(apis); i++) {
        n += k->kernel->ops->requests(k->kernel, apis[i]);
    }
    return n;
}

/* Leftovers are listed and deleted, as the controller does. */
static void sweep(struct flow_kit *k)
{
    const char *before = str_buf_to_arena(&k->out, k->a);

    str_buf_reset(&k->out);
    flow_world_snapshot(k);
    (void)tt_local_provider.list_left(k->p, &k->call);
    const char *said = str_buf_to_arena(&k->out, k->a);
    str_buf_reset(&k->out);
    str_append(&k->out, before);
    for (const char *at = strstr(said, "left("); at != NULL; at = strstr(at + 1, "left(")) {
        flow_kit_cleanup(k, arena_strndup(k->a, at + 5, strcspn(at + 5, ")")));
    }
}

static bool look_command(struct flow_kit *k, char **w, size_t n)
{
    struct ip_addr addr;

    if (str_eq(w[0], "state")) {
        str_append(&k->out, flow_kit_state(k));
    } else if (str_eq(w[0], "settles")) { /* "no": the kernel refuses from now on */
        bool no = n > 1 && str_eq(w[1], "no");
        str_appendf(&k->out, "settles(%u) ",
                    fake_kernel_settles(k->kernel, no ? ERR_INVALID : ERR_OK));
    } else if (str_eq(w[0], "writes")) {
        str_appendf(&k->out, "writes(%u) ", k->writes);
        k->writes = 0;
    } else if (str_eq(w[0], "requests")) {
        str_appendf(&k->out, "requests(%u) ", (unsigned)(count_requests(k) - k->requests));
        k->requests = count_requests(k);
    } else if (str_eq(w[0], "order")) {
        str_appendf(&k->out, "order(%s) ", str_buf_text(&k->order));
        str_buf_reset(&k->order);
    } else if (str_eq(w[0], "status")) {
        str_appendf(&k->out, "%s=%s ", w[1], flow_world_service(k, w[1])->status);
    } else if (str_eq(w[0], "planned")) {
        str_buf_reset(&k->order);
        k->effects = true;
        (void)flow_kit_second_plan(k);
        k->effects = false;
        str_appendf(&k->out, "planned(%s) ", str_buf_text(&k->order));
        str_buf_reset(&k->order);
    } else if (str_eq(w[0], "plan")) {
        str_appendf(&k->out, "plan(%u) ", flow_kit_second_plan(k));
    } else if (str_eq(w[0], "announced") && n > 1 && ip_parse(w[1], &addr)) {
        str_appendf(&k->out, "announced(%u) ", fake_kernel_announced(k->kernel, &addr));
    } else if (str_eq(w[0], "owned") || str_eq(w[0], "left")) {
        flow_world_snapshot(k);
        (void)(w[0][0] == 'o' ? tt_local_provider.list_owned
                              : tt_local_provider.list_left)(k->p, &k->call);
    } else if (str_eq(w[0], "sweep")) {
        sweep(k);
    } else if (str_eq(w[0], "explain")) {
        flow_kit_explain(k, w + 1, n - 1);
    } else {
        return false;
    }
    return true;
}

/* Others may have broken what they like; from now on it has to hold. */
static void check(struct flow_kit *k)
{
    k->watching = true;
    k->unchecked = 1;
    k->reals.n = 0;
    flow_world_check(k, k->kernel);
}

static void run_command(struct flow_kit *k, char **w, size_t n)
{
    if (str_eq(w[0], "config")) {
        k->config = str_join(k->a, (const char *const *)w + 1, n - 1, " ");
    } else if (str_eq(w[0], "pool")) {
        k->pool = str_join(k->a, (const char *const *)w + 1, n - 1, " ");
    } else if (str_eq(w[0], "sync")) {
        flow_kit_sync(k, w + 1, n - 1);
    } else if (str_eq(w[0], "update") || str_eq(w[0], "upkeep")) {
        k->updates = true;
        k->unproven = str_eq(w[0], "upkeep");
        flow_kit_sync(k, w + 1, n - 1);
        k->updates = k->unproven = false;
    } else if (str_eq(w[0], "cleanup")) {
        flow_kit_cleanup(k, w[1]);
    } else if (str_eq(w[0], "idle")) {
        flow_kit_idle(k);
        check(k);
    } else if (str_eq(w[0], "check")) {
        check(k);
    } else if (str_eq(w[0], "restart")) {
        flow_kit_close(k);
        if (k->killed_at > 0) {
            k->killed_at = 0;
            fake_kernel_plan(k->kernel, &(struct fake_kernel_plan){.fault = FAKE_KERNEL_WELL});
        }
        (void)flow_kit_open(k, false, &k->p);
    } else if (!fault_command(k, w, n) && !world_command(k, w, n) && !look_command(k, w, n) &&
               !flow_others_command(k, w, n)) {
        fail_msg("command %s", w[0]);
    }
}

const char *flow_kit_run(struct flow_kit *k, const char *script)
{
    size_t n = 0;
    char **lines = str_split(k->a, script, ';', &n);

    str_buf_reset(&k->out);
    for (size_t i = 0; i < n; i++) {
        size_t n_words = 0;
        char **words = str_split(k->a, lines[i] + strspn(lines[i], " "), ' ', &n_words);
        while (n_words > 0 && *words[n_words - 1] == '\0') {
            n_words--;
        }
        if (n_words > 0) {
            run_command(k, words, n_words);
        }
    }
    return str_buf_to_arena(&k->out, k->a);
}
