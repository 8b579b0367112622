/* SPDX-License-Identifier: Apache-2.0 */
/* arm_fixture.h: a simulated Azure in this process, with short names for its resources.
 *
 * On top of the simulator's fixture: a token of the managed identity, If-Match, ids from names, and
 * a log of all traffic (for arm_traffic_test.py) in the folder that TRIMTAB_ARM_LOGS names. */
#ifndef TRIMTAB_TESTS_SIM_ARM_FIXTURE_H
#define TRIMTAB_TESTS_SIM_ARM_FIXTURE_H

#include "tests/unit/sim/fixture.h"

#define SUB     "/subscriptions/00000000-0000-4000-8000-000000000001"
#define RG      SUB "/resourceGroups/rg"
#define NET     RG "/providers/Microsoft.Network"
#define CPU     RG "/providers/Microsoft.Compute"
#define NET_V   "?api-version=2025-05-01"
#define CPU_V   "?api-version=2025-04-01"
#define LB      NET "/loadBalancers/lb"
#define PIP     NET "/publicIPAddresses/pip"
#define NSG     NET "/networkSecurityGroups/nsg"
#define SUBNET  NET "/virtualNetworks/vnet/subnets/sn"
#define VMSS    CPU "/virtualMachineScaleSets/vmss"
#define POOL    LB "/backendAddressPools/k"
#define ID(id)  "{\"id\":\"" id "\"}"
#define NIC_CFG VMSS "/virtualMachines/0/networkInterfaces/nic/ipConfigurations/ipconfig1"

/* A Standard address and a Basic one; a body for a balancer with one public frontend,
 * rule and probe. */
#define PIP_BODY                                                                                   \
    "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"                    \
    "\"publicIPAllocationMethod\":\"Static\"}}"
#define FRONT(name, ip) "{\"name\":\"" name "\",\"properties\":{\"publicIPAddress\":" ID(ip) "}}"
#define RULE(name, front, port, more)                                                              \
    "{\"name\":\"" name "\",\"properties\":{\"protocol\":\"Tcp\",\"frontendPort\":" port           \
    ",\"backendPort\":" port ",\"enableFloatingIP\":true,\"frontendIPConfiguration\":" ID(         \
        LB "/frontendIPConfigurations/" front) ",\"backendAddressPool\":" ID(POOL) more "}}"
#define LB_OF(sku, fronts, pools, rules, probes)                                                   \
    "{\"location\":\"eastus\",\"sku\":{\"name\":\"" sku                                            \
    "\"},\"properties\":{\"frontendIPConfigurations\":[" fronts                                    \
    "],\"backendAddressPools\":[" pools "],\"loadBalancingRules\":[" rules "],\"probes\":[" probes \
    "]}}"
#define K "{\"name\":\"k\"}"
#define PROBE(name, port)                                                                          \
    "{\"name\":\"" name "\",\"properties\":{\"protocol\":\"Tcp\",\"port\":" port                   \
    ",\"intervalInSeconds\":5,\"probeThreshold\":2}}"
#define LB_BODY                                                                                    \
    LB_OF("Standard", FRONT("f", PIP), K, RULE("r", "f", "80", ",\"probe\":" ID(LB "/probes/p")),  \
          PROBE("p", "30080"))

/* A request that must change nothing. */
struct arm_row {
    const char *what;
    const char *method, *id, *body;
    int status;
    const char *code;
    const char *text; /* must be in the message or the details; NULL: not looked at */
};

/* `name`: of the log; NULL: none is written, because its answers will be nonsense.  `cfg` NULL:
 * three nodes.  The cloud is Azure. */
struct fixture *arm_start(const char *name, const struct sim_config *cfg);
/* Calls with the api-version of the path's namespace, unless the path has one. */
int arm_call(struct fixture *f, const char *method, const char *id, const char *body);
int arm_call_if(struct fixture *f, const char *method, const char *id, const char *body,
                const char *etag);
/* Asserts the status and the error code (NULL: none is checked). */
void arm_expect(struct fixture *f, const char *what, int got, int want, const char *code);
/* Makes each call and asserts status, code and text, and at the end that the whole state is
 * as it was. */
void arm_check_refusals(struct fixture *f, const struct arm_row *rows, size_t n);
/* Makes the call and asserts 200 or 201. */
void arm_must(struct fixture *f, const char *method, const char *id, const char *body);
const char *arm_code(struct fixture *f);
/* The etag of a document by GET. */
const char *arm_etag(struct fixture *f, const char *id);
/* A text below the last answer; list items by number: "properties.probes.0.name".
 * "" when absent. */
const char *arm_text(struct fixture *f, const char *path);
size_t arm_len(struct fixture *f, const char *path); /* of a list; 0 when absent */
/* PUT /sim/state with the present world and these settings as "sim.azure". */
void arm_settings(struct fixture *f, const char *json);
/* The address `pip` and the balancer `lb` of LB_BODY. */
void arm_make_balancer(struct fixture *f);
/* Puts instance 0 into the pool "k" of `lb`. */
void arm_join_pool(struct fixture *f);

#endif
