/* SPDX-License-Identifier: Apache-2.0 */
/* arm_docs.c: Azure's documents in memory (arm_docs.h). */
#include "tests/support/arm_docs.h"

#include "common/base/str.h"
#include "providers/azure/azure_state.h"
#include "providers/azure/model/azure_doc.h"

#include <string.h>

void arm_docs_init(struct arm_docs *c, struct arena *a)
{
    *c = (struct arm_docs){.a = a};
    for (int k = 0; k < AZURE_KIND_MAX; k++) {
        c->lists[k] = azure_own(a, json_object_new_array());
    }
}

void arm_docs_stamp(struct arm_docs *c, struct json_object *doc)
{
    json_object_object_del(doc, "etag");
    json_add_str(doc, "etag", arena_printf(c->a, "W/\"%u\"", ++c->etags));
}

struct json_object *arm_docs_find(const struct arm_docs *c, enum azure_kind k, const char *id)
{
    struct json_object *o;
    AZURE_EACH (o, c->lists[k]) {
        if (azure_id_eq(azure_doc_id(o), id)) {
            return o;
        }
    }
    /* Pools are parts of their balancers' documents. */
    struct json_object *lb;
    AZURE_EACH (lb, k == AZURE_POOLS ? c->lists[AZURE_LBS] : NULL) {
        AZURE_EACH (o, azure_array(lb, "backendAddressPools")) {
            if (azure_id_eq(azure_doc_id(o), id)) {
                return o;
            }
        }
    }
    return NULL;
}

void arm_docs_put(struct arm_docs *c, enum azure_kind k, const char *id, struct json_object *doc)
{
    struct json_object *now = azure_own(c->a, json_object_new_array());
    struct json_object *o;
    bool there = false;
    AZURE_EACH (o, c->lists[k]) {
        bool same = azure_id_eq(azure_doc_id(o), id);
        struct json_object *item = same ? doc : o;
        there = there || same;
        if (item != NULL) {
            (void)json_object_array_add(now, json_object_get(item));
        }
    }
    if (!there && doc != NULL) {
        (void)json_object_array_add(now, json_object_get(doc));
    }
    c->lists[k] = now;
}

static void set_text(struct json_object *o, const char *name, const char *value)
{
    json_object_object_del(o, name);
    json_add_str(o, name, value);
}

/* ---- what one document says of another ------------------------------------------------------- */

/* The frontend that a public IP hangs on, on any balancer but `lb`. */
static const char *frontend_of(const struct arm_docs *c, const char *pip, const char *lb)
{
    struct json_object *doc, *o;
    AZURE_EACH (doc, c->lists[AZURE_LBS]) {
        AZURE_EACH (o, azure_array(doc, "frontendIPConfigurations")) {
            if (azure_id_eq(azure_ref(o, "publicIPAddress"), pip) &&
                !azure_id_eq(azure_doc_id(doc), lb)) {
                return azure_doc_id(o);
            }
        }
    }
    return NULL;
}

/* Public IPs know the frontend that they hang on, and change with it (docs/spec/azure.md 3.4). */
static void attach_pips(struct arm_docs *c)
{
    struct json_object *o;
    struct json_object *before = c->lists[AZURE_PIPS];
    AZURE_EACH (o, before) {
        const char *frontend = frontend_of(c, azure_doc_id(o), NULL);
        const char *holder = azure_ref(o, "ipConfiguration");
        if (holder != NULL && strstr(holder, "/loadBalancers/") == NULL) {
            continue; /* an interface's */
        }
        struct json_object *pip = azure_copy(c->a, o);
        json_object_object_del(azure_props_make(pip), "ipConfiguration");
        if (frontend != NULL) {
            json_add(azure_props(pip), "ipConfiguration", azure_ref_new(frontend));
        }
        if (!str_eq(azure_ref(o, "ipConfiguration"), frontend)) {
            arm_docs_stamp(c, pip);
            arm_docs_put(c, AZURE_PIPS, azure_doc_id(pip), pip);
        }
    }
}

/* Every configuration of `interface` that is in the pool becomes a member of it. */
static void add_members(const struct arm_docs *c, const char *interface,
                        struct json_object *configs, const char *pool, struct json_object *members)
{
    struct json_object *config, *ref;
    AZURE_EACH (config, configs) {
        AZURE_EACH (ref, azure_array(config, "loadBalancerBackendAddressPools")) {
            if (azure_id_eq(azure_doc_id(ref), pool)) {
                const char *id =
                    arena_printf(c->a, "%s/ipConfigurations/%s", interface, azure_doc_name(config));
                (void)json_object_array_add(members, azure_ref_new(id)); /* {"id": …} */
            }
        }
    }
}

static struct json_object *members_of(const struct arm_docs *c, const char *pool)
{
    struct json_object *members = azure_own(c->a, json_object_new_array());
    struct json_object *o, *nic;
    AZURE_EACH (o, c->lists[AZURE_NICS]) {
        add_members(c, azure_doc_id(o), azure_array(o, "ipConfigurations"), pool, members);
    }
    AZURE_EACH (o, c->lists[AZURE_VMSS_VMS]) {
        AZURE_EACH (nic, json_path(o, "properties.networkProfileConfiguration."
                                      "networkInterfaceConfigurations")) {
            const char *id =
                arena_printf(c->a, "%s/networkInterfaces/%s", azure_doc_id(o), azure_doc_name(nic));
            add_members(c, id, azure_array(nic, "ipConfigurations"), pool, members);
        }
    }
    return members;
}

/* Pools know their members; a balancer changes with them (3.4). */
static void attach_members(struct arm_docs *c)
{
    struct json_object *o, *pool;
    struct json_object *before = c->lists[AZURE_LBS];
    AZURE_EACH (o, before) {
        struct json_object *lb = azure_copy(c->a, o);
        AZURE_EACH (pool, azure_array(lb, "backendAddressPools")) {
            struct json_object *members = members_of(c, azure_doc_id(pool));
            json_object_object_del(azure_props_make(pool), "backendIPConfigurations");
            if (json_len(members) > 0) {
                json_add(azure_props(pool), "backendIPConfigurations", json_object_get(members));
            }
        }
        if (!json_equal(lb, o)) {
            arm_docs_stamp(c, lb);
            arm_docs_put(c, AZURE_LBS, azure_doc_id(lb), lb);
        }
    }
}

/* ---- writes ---------------------------------------------------------------------------------- */

static int lb_check_rules(struct json_object *lb, struct err *err)
{
    struct json_object *rule, *front;
    AZURE_EACH (rule, azure_array(lb, "loadBalancingRules")) {
        bool found = false;
        AZURE_EACH (front, azure_array(lb, "frontendIPConfigurations")) {
            found = found ||
                    azure_id_eq(azure_ref(rule, "frontendIPConfiguration"), azure_doc_id(front));
        }
        if (!found) {
            return err_set(err, ERR_INVALID, "InvalidResourceReference: %s", azure_doc_name(rule));
        }
    }
    return ERR_OK;
}

static void lb_name_elements(const struct arm_docs *c, struct json_object *lb)
{
    static const char *const arrays[] = {"frontendIPConfigurations", "backendAddressPools",
                                         "loadBalancingRules", "probes"};
    for (size_t i = 0; i < ARRAY_LEN(arrays); i++) {
        struct json_object *o;
        AZURE_EACH (o, azure_array(lb, arrays[i])) {
            set_text(
                o, "id",
                arena_printf(c->a, "%s/%s/%s", azure_doc_id(lb), arrays[i], azure_doc_name(o)));
        }
    }
}

/* A frontend on which a private link service stands cannot go; `lb` NULL: the whole balancer
 * is to go. */
static int links_allow(const struct arm_docs *c, const char *id, struct json_object *lb,
                       struct err *err)
{
    struct json_object *pls, *ref, *o;
    AZURE_EACH (pls, c->lists[AZURE_PLSS]) {
        AZURE_EACH (ref, azure_array(pls, "loadBalancerFrontendIpConfigurations")) {
            bool stays = !azure_has_prefix(azure_doc_id(ref), arena_printf(c->a, "%s/", id));
            AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
                stays = stays || azure_id_eq(azure_doc_id(o), azure_doc_id(ref));
            }
            if (!stays) {
                return err_set(err, ERR_TRANSIENT,
                               "LoadBalancerFrontendIPConfigurationInUseByPrivateLinkService: "
                               "Frontend IP configuration %s is in use by private link service %s.",
                               azure_doc_id(ref), azure_doc_id(pls));
            }
        }
    }
    return ERR_OK;
}

static int lb_put(struct arm_docs *c, struct json_object *lb, struct err *err)
{
    struct json_object *o;
    lb_name_elements(c, lb);
    if (links_allow(c, azure_doc_id(lb), lb, err) != ERR_OK) {
        return err->code;
    }
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        const char *pip = azure_ref(o, "publicIPAddress");
        if (pip != NULL && arm_docs_find(c, AZURE_PIPS, pip) == NULL) {
            return err_set(err, ERR_INVALID, "InvalidResourceReference: %s", pip);
        }
        if (pip != NULL && frontend_of(c, pip, azure_doc_id(lb)) != NULL) {
            return err_set(err, ERR_INVALID, "PublicIPReferencedByMultipleIPConfigs: %s", pip);
        }
        if (pip == NULL && azure_prop_str(o, "privateIPAddress") == NULL) {
            bool six = azure_eq(str_nonnull(azure_prop_str(o, "privateIPAddressVersion")), "IPv6");
            set_text(azure_props_make(o), "privateIPAddress",
                     arena_printf(c->a, six ? "fd00::%u" : "10.0.0.%u", ++c->addresses));
        }
    }
    return lb_check_rules(lb, err);
}

static void pip_put(struct arm_docs *c, struct json_object *pip)
{
    bool six = azure_eq(str_nonnull(azure_prop_str(pip, "publicIPAddressVersion")), "IPv6");
    if (azure_prop_str(pip, "ipAddress") == NULL) {
        set_text(azure_props_make(pip), "ipAddress",
                 arena_printf(c->a, six ? "2001:db8::%u" : "20.0.0.%u", ++c->addresses));
    }
}

/* A pool is written as a resource of its own, and is a part of its balancer's document. */
static int pool_put(struct arm_docs *c, const char *id, struct json_object *body, struct err *err)
{
    const char *lb = arena_strndup(c->a, id, (size_t)(strstr(id, "/backendAddressPools/") - id));
    struct json_object *was = arm_docs_find(c, AZURE_LBS, lb);
    struct json_object *doc = was != NULL ? azure_copy(c->a, was) : NULL;
    struct json_object *pool =
        azure_find(azure_array(doc, "backendAddressPools"), azure_id_last(id));
    if (pool == NULL) {
        return err_set(err, ERR_NOT_FOUND, "NotFound: %s", id);
    }
    json_object_object_del(pool, "properties");
    json_add(pool, "properties", json_copy(azure_props(body)));
    arm_docs_stamp(c, doc);
    arm_docs_put(c, AZURE_LBS, lb, doc);
    return ERR_OK;
}

/* Members that a body omits stay: scale sets and their instances are written in parts (7.3). */
static void merge(struct json_object *into, struct json_object *from)
{
    json_object_object_foreach(from, name, value)
    {
        struct json_object *old = json_member(into, name);
        if (json_object_is_type(old, json_type_object) &&
            json_object_is_type(value, json_type_object)) {
            merge(old, value);
        } else {
            json_add(into, name, json_copy(value));
        }
    }
}

/* A balancer that goes takes its pools from the interfaces of machines; scale sets must have
 * let go before. */
static void detach_interfaces(struct arm_docs *c, const char *lb)
{
    const char *pools = arena_printf(c->a, "%s/backendAddressPools/", lb);
    struct json_object *o, *config;
    struct json_object *before = c->lists[AZURE_NICS];
    AZURE_EACH (o, before) {
        struct json_object *nic = azure_copy(c->a, o);
        AZURE_EACH (config, azure_array(nic, "ipConfigurations")) {
            struct json_object *refs = azure_array(config, "loadBalancerBackendAddressPools");
            for (size_t i = json_len(refs); i > 0; i--) {
                const char *id = azure_doc_id(json_object_array_get_idx(refs, i - 1));
                if (azure_has_prefix(id, pools)) {
                    azure_array_drop(refs, i - 1);
                }
            }
        }
        if (!json_equal(nic, o)) {
            arm_docs_put(c, AZURE_NICS, azure_doc_id(nic), nic);
        }
    }
}

static int take_away(struct arm_docs *c, const struct azure_call_spec *spec, struct err *err)
{
    if (spec->kind == AZURE_PIPS && frontend_of(c, spec->id, NULL) != NULL) {
        return err_set(err, ERR_IN_USE, "PublicIPAddressCannotBeDeleted");
    }
    if (spec->kind == AZURE_LBS && links_allow(c, spec->id, NULL, err) != ERR_OK) {
        return err->code;
    }
    arm_docs_put(c, spec->kind, spec->id, NULL);
    attach_pips(c);
    if (spec->kind == AZURE_LBS) {
        detach_interfaces(c, spec->id);
    }
    return ERR_OK;
}

int arm_docs_write(struct arm_docs *c, const struct azure_call_spec *spec,
                   struct json_object **ret_answer, struct err *err)
{
    struct json_object *was = arm_docs_find(c, spec->kind, spec->id);
    *ret_answer = NULL;
    if (spec->verb == AZURE_DELETE) {
        return take_away(c, spec, err);
    }
    if (spec->if_match != NULL && (was == NULL || !str_eq(spec->if_match, azure_doc_etag(was)))) {
        return err_set(err, ERR_CONFLICT, "PreconditionFailed");
    }
    struct json_object *doc = azure_copy(c->a, spec->body);
    if (spec->kind == AZURE_POOLS) {
        *ret_answer = doc;
        return pool_put(c, spec->id, doc, err);
    }
    bool in_parts = spec->kind == AZURE_VMSSS || spec->kind == AZURE_VMSS_VMS;
    if (was != NULL && in_parts) {
        doc = azure_copy(c->a, was);
        merge(doc, spec->body);
    }
    set_text(doc, "id", spec->id);
    if (azure_prop_str(doc, "provisioningState") != NULL) {
        set_text(azure_props(doc), "provisioningState", "Succeeded");
    }
    if (spec->kind == AZURE_LBS && lb_put(c, doc, err) != ERR_OK) {
        return err->code;
    }
    if (spec->kind == AZURE_PIPS) {
        pip_put(c, doc);
    }
    arm_docs_stamp(c, doc);
    arm_docs_put(c, spec->kind, spec->id, doc);
    attach_pips(c);
    if (spec->kind == AZURE_NICS || spec->kind == AZURE_VMSS_VMS) {
        attach_members(c);
    }
    *ret_answer = doc;
    return ERR_OK;
}

void arm_docs_show(const struct arm_docs *c, struct azure_provider *p)
{
    azure_snapshot_free(p->snapshot);
    p->snapshot = azure_snapshot_new(p->clock);
    for (int k = 0; k < AZURE_KIND_MAX; k++) {
        struct json_object *o;
        AZURE_EACH (o, c->lists[k]) {
            (void)azure_state_add(p, azure_doc_id(o), o);
        }
    }
}
