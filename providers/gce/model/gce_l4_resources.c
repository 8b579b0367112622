/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_resources.c: see gce_l4_resources.h.
 *
 * Reading by field tables; what lies one object deeper on the wire is read into a small struct of
 * its own and copied.  A backend service that is written back begins as a copy of what was read:
 * members that we do not know stay (gce-l4.md §9.5 rule 6). */
#include "providers/gce/model/gce_l4_resources.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_l4_names.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_wire.h"

#define MAX_BACKENDS 10000

/* ---- health check ---------------------------------------------------------------------------- */

struct hc_http {
    const char *path;
    int32_t port;
};
struct hc_wire {
    struct gce_hc hc;
    struct hc_http http;
    bool has_http;
};

static const struct json_field http_fields[] = {
    STR(path, hc_http, "requestPath"),
    I32(port, hc_http, "port"),
    {0},
};
static const struct json_field hc_fields[] = {
    STR(hc.name, hc_wire, "name"),
    STR(hc.description, hc_wire, "description"),
    STR(hc.type, hc_wire, "type"),
    STR(hc.link, hc_wire, "selfLink"),
    I32(hc.interval_s, hc_wire, "checkIntervalSec"),
    I32(hc.timeout_s, hc_wire, "timeoutSec"),
    I32(hc.healthy, hc_wire, "healthyThreshold"),
    I32(hc.unhealthy, hc_wire, "unhealthyThreshold"),
    OBJECT(http, has_http, hc_wire, "httpHealthCheck", http_fields),
    {0},
};

int gce_hc_decode_view(struct arena *a, const struct json_view *v, struct gce_hc *ret,
                       struct err *err)
{
    struct hc_wire w = {.hc = {.name = "", .description = "", .type = "", .path = "", .link = ""},
                        .http = {.path = ""}};
    int rc = gce_wire_decode(a, v, hc_fields, &w, "health check", err);
    if (rc == ERR_OK) {
        w.hc.path = w.http.path;
        w.hc.port = w.http.port;
        w.hc.has_http = w.has_http;
        *ret = w.hc;
    }
    return rc;
}
GCE_WIRE_TREE(gce_hc_decode, gce_hc)

/* ---- backend service ------------------------------------------------------------------------- */

struct bs_zonal {
    const char *spillover;
    double ratio;
};
struct bs_policy {
    struct bs_zonal zonal;
    bool has_zonal;
};
struct bs_wire {
    struct gce_bservice b;
    struct bs_policy policy;
    bool has_policy;
};

static const struct json_field backend_fields[] = {
    STR(group, gce_backend, "group"),
    STR(mode, gce_backend, "balancingMode"),
    {0},
};
static const struct json_field draining_fields[] = {
    I32(draining_s, gce_bservice, "drainingTimeoutSec"),
    {0},
};
static const struct json_field tracking_fields[] = {
    BOOL(strong, gce_bservice, "enableStrongAffinity"),
    STR(tracking_mode, gce_bservice, "trackingMode"),
    I32(idle_s, gce_bservice, "idleTimeoutSec"),
    {0},
};
static const struct json_field log_fields[] = {
    BOOL(log_enable, gce_bservice, "enable"),
    DOUBLE(log_rate, gce_bservice, "sampleRate"),
    STR(log_mode, gce_bservice, "optionalMode"),
    STRS(log_fields, gce_bservice, "optionalFields"),
    {0},
};
static const struct json_field zonal_fields[] = {
    STR(spillover, bs_zonal, "spillover"),
    DOUBLE(ratio, bs_zonal, "spilloverRatio"),
    {0},
};
static const struct json_field policy_fields[] = {
    OBJECT(zonal, has_zonal, bs_policy, "zonalAffinity", zonal_fields),
    {0},
};
/* Tables whose offsets are those of the backend service itself are decoded "into" its beginning. */
#define INSIDE(has_, name_, table)                                                                 \
    {                                                                                              \
        .name = (name_), .type = JSON_T_OBJECT, .offset = offsetof(struct bs_wire, b),             \
        .has_offset = offsetof(struct bs_wire, b.has_), .sub = (table)                             \
    }
static const struct json_field bs_fields[] = {
    STR(b.name, bs_wire, "name"),
    STR(b.description, bs_wire, "description"),
    STR(b.protocol, bs_wire, "protocol"),
    STR(b.scheme, bs_wire, "loadBalancingScheme"),
    STR(b.affinity, bs_wire, "sessionAffinity"),
    STR(b.network, bs_wire, "network"),
    STR(b.locality, bs_wire, "localityLbPolicy"),
    STR(b.fingerprint, bs_wire, "fingerprint"),
    STR(b.link, bs_wire, "selfLink"),
    STRS(b.checks, bs_wire, "healthChecks"),
    {.name = "backends",
     .type = JSON_T_OBJECTS,
     .offset = offsetof(struct bs_wire, b.backends),
     .count_offset = offsetof(struct bs_wire, b.n_backends),
     .sub = backend_fields,
     .sub_size = sizeof(struct gce_backend),
     .max_items = MAX_BACKENDS},
    INSIDE(has_draining, "connectionDraining", draining_fields),
    INSIDE(has_tracking, "connectionTrackingPolicy", tracking_fields),
    INSIDE(has_log, "logConfig", log_fields),
    OBJECT(policy, has_policy, bs_wire, "networkPassThroughLbTrafficPolicy", policy_fields),
    {0},
};

int gce_bservice_decode(struct arena *a, struct json_object *o, struct gce_bservice *ret,
                        struct err *err)
{
    struct bs_wire w = {.b = {.name = "",
                              .description = "",
                              .protocol = "",
                              .scheme = "",
                              .affinity = "",
                              .network = "",
                              .locality = "",
                              .fingerprint = "",
                              .link = "",
                              .tracking_mode = "",
                              .log_mode = ""},
                        .policy = {.zonal = {.spillover = ""}}};
    const struct json_view v = json_view_of_tree(o);
    int rc = gce_wire_decode(a, &v, bs_fields, &w, "backend service", err);
    if (rc != ERR_OK) {
        return rc;
    }
    for (size_t i = 0; i < w.b.n_backends; i++) {
        w.b.backends[i].group = str_nonnull(w.b.backends[i].group);
        w.b.backends[i].mode = str_nonnull(w.b.backends[i].mode);
    }
    w.b.has_zonal = w.policy.has_zonal;
    w.b.spillover = w.policy.zonal.spillover;
    w.b.spillover_ratio = w.policy.zonal.ratio;
    w.b.raw = o;
    *ret = w.b;
    return ERR_OK;
}

/* ---- NEG, group, subnetwork ------------------------------------------------------------------ */

static const struct json_field neg_fields[] = {
    STR(name, gce_neg, "name"),
    STR(zone, gce_neg, "zone"),
    STR(description, gce_neg, "description"),
    STR(type, gce_neg, "networkEndpointType"),
    STR(network, gce_neg, "network"),
    STR(subnetwork, gce_neg, "subnetwork"),
    STR(link, gce_neg, "selfLink"),
    I32(size, gce_neg, "size"),
    {0},
};

int gce_neg_decode_view(struct arena *a, const struct json_view *v, struct gce_neg *ret,
                        struct err *err)
{
    struct gce_neg n = {.name = "",
                        .zone = "",
                        .description = "",
                        .type = "",
                        .network = "",
                        .subnetwork = "",
                        .link = ""};
    int rc = gce_wire_decode(a, v, neg_fields, &n, "network endpoint group", err);
    if (rc == ERR_OK) {
        n.zone = gce_link_last(n.zone) /* resources tell it by link */;
        n.id = gce_wire_decimal(a, v, "id");
        *ret = n;
    }
    return rc;
}
GCE_WIRE_TREE(gce_neg_decode, gce_neg)

static const struct json_field group_fields[] = {
    STR(name, gce_group, "name"),
    STR(zone, gce_group, "zone"),
    STR(link, gce_group, "selfLink"),
    I32(size, gce_group, "size"),
    {0},
};

int gce_group_decode_view(struct arena *a, const struct json_view *v, struct gce_group *ret,
                          struct err *err)
{
    struct gce_group g = {.name = "", .zone = "", .link = ""};
    int rc = gce_wire_decode(a, v, group_fields, &g, "instance group", err);
    if (rc == ERR_OK) {
        g.zone = gce_link_last(g.zone);
        *ret = g;
    }
    return rc;
}
GCE_WIRE_TREE(gce_group_decode, gce_group)

static const struct json_field subnetwork_fields[] = {
    STR(name, gce_subnetwork, "name"),
    STR(link, gce_subnetwork, "selfLink"),
    STR(ipv6_access, gce_subnetwork, "ipv6AccessType"),
    STR(stack, gce_subnetwork, "stackType"),
    STR(range, gce_subnetwork, "ipCidrRange"),
    {0},
};

int gce_subnetwork_decode_view(struct arena *a, const struct json_view *v,
                               struct gce_subnetwork *ret, struct err *err)
{
    struct gce_subnetwork s = {.name = "", .link = "", .ipv6_access = "", .stack = "", .range = ""};
    int rc = gce_wire_decode(a, v, subnetwork_fields, &s, "subnetwork", err);
    if (rc == ERR_OK) {
        *ret = s;
    }
    return rc;
}
GCE_WIRE_TREE(gce_subnetwork_decode, gce_subnetwork)

/* ---- writing --------------------------------------------------------------------------------- */

struct json_object *gce_hc_body(const struct gce_hc *c)
{
    struct json_object *o = json_object_new_object();
    gce_wire_text(o, "name", c->name);
    gce_wire_text(o, "description", c->description);
    gce_wire_text(o, "type", c->type);
    gce_wire_int(o, "checkIntervalSec", c->interval_s);
    gce_wire_int(o, "timeoutSec", c->timeout_s);
    gce_wire_int(o, "healthyThreshold", c->healthy);
    gce_wire_int(o, "unhealthyThreshold", c->unhealthy);
    if (c->has_http) {
        struct json_object *http = json_object_new_object();
        gce_wire_int(http, "port", c->port);
        gce_wire_text(http, "requestPath", c->path);
        json_add(o, "httpHealthCheck", http);
    }
    return o;
}

/* A member of ours: with a value it is set, without one it goes (a PUT without it
 * means the default). */
static void put(struct json_object *o, const char *name, struct json_object *v)
{
    if (v == NULL) {
        json_object_object_del(o, name);
    } else {
        json_add(o, name, v);
    }
}

static void put_text(struct json_object *o, const char *name, const char *s)
{
    put(o, name, str_is_empty(s) ? NULL : json_object_new_string(s));
}

/* The object that is there, to lay members over, or a new one; put in its place. */
static struct json_object *inner(struct json_object *o, const char *name)
{
    struct json_object *there = json_member(o, name);
    if (!json_object_is_type(there, json_type_object)) {
        there = json_object_new_object();
        json_add(o, name, there);
    }
    return there;
}

/* §4.6: on TCP a longer time than none, whatever set it, stays. */
static void put_draining(struct json_object *o, const struct gce_bservice *b,
                         const struct gce_bservice *over)
{
    if (!b->has_draining) {
        return;
    }
    bool keeps = over != NULL && over->draining_s > 0 && str_eq(b->protocol, "TCP");
    int32_t seconds = keeps ? over->draining_s : b->draining_s;
    put(inner(o, "connectionDraining"), "drainingTimeoutSec",
        seconds == 0 ? NULL : json_object_new_int(seconds));
}

static void put_zonal(struct json_object *o, const struct gce_bservice *b)
{
    if (!b->has_zonal) {
        return;
    }
    struct json_object *zonal = json_object_new_object();
    gce_wire_text(zonal, "spillover", b->spillover);
    if (b->spillover_ratio != 0) {
        json_add(zonal, "spilloverRatio", json_object_new_double(b->spillover_ratio));
    }
    put(inner(o, "networkPassThroughLbTrafficPolicy"), "zonalAffinity", zonal);
}

static void put_tracking(struct json_object *o, const struct gce_bservice *b)
{
    if (b->has_tracking) {
        struct json_object *t = inner(o, "connectionTrackingPolicy");
        put(t, "enableStrongAffinity", b->strong ? json_object_new_boolean(true) : NULL);
        put_text(t, "trackingMode", b->tracking_mode);
        put(t, "idleTimeoutSec", b->idle_s == 0 ? NULL : json_object_new_int(b->idle_s));
    } else if ((b->owns & GCE_BS_OWNS_TRACKING) != 0) {
        put(o, "connectionTrackingPolicy", NULL);
    }
}

/* logConfig has its zero values written (§9.2): "off" must not read as "unset". */
static void put_log(struct json_object *o, const struct gce_bservice *b)
{
    if (!b->has_log) {
        if ((b->owns & GCE_BS_OWNS_LOG) != 0) {
            put(o, "logConfig", NULL);
        }
        return;
    }
    struct json_object *log = json_object_new_object();
    json_add_bool(log, "enable", b->log_enable);
    if (b->log_enable) {
        json_add(log, "sampleRate", json_object_new_double(b->log_rate));
    }
    gce_wire_text(log, "optionalMode", b->log_mode);
    if (b->log_fields.n > 0) {
        json_add(log, "optionalFields", json_strs(b->log_fields.items, b->log_fields.n));
    }
    put(o, "logConfig", log);
}

static void put_owned_text(struct json_object *o, const char *name, const char *s, bool owned)
{
    if (owned || !str_is_empty(s)) {
        put_text(o, name, s);
    }
}

bool gce_locality_same(const char *is, const char *want)
{
    is = str_nonnull(is);
    want = str_nonnull(want);
    return str_eq(is, want) || (*want == '\0' && str_eq(is, "MAGLEV")) ||
           (str_eq(want, "MAGLEV") && *is == '\0') ||
           (*want == '\0' && str_eq(is, "GCP_RENDEZVOUS"));
}

/* §2.6: who made it with a newer API keeps that mark. */
static void put_description(struct json_object *o, const struct gce_bservice *b,
                            const struct gce_bservice *over)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    if (over == NULL || !gce_l4_description_same(a, over->description, b->description)) {
        put_text(o, "description", b->description);
    }
}

struct json_object *gce_bservice_body(const struct gce_bservice *b, const struct gce_bservice *over)
{
    bool update = over != NULL && over->raw != NULL;
    struct json_object *o = update ? json_copy(over->raw) : json_object_new_object();
    put_text(o, "name", b->name);
    put_description(o, b, update ? over : NULL);
    put_text(o, "protocol", b->protocol);
    put(o, "healthChecks", b->checks.n == 0 ? NULL : json_strs(b->checks.items, b->checks.n));
    put_text(o, "sessionAffinity", b->affinity);
    put_text(o, "loadBalancingScheme", b->scheme);
    put_owned_text(o, "network", b->network, (b->owns & GCE_BS_OWNS_NETWORK) != 0);
    if (!update || !gce_locality_same(over->locality, b->locality)) {
        put_owned_text(o, "localityLbPolicy", b->locality, (b->owns & GCE_BS_OWNS_LOCALITY) != 0);
    }
    put_draining(o, b, update ? over : NULL);
    put_zonal(o, b);
    put_tracking(o, b);
    put_log(o, b);
    return o;
}

/* The backend of that group as it was read, or NULL. */
static struct json_object *backend_read(const struct gce_bservice *read, const char *group)
{
    struct json_object *list = json_member(read->raw, "backends");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (gce_link_same(str_nonnull(json_str(item, "group")), group)) {
            return item;
        }
    }
    return NULL;
}

struct json_object *gce_bservice_backends_body(const struct gce_bservice *read,
                                               const struct gce_backend *backends, size_t n)
{
    struct json_object *o = json_copy(read->raw);
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct json_object *was = backend_read(read, backends[i].group);
        struct json_object *item = was == NULL ? json_object_new_object() : json_copy(was);
        if (was == NULL) {
            json_add_str(item, "group", backends[i].group);
            gce_wire_text(item, "balancingMode", backends[i].mode);
        }
        json_object_array_add(list, item);
    }
    json_add(o, "backends", list);
    return o;
}

struct json_object *gce_neg_body(const struct gce_neg *n)
{
    struct json_object *o = json_object_new_object();
    gce_wire_text(o, "name", n->name);
    gce_wire_text(o, "description", n->description);
    gce_wire_text(o, "networkEndpointType", n->type);
    gce_wire_text(o, "network", n->network);
    gce_wire_text(o, "subnetwork", n->subnetwork);
    return o;
}

struct json_object *gce_group_body(const struct gce_group *g)
{
    struct json_object *o = json_object_new_object();
    gce_wire_text(o, "name", g->name);
    return o;
}

struct json_object *gce_endpoints_body(const struct gce_endpoint *e, size_t n)
{
    struct json_object *o = json_object_new_object();
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_new_object();
        gce_wire_text(item, "instance", e[i].instance);
        gce_wire_text(item, "ipAddress", e[i].ip);
        gce_wire_text(item, "ipv6Address", e[i].ipv6);
        json_object_array_add(list, item);
    }
    json_add(o, "networkEndpoints", list);
    return o;
}
