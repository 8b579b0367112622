/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_find.h: finding a public IP by name or by address, and what counts as a public address.
 *
 * Works on what was listed; a miss is a miss (the caller lists again before it believes one, 8.2).
 * Source: docs/spec/azure.md 8.2; 17 row 11: addresses are compared as addresses, not
 * as text. Pure. */
#ifndef TRIMTAB_AZURE_PIP_FIND_H
#define TRIMTAB_AZURE_PIP_FIND_H

#include "common/base/arena.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stddef.h>

/* Public IPs of all resource groups that were listed: ARM documents, their group by their ID. */
struct azure_pips {
    struct json_object *const *items;
    size_t n;
    /* of the same ones (azure_pip_index.h); NULL if there is none */
    const struct azure_pip_index *index;
};
enum azure_candidate {
    AZURE_IP_OK = 0,
    AZURE_IP_NON_PUBLIC,
    AZURE_IP_INVALID,
};
/* May this text be the address of a public IP? */
enum azure_candidate azure_public_ip_candidate(const char *ip);
/* The same address, in whatever spelling; "" equals nothing. */
bool azure_address_eq(const char *x, const char *y);
/* Both NULL when there is none.  `group` and `name` without case. */
struct json_object *azure_pip_by_name(struct arena *a, const struct azure_pips *pips,
                                      const char *group, const char *name);
struct json_object *azure_pip_by_ip(struct arena *a, const struct azure_pips *pips,
                                    const char *group, const char *ip);
struct json_object *azure_pip_by_id(const struct azure_pips *pips, const char *id);
/* Those that can be a Service's: by its name in their tag, by these addresses (entries may be NULL)
 * or names.  With an index, all that are are among them; without one, all there are. */
struct azure_pips azure_pips_about(struct arena *a, const struct azure_pips *pips, const char *key,
                                   const char *const *ips, const char *const *names, size_t n);
const char *azure_pip_address(struct json_object *pip); /* "" when it has none yet */

#endif
