/* SPDX-License-Identifier: Apache-2.0 */
/* test_groups.c: instance groups against the simulator: made once for all Services, whichever comes
 * first; what the cloud refuses; whose turn it is (gce_groups.h). */
#include "tests/unit/gce/cloud_kit.h"

#include "providers/gce/groups/gce_groups.h"
#include "providers/gce/ops/gce_members_read.h"
#include "tests/support/unit.h"

#include <pthread.h>

#define GROUP "k8s-ig--0123456789abcdef"

static const struct gce_node_filter filter = {.default_subnet = "default"};

/* Another sync beside the kit's: its own arena, its own turn. */
struct other {
    struct kit *k;
    struct arena *a;
    struct http *http;
    struct lb_sync s;
};

static void other_begin(struct other *o, struct kit *k)
{
    *o = (struct other){.k = k, .a = arena_new(), .http = http_pool_get(k->p->cloud.http)};
    http_bind(o->http, k->cancel, kit_may_mutate, NULL, NULL);
    o->s = k->s;
    o->s.a = o->s.life = o->a;
    o->s.http = o->http;
    o->s.reads = 0;
}

static void other_end(struct other *o)
{
    http_bind(o->http, NULL, NULL, NULL, NULL);
    http_pool_put(o->k->p->cloud.http, o->http);
    arena_free(o->a);
}

/* Groups of the first `n` nodes by name. */
static struct gce_groups_want want_of(struct lb_sync *s, struct kit *k, uint32_t n)
{
    const struct tt_node *const *nodes;
    uint32_t n_nodes;
    struct gce_groups_want want;
    k->p->cloud.host->nodes(k->p->cloud.host->ctx, &k->call, &nodes, &n_nodes);
    gce_groups_of(s->a, nodes, n < n_nodes ? n : n_nodes, true, &filter, 1000, &want);
    return want;
}
#define ALL 1000

struct done {
    struct kit *k;
    struct lb_sync *s;
    struct err first;
};

static void on_done(void *arg, const struct lb_op *op, int index, unsigned outcome,
                    const struct err *err, int64_t took_ms)
{
    struct done *d = arg;
    (void)index;
    (void)took_ms;
    gce_groups_wrote(d->k->p->groups, op, outcome, err);
    if (outcome == LB_FAILED) {
        gce_groups_tell(d->s, op, err);
        d->first = d->first.code == ERR_OK ? *err : d->first;
    }
}

/* Observes, plans, carries out.  Returns the plan; *ret_err: what failed. */
static struct lb_plan sync_groups(struct lb_sync *s, struct kit *k,
                                  const struct gce_groups_want *want, struct err *ret_err)
{
    struct lb_plan plan;
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    struct done d = {.k = k, .s = s};
    *ret_err = ERR_INIT;
    lb_plan_init(&plan, s->a);
    if (gce_groups_observe(k->p->groups, s, GROUP, want, ret_err) != ERR_OK) {
        return plan;
    }
    gce_groups_plan(k->p->groups, s, &plan, "default/web", GROUP, want);
    if (lb_plan_seal(&plan, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    const struct lb_exec_config cfg = {.a = s->a,
                                       .http = s->http,
                                       .clock = k->p->cloud.clock,
                                       .rng = k->p->cloud.rng,
                                       .cancel = k->cancel,
                                       .provider = &k->p->cloud,
                                       .on_done = on_done,
                                       .arg = &d};
    (void)!lb_exec_run(&plan, &cfg, &res, &err);
    *ret_err = d.first;
    return plan;
}

static void sync_well(struct lb_sync *s, struct kit *k, uint32_t nodes)
{
    struct gce_groups_want want = want_of(s, k, nodes);
    struct err err;
    (void)sync_groups(s, k, &want, &err);
    if (err.code != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

/* Members of all groups of the name, "us-central1-a: n1 n4; …". */
static const char *members(struct kit *k)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    static const char *const zones[] = {"us-central1-a", "us-central1-b", "us-central1-c"};
    for (size_t z = 0; z < ARRAY_LEN(zones); z++) {
        struct gce_members_list list = {.c = GCE_GROUPS, .zone = zones[z], .name = GROUP};
        gce_members_read(&k->s, &list, 1);
        assert_int_equal(list.err.code, ERR_OK);
        if (list.absent) {
            continue;
        }
        str_appendf(&b, "%s%c:", b.len > 0 ? "; " : "", zones[z][strlen(zones[z]) - 1]);
        for (size_t i = 0; i < list.n; i++) {
            str_appendf(&b, " %s", list.items[i].instance);
        }
    }
    return str_buf_to_arena(&b, k->a);
}

static const char *wanted(struct kit *k, uint32_t n)
{
    struct gce_groups_want want = want_of(&k->s, k, n);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < want.n; i++) {
        const char *zone = want.zones[i].zone;
        str_appendf(&b, "%s%c: %s", i > 0 ? "; " : "", zone[strlen(zone) - 1],
                    str_join(k->a, want.zones[i].nodes.items, want.zones[i].nodes.n, " "));
    }
    return str_buf_to_arena(&b, k->a);
}

static void same(const char *got, const char *want)
{
    if (!str_eq(got, want)) {
        fail_msg("got %s, want %s", got, want);
    }
}

/* ---- who comes first does it ----------------------------------------------------------------- */

static void groups__first_sync__makes_them__others_ask_nothing(void **state)
{
    struct kit *k = *state;
    rig_forget(k->r);
    sync_well(&k->s, k, ALL);
    same(members(k), wanted(k, ALL));
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.insert"), 3);
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.addInstances"), 3);
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.get"), 0);
    for (int i = 0; i < 5; i++) {
        struct other o;
        other_begin(&o, k);
        rig_forget(k->r);
        sync_well(&o.s, k, ALL);
        assert_int_equal(rig_calls(k->r, NULL), 0);
        assert_int_equal(o.s.reads, 0);
        other_end(&o);
    }
}

static void groups__node_goes_and_comes__its_zone_alone(void **state)
{
    struct kit *k = *state;
    sync_well(&k->s, k, ALL);
    struct other o;
    other_begin(&o, k);
    rig_forget(k->r);
    sync_well(&o.s, k, 5); /* the last node by name goes */
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.removeInstances"), 1);
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.*"), 1); /* nothing is listed */
    sync_well(&o.s, k, ALL);
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.addInstances"), 1);
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.*"), 2);
    other_end(&o);
    same(members(k), wanted(k, ALL));
}

static void groups__zone_without_nodes__is_left_as_it_is(void **state)
{
    struct kit *k = *state;
    sync_well(&k->s, k, ALL);
    const char *before = members(k);
    struct other o;
    other_begin(&o, k);
    rig_forget(k->r);
    sync_well(&o.s, k, 0);
    assert_int_equal(rig_calls(k->r, NULL), 0);
    other_end(&o);
    same(members(k), before);
}

/* ---- what another program did ---------------------------------------------------------------- */

static const char *instance_body(struct kit *k, const char *zone, const char *name)
{
    return arena_printf(k->a,
                        "{\"instances\":[{\"instance\":\"" KIT_PROJECT "zones/%s/instances/%s\"}]}",
                        zone, name);
}

static void by_hand(struct kit *k, const char *zone, const char *verb, const char *name)
{
    rig_cloud_call(k->r, "POST",
                   arena_printf(k->a, "zones/%s/instanceGroups/" GROUP "/%s", zone, verb),
                   instance_body(k, zone, name));
}

static void groups__already_member_or_not_a_member__is_fine(void **state)
{
    struct kit *k = *state;
    sync_well(&k->s, k, 3);
    struct gce_groups_want all = want_of(&k->s, k, ALL);
    const struct gce_zone_nodes *z = &all.zones[0];
    assert_true(z->nodes.n >= 2);
    by_hand(k, z->zone, "addInstances", z->nodes.items[1]);
    struct other o;
    other_begin(&o, k);
    sync_well(&o.s, k, ALL); /* memberAlreadyExists */
    same(members(k), wanted(k, ALL));
    by_hand(k, z->zone, "removeInstances", z->nodes.items[1]);
    sync_well(&o.s, k, 3); /* is not a member of */
    same(members(k), wanted(k, 3));
    other_end(&o);
}

static void groups__list_fails__nothing_is_changed(void **state)
{
    struct kit *k = *state;
    struct gce_groups_want want = want_of(&k->s, k, ALL);
    struct err err;
    rig_fault(k->r, "{\"match\":{\"op\":\"compute.instanceGroups.listInstances\"},\"count\":1,"
                    "\"do\":\"refuse\",\"status\":403}");
    rig_forget(k->r);
    (void)sync_groups(&k->s, k, &want, &err);
    assert_int_equal(err.code, ERR_FORBIDDEN);
    assert_non_null(strstr(err.message, "error listing the members of instance group " GROUP));
    assert_int_equal(rig_mutations(k->r), 0);
    rig_no_faults(k->r);
    sync_well(&k->s, k, ALL); /* the same sync, again */
    same(members(k), wanted(k, ALL));
}

static void groups__write_fails__listed_before_the_next_change(void **state)
{
    struct kit *k = *state;
    struct gce_groups_want want = want_of(&k->s, k, ALL);
    struct err err;
    sync_well(&k->s, k, 5);
    rig_fault(k->r, "{\"match\":{\"op\":\"compute.instanceGroups.addInstances\"},\"count\":1,"
                    "\"do\":\"refuse\",\"status\":403}");
    (void)sync_groups(&k->s, k, &want, &err);
    assert_int_equal(err.code, ERR_FORBIDDEN);
    rig_no_faults(k->r);
    rig_forget(k->r);
    struct other o;
    other_begin(&o, k); /* the first one's turn must end with its arena at the latest */
    arena_reset(k->a);
    k->s.life = k->s.a;
    sync_well(&o.s, k, ALL);
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.listInstances"), 1);
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.addInstances"), 1);
    other_end(&o);
}

/* ---- one load-balanced group per VM (§8.4) --------------------------------------------------- */

static void use_group(struct kit *k, const char *bs, const char *zone, const char *group)
{
    kit_make(k, KIT_REGION "backendServices",
             arena_printf(k->a,
                          "{\"name\":\"%s\",\"protocol\":\"TCP\",\"loadBalancingScheme\":"
                          "\"INTERNAL\",\"healthChecks\":[\"" KIT_PROJECT
                          "global/healthChecks/hc\"],\"backends\":[{\"group\":\"" KIT_PROJECT
                          "zones/%s/instanceGroups/%s\"}]}",
                          bs, zone, group));
}

static void groups__vm_of_another_balancer__warned_once_and_left_out(void **state)
{
    struct kit *k = *state;
    struct gce_groups_want all = want_of(&k->s, k, ALL);
    const struct gce_zone_nodes *z = &all.zones[0];
    const char *taken = z->nodes.items[1];
    struct err err;
    sync_well(&k->s, k, 3);
    kit_make(k, "global/healthChecks", KIT_HC("hc"));
    use_group(k, "ours", z->zone, GROUP);
    rig_cloud_call(k->r, "POST", arena_printf(k->a, "zones/%s/instanceGroups", z->zone),
                   "{\"name\":\"theirs\"}");
    rig_cloud_call(k->r, "POST",
                   arena_printf(k->a, "zones/%s/instanceGroups/theirs/addInstances", z->zone),
                   instance_body(k, z->zone, taken));
    use_group(k, "theirs", z->zone, "theirs");
    const struct tt_service service = {.size = sizeof(service), .ns = "default", .name = "web"};
    const struct tt_item in = {.size = sizeof(in), .service = &service};
    struct lb_item item = {.in = &in, .key = "default/web"};
    k->s.items = &item;
    k->s.n_items = 1;
    rig_forget(k->r);
    (void)sync_groups(&k->s, k, &all, &err);
    assert_int_equal(err.code, ERR_INVALID); /* no fast retry */
    assert_true(rig_had_event(
        k->r,
        arena_printf(k->a, "Warning " GCE_EVENT_ONE_GROUP " Instance %s is in another*", taken)));
    /* The next one takes all others and does not try again. */
    rig_forget(k->r);
    sync_well(&k->s, k, ALL);
    assert_int_equal(rig_events(k->r), 0);
    struct other o;
    other_begin(&o, k);
    rig_forget(k->r);
    sync_well(&o.s, k, ALL);
    assert_int_equal(rig_calls(k->r, NULL), 0);
    other_end(&o);
    assert_null(strstr(members(k), taken));
}

/* ---- turns ----------------------------------------------------------------------------------- */

struct racer {
    struct other o;
    struct gce_groups_want want;
    struct err err;
};

static void *race(void *arg)
{
    struct racer *r = arg;
    (void)sync_groups(&r->o.s, r->o.k, &r->want, &r->err);
    return NULL;
}

static void groups__eight_at_once__each_call_is_made_once(void **state)
{
    struct kit *k = *state;
    struct racer racers[8];
    pthread_t threads[8];
    rig_forget(k->r);
    for (size_t i = 0; i < ARRAY_LEN(racers); i++) {
        other_begin(&racers[i].o, k);
        racers[i].want = want_of(&racers[i].o.s, k, ALL);
    }
    for (size_t i = 0; i < ARRAY_LEN(racers); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(racers); i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(racers[i].err.code, ERR_OK);
        other_end(&racers[i].o);
    }
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.insert"), 3);
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.addInstances"), 3);
    assert_int_equal(rig_calls(k->r, "compute.instanceGroups.listInstances"), 3);
    same(members(k), wanted(k, ALL));
}

/* A sync with an older view of the nodes does not take back what a newer one did. */
static void groups__older_view_comes_late__changes_nothing(void **state)
{
    struct kit *k = *state;
    struct other older;
    struct other newer;
    struct err err;
    sync_well(&k->s, k, 5);
    other_begin(&older, k);
    struct gce_groups_want five = want_of(&older.s, k, 5);
    assert_int_equal(gce_groups_observe(k->p->groups, &older.s, GROUP, &five, &err),
                     ERR_OK); /* it came first */
    other_begin(&newer, k);
    sync_well(&newer.s, k, ALL);
    rig_forget(k->r);
    struct lb_plan plan = sync_groups(&older.s, k, &five, &err);
    assert_int_equal(err.code, ERR_OK);
    assert_int_equal(plan.n_ops, 0);
    assert_int_equal(rig_calls(k->r, NULL), 0);
    other_end(&older);
    other_end(&newer);
    same(members(k), wanted(k, ALL));
}

/* Planning waits for no turn and holds nothing. */
static void groups__planning__takes_no_turn(void **state)
{
    struct kit *k = *state;
    struct gce_groups_want want = want_of(&k->s, k, ALL);
    struct err err = ERR_INIT;
    assert_int_equal(gce_groups_observe(k->p->groups, &k->s, GROUP, &want, &err),
                     ERR_OK); /* holds the turn */
    struct other o;
    other_begin(&o, k);
    o.s.planning = true;
    struct gce_groups_want same_want = want_of(&o.s, k, ALL);
    struct lb_plan plan;
    lb_plan_init(&plan, o.a);
    assert_int_equal(gce_groups_observe(k->p->groups, &o.s, GROUP, &same_want, &err), ERR_OK);
    gce_groups_plan(k->p->groups, &o.s, &plan, "default/web", GROUP, &same_want);
    assert_int_equal(lb_plan_seal(&plan, &err), ERR_OK);
    assert_int_equal(plan.n_ops, 6);
    assert_int_equal(plan.waves, 2);
    assert_true(plan.ops[0].shared);
    assert_int_equal(gce_groups_zones(k->p->groups, o.a, GROUP, &same_want).n, 3);
    other_end(&o);
}

static void groups__cancelled_while_waiting__says_so(void **state)
{
    struct kit *k = *state;
    struct gce_groups_want want = want_of(&k->s, k, ALL);
    struct err err = ERR_INIT;
    assert_int_equal(gce_groups_observe(k->p->groups, &k->s, GROUP, &want, &err), ERR_OK);
    struct other o;
    other_begin(&o, k);
    struct cancel *stop = cancel_new(NULL);
    o.s.cancel = stop;
    cancel_fire(stop);
    assert_int_equal(gce_groups_observe(k->p->groups, &o.s, GROUP, &want, &err), ERR_CANCELLED);
    other_end(&o);
    cancel_free(stop);
}

UNIT_MAIN(groups)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(groups__first_sync__makes_them__others_ask_nothing),
        KIT_TEST(groups__node_goes_and_comes__its_zone_alone),
        KIT_TEST(groups__zone_without_nodes__is_left_as_it_is),
        KIT_TEST(groups__already_member_or_not_a_member__is_fine),
        KIT_TEST(groups__list_fails__nothing_is_changed),
        KIT_TEST(groups__write_fails__listed_before_the_next_change),
        KIT_TEST(groups__vm_of_another_balancer__warned_once_and_left_out),
        KIT_TEST(groups__eight_at_once__each_call_is_made_once),
        KIT_TEST(groups__older_view_comes_late__changes_nothing),
        KIT_TEST(groups__planning__takes_no_turn),
        KIT_TEST(groups__cancelled_while_waiting__says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
