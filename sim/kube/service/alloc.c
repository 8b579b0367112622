/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c: the sets of alloc.h.
 *
 * Node ports are counted, not just marked, because one Service may use a port for two protocols. */
#include "sim/kube/service/alloc.h"

#include "common/base/ip.h"
#include "common/base/map.h"
#include "common/data/json.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define N_PORTS   (KUBE_NODE_PORT_MAX - KUBE_NODE_PORT_MIN + 1)
#define RANGE_V4  "10.0.0.0/16"
#define RANGE_V6  "fd00:1::/108"
#define TRIES_MAX 100000

struct kube_alloc {
    struct rng *rng;
    uint16_t ports[N_PORTS]; /* how many users */
    struct map *ips;         /* address text → the map itself */
};

struct kube_alloc *kube_alloc_new(struct rng *rng)
{
    struct kube_alloc *al = xcalloc(1, sizeof(*al));
    al->rng = rng;
    al->ips = map_new(NULL);
    return al;
}

void kube_alloc_free(struct kube_alloc *al)
{
    if (al) {
        map_free(al->ips);
        free(al);
    }
}

void kube_alloc_clear(struct kube_alloc *al)
{
    memset(al->ports, 0, sizeof(al->ports));
    map_clear(al->ips);
}

static void count_port(struct kube_alloc *al, int64_t port, int by)
{
    if (port >= KUBE_NODE_PORT_MIN && port <= KUBE_NODE_PORT_MAX) {
        uint16_t *n = &al->ports[port - KUBE_NODE_PORT_MIN];
        if (by > 0 || *n > 0) {
            *n = (uint16_t)(*n + by);
        }
    }
}

static void follow(struct kube_alloc *al, struct json_object *service, int by)
{
    struct json_object *spec = json_member(service, "spec");
    struct json_object *ports = json_member(spec, "ports");
    struct json_object *ips = json_member(spec, "clusterIPs");
    for (size_t i = 0; i < json_len(ports); i++) {
        count_port(al, json_int(json_object_array_get_idx(ports, i), "nodePort", 0), by);
    }
    count_port(al, json_int(spec, "healthCheckNodePort", 0), by);
    for (size_t i = 0; i < json_len(ips); i++) {
        const char *ip = kube_item(ips, i);
        if (by > 0) {
            map_set(al->ips, ip, al);
        } else {
            (void)map_remove(al->ips, ip);
        }
    }
}

void kube_alloc_follow(struct kube_alloc *al, struct json_object *was, struct json_object *now)
{
    if (was) {
        follow(al, was, -1);
    }
    if (now) {
        follow(al, now, 1);
    }
}

bool kube_alloc_port_is_free(const struct kube_alloc *al, int port)
{
    return al->ports[port - KUBE_NODE_PORT_MIN] == 0;
}

int kube_alloc_choose_port(struct kube_alloc *al)
{
    uint64_t start = rng_below(al->rng, N_PORTS);
    for (uint64_t i = 0; i < N_PORTS; i++) {
        int at = (int)((start + i) % N_PORTS);
        if (al->ports[at] == 0) {
            return KUBE_NODE_PORT_MIN + at;
        }
    }
    return 0;
}

bool kube_alloc_ip_is_free(const struct kube_alloc *al, const char *ip)
{
    return !map_has(al->ips, ip);
}

const char *kube_alloc_range(bool v6)
{
    return v6 ? RANGE_V6 : RANGE_V4;
}

bool kube_alloc_ip_in_range(const char *ip, bool v6)
{
    struct ip_net net;
    struct ip_addr addr;
    if (!ip_net_parse(kube_alloc_range(v6), &net) || !ip_parse(ip, &addr)) {
        return false;
    }
    /* Neither the address of the network nor, for IPv4, that of the broadcast. */
    struct ip_addr last = ip_net_last(&net);
    return ip_net_contains(&net, &addr) && !ip_eq(&addr, &net.addr) && (v6 || !ip_eq(&addr, &last));
}

char *kube_alloc_choose_ip(struct kube_alloc *al, struct arena *a, bool v6)
{
    struct ip_net net;
    if (!ip_net_parse(kube_alloc_range(v6), &net)) {
        return NULL;
    }
    uint64_t size = v6 ? 1u << 20 : 1u << 16;
    for (int i = 0; i < TRIES_MAX; i++) {
        struct ip_addr addr;
        char text[IP_TEXT_MAX];
        /* The first addresses are kept for well-known Services, the last one is broadcast. */
        if (!ip_net_nth(&net, 32 + rng_below(al->rng, size - 33), &addr)) {
            continue;
        }
        ip_format(&addr, text);
        if (kube_alloc_ip_is_free(al, text)) {
            return arena_strdup(a, text);
        }
    }
    return NULL;
}
