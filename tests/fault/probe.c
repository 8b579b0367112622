/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c: see probe.h.
 *
 * The hook runs in the simulator's thread before the faults look at a call, so a fault that it adds
 * without a match hits this very call.  What both threads touch is behind a lock. */
#include "tests/fault/probe.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/lock.h"
#include "common/base/map.h"
#include "sim/kube/kube.h"
#include "tests/fault/names_aws.h"
#include "tests/fault/world.h"
#include "tests/support/sim_hook.h"

struct probe {
    struct rig *rig;
    struct names *names;
    struct mutex lock;
    struct map *seen;      /* call without number → int *, owned */
    struct map *calls;     /* numbered → nothing */
    struct map *published; /* uid → address, owned */
    struct map *may_move;  /* uids */
    char *moved;           /* "web: A, then B"; NULL: none did */
    int64_t count;
    const struct fault_kind *kind; /* NULL: only write down */
    char *target;
    struct map *asked; /* digests of what was asked of a cloud */
    char *stood;       /* such digests, of another run; NULL: none */
    char *never;       /* EFFECT_NEVER: operation, path and body that are refused; NULL: none */
    char *like;        /* EFFECT_STUCK: operation and path that are; NULL: none */
    bool fired;
    bool dead;
    int64_t kill_in; /* 0: not asked for */
    enum fault_effect kill_how;
    unsigned storm_per_mille;
    struct rng *storm;                                        /* NULL: never stormed */
    void (*listener)(void *arg, const struct sim_call *call); /* NULL: none */
    void *listener_arg;
    void (*watcher)(void *arg, const struct sim_call *call); /* NULL: none */
    void *watcher_arg;
    void (*done_listener)(void *arg, const struct sim_call *call); /* NULL: none */
    void *done_listener_arg;
    void (*eavesdropper)(void *arg, const struct sim_call *call); /* NULL: none */
    void *eavesdropper_arg;
    size_t writes_done;
    char *first_write;
};

/* ---- calls ----------------------------------------------------------------------------------- */

/* The name after "/operations/" or "/events/" is generated. */
static const char *path_without_whim(struct arena *a, const char *path)
{
    static const char *const before[] = {"/operations/", "/events/"};
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        const char *at = strstr(path, before[i]);
        if (at != NULL) {
            const char *rest = at + strlen(before[i]);
            return arena_printf(a, "%.*s*%s", (int)(rest - path), path, rest + strcspn(rest, "/"));
        }
    }
    return path;
}

/* "k8s-0123456789abcdef-node": the number is the cluster's id, which may just have been made. */
static const char *path_without_cluster(struct arena *a, const char *path)
{
    const char *at = strstr(path, "/k8s-");
    const char *id = at != NULL ? at + strlen("/k8s-") : "";
    if (strspn(id, "0123456789abcdef") != 16) {
        return path;
    }
    return arena_printf(a, "%.*s{cluster}%s", (int)(id - path), path, id + 16);
}

static void learn_services(struct probe *p, struct sim *s)
{
    const struct kube_state *st = sim_module_state(s, "kubernetes");
    struct kube_obj **objects = NULL;
    size_t n = 0;
    if (!kube_db_list(st->store, kube_kind_by_plural("services")->store, "", 0, &objects, &n)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = NULL;
        if (json_parse(objects[i]->text, objects[i]->len, NULL, &o, NULL) == ERR_OK) {
            names_learn(p->names, o);
            json_object_put(o);
        }
    }
    kube_objs_free(objects, n);
}

/* Is there a load balancer's name without a known owner? */
static bool has_unknown_name(const char *path)
{
    for (const char *p = path; *p != '\0'; p++) {
        bool begins = *p == 'a' && (p == path || !isalnum((unsigned char)p[-1]));
        if (begins && strspn(p, "0123456789abcdef") == 32) {
            return true;
        }
    }
    return false;
}

static const char *name_of(struct probe *p, const struct sim_call *call)
{
    struct arena *a = call->arena;
    const char *path = path_without_cluster(a, path_without_whim(a, call->path));
    if (str_eq(call->module->name, "aws")) {
        path = names_aws_call(a, call);
    }
    const char *known = names_replace(p->names, a, path);
    if (has_unknown_name(known)) {
        learn_services(p, call->sim);
        known = names_replace(p->names, a, path);
    }
    return arena_printf(a, "%s %s %s", call->module->name, call->op, known);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void add_fault(struct sim *s, const char *text)
{
    struct err err = ERR_INIT;
    _cleanup_(json_putp) struct json_object *o = NULL;
    if (json_parse(text, strlen(text), NULL, &o, &err) != ERR_OK ||
        sim_fault_add(s, o, NULL, &err) != ERR_OK) {
        fprintf(stderr, "fault: %s\n", err.message);
        abort();
    }
}

void probe_strike_now(const struct sim_call *call, const char *fault)
{
    add_fault(call->sim, fault);
}

/* The contents of the call, as one text: a cloud that refuses the contents refuses them again. */
static const char *wish_of(const struct sim_call *call)
{
    return arena_printf(call->arena, "%s %s %.*s", call->op, call->path, (int)call->body_len,
                        str_nonnull(call->body));
}

static const char *likeness_of(const struct sim_call *call)
{
    return arena_printf(call->arena, "%s %s", call->op, call->path);
}

/* Refuses these contents from now on. */
static void note_never(struct probe *p, const struct sim_call *call)
{
    if (p->never == NULL) {
        p->never = xstrdup(wish_of(call));
    }
}

/* How a call is refused for good, without who is meant. */
static const char *refusal_of(struct arena *a, const struct fault_kind *kind)
{
    return kind->fault != NULL ? kind->fault + 1
                               : arena_printf(a, "\"do\":\"refuse\",\"status\":%d}", kind->status);
}

/* `kind` has the details of a refusal; NULL for killing. */
static void strike(struct probe *p, const struct sim_call *call, enum fault_effect effect,
                   const struct fault_kind *kind)
{
    int status = kind == NULL ? 0 : kind->status;
    struct arena *a = call->arena;
    switch (effect) {
    case EFFECT_REFUSED:
        add_fault(call->sim, arena_printf(a, "{\"do\":\"refuse\",\"status\":%d}", status));
        break;
    case EFFECT_DOWN:
    case EFFECT_WITHOUT:
        add_fault(call->sim,
                  arena_printf(a, "{\"match\":{\"op\":\"%s\",\"path\":\"%s\"},\"count\":0,%s",
                               call->op, call->path, refusal_of(a, kind)));
        break;
    case EFFECT_STUCK:
        p->like = xstrdup(likeness_of(call));
        note_never(p, call);
        add_fault(call->sim, arena_printf(a, "{%s", refusal_of(a, kind)));
        break;
    case EFFECT_NEVER:
        note_never(p, call);
        add_fault(call->sim, arena_printf(a, "{%s", refusal_of(a, kind)));
        break;
    case EFFECT_FAULT:
        add_fault(call->sim, kind->fault);
        break;
    case EFFECT_LOST:
        add_fault(call->sim, "{\"do\":\"lose\"}");
        break;
    case EFFECT_KILLED_AFTER:
        add_fault(call->sim, "{\"do\":\"lose\"}");
        add_fault(call->sim, "{\"do\":\"close\",\"from\":2,\"count\":0}");
        p->dead = true;
        break;
    case EFFECT_KILLED_NEVER:
        note_never(p, call);
        add_fault(call->sim, "{\"do\":\"close\",\"count\":0}");
        p->dead = true;
        break;
    case EFFECT_KILLED_BEFORE:
        add_fault(call->sim, "{\"do\":\"close\",\"count\":0}");
        p->dead = true;
        break;
    }
}

/* The faults of one call without a crash. */
static void storm(struct probe *p, const struct sim_call *call)
{
    static const char *const weather[] = {
        "{\"do\":\"refuse\",\"status\":503}",
        "{\"do\":\"refuse\",\"status\":500}",
        "{\"do\":\"refuse\",\"status\":403}",
        "{\"do\":\"refuse\",\"status\":409}",
        "{\"do\":\"refuse\",\"status\":412}",
        "{\"do\":\"throttle\",\"retry_after\":7}",
        "{\"do\":\"refuse\",\"status\":502,\"body\":\"<html>Bad Gateway</html>\"}",
        "{\"do\":\"lose\"}",
        "{\"do\":\"close\"}",
        "{\"do\":\"delay\",\"ms\":3}",
    };
    if (p->storm_per_mille > 0 && rng_below(p->storm, 1000) < p->storm_per_mille) {
        add_fault(call->sim, weather[rng_below(p->storm, ARRAY_LEN(weather))]);
    }
}

/* "7a5f… ": a word of probe_asked(). */
static const char *digest_of(const struct sim_call *call)
{
    const char *own = http_req_header(call->req, "Host"); /* another one in each run */
    const char *wish = str_replace(call->arena, wish_of(call), str_or(own, "-"), "HOST");
    return arena_printf(call->arena, "%016llx ",
                        (unsigned long long)hash_bytes(1, wish, strlen(wish)));
}

/* Can it be refused for good without refusing what stood before? */
static bool is_news(const struct probe *p, const struct sim_call *call)
{
    bool two = p->kind->effect == EFFECT_KILLED_NEVER || p->kind->effect == EFFECT_STUCK;
    return !two || p->stood == NULL || strstr(p->stood, digest_of(call)) == NULL;
}

static bool is_refused(const struct probe *p, const struct sim_call *call)
{
    return (p->never != NULL && str_eq(p->never, wish_of(call))) ||
           (p->like != NULL && str_eq(p->like, likeness_of(call)));
}

/* Is it the call that is to fail, or one of those that fail with it?  A right on AWS is one to
 * an action. */
static bool is_target(const struct probe *p, const char *name, const char *numbered)
{
    if (p->kind->effect == EFFECT_WITHOUT && str_has_prefix(name, "aws ")) {
        return strncmp(p->target, name, strcspn(name, "/")) == 0;
    }
    if (p->kind->effect == EFFECT_WITHOUT) {
        size_t n = strlen(name);
        return strncmp(p->target, name, n) == 0 && p->target[n] == ' ' && p->target[n + 1] == '#';
    }
    return str_eq(numbered, p->target);
}

static void before_call(struct probe *p, const struct sim_call *call)
{
    const char *name = name_of(p, call);
    mutex_lock(&p->lock);
    int *nth = map_get(p->seen, name);
    if (nth == NULL) {
        nth = xcalloc(1, sizeof(*nth));
        map_set(p->seen, name, nth);
    }
    *nth += 1;
    p->count++;
    const char *numbered = arena_printf(call->arena, "%s #%d", name, *nth);
    map_set(p->calls, numbered, NULL);
    if (fault_call_writes(name)) {
        map_set(p->asked, digest_of(call), NULL);
    }
    if (p->kind != NULL && !p->fired && is_target(p, name, numbered) && is_news(p, call)) {
        p->fired = true;
        strike(p, call, p->kind->effect, p->kind);
    } else if (!p->dead && is_refused(p, call)) {
        strike(p, call, EFFECT_NEVER, p->kind);
    }
    if (p->kill_in > 0 && --p->kill_in == 0) {
        strike(p, call, p->kill_how, NULL);
    } else if (!p->dead) {
        storm(p, call);
    }
    mutex_unlock(&p->lock);
}

/* ---- addresses that users see ---------------------------------------------------------------- */

static void note_address(struct probe *p, struct json_object *service)
{
    struct json_object *meta = json_member(service, "metadata");
    const char *uid = json_str(meta, "uid");
    const char *now = world_published_address(service);
    const char *was = map_get(p->published, uid);
    if (now == NULL || str_eq(was, now)) {
        return;
    }
    if (was != NULL && !map_has(p->may_move, uid) && p->moved == NULL) {
        p->moved = xasprintf("%s: %s, then %s", json_str(meta, "name"), was, now);
    }
    map_set(p->published, uid, xstrdup(now));
}

static void note_addresses(struct probe *p, struct sim *s)
{
    const struct kube_state *st = sim_module_state(s, "kubernetes");
    struct kube_obj **objects = NULL;
    size_t n = 0;
    if (!kube_db_list(st->store, kube_kind_by_plural("services")->store, "", 0, &objects, &n)) {
        return;
    }
    mutex_lock(&p->lock);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = NULL;
        if (json_parse(objects[i]->text, objects[i]->len, NULL, &o, NULL) == ERR_OK) {
            note_address(p, o);
            json_object_put(o);
        }
    }
    mutex_unlock(&p->lock);
    kube_objs_free(objects, n);
}

/* ---- the probe ------------------------------------------------------------------------------- */

bool probe_did(const struct sim_call *call)
{
    return call->status / 100 == 2 && call->fail == NULL;
}

static void note_write(struct probe *p, const struct sim_call *call)
{
    const char *name = name_of(p, call);
    if (!probe_did(call) || !fault_call_writes(name)) {
        return;
    }
    mutex_lock(&p->lock);
    p->writes_done++;
    p->first_write = p->first_write != NULL ? p->first_write : xstrdup(name);
    mutex_unlock(&p->lock);
}

size_t probe_writes_done(struct probe *p, struct arena *a, const char **ret_first)
{
    mutex_lock(&p->lock);
    size_t n = p->writes_done;
    *ret_first = arena_strdup(a, p->first_write);
    mutex_unlock(&p->lock);
    return n;
}

void probe_forget_writes(struct probe *p)
{
    mutex_lock(&p->lock);
    p->writes_done = 0;
    free(STEAL(p->first_write));
    mutex_unlock(&p->lock);
}

static void hook(void *arg, const struct sim_call *call, bool after)
{
    struct probe *p = arg;
    if (after && p->eavesdropper != NULL) {
        p->eavesdropper(p->eavesdropper_arg, call);
    }
    if (str_has_prefix(str_nonnull(http_req_header(call->req, "User-Agent")), "rig")) {
        return;
    }
    if (!after) {
        if (p->listener != NULL) {
            p->listener(p->listener_arg, call);
        }
        before_call(p, call);
        return;
    }
    if (str_eq(call->op, "services.status.patch")) {
        note_addresses(p, call->sim);
    }
    note_write(p, call);
    if (p->done_listener != NULL) {
        p->done_listener(p->done_listener_arg, call);
    }
    if (p->watcher != NULL) {
        p->watcher(p->watcher_arg, call);
    }
}

static void install(struct sim *s, void *arg)
{
    note_addresses(arg, s);
    sim_set_hook(s, hook, arg);
}

struct probe *probe_new(struct rig *r, struct names *names)
{
    struct probe *p = xcalloc(1, sizeof(*p));
    p->rig = r;
    p->names = names;
    mutex_init(&p->lock);
    p->seen = map_new(free);
    p->calls = map_new(NULL);
    p->published = map_new(free);
    p->asked = map_new(NULL);
    p->may_move = map_new(NULL);
    rig_in_sim(r, install, p);
    return p;
}

struct ear {
    struct probe *probe;
    void (*fn)(void *arg, const struct sim_call *call);
    void *arg;
};

static void lend_eye(struct sim *s, void *arg)
{
    const struct ear *eye = arg;
    (void)s;
    eye->probe->watcher = eye->fn;
    eye->probe->watcher_arg = eye->arg;
}

void probe_watch(struct probe *p, void (*fn)(void *arg, const struct sim_call *call), void *arg)
{
    struct ear eye = {p, fn, arg};
    rig_in_sim(p->rig, lend_eye, &eye);
}

static void lend_late_ear(struct sim *s, void *arg)
{
    const struct ear *ear = arg;
    (void)s;
    ear->probe->done_listener = ear->fn;
    ear->probe->done_listener_arg = ear->arg;
}

void probe_listen_done(struct probe *p, void (*fn)(void *arg, const struct sim_call *call),
                       void *arg)
{
    struct ear ear = {p, fn, arg};
    rig_in_sim(p->rig, lend_late_ear, &ear);
}

static void lend_wide_ear(struct sim *s, void *arg)
{
    const struct ear *ear = arg;
    (void)s;
    ear->probe->eavesdropper = ear->fn;
    ear->probe->eavesdropper_arg = ear->arg;
}

void probe_overhear(struct probe *p, void (*fn)(void *arg, const struct sim_call *call), void *arg)
{
    struct ear ear = {p, fn, arg};
    rig_in_sim(p->rig, lend_wide_ear, &ear);
}

static void lend_ear(struct sim *s, void *arg)
{
    const struct ear *ear = arg;
    (void)s;
    ear->probe->listener = ear->fn;
    ear->probe->listener_arg = ear->arg;
}

void probe_listen(struct probe *p, void (*fn)(void *arg, const struct sim_call *call), void *arg)
{
    struct ear ear = {p, fn, arg};
    rig_in_sim(p->rig, lend_ear, &ear);
}

void probe_free(struct probe *p)
{
    if (p != NULL) {
        map_free(p->seen);
        map_free(p->calls);
        map_free(p->published);
        map_free(p->asked);
        free(p->stood);
        map_free(p->may_move);
        free(p->moved);
        rng_free(p->storm);
        mutex_done(&p->lock);
        free(p->target);
        free(p->never);
        free(p->like);
        free(p->first_write);
        free(p);
    }
}

void probe_begin(struct probe *p, const struct fault_kind *kind, const char *call)
{
    mutex_lock(&p->lock);
    map_clear(p->seen);
    map_clear(p->calls);
    p->count = 0;
    p->writes_done = 0;
    free(p->first_write);
    p->first_write = NULL;
    p->kind = kind;
    free(STEAL(p->never));
    free(STEAL(p->like));
    free(p->target);
    p->target = xstrdup(call);
    p->fired = false;
    p->dead = false;
    p->kill_in = 0;
    mutex_unlock(&p->lock);
}

const char **probe_calls(struct probe *p, struct arena *a, size_t *ret_n)
{
    mutex_lock(&p->lock);
    size_t n = 0;
    const char **keys = map_keys(p->calls, &n);
    const char **out = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = arena_strdup(a, keys[i]);
    }
    free(keys);
    mutex_unlock(&p->lock);
    *ret_n = n;
    return out;
}

const char *probe_asked(struct probe *p, struct arena *a)
{
    mutex_lock(&p->lock);
    size_t n = 0;
    const char **keys = map_keys(p->asked, &n);
    const char *text = str_join(a, keys, n, "");
    map_clear(p->asked);
    free(keys);
    mutex_unlock(&p->lock);
    return text;
}

void probe_stood(struct probe *p, const char *asked)
{
    mutex_lock(&p->lock);
    free(p->stood);
    p->stood = asked == NULL ? NULL : xstrdup(asked);
    mutex_unlock(&p->lock);
}

int64_t probe_count(struct probe *p)
{
    mutex_lock(&p->lock);
    int64_t n = p->count;
    mutex_unlock(&p->lock);
    return n;
}

bool probe_fired(struct probe *p)
{
    mutex_lock(&p->lock);
    bool fired = p->fired;
    mutex_unlock(&p->lock);
    return fired;
}

bool probe_is_dead(struct probe *p)
{
    mutex_lock(&p->lock);
    bool dead = p->dead;
    mutex_unlock(&p->lock);
    return dead;
}

void probe_heal(struct probe *p)
{
    mutex_lock(&p->lock);
    free(STEAL(p->never));
    free(STEAL(p->like));
    p->dead = false;
    p->kill_in = 0;
    p->storm_per_mille = 0;
    mutex_unlock(&p->lock);
    rig_fault_remove(p->rig, 0);
}

void probe_bury(struct probe *p)
{
    mutex_lock(&p->lock);
    enum fault_effect effect = p->kind == NULL ? EFFECT_REFUSED : p->kind->effect;
    bool stays = p->never != NULL && (effect == EFFECT_KILLED_NEVER || effect == EFFECT_STUCK);
    if (stays) {
        free(STEAL(p->like));
        p->dead = false;
    }
    mutex_unlock(&p->lock);
    if (stays) {
        rig_fault_remove(p->rig, 0);
    } else {
        probe_heal(p);
    }
}

void probe_kill_at(struct probe *p, int64_t nth, enum fault_effect before_or_after)
{
    mutex_lock(&p->lock);
    p->kill_in = nth;
    p->kill_how = before_or_after;
    mutex_unlock(&p->lock);
}

void probe_storm(struct probe *p, unsigned per_mille, uint64_t seed)
{
    mutex_lock(&p->lock);
    rng_free(p->storm);
    p->storm = rng_seeded_new(seed);
    p->storm_per_mille = per_mille;
    mutex_unlock(&p->lock);
}

void probe_may_move(struct probe *p, const char *uid)
{
    mutex_lock(&p->lock);
    map_set(p->may_move, uid, NULL);
    mutex_unlock(&p->lock);
}

const char *probe_moved(struct probe *p, struct arena *a)
{
    mutex_lock(&p->lock);
    const char *text = arena_strdup(a, p->moved);
    mutex_unlock(&p->lock);
    return text;
}
