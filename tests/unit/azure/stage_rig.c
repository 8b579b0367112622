/* SPDX-License-Identifier: Apache-2.0 */
/* stage_rig.c: the stages under the real driver, with a cloud in memory (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "common/lb/exec.h"
#include "providers/azure/azure_first.h"
#include "providers/azure/model/azure_doc.h"
#include "tests/support/http_ignore_sent.h"

#include <stdlib.h>

#define GROUP   "/subscriptions/subscription/resourceGroups/rg"
#define NETWORK GROUP "/providers/Microsoft.Network"

static const char *id_of(struct stage_rig *r, enum azure_kind k, const char *name)
{
    return k == AZURE_SUBNETS ? arena_printf(r->a, NETWORK "/virtualNetworks/vnet/subnets/%s", name)
                              : azure_arm_id(r->a, &r->p.arm, k, "rg", name);
}

static struct stage_rig *rig_of(struct lb_sync *s)
{
    return s->provider;
}

/* ---- the cloud ------------------------------------------------------------------------------- */

struct json_object *stage_rig_put(struct stage_rig *r, enum azure_kind k, const char *json)
{
    struct json_object *doc = pure_json(r->a, json);
    if (azure_doc_id(doc)[0] == '\0') {
        json_add_str(doc, "id", id_of(r, k, azure_doc_name(doc)));
    }
    arm_docs_stamp(&r->docs, doc);
    arm_docs_put(&r->docs, k, azure_doc_id(doc), doc);
    return doc;
}

struct json_object *stage_rig_doc(struct stage_rig *r, enum azure_kind k, const char *name)
{
    return azure_find(r->docs.lists[k], name);
}

/* One write, or why not. */
static int carry_out(struct stage_rig *r, struct azure_write *w, struct err *err)
{
    const struct azure_call_spec *spec = &w->spec;
    bool meant = r->fail != NULL && r->fail_times > 0 && azure_eq(azure_id_last(spec->id), r->fail);
    if (meant && r->fail_after > 0) {
        r->fail_after--;
    } else if (meant) {
        r->fail_times--;
        (void)err_set(err, r->fail_code, "%s", str_nonnull(r->fail_message));
        err->http_status = r->fail_status;
        return r->fail_code;
    }
    bool whole = spec->kind == AZURE_LBS || spec->kind == AZURE_NSGS;
    if (r->poison != NULL && whole && spec->body != NULL &&
        strstr(json_text(r->a, spec->body, JSON_COMPACT), r->poison) != NULL) {
        return err_set(err, ERR_INVALID, "InvalidRequestFormat: something is wrong");
    }
    return arm_docs_write(&r->docs, spec, &w->answer, err);
}

void stage_rig_fail_once(struct stage_rig *r, const char *name, int code)
{
    r->fail = name;
    r->fail_times = 1;
    r->fail_code = code;
}

/* ---- the stages ------------------------------------------------------------------------------ */

static void note(struct stage_rig *r, const struct lb_op *op)
{
    static const char *const verbs[] = {"", "create", "change", "delete", "keep"};
    const char *owners = str_join(r->a, op->owners.items, op->owners.n, " ");
    owners = str_replace(r->a, owners, "default/", "");
    r->log = arena_printf(r->a, "%s%s: %s %s %s [%s]\n", r->log, r->stage, verbs[op->verb],
                          op->kind, op->name, owners);
}

static enum http_next step(struct lb_op_run *run, const struct http_response *resp)
{
    struct stage_rig *r = run->provider;
    (void)resp;
    struct azure_write *w = (struct azure_write *)(uintptr_t)run->op->arg;
    struct json_object *was = arm_docs_find(&r->docs, w->spec.kind, w->spec.id);
    note(r, run->op);
    w->sent = w->spec.body != NULL ? json_text(r->a, w->spec.body, JSON_COMPACT) : NULL;
    if (carry_out(r, w, run->err) != ERR_OK) {
        azure_write_failed(w, run->err);
    }
    if (r->wrote != NULL) {
        r->wrote(r, run->op, was, run->err);
    }
    return HTTP_DONE;
}
static const struct lb_op_type carried_out = {.name = "write", .state_size = 1, .step = step};

static void carry_out_all(const struct lb_undo *first)
{
    for (const struct lb_undo *u = first; u != NULL; u = u->then) {
        ((struct lb_undo *)(uintptr_t)u)->type = &carried_out;
    }
}

/* The one after them takes back what was let in; the other retreat has stages that are among
 * them. */
static const struct lb_stage *stage_at(size_t i)
{
    return i < azure_flow.n_stages ? &azure_flow.stages[i] : azure_flow.retreats[2].stages;
}

static int observe(struct lb_sync *s, size_t stage, struct err *err)
{
    struct stage_rig *r = rig_of(s);
    arm_docs_show(&r->docs, &r->p);
    r->stage = stage_at(stage)->name;
    const struct azure_sync *y = azure_sync_of(s);
    size_t known = y->n_seen;
    int rc = stage_at(stage)->observe(s, err);
    for (size_t i = known; i < y->n_seen; i++) {
        r->asked =
            arena_printf(r->a, "%s%s: %s\n", r->asked, r->stage, azure_arm_word(y->seen[i].kind));
    }
    return rc;
}

static int plan(struct lb_sync *s, size_t stage, struct lb_plan *plan, struct err *err)
{
    struct stage_rig *r = rig_of(s);
    size_t before = plan->n_ops;
    int rc = stage_at(stage)->plan(s, plan, err);
    r->plan = plan;
    r->stages_end[stage] = plan->n_ops;
    for (size_t i = before; i < plan->n_ops; i++) {
        if (plan->ops[i].verb != LB_KEEP && !s->planning) {
            plan->ops[i].type = &carried_out;
            carry_out_all(plan->ops[i].undo);
            carry_out_all(plan->ops[i].proof);
        }
    }
    return rc;
}

#define STAGE(i)                                                                                   \
    static int observe_##i(struct lb_sync *s, struct err *err)                                     \
    {                                                                                              \
        return observe(s, i, err);                                                                 \
    }                                                                                              \
    static int plan_##i(struct lb_sync *s, struct lb_plan *p, struct err *err)                     \
    {                                                                                              \
        return plan(s, i, p, err);                                                                 \
    }
STAGE(0)
STAGE(1)
STAGE(2)
STAGE(3)
STAGE(4)
STAGE(5)
STAGE(6)
STAGE(7)
STAGE(8)
STAGE(9)
STAGE(10)
STAGE(11)
STAGE(12)
STAGE(13)
STAGE(14)
STAGE(15)
STAGE(16)
STAGE(17)
static const struct lb_stage wrapped[] = {
    {"0", NULL, observe_0, plan_0},    {"1", NULL, observe_1, plan_1},
    {"2", NULL, observe_2, plan_2},    {"3", NULL, observe_3, plan_3},
    {"4", NULL, observe_4, plan_4},    {"5", NULL, observe_5, plan_5},
    {"6", NULL, observe_6, plan_6},    {"7", NULL, observe_7, plan_7},
    {"8", NULL, observe_8, plan_8},    {"9", NULL, observe_9, plan_9},
    {"10", NULL, observe_10, plan_10}, {"11", NULL, observe_11, plan_11},
    {"12", NULL, observe_12, plan_12}, {"13", NULL, observe_13, plan_13},
    {"14", NULL, observe_14, plan_14}, {"15", NULL, observe_15, plan_15},
    {"16", NULL, observe_16, plan_16}, {"17", NULL, observe_17, plan_17},
};

/* ---- the host -------------------------------------------------------------------------------- */

static struct stage_rig *rig_of_ctx(struct tt_host_ctx *ctx)
{
    return (struct stage_rig *)(void *)ctx;
}

static void note_event(struct stage_rig *r, const char *name, const char *reason)
{
    const char *line = arena_printf(r->a, "%s %s\n", name, reason);
    if (strstr(r->events, line) == NULL) {
        r->events = arena_printf(r->a, "%s%s", r->events, line);
    }
}

static void host_event(struct tt_host_ctx *ctx, const struct tt_service *service, uint32_t type,
                       const char *reason, const char *message)
{
    (void)type, (void)message;
    note_event(rig_of_ctx(ctx), service->name, reason);
}

static int32_t host_may_mutate(struct tt_host_ctx *ctx, const struct tt_call *call)
{
    (void)ctx, (void)call;
    return 1;
}

static void host_services(struct tt_host_ctx *ctx, const struct tt_call *call,
                          const struct tt_service *const **ret, uint32_t *ret_n)
{
    struct stage_rig *r = rig_of_ctx(ctx);
    (void)call;
    const struct tt_service **all = ARENA_ARRAY(r->a, const struct tt_service *, r->n_services + 1);
    *ret_n = 0;
    for (size_t i = 0; i < r->n_services; i++) {
        if (!r->services[i].gone) {
            all[(*ret_n)++] = r->all[i];
        }
    }
    *ret = all;
}

/* One slice with an endpoint per host. */
static const struct tt_slice *const *slices_of(struct stage_rig *r, const struct rig_service *s)
{
    size_t n;
    char **hosts = str_split(r->a, str_nonnull(s->hosts), ' ', &n);
    struct tt_endpoint *endpoints = ARENA_ARRAY(r->a, struct tt_endpoint, n + 1);
    struct tt_slice *slice = ARENA_NEW(r->a, struct tt_slice);
    const struct tt_slice **slices = ARENA_ARRAY(r->a, const struct tt_slice *, 1);
    for (size_t i = 0; i < n; i++) {
        endpoints[i].node_name = hosts[i];
    }
    *slice = (struct tt_slice){
        .size = sizeof(*slice), .endpoints = endpoints, .n_endpoints = (uint32_t)n};
    slices[0] = slice;
    return slices;
}

static void host_slices(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_service *service, const struct tt_slice *const **ret,
                        uint32_t *ret_n, uint32_t *ret_known)
{
    struct stage_rig *r = rig_of_ctx(ctx);
    (void)call;
    *ret = NULL;
    *ret_n = *ret_known = 0;
    for (size_t i = 0; i < r->n_services; i++) {
        if (str_eq(r->services[i].name, service->name) && r->services[i].hosts != NULL &&
            str_eq(str_or(r->services[i].ns, "default"), service->ns)) {
            *ret = slices_of(r, &r->services[i]);
            *ret_n = *ret_known = 1;
        }
    }
}

static int32_t host_kube_get(struct tt_host_ctx *ctx, const struct tt_call *call,
                             const struct tt_kube_ref *ref, const struct tt_text_sink *ret)
{
    struct stage_rig *r = rig_of_ctx(ctx);
    (void)call, (void)ref;
    const char *text = arena_printf(r->a, "{\"metadata\":{\"labels\":%s}}", r->namespace_labels);
    ret->put(ret->arg, text, strlen(text));
    return TT_OK;
}

static int32_t host_hold(struct tt_host_ctx *ctx, const struct tt_call *call,
                         const struct tt_item *item, const char *const *names, uint32_t n)
{
    (void)ctx, (void)call, (void)item;
    (void)names, (void)n;
    return TT_OK;
}

/* The controller makes events of those that are news. */
static void note_findings(struct stage_rig *r, const struct tt_plan_service *s)
{
    const char *name = strchr(s->key, '/');
    for (uint32_t i = 0; i < s->n_findings; i++) {
        note_event(r, name + 1, s->findings[i]->reason);
    }
    r->nobody = s->serves_nobody != NULL ? arena_strdup(r->a, s->serves_nobody) : r->nobody;
}

/* Operations in the order in which they are carried out: those of a stage by their waves. */
static void note_planned(struct stage_rig *r)
{
    size_t at = 0;
    for (size_t i = 0; i <= azure_flow.n_stages; i++) {
        r->stage = stage_at(i)->name;
        for (int wave = 1; wave <= r->plan->waves; wave++) {
            for (size_t k = at; k < r->stages_end[i]; k++) {
                if (r->plan->ops[k].verb != LB_KEEP && r->plan->ops[k].wave == wave) {
                    note(r, &r->plan->ops[k]);
                }
            }
        }
        at = r->stages_end[i] > at ? r->stages_end[i] : at;
    }
}

static void host_plan(struct tt_host_ctx *ctx, const struct tt_call *call, const struct tt_plan *p)
{
    struct stage_rig *r = rig_of_ctx(ctx);
    if (r->planning && r->plan != NULL) {
        note_planned(r);
    }
    for (uint32_t i = 0; call->planning == 0 && i < p->n_services; i++) {
        note_findings(r, p->services[i]);
    }
    if (r->reported != NULL) {
        r->reported(r, p);
    }
}

static void host_operation(struct tt_host_ctx *ctx, const struct tt_call *call,
                           const struct tt_operation *op, int32_t code, const char *message,
                           int64_t took_ms)
{
    (void)ctx, (void)call, (void)op;
    (void)code, (void)message, (void)took_ms;
}

/* Results are handles of ours: the Service itself. */
struct outcome {
    struct stage_rig *r;
    struct rig_service *s;
};

static struct outcome *outcome_of(struct tt_result *result)
{
    return (struct outcome *)(void *)result;
}

static void result_ingress(struct tt_result *result, const struct tt_ingress *ingress, uint32_t n)
{
    struct outcome *o = outcome_of(result);
    o->s->status = "";
    for (uint32_t i = 0; i < n; i++) {
        o->s->status =
            arena_printf(o->r->a, "%s%s%s", o->s->status, i > 0 ? " " : "", ingress[i].ip);
    }
}

/* Says again what is written already, without a word. */
static int32_t result_publish(struct tt_result *result)
{
    const struct outcome *o = outcome_of(result);
    struct rig_service *s = o->s;
    if (s->unwritten == TT_OK && (s->served == NULL || !str_has_suffix(s->served, s->status))) {
        bool first = str_is_empty(s->served);
        s->served = first ? s->status : arena_printf(o->r->a, "%s then %s", s->served, s->status);
    }
    return s->unwritten;
}

static void result_own(struct tt_result *result, uint32_t bits)
{
    (void)result, (void)bits;
}

static void result_again(struct tt_result *result, int64_t after_ms)
{
    outcome_of(result)->s->again_ms = after_ms;
}

static void result_fail(struct tt_result *result, int32_t code, const char *message,
                        int64_t retry_after_ms)
{
    struct outcome *o = outcome_of(result);
    (void)retry_after_ms;
    o->s->code = code;
    o->s->message = arena_strdup(o->r->a, message);
}

static void result_nobody(struct tt_result *result, const char *why)
{
    struct outcome *o = outcome_of(result);
    o->s->stands = *why == '\0' ? "serves" : arena_strdup(o->r->a, why);
}

static void result_resource(struct tt_result *result, const char *kind, const char *name)
{
    (void)result, (void)kind, (void)name;
}

static void result_done(struct tt_result *result)
{
    (void)result;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const struct tt_service *decode(struct stage_rig *r, const struct rig_service *s)
{
    struct arena *a = r->a;
    size_t n = 0;
    const char *spec = s->spec != NULL ? s->spec : "\"ports\":[{\"port\":80,\"nodePort\":30080}]";
    const struct tt_service *plain =
        s->given != NULL ? s->given : azure_test_service(a, s->name, s->annotations, spec);
    char **ips = str_split(a, s->status, ' ', &n);
    struct tt_ingress *ingress = ARENA_ARRAY(a, struct tt_ingress, n + 1);
    struct tt_service *full = ARENA_NEW(a, struct tt_service);
    *full = *plain;
    full->ns = str_or(s->ns, plain->ns);
    full->n_ingress = 0;
    for (size_t i = 0; i < n; i++) {
        if (ips[i][0] != '\0') {
            ingress[full->n_ingress++].ip = ips[i];
        }
    }
    full->ingress = ingress;
    if (s->unreadable) {
        *full = (struct tt_service){.size = sizeof(*full),
                                    .ns = full->ns,
                                    .name = full->name,
                                    .uid = full->uid,
                                    .type = "",
                                    .lb_ip = "",
                                    .flags = TT_SERVICE_UNREADABLE};
    }
    return full;
}

static const struct tt_service *previous_of(struct stage_rig *r, const struct rig_service *s)
{
    struct rig_service before = *s;
    before.annotations = s->before;
    return s->before != NULL ? decode(r, &before) : NULL;
}

static void run(struct stage_rig *r, bool planning)
{
    struct outcome *outcomes = ARENA_ARRAY(r->a, struct outcome, r->n_services);
    const struct tt_item **items = ARENA_ARRAY(r->a, const struct tt_item *, r->n_services);
    struct tt_batch batch = {.size = sizeof(batch), .key = "azure", .items = items};
    const struct tt_call call = {.size = sizeof(call)};
    batch.nodes = r->nodes;
    batch.n_nodes = (uint32_t)r->n_nodes;
    r->all = ARENA_ARRAY(r->a, const struct tt_service *, r->n_services);
    r->log = r->events = r->asked = "";
    r->nobody = NULL;
    r->planning = planning;
    r->plan = NULL;
    memset(r->stages_end, 0, sizeof(r->stages_end));
    for (size_t i = 0; i < r->n_services; i++) {
        struct rig_service *s = &r->services[i];
        r->all[i] = decode(r, s);
        if (s->verb == 0 || s->gone) {
            continue;
        }
        struct tt_item *item = ARENA_NEW(r->a, struct tt_item);
        outcomes[i] = (struct outcome){.r = r, .s = s};
        s->code = TT_OK;
        s->message = "";
        s->stands = "";
        s->served = NULL;
        *item = (struct tt_item){.size = sizeof(*item),
                                 .verb = s->verb,
                                 .reasons = s->reasons,
                                 .flags = s->flags,
                                 .slices = slices_of(r, s),
                                 .n_slices = s->hosts != NULL,
                                 .has_slices = s->hosts != NULL,
                                 .previous = previous_of(r, s),
                                 .service = r->all[i],
                                 .result = (struct tt_result *)(void *)&outcomes[i]};
        items[batch.n_items++] = item;
    }
    const struct http_config http = {.observe = http_ignore_sent, .proxy_url = ""};
    struct http_pool *pool = http_pool_new(&http);
    struct rng *rng = rng_seeded_new(1);
    const struct lb_driver_config cfg = {.flow = &r->flow,
                                         .provider = r,
                                         .host = &r->host,
                                         .http = pool,
                                         .clock = clock_real(),
                                         .rng = rng};
    (void)(planning ? lb_driver_plan(&cfg, &call, &batch)
                    : lb_driver_reconcile(&cfg, &call, &batch));
    rng_free(rng);
    http_pool_free(pool);
}

void stage_rig_reconcile(struct stage_rig *r)
{
    run(r, false);
}

void stage_rig_run(struct stage_rig *r)
{
    run(r, false);
    for (size_t i = 0; i < r->n_services; i++) {
        struct rig_service *s = &r->services[i];
        s->gone = s->gone || (s->verb == TT_VERB_DELETE && s->code == TT_OK);
        s->verb = s->reasons = 0;
    }
}

void stage_rig_plan(struct stage_rig *r)
{
    run(r, true);
}

void stage_rig_settled(struct stage_rig *r)
{
    for (size_t i = 0; i < r->n_services; i++) {
        r->services[i].verb = TT_VERB_ENSURE;
    }
    run(r, true);
    same_text("a settled cluster needs nothing", r->log, "");
    for (size_t i = 0; i < r->n_services; i++) {
        r->services[i].verb = 0;
    }
}

void stage_rig_two_balancers(struct stage_rig *r)
{
    struct azure_lb_config *lbs = ARENA_ARRAY(r->a, struct azure_lb_config, 2);
    lbs[0] = (struct azure_lb_config){
        .name = "lb1", .primary_vm_set = "vmss-1", .allow_placement = true};
    lbs[1] = (struct azure_lb_config){
        .name = "lb2", .primary_vm_set = "vmss-2", .allow_placement = true};
    r->p.config.lbs = lbs;
    r->p.config.n_lbs = 2;
    r->p.config.pool_type = AZURE_POOL_IP;
}

void stage_rig_add_node(struct stage_rig *r, const char *name, const char *ip)
{
    assert_true(r->n_nodes < RIG_NODES_MAX);
    r->nodes[r->n_nodes++] = test_node_text(
        r->a, arena_printf(r->a,
                           "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"providerID\":"
                           "\"azure://" GROUP "/providers/Microsoft.Compute/virtualMachines/%s\"},"
                           "\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":"
                           "\"%s\"}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                           name, name, ip));
}

/* ---- life ------------------------------------------------------------------------------------ */

struct rig_service *stage_rig_add(struct stage_rig *r, const char *name, const char *annotations,
                                  const char *spec)
{
    assert_true(r->n_services < RIG_SERVICES_MAX);
    struct rig_service *s = &r->services[r->n_services++];
    *s = (struct rig_service){.name = name,
                              .annotations = annotations,
                              .spec = spec,
                              .verb = TT_VERB_ENSURE,
                              .status = "",
                              .message = ""};
    return s;
}

/* Likewise of the retreats: `stages` are the wrapped ones. */
static void wrap_retreats(struct stage_rig *r, const struct lb_stage *stages)
{
    struct lb_retreat *retreats = ARENA_ARRAY(r->a, struct lb_retreat, azure_flow.n_retreats);
    assert_true(azure_flow.n_stages < ARRAY_LEN(wrapped));
    for (size_t i = 0; i < azure_flow.n_retreats; i++) {
        retreats[i] = azure_flow.retreats[i];
        struct lb_stage *mine = ARENA_ARRAY(r->a, struct lb_stage, retreats[i].n_stages);
        for (size_t k = 0; k < retreats[i].n_stages; k++) {
            const char *name = retreats[i].stages[k].name;
            size_t at = 0;
            while (at < azure_flow.n_stages && !str_eq(azure_flow.stages[at].name, name)) {
                at++;
            }
            mine[k] = stages[at];
        }
        retreats[i].stages = mine;
    }
    r->flow.retreats = retreats;
}

struct stage_rig *stage_rig_new(void)
{
    struct arena *a = arena_new();
    struct stage_rig *r = ARENA_NEW(a, struct stage_rig);
    r->a = a;
    r->host = (struct tt_host){.size = sizeof(r->host),
                               .ctx = (struct tt_host_ctx *)(void *)r,
                               .event = host_event,
                               .may_mutate = host_may_mutate,
                               .services = host_services,
                               .slices = host_slices,
                               .kube_get = host_kube_get,
                               .hold_finalizers = host_hold,
                               .report_plan = host_plan,
                               .report_operation = host_operation,
                               .result_ingress = result_ingress,
                               .result_fail = result_fail,
                               .result_nobody = result_nobody,
                               .result_publish = result_publish,
                               .result_again = result_again,
                               .result_own = result_own,
                               .result_resource = result_resource,
                               .result_done = result_done};
    r->p =
        (struct azure_provider){.host = &r->host, .clock = clock_real(), .offline = true, .a = a};
    r->p.config = azure_test_config();
    r->p.naming = (struct azure_naming){.config = &r->p.config, .cluster = "kubernetes"};
    r->p.arm = (struct azure_arm){.base = "", .config = &r->p.config};
    r->p.snapshot = azure_snapshot_new(clock_real());
    r->p.assigned = map_new(free);
    r->p.redirected = map_new(free);
    r->p.retreated = map_new(free);
    r->p.firsts = map_new(azure_first_free);
    r->flow = azure_flow;
    struct lb_stage *stages = ARENA_ARRAY(r->a, struct lb_stage, ARRAY_LEN(wrapped));
    for (size_t i = 0; i < ARRAY_LEN(wrapped); i++) {
        stages[i] = wrapped[i];
        stages[i].tidies = i < azure_flow.n_stages && azure_flow.stages[i].tidies;
        stages[i].leaves = i < azure_flow.n_stages ? azure_flow.stages[i].leaves : NULL;
    }
    r->flow.stages = stages;
    wrap_retreats(r, stages);
    r->log = r->events = r->asked = "";
    r->namespace_labels = "{}";
    arm_docs_init(&r->docs, a);
    stage_rig_put(r, AZURE_NSGS, "{\"name\":\"nsg\",\"properties\":{\"securityRules\":[]}}");
    stage_rig_put(r, AZURE_SUBNETS,
                  "{\"name\":\"subnet\",\"properties\":{\"addressPrefix\":\"10.0.0.0/16\"}}");
    return r;
}

int stage_rig_setup(void **state)
{
    *state = stage_rig_new();
    return 0;
}

int stage_rig_teardown(void **state)
{
    stage_rig_free(*state);
    return 0;
}

void stage_rig_free(struct stage_rig *r)
{
    azure_snapshot_free(r->p.snapshot);
    map_free(r->p.assigned);
    map_free(r->p.redirected);
    map_free(r->p.retreated);
    map_free(r->p.firsts);
    map_free(r->p.unlooked);
    map_free(r->p.forbidden);
    map_free(r->p.refused_tags);
    map_free(r->p.machines);
    map_free(r->p.unplaced);
    arena_free(r->a);
}
