/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: see session.h. */
#include "common/cloud/session.h"

static bool may_never_mutate(void *arg)
{
    (void)arg;
    return false;
}

void session_begin(struct session *x, const struct session_source *from, struct lb_sync *s,
                   const struct tt_call *call)
{
    s->life = s->a;
    s->host = from->host;
    s->call = call;
    s->clock = from->clock;
    s->rng = from->rng;
    s->cancel = cancel_new(from->cancel);
    s->planning = true;
    *x = (struct session){
        .s = s,
        .http = from->http,
        .watch = from->watch,
        .entry = {.call = call, .host = from->host, .cancel = s->cancel},
    };
    call_watch_add(x->watch, &x->entry);
    s->http = http_pool_get(x->http);
    http_bind(s->http, s->cancel, may_never_mutate, NULL, (void *)call);
}

void session_end(struct session *x)
{
    http_bind(x->s->http, NULL, NULL, NULL, NULL);
    http_pool_put(x->http, x->s->http);
    call_watch_remove(x->watch, &x->entry);
    cancel_free(x->s->cancel);
}
