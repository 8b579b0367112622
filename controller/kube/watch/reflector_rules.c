/* SPDX-License-Identifier: Apache-2.0 */
/* reflector_rules.c: the reflector's state machine (see reflector_rules.h).
 *
 * Sources are named per function; all sections are controller.md's. */
#include "controller/kube/watch/reflector_rules.h"

#include <stdio.h>
#include <string.h>

#include "common/net/url_build.h"
#include "controller/kube/client/client.h"

#define PAGE_SIZE        500
#define MIN_WATCH_MS     ((int64_t)5 * 60 * 1000)
#define BACKOFF_BASE_MS  800
#define BACKOFF_CAP_MS   30000
#define BACKOFF_RESET_MS ((int64_t)2 * 60 * 1000)
#define SHORT_WATCH_MS   1000
/* A server that sends one event and hangs up, over and over, is met with the back-off too. */
#define SHORT_WATCHES_MAX 5
/* A proxy that cuts streams after a while may never let a long one come to its end mark. */
#define CUT_STREAMS_MAX 3
/* Bookmarks come about every minute, so three without a byte mean a dead connection (§4.5). */
#define SILENCE_MS ((int64_t)3 * 60 * 1000)
/* §4.8 "watchdog": before the end mark. */
#define MARK_DUE_MS     ((int64_t)60 * 1000)
#define MARK_SILENCE_MS ((int64_t)30 * 1000)

void reflector_rules_init(struct reflector_rules *r, int page_size, int64_t min_watch_ms)
{
    *r = (struct reflector_rules){
        .page_size = page_size,
        .min_watch_ms = min_watch_ms > MIN_WATCH_MS ? min_watch_ms : MIN_WATCH_MS,
        .backoff_used_ms = -1,
    };
}

void reflector_rules_done(struct reflector_rules *r)
{
    str_buf_done(&r->token);
}

/* §4.8 "Backoff maths": the cap is applied before the jitter. */
int64_t reflector_backoff(struct reflector_rules *r, int64_t now_ms, double unit)
{
    if (r->backoff_used_ms >= 0 && now_ms - r->backoff_used_ms >= BACKOFF_RESET_MS) {
        r->backoff_step = 0;
    }
    r->backoff_used_ms = now_ms;
    int64_t base = BACKOFF_CAP_MS;
    if (r->backoff_step < 6) {
        base = (int64_t)BACKOFF_BASE_MS << r->backoff_step++;
    }
    base = base < BACKOFF_CAP_MS ? base : BACKOFF_CAP_MS;
    return base + (int64_t)(unit * (double)base);
}

void reflector_rules_stream(struct reflector_rules *r)
{
    r->streams = true;
    r->ask = REFLECTOR_WATCH_LIST;
}

static void wait_for_backoff(struct reflector_rules *r, int64_t now_ms, double unit)
{
    r->not_before_ms = now_ms + reflector_backoff(r, now_ms, unit);
}

/* The next request begins a round. */
static void begin_round(struct reflector_rules *r)
{
    r->ask = r->streams ? REFLECTOR_WATCH_LIST : REFLECTOR_LIST;
}

static void set_rv(char out[REFLECTOR_RV_MAX], const char *rv)
{
    (void)snprintf(out, REFLECTOR_RV_MAX, "%s", rv);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* §4.8 LIST: which version, and whether in pages. */
static void next_list(struct reflector_rules *r, struct reflector_request *ret)
{
    ret->begins_list = !r->in_list;
    if (!r->in_list && !r->full_list) {
        set_rv(r->list_rv, r->rv_unavailable ? "" : r->rv[0] == '\0' ? "0" : r->rv);
    }
    if (r->token.len > 0) {
        ret->token = str_buf_text(&r->token);
        ret->limit = r->page_size > 0 ? r->page_size : PAGE_SIZE;
        return; /* a continuation has its version inside */
    }
    bool exact = r->list_rv[0] != '\0' && !str_eq(r->list_rv, "0");
    ret->rv = r->list_rv;
    if (r->full_list) {
        ret->limit = 0;
    } else if (r->page_size > 0) {
        ret->limit = r->page_size;
    } else {
        ret->limit = exact && !r->paginated ? 0 : PAGE_SIZE;
    }
}

static void leave_list(struct reflector_rules *r)
{
    str_buf_reset(&r->token);
    r->in_list = false;
    r->full_list = false;
}

static void synced_at(struct reflector_rules *r, const char *rv)
{
    set_rv(r->rv, rv);
    r->rv_unavailable = false;
    r->cut_streams = 0;
    r->ask = REFLECTOR_WATCH;
}

bool reflector_list_page(struct reflector_rules *r, const char *rv, const char *token)
{
    if (token[0] != '\0') {
        r->in_list = true;
        r->paginated |= str_eq(r->list_rv, "0");
        str_buf_reset(&r->token);
        str_append(&r->token, token);
        return false;
    }
    leave_list(r);
    synced_at(r, rv);
    return true;
}

enum reflector_say reflector_list_failed(struct reflector_rules *r, enum reflector_end why,
                                         int64_t now_ms, double unit)
{
    bool expired = why == REFLECTOR_END_EXPIRED;
    if (expired && r->token.len > 0) {
        leave_list(r); /* a later page: once more, all at once, from the same version */
        r->full_list = true;
        return REFLECTOR_SAY_NOTHING;
    }
    leave_list(r);
    if ((expired || why == REFLECTOR_END_TOO_LARGE) && r->list_rv[0] != '\0') {
        r->rv_unavailable = true; /* at once again: the newest, from the source */
        return REFLECTOR_SAY_NOTHING;
    }
    begin_round(r);
    wait_for_backoff(r, now_ms, unit);
    return expired ? REFLECTOR_SAY_EXPIRED : REFLECTOR_SAY_FAILED;
}

/* --- watches ---------------------------------------------------------------------------------- */

void reflector_hurry(struct reflector_rules *r, int64_t at_ms)
{
    r->not_before_ms = r->not_before_ms < at_ms ? r->not_before_ms : at_ms;
    r->watch_began_ms = r->watch_began_ms < at_ms ? r->watch_began_ms : at_ms;
    r->watch_byte_ms = r->watch_byte_ms < at_ms ? r->watch_byte_ms : at_ms;
}

static void next_watch(struct reflector_rules *r, int64_t now_ms, double unit,
                       struct reflector_request *ret)
{
    ret->begins_list = reflector_is_collecting(r);
    ret->rv = ret->begins_list && r->rv_unavailable ? "" : r->rv;
    ret->timeout_s =
        (int)((double)r->min_watch_ms / 1000.0 + unit * (double)r->min_watch_ms / 1000.0);
    r->watch_began_ms = now_ms > r->not_before_ms ? now_ms : r->not_before_ms;
    r->watch_byte_ms = r->watch_began_ms;
    r->watch_events = 0;
}

bool reflector_is_collecting(const struct reflector_rules *r)
{
    return r->ask == REFLECTOR_WATCH_LIST;
}

void reflector_watch_bytes(struct reflector_rules *r, int64_t now_ms)
{
    r->watch_byte_ms = now_ms;
}

/* Before the mark: until 60 s are over and 30 s were silent. */
int64_t reflector_silence_ms(const struct reflector_rules *r, int64_t now_ms)
{
    if (!reflector_is_collecting(r)) {
        return SILENCE_MS;
    }
    int64_t due_ms = r->watch_began_ms + MARK_DUE_MS - now_ms;
    return due_ms > MARK_SILENCE_MS ? due_ms : MARK_SILENCE_MS;
}

void reflector_watch_event(struct reflector_rules *r, const char *rv)
{
    r->watch_events++;
    if (!str_is_empty(rv) && !reflector_is_collecting(r)) {
        set_rv(r->rv, rv);
    }
}

void reflector_initial_end(struct reflector_rules *r, const char *rv)
{
    r->watch_events++;
    synced_at(r, rv);
}

static enum reflector_say next_round(struct reflector_rules *r, enum reflector_say say,
                                     int64_t now_ms, double unit)
{
    begin_round(r);
    wait_for_backoff(r, now_ms, unit);
    return say;
}

/* Closed by the server, which is how every watch ends; or its connection broke. */
static enum reflector_say watch_closed(struct reflector_rules *r, int64_t now_ms, double unit)
{
    bool is_short = now_ms - r->watch_began_ms < SHORT_WATCH_MS;
    if (is_short && r->watch_events == 0) {
        return next_round(r, REFLECTOR_SAY_SHORT, now_ms, unit);
    }
    r->short_watches = is_short ? r->short_watches + 1 : 0;
    if (r->short_watches > SHORT_WATCHES_MAX) {
        wait_for_backoff(r, now_ms, unit);
    }
    return REFLECTOR_SAY_NOTHING;
}

/* LIST for the rest of this round. */
static enum reflector_say fall_back(struct reflector_rules *r, enum reflector_say say)
{
    r->ask = REFLECTOR_LIST;
    r->cut_streams = 0;
    return say;
}

/* Before its end mark, by the server or on the way. */
static enum reflector_say stream_cut(struct reflector_rules *r, bool opened, int64_t now_ms)
{
    bool is_short = now_ms - r->watch_began_ms < SHORT_WATCH_MS;
    bool brought_nothing = !opened || r->watch_events == 0;
    if (++r->cut_streams >= CUT_STREAMS_MAX || (is_short && brought_nothing)) {
        return fall_back(r, REFLECTOR_SAY_LISTING);
    }
    return REFLECTOR_SAY_NOTHING;
}

/* §4.8 WATCH-LIST, "Failures". */
static enum reflector_say stream_ended(struct reflector_rules *r, enum reflector_end why,
                                       bool opened, int64_t now_ms, double unit)
{
    bool asked_for_newest = r->rv_unavailable || r->rv[0] == '\0';
    switch (why) {
    case REFLECTOR_END_NETWORK:
        if (now_ms - r->watch_byte_ms >= MARK_SILENCE_MS &&
            now_ms - r->watch_began_ms >= MARK_DUE_MS) {
            return fall_back(r, REFLECTOR_SAY_STALLED);
        }
        if (!opened) {
            wait_for_backoff(r, now_ms, unit);
            return REFLECTOR_SAY_FAILED;
        }
        return stream_cut(r, opened, now_ms);
    case REFLECTOR_END_OK:
        return stream_cut(r, opened, now_ms);
    case REFLECTOR_END_THROTTLED:
        wait_for_backoff(r, now_ms, unit);
        return REFLECTOR_SAY_NOTHING;
    case REFLECTOR_END_EXPIRED:
    case REFLECTOR_END_TOO_LARGE:
        if (!asked_for_newest) {
            r->rv_unavailable = true;
            return REFLECTOR_SAY_NOTHING;
        }
        break;
    case REFLECTOR_END_OTHER:
        break;
    }
    return fall_back(r, REFLECTOR_SAY_LISTING);
}

/* §4.8 WATCH, "Starting error" and "End of stream". */
enum reflector_say reflector_watch_ended(struct reflector_rules *r, enum reflector_end why,
                                         bool opened, int64_t now_ms, double unit)
{
    if (reflector_is_collecting(r)) {
        return stream_ended(r, why, opened, now_ms, unit);
    }
    switch (why) {
    case REFLECTOR_END_OK:
        return watch_closed(r, now_ms, unit);
    case REFLECTOR_END_NETWORK:
        if (opened) {
            return watch_closed(r, now_ms, unit);
        }
        wait_for_backoff(r, now_ms, unit);
        return REFLECTOR_SAY_FAILED;
    case REFLECTOR_END_THROTTLED:
        wait_for_backoff(r, now_ms, unit);
        return REFLECTOR_SAY_NOTHING;
    case REFLECTOR_END_EXPIRED:
        return next_round(r, REFLECTOR_SAY_EXPIRED, now_ms, unit);
    case REFLECTOR_END_TOO_LARGE:
    case REFLECTOR_END_OTHER:
        break;
    }
    return next_round(r, opened ? REFLECTOR_SAY_ENDED : REFLECTOR_SAY_FAILED, now_ms, unit);
}

/* --- requests --------------------------------------------------------------------------------- */

void reflector_next(struct reflector_rules *r, int64_t now_ms, double unit,
                    struct reflector_request *ret)
{
    *ret = (struct reflector_request){.ask = r->ask, .rv = "", .not_before_ms = r->not_before_ms};
    if (r->ask == REFLECTOR_LIST) {
        next_list(r, ret);
    } else {
        next_watch(r, now_ms, unit, ret);
    }
    r->not_before_ms = 0;
}

static void add_int(struct str_buf *b, const char *name, int value)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%d", value);
    url_append_pair(b, name, text);
}

void reflector_query(struct str_buf *b, const struct reflector_request *q,
                     const char *label_selector)
{
    str_buf_reset(b);
    bool streams = q->ask == REFLECTOR_WATCH_LIST;
    bool watches = q->ask == REFLECTOR_WATCH || streams;
    if (watches) {
        url_append_pair(b, "allowWatchBookmarks", "true");
    }
    if (q->token != NULL) {
        url_append_pair(b, "continue", q->token);
    }
    if (!str_is_empty(label_selector)) {
        url_append_pair(b, "labelSelector", label_selector);
    }
    if (q->limit > 0) {
        add_int(b, "limit", q->limit);
    }
    if (!str_is_empty(q->rv)) {
        url_append_pair(b, "resourceVersion", q->rv);
    }
    if (streams) {
        url_append_pair(b, "resourceVersionMatch", "NotOlderThan");
        url_append_pair(b, "sendInitialEvents", "true");
    }
    if (watches) {
        add_int(b, "timeoutSeconds", q->timeout_s);
        url_append_pair(b, "watch", "true");
    }
}

enum reflector_end reflector_classify(const struct err *err)
{
    if (err->code == ERR_OK) {
        return REFLECTOR_END_OK;
    }
    if (kube_error_is_expired(err)) {
        return REFLECTOR_END_EXPIRED;
    }
    if (kube_error_is_too_large_rv(err)) {
        return REFLECTOR_END_TOO_LARGE;
    }
    if (err->code == ERR_THROTTLED) {
        return REFLECTOR_END_THROTTLED;
    }
    if (err->http_status == 0 && err->code == ERR_TRANSIENT) {
        return REFLECTOR_END_NETWORK;
    }
    return REFLECTOR_END_OTHER;
}
