/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_tables.h: checks the tables of a descriptor: options, metrics, kinds, leases, names.
 *
 * Everything that other programs read later (Prometheus, the API server, RBAC) must be a word that
 * they accept: one metric with a blank in its name would make the whole page of metrics unreadable.
 * Part of plugin.h.  Pure. */
#ifndef TRIMTAB_CONTROLLER_PLUGIN_TABLES_H
#define TRIMTAB_CONTROLLER_PLUGIN_TABLES_H

#include <trimtab/provider.h>

#include "common/base/attr.h"
#include "common/base/err.h"

/* ERR_INVALID with a sentence that begins with `origin` and names the entry. */
int plugin_check_tables(const struct tt_provider *d, const char *origin,
                        struct err *err) _warn_unused_;

#endif
