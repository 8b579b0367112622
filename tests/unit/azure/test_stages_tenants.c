/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_tenants.c: names that a Service writes and that something else in the cloud bears
 * already: another Service's, another cluster's, or a person's.  Nothing of theirs is written or
 * deleted, and the refusal names the owner.  Under the real driver with a cloud in memory
 * (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "common/base/map.h"
#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define INTERNAL "\"azure-load-balancer-internal\":\"true\""
#define CREATE   "\"azure-pls-create\":\"true\""
#define NETWORK  "/subscriptions/subscription/resourceGroups/rg/providers/Microsoft.Network"
#define THEIRS   "kubernetes-atheirs"

static const char *text_of(struct stage_rig *r, enum azure_kind k, const char *name)
{
    struct json_object *doc = stage_rig_doc(r, k, name);
    return doc != NULL ? json_text(r->a, doc, JSON_COMPACT) : "(absent)";
}

/* An internal Service has no public IP; the one that its annotation names stays whosever it is. */
static void internal_with_anothers_pip_name__that_one_stays(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{" INTERNAL ",\"azure-pip-name\":\"" THEIRS "\"}",
        "{" INTERNAL ",\"azure-pip-name\":\"" THEIRS "\",\"azure-pip-tags\":\"a=b\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        (void)ADD(r, "theirs");
        stage_rig_run(r);
        const char *lb = text_of(r, AZURE_LBS, "kubernetes");
        const char *pip = text_of(r, AZURE_PIPS, THEIRS);
        struct rig_service *ours = stage_rig_add(r, "ours", rows[i], NULL);
        for (int step = 0; step < 3; step++) {
            ours->verb = step == 2 ? TT_VERB_DELETE : TT_VERB_ENSURE;
            stage_rig_run(r);
            succeeded(ours);
            same_text("address", text_of(r, AZURE_PIPS, THEIRS), pip);
            same_text("balancer", text_of(r, AZURE_LBS, "kubernetes"), lb);
        }
        stage_rig_free(r);
    }
}

/* A public IP that hangs on something else cannot be used; nothing is made, and it
 * is not written. */
static void pip_in_use_elsewhere__refused_with_its_owner(void **state)
{
    (void)state;
    static const struct {
        const char *pip, *tags, *holder, *want;
    } rows[] = {
        {"\"azure-pip-name\":\"fixed\"", "", "/networkInterfaces/vm-1-nic/ipConfigurations/x",
         "public IP fixed is in use by network interface vm-1-nic; nothing says which Service or "
         "cluster it belongs to"},
        {"\"azure-pip-name\":\"FIXED\",\"azure-dns-label-name\":\"label\"",
         "\"k8s-azure-service\":\"shop/web\",\"k8s-azure-cluster-name\":\"blue\"",
         "/loadBalancers/blue/frontendIPConfigurations/aweb",
         "public IP FIXED is in use by load balancer blue; it belongs to Service shop/web of "
         "cluster blue"},
        {"\"azure-load-balancer-ipv4\":\"20.9.9.9\"", "\"k8s-azure-service\":\"shop/web\"",
         "/loadBalancers/blue/frontendIPConfigurations/aweb",
         "public IP fixed is in use by load balancer blue; it belongs to Service shop/web"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        const char *holder = arena_printf(r->a, NETWORK "%s", rows[i].holder);
        if (strstr(holder, "/loadBalancers/") != NULL) {
            (void)stage_rig_put(
                r, AZURE_LBS,
                "{\"name\":\"blue\",\"properties\":{\"frontendIPConfigurations\":[{\"id\":"
                "\"" NETWORK
                "/loadBalancers/blue/frontendIPConfigurations/aweb\",\"name\":\"aweb\","
                "\"properties\":{\"publicIPAddress\":{\"id\":\"" NETWORK
                "/publicIPAddresses/fixed\"}}}]}}");
        }
        (void)stage_rig_put(
            r, AZURE_PIPS,
            arena_printf(r->a,
                         "{\"name\":\"fixed\",\"sku\":{\"name\":\"Standard\"},\"tags\":{%s},"
                         "\"properties\":{\"ipAddress\":\"20.9.9.9\",\"ipConfiguration\":{\"id\":"
                         "\"%s\"},\"publicIPAddressVersion\":\"IPv4\"}}",
                         rows[i].tags, holder));
        const char *pip = text_of(r, AZURE_PIPS, "fixed");
        struct rig_service *ours =
            stage_rig_add(r, "ours", arena_printf(r->a, "{%s}", rows[i].pip), NULL);
        for (int step = 0; step < 2; step++) {
            ours->verb = step == 1 ? TT_VERB_DELETE : TT_VERB_ENSURE;
            stage_rig_run(r);
            written(r, "");
            same_text("address", text_of(r, AZURE_PIPS, "fixed"), pip);
            assert_int_equal(ours->code, step == 1 ? TT_OK : TT_IN_USE);
            same_text("said", ours->message, step == 1 ? "" : rows[i].want);
        }
        stage_rig_free(r);
    }
}

/* A link that a person made bears no tag of a Service. */
static void link_of_nobody__refused_and_stays(void **state)
{
    struct stage_rig *r = *state;
    (void)stage_rig_put(r, AZURE_PLSS,
                        "{\"name\":\"by-terraform\",\"properties\":{"
                        "\"loadBalancerFrontendIpConfigurations\":[{\"id\":\"" NETWORK
                        "/loadBalancers/other/frontendIPConfigurations/front\"}]}}");
    const char *link = text_of(r, AZURE_PLSS, "by-terraform");
    struct rig_service *ours = stage_rig_add(
        r, "ours", "{" CREATE "," INTERNAL ",\"azure-pls-name\":\"By-Terraform\"}", NULL);
    stage_rig_run(r);
    assert_int_equal(ours->code, TT_EXISTS);
    same_text("said", ours->message,
              "private link service By-Terraform is there already, on frontend front of load "
              "balancer other; nothing says which Service or cluster it belongs to");
    same_text("link", text_of(r, AZURE_PLSS, "by-terraform"), link);
    ours->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(ours);
    same_text("link", text_of(r, AZURE_PLSS, "by-terraform"), link);
}

/* Only the security group can tell, which is written last: the next Service that names the tag
 * makes nothing, and the one that was refused goes on when it names another one. */
static void tag_that_azure_has_refused__nothing_is_made_for_it_again(void **state)
{
    struct stage_rig *r = *state;
    r->fail = "nsg";
    r->fail_times = 1;
    r->fail_code = ERR_INVALID;
    r->fail_message = "SecurityRuleInvalidAddressPrefix: Security rule k8s-azure-lb_allow_IPv4_1 "
                      "has invalid Address prefix. Value provided: Nonsense";
    struct rig_service *web =
        stage_rig_add(r, "web", "{\"azure-allowed-service-tags\":\"AzureCloud,Nonsense\"}", NULL);
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_INVALID);
    struct rig_service *api =
        stage_rig_add(r, "api", "{\"azure-allowed-service-tags\":\" nonsense \"}", NULL);
    struct rig_service *near =
        stage_rig_add(r, "near", "{\"azure-allowed-service-tags\":\"Nonsense2\"}", NULL);
    stage_rig_run(r);
    assert_int_equal(api->code, ERR_INVALID);
    same_text("why", api->message,
              "annotation service.beta.kubernetes.io/azure-allowed-service-tags: Azure refuses "
              "\"nonsense\": want service tags");
    same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "kubernetes-anear"); /* web's went */
    succeeded(near);
    web->annotations = "{\"azure-allowed-service-tags\":\"AzureCloud\"}";
    web->verb = TT_VERB_ENSURE;
    *(int64_t *)map_get(r->p.refused_tags, "nonsense") = 0; /* the hour is over */
    api->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
}

UNIT_MAIN(stages_tenants)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(internal_with_anothers_pip_name__that_one_stays),
        cmocka_unit_test(pip_in_use_elsewhere__refused_with_its_owner),
        RIG_TEST(link_of_nobody__refused_and_stays),
        RIG_TEST(tag_that_azure_has_refused__nothing_is_made_for_it_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
