/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.c: see inventory.h. */
#include "common/cloud/inventory.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"

#include <stdlib.h>
#include <string.h>

#define LB_NAME_BYTES 32 /* "a" and 31 digits */

void inventory_init(struct inventory *inv, struct arena *a)
{
    *inv = (struct inventory){.a = a};
}

void inventory_add(struct inventory *inv, struct inventory_item *item)
{
    if (inv->n == INVENTORY_MAX) {
        inv->full = true;
        return;
    }
    if (inv->n == inv->cap) {
        inv->cap = inv->cap == 0 ? 64 : inv->cap * 2;
        struct inventory_item **more = ARENA_ARRAY(inv->a, struct inventory_item *, inv->cap);
        if (inv->n > 0) {
            memcpy(more, inv->items, inv->n * sizeof(*more));
        }
        inv->items = more;
    }
    inv->items[inv->n++] = item;
}

void inventory_put(struct inventory *inv, struct inventory_item item)
{
    struct inventory_item *copy = ARENA_NEW(inv->a, struct inventory_item);
    *copy = item;
    inventory_add(inv, copy);
}

int inventory_check(const struct inventory *inv, struct err *err)
{
    return inv->full
               ? err_set(err, ERR_QUOTA, "there are more than %d resources of ours", INVENTORY_MAX)
               : ERR_OK;
}

/* ---- units --------------------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
    const struct inventory_item *a = *(struct inventory_item *const *)x;
    const struct inventory_item *b = *(struct inventory_item *const *)y;
    int c = strcmp(a->unit, b->unit);
    c = c != 0 ? c : (int)a->kind - (int)b->kind;
    c = c != 0 ? c : strcmp(a->name, b->name);
    c = c != 0 ? c : strcmp(str_nonnull(a->place), str_nonnull(b->place));
    return c != 0 ? c : strcmp(str_nonnull(a->id), str_nonnull(b->id));
}

bool inventory_next(const struct inventory *inv, size_t *at, struct inventory_unit *ret)
{
    size_t begin = *at;
    if (begin >= inv->n) {
        return false;
    }
    const char *unit = inv->items[begin]->unit;
    size_t end = begin + 1;
    while (end < inv->n && unit[0] != '\0' && str_eq(inv->items[end]->unit, unit)) {
        end++;
    }
    *ret = (struct inventory_unit){.items = inv->items + begin, .n = end - begin};
    *at = end;
    return true;
}

void inventory_settle(struct inventory *inv)
{
    struct inventory_unit u;
    if (inv->n > 0) {
        qsort(inv->items, inv->n, sizeof(struct inventory_item *), compare);
    }
    for (size_t at = 0; inventory_next(inv, &at, &u);) {
        const char *key = NULL;
        for (size_t i = 0; key == NULL && i < u.n; i++) {
            key = u.items[i]->key;
        }
        for (size_t i = 0; i < u.n; i++) {
            u.items[i]->key = key;
        }
    }
}

void inventory_filter(struct inventory *inv, bool (*keep)(const struct inventory_item *item))
{
    size_t kept = 0;
    for (size_t i = 0; i < inv->n; i++) {
        if (keep(inv->items[i])) {
            inv->items[kept++] = inv->items[i];
        }
    }
    inv->n = kept;
}

/* ---- Services ------------------------------------------------------------------------------------ */

static bool counts(const struct tt_provider *d, const struct tt_service *s)
{
    bool is =
        svc_wants_lb_of(s, d->classes, d->n_classes) || svc_has_finalizer(s, LB_CLEANUP_FINALIZER);
    for (uint32_t i = 0; !is && i < d->n_finalizers; i++) {
        is = svc_has_finalizer(s, d->finalizers[i]);
    }
    return is;
}

void inventory_each_service(const struct tt_provider *d, const struct tt_host *host,
                            const struct tt_call *call,
                            void (*each)(void *arg, const struct tt_service *svc), void *arg)
{
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    host->services(host->ctx, call, &all, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (counts(d, all[i])) {
            each(arg, all[i]);
        }
    }
}

bool inventory_is_lb_name(const char *text, size_t n)
{
    bool is = n == LB_NAME_BYTES && text[0] == 'a';
    for (size_t i = 1; is && i < n; i++) {
        is = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    }
    return is;
}

const char *inventory_uid_of(struct arena *a, const char *lb_name)
{
    const char *d = lb_name + 1;
    return arena_printf(a, "%.8s-%.4s-%.4s-%.4s-%.11s0", d, d + 8, d + 12, d + 16, d + 20);
}

struct tt_service *inventory_service(struct arena *a, const char *key, const char *uid)
{
    const char *slash = key != NULL ? strchr(key, '/') : NULL;
    if (slash == NULL || slash == key || slash[1] == '\0') {
        return NULL;
    }
    struct tt_service *s = ARENA_NEW(a, struct tt_service);
    *s = (struct tt_service){
        .size = sizeof(*s),
        .ns = arena_strndup(a, key, (size_t)(slash - key)),
        .name = slash + 1,
        .uid = uid,
        .resource_version = "0",
        .type = "LoadBalancer",
        .session_affinity = "",
        .affinity_timeout_s = -1,
        .lb_ip = "",
        .external_traffic_policy = "",
        .internal_traffic_policy = "",
        .ip_family_policy = "",
        .allocate_node_ports = 1,
    };
    return s;
}

/* ---- report -------------------------------------------------------------------------------------- */

static void report_one(const struct inventory_report *r, const struct inventory_item *item,
                       const struct tt_service *remover)
{
    const struct tt_owned owned = {
        .size = sizeof(owned),
        .kind = str_or(r->words[item->kind].kind, "resource"),
        .name = item->name,
        .place = item->place,
        .owner = item->key,
        .created_us = item->created_us,
        .cost = r->words[item->kind].cost,
        .command = r->command(r->arg, item),
        .remove_as = item->used ? NULL : remover,
        .flags = (item->used ? TT_OWNED_USED : 0) | (item->unsure ? TT_OWNED_UNSURE : 0),
    };
    r->host->report_resource(r->host->ctx, r->call, &owned);
}

void inventory_report(const struct inventory *inv, const struct inventory_report *r)
{
    struct inventory_unit u;
    if (!TT_HAS(r->host, report_resource)) {
        return;
    }
    for (size_t at = 0; inventory_next(inv, &at, &u);) {
        const struct tt_service *remover = r->remover(r->arg, &u);
        for (size_t i = 0; i < u.n; i++) {
            report_one(r, u.items[i], remover);
        }
    }
}
