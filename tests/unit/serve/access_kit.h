/* SPDX-License-Identifier: Apache-2.0 */
/* access_kit.h: what the tests of access share: requests, certificates made while the test runs,
 * files.
 *
 * Failures fail the test or abort; nothing is stored but in a folder of its own below
 * the temporary one. */
#ifndef TRIMTAB_TESTS_ACCESS_KIT_H
#define TRIMTAB_TESTS_ACCESS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/x509.h>

#include "controller/serve/access.h"

/* --- requests --- */
struct kit_header {
    const char *name;
    const char *value;
};
/* A request with these headers, in `a`; headers end with a NULL name. */
struct access_request kit_request(struct arena *a, const char *method, const char *path,
                                  const struct kit_header *headers);

/* --- certificates --- */
struct kit_ca {
    EVP_PKEY *key;
    X509 *cert;
    char *pem;
};
struct kit_cert {
    const char *cn;          /* NULL: none */
    const char *const *orgs; /* NULL-terminated; NULL: none */
    const char *uid;         /* 1.3.6.1.4.1.57683.2; NULL: none */
    const char *usage;       /* "clientAuth"; NULL: says nothing */
    bool is_ca;
    int64_t from_s; /* validity, against KIT_NOW_S; both 0: a day before and after */
    int64_t until_s;
};
#define KIT_NOW_S INT64_C(1767323045) /* 2026-01-02T03:04:05Z; where fake clocks stand */

struct kit_ca *kit_ca_new(const char *cn);
/* One below it. */
struct kit_ca *kit_ca_below(struct kit_ca *parent, const char *cn);
void kit_ca_free(struct kit_ca *ca);
X509 *kit_issue(struct kit_ca *ca, const struct kit_cert *spec);
X509 *kit_client(struct kit_ca *ca, const char *cn, const char *const *orgs);

/* --- files --- */
/* A folder that kit_folder_done() takes away with all that is in it. */
char *kit_folder(struct arena *a);
void kit_folder_done(const char *folder);
const char *kit_write(struct arena *a, const char *folder, const char *name, const char *text);
/* A kubeconfig for `server` with token "ours". */
const char *kit_kubeconfig(struct arena *a, const char *folder, const char *name,
                           const char *server);

int kit_setup(void **state); /* *state: an arena */
int kit_teardown(void **state);
#define KIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, kit_setup, kit_teardown)

#endif
