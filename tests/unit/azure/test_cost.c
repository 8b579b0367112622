/* SPDX-License-Identifier: Apache-2.0 */
/* test_cost.c: what one more Service takes does not depend on how many there are: looked at, and
 * asked of the arena.
 *
 * Counted, not timed: with 400 Services on a balancer the last one may take no more
 * than with 100. */
#include "tests/unit/azure/lb.h"

#include "providers/azure/lb/azure_lb_apply_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_index.h"
#include "providers/azure/snapshot/azure_snapshot.h"
#include "tests/support/unit.h"

#define FEW  100
#define MANY 400

struct world {
    struct arena *a;
    const struct azure_naming *naming;
    const struct azure_service **services;
    size_t n;
    struct azure_pips pips;
    struct json_object *lb;
    struct azure_lb_index *index;
};

static struct json_object *pip(struct world *w, size_t i)
{
    const char *name = azure_pip_name(w->a, w->naming, w->services[i]->in, AZURE_IPV4);
    return pure_json(w->a,
                     arena_printf(w->a,
                                  "{\"id\":\"%s\",\"name\":\"%s\",\"tags\":{\"k8s-azure-service\":"
                                  "\"%s\"},\"properties\":{\"ipAddress\":\"20.0.%zu.%zu\"}}",
                                  azure_pip_id(w->a, w->naming, "rg", name), name,
                                  w->services[i]->key, i / 250, i % 250 + 1));
}

/* Puts one Service into the document; the bytes that this took for the while. */
static size_t put(struct world *w, size_t i, bool *ret_changed)
{
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    const char *name = azure_pip_name(w->a, w->naming, w->services[i]->in, AZURE_IPV4);
    const struct azure_lb_ask ask = {
        .naming = w->naming,
        .service = w->services[i],
        .want = true,
        .pips = &w->pips,
        .index = w->index,
        .pip_id = {azure_pip_id(w->a, w->naming, "rg", name)},
    };
    struct azure_lb_result r;
    struct err err = ERR_INIT;
    assert_int_equal(azure_lb_apply(passing, &ask, w->lb, &r, &err), ERR_OK);
    *ret_changed = r.changed;
    return arena_used(passing);
}

/* Found by bisecting: one in the wrong place would be copied into every object again. */
static void doc_limits__names__sorted(void **state)
{
    (void)state;
    const struct json_limits *l = &azure_doc_limits;
    assert_true(l->n_names > 50);
    for (size_t i = 1; i < l->n_names; i++) {
        assert_true(strcmp(l->names[i - 1], l->names[i]) < 0);
    }
}

static struct world world_of(struct arena *a, size_t n)
{
    static struct azure_config config;
    config = azure_test_config();
    struct world w = {.a = a, .naming = lb_naming(a, &config), .n = n};
    w.services = ARENA_ARRAY(a, const struct azure_service *, n);
    struct json_object **pips = ARENA_ARRAY(a, struct json_object *, n);
    for (size_t i = 0; i < n; i++) {
        const char *uid = arena_printf(a, "%08zu-0000-4000-8000-000000000000", i);
        w.services[i] = azure_service_read(
            a, w.naming,
            azure_test_service(
                a, uid, NULL, "\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}]"));
        pips[i] = pip(&w, i);
    }
    w.pips = (struct azure_pips){.items = pips, .n = n, .index = azure_pip_index_new(a, pips, n)};
    w.lb = azure_lb_new(a, w.naming->config, "kubernetes");
    w.index = azure_lb_index_new(a, w.lb);
    return w;
}

/* Bytes for the last of `n` Services: when it comes, and when it is there already. */
static void cost(size_t n, size_t *ret_new, size_t *ret_again)
{
    struct arena *a = arena_new();
    struct world w = world_of(a, n);
    bool changed = false;
    for (size_t i = 0; i < n; i++) {
        *ret_new = put(&w, i, &changed);
        assert_true(changed);
    }
    *ret_again = put(&w, n - 1, &changed);
    assert_false(changed);
    assert_int_equal(json_len(azure_array(w.lb, "loadBalancingRules")), n);
    arena_free(a);
}

static void balancer__one_more_service__takes_the_same_with_four_times_as_many(void **state)
{
    size_t few[2], many[2];
    (void)state;
    cost(FEW, &few[0], &few[1]);
    cost(MANY, &many[0], &many[1]);
    assert_in_range(many[0], 1, few[0] + few[0] / 20);
    assert_in_range(many[1], 1, few[1] + few[1] / 20);
}

/* Unaffected Services are not checked. */
static void index__candidates__are_only_the_services_own(void **state)
{
    struct world w = world_of(*state, FEW);
    bool changed;
    for (size_t i = 0; i < w.n; i++) {
        (void)put(&w, i, &changed);
    }
    for (size_t i = 0; i < w.n; i++) {
        const struct azure_service *s = w.services[i];
        const struct azure_claim claim = azure_frontend_claim(w.a, s, &w.pips);
        struct azure_elements mine = azure_lb_claimed(w.a, w.index, w.lb, &claim);
        assert_int_equal(mine.n, 1);
        assert_true(str_has_prefix(azure_doc_name(mine.items[0]), s->base));
        assert_int_equal(azure_lb_named(w.a, w.index, w.lb, AZURE_LB_RULES, s).n, 1);
        assert_int_equal(azure_lb_named(w.a, w.index, w.lb, AZURE_LB_PROBES, s).n, 1);
        assert_int_equal(azure_lb_rules_at(w.a, w.index, w.lb, azure_doc_id(mine.items[0])).n, 1);
        struct azure_pips about =
            azure_pips_about(w.a, &w.pips, s->key, s->lb_ip, s->pip_name, AZURE_FAMILIES);
        assert_int_equal(about.n, 1);
        assert_ptr_equal(about.items[0], w.pips.items[i]);
    }
    /* Without an index the same rules see all there is. */
    assert_int_equal(azure_lb_named(w.a, NULL, w.lb, AZURE_LB_RULES, w.services[0]).n, FEW);
}

/* Of a thousand instances only what is checked is kept; of documents that are
 * written whole, everything. */
static void snapshot__instances__keep_what_is_looked_at(void **state)
{
    static const char doc[] =
        "[{\"id\":\"/x/virtualMachines/1\",\"name\":\"1\",\"plan\":{\"a\":1},\"properties\":{"
        "\"networkProfileConfiguration\":{\"networkInterfaceConfigurations\":[]},"
        "\"hardwareProfile\":{},\"provisioningState\":\"Succeeded\",\"storageProfile\":{\"b\":2},"
        "\"instanceView\":{\"statuses\":[{\"code\":\"PowerState/running\"}],\"vmAgent\":{}}}}]";
    static const char kept[] =
        "[{\"id\":\"/x/virtualMachines/1\",\"name\":\"1\",\"properties\":{"
        "\"networkProfileConfiguration\":{\"networkInterfaceConfigurations\":[]},"
        "\"hardwareProfile\":{},\"provisioningState\":\"Succeeded\","
        "\"instanceView\":{\"statuses\":[{\"code\":\"PowerState/running\"}]}}}]";
    struct arena *a = *state;
    struct azure_snapshot *s = azure_snapshot_new(clock_real());
    azure_snapshot_put_list(s, AZURE_VMSS_VMS, "/x/virtualMachines", pure_json(a, doc));
    azure_snapshot_put_list(s, AZURE_LBS, "/x/virtualMachines", pure_json(a, doc));
    same_text("instances",
              json_text(a, azure_snapshot_list(s, AZURE_VMSS_VMS, "/x/virtualMachines", 1000, a),
                        JSON_COMPACT),
              kept);
    same_text("balancers",
              json_text(a, azure_snapshot_list(s, AZURE_LBS, "/x/virtualMachines", 1000, a),
                        JSON_COMPACT),
              doc);
    azure_snapshot_free(s);
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

UNIT_MAIN(cost)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doc_limits__names__sorted),
        cmocka_unit_test(balancer__one_more_service__takes_the_same_with_four_times_as_many),
        cmocka_unit_test_setup_teardown(index__candidates__are_only_the_services_own, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(snapshot__instances__keep_what_is_looked_at, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
