/* SPDX-License-Identifier: Apache-2.0 */
/* test_owned.c: whose the parts of Azure's shared documents are (azure_owned_rules.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/str.h"
#include "providers/azure/azure_owned_rules.h"
#include "tests/support/objects.h"
#include "tests/support/unit.h"

#define BASE "a0123456789abcdef0123456789abcde"
#define LIVE "a1111111122223333444455555555555"
#define RG   "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/"

struct stand {
    struct arena *a;
    struct azure_config config;
    struct azure_naming naming;
    struct azure_owned_list l;
};

static int set_up(void **state)
{
    struct arena *a = arena_new();
    struct stand *s = ARENA_NEW(a, struct stand);

    s->a = a;
    s->naming = (struct azure_naming){.config = &s->config, .cluster = "c1"};
    azure_owned_init(&s->l, a, &s->naming);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stand *s = *state;

    azure_owned_done(&s->l);
    arena_free(s->a);
    return 0;
}

static struct json_object *doc(struct stand *s, const char *text)
{
    struct json_object *o = NULL;

    assert_int_equal(ERR_OK, json_parse_arena(s->a, text, strlen(text), NULL, &o, NULL));
    return o;
}

/* On a frontend of that base name. */
static void pip_on(struct stand *s, const char *name, const char *service, const char *base)
{
    azure_owned_pip(
        &s->l,
        doc(s, arena_printf(s->a,
                            "{\"name\":\"%s\",\"id\":\"" RG "publicIPAddresses/%s\",\"tags\":{"
                            "\"k8s-azure-service\":\"%s\",\"k8s-azure-cluster-name\":\"c1\"},"
                            "\"properties\":{\"ipConfiguration\":{\"id\":\"" RG
                            "loadBalancers/lb/frontendIPConfigurations/%s\"}}}",
                            name, name, service, base)));
}

static void pip(struct stand *s, const char *name, const char *tags)
{
    azure_owned_pip(&s->l, doc(s, arena_printf(s->a,
                                               "{\"name\":\"%s\",\"id\":\"" RG
                                               "publicIPAddresses/%s\",\"tags\":{%s}}",
                                               name, name, tags)));
}

static void lb(struct stand *s, const char *pool)
{
    azure_owned_lb(
        &s->l,
        doc(s, arena_printf(
                   s->a,
                   "{\"name\":\"lb\",\"id\":\"" RG
                   "loadBalancers/lb\",\"properties\":{\"backendAddressPools\":[{\"name\":\"%s\"}],"
                   "\"frontendIPConfigurations\":[{\"name\":\"" BASE
                   "\",\"properties\":{\"publicIPAddress\":{\"id\":\"" RG
                   "publicipaddresses/C1-" BASE "\"}}},"
                   "{\"name\":\"" LIVE "\"},{\"name\":\"8d9d5a1e-0000-4444-8888-123456789abc\"}],"
                   "\"loadBalancingRules\":[{\"name\":\"" BASE "-TCP-80\"},{\"name\":\"" BASE
                   "x-TCP-80\"}],"
                   "\"probes\":[{\"name\":\"" BASE "-TCP-80\"}]}}",
                   pool)));
}

static void pips__generated_and_tagged__ours(void **state)
{
    static const struct {
        const char *name, *tags;
        size_t n;
        bool unsure;
    } rows[] = {
        {"c1-" BASE, "\"k8s-azure-service\":\"demo/old\",\"k8s-azure-cluster-name\":\"c1\"", 1,
         false},
        {"c1-" BASE "-IPv6", "\"k8s-azure-service\":\"demo/old\",\"k8s-azure-cluster-name\":\"C1\"",
         1, false},
        {"c1-" BASE, "\"k8s-azure-service\":\"demo/old\"", 1, true},
        {"c1-" BASE, "\"k8s-azure-service\":\"demo/old\",\"k8s-azure-cluster-name\":\"c2\"", 0,
         false},
        {"c2-" BASE, "\"k8s-azure-service\":\"demo/old\",\"k8s-azure-cluster-name\":\"c1\"", 0,
         false},
        {BASE "-interim-00c0ffee",
         "\"k8s-azure-service\":\"demo/old\",\"k8s-azure-cluster-name\":\"c1\"", 1, false},
        {"c1-" BASE, "", 1, true}, /* its tags were taken off */
        /* its owner made it, and lent it */
        {"mine", "\"k8s-azure-service\":\"demo/old\",\"k8s-azure-cluster-name\":\"c1\"", 0, false},
    };
    struct stand *s = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        s->l.inv.n = 0;
        pip(s, rows[i].name, rows[i].tags);
        azure_owned_settle(&s->l);
        if (s->l.inv.n != rows[i].n ||
            (s->l.inv.n > 0 && s->l.inv.items[0]->unsure != rows[i].unsure)) {
            fail_msg("row %zu: %zu", i, s->l.inv.n);
        }
    }
}

static void unit__one_owner_and_a_service_to_delete_it_by(void **state)
{
    struct stand *s = *state;

    azure_owned_count(
        &s->l,
        test_service_text(s->a, "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\",\"uid\":"
                                "\"11111111-2222-3333-4444-555555555555\"}}"));
    pip(s, "c1-" BASE, "\"k8s-azure-service\":\"demo/old\",\"k8s-azure-cluster-name\":\"c1\"");
    lb(s, "c1");
    azure_owned_settle(&s->l);
    assert_int_equal(5, s->l.inv.n); /* the public IP, two frontends, a rule, a probe */
    size_t used = 0;
    for (size_t i = 0; i < s->l.inv.n; i++) {
        const struct inventory_item *o = s->l.inv.items[i];
        used += o->used;
        if (o->used) {
            assert_string_equal(LIVE, o->name);
            continue;
        }
        assert_string_equal("demo/old", o->key);
        const struct tt_service *svc = azure_owned_service(&s->l, o);
        assert_non_null(svc);
        assert_string_equal(BASE, azure_base_name(s->a, svc));
    }
    assert_int_equal(1, used);
    assert_string_equal("az network lb rule delete --resource-group rg --lb-name lb --name " BASE
                        "-TCP-80",
                        azure_owned_command(s->a, s->l.inv.items[1]));
}

/* UIDs distinguish leftovers of a former Service from resources of its successor. */
static void unit__a_successor_of_the_name__only_the_predecessors(void **state)
{
    struct stand *s = *state;
    size_t orphans = 0;

    azure_owned_count(
        &s->l,
        test_service_text(s->a, "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"old\",\"uid\":"
                                "\"11111111-2222-3333-4444-555555555555\"}}"));
    pip_on(s, "c1-" BASE, "demo/old", BASE);
    pip_on(s, "c1-" LIVE, "demo/old", LIVE);
    lb(s, "c1");
    azure_owned_settle(&s->l);
    for (size_t i = 0; i < s->l.inv.n; i++) {
        const struct inventory_item *o = s->l.inv.items[i];
        assert_string_equal(o->unit, o->used ? LIVE : BASE);
        orphans += !o->used;
        if (!o->used) {
            const struct tt_service *svc = azure_owned_service(&s->l, o);
            assert_non_null(svc);
            assert_string_equal(svc->name, "old");
            assert_string_equal(BASE, azure_base_name(s->a, svc));
        }
    }
    assert_int_equal(orphans, 4); /* frontend, rule, probe, public IP */
}

/* A frontend of a Service that is gone, at whose address another one is served; a rule made by hand
 * counts, too. */
static void frontend__that_serves_others__used(void **state)
{
    static const struct {
        const char *array, *rule;
        bool used;
    } rows[] = {
        {"loadBalancingRules", LIVE "-TCP-81", true},
        {"loadBalancingRules", BASE "-TCP-80", false},
        {"loadBalancingRules", "a9999999922223333444455555555555-TCP-81", false}, /* gone, too */
        {"inboundNatRules", "by-hand", true},
    };
    struct stand *s = *state;
    azure_owned_count(
        &s->l,
        test_service_text(s->a, "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\",\"uid\":"
                                "\"11111111-2222-3333-4444-555555555555\"}}"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static const char id[] = RG "loadBalancers/lb/frontendIPConfigurations/" BASE;
        s->l.inv.n = 0;
        azure_owned_lb(
            &s->l,
            doc(s, arena_printf(s->a,
                                "{\"name\":\"lb\",\"id\":\"" RG "loadBalancers/lb\","
                                "\"properties\":{\"backendAddressPools\":[{\"name\":\"c1\"}],"
                                "\"frontendIPConfigurations\":[{\"name\":\"" BASE
                                "\",\"id\":\"%s\"}],\"%s\":[{\"name\":\"%s\",\"properties\":{"
                                "\"frontendIPConfiguration\":{\"id\":\"%s\"}}}]}}",
                                id, rows[i].array, rows[i].rule, id)));
        azure_owned_settle(&s->l);
        bool found = false;
        for (size_t k = 0; k < s->l.inv.n; k++) {
            const struct inventory_item *o = s->l.inv.items[k];
            found = found || (o->kind == AZURE_OWNED_FRONTEND && o->used);
        }
        if (found != rows[i].used) {
            fail_msg("row %zu: %zu", i, s->l.inv.n);
        }
    }
}

/* It may be the successor's: shared by others, on a frontend of its own, or on none. */
static void pip__tag_names_a_service__used(void **state)
{
    static const struct {
        const char *services, *base;
    } rows[] = {{"demo/old,demo/web", BASE}, {"demo/old", LIVE}, {"demo/old", "mine"}};
    struct stand *s = *state;

    azure_owned_count(
        &s->l,
        test_service_text(s->a, "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"old\",\"uid\":"
                                "\"11111111-2222-3333-4444-555555555555\"}}"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        s->l.inv.n = 0;
        pip_on(s, "c1-" BASE, rows[i].services, rows[i].base);
        assert_int_equal(s->l.inv.n, 1);
        assert_true(s->l.inv.items[0]->used);
    }
}

static void balancer__without_the_clusters_pool__not_looked_at(void **state)
{
    struct stand *s = *state;

    lb(s, "c2");
    assert_int_equal(0, s->l.inv.n);
}

static void security_rules__only_when_no_service_is_left(void **state)
{
    struct stand *s = *state;
    struct json_object *nsg =
        doc(s, "{\"name\":\"nsg\",\"id\":\"" RG
               "networkSecurityGroups/nsg\",\"properties\":{\"securityRules\":["
               "{\"name\":\"k8s-azure-lb_allow_IPv4_x\"},{\"name\":\"ssh\"},{\"name\":\"" BASE
               "-TCP-80-Internet\"}]}}");

    azure_owned_nsg(&s->l, nsg);
    azure_owned_settle(&s->l);
    assert_int_equal(2, s->l.inv.n);
    assert_true(s->l.inv.items[0]->unsure && s->l.inv.items[1]->unsure);
    s->l.inv.n = 0;
    azure_owned_count(
        &s->l, test_service_text(
                   s->a, "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\",\"uid\":\"u\"}}"));
    azure_owned_nsg(&s->l, nsg);
    azure_owned_settle(&s->l);
    assert_true(s->l.inv.items[0]->used);
    assert_false(s->l.inv.items[1]->used);
}

UNIT_MAIN(owned)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pips__generated_and_tagged__ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unit__one_owner_and_a_service_to_delete_it_by, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(unit__a_successor_of_the_name__only_the_predecessors,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(pip__tag_names_a_service__used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(frontend__that_serves_others__used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(balancer__without_the_clusters_pool__not_looked_at, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(security_rules__only_when_no_service_is_left, set_up,
                                        tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
