/* SPDX-License-Identifier: Apache-2.0 */
/* test_object.c: Services, Nodes and EndpointSlices decoded from recorded and from broken JSON.
 *
 * Field lists: controller.md §5.1 to 5.4. */
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/unit.h"

/* --- recorded bytes --------------------------------------------------------------------------- */

static struct kube_object *decode_recorded(struct arena *a, enum kube_kind kind, const char *name)
{
    struct kube_object *o = NULL;
    struct err err = ERR_INIT;
    struct json_object *body = json_path(recorded(a, name), "response.body");
    if (kube_object_decode(kind, body, &o, &err) != ERR_OK) {
        fail_msg("%s: %s", name, err.message);
    }
    arena_defer(a, (void (*)(void *))kube_object_unref, o);
    return o;
}

static const char *kv(const struct tt_kv *kvs, uint32_t n, const char *key)
{
    for (uint32_t i = 0; i < n; i++) {
        if (str_eq(kvs[i].key, key)) {
            return kvs[i].value;
        }
    }
    return NULL;
}

static void kube_object_decode__recorded_service_local__every_field(void **state)
{
    struct kube_object *o = decode_recorded(*state, KUBE_SERVICE, "018-");
    const struct tt_service *s = o->service;
    struct json_object *body = json_path(recorded(*state, "018-"), "response.body");
    struct json_object *port = json_object_array_get_idx(json_path(body, "spec.ports"), 0);
    int64_t created;
    assert_int_equal(o->kind, KUBE_SERVICE);
    assert_int_equal(s->size, sizeof *s);
    assert_string_equal(s->ns, "demo");
    assert_string_equal(s->name, json_str(json_member(body, "metadata"), "name"));
    assert_string_equal(o->key, arena_printf(*state, "demo/%s", s->name));
    assert_string_equal(s->uid, json_str(json_member(body, "metadata"), "uid"));
    assert_string_equal(s->resource_version,
                        json_str(json_member(body, "metadata"), "resourceVersion"));
    assert_true(
        time_parse_rfc3339(json_str(json_member(body, "metadata"), "creationTimestamp"), &created));
    assert_true(s->created_us == created);
    assert_true(s->deleted_us == 0);
    assert_string_equal(s->type, "LoadBalancer");
    assert_null(s->lb_class);
    assert_string_equal(s->external_traffic_policy, "Local");
    assert_string_equal(s->internal_traffic_policy, "Cluster");
    assert_int_equal(s->health_check_node_port,
                     json_int(json_member(body, "spec"), "healthCheckNodePort", -1));
    assert_true(s->health_check_node_port > 0);
    assert_int_equal(s->n_ports, json_len(json_path(body, "spec.ports")));
    assert_int_equal(s->ports[0].port, json_int(port, "port", -1));
    assert_int_equal(s->ports[0].node_port, json_int(port, "nodePort", -1));
    assert_string_equal(s->ports[0].protocol, "TCP");
    assert_int_equal(s->n_ip_families, 1);
    assert_string_equal(s->ip_families[0], "IPv4");
    assert_string_equal(s->ip_family_policy, "SingleStack");
    assert_int_equal(s->n_cluster_ips, 1);
    assert_string_equal(s->cluster_ips[0], json_str(json_member(body, "spec"), "clusterIP"));
    assert_int_equal(s->allocate_node_ports, 1);
    assert_int_equal(s->n_ingress, 0);
}

static void kube_object_decode__recorded_services__details(void **state)
{
    const struct tt_service *s = decode_recorded(*state, KUBE_SERVICE, "019-")->service;
    assert_non_null(s->lb_class);
    s = decode_recorded(*state, KUBE_SERVICE, "020-")->service;
    assert_int_equal(s->allocate_node_ports, 0);
    assert_int_equal(s->ports[0].node_port, 0);
    s = decode_recorded(*state, KUBE_SERVICE, "030-")->service; /* accepted with blanks around it */
    assert_int_equal(s->has_source_ranges, 1);
    assert_true(s->n_source_ranges > 0);
    s = decode_recorded(*state, KUBE_SERVICE, "065-")->service;
    assert_true(s->n_ingress > 0);
    assert_string_equal(s->ingress[0].ip_mode, "VIP");
    s = decode_recorded(*state, KUBE_SERVICE, "068-")->service;
    assert_true(s->ingress[0].n_ports > 0);
    assert_non_null(s->ingress[0].ports[0].protocol);
    s = decode_recorded(*state, KUBE_SERVICE, "071-")->service;
    assert_true(s->n_conditions > 0);
    assert_true(s->conditions[0].last_transition_us > 0);
    s = decode_recorded(*state, KUBE_SERVICE, "075-")->service;
    assert_int_equal(s->n_finalizers, 1);
    assert_string_equal(s->finalizers[0], "service.kubernetes.io/load-balancer-cleanup");
    s = decode_recorded(*state, KUBE_SERVICE, "091-")->service;
    assert_true(s->deleted_us > 0);
    s = decode_recorded(*state, KUBE_SERVICE, "153-")->service;
    assert_int_equal(s->n_ip_families, 2);
    assert_int_equal(s->n_cluster_ips, 2);
}

static void kube_object_decode__recorded_node__flags_and_addresses(void **state)
{
    struct kube_object *o = decode_recorded(*state, KUBE_NODE, "100-");
    const struct tt_node *n = o->node;
    assert_string_equal(o->key, "node-0");
    assert_string_equal(n->name, "node-0");
    assert_string_equal(n->provider_id, "gce://p1/us-central1-a/node-0");
    assert_string_equal(kv(n->labels, n->n_labels, "topology.kubernetes.io/zone"), "us-central1-a");
    assert_int_equal(n->n_taints, 1);
    assert_string_equal(n->taints[0].key, "node.kubernetes.io/not-ready");
    assert_string_equal(n->taints[0].value, "");
    assert_int_equal(n->n_addresses, 2);
    assert_string_equal(n->addresses[0].type, "InternalIP");
    assert_string_equal(n->addresses[0].address, "10.1.0.10");
    assert_int_equal(n->n_pod_cidrs, 1);
    assert_string_equal(n->pod_cidrs[0], "10.64.0.0/24");
    assert_int_equal(n->flags, TT_NODE_ELIGIBLE | TT_NODE_READY);
    assert_string_equal(n->kubelet_version, "");
}

static void kube_object_decode__recorded_slice__endpoints(void **state)
{
    struct kube_object *o = decode_recorded(*state, KUBE_SLICE, "104-");
    struct json_object *body = json_path(recorded(*state, "104-"), "response.body");
    assert_int_equal(o->slice->n_endpoints, json_len(json_member(body, "endpoints")));
    assert_int_equal(o->slice->n_ports, json_len(json_member(body, "ports")));
    assert_string_equal(o->slice->address_type, "IPv4");
    assert_true(o->slice->service[0] != '\0');
}

/* The cutter drops only what the decoder does not ask for: the table in object_*.c must
 * not be narrower. */
static void kube_object_decode__with_and_without_dropped_members__equal_blocks(void **state);

static void kube_object_decode__every_recorded_object__decodes(void **state)
{
    size_t n;
    size_t decoded = 0;
    const char **names = recorded_names(*state, &n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *body = json_path(recorded(*state, names[i]), "response.body");
        const char *kind =
            json_object_is_type(body, json_type_object) ? json_str(body, "kind") : NULL;
        struct kube_object *o = NULL;
        struct err err = ERR_INIT;
        if (str_has_prefix(names[i], "025-")) {
            continue; /* a dry run: it has no resourceVersion */
        }
        for (int k = 0; k < KUBE_KIND_MAX; k++) {
            if (str_eq(kind, kube_kind_name(k))) {
                if (kube_object_decode(k, body, &o, &err) != ERR_OK) {
                    fail_msg("%s: %s", names[i], err.message);
                }
                kube_object_unref(o);
                decoded++;
            }
        }
    }
    assert_true(decoded > 40);
}

/* --- absence and nulls ------------------------------------------------------------------------ */

#define META "'metadata':{'namespace':'demo','name':'web','resourceVersion':'7'}"

static void kube_object_decode__bare_service__absent_values(void **state)
{
    const char *const texts[] = {
        "{" META "}",
        "{" META ",'spec':null,'status':null}",
        "{" META ",'spec':{},'status':{}}",
        "{" META ",'spec':{'ports':null,'loadBalancerClass':null,'sessionAffinityConfig':null,"
        "'loadBalancerSourceRanges':null,'selector':null},'status':{'loadBalancer':{'ingress':null}"
        ","
        "'conditions':null}}",
        "{'metadata':{'namespace':'demo','name':'web','resourceVersion':'7','labels':null,"
        "'annotations':null,'finalizers':null,'creationTimestamp':null,'deletionTimestamp':null,"
        "'uid':null}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct kube_object *o = decode_text(KUBE_SERVICE, texts[i]);
        const struct tt_service *s = o->service;
        assert_string_equal(s->type, "");
        assert_null(s->lb_class);
        assert_null(s->ports);
        assert_int_equal(s->n_ports, 0);
        assert_int_equal(s->affinity_timeout_s, -1);
        assert_string_equal(s->lb_ip, "");
        assert_int_equal(s->has_source_ranges, 0);
        assert_int_equal(s->has_annotations, 0);
        assert_int_equal(s->allocate_node_ports, 1);
        assert_string_equal(s->uid, "");
        assert_true(s->created_us == 0);
        assert_null(s->external_name);
        kube_object_unref(o);
    }
    (void)state;
}

static void kube_object_decode__service__ports_and_lists(void **state)
{
    struct kube_object *o = decode_text(
        KUBE_SERVICE,
        "{'metadata':{'namespace':'demo','name':'web','resourceVersion':'7',"
        "'annotations':{},'labels':{'z':'1','a':'2','m':'1'}},"
        "'spec':{'ports':[{'port':80,'targetPort':'http','appProtocol':'h2c'},"
        "{'name':'two','port':65535,'targetPort':8080,'protocol':'UDP','nodePort':30000}],"
        "'sessionAffinityConfig':{'clientIP':{'timeoutSeconds':0}},'loadBalancerSourceRanges':[],"
        "'clusterIP':'10.0.0.1','allocateLoadBalancerNodePorts':false,"
        "'publishNotReadyAddresses':true,'selector':{'app':'x'},'externalName':'e.example'},"
        "'status':{'loadBalancer':{'ingress':[{'hostname':'h.example'},{'ip':'1.2.3.4',"
        "'ipMode':'Proxy','ports':[{'port':80,'protocol':'TCP','error':'Bad'}]}]}}}");
    const struct tt_service *s = o->service;
    assert_string_equal(s->ports[0].name, "");
    assert_string_equal(s->ports[0].protocol, "TCP");
    assert_string_equal(s->ports[0].target_name, "http");
    assert_int_equal(s->ports[0].target_port, 0);
    assert_string_equal(s->ports[0].app_protocol, "h2c");
    assert_null(s->ports[1].target_name);
    assert_null(s->ports[1].app_protocol);
    assert_int_equal(s->ports[1].target_port, 8080);
    assert_int_equal(s->ports[1].node_port, 30000);
    assert_int_equal(s->affinity_timeout_s, 0);
    assert_int_equal(s->has_source_ranges, 1);
    assert_int_equal(s->n_source_ranges, 0);
    assert_int_equal(s->has_annotations, 1);
    assert_string_equal(s->cluster_ips[0], "10.0.0.1");
    assert_int_equal(s->allocate_node_ports, 0);
    assert_int_equal(s->publish_not_ready, 1);
    assert_string_equal(s->labels[0].key, "a");
    assert_string_equal(s->labels[2].key, "z");
    assert_ptr_equal(s->labels[1].value, s->labels[2].value); /* equal texts share their bytes */
    assert_null(s->ingress[0].ip);
    assert_string_equal(s->ingress[0].hostname, "h.example");
    assert_string_equal(s->ingress[1].ip_mode, "Proxy");
    assert_string_equal(s->ingress[1].ports[0].error, "Bad");
    assert_string_equal(s->external_name, "e.example");
    kube_object_unref(o);
    (void)state;
}

static void kube_object_decode__node__flags(void **state)
{
    const struct {
        const char *text;
        uint32_t flags;
    } rows[] = {
        {"{'metadata':{'name':'n','resourceVersion':'1'}}", TT_NODE_ELIGIBLE},
        {"{'metadata':{'name':'n','resourceVersion':'1','deletionTimestamp':'2026-01-02T03:04:05Z'}"
         "}",
         TT_NODE_DELETING},
        {"{'metadata':{'name':'n','resourceVersion':'1','labels':"
         "{'node.kubernetes.io/exclude-from-external-load-balancers':''}}}",
         TT_NODE_EXCLUDED},
        {"{'metadata':{'name':'n','resourceVersion':'1'},'spec':{'taints':["
         "{'key':'ToBeDeletedByClusterAutoscaler','effect':'NoSchedule'}]}}",
         TT_NODE_TAINTED},
        {"{'metadata':{'name':'n','resourceVersion':'1'},'status':{'conditions':["
         "{'type':'MemoryPressure','status':'False'},{'type':'Ready','status':'True',"
         "'lastTransitionTime':'2026-01-02T03:04:05+02:00','message':'dropped'}]}}",
         TT_NODE_ELIGIBLE | TT_NODE_READY},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_object *o = decode_text(KUBE_NODE, rows[i].text);
        assert_int_equal(o->node->flags, rows[i].flags);
        kube_object_unref(o);
    }
    (void)state;
}

static void kube_object_decode__slice__conditions_and_null_port(void **state)
{
    struct kube_object *o = decode_text(
        KUBE_SLICE,
        "{'metadata':{'namespace':'demo','name':'web-abc','resourceVersion':'1',"
        "'labels':{'kubernetes.io/service-name':'web'}},'addressType':'IPv6',"
        "'endpoints':[{'addresses':['::1','::2']},{'addresses':[]},{'addresses':['::3'],"
        "'conditions':{'ready':false,'serving':null,'terminating':true},'nodeName':'n1','zone':'z',"
        "'targetRef':{'kind':'Pod','namespace':'demo','name':'p','uid':'u'}}],"
        "'ports':[{'port':null},{'name':'http','port':80,'protocol':'UDP','appProtocol':'x'}]}");
    const struct tt_slice *s = o->slice;
    assert_string_equal(s->service, "web");
    assert_string_equal(s->name, "web-abc");
    assert_int_equal(s->n_endpoints, 2); /* the one without an address is of no use */
    assert_string_equal(s->endpoints[0].address, "::1");
    assert_int_equal(s->endpoints[0].flags, TT_ENDPOINT_READY | TT_ENDPOINT_SERVING);
    assert_null(s->endpoints[0].node_name);
    assert_int_equal(s->endpoints[1].flags, TT_ENDPOINT_SERVING | TT_ENDPOINT_TERMINATING);
    assert_string_equal(s->endpoints[1].target_name, "p");
    assert_int_equal(s->ports[0].port, -1);
    assert_string_equal(s->ports[0].protocol, "TCP");
    assert_int_equal(s->ports[1].port, 80);
    kube_object_unref(o);
    (void)state;
}

static void kube_object_decode__slice_without_node_name__its_topology(void **state)
{
    struct kube_object *o = decode_text(
        KUBE_SLICE, "{'metadata':{'namespace':'demo','name':'web-abc','resourceVersion':'1'},"
                    "'addressType':'IPv4','endpoints':["
                    "{'addresses':['10.0.0.1'],"
                    "'deprecatedTopology':{'kubernetes.io/hostname':'n1','x':'y'}},"
                    "{'addresses':['10.0.0.2'],'nodeName':'n2',"
                    "'deprecatedTopology':{'kubernetes.io/hostname':'n1'}},"
                    "{'addresses':['10.0.0.3'],'deprecatedTopology':{'x':'y'}}]}");
    assert_string_equal(o->slice->endpoints[0].node_name, "n1");
    assert_string_equal(o->slice->endpoints[1].node_name, "n2");
    assert_null(o->slice->endpoints[2].node_name);
    kube_object_unref(o);
    (void)state;
}

/* --- refusals --------------------------------------------------------------------------------- */

static void kube_object_decode__wrong_types__named_with_their_path(void **state)
{
    const struct {
        enum kube_kind kind;
        const char *text;
        const char *want;
    } rows[] = {
        {KUBE_SERVICE, "{}", "service without a name: metadata.name: is missing"},
        {KUBE_SERVICE, "[]", "service without a name: want an object, got an array"},
        {KUBE_SERVICE, "5", "service without a name: want an object, got 5"},
        {KUBE_SERVICE, "{'metadata':{'name':'web','resourceVersion':'1'}}",
         "service web: metadata.namespace: is missing"},
        {KUBE_SERVICE, "{'metadata':{'namespace':'demo','name':'web'}}",
         "service demo/web: metadata.resourceVersion: is missing"},
        {KUBE_SERVICE, "{'metadata':{'namespace':'demo','name':'a/b','resourceVersion':'1'}}",
         "service demo/a/b: metadata.name: \"a/b\" cannot be part of a path"},
        {KUBE_SERVICE, "{'metadata':{'namespace':'..','name':'web','resourceVersion':'1'}}",
         "service ../web: metadata.namespace: \"..\" cannot be part of a path"},
        {KUBE_SERVICE, "{'metadata':{'namespace':'demo','name':5,'resourceVersion':'1'}}",
         "service demo/without a name: metadata.name: want a string, got 5"},
        {KUBE_SERVICE, "{" META ",'spec':{'ports':[{'port':80},{'port':'x'}]}}",
         "service demo/web: spec.ports[1].port: want a whole number from 1 to 65535, got \"x\""},
        {KUBE_SERVICE, "{" META ",'spec':{'ports':[{'port':65536}]}}",
         "service demo/web: spec.ports[0].port: want a whole number from 1 to 65535, got 65536"},
        {KUBE_SERVICE, "{" META ",'spec':{'ports':[{'port':1.5}]}}",
         "service demo/web: spec.ports[0].port: want a whole number from 1 to 65535, got 1.5"},
        {KUBE_SERVICE, "{" META ",'spec':{'ports':[{'port':80,'targetPort':true}]}}",
         "service demo/web: spec.ports[0].targetPort: want a number or a name, got true"},
        {KUBE_SERVICE, "{" META ",'spec':{'ports':[{'port':80,'targetPort':-1}]}}",
         "service demo/web: spec.ports[0].targetPort: want a whole number from 0 to 65535, got -1"},
        {KUBE_SERVICE, "{" META ",'spec':{'ports':{}}}",
         "service demo/web: spec.ports: want an array of objects, got an object"},
        {KUBE_SERVICE, "{" META ",'spec':{'selector':{'a':1}}}",
         "service demo/web: spec.selector.a: want a string, got 1"},
        {KUBE_SERVICE, "{" META ",'spec':[]}",
         "service demo/web: spec: want an object, got an array"},
        {KUBE_SERVICE, "{" META ",'status':{'conditions':[{'lastTransitionTime':'soon'}]}}",
         "service demo/web: status.conditions[].lastTransitionTime: want a time as in RFC 3339, "
         "got "
         "\"soon\""},
        {KUBE_SERVICE,
         "{'metadata':{'namespace':'demo','name':'web','resourceVersion':'1','labels':[]}}",
         "service demo/web: metadata.labels: want an object with strings, got [ ]"},
        {KUBE_SERVICE,
         "{'metadata':{'namespace':'demo','name':'web','resourceVersion':'1','annotations':{'a':"
         "null}}}",
         "service demo/web: metadata.annotations.a: want a string, got null"},
        {KUBE_SERVICE,
         "{'metadata':{'namespace':'demo','name':'web','resourceVersion':'1',"
         "'deletionTimestamp':'yesterday'}}",
         "service demo/web: metadata.deletionTimestamp: want a time as in RFC 3339, got "
         "\"yesterday\""},
        {KUBE_NODE, "{'metadata':{'name':'n','resourceVersion':'1'},'spec':{'providerID':5}}",
         "node n: spec.providerID: want a string, got 5"},
        {KUBE_NODE, "{'metadata':{'name':'n','resourceVersion':'1'},'spec':{'taints':['x']}}",
         "node n: spec.taints[0]: want an object, got \"x\""},
        {KUBE_SLICE,
         "{'metadata':{'namespace':'demo','name':'s','resourceVersion':'1'},'ports':[{'port':-1}]}",
         "endpointslice demo/s: ports[0].port: want a whole number from 0 to 65535, got -1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *tree = NULL;
        struct kube_object *o = (void *)1;
        struct err err = ERR_INIT;
        const char *text = quoted(*state, rows[i].text);
        assert_int_equal(json_parse_arena(*state, text, strlen(text), NULL, &tree, &err), ERR_OK);
        assert_int_equal(kube_object_decode(rows[i].kind, tree, &o, &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].want);
        assert_ptr_equal(o, (void *)1); /* written on success only */
    }
}

static void kube_object_decode__annotation_of_256_kib__kept(void **state)
{
    char *value = arena_alloc(*state, 262145);
    memset(value, 'v', 262144);
    char *text = arena_printf(*state,
                              "{'metadata':{'namespace':'demo','name':'web','resourceVersion':'7',"
                              "'annotations':{'big':'%s'}}}",
                              value);
    struct kube_object *o = decode_text(KUBE_SERVICE, text);
    assert_int_equal(strlen(o->service->annotations[0].value), 262144);
    assert_true(o->bytes < 262144 + 2048); /* one block of the right size */
    kube_object_unref(o);
}

/* More texts, and more equal ones, than the packing begins with. */
static void kube_object_decode__many_annotations__each_its_own(void **state)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(
        &b, "{'metadata':{'namespace':'demo','name':'web','resourceVersion':'7','annotations':{");
    for (int i = 0; i < 3000; i++) {
        str_appendf(&b, "%s'example.com/%04d':'value %d'", i > 0 ? "," : "", i, i % 700);
    }
    str_append(&b, "}}}");
    struct kube_object *o = decode_text(KUBE_SERVICE, b.data);
    assert_int_equal(o->service->n_annotations, 3000);
    for (int i = 0; i < 3000; i++) {
        const struct tt_kv *kv = &o->service->annotations[i];
        assert_string_equal(kv->key, arena_printf(*state, "example.com/%04d", i));
        assert_string_equal(kv->value, arena_printf(*state, "value %d", i % 700));
        assert_ptr_equal(kv->value, o->service->annotations[i % 700].value);
    }
    kube_object_unref(o);
}

static void kube_object_decode__with_and_without_dropped_members__equal_blocks(void **state)
{
    struct kube_object *full = decode_recorded(*state, KUBE_NODE, "100-");
    struct json_object *body = json_path(recorded(*state, "100-"), "response.body");
    json_object_object_del(json_member(body, "metadata"), "managedFields");
    json_object_object_del(json_member(body, "status"), "daemonEndpoints");
    struct kube_object *lean = NULL;
    assert_int_equal(kube_object_decode(KUBE_NODE, body, &lean, NULL), ERR_OK);
    assert_int_equal(full->bytes, lean->bytes);
    assert_true(full->bytes < 1500);
    kube_object_unref(lean);
}

static void kube_object_unref__references__counted(void **state)
{
    struct kube_object *o =
        decode_text(KUBE_NODE, "{'metadata':{'name':'n','resourceVersion':'1'}}");
    assert_ptr_equal(kube_object_ref(o), o);
    kube_object_unref(o);
    assert_string_equal(o->key, "n");
    kube_object_unref(o);
    kube_object_unref(NULL);
    (void)state;
}

static void kube_kind__tables__complete(void **state)
{
    assert_string_equal(kube_kind_resource(KUBE_SERVICE), "services");
    assert_string_equal(kube_kind_path(KUBE_SERVICE), "/api/v1/services");
    assert_string_equal(kube_kind_name(KUBE_NODE), "Node");
    assert_string_equal(kube_kind_path(KUBE_NODE), "/api/v1/nodes");
    assert_string_equal(kube_kind_path(KUBE_SLICE), "/apis/discovery.k8s.io/v1/endpointslices");
    (void)state;
}

UNIT_MAIN(object)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(kube_object_decode__recorded_service_local__every_field),
        KUBE_TEST(kube_object_decode__recorded_services__details),
        KUBE_TEST(kube_object_decode__recorded_node__flags_and_addresses),
        KUBE_TEST(kube_object_decode__recorded_slice__endpoints),
        KUBE_TEST(kube_object_decode__every_recorded_object__decodes),
        KUBE_TEST(kube_object_decode__bare_service__absent_values),
        KUBE_TEST(kube_object_decode__service__ports_and_lists),
        KUBE_TEST(kube_object_decode__node__flags),
        KUBE_TEST(kube_object_decode__slice__conditions_and_null_port),
        KUBE_TEST(kube_object_decode__slice_without_node_name__its_topology),
        KUBE_TEST(kube_object_decode__wrong_types__named_with_their_path),
        KUBE_TEST(kube_object_decode__annotation_of_256_kib__kept),
        KUBE_TEST(kube_object_decode__many_annotations__each_its_own),
        KUBE_TEST(kube_object_decode__with_and_without_dropped_members__equal_blocks),
        KUBE_TEST(kube_object_unref__references__counted),
        KUBE_TEST(kube_kind__tables__complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
