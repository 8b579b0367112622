/* SPDX-License-Identifier: Apache-2.0 */
/* aws_flow.c: the flow of AWS: one Service from facts to its result, in one stage.
 *
 * Names and ids that one operation makes and another needs are late-bound, so the whole plan can be
 * seen before anything is done and needs no second look (docs/adr/0023).  Here a sync begins, is
 * planned by aws_service_plan.c, and ends with the results for Kubernetes. */
#include "common/base/str.h"
#include "common/lb/findings.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "providers/aws/aws_node_reasons.h"
#include "providers/aws/aws_sides.h"
#include "providers/aws/aws_sync.h"
#include "providers/aws/cloud/aws_memory.h"
#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/model/aws_name_rules.h"
#include "providers/aws/rules/aws_attribute_rules.h"

/* instances that could not become targets, tags without the right; doubles */
#define LOOK_MS           60000
#define LOOK_DOUBLINGS    4
#define REFUSED_TOLD      10
#define GROUP_PATIENCE_MS 600000
#define HANDED_AGAIN_MS   1000
#define KEPT_MAX          4 /* findings of aws_kept_findings() */

/* ---- the beginning --------------------------------------------------------------------------- */

/* Of a Service that is wanted: the plan carries them, and the controller tells them
 * (common/lb/findings.h). */
static void note_findings(const struct aws_sync *y, const struct aws_item *it,
                          const struct aws_finding *findings, size_t n)
{
    for (size_t i = 0; it->want && i < n; i++) {
        lb_finding(y->s, it->item, findings[i].reason, findings[i].field, "%s",
                   findings[i].message);
    }
}

/* Findings at the end of a deletion: no plan contains the Service any more. */
static void tell_findings(const struct aws_sync *y, const struct aws_item *it)
{
    const struct tt_host *host = y->p->host;
    for (size_t i = 0; !it->want && i < it->n_findings; i++) {
        host->event(host->ctx, it->service->in, TT_EVENT_WARNING, it->findings[i].reason,
                    it->findings[i].message);
    }
}

/* An edit takes something out of an annotation, and AWS keeps it. */
static void note_kept(const struct aws_sync *y, const struct aws_item *it)
{
    struct aws_finding kept[KEPT_MAX];
    const struct tt_service *before = it->item->in->previous;
    if (before != NULL && it->service->kind != AWS_ELSEWHERE) {
        const struct aws_service *was = aws_service_read(y->s->a, &y->p->naming, before);
        note_findings(y, it, kept,
                      aws_kept_findings(y->s->a, it->service, was, kept, ARRAY_LEN(kept)));
    }
}

/* Clients whose addresses nodes do not see pass by source ranges that are rules of the nodes'
 * groups.  A process that did not see the edit looks at what trimtab made. */
static bool has_to_see_clients(const struct aws_sync *y, const struct aws_item *it)
{
    const struct aws_naming *n = &y->p->naming;
    const struct aws_service *s = it->service;
    return it->item->in->previous == NULL && lb_was_made(it->item->in) && !n->no_node_rules &&
           str_is_empty(n->nlb_group_mode) && !aws_lets_everybody_in(s);
}

/* Attributes that an edit takes out of the annotation are as AWS has them by itself. */
static void ask_for_defaults(const struct aws_sync *y, struct aws_item *it)
{
    const struct tt_service *before = it->item->in->previous;
    if (it->service->kind == AWS_NLB && it->item->in->verb == TT_VERB_ENSURE) {
        const struct aws_service *was =
            before != NULL ? aws_service_read(y->s->a, &y->p->naming, before) : NULL;
        struct aws_tags asked =
            aws_group_attributes_asked(y->s->a, it->service, was, has_to_see_clients(y, it));
        struct aws_service *s = ARENA_NEW(y->s->a, struct aws_service);
        *s = *it->service;
        s->has_group_attributes = s->has_group_attributes || asked.n > 0;
        s->group_attributes = asked;
        it->service = s;
    }
}

static void item_begin(struct aws_sync *y, struct aws_item *it, struct lb_item *item)
{
    it->item = item;
    it->want = item->in->verb != TT_VERB_DELETE;
    y->scope->uid = item->in->service->uid;
    it->wrote_ms = aws_memory_wrote_ms(y->p->memory, y->scope->uid);
    it->service = aws_service_read(y->s->a, &y->p->naming, item->in->service);
    it->claim = aws_service_claim(y->s->a, it->service);
    it->unnamed = it->want && it->claim == AWS_CLAIM_UNNAMED;
    it->claim = it->unnamed ? AWS_CLAIM_STAYS : it->claim; /* until it is known to be gone */
    it->want = it->want && it->claim != AWS_CLAIM_GOES;
    if (it->service->kind == AWS_ELSEWHERE && !it->want && it->claim == AWS_CLAIM_NONE) {
        aws_memory_drop(y->p->memory, it->service->in->uid);
        item->settled = true; /* success, nothing is done (7.3) */
        return;
    }
    /* Nodes follow whatever it says. */
    if (item->in->verb == TT_VERB_ENSURE && it->service->kind != AWS_ELSEWHERE &&
        aws_names_check(y->s->a, &y->p->config, item->in->service, item->in->previous,
                        &item->err) != ERR_OK) {
        return; /* its error is its result; nothing was read or changed */
    }
    bool refused = it->service->err.code != ERR_OK;
    if (it->want && refused &&
        (!aws_item_is_about_nodes(it) ||
         (it->service->kind == AWS_ELSEWHERE && it->claim == AWS_CLAIM_NONE))) {
        (void)err_copy(&item->err, &it->service->err);
        return;
    }
    if (it->want) {
        note_findings(y, it, it->service->findings, it->service->n_findings);
        note_kept(y, it);
        ask_for_defaults(y, it);
    }
}

static int facts(struct lb_sync *s, struct err *err)
{
    struct aws_scope *x = s->provider;
    struct aws_sync *y = ARENA_NEW(s->a, struct aws_sync);
    *y = (struct aws_sync){.s = s, .p = x->p, .scope = x};
    s->data = y;
    y->items = ARENA_ARRAY(s->a, struct aws_item, s->n_items);
    /* Here, so that the calls of the first wave do not each fetch credentials. */
    if (!x->p->offline && aws_auth_ready(x->p->auth, s->http, s->cancel, err) != ERR_OK) {
        return err->code;
    }
    for (size_t i = 0; i < s->n_items; i++) {
        if (lb_item_is_active(&s->items[i])) {
            item_begin(y, &y->items[i], &s->items[i]);
        }
    }
    return ERR_OK;
}

/* ---- planning -------------------------------------------------------------------------------- */

/* Why the load balancer that the Service asks for would serve no client; NULL: nothing says so. */
static const char *nobody_by_wish(const struct aws_planning *p)
{
    if (p->service->n_ports == 0) {
        return "no port has a node port, so there is no listener";
    }
    const char *by_ranges = aws_ranges_let_nobody_in(p);
    if (by_ranges != NULL) {
        return by_ranges;
    }
    if (aws_nodes_let_nobody_in(p)) {
        return "the security groups of the nodes let nothing in to the node ports, and with "
               "DisableSecurityGroupIngress of the cloud-config trimtab adds no rules to them";
    }
    if (aws_named_groups_let_nobody_in(p)) {
        return "the security groups that the Service names, and its source ranges, let no client "
               "in to its ports";
    }
    return NULL;
}

/* Why no client is served once the plan is carried out; NULL: clients are, or only AWS'
 * health checks know. */
static const char *nobody(const struct aws_sync *y, const struct aws_item *it,
                          const struct aws_planning *p)
{
    const char *by_wish = p->unproven ? NULL : nobody_by_wish(p);
    if (by_wish != NULL || p->n_serving > 0) {
        return by_wish;
    }
    return lb_nobody_nodes(y->s->a, aws_node_reasons(y, it, &p->zones, true), y->s->batch->n_nodes);
}

static void plan_all(struct lb_sync *s, struct lb_plan *plan)
{
    struct aws_sync *y = aws_sync_of(s);
    for (size_t i = 0; i < s->n_items; i++) {
        struct aws_item *it = &y->items[i];
        if (it->service == NULL || !lb_item_is_active(it->item)) {
            continue;
        }
        unsigned known = aws_memory_get(y->p->memory, it->service->in->uid);
        bool rights = y->p->repair_adopted || lb_puts_right(it->item->in);
        struct aws_planning p = {
            .a = s->a,
            .plan = plan,
            .naming = &y->p->naming,
            .service = it->service,
            .seen = &it->seen,
            .around = &it->around,
            .about_nodes = aws_item_is_about_nodes(it),
            .unproven = lb_is_unproven(it->item->in),
            .spares = lb_spares(it->item->in),
            .certificates_anew = (known & AWS_KNOWS_NO_CERT) != 0,
            .texts_stay = (known & AWS_KNOWS_NO_TEXTS) != 0,
            .write_type = &aws_write_type,
            .repairs = rights,
            .edited = rights && it->item->in->previous != NULL &&
                      (it->item->in->reasons & TT_REASON_SPEC) != 0,
            .critical = -1,
        };
        if (it->want && !y->p->repair_adopted && !lb_was_made(it->item->in)) {
            p.service = aws_sides_settle(s->a, it->service, &it->seen, it->item->in->previous);
        }
        struct err refused = ERR_INIT;
        if (aws_plan_service(&p, it->want, &refused) != ERR_OK) {
            (void)err_copy(&it->item->err, &refused);
        }
        bool left = plan->n_ops > 0 || it->item->err.code != ERR_OK ||
                    aws_status_names_ours(it->service); /* it is emptied first */
        if (it->claim == AWS_CLAIM_GOES && it->item->in->verb != TT_VERB_DELETE && !left) {
            (void)err_copy(&it->item->err, &it->service->err); /* now it is the other one's alone */
        }
        it->findings = p.findings;
        it->n_findings = p.n_findings;
        note_findings(y, it, p.findings, p.n_findings);
        if (it->want && it->service->kind != AWS_ELSEWHERE && it->item->err.code == ERR_OK) {
            lb_serves_nobody(s, it->item, nobody(y, it, &p));
        }
    }
}

/* One plan at a time: between what others take away and this one's claim nothing changes. */
static int plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct aws_sync *y = aws_sync_of(s);
    bool guarded = y->scope->guards && s->observed_fresh && s->n_items == 1 &&
                   y->items[0].service != NULL && lb_item_is_active(y->items[0].item);
    if (!guarded) {
        plan_all(s, plan);
        return ERR_OK;
    }
    struct aws_item *it = &y->items[0];
    struct aws_staked_list needs = aws_rules_needed(y, it);
    aws_stakes_plan(y->p->stakes);
    aws_rules_leaving(y, it);
    plan_all(s, plan);
    int rc = aws_scope_claim(y->scope, plan, &needs, err);
    aws_stakes_planned(y->p->stakes);
    return rc;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* An NLB that has failed has no address to publish (5.3 item 10). */
static const char *dns_of(const struct aws_sync *y, const struct aws_item *it)
{
    if (y->scope->dns != NULL) {
        return y->scope->dns;
    }
    const struct aws_nlb *nlb = it->seen.nlb;
    if (it->service->kind == AWS_NLB || (it->service->kind == AWS_ELSEWHERE && nlb != NULL)) {
        bool good =
            nlb != NULL && (str_eq(nlb->state, "active") || str_eq(nlb->state, "provisioning"));
        return good ? nlb->dns : "";
    }
    return it->seen.classic != NULL ? it->seen.classic->dns : "";
}

static void tell_refused(const struct aws_sync *y, const struct aws_item *it)
{
    const struct tt_host *host = y->p->host;
    const struct aws_scope *x = y->scope;
    for (size_t i = 0; i < x->n_refused && i < REFUSED_TOLD; i++) {
        host->event(host->ctx, it->service->in, TT_EVENT_WARNING, "TargetRefused",
                    arena_printf(y->s->a,
                                 "AWS did not take instance %s as a target of load balancer %s; "
                                 "the others were registered",
                                 x->refused[i], it->service->lb_name));
    }
    if (x->n_refused > REFUSED_TOLD) {
        host->event(host->ctx, it->service->in, TT_EVENT_WARNING, "TargetRefused",
                    arena_printf(y->s->a,
                                 "AWS did not take %zu more instances as targets of load "
                                 "balancer %s",
                                 x->n_refused - REFUSED_TOLD, it->service->lb_name));
    }
}

/* A group that is still in use: for ten minutes that is normal, network interfaces
 * go late (7.4). */
static bool is_patient(const struct aws_sync *y, const struct aws_item *it)
{
    int64_t now = clock_now_ms(y->s->clock);
    return now - aws_memory_waits_since(y->p->memory, it->service->in->uid, now) <=
           GROUP_PATIENCE_MS;
}

/* When the next sync is due though all went well; 0: no need.  What does not change is
 * checked ever more seldom. */
static int64_t look_again_ms(const struct aws_sync *y, const struct aws_item *it)
{
    const struct aws_scope *x = y->scope;
    const char *uid = it->service->in->uid;
    bool lacks = x->n_refused > 0 || x->has_idle_instances || x->lacks_rights;
    unsigned looks = aws_memory_looks(y->p->memory, uid, lacks);
    int64_t lacks_ms = (int64_t)LOOK_MS << (looks < LOOK_DOUBLINGS ? looks : LOOK_DOUBLINGS);
    aws_memory_waits_over(y->p->memory, uid);
    return lacks ? lacks_ms + (int64_t)(rng_unit(y->s->rng) * (double)lacks_ms / 5) : 0;
}

/* When AWS shows what was changed of it before this sync: by this process, or by the one before.
 * What that one did to a Service that needs nothing now was right. */
static int64_t settled_at_ms(const struct aws_sync *y, const struct aws_item *it)
{
    bool wrote = aws_memory_wrote_ms(y->p->memory, it->service->in->uid) != it->wrote_ms;
    int64_t own_ms = it->wrote_ms > 0 ? it->wrote_ms + AWS_SETTLES_MS : 0;
    int64_t young_ms = wrote ? y->scope->young_until_ms : 0;
    return own_ms > young_ms ? own_ms : young_ms;
}

/* Ours has gone.  The status continues naming the other one, or none; the next look lets go
 * of the Service. */
static void tell_handed_over(const struct aws_sync *y, const struct aws_item *it)
{
    const struct tt_host *host = y->p->host;
    const struct tt_service *in = it->service->in;
    bool other = !str_eq(aws_annotation(in, "handed-over"), "true");
    host->result_ingress(it->item->in->result, in->ingress, other ? in->n_ingress : 0);
    if (TT_HAS(host, result_again)) {
        host->result_again(it->item->in->result, HANDED_AGAIN_MS);
    }
}

/* A Service that goes has lost all that AWS showed; the rest goes with a second look. */
static int complete(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    struct aws_sync *y = aws_sync_of(s);
    const struct aws_item *it = &y->items[item - s->items];
    int rc = aws_check_young(y, it, err);
    if (rc != ERR_OK) {
        tell_findings(y, it); /* a second look does not see what they are about */
    }
    return rc;
}

/* The address of the balancer, which has all that it needs. */
static void serves(struct lb_sync *s, struct lb_item *item)
{
    struct aws_sync *y = aws_sync_of(s);
    const struct aws_item *it = &y->items[item - s->items];
    const struct tt_ingress ingress = {.hostname = it->want ? dns_of(y, it) : ""};
    if (!str_is_empty(ingress.hostname)) {
        s->host->result_ingress(item->in->result, &ingress, 1);
    }
}

/* Nodes of a Service that is refused, or its former settings, follow well: what the refused ensure
 * made is left as long as no ensure of it has ended well, and has to be looked for. */
static void forget_failure(struct aws_sync *y, const struct aws_item *it)
{
    const struct tt_item *in = it->item->in;
    struct aws_memory *m = y->p->memory;
    if (in->verb == TT_VERB_ENSURE && !lb_leads_back(in)) {
        aws_memory_set(m, it->service->in->uid, AWS_KNOWS_FAILED | AWS_KNOWS_HALF, 0);
    } else if ((aws_memory_get(m, it->service->in->uid) & AWS_KNOWS_HALF) == 0) {
        aws_memory_set(m, it->service->in->uid, AWS_KNOWS_FAILED, 0);
    }
}

static void status(struct lb_sync *s, struct lb_item *item)
{
    struct aws_sync *y = aws_sync_of(s);
    const struct aws_item *it = &y->items[item - s->items];
    const struct tt_host *host = s->host;
    tell_findings(y, it);
    if (!it->want && it->item->in->verb != TT_VERB_DELETE) {
        tell_handed_over(y, it);
        return;
    }
    if (!it->want) {
        aws_memory_drop(y->p->memory, it->service->in->uid);
        return;
    }
    tell_refused(y, it);
    forget_failure(y, it);
    int64_t again = look_again_ms(y, it);
    int64_t settled_ms = settled_at_ms(y, it);
    if (again == 0 && settled_ms > y->scope->started_ms) {
        again = settled_ms - y->scope->started_ms; /* it may not have seen what is to go */
    }
    if (again > 0 && TT_HAS(host, result_again)) {
        host->result_again(item->in->result, again);
    }
    if (item->in->verb == TT_VERB_ENSURE) {
        const struct tt_ingress ingress = {.hostname = dns_of(y, it)};
        host->result_ingress(item->in->result, &ingress, str_is_empty(ingress.hostname) ? 0 : 1);
    }
}

/* It was handed over, and nothing of ours is left.  A Service that never had a load balancer of
 * ours keeps the finalizers that it came with. */
static void let_go(const struct aws_sync *y, const struct aws_item *it)
{
    const struct tt_item *in = it->item->in;
    bool over = it->claim == AWS_CLAIM_GOES && in->verb != TT_VERB_DELETE &&
                it->item->err.code == ERR_IMPLEMENTED_ELSEWHERE;
    if (over && mark_has_addresses(in->service, AWS_PROVIDER)) {
        y->p->host->result_drop_finalizer(in->result, LB_CLEANUP_FINALIZER);
        aws_memory_drop(y->p->memory, in->service->uid);
    }
}

static void failed(struct lb_sync *s, const struct lb_item *item)
{
    struct aws_sync *y = aws_sync_of(s);
    struct aws_item *it = y != NULL ? &y->items[item - s->items] : NULL;
    if (s->planning || it == NULL || it->service == NULL) {
        return;
    }
    tell_refused(y, it);
    if (it->want) {
        bool half = item->in->verb == TT_VERB_ENSURE;
        aws_memory_set(y->p->memory, it->service->in->uid,
                       AWS_KNOWS_FAILED | (half ? AWS_KNOWS_HALF : 0), ~0u);
    }
    let_go(y, it);
    struct err *err = &((struct lb_item *)(uintptr_t)item)->err;
    if (err->code == ERR_IN_USE && err->retry_after_ms == AWS_GROUP_POLL_MS) {
        if (is_patient(y, it)) {
            err->code = ERR_IN_PROGRESS; /* AWS is at work: no failure, and no Warning */
        } else {
            err->retry_after_ms = 0; /* the queue's own back-off */
        }
    }
}

/* Without target-node-labels each node that takes part is a target, whatever its labels are.  A
 * Service that was handed over is not ensured. */
static uint32_t own(const struct lb_sync *s, const struct lb_item *item)
{
    uint32_t bits = aws_node_labels_of(s->life, item->in->service).n > 0 ? TT_OWN_NODES : 0;
    const struct aws_sync *y = s->data;
    const struct aws_item *it = y != NULL ? &y->items[item - s->items] : NULL;
    if (it != NULL && it->service != NULL && item->in->verb != TT_VERB_DELETE) {
        bits |= it->claim == AWS_CLAIM_GOES    ? TT_OWN_GOES
                : it->claim == AWS_CLAIM_STAYS ? TT_OWN_STAYS
                                               : 0;
    }
    return bits;
}

static const struct lb_stage stages[] = {
    {"balancer", NULL, aws_observe, plan},
};

const struct lb_flow aws_flow = {
    .name = AWS_PROVIDER,
    .facts = facts,
    .stages = stages,
    .n_stages = ARRAY_LEN(stages),
    .own = own,
    .complete = complete,
    .serves = serves,
    .status = status,
    .failed = failed,
    .stands = aws_stands,
    .wrote = aws_wrote,
};

/* ---- the ways in ----------------------------------------------------------------------------- */

static struct lb_driver_config driver_config(struct aws_scope *x)
{
    struct lb_driver_config cfg = LB_DRIVER_CONFIG(&aws_flow, x->p);
    cfg.provider = x;
    return cfg;
}

int32_t aws_reconcile(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct aws_scope x;
    aws_scope_begin(&x, provider, call);
    x.young_until_ms = aws_memory_began_ms(x.p->memory, x.started_ms) + AWS_SETTLES_MS;
    const struct lb_driver_config cfg = driver_config(&x);
    int32_t code = lb_driver_reconcile(&cfg, call, batch);
    aws_scope_end(&x);
    return code;
}

int32_t aws_plan(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct aws_scope x;
    aws_scope_begin(&x, provider, call);
    const struct lb_driver_config cfg = driver_config(&x);
    int32_t code = lb_driver_plan(&cfg, call, batch);
    aws_scope_end(&x);
    return code;
}
