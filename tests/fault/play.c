/* SPDX-License-Identifier: Apache-2.0 */
/* play.c: see play.h.
 *
 * Recovery is what an operator's cluster does: refusals end after a while ("healed"), a process that died or could not
 * start is started again.  Time is the fake clock's, so back-offs cost nothing. */
#include "tests/fault/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "tests/fault/world.h"

#define STARTS_MAX      6
#define EDITS_MAX       6
#define HEALED_AFTER_MS 90000 /* of the fake clock */
#define CALLS_FACTOR    12 /* a run with one fault may make so many times the calls of one without, */
#define CALLS_MORE      400 /* and so many more: restarts, watches that are opened again */
#define STATE_MAX       (64 << 20)

struct play {
    const struct flow *flow;
    struct arena *a;
    struct rig *rig;
    struct probe *probe;
    struct names *names;
    const struct fault_kind *kind; /* NULL: no fault */
    int64_t began_ms;              /* by the fake clock: when the flow began */
    struct err *err;
};

/* ---- files --------------------------------------------------------------------------------------- */

static const char *file_of(struct arena *a, const struct flow *f, const char *dir, const char *ext)
{
    return arena_printf(a, "%s/%s.%s", dir, f->name, ext);
}

static int write_text(struct play *p, const char *dir, const char *ext, const char *text)
{
    return file_write_atomic(file_of(p->a, p->flow, dir, ext), text, strlen(text), 0600, p->err);
}

static int read_text(struct arena *a, const struct flow *f, const char *dir, const char *ext,
                     char **ret, struct err *err)
{
    size_t n = 0;
    return file_read(a, file_of(a, f, dir, ext), STATE_MAX, ret, &n, err);
}

int play_calls(struct arena *a, const struct flow *f, const char *dir, char ***ret, size_t *ret_n,
               struct err *err)
{
    char *text = NULL;
    int rc = read_text(a, f, dir, "calls", &text, err);
    if (rc == ERR_OK) {
        *ret = str_split(a, text, '\n', ret_n);
    }
    return rc;
}

/* ---- the controller ------------------------------------------------------------------------------ */

/* Refusals that last have lasted long enough. */
static void heal_in_time(struct play *p)
{
    bool down = p->kind != NULL && p->kind->effect == EFFECT_DOWN && probe_fired(p->probe);
    if (down && clock_now_ms(rig_clock(p->rig)) - p->began_ms > HEALED_AFTER_MS) {
        probe_heal(p->probe);
    }
}

static bool start_is_over(void *arg)
{
    struct play *p = arg;
    heal_in_time(p);
    return probe_is_dead(p->probe);
}

static bool is_dead(void *arg)
{
    struct play *p = arg;
    return probe_is_dead(p->probe);
}

/* As a kubelet would: again and again. */
static int start(struct play *p)
{
    for (int i = 0; i < STARTS_MAX; i++) {
        err_clear(p->err);
        if (rig_start_unless(p->rig, start_is_over, p, p->err) == ERR_OK) {
            return ERR_OK;
        }
        if (probe_is_dead(p->probe)) {
            probe_heal(p->probe);
        } else {
            rig_advance(p->rig, 30000);
            heal_in_time(p);
        }
    }
    return err_prefix(p->err, "the controller does not start");
}

static int bury_and_restart(struct play *p)
{
    if (!rig_stop(p->rig)) {
        return err_set(p->err, ERR_BUG, "the controller does not end");
    }
    probe_heal(p->probe);
    return start(p);
}

/* Comes to rest, whatever it takes. */
static int settle(struct play *p, int64_t ahead_ms)
{
    if (rig_settle_unless(p->rig, ahead_ms, is_dead, p)) {
        return ERR_OK;
    }
    if (probe_is_dead(p->probe)) {
        int rc = bury_and_restart(p);
        if (rc != ERR_OK) {
            return rc;
        }
        if (rig_settle(p->rig, RIG_LATER)) {
            return ERR_OK;
        }
    }
    return err_set(p->err, ERR_BUG, "no rest within a minute");
}

/* ---- edits --------------------------------------------------------------------------------------- */

#define SERVICES "/api/v1/namespaces/default/services"

static const char *manifest(struct arena *a, const char *name, const char *spec)
{
    _cleanup_(json_putp) struct json_object *tree = NULL;
    if (json_parse(spec, strlen(spec), NULL, &tree, NULL) != ERR_OK) {
        abort(); /* a row of flows.c is no JSON */
    }
    json_add_str(tree, "type", "LoadBalancer");
    return arena_printf(a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Service\","
                        "\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":%s}",
                        name, json_text(a, tree, JSON_COMPACT));
}

static int try_step(struct play *p, const struct step *s)
{
    const char *path = arena_printf(p->a, SERVICES "/%s", s->what);
    switch (s->act) {
    case STEP_CREATE:
        return rig_kube(p->rig, "POST", SERVICES, manifest(p->a, s->what, s->body), NULL);
    case STEP_PATCH:
        return rig_kube(p->rig, "PATCH", path, s->body, NULL);
    case STEP_DELETE:
        return rig_kube(p->rig, "DELETE", path, NULL, NULL);
    case STEP_ADD_NODES:
        return rig_kube(p->rig, "POST", "/sim/nodes", arena_printf(p->a, "{\"count\":%s}", s->what),
                        NULL);
    case STEP_REMOVE_NODE:
        return rig_kube(p->rig, "DELETE", arena_printf(p->a, "/sim/nodes/%s", s->what), NULL, NULL);
    case STEP_END:
        break;
    }
    return 0;
}

/* The user tries until it is heard. */
static int do_step(struct play *p, const struct step *s)
{
    int status = 0;
    for (int i = 0; i < EDITS_MAX; i++) {
        status = try_step(p, s);
        if (status >= 200 && status < 300) {
            return ERR_OK;
        }
        if (probe_is_dead(p->probe) && bury_and_restart(p) != ERR_OK) {
            return p->err->code;
        }
        rig_advance(p->rig, HEALED_AFTER_MS / 3);
        heal_in_time(p);
    }
    return err_set(p->err, ERR_BUG, "the edit of %s was answered %d", s->what, status);
}

/* ---- the run ------------------------------------------------------------------------------------- */

static int open_rig(struct play *p, struct json_object *world, const char *const *flags)
{
    static const char *const none[] = {NULL};
    struct rig_args args = {.world = world,
                            .sim = {.nodes = world == NULL ? 6 : 0, .seed = 7},
                            .flags = flags == NULL ? none : flags};
    int rc = rig_new(&args, &p->rig, p->err);
    if (rc == ERR_OK) {
        p->probe = probe_new(p->rig, p->names);
    }
    return rc;
}

static int close_rig(struct play *p)
{
    bool ended = rig_stop(p->rig);
    if (!ended) {
        return err_set(p->err, ERR_BUG, "the controller does not end");
    }
    rig_free(STEAL(p->rig));
    probe_free(STEAL(p->probe));
    return ERR_OK;
}

/* From the start state through the edits to rest. */
static int run(struct play *p, struct json_object *world, const char *call)
{
    const struct flow *f = p->flow;
    int rc = open_rig(p, world, f->flags);
    if (rc == ERR_OK && !f->cold) {
        rc = start(p);
        rc = rc == ERR_OK ? settle(p, RIG_LATER) : rc;
    }
    if (rc == ERR_OK && !f->cold && rig_mutations(p->rig) > 0) {
        rc = err_set(p->err, ERR_BUG, "the start is not at rest: %s", rig_log(p->rig));
    }
    if (rc != ERR_OK) {
        return rc;
    }
    rig_counts_reset(p->rig);
    p->began_ms = clock_now_ms(rig_clock(p->rig));
    probe_begin(p->probe, p->kind, call);
    for (size_t i = 0; i < FLOW_STEPS_MAX && f->steps[i].act != STEP_END && rc == ERR_OK; i++) {
        rc = do_step(p, &f->steps[i]);
    }
    if (rc == ERR_OK && f->cold) {
        rc = start(p);
    }
    bool down = p->kind != NULL && p->kind->effect == EFFECT_DOWN;
    if (rc == ERR_OK) {
        rc = settle(p, down ? HEALED_AFTER_MS : RIG_LATER);
    }
    if (rc == ERR_OK && down) {
        probe_heal(p->probe);
        rc = settle(p, RIG_LATER);
    }
    return rc;
}

/* ---- judgement ----------------------------------------------------------------------------------- */

/* Nothing is left to do: an edit that means nothing, then a restart, change nothing. */
static int check_no_second_plan(struct play *p)
{
    struct json_object *services = json_path(rig_world(p->rig), "kubernetes.services");
    int64_t touched = 0;
    probe_begin(p->probe, NULL, NULL);
    rig_counts_reset(p->rig);
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        struct json_object *meta = json_member(s, "metadata");
        if (world_service_is_ours(s)) {
            const char *path = arena_printf(p->a, "/api/v1/namespaces/%s/services/%s",
                                            json_str(meta, "namespace"), json_str(meta, "name"));
            (void)rig_kube(p->rig, "PATCH", path,
                           "{\"metadata\":{\"annotations\":{\"example.com/touched\":\"1\"}}}",
                           NULL);
            touched++;
        }
    }
    int rc = settle(p, RIG_LATER);
    for (int round = 0; round < 2 && rc == ERR_OK; round++) {
        int64_t cloud = rig_mutations(p->rig);
        int64_t cluster = rig_service_writes(p->rig) - touched;
        if (cloud != 0 || cluster != 0) {
            return err_set(p->err, ERR_CONFLICT,
                           "after %s: %lld more changes in the cloud, %lld writes of Services",
                           round == 0 ? "an edit that means nothing" : "a restart",
                           (long long)cloud, (long long)cluster);
        }
        if (round == 0) {
            rc = bury_and_restart(p);
            rc = rc == ERR_OK ? settle(p, RIG_LATER) : rc;
        }
    }
    return rc;
}

static int check_log(struct play *p)
{
    static const char *const words[] = {"code=\"bug\"", "Fault of the provider"};
    const char *log = rig_log(p->rig);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const char *at = strstr(log, words[i]);
        if (at != NULL) {
            while (at > log && at[-1] != '\n') {
                at--;
            }
            return err_set(p->err, ERR_BUG, "logged: %.*s", (int)strcspn(at, "\n"), at);
        }
    }
    return ERR_OK;
}

static bool wants_deny(const struct flow *f)
{
    return f->flags != NULL && str_eq(f->flags[0], "--enable-l4-deny-firewall=true");
}

/* What holds at the end of every run, with a fault or without. */
static int judge(struct play *p, struct json_object *before, struct json_object *after)
{
    const struct flow *f = p->flow;
    const char *moved = probe_moved(p->probe, p->a, f->moves);
    int rc = ERR_OK;
    if (moved != NULL) {
        return err_set(p->err, ERR_CONFLICT, "the address changed: %s", moved);
    }
    if (f->world == NULL) {
        rc = world_check_foreign(p->a, before, after, p->err);
        rc = rc == ERR_OK ? world_check_whole(p->a, after, wants_deny(f), p->err) : rc;
    }
    if (rc == ERR_OK && f->quiet) {
        const char *diff =
            world_difference(p->a, world_exact_text(p->a, before), world_exact_text(p->a, after));
        if (diff != NULL || rig_mutations(p->rig) > 0 || rig_service_writes(p->rig) > 0) {
            rc = err_set(p->err, ERR_CONFLICT, "something was changed: %s", str_nonnull(diff));
        }
    }
    rc = rc == ERR_OK ? check_log(p) : rc;
    return rc == ERR_OK ? check_no_second_plan(p) : rc;
}

/* ---- once per flow ------------------------------------------------------------------------------- */

static int make_start(struct play *p, struct json_object **ret)
{
    const struct flow *f = p->flow;
    struct json_object *world = NULL;
    int rc = f->world == NULL ? ERR_OK : rig_read_data(p->a, f->world, &world, p->err);
    rc = rc == ERR_OK ? open_rig(p, world, f->start_flags) : rc;
    if (rc == ERR_OK && f->world == NULL) {
        world = rig_world(p->rig);
        rc = world_add_foreign(p->a, world, p->err);
        rc = rc == ERR_OK ? rig_load(p->rig, world, p->err) : rc;
    }
    for (size_t i = 0; i < FLOW_SERVICES_MAX && f->start[i].name != NULL && rc == ERR_OK; i++) {
        const struct step s = {STEP_CREATE, f->start[i].name, f->start[i].spec};
        rc = do_step(p, &s);
    }
    if (rc == ERR_OK && f->start[0].name != NULL) {
        rc = start(p);
        rc = rc == ERR_OK ? settle(p, RIG_LATER) : rc;
    }
    if (rc == ERR_OK) {
        const char *text = json_text(p->a, rig_world(p->rig), JSON_COMPACT);
        rc = json_parse_arena(p->a, text, strlen(text), NULL, ret, p->err);
    }
    return rc == ERR_OK ? close_rig(p) : rc;
}

static int prepare(struct play *p, const char *dir)
{
    struct json_object *world = NULL;
    size_t n = 0;
    int rc = make_start(p, &world);
    if (rc != ERR_OK) {
        return err_prefix(p->err, "the start state");
    }
    rc = run(p, world, NULL);
    if (rc != ERR_OK) {
        return rc;
    }
    const char **calls = probe_calls(p->probe, p->a, &n);
    struct json_object *end = rig_world(p->rig);
    const char *end_text = world_text(p->a, end, p->names);
    rc = judge(p, world, end);
    rc = rc == ERR_OK ? write_text(p, dir, "start", json_text(p->a, world, JSON_COMPACT)) : rc;
    rc = rc == ERR_OK ? write_text(p, dir, "end", end_text) : rc;
    rc = rc == ERR_OK ? write_text(p, dir, "calls", str_join(p->a, calls, n, "\n")) : rc;
    return rc == ERR_OK ? close_rig(p) : rc;
}

static struct play play_new(const struct flow *f, struct err *err)
{
    return (struct play){.flow = f, .a = arena_new(), .names = names_new(), .err = err};
}

/* A controller that did not end still uses the rig: the process ends with both. */
static void play_done(struct play *p)
{
    if (p->rig != NULL && rig_stop(p->rig)) {
        rig_free(p->rig);
        probe_free(p->probe);
    }
    names_free(p->names);
    arena_free(p->a);
}

int play_prepare(const struct flow *f, const char *dir, struct err *err)
{
    struct play p = play_new(f, err);
    int rc = prepare(&p, dir);
    if (rc != ERR_OK && p.rig != NULL) {
        printf("%s", rig_log(p.rig));
    }
    play_done(&p);
    return rc;
}

/* ---- once per point ------------------------------------------------------------------------------ */

static int point(struct play *p, const struct play_point *pt, const char *dir, bool *ret_met)
{
    char *text = NULL;
    char *end = NULL;
    struct json_object *world = NULL;
    int rc = read_text(p->a, p->flow, dir, "start", &text, p->err);
    rc = rc == ERR_OK ? json_parse_arena(p->a, text, strlen(text), NULL, &world, p->err) : rc;
    rc = rc == ERR_OK ? read_text(p->a, p->flow, dir, "end", &end, p->err) : rc;
    rc = rc == ERR_OK ? run(p, world, pt->call) : rc;
    if (rc != ERR_OK) {
        return rc;
    }
    size_t faultless = 0;
    char **calls = NULL;
    *ret_met = probe_fired(p->probe);
    rc = play_calls(p->a, p->flow, dir, &calls, &faultless, p->err);
    if (rc == ERR_OK && probe_count(p->probe) > (int64_t)faultless * CALLS_FACTOR + CALLS_MORE) {
        rc = err_set(p->err, ERR_CONFLICT, "%lld calls; without faults it were %zu",
                     (long long)probe_count(p->probe), faultless);
    }
    struct json_object *after = rig_world(p->rig);
    const char *diff = world_difference(p->a, end, world_text(p->a, after, p->names));
    if (rc == ERR_OK && diff != NULL) {
        rc = err_set(p->err, ERR_CONFLICT, "the end is another than without faults:%.900s", diff);
        printf("%s\n", diff);
    }
    return rc == ERR_OK ? judge(p, world, after) : rc;
}

int play_point(const struct play_point *pt, const char *dir, bool *ret_met, struct err *err)
{
    struct play p = play_new(pt->flow, err);
    p.kind = pt->kind;
    *ret_met = false;
    int rc = point(&p, pt, dir, ret_met);
    if (rc != ERR_OK && pt->verbose && p.rig != NULL) {
        printf("%s", rig_log(p.rig));
    }
    play_done(&p);
    return rc;
}
