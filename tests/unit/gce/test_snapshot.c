/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c: what is known, for how long, and what is forgotten; the lock of the shared
 * check; events that were sent already. */
#include "tests/unit/gce/pure.h"

#include "common/base/clock.h"
#include "common/base/hold.h"
#include "providers/gce/cache/gce_snapshot.h"
#include "providers/gce/cache/gce_told.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

struct kit {
    struct arena *a;
    struct clock *clock;
    struct gce_snapshot *s;
};

static int setup(void **state)
{
    struct kit *k = xcalloc(1, sizeof(*k));
    k->a = arena_new();
    k->clock = clock_fake_new(1000, 0);
    k->s = gce_snapshot_new(k->clock);
    *state = k;
    return 0;
}

static int teardown(void **state)
{
    struct kit *k = *state;
    gce_snapshot_free(k->s);
    clock_fake_free(k->clock);
    arena_free(k->a);
    free(k);
    return 0;
}

static enum gce_known look(struct kit *k, enum gce_collection c, const char *name, int64_t age,
                           const char *member, const char **ret)
{
    struct json_object *o = NULL;
    enum gce_known known = gce_snapshot_get(k->s, GCE_KEY(c, name), age, k->a, &o);
    *ret = known == GCE_PRESENT ? json_str(o, member) : NULL;
    return known;
}

static void fill(struct kit *k, enum gce_collection c, const char *const *items, size_t n)
{
    struct gce_fill *f = gce_fill_begin(k->s, c);
    for (size_t i = 0; i < n; i++) {
        gce_fill_item(f, items[i], strlen(items[i]));
    }
    gce_fill_commit(f);
}

static void get__never_seen_listed_aged_forgotten(void **state)
{
    struct kit *k = *state;
    const char *v;
    static const char *const rules[] = {"{\"name\":\"a\",\"IPAddress\":\"1.1.1.1\",\"id\":\"9\"}",
                                        "no JSON"};
    assert_int_equal(look(k, GCE_RULES, "a", GCE_SNAPSHOT_ANY, "IPAddress", &v), GCE_UNKNOWN);
    assert_false(gce_snapshot_has_all(k->s, GCE_RULES));
    fill(k, GCE_RULES, rules, 2);
    assert_true(gce_snapshot_has_all(k->s, GCE_RULES));
    assert_int_equal(look(k, GCE_RULES, "a", 60000, "IPAddress", &v), GCE_PRESENT);
    assert_string_equal(v, "1.1.1.1");
    assert_int_equal(look(k, GCE_RULES, "a", 60000, "id", &v), GCE_PRESENT);
    assert_null(v); /* only members that we know are kept */
    assert_int_equal(look(k, GCE_RULES, "b", 60000, "x", &v), GCE_ABSENT);
    clock_fake_advance(k->clock, 60001);
    assert_int_equal(look(k, GCE_RULES, "a", 60000, "x", &v), GCE_UNKNOWN);
    assert_int_equal(look(k, GCE_RULES, "b", 60000, "x", &v), GCE_UNKNOWN);
    assert_int_equal(look(k, GCE_RULES, "b", GCE_SNAPSHOT_ANY, "x", &v), GCE_ABSENT);
    gce_snapshot_put(k->s, GCE_KEY(GCE_RULES, "b"), pure_json(k->a, "{\"name\":\"b\"}"));
    assert_int_equal(look(k, GCE_RULES, "b", 0, "name", &v), GCE_PRESENT);
    gce_snapshot_put(k->s, GCE_KEY(GCE_RULES, "b"), NULL);
    assert_int_equal(look(k, GCE_RULES, "b", 0, "name", &v), GCE_ABSENT);
    gce_snapshot_forget(k->s, GCE_KEY(GCE_RULES, "b"));
    assert_int_equal(look(k, GCE_RULES, "b", GCE_SNAPSHOT_ANY, "name", &v), GCE_UNKNOWN);
}

static void fill__while_we_wrote__our_writes_win(void **state)
{
    struct kit *k = *state;
    const char *v;
    static const char *const old_rule = "{\"name\":\"a\",\"IPAddress\":\"1.1.1.1\"}";
    struct gce_fill *f = gce_fill_begin(k->s, GCE_RULES);
    gce_fill_item(f, old_rule, strlen(old_rule));
    clock_fake_advance(k->clock, 10);
    gce_snapshot_put(k->s, GCE_KEY(GCE_RULES, "a"), NULL); /* deleted meanwhile */
    gce_snapshot_forget(k->s, GCE_KEY(GCE_RULES, "b"));    /* touched by something that failed */
    gce_fill_commit(f);
    assert_int_equal(look(k, GCE_RULES, "a", GCE_SNAPSHOT_ANY, "x", &v), GCE_ABSENT);
    assert_int_equal(look(k, GCE_RULES, "b", GCE_SNAPSHOT_ANY, "x", &v), GCE_UNKNOWN);
}

static void fill__what_it_brings_again__is_young_and_what_it_lacks_is_gone(void **state)
{
    struct kit *k = *state;
    const char *v;
    static const char *const rules[] = {"{\"name\":\"a\",\"IPAddress\":\"1.1.1.1\"}",
                                        "{\"name\":\"b\",\"IPAddress\":\"1.1.1.2\"}",
                                        "{\"name\":\"c\",\"IPAddress\":\"1.1.1.3\"}"};
    fill(k, GCE_RULES, rules, 3);
    clock_fake_advance(k->clock, 60001);
    struct gce_fill *dropped = gce_fill_begin(k->s, GCE_RULES);
    gce_fill_item(dropped, rules[0], strlen(rules[0]));
    gce_fill_drop(dropped);
    assert_int_equal(look(k, GCE_RULES, "a", 60000, "x", &v), GCE_UNKNOWN); /* as old as before */
    struct gce_fill *f = gce_fill_begin(k->s, GCE_RULES);
    gce_fill_item(f, rules[0], strlen(rules[0]));
    gce_fill_item(f, rules[1], strlen(rules[1]));
    gce_snapshot_put(k->s, GCE_KEY(GCE_RULES, "b"), NULL); /* deleted meanwhile */
    gce_fill_commit(f);
    assert_int_equal(look(k, GCE_RULES, "a", 60000, "IPAddress", &v), GCE_PRESENT);
    assert_string_equal(v, "1.1.1.1");
    assert_int_equal(look(k, GCE_RULES, "b", 60000, "x", &v), GCE_ABSENT);
    assert_int_equal(look(k, GCE_RULES, "c", 60000, "x", &v), GCE_ABSENT);
}

/* Names outside a list's filter are not said to be absent by it. */
static void filter__of_other_names_nothing_is_concluded(void **state)
{
    struct kit *k = *state;
    const char *v;
    static const struct {
        enum gce_collection c;
        const char *ours, *others;
    } rows[] = {{GCE_FIREWALLS, "k8s2-x", "allow-ssh"},
                {GCE_FIREWALLS, "a0123-hc", "a"},
                {GCE_NEGS, "k8s2-x", "k8s1-x"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fill(k, rows[i].c, NULL, 0);
        assert_int_equal(look(k, rows[i].c, rows[i].ours, 60000, "x", &v), GCE_ABSENT);
        assert_int_equal(look(k, rows[i].c, rows[i].others, 60000, "x", &v), GCE_UNKNOWN);
        assert_non_null(gce_snapshot_filter(rows[i].c));
    }
    assert_null(gce_snapshot_filter(GCE_RULES));
}

/* Thousands of Services that came and went leave nothing behind. */
static void absent__old_ones_go_where_a_list_says_the_same(void **state)
{
    struct kit *k = *state;
    fill(k, GCE_RULES, NULL, 0);
    size_t before = mallinfo2().uordblks;
    for (unsigned i = 0; i < 50000; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "rule-%u", i);
        gce_snapshot_put(k->s, GCE_KEY(GCE_RULES, name), NULL);
        clock_fake_advance(k->clock, 60001);
    }
    assert_true(mallinfo2().uordblks - before < 1000000);
}

static void pools__same_members_are_kept_once_and_come_back_whole(void **state)
{
    struct kit *k = *state;
    static const char *const pools[] = {
        ("{\"name\":\"a\",\"instances\":[\"/zones/z/instances/x\",\"/zones/z/instances/y\"],"
         "\"healthChecks\":[\"https://h/projects/p/global/httpHealthChecks/k8s-c-node\"]}"),
        "{\"name\":\"b\",\"instances\":[\"/zones/z/instances/x\",\"/zones/z/instances/y\"]}",
        "{\"name\":\"c\",\"instances\":[]}",
    };
    struct json_object *o = NULL;
    fill(k, GCE_POOLS, pools, 3);
    assert_int_equal(gce_snapshot_get(k->s, GCE_KEY(GCE_POOLS, "b"), 0, k->a, &o), GCE_PRESENT);
    assert_int_equal(json_len(json_member(o, "instances")), 2);
    assert_int_equal(gce_snapshot_get(k->s, GCE_KEY(GCE_POOLS, "c"), 0, k->a, &o), GCE_PRESENT);
    assert_int_equal(json_len(json_member(o, "instances")), 0);
    assert_true(gce_snapshot_check_is_used(k->s, "k8s-c-node", "b"));
    assert_false(gce_snapshot_check_is_used(k->s, "k8s-c-node", "a"));
    gce_snapshot_put(k->s, GCE_KEY(GCE_POOLS, "a"), NULL);
    assert_false(gce_snapshot_check_is_used(k->s, "k8s-c-node", ""));
    fill(k, GCE_POOLS, pools, 0);
}

static void address__by_ip(void **state)
{
    struct kit *k = *state;
    static const char *const addresses[] = {"{\"name\":\"mine\",\"address\":\"1.2.3.4\"}",
                                            "{\"name\":\"other\",\"address\":\"1.2.3.45\"}"};
    struct json_object *o = NULL;
    assert_int_equal(gce_snapshot_address(k->s, "1.2.3.4", 60000, k->a, &o), GCE_UNKNOWN);
    fill(k, GCE_ADDRESSES, addresses, 2);
    assert_int_equal(gce_snapshot_address(k->s, "1.2.3.4", 60000, k->a, &o), GCE_PRESENT);
    assert_string_equal(json_str(o, "name"), "mine");
    assert_int_equal(gce_snapshot_address(k->s, "9.9.9.9", 60000, k->a, &o), GCE_ABSENT);
    gce_snapshot_forget(k->s, GCE_KEY(GCE_ADDRESSES, "other"));
    assert_int_equal(gce_snapshot_address(k->s, "9.9.9.9", 60000, k->a, &o), GCE_UNKNOWN);
}

/* ---- how much it takes ----------------------------------------------------------------------- */

#define LINK   "https://www.googleapis.com/compute/v1/projects/a-project-of-ours/"
#define REGION LINK "regions/us-central1/"

/* One of the six resources of an internal Service with three NEGs, as the cloud writes them. */
static const char *piece(struct arena *a, enum gce_collection c, char zone, unsigned i)
{
    const char *ns = arena_printf(a, "team-%u", i % 40);
    const char *svc = arena_printf(a, "checkout-backend-%u", i);
    unsigned hash = i * 2654435761u;
    const char *name = arena_printf(a, "k8s2-axyqjz2d-%s-%s-%08x", ns, svc, hash);
    const char *tail = arena_printf(
        a, "\"id\":\"%u%09u\",\"creationTimestamp\":\"2026-11-21T10:%02u\"}", hash, i, i % 60);
    const char *about =
        arena_printf(a,
                     "\"description\":\"{\\\"networking.gke.io/service-name\\\":\\\"%s/%s\\\","
                     "\\\"networking.gke.io/api-version\\\":\\\"ga\\\"}\"",
                     ns, svc);
    switch (c) {
    case GCE_RULES:
        return arena_printf(
            a,
            "{\"name\":\"k8s2-tcp-axyqjz2d-%s-%s-%08x\",%s,\"IPAddress\":\"10.%u.%u.%u\","
            "\"IPProtocol\":\"TCP\",\"ports\":[\"%u\"],\"loadBalancingScheme\":\"INTERNAL\","
            "\"backendService\":\"" REGION "backendServices/%s\",\"network\":\"" LINK
            "global/networks/default\",\"subnetwork\":\"" REGION
            "subnetworks/default\",\"networkTier\":\"PREMIUM\",%s",
            ns, svc, hash, about, i >> 16, (i >> 8) & 255, i & 255, 8000 + i % 100, name, tail);
    case GCE_BACKENDS:
        return arena_printf(
            a,
            "{\"name\":\"%s\",%s,\"protocol\":\"TCP\",\"loadBalancingScheme\":\"INTERNAL\","
            "\"sessionAffinity\":\"NONE\",\"fingerprint\":\"%08x=\",\"selfLink\":\"" REGION
            "backendServices/%s\",\"healthChecks\":[\"" LINK
            "global/healthChecks/k8s2-axyqjz2d-l4-shared-hc\"],\"backends\":["
            "{\"balancingMode\":\"CONNECTION\",\"group\":\"" LINK
            "zones/us-central1-a/networkEndpointGroups/%s\"},{\"balancingMode\":\"CONNECTION\","
            "\"group\":\"" LINK "zones/us-central1-b/networkEndpointGroups/%s\"},"
            "{\"balancingMode\":\"CONNECTION\",\"group\":\"" LINK
            "zones/us-central1-c/networkEndpointGroups/%s\"}],"
            "\"connectionDraining\":{\"drainingTimeoutSec\":30},%s",
            name, about, hash, name, name, name, name, tail);
    case GCE_FIREWALLS:
        return arena_printf(
            a,
            "{\"name\":\"%s\",%s,\"network\":\"" LINK "global/networks/default\","
            "\"direction\":\"INGRESS\",\"sourceRanges\":[\"0.0.0.0/0\"],"
            "\"destinationRanges\":[\"10.%u.%u.%u\"],\"targetTags\":[\"gke-cluster-12345-node\"],"
            "\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"%u\"]}],\"priority\":1000,%s",
            name, about, i >> 16, (i >> 8) & 255, i & 255, 8000 + i % 100, tail);
    default:
        return arena_printf(
            a,
            "{\"name\":\"%s\",\"description\":\"{\\\"cluster-uid\\\":\\\"61cb6ef3-fc0f-44e9-8226-"
            "12cef5d8bd10\\\",\\\"namespace\\\":\\\"%s\\\",\\\"service-name\\\":\\\"%s\\\","
            "\\\"port\\\":\\\"0\\\"}\",\"networkEndpointType\":\"GCE_VM_IP\",\"network\":\"" LINK
            "global/networks/default\",\"subnetwork\":\"" REGION
            "subnetworks/default\",\"selfLink\":\"" LINK
            "zones/us-central1-%c/networkEndpointGroups/%s\",\"zone\":\"" LINK
            "zones/us-central1-%c\",\"size\":%u,%s",
            name, ns, svc, zone, name, zone, 8 + i % 2, tail);
    }
}

/* Returns what is taken when the list is whole and not committed yet. */
static size_t fill_services(struct kit *k, struct arena *a, enum gce_collection c, unsigned n)
{
    struct gce_fill *f = gce_fill_begin(k->s, c);
    for (unsigned i = 0; i < n; i++) {
        for (char zone = 'a'; zone <= (c == GCE_NEGS ? 'c' : 'a'); zone++) {
            const char *text = piece(a, c, zone, i);
            gce_fill_item(f, text, strlen(text));
            arena_reset(a);
        }
    }
    assert_false(gce_fill_is_bad(f));
    size_t taken = mallinfo2().uordblks;
    gce_fill_commit(f);
    return taken;
}

/* 5,000 Services may take 2.5 KB each, or the whole process does not fit.  Listed again it
 * takes no more. */
static void memory__services_with_negs__a_kilobyte_and_a_half_each(void **state)
{
    struct kit *k = *state;
    enum { N = 1000 };
    static const enum gce_collection kinds[] = {GCE_RULES, GCE_BACKENDS, GCE_FIREWALLS, GCE_NEGS};
    struct arena *a = arena_new();
    size_t before = mallinfo2().uordblks;
    for (unsigned round = 0; round < 3; round++) {
        for (size_t c = 0; c < ARRAY_LEN(kinds); c++) {
            size_t taken = fill_services(k, a, kinds[c], N);
            assert_true(taken - before <= 2500 * N);
        }
        size_t each = (mallinfo2().uordblks - before) / N; /* 0 where malloc is not glibc's */
        print_message("# %zu bytes a Service\n", each);
        assert_true(each <= 1500);
    }
    arena_free(a);
    struct json_object *o = NULL;
    unsigned hash = 7 * 2654435761u;
    const struct gce_key there = {
        GCE_NEGS, "us-central1-b",
        arena_printf(k->a, "k8s2-axyqjz2d-team-7-checkout-backend-7-%08x", hash)};
    assert_int_equal(gce_snapshot_get(k->s, &there, 0, k->a, &o), GCE_PRESENT);
    assert_int_equal(json_int(o, "size", 0), 9);
    assert_string_equal(json_str(o, "zone"), LINK "zones/us-central1-b");
}

static void deny__others(void **state)
{
    struct kit *k = *state;
    static const char *const firewalls[] = {"{\"name\":\"k8s-fw-a-deny\"}",
                                            "{\"name\":\"k8s-fw-a\"}"};
    fill(k, GCE_FIREWALLS, firewalls, 2);
    assert_true(gce_snapshot_has_deny(k->s, "k8s-fw-b-deny"));
    assert_false(gce_snapshot_has_deny(k->s, "k8s-fw-a-deny"));
}

static void unlistable__counts_as_listed_but_nothing_is_known(void **state)
{
    struct kit *k = *state;
    const char *v;
    const unsigned kinds = GCE_KIND(GCE_CHECKS + 1) - 1;
    for (int c = 0; (kinds & GCE_KIND(c)) != 0; c++) {
        assert_false(gce_snapshot_was_listed(k->s, kinds, GCE_SNAPSHOT_ANY));
        if (c == GCE_FIREWALLS) {
            gce_snapshot_set_unlistable(k->s, GCE_FIREWALLS);
        } else {
            fill(k, (enum gce_collection)c, NULL, 0);
        }
    }
    assert_true(gce_snapshot_was_listed(k->s, kinds, GCE_SNAPSHOT_ANY));
    assert_false(gce_snapshot_has_all(k->s, GCE_FIREWALLS));
    assert_int_equal(look(k, GCE_FIREWALLS, "k8s-x", GCE_SNAPSHOT_ANY, "x", &v), GCE_UNKNOWN);
}

static void claim__one_filler_at_a_time(void **state)
{
    struct kit *k = *state;
    assert_true(gce_snapshot_claim(k->s, NULL));
    gce_snapshot_filled(k->s);
    assert_true(gce_snapshot_claim(k->s, NULL));
    struct cancel *c = cancel_new(NULL);
    cancel_fire(c);
    assert_false(gce_snapshot_claim(k->s, c)); /* does not wait for ever */
    cancel_free(c);
    gce_snapshot_filled(k->s);
}

/* ---- the lock -------------------------------------------------------------------------------- */

struct other {
    struct hold *l;
    enum hold_how want;
    bool got;
};

static void *take_and_give_back(void *arg)
{
    struct other *o = arg;
    o->got = hold_change(o->l, HOLD_NOT, o->want, NULL);
    (void)hold_change(o->l, o->want, HOLD_NOT, NULL);
    return NULL;
}

static void lock__together_and_alone(void **state)
{
    (void)state;
    struct hold *l = hold_new();
    pthread_t t;
    struct other o = {.l = l, .want = HOLD_TOGETHER};
    assert_true(hold_change(l, HOLD_NOT, HOLD_TOGETHER, NULL));
    assert_int_equal(pthread_create(&t, NULL, take_and_give_back, &o), 0);
    pthread_join(t, NULL); /* does not wait for us */
    assert_true(o.got);
    o.want = HOLD_ALONE;
    assert_int_equal(pthread_create(&t, NULL, take_and_give_back, &o), 0);
    assert_true(hold_change(l, HOLD_TOGETHER, HOLD_NOT, NULL));
    pthread_join(t, NULL); /* came in once we had gone */
    assert_true(o.got);
    struct cancel *c = cancel_new(NULL);
    assert_true(hold_change(l, HOLD_NOT, HOLD_ALONE, NULL));
    cancel_fire(c);
    assert_false(hold_change(l, HOLD_NOT, HOLD_TOGETHER, c));
    assert_true(hold_change(l, HOLD_ALONE, HOLD_TOGETHER, NULL));
    assert_true(hold_change(l, HOLD_TOGETHER, HOLD_NOT, NULL));
    cancel_free(c);
    hold_free(l);
}

static void told__once_until_the_text_changes(void **state)
{
    (void)state;
    struct gce_told *t = gce_told_new();
    assert_true(gce_told_is_news(t, "a", "x"));
    assert_false(gce_told_is_news(t, "a", "x"));
    assert_true(gce_told_is_news(t, "a", "y"));
    assert_true(gce_told_is_news(t, "b", "y"));
    gce_told_forget(t, "a");
    assert_true(gce_told_is_news(t, "a", "y"));
    gce_told_free(t);
}

/* A view decodes to the same as the tree. */
static void view__of_every_kind__says_what_the_tree_says(void **state)
{
    struct kit *k = *state;
    static const struct {
        enum gce_collection c;
        const char *text;
    } rows[] = {
        {GCE_RULES, "{\"name\":\"x\",\"IPAddress\":\"1.1.1.1\",\"ports\":[\"80\",\"443\"]}"},
        {GCE_POOLS, "{\"name\":\"x\",\"healthChecks\":[\"c\"],\"instances\":[\"n/1\",\"n/2\"]}"},
        {GCE_POOLS, "{\"name\":\"x\",\"instances\":[]}"},
        {GCE_FIREWALLS, "{\"name\":\"x\",\"priority\":999,\"disabled\":false,"
                        "\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"80\"]}]}"},
        {GCE_CHECKS, "{\"name\":\"x\",\"port\":10256,\"requestPath\":\"/healthz\"}"},
        {GCE_HCS, "{\"name\":\"x\",\"httpHealthCheck\":{\"port\":1}}"},
        {GCE_BACKENDS,
         "{\"name\":\"x\",\"logConfig\":{\"sampleRate\":0.5},\"backends\":[{\"group\":\"g\"}]}"},
        {GCE_ADDRESSES, "{\"name\":\"x\",\"address\":\"1.1.1.1\",\"prefixLength\":96}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct json_view *v = NULL;
        struct json_object *o = NULL;
        const struct gce_key *key = GCE_KEY(rows[i].c, "x");
        gce_snapshot_put(k->s, key, pure_json(k->a, rows[i].text));
        assert_int_equal(gce_snapshot_view(k->s, key, 0, k->a, &v), GCE_PRESENT);
        assert_int_equal(gce_snapshot_get(k->s, key, 0, k->a, &o), GCE_PRESENT);
        struct json_object *shown = json_view_tree(v);
        if (!json_equal(shown, o)) {
            fail_msg("%s: the view is %s", rows[i].text, json_text(k->a, shown, JSON_COMPACT));
        }
        json_object_put(shown);
        gce_snapshot_put(k->s, key, NULL);
        assert_int_equal(gce_snapshot_view(k->s, key, 0, k->a, &v), GCE_ABSENT);
    }
}

/* The rules of a backend service, whatever their names. */
static void rules_of__backend_service__those_that_refer_to_it(void **state)
{
    struct kit *k = *state;
    static const char *const rules[] = {
        "{\"name\":\"b\",\"IPAddress\":\"1.1.1.1\",\"backendService\":\"https://x/regions/r/"
        "backendServices/k8s2-web\"}",
        "{\"name\":\"a\",\"IPAddress\":\"1.1.1.1\",\"backendService\":\"https://x/regions/r/"
        "backendServices/k8s2-web\"}",
        "{\"name\":\"c\",\"IPAddress\":\"1.1.1.1\",\"backendService\":\"https://x/regions/r/"
        "backendServices/k8s2-web-2\"}",
        "{\"name\":\"d\",\"IPAddress\":\"1.1.1.1\",\"target\":\"https://x/regions/r/targetPools/"
        "k8s2-web\"}"};
    fill(k, GCE_RULES, rules, 4);
    struct gce_strs found = gce_snapshot_rules_of(k->s, "k8s2-web", k->a);
    assert_int_equal(found.n, 2);
    assert_string_equal(found.items[0], "a");
    assert_string_equal(found.items[1], "b");
    assert_int_equal(gce_snapshot_rules_of(k->s, "k8s2", k->a).n, 0);
}

#define KIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(snapshot)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(view__of_every_kind__says_what_the_tree_says),
        KIT_TEST(rules_of__backend_service__those_that_refer_to_it),
        KIT_TEST(get__never_seen_listed_aged_forgotten),
        KIT_TEST(fill__while_we_wrote__our_writes_win),
        KIT_TEST(fill__what_it_brings_again__is_young_and_what_it_lacks_is_gone),
        KIT_TEST(filter__of_other_names_nothing_is_concluded),
        KIT_TEST(absent__old_ones_go_where_a_list_says_the_same),
        KIT_TEST(pools__same_members_are_kept_once_and_come_back_whole),
        KIT_TEST(address__by_ip),
        KIT_TEST(memory__services_with_negs__a_kilobyte_and_a_half_each),
        KIT_TEST(deny__others),
        KIT_TEST(unlistable__counts_as_listed_but_nothing_is_known),
        KIT_TEST(claim__one_filler_at_a_time),
        cmocka_unit_test(lock__together_and_alone),
        cmocka_unit_test(told__once_until_the_text_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
