/* SPDX-License-Identifier: Apache-2.0 */
/* fake_api.c: scripted answers (see fake_api.h).
 *
 * The handler runs in the server's thread, the tests in theirs: `lock` guards what both see. */
#include "tests/unit/kube/fake_api.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/lock.h"
#include "common/base/str.h"
#include "tests/support/clock_fake.h"
#include "tests/support/clock_mover.h"
#include "tests/support/test_server.h"

#define REQUESTS_MAX 256
#define CHUNK        ((size_t)7)

struct seen {
    const char *target;
    const char *body;
    const char *authorization;
    const char *content_type;
    const char *user_agent;
};
struct fake_api {
    const struct api_step *steps;
    size_t n_steps;
    struct test_server *server;
    struct kube_config config;
    struct clock *clock;
    struct mutex lock;
    struct arena *arena;
    struct seen seen[REQUESTS_MAX];
    int n_seen;
};

static const struct api_step *record(struct fake_api *f, struct http_req *req)
{
    size_t n;
    const char *body = http_req_body(req, &n);
    mutex_lock(&f->lock);
    const struct api_step *step = (size_t)f->n_seen < f->n_steps ? &f->steps[f->n_seen] : NULL;
    if (f->n_seen == REQUESTS_MAX) {
        abort();
    }
    f->seen[f->n_seen++] = (struct seen){
        .target = arena_printf(f->arena, "%s %s", http_req_method(req), http_req_target(req)),
        .body = arena_strdup(f->arena, str_nonnull(body)),
        .authorization = arena_strdup(f->arena, str_nonnull(http_req_header(req, "Authorization"))),
        .content_type = arena_strdup(f->arena, str_nonnull(http_req_header(req, "Content-Type"))),
        .user_agent = arena_strdup(f->arena, str_nonnull(http_req_header(req, "User-Agent"))),
    };
    mutex_unlock(&f->lock);
    return step;
}

static char *body_of(struct http_req *req, const struct api_step *step, size_t *ret_n)
{
    const char *body = str_nonnull(step->body);
    size_t n = step->body_len > 0 ? step->body_len : strlen(body);
    char *copy = arena_memdup(http_req_arena(req), body, n + (step->body_len == 0));
    for (size_t i = 0; i < n; i++) {
        copy[i] = copy[i] == '\'' ? '"' : copy[i];
    }
    *ret_n = n;
    return copy;
}

static void add_header(struct http_req *req, const char *header)
{
    const char *colon = header == NULL ? NULL : strchr(header, ':');
    if (colon != NULL) {
        struct arena *a = http_req_arena(req);
        http_req_add_header(req, arena_strndup(a, header, (size_t)(colon - header)),
                            str_trim(a, colon + 1));
    }
}

static void handle(void *arg, struct http_req *req)
{
    struct fake_api *f = arg;
    const struct api_step *step = record(f, req);
    if (step == NULL || step->way == API_HANG) {
        return;
    }
    if (step->way == API_DROP) {
        http_req_drop(req);
        return;
    }
    size_t n;
    const char *body = body_of(req, step, &n);
    int status = step->status == 0 ? 200 : step->status;
    add_header(req, step->header);
    bool watch = step->way == API_LIST && strstr(http_req_target(req), "watch=") != NULL;
    if (step->way == API_ANSWER || (step->way == API_LIST && !watch)) {
        http_req_answer(req, status, body, n);
        return;
    }
    http_req_begin(req, status);
    n = watch ? 0 : n;
    for (size_t i = 0; i < n; i += CHUNK) {
        http_req_chunk(req, body + i, n - i < CHUNK ? n - i : CHUNK);
    }
    if (step->way == API_END) {
        http_req_end(req);
    } else if (step->way == API_CUT) {
        test_server_cut(f->server, req);
    }
}

struct fake_api *fake_api_start(const struct api_step *steps, size_t n)
{
    struct fake_api *f = xcalloc(1, sizeof *f);
    f->steps = steps;
    f->n_steps = n;
    f->arena = arena_new();
    f->clock = clock_fake_new(1000000, INT64_C(1767323045000000)); /* 2026-01-02T03:04:05Z */
    mutex_init(&f->lock);
    f->server = test_server_start(&(struct test_server_config){.handle = handle, .arg = f});
    f->config = (struct kube_config){
        .server = arena_strdup(f->arena, test_server_url(f->server, "")),
        .context = "prod",
        .source = "kc",
        .ns = "default",
        .user = "u",
        .proxy_url = "",
    };
    return f;
}

void fake_api_stop(struct fake_api *f)
{
    test_server_stop(f->server);
    clock_fake_free(f->clock);
    arena_free(f->arena);
    mutex_done(&f->lock);
    free(f);
}

struct kube_config *fake_api_config(struct fake_api *f)
{
    return &f->config;
}

struct clock *fake_api_clock(struct fake_api *f)
{
    return f->clock;
}

int fake_api_count(struct fake_api *f)
{
    mutex_lock(&f->lock);
    int n = f->n_seen;
    mutex_unlock(&f->lock);
    return n;
}

/* While an answer is on its way, the client waits for it and perhaps for the clock, too, and the
 * server's thread is awake. */
void fake_api_until(struct fake_api *f, bool (*done)(void *arg), void *arg)
{
    while (!done(arg)) {
        (void)clock_let_pass(f->clock, CLOCK_NEVER);
    }
}

void fake_api_wait(struct fake_api *f, int n)
{
    while (fake_api_count(f) < n) {
        (void)clock_let_pass(f->clock, CLOCK_NEVER);
    }
}

static struct seen seen_at(struct fake_api *f, int i)
{
    mutex_lock(&f->lock);
    struct seen s = i < f->n_seen ? f->seen[i] : (struct seen){"", "", "", "", ""};
    mutex_unlock(&f->lock);
    return s;
}

const char *fake_api_target(struct fake_api *f, int i)
{
    return seen_at(f, i).target;
}

const char *fake_api_body(struct fake_api *f, int i)
{
    return seen_at(f, i).body;
}

const char *fake_api_authorization(struct fake_api *f, int i)
{
    return seen_at(f, i).authorization;
}

const char *fake_api_content_type(struct fake_api *f, int i)
{
    return seen_at(f, i).content_type;
}

const char *fake_api_user_agent(struct fake_api *f, int i)
{
    return seen_at(f, i).user_agent;
}
