/* SPDX-License-Identifier: Apache-2.0 */
/* test_ca.h: a throw-away certificate authority for TLS tests.
 *
 * Keys are P-256, recreated in every run; nothing is stored.  Failures abort: a test that cannot
 * make its certificates shows nothing. */
#ifndef TRIMTAB_TESTS_TEST_CA_H
#define TRIMTAB_TESTS_TEST_CA_H

#include <stdbool.h>

struct test_ca;

struct test_cert_spec {
    const char *cn;  /* common name */
    const char *san; /* "DNS:a.example,IP:127.0.0.1"; NULL: none */
    bool expired;    /* ended yesterday */
};
/* PEM texts; free with test_cert_done(). */
struct test_cert {
    char *cert_pem;
    char *key_pem;
};

struct test_ca *test_ca_new(const char *cn);
void test_ca_free(struct test_ca *ca);
const char *test_ca_pem(const struct test_ca *ca);
struct test_cert test_ca_issue(struct test_ca *ca, const struct test_cert_spec *spec);
void test_cert_done(struct test_cert *c);

#endif
