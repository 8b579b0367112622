/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_tls.c: which peers we trust, who we are, and what happens when the files of it
 * change. */
#include "tests/unit/net/http_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/clock_fake.h"
#include "tests/support/test_ca.h"
#include "tests/support/unit.h"

static const struct test_cert_spec on_loopback = {.cn = "server", .san = "IP:127.0.0.1"};

/* A CA and a TLS server with a certificate of it. */
struct tls_server {
    struct test_ca *ca;
    struct test_cert cert;
    struct test_server *server;
};

static struct tls_server tls_server_start(const struct test_cert_spec *spec, const char *client_ca)
{
    struct tls_server t = {.ca = test_ca_new("Test CA")};
    t.cert = test_ca_issue(t.ca, spec);
    t.server = test_server_start(&(struct test_server_config){
        .tls_cert_pem = t.cert.cert_pem,
        .tls_key_pem = t.cert.key_pem,
        .tls_client_ca_pem = client_ca,
    });
    return t;
}

static void tls_server_stop(struct tls_server *t)
{
    test_server_stop(t->server);
    test_cert_done(&t->cert);
    test_ca_free(t->ca);
}

static struct fixture tls_fixture(const struct http_tls *tls)
{
    return fixture_new(&(struct http_config){.tls = tls});
}

/* --- the server's certificate ---------------------------------------------------------------- */

static void tls__server_certificate__judged(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct test_cert_spec spec;
        bool other_ca, insecure;
        const char *server_name;
        const char *message; /* "": fine; %s is the origin */
    } rows[] = {
        {"good", {"s", "IP:127.0.0.1", false}, false, false, NULL, ""},
        {"unknown CA",
         {"s", "IP:127.0.0.1", false},
         true,
         false,
         NULL,
         "TLS: certificate of %s: unable to get local issuer certificate"},
        {"unknown CA, not verified", {"s", "IP:127.0.0.1", false}, true, true, NULL, ""},
        {"other name",
         {"127.0.0.1", "DNS:a.example", false},
         false,
         false,
         NULL,
         "TLS: certificate of %s: no alternative certificate subject name matches target host name "
         "'127.0.0.1'"},
        {"expired",
         {"s", "IP:127.0.0.1", true},
         false,
         false,
         NULL,
         "TLS: certificate of %s: certificate has expired"},
        {"server name",
         {"s", "DNS:kubernetes.default.svc", false},
         false,
         false,
         "kubernetes.default.svc",
         ""},
        {"server name is the host", {"s", "IP:127.0.0.1", false}, false, false, "127.0.0.1", ""},
        {"server name does not match",
         {"s", "IP:127.0.0.1", false},
         false,
         false,
         "b.example",
         "TLS: certificate of %s: no alternative certificate subject name matches target host name "
         "'b.example'"},
    };
    struct test_ca *other = test_ca_new("Other CA");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tls_server t = tls_server_start(&rows[i].spec, NULL);
        const struct http_tls tls = {
            .ca_pem = test_ca_pem(rows[i].other_ca ? other : t.ca),
            .insecure = rows[i].insecure,
            .server_name = rows[i].server_name,
        };
        struct fixture f = tls_fixture(&tls);
        print_message("# %s\n", rows[i].name);
        const char *want =
            str_replace(f.arena, rows[i].message, "%s", test_server_url(t.server, ""));
        int rc = fixture_get(&f, test_server_url(t.server, "/echo"));
        assert_fails(&f, rc, *want == '\0' ? ERR_OK : ERR_TRANSIENT, want);
        assert_string_equal(f.err.reason, *want == '\0' ? "" : "untrusted");
        if (rc == ERR_OK) {
            const char *host =
                arena_printf(f.arena, "Host: 127.0.0.1:%u\n", test_server_port(t.server));
            assert_non_null(strstr(f.resp.body, host));
        }
        fixture_done(&f);
        tls_server_stop(&t);
    }
    test_ca_free(other);
}

static void tls__server_name__connections_are_kept(void **state)
{
    (void)state;
    const struct test_cert_spec spec = {.cn = "s", .san = "DNS:api.internal"};
    struct tls_server t = tls_server_start(&spec, NULL);
    const struct http_tls tls = {.ca_pem = test_ca_pem(t.ca), .server_name = "api.internal"};
    struct fixture f = tls_fixture(&tls);
    for (int i = 0; i < 3; i++) {
        assert_ok(&f, fixture_get(&f, test_server_url(t.server, "/ok")));
        assert_int_equal(f.resp.reused, i > 0);
    }
    assert_int_equal(test_server_connections(t.server), 1);
    fixture_done(&f);
    tls_server_stop(&t);
}

static void tls__plain_server__says_tls(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    int rc = fixture_get(&f, arena_printf(f.arena, "https://127.0.0.1:%u/ok", test_server_port(s)));
    assert_int_equal(rc, ERR_TRANSIENT);
    assert_true(str_has_prefix(
        f.err.message, arena_printf(f.arena, "TLS: https://127.0.0.1:%u: ", test_server_port(s))));
    fixture_done(&f);
    test_server_stop(s);
}

/* --- our certificate ------------------------------------------------------------------------- */

static void tls__client_certificate__asked_for(void **state)
{
    (void)state;
    const struct test_cert_spec me = {.cn = "me"};
    struct test_ca *clients = test_ca_new("Clients");
    struct test_ca *other = test_ca_new("Other");
    struct test_cert good = test_ca_issue(clients, &me);
    struct test_cert wrong = test_ca_issue(other, &me);
    struct tls_server t = tls_server_start(&on_loopback, test_ca_pem(clients));
    const struct {
        const struct test_cert *cert;
        int code;
    } rows[] = {{&good, ERR_OK}, {NULL, ERR_TRANSIENT}, {&wrong, ERR_TRANSIENT}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct test_cert *c = rows[i].cert;
        const struct http_tls tls = {.ca_pem = test_ca_pem(t.ca),
                                     .cert_pem = c == NULL ? NULL : c->cert_pem,
                                     .key_pem = c == NULL ? NULL : c->key_pem};
        struct fixture f = tls_fixture(&tls);
        int rc = fixture_get(&f, test_server_url(t.server, "/ok"));
        assert_int_equal(rc, rows[i].code);
        /* In TLS 1.3 the refusal is an alert that may lose the race against the end of the
         * connection, so the words differ from run to run. */
        bool names_origin = strstr(f.err.message, test_server_url(t.server, "")) != NULL;
        assert_int_equal(names_origin, rc != ERR_OK);
        fixture_done(&f);
    }
    const struct http_tls mixed = {
        .ca_pem = test_ca_pem(t.ca), .cert_pem = good.cert_pem, .key_pem = wrong.key_pem};
    struct fixture f = tls_fixture(&mixed);
    int rc = fixture_get(&f, test_server_url(t.server, "/ok"));
    assert_fails(&f, rc, ERR_AUTH, "client certificate: certificate and key do not fit together");
    fixture_done(&f);
    tls_server_stop(&t);
    test_cert_done(&good);
    test_cert_done(&wrong);
    test_ca_free(clients);
    test_ca_free(other);
}

/* --- files ----------------------------------------------------------------------------------- */

struct files {
    char dir[64];
    char ca[96], cert[96], key[96];
    struct clock *clock;
    struct http_tls tls;
};

static void put(const char *path, const char *text)
{
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), ERR_OK);
}

/* Watches that look at every request; contents as given (NULL: no such file). */
static void files_make(struct files *fs, const char *ca, const struct test_cert *pair)
{
    *fs = (struct files){.dir = "/tmp/trimtab-tls-XXXXXX", .clock = clock_fake_new(1000, 0)};
    assert_non_null(mkdtemp(fs->dir));
    snprintf(fs->ca, sizeof(fs->ca), "%s/ca.crt", fs->dir);
    snprintf(fs->cert, sizeof(fs->cert), "%s/tls.crt", fs->dir);
    snprintf(fs->key, sizeof(fs->key), "%s/tls.key", fs->dir);
    const size_t max = 65536;
    if (ca != NULL) {
        put(fs->ca, ca);
        fs->tls.ca_file = file_watch_new(fs->ca, max, 0, fs->clock);
    }
    if (pair != NULL) {
        put(fs->cert, pair->cert_pem);
        put(fs->key, pair->key_pem);
        fs->tls.cert_file = file_watch_new(fs->cert, max, 0, fs->clock);
        fs->tls.key_file = file_watch_new(fs->key, max, 0, fs->clock);
    }
}

static void files_done(struct files *fs)
{
    file_watch_free(fs->tls.ca_file);
    file_watch_free(fs->tls.cert_file);
    file_watch_free(fs->tls.key_file);
    clock_fake_free(fs->clock);
    (void)unlink(fs->ca);
    (void)unlink(fs->cert);
    (void)unlink(fs->key);
    (void)rmdir(fs->dir);
}

static void tls__ca_file_changes__new_connections_use_it(void **state)
{
    (void)state;
    struct tls_server old = tls_server_start(&on_loopback, NULL);
    struct tls_server new = tls_server_start(&on_loopback, NULL);
    struct files fs;
    files_make(&fs, test_ca_pem(old.ca), NULL);
    struct fixture f = tls_fixture(&fs.tls);
    assert_ok(&f, fixture_get(&f, test_server_url(old.server, "/ok")));
    assert_int_equal(fixture_get(&f, test_server_url(new.server, "/ok")), ERR_TRANSIENT);

    put(fs.ca, "-----BEGIN CERTIFICATE-----\nhalf of it");
    assert_ok(&f, fixture_get(&f, test_server_url(old.server, "/ok")));
    assert_true(f.resp.reused);

    put(fs.ca, test_ca_pem(new.ca));
    assert_ok(&f, fixture_get(&f, test_server_url(new.server, "/ok")));
    /* The kept connection was made under the old CA: it must not serve on. */
    assert_int_equal(fixture_get(&f, test_server_url(old.server, "/ok")), ERR_TRANSIENT);
    fixture_done(&f);
    files_done(&fs);
    tls_server_stop(&old);
    tls_server_stop(&new);
}

static void tls__client_pair_changes__old_connections_close(void **state)
{
    (void)state;
    const struct test_cert_spec me = {.cn = "me"};
    struct test_ca *clients = test_ca_new("Clients");
    struct test_cert first = test_ca_issue(clients, &me);
    struct test_cert second = test_ca_issue(clients, &me);
    struct tls_server t = tls_server_start(&on_loopback, test_ca_pem(clients));
    struct files fs;
    files_make(&fs, test_ca_pem(t.ca), &first);
    struct fixture f = tls_fixture(&fs.tls);
    const struct {
        const char *name;
        const char *cert, *key; /* written before the request; NULL: left alone */
        int connections;        /* made so far */
    } steps[] = {
        {"first", NULL, NULL, 1},
        {"again", NULL, NULL, 1},
        {"certificate without its key yet", second.cert_pem, NULL, 1},
        {"pair is whole", NULL, second.key_pem, 2},
        {"garbage", "garbage", "garbage", 2},
        {"same as before", second.cert_pem, second.key_pem, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        print_message("# %s\n", steps[i].name);
        if (steps[i].cert != NULL) {
            put(fs.cert, steps[i].cert);
        }
        if (steps[i].key != NULL) {
            put(fs.key, steps[i].key);
        }
        assert_ok(&f, fixture_get(&f, test_server_url(t.server, "/ok")));
        assert_int_equal(test_server_connections(t.server), steps[i].connections);
    }
    fixture_done(&f);
    files_done(&fs);
    tls_server_stop(&t);
    test_cert_done(&first);
    test_cert_done(&second);
    test_ca_free(clients);
}

static void tls__pair_is_handed_over__old_connections_close(void **state)
{
    (void)state;
    const struct test_cert_spec me = {.cn = "me"};
    struct test_ca *clients = test_ca_new("Clients");
    struct test_cert first = test_ca_issue(clients, &me);
    struct test_cert second = test_ca_issue(clients, &me);
    struct tls_server t = tls_server_start(&on_loopback, test_ca_pem(clients));
    struct http_tls tls = {.ca_pem = test_ca_pem(t.ca), .pair = http_pair_new()};
    struct fixture f = tls_fixture(&tls);
    const struct {
        const char *name;
        const char *cert, *key;
        int set;         /* what handing over says */
        bool served;     /* the server wants one of trimtab */
        int connections; /* made so far */
    } steps[] = {
        {"none yet", NULL, NULL, ERR_OK, false, 0},
        {"first", first.cert_pem, first.key_pem, ERR_OK, true, 1},
        {"the same", first.cert_pem, first.key_pem, ERR_OK, true, 1},
        {"not a pair", second.cert_pem, first.key_pem, ERR_INVALID, true, 1},
        {"garbage", "garbage", "garbage", ERR_INVALID, true, 1},
        {"second", second.cert_pem, second.key_pem, ERR_OK, true, 2},
        {"taken away", NULL, NULL, ERR_OK, false, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        print_message("# %s\n", steps[i].name);
        struct http_pair_life life = {0};
        struct err err = ERR_INIT;
        int rc = http_pair_set(tls.pair, steps[i].cert, steps[i].key, &life, NULL, &err);
        assert_int_equal(rc, steps[i].set);
        assert_int_equal(life.until_s > life.from_s, rc == ERR_OK && steps[i].cert != NULL);
        assert_int_equal(fixture_get(&f, test_server_url(t.server, "/ok")),
                         steps[i].served ? ERR_OK : ERR_TRANSIENT);
        assert_int_equal(test_server_connections(t.server), steps[i].connections);
    }
    fixture_done(&f);
    http_pair_free(tls.pair);
    tls_server_stop(&t);
    test_cert_done(&first);
    test_cert_done(&second);
    test_ca_free(clients);
}

struct rotation {
    struct http_pair *pair; /* instead of files */
    struct test_server *server;
    const struct files *files;
    const struct test_cert *next;
};

static void *rotate(void *arg)
{
    struct rotation *r = arg;
    test_server_wait_requests(r->server, 1);
    if (r->pair != NULL) {
        (void)!http_pair_set(r->pair, r->next->cert_pem, r->next->key_pem, NULL, NULL, NULL);
    } else {
        put(r->files->cert, r->next->cert_pem);
        put(r->files->key, r->next->key_pem);
    }
    clock_fake_advance(r->files->clock, 10000);
    return NULL;
}

static enum http_next once(struct http_job *job, const struct http_response *resp)
{
    (void)job;
    return resp == NULL ? HTTP_SEND : HTTP_DONE;
}

static bool swallow(struct http_job *job, int status, const char *bytes, size_t n)
{
    (void)job, (void)status, (void)bytes, (void)n;
    return true;
}

static void check_streams_end(bool handed_over)
{
    const struct test_cert_spec me = {.cn = "me"};
    struct test_ca *clients = test_ca_new("Clients");
    struct test_cert first = test_ca_issue(clients, &me);
    struct test_cert second = test_ca_issue(clients, &me);
    struct tls_server t = tls_server_start(&on_loopback, test_ca_pem(clients));
    struct files fs;
    files_make(&fs, test_ca_pem(t.ca), handed_over ? NULL : &first);
    if (handed_over) {
        fs.tls.pair = http_pair_new();
        (void)!http_pair_set(fs.tls.pair, first.cert_pem, first.key_pem, NULL, NULL, NULL);
    }
    struct fixture f = fixture_new(&(struct http_config){.tls = &fs.tls, .clock = fs.clock});
    struct rotation r = {.server = t.server, .files = &fs, .next = &second, .pair = fs.tls.pair};
    pthread_t thread;
    pthread_create(&thread, NULL, rotate, &r);
    struct http_job job = {
        .step = once,
        .on_body = swallow,
        .req = {.url = test_server_url(t.server, "/endless"), .idle_ms = -1, .total_ms = -1}};
    struct http_job *list = &job;
    http_run(f.http, &list, 1);
    pthread_join(thread, NULL);
    assert_int_equal(job.err.code, ERR_TRANSIENT);
    assert_string_equal(
        job.err.message,
        arena_printf(f.arena, "stream from %s was ended: the client certificate was replaced",
                     test_server_url(t.server, "")));
    test_server_wait_gone(t.server, 1);
    assert_ok(&f, fixture_get(&f, test_server_url(t.server, "/ok")));
    fixture_done(&f);
    http_pair_free(fs.tls.pair);
    files_done(&fs);
    tls_server_stop(&t);
    test_cert_done(&first);
    test_cert_done(&second);
    test_ca_free(clients);
}

static void tls__client_pair_changes__streams_end(void **state)
{
    (void)state;
    check_streams_end(false);
}

static void tls__pair_is_handed_over__streams_end(void **state)
{
    (void)state;
    check_streams_end(true);
}

static void tls__no_ca_given__environment_names_the_roots(void **state)
{
    (void)state;
    struct tls_server t = tls_server_start(&on_loopback, NULL);
    struct files fs;
    files_make(&fs, test_ca_pem(t.ca), NULL);
    struct fixture f = tls_fixture(NULL);
    assert_int_equal(fixture_get(&f, test_server_url(t.server, "/ok")), ERR_TRANSIENT);
    setenv("SSL_CERT_FILE", fs.ca, 1);
    assert_ok(&f, fixture_get(&f, test_server_url(t.server, "/ok")));
    unsetenv("SSL_CERT_FILE");
    fixture_done(&f);
    files_done(&fs);
    tls_server_stop(&t);
}

static void tls__files_unreadable__auth(void **state)
{
    (void)state;
    struct files fs;
    files_make(&fs, "no PEM at all", NULL);
    struct fixture f = tls_fixture(&fs.tls);
    int rc = fixture_get(&f, "https://127.0.0.1:1/");
    assert_fails(&f, rc, ERR_AUTH, "CA file holds no certificate in PEM");
    fixture_done(&f);

    struct http_tls missing = {.ca_file = file_watch_new("/nonexistent/ca", 100, 0, fs.clock)};
    f = tls_fixture(&missing);
    rc = fixture_get(&f, "https://127.0.0.1:1/");
    assert_fails(&f, rc, ERR_AUTH, "CA file: stat /nonexistent/ca: no such file or directory");
    fixture_done(&f);
    file_watch_free(missing.ca_file);
    files_done(&fs);
}

UNIT_MAIN(http_tls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tls__server_certificate__judged),
        cmocka_unit_test(tls__server_name__connections_are_kept),
        cmocka_unit_test(tls__plain_server__says_tls),
        cmocka_unit_test(tls__client_certificate__asked_for),
        cmocka_unit_test(tls__ca_file_changes__new_connections_use_it),
        cmocka_unit_test(tls__client_pair_changes__old_connections_close),
        cmocka_unit_test(tls__client_pair_changes__streams_end),
        cmocka_unit_test(tls__pair_is_handed_over__old_connections_close),
        cmocka_unit_test(tls__pair_is_handed_over__streams_end),
        cmocka_unit_test(tls__no_ca_given__environment_names_the_roots),
        cmocka_unit_test(tls__files_unreadable__auth),
    };
    return cmocka_run_group_tests_name("http_tls", tests, http_group_setup, http_group_teardown);
}
