/* SPDX-License-Identifier: Apache-2.0 */
/* test_sweep.c: every mutation of every flow in turn is refused, done without an answer, or is
 * the last thing that the process does; afterwards the cloud is what it would have been, with
 * the same address, and a second sync has nothing to do.
 *
 * The sweep finds its points by itself: it runs the flow once cleanly and counts.  A run plays a
 * part of them (sample.h).  Flows of §4.1 of the GCE specification. */
#include "tests/support/sample.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define MAX_TRIES 6
#define PARTS     20

struct flow {
    const char *name;
    void (*before)(struct rig *r); /* what is there when the flow begins */
    void (*edit)(struct rig *r);   /* what the user does */
    uint32_t verb;
    bool ip_stays; /* upstream promises the address */
};

static void nothing(struct rig *r)
{
    (void)r;
}

static void new_service(struct rig *r)
{
    rig_service(r, "web", "{}");
}

static void new_local(struct rig *r)
{
    rig_service(r, "web",
                "{\"spec\":{\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":31000}}");
}

static void existing(struct rig *r)
{
    new_service(r);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
}

static void existing_local(struct rig *r)
{
    new_local(r);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
}

static void two_existing(struct rig *r)
{
    rig_service(r, "other", "{}");
    assert_int_equal(rig_ensure(r, "other")->code, TT_OK);
    existing(r);
}

static void edit_ports(struct rig *r)
{
    rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":8080,\"protocol\":\"TCP\"}]}}");
}

static void edit_protocol(struct rig *r)
{
    rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":80,\"protocol\":\"UDP\"}]}}");
}

static void edit_ranges(struct rig *r)
{
    rig_edit(r, "web", "{\"spec\":{\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]}}");
}

static void edit_to_local(struct rig *r)
{
    rig_edit(r, "web",
             "{\"spec\":{\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":31000}}");
}

static void edit_to_cluster(struct rig *r)
{
    rig_edit(r, "web",
             "{\"spec\":{\"externalTrafficPolicy\":\"Cluster\",\"healthCheckNodePort\":null}}");
}

static void edit_affinity(struct rig *r)
{
    rig_edit(r, "web", "{\"spec\":{\"sessionAffinity\":\"ClientIP\"}}");
}

static void edit_affinity_and_policy(struct rig *r)
{
    edit_affinity(r);
    edit_to_local(r);
}

static void edit_tier(struct rig *r)
{
    rig_edit(r, "web",
             "{\"metadata\":{\"annotations\":{\"cloud.google.com/network-tier\":\"Standard\"}}}");
}

static void edit_nodes(struct rig *r)
{
    rig_remove_node(r, "node-1");
    rig_add_nodes(r, 1);
}

static void edit_static_ip(struct rig *r)
{
    rig_cloud_call(r, "POST", "regions/us-central1/addresses",
                   "{\"name\":\"mine\",\"address\":\"203.0.113.99\"}");
    rig_edit(r, "web", "{\"spec\":{\"loadBalancerIP\":\"203.0.113.99\"}}");
}

static const struct tt_kv deny_on[] = {
    {"enable-l4-deny-firewall", "true"},
    {"enable-l4-deny-firewall-rollback-cleanup", "true"},
};
static const struct tt_kv deny_off[] = {{"enable-l4-deny-firewall-rollback-cleanup", "true"}};

static void existing_with_deny(struct rig *r)
{
    rig_set_flags(r, deny_on, ARRAY_LEN(deny_on));
    rig_reopen(r);
    existing(r);
}

static void edit_deny_on(struct rig *r)
{
    rig_set_flags(r, deny_on, ARRAY_LEN(deny_on));
}

static void edit_deny_off(struct rig *r)
{
    rig_set_flags(r, deny_off, ARRAY_LEN(deny_off));
}

static void create_many(struct rig *r)
{
    rig_add_nodes(r, 250);
    new_service(r);
}

static void edit_delete(struct rig *r)
{
    rig_service_deleted(r, "web");
}

static const struct flow flows[] = {
    {"create", nothing, new_service, TT_VERB_ENSURE, false},
    {"create local", nothing, new_local, TT_VERB_ENSURE, false},
    {"port change", existing, edit_ports, TT_VERB_ENSURE, true},
    {"protocol change", existing, edit_protocol, TT_VERB_ENSURE, true},
    {"source ranges", existing, edit_ranges, TT_VERB_ENSURE, true},
    {"Cluster to Local, last", existing, edit_to_local, TT_VERB_ENSURE, true},
    {"Cluster to Local", two_existing, edit_to_local, TT_VERB_ENSURE, true},
    {"Local to Cluster", existing_local, edit_to_cluster, TT_VERB_ENSURE, true},
    {"affinity", existing, edit_affinity, TT_VERB_ENSURE, true},
    {"affinity and policy", existing, edit_affinity_and_policy, TT_VERB_ENSURE, true},
    {"tier", existing, edit_tier, TT_VERB_ENSURE, false},
    {"to a static address", existing, edit_static_ip, TT_VERB_ENSURE, false},
    {"nodes", existing, edit_nodes, TT_VERB_UPDATE, true},
    {"deny on", existing, edit_deny_on, TT_VERB_ENSURE, true},
    {"deny off", existing_with_deny, edit_deny_off, TT_VERB_ENSURE, true},
    {"create, 256 nodes", nothing, create_many, TT_VERB_ENSURE, false},
    {"delete with deny", existing_with_deny, edit_delete, TT_VERB_DELETE, false},
    {"delete, last", existing, edit_delete, TT_VERB_DELETE, false},
    {"delete", two_existing, edit_delete, TT_VERB_DELETE, false},
    {"delete local", existing_local, edit_delete, TT_VERB_DELETE, false},
};

enum mode { REFUSE = 0, FAIL_LONG, LOSE, DIE_BEFORE, DIE_AFTER, MODES };
static const char *const mode_names[] = {"refused once", "refused for good, then healed",
                                         "answer lost", "killed before", "killed after"};

static void begin_point(struct rig *r, enum mode mode, unsigned nth)
{
    switch (mode) {
    case DIE_BEFORE:
        rig_die_at(r, RIG_DIES_BEFORE, nth);
        return;
    case DIE_AFTER:
        rig_die_at(r, RIG_DIES_AFTER, nth);
        return;
    default:
        rig_break_mutation(r, nth, mode == LOSE ? "lose" : "refuse", mode == FAIL_LONG);
    }
}

/* Syncs again as a controller would, until it goes well. */
static void recover(struct rig *r, const struct flow *f, const char *what)
{
    const struct tt_result *res = NULL;
    for (int i = 0; i < MAX_TRIES; i++) {
        res = rig_sync(r, f->verb, "web");
        if (res->code == TT_OK) {
            return;
        }
    }
    fail_msg("%s: does not recover: %d %s\n%s", what, res->code, res->message, rig_inventory(r));
}

/* Addresses are handed out again where they may change: they are blanked for the comparison. */
static const char *comparable(struct rig *r, const char *text, const char *ip, bool blank)
{
    return blank && !str_is_empty(ip) ? str_replace(rig_arena(r), text, ip, "IP") : text;
}

static const char *rule_ip(struct rig *r)
{
    const char *ip = NULL;
    json_object_object_foreach(rig_cloud(r), path, resource)
    {
        if (strstr(path, "/forwardingRules/") != NULL && strstr(path, rig_lb_name(r, "web"))) {
            ip = json_str(resource, "IPAddress");
        }
    }
    return ip == NULL ? "" : arena_strdup(rig_arena(r), ip);
}

struct clean {
    struct json_object *world; /* when the flow begins */
    const char *ip_before;
    const char *fingerprint; /* after a clean run */
    unsigned mutations;
};

static void check_point(struct rig *r, const struct flow *f, const struct clean *c,
                        const char *what)
{
    const char *ip = rule_ip(r);
    if (f->ip_stays && !str_eq(ip, c->ip_before)) {
        fail_msg("%s: the address was %s and is %s", what, c->ip_before, ip);
    }
    const char *now = comparable(r, rig_fingerprint(r), ip, !f->ip_stays);
    if (!str_eq(now, c->fingerprint)) {
        fail_msg("%s: the cloud is\n%s\nnot\n%s", what, now, c->fingerprint);
    }
    if (f->verb == TT_VERB_DELETE) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        rig_forget(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        if (rig_mutations(r) != 0) {
            fail_msg("%s: sync %d afterwards still changes: %s", what, i + 1, rig_last_plan(r));
        }
        rig_reopen(r);
    }
}

static void sweep(const struct flow *f)
{
    struct rig *r = rig_start(NULL);
    struct clean c;
    f->before(r);
    f->edit(r);
    c.world = rig_save(r);
    c.ip_before = rule_ip(r);
    struct json_object *service = rig_service_tree(r, "web");
    rig_reopen(r);
    rig_forget(r);
    recover(r, f, f->name);
    c.mutations = rig_mutations(r);
    c.fingerprint = comparable(r, rig_fingerprint(r), rule_ip(r), !f->ip_stays);
    assert_in_range(c.mutations, 1, 20);
    const struct sample part = sample_of_test(PARTS);
    unsigned points = 0;
    for (unsigned n = 1; n <= c.mutations; n++) {
        for (int mode = 0; mode < MODES; mode++) {
            if (!sample_takes(&part, arena_printf(rig_arena(r), "%s %u %d", f->name, n, mode))) {
                continue;
            }
            points++;
            const char *what = arena_printf(rig_arena(r), "%s, mutation %u of %u, %s", f->name, n,
                                            c.mutations, mode_names[mode]);
            rig_load(r, c.world);
            rig_set_service_tree(r, "web", service);
            rig_reopen(r);
            rig_forget(r);
            begin_point(r, (enum mode)mode, n);
            (void)rig_sync(r, f->verb, "web");
            if (mode == REFUSE || mode == FAIL_LONG || mode == LOSE) {
                assert_int_not_equal(rig_fault_hits(r), 0);
            }
            if (mode == FAIL_LONG) {
                (void)rig_sync(r, f->verb, "web");
            }
            rig_no_faults(r);
            if (mode == DIE_BEFORE || mode == DIE_AFTER) {
                assert_true(rig_is_dead(r));
                rig_reopen(r);
            }
            recover(r, f, what);
            check_point(r, f, &c, what);
        }
    }
    print_message("# %s: %u of %u points\n", f->name, points, c.mutations * MODES);
    json_object_put(service);
    json_object_put(c.world);
    rig_stop(r);
}

#define SWEEP(i)                                                                                   \
    static void sweep__##i(void **state)                                                           \
    {                                                                                              \
        (void)state;                                                                               \
        sweep(&flows[i]);                                                                          \
    }
SWEEP(0)
SWEEP(1)
SWEEP(2)
SWEEP(3)
SWEEP(4)
SWEEP(5)
SWEEP(6)
SWEEP(7)
SWEEP(8)
SWEEP(9)
SWEEP(10)
SWEEP(11)
SWEEP(12)
SWEEP(13)
SWEEP(14)
SWEEP(15)
SWEEP(16)
SWEEP(17)
SWEEP(18)
SWEEP(19)

#define ROW(i)                                                                                     \
    {                                                                                              \
        .name = "sweep__" #i, .test_func = sweep__##i                                              \
    }

UNIT_MAIN(sweep)
{
    struct CMUnitTest tests[] = {ROW(0),  ROW(1),  ROW(2),  ROW(3),  ROW(4),  ROW(5),  ROW(6),
                                 ROW(7),  ROW(8),  ROW(9),  ROW(10), ROW(11), ROW(12), ROW(13),
                                 ROW(14), ROW(15), ROW(16), ROW(17), ROW(18), ROW(19)};
    for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
        tests[i].name = flows[i].name;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
