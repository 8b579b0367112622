/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c: rules for the metadata of every kind: members that clients may set, and refusals.
 *
 * An update is validated twice by the API server (once for all kinds, once by the kind), so each
 * complaint about changed metadata appears twice among the causes (recorded 080, 093).  Pure but
 * for new uids, names and times, which come from the simulator's seeded randomness and clock. */
#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define ANNOTATIONS_MAX (256 * 1024)

/* --- small tools ------------------------------------------------------------------------------ */
const char *kube_item(struct json_object *list, size_t i)
{
    struct json_object *v = i < json_len(list) ? json_object_array_get_idx(list, i) : NULL;
    return v ? json_object_get_string(v) : "";
}

bool kube_same(struct json_object *a, struct json_object *b)
{
    return a == b || (a && b && json_equal(a, b));
}

void kube_set(struct json_object *o, const char *name, struct json_object *v)
{
    if (v) {
        json_object_object_add(o, name, v);
    } else {
        json_object_object_del(o, name);
    }
}

struct json_object *kube_need(struct json_object *o, const char *name)
{
    struct json_object *v = json_member(o, name);
    if (!json_object_is_type(v, json_type_object)) {
        v = json_object_new_object();
        json_object_object_add(o, name, v);
    }
    return v;
}

bool kube_is_deleting(struct json_object *o)
{
    return !str_is_empty(json_str(json_member(o, "metadata"), "deletionTimestamp"));
}

const char *kube_generate_name(struct kube_state *st, struct arena *a, const char *prefix)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char suffix[6] = "";
    for (size_t i = 0; i < 5; i++) {
        suffix[i] = letters[rng_below(sim_rng(st->sim), sizeof(letters) - 1)];
    }
    return arena_printf(a, "%.58s%s", prefix, suffix);
}

/* --- filling in ------------------------------------------------------------------------------- */
void kube_meta_fill_new(struct kube_change *c)
{
    static const char *const not_yours[] = {"resourceVersion", "deletionTimestamp", "selfLink",
                                            "deletionGracePeriodSeconds"};
    struct json_object *meta = kube_need(c->now, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(not_yours); i++) {
        json_object_object_del(meta, not_yours[i]);
    }
    char uid[37];
    char now[32];
    sim_new_uuid(c->st->sim, uid);
    kube_now(c->st, now);
    kube_set(meta, "uid", json_object_new_string(uid));
    kube_set(meta, "creationTimestamp", json_object_new_string(now));
}

/* Members of `from` replace those of `to`, but metadata and what `except` names stay. */
static void copy_members(struct json_object *to, struct json_object *from, const char *except)
{
    struct json_object *drop = json_object_new_array();
    json_object_object_foreach(to, key, value)
    {
        (void)value;
        if (!str_eq(key, "metadata") && !str_eq(key, except)) {
            json_push_str(drop, key);
        }
    }
    for (size_t i = 0; i < json_len(drop); i++) {
        json_object_object_del(to, kube_item(drop, i));
    }
    json_object_put(drop);
    json_object_object_foreach(from, name, member)
    {
        if (!str_eq(name, "metadata") && !str_eq(name, except)) {
            json_object_object_add(to, name, json_copy(member));
        }
    }
}

static void keep_if_absent(struct json_object *now, struct json_object *was, const char *name)
{
    struct json_object *old = json_member(was, name);
    if (old && !json_member(now, name)) {
        json_object_object_add(now, name, json_object_get(old));
    }
}

void kube_prepare_meta(struct kube_change *c)
{
    if (!c->was) {
        if (c->kind->is_custom && c->kind->has_status) {
            json_object_object_del(c->now, "status");
        }
        return;
    }
    if (c->kind->has_status && c->status_only) {
        copy_members(c->now, c->was, "status");
        if (c->kind->is_custom) {
            kube_set(c->now, "metadata", json_copy(json_member(c->was, "metadata")));
        }
    } else if (c->kind->has_status) {
        struct json_object *status = json_member(c->was, "status");
        kube_set(c->now, "status", status ? json_copy(status) : NULL);
    }
    struct json_object *now = kube_need(c->now, "metadata");
    struct json_object *was = json_member(c->was, "metadata");
    static const char *const kept[] = {"uid", "deletionTimestamp", "deletionGracePeriodSeconds",
                                       "generateName"};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        keep_if_absent(now, was, kept[i]);
    }
    struct json_object *creation = json_member(was, "creationTimestamp");
    kube_set(now, "creationTimestamp", creation ? json_object_get(creation) : NULL);
    struct json_object *generation = json_member(was, "generation");
    kube_set(now, "generation", generation ? json_object_get(generation) : NULL);
}

/* Everything but metadata and, where it has a door of its own, status. */
static bool content_differs(const struct kube_kind *kind, struct json_object *a,
                            struct json_object *b)
{
    json_object_object_foreach(a, key, value)
    {
        if (str_eq(key, "metadata") || (kind->has_status && str_eq(key, "status"))) {
            continue;
        }
        if (!kube_same(value, json_member(b, key))) {
            return true;
        }
    }
    return false;
}

void kube_count_generation(struct kube_change *c)
{
    if (!c->kind->counts_generation) {
        return;
    }
    int64_t generation = 1;
    if (c->was) {
        bool differs = content_differs(c->kind, c->now, c->was) ||
                       content_differs(c->kind, c->was, c->now) ||
                       (c->kind->counts_labels && !kube_same(json_path(c->now, "metadata.labels"),
                                                             json_path(c->was, "metadata.labels")));
        generation = json_int(json_member(c->was, "metadata"), "generation", 1) + (differs ? 1 : 0);
    }
    kube_set(kube_need(c->now, "metadata"), "generation", json_object_new_int64(generation));
}

/* --- refusing --------------------------------------------------------------------------------- */
static bool wants_label(const struct kube_kind *kind)
{
    return str_eq(kind->kind, "Service") || str_eq(kind->kind, "Namespace");
}

/* Of roles and their bindings: a segment of a path, no more. */
static void check_segment(struct kube_causes *causes, const char *field, const char *name)
{
    static const char *const parts[] = {"/", "%"};
    if (str_eq(name, ".") || str_eq(name, "..")) {
        kube_invalid(causes, field, name, arena_printf(causes->arena, "may not be '%s'", name));
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (strstr(name, parts[i])) {
            kube_invalid(causes, field, name,
                         arena_printf(causes->arena, "may not contain '%s'", parts[i]));
        }
    }
}

static void check_name_text(const struct kube_change *c, struct kube_causes *causes,
                            const char *field, const char *name)
{
    if (c->kind->names_are_paths) {
        check_segment(causes, field, name);
        return;
    }
    (wants_label(c->kind) ? kube_check_dns_label : kube_check_dns_subdomain)(causes, field, name);
}

/* The API server judges a prefix that ends in a dash with its last two characters replaced
 * by a letter. */
static void validate_generate_name(const struct kube_change *c, struct json_object *meta,
                                   struct kube_causes *causes)
{
    const char *prefix = str_nonnull(json_str(meta, "generateName"));
    size_t n = strlen(prefix);
    if (n == 0) {
        return;
    }
    if (n > 1 && prefix[n - 1] == '-') {
        prefix = arena_printf(causes->arena, "%.*sa", (int)n - 2, prefix);
    }
    check_name_text(c, causes, "metadata.generateName", prefix);
}

static void validate_name(const struct kube_change *c, struct json_object *meta,
                          struct kube_causes *causes)
{
    validate_generate_name(c, meta, causes);
    if (str_is_empty(c->name)) {
        kube_required(causes, "metadata.name", "name or generateName is required");
    } else {
        check_name_text(c, causes, "metadata.name", c->name);
    }
    int64_t generation = json_int(meta, "generation", 0);
    if (generation < 0) {
        kube_invalid_int(causes, "metadata.generation", generation,
                         "must be greater than or equal to 0");
    }
}

static void validate_labels(struct json_object *meta, struct kube_causes *causes)
{
    struct json_object *labels = json_member(meta, "labels");
    if (!labels) {
        return;
    }
    json_object_object_foreach(labels, key, value)
    {
        kube_check_qualified_name(causes, "metadata.labels", key);
        kube_check_label_value(causes, "metadata.labels", json_object_get_string(value));
    }
}

static void validate_annotations(struct json_object *meta, struct kube_causes *causes)
{
    struct json_object *annotations = json_member(meta, "annotations");
    if (!annotations) {
        return;
    }
    size_t total = 0;
    json_object_object_foreach(annotations, key, value)
    {
        kube_check_annotation_key(causes, "metadata.annotations", key);
        total += strlen(key) + (size_t)json_object_get_string_len(value);
    }
    if (total > ANNOTATIONS_MAX) {
        kube_cause(causes, KUBE_TOO_LONG, "metadata.annotations", NULL,
                   arena_printf(causes->arena, "may not be more than %d bytes", ANNOTATIONS_MAX));
    }
}

static void validate_owner(struct json_object *owner, struct kube_causes *causes)
{
    static const char *const needed[] = {"kind", "name", "uid"};
    const char *version = str_nonnull(json_str(owner, "apiVersion"));
    const char *slash = strchr(version, '/');
    if (!*version || (slash && strchr(slash + 1, '/'))) {
        kube_invalid(causes, "metadata.ownerReferences.apiVersion", version,
                     "version must not be empty");
    }
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        if (str_is_empty(json_str(owner, needed[i]))) {
            kube_invalid(causes,
                         arena_printf(causes->arena, "metadata.ownerReferences.%s", needed[i]), "",
                         "must not be empty");
        }
    }
    if (str_eq(version, "v1") && str_eq(json_str(owner, "kind"), "Event")) {
        kube_invalid_json(causes, "metadata.ownerReferences", owner,
                          "/v1, Kind=Event is disallowed from being an owner");
    }
}

static void validate_owners(struct json_object *meta, struct kube_causes *causes)
{
    struct json_object *list = json_member(meta, "ownerReferences");
    struct json_object *first = NULL; /* the one that controls */
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *owner = json_object_array_get_idx(list, i);
        validate_owner(owner, causes);
        if (!json_bool(owner, "controller", false)) {
            continue;
        }
        if (first) {
            kube_invalid_json(causes, "metadata.ownerReferences", list,
                              arena_printf(causes->arena,
                                           "Only one reference can have Controller set to true. "
                                           "Found \"true\" in references for %s/%s and %s/%s",
                                           json_str(first, "kind"), json_str(first, "name"),
                                           json_str(owner, "kind"), json_str(owner, "name")));
            return;
        }
        first = owner;
    }
}

static bool list_has(struct json_object *list, const char *s)
{
    for (size_t i = 0; i < json_len(list); i++) {
        if (str_eq(kube_item(list, i), s)) {
            return true;
        }
    }
    return false;
}

static void validate_finalizers(struct json_object *meta, struct kube_causes *causes)
{
    struct json_object *list = json_member(meta, "finalizers");
    for (size_t i = 0; i < json_len(list); i++) {
        const char *f = kube_item(list, i);
        kube_check_qualified_name(causes, "metadata.finalizers", f);
        if (!strchr(f, '/') && !str_eq(f, "kubernetes") && !str_eq(f, "orphan") &&
            !str_eq(f, "foregroundDeletion")) {
            kube_invalid(causes, arena_printf(causes->arena, "metadata.finalizers[%zu]", i), f,
                         "name is neither a standard finalizer name nor is it fully qualified");
        }
    }
    if (list_has(list, "orphan") && list_has(list, "foregroundDeletion")) {
        kube_invalid_json(causes, "metadata.finalizers", list,
                          "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

void kube_validate_meta(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *meta = json_member(c->now, "metadata");
    if (!c->was) {
        validate_name(c, meta, causes);
    }
    validate_labels(meta, causes);
    validate_annotations(meta, causes);
    validate_owners(meta, causes);
    validate_finalizers(meta, causes);
}

static void refuse_new_finalizers(struct json_object *now, struct json_object *was,
                                  struct kube_causes *causes)
{
    struct json_object *list = json_member(now, "finalizers");
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *f = kube_item(list, i);
        if (!list_has(json_member(was, "finalizers"), f)) {
            str_append(&b, b.len ? ", " : "");
            str_append_go_quoted(&b, f);
        }
    }
    if (b.len) {
        kube_forbidden(
            causes, "metadata.finalizers",
            arena_printf(causes->arena,
                         "no new finalizers can be added if the object is being deleted, found "
                         "new finalizers []string{%s}",
                         str_buf_text(&b)));
    }
}

static void validate_changed_meta(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const fixed[] = {"name",
                                        "namespace",
                                        "uid",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds"};
    struct json_object *now = json_member(c->now, "metadata");
    struct json_object *was = json_member(c->was, "metadata");
    if (kube_is_deleting(c->was)) {
        refuse_new_finalizers(now, was, causes);
    }
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        struct json_object *v = json_member(now, fixed[i]);
        if (v && !kube_same(v, json_member(was, fixed[i]))) {
            kube_invalid_json(causes, arena_printf(causes->arena, "metadata.%s", fixed[i]), v,
                              "field is immutable");
        }
    }
}

void kube_validate_meta_update(const struct kube_change *c, struct kube_causes *causes)
{
    validate_changed_meta(c, causes);
    if (!c->kind->is_custom) {
        validate_changed_meta(c, causes);
    }
}
