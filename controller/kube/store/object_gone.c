/* SPDX-License-Identifier: Apache-2.0 */
/* object_gone.c: a Service that the cluster no longer has, as a provider remembers it; see
 * object.h. */
#include "common/base/str.h"
#include "common/data/json.h"
#include "controller/kube/store/object.h"

static void add_texts(struct json_object *meta, const char *name, const char *const *items,
                      uint32_t n)
{
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < n; i++) {
        json_push_str(list, items[i]);
    }
    json_add(meta, name, list);
}

struct kube_object *kube_object_gone(const struct tt_service *svc)
{
    _cleanup_(json_putp) struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    struct json_object *spec = json_object_new_object();
    struct json_object *annotations = json_object_new_object();
    struct kube_object *object = NULL;
    json_add(o, "metadata", meta);
    json_add_str(meta, "namespace", svc->ns);
    json_add_str(meta, "name", svc->name);
    json_add_str(meta, "uid", str_nonnull(svc->uid));
    json_add_str(meta, "resourceVersion", "0");
    add_texts(meta, "finalizers", svc->finalizers, svc->n_finalizers);
    for (uint32_t i = 0; i < svc->n_annotations; i++) {
        json_add_str(annotations, svc->annotations[i].key, svc->annotations[i].value);
    }
    json_add(meta, "annotations", annotations);
    json_add(o, "spec", spec);
    json_add_str(spec, "type", str_nonnull(svc->type));
    if (!str_is_empty(svc->lb_class)) {
        json_add_str(spec, "loadBalancerClass", svc->lb_class);
    }
    return kube_object_decode(KUBE_SERVICE, o, &object, NULL) == ERR_OK ? object : NULL;
}
