/* SPDX-License-Identifier: Apache-2.0 */
/* test_wish.c: annotations of a Service, own ones and those of other load balancers: what is
 * read, and each refusal to the letter.
 *
 * Rows with a number are those of the provider's specification. */
#include "providers/local/model/wish.h"
#include "tests/support/objects.h"
#include "tests/unit/local/model/model_test.h"

#include "common/base/clock.h"
#include "common/lb/service_rules.h"

#define CONFIG                                                                                     \
    V "pools:\n- {name: public, addresses: [10.0.0.0/24]}\n"                                       \
      "- {name: dsr, addresses: [10.0.1.0/24]}\n"

static void append_health(struct str_buf *b, const struct local_health_wish *h)
{
    if (h->kind != LOCAL_CHECK_AUTO) {
        str_appendf(b, " check=%s", local_check_word(h->kind));
    }
    if (h->path != NULL) {
        str_appendf(b, " path=%s", h->path);
    }
    if (h->port != 0) {
        str_appendf(b, " port=%u", h->port);
    }
    if (h->interval_ms != 0 || h->timeout_ms != 0) {
        str_appendf(b, " times=%d/%d", (int)h->interval_ms, (int)h->timeout_ms);
    }
    if (h->fall != 0 || h->rise != 0) {
        str_appendf(b, " counts=%u/%u", h->fall, h->rise);
    }
}

static void append_list(struct str_buf *b, const char *name, const char *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str_appendf(b, "%s%s", i == 0 ? name : ",", items[i]);
    }
}

static void append_serving(struct str_buf *b, const struct local_wish *w)
{
    if (w->has_mode) {
        str_appendf(b, " mode=%s", local_mode_word(w->mode));
    }
    if (w->scheduler != LOCAL_SCHED_AUTO) {
        str_appendf(b, " scheduler=%s", local_scheduler_word(w->scheduler));
    }
    if (w->targets != LOCAL_TARGETS_AUTO) {
        str_appendf(b, " targets=%d", (int)w->targets);
    }
    if (w->has_snat) {
        str_appendf(b, " snat=%d", (int)w->snat);
    }
    if (w->has_drain_timeout) {
        str_appendf(b, " drain=%d", (int)w->drain_timeout_ms);
    }
    if (w->sorry.addr.len != 0) {
        char addr[IP_TEXT_MAX];
        ip_format(&w->sorry.addr, addr);
        str_appendf(b, " sorry=%s/%u", addr, w->sorry.port);
    }
}

/* All that is asked for, in the order of struct local_wish. */
static const char *wish_text(struct arena *a, const struct local_wish *w)
{
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, w->ignore ? " ignore" : "");
    if (w->pool != NULL) {
        str_appendf(&b, " pool=%s", w->pool);
    }
    for (size_t i = 0; i < w->n_addrs; i++) {
        char addr[IP_TEXT_MAX];
        ip_format(&w->addrs[i], addr);
        str_appendf(&b, "%s%s", i == 0 ? " addrs=" : ",", addr);
    }
    if (w->share != NULL) {
        str_appendf(&b, " share=%s", w->share);
    }
    append_serving(&b, w);
    append_health(&b, &w->health);
    append_list(&b, " ranges=", w->source_ranges, w->n_source_ranges);
    append_list(&b, " interfaces=", w->interfaces, w->n_interfaces);
    str_append(&b, w->udp_one_packet ? " one-packet" : "");
    str_append(&b, w->move ? " move" : "");
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text[0] == ' ' ? text + 1 : text;
}

/* With single quotes for double ones.  The wish as text, or "E MESSAGE". */
static const char *read_text(struct arena *a, const char *annotations, const char *spec)
{
    const struct local_config *c = config_of(a, CONFIG);
    const char *json =
        arena_printf(a,
                     "{'metadata': {'namespace': 'd', 'name': 'a', 'annotations': {%s}}, "
                     "'spec': {'type': 'LoadBalancer' %s}}",
                     annotations, str_nonnull(spec));
    const struct tt_service *s = test_service_text(a, str_replace(a, json, "'", "\""));
    struct local_wish w = {.pool = "untouched"};
    struct err err = ERR_INIT;
    int rc = local_wish_read(a, c, s, &w, &err);
    if (rc != ERR_OK) {
        assert_int_equal(rc, ERR_INVALID);
        assert_string_equal(w.pool, "untouched");
        return arena_printf(a, "E %s", err.message);
    }
    assert_string_equal(err.message, "");
    return wish_text(a, &w);
}

struct row {
    const char *name;
    const char *annotations;
    const char *spec;
    const char *want;
};
#define L "'local.trimtab.io/"
static const struct row rows[] = {
    {"nothing", "", NULL, ""},
    {"pool", L "pool': ' dsr '", NULL, "pool=dsr"},
    {"pool of MetalLB", "'metallb.io/address-pool': 'public'", NULL, "pool=public"},
    {"pool of old MetalLB", "'metallb.universe.tf/address-pool': 'public'", NULL, "pool=public"},
    {"pool of PureLB", "'purelb.io/service-group': 'public'", NULL, "pool=public"},
    {"A16", L "pool': 'gold'", NULL, "E pool \"gold\" is not configured (there are: public, dsr)"},
    {"A16 MetalLB", "'metallb.io/address-pool': 'gold'", NULL,
     "E annotation metallb.io/address-pool: pool \"gold\" is not configured (there are: public, "
     "dsr)"},
    {"A10", "", ", 'loadBalancerIP': '10.0.0.5'", "addrs=10.0.0.5"},
    {"A11", L "addresses': '10.0.0.5'", ", 'loadBalancerIP': '10.0.0.6'",
     "E annotation local.trimtab.io/addresses (10.0.0.5) and spec.loadBalancerIP (10.0.0.6) say "
     "different things"},
    {"A11 two annotations", L "addresses': '10.0.0.5', 'metallb.io/loadBalancerIPs': '10.0.0.6'",
     NULL,
     "E annotations local.trimtab.io/addresses (10.0.0.5) and metallb.io/loadBalancerIPs "
     "(10.0.0.6) say different things"},
    {"A37",
     "'metallb.io/loadBalancerIPs': '10.0.0.5,2001:db8::1', 'metallb.universe.tf/loadBalancerIPs': "
     "'2001:DB8:0::1, 10.0.0.5'",
     NULL, "addrs=10.0.0.5,2001:db8::1"},
    {"A38", "'kube-vip.io/loadbalancerIPs': '0.0.0.0'", NULL,
     "E annotation kube-vip.io/loadbalancerIPs: 0.0.0.0 asks kube-vip for DHCP; trimtab has none"},
    {"kube-vip", "'kube-vip.io/loadbalancerIPs': '10.0.0.5'", NULL, "addrs=10.0.0.5"},
    {"Cilium", "'lbipam.cilium.io/ips': '10.0.0.5'", NULL, "addrs=10.0.0.5"},
    {"old Cilium", "'io.cilium/lb-ipam-ips': '10.0.0.5'", NULL, "addrs=10.0.0.5"},
    {"PureLB", "'purelb.io/addresses': '10.0.0.5'", NULL, "addrs=10.0.0.5"},
    {"LoxiLB", "'loxilb.io/staticIP': '10.0.0.5'", NULL, "addrs=10.0.0.5"},
    {"no address", L "addresses': '10.0.0'", NULL,
     "E annotation local.trimtab.io/addresses: \"10.0.0\" is not an address"},
    {"two of a family", L "addresses': '10.0.0.1,10.0.0.2'", NULL,
     "E annotation local.trimtab.io/addresses: two IPv4 addresses asked for; a Service has one per "
     "family"},
    {"bad field", "", ", 'loadBalancerIP': 'here'",
     "E spec.loadBalancerIP: \"here\" is not an address"},
    {"share", L "share': 'dns'", NULL, "share=dns"},
    {"share empty", L "share': ''", NULL, ""},
    {"share of MetalLB", "'metallb.io/allow-shared-ip': 'dns'", NULL, "share=dns"},
    {"share of Cilium", "'lbipam.cilium.io/sharing-key': 'dns'", NULL, "share=dns"},
    {"share of old MetalLB", "'metallb.universe.tf/allow-shared-ip': 'dns'", NULL, "share=dns"},
    {"share of old Cilium", "'io.cilium/lb-ipam-sharing-key': 'dns'", NULL, "share=dns"},
    {"share of PureLB", "'purelb.io/allow-shared-ip': 'dns'", NULL, "share=dns"},
    {"two neighbours that disagree",
     "'purelb.io/allow-shared-ip': 'dns', 'io.cilium/lb-ipam-sharing-key': 'web'", NULL,
     "E annotations io.cilium/lb-ipam-sharing-key (web) and purelb.io/allow-shared-ip (dns) say "
     "different things"},
    {"Cilium, no address", "'lbipam.cilium.io/ips': '10.0.0'", NULL,
     "E annotation lbipam.cilium.io/ips: \"10.0.0\" is not an address"},
    {"old MetalLB, two of a family", "'metallb.universe.tf/loadBalancerIPs': '10.0.0.5, 10.0.0.6'",
     NULL,
     "E annotation metallb.universe.tf/loadBalancerIPs: two IPv4 addresses asked for; a Service "
     "has "
     "one per family"},
    {"PureLB, a pool that is not here", "'purelb.io/service-group': 'gold'", NULL,
     "E annotation purelb.io/service-group: pool \"gold\" is not configured (there are: public, "
     "dsr)"},
    {"mode", L "mode': 'ipvs-tunnel'", NULL, "mode=ipvs-tunnel"},
    {"C13", L "mode': 'dr'", NULL, "E mode \"dr\": did you mean ipvs-dr?"},
    {"mode unknown", L "mode': 'magic'", NULL,
     "E mode is \"magic\"; it can be auto, nft, ipvs-nat, ipvs-fullnat, ipvs-dr or ipvs-tunnel"},
    {"lbmode default", "'loxilb.io/lbmode': 'default'", NULL, "mode=nft"},
    {"lbmode onearm", "'loxilb.io/lbmode': 'onearm'", NULL, "mode=ipvs-fullnat"},
    {"lbmode fullnat", "'loxilb.io/lbmode': 'fullnat'", NULL, "mode=ipvs-fullnat"},
    {"lbmode dsr", "'loxilb.io/lbmode': 'dsr'", NULL, "mode=ipvs-dr"},
    {"lbmode other", "'loxilb.io/lbmode': 'l2'", NULL,
     "E annotation loxilb.io/lbmode: no mode corresponds to \"l2\" (to default, onearm, fullnat "
     "and "
     "dsr one does)"},
    {"modes differ", L "mode': 'nft', 'loxilb.io/lbmode': 'dsr'", NULL,
     "E annotations local.trimtab.io/mode (nft) and loxilb.io/lbmode (ipvs-dr) say different "
     "things"},
    {"scheduler", L "scheduler': 'wlc'", NULL, "scheduler=wlc"},
    {"scheduler slip", L "scheduler': 'wrrr'", NULL, "E scheduler \"wrrr\": did you mean wrr?"},
    {"targets", L "targets': 'nodePort'", NULL, "targets=1"},
    {"targets slip", L "targets': 'nodeport'", NULL,
     "E targets \"nodeport\": did you mean nodePort?"},
    {"targets of LoxiLB", "'loxilb.io/usepodnetwork': 'yes'", NULL, "targets=3"},
    {"targets of LoxiLB, no", "'loxilb.io/usepodnetwork': 'no'", NULL, ""},
    {"snat", L "snat': 'auto'", NULL, "snat=0"},
    {"snat unknown", L "snat': 'maybe'", NULL,
     "E snat is \"maybe\"; it can be auto, always or never"},
    {"drain", L "drain-timeout': '1m30s'", NULL, "drain=90000"},
    {"drain at once", L "drain-timeout': '0s'", NULL, "drain=0"},
    {"drain of AWS",
     "'service.beta.kubernetes.io/aws-load-balancer-connection-draining-timeout': '90', " L
     "drain-timeout': '1m30s'",
     NULL, "drain=90000"},
    {"drain soon", L "drain-timeout': 'soon'", NULL,
     "E annotation local.trimtab.io/drain-timeout: \"soon\" is not a duration"},
    {"drain long", L "drain-timeout': '25h'", NULL, "E drain-timeout 25h: at most 24h"},
    {"drain negative", L "drain-timeout': '-1ns'", NULL, "E drain-timeout -1ns: at least 0s"},
    {"check",
     L "health-check': 'http', " L "health-check-path': '/up', " L "health-check-port': '8080', " L
       "health-check-interval': '5s', " L "health-check-timeout': '500ms', " L
       "health-check-fall': '4', " L "health-check-rise': '1'",
     NULL, "check=http path=/up port=8080 times=5000/500 counts=4/1"},
    {"check interval", L "health-check-interval': '100ms'", NULL,
     "E health-check-interval 100ms: at least 500ms"},
    {"check port", L "health-check-port': '65536'", NULL,
     "E health-check-port 65536: at most 65535"},
    {"check fall", L "health-check-fall': '0'", NULL, "E health-check-fall 0: at least 1"},
    {"check fall text", L "health-check-fall': 'x'", NULL,
     "E annotation local.trimtab.io/health-check-fall: \"x\" is not a whole number"},
    {"check path", L "health-check-path': 'up'", NULL,
     "E health-check-path \"up\": a path begins with / and has at most 253 visible ASCII "
     "characters"},
    {"check kind", L "health-check': 'kubeproxy'", NULL,
     "E health-check \"kubeproxy\": did you mean kube-proxy?"},
    {"sorry", L "sorry': '[2001:db8::9]:81'", NULL, "sorry=2001:db8::9/81"},
    {"sorry bad", L "sorry': 'nobody'", NULL,
     "E annotation local.trimtab.io/sorry: \"nobody\" is not an address or address:port"},
    {"G02", "", ", 'loadBalancerSourceRanges': ['192.0.2.0/24', ' 198.51.100.7/32 ']",
     "ranges=192.0.2.0/24,198.51.100.7/32"},
    {"G04", "", ", 'loadBalancerSourceRanges': ['10.0.0.0/33']",
     "E service.Spec.LoadBalancerSourceRanges: [10.0.0.0/33] is not valid. Expecting a list of IP "
     "ranges. For example, 10.0.0.0/24. Error msg: invalid CIDR address: 10.0.0.0/33"},
    {"ranges, own", L "source-ranges': '192.0.2.0/24, 2001:db8::/32'", NULL,
     "ranges=192.0.2.0/24,2001:db8::/32"},
    {"ranges, own bad", L "source-ranges': '192.0.2.0/24,10.0.0.0/33'", NULL,
     "E annotation local.trimtab.io/source-ranges: \"10.0.0.0/33\" is not a CIDR"},
    {"ranges of upstream",
     "'service.beta.kubernetes.io/load-balancer-source-ranges': '192.0.2.0/24'", NULL,
     "ranges=192.0.2.0/24"},
    {"ranges, the field wins", L "source-ranges': 'x'",
     ", 'loadBalancerSourceRanges': ['10.1.0.0/16']", "ranges=10.1.0.0/16"},
    {"ranges in another order",
     L "source-ranges': '10.0.0.0/8,10.1.2.3/32', "
       "'service.beta.kubernetes.io/load-balancer-source-ranges': '10.1.2.3/32,10.0.0.0/8'",
     NULL, "ranges=10.0.0.0/8,10.1.2.3/32"},
    {"interfaces", L "interfaces': 'eth0, ens*'", NULL, "interfaces=eth0,ens*"},
    {"interfaces of kube-vip", "'kube-vip.io/serviceInterface': 'auto'", NULL, ""},
    {"K22", L "udp-one-packet': 'true'", NULL, "one-packet"},
    {"A23", L "move': 'true'", NULL, "move"},
    {"move, not so", L "move': 'yes'", NULL,
     "E annotation local.trimtab.io/move: want true or false, got \"yes\""},
    {"A39", "'kube-vip.io/ignore': 'true', " L "pool': 'gold'", NULL, "ignore"},
    {"ignore", L "ignore': 'true'", NULL, "ignore"},
    {"ignore false", L "ignore': 'false', 'kube-vip.io/ignore': 'no'", NULL, ""},
};

static void local_wish_read__annotations__wishes_or_texts(void **state)
{
    size_t bad = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = read_text(*state, rows[i].annotations, rows[i].spec);
        if (strcmp(got, rows[i].want) != 0) {
            print_error("%s: want\n%s\ngot\n%s\n", rows[i].name, rows[i].want, got);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

static bool is_wish(const char *key)
{
    for (const char *const *k = local_wish_annotations; *k != NULL; k++) {
        size_t n = strlen(*k);
        if ((*k)[n - 1] == '*' ? strncmp(*k, key, n - 1) == 0 : strcmp(*k, key) == 0) {
            return true;
        }
    }
    return false;
}

/* Of ours, and in the list by which slips are found. */
static bool is_known(const char *key)
{
    for (const char *const *k = local_annotation_keys.known; *k != NULL; k++) {
        if (strcmp(*k, key) == 0) {
            return true;
        }
    }
    return !str_has_prefix(key, LOCAL_PREFIX);
}

/* The keys of a text of annotations in single quotes: those before a colon. */
static void expect_keys_are_wishes(struct arena *a, const char *annotations)
{
    size_t n;
    char **pieces = str_split(a, annotations, '\'', &n);
    for (size_t i = 1; i + 1 < n; i += 2) {
        if (pieces[i + 1][0] == ':' && !is_wish(pieces[i])) {
            fail_msg("%s is read, but a change of it wakes no Service", pieces[i]);
        }
        if (pieces[i + 1][0] == ':' && !is_known(pieces[i])) {
            fail_msg("%s is read, but not known", pieces[i]);
        }
    }
}

static void local_wish_annotations__keys_that_are_read__listed(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect_keys_are_wishes(*state, rows[i].annotations);
    }
}

static void local_annotation_keys__slip__nearest_key(void **state)
{
    struct arena *a = *state;
    const struct lb_annotation_keys *keys = &local_annotation_keys;
    assert_string_equal(lb_annotation_meant(a, keys, LOCAL_PREFIX "schedular"),
                        LOCAL_PREFIX "scheduler");
    assert_string_equal(lb_annotation_meant(a, keys, LOCAL_PREFIX "adresses"),
                        LOCAL_PREFIX "addresses");
    assert_null(lb_annotation_meant(a, keys, LOCAL_POOL_GIVEN));
    assert_null(lb_annotation_meant(a, keys, "metallb.io/adress-pool"));
}

/* A thousand random sets of annotations: each is read or refused with a text. */
static void local_wish_read__random_annotations__read_or_refused(void **state)
{
    static const char *const values[] = {"",         "true",
                                         "10.0.0.5", "10.0.0.5,2001:db8::1",
                                         ",,,",      "nft",
                                         "dr",       "1m",
                                         "-1s",      "99999999999h",
                                         "8080",     "-1",
                                         "auto",     "pod",
                                         "yes",      "public",
                                         "0.0.0.0",  "10.0.0.0/8",
                                         "::/0",     "/x",
                                         "[::1]:80", "eth0,",
                                         "[2001::",  "\\u202e",
                                         "a:b:c",    ":",
                                         "[",        "rr",
                                         "kube-pro", "18446744073709551616"};
    static const char *const more[] = {"pool",
                                       "addresses",
                                       "share",
                                       "mode",
                                       "scheduler",
                                       "snat",
                                       "targets",
                                       "drain-timeout",
                                       "sorry",
                                       "move",
                                       "ignore",
                                       "health-check",
                                       "health-check-port",
                                       "health-check-interval",
                                       "health-check-path",
                                       "source-ranges",
                                       "interfaces",
                                       "udp-one-packet"};
    struct rng *r = rng_seeded_new(23);
    size_t refused = 0;
    for (int i = 0; i < 1000; i++) {
        struct arena *a = arena_new();
        struct str_buf b = STR_BUF_INIT;
        size_t n = 1 + (size_t)rng_below(r, 3);
        size_t first = (size_t)rng_below(r, ARRAY_LEN(more));
        for (size_t k = 0; k < n; k++) {
            const char *value = values[rng_below(r, ARRAY_LEN(values))];
            size_t foreign = (size_t)rng_below(r, 22);
            bool own = k > 0 || rng_below(r, 2) == 0 || foreign == 0;
            const char *key =
                own ? arena_printf(a, "local.trimtab.io/%s", more[(first + k) % ARRAY_LEN(more)])
                    : local_wish_annotations[foreign];
            str_appendf(&b, "%s'%s': '%s'", k > 0 ? ", " : "", key, value);
        }
        const char *got = read_text(a, str_buf_text(&b), NULL);
        refused += str_has_prefix(got, "E ");
        assert_true(!str_eq(got, "E "));
        str_buf_done(&b);
        arena_free(a);
    }
    rng_free(r);
    assert_in_range(refused, 100, 950);
    (void)state;
}

UNIT_MAIN(wish)
{
    const struct CMUnitTest tests[] = {
        model_test(local_wish_read__annotations__wishes_or_texts),
        model_test(local_wish_annotations__keys_that_are_read__listed),
        model_test(local_annotation_keys__slip__nearest_key),
        model_test(local_wish_read__random_annotations__read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
