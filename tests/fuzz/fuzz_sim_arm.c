/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sim_arm.c: requests to the simulated Azure Resource Manager: their paths, parameters,
 * headers and bodies.
 *
 * An input is a list of requests, each ended by a NUL: a letter for the method (W writes: PUT), the
 * path behind ".../resourceGroups/rg/providers/Microsoft." (or a whole one, when it begins with
 * '/'), and after a line break the body.  '=' and a JSON object are settings.  They are sent one
 * after the other to a fresh simulator, over loopback.  For every input: each request is answered,
 * by JSON or by an empty body, with a status from 200 to 499, or 501 for an operation that is not
 * simulated; a written document can be read, and is the same when it is written back; the state
 * that results can be loaded again and is the same. */
#include "common/data/json.h"
#include "sim/sim.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/clock_fake.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define REQUESTS_MAX 8
#define GROUP                                                                                      \
    "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/rg/providers/Microsoft."

struct talk {
    struct arena *a; /* of this input */
    struct event_base *base;
    struct sim *sim;
    struct bufferevent *client;
    const char *token;
    bool gone;
    int status;
    const char *text; /* the last answer's body */
};

/* --- the client ------------------------------------------------------------------------------- */

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct talk *t = arg;
    (void)bev;
    t->gone = t->gone || (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0;
}

static void hang_up(struct talk *t)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0}; /* leaves no port waiting */
    if (t->client) {
        (void)setsockopt(bufferevent_getfd(t->client), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        bufferevent_free(t->client);
    }
    t->client = NULL;
}

static void call_up(struct talk *t)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(sim_port(t->sim)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    t->client = bufferevent_socket_new(t->base, -1, BEV_OPT_CLOSE_ON_FREE);
    t->gone = false;
    bufferevent_setcb(t->client, NULL, NULL, on_event, t);
    bufferevent_enable(t->client, EV_READ | EV_WRITE);
    FUZZ_CHECK(bufferevent_socket_connect(t->client, (struct sockaddr *)&to, sizeof(to)) == 0);
}

/* The whole answer is there: takes it out of the buffer. */
static bool take_answer(struct talk *t)
{
    struct evbuffer *in = bufferevent_get_input(t->client);
    size_t n = evbuffer_get_length(in);
    char *all = arena_alloc(t->a, n + 1);
    (void)evbuffer_copyout(in, all, n);
    all[n] = '\0';
    const char *body = strstr(all, "\r\n\r\n"), *length = strcasestr(all, "\r\nContent-Length: ");
    size_t want = length && body && length < body ? strtoul(length + 18, NULL, 10) : 0;
    if (!body || (size_t)(all + n - body - 4) < want) {
        return false;
    }
    t->status = n > 12 ? (int)strtol(all + 9, NULL, 10) : 0; /* "HTTP/1.1 200 OK" */
    t->text = body + 4;
    evbuffer_drain(in, n);
    return true;
}

static void send_request(struct talk *t, const char *method, const char *path, const char *body,
                         size_t len)
{
    if (!t->client || t->gone) {
        hang_up(t);
        call_up(t);
    }
    struct evbuffer *out = bufferevent_get_output(t->client);
    evbuffer_add_printf(out,
                        "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                        method, path, t->token, len);
    evbuffer_add(out, body, len);
    t->status = 0;
    while (!take_answer(t) && !t->gone) {
        FUZZ_CHECK(event_base_loop(t->base, EVLOOP_ONCE) == 0);
    }
}

/* --- what must hold --------------------------------------------------------------------------- */

static void check_answer(struct talk *t)
{
    struct json_object *o = NULL;
    FUZZ_CHECK(t->status == 0 || (t->status >= 200 && t->status < 500) || t->status == 501);
    FUZZ_CHECK(!*t->text ||
               json_parse_arena(t->a, t->text, strlen(t->text), NULL, &o, NULL) == ERR_OK);
}

/* An accepted document can be read, and writing it back changes nothing. */
static void check_written(struct talk *t, const char *path)
{
    const char *written = t->text;
    send_request(t, "GET", path, "", 0);
    FUZZ_CHECK(t->status == 200);
    const char *read = t->text;
    if (strstr(written, "\"Updating\"") || strstr(read, "\"Updating\"")) {
        return; /* it is being written */
    }
    send_request(t, "PUT", path, read, strlen(read));
    FUZZ_CHECK(t->status == 200);
    FUZZ_CHECK(str_eq(t->text, read));
}

static void check_state(struct talk *t)
{
    struct json_object *world = sim_dump(t->sim);
    const char *first = json_text(t->a, world, JSON_SORTED);
    FUZZ_CHECK(sim_load(t->sim, world, NULL) == ERR_OK);
    json_object_put(world);
    world = sim_dump(t->sim);
    const char *again = json_text(t->a, world, JSON_SORTED);
    json_object_put(world);
    FUZZ_CHECK(str_eq(first, again));
}

/* --- one input -------------------------------------------------------------------------------- */

/* NULL: another letter. */
static const char *method_of(char c)
{
    static const struct {
        char letter;
        const char *method;
    } methods[] = {{'G', "GET"},    {'W', "PUT"},  {'P', "PATCH"},
                   {'D', "DELETE"}, {'O', "POST"}, {'H', "OPTIONS"}};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (methods[i].letter == c) {
            return methods[i].method;
        }
    }
    return NULL;
}

static void run_one(struct talk *t, char *text, size_t n)
{
    if (n > 0 && text[0] == '=') {
        send_request(t, "PUT", "/sim/settings/azure", text + 1, n - 1);
        return;
    }
    char *end = memchr(text, '\n', n);
    size_t head = end ? (size_t)(end - text) : n;
    if (head < 2) {
        return;
    }
    char *path = arena_strndup(t->a, text + 1, head - 1);
    for (char *c = path; *c; c++) {
        *c = *c <= ' ' || *c == 0x7f ? '-' : *c; /* the server's own grammar has its own tests */
    }
    path = path[0] == '/' ? path : arena_printf(t->a, GROUP "%s", path);
    const char *method = method_of(text[0]);
    bool azure = strncasecmp(path, "/subscriptions/", strlen("/subscriptions/")) == 0;
    if (!method || !(azure || str_has_prefix(path, "/metadata/") || strstr(path, "/oauth2/"))) {
        return; /* other APIs have targets of their own */
    }
    send_request(t, method, path, end ? end + 1 : "", end ? n - head - 1 : 0);
    check_answer(t);
    if (azure && text[0] == 'W' && (t->status == 200 || t->status == 201)) {
        check_written(t, path);
    }
}

FUZZ_TARGET(sim_arm, const uint8_t *data, size_t size)
{
    struct clock *clock = clock_fake_new(1000, 1795287600000000);
    struct sim_config cfg = {.clock = clock, .cloud = "azure", .nodes = 1};
    struct talk t = {.a = arena_new(), .base = event_base_new(), .text = ""};
    char *text = arena_alloc(t.a, size + 1);
    FUZZ_CHECK(sim_new(t.base, &cfg, &t.sim, NULL) == ERR_OK);
    t.token = sim_arm_new_token(sim_module_state(t.sim, "azure"), t.a, 3600);
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0, k = 0; i < size && k < REQUESTS_MAX; k++) {
        size_t n = strlen(text + i);
        run_one(&t, text + i, n);
        i += n + 1;
    }
    hang_up(&t);
    check_state(&t);
    sim_free(t.sim);
    event_base_free(t.base);
    clock_fake_free(clock);
    arena_free(t.a);
    return 0;
}
