/* SPDX-License-Identifier: Apache-2.0 */
/* test_answers.c: many small requests, each with what kube-apiserver 1.36.2 answered to it
 * (tests/data/kube-answers).
 *
 * A file is one session: its rows are sent in order to one fresh simulator.  Values that a server
 * chooses (uids, versions, addresses, ports, times) are compared as words and quoted
 * back by replay.c. */
#include "common/base/file.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/replay.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES (4 << 20)

/* Difference between the recorded answer and the simulator's, or NULL.  Members that the row leaves
 * out may be anything. */
static const char *difference(struct replay *r, struct json_object *want, struct kf_call *got)
{
    int status = (int)json_int(want, "status", 0);
    struct json_object *body = json_member(want, "body");
    if (got->status != status) {
        return arena_printf(r->a, "status %d, want %d: %s", got->status, status,
                            got->body ? got->body : "");
    }
    json_object_object_foreach(body, name, value)
    {
        struct json_object *wanted = json_object_new_object();
        struct json_object *ours = json_object_new_object();
        json_object_object_add(wanted, name, json_object_get(value));
        json_object_object_add(ours, name, json_object_get(json_member(got->json, name)));
        struct json_object *a = replay_normal(r->a, wanted);
        struct json_object *b = replay_normal(r->a, ours);
        bool same = json_equal(a, b);
        const char *text =
            same ? NULL
                 : arena_printf(r->a, "\n  got  %s\n  want %s", json_text(r->a, b, JSON_COMPACT),
                                json_text(r->a, a, JSON_COMPACT));
        json_object_put(a);
        json_object_put(b);
        json_object_put(wanted);
        json_object_put(ours);
        if (text) {
            return text;
        }
    }
    return NULL;
}

/* Sends one row; true when it is answered as recorded, or when nothing is recorded. */
static bool run_row(struct replay *r, const char *line)
{
    struct json_object *row = NULL;
    assert_int_equal(json_parse_arena(r->a, line, strlen(line), NULL, &row, NULL), 0);
    struct json_object *request = json_member(row, "request");
    struct json_object *want = json_member(row, "response");
    const char *headers = json_member(request, "headers") ? replay_headers(r, request) : NULL;
    struct kf_call *c = kf_send(r->f, json_str(request, "method"), replay_target(r, request),
                                headers, replay_body(r, request));
    kf_wait(r->f, c);
    if (!want) {
        return true;
    }
    replay_learn(r, json_member(want, "body"), c->json);
    const char *text = difference(r, want, c);
    if (text) {
        print_error("%s: %s %s: %s\n", json_str(row, "name"), json_str(request, "method"),
                    json_str(request, "path"), text);
    }
    return text == NULL;
}

static void run_file(const char *name)
{
    struct kf *f = kf_start(NULL);
    struct replay r = {.f = f, .a = f->a, .seen = json_object_new_object()};
    const char *path = arena_printf(f->a, "%s/kube-answers/%s", getenv("TRIMTAB_TEST_DATA"), name);
    char *text = NULL;
    size_t n = 0;
    size_t n_lines = 0;
    size_t wrong = 0;
    assert_int_equal(file_read(f->a, path, FILE_MAX_BYTES, &text, &n, NULL), 0);
    char **lines = str_split(f->a, text, '\n', &n_lines);
    assert_true(n_lines > 50);
    for (size_t i = 0; i < n_lines; i++) {
        wrong += *lines[i] && !run_row(&r, lines[i]);
    }
    json_object_put(r.seen);
    kf_stop(f);
    assert_int_equal(wrong, 0);
}

static void answers__new_services__are_the_servers(void **state)
{
    (void)state;
    run_file("services.jsonl");
}

static void answers__other_new_objects__are_the_servers(void **state)
{
    (void)state;
    run_file("objects.jsonl");
}

static void answers__updates_and_deletions__are_the_servers(void **state)
{
    (void)state;
    run_file("updates.jsonl");
}

static void answers__lists_and_paths__are_the_servers(void **state)
{
    (void)state;
    run_file("lists.jsonl");
}

UNIT_MAIN(answers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers__new_services__are_the_servers),
        cmocka_unit_test(answers__other_new_objects__are_the_servers),
        cmocka_unit_test(answers__updates_and_deletions__are_the_servers),
        cmocka_unit_test(answers__lists_and_paths__are_the_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
