/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_plan.h: the parts of a plan of membership that joining, leaving and converting
 * share.
 *
 * Private to azure_members*.c.  Pure: everything was read before. */
#ifndef TRIMTAB_AZURE_MEMBERS_PLAN_H
#define TRIMTAB_AZURE_MEMBERS_PLAN_H

#include "providers/azure/members/azure_members_emit.h"
#include "providers/azure/members/azure_members_gather.h"

struct azure_members_planning {
    struct azure_sync *y;
    struct azure_members m;
    struct azure_member_writes writes;
};
/* One write for each machine of m.diff that has to be changed. */
void azure_members_plan_machines(struct azure_members_planning *p);
/* The model of a scale set joins and leaves the pools of `e`. */
void azure_members_plan_model(struct azure_members_planning *p, struct json_object *set,
                              const struct azure_machine_edit *e, const char *why);
/* Models that name any of the pools forget it. */
void azure_members_plan_forget(struct azure_members_planning *p, const char *why);

#endif
