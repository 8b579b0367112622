/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_rules.c: whose a public IP is, which one a Service uses, and what it must look like
 * (azure_pip_rules.h).
 *
 * Releasing stands in azure_pip_release_rules.c, tags in azure_pip_tags_rules.c.  Pure;
 * docs/spec/azure.md 8.1 to 8.6. */
#include "providers/azure/pip/azure_pip_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_tags_rules.h"
#include "providers/azure/pip/azure_pip_tags.h"

/* ---- whose ----------------------------------------------------------------------------------- */

static enum azure_family family_of(struct json_object *pip)
{
    return azure_eq(str_nonnull(azure_prop_str(pip, "publicIPAddressVersion")), "IPv6")
               ? AZURE_IPV6
               : AZURE_IPV4;
}

/* By its address, or by its name. */
static bool is_selected(const struct azure_service *s, struct json_object *pip)
{
    enum azure_family f = family_of(pip);
    const char *ip = azure_pip_address(pip);
    return ip[0] != '\0' &&
           ((s->lb_ip[f] != NULL && azure_address_eq(ip, s->lb_ip[f])) ||
            (s->pip_name[f] != NULL && azure_eq(s->pip_name[f], azure_doc_name(pip))));
}

struct azure_pip_ownership azure_pip_owner(struct arena *a, const struct azure_naming *n,
                                           const struct azure_service *s, struct json_object *pip)
{
    struct json_object *tags = json_member(pip, "tags");
    struct azure_pip_ownership o = {0};
    if (pip == NULL) {
        return o;
    }
    const char *named = azure_pip_tag_services(tags);
    o.user_assigned = named[0] == '\0';
    if (strcasestr(named, s->key) == NULL && !is_selected(s, pip)) {
        return o; /* every Service asks this of every address: nothing may be left behind for it */
    }
    o.services = azure_pip_services(a, tags, &o.n_services);
    for (size_t i = 0; i < o.n_services; i++) {
        if (azure_eq(o.services[i], s->key)) {
            const char *cluster = azure_pip_tag_cluster(tags);
            o.owns = cluster[0] == '\0' || azure_eq(cluster, n->cluster);
            return o;
        }
    }
    o.owns = is_selected(s, pip);
    return o;
}

bool azure_pip_names(const struct azure_pip_ownership *o, const char *key)
{
    for (size_t i = 0; i < o->n_services; i++) {
        if (azure_eq(o->services[i], key)) {
            return true;
        }
    }
    return false;
}

bool azure_pip_is_left(struct arena *a, const struct azure_naming *n, const struct azure_service *s,
                       const struct azure_service *namesake, struct json_object *pip)
{
    const char *name = azure_doc_name(pip);
    bool after_it = str_has_prefix(name, arena_printf(a, "%s-interim-", s->base));
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        after_it = after_it || azure_eq(name, azure_pip_name(a, n, s->in, (enum azure_family)f));
    }
    bool of_its_uid = strlen(s->base) > 1 && strcasestr(name, s->base) != NULL;
    return !(after_it || of_its_uid) || is_selected(namesake, pip);
}

bool azure_pip_is_stripped(struct arena *a, const struct azure_naming *n,
                           const struct azure_service *s, struct json_object *pip)
{
    struct json_object *tags = json_member(pip, "tags");
    const char *cluster = azure_pip_tag_cluster(tags);
    enum azure_family f = family_of(pip);
    bool names_it = s->pip_name[f] != NULL && azure_eq(s->pip_name[f], azure_doc_name(pip));
    return pip != NULL && azure_pip_tag_services(tags)[0] == '\0' &&
           (cluster[0] == '\0' || azure_eq(cluster, n->cluster)) && !names_it &&
           azure_eq(azure_doc_name(pip), azure_pip_name(a, n, s->in, f));
}

int azure_pip_determine(struct arena *a, const struct azure_naming *n,
                        const struct azure_service *s, enum azure_family f,
                        const struct azure_pips *pips, const char **ret_name, bool *ret_must_exist,
                        struct err *err)
{
    const char *ip = s->lb_ip[f];
    if (ip == NULL && f == AZURE_IPV6 && s->n_lb_ips == 0 && !str_is_empty(s->in->lb_ip)) {
        ip = s->in->lb_ip; /* text that is no address counts as IPv6, so that a check refuses it */
    }
    *ret_must_exist = s->pip_name[f] != NULL;
    *ret_name = s->pip_name[f];
    if (*ret_must_exist) {
        return ERR_OK;
    }
    *ret_name = azure_pip_name(a, n, s->in, f);
    if (s->pip_prefix_id[f] != NULL || ip == NULL) {
        return ERR_OK;
    }
    switch (azure_public_ip_candidate(ip)) {
    case AZURE_IP_INVALID:
        return err_set(err, ERR_INVALID,
                       "external Service \"%s\" has invalid LoadBalancer IP \"%s\"", s->key, ip);
    case AZURE_IP_NON_PUBLIC:
        return err_set(
            err, ERR_INVALID,
            "external Service \"%s\" cannot use non-public LoadBalancer IP \"%s\"; use an "
            "internal LoadBalancer annotation or a valid Azure Public IP address",
            s->key, ip);
    default:
        break;
    }
    struct json_object *pip = azure_pip_by_ip(a, pips, s->pip_group, ip);
    if (pip == NULL) {
        return err_set(
            err, ERR_NOT_FOUND,
            "findMatchedPIPByLoadBalancerIP: cannot find public IP with IP address %s in "
            "resource group %s",
            ip, s->pip_group);
    }
    *ret_name = azure_doc_name(pip);
    return ERR_OK;
}

/* ---- as it must be --------------------------------------------------------------------------- */

/* Edits with a reason: the first one is the plan's. */
static void note(struct azure_pip_want *w, bool changed, const char *why)
{
    if (changed && w->why == NULL) {
        w->why = why;
    }
    w->changed = w->changed || changed;
}

bool azure_pip_tag(struct arena *a, const struct azure_naming *n, const struct azure_service *s,
                   struct json_object *pip)
{
    const struct azure_config *c = n->config;
    struct azure_tags wanted = azure_tags_parse(a, c->tags, c->tags_map, c->n_tags_map);
    struct azure_tags more = azure_tags_parse(a, s->pip_tags != NULL ? s->pip_tags : "", NULL, 0);
    for (size_t i = 0; i < more.n; i++) {
        azure_tags_set(a, &wanted, more.items[i].key, more.items[i].value);
    }
    struct json_object *tags = json_member(pip, "tags");
    const char *const ours[][2] = {
        {AZURE_TAG_CLUSTER, azure_pip_tag_cluster(tags)},
        {AZURE_TAG_SERVICE, azure_pip_tag_services(tags)},
        {AZURE_TAG_DNS, azure_pip_tag_dns(tags)},
    };
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        if (ours[i][1][0] != '\0') {
            azure_tags_set(a, &wanted, ours[i][0], arena_strdup(a, ours[i][1]));
        }
    }
    return azure_tags_apply(a, pip, &wanted, c->system_tags);
}

static bool set_prop(struct json_object *pip, const char *name, const char *value)
{
    if (str_eq(azure_prop_str(pip, name), value)) {
        return false;
    }
    json_object_object_del(azure_props_make(pip), name);
    json_add_str(azure_props_make(pip), name, value);
    return true;
}

static bool set_family(struct json_object *pip, enum azure_family f, bool standard)
{
    const char *version = f == AZURE_IPV6 ? "IPv6" : "IPv4";
    bool changed = family_of(pip) != f && set_prop(pip, "publicIPAddressVersion", version);
    if (f == AZURE_IPV6) {
        changed =
            set_prop(pip, "publicIPAllocationMethod", standard ? "Static" : "Dynamic") || changed;
    }
    return changed;
}

static bool set_sku(struct json_object *pip)
{
    if (azure_eq(str_nonnull(json_str(json_member(pip, "sku"), "name")), "Standard")) {
        return false;
    }
    struct json_object *sku = json_object_new_object();
    json_add_str(sku, "name", "Standard");
    json_object_object_del(pip, "sku");
    json_add(pip, "sku", sku);
    return true;
}

static bool set_ip_tags(struct arena *a, const struct azure_service *s, struct json_object *pip)
{
    struct json_object *wanted = azure_ip_tags_parse(a, s->ip_tags);
    if (azure_ip_tags_eq(a, azure_array(pip, "ipTags"), wanted)) {
        return false;
    }
    json_object_object_del(azure_props_make(pip), "ipTags");
    json_add(azure_props_make(pip), "ipTags", json_object_get(wanted));
    return true;
}

struct json_object *azure_pip_new(struct arena *a, const struct azure_pip_ask *ask,
                                  const char *name)
{
    const struct azure_service *s = ask->service;
    enum azure_family f = ask->family;
    const struct azure_config *c = ask->naming->config;
    struct json_object *o = azure_own(a, json_object_new_object());
    json_add_str(o, "name", name);
    json_add_str(o, "location", c->location);
    struct json_object *p = azure_props_make(o);
    json_add_str(p, "publicIPAllocationMethod", "Static");
    json_add_str(p, "publicIPAddressVersion", f == AZURE_IPV6 ? "IPv6" : "IPv4");
    if (c->standard_sku) {
        (void)set_sku(o);
        if (s->pip_prefix_id[f] != NULL) {
            json_add(p, "publicIPPrefix", azure_ref_new(s->pip_prefix_id[f]));
        }
    }
    if (azure_config_is_edge(c)) {
        struct json_object *edge = json_object_new_object();
        json_add_str(edge, "name", c->extended_location_name);
        json_add_str(edge, "type", "EdgeZone");
        json_add(o, "extendedLocation", edge);
    } else if (c->standard_sku && ask->n_zones > 0) {
        json_add(o, "zones", json_strs(ask->zones, ask->n_zones));
    }
    if (s->ip_tags != NULL && json_len(azure_ip_tags_parse(a, s->ip_tags)) > 0) {
        (void)set_ip_tags(a, s, o);
    }
    struct json_object *tags = azure_object_make(o, "tags");
    json_add_str(tags, AZURE_TAG_SERVICE, s->key);
    json_add_str(tags, AZURE_TAG_CLUSTER, ask->naming->cluster);
    return o;
}

static void ensure_found(struct arena *a, const struct azure_pip_ask *ask, struct azure_pip_want *w,
                         bool *ret_user)
{
    const struct azure_naming *n = ask->naming;
    const struct azure_service *s = ask->service;
    enum azure_family f = ask->family;
    struct azure_pip_ownership o = azure_pip_owner(a, n, s, w->was);
    *ret_user = o.user_assigned;
    w->doc = azure_copy(a, w->was);
    /* One that bears the name made from its UID is the Service's, also when only others are on it
     * by now: they shared it while the Service was elsewhere, and would take it with them. */
    bool named_after = str_eq(w->name, azure_pip_name(a, n, s->in, f));
    if ((o.owns || named_after) && !o.user_assigned) {
        note(w, azure_pip_bind(a, azure_object_make(w->doc, "tags"), &s->key, 1),
             arena_printf(a, "%s uses it, too", s->key));
    }
    if (n->config->standard_sku) {
        note(w, set_sku(w->doc), "the cluster uses the Standard SKU");
    }
    if (!o.user_assigned && n->config->mutate_ip_tags && s->ip_tags != NULL) {
        note(w, set_ip_tags(a, s, w->doc), "the annotation asks for other IP tags");
    }
    /* Azure leaves an address that failed as it is; writing it again fixes it (3.8). */
    note(w, azure_eq(str_nonnull(azure_prop_str(w->was, "provisioningState")), "Failed"),
         "it is in state Failed");
}

static void locate(struct arena *a, const struct azure_naming *n, const struct azure_service *s,
                   struct azure_pip_want *w)
{
    w->id = w->was != NULL ? azure_doc_id(w->was) : azure_pip_id(a, n, s->pip_group, w->name);
    w->group = azure_id_group(a, w->id);
}

/* Upstream writes the other family, which Azure refuses each time (8.3, P-61).  Without an address
 * it may not be made yet, and is written as upstream does. */
static int check_family(const struct azure_pip_ask *ask, const struct azure_pip_want *w,
                        struct err *err)
{
    bool six = ask->family == AZURE_IPV6;
    if (w->was == NULL || *azure_pip_address(w->was) == '\0' || family_of(w->was) == ask->family) {
        return ERR_OK;
    }
    return err_set(err, ERR_IN_USE,
                   "public IP %s is of %s, which Azure does not change: name one of %s with "
                   "annotation " AZURE_ANNOTATION_PREFIX
                   "azure-pip-name%s, or make the Service anew",
                   w->name, six ? "IPv4" : "IPv6", six ? "IPv6" : "IPv4", six ? "-ipv6" : "");
}

int azure_pip_ensure(struct arena *a, const struct azure_pip_ask *ask, struct azure_pip_want *ret,
                     struct err *err)
{
    const struct azure_naming *n = ask->naming;
    const struct azure_service *s = ask->service;
    struct azure_pip_want w = {0};
    bool must_exist, user = false;
    int rc = azure_pip_determine(a, n, s, ask->family, ask->pips, &w.name, &must_exist, err);
    if (rc != ERR_OK) {
        return rc;
    }
    w.was = azure_pip_by_name(a, ask->pips, s->pip_group, w.name);
    locate(a, n, s, &w);
    if (w.was == NULL && must_exist) {
        return err_set(err, ERR_NOT_FOUND,
                       "PublicIP from annotation azure-pip-name%s=%s for service %s doesn't exist",
                       ask->family == AZURE_IPV6 ? "-IPv6" : "", w.name, s->key);
    }
    rc = check_family(ask, &w, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (w.was == NULL) {
        w.doc = azure_pip_new(a, ask, w.name);
        note(&w, true, "the Service has no address yet");
    } else {
        ensure_found(a, ask, &w, &user);
    }
    if (!user) {
        note(&w, azure_pip_tag(a, n, s, w.doc), "its tags are not as configured");
    }
    if (s->dns_label != NULL) {
        bool changed = false;
        rc = azure_pip_set_dns(a, w.doc, s->key, s->dns_label, user, &changed, err);
        note(&w, changed, "the annotation asks for another DNS label");
    }
    note(&w, set_family(w.doc, ask->family, n->config->standard_sku),
         "its family or allocation is another");
    if (rc == ERR_OK) {
        *ret = w;
    }
    return rc;
}
