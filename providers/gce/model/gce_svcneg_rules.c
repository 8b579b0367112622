/* SPDX-License-Identifier: Apache-2.0 */
/* gce_svcneg_rules.c: see gce_svcneg_rules.h.
 *
 * What counts is written down as one text, of a wish and of an object in the same way; equal texts
 * mean that nothing is to be written.  Bodies are json-c trees. */
#include "providers/gce/model/gce_svcneg_rules.h"

#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/base/strset.h"

#include <string.h>

#define LABEL_MANAGED "networking.gke.io/managed-by"
#define LABEL_SERVICE "networking.gke.io/service-name"
#define LABEL_PORT    "networking.gke.io/service-port"
#define MANAGER       "neg-controller"
#define PORT          "0" /* of all GCE_VM_IP NEGs: they know no ports */

#define INITIALIZED "Initialized"
#define SYNCED      "Synced"

/* ---- conditions ------------------------------------------------------------------------------ */
struct condition {
    const char *type;
    bool met;
    const char *reason;
    const char *message;
};

static struct condition wanted_condition(const struct gce_svcneg_wish *w, const char *type)
{
    bool initialized = str_eq(type, INITIALIZED);
    bool met = w->phase == GCE_SVCNEG_SYNCED || (initialized && w->phase == GCE_SVCNEG_SYNC_FAILED);
    const char *good = initialized ? "NegInitializationSuccessful" : "NegSyncSuccessful";
    const char *bad = initialized ? "NegInitializationFailed" : "NegSyncFailed";
    return (struct condition){.type = type,
                              .met = met,
                              .reason = met ? good : bad,
                              .message = met ? "" : str_nonnull(w->message)};
}

static struct json_object *condition_of(struct json_object *object, const char *type)
{
    struct json_object *list = json_path(object, "status.conditions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *c = json_object_array_get_idx(list, i);
        if (str_eq(json_str(c, "type"), type)) {
            return c;
        }
    }
    return NULL;
}

/* ---- references ------------------------------------------------------------------------------ */
/* The same resource has the same one, whatever its API version and host. */
static const char *resource_of(const char *link)
{
    const char *at = link != NULL ? strstr(link, "/projects/") : NULL;
    return at != NULL ? at : str_nonnull(link);
}

static bool has_zone(const struct gce_strs *zones, const char *zone)
{
    for (size_t i = 0; i < zones->n; i++) {
        if (str_eq(zones->items[i], zone)) {
            return true;
        }
    }
    return false;
}

static const char *state_of(const struct gce_svcneg_wish *w, const struct gce_neg *neg)
{
    return has_zone(&w->zones, neg->zone) ? "ACTIVE" : "INACTIVE";
}

static const struct gce_neg *neg_of(const struct gce_svcneg_wish *w, const char *link)
{
    for (size_t i = 0; i < w->n_negs; i++) {
        if (str_eq(resource_of(w->negs[i].link), resource_of(link))) {
            return &w->negs[i];
        }
    }
    return NULL;
}

static struct json_object *refs_of(struct json_object *object)
{
    return json_path(object, "status.networkEndpointGroups");
}

/* ---- what counts, as text -------------------------------------------------------------------- */
static char *ref_text(struct arena *a, const char *link, const char *id, const char *state,
                      const char *subnet)
{
    return arena_printf(a, "ref %s %s %s %s\n", resource_of(link), str_nonnull(id),
                        str_nonnull(state), resource_of(subnet));
}

static uint64_t digest(struct arena *a, const char *head, const char **refs, size_t n)
{
    struct str_set sorted = str_set_make(a, refs, n);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const char *ref;
    str_append(&b, head);
    STR_SET_EACH (ref, &sorted) {
        str_append(&b, ref);
    }
    return hash_bytes(0, str_buf_text(&b), b.len);
}

static void put_condition(struct str_buf *b, const char *type, const char *status,
                          const char *reason, const char *message)
{
    str_appendf(b, "%s %s %s %s\n", type, str_nonnull(status), str_nonnull(reason),
                str_nonnull(message));
}

static void put_wanted(struct str_buf *b, const struct gce_svcneg_wish *w, const char *type)
{
    struct condition c = wanted_condition(w, type);
    put_condition(b, type, c.met ? "True" : "False", c.reason, c.message);
}

static void put_found(struct str_buf *b, struct json_object *object, const char *type)
{
    struct json_object *c = condition_of(object, type);
    put_condition(b, type, json_str(c, "status"), json_str(c, "reason"), json_str(c, "message"));
}

static void put_head(struct str_buf *b, const char *service, const char *owner, bool held,
                     bool deleting)
{
    str_appendf(b, "service %s owner %s%s%s\n", str_nonnull(service), str_nonnull(owner),
                held ? " held" : "", deleting ? " deleting" : "");
}

uint64_t gce_svcneg_digest_wanted(struct arena *a, const struct gce_svcneg_wish *w)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const char **refs = ARENA_ARRAY(a, const char *, w->n_negs);
    put_head(&b, w->service->name, w->service->uid, true, false);
    put_wanted(&b, w, INITIALIZED);
    put_wanted(&b, w, SYNCED);
    for (size_t i = 0; i < w->n_negs; i++) {
        const struct gce_neg *neg = &w->negs[i];
        refs[i] = ref_text(a, neg->link, neg->id, w->with_states ? state_of(w, neg) : NULL,
                           w->with_states ? neg->subnetwork : NULL);
    }
    return digest(a, str_buf_text(&b), refs, w->n_negs);
}

const char *gce_svcneg_owner_of(struct json_object *object)
{
    struct json_object *owners = json_path(object, "metadata.ownerReferences");
    struct json_object *owner = json_len(owners) == 1 ? json_object_array_get_idx(owners, 0) : NULL;
    return str_eq(json_str(owner, "kind"), "Service") ? json_str(owner, "uid") : NULL;
}

static bool is_held(struct json_object *object)
{
    struct json_object *list = json_path(object, "metadata.finalizers");
    for (size_t i = 0; i < json_len(list); i++) {
        if (str_eq(json_object_get_string(json_object_array_get_idx(list, i)),
                   GCE_SVCNEG_FINALIZER)) {
            return true;
        }
    }
    return false;
}

bool gce_svcneg_is_deleting(struct json_object *object)
{
    return !str_is_empty(json_str(json_member(object, "metadata"), "deletionTimestamp"));
}

const char *gce_svcneg_service_of(struct json_object *object)
{
    struct json_object *labels = json_path(object, "metadata.labels");
    bool ours = str_eq(json_str(labels, LABEL_MANAGED), MANAGER) &&
                str_eq(json_str(labels, LABEL_PORT), PORT);
    return ours ? json_str(labels, LABEL_SERVICE) : NULL;
}

uint64_t gce_svcneg_digest_found(struct arena *a, struct json_object *object, bool with_states)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *list = refs_of(object);
    size_t n = json_len(list);
    const char **refs = ARENA_ARRAY(a, const char *, n);
    put_head(&b, gce_svcneg_service_of(object), gce_svcneg_owner_of(object), is_held(object),
             gce_svcneg_is_deleting(object));
    put_found(&b, object, INITIALIZED);
    put_found(&b, object, SYNCED);
    for (size_t i = 0; i < n; i++) {
        struct json_object *ref = json_object_array_get_idx(list, i);
        refs[i] = ref_text(a, json_str(ref, "selfLink"), json_str(ref, "id"),
                           with_states ? json_str(ref, "state") : NULL,
                           with_states ? json_str(ref, "subnetURL") : NULL);
    }
    return digest(a, str_buf_text(&b), refs, n);
}

struct gce_strs gce_svcneg_links_of(struct arena *a, struct json_object *object)
{
    struct json_object *list = refs_of(object);
    struct gce_strs links = {.items = ARENA_ARRAY(a, const char *, json_len(list))};
    for (size_t i = 0; i < json_len(list); i++) {
        const char *link = json_str(json_object_array_get_idx(list, i), "selfLink");
        if (!str_is_empty(link)) {
            links.items[links.n++] = arena_strdup(a, link);
        }
    }
    return links;
}

/* ---- bodies ---------------------------------------------------------------------------------- */
static struct json_object *labels_body(const struct tt_service *service)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, LABEL_MANAGED, MANAGER);
    json_add_str(o, LABEL_SERVICE, service->name);
    json_add_str(o, LABEL_PORT, PORT);
    return o;
}

static struct json_object *owners_body(const struct tt_service *service)
{
    struct json_object *list = json_object_new_array();
    struct json_object *o = json_object_new_object();
    json_add_str(o, "apiVersion", "v1");
    json_add_bool(o, "blockOwnerDeletion", false);
    json_add_bool(o, "controller", true);
    json_add_str(o, "kind", "Service");
    json_add_str(o, "name", service->name);
    json_add_str(o, "uid", service->uid);
    json_object_array_add(list, o);
    return list;
}

static struct json_object *condition_body(struct json_object *object, struct condition c,
                                          const char *now)
{
    struct json_object *was = condition_of(object, c.type);
    const char *status = c.met ? "True" : "False";
    bool same = str_eq(json_str(was, "status"), status);
    const char *since = same ? json_str(was, "lastTransitionTime") : NULL;
    struct json_object *o = json_object_new_object();
    json_add_str(o, "lastTransitionTime", str_or(since, now));
    json_add_str(o, "message", c.message);
    json_add_str(o, "reason", c.reason);
    json_add_str(o, "status", status);
    json_add_str(o, "type", c.type);
    return o;
}

/* Others' conditions stay where they are. */
static struct json_object *conditions_body(struct json_object *object,
                                           const struct gce_svcneg_wish *w, const char *now)
{
    struct json_object *out = json_object_new_array();
    struct json_object *list = json_path(object, "status.conditions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *c = json_object_array_get_idx(list, i);
        const char *type = json_str(c, "type");
        if (!str_eq(type, INITIALIZED) && !str_eq(type, SYNCED)) {
            json_object_array_add(out, json_copy(c));
        }
    }
    json_object_array_add(out, condition_body(object, wanted_condition(w, INITIALIZED), now));
    json_object_array_add(out, condition_body(object, wanted_condition(w, SYNCED), now));
    return out;
}

static void put_member(struct json_object *o, const char *name, const char *value)
{
    json_object_object_del(o, name);
    json_add_str(o, name, value);
}

/* One reference, laid over what was there. */
static struct json_object *ref_body(struct json_object *was, const struct gce_svcneg_wish *w,
                                    const struct gce_neg *neg)
{
    struct json_object *o = was != NULL ? json_copy(was) : json_object_new_object();
    put_member(o, "id", neg->id);
    put_member(o, "networkEndpointType", "GCE_VM_IP");
    put_member(o, "selfLink", neg->link);
    if (w->with_states) {
        put_member(o, "state", state_of(w, neg));
        put_member(o, "subnetURL", neg->subnetwork);
    }
    return o;
}

/* Those that are there stay in their order; the new ones follow. */
static struct json_object *refs_body(struct arena *a, struct json_object *object,
                                     const struct gce_svcneg_wish *w)
{
    struct json_object *out = json_object_new_array();
    struct json_object *list = refs_of(object);
    bool *done = ARENA_ARRAY(a, bool, w->n_negs);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *was = json_object_array_get_idx(list, i);
        const struct gce_neg *neg = neg_of(w, json_str(was, "selfLink"));
        if (neg != NULL && !done[neg - w->negs]) {
            done[neg - w->negs] = true;
            json_object_array_add(out, ref_body(was, w, neg));
        }
    }
    for (size_t i = 0; i < w->n_negs; i++) {
        if (!done[i]) {
            json_object_array_add(out, ref_body(NULL, w, &w->negs[i]));
        }
    }
    return out;
}

static struct json_object *status_body(struct arena *a, struct json_object *object,
                                       const struct gce_svcneg_wish *w, const char *now)
{
    struct json_object *o = json_object_new_object();
    json_add(o, "conditions", conditions_body(object, w, now));
    json_add_str(o, "lastSyncTime", now);
    json_add(o, "networkEndpointGroups", refs_body(a, object, w));
    return o;
}

/* `but` is left out, `and` comes to its end; each may be NULL. */
static struct json_object *finalizers_body(struct json_object *object, const char *but,
                                           const char *and)
{
    struct json_object *out = json_object_new_array();
    struct json_object *list = json_path(object, "metadata.finalizers");
    for (size_t i = 0; i < json_len(list); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(list, i));
        if (!str_eq(name, but)) {
            json_push_str(out, name);
        }
    }
    if (and != NULL) {
        json_push_str(out, and);
    }
    return out;
}

static char *text_and_put(struct arena *a, struct json_object *o)
{
    char *text = json_text(a, o, JSON_COMPACT);
    json_object_put(o);
    return text;
}

char *gce_svcneg_create(struct arena *a, const struct gce_svcneg_wish *w, const char *now)
{
    struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    json_add_str(o, "apiVersion", GCE_SVCNEG_VERSION);
    json_add_str(o, "kind", "ServiceNetworkEndpointGroup");
    json_add(o, "metadata", meta);
    json_add(meta, "finalizers", finalizers_body(NULL, NULL, GCE_SVCNEG_FINALIZER));
    json_add(meta, "labels", labels_body(w->service));
    json_add_str(meta, "name", w->name);
    json_add_str(meta, "namespace", w->service->ns);
    json_add(meta, "ownerReferences", owners_body(w->service));
    json_add(o, "spec", json_object_new_object());
    json_add(o, "status", status_body(a, NULL, w, now));
    return text_and_put(a, o);
}

char *gce_svcneg_patch(struct arena *a, struct json_object *object, const struct gce_svcneg_wish *w,
                       const char *now)
{
    struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    const char *uid = json_str(json_member(object, "metadata"), "uid");
    json_add(o, "metadata", meta);
    json_add_str(meta, "uid", uid); /* another one of the name is not written to */
    if (!is_held(object)) {
        json_add(meta, "finalizers", finalizers_body(object, NULL, GCE_SVCNEG_FINALIZER));
    }
    if (!str_eq(gce_svcneg_owner_of(object), w->service->uid)) {
        json_add(meta, "ownerReferences", owners_body(w->service));
    }
    json_add(o, "status", status_body(a, object, w, now));
    return text_and_put(a, o);
}

char *gce_svcneg_release(struct arena *a, struct json_object *object)
{
    if (!is_held(object)) {
        return NULL;
    }
    struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    json_add(o, "metadata", meta);
    json_add_str(meta, "uid", json_str(json_member(object, "metadata"), "uid"));
    json_add(meta, "finalizers", finalizers_body(object, GCE_SVCNEG_FINALIZER, NULL));
    return text_and_put(a, o);
}

/* ---- the annotation -------------------------------------------------------------------------- */
char *gce_neg_status_text(struct arena *a, const char *neg, const struct gce_strs *zones)
{
    struct json_object *o = json_object_new_object();
    struct json_object *groups = json_object_new_object();
    json_add_str(groups, PORT, neg);
    json_add(o, "network_endpoint_groups", groups);
    json_add(o, "zones", json_strs((const char *const *)zones->items, zones->n));
    return text_and_put(a, o);
}

bool gce_neg_status_names_nodes(const char *text)
{
    _cleanup_(json_putp) struct json_object *o = NULL;
    if (str_is_empty(text) || json_parse(text, strlen(text), NULL, &o, NULL) != ERR_OK) {
        return false;
    }
    return !str_is_empty(json_str(json_member(o, "network_endpoint_groups"), PORT));
}
