/* SPDX-License-Identifier: Apache-2.0 */
/* config_machine.h: does a configuration go with the machine that it is to run on?
 *
 * Called at a director's start, and by check-config where the machine is the one in question;
 * the caller reads links and addresses. Pure. */
#ifndef TRIMTAB_LOCAL_MODEL_CONFIG_MACHINE_H
#define TRIMTAB_LOCAL_MODEL_CONFIG_MACHINE_H

#include "providers/local/model/config.h"

struct local_machine_addr {
    const char *interface;
    struct ip_net net; /* host bits kept */
    bool ours;         /* a VIP that we hold ourselves: not looked at */
};
struct local_machine {
    const char *const *interfaces; /* names; loopback ones may be left out */
    size_t n_interfaces;
    const struct local_machine_addr *addrs;
    size_t n_addrs;
    bool has_served; /* an earlier run has left its table: Services count on this one */
};

/* Findings with the lines of pools, in their order.  Errors: an address of the machine would be
 * handed out.  Warnings: no host would ask for a pool's addresses by ARP; a glob that no interface
 * matches; where it has served, an address without a network, or with one in which the machine has
 * another address, as another program holds one for a while: it is to be left out
 * (local_config_keeps_out()). */
struct local_config_findings local_config_on_machine(struct arena *a,
                                                     const struct local_config *config,
                                                     const struct local_machine *m);
/* Such an address of the machine, which some pool has. */
bool local_config_keeps_out(const struct local_config *config, const struct local_machine *m,
                            const struct local_machine_addr *has);

#endif
