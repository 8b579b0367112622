/* SPDX-License-Identifier: Apache-2.0 */
/* amz_fixture.c: see amz_fixture.h.  The XML reader knows what the simulator writes, no more. */
#include "tests/unit/sim/aws/aws_fixture.h"

#include "sim/aws/aws.h"
#include "sim/aws/sigv4.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FORM "application/x-www-form-urlencoded; charset=utf-8"

static struct clock *test_clock; /* of the fixture that was started last */

struct fixture *amz_start(const char *name, const struct sim_config *cfg)
{
    struct sim_config c = cfg ? *cfg : (struct sim_config){.nodes = 3};
    const char *logs = getenv("TRIMTAB_AWS_LOGS");
    char *log = logs && name ? xasprintf("%s/%s.jsonl", logs, name) : NULL;
    c.cloud = "aws";
    c.traffic_log = log;
    test_clock = c.clock ? c.clock : clock_real();
    struct fixture *f = fixture_start(&c);
    free(log);
    f->token = NULL;
    return f;
}

/* --- reading XML ------------------------------------------------------------------------------ */

static struct json_object *read_text(struct arena *a, const char *from, size_t n)
{
    static const char *const entities[][2] = {
        {"&lt;", "<"},   {"&gt;", ">"},   {"&quot;", "\""},
        {"&#x9;", "\t"}, {"&#xA;", "\n"}, {"&amp;", "&"}, /* last */
    };
    const char *text = arena_strndup(a, from, n);
    for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
        text = str_replace(a, text, entities[i][0], entities[i][1]);
    }
    return json_object_new_string(text);
}

static struct json_object *read_children(struct arena *a, const char **at);

/* The element at *at: its value; *ret_name is its name. */
static struct json_object *read_element(struct arena *a, const char **at, const char **ret_name)
{
    assert_int_equal(**at, '<');
    const char *end = strchr(*at, '>');
    assert_non_null(end);
    *ret_name = arena_strndup(a, *at + 1, strcspn(*at + 1, " />"));
    bool empty = end[-1] == '/';
    *at = end + 1;
    if (empty) {
        return json_object_new_string("");
    }
    struct json_object *value = NULL;
    if (**at == '<' && (*at)[1] != '/') {
        value = read_children(a, at);
    } else {
        size_t n = strcspn(*at, "<");
        value = read_text(a, *at, n);
        *at += n;
    }
    const char *closing = arena_printf(a, "</%s>", *ret_name);
    assert_true(str_has_prefix(*at, closing));
    *at += strlen(closing);
    return value;
}

static struct json_object *read_children(struct arena *a, const char **at)
{
    struct json_object *o = json_object_new_object(), *list = json_object_new_array();
    bool only_items = true;
    while (**at == '<' && (*at)[1] != '/') {
        const char *name = NULL;
        struct json_object *value = read_element(a, at, &name);
        only_items = only_items && (str_eq(name, "item") || str_eq(name, "member"));
        json_object_array_add(list, json_object_get(value));
        json_add(o, name, value);
    }
    json_object_put(only_items ? o : list);
    return only_items ? list : o;
}

static void put_json(void *o)
{
    json_object_put(o);
}

/* The answer as JSON, without what wraps it. */
static struct json_object *read_xml(struct fixture *f, const char *action)
{
    const char *at = f->text, *name = NULL;
    if (str_has_prefix(at, "<?xml")) {
        at = strchr(at, '\n') + 1;
    }
    if (*at != '<') {
        return NULL;
    }
    struct json_object *o = read_element(f->a, &at, &name);
    arena_defer(f->a, put_json, o);
    struct json_object *error = json_member(o, "Error"), *errors = json_member(o, "Errors");
    struct json_object *result = json_member(o, arena_printf(f->a, "%sResult", action));
    return error ? error : errors ? json_member(errors, "Error") : result ? result : o;
}

static struct json_object *find(struct fixture *f, const char *path)
{
    size_t n = 0;
    char **parts = str_split(f->a, path, '.', &n);
    struct json_object *o = f->answer;
    for (size_t i = 0; i < n; i++) {
        int64_t index;
        o = !json_object_is_type(o, json_type_array) ? json_member(o, parts[i])
            : str_to_i64(parts[i], &index) && index >= 0 && index < (int64_t)json_len(o)
                ? json_object_array_get_idx(o, (size_t)index)
                : NULL;
    }
    return o;
}

const char *amz_text(struct fixture *f, const char *path)
{
    struct json_object *o = find(f, path);
    return o ? arena_strdup(f->a, json_object_get_string(o)) : "";
}

bool amz_has(struct fixture *f, const char *path)
{
    return find(f, path) != NULL;
}

size_t amz_len(struct fixture *f, const char *path)
{
    return json_len(find(f, path));
}

const char *amz_code(struct fixture *f)
{
    return str_nonnull(json_str(f->answer, "Code"));
}

/* --- calling ---------------------------------------------------------------------------------- */

static enum amz_service service_of(const char *key)
{
    for (int i = 0; i < AMZ_SERVICES_MAX; i++) {
        if (str_eq(amz_dialects[i].key, key)) {
            return (enum amz_service)i;
        }
    }
    fail_msg("no service %s", key);
    return AMZ_EC2;
}

/* The headers of the request that are signed. */
struct signed_headers {
    const char *host, *date, *session;
};

static const char *header_of(void *arg, const char *name)
{
    struct signed_headers *h = arg;
    return str_eq(name, "content-type")           ? FORM
           : str_eq(name, "host")                 ? h->host
           : str_eq(name, "x-amz-date")           ? h->date
           : str_eq(name, "x-amz-security-token") ? h->session
                                                  : NULL;
}

static const char *amz_date(struct fixture *f, int64_t ahead_s)
{
    char text[32];
    time_t at = (time_t)(clock_wall_s(test_clock) + ahead_s);
    struct tm tm;
    gmtime_r(&at, &tm);
    (void)strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
    return arena_strdup(f->a, text);
}

/* The header Authorization for a form body. */
static const char *sign(struct fixture *f, const struct amz_signer *who, enum amz_service service,
                        const char *date, const char *body)
{
    struct arena *a = f->a;
    const char *names[] = {"content-type", "host", "x-amz-date", "x-amz-security-token"};
    size_t n = who->session ? 4 : 3;
    if (who->without_date) {
        n = 2;
    }
    struct signed_headers h = {
        .host = str_or(who->host, f->url + strlen("http://")),
        .date = date,
        .session = who->session,
    };
    const struct amz_authorization auth = {
        .access_key = str_or(who->access_key, AMZ_ACCESS_KEY),
        .date = str_or(who->scope_date, arena_strndup(a, date, 8)),
        .region = str_or(who->region, "us-east-1"),
        .service = str_or(who->scope, amz_dialects[service].scope),
        .headers = names,
        .n_headers = n,
    };
    const struct amz_message m = {
        .method = "POST",
        .path = "/",
        .body = body,
        .body_len = strlen(body),
        .header = header_of,
        .arg = &h,
    };
    return arena_printf(a,
                        "Authorization: AWS4-HMAC-SHA256 Credential=%s/%s/%s/%s/aws4_request, "
                        "SignedHeaders=%s, Signature=%s",
                        auth.access_key, auth.date, auth.region, auth.service,
                        str_join(a, names, n, ";"),
                        amz_signature(a, &m, &auth, date, str_or(who->secret, AMZ_SECRET_KEY)));
}

int amz_call_as(struct fixture *f, const struct amz_signer *who, const char *service,
                const char *action, const char *params)
{
    enum amz_service s = service_of(service);
    const char *body =
        arena_printf(f->a, "Action=%s&Version=%s%s%s", action, amz_dialects[s].version,
                     params ? "&" : "", str_nonnull(params));
    const char *date = str_or(who->amz_date, amz_date(f, who->ahead_s));
    const char *headers[] = {
        "Content-Type: " FORM,
        arena_printf(f->a, "X-Amz-Date: %s", date),
        sign(f, who, s, date, body),
        who->session ? arena_printf(f->a, "X-Amz-Security-Token: %s", who->session) : NULL,
        NULL,
    };
    f->headers = headers;
    int status = fixture_call(f, "POST", "/", body);
    f->headers = NULL;
    f->answer = status > 0 ? read_xml(f, action) : NULL;
    return status;
}

int amz_call(struct fixture *f, const char *service, const char *action, const char *params)
{
    const struct amz_signer usual = {0};
    return amz_call_as(f, &usual, service, action, params);
}

void amz_expect(struct fixture *f, const char *what, int got, int want, const char *code)
{
    if (got != want || (code && !str_eq(amz_code(f), code))) {
        fail_msg("%s: got %d %s, want %d %s: %s", what, got, amz_code(f), want, str_nonnull(code),
                 f->text);
    }
}

void amz_must(struct fixture *f, const char *service, const char *action, const char *params)
{
    int status = amz_call(f, service, action, params);
    amz_expect(f, arena_printf(f->a, "%s %s", action, str_nonnull(params)), status, 200, NULL);
}

void amz_check_refusals(struct fixture *f, const struct amz_row *rows, size_t n)
{
    fixture_must(f, "GET", "/sim/state", NULL);
    const char *before = arena_strdup(f->a, f->text);
    for (size_t i = 0; i < n; i++) {
        const struct amz_row *r = &rows[i];
        int status = amz_call(f, r->service, r->action, r->params);
        amz_expect(f, r->what, status, r->status, r->code);
        if (r->text && !strstr(amz_text(f, "Message"), r->text)) {
            fail_msg("%s: \"%s\" is not in %s", r->what, r->text, f->text);
        }
    }
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(f->text, before);
}

void amz_settings(struct fixture *f, const char *json)
{
    fixture_must(f, "PUT", "/sim/settings/aws", json);
}

struct json_object *amz_world(struct fixture *f, const char *path)
{
    fixture_must(f, "GET", "/sim/state", NULL);
    return json_path(json_member(f->answer, "aws"), path);
}
