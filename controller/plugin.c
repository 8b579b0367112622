/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c: see plugin.h. */
#include "controller/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/arena.h"
#include "common/base/str.h"
#include "controller/kube/lease_keeper.h"
#include "controller/options.h"

#define SYMBOL        "tt_provider_descriptor"
#define SIZE_MAX_SANE 65536
#define TABLE_MAX     1000

typedef const struct tt_provider *descriptor_fn(void);

/* The part of a descriptor that every version has. */
#define SIZE_MIN                                                                                   \
    (offsetof(struct tt_provider, ensure_load_balancer_deleted) + sizeof(void (*)(void)))

static bool is_name(const char *name)
{
    size_t n = strnlen(name, 64);

    return n >= 1 && n <= 63 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* ---- the descriptor ------------------------------------------------------------------------------ */

static int check_texts(const struct tt_provider *d, const char *name, const char *origin,
                       struct err *err)
{
    if (d->name == NULL || !is_name(d->name)) {
        return err_set(err, ERR_INVALID, "%s: its name is not of [a-z0-9-], 1 to 63 characters",
                       origin);
    }
    if (strcmp(d->name, name) != 0) {
        return err_set(err, ERR_INVALID, "%s: it says that it is provider \"%s\", not \"%s\"",
                       origin, d->name, name);
    }
    if (d->version == NULL || strnlen(d->version, 64) > 63 ||
        !str_is_utf8(d->version, strlen(d->version))) {
        return err_set(err, ERR_INVALID, "%s: its version is absent, too long or not UTF-8",
                       origin);
    }
    return ERR_OK;
}

static int check_functions(const struct tt_provider *d, const char *origin, struct err *err)
{
    const struct {
        const char *name;
        bool there;
    } mandatory[] = {
        {"open", d->open != NULL},
        {"close", d->close != NULL},
        {"get_load_balancer", d->get_load_balancer != NULL},
        {"ensure_load_balancer", d->ensure_load_balancer != NULL},
        {"update_load_balancer", d->update_load_balancer != NULL},
        {"ensure_load_balancer_deleted", d->ensure_load_balancer_deleted != NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(mandatory); i++) {
        if (!mandatory[i].there) {
            return err_set(err, ERR_INVALID, "%s: the mandatory function %s is missing", origin,
                           mandatory[i].name);
        }
    }
    if ((d->batch_key == NULL) != (d->reconcile_batch == NULL)) {
        return err_set(err, ERR_INVALID,
                       "%s: batch_key and reconcile_batch belong together: %s is missing", origin,
                       d->batch_key == NULL ? "batch_key" : "reconcile_batch");
    }
    return ERR_OK;
}

static int check_table(const char *what, const void *table, uint32_t n, const char *origin,
                       struct err *err)
{
    if (n > TABLE_MAX || (n > 0 && table == NULL)) {
        return err_set(err, ERR_INVALID, "%s: its table of %s has %u entries%s", origin, what, n,
                       table == NULL ? " but is NULL" : ", too many");
    }
    return ERR_OK;
}

static int check_names(const char *what, const char *const *names, uint32_t n, const char *origin,
                       struct err *err)
{
    if (check_table(what, names, n, origin, err) != ERR_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (str_is_empty(names[i]) || strnlen(names[i], 318) > 317) {
            return err_set(err, ERR_INVALID, "%s: entry %u of its %s is empty or too long", origin,
                           i + 1, what);
        }
    }
    return ERR_OK;
}

/* Absent, or something that can be shown. */
static bool is_text(const char *text)
{
    size_t n = text == NULL ? 0 : strnlen(text, TT_TEXT_MAX + 1);

    return n <= TT_TEXT_MAX && (n == 0 || str_is_utf8(text, n));
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
        if (o->name == NULL || !is_name(o->name)) {
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
        if (str_is_empty(d->leases[i].ns) || str_is_empty(d->leases[i].name)) {
            return err_set(err, ERR_INVALID, "%s: lease %u lacks namespace or name", origin, i + 1);
        }
    }
    return ERR_OK;
}

static int check_tables(const struct tt_provider *d, const char *origin, struct err *err)
{
    int rc = check_options(d, origin, err);

    if (rc == ERR_OK) {
        rc = check_names("classes", d->classes, d->n_classes, origin, err);
    }
    if (rc == ERR_OK) {
        rc = check_names("finalizers", d->finalizers, d->n_finalizers, origin, err);
    }
    if (rc == ERR_OK) {
        rc = check_names("annotations of its own", d->own_annotations, d->n_own_annotations, origin,
                         err);
    }
    if (rc == ERR_OK) {
        rc = check_names("event reasons", d->event_reasons, d->n_event_reasons, origin, err);
    }
    if (rc == ERR_OK) {
        rc = check_table("metrics", d->metrics, d->n_metrics, origin, err);
    }
    for (uint32_t i = 0; rc == ERR_OK && i < d->n_metrics; i++) {
        const struct tt_metric *m = &d->metrics[i];
        if (str_is_empty(m->name) || m->type < TT_METRIC_COUNTER || m->type > TT_METRIC_HISTOGRAM ||
            m->n_labels > 16 || m->n_buckets > 100 || (m->n_labels > 0 && m->labels == NULL) ||
            (m->n_buckets > 0 && m->buckets == NULL)) {
            rc = err_set(err, ERR_INVALID, "%s: metric %u is not described well", origin, i + 1);
        }
    }
    if (rc == ERR_OK) {
        rc = check_table("kinds", d->kube_kinds, d->n_kube_kinds, origin, err);
    }
    for (uint32_t i = 0; rc == ERR_OK && i < d->n_kube_kinds; i++) {
        const struct tt_kube_kind *k = &d->kube_kinds[i];
        if (str_is_empty(k->api_version) || str_is_empty(k->resource) || str_is_empty(k->verbs)) {
            rc = err_set(err, ERR_INVALID, "%s: kind %u lacks apiVersion, resource or verbs",
                         origin, i + 1);
        }
    }
    return rc == ERR_OK ? check_leases(d, origin, err) : rc;
}

int plugin_check(const struct tt_provider *found, const char *name, const char *origin,
                 struct tt_provider *ret, struct err *err)
{
    struct tt_provider d = {0};

    if (found == NULL) {
        return err_set(err, ERR_INVALID, "%s: " SYMBOL "() returned nothing", origin);
    }
    if (found->abi_major != TRIMTAB_ABI_MAJOR) {
        return err_set(err, ERR_INVALID,
                       "%s: it was built for provider ABI %u.%u, this trimtab speaks %u.%u", origin,
                       found->abi_major, found->abi_minor, TRIMTAB_ABI_MAJOR, TRIMTAB_ABI_MINOR);
    }
    if (found->size < SIZE_MIN || found->size > SIZE_MAX_SANE) {
        return err_set(err, ERR_INVALID,
                       "%s: its descriptor has %zu bytes; %zu are needed for the mandatory members",
                       origin, found->size, SIZE_MIN);
    }
    memcpy(&d, found, found->size < sizeof(d) ? found->size : sizeof(d));
    d.size = sizeof(d);
    int rc = check_texts(&d, name, origin, err);
    if (rc == ERR_OK) {
        rc = check_functions(&d, origin, err);
    }
    if (rc == ERR_OK) {
        rc = check_tables(&d, origin, err);
    }
    if (rc == ERR_OK) {
        *ret = d;
    }
    return rc;
}

/* ---- finding ------------------------------------------------------------------------------------- */

const char *plugin_builtin_names(struct arena *a, const struct tt_provider *const *builtins,
                                 size_t n)
{
    _cleanup_(str_buf_done) struct str_buf names = STR_BUF_INIT;

    for (size_t i = 0; i < n; i++) {
        str_appendf(&names, "%s%s", i > 0 ? ", " : "", builtins[i]->name);
    }
    return n > 0 ? str_buf_to_arena(&names, a) : "none";
}

static int not_found(const char *name, const char *path, const struct tt_provider *const *builtins,
                     size_t n_builtins, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();

    const char **names = ARENA_ARRAY(a, const char *, n_builtins + 1);
    for (size_t i = 0; i < n_builtins; i++) {
        names[i] = builtins[i]->name;
    }
    return err_set(err, ERR_NOT_FOUND,
                   "unknown cloud provider \"%s\": built in are: %s; there is no %s%s", name,
                   plugin_builtin_names(a, builtins, n_builtins), path,
                   str_near_hint(a, name, names, n_builtins));
}

static int load(const char *name, const char *path, struct plugin *p, struct err *err)
{
    p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (p->handle == NULL) {
        return err_set(err, ERR_INVALID, "cannot load provider %s: %s", path, dlerror());
    }
    /* ISO C has no cast from an object pointer to a function pointer; POSIX promises that this works. */
    descriptor_fn *fn = NULL;
    void *symbol = dlsym(p->handle, SYMBOL);
    memcpy(&fn, &symbol, sizeof(fn));
    if (fn == NULL) {
        return err_set(err, ERR_INVALID, "%s is no provider: it does not export " SYMBOL "()",
                       path);
    }
    return plugin_check(fn(), name, path, &p->desc, err);
}

int plugin_open(const char *name, const char *dir, const struct tt_provider *const *builtins,
                size_t n_builtins, struct plugin **ret, struct err *err)
{
    struct stat st;

    if (!is_name(name)) {
        return err_set(err, ERR_INVALID, "unknown cloud provider \"%s\"", name);
    }
    struct plugin *p = xcalloc(1, sizeof(*p));
    for (size_t i = 0; i < n_builtins; i++) {
        if (strcmp(builtins[i]->name, name) == 0) {
            int rc = plugin_check(builtins[i], name, "built-in provider", &p->desc, err);
            if (rc != ERR_OK) {
                plugin_free(p);
                return rc;
            }
            *ret = p;
            return ERR_OK;
        }
    }
    _cleanup_(xfreep) char *path = xasprintf("%s/%s.so", dir, name);
    int rc = stat(path, &st) != 0 ? not_found(name, path, builtins, n_builtins, err)
                                  : load(name, path, p, err);
    if (rc != ERR_OK) {
        plugin_free(p);
        return rc;
    }
    *ret = p;
    return ERR_OK;
}

void plugin_free(struct plugin *p)
{
    if (p == NULL) {
        return;
    }
    if (p->handle != NULL) {
        dlclose(p->handle);
    }
    free(p);
}
