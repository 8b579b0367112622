/* SPDX-License-Identifier: Apache-2.0 */
/* azure_additional_rules.c: additional public addresses that are another Service's
 * (azure_additional_rules.h).  Pure. */
#include "providers/azure/azure_additional_rules.h"

#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_tags.h"

static struct json_object *frontend_of(struct json_object *lb, const char *id)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        if (azure_id_eq(azure_doc_id(o), id)) {
            return o;
        }
    }
    return NULL;
}

static struct json_object *public_address_of(struct azure_sync *y, struct json_object *frontend)
{
    const char *id = azure_ref(frontend, "publicIPAddress"); /* NULL: an internal one */
    return id == NULL ? NULL : azure_pip_by_id(&y->pips, id);
}

const char *azure_additional_frontend(struct azure_sync *y, struct json_object *lb, const char *id)
{
    struct json_object *frontend = frontend_of(lb, id);
    if (frontend == NULL) {
        return "";
    }
    struct json_object *pip = public_address_of(y, frontend);
    return pip != NULL ? azure_pip_address(pip)
                       : str_nonnull(azure_prop_str(frontend, "privateIPAddress"));
}

/* Was the rule made for a Service other than `s`?  By its name, or, where the cluster has no such
 * Service, by the service tag of its public IP. */
static bool is_anothers(struct azure_sync *y, const struct azure_service *s, struct json_object *lb,
                        struct json_object *rule)
{
    const char *name = azure_doc_name(rule);
    if (azure_has_prefix(name, s->base)) {
        return false;
    }
    for (size_t i = 0; i < y->n_services; i++) {
        if (azure_has_prefix(name, y->services[i]->base)) {
            return true;
        }
    }
    struct json_object *frontend = frontend_of(lb, azure_ref(rule, "frontendIPConfiguration"));
    struct json_object *pip = frontend == NULL ? NULL : public_address_of(y, frontend);
    return pip != NULL && azure_pip_tag_services(json_member(pip, "tags"))[0] != '\0';
}

static bool opens_port_of(struct arena *a, const struct azure_access *x, struct json_object *rule)
{
    const char *protocol = str_nonnull(azure_prop_str(rule, "protocol"));
    const char *port = arena_printf(a, "%lld", (long long)azure_prop_int(rule, "frontendPort", 0));
    bool all = str_eq_nocase(protocol, "All") || str_eq(port, "0");
    for (int p = 0; p < AZURE_PROTOCOLS; p++) {
        struct str_set ports = azure_access_ports(a, x, (enum azure_protocol)p);
        bool same = p == AZURE_ANY || str_eq_nocase(protocol, azure_protocol_text(p));
        if ((all && ports.n > 0) || (same && str_set_has(&ports, port))) {
            return true;
        }
    }
    return false;
}

/* Without floating IP the security group sees nodes' addresses there, and this
 * one decides nothing. */
static bool is_withheld(struct azure_sync *y, const struct azure_access *x, const char *address)
{
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        struct json_object *rule;
        AZURE_EACH (rule, azure_array(lb, "loadBalancingRules")) {
            const char *id = azure_ref(rule, "frontendIPConfiguration");
            if (id == NULL || !azure_prop_bool(rule, "enableFloatingIP", false) ||
                !is_anothers(y, x->service, lb, rule)) {
                continue;
            }
            const char *there = azure_addr_canonical(y->s->a, azure_additional_frontend(y, lb, id));
            if (there != NULL && str_eq(there, address) &&
                (x->deny_all || opens_port_of(y->s->a, x, rule))) {
                return true;
            }
        }
    }
    return false;
}

const struct azure_access *azure_additional_access(struct azure_sync *y,
                                                   const struct azure_service *s)
{
    struct arena *a = y->s->a;
    const struct azure_access *x = azure_access_read(a, s);
    if (x->additional.n == 0) {
        return x;
    }
    struct azure_access *split = arena_memdup(a, x, sizeof(*x));
    const char **given = ARENA_ARRAY(a, const char *, x->additional.n);
    const char **withheld = ARENA_ARRAY(a, const char *, x->additional.n);
    split->additional = (struct azure_texts){.items = given};
    split->withheld = (struct azure_texts){.items = withheld};
    for (size_t i = 0; i < x->additional.n; i++) {
        const char *address = x->additional.items[i];
        if (is_withheld(y, x, address)) {
            withheld[split->withheld.n++] = address;
        } else {
            given[split->additional.n++] = address;
        }
    }
    return split;
}
