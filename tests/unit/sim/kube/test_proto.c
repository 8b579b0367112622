/* SPDX-License-Identifier: Apache-2.0 */
/* test_proto.c: bodies in protobuf, as kubectl's `create` commands send them. */
#include "common/base/json.h"
#include "sim/kube/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct json_object *read_body(struct arena *a, const struct kube_type *type,
                                     const char *body, size_t n)
{
    return kube_proto_read(a, type, body, n);
}

static void proto__service__becomes_the_same_tree(void **state)
{
    (void)state;
    static const char body[] = "\x6b\x38\x73\x00\x0a\x0d\x0a\x02\x76\x31\x12\x07\x53\x65\x72\x76"
                               "\x69\x63\x65\x12\x4c\x0a\x0f\x0a"
                               "\x03\x77\x65\x62\x42\x00\x5a\x06\x0a\x01\x61\x12\x01\x62\x12\x39"
                               "\x0a\x1a\x0a\x04\x68\x74\x74\x70"
                               "\x12\x03\x54\x43\x50\x18\x50\x22\x0b\x08\x01\x10\x00\x1a\x05\x77"
                               "\x65\x62\x70\x74\x12\x0a\x0a\x03"
                               "\x61\x70\x70\x12\x03\x77\x65\x62\x22\x0c\x4c\x6f\x61\x64\x42\x61"
                               "\x6c\x61\x6e\x63\x65\x72\xa0\x01"
                               "\x00";
    struct arena *a = arena_new();
    struct json_object *o = read_body(a, &kube_type_service, body, sizeof(body) - 1);
    assert_non_null(o);
    assert_string_equal(json_text(a, o, JSON_COMPACT),
                        "{\"metadata\":{\"name\":\"web\",\"labels\":{\"a\":\"b\"}},\"spec\":{"
                        "\"ports\":[{\"name\":\"http\","
                        "\"protocol\":\"TCP\",\"port\":80,\"targetPort\":\"webpt\"}],\"selector\":{"
                        "\"app\":\"web\"},"
                        "\"type\":\"LoadBalancer\",\"allocateLoadBalancerNodePorts\":false}}");
    arena_free(a);
}

static void proto__times_numbers_and_bytes(void **state)
{
    (void)state;
    static const char timed[] = "\x6b\x38\x73\x00\x0a\x0b\x0a\x02\x76\x31\x12\x05\x4c\x65\x61\x73"
                                "\x65\x12\x0e\x12\x0c\x10\x0f\x22"
                                "\x08\x08\x80\x80\x80\x80\x06\x10\x00";
    static const char negative[] = "\x6b\x38\x73\x00\x0a\x0b\x0a\x02\x76\x31\x12\x05\x4c\x65\x61"
                                   "\x73\x65\x12\x0d\x12\x0b\x10\xff\xff"
                                   "\xff\xff\xff\xff\xff\xff\xff\x01";
    static const char secret[] = "\x6b\x38\x73\x00\x0a\x0c\x0a\x02\x76\x31\x12\x06\x53\x65\x63\x72"
                                 "\x65\x74\x12\x0a\x12\x08\x0a\x01"
                                 "\x6b\x12\x03\xff\x00\x01";
    struct arena *a = arena_new();
    struct json_object *o = read_body(a, &kube_type_lease, timed, sizeof(timed) - 1);
    assert_string_equal(
        json_text(a, o, JSON_COMPACT),
        "{\"spec\":{\"leaseDurationSeconds\":15,\"renewTime\":\"2021-01-14T08:25:36.000000Z\"}}");
    o = read_body(a, &kube_type_lease, negative, sizeof(negative) - 1);
    assert_string_equal(json_text(a, o, JSON_COMPACT), "{\"spec\":{\"leaseDurationSeconds\":-1}}");
    o = read_body(a, &kube_type_secret, secret, sizeof(secret) - 1);
    assert_string_equal(json_text(a, o, JSON_COMPACT), "{\"data\":{\"k\":\"/wAB\"}}");
    arena_free(a);
}

static void proto__malformed__is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *body;
        size_t n;
    } rows[] = {
        {"empty", "", 0},
        {"no magic", "abcd\x12\x00", 6},
        {"no object", "k8s\0", 4},
        {"length past the end", "k8s\0\x12\x7f", 6},
        {"endless varint", "k8s\0\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 17},
        {"group", "k8s\0\x12\x01\x0b", 7},
        {"cut in the object", "k8s\0\x12\x03\x0a\x05x", 9},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (read_body(a, &kube_type_service, rows[i].body, rows[i].n)) {
            fail_msg("%s is accepted", rows[i].name);
        }
    }
    assert_null(read_body(a, &kube_type_free, "k8s\0\x12\x00", 6));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proto__service__becomes_the_same_tree),
        cmocka_unit_test(proto__times_numbers_and_bytes),
        cmocka_unit_test(proto__malformed__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
