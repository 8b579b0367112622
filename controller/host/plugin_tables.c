/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_tables.c: see plugin_tables.h. */
#include "controller/host/plugin_tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "controller/kube/lease/lease_keeper.h"
#include "controller/metrics/metrics.h"
#include "controller/options/options.h"
#include "controller/rbac/rbac_rules.h"
#include "controller/rules/word_rules.h"

#define TABLE_MAX     1000
#define LABELS_MAX    16
#define BUCKETS_MAX   100
#define METRIC_PREFIX "trimtab_"

static int check_table(const char *what, const void *table, uint32_t n, const char *origin,
                       struct err *err)
{
    if (n > TABLE_MAX || (n > 0 && table == NULL)) {
        return err_set(err, ERR_INVALID, "%s: its table of %s has %u entries%s", origin, what, n,
                       table == NULL ? " but is NULL" : ", too many");
    }
    return ERR_OK;
}

/* A text as it can be shown in a sentence about it. */
static const char *shown(const char *text)
{
    return text != NULL && strnlen(text, 318) <= 317 && str_is_utf8(text, strlen(text))
               ? text
               : "(no text)";
}

/* A key, or the beginning of keys with a '*' behind it. */
static bool is_own_annotation(const char *s)
{
    char key[318];
    size_t n = s == NULL ? 0 : strnlen(s, sizeof(key));

    if (n < 1 || n >= sizeof(key) || s[n - 1] != '*') {
        return word_is_qualified(s);
    }
    (void)snprintf(key, sizeof(key), "%.*sx", (int)n - 1, s); /* '*' becomes a letter: it fits */
    return word_is_qualified(key);
}

struct names_rule {
    const char *what;
    bool (*fits)(const char *name);
    const char *want;
};

static int check_names(const struct names_rule *rule, const char *const *names, uint32_t n,
                       const char *origin, struct err *err)
{
    if (check_table(rule->what, names, n, origin, err) != ERR_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (str_is_empty(names[i]) || strnlen(names[i], 318) > 317) {
            return err_set(err, ERR_INVALID, "%s: entry %u of its %s is empty or too long", origin,
                           i + 1, rule->what);
        }
        if (!rule->fits(names[i])) {
            return err_set(err, ERR_INVALID, "%s: entry %u of its %s, \"%s\", is not %s", origin,
                           i + 1, rule->what, shown(names[i]), rule->want);
        }
    }
    return ERR_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Absent, or something that can be shown. */
static bool is_text(const char *text)
{
    size_t n = text == NULL ? 0 : strnlen(text, TT_TEXT_MAX + 1);

    return n <= TT_TEXT_MAX && (n == 0 || str_is_utf8(text, n));
}

static bool is_option_name(const char *name)
{
    size_t n = name == NULL ? 0 : strnlen(name, 64);

    return n >= 1 && n <= 63 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* By an option of the same provider before it, or by a flag that every trimtab has. */
static bool option_is_taken(const struct tt_provider *d, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++) {
        if (strcmp(d->options[k].name, d->options[i].name) == 0) {
            return true;
        }
    }
    for (size_t k = 0; k < options_table_n; k++) {
        if (strcmp(options_table[k].name, d->options[i].name) == 0) {
            return true;
        }
    }
    return false;
}

static int check_options(const struct tt_provider *d, const char *origin, struct err *err)
{
    if (check_table("options", d->options, d->n_options, origin, err) != ERR_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < d->n_options; i++) {
        const struct tt_option *o = &d->options[i];
        if (!is_option_name(o->name)) {
            return err_set(err, ERR_INVALID, "%s: the name of option %u is none", origin, i + 1);
        }
        if (o->type < TT_OPTION_STRING || o->type > TT_OPTION_LIST) {
            return err_set(err, ERR_INVALID, "%s: option %s has the unknown type %u", origin,
                           o->name, o->type);
        }
        if (!is_text(o->default_text) || !is_text(o->help)) {
            return err_set(err, ERR_INVALID, "%s: a text of option %s is too long or not UTF-8",
                           origin, o->name);
        }
        if (option_is_taken(d, i)) {
            return err_set(err, ERR_INVALID,
                           "%s: option %s is there twice, or a flag of trimtab's own", origin,
                           o->name);
        }
    }
    return ERR_OK;
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* Ends that a histogram's name gets, and the end that OpenMetrics takes off a counter's: what a
 * metric makes of its name. */
static const char *const histogram_ends[] = {"", "_bucket", "_count", "_sum"};

static size_t base_len(const struct tt_metric *m)
{
    size_t n = strlen(m->name);

    return m->type == TT_METRIC_COUNTER && str_has_suffix(m->name, "_total") ? n - 6 : n;
}

/* Is `name` (n bytes) one of the names under which `m` is printed? */
static bool claims(const struct tt_metric *m, const char *name, size_t n)
{
    size_t own = strlen(m->name);
    size_t n_ends = m->type == TT_METRIC_HISTOGRAM ? ARRAY_LEN(histogram_ends) : 1;

    if (n == base_len(m) && strncmp(name, m->name, n) == 0) {
        return true;
    }
    if (n < own || strncmp(name, m->name, own) != 0) {
        return false;
    }
    for (size_t i = 0; i < n_ends; i++) {
        if (n - own == strlen(histogram_ends[i]) &&
            strncmp(name + own, histogram_ends[i], n - own) == 0) {
            return true;
        }
    }
    return false;
}

/* Every name under which a metric is printed begins with its base, so that most pairs differ
 * at a look. */
static bool claims_one_of(const struct tt_metric *m, const struct tt_metric *other)
{
    size_t n_ends = other->type == TT_METRIC_HISTOGRAM ? ARRAY_LEN(histogram_ends) : 1;
    size_t base = base_len(m) < base_len(other) ? base_len(m) : base_len(other);
    char name[256];

    if (strncmp(m->name, other->name, base) != 0) {
        return false;
    }
    for (size_t i = 0; i < n_ends; i++) {
        int n = snprintf(name, sizeof(name), "%s%s", other->name, histogram_ends[i]);
        if (claims(m, name, (size_t)n)) {
            return true;
        }
    }
    return claims(m, other->name, base_len(other));
}

static const char *metric_is_taken(const struct tt_provider *d, uint32_t i)
{
    const struct tt_metric *m = &d->metrics[i];

    for (size_t k = 0; k < metrics_own_n; k++) {
        if (claims_one_of(m, &metrics_own[k])) {
            return metrics_own[k].name;
        }
    }
    for (size_t k = 0; k < metrics_process_n; k++) {
        if (claims_one_of(m, &metrics_process[k])) {
            return metrics_process[k].name;
        }
    }
    for (uint32_t k = 0; k < i; k++) {
        if (claims_one_of(m, &d->metrics[k])) {
            return d->metrics[k].name;
        }
    }
    return NULL;
}

static int check_labels(const struct tt_metric *m, const char *origin, struct err *err)
{
    for (uint32_t i = 0; i < m->n_labels; i++) {
        bool le = m->type == TT_METRIC_HISTOGRAM && str_eq(m->labels[i], "le");
        if (le || !word_is_label(m->labels[i])) {
            return err_set(err, ERR_INVALID,
                           "%s: label %u of metric %s, \"%s\", is not [a-zA-Z_][a-zA-Z0-9_]*, "
                           "begins with __, or is a histogram's le",
                           origin, i + 1, m->name, shown(m->labels[i]));
        }
        for (uint32_t k = 0; k < i; k++) {
            if (str_eq(m->labels[k], m->labels[i])) {
                return err_set(err, ERR_INVALID, "%s: metric %s has the label %s twice", origin,
                               m->name, m->labels[i]);
            }
        }
    }
    return ERR_OK;
}

static int check_buckets(const struct tt_metric *m, const char *origin, struct err *err)
{
    if (m->n_buckets > 0 && m->type != TT_METRIC_HISTOGRAM) {
        return err_set(err, ERR_INVALID, "%s: metric %s has buckets, but is not a histogram",
                       origin, m->name);
    }
    for (uint32_t i = 0; i < m->n_buckets; i++) {
        if (!isfinite(m->buckets[i]) || (i > 0 && m->buckets[i] <= m->buckets[i - 1])) {
            return err_set(err, ERR_INVALID,
                           "%s: bucket %u of metric %s is not a finite number above the one before",
                           origin, i + 1, m->name);
        }
    }
    return ERR_OK;
}

static int check_metric(const struct tt_provider *d, uint32_t i, const char *origin,
                        struct err *err)
{
    const struct tt_metric *m = &d->metrics[i];

    if (str_is_empty(m->name) || m->type < TT_METRIC_COUNTER || m->type > TT_METRIC_HISTOGRAM ||
        m->n_labels > LABELS_MAX || m->n_buckets > BUCKETS_MAX ||
        (m->n_labels > 0 && m->labels == NULL) || (m->n_buckets > 0 && m->buckets == NULL)) {
        return err_set(err, ERR_INVALID, "%s: metric %u is not described well", origin, i + 1);
    }
    if (!word_is_metric(m->name)) {
        return err_set(err, ERR_INVALID,
                       "%s: the name of metric %u, \"%s\", is not [a-zA-Z_:][a-zA-Z0-9_:]*, 1 to "
                       "200 characters",
                       origin, i + 1, shown(m->name));
    }
    if (!is_text(m->help)) {
        return err_set(err, ERR_INVALID, "%s: the help of metric %s is too long or not UTF-8",
                       origin, m->name);
    }
    if (str_has_prefix(m->name, METRIC_PREFIX)) {
        return err_set(err, ERR_INVALID,
                       "%s: metric %s: names that begin with " METRIC_PREFIX " are trimtab's own",
                       origin, m->name);
    }
    const char *taken = metric_is_taken(d, i);
    if (taken != NULL) {
        return err_set(err, ERR_INVALID, "%s: metric %s: the name is taken by %s", origin, m->name,
                       taken);
    }
    int rc = check_labels(m, origin, err);
    return rc == ERR_OK ? check_buckets(m, origin, err) : rc;
}

static int check_metrics(const struct tt_provider *d, const char *origin, struct err *err)
{
    int rc = check_table("metrics", d->metrics, d->n_metrics, origin, err);

    for (uint32_t i = 0; rc == ERR_OK && i < d->n_metrics; i++) {
        rc = check_metric(d, i, origin, err);
    }
    return rc;
}

/* ---- Kubernetes ------------------------------------------------------------------------------ */

static int check_kind(const struct tt_kube_kind *k, uint32_t n, const char *origin, struct err *err)
{
    struct err why = ERR_INIT;
    unsigned verbs = 0;

    if (str_is_empty(k->api_version) || str_is_empty(k->resource) || str_is_empty(k->verbs)) {
        return err_set(err, ERR_INVALID, "%s: kind %u lacks apiVersion, resource or verbs", origin,
                       n);
    }
    if (!word_is_api_version(k->api_version) || !word_is_resource(k->resource)) {
        return err_set(err, ERR_INVALID,
                       "%s: kind %u, \"%s\" of \"%s\", is not a resource and its "
                       "apiVersion",
                       origin, n, shown(k->resource), shown(k->api_version));
    }
    if ((k->ns != NULL && !word_is_dns_label(k->ns)) ||
        (k->name != NULL && !word_is_dns_subdomain(k->name))) {
        return err_set(err, ERR_INVALID,
                       "%s: namespace or name of kind %u (%s) is none: use NULL for all", origin, n,
                       k->resource);
    }
    if (!is_text(k->verbs) || rbac_read_verbs(k->verbs, &verbs, &why) != ERR_OK) {
        return err_set(err, ERR_INVALID, "%s: the verbs of kind %u (%s): %s", origin, n,
                       k->resource, str_or(why.message, "too long or not UTF-8"));
    }
    return ERR_OK;
}

static int check_kinds(const struct tt_provider *d, const char *origin, struct err *err)
{
    int rc = check_table("kinds", d->kube_kinds, d->n_kube_kinds, origin, err);

    for (uint32_t i = 0; rc == ERR_OK && i < d->n_kube_kinds; i++) {
        rc = check_kind(&d->kube_kinds[i], i + 1, origin, err);
    }
    return rc;
}

static int check_leases(const struct tt_provider *d, const char *origin, struct err *err)
{
    if (check_table("leases", d->leases, d->n_leases, origin, err) != ERR_OK) {
        return err->code;
    }
    if (d->n_leases > LEASE_KEEPER_LOCKS_MAX) {
        return err_set(err, ERR_INVALID, "%s: it wants %u leases, at most %d can be held", origin,
                       d->n_leases, LEASE_KEEPER_LOCKS_MAX);
    }
    for (uint32_t i = 0; i < d->n_leases; i++) {
        const struct tt_lease *l = &d->leases[i];
        if (str_is_empty(l->ns) || str_is_empty(l->name)) {
            return err_set(err, ERR_INVALID, "%s: lease %u lacks namespace or name", origin, i + 1);
        }
        if (!word_is_dns_label(l->ns) || !word_is_dns_subdomain(l->name)) {
            return err_set(err, ERR_INVALID, "%s: lease %u, %s/%s, has a name that none can have",
                           origin, i + 1, shown(l->ns), shown(l->name));
        }
    }
    return ERR_OK;
}

static int check_component(const struct tt_provider *d, const char *origin, struct err *err)
{
    if (d->event_component == NULL || word_is_qualified(d->event_component)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "%s: its event component, \"%s\", is not a name like example-controller", origin,
                   shown(d->event_component));
}

/* ---- all of them ----------------------------------------------------------------------------- */

int plugin_check_tables(const struct tt_provider *d, const char *origin, struct err *err)
{
    static const char *const qualified = "a name like example.com/name";
    const struct {
        struct names_rule rule;
        const char *const *names;
        uint32_t n;
    } lists[] = {
        {{"classes", word_is_qualified, qualified}, d->classes, d->n_classes},
        {{"finalizers", word_is_qualified, qualified}, d->finalizers, d->n_finalizers},
        {{"annotations of its own", is_own_annotation, qualified},
         d->own_annotations,
         d->n_own_annotations},
        {{"annotations that ask for something", is_own_annotation, qualified},
         d->wish_annotations,
         d->n_wish_annotations},
        {{"event reasons", word_is_reason, "a word like AddressAssigned"},
         d->event_reasons,
         d->n_event_reasons},
    };
    int rc = check_options(d, origin, err);

    for (size_t i = 0; rc == ERR_OK && i < ARRAY_LEN(lists); i++) {
        rc = check_names(&lists[i].rule, lists[i].names, lists[i].n, origin, err);
    }
    if (rc == ERR_OK) {
        rc = check_component(d, origin, err);
    }
    if (rc == ERR_OK) {
        rc = check_metrics(d, origin, err);
    }
    if (rc == ERR_OK) {
        rc = check_kinds(d, origin, err);
    }
    return rc == ERR_OK ? check_leases(d, origin, err) : rc;
}
