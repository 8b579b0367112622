/* SPDX-License-Identifier: Apache-2.0 */
/* write.c: insert, patch, update, delete and setLabels, the same for every collection.
 *
 * A new body gets its defaults, its references are checked and made full links, the collection's
 * own check has its say, and the server's members are added.  PATCH changes what it names (null
 * removes), PUT replaces everything that is not the server's.  A referenced resource cannot be
 * deleted.  Source: gce-cloud-provider.md §3.6, §16. */
#include "sim/compute/compute.h"

#include <string.h>
#include <time.h>

/* Members of the server: a PUT does not touch them. */
static const char *const server_members[] = {"kind",   "id",     "creationTimestamp", "selfLink",
                                             "region", "zone",   "fingerprint",       "size",
                                             "users",  "status", "labelFingerprint",  "namedPorts"};

char *compute_time(struct compute *c, struct arena *a)
{
    int64_t us = clock_wall_us(sim_clock(c->sim)) - 8LL * 3600 * 1000000;
    time_t s = (time_t)(us / 1000000);
    struct tm tm;
    gmtime_r(&s, &tm);
    return arena_printf(a, "%04d-%02d-%02dT%02d:%02d:%02d.%03d-08:00", tm.tm_year + 1900,
                        tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                        (int)(us / 1000 % 1000));
}

char *compute_fingerprint(struct compute *c, struct arena *a)
{
    unsigned char bytes[8];
    rng_bytes(sim_rng(c->sim), bytes, sizeof(bytes));
    return str_base64_encode(a, bytes, sizeof(bytes), false);
}

/* Adds the members of `from` that `to` lacks. */
static void add_missing(struct json_object *to, struct json_object *from)
{
    json_object_object_foreach(from, key, value)
    {
        if (!json_object_object_get_ex(to, key, NULL)) {
            json_object_object_add(to, key, json_object_get(value));
        }
    }
}

static void add_defaults(struct request *q, struct json_object *body)
{
    struct json_object *defaults = NULL;
    const char *text = q->col->defaults;
    if (text && json_parse_arena(q->a, text, strlen(text), NULL, &defaults, NULL) == ERR_OK) {
        struct json_object *copy = json_copy(defaults);
        add_missing(body, copy);
        json_object_put(copy);
    }
}

static bool check_required(struct request *q, struct json_object *body)
{
    for (const char *const *m = q->col->required; m && *m; m++) {
        if (!json_member(body, *m)) {
            return ce_refuse_required(&q->refusal, q->a, arena_printf(q->a, "resource.%s", *m));
        }
    }
    return true;
}

/* --- insert ----------------------------------------------------------------------------------- */

static void add_server_members(struct request *q, struct json_object *body, const char *path)
{
    struct compute *c = q->c;
    json_add_str(body, "kind", q->col->kind);
    json_add_str(body, "id", arena_printf(q->a, "%llu", (unsigned long long)ce_store_next_id(c)));
    json_add_str(body, "creationTimestamp", compute_time(c, q->a));
    json_add_str(body, "selfLink", ce_link_full(q->a, path));
    if (q->scope == SCOPE_REGION || q->scope == SCOPE_ZONE) {
        const char *place =
            arena_printf(q->a, "projects/%s/%s", q->project, ce_path_scope(q->a, path));
        json_add_str(body, q->scope == SCOPE_ZONE ? "zone" : "region", ce_link_full(q->a, place));
    }
    if (q->col->fingerprint) {
        json_add_str(body, "fingerprint", compute_fingerprint(c, q->a));
    }
    if (ce_schema_field_of(q->op->request, "labelFingerprint")) {
        json_add_str(body, "labelFingerprint", compute_fingerprint(c, q->a));
    }
}

bool ce_write_insert(struct request *q)
{
    const char *name = json_str(q->body, "name");
    if (!name) {
        return ce_refuse_required(&q->refusal, q->a, "resource.name");
    }
    const char *path = arena_printf(q->a, "%s/%s", q->folder, name);
    if (ce_store_get(q->c, path)) {
        return ce_refuse(&q->refusal, q->a, 409, "alreadyExists",
                         "The resource '%s' already exists", path);
    }
    add_defaults(q, q->body);
    if (!check_required(q, q->body) || !ce_references_check(q, q->body) || !ce_quota_check(q) ||
        (q->col->insert && !q->col->insert(q, q->body))) {
        return false;
    }
    add_server_members(q, q->body, path);
    struct resource *res = ce_store_put(q->c, path, json_object_get(q->body));
    if (q->col->has_members) {
        res->members = json_object_new_array();
    }
    if (q->col->after) {
        q->col->after(q, q->body);
    }
    return true;
}

/* --- patch and update ------------------------------------------------------------------------- */

/* RFC 7396: objects are merged, null removes, everything else replaces. */
static void merge(struct json_object *to, struct json_object *patch)
{
    json_object_object_foreach(patch, key, value)
    {
        struct json_object *old = json_member(to, key);
        if (!value) {
            json_object_object_del(to, key);
        } else if (json_object_is_type(value, json_type_object) &&
                   json_object_is_type(old, json_type_object)) {
            merge(old, value);
        } else {
            json_add(to, key, json_copy(value));
        }
    }
}

static bool same_value(struct request *q, struct json_object *x, struct json_object *y)
{
    if (json_object_is_type(x, json_type_string) && json_object_is_type(y, json_type_string) &&
        ce_link_same(q->a, json_object_get_string(x), json_object_get_string(y), q->folder)) {
        return true;
    }
    return json_equal(x, y);
}

static bool check_immutable(struct request *q, struct json_object *body)
{
    struct json_object *old = q->res->body;
    for (const char *const *m = q->col->immutable; m && *m; m++) {
        struct json_object *now = json_member(body, *m), *was = json_member(old, *m);
        if (!now && was) {
            json_add(body, *m, json_copy(was));
        } else if (now && was && !same_value(q, now, was)) {
            return ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "resource.%s", *m),
                                     json_object_get_string(now),
                                     "This field cannot be changed after the resource was made.");
        }
    }
    return true;
}

bool ce_write_check_fingerprint(struct request *q, bool needed)
{
    const char *sent = json_str(q->body, "fingerprint");
    const char *now = json_str(q->res->body, "fingerprint");
    if (!q->col->fingerprint || (!sent && !needed) || (sent && str_eq(sent, now))) {
        return true;
    }
    if (!sent) {
        return ce_refuse_required(&q->refusal, q->a, "resource.fingerprint");
    }
    return ce_refuse(&q->refusal, q->a, 412, "conditionNotMet", "Invalid fingerprint.");
}

void ce_write_store(struct request *q, struct json_object *body)
{
    if (q->col->fingerprint) {
        json_add_str(body, "fingerprint", compute_fingerprint(q->c, q->a));
    }
    q->res = ce_store_put(q->c, q->res->path, body);
    if (q->col->after) {
        q->col->after(q, body);
    }
}

static bool change(struct request *q, struct json_object *body)
{
    const char *name = json_str(body, "name");
    if (!name || !str_eq(name, q->name)) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.name", str_nonnull(name),
                                 "The name does not match that of the path.");
    }
    if (!check_immutable(q, body) || !ce_references_check(q, body) ||
        (q->col->change && !q->col->change(q, q->res->body, body))) {
        return false;
    }
    ce_write_store(q, json_object_get(body));
    return true;
}

bool ce_write_patch(struct request *q)
{
    if (!ce_write_check_fingerprint(q, false)) {
        return false;
    }
    struct json_object *body = json_copy(q->res->body);
    merge(body, q->body);
    add_defaults(q, body); /* null sets back */
    bool ok = change(q, body);
    json_object_put(body);
    return ok;
}

bool ce_write_update(struct request *q)
{
    if (!ce_write_check_fingerprint(q, true)) {
        return false;
    }
    struct json_object *body = json_copy(q->body);
    for (size_t i = 0; i < ARRAY_LEN(server_members); i++) {
        struct json_object *was = json_member(q->res->body, server_members[i]);
        if (was) {
            json_add(body, server_members[i], json_copy(was));
        }
    }
    if (!json_member(body, "name")) {
        json_add_str(body, "name", q->name);
    }
    add_defaults(q, body);
    bool ok = check_required(q, body) && change(q, body);
    json_object_put(body);
    return ok;
}

/* --- delete and labels ------------------------------------------------------------------------ */

bool ce_write_delete(struct request *q)
{
    const char *user = ce_references_user(q->c, q->a, q->res->path);
    if (user) {
        return ce_refuse_in_use(&q->refusal, q->a, q->res, user);
    }
    if (q->col->remove && !q->col->remove(q)) {
        return false;
    }
    struct json_object *body = json_object_get(q->res->body);
    ce_store_remove(q->c, q->res->path);
    q->res = NULL;
    if (q->col->after) {
        q->col->after(q, body);
    }
    json_object_put(body);
    return true;
}

bool ce_write_set_labels(struct request *q)
{
    const char *sent = json_str(q->body, "labelFingerprint");
    const char *now = json_str(q->res->body, "labelFingerprint");
    if (now && !str_eq(sent, now)) {
        return ce_refuse(&q->refusal, q->a, 412, "conditionNotMet",
                         "Labels fingerprint either invalid or resource labels have changed");
    }
    struct json_object *body = json_copy(q->res->body);
    struct json_object *labels = json_member(q->body, "labels");
    json_add(body, "labels", labels ? json_copy(labels) : json_object_new_object());
    json_add_str(body, "labelFingerprint", compute_fingerprint(q->c, q->a));
    q->res = ce_store_put(q->c, q->res->path, body);
    return true;
}
