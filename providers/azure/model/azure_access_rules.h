/* SPDX-License-Identifier: Apache-2.0 */
/* azure_access_rules.h: who may reach a Service: what its spec and annotations say about sources
 * and ports.
 *
 * The only reader of source ranges, allowed ranges, service tags, the deny-all switch and
 * additional addresses.  azure_access_read() never fails: a Service that is deleted must be cleaned
 * up whatever it says.  What is wrong are findings; azure_access_check() turns the fatal ones into
 * an error, for a Service that is wanted.  A blank annotation is an absent one (17 row 7).
 * Source: docs/spec/azure.md 9.2, 9.3; vectors 13.8 G-40 to G-51.  Pure. */
#ifndef TRIMTAB_AZURE_ACCESS_RULES_H
#define TRIMTAB_AZURE_ACCESS_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "providers/azure/model/azure_prefix.h"
#include "providers/azure/model/azure_service.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Protocols of security rules; SCTP has none of its own. */
enum azure_protocol {
    AZURE_TCP = 0,
    AZURE_UDP,
    AZURE_ANY,
};
#define AZURE_PROTOCOLS 3
/* "Tcp", "Udp", "*". */
const char *azure_protocol_text(enum azure_protocol p);

struct azure_texts {
    const char *const *items;
    size_t n;
};
struct azure_ports {
    const int32_t *items; /* in order of spec.ports */
    size_t n;
};

struct azure_access {
    const struct azure_service *service;
    struct azure_prefixes source_ranges;   /* spec.loadBalancerSourceRanges, valid ones */
    struct azure_prefixes allowed_ranges;  /* both annotations, valid ones */
    struct azure_texts bad_source_ranges;  /* trimmed */
    struct azure_texts bad_allowed_ranges; /* trimmed */
    struct azure_texts tags;               /* service tags, trimmed, as many as were written */
    struct azure_texts additional;         /* additional public addresses, canonical */
    /* those that it does not get: azure_additional_rules.h; else none */
    struct azure_texts withheld;
    const char *bad_additional;                /* the first that is no address, or NULL */
    const char *bad_protocol;                  /* the first that no rule can be made for, or NULL */
    struct azure_ports ports[AZURE_PROTOCOLS]; /* node ports when floating IP is off */
    bool allow_internet;                       /* IsAllowFromInternet */
    bool deny_all;                             /* everything but the ranges is to be denied */
    const struct azure_finding *findings;
    size_t n_findings;
};
/* Everything lives in the arena; `s` is borrowed for as long. */
const struct azure_access *azure_access_read(struct arena *a, const struct azure_service *s);
/* ERR_INVALID when ranges of both kinds are given, or a port has a protocol that no
 * rule can name. */
int azure_access_check_sources(const struct azure_access *x, struct err *err) _warn_unused_;
/* The same, and that the additional addresses are addresses: what upstream refuses. */
int azure_access_check_rules(const struct azure_access *x, struct err *err) _warn_unused_;
/* Every fatal finding: the same, and service tags that Azure would refuse, with the
 * whole security group. */
int azure_access_check(const struct azure_access *x, struct err *err) _warn_unused_;
/* Ranges of both kinds, aggregated. */
struct azure_prefixes azure_access_prefixes(struct arena *a, const struct azure_access *x);
/* The ports of a protocol as a set of decimal texts. */
struct str_set azure_access_ports(struct arena *a, const struct azure_access *x,
                                  enum azure_protocol p);

#endif
