/* SPDX-License-Identifier: Apache-2.0 */
/* draining.c: destinations of IPVS that no frontend wants any more are deleted when they have
 * drained.
 *
 * A sync gives them weight 0 and notes the Service here.  The director's thread looks each second
 * at those that are due, and deletes what has drained.  No sync is needed for that: one whose edit
 * is refused plans nothing, and would leave them where they are.  All of it by the provider's
 * lock. */
#include "providers/local/standing.h"

#include <stdlib.h>

#include "common/base/str.h"

#define PART      256  /* Services of one plan */
#define TURN_MAX  1024 /* Services of one turn; the others stay due */
#define EACH_MS   1000 /* at most so often is one of few looked at */
#define FAILED_MS 10000

void local_draining_note(struct local_provider *p, const char *key, int64_t after_ms)
{
    if (p->directing == NULL || (after_ms == 0 && map_size(p->draining) == 0)) {
        return;
    }
    if (after_ms == 0) {
        (void)map_remove(p->draining, key); /* most do not drain */
        return;
    }
    int64_t now_ms = clock_now_ms(p->clock);
    const int64_t *was_ms = map_get(p->draining, key);
    if (was_ms != NULL && *was_ms > now_ms && *was_ms <= now_ms + after_ms) {
        return; /* else looks that come often would put it off */
    }
    int64_t *at_ms = xcalloc(1, sizeof *at_ms);
    *at_ms = now_ms + after_ms;
    map_set(p->draining, key, at_ms);
}

struct due {
    struct arena *a;
    int64_t now_ms;
    const char **keys;
    size_t n;
};

static bool add_due(const char *key, void *value, void *arg)
{
    struct due *due = arg;

    if (*(const int64_t *)value <= due->now_ms) {
        due->keys[due->n++] = arena_strdup(due->a, key);
    }
    return due->n < TURN_MAX;
}

/* Of many each has its turn before the first one comes again. */
static void look_later(struct local_provider *p, const char *key, int64_t after_ms)
{
    int64_t round_ms = (int64_t)(map_size(p->draining) / TURN_MAX + 1) * EACH_MS;

    local_draining_note(p, key, after_ms > 0 && after_ms < round_ms ? round_ms : after_ms);
}

/* Deletes what has drained of some Services; what still drains is due again. */
static int end_some(struct local_provider *p, struct arena *a, const char *const *keys, size_t n,
                    struct err *err)
{
    struct local_service_state *states = ARENA_ARRAY(a, struct local_service_state, n + 1);
    struct lb_plan plan;
    size_t n_states = 0;
    int rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        struct served *v = local_served_get(p, a, keys[i]);
        if (v == NULL) {
            local_draining_note(p, keys[i], 0);
            continue;
        }
        struct standing_change c = {.of = v};
        rc = local_standing_read_ipvs(p, a, v, err);
        local_standing_compare(p, a, &c);
        states[n_states] = local_standing_state(&c);
        states[n_states++].now_ms = clock_now_ms(p->clock);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    lb_plan_init(&plan, a);
    local_services_plan_drained(&plan, states, n_states);
    if (!local_standing_run(p, a, &plan, true, err)) {
        return err->code;
    }
    for (size_t i = 0; i < n_states; i++) {
        look_later(p, states[i].key, local_ipvs_again_ms(&states[i]));
    }
    return ERR_OK;
}

void local_draining_turn(struct local_provider *p)
{
    struct due due = {.now_ms = clock_now_ms(p->clock)};
    struct err err = ERR_INIT;
    int rc = ERR_OK;

    if (map_size(p->draining) == 0) {
        return;
    }
    due.a = arena_new();
    due.keys = ARENA_ARRAY(due.a, const char *, TURN_MAX);
    map_each(p->draining, add_due, &due);
    for (size_t i = 0; i < due.n && rc == ERR_OK; i += PART) {
        struct arena *a = arena_new();
        size_t n = due.n - i < PART ? due.n - i : PART;
        rc = end_some(p, a, due.keys + i, n, &err);
        for (size_t k = i; rc != ERR_OK && k < i + n; k++) {
            local_draining_note(p, due.keys[k], FAILED_MS);
        }
        arena_free(a);
    }
    arena_free(due.a);
    if (rc != ERR_OK) {
        const struct tt_kv of = {"err", err.message};
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0, "drained destinations are not deleted yet",
                     &of, 1);
    }
}
