/* SPDX-License-Identifier: Apache-2.0 */
/* rig_cloud.c: the rig's simulator: started in a thread, asked and commanded over HTTP as
 * any client would (rig.h). */
#include "tests/unit/gce/rig_internal.h"

#include "common/lb/node_rules.h"

#include "common/net/http_server.h"
#include "providers/gce/gce_provider.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/sim_hook.h"

#include <event2/thread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"addresses", "firewalls", "forwardingRules", "httpHealthChecks",
                                    "targetPools"};

static void *run(void *arg)
{
    struct rig *r = arg;
    event_base_loop(r->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

static bool is_mutation(const struct sim_call *call)
{
    return call->module != NULL && str_eq(call->module->name, "gce") &&
           !str_eq(call->method, "GET") && strstr(call->path, "/operations/") == NULL;
}

/* In the simulator's thread: a process that dies after a mutation does so before it hears of it. */
static void hook(void *arg, const struct sim_call *call, bool after)
{
    struct rig *r = arg;
    if (!after || !is_mutation(call)) {
        return;
    }
    mutex_lock(&r->lock);
    if (++r->cloud_mutations == r->cloud_death_at && r->death == RIG_DIES_AFTER) {
        r->dead = true;
    }
    mutex_unlock(&r->lock);
}

static struct http_response ask(struct rig *r, const char *method, const char *path,
                                const char *body)
{
    const struct http_header headers[] = {{"Content-Type", "application/json"},
                                          {"Metadata-Flavor", "Google"}};
    struct err err = ERR_INIT;
    struct http_response resp = {0};
    struct http_request req = {
        .method = method,
        .url = arena_printf(r->a, "%s%s", r->url, path),
        .headers = headers,
        .n_headers = 2,
        .body = body,
        .body_len = body == NULL ? 0 : strlen(body),
        .bearer = r->token,
    };
    if (http_do(r->http, r->a, &req, NULL, &resp, &err) != ERR_OK) {
        fail_msg("%s %s: %s", method, path, err.message);
    }
    return resp;
}

static void must(struct rig *r, const char *method, const char *path, const char *body)
{
    struct http_response resp = ask(r, method, path, body);
    if (resp.status < 200 || resp.status > 299) {
        fail_msg("%s %s: %d %s", method, path, resp.status, resp.body);
    }
}

static void get_token(struct rig *r)
{
    struct http_response resp =
        ask(r, "GET", "/computeMetadata/v1/instance/service-accounts/default/token", NULL);
    struct json_object *o = NULL;
    assert_int_equal(json_parse_arena(r->a, resp.body, resp.body_len, NULL, &o, NULL), ERR_OK);
    r->token = json_str(o, "access_token");
    assert_non_null(r->token);
}

/* gce.conf of this simulator, with a test's own lines. */
static const char *make_config(struct rig *r, const struct rig_options *opt, const char *text)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    size_t n;
    char **lines = str_split(r->a, text, '\n', &n);
    for (size_t i = 0; i < n; i++) {
        if (opt->config_less == NULL || !str_has_prefix(lines[i], opt->config_less)) {
            str_appendf(&b, "%s\n", lines[i]);
        }
        if (str_has_prefix(lines[i], "project-id = ")) {
            r->project = arena_strdup(r->a, lines[i] + strlen("project-id = "));
        }
    }
    str_appendf(&b, "%s\n", str_nonnull(opt->config_more));
    return str_buf_to_arena(&b, r->a);
}

static void start_sim(struct rig *r, const struct rig_options *opt)
{
    struct err err = ERR_INIT;
    r->sim_cfg = (struct sim_config){.cloud = "gce", .seed = 1, .world = opt->world};
    r->sim_cfg.strict_address_delete = opt->strict_address_delete;
    r->gke_classes = opt->gke_classes;
    r->base = event_base_new();
    if (sim_new(r->base, &r->sim_cfg, &r->sim, &err) != ERR_OK) {
        fail_msg("simulator: %s", err.message);
    }
    r->url = arena_strdup(r->a, sim_url(r->sim));
    sim_set_hook(r->sim, hook, r);
    r->config =
        make_config(r, opt, sim_compute_cloud_config(sim_module_state(r->sim, "gce"), r->a));
    assert_int_equal(setenv("GCE_METADATA_HOST", r->url + strlen("http://"), 1), 0);
    assert_int_equal(pthread_create(&r->thread, NULL, run, r), 0);
}

struct rig *rig_start(const struct rig_options *opt)
{
    static const struct rig_options defaults = {0};
    struct rig *r = xcalloc(1, sizeof(*r));
    struct http_config http = {.observe = http_ignore_sent, .proxy_url = ""};
    opt = opt == NULL ? &defaults : opt;
    evthread_use_pthreads();
    assert_int_equal(http_global_init(NULL), ERR_OK);
    r->a = arena_new();
    mutex_init(&r->lock);
    r->calls = map_new(NULL);
    r->metrics = map_new(free);
    r->objects = map_new(free);
    r->flags = opt->flags;
    r->n_flags = opt->n_flags;
    r->http = http_new(&http);
    rig_fill_host(r);
    start_sim(r, opt);
    get_token(r);
    if (opt->world == NULL) {
        rig_add_nodes(r, opt->nodes == 0 ? 6 : opt->nodes);
    }
    rig_set_cluster_id(r, "0123456789abcdef");
    rig_open(r);
    rig_forget(r);
    return r;
}

void rig_stop(struct rig *r)
{
    tt_gce_provider.close(r->provider);
    if (r->metric_fault != NULL) {
        fail_msg("metric %s", r->metric_fault);
    }
    event_base_loopbreak(r->base);
    pthread_join(r->thread, NULL);
    sim_free(r->sim);
    http_server_free_loop(r->base);
    http_free(r->http);
    while (r->n_services > 0) {
        json_object_put(r->trees[--r->n_services]);
    }
    json_object_put(r->cloud);
    map_free(r->calls);
    map_free(r->metrics);
    map_free(r->objects);
    mutex_done(&r->lock);
    arena_free(r->a);
    free(r);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void rig_add_nodes(struct rig *r, int n)
{
    static const char *const zones[] = {"us-central1-a", "us-central1-b", "us-central1-c"};
    must(r, "POST", "/sim/nodes", arena_printf(r->a, "{\"count\":%d}", n));
    for (int i = 0; i < n; i++) {
        const char *name = arena_printf(r->a, "node-%d", r->next_node);
        const char *zone = zones[r->next_node % 3];
        r->next_node++;
        rig_add_node_object(r, name, arena_printf(r->a, "gce://%s/%s/%s", r->project, zone, name),
                            zone);
    }
}

void rig_remove_node(struct rig *r, const char *name)
{
    must(r, "DELETE", arena_printf(r->a, "/sim/nodes/%s", name), NULL);
    for (size_t i = 0; i < r->n_nodes; i++) {
        if (str_eq(r->nodes[i]->name, name)) {
            memmove(&r->nodes[i], &r->nodes[i + 1], (r->n_nodes - i - 1) * sizeof(r->nodes[0]));
            r->n_nodes--;
            return;
        }
    }
}

void rig_exclude_nodes(struct rig *r)
{
    for (size_t i = 0; i < r->n_nodes; i++) {
        struct tt_node *copy = arena_memdup(r->a, r->nodes[i], sizeof(*copy));
        struct tt_kv *labels = ARENA_ARRAY(r->a, struct tt_kv, copy->n_labels + 1);
        memcpy(labels, copy->labels, copy->n_labels * sizeof(*labels));
        labels[copy->n_labels++] =
            (struct tt_kv){"node.kubernetes.io/exclude-from-external-load-balancers", ""};
        copy->labels = labels;
        copy->flags = node_flags(copy);
        r->nodes[i] = copy;
    }
}

void rig_keep_nodes(struct rig *r, size_t n)
{
    assert_true(n <= r->n_nodes);
    r->n_nodes = n;
}

void rig_add_node_without_instance(struct rig *r, const char *name, const char *provider_id)
{
    rig_add_node_object(r, name, str_replace(r->a, provider_id, "PROJECT", r->project),
                        "us-central1-a");
}

/* ---- state ----------------------------------------------------------------------------------- */

struct json_object *rig_save(struct rig *r)
{
    struct http_response resp = ask(r, "GET", "/sim/state", NULL);
    struct json_object *o = NULL;
    assert_int_equal(json_parse(resp.body, resp.body_len, NULL, &o, NULL), ERR_OK);
    return o;
}

void rig_load(struct rig *r, struct json_object *world)
{
    must(r, "PUT", "/sim/state", json_text(r->a, world, JSON_COMPACT));
}

struct json_object *rig_cloud(struct rig *r)
{
    struct json_object *world = rig_save(r);
    json_object_put(r->cloud);
    r->cloud = json_object_get(json_member(world, "gce"));
    json_object_put(world);
    return r->cloud;
}

struct json_object *rig_resource(struct rig *r, const char *path_end)
{
    json_object_object_foreach(rig_cloud(r), path, resource)
    {
        if (str_has_suffix(path, path_end)) {
            return resource;
        }
    }
    return NULL;
}

/* The kind and name of a load balancer's piece, or NULL. */
static const char *piece(struct rig *r, const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const char *at = strstr(path, arena_printf(r->a, "/%s/", kinds[i]));
        if (at != NULL) {
            return at + 1;
        }
    }
    return NULL;
}

static struct str_set pieces(struct rig *r, bool with_members)
{
    static const char *const skip[] = {"id",       "creationTimestamp", "fingerprint",
                                       "selfLink", "labelFingerprint",  "users",
                                       "status",   "address",           "kind"};
    const char **out = ARENA_ARRAY(r->a, const char *, 10000);
    size_t n = 0;
    json_object_object_foreach(rig_cloud(r), path, resource)
    {
        const char *what = piece(r, path);
        if (what == NULL) {
            continue;
        }
        if (!with_members) {
            out[n++] = what;
            continue;
        }
        struct json_object *copy = json_copy(resource);
        for (size_t i = 0; i < ARRAY_LEN(skip); i++) {
            json_object_object_del(copy, skip[i]);
        }
        out[n++] = arena_printf(r->a, "%s %s", what, json_text(r->a, copy, JSON_SORTED));
        json_object_put(copy);
    }
    return str_set_make(r->a, out, n);
}

const char *rig_inventory(struct rig *r)
{
    struct str_set s = pieces(r, false);
    return str_set_text(r->a, &s, "\n");
}

const char *rig_fingerprint(struct rig *r)
{
    struct str_set s = pieces(r, true);
    return str_set_text(r->a, &s, "\n");
}

void rig_fault(struct rig *r, const char *json)
{
    must(r, "POST", "/sim/faults", json);
}

void rig_no_faults(struct rig *r)
{
    must(r, "DELETE", "/sim/faults", NULL);
}

int64_t rig_fault_hits(struct rig *r)
{
    struct http_response resp = ask(r, "GET", "/sim/faults", NULL);
    struct json_object *o = NULL;
    int64_t hits = 0;
    assert_int_equal(json_parse_arena(r->a, resp.body, resp.body_len, NULL, &o, NULL), ERR_OK);
    for (size_t i = 0; i < json_len(o); i++) {
        hits += json_int(json_object_array_get_idx(o, i), "hits", 0);
    }
    return hits;
}

/* Mutations are the calls that carry a requestId. */
void rig_break_mutation(struct rig *r, unsigned nth, const char *what, bool for_good)
{
    rig_fault(r, arena_printf(r->a,
                              "{\"match\":{\"api\":\"gce\",\"path\":\"*requestId=*\"},"
                              "\"from\":%u,\"count\":%d,\"do\":\"%s\",\"status\":403}",
                              nth, for_good ? 0 : 1, what));
}

void rig_cloud_call(struct rig *r, const char *method, const char *path, const char *body)
{
    must(r, method, arena_printf(r->a, "/compute/v1/projects/%s/%s", r->project, path), body);
}
