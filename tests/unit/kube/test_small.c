/* SPDX-License-Identifier: Apache-2.0 */
/* test_small.c: objects read from their small form are equal to what was written, and the
 * form is small. */
#include "controller/kube/store/small.h"
#include "controller/kube/store/small_members.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/base/str.h"
#include "tests/support/unit.h"

/* ---- by the tables: which bytes have rows, filling, comparing -------------------------------- */

static size_t value_size(unsigned type)
{
    return type == SMALL_I32 || type == SMALL_U32 ? 4 : 8;
}

static size_t item_size(const struct small_member *m)
{
    return m->type == SMALL_KVS     ? sizeof(struct tt_kv)
           : m->type == SMALL_TEXTS ? sizeof(const char *)
                                    : m->sub->size;
}

/* Bytes without a row, of this structure and of those below. */
static size_t uncovered(const struct small_struct *t)
{
    char covered[1024] = {0};
    size_t n = 0;
    assert_true(t->size <= sizeof covered && t->n <= 64);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct small_member *m = &t->members[i];
        memset(covered + m->at, 1, value_size(m->type));
        if (m->type >= SMALL_KVS) {
            memset(covered + m->n_at, 1, 4);
        }
        n += m->type == SMALL_STRUCTS ? uncovered(m->sub) : 0;
    }
    for (uint32_t i = 0; i < t->size; i++) {
        n += !covered[i];
    }
    return n;
}

struct filling {
    struct arena *a;
    uint64_t seed;
    uint64_t n;
};

static uint64_t random_of(struct filling *f)
{
    f->n++;
    return hash_bytes(f->seed, &f->n, sizeof f->n);
}

#define UID "0b6e3c5e-6f0c-4be8-9d4e-0a7f4a3f1d55"

/* Texts that have a form of their own, and some that look like those. */
static const char *const special[] = {
    UID,
    UID " 10.64.0.1",
    UID UID,
    "0b6e3c5e-6f0c-4be8-9d4e-0a7f4a3f1d5",
    "0B6E3C5E-6F0C-4BE8-9D4E-0A7F4A3F1D55",
    "00000000-0000-0000-0000-000000000000",
    "f00dbabe-0000-4000-8000-0000000000ff",
    "f00dbabe-0000-4000-8000-0000000000ff ",
    "0.0.0.0",
    "255.255.255.255",
    "10.1.2.3",
    "10.1.2.3/32",
    "010.1.2.3",
    "10.1.2",
    "2001:db8::1",
    "::ffff:10.1.2.3",
    "default",
    "default/",
    "defaul",
    "default/web",
    "web",
};

/* Short and long, empty, equal ones and ends of others, bytes that look like numbers. */
static const char *random_text(struct filling *f)
{
    uint64_t r = random_of(f);
    if (r % 4 == 1) {
        return special[random_of(f) % ARRAY_LEN(special)];
    }
    char *text = arena_calloc(f->a, 1, 700);
    size_t len = r % 7 == 0 ? 600 : r % 5;
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)(1 + random_of(f) % (r % 2 == 0 ? 3 : 255));
    }
    return r % 3 == 0 ? &"default/web"[r % 11] : text;
}

static void fill(struct filling *f, const struct small_struct *t, char *p);

static void fill_list(struct filling *f, const struct small_member *m, char *p)
{
    uint32_t n = (uint32_t)(random_of(f) % 4);
    char *items = arena_calloc(f->a, n + 1, item_size(m));
    for (uint32_t i = 0; i < n; i++) {
        char *at = items + (size_t)i * item_size(m);
        if (m->type == SMALL_STRUCTS) {
            fill(f, m->sub, at);
            continue;
        }
        for (size_t k = 0; k < item_size(m); k += sizeof(const char *)) {
            const char *text = random_text(f);
            memcpy(at + k, &text, sizeof text);
        }
    }
    memcpy(p + m->at, &items, sizeof items);
    memcpy(p + m->n_at, &n, sizeof n);
}

static void fill(struct filling *f, const struct small_struct *t, char *p)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct small_member *m = &t->members[i];
        uint64_t r = random_of(f);
        if (r % 3 == 0) {
            continue; /* stays zero */
        }
        if (m->type >= SMALL_KVS) {
            fill_list(f, m, p);
        } else if (m->type == SMALL_TEXT || m->type == SMALL_WORD) {
            const char *text = random_text(f);
            memcpy(p + m->at, &text, sizeof text);
        } else {
            uint64_t value = r % 5 == 0 ? random_of(f) : random_of(f) % 100 * 1000000;
            memcpy(p + m->at, &value, value_size(m->type));
        }
    }
}

static void assert_same(const struct small_struct *t, const char *a, const char *b);

static const void *pointer_at(const char *p)
{
    const void *to = NULL;
    memcpy(&to, p, sizeof to);
    return to;
}

static void assert_same_text(const char *a, const char *b)
{
    const void *x = pointer_at(a);
    const void *y = pointer_at(b);
    assert_int_equal(x == NULL, y == NULL);
    if (x != NULL) {
        assert_string_equal(x, y);
    }
}

static void assert_same_list(const struct small_member *m, const char *a, const char *b)
{
    uint32_t n = 0;
    memcpy(&n, a + m->n_at, sizeof n);
    assert_memory_equal(a + m->n_at, b + m->n_at, sizeof n);
    for (uint32_t i = 0; i < n; i++) {
        const char *x = (const char *)pointer_at(a + m->at) + (size_t)i * item_size(m);
        const char *y = (const char *)pointer_at(b + m->at) + (size_t)i * item_size(m);
        if (m->type == SMALL_STRUCTS) {
            assert_same(m->sub, x, y);
            continue;
        }
        for (size_t k = 0; k < item_size(m); k += sizeof(const char *)) {
            assert_same_text(x + k, y + k);
        }
    }
}

static void assert_same(const struct small_struct *t, const char *a, const char *b)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct small_member *m = &t->members[i];
        if (m->type >= SMALL_KVS) {
            assert_same_list(m, a, b);
        } else if (m->type == SMALL_TEXT || m->type == SMALL_WORD) {
            assert_same_text(a + m->at, b + m->at);
        } else {
            assert_memory_equal(a + m->at, b + m->at, value_size(m->type));
        }
    }
}

/* Gives back both references. */
static size_t assert_comes_back(const struct kube_object *o, const struct small_struct *t)
{
    struct kube_small *s = kube_small_of(o);
    assert_non_null(s);
    size_t bytes = kube_small_bytes(s);
    struct kube_object *back = kube_small_read(s);
    assert_string_equal(kube_small_key(s), o->key);
    kube_small_unref(s); /* the object keeps it */
    assert_int_equal(back->kind, o->kind);
    assert_string_equal(back->key, o->key);
    assert_string_equal(back->uid, o->uid);
    assert_string_equal(back->resource_version, o->resource_version);
    assert_int_equal(*(const size_t *)(const void *)back->service, t->size);
    assert_same(t, (const char *)o->service, (const char *)back->service);
    kube_object_unref(back);
    return bytes;
}

/* ---- the tests ------------------------------------------------------------------------------- */

/* Without rows are `size` and what is reserved in the structures below. */
static void small_members__every_byte__has_a_row(void **state)
{
    (void)state;
    assert_int_equal(uncovered(&small_service), 8 + 4 /* port */ + 4 + 4 /* ingress, its ports */);
    assert_int_equal(uncovered(&small_slice), 8 + 4 + 4 /* endpoint, port */);
}

static void kube_small_read__random_objects__equal(void **state)
{
    for (uint64_t seed = 0; seed < 600; seed++) {
        struct filling f = {.a = *state, .seed = seed};
        struct tt_service service = {.size = sizeof service};
        struct tt_slice slice = {.size = sizeof slice};
        fill(&f, &small_service, (char *)&service);
        fill(&f, &small_slice, (char *)&slice);
        slice.service = slice.service == NULL ? "" : slice.service;
        struct kube_object o = {.kind = KUBE_SERVICE,
                                .key = "default/web",
                                .uid = seed % 3 == 0   ? "u"
                                       : seed % 3 == 1 ? UID
                                                       : "",
                                .resource_version = "7",
                                .service = &service};
        (void)assert_comes_back(&o, &small_service);
        o.kind = KUBE_SLICE;
        o.slice = &slice;
        (void)assert_comes_back(&o, &small_slice);
    }
}

static void kube_small_of__service_with_load_balancer__third_of_its_block(void **state)
{
    (void)state;
    struct kube_object *o = decode_text(
        KUBE_SERVICE,
        "{'metadata':{'namespace':'default','name':'s00001','uid':"
        "'0b6e3c5e-6f0c-4be8-9d4e-0a7f4a3f1d55','resourceVersion':'123456','generation':3,"
        "'creationTimestamp':'2026-01-02T03:04:05Z','finalizers':"
        "['service.kubernetes.io/load-balancer-cleanup'],'annotations':{'local.trimtab.io/pool':"
        "'public'}},'spec':{'type':'LoadBalancer','clusterIP':'10.96.0.1','clusterIPs':"
        "['10.96.0.1'],'ipFamilies':['IPv4'],'ipFamilyPolicy':'SingleStack','sessionAffinity':"
        "'None','externalTrafficPolicy':'Cluster','internalTrafficPolicy':'Cluster',"
        "'selector':{'app':'s1'},'ports':[{'name':'http','port':80,'targetPort':8080,'protocol':"
        "'TCP','nodePort':30001}]},'status':{'loadBalancer':{'ingress':[{'ip':'10.64.0.1',"
        "'ipMode':'VIP'}]},'conditions':[{'type':'trimtab.io/LoadBalancerReady','status':'True',"
        "'reason':'Ready','message':'The load balancer is ready',"
        "'lastTransitionTime':'2026-01-02T03:04:09Z','observedGeneration':3}]}}");
    size_t bytes = assert_comes_back(o, &small_service);
    if (bytes > 260 || bytes * 3 > o->bytes) {
        fail_msg("%zu bytes, and %u whole", bytes, o->bytes);
    }
    kube_object_unref(o);
}

static void kube_small_of__slice_of_four__third_of_its_block(void **state)
{
    (void)state;
    struct kube_object *o = decode_text(
        KUBE_SLICE,
        "{'metadata':{'namespace':'default','name':'s00001-abcde','uid':"
        "'0b6e3c5e-6f0c-4be8-9d4e-0a7f4a3f1d55','resourceVersion':'123456','labels':"
        "{'kubernetes.io/service-name':'s00001'}},'addressType':'IPv4','ports':[{'name':'http',"
        "'port':8080,'protocol':'TCP'}],'endpoints':["
        "{'addresses':['10.128.0.1'],'nodeName':'n1','conditions':{'ready':true}},"
        "{'addresses':['10.129.0.1'],'nodeName':'n2','conditions':{'ready':true}},"
        "{'addresses':['10.130.0.1'],'nodeName':'n3','conditions':{'ready':true}},"
        "{'addresses':['10.131.0.1'],'nodeName':'n1','conditions':{'ready':true}}]}");
    size_t bytes = assert_comes_back(o, &small_slice);
    if (bytes > 220 || bytes * 5 > o->bytes * 2) {
        fail_msg("%zu bytes, and %u whole", bytes, o->bytes);
    }
    kube_object_unref(o);
}

static void kube_small_of__twice__one_form(void **state)
{
    (void)state;
    struct kube_object *o = decode_text(
        KUBE_SERVICE, "{'metadata':{'namespace':'d','name':'web','resourceVersion':'1'}}");
    struct kube_small *s = kube_small_of(o);
    struct kube_object *back = kube_small_read(s);
    struct kube_small *again = kube_small_of(back);
    assert_ptr_equal(again, s);
    kube_small_unref(again);
    kube_object_unref(back);
    kube_small_unref(s);
    kube_small_unref(NULL);
    kube_object_unref(o);
}

static void kube_small_of__node_or_not_read_whole__none(void **state)
{
    (void)state;
    struct kube_object *node =
        decode_text(KUBE_NODE, "{'metadata':{'name':'n1','resourceVersion':'1'}}");
    assert_null(kube_small_of(node));
    kube_object_unref(node);
    const struct tt_service service = {.size = sizeof service};
    const struct kube_object o = {.kind = KUBE_SERVICE,
                                  .key = "d/web",
                                  .uid = "u",
                                  .resource_version = "1",
                                  .unreadable = "spec.ports: want an array",
                                  .service = &service};
    assert_null(kube_small_of(&o));
}

UNIT_MAIN(small)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(small_members__every_byte__has_a_row),
        KUBE_TEST(kube_small_of__service_with_load_balancer__third_of_its_block),
        KUBE_TEST(kube_small_of__slice_of_four__third_of_its_block),
        KUBE_TEST(kube_small_of__twice__one_form),
        KUBE_TEST(kube_small_of__node_or_not_read_whole__none),
        KUBE_TEST(
            kube_small_read__random_objects__equal), /* the last one: it fills the table of words */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
