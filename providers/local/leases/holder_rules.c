/* SPDX-License-Identifier: Apache-2.0 */
/* holder_rules.c: which buckets this director holds, by the Leases of all (holder_rules.h). */
#include "providers/local/leases/holder_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "providers/local/targets/slots.h"

#define LOOKING_MS 1000

enum bucket_state {
    FREE = 0,
    ASKED,   /* claimed in the Lease, or about to be; the kernel has nothing */
    HELD,    /* the kernel may have its addresses */
    LEAVING, /* claimed still: the kernel is to let go */
    DROPPING /* the kernel is about to let go */
};
/* Another director. */
struct peer {
    char *name, *version;
    int64_t seen_ms; /* when its Lease was last seen to change */
    int64_t duration_ms;
    bool listed, ended, takes;
    struct local_bucket_set *holds;
    bool *near;
    uint8_t (*scores)[LOCAL_SCORE_BYTES];
};
struct local_holder {
    struct local_holder_terms terms;
    char *name;
    uint8_t scores[LOCAL_BUCKETS][LOCAL_SCORE_BYTES];
    bool *near;
    uint8_t *states; /* enum bucket_state, of each group and bucket */
    bool *dead;      /* ASKED: its last director was not heard of any more */
    bool ready, drain, leaving, halted;
    struct peer **peers;
    size_t n_peers;
    bool blind; /* more directors than it can look at: nothing is taken or given */

    uint64_t turn;         /* goes up when there is something else to write */
    uint64_t written_turn; /* of the last write */
    int64_t sent_ms;       /* when it was sent; 0: none yet */
    int64_t written_ms;    /* when its answer came */
    int64_t listed_ms;     /* when the last list was asked for; 0: none yet */
    int64_t heard_ms;      /* when it came */
    int64_t failed_ms;     /* since the last success a request failed: when; 0: none */
    int64_t until_ms;      /* end of the lifetimes; 0: nothing is held */
    bool unsure;           /* others may have taken over since */
    bool failing;          /* the last request failed */
    int64_t now_ms;        /* of the last turn */
    struct local_holder_counts counts;
};

unsigned local_bucket_set_count(const struct local_bucket_set *s)
{
    unsigned n = 0;

    for (size_t i = 0; i < ARRAY_LEN(s->bits); i++) {
        n += (unsigned)__builtin_popcountll(s->bits[i]);
    }
    return n;
}

static uint8_t *state_of(const struct local_holder *h, size_t group, unsigned bucket)
{
    return &h->states[group * LOCAL_BUCKETS + bucket];
}

static size_t n_units(const struct local_holder *h)
{
    return h->terms.n_groups * LOCAL_BUCKETS;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct local_holder *local_holder_new(const struct local_holder_terms *terms)
{
    struct local_holder *h = xcalloc(1, sizeof *h);

    h->terms = *terms;
    h->name = xstrdup(terms->name);
    h->near = xcalloc(terms->n_groups, sizeof *h->near);
    h->states = xcalloc(n_units(h), sizeof *h->states);
    h->dead = xcalloc(n_units(h), sizeof *h->dead);
    h->turn = 1;
    for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
        local_bucket_score(h->name, (uint8_t)b, h->scores[b]);
    }
    return h;
}

static void peer_free(struct peer *p)
{
    free(p->name);
    free(p->version);
    free(p->holds);
    free(p->near);
    free(p->scores);
    free(p);
}

void local_holder_free(struct local_holder *h)
{
    if (h == NULL) {
        return;
    }
    for (size_t i = 0; i < h->n_peers; i++) {
        peer_free(h->peers[i]);
    }
    free(h->peers);
    free(h->name);
    free(h->near);
    free(h->states);
    free(h->dead);
    free(h);
}

/* ---- the others ------------------------------------------------------------------------------ */

/* Its kernel may have what it claims. */
static bool is_live(const struct peer *p, int64_t now_ms)
{
    return !p->ended && now_ms < p->seen_ms + p->duration_ms + LOCAL_TAKE_LATER_MS;
}

static struct peer *peer_named(struct local_holder *h, const char *name)
{
    for (size_t i = 0; i < h->n_peers; i++) {
        if (strcmp(h->peers[i]->name, name) == 0) {
            return h->peers[i];
        }
    }
    struct peer *p = xcalloc(1, sizeof *p);
    p->name = xstrdup(name);
    p->holds = xcalloc(h->terms.n_groups, sizeof *p->holds);
    p->near = xcalloc(h->terms.n_groups, sizeof *p->near);
    p->scores = xcalloc(LOCAL_BUCKETS, sizeof *p->scores);
    for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
        local_bucket_score(name, (uint8_t)b, p->scores[b]);
    }
    h->peers = xrealloc(h->peers, (h->n_peers + 1) * sizeof(struct peer *));
    h->peers[h->n_peers++] = p;
    return p;
}

static void note_peer(struct local_holder *h, const struct local_lease_seen *seen, int64_t now_ms)
{
    struct peer *p = peer_named(h, seen->name);

    p->listed = true;
    if (p->version == NULL || strcmp(p->version, seen->version) != 0) {
        free(p->version);
        p->version = xstrdup(seen->version);
        p->seen_ms = now_ms;
    }
    p->duration_ms = seen->duration_ms;
    p->ended = seen->ended;
    p->takes = seen->takes;
    memcpy(p->holds, seen->holds, h->terms.n_groups * sizeof *p->holds);
    memcpy(p->near, seen->near, h->terms.n_groups * sizeof *p->near);
}

/* One whose Lease was deleted may hold addresses still: it counts until it would
 * have run out. */
static void forget_missing(struct local_holder *h, int64_t now_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n_peers; i++) {
        struct peer *p = h->peers[i];
        if (p->listed || is_live(p, now_ms)) {
            h->peers[n++] = p;
        } else {
            peer_free(p);
        }
    }
    h->n_peers = n;
}

/* Of the time between two lists a second at most counts against the others: if the API server was
 * away, it was for them, too, and they hold what they held.  A watch that shows the own renewals in
 * time was looked at all the while. */
static void count_looking(struct local_holder *h, bool watched, int64_t now_ms)
{
    int64_t gap_ms = now_ms - h->heard_ms;
    bool looked = watched && !h->unsure && !h->failing && gap_ms <= h->terms.renew_ms + LOOKING_MS;
    int64_t blind_ms = looked ? 0 : gap_ms - LOOKING_MS;

    for (size_t i = 0; i < h->n_peers && blind_ms > 0; i++) {
        int64_t seen_ms = h->peers[i]->seen_ms + blind_ms;
        h->peers[i]->seen_ms = seen_ms < now_ms ? seen_ms : now_ms;
    }
    h->heard_ms = now_ms;
}

static const struct peer *claimant(const struct local_holder *h, size_t group, unsigned bucket,
                                   bool live)
{
    for (size_t i = 0; i < h->n_peers; i++) {
        const struct peer *p = h->peers[i];
        if (!p->ended && is_live(p, h->now_ms) == live &&
            local_bucket_set_has(&p->holds[group], bucket)) {
            return p;
        }
    }
    return NULL;
}

/* ---- decisions ------------------------------------------------------------------------------- */

bool local_holder_takes(const struct local_holder *h)
{
    return h->ready && !h->drain && !h->leaving && !h->halted;
}

enum owner { NOBODY = 0, SELF, ANOTHER };

static enum owner owner_of(const struct local_holder *h, size_t group, unsigned bucket)
{
    enum owner owner = local_holder_takes(h) && h->near[group] ? SELF : NOBODY;
    const uint8_t *best = owner == SELF ? h->scores[bucket] : NULL;

    for (size_t i = 0; i < h->n_peers; i++) {
        const struct peer *p = h->peers[i];
        if (p->takes && p->near[group] && is_live(p, h->now_ms) &&
            (best == NULL || memcmp(p->scores[bucket], best, LOCAL_SCORE_BYTES) > 0)) {
            best = p->scores[bucket];
            owner = ANOTHER;
        }
    }
    return owner;
}

static void set_state(struct local_holder *h, uint8_t *state, enum bucket_state to)
{
    bool claimed = *state != FREE;

    *state = (uint8_t)to;
    h->turn += claimed != (to != FREE);
}

/* The own Lease is valid, and the list of the others is not older than it. */
static bool is_sure(const struct local_holder *h)
{
    return h->sent_ms != 0 && h->listed_ms != 0 && !h->unsure && !h->blind;
}

static void decide_one(struct local_holder *h, size_t group, unsigned bucket)
{
    uint8_t *state = state_of(h, group, bucket);
    enum owner owner = owner_of(h, group, bucket);

    if (*state == FREE && owner == SELF && claimant(h, group, bucket, true) == NULL) {
        h->dead[state - h->states] = claimant(h, group, bucket, false) != NULL;
        set_state(h, state, ASKED);
    } else if (*state == ASKED && owner != SELF) {
        set_state(h, state, FREE);
    } else if (*state == HELD && (owner == ANOTHER || !h->near[group])) {
        set_state(h, state, LEAVING);
    }
}

static void decide(struct local_holder *h)
{
    for (size_t g = 0; g < h->terms.n_groups; g++) {
        for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
            decide_one(h, g, b);
        }
    }
}

/* The kernel has let go of everything by itself. */
static void lapse(struct local_holder *h)
{
    for (size_t i = 0; i < n_units(h); i++) {
        h->counts.lost += h->states[i] == HELD;
        if (h->states[i] != ASKED) {
            set_state(h, &h->states[i], FREE);
        }
    }
    h->until_ms = 0;
}

static void let_all_go(struct local_holder *h)
{
    for (size_t i = 0; i < n_units(h); i++) {
        if (h->states[i] == ASKED || h->states[i] == HELD) {
            set_state(h, &h->states[i], h->states[i] == HELD ? LEAVING : FREE);
        }
    }
}

void local_holder_turn(struct local_holder *h, int64_t now_ms)
{
    h->now_ms = now_ms;
    if (h->until_ms != 0 && now_ms >= h->until_ms) {
        lapse(h);
    }
    if (h->sent_ms != 0 && (h->failing || now_ms - h->sent_ms > 2 * h->terms.renew_ms)) {
        h->unsure = true;
        if (!h->terms.release && h->until_ms != 0) {
            h->until_ms = now_ms + h->terms.duration_ms;
        }
    }
    if (h->leaving || h->halted) {
        let_all_go(h);
    } else if (is_sure(h)) {
        decide(h);
    }
}

/* ---- what goes into it ----------------------------------------------------------------------- */

void local_holder_reach(struct local_holder *h, const bool *near)
{
    for (size_t g = 0; g < h->terms.n_groups; g++) {
        h->turn += h->near[g] != near[g];
        h->near[g] = near[g];
    }
}

void local_holder_ready(struct local_holder *h, bool ready)
{
    h->turn += h->ready != ready;
    h->ready = ready;
}

void local_holder_drain(struct local_holder *h, bool drain)
{
    h->turn += h->drain != drain;
    h->drain = drain;
}

void local_holder_halt(struct local_holder *h, bool halt)
{
    h->turn += h->halted != halt;
    h->halted = halt;
}

void local_holder_leave(struct local_holder *h)
{
    h->turn += !h->leaving;
    h->leaving = true;
}

/* The claim is written, the list began after that, and the lifetimes that follow from it
 * have not run out. */
static bool may_take(const struct local_holder *h, int64_t asked_ms, int64_t now_ms)
{
    return is_sure(h) && h->written_turn == h->turn && asked_ms >= h->written_ms &&
           now_ms - h->written_ms <= h->terms.renew_ms && now_ms < h->until_ms && !h->leaving &&
           !h->halted;
}

/* `unsure`: another that claims what is held here has taken it for a dead director's. */
static void take_or_yield(struct local_holder *h, size_t group, unsigned bucket, bool may,
                          bool unsure)
{
    uint8_t *state = state_of(h, group, bucket);
    const struct peer *other = claimant(h, group, bucket, true);

    if (*state == ASKED && may && other == NULL) {
        bool dead = h->dead[state - h->states];
        h->counts.taken_dead += dead;
        h->counts.taken_free += !dead;
        set_state(h, state, HELD);
    } else if (*state == HELD && unsure && other != NULL) {
        h->counts.lost++;
        set_state(h, state, FREE);
    }
}

static void see(struct local_holder *h, const struct local_lease_seen *all, size_t n, bool watched,
                int64_t asked_ms, int64_t now_ms)
{
    for (size_t i = 0; i < h->n_peers; i++) {
        h->peers[i]->listed = false;
    }
    h->blind = n > LOCAL_DIRECTORS_MAX;
    count_looking(h, watched, now_ms);
    for (size_t i = 0; i < n && !h->blind; i++) {
        note_peer(h, &all[i], now_ms);
    }
    forget_missing(h, now_ms);
    h->listed_ms = asked_ms;
    bool was_unsure = h->unsure;
    bool valid = !h->failing && now_ms - h->sent_ms <= 2 * h->terms.renew_ms;
    h->unsure = h->unsure && !(valid && h->sent_ms != 0 && asked_ms >= h->written_ms);
    local_holder_turn(h, now_ms);
    bool may = may_take(h, asked_ms, now_ms);
    for (size_t g = 0; g < h->terms.n_groups; g++) {
        for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
            take_or_yield(h, g, b, may, was_unsure);
        }
    }
}

void local_holder_see(struct local_holder *h, const struct local_lease_seen *all, size_t n,
                      int64_t asked_ms, int64_t now_ms)
{
    see(h, all, n, false, asked_ms, now_ms);
}

void local_holder_see_watched(struct local_holder *h, const struct local_lease_seen *all, size_t n,
                              int64_t asked_ms, int64_t now_ms)
{
    see(h, all, n, true, asked_ms, now_ms);
}

void local_holder_wrote(struct local_holder *h, uint64_t turn, int64_t sent_ms, int64_t now_ms)
{
    if (h->until_ms != 0 && now_ms >= h->until_ms) {
        lapse(h); /* before this answer: others may have counted it as dead */
    }
    h->sent_ms = sent_ms;
    h->written_ms = now_ms;
    h->written_turn = turn;
    h->failing = false;
    h->failed_ms = 0;
    int64_t until_ms = sent_ms + h->terms.duration_ms;
    h->until_ms = until_ms > h->until_ms ? until_ms : h->until_ms;
}

void local_holder_failed(struct local_holder *h)
{
    h->failing = true;
    h->failed_ms = h->now_ms;
}

enum local_claim_answer local_holder_heard(struct local_holder *h, size_t group, unsigned bucket,
                                           int64_t now_ms)
{
    uint8_t *state = state_of(h, group, bucket);

    local_holder_turn(h, now_ms);
    if (*state != HELD) {
        return LOCAL_CLAIM_IGNORED;
    }
    if (!local_holder_is_tentative(h)) {
        return LOCAL_CLAIM_DEFEND;
    }
    h->counts.lost++;
    set_state(h, state, FREE);
    return LOCAL_CLAIM_YIELDED;
}

void local_holder_dropping(struct local_holder *h)
{
    for (size_t i = 0; i < n_units(h); i++) {
        if (h->states[i] == LEAVING) {
            set_state(h, &h->states[i], DROPPING);
        }
    }
}

void local_holder_dropped(struct local_holder *h)
{
    for (size_t i = 0; i < n_units(h); i++) {
        if (h->states[i] == DROPPING) {
            set_state(h, &h->states[i], FREE);
        }
    }
}

/* ---- what comes out of it -------------------------------------------------------------------- */

bool local_holder_holds(const struct local_holder *h, size_t group, unsigned bucket)
{
    return *state_of(h, group, bucket) == HELD;
}

int64_t local_holder_until_ms(const struct local_holder *h)
{
    return h->until_ms;
}

int64_t local_holder_write_ms(const struct local_holder *h)
{
    int64_t pause_ms = h->terms.renew_ms < 2000 ? h->terms.renew_ms / 2 : 1000;

    if (h->failing) {
        return h->failed_ms + pause_ms;
    }
    return h->written_turn != h->turn ? 0 : h->sent_ms + h->terms.renew_ms;
}

bool local_holder_must_list(const struct local_holder *h)
{
    return h->listed_ms < h->written_ms;
}

bool local_holder_is_tentative(const struct local_holder *h)
{
    return h->unsure;
}

int64_t local_holder_rest_ms(const struct local_holder *h)
{
    int64_t late_ms = 2 * h->terms.renew_ms;
    int64_t rest_ms = INT64_MAX;

    if (h->unsure || h->failing || h->terms.duration_ms < 3 * h->terms.renew_ms) {
        return 0;
    }
    for (size_t i = 0; i < h->n_peers; i++) {
        const struct peer *p = h->peers[i];
        if (is_live(p, h->now_ms) && p->seen_ms + late_ms < rest_ms) {
            rest_ms = p->seen_ms + late_ms;
        }
    }
    return rest_ms;
}

uint64_t local_holder_claims(const struct local_holder *h, struct local_bucket_set *ret)
{
    memset(ret, 0, h->terms.n_groups * sizeof *ret);
    for (size_t i = 0; i < n_units(h); i++) {
        if (h->states[i] != FREE) {
            local_bucket_set_add(&ret[i / LOCAL_BUCKETS], i % LOCAL_BUCKETS);
        }
    }
    return h->turn;
}

struct local_holder_counts local_holder_count(const struct local_holder *h)
{
    struct local_holder_counts c = h->counts;

    for (size_t i = 0; i < n_units(h); i++) {
        c.held += h->states[i] == HELD;
        c.asked += h->states[i] == ASKED;
        c.leaving += h->states[i] == LEAVING || h->states[i] == DROPPING;
    }
    for (size_t i = 0; i < h->n_peers; i++) {
        c.others += is_live(h->peers[i], h->now_ms);
    }
    return c;
}
