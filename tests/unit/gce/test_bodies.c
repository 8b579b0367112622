/* SPDX-License-Identifier: Apache-2.0 */
/* test_bodies.c: what we send is, member by member, what the upstream controller sent for the
 * same Service (tests/data/gce/bodies.json).
 *
 * Links are compared from "projects/" on, lists as sets.  One difference is meant: the shared
 * health check's firewall has no destinationRanges (docs/deviations.md). */
#include "tests/unit/gce/pure.h"

#include "common/base/file.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/model/gce_target_pool.h"
#include "tests/support/unit.h"

#include <stdlib.h>

#define NODES 6

static const char *const check_sources[] = {"130.211.0.0/22", "35.191.0.0/16", "209.85.152.0/22",
                                            "209.85.204.0/22"};

static struct json_object *recorded(struct arena *a)
{
    char *text;
    size_t n;
    struct err err = ERR_INIT;
    const char *path = arena_printf(a, "%s/gce/bodies.json", getenv("TRIMTAB_TEST_DATA"));
    if (file_read(a, path, 1 << 20, &text, &n, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return pure_json(a, text);
}

static struct gce_tp_facts facts_of(struct arena *a)
{
    const char *node = "node";
    return (struct gce_tp_facts){
        .project = "p1",
        .network_project = "p1",
        .region = "us-central1",
        .projects_base = "https://compute.googleapis.com/compute/v1/projects/",
        .network = "https://www.googleapis.com/compute/v1/projects/p1/global/networks/default",
        .check_sources = check_sources,
        .n_check_sources = ARRAY_LEN(check_sources),
        .node_tags = str_set_make(a, &node, 1),
    };
}

static struct gce_members six_nodes(struct arena *a)
{
    static const char *const zones[] = {"us-central1-a", "us-central1-b", "us-central1-c"};
    const struct tt_node *nodes[NODES];
    struct gce_members m;
    for (int i = 0; i < NODES; i++) {
        nodes[i] = test_node_text(
            a, arena_printf(a,
                            "{\"metadata\":{\"name\":\"node-%d\"},\"spec\":{\"providerID\":"
                            "\"gce://p1/%s/node-%d\"}}",
                            i, zones[i % 3], i));
    }
    gce_members_of(a, nodes, NODES, "p1", "us-central1", &m);
    return m;
}

/* Our body for the same purpose; new reference. */
static struct json_object *ours(struct arena *a, const struct gce_tp_desired *d,
                                struct json_object *row)
{
    const char *collection = json_str(row, "collection");
    struct json_object *theirs = json_member(row, "body");
    const char *ip = json_str(row, "ip");
    if (str_eq(collection, "addresses")) {
        const struct gce_address address = {
            .name = d->names.lb,
            .description = d->names.description,
            .ip = str_nonnull(json_str(theirs, "address")),
            .tier = gce_tier_wire(d->tier),
        };
        return gce_address_body(&address);
    }
    if (str_eq(collection, "forwardingRules")) {
        struct gce_rule rule = d->rule;
        rule.ip = ip;
        return gce_rule_body(&rule);
    }
    if (str_eq(collection, "targetPools")) {
        return gce_pool_body(&d->pool);
    }
    if (str_eq(collection, "httpHealthChecks")) {
        return gce_check_body(&d->check);
    }
    assert_string_equal(collection, "firewalls");
    bool traffic = str_eq(json_str(theirs, "name"), d->names.firewall);
    struct gce_firewall f =
        gce_tp_firewall_for(a, d, traffic ? &d->traffic : &d->check_firewall, ip);
    return gce_firewall_body(&f, false);
}

static int by_text(const void *x, const void *y)
{
    struct json_object *const *a = x;
    struct json_object *const *b = y;
    return strcmp(json_object_to_json_string(*a), json_object_to_json_string(*b));
}

static struct json_object *normal(struct json_object *v)
{
    if (json_object_is_type(v, json_type_string)) {
        const char *at = strstr(json_object_get_string(v), "projects/");
        return json_object_new_string(at != NULL ? at : json_object_get_string(v));
    }
    if (json_object_is_type(v, json_type_array)) {
        struct json_object *out = json_object_new_array();
        for (size_t i = 0; i < json_len(v); i++) {
            json_object_array_add(out, normal(json_object_array_get_idx(v, i)));
        }
        json_object_array_sort(out, by_text);
        return out;
    }
    if (!json_object_is_type(v, json_type_object)) {
        return json_object_get(v);
    }
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(v, key, member)
    {
        json_add(out, key, normal(member));
    }
    return out;
}

static void bodies__same_as_recorded(void **state)
{
    struct arena *a = *state;
    struct json_object *rows = recorded(a);
    const struct gce_tp_facts facts = facts_of(a);
    assert_true(json_len(rows) >= 40);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);
        struct gce_tp_outcome outcome = {0};
        const struct gce_tp_input in = {
            .service = test_service(a, json_member(row, "service")),
            .key = "",
            .cluster_id = json_str(row, "cluster_id"),
            .members = six_nodes(a),
            .tags = facts.node_tags,
            .outcome = &outcome,
        };
        struct gce_tp_desired d;
        struct err err = ERR_INIT;
        if (gce_tp_desired_make(a, &facts, &in, &d, &err) != ERR_OK) {
            fail_msg("%s: %s", json_str(row, "from"), err.message);
        }
        struct json_object *mine = ours(a, &d, row);
        struct json_object *got = normal(mine);
        struct json_object *want = normal(json_member(row, "body"));
        if (str_has_suffix(json_str(want, "name"), "-node-http-hc")) {
            json_object_object_del(want, "destinationRanges");
        }
        if (!json_equal(got, want)) {
            fail_msg("%s: ours %s, theirs %s", json_str(row, "from"),
                     json_text(a, got, JSON_SORTED), json_text(a, want, JSON_SORTED));
        }
        json_object_put(mine);
        json_object_put(got);
        json_object_put(want);
    }
}

UNIT_MAIN(bodies)
{
    const struct CMUnitTest tests[] = {PURE_TEST(bodies__same_as_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
