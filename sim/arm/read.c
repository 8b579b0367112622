/* SPDX-License-Identifier: Apache-2.0 */
/* read.c: GET of a document and of a collection, whose documents are complete (pages.c).
 *
 * The instance view of machines is shown only to who asks for it. */
#include "sim/arm/arm.h"

#include <string.h>

static bool wants_instance_view(const struct arm_request *q)
{
    const char *expand = arm_param(q, "$expand");
    return expand && str_eq_nocase(expand, "instanceView");
}

struct json_object *arm_shown(struct arm_request *q, const struct arm_resource *res)
{
    struct json_object *o = arm_view(res);
    if (!wants_instance_view(q)) {
        json_object_object_del(json_member(o, "properties"), "instanceView");
    }
    return o;
}

bool arm_read_get(struct arm_request *q)
{
    if (!q->res) {
        return arm_refuse_not_found(q);
    }
    arm_operations_look(q->res);
    q->res = arm_get(q->arm, q->id);
    if (!q->res) {
        return arm_refuse_not_found(q);
    }
    q->answer = arm_shown(q, q->res);
    return true;
}

/* --- lists ------------------------------------------------------------------------------------ */

struct listing {
    struct arm_request *q;
    const char *above;     /* ids of the collection begin so */
    const char *scale_set; /* of the filter, or NULL */
    struct json_object *items;
};

static bool add_item(struct arm_resource *res, void *arg)
{
    struct listing *l = arg;
    const char *set = arm_ref(json_member(res->body, "properties"), "virtualMachineScaleSet");
    if (!arm_id_is_below(res->id, l->above) ||
        (l->scale_set && !str_eq_nocase(set, l->scale_set))) {
        return true;
    }
    json_object_array_add(l->items, arm_shown(l->q, res));
    return true;
}

/* The id in "'virtualMachineScaleSet/id' eq '<id>'"; false: another filter. */
static bool parse_filter(struct arm_request *q, const char *filter, const char **ret)
{
    static const char start[] = "'virtualMachineScaleSet/id' eq '";
    size_t n = strlen(filter);
    if (!str_has_prefix(filter, start) || filter[n - 1] != '\'' || n <= strlen(start) + 1) {
        return arm_refuse(q, 400, "InvalidParameter", "The filter \"%s\" is not supported.",
                          filter);
    }
    *ret = arena_strndup(q->a, filter + strlen(start), n - strlen(start) - 1);
    return true;
}

bool arm_read_list(struct arm_request *q)
{
    /* A list of the whole subscription holds what is in its groups. */
    struct listing l = {.q = q, .above = q->group ? q->id : ""};
    const char *filter = arm_param(q, "$filter");
    if (!q->group) {
        l.above = arena_printf(q->a, "/subscriptions/%s", q->subscription);
    }
    if (filter && str_eq(q->kind->ops, "VirtualMachines") &&
        !parse_filter(q, filter, &l.scale_set)) {
        return false;
    }
    const char *parent = arm_id_parent(q->a, arena_printf(q->a, "%s/x", q->id));
    bool nested = strchr(strchr(q->kind->type, '/') + 1, '/') != NULL;
    if (nested && !arm_get(q->arm, parent)) {
        return arm_refuse(q, 404, "ParentResourceNotFound",
                          "Failed to perform 'read' on resource(s) of type '%s', because the "
                          "parent resource '%s' could not be found.",
                          strchr(q->kind->type, '/') + 1, parent);
    }
    arm_operations_pass(q->arm, l.above);
    l.items = json_object_new_array();
    arm_each(q->arm, q->kind->type, add_item, &l);
    arm_lag_apply(q->arm, q->kind->type, l.above, l.items);
    return arm_answer_page(q, l.items);
}
