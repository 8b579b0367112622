/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_former_rules.c: see azure_lb_former_rules.h.  Pure. */
#include "providers/azure/lb/azure_lb_former_rules.h"
#include "common/base/hash.h"
#include "common/base/str.h"
#include "providers/azure/lb/azure_lb_interim_rules.h"
#include "providers/azure/model/azure_doc.h"

#include <string.h>

/* An address of that family, by which clients go.  A Service that has lost its second family has
 * frontends of both, and none of them comes in place of the other. */
static bool is_told(const struct azure_lb_ask *ask, const char *ip, enum azure_family f)
{
    const struct tt_service *in = ask->service->in;
    bool told = false;
    if (str_is_empty(ip) || (strchr(ip, ':') != NULL) != (f == AZURE_IPV6)) {
        return false;
    }
    for (uint32_t i = 0; i < in->n_ingress; i++) {
        told = told || (in->ingress[i].ip != NULL && azure_address_eq(in->ingress[i].ip, ip));
    }
    return told;
}

/* Private, or of the public IP; NULL or "": none that is known. */
static const char *address_of(const struct azure_lb_ask *ask, struct json_object *frontend)
{
    const char *id = azure_ref(frontend, "publicIPAddress");
    struct json_object *pip = id != NULL ? azure_pip_by_id(ask->pips, id) : NULL;
    return pip != NULL ? azure_pip_address(pip) : azure_prop_str(frontend, "privateIPAddress");
}

static bool is_asked(const struct azure_lb_ask *ask, const char *what)
{
    bool asked = false;
    for (size_t i = 0; i < ask->asked.n; i++) {
        asked = asked || azure_eq(ask->asked.items[i], what);
    }
    return asked;
}

/* One more frontend takes no more than this one has. */
static bool fits(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb,
                 struct json_object *frontend)
{
    return azure_lb_interim_fits(a, ask->naming->config, ask->index, lb, frontend,
                                 ask->rules_per_nic);
}

/* In another subnet. */
static bool internal_stands(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb,
                            struct json_object *frontend, enum azure_family f)
{
    const char *ip = str_nonnull(azure_prop_str(frontend, "privateIPAddress"));
    const char *own = azure_frontend_name(a, ask->service->in, f);
    if (!azure_frontend_is_former(ask->service, azure_doc_name(frontend)) || !is_told(ask, ip, f) ||
        is_asked(ask, ip)) {
        return false;
    }
    if (azure_find(azure_array(lb, "frontendIPConfigurations"), own) != NULL) {
        return true;
    }
    bool elsewhere = ask->subnet != NULL &&
                     !azure_id_eq(azure_ref(frontend, "subnet"), azure_doc_id(ask->subnet));
    return elsewhere && ask->keeps_former && fits(a, ask, lb, frontend);
}

/* The second frontend of a Service that has one family by now.  Its rules lead to a pool of their
 * own, so it needs neither floating IP nor room. */
static bool second_family_stands(const struct azure_lb_ask *ask, struct json_object *frontend,
                                 enum azure_family f)
{
    const char *pip = azure_ref(frontend, "publicIPAddress");
    const char *ip = address_of(ask, frontend);
    bool moves = pip != NULL && ask->pip_id[f] != NULL && azure_id_eq(pip, ask->pip_id[f]);
    return ask->keeps_former && !moves && is_told(ask, ip, f) &&
           !is_asked(ask, pip != NULL ? pip : ip);
}

bool azure_lb_former_stands(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb,
                            struct json_object *frontend, enum azure_family f)
{
    const char *name = azure_doc_name(frontend);
    bool interim = azure_is_interim(ask->service->base, name);
    if (!ask->service->has_family[f] || (!ask->service->internal && !interim)) {
        return azure_frontend_is_former(ask->service, name) &&
               second_family_stands(ask, frontend, f);
    }
    if (ask->service->internal) {
        return internal_stands(a, ask, lb, frontend, f);
    }
    const char *pip = azure_ref(frontend, "publicIPAddress");
    bool wanted = pip != NULL && ask->pip_id[f] != NULL && azure_id_eq(pip, ask->pip_id[f]);
    return !wanted && !is_asked(ask, pip);
}

bool azure_lb_former_is_told(const struct azure_lb_ask *ask, struct json_object *frontend,
                             enum azure_family f)
{
    const char *ip = address_of(ask, frontend);
    const char *id = azure_ref(frontend, "publicIPAddress");
    bool same = ask->service->internal
                    ? ask->service->lb_ip[f] != NULL && ip != NULL &&
                          azure_address_eq(ip, ask->service->lb_ip[f])
                    : id != NULL && ask->pip_id[f] != NULL && azure_id_eq(id, ask->pip_id[f]);
    return !same && is_told(ask, ip, f);
}

bool azure_lb_former_can_move(struct arena *a, const struct azure_lb_ask *ask,
                              struct json_object *lb, struct json_object *frontend,
                              enum azure_family f)
{
    const char *id = azure_ref(frontend, "publicIPAddress");
    struct json_object *pip = id != NULL ? azure_pip_by_id(ask->pips, id) : NULL;
    return !ask->service->internal && ask->keeps_former && pip != NULL &&
           azure_eq(azure_doc_name(frontend), azure_frontend_name(a, ask->service->in, f)) &&
           is_told(ask, azure_pip_address(pip), f) && !is_asked(ask, id) &&
           fits(a, ask, lb, frontend);
}

void azure_lb_former_move(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb,
                          struct json_object *frontend, enum azure_family f)
{
    const char *id = azure_ref(frontend, "publicIPAddress");
    uint64_t digest = hash_bytes(0, id, strlen(id));
    (void)azure_lb_interim_add(a, ask->index, lb, frontend,
                               azure_interim_name(a, ask->service->base, digest, f), id);
}
