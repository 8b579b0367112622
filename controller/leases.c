/* SPDX-License-Identifier: Apache-2.0 */
/* leases.c: see leases.h.
 *
 * `lock` guards what the keeper's threads tell; it is never held while somebody is called. */
#include "controller/leases.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/kube/lease_keeper.h"

/* client-go's, and ingress-gce's (gce-l4.md §7.5). */
#define DURATION_MS       15000
#define RENEW_DEADLINE_MS 10000
#define RETRY_MS          2000
#define HOST_NAME_MAX_    256

struct leases {
    struct lease_keeper *keeper;
    struct kube_client *client;
    struct fence *fence;
    void (*lost)(void *arg);
    void *arg;
    struct mutex lock;
    struct cond changed;
    bool is_held _guarded_by_(lock);        /* all of them were, once */
    struct err why_lost _guarded_by_(lock); /* OK: none was */
};

/* ---- what the keeper tells ----------------------------------------------------------------------- */

static void wake(void *arg)
{
    struct leases *l = arg;

    mutex_lock(&l->lock);
    cond_broadcast(&l->changed);
    mutex_unlock(&l->lock);
}

static void on_held(void *arg)
{
    struct leases *l = arg;

    mutex_lock(&l->lock);
    l->is_held = true;
    cond_broadcast(&l->changed);
    mutex_unlock(&l->lock);
}

static void on_lost(void *arg, const char *name, const struct err *why)
{
    struct leases *l = arg;

    fence_close(l->fence);
    mutex_lock(&l->lock);
    (void)err_set(&l->why_lost, why->code, "the lease %s is lost: %s", name, why->message);
    cond_broadcast(&l->changed);
    mutex_unlock(&l->lock);
    l->lost(l->arg);
}

/* ---- start --------------------------------------------------------------------------------------- */

/* "host_uuid": no two processes have the same, nor one process after its restart. */
static void make_identity(struct rng *rng, char *out, size_t n)
{
    char host[HOST_NAME_MAX_] = "";
    char uuid[37];

    if (gethostname(host, sizeof(host) - 1) != 0 || *host == '\0') {
        (void)snprintf(host, sizeof(host), "unknown");
    }
    rng_uuid(rng, uuid);
    (void)snprintf(out, n, "%s_%s", host, uuid);
}

static size_t choose(const struct leases_args *args, const char *identity,
                     struct lease_terms terms[LEASE_KEEPER_LOCKS_MAX])
{
    const struct tt_provider *d = args->desc;
    size_t n = 0;

    for (uint32_t i = 0; i < d->n_leases && n < LEASE_KEEPER_LOCKS_MAX; i++) {
        if (d->needs_lease != NULL && d->needs_lease(args->provider, &d->leases[i]) == 0) {
            continue;
        }
        terms[n++] = (struct lease_terms){
            .ns = d->leases[i].ns,
            .name = d->leases[i].name,
            .identity = identity,
            .duration_ms = DURATION_MS,
            .renew_deadline_ms = RENEW_DEADLINE_MS,
            .retry_ms = RETRY_MS,
        };
    }
    return n;
}

static void free_leases(struct leases *l) _no_lock_check_
{
    lease_keeper_free(l->keeper);
    kube_client_free(l->client);
    cond_done(&l->changed);
    mutex_done(&l->lock);
    free(l);
}

int leases_start(const struct leases_args *args, struct leases **ret, struct err *err)
{
    char identity[HOST_NAME_MAX_ + 40];
    struct lease_terms terms[LEASE_KEEPER_LOCKS_MAX];

    make_identity(args->rng, identity, sizeof(identity));
    size_t n = choose(args, identity, terms);
    if (n == 0) {
        *ret = NULL;
        return ERR_OK;
    }
    struct leases *l = xcalloc(1, sizeof(*l));
    struct kube_client_args client = args->client;
    client.cancel = NULL; /* they are given back when all else has ended */
    client.may_mutate = NULL;
    client.qps = -1;
    l->client = kube_client_new(&client);
    l->fence = args->fence;
    l->lost = args->lost;
    l->arg = args->arg;
    mutex_init(&l->lock);
    cond_init(&l->changed);
    l->keeper = lease_keeper_new(&(struct lease_keeper_args){
        .locks = terms,
        .n_locks = n,
        .client = l->client,
        .clock = args->clock,
        .rng = args->rng,
        .on_held = on_held,
        .on_lost = on_lost,
        .arg = l,
    });
    l->fence->is_held_arg = l->keeper;
    l->fence->is_held = lease_keeper_may_mutate;
    int rc = lease_keeper_start(l->keeper, err);
    if (rc != ERR_OK) {
        fence_close(l->fence);
        l->fence->is_held = NULL;
        free_leases(l);
        return rc;
    }
    *ret = l;
    return ERR_OK;
}

/* ---- afterwards ---------------------------------------------------------------------------------- */

int leases_wait(struct leases *l, struct cancel *cancel, struct err *err)
{
    if (l == NULL) {
        return ERR_OK;
    }
    int hook = cancel_hook(cancel, wake, l);
    mutex_lock(&l->lock);
    if (!l->is_held) {
        log_info(0, "Nothing is written until the provider's leases are held");
    }
    while (!l->is_held && l->why_lost.code == ERR_OK && !cancel_fired(cancel)) {
        clock_wait(clock_real(), &l->changed, &l->lock, CLOCK_NEVER);
    }
    bool is_held = l->is_held;
    mutex_unlock(&l->lock);
    cancel_unhook(cancel, hook);
    if (leases_why_lost(l, err)) {
        return err->code;
    }
    return is_held && !cancel_fired(cancel)
               ? ERR_OK
               : err_set(err, ERR_CANCELLED, "stopped while waiting for the provider's leases");
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

void leases_stop(struct leases *l, int64_t release_ms)
{
    if (l == NULL) {
        return;
    }
    fence_close(l->fence); /* before anybody else can take them; and the keeper goes */
    lease_keeper_stop(l->keeper, release_ms);
    l->fence->is_held = NULL;
    free_leases(l);
}
