/* SPDX-License-Identifier: Apache-2.0 */
/* reflector_items.c: items of lists and events of watches into the store.
 *
 * An object of which something cannot be read is logged, and goes into the store as far as it can
 * be read (object.h): one bad object must neither stop the others nor be taken for one that is
 * gone.  Its name is looked for also in what the parser refuses.  Only an object without a name is
 * left out, of a list and of a watch: no API server sends one.  A streaming list is a watch whose
 * objects go into a staged replace until its end mark; what does not look like our kind ends it,
 * because publishing the rest would delete what we know.
 * Source: controller.md §4.8 "Stream events".  Runs in the reflector thread. */
#include "controller/kube/watch/reflector_internal.h"

#include <string.h>

#include "common/base/log.h"
#include "controller/kube/client/client.h"

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
    const struct json_view *object; /* as sent, without unused members */
    const char *rv;                 /* of the object, or NULL */
    const struct cutter_item *item; /* the whole event */
    const struct reading *reading;
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

/* Of a text that the parser refuses: what identifies its object, and says whether it is going. */
static const char *const brief_members[] = {
    "type",
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.finalizers",
    "object.kind",
    "object.metadata.name",
    "object.metadata.namespace",
    "object.metadata.uid",
    "object.metadata.resourceVersion",
    "object.metadata.creationTimestamp",
    "object.metadata.deletionTimestamp",
    "object.metadata.finalizers",
    NULL,
};

/* One item or event as it was read. */
struct reading {
    const struct json_view *view;
    const char *why; /* something of it cannot be read; NULL: not known yet */
    bool brief;      /* the view has brief_members alone */
};

static bool take_brief(void *arg, const struct cutter_item *item)
{
    struct str_buf *text = arg;
    str_buf_reset(text);
    str_append_n(text, item->text, item->n);
    return true;
}

/* Cuts the text once more, so that what the parser stumbled over is out of its way. */
static int read_brief(struct reflector *x, const struct cutter_item *item, struct reading *ret,
                      struct err *err)
{
    struct str_buf text _cleanup_(str_buf_done) = STR_BUF_INIT;
    const struct cutter_args args = {
        .mode = CUTTER_STREAM, .members = brief_members, .on_item = take_brief, .arg = &text};
    struct json_splitter *c = json_splitter_new(&args);
    int rc = json_splitter_feed(c, item->text, item->n, err);
    json_splitter_free(c);
    return rc != ERR_OK ? rc
                        : json_view_parse(x->item_arena, str_buf_text(&text), text.len, NULL,
                                          &ret->view, err);
}

/* False: not even the brief can be read; ret->why says so. */
static bool read_item(struct reflector *x, const struct cutter_item *item, struct reading *ret)
{
    /* A NUL is the business of the field that has it. */
    static const struct json_limits limits = {.allow_nul = true};
    struct err err = ERR_INIT;
    *ret = (struct reading){.why = item->broken};
    if (json_view_parse_here(x->item_arena, item->text, item->n, &limits, &ret->view, &err) ==
        ERR_OK) {
        return true;
    }
    ret->why = arena_strdup(x->item_arena, err.message);
    ret->brief = true;
    return read_brief(x, item, ret, NULL) == ERR_OK;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* Says it once for each object and reason. */
static void say_unreadable(struct reflector *x, const struct kube_object *o,
                           const struct kube_object *known)
{
    static struct log_limit limit = {.interval_ms = 60000, .burst = SKIPPED_SAID_MAX};
    bool again = known != NULL && str_eq(known->unreadable, o->unreadable);
    bool says = x->replacing ? ++x->skipped <= SKIPPED_SAID_MAX /* reflector_job.c says how many */
                             : log_limit_ok(&limit, reflectors_now(x->all));
    if (again || !says) {
        return;
    }
    log_error(o->unreadable,
              "Part of an object cannot be read; its known part is kept, and nothing is changed "
              "for it until it is readable",
              LOG_S("resource", resource(x)), LOG_S("object", o->key),
              LOG_S("resourceVersion", o->resource_version));
}

/* The object, whole or not; NULL when it has no name: *err says why.  A new reference. */
static struct kube_object *read_object(struct reflector *x, const struct reading *r,
                                       const struct json_view *object, struct err *err)
{
    enum kube_kind kind = kube_store_kind(x->store);
    struct kube_object *o = NULL;
    if (r->why == NULL && kube_object_read(kind, x->item_arena, object, &o, err) == ERR_OK) {
        return o;
    }
    const char *why = r->why != NULL ? r->why : arena_strdup(x->item_arena, err->message);
    const char *key = kube_item_key(kind, x->item_arena, object);
    struct kube_object *known _cleanup_(kube_object_unrefp) =
        key == NULL ? NULL : kube_store_get(x->store, key);
    const struct kube_salvage how = {.why = why, .brief = r->brief, .known = known};
    o = kube_object_take(kind, x->item_arena, object, &how, err);
    if (o != NULL) {
        say_unreadable(x, o, known);
    }
    return o;
}

/* --- lists ------------------------------------------------------------------------------------ */

static void skip_item(struct reflector *x, const char *what, const char *text, size_t n)
{
    if (++x->skipped > SKIPPED_SAID_MAX) {
        return; /* reflector_job.c says how many it were */
    }
    size_t shown = n < SHOWN_BYTES ? n : SHOWN_BYTES;
    char *begins = arena_calloc(x->arena, shown + 1, 1);
    for (size_t i = 0; i < shown; i++) {
        begins[i] = text[i] == '\0' ? '"' : text[i]; /* it may be read already */
    }
    log_error(what, "Object of a list is left out", LOG_S("resource", resource(x)),
              LOG_I("item", x->listed), LOG_S("begins", begins));
}

/* The list's kind comes before its items; a list of something else must not reach the store. */
static bool is_our_list(struct reflector *x)
{
    size_t n;
    const char *head = json_splitter_head(x->list_cutter, &n);
    const char *kind = kube_kind_name(kube_store_kind(x->store));
    const char *want = arena_printf(x->arena, "\"kind\":\"%sList\"", kind);
    if (strstr(head, "\"kind\":") == NULL || strstr(head, want) != NULL) {
        return true;
    }
    (void)err_set(&x->stream_err, ERR_INVALID, "the answer is no %sList: %.*s", kind, SHOWN_BYTES,
                  head);
    return false;
}

static void put_listed(struct reflector *x, const struct reading *r, const struct json_view *object,
                       const struct cutter_item *cut)
{
    struct err err = ERR_INIT;
    struct kube_object *o = read_object(x, r, object, &err);
    if (o == NULL) {
        skip_item(x, err.message, cut->text, cut->n);
    } else {
        kube_store_replace_put(x->store, o);
    }
}

bool reflector_on_item(void *arg, const struct cutter_item *item)
{
    struct reflector *x = arg;
    if (json_splitter_count(x->list_cutter) == 1 && !is_our_list(x)) {
        return false;
    }
    if (++x->listed > LIST_ITEMS_MAX) {
        (void)err_set(&x->stream_err, ERR_INVALID, "the list has more than %u objects",
                      LIST_ITEMS_MAX);
        return false;
    }
    struct reading r;
    arena_reset(x->item_arena);
    if (read_item(x, item, &r)) {
        put_listed(x, &r, r.view, item);
    } else {
        skip_item(x, r.why, item->text, item->n);
    }
    return true;
}

/* --- watches ---------------------------------------------------------------------------------- */

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
static bool stage(struct reflector *x, const struct event *e)
{
    if (e->type == EVENT_DELETED) {
        const char *key = kube_item_key(kube_store_kind(x->store), x->item_arena, e->object);
        if (key != NULL) {
            kube_store_replace_take(x->store, key);
        }
        return true;
    }
    x->listed++;
    put_listed(x, e->reading, e->object, e->item);
    if (kube_store_staged(x->store) > LIST_ITEMS_MAX) {
        (void)err_set(&x->stream_err, ERR_INVALID, "the streaming list has more than %u objects",
                      LIST_ITEMS_MAX);
        return false;
    }
    return true;
}

/* ADDED, MODIFIED, DELETED.  False ends the watch. */
static bool apply(struct reflector *x, const struct event *e)
{
    struct err err = ERR_INIT;
    struct kube_object *o = read_object(x, e->reading, e->object, &err);
    if (o == NULL) {
        log_error(err.message, "Object of a watch event is left out",
                  LOG_S("resource", resource(x)), LOG_S("event", e->name));
        return true;
    }
    if (e->type == EVENT_DELETED) {
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
        return stage(x, e);
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
        if (!apply(x, e)) {
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
    struct reading r;
    arena_reset(x->item_arena);
    if (!read_item(x, item, &r)) {
        return end_undecodable(x, r.why);
    }
    struct event e = {
        .name = json_view_str(r.view, "type"),
        .object = json_view_member(r.view, "object"),
        .item = item,
        .reading = &r,
    };
    if (e.name == NULL || e.object == NULL || e.object->type != JSON_V_OBJECT) {
        return end_undecodable(x, str_or(r.why, "it lacks a type or an object"));
    }
    e.type = type_of(e.name);
    e.rv = json_view_str(json_view_member(e.object, "metadata"), "resourceVersion");
    if (e.type == EVENT_ERROR) {
        return end_with_status(x, e.object);
    }
    return reflector_is_collecting(&x->rules) ? collect(x, &e) : follow(x, &e);
}
