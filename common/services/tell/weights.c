/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c: shares of nodes behind a load balancer; see weights.h. */
#include "common/services/tell/weights.h"

/* The weight of a node before all are known. */
static double weight_of(const struct ks_node_weight *node, bool weighted, bool open)
{
    if (node->left_out || (!open && node->ready == 0)) {
        return 0;
    }
    return weighted && !open && node->ready > 0 ? (double)node->ready : 1;
}

/* Sets all weights and returns their sum. */
static double set_weights(struct ks_node_weight *nodes, size_t n, bool weighted, bool open)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        nodes[i].share = weight_of(&nodes[i], weighted, open);
        sum += nodes[i].share;
    }
    return sum;
}

static bool any_takes_part(const struct ks_node_weight *nodes, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        any |= !nodes[i].left_out;
    }
    return any;
}

enum ks_weighed ks_weigh(struct ks_node_weight *nodes, size_t n, const struct ks_balance *b)
{
    enum ks_weighed result = KS_WEIGHED_HEALTHY;
    double sum = set_weights(nodes, n, b->weighted, false);
    if (sum <= 0 && !any_takes_part(nodes, n)) {
        return KS_WEIGHED_LEFT_OUT;
    }
    if (sum <= 0) {
        result = b->all_down == KS_ALL_DOWN_CLOSED ? KS_WEIGHED_CLOSED : KS_WEIGHED_OPEN;
    }
    if (result == KS_WEIGHED_OPEN) {
        sum = set_weights(nodes, n, false, true);
    }
    for (size_t i = 0; i < n && sum > 0; i++) {
        nodes[i].share /= sum;
    }
    return result;
}
