/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c: see plugin.h. */
#include "controller/host/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/str.h"
#include "controller/base/guard.h"
#include "controller/host/plugin_file.h"
#include "controller/host/plugin_tables.h"

#define SYMBOL          "tt_provider_descriptor"
#define SIZE_MAX_SANE   65536
#define DEADLINE_MAX_MS ((int64_t)24 * 60 * 60 * 1000)

typedef const struct tt_provider *descriptor_fn(void);

/* The part of a descriptor that every version has. */
#define SIZE_MIN                                                                                   \
    (offsetof(struct tt_provider, ensure_load_balancer_deleted) + sizeof(void (*)(void)))

static bool is_name(const char *name)
{
    size_t n = strnlen(name, 64);

    return n >= 1 && n <= 63 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* ---- the descriptor -------------------------------------------------------------------------- */

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
    if (rc == ERR_OK && (d.call_deadline_ms < 0 || d.call_deadline_ms > DEADLINE_MAX_MS)) {
        rc = err_set(err, ERR_INVALID, "%s: its call_deadline_ms is not 0 to 24 hours", origin);
    }
    if (rc == ERR_OK) {
        rc = plugin_check_tables(&d, origin, err);
    }
    if (rc == ERR_OK) {
        *ret = d;
    }
    return rc;
}

/* ---- finding --------------------------------------------------------------------------------- */

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
    struct guard_mark loading = {.function = "dlopen"}; /* its constructors run */
    guard_enter(&loading);
    p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    guard_leave(&loading);
    if (p->handle == NULL) {
        return err_set(err, ERR_INVALID, "cannot load provider %s: %s", path, dlerror());
    }
    /* ISO C has no cast from an object pointer to a function pointer; POSIX promises
     * that this works. */
    descriptor_fn *fn = NULL;
    void *symbol = dlsym(p->handle, SYMBOL);
    memcpy(&fn, &symbol, sizeof(fn));
    if (fn == NULL) {
        return err_set(err, ERR_INVALID, "%s is no provider: it does not export " SYMBOL "()",
                       path);
    }
    struct guard_mark mark = {.function = SYMBOL};
    guard_enter(&mark);
    const struct tt_provider *found = fn();
    guard_leave(&mark);
    return plugin_check(found, name, path, &p->desc, err);
}

/* A plugin of the folder. */
static int open_file(const struct plugin_search *search, struct plugin *p, struct err *err)
{
    _cleanup_(xfreep) char *path = xasprintf("%s/%s.so", search->dir, search->name);
    struct stat st;

    if (stat(path, &st) != 0) {
        return not_found(search->name, path, search->builtins, search->n_builtins, err);
    }
    if (!search->allow_writable && plugin_file_check(path, geteuid(), err) != ERR_OK) {
        (void)err_prefix(err, "provider %s is not loaded", path);
        return err->code;
    }
    return load(search->name, path, p, err);
}

static int open_wanted(const struct plugin_search *search, struct plugin *p, struct err *err)
{
    for (size_t i = 0; i < search->n_builtins; i++) {
        if (strcmp(search->builtins[i]->name, search->name) == 0) {
            return plugin_check(search->builtins[i], search->name, "built-in provider", &p->desc,
                                err);
        }
    }
    return open_file(search, p, err);
}

int plugin_open(const struct plugin_search *search, struct plugin **ret, struct err *err)
{
    if (!is_name(search->name)) {
        return err_set(err, ERR_INVALID, "unknown cloud provider \"%s\"", search->name);
    }
    struct plugin *p = xcalloc(1, sizeof(*p));
    int rc = open_wanted(search, p, err);
    if (rc != ERR_OK) {
        plugin_free(p);
        return rc;
    }
    *ret = p;
    return ERR_OK;
}

bool plugin_is_loaded(const struct plugin *p)
{
    return p != NULL && p->handle != NULL;
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
