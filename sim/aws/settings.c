/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c: what "sim.aws" of a world and PUT /sim/settings/aws may say. */
#include "sim/aws/aws.h"

static const struct {
    const char *name;
    enum json_type type;
    const char *one_of[3]; /* of a text; NULL: any */
} known[] = {
    {"consistency_ms", json_type_int, {NULL}},   /* readers see writes so much later */
    {"group_release_ms", json_type_int, {NULL}}, /* a deleted balancer holds its groups so long */
    {"target_group_release_ms", json_type_int, {NULL}}, /* so does a listener its target groups */
    {"instance_release_ms", json_type_int, {NULL}}, /* and a balancer a terminated instance; 10 s */
    {"clock_offset_s", json_type_int, {NULL}},      /* its clock is off by so much */
    {"page_size", json_type_int, {NULL}},           /* pages are not larger */
    {"quotas", json_type_object, {NULL}},           /* name → number, see amz_quota() */
    {"throttle", json_type_object, {NULL}},         /* see throttle.c */
    {"verify_signatures", json_type_boolean, {NULL}} /* true */,
    {"roles", json_type_array, {NULL}}, /* ARNs that can be assumed; without: any */
    {"imds_tokens", json_type_string, {"required", "optional"}}, /* required */
    {"self", json_type_string, {NULL}},                /* instance that asks; without: the first */
    {"credentials_lifetime_s", json_type_int, {NULL}}, /* of metadata and container ones; 6 h */
    {"active_after_ms", json_type_int, {NULL}},  /* a new network balancer provisions so long */
    {"healthy_after_ms", json_type_int, {NULL}}, /* a new target is "initial" so long */
    {"draining_ms", json_type_int, {NULL}},      /* a deregistered target is "draining" so long */
    {"certificates", json_type_array, {NULL}},   /* ARNs that exist; without: any */
    {"certificate_after_ms", json_type_int, {NULL}}, /* found so long after its first use */
    {"buckets", json_type_array, {NULL}},            /* for access logs; without: any */
};

/* As callers of amz_quota() name them. */
static const char *const quotas[] = {"classic_listeners",
                                     "classic_load_balancers",
                                     "classic_policies",
                                     "groups_per_balancer",
                                     "groups_per_vpc",
                                     "listeners",
                                     "load_balancers",
                                     "rules_per_group",
                                     "tags",
                                     "target_groups",
                                     "targets_per_group",
                                     "targets_per_nlb",
                                     "targets_per_zone",
                                     NULL};

static int check_throttle(struct json_object *throttle, struct err *err)
{
    static const char *const costs[] = {"reads", "unfiltered", "writes", "heavy", "creates", NULL};
    static const char *const apis[] = {"ec2", "elb", "elbv2", "sts"};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(apis); i++) {
        struct json_object *of = json_member(throttle, apis[i]);
        n += of != NULL;
        int rc = sim_settings_buckets(apis[i], of, costs, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    return n == (size_t)json_object_object_length(throttle)
               ? ERR_OK
               : err_set(err, ERR_INVALID, "setting \"throttle\": want ec2, elb, elbv2 or sts");
}

static int check_members(struct json_object *settings, struct err *err)
{
    static const char *const lists[] = {"roles", "certificates", "buckets"};
    struct json_object *throttle = json_member(settings, "throttle");
    int rc = sim_settings_numbers("quotas", json_member(settings, "quotas"), quotas, err);
    for (size_t i = 0; rc == ERR_OK && i < ARRAY_LEN(lists); i++) {
        rc = sim_settings_texts(lists[i], json_member(settings, lists[i]), NULL, err);
    }
    return rc != ERR_OK || throttle == NULL ? rc : check_throttle(throttle, err);
}

int amz_settings_check(struct json_object *settings, struct err *err)
{
    if (!settings) {
        return ERR_OK;
    }
    json_object_object_foreach(settings, name, value)
    {
        size_t i = 0;
        while (i < ARRAY_LEN(known) && !str_eq(known[i].name, name)) {
            i++;
        }
        if (i == ARRAY_LEN(known)) {
            return err_set(err, ERR_INVALID, "aws has no setting \"%s\"", name);
        }
        bool ok = json_object_is_type(value, known[i].type);
        bool among = !known[i].one_of[0];
        for (size_t k = 0; ok && k < ARRAY_LEN(known[i].one_of) && known[i].one_of[k]; k++) {
            among = among || str_eq(known[i].one_of[k], json_object_get_string(value));
        }
        if (!ok || !among) {
            return err_set(err, ERR_INVALID, "setting \"%s\" of aws cannot be %s", name,
                           json_object_to_json_string(value));
        }
    }
    return check_members(settings, err);
}
