/* SPDX-License-Identifier: Apache-2.0 */
/* deed.c: see deed.h. */
#include "tests/edits/deed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/run.h"
#include "common/base/str.h"

#define PLAN_MS  60000
#define PLAN_MAX (64 << 20)
#define ARGS_MAX 24

#define NEW_CLUSTER_ID "(new-cluster-id)" /* as Google's plans have it */

struct deed {
    struct arena *a;
    struct rig *rig;
    const char *cloud;
    const char *const *flags;
    struct mutex lock;
    struct map *sent;        /* calls as they were sent; _guarded_by_(lock) */
    struct map *under_way;   /* "call %p" → "create firewall x"; _guarded_by_(lock) */
    struct map *done;        /* "create firewall x" → struct tally; _guarded_by_(lock) */
    struct map *refused;     /* the same of changes that the cloud refused; _guarded_by_(lock) */
    struct json_object *doc; /* the plan; arena */
    int exit_code;           /* of the program that made it */
};

/* How often it is planned or done; a change counts once, whatever calls it takes. */
struct tally {
    size_t n;
    char *first;               /* the call, or the Service; owned */
    int first_wave, last_wave; /* of a plan */
};

static void tally_free(void *arg)
{
    struct tally *t = arg;
    free(t->first);
    free(t);
}

/* A change of what several Services share may be planned by each, and done once, or the other way
 * round; in Azure all are one batch, and each write counts. */
static void count(const struct deed *d, struct map *m, const char *does, char *first)
{
    struct tally *t = map_get(m, does);
    if (t == NULL) {
        t = xcalloc(1, sizeof(*t));
        t->first = STEAL(first);
        map_set(m, does, t);
    }
    free(first);
    t->n += t->n == 0 || !str_has_prefix(does, "change ") || str_eq(d->cloud, "azure");
}

static size_t counted(const struct map *m, const char *does)
{
    const struct tally *t = map_get(m, does);
    return t == NULL ? 0 : t->n;
}

static bool writes(const struct sim_call *call)
{
    return fault_call_writes(arena_printf(call->arena, "%s %s -", call->module->name, call->op));
}

static const char *number_of(const struct sim_call *call)
{
    return arena_printf(call->arena, "call %p", (const void *)call);
}

/* In the simulator's thread.  The effect of a call is known only before the call has it. */
static void on_call(void *arg, const struct sim_call *call)
{
    struct deed *d = arg;
    const char *does = writes(call) ? deed_of_call(call) : NULL;
    if (does != NULL) {
        mutex_lock(&d->lock);
        map_set(d->under_way, number_of(call), xstrdup(does));
        mutex_unlock(&d->lock);
    }
}

static void on_done(void *arg, const struct sim_call *call)
{
    struct deed *d = arg;
    mutex_lock(&d->lock);
    const char *does = map_get(d->under_way, number_of(call));
    const char *text = arena_printf(call->arena, "%s %s %.*s", call->method, call->path,
                                    (int)call->body_len, str_nonnull(call->body));
    if (does != NULL && !probe_did(call)) {
        count(d, d->refused, does, xasprintf("%s %s", call->op, call->path));
    } else if (does != NULL && !map_has(d->sent, text)) {
        map_set(d->sent, text, NULL);
        count(d, d->done, does, xasprintf("%s %s", call->op, call->path));
    }
    map_remove(d->under_way, number_of(call));
    mutex_unlock(&d->lock);
}

struct deed *deed_new(struct rig *r, struct probe *p, const char *cloud, const char *const *flags)
{
    struct deed *d = xcalloc(1, sizeof(*d));
    d->a = arena_new();
    d->rig = r;
    d->cloud = cloud;
    d->flags = flags;
    mutex_init(&d->lock);
    d->sent = map_new(NULL);
    d->under_way = map_new(free);
    d->done = map_new(tally_free);
    d->refused = map_new(tally_free);
    probe_listen(p, on_call, d);
    probe_listen_done(p, on_done, d);
    return d;
}

void deed_free(struct deed *d)
{
    if (d != NULL) {
        map_free(d->sent);
        map_free(d->under_way);
        map_free(d->done);
        map_free(d->refused);
        mutex_done(&d->lock);
        arena_free(d->a);
        free(d);
    }
}

void deed_begin(struct deed *d)
{
    mutex_lock(&d->lock);
    map_clear(d->sent);
    map_clear(d->done);
    map_clear(d->refused);
    mutex_unlock(&d->lock);
}

struct json_object *deed_document(const struct deed *d)
{
    return d->doc;
}

int deed_plan(struct deed *d, const char *file, struct err *err)
{
    const char *conf = arena_printf(d->a, "--cloud-config=%s",
                                    rig_file(d->rig, str_eq(d->cloud, "azure") ? "azure.json"
                                                     : str_eq(d->cloud, "aws") ? "aws.conf"
                                                                               : "gce.conf"));
    const char *argv[ARGS_MAX] = {
        TRIMTAB_EDITS_PROGRAM,
        "plan",
        "-o",
        "json",
        arena_printf(d->a, "--cloud-provider=%s", d->cloud),
        conf,
        arena_printf(d->a, "--kubeconfig=%s", rig_file(d->rig, "kubeconfig"))};
    size_t n = 7;
    if (file != NULL) {
        argv[n++] = "-f";
        argv[n++] = file;
    }
    for (size_t i = 0; d->flags != NULL && d->flags[i] != NULL && n < ARGS_MAX - 1; i++) {
        if (!str_has_prefix(d->flags[i], "--concurrent-")) { /* of the controller alone */
            argv[n++] = d->flags[i];
        }
    }
    struct run_result out;
    const struct run_args args = {.argv = argv,
                                  .envp = (const char *const *)environ,
                                  .timeout_ms = PLAN_MS,
                                  .out_max = PLAN_MAX,
                                  .err_max = 4096};
    int rc = run_program(d->a, &args, &out, err);
    d->exit_code = rc == ERR_OK ? out.exit_code : -1;
    d->doc = NULL;
    rc = rc == ERR_OK ? json_parse_arena(d->a, out.out, out.out_len, NULL, &d->doc, err) : rc;
    if (rc != ERR_OK) {
        (void)err_prefix(err, "trimtab plan (%s)", out.err);
    }
    return rc;
}

/* An operation with several owners stands in the list of each, under one number. */
static void note_planned(struct deed *d, struct map *planned, struct map *seen,
                         struct json_object *service)
{
    struct json_object *ops = json_member(service, "operations");
    for (size_t i = 0; i < json_len(ops); i++) {
        struct json_object *op = json_object_array_get_idx(ops, i);
        const char *number = arena_printf(d->a, "%d", (int)json_int(op, "n", 0));
        const char *does = deed_of_operation(d->a, d->cloud, op);
        if (does != NULL && !map_has(seen, number)) {
            int wave = (int)json_int(op, "wave", 0);
            map_set(seen, number, NULL);
            count(d, planned, does, xstrdup(json_str(op, "why")));
            struct tally *t = map_get(planned, does);
            t->first_wave = t->first_wave == 0 || wave < t->first_wave ? wave : t->first_wave;
            t->last_wave = wave > t->last_wave ? wave : t->last_wave;
        }
    }
}

static struct map *planned_of(struct deed *d)
{
    struct map *planned = map_new(tally_free);
    struct map *seen = map_new(NULL);
    struct json_object *services = json_member(d->doc, "services");
    for (size_t i = 0; i < json_len(services); i++) {
        note_planned(d, planned, seen, json_object_array_get_idx(services, i));
    }
    map_free(seen);
    return planned;
}

/* A name with the cluster's id in it is not known before the cluster has one. */
static size_t counted_like(const struct map *m, const char *does)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *glob = str_replace(a, does, NEW_CLUSTER_ID, "*");
    size_t n = 0;
    const char **keys = map_keys(m, &n);
    size_t sum = counted(m, does);
    for (size_t i = 0; i < n && sum == 0; i++) {
        const char *key = str_replace(a, keys[i], NEW_CLUSTER_ID, "*");
        bool like = !str_eq(glob, does) ? str_glob(glob, keys[i])
                                        : !str_eq(key, keys[i]) && str_glob(key, does);
        sum = like ? counted(m, keys[i]) : 0;
    }
    free(keys);
    return sum;
}

/* Returns whether any operation is about that resource. */
static bool is_named(const struct map *m, const char *does)
{
    static const char *const verbs[] = {"create", "change", "delete"};
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        if (counted_like(m, arena_printf(a, "%s%s", verbs[i], strchr(does, ' '))) > 0) {
            return true;
        }
    }
    return false;
}

/* The first wave of the plan in which something was refused; INT_MAX: none. */
static int refused_wave(const struct deed *d, const struct map *planned)
{
    size_t n = 0;
    const char **keys = map_keys(planned, &n);
    int first = INT_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct tally *t = map_get(planned, keys[i]);
        bool refused = counted_like(d->refused, keys[i]) > 0;
        first = refused && t->first_wave < first ? t->first_wave : first;
    }
    free(keys);
    return first;
}

/* Words that are oftener in `m` than in `other`. */
static void tell(struct deed *d, const struct map *m, const struct map *other, const char *how,
                 bool (*excused)(const struct deed *d, const struct map *planned, const char *does),
                 struct deed_ear ear)
{
    size_t n = 0;
    const char **keys = map_keys(m, &n);
    for (size_t i = 0; i < n; i++) {
        const struct tally *t = map_get(m, keys[i]);
        size_t others = counted_like(other, keys[i]);
        if (t->n > others && !excused(d, m == d->done ? other : m, keys[i])) {
            ear.report(ear.arg, arena_printf(d->a, "E5: %s: %s, %zu and %zu times (%s)", how,
                                             keys[i], t->n, others, t->first));
        }
    }
    free(keys);
}

/* The change was refused, or is in a later wave than a refused one. */
static bool was_cut_off(const struct deed *d, const struct map *planned, const char *does)
{
    const struct tally *t = map_get(planned, does);
    return counted_like(d->refused, does) > 0 || t->last_wave > refused_wave(d, planned);
}

/* After a refusal the controller may undo changes, or try them in another order. */
static bool is_second_try(const struct deed *d, const struct map *planned, const char *does)
{
    return refused_wave(d, planned) < INT_MAX && is_named(planned, does);
}

static struct json_object *service_at(const struct deed *d, size_t i)
{
    return json_object_array_get_idx(json_member(d->doc, "services"), i);
}

int deed_exit(const struct deed *d)
{
    return d->exit_code;
}

bool deed_announces(const struct deed *d, const char *key)
{
    for (size_t i = 0; service_at(d, i) != NULL; i++) {
        struct json_object *effects = json_member(service_at(d, i), "effects");
        bool this = str_eq(json_str(service_at(d, i), "service"), key);
        for (size_t k = 0; this && k < json_len(effects); k++) {
            const char *text = json_object_get_string(json_object_array_get_idx(effects, k));
            if (strstr(text, "interrupted") != NULL || strstr(text, "Traffic stops") != NULL) {
                return true;
            }
        }
    }
    return false;
}

void deed_judge_exit(struct deed *d, struct deed_ear ear)
{
    bool error = false, changes = false;
    for (size_t i = 0; service_at(d, i) != NULL; i++) {
        struct json_object *ops = json_member(service_at(d, i), "operations");
        error = error || json_member(service_at(d, i), "error") != NULL;
        for (size_t k = 0; k < json_len(ops); k++) {
            const char *verb = json_str(json_object_array_get_idx(ops, k), "verb");
            changes = changes || !str_eq(verb, "keep");
        }
    }
    int want = error ? 1 : changes ? 2 : 0;
    if (d->exit_code != want) {
        ear.report(ear.arg, arena_printf(d->a, "E5: the plan has %s, and trimtab plan ends with %d",
                                         error     ? "an error"
                                         : changes ? "changes"
                                                   : "nothing to do",
                                         d->exit_code));
    }
}

void deed_judge(struct deed *d, struct deed_ear ear)
{
    struct map *planned = planned_of(d);
    mutex_lock(&d->lock);
    tell(d, planned, d->done, "planned and not done", was_cut_off, ear);
    tell(d, d->done, planned, "done and not planned", is_second_try, ear);
    mutex_unlock(&d->lock);
    map_free(planned);
}
