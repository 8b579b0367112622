/* SPDX-License-Identifier: Apache-2.0 */
/* eval_services_objects.c: objects of requests for the functions services.*, and slices as API
 * JSON; see eval_services_objects.h. */
#include "tests/eval/eval_services_objects.h"

#include <stdlib.h>
#include <string.h>

/* ---- in -------------------------------------------------------------------------------------- */

typedef int decode_fn(struct arena *a, struct json_object *o, const char *where, const void **ret,
                      struct err *err);

static int decode_service(struct arena *a, struct json_object *o, const char *where,
                          const void **ret, struct err *err)
{
    return ks_service_decode(a, o, where, (const struct ks_service **)ret, err);
}

static int decode_pod(struct arena *a, struct json_object *o, const char *where, const void **ret,
                      struct err *err)
{
    return ks_pod_decode(a, o, where, (const struct ks_pod **)ret, err);
}

static int decode_node(struct arena *a, struct json_object *o, const char *where, const void **ret,
                       struct err *err)
{
    return ks_node_decode(a, o, where, (const struct ks_node **)ret, err);
}

static int decode_slice(struct arena *a, struct json_object *o, const char *where, const void **ret,
                        struct err *err)
{
    return ks_slice_decode(a, o, where, (const struct ks_slice **)ret, err);
}

static int decode_list(struct arena *a, struct json_object *in, const char *what, decode_fn *decode,
                       const void ***ret, size_t *ret_n, struct err *err)
{
    struct json_object *array = json_member(in, what);
    if (array != NULL && !json_object_is_type(array, json_type_array)) {
        return err_set(err, ERR_INVALID, "%s: want a list", what);
    }
    size_t n = json_len(array);
    const void **list = ARENA_ARRAY(a, const void *, n);
    for (size_t i = 0; i < n; i++) {
        const char *where = arena_printf(a, "%s[%zu]", what, i);
        int code = decode(a, json_object_array_get_idx(array, i), where, &list[i], err);
        if (code != ERR_OK) {
            return code;
        }
    }
    *ret = list;
    *ret_n = n;
    return ERR_OK;
}

int eval_sl_service(struct arena *a, struct json_object *in, const char *what,
                    const struct ks_service **ret, struct err *err)
{
    return ks_service_decode(a, json_member(in, what), what, ret, err);
}

int eval_sl_services(struct arena *a, struct json_object *in, const char *what,
                     const struct ks_service *const **ret, size_t *ret_n, struct err *err)
{
    return decode_list(a, in, what, decode_service, (const void ***)ret, ret_n, err);
}

int eval_sl_pods(struct arena *a, struct json_object *in, const char *what,
                 const struct ks_pod *const **ret, size_t *ret_n, struct err *err)
{
    return decode_list(a, in, what, decode_pod, (const void ***)ret, ret_n, err);
}

int eval_sl_nodes(struct arena *a, struct json_object *in, const char *what,
                  const struct ks_node *const **ret, size_t *ret_n, struct err *err)
{
    return decode_list(a, in, what, decode_node, (const void ***)ret, ret_n, err);
}

int eval_sl_slices(struct arena *a, struct json_object *in, const char *what,
                   const struct ks_slice *const **ret, size_t *ret_n, struct err *err)
{
    return decode_list(a, in, what, decode_slice, (const void ***)ret, ret_n, err);
}

/* ---- out ------------------------------------------------------------------------------------- */

struct sortable {
    const char *text;
    struct json_object *item; /* a reference of its own */
};

static int by_text(const void *x, const void *y)
{
    return strcmp(((const struct sortable *)x)->text, ((const struct sortable *)y)->text);
}

struct json_object *eval_sl_sorted(struct arena *a, struct json_object *array)
{
    size_t n = json_len(array);
    struct sortable *items = ARENA_ARRAY(a, struct sortable, n);
    for (size_t i = 0; i < n; i++) {
        items[i].item = json_object_get(json_object_array_get_idx(array, i));
        items[i].text = json_text(a, items[i].item, JSON_SORTED);
    }
    qsort(items, n, sizeof(*items), by_text);
    for (size_t i = 0; i < n; i++) {
        json_object_array_put_idx(array, i, items[i].item);
    }
    return array;
}

struct json_object *eval_sl_events(const struct ks_event *events, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        const char *parts[] = {events[i].type, events[i].reason, events[i].message};
        json_object_array_add(list, json_strs(parts, 3));
    }
    return list;
}

struct json_object *eval_sl_map(const struct json_kv *kvs, size_t n)
{
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < n; i++) {
        json_add_str(o, kvs[i].key, kvs[i].value);
    }
    return o;
}

struct json_object *eval_sl_ref(const struct ks_ref *ref)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "kind", *ref->kind == '\0' ? NULL : ref->kind);
    json_add_str(o, "namespace", *ref->ns == '\0' ? NULL : ref->ns);
    json_add_str(o, "name", *ref->name == '\0' ? NULL : ref->name);
    json_add_str(o, "uid", *ref->uid == '\0' ? NULL : ref->uid);
    json_add_str(o, "resourceVersion",
                 *ref->resource_version == '\0' ? NULL : ref->resource_version);
    return o;
}

static void add_condition(struct json_object *o, const char *name, enum ks_tri value)
{
    if (value != KS_NIL) {
        json_add_bool(o, name, value == KS_TRUE);
    }
}

static void add_names(struct json_object *o, const char *member, const char *const *names, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_new_object();
        json_add_str(item, "name", names[i]);
        json_object_array_add(list, item);
    }
    if (n > 0) {
        json_add(o, member, list);
    } else {
        json_object_put(list);
    }
}

struct json_object *eval_sl_endpoint(const struct ks_slice_endpoint *e)
{
    struct json_object *o = json_object_new_object();
    struct json_object *conditions = json_object_new_object();
    json_add(o, "addresses", json_strs(e->addresses, e->n_addresses));
    add_condition(conditions, "ready", e->ready);
    add_condition(conditions, "serving", e->serving);
    add_condition(conditions, "terminating", e->terminating);
    json_add(o, "conditions", conditions);
    json_add_str(o, "hostname", e->hostname);
    if (e->ref != NULL) {
        json_add(o, "targetRef", eval_sl_ref(e->ref));
    }
    json_add_str(o, "nodeName", e->node_name);
    json_add_str(o, "zone", e->zone);
    if (e->has_hints) {
        struct json_object *hints = json_object_new_object();
        add_names(hints, "forZones", e->zone_hints, e->n_zone_hints);
        add_names(hints, "forNodes", e->node_hints, e->n_node_hints);
        json_add(o, "hints", hints);
    }
    return o;
}

struct json_object *eval_sl_slice_ports(const struct ks_slice_port *ports, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "name", ports[i].name);
        json_add_str(o, "protocol", ports[i].protocol);
        if (ports[i].has_port) {
            json_add_int(o, "port", ports[i].port);
        }
        json_add_str(o, "appProtocol", ports[i].app_protocol);
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *owners_of(const struct ks_meta *m)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < m->n_owners; i++) {
        const struct ks_owner *w = &m->owners[i];
        struct json_object *o = json_object_new_object();
        json_add_str(o, "apiVersion", w->api_version);
        json_add_str(o, "kind", w->kind);
        json_add_str(o, "name", w->name);
        json_add_str(o, "uid", w->uid);
        if (w->controller) {
            json_add_bool(o, "controller", true);
        }
        if (w->block_owner_deletion) {
            json_add_bool(o, "blockOwnerDeletion", true);
        }
        json_object_array_add(list, o);
    }
    return list;
}

struct json_object *eval_sl_slice(struct arena *a, const struct ks_slice *s)
{
    struct json_object *o = json_object_new_object();
    const struct ks_meta *m = &s->meta;
    bool named = *m->name != '\0';
    json_add_str(o, named ? "name" : "generateName", named ? m->name : m->generate_name);
    json_add(o, "labels", eval_sl_map(m->labels, m->n_labels));
    if (m->n_annotations > 0) {
        json_add(o, "annotations", eval_sl_map(m->annotations, m->n_annotations));
    }
    json_add(o, "ownerReferences", owners_of(m));
    json_add_str(o, "addressType", s->address_type);
    json_add(o, "ports", eval_sl_sorted(a, eval_sl_slice_ports(s->ports, s->n_ports)));
    struct json_object *endpoints = json_object_new_array();
    for (size_t i = 0; i < s->n_endpoints; i++) {
        json_object_array_add(endpoints, eval_sl_endpoint(&s->endpoints[i]));
    }
    json_add(o, "endpoints", eval_sl_sorted(a, endpoints));
    return o;
}
