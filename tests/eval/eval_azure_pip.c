/* SPDX-License-Identifier: Apache-2.0 */
/* eval_azure_pip.c: the functions azure.pip_*, azure.ip_tags and azure.public_ip_candidate of
 * trimtab-eval.
 *
 * Each asks the very function that a sync asks; only inputs and outputs are translated here. */
#include "tests/eval/eval_azure.h"

#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_rules.h"
#include "providers/azure/pip/azure_pip_tags.h"

static enum azure_family family_of(struct json_object *in)
{
    return json_bool(in, "ipv6", false) ? AZURE_IPV6 : AZURE_IPV4;
}

static int run_owner(struct arena *a, struct json_object *in, struct json_object **ret,
                     struct err *err)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc == ERR_OK) {
        struct json_object *pip = json_member(in, "publicIP");
        struct azure_pip_ownership o = azure_pip_owner(a, n, s, pip);
        size_t n_services;
        const char **services = azure_pip_services(a, json_member(pip, "tags"), &n_services);
        *ret = json_object_new_object();
        json_add_bool(*ret, "owns", o.owns);
        json_add_bool(*ret, "userAssigned", o.user_assigned);
        json_add(*ret, "services", json_strs(services, n_services));
    }
    return rc;
}

static int run_name(struct arena *a, struct json_object *in, struct json_object **ret,
                    struct err *err)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    struct azure_pips pips = {0};
    const char *name;
    bool must_exist;
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc == ERR_OK) {
        pips.items = eval_azure_docs(a, in, "publicIPs", &pips.n);
        rc = azure_pip_determine(a, n, s, family_of(in), &pips, &name, &must_exist, err);
    }
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add_str(*ret, "name", name);
        json_add_bool(*ret, "mustExist", must_exist);
    }
    return rc;
}

static struct json_object *updates_out(struct arena *a, const struct azure_pip_releases *r)
{
    struct json_object *out = json_object_new_object();
    struct json_object *gone = json_object_new_array();
    struct json_object *update = json_object_new_array();
    for (size_t i = 0; i < r->n; i++) {
        if (r->items[i].doc == NULL) {
            json_push_str(gone, azure_doc_name(r->items[i].pip));
            continue;
        }
        struct json_object *o = json_object_new_object();
        json_add_str(o, "name", azure_doc_name(r->items[i].doc));
        json_add(o, "tags", json_object_get(json_member(r->items[i].doc, "tags")));
        struct json_object *tags = azure_ip_tags_sorted(a, azure_array(r->items[i].doc, "ipTags"));
        if (json_len(tags) > 0) {
            json_add(o, "ipTags", json_object_get(tags));
        }
        (void)json_object_array_add(update, o);
    }
    json_add(out, "delete", gone);
    json_add(out, "update", update);
    json_add_bool(out, "foundDesired", r->found_desired);
    json_add_bool(out, "deletedDesired", r->deleted_desired);
    return out;
}

static int run_updates(struct arena *a, struct json_object *in, struct json_object **ret,
                       struct err *err)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    struct azure_pips pips = {0};
    struct azure_pip_releases r;
    const char *name = NULL;
    bool must_exist = false;
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    bool want = json_bool(in, "want", false);
    bool external = want && !s->internal;
    pips.items = eval_azure_docs(a, in, "publicIPs", &pips.n);
    if (external) {
        rc = azure_pip_determine(a, n, s, family_of(in), &pips, &name, &must_exist, err);
    }
    if (rc == ERR_OK) {
        const struct azure_pip_ask ask = {.naming = n,
                                          .service = s,
                                          .family = family_of(in),
                                          .pips = &pips,
                                          .want = want,
                                          .desired = name};
        rc = azure_pip_releases(a, &ask, &r, err);
    }
    if (rc == ERR_OK && must_exist && !r.found_desired) {
        rc = err_set(err, ERR_NOT_FOUND, "pip(%s) not found", name);
    }
    if (rc == ERR_OK) {
        *ret = updates_out(a, &r);
        if (external) {
            json_add_str(*ret, "desired", name);
            json_add_bool(*ret, "mustExist", must_exist);
        }
    }
    return rc;
}

static int run_bind(struct arena *a, struct json_object *in, struct json_object **ret,
                    struct err *err)
{
    struct json_object *tags = azure_copy(a, json_member(in, "tags"));
    if (tags != NULL && !json_object_is_type(tags, json_type_object)) {
        return err_set(err, ERR_INVALID, "tags: want an object");
    }
    const char *unbind = json_str(in, "unbind");
    int rc = ERR_OK;
    struct json_object *out = azure_own(a, json_object_new_object());
    if (unbind != NULL) {
        const char *const *left;
        size_t n;
        rc =
            azure_pip_unbind(a, tags, unbind, json_bool(in, "userAssigned", false), &left, &n, err);
        json_add(out, "services", json_strs(left, n));
    } else {
        size_t n;
        const char **names = eval_strs(a, in, "bind", &n);
        tags = tags != NULL ? tags : azure_own(a, json_object_new_object());
        json_add_bool(out, "changed", azure_pip_bind(a, tags, names, n));
    }
    if (rc == ERR_OK) {
        json_add(out, "tags", json_object_get(tags));
        *ret = json_object_get(out);
    }
    return rc;
}

static int run_dns(struct arena *a, struct json_object *in, struct json_object **ret,
                   struct err *err)
{
    struct json_object *pip = azure_copy(a, json_member(in, "publicIP"));
    bool changed;
    if (!azure_doc_is_sound(pip)) {
        return err_set(err, ERR_INVALID, "publicIP: no resource");
    }
    int rc = azure_pip_set_dns(a, pip, str_nonnull(json_str(in, "serviceName")),
                               str_nonnull(json_str(in, "label")),
                               json_bool(in, "userAssigned", false), &changed, err);
    if (rc == ERR_OK) {
        const char *label =
            json_str(json_member(json_member(pip, "properties"), "dnsSettings"), "domainNameLabel");
        *ret = json_object_new_object();
        json_add_bool(*ret, "changed", changed);
        json_add(*ret, "tags", json_object_get(azure_object_make(pip, "tags")));
        json_add_str(*ret, "label", str_is_empty(label) ? NULL : label);
    }
    return rc;
}

static int run_ip_tags(struct arena *a, struct json_object *in, struct json_object **ret,
                       struct err *err)
{
    (void)err;
    const char *text = json_str(in, "annotation");
    struct json_object *tags = azure_ip_tags_parse(a, str_nonnull(text));
    *ret = json_object_new_object();
    json_add_bool(*ret, "requested", text != NULL);
    json_add(*ret, "tags", json_object_get(tags));
    json_add_bool(*ret, "equal", azure_ip_tags_eq(a, json_member(in, "current"), tags));
    return ERR_OK;
}

static int run_candidate(struct arena *a, struct json_object *in, struct json_object **ret,
                         struct err *err)
{
    static const char *const words[] = {
        [AZURE_IP_OK] = "ok", [AZURE_IP_NON_PUBLIC] = "nonPublic", [AZURE_IP_INVALID] = "invalid"};
    (void)a;
    (void)err;
    *ret = json_object_new_object();
    json_add_str(*ret, "result", words[azure_public_ip_candidate(str_nonnull(json_str(in, "ip")))]);
    return ERR_OK;
}

const struct eval_fn eval_azure_pip[] = {
    {"azure.pip_owner", run_owner},
    {"azure.pip_name", run_name},
    {"azure.pip_updates", run_updates},
    {"azure.pip_bind", run_bind},
    {"azure.pip_dns", run_dns},
    {"azure.ip_tags", run_ip_tags},
    {"azure.public_ip_candidate", run_candidate},
    {NULL, NULL},
};
