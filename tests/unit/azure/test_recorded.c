/* SPDX-License-Identifier: Apache-2.0 */
/* test_recorded.c: bodies that the Go controller wrote, made again by us: load balancers and public
 * IPs of tests/data/azure (see its README).  Order, ids, etags, states and back references are
 * ARM's and do not count. */
#include "tests/unit/azure/lb.h"

#include "common/base/file.h"
#include "providers/azure/lb/azure_lb_apply_rules.h"
#include "providers/azure/pip/azure_pip_rules.h"
#include "tests/support/unit.h"

#include <stdlib.h>

#define FILE_MAX_BYTES (4 << 20)

static struct json_object *data(struct arena *a, const char *name)
{
    char *text;
    size_t n;
    struct err err = ERR_INIT;
    const char *path = arena_printf(a, "%s/azure/%s", getenv("TRIMTAB_TEST_DATA"), name);
    if (file_read(a, path, FILE_MAX_BYTES, &text, &n, &err) != ERR_OK) {
        fail_msg("%s: %s", path, err.message);
    }
    return pure_json(a, text);
}

static const struct azure_naming *naming(struct arena *a)
{
    struct azure_config config = azure_test_config();
    config.subscription_id = config.network_subscription_id = "S";
    config.location = "eastus";
    config.subnet_name = "sn";
    struct azure_naming *n = ARENA_NEW(a, struct azure_naming);
    *n = *lb_naming(a, &config);
    n->cluster = "c1";
    return n;
}

static const struct azure_service *service(struct arena *a, struct json_object *tree)
{
    return azure_service_read(a, naming(a), test_service(a, tree));
}

static const char *const zones[] = {"1", "2", "3"};

static int put(struct arena *a, const struct azure_service *s, bool want,
               const struct azure_pips *pips, struct json_object *subnet, struct json_object *lb)
{
    struct azure_lb_ask ask = {.naming = naming(a),
                               .service = s,
                               .want = want,
                               .pips = pips,
                               .subnet = subnet,
                               .zones = zones,
                               .n_zones = ARRAY_LEN(zones)};
    struct azure_lb_result r;
    struct err err = ERR_INIT;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        const struct azure_pip_ask pip = {
            .naming = ask.naming, .service = s, .family = (enum azure_family)f, .pips = pips};
        struct azure_pip_want w = {0};
        if (want && !s->internal && s->has_family[f] &&
            azure_pip_ensure(a, &pip, &w, &err) != ERR_OK) {
            fail_msg("%s: %s", s->key, err.message);
        }
        ask.pip_id[f] = w.id;
    }
    if (azure_lb_apply(a, &ask, lb, &r, &err) != ERR_OK) {
        fail_msg("%s: %s", s->key, err.message);
    }
    return r.changed;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int by_name(const void *x, const void *y)
{
    return strcmp(azure_doc_name(*(struct json_object *const *)x),
                  azure_doc_name(*(struct json_object *const *)y));
}

static void strip_element(struct json_object *o)
{
    static const char *const of_arm[] = {"provisioningState", "loadBalancingRules",
                                         "backendIPConfigurations", "loadBalancerBackendAddresses"};
    json_object_object_del(o, "id");
    json_object_object_del(o, "etag");
    for (size_t i = 0; i < ARRAY_LEN(of_arm); i++) {
        json_object_object_del(azure_props(o), of_arm[i]);
    }
}

/* Values that the writer chooses; `addresses`: also assigned addresses of frontends. */
static struct json_object *essence(struct arena *a, struct json_object *doc, bool addresses)
{
    static const char *const arrays[] = {"frontendIPConfigurations", "backendAddressPools",
                                         "probes", "loadBalancingRules"};
    struct json_object *lb = azure_copy(a, doc);
    struct json_object *o;
    json_object_object_del(lb, "id");
    json_object_object_del(lb, "etag");
    json_object_object_del(azure_props(lb), "provisioningState");
    for (size_t k = 0; k < ARRAY_LEN(arrays); k++) {
        AZURE_EACH (o, azure_array(lb, arrays[k])) {
            strip_element(o);
            if (!addresses && k == 0 &&
                !str_eq(azure_prop_str(o, "privateIPAllocationMethod"), "Static")) {
                json_object_object_del(azure_props(o), "privateIPAddress");
            }
        }
        if (json_len(azure_array(lb, arrays[k])) == 0) {
            json_object_object_del(azure_props(lb), arrays[k]);
        } else {
            json_object_array_sort(azure_array(lb, arrays[k]), by_name);
        }
    }
    return lb;
}

static void same_document(struct arena *a, const char *row, struct json_object *got,
                          struct json_object *want)
{
    if (!json_equal(got, want)) {
        fail_msg("%s: got\n%s\nwant\n%s", row, json_text(a, got, JSON_SORTED_PRETTY),
                 json_text(a, want, JSON_SORTED_PRETTY));
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void writes__load_balancer__same_body(void **state)
{
    struct arena *a = *state;
    struct json_object *file = data(a, "balancer-writes.json");
    struct json_object *x;
    const struct azure_pips none = {0};
    size_t n = 0;
    AZURE_EACH (x, json_member(file, "writes")) {
        struct json_object *was = json_member(x, "was");
        struct json_object *lb = was != NULL
                                     ? azure_copy(a, was)
                                     : azure_lb_new(a, naming(a)->config, json_str(x, "balancer"));
        (void)put(a, service(a, json_member(x, "service")), json_bool(x, "want", false), &none,
                  json_member(file, "subnet"), lb);
        same_document(a, json_str(x, "scenario"), essence(a, lb, true),
                      essence(a, json_member(x, "body"), true));
        n++;
    }
    assert_int_equal(n, 9);
}

static void writes__public_ip__same_body(void **state)
{
    struct arena *a = *state;
    struct json_object *x;
    const struct azure_pips none = {0};
    size_t n = 0;
    AZURE_EACH (x, json_member(data(a, "balancer-writes.json"), "public_ips")) {
        const struct azure_pip_ask ask = {.naming = naming(a),
                                          .service = service(a, json_member(x, "service")),
                                          .pips = &none,
                                          .zones = zones,
                                          .n_zones = ARRAY_LEN(zones)};
        struct azure_pip_want w = {0};
        struct err err = ERR_INIT;
        assert_int_equal(azure_pip_ensure(a, &ask, &w, &err), ERR_OK);
        same_document(a, json_str(x, "scenario"), w.doc, json_member(x, "body"));
        n++;
    }
    assert_int_equal(n, 3);
}

/* The documents of one kind in a world. */
static struct azure_pips of_kind(struct arena *a, struct json_object *world, const char *kind)
{
    struct json_object *all = json_member(world, "azure");
    struct json_object **items =
        ARENA_ARRAY(a, struct json_object *, (size_t)json_object_object_length(all) + 1);
    struct azure_pips out = {.items = items};
    json_object_object_foreach(all, id, doc)
    {
        if (str_has_suffix(id, arena_printf(a, "/%s/%s", kind, azure_id_last(id)))) {
            items[out.n++] = doc;
        }
    }
    return out;
}

/* A cluster at rest: there is nothing to do, and all of it could be recreated from its Services. */
static void worlds__at_rest__nothing_to_do_and_made_anew(void **state)
{
    struct arena *a = *state;
    static const char *const files[] = {"world-nic.json", "world-node-ip.json"};
    struct json_object *tree;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct json_object *world = data(a, files[i]);
        const struct azure_pips pips = of_kind(a, world, "publicIPAddresses");
        const struct azure_pips lbs = of_kind(a, world, "loadBalancers");
        struct json_object *subnet = of_kind(a, world, "subnets").items[0];
        assert_int_equal(lbs.n, 2);
        for (size_t k = 0; k < lbs.n; k++) {
            const char *name = azure_doc_name(lbs.items[k]);
            struct json_object *old = azure_copy(a, lbs.items[k]);
            struct json_object *fresh = azure_lb_new(a, naming(a)->config, name);
            size_t n = 0;
            AZURE_EACH (tree, json_path(world, "kubernetes.services")) {
                if (!str_eq(json_str(json_member(tree, "spec"), "type"), "LoadBalancer")) {
                    continue;
                }
                const struct azure_service *s = service(a, tree);
                if (s->internal == azure_lb_is_internal(name)) {
                    if (put(a, s, true, &pips, subnet, old)) {
                        fail_msg("%s: %s is changed by %s", files[i], name, s->key);
                    }
                    struct json_object *young = azure_copy(a, tree);
                    json_object_object_del(young, "status"); /* its address would be asked for */
                    (void)put(a, service(a, young), true, &pips, subnet, fresh);
                    n++;
                }
            }
            assert_true(n > 5);
            same_document(a, files[i], essence(a, fresh, false), essence(a, old, false));
        }
    }
}

static void worlds__public_ips__nothing_to_do(void **state)
{
    struct arena *a = *state;
    struct json_object *world = data(a, "world-nic.json");
    const struct azure_pips pips = of_kind(a, world, "publicIPAddresses");
    struct json_object *tree;
    size_t n = 0;
    AZURE_EACH (tree, json_path(world, "kubernetes.services")) {
        const struct azure_service *s = service(a, tree);
        struct azure_pip_ask ask = {.naming = naming(a),
                                    .service = s,
                                    .pips = &pips,
                                    .zones = zones,
                                    .n_zones = ARRAY_LEN(zones),
                                    .want = true};
        struct azure_pip_want w = {0};
        struct azure_pip_releases r;
        struct err err = ERR_INIT;
        if (!str_eq(json_str(json_member(tree, "spec"), "type"), "LoadBalancer")) {
            continue;
        }
        if (!s->internal) {
            assert_int_equal(azure_pip_ensure(a, &ask, &w, &err), ERR_OK);
            if (w.changed) {
                fail_msg("%s: %s", s->key, w.why);
            }
            ask.desired = w.name;
            n++;
        }
        assert_int_equal(azure_pip_releases(a, &ask, &r, &err), ERR_OK);
        assert_int_equal(r.n, 0);
    }
    assert_true(n > 10);
}

UNIT_MAIN(recorded)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(writes__load_balancer__same_body),
        PURE_TEST(writes__public_ip__same_body),
        PURE_TEST(worlds__at_rest__nothing_to_do_and_made_anew),
        PURE_TEST(worlds__public_ips__nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
