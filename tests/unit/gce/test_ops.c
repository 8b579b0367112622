/* SPDX-License-Identifier: Apache-2.0 */
/* test_ops.c: single operations that a planner wrote, carried out against the simulator: what they
 * send, what they yield, what a refusal becomes (gce_ops.h; gce-l4.md §4.14, §8.4, §9.2). */
#include "tests/unit/gce/cloud_kit.h"

#include "providers/gce/api/gce_ops_refusals.h"
#include "providers/gce/model/gce_l4_resources.h"
#include "tests/support/unit.h"

static struct gce_op op_of(enum gce_collection c, enum gce_verb v, const char *name,
                           struct json_object *body)
{
    return (struct gce_op){.c = c, .verb = v, .name = name, .body = body};
}

static void ends(const struct err *err, int code, const char *message_part)
{
    if (err->code != code || strstr(err->message, message_part) == NULL) {
        fail_msg("got %s: %s, want %s: …%s…", err_code_name(err->code), err->message,
                 err_code_name(code), message_part);
    }
}

static struct json_object *member_at(struct kit *k, const char *path_end, const char *member)
{
    struct json_object *o = rig_resource(k->r, path_end);
    return o == NULL ? NULL : json_member(o, member);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void insert__late_members_and_the_chosen_address(void **state)
{
    struct kit *k = *state;
    const char *rule_ip = NULL;
    kit_make(k, "global/healthChecks", KIT_HC("hc"));
    kit_make(k, KIT_REGION "backendServices", KIT_BS("bs", "hc"));
    struct gce_op ops[] = {
        op_of(GCE_RULES, GCE_INSERT, "rule", kit_json(k, KIT_RULE("rule", "bs"))),
        op_of(GCE_FIREWALLS, GCE_INSERT, "k8s2-fw",
              kit_json(k, "{\"name\":\"k8s2-fw\",\"network\":\"" KIT_PROJECT
                          "global/networks/default\",\"sourceRanges\":[\"10.0.0.0/8\"],"
                          "\"targetTags\":[\"n\"],\"allowed\":[{\"IPProtocol\":\"tcp\"}]}")),
    };
    ops[0].read_member = "IPAddress";
    ops[0].ret_value = &rule_ip;
    ops[1].late[0] = (struct gce_op_late){
        .member = "destinationRanges", .value = LB_VALUE_OF(0, "value"), .suffix = "/32"};
    ops[1].late[1] =
        (struct gce_op_late){.member = "description", .value = {.op = -1}, .prefix = "never said"};
    ops[1].n_late = 2;
    struct kit_end *end = kit_run(k, ops, 2, 0);
    ends(&end[0].err, ERR_OK, "");
    ends(&end[1].err, ERR_OK, "");
    assert_non_null(rule_ip);
    struct json_object *ranges = member_at(k, "firewalls/k8s2-fw", "destinationRanges");
    assert_int_equal(json_len(ranges), 1);
    assert_string_equal(json_object_get_string(json_object_array_get_idx(ranges, 0)),
                        arena_printf(k->a, "%s/32", rule_ip));
    assert_null(member_at(k, "firewalls/k8s2-fw", "description"));
    assert_null(json_member(ops[1].body, "destinationRanges")); /* the planner's stays as it was */
    assert_int_equal(gce_op_calls(&ops[0]), 3);
}

static void insert__a_late_value_that_nobody_knows__is_a_bug(void **state)
{
    struct kit *k = *state;
    struct gce_op ops[] = {
        op_of(GCE_HCS, GCE_INSERT, "hc", kit_json(k, KIT_HC("hc"))),
        op_of(GCE_ADDRESSES, GCE_INSERT, "a", kit_json(k, "{\"name\":\"a\"}")),
    };
    ops[1].late[0] = (struct gce_op_late){.member = "address", .value = LB_VALUE_OF(0, "value")};
    ops[1].n_late = 1;
    struct kit_end *end = kit_run(k, ops, 2, 0);
    ends(&end[1].err, ERR_BUG, "address of a is not known");
    assert_int_equal(rig_calls(k->r, "compute.addresses.insert"), 0);
}

static void firewall__without_target_tags__never_sent(void **state)
{
    struct kit *k = *state;
    static const char *const bodies[] = {
        "{\"name\":\"k8s2-fw\",\"allowed\":[{\"IPProtocol\":\"tcp\"}]}",
        "{\"name\":\"k8s2-fw\",\"targetTags\":[],\"allowed\":[{\"IPProtocol\":\"tcp\"}]}",
    };
    static const enum gce_verb verbs[] = {GCE_INSERT, GCE_PATCH, GCE_UPDATE};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        for (size_t v = 0; v < ARRAY_LEN(verbs); v++) {
            struct gce_op op = op_of(GCE_FIREWALLS, verbs[v], "k8s2-fw", kit_json(k, bodies[i]));
            struct err err = kit_run_one(k, &op);
            ends(&err, ERR_BUG, "without target tags");
        }
    }
    assert_int_equal(rig_calls(k->r, "compute.firewalls.*"), 0);
}

static void backend_service__put_over_what_was_not_read__is_a_conflict(void **state)
{
    struct kit *k = *state;
    kit_make(k, "global/healthChecks", KIT_HC("hc"));
    kit_make(k, KIT_REGION "backendServices", KIT_BS("bs", "hc"));
    struct gce_op op =
        op_of(GCE_BACKENDS, GCE_UPDATE, "bs", kit_json(k, "{\"name\":\"bs\",\"backends\":[]}"));
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_CONFLICT, "must be read first");
    assert_int_equal(rig_calls(k->r, "compute.regionBackendServices.update"), 0);
}

static void backend_service__outdated_fingerprint__is_a_conflict(void **state)
{
    struct kit *k = *state;
    kit_make(k, "global/healthChecks", KIT_HC("hc"));
    kit_make(k, KIT_REGION "backendServices", KIT_BS("bs", "hc"));
    struct json_object *body = json_copy(rig_resource(k->r, "backendServices/bs"));
    json_add_str(body, "fingerprint", "AAAAAAAAAAA=");
    struct gce_op op = op_of(GCE_BACKENDS, GCE_UPDATE, "bs", body);
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_CONFLICT, "412");
    json_object_put(body);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void insert__name_is_taken__look_again(void **state)
{
    struct kit *k = *state;
    kit_make(k, "global/healthChecks", KIT_HC("hc"));
    struct gce_op op = op_of(GCE_HCS, GCE_INSERT, "hc", kit_json(k, KIT_HC("hc")));
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_CONFLICT, "409");
}

static void update__of_what_is_gone__look_again(void **state)
{
    struct kit *k = *state;
    struct gce_op op = op_of(GCE_HCS, GCE_UPDATE, "hc", kit_json(k, KIT_HC("hc")));
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_CONFLICT, "404");
}

static void delete__gone_or_in_use__as_the_cloud_says(void **state)
{
    struct kit *k = *state;
    kit_make(k, "global/healthChecks", KIT_HC("hc"));
    kit_make(k, KIT_REGION "backendServices", KIT_BS("bs", "hc"));
    struct gce_op used = op_of(GCE_HCS, GCE_DELETE, "hc", NULL);
    struct err err = kit_run_one(k, &used);
    ends(&err, ERR_IN_USE, "being used by");
    struct gce_op gone = op_of(GCE_HCS, GCE_DELETE, "other", NULL);
    err = kit_run_one(k, &gone);
    ends(&err, ERR_NOT_FOUND, "404");
}

static void hold__address_is_reserved_by_another_name__is_held(void **state)
{
    struct kit *k = *state;
    kit_make(k, KIT_REGION "addresses", "{\"name\":\"mine\",\"address\":\"203.0.113.99\"}");
    kit_make(k, KIT_REGION "addresses",
             "{\"name\":\"inside\",\"address\":\"10.128.0.77\",\"addressType\":\"INTERNAL\","
             "\"subnetwork\":\"" KIT_PROJECT "regions/us-central1/subnetworks/default\"}");
    static const char *const bodies[][2] = {
        {"{\"name\":\"held\",\"address\":\"203.0.113.99\"}", "203.0.113.99"},
        {"{\"name\":\"held\",\"address\":\"10.128.0.77\",\"addressType\":\"INTERNAL\"}",
         "10.128.0.77"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        const char *ip = NULL;
        struct gce_op op = op_of(GCE_ADDRESSES, GCE_INSERT, "held", kit_json(k, bodies[i][0]));
        op.read_member = "address";
        op.ret_value = &ip;
        struct kit_end *end = kit_run(k, &op, 1, LB_TOLERATE_EXISTS);
        assert_int_equal(end->outcome, LB_TOLERATED);
        assert_string_equal(ip, bodies[i][1]);
    }
    struct gce_op taken = op_of(GCE_ADDRESSES, GCE_INSERT, "mine",
                                kit_json(k, "{\"name\":\"mine\",\"address\":\"203.0.113.7\"}"));
    struct err err = kit_run_one(k, &taken);
    ends(&err, ERR_CONFLICT, "already exists");
}

static void hold__any_address__is_read(void **state)
{
    struct kit *k = *state;
    const char *ip = NULL;
    struct gce_op op = op_of(GCE_ADDRESSES, GCE_INSERT, "held", kit_json(k, "{\"name\":\"held\"}"));
    op.read_member = "address";
    op.ret_value = &ip;
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    assert_string_equal(ip, json_str(rig_resource(k->r, "addresses/held"), "address"));
}

static void firewall__forbidden__the_command_has_the_late_range(void **state)
{
    struct kit *k = *state;
    const char *told = NULL;
    rig_fault(k->r, "{\"match\":{\"op\":\"compute.firewalls.insert\"},\"count\":0,"
                    "\"do\":\"refuse\",\"status\":403}");
    struct gce_op op = op_of(GCE_FIREWALLS, GCE_INSERT, "k8s2-fw",
                             kit_json(k, "{\"name\":\"k8s2-fw\",\"targetTags\":[\"n\"]}"));
    op.command = "gcloud compute firewall-rules create k8s2-fw --description \"at " GCE_LATER
                 "\" --source-ranges 1.0.0.0/8 --destination-ranges " GCE_LATER
                 "/32 --target-tags n --project p";
    op.ret_value = &told;
    op.late[0] = (struct gce_op_late){
        .member = "destinationRanges", .value = LB_VALUE("10.1.2.3"), .suffix = "/32"};
    op.n_late = 1;
    struct kit_end *end = kit_run(k, &op, 1, LB_TOLERATE_FORBIDDEN);
    assert_int_equal(end->outcome, LB_TOLERATED);
    assert_string_equal(
        told, "gcloud compute firewall-rules create k8s2-fw --description \"at 10.1.2.3\" "
              "--source-ranges 1.0.0.0/8 --destination-ranges 10.1.2.3/32 --target-tags "
              "n --project p");
}

/* gce-l4.md §4.14, §8.4: the words that people watch for. */
static void refusals__that_are_the_users(void **state)
{
    struct kit *k = *state;
    static const struct {
        int status, code;
        const char *reason, *message, *body;
        int want;
        const char *says;
    } rows[] = {
        {400, ERR_INVALID, "invalid",
         "googleapi: Error 400: Invalid value for field 'resource.IPAddress': '10.0.0.9'. "
         "Specified "
         "IP address is in-use and would result in a conflict., invalid",
         "{\"IPAddress\":\"10.0.0.9\"}", ERR_IN_USE, "IP configuration error: \"10.0.0.9\" goog"},
        {409, ERR_IN_USE, "ipInUseByAnotherResource", "IP '10.0.0.9' is already being used",
         "{\"address\":\"10.0.0.9\"}", ERR_IN_USE, "IP configuration error: \"10.0.0.9\" IP '"},
        {400, ERR_INVALID, "invalidUsage",
         "Invalid resource usage: 'Forwarding rule's port range is conflicting with forwarding "
         "rule: abcd'.",
         "{\"ports\":[\"80\",\"443\"]}", ERR_IN_USE,
         "Conflicting ports configuration error: \"80,443\" Invalid"},
        {400, ERR_INVALID, "invalidUsage",
         "Invalid resource usage: 'Forwarding rule's port range is conflicting with forwarding "
         "rule: abcd'.",
         "{\"portRange\":\"80-90\"}", ERR_IN_USE, "error: \"80-90\" Invalid"},
        {400, ERR_INVALID, "invalid",
         "The network tier of external IP is STANDARD, that of Address must be the same.",
         "{\"name\":\"n\",\"networkTier\":\"PREMIUM\"}", ERR_INVALID,
         "Network tier mismatch for resource n, desired: PREMIUM, received: STANDARD"},
        {412, ERR_CONFLICT, "conditionNotMet",
         "Constraint constraints/compute.x violated for projects/p", "{}", ERR_INVALID,
         "Constraint constraints/compute.x violated"},
        {412, ERR_CONFLICT, "conditionNotMet", "Invalid fingerprint.", "{}", ERR_CONFLICT,
         "Invalid fingerprint"},
        {400, ERR_INVALID, "instanceInMultipleLoadBalancedIgs",
         "Instance 'projects/p/zones/z/instances/n-1' would belong to more than one", "{}",
         ERR_INVALID, "instance \"n-1\" would be in two load-balanced instance groups"},
        {503, ERR_TRANSIENT, "backendError", "later", "{}", ERR_TRANSIENT, "later"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        (void)err_set(&err, rows[i].code, "%s", rows[i].message);
        err.http_status = rows[i].status;
        memcpy(err.reason, rows[i].reason, strlen(rows[i].reason) + 1);
        bool users = gce_refusal_explain(k->a, kit_json(k, rows[i].body), &err);
        assert_int_equal(users, rows[i].want == ERR_INVALID || rows[i].want == ERR_IN_USE);
        ends(&err, rows[i].want, rows[i].says);
        assert_int_equal(err.http_status, rows[i].status);
        assert_string_equal(err.reason, rows[i].reason);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

/* The names of the machines of a zone, in the simulator's order. */
static const char *machine(struct kit *k, size_t nth, const char **ret_ip)
{
    struct json_object *cloud = rig_cloud(k->r);
    size_t seen = 0;
    json_object_object_foreach(cloud, path, o)
    {
        if (strstr(path, "/zones/" KIT_ZONE "/instances/") != NULL && seen++ == nth) {
            struct json_object *nics = json_member(o, "networkInterfaces");
            *ret_ip = arena_strdup(k->a, json_str(json_object_array_get_idx(nics, 0), "networkIP"));
            return arena_strdup(k->a, json_str(o, "name"));
        }
    }
    fail_msg("no machine %zu in " KIT_ZONE, nth);
    return NULL;
}

static struct json_object *endpoints(struct kit *k, const struct gce_endpoint *e, size_t n)
{
    struct json_object *o = gce_endpoints_body(e, n);
    struct json_object *kept = kit_json(k, json_object_to_json_string(o));
    json_object_put(o);
    return kept;
}

/* ---- target pools ---------------------------------------------------------------------------- */

static const char *zonal_link(struct kit *k, const char *machine_name)
{
    return arena_printf(k->a, KIT_PROJECT "zones/" KIT_ZONE "/instances/%s", machine_name);
}

static void pool__made_with_a_machine_that_is_gone__the_others_join(void **state)
{
    struct kit *k = *state;
    const char *ip;
    const char *there = zonal_link(k, machine(k, 0, &ip));
    const char *body = arena_printf(k->a, "{\"name\":\"pool\",\"instances\":[\"%s\",\"%s\"]}",
                                    zonal_link(k, "gone"), there);
    struct gce_op op = op_of(GCE_POOLS, GCE_INSERT, "pool", kit_json(k, body));
    op.members = true;
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    struct json_object *in = member_at(k, "targetPools/pool", "instances");
    assert_int_equal(json_len(in), 1);
    assert_int_equal(rig_calls(k->r, "compute.targetPools.insert"), 2);
    op = op_of(GCE_POOLS, GCE_INSERT, "empty",
               kit_json(k, arena_printf(k->a, "{\"name\":\"empty\",\"instances\":[\"%s\"]}",
                                        zonal_link(k, "gone"))));
    op.members = true;
    err = kit_run_one(k, &op); /* none is left, and the pool is made all the same */
    ends(&err, ERR_OK, "");
    assert_non_null(rig_resource(k->r, "targetPools/empty"));
}

static void pool__then__sent_one_after_the_other_until_one_is_refused(void **state)
{
    struct kit *k = *state;
    const char *ip;
    const char *one = zonal_link(k, machine(k, 0, &ip));
    const char *two = zonal_link(k, machine(k, 1, &ip));
    static const char *const members = "{\"instances\":[{\"instance\":\"%s\"}]}";
    const struct gce_op add = {.c = GCE_POOLS,
                               .verb = GCE_ADD_INSTANCE,
                               .name = "pool",
                               .members = true,
                               .body = kit_json(k, arena_printf(k->a, members, two))};
    const struct gce_op gone = {
        .c = GCE_POOLS,
        .verb = GCE_ADD_INSTANCE,
        .name = "pool",
        .members = true,
        .then = &add,
        .body = kit_json(k, arena_printf(k->a, members, zonal_link(k, "gone")))};
    struct gce_op op =
        op_of(GCE_POOLS, GCE_INSERT, "pool",
              kit_json(k, arena_printf(k->a, "{\"name\":\"pool\",\"instances\":[\"%s\"]}", one)));
    op.then = &gone; /* a member that is gone does not keep the rest from being sent */
    assert_int_equal(gce_op_calls(&op), 6);
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    assert_int_equal(json_len(member_at(k, "targetPools/pool", "instances")), 2);
    rig_forget(k->r);
    err = kit_run_one(k, &op); /* the pool is there: nothing follows a refusal */
    ends(&err, ERR_CONFLICT, "409");
    assert_int_equal(rig_calls(k->r, "compute.targetPools.addInstance"), 0);
}

static void plain__a_refusal_keeps_the_clouds_words(void **state)
{
    struct kit *k = *state;
    static const char *const says = "Specified IP address is in-use and would result in a conflict";
    rig_fault(k->r, arena_printf(k->a,
                                 "{\"match\":{\"op\":\"compute.forwardingRules.insert\"},"
                                 "\"count\":0,\"do\":\"refuse\",\"status\":400,\"body\":{\"error\":"
                                 "{\"code\":400,\"message\":\"%s\"}}}",
                                 says));
    struct gce_op op = op_of(GCE_RULES, GCE_INSERT, "rule",
                             kit_json(k, "{\"name\":\"rule\",\"IPAddress\":\"10.0.0.9\"}"));
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_IN_USE, "IP configuration error: \"10.0.0.9\"");
    op.plain = true;
    err = kit_run_one(k, &op);
    ends(&err, ERR_IN_USE, arena_printf(k->a, "googleapi: Error 400: %s", says));
}

static void neg__what_is_there_already_or_gone__the_rest_is_sent(void **state)
{
    struct kit *k = *state;
    struct gce_endpoint e[3] = {{.ip = "", .ipv6 = ""}, {.ip = "", .ipv6 = ""}, {0}};
    e[0].instance = machine(k, 0, &e[0].ip);
    e[1].instance = machine(k, 1, &e[1].ip);
    e[2] = (struct gce_endpoint){.instance = "no-such-machine", .ip = "10.9.9.9", .ipv6 = ""};
    kit_make(k, "zones/" KIT_ZONE "/networkEndpointGroups", KIT_NEG("k8s2-neg"));
    struct gce_op op = {.c = GCE_NEGS,
                        .verb = GCE_ATTACH,
                        .zone = KIT_ZONE,
                        .name = "k8s2-neg",
                        .members = true,
                        .body = endpoints(k, e, 1)};
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    op.body = endpoints(k, e, 3); /* one is there, one never was */
    err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    assert_int_equal(json_int(rig_resource(k->r, "networkEndpointGroups/k8s2-neg"), "size", -1), 2);
    assert_int_equal(rig_calls(k->r, "compute.networkEndpointGroups.attachNetworkEndpoints"), 4);
    op.verb = GCE_DETACH;
    op.body = endpoints(k, e, 3);
    err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    assert_int_equal(json_int(rig_resource(k->r, "networkEndpointGroups/k8s2-neg"), "size", -1), 0);
    rig_forget(k->r);
    op.body = endpoints(k, e, 1); /* nothing of it is left to do */
    err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    assert_int_equal(rig_calls(k->r, "compute.networkEndpointGroups.detachNetworkEndpoints"), 1);
    op.name = "gone";
    err = kit_run_one(k, &op);
    ends(&err, ERR_CONFLICT, "404");
}

static void group__members_come_and_go(void **state)
{
    struct kit *k = *state;
    const char *ip;
    const char *links[2];
    for (size_t i = 0; i < 2; i++) {
        links[i] =
            gce_api_zonal_link(k->a, &k->p->cloud.api, GCE_INSTANCES, KIT_ZONE, machine(k, i, &ip));
    }
    kit_make(k, "zones/" KIT_ZONE "/instanceGroups", "{\"name\":\"k8s-ig\"}");
    struct json_object *one = gce_pool_members_body(links, 1);
    struct json_object *two = gce_pool_members_body(links, 2);
    struct gce_op op = {.c = GCE_GROUPS,
                        .verb = GCE_ADD_INSTANCES,
                        .zone = KIT_ZONE,
                        .name = "k8s-ig",
                        .members = true,
                        .body = one};
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    op.body = two;
    err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    assert_int_equal(json_int(rig_resource(k->r, "instanceGroups/k8s-ig"), "size", -1), 2);
    op.verb = GCE_REMOVE_INSTANCES;
    op.body = one;
    err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    op.body = two;
    err = kit_run_one(k, &op);
    ends(&err, ERR_OK, "");
    assert_int_equal(json_int(rig_resource(k->r, "instanceGroups/k8s-ig"), "size", -1), 0);
    json_object_put(one);
    json_object_put(two);
}

static void group__vm_in_another_balanced_group__told_and_not_left_out(void **state)
{
    struct kit *k = *state;
    const char *ip;
    const char *link =
        gce_api_zonal_link(k->a, &k->p->cloud.api, GCE_INSTANCES, KIT_ZONE, machine(k, 0, &ip));
    rig_fault(k->r, "{\"match\":{\"op\":\"compute.instanceGroups.addInstances\"},\"count\":0,"
                    "\"do\":\"refuse\",\"status\":400,\"body\":{\"error\":{\"code\":400,"
                    "\"message\":\"no\",\"errors\":[{\"message\":\"no\","
                    "\"reason\":\"instanceInMultipleLoadBalancedIgs\"}]}}}");
    kit_make(k, "zones/" KIT_ZONE "/instanceGroups", "{\"name\":\"k8s-ig\"}");
    struct json_object *body = gce_pool_members_body(&link, 1);
    struct gce_op op = {.c = GCE_GROUPS,
                        .verb = GCE_ADD_INSTANCES,
                        .zone = KIT_ZONE,
                        .name = "k8s-ig",
                        .members = true,
                        .body = body};
    struct err err = kit_run_one(k, &op);
    ends(&err, ERR_INVALID, "would be in two load-balanced instance groups");
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.addInstances"), 1);
    json_object_put(body);
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static void wrote__what_is_certain_is_known__the_rest_is_read_again(void **state)
{
    struct kit *k = *state;
    static const struct {
        enum gce_collection c;
        enum gce_verb v;
        const char *body;
        bool members;
        unsigned outcome;
        int code;
        enum gce_known before, after;
        int64_t size;
    } rows[] = {
        {GCE_HCS, GCE_INSERT, "{\"name\":\"n\"}", false, LB_DONE, 0, GCE_UNKNOWN, GCE_PRESENT, 7},
        {GCE_HCS, GCE_INSERT, "{\"name\":\"n\"}", false, LB_FAILED, ERR_TRANSIENT, GCE_ABSENT,
         GCE_UNKNOWN, 7},
        {GCE_RULES, GCE_INSERT, "{\"name\":\"n\"}", false, LB_DONE, 0, GCE_ABSENT, GCE_UNKNOWN, 7},
        {GCE_RULES, GCE_DELETE, NULL, false, LB_DONE, 0, GCE_PRESENT, GCE_ABSENT, 7},
        {GCE_RULES, GCE_DELETE, NULL, false, LB_TOLERATED, ERR_NOT_FOUND, GCE_PRESENT, GCE_ABSENT,
         7},
        {GCE_RULES, GCE_DELETE, NULL, false, LB_TOLERATED, ERR_IN_USE, GCE_PRESENT, GCE_UNKNOWN, 7},
        {GCE_RULES, GCE_DELETE, NULL, false, LB_NOT_RUN, 0, GCE_PRESENT, GCE_PRESENT, 5},
        {GCE_NEGS, GCE_ATTACH, "{}", true, LB_DONE, 0, GCE_PRESENT, GCE_PRESENT, -1},
        {GCE_NEGS, GCE_ATTACH, "{}", true, LB_FAILED, ERR_TRANSIENT, GCE_PRESENT, GCE_UNKNOWN, 7},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_op op = {.c = rows[i].c,
                                  .verb = rows[i].v,
                                  .zone = gce_api_is_zonal(rows[i].c) ? KIT_ZONE : NULL,
                                  .name = "n",
                                  .body = rows[i].body != NULL ? kit_json(k, rows[i].body) : NULL,
                                  .members = rows[i].members};
        const struct gce_key key = {.c = op.c, .zone = op.zone, .name = "n"};
        const struct lb_op outer = LB_OP(.name = "n", .arg = &op);
        const struct err err = {.code = rows[i].code};
        struct json_object *o = NULL;
        if (rows[i].before == GCE_UNKNOWN) {
            gce_snapshot_forget(k->p->cloud.snapshot, &key);
        } else {
            gce_snapshot_put(k->p->cloud.snapshot, &key,
                             rows[i].before == GCE_ABSENT
                                 ? NULL
                                 : kit_json(k, "{\"name\":\"n\",\"size\":5,\"priority\":5}"));
        }
        gce_op_wrote(&k->p->cloud, &outer, rows[i].outcome, &err);
        enum gce_known after =
            gce_snapshot_get(k->p->cloud.snapshot, &key, GCE_SNAPSHOT_ANY, k->a, &o);
        if (after != rows[i].after ||
            (o != NULL && json_int(o, "size", rows[i].size) != rows[i].size)) {
            fail_msg("row %zu: %d", i, (int)after);
        }
    }
}

/* ---- POSTs that read ------------------------------------------------------------------------- */

static void count_item(void *arg, const char *text, size_t n)
{
    (void)text;
    assert_true(n > 0);
    (*(unsigned *)arg)++;
}

/* The first page is a made-up one with a token, the second is the simulator's. */
static void list_endpoints__is_paged_and_changes_nothing(void **state)
{
    struct kit *k = *state;
    unsigned n = 0;
    struct gce_splitter cutter;
    struct gce_read read;
    struct http_job *jobs[] = {&read.job};
    const struct gce_call_spec spec = {.collection = GCE_NEGS,
                                       .verb = GCE_LIST_ENDPOINTS,
                                       .zone = KIT_ZONE,
                                       .name = "k8s2-neg",
                                       .cutter = &cutter};
    kit_make(k, "zones/" KIT_ZONE "/networkEndpointGroups", KIT_NEG("k8s2-neg"));
    rig_fault(k->r, "{\"match\":{\"op\":\"compute.networkEndpointGroups.listNetworkEndpoints\"},"
                    "\"count\":1,\"do\":\"refuse\",\"status\":200,\"body\":{"
                    "\"kind\":\"compute#networkEndpointGroupsListNetworkEndpoints\",\"items\":["
                    "{\"networkEndpoint\":{\"instance\":\"a\"}},{\"networkEndpoint\":{\"instance\":"
                    "\"b\"}}],\"nextPageToken\":\"MA==\"}}");
    gce_splitter_init(&cutter, count_item, &n);
    gce_read_init(&read, &k->p->cloud.api, &k->call, k->a, &spec);
    assert_string_equal(read.call.body, "{\"healthStatus\":\"SKIP\"}");
    http_run(k->http, jobs, 1);
    gce_splitter_done(&cutter);
    assert_string_equal(read.job.err.message, "");
    assert_int_equal(n, 2);
    assert_int_equal(read.call.requests, 2);
    assert_int_equal(rig_mutations(k->r), 0);
}

UNIT_MAIN(ops)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(insert__late_members_and_the_chosen_address),
        KIT_TEST(insert__a_late_value_that_nobody_knows__is_a_bug),
        KIT_TEST(firewall__without_target_tags__never_sent),
        KIT_TEST(backend_service__put_over_what_was_not_read__is_a_conflict),
        KIT_TEST(backend_service__outdated_fingerprint__is_a_conflict),
        KIT_TEST(insert__name_is_taken__look_again),
        KIT_TEST(update__of_what_is_gone__look_again),
        KIT_TEST(delete__gone_or_in_use__as_the_cloud_says),
        KIT_TEST(hold__address_is_reserved_by_another_name__is_held),
        KIT_TEST(hold__any_address__is_read),
        KIT_TEST(firewall__forbidden__the_command_has_the_late_range),
        KIT_TEST(refusals__that_are_the_users),
        KIT_TEST(pool__made_with_a_machine_that_is_gone__the_others_join),
        KIT_TEST(pool__then__sent_one_after_the_other_until_one_is_refused),
        KIT_TEST(plain__a_refusal_keeps_the_clouds_words),
        KIT_TEST(neg__what_is_there_already_or_gone__the_rest_is_sent),
        KIT_TEST(group__members_come_and_go),
        KIT_TEST(group__vm_in_another_balanced_group__told_and_not_left_out),
        KIT_TEST(wrote__what_is_certain_is_known__the_rest_is_read_again),
        KIT_TEST(list_endpoints__is_paged_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
