/* SPDX-License-Identifier: Apache-2.0 */
/* test_put_back.c: an edit takes the forwarding rule down, Google refuses the new one, and what
 * stood stands again.
 *
 * One request is refused, as a cloud that does not like what is in it does; the undo asks for
 * something else and is taken.  The first insert is the question whether what stands may be made
 * (docs/adr/0049-asked-before.md): the ones after it are refused. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

static const struct tt_kv l4[] = {{"enable-l4-neg", "true"},
                                  {"gce-nodes-need-pod-cidr", "false"},
                                  {"run-l4-controller", "true"},
                                  {"run-l4-netlb-controller", "true"}};

#define INTERNAL                                                                                   \
    "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":\"Internal\"}}}"
#define RBS "{\"metadata\":{\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"}}}"
#define FLIP(type, rbs)                                                                            \
    "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":" type               \
    ",\"cloud.google.com/l4-rbs\":" rbs "}}}"
#define TO_RBS      FLIP("null", "\"enabled\"")
#define TO_INTERNAL FLIP("\"Internal\"", "null")
#define TO_POOL     "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":null}}}"
#define PORTS(port, protocol)                                                                      \
    "{\"spec\":{\"ports\":[{\"port\":" port ",\"protocol\":\"" protocol "\"}]}}"

/* `legacy`: without ingress-gce's part. */
static struct rig *start_part(int nodes, const char *service, bool legacy)
{
    const struct rig_options opt = {
        .nodes = nodes, .flags = legacy ? NULL : l4, .n_flags = legacy ? 0 : ARRAY_LEN(l4)};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", service);
    rig_edit(r, "web", PORTS("80", "TCP"));
    rig_pods(r, "web", "node-0 node-1");
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    return r;
}

static struct rig *start(int nodes, const char *service)
{
    return start_part(nodes, service, false);
}

static void refuse_from(struct rig *r, const char *op, int first, int times, int status)
{
    rig_fault(r, arena_printf(rig_arena(r),
                              "{\"match\":{\"op\":\"compute.%s\"},\"from\":%d,\"count\":%d,"
                              "\"do\":\"refuse\",\"status\":%d}",
                              op, first, times, status));
}

static void refuse(struct rig *r, const char *op, int times, int status)
{
    refuse_from(r, op, strstr(op, ".insert") != NULL ? 2 : 1, times, status);
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("not \"%s\" in: %s", part, text);
    }
}

/* Everything but what the cloud chooses and the address that is held until the edit is through. */
static const char *standing(struct rig *r)
{
    size_t n = 0;
    char **lines = str_split(rig_arena(r), rig_fingerprint(r), '\n', &n);
    const char *out = "";
    for (size_t i = 0; i < n; i++) {
        if (strstr(lines[i], "addresses/") == NULL) {
            out = arena_printf(rig_arena(r), "%s%s\n", out, lines[i]);
        }
    }
    return out;
}

struct row {
    const char *service;
    const char *edit;
    const char *back;    /* the edit that takes it back */
    const char *refused; /* operation */
    int times;           /* a conflict is tried five times */
    int status;
    const char *told;
};

static void put_back(const struct row *row)
{
    struct rig *r = start(6, row->service);
    const char *before = standing(r);
    rig_edit(r, "web", row->edit);
    expect_text(rig_plan(r, "web"), "put back if the replacement is refused");
    refuse(r, row->refused, row->times, row->status);
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_not_equal(res->code, TT_OK);
    expect_text(res->message, row->told);
    assert_int_equal(res->retry_after_ms, 300000);
    assert_string_equal(standing(r), before);
    rig_edit(r, "web", row->back);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_string_equal(standing(r), before);
    assert_null(strstr(rig_inventory(r), "addresses/"));
    rig_forget(r);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

static void edit__new_rule_refused__all_as_before_and_told(void **state)
{
    static const char *const insert = "forwardingRules.insert";
    static const char *const both = "; the former firewall and forwarding rule were put back";
    const struct row rows[] = {
        {"{}", PORTS("8080", "TCP"), PORTS("80", "TCP"), insert, 1, 400, both},
        {"{}", PORTS("8080", "TCP"), PORTS("80", "TCP"), insert, 1, 403, both},
        {"{}", PORTS("8080", "TCP"), PORTS("80", "TCP"), insert, 5, 412, both},
        {"{}", PORTS("8080", "TCP"), PORTS("80", "TCP"), "forwardingRules.delete", 1, 403,
         "; the former firewall was put back"},
        {"{}", "{\"spec\":{\"sessionAffinity\":\"ClientIP\"}}",
         "{\"spec\":{\"sessionAffinity\":\"None\"}}", "targetPools.insert", 1, 403,
         "; the former forwarding rule and target pool were put back"},
        {INTERNAL, PORTS("8080", "TCP"), PORTS("80", "TCP"), insert, 1, 403, both},
        {RBS, PORTS("8080", "TCP"), PORTS("80", "TCP"), insert, 1, 403, both},
        {RBS, PORTS("8080", "TCP"), PORTS("80", "TCP"), insert, 5, 409, both},
        {INTERNAL, PORTS("80", "UDP"), PORTS("80", "TCP"), insert, 1, 403,
         "; the former backend service, firewall and forwarding rule were put back"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# row %zu\n", i);
        put_back(&rows[i]);
    }
}

static void edit__pool_of_many_refused__comes_back_with_all(void **state)
{
    (void)state;
    struct rig *r = start(201, "{}");
    rig_edit(r, "web", "{\"spec\":{\"sessionAffinity\":\"ClientIP\"}}");
    refuse(r, "targetPools.insert", 1, 403);
    expect_text(rig_ensure(r, "web")->message, "target pool were put back");
    struct json_object *pool =
        rig_resource(r, arena_printf(rig_arena(r), "targetPools/%s", rig_lb_name(r, "web")));
    assert_int_equal(json_len(json_member(pool, "instances")), 201);
    assert_string_equal(json_str(pool, "sessionAffinity"), "NONE");
    rig_stop(r);
}

/* A refused edit must not let in more clients than it asks for. */
static void edit__ports_and_ranges__only_the_ports_come_back(void **state)
{
    const char *const kinds[] = {"{}", RBS};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = start(6, kinds[i]);
        rig_edit(r, "web", PORTS("8080", "TCP"));
        rig_edit(r, "web", "{\"spec\":{\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]}}");
        refuse(r, "forwardingRules.insert", 1, 403);
        assert_int_equal(rig_ensure(r, "web")->code, TT_FORBIDDEN);
        const char *all = standing(r);
        expect_text(all, "192.0.2.0/24");
        expect_text(all, "\"80\"");
        assert_null(strstr(all, "8080"));
        rig_stop(r);
    }
}

/* The right to make what must go first is missing: nothing goes, and the retry asks again. */
static void edit__may_not_be_made__all_stands(void **state)
{
    static const struct {
        const char *service;
        const char *edit;
        const char *op;
        const char *what;
    } rows[] = {
        {"{}", PORTS("8080", "TCP"), "forwardingRules.insert", "forwarding rule"},
        {"{}", "{\"spec\":{\"sessionAffinity\":\"ClientIP\"}}", "targetPools.insert",
         "target pool"},
        {INTERNAL, PORTS("8080", "TCP"), "forwardingRules.insert", "forwarding rule"},
        {RBS, PORTS("8080", "TCP"), "forwardingRules.insert", "forwarding rule"},
        {RBS, PORTS("80", "UDP"), "forwardingRules.insert", "forwarding rule"},
        {INTERNAL, TO_RBS, "forwardingRules.insert", "forwarding rule"},
        {INTERNAL, TO_RBS, "regionBackendServices.insert", "backend service"},
        {RBS, TO_INTERNAL, "forwardingRules.insert", "forwarding rule"},
        {RBS, TO_INTERNAL, "regionBackendServices.insert", "backend service"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = start(6, rows[i].service);
        const char *before = standing(r);
        print_message("# row %zu\n", i);
        rig_edit(r, "web", rows[i].edit);
        refuse_from(r, rows[i].op, 1, 0, 403);
        for (int try = 0; try < 2; try++) {
            const struct tt_result *res = rig_ensure(r, "web");
            assert_int_equal(res->code, TT_FORBIDDEN);
            expect_text(res->message,
                        arena_printf(rig_arena(r), "; the former %s stays", rows[i].what));
            assert_string_equal(standing(r), before);
        }
        rig_no_faults(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        rig_stop(r);
    }
}

/* A target pool and an internal balancer with NEGs share no name: whatever is refused of the new
 * one, the former one serves on; and it is gone when the new one is complete. */
static void flip__of_kinds_without_common_names__the_former_one_serves_until_the_end(void **state)
{
    static const struct {
        const char *from, *to, *former; /* collection/prefix of its rule */
    } rows[] = {{"{}", INTERNAL, "forwardingRules/a"},
                {INTERNAL, TO_POOL, "forwardingRules/k8s2-tcp-"}};
    static const char *const ops[] = {"addresses.insert",
                                      "firewalls.insert",
                                      "healthChecks.insert",
                                      "targetPools.insert",
                                      "httpHealthChecks.insert",
                                      "networkEndpointGroups.insert",
                                      "regionBackendServices.insert",
                                      "forwardingRules.insert"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n_refused = 0;
        for (size_t k = 0; k < ARRAY_LEN(ops); k++) {
            struct rig *r = start(6, rows[i].from);
            rig_edit(r, "web", rows[i].to);
            refuse_from(r, ops[k], 1, 0, 403);
            const struct tt_result *res = rig_ensure(r, "web");
            bool refused = res->code != TT_OK;
            n_refused += refused;
            if (refused && strstr(rig_inventory(r), rows[i].former) == NULL) {
                fail_msg("row %zu, %s: the former rule has gone:\n%s", i, ops[k], rig_inventory(r));
            }
            rig_no_faults(r);
            assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
            assert_null(strstr(rig_inventory(r), rows[i].former));
            rig_stop(r);
        }
        assert_true(n_refused >= 3); /* the others are not sent, or tolerated */
    }
}

/* The same when the new one is complete, as long as the status names the former one. */
static void flip__status_cannot_be_written__the_former_one_serves(void **state)
{
    static const char *const rows[][3] = {{"{}", INTERNAL, "forwardingRules/a"},
                                          {INTERNAL, TO_POOL, "forwardingRules/k8s2-tcp-"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = start(6, rows[i][0]);
        rig_edit(r, "web", rows[i][1]);
        rig_unwritten(r, TT_FORBIDDEN);
        assert_int_equal(rig_ensure(r, "web")->code, TT_FORBIDDEN);
        expect_text(rig_inventory(r), rows[i][2]);
        rig_forget(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_FORBIDDEN);
        assert_int_equal(rig_mutations(r), 0);
        rig_unwritten(r, TT_OK);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_null(strstr(rig_inventory(r), rows[i][2]));
        rig_stop(r);
    }
}

/* Of the one forwarding rule that there is. */
static const char *the_address(struct rig *r)
{
    const char *found = "none";
    json_object_object_foreach(rig_cloud(r), path, o)
    {
        if (strstr(path, "/forwardingRules/") != NULL) {
            found = arena_strdup(rig_arena(r), json_str(o, "IPAddress"));
        }
    }
    return found;
}

/* Kinds that share names.  Whatever right is missing for the new one, the former one stands, or
 * comes back without it, at the address that it had. */
static void flip__of_kinds_with_common_names__former_one_needs_no_right_that_is_missing(
    void **state)
{
    static const struct {
        const char *from, *to, *back;
        bool legacy; /* cloud-provider-gcp's part alone */
    } rows[] = {{"{}", INTERNAL, TO_POOL, true},
                {INTERNAL, TO_POOL, INTERNAL, true},
                {RBS, TO_INTERNAL, TO_RBS, false},
                {INTERNAL, TO_RBS, TO_INTERNAL, false}};
    static const char *const ops[] = {"addresses.insert",
                                      "firewalls.insert",
                                      "healthChecks.insert",
                                      "regionHealthChecks.insert",
                                      "targetPools.insert",
                                      "httpHealthChecks.insert",
                                      "networkEndpointGroups.insert",
                                      "instanceGroups.insert",
                                      "regionBackendServices.insert",
                                      "forwardingRules.insert",
                                      "forwardingRules.delete"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n_refused = 0;
        for (size_t k = 0; k < ARRAY_LEN(ops); k++) {
            struct rig *r = start_part(6, rows[i].from, rows[i].legacy);
            const char *before = the_address(r);
            rig_edit(r, "web", rows[i].to);
            refuse_from(r, ops[k], 1, 0, 403);
            if (rig_ensure(r, "web")->code != TT_OK) {
                n_refused++;
                rig_edit(r, "web", rows[i].back); /* as the controller leads back */
                if (rig_ensure(r, "web")->code != TT_OK || !str_eq(the_address(r), before)) {
                    fail_msg("row %zu, %s: %s instead of %s", i, ops[k], the_address(r), before);
                }
                rig_edit(r, "web", rows[i].to);
            }
            rig_no_faults(r);
            assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
            assert_null(strstr(rig_inventory(r), "-former"));
            rig_stop(r);
        }
        assert_true(n_refused >= 4); /* the others are not sent */
    }
}

/* With other ports, too, a firewall cannot serve both rules.  When it may not be changed, the new
 * rule may stand already; what clients know comes back all the same. */
static void flip__with_other_ports__no_right_to_change_a_firewall__address_comes_back(void **state)
{
    static const struct {
        const char *from, *to, *back;
        bool legacy; /* cloud-provider-gcp's part alone */
    } rows[] = {{"{}", INTERNAL, TO_POOL, true},
                {INTERNAL, TO_POOL, INTERNAL, true},
                {RBS, TO_INTERNAL, TO_RBS, false},
                {INTERNAL, TO_RBS, TO_INTERNAL, false}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = start_part(6, rows[i].from, rows[i].legacy);
        const char *before = the_address(r);
        print_message("# row %zu\n", i);
        rig_edit(r, "web",
                 arena_printf(rig_arena(r),
                              "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"%s\"}]}}}",
                              before));
        rig_edit(r, "web", rows[i].to);
        rig_edit(r, "web", PORTS("8443", "TCP"));
        refuse_from(r, "firewalls.patch", 1, 0, 403);
        assert_int_equal(rig_ensure(r, "web")->code, TT_FORBIDDEN);
        rig_edit(r, "web", rows[i].back);
        rig_edit(r, "web", PORTS("80", "TCP"));
        assert_int_equal(rig_lead_back(r, "web")->code, TT_OK);
        assert_string_equal(the_address(r), before);
        assert_null(strstr(rig_inventory(r), "-former"));
        rig_stop(r);
    }
}

/* The firewall of the traffic lets in at both addresses until the former rule has gone.  A try that
 * finds it so leaves it alone. */
static void flip__refused_again__firewall_of_both_addresses_is_not_written_again(void **state)
{
    (void)state;
    struct rig *r = start_part(6, INTERNAL, true);
    rig_edit(r, "web", TO_POOL);
    refuse_from(r, "firewalls.insert", 1, 0, 409);
    for (int i = 0; i < 2; i++) {
        assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    }
    unsigned before = rig_calls(r, "compute.firewalls.patch");
    assert_true(before > 0);
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_int_equal(rig_calls(r, "compute.firewalls.patch"), before);
    rig_no_faults(r);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    rig_stop(r);
}

/* All that can stand beside the former one is made before its rule goes: a refusal of it takes
 * nothing down, and no way back is needed. */
static void flip__of_kinds_with_common_names__former_rule_stands_until_the_rest_is_there(
    void **state)
{
    static const struct {
        const char *from, *to;
        bool legacy;
        size_t n_refused; /* requests that the change sends */
    } rows[] = {{"{}", INTERNAL, true, 4},
                {INTERNAL, TO_POOL, true, 4},
                {RBS, TO_INTERNAL, false, 3},
                {INTERNAL, TO_RBS, false, 4}};
    static const char *const ops[] = {"addresses.insert",
                                      "firewalls.insert",
                                      "healthChecks.insert",
                                      "regionHealthChecks.insert",
                                      "targetPools.insert",
                                      "httpHealthChecks.insert",
                                      "instanceGroups.insert",
                                      "instanceGroups.addInstances",
                                      "networkEndpointGroups.insert"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n_refused = 0;
        for (size_t k = 0; k < ARRAY_LEN(ops); k++) {
            struct rig *r = start_part(6, rows[i].from, rows[i].legacy);
            const char *before = the_address(r);
            rig_edit(r, "web", rows[i].to);
            refuse_from(r, ops[k], 1, 0, 403);
            if (rig_ensure(r, "web")->code != TT_OK) {
                n_refused++;
                if (!str_eq(the_address(r), before)) {
                    fail_msg("row %zu, %s: %s instead of %s", i, ops[k], the_address(r), before);
                }
            }
            rig_no_faults(r);
            assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
            assert_null(strstr(rig_inventory(r), "-former"));
            rig_stop(r);
        }
        print_message("# row %zu: %zu refused\n", i, n_refused);
        assert_true(n_refused >= rows[i].n_refused);
    }
}

/* The right to make rules is withdrawn when the old one has gone. */
static void edit__undo_refused_too__both_causes_told(void **state)
{
    (void)state;
    struct rig *r = start(6, "{}");
    rig_edit(r, "web", PORTS("8080", "TCP"));
    refuse_from(r, "forwardingRules.insert", 2, 0, 403);
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_FORBIDDEN);
    expect_text(res->message,
                "; the former forwarding rule could not be put back: forwarding rule");
    assert_int_equal(res->retry_after_ms, 0);
    rig_no_faults(r);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    rig_stop(r);
}

#define NOTES(member) "{\"metadata\":{\"annotations\":{" member "}}}"
#define STANDARD      NOTES("\"cloud.google.com/network-tier\":\"Standard\"")
#define NO_TIER       NOTES("\"cloud.google.com/network-tier\":null")
#define MINE          "{\"name\":\"mine\"}"

/* An edit to another address, of a Service whose address is not reserved. */
struct move {
    const char *service;
    const char *edit; /* %s: the address that the user has reserved */
    const char *back;
};

static const struct move moves[] = {
    {"{}", STANDARD, NO_TIER},
    {"{}", "{\"spec\":{\"loadBalancerIP\":\"%s\"}}", "{\"spec\":{\"loadBalancerIP\":null}}"},
    {RBS, STANDARD, NO_TIER},
    {RBS, "{\"spec\":{\"loadBalancerIP\":\"%s\"}}", "{\"spec\":{\"loadBalancerIP\":null}}"},
};

static const char *address_of_rule(struct rig *r)
{
    struct json_object *rule =
        rig_resource(r, arena_printf(rig_arena(r), "forwardingRules/%s", rig_lb_name(r, "web")));
    return rule == NULL ? NULL : arena_strdup(rig_arena(r), json_str(rule, "IPAddress"));
}

/* *ret_before: the address that the Service has, and publishes. */
static struct rig *start_move(const struct move *m, const char **ret_before)
{
    struct rig *r = start(6, m->service);
    *ret_before = address_of_rule(r);
    rig_edit(r, "web",
             arena_printf(rig_arena(r),
                          "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"%s\"}]}}}",
                          *ret_before));
    rig_cloud_call(r, "POST", "regions/us-central1/addresses", MINE);
    const char *mine = json_str(rig_resource(r, "addresses/mine"), "address");
    rig_edit(r, "web", str_replace(rig_arena(r), m->edit, "%s", mine));
    return r;
}

static void expect_no_held_address(struct rig *r)
{
    if (strstr(rig_inventory(r), "addresses/a") != NULL) {
        fail_msg("held still:\n%s", rig_inventory(r));
    }
}

/* Google frees the address of a rule with the rule, and gives out none that is asked for. */
static void edit_to_another_address__rule_refused__former_rule_and_address_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        print_message("# row %zu\n", i);
        const char *before = NULL;
        struct rig *r = start_move(&moves[i], &before);
        refuse(r, "forwardingRules.insert", 1, 400);
        const struct tt_result *res = rig_ensure(r, "web");
        assert_int_not_equal(res->code, TT_OK);
        expect_text(res->message, " put back");
        assert_string_equal(str_or(address_of_rule(r), "none"), before);
        expect_text(standing(r), before); /* the firewall lets clients in to it again */
        rig_edit(r, "web", moves[i].back);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_string_equal(address_of_rule(r), before);
        expect_no_held_address(r);
        rig_forget(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_int_equal(rig_mutations(r), 0);
        rig_stop(r);
    }
}

/* A process that dies at any of its requests, and an edit that is taken back then. */
static void edit_to_another_address__process_dies__address_is_found_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        unsigned at = 1;
        for (bool died = true; died; at++) {
            const char *before = NULL;
            struct rig *r = start_move(&moves[i], &before);
            rig_die_at(r, RIG_DIES_BEFORE, at);
            (void)rig_ensure(r, "web");
            died = rig_is_dead(r);
            bool done = address_of_rule(r) != NULL && !str_eq(address_of_rule(r), before);
            if (died && !done) {
                rig_reopen(r);
                rig_edit(r, "web", moves[i].back);
                assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
                assert_string_equal(address_of_rule(r), before);
                expect_no_held_address(r);
            }
            rig_stop(r);
        }
        assert_true(at > 6);
    }
}

static void edit_to_another_address__carried_out__two_more_writes_and_nothing_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        const char *before = NULL;
        struct rig *r = start_move(&moves[i], &before);
        rig_forget(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        expect_no_held_address(r);
        const char *former = arena_printf(rig_arena(r), "%s-former", rig_lb_name(r, "web"));
        expect_text(rig_last_plan(r), former);
        rig_forget(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_int_equal(rig_mutations(r), 0);
        rig_stop(r);
    }
}

/* The status names the former address: it is not given back for others to get it. */
static void edit_to_another_address__status_cannot_be_written__held(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        const char *before = NULL;
        struct rig *r = start_move(&moves[i], &before);
        rig_unwritten(r, TT_TRANSIENT);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(rig_ensure(r, "web")->code, TT_TRANSIENT);
            assert_string_not_equal(address_of_rule(r), before);
            expect_text(rig_inventory(r), "-former");
        }
        rig_unwritten(r, TT_OK);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        expect_no_held_address(r);
        rig_stop(r);
    }
}

static void no_room_to_hold(struct rig *r)
{
    rig_fault(r, "{\"match\":{\"op\":\"compute.addresses.insert\"},\"count\":0,\"do\":\"refuse\","
                 "\"status\":403,\"body\":{\"error\":{\"code\":403,\"message\":\"No.\",\"errors\":"
                 "[{\"reason\":\"quotaExceeded\",\"message\":\"No.\"}]}}}");
}

/* The new rule's address is not known before that rule is there, nor is the former one held. */
static void flip__no_room_to_hold__carried_out(void **state)
{
    static const struct {
        const char *from, *to;
        bool legacy;
    } rows[] = {{"{}", INTERNAL, true}, {RBS, TO_INTERNAL, false}, {INTERNAL, TO_RBS, false}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = start_part(6, rows[i].from, rows[i].legacy);
        rig_edit(r, "web", rows[i].to);
        no_room_to_hold(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_null(strstr(rig_inventory(r), "addresses/"));
        rig_forget(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_int_equal(rig_mutations(r), 0);
        rig_stop(r);
    }
}

/* Without room for one more reservation the edit is carried out as if there was none. */
static void edit_to_another_address__no_room_to_hold__carried_out(void **state)
{
    (void)state;
    const char *before = NULL;
    struct rig *r = start_move(&moves[1], &before);
    no_room_to_hold(r);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    const char *now = address_of_rule(r);
    assert_string_equal(now, json_str(rig_resource(r, "addresses/mine"), "address"));
    rig_stop(r);
}

/* A deletion finds what a process left that died. */
static void edit_to_another_address__died_then_deleted__nothing_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        for (unsigned at = 2; at < 7; at++) {
            const char *before = NULL;
            struct rig *r = start_move(&moves[i], &before);
            rig_die_at(r, RIG_DIES_BEFORE, at);
            (void)rig_ensure(r, "web");
            rig_reopen(r);
            assert_int_equal(rig_delete(r, "web")->code, TT_OK);
            expect_no_held_address(r);
            rig_stop(r);
        }
    }
}

UNIT_MAIN(put_back)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edit__new_rule_refused__all_as_before_and_told),
        cmocka_unit_test(edit__pool_of_many_refused__comes_back_with_all),
        cmocka_unit_test(edit__ports_and_ranges__only_the_ports_come_back),
        cmocka_unit_test(edit__may_not_be_made__all_stands),
        cmocka_unit_test(flip__of_kinds_without_common_names__the_former_one_serves_until_the_end),
        cmocka_unit_test(flip__status_cannot_be_written__the_former_one_serves),
        cmocka_unit_test(
            flip__of_kinds_with_common_names__former_one_needs_no_right_that_is_missing),
        cmocka_unit_test(flip__with_other_ports__no_right_to_change_a_firewall__address_comes_back),
        cmocka_unit_test(flip__refused_again__firewall_of_both_addresses_is_not_written_again),
        cmocka_unit_test(
            flip__of_kinds_with_common_names__former_rule_stands_until_the_rest_is_there),
        cmocka_unit_test(edit__undo_refused_too__both_causes_told),
        cmocka_unit_test(edit_to_another_address__rule_refused__former_rule_and_address_come_back),
        cmocka_unit_test(edit_to_another_address__process_dies__address_is_found_again),
        cmocka_unit_test(edit_to_another_address__carried_out__two_more_writes_and_nothing_left),
        cmocka_unit_test(edit_to_another_address__status_cannot_be_written__held),
        cmocka_unit_test(flip__no_room_to_hold__carried_out),
        cmocka_unit_test(edit_to_another_address__no_room_to_hold__carried_out),
        cmocka_unit_test(edit_to_another_address__died_then_deleted__nothing_left),
    };
    return cmocka_run_group_tests_name("put_back", tests, NULL, NULL);
}
