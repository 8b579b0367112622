/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c: addresses that this director holds only for a time, because others may take them
 * (director.h, struct local_sharing).
 *
 * Syncs offer addresses whose ports are open.  Each turn compares: what is this director's now is
 * put into the kernel with a lifetime and announced, what is not goes, and lifetimes are renewed
 * together.  A frame by which another host claims an address is answered, or obeyed. */
#include "providers/local/director/director_internal.h"

#include <stdlib.h>
#include <string.h>

#define LIFETIME_MIN_MS 1000 /* the kernel counts in seconds */
#define AGAIN_MS        1000 /* after a refusal; between two answers to claims of one address */
#define HEARD_MAX       256
#define EARS_MAX        64
#define MANY                                                                                       \
    2000 /* addresses of one device: looking for one of them takes the kernel longer with each */

struct director_hold {
    struct ip_addr addr;
    int link;
    bool held;
    int64_t until_ms;   /* of its lifetime */
    int64_t refused_ms; /* when the kernel refused it last; 0: it did not */
    int64_t answered_ms;
};

struct map *local_holds_new(void)
{
    return map_new(free);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Addresses that are changed together. */
struct change {
    struct director_hold **holds;
    size_t n;
};

static void add(struct change *c, struct director_hold *h)
{
    c->holds[c->n++] = h;
}

static struct change change_for(struct local_director *d)
{
    return (struct change){.holds =
                               ARENA_ARRAY(d->a, struct director_hold *, map_size(d->holds) + 1)};
}

/* Returns the codes, one for each. */
static const int *apply(struct local_director *d, const struct change *c, int64_t valid_ms)
{
    struct local_held_addr *items = ARENA_ARRAY(d->a, struct local_held_addr, c->n + 1);
    int *codes = ARENA_ARRAY(d->a, int, c->n + 1);
    struct err err = ERR_INIT;

    for (size_t i = 0; i < c->n; i++) {
        items[i] = (struct local_held_addr){.link = c->holds[i]->link, .addr = c->holds[i]->addr};
    }
    if (c->n > 0 && d->args.kernel->ops->addrs_change(d->args.kernel, items, c->n, valid_ms, codes,
                                                      &err) != ERR_OK) {
        const struct local_news head = {.warning = true};
        local_director_note(d, &head, "addresses could not be %s: %s",
                            valid_ms == 0 ? "let go" : "held", err.message);
    }
    return codes;
}

/* True: all of them are gone. */
static bool drop(struct local_director *d, const struct change *c)
{
    const int *codes = apply(d, c, 0);
    bool all = true;

    for (size_t i = 0; i < c->n; i++) {
        all = all && codes[i] == ERR_OK;
        if (codes[i] == ERR_OK) {
            c->holds[i]->held = false;
            local_announcements_sleep(d, &c->holds[i]->addr);
        }
    }
    return all;
}

static void keep(struct local_director *d, const struct change *c, int64_t until_ms, int64_t now_ms)
{
    int64_t valid_ms = (until_ms - now_ms) / 1000 * 1000;
    const int *codes = apply(d, c, valid_ms);

    for (size_t i = 0; i < c->n; i++) {
        struct director_hold *h = c->holds[i];
        h->refused_ms = codes[i] == ERR_OK ? 0 : now_ms;
        if (codes[i] == ERR_OK && !h->held) {
            local_announcements_wake(d, &h->addr, now_ms);
        }
        if (codes[i] == ERR_OK) {
            h->held = true;
            h->until_ms = now_ms + valid_ms;
        }
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

struct sorting {
    struct local_director *d;
    int64_t now_ms, until_ms;
    struct change go, come;
    size_t n_mine;
};

static bool sort_one(const char *key, void *value, void *arg)
{
    struct director_hold *h = value;
    struct sorting *s = arg;
    const struct local_sharing *by = s->d->args.sharing;
    bool lives = s->until_ms - s->now_ms >= LIFETIME_MIN_MS;
    bool mine = lives && by->holds(by->arg, &h->addr);
    bool rests = h->refused_ms != 0 && s->now_ms < h->refused_ms + AGAIN_MS;

    (void)key;
    s->n_mine += mine;
    if (h->held && !mine) {
        add(&s->go, h);
    } else if (mine && !rests && (!h->held || h->until_ms + by->renew_ms / 2 < s->until_ms)) {
        add(&s->come, h);
    }
    return true;
}

static void answer_claim(struct local_director *d, const struct local_heard *heard, int64_t now_ms)
{
    const struct local_sharing *by = d->args.sharing;
    char text[IP_TEXT_MAX];

    ip_format(&heard->addr, text);
    struct director_hold *h = map_get(d->holds, text);
    if (h == NULL || !h->held || now_ms < h->answered_ms + AGAIN_MS) {
        return;
    }
    enum local_heard_answer answer = by->heard(by->arg, &heard->addr, now_ms);
    if (answer == LOCAL_HEARD_IGNORE) {
        return;
    }
    bool yields = answer == LOCAL_HEARD_YIELD;
    const uint8_t *m = heard->mac;
    const struct local_news head = {.warning = true,
                                    .service = local_announcements_owner(d, &heard->addr),
                                    .reason = "AddressInUse"};
    local_director_note(d, &head, "%s is claimed by %02x:%02x:%02x:%02x:%02x:%02x; %s", text, m[0],
                        m[1], m[2], m[3], m[4], m[5],
                        yields ? "this director does not reach the API server and lets it go"
                               : "this director holds it and announces it again");
    h->answered_ms = now_ms;
    if (!yields) {
        local_announcements_wake(d, &heard->addr, now_ms);
    }
}

static void hear_claims(struct local_director *d, int64_t now_ms)
{
    struct local_kernel *k = d->args.kernel;
    struct local_heard *heard = ARENA_ARRAY(d->a, struct local_heard, HEARD_MAX);

    for (size_t i = 0; map_size(d->holds) > 0 && i < d->n_links; i++) {
        struct err ignored = ERR_INIT; /* without CAP_NET_RAW announcements say so */
        size_t n = 0;
        if (!d->links[i].ethernet || d->links[i].loopback || !d->links[i].up ||
            k->ops->hear(k, &d->links[i], heard, HEARD_MAX, &n, &ignored) != ERR_OK) {
            continue;
        }
        for (size_t j = 0; j < n; j++) {
            answer_claim(d, &heard[j], now_ms);
        }
    }
}

static void say_if_many(struct local_director *d, size_t n)
{
    const struct local_news head = {.warning = true};

    if (n > MANY && !d->told_many) {
        local_director_note(d, &head,
                            "lease needs addresses with lifetimes; %zu on one device are slow: "
                            "use ecmp or more directors",
                            n);
    }
    d->told_many = n > MANY;
}

int64_t local_holds_turn(struct local_director *d, int64_t now_ms)
{
    const struct local_sharing *by = d->args.sharing;
    struct sorting s = {.d = d, .now_ms = now_ms};

    if (by == NULL) {
        return LOCAL_ANNOUNCE_NEVER;
    }
    hear_claims(d, now_ms);
    s.until_ms = by->turn(by->arg, now_ms);
    s.go = change_for(d);
    s.come = change_for(d);
    map_each(d->holds, sort_one, &s);
    by->dropping(by->arg);
    if (drop(d, &s.go)) {
        by->dropped(by->arg);
    }
    keep(d, &s.come, s.until_ms, now_ms);
    say_if_many(d, s.n_mine);
    return now_ms + by->renew_ms / 2;
}

size_t local_holds_ears(struct local_director *d, int *ret_fds, size_t max)
{
    const struct local_kernel *k = d->args.kernel;

    return k->ops->ears(k, ret_fds, max < EARS_MAX ? max : EARS_MAX);
}

bool local_holds_has(const struct local_director *d, const struct ip_addr *addr)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    const struct director_hold *h = map_get(d->holds, text);
    return d->args.sharing == NULL || (h != NULL && h->held);
}

/* ---- orders ---------------------------------------------------------------------------------- */

void local_director_offer(struct local_director *d, const struct ip_addr *addr, int link)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    mutex_lock(&d->lock);
    struct director_hold *h = map_get(d->holds, text);
    if (h != NULL && h->held && h->link != link) {
        const struct local_held_addr old = {.link = h->link, .addr = *addr};
        struct err ignored = ERR_INIT; /* then its lifetime ends */
        int code = ERR_OK;
        (void)d->args.kernel->ops->addrs_change(d->args.kernel, &old, 1, 0, &code, &ignored);
        h->held = false;
    }
    if (h == NULL) {
        h = xcalloc(1, sizeof *h);
        map_set(d->holds, text, h);
    }
    h->addr = *addr;
    h->link = link;
    mutex_unlock(&d->lock);
    local_director_wake(d);
}

int local_director_take_back(struct local_director *d, const struct ip_addr *addr, int link,
                             struct err *err)
{
    char text[IP_TEXT_MAX];
    int rc = ERR_OK;

    ip_format(addr, text);
    mutex_lock(&d->lock);
    const struct director_hold *h = map_get(d->holds, text);
    bool here = h != NULL && h->link == link; /* else it was offered again elsewhere */
    if (here && h->held) {
        const struct local_held_addr item = {.link = h->link, .addr = *addr};
        int code = ERR_OK;
        rc = d->args.kernel->ops->addrs_change(d->args.kernel, &item, 1, 0, &code, err);
    }
    if (rc == ERR_OK && here) {
        (void)map_remove(d->holds, text); /* it is there */
    }
    mutex_unlock(&d->lock);
    return rc;
}

bool local_director_lost(struct local_director *d, const struct ip_addr *addr, int link)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    mutex_lock(&d->lock);
    struct director_hold *h = map_get(d->holds, text);
    bool lost = h != NULL && h->held && h->link == link &&
                clock_now_ms(d->args.clock) + LIFETIME_MIN_MS < h->until_ms;
    if (lost) {
        h->held = false;
        local_announcements_sleep(d, addr);
    }
    mutex_unlock(&d->lock);
    return lost;
}

struct listing {
    void (*each)(void *arg, const struct local_offered *o);
    void *arg;
};

static bool list_one(const char *key, void *value, void *arg)
{
    const struct director_hold *h = value;
    const struct listing *l = arg;
    const struct local_offered o = {.addr = h->addr, .link = h->link, .held = h->held};

    (void)key;
    l->each(l->arg, &o);
    return true;
}

void local_director_offered(struct local_director *d,
                            void (*each)(void *arg, const struct local_offered *o), void *arg)
{
    struct listing l = {each, arg};

    mutex_lock(&d->lock);
    map_each(d->holds, list_one, &l);
    mutex_unlock(&d->lock);
}
