/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c: sends long answers in pieces; see stream.h.
 *
 * A stream lives from its first byte until the last one is handed to the connection, or the client
 * leaves (call->gone).  It owns references to the object versions that it still has to send. */
#include "sim/kube/stream.h"

#include <event2/event.h>
#include <string.h>

struct stream {
    struct sim_call *call;
    struct event *again;
    char *head, *tail;
    size_t head_len;
    struct kube_obj **objs;
    size_t n, next;
    size_t sent; /* of the head */
};

static void stream_go(struct stream *s);

static void stream_free(struct stream *s)
{
    if (s->again) {
        event_free(s->again);
    }
    for (size_t i = s->next; i < s->n; i++) {
        kube_obj_unref(s->objs[i]);
    }
    free(s->objs);
    free(s->head);
    free(s->tail);
    free(s);
}

static void on_again(int fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    stream_go(arg);
}

static void on_gone(struct sim_call *call)
{
    stream_free(call->private_data);
}

/* The next piece; false when there is none. */
static bool send_piece(struct stream *s)
{
    struct http_req *req = s->call->req;
    if (s->sent < s->head_len) {
        size_t left = s->head_len - s->sent;
        size_t n = left < KUBE_STREAM_HIGH / 4 ? left : KUBE_STREAM_HIGH / 4;
        http_req_chunk(req, s->head + s->sent, n);
        s->sent += n;
        return true;
    }
    if (s->next < s->n) {
        struct kube_obj *o = s->objs[s->next];
        if (s->next > 0) {
            http_req_chunk(req, ",", 1);
        }
        http_req_chunk(req, o->text, o->len);
        kube_obj_unref(o);
        s->next++;
        return true;
    }
    return false;
}

static void stream_go(struct stream *s)
{
    while (http_req_backlog(s->call->req) < KUBE_STREAM_HIGH) {
        if (!send_piece(s)) {
            struct http_req *req = s->call->req;
            http_req_chunk(req, s->tail, strlen(s->tail));
            s->call->gone = NULL;
            stream_free(s);
            http_req_end(req);
            return;
        }
    }
    struct timeval wait = {.tv_usec = KUBE_STREAM_WAIT_US};
    event_add(s->again, &wait);
}

static void stream_start(struct kube_request *r, int code, struct stream *s)
{
    struct sim_call *call = r->call;
    sim_call_log(call, call->lose_answer ? 0 : code, NULL);
    if (call->lose_answer) {
        stream_free(s);
        http_req_drop(call->req);
        return;
    }
    s->call = call;
    s->again = event_new(sim_event_base(call->sim), -1, 0, on_again, s);
    call->private_data = s;
    call->gone = on_gone;
    call->streaming = true;
    http_req_add_header(call->req, "Content-Type", "application/json");
    http_req_begin(call->req, code);
    stream_go(s);
}

void kube_stream_text(struct kube_request *r, int code, const char *text, size_t n)
{
    struct stream *s = xcalloc(1, sizeof(*s));
    s->head = xmalloc(n + 1);
    memcpy(s->head, text, n);
    s->head_len = n;
    s->tail = xstrdup("");
    stream_start(r, code, s);
}

void kube_stream_objs(struct kube_request *r, const char *head, struct kube_obj **objs, size_t n,
                      const char *tail)
{
    struct stream *s = xcalloc(1, sizeof(*s));
    s->head = xstrdup(head);
    s->head_len = strlen(head);
    s->tail = xstrdup(tail);
    s->objs = objs;
    s->n = n;
    http_req_add_header(r->call->req, "Cache-Control", "no-cache, private");
    stream_start(r, 200, s);
}
