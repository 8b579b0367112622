/* SPDX-License-Identifier: Apache-2.0 */
/* test_lb_batch.c: properties of azure_lb_apply() on random Services and documents, from a fixed
 * seed.
 *
 *   k Services put into one document, one after the other, give what k reconciles of one Service
 *   each give, each on
 *     the document as ARM answers it: with back references, states and addresses
 *     (docs/spec/azure.md 12.5)
 *   what belongs to no Service of the batch stays, in its order, with all its members
 *   the same once more changes nothing
 *   taking everything off leaves what was foreign
 *   a Service that cannot be put into the document leaves it as it was, to the byte */
#include "tests/unit/azure/lb.h"

#include "common/base/clock.h"
#include "providers/azure/lb/azure_lb_apply_rules.h"
#include "providers/azure/lb/azure_probe_rules.h"
#include "providers/azure/pip/azure_pip_index.h"
#include "tests/support/sample.h"
#include "tests/support/unit.h"

#include <stdio.h>

#define CASES        500 /* in a part */
#define PARTS        20  /* one of which a run plays */
#define SERVICES_MAX 8
#define ROOT         "/subscriptions/subscription/resourceGroups/rg/providers/Microsoft.Network"
#define PIP(name)    ROOT "/publicIPAddresses/" name
#define SUBNET                                                                                     \
    "{\"name\":\"subnet\",\"id\":\"" ROOT "/virtualNetworks/vnet/subnets/subnet\","                \
    "\"properties\":{\"addressPrefixes\":[\"10.1.0.0/16\",\"fd00:1::/64\"]}}"
#define PIPS                                                                                       \
    "[{\"name\":\"pin4\",\"id\":\"" PIP(                                                           \
        "pin4") "\",\"properties\":{\"ipAddress\":\"20.0.0.1\","                                   \
                "\"publicIPAddressVersion\":\"IPv4\"}},"                                           \
                "{\"name\":\"pin6\",\"id\":\"" PIP(                                                \
                    "pin6") "\",\"properties\":{\"ipAddress\":\"2603::1\","                        \
                            "\"publicIPAddressVersion\":\"IPv6\"}}]"

/* ---- a random world -------------------------------------------------------------------------- */

struct world {
    struct arena *a;
    struct rng *rng;
    const struct azure_naming *naming;
    struct azure_pips pips;
    struct azure_pips indexed;    /* the same */
    struct azure_lb_index *index; /* of the document under test */
    struct json_object *subnet;
    bool internal;
    bool pins; /* some share addresses, else some ask for all ports or for none (N_NOT_PINNED) */
    const char *lb; /* its name */
    size_t n;
    const struct azure_service *before[SERVICES_MAX];
    const struct azure_service *after[SERVICES_MAX];
    bool want[SERVICES_MAX];
};

/* How often the rare things happened; a property that never meets them shows nothing. */
struct counts {
    size_t refused;
    size_t kept;
    size_t shared;
    size_t changed;
};

static uint64_t below(struct world *w, uint64_t n)
{
    return rng_below(w->rng, n);
}

static bool one_in(struct world *w, uint64_t n)
{
    return below(w, n) == 0;
}

/* The first rows: what shared frontends cannot bear, or what leaves one without a rule
 * that keeps it (6.9). */
#define N_NOT_PINNED 2

static const char *annotation_text(struct world *w)
{
    static const struct {
        const char *name;
        uint64_t one_in;
        const char *values[3];
    } rows[] = {
        {"azure-load-balancer-enable-high-availability-ports", 8, {"true", "true", "false"}},
        {"port_80_no_lb_rule", 12, {"true", "true", "false"}},
        {"azure-disable-load-balancer-floating-ip", 8, {"true", "true", "false"}},
        {"azure-load-balancer-disable-tcp-reset", 8, {"true", "TRUE", "no"}},
        {"azure-load-balancer-tcp-idle-timeout", 8, {"5", "30", "3"}},
        {"azure-load-balancer-health-probe-protocol", 8, {"http", "https", "tcp"}},
        {"azure-load-balancer-health-probe-interval", 8, {"10", "7", "x"}},
        {"azure-load-balancer-internal-subnet", 12, {"subnet", "subnet", " subnet "}},
        {"port_80_no_probe_rule", 12, {"true", "true", "false"}},
    };
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "\"azure-load-balancer-internal\":\"%s\"", w->internal ? "true" : "false");
    for (size_t i = w->pins ? N_NOT_PINNED : 0; i < ARRAY_LEN(rows); i++) {
        if (one_in(w, rows[i].one_in)) {
            str_appendf(&b, ",\"%s\":\"%s\"", rows[i].name, rows[i].values[below(w, 3)]);
        }
    }
    if (w->pins && one_in(w, 3)) {
        str_appendf(&b, ",\"azure-load-balancer-ipv4\":\"%s\"",
                    w->internal ? "10.1.0.77" : "20.0.0.1");
    }
    if (w->pins && one_in(w, 5)) {
        str_appendf(&b, ",\"azure-load-balancer-ipv6\":\"%s\"",
                    w->internal ? "fd00:1:0::77" : "2603:0::1");
    }
    return str_buf_to_arena(&b, w->a);
}

static const char *spec_text(struct world *w)
{
    static const char *const families[] = {"\"IPv4\"", "\"IPv4\"", "\"IPv6\"", "\"IPv4\",\"IPv6\"",
                                           "\"IPv6\",\"IPv4\""};
    static const struct {
        const char *protocol;
        int port;
    } ports[] = {{"TCP", 80}, {"TCP", 443}, {"UDP", 53}, {"TCP", 8080}, {"SCTP", 99}, {"UDP", 80}};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "\"ipFamilies\":[%s],%s%s\"ports\":[", families[below(w, 5)],
                one_in(w, 3) ? "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":31999,"
                             : "",
                one_in(w, 5) ? "\"sessionAffinity\":\"ClientIP\"," : "");
    size_t must = below(w, 4);
    bool some = false;
    for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
        if (i == must || one_in(w, i == 4 ? 20 : 4)) {
            str_appendf(&b, "%s{\"name\":\"p%zu\",\"protocol\":\"%s\",\"port\":%d,\"nodePort\":%d}",
                        some ? "," : "", i, ports[i].protocol, ports[i].port, 30000 + (int)i);
            some = true;
        }
    }
    str_appendf(&b, "]");
    return str_buf_to_arena(&b, w->a);
}

static const struct azure_service *random_service(struct world *w, size_t i)
{
    const char *name = arena_printf(w->a, "%08zu-0000-4000-8000-00000000000%zu", i * 7919, i);
    return azure_service_read(w->a, w->naming,
                              azure_test_service(w->a, name,
                                                 arena_printf(w->a, "{%s}", annotation_text(w)),
                                                 spec_text(w)));
}

static const char *frontend_path(const struct world *w, const char *name)
{
    return azure_frontend_id(w->a, w->naming, w->lb, name);
}

/* Pieces of people and of other programs, some on frontends that are ours. */
static const char *foreign_text(struct world *w)
{
    struct arena *a = w->a;
    const char *ours = azure_base_name(a, w->before[below(w, w->n)]->in);
    const char *user = frontend_path(w, "user-fe");
    const char *some = one_in(w, 4) ? frontend_path(w, ours) : user;
    const char *base = one_in(w, 8) ? ours : "user";
    return arena_printf(
        a,
        "{\"name\":\"%s\",\"location\":\"westus\",\"sku\":{\"name\":\"Standard\",\"tier\":"
        "\"Regional\"},\"tags\":{\"mine\":\"x\",\"Team\":\"y\"},\"x-unknown\":{\"deep\":[1,null]},"
        "\"properties\":{\"unknown\":7,"
        "\"frontendIPConfigurations\":[{\"name\":\"user-fe\",\"id\":\"%s\",\"zones\":[\"2\"],"
        "\"properties\":{\"u\":1,\"publicIPAddress\":{\"id\":\"" PIP(
            "user") "\"}}}],"
                    "\"backendAddressPools\":[{\"name\":\"user-pool\",\"properties\":{\"u\":[]}}],"
                    "\"probes\":[{\"name\":\"user-probe\",\"properties\":{\"protocol\":\"Tcp\","
                    "\"port\":1,"
                    "\"u\":2}}],"
                    "\"loadBalancingRules\":[{\"name\":\"user-rule\",\"u\":3,\"properties\":{"
                    "\"protocol\":"
                    "\"Tcp\",\"frontendPort\":%d,\"frontendIPConfiguration\":{\"id\":\"%s\"}}}],"
                    "\"outboundRules\":[{\"name\":\"user-out\",\"properties\":{\"u\":4,"
                    "\"frontendIPConfigurations\":[{\"id\":\"%s\"}]}}],"
                    "\"inboundNatRules\":[{\"name\":\"%s-nat\",\"properties\":{\"protocol\":"
                    "\"Tcp\","
                    "\"frontendPort\":%d,\"frontendIPConfiguration\":{\"id\":\"%s\"}}}]}}",
        w->lb, user, one_in(w, 2) ? 80 : 22, user, one_in(w, 8) ? some : user, base,
        one_in(w, 2) ? 443 : 2222, one_in(w, 3) ? some : user);
}

static void world_make(struct world *w, struct arena *a, struct rng *rng)
{
    *w = (struct world){.a = a, .rng = rng};
    struct azure_config config = azure_test_config();
    config.standard_sku = !one_in(w, 8);
    config.shared_probe = one_in(w, 2);
    w->naming = lb_naming(a, &config);
    w->pips.items = azure_test_docs(a, PIPS, &w->pips.n);
    w->subnet = pure_json(a, SUBNET);
    w->internal = one_in(w, 2);
    w->pins = !one_in(w, 3);
    w->lb = w->internal ? "kubernetes-internal" : "kubernetes";
    w->n = 1 + below(w, 1 + below(w, SERVICES_MAX)); /* fewer more often: it is quicker */
    for (size_t i = 0; i < w->n; i++) {
        w->before[i] = random_service(w, i);
        w->after[i] = one_in(w, 3) ? w->before[i] : random_service(w, i);
        w->want[i] = !one_in(w, 4);
    }
}

/* The same cluster, the other way of probing: what are about. */
static const struct azure_naming *other_mode(struct world *w)
{
    struct azure_config config = *w->naming->config;
    config.shared_probe = one_in(w, 2);
    return lb_naming(w->a, &config);
}

/* ---- ARM ------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"frontendIPConfigurations", "backendAddressPools", "probes",
                                    "loadBalancingRules"};

static void link_to(const struct world *w, struct json_object *lb, size_t kind, const char *id,
                    const char *rule)
{
    struct json_object *o =
        id != NULL ? azure_find(azure_array(lb, kinds[kind]), azure_id_last(id)) : NULL;
    if (o != NULL) {
        const char *path =
            arena_printf(w->a, ROOT "/loadBalancers/%s/loadBalancingRules/%s", w->lb, rule);
        (void)json_object_array_add(azure_array_make(o, "loadBalancingRules"), azure_ref_new(path));
    }
}

static void fill_element(const struct world *w, struct json_object *o, size_t kind)
{
    struct json_object *p = azure_props_make(o);
    json_object_object_del(o, "id");
    json_add_str(
        o, "id",
        arena_printf(w->a, ROOT "/loadBalancers/%s/%s/%s", w->lb, kinds[kind], azure_doc_name(o)));
    json_object_object_del(o, "etag");
    json_add_str(o, "etag", "W/\"1\"");
    json_object_object_del(p, "provisioningState");
    json_add_str(p, "provisioningState", "Succeeded");
    json_object_object_del(p, "loadBalancingRules");
    if (kind == 0 && azure_ref(o, "subnet") != NULL &&
        azure_prop_str(o, "privateIPAddress") == NULL) {
        bool six = azure_eq(str_nonnull(azure_prop_str(o, "privateIPAddressVersion")), "IPv6");
        unsigned h = 0;
        for (const char *c = azure_doc_name(o); *c != '\0'; c++) {
            h = h * 31 + (unsigned char)*c;
        }
        json_add_str(p, "privateIPAddress",
                     arena_printf(w->a, six ? "fd00:1::1:%x" : "10.1.1.%u", h % 250));
    }
}

/* Makes of a document that was written what ARM answers. */
static struct json_object *answer(const struct world *w, struct json_object *lb)
{
    struct json_object *o;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        AZURE_EACH (o, azure_array(lb, kinds[k])) {
            fill_element(w, o, k);
        }
    }
    AZURE_EACH (o, azure_array(lb, "loadBalancingRules")) {
        link_to(w, lb, 0, azure_ref(o, "frontendIPConfiguration"), azure_doc_name(o));
        link_to(w, lb, 1, azure_ref(o, "backendAddressPool"), azure_doc_name(o));
        link_to(w, lb, 2, azure_ref(o, "probe"), azure_doc_name(o));
    }
    return lb;
}

/* ---- running --------------------------------------------------------------------------------- */

static const char *pip_of(const struct world *w, const struct azure_service *s, enum azure_family f)
{
    if (w->internal || !s->has_family[f]) {
        return NULL;
    }
    if (s->lb_ip[f] != NULL) {
        return f == AZURE_IPV6 ? PIP("pin6") : PIP("pin4");
    }
    return azure_pip_id(w->a, w->naming, "rg", azure_pip_name(w->a, w->naming, s->in, f));
}

static int put(const struct world *w, const struct azure_naming *n, const struct azure_service *s,
               bool want, struct json_object *lb, struct azure_lb_index *index,
               struct azure_lb_result *ret)
{
    static const char *const zones[] = {"1", "2", "3"};
    const struct azure_lb_ask ask = {
        .naming = n,
        .service = s,
        .want = want,
        .pips = index != NULL ? &w->indexed : &w->pips,
        .index = index,
        .pip_id = {pip_of(w, s, AZURE_IPV4), pip_of(w, s, AZURE_IPV6)},
        .subnet = w->subnet,
        .zones = zones,
        .n_zones = ARRAY_LEN(zones),
    };
    struct err err = ERR_INIT;
    return azure_lb_apply(w->a, &ask, lb, ret, &err);
}

/* The same, and the document is as it was, to the byte, unless it is said to have changed.  *text
 * is the document. */
static int put_checked(const struct world *w, size_t i, bool want, struct json_object *lb,
                       struct azure_lb_result *ret, const char **text)
{
    int rc = put(w, w->naming, w->after[i], want, lb, w->index, ret);
    const char *now = json_text(w->a, lb, JSON_COMPACT);
    bool changed = rc == ERR_OK && ret->changed;
    if (str_eq(*text, now) == changed) {
        fail_msg("code %d, said to have changed: %d\n%s\n%s", rc, changed, *text, now);
    }
    *text = now;
    return rc;
}

static bool is_of_batch(const struct world *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++) {
        if (azure_has_prefix(name, w->after[i]->base)) {
            return true;
        }
    }
    return azure_eq(name, AZURE_SHARED_PROBE) || azure_eq(name, "kubernetes") ||
           azure_eq(name, "kubernetes-IPv6");
}

/* Everything but what the batch owns: foreign elements whole, in their order. */
static struct json_object *foreign_part(const struct world *w, struct json_object *doc)
{
    struct json_object *lb = answer(w, azure_copy(w->a, doc));
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct json_object *array = azure_array(lb, kinds[k]);
        for (size_t i = json_len(array); i > 0; i--) {
            struct json_object *o = json_object_array_get_idx(array, i - 1);
            json_object_object_del(azure_props(o), "loadBalancingRules");
            if (is_of_batch(w, azure_doc_name(o))) {
                azure_array_drop(array, i - 1);
            }
        }
    }
    return lb;
}

static void must_equal(const struct world *w, uint64_t row, const char *what,
                       struct json_object *got, struct json_object *want)
{
    if (!json_equal(got, want)) {
        fail_msg("case %llu, %s: got\n%s\nwant\n%s", (unsigned long long)row, what,
                 json_text(w->a, got, JSON_SORTED_PRETTY),
                 json_text(w->a, want, JSON_SORTED_PRETTY));
    }
}

/* All Services go: what is left of ours is used by others. */
static void check_removal(struct world *w, uint64_t row, struct json_object *lb,
                          struct json_object *foreign)
{
    struct azure_lb_result r;
    struct json_object *o;
    const char *text = json_text(w->a, lb, JSON_COMPACT);
    for (int pass = 0; pass < 2;
         pass++) { /* a primary may go before those that share its frontend */
        for (size_t i = 0; i < w->n; i++) {
            assert_int_equal(put_checked(w, i, false, lb, &r, &text), ERR_OK);
        }
    }
    must_equal(w, row, "foreign part after removal", foreign_part(w, lb), foreign);
    same_text("rules left", lb_names(w->a, lb, "loadBalancingRules"), "user-rule");
    same_text("probes left", lb_names(w->a, lb, "probes"), "user-probe");
    AZURE_EACH (o, azure_array(lb, kinds[0])) {
        if (is_of_batch(w, azure_doc_name(o)) &&
            azure_frontend_in_use(w->a, w->after[0], azure_doc_id(o), lb) == NULL) {
            fail_msg("case %llu: frontend %s is left", (unsigned long long)row, azure_doc_name(o));
        }
    }
}

static void look_by_index(struct world *w, struct json_object *lb)
{
    w->index = azure_lb_index_new(w->a, lb);
    w->indexed = w->pips;
    w->indexed.index = azure_pip_index_new(w->a, w->pips.items, w->pips.n);
}

static void check_case(struct world *w, uint64_t row, struct counts *counts)
{
    struct arena *a = w->a;
    struct azure_lb_result r;
    struct json_object *first = answer(w, azure_copy(a, pure_json(a, foreign_text(w))));
    const struct azure_naming *old_mode = other_mode(w);
    for (size_t i = 0; i < w->n; i++) {
        if (!one_in(w, 3)) {
            (void)put(w, old_mode, w->before[i], true, first, NULL, &r);
            (void)answer(w, first);
        }
    }
    struct json_object *foreign = foreign_part(w, first);
    struct json_object *batch = azure_copy(a, first);
    struct json_object *single = first;
    const char *text = json_text(a, batch, JSON_COMPACT);
    /* The batch is merged by an index that follows each edit, the single ones search the whole
     * document. */
    look_by_index(w, batch);
    int codes[SERVICES_MAX];
    for (size_t i = 0; i < w->n; i++) {
        struct azure_lb_result one;
        codes[i] = put_checked(w, i, w->want[i], batch, &r, &text);
        int code = put(w, w->naming, w->after[i], w->want[i], single, NULL, &one);
        if (code != codes[i]) {
            fail_msg("case %llu, Service %zu: %s in the batch, %s alone", (unsigned long long)row,
                     i, err_code_name(codes[i]), err_code_name(code));
        }
        counts->refused += code != ERR_OK;
        counts->changed += code == ERR_OK && one.changed;
        for (size_t k = 0; code == ERR_OK && k < one.n_removed; k++) {
            counts->kept += one.removed[k].kept_by != NULL;
        }
        for (int f = 0; code == ERR_OK && f < AZURE_FAMILIES; f++) {
            counts->shared += one.frontend_id[f] != NULL &&
                              !str_has_prefix(azure_id_last(one.frontend_id[f]), w->after[i]->base);
        }
        (void)answer(w, single);
    }
    must_equal(w, row, "foreign part", foreign_part(w, batch), foreign);
    must_equal(w, row, "batch and single", answer(w, batch), single);
    text = json_text(a, single, JSON_COMPACT);
    look_by_index(w, single);
    for (size_t i = 0; i < w->n; i++) {
        if (codes[i] == ERR_OK && w->want[i]) {
            int code = put_checked(w, i, true, single, &r, &text);
            if (code != ERR_OK || r.changed) {
                fail_msg("case %llu, Service %zu: the second time changes", (unsigned long long)row,
                         i);
            }
        }
    }
    look_by_index(w, batch);
    check_removal(w, row, batch, foreign);
}

static void play_part(uint64_t part)
{
    struct rng *rng = rng_seeded_new(20261121 + part);
    struct counts counts = {0};
    for (uint64_t i = 0; i < CASES; i++) {
        struct arena *a = arena_new();
        struct world w;
        world_make(&w, a, rng);
        check_case(&w, part * CASES + i, &counts);
        arena_free(a);
    }
    print_message("# %d cases: %zu Services changed something, %zu were refused, %zu shared a "
                  "frontend, %zu frontends were kept\n",
                  CASES, counts.changed, counts.refused, counts.shared, counts.kept);
    assert_true(counts.changed > CASES && counts.refused > CASES / 10);
    assert_true(counts.shared > CASES / 50 && counts.kept > CASES * 5 / 100);
    rng_free(rng);
}

static void apply__random_batches__equal_single_passes(void **state)
{
    (void)state;
    const struct sample s = sample_of_test(PARTS);
    for (uint64_t part = 0; part < PARTS; part++) {
        if (sample_takes_number(&s, part)) {
            play_part(part);
        }
    }
}

UNIT_MAIN(lb_batch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(apply__random_batches__equal_single_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
