/* SPDX-License-Identifier: Apache-2.0 */
/* leases.c: see leases.h.
 *
 * `lock` guards what the keeper's threads tell; it is never held during a callback. */
#include "controller/process/leases.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "common/base/str.h"

#define HOST_NAME_MAX_ 256

struct leases {
    struct lease_keeper *keeper;
    struct kube_client *client;
    void (*changed)(void *arg, const struct lease_change *change);
    void (*slow_path)(void *arg, const char *name);
    void (*lost)(void *arg);
    bool (*may_renew)(void *arg, struct err *err);
    void *arg;
    struct mutex lock;
    struct cond news;
    bool were_held _guarded_by_(lock);      /* all of them, once */
    struct err why_lost _guarded_by_(lock); /* OK: none was */
};

/* ---- what the keeper tells ------------------------------------------------------------------- */

static void wake(void *arg)
{
    struct leases *l = arg;

    mutex_lock(&l->lock);
    cond_broadcast(&l->news);
    mutex_unlock(&l->lock);
}

static void on_change(void *arg, const struct lease_change *change)
{
    struct leases *l = arg;

    if (l->changed != NULL) {
        l->changed(l->arg, change);
    }
}

static void on_slow_path(void *arg, const char *name)
{
    struct leases *l = arg;

    if (l->slow_path != NULL) {
        l->slow_path(l->arg, name);
    }
}

static bool ask_may_renew(void *arg, struct err *err)
{
    struct leases *l = arg;

    return l->may_renew(l->arg, err);
}

static void on_held(void *arg)
{
    struct leases *l = arg;

    mutex_lock(&l->lock);
    l->were_held = true;
    cond_broadcast(&l->news);
    mutex_unlock(&l->lock);
}

static void on_lost(void *arg, const char *name, const struct err *why)
{
    struct leases *l = arg;

    mutex_lock(&l->lock);
    (void)err_set(&l->why_lost, why->code, "the lease %s is lost: %s", name, why->message);
    cond_broadcast(&l->news);
    mutex_unlock(&l->lock);
    l->lost(l->arg);
}

/* ---- life ------------------------------------------------------------------------------------ */

void leases_make_identity(struct rng *rng, char out[LEASES_IDENTITY_MAX])
{
    char host[HOST_NAME_MAX_] = "";
    char uuid[37];

    if (gethostname(host, sizeof(host) - 1) != 0 || *host == '\0') {
        (void)snprintf(host, sizeof(host), "unknown");
    }
    rng_uuid(rng, uuid);
    (void)snprintf(out, LEASES_IDENTITY_MAX, "%s_%s", host, uuid);
}

static struct lease_keeper *make_keeper(struct leases *l, const struct leases_args *args)
{
    return lease_keeper_new(&(struct lease_keeper_args){
        .locks = args->locks,
        .n_locks = args->n_locks,
        .client = l->client,
        .watch_agent = args->watch ? args->client.user_agent : NULL,
        .clock = args->clock,
        .rng = args->rng,
        .on_change = on_change,
        .on_slow_path = on_slow_path,
        .on_held = on_held,
        .on_lost = on_lost,
        .may_renew = args->may_renew == NULL ? NULL : ask_may_renew,
        .arg = l,
    });
}

int leases_new(const struct leases_args *args, struct leases **ret, struct err *err)
{
    int rc = lease_keeper_check(args->locks, args->n_locks, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct leases *l = xcalloc(1, sizeof(*l));
    struct kube_client_args client = args->client;
    client.cancel = NULL; /* they are given back when all else has ended */
    client.may_mutate = NULL;
    client.qps = -1;
    l->client = kube_client_new(&client);
    l->changed = args->changed;
    l->slow_path = args->slow_path;
    l->lost = args->lost;
    l->may_renew = args->may_renew;
    l->arg = args->arg;
    mutex_init(&l->lock);
    cond_init(&l->news);
    l->keeper = make_keeper(l, args);
    *ret = l;
    return ERR_OK;
}

int leases_start(struct leases *l, struct err *err)
{
    return lease_keeper_start(l->keeper, err);
}

void leases_end(struct leases *l)
{
    lease_keeper_stop(l->keeper, 0);
}

static void free_leases(struct leases *l) _no_lock_check_
{
    lease_keeper_free(l->keeper);
    kube_client_free(l->client);
    cond_done(&l->news);
    mutex_done(&l->lock);
    free(l);
}

void leases_free(struct leases *l, int64_t release_ms)
{
    if (l != NULL) {
        lease_keeper_stop(l->keeper, release_ms);
        free_leases(l);
    }
}

/* ---- waiting and asking ---------------------------------------------------------------------- */

int leases_wait(struct leases *l, struct cancel *cancel, struct err *err)
{
    int hook = cancel_hook(cancel, wake, l);

    mutex_lock(&l->lock);
    while (!l->were_held && l->why_lost.code == ERR_OK && !cancel_fired(cancel)) {
        clock_wait(clock_real(), &l->news, &l->lock, CLOCK_NEVER);
    }
    mutex_unlock(&l->lock);
    cancel_unhook(cancel, hook);
    if (leases_why_lost(l, err)) {
        return err->code;
    }
    return cancel_fired(cancel) ? err_set(err, ERR_CANCELLED, "stopped while waiting for a lease")
                                : ERR_OK;
}

bool leases_may_mutate(void *leases)
{
    const struct leases *l = leases;

    return lease_keeper_may_mutate(l->keeper);
}

bool leases_were_held(struct leases *l)
{
    mutex_lock(&l->lock);
    bool were_held = l->were_held;
    mutex_unlock(&l->lock);
    return were_held;
}

bool leases_why_lost(struct leases *l, struct err *ret)
{
    if (l == NULL) {
        return false;
    }
    mutex_lock(&l->lock);
    bool lost = l->why_lost.code != ERR_OK;
    if (lost) {
        err_copy(ret, &l->why_lost);
    }
    mutex_unlock(&l->lock);
    return lost;
}

bool leases_are_healthy(struct leases *l, const char **ret_name)
{
    return lease_keeper_is_healthy(l->keeper, ret_name);
}

void leases_read_holder(struct leases *l, char ret[LEASE_HOLDER_MAX])
{
    lease_keeper_read_holder(l->keeper, ret);
}
