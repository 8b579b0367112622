/* SPDX-License-Identifier: Apache-2.0 */
/* rig_metrics.c: what the provider measures, noted down, and held against its table: a name that is not in it, another
 * type, a label too many or too few fails the test when the rig stops.  The host would drop them without a word. */
#include "tests/unit/gce/rig_internal.h"

#include "providers/gce/gce_l4_metrics.h"

#include <stdlib.h>

static const struct tt_metric *find(const char *name)
{
    for (size_t i = 0; i < GCE_METRICS_COUNT; i++) {
        if (str_eq(gce_metrics[i].name, name)) {
            return &gce_metrics[i];
        }
    }
    return NULL;
}

static const char *value_of(const struct tt_kv *labels, uint32_t n, const char *key)
{
    for (uint32_t i = 0; i < n; i++) {
        if (str_eq(labels[i].key, key)) {
            return labels[i].value;
        }
    }
    return NULL;
}

/* "name{label=value,…}" in the table's order; NULL: it is not as the table says. */
static char *series(const char *name, const struct tt_kv *labels, uint32_t n, uint32_t type)
{
    struct str_buf b = STR_BUF_INIT;
    const struct tt_metric *m = find(name);
    bool good = m != NULL && m->type == type && m->n_labels == n;
    for (uint32_t i = 0; good && i < n; i++) {
        const char *value = value_of(labels, n, m->labels[i]);
        good = value != NULL;
        str_appendf(&b, "%s%s=%s", i > 0 ? "," : "", m->labels[i], str_nonnull(value));
    }
    char *text = good ? xasprintf("%s{%s}", name, str_buf_text(&b)) : NULL;
    str_buf_done(&b);
    return text;
}

static void note(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels, uint32_t n,
                 uint32_t type, double value)
{
    struct rig *r = (struct rig *)ctx;
    if (str_has_prefix(name, "trimtab_budget_")) {
        return; /* the controller's own (common/lb/budget_report.h) */
    }
    char *text = series(name, labels, n, type);
    mutex_lock(&r->lock);
    double *is = text != NULL ? map_get(r->metrics, text) : NULL;
    if (text == NULL) {
        r->metric_fault = arena_printf(r->a, "%s is not in the table so", name);
    } else if (is == NULL) {
        is = xcalloc(1, sizeof(*is));
        map_set(r->metrics, text, is);
    }
    if (is != NULL) {
        *is = type == TT_METRIC_GAUGE ? value : *is + (type == TT_METRIC_COUNTER ? value : 1);
    }
    mutex_unlock(&r->lock);
    free(text);
}

static void add(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels, uint32_t n,
                double value)
{
    note(ctx, name, labels, n, TT_METRIC_COUNTER, value);
}

static void set(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels, uint32_t n,
                double value)
{
    note(ctx, name, labels, n, TT_METRIC_GAUGE, value);
}

static void observe(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                    uint32_t n, double value)
{
    note(ctx, name, labels, n, TT_METRIC_HISTOGRAM, value);
}

void rig_fill_metrics(struct rig *r)
{
    r->host.metric_add = add;
    r->host.metric_set = set;
    r->host.metric_observe = observe;
}

double rig_metric(struct rig *r, const char *glob)
{
    double sum = 0;
    bool any = false;
    size_t n;
    mutex_lock(&r->lock);
    const char **names = map_keys(r->metrics, &n);
    for (size_t i = 0; i < n; i++) {
        if (str_glob(glob, names[i])) {
            sum += *(const double *)map_get(r->metrics, names[i]);
            any = true;
        }
    }
    free(names);
    mutex_unlock(&r->lock);
    return any ? sum : -1;
}
