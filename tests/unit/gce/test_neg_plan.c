/* SPDX-License-Identifier: Apache-2.0 */
/* test_neg_plan.c: operations on the NEGs of one Service: what is sent, in which order,
 * and what people read. */
#include "tests/unit/gce/neg_kit.h"

#include "providers/gce/ops/gce_ops.h"
#include "tests/support/unit.h"

#define KEY "default/web"

/* ---- NEGs in short forms --------------------------------------------------------------------- */

static struct gce_endpoint *endpoints(struct arena *a, const char *text, size_t *ret_n)
{
    size_t n = 0;
    char **items = *text == '\0' ? NULL : str_split(a, text, ' ', &n);
    struct gce_endpoint *e = ARENA_ARRAY(a, struct gce_endpoint, n);
    for (size_t i = 0; i < n; i++) {
        char *at = strchr(items[i], '=');
        const char *ip = at == NULL ? "10.0.0.1" : at + 1;
        if (at != NULL) {
            *at = '\0';
        }
        e[i] = (struct gce_endpoint){.instance = items[i], .ip = ip, .ipv6 = ""};
    }
    *ret_n = n;
    return e;
}

/* `is` NULL: the NEG is not there. */
static struct gce_neg_one one(struct arena *a, const char *zone, const char *is, const char *want)
{
    struct gce_neg *seen = ARENA_NEW(a, struct gce_neg);
    *seen = (struct gce_neg){.name = "k8s2-x",
                             .zone = zone,
                             .description = gce_neg_describe(a, "uid", "default", "web"),
                             .type = "GCE_VM_IP",
                             .network = KIT_NETWORK_URL,
                             .subnetwork = KIT_SUBNET_URL};
    struct gce_neg_one o = {
        .zone = zone, .name = "k8s2-x", .seen = is == NULL ? NULL : seen, .wanted = true};
    o.is = endpoints(a, str_nonnull(is), &o.n_is);
    o.want = endpoints(a, want, &o.n_want);
    return o;
}

static struct gce_neg_plan plan_of(struct arena *a, struct gce_neg_one *items, size_t n)
{
    return (struct gce_neg_plan){.items = items,
                                 .n = n,
                                 .description = gce_neg_describe(a, "uid", "default", "web"),
                                 .network = KIT_NETWORK_URL,
                                 .subnetwork = KIT_SUBNET_URL};
}

/* Lines "1 + zone1, for 2 nodes [the NEG is new]": wave, verb, summary, why; ">2": sent after the
 * second operation. */
static const char *lines(struct arena *a, const struct lb_plan *p)
{
    static const char *const verbs[] = {
        [LB_CREATE] = "+", [LB_CHANGE] = "~", [LB_DELETE] = "-", [LB_KEEP] = "="};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct lb_op *op = &p->ops[i];
        str_appendf(&b, "%s%d %s %s", i > 0 ? "\n" : "", op->wave, verbs[op->verb],
                    str_nonnull(op->summary));
        if (op->why != NULL) {
            str_appendf(&b, " [%s]", op->why);
        }
        if (op->sent_after >= 0) {
            str_appendf(&b, " >%d", op->sent_after + 1);
        }
    }
    return str_buf_to_arena(&b, a);
}

/* `full`: the kind of which Google has refused something for a limit, or NULL. */
static const char *made_at(struct arena *a, struct gce_neg_plan *n, const char *full)
{
    struct lb_plan p;
    struct err err = ERR_INIT;
    lb_plan_init(&p, a);
    if (full != NULL) {
        struct lb_kinds *kinds = NULL;
        lb_kinds_add(a, &kinds, full);
        lb_plan_service(&p, KEY)->full = kinds;
    }
    if (gce_neg_plan_make(&p, KEY, n, NULL, &err) != ERR_OK) {
        assert_int_equal(p.n_ops, 0);
        return err.message[0] == '\0' ? "an error without words" : arena_strdup(a, err.message);
    }
    if (lb_plan_seal(&p, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return lines(a, &p);
}

static const char *made(struct arena *a, struct gce_neg_plan *n)
{
    return made_at(a, n, NULL);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void gce_neg_plan_make__new__inserts_then_members(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", NULL, "a b"), one(a, "zone2", NULL, "c"),
                                  one(a, "zone3", NULL, "")};
    struct gce_neg_plan n = plan_of(a, items, 3);
    same_text("three zones", made(a, &n),
              "1 + zone1, for 2 nodes [the zone has nodes that take part]\n"
              "1 + zone2, for 1 node [the zone has nodes that take part]\n"
              "1 + zone3, for 0 nodes [the zone has nodes that take part]\n"
              "2 ~ zone1: attach 2 nodes [the NEG is new]\n"
              "2 ~ zone2: attach 1 node [the NEG is new]");
    assert_int_equal(n.first_op, 0);
    assert_int_equal(n.last_op, 4);
}

static void gce_neg_plan_make__nothing_to_do__no_operation(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", "a b", "a b"), one(a, "zone2", "", ""),
                                  one(a, "zone3", NULL, "")};
    struct gce_neg_plan n = plan_of(a, items, 3);
    items[2].wanted = false;
    same_text("kept", made(a, &n), "0 = zone1\n0 = zone2");
    assert_int_equal(n.first_op, -1);
    assert_int_equal(n.last_op, -1);
}

/* Only of the NEG where both happen, and in a wave before all others. */
static void gce_neg_plan_make__at_the_limit__leaving_makes_room(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", "a b", "b c"), one(a, "zone2", "d e", "d")};
    struct gce_neg_plan n = plan_of(a, items, 2);
    n.local = true;
    same_text("full", made_at(a, &n, gce_collection_word(GCE_NEGS)),
              "1 ~ zone1: detach 1 node [node a has no endpoint of the Service any more]\n"
              "2 ~ zone1: attach 1 node [node c has endpoints of the Service]\n"
              "2 ~ zone2: detach 1 node [node e has no endpoint of the Service any more] >2");
    assert_int_equal(n.makes_room, 1);
    same_text("something else is full", made_at(a, &n, "firewall"), made(a, &n));
    assert_int_equal(n.makes_room, 0);
}

static void gce_neg_plan_make__local_move__leaving_is_sent_behind_joining(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", "a b", "b c"), one(a, "zone2", "d e", "d")};
    struct gce_neg_plan n = plan_of(a, items, 2);
    n.local = true;
    same_text("the same NEG's, else any", made(a, &n),
              "1 ~ zone1: attach 1 node [node c has endpoints of the Service]\n"
              "1 ~ zone1: detach 1 node [node a has no endpoint of the Service any more] >1\n"
              "1 ~ zone2: detach 1 node [node e has no endpoint of the Service any more] >1");
    struct gce_neg_one other[] = {one(a, "zone1", "a", ""), one(a, "zone2", "", "b")};
    n = plan_of(a, other, 2);
    n.local = true;
    same_text("another zone's", made(a, &n),
              "1 ~ zone2: attach 1 node [node b has endpoints of the Service]\n"
              "1 ~ zone1: detach 1 node [node a has no endpoint of the Service any more] >1");
    struct gce_neg_one alone[] = {one(a, "zone1", "a", "")};
    n = plan_of(a, alone, 1);
    n.local = true;
    same_text("nobody joins", made(a, &n),
              "1 ~ zone1: detach 1 node [node a has no endpoint of the Service any more]");
}

static void gce_neg_plan_make__who_leaves__says_why(void **state)
{
    struct arena *a = *state;
    struct kit_nodes nodes = {0};
    const struct gce_node_filter f = {.default_subnet = "default", .needs_pod_cidr = true};
    kit_add_nodes(a, &nodes, "zone1", NULL, kit_names(a, "n0-9"));
    nodes.items[9] = kit_node(a, (struct kit_node){.name = "n9", .zone = "zone1", .ready = ""});
    struct gce_neg_one items[] = {
        one(a, "zone1", "gone1 gone2 n1 n2 n3 n4 n5=10.9.9.9 n9", "n5=10.0.0.5")};
    struct gce_neg_plan n = plan_of(a, items, 1);
    n.nodes = gce_node_table_make(a, &f, nodes.items, nodes.n);
    same_text("each reason once", made(a, &n),
              "1 ~ zone1: attach 1 node [nodes gone1, gone2 are gone; node n5 has another address "
              "now; node n9 takes no part any more; 4 nodes are more than the zone's share]\n"
              "1 ~ zone1: detach 8 nodes [nodes gone1, gone2 are gone; node n5 has another address "
              "now; node n9 takes no part any more; 4 nodes are more than the zone's share] >1");
    struct gce_neg_one room[] = {one(a, "zone1", "n1", "n1 n2")};
    n = plan_of(a, room, 1);
    same_text("nobody leaves", made(a, &n),
              "1 ~ zone1: attach 1 node [there is room in the zone's share]");
}

static const char *many(struct arena *a, int n)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < n; i++) {
        str_appendf(&b, "%sn%04d", i > 0 ? " " : "", i);
    }
    return str_buf_to_arena(&b, a);
}

static void gce_neg_plan_make__more_than_500__in_batches_of_one_wave(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", NULL, many(a, 1001)),
                                  one(a, "zone2", many(a, 501), "")};
    struct gce_neg_plan n = plan_of(a, items, 2);
    n.local = true;
    same_text(
        "500, 500, 1; 500, 1", made(a, &n),
        "1 + zone1, for 1001 nodes [the zone has nodes that take part]\n"
        "2 ~ zone1: attach 500 nodes [the NEG is new]\n"
        "2 ~ zone1: attach 500 nodes [the NEG is new]\n"
        "2 ~ zone1: attach 1 node [the NEG is new]\n"
        "2 ~ zone2: detach 500 nodes [500 nodes have no endpoint of the Service any more] >2\n"
        "2 ~ zone2: detach 1 node [node n0500 has no endpoint of the Service any more] >2");
}

/* ---- what is sent ---------------------------------------------------------------------------- */

static void gce_neg_plan_make__bodies__as_the_api_wants_them(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", NULL, "a=10.0.0.5 b=10.0.0.6"),
                                  one(a, "zone2", "c=10.0.0.7", "")};
    struct gce_neg_plan n = plan_of(a, items, 2);
    struct lb_plan p;
    static const struct {
        enum gce_verb verb;
        const char *zone, *body;
        bool members;
    } rows[] = {
        {GCE_INSERT, "zone1",
         "{\"description\":\"{\\\"cluster-uid\\\":\\\"uid\\\",\\\"namespace\\\":\\\"default\\\","
         "\\\"service-name\\\":\\\"web\\\",\\\"port\\\":\\\"0\\\"}\",\"name\":\"k8s2-x\","
         "\"network\":\"" KIT_NETWORK_URL "\",\"networkEndpointType\":\"GCE_VM_IP\","
         "\"subnetwork\":\"" KIT_SUBNET_URL "\"}",
         false},
        {GCE_ATTACH, "zone1",
         "{\"networkEndpoints\":[{\"instance\":\"a\",\"ipAddress\":\"10.0.0.5\"},"
         "{\"instance\":\"b\",\"ipAddress\":\"10.0.0.6\"}]}",
         true},
        {GCE_DETACH, "zone2",
         "{\"networkEndpoints\":[{\"instance\":\"c\",\"ipAddress\":\"10.0.0.7\"}]}", true},
    };
    lb_plan_init(&p, a);
    assert_int_equal(gce_neg_plan_make(&p, KEY, &n, NULL, NULL), ERR_OK);
    assert_int_equal(p.n_ops, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_op *op = p.ops[i].arg;
        assert_int_equal(op->c, GCE_NEGS);
        assert_int_equal(op->verb, rows[i].verb);
        assert_int_equal(op->members, rows[i].members);
        same_text("zone", op->zone, rows[i].zone);
        same_text("name", op->name, "k8s2-x");
        same_text("body", json_text(a, op->body, JSON_SORTED), rows[i].body);
        same_text("owner", p.ops[i].owners.items[0], KEY);
        assert_ptr_equal(p.ops[i].type, gce_op_type_of(op->verb));
    }
}

/* ---- what is not touched --------------------------------------------------------------------- */

static void gce_neg_plan_make__somebody_elses__nothing_is_done(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", NULL, "a"), one(a, "zone2", "b", "c")};
    struct gce_neg_plan n = plan_of(a, items, 2);
    items[1].foreign = true;
    assert_non_null(strstr(made(a, &n), "k8s2-x in zone zone2 belongs to another program"));
    items[1].foreign = false;
    ((struct gce_neg *)items[1].seen)->type = "GCE_VM_IP_PORT";
    assert_non_null(strstr(made(a, &n), "belongs to another program (type GCE_VM_IP_PORT"));
}

static void gce_neg_plan_make__members_not_read__stay(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", "", "a"), one(a, "zone2", "b", "c")};
    struct gce_neg_plan n = plan_of(a, items, 2);
    items[0].unknown = true;
    same_text("only the other", made(a, &n),
              "1 ~ zone2: attach 1 node [node b is more than the zone's share]\n"
              "1 ~ zone2: detach 1 node [node b is more than the zone's share] >1\n"
              "0 = zone1");
}

static void gce_neg_plan_make__another_network__made_again_only_when_free(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", "a", "a"), one(a, "zone2", NULL, "b")};
    struct gce_neg_plan n = plan_of(a, items, 2);
    n.network = "https://www.googleapis.com/compute/v1/projects/p/global/networks/other";
    same_text("A13 free", made(a, &n),
              "1 - zone1 [it is on another network]\n"
              "2 + zone1, for 1 node [the zone has nodes that take part]\n"
              "2 + zone2, for 1 node [the zone has nodes that take part]\n"
              "3 ~ zone1: attach 1 node [the NEG is new]\n"
              "3 ~ zone2: attach 1 node [the NEG is new]");
    assert_non_null(items[0].seen); /* the input is the caller's */
    items[0].linked = true;
    assert_non_null(strstr(made(a, &n), "is on network default, subnetwork default, and a backend "
                                        "service refers to it"));
    /* Another spelling of the same one, or none told, is no other network. */
    n.network = "https://compute.googleapis.com/compute/v1/projects/p/global/networks/default";
    ((struct gce_neg *)items[0].seen)->subnetwork = "";
    same_text("the same", made(a, &n),
              "1 + zone2, for 1 node [the zone has nodes that take part]\n"
              "2 ~ zone2: attach 1 node [the NEG is new]\n"
              "0 = zone1");
}

/* A zone that lost its candidates: the NEG stays, linked, and becomes empty (§3.6). */
static void gce_neg_plan_make__zone_without_candidates__emptied(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", "a", "")};
    struct gce_neg_plan n = plan_of(a, items, 1);
    items[0].wanted = false;
    same_text("emptied", made(a, &n),
              "1 ~ zone1: detach 1 node [node a is more than the zone's share]");
}

/* ---- deleting -------------------------------------------------------------------------------- */

static void gce_neg_plan_delete__all_that_say_they_are_ours(void **state)
{
    struct arena *a = *state;
    struct gce_neg_one items[] = {one(a, "zone1", "a", ""), one(a, "zone2", NULL, ""),
                                  one(a, "zone3", "", ""), one(a, "zone4", "", ""),
                                  one(a, "zone5", "", "")};
    struct gce_neg_plan n = plan_of(a, items, 5);
    struct lb_plan p;
    struct err err = ERR_INIT;
    items[2].foreign = true;
    ((struct gce_neg *)items[3].seen)->description = ""; /* A12 */
    lb_plan_init(&p, a);
    gce_neg_plan_delete(&p, KEY, &n, NULL);
    assert_int_equal(lb_plan_seal(&p, &err), ERR_OK);
    same_text("two", lines(a, &p),
              "1 - zone1 [the Service needs it no more]\n"
              "1 - zone5 [the Service needs it no more]");
    assert_int_equal(p.ops[0].tolerate, LB_TOLERATE_ABSENT);
    assert_int_equal(p.services[0].n_because, 2); /* the plan lists what stays */
}

UNIT_MAIN(neg_plan)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(gce_neg_plan_make__new__inserts_then_members),
        PURE_TEST(gce_neg_plan_make__nothing_to_do__no_operation),
        PURE_TEST(gce_neg_plan_make__at_the_limit__leaving_makes_room),
        PURE_TEST(gce_neg_plan_make__local_move__leaving_is_sent_behind_joining),
        PURE_TEST(gce_neg_plan_make__who_leaves__says_why),
        PURE_TEST(gce_neg_plan_make__more_than_500__in_batches_of_one_wave),
        PURE_TEST(gce_neg_plan_make__bodies__as_the_api_wants_them),
        PURE_TEST(gce_neg_plan_make__somebody_elses__nothing_is_done),
        PURE_TEST(gce_neg_plan_make__members_not_read__stay),
        PURE_TEST(gce_neg_plan_make__another_network__made_again_only_when_free),
        PURE_TEST(gce_neg_plan_make__zone_without_candidates__emptied),
        PURE_TEST(gce_neg_plan_delete__all_that_say_they_are_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
