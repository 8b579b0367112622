/* SPDX-License-Identifier: Apache-2.0 */
/* reflector_rules.c: the reflector's state machine (see reflector_rules.h).
 *
 * Sources are named per function; all sections are controller.md's. */
#include "controller/kube/reflector_rules.h"

#include <stdio.h>
#include <string.h>

#include "common/net/url.h"
#include "controller/kube/client.h"

#define PAGE_SIZE        500
#define MIN_WATCH_MS     ((int64_t)5 * 60 * 1000)
#define BACKOFF_BASE_MS  800
#define BACKOFF_CAP_MS   30000
#define BACKOFF_RESET_MS ((int64_t)2 * 60 * 1000)
#define SHORT_WATCH_MS   1000
/* A server that sends one event and hangs up, over and over, is met with the back-off too. */
#define SHORT_WATCHES_MAX 5

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

static void wait_for_backoff(struct reflector_rules *r, int64_t now_ms, double unit)
{
    r->not_before_ms = now_ms + reflector_backoff(r, now_ms, unit);
}

static void set_rv(char out[REFLECTOR_RV_MAX], const char *rv)
{
    (void)snprintf(out, REFLECTOR_RV_MAX, "%s", rv);
}

/* --- lists --------------------------------------------------------------------------------------- */

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
    set_rv(r->rv, rv);
    r->rv_unavailable = false;
    r->ask = REFLECTOR_WATCH;
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
    wait_for_backoff(r, now_ms, unit);
    return expired ? REFLECTOR_SAY_EXPIRED : REFLECTOR_SAY_FAILED;
}

/* --- watches ------------------------------------------------------------------------------------- */

static void next_watch(struct reflector_rules *r, int64_t now_ms, double unit,
                       struct reflector_request *ret)
{
    ret->rv = r->rv;
    ret->timeout_s =
        (int)((double)r->min_watch_ms / 1000.0 + unit * (double)r->min_watch_ms / 1000.0);
    r->watch_began_ms = now_ms > r->not_before_ms ? now_ms : r->not_before_ms;
    r->watch_events = 0;
}

void reflector_watch_event(struct reflector_rules *r, const char *rv)
{
    r->watch_events++;
    if (!str_is_empty(rv)) {
        set_rv(r->rv, rv);
    }
}

static enum reflector_say list_again(struct reflector_rules *r, enum reflector_say say,
                                     int64_t now_ms, double unit)
{
    r->ask = REFLECTOR_LIST;
    wait_for_backoff(r, now_ms, unit);
    return say;
}

/* Closed by the server, which is how every watch ends; or its connection broke. */
static enum reflector_say watch_closed(struct reflector_rules *r, int64_t now_ms, double unit)
{
    bool is_short = now_ms - r->watch_began_ms < SHORT_WATCH_MS;
    if (is_short && r->watch_events == 0) {
        return list_again(r, REFLECTOR_SAY_SHORT, now_ms, unit);
    }
    r->short_watches = is_short ? r->short_watches + 1 : 0;
    if (r->short_watches > SHORT_WATCHES_MAX) {
        wait_for_backoff(r, now_ms, unit);
    }
    return REFLECTOR_SAY_NOTHING;
}

static bool may_survive_internal(struct reflector_rules *r, int64_t now_ms)
{
    if (r->internal_since_ms == 0 || r->watch_events > 0) {
        r->internal_since_ms = now_ms;
    }
    return r->internal_error_window_ms > 0 &&
           now_ms - r->internal_since_ms < r->internal_error_window_ms;
}

/* §4.8 WATCH, "Starting error" and "End of stream". */
enum reflector_say reflector_watch_ended(struct reflector_rules *r, enum reflector_end why,
                                         bool opened, int64_t now_ms, double unit)
{
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
        return list_again(r, REFLECTOR_SAY_EXPIRED, now_ms, unit);
    case REFLECTOR_END_INTERNAL:
        if (opened && may_survive_internal(r, now_ms)) {
            wait_for_backoff(r, now_ms, unit);
            return REFLECTOR_SAY_NOTHING;
        }
        break;
    case REFLECTOR_END_TOO_LARGE:
    case REFLECTOR_END_OTHER:
        break;
    }
    return list_again(r, opened ? REFLECTOR_SAY_ENDED : REFLECTOR_SAY_FAILED, now_ms, unit);
}

/* --- requests ------------------------------------------------------------------------------------ */

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

static void add(struct str_buf *b, const char *name, const char *value)
{
    str_appendf(b, "%s%s=", b->len > 0 ? "&" : "", name);
    url_append_query_escaped(b, value);
}

static void add_int(struct str_buf *b, const char *name, int value)
{
    str_appendf(b, "%s%s=%d", b->len > 0 ? "&" : "", name, value);
}

void reflector_query(struct str_buf *b, const struct reflector_request *q,
                     const char *label_selector)
{
    str_buf_reset(b);
    if (q->ask == REFLECTOR_WATCH) {
        add(b, "allowWatchBookmarks", "true");
    }
    if (q->token != NULL) {
        add(b, "continue", q->token);
    }
    if (!str_is_empty(label_selector)) {
        add(b, "labelSelector", label_selector);
    }
    if (q->limit > 0) {
        add_int(b, "limit", q->limit);
    }
    if (!str_is_empty(q->rv)) {
        add(b, "resourceVersion", q->rv);
    }
    if (q->ask == REFLECTOR_WATCH) {
        add_int(b, "timeoutSeconds", q->timeout_s);
        add(b, "watch", "true");
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
    return str_eq(err->reason, "InternalError") ? REFLECTOR_END_INTERNAL : REFLECTOR_END_OTHER;
}
