/* SPDX-License-Identifier: Apache-2.0 */
/* test_unreachable.c: which member of the kubeconfig is named first when the API server
 * gives no answer. */
#include "controller/kube/client/unreachable.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#define SIGNER "TLS: certificate of https://10.0.0.1: unable to get local issuer certificate"
#define BEFORE "cannot reach the API server https://10.0.0.1: "

struct row {
    const char *name;
    const char *reason, *message;
    const char *ca_path, *ca_pem, *cluster, *context;
    const char *want;
};

static void kube_unreachable__kind_of_failure__decides_where_to_look(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"nobody listens", "", "connection refused", "", NULL, "c1", "prod",
         BEFORE "connection refused; check the server address in kc, context \"prod\""},
        {"http.h's words", "refused", "cannot reach https://10.0.0.1: connection refused", "", NULL,
         "c1", "prod",
         BEFORE "connection refused; check the server address in kc, context \"prod\""},
        {"a proxy between", "refused",
         "cannot reach https://10.0.0.1 through proxy http://p:1: connection refused", "", NULL,
         "c1", "",
         BEFORE "cannot reach https://10.0.0.1 through proxy http://p:1: connection refused; check "
                "the server address in kc"},
        {"CA as data", "untrusted", SIGNER, "", "PEM", "c1", "prod",
         BEFORE SIGNER
         "; check certificate-authority-data of cluster \"c1\" in kc, context \"prod\""},
        {"CA as a file", "untrusted", SIGNER, "/etc/ca.pem", NULL, "c1", "prod",
         BEFORE SIGNER
         "; check certificate-authority (/etc/ca.pem) of cluster \"c1\" in kc, context "
         "\"prod\""},
        {"no CA", "untrusted", SIGNER, "", NULL, "c1", "",
         BEFORE SIGNER "; no CA is named, so the system's were asked: set "
                       "certificate-authority-data of cluster \"c1\" in kc"},
        {"another host's certificate", "untrusted", "TLS: no name matches 10.0.0.1", "", "PEM",
         "c1", "prod",
         BEFORE
         "TLS: no name matches 10.0.0.1; check the server address, or set tls-server-name to "
         "a name that its certificate has in kc, context \"prod\""},
        {"expired", "untrusted", "TLS: certificate has expired", "", "PEM", "c1", "",
         BEFORE "TLS: certificate has expired; check the clock of this machine and the server's "
                "certificate in kc"},
        {"our certificate", "refused-certificate", "TLS: alert unknown ca", "", "PEM", "c1", "prod",
         BEFORE "TLS: alert unknown ca; the server refuses our certificate: check "
                "client-certificate of user \"admin\" in kc, context \"prod\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        const struct kube_config c = {.server = "https://10.0.0.1",
                                      .source = "kc",
                                      .user = "admin",
                                      .cluster = r->cluster,
                                      .context = r->context,
                                      .ca_path = r->ca_path,
                                      .tls = {.ca_pem = r->ca_pem}};
        struct err why = ERR_INIT;
        struct err got = ERR_INIT;
        (void)err_set(&why, ERR_TRANSIENT, "%s", r->message);
        (void)snprintf(why.reason, sizeof why.reason, "%s", r->reason);
        assert_int_equal(kube_unreachable(&c, &why, "", &got), ERR_TRANSIENT);
        assert_string_equal(got.message, r->want);
    }
}

static void kube_advise_refusal__credentials__names_whose(void **state)
{
    (void)state;
    static const struct {
        int code, status;
        const char *user;
        const char *want;
    } rows[] = {
        {ERR_AUTH, 401, "admin",
         "no; check the token or client-certificate of user \"admin\" in kc"},
        {ERR_AUTH, 401, "", "no; check the service account's token in kc"},
        {ERR_AUTH, 0, "admin", "no; look at user \"admin\" and cluster \"c1\" in kc"},
        {ERR_AUTH, 0, "", "no; look at the service account's files in kc"},
        {ERR_FORBIDDEN, 403, "admin", "no"},
        {ERR_TRANSIENT, 0, "admin", "no"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct kube_config c = {.source = "kc", .user = rows[i].user, .cluster = "c1"};
        struct err err = ERR_INIT;
        (void)err_set(&err, rows[i].code, "no");
        err.http_status = rows[i].status;
        assert_int_equal(kube_advise_refusal(&c, &err), rows[i].code);
        assert_string_equal(err.message, rows[i].want);
        assert_int_equal(err.http_status, rows[i].status);
    }
}

static void kube_trouble_is_final__what_lasts__is(void **state)
{
    (void)state;
    static const struct {
        int code, status;
        const char *reason;
        bool want;
    } rows[] = {
        {ERR_TRANSIENT, 0, "refused", true},    {ERR_TRANSIENT, 0, "no-host", true},
        {ERR_TRANSIENT, 0, "untrusted", true},  {ERR_TRANSIENT, 0, "refused-certificate", true},
        {ERR_TRANSIENT, 0, "broken", false},    {ERR_TRANSIENT, 0, "", false},
        {ERR_TRANSIENT, 503, "refused", false}, /* a server's word, not http.h's */
        {ERR_THROTTLED, 429, "", false},        {ERR_AUTH, 0, "", true},
        {ERR_AUTH, 401, "Unauthorized", true},  {ERR_FORBIDDEN, 403, "Forbidden", true},
        {ERR_NOT_FOUND, 404, "NotFound", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = {.code = rows[i].code, .http_status = rows[i].status};
        (void)snprintf(err.reason, sizeof err.reason, "%s", rows[i].reason);
        assert_int_equal(kube_trouble_is_final(&err), rows[i].want);
    }
}

UNIT_MAIN(unreachable)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kube_unreachable__kind_of_failure__decides_where_to_look),
        cmocka_unit_test(kube_advise_refusal__credentials__names_whose),
        cmocka_unit_test(kube_trouble_is_final__what_lasts__is),
    };
    return cmocka_run_group_tests_name("kube-unreachable", tests, NULL, NULL);
}
