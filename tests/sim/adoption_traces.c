/* SPDX-License-Identifier: Apache-2.0 */
/* adoption_traces.c: the requests by which upstream changed the cloud are golden for ours, body for
 * body.
 *
 * The recorded scenarios with external load balancers are played again: the same three Services are
 * created, edited and deleted, and a node comes and goes.  After each step, what we sent is
 * compared with what was recorded: each change (method, path, body; addresses translated, lists
 * sorted) that one side sent and the other did not must be in the table of deviations.  The order
 * is not compared: it differs on purpose, and others test it. */
#include "tests/sim/trace_steps.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/strset.h"
#include "tests/support/unit.h"

#define CLUSTER_ID "552125a0ed214320" /* of the recording */
#define API        "/compute/v1/projects/p1/"

static const char *const flags[] = {"--cluster-name=c1", NULL};

/* ---- the Services ---------------------------------------------------------------------------- */

/* Load balancers' names are made of the uids: "a715de69d8d38449587e67cfb71104b2" … */
#define EXT1                                                                                       \
    TRACE_SERVICE("ext1", "715de69d-8d38-4495-87e6-7cfb71104b20", "", "10.0.0.11",                 \
                  "\"externalTrafficPolicy\":\"Cluster\",\"ports\":[" TRACE_PORT(                  \
                      "a", "80", "31001") "," TRACE_PORT("b", "443", "31002") "]")
#define EXT2                                                                                       \
    TRACE_SERVICE(                                                                                 \
        "ext2", "aa7f64f8-7b5c-494a-bcbe-244f70f60d60", "", "10.0.0.12",                           \
        "\"externalTrafficPolicy\":\"Cluster\",\"ports\":[" TRACE_PORT("a", "80", "31003") "]")
#define EXTL                                                                                       \
    TRACE_SERVICE("extl", "951560d6-fa06-4216-bdab-9cf21108d540", "", "10.0.0.13",                 \
                  "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":31200,\"ports\":"   \
                  "[" TRACE_PORT("a", "80", "31004") "]")

struct play {
    struct arena *a;
    struct rig *r;
    size_t log_at; /* lines of the traffic log that were looked at */
};

#define EDITED_PORTS                                                                               \
    "{\"spec\":{\"ports\":[" TRACE_PORT("a", "80", "31001") "," TRACE_PORT("b", "8443",            \
                                                                           "31002") "]}}"
#define LOCAL "{\"spec\":{\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32158}}"
static const struct trace_step scenarios[] = {
    {"external-first-create", TRACE_CREATE, EXT1, NULL},
    {"external-second-create", TRACE_CREATE, EXT2, NULL},
    {"external-local-create", TRACE_CREATE, EXTL, NULL},
    {"external-noop-restart-3-services", TRACE_RESTART, NULL, NULL},
    {"external-port-change", TRACE_PATCH, "ext1", EDITED_PORTS},
    {"external-source-ranges", TRACE_PATCH, "ext1", TRACE_RANGES},
    {"external-affinity", TRACE_PATCH, "ext1", "{\"spec\":{\"sessionAffinity\":\"ClientIP\"}}"},
    {"external-cluster-to-local", TRACE_PATCH, "ext2", LOCAL},
    {"external-node-added-3-services", TRACE_ADD_NODE, NULL, NULL},
    {"external-node-removed-3-services", TRACE_REMOVE_NODE, "/sim/nodes/node-6", NULL},
    {"external-delete", TRACE_DELETE, "ext2", NULL},
    {"external-delete-last", TRACE_DELETE, "ext1", NULL},
};

/* ---- deviations ------------------------------------------------------------------------------ */

#define THEIRS     '-' /* upstream sends it, we do not */
#define OURS       '+'
#define ROW_SHARED "the shared health check's firewall names no address"
#define ROW_HELD   "an address is held only while its rule is made anew"
#define ROW_SWAP   "another traffic policy swaps the pool's check in place"
#define ROW_KNOWN  "what is known to be absent or in use is not deleted"
/* Globs of scenario and request ("METHOD PATH BODY"). */
static struct deviation {
    char side;
    const char *scenario;
    const char *request;
    const char *row;
    bool met;
} deviations[] = {
    {THEIRS, "external-first-create", "POST global/firewalls *-node-http-hc*", ROW_SHARED},
    {OURS, "external-first-create", "POST global/firewalls *-node-http-hc*", ROW_SHARED},
    {THEIRS, "external-noop-*", "POST regions/*/addresses *", ROW_HELD},
    {THEIRS, "external-noop-*", "DELETE regions/*/addresses/*", ROW_HELD},
    {THEIRS, "external-source-ranges", "POST regions/*/addresses *", ROW_HELD},
    {THEIRS, "external-source-ranges", "DELETE regions/*/addresses/*", ROW_HELD},
    {THEIRS, "external-cluster-to-local", "POST regions/*/addresses *", ROW_HELD},
    {THEIRS, "external-cluster-to-local", "DELETE regions/*/addresses/*", ROW_HELD},
    {THEIRS, "external-cluster-to-local", "* regions/*/forwardingRules*", ROW_SWAP},
    {THEIRS, "external-cluster-to-local", "DELETE regions/*/targetPools/*", ROW_SWAP},
    {THEIRS, "external-cluster-to-local", "POST regions/*/targetPools *", ROW_SWAP},
    {OURS, "external-cluster-to-local", "POST regions/*/targetPools/*/removeHealthCheck *",
     ROW_SWAP},
    {OURS, "external-cluster-to-local", "POST regions/*/targetPools/*/addHealthCheck *", ROW_SWAP},
    {THEIRS, "external-cluster-to-local", "DELETE global/httpHealthChecks/*-node *", ROW_KNOWN},
    {THEIRS, "external-delete*", "DELETE regions/*/addresses/*", ROW_KNOWN},
    {THEIRS, "external-delete-last", "DELETE global/httpHealthChecks/a*", ROW_KNOWN},
    {THEIRS, "external-delete-last", "DELETE global/firewalls/k8s-a*-http-hc *", ROW_KNOWN},
};

static bool is_meant(char side, const char *scenario, const char *request)
{
    for (size_t i = 0; i < ARRAY_LEN(deviations); i++) {
        struct deviation *d = &deviations[i];
        if (d->side == side && str_glob(d->scenario, scenario) && str_glob(d->request, request)) {
            d->met = true;
            return true;
        }
    }
    return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int by_text(const void *x, const void *y)
{
    struct json_object *const *a = x;
    struct json_object *const *b = y;
    return strcmp(json_object_to_json_string(*a), json_object_to_json_string(*b));
}

static void sort_lists(struct json_object *o)
{
    if (json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < json_len(o); i++) {
            sort_lists(json_object_array_get_idx(o, i));
        }
        json_object_array_sort(o, by_text);
    } else if (json_object_is_type(o, json_type_object)) {
        json_object_object_foreach(o, name, member)
        {
            (void)name;
            sort_lists(member);
        }
    }
}

/* "POST regions/us-central1/addresses {…}" for what changes something, else NULL: a question whether
 * something may be made is answered that it exists (docs/adr/0049). */
static const char *change_text(struct arena *a, struct json_object *line)
{
    const char *method = json_str(line, "method");
    const char *path = json_str(line, "path");
    struct json_object *body = json_member(line, "request");
    const char *question = strchr(path, '?');
    if (str_eq(method, "GET") || json_int(line, "status", 0) == 409 ||
        strstr(path, "/operations/") != NULL || !str_has_prefix(path, API)) {
        return NULL;
    }
    path += strlen(API);
    int n = question == NULL ? (int)strlen(path) : (int)(question - path);
    sort_lists(body);
    const char *text = body == NULL ? "" : json_text(a, body, JSON_SORTED);
    return arena_printf(a, "%s %.*s %s", method, n, path, text);
}

/* The changes in lines[from…], those of one scenario only when it is given. */
static struct str_set changes(struct arena *a, const char *text, size_t *from, const char *scenario)
{
    size_t n_lines = 0;
    size_t n = 0;
    char **lines = str_split(a, text, '\n', &n_lines);
    const char **out = ARENA_ARRAY(a, const char *, n_lines);
    for (size_t i = *from; i < n_lines; i++) {
        struct json_object *line = NULL;
        if (*lines[i] == '\0' ||
            json_parse_arena(a, lines[i], strlen(lines[i]), NULL, &line, NULL)) {
            continue;
        }
        if (scenario == NULL || str_eq(json_str(line, "scenario"), scenario)) {
            const char *change = change_text(a, line);
            if (change != NULL) {
                out[n++] = change;
            }
        }
    }
    *from = n_lines - 1; /* behind the last line feed */
    return str_set_make(a, out, n);
}

/* The requests since the last check.  The recording has Google's host where links begin with the
 * API's address. */
static struct str_set sent(struct play *p)
{
    const char *log = adoption_read(p->a, rig_file(p->r, "traffic.log"));
    log = str_replace(p->a, log, rig_url(p->r), "https://www.googleapis.com");
    return changes(p->a, log, &p->log_at, NULL);
}

/* Recorded addresses become those that our Services got. */
static const char *translate(struct play *p, const char *text)
{
    static const struct {
        const char *service;
        const char *recorded;
    } map[] = {{"ext1", "203.0.113.11"}, {"ext2", "203.0.113.12"}, {"extl", "203.0.113.13"}};
    for (size_t i = 0; i < ARRAY_LEN(map); i++) {
        text = str_replace(p->a, text, map[i].recorded, arena_printf(p->a, "@%zu@", i));
    }
    for (size_t i = 0; i < ARRAY_LEN(map); i++) {
        struct json_object *service =
            rig_get(p->r, arena_printf(p->a, TRACE_SERVICES "%s", map[i].service));
        struct json_object *ingress = json_path(service, "status.loadBalancer.ingress");
        const char *ip = json_len(ingress) == 0
                             ? map[i].recorded
                             : json_str(json_object_array_get_idx(ingress, 0), "ip");
        text = str_replace(p->a, text, arena_printf(p->a, "@%zu@", i), ip);
    }
    return text;
}

static int report(char side, const char *scenario, const struct str_set *requests)
{
    int n = 0;
    for (size_t i = 0; i < requests->n; i++) {
        if (!is_meant(side, scenario, requests->items[i])) {
            print_message("%s %c %s\n", scenario, side, requests->items[i]);
            n++;
        }
    }
    return n;
}

static int play_scenario(struct play *p, size_t i, const char *recorded)
{
    size_t from = 0;
    trace_step_play(p->r, &scenarios[i]);
    struct str_set ours = sent(p);
    struct str_set theirs = changes(p->a, translate(p, recorded), &from, scenarios[i].name);
    struct str_set only_ours = str_set_minus(p->a, &ours, &theirs);
    struct str_set only_theirs = str_set_minus(p->a, &theirs, &ours);
    return report(THEIRS, scenarios[i].name, &only_theirs) +
           report(OURS, scenarios[i].name, &only_ours);
}

/* ---- the test -------------------------------------------------------------------------------- */

static bool none(struct json_object *service)
{
    (void)service;
    return false;
}

/* The recorded cluster without a Service, with the recording's cluster id. */
static struct json_object *empty_cluster(struct arena *a)
{
    struct err err = ERR_INIT;
    struct json_object *world = NULL;
    if (rig_read_data(a, "gce/world-legacy.json", &world, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    world = adoption_before_any(a, world, none);
    struct json_object *id =
        json_object_array_get_idx(json_path(world, "kubernetes.configmaps"), 0);
    json_add_str(json_member(id, "data"), "uid", CLUSTER_ID);
    json_add_str(json_member(id, "data"), "provider-uid", CLUSTER_ID);
    return world;
}

static void adoption__recorded_scenarios_played_again__send_the_same_changes(void **state)
{
    struct err err = ERR_INIT;
    struct play p = {.a = arena_new()};
    int bad = 0;
    (void)state;
    p.r = adoption_rig(
        &(struct rig_args){.world = empty_cluster(p.a), .flags = flags, .log_traffic = true});
    const char *recorded =
        adoption_read(p.a, arena_printf(p.a, "%s/gce/requests-cloud-provider.jsonl",
                                        str_nonnull(getenv("TRIMTAB_TEST_DATA"))));
    assert_int_equal(rig_start(p.r, &err), ERR_OK);
    assert_true(rig_settle(p.r, RIG_LATER));
    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
        bad += play_scenario(&p, i, recorded);
    }
    for (size_t i = 0; i < ARRAY_LEN(deviations); i++) {
        if (deviations[i].side != 0 && !deviations[i].met) {
            print_message("not met any more: %c %s %s (%s)\n", deviations[i].side,
                          deviations[i].scenario, deviations[i].request, deviations[i].row);
            bad++;
        }
    }
    rig_free(p.r);
    arena_free(p.a);
    assert_int_equal(bad, 0);
}

UNIT_MAIN(adoption_traces)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adoption__recorded_scenarios_played_again__send_the_same_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
