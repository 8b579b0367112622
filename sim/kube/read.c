/* SPDX-License-Identifier: Apache-2.0 */
/* read.c: GET of one object, DELETE of one or many.
 *
 * Services, namespaces and pods answer a DELETE with the object, others with a
 * Status (recorded 091–098). */
#include "sim/kube/list.h"
#include "sim/kube/options.h"
#include "sim/kube/write.h"

/* A version that the server has not reached cannot be waited for here. */
static struct json_object *check_version(struct kube_request *r)
{
    const char *text = str_nonnull(sim_call_param(r->call, "resourceVersion"));
    uint64_t rv = 0;
    if (*text && !str_to_u64(text, &rv)) {
        const char *shown = kube_quoted(r->arena, text);
        return kube_status(500, NULL,
                           arena_printf(r->arena,
                                        "resourceVersion: Invalid value: %s: strconv.ParseUint: "
                                        "parsing %s: invalid syntax",
                                        shown, shown),
                           NULL);
    }
    return rv > (uint64_t)kube_db_rv(r->st->store) ? kube_status_too_large(r, (int64_t)rv) : NULL;
}

void kube_handle_get(struct kube_request *r)
{
    struct json_object *refusal = check_version(r);
    struct kube_obj *o =
        refusal ? NULL : kube_db_get(r->st->store, r->kind->store, r->namespace, r->name);
    if (o) {
        kube_answer_obj(r, 200, o);
    } else {
        kube_answer_status(r, refusal ? refusal : kube_status_not_found(r->kind, r->name));
    }
}

/* --- DELETE ----------------------------------------------------------------------------------- */
/* The finalizer by which a deletion waits for the garbage collector, or NULL. */
static const char *finalizer_of(struct json_object *options)
{
    const char *policy = json_str(options, "propagationPolicy");
    if (str_eq(policy, "Foreground")) {
        return "foregroundDeletion";
    }
    bool orphan = str_eq(policy, "Orphan") || json_bool(options, "orphanDependents", false);
    return orphan ? "orphan" : NULL;
}

/* Grace period of the deletion in seconds, -1 if not given. */
static int64_t grace_of(struct json_object *options)
{
    int64_t seconds = json_int(options, "gracePeriodSeconds", -1);
    bool negative = json_member(options, "gracePeriodSeconds") && seconds < 0;
    return negative ? 1 : seconds;
}

static bool is_kept(struct kube_request *r)
{
    static const char *const kept[] = {"default", "kube-system", "kube-public"};
    for (size_t i = 0; str_eq(r->kind->plural, "namespaces") && i < ARRAY_LEN(kept); i++) {
        if (str_eq(r->name, kept[i])) {
            return true;
        }
    }
    return false;
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
    struct json_object *refusal = kube_read_delete_options(r, &options);
    kube_change_init(&c, r);
    if (!refusal && is_kept(r)) {
        refusal = kube_status_admission(r->kind, r->name, "this namespace may not be deleted");
    }
    if (!refusal) {
        c.dry_run = c.dry_run || json_len(json_member(options, "dryRun")) > 0;
        c.waits_for = finalizer_of(options);
        c.grace_s = grace_of(options);
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

static void append_deleted(struct kube_request *r, struct json_object *options, struct kube_obj *o,
                           struct str_buf *b)
{
    struct json_object *last = NULL;
    struct kube_change c = {
        .st = r->st,
        .arena = r->arena,
        .kind = r->kind,
        .namespace = kube_obj_ns(o, r->arena),
        .name = kube_obj_name(o),
        .was = kube_obj_tree(o),
        .waits_for = finalizer_of(options),
        .grace_s = grace_of(options),
        .dry_run = json_len(json_member(options, "dryRun")) > 0 ||
                   !str_is_empty(sim_call_param(r->call, "dryRun")),
    };
    json_object_put(kube_delete_one(&c, &last));
    kube_append_item(b, r->kind, o);
    json_object_put(last);
    kube_change_done(&c);
}

void kube_handle_delete_collection(struct kube_request *r)
{
    struct kube_list_options o = {0};
    struct json_object *options = NULL;
    struct json_object *refusal = kube_read_delete_options(r, &options);
    struct kube_obj **objs = NULL;
    size_t n = 0;
    if (!refusal) {
        refusal = kube_list_options(r, &o);
    }
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
        if (kube_selector_takes(o.selector, objs[i])) {
            str_append(&b, first ? "" : ",");
            append_deleted(r, options, objs[i], &b);
            first = false;
        }
    }
    str_append(&b, "]}\n");
    kube_objs_free(objs, n);
    kube_answer_json(r, 200, str_buf_text(&b), b.len);
}
