/* SPDX-License-Identifier: Apache-2.0 */
/* eval_objects.c: Kubernetes objects of a request, decoded by the controller's own decoder.
 *
 * Requests hold only the members that matter; the decoder insists on a name and a resourceVersion,
 * so these are filled in when they are missing.  Objects live as long as the line's arena. */
#include "tests/eval/eval.h"

#include "controller/kube/store/object.h"

static void unref_object(void *o)
{
    kube_object_unref(o);
}

static int decode(struct arena *a, enum kube_kind kind, struct json_object *o,
                  struct kube_object **ret, struct err *err)
{
    _cleanup_(json_putp) struct json_object *copy =
        o == NULL ? json_object_new_object() : json_copy(o);
    if (!json_object_is_type(copy, json_type_object)) {
        return err_set(err, ERR_INVALID, "want an object");
    }
    struct json_object *meta = json_member(copy, "metadata");
    if (meta == NULL) {
        meta = json_object_new_object();
        json_add(copy, "metadata", meta);
    }
    const char *const must[] = {"name", "namespace", "resourceVersion"};
    bool has_meta = json_object_is_type(meta, json_type_object); /* else the decoder refuses it */
    for (size_t i = 0; has_meta && i < ARRAY_LEN(must); i++) {
        if (json_member(meta, must[i]) == NULL && !(kind == KUBE_NODE && i == 1)) {
            json_add_str(meta, must[i], i == 2 ? "1" : "x");
        }
    }
    int code = kube_object_decode(kind, copy, ret, err);
    if (code == ERR_OK) {
        arena_defer(a, unref_object, *ret);
    }
    return code;
}

int eval_service(struct arena *a, struct json_object *o, const struct tt_service **ret,
                 struct err *err)
{
    struct kube_object *object = NULL;
    int code = decode(a, KUBE_SERVICE, o, &object, err);
    if (code == ERR_OK) {
        *ret = object->service;
    }
    return code;
}

int eval_node(struct arena *a, struct json_object *o, const struct tt_node **ret, struct err *err)
{
    struct kube_object *object = NULL;
    int code = decode(a, KUBE_NODE, o, &object, err);
    if (code == ERR_OK) {
        *ret = object->node;
    }
    return code;
}

int eval_nodes(struct arena *a, struct json_object *array, const struct tt_node *const **ret,
               size_t *ret_n, struct err *err)
{
    size_t n = json_len(array);
    const struct tt_node **nodes = ARENA_ARRAY(a, const struct tt_node *, n);
    for (size_t i = 0; i < n; i++) {
        int code = eval_node(a, json_object_array_get_idx(array, i), &nodes[i], err);
        if (code != ERR_OK) {
            return code;
        }
    }
    *ret = nodes;
    *ret_n = n;
    return ERR_OK;
}

int eval_slices(struct arena *a, struct json_object *array, const struct tt_slice *const **ret,
                size_t *ret_n, struct err *err)
{
    size_t n = json_len(array);
    const struct tt_slice **slices = ARENA_ARRAY(a, const struct tt_slice *, n);
    for (size_t i = 0; i < n; i++) {
        struct kube_object *object = NULL;
        int code = decode(a, KUBE_SLICE, json_object_array_get_idx(array, i), &object, err);
        if (code != ERR_OK) {
            return code;
        }
        slices[i] = object->slice;
    }
    *ret = slices;
    *ret_n = n;
    return ERR_OK;
}

const char **eval_strs(struct arena *a, struct json_object *o, const char *name, size_t *ret_n)
{
    struct json_object *array = json_member(o, name);
    size_t n = json_len(array);
    const char **items = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(array, i));
        items[i] = arena_strdup(a, str_nonnull(text));
    }
    *ret_n = n;
    return items;
}
