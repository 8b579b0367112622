/* SPDX-License-Identifier: Apache-2.0 */
/* test_neg_members.c: which nodes are candidates (the table of §3.1), the members of all NEGs of a
 * Service (rows S27–S33, S43, V198–V206), and whose a NEG is. */
#include "tests/unit/gce/neg_kit.h"

#include "common/data/json.h"
#include "tests/support/unit.h"

/* ---- the filter ------------------------------------------------------------------------------ */

/* "ACUD": all, candidate, or unready, or draining; then place. */
static const char *verdict(struct arena *a, enum gce_node_mode mode, bool needs_cidr,
                           struct kit_node k)
{
    const struct gce_node_filter f = {
        .mode = mode, .default_subnet = "default", .needs_pod_cidr = needs_cidr};
    struct gce_node_verdict v;
    gce_node_judge(a, &f, kit_node(a, k), &v);
    return arena_printf(a, "%s%s%s%s %s/%s", v.all ? "A" : "-", v.candidate ? "C" : "-",
                        v.candidate_or_unready ? "U" : "-", v.candidate_or_draining ? "D" : "-",
                        v.zone == NULL ? "-" : v.zone, v.subnet == NULL ? "-" : v.subnet);
}

static void gce_node_judge__default_subnet__the_table(void **state)
{
    static const struct {
        const char *about;
        struct kit_node node;
        const char *want;
    } rows[] = {
        {"normal", {.name = "n", .zone = "z"}, "ACUD z/default"},
        {"not ready", {.name = "n", .zone = "z", .ready = "False"}, "A-UD z/default"},
        {"unknown", {.name = "n", .zone = "z", .ready = "Unknown"}, "A-UD z/default"},
        {"no conditions", {.name = "n", .zone = "z", .ready = ""}, "A--- z/default"},
        {"to be deleted",
         {.name = "n", .zone = "z", .taint = "ToBeDeletedByClusterAutoscaler"},
         "A--- z/default"},
        {"another taint", {.name = "n", .zone = "z", .taint = "x"}, "ACUD z/default"},
        {"master",
         {.name = "n", .zone = "z", .label = "node-role.kubernetes.io/master"},
         "A--- z/default"},
        {"excluded of old",
         {.name = "n",
          .zone = "z",
          .label = "alpha.service-controller.kubernetes.io/exclude-balancer",
          .value = "false"},
         "A--- z/default"},
        {"excluded",
         {.name = "n",
          .zone = "z",
          .label = "node.kubernetes.io/exclude-from-external-load-balancers",
          .value = "false"},
         "A--- z/default"},
        {"drains",
         {.name = "n", .zone = "z", .label = "operation.gke.io/type", .value = "drain"},
         "AC-D z/default"},
        {"drains, not ready",
         {.name = "n",
          .zone = "z",
          .label = "operation.gke.io/type",
          .value = "drain",
          .ready = "False"},
         "A--D z/default"},
        {"another operation",
         {.name = "n", .zone = "z", .label = "operation.gke.io/type", .value = "Drain"},
         "ACUD z/default"},
        {"cordoned", {.name = "n", .zone = "z", .unschedulable = true}, "ACUD z/default"},
        {"another subnet", {.name = "n", .zone = "z", .subnet = "other"}, "---- z/other"},
        {"the default one, named",
         {.name = "n", .zone = "z", .subnet = "default"},
         "ACUD z/default"},
        {"an empty label", {.name = "n", .zone = "z", .subnet = ""}, "ACUD z/default"},
        {"no podCIDR", {.name = "n", .zone = "z", .no_cidr = true}, "---- -/-"},
        {"no providerID", {.name = "n"}, "ACUD -/-"},
        {"an empty zone", {.name = "n", .zone = ""}, "ACUD -/-"},
        {"one part too many", {.name = "n/x", .zone = "z"}, "ACUD -/-"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].about, verdict(*state, GCE_NODES_DEFAULT_SUBNET, true, rows[i].node),
                  rows[i].want);
    }
}

static void gce_node_judge__other_modes__subnets_and_pod_ranges(void **state)
{
    struct arena *a = *state;
    struct kit_node plain = {.name = "n", .zone = "z", .no_cidr = true};
    struct kit_node other = {.name = "n", .zone = "z", .subnet = "other"};
    same_text("multi-subnet", verdict(a, GCE_NODES_MULTI_SUBNET, true, other), "ACUD z/other");
    same_text("multi-subnet, no podCIDR: no place", verdict(a, GCE_NODES_MULTI_SUBNET, true, plain),
              "ACUD -/-");
    same_text("legacy network", verdict(a, GCE_NODES_LEGACY, true, plain), "ACUD z/-");
    same_text("legacy network", verdict(a, GCE_NODES_LEGACY, true, other), "ACUD z/-");
    /* ours: clusters whose pods get their addresses elsewhere (§3.1) */
    same_text("podCIDR not asked for", verdict(a, GCE_NODES_DEFAULT_SUBNET, false, plain),
              "ACUD z/default");
    same_text("podCIDR not asked for", verdict(a, GCE_NODES_MULTI_SUBNET, false, plain),
              "ACUD z/default");
}

static uint64_t digest(struct arena *a, struct kit_node k)
{
    return gce_node_digest(kit_node(a, k));
}

static void gce_node_digest__what_matters__and_what_does_not(void **state)
{
    struct arena *a = *state;
    const struct kit_node base = {.name = "n", .zone = "z", .ip = "10.0.0.1"};
    static const struct {
        const char *about;
        struct kit_node node;
        bool same;
    } rows[] = {
        {"V212 the same", {.name = "n", .zone = "z", .ip = "10.0.0.1"}, true},
        {"V212 a label of others",
         {.name = "n", .zone = "z", .ip = "10.0.0.1", .label = "x"},
         true},
        {"V212 a taint of others",
         {.name = "n", .zone = "z", .ip = "10.0.0.1", .taint = "x"},
         true},
        {"V213 cordoned",
         {.name = "n", .zone = "z", .ip = "10.0.0.1", .unschedulable = true},
         false},
        {"V213 readiness", {.name = "n", .zone = "z", .ip = "10.0.0.1", .ready = "False"}, false},
        {"V213 podCIDR", {.name = "n", .zone = "z", .ip = "10.0.0.1", .no_cidr = true}, false},
        {"conditions", {.name = "n", .zone = "z", .ip = "10.0.0.1", .ready = ""}, false},
        {"zone", {.name = "n", .zone = "y", .ip = "10.0.0.1"}, false},
        {"providerID", {.name = "n", .ip = "10.0.0.1"}, false},
        {"address", {.name = "n", .zone = "z", .ip = "10.0.0.2"}, false},
        {"subnet", {.name = "n", .zone = "z", .ip = "10.0.0.1", .subnet = "s"}, false},
        {"networks", {.name = "n", .zone = "z", .ip = "10.0.0.1", .networks = "[]"}, false},
        {"exclusion",
         {.name = "n", .zone = "z", .ip = "10.0.0.1", .label = "node-role.kubernetes.io/master"},
         false},
        {"drain",
         {.name = "n",
          .zone = "z",
          .ip = "10.0.0.1",
          .label = "operation.gke.io/type",
          .value = "drain"},
         false},
        {"zone label",
         {.name = "n",
          .zone = "z",
          .ip = "10.0.0.1",
          .label = "topology.kubernetes.io/zone",
          .value = "z"},
         false},
        {"name", {.name = "m", .zone = "z", .ip = "10.0.0.1"}, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool same = digest(a, base) == digest(a, rows[i].node);
        if (same != rows[i].same) {
            fail_msg("%s: the digest is %s", rows[i].about, same ? "the same" : "another");
        }
    }
}

/* ---- membership ------------------------------------------------------------------------------ */

static struct gce_neg_wish wish(const struct kit_nodes *nodes, const struct tt_slice *const *slices,
                                size_t n_slices)
{
    return (struct gce_neg_wish){
        .ns = "default",
        .name = "web",
        .internal = true,
        .filter = {.mode = GCE_NODES_DEFAULT_SUBNET,
                   .default_subnet = "default",
                   .needs_pod_cidr = true},
        .subnetwork = KIT_SUBNET_URL,
        .nodes = nodes->items,
        .n_nodes = nodes->n,
        .slices = slices,
        .n_slices = n_slices,
    };
}

static void run(struct arena *a, const struct gce_neg_wish *w, const struct gce_neg_places *current,
                struct gce_neg_members *ret)
{
    struct err err = ERR_INIT;
    if (gce_neg_membership(a, w, current, ret, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

/* The cluster of §11.17: 1–2 in zone1, 3–6 in zone2, unready u1–u2 in zone3;
 * `change` replaces some. */
static struct kit_nodes cluster(struct arena *a, const struct kit_node *change, size_t n_change)
{
    static const struct kit_node base[] = {
        {.name = "1", .zone = "zone1", .ip = "10.0.0.1"},
        {.name = "2", .zone = "zone1", .ip = "10.0.0.2"},
        {.name = "3", .zone = "zone2", .ip = "10.0.0.3"},
        {.name = "4", .zone = "zone2", .ip = "10.0.0.4"},
        {.name = "5", .zone = "zone2", .ip = "10.0.0.5"},
        {.name = "6", .zone = "zone2", .ip = "10.0.0.6"},
        {.name = "u1", .zone = "zone3", .ip = "10.0.0.7", .ready = "False"},
        {.name = "u2", .zone = "zone3", .ip = "10.0.0.8", .ready = "Unknown"},
    };
    struct kit_nodes all = {.items = ARENA_ARRAY(a, const struct tt_node *, ARRAY_LEN(base))};
    for (size_t i = 0; i < ARRAY_LEN(base); i++) {
        struct kit_node k = base[i];
        for (size_t j = 0; j < n_change; j++) {
            k = str_eq(change[j].name, k.name) ? change[j] : k;
        }
        all.items[all.n++] = kit_node(a, k);
    }
    return all;
}

#define EXCLUDED     .label = "node.kubernetes.io/exclude-from-external-load-balancers"
#define OPERATION(v) .label = "operation.gke.io/type", .value = (v)
#define RED(ip)                                                                                    \
    .networks = "[{\"network\":\"blue\",\"ipAddress\":\"9.9.9.9\"},"                               \
                "{\"network\":\"red\",\"ipAddress\":\"" ip "\"}]"

static const struct {
    const char *row;
    bool local, draining, multi;
    const char *network;
    struct kit_node change[6];
    size_t n_change;
    const char *hosts[6];
    size_t n_hosts;
    const char *want; /* NULL: no member */
} members_rows[] = {
    {.row = "V198",
     .local = true,
     .hosts = {"1", "2", "3", "4"},
     .n_hosts = 4,
     .want = "zone1/default: 1 2; zone2/default: 3 4"},
    {.row = "V199 all unready",
     .local = true,
     .hosts = {"1", "2", "3", "4"},
     .n_hosts = 4,
     .change = {{.name = "1", .zone = "zone1", .ip = "10.0.0.1", .ready = "False"},
                {.name = "2", .zone = "zone1", .ip = "10.0.0.2", .ready = "Unknown"},
                {.name = "3", .zone = "zone2", .ip = "10.0.0.3", .ready = "False"},
                {.name = "4", .zone = "zone2", .ip = "10.0.0.4", .ready = "False"}},
     .n_change = 4,
     .want = "zone1/default: 1 2; zone2/default: 3 4"},
    {.row = "V200",
     .local = true,
     .hosts = {"1", "2", "3", "4"},
     .n_hosts = 4,
     .change = {{.name = "1", .zone = "zone1", .ip = "10.0.0.1", EXCLUDED},
                {.name = "3", .zone = "zone2", .ip = "10.0.0.3", OPERATION("drain")},
                {.name = "4", .zone = "zone2", .ip = "10.0.0.4", OPERATION("random")}},
     .n_change = 3,
     .want = "zone1/default: 2; zone2/default: 4"},
    {.row = "V201",
     .local = true,
     .draining = true,
     .hosts = {"1", "2", "3", "4"},
     .n_hosts = 4,
     .change = {{.name = "1", .zone = "zone1", .ip = "10.0.0.1", EXCLUDED},
                {.name = "3", .zone = "zone2", .ip = "10.0.0.3", OPERATION("drain")}},
     .n_change = 2,
     .want = "zone1/default: 2; zone2/default: 3 4"},
    {.row = "V202", .local = true, .want = NULL},
    {.row = "V203",
     .local = true,
     .network = "red",
     .hosts = {"1", "2", "3", "4"},
     .n_hosts = 4,
     .change = {{.name = "1", .zone = "zone1", .ip = "10.0.0.1", RED("20.0.0.1")},
                {.name = "2", .zone = "zone1", .ip = "10.0.0.2", RED("20.0.0.2")},
                {.name = "3", .zone = "zone2", .ip = "10.0.0.3", RED("20.0.0.3")}},
     .n_change = 3,
     .want = "zone1/default: 1=20.0.0.1 2=20.0.0.2; zone2/default: 3=20.0.0.3"},
    {.row = "V204",
     .local = true,
     .multi = true,
     .hosts = {"1", "2", "3", "4"},
     .n_hosts = 4,
     .change = {{.name = "1", .zone = "zone1", .ip = "10.0.0.1", .subnet = "s1"},
                {.name = "2", .zone = "zone1", .ip = "10.0.0.2", .subnet = "s2"},
                {.name = "3", .zone = "zone2", .ip = "10.0.0.3", .subnet = "s1"}},
     .n_change = 3,
     .want = "zone1/default:; zone1/s1: 1; zone1/s2: 2; zone2/default: 4; zone2/s1: 3"},
    {.row = "V205",
     .hosts = {"1", "2", "3", "4"},
     .n_hosts = 4,
     .want = "zone1/default: 1 2; zone2/default: 3 4 5 6; zone3/default: u1 u2"},
    {.row = "V205 no endpoints",
     .want = "zone1/default: 1 2; zone2/default: 3 4 5 6; zone3/default: u1 u2"},
    {.row = "V206",
     .change = {{.name = "1", .zone = "zone1", .ip = "10.0.0.1", EXCLUDED},
                {.name = "3", .zone = "zone2", .ip = "10.0.0.3", OPERATION("drain")}},
     .n_change = 2,
     .want = "zone1/default: 2; zone2/default: 4 5 6; zone3/default: u1 u2"},
    {.row = "one endpoint without node: endpoints, but no nodes",
     .local = true,
     .hosts = {NULL},
     .n_hosts = 1,
     .want = ""},
    {.row = "a node that is not there",
     .local = true,
     .hosts = {"ghost"},
     .n_hosts = 1,
     .want = ""},
    {.row = "two pods of one node",
     .local = true,
     .hosts = {"5", "5"},
     .n_hosts = 2,
     .want = "zone2/default: 5"},
    {.row = "C4 an address that cannot be used leaves an empty place",
     .multi = true,
     .local = true,
     .hosts = {"1"},
     .n_hosts = 1,
     .change = {{.name = "1", .zone = "zone1", .ip = "x", .subnet = "s1"}},
     .n_change = 1,
     .want = "zone1/default:; zone1/s1:"},
};

static void gce_neg_membership__V198_to_V206(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(members_rows); i++) {
        struct kit_nodes nodes = cluster(a, members_rows[i].change, members_rows[i].n_change);
        const struct tt_slice *slice = kit_slice(a, members_rows[i].hosts, members_rows[i].n_hosts);
        struct gce_neg_wish w = wish(&nodes, &slice, 1);
        struct gce_neg_members got;
        w.local = members_rows[i].local;
        w.include_draining = members_rows[i].draining;
        w.network = members_rows[i].network;
        w.filter.mode = members_rows[i].multi ? GCE_NODES_MULTI_SUBNET : GCE_NODES_DEFAULT_SUBNET;
        run(a, &w, NULL, &got);
        if (members_rows[i].want == NULL) {
            assert_true(got.nobody);
            continue;
        }
        assert_false(got.nobody);
        same_text(members_rows[i].row, kit_places(a, &got.places, w.network != NULL),
                  members_rows[i].want);
    }
}

static void gce_neg_membership__zones_of_negs__those_with_candidates(void **state)
{
    struct arena *a = *state;
    const struct kit_node drained[] = {
        {.name = "1", .zone = "zone1", .ip = "10.0.0.1", OPERATION("drain")},
        {.name = "2", .zone = "zone1", .ip = "10.0.0.2", OPERATION("drain")}};
    struct kit_nodes nodes = cluster(a, drained, 2);
    const char *host = "3";
    const struct tt_slice *slice = kit_slice(a, &host, 1);
    struct gce_neg_wish w = wish(&nodes, &slice, 1);
    struct gce_neg_members got;
    w.local = true;
    run(a, &w, NULL, &got);
    same_text("drained ones do not count", kit_text(a, got.zones), "zone2 zone3");
    w.include_draining = true;
    run(a, &w, NULL, &got);
    same_text("with the flag they do", kit_text(a, got.zones), "zone1 zone2 zone3");
    w.local = false;
    run(a, &w, NULL, &got);
    same_text("but not for policy Cluster", kit_text(a, got.zones), "zone2 zone3");
}

/* §3.2: "nobody has said anything of endpoints" is not "there are none". */
static void gce_neg_membership__no_slice__members_stay(void **state)
{
    struct arena *a = *state;
    struct kit_nodes nodes = cluster(a, NULL, 0);
    struct gce_endpoint is[] = {{.instance = "9", .ip = "10.0.0.9", .ipv6 = ""}};
    struct gce_neg_place place = {.zone = "zone1", .subnet = "default", .endpoints = is, .n = 1};
    const struct gce_neg_places current = {.items = &place, .n = 1};
    struct gce_neg_wish w = wish(&nodes, NULL, 0);
    struct gce_neg_members got;
    for (int local = 0; local < 2; local++) {
        w.local = local == 1;
        run(a, &w, &current, &got);
        assert_true(got.unsaid);
        assert_false(got.nobody);
        same_text("as they were", kit_places(a, &got.places, false), "zone1/default: 9");
        same_text("NEGs are made all the same", kit_text(a, got.zones), "zone1 zone2 zone3");
    }
}

static void gce_neg_membership__no_subnetwork__refused(void **state)
{
    struct kit_nodes nodes = cluster(*state, NULL, 0);
    struct gce_neg_wish w = wish(&nodes, NULL, 0);
    struct gce_neg_members got;
    struct err err = ERR_INIT;
    w.subnetwork = "";
    assert_int_equal(gce_neg_membership(*state, &w, NULL, &got, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "no subnetwork"));
}

static void gce_neg_membership__addresses__by_family(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *ip;
        bool ipv6;
        const char *want;
    } rows[] = {
        {"10.1.2.3", false, "z/default: n=10.1.2.3"},
        {"2001:db8::0:1", false, "z/default:"},
        {"2001:db8::0:1", true, "z/default: n=2001:db8::1"},
        {"n.example", true, "z/default:"},
        {NULL, true, "z/default:"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_node *node =
            kit_node(a, (struct kit_node){.name = "n", .zone = "z", .ip = rows[i].ip});
        const struct kit_nodes nodes = {.items = &node, .n = 1};
        const struct tt_slice *slice = kit_slice(a, NULL, 0);
        struct gce_neg_wish w = wish(&nodes, &slice, 1);
        struct gce_neg_members got;
        w.ipv6 = rows[i].ipv6;
        run(a, &w, NULL, &got);
        same_text(str_nonnull(rows[i].ip), kit_places(a, &got.places, true), rows[i].want);
    }
}

static void gce_neg_membership__terminating_and_without_pod__do_not_count(void **state)
{
    struct arena *a = *state;
    struct kit_nodes nodes = cluster(a, NULL, 0);
    const char *const hosts[] = {"1", "3", "4"};
    struct tt_slice *slice = (struct tt_slice *)kit_slice(a, hosts, 3);
    struct tt_endpoint *e = (struct tt_endpoint *)slice->endpoints;
    const struct tt_slice *const slices[] = {slice};
    struct gce_neg_wish w = wish(&nodes, slices, 1);
    struct gce_neg_members got;
    w.local = true;
    e[0].flags |= TT_ENDPOINT_TERMINATING;
    e[1].flags = 0; /* neither ready nor serving */
    e[2].target_kind = e[2].target_name = NULL;
    run(a, &w, NULL, &got);
    same_text("unready counts", kit_places(a, &got.places, false), "zone2/default: 3");
    e[1].flags = TT_ENDPOINT_TERMINATING;
    run(a, &w, NULL, &got);
    assert_true(got.nobody);
}

/* ---- how many, of the whole ------------------------------------------------------------------ */

static struct kit_nodes many(struct arena *a, const int *counts, size_t zones, int subnets)
{
    struct kit_nodes all = {0};
    for (size_t z = 0; z < zones; z++) {
        for (int s = 0; s < subnets; s++) {
            struct gce_strs names = {.items = ARENA_ARRAY(a, const char *, (size_t)counts[z])};
            for (int i = 0; i < counts[z]; i++) {
                names.items[names.n++] = arena_printf(a, "n%zu-%d-%05d", z, s, i);
            }
            kit_add_nodes(a, &all, arena_printf(a, "zone%zu", z + 1), s == 0 ? NULL : "s2", names);
        }
    }
    return all;
}

static const char *counts_of(struct arena *a, const struct gce_neg_places *p)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < p->n; i++) {
        str_appendf(&b, "%s%zu", i > 0 ? " " : "", p->items[i].n);
    }
    return str_buf_to_arena(&b, a);
}

static void gce_neg_membership__S27_to_S33(void **state)
{
    static const struct {
        const char *row;
        bool internal;
        int zones, nodes, last, subnets, pods, in_negs;
        const char *want;
    } rows[] = {
        {"S27", false, 1, 3, 3, 1, 1, 0, "3"},
        {"S28", false, 4, 3, 3, 1, 1, 0, "3 3 3 3"},
        {"S29", false, 2, 3, 3, 2, 1, 0, "3 3 3 3"},
        {"S30", false, 1, 100, 100, 1, 50, 0, "50"},
        {"S30", false, 1, 100, 100, 1, 100, 0, "100"},
        {"S30", false, 1, 100, 100, 1, 150, 0, "100"},
        {"S31", false, 1, 100, 100, 1, 10, 100, "100"},
        {"S31", false, 1, 100, 100, 1, 10, 10, "10"},
        {"S31", false, 1, 100, 100, 1, 100, 10, "100"},
        {"S32", false, 3, 10000, 10000, 1, 10000, 0, "83 83 84"},
        {"S33", true, 3, 10000, 10000, 1, 0, 0, "8 8 8"},
        {"S33", true, 3, 10000, 10001, 1, 0, 0, "8 8 8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        int counts[4] = {rows[i].nodes, rows[i].nodes, rows[i].nodes, rows[i].nodes};
        counts[rows[i].zones - 1] = rows[i].last;
        struct kit_nodes nodes = many(a, counts, (size_t)rows[i].zones, rows[i].subnets);
        const char **hosts = ARENA_ARRAY(a, const char *, (size_t)rows[i].pods);
        for (int k = 0; k < rows[i].pods; k++) {
            hosts[k] = nodes.items[0]->name;
        }
        const struct tt_slice *slice = kit_slice(a, hosts, (size_t)rows[i].pods);
        struct gce_neg_wish w = wish(&nodes, &slice, 1);
        w.internal = rows[i].internal;
        w.filter.mode = rows[i].subnets > 1 ? GCE_NODES_MULTI_SUBNET : GCE_NODES_DEFAULT_SUBNET;
        struct gce_endpoint *is = ARENA_ARRAY(a, struct gce_endpoint, (size_t)rows[i].in_negs);
        for (int k = 0; k < rows[i].in_negs; k++) {
            is[k] = (struct gce_endpoint){.instance = nodes.items[k]->name, .ip = "", .ipv6 = ""};
        }
        struct gce_neg_place place = {
            .zone = "zone1", .subnet = "default", .endpoints = is, .n = (size_t)rows[i].in_negs};
        const struct gce_neg_places current = {.items = &place, .n = 1};
        struct gce_neg_members got;
        run(a, &w, &current, &got);
        same_text(arena_printf(a, "%s with %d pods, %d in NEGs", rows[i].row, rows[i].pods,
                               rows[i].in_negs),
                  counts_of(a, &got.places), rows[i].want);
    }
    (void)state;
}

static void gce_neg_membership__S43_local__only_zones_with_endpoints(void **state)
{
    struct arena *a = *state;
    struct kit_nodes nodes = {0};
    kit_add_nodes(a, &nodes, "a", NULL, kit_names(a, "a-00-09"));
    kit_add_nodes(a, &nodes, "b", NULL, kit_names(a, "b-00-09"));
    kit_add_nodes(a, &nodes, "c", NULL, kit_names(a, "c-00-09"));
    const char *const hosts[] = {"c-07", "a-04", "a-01"};
    const struct tt_slice *slice = kit_slice(a, hosts, 3);
    struct gce_neg_wish w = wish(&nodes, &slice, 1);
    struct gce_neg_members got;
    w.local = true;
    run(a, &w, NULL, &got);
    same_text("S43", kit_places(a, &got.places, false), "a/default: a-01 a-04; c/default: c-07");
}

/* §1.2: "1–25 → every node" holds for 25 in three zones, too. */
static void gce_neg_membership__up_to_25_candidates__all(void **state)
{
    static const struct {
        int a, b, c;
        const char *want;
    } rows[] = {
        {9, 8, 8, "9 8 8"}, {20, 4, 1, "20 4 1"}, {10, 8, 8, "8 8 8"},
        {25, 0, 0, "25"},   {26, 0, 0, "24"},     {8, 8, 8, "8 8 8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const int counts[] = {rows[i].a, rows[i].b, rows[i].c};
        struct kit_nodes nodes = many(a, counts, 3, 1);
        const struct tt_slice *slice = kit_slice(a, NULL, 0);
        struct gce_neg_wish w = wish(&nodes, &slice, 1);
        struct gce_neg_members got;
        run(a, &w, NULL, &got);
        same_text(arena_printf(a, "%d %d %d", rows[i].a, rows[i].b, rows[i].c),
                  counts_of(a, &got.places), rows[i].want);
    }
    (void)state;
}

static void gce_neg_membership__local_limits__250_and_3000(void **state)
{
    static const struct {
        bool internal;
        const char *want;
    } rows[] = {{true, "125 125"}, {false, "1500 1500"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const int counts[] = {2000, 2000};
        struct kit_nodes nodes = many(a, counts, 2, 1);
        const char **hosts = ARENA_ARRAY(a, const char *, nodes.n);
        for (size_t k = 0; k < nodes.n; k++) {
            hosts[k] = nodes.items[k]->name;
        }
        const struct tt_slice *slice = kit_slice(a, hosts, nodes.n);
        struct gce_neg_wish w = wish(&nodes, &slice, 1);
        struct gce_neg_members got;
        w.local = true;
        w.internal = rows[i].internal;
        run(a, &w, NULL, &got);
        same_text(rows[i].internal ? "internal" : "external", counts_of(a, &got.places),
                  rows[i].want);
    }
    (void)state;
}

/* A10: a node whose old and new address are both in the NEG takes one place. */
static void gce_neg_membership__node_with_two_endpoints__takes_one_place(void **state)
{
    struct arena *a = *state;
    const int counts[] = {30};
    struct kit_nodes nodes = many(a, counts, 1, 1);
    const struct tt_slice *slice = kit_slice(a, NULL, 0);
    struct gce_neg_wish w = wish(&nodes, &slice, 1);
    struct gce_endpoint is[25];
    for (size_t i = 0; i < 25; i++) {
        size_t node = i < 2 ? 0 : i - 1;
        is[i] = (struct gce_endpoint){
            .instance = nodes.items[node]->name, .ip = i == 0 ? "1.1.1.1" : "", .ipv6 = ""};
    }
    struct gce_neg_place place = {.zone = "zone1", .subnet = "default", .endpoints = is, .n = 25};
    const struct gce_neg_places current = {.items = &place, .n = 1};
    struct gce_neg_members got;
    run(a, &w, &current, &got);
    assert_int_equal(got.places.items[0].n, 24);
    for (size_t i = 0; i < 24; i++) {
        same_text("the 24 nodes that were there", got.places.items[0].endpoints[i].instance,
                  nodes.items[i]->name);
    }
}

/* ---- description ----------------------------------------------------------------------------- */

static void gce_neg_describe__and_judge(void **state)
{
    struct arena *a = *state;
    const char *ours = gce_neg_describe(a, "uid1", "ns", "web");
    same_text(
        "bytes", ours,
        "{\"cluster-uid\":\"uid1\",\"namespace\":\"ns\",\"service-name\":\"web\",\"port\":\"0\"}");
    static const struct {
        const char *found;
        enum gce_neg_verdict want;
    } rows[] = {
        {"", GCE_NEG_MATCHES},
        {NULL, GCE_NEG_MATCHES},
        {"a NEG of mine", GCE_NEG_MATCHES},
        {"{\"cluster-uid\":\"uid1\",\"namespace\":\"ns\",\"service-name\":\"web\",\"port\":\"0\"}",
         GCE_NEG_MATCHES},
        {"{\"port\":\"0\",\"service-name\":\"web\",\"namespace\":\"ns\",\"Cluster-UID\":\"uid1\"}",
         GCE_NEG_MATCHES},
        {"{\"cluster-uid\":\"uid2\",\"namespace\":\"ns\",\"service-name\":\"web\",\"port\":\"0\"}",
         GCE_NEG_FOREIGN},
        {"{\"cluster-uid\":\"uid1\",\"namespace\":\"n2\",\"service-name\":\"web\",\"port\":\"0\"}",
         GCE_NEG_FOREIGN},
        {"{\"cluster-uid\":\"uid1\",\"namespace\":\"ns\",\"service-name\":\"api\",\"port\":\"0\"}",
         GCE_NEG_SAME_CLUSTER},
        {"{\"cluster-uid\":\"uid1\",\"namespace\":\"ns\",\"service-name\":\"web\",\"port\":\"80\"}",
         GCE_NEG_SAME_CLUSTER},
        {"{\"cluster-uid\":\"uid2\",\"port\":0}", GCE_NEG_MATCHES}, /* Appendix C row 3 */
        {"[]", GCE_NEG_MATCHES},
        {"null", GCE_NEG_FOREIGN},
        {"{}", GCE_NEG_FOREIGN},
        {"{} x", GCE_NEG_MATCHES},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (gce_neg_description_judge(a, ours, rows[i].found) != rows[i].want) {
            fail_msg("%s: got %d, want %d", str_nonnull(rows[i].found),
                     gce_neg_description_judge(a, ours, rows[i].found), rows[i].want);
        }
    }
}

UNIT_MAIN(neg_members)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(gce_node_judge__default_subnet__the_table),
        PURE_TEST(gce_node_judge__other_modes__subnets_and_pod_ranges),
        PURE_TEST(gce_node_digest__what_matters__and_what_does_not),
        PURE_TEST(gce_neg_membership__V198_to_V206),
        PURE_TEST(gce_neg_membership__zones_of_negs__those_with_candidates),
        PURE_TEST(gce_neg_membership__no_slice__members_stay),
        PURE_TEST(gce_neg_membership__no_subnetwork__refused),
        PURE_TEST(gce_neg_membership__addresses__by_family),
        PURE_TEST(gce_neg_membership__terminating_and_without_pod__do_not_count),
        PURE_TEST(gce_neg_membership__S27_to_S33),
        PURE_TEST(gce_neg_membership__S43_local__only_zones_with_endpoints),
        PURE_TEST(gce_neg_membership__up_to_25_candidates__all),
        PURE_TEST(gce_neg_membership__local_limits__250_and_3000),
        PURE_TEST(gce_neg_membership__node_with_two_endpoints__takes_one_place),
        PURE_TEST(gce_neg_describe__and_judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
