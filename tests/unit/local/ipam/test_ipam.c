/* SPDX-License-Identifier: Apache-2.0 */
/* test_ipam.c: which Service gets which address; rows are named after the vectors A01… and H01…. */
#include "providers/local/ipam/ipam_internal.h"
#include "tests/unit/local/ipam/ipam_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after these four */
#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/keep.h"
#include "common/base/str.h"
#include "tests/support/intern_count.h"
#include "tests/support/unit.h"

#define P "p=10.0.0.0-10.0.0.7"
#define FULL                                                                                       \
    "see d/1 st=10.0.0.0;see d/2 st=10.0.0.1;see d/3 st=10.0.0.2;see d/4 st=10.0.0.3;"             \
    "see d/5 st=10.0.0.4;see d/6 st=10.0.0.5;see d/7 st=10.0.0.6;see d/8 st=10.0.0.7;"

static const struct row {
    const char *name, *pools, *script, *want;
} rows[] = {
    {"A01", P, "see d/a; grant d/a", "d/a=10.0.0.0 "},
    {"A02", "p=10.0.0.0-10.0.0.255/buggy", "see d/a; grant d/a; see d/b ask=10.0.0.255; grant d/b",
     "d/a=10.0.0.1 d/b!invalid(10.0.0.255 is left out of pool \"p\" (avoidBuggyIPs)) "},
    {"A03", P, "see d/x st=10.0.0.0; see d/y st=10.0.0.1; see d/z st=10.0.0.2; see d/a; grant d/a",
     "d/a=10.0.0.3 "},
    {"A04", P,
     "see d/x st=10.0.0.0; see d/y st=10.0.0.1; at 100; gone d/y; at 110; see d/a; grant d/a",
     "d/a=10.0.0.2 "},
    {"A05", P,
     "see d/x st=10.0.0.0; see d/y st=10.0.0.1; at 100; gone d/y; at 161; see d/a; grant d/a",
     "d/a=10.0.0.1 "},
    {"A06", P, FULL "see d/a; grant d/a", "d/a!quota(no free address for IPv4: p 8 of 8 used) "},
    {"A07", P,
     FULL "see d/c created=7; grant d/c; see d/b created=5; grant d/b; at 10; gone d/3; waiting; "
          "at 70; waiting; "
          "grant d/c; grant d/b",
     "d/c!quota(no free address for IPv4: p 8 of 8 used) d/b!quota(no free address for IPv4: p 8 "
     "of 8 used) "
     "waiting() waiting(d/b,d/c) d/c!quota(no free address: d/b has waited longer for the one that "
     "is free) d/b=10.0.0.2 "},
    {"A08, A09", "p=10.0.0.0-10.0.0.0",
     "see d/b created=1; see d/a st=10.0.0.0 ours created=2; grant d/b; grant d/a",
     "d/b!quota(no free address for IPv4: p 1 of 1 used) d/a=10.0.0.0 "},
    {"A10", P, "see d/a ask=10.0.0.5; grant d/a", "d/a=10.0.0.5 "},
    {"A12", P, "see d/a ask=10.9.9.9; grant d/a", "d/a!invalid(10.9.9.9 is in no pool) "},
    {"A13", P, "see d/b st=10.0.0.5; see d/a ask=10.0.0.5; grant d/a",
     "d/a!in-use(10.0.0.5 is d/b's, which does not share) "},
    {"A14", P,
     "see d/a; grant d/a; pub d/a; see d/a ask=10.0.0.6 st=10.0.0.0 ours; grant d/a; pub d/a; "
     "grant d/a; "
     "see d/b; grant d/b",
     "d/a=10.0.0.0 d/a=10.0.0.6-10.0.0.0 d/a=10.0.0.6 d/b=10.0.0.1 "},
    {"A14, the other one is not free: it keeps what it has", P,
     "see d/b st=10.0.0.6; see d/a st=10.0.0.0 ask=10.0.0.6 ours; grant d/a",
     "d/a!in-use(10.0.0.6 is d/b's, which does not share)=10.0.0.0 "},
    {"A15", P " q=10.1.0.0-10.1.0.7",
     "see d/a pool=q st=10.0.0.0 ours; grant d/a; pub d/a; grant d/a",
     "d/a=10.1.0.0-10.0.0.0 d/a=10.1.0.0 "},
    {"A17", "p=10.0.0.0-10.0.0.0 gold=10.1.0.0-10.1.0.7/noauto",
     "see d/x st=10.0.0.0; see d/a; grant d/a",
     "d/a!quota(no free address for IPv4: gold needs annotation pool, p 1 of 1 used) "},
    {"A18", "p=10.0.0.0-10.0.0.0 q=10.1.0.0-10.1.0.0/prio5 r=10.2.0.0-10.2.0.0/prio1",
     "see d/a; grant d/a; see d/b; grant d/b; see d/c; grant d/c",
     "d/a=10.2.0.0 d/b=10.1.0.0 d/c=10.0.0.0 "},
    {"A19", P " q=10.1.0.0-10.1.0.7/ns:x", "see d/a pool=q; grant d/a; see x/a pool=q; grant x/a",
     "d/a!invalid(pool \"q\" is not for namespace d) x/a=10.1.0.0 "},
    {"A20", P " q=10.1.0.0-10.1.0.7/sel:tier:gold/prio1",
     "see d/a label=tier:gold; grant d/a; pub d/a; see d/a label=tier:tin st=10.1.0.0 ours; grant "
     "d/a; see d/b; grant d/b",
     "d/a=10.1.0.0 d/a=10.1.0.0 d/b=10.0.0.0 "},
    {"A21, A22", "p=10.0.0.0-10.0.0.3", "see d/a st=10.0.0.5 ours; grant d/a; grant d/a",
     "d/a=10.0.0.5^ d/a=10.0.0.5^ "},
    {"A23", "p=10.0.0.0-10.0.0.3", "see d/a st=10.0.0.5 ours move; grant d/a; pub d/a; grant d/a",
     "d/a=10.0.0.0-10.0.0.5 d/a=10.0.0.0 "},
    {"A24", P, "see d/a fam=46 pol=P; grant d/a", "d/a=10.0.0.0? "},
    {"A25", P " q=fd00::-fd00::ff", "see d/a fam=46 pol=P st=10.0.0.0 ours; grant d/a",
     "d/a=10.0.0.0,fd00:: "},
    {"A26", P, "see d/a fam=46 pol=R; grant d/a; see d/b; grant d/b",
     "d/a!quota(no free address for IPv6: no pool has IPv6 addresses) d/b=10.0.0.0 "},
    {"A27", P " q=fd00::-fd00::ff", "see d/a fam=6; grant d/a", "d/a=fd00:: "},
    {"A28", P " q=fd00::-fd00::ff", "see d/a fam=4 st=10.0.0.0,fd00:: ours; grant d/a",
     "d/a=10.0.0.0-fd00:: "},
    {"A29", P " q=fd00::-fd00::ff", "see d/a fam=64 pol=R; grant d/a", "d/a=fd00::,10.0.0.0 "},
    {"A30", P,
     "see d/a st=10.0.0.5 created=1; see d/b st=10.0.0.5 created=2; grant d/a; grant d/b; see d/b "
     "ask=10.0.0.1 st=10.0.0.5 created=2; grant d/b",
     "d/a=10.0.0.5 d/b!in-use(10.0.0.5 belongs to d/a (older); this Service gets another when its "
     "status is cleared or "
     "annotation local.trimtab.io/addresses is set) d/b=10.0.0.1 "},
    {"A31", P, "see d/x st=10.0.0.0 no; grant d/x; see d/a; grant d/a", "d/x= d/a=10.0.0.1 "},
    {"A32", P, "see d/a st=192.168.1.1; grant d/a",
     "d/a!implemented-elsewhere(its address 192.168.1.1 is in no pool, and the Service was never "
     "served here) "},
    {"a wiped status", P,
     "see d/x st=10.0.0.0; see d/a st=10.0.0.1 ours; gone d/x; at 100; see d/a ours; grant d/a; "
     "see d/a st=lb.example.com ours; grant d/a; see d/a st=10.0.0.3 ours; grant d/a",
     "d/a=10.0.0.1 d/a=10.0.0.1 d/a=10.0.0.3 "},
    {"a status with an address of no pool", P,
     "see d/x st=10.0.0.0; see d/a st=10.0.0.1 ours; gone d/x; at 100; see d/a st=203.0.113.7 "
     "ours; grant d/a; see d/b st=203.0.113.8 ours; grant d/b",
     "d/a=10.0.0.1 d/b=203.0.113.8^ "},
    {"a wiped status, and nothing is asked for any more", P,
     "see d/a st=10.0.0.0 ours; see d/a no; at 100; see d/b; grant d/b", "d/b=10.0.0.0 "},
    {"a wiped status of the time before it was ours", P,
     "see d/a st=203.0.113.7 no; see d/a; grant d/a; see d/b st=203.0.113.8 no; see d/b ours; "
     "grant d/b",
     "d/a=10.0.0.0 d/b=10.0.0.1 "},
    {"a wiped status of another's address", P,
     "see d/b st=10.0.0.5 created=1; see d/a st=10.0.0.5 ours created=2; see d/a created=2 ours; "
     "grant d/a",
     "d/a=10.0.0.0 "},
    {"one family of a status is wiped", P " q=fd00::-fd00::ff",
     "see d/a fam=46 pol=R st=10.0.0.3,fd00::3 ours; see d/a fam=46 pol=R st=10.0.0.3 ours; "
     "grant d/a",
     "d/a=10.0.0.3,fd00::3 "},
    {"A33", P, "see d/a st=lb.example.com; grant d/a", "d/a=10.0.0.0 "},
    {"A34", "p=10.0.0.0-10.0.0.1 d/a@10.0.0.1",
     "see d/b; grant d/b; see d/c; grant d/c; see d/e ask=10.0.0.1; grant d/e; see d/a; grant d/a",
     "d/b=10.0.0.0 d/c!quota(no free address for IPv4: p 1 of 2 used and 1 reserved) "
     "d/e!invalid(10.0.0.1 is reserved for d/a) d/a=10.0.0.1 "},
    {"A35", P,
     "see d/a; grant d/a; pub d/a; see d/a no ours st=10.0.0.0; see d/a no; see d/b; grant d/b; at "
     "60; see d/c; grant d/c",
     "d/a=10.0.0.0 d/b=10.0.0.1 d/c=10.0.0.0 "},
    {"A36", P,
     "see d/b; see d/a; remember d/a 10.0.0.0; remember d/z 10.0.0.1; grant d/b; grant d/a",
     "d/b=10.0.0.2 d/a=10.0.0.0 "},
    {"A40", P, "see d/a noips; grant d/a", "d/a!transient(the Service has no cluster IPs yet) "},
    {"a manifest that is planned needs no cluster IPs", P, "see d/a manifest; would d/a",
     "d/a=10.0.0.0 "},
    {"a manifest of both families", "p=10.0.0.0-10.0.0.7,fd00::1-fd00::7",
     "see d/a manifest pol=R; would d/a", "d/a=10.0.0.0,fd00::1 "},
    {"pending is not given twice, and ends after five minutes", P,
     "see d/a; grant d/a; see d/b; grant d/b; at 299; see d/a; grant d/a; at 300; see d/a; at 361; "
     "see d/c; grant d/c",
     "d/a=10.0.0.0 d/b=10.0.0.1 d/a=10.0.0.0 d/c=10.0.0.0 "},
    {"would gives nothing out", P, "see d/a; would d/a; see d/b; grant d/b; would d/a",
     "d/a=10.0.0.0 d/b=10.0.0.0 d/a=10.0.0.1 "},
    {"excluded", "p=10.0.0.0-10.0.0.7/ex:10.0.0.0-10.0.0.2,10.0.0.4-10.0.0.6",
     "see d/a; grant d/a; see d/b; grant d/b; see d/c; grant d/c; see d/e ask=10.0.0.5; grant d/e",
     "d/a=10.0.0.3 d/b=10.0.0.7 d/c!quota(no free address for IPv4: p 2 of 2 used) "
     "d/e!invalid(10.0.0.5 is left out of pool \"p\" (exclude)) "},
    {"both families from one pool", "p=10.0.0.0-10.0.0.7 q=10.1.0.0-10.1.0.7,fd00::-fd00::f",
     "see d/a fam=46 pol=R; grant d/a", "d/a=10.1.0.0,fd00:: "},
    {"the same name comes back at once", P,
     "see d/a; grant d/a; pub d/a; gone d/a; see d/a ask=10.0.0.0; grant d/a; see d/b "
     "ask=10.0.0.0; grant d/b",
     "d/a=10.0.0.0 d/a=10.0.0.0 d/b!in-use(10.0.0.0 is d/a's, which does not share) "},
    {"given back a moment ago, to somebody else", P,
     "see d/a; grant d/a; pub d/a; gone d/a; at 20; see d/b ask=10.0.0.0; grant d/b",
     "d/a=10.0.0.0 d/b!quota(10.0.0.0 was given back a moment ago and is not given away again for "
     "40 s (reuseDelay)) "},
    {"a family it has not", P, "see d/a ask=fd00::5; grant d/a",
     "d/a!invalid(asked for fd00::5, but the Service has IPv4 only) "},
    {"address and pool disagree", P " q=10.1.0.0-10.1.0.7",
     "see d/a ask=10.1.0.3 pool=p; grant d/a",
     "d/a!invalid(10.1.0.3 is in pool \"q\", not in pool \"p\") "},
    {"namespace by labels", "p=10.0.0.0-10.0.0.7/nssel:env:prod",
     "see d/a; grant d/a; see d/a nslabel=env:prod; grant d/a",
     "d/a!quota(no free address for IPv4: pool \"p\" is not for namespace d (namespaceSelector)) "
     "d/a=10.0.0.0 "},
    {"a huge pool", "p=2001:db8::-2001:db8::ffff:ffff:ffff:ffff",
     "see d/a fam=6; grant d/a; see d/b fam=6; grant d/b", "d/a=2001:db8:: d/b=2001:db8::1 "},
    {"H01", P, "see d/a key=dns ports=53/UDP; grant d/a; see d/b key=dns ports=53/TCP; grant d/b",
     "d/a=10.0.0.0 d/b=10.0.0.0 "},
    {"H02", P,
     "see d/a key=dns ports=53/UDP; grant d/a; see d/b key=dns ports=53/UDP; grant d/b; see d/c "
     "key=dns ports=53/UDP ask=10.0.0.0; grant d/c",
     "d/a=10.0.0.0 d/b=10.0.0.1 d/c!in-use(port 53/UDP of 10.0.0.0 is d/a's) "},
    {"H03", P, "see d/a key=dns ports=53/UDP; grant d/a; see d/b key=web ask=10.0.0.0; grant d/b",
     "d/a=10.0.0.0 d/b!in-use(10.0.0.0 is shared under key \"dns\", this Service has \"web\") "},
    {"H05", P,
     "see d/a key=dns ports=53/UDP; grant d/a; see e/b key=dns ports=53/TCP; grant e/b; see d/c "
     "key=*/dns ports=54/TCP; grant d/c; "
     "see e/c key=*/dns ports=55/TCP; grant e/c",
     "d/a=10.0.0.0 e/b=10.0.0.1 d/c=10.0.0.2 e/c=10.0.0.2 "},
    {"H06", P,
     "see d/a key=k ports=53/UDP; grant d/a; pub d/a; see d/b key=k ports=53/TCP; grant d/b; pub "
     "d/b; gone d/a; grant d/b; see d/c; grant d/c",
     "d/a=10.0.0.0 d/b=10.0.0.0 d/b=10.0.0.0 d/c=10.0.0.1 "},
    {"H07", P,
     "see d/a key=k ports=53/UDP; grant d/a; pub d/a; see d/b key=k ports=53/TCP; grant d/b; pub "
     "d/b; see d/a ports=53/UDP st=10.0.0.0 ours; "
     "grant d/a; grant d/b; see d/c key=k ports=80/TCP; grant d/c",
     "d/a=10.0.0.0 d/b=10.0.0.0 d/a=10.0.0.0~ d/b=10.0.0.0~ d/c=10.0.0.1 "},
    {"H08", P,
     "see d/a key=k ports=53/UDP; grant d/a; see d/b key=k ports=53/TCP; grant d/b; see d/b key=k "
     "ports=54/TCP st=10.0.0.0 ours; grant d/b",
     "d/a=10.0.0.0 d/b=10.0.0.0 d/b=10.0.0.0 "},
    {"H08, onto a port that another one has", P,
     "see d/a key=k ports=53/UDP created=1 st=10.0.0.0; see d/b key=k ports=53/UDP created=2 "
     "st=10.0.0.0 ours; grant d/a; grant d/b",
     "d/a=10.0.0.0 d/b!in-use(port 53/UDP of 10.0.0.0 is d/a's) "},
};

/* ---- looks at addresses ---------------------------------------------------------------------- */

static unsigned long looks; /* by functions of one file at what another one keeps */

const struct use *__real_ipam_use(const struct local_ipam *m, const struct ip_addr *addr);
const struct use *__wrap_ipam_use(const struct local_ipam *m, const struct ip_addr *addr);
struct entry *const *__real_ipam_by(const struct use *u);
struct entry *const *__wrap_ipam_by(const struct use *u);

const struct use *__wrap_ipam_use(const struct local_ipam *m, const struct ip_addr *addr)
{
    looks++;
    return __real_ipam_use(m, addr);
}

struct entry *const *__wrap_ipam_by(const struct use *u)
{
    looks++;
    return __real_ipam_by(u);
}

/* Addresses by key are those of the holders. */
static void check_sharings(const struct local_ipam *m)
{
    size_t held = 0;
    size_t listed = 0;

    for (size_t i = 0; i < m->n_uses; i++) {
        for (uint32_t k = 0; k < m->uses[i].n_by; k++) {
            held += __real_ipam_by(&m->uses[i])[k]->asked->share != NULL;
        }
    }
    for (size_t i = 0; i < m->sharings.cap; i++) {
        const struct sharing *s = m->sharings.at[i];
        for (size_t k = 0; s != NULL && k < s->n; k++) {
            const struct use *u = __real_ipam_use(m, &s->at[k].addr);
            uint32_t n = 0;
            assert_non_null(u);
            for (uint32_t b = 0; b < u->n_by; b++) {
                n += __real_ipam_by(u)[b]->asked->share == s->key;
            }
            assert_int_equal(n, s->at[k].n_by);
            listed += n;
        }
    }
    assert_int_equal(held, listed);
}

static void local_ipam__vectors(void **state)
{
    size_t wrong = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ipam_script s;
        ipam_script_begin(&s, *state, rows[i].pools);
        const char *got = ipam_script_run(&s, rows[i].script);
        if (strcmp(got, rows[i].want) != 0) {
            print_error("%s:\n  got  %s\n  want %s\n", rows[i].name, got, rows[i].want);
            wrong++;
        }
        check_sharings(s.ipam);
        ipam_script_end(&s);
    }
    assert_int_equal(0, wrong);
}

/* H10: a hundred on one address. */
static void local_ipam__a_hundred_sharers__one_address(void **state)
{
    struct ipam_script s;
    struct ip_addr addr;
    const char *const *keys;
    ipam_script_begin(&s, *state, P);
    for (int i = 0; i < 100; i++) {
        const char *got = ipam_script_run(
            &s, arena_printf(*state, "see d/s%d key=k ports=%d/TCP; grant d/s%d", i, 1000 + i, i));
        assert_string_equal(arena_printf(*state, "d/s%d=10.0.0.0 ", i), got);
    }
    assert_true(ip_parse("10.0.0.0", &addr));
    assert_int_equal(100, local_ipam_sharers(s.ipam, *state, &addr, &keys));
    assert_string_equal("d/s0", keys[0]);
    const struct local_pool_use *use = local_ipam_use(s.ipam, *state);
    assert_int_equal(1, use[0].used[0]);
    assert_int_equal(8, use[0].total[0]);
    ipam_script_end(&s);
}

/* C11, A02: what a pool has to give. */
static void local_ipam_use__totals(void **state)
{
    static const struct {
        const char *pools;
        int64_t v4, v6;
    } cases[] = {
        {"p=10.0.0.0-10.0.0.255/buggy", 254, 0},
        {"p=10.0.0.0-10.0.3.255/buggy", 1016, 0},
        {"p=0.0.1.0-0.0.1.0/buggy", 0, 0},
        {"p=10.0.0.0-10.0.0.255/ex:10.0.0.16-10.0.0.31", 240, 0},
        {"p=2001:db8::-2001:db8::ffff:ffff:ffff:ffff", 0, INT64_MAX},
        {"p=2001:db8::-2001:db8::7fff:ffff:ffff:fffe,10.0.0.1-10.0.0.1", 1, INT64_MAX},
        {"p=::1:0-::1:ff", 0, 256},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ipam_script s;
        ipam_script_begin(&s, *state, cases[i].pools);
        const struct local_pool_use *use = local_ipam_use(s.ipam, *state);
        assert_int_equal(cases[i].v4, use[0].total[0]);
        assert_int_equal(cases[i].v6, use[0].total[1]);
        ipam_script_end(&s);
    }
}

/* ---- properties ------------------------------------------------------------------------------ */

#define N_KEYS 24

struct world {
    struct ipam_script s;
    char status[N_KEYS][IP_TEXT_MAX]; /* as published; "" none */
    int64_t now_s;
};

static const char *see_text(struct arena *a, const struct world *w, unsigned i, unsigned sharing)
{
    return arena_printf(a, "see d/%u created=%u ports=%u/TCP%s%s%s%s; ", i, i,
                        sharing == 0 ? 80 : 80 + i, sharing == 0 ? "" : " key=k",
                        w->status[i][0] == '\0' ? "" : " ours st=", w->status[i], "");
}

/* No address is two Services' that do not share, none changes while its Service is there, and a
 * restart changes nothing. */
static void check_statuses(const struct world *w)
{
    for (unsigned i = 0; i < N_KEYS; i++) {
        for (unsigned k = 0; k < i; k++) {
            if (w->status[i][0] != '\0' && i % 4 != 0 && k % 4 != 0) {
                assert_string_not_equal(w->status[i], w->status[k]);
            }
        }
    }
}

static void act(struct arena *a, struct world *w, struct rng *rng)
{
    unsigned i = (unsigned)(rng_unit(rng) * N_KEYS);
    unsigned what = (unsigned)(rng_unit(rng) * 10);
    w->now_s += (int64_t)(rng_unit(rng) * 30);
    (void)ipam_script_run(&w->s, arena_printf(a, "at %lld", (long long)w->now_s));
    if (what == 0) {
        (void)ipam_script_run(&w->s, arena_printf(a, "gone d/%u", i));
        w->status[i][0] = '\0';
        return;
    }
    if (what == 1) { /* another process: statuses are all that it knows */
        ipam_script_end(&w->s);
        ipam_script_begin(&w->s, a, P " q=10.1.0.0-10.1.0.3/prio2");
        (void)ipam_script_run(&w->s, arena_printf(a, "at %lld", (long long)w->now_s));
        for (unsigned k = 0; k < N_KEYS; k++) {
            (void)ipam_script_run(
                &w->s, w->status[k][0] == '\0'
                           ? "waiting"
                           : arena_printf(a, "%swaiting", see_text(a, w, k, k % 4 == 0)));
        }
        return;
    }
    const char *key = arena_printf(a, "d/%u", i);
    const char *got =
        ipam_script_run(&w->s, arena_printf(a, "%sgrant %s", see_text(a, w, i, i % 4 == 0), key));
    const char *addr = strchr(got, '=');
    if (w->status[i][0] != '\0') {
        assert_string_equal(arena_printf(a, "%s=%s ", key, w->status[i]), got);
    } else if (addr != NULL && strchr(got, '!') == NULL &&
               what < 8) { /* else it dies before it writes */
        (void)snprintf(w->status[i], sizeof w->status[i], "%.*s", (int)strcspn(addr + 1, " -?^~"),
                       addr + 1);
        (void)ipam_script_run(&w->s, arena_printf(a, "pub %s", key));
    }
}

static void local_ipam__random_lives__no_address_twice_and_none_changes(void **state)
{
    for (unsigned seed = 1; seed <= 40; seed++) {
        struct world w = {.now_s = 0};
        struct rng *rng = rng_seeded_new(seed);
        ipam_script_begin(&w.s, *state, P " q=10.1.0.0-10.1.0.3/prio2");
        for (int i = 0; i < 200; i++) {
            act(*state, &w, rng);
            check_statuses(&w);
            check_sharings(w.s.ipam);
        }
        ipam_script_end(&w.s);
        rng_free(rng);
    }
}

/* A free address is the lowest one, at any number of Services. */
static void local_ipam__many__the_lowest(void **state)
{
    struct ipam_script s;
    ipam_script_begin(&s, *state, "p=10.0.0.0-10.0.255.255");
    for (unsigned i = 0; i < 3000; i++) {
        const char *got = ipam_script_run(&s, arena_printf(*state, "see d/%u; grant d/%u", i, i));
        assert_string_equal(arena_printf(*state, "d/%u=10.0.%u.%u ", i, i / 256, i % 256), got);
    }
    assert_in_range(intern_count(s.texts), 3000, 3005); /* names, and what they have in common */
    assert_string_equal(
        "d/x=10.0.4.210 d/y=10.0.11.184 ",
        ipam_script_run(&s, "gone d/1234; at 61; see d/x; grant d/x; see d/y; grant d/y"));
    ipam_script_end(&s);
}

/* Of a sharer that finds two addresses of its key among `n` of others. */
static unsigned long looks_among(struct arena *a, unsigned n)
{
    struct ipam_script s;

    ipam_script_begin(&s, a, "p=10.0.0.0-10.0.255.255");
    for (unsigned i = 0; i < n; i++) {
        (void)ipam_script_run(&s, arena_printf(a, "see d/%u st=10.0.%u.%u%s", i, i / 256, i % 256,
                                               i % 2 == 0 ? "" : " key=other"));
    }
    (void)ipam_script_run(&s, "see d/full st=10.0.200.1 key=k; see d/half st=10.0.200.2 key=k "
                              "ports=81/TCP");
    looks = 0;
    assert_string_equal("d/new=10.0.200.2 ", ipam_script_run(&s, "see d/new key=k; grant d/new"));
    unsigned long n_looks = looks;
    ipam_script_end(&s);
    return n_looks;
}

static void local_ipam__a_sharer__looks_at_addresses_of_its_key_alone(void **state)
{
    unsigned long few = looks_among(*state, 1000);
    unsigned long many = looks_among(*state, 20000);

    print_message("# looks at addresses: %lu among 1,000, %lu among 20,000\n", few, many);
    assert_int_equal(few, many);
    assert_in_range(few, 2, 20);
}

/* A Service with one address, as the API server makes it.  A sanitizer's malloc counts nothing. */
static void local_ipam__many__few_bytes_each(void **state)
{
    const char *const families[] = {"IPv4"}, *const cluster_ips[] = {"10.96.0.1"};
    const struct tt_port port = {.protocol = "TCP", .port = 80};
    struct ipam_script s;
    (void)state;
    ipam_script_begin(&s, *state, "p=10.0.0.0-10.0.255.255");
    size_t before = mallinfo2().uordblks + keep_used();
    for (unsigned i = 0; i < 1000; i++) {
        char name[16], key[32], uid[40], ip[16];
        (void)snprintf(name, sizeof name, "s%05u", i);
        (void)snprintf(key, sizeof key, "default/%s", name);
        (void)snprintf(uid, sizeof uid, "%08x-0000-4000-8000-%012x", i, i);
        (void)snprintf(ip, sizeof ip, "10.0.%u.%u", i >> 8, i & 255);
        const struct tt_ingress ingress = {.ip = ip};
        const struct tt_service service = {.ns = "default",
                                           .name = name,
                                           .uid = uid,
                                           .ip_families = families,
                                           .n_ip_families = 1,
                                           .cluster_ips = cluster_ips,
                                           .n_cluster_ips = 1,
                                           .ports = &port,
                                           .n_ports = 1,
                                           .ingress = &ingress,
                                           .n_ingress = 1};
        const struct local_claim claim = {.service = &service, .wants = true, .was_ours = true};
        local_ipam_see(s.ipam, &claim, 0);
        *local_ipam_note(s.ipam, key) = 1 + (i & 1);
    }
    size_t bytes = (mallinfo2().uordblks + keep_used() - before) / 1000;
    assert_in_range(bytes, 0, 200); /* 96, the name, the address' use, a place in two tables */
    print_message("# a Service: %zu bytes\n", bytes);
    ipam_script_end(&s);
}

static bool is_odd(void *arg, uint64_t note)
{
    (void)arg;
    return note % 2 == 1;
}

/* The allocator keeps a number of each Service for its caller. */
static void local_ipam_note__forget_noted__those_that_go(void **state)
{
    struct ipam_script s;
    ipam_script_begin(&s, *state, P);
    assert_null(local_ipam_note(s.ipam, "d/a"));
    (void)ipam_script_run(&s, "see d/a st=10.0.0.0; see d/b st=10.0.0.1; see d/c st=10.0.0.2");
    *local_ipam_note(s.ipam, "d/a") = 1;
    *local_ipam_note(s.ipam, "d/b") = 2;
    *local_ipam_note(s.ipam, "d/c") = 3;
    (void)ipam_script_run(&s, "see d/b st=10.0.0.1");
    assert_int_equal(2, *local_ipam_note(s.ipam, "d/b")); /* seeing it again leaves it */
    local_ipam_forget_noted(s.ipam, is_odd, NULL, 0);
    assert_null(local_ipam_note(s.ipam, "d/a"));
    assert_null(local_ipam_note(s.ipam, "d/c"));
    assert_string_equal("d/b=10.0.0.1 ", ipam_script_run(&s, "grant d/b"));
    ipam_script_end(&s);
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_MAIN(ipam)
{
    const struct CMUnitTest tests[] = {
        T(local_ipam__vectors),
        T(local_ipam__a_hundred_sharers__one_address),
        T(local_ipam_use__totals),
        T(local_ipam__random_lives__no_address_twice_and_none_changes),
        T(local_ipam__many__the_lowest),
        T(local_ipam__many__few_bytes_each),
        T(local_ipam__a_sharer__looks_at_addresses_of_its_key_alone),
        T(local_ipam_note__forget_noted__those_that_go),
    };
    return cmocka_run_group_tests_name("ipam", tests, NULL, NULL);
}
