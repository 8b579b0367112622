/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c: test objects by way of the real decoder.
 *
 * Not for code outside tests: it ends the process on bad input. */
#include "tests/support/objects.h"

#include "controller/kube/store/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void unref(void *object)
{
    kube_object_unref(object);
}

static const struct kube_object *decode(struct arena *a, enum kube_kind kind,
                                        struct json_object *tree)
{
    struct json_object *copy = json_copy(tree);
    struct json_object *meta = json_member(copy, "metadata");
    if (meta == NULL) {
        meta = json_object_new_object();
        json_add(copy, "metadata", meta);
    }
    if (json_member(meta, "name") == NULL) {
        json_add_str(meta, "name", "test");
    }
    if (json_member(meta, "resourceVersion") == NULL) {
        json_add_str(meta, "resourceVersion", "1");
    }
    struct kube_object *object = NULL;
    struct err err = ERR_INIT;
    if (kube_object_decode(kind, copy, &object, &err) != ERR_OK) {
        fprintf(stderr, "test object: %s\n%s\n", err.message, json_text(a, copy, JSON_PRETTY));
        abort();
    }
    json_object_put(copy);
    arena_defer(a, unref, object);
    return object;
}

static struct json_object *parse(struct arena *a, const char *json)
{
    struct json_object *tree = NULL;
    struct err err = ERR_INIT;
    if (json_parse_arena(a, json, strlen(json), NULL, &tree, &err) != ERR_OK) {
        fprintf(stderr, "test object: %s\n%s\n", err.message, json);
        abort();
    }
    return tree;
}

const struct tt_service *test_service(struct arena *a, struct json_object *tree)
{
    return decode(a, KUBE_SERVICE, tree)->service;
}

const struct tt_node *test_node(struct arena *a, struct json_object *tree)
{
    return decode(a, KUBE_NODE, tree)->node;
}

const struct tt_node **test_nodes(struct arena *a, struct json_object *array, size_t *ret_n)
{
    size_t n = json_len(array);
    const struct tt_node **nodes = ARENA_ARRAY(a, const struct tt_node *, n);
    for (size_t i = 0; i < n; i++) {
        nodes[i] = test_node(a, json_object_array_get_idx(array, i));
    }
    *ret_n = n;
    return nodes;
}

const struct tt_slice **test_slices(struct arena *a, struct json_object *array, size_t *ret_n)
{
    size_t n = json_len(array);
    const struct tt_slice **slices = ARENA_ARRAY(a, const struct tt_slice *, n);
    for (size_t i = 0; i < n; i++) {
        slices[i] = decode(a, KUBE_SLICE, json_object_array_get_idx(array, i))->slice;
    }
    *ret_n = n;
    return slices;
}

const struct tt_service *test_service_text(struct arena *a, const char *json)
{
    return test_service(a, parse(a, json));
}

const struct tt_node *test_node_text(struct arena *a, const char *json)
{
    return test_node(a, parse(a, json));
}
