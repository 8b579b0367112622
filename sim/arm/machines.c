/* SPDX-License-Identifier: Apache-2.0 */
/* machines.c: virtual machines, scale sets and their instances, as far as load balancing touches
 * them.
 *
 * Machines come from a world, from POST /sim/nodes or from a PUT; nothing runs in them.  The model
 * of a scale set and its instances are documents of their own: a pool must be named in the model
 * (for what comes) and in each instance.  A PUT of an instance changes the model's etag
 * (docs/spec/azure.md §3.4).  Source: §7.2 to §7.4, §16 item 9. */
#include "sim/arm/arm.h"

#include <string.h>

/* --- virtual machines ------------------------------------------------------------------------- */

static struct json_object *running_view(void)
{
    static const char text[] = "{\"statuses\":[{\"code\":\"ProvisioningState/succeeded\"},"
                               "{\"code\":\"PowerState/running\"}]}";
    struct json_object *o = NULL;
    return json_parse(text, strlen(text), NULL, &o, NULL) == ERR_OK ? o : NULL;
}

bool arm_vm_put(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct json_object *p = arm_properties(body);
    struct json_object *nics = json_path(body, "properties.networkProfile.networkInterfaces");
    const char *const refs[] = {arm_ref(p, "availabilitySet"),
                                arm_ref(p, "virtualMachineScaleSet")};
    for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
        if (refs[i] && !arm_get(q->arm, refs[i])) {
            return arm_refuse_reference(q, refs[i], q->id);
        }
    }
    for (size_t i = 0; i < json_len(nics); i++) {
        const char *id = str_nonnull(json_str(json_object_array_get_idx(nics, i), "id"));
        if (!arm_get(q->arm, id)) {
            return arm_refuse_reference(q, id, q->id);
        }
    }
    if (!old) {
        json_add_str(p, "vmId", arm_uuid(q->arm, q->a));
        json_add(p, "instanceView", running_view());
    }
    return true;
}

bool arm_vm_instance_view(struct arm_request *q)
{
    const char *id = arena_strndup(q->a, q->id, strlen(q->id) - strlen("/instanceView"));
    struct arm_resource *vm = arm_get(q->arm, id);
    if (!vm) {
        return arm_refuse(q, 404, "ResourceNotFound", "The Resource '%s' was not found.", id);
    }
    struct json_object *view = json_path(vm->body, "properties.instanceView");
    q->answer = view ? json_copy(view) : running_view();
    return true;
}

bool arm_availability_set_remove(struct arm_request *q)
{
    struct json_object *machines = json_path(q->res->body, "properties.virtualMachines");
    return json_len(machines) == 0 ||
           arm_refuse(
               q, 409, "OperationNotAllowed",
               "Availability Set '%s' cannot be deleted. Before deleting an Availability Set "
               "please ensure that it does not contain any VM.",
               q->name);
}

/* --- scale sets ------------------------------------------------------------------------------- */

static struct json_object *model_nics(struct json_object *vmss)
{
    return json_path(
        vmss, "properties.virtualMachineProfile.networkProfile.networkInterfaceConfigurations");
}

static bool check_nics(struct arm_request *q, struct json_object *nics)
{
    for (size_t i = 0; i < json_len(nics); i++) {
        struct json_object *nic = json_object_array_get_idx(nics, i);
        struct json_object *configs = json_path(nic, "properties.ipConfigurations");
        for (size_t k = 0; k < json_len(configs); k++) {
            struct json_object *o = json_object_array_get_idx(configs, k);
            struct json_object *p = arm_properties(o);
            const char *subnet = arm_ref(p, "subnet");
            const char *self = arena_printf(
                q->a, "%s/networkInterfaceConfigurations/%s/ipConfigurations/%s", q->id,
                str_nonnull(json_str(nic, "name")), str_nonnull(json_str(o, "name")));
            if ((subnet && !arm_subnet_exists(q, subnet, self)) ||
                !arm_check_pools_of(q, p, self)) {
                return false;
            }
        }
    }
    return true;
}

/* Members that cannot be removed stay when a PUT of the model omits them, as in ARM. */
static void keep_member(struct json_object *old, struct json_object *body, const char *name)
{
    struct json_object *was = json_member(old, name);
    if (was && !json_member(body, name)) {
        json_add(body, name, json_copy(was));
    }
}

static void keep_profile(struct json_object *old, struct json_object *body)
{
    struct json_object *was = json_path(old, "properties.virtualMachineProfile");
    struct json_object *p = arm_properties(body), *now = json_member(p, "virtualMachineProfile");
    if (!was) {
        return;
    }
    if (!now) {
        json_add(p, "virtualMachineProfile", json_copy(was));
        return;
    }
    json_object_object_foreach(was, name, value)
    {
        (void)value;
        keep_member(was, now, name);
    }
}

/* The base properties of a scale set cannot change. */
static bool check_fixed(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    static const char *const fixed[] = {
        "properties.orchestrationMode", "properties.platformFaultDomainCount",
        "properties.virtualMachineProfile.osProfile.computerNamePrefix"};
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        struct json_object *was = json_path(old, fixed[i]), *now = json_path(body, fixed[i]);
        if (was && now && !json_equal(was, now)) {
            return arm_refuse(q, 409, "PropertyChangeNotAllowed",
                              "Changing property '%s' is not allowed.", strrchr(fixed[i], '.') + 1);
        }
    }
    return true;
}

bool arm_vmss_put(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    static const char *const top[] = {"sku", "zones", "tags", "identity", "plan"};
    static const char *const inner[] = {"upgradePolicy", "overprovision", "orchestrationMode",
                                        "singlePlacementGroup", "platformFaultDomainCount"};
    const char *state = json_str(json_member(old, "properties"), "provisioningState");
    if (str_eq(state, "Deleting")) {
        return arm_refuse(q, 409, "OperationNotAllowed",
                          "The operation is not allowed since the VM scale set '%s' is marked for "
                          "deletion.",
                          q->name);
    }
    for (size_t i = 0; old && i < ARRAY_LEN(top); i++) {
        keep_member(old, body, top[i]);
    }
    for (size_t i = 0; old && i < ARRAY_LEN(inner); i++) {
        keep_member(json_member(old, "properties"), arm_properties(body), inner[i]);
    }
    keep_profile(old, body);
    return check_fixed(q, old, body) && check_nics(q, model_nics(body));
}

/* The ids of all balancers whose pools these NIC configurations name, each with a
 * blank behind it. */
static void add_balancers(struct arena *a, struct json_object *nics, struct map *set)
{
    for (size_t i = 0; i < json_len(nics); i++) {
        struct json_object *configs =
            json_path(json_object_array_get_idx(nics, i), "properties.ipConfigurations");
        for (size_t k = 0; k < json_len(configs); k++) {
            struct json_object *pools = json_path(json_object_array_get_idx(configs, k),
                                                  "properties.loadBalancerBackendAddressPools");
            for (size_t m = 0; m < json_len(pools); m++) {
                const char *id = str_nonnull(json_str(json_object_array_get_idx(pools, m), "id"));
                map_set(set, arm_id_key(a, id), NULL);
            }
        }
    }
}

static void touch_missing(struct arm_request *q, struct map *from, struct map *other)
{
    size_t n = 0;
    const char **keys = map_keys(from, &n);
    for (size_t i = 0; i < n; i++) {
        if (!map_has(other, keys[i])) {
            arm_touch(q->arm, arm_id_parent(q->a, keys[i]));
        }
    }
    free(keys);
}

/* A balancer whose pool the model joins or leaves has a new etag. */
void arm_vmss_after(struct arm_request *q, struct json_object *old, struct arm_resource *res)
{
    struct map *was = map_new(NULL), *now = map_new(NULL);
    add_balancers(q->a, model_nics(old), was);
    add_balancers(q->a, model_nics(res->body), now);
    touch_missing(q, was, now);
    touch_missing(q, now, was);
    map_free(was);
    map_free(now);
}

struct instances {
    const char *set;
    struct arm_resource *first;
};

static bool find_instance(struct arm_resource *res, void *arg)
{
    struct instances *x = arg;
    x->first = arm_id_is_below(res->id, x->set) ? res : NULL;
    return !x->first;
}

/* The instances go with their set. */
bool arm_vmss_remove(struct arm_request *q)
{
    struct instances x = {.set = q->res->id};
    do {
        x.first = NULL;
        arm_each(q->arm, "Microsoft.Compute/virtualMachineScaleSets/virtualMachines", find_instance,
                 &x);
        if (x.first) {
            arm_unset(q->arm, x.first->id);
        }
    } while (x.first);
    return true;
}

/* --- instances -------------------------------------------------------------------------------- */

bool arm_vmss_vm_put(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct json_object *p = arm_properties(body), *was = json_member(old, "properties");
    if (!old) {
        return arm_refuse(
            q, 400, "InvalidParameter",
            "The provided instanceId %s is not an active Virtual Machine Scale Set VM "
            "instanceId.",
            q->name);
    }
    json_object_object_foreach(was, name, value)
    {
        (void)value;
        keep_member(was, p, name);
    }
    keep_member(old, body, "tags");
    return check_nics(q,
                      json_path(p, "networkProfileConfiguration.networkInterfaceConfigurations"));
}

void arm_vmss_vm_after(struct arm_request *q, struct json_object *old, struct arm_resource *res)
{
    if (!json_equal(old, res->body)) {
        arm_touch(q->arm, arm_id_parent(q->a, res->id));
    }
}

/* --- NICs of instances ------------------------------------------------------------------------ */

struct nic_view {
    struct arm_request *q;
    const char *nic; /* id; NULL: all below `above` */
    const char *above;
    struct json_object *items;
};

static struct json_object *nic_json(struct nic_view *v, const struct arm_ip_config *c)
{
    struct json_object *o = json_object_new_object(), *p = json_object_new_object();
    json_add_str(o, "id", c->nic);
    json_add_str(o, "name", arm_id_name(c->nic));
    json_add_str(o, "etag", json_str(c->owner->body, "etag"));
    json_add_str(o, "location", json_str(c->owner->body, "location"));
    json_add_str(p, "provisioningState", "Succeeded");
    json_add(p, "virtualMachine", arm_sub_resource(c->owner->id));
    json_add_bool(p, "primary", true);
    json_add(p, "ipConfigurations", json_object_new_array());
    json_add(o, "properties", p);
    json_object_array_add(v->items, o);
    return o;
}

static bool add_nic(const struct arm_ip_config *c, void *arg)
{
    struct nic_view *v = arg;
    if (v->nic ? !str_eq_nocase(c->nic, v->nic) : !arm_id_is_below(c->nic, v->above)) {
        return true;
    }
    size_t n = json_len(v->items);
    struct json_object *last = n ? json_object_array_get_idx(v->items, n - 1) : NULL;
    if (!last || !str_eq(json_str(last, "id"), c->nic)) {
        last = nic_json(v, c);
    }
    struct json_object *o = json_object_new_object(), *p = json_copy(c->properties);
    json_add_str(o, "id", c->id);
    json_add_str(o, "name", arm_id_name(c->id));
    json_add_str(p, "provisioningState", "Succeeded");
    json_add_str(p, "privateIPAddress", arm_machine_address(v->q->arm, v->q->a, c));
    json_add_str(p, "privateIPAllocationMethod", "Dynamic");
    json_object_object_del(p, "publicIPAddressConfiguration");
    json_add(o, "properties", p);
    json_object_array_add(json_path(last, "properties.ipConfigurations"), o);
    return true;
}

bool arm_vmss_nic_get(struct arm_request *q)
{
    struct nic_view v = {.q = q, .nic = q->id, .items = json_object_new_array()};
    arm_each_ip_config(q->arm, q->a, add_nic, &v);
    q->answer = json_len(v.items) ? json_object_get(json_object_array_get_idx(v.items, 0)) : NULL;
    json_object_put(v.items);
    return q->answer || arm_refuse_not_found(q);
}

bool arm_vmss_nic_list(struct arm_request *q)
{
    const char *above = arena_strndup(q->a, q->id, strlen(q->id) - strlen("/networkInterfaces"));
    struct nic_view v = {.q = q, .above = above, .items = json_object_new_array()};
    arm_each_ip_config(q->arm, q->a, add_nic, &v);
    if (!arm_get(q->arm, above)) {
        json_object_put(v.items);
        return arm_refuse(q, 404, "NotFound", "Resource %s not found.", above);
    }
    return arm_answer_page(q, v.items);
}

/* Instances here have no public addresses of their own. */
bool arm_vmss_ip_get(struct arm_request *q)
{
    return arm_refuse_not_found(q);
}

bool arm_vmss_ip_list(struct arm_request *q)
{
    return arm_answer_page(q, json_object_new_array());
}
