/* SPDX-License-Identifier: Apache-2.0 */
/* test_edits.c: edits of a working Service over the kernel in memory, as fault-edits has them for
 * clouds: every annotation of the reference table and the fields of the spec, with values that are
 * right, wrong and impossible, from several kinds of Services.
 *
 * Each edit is planned, made, and taken back.  At every step of the kernel each client that the
 * states before and after let in is served; the plan of a process that has just started is what the
 * sync then does; a second plan is empty; a refused edit changes nothing, and a node that is gone
 * leaves all the same, after a restart, too; an edit that does nothing says so or is `quiet`; and
 * the other Service does not change.  Then the same with a step that the kernel refuses or whose
 * answer is lost, for every step. */
#include "tests/unit/local/flow/flow_kit.h"

#include <stdlib.h>
#include <string.h>

#include "common/lb/findings.h"
#include "tests/support/sample.h"
#include "tests/support/unit.h"

/* In each of 32 consecutive commits a quarter of the edits, each with an eighth of its faults. */
#define PARTS  32
#define GROUPS 4

static const char *const bases[] = {
    "",
    "local",
    "fam=46 ports=80/TCP/30080,53/UDP/30053",
    "ranges=192.0.2.0/24,198.51.100.0/24,2001:db8::/33 snat=never",
    "mode=ipvs-dr sched=mh",
    "mode=ipvs-nat affinity ports=80/TCP/30080,53/UDP/30053",
};

/* Words that are added to the base.  `quiet`: it may have no effect without a word, because it asks
 * for what is so, or concerns neither kernel nor clients. */
static const struct edit {
    const char *words;
    bool quiet;
} edits[] = {
    {"@pool=p", true},
    {"@pool=q", false},
    {"@addresses=10.0.0.5", false},
    {"@addresses=10.0.0", false},
    {"@addresses=10.9.9.9", false},
    {"@addresses=fd00::5", false},
    {"@metallb.io/loadBalancerIPs=10.0.0.5 @addresses=10.0.0.4", false},
    {"@share=k", true},
    {"@mode=nft", true},
    {"@mode=ipvs-nat", true},
    {"@mode=ipvs-fullnat", false},
    {"@mode=ipvs-dr", true},
    {"@mode=ipvs-tunnel", false},
    {"@mode=dr", false},
    {"@scheduler=rr", true},
    {"@scheduler=wrr", true},
    {"@scheduler=lc", false},
    {"@scheduler=sh", true},
    {"@scheduler=mh", true},
    {"@scheduler=nq", false},
    {"@targets=nodePort", true},
    {"@targets=node", true},
    {"@targets=pod", false},
    {"@snat=always", true},
    {"@snat=never", true},
    {"@snat=often", false},
    {"@drain-timeout=5s", true},
    {"@drain-timeout=soon", false},
    {"@health-check=tcp", true},
    {"@health-check=healthCheckNodePort", true},
    {"@health-check=icmp", false},
    {"@health-check=http @health-check-path=/x @health-check-port=8080", true},
    {"@health-check-port=0", false},
    {"@health-check-interval=100ms", false},
    {"@health-check-timeout=5s", false},
    {"@health-check-fall=5 @health-check-rise=3", true},
    {"@sorry=10.9.9.9:80", true},
    {"@sorry=none", false},
    {"@source-ranges=192.0.2.0/25", true},
    {"@source-ranges=192.0.2.0/33", false},
    {"@interfaces=eth0", true},
    {"@interfaces=eth7", false},
    {"@udp-one-packet=true", true},
    {"@udp-one-packet=yes", false},
    {"@move=true", true},
    {"@move=maybe", false},
    {"@ignore=true", true},
    {"@ip-allocated-from-pool=p", true},
    {"@mod=ipvs-dr", false},
    {"ports=80/TCP/30081", true},
    {"ports=80/TCP/30080,81/TCP/30082", true},
    {"ports=81/TCP/30080", true},
    {"ports=80/UDP/30080", true},
    {"ports=80/SCTP/30080", false},
    {"ports=80/TCP/0", true},
    {"ranges=192.0.2.0/24", true},
    {"ranges=192.0.2.0/25,203.0.113.0/24", true},
    {"ranges=192.0.2.0/33", false},
    {"ranges=2001:db8::/32", true},
    {"fam=6", true},
    {"fam=64", true},
    {"fam=~46", true},
    {"local", true},
    {"affinity", true},
    {"affinity .sessionAffinityConfig={\"clientIP\":{\"timeoutSeconds\":60}}", true},
    {".externalTrafficPolicy=\"Local\" .healthCheckNodePort=0", true},
    {".trafficDistribution=\"PreferClose\"", true},
    {".publishNotReadyAddresses=true", true},
    {".internalTrafficPolicy=\"Local\"", true},
    {".loadBalancerIP=\"10.0.0.4\"", false},
    {".loadBalancerIP=\"x\"", false},
    {"type=ClusterIP", true},
};

/* ---- reach ----------------------------------------------------------------------------------- */

static const char *const vips[] = {"10.0.0.0", "10.0.0.1", "10.0.0.4", "10.0.0.5", "fd00::"};
static const struct {
    uint8_t protocol;
    uint16_t port;
} ports[] = {{LOCAL_TCP, 80}, {LOCAL_TCP, 81}, {LOCAL_UDP, 53}, {LOCAL_UDP, 80}};
static const char *const clients[] = {"192.0.2.1",   "192.0.2.200", "198.51.100.7",
                                      "203.0.113.9", "2001:db8::1", "2001:db8:8000::1"};
#define CLIENTS ARRAY_LEN(clients)
#define PROBES  (ARRAY_LEN(vips) * ARRAY_LEN(ports) * CLIENTS)

struct reach {
    bool served[PROBES];
};
static struct {
    struct reach must; /* at every moment */
    bool watching;
    const char *broken; /* the first probe that was not served */
} judge;

static void note_element(void *m, const struct local_nft_element *e)
{
    local_mirror_element(m, e, false);
}

static void note_hold(void *m, const struct ip_addr *addr, enum local_route_kind kind, int link)
{
    local_mirror_hold(m, addr, kind, link, false);
}

static bool lets_in(const struct local_front *f, const struct ip_addr *client)
{
    bool in = f->all && f->id.vip.len == client->len;

    for (size_t i = 0; i < f->n_open; i++) {
        in = in || ip_net_contains(&f->open[i], client);
    }
    for (size_t i = 0; i < f->n_also; i++) {
        in = in || ip_net_contains(&f->also[i], client);
    }
    return in;
}

static bool is_served(const struct local_mirror_vip *v, size_t port, const struct ip_addr *client)
{
    for (size_t i = 0; v != NULL && v->vip.held && i < v->n_fronts; i++) {
        const struct local_front *f = &v->fronts[i];
        if (f->id.protocol == ports[port].protocol && f->id.port == ports[port].port) {
            return lets_in(f, client) && (f->m > 0 || local_ipvs_some_weight(&f->ipvs));
        }
    }
    return false;
}

static void look(struct flow_kit *k, struct reach *ret)
{
    struct local_mirror *m = local_mirror_new(NULL);
    struct arena *a = arena_new();
    size_t at = 0;

    fake_kernel_elements(k->kernel, note_element, m);
    fake_kernel_holds(k->kernel, note_hold, m);
    flow_world_read_ipvs(k, m);
    for (size_t v = 0; v < ARRAY_LEN(vips); v++) {
        struct ip_addr vip;
        assert_true(ip_parse(vips[v], &vip));
        const struct local_mirror_vip *found = local_mirror_vip(m, a, &vip);
        for (size_t p = 0; p < ARRAY_LEN(ports); p++) {
            for (size_t c = 0; c < CLIENTS; c++) {
                struct ip_addr client;
                assert_true(ip_parse(clients[c], &client));
                ret->served[at++] = client.len == vip.len && is_served(found, p, &client);
            }
        }
    }
    local_mirror_free(m);
    arena_free(a);
}

static const char *probe_text(struct arena *a, size_t i)
{
    size_t port = i / CLIENTS % ARRAY_LEN(ports);

    return arena_printf(a, "%s at %s:%u/%s", clients[i % CLIENTS],
                        vips[i / CLIENTS / ARRAY_LEN(ports)], ports[port].port,
                        ports[port].protocol == LOCAL_TCP ? "tcp" : "udp");
}

static void check(void *kit, struct local_kernel *kernel)
{
    struct flow_kit *k = kit;
    struct reach now;

    flow_world_check(k, kernel);
    if (!judge.watching || judge.broken != NULL) {
        return;
    }
    look(k, &now);
    for (size_t i = 0; i < PROBES && judge.broken == NULL; i++) {
        if (judge.must.served[i] && !now.served[i]) {
            judge.broken = probe_text(k->a, i);
        }
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

/* A word of a base that the edit has another one for. */
static const struct {
    const char *word, *other;
} clashes[] = {
    {"local", "local"},       {"local", ".externalTrafficPolicy="},
    {"fam=", "fam="},         {"ranges=", "ranges="},
    {"affinity", "affinity"}, {"snat=", "@snat="},
    {"mode=", "@mode="},      {"sched=", "@scheduler="},
    {"ports=", "ports="},
};

static bool gives_way(const char *word, char *const *words, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(clashes); i++) {
        for (size_t k = 0; k < n && str_has_prefix(word, clashes[i].word); k++) {
            if (str_has_prefix(words[k], clashes[i].other)) {
                return true;
            }
        }
    }
    return false;
}

static const char *words_of(struct arena *a, const char *base, const char *words)
{
    size_t n_base = 0;
    size_t n = 0;
    char **of_base = str_split(a, base, ' ', &n_base);
    char **of_edit = str_split(a, words, ' ', &n);

    for (size_t i = 0; i < n_base; i++) {
        if (!gives_way(of_base[i], of_edit, n)) {
            words = arena_printf(a, "%s %s", of_base[i], words);
        }
    }
    return words;
}

/* ---- one edit -------------------------------------------------------------------------------- */

struct trial {
    const char *base, *edit;
    bool quiet;
    struct arena *a;
    struct reach before, after;
    const char *state; /* in the end */
    unsigned steps;    /* of the first sync */
    bool refused;
    bool joins; /* the edit names the base's ports: nodes can join them while it is refused */
    unsigned failed;
};

static void complain(struct trial *t, const char *text)
{
    print_error("[%s] + [%s]: %s\n", t->base, t->edit, text);
    t->failed++;
}

static void begin(struct flow_kit *k, struct trial *t)
{
    flow_kit_begin(k);
    fake_kernel_watch(k->kernel, check, k);
    judge.watching = false;
    judge.broken = NULL;
    (void)flow_kit_run(
        k, arena_printf(k->a,
                        "config director: {directorIsGateway: true}; drains 5000; svc d/a %s; eps "
                        "d/a n1 n2; svc d/z created=9 ports=81/TCP/30099 ask=10.0.0.1; idle",
                        t->base));
    look(k, &t->before);
}

static void edit(struct flow_kit *k, const struct trial *t)
{
    (void)flow_kit_run(k, arena_printf(k->a, "svc d/a %s", words_of(k->a, t->base, t->edit)));
    str_buf_reset(&k->order);
}

static const char *state_of(struct flow_kit *k, const char *key)
{
    const char *state = flow_kit_state(k);
    const char *at = strstr(state, arena_printf(k->a, "[%s]", key));

    return at == NULL ? "" : arena_strndup(k->a, at, strcspn(at, ";"));
}

static struct reach both(const struct reach *a, const struct reach *b)
{
    struct reach r;

    for (size_t i = 0; i < PROBES; i++) {
        r.served[i] = a->served[i] && b->served[i];
    }
    return r;
}

/* A refused edit has changed nothing; a node that goes leaves by the update that follows. */
static void check_upkeep(struct flow_kit *k, struct trial *t)
{
    for (int again = 0; again < (t->joins ? 2 : 1); again++) {
        judge.must = t->before;
        judge.watching = true;
        (void)flow_kit_run(k, again == 0 ? "nodes n1; eps d/a n1; sync; upkeep"
                                         : "restart; nodes n1 n2; eps d/a n1 n2; sync; upkeep; "
                                           "nodes n2; eps d/a n2; sync; upkeep; pass 4000; upkeep");
        judge.watching = false;
        const char *state = state_of(k, "d/a");
        const char *gone = strstr(state, again == 0 ? "n2:" : "n1:");
        bool has_weight = gone != NULL && gone[strcspn(gone, " <")] != '\0' &&
                          strchr("*123456789", gone[strcspn(gone, " ") - 1]) != NULL &&
                          gone[strcspn(gone, " ") - 1] != '0';
        if (has_weight || judge.broken != NULL) {
            complain(t, arena_printf(t->a, "upkeep of a refused edit%s: %s; %s",
                                     again == 0 ? "" : ", after a restart",
                                     str_or(judge.broken, "the node stays"), state));
        }
    }
}

/* Without faults: what comes of it, and what the plan says. */
static void learn(struct trial *t)
{
    static struct flow_kit k;

    begin(&k, t);
    const char *was = arena_strdup(k.a, flow_kit_state(&k));
    const char *other = state_of(&k, "d/z");
    edit(&k, t);
    (void)flow_kit_second_plan(&k);
    const char *planned = str_buf_to_arena(&k.order, k.a);
    str_buf_reset(&k.order);
    str_buf_reset(&k.out);
    k.n_findings = 0;
    fake_kernel_plan(k.kernel, &(struct fake_kernel_plan){.fault = FAKE_KERNEL_WELL});
    (void)flow_kit_run(&k, "sync");
    const char *said = str_buf_to_arena(&k.out, k.a);
    const char *done = str_buf_to_arena(&k.order, k.a);
    t->steps = fake_kernel_steps(k.kernel);
    t->refused = strstr(said, "d/a!") != NULL;
    if (!str_eq(planned, done)) {
        complain(t, arena_printf(t->a, "planned %s\n  done %s", planned, done));
    }
    if (!t->refused && *done == '\0' && k.n_findings == 0 && !t->quiet) {
        complain(t, "no effect, and no word of it");
    }
    if (t->refused && !str_eq(was, flow_kit_state(&k))) {
        complain(t,
                 arena_printf(t->a, "refused, and changed: %s\n  was %s", flow_kit_state(&k), was));
    }
    if (!t->refused) {
        said = flow_kit_run(&k, "idle; plan");
        if (strstr(said, "plan(0)") == NULL) {
            complain(t, said);
        }
    }
    look(&k, &t->after);
    t->state = arena_strdup(t->a, flow_kit_state(&k));
    if (!str_eq(other, state_of(&k, "d/z")) || k.broken) {
        complain(t, arena_printf(t->a, "the other Service, or an invariant: %s", said));
    }
    if (t->refused) {
        check_upkeep(&k, t);
    }
    flow_kit_end(&k);
}

/* There and back: clients that both let in are served at each step; then all is as it was. */
static void walk(struct trial *t)
{
    static struct flow_kit k;
    struct reach back;

    begin(&k, t);
    judge.must = both(&t->before, &t->after);
    edit(&k, t);
    judge.watching = true;
    (void)flow_kit_run(&k, t->refused ? "sync" : "idle");
    const char *said = flow_kit_run(&k, arena_printf(k.a, "svc d/a %s; idle; plan", t->base));
    judge.watching = false;
    look(&k, &back);
    bool moved = strstr(t->edit, "10.0.0.") != NULL ||
                 strstr(t->edit, "fd00::") != NULL; /* it keeps the address that it has now */
    bool goes = strstr(t->edit, "type=") != NULL;
    if (judge.broken != NULL || strstr(said, "plan(0)") == NULL || k.broken ||
        (!moved && !goes && memcmp(&back, &t->before, sizeof back) != 0)) {
        complain(t, arena_printf(t->a, "there and back: %s; %s\n  %s",
                                 str_or(judge.broken, "not as it was"), said, flow_kit_state(&k)));
    }
    flow_kit_end(&k);
}

static const struct fault {
    const char *name;
    enum fake_kernel_fault fault;
    int code;
} faults[] = {
    {"transient", FAKE_KERNEL_REFUSE, ERR_TRANSIENT},
    {"auth", FAKE_KERNEL_REFUSE, ERR_AUTH},
    {"lost", FAKE_KERNEL_LOSE, ERR_TRANSIENT},
};

static void fail_at(struct trial *t, const struct fault *f, unsigned step)
{
    static struct flow_kit k;

    begin(&k, t);
    judge.must = both(&t->before, &t->after);
    edit(&k, t);
    fake_kernel_plan(k.kernel,
                     &(struct fake_kernel_plan){.fault = f->fault, .code = f->code, .step = step});
    judge.watching = true;
    (void)flow_kit_run(&k, "sync; well");
    const char *said = flow_kit_run(&k, "idle; plan");
    judge.watching = false;
    if (judge.broken != NULL || strstr(said, "plan(0)") == NULL || k.broken ||
        !str_eq(t->state, flow_kit_state(&k))) {
        complain(t, arena_printf(t->a, "%s at %u of %u: %s; %s\n  want %s\n  got  %s", f->name,
                                 step, t->steps, str_nonnull(judge.broken), said, t->state,
                                 flow_kit_state(&k)));
    }
    flow_kit_end(&k);
}

static unsigned try_edit(const char *base, const struct edit *e, const struct sample *part,
                         unsigned *points)
{
    struct trial t = {.base = base,
                      .edit = e->words,
                      .quiet = e->quiet,
                      .joins = strstr(e->words, "ports=") == NULL,
                      .a = arena_new()};

    learn(&t);
    walk(&t);
    *points += 2;
    for (size_t f = 0; f < ARRAY_LEN(faults) && !t.refused; f++) {
        for (unsigned step = 1; step <= t.steps; step++) {
            if (sample_takes(
                    part, arena_printf(t.a, "%s %s %s %u", base, e->words, faults[f].name, step))) {
                fail_at(&t, &faults[f], step);
                *points += 1;
            }
        }
    }
    arena_free(t.a);
    return t.failed;
}

static void edit__each_of_each_kind__served_as_planned(void **state)
{
    const struct sample part = sample_of_test(PARTS);
    struct sample of_edits;
    struct sample of_faults;
    unsigned failed = 0;
    unsigned points = 0;

    (void)state;
    sample_split(&part, GROUPS, &of_edits, &of_faults);
    for (size_t b = 0; b < ARRAY_LEN(bases); b++) {
        for (size_t e = 0; e < ARRAY_LEN(edits); e++) {
            if (sample_takes_number(&of_edits, b * ARRAY_LEN(edits) + e)) {
                failed += try_edit(bases[b], &edits[e], &of_faults, &points);
            }
        }
    }
    print_message("# %u points, %u wrong\n", points, failed);
    assert_int_equal(failed, 0);
}

static void edits__annotations_of_the_table__each_has_a_row(void **state)
{
    (void)state;
    for (const char *const *key = local_annotation_keys.known; *key != NULL; key++) {
        bool found = false;
        for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
            const char *at = strstr(edits[i].words, *key + strlen(LOCAL_PREFIX));
            found = found || (at != NULL && at > edits[i].words && at[-1] == '@' &&
                              at[strlen(*key + strlen(LOCAL_PREFIX))] == '=');
        }
        if (!found) {
            fail_msg("%s has no row", *key);
        }
    }
}

UNIT_MAIN(edits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits__annotations_of_the_table__each_has_a_row),
        cmocka_unit_test(edit__each_of_each_kind__served_as_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
