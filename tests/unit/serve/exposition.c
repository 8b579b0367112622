/* SPDX-License-Identifier: Apache-2.0 */
/* exposition.c: see exposition.h. */
#include "tests/unit/serve/exposition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#define LABELS_MAX 16
#define LES_MAX    40

struct label {
    const char *name;
    const char *value; /* as printed, still escaped */
};
/* A sample's line, taken apart. */
struct sample {
    const char *line;
    const char *name;
    struct label labels[LABELS_MAX];
    size_t n_labels;
    const char *id;     /* name{labels} */
    const char *series; /* {labels} without le */
    const char *value_text;
    double value;
};
struct reader {
    struct arena *a;
    bool open;
    struct exposition *x;
    struct exposition_family *family; /* the current one */
    bool has_type;
    /* the histogram series that is being read; series NULL: none */
    const char *series;
    double last_le;
    double last_count;
    bool has_inf;
    bool has_sum;
    struct str_buf les;
};

static void map_free_cb(void *m)
{
    map_free(m);
}

static bool name_ok(const char *name, bool colons)
{
    size_t n =
        strspn(name, colons ? "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:"
                            : "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && name[n] == '\0' && (name[0] < '0' || name[0] > '9');
}

static double number(const char *text, const char *line)
{
    char *end = NULL;

    if (str_eq(text, "+Inf")) {
        return (double)INFINITY;
    }
    if (str_eq(text, "-Inf")) {
        return -(double)INFINITY;
    }
    if (str_eq(text, "NaN")) {
        return (double)NAN;
    }
    double v = strtod(text, &end);
    if (end == text || *end != '\0' || strpbrk(text, "xXiInN ") != NULL) {
        fail_msg("not a number: %s", line);
    }
    return v;
}

/* ---- lines that begin with # ----------------------------------------------------------------- */

static void end_histogram(struct reader *r)
{
    if (r->series != NULL) {
        fail_msg("%s%s has no _count at its end", r->family->name, r->series);
    }
}

static void read_help(struct reader *r, const char *rest)
{
    const char *blank = strchr(rest, ' ');

    end_histogram(r);
    if (r->family != NULL && (!r->has_type || r->family->n_series == 0)) {
        fail_msg("%s has no TYPE or no sample", r->family->name);
    }
    if (blank == NULL) {
        fail_msg("HELP without a text: %s", rest);
        return;
    }
    struct exposition_family *f = ARENA_NEW(r->a, struct exposition_family);
    *f = (struct exposition_family){.name = arena_strndup(r->a, rest, (size_t)(blank - rest)),
                                    .help = arena_strdup(r->a, blank + 1),
                                    .type = "",
                                    .labels = "",
                                    .les = ""};
    if (!name_ok(f->name, true) || map_has(r->x->families, f->name)) {
        fail_msg("family %s: a bad name, or there already", f->name);
    }
    if (r->family != NULL && strcmp(r->family->name, f->name) >= 0) {
        fail_msg("%s comes after %s", f->name, r->family->name);
    }
    for (const char *p = f->help; *p != '\0'; p++) {
        bool quote = *p == '"' && r->open;
        if (quote || (*p == '\\' && strchr(r->open ? "\\n\"" : "\\n", *++p) == NULL)) {
            fail_msg("HELP is not escaped: %s", f->help);
        }
    }
    map_set(r->x->families, f->name, f);
    r->family = f;
    r->has_type = false;
}

static void read_type(struct reader *r, const char *rest)
{
    const char *blank = strchr(rest, ' ');
    static const char *const types[] = {"counter", "gauge", "histogram", "unknown"};
    bool known = false;

    if (blank == NULL || r->family == NULL || r->has_type ||
        !str_eq(arena_strndup(r->a, rest, (size_t)(blank - rest)), r->family->name)) {
        fail_msg("TYPE does not follow its HELP: %s", rest);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        known = known || str_eq(blank + 1, types[i]);
    }
    if (!known || (!r->open && str_eq(blank + 1, "unknown"))) {
        fail_msg("unknown type: %s", rest);
    }
    r->family->type = arena_strdup(r->a, blank + 1);
    r->has_type = true;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Behind the closing quote of a value that begins at `p`. */
static const char *value_end(const char *p, const char *line)
{
    for (; *p != '"'; p++) {
        if (*p == '\0' || (*p == '\\' && (p[1] == '\0' || strchr("\\n\"", *++p) == NULL))) {
            fail_msg("a label's value is not escaped or does not end: %s", line);
        }
    }
    return p;
}

static const char *split_labels(struct reader *r, struct sample *s, const char *p)
{
    while (*p != '}') {
        const char *equals = strstr(p, "=\"");
        if (equals == NULL || s->n_labels == LABELS_MAX) {
            fail_msg("labels do not end: %s", s->line);
            return p;
        }
        struct label *l = &s->labels[s->n_labels++];
        l->name = arena_strndup(r->a, p, (size_t)(equals - p));
        const char *end = value_end(equals + 2, s->line);
        l->value = arena_strndup(r->a, equals + 2, (size_t)(end - equals - 2));
        if (!name_ok(l->name, false)) {
            fail_msg("a label's name is bad: %s", s->line);
        }
        p = end + 1;
        p += *p == ',' && p[1] != '}' ? 1 : 0;
    }
    return p + 1;
}

static struct sample split_sample(struct reader *r, const char *line)
{
    size_t n_name = strcspn(line, "{ ");
    struct sample s = {.line = line, .name = arena_strndup(r->a, line, n_name)};
    const char *p = line + n_name;

    if (*p == '{') {
        p = split_labels(r, &s, p + 1);
    }
    if (*p != ' ' || !name_ok(s.name, true)) {
        fail_msg("not a sample: %s", line);
    }
    s.id = arena_strndup(r->a, line, (size_t)(p - line));
    s.value_text = arena_strdup(r->a, p + 1);
    s.value = number(s.value_text, line);
    const char *series = "{";
    for (size_t i = 0; i < s.n_labels; i++) {
        if (!str_eq(s.labels[i].name, "le")) {
            series =
                arena_printf(r->a, "%s%s=\"%s\",", series, s.labels[i].name, s.labels[i].value);
        }
    }
    s.series = arena_printf(r->a, "%s}", series);
    return s;
}

static const char *le_of(const struct sample *s)
{
    for (size_t i = 0; i < s->n_labels; i++) {
        if (str_eq(s->labels[i].name, "le")) {
            return s->labels[i].value;
        }
    }
    return NULL;
}

static int cmp_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *label_names(struct reader *r, const struct sample *s)
{
    const char *names[LABELS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < s->n_labels; i++) {
        if (!str_eq(s->labels[i].name, "le")) {
            names[n++] = s->labels[i].name;
        }
    }
    qsort(names, n, sizeof(names[0]), cmp_text);
    return str_join(r->a, names, n, ",");
}

static void begin_series(struct reader *r, const struct sample *s)
{
    if (r->family->n_series++ == 0) {
        r->family->labels = label_names(r, s);
    } else if (!str_eq(r->family->labels, label_names(r, s))) {
        fail_msg("another set of labels than the series before: %s", s->line);
    }
}

static void read_bucket(struct reader *r, const struct sample *s)
{
    const char *le = le_of(s);

    if (le == NULL) {
        fail_msg("a bucket without le: %s", s->line);
        return;
    }
    if (r->series == NULL) {
        begin_series(r, s);
        r->series = s->series;
        r->last_le = -(double)INFINITY;
        r->last_count = 0;
        r->has_inf = r->has_sum = false;
        str_buf_reset(&r->les);
    }
    double bound = number(le, s->line);
    if (!str_eq(r->series, s->series) || bound <= r->last_le || s->value < r->last_count ||
        r->has_sum) {
        fail_msg("buckets are not cumulative, not ascending, or mixed: %s", s->line);
    }
    r->last_le = bound;
    r->last_count = s->value;
    r->has_inf = str_eq(le, "+Inf");
    str_appendf(&r->les, "%s%s", r->les.len > 0 ? "," : "", le);
}

static void read_of_histogram(struct reader *r, const struct sample *s, const char *suffix)
{
    if (str_eq(suffix, "_bucket")) {
        read_bucket(r, s);
    } else if (str_eq(suffix, "_sum") && r->series != NULL && r->has_inf &&
               str_eq(r->series, s->series)) {
        r->has_sum = true;
    } else if (str_eq(suffix, "_count") && r->has_sum && str_eq(r->series, s->series)) {
        if (s->value != r->last_count) {
            fail_msg("the count is not that of +Inf: %s", s->line);
        }
        if (r->family->n_series == 1) {
            r->family->les = str_buf_to_arena(&r->les, r->a);
        }
        r->series = NULL;
        r->has_sum = false;
    } else {
        fail_msg("out of place in a histogram: %s", s->line);
    }
}

static void read_sample(struct reader *r, const char *line)
{
    const struct sample s = split_sample(r, line);

    if (r->family == NULL || !r->has_type || !str_has_prefix(s.name, r->family->name)) {
        fail_msg("a sample without HELP and TYPE before it: %s", line);
        return;
    }
    if (map_has(r->x->samples, s.id)) {
        fail_msg("there already: %s", line);
    }
    map_set(r->x->samples, s.id, arena_strdup(r->a, s.value_text));
    const char *suffix = s.name + strlen(r->family->name);
    if (str_eq(r->family->type, "histogram")) {
        read_of_histogram(r, &s, suffix);
        return;
    }
    bool total = r->open && str_eq(r->family->type, "counter");
    if (!str_eq(suffix, total ? "_total" : "")) {
        fail_msg("not a sample of %s: %s", r->family->name, line);
    }
    if (str_eq(r->family->type, "counter") && !(s.value >= 0)) {
        fail_msg("a counter below 0: %s", line);
    }
    begin_series(r, &s);
}

struct exposition *exposition_read(struct arena *a, const char *text, bool open_metrics)
{
    struct reader r = {.a = a, .open = open_metrics, .x = ARENA_NEW(a, struct exposition)};
    bool ended = false;

    r.x->families = map_new(NULL);
    r.x->samples = map_new(NULL);
    arena_defer(a, map_free_cb, r.x->families);
    arena_defer(a, map_free_cb, r.x->samples);
    for (const char *p = text; *p != '\0';) {
        const char *end = strchr(p, '\n');
        if (end == NULL || end == p || ended) {
            fail_msg("a line that is empty, does not end, or comes after the end: %.80s", p);
            return r.x;
        }
        const char *line = arena_strndup(a, p, (size_t)(end - p));
        if (str_has_prefix(line, "# HELP ")) {
            read_help(&r, line + strlen("# HELP "));
        } else if (str_has_prefix(line, "# TYPE ")) {
            read_type(&r, line + strlen("# TYPE "));
        } else if (open_metrics && str_eq(line, "# EOF")) {
            ended = true;
        } else {
            read_sample(&r, line);
        }
        p = end + 1;
    }
    end_histogram(&r);
    str_buf_done(&r.les);
    if (open_metrics && !ended) {
        fail_msg("the text does not end in # EOF");
    }
    return r.x;
}
