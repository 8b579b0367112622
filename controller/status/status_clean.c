/* SPDX-License-Identifier: Apache-2.0 */
/* status_clean.c: a view whose texts may be shown on a terminal (status.h).
 *
 * It came from another process, whose texts come from Services, clouds and plugins: nothing of it
 * may move the cursor or fake a line.  JSON has the texts as they are. */
#include <string.h>

#include "controller/status/status.h"

static void clean_service(struct arena *a, struct status_service *s)
{
    struct tt_condition *conditions = ARENA_ARRAY(a, struct tt_condition, s->n_conditions);
    _cleanup_(str_buf_done) struct str_buf plan = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf findings = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf left = STR_BUF_INIT;

    for (uint32_t i = 0; i < s->n_conditions; i++) {
        conditions[i] = s->conditions[i];
        conditions[i].type = str_clean(a, conditions[i].type);
        conditions[i].status = str_clean(a, conditions[i].status);
        conditions[i].reason = str_clean(a, conditions[i].reason);
        conditions[i].message = str_clean(a, conditions[i].message);
    }
    str_append_clean(&plan, s->row.plan, STR_BREAKS_KEPT);
    str_append_clean(&left, str_nonnull(s->row.left), STR_BREAKS_KEPT);
    s->conditions = conditions;
    s->address = str_clean(a, s->address);
    s->row.key = str_clean(a, s->row.key);
    s->row.kind = str_clean(a, s->row.kind);
    s->row.verb = str_clean(a, s->row.verb);
    s->row.message = str_clean(a, s->row.message);
    s->row.plan = str_buf_to_arena(&plan, a);
    str_append_clean(&findings, s->row.findings, STR_BREAKS_KEPT);
    s->row.findings = str_buf_to_arena(&findings, a);
    s->row.serves_nobody = str_clean(a, s->row.serves_nobody);
    s->row.left = str_buf_to_arena(&left, a);
}

struct status_view status_clean(struct arena *a, const struct status_view *v)
{
    struct status_view out = *v;
    struct board_batch *batches = ARENA_ARRAY(a, struct board_batch, v->n_batches);
    struct status_budget *budgets = ARENA_ARRAY(a, struct status_budget, v->n_budgets);

    out.version = str_clean(a, v->version);
    out.provider = str_clean(a, v->provider);
    out.cluster = str_clean(a, v->cluster);
    out.leader.lease = str_clean(a, v->leader.lease);
    out.leader.holder = str_clean(a, v->leader.holder);
    out.services = ARENA_ARRAY(a, struct status_service, v->n_services);
    for (size_t i = 0; i < v->n_services; i++) {
        out.services[i] = v->services[i];
        clean_service(a, &out.services[i]);
    }
    for (size_t i = 0; i < v->n_batches; i++) {
        batches[i] = v->batches[i];
        batches[i].batch_key = str_clean(a, v->batches[i].batch_key);
    }
    for (size_t i = 0; i < v->n_budgets; i++) {
        budgets[i] = v->budgets[i];
        budgets[i].api = str_clean(a, v->budgets[i].api);
        budgets[i].kind = str_clean(a, v->budgets[i].kind);
    }
    out.batches = batches;
    out.budgets = budgets;
    return out;
}
