/* SPDX-License-Identifier: Apache-2.0 */
/* flow_others.c: what others do to the kernel, and the turns of the director's thread that
 * finds it (flow_kit.h). */
#include "tests/support/clock_fake.h"
#include "tests/unit/local/flow/flow_kit.h"

#include <stdlib.h>
#include <string.h>

static struct local_director *director_of(const struct flow_kit *k)
{
    return ((const struct local_provider *)k->p)->directing;
}

/* Turns at their moments, and one at the end. */
static void pass(struct flow_kit *k, int64_t ms)
{
    int64_t end_ms = clock_now_ms(k->clock) + ms;
    if (k->p == NULL) { /* a fault has hit the start */
        clock_fake_advance(k->clock, ms);
        return;
    }
    int64_t next_ms = local_director_turn(director_of(k));

    while (clock_now_ms(k->clock) < end_ms) {
        int64_t now_ms = clock_now_ms(k->clock);
        int64_t to_ms = next_ms <= now_ms ? now_ms + 1 : next_ms < end_ms ? next_ms : end_ms;
        clock_fake_advance(k->clock, to_ms - now_ms);
        next_ms = local_director_turn(director_of(k));
    }
}

void flow_others_event(struct flow_kit *k, const struct tt_service *service, const char *reason,
                       const char *message)
{
    if (k->directed) {
        str_appendf(&k->out, "event(%s/%s %s: %s) ", service->ns, service->name, reason, message);
    }
}

void flow_others_log(struct flow_kit *k, const char *message)
{
    bool told = str_has_prefix(message, "net.") || str_has_prefix(message, "connection tracking");

    bool lacks = str_has_prefix(message, "this kernel has no");

    if ((k->directed && told) || lacks || str_has_prefix(message, "table inet")) {
        str_appendf(&k->out, "log(%s) ", message);
    }
}

void flow_others_effects(struct flow_kit *k, const struct tt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_services; i++) {
        k->n_findings += plan->services[i]->n_findings + (plan->services[i]->serves_nobody != NULL);
    }
    for (uint32_t i = 0; k->effects && i < plan->n_services; i++) {
        for (uint32_t e = 0; e < plan->services[i]->n_effects; e++) {
            str_appendf(&k->order, "%s: %s ", plan->services[i]->key,
                        plan->services[i]->effects[e]);
        }
    }
}

void flow_others_added(struct flow_kit *k, const char *name, const struct tt_kv *labels, uint32_t n,
                       double more)
{
    _cleanup_(str_buf_done) struct str_buf key = STR_BUF_INIT;

    if (!str_has_prefix(name, "local_service_")) {
        return;
    }
    str_append(&key, name);
    for (uint32_t i = 0; i < n; i++) {
        str_appendf(&key, " %s", labels[i].value);
    }
    const char *was = map_get(k->figures, str_buf_text(&key));
    flow_others_figure(k, name, labels, n, more + (was == NULL ? 0 : strtod(was, NULL)));
}

void flow_others_figure(struct flow_kit *k, const char *name, const struct tt_kv *labels,
                        uint32_t n, double value)
{
    _cleanup_(str_buf_done) struct str_buf key = STR_BUF_INIT;

    str_append(&key, name);
    for (uint32_t i = 0; i < n; i++) {
        str_appendf(&key, " %s", labels[i].value);
    }
    map_set(k->figures, str_buf_text(&key), xasprintf("%g", value));
}

void flow_others_again(struct tt_host_ctx *ctx, const char *ns, const char *name, int64_t after_ms)
{
    struct flow_kit *k = (struct flow_kit *)(void *)ctx;

    assert_int_equal(after_ms, 0);
    str_appendf(&k->asked, "again(%s/%s) ", ns, name);
}

struct showing {
    struct flow_kit *k;
    const char *name;
};

static bool show_figure(const char *key, void *value, void *arg)
{
    const struct showing *s = arg;
    size_t n = strlen(s->name);

    if (strncmp(key, s->name, n) == 0 && (key[n] == ' ' || key[n] == '\0')) {
        str_appendf(&s->k->out, "%s=%s ", key[n] == ' ' ? key + n + 1 : key, (const char *)value);
    }
    return true;
}

static bool figure_command(struct flow_kit *k, char **w, size_t n)
{
    if (str_eq(w[0], "asked")) {
        str_append(&k->out, str_buf_text(&k->asked));
        str_buf_reset(&k->asked);
    } else if (str_eq(w[0], "figures") && n > 1) {
        struct showing s = {k, w[1]};
        map_each(k->figures, show_figure, &s);
    } else if (str_eq(w[0], "stats")) {
        ((struct local_provider *)k->p)->service_stats = true;
    } else if (str_eq(w[0], "traffic") && n > 5) { /* ADDRESS PORT CONNECTIONS IN OUT */
        struct local_ipvs_traffic t = {
            .id = {.protocol = LOCAL_TCP, .port = (uint16_t)strtoul(w[2], NULL, 10)},
            .connections = strtoull(w[3], NULL, 10),
            .in_bytes = strtoull(w[4], NULL, 10),
            .out_bytes = strtoull(w[5], NULL, 10)};
        assert_true(ip_parse(w[1], &t.id.vip));
        fake_kernel_traffic(k->kernel, &t);
    } else if (str_eq(w[0], "neighbour") && n > 2) {
        const uint8_t mac[6] = {2, 0, 0, 0, 1, (uint8_t)strtoul(w[2], NULL, 10)};
        struct ip_addr addr;
        assert_true(ip_parse(w[1], &addr));
        fake_kernel_neighbour(k->kernel, &addr, mac[5] == 0 ? NULL : mac);
    } else if (str_eq(w[0], "sysctl") && n > 2) {
        fake_kernel_sysctl(k->kernel, w[1], strtoll(w[2], NULL, 10));
    } else {
        return false;
    }
    return true;
}

bool flow_others_command(struct flow_kit *k, char **w, size_t n)
{
    if (str_eq(w[0], "director")) {
        k->directed = true;
        k->drift = n > 1 && str_eq(w[1], "report") ? TT_DRIFT_REPORT : TT_DRIFT_OFF;
        k->config = arena_printf(
            k->a, "%s|director: {checks: {cluster: none, local: none}, orphanGrace: 30s}",
            k->config);
    } else if (str_eq(w[0], "pass") && n > 1) {
        pass(k, strtoll(w[1], NULL, 10));
    } else if (str_eq(w[0], "spare") && n > 1) {
        k->spare_ms = strtoll(w[1], NULL, 10);
    } else if (str_eq(w[0], "drift")) {
        str_appendf(&k->out, "drift(%u) ", k->n_drift);
        k->n_drift = 0;
    } else {
        return figure_command(k, w, n);
    }
    return true;
}

static void take_hold(struct flow_kit *k, const struct ip_addr *addr)
{
    const struct local_route route = {.kind = LOCAL_ROUTE_HOLD, .addr = *addr};
    struct err err = ERR_INIT;
    int code = ERR_OK;

    /* Of one that is not held there is nothing to take; a fault may hit it, too. */
    if (addr->len == 16 || k->spare_ms > 0) {
        (void)k->real_ops.addr_del(k->kernel, addr->len == 16 ? 2 : 1, addr, &err);
    } else {
        (void)k->real_ops.routes_change(k->kernel, true, &route, 1, &code, &err);
    }
}

bool flow_others_foreign(struct flow_kit *k, char **w, size_t n)
{
    struct local_route route = {.kind = LOCAL_ROUTE_HOLD};
    bool has_addr = n > 2 && ip_parse(w[2], &route.addr);
    struct err err = ERR_INIT;
    int code = ERR_OK;

    if (str_eq(w[1], "layout") && n > 2) {
        fake_kernel_layout(k->kernel, (unsigned)strtoul(w[2], NULL, 10));
    } else if (str_eq(w[1], "ctnetlink") && n > 2) {
        fake_kernel_no_ctnetlink(k->kernel, str_eq(w[2], "off"));
    } else if (str_eq(w[1], "rules")) {
        fake_kernel_change_rules(k->kernel);
    } else if (str_eq(w[1], "lost")) {
        fake_kernel_lose_events(k->kernel);
    } else if (str_eq(w[1], "hold") && has_addr) {
        take_hold(k, &route.addr);
    } else if (str_eq(w[1], "instance") && has_addr) {
        (void)k->real_ops.routes_change(k->kernel, false, &route, 1, &code, &err);
    } else if (str_eq(w[1], "taken") && has_addr) {
        fake_kernel_foreign_route(k->kernel, &route);
    } else if (str_eq(w[1], "freed") && has_addr) {
        fake_kernel_foreign_route_gone(k->kernel, &route);
    } else {
        return false;
    }
    return true;
}
