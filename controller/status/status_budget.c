/* SPDX-License-Identifier: Apache-2.0 */
/* status_budget.c: requests to each API since the start, counted from the metrics (status.h).
 *
 * The metrics count every request that was sent, whatever code sent it; nothing is counted a second
 * time for /status.  Requests for credentials and to metadata servers are not part of a budget. */
#include <string.h>

#include "common/base/str.h"
#include "common/lb/request_count.h"
#include "controller/status/status.h"

#define APIS_MAX  32 /* the API server and a cloud's; names come from a provider's code */
#define KINDS_MAX 32
#define THROTTLED "429"

/* The value of a label by its name; "" when the metric has no such label. */
static const char *label(const struct metrics_family *f, const struct metrics_series *s,
                         const char *name)
{
    for (uint32_t i = 0; i < f->def->n_labels; i++) {
        if (strcmp(f->def->labels[i], name) == 0) {
            return s->values[i];
        }
    }
    return "";
}

static struct status_budget *budget_of(struct status_budget *all, size_t *n, const char *api)
{
    for (size_t i = 0; i < *n; i++) {
        if (strcmp(all[i].api, api) == 0) {
            return &all[i];
        }
    }
    if (*n == APIS_MAX) {
        return NULL;
    }
    all[*n] = (struct status_budget){.api = api, .kind = ""};
    return &all[(*n)++];
}

/* The value of the series of `f` with the labels of `like`, which has the same ones; 0: there is none. */
static double value_like(const struct metrics_family *f, const struct metrics_series *like)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->series[i].labels, like->labels) == 0) {
            return f->series[i].value;
        }
    }
    return 0;
}

/* Kinds of requests that the cloud, or what it takes, has slowed down. */
static size_t add_kinds(struct metrics *m, struct arena *a, struct status_budget *to, size_t most)
{
    const struct metrics_family rates = metrics_copy(m, a, METRIC_CLOUD_RATE);
    const struct metrics_family held = metrics_copy(m, a, METRIC_CLOUD_HELD);
    const struct metrics_family refused = metrics_copy(m, a, METRIC_CLOUD_REFUSED);
    size_t n = 0;
    for (size_t i = 0; i < rates.n && n < most; i++) {
        const struct metrics_series *s = &rates.series[i];
        to[n++] = (struct status_budget){.api = label(&rates, s, "api"),
                                         .kind = label(&rates, s, "kind"),
                                         .held = (uint64_t)value_like(&held, s),
                                         .throttled = (uint64_t)value_like(&refused, s),
                                         .qps = s->value};
    }
    return n;
}

static void count(const struct metrics_family *f, const char *api, struct status_budget *all,
                  size_t *n)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct metrics_series *s = &f->series[i];
        const char *name = api != NULL ? api : label(f, s, "api");
        bool is_budget = !str_eq(name, REQUEST_API_METADATA) && !str_eq(name, REQUEST_API_TOKEN);
        struct status_budget *b = is_budget ? budget_of(all, n, name) : NULL;
        if (b == NULL) {
            continue;
        }
        b->requests += (uint64_t)s->value;
        if (strcmp(label(f, s, "code"), THROTTLED) == 0) {
            b->throttled += (uint64_t)s->value;
        }
    }
}

void status_budgets(struct metrics *m, double kube_qps, int kube_burst, struct arena *a,
                    struct status_view *ret)
{
    struct status_budget *all = ARENA_ARRAY(a, struct status_budget, APIS_MAX + KINDS_MAX);
    const struct metrics_family kube = metrics_copy(m, a, METRIC_CLIENT_REQUESTS);
    const struct metrics_family cloud = metrics_copy(m, a, METRIC_CLOUD_REQUESTS);
    size_t n = 1;

    all[0] = (struct status_budget){
        .api = "kubernetes", .kind = "", .qps = kube_qps, .burst = kube_burst};
    count(&kube, "kubernetes", all, &n);
    count(&cloud, NULL, all, &n);
    n += add_kinds(m, a, &all[n], KINDS_MAX);
    ret->budgets = all;
    ret->n_budgets = n;
}
