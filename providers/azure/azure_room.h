/* SPDX-License-Identifier: Apache-2.0 */
/* azure_room.h: a new Service whose source ranges the security group has no room for gets nothing.
 *
 * Azure's limits of a group are fixed, and all rules go there in one document.  A Service that is
 * served is refused before anything of an edit is written; a new one comes to the group last, when
 * its public IP and its frontend stand.  One that names many ranges has the group read first
 * (docs/adr/0103). */
#ifndef TRIMTAB_AZURE_ROOM_H
#define TRIMTAB_AZURE_ROOM_H

#include "providers/azure/sync/azure_sync.h"

/* Asks for the group where it will be looked at. */
void azure_room_need(struct azure_sync *y);
/* Takes those out of the batch for which it has no room: ERR_QUOTA.  Pure. */
void azure_room_check(struct azure_sync *y);

#endif
