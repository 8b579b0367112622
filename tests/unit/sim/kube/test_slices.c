/* SPDX-License-Identifier: Apache-2.0 */
/* test_slices.c: what the API server refuses of an EndpointSlice, with the path of the member. */
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/kube_fixture.h"

#include <stdio.h>
#include <string.h>

#define SLICES "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

/* `n` times `item`, in which %zu is the number, with commas. */
static const char *times(struct kf *f, size_t n, const char *item)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        char number[24];
        (void)snprintf(number, sizeof(number), "%zu", i);
        str_appendf(&b, "%s%s", i ? "," : "", str_replace(f->a, item, "#", number));
    }
    const char *text = str_buf_to_arena(&b, f->a);
    str_buf_done(&b);
    return kf_quoted(f, text);
}

static struct kf_call *post_slice(struct kf *f, const char *type, const char *endpoints,
                                  const char *ports)
{
    return kf_do(f, "POST", SLICES,
                 arena_printf(f->a,
                              "{\"metadata\":{\"generateName\":\"web-\"},\"addressType\":\"%s\","
                              "\"endpoints\":[%s],\"ports\":[%s]}",
                              type, kf_quoted(f, endpoints), kf_quoted(f, ports)));
}

/* The field of the only cause, or all of the answer. */
static void expect_cause(struct kf_call *c, const char *what, const char *field, const char *says)
{
    kf_expect(c, 422, what);
    struct json_object *causes = json_path(c->json, "details.causes");
    const char *told = json_str(json_object_array_get_idx(causes, 0), "field");
    if (!str_eq(told, field) || !strstr(kf_text(c, "message"), says)) {
        fail_msg("%s: want %s: %s, got %s", what, field, says, c->body);
    }
}

static void endpoints__what_no_endpoint_may_be__is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *type, *endpoint, *field, *says;
    } rows[] = {
        {"IPv4", "{'addresses':[]}", "endpoints[0].addresses", "must contain at least 1 address"},
        {"IPv4", "{'addresses':['fd00::1']}", "endpoints[0].addresses", "must be an IPv4 address"},
        {"IPv6", "{'addresses':['10.0.0.1']}", "endpoints[0].addresses", "must be an IPv6 address"},
        {"IPv4", "{'addresses':['127.0.0.1']}", "endpoints[0].addresses[0]", "loopback"},
        {"FQDN", "{'addresses':['web']}", "endpoints[0].addresses[0]", "at least two segments"},
        {"IPv4", "{'addresses':['10.0.0.1'],'nodeName':'Node_1'}", "endpoints[0].nodeName",
         "RFC 1123 subdomain"},
        {"IPv4", "{'addresses':['10.0.0.1'],'hostname':'a.b'}", "endpoints[0].hostname",
         "must not contain dots"},
        {"IPv4", "{'addresses':['10.0.0.1'],'hints':{'forZones':[{'name':'a'},{'name':'a'}]}}",
         "endpoints[0].hints.forZones[1].name", "Duplicate value"},
        {"IPv4", "{'addresses':['10.0.0.1'],'hints':{'forZones':[{'name':'a b'}]}}",
         "endpoints[0].hints.forZones[0].name", "a valid label must be"},
        {"IPv4", "{'addresses':['10.0.0.1'],'hints':{'forNodes':[{'name':'n'},{'name':'n'}]}}",
         "endpoints[0].hints.forNodes[1].name", "Duplicate value"},
        {"IPv4", "{'addresses':['10.0.0.1'],'hints':{'forNodes':[{'name':'Node_1'}]}}",
         "endpoints[0].hints.forNodes[0].name", "RFC 1123 subdomain"},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect_cause(post_slice(f, rows[i].type, rows[i].endpoint, ""), rows[i].endpoint,
                     rows[i].field, rows[i].says);
    }
    kf_stop(f);
}

/* Each limit: as much as is allowed is taken, one more is refused. */
static void limits__one_more__is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *before, *item, *after, *field;
        size_t max;
        bool of_ports;
    } rows[] = {
        {"{'addresses':['10.0.0.1'],'hints':{'forZones':[", "{'name':'z#'}", "]}}",
         "endpoints[0].hints.forZones", 8, false},
        {"{'addresses':['10.0.0.1'],'hints':{'forNodes':[", "{'name':'n#'}", "]}}",
         "endpoints[0].hints.forNodes", 8, false},
        {"{'addresses':[", "'10.0.0.#'", "]}", "endpoints[0].addresses", 100, false},
        {"", "{'addresses':['10.0.0.1']}", "", "endpoints", 1000, false},
        {"", "{'name':'p#','port':1}", "", "ports", 20000, true},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t more = 0; more < 2; more++) {
            const char *list = times(f, rows[i].max + more, rows[i].item);
            const char *text = arena_printf(f->a, "%s%s%s", rows[i].before, list, rows[i].after);
            struct kf_call *c = rows[i].of_ports ? post_slice(f, "IPv4", "", text)
                                                 : post_slice(f, "IPv4", text, "");
            if (more) {
                expect_cause(c, rows[i].field, rows[i].field,
                             arena_printf(f->a, "must have at most %zu items", rows[i].max));
            } else {
                kf_expect(c, 201, rows[i].field);
            }
        }
    }
    kf_stop(f);
}

static void ports_and_type__what_is_refused(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    expect_cause(post_slice(f, "IPv4", "", "{'port':80},{'port':81}"), "unnamed twice",
                 "ports[1].name", "Duplicate value: \"\"");
    expect_cause(post_slice(f, "IPv4", "", "{'name':'a','protocol':'ICMP'}"), "protocol",
                 "ports[0].protocol", "Unsupported value: \"ICMP\"");
    expect_cause(post_slice(f, "IP", "", ""), "type", "addressType", "Unsupported value: \"IP\"");
    struct kf_call *made = post_slice(f, "IPv4", "", "");
    kf_expect(made, 201, "slice");
    expect_cause(kf_patch(f, arena_printf(f->a, SLICES "/%s", kf_text(made, "metadata.name")),
                          MERGE, "{\"addressType\":\"IPv6\"}"),
                 "another type", "addressType", "field is immutable");
    kf_stop(f);
}

UNIT_MAIN(slices)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoints__what_no_endpoint_may_be__is_refused),
        cmocka_unit_test(limits__one_more__is_refused),
        cmocka_unit_test(ports_and_type__what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
