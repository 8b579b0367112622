/* SPDX-License-Identifier: Apache-2.0 */
/* test_conn_sync.c: connSync: which daemons of IPVS run after a start, whatever ran before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "providers/local/provider.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/unit.h"

static const struct row {
    const char *interface;              /* NULL: no connSync */
    struct local_ipvs_daemon before[2]; /* id 0: none */
    bool planning;
    const char *want; /* what runs, or what the start says */
} rows[] = {
    {"eth0", {{0}}, false, "master eth0 7, backup eth0 7, "},
    {"eth0", {{false, "eth0", 7}, {true, "eth0", 7}}, false, "master eth0 7, backup eth0 7, "},
    {"eth0", {{false, "lo", 7}, {true, "lo", 7}}, false, "master eth0 7, backup eth0 7, "},
    {"eth0",
     {{false, "lo", 7}, {true, "eth0", 9}},
     false,
     "ipvs sync daemon runs with syncid 9 (backup, eth0): left alone; connSync has no backup "
     "(ipvsadm --stop-daemon backup, if no program needs it); master eth0 7, backup eth0 9, "},
    {"eth0",
     {{false, "lo", 3}},
     false,
     "ipvs sync daemon runs with syncid 3 (master, lo): left alone; connSync has no master "
     "(ipvsadm --stop-daemon master, if no program needs it); master lo 3, backup eth0 7, "},
    {"eth1", {{0}}, false, "connSync: there is no interface eth1"},
    {"eth0", {{false, "lo", 3}}, true, "master lo 3, "},
    {NULL, {{false, "lo", 3}}, false, "master lo 3, "},
};

static void log_line(struct tt_host_ctx *ctx, uint32_t severity, int32_t v, const char *message,
                     const struct tt_kv *values, uint32_t n_values)
{
    (void)severity;
    (void)v;
    (void)values;
    (void)n_values;
    str_appendf((struct str_buf *)ctx, "%s; ", message);
}

static void say_daemons(struct local_kernel *k, struct str_buf *b)
{
    struct local_ipvs_daemon all[LOCAL_IPVS_DAEMONS];
    size_t n = 0;

    assert_int_equal(k->ops->ipvs_daemons(k, all, &n, NULL), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        str_appendf(b, "%s %s %u, ", all[i].backup ? "backup" : "master", all[i].interface,
                    (unsigned)all[i].id);
    }
}

static void conn_sync__start__both_daemons_as_configured(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        const struct local_rt_args rt = {.protocol = 116, .table = 116};
        const struct local_config c = {.director = {.sync_interface = r->interface, .sync_id = 7}};
        const struct tt_host host = {.ctx = (struct tt_host_ctx *)&b, .log = log_line};
        struct local_provider p = {
            .config = &c, .host = &host, .kernel = fake_kernel_new(&rt), .planning = r->planning};
        struct err err = ERR_INIT;
        for (size_t k = 0; k < 2; k++) {
            if (r->before[k].id != 0) {
                assert_int_equal(
                    p.kernel->ops->ipvs_daemon_change(p.kernel, false, &r->before[k], NULL),
                    ERR_OK);
            }
        }
        if (local_conn_sync_start(&p, &err) == ERR_OK) {
            say_daemons(p.kernel, &b);
        } else {
            str_append(&b, err.message);
        }
        assert_string_equal(str_buf_text(&b), r->want);
        p.kernel->ops->free(p.kernel);
    }
}

static void conn_sync__no_ipvs__says_so(void **state)
{
    const struct local_rt_args rt = {.protocol = 116, .table = 116};
    const struct local_config c = {.director = {.sync_interface = "eth0"}};
    struct local_provider p = {.config = &c, .kernel = fake_kernel_new(&rt)};
    struct err err = ERR_INIT;

    (void)state;
    fake_kernel_no_ipvs(p.kernel, ERR_INVALID);
    assert_int_equal(local_conn_sync_start(&p, &err), ERR_INVALID);
    assert_string_equal(err.message, "connSync: " LOCAL_IPVS_NONE);
    p.kernel->ops->free(p.kernel);
}

UNIT_MAIN(conn_sync)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conn_sync__start__both_daemons_as_configured),
        cmocka_unit_test(conn_sync__no_ipvs__says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
