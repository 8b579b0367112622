/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_service.c: Services and Nodes as an API server may send them, through decoder and rules.
 *
 * The input is one object in JSON.  What holds: an object that decodes needs no update against
 * itself; what its source ranges give reads back as the same networks; our refusals are a subset of
 * what we differ in from upstream; every patch body is JSON. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/ip.h"
#include "common/data/json.h"
#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"
#include "common/lb/status_rules.h"
#include "controller/kube/store/object.h"

static void check_body(const char *body)
{
    struct json_object *tree = NULL;
    if (body != NULL) {
        FUZZ_CHECK(json_parse(body, strlen(body), NULL, &tree, NULL) == ERR_OK);
        json_object_put(tree);
    }
}

static void check_ranges(struct arena *a, const struct tt_service *s)
{
    struct str_set ours;
    struct err err = ERR_INIT;
    if (svc_source_ranges(a, s, &ours, &err) != ERR_OK) {
        FUZZ_CHECK(err.message[0] != '\0');
        return;
    }
    const char *text;
    STR_SET_EACH (text, &ours) {
        struct ip_net net;
        char again[IP_TEXT_MAX];
        FUZZ_CHECK(ip_net_parse(text, &net));
        ip_net_format(&net, again);
        FUZZ_CHECK(strcmp(text, again) == 0);
    }
}

static void check_service(struct arena *a, const struct tt_service *s)
{
    const char *what = "";
    const struct svc_scope scope = {0};
    FUZZ_CHECK(!svc_needs_update_in(&scope, s, s, &what) && what == NULL);
    FUZZ_CHECK(strlen(svc_default_lb_name(a, s->uid)) <= 32);
    int32_t port;
    FUZZ_CHECK((svc_health_check(s, &port) != NULL) == (port != 0));
    FUZZ_CHECK(!svc_needs_health_check(s) || svc_only_local_traffic(s));
    check_ranges(a, s);
    struct tt_ingress *in = status_normalise(a, s->ingress, s->n_ingress);
    FUZZ_CHECK(status_patch(a, in, s->n_ingress, in, s->n_ingress) == NULL);
    check_body(status_patch(a, NULL, 0, in, s->n_ingress));
    check_body(status_patch(a, in, s->n_ingress, NULL, 0));
    const char *add[] = {LB_CLEANUP_FINALIZER, "x"};
    check_body(finalizer_patch_add(a, s->finalizers, s->n_finalizers, add, 2));
    check_body(finalizer_patch_remove(a, s->finalizers, s->n_finalizers, add, 2));
    const char **absent = ARENA_ARRAY(a, const char *, s->n_annotations);
    check_body(annotations_patch(a, s->annotations, absent, s->n_annotations, false));
    for (uint32_t i = 0; i < s->n_conditions; i++) {
        check_body(condition_patch(a, &s->conditions[i]));
    }
}

static void check_node(struct arena *a, const struct tt_node *n)
{
    bool eligible = (n->flags & TT_NODE_ELIGIBLE) != 0;
    FUZZ_CHECK(node_flags(n) == n->flags);
    FUZZ_CHECK((node_left_out_because(a, n) == NULL) == eligible);
    FUZZ_CHECK(!node_should_sync(n, n));
    FUZZ_CHECK((nodes_fingerprint(&n, 1) != 0) == eligible);
}

FUZZ_TARGET(service, const uint8_t *data, size_t size)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct json_object *tree = NULL;
    struct err err = ERR_INIT;
    if (json_parse_arena(a, (const char *)data, size, NULL, &tree, &err) != ERR_OK) {
        return 0;
    }
    struct kube_object *object = NULL;
    if (kube_object_decode(KUBE_SERVICE, tree, &object, &err) == ERR_OK) {
        check_service(a, object->service);
        kube_object_unref(object);
    }
    if (kube_object_decode(KUBE_NODE, tree, &object, &err) == ERR_OK) {
        check_node(a, object->node);
        kube_object_unref(object);
    }
    return 0;
}
