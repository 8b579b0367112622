/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kube_object.c: the decoders of Services, Nodes and EndpointSlices.
 *
 * The first byte chooses the kind, the rest is one object's JSON.  What holds for every input: a
 * refusal names the kind; what was decoded has its key, counts match lists, and texts lie inside
 * the one block, or are words that all objects share; from a view comes what comes from a tree. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "controller/kube/model/words.h"
#include "controller/kube/store/object.h"

static void check_inside(const struct kube_object *o, const char *text)
{
    if (text != NULL) {
        const char *begin = (const char *)o;
        bool inside = text > begin && text < begin + o->bytes;
        FUZZ_CHECK(inside ? text + strlen(text) < begin + o->bytes : text == kube_word(text));
    }
}

static void check_service(const struct kube_object *o)
{
    const struct tt_service *s = o->service;
    check_inside(o, s->ns);
    check_inside(o, s->name);
    check_inside(o, s->type);
    check_inside(o, s->lb_class);
    for (uint32_t i = 0; i < s->n_ports; i++) {
        FUZZ_CHECK(s->ports[i].node_port >= 0 && s->ports[i].node_port <= 65535);
        check_inside(o, s->ports[i].name);
        check_inside(o, s->ports[i].target_name);
    }
    for (uint32_t i = 1; i < s->n_annotations; i++) {
        FUZZ_CHECK(strcmp(s->annotations[i - 1].key, s->annotations[i].key) < 0);
    }
    for (uint32_t i = 0; i < s->n_ingress; i++) {
        check_inside(o, s->ingress[i].ip);
        check_inside(o, s->ingress[i].hostname);
    }
}

static void check_node(const struct kube_object *o)
{
    const struct tt_node *n = o->node;
    check_inside(o, n->provider_id);
    for (uint32_t i = 0; i < n->n_addresses; i++) {
        check_inside(o, n->addresses[i].address);
    }
    bool eligible = (n->flags & TT_NODE_ELIGIBLE) != 0;
    FUZZ_CHECK(eligible ==
               ((n->flags & (TT_NODE_DELETING | TT_NODE_EXCLUDED | TT_NODE_TAINTED)) == 0));
}

static void check_slice(const struct kube_object *o)
{
    const struct tt_slice *s = o->slice;
    check_inside(o, s->service);
    for (uint32_t i = 0; i < s->n_endpoints; i++) {
        FUZZ_CHECK(s->endpoints[i].address != NULL);
        check_inside(o, s->endpoints[i].address);
    }
}

/* `rc`, `err` and `o`: what came of the same text as a tree. */
static void check_view(const char *text, size_t n, enum kube_kind kind, int rc,
                       const struct err *err, const struct kube_object *o)
{
    struct arena *a = arena_new();
    const struct json_view *view = NULL;
    struct kube_object *other = NULL;
    struct err view_err = ERR_INIT;
    FUZZ_CHECK(json_view_parse(a, text, n, NULL, &view, NULL) == ERR_OK);
    FUZZ_CHECK(kube_object_decode_view(kind, a, view, &other, &view_err) == rc);
    FUZZ_CHECK(strcmp(view_err.message, err->message) == 0);
    FUZZ_CHECK(rc != ERR_OK || (other->bytes == o->bytes && strcmp(other->key, o->key) == 0));
    kube_object_unref(other);
    arena_free(a);
}

FUZZ_TARGET(kube_object, const uint8_t *data, size_t size)
{
    static const char *const words[] = {"service ", "node ", "endpointslice "};
    struct json_object *tree = NULL;
    struct kube_object *o = NULL;
    struct err err = ERR_INIT;
    if (size < 1 || size > 1 << 16 ||
        json_parse((const char *)data + 1, size - 1, NULL, &tree, NULL) != ERR_OK) {
        return 0;
    }
    enum kube_kind kind = data[0] % KUBE_KIND_MAX;
    int rc = kube_object_decode(kind, tree, &o, &err);
    json_object_put(tree);
    check_view((const char *)data + 1, size - 1, kind, rc, &err, o);
    if (rc != ERR_OK) {
        FUZZ_CHECK(rc == ERR_INVALID &&
                   strncmp(err.message, words[kind], strlen(words[kind])) == 0);
        return 0;
    }
    check_inside(o, o->key);
    if (kind == KUBE_SERVICE) {
        check_service(o);
    } else if (kind == KUBE_NODE) {
        check_node(o);
    } else {
        check_slice(o);
    }
    kube_object_unref(o);
    return 0;
}
