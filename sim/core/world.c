/* SPDX-License-Identifier: Apache-2.0 */
/* world.c: the whole state of the simulator as one JSON document: GET and PUT /sim/state, --world,
 * --state.
 *
 * Each module loads and dumps its own members.  Members that no module dumps (other clouds, the
 * flags and the cloud configuration that a recorded world carries) are kept and given back as they
 * came.  Loading does not validate: a world was made by a cloud, not by a request.  Source:
 * interfaces.md, "World". */
#include "sim/core/frame.h"

struct json_object *sim_dump(struct sim *s)
{
    struct json_object *world = s->rest ? json_copy(s->rest) : json_object_new_object();
    for (size_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].module->dump) {
            s->slots[i].module->dump(s->slots[i].state, world);
        }
    }
    return world;
}

static int load_modules(struct sim *s, struct json_object *world, struct err *err)
{
    for (size_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].module->load) {
            int code = s->slots[i].module->load(s->slots[i].state, world, err);
            if (code) {
                (void)err_prefix(err, "world");
                return code;
            }
        }
    }
    return ERR_OK;
}

/* The modules dump their members from now on; the rest of the world is kept.  A member that a
 * module has but the world lacked must not come back from an earlier world. */
static void keep_rest(struct sim *s, struct json_object *world)
{
    struct json_object *owned = json_object_new_object();
    json_object_put(s->rest);
    s->rest = json_copy(world);
    for (size_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].module->dump) {
            s->slots[i].module->dump(s->slots[i].state, owned);
        }
    }
    json_object_object_foreach(owned, key, value)
    {
        json_object_object_del(s->rest, key);
        (void)value;
    }
    json_object_put(owned);
}

int sim_load(struct sim *s, struct json_object *world, struct err *err)
{
    if (!json_object_is_type(world, json_type_object)) {
        return err_set(err, ERR_INVALID, "a world is a JSON object");
    }
    /* A world that does not load changes nothing. */
    struct json_object *before = sim_dump(s);
    int code = load_modules(s, world, err);
    if (code) {
        (void)load_modules(s, before, NULL); /* it was ours a moment ago */
    } else {
        keep_rest(s, world);
        sim_ids_note(s, world);
    }
    json_object_put(before);
    return code;
}

int sim_world_start(struct sim *s, struct err *err)
{
    const struct sim_nodes_wish wish = {.count = s->cfg.nodes, .ipv6 = s->cfg.ipv6};
    int code = wish.count > 0 ? sim_nodes_add(s, &wish, NULL, err) : ERR_OK;
    void *kube = sim_module_state(s, "kubernetes");
    for (int i = 0; kube && !code && i < s->cfg.services; i++) {
        char *name = xasprintf("service-%d", i);
        code = sim_kube_add_service(kube, "default", name, s->cfg.service_class, err);
        free(name);
    }
    return code;
}
