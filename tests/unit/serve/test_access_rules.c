/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the pure rules of access: paths, tokens, users, headers, questions and answers, retries.
 * controller.md §3.6. */
#include "tests/unit/serve/access_kit.h"

#include <string.h>

#include "common/base/str.h"
#include "controller/serve/access_header_rules.h"
#include "controller/serve/access_review_rules.h"
#include "controller/serve/access_rules.h"
#include "tests/support/unit.h"

#define LIST(...)                                                                                  \
    ((struct option_list){.items = (const char *const[]){__VA_ARGS__},                             \
                          .n = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)})

/* --- paths ------------------------------------------------------------------------------------ */

static void paths__table(void **state)
{
    (void)state;
    const struct option_list usual = LIST("/healthz", "/readyz", "/livez");
    const struct option_list more = LIST("debug/*", "/", "x*");
    const struct option_list all = LIST("*");
    const struct option_list none = {0};
    const struct {
        const struct option_list *open;
        const char *path;
        bool want;
    } rows[] = {
        {&usual, "/healthz", true},
        {&usual, "healthz", true},
        {&usual, "/healthz/", false},
        {&usual, "/healthz/ping", false},
        {&usual, "//healthz", false},
        {&usual, "/Healthz", false},
        {&usual, "/metrics", false},
        {&usual, "/", false},
        {&more, "/debug/pprof", true},
        {&more, "/debug/", true},
        {&more, "/debug", false},
        {&more, "/", true},
        {&more, "", true},
        {&more, "/xylophone", true},
        {&more, "/healthz", false},
        {&all, "/metrics", true},
        {&none, "/healthz", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (access_path_is_open(rows[i].open, rows[i].path) != rows[i].want) {
            fail_msg("row %zu: \"%s\" is %sopen", i, rows[i].path, rows[i].want ? "not " : "");
        }
    }
}

static void paths__star_in_the_middle__is_refused_at_the_start(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    const struct option_list bad = LIST("/healthz", "/a*b");
    const struct option_list good = LIST("/a*", "*", "/");
    assert_int_equal(access_check_paths(&bad, &err), ERR_INVALID);
    assert_string_equal(err.message, "--authorization-always-allow-paths: only trailing * allowed "
                                     "in \"/a*b\"");
    assert_int_equal(access_check_paths(&good, NULL), ERR_OK);
}

/* --- tokens and users ------------------------------------------------------------------------- */

static void bearer__table(void **state)
{
    const struct {
        const char *header;
        const char *token;
    } rows[] = {
        {NULL, NULL},
        {"", NULL},
        {"Bearer abc", "abc"},
        {"bearer abc", "abc"},
        {"BEARER abc ", "abc"},
        {"  Bearer abc", "abc"},
        {"Bearer abc d", "abc"},
        {"Bearer", NULL},
        {"Bearer ", NULL},
        {"Bearer  abc", NULL},
        {"Basic abc", NULL},
        {"Bearerabc", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *token = access_bearer(*state, rows[i].header);
        if (!str_eq(token, rows[i].token)) {
            fail_msg("row %zu: want %s, got %s", i, str_or(rows[i].token, "none"),
                     str_or(token, "none"));
        }
    }
}

static void users__authenticated_group__is_added_once_and_not_to_anonymous(void **state)
{
    const char *const two[] = {"a", "b"};
    const char *const has[] = {"system:authenticated", "b"};
    struct access_user u = {.name = "x", .uid = "", .groups = two, .n_groups = 2};
    struct access_user out = access_with_authenticated(*state, &u);
    assert_int_equal(out.n_groups, 3);
    assert_string_equal(out.groups[0], "a");
    assert_string_equal(out.groups[2], "system:authenticated");
    u.groups = has;
    assert_int_equal(access_with_authenticated(*state, &u).n_groups, 2);
    out = access_with_authenticated(*state, &access_anonymous);
    assert_int_equal(out.n_groups, 1);
    assert_string_equal(out.groups[0], "system:unauthenticated");
}

static void users__kinds_for_metrics(void **state)
{
    (void)state;
    assert_string_equal(access_user_bucket("admin"), "admin");
    assert_string_equal(access_user_bucket("kubelet"), "kubelet");
    assert_string_equal(access_user_bucket("system:serviceaccount:kube-system:default"),
                        "system:serviceaccount:kube-system:default");
    assert_string_equal(access_user_bucket("joe@example.com"), "email_id");
    assert_string_equal(access_user_bucket("system:anonymous"), "other");
}

static void texts__forbidden(void **state)
{
    assert_string_equal(access_forbidden_text(*state, "bob", "get", "/metrics", ""),
                        "forbidden: User \"bob\" cannot get path \"/metrics\"");
    assert_string_equal(access_forbidden_text(*state, "bob", "get", "/metrics", "no role"),
                        "forbidden: User \"bob\" cannot get path \"/metrics\": no role");
    assert_string_equal(access_forbidden_text(*state, "<b>", "put", "/a&b\n", NULL),
                        "forbidden: User \"&lt;b&gt;\" cannot put path \"/a&amp;b\\n\"");
}

/* --- headers of the proxy --------------------------------------------------------------------- */

static const struct access_header_names usual_names = {
    .user = {.items = (const char *const[]){"X-Remote-User", "x-other-user"}, .n = 2},
    .uid = {.items = (const char *const[]){"x-remote-uid"}, .n = 1},
    .groups = {.items = (const char *const[]){"x-remote-group", "x-more-groups"}, .n = 2},
    .extra = {.items = (const char *const[]){"x-remote-extra-", ""}, .n = 2},
};

static void headers__user_groups_and_extra__are_taken_as_upstream_takes_them(void **state)
{
    static const struct kit_header sent[] = {
        {"x-remote-user", ""},
        {"X-OTHER-USER", "alice"},
        {"X-Remote-Group", "dev"},
        {"x-more-groups", "late"},
        {"x-remote-group", ""},
        {"X-Remote-GROUP", "ops"},
        {"X-Remote-Extra-Scopes", "a"},
        {"x-remote-extra-acme.com%2Fproject", "p"},
        {"x-remote-extra-scopes", "b"},
        {"x-remote-extra-bad%zz", "v"},
        {"x-remote-uid", "u-1"},
        {"Authorization", "Bearer secret"},
        {NULL, NULL},
    };
    struct access_request req = kit_request(*state, "GET", "/metrics", sent);
    struct access_user u;
    struct err err = ERR_INIT;
    assert_true(access_header_user(&req, &usual_names, &u, &err));
    const char *body = access_subject_body(*state, &u, "/metrics", "get");
    assert_string_equal(
        strstr(body, "\"user\""),
        "\"user\":\"alice\",\"groups\":[\"dev\",\"ops\",\"late\"],"
        "\"extra\":{\"acme.com/project\":[\"p\"],\"bad%zz\":[\"v\"],\"scopes\":[\"a\",\"b\"]},"
        "\"uid\":\"u-1\"},\"status\":{\"allowed\":false}}");
}

static void headers__no_name__is_nobody(void **state)
{
    static const struct kit_header sent[] = {{"X-Remote-Group", "system:masters"}, {NULL, NULL}};
    struct access_request req = kit_request(*state, "GET", "/metrics", sent);
    struct access_user u;
    struct err err = ERR_INIT;
    assert_false(access_header_user(&req, &usual_names, &u, &err));
    assert_int_equal(err.code, ERR_OK);
}

static void headers__too_many_or_too_long__are_an_error(void **state)
{
    struct arena *a = *state;
    struct kit_header *sent = ARENA_ARRAY(a, struct kit_header, ACCESS_GROUPS_MAX + 3);
    sent[0] = (struct kit_header){"x-remote-user", "alice"};
    for (int i = 1; i <= ACCESS_GROUPS_MAX; i++) {
        sent[i] = (struct kit_header){"x-remote-group", "g"};
    }
    struct access_request req = kit_request(a, "GET", "/metrics", sent);
    struct access_user u;
    struct err err = ERR_INIT;
    assert_true(access_header_user(&req, &usual_names, &u, &err));
    assert_int_equal(u.n_groups, ACCESS_GROUPS_MAX);
    sent[ACCESS_GROUPS_MAX + 1] = (struct kit_header){"x-remote-group", "g"};
    assert_false(access_header_user(&req, &usual_names, &u, &err));
    assert_int_equal(err.code, ERR_INVALID);

    char *name = ARENA_ARRAY(a, char, ACCESS_NAME_MAX + 2);
    memset(name, 'x', ACCESS_NAME_MAX + 1);
    const struct kit_header one[] = {{"x-remote-user", name}, {NULL, NULL}};
    req = kit_request(a, "GET", "/metrics", one);
    err_clear(&err);
    assert_false(access_header_user(&req, &usual_names, &u, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

static void headers__names_of_the_proxy(void **state)
{
    (void)state;
    struct access_header_names names = {0};
    assert_true(access_header_cn_allowed(&names, "anything"));
    names.allowed = LIST("front-proxy-client", "aggregator");
    assert_true(access_header_cn_allowed(&names, "aggregator"));
    assert_false(access_header_cn_allowed(&names, "Aggregator"));
    assert_false(access_header_cn_allowed(&names, ""));
}

/* --- questions -------------------------------------------------------------------------------- */

/* As recorded from a Go controller (client-requests.jsonl, last two lines). */
static void bodies__are_upstreams(void **state)
{
    assert_string_equal(
        access_subject_body(*state, &access_anonymous, "/metrics", "get"),
        "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
        "\"metadata\":{},\"spec\":{\"nonResourceAttributes\":{\"path\":\"/metrics\",\"verb\":"
        "\"get\"},\"user\":\"system:anonymous\",\"groups\":[\"system:unauthenticated\"]},"
        "\"status\":{\"allowed\":false}}");
    assert_string_equal(access_token_body(*state, "nope"),
                        "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\","
                        "\"metadata\":{},\"spec\":{\"token\":\"nope\"},\"status\":{\"user\":{}}}");
    assert_non_null(strstr(access_token_body(*state, "a\"b\n"), "\"token\":\"a\\\"b\\n\""));
}

/* --- answers ---------------------------------------------------------------------------------- */

#define TOKEN(status)   "{\"kind\":\"TokenReview\",\"status\":" status "}"
#define SUBJECT(status) "{\"kind\":\"SubjectAccessReview\",\"status\":" status "}"

static void token_answer__recorded(void **state)
{
    /* Exchanges 131 and 132. */
    static const char ok[] =
        TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"system:serviceaccount:demo:bob\","
              "\"uid\":\"23f9246a\",\"groups\":[\"system:serviceaccounts\","
              "\"system:authenticated\"],\"extra\":{\"b\":[\"2\",\"3\"],"
              "\"authentication.kubernetes.io/credential-id\":[\"JTI=8e\"]}},"
              "\"audiences\":[\"https://kubernetes.default.svc\"]}");
    static const char bad[] = TOKEN("{\"user\":{},\"error\":\"invalid bearer token\"}");
    struct access_token_answer x;
    struct err err = ERR_INIT;
    assert_int_equal(access_token_read(*state, ok, strlen(ok), &x, &err), ERR_OK);
    assert_true(x.authenticated);
    assert_string_equal(x.user.name, "system:serviceaccount:demo:bob");
    assert_string_equal(x.user.uid, "23f9246a");
    assert_int_equal(x.user.n_groups, 2);
    assert_int_equal(x.user.n_extra, 2);
    assert_string_equal(x.user.extra[0].key, "authentication.kubernetes.io/credential-id");
    assert_string_equal(x.user.extra[1].values[1], "3");
    assert_int_equal(access_token_read(*state, bad, strlen(bad), &x, &err), ERR_OK);
    assert_false(x.authenticated);
    assert_string_equal(x.error, "invalid bearer token");
}

static void answers__lies__are_errors_and_quote_nothing(void **state)
{
    static const char *const tokens[] = {
        "",
        "<html>secret</html>",
        "[]",
        "null",
        "{}",
        "\"secret\"",
        "{\"kind\":\"Status\",\"status\":\"Success\"}",
        "{\"kind\":\"TokenReview\"}",
        TOKEN("\"secret\""),
        TOKEN("{\"authenticated\":\"true\"}"),
        TOKEN("{\"authenticated\":1}"),
        TOKEN("{\"authenticated\":true}"),
        TOKEN("{\"authenticated\":true,\"user\":\"secret\"}"),
        TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"\"}}"),
        TOKEN("{\"authenticated\":true,\"user\":{\"username\":[\"secret\"]}}"),
        TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"x\",\"groups\":\"secret\"}}"),
        TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"x\",\"groups\":[1]}}"),
        TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"x\",\"extra\":[]}}"),
        TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"x\",\"extra\":{\"k\":\"v\"}}}"),
        TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"x\",\"extra\":{\"k\":[{}]}}}"),
        TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"x\"}} trailing"),
        TOKEN("{\"authenticated\":false,\"authenticated\":true,\"user\":{\"username\":\"x\"}}"),
        SUBJECT("{\"allowed\":true}"),
    };
    static const char *const subjects[] = {
        "<html>",
        "{}",
        "{\"kind\":\"SubjectAccessReview\"}",
        SUBJECT("true"),
        SUBJECT("{\"allowed\":\"true\"}"),
        SUBJECT("{\"allowed\":1}"),
        SUBJECT("{\"allowed\":true,\"denied\":true}"),
        SUBJECT("{\"allowed\":true,\"reason\":{}}"),
        TOKEN("{\"authenticated\":true}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
        struct access_token_answer x;
        struct err err = ERR_INIT;
        if (access_token_read(*state, tokens[i], strlen(tokens[i]), &x, &err) != ERR_INVALID ||
            strstr(err.message, "secret") != NULL) {
            fail_msg("token answer %zu: %s", i, err.message);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
        struct access_subject_answer x;
        struct err err = ERR_INIT;
        if (access_subject_read(*state, subjects[i], strlen(subjects[i]), &x, &err) !=
            ERR_INVALID) {
            fail_msg("access answer %zu: %s", i, err.message);
        }
    }
}

static const char *many_groups(struct arena *a, size_t n)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,\"user\":{"
                   "\"username\":\"x\",\"groups\":[\"g\"");
    for (size_t i = 1; i < n; i++) {
        str_append(&b, ",\"g\"");
    }
    str_append(&b, "]}}}");
    return str_buf_to_arena(&b, a);
}

static void answers__caps(void **state)
{
    struct access_token_answer x;
    const char *most = many_groups(*state, ACCESS_GROUPS_MAX);
    const char *more = many_groups(*state, ACCESS_GROUPS_MAX + 1);
    assert_int_equal(access_token_read(*state, most, strlen(most), &x, NULL), ERR_OK);
    assert_int_equal(access_token_read(*state, more, strlen(more), &x, NULL), ERR_INVALID);
    char *blanks = ARENA_ARRAY(*state, char, ACCESS_ANSWER_BYTES_MAX + 2);
    memset(blanks, ' ', ACCESS_ANSWER_BYTES_MAX + 1);
    memcpy(blanks, most, strlen(most));
    assert_int_equal(access_token_read(*state, blanks, ACCESS_ANSWER_BYTES_MAX, &x, NULL), ERR_OK);
    assert_int_equal(access_token_read(*state, blanks, ACCESS_ANSWER_BYTES_MAX + 1, &x, NULL),
                     ERR_INVALID);
}

static void subject_answer__recorded_and_with_reasons(void **state)
{
    const struct {
        const char *body;
        bool allowed;
        bool denied;
        const char *reason;
    } rows[] = {
        {SUBJECT("{\"allowed\":false}"), false, false, ""},
        {SUBJECT("{\"allowed\":true}"), true, false, ""},
        {SUBJECT("{}"), false, false, ""},
        {SUBJECT("{\"allowed\":false,\"denied\":true,\"reason\":\"not\\nyou\"}"), false, true,
         "not you"},
        {SUBJECT("{\"allowed\":true,\"reason\":\"RBAC: allowed\"}"), true, false, "RBAC: allowed"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct access_subject_answer x;
        assert_int_equal(access_subject_read(*state, rows[i].body, strlen(rows[i].body), &x, NULL),
                         ERR_OK);
        assert_int_equal(x.allowed, rows[i].allowed);
        assert_int_equal(x.denied, rows[i].denied);
        assert_string_equal(x.reason, rows[i].reason);
    }
}

/* --- retries ---------------------------------------------------------------------------------- */

static struct err failure(int status, const char *reason, int64_t retry_after_ms)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_TRANSIENT, "no");
    err.http_status = status;
    err.retry_after_ms = retry_after_ms;
    memcpy(err.reason, reason, strlen(reason) + 1);
    return err;
}

static void retries__back_off_of_upstream__five_tries(void **state)
{
    (void)state;
    static const int64_t waits[] = {500, 750, 1125, 1687};
    struct access_retry r;
    struct err err = failure(500, "InternalError", 0);
    int64_t now_ms = 1000;
    int64_t at_ms;
    access_retry_begin(&r, now_ms);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        assert_true(access_retry_next(&r, &err, now_ms, 0, &at_ms));
        assert_int_equal(at_ms - now_ms, waits[i]);
        now_ms = at_ms;
    }
    assert_false(access_retry_next(&r, &err, now_ms, 0, &at_ms));
    access_retry_begin(&r, now_ms);
    assert_true(access_retry_next(&r, &err, now_ms, 0.999, &at_ms));
    assert_in_range(at_ms - now_ms, 595, 600);
}

static void retries__what_is_worth_one(void **state)
{
    (void)state;
    const struct {
        int status;
        const char *reason;
        int64_t retry_after_ms;
        bool want;
    } rows[] = {
        {0, "broken", 0, true},  {0, "", 0, false},           {0, "untrusted", 0, false},
        {500, "", 0, true},      {504, "Timeout", 0, true},   {429, "", 0, true},
        {503, "", 0, false},     {503, "", 1000, true},       {403, "Forbidden", 0, false},
        {429, "", 60000, false}, {404, "NotFound", 0, false}, {200, "", 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct access_retry r;
        struct err err = failure(rows[i].status, rows[i].reason, rows[i].retry_after_ms);
        int64_t at_ms;
        access_retry_begin(&r, 0);
        if (access_retry_next(&r, &err, 0, 0, &at_ms) != rows[i].want) {
            fail_msg("row %zu: status %d", i, rows[i].status);
        }
    }
}

static void retries__own_401__is_tried_once_more_at_once(void **state)
{
    (void)state;
    struct access_retry r;
    struct err err = failure(401, "Unauthorized", 0);
    int64_t at_ms;
    access_retry_begin(&r, 7);
    assert_true(access_retry_next(&r, &err, 7, 0, &at_ms));
    assert_int_equal(at_ms, 7);
    assert_false(access_retry_next(&r, &err, 7, 0, &at_ms));
}

UNIT_MAIN(access_rules)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(paths__table),
        KIT_TEST(paths__star_in_the_middle__is_refused_at_the_start),
        KIT_TEST(bearer__table),
        KIT_TEST(users__authenticated_group__is_added_once_and_not_to_anonymous),
        KIT_TEST(users__kinds_for_metrics),
        KIT_TEST(texts__forbidden),
        KIT_TEST(headers__user_groups_and_extra__are_taken_as_upstream_takes_them),
        KIT_TEST(headers__no_name__is_nobody),
        KIT_TEST(headers__too_many_or_too_long__are_an_error),
        KIT_TEST(headers__names_of_the_proxy),
        KIT_TEST(bodies__are_upstreams),
        KIT_TEST(token_answer__recorded),
        KIT_TEST(answers__lies__are_errors_and_quote_nothing),
        KIT_TEST(answers__caps),
        KIT_TEST(subject_answer__recorded_and_with_reasons),
        KIT_TEST(retries__back_off_of_upstream__five_tries),
        KIT_TEST(retries__what_is_worth_one),
        KIT_TEST(retries__own_401__is_tried_once_more_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
