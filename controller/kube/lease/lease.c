/* SPDX-License-Identifier: Apache-2.0 */
/* lease.c: the calls and the waiting of one lock (lease.h).
 *
 * Requests are not repeated by the client: the next attempt is the repetition.  Each carries its
 * limit to the server, too, so that it does not write a renewal that was given up. */
#include "controller/kube/lease/lease.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/data/json.h"
#include "controller/kube/lease/lease_body.h"
#include "controller/kube/watch/object_watch.h"

#define API       "coordination.k8s.io/v1"
#define MAX_BYTES ((size_t)1024 * 1024)
/* Trouble with taking it is said this often; the next attempt after news of the watch comes this
 * late at the earliest. */
#define WARN_EVERY_MS 10000
#define NEWS_EVERY_MS 250

struct lease_lock {
    /* identity */
    struct lease_terms terms; /* texts in `a` */
    char *label;              /* "kube-system/name": for logs and errors */
    /* observed; the lock's thread */
    struct lease_view view;
    struct json_object *object;   /* as read or written last; NULL: unknown or absent */
    char shown[LEASE_HOLDER_MAX]; /* whose name was logged */
    int64_t warned_ms;            /* when trouble with taking it was logged; 0: never */
    int64_t refused_ms;           /* since when it is answered with 403; 0: it is not */
    bool unsure;                  /* a write had no answer: it may have been done */
    bool was_told;                /* the last try of acquire() followed from news of the watch */
    int64_t limit_ms;             /* no request of this attempt continues after it */
    /* any thread */
    atomic_int_fast64_t until_ms;   /* may be used until then; 0: not held */
    atomic_int_fast64_t renewed_ms; /* last success */
    /* links */
    struct arena *a;
    struct kube_client *client;
    const char *watch_agent; /* in `a`; NULL: no watch */
    struct clock *clock;
    struct rng *rng;
    void (*slow_path)(void *arg);
    bool (*may_renew)(void *arg, struct err *err);
    void *arg;
    /* waiting */
    struct mutex mutex;
    struct cond woken;
    bool was_freed _guarded_by_(&mutex);                /* by the watch; no attempt since */
    char holder[LEASE_HOLDER_MAX] _guarded_by_(&mutex); /* as observed last, for other threads */
};

struct lease_lock *lease_lock_new(const struct lease_lock_args *args)
{
    struct arena *a = arena_new();
    struct lease_lock *l = xcalloc(1, sizeof *l);
    l->a = a;
    l->terms = args->terms;
    l->terms.ns = arena_strdup(a, args->terms.ns);
    l->terms.name = arena_strdup(a, args->terms.name);
    l->terms.identity = arena_strdup(a, args->terms.identity);
    l->label = arena_printf(a, "%s/%s", l->terms.ns, l->terms.name);
    l->client = args->client;
    l->watch_agent = args->watch_agent == NULL ? NULL : arena_strdup(a, args->watch_agent);
    l->slow_path = args->slow_path;
    l->may_renew = args->may_renew;
    l->arg = args->arg;
    l->clock = args->clock == NULL ? clock_real() : args->clock;
    l->rng = args->rng == NULL ? rng_real() : args->rng;
    l->limit_ms = CLOCK_NEVER;
    mutex_init(&l->mutex);
    cond_init(&l->woken);
    return l;
}

void lease_lock_free(struct lease_lock *l)
{
    if (l != NULL) {
        json_object_put(l->object);
        cond_done(&l->woken);
        mutex_done(&l->mutex);
        arena_free(l->a);
        free(l);
    }
}

/* --- one call --------------------------------------------------------------------------------- */

static int64_t call_limit_ms(const struct lease_lock *l)
{
    int64_t most_ms = l->terms.renew_deadline_ms / 2;
    int64_t left_ms = l->limit_ms == CLOCK_NEVER ? most_ms : l->limit_ms - clock_now_ms(l->clock);
    left_ms = left_ms < most_ms ? left_ms : most_ms;
    return left_ms > 0 ? left_ms : 1;
}

/* The server's answer becomes the base of the next update. */
static int take_object(struct lease_lock *l, const struct kube_response *resp, struct err *err)
{
    struct json_object *o = NULL;
    int rc = json_parse(resp->body, resp->body_len, NULL, &o, err);
    if (rc == ERR_OK && (!str_eq(json_str(o, "kind"), "Lease") ||
                         !json_object_is_type(json_member(o, "metadata"), json_type_object))) {
        rc = err_set(err, ERR_TRANSIENT, "the API server's answer is not a Lease");
    }
    if (rc != ERR_OK) {
        json_object_put(o);
        return ERR_TRANSIENT;
    }
    /* The server keeps them when they are not sent; what came is not whole where they are nested
     * deeply (client.h). */
    json_object_object_del(json_member(o, "metadata"), "managedFields");
    json_object_put(l->object);
    l->object = o;
    return ERR_OK;
}

static int call(struct lease_lock *l, const char *method, const char *body, struct cancel *cancel,
                struct err *err)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct kube_response resp;
    char *path = NULL;
    const char *name = str_eq(method, "POST") ? NULL : l->terms.name;
    int rc = kube_path(a, API, l->terms.ns, "leases", name, NULL, &path, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const struct kube_request req = {
        .method = method,
        .path = path,
        .body = body,
        .timeout_ms = call_limit_ms(l),
        .max_body = MAX_BYTES,
        .no_retry = true,
    };
    rc = kube_client_do(l->client, a, &req, cancel, &resp, err);
    return rc == ERR_OK ? take_object(l, &resp, err) : rc;
}

static int write_record(struct lease_lock *l, bool create, const struct lease_record *wanted,
                        struct cancel *cancel, struct err *err)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    if (create) {
        return call(l, "POST", lease_body_create(a, &l->terms, wanted), cancel, err);
    }
    return call(l, "PUT", lease_body_update(a, l->object, wanted), cancel, err);
}

/* --- one attempt ------------------------------------------------------------------------------ */

static void step_read(struct lease_lock *l, struct lease_try *t, struct cancel *cancel,
                      struct err *err)
{
    struct lease_record found;
    int rc = call(l, "GET", NULL, cancel, err);
    if (rc == ERR_NOT_FOUND) {
        err_clear(err);
        json_object_put(l->object);
        l->object = NULL;
        l->unsure = false;
        lease_try_read(t, NULL, clock_now_ms(l->clock));
    } else if (rc != ERR_OK) {
        lease_try_failed(t);
    } else {
        lease_body_read(l->object, &found);
        l->unsure = false;
        lease_try_read(t, &found, clock_now_ms(l->clock));
    }
}

static void step_write(struct lease_lock *l, struct lease_try *t, struct cancel *cancel,
                       struct err *err)
{
    int64_t sent_ms = clock_now_ms(l->clock);
    bool create = t->next == LEASE_CREATE;
    bool can = create || l->object != NULL; /* an update is always made of what was read */
    if (!can || write_record(l, create, &t->wanted, cancel, err) != ERR_OK) {
        l->unsure = l->unsure || (can && err->http_status == 0);
        lease_try_failed(t);
        return;
    }
    l->unsure = false;
    int64_t now_ms = clock_now_ms(l->clock);
    lease_try_written(t, now_ms);
    atomic_store(&l->renewed_ms, now_ms);
    atomic_store(&l->until_ms, sent_ms + l->terms.renew_deadline_ms);
}

/* Another name in it is news, once per name. */
static void tell_holder(struct lease_lock *l)
{
    const char *holder = lease_lock_holder(l);
    if (lease_is_others(&l->view, &l->terms) && !str_eq(holder, l->shown)) {
        char renewed[40];
        time_format_micro(l->view.observed.renewed_us, renewed);
        log_info(0, "The lease is held by another process", LOG_S("lock", l->label),
                 LOG_S("holder", holder), LOG_S("renewed", renewed),
                 LOG_S("taken", "as soon as it is let go, else when it was not renewed for"),
                 LOG_MS("duration", (int64_t)l->view.observed.duration_s * 1000));
    }
    (void)memcpy(l->shown, l->view.observed.holder, sizeof l->shown);
    mutex_lock(&l->mutex);
    (void)memcpy(l->holder, l->shown, sizeof l->holder);
    mutex_unlock(&l->mutex);
}

void lease_lock_read_holder(struct lease_lock *l, char ret[LEASE_HOLDER_MAX])
{
    mutex_lock(&l->mutex);
    (void)memcpy(ret, l->holder, LEASE_HOLDER_MAX);
    mutex_unlock(&l->mutex);
}

bool lease_lock_try(struct lease_lock *l, struct cancel *cancel, struct err *err)
{
    struct lease_try t;
    struct err local = ERR_INIT;
    lease_try_begin(&t, &l->terms, &l->view, clock_now_ms(l->clock), clock_wall_us(l->clock));
    while (t.next != LEASE_END && !cancel_fired(cancel)) {
        err_clear(&local);
        if (t.next == LEASE_GET) {
            step_read(l, &t, cancel, &local);
        } else {
            step_write(l, &t, cancel, &local);
        }
    }
    if (t.slow_path && t.leads && l->slow_path != NULL) {
        l->slow_path(l->arg);
    }
    if (lease_is_others(&l->view, &l->terms)) {
        atomic_store(&l->until_ms, 0);
    }
    tell_holder(l);
    if (t.leads) {
        return true;
    }
    if (cancel_fired(cancel)) {
        (void)err_set(err, ERR_CANCELLED, "stopped");
    } else if (local.code == ERR_OK) {
        (void)err_set(err, ERR_CONFLICT, "lock %s is held by %s and has not yet expired", l->label,
                      lease_lock_holder(l));
    } else {
        err_copy(err, &local);
        (void)err_prefix(err, "lock %s", l->label);
    }
    return false;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void wake(void *arg)
{
    struct lease_lock *l = arg;
    mutex_lock(&l->mutex);
    cond_broadcast(&l->woken);
    mutex_unlock(&l->mutex);
}

/* False when `cancel` fired. */
static bool wait_until(struct lease_lock *l, int64_t until_ms, struct cancel *cancel)
{
    int hook = cancel == NULL ? 0 : cancel_hook(cancel, wake, l);
    mutex_lock(&l->mutex);
    while (!cancel_fired(cancel) && clock_now_ms(l->clock) < until_ms) {
        clock_wait(l->clock, &l->woken, &l->mutex, until_ms);
    }
    mutex_unlock(&l->mutex);
    if (cancel != NULL) {
        cancel_unhook(cancel, hook);
    }
    return !cancel_fired(cancel);
}

/* --- taking and keeping ----------------------------------------------------------------------- */

/* From the watch's thread.  Only a hint: the next try reads the lease itself. */
static void on_seen(void *arg, struct json_object *lease)
{
    struct lease_lock *l = arg;
    if (!str_is_empty(json_str(json_member(lease, "spec"), "holderIdentity"))) {
        return;
    }
    mutex_lock(&l->mutex);
    l->was_freed = true;
    cond_broadcast(&l->woken);
    mutex_unlock(&l->mutex);
}

static void on_trouble(void *arg, const struct err *why)
{
    const struct lease_lock *l = arg;
    log_info(2, "The lease is not watched; it is asked for instead", LOG_S("lock", l->label),
             LOG_S("err", why->message));
}

/* Learns at once that it was let go, so that the next holder need not ask again and again.  Real
 * time: this is about a server that answers or does not.  Without a watch nothing is lost but time.
 * Source: none upstream; docs/adr/0014. */
static struct object_watch *watch(struct lease_lock *l)
{
    static const char *const members[] = {"spec.holderIdentity", NULL};
    struct object_watch *w = NULL;
    struct err err = ERR_INIT;
    char *collection = NULL;
    void *observe_arg = NULL;
    if (l->watch_agent == NULL ||
        kube_path(l->a, API, l->terms.ns, "leases", NULL, NULL, &collection, &err) != ERR_OK) {
        return NULL;
    }
    const struct object_watch_args args = {
        .config = kube_client_config(l->client),
        .user_agent = l->watch_agent,
        .collection = collection,
        .name = l->terms.name,
        .members = members,
        .seen = on_seen,
        .trouble = on_trouble,
        .arg = l,
        .observe = kube_client_observer(l->client, &observe_arg),
        .observe_arg = observe_arg,
    };
    if (object_watch_start(&args, &w, &err) != ERR_OK) {
        on_trouble(l, &err);
    }
    return w;
}

/* Until the next try: after a pause, or when it was let go.  A server that says so all the time
 * does not keep us busy.  False when `cancel` fired. */
static bool wait_for_try(struct lease_lock *l, struct cancel *cancel)
{
    int64_t now_ms = clock_now_ms(l->clock);
    int64_t until_ms = now_ms + lease_acquire_wait_ms(&l->terms, rng_unit(l->rng));
    int64_t news_ms = now_ms + (l->was_told ? NEWS_EVERY_MS : 0);
    int hook = cancel == NULL ? 0 : cancel_hook(cancel, wake, l);
    mutex_lock(&l->mutex);
    while (!cancel_fired(cancel) && now_ms < until_ms && !(l->was_freed && now_ms >= news_ms)) {
        clock_wait(l->clock, &l->woken, &l->mutex, l->was_freed ? news_ms : until_ms);
        now_ms = clock_now_ms(l->clock);
    }
    l->was_told = l->was_freed;
    l->was_freed = false;
    mutex_unlock(&l->mutex);
    if (cancel != NULL) {
        cancel_unhook(cancel, hook);
    }
    return !cancel_fired(cancel);
}

static void warn_not_taken(struct lease_lock *l, const struct err *why)
{
    int64_t now_ms = clock_now_ms(l->clock);
    l->refused_ms = why->code != ERR_FORBIDDEN ? 0 : l->refused_ms == 0 ? now_ms : l->refused_ms;
    if (why->code == ERR_CONFLICT || why->code == ERR_CANCELLED ||
        (l->warned_ms != 0 && now_ms - l->warned_ms < WARN_EVERY_MS)) {
        return;
    }
    l->warned_ms = now_ms;
    log_warning("Acquiring the lease did not succeed, trying again", LOG_S("lock", l->label),
                LOG_S("code", err_code_name(why->code)), LOG_S("err", why->message));
    /* A refusal may have no text; a starting server refuses for a moment. */
    if (why->code == ERR_FORBIDDEN && now_ms - l->refused_ms >= WARN_EVERY_MS) {
        log_warning("The API server refuses the lease (403): the account needs the role that "
                    "'trimtab rbac' prints",
                    LOG_S("lock", l->label));
    }
}

int lease_lock_acquire(struct lease_lock *l, struct cancel *cancel, struct err *err)
{
    struct object_watch *watching = NULL;
    bool taken = false;
    bool go_on = true;
    log_info(0, "Attempting to acquire leader lease...", LOG_S("lock", l->label),
             LOG_S("identity", l->terms.identity));
    while (go_on) {
        struct err why = ERR_INIT;
        taken = lease_lock_try(l, cancel, &why);
        if (taken) {
            break;
        }
        warn_not_taken(l, &why);
        watching = watching == NULL ? watch(l) : watching;
        go_on = wait_for_try(l, cancel);
    }
    object_watch_stop(watching);
    if (!taken) {
        return err_set(err, ERR_CANCELLED, "stopped while waiting for lock %s", l->label);
    }
    log_info(0, "Successfully acquired lease", LOG_S("lock", l->label));
    return ERR_OK;
}

/* Tries until it succeeds or the renew deadline has passed. */
static int renew(struct lease_lock *l, struct cancel *cancel, struct err *err)
{
    if (l->may_renew != NULL && !l->may_renew(l->arg, err)) {
        return err->code;
    }
    int64_t give_up_ms = clock_now_ms(l->clock) + l->terms.renew_deadline_ms;
    l->limit_ms = give_up_ms;
    for (;;) {
        int64_t next_ms = clock_now_ms(l->clock) + l->terms.retry_ms;
        if (lease_lock_try(l, cancel, err)) {
            return ERR_OK;
        }
        if (cancel_fired(cancel) || lease_is_others(&l->view, &l->terms)) {
            break;
        }
        log_warning("Renewing the lease did not succeed", LOG_S("lock", l->label),
                    LOG_S("err", err->message));
        next_ms = next_ms < give_up_ms ? next_ms : give_up_ms;
        if (!wait_until(l, next_ms, cancel) || clock_now_ms(l->clock) >= give_up_ms) {
            break;
        }
        err_clear(err);
    }
    return cancel_fired(cancel) ? err_set(err, ERR_CANCELLED, "stopped") : err->code;
}

int lease_lock_keep(struct lease_lock *l, struct cancel *cancel, struct err *err)
{
    for (;;) {
        struct err why = ERR_INIT;
        if (!wait_until(l, clock_now_ms(l->clock) + l->terms.retry_ms, cancel)) {
            return err_set(err, ERR_CANCELLED, "stopped while holding lock %s", l->label);
        }
        int rc = renew(l, cancel, &why);
        l->limit_ms = CLOCK_NEVER;
        if (rc == ERR_OK) {
            continue;
        }
        if (rc != ERR_CANCELLED) {
            atomic_store(&l->until_ms, 0);
            log_error(why.message, "Failed to renew lease", LOG_S("lock", l->label),
                      LOG_S("code", err_code_name(why.code)));
        }
        err_copy(err, &why);
        return rc;
    }
}

/* --- letting go ------------------------------------------------------------------------------- */

/* One PUT without a holder, based on the known or on the present object.  True when done. */
static bool release_once(struct lease_lock *l, bool read_first, struct cancel *cancel,
                         struct err *err)
{
    struct lease_record held, wanted;
    if (read_first && call(l, "GET", NULL, cancel, err) != ERR_OK) {
        return err->code == ERR_NOT_FOUND; /* an absent lease has no holder */
    }
    lease_body_read(l->object, &held);
    if (!str_eq(held.holder, l->terms.identity)) {
        return true;
    }
    lease_release_record(&held, clock_wall_us(l->clock), &wanted);
    return write_record(l, false, &wanted, cancel, err) == ERR_OK;
}

int lease_lock_release(struct lease_lock *l, int64_t timeout_ms, struct cancel *cancel,
                       struct err *err)
{
    struct err why = ERR_INIT;
    bool ours = lease_is_ours(&l->view, &l->terms) && l->object != NULL;
    bool unsure = l->unsure;
    atomic_store(&l->until_ms, 0); /* before another process can take it */
    l->view = (struct lease_view){0};
    l->unsure = false;
    if (!ours && !unsure) {
        return ERR_OK;
    }
    l->limit_ms = clock_now_ms(l->clock) + timeout_ms;
    bool done = release_once(l, unsure, cancel, &why);
    while (!done && why.code == ERR_CONFLICT && clock_now_ms(l->clock) < l->limit_ms) {
        err_clear(&why);
        done = release_once(l, true, cancel, &why);
    }
    l->limit_ms = CLOCK_NEVER;
    if (!done) {
        log_error(why.message, "Failed to release lease", LOG_S("lock", l->label),
                  LOG_S("code", err_code_name(why.code)));
        err_copy(err, &why);
        (void)err_prefix(err, "lock %s", l->label);
        return why.code;
    }
    log_info(0, "Released lease", LOG_S("lock", l->label));
    return ERR_OK;
}

/* --- asking ----------------------------------------------------------------------------------- */

int64_t lease_lock_until_ms(struct lease_lock *l)
{
    return atomic_load(&l->until_ms);
}

bool lease_lock_is_held(struct lease_lock *l)
{
    return clock_now_ms(l->clock) < lease_lock_until_ms(l);
}

bool lease_lock_is_healthy(struct lease_lock *l)
{
    return lease_is_healthy(lease_lock_until_ms(l) != 0, atomic_load(&l->renewed_ms),
                            l->terms.duration_ms, clock_now_ms(l->clock));
}

static const char *meta_text(const struct lease_lock *l, const char *name)
{
    return str_nonnull(json_str(json_member(l->object, "metadata"), name));
}

const char *lease_lock_uid(const struct lease_lock *l)
{
    return meta_text(l, "uid");
}

const char *lease_lock_version(const struct lease_lock *l)
{
    return meta_text(l, "resourceVersion");
}

const char *lease_lock_holder(const struct lease_lock *l)
{
    return l->view.has_observed ? l->view.observed.holder : "";
}

const struct lease_terms *lease_lock_terms(const struct lease_lock *l)
{
    return &l->terms;
}
