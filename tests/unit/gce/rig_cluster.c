/* SPDX-License-Identifier: Apache-2.0 */
/* rig_cluster.c: the rig's Services and Nodes, and the calls that a controller
 * would make (rig.h). */
#include "tests/unit/gce/rig_internal.h"

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_provider.h"
#include "tests/support/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t index_of(struct rig *r, const char *name)
{
    size_t i = 0;
    while (i < r->n_services && !str_eq(r->services[i]->name, name)) {
        i++;
    }
    return i;
}

static struct json_object *parse(const char *json)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    if (json_parse(json, strlen(json), NULL, &o, &err) != ERR_OK) {
        fail_msg("%s: %s", err.message, json);
    }
    return o;
}

/* RFC 7396. */
static void merge(struct json_object *into, struct json_object *patch)
{
    json_object_object_foreach(patch, key, v)
    {
        struct json_object *now = json_member(into, key);
        if (v == NULL) {
            json_object_object_del(into, key);
        } else if (json_object_is_type(v, json_type_object) &&
                   json_object_is_type(now, json_type_object)) {
            merge(now, v);
        } else {
            json_add(into, key, json_copy(v));
        }
    }
}

static void decode(struct rig *r, size_t i)
{
    r->services[i] = test_service(r->a, r->trees[i]);
}

void rig_service(struct rig *r, const char *name, const char *json)
{
    size_t i = index_of(r, name);
    char uid[40];
    uint64_t h = hash_bytes(1, name, strlen(name));
    (void)snprintf(uid, sizeof(uid), "%08x-0000-4000-8000-%012llx", (unsigned)(h >> 32),
                   (unsigned long long)(h & 0xffffffffffff));
    struct json_object *base = parse(
        arena_printf(r->a,
                     "{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"%s\"},"
                     "\"spec\":{\"type\":\"LoadBalancer\",\"sessionAffinity\":\"None\","
                     "\"externalTrafficPolicy\":\"Cluster\","
                     "\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}]}}",
                     name, uid));
    struct json_object *more = parse(json);
    merge(base, more);
    json_object_put(more);
    if (i < r->n_services) {
        json_object_put(r->trees[i]);
    } else {
        assert_true(i < RIG_MAX_SERVICES);
        r->n_services++;
    }
    r->trees[i] = base;
    decode(r, i);
}

void rig_edit(struct rig *r, const char *name, const char *json)
{
    size_t i = index_of(r, name);
    assert_true(i < r->n_services);
    struct json_object *more = parse(json);
    merge(r->trees[i], more);
    json_object_put(more);
    decode(r, i);
}

void rig_service_deleted(struct rig *r, const char *name)
{
    rig_edit(r, name, "{\"metadata\":{\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}}");
}

void rig_service_gone(struct rig *r, const char *name)
{
    size_t i = index_of(r, name);
    if (i == r->n_services) {
        return;
    }
    json_object_put(r->trees[i]);
    r->n_services--;
    for (; i < r->n_services; i++) {
        r->trees[i] = r->trees[i + 1];
        r->services[i] = r->services[i + 1];
        r->slices[i] = r->slices[i + 1];
    }
}

void rig_pods(struct rig *r, const char *name, const char *nodes)
{
    size_t n = 0;
    char **names = str_split(r->a, nodes, ' ', &n);
    struct json_object *slice =
        parse(arena_printf(r->a,
                           "{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s-x\",\"labels\":{"
                           "\"kubernetes.io/service-name\":\"%s\"}},\"addressType\":\"IPv4\","
                           "\"ports\":[{\"port\":8080,\"protocol\":\"TCP\"}]}",
                           name, name));
    struct json_object *endpoints = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        json_object_array_add(
            endpoints, parse(arena_printf(r->a,
                                          "{\"addresses\":[\"10.64.0.%zu\"],\"nodeName\":\"%s\","
                                          "\"targetRef\":{\"kind\":\"Pod\",\"namespace\":"
                                          "\"default\",\"name\":\"%s-%zu\"}}",
                                          i + 1, names[i], name, i)));
    }
    json_add(slice, "endpoints", endpoints);
    struct json_object *all = json_object_new_array();
    json_object_array_add(all, slice);
    r->slices[index_of(r, name)] = test_slices(r->a, all, &n)[0];
    json_object_put(all);
}

struct json_object *rig_service_tree(struct rig *r, const char *name)
{
    return json_copy(r->trees[index_of(r, name)]);
}

void rig_set_service_tree(struct rig *r, const char *name, struct json_object *tree)
{
    size_t i = index_of(r, name);
    json_object_put(r->trees[i]);
    r->trees[i] = json_copy(tree);
    decode(r, i);
}

const char *rig_lb_name(struct rig *r, const char *name)
{
    return svc_default_lb_name(r->a, r->services[index_of(r, name)]->uid);
}

void rig_add_finalizer(struct rig *r, const char *service, const char *finalizer)
{
    size_t i = index_of(r, service);
    if (i == r->n_services || rig_holds(r, service, finalizer)) {
        return;
    }
    struct json_object *meta = json_member(r->trees[i], "metadata");
    struct json_object *list = json_member(meta, "finalizers");
    if (list == NULL) {
        list = json_object_new_array();
        json_add(meta, "finalizers", list);
    }
    json_push_str(list, finalizer);
    decode(r, i);
}

bool rig_holds(struct rig *r, const char *name, const char *finalizer)
{
    size_t i = index_of(r, name);
    struct json_object *list = json_path(r->trees[i], "metadata.finalizers");
    for (size_t k = 0; k < json_len(list); k++) {
        if (str_eq(json_object_get_string(json_object_array_get_idx(list, k)), finalizer)) {
            return true;
        }
    }
    return false;
}

static int by_name(const void *x, const void *y)
{
    const struct tt_node *const *a = x;
    const struct tt_node *const *b = y;
    return strcmp((*a)->name, (*b)->name);
}

void rig_add_node_object(struct rig *r, const char *name, const char *provider_id, const char *zone)
{
    assert_true(r->n_nodes < RIG_MAX_NODES);
    r->nodes[r->n_nodes++] = test_node_text(
        r->a,
        arena_printf(r->a,
                     "{\"metadata\":{\"name\":\"%s\",\"labels\":{"
                     "\"topology.kubernetes.io/zone\":\"%s\"}},"
                     "\"spec\":{\"providerID\":\"%s\"},"
                     "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
                     "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.128.%d.%d\"}]}}",
                     name, zone, provider_id, (r->next_node + 9) / 256, (r->next_node + 9) % 256));
    qsort(r->nodes, r->n_nodes, sizeof(r->nodes[0]), by_name);
}

/* The address of the node's instance. */
static const char *address_of(struct json_object *cloud, const char *name)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *end = arena_printf(a, "/instances/%s", name);
    json_object_object_foreach(cloud, path, instance)
    {
        if (str_has_suffix(path, end)) {
            struct json_object *nics = json_member(instance, "networkInterfaces");
            return json_str(json_object_array_get_idx(nics, 0), "networkIP");
        }
    }
    return NULL;
}

void rig_give_addresses(struct rig *r)
{
    struct json_object *cloud = rig_cloud(r);
    for (size_t i = 0; i < r->n_nodes; i++) {
        const char *ip = address_of(cloud, r->nodes[i]->name);
        if (ip != NULL) {
            struct tt_node *node = arena_memdup(r->a, r->nodes[i], sizeof(*node));
            struct tt_node_address *address = ARENA_NEW(r->a, struct tt_node_address);
            *address =
                (struct tt_node_address){.type = "InternalIP", .address = arena_strdup(r->a, ip)};
            node->addresses = address;
            node->n_addresses = 1;
            r->nodes[i] = node;
        }
    }
}

void rig_set_cluster_id(struct rig *r, const char *id)
{
    r->configmap = id == NULL ? NULL : arena_printf(r->a, "{\"data\":{\"uid\":\"%s\"}}", id);
}

void rig_set_configmap(struct rig *r, const char *json)
{
    r->configmap = json;
}

const char *rig_cluster_id(struct rig *r)
{
    struct json_object *o = NULL;
    assert_int_equal(json_parse_arena(r->a, r->configmap, strlen(r->configmap), NULL, &o, NULL),
                     ERR_OK);
    return json_str(json_member(o, "data"), "uid");
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct rig_call {
    struct tt_call abi;
    struct rig *r;
};

static int32_t cancelled(const struct tt_call *call)
{
    return rig_is_dead(CONTAINER_OF(call, struct rig_call, abi)->r);
}

static struct rig_call call_of(struct rig *r, bool planning)
{
    const struct tt_call abi = {
        .size = sizeof(struct tt_call),
        .cluster_name = "kubernetes",
        .deadline_ms = clock_now_ms(clock_real()) + 120000,
        .waiting = r->waiting,
        .planning = planning,
        .cancelled = cancelled,
    };
    return (struct rig_call){.abi = abi, .r = r};
}

/* One item, its batch, and a clean result. */
struct one {
    struct tt_item item;
    const struct tt_item *items[1];
    struct tt_batch batch;
};

static struct one *one_of(struct rig *r, uint32_t verb, const char *name)
{
    struct one *o = ARENA_NEW(r->a, struct one);
    size_t i = index_of(r, name);
    assert_true(i < r->n_services);
    r->result = (struct tt_result){.exists = -1};
    o->item = (struct tt_item){
        .size = sizeof(o->item), .verb = verb, .service = r->services[i], .result = &r->result};
    o->item.reasons = r->reasons;
    o->item.previous = r->previous[i];
    o->item.has_slices = 1;
    o->item.slices = &r->slices[i];
    o->item.n_slices = r->slices[i] != NULL;
    o->items[0] = &o->item;
    o->batch = (struct tt_batch){
        .size = sizeof(o->batch),
        .key = "",
        .items = o->items,
        .nodes = r->nodes,
        .n_items = 1,
        .n_nodes = (uint32_t)r->n_nodes,
    };
    return o;
}

static const struct tt_result *sync_with(struct rig *r, uint32_t verb, const char *name,
                                         uint32_t flags)
{
    struct one *o = one_of(r, verb, name);
    o->item.flags |= flags;
    struct rig_call call = call_of(r, false);
    int32_t (*run)(void *, const struct tt_call *, const struct tt_batch *) =
        verb == TT_VERB_ENSURE   ? tt_gce_provider.ensure_load_balancer
        : verb == TT_VERB_UPDATE ? tt_gce_provider.update_load_balancer
                                 : tt_gce_provider.ensure_load_balancer_deleted;
    r->result.code = run(r->provider, &call.abi, &o->batch);
    return &r->result;
}

const struct tt_result *rig_sync(struct rig *r, uint32_t verb, const char *name)
{
    return sync_with(r, verb, name, 0);
}

const struct tt_result *rig_ensure(struct rig *r, const char *name)
{
    return rig_sync(r, TT_VERB_ENSURE, name);
}

const struct tt_result *rig_lead_back(struct rig *r, const char *name)
{
    return sync_with(r, TT_VERB_ENSURE, name, TT_ITEM_FORMER);
}

const struct tt_result *rig_update(struct rig *r, const char *name)
{
    return rig_sync(r, TT_VERB_UPDATE, name);
}

const struct tt_result *rig_delete(struct rig *r, const char *name)
{
    rig_service_deleted(r, name);
    return rig_sync(r, TT_VERB_DELETE, name);
}

const struct tt_result *rig_get(struct rig *r, const char *name)
{
    struct one *o = one_of(r, TT_VERB_DELETE, name);
    struct rig_call call = call_of(r, false);
    r->result.code = tt_gce_provider.get_load_balancer(r->provider, &call.abi, &o->item);
    return &r->result;
}

const struct tt_result *rig_explain(struct rig *r, const char *name)
{
    struct one *o = one_of(r, TT_VERB_ENSURE, name);
    struct rig_call call = call_of(r, false);
    r->result.code = tt_gce_provider.explain(r->provider, &call.abi, &o->batch);
    return &r->result;
}

const struct tt_result *rig_validate(struct rig *r, const char *name)
{
    struct one *o = one_of(r, TT_VERB_ENSURE, name);
    r->result.code = tt_gce_provider.validate(r->provider, &o->item);
    return &r->result;
}

const struct tt_result *rig_plan_result(struct rig *r, const char *name)
{
    struct one *o = one_of(r, TT_VERB_ENSURE, name);
    struct rig_call call = call_of(r, true);
    r->result.code = tt_gce_provider.plan(r->provider, &call.abi, &o->batch);
    return &r->result;
}

const char *rig_plan(struct rig *r, const char *name)
{
    (void)rig_plan_result(r, name); /* what was planned tells whether it went well */
    return rig_last_plan(r);
}

void rig_set_waiting(struct rig *r, unsigned waiting)
{
    r->waiting = waiting;
}

void rig_set_reasons(struct rig *r, uint32_t reasons)
{
    r->reasons = reasons;
}

void rig_remember(struct rig *r, const char *name)
{
    size_t i = index_of(r, name);
    assert_true(i < r->n_services);
    r->previous[i] = r->services[i];
}

/* One thread's share of rig_sync_all(). */
struct share {
    struct rig *r;
    uint32_t verb;
    const struct tt_service **services;
    size_t n;
    size_t step;
    int32_t code;
    char message[256];
};

static int32_t sync_until_ok(struct share *s, const struct tt_service *service)
{
    uint32_t verb = s->verb != 0               ? s->verb
                    : service->deleted_us != 0 ? TT_VERB_DELETE
                                               : TT_VERB_ENSURE;
    struct tt_result result = {.exists = -1};
    const struct tt_item item = {
        .size = sizeof(item), .verb = verb, .service = service, .result = &result};
    const struct tt_item *items[] = {&item};
    const struct tt_batch batch = {
        .size = sizeof(batch),
        .key = "",
        .items = items,
        .nodes = s->r->nodes,
        .n_items = 1,
        .n_nodes = (uint32_t)s->r->n_nodes,
    };
    int32_t code = TT_BUG;
    for (int i = 0; i < 20 && code != TT_OK; i++) {
        struct rig_call call = call_of(s->r, false);
        code = verb == TT_VERB_DELETE
                   ? tt_gce_provider.ensure_load_balancer_deleted(s->r->provider, &call.abi, &batch)
                   : tt_gce_provider.ensure_load_balancer(s->r->provider, &call.abi, &batch);
    }
    (void)snprintf(s->message, sizeof(s->message), "%s: %.200s", service->name, result.message);
    return code;
}

static void *run_share(void *arg)
{
    struct share *s = arg;
    for (size_t i = 0; i < s->n && s->code == TT_OK; i += s->step) {
        s->code = sync_until_ok(s, s->services[i]);
    }
    return NULL;
}

void rig_sync_all(struct rig *r, uint32_t verb, const char *const *names, size_t n, size_t threads)
{
    struct share shares[16];
    pthread_t ids[16];
    const struct tt_service **services = ARENA_ARRAY(r->a, const struct tt_service *, n);
    assert_in_range(threads, 1, ARRAY_LEN(ids));
    for (size_t i = 0; i < n; i++) {
        services[i] = r->services[index_of(r, names[i])];
    }
    r->parallel = true;
    for (size_t i = 0; i < threads; i++) {
        shares[i] = (struct share){.r = r,
                                   .verb = verb,
                                   .services = services + i,
                                   .n = i < n ? n - i : 0,
                                   .step = threads};
        assert_int_equal(pthread_create(&ids[i], NULL, run_share, &shares[i]), 0);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    r->parallel = false;
    for (size_t i = 0; i < threads; i++) {
        if (shares[i].code != TT_OK) {
            fail_msg("%s", shares[i].message);
        }
    }
}

void rig_sync_mixed(struct rig *r, const char *const *names, size_t n, size_t threads)
{
    rig_sync_all(r, 0, names, n, threads);
}

/* ---- the provider ---------------------------------------------------------------------------- */

void rig_open(struct rig *r)
{
    const struct tt_open_args args = {
        .size = sizeof(args),
        .host = &r->host,
        .cluster_name = "kubernetes",
        .config_path = "gce.conf",
        .config_text = r->config,
        .config_len = strlen(r->config),
        .options = r->flags,
        .n_options = (uint32_t)r->n_flags,
        .concurrency = 1,
        .version = "test",
        .more_controllers = r->gke_classes ? "gke-service-lb-controller" : NULL,
    };
    r->result = (struct tt_result){0};
    if (tt_gce_provider.open(&args, &r->provider, &r->result) != TT_OK) {
        fail_msg("open: %s", r->result.message);
    }
}

void rig_set_flags(struct rig *r, const struct tt_kv *flags, size_t n)
{
    r->flags = flags;
    r->n_flags = n;
}

void rig_reopen(struct rig *r)
{
    tt_gce_provider.close(r->provider);
    r->provider = NULL;
    mutex_lock(&r->lock);
    r->dead = false;
    r->death = RIG_LIVES;
    mutex_unlock(&r->lock);
    rig_open(r);
}
