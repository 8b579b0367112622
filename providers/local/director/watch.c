/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c: what others do: the kernel's words are heard, and the provider looks when it is time for
 * it (watch_rules.h). */
#include "providers/local/director/director_internal.h"

#define OPEN_AGAIN_MS 10000
/* Events of one address that were reported within a turn; more of them are reported as a change
 * of anything. */
#define FREED_MAX 64

struct hearing {
    struct local_director *d;
    struct ip_addr freed[FREED_MAX];
    size_t n_freed;
};

static void hear_one(void *arg, const struct local_event *e)
{
    struct hearing *h = arg;

    local_watch_told(&h->d->due, e->kind);
    if (e->kind == LOCAL_EVENT_LINK) {
        h->d->links_next_ms = 0;
    }
    if (e->kind == LOCAL_EVENT_FREED && h->n_freed < FREED_MAX) {
        h->freed[h->n_freed++] = e->addr;
    }
}

static void open_watch(struct local_director *d, int64_t now_ms)
{
    struct local_kernel *k = d->args.kernel;
    struct err err = ERR_INIT;

    if (d->watched || now_ms < d->watch_again_ms) {
        return;
    }
    d->watched = k->ops->watch(k, d->args.instance, d->args.own, &err) == ERR_OK;
    d->watch_again_ms = now_ms + OPEN_AGAIN_MS;
    if (d->watched) { /* earlier changes are not reported */
        local_watch_told(&d->due, LOCAL_EVENT_LOST);
    } else if (!d->watch_failed) {
        const struct local_news head = {.warning = true};
        local_director_note(d, &head, "changes by others are found late: %s", err.message);
    }
    d->watch_failed = !d->watched;
}

static void hear(struct local_director *d, struct hearing *h)
{
    struct local_kernel *k = d->args.kernel;
    struct err ignored = ERR_INIT; /* the periodic checks find what was not reported */

    if (d->watched && k->ops->heard(k, hear_one, h, &ignored) != ERR_OK) {
        d->watched = false; /* a socket that fails is opened again */
    }
}

int64_t local_watch_turn(struct local_director *d, int64_t now_ms)
{
    struct hearing h = {.d = d};

    if (d->args.look == NULL) {
        return LOCAL_WATCH_NEVER;
    }
    if (d->due.at_ms[LOCAL_LOOK_ROUND] == 0) {
        local_watch_begin(&d->due, now_ms);
    }
    open_watch(d, now_ms);
    hear(d, &h);
    for (size_t i = 0; d->args.freed != NULL && i < h.n_freed; i++) {
        d->args.freed(d->args.arg, &h.freed[i]);
    }
    for (int i = 0; i < LOCAL_LOOKS; i++) {
        if (local_watch_is_due(&d->due, i, now_ms)) {
            int64_t began_ms = clock_now_ms(d->args.clock);
            bool well = d->args.look(d->args.arg, i);
            local_watch_did(&d->due, i, well, began_ms, clock_now_ms(d->args.clock));
        }
    }
    return local_watch_next_ms(&d->due);
}
