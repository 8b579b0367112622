/* SPDX-License-Identifier: Apache-2.0 */
/* trial_full.c: an edit in a cloud that has room for the state before and for the state asked for,
 * and for no more; see trial.h. */
#include <string.h>

#include "common/base/str.h"
#include "tests/edits/opened.h"
#include "tests/edits/room.h"
#include "tests/edits/trial_internal.h"
#include "tests/fault/world.h"

/* The limits of trial_edit() count from now on. */
static int fill_up(struct trial *t)
{
    const char *cloud = t->args->edit.kind->cloud;
    char *room = NULL;
    int rc = read_text(t, "room", &room);
    if (rc == ERR_OK &&
        rig_kube(t->s.rig, "PUT", room_path(t->s.a, cloud), room, NULL) / 100 != 2) {
        rc = err_set(&t->err, ERR_BUG, "the settings are not taken: %s", room);
    }
    return rc;
}

/* Room for all that may come. */
static int empty_out(struct trial *t)
{
    const char *cloud = t->args->edit.kind->cloud;
    const char *room = room_settings(t->s.a, cloud, NULL);
    return rig_kube(t->s.rig, "PUT", room_path(t->s.a, cloud), room, NULL) / 100 == 2
               ? stage_settle(&t->s, RIG_LATER)
               : err_set(&t->err, ERR_BUG, "the settings are not taken: %s", room);
}

/* Clients by address and port, as a text, without addresses that no rule has: the new
 * load balancer keeps one until there is room for it (docs/adr/0074). */
static const char *reach_by_rules(struct arena *a, struct json_object *reach)
{
    struct json_object *all = json_copy(reach);
    json_object_object_foreach(reach, host, ports)
    {
        if (json_object_object_length(ports) == 1 && json_member(ports, "*") != NULL) {
            json_object_object_del(all, host);
        }
    }
    const char *text = json_text(a, all, JSON_COMPACT);
    json_object_put(all);
    return text;
}

/* E4: as after the edit in a cloud with room.  Where some resource has none, the edit may be
 * carried out in another way, which the Service reports: clients reach the same nodes at the same
 * ports, and with room again it ends as it should.  Where the new load balancer is made beside the
 * old one (docs/adr/0060), the old one may serve on as before. */
static int compare_full(struct trial *t, const char *want, const char *before)
{
    char *reach = NULL;
    const char *got = world_text(t->s.a, rig_world(t->s.rig), t->s.names);
    int rc = world_difference(t->s.a, want, got) == NULL ? ERR_OK : read_text(t, "reach", &reach);
    if (rc != ERR_OK || reach == NULL) {
        return rc;
    }
    const char *now = json_text(t->s.a, history_now(t->h), JSON_COMPACT);
    bool serves_on = (edit_effects(&t->args->edit) & EDIT_BESIDE) != 0 &&
                     str_eq(reach_by_rules(t->s.a, history_now(t->h)), before);
    if (!serves_on && !str_eq(now, reach)) {
        report(t, arena_printf(t->s.a, "E4: in a full cloud clients reach otherwise:%.6000s",
                               world_difference(t->s.a, reach, now)));
    }
    if (strstr(rig_log(t->s.rig), "Error syncing service") == NULL) {
        report(t, "E4: in a full cloud it ends otherwise, and no error says so");
    }
    rc = empty_out(t);
    if (rc == ERR_OK) {
        compare_end(t, want, "in a full cloud, and with room again,");
    }
    return rc == ERR_OK ? fill_up(t) : rc;
}

/* E3: at the same moment a node joins and another one of its zone leaves, as in an upgrade; neither
 * Service has room for both.  The machine stays, so that the cloud itself removes nothing. */
static int node_is_replaced(struct trial *t, const struct judge *j)
{
    struct json_object *all = json_path(rig_world(t->s.rig), "kubernetes.nodes");
    struct json_object *fourth = json_object_array_get_idx(all, 3);
    const char *goes = json_str(json_member(fourth, "metadata"), "name");
    const char *nodes = judge_nodes(j, service_now(t, "near"), history_now(t->h));
    if (rig_kube(t->s.rig, "POST", "/sim/nodes", "{\"count\":1}", NULL) / 100 != 2 ||
        rig_kube(t->s.rig, "DELETE", arena_printf(t->s.a, "/api/v1/nodes/%s", goes), NULL, NULL) /
                100 !=
            2) {
        return err_set(&t->err, ERR_BUG, "no node can be replaced");
    }
    int rc = stage_settle(&t->s, SOON_MS);
    if (rc == ERR_OK) {
        (void)judge_members(j, service_now(t, "web"), service_now(t, "near"), history_now(t->h),
                            "a node was replaced in a full cloud", nodes);
    }
    return rc;
}

/* E1, E3 and E4 where an old resource must make room for its replacement. */
enum trial_code trial_full(const struct trial_args *args)
{
    struct trial t;
    char *want = NULL;
    open_trial(&t, args);
    int rc = begin(&t);
    rc = rc == ERR_OK ? read_text(&t, "end", &want) : rc;
    rc = rc == ERR_OK ? run_start(&t) : rc;
    rc = rc == ERR_OK ? fill_up(&t) : rc;
    if (rc != ERR_OK) {
        return close_trial(&t, rc, TRIAL_OK);
    }
    struct judge j = judge_of(&t, service_now(&t, "web"), history_now(t.h));
    history_begin(t.h);
    rc = edit_now(&t, edit_patch(t.s.a, &args->edit)) / 100 == 2
             ? stage_settle(&t.s, RIG_LATER)
             : err_set(&t.err, ERR_BUG, "the edit is not taken");
    if (rc == ERR_OK) {
        judge_course(&j, service_now(&t, "web"), history_now(t.h), atomic_load(&t.announced));
        opened_course(&j, service_now(&t, "web"), history_now(t.h));
        rc = compare_full(&t, want, reach_by_rules(t.s.a, j.reach_before));
    }
    if (rc == ERR_OK && (edit_effects(&args->edit) & EDIT_LEAVES) == 0) {
        rc = node_is_replaced(&t, &j);
    }
    json_object_put(j.reach_before);
    return close_trial(&t, rc, TRIAL_OK);
}
