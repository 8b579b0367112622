/* SPDX-License-Identifier: Apache-2.0 */
/* azure_renew_rules.c: see azure_renew_rules.h.  Pure. */
#include "providers/azure/azure_renew_rules.h"
#include "common/base/hash.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_names.h"

#include <string.h>

/* Why the public IP stays as it is, as the end of "public IP x …"; NULL: the Service may have
 * another one in its place. */
static const char *why_kept(const struct azure_service *s, enum azure_family f,
                            const struct azure_pip_ownership *o)
{
    if (o->user_assigned) {
        return "was not made for a Service";
    }
    if (s->pip_name[f] != NULL || (s->lb_ip[f] != NULL && s->pip_prefix_id[f] == NULL)) {
        return "is named by the Service";
    }
    return o->n_services > 1 ? "is used by other Services, too" : NULL;
}

static bool has_other_tags(struct arena *a, const struct azure_naming *n,
                           const struct azure_service *s, struct json_object *pip)
{
    return pip != NULL && !n->config->mutate_ip_tags && s->ip_tags != NULL && !s->internal &&
           !azure_ip_tags_eq(a, azure_array(pip, "ipTags"), azure_ip_tags_parse(a, s->ip_tags));
}

bool azure_renew_needed(struct arena *a, const struct azure_naming *n,
                        const struct azure_service *s, enum azure_family f, struct json_object *pip)
{
    if (!has_other_tags(a, n, s, pip)) {
        return false;
    }
    struct azure_pip_ownership o = azure_pip_owner(a, n, s, pip);
    return o.owns && azure_pip_names(&o, s->key) && why_kept(s, f, &o) == NULL;
}

const char *azure_renew_refusal(struct arena *a, const struct azure_naming *n,
                                const struct azure_service *s, enum azure_family f,
                                struct json_object *pip)
{
    if (!has_other_tags(a, n, s, pip)) {
        return NULL;
    }
    struct azure_pip_ownership o = azure_pip_owner(a, n, s, pip);
    const char *why = why_kept(s, f, &o);
    return why == NULL ? NULL
                       : arena_printf(a, "IP tags of public IP %s stay as they are: it %s",
                                      azure_doc_name(pip), why);
}

const char *azure_renew_interim_name(struct arena *a, const struct azure_service *s,
                                     enum azure_family f)
{
    const char *tags = json_text(a, azure_ip_tags_parse(a, s->ip_tags), JSON_COMPACT);
    uint64_t digest = hash_bytes(0, tags, strlen(tags));
    return azure_interim_name(a, s->base, digest, f);
}

struct json_object *azure_renew_interim(struct arena *a, const struct azure_pip_ask *ask)
{
    struct json_object *pip =
        azure_pip_new(a, ask, azure_renew_interim_name(a, ask->service, ask->family));
    json_object_object_del(azure_props_make(pip), "publicIPPrefix");
    (void)azure_pip_tag(a, ask->naming, ask->service, pip);
    return pip;
}

struct json_object *azure_renew_former(struct arena *a, struct json_object *pip)
{
    static const char *const members[] = {"id", "etag", "type"};
    static const char *const props[] = {"ipAddress", "ipConfiguration", "provisioningState",
                                        "resourceGuid"};
    struct json_object *doc = azure_copy(a, pip);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        json_object_object_del(doc, members[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(props); i++) {
        json_object_object_del(azure_props_make(doc), props[i]);
    }
    return doc;
}
