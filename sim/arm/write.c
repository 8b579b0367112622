/* SPDX-License-Identifier: Apache-2.0 */
/* write.c: PUT, PATCH and DELETE of documents.
 *
 * A PUT replaces the whole document; what only the server sets is carried over.  A DELETE of
 * nothing is 204.  Conditions are checked before anything else: If-Match of another etag is 412
 * (docs/spec/azure.md §3.4). */
#include "sim/arm/arm.h"

#include <string.h>

bool arm_check_etag(struct arm_request *q, const char *current)
{
    const char *match = http_req_header(q->call->req, "If-Match");
    const char *none = http_req_header(q->call->req, "If-None-Match");
    bool refused = (none && (str_eq(none, "*") ? current != NULL : str_eq(none, current))) ||
                   (match && (str_eq(match, "*") ? current == NULL : !str_eq(match, current)));
    if (!refused) {
        return true;
    }
    q->refusal.detail_code = "PreconditionFailedEtagMismatch";
    q->refusal.detail =
        arena_printf(q->a,
                     "Etag provided in if-match header %s does not match etag %s of resource "
                     "%s in NRP data store.",
                     str_or(match, "*"), str_or(current, "(none)"), q->id);
    return arm_refuse(q, 412, "PreconditionFailed", "Precondition failed.");
}

bool arm_check_name(struct arm_request *q, bool exists)
{
    return exists || arm_name_is_valid(q->name, 80) ||
           arm_refuse(q, 400, "InvalidResourceName",
                      "Resource name %s is invalid. The name can be up to 80 characters long. It "
                      "must begin with a word character, and it must end with a word character or "
                      "with '_'. The name may contain word characters or '.', '-', '_'.",
                      q->name);
}

static char *plain_location(struct arena *a, const char *location)
{
    return str_lower(a, str_replace(a, str_nonnull(location), " ", ""));
}

/* Where the cloud is: the regions of the public cloud, and that of this world. */
static bool is_region(struct arm_request *q, const char *location)
{
    static const char *const regions[] = {
        "australiacentral", "australiacentral2",
        "australiaeast",    "australiasoutheast",
        "austriaeast",      "belgiumcentral",
        "brazilsouth",      "brazilsoutheast",
        "canadacentral",    "canadaeast",
        "centralindia",     "centralus",
        "centraluseuap",    "chilecentral",
        "eastasia",         "eastus",
        "eastus2",          "eastus2euap",
        "francecentral",    "francesouth",
        "germanynorth",     "germanywestcentral",
        "indonesiacentral", "israelcentral",
        "italynorth",       "japaneast",
        "japanwest",        "jioindiacentral",
        "jioindiawest",     "koreacentral",
        "koreasouth",       "malaysiawest",
        "mexicocentral",    "newzealandnorth",
        "northcentralus",   "northeurope",
        "norwayeast",       "norwaywest",
        "polandcentral",    "qatarcentral",
        "southafricanorth", "southafricawest",
        "southcentralus",   "southeastasia",
        "southindia",       "spaincentral",
        "swedencentral",    "swedensouth",
        "switzerlandnorth", "switzerlandwest",
        "uaecentral",       "uaenorth",
        "uksouth",          "ukwest",
        "westcentralus",    "westeurope",
        "westindia",        "westus",
        "westus2",          "westus3",
    };
    bool found = str_eq(location, plain_location(q->a, q->arm->location));
    for (size_t i = 0; i < ARRAY_LEN(regions) && !found; i++) {
        found = str_eq(regions[i], location);
    }
    return found;
}

static bool check_location(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    const char *location = json_str(body, "location");
    if (!q->kind->located) {
        return true;
    }
    if (str_is_empty(location)) {
        return arm_refuse(q, 400, "LocationRequired",
                          "The location property is required for this definition.");
    }
    const char *was = json_str(old, "location");
    if (was && !str_eq(plain_location(q->a, was), plain_location(q->a, location))) {
        return arm_refuse(q, 409, "InvalidResourceLocation",
                          "The resource '%s' already exists in location '%s' in resource group "
                          "'%s'. A resource with the same name cannot be created in location "
                          "'%s'. Please select a new resource name.",
                          q->name, was, str_nonnull(q->group), location);
    }
    location = arena_strdup(q->a, location);
    json_add_str(body, "location", was ? was : plain_location(q->a, location));
    return was || is_region(q, plain_location(q->a, location)) ||
           arm_refuse(q, 400, "LocationNotAvailableForResourceType",
                      "The provided location '%s' is not available for resource type '%s'.",
                      location, q->kind->type);
}

/* A child needs its parent. */
static bool check_parent(struct arm_request *q)
{
    const char *type = strchr(q->kind->type, '/') + 1;
    const char *parent = arm_id_parent(q->a, q->id);
    return !strchr(type, '/') || arm_get(q->arm, parent) ||
           arm_refuse(q, 404, "ParentResourceNotFound",
                      "Failed to perform 'write' on resource(s) of type '%s', because the parent "
                      "resource '%s' could not be found.",
                      type, parent);
}

/* Read-only members keep their values. */
static void carry(int type, struct json_object *old, struct json_object *body)
{
    const struct arm_field *f = type >= 0 ? arm_types[type].fields : NULL;
    for (; f && f->name; f++) {
        struct json_object *was = json_member(old, f->name);
        if (was && f->read_only && !json_member(body, f->name)) {
            json_add(body, f->name, json_copy(was));
        }
    }
}

static void carry_all(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    int type = arm_kind_type(q->kind);
    const struct arm_field *properties = arm_schema_field(type, "properties");
    carry(type, old, body);
    if (properties) {
        carry(properties->type, json_member(old, "properties"), arm_properties(body));
        if (!old && arm_schema_field(properties->type, "resourceGuid")) {
            json_add_str(arm_properties(body), "resourceGuid", arm_uuid(q->arm, q->a));
        }
    }
}

/* Checks and stores a whole new body (taken over). */
static bool put_body(struct arm_request *q, struct json_object *body)
{
    struct json_object *old = q->res ? json_object_get(q->res->body) : NULL;
    carry_all(q, old, body);
    bool ok = check_location(q, old, body) && (!q->kind->put || q->kind->put(q, old, body));
    if (!ok) {
        json_object_put(body);
        json_object_put(old);
        return false;
    }
    q->created = old == NULL;
    const char *etag = old ? arena_strdup(q->a, json_str(old, "etag")) : NULL;
    arm_lag_note(q->arm, q->id);
    q->target = arm_commit(q->arm, q->id, body, "Succeeded");
    q->unchanged = etag && str_eq(etag, json_str(q->target->body, "etag"));
    if (q->kind->after) {
        q->kind->after(q, old, q->target);
    }
    json_object_put(old);
    if (q->kind->couples) {
        arm_settle(q->arm);
    }
    return true;
}

bool arm_write_put(struct arm_request *q)
{
    const char *etag = q->res ? json_str(q->res->body, "etag") : NULL;
    return arm_check_name(q, q->res != NULL) && check_parent(q) &&
           arm_check_etag(q, q->res ? str_or(etag, "-") : NULL) &&
           arm_operations_admit(q, q->res) && put_body(q, json_copy(q->body));
}

/* RFC 7396, but tags are replaced as a whole. */
static void merge(struct json_object *into, struct json_object *patch, bool top)
{
    json_object_object_foreach(patch, name, value)
    {
        struct json_object *have = json_member(into, name);
        bool both = json_object_is_type(have, json_type_object) &&
                    json_object_is_type(value, json_type_object);
        if (both && !(top && str_eq(name, "tags"))) {
            merge(have, value, false);
        } else {
            json_add(into, name, json_copy(value));
        }
    }
}

bool arm_write_patch(struct arm_request *q)
{
    if (!q->res) {
        return arm_refuse_not_found(q);
    }
    if (!arm_check_etag(q, json_str(q->res->body, "etag")) || !arm_operations_admit(q, q->res)) {
        return false;
    }
    struct json_object *body = json_copy(q->res->body);
    merge(body, q->body, true);
    return put_body(q, body);
}

bool arm_write_delete(struct arm_request *q)
{
    if (!q->res) {
        q->status = 204;
        return true;
    }
    if (!arm_check_etag(q, str_or(json_str(q->res->body, "etag"), "-")) ||
        !arm_operations_admit(q, q->res) || (q->kind->remove && !q->kind->remove(q))) {
        return false;
    }
    q->removed = true;
    q->target = q->res;
    return true;
}
