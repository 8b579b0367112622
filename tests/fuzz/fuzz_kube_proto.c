/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kube_proto.c: protobuf bodies that the simulator reads.
 *
 * Input: one letter for the kind (s, e, n, l, c), then the body.  What holds: nothing, or a tree
 * that prints as JSON. */
#include "common/data/json.h"
#include "sim/kube/decode.h"
#include "sim/kube/proto.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const struct kube_type *type_of(char c)
{
    switch (c) {
    case 'e':
        return &kube_type_event;
    case 'n':
        return &kube_type_events_event;
    case 'l':
        return &kube_type_lease;
    case 'c':
        return &kube_type_secret;
    default:
        return &kube_type_service;
    }
}

FUZZ_TARGET(kube_proto, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    const char *body = size ? (const char *)data + 1 : "";
    const struct kube_type *type = type_of(size ? (char)data[0] : 's');
    struct json_object *o = NULL;
    if (kube_proto_read(a, type, body, size ? size - 1 : 0, &o) == NULL) {
        struct json_object *again = NULL;
        static const struct json_limits wide = {.allow_nul = true};
        const char *text = json_text(a, o, JSON_COMPACT);
        FUZZ_CHECK(json_parse_arena(a, text, strlen(text), &wide, &again, NULL) == ERR_OK);
        struct kube_decode d = {.arena = a};
        json_object_put(kube_decode(&d, type, o));
    }
    arena_free(a);
    return 0;
}
