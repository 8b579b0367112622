/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_explain_inside.c: see cmd_explain.h. */
#include "controller/cmd/cmd_explain.h"

#include "common/lb/explain.h"
#include "controller/base/inside.h"

/* The provider's rows about nodes that it leaves out, over the controller's own rule. */
static void leave_out(struct arena *a, struct ks_backend *backends, size_t n,
                      const struct tt_explain_row *rows, size_t n_rows)
{
    struct map *at = map_new(NULL);
    for (size_t i = 0; i < n; i++) {
        map_set(at, backends[i].node, &backends[i]);
    }
    for (size_t i = 0; i < n_rows; i++) {
        struct ks_backend *b = rows[i].section == TT_EXPLAIN_LEFT_OUT && rows[i].subject != NULL
                                   ? map_get(at, rows[i].subject)
                                   : NULL;
        if (b != NULL) {
            b->left_out = arena_strdup(a, str_or(rows[i].outcome, "left out"));
        }
    }
    map_free(at);
}

struct ks_balance cmd_explain_balance(const struct tt_explain_row *rows, size_t n_rows)
{
    int all_down = lb_explain_find_all_down(rows, n_rows);
    return (struct ks_balance){.weighted = lb_explain_is_weighted(rows, n_rows),
                               .all_down = all_down > 0   ? KS_ALL_DOWN_OPEN
                                           : all_down < 0 ? KS_ALL_DOWN_CLOSED
                                                          : KS_ALL_DOWN_UNKNOWN};
}

const struct ks_inside *cmd_explain_inside(const struct cmd_inside *in, const char *key,
                                           const struct tt_explain_row *rows, size_t n_rows)
{
    struct cmd_session *s = in->s;
    const struct tt_service *svc = cmd_session_service(s, key);
    const struct ks_cluster *c = &in->cluster;
    struct ks_inside_input input = {.service = inside_service(s->a, svc),
                                    .nodes = c->nodes,
                                    .n_nodes = c->n_nodes,
                                    .pods = c->pods,
                                    .n_pods = c->n_pods,
                                    .has_pods = c->n_pods > 0,
                                    .has_hints = c->n_nodes > 0,
                                    .balance = cmd_explain_balance(rows, n_rows)};
    input.slices = ks_cluster_slices(c, svc->ns, svc->name, &input.n_slices);
    if (input.n_slices == 0 || map_has(in->doubts, key)) {
        return NULL;
    }
    if (c->n_nodes == 0) {
        input.nodes = inside_nodes(s->a, s->nodes, s->n_nodes);
        input.n_nodes = s->n_nodes;
    }
    struct ks_backend *backends = inside_backends(s->a, s->nodes, s->n_nodes);
    leave_out(s->a, backends, s->n_nodes, rows, n_rows);
    input.backends = backends;
    input.n_backends = s->n_nodes;
    return ks_inside_make(s->a, &input);
}
