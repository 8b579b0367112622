/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c: the registry behind metrics.h.
 *
 * A family per registered name; in it a map from the label values (joined with 0x1F, in the order of the
 * family's table) to the series.  Values never leave under the lock but as copies. */
#include "controller/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/map.h"
#include "common/base/str.h"

#define LABEL_SEPARATOR '\x1f'
#define SERIES_MAX      2000 /* per family: labels come from outside, memory does not grow with them */

struct series {
    double value;       /* counter, gauge; sum of a histogram */
    uint64_t count;     /* observations */
    uint64_t buckets[]; /* per bucket, not cumulated; the last one is +Inf */
};

struct family {
    const struct tt_metric *def; /* NULL: unknown, already said so */
    struct map *series;
};

struct metrics {
    struct mutex lock;
    struct map *families _guarded_by_(lock);
};

static void family_free(void *p)
{
    struct family *f = p;

    map_free(f->series);
    free(f);
}

static bool family_add(struct metrics *m, const char *name, const struct tt_metric *def)
    _requires_(m->lock)
{
    if (map_has(m->families, name)) {
        return false;
    }
    struct family *f = xcalloc(1, sizeof(*f));
    f->def = def;
    f->series = map_new(free);
    map_set(m->families, name, f);
    return true;
}

struct metrics *metrics_new(void)
{
    struct metrics *m = xcalloc(1, sizeof(*m));

    mutex_init(&m->lock);
    mutex_lock(&m->lock);
    m->families = map_new(family_free);
    mutex_unlock(&m->lock);
    (void)metrics_register(m, metrics_own, metrics_own_n); /* names of one table are unique */
    return m;
}

void metrics_free(struct metrics *m)
{
    if (m == NULL) {
        return;
    }
    mutex_lock(&m->lock);
    map_free(m->families);
    mutex_unlock(&m->lock);
    mutex_done(&m->lock);
    free(m);
}

bool metrics_register(struct metrics *m, const struct tt_metric *table, size_t n)
{
    bool ok = true;

    mutex_lock(&m->lock);
    for (size_t i = 0; i < n; i++) {
        ok = family_add(m, table[i].name, &table[i]) && ok;
    }
    mutex_unlock(&m->lock);
    return ok;
}

static const char *label_value(const struct tt_kv *labels, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(labels[i].key, name) == 0) {
            return str_nonnull(labels[i].value);
        }
    }
    return "";
}

/* The series, or NULL when it is not there (and `make` is false or the family is full). */
static struct series *series_get(struct family *f, const struct tt_kv *labels, size_t n, bool make)
{
    _cleanup_(str_buf_done) struct str_buf key = STR_BUF_INIT;

    for (uint32_t i = 0; i < f->def->n_labels; i++) {
        str_append(&key, label_value(labels, n, f->def->labels[i]));
        str_append_c(&key, LABEL_SEPARATOR);
    }
    struct series *s = map_get(f->series, str_buf_text(&key));
    if (s == NULL && make && map_size(f->series) < SERIES_MAX) {
        s = xcalloc(1, sizeof(*s) + (f->def->n_buckets + 1) * sizeof(s->buckets[0]));
        map_set(f->series, str_buf_text(&key), s);
    }
    return s;
}

static struct family *family_of(struct metrics *m, const char *name, uint32_t type)
    _requires_(m->lock)
{
    struct family *f = map_get(m->families, name);

    if (f == NULL) {
        (void)family_add(m, name, NULL); /* absent: this makes it known as unknown */
        log_warning("Unknown metric is ignored", LOG_S("metric", name));
        return NULL;
    }
    return f->def != NULL && f->def->type == type ? f : NULL;
}

void metrics_add(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n,
                 double v)
{
    mutex_lock(&m->lock);
    struct family *f = family_of(m, name, TT_METRIC_COUNTER);
    struct series *s = f == NULL ? NULL : series_get(f, labels, n, true);
    if (s != NULL && v >= 0) {
        s->value += v;
    }
    mutex_unlock(&m->lock);
}

void metrics_set(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n,
                 double v)
{
    mutex_lock(&m->lock);
    struct family *f = family_of(m, name, TT_METRIC_GAUGE);
    struct series *s = f == NULL ? NULL : series_get(f, labels, n, true);
    if (s != NULL) {
        s->value = v;
    }
    mutex_unlock(&m->lock);
}

void metrics_observe(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n,
                     double v)
{
    mutex_lock(&m->lock);
    struct family *f = family_of(m, name, TT_METRIC_HISTOGRAM);
    struct series *s = f == NULL ? NULL : series_get(f, labels, n, true);
    if (s != NULL) {
        uint32_t at = 0;
        while (at < f->def->n_buckets && v > f->def->buckets[at]) {
            at++;
        }
        s->buckets[at]++;
        s->count++;
        s->value += v;
    }
    mutex_unlock(&m->lock);
}

double metrics_value(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n)
{
    mutex_lock(&m->lock);
    struct family *f = map_get(m->families, name);
    struct series *s = f == NULL || f->def == NULL ? NULL : series_get(f, labels, n, false);
    double v = 0;
    if (s != NULL) {
        v = f->def->type == TT_METRIC_HISTOGRAM ? (double)s->count : s->value;
    }
    mutex_unlock(&m->lock);
    return v;
}
