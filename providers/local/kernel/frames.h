/* SPDX-License-Identifier: Apache-2.0 */
/* frames.h: Ethernet frames of ARP (RFC 826, 5227) and neighbour discovery (RFC 4861): laid
 * out and read.  Pure. */
#ifndef TRIMTAB_LOCAL_KERNEL_FRAMES_H
#define TRIMTAB_LOCAL_KERNEL_FRAMES_H

#include "common/base/ip.h"

#define LOCAL_FRAME_MAX 86
#define LOCAL_MAC_LEN   6

struct local_frame {
    uint8_t bytes[LOCAL_FRAME_MAX];
    size_t len;
};

/* Gratuitous ARP: "addr is at mac", to all, as a request or as a reply; some routers heed
 * only one of them. */
void local_frame_garp(const struct ip_addr *addr, const uint8_t mac[LOCAL_MAC_LEN], bool reply,
                      struct local_frame *ret);
/* The same in IPv6: an unsolicited neighbour advertisement with override. */
void local_frame_advert(const struct ip_addr *addr, const uint8_t mac[LOCAL_MAC_LEN],
                        struct local_frame *ret);
/* Asks who has the address, without saying that we want it: an ARP probe, or a solicitation as for
 * duplicate address detection. */
void local_frame_probe(const struct ip_addr *addr, const uint8_t mac[LOCAL_MAC_LEN],
                       struct local_frame *ret);
/* A host that asks where an address is. */
struct local_asker {
    struct ip_addr addr; /* 0.0.0.0: a probe */
    uint8_t mac[LOCAL_MAC_LEN];
};
/* The address that a received ARP request asks for; false for other frames, malformed ones,
 * and announcements. */
bool local_frame_asks(const uint8_t *bytes, size_t n, struct ip_addr *ret,
                      struct local_asker *ret_by);
/* The ARP reply to that host alone. */
void local_frame_answer(const struct ip_addr *addr, const uint8_t mac[LOCAL_MAC_LEN],
                        const struct local_asker *to, struct local_frame *ret);
/* The address that the sender of a received frame says it has, and its MAC; false for other frames
 * and malformed ones. */
bool local_frame_claim(const uint8_t *bytes, size_t n, struct ip_addr *ret,
                       uint8_t ret_mac[LOCAL_MAC_LEN]);

#endif
