/* SPDX-License-Identifier: Apache-2.0 */
/* flow_kit.c: see flow_kit.h. */
#include "tests/unit/aws/flow_kit.h"

#include "providers/aws/cloud/aws_memory.h"

#include "common/base/lock.h"
#include "common/net/url.h"
#include "providers/aws/cloud/aws_question.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test_server.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- AWS ------------------------------------------------------------------------------------- */

#define SUBNET(id, zone, cidr)                                                                     \
    "<item><subnetId>" id "</subnetId><vpcId>vpc-1</vpcId><availabilityZone>us-east-1" zone        \
    "</availabilityZone><cidrBlock>" cidr "</cidrBlock></item>"
static const struct flow_row base[] = {
    {"ec2 DescribeSubnets", 0,
     "<subnetSet>" SUBNET("subnet-1", "a", "10.0.0.0/24")
         SUBNET("subnet-2", "b", "10.0.1.0/24") "</subnetSet>",
     0},
    {"ec2 DescribeRouteTables", 0,
     "<routeTableSet><item><routeTableId>rtb-1</routeTableId><associationSet><item><main>true"
     "</main></item></associationSet><routeSet><item><gatewayId>igw-1</gatewayId></item>"
     "</routeSet></item></routeTableSet>",
     0},
    {"tag-key", 0, FLOW_GROUPS(FLOW_NODES_GROUP("")), 0},
    {NULL, 0, NULL, 0},
};

/* The instances that are asked for by a filter: all run. */
static const char *instances(struct arena *a, const char *form)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, "<reservationSet><item><instancesSet>");
    for (const char *at = strstr(form, "=i-"); at != NULL; at = strstr(at + 1, "=i-")) {
        str_appendf(&b,
                    "<item><instanceId>%.*s</instanceId><instanceState><name>running</name>"
                    "</instanceState><vpcId>vpc-1</vpcId><subnetId>subnet-1</subnetId>"
                    "<tagSet>" FLOW_OURS "</tagSet>"
                    "<groupSet><item><groupId>sg-nodes</groupId><groupName>nodes</groupName></item>"
                    "</groupSet></item>",
                    (int)strcspn(at + 1, "&"), at + 1);
    }
    str_append(&b, "</instancesSet></item></reservationSet>");
    return str_buf_to_arena(&b, a);
}

static struct flow_row *row_for(struct flow_row *rows, const char *form)
{
    for (struct flow_row *r = rows; r != NULL && r->asked != NULL; r++) {
        if (r->times >= 0 && strstr(form, r->asked) != NULL) {
            r->times = r->times == 1 ? -1 : r->times > 1 ? r->times - 1 : 0;
            return r;
        }
    }
    return NULL;
}

/* "Action=A&Version=V&x=y" → "elb A x=y". */
static const char *readable(struct arena *a, const char *raw, const char **ret_action)
{
    const char *form = url_unescape(a, raw, true);
    const char *action = form + strlen("Action=");
    size_t n = strcspn(action, "&");
    const char *version = action + n + strlen("&Version=");
    const char *rest = version + strcspn(version, "&");
    const char *api = str_has_prefix(version, "2016")   ? "ec2"
                      : str_has_prefix(version, "2012") ? "elb"
                                                        : "elbv2";
    *ret_action = arena_strndup(a, action, n);
    return arena_printf(a, "%s %s%s%s", api, *ret_action, *rest != '\0' ? " " : "",
                        *rest != '\0' ? rest + 1 : "");
}

/* The list that was asked for is in every answer, if only empty. */
static const char *with_list(struct arena *a, const char *form, const char *action,
                             const char *body)
{
    for (size_t i = 0; i < AWS_DOC_ALL_KINDS; i++) {
        const struct aws_question *q = &aws_questions[i];
        const char *api = aws_api_name(q->api);
        if (str_eq(q->action, action) && str_has_prefix(form, arena_printf(a, "%s ", api))) {
            const char *list = arena_strndup(a, q->items, strcspn(q->items, "/"));
            bool has = strstr(body, arena_printf(a, "<%s", list)) != NULL;
            return has ? body : arena_printf(a, "%s<%s/>", body, list);
        }
    }
    return body;
}

static const char *envelope(struct arena *a, const char *form, const char *action,
                            const struct flow_row *row)
{
    const char *body = row != NULL ? row->body : "";
    if (row == NULL && strstr(form, "ec2 DescribeInstances") != NULL) {
        body = instances(a, form);
    }
    if (row != NULL && row->status > 0 && row->status != 200) {
        int n = (int)strcspn(body, " ");
        return arena_printf(a,
                            "<ErrorResponse><Error><Code>%.*s</Code><Message>%s</Message></Error>"
                            "</ErrorResponse>",
                            n, body, body[n] != '\0' ? body + n + 1 : "");
    }
    body = with_list(a, form, action, body);
    return str_has_prefix(form, "ec2 ")
               ? arena_printf(a, "<%sResponse>%s</%sResponse>", action, body, action)
               : arena_printf(a, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action,
                              body, action, action);
}

/* Requests other than forms go to the metadata service: a row "imds PATH" answers them. */
static void handle(void *arg, struct http_req *req)
{
    struct flow_kit *k = arg;
    struct arena *a = http_req_arena(req);
    size_t n = 0;
    const char *raw = http_req_body(req, &n);
    const char *action = NULL;
    bool imds = !str_has_prefix(str_nonnull(raw), "Action=");
    const char *form =
        imds ? arena_printf(a, "imds %s", http_req_target(req)) : readable(a, raw, &action);
    mutex_lock(&k->lock);
    str_appendf(&k->asked, "%s\n", form);
    if (k->cancels_after != NULL && strstr(form, k->cancels_after) != NULL) {
        atomic_store(&k->cancelled, true);
    }
    struct flow_row *row = row_for(k->rows, form);
    const struct flow_row *found = row;
    for (size_t i = 0; !imds && found == NULL && base[i].asked != NULL; i++) {
        found = strstr(form, base[i].asked) != NULL ? &base[i] : NULL;
    }
    mutex_unlock(&k->lock);
    int status = found != NULL && found->status > 0 ? found->status : 200;
    const char *body = found != NULL ? found->body : "";
    status = imds && found == NULL ? 404 : status;
    body = imds ? body : envelope(a, form, action, found);
    http_req_answer(req, status, body, strlen(body));
}

/* ---- the host -------------------------------------------------------------------------------- */

static struct flow_kit *kit(struct tt_host_ctx *ctx)
{
    return (struct flow_kit *)(void *)ctx;
}

static void event(struct tt_host_ctx *ctx, const struct tt_service *service, uint32_t type,
                  const char *reason, const char *message)
{
    (void)service;
    (void)type;
    str_appendf(&kit(ctx)->events, "%s: %s\n", reason, message);
}

static int64_t now_ms(struct tt_host_ctx *ctx)
{
    return clock_now_ms(kit(ctx)->clock);
}

static int32_t may_mutate(struct tt_host_ctx *ctx, const struct tt_call *call)
{
    (void)ctx;
    (void)call;
    return 1;
}

static void services(struct tt_host_ctx *ctx, const struct tt_call *call,
                     const struct tt_service *const **ret, uint32_t *ret_n)
{
    (void)call;
    *ret = kit(ctx)->services;
    *ret_n = kit(ctx)->n_services;
}

static int32_t hold_finalizers(struct tt_host_ctx *ctx, const struct tt_call *call,
                               const struct tt_item *item, const char *const *names, uint32_t n)
{
    (void)call;
    (void)item;
    (void)names;
    (void)n;
    kit(ctx)->held++;
    return TT_OK;
}

static void report_plan(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_plan *plan)
{
    (void)call;
    kit(ctx)->changes = 0;
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        kit(ctx)->changes += plan->operations[i]->verb != TT_OP_KEEP;
    }
    for (uint32_t i = 0; i < plan->n_services; i++) {
        const struct tt_plan_service *s = plan->services[i];
        for (uint32_t f = 0; f < s->n_findings; f++) {
            str_appendf(&kit(ctx)->findings, "%s: %s\n", s->findings[f]->reason,
                        s->findings[f]->message);
        }
        if (s->serves_nobody != NULL) {
            str_appendf(&kit(ctx)->findings, "serves nobody: %s\n", s->serves_nobody);
        }
    }
}

static void report_operation(struct tt_host_ctx *ctx, const struct tt_call *call,
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

static void log_line(struct tt_host_ctx *ctx, uint32_t severity, int32_t v, const char *message,
                     const struct tt_kv *values, uint32_t n_values)
{
    (void)v;
    (void)values;
    (void)n_values;
    str_appendf(&kit(ctx)->logged, "%s%s\n", severity == TT_LOG_WARNING ? "W " : "", message);
}

static void report_finding(struct tt_host_ctx *ctx, uint32_t severity, const char *where,
                           const char *message)
{
    (void)severity;
    (void)where;
    (void)snprintf(kit(ctx)->finding, sizeof(kit(ctx)->finding), "%s", message);
}

static void report_resource(struct tt_host_ctx *ctx, const struct tt_call *call,
                            const struct tt_owned *o)
{
    (void)call;
    str_appendf(&kit(ctx)->owned, "%s %s %s %s%s%s\n", o->kind, o->name, str_or(o->place, "-"),
                str_or(o->owner, "-"), (o->flags & TT_OWNED_USED) != 0 ? " used" : "",
                o->remove_as != NULL ? " removable" : "");
}

static void result_ingress(struct tt_result *r, const struct tt_ingress *ingress, uint32_t n)
{
    (void)snprintf(r->ingress, sizeof(r->ingress), "%s", n > 0 ? ingress[0].hostname : "-");
}

static void result_serves(struct tt_result *r)
{
    r->serves += r->ingress[0] != '\0'; /* as the host: without an address nothing is written */
}

static void result_nobody(struct tt_result *r, const char *why)
{
    (void)snprintf(r->nobody, sizeof(r->nobody), "%s", *why == '\0' ? "serves" : why);
}

static int32_t result_publish(struct tt_result *r)
{
    result_serves(r);
    return CONTAINER_OF(r, struct flow_kit, r)->unwritten;
}

static void result_exists(struct tt_result *r, int32_t exists)
{
    r->exists = exists;
}

static void result_fail(struct tt_result *r, int32_t code, const char *message, int64_t after_ms)
{
    r->code = code;
    r->retry_after_ms = after_ms;
    (void)snprintf(r->message, sizeof(r->message), "%s", message);
}

static void result_resource(struct tt_result *r, const char *kind, const char *name)
{
    (void)r;
    (void)kind;
    (void)name;
}

static void result_text(struct tt_result *r, const char *text)
{
    r->text = xstrdup(text);
}

static void result_done(struct tt_result *r)
{
    (void)r;
}

static void result_again(struct tt_result *r, int64_t after_ms)
{
    r->again_ms = after_ms;
}

static void result_own(struct tt_result *r, uint32_t bits)
{
    r->own = bits;
}

static void result_drop_finalizer(struct tt_result *r, const char *name)
{
    (void)snprintf(r->dropped, sizeof(r->dropped), "%s", name);
}

static void result_condition(struct tt_result *r, const struct tt_condition *condition)
{
    (void)snprintf(r->condition, sizeof(r->condition), "%s", condition->type);
}

static int32_t is_cancelled(const struct tt_call *call)
{
    const struct flow_kit *k = CONTAINER_OF(call, struct flow_kit, call);
    return atomic_load(&k->cancelled);
}

/* ---- the kit --------------------------------------------------------------------------------- */

int flow_kit_setup(void **state)
{
    struct flow_kit *k = xcalloc(1, sizeof(*k));
    k->a = arena_new();
    k->clock = clock_fake_new(1000000, INT64_C(1700000000) * 1000000);
    k->rng = rng_seeded_new(1);
    k->config = "";
    k->env = KIT_KEYS;
    k->nodes = "n1";
    mutex_init(&k->lock);
    k->host = (struct tt_host){
        .size = sizeof(k->host),
        .ctx = (struct tt_host_ctx *)(void *)k,
        .log = log_line,
        .event = event,
        .now_ms = now_ms,
        .may_mutate = may_mutate,
        .services = services,
        .hold_finalizers = hold_finalizers,
        .report_plan = report_plan,
        .report_operation = report_operation,
        .report_finding = report_finding,
        .report_resource = report_resource,
        .result_ingress = result_ingress,
        .result_serves = result_serves,
        .result_publish = result_publish,
        .result_nobody = result_nobody,
        .result_exists = result_exists,
        .result_fail = result_fail,
        .result_resource = result_resource,
        .result_text = result_text,
        .result_done = result_done,
        .result_again = result_again,
        .result_own = result_own,
        .result_drop_finalizer = result_drop_finalizer,
        .result_condition = result_condition,
    };
    k->call = (struct tt_call){.size = sizeof(k->call),
                               .cluster_name = "kubernetes",
                               .deadline_ms = INT64_MAX,
                               .cancelled = is_cancelled};
    const struct test_server_config cfg = {.handle = handle, .arg = k};
    k->server = test_server_start(&cfg);
    *state = k;
    return 0;
}

void flow_kit_lets_time_pass(struct flow_kit *k)
{
    k->mover = clock_mover_start(k->clock);
}

int flow_kit_teardown(void **state)
{
    struct flow_kit *k = *state;
    (void)clock_mover_stop(k->mover);
    tt_aws_provider.close(k->p);
    test_server_stop(k->server);
    str_buf_done(&k->asked);
    str_buf_done(&k->logged);
    str_buf_done(&k->events);
    str_buf_done(&k->findings);
    str_buf_done(&k->owned);
    mutex_done(&k->lock);
    free(k->r.text);
    rng_free(k->rng);
    clock_fake_free(k->clock);
    arena_free(k->a);
    free(k);
    return 0;
}

static const char *config_text(struct flow_kit *k)
{
    static const char *const names[] = {"EC2", "Elastic Load Balancing",
                                        "Elastic Load Balancing v2", "ec2imds"};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "[Global]\n%s\n%s\n",
                k->whole != NULL ? k->whole
                                 : "Region=us-east-1\nVPC=vpc-1\nSubnetID=subnet-1\n"
                                   "KubernetesClusterID=c1",
                k->config);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        str_appendf(&b,
                    "[ServiceOverride \"%zu\"]\nService=%s\nRegion=us-east-1\nURL=%s\n"
                    "SigningRegion=us-east-1\n",
                    i, names[i], test_server_url(k->server, i < 3 ? "/" : ""));
    }
    return str_buf_to_arena(&b, k->a);
}

int32_t flow_kit_open(struct flow_kit *k)
{
    static const struct tt_kv repair = {.key = "repair-adopted", .value = "true"};
    if (k->p != NULL) {
        return TT_OK;
    }
    const char *text = config_text(k);
    const struct tt_open_args args = {
        .size = sizeof(args),
        .host = &k->host,
        .cluster_name = "kubernetes",
        .config_path = "aws.conf",
        .config_text = text,
        .config_len = strlen(text),
        .options = &repair,
        .n_options = k->repair_adopted,
        .state_json = k->state,
        .state_len = k->state != NULL ? strlen(k->state) : 0,
    };
    const struct aws_open_with with = {
        .clock = k->clock, .rng = k->rng, .env = env_fake(k->a, k->env)};
    void *p = NULL;
    int32_t code = aws_provider_open(&args, &with, &p, &k->r);
    k->p = p;
    if (code == TT_OK && !k->just_begun) {
        (void)aws_memory_began_ms(k->p->memory, clock_now_ms(k->clock) - AWS_SETTLES_MS);
    }
    return code;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct one {
    struct tt_item item;
    const struct tt_item *items[1];
    struct tt_batch batch;
};

static void make_one(struct flow_kit *k, struct one *o, uint32_t verb, uint32_t reasons,
                     const struct tt_service *svc)
{
    struct aws_texts names = aws_test_texts(k->a, k->nodes);
    const struct tt_node **nodes = ARENA_ARRAY(k->a, const struct tt_node *, names.n + 1);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.items[i];
        nodes[i] = test_node_text(
            k->a, arena_printf(k->a,
                               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"name\":\"%s\"}},"
                               "\"spec\":{\"providerID\":"
                               "\"aws:///us-east-1a/i-%s\"},\"status\":{\"conditions\":"
                               "[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                               name, name, name));
    }
    if (flow_kit_open(k) != TT_OK) {
        fail_msg("open: %s", k->r.message);
    }
    free(k->r.text);
    k->r = (struct tt_result){.exists = -1};
    *o = (struct one){.item = {.size = sizeof(o->item),
                               .verb = verb,
                               .reasons = reasons,
                               .service = svc,
                               .previous = k->previous,
                               .flags = (k->puts_right ? TT_ITEM_PUT_RIGHT : 0) |
                                        (k->unproven ? TT_ITEM_UNPROVEN : 0) |
                                        (k->made ? TT_ITEM_MADE : 0),
                               .result = &k->r}};
    o->items[0] = &o->item;
    o->batch = (struct tt_batch){.size = sizeof(o->batch),
                                 .key = "",
                                 .items = o->items,
                                 .n_items = 1,
                                 .nodes = nodes,
                                 .n_nodes = (uint32_t)names.n};
}

int32_t flow_kit_sync(struct flow_kit *k, uint32_t verb, uint32_t reasons,
                      const struct tt_service *svc)
{
    struct one o;
    make_one(k, &o, verb, reasons, svc);
    k->changes = 0;
    int32_t code = tt_aws_provider.ensure_load_balancer(k->p, &k->call, &o.batch);
    assert_int_equal(code, k->r.code);
    return code;
}

int32_t flow_kit_plan(struct flow_kit *k, const struct tt_service *svc)
{
    struct one o;
    make_one(k, &o, TT_VERB_ENSURE, TT_REASON_RESYNC, svc);
    k->changes = 0;
    return tt_aws_provider.plan(k->p, &k->call, &o.batch);
}

int32_t flow_kit_get(struct flow_kit *k, const struct tt_service *svc)
{
    struct one o;
    make_one(k, &o, TT_VERB_DELETE, TT_REASON_CLEANUP, svc);
    return tt_aws_provider.get_load_balancer(k->p, &k->call, &o.item);
}

const char *flow_kit_explain(struct flow_kit *k, const struct tt_service *svc)
{
    struct one o;
    make_one(k, &o, TT_VERB_ENSURE, TT_REASON_RESYNC, svc);
    if (tt_aws_provider.explain(k->p, &k->call, &o.batch) != TT_OK) {
        fail_msg("explain: %s", k->r.message);
    }
    return k->r.text;
}

/* ---- what came of it ------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

const char *flow_kit_asked(struct flow_kit *k)
{
    mutex_lock(&k->lock);
    const char *text = str_buf_to_arena(&k->asked, k->a);
    str_buf_reset(&k->asked);
    mutex_unlock(&k->lock);
    size_t n = 0;
    char **lines = str_split(k->a, text, '\n', &n);
    n -= n > 0; /* behind the last one */
    qsort(lines, n, sizeof(*lines), compare);
    return str_join(k->a, (const char *const *)lines, n, "\n");
}

size_t flow_kit_count(struct flow_kit *k, const char *text)
{
    size_t n = 0;
    mutex_lock(&k->lock);
    for (const char *at = strstr(str_buf_text(&k->asked), text); at != NULL;
         at = strstr(at + 1, text)) {
        n++;
    }
    mutex_unlock(&k->lock);
    return n;
}

const char *flow_kit_events(struct flow_kit *k)
{
    const char *text = str_buf_to_arena(&k->events, k->a);
    str_buf_reset(&k->events);
    return text;
}

const char *flow_kit_findings(struct flow_kit *k)
{
    const char *text = str_buf_to_arena(&k->findings, k->a);
    str_buf_reset(&k->findings);
    return text;
}
