/* SPDX-License-Identifier: Apache-2.0 */
/* hooks.h: a list of callbacks that one thread runs while others take theirs off it.
 *
 * What makes it worth a file: hooks_remove() returns only when its callback is not running and
 * never will run again, so the remover may free what the callback uses; and no callback runs under
 * the lock.  Used by cancel.c (each hook runs once) and clock_fake.c (each hook runs at a move to
 * or past the moment that it has announced).  Private to common/base.  Thread-safe; a callback may
 * remove itself. */
#ifndef TRIMTAB_BASE_HOOKS_H
#define TRIMTAB_BASE_HOOKS_H

#include "common/base/lock.h"

#include <stdbool.h>
#include <stdint.h>

struct hook {
    struct hook *next;
    int id; /* 1… */
    void (*fn)(void *arg);
    void *arg;
    uint64_t seen_round; /* last round of hooks_run() that considered it */
    int64_t until_ms;    /* clock_announce(); 0 = none */
};

struct hooks {
    struct mutex lock;
    struct cond idle;  /* a callback ended, or a round did */
    struct hook *list; /* owned */
    int last_id;
    uint64_t round;   /* number of the current or last round */
    bool in_round;    /* one thread runs callbacks at a time */
    int running_id;   /* the hook that is being called; 0 = none */
    pthread_t runner; /* valid while in_round */
};

void hooks_init(struct hooks *h);
void hooks_done(struct hooks *h);
/* Adds a hook and returns its id (never 0). */
int hooks_add(struct hooks *h, void (*fn)(void *arg), void *arg);
/* Takes it off; waits while it runs, except when called from inside it.  Unknown
 * ids are ignored. */
void hooks_remove(struct hooks *h, int id);
/* Calls every hook on the list that has not announced a moment later than `now_ms`, each once;
 * those added meanwhile are called too. */
void hooks_run(struct hooks *h, int64_t now_ms);
/* Sets until_ms of one hook. */
void hooks_announce(struct hooks *h, int id, int64_t until_ms);

#endif
