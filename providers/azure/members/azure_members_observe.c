/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_observe.c: what must be read so that members of pools can be edited; nothing, when
 * none has to be.
 *
 * In steps, because each step tells what the next one needs: balancers, then (only where interfaces
 * are members) whose interfaces they are, then scale sets and instances of what is to be edited,
 * then what a list did not have.
 * Source: docs/spec/azure.md 7, 12.6 (5), 17 row 10. */
#include "providers/azure/members/azure_members.h"
#include "providers/azure/members/azure_members_gather.h"
#include "providers/azure/members/azure_members_nic_plan.h"
#include "providers/azure/members/azure_members_vmss_plan.h"
#include "providers/azure/sync/azure_observe.h"

#include "common/base/str.h"

#define STEPS_MAX    5
#define MACHINES_MAX 20000

/* ---- what is needed -------------------------------------------------------------------------- */

static void need_nics(struct azure_sync *y, const struct azure_members *m)
{
    size_t n;
    const char **scopes = azure_members_nic_scopes(y, m, &n);
    for (size_t i = 0; i < n; i++) {
        azure_need(y, AZURE_NICS, scopes[i]);
    }
}

static void need_sets(struct azure_sync *y)
{
    azure_need(y, AZURE_VMSSS,
               azure_arm_collection(y->s->a, &y->p->arm, AZURE_VMSSS, y->p->config.resource_group));
}

/* IDs of nodes are kept in lower case; what is asked for is written as Azure documents it. */
static const char *as_documented(struct azure_sync *y, enum azure_kind k, const char *id)
{
    struct arena *a = y->s->a;
    const char *subscription = azure_id_part(a, id, "subscriptions");
    return azure_eq(subscription, y->p->config.subscription_id)
               ? azure_arm_id(a, &y->p->arm, k, azure_id_group(a, id), azure_id_last(id))
               : id;
}

static bool has_flexible_sets(const struct azure_members *m)
{
    for (size_t i = 0; i < m->sets.n; i++) {
        if (azure_vmss_is_flexible(m->sets.items[i])) {
            return true;
        }
    }
    return false;
}

/* Resources missing in a list of an earlier sync may exist now. */
static bool need_nics_again(struct azure_sync *y, const struct azure_members *m)
{
    bool some = false;
    size_t n;
    const char **scopes = azure_members_nic_scopes(y, m, &n);
    for (size_t i = 0; i < n; i++) {
        some = azure_need_again(y, AZURE_NICS, scopes[i]) || some;
    }
    return some;
}

/* No list has an interface of this machine: it lies elsewhere, and the machine says where. */
static bool need_elsewhere(struct azure_sync *y, const struct azure_members *m,
                           const struct azure_machine_edit *e)
{
    struct json_object *vm = azure_members_doc(&m->vms, e->machine);
    struct json_object *o;
    if (vm == NULL) {
        azure_need_one(y, AZURE_VMS, as_documented(y, AZURE_VMS, e->machine));
    }
    AZURE_EACH (o, json_path(vm, "properties.networkProfile.networkInterfaces")) {
        azure_need_one(y, AZURE_NICS, azure_doc_id(o));
    }
    return false;
}

/* The balancer says that a machine has to be edited, an earlier list of interfaces or instances
 * that nothing is to be done: another program has edited it since. */
static bool is_contradicted(struct azure_sync *y, const struct azure_members *m,
                            const struct azure_machine_edit *e, const char *set)
{
    struct arena *a = y->s->a;
    const struct azure_refs refs = azure_members_refs(a, e);
    const char *why = NULL;
    if (set != NULL) {
        struct json_object *vm = azure_members_doc(&m->instances, e->machine);
        return vm != NULL && azure_vmss_instance(a, &y->p->config, vm, &refs, &why) == NULL;
    }
    struct json_object *nic = azure_members_nic_doc(m, e);
    return nic != NULL && azure_nic_edit(a, &y->p->config, nic, &refs, &why) == NULL;
}

static bool need_interface(struct azure_sync *y, const struct azure_members *m,
                           const struct azure_machine_edit *e)
{
    const struct azure_config *c = &y->p->config;
    need_nics(y, m);
    if (c->vm_type != AZURE_VM_STANDARD && c->standard_sku) {
        need_sets(y);
    }
    if (has_flexible_sets(m)) {
        azure_need(y, AZURE_VMS,
                   azure_arm_collection(y->s->a, &y->p->arm, AZURE_VMS, c->resource_group));
    }
    if (y->p->offline || m->nics.n == 0) {
        return false;
    }
    if (azure_members_nic_doc(m, e) != NULL) {
        return is_contradicted(y, m, e, NULL) && need_nics_again(y, m);
    }
    return need_nics_again(y, m) || need_elsewhere(y, m, e);
}

static bool need_instance(struct azure_sync *y, const struct azure_members *m,
                          const struct azure_machine_edit *e, const char *set)
{
    const char *id = as_documented(y, AZURE_VMSSS, set);
    const char *list = azure_arm_collection(y->s->a, &y->p->arm, AZURE_VMSS_VMS, id);
    bool old =
        azure_members_doc(&m->instances, e->machine) == NULL || is_contradicted(y, m, e, set);
    bool again = old && azure_need_again(y, AZURE_VMSS_VMS, list);
    need_sets(y);
    azure_need(y, AZURE_VMSS_VMS, list);
    return again;
}

static size_t count_needed(const struct azure_sync *y)
{
    size_t n = 0;
    for (size_t i = 0; i < y->n_seen; i++) {
        n += y->seen[i].needed;
    }
    return n;
}

bool azure_members_need(struct azure_sync *y, const struct azure_members *m)
{
    size_t before = count_needed(y);
    if (m->diff.unknown_nics) {
        need_nics(y, m);
    }
    if (m->diff.unknown_machines) {
        need_nics(y, m);
        if (y->p->config.vm_type != AZURE_VM_STANDARD) {
            need_sets(y);
        }
    }
    bool again = false;
    for (size_t i = 0; i < m->diff.n; i++) {
        const struct azure_machine_edit *e = &m->diff.edits[i];
        const char *set = azure_members_set(y->s->a, e->machine);
        again = (set != NULL ? need_instance(y, m, e, set) : need_interface(y, m, e)) || again;
    }
    return again || count_needed(y) > before;
}

/* ---- the nodes that were --------------------------------------------------------------------- */

/* A machine whose node was taken away must leave the pools although it may still run.  Only this
 * process can tell it from one that has just come; after a restart its pool stays as it is, as
 * upstream's does. */
static void remember(struct azure_sync *y)
{
    const struct tt_batch *batch = y->s->batch;
    const struct azure_member_node *nodes =
        azure_members_nodes(y->s->a, &y->p->config, batch->nodes, batch->n_nodes);
    if (y->p->machines == NULL) {
        y->p->machines = map_new(NULL);
    }
    if (map_size(y->p->machines) > MACHINES_MAX + 2 * (size_t)batch->n_nodes) {
        map_clear(y->p->machines); /* long gone, most of them */
    }
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        if (nodes[i].machine[0] != '\0') {
            map_set(y->p->machines, nodes[i].machine, NULL);
        }
    }
}

/* An instance joins by the model of its scale set, without a write that would be seen: when nodes
 * come and go, the members of pools are not taken from a list of an earlier sync.  One list for all
 * Services (12.6). */
static void need_pools_again(struct azure_sync *y)
{
    bool nodes_changed = false;
    for (size_t i = 0; y->p->config.pool_type == AZURE_POOL_NIC && i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        nodes_changed =
            nodes_changed || (azure_item_takes_part(it) && it->item->in->verb == TT_VERB_UPDATE &&
                              it->item->in->reasons != TT_REASON_ENDPOINTS);
    }
    for (size_t i = 0; nodes_changed && i < y->n_seen; i++) {
        if (y->seen[i].kind == AZURE_LBS) {
            (void)azure_need_again(y, AZURE_LBS, y->seen[i].scope);
        }
    }
}

/* ---- the stage ------------------------------------------------------------------------------- */

static const char *vm_sets_list(const struct azure_sync *y)
{
    return azure_arm_collection(y->s->a, &y->p->arm, AZURE_SETS, y->p->config.resource_group);
}

void azure_need_vm_sets(struct azure_sync *y)
{
    const struct azure_config *c = &y->p->config;
    bool spread = azure_config_is_multi_slb(c) && c->vm_type == AZURE_VM_STANDARD;
    if (!c->standard_sku || spread) {
        azure_need(y, AZURE_SETS, vm_sets_list(y));
    }
}

/* A machine of no set may have come after the sets were listed. */
static bool need_vm_sets_again(struct azure_sync *y, const struct azure_members *m)
{
    bool some = false;
    for (size_t i = 0; i < m->in.n_nodes; i++) {
        const struct azure_member_node *node = &m->in.nodes[i];
        some = some || (node->machine[0] != '\0' && node->vm_set == NULL && !node->excluded);
    }
    return some && azure_need_again(y, AZURE_SETS, vm_sets_list(y));
}

/* Only a machine itself says that it belongs to a flexible scale set; several balancers must know
 * before they share out the nodes. */
static void need_flexible(struct azure_sync *y, const struct azure_members *m)
{
    const struct azure_config *c = &y->p->config;
    bool asks = azure_config_is_multi_slb(c) && c->vm_type != AZURE_VM_STANDARD;
    for (size_t i = 0; asks && i < m->in.n_nodes; i++) {
        if (m->in.nodes[i].set == NULL) {
            azure_need(y, AZURE_VMS,
                       azure_arm_collection(y->s->a, &y->p->arm, AZURE_VMS, c->resource_group));
        }
    }
}

int azure_observe_members(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_members m = {0};
    azure_need_nothing(y);
    /* Addresses do not matter here: a pool that follows its endpoints costs one list. */
    azure_need(y, AZURE_LBS,
               azure_arm_collection(s->a, &y->p->arm, AZURE_LBS, y->p->config.lb_resource_group));
    need_pools_again(y);
    remember(y);
    int rc = azure_see(y, err);
    for (int step = 0; rc == ERR_OK && step < STEPS_MAX; step++) {
        rc = azure_members_gather(y, &m, err);
        if (rc != ERR_OK) {
            return rc;
        }
        if (step == 0 && m.in.n_pools > 0) {
            azure_need_vm_sets(y);
            need_flexible(y, &m);
        }
        bool again = step > 0 && need_vm_sets_again(y, &m);
        if (!azure_members_need(y, &m) && !again && step > 0) {
            break;
        }
        rc = azure_see(y, err);
    }
    if (rc == ERR_OK && !s->planning) {
        azure_members_tell_unplaced(y, &m);
    }
    if (rc == ERR_OK && m.diff.n > 0 && azure_security_goes_beside(y)) {
        azure_need_security(y);
        rc = azure_see(y, err);
    }
    return rc;
}
