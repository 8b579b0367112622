/* SPDX-License-Identifier: Apache-2.0 */
/* test_patches.c: the four kinds of PATCH as pure functions.
 *
 * Rows named "1.13" and "6.11" are the vectors of the service controller's specification: what
 * client-go sends for finalizers and status, and what must come out. */
#include "common/data/json.h"
#include "sim/kube/kube_status.h"
#include "sim/kube/patch/patch.h"
#include "sim/kube/types.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define F "service.kubernetes.io/load-balancer-cleanup"

enum how { STRATEGIC = 0, MERGE, JSON, APPLY };

struct row {
    const char *name;
    enum how how;
    const char *doc, *patch;
    const char *want; /* NULL: refused */
    int status;       /* of the refusal */
};

static struct json_object *parse(const char *text)
{
    struct json_object *o = NULL;
    assert_int_equal(json_parse(text, strlen(text), NULL, &o, NULL), 0);
    return o;
}

static struct json_object *apply(struct arena *a, const struct row *row, struct json_object *doc,
                                 struct json_object *patch, struct json_object **ret)
{
    switch (row->how) {
    case STRATEGIC:
        return kube_patch_strategic(a, &kube_type_service, doc, patch, ret);
    case MERGE:
        return kube_patch_merge(doc, patch, ret);
    case JSON:
        return kube_patch_json(a, doc, patch, ret);
    default:
        return kube_patch_apply(a, &kube_type_service, doc, patch, ret);
    }
}

static void check(const struct row *row)
{
    struct arena *a = arena_new();
    struct json_object *doc = parse(row->doc);
    struct json_object *before = json_copy(doc);
    struct json_object *patch = parse(row->patch);
    struct json_object *got = NULL;
    struct json_object *refusal = apply(a, row, doc, patch, &got);
    if (!row->want) {
        if (!refusal || kube_status_code(refusal) != row->status) {
            fail_msg("%s: want a refusal with %d", row->name, row->status);
        }
    } else {
        struct json_object *want = parse(row->want);
        if (refusal || !json_equal(want, got)) {
            fail_msg("%s:\n want %s\n got  %s", row->name, row->want,
                     json_text(a, refusal ? refusal : got, JSON_COMPACT));
        }
        json_object_put(want);
    }
    assert_true(json_equal(doc, before)); /* inputs are left alone */
    json_object_put(refusal);
    json_object_put(got);
    json_object_put(patch);
    json_object_put(before);
    json_object_put(doc);
    arena_free(a);
}

static void check_all(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(&rows[i]);
    }
}

#define NONE       "{\"metadata\":{}}"
#define LIST(...)  "{\"metadata\":{\"finalizers\":[" __VA_ARGS__ "]}}"
#define STATUS(in) "{\"status\":{\"loadBalancer\":{\"ingress\":" in "}}}"
#define DROP(...)                                                                                  \
    "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"" F "\"]" __VA_ARGS__ "}}"

static void strategic__finalizers__as_client_go_sends_them(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"1.13 none -> F", STRATEGIC, NONE, LIST("\"" F "\""), LIST("\"" F "\""), 0},
        {"1.13 foo -> foo,F", STRATEGIC, LIST("\"foo\""),
         "{\"metadata\":{\"$setElementOrder/finalizers\":[\"foo\",\"" F "\"],\"finalizers\":[\"" F
         "\"]}}",
         LIST("\"foo\",\"" F "\""), 0},
        {"1.13 F -> none", STRATEGIC, LIST("\"" F "\""), "{\"metadata\":{\"finalizers\":null}}",
         NONE, 0},
        {"1.13 F,foo -> foo", STRATEGIC, LIST("\"" F "\",\"foo\""),
         DROP(",\"$setElementOrder/finalizers\":[\"foo\"]"), LIST("\"foo\""), 0},
        {"1.13 foo,F -> foo", STRATEGIC, LIST("\"foo\",\"" F "\""),
         DROP(",\"$setElementOrder/finalizers\":[\"foo\"]"), LIST("\"foo\""), 0},
        {"1.13 foo,F,bar -> foo,bar", STRATEGIC, LIST("\"foo\",\"" F "\",\"bar\""),
         DROP(",\"$setElementOrder/finalizers\":[\"foo\",\"bar\"]"), LIST("\"foo\",\"bar\""), 0},
        {"6.11 delete from none", STRATEGIC, NONE, DROP(""), NONE, 0},
        {"6.11 delete from F", STRATEGIC, LIST("\"" F "\""), DROP(""), LIST(""), 0},
        {"6.11 delete from F,foo", STRATEGIC, LIST("\"" F "\",\"foo\""), DROP(""), LIST("\"foo\""),
         0},
        {"6.11 delete from foo", STRATEGIC, LIST("\"foo\""), DROP(""), LIST("\"foo\""), 0},
        {"again is no change", STRATEGIC, LIST("\"" F "\""), LIST("\"" F "\""), LIST("\"" F "\""),
         0},
        {"a new one goes first without an order", STRATEGIC, LIST("\"" F "\""), LIST("\"x/y\""),
         LIST("\"x/y\",\"" F "\""), 0},
    };
    check_all(rows, ARRAY_LEN(rows));
}

static void strategic__status__is_replaced_whole(void **state)
{
    (void)state;
    static const char one[] = STATUS("[{\"ip\":\"203.0.113.10\"}]");
    static const char two[] = STATUS("[{\"ip\":\"203.0.113.10\"},{\"ip\":\"203.0.113.11\"}]");
    static const char host[] = STATUS("[{\"hostname\":\"lb.example.com\"}]");
    static const char ports[] =
        STATUS("[{\"ip\":\"203.0.113.10\",\"ipMode\":\"VIP\",\"ports\":[{\"port\":80,"
               "\"protocol\":\"TCP\"}]}]");
    static const struct row rows[] = {
        {"1.13 none -> one", STRATEGIC, "{\"status\":{\"loadBalancer\":{}}}", one, one, 0},
        {"1.13 one -> two", STRATEGIC, one, two, two, 0},
        {"1.13 any -> none", STRATEGIC, two, STATUS("null"), "{\"status\":{\"loadBalancer\":{}}}",
         0},
        {"1.13 hostname", STRATEGIC, one, host, host, 0},
        {"1.13 mode and ports", STRATEGIC, one, ports, ports, 0},
    };
    check_all(rows, ARRAY_LEN(rows));
}

#define PORTS(...) "{\"spec\":{\"ports\":[" __VA_ARGS__ "]}}"
#define P80        "{\"name\":\"a\",\"port\":80,\"nodePort\":30080}"
#define P443       "{\"name\":\"b\",\"port\":443,\"nodePort\":30443}"

static void strategic__keyed_lists__merge_by_key_and_keep_order(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"change one by its key", STRATEGIC, PORTS(P80 "," P443),
         PORTS("{\"port\":443,\"name\":\"c\"}"),
         PORTS(P80 ",{\"name\":\"c\",\"port\":443,\"nodePort\":30443}"), 0},
        {"add one", STRATEGIC, PORTS(P80), PORTS("{\"port\":81,\"name\":\"n\"}"),
         PORTS("{\"port\":81,\"name\":\"n\"}," P80), 0},
        {"add one with an order", STRATEGIC, PORTS(P80),
         "{\"spec\":{\"$setElementOrder/"
         "ports\":[{\"port\":80},{\"port\":81}],\"ports\":[{\"port\":81}]}}",
         PORTS(P80 ",{\"port\":81}"), 0},
        {"delete one", STRATEGIC, PORTS(P80 "," P443), PORTS("{\"$patch\":\"delete\",\"port\":80}"),
         PORTS(P443), 0},
        {"delete what is not there", STRATEGIC, PORTS(P80),
         PORTS("{\"$patch\":\"delete\",\"port\":99}"), PORTS(P80), 0},
        {"replace all", STRATEGIC, PORTS(P80 "," P443),
         PORTS("{\"port\":1},{\"$patch\":\"replace\"}"), PORTS("{\"port\":1}"), 0},
        {"as kubectl apply renumbers a port", STRATEGIC, PORTS(P80),
         "{\"spec\":{\"$setElementOrder/"
         "ports\":[{\"port\":81}],\"ports\":[{\"name\":\"a\",\"port\":81},"
         "{\"$patch\":\"delete\",\"port\":80}]}}",
         PORTS("{\"name\":\"a\",\"port\":81}"), 0},
        {"no key", STRATEGIC, PORTS(P80), PORTS("{\"name\":\"x\"}"), NULL, 500},
        {"an order that does not name the item", STRATEGIC, PORTS(P80),
         "{\"spec\":{\"$setElementOrder/ports\":[{\"port\":80}],\"ports\":[{\"port\":81}]}}", NULL,
         500},
        {"unknown directive", STRATEGIC, PORTS(P80), PORTS("{\"$patch\":\"twist\",\"port\":80}"),
         NULL, 500},
        {"atomic list is replaced", STRATEGIC, "{\"spec\":{\"externalIPs\":[\"a\",\"b\"]}}",
         "{\"spec\":{\"externalIPs\":[\"c\"]}}", "{\"spec\":{\"externalIPs\":[\"c\"]}}", 0},
        {"conditions go by type", STRATEGIC,
         "{\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":\"True\"},{\"type\":\"B\","
         "\"status\":\"True\"}]}}",
         "{\"status\":{\"conditions\":[{\"type\":\"B\",\"status\":\"False\"}]}}",
         "{\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":\"True\"},{\"type\":\"B\","
         "\"status\":\"False\"}]}}",
         0},
    };
    check_all(rows, ARRAY_LEN(rows));
}

static void strategic__maps__merge_and_obey_directives(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"merge and delete", STRATEGIC, "{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}}",
         "{\"metadata\":{\"labels\":{\"a\":null,\"c\":\"3\"}}}",
         "{\"metadata\":{\"labels\":{\"b\":\"2\",\"c\":\"3\"}}}", 0},
        {"replace a map", STRATEGIC, "{\"spec\":{\"selector\":{\"a\":\"1\"}}}",
         "{\"spec\":{\"selector\":{\"$patch\":\"replace\",\"b\":\"2\"}}}",
         "{\"spec\":{\"selector\":{\"b\":\"2\"}}}", 0},
        {"delete a map", STRATEGIC, "{\"spec\":{\"selector\":{\"a\":\"1\"}}}",
         "{\"spec\":{\"selector\":{\"$patch\":\"delete\"}}}", "{\"spec\":{\"selector\":{}}}", 0},
        {"retain keys", STRATEGIC, "{\"spec\":{\"a\":1,\"b\":2}}",
         "{\"spec\":{\"$retainKeys\":[\"b\",\"c\"],\"c\":3}}", "{\"spec\":{\"b\":2,\"c\":3}}", 0},
        {"nulls in a new map are dropped", STRATEGIC, "{}",
         "{\"metadata\":{\"labels\":{\"a\":null,\"b\":\"2\"}}}",
         "{\"metadata\":{\"labels\":{\"b\":\"2\"}}}", 0},
        {"unknown directive", STRATEGIC, "{}", "{\"$patch\":\"twist\"}", NULL, 500},
        {"no object", STRATEGIC, "{}", "[]", NULL, 400},
    };
    check_all(rows, ARRAY_LEN(rows));
}

static void merge__rfc_7386(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"lists are replaced", MERGE, LIST("\"a\""), LIST("\"b\""), LIST("\"b\""), 0},
        {"null removes", MERGE, LIST("\"a\""), "{\"metadata\":{\"finalizers\":null}}", NONE, 0},
        {"nulls inside of new maps vanish", MERGE, "{}", "{\"a\":{\"b\":null,\"c\":1}}",
         "{\"a\":{\"c\":1}}", 0},
        {"a scalar becomes a map", MERGE, "{\"a\":1}", "{\"a\":{\"b\":2}}", "{\"a\":{\"b\":2}}", 0},
        {"nothing", MERGE, "{\"a\":1}", "{}", "{\"a\":1}", 0},
        {"no object", MERGE, "{}", "[1]", NULL, 400},
    };
    check_all(rows, ARRAY_LEN(rows));
}

#define OP(text) "[{" text "}]"

static void json__rfc_6902(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"add", JSON, "{}", OP("\"op\":\"add\",\"path\":\"/a\",\"value\":1"), "{\"a\":1}", 0},
        {"add into a list", JSON, "{\"a\":[1,3]}",
         OP("\"op\":\"add\",\"path\":\"/a/1\",\"value\":2"), "{\"a\":[1,2,3]}", 0},
        {"add at the end", JSON, "{\"a\":[1]}", OP("\"op\":\"add\",\"path\":\"/a/-\",\"value\":2"),
         "{\"a\":[1,2]}", 0},
        {"add past the end", JSON, "{\"a\":[1]}",
         OP("\"op\":\"add\",\"path\":\"/a/5\",\"value\":2"), NULL, 422},
        {"add below nothing", JSON, "{}", OP("\"op\":\"add\",\"path\":\"/a/b\",\"value\":1"), NULL,
         422},
        {"replace", JSON, "{\"a\":1}", OP("\"op\":\"replace\",\"path\":\"/a\",\"value\":2"),
         "{\"a\":2}", 0},
        {"replace nothing", JSON, "{}", OP("\"op\":\"replace\",\"path\":\"/a\",\"value\":2"), NULL,
         422},
        {"remove", JSON, "{\"a\":[1,2,3]}", OP("\"op\":\"remove\",\"path\":\"/a/1\""),
         "{\"a\":[1,3]}", 0},
        {"remove nothing", JSON, "{}", OP("\"op\":\"remove\",\"path\":\"/a\""), NULL, 422},
        {"escapes", JSON, "{\"a/b\":{\"c~d\":1}}", OP("\"op\":\"remove\",\"path\":\"/a~1b/c~0d\""),
         "{\"a/b\":{}}", 0},
        {"move", JSON, "{\"a\":1}", OP("\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\""),
         "{\"b\":1}", 0},
        {"copy", JSON, "{\"a\":[1]}", OP("\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\""),
         "{\"a\":[1],\"b\":[1]}", 0},
        {"move into itself", JSON, "{\"a\":{}}",
         OP("\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\""), NULL, 422},
        {"test holds", JSON, "{\"a\":1}", OP("\"op\":\"test\",\"path\":\"/a\",\"value\":1"),
         "{\"a\":1}", 0},
        {"test fails", JSON, "{\"a\":1}", OP("\"op\":\"test\",\"path\":\"/a\",\"value\":2"), NULL,
         422},
        {"unknown op", JSON, "{\"a\":1}", OP("\"op\":\"twist\",\"path\":\"/a\",\"value\":2"), NULL,
         422},
        {"no path", JSON, "{}", OP("\"op\":\"add\",\"value\":2"), NULL, 422},
        {"no list", JSON, "{}", "{}", NULL, 400},
    };
    check_all(rows, ARRAY_LEN(rows));
}

static void apply__lists_by_their_keys(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ports by port and protocol", APPLY,
         PORTS("{\"port\":53,\"protocol\":\"TCP\",\"nodePort\":1},{\"port\":53,\"protocol\":"
               "\"UDP\"}"),
         PORTS("{\"port\":53,\"protocol\":\"UDP\",\"name\":\"u\"}"),
         PORTS("{\"port\":53,\"protocol\":\"TCP\",\"nodePort\":1},{\"port\":53,\"protocol\":"
               "\"UDP\",\"name\":\"u\"}"),
         0},
        {"protocol is TCP by default", APPLY, PORTS("{\"port\":53,\"protocol\":\"TCP\"}"),
         PORTS("{\"port\":53,\"name\":\"t\"}"),
         PORTS("{\"port\":53,\"protocol\":\"TCP\",\"name\":\"t\"}"), 0},
        {"finalizers are a set", APPLY, LIST("\"a\""), LIST("\"b\",\"a\""), LIST("\"a\",\"b\""), 0},
        {"a selector is atomic", APPLY, "{\"spec\":{\"selector\":{\"a\":\"1\"}}}",
         "{\"spec\":{\"selector\":{\"b\":\"2\"}}}", "{\"spec\":{\"selector\":{\"b\":\"2\"}}}", 0},
        {"labels are merged", APPLY, "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
         "{\"metadata\":{\"labels\":{\"b\":\"2\"}}}",
         "{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}}", 0},
    };
    check_all(rows, ARRAY_LEN(rows));
}

UNIT_MAIN(patches)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategic__finalizers__as_client_go_sends_them),
        cmocka_unit_test(strategic__status__is_replaced_whole),
        cmocka_unit_test(strategic__keyed_lists__merge_by_key_and_keep_order),
        cmocka_unit_test(strategic__maps__merge_and_obey_directives),
        cmocka_unit_test(merge__rfc_7386),
        cmocka_unit_test(json__rfc_6902),
        cmocka_unit_test(apply__lists_by_their_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
