/* SPDX-License-Identifier: Apache-2.0 */
/* reflector_items.c: items of lists and events of watches into the store.
 *
 * An object that cannot be read is logged and left as it was: one bad object must neither stop the others nor
 * take a healthy one away.  An event that is no JSON ends the watch, because it may hide a version that would
 * otherwise be lost; the list that follows shows the truth.
 * Source: controller.md §4.8 "Stream events".  Runs in the reflector thread. */
#include "controller/kube/reflector_internal.h"

#include <string.h>

#include "common/base/log.h"
#include "controller/kube/client.h"

#define SHOWN_BYTES 160

const char *const reflector_head_members[] = {
    "kind",
    "metadata.resourceVersion",
    "metadata.continue",
    "status",
    "message",
    "reason",
    "details",
    "code",
    NULL,
};
/* An ERROR's object is a Status. */
const char *const reflector_event_members[] = {
    "type",           "object.kind",    "object.metadata.resourceVersion",
    "object.status",  "object.message", "object.reason",
    "object.details", "object.code",    NULL,
};

static const char *resource(const struct reflector *x)
{
    return kube_kind_resource(kube_store_kind(x->store));
}

/* Key of an object that did not decode, if it still says its name; in the arena. */
static const char *key_of(struct arena *a, struct json_object *item)
{
    struct json_object *meta = json_member(item, "metadata");
    const char *ns = json_str(meta, "namespace");
    const char *name = json_str(meta, "name");
    if (name == NULL || ns == NULL) {
        return name;
    }
    return arena_printf(a, "%s/%s", ns, name);
}

/* What the store holds under the name of an object that could not be read; a reference or NULL. */
static struct kube_object *known_as(struct reflector *x, struct json_object *item)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    const char *key = key_of(a, item);
    return key == NULL ? NULL : kube_store_get(x->store, key);
}

/* --- lists --------------------------------------------------------------------------------------- */

static void skip_item(struct reflector *x, const char *what, const char *text, size_t n)
{
    if (++x->skipped > SKIPPED_SAID_MAX) {
        return; /* reflector_job.c says how many it were */
    }
    log_error(what, "Object of a list is left out", LOG_S("resource", resource(x)),
              LOG_I("item", json_cutter_count(x->list_cutter)),
              LOG_S("begins", arena_strndup(x->arena, text, n < SHOWN_BYTES ? n : SHOWN_BYTES)));
}

/* The list's kind comes before its items; a list of something else must not reach the store. */
static bool is_our_list(struct reflector *x)
{
    size_t n;
    const char *head = json_cutter_head(x->list_cutter, &n);
    const char *kind = kube_kind_name(kube_store_kind(x->store));
    const char *want = arena_printf(x->arena, "\"kind\":\"%sList\"", kind);
    if (strstr(head, "\"kind\":") == NULL || strstr(head, want) != NULL) {
        return true;
    }
    (void)err_set(&x->stream_err, ERR_INVALID, "the answer is no %sList: %.*s", kind, SHOWN_BYTES,
                  head);
    return false;
}

static void take_item(struct reflector *x, const char *text, size_t n)
{
    struct json_object *item _cleanup_(json_putp) = NULL;
    struct kube_object *o = NULL;
    struct err err = ERR_INIT;
    if (json_parse(text, n, NULL, &item, &err) != ERR_OK) {
        skip_item(x, err.message, text, n);
        return;
    }
    if (kube_object_decode(kube_store_kind(x->store), item, &o, &err) != ERR_OK) {
        skip_item(x, err.message, text, n);
        o = known_as(x, item); /* what we knew of it stays */
    }
    if (o != NULL) {
        kube_store_replace_put(x->store, o);
    }
}

bool reflector_on_item(void *arg, const char *text, size_t n, bool too_large)
{
    struct reflector *x = arg;
    if (json_cutter_count(x->list_cutter) == 1 && !is_our_list(x)) {
        return false;
    }
    if (++x->listed > LIST_ITEMS_MAX) {
        (void)err_set(&x->stream_err, ERR_INVALID, "the list has more than %u objects",
                      LIST_ITEMS_MAX);
        return false;
    }
    if (too_large) {
        skip_item(x, "it is too large", text, n);
    } else {
        take_item(x, text, n);
    }
    return true;
}

/* --- watches ------------------------------------------------------------------------------------- */

static bool end_with_status(struct reflector *x, struct json_object *object)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    json_print(&b, object, JSON_COMPACT);
    (void)kube_status_error(200, str_buf_text(&b), b.len, "GET", &x->stream_err);
    return false;
}

static bool end_undecodable(struct reflector *x, const char *why)
{
    (void)err_set(&x->stream_err, ERR_INVALID,
                  "unable to decode an event from the watch stream: %s", why);
    return false;
}

/* A watch that never stops naming new objects is no better than a list that does not end. */
static bool is_one_too_many(struct reflector *x, const struct kube_object *o)
{
    if (kube_store_count(x->store) < LIST_ITEMS_MAX) {
        return false;
    }
    struct kube_object *known _cleanup_(kube_object_unrefp) = kube_store_get(x->store, o->key);
    return known == NULL;
}

/* ADDED, MODIFIED, DELETED.  False ends the watch. */
static bool apply(struct reflector *x, bool deleted, struct json_object *object)
{
    struct kube_object *o = NULL;
    struct err err = ERR_INIT;
    if (kube_object_decode(kube_store_kind(x->store), object, &o, &err) != ERR_OK) {
        log_error(err.message, "Object of a watch event is left out",
                  LOG_S("resource", resource(x)), LOG_B("deleted", deleted));
        o = deleted ? known_as(x, object) : NULL;
    }
    if (o == NULL) {
        return true;
    }
    if (deleted) {
        kube_store_delete(x->store, o);
    } else if (is_one_too_many(x, o)) {
        kube_object_unref(o);
        (void)err_set(&x->stream_err, ERR_INVALID, "the watch brings more than %u objects",
                      LIST_ITEMS_MAX);
        return false;
    } else {
        kube_store_put(x->store, o);
    }
    return true;
}

/* True when the event's object is of our kind; others are logged and passed over. */
static bool is_our_kind(struct reflector *x, const char *type, struct json_object *object)
{
    const char *kind = json_str(object, "kind");
    const char *want = kube_kind_name(kube_store_kind(x->store));
    if (kind == NULL || str_eq(kind, want)) {
        return true;
    }
    log_error("unexpected kind of object", "Unable to understand watch event", LOG_S("event", type),
              LOG_S("kind", kind), LOG_S("want", want));
    return false;
}

static bool handle_event(struct reflector *x, const char *type, struct json_object *object)
{
    bool deleted = str_eq(type, "DELETED");
    if (str_eq(type, "ERROR")) {
        return end_with_status(x, object);
    }
    if (!is_our_kind(x, type, object)) {
        return true;
    }
    if (deleted || str_eq(type, "ADDED") || str_eq(type, "MODIFIED")) {
        if (!apply(x, deleted, object)) {
            return false;
        }
    } else if (!str_eq(type, "BOOKMARK")) {
        log_error("unknown type of event", "Unable to understand watch event", LOG_S("event", type),
                  LOG_S("resource", resource(x)));
        return true;
    }
    reflector_watch_event(&x->rules, json_str(json_member(object, "metadata"), "resourceVersion"));
    return true;
}

bool reflector_on_event(void *arg, const char *text, size_t n, bool too_large)
{
    struct reflector *x = arg;
    struct json_object *event _cleanup_(json_putp) = NULL;
    struct err err = ERR_INIT;
    if (too_large) {
        return end_undecodable(x, "it is too large");
    }
    if (json_parse(text, n, NULL, &event, &err) != ERR_OK) {
        return end_undecodable(x, err.message);
    }
    const char *type = json_str(event, "type");
    struct json_object *object = json_member(event, "object");
    if (type == NULL || !json_object_is_type(object, json_type_object)) {
        return end_undecodable(x, "it lacks a type or an object");
    }
    return handle_event(x, type, object);
}
