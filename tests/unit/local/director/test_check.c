/* SPDX-License-Identifier: Apache-2.0 */
/* test_check.c: questions, verdicts and weights in tables, and turns of a director that asks
 * servers on loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/str.h"
#include "providers/local/director/director.h"
#include "providers/local/director/director_internal.h"
#include "tests/support/clock_fake.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/unit.h"

/* ---- verdicts -------------------------------------------------------------------------------- */

struct verdict_row {
    const char *answers;  /* g good, b bad, z bad while frozen */
    const char *verdicts; /* after each: u up, d down */
    bool starts_down;
};

static void verdicts__fall_3_rise_2__by_rows_of_answers(void **state)
{
    static const struct verdict_row rows[] = {
        {"bbb", "uud", false},             /* L01 */
        {"bbbgg", "uuddu", false},         /* L02 */
        {"bbgbbgbbb", "uuuuuuuud", false}, /* a good one between counts again */
        {"bbbgbgg", "uuddddu", false},     /* a bad one between, too */
        {"zzzz", "uuuu", false},           /* L09: frozen */
        {"zzzb", "uuud", false},           /* thawed: the next bad one decides */
        {"zzzg", "uuuu", false},           /* thawed: they are back */
        {"bg", "dd", true},                /* L10: adopted as down */
        {"gg", "du", true},
    };
    const struct local_check_spec spec = {.fall = 3, .rise = 2};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct local_check_verdict v = {.down = rows[i].starts_down};
        char said[16] = "";
        for (size_t k = 0; rows[i].answers[k] != '\0'; k++) {
            bool was = v.down;
            char answer = rows[i].answers[k];
            bool changed = local_check_heard(&v, &spec, answer == 'g', answer == 'z');
            assert_int_equal(changed, was != v.down);
            said[k] = v.down ? 'd' : 'u';
        }
        assert_string_equal(said, rows[i].verdicts);
    }
}

struct weigh_row {
    /* of the policy, one digit each; a letter: 0, and a (1), b (2) when no target of the
     * own zone is left */
    const char *weights;
    const char *down;  /* d: its check fails */
    const char *asked; /* weight that the target asks for; 0: none */
    bool fail_open;
    const char *result;
    size_t n_down;
    bool failed_open;
};

static void weights__by_health(void **state)
{
    static const struct weigh_row rows[] = {
        {"11", "..", "00", true, "11", 0, false},
        {"11", "d.", "00", true, "01", 1, false}, /* L01; L07 with policy Local */
        {"11", "dd", "00", true, "11", 2, true},  /* L03 */
        {"11", "dd", "00", false, "00", 2, false},
        {"21", "..", "03", true, "23", 0, false}, /* L08 */
        {"10", "d.", "05", true, "10", 1, true},  /* who had no weight gets none */
        {"1ab", "...", "000", true, "100", 0, false},
        {"1ab", "d..", "000", true, "012", 1, false}, /* K43 */
        {"1ab", "d..", "000", false, "012", 1, false},
        {"1ab", "dd.", "000", true, "002", 1, false},
        {"11a", "d..", "000", true, "010", 1, false}, /* one of the own zone is well */
        {"1a", "dd", "00", true, "10", 1, true},
        {"1a", "dd", "00", false, "00", 1, false},
        {"1a", "d.", "03", true, "03", 1, false},
        {"", "", "", true, "", 0, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct local_target items[4] = {0};
        struct local_health health[4] = {0};
        struct local_target_set t = {.items = items, .n = strlen(rows[i].weights)};
        char result[8] = "";
        for (size_t k = 0; k < t.n; k++) {
            char w = rows[i].weights[k];
            items[k].weight = w >= 'a' ? 0 : (uint16_t)(w - '0');
            items[k].spare = w >= 'a' ? (uint16_t)(w - 'a' + 1) : 0;
            health[k].down = rows[i].down[k] == 'd';
            health[k].weight = (uint16_t)(rows[i].asked[k] - '0');
        }
        struct local_weighed weighed = local_check_weigh(&t, health, rows[i].fail_open);
        for (size_t k = 0; k < t.n; k++) {
            result[k] = (char)('0' + items[k].weight);
        }
        assert_string_equal(result, rows[i].result);
        assert_int_equal(weighed.n_down, rows[i].n_down);
        assert_int_equal(weighed.failed_open, rows[i].failed_open);
    }
}

static void questions__by_kind(void **state)
{
    static const struct {
        enum local_check kind;
        uint8_t protocol;
        uint16_t port; /* asked for; 0: none */
        const char *key;
    } rows[] = {
        {LOCAL_CHECK_KUBE_PROXY, 17, 0, "4 10.1.0.1 10256 /healthz 2000 1000 3 2"},
        {LOCAL_CHECK_NODE_PORT, 6, 0, "5 10.1.0.1 31000 /healthz 2000 1000 3 2"},
        {LOCAL_CHECK_TCP, 6, 0, "2 10.1.0.1 30080  2000 1000 3 2"},
        {LOCAL_CHECK_TCP, 17, 0, NULL},
        {LOCAL_CHECK_TCP, 17, 81, "2 10.1.0.1 81  2000 1000 3 2"},
        {LOCAL_CHECK_HTTP, 6, 0, "3 10.1.0.1 30080 / 2000 1000 3 2"},
        {LOCAL_CHECK_NONE, 6, 0, NULL},
    };
    const struct tt_service service = {.health_check_node_port = 31000};
    struct local_target target = {.port = 30080};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct local_check_spec spec;

    (void)state;
    assert_true(ip_parse("10.1.0.1", &target.addr));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct local_serve serve = {
            .check = rows[i].kind,
            .health.port = rows[i].port,
            .checks = {.interval_ms = 2000, .timeout_ms = 1000, .fall = 3, .rise = 2}};
        bool asks = local_check_spec_of(&serve, &service, rows[i].protocol, &target, &spec);
        assert_int_equal(asks, rows[i].key != NULL);
        if (asks) {
            assert_string_equal(local_check_key(a, &spec), rows[i].key);
        }
    }
    assert_int_equal(local_check_after_ms(2000, 0), 1800);
    assert_int_equal(local_check_after_ms(2000, 0.5), 2000);
    assert_true(local_check_after_ms(2000, 0.999) <= 2200);
    assert_false(local_check_is_storm(1, 1) || local_check_is_storm(2, 4));
    assert_true(local_check_is_storm(3, 4));
}

static void gateway__of_the_default_route(void **state)
{
    struct ip_addr addr;
    char link[LOCAL_LINK_NAME_MAX];

    (void)state;
    assert_false(local_gateway_read("", &addr, link));
    assert_false(local_gateway_read("Iface\tDestination\tGateway\tFlags\n"
                                    "eth0\t0000000A\t00000000\t0001\n",
                                    &addr, link));
    assert_true(
        local_gateway_read("Iface\tDestination\tGateway\tFlags\n"
                           "br0\t0000000A\t00000000\t0001\neth0\t00000000\t010200C0\t0003\n",
                           &addr, link));
    assert_string_equal(link, "eth0");
    assert_int_equal(addr.len, 4);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* A server on loopback: its port stays its own while it does not listen. */
struct server {
    int fd;
    int peer; /* a connection; -1: none */
    uint16_t port;
    unsigned asked;
};

static void server_open(struct server *s, uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    socklen_t n = sizeof at;

    s->peer = -1;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &n), 0);
    s->port = ntohs(at.sin_port);
}

struct rig {
    struct clock *clock;
    struct rng *rng;
    struct local_director *director;
    struct server server;
    unsigned n_changed;
    unsigned n_good, n_bad;
    bool refuses;
};

static bool changed(void *arg, const char *const *services, size_t n)
{
    struct rig *r = arg;

    assert_int_equal(n, 1);
    assert_string_equal(services[0], "demo/web");
    r->n_changed++;
    return !r->refuses;
}

static void count(void *arg, const char *counter, const char *first, const char *second, unsigned n)
{
    struct rig *r = arg;

    assert_string_equal(counter, "local_checks_total");
    assert_non_null(first);
    *(str_eq(second, "good") ? &r->n_good : &r->n_bad) += n;
}

static void rig_init(struct rig *r)
{
    const struct local_rt_args rt = {.protocol = 116, .table = 116};

    *r = (struct rig){.clock = clock_fake_new(1000, 0), .rng = rng_seeded_new(1)};
    const struct local_director_args args = {.kernel = fake_kernel_new(&rt),
                                             .clock = r->clock,
                                             .rng = r->rng,
                                             .count = count,
                                             .changed = changed,
                                             .arg = r};
    r->director = local_director_new(&args);
    server_open(&r->server, 0);
}

static void rig_done(struct rig *r)
{
    local_director_free(r->director);
    close(r->server.fd);
    if (r->server.peer >= 0) {
        close(r->server.peer);
    }
    rng_free(r->rng);
    clock_fake_free(r->clock);
}

static struct local_check_spec spec_of(const struct rig *r, enum local_check kind)
{
    struct local_check_spec spec = {.kind = kind,
                                    .port = r->server.port,
                                    .interval_ms = 2000,
                                    .timeout_ms = 1000,
                                    .fall = 3,
                                    .rise = 2,
                                    .path = kind == LOCAL_CHECK_TCP ? NULL : "/healthz"};

    assert_true(ip_parse("127.0.0.1", &spec.addr));
    return spec;
}

/* Answers a connection when its request is there. */
static void serve(struct rig *r, const char *answer)
{
    char request[2000];

    if (r->server.peer < 0) {
        r->server.peer = accept4(r->server.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        r->server.asked += r->server.peer >= 0;
    }
    if (r->server.peer < 0 ||
        (answer != NULL && recv(r->server.peer, request, sizeof request, 0) <= 0)) {
        return;
    }
    if (answer != NULL) {
        assert_true(send(r->server.peer, answer, strlen(answer), MSG_NOSIGNAL) > 0);
    }
    close(r->server.peer);
    r->server.peer = -1;
}

static bool is_under_way(const char *key, void *value, void *arg)
{
    const struct director_check *c = value;
    (void)key;
    *(bool *)arg = *(bool *)arg || c->probe != NULL;
    return true;
}

static bool is_asking(struct local_director *d)
{
    bool some = false;
    mutex_lock(&d->lock);
    map_each(d->checks, is_under_way, &some);
    mutex_unlock(&d->lock);
    return some;
}

/* Makes turns until `n` more answers were judged; time continues only when no probe
 * is in progress. */
static void hear(struct rig *r, unsigned n, const char *answer)
{
    unsigned until = r->n_good + r->n_bad + n;
    int64_t next = local_director_turn(r->director);

    while (r->n_good + r->n_bad < until) {
        local_director_wait(r->director, 1);
        serve(r, answer);
        unsigned before = r->n_good + r->n_bad;
        (void)local_director_turn(r->director);
        if (r->n_good + r->n_bad == before && !is_asking(r->director)) {
            next = local_director_turn(r->director);
            int64_t now = clock_now_ms(r->clock);
            clock_fake_advance(r->clock, next > now ? next - now : 1);
        }
    }
}

static bool is_down(struct rig *r, const char *key)
{
    struct local_health health = {0};

    assert_true(local_director_health(r->director, key, &health));
    return health.down;
}

static void turns__tcp__down_and_up(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    struct local_checked item = {.key = "k", .spec = spec_of(&r, LOCAL_CHECK_TCP)};
    local_director_check(r.director, "demo/web", &item, 1);
    hear(&r, 2, NULL); /* no listener yet */
    assert_false(is_down(&r, "k"));
    hear(&r, 1, NULL);
    assert_true(is_down(&r, "k"));
    assert_int_equal(r.n_changed, 1);
    assert_int_equal(listen(r.server.fd, 10), 0);
    hear(&r, 2, NULL);
    assert_false(is_down(&r, "k"));
    assert_int_equal(r.n_changed, 2);
    assert_int_equal(r.n_good, 2);
    rig_done(&r);
}

static void turns__http__status_and_weight(void **state)
{
    static const char good[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                               "x-load-balancing-endpoint-weight: 3\r\n\r\nok";
    static const char bad[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    struct local_health health = {0};
    struct rig r;

    (void)state;
    rig_init(&r);
    assert_int_equal(listen(r.server.fd, 10), 0);
    struct local_checked item = {.key = "k", .spec = spec_of(&r, LOCAL_CHECK_NODE_PORT)};
    local_director_check(r.director, "demo/web", &item, 1);
    hear(&r, 1, good);
    assert_true(local_director_health(r.director, "k", &health));
    assert_int_equal(health.weight, 3);
    assert_int_equal(r.n_changed, 1); /* by its weight alone */
    hear(&r, 3, bad);
    assert_true(is_down(&r, "k"));
    rig_done(&r);
}

static void turns__a_thousand_services__one_question(void **state)
{
    struct rig r;
    char name[32];

    (void)state;
    rig_init(&r);
    assert_int_equal(listen(r.server.fd, 10), 0);
    struct local_checked item = {.key = "k", .spec = spec_of(&r, LOCAL_CHECK_TCP)};
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "demo/%d", i);
        local_director_check(r.director, name, &item, 1);
    }
    hear(&r, 5, NULL);
    assert_true(r.server.asked <= 6); /* L06 */
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "demo/%d", i);
        local_director_check(r.director, name, NULL, 0);
    }
    struct local_health health;
    assert_false(local_director_health(r.director, "k", &health));
    rig_done(&r);
}

static void turns__change_refused__tried_again(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    r.refuses = true;
    struct local_checked item = {.key = "k", .spec = spec_of(&r, LOCAL_CHECK_TCP)};
    local_director_check(r.director, "demo/web", &item, 1);
    hear(&r, 3, NULL);
    assert_int_equal(r.n_changed, 1);
    clock_fake_advance(r.clock, 999);
    (void)local_director_turn(r.director);
    assert_int_equal(r.n_changed, 1);
    clock_fake_advance(r.clock, 1);
    r.refuses = false;
    (void)local_director_turn(r.director);
    assert_int_equal(r.n_changed, 2);
    clock_fake_advance(r.clock, 5000);
    (void)local_director_turn(r.director);
    assert_int_equal(r.n_changed, 2);
    rig_done(&r);
}

static bool was_woken(struct local_director *d)
{
    char bytes[64];
    bool woken = false;

    while (read(d->wake[0], bytes, sizeof bytes) > 0) {
        woken = true;
    }
    return woken;
}

static void check__only_a_new_one_wakes_the_thread(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    struct local_checked items[] = {{.key = "k", .spec = spec_of(&r, LOCAL_CHECK_TCP)},
                                    {.key = "other", .spec = spec_of(&r, LOCAL_CHECK_TCP)}};
    local_director_check(r.director, "demo/web", items, 1);
    assert_true(was_woken(r.director));
    local_director_check(r.director, "demo/web", items, 1);
    local_director_check(r.director, "demo/shop", items, 1);
    assert_false(was_woken(r.director));
    local_director_check(r.director, "demo/shop", items, 2);
    assert_true(was_woken(r.director));
    local_director_check(r.director, "demo/shop", NULL, 0);
    assert_false(was_woken(r.director));
    rig_done(&r);
}

UNIT_MAIN(check)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts__fall_3_rise_2__by_rows_of_answers),
        cmocka_unit_test(weights__by_health),
        cmocka_unit_test(questions__by_kind),
        cmocka_unit_test(gateway__of_the_default_route),
        cmocka_unit_test(turns__tcp__down_and_up),
        cmocka_unit_test(turns__http__status_and_weight),
        cmocka_unit_test(turns__a_thousand_services__one_question),
        cmocka_unit_test(turns__change_refused__tried_again),
        cmocka_unit_test(check__only_a_new_one_wakes_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
