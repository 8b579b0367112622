/* SPDX-License-Identifier: Apache-2.0 */
/* test_exchanges.c: replays the exchanges recorded from kube-apiserver 1.36.2 and compares the
 * answers.
 *
 * tests/data/kube-1.36: each file is one request with its answer.  They are sent in order to fresh
 * simulators; status, body (message, reason, details), and the headers Content-Type, Warning and
 * Retry-After must be the same.  What the server chooses is compared by shape (replay.h).  Rows of
 * `exceptions` are not compared in full, each with its reason; `acts` are writes that were made
 * while an exchange was being recorded. */
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/replay.h"

#include <stdlib.h>
#include <string.h>

#define DEMO "/api/v1/namespaces/demo/services"

static const struct exception {
    int number;
    const char *reason;
} exceptions[] = {
    {3, "the simulator has fewer start-up checks to list"},
    {5, "the server's own address"},
    {10, "the recording is trimmed; proxy subresources are not served"},
    {11, "the recording is trimmed"},
    {54, "items are trimmed"},
    {55, "items are trimmed"},
    {56, "items are trimmed"},
    {61, "descriptions of columns are our own; the cells are compared in test_lists.c"},
    {63, "the port of the server itself is a target port"},
    {64, "the body is trimmed"},
    {121, "the message is trimmed"},
    {131, "the token, its uid and credential id are invented"},
    {135, "certificates"},
    {164, "the recording is trimmed; hashes"},
    {165, "the recording is trimmed"},
};

static bool is_exception(int number)
{
    for (size_t i = 0; i < ARRAY_LEN(exceptions); i++) {
        if (exceptions[i].number == number) {
            return true;
        }
    }
    return false;
}

/* --- what happened while an exchange was recorded --------------------------------------------- */
static void demo_service(struct replay *r, const char *name)
{
    kf_expect(kf_do(r->f, "POST", DEMO, kf_service(r->f, name)), 201, name);
}

static void act_watched(struct replay *r)
{
    demo_service(r, "watched");
    kf_expect(kf_patch(r->f, DEMO "/watched/status", MERGE,
                       "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.20\"}]}}}"),
              200, "status");
    kf_expect(kf_do(r->f, "DELETE", DEMO "/watched", NULL), 200, "delete");
}

static void act_label(struct replay *r)
{
    kf_expect(kf_patch(r->f, DEMO "/dualp", MERGE, "{\"metadata\":{\"labels\":{\"pick\":\"me\"}}}"),
              200, "label");
    kf_expect(kf_patch(r->f, DEMO "/dualp", MERGE, "{\"metadata\":{\"labels\":null}}"), 200,
              "unlabel");
}

/* A restart with compaction, as far as clients can tell. */
static void act_restart(struct replay *r)
{
    struct kf_call *page = kf_do(r->f, "GET", DEMO "?limit=1", NULL);
    json_object_object_add(
        r->seen, "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MzY3LCJzdGFydCI6Ii8xYmFkXHUwMDAwIn0",
        json_object_new_string(kf_text(page, "metadata.continue")));
    kf_expect(
        kf_patch(r->f, DEMO "/dualp", MERGE, "{\"metadata\":{\"annotations\":{\"n\":\"12\"}}}"),
        200, "annotate");
    struct kf_call *state = kf_do(r->f, "GET", "/sim/state", NULL);
    kf_expect(kf_do(r->f, "PUT", "/sim/state", state->body), 200, "load");
}

static const struct act {
    int number;
    void (*before)(struct replay *r);
    void (*during)(struct replay *r);
} acts[] = {
    {136, NULL, act_watched},
    {145, NULL, act_label},
    {149, act_restart, NULL},
};

static const struct act *act_of(int number)
{
    for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
        if (acts[i].number == number) {
            return &acts[i];
        }
    }
    return NULL;
}

/* --- comparing -------------------------------------------------------------------------------- */
/* Where two trees differ first, as text; NULL when they do not. */
static const char *difference(struct arena *a, const char *path, struct json_object *want,
                              struct json_object *got)
{
    const char *found = NULL;
    if (want && got && json_equal(want, got)) {
        return NULL;
    }
    if (json_object_is_type(want, json_type_object) && json_object_is_type(got, json_type_object)) {
        json_object_object_foreach(want, key, value)
        {
            const char *below = arena_printf(a, "%s.%s", path, key);
            found = found ? found : difference(a, below, value, json_member(got, key));
        }
    } else if (json_len(want) > 0 && json_len(want) == json_len(got)) {
        for (size_t i = 0; i < json_len(want) && !found; i++) {
            found =
                difference(a, arena_printf(a, "%s[%zu]", path, i),
                           json_object_array_get_idx(want, i), json_object_array_get_idx(got, i));
        }
    }
    return found || (!want && !got)
               ? found
               : arena_printf(a, "%s (%zu, %zu items):\n want %.400s\n got  %.400s", path,
                              json_len(want), json_len(got), json_text(a, want, JSON_SORTED),
                              json_text(a, got, JSON_SORTED));
}

static void same_tree(struct replay *r, const char *name, struct json_object *recorded,
                      struct json_object *ours)
{
    struct json_object *want = replay_normal(r->a, recorded);
    struct json_object *got = replay_normal(r->a, ours);
    const char *text = difference(r->a, name, want, got);
    if (text) {
        fail_msg("%s", text);
    }
    json_object_put(want);
    json_object_put(got);
}

static void same_header(struct replay *r, const char *name, struct json_object *headers,
                        const struct kf_call *c, const char *header)
{
    const char *want = json_str(headers, header);
    if (want && !strstr(c->headers, arena_printf(r->a, "%s: %s\r\n", header, want))) {
        fail_msg("%s: want header %s: %s, got\n%s", name, header, want, c->headers);
    }
}

static void same_answer(struct replay *r, const char *name, struct json_object *want,
                        struct kf_call *c)
{
    struct json_object *headers = json_member(want, "headers");
    struct json_object *lines = json_member(want, "lines");
    struct json_object *body = json_member(want, "body");
    same_header(r, name, headers, c, "Content-Type");
    same_header(r, name, headers, c, "Warning");
    same_header(r, name, headers, c, "Retry-After");
    if (lines) {
        replay_learn(r, lines, c->lines);
        same_tree(r, name, lines, c->lines);
    } else if (json_object_is_type(body, json_type_string)) {
        assert_string_equal(json_object_get_string(body), c->body);
    } else {
        same_tree(r, name, body, c->json);
    }
}

static void replay_one(struct replay *r, int number, const char *more_headers)
{
    const char *name = NULL;
    struct json_object *o = replay_load(r->a, number, &name);
    struct json_object *request = json_member(o, "request");
    struct json_object *want = json_member(o, "response");
    const struct act *act = act_of(number);
    if (act && act->before) {
        act->before(r);
    }
    struct kf_call *c =
        kf_send(r->f, json_str(request, "method"), replay_target(r, request),
                arena_printf(r->a, "%s%s", replay_headers(r, request), more_headers),
                replay_body(r, request));
    if (act && act->during) {
        kf_settle(r->f);
        act->during(r);
    }
    kf_wait(r->f, c);
    kf_expect(c, (int)json_int(want, "status", 0), name);
    replay_learn(r, json_member(want, "body"), c->json);
    if (!is_exception(number)) {
        same_answer(r, name, want, c);
    }
}

static struct replay start(const struct sim_config *cfg)
{
    struct replay r = {.f = kf_start(cfg), .seen = json_object_new_object()};
    r.a = r.f->a;
    return r;
}

static void stop(struct replay *r)
{
    json_object_put(r->seen);
    kf_stop(r->f);
}

static void exchanges__one_server__same_answers(void **state)
{
    (void)state;
    struct replay r = start(NULL);
    for (int n = 1; n <= 152; n++) {
        if ((n < 126 || n > 134) && n != 147) {
            replay_one(&r, n, "");
        }
    }
    stop(&r);
}

static void exchanges__with_roles__same_refusals(void **state)
{
    (void)state;
    char *rbac = xasprintf("%s/sim/rbac.yaml", getenv("TRIMTAB_TEST_DATA"));
    struct sim_config cfg = {.rbac = rbac};
    struct replay r = start(&cfg);
    for (int n = 126; n <= 134; n++) {
        replay_one(&r, n, n >= 131 ? "Authorization: Bearer sim-admin\r\n" : "");
    }
    replay_one(&r, 147, "");
    stop(&r);
    free(rbac);
}

static void exchanges__dual_stack__same_answers(void **state)
{
    (void)state;
    struct sim_config cfg = {.ipv4 = true, .ipv6 = true};
    struct replay r = start(&cfg);
    kf_expect(kf_do(r.f, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"demo\"}}"), 201,
              "demo");
    for (int n = 153; n <= 165; n++) {
        replay_one(&r, n, "");
    }
    stop(&r);
}

UNIT_MAIN(exchanges)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges__one_server__same_answers),
        cmocka_unit_test(exchanges__with_roles__same_refusals),
        cmocka_unit_test(exchanges__dual_stack__same_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
