/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c: what "sim.gce" of a world and PUT /sim/settings/gce may say, and what follows from
 * it.
 *
 * Names that older worlds have in "sim" itself (quotas, strict_address_delete, ipv6_access) count
 * where "gce" does not have them.  Source: compute v1 "projects" (defaultNetworkTier), organization
 * policy constraints of Compute. */
#include "sim/compute/compute.h"

#include <string.h>

static const struct {
    const char *name;
    enum json_type type;
    const char *one_of[3]; /* of a text; NULL: any */
} known[] = {
    {"quotas", json_type_object, {NULL}},   /* NAME → number, see quotas.c */
    {"throttle", json_type_object, {NULL}}, /* {"per_minute": N}, see throttle.c */
    {"strict_address_delete", json_type_boolean, {NULL}} /* false */,
    {"ipv6_access", json_type_string, {"EXTERNAL", "INTERNAL"}}, /* of a seeded subnetwork */
    {"default_network_tier", json_type_string, {"PREMIUM", "STANDARD"}}, /* of the project */
    {"premium_only", json_type_array, {NULL}},          /* regions without Standard Tier */
    {"denied_load_balancers", json_type_array, {NULL}}, /* types that a policy forbids */
};

static int check_members(struct json_object *settings, struct err *err)
{
    static const char *const groups[] = {"per_minute", NULL};
    static const char *const types[] = {"EXTERNAL_NETWORK_TCP_UDP", "INTERNAL_TCP_UDP", NULL};
    int rc = sim_settings_numbers("quotas", json_member(settings, "quotas"), ce_quota_names(), err);
    if (rc == ERR_OK) {
        rc = sim_settings_numbers("throttle", json_member(settings, "throttle"), groups, err);
    }
    if (rc == ERR_OK) {
        rc = sim_settings_texts("premium_only", json_member(settings, "premium_only"), NULL, err);
    }
    return rc != ERR_OK
               ? rc
               : sim_settings_texts("denied_load_balancers",
                                    json_member(settings, "denied_load_balancers"), types, err);
}

int ce_settings_check(struct json_object *settings, struct err *err)
{
    json_object_object_foreach(settings, name, value)
    {
        size_t i = 0;
        while (i < ARRAY_LEN(known) && !str_eq(known[i].name, name)) {
            i++;
        }
        if (i == ARRAY_LEN(known)) {
            return err_set(err, ERR_INVALID, "gce has no setting \"%s\"", name);
        }
        bool ok = json_object_is_type(value, known[i].type);
        bool among = !known[i].one_of[0];
        for (size_t k = 0; ok && k < ARRAY_LEN(known[i].one_of) && known[i].one_of[k]; k++) {
            among = among || str_eq(known[i].one_of[k], json_object_get_string(value));
        }
        if (!ok || !among) {
            return err_set(err, ERR_INVALID, "setting \"%s\" of gce cannot be %s", name,
                           json_object_to_json_string(value));
        }
    }
    return check_members(settings, err);
}

struct json_object *ce_setting(const struct compute *c, const char *name)
{
    struct json_object *own = json_member(json_member(c->settings, "gce"), name);
    return own ? own : json_member(c->settings, name);
}

bool ce_setting_bool(const struct compute *c, const char *name)
{
    return json_object_get_boolean(ce_setting(c, name));
}

static bool is_listed(const struct compute *c, const char *name, const char *text)
{
    struct json_object *list = ce_setting(c, name);
    for (size_t i = 0; i < json_len(list); i++) {
        if (str_eq(json_object_get_string(json_object_array_get_idx(list, i)), text)) {
            return true;
        }
    }
    return false;
}

const char *ce_default_tier(const struct compute *c)
{
    const char *tier = json_object_get_string(ce_setting(c, "default_network_tier"));
    return tier ? tier : "PREMIUM";
}

bool ce_tier_check(struct request *q, const char *tier)
{
    return !str_eq(tier, "STANDARD") || !is_listed(q->c, "premium_only", q->location) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.networkTier", tier,
                             arena_printf(q->a,
                                          "STANDARD network tier is not supported for region %s.",
                                          q->location));
}

bool ce_policy_check(struct request *q, struct json_object *body)
{
    const char *protocol = json_str(body, "IPProtocol");
    bool internal = str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL");
    const char *type = internal ? "INTERNAL_TCP_UDP" : "EXTERNAL_NETWORK_TCP_UDP";
    if (!str_eq(protocol, "TCP") && !str_eq(protocol, "UDP") && !str_eq(protocol, "L3_DEFAULT")) {
        return true;
    }
    return !is_listed(q->c, "denied_load_balancers", type) ||
           ce_refuse(&q->refusal, q->a, 412, "conditionNotMet",
                     "Constraint constraints/compute.restrictLoadBalancerCreationForTypes violated "
                     "for projects/%s. Forwarding Rule %s/%s of type %s is not allowed.",
                     q->project, q->folder, json_str(body, "name"), type);
}
