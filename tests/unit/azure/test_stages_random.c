/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_random.c: random lives of Services under the real driver, with a cloud in memory that
 * also fails (stage_rig.h).
 *
 * Whatever happens: an address that a Service has, and is not to lose, is still there; what others
 * made is untouched; once the failures are over everything converges, and then nothing is written;
 * and when all Services are gone nothing is left.  And without failures a plan names every write of
 * the sync that follows, and no other.  A seed that fails is named. */
#include "tests/unit/azure/stage_rig.h"

#include "common/base/clock.h"
#include "providers/azure/azure_first.h"
#include "providers/azure/model/azure_doc.h"
#include "tests/support/sample.h"
#include "tests/support/unit.h"

#define SEEDS    150
#define PARTS    20 /* one of which a run plays */
#define STEPS    10
#define SERVICES 6

struct life {
    struct stage_rig *r;
    struct rng *rng;
    uint64_t seed;
    bool several;
    unsigned born;
    bool dying[SERVICES];
    const char *pinned[SERVICES];  /* to an address of another Service */
    const char *address[SERVICES]; /* of an external Service that keeps it */
    const char *foreign;           /* documents of others, as they were */
};

static bool one_in(struct life *l, uint64_t n)
{
    return rng_below(l->rng, n) == 0;
}

/* ---- the world ------------------------------------------------------------------------------- */

static const char *foreign_text(struct life *l)
{
    struct stage_rig *r = l->r;
    struct json_object *nsg = stage_rig_doc(r, AZURE_NSGS, "nsg");
    struct json_object *rule = azure_find(azure_array(nsg, "securityRules"), "theirs");
    return arena_printf(r->a, "%s %s %s",
                        json_text(r->a, stage_rig_doc(r, AZURE_LBS, "other"), JSON_COMPACT),
                        json_text(r->a, stage_rig_doc(r, AZURE_PIPS, "theirs"), JSON_COMPACT),
                        rule != NULL ? json_text(r->a, rule, JSON_COMPACT) : "no rule");
}

static void life_begin(struct life *l, uint64_t seed)
{
    static const char *const names[SERVICES] = {"va", "vb", "vc", "vd", "ve", "vf"};
    *l = (struct life){.r = stage_rig_new(), .rng = rng_seeded_new(seed), .seed = seed};
    l->several = one_in(l, 2);
    if (l->several) {
        struct azure_lb_config *lbs = ARENA_ARRAY(l->r->a, struct azure_lb_config, 2);
        lbs[0] = (struct azure_lb_config){
            .name = "lb1", .primary_vm_set = "vmss-1", .allow_placement = true};
        lbs[1] = (struct azure_lb_config){
            .name = "lb2", .primary_vm_set = "vmss-2", .allow_placement = true};
        l->r->p.config.lbs = lbs;
        l->r->p.config.n_lbs = 2;
    }
    stage_rig_put(l->r, AZURE_LBS,
                  "{\"name\":\"other\",\"sku\":{\"name\":\"Basic\"},\"properties\":{"
                  "\"frontendIPConfigurations\":[{\"name\":\"ava\",\"properties\":{}}]}}");
    stage_rig_put(l->r, AZURE_PIPS,
                  "{\"name\":\"theirs\",\"properties\":{\"ipAddress\":\"20.9.9.9\"}}");
    stage_rig_put(l->r, AZURE_NSGS,
                  "{\"name\":\"nsg\",\"properties\":{\"securityRules\":[{\"name\":\"theirs\","
                  "\"properties\":{\"priority\":500,\"direction\":\"Inbound\",\"access\":"
                  "\"Allow\",\"protocol\":\"Tcp\",\"sourceAddressPrefix\":\"*\","
                  "\"sourcePortRange\":\"*\",\"destinationAddressPrefix\":\"*\","
                  "\"destinationPortRange\":\"22\"}}]}}");
    l->foreign = foreign_text(l);
    for (size_t i = 0; i < SERVICES; i++) {
        struct rig_service *s = stage_rig_add(l->r, names[i], NULL, NULL);
        s->verb = 0;
        s->gone = true;
    }
}

/* ---- what happens ---------------------------------------------------------------------------- */

/* Shares the address of another Service, with a port of its own. */
static void share(struct life *l, size_t i)
{
    struct stage_rig *r = l->r;
    const struct rig_service *other = &r->services[rng_below(l->rng, SERVICES)];
    const char *ip = arena_strndup(r->a, other->status, strcspn(other->status, " "));
    if (other == &r->services[i] || other->gone || !str_has_prefix(ip, "20.")) {
        return;
    }
    l->pinned[i] = ip;
    r->services[i].annotations = arena_printf(r->a, "{\"azure-load-balancer-ipv4\":\"%s\"}", ip);
    r->services[i].spec =
        arena_printf(r->a, "\"ports\":[{\"port\":%zu,\"nodePort\":%zu}]", 1000 + i, 31000 + i);
}

static void change(struct life *l, size_t i)
{
    static const char *const specs[] = {
        NULL,
        "\"ports\":[{\"port\":443,\"nodePort\":30443}]",
        "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30080},{\"name\":\"b\",\"protocol\":"
        "\"UDP\",\"port\":53,\"nodePort\":30053}"
        "]",
        "\"ports\":[{\"port\":80,\"nodePort\":30080}],\"ipFamilies\":[\"IPv4\",\"IPv6\"]",
        "\"ports\":[{\"port\":80,\"nodePort\":30080}],\"loadBalancerSourceRanges\":[\"10.1.0.0/"
        "16\"]",
    };
    static const char *const annotations[] = {
        NULL,
        "{\"azure-load-balancer-internal\":\"true\"}",
        "{\"azure-load-balancer-internal\":\"true\",\"azure-pls-create\":\"true\"}",
        "{\"azure-disable-load-balancer-floating-ip\":\"true\"}",
        "{\"azure-load-balancer-configurations\":\"lb1\"}",
        "{\"azure-load-balancer-configurations\":\"lb2\"}",
        "{\"azure-disable-load-balancer-nsg-rule\":\"true\"}",
        "{\"azure-load-balancer-tcp-idle-timeout\":\"3\"}",
    };
    struct rig_service *s = &l->r->services[i];
    s->spec = specs[rng_below(l->rng, ARRAY_LEN(specs))];
    s->annotations = annotations[rng_below(l->rng, ARRAY_LEN(annotations))];
    s->verb = TT_VERB_ENSURE;
    l->pinned[i] = NULL;
    if (!l->several && one_in(l, 4)) { /* who moves and shares at once may ask for what cannot be */
        share(l, i);
    }
}

static void happen(struct life *l)
{
    for (size_t i = 0; i < SERVICES; i++) {
        struct rig_service *s = &l->r->services[i];
        if (s->gone && one_in(l, 2)) {
            /* A new object: another UID, and so other names in the cloud. */
            s->gone = false;
            s->status = "";
            s->name = arena_printf(l->r->a, "v%c%03u", (int)('a' + i), ++l->born);
            change(l, i);
        } else if (!s->gone && l->dying[i]) {
            s->verb = TT_VERB_DELETE;
        } else if (!s->gone && one_in(l, 4)) {
            l->dying[i] = true;
            s->verb = TT_VERB_DELETE;
        } else if (!s->gone && one_in(l, 3)) {
            change(l, i);
        } else if (!s->gone && s->code != TT_OK) {
            s->verb = TT_VERB_ENSURE; /* as the queue does */
        } else if (!s->gone && one_in(l, 3)) {
            s->verb = TT_VERB_UPDATE;
        }
    }
}

static void misfortune(struct life *l)
{
    static const char *const names[] = {"kubernetes", "kubernetes-internal", "nsg",           "lb1",
                                        "lb2",        "kubernetes-ava",      "kubernetes-avb"};
    static const int codes[] = {ERR_FORBIDDEN, ERR_TRANSIENT, ERR_INVALID, ERR_QUOTA};
    struct stage_rig *r = l->r;
    r->fail_times = one_in(l, 3) ? 1 + (unsigned)rng_below(l->rng, 2) : 0;
    r->fail = names[rng_below(l->rng, ARRAY_LEN(names))];
    r->fail_code = codes[rng_below(l->rng, ARRAY_LEN(codes))];
    r->poison = one_in(l, 6) ? "avc0" : NULL;
}

/* ---- what must hold -------------------------------------------------------------------------- */

static bool has_address(struct stage_rig *r, const char *address)
{
    struct json_object *o;
    AZURE_EACH (o, r->docs.lists[AZURE_PIPS]) {
        if (str_eq(azure_prop_str(o, "ipAddress"), address)) {
            return true;
        }
    }
    return false;
}

static void check(struct life *l, const char *when)
{
    struct stage_rig *r = l->r;
    const char *row = arena_printf(r->a, "seed %llu, %s", (unsigned long long)l->seed, when);
    same_text(row, foreign_text(l), l->foreign);
    for (size_t i = 0; i < SERVICES; i++) {
        struct rig_service *s = &r->services[i];
        const char *first = arena_strndup(r->a, s->status, strcspn(s->status, " "));
        bool external = !s->gone && str_has_prefix(first, "20.");
        bool internal_wanted = s->annotations != NULL && strstr(s->annotations, "internal") != NULL;
        if (external && !internal_wanted && !l->dying[i] && !has_address(r, first)) {
            fail_msg("%s: %s has lost %s; written:\n%s", row, s->name, first, r->log);
        }
        bool free = l->pinned[i] == NULL;
        if (free && l->address[i] != NULL && external && !str_eq(l->address[i], first)) {
            fail_msg("%s: %s had %s, has %s", row, s->name, l->address[i], first);
        }
        l->address[i] = free && external && !internal_wanted && s->code == TT_OK ? first : NULL;
        if (s->gone) {
            l->dying[i] = false;
        }
    }
}

/* Reverts impossible settings: bad values, deleted or unreachable addresses. */
static bool mend(struct life *l, bool all_go)
{
    struct stage_rig *r = l->r;
    bool some = false;
    for (size_t i = 0; i < SERVICES; i++) {
        struct rig_service *s = &r->services[i];
        bool bad = s->annotations != NULL && (strstr(s->annotations, "idle") != NULL ||
                                              strstr(s->annotations, "configurations") != NULL);
        if (bad || s->code != TT_OK || (l->pinned[i] != NULL && !has_address(r, l->pinned[i]))) {
            s->annotations = NULL;
            l->pinned[i] = NULL;
        }
        some = some || (!s->gone && s->code != TT_OK);
        if (!s->gone) {
            l->dying[i] = l->dying[i] || all_go;
            s->verb = l->dying[i] ? TT_VERB_DELETE : TT_VERB_ENSURE;
        }
    }
    return some;
}

/* The day is over after which a Service that Azure refused for its text is tried again. */
static void wait_for_a_day(struct stage_rig *r)
{
    for (size_t i = 0; i < SERVICES; i++) {
        const char *key = arena_printf(r->a, "default/%s", r->services[i].name);
        struct azure_first *f = map_get(r->p.firsts, key);
        if (f != NULL) {
            f->until_ms = 0;
        }
    }
}

static void converge(struct life *l, bool all_go)
{
    struct stage_rig *r = l->r;
    r->fail_times = 0;
    r->poison = NULL;
    wait_for_a_day(r);
    (void)mend(l, all_go);
    stage_rig_run(r);
    check(l, all_go ? "all go" : "in the end");
    if (mend(l, all_go)) {
        stage_rig_run(r);
        check(l, "mended");
    }
    for (size_t i = 0; i < SERVICES; i++) {
        const struct rig_service *s = &r->services[i];
        const char *row = arena_printf(r->a, "seed %llu, %s", (unsigned long long)l->seed, s->name);
        /* A frontend that others came to share cannot get another address. */
        same_text(row, s->code == ERR_IN_USE && !all_go ? "" : s->message, "");
    }
}

static void check_settled(struct life *l)
{
    struct stage_rig *r = l->r;
    for (size_t i = 0; i < SERVICES; i++) {
        r->services[i].verb = r->services[i].gone ? 0 : TT_VERB_ENSURE;
    }
    stage_rig_plan(r);
    same_text(arena_printf(r->a, "seed %llu, settled", (unsigned long long)l->seed), r->log, "");
}

static void lives__keep_addresses_converge_and_leave_nothing(void **state)
{
    (void)state;
    const struct sample part = sample_of_test(PARTS);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        if (!sample_takes_number(&part, seed)) {
            continue;
        }
        struct life l;
        life_begin(&l, seed);
        for (int i = 0; i < STEPS; i++) {
            happen(&l);
            misfortune(&l);
            stage_rig_run(l.r);
            check(&l, arena_printf(l.r->a, "step %d", i));
        }
        converge(&l, false);
        check_settled(&l);
        converge(&l, true);
        same_text("balancers", stage_rig_names(l.r, AZURE_LBS), "other");
        same_text("public IPs", stage_rig_names(l.r, AZURE_PIPS), "theirs");
        same_text("security rules", stage_rig_rules(l.r), "22>*");
        rng_free(l.rng);
        stage_rig_free(l.r);
    }
}

static int compare_lines(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* The writes, without the order within a stage: a sync writes independent balancers in parallel. */
static const char *lines_of(struct arena *a, const char *log)
{
    size_t n = 0;
    char **lines = str_split(a, log, '\n', &n);
    qsort(lines, n, sizeof(*lines), compare_lines);
    const char *text = "";
    for (size_t i = 0; i < n; i++) {
        text = arena_printf(a, "%s%s\n", text, lines[i]);
    }
    return text;
}

static void plan__tells_what_the_sync_does(void **state)
{
    (void)state;
    const struct sample part = sample_of_test(PARTS);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        if (!sample_takes_number(&part, seed)) {
            continue;
        }
        struct life l;
        life_begin(&l, seed);
        for (int i = 0; i < STEPS; i++) {
            happen(&l);
            stage_rig_plan(l.r);
            const char *planned = lines_of(l.r->a, l.r->log);
            stage_rig_run(l.r);
            same_text(arena_printf(l.r->a, "seed %llu, step %d", (unsigned long long)seed, i),
                      planned, lines_of(l.r->a, l.r->log));
            check(&l, arena_printf(l.r->a, "step %d", i));
        }
        rng_free(l.rng);
        stage_rig_free(l.r);
    }
}

UNIT_MAIN(stages_random)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives__keep_addresses_converge_and_leave_nothing),
        cmocka_unit_test(plan__tells_what_the_sync_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
