/* SPDX-License-Identifier: Apache-2.0 */
/* gce_slots_look.c: fills slots: from the snapshot, by lists into it, or by one wave of reads
 * (gce_slots.h, docs/adr/0005).
 *
 *     offline ─────────────────────────────▶ the snapshot is the cloud
 *     looked at a moment ago in this sync ─▶ one wave of what the snapshot does not know
 *     deletion, but for one that finds nothing left ──▶ one wave at once, with the lists beside it
 *     not fresh ──▶ snapshot answers? ──yes─▶ done
 *                        │no
 *                        ├─▶ never listed, or many wait: list ──▶ answers? ──yes─▶ done
 *     fresh ─────────────┴─▶ one wave: main slots, and extra ones that are not known to be absent
 */
#include "common/base/str.h"
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/cache/gce_cluster_id.h"
#include "providers/gce/cache/gce_slots.h"
#include "providers/gce/ops/gce_ops.h"
#include "providers/gce/ops/gce_snapshot_list.h"

#include <string.h>

#define BULK_WAITING 8 /* so many waiting keys make listing cheaper than reading */
#define CLAIMS_MAX   3 /* others may list other kinds first */

struct look {
    struct gce_slots *slots;
    struct lb_sync *s;
    struct gce_cloud *cloud;
    struct arena *wave; /* what the wave needs: its requests, their answers; NULL: no wave yet */
    struct gce_read **gets; /* one per slot; NULL: nothing was read of it */
    bool *reads;            /* which of them take part in the wave */
};

static const struct gce_key *key_of(struct arena *a, const struct gce_slot *slot)
{
    struct gce_key *key = ARENA_NEW(a, struct gce_key);
    *key = (struct gce_key){.c = slot->c, .zone = slot->zone, .name = slot->name};
    return key;
}

static bool is_update(const struct gce_slots *slots)
{
    return slots->verb == TT_VERB_UPDATE;
}

static bool is_ensure(const struct gce_slots *slots)
{
    return slots->verb != TT_VERB_UPDATE && slots->verb != TT_VERB_DELETE;
}

/* A rule that is just being made may be shown without its IP.  A sync that went on would point
 * firewalls at nothing, or give up a held address as useless.  A deletion needs no IP. */
static int want_ip(const struct gce_slots *slots, const struct gce_slot *slot, struct err *err)
{
    const char *ip = "-";
    if (slot->c == GCE_RULES) {
        ip = ((const struct gce_rule *)slot->as)->ip;
    } else if (slot->c == GCE_ADDRESSES) {
        ip = ((const struct gce_address *)slot->as)->ip;
    }
    if (!str_is_empty(ip) || !is_ensure(slots)) {
        return ERR_OK;
    }
    return err_set(err, ERR_TRANSIENT, "%s has no IP yet", slot->name);
}

static int settle_present(struct gce_slots *slots, struct gce_slot *slot, int rc, struct err *err)
{
    if (rc == ERR_OK) {
        rc = want_ip(slots, slot, err);
    }
    slot->known = rc == ERR_OK ? GCE_PRESENT : GCE_UNKNOWN;
    return rc;
}

static int set_present(struct gce_slots *slots, struct gce_slot *slot, struct json_object *o,
                       struct err *err)
{
    return settle_present(slots, slot, gce_slot_decode(slots->a, slot->c, o, &slot->as, err), err);
}

/* ---- the snapshot ---------------------------------------------------------------------------- */

static enum gce_known from_snapshot(struct look *l, struct gce_slot *slot, int64_t max_age_ms)
{
    struct gce_snapshot *s = l->cloud->snapshot;
    const struct gce_key key = {.c = slot->c, .zone = slot->zone, .name = slot->name};
    struct json_object *o = NULL;
    const struct json_view *v = NULL;
    struct arena *a = l->slots->a;
    if (slot->c == GCE_BACKENDS) {
        slot->known = gce_snapshot_get(s, &key, max_age_ms, a, &o);
    } else {
        slot->known = gce_snapshot_view(s, &key, max_age_ms, a, &v);
    }
    if (slot->known == GCE_PRESENT && v != NULL) {
        int rc = gce_slot_decode_view(a, slot->c, v, &slot->as, NULL);
        (void)settle_present(l->slots, slot, rc, NULL);
    } else if (slot->known == GCE_PRESENT) {
        (void)set_present(l->slots, slot, o, NULL);
    }
    return slot->known;
}

/* Its possible changes do not matter here, or would be noticed: who comes and goes in NEGs and
 * groups is followed by their mirrors, and a backend service is not written over before it was read
 * (gce_ops.c). */
static bool is_lasting(const struct look *l, const struct gce_slot *slot)
{
    bool followed = slot->c == GCE_NEGS || slot->c == GCE_GROUPS;
    return followed || (is_update(l->slots) && slot->main && slot->c != GCE_POOLS);
}

static int64_t age_of(const struct look *l, const struct gce_slot *slot)
{
    bool bounded = slot->main && !is_lasting(l, slot) && !l->cloud->offline;
    return bounded ? GCE_SNAPSHOT_AGE_MS : GCE_SNAPSHOT_ANY;
}

/* True when everything is known. */
static bool answered_by_snapshot(struct look *l)
{
    bool all = true;
    for (size_t i = 0; i < l->slots->n; i++) {
        struct gce_slot *slot = &l->slots->items[i];
        if (!slot->looked) {
            all = from_snapshot(l, slot, age_of(l, slot)) != GCE_UNKNOWN && all;
        }
    }
    return all;
}

static bool is_balancer(enum gce_collection c)
{
    return c == GCE_RULES || c == GCE_BACKENDS || c == GCE_POOLS;
}

/* A list may lag behind, or be wrong.  So what it lacks counts only for who asks for a Service's
 * first load balancer: one with no address yet, of which no list knows anything. */
static bool is_new(const struct look *l)
{
    bool none = is_ensure(l->slots) && !l->slots->has_address;
    for (size_t i = 0; none && i < l->slots->n; i++) {
        const struct gce_slot *slot = &l->slots->items[i];
        bool own = is_balancer(slot->c) || slot->c == GCE_ADDRESSES || slot->c == GCE_NEGS;
        none = !own || slot->known == GCE_ABSENT;
    }
    return none;
}

/* Whether what the snapshot knows may stand for the cloud: what the verb is about is there, or
 * nothing will be made at all, because this only plans.  What a plan then changes is read from the
 * cloud first (driver_stage.c). */
static bool is_enough(const struct look *l)
{
    bool seen = false;
    bool all = true;
    for (size_t i = 0; i < l->slots->n; i++) {
        const struct gce_slot *slot = &l->slots->items[i];
        if (is_balancer(slot->c) && !slot->looked && (slot->main || !is_ensure(l->slots))) {
            seen = seen || slot->known == GCE_PRESENT;
            all = all && slot->known == GCE_PRESENT;
        }
    }
    bool there = is_ensure(l->slots) ? all : seen || all;
    return there || (l->s->planning && is_new(l));
}

/* ---- lists ----------------------------------------------------------------------------------- */

static unsigned kinds_of(const struct look *l)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < l->slots->n; i++) {
        if (!l->slots->items[i].looked) {
            kinds |= GCE_KIND(l->slots->items[i].c);
        }
    }
    return kinds;
}

/* Those of the kinds that were not listed within this time. */
static unsigned unlisted(const struct look *l, unsigned kinds, int64_t max_age_ms)
{
    unsigned left = 0;
    for (int c = 0; c < GCE_COLLECTION_MAX; c++) {
        bool asked = (kinds & GCE_KIND(c)) != 0;
        if (asked && !gce_snapshot_was_listed(l->cloud->snapshot, GCE_KIND(c), max_age_ms)) {
            left |= GCE_KIND(c);
        }
    }
    return left;
}

/* Lists what was never listed, or all when so many wait that it is cheaper; not again within a
 * minute: what is new since is read one by one, or a thousand new Services would list
 * a thousand times. */
static int list_if_worth(struct look *l, bool answered, struct err *err)
{
    struct lb_sync *s = l->s;
    unsigned kinds = kinds_of(l);
    bool many = !answered && s->call->waiting >= BULK_WAITING && !is_update(l->slots);
    int64_t age = many ? GCE_SNAPSHOT_AGE_MS : GCE_SNAPSHOT_ANY;
    for (int i = 0; i < CLAIMS_MAX && unlisted(l, kinds, age) != 0; i++) {
        if (!gce_snapshot_claim(l->cloud->snapshot, s->cancel)) {
            continue; /* another caller has listed, perhaps other kinds */
        }
        unsigned asked = unlisted(l, kinds, age);
        int rc = gce_snapshot_list(l->cloud, asked, s->http, s->call, &s->reads, err);
        gce_snapshot_filled(l->cloud->snapshot);
        l->slots->listed_now |= asked;
        return rc;
    }
    return ERR_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct gce_read *read_of(const struct look *l, size_t i)
{
    struct gce_read *ahead = l->slots->items[i].ahead;
    return ahead != NULL ? ahead : l->gets[i];
}

static int take(struct look *l, size_t i, struct err *err)
{
    struct gce_slot *slot = &l->slots->items[i];
    const struct gce_key *key = key_of(l->slots->a, slot);
    struct json_object *o;
    int rc = gce_read_json(read_of(l, i), l->slots->a, &o, err);
    if (rc == ERR_NOT_FOUND) {
        err_clear(err);
        slot->known = GCE_ABSENT;
        gce_snapshot_put(l->cloud->snapshot, key, NULL);
        return ERR_OK;
    }
    if (rc == ERR_OK) {
        rc = set_present(l->slots, slot, o, err);
    }
    if (rc != ERR_OK) {
        slot->known = GCE_UNKNOWN;
        gce_snapshot_forget(l->cloud->snapshot, key);
        return rc;
    }
    gce_snapshot_put(l->cloud->snapshot, key, o);
    return ERR_OK;
}

static void begin_reads(struct look *l)
{
    struct gce_slots *slots = l->slots;
    l->wave = l->wave != NULL ? l->wave : arena_new();
    l->gets = ARENA_ARRAY(l->wave, struct gce_read *, slots->n + 1);
    for (size_t i = 0; i < slots->n; i++) {
        const struct gce_slot *slot = &slots->items[i];
        if (!l->reads[i] || slot->ahead != NULL) {
            continue;
        }
        const struct gce_call_spec spec = {
            .collection = slot->c, .verb = GCE_GET, .zone = slot->zone, .name = slot->name};
        struct gce_read *get = ARENA_NEW(l->wave, struct gce_read);
        gce_read_init(get, &l->cloud->api, l->s->call, l->wave, &spec);
        get->job.cancel = l->s->cancel;
        l->gets[i] = get;
        http_start(l->s->http, &get->job);
    }
}

/* The wave that was begun. */
static int end_reads(struct look *l, struct err *err)
{
    int rc = ERR_OK;
    for (size_t i = 0; i < l->slots->n; i++) {
        struct err one = ERR_INIT;
        if (!l->reads[i]) {
            continue;
        }
        while (!read_of(l, i)->job.done) {
            http_wait(l->s->http, CLOCK_NEVER);
        }
        l->s->reads += read_of(l, i)->call.requests;
        if (take(l, i, &one) != ERR_OK && rc == ERR_OK) {
            (void)err_prefix(&one, "error getting %s %s", gce_collection_word(l->slots->items[i].c),
                             l->slots->items[i].name);
            rc = err_copy(err, &one);
        }
        l->slots->items[i].ahead = NULL;
    }
    return rc;
}

static int read_wave(struct look *l, struct err *err)
{
    begin_reads(l);
    return end_reads(l, err);
}

/* Before the cluster's id is chosen (only a plan comes that far) what is shared has
 * no name to ask for. */
static bool may_exist(const struct gce_slot *slot)
{
    return strstr(slot->name, GCE_CLUSTER_ID_UNKNOWN) == NULL;
}

/* Without a request, in the wave that looks at the cloud. */
static bool is_known_for_sure(struct look *l, struct gce_slot *slot, bool by_name)
{
    if (!may_exist(slot)) {
        slot->known = GCE_ABSENT;
        return true;
    }
    if (is_lasting(l, slot) && l->s->attempt == 0 &&
        from_snapshot(l, slot, GCE_SNAPSHOT_ANY) == GCE_PRESENT) {
        return true;
    }
    return !slot->main && !by_name && from_snapshot(l, slot, GCE_SNAPSHOT_ANY) == GCE_ABSENT;
}

static void choose_reads(struct look *l)
{
    for (size_t i = 0; i < l->slots->n; i++) {
        struct gce_slot *slot = &l->slots->items[i];
        /* A list may lack what is there: of a kind that was listed only now, each name
         * is asked for. */
        bool listed = (l->slots->listed_now & GCE_KIND(slot->c)) != 0;
        bool by_name = (listed || l->slots->by_name) && !l->s->planning && !slot->rare;
        l->reads[i] = !slot->looked && !is_known_for_sure(l, slot, by_name);
    }
}

/* From the cloud; for who is new, what was listed a moment ago is as good. */
static int look_at_cloud(struct look *l, struct err *err)
{
    l->slots->from_cloud = true;
    if (l->slots->listed_now != 0 && answered_by_snapshot(l) && is_new(l)) {
        return ERR_OK;
    }
    choose_reads(l);
    return read_wave(l, err);
}

static int look_at_extras(struct look *l, struct err *err)
{
    for (size_t i = 0; i < l->slots->n; i++) {
        const struct gce_slot *slot = &l->slots->items[i];
        l->reads[i] = !slot->looked && slot->known == GCE_UNKNOWN && may_exist(slot);
    }
    return read_wave(l, err);
}

/* A rare one waits for the list that is made beside the reads. */
static bool waits_for_list(const struct look *l, const struct gce_slot *slot)
{
    return slot->rare && !slot->looked && slot->known == GCE_UNKNOWN && may_exist(slot) &&
           (l->slots->listed_now & GCE_KIND(slot->c)) != 0;
}

static void put_off_rare(struct look *l)
{
    for (size_t i = 0; i < l->slots->n; i++) {
        l->reads[i] = l->reads[i] && !waits_for_list(l, &l->slots->items[i]);
    }
}

/* True: the list answers for each of them. */
static bool rare_are_answered(struct look *l)
{
    bool all = true;
    for (size_t i = 0; i < l->slots->n; i++) {
        struct gce_slot *slot = &l->slots->items[i];
        all =
            (!waits_for_list(l, slot) || from_snapshot(l, slot, GCE_SNAPSHOT_ANY) != GCE_UNKNOWN) &&
            all;
    }
    return all;
}

/* A deletion changes something, so it looks at the cloud itself; kinds that were never listed are
 * listed beside that, because each name is asked for in any case. */
static int look_to_delete(struct look *l, struct err *err)
{
    struct lb_sync *s = l->s;
    unsigned kinds = kinds_of(l) | l->slots->more_kinds;
    struct err lists = ERR_INIT;
    bool fills = false;
    int listed = ERR_OK;
    for (int i = 0; i < CLAIMS_MAX && !fills && unlisted(l, kinds, GCE_SNAPSHOT_ANY) != 0; i++) {
        fills = gce_snapshot_claim(l->cloud->snapshot, s->cancel);
    }
    unsigned asked = fills ? unlisted(l, kinds, GCE_SNAPSHOT_ANY) : 0;
    l->slots->from_cloud = true;
    l->slots->listed_now |= asked;
    choose_reads(l);
    put_off_rare(l);
    begin_reads(l);
    if (fills) {
        listed = gce_snapshot_list(l->cloud, asked, s->http, s->call, &s->reads, &lists);
        gce_snapshot_filled(l->cloud->snapshot);
    }
    int rc = end_reads(l, err);
    rc = rc == ERR_OK && listed != ERR_OK ? err_copy(err, &lists) : rc;
    return rc == ERR_OK && !rare_are_answered(l) ? look_at_extras(l, err) : rc;
}

/* The snapshot has the reads of an earlier stage, and own writes; a conflict looks afresh. */
static int look_again(struct look *l, struct err *err)
{
    return answered_by_snapshot(l) ? ERR_OK : look_at_extras(l, err);
}

static bool is_anything_there(const struct look *l)
{
    for (size_t i = 0; i < l->slots->n; i++) {
        if (l->slots->items[i].known == GCE_PRESENT) {
            return true;
        }
    }
    return false;
}

/* The verb's resource is unchanged; only other resources are unknown. */
static bool lacks_only_extras(const struct look *l)
{
    for (size_t i = 0; i < l->slots->n; i++) {
        const struct gce_slot *slot = &l->slots->items[i];
        if (!slot->looked && slot->main && slot->known == GCE_UNKNOWN) {
            return false;
        }
    }
    return is_enough(l);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void settle(struct look *l, bool from_snapshot)
{
    for (size_t i = 0; i < l->slots->n; i++) {
        l->slots->items[i].looked = true;
    }
    l->slots->from_snapshot = l->slots->from_snapshot || from_snapshot;
    l->s->observed_fresh = !l->slots->from_snapshot;
}

/* True when the snapshot, with what was listed or read for it, is enough. */
static bool look_into_snapshot(struct look *l, struct err *err)
{
    bool answered = answered_by_snapshot(l);
    if (!answered || !is_enough(l)) {
        if (list_if_worth(l, answered, err) != ERR_OK) {
            return false;
        }
        answered = answered_by_snapshot(l); /* this one or another caller may just have listed */
    }
    if (!answered && lacks_only_extras(l)) {
        return look_at_extras(l, err) == ERR_OK;
    }
    return answered && is_enough(l);
}

static int look(struct look *l, struct err *err)
{
    bool from_snapshot = false;
    int rc = ERR_OK;
    if (kinds_of(l) == 0) {
        settle(l, false);
        return ERR_OK;
    }
    if (l->cloud->offline) {
        (void)answered_by_snapshot(l);
    } else if (l->slots->again && !l->s->planning && !l->s->fresh) {
        rc = look_again(l, err);
    } else if (l->slots->verb == TT_VERB_DELETE && !l->s->planning && !l->s->fresh) {
        from_snapshot = !l->slots->by_name && answered_by_snapshot(l) && !is_anything_there(l);
        rc = from_snapshot ? ERR_OK : look_to_delete(l, err);
    } else {
        from_snapshot = !l->s->fresh && !l->slots->from_cloud && look_into_snapshot(l, err);
        rc = from_snapshot || err->code != ERR_OK ? err->code : look_at_cloud(l, err);
    }
    if (rc == ERR_OK) {
        settle(l, from_snapshot);
    }
    return rc;
}

int gce_slots_look(struct gce_slots *slots, struct lb_sync *sync, struct err *err)
{
    struct look l = {.slots = slots,
                     .s = sync,
                     .cloud = gce_cloud_of(sync),
                     .reads = ARENA_ARRAY(sync->a, bool, slots->n + 1)};
    struct err why = ERR_INIT;
    int rc = look(&l, &why);
    arena_free(l.wave);
    return rc == ERR_OK ? rc : err_copy(err, &why);
}
