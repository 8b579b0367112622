/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_case.c: see gce_bs_case.h. */
#include "tests/golden/gce_bs_case.h"
#include "tests/golden/gce_bs_sync.h"
#include "tests/golden/golden_dump.h"

#include "common/lb/plan_print.h"

#include <string.h>

struct show {
    struct arena *a;
    const struct golden_case *in;
    struct gce_model model;
    struct str_buf broken;
    struct str_buf *text;
    struct json_object *nodes;
};

bool gce_bs_case_is_one(const struct golden_case *c)
{
    return json_str(c->facts, "kind") != NULL;
}

/* RFC 7396. */
static struct json_object *merged(struct json_object *is, struct json_object *patch)
{
    if (!json_object_is_type(patch, json_type_object)) {
        return json_copy(patch);
    }
    struct json_object *out =
        json_object_is_type(is, json_type_object) ? json_copy(is) : json_object_new_object();
    json_object_object_foreach(patch, member, value)
    {
        if (value == NULL) {
            json_object_object_del(out, member);
        } else {
            json_add(out, member, merged(json_member(out, member), value));
        }
    }
    return out;
}

static void put_tree(void *o)
{
    json_object_put(o);
}

static struct json_object *own(struct show *s, struct json_object *o)
{
    arena_defer(s->a, put_tree, o);
    return o;
}

static struct json_object *first_nodes(struct show *s, int64_t n)
{
    struct json_object *list = own(s, json_object_new_array());
    for (size_t i = 0; (int64_t)i < n && i < json_len(s->nodes); i++) {
        json_object_array_add(list, json_copy(json_object_array_get_idx(s->nodes, i)));
    }
    return list;
}

/* ---- what was before ------------------------------------------------------------------------- */

static int sync_before(struct show *s, struct json_object *step, struct err *err)
{
    struct json_object *service = json_member(step, "service");
    struct json_object *facts = json_member(step, "facts");
    struct json_object *are = json_member(step, "nodes_are");
    int64_t n_nodes = json_int(step, "nodes", -1);
    struct gce_bs_sync sync = {
        .a = s->a,
        .model = &s->model,
        .service = service == NULL ? s->in->service : own(s, merged(s->in->service, service)),
        .facts = facts == NULL ? s->in->facts : own(s, merged(s->in->facts, facts)),
        .nodes = are != NULL   ? are
                 : n_nodes < 0 ? s->nodes
                               : first_nodes(s, n_nodes),
    };
    int rc = gce_bs_sync_plan(&sync, err);
    size_t limit = (size_t)json_int(step, "stop", 0);
    return rc != ERR_OK ? rc : gce_bs_sync_run(&sync, limit, NULL, err);
}

static int play_before(struct show *s, struct err *err)
{
    struct json_object *steps = json_member(s->in->facts, "before");
    struct json_object *left = json_member(s->in->facts, "left");
    for (size_t i = 0; i < json_len(steps); i++) {
        int rc = sync_before(s, json_object_array_get_idx(steps, i), err);
        if (rc != ERR_OK) {
            (void)err_prefix(err, "before %zu", i + 1);
            return rc;
        }
    }
    s->model.forbids_firewall = json_bool(s->in->facts, "forbids_firewall", false);
    if (left != NULL) {
        gce_model_merge(&s->model, left);
    }
    return ERR_OK;
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void show_looked_at(struct show *s, const struct gce_slots *slots)
{
    size_t main = 0;
    size_t there = 0;
    size_t rare = 0; /* a list answers for them, which is made in any case */
    for (size_t i = 0; i < slots->n; i++) {
        const struct gce_slot *slot = &slots->items[i];
        main += slot->main;
        there += !slot->main && slot->known == GCE_PRESENT;
        rare += slot->rare && slot->known != GCE_PRESENT;
    }
    str_appendf(s->text,
                "\nlooked at: %zu always, %zu more because they are there, %zu more when nobody "
                "knows them\n",
                main, there, slots->n - main - there - rare);
}

static void show_stands(struct show *s)
{
    str_append(s->text, "\nthen there are\n");
    json_object_object_foreach(s->model.resources, path, o)
    {
        (void)o;
        str_appendf(s->text, "  %s\n", path);
    }
    json_object_object_foreach(s->model.members, zone, list)
    {
        str_appendf(s->text, "  members in %s:", zone);
        for (size_t i = 0; i < json_len(list); i++) {
            str_appendf(s->text, " %s", json_str(json_object_array_get_idx(list, i), "instance"));
        }
        str_append_c(s->text, '\n');
    }
}

static void show_address(struct show *s, const struct gce_bs_outcome *o)
{
    if (o->ip_v4 != NULL || o->ip_v6 != NULL) {
        str_appendf(s->text, "address: %s%s%s\n", str_nonnull(o->ip_v4),
                    o->ip_v4 != NULL && o->ip_v6 != NULL ? " " : "", str_nonnull(o->ip_v6));
    }
}

/* The next sync, which shall find nothing to do. */
static void show_then(struct show *s, struct gce_bs_sync *sync)
{
    const struct plan_print how = {.verbose = false};
    struct err err = ERR_INIT;
    if (gce_bs_sync_plan(sync, &err) != ERR_OK) {
        bool gone = err.code == ERR_NOT_FOUND;
        str_appendf(s->text, "%snext plan: %s\n", gone ? "" : "BROKEN: ", err.message);
    } else if (lb_plan_changes(&sync->plan) > 0) {
        bool fine = s->model.forbids_firewall || json_bool(s->in->facts, "again", false);
        str_append(s->text, fine ? "\nnext plan, because somebody else must act first\n"
                                 : "\nBROKEN: the next plan is not empty\n");
        plan_print_text(s->text, lb_plan_view(&sync->plan), &how);
    } else {
        str_append(s->text, "next plan: nothing to do\n");
    }
}

static int show_sync(struct show *s, struct err *err)
{
    struct gce_bs_sync sync = {.a = s->a,
                               .model = &s->model,
                               .service = s->in->service,
                               .facts = s->in->facts,
                               .nodes = s->nodes};
    int rc = gce_bs_sync_plan(&sync, err);
    if (rc != ERR_OK) {
        return rc;
    }
    golden_show_plan(s->text, lb_plan_view(&sync.plan), &sync.plan);
    show_looked_at(s, &sync.slots);
    bool changes = lb_plan_changes(&sync.plan) > 0;
    if (changes) {
        str_append(s->text, "\ncarried out\n");
        rc = gce_bs_sync_run(&sync, 0, s->text, err);
        if (rc != ERR_OK) {
            str_appendf(s->text, "BROKEN: %s\n", err->message);
            return ERR_OK;
        }
        show_stands(s);
    }
    show_address(s, &sync.outcome);
    if (changes) {
        show_then(s, &sync);
    }
    return ERR_OK;
}

void gce_bs_case_show(struct arena *a, const struct golden_case *c, struct str_buf *text)
{
    struct show s = {.a = a, .in = c, .text = text, .broken = STR_BUF_INIT};
    struct err err = ERR_INIT;
    s.nodes = json_len(c->nodes) > 0 ? c->nodes : gce_bs_sync_nodes(a);
    if (json_bool(c->facts, "no_nodes", false)) {
        s.nodes = own(&s, json_object_new_array());
    }
    s.model.broken = &s.broken;
    gce_model_init(&s.model, a, c->observed, json_member(c->facts, "members"));
    if (play_before(&s, &err) != ERR_OK) {
        str_append(text, "BROKEN: ");
        golden_show_error(text, &err);
    } else if (show_sync(&s, &err) != ERR_OK) {
        golden_show_error(text, &err);
    }
    str_append(text, str_buf_text(&s.broken));
    str_buf_done(&s.broken);
    gce_model_done(&s.model);
}
