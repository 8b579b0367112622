/* SPDX-License-Identifier: Apache-2.0 */
/* read.c: GET of one object, DELETE of one or many.
 *
 * Services, namespaces and pods answer a DELETE with the object, others with a Status (recorded 091–098). */
#include "common/base/clock.h"
#include "sim/kube/decode.h"
#include "sim/kube/list.h"
#include "sim/kube/write.h"

void kube_handle_get(struct kube_request *r)
{
    struct kube_obj *o = kube_db_get(r->st->store, r->kind->store, r->namespace, r->name);
    if (!o) {
        kube_answer_status(r, kube_status_not_found(r->kind, r->name));
    } else {
        kube_answer_obj(r, 200, o);
    }
}

/* --- DELETE --------------------------------------------------------------------------------------- */
static struct json_object *read_options(struct kube_request *r, struct json_object **ret)
{
    *ret = NULL;
    if (r->call->body_len == 0) {
        return NULL;
    }
    struct json_object *refusal = kube_read_body(r, &kube_type_delete_options, ret);
    if (refusal) {
        return refusal;
    }
    struct kube_decode d = {.arena = r->arena};
    struct json_object *checked = kube_decode(&d, &kube_type_delete_options, *ret);
    json_object_put(checked);
    if (!checked) {
        return kube_status_bad_request("DeleteOptions in version \"v1\" cannot be handled as a "
                                       "DeleteOptions: %s",
                                       d.error);
    }
    return NULL;
}

static struct json_object *check_preconditions(struct kube_change *c, struct json_object *options)
{
    struct json_object *wanted = json_member(options, "preconditions");
    struct json_object *meta = json_member(c->was, "metadata");
    const char *uid = json_str(wanted, "uid");
    const char *rv = json_str(wanted, "resourceVersion");
    if (!c->was) {
        return NULL;
    }
    if (uid && !str_eq(uid, json_str(meta, "uid"))) {
        return kube_status_precondition(c->kind, c->name,
                                        arena_printf(c->arena,
                                                     "the UID in the precondition (%s) does not "
                                                     "match the UID in record (%s). The object "
                                                     "might have been deleted and then recreated",
                                                     uid, str_nonnull(json_str(meta, "uid"))));
    }
    if (rv && !str_eq(rv, json_str(meta, "resourceVersion"))) {
        return kube_status_precondition(
            c->kind, c->name,
            arena_printf(c->arena,
                         "the ResourceVersion in the precondition (%s) does not match the "
                         "ResourceVersion in "
                         "record (%s). The object might have been modified",
                         rv, str_nonnull(json_str(meta, "resourceVersion"))));
    }
    return NULL;
}

static bool answers_object(struct kube_request *r, struct json_object *last)
{
    return str_eq(r->kind->plural, "services") || str_eq(r->kind->plural, "namespaces") ||
           str_eq(r->kind->plural, "pods") ||
           !str_is_empty(json_str(json_member(last, "metadata"), "deletionTimestamp"));
}

void kube_handle_delete(struct kube_request *r)
{
    struct kube_change c;
    struct json_object *options = NULL;
    struct json_object *last = NULL;
    struct json_object *refusal = read_options(r, &options);
    kube_change_init(&c, r);
    if (!refusal) {
        c.dry_run = c.dry_run || json_len(json_member(options, "dryRun")) > 0;
        refusal = check_preconditions(&c, options);
    }
    if (!refusal) {
        refusal = kube_delete_one(&c, &last);
    }
    if (refusal) {
        kube_answer_status(r, refusal);
    } else if (answers_object(r, last)) {
        kube_answer_tree(r, 200, last);
    } else {
        const char *uid = json_str(json_member(last, "metadata"), "uid");
        kube_answer_status(r, kube_status_deleted(r->kind, r->name, uid));
    }
    json_object_put(last);
    kube_change_done(&c);
}

void kube_handle_delete_collection(struct kube_request *r)
{
    struct kube_list_options o = {0};
    struct json_object *refusal = kube_list_options(r, &o);
    struct kube_obj **objs = NULL;
    size_t n = 0;
    if (refusal) {
        kube_answer_status(r, refusal);
        return;
    }
    (void)kube_db_list(r->st->store, r->kind->store, r->namespace, 0, &objs, &n);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(
        &b,
        "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%lld\"},"
        "\"items\":[",
        r->kind->kind, kube_api_version(r->kind, r->arena), (long long)kube_db_rv(r->st->store));
    bool first = true;
    for (size_t i = 0; i < n; i++) {
        if (!kube_selector_takes(o.selector, objs[i])) {
            continue;
        }
        struct json_object *last = NULL;
        struct kube_change c = {.st = r->st,
                                .arena = r->arena,
                                .kind = r->kind,
                                .namespace = kube_obj_ns(objs[i], r->arena),
                                .name = kube_obj_name(objs[i]),
                                .was = kube_obj_tree(objs[i]),
                                .dry_run = !str_is_empty(sim_call_param(r->call, "dryRun"))};
        json_object_put(kube_delete_one(&c, &last));
        str_append(&b, first ? "" : ",");
        kube_append_item(&b, r->kind, objs[i]);
        first = false;
        json_object_put(last);
        kube_change_done(&c);
    }
    str_append(&b, "]}\n");
    kube_objs_free(objs, n);
    kube_answer_json(r, 200, str_buf_text(&b), b.len);
}
