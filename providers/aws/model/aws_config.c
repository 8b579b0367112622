/* SPDX-License-Identifier: Apache-2.0 */
/* aws_config.c: see aws_config.h: from the lines of the file to what stands in it.
 *
 * Sections [ServiceOverride "label"] of one label are one override, later keys win; everything else
 * is [Global], [Trimtab] or unknown.
 * What follows from the values is aws_config_rules.c's. */
#include "providers/aws/model/aws_config.h"

#include "common/base/str.h"
#include "providers/aws/model/aws_config_keys.h"

#include <stdlib.h>

#define OVERRIDES_MAX ((size_t)1000)

static const struct aws_config empty = {
    .zone = "",
    .region = "",
    .vpc = "",
    .subnet_id = "",
    .route_table_id = "",
    .role_arn = "",
    .source_arn = "",
    .cluster_tag = "",
    .cluster_id = "",
    .elb_security_group = "",
    .probe_mode = "",
    .probe_path = "",
    .topology_pattern = "",
    .nlb_security_group_mode = "",
};

/* Entries of the file, by whose they are. */
struct reader {
    struct arena *a;
    struct err *err;
    struct gcfg_entry *global; /* and unknown sections */
    size_t n_global;
    struct gcfg_entry *mine; /* of the overrides */
    size_t n_mine;
    struct gcfg_unknown *unknown;
    size_t n_unknown;
};

static void sort_out(struct reader *r, const struct gcfg_entry *entries, size_t n)
{
    r->global = ARENA_ARRAY(r->a, struct gcfg_entry, n);
    r->mine = ARENA_ARRAY(r->a, struct gcfg_entry, n);
    for (size_t i = 0; i < n; i++) {
        if (gcfg_name_is(AWS_SECTION_OVERRIDE, entries[i].section)) {
            r->mine[r->n_mine++] = entries[i];
        } else {
            r->global[r->n_global++] = entries[i];
        }
    }
}

static void add_unknown(struct reader *r, const struct gcfg_unknown *more, size_t n)
{
    struct gcfg_unknown *all = ARENA_ARRAY(r->a, struct gcfg_unknown, r->n_unknown + n);
    for (size_t i = 0; i < r->n_unknown; i++) {
        all[i] = r->unknown[i];
    }
    for (size_t i = 0; i < n; i++) {
        all[r->n_unknown + i] = more[i];
    }
    r->unknown = all;
    r->n_unknown += n;
}

/* ---- [Global] -------------------------------------------------------------------------------- */

/* Where the key was set last: the value that counts. */
static const struct gcfg_entry *last_entry(const struct reader *r, const char *key)
{
    const struct gcfg_entry *last = NULL;
    for (size_t i = 0; i < r->n_global; i++) {
        const struct gcfg_entry *e = &r->global[i];
        if (e->key != NULL && gcfg_name_is(AWS_SECTION_GLOBAL, e->section) &&
            gcfg_name_is(key, e->key)) {
            last = e;
        }
    }
    return last;
}

static int read_global(struct reader *r, struct aws_config *ret)
{
    struct aws_global g = {.c = empty};
    struct gcfg_unknown *unknown = NULL;
    size_t n = 0;
    int rc = gcfg_decode_entries(r->a, r->global, r->n_global, aws_config_keys, &g, &unknown, &n,
                                 r->err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (g.probe_port < INT32_MIN || g.probe_port > INT32_MAX) {
        const struct gcfg_entry *e =
            last_entry(r, "ClusterServiceSharedLoadBalancerHealthProbePort");
        return err_set(r->err, ERR_INVALID,
                       "%d:%d: %s is not a number of 32 bits at section \"%s\", variable \"%s\"",
                       e->line, e->column, e->value, e->section, e->key);
    }
    g.c.probe_port = (int32_t)g.probe_port;
    add_unknown(r, unknown, n);
    *ret = g.c;
    return ERR_OK;
}

/* ---- overrides (1.3) ------------------------------------------------------------------------- */

static const char *label_of(const struct gcfg_entry *e)
{
    return str_nonnull(e->subsection);
}

/* All entries of the label of entry `first`, in file order, as if the section had no label. */
static int read_override(struct reader *r, size_t first, struct aws_override *ret)
{
    const char *label = label_of(&r->mine[first]);
    struct gcfg_entry *entries = ARENA_ARRAY(r->a, struct gcfg_entry, r->n_mine);
    size_t n = 0;
    for (size_t i = first; i < r->n_mine; i++) {
        if (str_eq(label_of(&r->mine[i]), label)) {
            entries[n] = r->mine[i];
            entries[n++].subsection = NULL;
        }
    }
    *ret = (struct aws_override){
        .label = label,
        .service = "",
        .region = "",
        .url = "",
        .signing_region = "",
        .signing_method = "",
        .signing_name = "",
        .line = r->mine[first].line,
    };
    struct gcfg_unknown *unknown = NULL;
    size_t n_unknown = 0;
    int rc =
        gcfg_decode_entries(r->a, entries, n, aws_override_keys, ret, &unknown, &n_unknown, r->err);
    if (rc == ERR_OK) {
        for (size_t i = 0; i < n_unknown; i++) {
            unknown[i].section = arena_printf(r->a, "%s \"%s\"", AWS_SECTION_OVERRIDE, label);
        }
        add_unknown(r, unknown, n_unknown);
    }
    return rc;
}

static bool is_seen(const struct aws_override *list, size_t n, const char *label)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i].label, label)) {
            return true;
        }
    }
    return false;
}

static int read_overrides(struct reader *r, struct aws_config *c)
{
    size_t cap = r->n_mine < OVERRIDES_MAX ? r->n_mine : OVERRIDES_MAX;
    struct aws_override *list = ARENA_ARRAY(r->a, struct aws_override, cap);
    size_t n = 0;
    for (size_t i = 0; i < r->n_mine; i++) {
        if (is_seen(list, n, label_of(&r->mine[i]))) {
            continue;
        }
        if (n == cap) {
            return err_set(r->err, ERR_INVALID, "line %d: more than %zu sections ServiceOverride",
                           r->mine[i].line, OVERRIDES_MAX);
        }
        int rc = read_override(r, i, &list[n]);
        if (rc != ERR_OK) {
            return rc;
        }
        n++;
    }
    c->overrides = list;
    c->n_overrides = n;
    return ERR_OK;
}

static int refuse(struct reader *r, const struct aws_override *o, const char *what)
{
    return err_set(r->err, ERR_INVALID, "line %d: ServiceOverride \"%.100s\": %s", o->line,
                   o->label, what);
}

/* In upstream's order; only service and region lose their blanks. */
static int check_override(struct reader *r, struct aws_override *o)
{
    const struct {
        const char **value;
        const char *key;
    } required[] = {
        {&o->service, "Service"},
        {&o->region, "Region"},
        {&o->url, "URL"},
        {&o->signing_region, "SigningRegion"},
    };
    for (size_t i = 0; i < ARRAY_LEN(required); i++) {
        const char *trimmed = str_trim_unicode(r->a, *required[i].value);
        if (*trimmed == '\0') {
            return refuse(r, o, arena_printf(r->a, "%s is missing", required[i].key));
        }
        if (i < 2) {
            *required[i].value = trimmed;
        }
    }
    return ERR_OK;
}

static int check_overrides(struct reader *r, const struct aws_config *c)
{
    struct aws_override *list = (struct aws_override *)c->overrides; /* still ours */
    for (size_t i = 0; i < c->n_overrides; i++) {
        int rc = check_override(r, &list[i]);
        if (rc != ERR_OK) {
            return rc;
        }
        for (size_t k = 0; k < i; k++) {
            if (str_eq(list[k].service, list[i].service) &&
                str_eq(list[k].region, list[i].region)) {
                return refuse(
                    r, &list[i],
                    arena_printf(r->a,
                                 "the service %.100s in %.100s has one already, \"%.100s\" "
                                 "in line %d",
                                 list[i].service, list[i].region, list[k].label, list[k].line));
            }
        }
    }
    return ERR_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int by_line(const void *a, const void *b)
{
    const struct gcfg_unknown *x = a;
    const struct gcfg_unknown *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

int aws_config_parse(struct arena *a, const char *text, size_t n, struct aws_config *ret,
                     struct gcfg_unknown **ret_unknown, size_t *ret_n_unknown, struct err *err)
{
    struct reader r = {.a = a, .err = err};
    struct gcfg_entry *entries = NULL;
    size_t n_entries = 0;
    struct aws_config c = empty;
    int rc = text != NULL ? gcfg_parse(a, text, n, &entries, &n_entries, err) : ERR_OK;
    if (rc == ERR_OK) {
        sort_out(&r, entries, n_entries);
        rc = read_global(&r, &c);
    }
    rc = rc == ERR_OK ? read_overrides(&r, &c) : rc;
    rc = rc == ERR_OK ? check_overrides(&r, &c) : rc;
    if (rc == ERR_OK) {
        if (r.n_unknown > 0) {
            qsort(r.unknown, r.n_unknown, sizeof *r.unknown, by_line);
        }
        *ret = c;
        *ret_unknown = r.unknown;
        *ret_n_unknown = r.n_unknown;
    }
    return rc;
}
