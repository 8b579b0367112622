/* SPDX-License-Identifier: Apache-2.0 */
/* gce_model.c: see gce_model.h.
 *
 * Each verb is a function; what a collection demands beside is in the check_* functions.  Errors
 * are the codes that the provider gets for the same refusal. */
#include "tests/golden/gce_model.h"

#include <string.h>

#define LINK_BASE "https://www.googleapis.com/compute/v1/projects/p1/"

static const char *const folders[GCE_COLLECTION_MAX] = {
    [GCE_ADDRESSES] = "addresses",        [GCE_RULES] = "forwardingRules",
    [GCE_FIREWALLS] = "firewalls",        [GCE_BACKENDS] = "backendServices",
    [GCE_HCS] = "healthChecks",           [GCE_REGION_HCS] = "healthChecks",
    [GCE_NEGS] = "networkEndpointGroups", [GCE_GROUPS] = "instanceGroups",
    [GCE_SUBNETWORKS] = "subnetworks",
};

static bool is_global(enum gce_collection c)
{
    return c == GCE_FIREWALLS || c == GCE_HCS;
}

const char *gce_model_path(const struct gce_model *m, enum gce_collection c, const char *zone,
                           const char *name)
{
    if (c == GCE_NEGS || c == GCE_GROUPS) {
        return arena_printf(m->a, "zones/%s/%s/%s", zone, folders[c], name);
    }
    return is_global(c) ? arena_printf(m->a, "global/%s/%s", folders[c], name)
                        : arena_printf(m->a, "regions/%s/%s/%s", m->region, folders[c], name);
}

struct json_object *gce_model_get(const struct gce_model *m, enum gce_collection c,
                                  const char *zone, const char *name)
{
    return json_member(m->resources, gce_model_path(m, c, zone, name));
}

/* From "zones/", "regions/" or "global/" on. */
static const char *path_of_link(const char *link)
{
    static const char *const starts[] = {"/zones/", "/regions/", "/global/"};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        const char *at = strstr(str_nonnull(link), starts[i]);
        if (at != NULL) {
            return at + 1;
        }
    }
    return str_nonnull(link);
}

static const char *last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static const char *without_prefix(struct gce_model *m, const char *ip)
{
    return arena_strndup(m->a, ip, strcspn(ip, "/"));
}

static void broken(struct gce_model *m, const char *what, const char *name)
{
    str_appendf(m->broken, "BROKEN: %s: %s\n", what, name);
}

/* ---- what the cloud fills in ----------------------------------------------------------------- */

static void fill(struct json_object *o, const char *member, const char *value)
{
    if (str_is_empty(json_str(o, member))) {
        json_add_str(o, member, value);
    }
}

static const char *next_ip(struct gce_model *m, bool internal, bool v6)
{
    int n = m->next++;
    if (v6) {
        return arena_printf(m->a, internal ? "fd20:0:0:%x:0:0:0:0" : "2600:1900:4000:%x:0:0:0:0",
                            n);
    }
    return arena_printf(m->a, internal ? "10.128.0.%d" : "203.0.113.%d", n);
}

static void fill_rule(struct gce_model *m, struct json_object *o)
{
    bool internal = str_eq(json_str(o, "loadBalancingScheme"), "INTERNAL");
    bool v6 = str_eq(json_str(o, "ipVersion"), "IPV6");
    fill(o, "ipVersion", "IPV4");
    fill(o, "networkTier", "PREMIUM");
    if (str_is_empty(json_str(o, "IPAddress"))) {
        json_add_str(o, "IPAddress", next_ip(m, internal, v6));
    }
    const char *ip = json_str(o, "IPAddress");
    if (v6 && strchr(ip, '/') == NULL) {
        json_add_str(o, "IPAddress", arena_printf(m->a, "%s/96", ip));
    }
}

static void fill_resource(struct gce_model *m, enum gce_collection c, const char *path,
                          struct json_object *o)
{
    fill(o, "name", last(path));
    fill(o, "selfLink", arena_printf(m->a, LINK_BASE "%s", path));
    if (json_member(o, "id") == NULL) {
        json_add_str(o, "id", arena_printf(m->a, "%d", m->next++));
    }
    switch (c) {
    case GCE_RULES:
        fill_rule(m, o);
        break;
    case GCE_ADDRESSES:
        if (str_is_empty(json_str(o, "address"))) {
            json_add_str(o, "address",
                         next_ip(m, str_eq(json_str(o, "addressType"), "INTERNAL"),
                                 str_eq(json_str(o, "ipVersion"), "IPV6")));
        }
        fill(o, "addressType", "EXTERNAL");
        break;
    case GCE_FIREWALLS:
        fill(o, "direction", "INGRESS");
        if (json_int(o, "priority", 0) == 0) {
            json_add_int(o, "priority", 1000);
        }
        break;
    case GCE_BACKENDS:
        fill(o, "fingerprint", arena_printf(m->a, "fp%d", m->next++));
        break;
    default:
        break;
    }
}

static enum gce_collection collection_of(const char *path)
{
    for (int c = 0; c < GCE_COLLECTION_MAX; c++) {
        const char *at = folders[c] == NULL ? NULL : strstr(path, folders[c]);
        bool global = str_has_prefix(path, "global/");
        if (at != NULL && at[-1] == '/' && at[strlen(folders[c])] == '/' &&
            global == is_global((enum gce_collection)c)) {
            return (enum gce_collection)c;
        }
    }
    return GCE_COLLECTION_MAX;
}

static struct json_object *endpoint_of(struct json_object *given)
{
    if (json_object_is_type(given, json_type_object)) {
        return json_copy(given);
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "instance", json_object_get_string(given));
    return o;
}

void gce_model_init(struct gce_model *m, struct arena *a, struct json_object *observed,
                    struct json_object *members)
{
    m->a = a;
    m->region = "us-central1";
    m->next = 100;
    m->resources = json_object_new_object();
    m->members = json_object_new_object();
    m->unheld = json_object_new_array();
    json_object_object_foreach(observed, path, given)
    {
        struct json_object *o = json_copy(given);
        json_add(m->resources, path, o);
        fill_resource(m, collection_of(path), path, o);
    }
    if (members == NULL) {
        return;
    }
    json_object_object_foreach(members, zone, list)
    {
        struct json_object *own = json_object_new_array();
        for (size_t i = 0; i < json_len(list); i++) {
            json_object_array_add(own, endpoint_of(json_object_array_get_idx(list, i)));
        }
        json_add(m->members, zone, own);
    }
}

void gce_model_done(struct gce_model *m)
{
    json_object_put(m->resources);
    json_object_put(m->members);
    json_object_put(m->unheld);
}

static void forget_members(struct gce_model *m, const char *path)
{
    const char *zone = path + strlen("zones/");
    if (collection_of(path) == GCE_NEGS) {
        json_object_object_del(m->members, arena_strndup(m->a, zone, strcspn(zone, "/")));
    }
}

void gce_model_merge(struct gce_model *m, struct json_object *given)
{
    json_object_object_foreach(given, path, o)
    {
        if (o == NULL) {
            json_object_object_del(m->resources, path);
            forget_members(m, path);
            continue;
        }
        struct json_object *now = json_copy(o);
        json_add(m->resources, path, now);
        fill_resource(m, collection_of(path), path, now);
    }
}

/* ---- references ------------------------------------------------------------------------------ */

static bool is_there(const struct gce_model *m, const char *link)
{
    const char *path = path_of_link(link);
    return json_member(m->resources, path) != NULL;
}

/* Does that resource refer to the path? */
static bool refers(struct json_object *o, const char *path)
{
    struct json_object *checks = json_member(o, "healthChecks");
    struct json_object *backends = json_member(o, "backends");
    bool found = str_eq(path_of_link(json_str(o, "backendService")), path);
    for (size_t i = 0; i < json_len(checks); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(checks, i));
        found = found || str_eq(path_of_link(link), path);
    }
    for (size_t i = 0; i < json_len(backends); i++) {
        const char *link = json_str(json_object_array_get_idx(backends, i), "group");
        found = found || str_eq(path_of_link(link), path);
    }
    return found;
}

static bool is_in_use(const struct gce_model *m, const char *path)
{
    json_object_object_foreach(m->resources, other, o)
    {
        if (!str_eq(other, path) && refers(o, path)) {
            return true;
        }
    }
    return false;
}

/* ---- what is demanded ------------------------------------------------------------------------ */

static int check_backend(const struct gce_model *m, struct json_object *o, struct err *err)
{
    struct json_object *checks = json_member(o, "healthChecks");
    struct json_object *backends = json_member(o, "backends");
    for (size_t i = 0; i < json_len(checks); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(checks, i));
        if (!is_there(m, link)) {
            return err_set(err, ERR_NOT_FOUND, "there is no health check %s", link);
        }
    }
    for (size_t i = 0; i < json_len(backends); i++) {
        const char *link = json_str(json_object_array_get_idx(backends, i), "group");
        if (!is_there(m, link)) {
            return err_set(err, ERR_NOT_FOUND, "there is no group %s", link);
        }
    }
    return ERR_OK;
}

/* A holder of the address: an address resource (`reserved`) or another rule. */
static struct json_object *owner_of_ip(struct gce_model *m, const char *ip, bool reserved)
{
    const char *member = reserved ? "address" : "IPAddress";
    json_object_object_foreach(m->resources, path, o)
    {
        const char *has = json_str(o, member);
        (void)path;
        if (has != NULL && str_eq(without_prefix(m, has), without_prefix(m, ip))) {
            return o;
        }
    }
    return NULL;
}

static int check_ip(struct gce_model *m, struct json_object *o, struct err *err)
{
    const char *ip = json_str(o, "IPAddress");
    if (str_is_empty(ip)) {
        return ERR_OK;
    }
    struct json_object *held = owner_of_ip(m, ip, true);
    bool external = str_eq(json_str(o, "loadBalancingScheme"), "EXTERNAL");
    if (held == NULL && owner_of_ip(m, ip, false) != NULL) {
        return err_set(err, ERR_IN_USE, "%s is in use by another rule and not reserved", ip);
    }
    if (external && held != NULL && json_str(held, "networkTier") != NULL &&
        !str_eq(json_str(held, "networkTier"), str_or(json_str(o, "networkTier"), "PREMIUM"))) {
        return err_set(err, ERR_INVALID, "%s is of another network tier", ip);
    }
    return ERR_OK;
}

static int check_rule(struct gce_model *m, struct json_object *o, struct err *err)
{
    const char *link = json_str(o, "backendService");
    struct json_object *b = json_member(m->resources, path_of_link(link));
    if (b == NULL) {
        return err_set(err, ERR_NOT_FOUND, "there is no backend service %s", str_nonnull(link));
    }
    const char *protocol = str_nonnull(json_str(o, "IPProtocol"));
    const char *service = json_str(b, "protocol");
    if (!str_eq(json_str(o, "loadBalancingScheme"), json_str(b, "loadBalancingScheme"))) {
        return err_set(err, ERR_INVALID, "rule and backend service are of different schemes");
    }
    if (str_eq(protocol, "L3_DEFAULT")
            ? !str_eq(service, "UNSPECIFIED")
            : !str_eq(service, "UNSPECIFIED") && !str_eq(service, protocol)) {
        return err_set(err, ERR_INVALID, "a %s rule cannot use a backend service of %s", protocol,
                       str_nonnull(service));
    }
    return check_ip(m, o, err);
}

static int check_resource(struct gce_model *m, enum gce_collection c, struct json_object *o,
                          struct err *err)
{
    switch (c) {
    case GCE_RULES:
        return check_rule(m, o, err);
    case GCE_BACKENDS:
        return check_backend(m, o, err);
    case GCE_FIREWALLS:
        return json_len(json_member(o, "targetTags")) > 0
                   ? ERR_OK
                   : err_set(err, ERR_INVALID, "a firewall without targetTags");
    default:
        return ERR_OK;
    }
}

static const char *destination(struct gce_model *m, struct json_object *o)
{
    struct json_object *list = json_member(o, "destinationRanges");
    return json_len(list) == 0
               ? ""
               : without_prefix(m, json_object_get_string(json_object_array_get_idx(list, 0)));
}

/* For that address, too: beside that of a rule that is replaced it has the new one's. */
static bool is_for(struct gce_model *m, struct json_object *allow, const char *ip)
{
    struct json_object *list = json_member(allow, "destinationRanges");
    bool is = json_len(list) == 0 && *ip == '\0';
    for (size_t i = 0; i < json_len(list); i++) {
        const char *one = json_object_get_string(json_object_array_get_idx(list, i));
        is = is || str_eq(without_prefix(m, one), ip);
    }
    return is;
}

/* gce-l4.md §9.5 rule 2: no deny firewall stands without one above it that allows, as long
 * as there is traffic. */
static void watch_deny(struct gce_model *m)
{
    json_object_object_foreach(m->resources, path, deny)
    {
        bool covered = json_member(deny, "denied") == NULL ||
                       owner_of_ip(m, destination(m, deny), false) == NULL;
        json_object_object_foreach(m->resources, other, allow)
        {
            covered =
                covered ||
                (str_has_prefix(other, "global/firewalls/") &&
                 json_member(allow, "allowed") != NULL && is_for(m, allow, destination(m, deny)) &&
                 json_int(allow, "priority", 1000) < json_int(deny, "priority", 1000));
        }
        if (!covered) {
            broken(m, "deny stands above allow (rule 2)", last(path));
        }
    }
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static int do_insert(struct gce_model *m, const struct gce_model_call *call, const char *path,
                     struct json_object **ret, struct err *err)
{
    if (json_member(m->resources, path) != NULL) {
        return err_set(err, ERR_EXISTS, "%s exists already", path);
    }
    int rc = check_resource(m, call->c, call->body, err);
    const char *ip = call->c == GCE_ADDRESSES ? json_str(call->body, "address") : NULL;
    if (ip != NULL && owner_of_ip(m, ip, true) != NULL) {
        return err_set(err, ERR_EXISTS, "%s is reserved already", ip);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *o = json_copy(call->body);
    json_add(m->resources, path, o);
    fill_resource(m, call->c, path, o);
    *ret = o;
    return ERR_OK;
}

static size_t n_backends(struct json_object *o)
{
    return json_len(json_member(o, "backends"));
}

static int do_update(struct gce_model *m, const struct gce_model_call *call, const char *path,
                     struct json_object *is, struct err *err)
{
    struct json_object *body = call->body;
    int rc = check_resource(m, call->c, body, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (call->c == GCE_BACKENDS) {
        if (!str_eq(json_str(body, "fingerprint"), json_str(is, "fingerprint"))) {
            return err_set(err, ERR_CONFLICT, "the fingerprint of %s is outdated", call->name);
        }
        if (!str_eq(json_str(body, "protocol"), json_str(is, "protocol")) && is_in_use(m, path)) {
            return err_set(err, ERR_IN_USE, "%s is in use by a rule: its protocol stays",
                           call->name);
        }
        if (!str_eq(json_str(body, "loadBalancingScheme"), json_str(is, "loadBalancingScheme"))) {
            return err_set(err, ERR_INVALID, "the scheme of %s cannot change", call->name);
        }
        if (n_backends(is) > 0 && n_backends(body) == 0) {
            broken(m, "a write took all backends away (rule 6)", call->name);
        }
    }
    struct json_object *o = json_copy(body);
    json_object_object_del(o, "fingerprint");
    json_add_str(o, "id", json_str(is, "id"));
    json_add(m->resources, path, o);
    fill_resource(m, call->c, path, o);
    return ERR_OK;
}

static int do_patch(struct gce_model *m, const struct gce_model_call *call, const char *path,
                    struct json_object *is, struct err *err)
{
    if (call->c == GCE_RULES && !str_eq(json_str(call->body, "id"), json_str(is, "id")) &&
        json_int(call->body, "id", 0) != json_int(is, "id", -1)) {
        return err_set(err, ERR_INVALID, "the id of %s is another", call->name);
    }
    struct json_object *o = json_copy(is);
    json_object_object_foreach(call->body, member, value)
    {
        if (json_object_is_type(value, json_type_array) && json_len(value) == 0) {
            json_object_object_del(o, member);
        } else {
            json_add(o, member, json_copy(value));
        }
    }
    int rc = call->c == GCE_RULES ? ERR_OK : check_resource(m, call->c, o, err);
    if (rc != ERR_OK) {
        json_object_put(o);
        return rc;
    }
    json_add(m->resources, path, o);
    return ERR_OK;
}

/* gce-l4.md §9.5 rule 3: an address that a rule gets again later must be reserved while the rule is
 * deleted. */
static void watch_address(struct gce_model *m, const char *path, struct json_object *is)
{
    const char *ip = without_prefix(m, json_str(is, "IPAddress"));
    bool shared = false;
    json_object_object_foreach(m->resources, other, o)
    {
        const char *has = json_str(o, "IPAddress");
        shared =
            shared || (has != NULL && !str_eq(other, path) && str_eq(without_prefix(m, has), ip));
    }
    if (!shared && owner_of_ip(m, ip, true) == NULL) {
        json_push_str(m->unheld, ip);
    }
}

static int do_delete(struct gce_model *m, const struct gce_model_call *call, const char *path,
                     struct json_object *is, struct err *err)
{
    if (is_in_use(m, path)) {
        return err_set(err, ERR_IN_USE, "%s is in use", call->name);
    }
    if (call->c == GCE_RULES) {
        watch_address(m, path, is);
    }
    json_object_object_del(m->resources, path);
    if (call->c == GCE_NEGS) {
        json_object_object_del(m->members, call->zone);
    }
    return ERR_OK;
}

static int find_endpoint(struct json_object *list, const char *instance)
{
    for (size_t i = 0; i < json_len(list); i++) {
        if (str_eq(json_str(json_object_array_get_idx(list, i), "instance"), instance)) {
            return (int)i;
        }
    }
    return -1;
}

static int do_members(struct gce_model *m, const struct gce_model_call *call, struct err *err)
{
    struct json_object *is = json_member(m->members, call->zone);
    struct json_object *list = json_member(call->body, "networkEndpoints");
    if (is == NULL) {
        is = json_object_new_array();
        json_add(m->members, call->zone, is);
    }
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *e = json_object_array_get_idx(list, i);
        int at = find_endpoint(is, json_str(e, "instance"));
        if (call->verb == GCE_ATTACH) {
            json_object_array_add(is, json_copy(e));
        } else if (at < 0) {
            return err_set(err, ERR_INVALID, "%s is no member", json_str(e, "instance"));
        } else {
            json_object_array_del_idx(is, (size_t)at, 1);
        }
    }
    json_add_int(gce_model_get(m, GCE_NEGS, call->zone, call->name), "size", (int64_t)json_len(is));
    return ERR_OK;
}

int gce_model_do(struct gce_model *m, const struct gce_model_call *call,
                 struct json_object **ret_resource, struct err *err)
{
    const char *path = gce_model_path(m, call->c, call->zone, call->name);
    struct json_object *is = json_member(m->resources, path);
    struct json_object *made = NULL;
    int rc = ERR_OK;
    if (m->fails_in > 0 && --m->fails_in == 0) {
        return err_set(err, ERR_TRANSIENT, "the cloud is out of order");
    }
    if (call->c == GCE_FIREWALLS && m->forbids_firewall) {
        return err_set(err, ERR_FORBIDDEN, "firewalls are the network project's");
    }
    if (call->verb != GCE_INSERT && is == NULL) {
        return err_set(err, ERR_NOT_FOUND, "there is no %s", path);
    }
    switch (call->verb) {
    case GCE_INSERT:
        rc = do_insert(m, call, path, &made, err);
        break;
    case GCE_UPDATE:
        rc = do_update(m, call, path, is, err);
        break;
    case GCE_PATCH:
        rc = do_patch(m, call, path, is, err);
        break;
    case GCE_DELETE:
        rc = do_delete(m, call, path, is, err);
        break;
    default:
        rc = do_members(m, call, err);
        break;
    }
    watch_deny(m);
    if (ret_resource != NULL) {
        *ret_resource = made;
    }
    return rc;
}

void gce_model_end(struct gce_model *m)
{
    for (size_t i = 0; i < json_len(m->unheld); i++) {
        const char *ip = json_object_get_string(json_object_array_get_idx(m->unheld, i));
        if (owner_of_ip(m, ip, false) != NULL) {
            broken(m, "an address was nobody's for a while (rule 3)", ip);
        }
    }
    json_object_put(m->unheld);
    m->unheld = json_object_new_array();
}
