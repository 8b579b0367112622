/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_kit.h: the whole provider local over the kernel in memory, for one Service d/a at 10.0.0.0,
 * and a host that writes down what it is told.
 *
 * As in the vectors of the specification: pool p is 10.0.0.0/29 with mode ipvs-nat, the director is
 * the targets' gateway, TCP 80 has node port 30080, nodes n1 10.1.0.1 and n2 10.1.0.2.  The
 * director has the networks 10.0.0.0/24 and 10.1.0.0/24.  Texts are JSON with single quotes. */
#ifndef TRIMTAB_TESTS_UNIT_LOCAL_IPVS_KIT_H
#define TRIMTAB_TESTS_UNIT_LOCAL_IPVS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after these four */
#include <cmocka.h>

#include "common/base/str.h"
#include "providers/local/provider.h"
#include "tests/support/clock_mover.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/objects.h"
#include "tests/support/unit.h"

#define TCP80 "{'port': 80, 'protocol': 'TCP', 'targetPort': 8080, 'nodePort': 30080}"
#define NODE(name, address)                                                                        \
    "{'metadata': {'name': '" name                                                                 \
    "'}, 'status': {'addresses': [{'type': 'InternalIP', 'address': '" address "'}]}}"
#define NAT_LINES                                                                                  \
    "-A -t 10.0.0.0:80 -s rr\n-a -t 10.0.0.0:80 -r 10.1.0.1:30080 -m -w 1\n"                       \
    "-a -t 10.0.0.0:80 -r 10.1.0.2:30080 -m -w 1\n"

struct ipvs_scene {
    const char *name;
    const char *pool;     /* keys of the pool beside name and addresses; NULL: "mode: ipvs-nat" */
    const char *director; /* keys of the director; NULL: "directorIsGateway: true" */
    const char *wishes;   /* annotations; NULL: none */
    const char *ports;    /* NULL: TCP80 */
    const char *spec;     /* begins with a comma; NULL: nothing */
    const char *nodes;    /* NULL: n1, n2 */
    const char *slices;   /* NULL: not known */
    const char *want;     /* as `ipvsadm -Sn` prints */
    const char *says;   /* part of what owners are told, or of the failure; NULL: nothing of note */
    const char *silent; /* what owners are not told; NULL: no matter */
    unsigned mtu;       /* of eth0; 0: not known */
    int32_t code;       /* of the sync */
};
struct tt_result {
    int32_t code;
    int64_t again_ms;
    char message[1024];
};
struct ipvs_kit {
    struct arena *a;
    struct clock *clock;
    struct clock_mover *mover;
    struct rng *rng;
    struct local_kernel *kernel;
    struct local_kernel_ops ops;
    void (*free_kernel)(struct local_kernel *k);
    struct tt_host host;
    struct tt_call call;
    void *p;
    const struct tt_service *service;
    bool allow_foreign;
    bool directed; /* there is a director, but it makes no turns */
    uint32_t drift;
    struct tt_result result;
    struct str_buf told;  /* findings and events */
    struct str_buf asked; /* Services to be synced again: "d/a " now, "d/a+3000ms " later */
    struct str_buf order; /* operations of the last plan: "verb kind name; " */
    unsigned changes;     /* of the last plan */
};

void ipvs_kit_begin(struct ipvs_kit *k);
void ipvs_kit_end(struct ipvs_kit *k);
int32_t ipvs_kit_open(struct ipvs_kit *k, const struct ipvs_scene *s);
void ipvs_kit_close(struct ipvs_kit *k); /* the kernel stays */
/* One sync of the Service as the scene has it. */
int32_t ipvs_kit_sync(struct ipvs_kit *k, const struct ipvs_scene *s);
int32_t ipvs_kit_delete(struct ipvs_kit *k);
/* The kernel as `ipvsadm -Sn` prints it. */
const char *ipvs_kit_kernel(struct ipvs_kit *k);

#endif
