/* SPDX-License-Identifier: Apache-2.0 */
/* ip.h: IP addresses and CIDRs as Go's net package (and Kubernetes' "sloppy" parsers) read and
 * print them.
 *
 * Source: controller.md §2.6 and §9.2; Go net.ParseIP/ParseCIDR, k8s.io/utils/net ParseCIDRSloppy.
 * Sloppy means that leading zeros in IPv4 octets are read as decimal.  Pure. */
#ifndef TRIMTAB_BASE_IP_H
#define TRIMTAB_BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ip_addr {
    uint8_t bytes[16]; /* network order; IPv4 uses the first 4 */
    uint8_t len;       /* 4 or 16; an IPv4-mapped IPv6 address is kept as 4 (as Go prints it) */
};
struct ip_net {
    struct ip_addr addr; /* masked unless parsed with ip_net_parse_host() */
    uint8_t prefix;      /* 0…32 or 0…128 */
    bool was_mapped;     /* written as IPv4-mapped IPv6 */
};

#define IP_TEXT_MAX 64

bool ip_parse(const char *s, struct ip_addr *ret); /* strict: no leading zeros, no zone */
bool ip_parse_sloppy(const char *s, struct ip_addr *ret);
void ip_format(const struct ip_addr *ip, char out[IP_TEXT_MAX]); /* Go's form (RFC 5952) */
bool ip_eq(const struct ip_addr *a, const struct ip_addr *b);
/* "10.0.0.1/24" → 10.0.0.0/24.  Exactly as ParseCIDRSloppy: see §9.2 for mapped forms. */
bool ip_net_parse_sloppy(const char *s, struct ip_net *ret);
bool ip_net_parse(const char *s, struct ip_net *ret); /* strict net.ParseCIDR */
/* Keeps the host bits; false as above. */
bool ip_net_parse_host(const char *s, struct ip_net *ret);
void ip_net_format(const struct ip_net *n, char out[IP_TEXT_MAX]);
bool ip_net_contains(const struct ip_net *n, const struct ip_addr *ip);
bool ip_net_eq(const struct ip_net *a, const struct ip_net *b);
struct ip_addr ip_net_last(const struct ip_net *n); /* broadcast / highest address */
/* The i-th address of the network (0 = network address); false when past its end. */
bool ip_net_nth(const struct ip_net *n, uint64_t i, struct ip_addr *ret);

#endif
