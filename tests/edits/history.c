/* SPDX-License-Identifier: Apache-2.0 */
/* history.c: see history.h. */
#include "tests/edits/history.h"

#include <stdlib.h>
#include <string.h>

#include "sim/reach/reach.h"
#include "tests/fault/world.h"

struct history {
    struct rig *rig;
    struct arena *a; /* since history_begin() */
    struct moment *at;
    size_t n;
    char *last; /* the last document as text */
};

static const char *told_by(struct history *h, struct json_object *world)
{
    struct json_object *all = json_path(world, "kubernetes.services");
    for (size_t i = 0; i < json_len(all); i++) {
        struct json_object *s = json_object_array_get_idx(all, i);
        if (str_eq(json_str(json_member(s, "metadata"), "name"), "web")) {
            return arena_strdup(h->a, world_published_address(s));
        }
    }
    return NULL;
}

static void note(struct history *h, struct sim *s, const char *after)
{
    _cleanup_(json_putp) struct json_object *world = sim_dump(s);
    struct json_object *reach = reach_of_world(world);
    const char *told = told_by(h, world);
    char *text =
        arena_printf(h->a, "%s %s", str_nonnull(told), json_text(h->a, reach, JSON_COMPACT));
    if (h->last != NULL && str_eq(h->last, text)) {
        json_object_put(reach);
        return;
    }
    h->last = text;
    h->at = xrealloc(h->at, (h->n + 1) * sizeof(h->at[0]));
    h->at[h->n++] =
        (struct moment){arena_strdup(h->a, after), reach, told, clock_now_ms(rig_clock(h->rig))};
}

static void on_call(void *arg, const struct sim_call *call)
{
    struct history *h = arg;
    const char *api = call->module->name;
    bool cloud = str_eq(api, "gce") || str_eq(api, "azure") || str_eq(api, "aws");
    const char *name = arena_printf(call->arena, "%s %s -", api, call->op);
    bool waits =
        strstr(call->op, "perations.") != NULL; /* an operation that has begun may be done now */
    if (cloud && (waits || fault_call_writes(name))) {
        note(h, call->sim, arena_printf(call->arena, "%s %s", call->op, call->path));
    }
}

static void begin(struct sim *s, void *arg)
{
    struct history *h = arg;
    for (size_t i = 0; i < h->n; i++) {
        json_object_put(h->at[i].reach);
    }
    h->n = 0;
    h->last = NULL;
    arena_reset(h->a);
    note(h, s, "the start");
}

static void look(struct sim *s, void *arg)
{
    note(arg, s, "something that no call of the controller did");
}

struct history *history_new(struct rig *r, struct probe *p)
{
    struct history *h = xcalloc(1, sizeof(*h));
    h->rig = r;
    h->a = arena_new();
    rig_in_sim(r, begin, h);
    probe_watch(p, on_call, h);
    return h;
}

void history_free(struct history *h)
{
    if (h != NULL) {
        for (size_t i = 0; i < h->n; i++) {
            json_object_put(h->at[i].reach);
        }
        free(h->at);
        arena_free(h->a);
        free(h);
    }
}

void history_begin(struct history *h)
{
    rig_in_sim(h->rig, begin, h);
}

struct json_object *history_now(struct history *h)
{
    rig_in_sim(h->rig, look, h);
    return h->at[h->n - 1].reach;
}

size_t history_len(const struct history *h)
{
    return h->n;
}

const struct moment *history_at(const struct history *h, size_t i)
{
    return &h->at[i];
}
