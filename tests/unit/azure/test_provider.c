/* SPDX-License-Identifier: Apache-2.0 */
/* test_provider.c: the ways into the Azure provider that change nothing: opening, checking a
 * configuration, looking for a load balancer, explaining (docs/spec/azure.md 1.2, 10.3).  The cloud
 * is a saved state, or a server on loopback. */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/azure_provider.h"
#include "tests/support/http_req.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The findings that the host received. */
struct tt_result {
    struct str_buf findings;
    int32_t code;
    char message[1024];
    int32_t exists;
    struct str_buf ingress;
    struct str_buf text;
};

static struct tt_result *told(struct tt_host_ctx *ctx)
{
    return (struct tt_result *)(void *)ctx;
}

static void report_finding(struct tt_host_ctx *ctx, uint32_t severity, const char *where,
                           const char *message)
{
    str_appendf(&told(ctx)->findings, "%u %s: %s\n", severity, where, message);
}

static void result_fail(struct tt_result *r, int32_t code, const char *message, int64_t after_ms)
{
    (void)after_ms;
    r->code = code;
    (void)snprintf(r->message, sizeof(r->message), "%s", message);
}

static void result_exists(struct tt_result *r, int32_t exists)
{
    r->exists = exists;
}

static void result_ingress(struct tt_result *r, const struct tt_ingress *ingress, uint32_t n)
{
    str_buf_reset(&r->ingress);
    for (uint32_t i = 0; i < n; i++) {
        str_appendf(&r->ingress, "%s%s", i > 0 ? " " : "", ingress[i].ip);
    }
}

static void result_serves(struct tt_result *r)
{
    assert_true(r->ingress.len > 0);
}

static int32_t result_publish(struct tt_result *r)
{
    result_serves(r);
    return TT_OK;
}

static void result_text(struct tt_result *r, const char *text)
{
    str_append(&r->text, text);
}

static int64_t now_ms(struct tt_host_ctx *ctx)
{
    (void)ctx;
    return clock_now_ms(clock_real());
}

static void services(struct tt_host_ctx *ctx, const struct tt_call *call,
                     const struct tt_service *const **ret, uint32_t *ret_n)
{
    (void)ctx;
    (void)call;
    *ret = NULL;
    *ret_n = 0;
}

static int32_t cancelled(const struct tt_call *call)
{
    (void)call;
    return 0;
}

struct world {
    struct arena *a;
    struct tt_result r;
    struct tt_host host;
    struct tt_call call;
    void *provider;
};

static void result_own(struct tt_result *result, uint32_t bits)
{
    (void)result, (void)bits;
}

static int setup(void **state)
{
    static const char *const names[] = {"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET",
                                        "AZURE_FEDERATED_TOKEN_FILE", "AZURE_ENVIRONMENT_FILEPATH"};
    struct world *w = xcalloc(1, sizeof(*w));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)unsetenv(names[i]);
    }
    w->a = arena_new();
    w->host = (struct tt_host){
        .size = sizeof(w->host),
        .ctx = (struct tt_host_ctx *)(void *)&w->r,
        .report_finding = report_finding,
        .result_fail = result_fail,
        .result_exists = result_exists,
        .result_ingress = result_ingress,
        .result_own = result_own,
        .result_serves = result_serves,
        .result_publish = result_publish,
        .result_text = result_text,
        .now_ms = now_ms,
        .services = services,
    };
    w->call = (struct tt_call){.size = sizeof(w->call),
                               .cluster_name = "kubernetes",
                               .deadline_ms = INT64_MAX,
                               .cancelled = cancelled};
    *state = w;
    return 0;
}

static void close_world(struct world *w)
{
    tt_azure_provider.close(w->provider);
    w->provider = NULL;
    str_buf_done(&w->r.findings);
    str_buf_done(&w->r.ingress);
    str_buf_done(&w->r.text);
    w->r = (struct tt_result){0};
}

static int teardown(void **state)
{
    struct world *w = *state;
    close_world(w);
    arena_free(w->a);
    free(w);
    return 0;
}

#define WORLD_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static struct tt_open_args args_of(struct world *w, const char *config, const char *cloud)
{
    return (struct tt_open_args){
        .size = sizeof(struct tt_open_args),
        .host = &w->host,
        .cluster_name = "kubernetes",
        .config_path = "azure.json",
        .config_text = config,
        .config_len = config != NULL ? strlen(config) : 0,
        .state_json = cloud,
        .state_len = cloud != NULL ? strlen(cloud) : 0,
    };
}

/* ---- configuration --------------------------------------------------------------------------- */

#define GOOD                                                                                       \
    "subscriptionId: s\nresourceGroup: rg\nlocation: westus\nsecurityGroupName: nsg\n"             \
    "vnetName: v\nsubnetName: net\nuseManagedIdentityExtension: true\n"

static void check_config__findings(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *text; /* after GOOD, whose lines are 7 */
        const char *want;
    } rows[] = {
        {"", ""},
        {"vmTyp: vmss\n",
         "1 azure.json:8: unknown key \"vmTyp\" is ignored; did you mean \"vmType\"?\n"},
        {"vmType: vms\n",
         "1 azure.json:8: vmType \"vms\" is unknown: it counts as \"standard\" (availability "
         "sets)\n"},
        {"loadBalancerSku: premium\n",
         "1 azure.json:8: loadBalancerSku \"premium\" is unknown: it counts as \"basic\"\n"},
        {"preConfiguredBackendPoolLoadBalancerTypes: All\n",
         "1 azure.json:8: preConfiguredBackendPoolLoadBalancerTypes \"All\" is unknown: it counts "
         "as not set\n"},
        {"cloud: AzureChinCloud\n",
         "1 azure.json:8: cloud \"AzureChinCloud\" is unknown: it counts as the public cloud; did "
         "you mean \"AzureChinaCloud\"?\n"},
        {"cloud: AzureChinCloud\nresourceManagerEndpoint: https://x\n", ""},
        {"resourceManagerEndpoint: http://127.0.0.1:1\n", ""},
        {"resourceManagerEndpoint: http://x\n",
         "1 azure.json:8: resourceManagerEndpoint is http://x: the controller's "
         "credentials and the cloud's answers cross the network unprotected; use https://\n"},
        {"loadBalancerBackendPoolConfigurationType: nodeIP\n"
         "multipleStandardLoadBalancerConfigurations:\n- name: a\n  primaryVMSet: x\n",
         "1 azure.json:9: no configuration is named like the cluster, \"kubernetes\": no Service "
         "will be served\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = arena_printf(w->a, "%s%s", GOOD, rows[i].text);
        const struct tt_open_args args = args_of(w, text, NULL);
        assert_int_equal(tt_azure_provider.check_config(&args, &w->r), TT_OK);
        same_text(rows[i].text, str_buf_text(&w->r.findings), rows[i].want);
        close_world(w);
    }
}

static void check_config__what_is_missing(void **state)
{
    struct world *w = *state;
    const struct tt_open_args args = args_of(w, "{}", NULL);
    assert_int_equal(tt_azure_provider.check_config(&args, &w->r), TT_OK);
    same_text("findings", str_buf_text(&w->r.findings),
              "1 azure.json: subscriptionId is not set: every call will fail\n"
              "1 azure.json: resourceGroup is not set: every call will fail\n"
              "1 azure.json: location is not set: load balancers cannot be made\n"
              "1 azure.json: securityGroupName is not set: no Service will be served\n"
              "1 azure.json: vnetName is not set: internal load balancers cannot be made\n"
              "1 azure.json: subnetName is not set: internal load balancers need the annotation "
              "azure-load-balancer-internal-subnet\n"
              "1 azure.json: no credentials: set useManagedIdentityExtension, "
              "useFederatedWorkloadIdentityExtension, aadClientSecret or aadClientCertPath (as "
              "seen from this machine)\n");
}

static void open__what_it_refuses(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *text;
        int32_t code;
        const char *want;
    } rows[] = {
        {NULL, TT_INVALID,
         "--cloud-config is needed with --cloud-provider=azure: a file in YAML or JSON, usually "
         "/etc/kubernetes/azure.json; or --cloud-config-secret-name with "
         "--enable-dynamic-reloading"},
        {"a: [\n", TT_INVALID, NULL},
        {"\nvmType: []\n", TT_INVALID, "azure.json:2: vmType: want text, got a list"},
        {"[]", TT_INVALID, "azure.json:1: want a mapping of keys to values"},
        {"tenantId: t\n", TT_AUTH,
         "no credentials: set useManagedIdentityExtension, useFederatedWorkloadIdentityExtension, "
         "aadClientSecret or aadClientCertPath"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_open_args args = args_of(w, rows[i].text, NULL);
        assert_int_equal(tt_azure_provider.open(&args, &w->provider, &w->r), rows[i].code);
        assert_int_equal(w->r.code, rows[i].code);
        if (rows[i].want != NULL) {
            same_text(str_nonnull(rows[i].text), w->r.message, rows[i].want);
        }
        assert_null(w->provider);
        close_world(w);
    }
}

static void open__unknown_keys_are_told(void **state)
{
    struct world *w = *state;
    const struct tt_open_args args = args_of(w, GOOD "extra: 1\n", NULL);
    assert_int_equal(tt_azure_provider.open(&args, &w->provider, &w->r), TT_OK);
    same_text("finding", str_buf_text(&w->r.findings),
              "1 azure.json:8: unknown key \"extra\" is ignored\n");
}

/* ---- looking --------------------------------------------------------------------------------- */

#define NET "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/"
#define PIP NET "publicIPAddresses/kubernetes-aweb"
#define PIP_DOC(tags)                                                                              \
    "\"" PIP "\":{\"id\":\"" PIP "\",\"name\":\"kubernetes-aweb\",\"tags\":{" tags                 \
    "},\"properties\":{\"ipAddress\":\"20.1.2.3\",\"publicIPAddressVersion\":\"IPv4\"}}"
#define OURS "\"k8s-azure-service\":\"default/web\",\"k8s-azure-cluster-name\":\"kubernetes\""
#define LB(name, frontend)                                                                         \
    "\"" NET "loadBalancers/" name "\":{\"id\":\"" NET "loadBalancers/" name "\",\"name\":\"" name \
    "\",\"properties\":{\"frontendIPConfigurations\":[" frontend "]}}"
#define PUBLIC   "{\"name\":\"aweb\",\"properties\":{\"publicIPAddress\":{\"id\":\"" PIP "\"}}}"
#define PRIVATE  "{\"name\":\"aweb\",\"properties\":{\"privateIPAddress\":\"10.0.0.9\"}}"
#define INTERNAL "{\"azure-load-balancer-internal\":\"true\"}"

static void get__10_3__what_counts_as_a_load_balancer(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *name;
        const char *annotations;
        const char *cloud;
        int32_t exists;
        const char *ingress;
    } rows[] = {
        {"S-61 nothing", NULL, "", 0, ""},
        {"frontend and public IP", NULL, LB("kubernetes", PUBLIC) "," PIP_DOC(OURS), 1, "20.1.2.3"},
        {"frontend without its public IP", NULL, LB("kubernetes", PUBLIC), 1, ""},
        {"S-60 public IP alone", NULL, PIP_DOC(OURS), 1, ""},
        {"public IP of another cluster's Service", NULL,
         PIP_DOC("\"k8s-azure-service\":\"default/web\",\"k8s-azure-cluster-name\":\"c2\""), 0, ""},
        {"public IP of the user's", "{\"azure-pip-name\":\"kubernetes-aweb\"}", PIP_DOC(""), 0, ""},
        {"public IP without tags", NULL, PIP_DOC(""), 1, ""},
        {"another Service's frontend", NULL,
         LB("kubernetes", "{\"name\":\"aother\",\"properties\":{}}"), 0, ""},
        {"internal", INTERNAL, LB("kubernetes-internal", PRIVATE), 1, "10.0.0.9"},
        {"on the other kind of balancer", NULL, LB("kubernetes-internal", PRIVATE), 1, "10.0.0.9"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *cloud = arena_printf(w->a, "{\"azure\":{%s}}", rows[i].cloud);
        const struct tt_open_args args = args_of(w, GOOD, cloud);
        assert_int_equal(tt_azure_provider.open(&args, &w->provider, &w->r), TT_OK);
        const struct tt_item item = {
            .size = sizeof(item),
            .verb = TT_VERB_ENSURE,
            .service = azure_test_service(w->a, "web", rows[i].annotations, NULL),
            .result = &w->r,
        };
        assert_int_equal(tt_azure_provider.get_load_balancer(w->provider, &w->call, &item), TT_OK);
        if (w->r.exists != rows[i].exists) {
            fail_msg("%s: exists %d, want %d", rows[i].name, w->r.exists, rows[i].exists);
        }
        same_text(rows[i].name, str_buf_text(&w->r.ingress), rows[i].ingress);
        close_world(w);
    }
}

/* ---- with a server --------------------------------------------------------------------------- */

struct cloud_server {
    struct test_server *server;
    int lbs_status; /* of the list of balancers */
    char metadata[512];
};

static void serve(void *arg, struct http_req *req)
{
    const struct cloud_server *c = arg;
    const char *path = http_req_path(req);
    int status = 200;
    const char *body = "{\"value\":[]}";
    if (strstr(path, "/metadata/endpoints") != NULL) {
        body = c->metadata;
    } else if (strstr(path, "/token") != NULL) {
        body = "{\"access_token\":\"t\",\"expires_in\":3600,\"token_type\":\"Bearer\"}";
    } else if (strstr(path, "/loadBalancers") != NULL) {
        status = c->lbs_status;
        body =
            status == 200 ? body : "{\"error\":{\"code\":\"Told\",\"message\":\"by the server\"}}";
    }
    http_req_add_header(req, "Content-Type", "application/json");
    http_req_answer(req, status, body, strlen(body));
}

/* S-40: a resource group that is not there holds no balancer.  S-41: anything else is an error. */
static void get__balancers_cannot_be_listed__404_is_none(void **state)
{
    struct world *w = *state;
    static const struct {
        int status;
        int32_t code;
    } rows[] = {{200, TT_OK}, {404, TT_OK}, {400, TT_TRANSIENT}, {403, TT_FORBIDDEN}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cloud_server c = {.lbs_status = rows[i].status};
        c.server = test_server_start(&(struct test_server_config){.handle = serve, .arg = &c});
        (void)snprintf(
            c.metadata, sizeof(c.metadata),
            "[{\"name\":\"AzureCloud\",\"authentication\":{\"audiences\":[\"https://arm/\"],"
            "\"loginEndpoint\":\"%s\"}}]",
            test_server_url(c.server, ""));
        const char *config = arena_printf(
            w->a,
            "subscriptionId: s\nresourceGroup: rg\nlocation: westus\ntenantId: t\naadClientId: c\n"
            "aadClientSecret: secret\nresourceManagerEndpoint: %s\n",
            test_server_url(c.server, ""));
        const struct tt_open_args args = args_of(w, config, NULL);
        assert_int_equal(tt_azure_provider.open(&args, &w->provider, &w->r), TT_OK);
        const struct tt_item item = {
            .size = sizeof(item),
            .verb = TT_VERB_ENSURE,
            .service = azure_test_service(w->a, "web", NULL, NULL),
            .result = &w->r,
        };
        (void)tt_azure_provider.get_load_balancer(w->provider, &w->call, &item);
        if (w->r.code != rows[i].code || w->r.exists) {
            fail_msg("%d: code %d, exists %d: %s", rows[i].status, (int)w->r.code, w->r.exists,
                     w->r.message);
        }
        close_world(w);
        test_server_stop(c.server);
    }
}

static void open__broken_state__is_refused_or_passed_over(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *cloud;
        int32_t code;
    } rows[] = {
        {"nonsense", TT_INVALID},
        {"[]", TT_OK},
        {"{\"azure\":[]}", TT_OK},
        {"{\"azure\":{\"\":{},\"x\":{},\"/a/b\":{},\"/a/b/c/loadBalancers/d\":7}}", TT_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_open_args args = args_of(w, GOOD, rows[i].cloud);
        assert_int_equal(tt_azure_provider.open(&args, &w->provider, &w->r), rows[i].code);
        close_world(w);
    }
}

/* ---- explaining ------------------------------------------------------------------------------ */

static const struct tt_node *node(struct arena *a, const char *name, const char *label)
{
    static const struct tt_kv master = {"node-role.kubernetes.io/control-plane", ""};
    static const struct tt_kv unmanaged = {"kubernetes.azure.com/managed", "false"};
    struct tt_node *n = ARENA_NEW(a, struct tt_node);
    *n = (struct tt_node){.size = sizeof(*n), .name = name, .flags = TT_NODE_ELIGIBLE};
    n->provider_id = "azure:///subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/"
                     "virtualMachines/n";
    if (label[0] != '\0') {
        n->labels = str_eq(label, "master") ? &master : &unmanaged;
        n->n_labels = 1;
    }
    return n;
}

static void explain__answer_facts_nodes(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *annotations;
        const char *spec;
        const char *cloud;
        const char *want;
    } rows[] = {
        {NULL, NULL, LB("kubernetes", PUBLIC) "," PIP_DOC(OURS),
         "default/web is served by the external load balancer kubernetes.\n"
         "  azure-load-balancer-internal not set          → external\n"
         "  loadBalancerSku              standard         → Standard\n"
         "  ipFamilies                   IPv4\n"
         "  group of public IPs          rg\n"
         "  load balancer                kubernetes       → named like the cluster\n"
         "  is on                        kubernetes\n"
         "\nNodes: 1 of 3 take part\n"
         "  cp         left out   runs the control plane (excludeMasterFromStandardLB)\n"
         "  edge       left out   label kubernetes.azure.com/managed: false\n"},
        {INTERNAL, NULL, LB("kubernetes", PUBLIC),
         "default/web is served by the internal load balancer kubernetes-internal.\n"
         "  azure-load-balancer-internal true             → internal\n"
         "  loadBalancerSku              standard         → Standard\n"
         "  ipFamilies                   IPv4\n"
         "  subnet                       net              → by the cloud config\n"
         "  load balancer                kubernetes-internal → named like the cluster\n"
         "  is on                        none\n"
         "  also on                      kubernetes       → will be taken off it\n"
         "\nNodes: 1 of 3 take part\n"
         "  cp         left out   runs the control plane (excludeMasterFromStandardLB)\n"
         "  edge       left out   label kubernetes.azure.com/managed: false\n"},
    };
    const struct tt_node *nodes[] = {node(w->a, "cp", "master"), node(w->a, "edge", "unmanaged"),
                                     node(w->a, "worker", "")};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *cloud = arena_printf(w->a, "{\"azure\":{%s}}", rows[i].cloud);
        const struct tt_open_args args = args_of(w, GOOD, cloud);
        assert_int_equal(tt_azure_provider.open(&args, &w->provider, &w->r), TT_OK);
        const struct tt_item item = {
            .size = sizeof(item),
            .verb = TT_VERB_ENSURE,
            .service = azure_test_service(w->a, "web", rows[i].annotations, rows[i].spec),
            .result = &w->r,
        };
        const struct tt_item *items[] = {&item};
        const struct tt_batch batch = {.size = sizeof(batch),
                                       .key = "",
                                       .items = items,
                                       .n_items = 1,
                                       .nodes = nodes,
                                       .n_nodes = ARRAY_LEN(nodes)};
        assert_int_equal(tt_azure_provider.explain(w->provider, &w->call, &batch), TT_OK);
        same_text("text", str_buf_text(&w->r.text), rows[i].want);
        close_world(w);
    }
}

#define VM(name)                                                                                   \
    "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/" name
#define POOL(lb)   NET "loadBalancers/" lb "/backendAddressPools/kubernetes"
#define CONFIG(vm) NET "networkInterfaces/" vm "-nic/ipConfigurations/ip"
/* A machine's interface, in the pools given. */
#define NIC(vm, pools)                                                                             \
    "\"" NET "networkInterfaces/" vm "-nic\":{\"id\":\"" NET "networkInterfaces/" vm               \
    "-nic\",\"name\":\"" vm "-nic\",\"properties\":{\"virtualMachine\":{\"id\":\"" VM(             \
        vm) "\"},\"ipConfigurations\":[{\"id\":\"" CONFIG(vm) "\",\"name\":\"ip\",\"properties\":" \
                                                              "{"                                  \
                                                              "\"primary\":true,"                  \
                                                              "\"privateIPAddressVersion\":"       \
                                                              "\"IPv4\","                          \
                                                              "\"loadBalancerBackendAddressPools"  \
                                                              "\":[" pools "]}}]}}"
#define IN(lb) "{\"id\":\"" POOL(lb) "\"}"
/* A balancer whose pool has these members. */
#define FILLED(members)                                                                            \
    "\"" NET "loadBalancers/kubernetes\":{\"id\":\"" NET "loadBalancers/kubernetes\",\"name\":"    \
    "\"kubernetes\",\"properties\":{\"frontendIPConfigurations\":[" PUBLIC                         \
    "],\"backendAddressPools\":[{\"id\":\"" POOL(                                                  \
        "kubernetes") "\",\"name\":\"kubernetes\","                                                \
                      "\"properties\":{"                                                           \
                      "\"backendIPConfigurations\":[" members "]}}]}}"
#define SET(name, members)                                                                         \
    "\"/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/availabilitySets/" name      \
    "\":{\"id\":\"/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/"                 \
    "availabilitySets/" name "\",\"name\":\"" name                                                 \
    "\",\"properties\":{\"virtualMachines\":[" members "]}}"
#define MACHINE(vm) "{\"id\":\"" VM(vm) "\"}"

/* Numbers are those of the pool that the load balancer has, or would have after a sync. */
static void explain__nodes_that_cannot_join__are_left_out(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *config;
        const char *cloud;
        const char *want;
        const char *label; /* of all nodes; NULL: none */
    } rows[] = {
        {"vmType: standard\nloadBalancerSku: standard\n",
         FILLED("{\"id\":\"" CONFIG("n1") "\"}") "," NIC("n1", IN("kubernetes")) "," NIC(
             "n2", IN("other")) "," NIC("n3", ""),
         "\nNodes: 2 of 3 take part\n"
         "  n2         left out   it serves load balancer other\n",
         NULL},
        {"vmType: standard\nloadBalancerSku: standard\n",
         FILLED("") "," NIC("n1", IN("other")) "," NIC("n2", IN("other")) "," NIC("n3",
                                                                                  IN("other")),
         "\nNodes: 0 of 3 take part\n"
         "  n1         left out   it serves load balancer other\n"
         "  n2         left out   it serves load balancer other\n"
         "  n3         left out   it serves load balancer other\n",
         NULL},
        {"vmType: standard\nloadBalancerSku: basic\nprimaryAvailabilitySetName: as1\n",
         FILLED("") "," NIC("n1", "") "," NIC("n2", "") "," NIC("n3", "") "," SET(
             "as1", MACHINE("n1")) "," SET("as2", MACHINE("n2")),
         "\nNodes: 1 of 3 take part\n"
         "  n2         left out   is in VM set as2; load balancer kubernetes is for as1\n"
         "  n3         left out   is not in VM set as1, which load balancer kubernetes is for\n",
         NULL},
        /* a pool is never emptied, so "none" alone would not be true */
        {"vmType: standard\nloadBalancerSku: standard\n",
         FILLED("{\"id\":\"" CONFIG("n1") "\"}") "," NIC("n1", IN("kubernetes")) "," NIC(
             "n2", "") "," NIC("n3", ""),
         "\nNodes: 0 of 3 take part; 1 is a member still, and serves: the last members stay\n"
         "  n1         left out   label kubernetes.azure.com/managed: false\n"
         "  n2         left out   label kubernetes.azure.com/managed: false\n"
         "  n3         left out   label kubernetes.azure.com/managed: false\n",
         "unmanaged"},
    };
    struct tt_node nodes[] = {*node(w->a, "n1", ""), *node(w->a, "n2", ""), *node(w->a, "n3", "")};
    nodes[0].provider_id = "azure://" VM("n1");
    nodes[1].provider_id = "azure://" VM("n2");
    nodes[2].provider_id = "azure://" VM("n3");
    const struct tt_node *all[] = {&nodes[0], &nodes[1], &nodes[2]};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < ARRAY_LEN(nodes); k++) {
            const struct tt_node *like = node(w->a, "", str_nonnull(rows[i].label));
            nodes[k].labels = like->labels;
            nodes[k].n_labels = like->n_labels;
        }
        const char *cloud = arena_printf(w->a, "{\"azure\":{%s,%s}}", rows[i].cloud, PIP_DOC(OURS));
        const struct tt_open_args args =
            args_of(w, arena_printf(w->a, "%s%s", GOOD, rows[i].config), cloud);
        assert_int_equal(tt_azure_provider.open(&args, &w->provider, &w->r), TT_OK);
        const struct tt_item item = {.size = sizeof(item),
                                     .verb = TT_VERB_ENSURE,
                                     .service = azure_test_service(w->a, "web", NULL, NULL),
                                     .result = &w->r};
        const struct tt_item *items[] = {&item};
        const struct tt_batch batch = {.size = sizeof(batch),
                                       .key = "",
                                       .items = items,
                                       .n_items = 1,
                                       .nodes = all,
                                       .n_nodes = ARRAY_LEN(all)};
        assert_int_equal(tt_azure_provider.explain(w->provider, &w->call, &batch), TT_OK);
        const char *told_nodes = strstr(str_buf_text(&w->r.text), "\nNodes: ");
        same_text("nodes", str_nonnull(told_nodes), rows[i].want);
        close_world(w);
    }
}

static void validate__what_a_sync_would_refuse(void **state)
{
    struct world *w = *state;
    const struct tt_open_args args = args_of(w, GOOD, "{}");
    assert_int_equal(tt_azure_provider.open(&args, &w->provider, &w->r), TT_OK);
    struct tt_item item = {.size = sizeof(item), .verb = TT_VERB_ENSURE, .result = &w->r};
    item.service = azure_test_service(w->a, "web", NULL, NULL);
    assert_int_equal(tt_azure_provider.validate(w->provider, &item), TT_OK);
    item.service = azure_test_service(w->a, "web", NULL, "\"loadBalancerIP\":\"garbage\"");
    assert_int_equal(tt_azure_provider.validate(w->provider, &item), TT_INVALID);
    assert_non_null(strstr(w->r.message, "garbage"));
}

static void batch_key__is_one_for_all(void **state)
{
    struct world *w = *state;
    char key[16] = "";
    (void)w;
    assert_int_equal(tt_azure_provider.batch_key(NULL, NULL, key, sizeof(key)), TT_OK);
    same_text("key", key, "azure");
    assert_int_equal(tt_azure_provider.batch_key(NULL, NULL, key, 5), TT_INVALID);
}

UNIT_MAIN(provider)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(check_config__findings),
        WORLD_TEST(check_config__what_is_missing),
        WORLD_TEST(open__what_it_refuses),
        WORLD_TEST(open__unknown_keys_are_told),
        WORLD_TEST(get__10_3__what_counts_as_a_load_balancer),
        WORLD_TEST(get__balancers_cannot_be_listed__404_is_none),
        WORLD_TEST(open__broken_state__is_refused_or_passed_over),
        WORLD_TEST(explain__answer_facts_nodes),
        WORLD_TEST(explain__nodes_that_cannot_join__are_left_out),
        WORLD_TEST(validate__what_a_sync_would_refuse),
        WORLD_TEST(batch_key__is_one_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
