/* SPDX-License-Identifier: Apache-2.0 */
/* announce.c: addresses that are announced, on which link, and what has become of their probes
 * (announce_rules.h has the moments).
 *
 * A turn looks at addresses that are due, and at no others.  Links are looked at each second: one
 * whose carrier returned, or that has another MAC, gets all of its addresses announced again. */
#include "providers/local/director/director_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/keep.h"

#define LINKS_EVERY_MS 1000
#define BATCH          256 /* addresses of one request to the kernel */
#define DOWN_TOLD_MAX  16  /* owners that get an event when a link loses its carrier */

/* One address, and each link on which it is announced. */
struct director_address {
    struct ip_addr addr; /* first: local_addr_kind */
    bool asleep;         /* it is not held here now */
    uint16_t n;
    struct due_place due;
    const struct interned *owner;
    struct local_announcement on[];
};

static_assert(sizeof(struct director_address) <= 32 && sizeof(struct local_announcement) <= 40,
              "there are tens of thousands of them");

static size_t address_size(size_t n_links)
{
    return sizeof(struct director_address) + n_links * sizeof(struct local_announcement);
}

static void address_free(struct local_director *d, struct director_address *x)
{
    if (x != NULL) {
        due_drop(&d->announce_due, &x->due);
        intern_drop(d->texts, x->owner);
        keep_free(x, address_size(x->n));
    }
}

void local_announcements_init(struct local_director *d)
{
    index_init(&d->announcements, &local_addr_kind);
}

void local_announcements_done(struct local_director *d)
{
    for (size_t i = 0; i < d->announcements.cap; i++) {
        address_free(d, d->announcements.at[i]);
    }
    index_done(&d->announcements);
    due_done(&d->announce_due);
}

/* When the first of its links is due; an address that is not held never is. */
static void schedule(struct local_director *d, struct director_address *x)
{
    int64_t at_ms = LOCAL_ANNOUNCE_NEVER;

    for (size_t i = 0; !x->asleep && i < x->n; i++) {
        at_ms = x->on[i].next_ms < at_ms ? x->on[i].next_ms : at_ms;
    }
    if (at_ms == LOCAL_ANNOUNCE_NEVER) {
        due_drop(&d->announce_due, &x->due);
    } else {
        due_set(&d->announce_due, &x->due, at_ms);
    }
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* `x` has room for one link more. */
static void order_on(struct director_address *x, const struct local_announce_order *o, int link,
                     int64_t now_ms)
{
    for (size_t i = 0; i < x->n; i++) {
        if (x->on[i].link == link) {
            x->on[i].refresh_ms = (int32_t)o->refresh_ms;
            return;
        }
    }
    struct local_announcement *e = &x->on[x->n++];
    *e = (struct local_announcement){.link = link, .refresh_ms = (int32_t)o->refresh_ms};
    local_announcement_begin(e, o->probe, now_ms);
}

static struct director_address *address_of(struct local_director *d, const struct ip_addr *addr)
{
    return index_get(&d->announcements, addr);
}

static bool is_on(const struct director_address *x, int link)
{
    for (size_t i = 0; x != NULL && i < x->n; i++) {
        if (x->on[i].link == link) {
            return true;
        }
    }
    return false;
}

/* Links of the order that it is not on yet; each is named once. */
static size_t count_new(const struct director_address *x, const struct local_announce_order *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->n_links; i++) {
        bool again = is_on(x, o->links[i]->index);
        for (size_t k = 0; k < i; k++) {
            again = again || o->links[k]->index == o->links[i]->index;
        }
        n += !again;
    }
    return n;
}

/* With room for n links more than it has. */
static struct director_address *address_with_room(struct local_director *d,
                                                  const struct ip_addr *addr, size_t n)
{
    struct director_address *old = address_of(d, addr);
    size_t n_old = old == NULL ? 0 : old->n;
    struct director_address *x = keep_alloc(address_size(n_old + n));

    x->addr = *addr;
    if (old != NULL) {
        memcpy(x, old, sizeof *old + n_old * sizeof *old->on);
        due_drop(&d->announce_due, &old->due); /* the caller schedules it */
        x->due = (struct due_place){0};
    }
    (void)index_put(&d->announcements, x); /* the old one */
    keep_free(old, address_size(n_old));
    return x;
}

void local_director_announce(struct local_director *d, const struct local_announce_order *order)
{
    int64_t now_ms = clock_now_ms(d->args.clock);

    mutex_lock(&d->lock);
    size_t n_new = count_new(address_of(d, &order->addr), order);
    struct director_address *x = address_with_room(d, &order->addr, n_new);
    x->asleep = !local_holds_has(d, &order->addr);
    struct local_announce_order o = *order;
    const struct local_sharing *by = d->args.sharing; /* another director that has it has probed */
    o.probe = order->probe && (by == NULL || by->holds(by->arg, &order->addr));
    for (size_t i = 0; i < order->n_links; i++) {
        order_on(x, &o, order->links[i]->index, now_ms);
    }
    intern_drop(d->texts, x->owner);
    x->owner = intern_text(d->texts, order->owner);
    schedule(d, x);
    mutex_unlock(&d->lock);
    local_director_wake(d);
}

static bool names(const struct local_announce_order *o, int link)
{
    for (size_t i = 0; i < o->n_links; i++) {
        if (o->links[i]->index == link) {
            return true;
        }
    }
    return false;
}

void local_director_follow_links(struct local_director *d, const struct local_announce_order *order)
{
    int64_t now_ms = clock_now_ms(d->args.clock);

    mutex_lock(&d->lock);
    struct director_address *old = address_of(d, &order->addr);
    size_t n_new = old == NULL ? 0 : count_new(old, order);
    size_t n_stays = 0;
    for (size_t i = 0; old != NULL && i < old->n; i++) {
        n_stays += names(order, old->on[i].link);
    }
    bool moves = old != NULL && (n_new > 0 || n_stays < old->n);
    if (moves) {
        struct director_address *x = keep_alloc(address_size(n_stays + n_new));
        *x = *old;
        x->n = 0;
        for (size_t i = 0; i < old->n; i++) {
            if (names(order, old->on[i].link)) {
                x->on[x->n++] = old->on[i];
            }
        }
        due_drop(&d->announce_due, &old->due);
        x->due = (struct due_place){0};
        (void)index_put(&d->announcements, x);
        keep_free(old, address_size(old->n));
        for (size_t i = 0; i < order->n_links; i++) {
            order_on(x, order, order->links[i]->index, now_ms);
        }
        schedule(d, x);
    }
    mutex_unlock(&d->lock);
    if (moves) { /* each sync asks, and most change nothing */
        local_director_wake(d);
    }
}

void local_director_withdraw(struct local_director *d, const struct ip_addr *addr)
{
    mutex_lock(&d->lock);
    address_free(d, index_take(&d->announcements, addr)); /* held addresses need not be announced */
    mutex_unlock(&d->lock);
}

void local_director_again(struct local_director *d, const struct ip_addr *addr)
{
    int64_t now_ms = clock_now_ms(d->args.clock);

    mutex_lock(&d->lock);
    struct director_address *x = address_of(d, addr);
    for (size_t i = 0; x != NULL && i < x->n; i++) {
        local_announcement_again(&x->on[i], now_ms);
    }
    if (x != NULL) {
        schedule(d, x);
    }
    mutex_unlock(&d->lock);
    if (x != NULL) {
        local_director_wake(d);
    }
}

void local_announcements_wake(struct local_director *d, const struct ip_addr *addr, int64_t now_ms)
{
    struct director_address *x = address_of(d, addr);

    for (size_t i = 0; x != NULL && i < x->n; i++) {
        struct local_announcement *e = &x->on[i];
        local_announcement_begin(e, e->phase == LOCAL_PHASE_PROBE && e->last_ms < 0, now_ms);
    }
    if (x != NULL) {
        x->asleep = false;
        schedule(d, x);
    }
}

void local_announcements_sleep(struct local_director *d, const struct ip_addr *addr)
{
    struct director_address *x = address_of(d, addr);

    if (x != NULL) {
        x->asleep = true;
        schedule(d, x);
    }
}

bool local_announcements_has(struct local_director *d, const struct ip_addr *addr, int link)
{
    const struct director_address *x = address_of(d, addr);

    for (size_t i = 0; x != NULL && !x->asleep && i < x->n; i++) {
        if (x->on[i].link == link) {
            return x->on[i].phase == LOCAL_PHASE_BURST || x->on[i].phase == LOCAL_PHASE_REST;
        }
    }
    return false;
}

const char *local_announcements_owner(struct local_director *d, const struct ip_addr *addr)
{
    const struct director_address *x = address_of(d, addr);

    return x == NULL ? NULL : intern_str(x->owner);
}

static void add_state(struct local_announce_state *st, const struct local_announcement *e,
                      int64_t now_ms)
{
    st->probing = st->probing || e->phase == LOCAL_PHASE_PROBE;
    if (e->phase == LOCAL_PHASE_IN_USE) {
        st->in_use = true;
        memcpy(st->mac, e->mac, sizeof st->mac);
    }
    if (e->last_ms >= 0 && (st->ago_ms < 0 || now_ms - e->last_ms < st->ago_ms)) {
        st->ago_ms = now_ms - e->last_ms;
    }
}

struct local_announce_state local_director_announced(struct local_director *d,
                                                     const struct ip_addr *addr)
{
    struct local_announce_state st = {.ago_ms = -1};
    int64_t now_ms = clock_now_ms(d->args.clock);
    mutex_lock(&d->lock);
    const struct director_address *x = address_of(d, addr);
    for (size_t i = 0; x != NULL && i < x->n; i++) {
        st.known = true;
        add_state(&st, &x->on[i], now_ms);
    }
    mutex_unlock(&d->lock);
    return st;
}

/* ---- links ----------------------------------------------------------------------------------- */

static const struct local_link *link_of(const struct local_link *links, size_t n, int index)
{
    for (size_t i = 0; i < n; i++) {
        if (links[i].index == index) {
            return &links[i];
        }
    }
    return NULL;
}

struct seen {
    struct local_director *d;
    const struct local_link *now;
    size_t n_now;
    int64_t now_ms;
    size_t n_down; /* addresses on links that have lost their carrier */
};

/* A link that the last look did not see, or saw without a carrier, has one now; or it
 * has another MAC. */
static bool is_back(const struct seen *s, int index)
{
    const struct local_link *was = link_of(s->d->links, s->d->n_links, index);
    const struct local_link *is = link_of(s->now, s->n_now, index);

    return is != NULL && is->up &&
           (was == NULL || !was->up || memcmp(was->mac, is->mac, sizeof is->mac) != 0);
}

/* The last look saw it with a carrier. */
static bool is_down(const struct seen *s, int index)
{
    const struct local_link *was = link_of(s->d->links, s->d->n_links, index);
    const struct local_link *is = link_of(s->now, s->n_now, index);

    return was != NULL && was->up && (is == NULL || !is->up);
}

/* The hold stays; the next carrier begins a burst. */
static void say_down(struct seen *s, const struct director_address *x,
                     const struct local_announcement *e)
{
    const struct local_link *was = link_of(s->d->links, s->d->n_links, e->link);
    const struct local_news head = {
        .warning = true, .service = intern_str(x->owner), .reason = "InterfaceDown"};
    char text[IP_TEXT_MAX];

    if (s->n_down++ < DOWN_TOLD_MAX) {
        ip_format(&x->addr, text);
        local_director_note(s->d, &head, "%s is not announced on %s: it has no carrier", text,
                            was->name);
    }
}

/* Some link has come, gone, or is not as it was; mostly none, and then no address is looked at. */
static bool links_differ(const struct seen *s)
{
    bool differ = s->n_now != s->d->n_links;

    for (size_t i = 0; i < s->n_now && !differ; i++) {
        const struct local_link *is = &s->now[i];
        const struct local_link *was = link_of(s->d->links, s->d->n_links, is->index);
        differ = was == NULL || was->up != is->up || memcmp(was->mac, is->mac, sizeof is->mac) != 0;
    }
    return differ;
}

static void compare_links(struct seen *s, struct director_address *x)
{
    for (size_t i = 0; !x->asleep && i < x->n; i++) {
        if (is_back(s, x->on[i].link)) {
            local_announcement_again(&x->on[i], s->now_ms);
        } else if (is_down(s, x->on[i].link)) {
            say_down(s, x, &x->on[i]);
        }
    }
    schedule(s->d, x);
}

static void compare_all_links(struct seen *s)
{
    void **all = index_sorted(&s->d->announcements);

    for (size_t i = 0; all[i] != NULL; i++) {
        compare_links(s, all[i]);
    }
    free(all);
}

int64_t local_links_turn(struct local_director *d, int64_t now_ms)
{
    struct arena *a;
    struct local_link *links = NULL;
    size_t n = 0;
    struct err ignored = ERR_INIT; /* the next look comes in a second */

    if (d->links != NULL && now_ms < d->links_next_ms) {
        return d->links_next_ms;
    }
    d->links_next_ms = now_ms + LINKS_EVERY_MS;
    a = arena_new();
    if (d->args.kernel->ops->links(d->args.kernel, a, &links, &n, &ignored) != ERR_OK) {
        arena_free(a);
        return d->links_next_ms;
    }
    struct seen s = {d, links, n, now_ms, 0};
    if (d->links != NULL && links_differ(&s)) {
        compare_all_links(&s);
        if (s.n_down > DOWN_TOLD_MAX) {
            const struct local_news head = {.warning = true};
            local_director_note(d, &head, "%zu addresses are not announced: no carrier", s.n_down);
        }
    }
    arena_free(d->links_a);
    d->links_a = a;
    d->links = links;
    d->n_links = n;
    if (d->args.sharing != NULL) {
        d->args.sharing->look(d->args.sharing->arg, d->args.kernel, links, n);
    }
    return d->links_next_ms;
}

/* ---- what is due ----------------------------------------------------------------------------- */

struct batch {
    const struct local_link *link;
    struct ip_addr addrs[BATCH];
    unsigned n;
    struct batch *next;
};
struct sending {
    struct local_director *d;
    int64_t now_ms;
    struct batch *batches; /* one for each link */
};

static void send_batch(struct local_director *d, struct batch *b)
{
    struct err err = ERR_INIT;
    unsigned n4 = 0;

    for (unsigned i = 0; i < b->n; i++) {
        n4 += b->addrs[i].len == 4;
    }
    if (b->n > 0 &&
        d->args.kernel->ops->announce(d->args.kernel, b->link, b->addrs, b->n, &err) == ERR_OK) {
        local_director_count(d, "local_announcements_total", "arp", NULL, n4);
        local_director_count(d, "local_announcements_total", "ndp", NULL, b->n - n4);
        if (n4 > 0) {
            local_responses_on(d, b->link->index);
        }
    } else if (b->n > 0) {
        const struct local_news head = {.warning = true};
        local_director_note(d, &head, "not announced on %s: %s", b->link->name, err.message);
    }
    b->n = 0;
}

static void add_to_batch(struct sending *s, const struct local_link *link,
                         const struct ip_addr *addr)
{
    struct batch *b = s->batches;

    while (b != NULL && b->link != link) {
        b = b->next;
    }
    if (b == NULL) {
        b = ARENA_NEW(s->d->a, struct batch);
        b->link = link;
        b->next = s->batches;
        s->batches = b;
    }
    if (b->n == BATCH) {
        send_batch(s->d, b);
    }
    b->addrs[b->n++] = *addr;
}

static struct local_pace *pace_of(struct local_director *d, int link)
{
    for (size_t i = 0; i < d->n_paces; i++) {
        if (d->paces[i].link == link) {
            return &d->paces[i].pace;
        }
    }
    d->paces = xrealloc(d->paces, (d->n_paces + 1) * sizeof *d->paces);
    d->paces[d->n_paces] = (struct director_pace){.link = link};
    return &d->paces[d->n_paces++].pace;
}

static void announce(struct sending *s, const struct ip_addr *addr, struct local_announcement *e,
                     const struct local_link *link)
{
    unsigned frames = addr->len == 4 ? 2 : 1;
    int64_t when_ms = 0;

    if (local_announcement_can_wait(e) &&
        !local_pace_take(pace_of(s->d, link->index), frames, s->now_ms, &when_ms)) {
        e->next_ms = when_ms;
        return;
    }
    add_to_batch(s, link, addr);
    local_announcement_did(e, LOCAL_ACT_ANNOUNCE, s->now_ms);
}

static void probe(struct sending *s, const struct ip_addr *addr, struct local_announcement *e,
                  const struct local_link *link)
{
    struct local_kernel *k = s->d->args.kernel;
    struct local_probe_answer old;
    struct err ignored = ERR_INIT;

    if (e->step == 0) { /* what was heard before this round does not count */
        (void)k->ops->probe_answer(k, link, addr, &old, &ignored);
        err_clear(&ignored);
    }
    (void)k->ops->probe_send(k, link, addr, &ignored); /* one of the three may be lost */
    local_announcement_did(e, LOCAL_ACT_PROBE, s->now_ms);
}

static void say_in_use(struct local_director *d, const struct director_address *x,
                       const struct local_announcement *e)
{
    struct local_news head = {
        .warning = true, .service = intern_str(x->owner), .reason = "AddressInUse"};
    const uint8_t *m = e->mac;
    char text[IP_TEXT_MAX];

    head.in_use.addr = x->addr;
    memcpy(head.in_use.mac, m, sizeof head.in_use.mac);

    ip_format(&x->addr, text);
    local_director_note(d, &head, LOCAL_IN_USE_FORMAT, text, m[0], m[1], m[2], m[3], m[4], m[5]);
}

static bool was_in_use(const struct local_announcement *e)
{
    static const uint8_t none[6];

    return memcmp(e->mac, none, sizeof none) != 0;
}

static void say_free(struct local_director *d, const char *owner)
{
    const struct local_news head = {.service = owner};

    local_director_note(d, &head, NULL);
}

static void hear(struct sending *s, const struct director_address *x, struct local_announcement *e,
                 const struct local_link *link)
{
    struct local_kernel *k = s->d->args.kernel;
    struct local_probe_answer answer = {0};
    struct err err = ERR_INIT;

    if (k->ops->probe_answer(k, link, &x->addr, &answer, &err) == ERR_OK && answer.answered) {
        local_announcement_heard(e, answer.mac, s->now_ms);
        say_in_use(s->d, x, e);
    } else {
        if (was_in_use(e)) {
            say_free(s->d, intern_str(x->owner));
        }
        local_announcement_heard(e, NULL, s->now_ms);
        announce(s, &x->addr, e, link);
    }
}

static void act(struct sending *s, const struct director_address *x, struct local_announcement *e)
{
    enum local_announce_act due = local_announcement_due(e, s->now_ms);
    const struct local_link *link =
        due == LOCAL_ACT_NOTHING ? NULL : link_of(s->d->links, s->d->n_links, e->link);

    if (due != LOCAL_ACT_NOTHING && (link == NULL || !link->up)) {
        e->next_ms = s->now_ms + LINKS_EVERY_MS; /* its carrier begins a new burst */
    } else if (due == LOCAL_ACT_PROBE) {
        probe(s, &x->addr, e, link);
    } else if (due == LOCAL_ACT_LISTEN) {
        hear(s, x, e, link);
    } else if (due == LOCAL_ACT_ANNOUNCE) {
        announce(s, &x->addr, e, link);
    }
}

static int by_address(const void *a, const void *b)
{
    const struct director_address *const *x = a;
    const struct director_address *const *y = b;

    return local_addr_cmp(&(*x)->addr, &(*y)->addr);
}

/* Those that are due, in the order of addresses; they are in no heap then. */
static struct director_address **take_due(struct local_director *d, int64_t now_ms, size_t *ret_n)
{
    struct director_address **due =
        ARENA_ARRAY(d->a, struct director_address *, d->announce_due.n + 1);
    struct due_place *place;
    size_t n = 0;

    while ((place = due_take(&d->announce_due, now_ms)) != NULL) {
        due[n++] = (void *)((char *)place - offsetof(struct director_address, due));
    }
    qsort(due, n, sizeof(*due), by_address);
    *ret_n = n;
    return due;
}

int64_t local_announcements_turn(struct local_director *d, int64_t now_ms)
{
    struct sending s = {.d = d, .now_ms = now_ms};
    size_t n = 0;

    if (due_first_ms(&d->announce_due) > now_ms) {
        return due_first_ms(&d->announce_due);
    }
    struct director_address **due = take_due(d, now_ms, &n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < due[i]->n; k++) {
            act(&s, due[i], &due[i]->on[k]);
        }
        schedule(d, due[i]);
    }
    for (struct batch *b = s.batches; b != NULL; b = b->next) {
        send_batch(d, b);
    }
    return due_first_ms(&d->announce_due);
}
