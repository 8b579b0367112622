/* SPDX-License-Identifier: Apache-2.0 */
/* subnets.c: networks of this machine's interfaces, which may come after Services were synced: a
 * start before DHCP's answer, an interface that is configured by hand.
 *
 * Services whose address is announced nowhere are synced again then. */
#include "providers/local/provider.h"

#include <string.h>

#include "common/base/hash.h"

/* The same for the same networks in any order; lifetimes, and addresses without a
 * network, do not count. */
static uint64_t digest_of(const struct local_link_addr *addrs, size_t n)
{
    uint64_t sum = 1; /* 0: not known */

    for (size_t i = 0; i < n; i++) {
        const struct ip_net *net = &addrs[i].net;
        struct ip_addr first = net->addr;
        unsigned char bytes[sizeof addrs[i].link + 2];
        if (addrs[i].ours || net->prefix == 8 * net->addr.len) {
            continue;
        }
        memcpy(bytes, &addrs[i].link, sizeof addrs[i].link);
        bytes[sizeof addrs[i].link] = net->addr.len;
        bytes[sizeof addrs[i].link + 1] = net->prefix;
        for (unsigned bit = net->prefix; bit < 8u * first.len; bit++) {
            first.bytes[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
        }
        sum += hash_bytes(hash_bytes(1, bytes, sizeof bytes), first.bytes, first.len) | 1;
    }
    return sum;
}

static void ask_if_silent(void *arg, const struct local_vip *v)
{
    if (v->guarded && !v->announced && v->comment != NULL) {
        local_look_again(arg, v->comment, 0);
    }
}

void local_subnets_look(struct local_provider *p, const struct local_link_addr *addrs, size_t n)
{
    uint64_t now = digest_of(addrs, n);
    bool differ = p->subnets != 0 && p->subnets != now && !p->planning;

    p->subnets = now;
    if (differ) {
        local_mirror_any(p->mirror, ask_if_silent, p);
    }
}
