/* SPDX-License-Identifier: Apache-2.0 */
/* flow_kit.c: the host, the kernel and the calls (flow_kit.h). */
#include "tests/unit/local/flow/flow_kit.h"
#include "tests/support/all_services.h"
#include "tests/support/clock_fake.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the host -------------------------------------------------------------------------------- */

static struct flow_kit *kit(struct tt_host_ctx *ctx)
{
    return (struct flow_kit *)(void *)ctx;
}

static void log_line(struct tt_host_ctx *ctx, uint32_t severity, int32_t v, const char *message,
                     const struct tt_kv *values, uint32_t n)
{
    (void)severity, (void)v;
    flow_others_log(kit(ctx), message);
    (void)values;
    (void)n;
}

static void event(struct tt_host_ctx *ctx, const struct tt_service *service, uint32_t type,
                  const char *reason, const char *message)
{
    (void)type;
    flow_others_event(kit(ctx), service, reason, message);
}

static void metric_add(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                       uint32_t n, double value)
{
    flow_others_added(kit(ctx), name, labels, n, value);
    kit(ctx)->n_drift += str_eq(name, "local_drift_total") ? (unsigned)value : 0;
}

static void metric_set(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                       uint32_t n, double value)
{
    flow_others_figure(kit(ctx), name, labels, n, value);
}

static void metric_observe(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                           uint32_t n, double value)
{
    (void)ctx;
    (void)name;
    (void)labels;
    (void)n;
    (void)value;
}

static int64_t now_ms(struct tt_host_ctx *ctx)
{
    return clock_now_ms(kit(ctx)->clock);
}

static int32_t may_mutate(struct tt_host_ctx *ctx, const struct tt_call *call)
{
    (void)call;
    return kit(ctx)->forbidden ? 0 : 1;
}

static void services(struct tt_host_ctx *ctx, const struct tt_call *call,
                     const struct tt_service *const **ret, uint32_t *ret_n)
{
    (void)call;
    *ret = kit(ctx)->snapshot;
    *ret_n = kit(ctx)->n_snapshot;
}
ALL_SERVICES(services)

static int32_t hold_finalizers(struct tt_host_ctx *ctx, const struct tt_call *call,
                               const struct tt_item *item, const char *const *names, uint32_t n)
{
    struct flow_kit *k = kit(ctx);

    (void)call;
    (void)names;
    (void)n;
    if (item->service->uid[0] != '\0') {
        flow_world_service(k, arena_printf(k->a, "%s/%s", item->service->ns, item->service->name))
            ->finalizer = true;
    }
    return TT_OK;
}

static void report_plan(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_plan *plan)
{
    static const char *const verbs[] = {"?", "create", "change", "delete", "keep"};

    (void)call;
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        kit(ctx)->changes += op->verb != TT_OP_KEEP;
        assert_true(op->verb == TT_OP_KEEP || !str_is_empty(op->why));
        str_appendf(&kit(ctx)->order, "%u:%s %s %s, ", op->wave, verbs[op->verb], op->kind,
                    op->name);
    }
    flow_others_effects(kit(ctx), plan);
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

static void report_finding(struct tt_host_ctx *ctx, uint32_t severity, const char *where,
                           const char *message)
{
    (void)severity;
    (void)where;
    str_appendf(&kit(ctx)->out, "finding(%s) ", message);
}

static void report_resource(struct tt_host_ctx *ctx, const struct tt_call *call,
                            const struct tt_owned *o)
{
    (void)call;
    str_appendf(&kit(ctx)->out, "%s %s of %s%s%s; ", o->kind, o->name, str_or(o->owner, "-"),
                (o->flags & TT_OWNED_USED) != 0 ? " used" : "",
                o->remove_as != NULL ? " removable" : "");
}

static void report_left(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_service *s)
{
    (void)call;
    str_appendf(&kit(ctx)->out, "left(%s/%s) ", s->ns, s->name);
}

static void result_ingress(struct tt_result *r, const struct tt_ingress *ingress, uint32_t n)
{
    r->has_ingress = true;
    r->ingress[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        size_t at = strlen(r->ingress);
        (void)snprintf(r->ingress + at, sizeof r->ingress - at, "%s%s", i == 0 ? "" : " ",
                       ingress[i].ip);
    }
}

static struct flow_kit *current; /* the ops and results have no argument of ours */

static int32_t result_publish(struct tt_result *r)
{
    return flow_world_publish(current, r);
}

static void result_serves(struct tt_result *r)
{
    (void)result_publish(r);
}

static void result_exists(struct tt_result *r, int32_t exists)
{
    (void)r;
    (void)exists;
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

static void result_resource(struct tt_result *r, const char *kind, const char *name)
{
    (void)r;
    (void)kind;
    (void)name;
}

static void result_own(struct tt_result *r, uint32_t bits)
{
    bool director = strstr(str_nonnull(current->config), "role: director") != NULL;
    uint32_t others = director ? TT_OWN_FINALIZERS | TT_OWN_EVENTS | TT_OWN_STATUS : 0;
    (void)r;
    assert_int_equal(bits, TT_OWN_NODES | others);
}

static void result_annotation(struct tt_result *r, const char *key, const char *value)
{
    (void)r;
    (void)key;
    (void)value;
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

/* ---- the kernel: writes are counted, and it outlives the provider ---------------------------- */

static void count(void)
{
    current->writes++;
    current->unchecked = 2; /* before the step and after it */
}

static int count_make(struct local_kernel *k, const struct local_nft_table_args *args,
                      struct err *err)
{
    count();
    return current->real_ops.nft_make(k, args, err);
}

static int count_remake(struct local_kernel *k, const struct local_nft_table_args *args,
                        const struct local_nft_change *adds, size_t n, struct err *err)
{
    count();
    return current->real_ops.nft_remake(k, args, adds, n, err);
}

static int count_commit(struct local_kernel *k, const char *instance,
                        const struct local_nft_change *changes, size_t n, struct err *err)
{
    count();
    for (size_t i = 0; i < n; i++) {
        if (current->refusing.len != 0 && ip_eq(&changes[i].e.id.vip, &current->refusing)) {
            return err_set(err, ERR_INVALID, "the set is full");
        }
    }
    int rc = current->real_ops.nft_commit(k, instance, changes, n, err);
    if (rc == ERR_CONFLICT && !current->conflicts) {
        fail_msg("a transaction of %zu elements contradicts the kernel: %s", n, err->message);
    }
    return rc;
}

static int count_addr_set(struct local_kernel *k, int link, const struct ip_addr *addr,
                          int64_t valid_ms, struct err *err)
{
    count();
    return current->real_ops.addr_set(k, link, addr, valid_ms, err);
}

static int count_addr_del(struct local_kernel *k, int link, const struct ip_addr *addr,
                          struct err *err)
{
    count();
    return current->real_ops.addr_del(k, link, addr, err);
}

static int count_routes(struct local_kernel *k, bool del, const struct local_route *routes,
                        size_t n, int *codes, struct err *err)
{
    count();
    return current->real_ops.routes_change(k, del, routes, n, codes, err);
}

/* Each of the changes is a step. */
static int count_ipvs(struct local_kernel *k, const struct local_ipvs_change *changes, size_t n,
                      int *codes, struct err *err)
{
    current->writes += (unsigned)n;
    current->unchecked = 2 * (int)n;
    return current->real_ops.ipvs_change(k, changes, n, codes, err);
}

/* I3: no neighbour hears of an address that is not this machine's. */
static int check_announce(struct local_kernel *k, const struct local_link *link,
                          const struct ip_addr *addrs, size_t n, struct err *err)
{
    char text[IP_TEXT_MAX];

    for (size_t i = 0; i < n && current->watching; i++) {
        ip_format(&addrs[i], text);
        const char *state = flow_kit_state(current);
        const char *at = strstr(state, arena_printf(current->a, "%s[", text));
        if (at == NULL || strstr(at, " held") == NULL) {
            str_appendf(&current->out, "I3 IS BROKEN AT %s ", text);
        }
    }
    return current->real_ops.announce(k, link, addrs, n, err);
}

static void stays(struct local_kernel *k)
{
    (void)k;
}

static struct ip_net net_of(const char *addr, uint8_t prefix)
{
    struct ip_net net = {.prefix = prefix};

    assert_true(ip_parse(addr, &net.addr));
    return net;
}

static void make_kernel(struct flow_kit *k)
{
    const struct local_rt_args args = {.protocol = 116, .table = 116};
    const struct ip_net v4 = net_of("10.0.0.254", 24);
    const struct ip_net v6 = net_of("fd00::fe", 64);
    const struct ip_net nodes4 = net_of("10.1.0.254", 24);
    const struct ip_net nodes6 = net_of("fd01::fe", 64);

    k->kernel = fake_kernel_new(&args);
    fake_kernel_own_address(k->kernel, 2, &v4);
    fake_kernel_own_address(k->kernel, 2, &v6);
    fake_kernel_own_address(k->kernel, 2, &nodes4);
    fake_kernel_own_address(k->kernel, 2, &nodes6);
    k->real_ops = *k->kernel->ops;
    k->ops = k->real_ops;
    k->ops.nft_make = count_make;
    k->ops.nft_remake = count_remake;
    k->ops.nft_commit = count_commit;
    k->ops.addr_set = count_addr_set;
    k->ops.addr_del = count_addr_del;
    k->ops.routes_change = count_routes;
    k->ops.ipvs_change = count_ipvs;
    k->ops.announce = check_announce;
    k->ops.free = stays;
    k->kernel->ops = &k->ops;
    fake_kernel_watch(k->kernel, flow_world_check, k);
    current = k;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The driver waits between two tries after a conflict. */
static void *move(void *arg)
{
    struct flow_kit *k = arg;

    while (!atomic_load(&k->stop)) {
        int64_t next = clock_fake_next_ms(k->clock);
        int64_t now = clock_now_ms(k->clock);
        if (next != CLOCK_NEVER && next > now) {
            clock_fake_advance(k->clock, next - now);
        } else {
            (void)sched_yield();
        }
    }
    return NULL;
}

void flow_kit_begin(struct flow_kit *k)
{
    *k = (struct flow_kit){.a = arena_new(),
                           .config = "",
                           .pool = "[10.0.0.0/29, \"fd00::/125\"]",
                           .nodes = "n1 n2",
                           .drain_ms = 60000,
                           .watching = true};
    k->clock = clock_fake_new(1000000, INT64_C(1800000000) * 1000000);
    k->rng = rng_seeded_new(1);
    k->figures = map_new(free);
    k->host = (struct tt_host){
        .size = sizeof k->host,
        .ctx = (struct tt_host_ctx *)(void *)k,
        .log = log_line,
        .event = event,
        .metric_add = metric_add,
        .metric_set = metric_set,
        .metric_observe = metric_observe,
        .now_ms = now_ms,
        .may_mutate = may_mutate,
        .services = services,
        .service = service_of_all,
        .services_since = services_since_all,
        .hold_finalizers = hold_finalizers,
        .report_plan = report_plan,
        .report_operation = report_operation,
        .report_finding = report_finding,
        .report_resource = report_resource,
        .report_left = report_left,
        .result_ingress = result_ingress,
        .result_exists = result_exists,
        .result_fail = result_fail,
        .result_serves = result_serves,
        .result_publish = result_publish,
        .result_again = result_again,
        .service_again = flow_others_again,
        .result_resource = result_resource,
        .result_annotation = result_annotation,
        .result_own = result_own,
        .result_text = flow_world_text,
        .result_row = flow_world_row,
        .result_done = result_done,
    };
    k->call = (struct tt_call){.size = sizeof k->call,
                               .cluster_name = "kubernetes",
                               .deadline_ms = INT64_MAX,
                               .cancelled = is_cancelled};
    make_kernel(k);
}

void flow_kit_close(struct flow_kit *k)
{
    if (k->p != NULL) {
        tt_local_provider.close(k->p);
    }
    k->p = NULL;
}

void flow_kit_end(struct flow_kit *k)
{
    flow_kit_close(k);
    k->real_ops.free(k->kernel);
    for (size_t i = 0; i < k->n_services; i++) {
        str_buf_done(&k->services[i].result.text);
    }
    str_buf_done(&k->order);
    str_buf_done(&k->out);
    str_buf_done(&k->asked);
    rng_free(k->rng);
    map_free(k->figures);
    clock_fake_free(k->clock);
    arena_free(k->a);
}

/* Time stands still while a script settles: without a word of it in the script, what
 * has no owner goes at once. */
static const char *config_text(struct flow_kit *k)
{
    const char *lines = str_replace(k->a, k->config, "|", "\n");

    if (strstr(lines, "director: {") == NULL) {
        lines = arena_printf(k->a, "%s\ndirector: {orphanGrace: 0s}", lines);
    } else if (strstr(lines, "orphanGrace:") == NULL) {
        lines = str_replace(k->a, lines, "director: {", "director: {orphanGrace: 0s, ");
    }
    return arena_printf(k->a,
                        "apiVersion: local.trimtab.io/v1\npools: [{name: p, addresses: %s}]\n"
                        "reuseDelay: 0s\n%s\n",
                        k->pool, lines);
}

static uint32_t number_of(const char *text, const char *key, uint32_t otherwise)
{
    const char *at = strstr(text, key);

    return at == NULL ? otherwise : (uint32_t)strtoul(at + strlen(key), NULL, 10);
}

bool flow_kit_open(struct flow_kit *k, bool planning, void **ret)
{
    struct tt_result result = {0};
    const char *text = config_text(k);
    const struct local_rt_args rt = {.protocol = (uint8_t)number_of(text, "routeProtocol: ", 116),
                                     .table = number_of(text, "routeTable: ", 116)};
    const struct tt_open_args args = {
        .size = sizeof args,
        .host = &k->host,
        .cluster_name = "kubernetes",
        .config_path = "local.yaml",
        .config_text = text,
        .config_len = strlen(text),
        .planning = planning,
        .drift = k->drift,
        .election_spare_ms = k->spare_ms,
    };
    const struct local_open_with with = {.clock = k->clock,
                                         .rng = k->rng,
                                         .kernel = k->kernel,
                                         .directing_kernel = k->directed ? k->kernel : NULL,
                                         .turns = true};

    fake_kernel_numbers(k->kernel, &rt);
    bool ok = local_provider_open(&args, &with, ret, &result) == TT_OK;
    if (!ok) {
        str_appendf(&k->out, "open!(%s) ", result.message);
        *ret = NULL;
    }
    return ok;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct kit_batch {
    struct tt_batch batch;
    struct tt_item items[KIT_SERVICES];
    const struct tt_item *which[KIT_SERVICES];
    struct kit_service *services[KIT_SERVICES];
};

static void add_item(struct flow_kit *k, struct kit_batch *b, struct kit_service *s)
{
    size_t n_slices = 0;
    struct tt_item *item = &b->items[b->batch.n_items];
    bool wants = strstr(s->words, "type=") == NULL;

    const struct tt_slice **slices = s->has_endpoints ? flow_world_slices(k, s, &n_slices) : NULL;
    str_buf_reset(&s->result.text);
    s->result = (struct tt_result){.code = -1, .text = s->result.text};
    *item = (struct tt_item){.size = sizeof *item,
                             .verb = s->deleting || !wants ? TT_VERB_DELETE
                                     : k->updates          ? TT_VERB_UPDATE
                                                           : TT_VERB_ENSURE,
                             .reasons = TT_REASON_RESYNC,
                             .service = s->seen,
                             .slices = slices,
                             .n_slices = (uint32_t)n_slices,
                             .has_slices = s->has_endpoints,
                             .result = &s->result,
                             .flags = k->unproven ? TT_ITEM_UNPROVEN : 0};
    b->services[b->batch.n_items] = s;
    b->which[b->batch.n_items++] = item;
}

/* Those that are named, or all. */
static struct kit_batch *batch_of(struct flow_kit *k, char *const *keys, size_t n)
{
    struct kit_batch *b = ARENA_NEW(k->a, struct kit_batch);
    size_t n_nodes = 0;

    *b = (struct kit_batch){.batch = {.size = sizeof b->batch, .key = "kernel"}};
    flow_world_snapshot(k);
    b->batch.nodes = flow_world_nodes(k, &n_nodes);
    b->batch.n_nodes = (uint32_t)n_nodes;
    b->batch.items = b->which;
    for (size_t i = 0; i < k->n_services; i++) {
        struct kit_service *s = &k->services[i];
        bool named = n == 0;
        for (size_t j = 0; j < n; j++) {
            named = named || str_eq(keys[j], s->key);
        }
        bool idle = strstr(s->words, "type=") != NULL && !s->finalizer && !s->deleting;
        if (named && s->made && !s->gone && !(n == 0 && idle)) {
            add_item(k, b, s);
        }
    }
    return b;
}

/* The controller's handling of a result. */
static void take_result(struct flow_kit *k, const struct tt_item *item, struct kit_service *s)
{
    bool dead = k->killed_at > 0 && fake_kernel_steps(k->kernel) >= k->killed_at;

    if (s->result.code != TT_OK) {
        k->failures++;
        if (!dead) {
            str_appendf(&k->out, "%s!%s(%s) ", s->key, err_code_name(s->result.code),
                        s->result.message);
        }
        return;
    }
    if (dead) {
        return;
    }
    bool goes = item->verb == TT_VERB_DELETE;
    if (item->verb == TT_VERB_UPDATE) {
        return;
    }
    s->finalizer = s->finalizer && !goes;
    const char *status = goes ? "" : s->result.has_ingress ? s->result.ingress : s->status;
    if (goes && s->deleting) {
        s->gone = k->moved = true;
    } else {
        flow_world_write_status(k, s, status);
    }
}

static void reconcile(struct flow_kit *k, const struct tt_batch *batch)
{
    atomic_store(&k->stop, false);
    assert_true(!k->conflicts || pthread_create(&k->mover, NULL, move, k) == 0);
    size_t before = k->work == NULL ? 0 : k->work();
    (void)tt_local_provider.reconcile_batch(k->p, &k->call, batch);
    k->worked += k->work == NULL ? 0 : k->work() - before;
    if (k->conflicts) {
        atomic_store(&k->stop, true);
        assert_int_equal(pthread_join(k->mover, NULL), 0);
    }
}

void flow_kit_sync(struct flow_kit *k, char *const *keys, size_t n)
{
    struct kit_batch *b = batch_of(k, keys, n);

    if (k->p == NULL && !flow_kit_open(k, false, &k->p)) {
        k->failures++;
        return;
    }
    k->moved = false;
    k->failures = 0;
    reconcile(k, &b->batch);
    for (uint32_t i = 0; i < b->batch.n_items; i++) {
        take_result(k, &b->items[i], b->services[i]);
    }
    flow_world_snapshot(k);
}

bool flow_kit_pass(struct flow_kit *k)
{
    int64_t soonest = KIT_SOON_MS;

    for (size_t i = 0; !k->directed && i < k->n_services; i++) { /* else "pass" does it */
        const struct kit_service *s = &k->services[i];
        bool asks = s->made && !s->gone && s->result.code == TT_OK && s->result.again_ms > 0;
        soonest = asks && s->result.again_ms < soonest ? s->result.again_ms : soonest;
    }
    if (soonest == KIT_SOON_MS) {
        return false;
    }
    clock_fake_advance(k->clock, soonest);
    return true;
}

void flow_kit_idle(struct flow_kit *k)
{
    int left = 9;

    for (int i = 0; i < 500 && left > 0; i++) {
        unsigned writes = k->writes;
        flow_kit_sync(k, NULL, 0);
        bool still = !k->moved && k->failures == 0 && writes == k->writes;
        if (k->failures == 0 && flow_kit_pass(k)) {
            continue; /* a destination drains */
        }
        if (still) {
            return;
        }
        left--;
    }
    str_append(&k->out, "DOES NOT SETTLE ");
}

void flow_kit_cleanup(struct flow_kit *k, const char *key)
{
    const char *name = strchr(key, '/') + 1;
    const struct tt_service stand_in = {.size = sizeof stand_in,
                                        .ns = arena_strndup(k->a, key, (size_t)(name - key) - 1),
                                        .name = name,
                                        .uid = "",
                                        .resource_version = "",
                                        .type = "LoadBalancer"};
    struct tt_result result = {.code = -1};
    const struct tt_item item = {.size = sizeof item,
                                 .verb = TT_VERB_DELETE,
                                 .reasons = TT_REASON_CLEANUP,
                                 .service = &stand_in,
                                 .result = &result};
    const struct tt_item *items[] = {&item};
    const struct tt_batch batch = {
        .size = sizeof batch, .key = "kernel", .items = items, .n_items = 1};

    flow_world_snapshot(k);
    reconcile(k, &batch);
    if (result.code != TT_OK) {
        str_appendf(&k->out, "%s!(%s) ", key, result.message);
    }
}

uint32_t flow_kit_second_plan(struct flow_kit *k)
{
    struct kit_batch *b = batch_of(k, NULL, 0);
    unsigned writes = k->writes;
    uint32_t before = k->changes;
    void *p = NULL;

    if (!flow_kit_open(k, true, &p)) {
        return UINT32_MAX;
    }
    (void)tt_local_provider.plan(p, &k->call, &b->batch);
    tt_local_provider.close(p);
    assert_int_equal(writes, k->writes); /* planning writes nothing */
    uint32_t n = k->changes - before;
    k->changes = before;
    return n;
}

void flow_kit_explain(struct flow_kit *k, char **keys, size_t n)
{
    struct kit_batch *b = batch_of(k, keys, n);

    (void)tt_local_provider.explain(k->p, &k->call, &b->batch);
    str_append(&k->out, str_buf_text(&b->services[0]->result.text));
}
