/* SPDX-License-Identifier: Apache-2.0 */
/* play.c: see play.h.  How a run recovers is in stage.c, what worlds have in common in world.c. */
#include "tests/fault/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "tests/fault/stage.h"
#include "tests/fault/world.h"

/* a run with one fault may make this multiple of the calls of one without, */
#define CALLS_FACTOR 12
#define CALLS_MORE   400    /* and this number more: restarts, renewed watches */
#define SETTLED_MS   120000 /* then a slow AWS shows what is */
#define STATE_MAX    (64 << 20)

/* Where tests/data/fault/foreign-azure.json puts users' elements beside ours. */
#define AZURE_OWN_BALANCER STAGE_AZURE_GROUP "Network/loadBalancers/kubernetes"

struct play {
    struct stage s;
    const struct flow *flow;
    int64_t watched; /* calls of watch_retries(), which no run without faults makes */
};

/* ---- files ----------------------------------------------------------------------------------- */

static const char *file_of(struct arena *a, const struct flow *f, const char *dir, const char *ext)
{
    return arena_printf(a, "%s/%s.%s", dir, f->name, ext);
}

static int write_text(struct play *p, const char *dir, const char *ext, const char *text)
{
    return file_write_atomic(file_of(p->s.a, p->flow, dir, ext), text, strlen(text), 0600,
                             p->s.err);
}

static int read_text(struct arena *a, const struct flow *f, const char *dir, const char *ext,
                     char **ret, struct err *err)
{
    size_t n = 0;
    return file_read(a, file_of(a, f, dir, ext), STATE_MAX, ret, &n, err);
}

int play_load(struct arena *a, const struct flow *f, const char *dir, struct play_model *ret,
              struct err *err)
{
    struct play_model m = {.flow = f};
    char *start = NULL;
    char *end = NULL;
    char *calls = NULL;
    int rc = read_text(a, f, dir, "start", &start, err);
    rc = rc == ERR_OK ? json_parse_arena(a, start, strlen(start), NULL, &m.start, err) : rc;
    rc = rc == ERR_OK ? read_text(a, f, dir, "end", &end, err) : rc;
    rc = rc == ERR_OK ? read_text(a, f, dir, "calls", &calls, err) : rc;
    if (rc == ERR_OK) {
        m.end = end;
        m.calls = str_split(a, calls, '\n', &m.n_calls);
        m.n_calls = *calls == '\0' ? 0 : m.n_calls; /* a flow may have nothing to ask */
        *ret = m;
    }
    return rc;
}

/* ---- poison ---------------------------------------------------------------------------------- */

static void refuse_poison(void *arg, const struct sim_call *call)
{
    const struct flow *f = arg;
    if (str_eq(call->op, "LoadBalancers.CreateOrUpdate") && call->body != NULL &&
        memmem(call->body, call->body_len, f->poison, strlen(f->poison)) != NULL) {
        probe_strike_now(call, "{\"do\":\"refuse\",\"status\":400,\"body\":{\"error\":{\"code\":"
                               "\"InvalidParameter\",\"message\":\"The request is not valid.\"}}}");
    }
}

/* Settings that a flow has beside its site's. */
static int open_stage(struct play *p, struct json_object *world, const char *config,
                      const char *const *flags)
{
    p->s.cloud = p->flow->cloud;
    p->s.config = config;
    p->s.settings = p->flow->settings;
    p->s.both_families = p->flow->both != NULL;
    p->s.site = str_eq(p->flow->cloud, "azure") ? site_find(p->flow->site) : NULL;
    int rc = stage_open(&p->s, world, flags);
    if (rc == ERR_OK && p->flow->poison != NULL) {
        probe_listen(p->s.probe, refuse_poison, (void *)p->flow);
    }
    return rc;
}

/* ---- the run --------------------------------------------------------------------------------- */

#define SECOND_MS  400000  /* a second try may find out what the first one did not come to */
#define RETRIES_MS 1000000 /* several more */

/* On Google a refusal that is met again at each retry costs no writes: nothing is prepared anew
 * (docs/adr/0074). */
static int watch_retries(struct play *p)
{
    const struct fault_kind *kind = p->s.kind;
    const char *first = NULL;
    if (kind->status != 403 || p->s.cloud != NULL || !probe_fired(p->s.probe)) {
        return ERR_OK;
    }
    int64_t before = probe_count(p->s.probe);
    p->s.kind = NULL; /* the stage would heal it meanwhile */
    int rc = stage_settle(&p->s, SECOND_MS);
    probe_forget_writes(p->s.probe);
    rc = rc == ERR_OK ? stage_settle(&p->s, RETRIES_MS) : rc;
    p->s.kind = kind;
    p->watched = probe_count(p->s.probe) - before;
    size_t n = rc == ERR_OK ? probe_writes_done(p->s.probe, p->s.a, &first) : 0;
    return n == 0 ? rc
                  : err_set(p->s.err, ERR_CONFLICT,
                            "it is refused for good, and %zu writes are made in further tries, "
                            "such as %s",
                            n, first);
}

/* From the start state through the edits to rest. */
static int run(struct play *p, struct json_object *world, const char *call)
{
    const struct flow *f = p->flow;
    int rc = open_stage(p, world, f->config, f->flags);
    if (rc == ERR_OK) {
        stage_watch(&p->s);
    }
    if (rc == ERR_OK && !f->cold) {
        rc = stage_start(&p->s);
        rc = rc == ERR_OK ? stage_settle(&p->s, RIG_LATER) : rc;
    }
    if (rc == ERR_OK && !f->cold && rig_mutations(p->s.rig) > 0) {
        rc = err_set(p->s.err, ERR_BUG, "the start is not at rest: %s", rig_log(p->s.rig));
    }
    if (rc != ERR_OK) {
        return rc;
    }
    rig_counts_reset(p->s.rig);
    p->s.began_ms = clock_now_ms(rig_clock(p->s.rig));
    reached_begin(p->s.reached);
    probe_begin(p->s.probe, p->s.kind, call);
    if (f->moves != NULL) {
        size_t n = 0;
        char **names = str_split(p->s.a, f->moves, ' ', &n);
        for (size_t i = 0; i < n; i++) {
            probe_may_move(p->s.probe, stage_uid(&p->s, names[i]));
            if (f->swaps) {
                reached_may_move(p->s.reached, arena_printf(p->s.a, "default/%s", names[i]));
            }
        }
    }
    for (size_t i = 0; i < FLOW_STEPS_MAX && f->steps[i].act != STEP_END && rc == ERR_OK; i++) {
        rc = stage_step(&p->s, &f->steps[i]);
    }
    if (rc == ERR_OK && f->cold) {
        rc = stage_start(&p->s);
    }
    bool down = p->s.kind != NULL && p->s.kind->effect == EFFECT_DOWN;
    if (rc == ERR_OK) {
        rc = stage_settle(&p->s, down ? STAGE_HEALED_MS : RIG_LATER);
    }
    rc = rc == ERR_OK && down ? watch_retries(p) : rc;
    if (rc == ERR_OK && down) {
        probe_heal(p->s.probe);
        rc = stage_settle(&p->s, RIG_LATER);
    }
    if (f->settings != NULL) {
        rig_advance(p->s.rig, SETTLED_MS);
    }
    return rc;
}

/* ---- judgement ------------------------------------------------------------------------------- */

static bool wants_deny(const struct flow *f)
{
    return f->flags != NULL && str_eq(f->flags[0], "--enable-l4-deny-firewall=true");
}

/* Checks at the end of every run, with a fault or without. */
static int judge(struct play *p, struct json_object *before, struct json_object *after)
{
    const struct flow *f = p->flow;
    const char *moved = probe_moved(p->s.probe, p->s.a);
    int rc = ERR_OK;
    if (moved != NULL) {
        return err_set(p->s.err, ERR_CONFLICT, "the address changed: %s", moved);
    }
    if (f->world == NULL) {
        rc = world_check_foreign(p->s.a, before, after, p->s.err);
        rc = rc == ERR_OK ? world_check_whole(p->s.a, after, wants_deny(f), p->s.err) : rc;
    }
    if (rc == ERR_OK && f->quiet) {
        const char *diff = world_difference(p->s.a, world_exact_text(p->s.a, before),
                                            world_exact_text(p->s.a, after));
        if (diff != NULL || rig_mutations(p->s.rig) > 0 || rig_service_writes(p->s.rig) > 0) {
            rc = err_set(p->s.err, ERR_CONFLICT, "something was changed: %s", str_nonnull(diff));
        }
    }
    rc = rc == ERR_OK ? stage_check_log(&p->s) : rc;
    rc = rc == ERR_OK ? stage_check_reached(&p->s) : rc;
    return rc == ERR_OK ? stage_check_second_plan(&p->s) : rc;
}

/* ---- once per flow --------------------------------------------------------------------------- */

/* The Services of the start, one after another where one names another's address. */
static int make_services(struct play *p)
{
    const struct flow *f = p->flow;
    int rc = ERR_OK;
    bool runs = false;
    for (size_t i = 0; i < FLOW_SERVICES_MAX && f->start[i].name != NULL && rc == ERR_OK; i++) {
        const struct step s = {STEP_CREATE, f->start[i].name, f->start[i].spec};
        if (strchr(s.body, '<') != NULL) {
            rc = runs ? ERR_OK : stage_start(&p->s);
            rc = rc == ERR_OK ? stage_settle(&p->s, RIG_LATER) : rc;
            runs = true;
        }
        rc = rc == ERR_OK ? stage_step(&p->s, &s) : rc;
    }
    if (rc == ERR_OK && f->start[0].name != NULL) {
        rc = runs ? ERR_OK : stage_start(&p->s);
        rc = rc == ERR_OK ? stage_settle(&p->s, RIG_LATER) : rc;
    }
    return rc;
}

static bool plays_part(const struct flow *f, const char *flag)
{
    const char *const *lists[] = {f->start_flags, f->flags};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (size_t j = 0; lists[i] != NULL && lists[i][j] != NULL; j++) {
            if (str_eq(lists[i][j], flag)) {
                return true;
            }
        }
    }
    return false;
}

/* The IPv6 access of the subnetworks; NULL: as it is. */
static void set_access(struct json_object *world, const char *access)
{
    if (access == NULL) {
        return;
    }
    json_object_object_foreach(json_member(world, "gce"), path, doc)
    {
        if (strstr(path, "/subnetworks/") != NULL) {
            json_add_str(doc, "ipv6AccessType", access);
        }
    }
}

static int make_start(struct play *p, struct json_object **ret)
{
    const struct flow *f = p->flow;
    struct json_object *world = NULL;
    int rc = f->world == NULL ? ERR_OK : rig_read_data(p->s.a, f->world, &world, p->s.err);
    rc = rc == ERR_OK ? open_stage(p, world, f->start_config, f->start_flags) : rc;
    if (rc == ERR_OK && f->world == NULL) {
        world = rig_world(p->s.rig);
        rc = world_add_foreign(p->s.a, world, p->s.err);
        if (plays_part(f, "--run-l4-netlb-controller")) {
            world_remove_service(world, "rbs"); /* of ingress-gce, whose part is played here */
        }
        if (f->alone) {
            json_object_object_del(json_member(world, f->cloud), AZURE_OWN_BALANCER);
        }
        set_access(world, f->both);
        if (p->s.site != NULL) {
            site_build(p->s.site, p->s.a, world);
        }
        if (p->s.settings != NULL) {
            stage_set(&p->s, world);
        }
        rc = rc == ERR_OK ? rig_load(p->s.rig, world, p->s.err) : rc;
    }
    rc = rc == ERR_OK ? make_services(p) : rc;
    if (rc == ERR_OK) {
        const char *text = json_text(p->s.a, rig_world(p->s.rig), JSON_COMPACT);
        rc = json_parse_arena(p->s.a, text, strlen(text), NULL, ret, p->s.err);
    }
    return rc == ERR_OK ? stage_close(&p->s) : rc;
}

/* The user got what was asked for. */
static int check_end(struct play *p, const char *end)
{
    for (size_t i = 0; i < FLOW_ENDS_MAX && p->flow->ends[i] != NULL; i++) {
        const char *want = p->flow->ends[i];
        bool not = *want == '!';
        if ((strstr(end, want + not ) != NULL) == not ) {
            printf("%s\n", end);
            return err_set(p->s.err, ERR_CONFLICT, "at the end: %s", want);
        }
    }
    return ERR_OK;
}

static int prepare(struct play *p, const char *dir)
{
    struct json_object *world = NULL;
    size_t n = 0;
    int rc = make_start(p, &world);
    if (rc != ERR_OK) {
        (void)err_prefix(p->s.err, "the start state");
        return rc;
    }
    rc = run(p, world, NULL);
    if (rc != ERR_OK) {
        return rc;
    }
    const char **calls = probe_calls(p->s.probe, p->s.a, &n);
    struct json_object *end = rig_world(p->s.rig);
    const char *end_text = world_text(p->s.a, end, p->s.names);
    rc = check_end(p, end_text);
    rc = rc == ERR_OK ? judge(p, world, end) : rc;
    rc = rc == ERR_OK ? write_text(p, dir, "start", json_text(p->s.a, world, JSON_COMPACT)) : rc;
    rc = rc == ERR_OK ? write_text(p, dir, "end", end_text) : rc;
    rc = rc == ERR_OK ? write_text(p, dir, "calls", str_join(p->s.a, calls, n, "\n")) : rc;
    return rc == ERR_OK ? stage_close(&p->s) : rc;
}

int play_prepare(const struct flow *f, const char *dir, struct err *err)
{
    struct play p = {.s = stage_new(err), .flow = f};
    int rc = prepare(&p, dir);
    if (rc != ERR_OK && p.s.rig != NULL) {
        size_t n = 0;
        const char **calls = probe_calls(p.s.probe, p.s.a, &n);
        printf("%s\n%s", str_join(p.s.a, calls, n, "\n"), rig_log(p.s.rig));
    }
    stage_done(&p.s);
    return rc;
}

/* ---- once per point -------------------------------------------------------------------------- */

static int point(struct play *p, const struct play_point *pt, bool *ret_met)
{
    const struct play_model *m = pt->model;
    int rc = run(p, m->start, pt->call);
    if (rc != ERR_OK) {
        return rc;
    }
    *ret_met = probe_fired(p->s.probe);
    int64_t calls = probe_count(p->s.probe) - p->watched;
    if (calls > (int64_t)m->n_calls * CALLS_FACTOR + CALLS_MORE) {
        rc = err_set(p->s.err, ERR_CONFLICT, "%lld calls; without faults it were %zu",
                     (long long)calls, m->n_calls);
    }
    struct json_object *after = rig_world(p->s.rig);
    const char *diff = world_difference(p->s.a, m->end, world_text(p->s.a, after, p->s.names));
    if (rc == ERR_OK && diff != NULL) {
        rc = err_set(p->s.err, ERR_CONFLICT, "the end is another than without faults:%.900s", diff);
        printf("%s\n", diff);
    }
    return rc == ERR_OK ? judge(p, m->start, after) : rc;
}

int play_point(const struct play_point *pt, bool *ret_met, struct err *err)
{
    struct play p = {.s = stage_new(err), .flow = pt->model->flow};
    p.s.kind = pt->kind;
    *ret_met = false;
    int rc = point(&p, pt, ret_met);
    if (rc != ERR_OK && pt->verbose && p.s.rig != NULL) {
        printf("%s", rig_log(p.s.rig));
    }
    stage_done(&p.s);
    return rc;
}

/* ---- without a controller -------------------------------------------------------------------- */

bool play_can_be_cold(const struct flow *f)
{
    for (size_t i = 0; i < FLOW_STEPS_MAX && f->steps[i].act != STEP_END; i++) {
        const struct step *s = &f->steps[i];
        if (s->act == STEP_REST || s->act == STEP_FORGET_POOLS ||
            (s->body != NULL && strchr(s->body, '<') != NULL)) {
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            if (s->act == STEP_CREATE && str_eq(f->steps[k].what, s->what)) {
                return false; /* the name is taken until the old one's deletion is carried out */
            }
        }
    }
    return f->poison == NULL;
}

static int run_cold(struct play *p, struct json_object *world, const struct play_ear *ear)
{
    const struct flow *f = p->flow;
    int rc = open_stage(p, world, f->config, f->flags);
    for (size_t i = 0; i < FLOW_STEPS_MAX && f->steps[i].act != STEP_END && rc == ERR_OK; i++) {
        rc = stage_step(&p->s, &f->steps[i]);
    }
    rc = rc == ERR_OK ? ear->edited(ear->arg, &p->s, p->s.err) : rc;
    rc = rc == ERR_OK ? stage_start(&p->s) : rc;
    rc = rc == ERR_OK ? stage_settle(&p->s, RIG_LATER) : rc;
    return rc == ERR_OK ? ear->rested(ear->arg, &p->s, p->s.err) : rc;
}

int play_cold(const struct flow *f, const struct play_ear *ear, struct err *err)
{
    struct play p = {.s = stage_new(err), .flow = f};
    struct json_object *world = NULL;
    int rc = make_start(&p, &world);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "the start state");
    }
    rc = rc == ERR_OK ? run_cold(&p, world, ear) : rc;
    stage_done(&p.s);
    return rc;
}
