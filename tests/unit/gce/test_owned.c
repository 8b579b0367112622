/* SPDX-License-Identifier: Apache-2.0 */
/* test_owned.c: whose a resource is, by its name and by what it refers to (gce_owned_rules.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_owned_rules.h"
#include "providers/gce/model/gce_l4_names.h"
#include "tests/support/objects.h"
#include "tests/support/unit.h"

#define LB    "a0123456789abcdef0123456789abcde" /* without owner */
#define LIVE  "a1111111122223333444455555555555"
#define KUBE  "7f2a0f4c-5a5b-4c59-9d5b-0c6a36b8a0de"
#define OF(k) "\"description\":\"{\\\"kubernetes.io/service-name\\\":\\\"" k "\\\"}\""

struct stand {
    struct arena *a;
    struct gce_owned_facts f;
    struct inventory inv;
};

static int set_up(void **state)
{
    static const char *const nodes[] = {"node-0", "node-1"};
    static const char *const tags[] = {"node"};
    struct arena *a = arena_new();
    struct stand *s = ARENA_NEW(a, struct stand);

    s->a = a;
    s->f = (struct gce_owned_facts){
        .a = a,
        .cluster_id = "abc123",
        .l4_hash = gce_l4_cluster_hash(a, KUBE),
        .group = "k8s-ig--abc123",
        .nodes = str_set_make(a, nodes, 2),
        .tags = str_set_make(a, tags, 1),
        .used = map_new(NULL),
        .lbs = map_new(NULL),
        .pools = map_new(NULL),
        .project = "p1",
        .network_project = "net",
        .region = "r1",
    };
    inventory_init(&s->inv, a);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stand *s = *state;

    map_free(s->f.used);
    map_free(s->f.lbs);
    map_free(s->f.pools);
    arena_free(s->a);
    return 0;
}

static bool add(struct stand *s, enum gce_collection c, const char *name, const char *rest)
{
    const char *text =
        arena_printf(s->a, "{\"name\":\"%s\"%s%s}", name, *rest != '\0' ? "," : "", rest);
    struct json_object *o = NULL;

    assert_int_equal(ERR_OK, json_parse_arena(s->a, text, strlen(text), NULL, &o, NULL));
    struct gce_owned *owned = ARENA_NEW(s->a, struct gce_owned);
    bool is = gce_owned_read(&s->f, c, o, owned);
    if (is) {
        inventory_add(&s->inv, &owned->item);
    }
    return is;
}

static size_t settle(struct stand *s)
{
    gce_owned_settle(&s->f, &s->inv);
    return s->inv.n;
}

/* The Service by which items [i, i + n) can be deleted. */
static const struct tt_service *service_of(struct stand *s, size_t i, size_t n)
{
    const struct inventory_unit unit = {.items = s->inv.items + i, .n = n};
    return gce_owned_service(&s->f, &unit);
}

static void live_service(struct stand *s)
{
    gce_owned_facts_add(
        &s->f,
        test_service_text(s->a, "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\",\"uid\":"
                                "\"11111111-2222-3333-4444-555555555555\"},\"spec\":{\"type\":"
                                "\"LoadBalancer\"}}"),
        KUBE);
}

static void read__names__ours_or_none(void **state)
{
    struct stand *s = *state;
    const struct {
        enum gce_collection c;
        const char *name;
        bool ours;
    } rows[] = {
        {GCE_RULES, LB, true},
        {GCE_RULES, LB "-ipv6", true},
        {GCE_FIREWALLS, "k8s-fw-" LB, true},
        {GCE_FIREWALLS, "k8s-fw-" LB "-deny", true},
        {GCE_FIREWALLS, "k8s-" LB "-http-hc", true},
        {GCE_FIREWALLS, LB "-hc", true},
        {GCE_RULES, "a0123456789abcdef0123456789abcdX", false},
        {GCE_RULES, LB "f", false},
        {GCE_RULES, "b0123456789abcdef0123456789abcde", false},
        {GCE_ADDRESSES, "mine", false},
        {GCE_FIREWALLS, "k8s-fw-l7--abc123", false},
        {GCE_CHECKS, "k8s-abc123-node", true},
        {GCE_CHECKS, "k8s-abc124-node", false},
        {GCE_FIREWALLS, "k8s-abc123-node-http-hc", true},
        {GCE_BACKENDS, "k8s-abc123-internal-tcp-nmv1-0123456789abcdef", true},
        {GCE_GROUPS, "k8s-ig--abc123", true},
        {GCE_GROUPS, "k8s-ig--other", false},
        {GCE_BACKENDS, arena_printf(s->a, "k8s2-%s-demo-web-xyz12345", s->f.l4_hash), true},
        {GCE_RULES, arena_printf(s->a, "k8s2-tcp-%s-demo-web-xyz12345", s->f.l4_hash), true},
        {GCE_RULES, "k8s2-tcp-00000000-demo-web-xyz12345", false},
        {GCE_RULES, arena_printf(s->a, "k8s2-fr-%s-demo-web-xyz12345", s->f.l4_hash), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        s->inv.n = 0;
        if (add(s, rows[i].c, rows[i].name, "") != rows[i].ours) {
            fail_msg("%s", rows[i].name);
        }
    }
}

static void settle__pieces_vouch_for_each_other(void **state)
{
    static const struct {
        const char *pool, *firewall;
        size_t left;
        bool unsure;
    } rows[] = {
        {"\"instances\":[]", "", 3, true}, /* nothing says whose */
        {"\"healthChecks\":[\"x/httpHealthChecks/k8s-abc123-node\"]", "", 3, false},
        {"\"healthChecks\":[\"x/httpHealthChecks/k8s-other-node\"]", "", 0, false},
        {"\"instances\":[\"z/instances/node-1\"]", "", 3, false},
        {"\"instances\":[\"z/instances/theirs\"]", "", 0, false},
        /* nodes go, the cluster's check stays */
        {"\"instances\":[\"z/instances/gone\"],\"healthChecks\":[\"k8s-abc123-node\"]", "", 3,
         false},
        /* an id of another cluster counts more than a node's name, which two may have */
        {"\"instances\":[\"z/instances/node-1\"],\"healthChecks\":[\"k8s-other-node\"]", "", 0,
         false},
        {"\"instances\":[]", "\"targetTags\":[\"node\"]", 3, true}, /* a tag is no proof */
        {"\"instances\":[]", "\"targetTags\":[\"theirs\"]", 0, false},
    };
    struct stand *s = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        s->inv.n = 0;
        add(s, GCE_POOLS, LB, rows[i].pool);
        add(s, GCE_FIREWALLS, "k8s-fw-" LB, rows[i].firewall);
        add(s, GCE_ADDRESSES, LB, "");
        if (settle(s) != rows[i].left ||
            (s->inv.n > 0 && s->inv.items[0]->unsure != rows[i].unsure)) {
            fail_msg("row %zu: %zu left, unsure %d", i, s->inv.n, s->inv.items[0]->unsure);
        }
        for (size_t k = 1; k < s->inv.n; k++) {
            assert_int_equal(s->inv.items[0]->unsure, s->inv.items[k]->unsure);
        }
    }
}

static void settle__names_of_a_service_that_is_there__used(void **state)
{
    struct stand *s = *state;
    struct gce_l4_names n;

    live_service(s);
    gce_l4_names_make(s->a, KUBE, "demo", "web", "11111111-2222-3333-4444-555555555555", &n);
    add(s, GCE_POOLS, n.legacy, "\"instances\":[\"z/instances/theirs\"]"); /* whatever it says */
    add(s, GCE_BACKENDS, n.backend, "");
    add(s, GCE_FIREWALLS, n.deny, "");
    add(s, GCE_CHECKS, "k8s-abc123-node", "");
    add(s, GCE_FIREWALLS, n.shared_check_firewall, "");
    assert_int_equal(5, settle(s));
    for (size_t i = 0; i < s->inv.n; i++) {
        assert_true(s->inv.items[i]->used);
        assert_false(s->inv.items[i]->unsure);
    }
}

static void settle__shared_and_groups__as_long_as_anybody_needs_them(void **state)
{
    struct stand *s = *state;

    add(s, GCE_CHECKS, "k8s-abc123-node", "");
    add(s, GCE_GROUPS, "k8s-ig--abc123", "\"zone\":\"x/zones/z1\"");
    s->f.in_use_elsewhere = true;
    assert_int_equal(2, settle(s));
    for (size_t i = 0; i < s->inv.n; i++) {
        assert_int_equal(s->inv.items[i]->kind == GCE_GROUPS, s->inv.items[i]->used);
        assert_null(service_of(s, i, 1));
    }
}

static void service__of_a_unit__has_its_names(void **state)
{
    struct stand *s = *state;

    add(s, GCE_RULES, LB,
        OF("shop/old") ",\"loadBalancingScheme\":\"EXTERNAL\",\"target\":\"r/targetPools/x\"");
    add(s, GCE_FIREWALLS, "k8s-fw-" LB, "");
    assert_int_equal(2, settle(s));
    assert_string_equal("shop/old", s->inv.items[1]->key); /* the unit's */
    const struct tt_service *svc = service_of(s, 0, s->inv.n);
    assert_non_null(svc);
    assert_string_equal("shop", svc->ns);
    assert_string_equal("old", svc->name);
    assert_string_equal(LB, svc_default_lb_name(s->a, svc->uid));
    assert_int_equal(1, svc->n_finalizers);
    assert_string_equal("gke.networking.io/l4-netlb-v1", svc->finalizers[0]);
}

static void service__unknown_owner_or_a_successor__only_by_hand(void **state)
{
    struct stand *s = *state;
    const char *l4 =
        "\"description\":\"{\\\"networking.gke.io/service-name\\\":\\\"demo/web\\\"}\"";

    add(s, GCE_ADDRESSES, LB, "");
    assert_int_equal(1, settle(s));
    assert_null(service_of(s, 0, 1));
    assert_string_equal("gcloud compute addresses delete " LB " --project=p1 --region=r1",
                        gce_owned_command(&s->f, s->inv.items[0]));

    /* a rule of the predecessor of a Service that is there: its other names are that
     * one's by now */
    s->inv.n = 0;
    live_service(s);
    add(s, GCE_RULES, LB, l4);
    assert_int_equal(1, settle(s));
    assert_false(s->inv.items[0]->used);
    assert_null(service_of(s, 0, 1));
}

/* Names with the cluster's hash do not hold the uid: what an older Service of the name left
 * is not the pool's. */
static void settle__came_back_as_a_target_pool__what_the_older_one_had_is_nobodys(void **state)
{
    static const char *const rules[] = {"\"target\":\"x/targetPools/" LIVE "\"",
                                        "\"backendService\":\"x/backendServices/y\""};
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct stand *s = *state;
        const char *left = arena_printf(s->a, "k8s2-tcp-%s-demo-web-xyz12345", s->f.l4_hash);
        const char *of = "\"loadBalancingScheme\":\"INTERNAL\",\"description\":"
                         "\"{\\\"networking.gke.io/service-name\\\":\\\"demo/web\\\"}\"";
        map_clear(s->f.pools);
        s->inv.n = 0;
        live_service(s);
        assert_true(add(s, GCE_RULES, left, of));
        assert_true(add(s, GCE_RULES, LIVE, rules[i]));
        assert_int_equal(settle(s), 2);
        size_t piece = str_eq(s->inv.items[0]->name, left) ? 0 : 1;
        assert_int_equal(s->inv.items[piece]->used, i == 1);
        const struct tt_service *svc = service_of(s, piece, 1);
        assert_int_equal(svc != NULL, i == 0);
        if (svc != NULL) {
            assert_string_equal(svc->name, "web");
            assert_string_not_equal(svc->uid, "11111111-2222-3333-4444-555555555555");
        }
    }
}

UNIT_MAIN(owned)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read__names__ours_or_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(settle__pieces_vouch_for_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(settle__names_of_a_service_that_is_there__used, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(settle__shared_and_groups__as_long_as_anybody_needs_them,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            settle__came_back_as_a_target_pool__what_the_older_one_had_is_nobodys, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(service__of_a_unit__has_its_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(service__unknown_owner_or_a_successor__only_by_hand, set_up,
                                        tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
