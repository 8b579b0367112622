/* SPDX-License-Identifier: Apache-2.0 */
/* frames.c: Ethernet frames of ARP and neighbour discovery (frames.h).  Pure. */
#include "providers/local/kernel/frames.h"

#include <arpa/inet.h>
#include <string.h>

enum { TYPE_ARP = 0x0806, TYPE_IPV6 = 0x86dd };
enum { ARP_REQUEST = 1, ARP_REPLY = 2, ARP_BYTES = 28 };
enum { ETHERNET_BYTES = 14, IPV6_BYTES = 40, ND_BYTES = 24, OPTION_BYTES = 8 };
enum { ND_SOLICIT = 135, ND_ADVERT = 136, OPTION_TARGET_MAC = 2, ADVERT_OVERRIDE = 0x20 };
enum { NEXT_ICMPV6 = 58, HOPS = 255 };

static void put(struct local_frame *f, const void *bytes, size_t n)
{
    memcpy(f->bytes + f->len, bytes, n);
    f->len += n;
}

static void put_u16(struct local_frame *f, unsigned value)
{
    uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};
    put(f, bytes, sizeof(bytes));
}

static void put_zeros(struct local_frame *f, size_t n)
{
    memset(f->bytes + f->len, 0, n);
    f->len += n;
}

/* --- ARP -------------------------------------------------------------------------------------- */

static void put_arp(struct local_frame *f, const uint8_t *mac, unsigned op)
{
    static const uint8_t all[LOCAL_MAC_LEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t sizes[2] = {LOCAL_MAC_LEN, 4};
    *f = (struct local_frame){0};
    put(f, all, sizeof(all));
    put(f, mac, LOCAL_MAC_LEN);
    put_u16(f, TYPE_ARP);
    put_u16(f, 1); /* Ethernet */
    put_u16(f, 0x0800);
    put(f, sizes, sizeof(sizes));
    put_u16(f, op);
    put(f, mac, LOCAL_MAC_LEN);
}

void local_frame_garp(const struct ip_addr *addr, const uint8_t mac[LOCAL_MAC_LEN], bool reply,
                      struct local_frame *ret)
{
    put_arp(ret, mac, reply ? ARP_REPLY : ARP_REQUEST);
    put(ret, addr->bytes, 4);
    if (reply) {
        put(ret, mac, LOCAL_MAC_LEN);
    } else {
        put_zeros(ret, LOCAL_MAC_LEN);
    }
    put(ret, addr->bytes, 4);
}

void local_frame_answer(const struct ip_addr *addr, const uint8_t mac[LOCAL_MAC_LEN],
                        const struct local_asker *to, struct local_frame *ret)
{
    put_arp(ret, mac, ARP_REPLY);
    memcpy(ret->bytes, to->mac, LOCAL_MAC_LEN);
    put(ret, addr->bytes, 4);
    put(ret, to->mac, LOCAL_MAC_LEN);
    put(ret, to->addr.bytes, 4);
}

/* --- neighbour discovery ---------------------------------------------------------------------- */

/* The checksum of ICMPv6, over a pseudo header, too. */
static uint16_t checksum(const uint8_t *ipv6, const uint8_t *icmp, size_t n)
{
    uint32_t sum = (uint32_t)n + NEXT_ICMPV6;
    for (size_t i = 8; i < IPV6_BYTES; i += 2) { /* both addresses */
        sum += (uint32_t)ipv6[i] << 8 | ipv6[i + 1];
    }
    for (size_t i = 0; i < n; i += 2) {
        sum += (uint32_t)icmp[i] << 8 | icmp[i + 1];
    }
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

struct nd {
    const uint8_t *mac; /* the sender's */
    uint8_t source[16], to[16];
    uint8_t type, flags;
    const struct ip_addr *target;
    bool with_mac;
};

static void put_nd(struct local_frame *f, const struct nd *d)
{
    static const uint8_t multicast[2] = {0x33, 0x33};
    size_t payload = ND_BYTES + (d->with_mac ? OPTION_BYTES : 0);
    const uint8_t head[4] = {0x60};
    const uint8_t next[2] = {NEXT_ICMPV6, HOPS};
    const uint8_t kind[4] = {d->type};
    const uint8_t flags[4] = {d->flags};
    const uint8_t option[2] = {OPTION_TARGET_MAC, 1};
    *f = (struct local_frame){0};
    put(f, multicast, sizeof(multicast));
    put(f, d->to + 12, 4);
    put(f, d->mac, LOCAL_MAC_LEN);
    put_u16(f, TYPE_IPV6);
    put(f, head, sizeof(head));
    put_u16(f, (unsigned)payload);
    put(f, next, sizeof(next));
    put(f, d->source, sizeof(d->source));
    put(f, d->to, sizeof(d->to));
    put(f, kind, sizeof(kind)); /* type, code, checksum */
    put(f, flags, sizeof(flags));
    put(f, d->target->bytes, 16);
    if (d->with_mac) {
        put(f, option, sizeof(option));
        put(f, d->mac, LOCAL_MAC_LEN);
    }
    uint16_t sum =
        htons(checksum(f->bytes + ETHERNET_BYTES, f->bytes + ETHERNET_BYTES + IPV6_BYTES, payload));
    memcpy(f->bytes + ETHERNET_BYTES + IPV6_BYTES + 2, &sum, sizeof(sum));
}

void local_frame_advert(const struct ip_addr *addr, const uint8_t mac[LOCAL_MAC_LEN],
                        struct local_frame *ret)
{
    struct nd d = {.mac = mac,
                   .to = {0xff, 0x02, [15] = 1}, /* all nodes */
                   .type = ND_ADVERT,
                   .flags = ADVERT_OVERRIDE,
                   .target = addr,
                   .with_mac = true};
    memcpy(d.source, addr->bytes, sizeof(d.source));
    put_nd(ret, &d);
}

void local_frame_probe(const struct ip_addr *addr, const uint8_t mac[LOCAL_MAC_LEN],
                       struct local_frame *ret)
{
    if (addr->len == 4) {
        put_arp(ret, mac, ARP_REQUEST);
        put_zeros(ret, 4 + LOCAL_MAC_LEN);
        put(ret, addr->bytes, 4);
        return;
    }
    struct nd d = {.mac = mac,
                   .to = {0xff, 0x02, [11] = 1, [12] = 0xff}, /* the solicited-node address */
                   .type = ND_SOLICIT,
                   .target = addr};
    memcpy(d.to + 13, addr->bytes + 13, 3);
    put_nd(ret, &d);
}

/* --- what comes ------------------------------------------------------------------------------- */

static unsigned u16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static bool is_arp(const uint8_t *bytes, size_t n)
{
    const uint8_t *body = bytes + ETHERNET_BYTES;

    return n >= ETHERNET_BYTES + ARP_BYTES && u16(bytes + 12) == TYPE_ARP && u16(body) == 1 &&
           u16(body + 2) == 0x0800 && body[4] == LOCAL_MAC_LEN && body[5] == 4;
}

bool local_frame_asks(const uint8_t *bytes, size_t n, struct ip_addr *ret,
                      struct local_asker *ret_by)
{
    const uint8_t *body = bytes + ETHERNET_BYTES;

    if (!is_arp(bytes, n) || u16(body + 6) != ARP_REQUEST || memcmp(body + 14, body + 24, 4) == 0) {
        return false;
    }
    *ret = (struct ip_addr){.len = 4};
    memcpy(ret->bytes, body + 24, 4);
    *ret_by = (struct local_asker){.addr.len = 4};
    memcpy(ret_by->addr.bytes, body + 14, 4);
    memcpy(ret_by->mac, body + 8, LOCAL_MAC_LEN);
    return true;
}

bool local_frame_claim(const uint8_t *bytes, size_t n, struct ip_addr *ret,
                       uint8_t ret_mac[LOCAL_MAC_LEN])
{
    const uint8_t *body = bytes + ETHERNET_BYTES;
    if (n < ETHERNET_BYTES + ARP_BYTES) {
        return false;
    }
    *ret = (struct ip_addr){0};
    if (u16(bytes + 12) == TYPE_ARP) {
        if (!is_arp(bytes, n)) {
            return false;
        }
        ret->len = 4;
        memcpy(ret->bytes, body + 14, 4);
        memcpy(ret_mac, body + 8, LOCAL_MAC_LEN);
        return memcmp(ret->bytes, (const uint8_t[4]){0}, 4) != 0; /* 0.0.0.0: a probe */
    }
    if (u16(bytes + 12) != TYPE_IPV6 || n < ETHERNET_BYTES + IPV6_BYTES + ND_BYTES ||
        body[6] != NEXT_ICMPV6 || body[7] != HOPS || body[IPV6_BYTES] != ND_ADVERT) {
        return false;
    }
    ret->len = 16;
    memcpy(ret->bytes, body + IPV6_BYTES + 8, 16);
    memcpy(ret_mac, bytes + LOCAL_MAC_LEN, LOCAL_MAC_LEN);
    return true;
}
