/* SPDX-License-Identifier: Apache-2.0 */
/* test_errors.c: what answers of Azure mean: statuses, its own codes, and what only stands in a
 * message (docs/spec/azure.md 3.8). */
#include "providers/azure/model/azure_errors.h"
#include "tests/support/unit.h"
#include "tests/unit/azure/azure_test.h"

#include <stdio.h>

#define ERROR(code, message) "{\"error\":{\"code\":\"" code "\",\"message\":\"" message "\"}}"

static void answer__3_8__code_and_reason(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *want, *reason;
    } rows[] = {
        {400, "", "transient", ""},
        {400, "<html>", "transient", ""},
        {400, "{\"error\":\"text\"}", "transient", ""},
        {400, "{\"error\":{}}", "transient", ""},
        {400, "{\"error\":{\"code\":7,\"message\":{},\"details\":[null]}}", "transient", ""},
        {401, "", "auth", ""},
        {403, ERROR("AuthorizationFailed", "m"), "forbidden", "AuthorizationFailed"},
        {404, ERROR("ResourceNotFound", "m"), "not-found", "ResourceNotFound"},
        {408, "", "transient", ""},
        {409, ERROR("AnotherOperationInProgress", "m"), "transient", "AnotherOperationInProgress"},
        {412, "", "conflict", ""},
        {412, ERROR("PreconditionFailed", "m"), "conflict", "PreconditionFailed"},
        {422, "", "transient", ""},
        {418, "", "transient", ""},
        {429, ERROR("TooManyRequests", "m"), "throttled", "TooManyRequests"},
        {429, ERROR("RetryableErrorDueToAnotherOperation", "m"), "transient",
         "RetryableErrorDueToAnotherOperation"},
        {500, "", "transient", ""},
        {503, "", "transient", ""},
        {400, ERROR("ReferencedResourceNotProvisioned", "m"), "transient",
         "ReferencedResourceNotProvisioned"},
        {400, ERROR("PublicIPAddressCannotBeDeleted", "m"), "in-use",
         "PublicIPAddressCannotBeDeleted"},
        {400, ERROR("LoadBalancerInUseByVirtualMachineScaleSet", "m"), "in-use",
         "LoadBalancerInUseByVirtualMachineScaleSet"},
        {400, ERROR("InUseSubnetCannotBeDeleted", "m"), "in-use", "InUseSubnetCannotBeDeleted"},
        {400, ERROR("InvalidRequestFormat", "m"), "invalid", "InvalidRequestFormat"},
        {400, ERROR("DomainNameLabelReserved", "m"), "invalid", "DomainNameLabelReserved"},
        {400, ERROR("InvalidResourceReference", "m"), "transient", "InvalidResourceReference"},
        {400, ERROR("SomethingNew", "m"), "transient", "SomethingNew"},
        {401, ERROR("InvalidAuthenticationToken", "m"), "auth", "InvalidAuthenticationToken"},
        {409, ERROR("PublicIPCountLimitReached", "m"), "quota", "PublicIPCountLimitReached"},
        {409, ERROR("OperationNotAllowed", "m"), "quota", "OperationNotAllowed"},
        {409, ERROR("Conflict", "CanceledAndSupersededDueToAnotherOperation"), "conflict",
         "Conflict"},
        {429, ERROR("Canceled", "operation was CANCELEDANDSUPERSEDEDDUETOANOTHEROPERATION"),
         "conflict", "Canceled"},
        {400,
         "{\"error\":{\"code\":\"BadRequest\",\"message\":\"m\",\"details\":[{\"code\":"
         "\"QuotaExceeded\",\"message\":\"d\"}]}}",
         "quota", "BadRequest"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        int code = azure_error_of_answer(rows[i].status, rows[i].body, strlen(rows[i].body), &err);
        char row[200];
        (void)snprintf(row, sizeof(row), "%d %.150s", rows[i].status, rows[i].body);
        same_text(row, err_code_name(code), rows[i].want);
        same_text(row, err.reason, rows[i].reason);
        assert_int_equal(err.code, code);
        assert_int_equal(err.http_status, rows[i].status);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(azure_error_of_answer(404, "", 0, NULL), ERR_NOT_FOUND);
}

static void answer__message__quotes_Azure(void **state)
{
    (void)state;
    static const struct {
        const char *body, *want;
    } rows[] = {
        {ERROR("A", "b c"), "A: b c"},
        {ERROR("A", ""), "A"},
        {"{\"error\":{\"message\":\"b\"}}", "error: b"},
        {"{\"error\":{\"code\":\"A\",\"message\":\"b\",\"details\":[{\"message\":\"d\"}]}}",
         "A: b; d"},
        {"{\"error\":{\"code\":\"A\",\"message\":\"b\",\"details\":[{\"message\":\"b\"}]}}",
         "A: b"},
        {"nothing", "HTTP status 400"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        (void)azure_error_of_answer(400, rows[i].body, strlen(rows[i].body), &err);
        same_text(rows[i].body, err.message, rows[i].want);
    }
}

/* "can be retried in 13 seconds" stands inside a message; an hour is the most that is believed. */
static void answer__wait_in_the_message(void **state)
{
    (void)state;
    static const struct {
        const char *message;
        int64_t want_ms;
    } rows[] = {
        {"can be retried in 13 seconds", 13000},
        {"can be retried in soon", 0},
        {"can be retried in ", 0},
        {"nothing", 0},
        {"can be retried in 3600 seconds", 3600000},
        {"can be retried in 99999999999999999999 seconds", 3600000},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[200];
        struct err err = ERR_INIT;
        int n = snprintf(body, sizeof(body), ERROR("A", "%s"), rows[i].message);
        (void)azure_error_of_answer(429, body, (size_t)n, &err);
        if (err.retry_after_ms != rows[i].want_ms) {
            fail_msg("%s: got %lld", rows[i].message, (long long)err.retry_after_ms);
        }
    }
}

static void operation__without_an_error__names_its_status(void **state)
{
    struct arena *a = *state;
    struct err err = ERR_INIT;
    assert_int_equal(azure_error_of_operation(NULL, "Canceled", &err), ERR_TRANSIENT);
    same_text("message", err.message, "the operation ended Canceled");
    assert_int_equal(azure_error_of_operation(pure_json(a, "{\"code\":\"InUse\"}"), "Failed", NULL),
                     ERR_IN_USE);
}

#define SETS                                                                                       \
    "/subscriptions/s/resourceGroups/RG/providers/Microsoft.Compute/virtualMachineScaleSets/"

static void clinging__3_8__which_set_holds_the_balancer(void **state)
{
    static const struct {
        const char *message, *want;
    } rows[] = {
        {"load balancer lb: LoadBalancerInUseByVirtualMachineScaleSet: it is used by " SETS "vmss.",
         SETS "vmss"},
        {"LoadBalancerInUseByVirtualMachineScaleSet: used by (\"" SETS "a.b-1\"), go on",
         SETS "a.b-1"},
        {"loadbalancerinusebyvirtualmachinescaleset: " SETS "vmss", SETS "vmss"},
        {"LoadBalancerInUseByVirtualMachineScaleSet: /subscriptions/s/resourceGroups/other/"
         "providers/Microsoft.Compute/virtualMachineScaleSets/vmss.",
         NULL},
        {"LoadBalancerInUseByVirtualMachineScaleSet: by somebody", NULL},
        {"InUse: " SETS "vmss.", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        (void)snprintf(err.message, sizeof(err.message), "%s", rows[i].message);
        same_text(rows[i].message, azure_error_clinging_set(*state, &err, "rg"), rows[i].want);
    }
}

UNIT_MAIN(errors)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(answer__3_8__code_and_reason),
        PURE_TEST(answer__message__quotes_Azure),
        PURE_TEST(answer__wait_in_the_message),
        PURE_TEST(operation__without_an_error__names_its_status),
        PURE_TEST(clinging__3_8__which_set_holds_the_balancer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
