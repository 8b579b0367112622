/* SPDX-License-Identifier: Apache-2.0 */
/* azure_traces.c: the requests by which upstream changed Azure are golden for ours, body for body.
 *
 * The recorded scenarios are played again: three external Services and an internal one are created,
 * edited and deleted, a node comes and goes, a Service changes sides.  After each step, the last
 * request that changed a resource is compared with the last one that upstream sent for it, leaf by
 * leaf (azure_documents.h; addresses translated).  A resource that one side wrote and the other did
 * not, and a leaf that differs, must be in the table of deviations.  How often a document is
 * written in one step is not compared: most are written less often. */
#include "tests/sim/azure_documents.h"
#include "tests/sim/trace_steps.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

static const char *const flags[] = {"--cluster-name=c1", NULL};

/* ---- the Services ---------------------------------------------------------------------------- */

#define CLUSTER  "\"externalTrafficPolicy\":\"Cluster\","
#define INTERNAL "\"service.beta.kubernetes.io/azure-load-balancer-internal\":\"true\""

/* Frontends are named after the uids: "a06f9a148ae2043ed856c60ad2abff1a" … */
#define EXT1                                                                                       \
    TRACE_SERVICE("ext1", "06f9a148-ae20-43ed-856c-60ad2abff1a0", "", "10.0.0.11",                 \
                  CLUSTER "\"ports\":[" TRACE_PORT("a", "80", "31449") "," TRACE_PORT(             \
                      "b", "443", "31894") "]")
#define EXT2                                                                                       \
    TRACE_SERVICE("ext2", "c2d395e9-8549-4a19-91ce-3c81e89eaf20", "", "10.0.0.12",                 \
                  CLUSTER "\"ports\":[" TRACE_PORT("a", "80", "30823") "]")
#define EXTL                                                                                       \
    TRACE_SERVICE("extl", "c61d44e0-e042-4232-a5ae-49f707660cb0", "", "10.0.0.13",                 \
                  "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":30999,\"ports\":"   \
                  "[" TRACE_PORT("a", "80", "31004") "]")
#define INT1                                                                                       \
    TRACE_SERVICE("int1", "b3c2528f-8b07-4a97-b236-04776ff30de0", INTERNAL, "10.0.0.14",           \
                  CLUSTER "\"ports\":[" TRACE_PORT("a", "80", "30701") "]")

/* Recorded addresses, and those that our Services got first. */
static const struct {
    const char *service;
    const char *recorded;
} addresses[] = {{"ext1", "203.0.113.11"},
                 {"ext2", "203.0.113.12"},
                 {"extl", "203.0.113.13"},
                 {"int1", "10.240.0.14"}};

struct play {
    struct arena *a;
    struct rig *r;
    size_t log_at; /* lines of the traffic log that were looked at */
    struct adoption_pair pairs[ARRAY_LEN(addresses)];
    struct adoption_compare compare;
};

#define EDITED_PORTS                                                                               \
    "{\"spec\":{\"ports\":[" TRACE_PORT("a", "80", "31449") "," TRACE_PORT("b", "8443",            \
                                                                           "31894") "]}}"
#define TURNED_INTERNAL "{\"metadata\":{\"annotations\":{" INTERNAL "}}}"
static const struct trace_step scenarios[] = {
    {"external-first-create", TRACE_CREATE, EXT1, NULL},
    {"external-second-create", TRACE_CREATE, EXT2, NULL},
    {"external-local-create", TRACE_CREATE, EXTL, NULL},
    {"internal-first-create", TRACE_CREATE, INT1, NULL},
    {"noop-restart-4-services", TRACE_RESTART, NULL, NULL},
    {"port-change", TRACE_PATCH, "ext1", EDITED_PORTS},
    {"source-ranges", TRACE_PATCH, "ext1", TRACE_RANGES},
    {"node-added-4-services", TRACE_ADD_NODE, NULL, NULL},
    /* its machine stays */
    {"node-removed-4-services", TRACE_REMOVE_NODE, "/api/v1/nodes/vmss000006", NULL},
    {"external-to-internal", TRACE_PATCH, "extl", TURNED_INTERNAL},
    {"external-delete", TRACE_DELETE, "ext2", NULL},
    {"internal-delete", TRACE_DELETE, "extl", NULL}, /* which is one now */
    {"delete-last-two", TRACE_DELETE, "ext1 int1", NULL},
};

/* ---- deviations ------------------------------------------------------------------------------ */

/* `resource` is "SCENARIO COLLECTION/NAME". */
#define ECHO                                                                                       \
    "none: the server's own members go back as they came, and the simulator has more of them"
static struct adoption_deviation deviations[] = {
    {"* networkSecurityGroups/nsg", "properties.defaultSecurityRules*", ECHO, false},
    {"* loadBalancers/*", "sku.tier", ECHO, false},
    {"* loadBalancers/*", "*.loadBalancerBackendAddresses*", ECHO, false},
    {"* loadBalancers/*", "*.privateIPAllocationMethod", ECHO, false},
    {"* loadBalancers/*", "*.privateIPAddressVersion", ECHO, false},
    {"* loadBalancers/*", "*.numberOfProbes", ECHO, false},
    {"* loadBalancers/*", "*.noHealthyBackendsBehavior", ECHO, false},
    {"* loadBalancers/*", "*.loadBalancingRules", ECHO, false},
    {"* loadBalancers/*", "*.properties.backendAddressPools", ECHO, false},
    {"* loadBalancers/*", "*.subnet.name", "none: a subnet is named by its ID", false},
    {"* loadBalancers/*", "*.subnet.id", "none: a subnet is named by its ID", false},
    {"node-added-* virtualMachineScaleSets/vmss/virtualMachines/6", "",
     "none: the pools of a new instance are those of its scale set's model", false},
    {"external-to-internal networkSecurityGroups/nsg", "",
     "4.2, 9.4: an address that a Service has left", false},
    {NULL},
};

/* ---- requests -------------------------------------------------------------------------------- */

static void put(void *o)
{
    json_object_put(o);
}

/* "…/providers/Microsoft.Network/loadBalancers/c1?api-version=…" → "loadBalancers/c1" */
static const char *resource_of(struct arena *a, const char *path)
{
    const char *at = strstr(path, "/providers/");
    at = at == NULL ? path : strchr(at + strlen("/providers/"), '/') + 1;
    const char *question = strchr(at, '?');
    return question == NULL ? at : arena_printf(a, "%.*s", (int)(question - at), at);
}

/* The last change of each resource in lines[from…], those of one scenario only when it is given:
 * resource → line. */
static struct json_object *changes(struct arena *a, const char *text, size_t *from,
                                   const char *scenario)
{
    size_t n = 0;
    char **lines = str_split(a, text, '\n', &n);
    struct json_object *out = json_object_new_object();
    arena_defer(a, put, out);
    for (size_t i = *from; i < n; i++) {
        struct json_object *line = NULL;
        if (*lines[i] == '\0' ||
            json_parse_arena(a, lines[i], strlen(lines[i]), NULL, &line, NULL) != ERR_OK) {
            continue;
        }
        bool changes_it = str_eq(json_str(line, "method"), "PUT") ||
                          str_eq(json_str(line, "method"), "DELETE") ||
                          str_eq(json_str(line, "method"), "PATCH");
        if (changes_it && (scenario == NULL || str_eq(json_str(line, "scenario"), scenario))) {
            json_add(out, resource_of(a, json_str(line, "path")), json_object_get(line));
        }
    }
    *from = n - 1; /* behind the last line feed */
    return out;
}

static void learn_addresses(struct play *p)
{
    struct json_object *world = rig_world(p->r);
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        const char *key = arena_printf(p->a, "default/%s", addresses[i].service);
        const char *ip = adoption_address(p->a, world, key);
        if (str_eq(p->pairs[i].is, p->pairs[i].was) && *ip != '\0') {
            p->pairs[i].is = ip;
        }
    }
}

static void compare_change(struct play *p, const char *resource, struct json_object *want,
                           struct json_object *got)
{
    const char *theirs = str_or(json_str(want, "method"), "nothing");
    const char *ours = str_or(json_str(got, "method"), "nothing");
    if (!str_eq(theirs, ours)) {
        adoption_note(&p->compare, resource, "", theirs, ours);
    } else {
        azure_documents_compare(&p->compare, resource, json_member(want, "request"),
                                json_member(got, "request"));
    }
}

static void play_scenario(struct play *p, size_t i, const char *recorded)
{
    size_t from = 0;
    const char *name = scenarios[i].name;
    trace_step_play(p->r, &scenarios[i]);
    learn_addresses(p);
    struct json_object *ours =
        changes(p->a, adoption_read(p->a, rig_file(p->r, "traffic.log")), &p->log_at, NULL);
    struct json_object *theirs = adoption_translate(p->a, changes(p->a, recorded, &from, name),
                                                    p->pairs, ARRAY_LEN(addresses));
    json_object_object_foreach(theirs, resource, want)
    {
        compare_change(p, arena_printf(p->a, "%s %s", name, resource), want,
                       json_member(ours, resource));
    }
    json_object_object_foreach(ours, other, got)
    {
        if (json_member(theirs, other) == NULL) {
            compare_change(p, arena_printf(p->a, "%s %s", name, other), NULL, got);
        }
    }
}

/* ---- the test -------------------------------------------------------------------------------- */

static bool none(struct json_object *service)
{
    (void)service;
    return false;
}

static void adoption__recorded_scenarios_played_again__send_the_same_bodies(void **state)
{
    struct err err = ERR_INIT;
    struct json_object *world = NULL;
    struct play p = {.a = arena_new()};
    (void)state;
    p.compare =
        (struct adoption_compare){.a = p.a, .deviations = deviations, .differences = STR_BUF_INIT};
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        p.pairs[i] = (struct adoption_pair){addresses[i].recorded, addresses[i].recorded};
    }
    if (rig_read_data(p.a, "azure/world-nic.json", &world, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    p.r = adoption_rig(&(struct rig_args){
        .world = adoption_before_any(p.a, world, none), .flags = flags, .log_traffic = true});
    adoption_run(p.r);
    const char *recorded = adoption_read(
        p.a, arena_printf(p.a, "%s/azure/requests.jsonl", getenv("TRIMTAB_TEST_DATA")));
    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
        play_scenario(&p, i, recorded);
    }
    adoption_compare_end(&p.compare);
    adoption_end(p.r, "traces");
    arena_free(p.a);
}

UNIT_MAIN(azure_traces)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adoption__recorded_scenarios_played_again__send_the_same_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
