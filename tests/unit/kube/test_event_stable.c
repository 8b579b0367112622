/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_stable.c: two tries of one failure have one text; a text that says something else
 * keeps all its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/arena.h"
#include "common/base/str.h"
#include "controller/kube/events/event_stable.h"
#include "tests/support/unit.h"

#define ID_A "8bd7f0a4-0c1d-4e2f-8a3b-1234567890ab"
#define ID_B "0e5d2c77-91aa-4b0c-b7de-ba0987654321"

/* Errors as the clouds write them. */
static void stable__parts_that_differ_between_tries__gone(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        /* AWS */
        {"CreateTags: Denied: no (request 1a-2b)", "CreateTags: Denied: no"},
        {"a (request 1a-2b): b", "a: b"},
        {"not authorized. Encoded authorization failure message: xX-_9 (request 7)",
         "not authorized."},
        {"(Service: AmazonEC2; Status Code: 403; Request ID: " ID_A "; Proxy: null)",
         "(Service: AmazonEC2; Status Code: 403; Proxy: null)"},
        {"no such host (RequestId: " ID_A ")", "no such host"},
        {"Signature expired: 20261128T170001Z is now earlier than 20261128T170501Z "
         "(20261128T171001Z - 5 min.)",
         "Signature expired: … is now earlier than … (… - 5 min.)"},
        {"Token expired: current date/time 1795885201 must be before the expiration date/time "
         "1795885000",
         "Token expired: current date/time … must be before the expiration date/time …"},
        /* Azure */
        {"AADSTS7: bad Trace ID: 1-2 Correlation ID: 3-4 Timestamp: 2026-11-28 17:00:00Z",
         "AADSTS7: bad"},
        {"Operation PutLoadBalancerOperation (" ID_A ") was canceled and superseded by operation "
         "PutVirtualNetworkOperation (" ID_B ")",
         "Operation PutLoadBalancerOperation was canceled and superseded by operation "
         "PutVirtualNetworkOperation"},
        {"use uri: https://management.azure.com/subscriptions/s/locations/eastus/operations/" ID_A
         "?api-version=2024-05-01",
         "use uri: https://management.azure.com/subscriptions/s/locations/eastus/operations/…"
         "?api-version=2024-05-01"},
        {"Diagnostic information: timestamp '20261128T170001Z', subscription id '" ID_B
         "', tracking id '" ID_A "', request correlation id '" ID_A "'",
         "Diagnostic information: subscription id '" ID_B "'"},
        {"Please try again after '13' seconds", "Please try again after '…' seconds"},
        {"can be retried in 13 seconds", "can be retried in … seconds"},
        {"expiry UTC time '4/17/2026 10:31:45 PM' is earlier than UTC time '4/17/2026 9:02:00 AM'",
         "expiry UTC time '…' is earlier than UTC time '…'"},
        {"Current time: 2026-11-28T17:00:01.1234567Z, valid from 2026-11-28T17:00:01+00:00",
         "Current time: …, valid from …"},
        {"{\"error\":\"x\",\"trace_id\":\"" ID_A "\",\"timestamp\":\"2026-11-28 17:00:01Z\"}",
         "{\"error\":\"x\"}"},
        {"{\"allowedRequestCount\":800,\"measuredRequestCount\":1238}",
         "{\"allowedRequestCount\":800}"},
        {"denied; x-ms-request-id: " ID_A ", and more", "denied, and more"},
        /* Google */
        {"INTERNAL_ERROR - Internal error. Please try again. (Code: '-7385829367295163')",
         "INTERNAL_ERROR - Internal error. Please try again."},
        {"'projects/p/global/operations/operation-1713392345001-616-9a-1' is not ready",
         "'projects/p/global/operations/…' is not ready"},
        {"waiting for operation-1713392345001-616-9a-1: it failed",
         "waiting for operation-…: it failed"},
        {"ID Token issued at 1795885201 is stale", "ID Token issued at … is stale"},
        /* the transport */
        {"answer of https://a was cut after 512 bytes",
         "answer of https://a was cut after … bytes"},
    };
    struct arena *a _cleanup_(arena_freep) = arena_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(event_stable(a, rows[i].text), rows[i].want);
    }
}

static void stable__identities_and_figures__stay(void **state)
{
    static const char *const texts[] = {
        "",
        "quota is used up",
        "the request is too long (request",
        "the request id is missing",
        "The client '" ID_A "' with object id '" ID_B "' does not have authorization",
        "/subscriptions/" ID_A "/resourceGroups/rg/providers/Microsoft.Network",
        "Quota exceeded for consumer 'project_number:1795885201'",
        "resource sg-0123456789abcdef0 has a dependent object",
        "no connection within 30 s; not done after 20 min",
        "the operation-mode is 1; operations/list is denied",
        "10.0.0.1/32 and 2001:db8::1 (port 80)",
        "kept until 2026-11-28",
        "(Code: unknown",
        "Timestamp:",
        "Request ID: ",
        "'",
    };
    struct arena *a _cleanup_(arena_freep) = arena_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_ptr_equal(event_stable(a, texts[i]), texts[i]);
    }
}

UNIT_MAIN(event_stable)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stable__parts_that_differ_between_tries__gone),
        cmocka_unit_test(stable__identities_and_figures__stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
