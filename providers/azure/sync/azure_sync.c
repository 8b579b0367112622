/* SPDX-License-Identifier: Apache-2.0 */
/* azure_sync.c: the batch of a sync and what its lists say about a Service (azure_sync.h).
 *
 * Reads what azure_observe.c has put into the sync, and the maps of the handle that outlive a
 * sync; sends nothing.  One thread. */
#include "providers/azure/sync/azure_sync.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/model/azure_doc.h"

#include <stdlib.h>
#include <string.h>

struct azure_sync *azure_sync_of(struct lb_sync *s)
{
    return s->data;
}

bool azure_item_takes_part(const struct azure_item *it)
{
    return it->service != NULL && !it->left && lb_item_is_active(it->item);
}

bool azure_item_is_unproven(const struct azure_item *it)
{
    return it->want && lb_is_unproven(it->item->in);
}

bool azure_item_is_carried_out(const struct azure_item *it)
{
    return azure_item_takes_part(it) && !azure_item_is_unproven(it);
}

bool azure_renews(const struct azure_item *it)
{
    bool some = it->interim[AZURE_IPV4] != NULL || it->interim[AZURE_IPV6] != NULL;
    return azure_item_is_carried_out(it) && it->want && some;
}

static int compare_items(const void *x, const void *y)
{
    const struct azure_item *a = *(struct azure_item *const *)x;
    const struct azure_item *b = *(struct azure_item *const *)y;
    const struct tt_service *s = a->service->in;
    const struct tt_service *t = b->service->in;
    if (a->want != b->want) {
        return a->want ? 1 : -1;
    }
    if (s->created_us != t->created_us) {
        return s->created_us < t->created_us ? -1 : 1;
    }
    return strcmp(a->item->key, b->item->key);
}

struct azure_item **azure_items_in_order(struct azure_sync *y, size_t *ret_n)
{
    struct azure_item **items = ARENA_ARRAY(y->s->a, struct azure_item *, y->s->n_items + 1);
    size_t n = 0;
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i])) {
            items[n++] = &y->items[i];
        }
    }
    qsort(items, n, sizeof(*items), compare_items);
    *ret_n = n;
    return items;
}

struct json_object *azure_sync_lb(const struct azure_sync *y, const char *name)
{
    for (size_t i = 0; i < y->lbs.n; i++) {
        if (azure_eq(azure_doc_name(y->lbs.items[i]), name)) {
            return y->lbs.items[i];
        }
    }
    return NULL;
}

const struct azure_service *azure_sync_namesake(const struct azure_sync *y,
                                                const struct azure_service *s)
{
    for (size_t i = 0; i < y->n_services; i++) {
        if (str_eq(y->services[i]->key, s->key) && !azure_service_is(y->services[i], s)) {
            return y->services[i];
        }
    }
    return NULL;
}

/* Asked once: a sync that sees two sets of Services could close what the other one opened. */
void azure_services_read(struct azure_sync *y)
{
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    y->p->host->services(y->p->host->ctx, y->s->call, &all, &n);
    const struct azure_service **services =
        ARENA_ARRAY(y->s->a, const struct azure_service *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (svc_wants_lb_of(all[i], NULL, 0)) {
            services[y->n_services++] = azure_service_read(y->s->a, &y->p->naming, all[i]);
        }
    }
    y->services = services;
}

/* ---- addresses ------------------------------------------------------------------------------- */

struct addresses {
    struct azure_sync *y;
    const struct azure_service *service;
    const char **items;
    size_t n;
    const char **interim;
    size_t n_interim;
    bool will_have[AZURE_FAMILIES]; /* planning: from a frontend whose address is not known */
};

static void add_address(struct addresses *x, const char *ip, bool interim)
{
    if (!str_is_empty(ip) && interim) {
        x->interim[x->n_interim++] = ip;
    } else if (!str_is_empty(ip)) {
        x->items[x->n++] = ip;
    }
}

const char *azure_sync_frontend_address(const struct azure_sync *y, struct json_object *frontend)
{
    const char *id = azure_ref(frontend, "publicIPAddress");
    struct json_object *pip = id != NULL ? azure_pip_by_id(&y->pips, id) : NULL;
    return id == NULL    ? azure_prop_str(frontend, "privateIPAddress")
           : pip != NULL ? azure_pip_address(pip)
                         : NULL;
}

static void add_of_lb(struct addresses *x, struct json_object *lb)
{
    struct azure_elements mine = azure_sync_frontends(x->y, x->service, lb);
    for (size_t i = 0; i < mine.n; i++) {
        struct json_object *o = mine.items[i];
        struct azure_ownership owner = azure_sync_owner(x->y, x->service, o);
        if (!owner.owns) {
            continue;
        }
        bool former = azure_frontend_is_former(x->service, azure_doc_name(o));
        add_address(x, azure_sync_frontend_address(x->y, o), former);
        x->will_have[azure_frontend_family(x->service, o, &owner)] |= x->y->s->planning && !former;
    }
}

static bool is_ipv6(const char *ip)
{
    return strchr(ip, ':') != NULL;
}

/* Interim ones count for families of the Service that have no other. */
static void add_interim(struct addresses *x)
{
    const bool *asks = x->service->has_family;
    bool has[AZURE_FAMILIES] = {!asks[AZURE_IPV4] || x->will_have[AZURE_IPV4],
                                !asks[AZURE_IPV6] || x->will_have[AZURE_IPV6]};
    size_t left = 0;
    for (size_t i = 0; i < x->n; i++) {
        has[is_ipv6(x->items[i]) ? AZURE_IPV6 : AZURE_IPV4] = true;
    }
    for (size_t i = 0; i < x->n_interim; i++) {
        if (has[is_ipv6(x->interim[i]) ? AZURE_IPV6 : AZURE_IPV4]) {
            x->interim[left++] = x->interim[i];
        } else {
            x->items[x->n++] = x->interim[i];
        }
    }
    x->n_interim = left;
}

static struct azure_texts find_addresses(struct azure_sync *y, const struct azure_service *service,
                                         bool left)
{
    size_t most = 1;
    for (size_t i = 0; i < y->lbs.n; i++) {
        most += json_len(azure_array(y->lbs.items[i], "frontendIPConfigurations"));
    }
    /* Asked for every Service of a batch: only what is found is kept. */
    const char **found = xcalloc(2 * most, sizeof(*found));
    struct addresses x = {.y = y, .service = service, .items = found, .interim = found + most};
    for (size_t i = 0; i < y->lbs.n; i++) {
        if (azure_lb_is_internal(azure_doc_name(y->lbs.items[i])) == service->internal) {
            add_of_lb(&x, y->lbs.items[i]);
        }
    }
    add_interim(&x);
    struct azure_texts out = {.n = left ? x.n_interim : x.n};
    out.items = out.n == 0
                    ? NULL
                    : arena_memdup(y->s->a, left ? x.interim : x.items, out.n * sizeof(*found));
    free(found);
    return out;
}

struct azure_texts azure_addresses_of(struct azure_sync *y, const struct azure_service *service)
{
    return find_addresses(y, service, false);
}

struct azure_texts azure_interim_left(struct azure_sync *y, const struct azure_service *service)
{
    return find_addresses(y, service, true);
}

bool azure_interim_addresses(struct azure_sync *y, const struct azure_item *it,
                             struct azure_texts *ret)
{
    struct azure_texts now = azure_addresses_of(y, it->service);
    const char **items = ARENA_ARRAY(y->s->a, const char *, now.n + AZURE_FAMILIES);
    bool all = true;
    *ret = (struct azure_texts){.items = items};
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        const char *id = it->service->has_family[f] ? it->interim[f] : NULL;
        struct json_object *pip = id != NULL ? azure_pip_by_id(&y->pips, id) : NULL;
        const char *ip = pip != NULL ? azure_pip_address(pip) : "";
        all = all && (id == NULL || *ip != '\0');
        if (*ip != '\0') {
            items[ret->n++] = ip;
        }
        for (size_t i = 0; id == NULL && it->service->has_family[f] && i < now.n; i++) {
            if (is_ipv6(now.items[i]) == (f == AZURE_IPV6)) {
                items[ret->n++] = now.items[i];
            }
        }
    }
    return all;
}

/* A frontend of the Service without an address does not count for its family. */
bool azure_lacks_address(struct azure_sync *y, const struct azure_service *service)
{
    bool has[AZURE_FAMILIES] = {false, false};
    struct azure_texts ips = azure_addresses_of(y, service);
    for (size_t i = 0; i < ips.n; i++) {
        has[is_ipv6(ips.items[i]) ? AZURE_IPV6 : AZURE_IPV4] = true;
    }
    return (service->has_family[AZURE_IPV4] && !has[AZURE_IPV4]) ||
           (service->has_family[AZURE_IPV6] && !has[AZURE_IPV6]);
}

bool azure_leaves_told(struct azure_sync *y, const struct azure_item *it)
{
    struct arena *a = y->s->a;
    const struct tt_service *in = it->service->in;
    struct azure_texts now = azure_addresses_of(y, it->service);
    struct azure_texts also = azure_access_read(a, it->service)->additional;
    struct str_set own = str_set_make(a, now.items, now.n);
    struct str_set additional = str_set_make(a, also.items, also.n);
    for (uint32_t i = 0; i < in->n_ingress; i++) {
        const char *ip = in->ingress[i].ip;
        if (!str_is_empty(ip) && !str_set_has(&own, ip) && !str_set_has(&additional, ip)) {
            return true;
        }
    }
    return false;
}

/* ---- what outlives the sync ------------------------------------------------------------------ */

void azure_remember(struct azure_sync *y, const struct azure_item *it)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct azure_texts ips = azure_addresses_of(y, it->service);
    for (size_t i = 0; i < ips.n; i++) {
        str_appendf(&b, "%s%s", i > 0 ? " " : "", ips.items[i]);
    }
    map_set(y->p->assigned, it->item->key, xstrdup(str_buf_text(&b)));
}

struct azure_texts azure_admitted(struct azure_sync *y, const struct azure_item *it)
{
    const char *text = map_get(y->p->redirected, it->item->key);
    struct azure_texts ips = {0};
    if (!str_is_empty(text)) {
        ips.items = (const char *const *)str_split(y->s->a, text, ' ', &ips.n);
    }
    return ips;
}

void azure_remember_admitted(struct azure_sync *y, const struct azure_item *it,
                             const struct azure_texts *ips)
{
    struct azure_texts before = azure_admitted(y, it);
    struct str_set now = str_set_make(y->s->a, ips->items, ips->n);
    struct str_set then = str_set_make(y->s->a, before.items, before.n);
    now = str_set_union(y->s->a, &now, &then);
    if (!y->s->planning) {
        map_set(y->p->redirected, it->item->key, xstrdup(str_join(y->s->a, now.items, now.n, " ")));
    }
}

bool azure_security_goes_beside(struct azure_sync *y)
{
    bool some = false;
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (!azure_item_takes_part(it) || !it->want) {
            continue;
        }
        if (azure_item_is_unproven(it) || it->service->disable_floating_ip) {
            return false;
        }
        bool comes = it->service->in->n_ingress == 0 || azure_leaves_told(y, it);
        some = some || (comes && !it->service->disable_nsg_rule);
    }
    return some;
}
