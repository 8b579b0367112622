/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c: the registry behind metrics.h.
 *
 * A family per registered name; in it a map from the label values (joined with 0x1F, in the order
 * of the family's table) to the series.  Values never leave under the lock but as copies. */
#include "controller/metrics/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/map.h"
#include "common/base/str.h"

#define LABEL_SEPARATOR '\x1f'
/* per family: labels come from outside, memory does not grow with them */
#define SERIES_MAX     2000
#define ALL_SERIES_MAX 20000 /* of all families */
#define FAMILIES_MAX   4096  /* also of names that are not known: a plugin may say any */
#define VALUE_MAX      200   /* bytes of a label's value */
#define COLLECTORS_MAX 32

struct series {
    char *labels;       /* as it is printed */
    double value;       /* counter, gauge; sum of a histogram */
    uint64_t count;     /* observations */
    uint64_t buckets[]; /* per bucket, not cumulated; the last one is +Inf */
};

struct family {
    const struct tt_metric *def; /* NULL: unknown, already said so */
    struct map *series;
};

#define RECENT 64u /* a power of two */

struct collector {
    metrics_collect_fn *collect;
    void *arg;
};

struct metrics {
    struct mutex lock;
    struct map *families _guarded_by_(lock);
    /* Families by where their names are, because callers name them by constants. */
    struct family *recent[RECENT] _guarded_by_(lock);
    size_t n_series _guarded_by_(lock);    /* of all families */
    struct str_buf key _guarded_by_(lock); /* of the series that is looked for */
    /* Collectors run outside both locks; `running` counts them, and removing one waits. */
    struct mutex collectors_lock;
    struct cond collectors_idle;
    struct collector collectors[COLLECTORS_MAX] _guarded_by_(collectors_lock);
    size_t n_collectors _guarded_by_(collectors_lock);
    unsigned running _guarded_by_(collectors_lock);
};

static void series_free(void *p)
{
    struct series *s = p;

    free(s->labels);
    free(s);
}

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
    f->series = map_new(series_free);
    map_set(m->families, name, f);
    return true;
}

struct metrics *metrics_new(void)
{
    struct metrics *m = xcalloc(1, sizeof(*m));

    mutex_init(&m->lock);
    mutex_init(&m->collectors_lock);
    cond_init(&m->collectors_idle);
    mutex_lock(&m->lock);
    m->families = map_new(family_free);
    mutex_unlock(&m->lock);
    /* Names of one table are unique. */
    (void)metrics_register(m, metrics_process, metrics_process_n);
    (void)metrics_register(m, metrics_own, metrics_own_n);
    return m;
}

void metrics_free(struct metrics *m)
{
    if (m == NULL) {
        return;
    }
    mutex_lock(&m->lock);
    map_free(m->families);
    str_buf_done(&m->key);
    mutex_unlock(&m->lock);
    mutex_done(&m->lock);
    mutex_done(&m->collectors_lock);
    cond_done(&m->collectors_idle);
    free(m);
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

/* One that can be printed: not too long, valid UTF-8, without the separator. */
static const char *clean_value(const char *value, char out[VALUE_MAX + 1])
{
    size_t n = strnlen(value, VALUE_MAX + 1);

    if (n <= VALUE_MAX && memchr(value, LABEL_SEPARATOR, n) == NULL && str_is_utf8(value, n)) {
        return value;
    }
    n = n > VALUE_MAX ? VALUE_MAX : n;
    for (size_t i = 0; i < n; i++) {
        bool plain = value[i] >= ' ' && value[i] < 0x7f;
        out[i] = plain ? value[i] : '?';
    }
    out[n] = '\0';
    return out;
}

/* As both formats want it: \\, \" and \n. */
static void append_escaped(struct str_buf *b, const char *value)
{
    for (const char *p = value; *p != '\0'; p++) {
        if (*p == '\n') {
            str_append(b, "\\n");
            continue;
        }
        if (*p == '"' || *p == '\\') {
            str_append_c(b, '\\');
        }
        str_append_c(b, *p);
    }
}

/* Splits a key into the text that is printed. */
static char *labels_text(const struct tt_metric *def, const char *key)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct str_buf b = STR_BUF_INIT;
    size_t n = 0;
    char **values = str_split(a, key, LABEL_SEPARATOR, &n);

    for (uint32_t i = 0; i < def->n_labels && i < n; i++) {
        str_append(&b, i == 0 ? "" : ",");
        str_append(&b, def->labels[i]);
        str_append(&b, "=\"");
        append_escaped(&b, values[i]);
        str_append_c(&b, '"');
    }
    return str_buf_steal(&b);
}

static struct series *series_new(const struct tt_metric *def, const char *key)
{
    struct series *s = xcalloc(1, sizeof(*s) + (def->n_buckets + 1) * sizeof(s->buckets[0]));

    s->labels = labels_text(def, key);
    return s;
}

/* The series, or NULL when it is not there (and `make` is false or the family is full). */
static struct series *series_get(struct metrics *m, struct family *f, const struct tt_kv *labels,
                                 size_t n, bool make) _requires_(m->lock)
{
    char clean[VALUE_MAX + 1];

    str_buf_reset(&m->key);
    for (uint32_t i = 0; i < f->def->n_labels; i++) {
        str_append(&m->key, clean_value(label_value(labels, n, f->def->labels[i]), clean));
        str_append_c(&m->key, LABEL_SEPARATOR);
    }
    const char *key = str_buf_text(&m->key);
    struct series *s = map_get(f->series, key);
    if (s == NULL && make && map_size(f->series) < SERIES_MAX) {
        s = series_new(f->def, key);
        map_set(f->series, key, s);
    }
    return s;
}

/* As above; what has no room is counted. */
static struct series *series_make(struct metrics *m, struct family *f, const struct tt_kv *labels,
                                  size_t n) _requires_(m->lock)
{
    if (f == NULL) {
        return NULL;
    }
    size_t had = map_size(f->series);
    struct series *s = series_get(m, f, labels, n, m->n_series < ALL_SERIES_MAX);
    m->n_series += map_size(f->series) - had;
    if (s == NULL) {
        struct family *lost = map_get(m->families, METRIC_SERIES_LOST);
        struct series *count = lost == NULL ? NULL : series_get(m, lost, NULL, 0, true);
        if (count != NULL) {
            count->value++;
        }
    }
    return s;
}

/* "[ALPHA] …" is ALPHA; ours and those of the process have none. */
static void count_registered(struct metrics *m, const struct tt_metric *def) _requires_(m->lock)
{
    static const char *const levels[] = {"ALPHA", "BETA", "STABLE"};
    struct tt_kv level = {"stability_level", ""};
    const char *help = str_nonnull(def->help);

    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        size_t n = strlen(levels[i]);
        if (help[0] == '[' && strncmp(help + 1, levels[i], n) == 0 && help[n + 1] == ']') {
            level.value = levels[i];
        }
    }
    struct series *s = series_make(m, map_get(m->families, METRIC_REGISTERED), &level, 1);
    if (s != NULL) {
        s->value++;
    }
}

bool metrics_register(struct metrics *m, const struct tt_metric *table, size_t n)
{
    bool ok = true;

    mutex_lock(&m->lock);
    for (size_t i = 0; i < n; i++) {
        ok = family_add(m, table[i].name, &table[i]) && ok;
    }
    for (size_t i = 0; i < n; i++) {
        const struct family *f = map_get(m->families, table[i].name);
        if (f->def == &table[i]) {
            count_registered(m, &table[i]);
        }
    }
    mutex_unlock(&m->lock);
    return ok;
}

static struct family *family_of(struct metrics *m, const char *name, uint32_t type)
    _requires_(m->lock)
{
    size_t place = ((uintptr_t)name >> 3 ^ (uintptr_t)name >> 9) & (RECENT - 1);
    struct family *f = m->recent[place];

    if (f == NULL || f->def == NULL || strcmp(f->def->name, name) != 0) {
        f = map_get(m->families, name);
        m->recent[place] = f;
    }
    if (f == NULL) {
        if (map_size(m->families) < FAMILIES_MAX) {
            (void)family_add(m, name, NULL); /* absent: this makes it known as unknown */
            log_warning("Unknown metric is ignored", LOG_S("metric", name));
        }
        return NULL;
    }
    return f->def != NULL && f->def->type == type ? f : NULL;
}

void metrics_add(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n,
                 double v)
{
    mutex_lock(&m->lock);
    struct family *f = family_of(m, name, TT_METRIC_COUNTER);
    struct series *s = series_make(m, f, labels, n);
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
    struct series *s = series_make(m, f, labels, n);
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
    struct series *s = series_make(m, f, labels, n);
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

void metrics_raise(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n,
                   double v)
{
    mutex_lock(&m->lock);
    struct family *f = family_of(m, name, TT_METRIC_COUNTER);
    struct series *s = series_make(m, f, labels, n);
    if (s != NULL && v > s->value) {
        s->value = v;
    }
    mutex_unlock(&m->lock);
}

void metrics_reset(struct metrics *m, const char *name)
{
    mutex_lock(&m->lock);
    struct family *f = map_get(m->families, name);
    if (f != NULL && f->series != NULL) {
        m->n_series -= map_size(f->series);
        map_clear(f->series);
    }
    mutex_unlock(&m->lock);
}

double metrics_value(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n)
{
    mutex_lock(&m->lock);
    struct family *f = map_get(m->families, name);
    struct series *s = f == NULL || f->def == NULL ? NULL : series_get(m, f, labels, n, false);
    double v = 0;
    if (s != NULL) {
        v = f->def->type == TT_METRIC_HISTOGRAM ? (double)s->count : s->value;
    }
    mutex_unlock(&m->lock);
    return v;
}

/* ---- collectors ------------------------------------------------------------------------------ */

void metrics_add_collector(struct metrics *m, metrics_collect_fn *collect, void *arg)
{
    mutex_lock(&m->collectors_lock);
    assert(m->n_collectors < COLLECTORS_MAX);
    m->collectors[m->n_collectors++] = (struct collector){.collect = collect, .arg = arg};
    mutex_unlock(&m->collectors_lock);
}

void metrics_remove_collector(struct metrics *m, metrics_collect_fn *collect, void *arg)
{
    mutex_lock(&m->collectors_lock);
    while (m->running > 0) {
        clock_wait(clock_real(), &m->collectors_idle, &m->collectors_lock, CLOCK_NEVER);
    }
    for (size_t i = 0; i < m->n_collectors; i++) {
        if (m->collectors[i].collect == collect && m->collectors[i].arg == arg) {
            m->n_collectors--;
            memmove(&m->collectors[i], &m->collectors[i + 1],
                    (m->n_collectors - i) * sizeof(m->collectors[0]));
            break;
        }
    }
    mutex_unlock(&m->collectors_lock);
}

static void run_collectors(struct metrics *m)
{
    struct collector copy[COLLECTORS_MAX];

    mutex_lock(&m->collectors_lock);
    size_t n = m->n_collectors;
    memcpy(copy, m->collectors, n * sizeof(copy[0]));
    m->running++;
    mutex_unlock(&m->collectors_lock);
    for (size_t i = 0; i < n; i++) {
        copy[i].collect(copy[i].arg, m);
    }
    mutex_lock(&m->collectors_lock);
    m->running--;
    cond_broadcast(&m->collectors_idle);
    mutex_unlock(&m->collectors_lock);
}

/* ---- copies for printing --------------------------------------------------------------------- */

const char *const *metrics_collect(struct metrics *m, struct arena *a, size_t *ret_n)
{
    size_t n = 0;
    size_t n_known = 0;

    run_collectors(m);
    mutex_lock(&m->lock);
    const char **keys = map_keys(m->families, &n);
    const char **names = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        const struct family *f = map_get(m->families, keys[i]);
        if (f->def != NULL) {
            names[n_known++] = f->def->name;
        }
    }
    mutex_unlock(&m->lock);
    free(keys);
    *ret_n = n_known;
    return names;
}

struct copier {
    struct arena *a;
    const struct tt_metric *def;
    struct metrics_series *series;
    size_t n;
};

static bool copy_series(const char *key, void *value, void *arg)
{
    struct copier *c = arg;
    const struct series *s = value;
    size_t n = 0;

    c->series[c->n++] = (struct metrics_series){
        .labels = arena_strdup(c->a, s->labels),
        .values = (const char *const *)str_split(c->a, key, LABEL_SEPARATOR, &n),
        .value = s->value,
        .count = s->count,
        .buckets = arena_memdup(c->a, s->buckets, (c->def->n_buckets + 1) * sizeof(s->buckets[0])),
    };
    return true;
}

struct metrics_family metrics_copy(struct metrics *m, struct arena *a, const char *name)
{
    mutex_lock(&m->lock);
    struct family *f = map_get(m->families, name);
    assert(f != NULL && f->def != NULL);
    if (f->def->n_labels == 0) {
        (void)series_get(m, f, NULL, 0, true);
    }
    struct copier c = {.a = a, .def = f->def};
    c.series = ARENA_ARRAY(a, struct metrics_series, map_size(f->series));
    map_each(f->series, copy_series, &c);
    mutex_unlock(&m->lock);
    return (struct metrics_family){.def = c.def, .series = c.series, .n = c.n};
}
