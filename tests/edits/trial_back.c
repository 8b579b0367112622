/* SPDX-License-Identifier: Apache-2.0 */
/* trial_back.c: the world that an edit begins with, nodes that come and go, and the edit taken
 * back; see trial.h.
 *
 * After an edit that is taken back the cloud is as if it had not been made: the same nodes come
 * and go in the kind's world without an edit, whose text is "KIND.nodes". */
#include "tests/edits/trial_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "tests/edits/opened.h"
#include "tests/fault/world.h"

static int node_comes(struct trial *t)
{
    return rig_kube(t->s.rig, "POST", "/sim/nodes", "{\"count\":1}", NULL) / 100 == 2
               ? stage_settle(&t->s, SOON_MS)
               : err_set(&t->err, ERR_BUG, "no node can be added");
}

static int node_goes(struct trial *t)
{
    return rig_kube(t->s.rig, "DELETE", "/sim/nodes/node-2", NULL, NULL) / 100 == 2
               ? stage_settle(&t->s, SOON_MS)
               : err_set(&t->err, ERR_BUG, "no node can be removed");
}

/* ---- the start ------------------------------------------------------------------------------- */

enum trial_code trial_start(const struct edit_kind *k, const char *dir)
{
    const struct trial_args args = {.dir = dir, .edit = {.kind = k}, .file = k->name};
    struct trial t;
    open_trial(&t, &args);
    int rc = open_kind(&t, k, NULL);
    if (rc == ERR_OK) {
        struct json_object *world = rig_world(t.s.rig);
        if (t.s.site != NULL) {
            site_build(t.s.site, t.s.a, world);
        }
        rc = world_add_foreign(t.s.a, world, &t.err);
        if (rc == ERR_OK && k->flags != NULL) {
            world_remove_service(world, "rbs"); /* of ingress-gce, whose part is played here */
        }
        rc = rc == ERR_OK ? rig_load(t.s.rig, world, &t.err) : rc;
    }
    const struct step steps[] = {{STEP_CREATE, "near", k->near}, {STEP_CREATE, "web", k->web}};
    for (size_t i = 0; i < ARRAY_LEN(steps) && rc == ERR_OK; i++) {
        rc = stage_step(&t.s, &steps[i]);
    }
    rc = rc == ERR_OK ? stage_start(&t.s) : rc;
    rc = rc == ERR_OK ? stage_settle(&t.s, RIG_LATER) : rc;
    if (rc == ERR_OK) {
        rc = write_text(&t, "start", json_text(t.s.a, rig_world(t.s.rig), JSON_COMPACT));
    }
    return close_trial(&t, rc, TRIAL_OK);
}

/* IPv4 first. */
static int by_family(const void *x, const void *y)
{
    const char *a = json_str(*(struct json_object *const *)x, "ip");
    const char *b = json_str(*(struct json_object *const *)y, "ip");
    return (strchr(str_nonnull(a), ':') != NULL) - (strchr(str_nonnull(b), ':') != NULL);
}

/* A condition that is false says no more than one that is not there. */
static void drop_false_conditions(struct json_object *service)
{
    struct json_object *status = json_member(service, "status");
    struct json_object *all = json_member(status, "conditions");
    struct json_object *rest = json_object_new_array();
    for (size_t i = 0; i < json_len(all); i++) {
        struct json_object *c = json_object_array_get_idx(all, i);
        if (!str_eq(json_str(c, "status"), "False")) {
            json_object_array_add(rest, json_object_get(c));
        }
    }
    json_object_object_del(status, "conditions");
    if (json_len(rest) > 0) {
        json_add(status, "conditions", rest);
    } else {
        json_object_put(rest);
    }
}

/* The addresses in an order of their own. */
static void sort_addresses(struct json_object *service)
{
    struct json_object *all = json_path(service, "status.loadBalancer.ingress");
    if (json_len(all) > 1) {
        json_object_array_sort(all, by_family);
    }
}

/* The generic finalizer, which another kind of load balancer has put there, stays until the Service
 * is deleted. */
static void drop_generic_finalizer(struct json_object *service)
{
    struct json_object *meta = json_member(service, "metadata");
    struct json_object *all = json_member(meta, "finalizers");
    struct json_object *rest = json_object_new_array();
    for (size_t i = 0; i < json_len(all); i++) {
        struct json_object *f = json_object_array_get_idx(all, i);
        if (!str_eq(json_object_get_string(f), "service.kubernetes.io/load-balancer-cleanup")) {
            json_object_array_add(rest, json_object_get(f));
        }
    }
    json_add(meta, "finalizers", rest);
}

/* The cluster's id; policies of classic load balancers; attributes: until they are written for the
 * first time AWS has no document of them. */
static bool may_stay(const char *line)
{
    return str_has_prefix(line, "configmap kube-system/ingress-uid:") ||
           str_has_prefix(line, "elb/Attributes/") ||
           str_has_prefix(line, "elb/PolicyDescriptions/") ||
           str_has_prefix(line, "elbv2/TargetGroupAttributes/");
}

/* One line for each thing; only its name where an edit leaves what it asked for. */
static const char *lines_of_rest(struct arena *a, const char *text, bool names_only)
{
    size_t n = 0, n_out = 0;
    char **lines = str_split(a, text, '\n', &n);
    for (size_t i = 0; i < n; i++) {
        /* Azure keeps the pool of a balancer that others use, too */
        bool pool = names_only && strstr(lines[i], "/backendAddressPools/") != NULL;
        if (!pool && !may_stay(lines[i])) {
            lines[i][names_only ? strcspn(lines[i], " ") : strlen(lines[i])] = '\0';
            lines[n_out++] = lines[i];
        }
    }
    return str_join(a, (const char *const *)lines, n_out, "\n");
}

/* Policies of classic load balancers stay when no listener has them any more. */
static void drop_policies(struct json_object *world)
{
    struct json_object *all = json_path(world, "aws.elb.LoadBalancerDescriptions");
    for (size_t i = 0; i < json_len(all); i++) {
        json_object_object_del(json_object_array_get_idx(all, i), "Policies");
    }
}

/* The world as a text, without what an edit that was taken back may leave: words of the Service's
 * status, its generic finalizer, the cluster's id. */
static const char *text_of_rest(struct trial *t)
{
    struct json_object *world = json_copy(rig_world(t->s.rig));
    struct json_object *services = json_path(world, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        sort_addresses(json_object_array_get_idx(services, i));
        drop_false_conditions(json_object_array_get_idx(services, i));
        drop_generic_finalizer(json_object_array_get_idx(services, i));
    }
    drop_policies(world);
    const char *text = world_text(t->s.a, world, t->s.names);
    json_object_put(world);
    return judge_without_policies(t->s.a, text);
}

enum trial_code trial_nodes(const struct trial_args *args)
{
    struct trial t;
    open_trial(&t, args);
    int rc = begin(&t);
    rc = rc == ERR_OK ? run_start(&t) : rc;
    rc = rc == ERR_OK ? node_comes(&t) : rc;
    rc = rc == ERR_OK ? node_goes(&t) : rc;
    rc = rc == ERR_OK ? stage_settle(&t.s, RIG_LATER) : rc;
    if (rc == ERR_OK) {
        rc = write_text(&t, "nodes", text_of_rest(&t));
    }
    return close_trial(&t, rc, TRIAL_OK);
}

/* ---- nodes, and the way back --------------------------------------------------------------- */

/* E3: near, of which nothing was asked, has all nodes of the cluster behind it. */
static void judge_near(struct trial *t, const struct judge *j, const char *when)
{
    size_t nodes = json_len(json_member(rig_get(t->s.rig, "/api/v1/nodes"), "items"));
    const char *behind = judge_nodes(j, service_now(t, "near"), history_now(t->h));
    size_t n = 0;
    (void)str_split(t->s.a, behind, ' ', &n);
    if (n != nodes && (j->effects & EDIT_MEMBERS) == 0) {
        report(t, arena_printf(t->s.a, "E3: %s: the cluster has %zu nodes, behind near are \"%s\"",
                               when, nodes, behind));
    }
}

/* E3: a node comes and another goes, and web follows as near does. */
int nodes_come_and_go(struct trial *t, const struct judge *j)
{
    const char *nodes = judge_nodes(j, service_now(t, "near"), history_now(t->h));
    int rc = node_comes(t);
    if (rc != ERR_OK) {
        return rc;
    }
    nodes = judge_members(j, service_now(t, "web"), service_now(t, "near"), history_now(t->h),
                          "a node came", nodes);
    judge_near(t, j, "a node came");
    rc = node_goes(t);
    if (rc == ERR_OK) {
        (void)judge_members(j, service_now(t, "web"), service_now(t, "near"), history_now(t->h),
                            "a node left", nodes);
        judge_near(t, j, "a node left");
    }
    return rc;
}

/* The members of `was` that `members` has: values, or null if absent; a new reference. */
static struct json_object *values_before(struct json_object *was, struct json_object *members)
{
    struct json_object *back = json_object_new_object();
    json_object_object_foreach(members, key, value)
    {
        struct json_object *old = json_member(was, key);
        (void)value;
        json_add(back, key, old != NULL ? json_object_get(old) : NULL);
    }
    return back;
}

/* The merge patch that takes `patch` back from `service`. */
static const char *inverse(struct arena *a, struct json_object *service, const char *patch)
{
    struct json_object *tree = NULL;
    if (json_parse_arena(a, patch, strlen(patch), NULL, &tree, NULL) != ERR_OK) {
        abort(); /* a row of the tables is no JSON */
    }
    struct json_object *spec =
        values_before(json_member(service, "spec"), json_member(tree, "spec"));
    struct json_object *notes = values_before(json_path(service, "metadata.annotations"),
                                              json_path(tree, "metadata.annotations"));
    const char *text =
        arena_printf(a, "{\"spec\":%s,\"metadata\":{\"annotations\":%s}}",
                     json_text(a, spec, JSON_COMPACT), json_text(a, notes, JSON_COMPACT));
    json_object_put(spec);
    json_object_put(notes);
    return text;
}

/* E2: the cloud and its Services are as if the edit had not been made. */
static int compare_back(struct trial *t)
{
    char *want = NULL;
    size_t n = 0;
    const char *file = file_of(t, t->args->edit.kind->name, "nodes");
    int rc = file_read(t->s.a, file, STATE_MAX, &want, &n, &t->err);
    if (rc == ERR_OK) {
        bool stays = (edit_effects(&t->args->edit) & EDIT_STAYS) != 0;
        const char *got = lines_of_rest(t->s.a, text_of_rest(t), stays);
        const char *diff = world_difference(t->s.a, lines_of_rest(t->s.a, want, stays), got);
        if (diff != NULL) {
            report(t, arena_printf(t->s.a, "E2: taken back, the cloud is otherwise:%.6000s", diff));
        }
    }
    return rc;
}

/* E2: as it was before; then nothing is left to do. */
int take_back(struct trial *t, const struct judge *j, const char *patch)
{
    history_begin(t->h);
    int status = edit_now(t, inverse(t->s.a, j->before, patch));
    if (status / 100 != 2) {
        return err_set(&t->err, ERR_BUG, "the edit cannot be taken back: %d", status);
    }
    int rc = stage_settle(&t->s, RIG_LATER);
    if (rc != ERR_OK) {
        return rc;
    }
    judge_back(j, service_now(t, "web"), history_now(t->h));
    opened_back(j, service_now(t, "web"), history_now(t->h));
    rc = compare_back(t);
    rc = rc != ERR_OK ? rc : stage_check_second_plan(&t->s);
    if (rc == ERR_CONFLICT) {
        report(t, arena_printf(t->s.a, "E2: taken back, %s", t->err.message));
        err_clear(&t->err);
        rc = ERR_OK;
    }
    return rc;
}
