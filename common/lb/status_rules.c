/* SPDX-License-Identifier: Apache-2.0 */
/* status_rules.c: when a load-balancer status has changed, and the exact bodies of our patches.
 *
 * Bodies are strategic merge patches (annotations: merge patch) that name only what we mean to
 * change, as compact JSON with sorted members: the bytes that upstream's diff would send.  The one
 * difference on purpose is the removal of finalizers: upstream's {"finalizers":null} would wipe
 * what others have added since our copy was read.  Source: controller.md §1.13, vectors 36–39, 132,
 * 133.  Pure; thread-safe. */
#include "common/lb/status_rules.h"
#include "common/base/err.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/data/json.h"

#include <string.h>

/* ---- comparing ------------------------------------------------------------------------------- */
static bool text_eq(const char *a, const char *b)
{
    return strcmp(str_nonnull(a), str_nonnull(b)) == 0;
}

static bool port_status_eq(const struct tt_port_status *a, const struct tt_port_status *b)
{
    return a->port == b->port && text_eq(a->protocol, b->protocol) && str_eq(a->error, b->error);
}

static bool ingress_eq(const struct tt_ingress *a, const struct tt_ingress *b)
{
    if (!text_eq(a->ip, b->ip) || !text_eq(a->hostname, b->hostname) ||
        !str_eq(a->ip_mode, b->ip_mode) || a->n_ports != b->n_ports) {
        return false; /* an absent ipMode is not an empty one: it is a pointer in Go */
    }
    for (uint32_t i = 0; i < a->n_ports; i++) {
        if (!port_status_eq(&a->ports[i], &b->ports[i])) {
            return false;
        }
    }
    return true;
}

bool status_equal(const struct tt_ingress *a, size_t na, const struct tt_ingress *b, size_t nb)
{
    if (na != nb) {
        return false;
    }
    for (size_t i = 0; i < na; i++) {
        if (!ingress_eq(&a[i], &b[i])) {
            return false;
        }
    }
    return true;
}

struct tt_ingress *status_normalise(struct arena *a, const struct tt_ingress *in, size_t n)
{
    struct tt_ingress *out = ARENA_ARRAY(a, struct tt_ingress, n);
    for (size_t i = 0; i < n; i++) {
        struct tt_port_status *ports = ARENA_ARRAY(a, struct tt_port_status, in[i].n_ports);
        for (uint32_t p = 0; p < in[i].n_ports; p++) {
            ports[p] = in[i].ports[p];
            ports[p].protocol = arena_strdup(a, in[i].ports[p].protocol);
            ports[p].error = arena_strdup(a, in[i].ports[p].error);
        }
        bool defaulted = !str_is_empty(in[i].ip) && in[i].ip_mode == NULL;
        out[i] = in[i];
        out[i].ip = arena_strdup(a, in[i].ip);
        out[i].hostname = arena_strdup(a, in[i].hostname);
        out[i].ip_mode = defaulted ? "VIP" : arena_strdup(a, in[i].ip_mode);
        out[i].ports = ports;
    }
    return out;
}

/* ---- writing JSON ---------------------------------------------------------------------------- */
/* Appends `"name":"value"` with a comma where one is needed; NULL appends nothing. */
static void put_text(struct str_buf *b, const char *name, const char *value)
{
    if (value == NULL) {
        return;
    }
    if (b->data[b->len - 1] != '{') {
        str_append_c(b, ',');
    }
    str_append_json_quoted(b, name);
    str_append_c(b, ':');
    str_append_json_quoted(b, value);
}

static void put_strings(struct str_buf *b, const char *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (b->data[b->len - 1] != '[') {
            str_append_c(b, ',');
        }
        str_append_json_quoted(b, items[i]);
    }
}

static void put_ingress(struct str_buf *b, const struct tt_ingress *in)
{
    str_append_c(b, '{');
    put_text(b, "hostname", str_is_empty(in->hostname) ? NULL : in->hostname);
    put_text(b, "ip", str_is_empty(in->ip) ? NULL : in->ip);
    put_text(b, "ipMode", in->ip_mode);
    if (in->n_ports > 0) {
        str_append(b, b->data[b->len - 1] != '{' ? ",\"ports\":[" : "\"ports\":[");
        for (uint32_t i = 0; i < in->n_ports; i++) {
            str_append(b, i > 0 ? ",{" : "{");
            put_text(b, "error", in->ports[i].error);
            str_append(b, b->data[b->len - 1] != '{' ? "," : "");
            str_appendf(b, "\"port\":%d", in->ports[i].port);
            put_text(b, "protocol", str_nonnull(in->ports[i].protocol));
            str_append_c(b, '}');
        }
        str_append_c(b, ']');
    }
    str_append_c(b, '}');
}

/* ---- patches --------------------------------------------------------------------------------- */
char *status_patch(struct arena *a, const struct tt_ingress *old_in, size_t n_old,
                   const struct tt_ingress *new_in, size_t n_new)
{
    if (status_equal(old_in, n_old, new_in, n_new)) {
        return NULL;
    }
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"status\":{\"loadBalancer\":{\"ingress\":");
    if (n_new == 0) {
        str_append(&b, "null");
    } else { /* the list is atomic: it is always sent whole */
        str_append_c(&b, '[');
        for (size_t i = 0; i < n_new; i++) {
            str_append(&b, i > 0 ? "," : "");
            put_ingress(&b, &new_in[i]);
        }
        str_append_c(&b, ']');
    }
    str_append(&b, "}}}");
    return str_buf_to_arena(&b, a);
}

static bool has_text(const char *const *items, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(items[i], text) == 0) {
            return true;
        }
    }
    return false;
}

char *finalizer_patch_add(struct arena *a, const char *const *present, size_t n,
                          const char *const *add, size_t n_add)
{
    const char **fresh = ARENA_ARRAY(a, const char *, n_add);
    size_t n_fresh = 0;
    for (size_t i = 0; i < n_add; i++) {
        if (!has_text(present, n, add[i]) && !has_text(fresh, n_fresh, add[i])) {
            fresh[n_fresh++] = add[i];
        }
    }
    if (n_fresh == 0) {
        return NULL;
    }
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"metadata\":{");
    if (n > 0) { /* a list of one's own needs no order */
        str_append(&b, "\"$setElementOrder/finalizers\":[");
        put_strings(&b, present, n);
        put_strings(&b, fresh, n_fresh);
        str_append(&b, "],");
    }
    str_append(&b, "\"finalizers\":[");
    put_strings(&b, fresh, n_fresh);
    str_append(&b, "]}}");
    return str_buf_to_arena(&b, a);
}

char *finalizer_patch_remove(struct arena *a, const char *const *present, size_t n,
                             const char *const *drop, size_t n_drop)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[");
    size_t before = b.len;
    for (size_t i = 0; i < n_drop; i++) {
        /* Only what our copy shows: very old servers *add* the value when the list is absent. */
        if (has_text(present, n, drop[i]) && !has_text(drop, i, drop[i])) {
            put_strings(&b, &drop[i], 1);
        }
    }
    if (b.len == before) {
        return NULL;
    }
    str_append(&b, "]}}");
    return str_buf_to_arena(&b, a);
}

char *condition_patch(struct arena *a, const struct tt_condition *c)
{
    char when[32];
    time_format_rfc3339(c->last_transition_us, when);
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"status\":{\"conditions\":[{");
    put_text(&b, "lastTransitionTime", when);
    put_text(&b, "message", str_nonnull(c->message));
    if (c->observed_generation > 0) {
        str_appendf(&b, ",\"observedGeneration\":%lld", (long long)c->observed_generation);
    }
    put_text(&b, "reason", str_nonnull(c->reason));
    put_text(&b, "status", str_nonnull(c->status));
    put_text(&b, "type", str_nonnull(c->type));
    str_append(&b, "}]}}");
    return str_buf_to_arena(&b, a);
}

char *condition_patch_remove(struct arena *a, const char *type)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"status\":{\"conditions\":[{\"$patch\":\"delete\"");
    str_append(&b, ",\"type\":");
    str_append_json_quoted(&b, type);
    str_append(&b, "}]}}");
    return str_buf_to_arena(&b, a);
}

char *annotations_patch(struct arena *a, const struct tt_kv *wish, const char *const *now, size_t n,
                        bool drops_all)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"metadata\":{\"annotations\":{");
    size_t before = b.len;
    for (size_t i = 0; i < n; i++) {
        bool named = wish[i].value == NULL && drops_all;
        if (!named && str_eq(wish[i].value, now[i])) {
            continue;
        }
        str_append(&b, b.len > before ? "," : "");
        str_append_json_quoted(&b, wish[i].key);
        str_append_c(&b, ':');
        if (wish[i].value != NULL) {
            str_append_json_quoted(&b, wish[i].value);
        } else {
            str_append(&b, "null");
        }
    }
    if (b.len == before) {
        return NULL;
    }
    str_append(&b, "}}}");
    return str_buf_to_arena(&b, a);
}

static void join_into(struct json_object *into, struct json_object *from)
{
    json_object_object_foreach(from, name, v)
    {
        struct json_object *was = json_member(into, name);
        if (was != NULL && json_object_is_type(v, json_type_object)) {
            join_into(was, v);
        } else if (was != NULL && json_object_is_type(v, json_type_array)) {
            for (size_t i = 0; i < json_len(v); i++) {
                json_object_array_add(was, json_copy(json_object_array_get_idx(v, i)));
            }
        } else {
            json_add(into, name, v != NULL ? json_copy(v) : NULL);
        }
    }
}

char *patches_join(struct arena *a, const char *const *patches, size_t n)
{
    if (n < 2) {
        return n == 0 ? NULL : arena_strdup(a, patches[0]);
    }
    struct json_object *all = json_object_new_object();
    json_add(all, "metadata", json_object_new_object()); /* first: patch_for_object() looks there */
    for (size_t i = 0; i < n; i++) {
        struct json_object *one = NULL;
        if (json_parse_arena(a, patches[i], strlen(patches[i]), NULL, &one, NULL) == ERR_OK) {
            join_into(all, one);
        }
    }
    if (json_object_object_length(json_member(all, "metadata")) == 0) {
        json_object_object_del(all, "metadata");
    }
    char *text = json_text(a, all, JSON_COMPACT);
    json_object_put(all);
    return text;
}

char *patch_for_object(struct arena *a, const char *patch, const char *uid, const char *version)
{
    static const char meta[] = "{\"metadata\":{";
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    bool has_meta = str_has_prefix(patch, meta);
    if (str_is_empty(uid)) {
        return arena_strdup(a, patch);
    }
    str_append(&b, "{\"metadata\":{\"uid\":");
    str_append_json_quoted(&b, uid);
    if (!str_is_empty(version)) {
        str_append(&b, ",\"resourceVersion\":");
        str_append_json_quoted(&b, version);
    }
    str_append(&b, has_meta ? "," : "},");
    str_append(&b, patch + (has_meta ? strlen(meta) : 1));
    return str_buf_to_arena(&b, a);
}
