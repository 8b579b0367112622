/* SPDX-License-Identifier: Apache-2.0 */
/* chaos.c: fault-chaos, seeded episodes in which everything goes wrong at once.
 *
 *     fault-chaos                       episodes from TRIMTAB_SEED (1) on
 *     fault-chaos --seed N              that episode alone, with its story and the controller's log when it fails
 *     fault-chaos --cloud azure …       in Azure: 200 Services, and somebody else who edits what they share
 *
 * An episode: Services come, change and go, nodes too, while calls are refused, lost, cut off or slowed down, whole kinds of
 * calls are down, watches break, and the controller is stopped, or killed around a call.  Then all faults end, and when
 * everything is at rest: every Service has its whole load balancer, nothing else is there, nothing foreign was
 * touched, no published address changed unless its user asked for it, a second plan is empty, and a cloud that is built from
 * nothing for the same Services is the same.  Output is TAP, one test per episode; each is a process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fault/pool.h"
#include "tests/fault/stage.h"
#include "tests/fault/world.h"
#include "tests/fault/writer.h"

#define PARALLEL     2
#define SERVICES_MAX 200
#define NODES_MIN    2
#define NODES_MAX    9
#define STATICS      8 /* users' addresses 203.0.113.200 … 207 */

/* What its user wants of a Service. */
struct wish {
    char name[24]; /* "" when there is none */
    unsigned port;
    bool two_ports;
    bool udp;
    bool local;
    bool sticky;
    bool standard;   /* Google: network tier */
    bool internal;   /* Azure */
    bool narrow;     /* source ranges */
    bool cluster_ip; /* no load balancer */
    int address;     /* Google: which of the users' addresses; -1: none */
    unsigned check_port;
};

struct chaos;

struct chaos_cloud {
    const char *name;
    size_t n_services; /* at once */
    size_t n_at_first; /* created before anything goes wrong */
    int actions;
    size_t episodes;
    const char *const *calls; /* of which some are down now and then */
    size_t n_calls;
    const char *(*annotations)(struct arena *a, const struct wish *w);
    bool (*special)(struct chaos *c, struct wish *w); /* a change of its own; as change_wish() */
};

struct chaos {
    struct stage s;
    const struct chaos_cloud *cloud;
    struct writer *writer; /* NULL: nobody else writes */
    struct rng *rng;
    struct wish wishes[SERVICES_MAX];
    bool taken[STATICS]; /* a user's address is asked for once in an episode */
    unsigned n_named;
    struct str_buf story;
};

static const char *const flags[] = {"--concurrent-service-syncs=4", NULL};

static uint64_t below(struct chaos *c, uint64_t n)
{
    return rng_below(c->rng, n);
}

static bool one_in(struct chaos *c, uint64_t n)
{
    return below(c, n) == 0;
}

/* ---- wishes -------------------------------------------------------------------------------------- */

static const char *ports_of(struct arena *a, const struct wish *w)
{
    const char *protocol = w->udp ? "UDP" : "TCP";
    const char *second =
        arena_printf(a, ",{\"name\":\"b\",\"port\":%u,\"protocol\":\"%s\"}", w->port + 5, protocol);
    return arena_printf(a, "[{\"name\":\"a\",\"port\":%u,\"protocol\":\"%s\"}%s]", w->port,
                        protocol, w->two_ports ? second : "");
}

/* The whole spec: a create's, and as a merge patch. */
static const char *spec_of(struct arena *a, const struct wish *w)
{
    bool lb = !w->cluster_ip;
    const char *ip =
        lb && w->address >= 0 ? arena_printf(a, "\"203.0.113.%d\"", 200 + w->address) : "null";
    const char *check = lb && w->local ? arena_printf(a, "%u", w->check_port) : "null";
    return arena_printf(
        a,
        "{\"ports\":%s,\"type\":\"%s\",\"externalTrafficPolicy\":%s,\"healthCheckNodePort\":%s,"
        "\"sessionAffinity\":\"%s\",\"loadBalancerSourceRanges\":%s,\"loadBalancerIP\":%s,"
        "\"allocateLoadBalancerNodePorts\":%s}",
        ports_of(a, w), lb ? "LoadBalancer" : "ClusterIP",
        !lb        ? "null"
        : w->local ? "\"Local\""
                   : "\"Cluster\"",
        check, w->sticky ? "ClientIP" : "None", lb && w->narrow ? "[\"10.0.0.0/8\"]" : "null", ip,
        lb ? "true" : "null");
}

static const char *patch_of(const struct chaos *c, const struct wish *w)
{
    struct arena *a = c->s.a;
    return arena_printf(a, "{\"metadata\":{\"annotations\":%s},\"spec\":%s}",
                        c->cloud->annotations(a, w), spec_of(a, w));
}

static const char *google_annotations(struct arena *a, const struct wish *w)
{
    return arena_printf(a, "{\"cloud.google.com/network-tier\":%s}",
                        w->standard ? "\"Standard\"" : "null");
}

static const char *azure_annotations(struct arena *a, const struct wish *w)
{
    return arena_printf(a, "{\"service.beta.kubernetes.io/azure-load-balancer-internal\":%s}",
                        w->internal ? "\"true\"" : "null");
}

/* A tier, which is never taken back (a rule keeps its own), or a user's address. */
static bool google_special(struct chaos *c, struct wish *w)
{
    if (one_in(c, 2)) {
        w->standard = w->standard || w->address < 0;
        return true;
    }
    for (int i = 0; i < STATICS && w->address < 0 && !w->standard; i++) {
        if (!c->taken[i]) {
            c->taken[i] = true;
            w->address = i;
        }
    }
    return true;
}

static bool azure_special(struct chaos *c, struct wish *w)
{
    (void)c;
    w->internal = !w->internal;
    return true;
}

/* Turns one thing of it.  True: its address may change with that. */
static bool change_wish(struct chaos *c, struct wish *w)
{
    switch (below(c, 10)) {
    case 0:
        w->udp = !w->udp;
        return false;
    case 1:
    case 2:
        w->local = !w->local;
        return false;
    case 3:
        w->sticky = !w->sticky;
        return false;
    case 4:
        w->narrow = !w->narrow;
        return false;
    case 5:
        w->two_ports = !w->two_ports;
        return false;
    case 6:
        w->cluster_ip = !w->cluster_ip;
        return true;
    case 7:
    case 8:
        return c->cloud->special(c, w);
    default:
        w->port = 1000 + (unsigned)below(c, 1000);
        return false;
    }
}

static bool wants_check_port(const struct wish *w)
{
    return w->local && !w->cluster_ip;
}

/* A node port that nobody has: the API server gives away any of them. */
static unsigned free_port(struct chaos *c)
{
    struct json_object *services = json_path(rig_world(c->s.rig), "kubernetes.services");
    const char *text = json_text(c->s.a, services, JSON_COMPACT);
    unsigned port = 32100 + c->n_named % 600;
    while (strstr(text, arena_printf(c->s.a, ":%u", port)) != NULL) {
        port++;
    }
    return port;
}

static struct wish *any_wish(struct chaos *c, bool existing)
{
    size_t n = c->cloud->n_services;
    size_t from = below(c, n);
    for (size_t i = 0; i < n; i++) {
        struct wish *w = &c->wishes[(from + i) % n];
        if ((w->name[0] != '\0') == existing) {
            return w;
        }
    }
    return NULL;
}

/* ---- actions ------------------------------------------------------------------------------------- */

static int tell(struct chaos *c, enum step_do act, const char *what, const char *body)
{
    const struct step s = {act, what, body};
    str_appendf(&c->story, "%s %s %s\n",
                act == STEP_CREATE   ? "create"
                : act == STEP_PATCH  ? "edit"
                : act == STEP_DELETE ? "delete"
                : act == STEP_END    ? "?"
                                     : "nodes",
                what, str_nonnull(body));
    return stage_step(&c->s, &s);
}

static int create(struct chaos *c)
{
    struct wish *w = any_wish(c, false);
    if (w == NULL) {
        return ERR_OK;
    }
    size_t slot = (size_t)(w - c->wishes);
    *w = (struct wish){.port = 1000 + (unsigned)below(c, 1000),
                       .udp = one_in(c, 4),
                       .local = one_in(c, 3),
                       .sticky = one_in(c, 4),
                       .two_ports = one_in(c, 2),
                       .address = -1};
    w->check_port = w->local ? free_port(c) : 0;
    /* Names come back: what belonged to an older one of the same name must not be taken for the new one's. */
    (void)snprintf(w->name, sizeof(w->name), "svc-%zu",
                   one_in(c, 2) ? slot : SERVICES_MAX + c->n_named);
    c->n_named++;
    return tell(c, STEP_CREATE, w->name, spec_of(c->s.a, w));
}

static int edit(struct chaos *c)
{
    struct wish *w = any_wish(c, true);
    if (w == NULL) {
        return create(c);
    }
    bool had_port = wants_check_port(w);
    bool moves = change_wish(c, w);
    if (!had_port && wants_check_port(w)) {
        w->check_port = free_port(c);
    }
    if (moves) {
        probe_may_move(c->s.probe, stage_uid(&c->s, w->name));
    }
    return tell(c, STEP_PATCH, w->name, patch_of(c, w));
}

static int delete(struct chaos *c)
{
    struct wish *w = any_wish(c, true);
    if (w == NULL) {
        return create(c);
    }
    int rc = tell(c, STEP_DELETE, w->name, NULL);
    w->name[0] = '\0';
    return rc;
}

static int change_nodes(struct chaos *c)
{
    struct json_object *nodes = json_path(rig_world(c->s.rig), "kubernetes.nodes");
    size_t n = json_len(nodes);
    if (n < NODES_MAX && (n <= NODES_MIN || one_in(c, 2))) {
        return tell(c, STEP_ADD_NODES, "1", NULL);
    }
    struct json_object *node = json_object_array_get_idx(nodes, below(c, n));
    return tell(c, STEP_REMOVE_NODE, json_str(json_member(node, "metadata"), "name"), NULL);
}

static int kill_soon(struct chaos *c)
{
    bool after = one_in(c, 2);
    int64_t nth = 1 + (int64_t)below(c, 30);
    str_appendf(&c->story, "kill %s call %lld\n", after ? "after" : "before", (long long)nth);
    probe_kill_at(c->s.probe, nth, after ? EFFECT_KILLED_AFTER : EFFECT_KILLED_BEFORE);
    return stage_live(&c->s, RIG_SOON);
}

static int restart(struct chaos *c)
{
    str_appendf(&c->story, "restart\n");
    return stage_restart(&c->s);
}

static int storm(struct chaos *c)
{
    static const unsigned strengths[] = {0, 20, 100, 300, 600};
    unsigned per_mille = strengths[below(c, ARRAY_LEN(strengths))];
    str_appendf(&c->story, "storm %u\n", per_mille);
    probe_storm(c->s.probe, per_mille, rng_u64(c->rng));
    return ERR_OK;
}

static int add_fault(struct chaos *c, const char *fault)
{
    str_appendf(&c->story, "fault %s\n", fault);
    return rig_fault(c->s.rig, fault, NULL, c->s.err);
}

/* None of these hits what the test itself asks. */
static int bring_down(struct chaos *c)
{
    static const int statuses[] = {503, 403, 429, 409};
    return add_fault(
        c, arena_printf(c->s.a,
                        "{\"match\":{\"op\":\"%s\"},\"count\":%d,\"do\":\"refuse\",\"status\":%d}",
                        c->cloud->calls[below(c, c->cloud->n_calls)], one_in(c, 2) ? 0 : 5,
                        statuses[below(c, ARRAY_LEN(statuses))]));
}

static int break_watches(struct chaos *c)
{
    return add_fault(c, one_in(c, 2) ? "{\"do\":\"watch-cut\"}" : "{\"do\":\"watch-expire\"}");
}

static int heal(struct chaos *c)
{
    str_appendf(&c->story, "heal\n");
    probe_heal(c->s.probe);
    return ERR_OK;
}

static int live(struct chaos *c)
{
    static const int64_t spans[] = {0, 500, RIG_SOON, RIG_SOON, 30000, 600000};
    int64_t ms = spans[below(c, ARRAY_LEN(spans))];
    str_appendf(&c->story, "live %lld\n", (long long)ms);
    return stage_live(&c->s, ms);
}

static const struct {
    int (*act)(struct chaos *c);
    unsigned weight;
} actions[] = {
    {create, 12}, {edit, 26}, {delete, 10}, {change_nodes, 8}, {kill_soon, 10},    {restart, 3},
    {storm, 8},   {heal, 5},  {live, 22},   {bring_down, 6},   {break_watches, 4},
};

static int act(struct chaos *c)
{
    unsigned sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        sum += actions[i].weight;
    }
    uint64_t at = below(c, sum);
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (at < actions[i].weight) {
            return actions[i].act(c);
        }
        at -= actions[i].weight;
    }
    return ERR_OK;
}

/* ---- an episode ---------------------------------------------------------------------------------- */

static int begin(struct chaos *c, struct json_object **ret_start)
{
    struct stage *s = &c->s;
    s->cloud = c->cloud->name;
    int rc = stage_open(s, NULL, flags);
    if (rc != ERR_OK) {
        return rc;
    }
    *ret_start = rig_world(s->rig);
    rc = world_add_foreign(s->a, *ret_start, s->err);
    rc = rc == ERR_OK ? rig_load(s->rig, *ret_start, s->err) : rc;
    if (rc == ERR_OK) {
        const char *text = json_text(s->a, rig_world(s->rig), JSON_COMPACT);
        rc = json_parse_arena(s->a, text, strlen(text), NULL, ret_start, s->err);
    }
    if (rc == ERR_OK && str_eq(c->cloud->name, "azure")) {
        c->writer = writer_new(rng_u64(c->rng));
        probe_listen(s->probe, writer_before_call, c->writer);
    }
    rc = rc == ERR_OK ? stage_start(s) : rc;
    for (size_t i = 0; i < c->cloud->n_at_first && rc == ERR_OK; i++) {
        rc = create(c);
    }
    return rc;
}

/* Nothing of the other writer's was lost.  It goes, so that a world without it can be compared. */
static int part_from_writer(struct chaos *c)
{
    struct stage *s = &c->s;
    if (c->writer == NULL) {
        return ERR_OK;
    }
    int rc = writer_check(c->writer, s->a, rig_world(s->rig), s->err);
    writer_leave(c->writer, s->rig);
    return rc;
}

/* The same Services in an empty cloud come to the same. */
static int check_against_fresh(struct chaos *c, struct json_object *end, const char *end_text)
{
    struct stage *s = &c->s;
    struct json_object *empty = NULL;
    int rc = world_unbuilt(s->a, end, &empty, s->err);
    rc = rc == ERR_OK ? stage_close(s) : rc;
    rc = rc == ERR_OK ? stage_open(s, empty, flags) : rc;
    rc = rc == ERR_OK ? stage_start(s) : rc;
    rc = rc == ERR_OK ? stage_settle(s, RIG_LATER) : rc;
    if (rc != ERR_OK) {
        (void)err_prefix(s->err, "building it anew");
        return rc;
    }
    const char *fresh = world_text(s->a, rig_world(s->rig), s->names);
    const char *diff = world_difference(s->a, fresh, end_text);
    return diff == NULL ? ERR_OK
                        : err_set(s->err, ERR_CONFLICT, "built anew it is another:%.900s", diff);
}

static int judge(struct chaos *c, struct json_object *start)
{
    struct stage *s = &c->s;
    struct json_object *end = NULL;
    const char *text = json_text(s->a, rig_world(s->rig), JSON_COMPACT);
    int rc = json_parse_arena(s->a, text, strlen(text), NULL, &end, s->err);
    const char *end_text = rc == ERR_OK ? world_text(s->a, end, s->names) : "";
    const char *moved = probe_moved(s->probe, s->a);
    if (rc == ERR_OK && moved != NULL) {
        rc = err_set(s->err, ERR_CONFLICT, "the address changed: %s", moved);
    }
    rc = rc == ERR_OK ? world_check_foreign(s->a, start, end, s->err) : rc;
    rc = rc == ERR_OK ? world_check_whole(s->a, end, false, s->err) : rc;
    rc = rc == ERR_OK ? stage_check_log(s) : rc;
    rc = rc == ERR_OK ? stage_check_second_plan(s) : rc;
    return rc == ERR_OK ? check_against_fresh(c, end, end_text) : rc;
}

static int play(struct chaos *c)
{
    struct json_object *start = NULL;
    int rc = begin(c, &start);
    for (int i = 0; i < c->cloud->actions && rc == ERR_OK; i++) {
        rc = act(c);
    }
    if (rc == ERR_OK) {
        rc = heal(c);
    }
    rc = rc == ERR_OK ? stage_settle(&c->s, RIG_LATER) : rc;
    rc = rc == ERR_OK ? part_from_writer(c) : rc;
    return rc == ERR_OK ? judge(c, start) : rc;
}

static const char *const google_calls[] = {
    "compute.firewalls.*",
    "compute.forwardingRules.*",
    "compute.forwardingRules.insert",
    "compute.targetPools.*",
    "compute.addresses.*",
    "compute.addresses.delete",
    "compute.httpHealthChecks.*",
    "compute.*.delete",
    "compute.*.wait",
    "compute.*.get",
    "services.status.patch",
    "configmaps.*",
    "token",
};
static const char *const azure_calls[] = {
    "LoadBalancers.*",
    "LoadBalancers.CreateOrUpdate",
    "LoadBalancers.Delete",
    "PublicIPAddresses.*",
    "PublicIPAddresses.CreateOrUpdate",
    "PublicIPAddresses.Delete",
    "SecurityGroups.*",
    "SecurityGroups.CreateOrUpdate",
    "VirtualMachineScaleSetVMs.*",
    "VirtualMachineScaleSets.CreateOrUpdate",
    "*.List",
    "services.status.patch",
    "identityToken",
};
static const struct chaos_cloud clouds[] = {
    {"gce", 6, 0, 60, 30, google_calls, ARRAY_LEN(google_calls), google_annotations,
     google_special},
    {"azure", SERVICES_MAX, 170, 60, 2, azure_calls, ARRAY_LEN(azure_calls), azure_annotations,
     azure_special},
};

static const struct chaos_cloud *cloud_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++) {
        if (str_eq(clouds[i].name, name)) {
            return &clouds[i];
        }
    }
    return NULL;
}

struct episode {
    const struct chaos_cloud *cloud;
    uint64_t seed;
    bool verbose;
};

static int episode_child(void *arg)
{
    const struct episode *e = arg;
    struct err err = ERR_INIT;
    struct chaos c = {.s = stage_new(&err), .cloud = e->cloud, .rng = rng_seeded_new(e->seed)};
    int rc = play(&c);
    if (rc != ERR_OK) {
        printf("%s\n", str_buf_text(&c.story));
        if (e->verbose && c.s.rig != NULL) {
            printf("%s\n", rig_log(c.s.rig));
        }
        printf("%s\n", err.message);
    }
    stage_done(&c.s);
    writer_free(c.writer);
    str_buf_done(&c.story);
    rng_free(c.rng);
    return rc == ERR_OK ? 0 : 1;
}

/* ---- the program --------------------------------------------------------------------------------- */

struct program {
    struct arena *a;
    const struct chaos_cloud *cloud;
    uint64_t seed;
    size_t n; /* episodes */

    size_t ended;
    size_t failed;
};

static void episode_ended(void *arg, struct pool_job *job)
{
    struct program *p = arg;
    const struct episode *e = job->arg;
    p->ended++;
    if (job->code != 0) {
        p->failed++;
        printf("# failed, code %d: fault-chaos --cloud %s --seed %llu\n", job->code, e->cloud->name,
               (unsigned long long)e->seed);
        pool_print_story(job);
    }
    printf("%s %zu - seed %llu\n", job->code == 0 ? "ok" : "not ok", p->ended,
           (unsigned long long)e->seed);
    (void)fflush(stdout);
    (void)unlink(job->file);
}

static void parse(struct program *p, int argc, char **argv)
{
    if (!str_to_u64(str_nonnull(getenv("TRIMTAB_SEED")), &p->seed)) {
        p->seed = 1;
    }
    for (int i = 1; i < argc; i += 2) {
        uint64_t value = 0;
        bool good = i + 1 < argc && str_to_u64(argv[i + 1], &value);
        if (i + 1 < argc && str_eq(argv[i], "--cloud") && cloud_find(argv[i + 1]) != NULL) {
            p->cloud = cloud_find(argv[i + 1]);
        } else if (good && str_eq(argv[i], "--seed")) {
            p->seed = value;
            p->n = 1;
        } else if (good && str_eq(argv[i], "--episodes")) {
            p->n = value;
        } else {
            fprintf(stderr, "usage: fault-chaos [--cloud gce|azure] [--seed N] [--episodes N]\n");
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/trimtab-chaos-XXXXXX";
    struct program p = {.a = arena_new(), .cloud = &clouds[0]};
    parse(&p, argc, argv);
    p.n = p.n == 0 ? p.cloud->episodes : p.n;
    (void)setenv("TRIMTAB_TEST_DATA", TRIMTAB_TEST_DATA, 0); /* meson test has set it */
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        return 1;
    }
    struct episode *episodes = ARENA_ARRAY(p.a, struct episode, p.n);
    struct pool_job *jobs = ARENA_ARRAY(p.a, struct pool_job, p.n);
    for (size_t i = 0; i < p.n; i++) {
        episodes[i] = (struct episode){.cloud = p.cloud, .seed = p.seed + i, .verbose = p.n == 1};
        jobs[i] = (struct pool_job){.fn = episode_child, .arg = &episodes[i]};
        jobs[i].file = arena_printf(p.a, "%s/%zu", dir, i);
    }
    printf("1..%zu\n# seed %llu, %d actions each\n", p.n, (unsigned long long)p.seed,
           p.cloud->actions);
    pool_run(jobs, p.n, PARALLEL, episode_ended, &p);
    (void)rmdir(dir);
    arena_free(p.a);
    return p.failed == 0 ? 0 : 1;
}
