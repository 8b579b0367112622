/* SPDX-License-Identifier: Apache-2.0 */
/* port_lists.h: the different lists of ports that the pods of a Service have.  Private to this
 * room.
 *
 * Pods of one Service nearly always have the same ports, and they differ only where a target port
 * is a name.  So each list is made once, and a pod costs a look-up per named port. */
#ifndef TRIMTAB_SERVICES_SLICES_PORT_LISTS_H
#define TRIMTAB_SERVICES_SLICES_PORT_LISTS_H

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/services/decode/objects.h"

struct port_list {
    const struct ks_slice_port *ports; /* sorted (slice_ports_sorted()) */
    size_t n;
    const char *key; /* slice_ports_key() */
};
struct port_lists {
    struct arena *a;
    const struct ks_service *service;
    struct map *seen; /* numbers of named ports → struct port_list */
    struct str_buf numbers;
};

struct port_lists port_lists_open(struct arena *a, const struct ks_service *service);
/* The pod's list; lives in the arena. */
const struct port_list *port_lists_of(struct port_lists *l, const struct ks_pod *pod);
void port_lists_close(struct port_lists *l);

#endif
