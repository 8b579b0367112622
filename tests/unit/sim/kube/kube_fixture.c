/* SPDX-License-Identifier: Apache-2.0 */
/* kube_fixture.c: see kube_fixture.h. */
#include "tests/unit/sim/kube/kube_fixture.h"

#include "common/base/clock.h"
#include "common/net/http_server.h"
#include "tests/support/clock_fake.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define START_WALL_US 1795219200000000 /* 2026-11-21T00:00:00Z */
#define IDLE_ROUNDS   3
#define ROUND_US      1500
#define STEP_MS       500
#define ROUNDS_MAX    20000

struct kf_io {
    struct bufferevent *bev;
    struct str_buf raw;
};

struct kf *kf_start(const struct sim_config *cfg)
{
    struct err err = ERR_INIT;
    struct kf *f = xcalloc(1, sizeof(*f));
    struct sim_config own = cfg ? *cfg : (struct sim_config){0};
    evthread_use_pthreads();
    f->a = arena_new();
    f->base = event_base_new();
    f->clock = clock_fake_new(0, START_WALL_US);
    own.clock = f->clock;
    if (sim_new(f->base, &own, &f->sim, &err)) {
        fail_msg("sim_new: %s", err.message);
    }
    return f;
}

void kf_stop(struct kf *f)
{
    sim_free(f->sim);
    arena_free(f->a); /* closes what is still open */
    http_server_free_loop(f->base);
    clock_fake_free(f->clock);
    free(f);
}

/* --- talking ---------------------------------------------------------------------------------- */
static void close_io(void *arg)
{
    struct kf_io *io = arg;
    if (io->bev) {
        bufferevent_free(io->bev);
        io->bev = NULL;
    }
    str_buf_done(&io->raw);
}

static void put_json(void *arg)
{
    json_object_put(arg);
}

static void on_read(struct bufferevent *bev, void *arg)
{
    struct kf_call *c = arg;
    char chunk[16384];
    size_t n = 0;
    while ((n = bufferevent_read(bev, chunk, sizeof(chunk))) > 0) {
        str_append_n(&c->io->raw, chunk, n);
    }
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct kf_call *c = arg;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
        on_read(bev, c);
        c->done = true;
    }
}

struct kf_call *kf_send(struct kf *f, const char *method, const char *target, const char *headers,
                        const char *body)
{
    return kf_send_bytes(f, method, target, headers, str_nonnull(body), body ? strlen(body) : 0);
}

struct kf_call *kf_send_bytes(struct kf *f, const char *method, const char *target,
                              const char *headers, const void *body, size_t n)
{
    struct kf_call *c = ARENA_NEW(f->a, struct kf_call);
    c->headers = "";
    c->body = "";
    c->io = ARENA_NEW(f->a, struct kf_io);
    arena_defer(f->a, close_io, c->io);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(sim_port(f->sim)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    c->io->bev = bufferevent_socket_new(f->base, -1, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(c->io->bev, on_read, NULL, on_event, c);
    bufferevent_enable(c->io->bev, EV_READ | EV_WRITE);
    struct evbuffer *out = bufferevent_get_output(c->io->bev);
    evbuffer_add_printf(
        out, "%s %s HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n",
        method, target, str_nonnull(headers), n);
    evbuffer_add(out, body, n);
    assert_int_equal(bufferevent_socket_connect(c->io->bev, (struct sockaddr *)&to, sizeof(to)), 0);
    return c;
}

/* One short round of the loop. */
static void loop_once(struct kf *f)
{
    struct timeval tv = {.tv_usec = ROUND_US};
    event_base_loopexit(f->base, &tv);
    event_base_loop(f->base, 0);
}

static void wait_for(struct kf *f, struct kf_call *c, bool move_time)
{
    size_t seen = c->io->raw.len;
    int idle = 0;
    for (int i = 0; i < ROUNDS_MAX && !c->done; i++) {
        loop_once(f);
        idle = c->io->raw.len == seen ? idle + 1 : 0;
        seen = c->io->raw.len;
        if (idle >= IDLE_ROUNDS && !move_time) {
            return;
        }
        if (idle >= IDLE_ROUNDS) {
            clock_fake_advance(f->clock, STEP_MS);
            idle = 0;
        }
    }
}

void kf_settle(struct kf *f)
{
    for (int i = 0; i < IDLE_ROUNDS; i++) {
        loop_once(f);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */
static char *without_chunks(struct kf *f, const char *s, const char *end, size_t *ret_n)
{
    struct str_buf b = STR_BUF_INIT;
    while (s < end) {
        char *after = NULL;
        size_t n = strtoul(s, &after, 16);
        if (after == s || n == 0 || after + 2 + n > end) {
            break;
        }
        str_append_n(&b, after + 2, n);
        s = after + 2 + n + 2;
    }
    *ret_n = b.len;
    char *out = arena_memdup(f->a, str_buf_text(&b), b.len + 1);
    str_buf_done(&b);
    return out;
}

static void parse_lines(struct kf *f, struct kf_call *c)
{
    c->lines = json_object_new_array();
    arena_defer(f->a, put_json, c->lines);
    const char *s = c->body;
    while (*s) {
        const char *end = strchr(s, '\n');
        struct json_object *line = NULL;
        if (!end || json_parse(s, (size_t)(end - s), NULL, &line, NULL)) {
            return;
        }
        json_object_array_add(c->lines, line);
        s = end + 1;
    }
}

void kf_look(struct kf *f, struct kf_call *c)
{
    const char *raw = str_buf_text(&c->io->raw);
    const char *split = strstr(raw, "\r\n\r\n");
    if (!split) {
        return;
    }
    c->status = (int)strtol(raw + strlen("HTTP/1.1 "), NULL, 10);
    c->headers = arena_strndup(f->a, raw, (size_t)(split - raw) + 2);
    const char *start = split + 4;
    const char *end = raw + c->io->raw.len;
    if (strstr(c->headers, "Transfer-Encoding: chunked")) {
        c->body = without_chunks(f, start, end, &c->body_len);
    } else {
        c->body_len = (size_t)(end - start);
        c->body = arena_memdup(f->a, start, c->body_len + 1);
    }
    parse_lines(f, c);
}

void kf_wait(struct kf *f, struct kf_call *c)
{
    wait_for(f, c, true);
    assert_true(c->done);
    kf_look(f, c);
    if (c->io->bev) {
        bufferevent_free(c->io->bev);
        c->io->bev = NULL;
    }
    if (json_parse(c->body, c->body_len, NULL, &c->json, NULL) == ERR_OK) {
        arena_defer(f->a, put_json, c->json);
    }
}

struct kf_call *kf_do(struct kf *f, const char *method, const char *target, const char *body)
{
    struct kf_call *c =
        kf_send(f, method, target, body ? "Content-Type: application/json\r\n" : NULL, body);
    kf_wait(f, c);
    return c;
}

struct kf_call *kf_patch(struct kf *f, const char *target, const char *type, const char *body)
{
    struct kf_call *c =
        kf_send(f, "PATCH", target, arena_printf(f->a, "Content-Type: %s\r\n", type), body);
    kf_wait(f, c);
    return c;
}

const char *kf_text(struct kf_call *c, const char *path)
{
    struct json_object *v = json_path(c->json, path);
    return v ? json_object_get_string(v) : "";
}

void kf_expect(struct kf_call *c, int status, const char *what)
{
    if (c->status != status) {
        fail_msg("%s: got %d, want %d: %s", what, c->status, status, c->body);
    }
}

const char *kf_quoted(struct kf *f, const char *json)
{
    char *text = arena_strdup(f->a, json);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    return text;
}

const char *kf_service(struct kf *f, const char *name)
{
    return arena_printf(
        f->a,
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\"},"
        "\"spec\":{\"type\":\"LoadBalancer\",\"selector\":{\"app\":\"%s\"},"
        "\"ports\":[{\"port\":80,\"targetPort\":8080}]}}",
        name, name);
}

const char *kf_line(struct kf *f, struct kf_call *c, size_t i)
{
    struct json_object *line = json_object_array_get_idx(c->lines, i);
    const char *name = json_str(json_path(line, "object.metadata"), "name");
    return arena_printf(f->a, "%s %s", str_nonnull(json_str(line, "type")), str_or(name, "-"));
}
