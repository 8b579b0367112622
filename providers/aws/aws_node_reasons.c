/* SPDX-License-Identifier: Apache-2.0 */
/* aws_node_reasons.c: see aws_node_reasons.h. */
#include "providers/aws/aws_node_reasons.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/node_rules.h"

struct look {
    struct arena *a;
    const struct aws_item *it;
    const struct str_set *zones;
    struct map *targets;  /* id → const struct aws_instance: all that the load balancer has */
    struct map *left_out; /* id → why AWS has no such target */
    bool several;
};

static const char *by_instance(const struct look *k, const char *id)
{
    const struct aws_instance *in = map_get(k->targets, id);
    const char *left_out = map_get(k->left_out, id);
    if (in == NULL && left_out == NULL) {
        return k->several ? "they lack the labels of aws-load-balancer-target-node-labels"
                          : "lacks the labels of aws-load-balancer-target-node-labels";
    }
    if (in == NULL || !aws_instance_runs(in)) {
        return k->several         ? "they have no instance that runs"
               : left_out != NULL ? left_out
                                  : arena_printf(k->a, "instance %s is %s", id, in->state);
    }
    if (aws_zones_have(k->zones, in->zone)) {
        return NULL;
    }
    return arena_printf(k->a, "%s in zone %s, where the load balancer has no subnet",
                        k->several ? "they are" : "is", in->zone);
}

static const char *by_node(const struct look *k, const struct tt_node *node)
{
    const struct aws_tags *labels = &k->it->service->node_labels;
    const char *why = node_left_out_because(k->a, node);
    struct err err = ERR_INIT;
    const char *id;
    if (why != NULL) {
        return why;
    }
    if (aws_instance_id(k->a, node->provider_id, &id, &err) == ERR_OK) {
        return by_instance(k, id);
    }
    if (k->several) {
        return aws_node_has_labels(node, labels)
                   ? "they have no instance that runs"
                   : "they lack the labels of aws-load-balancer-target-node-labels";
    }
    return aws_node_has_labels(node, labels)
               ? arena_strdup(k->a, err.message)
               : "lacks the labels of aws-load-balancer-target-node-labels";
}

const char **aws_node_reasons(const struct aws_sync *y, const struct aws_item *it,
                              const struct str_set *zones, bool several)
{
    const struct tt_batch *batch = y->s->batch;
    const char **why = ARENA_ARRAY(y->s->a, const char *, batch->n_nodes + 1);
    struct look k = {
        .a = y->s->a,
        .it = it,
        .zones = zones,
        .targets = map_new(NULL),
        .left_out = map_new(NULL),
        .several = several,
    };
    for (size_t i = 0; i < it->around.n_instances; i++) {
        map_set(k.targets, it->around.instances[i].id, (void *)(uintptr_t)&it->around.instances[i]);
    }
    for (size_t i = 0; i < it->left_out.n; i++) {
        map_set(k.left_out, it->left_out_ids.items[i], (void *)(uintptr_t)it->left_out.items[i]);
    }
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        why[i] = by_node(&k, batch->nodes[i]);
    }
    map_free(k.targets);
    map_free(k.left_out);
    return why;
}
