/* SPDX-License-Identifier: Apache-2.0 */
/* config_watch.c: see config_watch.h. */
#include "controller/process/config_watch.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/limits.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/str.h"

/* Texts that were seen, with the memory that they are in. */
struct kept {
    struct arena *a; /* NULL: none */
    struct config_texts t;
};

struct config_watch {
    struct config_watch_args args;
    struct kept current;
    struct kept seen;    /* at the last look, other than the current ones */
    struct kept refused; /* unfit; told of once */
    char *trouble;       /* why nothing can be read, as last logged; or NULL */
    struct cancel *cancel;
    pthread_t thread;
    bool started;
    struct mutex lock;
    struct cond wake;
};

static void forget(struct kept *k)
{
    arena_free(k->a);
    *k = (struct kept){0};
}

static void keep(struct kept *k, const struct config_texts *t)
{
    forget(k);
    k->a = arena_new();
    k->t = config_texts_copy(k->a, t);
}

static bool is_kept(const struct kept *k, const struct config_texts *t)
{
    return k->a != NULL && config_texts_equal(&k->t, t);
}

/* ---- looking --------------------------------------------------------------------------------- */

static void tell_trouble(struct config_watch *w, const struct err *err)
{
    if (err->code == ERR_CANCELLED || str_eq(w->trouble, err->message)) {
        return;
    }
    free(w->trouble);
    w->trouble = xstrdup(err->message);
    log_warning("The cloud provider configuration cannot be read again, the old one stays",
                LOG_S("reason", err->message));
}

static bool is_fit(struct config_watch *w, const struct config_texts *t)
{
    struct err err = ERR_INIT;

    if (is_kept(&w->refused, t)) {
        return false;
    }
    if (w->args.check == NULL || w->args.check(w->args.arg, t, &err) == ERR_OK) {
        return true;
    }
    keep(&w->refused, t);
    log_error(err.message,
              "The cloud provider configuration has changed, but is at fault: the old one stays");
    return false;
}

bool config_watch_look(struct config_watch *w)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct config_texts t;
    struct err err = ERR_INIT;

    if (config_source_read(&w->args.source, a, &t, &err) != ERR_OK) {
        tell_trouble(w, &err);
        return false;
    }
    free(STEAL(w->trouble));
    if (is_kept(&w->current, &t)) {
        forget(&w->seen);
        return false;
    }
    if (!is_kept(&w->seen, &t)) {
        keep(&w->seen, &t);
        return false;
    }
    return is_fit(w, &t);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void wake(void *arg)
{
    struct config_watch *w = arg;

    mutex_lock(&w->lock);
    cond_broadcast(&w->wake);
    mutex_unlock(&w->lock);
}

/* False: it is to end. */
static bool wait_for_turn(struct config_watch *w)
{
    int64_t until = clock_now_ms(w->args.clock) + CONFIG_WATCH_MS;

    mutex_lock(&w->lock);
    while (!cancel_fired(w->cancel) && clock_now_ms(w->args.clock) < until) {
        clock_wait(w->args.clock, &w->wake, &w->lock, until);
    }
    mutex_unlock(&w->lock);
    return !cancel_fired(w->cancel);
}

static void *run(void *arg)
{
    struct config_watch *w = arg;
    int hook = cancel_hook(w->cancel, wake, w);
    bool changed = false;

    while (!changed && wait_for_turn(w)) {
        changed = config_watch_look(w);
    }
    if (changed && !cancel_fired(w->cancel)) {
        log_info(0, "The cloud provider configuration has changed");
        w->args.changed(w->args.arg);
    }
    cancel_unhook(w->cancel, hook);
    return NULL;
}

struct config_watch *config_watch_new(const struct config_watch_args *args)
{
    struct config_watch *w = xcalloc(1, sizeof(*w));

    w->args = *args;
    keep(&w->current, args->current);
    w->cancel = cancel_new(args->source.cancel);
    w->args.source.cancel = w->cancel;
    mutex_init(&w->lock);
    cond_init(&w->wake);
    return w;
}

int config_watch_start(struct config_watch *w, struct err *err)
{
    int rc = thread_start(&w->thread, run, w, "changes of the configuration", err);
    w->started = rc == ERR_OK;
    return rc;
}

void config_watch_free(struct config_watch *w)
{
    if (w == NULL) {
        return;
    }
    cancel_fire(w->cancel);
    if (w->started) {
        pthread_join(w->thread, NULL);
    }
    forget(&w->current);
    forget(&w->seen);
    forget(&w->refused);
    free(w->trouble);
    cancel_free(w->cancel);
    cond_done(&w->wake);
    mutex_done(&w->lock);
    free(w);
}
