/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_release_rules.c: which public IPs a Service lets go (azure_pip_rules.h).
 *
 * The user's are never deleted; a shared one only loses the Service's name.  Pure;
 * docs/spec/azure.md 8.8. */
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_rules.h"
#include "providers/azure/pip/azure_pip_tags.h"

struct ask {
    const struct azure_naming *n;
    const struct azure_service *s;
    bool want;
    bool by_marks;
    const char *desired;    /* or NULL */
    const char *desired_id; /* or NULL */
    const struct azure_service *namesake;
    size_t n_references; /* left on the public IP */
    bool user_assigned;
};

/* The annotation asks for other IP tags than it has, and they cannot be changed in place.  Upstream
 * deletes it here; a sync of ours has made it again before, or leaves it (azure_renew_rules.h). */
static bool has_other_ip_tags(struct arena *a, const struct ask *x, struct json_object *pip)
{
    return !x->by_marks && !x->n->config->mutate_ip_tags && x->s->ip_tags != NULL &&
           !azure_ip_tags_eq(a, azure_array(pip, "ipTags"), azure_ip_tags_parse(a, x->s->ip_tags));
}

static bool is_desired(const struct ask *x, struct json_object *pip)
{
    return x->desired_id != NULL ? azure_id_eq(azure_doc_id(pip), x->desired_id)
                                 : str_eq(azure_doc_name(pip), x->desired);
}

/* Why it is to be deleted, or NULL. */
static const char *why_gone(struct arena *a, const struct ask *x, struct json_object *pip)
{
    if (x->user_assigned || (!x->want && x->n_references > 0) || (x->want && x->n_references > 1)) {
        return NULL;
    }
    if (!x->want) {
        return "its Service is gone";
    }
    if (x->s->internal) {
        return "its Service is internal now";
    }
    if (!is_desired(x, pip)) {
        return "its Service uses another address now";
    }
    return has_other_ip_tags(a, x, pip) ? "its IP tags cannot be changed" : NULL;
}

static bool is_of_other_family(struct json_object *pip, enum azure_family f)
{
    const char *version = azure_prop_str(pip, "publicIPAddressVersion");
    return version != NULL && azure_eq(version, "IPv6") != (f == AZURE_IPV6);
}

struct azure_pips azure_pips_of_family(struct arena *a, const struct azure_pips *pips,
                                       enum azure_family f)
{
    struct json_object **items = ARENA_ARRAY(a, struct json_object *, pips->n + 1);
    struct azure_pips out = {.items = items};
    for (size_t i = 0; i < pips->n; i++) {
        bool unknown = azure_prop_str(pips->items[i], "publicIPAddressVersion") == NULL;
        if (unknown ? f == AZURE_IPV4 : !is_of_other_family(pips->items[i], f)) {
            items[out.n++] = pips->items[i];
        }
    }
    return out;
}

static int look_at(struct arena *a, struct ask *x, struct json_object *pip,
                   struct azure_pip_release *ret, bool *ret_some, struct err *err)
{
    struct azure_pip_ownership o = azure_pip_owner(a, x->n, x->s, pip);
    *ret_some = false;
    if (x->by_marks && !x->want && azure_pip_is_stripped(a, x->n, x->s, pip)) {
        *ret = (struct azure_pip_release){.pip = pip, .why = "its Service is gone"};
        *ret_some = true;
        return ERR_OK;
    }
    bool selects = x->by_marks && !o.user_assigned && !azure_pip_names(&o, x->s->key);
    if (!o.owns || selects ||
        (x->namesake != NULL && azure_pip_is_left(a, x->n, x->s, x->namesake, pip))) {
        return ERR_OK;
    }
    struct json_object *doc = azure_copy(a, pip);
    const char *const *left = o.services;
    bool dirty = false;
    const char *why = "its tags are not as configured";
    x->user_assigned = o.user_assigned;
    x->n_references = o.n_services;
    if (!x->want && !o.user_assigned) {
        int rc = azure_pip_unbind(a, json_member(doc, "tags"), x->s->key, false, &left,
                                  &x->n_references, err);
        if (rc != ERR_OK) {
            return rc;
        }
        dirty = true;
        why = "its Service is gone, others still use it";
    }
    dirty = (!o.user_assigned && azure_pip_tag(a, x->n, x->s, doc)) || dirty;
    const char *gone = why_gone(a, x, pip);
    *ret_some = gone != NULL || dirty;
    *ret = (struct azure_pip_release){
        .pip = pip, .doc = gone != NULL ? NULL : doc, .why = gone != NULL ? gone : why};
    return ERR_OK;
}

int azure_pip_releases(struct arena *a, const struct azure_pip_ask *ask,
                       struct azure_pip_releases *ret, struct err *err)
{
    const struct azure_pips *pips = ask->pips;
    struct ask x = {.n = ask->naming,
                    .s = ask->service,
                    .want = ask->want,
                    .by_marks = ask->by_marks,
                    .namesake = ask->want ? NULL : ask->namesake,
                    .desired = ask->desired,
                    .desired_id = ask->desired_id};
    size_t n_owned = 0;
    for (size_t i = 0; i < pips->n; i++) {
        n_owned += azure_pip_owner(a, ask->naming, ask->service, pips->items[i]).owns ||
                   azure_pip_is_stripped(a, ask->naming, ask->service, pips->items[i]);
    }
    struct azure_pip_release *items = ARENA_ARRAY(a, struct azure_pip_release, n_owned + 1);
    struct azure_pip_releases out = {.items = items};
    for (size_t i = 0; i < pips->n; i++) {
        struct json_object *pip = pips->items[i];
        bool some;
        if (is_of_other_family(pip, ask->family)) {
            continue;
        }
        bool desired = ask->desired != NULL && is_desired(&x, pip);
        out.found_desired = out.found_desired || desired;
        int rc = look_at(a, &x, pip, &items[out.n], &some, err);
        if (rc != ERR_OK) {
            return rc;
        }
        if (some) {
            out.deleted_desired = out.deleted_desired || (desired && items[out.n].doc == NULL);
            out.n++;
        }
    }
    *ret = out;
    return ERR_OK;
}
