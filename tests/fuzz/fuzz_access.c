/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_access.c: answers to TokenReviews and SubjectAccessReviews, the ConfigMap with CAs, and
 * headers of a proxy.
 *
 * What holds for every input: an answer is read within the caps or refused with a text that quotes
 * nothing of it; only a true `authenticated` names a user and only a true `allowed` allows; what
 * was read can be asked about in JSON that parses; no part of a trust is half read. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/str.h"
#include "common/data/json.h"
#include "controller/serve/access_cert.h"
#include "controller/serve/access_review_rules.h"
#include "controller/serve/access_trust.h"

static void check_user(struct arena *a, const struct access_user *u)
{
    FUZZ_CHECK(access_user_fits(u));
    for (size_t i = 1; i < u->n_extra; i++) {
        FUZZ_CHECK(strcmp(u->extra[i - 1].key, u->extra[i].key) < 0);
    }
    struct access_user known = access_with_authenticated(a, u);
    struct access_user copy = access_user_dup(a, &known);
    FUZZ_CHECK(access_in_group(&copy, ACCESS_AUTHENTICATED) ||
               access_in_group(&copy, ACCESS_UNAUTHENTICATED));
    const char *body = access_subject_body(a, &copy, "/metrics", "get");
    FUZZ_CHECK(strcmp(body, access_subject_body(a, &known, "/metrics", "get")) == 0);
    struct json_object *o = NULL;
    FUZZ_CHECK(json_parse_arena(a, body, strlen(body), NULL, &o, NULL) == ERR_OK);
}

static void check_answers(struct arena *a, const char *text, size_t n)
{
    struct access_token_answer token;
    struct access_subject_answer subject;
    struct err err = ERR_INIT;
    int rc = access_token_read(a, text, n, &token, &err);
    FUZZ_CHECK(rc == ERR_OK || (rc == ERR_INVALID && err.message[0] != '\0'));
    FUZZ_CHECK(rc == ERR_OK || strstr(err.message, "secret") == NULL);
    if (rc == ERR_OK && token.authenticated) {
        FUZZ_CHECK(strstr(text, "true") != NULL);
        check_user(a, &token.user);
    }
    err_clear(&err);
    rc = access_subject_read(a, text, n, &subject, &err);
    FUZZ_CHECK(rc == ERR_OK || (rc == ERR_INVALID && err.message[0] != '\0'));
    FUZZ_CHECK(rc == ERR_OK || strstr(err.message, "secret") == NULL);
    if (rc == ERR_OK) {
        FUZZ_CHECK(!subject.allowed || strstr(text, "true") != NULL);
        FUZZ_CHECK(strchr(subject.reason, '\n') == NULL);
    }
}

static void check_map(struct arena *a, const char *text, size_t n)
{
    struct json_object *o = NULL;
    const struct json_limits limits = {.max_bytes = 1 << 20, .max_values = 100000};
    if (json_parse_arena(a, text, n, &limits, &o, NULL) != ERR_OK) {
        return;
    }
    struct json_object *data = json_member(o, "data");
    const struct access_config config = access_config_read(a, data == NULL ? o : data);
    FUZZ_CHECK((config.fault.code == ERR_OK) == (config.fault.message[0] == '\0'));
    FUZZ_CHECK(config.headers.user.n <= ACCESS_HEADERS_MAX);
    for (size_t i = 0; i < config.headers.extra.n; i++) {
        FUZZ_CHECK(config.headers.extra.items[i][0] != '\0');
    }
    const struct access_header_names none = {0};
    const struct access_trust_parts parts = {.headers = &none, .config = &config};
    struct access_trust_faults faults;
    struct access_trust *t = access_trust_new(&parts, &faults);
    FUZZ_CHECK(faults.client.code == ERR_OK || t->client_cas == NULL);
    FUZZ_CHECK(faults.proxy.code == ERR_OK || (t->proxy_cas == NULL && t->headers.user.n == 0));
    access_trust_unref(t);
}

static void check_header(struct arena *a, const char *text)
{
    const char *token = access_bearer(a, text);
    FUZZ_CHECK(token == NULL || (token[0] != '\0' && strchr(token, ' ') == NULL));
    struct access_user u = {.name = text, .uid = text};
    if (access_user_fits(&u)) {
        check_user(a, &u);
    }
    (void)access_forbidden_text(a, text, "get", text, text); /* only that it ends well */
}

FUZZ_TARGET(access, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    const char *text = arena_strndup(a, (const char *)data, size);
    X509_STORE *store = NULL;
    STACK_OF(X509_NAME) *names = NULL;
    check_answers(a, text, strlen(text));
    check_map(a, text, strlen(text));
    check_header(a, text);
    if (access_cas_parse((const char *)data, size, &store, &names, NULL) == ERR_OK) {
        X509_STORE_free(store);
        sk_X509_NAME_pop_free(names, X509_NAME_free);
    }
    arena_free(a);
    return 0;
}
