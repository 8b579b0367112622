/* SPDX-License-Identifier: Apache-2.0 */
/* late.c: answers that travel as long as a cloud's would.
 *
 * A call that is answered later is kept; when its client leaves before, timer and body go with it.
 * A body is JSON, or text of a type. */
#include "sim/core/frame.h"

struct late_answer {
    struct sim_call *call;
    int status;
    struct json_object *body;
    const char *type; /* of a text; NULL: JSON */
    const char *text; /* arena */
    struct sim_timer *timer;
};

static void send_late(void *arg)
{
    struct late_answer *l = arg;
    if (l->type) {
        sim_answer_text(l->call, l->status, l->type, l->text);
    } else {
        sim_answer(l->call, l->status, l->body);
    }
}

static void late_gone(struct sim_call *call)
{
    struct late_answer *l = call->private_data;
    sim_timer_cancel(l->timer);
    json_object_put(l->body);
}

static void keep(struct late_answer *l, int64_t ms)
{
    l->call->private_data = l;
    l->call->gone = late_gone;
    l->timer = sim_after(l->call->sim, ms, send_late, l);
}

void sim_answer_after(struct sim_call *call, int64_t ms, int status, struct json_object *body)
{
    if (ms == 0) {
        sim_answer(call, status, body);
        return;
    }
    struct late_answer *l = ARENA_NEW(call->arena, struct late_answer);
    *l = (struct late_answer){.call = call, .status = status, .body = body};
    keep(l, ms);
}

void sim_answer_text_after(struct sim_call *call, int64_t ms, int status, const char *content_type,
                           const char *text)
{
    if (ms == 0) {
        sim_answer_text(call, status, content_type, text);
        return;
    }
    struct late_answer *l = ARENA_NEW(call->arena, struct late_answer);
    *l = (struct late_answer){
        .call = call,
        .status = status,
        .type = content_type,
        .text = arena_strdup(call->arena, text),
    };
    keep(l, ms);
}
