/* SPDX-License-Identifier: Apache-2.0 */
/* test_pack.c: texts come back as they were packed, whatever they are, and resources of
 * one kind take little. */
#include "tests/unit/gce/pure.h"

#include "common/base/clock.h"
#include "providers/gce/cache/gce_pack.h"
#include "tests/support/unit.h"

static void same(struct gce_packer *k, struct arena *a, const char *key, const char *text, size_t n,
                 struct gce_packed *ret)
{
    struct str_buf b = STR_BUF_INIT;
    gce_pack(k, key, text, n, ret);
    gce_unpack(ret, key, &b);
    if (b.len != n || memcmp(b.data, text, n) != 0) {
        fail_msg("%s: %zu bytes in, %zu out: %.80s", key, n, b.len, arena_strndup(a, text, n));
    }
    str_buf_done(&b);
}

static const char *neg(struct arena *a, int i, char zone)
{
    return arena_printf(
        a,
        "{\"name\":\"k8s2-axyqjz2d-default-web-%05d-yuvhdy7i\",\"description\":\"{\\\"cluster-"
        "uid\\\""
        ":\\\"11111111-2222\\\",\\\"namespace\\\":\\\"default\\\",\\\"service-name\\\":\\\"web-%05d"
        "\\\",\\\"port\\\":\\\"0\\\"}\",\"networkEndpointType\":\"GCE_VM_IP\",\"network\":\"https:/"
        "/"
        "www.googleapis.com/compute/v1/projects/p/global/networks/default\",\"subnetwork\":\"https:"
        "//www.googleapis.com/compute/v1/projects/p/regions/us-central1/subnetworks/default\","
        "\"selfLink\":\"https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-%c/"
        "networkEndpointGroups/k8s2-axyqjz2d-default-web-%05d-yuvhdy7i\",\"id\":\"%019d\","
        "\"size\":%d}",
        i, i, zone, i, i * 7919, i % 26);
}

static void pack__texts_of_one_kind__take_a_tenth(void **state)
{
    struct arena *a = *state;
    struct gce_packer k = {0};
    enum { N = 300 };
    struct gce_packed *packed = ARENA_ARRAY(a, struct gce_packed, N);
    size_t raw = 0;
    size_t small = 0;
    for (int i = 0; i < N; i++) {
        const char *text = neg(a, i, (char)('a' + i % 3));
        const char *key = arena_printf(a, "k8s2-axyqjz2d-default-web-%05d-yuvhdy7i", i);
        same(&k, a, key, text, strlen(text), &packed[i]);
        raw += strlen(text);
        small += packed[i].n_bytes;
    }
    if (10 * small > raw) {
        fail_msg("%zu bytes of %zu", small, raw);
    }
    for (int i = 0; i < N; i++) {
        gce_packed_done(&packed[i]);
    }
    gce_packer_done(&k);
}

/* Texts that have nothing in common push each other's models out; what was packed by
 * them stays whole. */
static void pack__more_kinds_than_models__each_comes_back(void **state)
{
    struct arena *a = *state;
    struct gce_packer k = {0};
    enum { N = 4 * GCE_PACK_MODELS };
    struct gce_packed packed[N];
    const char *texts[N];
    struct rng *rng = rng_seeded_new(7);
    for (int i = 0; i < N; i++) {
        unsigned char *bytes = arena_alloc(a, 300);
        rng_bytes(rng, bytes, 299);
        for (int b = 0; b < 299; b++) {
            bytes[b] = (unsigned char)(' ' + bytes[b] % 90);
        }
        texts[i] = (const char *)bytes;
        same(&k, a, "key", texts[i], 299, &packed[i]);
        assert_true(k.n <= GCE_PACK_MODELS);
    }
    for (int i = 0; i < N; i++) {
        struct str_buf b = STR_BUF_INIT;
        gce_unpack(&packed[i], "key", &b);
        assert_string_equal(str_buf_text(&b), texts[i]);
        str_buf_done(&b);
        gce_packed_done(&packed[i]);
    }
    rng_free(rng);
    gce_packer_done(&k);
}

static void pack__odd_texts(void **state)
{
    struct arena *a = *state;
    struct gce_packer k = {0};
    char *big = arena_alloc(a, 100001);
    memset(big, 'x', 100000);
    char *run = arena_alloc(a, 12001);
    memset(run, 'y', 12000);
    const char *rows[] = {"x", "{}", "{}", "abcdabcdabcdabcdabcd", run, run, big, big, "\xff\x80"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_packed p;
        same(&k, a, i % 2 == 0 ? "" : "a key", rows[i], strlen(rows[i]), &p);
        gce_packed_done(&p);
    }
    struct gce_packed p;
    same(&k, a, "k", run, 12000, &p);
    assert_true(p.n_bytes < 20); /* one piece that overlaps what it makes */
    gce_packed_done(&p);
    gce_packer_done(&k);
}

UNIT_MAIN(pack)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(pack__texts_of_one_kind__take_a_tenth),
        PURE_TEST(pack__more_kinds_than_models__each_comes_back),
        PURE_TEST(pack__odd_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
