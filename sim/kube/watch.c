/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c: GET …?watch=1: initial objects, changes, bookmarks, time-outs, expiry and faults.
 *
 * A watch holds no queue of its own: it remembers the version up to which it has sent, and takes
 * what is newer from the store's window while its connection can take it.  A client that reads so
 * slowly that the window passes it by is cut off, as a real server does.  Leaving a selection is
 * sent as DELETED with the old object.  Recorded: 136–148, 151, 152. */
#include "sim/kube/watch.h"

#include "sim/kube/list.h"
#include "sim/kube/route.h"
#include "sim/kube/stream.h"
#include "sim/kube/table.h"

#include <event2/event.h>
#include <string.h>

#define BOOKMARK_MS       60000
#define DEFAULT_TIMEOUT_S 1800

struct watch {
    struct kube_watches *all;
    struct watch *next, **prev;
    struct kube_request *req; /* life of the call */
    const struct kube_selector *selector;
    /* what is still to be sent */
    struct kube_obj **initial;
    size_t n_initial, next_initial;
    bool says_initial_end; /* a bookmark marks the end of the initial objects */
    int64_t sent_rv;       /* all changes up to here were sent */
    /* how */
    bool bookmarks;
    bool silent;       /* a fault: nothing is sent any more */
    bool columns_sent; /* Tables carry their columns once */
    /* when */
    int64_t deadline_ms; /* by the simulator's clock */
    bool ends_soon;      /* the next bookmark is the last but one */
    struct sim_timer *timer;
    struct event *again;
};

struct kube_watches {
    struct kube_state *st;
    struct watch *first;
};

static void watch_pump(struct watch *w);
static void arm_timer(struct watch *w);

struct kube_watches *kube_watches_new(struct kube_state *st)
{
    struct kube_watches *all = xcalloc(1, sizeof(*all));
    all->st = st;
    return all;
}

static void watch_free(struct watch *w)
{
    *w->prev = w->next;
    if (w->next) {
        w->next->prev = w->prev;
    }
    sim_timer_cancel(w->timer);
    event_free(w->again);
    for (size_t i = w->next_initial; i < w->n_initial; i++) {
        kube_obj_unref(w->initial[i]);
    }
    free(w->initial);
    free(w);
}

void kube_watches_free(struct kube_watches *all)
{
    while (all && all->first) {
        watch_free(all->first);
    }
    free(all);
}

/* Ends the answer in order. */
static void watch_end(struct watch *w)
{
    struct http_req *req = w->req->call->req;
    w->req->call->gone = NULL;
    watch_free(w);
    http_req_end(req);
}

static void watch_drop(struct watch *w)
{
    struct http_req *req = w->req->call->req;
    w->req->call->gone = NULL;
    watch_free(w);
    http_req_drop(req);
}

static void on_gone(struct sim_call *call)
{
    watch_free(call->private_data);
}

/* --- lines ------------------------------------------------------------------------------------ */
static void send_line(struct watch *w, const char *type, const struct str_buf *object)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "{\"type\":\"%s\",\"object\":", type);
    str_append_n(&b, object->data, object->len);
    str_append(&b, "}\n");
    http_req_chunk(w->req->call->req, b.data, b.len);
}

static void send_object(struct watch *w, const char *type, const struct kube_obj *o)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    if (w->req->form == KUBE_FORM_TABLE) {
        kube_table_append_one(&b, w->req, o, !w->columns_sent);
        w->columns_sent = true;
    } else if (w->req->form == KUBE_FORM_PARTIAL) {
        kube_append_partial(&b, o);
    } else {
        kube_append_obj(&b, w->req->kind, o);
    }
    send_line(w, type, &b);
}

static void send_status(struct watch *w, struct json_object *status)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    json_print(&b, status, JSON_COMPACT);
    send_line(w, "ERROR", &b);
    json_object_put(status);
}

/* A bookmark is an empty object of the kind that has only a version. */
static void send_bookmark(struct watch *w, bool initial_end)
{
    struct json_object *meta = json_object_new_object();
    json_add_str(meta, "resourceVersion",
                 arena_printf(w->req->arena, "%lld", (long long)w->sent_rv));
    if (initial_end) {
        struct json_object *notes = json_object_new_object();
        json_add_str(notes, "k8s.io/initial-events-end", "true");
        json_add(meta, "annotations", notes);
    }
    struct json_object *o = kube_empty_object(w->req->kind, w->req->arena);
    json_add(o, "metadata", meta);
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    kube_db_print(&text, o);
    struct kube_obj view = {.refs = 1,
                            .rv = w->sent_rv,
                            .key = arena_strdup(w->req->arena, ""),
                            .text = text.data,
                            .len = text.len};
    send_object(w, "BOOKMARK", &view);
    json_object_put(o);
}

/* --- changes ---------------------------------------------------------------------------------- */
static bool in_namespace(const struct watch *w, const struct kube_obj *o)
{
    size_t n = strlen(w->req->namespace);
    return n == 0 || (strncmp(o->key, w->req->namespace, n) == 0 && o->key[n] == '/');
}

/* The old state under the version of the change that took it out of the selection. */
static void send_left(struct watch *w, const struct kube_event *ev)
{
    struct json_object *tree = kube_obj_tree(ev->prev);
    json_add_str(json_member(tree, "metadata"), "resourceVersion",
                 arena_printf(w->req->arena, "%lld", (long long)ev->rv));
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    kube_db_print(&text, tree);
    json_object_put(tree);
    struct kube_obj view = {
        .refs = 1, .rv = ev->rv, .key = ev->prev->key, .text = text.data, .len = text.len};
    send_object(w, "DELETED", &view);
}

static void send_event(struct watch *w, const struct kube_event *ev)
{
    if (!in_namespace(w, ev->now)) {
        return;
    }
    bool was_in = ev->prev && kube_selector_takes(w->selector, ev->prev);
    bool is_in = ev->type != KUBE_DELETED && kube_selector_takes(w->selector, ev->now);
    if (ev->type == KUBE_DELETED && was_in) {
        send_object(w, "DELETED", ev->now);
    } else if (is_in) {
        send_object(w, was_in ? "MODIFIED" : "ADDED", ev->now);
    } else if (was_in) {
        send_left(w, ev);
    }
}

/* One step: true when something was sent or passed over. */
static bool watch_step(struct watch *w)
{
    struct kube_db *store = w->all->st->store;
    int shelf = w->req->kind->store;
    if (w->next_initial < w->n_initial) {
        struct kube_obj *o = w->initial[w->next_initial++];
        send_object(w, "ADDED", o);
        kube_obj_unref(o);
        return true;
    }
    if (w->says_initial_end) {
        w->says_initial_end = false;
        send_bookmark(w, true);
        return true;
    }
    size_t i = kube_db_events_after(store, shelf, w->sent_rv);
    if (i == kube_db_n_events(store, shelf)) {
        return false;
    }
    const struct kube_event *ev = kube_db_event(store, shelf, i);
    send_event(w, ev);
    w->sent_rv = ev->rv;
    return true;
}

static void watch_pump(struct watch *w)
{
    if (w->silent) {
        return;
    }
    if (w->sent_rv < kube_db_oldest(w->all->st->store, w->req->kind->store)) {
        watch_drop(w); /* the window has passed a slow reader by */
        return;
    }
    while (http_req_backlog(w->req->call->req) < KUBE_STREAM_HIGH) {
        if (!watch_step(w)) {
            return;
        }
    }
    struct timeval wait = {.tv_usec = KUBE_STREAM_WAIT_US};
    event_add(w->again, &wait);
}

static void on_again(int fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    watch_pump(arg);
}

static void watch_expire(struct watch *w)
{
    send_status(w,
                kube_status_expired(arena_printf(
                    w->req->arena, "too old resource version: %lld (%lld)", (long long)w->sent_rv,
                    (long long)kube_db_oldest(w->all->st->store, w->req->kind->store))));
    watch_end(w);
}

void kube_watches_event(struct kube_watches *all, int store, const struct kube_event *ev)
{
    struct watch *next = NULL;
    for (struct watch *w = all->first; w; w = next) {
        next = w->next;
        if (w->req->kind->store != store) {
            continue;
        }
        if (ev) {
            watch_pump(w);
        } else if (!w->silent) {
            watch_expire(w);
        }
    }
}

/* --- time ------------------------------------------------------------------------------------- */
static void on_timer(void *arg)
{
    struct watch *w = arg;
    w->timer = NULL;
    int64_t now = clock_now_ms(sim_clock(w->all->st->sim));
    if (now >= w->deadline_ms) {
        if (!w->silent) {
            watch_end(w);
        }
        return;
    }
    int64_t rv = kube_db_rv(w->all->st->store);
    bool caught_up = w->next_initial == w->n_initial && !w->says_initial_end && rv >= w->sent_rv;
    if (w->bookmarks && !w->silent && caught_up) {
        w->sent_rv = rv;
        send_bookmark(w, false);
    }
    arm_timer(w);
}

/* Bookmarks come once a minute, and two and one seconds before the end of a watch that lasts longer
 * than that (recorded 136, 148; 141 has none). */
static void arm_timer(struct watch *w)
{
    int64_t left = w->deadline_ms - clock_now_ms(sim_clock(w->all->st->sim));
    int64_t wait = left;
    if (w->bookmarks && left > 2000) {
        wait = left - 2000 < BOOKMARK_MS ? left - 2000 : BOOKMARK_MS;
        w->ends_soon = wait == left - 2000;
    } else if (w->ends_soon && left > 1000) {
        wait = left - 1000;
        w->ends_soon = false;
    }
    w->timer = sim_after(w->all->st->sim, wait > 0 ? wait : 0, on_timer, w);
}

/* --- opening ---------------------------------------------------------------------------------- */
static int64_t timeout_ms(struct kube_request *r)
{
    int64_t s = 0;
    const char *given = str_nonnull(sim_call_param(r->call, "timeoutSeconds"));
    if (!str_to_i64(given, &s) || s <= 0 || s > 7 * 86400) {
        s = DEFAULT_TIMEOUT_S + (int64_t)rng_below(sim_rng(r->st->sim), DEFAULT_TIMEOUT_S);
    }
    return s * 1000;
}

static void take_initial(struct watch *w)
{
    struct kube_db *store = w->all->st->store;
    (void)kube_db_list(store, w->req->kind->store, w->req->namespace, 0, &w->initial,
                       &w->n_initial);
    size_t kept = 0;
    for (size_t i = 0; i < w->n_initial; i++) {
        if (kube_selector_takes(w->selector, w->initial[i])) {
            w->initial[kept++] = w->initial[i];
        } else {
            kube_obj_unref(w->initial[i]);
        }
    }
    w->n_initial = kept;
    w->sent_rv = kube_db_rv(store);
}

static void watch_open(struct kube_request *r, const struct kube_list_options *o)
{
    struct kube_watches *all = r->st->watches;
    struct watch *w = xcalloc(1, sizeof(*w));
    w->all = all;
    w->req = r;
    w->selector = o->selector;
    w->bookmarks = kube_flag_is_on(sim_call_param(r->call, "allowWatchBookmarks"));
    w->next = all->first;
    w->prev = &all->first;
    if (w->next) {
        w->next->prev = &w->next;
    }
    all->first = w;
    w->again = event_new(sim_event_base(r->st->sim), -1, 0, on_again, w);
    w->deadline_ms = clock_now_ms(sim_clock(r->st->sim)) + timeout_ms(r);
    bool from_now = !o->has_rv || o->rv == 0;
    if (o->has_send_initial ? o->send_initial : from_now) {
        take_initial(w);
        /* A watch with bookmarks from the beginning gets the mark, too. */
        w->says_initial_end = w->bookmarks;
    } else {
        w->sent_rv = from_now ? kube_db_rv(r->st->store) : o->rv;
    }
    r->call->streaming = true;
    r->call->private_data = w;
    r->call->gone = on_gone;
    http_req_add_header(r->call->req, "Cache-Control", "no-cache, private");
    http_req_add_header(r->call->req, "Content-Type", "application/json");
    http_req_begin(r->call->req, 200);
    if (o->send_initial && o->rv > kube_db_rv(r->st->store)) {
        send_status(w, kube_status_too_large(r, o->rv));
        watch_end(w);
        return;
    }
    if (w->sent_rv < kube_db_oldest(r->st->store, r->kind->store)) {
        watch_expire(w);
        return;
    }
    arm_timer(w);
    watch_pump(w);
}

void kube_handle_watch(struct kube_request *r)
{
    struct kube_list_options o = {0};
    struct json_object *refusal = kube_list_options(r, &o);
    if (refusal) {
        kube_answer_status(r, refusal);
        return;
    }
    sim_call_log(r->call, r->call->lose_answer ? 0 : 200, NULL);
    if (r->call->lose_answer) {
        http_req_drop(r->call->req);
        return;
    }
    watch_open(r, &o);
}

int kube_watch_fault(void *state, const char *kind, const char *path_glob)
{
    struct kube_state *st = state;
    int hits = 0;
    struct watch *next = NULL;
    bool *expired = xcalloc((size_t)kube_n_stores, sizeof(*expired));
    for (struct watch *w = st->watches->first; w; w = next) {
        next = w->next;
        if (w->silent || (path_glob && !str_glob(path_glob, w->req->call->path))) {
            continue;
        }
        hits++;
        if (str_eq(kind, "watch-silence")) {
            w->silent = true;
        } else if (str_eq(kind, "watch-cut")) {
            watch_drop(w);
        } else {
            expired[w->req->kind->store] = true;
        }
    }
    for (int i = 0; i < kube_n_stores; i++) {
        if (expired[i]) {
            kube_db_expire(st->store, i);
        }
    }
    free(expired);
    return hits;
}
