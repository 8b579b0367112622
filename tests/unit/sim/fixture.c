/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.c: see fixture.h.  The loop runs in one thread, libcurl in the test's. */
#include "tests/unit/sim/fixture.h"

#include "common/base/file.h"
#include "common/net/http_server.h"

#include <curl/curl.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PATIENCE_MS 120000 /* for one answer, however slow the machine is */

struct fixture_loop {
    pthread_t thread;
    struct event_base *base;
    struct sim *sim;
    struct sim_config cfg;
    CURL *curl;
    const char *service_account; /* credentials file */
    const char *ca_pem;          /* NULL: plain HTTP */
};

static void *run(void *arg)
{
    struct fixture_loop *l = arg;
    event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

static struct fixture *start(const struct sim_config *cfg, bool signing)
{
    struct err err = ERR_INIT;
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct fixture_loop *l = xcalloc(1, sizeof(*l));
    evthread_use_pthreads();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    f->a = arena_new();
    f->loop = l;
    l->cfg = cfg ? *cfg : (struct sim_config){0};
    l->base = event_base_new();
    l->curl = curl_easy_init();
    if (sim_new(l->base, &l->cfg, &l->sim, &err)) {
        fail_msg("sim_new: %s", err.message);
    }
    f->url = arena_strdup(f->a, sim_url(l->sim));
    l->ca_pem = sim_ca_pem(l->sim);
    if (signing) {
        void *cloud = sim_module_state(l->sim, "gce");
        l->service_account = sim_compute_credentials(cloud, f->a, "service_account");
    }
    assert_int_equal(pthread_create(&l->thread, NULL, run, l), 0);
    if (fixture_call(f, "GET", "/computeMetadata/v1/instance/service-accounts/default/token",
                     NULL) == 200) {
        f->token = arena_strdup(f->a, json_str(f->answer, "access_token"));
    }
    return f;
}

struct fixture *fixture_start(const struct sim_config *cfg)
{
    return start(cfg, false);
}

struct fixture *fixture_start_signing(const struct sim_config *cfg)
{
    return start(cfg, true);
}

void fixture_stop(struct fixture *f)
{
    struct fixture_loop *l = f->loop;
    curl_easy_cleanup(l->curl);
    event_base_loopbreak(l->base);
    pthread_join(l->thread, NULL);
    sim_free(l->sim);
    http_server_free_loop(l->base);
    free(l);
    arena_free(f->a);
    free(f);
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    str_append_n(arg, data, size * n);
    return size * n;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
    static const char name[] = "Retry-After:";
    struct fixture *f = arg;
    f->got_headers = arena_printf(f->a, "%s%.*s", f->got_headers, (int)(size * n), data);
    if (size * n > strlen(name) && strncasecmp(data, name, strlen(name)) == 0) {
        f->retry_after = (int)strtol(data + strlen(name), NULL, 10);
    }
    return size * n;
}

int fixture_call_within(struct fixture *f, const char *method, const char *path, const char *body,
                        long timeout_ms)
{
    CURL *c = f->loop->curl;
    struct str_buf out = STR_BUF_INIT;
    struct curl_slist *headers = curl_slist_append(NULL, "Metadata-Flavor: Google");
    if (f->token) {
        headers =
            curl_slist_append(headers, arena_printf(f->a, "Authorization: Bearer %s", f->token));
    }
    if (body && strncmp(body, "--", 2) == 0) {
        headers = curl_slist_append(headers, "Content-Type: multipart/mixed; boundary=\"part\"");
    }
    for (size_t i = 0; f->headers && f->headers[i]; i++) {
        headers = curl_slist_append(headers, f->headers[i]);
    }
    f->retry_after = -1;
    f->got_headers = "";
    curl_easy_reset(c);
    curl_easy_setopt(c, CURLOPT_URL, arena_printf(f->a, "%s%s", f->url, path));
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
    if (body) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    }
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &out);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, f);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    if (f->loop->ca_pem) {
        struct curl_blob ca = {.data = (void *)f->loop->ca_pem, .len = strlen(f->loop->ca_pem)};
        curl_easy_setopt(c, CURLOPT_CAINFO_BLOB, &ca);
        curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    /* libcurl sends a request again by itself when a connection that was used before breaks. */
    curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
    CURLcode code = curl_easy_perform(c);
    long status = 0;
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    f->answer =
        NULL; /* the one before stays as long as the arena: a test may still go through it */
    f->text = str_buf_to_arena(&out, f->a);
    if (out.len > 0) {
        (void)!json_parse_arena(f->a, out.data, out.len, NULL, &f->answer,
                                NULL); /* some answers are text */
    }
    str_buf_done(&out);
    return code == CURLE_OK ? (int)status : code == CURLE_OPERATION_TIMEDOUT ? -1 : 0;
}

int fixture_call(struct fixture *f, const char *method, const char *path, const char *body)
{
    return fixture_call_within(f, method, path, body, PATIENCE_MS);
}

const char *fixture_header(struct fixture *f, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = f->got_headers; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
            return str_trim(f->a, arena_strndup(f->a, line + n + 1, strcspn(line + n + 1, "\r\n")));
        }
    }
    return NULL;
}

const char *fixture_text(struct fixture *f, const char *path)
{
    struct json_object *o = json_path(f->answer, path);
    return o ? json_object_get_string(o) : "";
}

const char *fixture_reason(struct fixture *f)
{
    struct json_object *errors = json_path(f->answer, "error.errors");
    struct json_object *first = json_len(errors) ? json_object_array_get_idx(errors, 0) : NULL;
    return str_nonnull(json_str(first, "reason"));
}

void fixture_expect(struct fixture *f, const char *what, int got, int want, const char *reason)
{
    const char *got_reason = fixture_reason(f);
    if (got != want || (reason && !str_eq(got_reason, reason))) {
        fail_msg("%s: got %d %s, want %d %s: %s", what, got, got_reason, want, str_nonnull(reason),
                 f->text);
    }
}

void fixture_must(struct fixture *f, const char *method, const char *path, const char *body)
{
    int status = fixture_call(f, method, path, body);
    fixture_expect(f, arena_printf(f->a, "%s %s", method, path), status, 200, NULL);
}

void fixture_make_external(struct fixture *f)
{
    fixture_must(f, "POST", G "/httpHealthChecks", "{\"name\":\"hc\",\"port\":10256}");
    fixture_must(f, "POST", R "/targetPools",
                 "{\"name\":\"tp\",\"healthChecks\":[\"global/httpHealthChecks/hc\"],"
                 "\"instances\":[\"/zones/us-central1-a/instances/node-0\","
                 "\"/zones/us-central1-a/instances/node-3\"]}");
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"ip\",\"address\":\"203.0.113.77\"}");
    fixture_must(f, "POST", R "/forwardingRules",
                 "{\"name\":\"fr\",\"IPAddress\":\"203.0.113.77\",\"portRange\":\"80-90\","
                 "\"target\":\"regions/us-central1/targetPools/tp\"}");
}

const char *fixture_credentials(struct fixture *f)
{
    assert_non_null(f->loop->service_account);
    return f->loop->service_account;
}

char *fixture_data(struct arena *a, const char *name)
{
    char *text = NULL;
    size_t n = 0;
    struct err err = ERR_INIT;
    const char *dir = getenv("TRIMTAB_TEST_DATA");
    if (file_read(a, arena_printf(a, "%s/%s", str_nonnull(dir), name), 64UL << 20, &text, &n,
                  &err)) {
        fail_msg("%s", err.message);
    }
    return text;
}
