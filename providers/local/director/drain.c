/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c: connections to targets that left: they may continue for drainTimeout, then their entries
 * of connection tracking are deleted.
 *
 * A target that comes back before is left alone.  A restart forgets the timers: such connections
 * stay until they end by themselves, or until the port goes (run.c). */
#include "providers/local/director/director_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define AGAIN_MS 1000
#define KEY_MAX  (LOCAL_FRONTEND_TEXT_MAX + IP_TEXT_MAX + 16)

struct director_drain {
    struct local_connection of;
    int64_t at_ms;
};

struct map *local_drains_new(void)
{
    return map_new(free);
}

static void key_of(const struct local_connection *c, char key[KEY_MAX])
{
    char front[LOCAL_FRONTEND_TEXT_MAX];
    char target[IP_TEXT_MAX];

    local_frontend_text(&c->id, front);
    ip_format(&c->target, target);
    (void)snprintf(key, KEY_MAX, "%s %s %u", front, target, c->port);
}

void local_director_drain(struct local_director *d, const struct local_connection *c,
                          int64_t after_ms)
{
    char key[KEY_MAX];

    key_of(c, key);
    mutex_lock(&d->lock);
    if (!map_has(d->drains, key)) {
        struct director_drain *x = xcalloc(1, sizeof *x);
        *x = (struct director_drain){.of = *c, .at_ms = clock_now_ms(d->args.clock) + after_ms};
        map_set(d->drains, key, x);
    }
    mutex_unlock(&d->lock);
    local_director_wake(d);
}

void local_director_stays(struct local_director *d, const struct local_frontend_id *id,
                          const struct local_target_set *t)
{
    char key[KEY_MAX];

    mutex_lock(&d->lock);
    for (size_t i = 0; i < t->n && map_size(d->drains) > 0; i++) {
        const struct local_connection c = {
            .id = *id, .target = t->items[i].addr, .port = t->items[i].port};
        key_of(&c, key);
        (void)map_remove(d->drains, key); /* most do not drain */
    }
    mutex_unlock(&d->lock);
}

struct due {
    int64_t now_ms;
    int64_t next_ms;
    const char **keys;
    struct local_connection *items;
    size_t n;
};

static bool add_due(const char *key, void *value, void *arg)
{
    const struct director_drain *x = value;
    struct due *due = arg;

    if (x->at_ms <= due->now_ms) {
        due->keys[due->n] = key;
        due->items[due->n++] = x->of;
    } else {
        due->next_ms = x->at_ms < due->next_ms ? x->at_ms : due->next_ms;
    }
    return true;
}

size_t local_director_draining(struct local_director *d)
{
    mutex_lock(&d->lock);
    size_t n = map_size(d->drains);
    mutex_unlock(&d->lock);
    return n;
}

int64_t local_drains_turn(struct local_director *d, int64_t now_ms)
{
    size_t n = map_size(d->drains);
    struct due due = {.now_ms = now_ms, .next_ms = LOCAL_ANNOUNCE_NEVER};
    struct err err = ERR_INIT;
    unsigned ended = 0;

    if (n == 0) {
        return LOCAL_ANNOUNCE_NEVER;
    }
    due.keys = ARENA_ARRAY(d->a, const char *, n);
    due.items = ARENA_ARRAY(d->a, struct local_connection, n);
    map_each(d->drains, add_due, &due);
    if (due.n == 0) {
        return due.next_ms;
    }
    int rc =
        d->args.kernel->ops->connections_delete(d->args.kernel, due.items, due.n, &ended, &err);
    if (rc == ERR_INVALID && !d->cannot_drain) { /* it cannot, and is not asked each second */
        const struct local_news head = {.warning = true};
        local_director_note(d, &head, "%s", err.message);
    }
    d->cannot_drain = rc == ERR_INVALID;
    if (rc != ERR_OK && rc != ERR_INVALID) {
        for (size_t i = 0; i < due.n; i++) {
            ((struct director_drain *)map_get(d->drains, due.keys[i]))->at_ms = now_ms + AGAIN_MS;
        }
        return now_ms + AGAIN_MS;
    }
    for (size_t i = 0; i < due.n; i++) { /* the key lives in the entry that goes */
        (void)map_remove(d->drains, arena_strdup(d->a, due.keys[i]));
    }
    return due.next_ms;
}
