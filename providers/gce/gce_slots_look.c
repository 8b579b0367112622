/* SPDX-License-Identifier: Apache-2.0 */
/* gce_slots_look.c: fills slots: one wave of reads, or none (gce_slots.h, docs/adr/0005). */
#include "common/base/str.h"
#include "providers/gce/gce_ops.h"
#include "providers/gce/gce_provider.h"
#include "providers/gce/gce_slots.h"

struct look {
    struct gce_slots *slots;
    struct lb_sync *s;
    struct gce_provider *p;
    struct gce_read *gets; /* one per slot */
    bool *reads;           /* which of them take part in this wave */
};

static void remember(struct look *l, const struct gce_slot *slot, struct json_object *o)
{
    const struct gce_key key = {.c = slot->c, .zone = slot->zone, .name = slot->name};
    gce_snapshot_put(l->p->snapshot, &key, o);
}

static int take(struct look *l, size_t i, struct err *err)
{
    struct gce_slot *slot = &l->slots->items[i];
    struct json_object *o;
    int rc = gce_read_json(&l->gets[i], l->s->a, &o, err);
    if (rc == ERR_NOT_FOUND) {
        err_clear(err);
        slot->known = GCE_ABSENT;
        remember(l, slot, NULL);
        return ERR_OK;
    }
    if (rc == ERR_OK) {
        rc = gce_slot_decode(l->s->a, slot->c, o, &slot->as, err);
    }
    if (rc == ERR_OK) {
        slot->json = o;
        slot->known = GCE_PRESENT;
        remember(l, slot, o);
    }
    return rc;
}

static int read_wave(struct look *l, struct err *err)
{
    struct gce_slots *slots = l->slots;
    struct http_job **jobs = ARENA_ARRAY(l->s->a, struct http_job *, slots->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < slots->n; i++) {
        const struct gce_slot *slot = &slots->items[i];
        if (!l->reads[i]) {
            continue;
        }
        const struct gce_call_spec spec = {
            .collection = slot->c, .verb = GCE_GET, .zone = slot->zone, .name = slot->name};
        gce_read_init(&l->gets[i], &l->p->api, l->s->call, l->s->a, &spec);
        l->gets[i].job.cancel = l->s->cancel;
        jobs[n++] = &l->gets[i].job;
    }
    if (n > 0) {
        http_run(l->s->http, jobs, n);
    }
    int rc = ERR_OK;
    for (size_t i = 0; i < slots->n; i++) {
        struct err one = ERR_INIT;
        if (!l->reads[i]) {
            continue;
        }
        l->s->reads += l->gets[i].call.requests;
        if (take(l, i, &one) != ERR_OK && rc == ERR_OK) {
            (void)err_prefix(&one, "error getting %s %s", gce_collection_word(slots->items[i].c),
                             slots->items[i].name);
            rc = err_copy(err, &one);
        }
    }
    return rc;
}

int gce_slots_look(struct gce_slots *slots, struct lb_sync *sync, struct err *err)
{
    struct look l = {.slots = slots,
                     .s = sync,
                     .p = sync->provider,
                     .gets = ARENA_ARRAY(sync->a, struct gce_read, slots->n + 1),
                     .reads = ARENA_ARRAY(sync->a, bool, slots->n + 1)};
    for (size_t i = 0; i < slots->n; i++) {
        l.reads[i] = slots->items[i].known == GCE_UNKNOWN;
    }
    sync->observed_fresh = true;
    return read_wave(&l, err);
}
