/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared_ip_rules.c: whose a rule at an address is (gce_shared_ip_rules.h). */
#include "common/base/str.h"
#include "providers/gce/model/gce_shared_ip_rules.h"
#include "tests/support/objects.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The rule's name holds the uid of the Service that it was made for; its description only the
 * Service's name. */
static void check_rules__of_the_same_name__are_own_by_their_uid(void **state)
{
    static const struct {
        const char *name, *description;
        int code;
    } rows[] = {
        {"a1111111122223333444455555555555", "demo/web", ERR_OK},
        {"a1111111122223333444455555555555-ipv6", "demo/web", ERR_OK},
        {"a0123456789abcdef0123456789abcde", "demo/web", ERR_IN_USE},
        {"a0123456789abcdef0123456789abcde-ipv6", "demo/web", ERR_IN_USE},
        {"k8s2-tcp-3wd8vhl9-demo-web-of6tw0tr", "demo/web", ERR_OK},
        {"a1111111122223333444455555555555", "demo/other", ERR_IN_USE},
    };
    struct arena *a = arena_new();
    (void)state;
    const struct tt_service *svc = test_service_text(
        a, "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\",\"uid\":"
           "\"11111111-2222-3333-4444-555555555555\"},\"spec\":{\"type\":\"LoadBalancer\"}}");
    const struct gce_rule want = {.protocol = "TCP", .port_range = "80-80"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        const struct gce_rule found = {
            .name = rows[i].name,
            .description =
                arena_printf(a, "{\"kubernetes.io/service-name\":\"%s\"}", rows[i].description),
            .protocol = "TCP",
            .port_range = "80-90"};
        const struct gce_rule *const rules[] = {&found};
        const struct gce_ip_uses uses = {
            .ip = "203.0.113.1", .reserved = true, .rules = rules, .n_rules = 1};
        int rc = gce_ip_check_rules(a, &uses, svc, false, &want, 1, &err);
        if (rc != rows[i].code) {
            fail_msg("%s of %s: %d, want %d", rows[i].name, rows[i].description, rc, rows[i].code);
        }
    }
    arena_free(a);
}

UNIT_MAIN(shared_ip_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_rules__of_the_same_name__are_own_by_their_uid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
