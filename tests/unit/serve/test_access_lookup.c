/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of where access has its trust from: the ConfigMap, files, flags.
 * controller.md §3.2, §3.6. */
#include "tests/unit/serve/access_stand.h"

#include <string.h>

#include "common/base/str.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define MAP_TARGET                                                                                 \
    "GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

/* --- the ConfigMap ---------------------------------------------------------------------------- */

/* A ConfigMap with this client CA, as it stands in an answer. */
static const char *map_of(struct arena *a, const char *rv, const char *ca_pem, const char *names)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_appendf(&b,
                "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"extension-apiserver-"
                "authentication\",\"resourceVersion\":\"%s\"},\"data\":{\"client-ca-file\":",
                rv);
    str_append_json_quoted(&b, ca_pem);
    str_append(&b, ",\"requestheader-allowed-names\":");
    str_append_json_quoted(&b, names);
    str_append(&b, "}}");
    return str_buf_to_arena(&b, a);
}

static const char *event_of(struct arena *a, const char *object)
{
    return arena_printf(a, "{\"type\":\"MODIFIED\",\"object\":%s}\n", object);
}

struct waiting {
    struct stand *s;
    X509 *cert;
    int status;
};

/* /healthz with a certificate: 0 when it is known, 401 when it is not; never asks. */
static bool has_status(void *arg)
{
    struct waiting *w = arg;
    struct access_verdict v;
    struct access_request req = kit_request(w->s->a, "GET", "/healthz", no_headers);
    req.cert = w->cert;
    assert_true(access_decide(w->s->access, &req, &v));
    return v.status == w->status;
}

struct wanted {
    struct stand *s;
    const char *text;
};

static bool is_logged(void *arg)
{
    const struct wanted *w = arg;
    return strstr(stand_log(w->s), w->text) != NULL;
}

/* The watch's thread writes it when it comes to it. */
static void until_logged(struct stand *s, const char *text)
{
    struct wanted w = {.s = s, .text = text};
    fake_api_until(s->api, is_logged, &w);
}

static void until_status(struct stand *s, X509 *cert, int status)
{
    struct waiting w = {.s = s, .cert = cert, .status = status};
    fake_api_until(s->api, has_status, &w);
}

static void access__config_map_changes__new_ca_counts_and_rubbish_does_not(void **state)
{
    struct arena *a = *state;
    struct kit_ca *one = kit_ca_new("one");
    struct kit_ca *two = kit_ca_new("two");
    struct kit_ca *three = kit_ca_new("three");
    const struct api_step steps[] = {
        {.body = map_of(a, "1", one->pem, "[]")},
        {.way = API_END,
         .body = arena_printf(a, "%s%s%s", event_of(a, map_of(a, "2", two->pem, "[]")),
                              event_of(a, map_of(a, "3", "rubbish", "[]")),
                              event_of(a, map_of(a, "4", three->pem, "no JSON")))},
        {.way = API_OPEN, .body = event_of(a, map_of(a, "5", three->pem, "[]"))},
    };
    struct stand s;
    stand_up(&s, steps, ARRAY_LEN(steps), false, NULL);
    X509 *by_one = kit_client(one, "x", NULL);
    X509 *by_two = kit_client(two, "x", NULL);
    X509 *by_three = kit_client(three, "x", NULL);
    until_status(&s, by_three, 0);
    until_status(&s, by_one, 401);
    until_status(&s, by_two, 401);
    assert_string_equal(fake_api_target(s.api, 0), MAP_TARGET);
    assert_non_null(strstr(fake_api_target(s.api, 1),
                           "/configmaps?allowWatchBookmarks=true&fieldSelector=metadata.name%3D"
                           "extension-apiserver-authentication&resourceVersionMatch=NotOlderThan&"
                           "sendInitialEvents=true&timeout="));
    until_logged(&s, "client-ca-file: it has no certificate");
    until_logged(&s, "requestheader-allowed-names: want a JSON array");
    STACK_OF(X509_NAME) *names = access_client_ca_names(s.access);
    assert_int_equal(sk_X509_NAME_num(names), 1);
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    X509_free(by_one);
    X509_free(by_two);
    X509_free(by_three);
    stand_done(&s);
    kit_ca_free(one);
    kit_ca_free(two);
    kit_ca_free(three);
}

static void access__config_map_at_the_start(void **state)
{
    (void)state;
    const struct {
        const char *name;
        struct api_step step;
        const char *flag;
        int rc;
    } rows[] = {
        {"may not be read", {.status = 403}, NULL, ERR_FORBIDDEN},
        {"may not be read, tolerated",
         {.status = 403},
         "--authentication-tolerate-lookup-failure",
         ERR_OK},
        {"we are nobody", {.status = 401}, NULL, ERR_AUTH},
        {"a page of HTML", {.body = "<html>"}, NULL, ERR_INVALID},
        {"another object", {.body = "{'kind':'Secret'}"}, NULL, ERR_INVALID},
        {"is not there", {.status = 404}, NULL, ERR_OK},
        {"is rubbish",
         {.body = "{'kind':'ConfigMap','data':{'client-ca-file':'x'}}"},
         NULL,
         ERR_OK},
        {"the server has trouble", {.status = 503}, NULL, ERR_OK},
        {"the server cannot be reached", {.way = API_DROP}, NULL, ERR_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct api_step steps[] = {rows[i].step};
        struct stand s;
        struct err err = ERR_INIT;
        stand_begin(&s, steps, 1);
        int rc = stand_start(&s, false, true, rows[i].flag, &err);
        if (rc != rows[i].rc || rc != err.code) {
            fail_msg("%s: want %d, got %d: %s", rows[i].name, rows[i].rc, rc, err.message);
        }
        if (rc == ERR_FORBIDDEN) {
            assert_non_null(strstr(err.message, "extension-apiserver-authentication-reader"));
        }
        if (rc == ERR_OK) {
            assert_int_equal(status_of(&s, "/healthz", NULL, no_headers), 0);
        }
        stand_done(&s);
    }
}

static void access__server_that_comes_later__is_waited_for(void **state)
{
    struct kit_ca *ca = kit_ca_new("later");
    const struct api_step steps[] = {
        {.way = API_DROP}, {.way = API_DROP},
        {.status = 503},   {.body = map_of(*state, "7", ca->pem, "[]")},
        {.way = API_HANG},
    };
    struct stand s;
    stand_up(&s, steps, ARRAY_LEN(steps), false, NULL);
    X509 *cert = kit_client(ca, "x", NULL);
    until_status(&s, cert, 0);
    X509_free(cert);
    stand_done(&s);
    kit_ca_free(ca);
}

static void access__skip_lookup_or_both_files__read_no_config_map(void **state)
{
    (void)state;
    static const struct api_step steps[] = {SUBJECT_NO};
    struct stand s;
    stand_up(&s, steps, 1, false, "--authentication-skip-lookup");
    assert_int_equal(status_of(&s, "/metrics", NULL, no_headers), 403);
    assert_string_equal(fake_api_target(s.api, 0), SUBJECT_TARGET);
    /* No CA at all: a certificate is as good as none. */
    X509 *cert = certificate(&s, OURS);
    assert_int_equal(status_of(&s, "/healthz", cert, no_headers), 0);
    X509_free(cert);
    stand_done(&s);
}

/* --- flags ------------------------------------------------------------------------------------ */

static void access__no_kubeconfig__open_paths_and_masters_only(void **state)
{
    (void)state;
    struct stand s;
    struct err err = ERR_INIT;
    stand_begin(&s, NULL, 0);
    assert_int_equal(stand_start(&s, true, false, NULL, &err), ERR_OK);
    X509 *master = certificate(&s, MASTER);
    X509 *ours = certificate(&s, OURS);
    assert_int_equal(status_of(&s, "/healthz", NULL, no_headers), 0);
    assert_int_equal(status_of(&s, "/metrics", NULL, no_headers), 403);
    assert_int_equal(status_of(&s, "/metrics", ours, no_headers), 403);
    assert_int_equal(status_of(&s, "/metrics", master, no_headers), 0);
    /* The user of a token is unknown: it is as good as none. */
    assert_int_equal(status_of(&s, "/healthz", NULL, bearer), 0);
    assert_int_equal(fake_api_count(s.api), 0);
    assert_non_null(strstr(stand_log(&s), "No --authorization-kubeconfig"));
    X509_free(master);
    X509_free(ours);
    stand_done(&s);
}

static void access__bad_flags__stop_the_start(void **state)
{
    (void)state;
    const struct {
        const char *flag;
        int rc;
        const char *text;
    } rows[] = {
        {"--client-ca-file=/nowhere/ca.crt", ERR_NOT_FOUND, "/nowhere/ca.crt"},
        {"--requestheader-client-ca-file=/dev/null", ERR_INVALID, "/dev/null"},
        {"--authentication-kubeconfig=/nowhere/kc", ERR_NOT_FOUND, "--authentication-kubeconfig"},
        {"--authorization-kubeconfig=/nowhere/kc", ERR_NOT_FOUND, "--authorization-kubeconfig"},
        {"--authorization-always-allow-paths=/a*b", ERR_INVALID, "only trailing *"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand s;
        struct err err = ERR_INIT;
        stand_begin(&s, NULL, 0);
        int rc = stand_start(&s, false, false, rows[i].flag, &err);
        if (rc != rows[i].rc || strstr(err.message, rows[i].text) == NULL) {
            fail_msg("%s: got %d: %s", rows[i].flag, rc, err.message);
        }
        stand_done(&s);
    }
}

static void access__file_changes__is_read_again_within_a_minute(void **state)
{
    (void)state;
    struct stand s;
    struct kit_ca *next = kit_ca_new("next");
    stand_up(&s, NULL, 0, true, NULL);
    X509 *old_cert = certificate(&s, OURS);
    X509 *new_cert = kit_client(next, "x", NULL);
    until_status(&s, old_cert, 0);
    (void)kit_write(s.a, s.folder, "ca.crt", "rubbish");
    clock_fake_advance(fake_api_clock(s.api), 60000);
    until_logged(&s, "--client-ca-file: it has no certificate");
    until_status(&s, old_cert, 0);
    (void)kit_write(s.a, s.folder, "ca.crt", next->pem);
    until_status(&s, new_cert, 0);
    until_status(&s, old_cert, 401);
    X509_free(old_cert);
    X509_free(new_cert);
    stand_done(&s);
    kit_ca_free(next);
}

UNIT_MAIN(access_lookup)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(access__config_map_changes__new_ca_counts_and_rubbish_does_not),
        KIT_TEST(access__config_map_at_the_start),
        KIT_TEST(access__server_that_comes_later__is_waited_for),
        KIT_TEST(access__skip_lookup_or_both_files__read_no_config_map),
        KIT_TEST(access__no_kubeconfig__open_paths_and_masters_only),
        KIT_TEST(access__bad_flags__stop_the_start),
        KIT_TEST(access__file_changes__is_read_again_within_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
