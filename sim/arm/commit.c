/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c: how a checked body becomes a document: defaults, ids, types, states, etags, and what
 * follows for others.
 *
 * A document and its sub-resources share one etag, as in Azure's network provider.  It changes with
 * each change of a member, whatever the cause (docs/spec/azure.md §3.4), and only then: a PUT of
 * the present state changes nothing. */
#include "sim/arm/arm.h"

#include <string.h>

char *arm_uuid(struct arm *arm, struct arena *a)
{
    char text[37];
    sim_new_uuid(arm->sim, text);
    return arena_strdup(a, text);
}

static char *new_etag(struct arm *arm, struct arena *a)
{
    return arena_printf(a, "W/\"%s\"", arm_uuid(arm, a));
}

/* --- defaults --------------------------------------------------------------------------------- */

/* Adds to `o` what it lacks of `defaults`, also in nested objects. */
static void fill(struct json_object *o, struct json_object *defaults)
{
    json_object_object_foreach(defaults, name, value)
    {
        struct json_object *have = json_member(o, name);
        if (!have) {
            json_add(o, name, json_copy(value));
        } else if (json_object_is_type(have, json_type_object) &&
                   json_object_is_type(value, json_type_object)) {
            fill(have, value);
        }
    }
}

static void fill_text(struct json_object *properties, const char *text)
{
    struct json_object *defaults = NULL;
    if (text && json_parse(text, strlen(text), NULL, &defaults, NULL) == ERR_OK) {
        fill(properties, defaults);
        json_object_put(defaults);
    }
}

/* --- ids, types, states ----------------------------------------------------------------------- */

static void set_if_known(int type, struct json_object *o, const char *name, const char *value)
{
    if (value && arm_schema_field(type, name)) {
        json_add_str(o, name, value);
    }
}

static int member_type(int type, const char *name)
{
    const struct arm_field *f = arm_schema_field(type, name);
    return f ? f->type : -1;
}

struct dress {
    struct arena *a;
    const char *etag;
    const char *state;
};

static void dress_child(const struct dress *d, int type, const char *id, const char *arm_type,
                        struct json_object *o)
{
    json_add_str(o, "id", id);
    set_if_known(type, o, "etag", d->etag);
    set_if_known(type, o, "type", arm_type);
    set_if_known(member_type(type, "properties"), arm_properties(o), "provisioningState", d->state);
}

static void dress_children(const struct dress *d, const struct arm_kind *kind, int type,
                           const char *id, struct json_object *properties)
{
    for (const struct arm_child *c = kind->children; c && c->member; c++) {
        int list = member_type(type, c->member);
        struct json_object *items = json_member(properties, c->member);
        if (list < 0) {
            continue;
        }
        if (!items) {
            items = json_object_new_array();
            json_add(properties, c->member, items);
        }
        for (size_t i = 0; i < json_len(items); i++) {
            struct json_object *item = json_object_array_get_idx(items, i);
            const char *name = str_nonnull(json_str(item, "name"));
            dress_child(d, arm_types[list].item,
                        arena_printf(d->a, "%s/%s/%s", id, c->member, name),
                        arena_printf(d->a, "%s/%s", kind->type, c->member), item);
        }
    }
}

/* An instance is called after its scale set. */
static const char *shown_name(const struct dress *d, const struct arm_kind *kind, const char *id)
{
    const char *name = arm_id_name(id);
    return str_eq(kind->ops, "VirtualMachineScaleSetVMs")
               ? arena_printf(d->a, "%s_%s", arm_id_name(arm_id_parent(d->a, id)), name)
               : name;
}

static void dress(const struct dress *d, const struct arm_kind *kind, const char *id,
                  struct json_object *body)
{
    int type = arm_kind_type(kind);
    int inner = member_type(type, "properties");
    struct json_object *properties = arm_properties(body);
    json_add_str(body, "id", id);
    json_add_str(body, "name", shown_name(d, kind, id));
    set_if_known(type, body, "type", kind->type);
    if (member_type(type, "etag") < 0) {
        json_object_object_del(body, "etag");
    }
    set_if_known(type, body, "etag", d->etag);
    set_if_known(inner, properties, "provisioningState", d->state);
    dress_children(d, kind, inner, id, properties);
}

/* --- committing ------------------------------------------------------------------------------- */

static struct arm_resource *commit(struct arm *arm, const struct arm_links *l, const char *id,
                                   struct json_object *body, const char *state)
{
    struct arena *a = arena_new();
    struct arm_resource *res = arm_get(arm, id);
    struct json_object *old = res ? res->body : NULL;
    const char *type = arm_id_type(a, id);
    const struct arm_kind *kind = type ? arm_kind_find(type) : NULL;
    if (!kind) {
        res = arm_set(arm, id, body);
        arena_free(a);
        return res;
    }
    id = res ? res->id : id;
    struct dress d = {.a = a, .etag = old ? json_str(old, "etag") : NULL, .state = state};
    if (!d.state) {
        d.state =
            str_or(json_str(json_member(old, "properties"), "provisioningState"), "Succeeded");
    }
    d.etag = arena_strdup(a, d.etag);
    d.state = arena_strdup(a, d.state);
    fill_text(arm_properties(body), kind->defaults);
    arm_derive(arm, l, kind, id, body);
    dress(&d, kind, id, body);
    if (old && json_equal(old, body)) {
        json_object_put(body);
    } else {
        d.etag = new_etag(arm, a);
        dress(&d, kind, id, body);
        res = arm_set(arm, id, body);
    }
    arena_free(a);
    return res;
}

/* Kinds with members that follow from other documents. */
static const char *const settled[] = {
    "Microsoft.Network/loadBalancers",     "Microsoft.Network/publicIPAddresses",
    "Microsoft.Network/networkInterfaces", "Microsoft.Network/networkSecurityGroups",
    "Microsoft.Compute/availabilitySets",
};

static bool is_settled(const struct arm_kind *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(settled); i++) {
        if (str_eq(settled[i], kind->type)) {
            return true;
        }
    }
    return false;
}

struct arm_resource *arm_commit(struct arm *arm, const char *id, struct json_object *body,
                                const char *state)
{
    struct arena *a = arena_new();
    const char *type = arm_id_type(a, id);
    const struct arm_kind *kind = type ? arm_kind_find(type) : NULL;
    struct arm_links *l = kind && is_settled(kind) ? arm_links_new(arm) : NULL;
    struct arm_resource *res = commit(arm, l, id, body, state);
    if (l) {
        arm_links_free(l);
    }
    arena_free(a);
    return res;
}

void arm_touch(struct arm *arm, const char *id)
{
    struct arm_resource *res = arm_get(arm, id);
    if (res && res->kind) {
        struct arena *a = arena_new();
        struct dress d = {.a = a, .etag = new_etag(arm, a)};
        dress(&d, res->kind, res->id, res->body);
        arena_free(a);
    }
}

void arm_restore_etag(struct arm_resource *res, const char *etag)
{
    if (etag && res->kind) {
        struct arena *a = arena_new();
        struct dress d = {.a = a, .etag = etag};
        dress(&d, res->kind, res->id, res->body);
        arena_free(a);
    }
}

struct settling {
    struct arm *arm;
    const struct arm_links *links;
};

/* A member that is not derived yet will certainly change: in place, under a new etag. */
static bool settle_one(struct arm_resource *res, void *arg)
{
    struct settling *s = arg;
    if (res->kind && !arm_is_derived(s->links, res)) {
        struct arena *a = arena_new();
        struct dress d = {.a = a, .etag = new_etag(s->arm, a)};
        const char *state = json_str(json_member(res->body, "properties"), "provisioningState");
        d.state = arena_strdup(a, str_or(state, "Succeeded"));
        fill_text(arm_properties(res->body), res->kind->defaults);
        arm_derive(s->arm, s->links, res->kind, res->id, res->body);
        dress(&d, res->kind, res->id, res->body);
        arena_free(a);
    }
    return true;
}

void arm_settle(struct arm *arm)
{
    struct settling s = {.arm = arm, .links = arm_links_new(arm)};
    for (size_t i = 0; i < ARRAY_LEN(settled); i++) {
        arm_each(arm, settled[i], settle_one, &s);
    }
    arm_links_free((struct arm_links *)s.links);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void set_states(struct json_object *o, const char *state)
{
    struct json_object *properties = json_member(o, "properties");
    if (json_member(properties, "provisioningState")) {
        json_add_str(properties, "provisioningState", state);
    }
}

struct json_object *arm_view(const struct arm_resource *res)
{
    struct json_object *o = json_copy(res->body);
    struct json_object *properties = json_member(o, "properties");
    if (res->op) {
        const char *state = arm_operation_state(res->op);
        set_states(o, state);
        for (const struct arm_child *c = res->kind->children; c && c->member; c++) {
            struct json_object *items = json_member(properties, c->member);
            for (size_t i = 0; i < json_len(items); i++) {
                set_states(json_object_array_get_idx(items, i), state);
            }
        }
    }
    if (res->hides_address) {
        json_object_object_del(properties, "ipAddress");
    }
    return o;
}

void arm_prune(int type, struct json_object *o)
{
    if (type < 0 || !o) {
        return;
    }
    const struct arm_type *t = &arm_types[type];
    for (size_t i = 0; i < json_len(o); i++) {
        arm_prune(t->item, json_object_array_get_idx(o, i));
    }
    if (t->kind != ARM_OBJECT || !json_object_is_type(o, json_type_object)) {
        return;
    }
    struct lh_entry *e = json_object_get_object(o)->head;
    while (e) {
        struct lh_entry *next = e->next;
        const char *name = lh_entry_k(e);
        if (!lh_entry_v(e) || !arm_schema_field(type, name)) {
            json_object_object_del(o, name);
        } else {
            arm_prune(member_type(type, name), (struct json_object *)lh_entry_v(e));
        }
        e = next;
    }
}

/* --- worlds ----------------------------------------------------------------------------------- */

static bool is_of_kind(int type, struct json_object *o)
{
    enum arm_type_kind kind = type >= 0 ? arm_types[type].kind : ARM_ANY;
    enum json_type got = json_object_get_type(o);
    switch (kind) {
    case ARM_OBJECT:
    case ARM_MAP:
        return got == json_type_object;
    case ARM_ARRAY:
        return got == json_type_array;
    case ARM_STRING:
        return got == json_type_string;
    case ARM_INTEGER:
    case ARM_NUMBER:
        return got == json_type_int || got == json_type_double;
    case ARM_BOOLEAN:
        return got == json_type_boolean;
    case ARM_ANY:
        break;
    }
    return got != json_type_null;
}

void arm_sanitize(int type, struct json_object *o)
{
    if (type < 0) {
        return;
    }
    for (size_t i = json_len(o); i > 0; i--) {
        struct json_object *item = json_object_array_get_idx(o, i - 1);
        if (!is_of_kind(arm_types[type].item, item)) {
            json_object_array_del_idx(o, i - 1, 1);
        } else {
            arm_sanitize(arm_types[type].item, item);
        }
    }
    if (arm_types[type].kind != ARM_OBJECT || !json_object_is_type(o, json_type_object)) {
        return;
    }
    for (const struct arm_field *f = arm_types[type].fields; f->name; f++) {
        struct json_object *value;
        if (!json_object_object_get_ex(o, f->name, &value)) {
            continue;
        }
        if (!is_of_kind(f->type, value)) {
            json_object_object_del(o, f->name);
        } else {
            arm_sanitize(f->type, value);
        }
    }
}
