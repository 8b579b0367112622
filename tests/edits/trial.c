/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c: see trial.h.  A run: start, edit, nodes, back.  The properties are in judge.c. */
#include "tests/edits/trial_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "tests/edits/deed.h"
#include "tests/edits/history.h"
#include "tests/edits/judge.h"
#include "tests/edits/opened.h"
#include "tests/edits/room.h"
#include "tests/edits/served.h"
#include "tests/fault/stage.h"
#include "tests/fault/world.h"
#include "trimtab/provider.h"

#define SERVICE    "/api/v1/namespaces/default/services/web"
#define FURTHER_MS 1000000 /* behind RIG_LATER, and before the second pause of adr/0050 is over */

/* ---- files ----------------------------------------------------------------------------------- */

const char *file_of(struct trial *t, const char *name, const char *ext)
{
    return arena_printf(t->s.a, "%s/%s.%s", t->args->dir, name, ext);
}

int write_text(struct trial *t, const char *ext, const char *text)
{
    return file_write_atomic(file_of(t, t->args->file, ext), text, strlen(text), 0600, &t->err);
}

int read_text(struct trial *t, const char *ext, char **ret)
{
    size_t n = 0;
    return file_read(t->s.a, file_of(t, t->args->file, ext), STATE_MAX, ret, &n, &t->err);
}

/* ---- the rig --------------------------------------------------------------------------------- */

int open_kind(struct trial *t, const struct edit_kind *k, struct json_object *world)
{
    t->s.cloud = k->cloud;
    t->s.config = str_eq(k->cloud, "aws") ? k->config : NULL;
    t->s.site = str_eq(k->cloud, "azure") ? site_find(k->site) : NULL;
    return stage_open(&t->s, world, k->flags);
}

void open_trial(struct trial *t, const struct trial_args *args)
{
    *t = (struct trial){.err = ERR_INIT, .args = args};
    t->s = stage_new(&t->err);
    t->s.kind = args->fault;
}

enum trial_code close_trial(struct trial *t, int rc, enum trial_code code)
{
    if (rc != ERR_OK) {
        printf("%s\n", t->err.message);
        code = TRIAL_BROKEN;
    }
    if (t->args->verbose && t->s.rig != NULL) {
        printf("%s", rig_log(t->s.rig));
    }
    struct history *h = t->h;
    stage_done(&t->s);
    history_free(h);
    deed_free(t->d);
    return code != TRIAL_OK ? code : t->found > 0 ? TRIAL_FOUND : TRIAL_OK;
}

/* In a worker's thread.  The cloud leaves no other way, and plan says so: E1 allows it. */
static void on_plan(void *arg, const struct tt_plan *plan)
{
    struct trial *t = arg;
    for (uint32_t i = 0; i < plan->n_services; i++) {
        const struct tt_plan_service *s = plan->services[i];
        for (uint32_t k = 0; str_eq(s->key, "default/web") && k < s->n_effects; k++) {
            if (strstr(s->effects[k], "interrupted") != NULL ||
                strstr(s->effects[k], "Traffic stops") != NULL) {
                atomic_store(&t->announced, true);
            }
        }
    }
}

int begin(struct trial *t)
{
    int rc = open_kind(t, t->args->edit.kind, t->args->start);
    if (rc == ERR_OK) {
        rig_on_plan(t->s.rig, on_plan, t);
        t->h = history_new(t->s.rig, t->s.probe);
        t->d = deed_new(t->s.rig, t->s.probe, t->args->edit.kind->cloud, t->args->edit.kind->flags);
    }
    return rc;
}

/* The present Service, also while the controller is dead; arena. */
struct json_object *service_now(struct trial *t, const char *name)
{
    struct json_object *services = rig_services(t->s.rig);
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        struct json_object *meta = json_member(s, "metadata");
        if (str_eq(json_str(meta, "name"), name) &&
            str_eq(json_str(meta, "namespace"), "default")) {
            return s;
        }
    }
    return NULL;
}

/* ---- an edit --------------------------------------------------------------------------------- */

/* Makes it heard: a controller that has died is replaced.  The status of the last answer. */
int edit_now(struct trial *t, const char *patch)
{
    int status = 0;
    for (int i = 0; i < 3; i++) {
        status = rig_kube(t->s.rig, "PATCH", SERVICE, patch, NULL);
        if (status != 0 && status < 500) {
            return status;
        }
        if (probe_is_dead(t->s.probe) && stage_restart(&t->s) != ERR_OK) {
            return 0;
        }
    }
    return status;
}

void report(void *arg, const char *line)
{
    struct trial *t = arg;
    t->found++;
    printf("%s\n", str_replace(t->s.a, line, "\n", " "));
}

/* E4: the cloud and its Services are as after the edit without a fault.  An edit that cannot be
 * carried out may have been refused once more, which the Service then remembers (adr/0050). */
void compare_end(struct trial *t, const char *want, const char *when)
{
    const char *got = world_text(t->s.a, rig_world(t->s.rig), t->s.names);
    if (!edit_is_good(&t->args->edit)) {
        got = judge_without_memory(t->s.a, got);
        want = judge_without_memory(t->s.a, want);
    }
    const char *diff = world_difference(t->s.a, want, got);
    if (diff != NULL) {
        report(t, arena_printf(t->s.a, "E4: %s it ends otherwise:%.600s", when, diff));
    }
}

struct judge judge_of(struct trial *t, struct json_object *before, struct json_object *reach)
{
    return (struct judge){.a = t->s.a,
                          .history = t->h,
                          .before = before,
                          .effects = edit_effects(&t->args->edit),
                          .reach_before = json_object_get(reach),
                          .report = report,
                          .arg = t};
}

int run_start(struct trial *t)
{
    int rc = stage_start(&t->s);
    rc = rc == ERR_OK ? stage_settle(&t->s, RIG_LATER) : rc;
    if (rc == ERR_OK && rig_mutations(t->s.rig) > 0) {
        rc = err_set(&t->err, ERR_BUG, "the start is not at rest");
    }
    return rc;
}

/* Limits that the edit's beginning and its end keep. */
static int write_room(struct trial *t, struct json_object *start, struct json_object *end)
{
    const char *cloud = t->args->edit.kind->cloud;
    struct json_object *room = room_both(t->s.a, cloud, start, end);
    int rc = write_text(t, "room", room_settings(t->s.a, cloud, room));
    json_object_put(room);
    return rc;
}

/* The members of `from` become those of `to`; null takes one away.  Returns whether one was. */
static bool put_members(struct json_object *to, struct json_object *from)
{
    bool takes = false;
    json_object_object_foreach(from, key, value)
    {
        json_object_object_del(to, key);
        takes = takes || value == NULL;
        if (value != NULL) {
            json_add(to, key, json_object_get(value));
        }
    }
    return takes;
}

/* E5 on a working Service: `trimtab plan -f` plans the edited manifest, unless it lacks members. */
static int plan_manifest(struct trial *t, const char *patch)
{
    static const char *const of_the_server[] = {
        "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "finalizers"};
    struct json_object *web = json_copy(service_now(t, "web"));
    struct json_object *tree = NULL;
    struct json_object *meta = json_member(web, "metadata");
    int rc = json_parse_arena(t->s.a, patch, strlen(patch), NULL, &tree, &t->err);
    if (rc == ERR_OK) {
        if (json_member(meta, "annotations") == NULL) {
            json_add(meta, "annotations", json_object_new_object());
        }
        bool takes = put_members(json_member(web, "spec"), json_member(tree, "spec"));
        takes = put_members(json_member(meta, "annotations"),
                            json_path(tree, "metadata.annotations")) ||
                takes;
        if (takes || edit_is_bare(&t->args->edit)) { /* a manifest leaves node ports as they are */
            json_object_put(web);
            return ERR_OK;
        }
        json_object_object_del(web, "status");
        json_add_str(web, "apiVersion", "v1");
        json_add_str(web, "kind", "Service");
        for (size_t i = 0; i < ARRAY_LEN(of_the_server); i++) {
            json_object_object_del(meta, of_the_server[i]);
        }
        rc = write_text(t, "json", json_text(t->s.a, web, JSON_COMPACT));
    }
    json_object_put(web);
    rc = rc == ERR_OK ? deed_plan(t->d, file_of(t, t->args->file, "json"), &t->err) : rc;
    if (rc != ERR_OK && deed_exit(t->d) == 1) {
        t->unfit = arena_strdup(t->s.a, t->err.message); /* the API server will say so, too */
        err_clear(&t->err);
        rc = ERR_OK;
    }
    return rc;
}

static void judge_plan(struct trial *t)
{
    const struct deed_ear ear = {report, t};
    if (t->unfit != NULL) {
        report(t, arena_printf(t->s.a, "E5: the API server takes what trimtab plan -f refuses: %s",
                               t->unfit));
        return;
    }
    deed_judge(t->d, ear);
    deed_judge_exit(t->d, ear);
    if (atomic_load(&t->announced) && !deed_announces(t->d, "default/web")) {
        report(t, "E5: the controller's plan announces an interruption, and trimtab plan did not");
    }
}

/* A try that is refused as the one before it prepares nothing anew. */
int further_tries(struct trial *t, int64_t ms, const char *why)
{
    const char *first = NULL;
    probe_forget_writes(t->s.probe);
    int rc = stage_settle(&t->s, ms);
    size_t n = probe_writes_done(t->s.probe, t->s.a, &first);
    if (rc == ERR_OK && n > 0) {
        report(t,
               arena_printf(t->s.a, "E8: %s, and %zu writes are made in further tries, such as %s",
                            why, n, first));
    }
    return rc;
}

static const char *warnings_now(struct trial *t)
{
    struct json_object *events = rig_get(t->s.rig, "/api/v1/namespaces/default/events");
    return judge_warnings(t->s.a, events);
}

enum trial_code trial_edit(const struct trial_args *args)
{
    struct trial t;
    open_trial(&t, args);
    int rc = begin(&t);
    rc = rc == ERR_OK ? run_start(&t) : rc;
    if (rc != ERR_OK) {
        return close_trial(&t, rc, TRIAL_OK);
    }
    const char *patch = edit_patch(t.s.a, &args->edit);
    struct judge j = judge_of(&t, service_now(&t, "web"), history_now(t.h));
    struct json_object *start = rig_world(t.s.rig);
    rc = args->plans ? plan_manifest(&t, patch) : ERR_OK;
    if (rc != ERR_OK) {
        return close_trial(&t, rc, TRIAL_OK);
    }
    const char *warnings = warnings_now(&t);
    deed_begin(t.d);
    history_begin(t.h);
    probe_begin(t.s.probe, NULL, NULL);
    if (edit_now(&t, patch) / 100 != 2) {
        return close_trial(&t, ERR_OK, TRIAL_REFUSED);
    }
    rc = stage_settle(&t.s, RIG_LATER);
    if (rc != ERR_OK) {
        return close_trial(&t, rc, TRIAL_OK);
    }
    size_t n = 0;
    const char **calls = probe_calls(t.s.probe, t.s.a, &n);
    struct json_object *end = rig_world(t.s.rig);
    struct json_object *reach = history_now(t.h);
    judge_course(&j, service_now(&t, "web"), reach, atomic_load(&t.announced));
    opened_course(&j, service_now(&t, "web"), reach);
    opened_end(&j, service_now(&t, "web"), reach);
    judge_end(&j, service_now(&t, "web"), reach, edit_is_good(&args->edit));
    judge_nobody(&j, service_now(&t, "web"), reach);
    judge_unsent(&j, &args->edit, rig_mutations(t.s.rig));
    judge_heard(&j, &args->edit, service_now(&t, "web"), rig_mutations(t.s.rig), warnings,
                warnings_now(&t));
    judge_nature(&j, &args->edit, service_now(&t, "web"), warnings, warnings_now(&t));
    if (t.unfit != NULL || deed_document(t.d) != NULL) {
        judge_plan(&t);
    }
    rc = write_text(&t, "end", world_text(t.s.a, end, t.s.names));
    rc = rc == ERR_OK ? write_text(&t, "reach", json_text(t.s.a, reach, JSON_COMPACT)) : rc;
    rc = rc == ERR_OK ? write_room(&t, start, end) : rc;
    rc = rc == ERR_OK ? write_text(&t, "calls", str_join(t.s.a, calls, n, "\n")) : rc;
    rc = rc == ERR_OK ? further_tries(&t, FURTHER_MS, "it was made an hour ago") : rc;
    if ((edit_effects(&args->edit) & EDIT_LEAVES) == 0) {
        rc = rc == ERR_OK ? nodes_come_and_go(&t, &j) : rc;
        (void)probe_asked(t.s.probe, t.s.a);
        rc = rc == ERR_OK ? take_back(&t, &j, patch) : rc;
        rc = rc == ERR_OK ? write_text(&t, "asked", probe_asked(t.s.probe, t.s.a)) : rc;
    }
    rc = rc == ERR_OK ? stage_check_log(&t.s) : rc;
    json_object_put(j.reach_before);
    return close_trial(&t, rc, TRIAL_OK);
}

/* ---- the same without a controller ----------------------------------------------------------- */

/* E4: an edit is carried out whenever it was made; E3 after a restart. */
enum trial_code trial_cold(const struct trial_args *args)
{
    struct trial t;
    char *want = NULL;
    open_trial(&t, args);
    int rc = begin(&t);
    rc = rc == ERR_OK ? read_text(&t, "end", &want) : rc;
    if (rc != ERR_OK) {
        return close_trial(&t, rc, TRIAL_OK);
    }
    const struct judge j = judge_of(&t, service_now(&t, "web"), NULL);
    if (edit_now(&t, edit_patch(t.s.a, &args->edit)) / 100 != 2) {
        return close_trial(&t, rc, TRIAL_REFUSED);
    }
    rc = deed_plan(t.d, NULL, &t.err);
    deed_begin(t.d);
    rc = rc == ERR_OK ? stage_start(&t.s) : rc;
    rc = rc == ERR_OK ? stage_settle(&t.s, RIG_LATER) : rc;
    if (rc == ERR_OK) {
        deed_judge(t.d, (struct deed_ear){report, &t});
    }
    if (rc == ERR_OK) {
        compare_end(&t, judge_without_memory(t.s.a, want), "made while no controller ran,");
    }
    if (rc == ERR_OK && (edit_effects(&args->edit) & EDIT_LEAVES) == 0) {
        rc = nodes_come_and_go(
            &t, &j); /* by the existing resources: this process never saw an accepted Service */
    }
    return close_trial(&t, rc, TRIAL_OK);
}

/* ---- a Service that is made so --------------------------------------------------------------- */

#define FIRST_TRIES_MS 600000

/* The body of STEP_CREATE for the kind's Service with the edit in it. */
static const char *edited_body(struct trial *t)
{
    struct arena *a = t->s.a;
    const char *body = t->args->edit.kind->web;
    const char *patch = edit_patch(a, &t->args->edit);
    struct json_object *web = NULL, *tree = NULL;
    if (json_parse_arena(a, body, strlen(body), NULL, &web, NULL) != ERR_OK ||
        json_parse_arena(a, patch, strlen(patch), NULL, &tree, NULL) != ERR_OK) {
        abort(); /* a row of the tables is no JSON */
    }
    (void)put_members(web, json_member(tree, "spec"));
    struct json_object *notes = json_member(web, "notes");
    if (notes == NULL) {
        notes = json_object_new_object();
        json_add(web, "notes", notes);
    }
    (void)put_members(notes, json_path(tree, "metadata.annotations"));
    return json_text(a, web, JSON_COMPACT);
}

static const char *published(struct trial *t)
{
    struct json_object *web = service_now(t, "web");
    return web == NULL ? NULL : world_published_address(web);
}

/* The kind's world without web, and nothing to do in it; its text. */
static int without_web(struct trial *t, const char **ret)
{
    const struct step gone = {STEP_DELETE, "web", NULL};
    int rc = stage_step(&t->s, &gone);
    rc = rc == ERR_OK ? stage_settle(&t->s, RIG_LATER) : rc;
    *ret = rc == ERR_OK ? world_text(t->s.a, rig_world(t->s.rig), t->s.names) : NULL;
    *ret =
        *ret != NULL && t->args->edit.kind->groups_stay ? judge_without_groups(t->s.a, *ret) : *ret;
    *ret = *ret != NULL ? judge_without_policies(t->s.a, *ret) : NULL;
    return rc;
}

/* Nodes stay in the pool of a balancer that frontends of other programs keep.  On Azure the first
 * external Service brings them there: one has been and gone before the trial. */
static int fill_pools(struct trial *t)
{
    const struct step steps[] = {{STEP_CREATE, "first", "{\"ports\":[{\"port\":8081}]}"},
                                 {STEP_DELETE, "first", NULL}};
    int rc = ERR_OK;
    for (size_t i = 0;
         str_eq(t->args->edit.kind->cloud, "azure") && rc == ERR_OK && i < ARRAY_LEN(steps); i++) {
        rc = stage_step(&t->s, &steps[i]);
        rc = rc == ERR_OK ? stage_settle(&t->s, RIG_LATER) : rc;
    }
    return rc;
}

static const char *base_of(const char *id)
{
    return strrchr(id, '/') != NULL ? strrchr(id, '/') + 1 : id;
}

static void judge_writes(struct trial *t)
{
    const char *first = NULL;
    size_t n = probe_writes_done(t->s.probe, t->s.a, &first);
    if (published(t) == NULL && n > 0) {
        report(t, arena_printf(t->s.a,
                               "E8: it cannot be served, and %zu writes are made in further tries, "
                               "such as %s",
                               n, first));
    }
}

/* Azure bills each public IP: one that was made for a Service that cannot be served goes, or a
 * Warning names it that says so (docs/adr/0083). */
static void judge_billed(struct trial *t, struct json_object *before)
{
    struct json_object *azure = json_member(rig_world(t->s.rig), "azure");
    if (azure == NULL) {
        return;
    }
    const char *warnings = warnings_now(t);
    json_object_object_foreach(azure, id, o)
    {
        const char *stays = arena_printf(t->s.a, "%s, which was made for it, stays", base_of(id));
        (void)o;
        if (published(t) == NULL && strstr(warnings, stays) == NULL &&
            strstr(id, "/publicIPAddresses/") != NULL &&
            json_member(json_member(before, "azure"), id) == NULL) {
            report(t, arena_printf(t->s.a, "E8: it cannot be served, and %s stays", id));
        }
    }
}

/* E8: a Service that can never work is tried without writing, and leaves nothing. */
enum trial_code trial_new(const struct trial_args *args)
{
    struct trial t;
    const char *want = NULL, *got = NULL;
    open_trial(&t, args);
    int rc = begin(&t);
    rc = rc == ERR_OK ? run_start(&t) : rc;
    rc = rc == ERR_OK ? fill_pools(&t) : rc;
    rc = rc == ERR_OK ? without_web(&t, &want) : rc;
    if (rc != ERR_OK) {
        return close_trial(&t, rc, TRIAL_OK);
    }
    const struct step made = {STEP_CREATE, "web", edited_body(&t)};
    if (stage_step(&t.s, &made) != ERR_OK) {
        err_clear(&t.err);
        return close_trial(&t, ERR_OK, TRIAL_REFUSED);
    }
    struct json_object *before = rig_world(t.s.rig);
    rc = stage_settle(&t.s, FIRST_TRIES_MS);
    probe_begin(t.s.probe, NULL, NULL);
    rc = rc == ERR_OK ? stage_settle(&t.s, RIG_LATER) : rc;
    if (rc == ERR_OK) {
        judge_writes(&t);
        judge_billed(&t, before);
        rc = without_web(&t, &got);
    }
    const char *diff = rc == ERR_OK ? world_difference(t.s.a, want, got) : NULL;
    if (diff != NULL) {
        report(&t, arena_printf(t.s.a, "E8: made and deleted, it leaves something:%.600s", diff));
    }
    return close_trial(&t, rc, TRIAL_OK);
}

/* ---- how long it takes ----------------------------------------------------------------------- */

/* The time of an interruption, as clients see it; the line says if it is none or unannounced. */
enum trial_code trial_time(const struct trial_args *args)
{
    struct trial t;
    const char *port = "-";
    open_trial(&t, args);
    t.s.cloudlike = true;
    int rc = begin(&t);
    rc = rc == ERR_OK ? run_start(&t) : rc;
    if (rc != ERR_OK) {
        return close_trial(&t, rc, TRIAL_OK);
    }
    struct judge j = judge_of(&t, service_now(&t, "web"), history_now(t.h));
    history_begin(t.h);
    if (edit_now(&t, edit_patch(t.s.a, &args->edit)) / 100 != 2) {
        json_object_put(j.reach_before);
        return close_trial(&t, ERR_OK, TRIAL_REFUSED);
    }
    rc = stage_settle(&t.s, RIG_LATER);
    if (rc == ERR_OK) {
        int64_t ms = judge_gap(&j, service_now(&t, "web"), history_now(t.h), &port);
        rc = write_text(&t, "time",
                        arena_printf(t.s.a, "%s %lld %s",
                                     atomic_load(&t.announced) ? "announced" : "silent",
                                     (long long)ms, port));
    }
    json_object_put(j.reach_before);
    return close_trial(&t, rc, TRIAL_OK);
}
