/* SPDX-License-Identifier: Apache-2.0 */
/* fake_api.h: an API server that says what a script tells it, one step per request.
 *
 * Steps are used in order, whatever is asked; what was asked is kept for the test to look at.
 * After the last step every request hangs.  The client's delays go by a fake clock that
 * fake_api_wait() moves on whenever the client waits for it, so no test takes the time
 * of a back-off. */
#ifndef TRIMTAB_TESTS_FAKE_API_H
#define TRIMTAB_TESTS_FAKE_API_H

#include "common/base/clock.h"
#include "controller/kube/client/config.h"

#include <stdbool.h>
#include <stddef.h>

enum api_way {
    API_ANSWER = 0, /* status, header, body */
    API_END,        /* body in chunks of 7 bytes, then a clean end */
    API_CUT,        /* the same, then the connection is closed in the middle */
    API_OPEN,       /* the same, then silence */
    /* the body, whole; silence for a watch: which of several clients comes first does not matter */
    API_LIST,
    API_DROP, /* connection closed without an answer */
    API_HANG,
};
struct api_step {
    enum api_way way;
    int status;         /* 0: 200 */
    const char *header; /* "Retry-After: 1", or NULL */
    const char *body;   /* single quotes stand for double ones; NULL: "" */
    size_t body_len;    /* 0: strlen */
};
struct fake_api;

struct fake_api *fake_api_start(const struct api_step *steps, size_t n);
void fake_api_stop(struct fake_api *f);
/* A configuration that leads there; lives as long as `f`. */
struct kube_config *fake_api_config(struct fake_api *f);
struct clock *fake_api_clock(struct fake_api *f);
/* Until `n` requests were seen, moving the clock on when that is what the client waits for. */
void fake_api_wait(struct fake_api *f, int n);
/* Until done(arg) is true; likewise. */
void fake_api_until(struct fake_api *f, bool (*done)(void *arg), void *arg);
int fake_api_count(struct fake_api *f);
/* "GET /path?query" of the i-th request; its body; one of its headers ("" when
 * absent).  Until stop. */
const char *fake_api_target(struct fake_api *f, int i);
const char *fake_api_body(struct fake_api *f, int i);
const char *fake_api_authorization(struct fake_api *f, int i);
const char *fake_api_content_type(struct fake_api *f, int i);
const char *fake_api_user_agent(struct fake_api *f, int i);

#endif
