/* SPDX-License-Identifier: Apache-2.0 */
/* test_scale.c: requests to the kernel and allocations do not depend on the number of Services: one
 * change needs the same ones among few and among many, and a restart over Services in order writes
 * nothing.
 * tests/bench/bench_local.py measures the same on a real kernel. */
#include "tests/unit/local/flow/flow_kit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/intern_count.h"
#include "tests/support/unit.h"

static const unsigned sizes[] = {2, 390};
/* The kit compares all destinations with all after each step. */
static const unsigned ipvs_sizes[] = {2, 60};

/* Returns what the last commands of the script say when d/s001 is one of n Services that
 * are in order. */
static char *said_among(unsigned n, const char *mode, const char *script)
{
    static struct flow_kit k;

    flow_kit_begin(&k);
    (void)flow_kit_run(&k,
                       arena_printf(k.a, "pool [10.0.4.0/22], mode: %s; many %u; idle", mode, n));
    (void)flow_kit_run(&k, "requests; writes");
    str_buf_reset(&k.out);
    char *said = xstrdup(flow_kit_run(&k, script));
    flow_kit_end(&k);
    return said;
}

static const unsigned *sizes_of(const char *mode)
{
    return strcmp(mode, "nft") == 0 ? sizes : ipvs_sizes;
}

static void assert_same_among_few_and_many(const char *mode, const char *script)
{
    const unsigned *n = sizes_of(mode);
    char *few = said_among(n[0], mode, script);
    char *many = said_among(n[1], mode, script);

    assert_non_null(strstr(few, "requests("));
    assert_null(strstr(few, "requests(0)"));
    assert_string_equal(few, many);
    free(few);
    free(many);
}

static void local_flow__one_change__needs_the_same_requests_among_many(void **state)
{
    static const char *const changes[] = {
        "svc d/s001 ranges=192.0.2.0/24; sync d/s001; requests; writes",
        "svc d/s001 ports=80/TCP/30080,81/TCP/30081; sync d/s001; requests; writes",
        "svc d/s001 ports=80/TCP/30082; sync d/s001; requests; writes",
        "delete d/s001; sync d/s001; requests; writes",
        "svc d/new; sync d/new; requests; writes",
        "sync d/s001; requests; writes", /* nothing to do */
        "foreign bump; sync d/s001; requests; writes",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        assert_same_among_few_and_many("nft", changes[i]);
        assert_same_among_few_and_many("ipvs-fullnat", changes[i]);
    }
}

/* Edits that IPVS alone has, and targets that go. */
static void local_flow__one_change_of_ipvs__needs_the_same_requests_among_many(void **state)
{
    static const char *const changes[] = {
        "svc d/s001 sched=wlc; sync d/s001; requests; writes",
        "svc d/s001 affinity; sync d/s001; requests; writes",
        "svc d/s001 mode=ipvs-dr; sync d/s001; requests; writes",
        "svc d/s001 mode=nft; sync d/s001; requests; writes",
        "nodes n1; sync d/s001; requests; writes",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        assert_same_among_few_and_many("ipvs-fullnat", changes[i]);
    }
}

static void local_flow__restart__reads_the_same_and_writes_nothing(void **state)
{
    (void)state;
    static const char *const modes[] = {"nft", "ipvs-fullnat", "ipvs-dr"};

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        assert_same_among_few_and_many(modes[i], "restart; sync d/s000; requests");
        char *said = said_among(sizes_of(modes[i])[1], modes[i], "restart; idle; writes; plan");
        assert_string_equal("writes(0) plan(0) ", said);
        free(said);
    }
}

/* Between two syncs: one name a Service; targets, checks, ranges, ports and settings are the same
 * strings for all. */
static void local_flow__many__each_service_keeps_one_string(void **state)
{
    static struct flow_kit k;

    (void)state;
    flow_kit_begin(&k);
    (void)flow_kit_run(&k, "director; pool [10.0.4.0/22]; many 390; idle");
    const struct local_provider *p = k.p;
    assert_int_equal(390, p->served.n);
    assert_in_range(intern_count(p->texts), 390, 390 + 10);
    flow_kit_end(&k);
}

static unsigned sysctls_read;
static const struct local_kernel_ops *uncounted;

static int count_sysctl_read(struct local_kernel *k, const char *name, int64_t *ret,
                             struct err *err)
{
    sysctls_read++;
    return uncounted->sysctl_read(k, name, ret, err);
}

/* Files of /proc, one for each family: not one for each Service. */
static void local_flow__many__settings_are_read_once_for_all(void **state)
{
    static struct flow_kit k;

    (void)state;
    flow_kit_begin(&k);
    uncounted = &k.real_ops;
    k.ops.sysctl_read = count_sysctl_read;
    (void)flow_kit_run(&k, "pool [10.0.4.0/22]; many 2; idle");
    sysctls_read = 0;
    (void)flow_kit_run(&k, "sync");
    unsigned few = sysctls_read;
    (void)flow_kit_run(&k, "many 390; idle");
    sysctls_read = 0;
    (void)flow_kit_run(&k, "sync");
    assert_in_range(few, 1, 8);
    assert_int_equal(few, sysctls_read);
    flow_kit_end(&k);
}

/* ---- allocations ----------------------------------------------------------------------------- */

static atomic_size_t allocations;

static size_t count_allocations(void)
{
    return atomic_load(&allocations);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if !defined(SANITIZED) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&      \
    defined(__GLIBC__)
/* In place of the C library's; a sanitizer has its own. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(p, size);
}
#endif

/* How often the provider allocates for the script's syncs, the second time. */
static size_t allocated_among(unsigned n, const char *script)
{
    static struct flow_kit k;

    flow_kit_begin(&k);
    (void)flow_kit_run(&k, arena_printf(k.a, "pool [10.0.4.0/22]; many %u; idle", n));
    (void)flow_kit_run(&k, "svc d/s001 ranges=192.0.2.0/24; sync d/s001; svc d/s001; sync d/s001");
    k.watching = false; /* the kit reads all of its kernel after writes */
    k.work = count_allocations;
    k.worked = 0;
    (void)flow_kit_run(&k, script);
    size_t worked = k.worked;
    flow_kit_end(&k);
    return worked;
}

static void local_flow__one_change__allocates_no_more_often_among_many(void **state)
{
    static const char *const changes[] = {
        "svc d/s001 ranges=192.0.2.0/24; sync d/s001", "svc d/s001 ports=80/TCP/30082; sync d/s001",
        "sync d/s001", /* nothing to do */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        size_t few = allocated_among(sizes[0], changes[i]);
        size_t many = allocated_among(sizes[1], changes[i]);
        print_message("# %s: %zu allocations, among many %zu\n", changes[i], few, many);
        assert_in_range(many, 0, few); /* arrays of few may have to grow */
    }
}

UNIT_MAIN(scale)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_flow__one_change__needs_the_same_requests_among_many),
        cmocka_unit_test(local_flow__one_change_of_ipvs__needs_the_same_requests_among_many),
        cmocka_unit_test(local_flow__one_change__allocates_no_more_often_among_many),
        cmocka_unit_test(local_flow__restart__reads_the_same_and_writes_nothing),
        cmocka_unit_test(local_flow__many__each_service_keeps_one_string),
        cmocka_unit_test(local_flow__many__settings_are_read_once_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
