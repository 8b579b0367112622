/* SPDX-License-Identifier: Apache-2.0 */
/* check_rules.c: questions, verdicts and weights (check_rules.h). */
#include "providers/local/director/check_rules.h"

#include <string.h>

#include "common/base/arena.h"
#include "common/base/str.h"

#define TCP 6 /* IANA protocol number */

bool local_check_spec_of(const struct local_serve *serve, const struct tt_service *service,
                         uint8_t protocol, const struct local_target *target,
                         struct local_check_spec *ret)
{
    const struct local_health_wish *wish = &serve->health;

    *ret = (struct local_check_spec){.kind = serve->check,
                                     .addr = target->addr,
                                     .port = wish->port,
                                     .path = str_or(wish->path, "/"),
                                     .interval_ms = serve->checks.interval_ms,
                                     .timeout_ms = serve->checks.timeout_ms,
                                     .fall = serve->checks.fall,
                                     .rise = serve->checks.rise};
    switch (serve->check) {
    case LOCAL_CHECK_KUBE_PROXY:
        ret->port = LOCAL_KUBE_PROXY_PORT;
        ret->path = "/healthz";
        return true;
    case LOCAL_CHECK_NODE_PORT:
        ret->port = (uint16_t)service->health_check_node_port;
        ret->path = "/healthz";
        return ret->port != 0;
    case LOCAL_CHECK_TCP:
        ret->path = NULL;
        break;
    case LOCAL_CHECK_HTTP:
        break;
    case LOCAL_CHECK_AUTO:
    case LOCAL_CHECK_NONE:
        return false;
    }
    if (ret->port == 0 && protocol == TCP) {
        ret->port = target->port;
    }
    return ret->port != 0;
}

/* Decimal, and a blank behind it. */
static char *put_number(char *to, uint64_t n)
{
    char digits[20];
    size_t i = 0;

    do {
        digits[i++] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    while (i > 0) {
        *to++ = digits[--i];
    }
    *to++ = ' ';
    return to;
}

/* Without printf: each sync makes the keys of all targets of its Services. */
char *local_check_key(struct arena *a, const struct local_check_spec *spec)
{
    const char *path = str_nonnull(spec->path);
    size_t n = strlen(path);
    char *key = arena_alloc(a, IP_TEXT_MAX + n + (6 * 21) + 2);
    char *at = put_number(key, (uint64_t)spec->kind);

    ip_format(&spec->addr, at);
    at += strlen(at);
    *at++ = ' ';
    at = put_number(at, spec->port);
    memcpy(at, path, n);
    at += n;
    *at++ = ' ';
    at = put_number(put_number(at, (uint64_t)spec->interval_ms), (uint64_t)spec->timeout_ms);
    at = put_number(put_number(at, spec->fall), spec->rise);
    at[-1] = '\0';
    return key;
}

bool local_check_status_is_good(enum local_check kind, int status)
{
    return kind == LOCAL_CHECK_HTTP ? status >= 200 && status < 400 : status == 200;
}

int64_t local_check_after_ms(int64_t interval_ms, double unit)
{
    return interval_ms + (int64_t)((double)interval_ms * (unit * 0.2 - 0.1));
}

bool local_check_heard(struct local_check_verdict *v, const struct local_check_spec *spec,
                       bool good, bool frozen)
{
    unsigned enough = v->down ? spec->rise : spec->fall;

    if (good != v->down) {
        v->row = 0;
        return false;
    }
    if (v->row < enough) {
        v->row++;
    }
    if (v->row < enough || (frozen && !v->down)) {
        return false;
    }
    *v = (struct local_check_verdict){.down = !v->down};
    return true;
}

bool local_check_is_storm(size_t failing, size_t nodes)
{
    return nodes > 1 && failing * 2 > nodes;
}

static void weigh_one(struct local_target *t, const struct local_health *health, bool stays)
{
    if (t->weight > 0 && health->weight > 0) {
        t->weight = health->weight;
    }
    if (health->down && !stays) {
        t->weight = 0;
    }
}

struct local_weighed local_check_weigh(struct local_target_set *t,
                                       const struct local_health *health, bool fail_open)
{
    struct local_weighed w = {0};
    size_t with_weight = 0;
    bool spares = false;

    for (size_t i = 0; i < t->n; i++) {
        with_weight += t->items[i].weight > 0;
        w.n_down += t->items[i].weight > 0 && health[i].down;
        spares = spares || (t->items[i].spare > 0 && !health[i].down);
    }
    bool all_down = w.n_down > 0 && w.n_down == with_weight;
    w.failed_open = fail_open && all_down && !spares;
    for (size_t i = 0; i < t->n; i++) {
        if (all_down &&
            t->items[i].weight == 0) { /* K43: another zone's, for as long as that lasts */
            t->items[i].weight = t->items[i].spare;
        }
        weigh_one(&t->items[i], &health[i], w.failed_open && t->items[i].spare == 0);
    }
    return w;
}
