/* SPDX-License-Identifier: Apache-2.0 */
/* test_select.c: which load balancer a Service uses; rows and S-02 to S-43 of the
 * Azure specification, as far as they need no cloud. */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/lb/azure_select_rules.h"
#include "tests/support/unit.h"

/* ---- one pair per cluster or VM set ---------------------------------------------------------- */

static void name__A_01_to_A_07(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *vm_set;
        bool standard, internal;
        const char *lb_name, *want;
    } rows[] = {
        {"A-01", "primary", false, false, "azurelb", "azurelb"},
        {"A-02", "primary", false, false, "", "azure"},
        {"A-02", "PRIMARY", false, false, "", "azure"},
        {"A-03", "primary", false, true, "", "azure-internal"},
        {"A-04", "as", false, false, "", "as"},
        {"A-05", "as", false, true, "", "as-internal"},
        {"A-06", "as", true, false, "", "azure"},
        {"A-07", "as", true, true, "", "azure-internal"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config c = azure_test_config();
        const struct azure_naming n = {.config = &c, .cluster = "azure"};
        c.primary_scale_set = "primary";
        c.standard_sku = rows[i].standard;
        c.lb_name = rows[i].lb_name;
        same_text(rows[i].row, azure_lb_name(a, &n, rows[i].vm_set, rows[i].internal),
                  rows[i].want);
    }
}

static void should_change__5_3(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *why;
        bool standard;
        const char *mode, *current;
        bool want;
    } rows[] = {
        {"standard: the expected one", true, NULL, "AZURE", false},
        {"standard: another one", true, "as", "as", true},
        {"no mode", false, NULL, "as", false},
        {"any", false, "__AUTO__", "as", false},
        {"the named one", false, " AS ", "as-internal", false},
        {"another one", false, "as2", "as", true},
        {"the primary one, on the cluster's", false, "primary", "Azure-internal", false},
        {"the primary one, on its old one", false, "primary", "primary", true},
        {"one of a list", false, "as2, as", "as", false},
        {"none of a list", false, "as2,as3", "as", true},
        {"none named", false, "", "as", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config c = azure_test_config();
        const struct azure_naming n = {.config = &c, .cluster = "azure"};
        c.primary_scale_set = "primary";
        c.standard_sku = rows[i].standard;
        const char *mode =
            arena_printf(a, "{\"azure-load-balancer-mode\":\"%s\"}", str_nonnull(rows[i].mode));
        const struct azure_service *s = azure_service_read(
            a, &n, azure_test_service(a, "s", rows[i].mode == NULL ? NULL : mode, NULL));
        if (azure_lb_should_change(a, &n, s, rows[i].current, "azure") != rows[i].want) {
            fail_msg("%s: want %d", rows[i].why, rows[i].want);
        }
    }
}

static const char *lb_names(struct arena *a, const struct azure_lbs *lbs)
{
    const char *text = "";
    for (size_t i = 0; i < lbs->n; i++) {
        text = arena_printf(a, "%s%s%s", text, i == 0 ? "" : " ", json_str(lbs->items[i], "name"));
    }
    return text;
}

static void managed__S_42_S_43(void **state)
{
    struct arena *a = *state;
    struct azure_lb_config multi[] = {{.name = "kubernetes"}, {.name = "lb1"}};
    struct azure_config c = azure_test_config();
    const struct azure_naming n = {.config = &c, .cluster = "kubernetes"};
    static const char *const sets[] = {"vmas-0", "vmas-1"};
    const struct azure_vm_sets pools = {sets, 2};
    struct azure_lbs lbs, got;
    c.standard_sku = false;
    c.primary_scale_set = "vmas-0";
    lbs.items = azure_test_docs(
        a,
        "[{\"name\":\"kubernetes\"},{\"name\":\"kubernetes-internal\"},{\"name\":\"vmas-1\"},"
        "{\"name\":\"vmas-1-internal\"},{\"name\":\"unmanaged\"},"
        "{\"name\":\"unmanaged-internal\"}]",
        &lbs.n);
    got = azure_lbs_managed(a, &n, &lbs, &pools);
    same_text("S-42", lb_names(a, &got), "kubernetes kubernetes-internal vmas-1 vmas-1-internal");
    got = azure_lbs_managed(a, &n, &lbs, NULL);
    assert_int_equal(got.n, 6); /* nodes are not known */
    c.standard_sku = true;
    c.lbs = multi;
    c.n_lbs = 2;
    lbs.items = azure_test_docs(a,
                                "[{\"name\":\"kubernetes\"},{\"name\":\"Kubernetes-Internal\"},"
                                "{\"name\":\"lb1-internal\"},{\"name\":\"lb2\"}]",
                                &lbs.n);
    got = azure_lbs_managed(a, &n, &lbs, NULL);
    same_text("S-43", lb_names(a, &got), "kubernetes Kubernetes-Internal lb1-internal");
    c.n_lbs = 0;
    c.lb_name = "lb2";
    got = azure_lbs_managed(a, &n, &lbs, NULL);
    same_text("17.3", lb_names(a, &got), "kubernetes Kubernetes-Internal lb2");
}

#define R "{\"name\":\"r\"}"
#define LB(name, rules)                                                                            \
    "{\"name\":\"" name "\",\"properties\":{\"loadBalancingRules\":[" rules "]}}"

static void basic__S_02_and_5_4(void **state)
{
    struct arena *a = *state;
    static const char existing[] =
        "[" LB("testCluster", R) "," LB("as-1", R "," R) "," LB("as-2", R "," R "," R) "]";
    static const struct {
        const char *row, *mode;
        int32_t max;
        int code;
        const char *want;
        bool exists;
    } rows[] = {
        {"S-02", "__auto__", 250, ERR_OK, "testCluster", true},
        {"no mode", NULL, 250, ERR_OK, "testCluster", true},
        {"named", "AS-2", 250, ERR_OK, "as-2", true},
        {"list", "as-2, as-1", 250, ERR_OK, "as-1", true},
        {"new one", "as-2,as-3", 250, ERR_OK, "as-3", false},
        {"full", "as-2", 3, ERR_QUOTA, NULL, false},
        {"unknown", "as-9", 250, ERR_NOT_FOUND, NULL, false},
        {"blank", " ", 250, ERR_NOT_FOUND, NULL, false},
    };
    static const char *const sets[] = {"as-0", "as-1", "as-2", "as-3"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config c = azure_test_config();
        const struct azure_naming n = {.config = &c, .cluster = "testCluster"};
        const struct azure_vm_sets pools = {sets, str_eq(rows[i].mode, "__auto__") ? 3 : 4};
        struct azure_vm_sets candidates = {0};
        struct azure_lbs lbs;
        const char *name = NULL;
        bool exists = false;
        c.standard_sku = false;
        c.primary_scale_set = "as-0";
        c.max_rules = rows[i].max;
        lbs.items = azure_test_docs(a, existing, &lbs.n);
        const char *mode =
            arena_printf(a, "{\"azure-load-balancer-mode\":\"%s\"}", str_nonnull(rows[i].mode));
        const struct azure_service *s = azure_service_read(
            a, &n, azure_test_service(a, "s", rows[i].mode == NULL ? NULL : mode, NULL));
        int code = azure_vm_set_candidates(a, &n, s, &pools, &candidates, NULL);
        if (code == ERR_OK) {
            code = azure_select_basic(a, &n, s, &lbs, &candidates, &name, &exists, NULL);
        }
        if (code != rows[i].code || exists != rows[i].exists) {
            fail_msg("%s: got %s, exists %d", rows[i].row, err_code_name(code), exists);
        }
        same_text(rows[i].row, name, rows[i].want);
    }
    const struct azure_vm_sets none = {0};
    struct azure_config c = azure_test_config();
    const struct azure_naming n = {.config = &c, .cluster = "testCluster"};
    struct azure_vm_sets candidates;
    c.standard_sku = false;
    const struct azure_service *s = azure_service_read(
        a, &n, azure_test_service(a, "s", "{\"azure-load-balancer-mode\":\"__auto__\"}", NULL));
    assert_int_equal(azure_vm_set_candidates(a, &n, s, &none, &candidates, NULL), ERR_NOT_FOUND);
}

/* ---- several balancers ----------------------------------------------------------------------- */

struct world {
    struct azure_config config;
    struct azure_naming naming;
    struct azure_placement place;
};

static void world_init(struct arena *a, struct world *w, const char *configs, const char *lbs)
{
    struct json_object *array = pure_json(a, configs);
    size_t n = json_len(array);
    struct azure_lb_config *items = ARENA_ARRAY(a, struct azure_lb_config, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        items[i].name = json_str(o, "name");
        items[i].allow_placement = json_bool(o, "allow", true);
        assert_int_equal(
            azure_selector_decode(a, json_member(o, "labels"), &items[i].services, NULL), ERR_OK);
        assert_int_equal(azure_selector_decode(a, json_member(o, "ns"), &items[i].namespaces, NULL),
                         ERR_OK);
    }
    *w = (struct world){.config = azure_test_config()};
    w->config.lbs = items;
    w->config.n_lbs = n;
    w->naming = (struct azure_naming){.config = &w->config, .cluster = "testCluster"};
    w->place.naming = &w->naming;
    w->place.lbs.items = azure_test_docs(a, lbs, &w->place.lbs.n);
}

static const char *place(struct arena *a, const struct world *w, const char *annotations,
                         const char *spec)
{
    struct err err = ERR_INIT;
    const char *name = NULL;
    const struct azure_service *s =
        azure_service_read(a, &w->naming, azure_test_service(a, "test", annotations, spec));
    int code = azure_place(a, &w->place, s, true, &name, &err);
    return code == ERR_OK ? name : arena_strdup(a, err.message);
}

#define TWO "[{\"name\":\"lb1\"},{\"name\":\"lb2\"}]"
#define FIP(name, fip, ip)                                                                         \
    "{\"name\":\"" name "\",\"properties\":{\"frontendIPConfigurations\":[{\"name\":\"" fip        \
    "\",\"properties\":{\"privateIPAddress\":\"" ip "\"}}]}}"
#define PIP(name, ip, lb)                                                                          \
    "{\"id\":\"/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/"                    \
    "publicIPAddresses/" name "\",\"name\":\"" name "\",\"properties\":{\"ipAddress\":\"" ip       \
    "\",\"ipConfiguration\":{\"id\":\"/subscriptions/s/resourceGroups/rg/providers/"               \
    "Microsoft.Network/loadBalancers/" lb "/frontendIPConfigurations/x\"}}}"
#define LOOK_UP "look up load balancer by public IP for service \"test\": find public IP by "

static void place__A_08_to_A_19(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *lbs, *want;
    } rows[] = {
        {"A-08", "{\"azure-load-balancer-ipv4\":\"1.2.3.4\"}", "[]", "lb2"},
        {"A-09", "{\"azure-pip-name\":\"pip\"}", "[]", "lb2"},
        {"A-10", "{\"azure-load-balancer-configurations\":\"lb2\"}", "[]", "lb2"},
        {"A-12", "{\"azure-load-balancer-ipv4\":\"5.6.7.8\"}", "[]",
         LOOK_UP "address \"5.6.7.8\": cannot find public IP with IP address 5.6.7.8 in resource "
                 "group rg"},
        {"A-13", "{\"azure-load-balancer-ipv4\":\"10.0.0.5\"}", "[]",
         LOOK_UP "address \"10.0.0.5\": external Service \"default/test\" cannot use non-public "
                 "LoadBalancer IP \"10.0.0.5\"; use an internal LoadBalancer annotation or a "
                 "valid Azure Public IP address"},
        {"8.2", "{\"azure-load-balancer-ipv4\":\"x\"}", "[]",
         LOOK_UP "address \"x\": external Service \"default/test\" has invalid LoadBalancer IP "
                 "\"x\""},
        {"A-14", "{\"azure-pip-name\":\"nonexistent\"}", "[]",
         LOOK_UP "name \"nonexistent\": failed to find PIP nonexistent in resource group rg"},
        {"A-15", "{}", "[" FIP("lb2", "atest", "") "]", "lb2"},
        {"A-16", "{}",
         "[" FIP("lb1-internal", "atest", "") "," LB("lb2", R "," R) "," LB("lb1", R) "]", "lb1"},
        {"A-18",
         "{\"azure-load-balancer-internal\":\"true\","
         "\"azure-load-balancer-ipv4\":\"10.0.0.5\"}",
         "[" FIP("lb2-internal", "x", "10.0.0.5") "]", "lb2-internal"},
        {"A-19",
         "{\"azure-load-balancer-internal\":\"true\","
         "\"azure-load-balancer-ipv4\":\"10.0.0.99\"}",
         "[" LB("lb1-internal", R) "]", "lb2-internal"},
        {"5.5", "{\"azure-pip-name\":\"foreign\"}", "[" LB("lb1", R) "]", "lb2"},
    };
    static const char pips[] =
        "[" PIP("pip", "1.2.3.4", "lb2") "," PIP("elsewhere", "5.6.7.9", "lb1") "]";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        world_init(a, &w, TWO, rows[i].lbs);
        w.place.pips.items = azure_test_docs(a, pips, &w.place.pips.n);
        if (str_eq(rows[i].row, "5.5")) {
            struct json_object *const *docs =
                azure_test_docs(a, "[" PIP("foreign", "1.2.3.5", "lb1") "]", &w.place.pips.n);
            json_add(docs[0], "tags", json_object_new_object());
            json_add_str(json_member(docs[0], "tags"), "k8s-azure-cluster-name", "other");
            w.place.pips.items = docs;
        }
        same_text(rows[i].row, place(a, &w, rows[i].annotations, NULL), rows[i].want);
    }
}

static void place__A_11_A_17_A_20(void **state)
{
    struct arena *a = *state;
    static const char *const services[] = {"default/test"};
    const struct azure_active active = {.lb = "lb2", .services = services, .n_services = 1};
    struct world w;
    world_init(a, &w, TWO, "[" FIP("lb1", "atest", "") "]");
    const char *got = place(a, &w,
                            "{\"azure-load-balancer-configurations\":\"lb2\","
                            "\"azure-load-balancer-ipv4\":\"1.2.3.4\"}",
                            NULL);
    assert_non_null(strstr(got, "conflicting load balancer configuration")); /* */
    w.place.active = &active;
    w.place.n_active = 1;
    same_text("A-17", place(a, &w, NULL, NULL), "lb1");
    same_text("annotation keeps it where it is",
              place(a, &w, "{\"azure-load-balancer-configurations\":\"LB2,lb1\"}", NULL), "lb2");
    world_init(a, &w,
               "[{\"name\":\"lb1\",\"labels\":{\"matchLabels\":{\"k\":\"v\"}}},{\"name\":\"lb2\"}]",
               "[]");
    w.place.pips.items = azure_test_docs(a, "[" PIP("pip", "1.2.3.4", "lb1") "]", &w.place.pips.n);
    got = place(a, &w, "{\"azure-load-balancer-ipv4\":\"1.2.3.4\"}", NULL);
    assert_non_null(strstr(got, "resides on load balancer \"lb1\", which is not in the eligible "
                                "set [lb2]")); /* */
}

static void choice__S_10_to_S_19(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *configs, *annotations, *lbs, *want;
    } rows[] = {
        {"S-10", TWO, "{}", "[" FIP("lb1", "atest", "") "]", "lb1"},
        {"S-11",
         "[{\"name\":\"lb1\",\"allow\":false},{\"name\":\"lb2\"},{\"name\":\"lb3\"},"
         "{\"name\":\"lb4\",\"allow\":false}]",
         "{}",
         "[" FIP("lb1", "atest",
                 "") "," LB("lb2", R "," R "," R) "," LB("lb3", R "," R) "," LB("lb4", R) "]",
         "lb3"},
        {"S-12", TWO, "{}", "[]", "lb1"},
        {"S-13", "[{\"name\":\"lb1\"},{\"name\":\"lb2\"},{\"name\":\"lb3\"}]", "{}",
         "[" LB("lb3", R) "]", "lb1"},
        {"S-14", "[{\"name\":\"lb1\"},{\"name\":\"lb2\"},{\"name\":\"lb3\"}]",
         "{\"azure-load-balancer-internal\":\"true\"}",
         "[" LB("lb1-internal", R) "," LB("lb2-internal", "") "," LB("lb3-internal", "") "]",
         "lb2-internal"},
        {"S-15", TWO, "{}", "[" LB("lb1", "") "]", "lb1"},
        {"S-16", TWO, "{}", "[{\"name\":\"lb1\"}]", "lb1"},
        {"S-17", TWO, "{\"azure-load-balancer-internal\":\"true\"}", "[" LB("lb1", "") "]",
         "lb1-internal"},
        {"S-18", "[{\"name\":\"lb1\"},{\"name\":\"lb2\"},{\"name\":\"lb3\"}]", "{}",
         "[" LB("lb1", R "," R "," R) "," LB("lb2", "") "]", "lb2"},
        {"S-19", "[{\"name\":\"lb1\"},{\"name\":\"lb2\"},{\"name\":\"lb3\"}]", "{}",
         "[" LB("lb3", "") "]", "lb3"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        world_init(a, &w, rows[i].configs, rows[i].lbs);
        same_text(rows[i].row, place(a, &w, rows[i].annotations, NULL), rows[i].want);
    }
}

static void choice__all_are_full__refused(void **state)
{
    struct arena *a = *state;
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, "[{\"name\":\"lb1\",\"properties\":{\"loadBalancingRules\":[" R);
    for (size_t i = 1; i < 301; i++) {
        str_append(&b, "," R);
    }
    str_append(&b, "]}}]");
    struct world w;
    world_init(a, &w, "[{\"name\":\"lb1\"}]", str_buf_text(&b));
    same_text("18.3", place(a, &w, NULL, NULL),
              "service \"default/test\": all eligible load balancers (lb1) have 301 rules or more");
    str_buf_done(&b);
}

#define SELECT(key, value) "{\"matchLabels\":{\"" key "\":\"" value "\"}}"

/* A Service with the annotation for configurations (NULL = none) and labels. */
static const struct azure_service *labelled(struct arena *a, const struct azure_naming *n,
                                            const char *configurations, const char *labels)
{
    const char *text = arena_printf(a, "{\"Azure-Load-Balancer-Configurations\":\"%s\"}",
                                    str_nonnull(configurations));
    struct tt_service *in = arena_memdup(
        a, azure_test_service(a, "test", configurations == NULL ? NULL : text, NULL), sizeof(*in));
    struct tt_kv *items = ARENA_ARRAY(a, struct tt_kv, 4);
    struct json_object *object = pure_json(a, labels);
    in->labels = items;
    in->n_labels = 0;
    json_object_object_foreach(object, key, value)
    {
        items[in->n_labels++] = (struct tt_kv){key, json_object_get_string(value)};
    }
    return azure_service_read(a, n, in);
}

static void eligible__S_20_to_S_30(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *configs, *annotation, *labels, *want;
    } rows[] = {
        {"S-20", "[{\"name\":\"a\"},{\"name\":\"c\"}]", "A ,b", "{}", "a"},
        {"S-21", "[{\"name\":\"a\"},{\"name\":\"c\"}]", "b", "{}",
         "service \"test\" selects 1 load balancers by annotation, but none of them is defined in "
         "cloud provider configuration"},
        {"S-22",
         "[{\"name\":\"a\",\"ns\":" SELECT("n1", "v1") "},{\"name\":\"b\",\"ns\":" SELECT(
             "n2", "v2") "},{\"name\":\"c\"}]",
         NULL, "{}", "a"},
        {"S-23",
         "[{\"name\":\"a\",\"labels\":" SELECT("k1", "v1") "},{\"name\":\"b\",\"labels\":" SELECT(
             "k2", "v2") "},{\"name\":\"c\"}]",
         NULL, "{\"k2\":\"v2\",\"k3\":\"v3\"}", "b"},
        {"S-24",
         "[{\"name\":\"a\",\"labels\":" SELECT("k1", "v1") "},{\"name\":\"b\",\"ns\":" SELECT(
             "n2", "v2") "},{\"name\":\"c\"}]",
         NULL, "{}", "c"},
        {"S-25",
         "[{\"name\":\"a\"},{\"name\":\"b\",\"labels\":{\"matchExpressions\":[{\"key\":\"k2\","
         "\"operator\":\"In\",\"values\":[\"v2\"]}]},\"ns\":{\"matchExpressions\":[{\"key\":"
         "\"n1\",\"operator\":\"In\",\"values\":[\"v1\"]}]}},{\"name\":\"c\"}]",
         "a,b", "{\"k2\":\"v2\"}", "b"},
        {"S-26", "[{\"name\":\"a\",\"allow\":false},{\"name\":\"b\"},{\"name\":\"c\"}]", "a,c",
         "{}", "a c"},
        {"S-27",
         "[{\"name\":\"a\",\"labels\":{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\","
         "\"values\":[]}]}}]",
         NULL, "{}",
         "serviceLabelSelector of load balancer \"a\": label selector: k: for 'in', 'notin' "
         "operators, values set can't be empty"},
        {"S-30",
         "[{\"name\":\"a\",\"labels\":" SELECT("k1", "v1") "},{\"name\":\"b\",\"ns\":" SELECT(
             "n2", "v2") "},{\"name\":\"c\",\"ns\":" SELECT("n2", "v2") "}]",
         "a,b,c", "{}",
         "service \"default/test\" selects 3 load balancers (a, b, c), but 0 of them () have "
         "AllowServicePlacement set to false and the service is not using any of them, 1 of them "
         "(a) do not match the service label selector, and 2 of them (c, b) do not match the "
         "service namespace selector"},
        {"18.3",
         "[{\"name\":\"a\",\"labels\":" SELECT("k1", "v1") ",\"ns\":" SELECT(
             "n2", "v2") "},{\"name\":\"b\"}]",
         NULL, "{\"k1\":\"v1\"}",
         "service \"default/test\": no load balancer is left: one selector of a load balancer "
         "matches but the other does not (a), and those without selectors do not count then"},
        {"{} matches", "[{\"name\":\"a\",\"labels\":{}},{\"name\":\"b\"}]", NULL, "{}", "a"},
    };
    static const struct tt_kv namespace_labels[] = {{"n1", "v1"}};
    static const char *const services[] = {"default/test"};
    const struct azure_active active = {.lb = "a", .services = services, .n_services = 1};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        struct err err = ERR_INIT;
        const char *const *names;
        size_t n;
        world_init(a, &w, rows[i].configs, "[]");
        w.place.namespace_labels = namespace_labels;
        w.place.n_namespace_labels = 1;
        w.place.active = &active;
        w.place.n_active = 1;
        const struct azure_service *svc =
            labelled(a, &w.naming, rows[i].annotation, rows[i].labels);
        int code = azure_place_eligible(a, &w.place, svc, &names, &n, &err);
        same_text(rows[i].row, code == ERR_OK ? str_join(a, names, n, " ") : err.message,
                  rows[i].want);
    }
}

static void choice__batch__counts_what_it_adds(void **state)
{
    struct arena *a = *state;
    static const struct {
        size_t lb1, lb2, internal;
        const char *want;
    } rows[] = {
        {0, 0, 0, "lb2"},                                     /* is there, without rules */
        {0, 1, 0, "lb1"},                                     /* is not there yet */
        {1, 1, 0, "lb2"}, {1, 2, 0, "lb1"}, {1, 1, 9, "lb2"}, /* the other kind does not count */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const size_t coming[2][2] = {{rows[i].lb1, rows[i].internal}, {rows[i].lb2, 0}};
        struct world w;
        world_init(a, &w, TWO, "[" LB("lb2", "") "]");
        w.place.coming = coming;
        same_text(rows[i].want, place(a, &w, NULL, NULL), rows[i].want);
    }
}

static void active__rules_tell_who_is_where(void **state)
{
    struct arena *a = *state;
    struct world w;
    size_t n;
    world_init(a, &w, "[{\"name\":\"LB1\",\"allow\":false},{\"name\":\"lb2\"}]",
               "[{\"name\":\"lb1-internal\",\"properties\":{\"loadBalancingRules\":[{\"name\":"
               "\"Atest-TCP-80\"},{\"name\":\"atest-TCP-81\"}]}},{\"name\":\"lb2\",\"properties\":"
               "{\"loadBalancingRules\":[{\"name\":\"atest2-TCP-80\"},{\"name\":\"other\"}]}}]");
    const struct azure_service *services[] = {
        azure_service_read(a, &w.naming, azure_test_service(a, "test", NULL, NULL)),
        azure_service_read(a, &w.naming, azure_test_service(a, "test2", NULL, NULL)),
        azure_service_read(a, &w.naming, azure_test_service(a, "new", NULL, NULL)),
    };
    const struct azure_active *active =
        azure_active_from_rules(a, &w.config, &w.place.lbs, services, 3, &n);
    assert_int_equal(n, 2);
    same_text("lb1", str_join(a, active[0].services, active[0].n_services, " "), "default/test");
    same_text("lb2", str_join(a, active[1].services, active[1].n_services, " "), "default/test2");
    w.place.active = active;
    w.place.n_active = n;
    same_text("S-26", place(a, &w, NULL, NULL), "LB1");
    w.place.n_active = 0;
    same_text("nobody new", place(a, &w, NULL, NULL), "lb2");
}

UNIT_MAIN(select)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(name__A_01_to_A_07),
        PURE_TEST(should_change__5_3),
        PURE_TEST(managed__S_42_S_43),
        PURE_TEST(basic__S_02_and_5_4),
        PURE_TEST(place__A_08_to_A_19),
        PURE_TEST(place__A_11_A_17_A_20),
        PURE_TEST(choice__S_10_to_S_19),
        PURE_TEST(choice__all_are_full__refused),
        PURE_TEST(eligible__S_20_to_S_30),
        PURE_TEST(choice__batch__counts_what_it_adds),
        PURE_TEST(active__rules_tell_who_is_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
