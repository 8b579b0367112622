/* SPDX-License-Identifier: Apache-2.0 */
/* late.c: answers that travel as long as a cloud's would.
 *
 * A call that is answered later is kept; when its client leaves before, timer and body go with it. */
#include "sim/core/frame.h"

struct late_answer {
    struct sim_call *call;
    int status;
    struct json_object *body;
    struct sim_timer *timer;
};

static void send_late(void *arg)
{
    struct late_answer *l = arg;
    sim_answer(l->call, l->status, l->body);
}

static void late_gone(struct sim_call *call)
{
    struct late_answer *l = call->private_data;
    sim_timer_cancel(l->timer);
    json_object_put(l->body);
}

void sim_answer_after(struct sim_call *call, int64_t ms, int status, struct json_object *body)
{
    if (ms == 0) {
        sim_answer(call, status, body);
        return;
    }
    struct late_answer *l = ARENA_NEW(call->arena, struct late_answer);
    *l = (struct late_answer){.call = call, .status = status, .body = body};
    call->private_data = l;
    call->gone = late_gone;
    l->timer = sim_after(call->sim, ms, send_late, l);
}
