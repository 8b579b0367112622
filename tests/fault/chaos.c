/* SPDX-License-Identifier: Apache-2.0 */
/* chaos.c: fault-chaos, seeded episodes in which everything goes wrong at once.
 *
 *     fault-chaos                       the episodes of this run's turn, a twelfth (sample.h:
 *                                       TRIMTAB_SAMPLE, TRIMTAB_SAMPLE_TURN)
 *     fault-chaos --all                 every episode, as TRIMTAB_SAMPLE=all
 *     fault-chaos --episodes N          the episodes with seeds 1 to N
 *     fault-chaos --seed N              that episode alone, with its story and the controller's log
 *                                       when it fails
 *     fault-chaos --cloud gce-l4 …      Google's balancers with a backend service, of all kinds,
 *                                       beside target pools
 *     fault-chaos --cloud azure …       in Azure: 200 Services, and another program that edits
 *                                       what they share
 *     fault-chaos --cloud aws …         in AWS: network and classic balancers, and another
 *                                       program that edits groups and tags
 *
 * An episode: Services come, change and go, nodes too, while calls are refused, lost, cut off or
 * slowed down, whole kinds of calls are down, watches break, and the controller is stopped, or
 * killed around a call; now and then it comes to rest (chaos_rest.c).  Then all faults end, and
 * when everything is at rest: every Service has its whole load balancer, nothing else is there,
 * nothing foreign was touched, no published address changed unless its user asked for it, a second
 * plan is empty, and a cloud that is built from nothing for the same Services is the same.  Output
 * is TAP, one test per episode; each is a process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fault/chaos.h"
#include "tests/fault/pool.h"
#include "tests/fault/world.h"
#include "tests/support/sample.h"

#define PARALLEL   2
#define PART_CI    12
#define PART_QUICK 20
#define FRESH_SEED 11 /* of a cloud rebuilt: what it names is not what the first one named */

static const char *const usual_flags[] = {"--concurrent-service-syncs=10", NULL};

uint64_t chaos_below(struct chaos *c, uint64_t n)
{
    return rng_below(c->rng, n);
}

bool chaos_one_in(struct chaos *c, uint64_t n)
{
    return chaos_below(c, n) == 0;
}

/* ---- wishes ---------------------------------------------------------------------------------- */

static const char *ports_of(struct arena *a, const struct wish *w)
{
    const char *protocol = w->udp ? "UDP" : "TCP";
    const char *second =
        arena_printf(a, ",{\"name\":\"b\",\"port\":%u,\"protocol\":\"%s\"}", w->port + 5, protocol);
    return arena_printf(a, "[{\"name\":\"a\",\"port\":%u,\"protocol\":\"%s\"}%s]", w->port,
                        protocol, w->two_ports ? second : "");
}

/* The whole spec: a create's, and as a merge patch. */
static const char *spec_of(const struct chaos *c, const struct wish *w)
{
    struct arena *a = c->s.a;
    bool lb = !w->cluster_ip;
    const char *ip = lb && w->address >= 0 && !w->internal && !w->by_name
                         ? arena_printf(a, "\"203.0.113.%d\"", 200 + w->address)
                         : "null";
    const char *check = lb && w->local ? arena_printf(a, "%u", w->check_port) : "null";
    return arena_printf(
        a,
        "{\"ports\":%s,\"type\":\"%s\",\"externalTrafficPolicy\":%s,\"healthCheckNodePort\":%s,"
        "\"sessionAffinity\":\"%s\",\"loadBalancerSourceRanges\":%s,\"loadBalancerIP\":%s,"
        "\"allocateLoadBalancerNodePorts\":%s%s}",
        ports_of(a, w), lb ? "LoadBalancer" : "ClusterIP",
        !lb        ? "null"
        : w->local ? "\"Local\""
                   : "\"Cluster\"",
        check, w->sticky ? "ClientIP" : "None", lb && w->narrow ? "[\"10.0.0.0/8\"]" : "null", ip,
        lb ? "true" : "null", c->cloud->spec == NULL ? "" : c->cloud->spec(a, w));
}

static const char *patch_of(const struct chaos *c, const struct wish *w)
{
    struct arena *a = c->s.a;
    return arena_printf(a, "{\"metadata\":{\"annotations\":%s},\"spec\":%s}",
                        c->cloud->annotations(a, w), spec_of(c, w));
}

/* The spec of a new one, with its annotations as the stage wants them: those that are
 * null are none. */
static const char *manifest_of(const struct chaos *c, const struct wish *w)
{
    struct arena *a = c->s.a;
    struct json_object *notes = NULL;
    const char *text = c->cloud->annotations(a, w);
    if (json_parse_arena(a, text, strlen(text), NULL, &notes, NULL) != ERR_OK) {
        abort(); /* the text was made by this program */
    }
    _cleanup_(json_putp) struct json_object *some = json_object_new_object();
    json_object_object_foreach(notes, key, value)
    {
        json_add_str(some, key, value == NULL ? NULL : json_object_get_string(value));
    }
    const char *spec = spec_of(c, w);
    return arena_printf(a, "{\"notes\":%s,%s", json_text(a, some, JSON_COMPACT), spec + 1);
}

/* Turns one thing of it.  True: its address may change with that. */
static bool change_wish(struct chaos *c, struct wish *w)
{
    switch (chaos_below(c, 10)) {
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
        w->port = 1000 + (unsigned)chaos_below(c, 1000);
        return false;
    }
}

static bool wants_check_port(const struct wish *w)
{
    return w->local && !w->cluster_ip;
}

/* A free node port: the API server assigns any of them. */
static unsigned free_port(struct chaos *c)
{
    struct json_object *services = rig_services(c->s.rig);
    const char *text = json_text(c->s.a, services, JSON_COMPACT);
    unsigned port = 32100 + c->n_named % 600;
    while (strstr(text, arena_printf(c->s.a, ":%u", port)) != NULL) {
        port++;
    }
    return port;
}

struct wish *chaos_any_wish(struct chaos *c, bool existing)
{
    size_t n = c->n_services;
    size_t from = chaos_below(c, n);
    for (size_t i = 0; i < n; i++) {
        struct wish *w = &c->wishes[(from + i) % n];
        if ((w->name[0] != '\0') == existing) {
            return w;
        }
    }
    return NULL;
}

/* ---- actions --------------------------------------------------------------------------------- */

int chaos_step(struct chaos *c, enum step_do act, const char *what, const char *body)
{
    const struct step s = {act, what, body};
    str_appendf(&c->story, "%s %s %s\n",
                act == STEP_CREATE   ? "create"
                : act == STEP_PATCH  ? "edit"
                : act == STEP_DELETE ? "delete"
                : act == STEP_PODS   ? "pods"
                                     : "nodes",
                what, str_nonnull(body));
    return stage_step(&c->s, &s);
}

int chaos_edit_to(struct chaos *c, struct wish *w)
{
    return chaos_step(c, STEP_PATCH, w->name, patch_of(c, w));
}

static int create(struct chaos *c)
{
    struct wish *w = chaos_any_wish(c, false);
    if (w == NULL) {
        return ERR_OK;
    }
    size_t slot = (size_t)(w - c->wishes);
    *w = (struct wish){.port = 1000 + (unsigned)chaos_below(c, 1000),
                       .udp = chaos_one_in(c, 4),
                       .local = chaos_one_in(c, 3),
                       .sticky = chaos_one_in(c, 4),
                       .two_ports = chaos_one_in(c, 2),
                       .address = -1};
    w->check_port = w->local ? free_port(c) : 0;
    /* Names come back: what belonged to an older one of the same name must not be taken for
     * the new one's. */
    (void)snprintf(w->name, sizeof(w->name), "svc-%zu",
                   chaos_one_in(c, 2) ? slot : CHAOS_SERVICES_MAX + c->n_named);
    c->n_named++;
    if (c->cloud->first != NULL) {
        c->cloud->first(c, w);
    }
    if (c->cloud->fit != NULL) {
        c->cloud->fit(c, w);
    }
    int rc = chaos_step(c, STEP_CREATE, w->name, manifest_of(c, w));
    return rc == ERR_OK && c->cloud->created != NULL ? c->cloud->created(c, w) : rc;
}

static int edit(struct chaos *c)
{
    struct wish *w = chaos_any_wish(c, true);
    if (w == NULL) {
        return create(c);
    }
    bool had_port = wants_check_port(w);
    bool moves = change_wish(c, w);
    if (c->cloud->fit != NULL) {
        c->cloud->fit(c, w);
    }
    if (!had_port && wants_check_port(w)) {
        w->check_port = free_port(c);
    }
    if (moves) {
        probe_may_move(c->s.probe, stage_uid(&c->s, w->name));
        reached_may_move(c->s.reached, arena_printf(c->s.a, "default/%s", w->name));
    }
    return chaos_edit_to(c, w);
}

static int delete(struct chaos *c)
{
    struct wish *w = chaos_any_wish(c, true);
    if (w == NULL) {
        return create(c);
    }
    int rc = chaos_step(c, STEP_DELETE, w->name, NULL);
    w->name[0] = '\0';
    return rc;
}

int chaos_some_nodes(struct chaos *c, size_t min, size_t max)
{
    struct json_object *nodes = json_path(rig_world(c->s.rig), "kubernetes.nodes");
    size_t n = json_len(nodes);
    if (n < max && (n <= min || chaos_one_in(c, 2))) {
        return chaos_step(c, STEP_ADD_NODES, "1", NULL);
    }
    struct json_object *node = json_object_array_get_idx(nodes, chaos_below(c, n));
    return chaos_step(c, STEP_REMOVE_NODE, json_str(json_member(node, "metadata"), "name"), NULL);
}

static int change_nodes(struct chaos *c)
{
    return c->cloud->change_nodes(c);
}

static int kill_soon(struct chaos *c)
{
    bool after = chaos_one_in(c, 2);
    int64_t nth = 1 + (int64_t)chaos_below(c, 30);
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
    unsigned per_mille = strengths[chaos_below(c, ARRAY_LEN(strengths))];
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
                        c->cloud->calls[chaos_below(c, c->cloud->n_calls)],
                        chaos_one_in(c, 2) ? 0 : 5, statuses[chaos_below(c, ARRAY_LEN(statuses))]));
}

static int break_watches(struct chaos *c)
{
    return add_fault(c,
                     chaos_one_in(c, 2) ? "{\"do\":\"watch-cut\"}" : "{\"do\":\"watch-expire\"}");
}

int chaos_heal(struct chaos *c)
{
    str_appendf(&c->story, "heal\n");
    probe_heal(c->s.probe);
    return ERR_OK;
}

static int live(struct chaos *c)
{
    static const int64_t spans[] = {0, 500, RIG_SOON, RIG_SOON, 30000, 600000};
    int64_t ms = spans[chaos_below(c, ARRAY_LEN(spans))];
    str_appendf(&c->story, "live %lld\n", (long long)ms);
    return stage_live(&c->s, ms);
}

static const struct chaos_action actions[] = {
    {create, 12, false},      {edit, 26, false},        {delete, 10, false},
    {change_nodes, 8, false}, {kill_soon, 10, true},    {restart, 3, false},
    {storm, 8, true},         {chaos_heal, 5, true},    {live, 22, false},
    {bring_down, 6, true},    {break_watches, 4, true},
};

int chaos_act(struct chaos *c)
{
    const struct chaos_cloud *cloud = c->cloud;
    size_t n = ARRAY_LEN(actions) + (c->quiet ? 0 : cloud->n_more);
    unsigned sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        sum += c->quiet && actions[i].rough ? 0 : actions[i].weight;
    }
    for (size_t i = ARRAY_LEN(actions); i < n; i++) {
        sum += cloud->more[i - ARRAY_LEN(actions)].weight;
    }
    uint64_t at = chaos_below(c, sum);
    for (size_t i = 0; i < n; i++) {
        const struct chaos_action *one =
            i < ARRAY_LEN(actions) ? &actions[i] : &cloud->more[i - ARRAY_LEN(actions)];
        unsigned weight = c->quiet && one->rough ? 0 : one->weight;
        if (at < weight) {
            return one->act(c);
        }
        at -= weight;
    }
    return ERR_OK;
}

/* ---- an episode ------------------------------------------------------------------------------ */

static int begin(struct chaos *c, struct json_object **ret_start)
{
    struct stage *s = &c->s;
    s->cloud = c->cloud->sim;
    int rc = stage_open(s, NULL, c->flags);
    if (rc != ERR_OK) {
        return rc;
    }
    stage_watch(s);
    *ret_start = rig_world(s->rig);
    rc = world_add_foreign(s->a, *ret_start, s->err);
    if (rc == ERR_OK && c->cloud->prepare != NULL) {
        c->cloud->prepare(c, *ret_start);
    }
    rc = rc == ERR_OK ? rig_load(s->rig, *ret_start, s->err) : rc;
    if (rc == ERR_OK) {
        const char *text = json_text(s->a, rig_world(s->rig), JSON_COMPACT);
        rc = json_parse_arena(s->a, text, strlen(text), NULL, ret_start, s->err);
    }
    if (rc == ERR_OK && c->cloud->listen != NULL) {
        c->cloud->listen(c);
    }
    rc = rc == ERR_OK ? stage_start(s) : rc;
    for (size_t i = 0; i < c->n_at_first && rc == ERR_OK; i++) {
        rc = create(c);
    }
    return rc;
}

/* The common state of two clouds that reached the same Services in different ways. */
static const char *common_text(struct chaos *c, struct json_object *world)
{
    _cleanup_(json_putp) struct json_object *copy = json_copy(world);
    if (c->cloud->level != NULL) {
        c->cloud->level(c->s.a, copy);
    }
    return world_text(c->s.a, copy, c->s.names);
}

/* The same Services in an empty cloud come to the same. */
static int check_against_fresh(struct chaos *c, struct json_object *end, const char *end_text)
{
    struct stage *s = &c->s;
    struct json_object *empty = NULL;
    int rc = world_unbuilt(s->a, end, &empty, s->err);
    c->log = arena_strdup(s->a, rig_log(s->rig));
    s->seed = FRESH_SEED;
    rc = rc == ERR_OK ? stage_close(s) : rc;
    rc = rc == ERR_OK ? stage_open(s, empty, c->flags) : rc;
    rc = rc == ERR_OK ? stage_start(s) : rc;
    rc = rc == ERR_OK ? stage_settle(s, RIG_LATER) : rc;
    if (rc != ERR_OK) {
        (void)err_prefix(s->err, "building it anew");
        return rc;
    }
    const char *fresh = common_text(c, rig_world(s->rig));
    const char *diff = world_difference(s->a, fresh, end_text);
    if (diff == NULL) {
        return ERR_OK;
    }
    printf("%s\n", diff);
    return err_set(s->err, ERR_CONFLICT, "built anew it is another:%.900s", diff);
}

static int judge(struct chaos *c, struct json_object *start)
{
    struct stage *s = &c->s;
    struct json_object *end = NULL;
    const char *text = json_text(s->a, rig_world(s->rig), JSON_COMPACT);
    int rc = json_parse_arena(s->a, text, strlen(text), NULL, &end, s->err);
    const char *end_text = rc == ERR_OK ? common_text(c, end) : "";
    const char *moved = probe_moved(s->probe, s->a);
    if (rc == ERR_OK && moved != NULL) {
        rc = err_set(s->err, ERR_CONFLICT, "the address changed: %s", moved);
    }
    rc = rc == ERR_OK ? world_check_foreign(s->a, start, end, s->err) : rc;
    rc = rc == ERR_OK ? world_check_whole(s->a, end, c->deny, s->err) : rc;
    rc = rc == ERR_OK && c->cloud->judge != NULL ? c->cloud->judge(c, end) : rc;
    rc = rc == ERR_OK ? stage_check_log(s) : rc;
    rc = rc == ERR_OK ? stage_check_second_plan(s) : rc;
    return rc == ERR_OK ? check_against_fresh(c, end, end_text) : rc;
}

static int play(struct chaos *c)
{
    struct json_object *start = NULL;
    int rc = begin(c, &start);
    for (int i = 0; i < c->actions && rc == ERR_OK; i++) {
        rc = chaos_rest(c, i);
        rc = rc == ERR_OK ? chaos_act(c) : rc;
    }
    if (rc == ERR_OK) {
        rc = chaos_heal(c);
    }
    if (rc == ERR_OK && c->cloud->last != NULL) {
        rc = c->cloud->last(c);
    }
    rc = rc == ERR_OK ? stage_settle(&c->s, RIG_LATER) : rc;
    rc = rc == ERR_OK ? reached_rest(c->s.reached, "default/svc-", c->s.err) : rc;
    rc = rc == ERR_OK && c->cloud->part != NULL ? c->cloud->part(c) : rc;
    return rc == ERR_OK ? judge(c, start) : rc;
}

static const struct chaos_cloud *const clouds[] = {&chaos_gce, &chaos_gce_l4, &chaos_azure,
                                                   &chaos_aws};

static const struct chaos_cloud *cloud_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++) {
        if (str_eq(clouds[i]->name, name)) {
            return clouds[i];
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
    struct chaos c = {.s = stage_new(&err),
                      .cloud = e->cloud,
                      .rng = rng_seeded_new(e->seed),
                      .flags = usual_flags,
                      .n_services = e->cloud->n_services,
                      .n_at_first = e->cloud->n_at_first,
                      .actions = e->cloud->actions};
    if (e->cloud->choose != NULL) {
        e->cloud->choose(&c, e->seed);
    }
    chaos_rest_choose(&c, e->seed);
    int rc = play(&c);
    if (rc != ERR_OK) {
        printf("%s\n", str_buf_text(&c.story));
        if (e->verbose && c.s.rig != NULL) {
            printf("%s\n%s\n", str_nonnull(c.log), rig_log(c.s.rig));
        }
        printf("%s\n", err.message);
    }
    stage_done(&c.s);
    if (c.cloud->done != NULL) {
        c.cloud->done(&c);
    }
    str_buf_done(&c.story);
    rng_free(c.rng);
    rng_free(c.rests);
    return rc == ERR_OK ? 0 : 1;
}

/* ---- the program ----------------------------------------------------------------------------- */

struct program {
    struct arena *a;
    const struct chaos_cloud *cloud;
    struct sample sample;
    uint64_t first; /* seeds of the episodes: from here … */
    uint64_t last;  /* … up to here, in the part of the sample */
    size_t n;       /* episodes of this run */

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

static void use(void)
{
    fprintf(
        stderr,
        "usage: fault-chaos [--cloud gce|gce-l4|azure|aws] [--all | --seed N | --episodes N]\n");
    exit(2);
}

static void parse(struct program *p, int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (sample_from_env(PART_CI, PART_QUICK, &p->sample, &err) != ERR_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(2);
    }
    for (int i = 1; i < argc; i++) {
        const char *text = i + 1 < argc ? argv[i + 1] : NULL;
        uint64_t value = 0;
        if (str_eq(argv[i], "--all")) {
            p->sample.parts = 1;
            continue;
        }
        if (str_eq(argv[i], "--cloud") && cloud_find(text) != NULL) {
            p->cloud = cloud_find(text);
        } else if (str_to_u64(str_nonnull(text), &value) && value > 0 &&
                   (str_eq(argv[i], "--seed") || str_eq(argv[i], "--episodes"))) {
            p->first = str_eq(argv[i], "--seed") ? value : 1;
            p->last = value;
            p->sample.parts = 1;
        } else {
            use();
        }
        i++;
    }
    p->last = p->last == 0 ? p->cloud->episodes : p->last;
}

/* Returns one job per episode of this run.  A cloud with few episodes has no run without one. */
static struct pool_job *episodes_of(struct program *p, const char *dir)
{
    size_t most = p->last - p->first + 1;
    p->sample.parts = p->sample.parts < most ? p->sample.parts : most;
    struct episode *episodes = ARENA_ARRAY(p->a, struct episode, most);
    struct pool_job *jobs = ARENA_ARRAY(p->a, struct pool_job, most);
    for (uint64_t seed = p->first; seed <= p->last; seed++) {
        if (sample_takes_number(&p->sample, seed)) {
            episodes[p->n] =
                (struct episode){.cloud = p->cloud, .seed = seed, .verbose = p->first == p->last};
            jobs[p->n] = (struct pool_job){.fn = episode_child, .arg = &episodes[p->n]};
            jobs[p->n].file = arena_printf(p->a, "%s/%zu", dir, p->n);
            p->n++;
        }
    }
    return jobs;
}

static void say_which(const struct program *p)
{
    printf("1..%zu\n", p->n);
    if (p->first != p->last) {
        sample_print(&p->sample, stdout);
    }
    printf("# seeds");
    for (uint64_t seed = p->first; seed <= p->last; seed++) {
        if (sample_takes_number(&p->sample, seed)) {
            printf(" %llu", (unsigned long long)seed);
        }
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/trimtab-chaos-XXXXXX";
    struct program p = {.a = arena_new(), .cloud = &chaos_gce, .first = 1};
    parse(&p, argc, argv);
    (void)setenv("TRIMTAB_TEST_DATA", TRIMTAB_TEST_DATA, 0); /* meson test has set it */
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        return 1;
    }
    struct pool_job *jobs = episodes_of(&p, dir);
    say_which(&p);
    pool_run(jobs, p.n, PARALLEL, episode_ended, &p);
    printf("# %zu episodes, %.1f CPU s\n", p.n, pool_cpu_s());
    (void)rmdir(dir);
    arena_free(p.a);
    return p.failed == 0 ? 0 : 1;
}
