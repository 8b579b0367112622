/* SPDX-License-Identifier: Apache-2.0 */
/* token.c: see token.h.  `fetching` stands for the fetch under way, because no lock is held while
 * it runs. */
#include "common/cloud/token.h"

#include "common/base/lock.h"
#include "common/base/secret.h"
#include "common/base/str.h"

#include <stdlib.h>

struct token_cache {
    struct token_cache_config cfg;
    struct mutex lock;
    struct cond changed; /* a fetch has ended, or a waiting caller is cancelled */
    char *parts[TOKEN_PARTS] _guarded_by_(lock); /* secrets; the first is NULL: none is cached */
    struct token_life life _guarded_by_(lock);
    bool pinned _guarded_by_(lock);
    unsigned mark _guarded_by_(lock);
    char *challenge _guarded_by_(lock); /* or NULL */
    bool fetching _guarded_by_(lock);
    unsigned failures _guarded_by_(lock); /* count of failed fetches */
    struct err failed _guarded_by_(lock); /* error of the last one */
};

struct token_cache *token_cache_new(const struct token_cache_config *cfg)
{
    struct token_cache *c = xcalloc(1, sizeof(*c));
    c->cfg = *cfg;
    if (c->cfg.rng == NULL) {
        c->cfg.rng = rng_real();
    }
    mutex_init(&c->lock);
    cond_init(&c->changed);
    return c;
}

static void forget(struct token_cache *c) _requires_(c->lock)
{
    for (size_t i = 0; i < TOKEN_PARTS; i++) {
        secret_free(STEAL(c->parts[i]));
    }
}

void token_cache_free(struct token_cache *c)
{
    if (c == NULL) {
        return;
    }
    mutex_lock(&c->lock);
    forget(c);
    free(c->challenge);
    mutex_unlock(&c->lock);
    cond_done(&c->changed);
    mutex_done(&c->lock);
    free(c);
}

/* ---- the credential ------------------------------------------------------------------------------ */

static int64_t now_of(const struct token_cache *c)
{
    return clock_now_ms(c->cfg.clock);
}

static bool is_valid(const struct token_cache *c) _requires_(c->lock)
{
    return c->parts[0] != NULL && now_of(c) < c->life.expires_ms;
}

bool token_cache_get(struct token_cache *c, struct arena *a, struct token *ret)
{
    mutex_lock(&c->lock);
    bool valid = is_valid(c);
    if (valid) {
        *ret = (struct token){.life = c->life, .pinned = c->pinned, .mark = c->mark};
        for (size_t i = 0; i < TOKEN_PARTS; i++) {
            ret->parts[i] = arena_strdup(a, c->parts[i]);
        }
    }
    mutex_unlock(&c->lock);
    return valid;
}

void token_cache_store(struct token_cache *c, const struct token *t)
{
    mutex_lock(&c->lock);
    for (size_t i = 0; i < TOKEN_PARTS; i++) {
        secret_set(&c->parts[i], t->parts[i]);
    }
    c->life = t->life;
    c->pinned = t->pinned;
    c->mark = t->mark;
    free(STEAL(c->challenge));
    mutex_unlock(&c->lock);
}

bool token_cache_drop(struct token_cache *c, const char *first, const char *challenge)
{
    mutex_lock(&c->lock);
    /* A credential that is another one by now was fetched after the refusal. */
    bool is_cached = str_eq(c->parts[0], first);
    bool stays = is_cached && c->pinned;
    if (is_cached && !stays) {
        forget(c);
    }
    /* Several calls may report the refusal of one credential: the one with a challenge counts. */
    if (c->parts[0] == NULL && challenge != NULL) {
        free(c->challenge);
        c->challenge = xstrdup(challenge);
    }
    mutex_unlock(&c->lock);
    return !stays;
}

const char *token_cache_challenge(struct token_cache *c, struct arena *a)
{
    mutex_lock(&c->lock);
    const char *copy = arena_strdup(a, c->challenge);
    mutex_unlock(&c->lock);
    return copy;
}

/* ---- turns --------------------------------------------------------------------------------------- */

enum token_turn token_cache_turn(struct token_cache *c, struct token_wait *wait, struct err *err)
{
    enum token_turn turn = TOKEN_TURN_MINE;
    mutex_lock(&c->lock);
    if (is_valid(c)) {
        turn = TOKEN_TURN_READY;
    } else if (wait->waits && wait->failures != c->failures) {
        turn = TOKEN_TURN_FAILED;
        (void)err_copy(err, &c->failed);
    } else if (c->fetching) {
        turn = TOKEN_TURN_WAIT;
        wait->failures = wait->waits ? wait->failures : c->failures;
        wait->waits = true;
    } else {
        c->fetching = true;
    }
    mutex_unlock(&c->lock);
    return turn;
}

void token_cache_ended(struct token_cache *c, const struct err *err)
{
    mutex_lock(&c->lock);
    c->fetching = false;
    if (err->code != ERR_OK && err->code != ERR_CANCELLED) {
        c->failures++;
        c->failed = *err;
        if (c->parts[0] != NULL) {
            c->cfg.refresh_failed(c->cfg.arg, c->mark, now_of(c), &c->life);
        }
    }
    cond_broadcast(&c->changed);
    mutex_unlock(&c->lock);
}

/* ---- blocking ------------------------------------------------------------------------------------ */

static void wake(void *arg)
{
    struct token_cache *c = arg;
    mutex_lock(&c->lock);
    cond_broadcast(&c->changed);
    mutex_unlock(&c->lock);
}

static bool must_wait(const struct token_cache *c) _requires_(c->lock)
{
    return c->fetching && (!is_valid(c) || now_of(c) >= c->life.required_ms);
}

static bool needs_fetch(const struct token_cache *c) _requires_(c->lock)
{
    return !is_valid(c) || now_of(c) >= c->life.refresh_ms;
}

/* Blocks while another caller fetches what is needed now.  *ret_once: see struct token_fetch. */
static enum token_turn claim(struct token_cache *c, struct cancel *cancel, bool *ret_once,
                             struct err *err)
{
    int hook = cancel_hook(cancel, wake, c);
    mutex_lock(&c->lock);
    unsigned failures = c->failures;
    while (must_wait(c) && c->failures == failures && !cancel_fired(cancel)) {
        clock_wait(c->cfg.clock, &c->changed, &c->lock, CLOCK_NEVER);
    }
    *ret_once = is_valid(c);
    enum token_turn turn = TOKEN_TURN_READY;
    if (cancel_fired(cancel)) {
        turn = TOKEN_TURN_FAILED;
        (void)err_set(err, ERR_CANCELLED, "asked to stop");
    } else if (!is_valid(c) && c->failures != failures) {
        turn = TOKEN_TURN_FAILED;
        (void)err_copy(err, &c->failed);
    } else if (!c->fetching && needs_fetch(c)) {
        turn = TOKEN_TURN_MINE;
        c->fetching = true;
    }
    mutex_unlock(&c->lock);
    cancel_unhook(cancel, hook);
    return turn;
}

struct fetch_job {
    const struct token_fetch *fetch;
    struct rng *rng;
};

static enum http_next step(struct http_job *job, const struct http_response *resp)
{
    struct fetch_job *f = job->arg;
    return f->fetch->step(f->fetch->arg, &job->req, resp, rng_unit(f->rng), &job->err);
}

int token_cache_ready(struct token_cache *c, const struct token_fetch *fetch, struct http *http,
                      struct cancel *cancel, struct err *err)
{
    struct err why = ERR_INIT;
    bool once;
    enum token_turn turn = claim(c, cancel, &once, &why);
    if (turn != TOKEN_TURN_MINE) {
        return turn == TOKEN_TURN_READY ? ERR_OK : err_copy(err, &why);
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct fetch_job f = {.fetch = fetch, .rng = c->cfg.rng};
    struct http_job job = {.step = step, .arg = &f, .cancel = cancel};
    struct http_job *jobs[] = {&job};
    fetch->begin(fetch->arg, a, once);
    http_run(http, jobs, 1);
    token_cache_ended(c, &job.err);
    /* The old credential serves as long as it is valid. */
    mutex_lock(&c->lock);
    bool valid = is_valid(c);
    mutex_unlock(&c->lock);
    return valid ? ERR_OK : err_copy(err, &job.err);
}
