/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_source.c: the provider's configuration from a file and a Secret, the message when
 * it cannot be read, and what counts as a change (docs/spec/azure.md 1.1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/lock.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "controller/process/config_watch.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"

#define HIDDEN "hunter2-do-not-print"

/* An API server with one Secret. */
struct api {
    struct mutex lock;
    int status;
    const char *value; /* of the key cloud-config; NULL: the Secret lacks it */
};

static void answer(void *arg, struct http_req *req)
{
    struct api *api = arg;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    mutex_lock(&api->lock);
    int status = api->status;
    const char *value = api->value;
    mutex_unlock(&api->lock);
    const char *encoded = value != NULL ? str_base64_encode(a, value, strlen(value), false) : NULL;
    const char *body =
        status != 200
            ? "{\"kind\":\"Status\",\"message\":\"secrets \\\"azure\\\" not found\",\"reason\":"
              "\"NotFound\"}"
        : str_eq(value, "raw") ? "{\"data\":{\"cloud-config\":\"%%%\"}}"
        : encoded != NULL      ? arena_printf(a, "{\"data\":{\"cloud-config\":\"%s\"}}", encoded)
                               : "{\"data\":{\"other\":\"" HIDDEN "\"}}";
    http_req_add_header(req, "Content-Type", "application/json");
    http_req_answer(req, status, body, strlen(body));
}

struct fixture {
    struct arena *a;
    struct api api;
    struct test_server *server;
    struct kube_config config;
    struct kube_client *client;
    struct config_source source;
    char dir[64];
    char *path;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->a = arena_new();
    f->api = (struct api){.status = 200, .value = "location: secret\n"};
    mutex_init(&f->api.lock);
    const struct test_server_config cfg = {.handle = answer, .arg = &f->api};
    f->server = test_server_start(&cfg);
    f->config = (struct kube_config){.server = test_server_url(f->server, "")};
    f->client = kube_client_new(&(struct kube_client_args){
        .observe = kube_ignore_sent, .config = &f->config, .qps = -1, .clock = clock_real()});
    memcpy(f->dir, "/tmp/trimtab-config-XXXXXX", sizeof("/tmp/trimtab-config-XXXXXX"));
    assert_non_null(mkdtemp(f->dir));
    f->path = arena_printf(f->a, "%s/azure.json", f->dir);
    f->source = (struct config_source){
        .path = f->path,
        .secret_ns = "kube-system",
        .secret_name = "azure",
        .secret_key = "cloud-config",
        .client = f->client,
    };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    kube_client_free(f->client);
    test_server_stop(f->server);
    mutex_done(&f->api.lock);
    (void)unlink(f->path);
    (void)rmdir(f->dir);
    arena_free(f->a);
    free(f);
    return 0;
}

static void write_file(struct fixture *f, const char *text)
{
    assert_int_equal(file_write_atomic(f->path, text, strlen(text), 0600, NULL), ERR_OK);
}

static void set_api(struct fixture *f, int status, const char *value)
{
    mutex_lock(&f->api.lock);
    f->api.status = status;
    f->api.value = value;
    mutex_unlock(&f->api.lock);
}

static void read__file_and_secret__both_texts(void **state)
{
    struct fixture *f = *state;
    struct config_texts t;
    struct err err = ERR_INIT;
    write_file(f, "location: file\n");
    assert_int_equal(config_source_read(&f->source, f->a, &t, &err), ERR_OK);
    assert_string_equal(t.text, "location: file\n");
    assert_string_equal(t.secret_text, "location: secret\n");
    assert_int_equal(t.secret_len, strlen("location: secret\n"));
    assert_string_equal(t.secret_path, "secret kube-system/azure, key cloud-config");
}

static void read__no_names__no_texts(void **state)
{
    struct fixture *f = *state;
    struct config_texts t;
    f->source.path = "";
    f->source.secret_name = "";
    assert_int_equal(config_source_read(&f->source, f->a, &t, NULL), ERR_OK);
    assert_null(t.text);
    assert_null(t.secret_text);
    assert_int_equal(test_server_requests(f->server), 0);
}

static void read__what_is_not_there__is_named_without_values(void **state)
{
    struct fixture *f = *state;
    static const struct {
        int status;
        const char *value;
        int code;
        const char *want;
    } rows[] = {
        {404, NULL, ERR_NOT_FOUND, "secrets \"azure\" not found"},
        {200, NULL, ERR_NOT_FOUND, "it has no key \"cloud-config\" (it has: other)"},
        {200, "raw", ERR_INVALID, "its key \"cloud-config\" holds no base64 of at most 1 MiB"},
    };
    write_file(f, "location: file\n");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct config_texts t;
        struct err err = ERR_INIT;
        set_api(f, rows[i].status, rows[i].value);
        assert_int_equal(config_source_read(&f->source, f->a, &t, &err), rows[i].code);
        if (!str_has_prefix(err.message, "cannot read the cloud provider configuration in the "
                                         "secret kube-system/azure: ") ||
            strstr(err.message, rows[i].want) == NULL || strstr(err.message, HIDDEN) != NULL) {
            fail_msg("row %zu: %s", i, err.message);
        }
    }
}

static void read__names_that_are_none__ask_nobody(void **state)
{
    struct fixture *f = *state;
    struct config_texts t;
    struct err err = ERR_INIT;
    f->source.path = NULL;
    f->source.secret_name = "../../secrets/other";
    assert_int_equal(config_source_read(&f->source, f->a, &t, &err), ERR_INVALID);
    f->source.secret_name = "azure";
    f->source.client = NULL;
    assert_int_equal(config_source_read(&f->source, f->a, &t, &err), ERR_INVALID);
    assert_int_equal(test_server_requests(f->server), 0);
}

static void fill__by_what_the_provider_can(void **state)
{
    static const struct {
        uint32_t capabilities;
        const char *text;
        const char *secret;
        int code;
        const char *config_text;
        const char *secret_text;
    } rows[] = {
        {TT_CAP_READS_SECRET, "f", "s", ERR_OK, "f", "s"},
        {TT_CAP_READS_SECRET, NULL, "s", ERR_OK, NULL, "s"},
        {0, "f", NULL, ERR_OK, "f", NULL},
        {0, NULL, "s", ERR_OK, "s", NULL},
        {0, "f", "s", ERR_INVALID, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_provider desc = {.name = "fake", .capabilities = rows[i].capabilities};
        const struct config_texts t = {
            .path = "file",
            .text = rows[i].text,
            .len = rows[i].text != NULL,
            .secret_path = "secret",
            .secret_text = rows[i].secret,
            .secret_len = rows[i].secret != NULL,
        };
        struct tt_open_args args = {0};
        assert_int_equal(config_texts_fill(&t, &desc, &args, NULL), rows[i].code);
        assert_true(str_eq(args.config_text, rows[i].config_text));
        assert_true(str_eq(args.secret_text, rows[i].secret_text));
        assert_int_equal(args.config_len, rows[i].config_text != NULL);
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

static int refuse_bad(void *arg, const struct config_texts *t, struct err *err)
{
    int *asked = arg;
    (*asked)++;
    return strcmp(t->text, "bad") == 0 ? err_set(err, ERR_INVALID, "bad") : ERR_OK;
}

static void watch__a_change__counts_when_it_was_seen_twice_and_is_fit(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *file; /* NULL: as before */
        int status;
        const char *secret;
        bool changed;
        int asked; /* checks so far */
    } rows[] = {
        {"a", 200, "s", false, 0},   {"b", 200, "s", false, 0},  /* seen once */
        {"c", 200, "s", false, 0},                               /* still being written */
        {"a", 200, "s", false, 0},                               /* as it was */
        {"bad", 200, "s", false, 0}, {NULL, 200, "s", false, 1}, /* unfit */
        {NULL, 200, "s", false, 1},                              /* asked once only */
        {NULL, 404, "s", false, 1},                              /* not readable: it stays */
        {"a", 200, "s2", false, 1},                              /* the Secret alone */
        {NULL, 200, "s2", true, 2},
    };
    struct config_texts t;
    int asked = 0;
    write_file(f, "a");
    set_api(f, 200, "s");
    assert_int_equal(config_source_read(&f->source, f->a, &t, NULL), ERR_OK);
    struct config_watch *w = config_watch_new(&(struct config_watch_args){
        .source = f->source,
        .current = &t,
        .clock = clock_real(),
        .check = refuse_bad,
        .arg = &asked,
    });
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].file != NULL) {
            write_file(f, rows[i].file);
        }
        set_api(f, rows[i].status, rows[i].secret);
        if (config_watch_look(w) != rows[i].changed || asked != rows[i].asked) {
            fail_msg("row %zu: %d checks", i, asked);
        }
    }
    config_watch_free(w);
}

UNIT_MAIN(config_source)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(read__file_and_secret__both_texts),
        CASE(read__no_names__no_texts),
        CASE(read__what_is_not_there__is_named_without_values),
        CASE(read__names_that_are_none__ask_nobody),
        CASE(fill__by_what_the_provider_can),
        CASE(watch__a_change__counts_when_it_was_seen_twice_and_is_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
