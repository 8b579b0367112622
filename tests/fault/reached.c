/* SPDX-License-Identifier: Apache-2.0 */
/* reached.c: see reached.h.
 *
 * All is seen in the simulator's thread, one call after another; what a plan announces waits behind
 * the lock until the next call.  Ranges that last are in the watch's own arena. */
#include "tests/fault/reached.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/net/http_server.h"
#include "sim/kube/kube.h"
#include "sim/reach/reach.h"
#include "tests/edits/served.h"
#include "tests/fault/reached_words.h"
#include "tests/fault/world.h"
#include "trimtab/provider.h"

#define MANY   40 /* Services: a look costs more than the call, so only */
#define ONE_OF 4  /* calls is checked; rest is judged all the same */

/* A port of a Service as it is now. */
struct kept {
    struct served_port port;
    struct reach_ranges must; /* are served, and within `limit` */
    /* allowed by all settings since the last rest: a sync may apply any of them */
    struct reach_ranges limit;
    struct reach_ranges first; /* were served at the beginning */
    bool announced; /* a plan has said that traffic stops, and it has not come back since */
    bool stopped;   /* it has stopped since */
    bool again;     /* another plan has said so since it stopped */
};
struct service {
    const char *host;   /* what it publishes, with commas between; NULL: nothing */
    const char **hosts; /* the same, one by one: of both families */
    size_t n_hosts;
    bool *served;               /* per host: it was, since the status names it */
    const char *lets;           /* annotations that say who comes in, as text */
    struct json_object *object; /* owned */
    int64_t version;
    bool asks;   /* for a load balancer */
    bool edited; /* since reached_begin(), or made since */
    bool moves;  /* not judged: it is to move, or its owner changed who may come in */
    bool seen;   /* in the list that is being read */
    struct kept ports[SERVED_PORTS_MAX];
    size_t n_ports;
};
struct reached {
    struct rig *rig;
    struct arena *a;      /* since reached_begin() */
    struct map *services; /* "default/web" → struct service, owned */
    /* "address TCP/80" → who reached it at the beginning, as text; in the arena */
    struct map *foreign;
    const char *cloud; /* the simulator's module; NULL: no call of it has come yet */
    bool paused;
    bool others_admit;
    bool begun;    /* and not yet checked */
    size_t calls;  /* that may take something away, of a large cluster */
    char *finding; /* the first; NULL: none */
    struct mutex lock;
    struct map *announced; /* keys of Services, from plans */
};

/* One look. */
struct look {
    struct reached *w;
    struct arena *tmp;
    struct json_object *reach;
    const char *after;
    bool first; /* that of reached_begin() */
    bool stale; /* more is to be served than was so far */
    bool rest;
    const char *only; /* Services whose key begins so are judged at rest; NULL: all */
    const char *key;  /* of the Service that is checked */
};

static void find(struct look *l, const char *text)
{
    if (l->w->finding == NULL) {
        l->w->finding = xasprintf("%s, after %s", text, l->after);
    }
}

/* ---- Services -------------------------------------------------------------------------------- */

/* Clients that reach the port at one of its addresses. */
static struct reach_ranges clients_of(struct look *l, const struct service *s,
                                      const struct served_port *p)
{
    struct reach_ranges all = REACH_NOBODY;
    for (size_t i = 0; i < s->n_hosts; i++) {
        all = reach_ranges_or(l->tmp, all, served_clients(l->tmp, l->reach, s->hosts[i], p));
    }
    return all;
}

static struct kept *port_of(struct service *s, const struct served_port *p)
{
    for (size_t i = 0; i < s->n_ports; i++) {
        if (s->ports[i].port.port == p->port && str_eq(s->ports[i].port.protocol, p->protocol)) {
            return &s->ports[i];
        }
    }
    return NULL;
}

/* The clients that a Service allows. */
static struct reach_ranges allowed_of(struct arena *a, const struct service *s)
{
    struct json_object *list = json_path(s->object, "spec.ipFamilies");
    bool families[2] = {json_len(list) == 0, json_len(list) == 0};
    for (size_t i = 0; i < json_len(list); i++) {
        const char *one = json_object_get_string(json_object_array_get_idx(list, i));
        families[str_eq(one, "IPv6")] = true;
    }
    return served_allowed(a, s->object, reach_ranges_all(a, families[0], families[1]));
}

/* Clients served at a port that stays must still be served, if they are still allowed.  The ports
 * of a new Service count from the start, those that an edit adds from the next rest. */
static void take_ports(struct reached *w, struct service *s, bool new, struct arena *tmp)
{
    struct served_port now[SERVED_PORTS_MAX];
    struct kept ports[SERVED_PORTS_MAX];
    size_t n = s->asks ? served_ports(s->object, now) : 0;
    struct reach_ranges allowed = allowed_of(tmp, s);
    for (size_t i = 0; i < n; i++) {
        const struct kept *was = port_of(s, &now[i]);
        ports[i] = was != NULL ? *was : (struct kept){0};
        ports[i].port = (struct served_port){arena_strdup(w->a, now[i].protocol), now[i].port};
        ports[i].limit = reach_ranges_and(w->a, new ? allowed : ports[i].limit, allowed);
        ports[i].limit = s->moves ? REACH_NOBODY : ports[i].limit;
        ports[i].must = reach_ranges_and(w->a, ports[i].must, ports[i].limit);
    }
    memcpy(s->ports, ports, n * sizeof(ports[0]));
    s->n_ports = n;
}

static void take_service(struct reached *w, struct service *s, struct json_object *o, bool by_user,
                         struct arena *tmp)
{
    struct json_object *meta = json_member(o, "metadata");
    const char *host = reached_hosts_of(tmp, o);
    const char *lets = reached_lets_of(tmp, json_member(meta, "annotations"));
    s->edited = s->edited || by_user;
    s->moves = s->moves || (s->lets != NULL && !str_eq(lets, s->lets));
    s->lets = arena_strdup(w->a, lets);
    if (!str_eq(host, s->host)) {
        s->host = arena_strdup(w->a, host);
        s->moves = false;
        s->hosts = (const char **)str_split(w->a, str_nonnull(host), ',', &s->n_hosts);
        s->served = ARENA_ARRAY(w->a, bool, s->n_hosts + 1);
        for (size_t i = 0; i < s->n_ports; i++) {
            s->ports[i].must = REACH_NOBODY; /* it was of the other address */
        }
    }
    s->asks = str_eq(json_str(json_member(o, "spec"), "type"), "LoadBalancer") &&
              json_member(meta, "deletionTimestamp") == NULL;
    bool new = s->object == NULL;
    json_object_put(s->object);
    s->object = json_object_get(o);
    take_ports(w, s, new, tmp);
}

static void service_free(void *arg)
{
    struct service *s = arg;
    json_object_put(s->object);
    free(s);
}

static bool forget_seen(const char *key, void *value, void *arg)
{
    (void)key;
    (void)arg;
    ((struct service *)value)->seen = false;
    return true;
}

static bool drop_unseen(const char *key, void *value, void *arg)
{
    struct service *s = value;
    (void)key;
    (void)arg;
    if (!s->seen) { /* one of its name may come, which is another */
        json_object_put(s->object);
        *s = (struct service){0};
    }
    return true;
}

/* Reads the Services that differ from those that are known. */
static void learn(struct reached *w, struct sim *sim, bool by_user, struct arena *tmp)
{
    const struct kube_state *st = sim_module_state(sim, "kubernetes");
    struct kube_obj **objects = NULL;
    size_t n = 0;
    if (!kube_db_list(st->store, kube_kind_by_plural("services")->store, "", 0, &objects, &n)) {
        return;
    }
    map_each(w->services, forget_seen, NULL);
    for (size_t i = 0; i < n; i++) {
        struct service *s = map_get(w->services, objects[i]->key);
        if (s == NULL) {
            s = xcalloc(1, sizeof(*s));
            map_set(w->services, objects[i]->key, s);
        }
        s->seen = true;
        if (s->version != objects[i]->rv) {
            struct json_object *o = kube_obj_tree(objects[i]);
            s->version = objects[i]->rv;
            take_service(w, s, o, by_user, tmp);
            json_object_put(o);
        }
    }
    map_each(w->services, drop_unseen, NULL);
    kube_objs_free(objects, n);
}

/* ---- a look ---------------------------------------------------------------------------------- */

static void lost_or_not(struct look *l, struct service *s, struct kept *k, struct reach_ranges are)
{
    struct reach_ranges lost = reach_ranges_minus(l->tmp, k->must, are);
    const char *port = served_port_text(l->tmp, &k->port);
    if (reach_ranges_empty(lost)) {
        bool back = k->stopped && !reach_ranges_empty(are);
        k->announced = back ? k->again : k->announced;
        k->again = k->again && !back;
        k->stopped = k->stopped && !back;
    } else if (k->announced) {
        k->stopped = true;
    } else if (!l->w->paused) {
        find(l, arena_printf(l->tmp, "E1: %s of %s (%s) is not served to %s", port, l->key, s->host,
                             served_ranges_text(l->tmp, lost)));
    }
    struct reach_ranges more = reach_ranges_minus(l->tmp, are, k->first);
    if (!s->edited && !l->w->paused && !reach_ranges_empty(k->first) && !reach_ranges_empty(more)) {
        find(l, arena_printf(l->tmp, "E1: %s of %s (%s), which nobody edited, is served to %s, too",
                             port, l->key, s->host, served_ranges_text(l->tmp, more)));
    }
}

/* At rest: as its source ranges say.  What is inside the network, a cloud may let in by rules of
 * its own (judge.h of tests/edits), and an internal address is not reached from everywhere. */
static void judge_rest(struct look *l, struct service *s, struct kept *k, struct reach_ranges are)
{
    struct arena *a = l->tmp;
    struct reach_ranges all = reach_ranges_all(a, true, true);
    struct reach_ranges want = served_allowed(a, s->object, all);
    struct reach_ranges may = reach_ranges_or(a, want, reach_ranges_of(a, "10.0.0.0/8"));
    bool named = !reach_ranges_equal(want, all);
    if (served_says_nobody(s->object) && reach_ranges_empty(are)) {
        return; /* as reported */
    }
    if (!reach_ranges_within(a, are, may) ||
        reach_ranges_empty(named ? reach_ranges_and(a, are, want) : are)) {
        const char *port = served_port_text(a, &k->port);
        struct json_object *entry = json_member(json_member(l->reach, s->host), port);
        find(l,
             arena_printf(a, "E6: at rest %s of %s (%s) is served to %s; asked for: %s (%s)", port,
                          l->key, s->host, served_ranges_text(a, are), served_ranges_text(a, want),
                          str_or(json_str(entry, "why"), "no reason is known")));
    }
}

/* An address of a family that the Service gives up serves as long as the status names it, at the
 * ports of before. */
static void given_up_or_not(struct look *l, const struct service *s)
{
    bool judged = s->asks && !l->w->paused;
    for (size_t i = 0; s->n_hosts > 1 && i < s->n_hosts; i++) {
        bool serves = reached_serves_any(l->reach, s->hosts[i]);
        if (judged && s->served[i] && !serves && !reached_asks_family_of(s->object, s->hosts[i])) {
            find(l, arena_printf(l->tmp, "%s, which the status of %s names, serves no client",
                                 s->hosts[i], l->key));
        }
        s->served[i] = serves;
    }
}

static bool look_at_service(const char *key, void *value, void *arg)
{
    struct look *l = arg;
    struct service *s = value;
    l->key = key;
    given_up_or_not(l, s);
    for (size_t i = 0; i < s->n_ports && s->host != NULL; i++) {
        struct kept *k = &s->ports[i];
        struct reach_ranges are = clients_of(l, s, &k->port);
        if (l->first) {
            k->first = reach_ranges_or(l->w->a, are, REACH_NOBODY);
        }
        lost_or_not(l, s, k, are);
        if (l->rest && (l->only == NULL || str_has_prefix(key, l->only)) && s->edited &&
            *s->lets == '\0' && !l->w->others_admit) {
            judge_rest(l, s, k, are);
        }
        struct reach_ranges must = reach_ranges_and(l->tmp, are, k->limit);
        if (!reach_ranges_equal(must, k->must)) {
            k->must = reach_ranges_or(l->w->a, must, REACH_NOBODY);
        }
    }
    return true;
}

/* ---- unwanted reachability ------------------------------------------------------------------- */

struct open_port {
    const char *host, *port;
    bool asked;
};

static bool asks_for(const char *key, void *value, void *arg)
{
    struct open_port *o = arg;
    const struct service *s = value;
    (void)key;
    for (size_t i = 0; s->asks && i < s->n_hosts; i++) {
        o->asked = o->asked || str_eq(s->hosts[i], o->host);
    }
    return !o->asked;
}

/* At rest: a reachable address is a Service's, or existed before and is unchanged. */
static void judge_others(struct look *l)
{
    struct reached *w = l->w;
    json_object_object_foreach(l->reach, host, ports)
    {
        struct open_port o = {.host = host};
        map_each(w->services, asks_for, &o);
        json_object_object_foreach(ports, port, entry)
        {
            const char *now = json_text(l->tmp, json_member(entry, "clients"), JSON_COMPACT);
            const char *name = arena_printf(l->tmp, "%s %s", host, port);
            const char *was = map_get(w->foreign, name);
            if (l->first && !o.asked) {
                map_set(w->foreign, name, arena_strdup(w->a, now));
            } else if (l->rest && !o.asked && !str_eq(now, str_or(was, "[]"))) {
                find(l, arena_printf(l->tmp, "at rest %s of no Service is served to %s; was: %s",
                                     name, now, str_or(was, "nobody")));
            }
        }
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void note_announced(struct kept *k)
{
    k->again = k->stopped;
    k->announced = true;
}

/* A port that came to another Service of the address since the beginning was served for the
 * announced one until now. */
static bool announce_taken_over(const char *key, void *value, void *arg)
{
    const struct service *s = arg;
    struct service *other = value;
    bool shares = other != s && other->host != NULL && str_eq(other->host, s->host);
    (void)key;
    for (size_t i = 0; shares && i < other->n_ports; i++) {
        if (reach_ranges_empty(other->ports[i].first)) {
            note_announced(&other->ports[i]);
        }
    }
    return true;
}

static bool announce(const char *key, void *value, void *arg)
{
    struct reached *w = arg;
    struct service *s = map_get(w->services, key);
    (void)value;
    for (size_t i = 0; s != NULL && i < s->n_ports; i++) {
        note_announced(&s->ports[i]);
    }
    if (s != NULL) {
        map_each(w->services, announce_taken_over, s);
    }
    return true;
}

static void take_announced(struct reached *w)
{
    mutex_lock(&w->lock);
    map_each(w->announced, announce, w);
    map_clear(w->announced);
    mutex_unlock(&w->lock);
}

/* The judge of Azure looks for addresses of nodes; of the other clouds, none of the cluster. */
static void add_nodes(struct sim *sim, struct json_object *world)
{
    const struct kube_state *st = sim_module_state(sim, "kubernetes");
    struct kube_obj **objects = NULL;
    size_t n = 0;
    struct json_object *cluster = json_object_new_object();
    struct json_object *nodes = json_object_new_array();
    json_add(world, "kubernetes", cluster);
    json_add(cluster, "nodes", nodes);
    if (kube_db_list(st->store, kube_kind_by_plural("nodes")->store, "", 0, &objects, &n)) {
        for (size_t i = 0; i < n; i++) {
            json_object_array_add(nodes, kube_obj_tree(objects[i]));
        }
        kube_objs_free(objects, n);
    }
}

static void look(struct look *l, struct sim *sim)
{
    static const struct sim_module *const clouds[] = {&sim_compute_module, &sim_arm_module,
                                                      &sim_aws_module};
    struct reached *w = l->w;
    _cleanup_(json_putp) struct json_object *world = json_object_new_object();
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++) {
        void *state = sim_module_state(sim, clouds[i]->name);
        if (state != NULL) {
            clouds[i]->dump(state, world);
        }
    }
    if (sim_module_state(sim, sim_arm_module.name) != NULL) {
        add_nodes(sim, world);
    }
    take_announced(w);
    l->reach = reach_of_world(world);
    map_each(w->services, look_at_service, l);
    judge_others(l);
    json_object_put(l->reach);
}

/* Can a client lose access by it?  Additions are seen at the next check. */
static bool may_take_away(const struct sim_call *call)
{
    static const char *const adds[] = {
        ".insert",    ".addInstance", ".addHealthCheck", ".attach", ".Create",
        ".Authorize", ".Add",         ".Register",       ".Attach", ".Enable"};
    const char *api = call->module->name;
    if (str_eq(api, "azure")) { /* deletions that were begun may be done at a poll */
        return strstr(call->op, "perations.") != NULL ||
               fault_call_writes(arena_printf(call->arena, "azure %s -", call->op));
    }
    bool takes = (str_eq(api, "gce") || str_eq(api, "aws")) &&
                 fault_call_writes(arena_printf(call->arena, "%s %s -", api, call->op));
    for (size_t i = 0; takes && i < ARRAY_LEN(adds); i++) {
        bool denies = strstr(call->op, "irewall") != NULL; /* a new one may be a refusal */
        takes = denies || strstr(call->op, adds[i]) == NULL;
    }
    return takes;
}

static void on_call(void *arg, const struct sim_call *call)
{
    struct reached *w = arg;
    const char *api = call->module->name;
    bool by_user = str_has_prefix(str_nonnull(http_req_header(call->req, "User-Agent")), "rig");
    if (!w->begun || call->status / 100 != 2) {
        return;
    }
    if (str_eq(api, "kubernetes")) {
        if (str_has_prefix(call->op, "services.") && !str_eq(call->method, "GET")) {
            learn(w, call->sim, by_user, call->arena);
        }
        return;
    }
    bool many = map_size(w->services) > MANY;
    if (may_take_away(call) && (!many || ++w->calls % ONE_OF == 0)) {
        struct look l = {.w = w, .tmp = call->arena};
        l.after = arena_printf(call->arena, "%s %s", call->op, call->path);
        look(&l, call->sim);
    }
}

static void on_plan(void *arg, const struct tt_plan *plan)
{
    struct reached *w = arg;
    mutex_lock(&w->lock);
    for (uint32_t i = 0; i < plan->n_services; i++) {
        const struct tt_plan_service *s = plan->services[i];
        for (uint32_t k = 0; k < s->n_effects; k++) {
            if (reached_is_announcement(s->effects[k])) {
                map_set(w->announced, s->key, NULL);
            }
        }
    }
    mutex_unlock(&w->lock);
}

/* ---- the test's side ------------------------------------------------------------------------- */

static void begin(struct sim *sim, void *arg)
{
    struct look *l = arg;
    struct reached *w = l->w;
    map_clear(w->services);
    map_clear(w->foreign);
    arena_reset(w->a);
    w->paused = false;
    w->begun = !l->rest;
    free(STEAL(w->finding));
    learn(w, sim, l->rest, l->tmp);
    look(l, sim);
}

static void pause_now(struct sim *sim, void *arg)
{
    (void)sim;
    ((struct reached *)arg)->paused = true;
}

static void resume_now(struct sim *sim, void *arg)
{
    struct look *l = arg;
    look(l, sim);
    l->w->paused = false;
}

static void rest_now(struct sim *sim, void *arg)
{
    look(arg, sim);
}

static void in_sim(struct look l, void (*fn)(struct sim *sim, void *arg))
{
    l.tmp = arena_new();
    rig_in_sim(l.w->rig, fn, &l);
    arena_free(l.tmp);
}

struct reached *reached_new(struct rig *r, struct probe *p, bool others_admit)
{
    struct reached *w = xcalloc(1, sizeof(*w));
    w->rig = r;
    w->others_admit = others_admit;
    w->a = arena_new();
    w->services = map_new(service_free);
    w->foreign = map_new(NULL);
    w->announced = map_new(NULL);
    mutex_init(&w->lock);
    rig_on_plan(r, on_plan, w);
    probe_overhear(p, on_call, w);
    return w;
}

void reached_free(struct reached *w)
{
    if (w != NULL) {
        map_free(w->services);
        map_free(w->foreign);
        map_free(w->announced);
        mutex_done(&w->lock);
        arena_free(w->a);
        free(w->finding);
        free(w);
    }
}

void reached_begin(struct reached *w)
{
    in_sim((struct look){.w = w, .after = "the start", .first = true}, begin);
}

void reached_pause(struct reached *w)
{
    rig_in_sim(w->rig, pause_now, w);
}

void reached_resume(struct reached *w)
{
    in_sim((struct look){.w = w, .after = "somebody else's change"}, resume_now);
}

static bool calm_service(const char *key, void *value, void *arg)
{
    struct look *l = arg;
    struct service *s = value;
    (void)key;
    for (size_t i = 0; i < s->n_ports && !s->moves; i++) {
        struct reach_ranges allowed = allowed_of(l->tmp, s);
        if (!reach_ranges_equal(allowed, s->ports[i].limit)) {
            s->ports[i].limit = reach_ranges_or(l->w->a, allowed, REACH_NOBODY);
            l->stale = true;
        }
    }
    return true;
}

static void calm(struct sim *sim, void *arg)
{
    struct look *l = arg;
    map_each(l->w->services, calm_service, l);
    if (l->stale) {
        look(l, sim);
    }
}

void reached_calm(struct reached *w)
{
    if (!w->begun) {
        return;
    }
    in_sim((struct look){.w = w, .after = "all was at rest"}, calm);
}

struct moving {
    struct reached *w;
    const char *key;
};

static void may_move(struct sim *sim, void *arg)
{
    const struct moving *m = arg;
    struct service *s = map_get(m->w->services, m->key);
    (void)sim;
    if (s != NULL) {
        s->moves = true;
        for (size_t i = 0; i < s->n_ports; i++) {
            s->ports[i].must = s->ports[i].limit = REACH_NOBODY;
        }
    }
}

void reached_may_move(struct reached *w, const char *key)
{
    struct moving m = {w, key};
    rig_in_sim(w->rig, may_move, &m);
}

int reached_rest(struct reached *w, const char *only, struct err *err)
{
    const struct look l = {
        .w = w, .after = "all was at rest", .first = true, .rest = true, .only = only};
    in_sim(l, begin);
    return w->finding == NULL ? ERR_OK : err_set(err, ERR_CONFLICT, "%s", w->finding);
}

int reached_check(struct reached *w, struct err *err)
{
    in_sim((struct look){.w = w, .after = "all is at rest", .rest = true}, rest_now);
    w->begun = false; /* further calls are judged elsewhere */
    return w->finding == NULL ? ERR_OK : err_set(err, ERR_CONFLICT, "%s", w->finding);
}
