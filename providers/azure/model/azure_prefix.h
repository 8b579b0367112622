/* SPDX-License-Identifier: Apache-2.0 */
/* azure_prefix.h: addresses and networks in security rules, read and printed as Go's net/netip
 * does.
 *
 * Names of security rules are hashes of such texts, so their form matters to the byte.  Unlike
 * common/base/ip.h, an IPv4-mapped IPv6 address stays IPv6, a network must have zero host bits, and
 * "/08" is refused.  Zones are refused, too: no security rule can hold one.
 * Source: docs/spec/azure.md 9.3, 9.7; vectors 13.8 G-50 to G-54.  Pure. */
#ifndef TRIMTAB_AZURE_PREFIX_H
#define TRIMTAB_AZURE_PREFIX_H

#include "common/base/arena.h"
#include "common/base/ip.h"
#include "providers/azure/model/azure_names.h"

#include <stdbool.h>
#include <stddef.h>

struct azure_prefixes {
    const struct ip_net *items; /* NULL when n is 0 */
    size_t n;
};

bool azure_addr_parse(const char *s, struct ip_addr *ret);
/* The one spelling of an address, in the arena; NULL if it is not one. */
const char *azure_addr_canonical(struct arena *a, const char *s);
enum azure_family azure_addr_family(const struct ip_addr *ip);
/* The family of a text that azure_addr_canonical() made. */
enum azure_family azure_addr_text_family(const char *canonical);

bool azure_prefix_parse(const char *s, struct ip_net *ret);
const char *azure_prefix_text(struct arena *a, const struct ip_net *net);
/* Some network holds every address of its family. */
bool azure_prefixes_allow_all(const struct azure_prefixes *p);
/* Fewest networks that hold the same addresses: IPv4 first, each family sorted by address. */
struct azure_prefixes azure_prefixes_aggregate(struct arena *a, const struct azure_prefixes *p);

#endif
