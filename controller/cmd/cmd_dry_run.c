/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dry_run.c: asks the API server for a dry run, and compares its answer; see the header.
 *
 * A right that is lacking and an admission that refuses are both 403; the authorizer's words tell
 * them apart ("User … cannot create resource"). */
#include "controller/cmd/cmd_dry_run.h"
#include "common/net/url_build.h"

#include <string.h>

#define FIELD_MANAGER "kubectl-client-side-apply"
#define SHOWN_MAX     8   /* differences per note */
#define VALUE_MAX     120 /* bytes of a value in a note */

/* ---- the request ----------------------------------------------------------------------------- */

static const char *query(struct cmd_dry_run *d)
{
    static const char *const words[] = {[CMD_VALIDATE_STRICT] = "Strict",
                                        [CMD_VALIDATE_WARN] = "Warn",
                                        [CMD_VALIDATE_IGNORE] = "Ignore"};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    url_append_pair(&b, "dryRun", "All");
    url_append_pair(&b, "fieldManager", FIELD_MANAGER);
    url_append_pair(&b, "fieldValidation", words[d->validate]);
    return str_buf_to_arena(&b, d->a);
}

static struct json_object *meta_of(struct json_object *o)
{
    return json_member(o, "metadata");
}

/* The whole manifest, as kubectl sends it. */
static struct json_object *create_body(const struct cmd_manifest *m)
{
    struct json_object *o = json_copy(m->object);
    json_add_str(o, "apiVersion", "v1");
    json_add_str(o, "kind", "Service");
    json_add_str(meta_of(o), "namespace", m->ns);
    json_object_object_del(o, "status");
    return o;
}

static bool has_port(struct json_object *ports, int64_t number)
{
    for (size_t i = 0; i < json_len(ports); i++) {
        if (json_int(json_object_array_get_idx(ports, i), "port", 0) == number) {
            return true;
        }
    }
    return false;
}

/* Ports are merged by their number. */
static void delete_ports(struct json_object *ports, struct json_object *last)
{
    struct json_object *now = json_copy(ports);
    for (size_t i = 0; i < json_len(last); i++) {
        int64_t number = json_int(json_object_array_get_idx(last, i), "port", 0);
        if (number != 0 && !has_port(now, number)) {
            struct json_object *gone = json_object_new_object();
            json_add_str(gone, "$patch", "delete");
            json_add_int(gone, "port", number);
            json_object_array_add(ports, gone);
        }
    }
    json_object_put(now);
}

/* null for each member that only `last` has. */
static void delete_missing(struct json_object *o, struct json_object *last)
{
    json_object_object_foreach(last, name, was)
    {
        struct json_object *now = json_member(o, name);
        if (was == NULL) {
            continue;
        }
        if (now == NULL) {
            json_object_object_del(o, name);
            json_add(o, name, NULL);
        } else if (str_eq(name, "ports") && json_object_is_type(now, json_type_array)) {
            delete_ports(now, was);
        } else if (json_object_is_type(now, json_type_object) &&
                   json_object_is_type(was, json_type_object)) {
            delete_missing(now, was);
        }
    }
}

struct json_object *cmd_dry_run_patch(struct arena *a, const struct cmd_manifest *m,
                                      struct json_object *live)
{
    static const char *const fixed[] = {"apiVersion", "kind", "status"};
    static const char *const named[] = {"name", "namespace"};
    struct json_object *o = json_copy(m->object);
    struct json_object *last = cmd_manifest_last_applied(a, live);
    if (last != NULL) {
        delete_missing(o, last);
    }
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        json_object_object_del(o, fixed[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        json_object_object_del(meta_of(o), named[i]);
    }
    return o;
}

static bool lacks_right(const struct err *err)
{
    return err->http_status == 403 && strstr(err->message, " is forbidden: User \"") != NULL &&
           strstr(err->message, " cannot ") != NULL;
}

bool cmd_dry_run_refuses(const struct err *err)
{
    int code = err->code;
    return code == ERR_INVALID || code == ERR_FORBIDDEN || code == ERR_NOT_FOUND ||
           code == ERR_CONFLICT || code == ERR_EXISTS;
}

static int ask(struct cmd_dry_run *d, const struct cmd_manifest *m, struct json_object *live,
               struct kube_response *ret, struct err *err)
{
    _cleanup_(json_putp) struct json_object *body =
        live == NULL ? create_body(m) : cmd_dry_run_patch(d->a, m, live);
    char *path;
    int code =
        kube_path(d->a, "v1", m->ns, "services", live == NULL ? NULL : m->name, NULL, &path, err);
    const struct kube_request req = {
        .method = live == NULL ? "POST" : "PATCH",
        .path = path,
        .query = query(d),
        .content_type = live == NULL ? NULL : KUBE_STRATEGIC_PATCH,
        .body = json_text(d->a, body, JSON_COMPACT),
    };
    return code == ERR_OK ? kube_client_do(d->client, d->a, &req, NULL, ret, err) : code;
}

int cmd_dry_run_ask(struct cmd_dry_run *d, const struct cmd_manifest *m, struct json_object *live,
                    struct json_object **ret, struct err *err)
{
    struct kube_response resp = {0};
    struct json_object *o = NULL;
    int code = ask(d, m, live, &resp, err);
    d->lacking = NULL;
    *ret = NULL;
    if (code != ERR_OK && lacks_right(err)) {
        d->lacking = arena_strdup(d->a, err->message);
        err_clear(err);
        return ERR_OK;
    }
    if (code == ERR_OK) {
        code = json_parse(resp.body, resp.body_len, NULL, &o, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    if (live == NULL) {
        cmd_manifest_stand_in(d->a, m, o);
    }
    *ret = o;
    return ERR_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

struct differences {
    struct arena *a;
    struct str_buf filled, changed;
    size_t n_filled, n_changed;
};

static const char *short_text(struct differences *d, struct json_object *v)
{
    const char *text = v == NULL ? "absent" : json_text(d->a, v, JSON_COMPACT);
    return strlen(text) <= VALUE_MAX ? text : arena_printf(d->a, "%.*s…", VALUE_MAX, text);
}

/* Numbers and addresses that the server chooses: ours stand in for them. */
static bool is_chosen(const char *name)
{
    static const char *const names[] = {"nodePort", "healthCheckNodePort"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(name, names[i])) {
            return true;
        }
    }
    return false;
}

static void differ(struct differences *d, const char *path, const char *name,
                   struct json_object *ours, struct json_object *theirs)
{
    bool fills = theirs != NULL && (ours == NULL || is_chosen(name));
    struct str_buf *b = fills ? &d->filled : &d->changed;
    size_t *n = fills ? &d->n_filled : &d->n_changed;
    if (++*n > SHOWN_MAX) {
        return;
    }
    str_append(b, *n > 1 ? ", " : "");
    if (fills) {
        str_appendf(b, "%s %s", path, short_text(d, theirs));
    } else {
        str_appendf(b, "%s from %s to %s", path, short_text(d, ours), short_text(d, theirs));
    }
}

static void compare(struct differences *d, const char *path, const char *name,
                    struct json_object *ours, struct json_object *theirs);

static void compare_members(struct differences *d, const char *path, struct json_object *ours,
                            struct json_object *theirs)
{
    json_object_object_foreach(theirs, name, theirs_value)
    {
        compare(d, arena_printf(d->a, "%s.%s", path, name), name, json_member(ours, name),
                theirs_value);
    }
    json_object_object_foreach(ours, key, ours_value)
    {
        if (ours_value != NULL && json_member(theirs, key) == NULL) {
            differ(d, arena_printf(d->a, "%s.%s", path, key), key, ours_value, NULL);
        }
    }
}

static void compare(struct differences *d, const char *path, const char *name,
                    struct json_object *ours, struct json_object *theirs)
{
    bool maps = json_object_is_type(ours, json_type_object) &&
                json_object_is_type(theirs, json_type_object);
    bool ports = str_eq(name, "ports") && json_len(ours) == json_len(theirs);
    if (maps) {
        compare_members(d, path, ours, theirs);
    } else if (ports) {
        for (size_t i = 0; i < json_len(ours); i++) {
            compare(d, arena_printf(d->a, "%s[%zu]", path, i), "port",
                    json_object_array_get_idx(ours, i), json_object_array_get_idx(theirs, i));
        }
    } else if (theirs == NULL ? ours != NULL : ours == NULL || !json_equal(ours, theirs)) {
        differ(d, path, name, ours, theirs);
    }
}

static const char *note_of(struct differences *d, const struct str_buf *b, size_t n,
                           const char *verb)
{
    if (n == 0) {
        return NULL;
    }
    const char *more = n > SHOWN_MAX ? arena_printf(d->a, ", and %zu more", n - SHOWN_MAX) : "";
    return arena_printf(d->a, "the API server's dry run %s → %s%s", verb, str_buf_text(b), more);
}

struct cmd_dry_run_notes cmd_dry_run_compare(struct arena *a, struct json_object *ours,
                                             struct json_object *servers)
{
    static const char *const meta[] = {"labels", "annotations", "finalizers"};
    struct differences d = {.a = a};
    for (size_t i = 0; i < ARRAY_LEN(meta); i++) {
        struct json_object *x = json_member(meta_of(ours), meta[i]);
        struct json_object *y = json_member(meta_of(servers), meta[i]);
        bool empty = json_object_is_type(x, json_type_object) && json_object_object_length(x) == 0;
        if (empty && y == NULL) {
            continue; /* the server does not keep empty maps */
        }
        compare(&d, arena_printf(a, "metadata.%s", meta[i]), meta[i], x, y);
    }
    compare(&d, "spec", "spec", json_member(ours, "spec"), json_member(servers, "spec"));
    const struct cmd_dry_run_notes notes = {note_of(&d, &d.filled, d.n_filled, "fills in"),
                                            note_of(&d, &d.changed, d.n_changed, "changes")};
    str_buf_done(&d.filled);
    str_buf_done(&d.changed);
    return notes;
}
