/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_kit.c: see ipvs_kit.h. */
#include "tests/unit/local/ipvs/ipvs_kit.h"

#include <stdio.h>

#include "tests/support/all_services.h"
#include "tests/support/clock_fake.h"

static struct ipvs_kit *kit(struct tt_host_ctx *ctx)
{
    return (struct ipvs_kit *)(void *)ctx;
}

/* ---- the host -------------------------------------------------------------------------------- */

static void log_line(struct tt_host_ctx *ctx, uint32_t severity, int32_t v, const char *message,
                     const struct tt_kv *fields, uint32_t n)
{
    (void)ctx, (void)severity, (void)v, (void)message, (void)fields, (void)n;
}

static void event(struct tt_host_ctx *ctx, const struct tt_service *service, uint32_t type,
                  const char *reason, const char *message)
{
    (void)service, (void)type;
    str_appendf(&kit(ctx)->told, "%s: %s\n", reason, message);
}

static void metric(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                   uint32_t n, double value)
{
    (void)ctx, (void)name, (void)labels, (void)n, (void)value;
}

static int64_t now_ms(struct tt_host_ctx *ctx)
{
    return clock_now_ms(kit(ctx)->clock);
}

static int32_t may_mutate(struct tt_host_ctx *ctx, const struct tt_call *call)
{
    (void)ctx, (void)call;
    return 1;
}

static void services(struct tt_host_ctx *ctx, const struct tt_call *call,
                     const struct tt_service *const **ret, uint32_t *ret_n)
{
    (void)call;
    *ret = &kit(ctx)->service;
    *ret_n = kit(ctx)->service != NULL;
}
ALL_SERVICES(services)

static int32_t hold_finalizers(struct tt_host_ctx *ctx, const struct tt_call *call,
                               const struct tt_item *item, const char *const *names, uint32_t n)
{
    (void)ctx, (void)call, (void)item, (void)names, (void)n;
    return TT_OK;
}

static void report_plan(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_plan *plan)
{
    static const char *const verbs[] = {"?", "create", "change", "delete", "keep"};

    (void)call;
    kit(ctx)->changes = 0;
    str_buf_reset(&kit(ctx)->order);
    for (uint32_t i = 0; i < plan->n_services; i++) {
        for (uint32_t f = 0; f < plan->services[i]->n_findings; f++) {
            const struct tt_finding *found = plan->services[i]->findings[f];
            str_appendf(&kit(ctx)->told, "%s: %s\n", found->reason, found->message);
        }
        for (uint32_t e = 0; e < plan->services[i]->n_effects; e++) {
            str_appendf(&kit(ctx)->told, "%s\n", plan->services[i]->effects[e]);
        }
    }
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        kit(ctx)->changes += op->verb != TT_OP_KEEP;
        if (op->verb != TT_OP_KEEP && str_is_empty(op->why)) {
            str_appendf(&kit(ctx)->told, "NO REASON: %s %s\n", op->kind, op->name);
        }
        str_appendf(&kit(ctx)->order, "%s %s %s; ", verbs[op->verb], op->kind, op->name);
    }
}

static void report_operation(struct tt_host_ctx *ctx, const struct tt_call *call,
                             const struct tt_operation *op, int32_t code, const char *message,
                             int64_t took_ms)
{
    (void)ctx, (void)call, (void)op, (void)code, (void)message, (void)took_ms;
}

static void report_finding(struct tt_host_ctx *ctx, uint32_t severity, const char *where,
                           const char *message)
{
    (void)severity, (void)where;
    str_appendf(&kit(ctx)->told, "%s\n", message);
}

static void result_ingress(struct tt_result *r, const struct tt_ingress *ingress, uint32_t n)
{
    (void)r, (void)ingress, (void)n;
}

static void result_own(struct tt_result *r, uint32_t bits)
{
    (void)r;
    assert_int_equal(bits, TT_OWN_NODES); /* role all writes what a Service shows */
}

static void result_annotation(struct tt_result *r, const char *key, const char *value)
{
    (void)r, (void)key, (void)value;
}

static void result_fail(struct tt_result *r, int32_t code, const char *message, int64_t after_ms)
{
    (void)after_ms;
    r->code = code;
    (void)snprintf(r->message, sizeof r->message, "%s", message);
}

static void result_again(struct tt_result *r, int64_t after_ms)
{
    r->again_ms = after_ms;
}

static void service_again(struct tt_host_ctx *ctx, const char *ns, const char *name,
                          int64_t after_ms)
{
    str_appendf(&kit(ctx)->asked, "%s/%s", ns, name);
    str_append(&kit(ctx)->asked,
               after_ms == 0 ? " " : arena_printf(kit(ctx)->a, "+%lldms ", (long long)after_ms));
}

static void result_resource(struct tt_result *r, const char *kind, const char *name)
{
    (void)r, (void)kind, (void)name;
}

static void result_done(struct tt_result *r)
{
    r->code = TT_OK;
}

static int32_t is_cancelled(const struct tt_call *call)
{
    (void)call;
    return 0;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void stays(struct local_kernel *k)
{
    (void)k;
}

static int (*kernels_addrs)(struct local_kernel *k, struct arena *a, struct local_link_addr **ret,
                            size_t *ret_n, struct err *err);

/* The director's own networks, beside what it holds. */
static int addrs(struct local_kernel *k, struct arena *a, struct local_link_addr **ret,
                 size_t *ret_n, struct err *err)
{
    static const char *const nets[] = {"10.0.0.254/24", "10.1.0.254/24", "2001:db8::fe/64"};

    struct local_link_addr *held = NULL;
    size_t n = 0;
    int rc = kernels_addrs(k, a, &held, &n, err);

    *ret = ARENA_ARRAY(a, struct local_link_addr, ARRAY_LEN(nets) + n);
    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        (*ret)[(*ret_n)++] = held[i];
    }
    for (size_t i = 0; i < ARRAY_LEN(nets); i++) {
        struct local_link_addr *at = &(*ret)[(*ret_n)++];
        *at = (struct local_link_addr){.link = 2, .valid_ms = -1};
        assert_true(ip_net_parse_host(nets[i], &at->net));
    }
    return rc;
}

/* ---- life ------------------------------------------------------------------------------------ */

void ipvs_kit_begin(struct ipvs_kit *k)
{
    const struct local_rt_args args = {.protocol = 116, .table = 116};

    *k = (struct ipvs_kit){.a = arena_new()};
    k->clock = clock_fake_new(1000000, INT64_C(1800000000) * 1000000);
    k->mover = clock_mover_start(k->clock);
    k->rng = rng_seeded_new(1);
    k->kernel = fake_kernel_new(&args);
    k->ops = *k->kernel->ops;
    k->free_kernel = k->ops.free;
    k->ops.free = stays;
    kernels_addrs = k->ops.addrs;
    k->ops.addrs = addrs;
    k->kernel->ops = &k->ops;
    k->host = (struct tt_host){.size = sizeof k->host,
                               .ctx = (struct tt_host_ctx *)(void *)k,
                               .log = log_line,
                               .event = event,
                               .metric_add = metric,
                               .metric_set = metric,
                               .metric_observe = metric,
                               .now_ms = now_ms,
                               .may_mutate = may_mutate,
                               .services = services,
                               .service = service_of_all,
                               .services_since = services_since_all,
                               .hold_finalizers = hold_finalizers,
                               .report_plan = report_plan,
                               .report_operation = report_operation,
                               .report_finding = report_finding,
                               .result_ingress = result_ingress,
                               .result_fail = result_fail,
                               .result_annotation = result_annotation,
                               .result_own = result_own,
                               .result_resource = result_resource,
                               .result_again = result_again,
                               .service_again = service_again,
                               .result_done = result_done};
    k->call = (struct tt_call){.size = sizeof k->call,
                               .cluster_name = "kubernetes",
                               .deadline_ms = INT64_MAX,
                               .cancelled = is_cancelled};
}

void ipvs_kit_close(struct ipvs_kit *k)
{
    if (k->p != NULL) {
        tt_local_provider.close(k->p);
    }
    k->p = NULL;
}

void ipvs_kit_end(struct ipvs_kit *k)
{
    ipvs_kit_close(k);
    clock_mover_stop(k->mover);
    k->free_kernel(k->kernel);
    clock_fake_free(k->clock);
    rng_free(k->rng);
    str_buf_done(&k->told);
    str_buf_done(&k->asked);
    str_buf_done(&k->order);
    arena_free(k->a);
}

int32_t ipvs_kit_open(struct ipvs_kit *k, const struct ipvs_scene *s)
{
    const char *text = arena_printf(
        k->a,
        "apiVersion: local.trimtab.io/v1\npools:\n- name: p\n  addresses: [10.0.0.0/29, "
        "\"2001:db8::100/120\"]\n  %s\ndirector:\n  orphanGrace: 0s\n  %s\n",
        str_or(s->pool, "mode: ipvs-nat"), str_or(s->director, "directorIsGateway: true"));
    const struct tt_kv option = {"local-allow-foreign", k->allow_foreign ? "true" : "false"};
    const struct tt_open_args args = {.size = sizeof args,
                                      .host = &k->host,
                                      .config_text = text,
                                      .config_len = strlen(text),
                                      .options = &option,
                                      .n_options = 1,
                                      .drift = k->drift};
    const struct local_open_with with = {.clock = k->clock,
                                         .rng = k->rng,
                                         .kernel = k->kernel,
                                         .directing_kernel = k->directed ? k->kernel : NULL,
                                         .turns = true};

    k->result = (struct tt_result){0};
    return local_provider_open(&args, &with, &k->p, &k->result);
}

static char *unquote(struct arena *a, const char *text)
{
    char *json = arena_strdup(a, text);

    for (char *c = json; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    return json;
}

static struct json_object *tree(struct arena *a, const char *text)
{
    struct json_object *j = json_tokener_parse(unquote(a, text));

    assert_non_null(j);
    return j;
}

static int32_t call(struct ipvs_kit *k, const struct ipvs_scene *s, uint32_t verb)
{
    struct json_object *nodes = tree(
        k->a, arena_printf(k->a, "[%s]",
                           str_or(s->nodes, NODE("n1", "10.1.0.1") ", " NODE("n2", "10.1.0.2"))));
    struct json_object *slices = tree(k->a, arena_printf(k->a, "[%s]", str_nonnull(s->slices)));
    size_t n_nodes = 0;
    size_t n_slices = 0;
    const struct tt_node **all_nodes = test_nodes(k->a, nodes, &n_nodes);
    const struct tt_slice **all_slices = test_slices(k->a, slices, &n_slices);
    struct tt_node **eligible = ARENA_ARRAY(k->a, struct tt_node *, n_nodes + 1);

    for (size_t i = 0; i < n_nodes; i++) {
        eligible[i] = arena_memdup(k->a, all_nodes[i], sizeof **eligible);
        eligible[i]->flags |= TT_NODE_ELIGIBLE;
    }
    const struct tt_item item = {.size = sizeof item,
                                 .verb = verb,
                                 .service = k->service,
                                 .slices = all_slices,
                                 .n_slices = (uint32_t)n_slices,
                                 .has_slices = s->slices != NULL,
                                 .result = &k->result};
    const struct tt_item *items[] = {&item};
    const struct tt_batch batch = {.size = sizeof batch,
                                   .key = "kernel",
                                   .items = items,
                                   .n_items = 1,
                                   .nodes = (const struct tt_node *const *)eligible,
                                   .n_nodes = (uint32_t)n_nodes};
    k->result = (struct tt_result){.code = -1};
    str_buf_reset(&k->told);
    str_buf_reset(&k->order);
    k->changes = 0;
    int32_t code = local_reconcile(k->p, &k->call, &batch);
    json_object_put(nodes);
    json_object_put(slices);
    return code;
}

int32_t ipvs_kit_sync(struct ipvs_kit *k, const struct ipvs_scene *s)
{
    const char *text = arena_printf(
        k->a,
        "{'metadata': {'namespace': 'd', 'name': 'a', 'uid': 'u', 'annotations': {%s}}, "
        "'spec': {'type': 'LoadBalancer', 'clusterIP': '10.96.0.1', 'clusterIPs': ['10.96.0.1'], "
        "%s'ports': [%s]%s%s}}",
        str_nonnull(s->wishes),
        strstr(str_nonnull(s->spec), "TrafficPolicy") != NULL
            ? ""
            : "'externalTrafficPolicy': 'Cluster', ",
        str_or(s->ports, TCP80), str_nonnull(s->spec),
        strstr(str_nonnull(s->spec), "ipFamilies") != NULL ? "" : ", 'ipFamilies': ['IPv4']");

    k->service = test_service_text(k->a, unquote(k->a, text));
    return call(k, s, TT_VERB_ENSURE);
}

int32_t ipvs_kit_delete(struct ipvs_kit *k)
{
    const struct ipvs_scene none = {.name = "gone"};

    return call(k, &none, TT_VERB_DELETE);
}

const char *ipvs_kit_kernel(struct ipvs_kit *k)
{
    return fake_kernel_ipvsadm(k->kernel, k->a);
}
