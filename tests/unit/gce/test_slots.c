/* SPDX-License-Identifier: Apache-2.0 */
/* test_slots.c: what is asked of the cloud before a balancer is planned, and what is not
 * (gce_slots.h, docs/adr/0005). */
#include "tests/unit/gce/cloud_kit.h"

#include "providers/gce/target_pool/gce_target_pool_slots.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define MINUTE_MS 60001

/* The snapshot of a kit keeps its own time. */
struct world {
    struct kit k; /* first */
    struct clock *clock;
};

static int setup(void **state)
{
    (void)kit_setup(state);
    struct world *w = xcalloc(1, sizeof(*w));
    w->k = *(struct kit *)*state;
    w->k.s.call = &w->k.call;
    free(*state);
    w->clock = clock_fake_new(1000, 0);
    gce_snapshot_free(w->k.p->cloud.snapshot);
    w->k.p->cloud.snapshot = gce_snapshot_new(w->clock);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    struct clock *clock = w->clock;
    (void)kit_teardown(state);
    clock_fake_free(clock);
    return 0;
}

#define SLOTS_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

/* A whole internal balancer: rule, backend service, check, firewall, one NEG. */
static void make_balancer(struct kit *k)
{
    kit_make(k, "global/healthChecks", KIT_HC("k8s2-hc"));
    kit_make(k, KIT_REGION "backendServices", KIT_BS("k8s2-bs", "k8s2-hc"));
    kit_make(k, KIT_REGION "forwardingRules", KIT_RULE("k8s2-tcp", "k8s2-bs"));
    kit_make(k, "global/firewalls",
             "{\"name\":\"k8s2-bs\",\"network\":\"" KIT_PROJECT
             "global/networks/default\",\"sourceRanges\":[\"10.0.0.0/8\"],\"targetTags\":[\"n\"],"
             "\"allowed\":[{\"IPProtocol\":\"tcp\"}]}");
    kit_make(k, "global/firewalls",
             "{\"name\":\"a01-hc\",\"network\":\"" KIT_PROJECT
             "global/networks/default\",\"sourceRanges\":[\"10.0.0.0/8\"],"
             "\"allowed\":[{\"IPProtocol\":\"tcp\"}]}");
    kit_make(k, "zones/" KIT_ZONE "/networkEndpointGroups", KIT_NEG("k8s2-bs"));
}

static void slots_of(struct gce_slots *s, struct kit *k, uint32_t verb)
{
    gce_slots_init(s, k->a);
    s->verb = verb;
    if (verb == TT_VERB_UPDATE) {
        gce_slots_add(s, true, GCE_BACKENDS, NULL, "k8s2-bs");
        return;
    }
    bool main = verb == TT_VERB_ENSURE;
    gce_slots_add(s, true, GCE_RULES, NULL, "k8s2-tcp");
    gce_slots_add(s, true, GCE_BACKENDS, NULL, "k8s2-bs");
    gce_slots_add(s, main, GCE_HCS, NULL, "k8s2-hc");
    gce_slots_add(s, true, GCE_FIREWALLS, NULL, "k8s2-bs");
    gce_slots_add(s, main, GCE_NEGS, KIT_ZONE, "k8s2-bs");
    gce_slots_add(s, false, GCE_RULES, NULL, "k8s2-udp");
    gce_slots_add(s, false, GCE_ADDRESSES, NULL, "k8s2-tcp");
}
#define MAIN_SLOTS 5u
#define AGING      4u /* of the main ones: the NEG is there or not */
#define ALL_SLOTS  7u
#define KINDS      6u /* lists of an ENSURE */

static void look(struct kit *k, struct gce_slots *s, uint32_t verb)
{
    struct err err = ERR_INIT;
    slots_of(s, k, verb);
    k->s.reads = 0;
    k->s.observed_fresh = false;
    if (gce_slots_look(s, &k->s, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(k->s.reads, rig_calls(k->r, NULL)); /* each request is counted */
    rig_forget(k->r);
}

static void look_fresh(struct kit *k, struct gce_slots *s, uint32_t verb)
{
    k->s.fresh = true;
    look(k, s, verb);
    k->s.fresh = false;
}

static enum gce_known known(const struct gce_slots *s, enum gce_collection c, const char *zone,
                            const char *name)
{
    const struct gce_slot *slot = gce_slots_find(s, c, zone, name);
    assert_non_null(slot);
    return slot->known;
}

/* ---- the snapshot ---------------------------------------------------------------------------- */

static void first__each_kind_is_listed_once__then_nothing_is_asked(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    make_balancer(k);
    rig_forget(k->r);
    k->s.reads = 0;
    look(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, KINDS);
    assert_false(k->s.observed_fresh);
    assert_non_null(gce_slots_rule(&s, "k8s2-tcp"));
    assert_null(gce_slots_rule(&s, "k8s2-udp"));
    assert_int_equal(known(&s, GCE_RULES, NULL, "k8s2-udp"), GCE_ABSENT);
    assert_string_equal(gce_slots_bservice(&s, "k8s2-bs")->protocol, "TCP");
    assert_int_equal(gce_slots_hc(&s, false, "k8s2-hc")->port, 10256);
    assert_int_equal(gce_slots_firewall(&s, "k8s2-bs")->tags.n, 1);
    assert_string_equal(gce_slots_neg(&s, KIT_ZONE, "k8s2-bs")->type, "GCE_VM_IP");
    look(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, 0);
}

static void lists__zonal_kinds_are_one_list_over_all_zones(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    make_balancer(k);
    kit_make(k, "zones/us-central1-b/networkEndpointGroups", KIT_NEG("k8s2-bs"));
    slots_of(&s, k, TT_VERB_ENSURE);
    gce_slots_add(&s, false, GCE_NEGS, "us-central1-b", "k8s2-bs");
    gce_slots_add(&s, false, GCE_NEGS, "us-central1-c", "k8s2-bs");
    struct err err = ERR_INIT;
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    assert_int_equal(rig_calls(k->r, "compute.networkEndpointGroups.*"), 1);
    assert_int_equal(rig_calls(k->r, "compute.networkEndpointGroups.aggregatedList"), 1);
    assert_int_equal(known(&s, GCE_NEGS, KIT_ZONE, "k8s2-bs"), GCE_PRESENT);
    assert_int_equal(known(&s, GCE_NEGS, "us-central1-b", "k8s2-bs"), GCE_PRESENT);
    assert_int_equal(known(&s, GCE_NEGS, "us-central1-c", "k8s2-bs"), GCE_ABSENT);
    struct gce_strs zones = gce_snapshot_zones(k->p->cloud.snapshot, GCE_NEGS, "k8s2-bs", k->a);
    assert_int_equal(zones.n, 2);
    assert_string_equal(zones.items[1], "us-central1-b");
}

static void aged__main_slots_are_read_in_one_wave__extras_are_not(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    make_balancer(k);
    rig_forget(k->r);
    look(k, &s, TT_VERB_ENSURE);
    clock_fake_advance(((struct world *)*state)->clock, MINUTE_MS);
    look(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, AGING);
    assert_true(k->s.observed_fresh);
    look(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, 0);
    assert_false(k->s.observed_fresh);
}

static void many_wait__what_is_aged_is_listed_again(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    make_balancer(k);
    rig_forget(k->r);
    look(k, &s, TT_VERB_ENSURE);
    clock_fake_advance(((struct world *)*state)->clock, MINUTE_MS);
    k->call.waiting = 100;
    look(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, KINDS);
    assert_false(k->s.observed_fresh);
    look(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, 0);
}

/* gce-l4.md §9.4: a node more, the subset full: no request, however long ago anything was read. */
static void update__any_age_will_do__until_a_conflict(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    make_balancer(k);
    rig_forget(k->r);
    look(k, &s, TT_VERB_ENSURE);
    clock_fake_advance(((struct world *)*state)->clock, 100 * (int64_t)MINUTE_MS);
    look(k, &s, TT_VERB_UPDATE);
    assert_int_equal(k->s.reads, 0);
    assert_false(k->s.observed_fresh);
    assert_non_null(gce_slots_bservice(&s, "k8s2-bs"));
    look_fresh(k, &s, TT_VERB_UPDATE);
    assert_int_equal(k->s.reads, 0);
    assert_true(k->s.observed_fresh);
    assert_null(json_member(gce_slots_bservice(&s, "k8s2-bs")->raw, "id"));
    k->s.attempt = 1;
    look_fresh(k, &s, TT_VERB_UPDATE);
    assert_int_equal(k->s.reads, 1);
    assert_non_null(json_member(gce_slots_bservice(&s, "k8s2-bs")->raw, "id"));
}

/* ---- the cloud ------------------------------------------------------------------------------- */

static void fresh__main_slots_are_read__extras_known_absent_are_not(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    make_balancer(k);
    rig_forget(k->r);
    look_fresh(k, &s, TT_VERB_ENSURE); /* nothing was ever listed: all by name */
    assert_int_equal(k->s.reads, ALL_SLOTS);
    assert_true(k->s.observed_fresh);
    look_fresh(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, AGING);
    gce_snapshot_forget(k->p->cloud.snapshot, GCE_KEY(GCE_ADDRESSES, "k8s2-tcp"));
    look_fresh(k, &s, TT_VERB_ENSURE); /* what a failed write touched is asked for */
    assert_int_equal(k->s.reads, AGING + 1);
    look_fresh(k, &s, TT_VERB_DELETE);
    assert_int_equal(k->s.reads, AGING);
    k->s.attempt = 1;
    look_fresh(k, &s, TT_VERB_ENSURE); /* after a conflict nothing is taken for granted */
    assert_int_equal(k->s.reads, MAIN_SLOTS);
    k->s.attempt = 0;
}

static void new__what_was_listed_a_moment_ago_is_as_good(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    kit_make(k, "global/healthChecks", KIT_HC("k8s2-hc")); /* the others' */
    rig_forget(k->r);
    look(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, KINDS);
    assert_true(k->s.observed_fresh);
    assert_int_equal(known(&s, GCE_RULES, NULL, "k8s2-tcp"), GCE_ABSENT);
    look(k, &s, TT_VERB_ENSURE); /* the next one is read, not listed */
    assert_int_equal(k->s.reads, MAIN_SLOTS);
}

/* A list that lacks what the Service must have is not believed. */
static void not_new__what_a_list_lacks_is_asked_for_by_name(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    struct err err = ERR_INIT;
    rig_forget(k->r);
    slots_of(&s, k, TT_VERB_ENSURE);
    s.has_address = true;
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    assert_int_equal(k->s.reads, KINDS + ALL_SLOTS);
    assert_true(k->s.observed_fresh);
}

/* It changes something in any case: one look, at the cloud, with the lists beside it. */
static void delete__leftovers_of_the_list_are_found(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    make_balancer(k);
    kit_make(k, KIT_REGION "addresses", "{\"name\":\"k8s2-tcp\"}");
    rig_forget(k->r);
    look(k, &s, TT_VERB_DELETE);
    assert_int_equal(k->s.reads, KINDS + ALL_SLOTS);
    assert_true(k->s.observed_fresh);
    assert_non_null(gce_slots_address(&s, "k8s2-tcp"));
}

static void rare_slots(struct kit *k, struct gce_slots *s, uint32_t verb)
{
    struct err err = ERR_INIT;
    gce_slots_init(s, k->a);
    s->verb = verb;
    s->by_name = verb == TT_VERB_DELETE;
    gce_slots_add(s, true, GCE_RULES, NULL, "k8s2-tcp");
    gce_slots_add_rare(s, GCE_ADDRESSES, "a1-former");
    k->s.reads = 0;
    assert_int_equal(gce_slots_look(s, &k->s, &err), ERR_OK);
}

/* The list that is made beside the reads answers, absent or not; a write that was not read since
 * makes it unknown. */
static void rare__the_list_answers__read_by_name_where_it_cannot(void **state)
{
    static const uint32_t verbs[] = {TT_VERB_DELETE, TT_VERB_ENSURE};
    struct kit *k = *state;
    struct gce_slots s;
    make_balancer(k);
    rig_forget(k->r);
    rare_slots(k, &s, TT_VERB_DELETE);
    assert_int_equal(k->s.reads, 3); /* two lists, one rule */
    assert_int_equal(known(&s, GCE_ADDRESSES, NULL, "a1-former"), GCE_ABSENT);
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        k->s.fresh = true;
        rare_slots(k, &s, verbs[i]);
        assert_int_equal(k->s.reads, 1);
        kit_make(k, KIT_REGION "addresses", "{\"name\":\"a1-former\"}");
        gce_snapshot_forget(k->p->cloud.snapshot, GCE_KEY(GCE_ADDRESSES, "a1-former"));
        rare_slots(k, &s, verbs[i]);
        assert_int_equal(k->s.reads, 2);
        assert_non_null(gce_slots_address(&s, "a1-former"));
        rig_cloud_call(k->r, "DELETE", "regions/us-central1/addresses/a1-former", NULL);
        rare_slots(k, &s, verbs[i]); /* known to have been there: it is looked for */
        assert_int_equal(k->s.reads, 2);
    }
    k->s.fresh = false;
}

/* Other kinds stay cached: a list of one more kind causes no reads of all names. */
static void delete__a_kind_is_listed_late__only_its_names_are_asked_for(void **state)
{
    struct world *w = *state;
    struct kit *k = &w->k;
    struct gce_slots s;
    struct err err = ERR_INIT;
    make_balancer(k);
    gce_slots_init(&s, k->a);
    s.verb = TT_VERB_DELETE;
    gce_slots_add(&s, true, GCE_RULES, NULL, "k8s2-tcp");
    gce_slots_add(&s, false, GCE_RULES, NULL, "k8s2-udp");
    gce_slots_add(&s, false, GCE_ADDRESSES, NULL, "k8s2-tcp");
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK); /* lists both kinds */
    gce_slots_init(&s, k->a);
    s.verb = TT_VERB_DELETE;
    s.has_address = true;
    gce_slots_add(&s, true, GCE_RULES, NULL, "k8s2-tcp");
    gce_slots_add(&s, false, GCE_RULES, NULL, "k8s2-udp");
    gce_slots_add(&s, false, GCE_ADDRESSES, NULL, "k8s2-tcp");
    gce_slots_add(&s, false, GCE_NEGS, KIT_ZONE, "k8s2-bs");
    rig_forget(k->r);
    k->s.reads = 0;
    clock_fake_advance(w->clock, MINUTE_MS);
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    assert_int_equal(k->s.reads, rig_calls(k->r, NULL));
    assert_int_equal(k->s.reads, 3); /* the list of NEGs, the NEG by its name, the rule */
    assert_true(k->s.observed_fresh);
    assert_non_null(gce_slots_neg(&s, KIT_ZONE, "k8s2-bs"));
    assert_int_equal(known(&s, GCE_RULES, NULL, "k8s2-udp"), GCE_ABSENT);
}

static void more_slots__only_these_are_looked_at(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    struct err err = ERR_INIT;
    make_balancer(k);
    rig_forget(k->r);
    look(k, &s, TT_VERB_ENSURE);
    k->s.reads = 0;
    gce_slots_add(&s, true, GCE_SUBNETWORKS, NULL, "default");
    gce_slots_add(&s, true, GCE_RULES, NULL, "k8s2-tcp");
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    assert_int_equal(k->s.reads, 1);
    assert_false(k->s.observed_fresh); /* the others came from the snapshot */
    assert_int_equal(known(&s, GCE_SUBNETWORKS, NULL, "default"), GCE_PRESENT);
    k->s.reads = 0;
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    assert_int_equal(k->s.reads, 0);
}

static void more_slots__after_the_cloud_was_asked__are_asked_for_there(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    struct err err = ERR_INIT;
    make_balancer(k);
    rig_forget(k->r);
    look(k, &s, TT_VERB_ENSURE); /* the snapshot knows all rules now */
    look_fresh(k, &s, TT_VERB_ENSURE);
    k->s.reads = 0;
    gce_slots_add(&s, true, GCE_RULES, NULL, "k8s2-other");
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    assert_int_equal(k->s.reads, 1);
    assert_true(k->s.observed_fresh);
}

static void delete__by_name__nothing_is_taken_for_absent(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    struct err err = ERR_INIT;
    rig_forget(k->r);
    look(k, &s, TT_VERB_ENSURE); /* lists without anything of ours */
    slots_of(&s, k, TT_VERB_DELETE);
    s.by_name = true;
    k->s.reads = 0;
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    assert_int_equal(k->s.reads, ALL_SLOTS);
    assert_true(k->s.observed_fresh);
}

/* ---- target pools ---------------------------------------------------------------------------- */

static unsigned reads_of_pool(struct kit *k, bool fresh)
{
    struct gce_slots s;
    struct err err = ERR_INIT;
    gce_slots_init(&s, k->a);
    s.verb = TT_VERB_UPDATE;
    gce_slots_add(&s, true, GCE_POOLS, NULL, "pool");
    k->s.reads = 0;
    k->s.fresh = fresh;
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    k->s.fresh = false;
    assert_int_equal(known(&s, GCE_POOLS, NULL, "pool"), GCE_PRESENT);
    return k->s.reads;
}

/* A pool holds its members itself: what was seen of it long ago says nothing about them. */
static void update__pool__is_read_again(void **state)
{
    struct world *w = *state;
    struct kit *k = &w->k;
    kit_make(k, KIT_REGION "targetPools", "{\"name\":\"pool\"}");
    assert_int_equal(reads_of_pool(k, false), 1); /* the list of pools, and no other */
    assert_int_equal(reads_of_pool(k, false), 0);
    assert_int_equal(reads_of_pool(k, true), 1);
    clock_fake_advance(w->clock, MINUTE_MS);
    assert_int_equal(reads_of_pool(k, false), 1);
}

static void ahead__its_answer_is_taken_once(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    struct gce_read read;
    struct http_job *jobs[] = {&read.job};
    struct err err = ERR_INIT;
    const struct gce_call_spec spec = {.collection = GCE_POOLS, .verb = GCE_GET, .name = "pool"};
    kit_make(k, KIT_REGION "targetPools", "{\"name\":\"pool\"}");
    gce_read_init(&read, &k->p->cloud.api, &k->call, k->a, &spec);
    http_run(k->http, jobs, 1);
    rig_forget(k->r);
    gce_slots_init(&s, k->a);
    s.verb = TT_VERB_UPDATE;
    gce_slots_add(&s, true, GCE_POOLS, NULL, "pool");
    s.items[0].ahead = &read;
    k->s.fresh = true;
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    k->s.fresh = false;
    assert_int_equal(rig_calls(k->r, NULL), 0);
    assert_int_equal(k->s.reads, 1);
    assert_int_equal(known(&s, GCE_POOLS, NULL, "pool"), GCE_PRESENT);
    assert_null(s.items[0].ahead);
}

static const struct gce_names pool_names = {
    .lb = "a1",
    .former_address = "a1-former",
    .firewall = "k8s-fw-a1",
    .deny_firewall = "k8s-fw-a1-deny",
    .local_check = "a1",
    .local_check_firewall = "k8s-a1-http-hc",
    .node_check = "k8s-c-node",
    .node_check_firewall = "k8s-c-node-http-hc",
};

static size_t main_slots(const struct gce_slots *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        n += s->items[i].main;
    }
    return n;
}

static void target_pool__slots_of_each_verb(void **state)
{
    struct kit *k = *state;
    static const struct {
        uint32_t verb;
        bool local, deny;
        size_t n, n_main;
    } rows[] = {
        {TT_VERB_ENSURE, false, false, 9, 5}, {TT_VERB_ENSURE, true, false, 7, 5},
        {TT_VERB_ENSURE, false, true, 10, 6}, {TT_VERB_UPDATE, false, true, 1, 1},
        {TT_VERB_DELETE, false, true, 8, 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service svc = {.n_ingress = 1};
        const struct gce_tp_facts facts = {.deny_cleanup = rows[i].deny};
        const struct gce_tp_input in = {.service = &svc, .verb = rows[i].verb};
        const struct gce_tp_desired d = {.local = rows[i].local};
        struct gce_slots s;
        gce_slots_init(&s, k->a);
        gce_tp_slots(&s, &facts, &in, &pool_names, &d);
        assert_int_equal(s.n, rows[i].n);
        assert_int_equal(main_slots(&s), rows[i].n_main);
        assert_true(s.has_address);
        assert_int_equal(s.by_name, rows[i].verb == TT_VERB_DELETE);
    }
}

static void target_pool__what_was_seen__as_its_planners_take_it(void **state)
{
    struct kit *k = *state;
    const struct gce_firewall walls[] = {{.name = "k8s-fw-a1", .priority = 7},
                                         {.name = "k8s-c-node-http-hc", .priority = 8}};
    struct gce_slots s;
    struct gce_tp_observed o;
    gce_slots_init(&s, k->a);
    gce_slots_add(&s, true, GCE_POOLS, NULL, "a1");
    gce_slots_add(&s, true, GCE_FIREWALLS, NULL, walls[0].name);
    gce_tp_slots_shared(&s, false, &pool_names);
    s.items[0].known = GCE_ABSENT;
    s.items[1].known = s.items[3].known = GCE_PRESENT;
    s.items[1].as = &walls[0];
    s.items[3].as = &walls[1];
    gce_tp_observed_of(&s, &pool_names, &o);
    assert_int_equal(o.has_pool, GCE_ABSENT);
    assert_int_equal(o.has_traffic, GCE_PRESENT);
    assert_int_equal(o.traffic.priority, 7);
    assert_int_equal(o.has_node_firewall, GCE_PRESENT);
    assert_int_equal(o.node_firewall.priority, 8);
    assert_int_equal(o.has_node_check, GCE_UNKNOWN);
    assert_int_equal(o.has_rule, GCE_UNKNOWN);
    assert_int_equal(o.has_user_address, GCE_UNKNOWN);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void extra__of_a_name_that_no_list_covers__is_read_alone(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    struct err err = ERR_INIT;
    make_balancer(k);
    rig_forget(k->r);
    look(k, &s, TT_VERB_ENSURE);
    k->s.reads = 0;
    slots_of(&s, k, TT_VERB_ENSURE);
    gce_slots_add(&s, false, GCE_FIREWALLS, NULL, "other-hc"); /* lists are of names like ours */
    gce_slots_add(&s, false, GCE_FIREWALLS, NULL, "a0123-hc");
    gce_slots_add(&s, false, GCE_FIREWALLS, NULL, "a01-hc");
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    assert_int_equal(k->s.reads, 1);
    assert_int_equal(rig_calls(k->r, "compute.firewalls.get"), 1);
    assert_int_equal(known(&s, GCE_FIREWALLS, NULL, "other-hc"), GCE_ABSENT);
    assert_int_equal(known(&s, GCE_FIREWALLS, NULL, "a0123-hc"), GCE_ABSENT);
    assert_int_equal(known(&s, GCE_FIREWALLS, NULL, "a01-hc"), GCE_PRESENT);
}

static void lists__forbidden__resources_are_read_one_by_one(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    make_balancer(k);
    rig_forget(k->r);
    rig_fault(k->r, "{\"match\":{\"op\":\"compute.networkEndpointGroups.aggregatedList\"},"
                    "\"count\":0,\"do\":\"refuse\",\"status\":403}");
    look(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, KINDS + ALL_SLOTS);
    assert_int_equal(known(&s, GCE_NEGS, KIT_ZONE, "k8s2-bs"), GCE_PRESENT);
    look(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, 0);
    look_fresh(k, &s, TT_VERB_ENSURE);
    assert_int_equal(k->s.reads, AGING);
}

static void read__refused__is_an_error_and_nothing_is_concluded(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    struct err err = ERR_INIT;
    make_balancer(k);
    rig_fault(k->r, "{\"match\":{\"op\":\"compute.regionBackendServices.get\"},\"count\":0,"
                    "\"do\":\"refuse\",\"status\":403}");
    slots_of(&s, k, TT_VERB_ENSURE);
    k->s.fresh = true;
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_FORBIDDEN);
    assert_non_null(strstr(err.message, "error getting backend service k8s2-bs"));
    assert_int_equal(known(&s, GCE_BACKENDS, NULL, "k8s2-bs"), GCE_UNKNOWN);
}

/* A resource in creation may be shown without its address. */
static void address__without_ip__an_ensure_comes_again__a_delete_goes_on(void **state)
{
    struct kit *k = *state;
    struct gce_slots s;
    struct err err = ERR_INIT;
    make_balancer(k);
    rig_fault(k->r,
              "{\"match\":{\"op\":\"compute.addresses.get\"},\"count\":0,\"do\":\"refuse\","
              "\"status\":200,\"body\":{\"kind\":\"compute#address\",\"name\":\"k8s2-tcp\"}}");
    k->s.fresh = true;
    slots_of(&s, k, TT_VERB_ENSURE);
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_TRANSIENT);
    assert_non_null(strstr(err.message, "k8s2-tcp has no IP yet"));
    err_clear(&err);
    slots_of(&s, k, TT_VERB_DELETE);
    assert_int_equal(gce_slots_look(&s, &k->s, &err), ERR_OK);
    assert_int_equal(known(&s, GCE_ADDRESSES, NULL, "k8s2-tcp"), GCE_PRESENT);
}

UNIT_MAIN(slots)
{
    const struct CMUnitTest tests[] = {
        SLOTS_TEST(first__each_kind_is_listed_once__then_nothing_is_asked),
        SLOTS_TEST(lists__zonal_kinds_are_one_list_over_all_zones),
        SLOTS_TEST(aged__main_slots_are_read_in_one_wave__extras_are_not),
        SLOTS_TEST(many_wait__what_is_aged_is_listed_again),
        SLOTS_TEST(update__any_age_will_do__until_a_conflict),
        SLOTS_TEST(fresh__main_slots_are_read__extras_known_absent_are_not),
        SLOTS_TEST(new__what_was_listed_a_moment_ago_is_as_good),
        SLOTS_TEST(not_new__what_a_list_lacks_is_asked_for_by_name),
        SLOTS_TEST(delete__leftovers_of_the_list_are_found),
        SLOTS_TEST(delete__a_kind_is_listed_late__only_its_names_are_asked_for),
        SLOTS_TEST(rare__the_list_answers__read_by_name_where_it_cannot),
        SLOTS_TEST(more_slots__only_these_are_looked_at),
        SLOTS_TEST(more_slots__after_the_cloud_was_asked__are_asked_for_there),
        SLOTS_TEST(delete__by_name__nothing_is_taken_for_absent),
        SLOTS_TEST(update__pool__is_read_again),
        SLOTS_TEST(ahead__its_answer_is_taken_once),
        SLOTS_TEST(target_pool__slots_of_each_verb),
        SLOTS_TEST(target_pool__what_was_seen__as_its_planners_take_it),
        SLOTS_TEST(extra__of_a_name_that_no_list_covers__is_read_alone),
        SLOTS_TEST(lists__forbidden__resources_are_read_one_by_one),
        SLOTS_TEST(read__refused__is_an_error_and_nothing_is_concluded),
        SLOTS_TEST(address__without_ip__an_ensure_comes_again__a_delete_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
