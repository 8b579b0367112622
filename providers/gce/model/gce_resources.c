/* SPDX-License-Identifier: Apache-2.0 */
/* gce_resources.c: see gce_resources.h.  Field tables for reading, one builder per kind for
 * writing. */
#include "providers/gce/model/gce_resources.h"

#include "common/base/strset.h"
#include "providers/gce/model/gce_wire.h"

#include <string.h>

static const struct json_field rule_fields[] = {
    STR(name, gce_rule, "name"),
    STR(description, gce_rule, "description"),
    STR(ip, gce_rule, "IPAddress"),
    STR(protocol, gce_rule, "IPProtocol"),
    STR(port_range, gce_rule, "portRange"),
    STR(target, gce_rule, "target"),
    STR(backend_service, gce_rule, "backendService"),
    STR(scheme, gce_rule, "loadBalancingScheme"),
    STR(tier, gce_rule, "networkTier"),
    STRS(ports, gce_rule, "ports"),
    BOOL(all_ports, gce_rule, "allPorts"),
    BOOL(global_access, gce_rule, "allowGlobalAccess"),
    STR(network, gce_rule, "network"),
    STR(subnetwork, gce_rule, "subnetwork"),
    STR(ip_version, gce_rule, "ipVersion"),
    STR(ip_collection, gce_rule, "ipCollection"),
    {0},
};

const char *gce_decimal_member(struct arena *a, struct json_object *o, const char *name)
{
    struct json_object *v = json_member(o, name);
    bool scalar = json_object_is_type(v, json_type_string) || json_object_is_type(v, json_type_int);
    return scalar ? arena_strdup(a, json_object_get_string(v)) : "";
}

struct gce_rule gce_rule_blank(void)
{
    return (struct gce_rule){.name = "",
                             .description = "",
                             .ip = "",
                             .protocol = "",
                             .port_range = "",
                             .target = "",
                             .backend_service = "",
                             .scheme = "",
                             .tier = "",
                             .network = "",
                             .subnetwork = "",
                             .ip_version = "",
                             .ip_collection = "",
                             .id = ""};
}

int gce_rule_decode_view(struct arena *a, const struct json_view *v, struct gce_rule *ret,
                         struct err *err)
{
    struct gce_rule r = gce_rule_blank();
    int rc = gce_wire_decode(a, v, rule_fields, &r, "forwarding rule", err);
    if (rc == ERR_OK) {
        r.id = gce_wire_decimal(a, v, "id");
        *ret = r;
    }
    return rc;
}
GCE_WIRE_TREE(gce_rule_decode, gce_rule)

static const struct json_field pool_fields[] = {
    STR(name, gce_pool, "name"),
    STR(description, gce_pool, "description"),
    STR(affinity, gce_pool, "sessionAffinity"),
    STRS(instances, gce_pool, "instances"),
    STRS(checks, gce_pool, "healthChecks"),
    {0},
};

int gce_pool_decode_view(struct arena *a, const struct json_view *v, struct gce_pool *ret,
                         struct err *err)
{
    struct gce_pool p = {.name = "", .description = "", .affinity = ""};
    int rc = gce_wire_decode(a, v, pool_fields, &p, "target pool", err);
    if (rc == ERR_OK) {
        *ret = p;
    }
    return rc;
}

static const struct json_field allow_fields[] = {
    STR(protocol, gce_allow, "IPProtocol"),
    STRS(ports, gce_allow, "ports"),
    {0},
};
#define ALLOWS(member, name_)                                                                      \
    {                                                                                              \
        .name = (name_), .type = JSON_T_OBJECTS,                                                   \
        .offset = offsetof(struct gce_firewall, member.items),                                     \
        .count_offset = offsetof(struct gce_firewall, member.n), .sub = allow_fields,              \
        .sub_size = sizeof(struct gce_allow)                                                       \
    }
static const struct json_field firewall_fields[] = {
    STR(name, gce_firewall, "name"),
    STR(description, gce_firewall, "description"),
    STR(network, gce_firewall, "network"),
    STR(direction, gce_firewall, "direction"),
    STRS(sources, gce_firewall, "sourceRanges"),
    STRS(destinations, gce_firewall, "destinationRanges"),
    STRS(tags, gce_firewall, "targetTags"),
    ALLOWS(allowed, "allowed"),
    ALLOWS(denied, "denied"),
    I32(priority, gce_firewall, "priority"),
    BOOL(disabled, gce_firewall, "disabled"),
    {0},
};

int gce_firewall_decode_view(struct arena *a, const struct json_view *v, struct gce_firewall *ret,
                             struct err *err)
{
    struct gce_firewall f = {.name = "", .description = "", .network = "", .direction = ""};
    int rc = gce_wire_decode(a, v, firewall_fields, &f, "firewall", err);
    if (rc != ERR_OK) {
        return rc;
    }
    for (size_t i = 0; i < f.allowed.n + f.denied.n; i++) {
        struct gce_allow *w =
            i < f.allowed.n ? &f.allowed.items[i] : &f.denied.items[i - f.allowed.n];
        w->protocol = str_nonnull(w->protocol);
    }
    *ret = f;
    return ERR_OK;
}

static const struct json_field check_fields[] = {
    STR(name, gce_check, "name"),
    STR(description, gce_check, "description"),
    STR(host, gce_check, "host"),
    STR(path, gce_check, "requestPath"),
    I32(port, gce_check, "port"),
    I32(interval_s, gce_check, "checkIntervalSec"),
    I32(timeout_s, gce_check, "timeoutSec"),
    I32(healthy, gce_check, "healthyThreshold"),
    I32(unhealthy, gce_check, "unhealthyThreshold"),
    {0},
};

int gce_check_decode_view(struct arena *a, const struct json_view *v, struct gce_check *ret,
                          struct err *err)
{
    struct gce_check c = {.name = "", .description = "", .host = "", .path = ""};
    int rc = gce_wire_decode(a, v, check_fields, &c, "health check", err);
    if (rc == ERR_OK) {
        *ret = c;
    }
    return rc;
}

static const struct json_field address_fields[] = {
    STR(name, gce_address, "name"),
    STR(description, gce_address, "description"),
    STR(ip, gce_address, "address"),
    STR(type, gce_address, "addressType"),
    STR(tier, gce_address, "networkTier"),
    STR(subnetwork, gce_address, "subnetwork"),
    STR(ip_version, gce_address, "ipVersion"),
    STR(endpoint_type, gce_address, "ipv6EndpointType"),
    STR(ip_collection, gce_address, "ipCollection"),
    STR(purpose, gce_address, "purpose"),
    I32(prefix_length, gce_address, "prefixLength"),
    {0},
};

int gce_address_decode_view(struct arena *a, const struct json_view *v, struct gce_address *ret,
                            struct err *err)
{
    struct gce_address d = {.name = "",
                            .description = "",
                            .ip = "",
                            .type = "",
                            .tier = "",
                            .subnetwork = "",
                            .ip_version = "",
                            .endpoint_type = "",
                            .ip_collection = "",
                            .purpose = ""};
    int rc = gce_wire_decode(a, v, address_fields, &d, "address", err);
    if (rc == ERR_OK) {
        *ret = d;
    }
    return rc;
}
GCE_WIRE_TREE(gce_address_decode, gce_address)

static const struct json_field tags_fields[] = {
    {.name = "items",
     .type = JSON_T_STRS,
     .offset = offsetof(struct gce_strs, items),
     .count_offset = offsetof(struct gce_strs, n)},
    {0},
};
static const struct json_field instance_fields[] = {
    STR(name, gce_instance, "name"),
    STR(zone, gce_instance, "zone"),
    {.name = "tags",
     .type = JSON_T_OBJECT,
     .offset = offsetof(struct gce_instance, tags),
     .sub = tags_fields},
    {0},
};

int gce_instance_decode(struct arena *a, struct json_object *o, struct gce_instance *ret,
                        struct err *err)
{
    struct gce_instance i = {.name = "", .zone = ""};
    const struct json_view v = json_view_of_tree(o);
    int rc = gce_wire_decode(a, &v, instance_fields, &i, "instance", err);
    if (rc == ERR_OK) {
        *ret = i;
    }
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct json_object *gce_rule_body(const struct gce_rule *r)
{
    struct json_object *o = json_object_new_object();
    gce_wire_text(o, "name", r->name);
    gce_wire_text(o, "description", r->description);
    gce_wire_text(o, "IPAddress", r->ip);
    gce_wire_text(o, "IPProtocol", r->protocol);
    gce_wire_text(o, "portRange", r->port_range);
    gce_wire_text(o, "target", r->target);
    gce_wire_text(o, "networkTier", r->tier);
    gce_wire_text(o, "backendService", r->backend_service);
    gce_wire_text(o, "loadBalancingScheme", r->scheme);
    gce_wire_strs(o, "ports", &r->ports);
    gce_wire_true(o, "allPorts", r->all_ports);
    gce_wire_true(o, "allowGlobalAccess", r->global_access);
    gce_wire_text(o, "network", r->network);
    gce_wire_text(o, "subnetwork", r->subnetwork);
    gce_wire_text(o, "ipVersion", r->ip_version);
    gce_wire_text(o, "ipCollection", r->ip_collection);
    return o;
}

struct json_object *gce_rule_patch_body(const struct gce_rule *r)
{
    struct json_object *o = json_object_new_object();
    gce_wire_text(o, "id", r->id);
    gce_wire_text(o, "name", r->name);
    json_add_bool(o, "allowGlobalAccess", r->global_access);
    gce_wire_text(o, "networkTier", r->tier);
    return o;
}

struct json_object *gce_pool_body(const struct gce_pool *p)
{
    struct json_object *o = json_object_new_object();
    gce_wire_text(o, "name", p->name);
    gce_wire_text(o, "description", p->description);
    gce_wire_strs(o, "instances", &p->instances);
    gce_wire_text(o, "sessionAffinity", p->affinity);
    gce_wire_strs(o, "healthChecks", &p->checks);
    return o;
}

static void add_allows(struct json_object *o, const char *name, const struct gce_allows *w)
{
    if (w->n == 0) {
        return;
    }
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < w->n; i++) {
        struct json_object *item = json_object_new_object();
        gce_wire_text(item, "IPProtocol", w->items[i].protocol);
        gce_wire_strs(item, "ports", &w->items[i].ports);
        json_object_array_add(list, item);
    }
    json_add(o, name, list);
}

struct json_object *gce_firewall_body(const struct gce_firewall *f, bool clear_destinations)
{
    struct json_object *o = json_object_new_object();
    gce_wire_text(o, "name", f->name);
    gce_wire_text(o, "description", f->description);
    gce_wire_text(o, "network", f->network);
    gce_wire_strs(o, "sourceRanges", &f->sources);
    gce_wire_strs(o, "destinationRanges", &f->destinations);
    if (f->destinations.n == 0 && clear_destinations) {
        json_add(o, "destinationRanges", json_object_new_array());
    }
    gce_wire_strs(o, "targetTags", &f->tags);
    add_allows(o, "allowed", &f->allowed);
    add_allows(o, "denied", &f->denied);
    gce_wire_int(o, "priority", f->priority);
    return o;
}

struct json_object *gce_firewall_as_made(struct json_object *insert)
{
    struct json_object *o = json_copy(insert);
    if (json_member(o, "priority") == NULL) {
        json_add_int(o, "priority", 1000);
    }
    json_default_str(o, "direction", "INGRESS");
    return o;
}

struct json_object *gce_check_body(const struct gce_check *c)
{
    struct json_object *o = json_object_new_object();
    gce_wire_text(o, "name", c->name);
    gce_wire_text(o, "description", c->description);
    gce_wire_text(o, "host", c->host);
    gce_wire_text(o, "requestPath", c->path);
    gce_wire_int(o, "port", c->port);
    gce_wire_int(o, "checkIntervalSec", c->interval_s);
    gce_wire_int(o, "timeoutSec", c->timeout_s);
    gce_wire_int(o, "healthyThreshold", c->healthy);
    gce_wire_int(o, "unhealthyThreshold", c->unhealthy);
    return o;
}

struct json_object *gce_address_body(const struct gce_address *d)
{
    struct json_object *o = json_object_new_object();
    gce_wire_text(o, "name", d->name);
    gce_wire_text(o, "description", d->description);
    gce_wire_text(o, "networkTier", d->tier);
    gce_wire_text(o, "address", d->ip);
    gce_wire_text(o, "addressType", d->type);
    gce_wire_text(o, "subnetwork", d->subnetwork);
    gce_wire_text(o, "ipVersion", d->ip_version);
    gce_wire_text(o, "ipv6EndpointType", d->endpoint_type);
    gce_wire_text(o, "ipCollection", d->ip_collection);
    gce_wire_text(o, "purpose", d->purpose);
    gce_wire_int(o, "prefixLength", d->prefix_length);
    return o;
}

static struct json_object *references(const char *list_name, const char *name,
                                      const char *const *links, size_t n)
{
    struct json_object *o = json_object_new_object();
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_new_object();
        json_add_str(item, name, links[i]);
        json_object_array_add(list, item);
    }
    json_add(o, list_name, list);
    return o;
}

struct json_object *gce_pool_members_body(const char *const *members, size_t n)
{
    return references("instances", "instance", members, n);
}

struct json_object *gce_pool_check_body(const char *check_link)
{
    return references("healthChecks", "healthCheck", &check_link, 1);
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct str_set gce_strs_set(struct arena *a, const struct gce_strs *s)
{
    return str_set_make(a, s->items, s->n);
}

struct gce_strs gce_strs_of(struct arena *a, const char *const *items, size_t n)
{
    if (n == 0) {
        return (struct gce_strs){0};
    }
    return (struct gce_strs){.items = arena_memdup(a, items, n * sizeof(*items)), .n = n};
}

struct gce_strs gce_strs_one(struct arena *a, const char *item)
{
    return gce_strs_of(a, &item, 1);
}

struct gce_strs gce_strs_with(struct arena *a, const struct gce_strs *s, const char *item)
{
    struct gce_strs out = {.items = ARENA_ARRAY(a, const char *, s->n + 1)};
    bool has = false;
    for (size_t i = 0; i < s->n; i++) {
        has = has || str_eq(s->items[i], item);
        out.items[out.n++] = s->items[i];
    }
    if (!has) {
        out.items[out.n++] = arena_strdup(a, item);
    }
    return out;
}

bool gce_strs_same(struct arena *a, const struct gce_strs *x, const struct gce_strs *y)
{
    struct str_set sx = gce_strs_set(a, x);
    struct str_set sy = gce_strs_set(a, y);
    return x->n == y->n && str_set_eq(&sx, &sy);
}
