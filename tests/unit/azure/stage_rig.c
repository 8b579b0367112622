/* SPDX-License-Identifier: Apache-2.0 */
/* stage_rig.c: the stages under the real driver, with a cloud in memory (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "common/lb/exec.h"
#include "providers/azure/azure_doc.h"

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

/* ---- the cloud ----------------------------------------------------------------------------------------- */

static void stamp(struct stage_rig *r, struct json_object *doc)
{
    json_object_object_del(doc, "etag");
    json_add_str(doc, "etag", arena_printf(r->a, "W/\"%u\"", ++r->etags));
}

static struct json_object *by_id(struct stage_rig *r, enum azure_kind k, const char *id)
{
    struct json_object *o;
    AZURE_EACH (o, r->lists[k]) {
        if (azure_id_eq(azure_doc_id(o), id)) {
            return o;
        }
    }
    return NULL;
}

static void set_text(struct json_object *o, const char *name, const char *value)
{
    json_object_object_del(o, name);
    json_add_str(o, name, value);
}

static void keep(struct stage_rig *r, enum azure_kind k, const char *id, struct json_object *doc)
{
    struct json_object *now = azure_own(r->a, json_object_new_array());
    struct json_object *o;
    bool there = false;
    AZURE_EACH (o, r->lists[k]) {
        bool same = azure_id_eq(azure_doc_id(o), id);
        struct json_object *item = same ? doc : o;
        there = there || same;
        if (item != NULL) {
            (void)json_object_array_add(now, json_object_get(item));
        }
    }
    if (!there && doc != NULL) {
        (void)json_object_array_add(now, json_object_get(doc));
    }
    r->lists[k] = now;
}

struct json_object *stage_rig_put(struct stage_rig *r, enum azure_kind k, const char *json)
{
    struct json_object *doc = pure_json(r->a, json);
    if (azure_doc_id(doc)[0] == '\0') {
        set_text(doc, "id", id_of(r, k, azure_doc_name(doc)));
    }
    stamp(r, doc);
    keep(r, k, azure_doc_id(doc), doc);
    return doc;
}

struct json_object *stage_rig_doc(struct stage_rig *r, enum azure_kind k, const char *name)
{
    return azure_find(r->lists[k], name);
}

/* The frontend that a public IP hangs on, on any balancer but `lb`. */
static const char *frontend_of(struct stage_rig *r, const char *pip, const char *lb)
{
    struct json_object *doc, *o;
    AZURE_EACH (doc, r->lists[AZURE_LBS]) {
        AZURE_EACH (o, azure_array(doc, "frontendIPConfigurations")) {
            if (azure_id_eq(azure_ref(o, "publicIPAddress"), pip) &&
                !azure_id_eq(azure_doc_id(doc), lb)) {
                return azure_doc_id(o);
            }
        }
    }
    return NULL;
}

/* Public IPs know the frontend that they hang on, and change with it (3.4). */
static void attach_all(struct stage_rig *r)
{
    struct json_object *o;
    struct json_object *before = r->lists[AZURE_PIPS];
    AZURE_EACH (o, before) {
        const char *frontend = frontend_of(r, azure_doc_id(o), NULL);
        struct json_object *pip = azure_copy(r->a, o);
        json_object_object_del(azure_props_make(pip), "ipConfiguration");
        if (frontend != NULL) {
            json_add(azure_props(pip), "ipConfiguration", azure_ref_new(frontend));
        }
        if (!str_eq(azure_ref(o, "ipConfiguration"), frontend)) {
            stamp(r, pip);
            keep(r, AZURE_PIPS, azure_doc_id(pip), pip);
        }
    }
}

static int lb_check_rules(struct json_object *lb, struct err *err)
{
    struct json_object *rule, *front;
    AZURE_EACH (rule, azure_array(lb, "loadBalancingRules")) {
        bool found = false;
        AZURE_EACH (front, azure_array(lb, "frontendIPConfigurations")) {
            found = found ||
                    azure_id_eq(azure_ref(rule, "frontendIPConfiguration"), azure_doc_id(front));
        }
        if (!found) {
            return err_set(err, ERR_INVALID, "InvalidResourceReference: %s", azure_doc_name(rule));
        }
    }
    return ERR_OK;
}

static int lb_put(struct stage_rig *r, struct json_object *lb, struct err *err)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        const char *pip = azure_ref(o, "publicIPAddress");
        set_text(o, "id",
                 azure_frontend_id(r->a, &r->p.naming, azure_doc_name(lb), azure_doc_name(o)));
        if (pip != NULL && by_id(r, AZURE_PIPS, pip) == NULL) {
            return err_set(err, ERR_INVALID, "InvalidResourceReference: %s", pip);
        }
        if (pip != NULL && frontend_of(r, pip, azure_doc_id(lb)) != NULL) {
            return err_set(err, ERR_INVALID, "PublicIPReferencedByMultipleIPConfigs: %s", pip);
        }
        if (pip == NULL && azure_prop_str(o, "privateIPAddress") == NULL) {
            bool six = azure_eq(str_nonnull(azure_prop_str(o, "privateIPAddressVersion")), "IPv6");
            set_text(azure_props_make(o), "privateIPAddress",
                     arena_printf(r->a, six ? "fd00::%u" : "10.0.0.%u", ++r->addresses));
        }
    }
    return lb_check_rules(lb, err);
}

static void pip_put(struct stage_rig *r, struct json_object *pip)
{
    bool six = azure_eq(str_nonnull(azure_prop_str(pip, "publicIPAddressVersion")), "IPv6");
    if (azure_prop_str(pip, "ipAddress") == NULL) {
        set_text(azure_props_make(pip), "ipAddress",
                 arena_printf(r->a, six ? "2001:db8::%u" : "20.0.0.%u", ++r->addresses));
    }
}

static bool is_poisoned(struct stage_rig *r, struct json_object *doc)
{
    return r->poison != NULL && strstr(json_text(r->a, doc, JSON_COMPACT), r->poison) != NULL;
}

/* A pool is written as a resource of its own, and is a part of its balancer's document. */
static void pool_put(struct stage_rig *r, const char *id, struct json_object *body)
{
    const char *lb = id_of(r, AZURE_LBS, azure_id_part(r->a, id, "loadBalancers"));
    struct json_object *doc = azure_copy(r->a, by_id(r, AZURE_LBS, lb));
    struct json_object *pool =
        azure_find(azure_array(doc, "backendAddressPools"), azure_id_last(id));
    assert_non_null(pool);
    json_object_object_del(pool, "properties");
    json_add(pool, "properties", json_copy(azure_props(body)));
    stamp(r, doc);
    keep(r, AZURE_LBS, lb, doc);
}

/* One write, or why not. */
static int carry_out(struct stage_rig *r, struct azure_write *w, struct err *err)
{
    const struct azure_call_spec *spec = &w->spec;
    struct json_object *was = by_id(r, spec->kind, spec->id);
    if (r->fail != NULL && r->fail_times > 0 && azure_eq(azure_id_last(spec->id), r->fail)) {
        r->fail_times--;
        return err_set(err, r->fail_code, "%s", str_nonnull(r->fail_message));
    }
    if (spec->verb == AZURE_DELETE) {
        if (spec->kind == AZURE_PIPS && frontend_of(r, spec->id, NULL) != NULL) {
            return err_set(err, ERR_IN_USE, "PublicIPAddressCannotBeDeleted");
        }
        keep(r, spec->kind, spec->id, NULL);
        attach_all(r);
        return ERR_OK;
    }
    if (was != NULL && spec->if_match != NULL && !str_eq(spec->if_match, azure_doc_etag(was))) {
        return err_set(err, ERR_CONFLICT, "PreconditionFailed");
    }
    struct json_object *doc = azure_copy(r->a, spec->body);
    if (spec->kind == AZURE_POOLS) {
        pool_put(r, spec->id, doc);
        w->answer = doc;
        return ERR_OK;
    }
    set_text(doc, "id", spec->id);
    if (is_poisoned(r, doc) && (spec->kind == AZURE_LBS || spec->kind == AZURE_NSGS)) {
        return err_set(err, ERR_INVALID, "InvalidRequestFormat: something is wrong");
    }
    if (spec->kind == AZURE_LBS && lb_put(r, doc, err) != ERR_OK) {
        return err->code;
    }
    if (spec->kind == AZURE_PIPS) {
        pip_put(r, doc);
    }
    stamp(r, doc);
    keep(r, spec->kind, spec->id, doc);
    attach_all(r);
    w->answer = doc;
    return ERR_OK;
}

/* ---- the stages ------------------------------------------------------------------------------------------ */

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
    note(r, run->op);
    (void)carry_out(r, (struct azure_write *)(uintptr_t)run->op->arg, run->err);
    return HTTP_DONE;
}
static const struct lb_op_type carried_out = {.name = "write", .state_size = 1, .step = step};

static void show_cloud(struct stage_rig *r)
{
    static const enum azure_kind kinds[] = {AZURE_LBS, AZURE_PIPS, AZURE_SETS};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        azure_snapshot_put_list(r->p.snapshot, kinds[i],
                                azure_arm_collection(r->a, &r->p.arm, kinds[i], "rg"),
                                r->lists[kinds[i]]);
    }
    static const enum azure_kind singles[] = {AZURE_NSGS, AZURE_SUBNETS};
    for (size_t i = 0; i < ARRAY_LEN(singles); i++) {
        struct json_object *o;
        AZURE_EACH (o, r->lists[singles[i]]) {
            struct json_object *one = azure_own(r->a, json_object_new_array());
            (void)json_object_array_add(one, json_object_get(o));
            azure_snapshot_put_list(r->p.snapshot, singles[i], azure_doc_id(o), one);
        }
    }
}

static int observe(struct lb_sync *s, size_t stage, struct err *err)
{
    struct stage_rig *r = rig_of(s);
    show_cloud(r);
    r->stage = azure_flow.stages[stage].name;
    return azure_flow.stages[stage].observe(s, err);
}

static int plan(struct lb_sync *s, size_t stage, struct lb_plan *plan, struct err *err)
{
    struct stage_rig *r = rig_of(s);
    size_t before = plan->n_ops;
    int rc = azure_flow.stages[stage].plan(s, plan, err);
    for (size_t i = before; i < plan->n_ops; i++) {
        if (plan->ops[i].verb != LB_KEEP) {
            plan->ops[i].type = &carried_out;
            if (s->planning) {
                note(r, &plan->ops[i]);
            }
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
static const struct lb_stage wrapped[] = {
    {"0", observe_0, plan_0}, {"1", observe_1, plan_1},    {"2", observe_2, plan_2},
    {"3", observe_3, plan_3}, {"4", observe_4, plan_4},    {"5", observe_5, plan_5},
    {"6", observe_6, plan_6}, {"7", observe_7, plan_7},    {"8", observe_8, plan_8},
    {"9", observe_9, plan_9}, {"10", observe_10, plan_10}, {"11", observe_11, plan_11},
};

/* ---- the host -------------------------------------------------------------------------------------------- */

static struct stage_rig *rig_of_ctx(struct tt_host_ctx *ctx)
{
    return (struct stage_rig *)(void *)ctx;
}

static void host_event(struct tt_host_ctx *ctx, const struct tt_service *service, uint32_t type,
                       const char *reason, const char *message)
{
    struct stage_rig *r = rig_of_ctx(ctx);
    (void)type;
    (void)message;
    const char *line = arena_printf(r->a, "%s %s\n", service->name, reason);
    if (strstr(r->events, line) == NULL) {
        r->events = arena_printf(r->a, "%s%s", r->events, line);
    }
}

static int32_t host_may_mutate(struct tt_host_ctx *ctx, const struct tt_call *call)
{
    (void)ctx;
    (void)call;
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

static int32_t host_kube_get(struct tt_host_ctx *ctx, const struct tt_call *call,
                             const struct tt_kube_ref *ref, const struct tt_text_sink *ret)
{
    struct stage_rig *r = rig_of_ctx(ctx);
    (void)call;
    (void)ref;
    const char *text = arena_printf(r->a, "{\"metadata\":{\"labels\":%s}}", r->namespace_labels);
    ret->put(ret->arg, text, strlen(text));
    return TT_OK;
}

static int32_t host_hold(struct tt_host_ctx *ctx, const struct tt_call *call,
                         const struct tt_item *item, const char *const *names, uint32_t n)
{
    (void)ctx;
    (void)call;
    (void)item;
    (void)names;
    (void)n;
    return TT_OK;
}

static void host_plan(struct tt_host_ctx *ctx, const struct tt_call *call, const struct tt_plan *p)
{
    (void)ctx;
    (void)call;
    (void)p;
}

static void host_operation(struct tt_host_ctx *ctx, const struct tt_call *call,
                           const struct tt_operation *op, int32_t code, const char *message,
                           int64_t took_ms)
{
    (void)ctx;
    (void)call;
    (void)op;
    (void)code;
    (void)message;
    (void)took_ms;
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

static void result_fail(struct tt_result *result, int32_t code, const char *message,
                        int64_t retry_after_ms)
{
    struct outcome *o = outcome_of(result);
    (void)retry_after_ms;
    o->s->code = code;
    o->s->message = arena_strdup(o->r->a, message);
}

static void result_resource(struct tt_result *result, const char *kind, const char *name)
{
    (void)result;
    (void)kind;
    (void)name;
}

static void result_done(struct tt_result *result)
{
    (void)result;
}

/* ---- runs ------------------------------------------------------------------------------------------------ */

static const struct tt_service *decode(struct stage_rig *r, const struct rig_service *s)
{
    struct arena *a = r->a;
    size_t n = 0;
    const struct tt_service *plain = azure_test_service(
        a, s->name, s->annotations,
        s->spec != NULL ? s->spec : "\"ports\":[{\"port\":80,\"nodePort\":30080}]");
    char **ips = str_split(a, s->status, ' ', &n);
    struct tt_ingress *ingress = ARENA_ARRAY(a, struct tt_ingress, n + 1);
    struct tt_service *full = ARENA_NEW(a, struct tt_service);
    *full = *plain;
    full->n_ingress = 0;
    for (size_t i = 0; i < n; i++) {
        if (ips[i][0] != '\0') {
            ingress[full->n_ingress++].ip = ips[i];
        }
    }
    full->ingress = ingress;
    return full;
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
    r->log = r->events = "";
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
        *item = (struct tt_item){.size = sizeof(*item),
                                 .verb = s->verb,
                                 .service = r->all[i],
                                 .result = (struct tt_result *)(void *)&outcomes[i]};
        items[batch.n_items++] = item;
    }
    const struct http_config http = {.proxy_url = ""};
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

void stage_rig_run(struct stage_rig *r)
{
    run(r, false);
    for (size_t i = 0; i < r->n_services; i++) {
        struct rig_service *s = &r->services[i];
        s->gone = s->gone || (s->verb == TT_VERB_DELETE && s->code == TT_OK);
        s->verb = 0;
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

/* ---- looking ----------------------------------------------------------------------------------------------- */

static const char *names_of(struct stage_rig *r, struct json_object *array)
{
    const char *text = "";
    struct json_object *o;
    AZURE_EACH (o, array) {
        text = arena_printf(r->a, "%s%s%s", text, text[0] != '\0' ? " " : "", azure_doc_name(o));
    }
    return text;
}

const char *stage_rig_names(struct stage_rig *r, enum azure_kind k)
{
    return names_of(r, r->lists[k]);
}

const char *stage_rig_elements(struct stage_rig *r, const char *lb, const char *array)
{
    return names_of(r, azure_array(stage_rig_doc(r, AZURE_LBS, lb), array));
}

static const char *texts_of(struct stage_rig *r, struct json_object *rule, const char *one,
                            const char *many)
{
    const char *text = str_nonnull(azure_prop_str(rule, one));
    struct json_object *o;
    AZURE_EACH (o, azure_array(rule, many)) {
        text = arena_printf(r->a, "%s%s%s", text, text[0] != '\0' ? "," : "",
                            json_object_get_string(o));
    }
    return text;
}

const char *stage_rig_rules(struct stage_rig *r)
{
    const char *text = "";
    struct json_object *rule;
    AZURE_EACH (rule, azure_array(stage_rig_doc(r, AZURE_NSGS, "nsg"), "securityRules")) {
        text = arena_printf(
            r->a, "%s%s%s>%s", text, text[0] != '\0' ? " " : "",
            texts_of(r, rule, "destinationPortRange", "destinationPortRanges"),
            texts_of(r, rule, "destinationAddressPrefix", "destinationAddressPrefixes"));
    }
    return text;
}

/* ---- life -------------------------------------------------------------------------------------------------- */

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
                               .kube_get = host_kube_get,
                               .hold_finalizers = host_hold,
                               .report_plan = host_plan,
                               .report_operation = host_operation,
                               .result_ingress = result_ingress,
                               .result_fail = result_fail,
                               .result_resource = result_resource,
                               .result_done = result_done};
    r->p = (struct azure_provider){.host = &r->host, .clock = clock_real(), .offline = true};
    r->p.config = azure_test_config();
    r->p.naming = (struct azure_naming){.config = &r->p.config, .cluster = "kubernetes"};
    r->p.arm = (struct azure_arm){.base = "", .config = &r->p.config};
    r->p.snapshot = azure_snapshot_new(clock_real());
    r->p.assigned = map_new(free);
    r->flow = azure_flow;
    r->flow.stages = wrapped;
    assert_true(azure_flow.n_stages <= ARRAY_LEN(wrapped));
    r->log = r->events = "";
    r->namespace_labels = "{}";
    for (int k = 0; k < AZURE_KIND_MAX; k++) {
        r->lists[k] = azure_own(a, json_object_new_array());
    }
    stage_rig_put(r, AZURE_NSGS, "{\"name\":\"nsg\",\"properties\":{\"securityRules\":[]}}");
    stage_rig_put(r, AZURE_SUBNETS,
                  "{\"name\":\"subnet\",\"properties\":{\"addressPrefix\":\"10.0.0.0/16\"}}");
    return r;
}

void stage_rig_free(struct stage_rig *r)
{
    azure_snapshot_free(r->p.snapshot);
    map_free(r->p.assigned);
    map_free(r->p.machines);
    arena_free(r->a);
}
