/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h: finding a provider: a built-in one by name, else NAME.so in the plugin folder.
 *
 * A plugin is foreign code: its descriptor is checked before any of it is used (ABI, size, names,
 * mandatory members, tables), with a message for each error.  The descriptor is copied into a full
 * one, so that the rest of the controller never asks how new a plugin is: members that it does not
 * have are NULL.  Main thread only. */
#ifndef TRIMTAB_CONTROLLER_PLUGIN_H
#define TRIMTAB_CONTROLLER_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/err.h"

struct plugin {
    struct tt_provider desc; /* complete; what it points to lives as long as the plugin is loaded */
    void *handle;            /* of dlopen(); NULL for a built-in one */
};

/* "azure, gce", or "none": for people. */
const char *plugin_builtin_names(struct arena *a, const struct tt_provider *const *builtins,
                                 size_t n);
/* Which provider is wanted, and where it may be. */
struct plugin_search {
    const char *name;    /* --cloud-provider */
    const char *dir;     /* --provider-plugin-dir */
    bool allow_writable; /* --allow-writable-plugins: files that others may write are loaded, too */
    const struct tt_provider *const *builtins;
    size_t n_builtins;
};
/* ERR_INVALID (a name that is none, a descriptor that may not be), ERR_FORBIDDEN (others may write
 * to the file: see plugin_file.h), ERR_NOT_FOUND (no such provider; the text names those that are
 * built in and the file that was looked for). */
int plugin_open(const struct plugin_search *search, struct plugin **ret,
                struct err *err) _warn_unused_;
/* From a file; false for a built-in one, and for NULL. */
bool plugin_is_loaded(const struct plugin *p);
/* After the provider was closed; NULL is fine. */
void plugin_free(struct plugin *p);

/* Checks a descriptor (as a plugin returned it) and copies it.  `origin` is for messages. */
int plugin_check(const struct tt_provider *found, const char *name, const char *origin,
                 struct tt_provider *ret, struct err *err) _warn_unused_;

#endif
