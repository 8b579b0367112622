/* SPDX-License-Identifier: Apache-2.0 */
/* lease_keeper.c: the threads of lease_keeper.h.
 *
 * Thread i waits until i locks are held, then takes and keeps its own.  `lock` guards the count;
 * `calling` lets one callback run at a time and is never held together with it. */
#include "controller/kube/lease/lease_keeper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/lock.h"
#include "common/base/str.h"

struct lease_keeper;

struct kept {
    struct lease_keeper *keeper;
    struct lease_lock *lock;
    size_t place; /* how many must be held before */
    pthread_t thread;
    bool has_thread;
    bool held; /* its thread's; after that the stopper's */
    bool lost; /* likewise; another process may have it: it is left alone */
};

struct lease_keeper {
    struct lease_keeper_args args;
    struct kept all[LEASE_KEEPER_LOCKS_MAX]; /* in the order of their names */
    struct cancel *cancel;
    atomic_bool is_held; /* all were taken, none was lost */
    struct mutex lock;
    struct cond changed;
    size_t n_held _guarded_by_(&lock);
    bool stopping _guarded_by_(&lock);
    bool lost _guarded_by_(&lock);
    struct mutex calling;
    bool told_lost _guarded_by_(&calling);
};

static void tell_slow_path(void *arg);
static bool ask_may_renew(void *arg, struct err *err);

static int by_name(const void *a, const void *b)
{
    const struct lease_terms *x = *(const struct lease_terms *const *)a;
    const struct lease_terms *y = *(const struct lease_terms *const *)b;
    int order = strcmp(x->ns, y->ns);
    return order != 0 ? order : strcmp(x->name, y->name);
}

struct lease_keeper *lease_keeper_new(const struct lease_keeper_args *args)
{
    struct lease_keeper *k = xcalloc(1, sizeof *k);
    const struct lease_terms *sorted[LEASE_KEEPER_LOCKS_MAX];
    k->args = *args;
    k->args.n_locks =
        args->n_locks < LEASE_KEEPER_LOCKS_MAX ? args->n_locks : LEASE_KEEPER_LOCKS_MAX;
    for (size_t i = 0; i < k->args.n_locks; i++) {
        sorted[i] = &args->locks[i];
    }
    qsort(sorted, k->args.n_locks, sizeof sorted[0], by_name);
    for (size_t i = 0; i < k->args.n_locks; i++) {
        k->all[i] = (struct kept){.keeper = k, .place = i};
        k->all[i].lock = lease_lock_new(&(struct lease_lock_args){
            .terms = *sorted[i],
            .client = args->client,
            .watch_agent = args->watch_agent,
            .clock = args->clock,
            .rng = args->rng,
            .slow_path = tell_slow_path,
            .may_renew = args->may_renew == NULL ? NULL : ask_may_renew,
            .arg = &k->all[i],
        });
    }
    k->args.locks = NULL; /* the caller's */
    k->cancel = cancel_new(NULL);
    mutex_init(&k->lock);
    mutex_init(&k->calling);
    cond_init(&k->changed);
    return k;
}

void lease_keeper_free(struct lease_keeper *k) _no_lock_check_
{
    if (k == NULL) {
        return;
    }
    for (size_t i = 0; i < k->args.n_locks; i++) {
        lease_lock_free(k->all[i].lock);
    }
    cancel_free(k->cancel);
    cond_done(&k->changed);
    mutex_done(&k->calling);
    mutex_done(&k->lock);
    free(k);
}

/* --- telling ---------------------------------------------------------------------------------- */

static void tell_change(struct kept *one, bool held)
{
    const struct lease_keeper_args *args = &one->keeper->args;
    const struct lease_change change = {
        .terms = lease_lock_terms(one->lock),
        .uid = lease_lock_uid(one->lock),
        .resource_version = lease_lock_version(one->lock),
        .held = held,
    };
    if (args->on_change != NULL) {
        mutex_lock(&one->keeper->calling);
        args->on_change(args->arg, &change);
        mutex_unlock(&one->keeper->calling);
    }
}

static void tell_slow_path(void *arg)
{
    const struct kept *one = arg;
    struct lease_keeper *k = one->keeper;
    if (k->args.on_slow_path != NULL) {
        mutex_lock(&k->calling);
        k->args.on_slow_path(k->args.arg, lease_lock_terms(one->lock)->name);
        mutex_unlock(&k->calling);
    }
}

static bool ask_may_renew(void *arg, struct err *err)
{
    const struct kept *one = arg;
    return one->keeper->args.may_renew(one->keeper->args.arg, err);
}

static void tell_held(struct lease_keeper *k)
{
    if (k->args.on_held != NULL) {
        mutex_lock(&k->calling);
        k->args.on_held(k->args.arg);
        mutex_unlock(&k->calling);
    }
}

static void tell_lost(struct kept *one, const struct err *why)
{
    struct lease_keeper *k = one->keeper;
    mutex_lock(&k->calling);
    if (!k->told_lost && k->args.on_lost != NULL) {
        k->args.on_lost(k->args.arg, lease_lock_terms(one->lock)->name, why);
    }
    k->told_lost = true;
    mutex_unlock(&k->calling);
}

/* --- the threads ------------------------------------------------------------------------------ */

/* False when it is not to be taken any more. */
static bool wait_for_turn(struct kept *one)
{
    struct lease_keeper *k = one->keeper;
    mutex_lock(&k->lock);
    while (k->n_held < one->place && !k->stopping) {
        clock_wait(clock_real(), &k->changed, &k->lock, CLOCK_NEVER);
    }
    bool go_on = !k->stopping;
    mutex_unlock(&k->lock);
    return go_on;
}

/* The last one opens the door, unless one of the others was lost in the meantime. */
static void count_held(struct lease_keeper *k)
{
    mutex_lock(&k->lock);
    bool all = ++k->n_held == k->args.n_locks && !k->lost;
    if (all) {
        atomic_store(&k->is_held, true);
    }
    cond_broadcast(&k->changed);
    mutex_unlock(&k->lock);
    if (all) {
        tell_held(k);
    }
}

static void count_lost(struct lease_keeper *k)
{
    mutex_lock(&k->lock);
    k->lost = true;
    atomic_store(&k->is_held, false);
    mutex_unlock(&k->lock);
}

static void *keep_one(void *arg)
{
    struct kept *one = arg;
    struct lease_keeper *k = one->keeper;
    struct err why = ERR_INIT;
    if (!wait_for_turn(one) || lease_lock_acquire(one->lock, k->cancel, &why) != ERR_OK) {
        return NULL;
    }
    one->held = true;
    tell_change(one, true);
    count_held(k);
    if (lease_lock_keep(one->lock, k->cancel, &why) != ERR_CANCELLED) {
        count_lost(k);
        one->held = false;
        one->lost = true;
        tell_change(one, false);
        tell_lost(one, &why);
    }
    return NULL;
}

/* --- start and stop --------------------------------------------------------------------------- */

int lease_keeper_check(const struct lease_terms *locks, size_t n, struct err *err)
{
    if (n == 0 || n > LEASE_KEEPER_LOCKS_MAX) {
        return err_set(err, ERR_INVALID, "%zu locks are asked for; 1 to %d are possible", n,
                       LEASE_KEEPER_LOCKS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        const struct lease_terms *t = &locks[i];
        int rc = lease_terms_check(t, err);
        if (rc != ERR_OK) {
            return rc;
        }
        for (size_t j = 0; j < i; j++) {
            const struct lease_terms *other = &locks[j];
            if (by_name(&t, &other) == 0) {
                return err_set(err, ERR_INVALID, "the lock %s/%s is asked for twice", t->ns,
                               t->name);
            }
        }
    }
    return ERR_OK;
}

static int check_locks(const struct lease_keeper *k, struct err *err)
{
    struct lease_terms terms[LEASE_KEEPER_LOCKS_MAX];
    for (size_t i = 0; i < k->args.n_locks; i++) {
        terms[i] = *lease_lock_terms(k->all[i].lock);
    }
    return lease_keeper_check(terms, k->args.n_locks, err);
}

int lease_keeper_start(struct lease_keeper *k, struct err *err)
{
    int rc = check_locks(k, err);
    for (size_t i = 0; rc == ERR_OK && i < k->args.n_locks; i++) {
        struct kept *one = &k->all[i];
        rc = thread_start(&one->thread, keep_one, one, "a lock", err);
        one->has_thread = rc == ERR_OK;
    }
    if (rc != ERR_OK) {
        lease_keeper_stop(k, 0);
    }
    return rc;
}

void lease_keeper_stop(struct lease_keeper *k, int64_t release_ms)
{
    mutex_lock(&k->lock);
    k->stopping = true;
    cond_broadcast(&k->changed);
    mutex_unlock(&k->lock);
    cancel_fire(k->cancel);
    for (size_t i = 0; i < k->args.n_locks; i++) {
        if (k->all[i].has_thread) {
            (void)pthread_join(k->all[i].thread, NULL);
            k->all[i].has_thread = false;
        }
    }
    atomic_store(&k->is_held, false);
    for (size_t i = k->args.n_locks;
         i-- > 0;) { /* the first name, for which others wait, goes last */
        struct kept *one = &k->all[i];
        if (release_ms > 0 && !one->lost) {
            (void)lease_lock_release(one->lock, release_ms, NULL, NULL);
        }
        if (one->held) {
            one->held = false;
            tell_change(one, false);
        }
    }
}

/* --- asking ----------------------------------------------------------------------------------- */

bool lease_keeper_may_mutate(void *keeper)
{
    struct lease_keeper *k = keeper;
    bool held = atomic_load(&k->is_held);
    for (size_t i = 0; held && i < k->args.n_locks; i++) {
        held = lease_lock_is_held(k->all[i].lock);
    }
    return held;
}

bool lease_keeper_is_healthy(struct lease_keeper *k, const char **ret_name)
{
    for (size_t i = 0; i < k->args.n_locks; i++) {
        if (!lease_lock_is_healthy(k->all[i].lock)) {
            if (ret_name != NULL) {
                *ret_name = lease_lock_terms(k->all[i].lock)->name;
            }
            return false;
        }
    }
    return true;
}

void lease_keeper_read_holder(struct lease_keeper *k, char ret[LEASE_HOLDER_MAX])
{
    lease_lock_read_holder(k->all[0].lock, ret);
}
