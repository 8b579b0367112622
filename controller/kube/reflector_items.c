/* SPDX-License-Identifier: Apache-2.0 */
/* reflector_items.c: items of lists and events of watches into the store.
 *
 * An object that cannot be read is logged and left as it was: one bad object must neither stop the others nor
 * take a healthy one away.  An event that is no JSON ends the watch, because it may hide a version that would
 * otherwise be lost; the list that follows shows the truth.  A streaming list is a watch whose objects go into a
 * staged replace until its end mark; what does not look like our kind ends it, because publishing the rest would
 * delete what we know.
 * Source: controller.md §4.8 "Stream events".  Runs in the reflector thread. */
#include "controller/kube/reflector_internal.h"

#include <string.h>

#include "common/base/log.h"
#include "controller/kube/client.h"

#define SHOWN_BYTES 160
#define END_MARK    "k8s.io/initial-events-end"

/* One event of a watch; borrowed. */
enum event_type {
    EVENT_UNKNOWN = 0,
    EVENT_PUT, /* ADDED, MODIFIED */
    EVENT_DELETED,
    EVENT_BOOKMARK,
    EVENT_ERROR,
};
struct event {
    enum event_type type;
    const char *name;               /* of the type, as sent */
    const struct json_view *object; /* as sent, without members that nobody asks for */
    const char *rv;                 /* of the object, or NULL */
    const struct cutter_item *item; /* the whole event */
};

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
    "type",
    "object.kind",
    "object.metadata.resourceVersion",
    "object.metadata.annotations", /* the end mark of a streaming list */
    "object.status",
    "object.message",
    "object.reason",
    "object.details",
    "object.code",
    NULL,
};

static const char *resource(const struct reflector *x)
{
    return kube_kind_resource(kube_store_kind(x->store));
}

/* Key of an object that did not decode, if it still says its name; in the arena. */
static const char *key_of(struct arena *a, const struct json_view *item)
{
    const struct json_view *meta = json_view_member(item, "metadata");
    const char *ns = json_view_str(meta, "namespace");
    const char *name = json_view_str(meta, "name");
    if (name == NULL || ns == NULL) {
        return name;
    }
    return arena_printf(a, "%s/%s", ns, name);
}

/* What the store holds under the name of an object that could not be read; a reference or NULL. */
static struct kube_object *known_as(struct reflector *x, const struct json_view *item)
{
    const char *key = key_of(x->item_arena, item);
    return key == NULL ? NULL : kube_store_get(x->store, key);
}

/* --- lists --------------------------------------------------------------------------------------- */

static void skip_item(struct reflector *x, const char *what, const char *text, size_t n)
{
    if (++x->skipped > SKIPPED_SAID_MAX) {
        return; /* reflector_job.c says how many it were */
    }
    log_error(what, "Object of a list is left out", LOG_S("resource", resource(x)),
              LOG_I("item", x->listed),
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

/* The object, if all that is wanted of it is there. */
static struct kube_object *decode(struct reflector *x, const struct json_view *item,
                                  const char *broken, struct err *err)
{
    struct kube_object *o = NULL;
    if (broken != NULL) {
        (void)err_set(err, ERR_INVALID, "%s %s: %s", resource(x),
                      str_or(key_of(x->item_arena, item), "without a name"), broken);
        return NULL;
    }
    (void)!kube_object_decode_view(kube_store_kind(x->store), x->item_arena, item, &o, err);
    return o;
}

/* `cut` is what is shown of it when it cannot be read. */
static void put_listed(struct reflector *x, const struct json_view *item,
                       const struct cutter_item *cut)
{
    struct err err = ERR_INIT;
    struct kube_object *o = decode(x, item, cut->broken, &err);
    if (o == NULL) {
        skip_item(x, err.message, cut->text, cut->n);
        o = known_as(x, item); /* what we knew of it stays */
    }
    if (o != NULL) {
        kube_store_replace_put(x->store, o);
    }
}

bool reflector_on_item(void *arg, const struct cutter_item *item)
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
    const struct json_view *view;
    struct err err = ERR_INIT;
    arena_reset(x->item_arena);
    if (json_view_parse(x->item_arena, item->text, item->n, NULL, &view, &err) == ERR_OK) {
        put_listed(x, view, item);
    } else {
        skip_item(x, err.message, item->text, item->n);
    }
    return true;
}

/* --- watches ------------------------------------------------------------------------------------- */

static bool end_with_status(struct reflector *x, const struct json_view *object)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct json_object *tree _cleanup_(json_putp) = json_view_tree(object);
    json_print(&b, tree, JSON_COMPACT);
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

/* An event of a streaming list before its end mark. */
static bool stage(struct reflector *x, bool deleted, const struct json_view *object,
                  const struct cutter_item *item)
{
    if (deleted) {
        const char *key = key_of(x->item_arena, object);
        if (key != NULL) {
            kube_store_replace_take(x->store, key);
        }
        return true;
    }
    x->listed++;
    put_listed(x, object, item);
    if (kube_store_staged(x->store) > LIST_ITEMS_MAX) {
        (void)err_set(&x->stream_err, ERR_INVALID, "the streaming list has more than %u objects",
                      LIST_ITEMS_MAX);
        return false;
    }
    return true;
}

/* ADDED, MODIFIED, DELETED.  False ends the watch. */
static bool apply(struct reflector *x, bool deleted, const struct json_view *object,
                  const char *broken)
{
    struct err err = ERR_INIT;
    struct kube_object *o = decode(x, object, broken, &err);
    if (o == NULL) {
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
static bool is_our_kind(struct reflector *x, const char *type, const struct json_view *object)
{
    const char *kind = json_view_str(object, "kind");
    const char *want = kube_kind_name(kube_store_kind(x->store));
    if (kind == NULL || str_eq(kind, want)) {
        return true;
    }
    log_error("unexpected kind of object", "Unable to understand watch event", LOG_S("event", type),
              LOG_S("kind", kind), LOG_S("want", want));
    return false;
}

static bool is_end_mark(const struct json_view *object)
{
    const struct json_view *notes =
        json_view_member(json_view_member(object, "metadata"), "annotations");
    return str_eq(str_nonnull(json_view_str(notes, END_MARK)), "true");
}

/* Objects of a streaming list, and its end. */
static bool collect(struct reflector *x, const struct event *e)
{
    const char *kind = json_view_str(e->object, "kind");
    const char *want = kube_kind_name(kube_store_kind(x->store));
    if (kind != NULL && !str_eq(kind, want)) {
        (void)err_set(&x->stream_err, ERR_INVALID, "the streaming list has no %s but a %.40s", want,
                      kind);
        return false;
    }
    if (e->type == EVENT_PUT || e->type == EVENT_DELETED) {
        reflector_watch_event(&x->rules, NULL);
        return stage(x, e->type == EVENT_DELETED, e->object, e->item);
    }
    if (e->type != EVENT_BOOKMARK || !is_end_mark(e->object)) {
        reflector_watch_event(&x->rules, NULL);
        return true;
    }
    if (str_is_empty(e->rv)) {
        (void)err_set(&x->stream_err, ERR_INVALID,
                      "the end mark of the streaming list has no metadata.resourceVersion");
        return false;
    }
    reflector_streamed(x, e->rv);
    return true;
}

/* After the list. */
static bool follow(struct reflector *x, const struct event *e)
{
    if (!is_our_kind(x, e->name, e->object)) {
        return true;
    }
    if (e->type == EVENT_PUT || e->type == EVENT_DELETED) {
        if (!apply(x, e->type == EVENT_DELETED, e->object, e->item->broken)) {
            return false;
        }
    } else if (e->type != EVENT_BOOKMARK) {
        log_error("unknown type of event", "Unable to understand watch event",
                  LOG_S("event", e->name), LOG_S("resource", resource(x)));
        return true;
    }
    reflector_watch_event(&x->rules, e->rv);
    return true;
}

static enum event_type type_of(const char *name)
{
    return str_eq(name, "ADDED") || str_eq(name, "MODIFIED") ? EVENT_PUT
           : str_eq(name, "DELETED")                         ? EVENT_DELETED
           : str_eq(name, "BOOKMARK")                        ? EVENT_BOOKMARK
           : str_eq(name, "ERROR")                           ? EVENT_ERROR
                                                             : EVENT_UNKNOWN;
}

bool reflector_on_event(void *arg, const struct cutter_item *item)
{
    struct reflector *x = arg;
    const struct json_view *event;
    struct err err = ERR_INIT;
    arena_reset(x->item_arena);
    if (json_view_parse(x->item_arena, item->text, item->n, NULL, &event, &err) != ERR_OK) {
        return end_undecodable(x, err.message);
    }
    struct event e = {
        .name = json_view_str(event, "type"),
        .object = json_view_member(event, "object"),
        .item = item,
    };
    if (e.name == NULL || e.object == NULL || e.object->type != JSON_V_OBJECT) {
        return end_undecodable(x, "it lacks a type or an object");
    }
    e.type = type_of(e.name);
    e.rv = json_view_str(json_view_member(e.object, "metadata"), "resourceVersion");
    if (e.type == EVENT_ERROR) {
        return end_with_status(x, e.object);
    }
    return reflector_is_collecting(&x->rules) ? collect(x, &e) : follow(x, &e);
}
