/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.c: bytes and connections of each Service in an ipvs mode, for metrics; only with
 * --local-service-stats.
 *
 * The kernel counts for each virtual service, from when it was made.  What it has counted since the
 * last look is added to the metrics of the Service that has the port.  nft counts nothing of a
 * Service. */
#include "providers/local/standing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

struct looking {
    const struct local_ipvs_traffic *items; /* sorted */
    size_t n;
    struct map *now; /* frontend → struct local_ipvs_traffic, of this look */
    struct arena *a;
};

static int by_front(const void *a, const void *b)
{
    return local_frontend_cmp(&((const struct local_ipvs_traffic *)a)->id,
                              &((const struct local_ipvs_traffic *)b)->id);
}

/* A virtual service that was made anew counts from 0. */
static double since(uint64_t now, uint64_t was)
{
    return (double)(now >= was ? now - was : now);
}

struct sums {
    double connections, in, out;
};

static void add_front(struct local_provider *p, struct looking *l,
                      const struct local_frontend_id *id, struct sums *sums)
{
    const struct local_ipvs_traffic key = {.id = *id};
    const struct local_ipvs_traffic none = {.connections = 0};
    const struct local_ipvs_traffic *t =
        l->n == 0 ? NULL : bsearch(&key, l->items, l->n, sizeof key, by_front);
    char text[LOCAL_FRONTEND_TEXT_MAX];

    if (t == NULL) {
        return;
    }
    local_frontend_text(id, text);
    const struct local_ipvs_traffic *was = map_get(p->traffic, text);
    was = was == NULL ? &none : was;
    sums->connections += since(t->connections, was->connections);
    sums->in += since(t->in_bytes, was->in_bytes);
    sums->out += since(t->out_bytes, was->out_bytes);
    struct local_ipvs_traffic *kept = xmalloc(sizeof *kept);
    *kept = *t;
    map_set(l->now, text, kept);
}

static void tell(struct local_provider *p, const char *key, const struct sums *sums)
{
    const char *name = strchr(key, '/') + 1;
    char ns[256] = "";
    struct tt_kv labels[] = {{"namespace", ns}, {"service", name}, {"direction", "in"}};

    (void)snprintf(ns, sizeof ns, "%.*s", (int)(name - key - 1), key);
    p->host->metric_add(p->host->ctx, "local_service_connections_total", labels, 2,
                        sums->connections);
    p->host->metric_add(p->host->ctx, "local_service_bytes_total", labels, 3, sums->in);
    labels[2].value = "out";
    p->host->metric_add(p->host->ctx, "local_service_bytes_total", labels, 3, sums->out);
}

static bool add_service(struct local_provider *p, struct served_kept *k, void *arg)
{
    struct looking *l = arg;
    const struct served *v = local_served_open(l->a, k);
    struct sums sums = {0};
    bool counted = false;

    for (size_t i = 0; i < v->n; i++) {
        if (local_mode_is_ipvs(v->fronts[i].serve->mode)) {
            add_front(p, l, &v->fronts[i].front.id, &sums);
            counted = true;
        }
    }
    if (counted) {
        tell(p, v->key, &sums);
    }
    arena_reset(l->a);
    return true;
}

void local_traffic_count(struct local_provider *p)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    _cleanup_(arena_freep) struct arena *one = arena_new();
    struct local_ipvs_traffic *items = NULL;
    struct looking l = {.a = one};
    struct err ignored = ERR_INIT; /* the next look has it */

    if (!p->service_stats || !p->ipvs ||
        p->kernel->ops->ipvs_traffic(p->kernel, a, &items, &l.n, &ignored) != ERR_OK) {
        return;
    }
    if (l.n > 1) {
        qsort(items, l.n, sizeof *items, by_front);
    }
    l.items = items;
    l.now = map_new(free);
    local_served_any(p, add_service, &l);
    map_free(p->traffic);
    p->traffic = l.now; /* without virtual services that are gone */
}

const char *local_traffic_idle(const struct local_config *c)
{
    for (size_t i = 0; i < c->n_pools; i++) {
        if (local_mode_is_ipvs(c->pools[i].serve.mode)) {
            return NULL;
        }
    }
    return "--local-service-stats counts Services in ipvs modes alone, and no pool has one (nft "
           "has no counters of Services)";
}
