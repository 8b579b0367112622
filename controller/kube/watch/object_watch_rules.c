/* SPDX-License-Identifier: Apache-2.0 */
/* object_watch_rules.c: the state machine of object_watch_rules.h.
 *
 * Owns the order of requests, the back-off and the form of their queries.  No I/O, no clock. */
#include "controller/kube/watch/object_watch_rules.h"

#include <string.h>

#include "common/net/url_build.h"
#include "controller/kube/client/client.h"

#define WATCH_MIN_S    300
#define SHORT_MS       1000 /* a watch that ends sooner and brought nothing is trouble */
#define DELAY_FIRST_MS 800
#define DELAY_MAX_MS   60000
#define QUIET_MS       120000 /* a watch that lasted so long ends the back-off */

void object_rules_init(struct object_rules *r)
{
    *r = (struct object_rules){.ask = OBJECT_STREAM};
}

void object_rules_next(struct object_rules *r, int64_t now_ms, double unit,
                       struct object_request *ret)
{
    *ret = (struct object_request){
        .ask = r->ask,
        .rv = r->rv,
        .timeout_s = WATCH_MIN_S + (int)(unit * WATCH_MIN_S),
        .not_before_ms = r->not_before_ms,
    };
    r->began_ms = now_ms > r->not_before_ms ? now_ms : r->not_before_ms;
    r->events = 0;
    r->there = false;
    r->not_before_ms = 0;
}

static void append_selector(struct str_buf *b, const char *name, const char *selector)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;

    if (name != NULL) {
        str_appendf(&text, "metadata.name=%s", name);
        url_append_pair(b, "fieldSelector", str_buf_text(&text));
    } else if (!str_is_empty(selector)) {
        url_append_pair(b, "labelSelector", selector);
    }
}

void object_rules_query(struct str_buf *b, const struct object_request *q, const char *name,
                        const char *selector)
{
    if (q->ask == OBJECT_READ) {
        append_selector(b, NULL, name == NULL ? selector : NULL);
        return;
    }
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    url_append_pair(b, "allowWatchBookmarks", "true");
    append_selector(b, name, selector);
    if (q->ask == OBJECT_STREAM) {
        url_append_pair(b, "resourceVersionMatch", "NotOlderThan");
        url_append_pair(b, "sendInitialEvents", "true");
    } else if (q->rv[0] != '\0') {
        url_append_pair(b, "resourceVersion", q->rv);
    }
    str_appendf(&text, "%dm%ds", q->timeout_s / 60, q->timeout_s % 60);
    url_append_pair(b, "timeout", str_buf_text(&text));
    str_buf_reset(&text);
    str_appendf(&text, "%d", q->timeout_s);
    url_append_pair(b, "timeoutSeconds", str_buf_text(&text));
    url_append_pair(b, "watch", "true");
}

static void set_rv(struct object_rules *r, const char *rv)
{
    size_t n = rv == NULL ? 0 : strlen(rv);
    n = n < sizeof r->rv ? n : 0; /* longer than any server's: as good as none */
    memcpy(r->rv, str_nonnull(rv), n);
    r->rv[n] = '\0';
}

void object_rules_read(struct object_rules *r, const char *rv)
{
    set_rv(r, rv);
    r->synced = true;
    r->ask = OBJECT_WATCH;
}

enum object_news object_rules_event(struct object_rules *r, const char *type, const char *rv,
                                    bool end_of_state)
{
    r->events++;
    bool is_there = str_eq(type, "ADDED") || str_eq(type, "MODIFIED");
    if (is_there || str_eq(type, "DELETED")) {
        set_rv(r, rv);
        r->there = is_there;
        r->synced = r->synced || !r->many;
        return is_there ? OBJECT_IS : OBJECT_IS_NOT;
    }
    if (!str_eq(type, "BOOKMARK")) {
        return OBJECT_NO_NEWS;
    }
    set_rv(r, rv);
    bool absent = end_of_state && !r->there && r->ask == OBJECT_STREAM;
    r->synced = r->synced || end_of_state;
    return absent ? OBJECT_IS_NOT : OBJECT_NO_NEWS;
}

static void wait_longer(struct object_rules *r, int64_t now_ms, double unit)
{
    r->delay_ms = r->delay_ms == 0 ? DELAY_FIRST_MS : r->delay_ms * 2;
    r->delay_ms = r->delay_ms < DELAY_MAX_MS ? r->delay_ms : DELAY_MAX_MS;
    /* Jitter shortens, so that a minute is the longest. */
    r->not_before_ms = now_ms + r->delay_ms - (int64_t)(unit * 0.25 * (double)r->delay_ms);
}

/* The answer of a server that knows no streaming lists, or has them switched off. */
static bool refuses_stream(const struct err *err)
{
    return err->http_status == 400 || err->http_status == 422;
}

bool object_rules_ended(struct object_rules *r, const struct err *err, bool opened, int64_t now_ms,
                        double unit)
{
    bool was_read = r->ask == OBJECT_READ;
    bool lasted = opened && now_ms - r->began_ms >= QUIET_MS;
    bool is_short = now_ms - r->began_ms < SHORT_MS && r->events == 0;
    if (lasted) {
        r->delay_ms = 0;
    }
    if (err == NULL && !is_short && r->synced) {
        r->ask = OBJECT_WATCH; /* the way in which every watch ends */
        return false;
    }
    if (r->ask == OBJECT_STREAM && err != NULL && refuses_stream(err)) {
        r->ask = OBJECT_READ;
        return false;
    }
    bool expired = err != NULL && kube_error_is_expired(err);
    if (expired) {
        set_rv(r, "");
    }
    r->ask = OBJECT_READ;
    /* A watch that worked for a while and broke is renewed at once. */
    if (!(lasted || (expired && r->delay_ms == 0)) || was_read) {
        wait_longer(r, now_ms, unit);
    } else {
        r->delay_ms = DELAY_FIRST_MS;
    }
    return err != NULL && !expired;
}
