/* SPDX-License-Identifier: Apache-2.0 */
/* ip.c: reading and printing addresses and networks as Go does.
 *
 * Two readers: the strict one is Go's net (netip) of today, the sloppy one is what Kubernetes kept
 * from Go 1.16: leading zeros in IPv4 octets count as decimal, and in IPv6 groups any number of
 * leading zeros is fine.  An IPv4-mapped network with a mask of 96 or more becomes an IPv4 network,
 * a shorter one stays IPv6 (controller.md 9.2): whether to accept that is for the caller, who sees
 * `was_mapped`.  Pure. */
#include "common/base/ip.h"

#include <stdio.h>
#include <string.h>

#define NUMBER_CAP 0xFFFFFFu /* larger numbers are refused while they are read, as in Go */

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* One number in `base` at **s; false without digits or when it is too large. */
static bool read_number(const char **s, unsigned base, unsigned *ret)
{
    const char *start = *s;
    unsigned value = 0;
    for (; (unsigned)digit_value(**s) < base; (*s)++) {
        value = value * base + (unsigned)digit_value(**s);
        if (value >= NUMBER_CAP) {
            return false;
        }
    }
    *ret = value;
    return *s != start;
}

static bool read_ipv4(const char *s, bool sloppy, uint8_t out[4])
{
    for (int i = 0; i < 4; i++) {
        const char *start = s + (i > 0 ? 1 : 0);
        if (i > 0 && *s != '.') {
            return false;
        }
        s = start;
        unsigned value;
        if (!read_number(&s, 10, &value) || value > 255) {
            return false;
        }
        if (!sloppy && s - start > 1 && *start == '0') {
            return false;
        }
        out[i] = (uint8_t)value;
    }
    return *s == '\0';
}

/* One group between colons, or the IPv4 tail.  *at is the number of bytes filled; *ret_end says
 * that the text is used up. */
static bool read_group(const char **s, bool sloppy, int ellipsis, uint8_t out[16], int *at,
                       bool *ret_end)
{
    const char *start = *s;
    unsigned value;
    if (!read_number(s, 16, &value) || value > 0xFFFF || (!sloppy && *s - start > 4)) {
        return false;
    }
    if (**s == '.') {
        if ((ellipsis < 0 && *at != 12) || *at > 12 || !read_ipv4(start, sloppy, out + *at)) {
            return false;
        }
        *at += 4;
        *ret_end = true;
        return true;
    }
    out[*at] = (uint8_t)(value >> 8);
    out[*at + 1] = (uint8_t)value;
    *at += 2;
    *ret_end = **s == '\0';
    return *ret_end || (**s == ':' && (*s)[1] != '\0');
}

/* Moves what stands behind the ellipsis to the end. */
static bool expand_ellipsis(uint8_t out[16], int at, int ellipsis)
{
    if (at == 16) {
        return ellipsis < 0; /* "::" stands for at least one group */
    }
    if (ellipsis < 0) {
        return false;
    }
    int tail = at - ellipsis;
    memmove(out + 16 - tail, out + ellipsis, (size_t)tail);
    memset(out + ellipsis, 0, (size_t)(16 - at));
    return true;
}

static bool read_ipv6(const char *s, bool sloppy, uint8_t out[16])
{
    int ellipsis = -1;
    int at = 0;
    bool end = false;
    memset(out, 0, 16);
    if (s[0] == ':' && s[1] == ':') {
        ellipsis = 0;
        s += 2;
        end = *s == '\0';
    }
    while (!end && at < 16) {
        if (!read_group(&s, sloppy, ellipsis, out, &at, &end)) {
            return false;
        }
        if (!end) {
            s++; /* the colon */
        }
        if (!end && *s == ':') {
            if (ellipsis >= 0) {
                return false;
            }
            ellipsis = at;
            s++;
            end = *s == '\0';
        }
    }
    return end && expand_ellipsis(out, at, ellipsis);
}

/* All 16 bytes of an IPv6 text, or 4 of an IPv4 one: mapped addresses are not shortened here. */
static bool read_any(const char *s, bool sloppy, struct ip_addr *ret)
{
    struct ip_addr ip = {0};
    const char *mark = strpbrk(s, ".:");
    if (mark == NULL) {
        return false;
    }
    ip.len = *mark == '.' ? 4 : 16;
    if (!(ip.len == 4 ? read_ipv4(s, sloppy, ip.bytes) : read_ipv6(s, sloppy, ip.bytes))) {
        return false;
    }
    *ret = ip;
    return true;
}

static bool is_mapped(const struct ip_addr *ip)
{
    return ip->len == 16 && memcmp(ip->bytes, mapped_prefix, sizeof mapped_prefix) == 0;
}

static void shorten(struct ip_addr *ip)
{
    if (is_mapped(ip)) {
        memmove(ip->bytes, ip->bytes + 12, 4);
        memset(ip->bytes + 4, 0, 12);
        ip->len = 4;
    }
}

static bool parse_addr(const char *s, bool sloppy, struct ip_addr *ret)
{
    struct ip_addr ip;
    if (s == NULL || !read_any(s, sloppy, &ip)) {
        return false;
    }
    shorten(&ip);
    *ret = ip;
    return true;
}

bool ip_parse(const char *s, struct ip_addr *ret)
{
    return parse_addr(s, false, ret);
}

bool ip_parse_sloppy(const char *s, struct ip_addr *ret)
{
    return parse_addr(s, true, ret);
}

static void mask_addr(struct ip_addr *ip, unsigned prefix)
{
    for (unsigned i = 0; i < ip->len; i++) {
        unsigned bits = prefix > i * 8 ? prefix - i * 8 : 0;
        if (bits < 8) {
            ip->bytes[i] &= (uint8_t)(0xFF00u >> bits);
        }
    }
}

static bool parse_net(const char *s, bool sloppy, bool keep_host, struct ip_net *ret)
{
    char addr[IP_TEXT_MAX * 2];
    const char *slash = s != NULL ? strchr(s, '/') : NULL;
    if (slash == NULL || (size_t)(slash - s) >= sizeof addr) {
        return false;
    }
    memcpy(addr, s, (size_t)(slash - s));
    addr[slash - s] = '\0';
    struct ip_net net = {0};
    const char *mask = slash + 1;
    unsigned prefix;
    if (!read_any(addr, sloppy, &net.addr) || !read_number(&mask, 10, &prefix) || *mask != '\0' ||
        prefix > net.addr.len * 8u) {
        return false;
    }
    net.was_mapped = is_mapped(&net.addr);
    if (!keep_host) {
        mask_addr(&net.addr, prefix);
    }
    if (net.was_mapped && prefix >= 96) {
        shorten(&net.addr);
        prefix -= 96;
    }
    net.prefix = (uint8_t)prefix;
    *ret = net;
    return true;
}

bool ip_net_parse_sloppy(const char *s, struct ip_net *ret)
{
    return parse_net(s, true, false, ret);
}

bool ip_net_parse(const char *s, struct ip_net *ret)
{
    return parse_net(s, false, false, ret);
}

bool ip_net_parse_host(const char *s, struct ip_net *ret)
{
    return parse_net(s, true, true, ret);
}

/* The longest run of two or more zero groups, the first of equals (RFC 5952 4.2). */
static int longest_zeros(const struct ip_addr *ip, int *ret_groups)
{
    int best = -1;
    *ret_groups = 1;
    for (int i = 0; i < 8;) {
        int j = i;
        while (j < 8 && ip->bytes[2 * j] == 0 && ip->bytes[2 * j + 1] == 0) {
            j++;
        }
        if (j - i > *ret_groups) {
            best = i;
            *ret_groups = j - i;
        }
        i = j + 1;
    }
    return best;
}

/* Without printf: a provider may format a hundred addresses for each Service. */
static void format_v4(const uint8_t *b, char *out)
{
    for (int i = 0; i < 4; i++) {
        if (b[i] >= 100) {
            *out++ = (char)('0' + b[i] / 100);
        }
        if (b[i] >= 10) {
            *out++ = (char)('0' + b[i] / 10 % 10);
        }
        *out++ = (char)('0' + b[i] % 10);
        *out++ = i < 3 ? '.' : '\0';
    }
}

void ip_format(const struct ip_addr *ip, char out[IP_TEXT_MAX])
{
    const uint8_t *b = ip->bytes;
    if (ip->len == 4) {
        format_v4(b, out);
        return;
    }
    if (is_mapped(ip)) {
        memcpy(out, "::ffff:", 7);
        format_v4(b + 12, out + 7);
        return;
    }
    int run;
    int from = longest_zeros(ip, &run);
    size_t n = 0;
    for (int i = 0; i < 8; i++) {
        if (i == from) {
            n += (size_t)snprintf(out + n, IP_TEXT_MAX - n, "::");
            i += run - 1;
            continue;
        }
        const char *colon = i > 0 && i != from + run ? ":" : "";
        n += (size_t)snprintf(out + n, IP_TEXT_MAX - n, "%s%x", from < 0 && i > 0 ? ":" : colon,
                              (unsigned)b[2 * i] << 8 | b[2 * i + 1]);
    }
}

bool ip_eq(const struct ip_addr *a, const struct ip_addr *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

void ip_net_format(const struct ip_net *n, char out[IP_TEXT_MAX])
{
    char addr[IP_TEXT_MAX];
    ip_format(&n->addr, addr);
    (void)snprintf(out, IP_TEXT_MAX, "%.50s/%u", addr, n->prefix);
}

bool ip_net_contains(const struct ip_net *n, const struct ip_addr *ip)
{
    if (n->addr.len != ip->len) {
        return false;
    }
    struct ip_addr net = n->addr;
    struct ip_addr other = *ip;
    mask_addr(&net, n->prefix);
    mask_addr(&other, n->prefix);
    return ip_eq(&net, &other);
}

bool ip_net_eq(const struct ip_net *a, const struct ip_net *b)
{
    return a->prefix == b->prefix && ip_eq(&a->addr, &b->addr);
}

struct ip_addr ip_net_last(const struct ip_net *n)
{
    struct ip_addr last = n->addr;
    for (unsigned i = 0; i < last.len; i++) {
        unsigned bits = n->prefix > i * 8 ? n->prefix - i * 8u : 0;
        if (bits < 8) {
            last.bytes[i] |= (uint8_t)(0xFFu >> bits);
        }
    }
    return last;
}

bool ip_net_nth(const struct ip_net *n, uint64_t i, struct ip_addr *ret)
{
    unsigned host_bits = n->addr.len * 8u - n->prefix;
    if (host_bits < 64 && i >> host_bits != 0) {
        return false;
    }
    struct ip_addr ip = n->addr;
    mask_addr(&ip, n->prefix);
    for (int at = ip.len - 1; i != 0 && at >= 0; at--) {
        ip.bytes[at] |= (uint8_t)i; /* the host bits are zero, so nothing carries */
        i >>= 8;
    }
    *ret = ip;
    return true;
}
