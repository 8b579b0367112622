/* SPDX-License-Identifier: Apache-2.0 */
/* members.h: a sync of the Azure provider without a cloud: nodes, balancers and machines in short,
 * for tests of stages.
 *
 * A world is given as text and every document is made from it in the shape in which ARM lists it;
 * what a stage plans comes back as one line per operation. */
#ifndef TRIMTAB_TESTS_AZURE_MEMBERS_H
#define TRIMTAB_TESTS_AZURE_MEMBERS_H

#include "common/base/clock.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/sync/azure_observe.h"
#include "tests/unit/azure/lb.h"

#define RG      "/subscriptions/subscription/resourceGroups/rg/providers/"
#define SET(s)  RG "Microsoft.Compute/virtualMachineScaleSets/" s
#define VM(v)   RG "Microsoft.Compute/virtualMachines/" v
#define NIC(n)  RG "Microsoft.Network/networkInterfaces/" n
#define LB(l)   RG "Microsoft.Network/loadBalancers/" l
#define POOL(p) LB("kubernetes") "/backendAddressPools/" p

struct world {
    struct arena *a;
    struct azure_config config;
    struct azure_provider p;
    struct lb_sync s;
    struct azure_sync y;
    struct tt_batch batch;
    struct tt_item in[4];
    struct lb_item items[4];
    struct azure_item azure_items[4];
    const struct tt_node *nodes[16];
    struct json_object *lbs[4];
    struct azure_seen seen[16];
    struct tt_host host;
};

static inline void world_put_snapshot(void *arg)
{
    azure_snapshot_free(arg);
}

static inline struct world *world_new(struct arena *a)
{
    struct world *w = ARENA_NEW(a, struct world);
    *w = (struct world){.a = a, .config = azure_test_config()};
    w->config.put_vmss_vm_batch_size = 8;
    w->p.a = a;
    w->p.host = &w->host;
    w->p.clock = clock_real();
    w->p.snapshot = azure_snapshot_new(w->p.clock);
    arena_defer(a, world_put_snapshot, w->p.snapshot);
    w->s = (struct lb_sync){
        .a = a, .life = a, .provider = &w->p, .host = &w->host, .batch = &w->batch};
    w->s.items = w->items;
    w->s.data = &w->y;
    w->batch.nodes = w->nodes;
    w->y = (struct azure_sync){.s = &w->s, .p = &w->p, .items = w->azure_items, .seen = w->seen};
    w->y.cap_seen = ARRAY_LEN(w->seen);
    w->y.lbs.items = w->lbs;
    return w;
}

/* After the configuration was changed. */
static inline void world_settle(struct world *w)
{
    w->p.config = w->config;
    w->p.naming = (struct azure_naming){.config = &w->p.config, .cluster = "kubernetes"};
    w->p.arm.config = &w->p.config;
}

/* "vmss/0", "vm1", or "" for a node that does not say which machine it is. */
static inline const char *world_machine(struct arena *a, const char *machine)
{
    size_t n;
    char **part = str_split(a, machine, '/', &n);
    if (machine[0] == '\0') {
        return "";
    }
    return n == 2 ? arena_printf(a, "azure://" SET("%s/virtualMachines/%s"), part[0], part[1])
                  : arena_printf(a, "azure://" VM("%s"), part[0]);
}

/* "n1 vmss/0 10.0.0.4", more words are labels ("key=value") or "out": takes no part. */
static inline void world_node(struct world *w, const char *line)
{
    size_t n;
    char **word = str_split(w->a, line, ' ', &n);
    struct tt_node *node = ARENA_NEW(w->a, struct tt_node);
    struct tt_node_address *address = ARENA_NEW(w->a, struct tt_node_address);
    struct tt_kv *labels = ARENA_ARRAY(w->a, struct tt_kv, n);
    *address = (struct tt_node_address){.type = "InternalIP", .address = word[2]};
    *node = (struct tt_node){.name = word[0],
                             .provider_id = world_machine(w->a, word[1]),
                             .addresses = address,
                             .n_addresses = 1,
                             .labels = labels,
                             .flags = TT_NODE_ELIGIBLE};
    for (size_t i = 3; i < n; i++) {
        size_t k;
        char **kv = str_split(w->a, word[i], '=', &k);
        if (k == 2) {
            labels[node->n_labels++] = (struct tt_kv){.key = kv[0], .value = kv[1]};
        } else {
            node->flags &= ~TT_NODE_ELIGIBLE;
        }
    }
    w->nodes[w->batch.n_nodes++] = node;
}

/* One node per line. */
static inline void world_nodes(struct world *w, const char *text)
{
    size_t n;
    char **lines = str_split(w->a, text, '\n', &n);
    for (size_t i = 0; i < n; i++) {
        if (lines[i][0] != '\0') {
            world_node(w, lines[i]);
        }
    }
}

/* A Service "default/<name>" on that balancer. */
static inline void world_service(struct world *w, const char *name, const char *annotations,
                                 const char *spec, const char *lb)
{
    size_t i = w->s.n_items++;
    w->in[i] = (struct tt_item){.size = sizeof(w->in[i]), .verb = TT_VERB_ENSURE};
    w->in[i].service = azure_test_service(w->a, name, annotations, spec);
    w->items[i].in = &w->in[i];
    w->items[i].key = arena_printf(w->a, "default/%s", name);
    w->azure_items[i] =
        (struct azure_item){.item = &w->items[i],
                            .service = azure_service_read(w->a, &w->p.naming, w->in[i].service),
                            .want = true,
                            .target = lb};
}

static inline void world_see(struct world *w, enum azure_kind k, const char *json)
{
    w->seen[w->y.n_seen++] = (struct azure_seen){.kind = k,
                                                 .scope = arena_printf(w->a, "seen %d", (int)k),
                                                 .array = pure_json(w->a, json),
                                                 .read = true,
                                                 .needed = true};
}

/* "members" as "vmss/0", "nic:n1" or "10.0.0.4", blank separated: a pool of its balancer. */
static inline const char *world_pool(struct arena *a, const char *name, const char *members)
{
    _cleanup_(str_buf_done) struct str_buf configs = STR_BUF_INIT, ips = STR_BUF_INIT;
    size_t n;
    char **m = str_split(a, members, ' ', &n);
    for (size_t i = 0; i < n; i++) {
        size_t k;
        char **part = str_split(a, m[i], '/', &k);
        const char *sep = configs.len > 0 ? "," : "";
        if (k == 2) {
            str_appendf(&configs,
                        "%s{\"id\":\"" SET("%s/virtualMachines/%s") "/networkInterfaces/n"
                                                                    "/ipConfigurations/c\"}",
                        sep, str_upper(a, part[0]), part[1]);
        } else if (str_has_prefix(m[i], "nic:")) {
            str_appendf(&configs, "%s{\"id\":\"" NIC("%s") "/ipConfigurations/c\"}", sep, m[i] + 4);
        } else if (m[i][0] != '\0') {
            str_appendf(&ips, "%s{\"name\":\"x\",\"properties\":{\"ipAddress\":\"%s\"}}",
                        ips.len > 0 ? "," : "", m[i]);
        }
    }
    return arena_printf(
        a,
        "{\"name\":\"%s\",\"id\":\"" POOL(
            "%s") "\",\"etag\":\"e\",\"properties\":{"
                  "\"backendIPConfigurations\":[%s],\"loadBalancerBackendAddresses\":[%s]}}",
        name, name, str_buf_text(&configs), str_buf_text(&ips));
}

/* The balancer "kubernetes" with these pools (JSON objects, comma separated). */
static inline void world_lb(struct world *w, const char *pools)
{
    w->lbs[w->y.lbs.n++] = pure_json(
        w->a, arena_printf(w->a,
                           "{\"name\":\"kubernetes\",\"id\":\"" LB(
                               "kubernetes") "\","
                                             "\"properties\":{\"backendAddressPools\":[%s]}}",
                           pools));
}

/* networkInterfaceConfigurations with one IP configuration, in these pools
 * (IDs, blank separated). */
static inline const char *world_refs(struct arena *a, const char *pools)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    size_t n;
    char **id = str_split(a, pools, ' ', &n);
    for (size_t i = 0; i < n && id[i][0] != '\0'; i++) {
        str_appendf(&b, "%s{\"id\":\"%s\"}", i > 0 ? "," : "", id[i]);
    }
    return arena_printf(a,
                        "[{\"name\":\"c\",\"properties\":{\"loadBalancerBackendAddressPools\":[%s],"
                        "\"unknown\":1}}]",
                        str_buf_text(&b));
}

static inline const char *world_nic_configs(struct arena *a, const char *pools)
{
    return arena_printf(a,
                        "\"networkInterfaceConfigurations\":[{\"name\":\"n\",\"properties\":{"
                        "\"primary\":true,\"unknown\":2,\"ipConfigurations\":%s}}]",
                        world_refs(a, pools));
}

static inline const char *world_set(struct arena *a, const char *name, const char *pools,
                                    const char *more)
{
    return arena_printf(
        a,
        "{\"name\":\"%s\",\"id\":\"" SET(
            "%s") "\",\"etag\":\"set-etag\","
                  "\"location\":\"westus\",\"properties\":{%s\"virtualMachineProfile\":{"
                  "\"osProfile\":{\"computerNamePrefix\":\"%s\"},\"networkProfile\":{%s}}}}",
        name, name, more, name, world_nic_configs(a, pools));
}

static inline const char *world_instance(struct arena *a, const char *set, const char *id,
                                         const char *pools, const char *power)
{
    return arena_printf(
        a,
        "{\"instanceId\":\"%s\",\"id\":\"" SET(
            "%s/virtualMachines/%s") "\","
                                     "\"etag\":\"vm-etag\",\"location\":\"westus\",\"properties\":{"
                                     "\"hardwareProfile\":{\"x\":1},"
                                     "\"networkProfileConfiguration\":{%s},"
                                     "\"instanceView\":{\"statuses\":[{\"code\":\"PowerState/"
                                     "%s\"}]}}}",
        id, set, id, world_nic_configs(a, pools), power);
}

static inline const char *world_nic(struct arena *a, const char *name, const char *vm,
                                    const char *pools)
{
    return arena_printf(a,
                        "{\"name\":\"%s\",\"id\":\"" NIC(
                            "%s") "\",\"etag\":\"nic-etag\","
                                  "\"unknown\":3,\"properties\":{\"virtualMachine\":{\"id\":\"" VM(
                                      "%s") "\"},\"ipConfigurations\":%s}}",
                        name, name, vm, world_refs(a, pools));
}

/* "2 scale set instance 0: joins kubernetes", one line per operation; the number is its wave.
 * Names without what they are part of. */
static inline const char *world_show(struct world *w, struct lb_plan *plan)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct err err = ERR_INIT;
    if (lb_plan_seal(plan, &err) != ERR_OK) {
        fail_msg("the plan is broken: %s", err.message);
    }
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct lb_op *op = &plan->ops[i];
        str_appendf(&b, "%d %s %s: %s\n", op->wave, op->kind, azure_id_last(op->name),
                    op->verb == LB_DELETE ? "deleted" : str_nonnull(op->summary));
    }
    return str_buf_to_arena(&b, w->a);
}

static inline const struct azure_write *world_write(const struct lb_plan *plan, size_t i)
{
    assert_true(i < plan->n_ops);
    return plan->ops[i].arg;
}

#endif
