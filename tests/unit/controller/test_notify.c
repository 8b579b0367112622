/* SPDX-License-Identifier: Apache-2.0 */
/* test_notify.c: messages to the service manager, read from a socket of our own, with a clock that
 * only the test moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/str.h"
#include "controller/sync/notify.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define PERIOD_MS 30000 /* half of what WATCHDOG_USEC allows */

struct manager {
    int fd;
    char folder[64];
    char path[96]; /* of its socket */
    struct clock *clock;
    bool alive; /* what notify_args.alive answers */
    unsigned looks;
};

static int set_up(void **state)
{
    static struct manager m;
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    m = (struct manager){.clock = clock_fake_new(1000, 0), .alive = true};
    (void)snprintf(m.folder, sizeof(m.folder), "%s", "/tmp/trimtab-notify-XXXXXX");
    assert_non_null(mkdtemp(m.folder));
    (void)snprintf(m.path, sizeof(m.path), "%s/socket", m.folder);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", m.path);
    m.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(m.fd >= 0);
    assert_int_equal(bind(m.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    *state = &m;
    return 0;
}

static int tear_down(void **state)
{
    struct manager *m = *state;

    close(m->fd);
    (void)unlink(m->path);
    (void)rmdir(m->folder);
    clock_fake_free(m->clock);
    return 0;
}

static bool alive(void *arg, char *why, size_t n)
{
    struct manager *m = arg;

    m->looks++;
    if (!m->alive) {
        (void)snprintf(why, n, "a sync hangs");
    }
    return m->alive;
}

static struct notify_args args_of(struct manager *m)
{
    return (struct notify_args){.socket = m->path,
                                .watchdog_usec = "60000000",
                                .clock = m->clock,
                                .alive = alive,
                                .arg = m};
}

/* The next message is `want`; NULL if there is none. */
static void expect(struct manager *m, const char *want)
{
    char got[1024] = "";
    ssize_t n = recv(m->fd, got, sizeof(got) - 1, 0);

    if (want == NULL) {
        assert_string_equal(got, "");
        assert_true(n < 0);
        return;
    }
    assert_string_equal(got, want);
}

static void messages__reach_the_socket_one_by_one(void **state)
{
    struct manager *m = *state;
    const struct notify_args args = args_of(m);
    struct notify *n = notify_new(&args);

    assert_true(notify_send(n, "READY=1"));
    assert_true(notify_send(n, "STOPPING=1"));
    expect(m, "READY=1");
    expect(m, "STOPPING=1");
    expect(m, NULL);
    notify_free(n);
}

static void abstract_socket__is_reached(void **state)
{
    struct manager *m = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    int n = snprintf(name, sizeof(name), "@trimtab-test-%d", (int)getpid());
    struct notify_args args = args_of(m);

    memcpy(address.sun_path + 1, name + 1, (size_t)n - 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)),
                     0);
    close(m->fd);
    m->fd = fd;
    args.socket = name;
    struct notify *notify = notify_new(&args);
    assert_true(notify_send(notify, "READY=1"));
    expect(m, "READY=1");
    notify_free(notify);
}

static void pulse__feeds_the_watchdog_at_half_of_its_time(void **state)
{
    struct manager *m = *state;
    const struct notify_args args = args_of(m);
    struct notify *n = notify_new(&args);

    assert_int_equal(notify_pulse(n), PERIOD_MS);
    expect(m, "WATCHDOG=1");
    clock_fake_advance(m->clock, PERIOD_MS - 1);
    assert_int_equal(notify_pulse(n), 1); /* woken early: nothing is said, nothing is asked */
    expect(m, NULL);
    assert_int_equal(m->looks, 1);
    clock_fake_advance(m->clock, 1);
    assert_int_equal(notify_pulse(n), PERIOD_MS);
    expect(m, "WATCHDOG=1");
    expect(m, NULL);
    notify_free(n);
}

static void pulse__what_hangs_is_not_vouched_for(void **state)
{
    struct manager *m = *state;
    const struct notify_args args = args_of(m);
    struct notify *n = notify_new(&args);
    int64_t waited_ms = 0;

    m->alive = false;
    while (waited_ms < 2 * PERIOD_MS) { /* the whole time of the manager */
        int64_t wait_ms = notify_pulse(n);
        assert_in_range(wait_ms, 1, PERIOD_MS / 2);
        expect(m, "STATUS=not alive: a sync hangs");
        expect(m, NULL);
        clock_fake_advance(m->clock, wait_ms);
        waited_ms += wait_ms;
    }
    m->alive = true;
    assert_int_equal(notify_pulse(n), PERIOD_MS);
    expect(m, "STATUS=");
    expect(m, "WATCHDOG=1");
    notify_free(n);
}

static void manager_that_is_gone__is_tried_again_soon(void **state)
{
    struct manager *m = *state;
    const struct notify_args args = args_of(m);
    struct notify *n = notify_new(&args);

    assert_int_equal(unlink(m->path), 0);
    assert_false(notify_send(n, "READY=1"));
    assert_in_range(notify_pulse(n), 1, PERIOD_MS / 2);
    notify_free(n);
}

static void watchdog__is_off_unless_it_is_for_this_process(void **state)
{
    struct manager *m = *state;
    char own[32];
    (void)snprintf(own, sizeof(own), "%d", (int)getpid());
    const struct {
        const char *usec;
        const char *pid;
        int64_t wait_ms;
    } rows[] = {
        {"60000000", own, PERIOD_MS},
        {"60000000", "", PERIOD_MS},
        {"60000000", "1", CLOCK_NEVER},
        {"60000000", "x", CLOCK_NEVER},
        {NULL, NULL, CLOCK_NEVER},
        {"", NULL, CLOCK_NEVER},
        {"0", NULL, CLOCK_NEVER},
        {"-5", NULL, CLOCK_NEVER},
        {"60s", NULL, CLOCK_NEVER},
        {"99999999999999999999", NULL, CLOCK_NEVER},
        {"1", NULL, 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct notify_args args = args_of(m);
        args.watchdog_usec = rows[i].usec;
        args.watchdog_pid = rows[i].pid;
        struct notify *n = notify_new(&args);
        assert_int_equal(notify_pulse(n), rows[i].wait_ms);
        expect(m, rows[i].wait_ms == CLOCK_NEVER ? NULL : "WATCHDOG=1");
        notify_free(n);
    }
}

static void no_manager__nothing_is_sent(void **state)
{
    struct manager *m = *state;
    char far[200];
    memset(far, 'x', sizeof(far) - 1);
    far[0] = '/';
    far[sizeof(far) - 1] = '\0';
    const char *const sockets[] = {NULL, "", "vsock:2:1234", "relative", far};

    for (size_t i = 0; i < ARRAY_LEN(sockets); i++) {
        struct notify_args args = args_of(m);
        args.socket = sockets[i];
        struct notify *n = notify_new(&args);
        assert_null(n);
        assert_false(notify_send(n, "READY=1"));
        assert_int_equal(notify_pulse(n), CLOCK_NEVER);
        notify_free(n);
    }
    assert_int_equal(m->looks, 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

UNIT_MAIN(notify)
{
    const struct CMUnitTest tests[] = {
        TEST(messages__reach_the_socket_one_by_one),
        TEST(abstract_socket__is_reached),
        TEST(pulse__feeds_the_watchdog_at_half_of_its_time),
        TEST(pulse__what_hangs_is_not_vouched_for),
        TEST(manager_that_is_gone__is_tried_again_soon),
        TEST(watchdog__is_off_unless_it_is_for_this_process),
        TEST(no_manager__nothing_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
