/* SPDX-License-Identifier: Apache-2.0 */
/* test_exposed.c: which endpoints of a cloud are asked without TLS over a network. */
#include "tests/unit/lb/lb_test.h"

#include "common/lb/exposed.h"
#include "tests/support/unit.h"

static void exposed__urls__warned_of_unless_near_or_https(void **state)
{
    (void)state;
    static const struct {
        const char *url, *origin; /* NULL: no warning */
    } rows[] = {
        {NULL, NULL},
        {"", NULL},
        {"nil", NULL},
        {"https://10.0.0.1/", NULL},
        {"https://example.com", NULL},
        {"http://127.0.0.1:8080/v1", NULL},
        {"http://127.1.2.3", NULL},
        {"http://[::1]:80", NULL},
        {"http://localhost:1", NULL},
        {"http://LOCALHOST", NULL},
        {"http://sim.localhost", NULL},
        {"http://169.254.169.254", NULL},
        {"http://[fd00:ec2::254]", NULL},
        {"http://[fe80::1]", NULL},
        {"http://metadata.google.internal", NULL},
        {"http://10.0.0.1:8080/v1", "http://10.0.0.1:8080"},
        {" http://Example.com/x ", "http://example.com"},
        {"HTTP://[2001:db8::1]/", "http://[2001:db8::1]"},
        {"http://127.0.0.1.example.com", "http://127.0.0.1.example.com"},
        {"http://localhost.example.com", "http://localhost.example.com"},
        {"http://user:secret@example.com", "http://example.com"},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# row %zu\n", i);
        const char *text = exposed_text(a, "api-endpoint", rows[i].url);
        if (rows[i].origin == NULL) {
            assert_null(text);
        } else {
            assert_string_equal(text, arena_printf(a,
                                                   "api-endpoint is %s: the controller's "
                                                   "credentials and the cloud's answers cross the "
                                                   "network unprotected; use https://",
                                                   rows[i].origin));
        }
    }
    arena_free(a);
}

UNIT_MAIN(exposed)
{
    const struct CMUnitTest tests[] = {
        lb_test(exposed__urls__warned_of_unless_near_or_https),
    };
    return cmocka_run_group_tests_name("exposed", tests, NULL, NULL);
}
