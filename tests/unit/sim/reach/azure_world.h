/* SPDX-License-Identifier: Apache-2.0 */
/* azure_world.h: a small Azure as text, edits of it, and its reachability as lines.
 *
 * The base world has two machines behind a Standard balancer with a public and a private frontend
 * for each family; all of it stands in azure_world.c.  Texts are JSON with single quotes.  A row's
 * edit is a merge patch (RFC 7396) of the documents, whose names are the short ones below. */
#ifndef TRIMTAB_TESTS_UNIT_SIM_REACH_AZURE_WORLD_H
#define TRIMTAB_TESTS_UNIT_SIM_REACH_AZURE_WORLD_H

#include "tests/unit/sim/reach/reach_test.h"

#define NET     "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network"
#define CPU     "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute"
#define LB      NET "/loadBalancers/lb"
#define VNET    NET "/virtualNetworks/vnet"
#define NSG     NET "/networkSecurityGroups/nsg"
#define REF(id) "{'id': '" id "'}"
#define IDS(id) "[" REF(id) "]"

/* Documents for edits: 'id': {'properties': {…}}. */
#define DOC(id, properties)  "'" id "': {'properties': {" properties "}}"
#define BALANCER(properties) DOC(LB, properties)
#define RULES(rules)         "'loadBalancingRules': [" rules "]"
#define GROUP(rules)         DOC(NSG, "'securityRules': [" rules "]")

/* A balancing rule of the pool "k"; `more` begins with a comma. */
#define RULE(front, protocol, port, backend, more)                                                 \
    "{'name': 'r-" front "-" protocol "-" port "', 'properties': {'protocol': '" protocol          \
    "', 'frontendPort': " port ", 'backendPort': " backend                                         \
    ", 'frontendIPConfiguration': " REF(LB "/frontendIPConfigurations/" front) more "}}"
#define POOL(pool)   ", 'backendAddressPool': " REF(LB "/backendAddressPools/" pool)
#define PROBE(probe) ", 'probe': " REF(LB "/probes/" probe)
#define FLOATING     ", 'enableFloatingIP': true"
/* The base world's rule: TCP 80 of the public frontend, by floating IP. */
#define USUAL RULE("f", "Tcp", "80", "80", FLOATING POOL("k") PROBE("p"))

/* A rule of a security group, from anywhere to port `ports`; `more` may say otherwise. */
#define ACCESS(access, priority, source, destination, port, more)                                  \
    "{'name': 'n-" priority "', 'properties': {'direction': 'Inbound', 'access': '" access         \
    "', 'priority': " priority ", 'protocol': '*', 'sourcePortRange': '*', "                       \
    "'sourceAddressPrefix': '" source "', 'destinationAddressPrefix': '" destination               \
    "', 'destinationPortRange': '" port "'" more "}}"
#define ALLOW(priority, source, destination, port)                                                 \
    ACCESS("Allow", priority, source, destination, port, "")
#define DENY(priority, source, destination, port)                                                  \
    ACCESS("Deny", priority, source, destination, port, "")

struct azure_row {
    const char *what;
    const char *edit; /* members of a merge patch of "azure"; "": none */
    const char *want; /* as azure_lines() has it */
};
/* Applies the edit of each row to the base world, and asserts the lines. */
void azure_check_rows(const struct azure_row *rows, size_t n);

/* A world with the base documents and the edit; a new reference. */
struct json_object *azure_world(const char *edit);
/* One line for each port, sorted:
 *
 *     203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:80 !node-2:80 (10.0.0.0/8)
 *     203.0.113.2 * internet listener missing
 *
 * "!" stands before targets that are not healthy, and "?" in the place of clients if
 * there are none. */
char *azure_lines(struct arena *a, struct json_object *world);

#endif
