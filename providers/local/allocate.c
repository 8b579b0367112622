/* SPDX-License-Identifier: Apache-2.0 */
/* allocate.c: the flow of role allocator: Services get addresses and statuses, and no kernel is
 * touched.
 *
 * Directors, other processes, program what the statuses say (flow.c). */
#include "providers/local/provider.h"

#include "common/base/str.h"
#include "common/lb/exec.h"
#include "common/lb/findings.h"

/* The address was granted before the plan was made, and is the Service's when its
 * status says so. */
static void run_address(struct lb_op_run *run)
{
    (void)run;
}

static const struct lb_op_type address_type = {.name = "address", .run = run_address};

static int observe(struct lb_sync *s, struct err *err)
{
    (void)err;
    s->observed_fresh = true; /* of what the allocator knows by itself */
    return ERR_OK;
}

static const char *address_text(struct arena *a, const struct ip_addr *addr)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    return arena_strdup(a, text);
}

static void add_op(struct lb_plan *plan, const char *key, bool goes, const char *address,
                   const struct local_pool *pool)
{
    struct lb_op op =
        LB_OP(.verb = goes ? LB_DELETE : LB_CREATE, .kind = "address", .name = address,
              .type = &address_type,
              .why = goes           ? "the Service has it no longer"
                     : pool == NULL ? "the Service has it"
                                    : arena_printf(plan->a, "pool %s has it", pool->name));
    op.owners = str_set_make(plan->a, &key, 1);
    (void)lb_plan_add(plan, key, &op);
}

/* How it is served decides over ipMode, and directors refuse what does not go together: its owner
 * hears it here. */
static int check_serving(struct lb_sync *s, struct lb_item *item, struct local_item *it)
{
    const struct local_provider *p = ((struct local_sync *)s->data)->p;

    it->n_wanted = it->grant.n;
    it->wanted = ARENA_ARRAY(s->life, struct local_wanted, it->grant.n + 1);
    for (size_t i = 0; i < it->grant.n; i++) {
        int rc = local_serve_of(p->config, it->grant.have[i].pool, it->service, &it->wish,
                                &it->wanted[i].serve, &item->err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    return ERR_OK;
}

static void find(struct lb_sync *s, const struct lb_item *item, const struct local_item *it)
{
    lb_findings_unknown(s, item, &local_annotation_keys);
    for (size_t i = 0; i < it->grant.n; i++) {
        if (it->grant.have[i].pool == NULL) {
            local_told_outside(s, item, address_text(s->life, &it->grant.have[i].addr));
        }
    }
    if ((it->grant.flags & LOCAL_GRANT_SECOND_MISSING) != 0) {
        lb_finding(s, item, "SecondFamilyMissing", "spec.ipFamilyPolicy", LOCAL_SECOND_MISSING);
    }
    if ((it->grant.flags & LOCAL_GRANT_SHARE_BROKEN) != 0) {
        lb_finding(s, item, "PortsShared", LOCAL_PREFIX "share", LOCAL_PORTS_SHARED);
    }
}

static void plan_one(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item,
                     struct local_item *it)
{
    struct lb_plan_service *ps = lb_plan_service(plan, item->key);

    ps->kind = "local, address";
    ps->checked = (unsigned)it->grant.n;
    for (size_t i = 0; i < it->grant.n; i++) {
        const struct local_granted *g = &it->grant.have[i];
        const char *text = address_text(plan->a, &g->addr);
        if (g->in_status) {
            ps->address = str_or(ps->address, text);
        } else {
            add_op(plan, item->key, false, text, g->pool);
        }
    }
    for (size_t i = 0; i < it->grant.n_old; i++) {
        add_op(plan, item->key, true, address_text(plan->a, &it->grant.old[i]), NULL);
    }
    find(s, item, it);
}

static int plan(struct lb_sync *s, struct lb_plan *out, struct err *err)
{
    struct local_sync *y = s->data;

    (void)err;
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        bool goes = item->in->verb == TT_VERB_DELETE;
        if (lb_item_is_active(item) && !goes && check_serving(s, item, &y->items[i]) == ERR_OK) {
            plan_one(s, out, item, &y->items[i]);
        }
    }
    return ERR_OK;
}

static void status(struct lb_sync *s, struct lb_item *item)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    const struct local_item *it = item->data;
    struct tt_ingress in[2];

    if (item->in->verb == TT_VERB_DELETE) {
        local_release_over(p, item->key);
        s->host->result_annotation(item->in->result, LOCAL_POOL_GIVEN, NULL);
        return;
    }
    local_ipam_serves(p->ipam, item->key, it->service, NULL);
    for (size_t i = 0; i < it->grant.n; i++) {
        in[i] = (struct tt_ingress){.ip = address_text(s->life, &it->grant.have[i].addr),
                                    .ip_mode = local_ip_mode_of(p, &it->wanted[i].serve)};
    }
    s->host->result_ingress(item->in->result, in, (uint32_t)it->grant.n);
    const struct local_pool *pool = it->grant.n > 0 ? it->grant.have[0].pool : NULL;
    if (pool != NULL) {
        s->host->result_annotation(item->in->result, LOCAL_POOL_GIVEN, pool->name);
    }
}

static const struct lb_stage stages[] = {
    {.name = "address", .observe = observe, .plan = plan},
};
const struct lb_flow local_allocator_flow = {
    .name = "local",
    .facts = local_facts,
    .stages = stages,
    .n_stages = ARRAY_LEN(stages),
    .status = status,
};
