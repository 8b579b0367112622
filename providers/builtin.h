/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.h: the providers that are linked into the program.
 *
 * A vendor's shared object exports one symbol, tt_provider_descriptor(); several built-in ones
 * cannot share it, so each has a function of its own, and this table, made from the build option
 * `providers`, is all that the controller sees. The only header of providers/ that the
 * controller may include. */
#ifndef TRIMTAB_PROVIDERS_BUILTIN_H
#define TRIMTAB_PROVIDERS_BUILTIN_H

#include <stddef.h>
#include <trimtab/provider.h>

/* Descriptors, sorted by name; *ret_n of them.  Static. */
const struct tt_provider *const *trimtab_builtin_providers(size_t *ret_n);

#endif
