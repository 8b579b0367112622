/* SPDX-License-Identifier: Apache-2.0 */
/* frame_control.c: counts, nodes, batches, logs and the command line.
 *
 * Source: interfaces.md, "trimtab-sim". */
#include "common/base/file.h"
#include "sim/program.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void calls__every_request__counts_by_operation(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"a\"}");
    const char *link = fixture_text(f, "selfLink");
    fixture_must(f, "POST", arena_printf(f->a, "%s/wait", strstr(link, "/compute/v1/")), NULL);
    fixture_call(f, "GET", R "/addresses/none", NULL);
    fixture_call(f, "GET", P "/nothing/at/all", NULL);
    fixture_must(f, "GET", "/sim/calls", NULL);
    struct json_object *gce = json_member(f->answer, "gce");
    assert_int_equal(json_int(gce, "compute.addresses.insert", 0), 1);
    assert_int_equal(json_int(gce, "compute.regionOperations.wait", 0), 1);
    assert_int_equal(json_int(gce, "compute.addresses.get", 0), 1);
    assert_int_equal(json_int(gce, "unknown", 0), 1);
    assert_int_equal(json_int(json_member(f->answer, "metadata"), "token", 0), 1);
    fixture_must(f, "DELETE", "/sim/calls", NULL);
    fixture_must(f, "GET", "/sim/calls", NULL);
    assert_int_equal(json_object_object_length(json_member(f->answer, "gce")), 0);
    fixture_stop(f);
}

static void nodes__added_and_removed__are_instances_too(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 2});
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":2}");
    struct json_object *names = json_member(f->answer, "nodes");
    assert_string_equal(json_object_get_string(json_object_array_get_idx(names, 0)), "node-2");
    fixture_must(f, "GET", P "/zones/us-central1-c/instances/node-2", NULL);
    fixture_must(f, "DELETE", "/sim/nodes/node-2", NULL);
    assert_int_equal(fixture_call(f, "GET", P "/zones/us-central1-c/instances/node-2", NULL), 404);
    assert_int_equal(fixture_call(f, "DELETE", "/sim/nodes/node-2", NULL), 404);
    assert_int_equal(fixture_call(f, "POST", "/sim/nodes", "{\"count\":0}"), 400);
    fixture_stop(f);
}

static void control__unknown_paths__say_so(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    assert_int_equal(fixture_call(f, "GET", "/sim/nothing", NULL), 404);
    assert_int_equal(fixture_call(f, "PATCH", "/sim/state", NULL), 405);
    assert_int_equal(fixture_call(f, "GET", "/nowhere", NULL), 404);
    assert_int_equal(fixture_call(f, "GET", "/nowhere?a=%zz", NULL), 400);
    fixture_stop(f);
}

#define PART(id, request, body)                                                                    \
    "--part\r\nContent-Type: application/http\r\nContent-ID: <" id ">\r\n\r\n" request             \
    " HTTP/1.1\r\n\r\n" body "\r\n"

static void batch__parts__are_calls_of_their_own(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    int status = fixture_call(f, "POST", "/batch/compute/v1",
                              PART("x + 1", "POST " R "/addresses", "{\"name\":\"a\"}")
                                  PART("x + 2", "GET " R "/addresses/none", "") "--part--\r\n");
    assert_int_equal(status, 200);
    assert_non_null(strstr(f->text, "Content-ID: <response-x + 1>\r\n\r\nHTTP/1.1 200"));
    assert_non_null(strstr(f->text, "Content-ID: <response-x + 2>\r\n\r\nHTTP/1.1 404"));
    fixture_must(f, "GET", "/sim/calls", NULL);
    struct json_object *gce = json_member(f->answer, "gce");
    assert_int_equal(json_int(gce, "compute.addresses.insert", 0), 1);
    assert_int_equal(json_int(gce, "compute.addresses.get", 0), 1);
    static const char *const broken[] = {"--part--\r\n", "--part\r\nno request\r\n--part--\r\n",
                                         PART("1", "GET " P "/zones", "")};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        assert_int_equal(fixture_call(f, "POST", "/batch/compute/v1", broken[i]), 400);
    }
    fixture_stop(f);
}

static void log__each_cloud_call__is_a_line(void **state)
{
    (void)state;
    char path[] = "/tmp/sim-log-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct fixture *f = fixture_start(&(struct sim_config){.traffic_log = path});
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"a\"}");
    fixture_must(f, "POST", "/sim/faults", "{\"do\":\"lose\"}");
    fixture_call(f, "GET", R "/addresses?maxResults=5", NULL);
    char *text = NULL;
    size_t n = 0, n_lines = 0;
    assert_int_equal(file_read(f->a, path, 1 << 20, &text, &n, NULL), ERR_OK);
    char **lines = str_split(f->a, text, '\n', &n_lines);
    assert_int_equal(n_lines, 3); /* metadata and /sim are not there; the last one is empty */
    struct json_object *o = NULL;
    assert_int_equal(json_parse_arena(f->a, lines[0], strlen(lines[0]), NULL, &o, NULL), ERR_OK);
    assert_string_equal(json_str(o, "api"), "gce");
    assert_string_equal(json_str(o, "path"), R "/addresses");
    assert_string_equal(json_str(json_member(o, "request"), "name"), "a");
    assert_int_equal(json_int(o, "status", 0), 200);
    assert_int_equal(json_parse_arena(f->a, lines[1], strlen(lines[1]), NULL, &o, NULL), ERR_OK);
    assert_string_equal(json_str(o, "path"), R "/addresses?maxResults=5");
    assert_int_equal(json_int(o, "status", -1), 0);
    fixture_stop(f);
    unlink(path);
}

static void options__good_and_bad__are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *args[3];
        const char *error; /* NULL: fine */
    } rows[] = {
        {{"--port=0"}, NULL},
        {{"--port", "9000"}, NULL},
        {{"--zones=europe-west1-b,europe-west1-c"}, NULL},
        {{"--services=5:example.com/x"}, NULL},
        {{"--ip-families=IPv6,IPv4"}, NULL},
        {{"--latency=cloud", "--tls"}, NULL},
        {{"--quota=FIREWALLS=3"}, NULL},
        {{"--port=x"}, "--port"},
        {{"--port=70000"}, "65535"},
        {{"--nodes"}, "needs a value"},
        {{"--node=3"}, "did you mean --nodes?"},
        {{"--latency=slow"}, "none or cloud"},
        {{"--cloud=ibm"}, "allowed: gce"},
        {{"--zones=a,b"}, "REGION-LETTER"},
        {{"--ip-families=IPv5"}, "IPv5"},
        {{"--quota=FIREWALLS"}, "NAME=N"},
        {{"extra"}, "unexpected argument"},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *argv[4] = {arena_strdup(a, "trimtab-sim")};
        int argc = 1;
        for (size_t k = 0; k < ARRAY_LEN(rows[i].args) && rows[i].args[k]; k++) {
            argv[argc++] = arena_strdup(a, rows[i].args[k]);
        }
        struct sim_options o;
        struct err err = ERR_INIT;
        int code = sim_options_parse(a, argc, argv, &o, &err);
        if ((code != ERR_OK) != (rows[i].error != NULL) ||
            (rows[i].error && !strstr(err.message, rows[i].error))) {
            fail_msg("%s: %s", rows[i].args[0], err.message);
        }
    }
    arena_free(a);
}

static void tls__throw_away_ca__is_enough_to_be_trusted(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.tls = true});
    assert_true(str_has_prefix(f->url, "https://127.0.0.1:"));
    fixture_must(f, "GET", P "/zones", NULL);
    fixture_stop(f);
}

UNIT_MAIN(frame_control)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls__every_request__counts_by_operation),
        cmocka_unit_test(nodes__added_and_removed__are_instances_too),
        cmocka_unit_test(control__unknown_paths__say_so),
        cmocka_unit_test(batch__parts__are_calls_of_their_own),
        cmocka_unit_test(log__each_cloud_call__is_a_line),
        cmocka_unit_test(options__good_and_bad__are_told_apart),
        cmocka_unit_test(tls__throw_away_ca__is_enough_to_be_trusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
