/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_diff.c: elements of two load balancers, compared by name (azure_lb_diff.h).  Pure. */
#include "providers/azure/lb/azure_lb_diff.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_names.h"

/* One line that tells an element from another of its kind. */
static const char *frontend_line(struct arena *a, struct json_object *o)
{
    const char *pip = azure_ref(o, "publicIPAddress");
    if (pip != NULL) {
        return arena_printf(a, "public IP %s", azure_id_last(pip));
    }
    const char *subnet = azure_ref(o, "subnet");
    return arena_printf(a, "%s in subnet %s",
                        str_or(azure_prop_str(o, "privateIPAddress"), "an address"),
                        subnet != NULL ? azure_id_last(subnet) : "?");
}

static const char *rule_line(struct arena *a, struct json_object *o)
{
    const char *probe = azure_ref(o, "probe");
    return arena_printf(a, "%s %d -> %d, probe %s", str_nonnull(azure_prop_str(o, "protocol")),
                        (int)azure_prop_int(o, "frontendPort", 0),
                        (int)azure_prop_int(o, "backendPort", 0),
                        probe != NULL ? azure_id_last(probe) : "none");
}

static const char *probe_line(struct arena *a, struct json_object *o)
{
    return arena_printf(a, "%s %d%s%s", str_nonnull(azure_prop_str(o, "protocol")),
                        (int)azure_prop_int(o, "port", 0),
                        azure_prop_str(o, "requestPath") != NULL ? " " : "",
                        str_nonnull(azure_prop_str(o, "requestPath")));
}

static const char *pool_line(struct arena *a, struct json_object *o)
{
    (void)o;
    return arena_strdup(a, "a pool");
}

static const struct {
    const char *array;
    const char *(*line)(struct arena *a, struct json_object *o);
    const char *members[11]; /* what is compared */
} kinds[] = {
    {"frontendIPConfigurations",
     frontend_line,
     {"publicIPAddress", "subnet", "privateIPAddress", "privateIPAllocationMethod"}},
    {"backendAddressPools", pool_line, {NULL}},
    {"loadBalancingRules",
     rule_line,
     {"protocol", "frontendPort", "backendPort", "enableFloatingIP", "idleTimeoutInMinutes",
      "enableTcpReset", "disableOutboundSnat", "loadDistribution", "probe",
      "frontendIPConfiguration", "backendAddressPool"}},
    {"probes",
     probe_line,
     {"protocol", "port", "requestPath", "intervalInSeconds", "probeThreshold"}},
};

static struct map *by_name(struct arena *a, struct json_object *array)
{
    struct map *m = map_new(NULL);
    struct json_object *o;
    AZURE_EACH (o, array) {
        map_set(m, str_lower(a, azure_doc_name(o)), o);
    }
    return m;
}

static const char *text_of(struct arena *a, struct json_object *o, const char *member)
{
    struct json_object *v = json_member(azure_props(o), member);
    if (v == NULL) {
        return NULL;
    }
    const char *id = json_str(v, "id");
    return arena_strdup(a, id != NULL ? azure_id_last(id) : json_object_get_string(v));
}

static void compare(struct lb_diff *d, size_t kind, struct json_object *was,
                    struct json_object *now)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds[kind].members); i++) {
        const char *member = kinds[kind].members[i];
        if (member != NULL) {
            const char *path =
                arena_printf(d->a, "%s[%s].%s", kinds[kind].array, azure_doc_name(now), member);
            (void)lb_diff_text(d, path, text_of(d->a, was, member), text_of(d->a, now, member));
        }
    }
}

static void diff_kind(struct lb_diff *d, size_t kind, struct json_object *was,
                      struct json_object *now)
{
    struct map *before = by_name(d->a, azure_array(was, kinds[kind].array));
    struct map *after = by_name(d->a, azure_array(now, kinds[kind].array));
    struct json_object *o;
    AZURE_EACH (o, azure_array(was, kinds[kind].array)) {
        const char *path = arena_printf(d->a, "%s[%s]", kinds[kind].array, azure_doc_name(o));
        if (!map_has(after, str_lower(d->a, azure_doc_name(o)))) {
            (void)lb_diff_text(d, path, kinds[kind].line(d->a, o), NULL);
        }
    }
    AZURE_EACH (o, azure_array(now, kinds[kind].array)) {
        const char *path = arena_printf(d->a, "%s[%s]", kinds[kind].array, azure_doc_name(o));
        struct json_object *old = map_get(before, str_lower(d->a, azure_doc_name(o)));
        if (old == NULL) {
            (void)lb_diff_text(d, path, NULL, kinds[kind].line(d->a, o));
        } else {
            compare(d, kind, old, o);
        }
    }
    map_free(before);
    map_free(after);
}

void azure_lb_diff(struct lb_diff *d, struct json_object *was, struct json_object *now)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        diff_kind(d, i, was, now);
    }
    struct json_object *tags = json_member(now, "tags");
    if (tags != NULL) {
        (void)lb_diff_json(d, "tags", json_member(was, "tags"), tags);
    }
}
