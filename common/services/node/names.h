/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: names that kube-proxy gives to chains, sets and maps.
 *
 * base32 of a SHA-256, so that a name fits into the kernel's 28 characters.  The hash of a service
 * port is made once and continued for each of its endpoints.  Pure.
 * Source: kube-proxy 1.36, iptables/proxier.go, nftables/proxier.go. */
#ifndef TRIMTAB_SERVICES_NODE_NAMES_H
#define TRIMTAB_SERVICES_NODE_NAMES_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct ks_iptables_names {
    const char *display; /* "ns/name" or "ns/name:port" */
    const char *svc;     /* KUBE-SVC-… and so on; 16 characters behind the prefix */
    const char *svl;
    const char *fw;
    const char *ext;
};
struct ks_nftables_names {
    /* service-HASH-ns/name/proto/port and so on, at most 240 characters behind the prefix */
    const char *service;
    const char *local;
    const char *external;
    const char *firewall;
};

/* "ns/name", or "ns/name:port" unless `port` is "". */
const char *ks_display_name(struct arena *a, const char *ns, const char *name, const char *port);
/* `proto` in lower case.  All in the arena. */
struct ks_iptables_names ks_iptables_names(struct arena *a, const char *ns, const char *name,
                                           const char *port, const char *proto);
/* KUBE-SEP-…; `endpoint` is "ip:port" or "[ip]:port". */
const char *ks_iptables_sep(struct arena *a, const char *display, const char *proto,
                            const char *endpoint);
/* The same for many endpoints of one service port: the hash of display and protocol
 * is made once. */
struct ks_sep_names;
struct ks_sep_names *ks_sep_names_new(struct arena *a, const char *display, const char *proto);
const char *ks_sep_name(struct arena *a, struct ks_sep_names *names, const char *endpoint);
/* The 16 characters behind the prefix, of any display name; `endpoint` may be NULL.  Also for names
 * as releases up to 1.19 wrote them ("ns/name:" for an unnamed port), to recognise these. */
const char *ks_iptables_hash(struct arena *a, const char *display, const char *proto,
                             const char *endpoint);

struct ks_nftables_names ks_nftables_names(struct arena *a, const char *ns, const char *name,
                                           const char *port, const char *proto);
/* endpoint-… and affinity-…. */
const char *ks_nftables_endpoint(struct arena *a, const char *ns, const char *name,
                                 const char *port, const char *proto, const char *endpoint);
const char *ks_nftables_affinity(struct arena *a, const char *ns, const char *name,
                                 const char *port, const char *proto, const char *endpoint);

/* 1/n with ten decimals, as kube-proxy writes it; n from 1. */
const char *ks_probability(struct arena *a, size_t n);
/* A written probability as iptables-save prints it: 31 bits, eleven decimals.  NULL when it is no
 * number from 0 to 1. */
const char *ks_probability_saved(struct arena *a, const char *written);

#endif
