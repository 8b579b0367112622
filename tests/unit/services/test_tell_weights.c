/* SPDX-License-Identifier: Apache-2.0 */
/* test_tell_weights.c: how a load balancer divides its traffic among nodes. */
#include "tests/unit/services/services_test.h"

#include "common/services/tell/weights.h"

#define NODES_MAX 4

/* A node: -2 left out, -1 no check by pods, else the ready pods that its check answers. */
static const struct {
    struct ks_balance balance;
    size_t n;
    int ready[NODES_MAX];
    enum ks_weighed want;
    int shares[NODES_MAX]; /* in thousandths */
} rows[] = {
    {{false, KS_ALL_DOWN_UNKNOWN}, 2, {-1, -1}, KS_WEIGHED_HEALTHY, {500, 500}},
    {{false, KS_ALL_DOWN_UNKNOWN}, 3, {3, 1, 0}, KS_WEIGHED_HEALTHY, {500, 500, 0}},
    {{true, KS_ALL_DOWN_UNKNOWN}, 3, {3, 1, 0}, KS_WEIGHED_HEALTHY, {750, 250, 0}},
    {{true, KS_ALL_DOWN_OPEN}, 3, {3, 1, -2}, KS_WEIGHED_HEALTHY, {750, 250, 0}},
    {{true, KS_ALL_DOWN_OPEN}, 2, {-1, -1}, KS_WEIGHED_HEALTHY, {500, 500}},
    {{true, KS_ALL_DOWN_OPEN}, 4, {0, 0, -2, 0}, KS_WEIGHED_OPEN, {333, 333, 0, 333}},
    {{false, KS_ALL_DOWN_UNKNOWN}, 2, {0, 0}, KS_WEIGHED_OPEN, {500, 500}},
    {{false, KS_ALL_DOWN_CLOSED}, 2, {0, 0}, KS_WEIGHED_CLOSED, {0, 0}},
    {{false, KS_ALL_DOWN_CLOSED}, 2, {0, 1}, KS_WEIGHED_HEALTHY, {0, 1000}},
    {{false, KS_ALL_DOWN_OPEN}, 2, {-2, -2}, KS_WEIGHED_LEFT_OUT, {0, 0}},
    {{false, KS_ALL_DOWN_OPEN}, 0, {0}, KS_WEIGHED_LEFT_OUT, {0}},
};

static void weights__of_nodes__rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_node_weight nodes[NODES_MAX] = {0};
        for (size_t k = 0; k < rows[i].n; k++) {
            nodes[k].left_out = rows[i].ready[k] == -2;
            nodes[k].ready = rows[i].ready[k] == -2 ? 0 : rows[i].ready[k];
        }
        enum ks_weighed got = ks_weigh(nodes, rows[i].n, &rows[i].balance);
        if (got != rows[i].want) {
            fail_msg("row %zu: want %d, got %d", i, (int)rows[i].want, (int)got);
        }
        for (size_t k = 0; k < rows[i].n; k++) {
            int share = (int)(nodes[k].share * 1000 + 0.01);
            if (share != rows[i].shares[k]) {
                fail_msg("row %zu, node %zu: want %d, got %d", i, k, rows[i].shares[k], share);
            }
        }
    }
}

UNIT_MAIN(tell_weights)
{
    const struct CMUnitTest tests[] = {
        services_test(weights__of_nodes__rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
