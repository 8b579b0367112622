/* SPDX-License-Identifier: Apache-2.0 */
/* http_fixture.h: what most tests of the HTTP client need: a handle, memory, and one request at a
 * time.
 *
 * Included by test programs only; all functions are static so that each program is whole by
 * itself. */
#ifndef TRIMTAB_TESTS_HTTP_FIXTURE_H
#define TRIMTAB_TESTS_HTTP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/net/http.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/test_server.h"

struct fixture {
    struct arena *arena;
    struct http *http;
    struct http_response resp;
    struct err err;
};

/* The environment of the machine must not decide about proxies: `cfg` without one gets none. */
static inline struct fixture fixture_new(const struct http_config *cfg)
{
    struct http_config c = cfg == NULL ? (struct http_config){0} : *cfg;
    c.observe = c.observe == NULL ? http_ignore_sent : c.observe;
    c.proxy_url = c.proxy_url == NULL ? "" : c.proxy_url;
    return (struct fixture){.arena = arena_new(), .http = http_new(&c)};
}

static inline void fixture_done(struct fixture *f)
{
    http_free(f->http);
    arena_free(f->arena);
}

static inline int fixture_send(struct fixture *f, const struct http_request *req)
{
    err_clear(&f->err);
    f->resp = (struct http_response){0};
    return http_do(f->http, f->arena, req, NULL, &f->resp, &f->err);
}

static inline int fixture_get(struct fixture *f, const char *url)
{
    return fixture_send(f, &(struct http_request){.method = "GET", .url = url});
}

/* Both values are shown when they differ. */
#define assert_fails(f, rc, want_code, want_text)                                                  \
    do {                                                                                           \
        int rc_ = (rc);                                                                            \
        assert_string_equal((f)->err.message, (want_text));                                        \
        assert_string_equal(err_code_name(rc_), err_code_name(want_code));                         \
    } while (0)
#define assert_ok(f, rc)                                                                           \
    do {                                                                                           \
        int rc_ = (rc);                                                                            \
        assert_string_equal((f)->err.message, "");                                                 \
        assert_int_equal(rc_, ERR_OK);                                                             \
    } while (0)

static inline int http_group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

static inline int http_group_teardown(void **state)
{
    (void)state;
    http_global_done();
    return 0;
}

#endif
