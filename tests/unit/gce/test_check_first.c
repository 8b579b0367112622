/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_first.c: a Service that cannot be served is refused while everything stands: nothing
 * is taken away for what the cloud would not take, and nothing is made for it;
 * against the simulator. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define ANNOTATED(list) "{\"metadata\":{\"annotations\":{" list "}}}"
#define TYPE(value)     "\"networking.gke.io/load-balancer-type\":" value
#define RBS             "\"cloud.google.com/l4-rbs\":\"enabled\""
#define SUBNET(value)   "\"networking.gke.io/internal-load-balancer-subnet\":" value
#define REGION          "regions/us-central1/"
#define SHARED_IP       "203.0.113.99"
#define AT_SHARED_IP    "\"spec\":{\"loadBalancerIP\":\"" SHARED_IP "\""

static const struct tt_kv l4[] = {{"enable-l4-neg", "true"},
                                  {"gce-nodes-need-pod-cidr", "false"},
                                  {"run-l4-controller", "true"},
                                  {"run-l4-netlb-controller", "true"}};
/* Every kind, with the flags and the annotations that make it. */
static const struct kind {
    const char *name;
    bool l4;
    const char *annotations;
} kinds[] = {
    {"target pool", false, ""},
    {"internal, groups", false, TYPE("\"Internal\"")},
    {"internal, NEGs", true, TYPE("\"Internal\"")},
    {"external, groups", true, RBS},
};

static struct rig *start(bool with_l4)
{
    const struct rig_options opt = {
        .nodes = 3, .flags = with_l4 ? l4 : NULL, .n_flags = with_l4 ? ARRAY_LEN(l4) : 0};
    struct rig *r = rig_start(&opt);
    rig_give_addresses(r);
    return r;
}

static void make(struct rig *r, const char *name, const char *annotations, const char *spec)
{
    rig_service(
        r, name,
        arena_printf(rig_arena(r), "{\"metadata\":{\"annotations\":{%s}}%s}", annotations, spec));
    rig_pods(r, name, "node-0 node-1");
}

static void ok(struct rig *r, const char *name, const char *what)
{
    const struct tt_result *res = rig_ensure(r, name);
    if (res->code != TT_OK) {
        fail_msg("%s: %s: %d %s\n%s", what, name, res->code, res->message, rig_last_plan(r));
    }
}

/* A plan of it is refused like the sync. */
static void plan_refused(struct rig *r, const char *what, const char *glob)
{
    const struct tt_result *res = rig_plan_result(r, "web");
    if (res->code == TT_OK || !str_glob(glob, res->message)) {
        fail_msg("%s: the plan is not refused: %d \"%s\"; want \"%s\"\n%s", what, res->code,
                 res->message, glob, rig_last_plan(r));
    }
}

/* It is refused, with this code and a message like this, without a single mutation. */
static void refused(struct rig *r, const char *what, int32_t code, const char *glob)
{
    rig_forget(r);
    const struct tt_result *res = rig_ensure(r, "web");
    if (res->code != code || !str_glob(glob, res->message) || rig_mutations(r) != 0) {
        fail_msg("%s: %d \"%s\", %u mutations; want %d \"%s\", none\n%s", what, res->code,
                 res->message, rig_mutations(r), code, glob, rig_last_plan(r));
    }
    plan_refused(r, what, glob);
}

static void add_subnetwork(struct rig *r, const char *name)
{
    struct json_object *world = rig_save(r);
    struct json_object *cloud = json_member(world, "gce");
    struct json_object *copy = NULL;
    const char *at = NULL;
    json_object_object_foreach(cloud, path, resource)
    {
        if (str_has_suffix(path, "/subnetworks/default")) {
            assert_int_equal(json_object_deep_copy(resource, &copy, NULL), 0);
            at = arena_printf(rig_arena(r), "%.*s%s", (int)(strlen(path) - strlen("default")), path,
                              name);
        }
    }
    assert_non_null(copy);
    json_add_str(copy, "name", name);
    json_add_str(copy, "ipCidrRange", "10.200.0.0/20");
    json_add_str(copy, "selfLink",
                 str_replace(rig_arena(r), json_str(copy, "selfLink"), "/default",
                             arena_printf(rig_arena(r), "/%s", name)));
    json_add(cloud, at, copy);
    rig_load(r, world);
    json_object_put(world);
}

static void reserve(struct rig *r)
{
    rig_cloud_call(r, "POST", REGION "addresses",
                   "{\"name\":\"shared\",\"address\":\"" SHARED_IP
                   "\",\"networkTier\":\"PREMIUM\"}");
}

/* ---- subnetworks ----------------------------------------------------------------------------- */

static void subnet__missing__refused_while_everything_stands(void **state)
{
    (void)state;
    for (size_t i = 1; i <= 2; i++) {
        struct rig *r = start(kinds[i].l4);
        make(r, "web", kinds[i].annotations, "");
        rig_edit(r, "web", ANNOTATED(SUBNET("\"later\"")));
        refused(r, kinds[i].name, TT_NOT_FOUND, "Subnetwork \"later\" can't be found*");
        rig_edit(r, "web", ANNOTATED(SUBNET("null")));
        ok(r, "web", kinds[i].name);
        rig_edit(r, "web", ANNOTATED(SUBNET("\"later\"")));
        refused(r, kinds[i].name, TT_NOT_FOUND, "Subnetwork \"later\" can't be found*");
        refused(r, kinds[i].name, TT_NOT_FOUND, "Subnetwork \"later\" can't be found*");
        add_subnetwork(r, "later"); /* made meanwhile: what is remembered does not count */
        ok(r, "web", kinds[i].name);
        rig_stop(r);
    }
}

static void flip__to_what_cannot_be_had__the_old_kind_stands(void **state)
{
    (void)state;
    static const struct {
        const char *name, *edit;
        int32_t code;
        const char *says;
    } rows[] = {
        {"subnetwork", ANNOTATED(TYPE("\"Internal\"") "," SUBNET("\"nope\"")), TT_NOT_FOUND,
         "Subnetwork \"nope\" can't be found*"},
        {"address",
         "{\"metadata\":{\"annotations\":{" TYPE(
             "\"Internal\"") "}},"
                             "\"spec\":{\"loadBalancerIP\":\"192.0.2.77\"}}",
         TT_INVALID,
         "IP configuration error: \"192.0.2.77\" is outside the range * of subnetwork default"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < 2; k++) {
            struct rig *r = start(k == 1);
            make(r, "web", k == 1 ? RBS : "", "");
            ok(r, "web", rows[i].name);
            rig_edit(r, "web", rows[i].edit);
            refused(r, rows[i].name, rows[i].code, rows[i].says);
            rig_stop(r);
        }
    }
}

static void flip__internal_to_an_address_that_nobody_reserved__the_old_kind_stands(void **state)
{
    (void)state;
    struct rig *r = start(false);
    make(r, "web", TYPE("\"Internal\""), "");
    ok(r, "web", "internal");
    rig_edit(r, "web", "{\"metadata\":{\"annotations\":{" TYPE("null") "}}," AT_SHARED_IP "}}");
    refused(r, "external", TT_INVALID, "requested ip \"" SHARED_IP "\" is neither static nor*");
    reserve(r);
    ok(r, "web", "external");
    rig_stop(r);
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* "near" has port 81 of the shared address, "web" port 80 and wants 81, too. */
static void shared_address__port_of_another_service__refused_while_everything_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i += 3) { /* the external ones */
        struct rig *r = start(kinds[i].l4);
        reserve(r);
        make(r, "near", kinds[i].annotations, "," AT_SHARED_IP ",\"ports\":[{\"port\":81}]}");
        make(r, "web", kinds[i].annotations, "," AT_SHARED_IP ",\"ports\":[{\"port\":80}]}");
        ok(r, "near", kinds[i].name);
        ok(r, "web", kinds[i].name);
        rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":81}]}}");
        refused(r, kinds[i].name, TT_IN_USE, "*81*Service default/near*");
        assert_int_equal(rig_delete(r, "near")->code, TT_OK);
        ok(r, "web", kinds[i].name);
        rig_stop(r);
    }
}

/* The address is reserved in the tier Premium: no rule of the other tier can have it. */
static void reserved_address__of_another_tier__refused_while_everything_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i += 3) { /* the external ones */
        struct rig *r = start(kinds[i].l4);
        reserve(r);
        make(r, "web", kinds[i].annotations, "," AT_SHARED_IP "}");
        ok(r, "web", kinds[i].name);
        rig_edit(r, "web",
                 arena_printf(rig_arena(r),
                              "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"%s\"}]}}}",
                              SHARED_IP));
        rig_edit(r, "web", ANNOTATED("\"cloud.google.com/network-tier\":\"Standard\""));
        refused(r, kinds[i].name, TT_INVALID, "*tier*");
        rig_edit(r, "web", ANNOTATED("\"cloud.google.com/network-tier\":\"Premium\""));
        ok(r, "web", kinds[i].name);
        /* A new one, too, before anything is made for it. */
        rig_stop(r);
        r = start(kinds[i].l4);
        reserve(r);
        make(r, "web",
             *kinds[i].annotations != '\0' ? RBS ",\"cloud.google.com/network-tier\":\"Standard\""
                                           : "\"cloud.google.com/network-tier\":\"Standard\"",
             "," AT_SHARED_IP "}");
        refused(r, kinds[i].name, TT_INVALID, "*tier*");
        rig_stop(r);
    }
}

/* A number that no rule has and that is not reserved, on what stands. */
static void address__that_cannot_be_had__refused_while_everything_stands(void **state)
{
    static const struct {
        size_t kind;
        const char *ip;
        int32_t code;
        const char *says;
    } rows[] = {
        {1, "192.0.2.77", TT_INVALID, "*\"192.0.2.77\" is outside the range * of subnetwork *"},
        {2, "192.0.2.77", TT_INVALID, "*\"192.0.2.77\" is outside the range * of subnetwork *"},
        {3, "192.0.2.77", TT_NOT_FOUND, "*\"192.0.2.77\" is not reserved"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct kind *k = &kinds[rows[i].kind];
        struct rig *r = start(k->l4);
        make(r, "web", k->annotations, "");
        const char *has = arena_strdup(rig_arena(r), rig_ensure(r, "web")->ip);
        rig_edit(r, "web",
                 arena_printf(rig_arena(r),
                              "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"%s\"}]}}}",
                              has));
        rig_edit(r, "web",
                 arena_printf(rig_arena(r), "{\"spec\":{\"loadBalancerIP\":\"%s\"}}", rows[i].ip));
        refused(r, k->name, rows[i].code, rows[i].says);
        rig_stop(r);
    }
}

/* Each kind is led to an address that is reserved for the other side, by its name and
 * by its number. */
static void address__of_the_other_side__refused_while_everything_stands(void **state)
{
    static const char *const edits[] = {
        ANNOTATED("\"networking.gke.io/load-balancer-ip-addresses\":\"%s\""),
        "{\"spec\":{\"loadBalancerIP\":\"%s\"}}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        for (size_t k = kinds[i].l4 ? 0 : 1; k < ARRAY_LEN(edits); k++) {
            struct rig *r = start(kinds[i].l4);
            bool internal = i == 1 || i == 2;
            reserve(r);
            rig_cloud_call(r, "POST", REGION "addresses",
                           "{\"name\":\"inside\",\"addressType\":\"INTERNAL\",\"address\":"
                           "\"10.128.9.9\",\"subnetwork\":\"" REGION "subnetworks/default\"}");
            const char *name =
                k == 0 ? (internal ? "shared" : "inside") : (internal ? SHARED_IP : "10.128.9.9");
            make(r, "web", kinds[i].annotations, "");
            rig_edit(r, "web", arena_printf(rig_arena(r), edits[k], name));
            refused(r, kinds[i].name, TT_INVALID, "*\"*\" is reserved as an *ternal address*");
            rig_edit(r, "web",
                     k == 0 ? ANNOTATED("\"networking.gke.io/load-balancer-ip-addresses\":null")
                            : "{\"spec\":{\"loadBalancerIP\":null}}");
            ok(r, "web", kinds[i].name);
            rig_edit(r, "web", arena_printf(rig_arena(r), edits[k], name));
            refused(r, kinds[i].name, TT_INVALID, "*\"*\" is reserved as an *ternal address*");
            rig_stop(r);
        }
    }
}

static void internal_address__of_another_service__refused_while_everything_stands(void **state)
{
    (void)state;
    for (size_t i = 1; i <= 2; i++) {
        struct rig *r = start(kinds[i].l4);
        make(r, "near", kinds[i].annotations, "");
        make(r, "web", kinds[i].annotations, "");
        ok(r, "web", kinds[i].name);
        const char *ip = arena_strdup(rig_arena(r), rig_ensure(r, "near")->ip);
        rig_edit(r, "web",
                 arena_printf(rig_arena(r), "{\"spec\":{\"loadBalancerIP\":\"%s\"}}", ip));
        refused(r, kinds[i].name, TT_IN_USE,
                arena_printf(rig_arena(r), "*\"%s\" is in use by Service default/near*", ip));
        rig_stop(r);
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

static void type__slip_of_internal__refused_only_where_nothing_stands(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int32_t code;
    } rows[] = {
        {"\"Internal\"", TT_OK},
        {"\"internal\"", TT_OK},
        {"\"INTERNAL\"", TT_INVALID},
        {"\" Internal\"", TT_INVALID},
        {"\"internl\"", TT_INVALID},
        {"\"External\"", TT_OK},
        {"\"EXTERNAL\"", TT_OK},
        {"\"Externl\"", TT_OK},
        {"\"\"", TT_OK},
        {"\"yes\"", TT_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = start(false);
        make(r, "web", arena_printf(rig_arena(r), TYPE("%s"), rows[i].value), "");
        const struct tt_result *res = rig_ensure(r, "web");
        bool meant = res->code == TT_OK || strstr(res->message, "\"Internal\" was probably meant");
        if (res->code != rows[i].code || !meant || (res->code != TT_OK && rig_mutations(r) > 0)) {
            fail_msg("%s: %d %s", rows[i].value, res->code, res->message);
        }
        rig_stop(r);
    }
}

/* Of both kinds: it is refused, and goes on. */
static void type__slip_on_an_internal_one__refused_and_nothing_is_touched(void **state)
{
    (void)state;
    static const char *const slips[] = {ANNOTATED(TYPE("\"INTERNAL\"")),
                                        ANNOTATED(TYPE("\"internl\""))};
    for (size_t i = 0; i < ARRAY_LEN(slips); i++) {
        struct rig *r = start(false);
        make(r, "web", TYPE("\"Internal\""), "");
        ok(r, "web", "new");
        rig_remember(r, "web");
        (void)rig_mutations(r);
        rig_edit(r, "web", slips[i]);
        refused(r, "web", TT_INVALID, "*would make the Service public*");
        rig_stop(r);
    }
}

static void type__slip_on_what_stands__counts_as_upstream_has_it_and_is_told(void **state)
{
    (void)state;
    struct rig *r = start(false);
    make(r, "web", "", "");
    ok(r, "web", "new");
    rig_remember(r, "web");
    rig_edit(r, "web", ANNOTATED(TYPE("\"INTERNAL\"")));
    ok(r, "web", "slip");
    assert_non_null(strstr(rig_findings(r), "\"INTERNAL\" is not understood"));
    rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":99}]}}");
    assert_non_null(strstr(rig_plan(r, "web"), "\"INTERNAL\""));
    assert_non_null(strstr(rig_explain(r, "web")->text, "\"Internal\" was probably meant"));
    rig_stop(r);
}

#define KEY(key, value) "\"" key "\":\"" value "\""

static void type__slip_by_the_older_key__is_told_of_that_key(void **state)
{
    (void)state;
    static const char named[] = "annotation cloud.google.com/load-balancer-type: \"Internl\"";
    const char *slip = KEY("cloud.google.com/load-balancer-type", "Internl");
    struct rig *r = start(false);
    make(r, "new", slip, "");
    assert_non_null(strstr(rig_ensure(r, "new")->message, named));
    make(r, "web", "", "");
    ok(r, "web", "stands");
    rig_remember(r, "web");
    rig_edit(r, "web", ANNOTATED(KEY("cloud.google.com/load-balancer-type", "Internl")));
    ok(r, "web", "slip");
    assert_non_null(strstr(rig_findings(r), named));
    rig_stop(r);
}

/* By a slip of the key, too, nothing becomes public that asked to be private. */
static void type__slip_of_the_key__refused_only_where_nothing_stands(void **state)
{
    (void)state;
    static const struct {
        const char *annotations;
        int32_t code;
    } rows[] = {
        {KEY("networking.gke.io/load-balancer-typ", "Internal"), TT_INVALID},
        {KEY("networking.gke.io/loadbalancer-type", "internal"), TT_INVALID},
        {KEY("cloud.google.com/load-balancer-typ", "Internal"), TT_INVALID},
        {KEY("networking.gke.io/load-balancer-typ", "External"), TT_OK},
        {KEY("networking.gke.io/load-balancer-tipe", ""), TT_OK},
        {KEY("example.com/load-balancer-typ", "Internal"), TT_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = start(false);
        make(r, "web", rows[i].annotations, "");
        const struct tt_result *res = rig_ensure(r, "web");
        if (res->code != rows[i].code || (res->code != TT_OK && rig_mutations(r) > 0)) {
            fail_msg("%s: %d %s", rows[i].annotations, res->code, str_nonnull(res->message));
        }
        rig_stop(r);
    }
}

/* ---- wishes without effect ------------------------------------------------------------------- */

static void findings__by_kind_value_flag_and_key(void **state)
{
    (void)state;
    static const struct {
        const char *annotations;
        const char *want; /* NULL: none */
    } rows[] = {
        {"", NULL},
        {KEY("networking.gke.io/internal-load-balancer-allow-global-access", "true"),
         "has no effect on this kind of load balancer"},
        {KEY("networking.gke.io/internal-load-balancer-allow-global-access", ""), NULL},
        {KEY("cloud.google.com/l4-rbs", "Enabled"),
         "\"Enabled\" is not understood and asks for nothing; want enabled or disabled"},
        {KEY("cloud.google.com/l4-rb", "enabled"), "is cloud.google.com/l4-rbs meant?"},
        {KEY("cloud.google.com/neg", "{}"), NULL},
        {KEY("cloud.google.com/network-teir", "Standard"),
         "is cloud.google.com/network-tier meant?"},
        {KEY("service.kubernetes.io/tcp-forwarding-rule", "x"), NULL},
        {KEY("service.beta.kubernetes.io/load-balancer-source-range", "10.0.0.0/8"),
         "is service.beta.kubernetes.io/load-balancer-source-ranges meant?"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = start(false);
        make(r, "web", rows[i].annotations, "");
        ok(r, "web", rows[i].annotations);
        const char *found = rig_findings(r);
        if (rows[i].want == NULL ? *found != '\0' : strstr(found, rows[i].want) == NULL) {
            fail_msg("%s: \"%s\"", rows[i].annotations, found);
        }
        rig_stop(r);
    }
}

/* The same slip, on every kind. */
static void findings__of_each_kind(void **state)
{
    (void)state;
    static const struct tt_kv negs[] = {{"enable-l4-neg", "true"},
                                        {"enable-l4-netlb-neg", "true"},
                                        {"enable-l4-netlb-neg-default", "true"},
                                        {"gce-nodes-need-pod-cidr", "false"},
                                        {"run-l4-controller", "true"},
                                        {"run-l4-netlb-controller", "true"}};
    static const struct kind external_negs = {"external, NEGs", true, RBS};
    for (size_t i = 0; i <= ARRAY_LEN(kinds); i++) {
        const struct kind *k = i < ARRAY_LEN(kinds) ? &kinds[i] : &external_negs;
        const struct rig_options opt = {.nodes = 3, .flags = negs, .n_flags = ARRAY_LEN(negs)};
        struct rig *r = k == &external_negs ? rig_start(&opt) : start(k->l4);
        if (k == &external_negs) {
            rig_give_addresses(r);
        }
        make(r, "web",
             arena_printf(rig_arena(r), "%s%s" KEY("cloud.google.com/network-teir", "Standard"),
                          k->annotations, *k->annotations != '\0' ? "," : ""),
             "");
        ok(r, "web", k->name);
        if (strstr(rig_findings(r), "is cloud.google.com/network-tier meant?") == NULL) {
            fail_msg("%s: \"%s\"", k->name, rig_findings(r));
        }
        rig_stop(r);
    }
}

/* ---- no client is served --------------------------------------------------------------------- */

static void nobody__no_node_takes_part__told_with_the_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(kinds); i++) {
        const struct kind *k = &kinds[i / 2];
        struct rig *r = start(k->l4);
        rig_keep_nodes(r, i % 2 == 0 ? 3 : 0);
        make(r, "web", k->annotations, "");
        bool made = rig_ensure(r, "web")->code == TT_OK; /* a target pool is not, without nodes */
        const char *want = i % 2 == 0 || !made ? ""
                                               : "nobody default/web no node takes part: the "
                                                 "cluster has none\n";
        if (strcmp(rig_findings(r), want) != 0 || made != (i != 1)) {
            fail_msg("%s, row %zu: \"%s\"", k->name, i, rig_findings(r));
        }
        rig_stop(r);
    }
}

/* Members of a pool and of groups stay while no node takes part, and their machines serve on;
 * NEGs have let them go. */
static void nobody__no_node_takes_part_any_more__told_where_no_member_is_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = start(kinds[i].l4);
        bool negs = strstr(kinds[i].name, "NEGs") != NULL;
        rig_keep_nodes(r, 3);
        make(r, "web", kinds[i].annotations, "");
        ok(r, "web", kinds[i].name);
        rig_exclude_nodes(r);
        assert_int_equal(rig_update(r, "web")->code, TT_OK);
        const char *want = negs ? "nobody default/web no node takes part: label "
                                  "node.kubernetes.io/exclude-from-external-load-balancers\n"
                                : "";
        if (strcmp(rig_findings(r), want) != 0) {
            fail_msg("%s: \"%s\"", kinds[i].name, rig_findings(r));
        }
        rig_stop(r);
    }
}

/* Only NEGs of a Local Service have the nodes with its endpoints; elsewhere Google's
 * health checks know. */
static void nobody__local_without_endpoints__told_where_members_follow_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = start(kinds[i].l4);
        make(r, "web", kinds[i].annotations,
             ",\"spec\":{\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":31000}");
        rig_pods(r, "web", "");
        ok(r, "web", kinds[i].name);
        bool negs = strstr(kinds[i].name, "NEGs") != NULL;
        if ((strstr(rig_findings(r), "Local and no node that takes part has an endpoint") !=
             NULL) != negs) {
            fail_msg("%s: \"%s\"", kinds[i].name, rig_findings(r));
        }
        rig_stop(r);
    }
}

static void type__lenient__as_upstream_has_it(void **state)
{
    (void)state;
    static const struct tt_kv lenient[] = {{"lenient-load-balancer-type", "true"}};
    const struct rig_options opt = {.nodes = 3, .flags = lenient, .n_flags = 1};
    struct rig *r = rig_start(&opt);
    make(r, "web", TYPE("\"INTERNAL\""), "");
    ok(r, "web", "lenient");
    assert_non_null(
        rig_resource(r, arena_printf(rig_arena(r), "targetPools/%s", rig_lb_name(r, "web"))));
    rig_stop(r);
}

/* ---- families -------------------------------------------------------------------------------- */

static void ranges__of_both_families__those_of_ipv4_count(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rig *r = start(false);
        make(r, "web", kinds[i].annotations,
             ",\"spec\":{\"loadBalancerSourceRanges\":[\"192.0.2.0/24\",\"2001:db8::/32\"]}");
        ok(r, "web", kinds[i].name);
        struct json_object *fw = rig_resource(
            r, arena_printf(rig_arena(r), "firewalls/k8s-fw-%s", rig_lb_name(r, "web")));
        assert_string_equal(json_text(rig_arena(r), json_member(fw, "sourceRanges"), JSON_COMPACT),
                            "[\"192.0.2.0/24\"]");
        assert_non_null(strstr(rig_findings(r), "source ranges 2001:db8::/32 have no effect"));
        rig_edit(r, "web", "{\"spec\":{\"loadBalancerSourceRanges\":[\"2001:db8::/32\"]}}");
        refused(r, kinds[i].name, TT_INVALID, "no source range is of IPv4*");
        rig_stop(r);
    }
}

/* ---- ports ----------------------------------------------------------------------------------- */

static void ports__of_two_protocols__condition_on_both_kinds_of_cloud_provider_gcp(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rig *r = start(false);
        make(r, "web", kinds[i].annotations,
             ",\"spec\":{\"ports\":[{\"name\":\"t\",\"port\":80},"
             "{\"name\":\"u\",\"port\":80,\"protocol\":\"UDP\"}]}");
        refused(r, kinds[i].name, TT_INVALID, "mixed protocol is not supported*");
        assert_string_equal(rig_ensure(r, "web")->condition, "LoadBalancerPortsError=True");
        rig_edit(r, "web",
                 "{\"spec\":{\"ports\":[{\"name\":\"t\",\"port\":80}]},\"status\":{"
                 "\"conditions\":[{\"type\":\"LoadBalancerPortsError\",\"status\":\"True\"}]}}");
        const struct tt_result *res = rig_ensure(r, "web");
        assert_int_equal(res->code, TT_OK);
        assert_string_equal(res->condition, "LoadBalancerPortsError=False");
        rig_stop(r);
    }
}

UNIT_MAIN(check_first)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subnet__missing__refused_while_everything_stands),
        cmocka_unit_test(flip__to_what_cannot_be_had__the_old_kind_stands),
        cmocka_unit_test(flip__internal_to_an_address_that_nobody_reserved__the_old_kind_stands),
        cmocka_unit_test(shared_address__port_of_another_service__refused_while_everything_stands),
        cmocka_unit_test(reserved_address__of_another_tier__refused_while_everything_stands),
        cmocka_unit_test(address__that_cannot_be_had__refused_while_everything_stands),
        cmocka_unit_test(address__of_the_other_side__refused_while_everything_stands),
        cmocka_unit_test(internal_address__of_another_service__refused_while_everything_stands),
        cmocka_unit_test(type__slip_of_internal__refused_only_where_nothing_stands),
        cmocka_unit_test(type__slip_on_an_internal_one__refused_and_nothing_is_touched),
        cmocka_unit_test(type__slip_on_what_stands__counts_as_upstream_has_it_and_is_told),
        cmocka_unit_test(type__slip_by_the_older_key__is_told_of_that_key),
        cmocka_unit_test(type__slip_of_the_key__refused_only_where_nothing_stands),
        cmocka_unit_test(findings__by_kind_value_flag_and_key),
        cmocka_unit_test(findings__of_each_kind),
        cmocka_unit_test(type__lenient__as_upstream_has_it),
        cmocka_unit_test(nobody__no_node_takes_part__told_with_the_reason),
        cmocka_unit_test(nobody__no_node_takes_part_any_more__told_where_no_member_is_left),
        cmocka_unit_test(nobody__local_without_endpoints__told_where_members_follow_them),
        cmocka_unit_test(ports__of_two_protocols__condition_on_both_kinds_of_cloud_provider_gcp),
        cmocka_unit_test(ranges__of_both_families__those_of_ipv4_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
