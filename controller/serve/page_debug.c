/* SPDX-License-Identifier: Apache-2.0 */
/* page_debug.c: /debug/flags/v, which sets how much is logged until the next start, and the
 * profiles that there are not.
 *
 * Upstream has PUT only; GET tells the level that is in force. */
#include "common/base/log.h"
#include "controller/serve/pages.h"

#define FLAG "/debug/flags/v"

static void set(const struct page_request *req, struct page_answer *ret)
{
    const char *text = str_trim(req->a, req->body);
    int64_t v = 0;

    if (!str_to_i64(text, &v) || v < 0 || v > INT32_MAX) {
        _cleanup_(str_buf_done) struct str_buf quoted = STR_BUF_INIT;
        str_append_go_quoted(&quoted, req->body_len > 40 ? arena_strndup(req->a, text, 40) : text);
        page_fail(ret, 400,
                  arena_printf(req->a,
                               "failed to set klog.logging.verbosity: %s is not a number from 0",
                               str_buf_text(&quoted)));
        return;
    }
    log_info(0, "Verbosity of the log is set", LOG_I("v", v), LOG_I("before", log_verbosity()));
    log_set_verbosity((int)v);
    str_appendf(&ret->body, "successfully set klog.logging.verbosity to %d", (int)v);
}

void page_debug_flags(void *arg, const struct page_request *req, struct page_answer *ret)
{
    (void)arg;
    bool put = str_eq(req->method, "PUT");

    if (str_eq(req->path, FLAG)) {
        if (put) {
            set(req, ret);
        } else {
            str_appendf(&ret->body, "%d\n", log_verbosity());
        }
    } else if (!put && (str_eq(req->path, "/debug/flags") || str_eq(req->path, "/debug/flags/"))) {
        str_append(&ret->body, "v\n");
    } else {
        page_fail(ret, 404, "404 page not found");
    }
}

void page_pprof(void *arg, const struct page_request *req, struct page_answer *ret)
{
    (void)arg;
    (void)req;
    page_fail(
        ret, 404,
        "404 page not found: pprof shows programs written in Go, and this one is written in C; "
        "perf record -g -p PID shows where its time goes");
}
