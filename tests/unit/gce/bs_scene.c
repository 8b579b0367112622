/* SPDX-License-Identifier: Apache-2.0 */
/* bs_scene.c: see bs_scene.h. */
#include "tests/unit/gce/bs_scene.h"

#define SERVICE                                                                                    \
    "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\",\"uid\":\"6fa8b6c4-3f1e-4c2a-9d57-"    \
    "0b1c2d3e4f50\"},\"spec\":{\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":\"Cluster\","   \
    "\"ipFamilies\":[\"IPv4\"],\"ports\":[{\"port\":%d,\"protocol\":\"TCP\"}]}}"
#define GROUP(zone) "\"zones/us-central1-" zone "/instanceGroups/k8s-ig--0123456789abcdef\":{}"

const char *const scene_kinds[SCENE_KINDS] = {"ilb-negs", "ilb-groups", "netlb-groups",
                                              "netlb-negs"};

void scene_begin(struct scene *s, struct arena *a, const char *facts)
{
    struct json_object *groups = pure_json(a, "{" GROUP("a") "," GROUP("b") "," GROUP("c") "}");
    *s = (struct scene){.a = a, .broken = STR_BUF_INIT};
    s->model.broken = &s->broken;
    gce_model_init(&s->model, a, groups, NULL);
    s->sync = (struct gce_bs_sync){.a = a,
                                   .model = &s->model,
                                   .service = pure_json(a, arena_printf(a, SERVICE, 80)),
                                   .nodes = gce_bs_sync_nodes(a),
                                   .facts = pure_json(a, facts)};
}

void scene_begin_kind(struct scene *s, struct arena *a, const char *kind)
{
    scene_begin(s, a, arena_printf(a, "{\"kind\":\"%s\"}", kind));
}

void scene_end(struct scene *s)
{
    if (s->broken.len > 0) {
        fail_msg("%s", str_buf_text(&s->broken));
    }
    str_buf_done(&s->broken);
    gce_model_done(&s->model);
}

void scene_plan(struct scene *s)
{
    struct err err = ERR_INIT;
    if (gce_bs_sync_plan(&s->sync, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

void scene_carry_out(struct scene *s)
{
    struct err err = ERR_INIT;
    if (gce_bs_sync_run(&s->sync, 0, NULL, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

void scene_settle(struct scene *s)
{
    scene_plan(s);
    scene_carry_out(s);
}

void scene_set_port(struct scene *s, int port)
{
    s->sync.service = pure_json(s->a, arena_printf(s->a, SERVICE, port));
}

void scene_set_fact(struct scene *s, const char *name, const char *json)
{
    json_add(s->sync.facts, name, json_copy(pure_json(s->a, json)));
}

/* ---- operations ------------------------------------------------------------------------------ */

const struct gce_op *scene_arg(const struct lb_op *op)
{
    return op->verb == LB_KEEP ? NULL : op->arg;
}

/* The first such operation; `suffix` of its name ("" any).  -1: there is none. */
int scene_find(const struct scene *s, enum gce_collection c, enum gce_verb verb, const char *suffix)
{
    for (size_t i = 0; i < s->sync.plan.n_ops; i++) {
        const struct gce_op *arg = scene_arg(&s->sync.plan.ops[i]);
        if (arg != NULL && arg->c == c && arg->verb == verb && str_has_suffix(arg->name, suffix)) {
            return (int)i;
        }
    }
    return -1;
}

const struct lb_op *scene_op(const struct scene *s, enum gce_collection c, enum gce_verb verb,
                             const char *suffix)
{
    int at = scene_find(s, c, verb, suffix);
    if (at < 0) {
        fail_msg("%s: no operation %d on %s", json_str(s->sync.facts, "kind"), (int)verb,
                 gce_collection_word(c));
    }
    return &s->sync.plan.ops[at];
}

void scene_assert_before(const struct scene *s, const struct lb_op *first, const struct lb_op *then)
{
    const struct lb_plan *p = &s->sync.plan;
    if (!lb_plan_waits_for(p, (int)(then - p->ops), (int)(first - p->ops))) {
        fail_msg("%s: %s %s does not wait for %s %s", json_str(s->sync.facts, "kind"), then->kind,
                 then->name, first->kind, first->name);
    }
}

static bool is_traffic_firewall(const char *name)
{
    return str_has_prefix(name, "k8s-fw-") || str_eq(name, SCENE_BACKEND);
}

const struct lb_op *scene_traffic_firewall(const struct scene *s, enum gce_verb verb)
{
    for (size_t i = 0; i < s->sync.plan.n_ops; i++) {
        const struct lb_op *op = &s->sync.plan.ops[i];
        const struct gce_op *arg = scene_arg(op);
        if (arg != NULL && arg->c == GCE_FIREWALLS && arg->verb == verb &&
            is_traffic_firewall(arg->name)) {
            return op;
        }
    }
    fail_msg("no traffic firewall is written");
    return NULL;
}
