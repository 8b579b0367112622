/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c: see stage.h.  Time is the fake clock's, so back-offs cost nothing. */
#include "tests/fault/stage.h"

#include <stdlib.h>
#include <string.h>

#include "sim/arm/arm.h"
#include "tests/fault/world.h"

#define STARTS_MAX    6
#define PATIENT_TRIES 4 /* then all faults are taken away */
/* Minutes: a name is taken until the deletion of its Service has succeeded, whose next try comes
 * five minutes after the faults ended at the latest. */
#define EDITS_MAX 12
#define RESTS_MAX 6
#define NODES     6 /* of a world that is ours */
#define SEED      7

struct stage stage_new(struct err *err)
{
    return (struct stage){.a = arena_new(), .names = names_new(), .err = err};
}

/* A controller that did not end still uses the rig: the process ends with both. */
void stage_done(struct stage *s)
{
    if (s->rig != NULL && rig_stop(s->rig)) {
        rig_free(s->rig);
        probe_free(s->probe);
        reached_free(s->reached);
    }
    names_free(s->names);
    arena_free(s->a);
}

int stage_open(struct stage *s, struct json_object *world, const char *const *flags)
{
    static const char *const none[] = {NULL};
    struct rig_args args = {.world = world,
                            .sim = {.nodes = world != NULL  ? 0
                                             : s->nodes > 0 ? s->nodes
                                                            : NODES,
                                    .ipv4 = s->both_families,
                                    .ipv6 = s->both_families,
                                    .seed = s->seed > 0 ? s->seed : SEED,
                                    .latency = s->cloudlike ? SIM_LATENCY_CLOUD : SIM_LATENCY_NONE,
                                    .cloud = s->cloud},
                            .flags = flags == NULL ? none : flags};
    if (s->site != NULL) {
        args.sim.ipv4 = args.sim.ipv6 = s->site->ipv6;
        args.sim.nodes = world == NULL && s->site->nodes > 0 ? s->site->nodes : args.sim.nodes;
        args.cloud_config = site_config(s->site, s->a, s->config);
        args.shared_clock = s->site->lags;
    }
    if (s->site != NULL && world != NULL) {
        site_set(s->site, world);
    }
    if (str_eq(s->cloud, "aws") && s->config != NULL) {
        args.cloud_config = arena_printf(s->a, "<own>\n[Global]\n%s\n", s->config);
    }
    if (str_eq(str_or(s->cloud, "gce"), "gce") && s->config != NULL) {
        args.cloud_config = arena_printf(s->a, "<own>\n[global]\n%s\n", s->config);
    }
    if (s->settings != NULL && world != NULL) {
        stage_set(s, world);
    }
    int rc = rig_new(&args, &s->rig, s->err);
    if (rc == ERR_OK) {
        s->probe = probe_new(s->rig, s->names);
    }
    return rc;
}

void stage_set(const struct stage *s, struct json_object *world)
{
    struct json_object *settings = NULL;
    struct json_object *sim = json_object_new_object();
    if (json_parse(s->settings, strlen(s->settings), NULL, &settings, NULL) != ERR_OK) {
        abort(); /* a row of flows_aws.c is no JSON */
    }
    json_add(sim, s->cloud, settings);
    json_add(world, "sim", sim);
}

int stage_close(struct stage *s)
{
    bool ended = rig_stop(s->rig);
    if (!ended) {
        return err_set(s->err, ERR_BUG, "the controller does not end");
    }
    rig_free(STEAL(s->rig));
    probe_free(STEAL(s->probe));
    reached_free(STEAL(s->reached));
    return ERR_OK;
}

void stage_watch(struct stage *s)
{
    /* Settings of AWS by which the cluster's owner keeps permissions himself. */
    bool others_admit = s->config != NULL && (strstr(s->config, "ElbSecurityGroup") != NULL ||
                                              strstr(s->config, "SecurityGroupIngress") != NULL);
    s->reached = reached_new(s->rig, s->probe, others_admit);
}

int stage_check_reached(struct stage *s)
{
    return s->reached == NULL ? ERR_OK : reached_check(s->reached, s->err);
}

/* ---- the controller -------------------------------------------------------------------------- */

/* Refusals that last have lasted long enough. */
static void heal_in_time(struct stage *s)
{
    bool down = s->kind != NULL && fault_lasts(s->kind) && probe_fired(s->probe);
    if (down && clock_now_ms(rig_clock(s->rig)) - s->began_ms > STAGE_HEALED_MS) {
        probe_heal(s->probe);
    }
}

static bool is_dead(void *arg)
{
    struct stage *s = arg;
    heal_in_time(s);
    return probe_is_dead(s->probe);
}

/* As a kubelet would: again and again. */
int stage_start(struct stage *s)
{
    for (int i = 0; i < STARTS_MAX; i++) {
        err_clear(s->err);
        if (rig_start_unless(s->rig, is_dead, s, s->err) == ERR_OK) {
            return ERR_OK;
        }
        if (probe_is_dead(s->probe) || i >= PATIENT_TRIES) {
            probe_heal(s->probe);
        } else {
            rig_advance(s->rig, 30000);
            heal_in_time(s);
        }
    }
    (void)err_prefix(s->err, "the controller does not start");
    return s->err->code;
}

int stage_restart(struct stage *s)
{
    if (!rig_stop(s->rig)) {
        return err_set(s->err, ERR_BUG, "the controller does not end");
    }
    probe_bury(s->probe);
    rig_advance(s->rig, s->start_ms);
    return stage_start(s);
}

static int calm(struct stage *s)
{
    if (s->reached != NULL) {
        reached_calm(s->reached);
    }
    return ERR_OK;
}

int stage_settle(struct stage *s, int64_t ahead_ms)
{
    if (rig_settle_unless(s->rig, ahead_ms, is_dead, s)) {
        return calm(s);
    }
    if (probe_is_dead(s->probe)) {
        int rc = stage_restart(s);
        if (rc != ERR_OK) {
            return rc;
        }
        if (rig_settle(s->rig, RIG_LATER)) {
            return calm(s);
        }
    }
    return err_set(s->err, ERR_BUG, "no rest within a minute");
}

static bool is_dead_or_late(void *arg)
{
    struct stage *s = arg;
    return is_dead(arg) || clock_now_ms(rig_clock(s->rig)) > s->until_ms;
}

int stage_live(struct stage *s, int64_t ms)
{
    s->until_ms = clock_now_ms(rig_clock(s->rig)) + ms;
    if (rig_settle_unless(s->rig, ms, is_dead_or_late, s) && !probe_is_dead(s->probe)) {
        return calm(s);
    }
    return probe_is_dead(s->probe) ? stage_restart(s) : ERR_OK;
}

/* ---- edits ----------------------------------------------------------------------------------- */

#define SERVICES "/api/v1/namespaces/default/services"

static const char *manifest(struct arena *a, const char *name, const char *spec)
{
    _cleanup_(json_putp) struct json_object *tree = NULL;
    if (json_parse(spec, strlen(spec), NULL, &tree, NULL) != ERR_OK) {
        abort(); /* a row of flows.c is no JSON */
    }
    struct json_object *notes = json_member(tree, "notes");
    const char *annotations = notes == NULL ? "{}" : json_text(a, notes, JSON_COMPACT);
    json_object_object_del(tree, "notes");
    json_add_str(tree, "type", "LoadBalancer");
    return arena_printf(a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"default\",\"annotations\":%s},\"spec\":%s}",
                        name, annotations, json_text(a, tree, JSON_COMPACT));
}

/* "<web>" is the address that the Service web has. */
static const char *with_addresses(struct stage *s, const char *body)
{
    bool any = strchr(body, '<') != NULL;
    struct json_object *services = any ? rig_services(s->rig) : NULL; /* it may be large */
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        const char *ip = world_published_address(service);
        const char *name = json_str(json_member(service, "metadata"), "name");
        if (ip != NULL) {
            body = str_replace(s->a, body, arena_printf(s->a, "<%s>", name), ip);
        }
    }
    return body;
}

/* Drops its machines' membership in pools of balancers: another writer's state. */
static void forget_pools(struct json_object *o)
{
    for (size_t i = 0; i < json_len(o); i++) {
        forget_pools(json_object_array_get_idx(o, i));
    }
    if (json_object_is_type(o, json_type_object)) {
        json_object_object_del(o, "loadBalancerBackendAddressPools");
        json_object_object_foreach(o, key, value)
        {
            (void)key;
            forget_pools(value);
        }
    }
}

static void forget_in_sim(struct sim *sim, void *arg)
{
    struct arm *arm = sim_module_state(sim, "azure");
    struct arm_resource *res = arm_get(arm, arg);
    if (res != NULL) {
        struct json_object *body = json_copy(res->body);
        forget_pools(body);
        (void)arm_commit(arm, res->id, body, NULL);
        arm_settle(arm);
    }
}

static int try_step(struct stage *s, const struct step *step)
{
    const char *path = arena_printf(s->a, SERVICES "/%s", step->what);
    switch (step->act) {
    case STEP_CREATE:
        return rig_kube(s->rig, "POST", SERVICES,
                        manifest(s->a, step->what, with_addresses(s, step->body)), NULL);
    case STEP_PATCH:
        return rig_kube(s->rig, "PATCH", path, with_addresses(s, step->body), NULL);
    case STEP_PODS:
        return rig_kube(s->rig, "PUT", arena_printf(s->a, "/sim/pods/default/%s", step->what),
                        step->body, NULL);
    case STEP_FORGET_POOLS:
        rig_in_sim(s->rig, forget_in_sim, arena_printf(s->a, STAGE_AZURE_GROUP "%s", step->what));
        return 200;
    case STEP_DELETE:
        return rig_kube(s->rig, "DELETE", path, NULL, NULL);
    case STEP_ADD_NODES:
        return rig_kube(s->rig, "POST", "/sim/nodes",
                        arena_printf(s->a, "{\"count\":%s}", step->what), NULL);
    case STEP_REMOVE_NODE:
        return rig_kube(s->rig, "DELETE", arena_printf(s->a, "/sim/nodes/%s", step->what), NULL,
                        NULL);
    case STEP_REST:
    case STEP_END:
        break;
    }
    return 0;
}

/* Changes of reachability by nodes and pods are not the controller's. */
static int watched_step(struct stage *s, const struct step *step)
{
    bool others = s->reached != NULL && step->act != STEP_CREATE && step->act != STEP_PATCH &&
                  step->act != STEP_DELETE;
    if (others) {
        reached_pause(s->reached);
    }
    int status = try_step(s, step);
    if (others) {
        reached_resume(s->reached);
    }
    return status;
}

/* A Service of ours that publishes no address, or NULL. */
static const char *unserved(struct stage *s, const char *but)
{
    struct json_object *services = rig_services(s->rig);
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        const char *name = json_str(json_member(service, "metadata"), "name");
        if (world_service_is_ours(service) && !str_eq(name, but) &&
            json_len(json_path(service, "status.loadBalancer.ingress")) == 0) {
            return name;
        }
    }
    return NULL;
}

/* One Service may be refused forever: it must not hold up the others. */
static int rest(struct stage *s, const char *but)
{
    int rc = ERR_OK;
    for (int i = 0; i < RESTS_MAX && rc == ERR_OK; i++) {
        rc = stage_settle(s, RIG_SOON);
        if (rc == ERR_OK && unserved(s, but) == NULL) {
            return ERR_OK;
        }
        rc = rc == ERR_OK ? stage_settle(s, STAGE_HEALED_MS) : rc;
    }
    return rc != ERR_OK ? rc
                        : err_set(s->err, ERR_CONFLICT, "%s is not served, for the sake of %s",
                                  unserved(s, but), but);
}

/* The user tries until it is heard. */
int stage_step(struct stage *s, const struct step *step)
{
    int status = 0;
    if (step->act == STEP_REST) {
        return rest(s, step->what);
    }
    for (int i = 0; i < EDITS_MAX; i++) {
        status = watched_step(s, step);
        if (status >= 200 && status < 300) {
            return ERR_OK;
        }
        if (probe_is_dead(s->probe) && stage_restart(s) != ERR_OK) {
            return s->err->code;
        }
        if (i >= PATIENT_TRIES) {
            probe_heal(
                /* a name, say, is taken until the deletion in progress can be finished */
                s->probe);
        }
        rig_advance(s->rig, STAGE_HEALED_MS / 3);
        heal_in_time(s);
        if (stage_live(s, STAGE_HEALED_MS / 3) != ERR_OK) {
            return s->err->code;
        }
    }
    return err_set(s->err, ERR_BUG, "the edit of %s was answered %d", step->what, status);
}

/* From the state: requests are not answered while the controller is dead. */
const char *stage_uid(struct stage *s, const char *name)
{
    struct json_object *services = rig_services(s->rig);
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *meta = json_member(json_object_array_get_idx(services, i), "metadata");
        if (str_eq(json_str(meta, "namespace"), "default") &&
            str_eq(json_str(meta, "name"), name)) {
            return json_str(meta, "uid");
        }
    }
    return "";
}

/* ---- judgement ------------------------------------------------------------------------------- */

/* Returns how many Services were touched. */
static int64_t touch_all(struct stage *s)
{
    struct json_object *services = rig_services(s->rig);
    const char *note =
        arena_printf(s->a, "{\"metadata\":{\"annotations\":{\"example.com/touched\":\"%lld\"}}}",
                     (long long)clock_now_ms(rig_clock(s->rig)));
    int64_t touched = 0;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        struct json_object *meta = json_member(service, "metadata");
        if (world_service_is_ours(service)) {
            const char *path = arena_printf(s->a, "/api/v1/namespaces/%s/services/%s",
                                            json_str(meta, "namespace"), json_str(meta, "name"));
            (void)rig_kube(s->rig, "PATCH", path, note, NULL); /* counted, not judged */
            touched++;
        }
    }
    return touched;
}

static int check_untouched(struct stage *s, int64_t own_writes, const char *after)
{
    int64_t cloud = rig_mutations(s->rig);
    int64_t cluster = rig_service_writes(s->rig) - own_writes;
    if (cloud == 0 && cluster == 0) {
        return ERR_OK;
    }
    return err_set(s->err, ERR_CONFLICT,
                   "after %s: %lld more changes in the cloud, %lld writes of Services", after,
                   (long long)cloud, (long long)cluster);
}

/* A cloud that answers late shows by then what was done; before that, a call that changes nothing
 * may be sent again. */
int stage_check_second_plan(struct stage *s)
{
    rig_advance(s->rig, STAGE_SHOWN_MS);
    probe_begin(s->probe, NULL, NULL);
    rig_counts_reset(s->rig);
    int64_t touched = touch_all(s);
    int rc = stage_settle(s, RIG_LATER);
    rc = rc == ERR_OK ? check_untouched(s, touched, "an edit that means nothing") : rc;
    rc = rc == ERR_OK ? stage_restart(s) : rc;
    rc = rc == ERR_OK ? stage_settle(s, RIG_LATER) : rc;
    return rc == ERR_OK ? check_untouched(s, touched, "a restart") : rc;
}

int stage_check_log(struct stage *s)
{
    static const char *const words[] = {"code=\"bug\"", "Fault of the provider"};
    const char *log = rig_log(s->rig);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const char *at = strstr(log, words[i]);
        if (at != NULL) {
            while (at > log && at[-1] != '\n') {
                at--;
            }
            return err_set(s->err, ERR_BUG, "logged: %.*s", (int)strcspn(at, "\n"), at);
        }
    }
    return ERR_OK;
}
