/* SPDX-License-Identifier: Apache-2.0 */
/* no_symbol.c: a module that the controller cannot use, because it misspells the name of its
 * descriptor.
 *
 * The other ways of being wrong are in broken.c. */
#include <stddef.h>
#include <trimtab/provider.h>

TT_EXPORT const struct tt_provider *misspelt_descriptor(void);
TT_EXPORT const struct tt_provider *misspelt_descriptor(void)
{
    return NULL;
}
