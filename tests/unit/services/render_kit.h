/* SPDX-License-Identifier: Apache-2.0 */
/* render_kit.h: one Service in a small cluster, varied by flags, for tests of the renderers.
 *
 * default/my-service has the cluster IP 10.11.97.177, port 80/TCP, the node port 30080, the
 * external IP 198.51.100.1 and the load balancer's address 203.0.113.1; its pods are 10.244.1.10:80
 * on this node (node-a, 192.168.0.1) and 10.244.2.10:80 elsewhere.  Pods of the node are
 * 10.244.1.0/24.  The IPv6 twin has fd00:172::b1, 2001:db8:e::1, 2001:db8:f::1, fd00:244:1::a,
 * fd00:244:2::a, 2001:db8::1, fd00:244:1::/64. */
#ifndef TRIMTAB_TESTS_UNIT_SERVICES_RENDER_KIT_H
#define TRIMTAB_TESTS_UNIT_SERVICES_RENDER_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "common/services/render/rules.h"

#define KIT_HASH   "FXIYY6OHUSNBITIX" /* default/my-service tcp */
#define KIT_SEP_1  "KUBE-SEP-BUXFFZOVWA2SBUMG"
#define KIT_SEP_2  "KUBE-SEP-SF74NXUASCKCUL32"
#define KIT_HEALTH 32000

enum kit_flag {
    KIT_SIX = 1 << 0,
    KIT_NO_ENDPOINTS = 1 << 1,
    KIT_NO_LOCAL = 1 << 2,  /* both pods are elsewhere */
    KIT_ETP_LOCAL = 1 << 3, /* with a health check node port */
    KIT_ITP_LOCAL = 1 << 4,
    KIT_RANGES = 1 << 5,     /* 192.0.2.0/24 */
    KIT_NODE_RANGE = 1 << 6, /* … and one that has the node */
    KIT_AFFINITY = 1 << 7,   /* 10800 s */
    KIT_MASQUERADE_ALL = 1 << 8,
    KIT_NO_DETECTOR = 1 << 9,
    KIT_BRIDGE = 1 << 10,
    KIT_PREFIX = 1 << 11,
    KIT_NFACCT = 1 << 12,
    KIT_LIBERAL = 1 << 13,
    KIT_NO_LOCALHOST = 1 << 14,
    KIT_SOME_ADDRESSES = 1 << 15,  /* node ports only on the node's address and loopback */
    KIT_OTHER_ADDRESSES = 1 << 16, /* node ports only on addresses that the node does not have */
    KIT_CLUSTER_IP_ONLY = 1 << 17,
    KIT_UDP = 1 << 18,
    KIT_SCTP = 1 << 19,
    KIT_VIP_ON_NODE = 1 << 20, /* a device of the node has the load balancer's address */
    KIT_SERVICE_CIDR = 1 << 21,
    KIT_MH = 1 << 22,
    KIT_NOT_RANDOM_FULLY = 1 << 23,
    KIT_1001_ENDPOINTS = 1 << 24, /* a second Service has 999 more */
    KIT_NOT_READY = 1 << 25,      /* no pod is ready, none terminates */
};

const struct ks_world *kit_world(struct arena *a, unsigned flags);
/* `services` Services like it, IPv4, named s-0 and so on, each with `endpoints` pods of
 * its own elsewhere. */
const struct ks_world *kit_many(struct arena *a, size_t services, size_t endpoints);
/* Writes out the short forms of expected rules:
 *     {TEXT}   -m comment --comment "TEXT"      [SET FLAGS]   -m set --match-set SET FLAGS
 *     $T       -m tcp -p tcp                    $S $L $X $F   the Service's chains KUBE-SVC-…, SVL,
 *              EXT, FW
 *     $1 $2    its pods' chains                 $N $M         the last comment of KUBE-SERVICES;
 *              the masquerading rules */
const char *kit_expand(struct arena *a, const char *text);
/* Fails unless the chain's rules are exactly these, in short form, one a line; NULL: the
 * chain must not exist. */
void kit_expect_chain(const struct ks_tables *t, const char *table, const char *chain,
                      const char *rules);
/* The chain's rules, one a line; NULL when it does not exist. */
const char *kit_rules(struct arena *a, const struct ks_tables *t, const char *table,
                      const char *chain);
/* Fails unless the chain has (or, with `want` false, has not) the rule, in short form. */
void kit_expect(const struct ks_tables *t, const char *table, const char *chain, const char *rule,
                bool want);

static inline int kit_arena_setup(void **state)
{
    *state = arena_new();
    return 0;
}
static inline int kit_arena_teardown(void **state)
{
    arena_free(*state);
    return 0;
}
#define kit_test(name) cmocka_unit_test_setup_teardown(name, kit_arena_setup, kit_arena_teardown)

#endif
