/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.c: see metrics_text.h.
 *
 * What costs is text, so nothing is formatted twice: a series carries its labels as text, and the
 * bounds of a histogram are written once per family.  Knows both formats and their few differences:
 * OpenMetrics names a counter's family without "_total", calls a counter whose name has no such end
 * "unknown", writes whole numbers as "1.0", and ends with "# EOF". */
#include "controller/metrics/metrics_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 17

const char *metrics_content_type(enum metrics_format format)
{
    return format == METRICS_OPEN ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- what the client wants ------------------------------------------------------------------- */

struct wish {
    const char *type;
    const char *version; /* NULL: not said */
    double q;
};

static struct wish read_wish(struct arena *a, const char *item)
{
    size_t n = 0;
    char **parts = str_split(a, item, ';', &n);
    struct wish w = {.type = str_lower(a, str_trim(a, parts[0])), .q = 1};

    for (size_t i = 1; i < n; i++) {
        const char *part = str_trim(a, parts[i]);
        if (strncasecmp(part, "q=", 2) == 0) {
            char *end;
            double q = strtod(part + 2, &end);
            w.q = end != part + 2 && q >= 0 && q <= 1 ? q : 0;
        } else if (strncasecmp(part, "version=", 8) == 0) {
            w.version = part + 8;
        }
    }
    return w;
}

enum metrics_format metrics_negotiate(const char *accept)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    double open = 0;
    double text = 0;
    size_t n = 0;
    char **items = str_split(a, str_nonnull(accept), ',', &n);

    for (size_t i = 0; i < n; i++) {
        const struct wish w = read_wish(a, items[i]);
        double *best = NULL;
        if (str_eq(w.type, "application/openmetrics-text") &&
            (w.version == NULL || str_eq(w.version, "1.0.0"))) {
            best = &open;
        } else if (str_eq(w.type, "text/plain") || str_eq(w.type, "text/*") ||
                   str_eq(w.type, "*/*")) {
            best = &text;
        }
        if (best != NULL && w.q > *best) {
            *best = w.q;
        }
    }
    return open > 0 && open >= text ? METRICS_OPEN : METRICS_TEXT;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void append_u64(struct str_buf *b, uint64_t v)
{
    char text[24];
    size_t at = sizeof(text);

    do {
        text[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    str_append_n(b, text + at, sizeof(text) - at);
}

/* Any whole number of up to 15 digits is the shortest text of itself. */
#define WHOLE_MAX 1e15

static size_t digits_of_whole(uint64_t v, char digits[DIGITS_MAX + 1], int *ret_exponent)
{
    char text[DIGITS_MAX + 1];
    size_t at = sizeof(text);

    for (; v > 0; v /= 10) {
        text[--at] = (char)('0' + v % 10);
    }
    size_t n = sizeof(text) - at;
    *ret_exponent = (int)n - 1;
    memcpy(digits, text + at, n);
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    digits[n] = '\0';
    return n;
}

/* The shortest digits that read back as `v` (> 0), and the exponent of the first of them. */
static size_t shortest(double v, char digits[DIGITS_MAX + 1], int *ret_exponent)
{
    char text[40];

    if (v < WHOLE_MAX && v == (double)(uint64_t)v) {
        return digits_of_whole((uint64_t)v, digits, ret_exponent);
    }
    for (int n = 15; n <= DIGITS_MAX; n++) {
        (void)snprintf(text, sizeof(text), "%.*e", n - 1, v);
        if (n == DIGITS_MAX || strtod(text, NULL) == v) {
            break;
        }
    }
    size_t n = 0;
    const char *p = text;
    for (; *p != 'e' && *p != '\0'; p++) {
        if (isdigit((unsigned char)*p)) {
            digits[n++] = *p;
        }
    }
    *ret_exponent = (int)strtol(p + 1, NULL, 10);
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    digits[n] = '\0';
    return n;
}

static void append_scientific(struct str_buf *b, const char *digits, size_t n, int exponent)
{
    str_append_c(b, digits[0]);
    if (n > 1) {
        str_append_c(b, '.');
        str_append_n(b, digits + 1, n - 1);
    }
    str_append(b, exponent < 0 ? "e-" : "e+");
    if (abs(exponent) < 10) {
        str_append_c(b, '0');
    }
    append_u64(b, (uint64_t)abs(exponent));
}

static void append_plain(struct str_buf *b, const char *digits, size_t n, int exponent)
{
    if (exponent < 0) {
        str_append(b, "0.");
        for (int i = -1; i > exponent; i--) {
            str_append_c(b, '0');
        }
        str_append_n(b, digits, n);
        return;
    }
    for (size_t i = 0; i < n || i <= (size_t)exponent; i++) {
        if (i == (size_t)exponent + 1) {
            str_append_c(b, '.');
        }
        str_append_c(b, i < n ? digits[i] : '0');
    }
}

void metrics_append_number(struct str_buf *b, double v)
{
    char digits[DIGITS_MAX + 1];
    int exponent = 0;

    if (isnan(v)) {
        str_append(b, "NaN");
    } else if (isinf(v)) {
        str_append(b, v > 0 ? "+Inf" : "-Inf");
    } else if (v >= 0 && v < 1e6 && v == (double)(uint64_t)v) {
        append_u64(b, (uint64_t)v); /* nearly all of them */
    } else {
        if (v < 0) {
            str_append_c(b, '-');
        }
        size_t n = shortest(fabs(v), digits, &exponent);
        if (exponent < -4 || exponent >= 6) {
            append_scientific(b, digits, n, exponent);
        } else {
            append_plain(b, digits, n, exponent);
        }
    }
}

/* OpenMetrics wants to see that it is a float. */
static void append_float(struct str_buf *b, enum metrics_format format, double v)
{
    size_t at = b->len;

    metrics_append_number(b, v);
    if (format == METRICS_OPEN && strpbrk(b->data + at, ".eIN") == NULL) {
        str_append(b, ".0");
    }
}

/* ---- families -------------------------------------------------------------------------------- */

/* One family being printed. */
struct printer {
    struct str_buf *out;
    struct arena *a;
    enum metrics_format format;
    const struct tt_metric *def;
    size_t name_len;  /* of the name that heads the family */
    const char **les; /* histograms: `le="0.5"} `, n_buckets + 1 of them */
};

static void append_help(struct str_buf *b, enum metrics_format format, const char *help)
{
    for (const char *p = str_nonnull(help); *p != '\0'; p++) {
        if (*p == '\n') {
            str_append(b, "\\n");
        } else if (*p == '\\') {
            str_append(b, "\\\\");
        } else if (*p == '"' && format == METRICS_OPEN) {
            str_append(b, "\\\"");
        } else {
            str_append_c(b, *p);
        }
    }
}

static const char *type_word(const struct printer *p)
{
    if (p->def->type == TT_METRIC_GAUGE) {
        return "gauge";
    }
    if (p->def->type == TT_METRIC_HISTOGRAM) {
        return "histogram";
    }
    return p->format == METRICS_OPEN && p->def->name[p->name_len] == '\0' ? "unknown" : "counter";
}

static void print_head(struct printer *p)
{
    const char *name = p->def->name;
    bool cut = p->format == METRICS_OPEN && p->def->type == TT_METRIC_COUNTER &&
               str_has_suffix(name, "_total");

    p->name_len = strlen(name) - (cut ? strlen("_total") : 0);
    str_append(p->out, "# HELP ");
    str_append_n(p->out, name, p->name_len);
    str_append_c(p->out, ' ');
    append_help(p->out, p->format, p->def->help);
    str_append(p->out, "\n# TYPE ");
    str_append_n(p->out, name, p->name_len);
    str_appendf(p->out, " %s\n", type_word(p));
}

static void print_bounds(struct printer *p)
{
    const struct tt_metric *def = p->def;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    p->les = ARENA_ARRAY(p->a, const char *, def->n_buckets + 1);
    for (uint32_t i = 0; i <= def->n_buckets; i++) {
        str_buf_reset(&b);
        str_append(&b, "le=\"");
        append_float(&b, p->format, i < def->n_buckets ? def->buckets[i] : (double)INFINITY);
        str_append(&b, "\"} ");
        p->les[i] = str_buf_to_arena(&b, p->a);
    }
}

/* name_suffix{labels} with its blank. */
static void print_name(const struct printer *p, const char *suffix, const char *labels)
{
    str_append(p->out, p->def->name);
    str_append(p->out, suffix);
    if (labels[0] != '\0') {
        str_append_c(p->out, '{');
        str_append(p->out, labels);
        str_append_c(p->out, '}');
    }
    str_append_c(p->out, ' ');
}

static void print_histogram(const struct printer *p, const struct metrics_series *s)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i <= p->def->n_buckets; i++) {
        sum += s->buckets[i];
        str_append(p->out, p->def->name);
        str_append(p->out, "_bucket{");
        str_append(p->out, s->labels);
        str_append(p->out, s->labels[0] != '\0' ? "," : "");
        str_append(p->out, p->les[i]);
        append_u64(p->out, sum);
        str_append_c(p->out, '\n');
    }
    print_name(p, "_sum", s->labels);
    append_float(p->out, p->format, s->value);
    str_append_c(p->out, '\n');
    print_name(p, "_count", s->labels);
    append_u64(p->out, s->count);
    str_append_c(p->out, '\n');
}

static void print_family(struct printer *p, const struct metrics_family *f)
{
    print_head(p);
    if (p->def->type == TT_METRIC_HISTOGRAM) {
        print_bounds(p);
    }
    for (size_t i = 0; i < f->n; i++) {
        if (p->def->type == TT_METRIC_HISTOGRAM) {
            print_histogram(p, &f->series[i]);
            continue;
        }
        print_name(p, "", f->series[i].labels);
        append_float(p->out, p->format, f->series[i].value);
        str_append_c(p->out, '\n');
    }
}

void metrics_text(struct metrics *m, struct arena *a, enum metrics_format format,
                  const char *prefix, struct str_buf *ret)
{
    size_t n = 0;
    const char *const *names = metrics_collect(m, a, &n);

    for (size_t i = 0; i < n; i++) {
        if (!str_has_prefix(names[i], prefix)) {
            continue;
        }
        const struct metrics_family f = metrics_copy(m, a, names[i]);
        struct printer p = {.out = ret, .a = a, .format = format, .def = f.def};
        if (f.n > 0) {
            print_family(&p, &f);
        }
    }
    if (format == METRICS_OPEN) {
        str_append(ret, "# EOF\n");
    }
}
