/* SPDX-License-Identifier: Apache-2.0 */
/* rules_crd.c: conditions of a new CustomResourceDefinition.
 *
 * Controllers make the definitions of their own kinds at start and wait until they are established.
 * Here they are at once, if the kind is one of the table's (kinds.c); other kinds get a condition
 * that they are not served.  Which kinds are served never depends on these objects.  Pure but for
 * the time. */
#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

static bool is_served(struct json_object *spec)
{
    const char *plural = json_str(json_member(spec, "names"), "plural");
    for (size_t i = 0; i < kube_n_kinds; i++) {
        const struct kube_kind *k = &kube_kinds[i];
        if (k->is_custom && str_eq(k->plural, plural) &&
            str_eq(k->group, json_str(spec, "group"))) {
            return true;
        }
    }
    return false;
}

static struct json_object *condition(const char *type, bool met, const char *now,
                                     const char *reason, const char *message)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "type", type);
    json_add_str(o, "status", met ? "True" : "False");
    json_add_str(o, "lastTransitionTime", now);
    json_add_str(o, "reason", reason);
    json_add_str(o, "message", message);
    return o;
}

static void crd_prepare(struct kube_change *c)
{
    struct json_object *spec = json_member(c->now, "spec");
    struct json_object *names = json_member(spec, "names");
    struct json_object *versions = json_member(spec, "versions");
    bool served = is_served(spec);
    char now[32];
    if (c->was) {
        return;
    }
    kube_now(c->st, now);
    struct json_object *stored = json_object_new_array();
    for (size_t i = 0; i < json_len(versions); i++) {
        struct json_object *v = json_object_array_get_idx(versions, i);
        if (json_bool(v, "storage", false)) {
            json_push_str(stored, str_nonnull(json_str(v, "name")));
        }
    }
    struct json_object *conditions = json_object_new_array();
    json_object_array_add(
        conditions, condition("NamesAccepted", true, now, "NoConflicts", "no conflicts found"));
    json_object_array_add(conditions,
                          condition("Established", served, now,
                                    served ? "InitialNamesAccepted" : "NotServed",
                                    served ? "the initial names have been accepted"
                                           : "the simulator does not serve this resource"));
    struct json_object *status = json_object_new_object();
    json_add(status, "conditions", conditions);
    json_add(status, "acceptedNames", names ? json_copy(names) : json_object_new_object());
    json_add(status, "storedVersions", stored);
    kube_set(c->now, "status", status);
}

const struct kube_rules kube_rules_crd = {.prepare = crd_prepare};
