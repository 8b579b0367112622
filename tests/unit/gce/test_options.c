/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c: the provider's flags: upstream's names and defaults (gce-l4.md §7.5,
 * gce-cloud-provider.md §14.2), refusals at the start, messages. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/config/gce_options.h"
#include "tests/support/unit.h"

/* "name=value name=value" as the host hands them over. */
static struct tt_kv *flags_of(struct arena *a, const char *text, size_t *ret_n)
{
    char **items = str_split(a, text, ' ', ret_n);
    struct tt_kv *flags = ARENA_ARRAY(a, struct tt_kv, *ret_n + 1);
    size_t n = 0;
    for (size_t i = 0; i < *ret_n; i++) {
        char *equals = strchr(items[i], '=');
        if (equals != NULL) {
            *equals = '\0';
            flags[n++] = (struct tt_kv){items[i], equals + 1};
        }
    }
    *ret_n = n;
    return flags;
}

static int parse(struct arena *a, const char *text, struct gce_options *ret, struct err *err)
{
    size_t n;
    const struct tt_kv *flags = flags_of(a, text, &n);
    return gce_options_parse(a, flags, n, ret, err);
}

static void rates__rules_of_methods__are_found_by_version_and_method(void **state)
{
    struct arena *a = *state;
    struct gce_options o;
    struct err err = ERR_INIT;
    assert_int_equal(
        parse(a,
              "gce-ratelimit=ga.Addresses.Get,qps,1.5,5,ga.RegionBackendServices."
              "Update,qps,2,1,alpha.Operations.Get,qps,10,10,ga.Operations.Get,qps,4,8",
              &o, &err),
        ERR_OK);
    const struct gce_rates *r = &o.rates;
    assert_int_equal(r->n, 4);
    assert_int_equal(gce_rates_find(r, "v1", "compute.addresses.get"), 0);
    assert_true(r->limits[0].per_second == 1.5 && r->limits[0].burst == 5);
    assert_int_equal(gce_rates_find(r, "v1", "compute.regionBackendServices.update"), 1);
    assert_int_equal(gce_rates_find(r, "v1", "compute.regionOperations.wait"), 3);
    assert_int_equal(gce_rates_find(r, "v1", "compute.zoneOperations.wait"), 3);
    assert_int_equal(gce_rates_find(r, "beta", "compute.addresses.get"), 4);
    assert_int_equal(gce_rates_find(r, "v1", "compute.addresses.list"), 4);
}

static void rates__wrong_rules__are_refused_with_the_rule(void **state)
{
    static const char *const rows[][2] = {
        {"ga.Addresses.Get,qps,1.5", "parts of it are missing"},
        {"ga.Addresses.Get,qps,0,5", "\"0\" is no rate"},
        {"ga.Addresses.Get,qps,nan,5", "\"nan\" is no rate"},
        {"ga.Addresses.Get,qps,1,0", "\"0\" is no burst"},
        {"ga.Addresses.Get,strategy,1,5", "the limiter \"strategy\" is unknown"},
        {"v1.Addresses.Get,qps,1,5", "none of ga, beta and alpha"},
        {"ga.Addresses,qps,1,5", "not VERSION.SERVICE.OPERATION"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_options o;
        struct err err = ERR_INIT;
        assert_int_equal(parse(a, arena_printf(a, "gce-ratelimit=%s", rows[i][0]), &o, &err),
                         ERR_INVALID);
        if (strstr(err.message, rows[i][1]) == NULL) {
            fail_msg("%s: %s", rows[i][0], err.message);
        }
        assert_non_null(strstr(err.message, "for instance ga.Addresses.Get,qps,1.5,5"));
    }
}

static void table__every_flag_of_upstream__with_its_default(void **state)
{
    static const struct tt_kv want[] = {
        {"run-l4-controller", "false"},
        {"run-l4-netlb-controller", "false"},
        {"run-l4-standalone-neg-controller", "false"},
        {"enable-l4-standalone-negs", "false"},
        {"enable-l4-neg", "false"},
        {"enable-l4-netlb-neg", "false"},
        {"enable-l4-netlb-neg-default", "false"},
        {"enable-l4-netlb-rbs-by-default", "false"},
        {"prevent-legacy-race-l4-ilb", "0s"},
        {"num-l4-workers", "5"},
        {"num-l4-net-workers", "5"},
        {"sync-period", "10m0s"},
        {"neg-gc-period", "2m0s"},
        {"num-neg-gc-workers", "10"},
        {"max-ig-size", "1000"},
        {"enable-ig-controller", "true"},
        {"enable-pinhole", "true"},
        {"disable-l4-lb-fw", "false"},
        {"enable-l4-deny-firewall", "false"},
        {"enable-l4-deny-firewall-rollback-cleanup", "false"},
        {"enable-l4ilb-dual-stack", "true"},
        {"enable-l4netlb-dual-stack", "true"},
        {"enable-l4ilb-mixed-protocol", "false"},
        {"enable-l4netlb-mixed-protocol", "false"},
        {"enable-l3-default-forwarding-rule-for-netlb-mixed-protocol", "false"},
        {"enable-discrete-port-forwarding", "false"},
        {"enable-weighted-l4-ilb", "false"},
        {"enable-weighted-l4-netlb", "false"},
        {"enable-l4ilb-zonal-affinity", "false"},
        {"enable-l4lb-strong-sa", "false"},
        {"enable-multi-networking", "false"},
        {"enable-multi-subnet-cluster", "false"},
        {"enable-multi-subnet-cluster-phase1", "false"},
        {"enable-ipv6-node-neg-endpoints", "false"},
        {"enable-dual-stack-neg", "false"},
        {"enable-ipv6-only-neg", "false"},
        {"enable-l4-neg-detach-cancel", "false"},
        {"enable-l4-neg-local-include-drain-nodes", "false"},
        {"manage-l4lb-logging", "false"},
        {"enable-byo-ipv6", "false"},
        {"enable-neg-preprovisioning", "false"},
        {"read-only-controllers", "false"},
        {"gate-l4-by-lock", "true"},
        {"gate-neg-by-lock", "false"},
        {"gce-operation-poll-interval", "1s"},
        {"gce-ratelimit", ""},
        {"l4-netlb-provision-deadline", "20m0s"},
        {"metrics-export-interval", "10m0s"},
        {"neg-metrics-export-interval", "5s"},
        {"healthz-port", "8081"},
        {"enable-multi-project", "false"},
        {"enable-rbs-default-l4-netlb", "false"},
        {"enable-l4-lb-annotations", "false"},
        {"enable-l4-ilb-fine-grained-lock", "false"},
        /* ours */
        {"gce-nodes-need-pod-cidr", "true"},
        {"empty-source-family-allows-all", "false"},
        {"lenient-load-balancer-type", "false"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const char *text = NULL;
        size_t found = 0;
        for (size_t k = 0; k < GCE_OPTION_COUNT; k++) {
            if (str_eq(gce_option_table[k].name, want[i].key)) {
                text = gce_option_table[k].default_text;
                found++;
            }
        }
        assert_int_equal(found, 1);
        same_text(want[i].key, text, want[i].value);
    }
    assert_int_equal(GCE_OPTION_COUNT, ARRAY_LEN(want) + 2); /* and the two lists of ranges */
}

static void parse__nothing_given__upstreams_defaults(void **state)
{
    struct gce_options o;
    assert_int_equal(gce_options_parse(*state, NULL, 0, &o, NULL), ERR_OK);
    const struct gce_switches *s = &o.switches;
    assert_false(s->legacy_off || s->run_ilb || s->run_netlb || s->ilb_subsets || s->rbs_default);
    assert_false(s->neg_ilb || s->neg_netlb || s->neg_default);
    assert_false(s->standalone_negs || s->standalone_status);
    assert_true(o.l4.dual_stack_ilb && o.l4.dual_stack_netlb && o.l4.pinhole);
    assert_true(o.l4.needs_pod_cidr && !o.l4.empty_family_opens && !o.l4.mixed_ilb);
    assert_true(o.ig_controller && o.gate_l4 && !o.gate_neg);
    assert_int_equal(o.max_ig_size, 1000);
    assert_int_equal(o.periods.sync_ms, 600000);
    assert_int_equal(o.periods.neg_gc_ms, 120000);
    assert_int_equal(o.periods.legacy_race_ms, 0);
}

/* Each flag alone turns its member round, and no other one. */
static void parse__one_flag__one_member(void **state)
{
#define AT(member) offsetof(struct gce_options, member)
    static const struct {
        const char *flag;
        size_t at;
    } rows[] = {
        {"run-l4-netlb-controller=true", AT(switches.run_netlb)},
        {"enable-l4-neg=true", AT(switches.neg_ilb)},
        {"enable-l4-netlb-neg=true", AT(switches.neg_netlb)},
        {"enable-l4-netlb-neg-default=true", AT(switches.neg_default)},
        {"enable-l4ilb-dual-stack=false", AT(l4.dual_stack_ilb)},
        {"enable-l4netlb-dual-stack=false", AT(l4.dual_stack_netlb)},
        {"enable-l4ilb-mixed-protocol=true", AT(l4.mixed_ilb)},
        {"enable-l4netlb-mixed-protocol=true", AT(l4.mixed_netlb)},
        {"enable-discrete-port-forwarding=true", AT(l4.discrete_ports)},
        {"enable-weighted-l4-ilb=true", AT(l4.weighted_ilb)},
        {"enable-weighted-l4-netlb=true", AT(l4.weighted_netlb)},
        {"enable-l4ilb-zonal-affinity=true", AT(l4.zonal_affinity)},
        {"enable-l4lb-strong-sa=true", AT(l4.strong_affinity)},
        {"enable-pinhole=false", AT(l4.pinhole)},
        {"disable-l4-lb-fw=true", AT(l4.disable_firewall)},
        {"manage-l4lb-logging=true", AT(l4.logging)},
        {"enable-byo-ipv6=true", AT(l4.byo_ipv6)},
        {"enable-ipv6-node-neg-endpoints=true", AT(l4.ipv6_node_endpoints)},
        {"enable-dual-stack-neg=true", AT(l4.dual_stack_neg)},
        {"enable-l4-neg-detach-cancel=true", AT(l4.neg_detach_cancel)},
        {"enable-l4-neg-local-include-drain-nodes=true", AT(l4.neg_local_draining)},
        {"enable-multi-subnet-cluster-phase1=true", AT(l4.multi_subnet)},
        {"gce-nodes-need-pod-cidr=false", AT(l4.needs_pod_cidr)},
        {"empty-source-family-allows-all=true", AT(l4.empty_family_opens)},
        {"lenient-load-balancer-type=true", AT(lenient_type)},
        {"enable-ig-controller=false", AT(ig_controller)},
        {"enable-l4-lb-annotations=true", AT(lb_annotations)},
        {"repair-adopted=true", AT(repair_adopted)},
        {"gate-l4-by-lock=false", AT(gate_l4)},
        {"gate-neg-by-lock=true", AT(gate_neg)},
    };
#undef AT
    struct arena *a = *state;
    struct gce_options initial;
    assert_int_equal(parse(a, "", &initial, NULL), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_options o;
        assert_int_equal(parse(a, rows[i].flag, &o, NULL), ERR_OK);
        o.lb_src_cidrs = initial.lb_src_cidrs;
        if (((const unsigned char *)&o)[rows[i].at] ==
            ((const unsigned char *)&initial)[rows[i].at]) {
            fail_msg("%s does nothing", rows[i].flag);
        }
        ((unsigned char *)&o)[rows[i].at] ^= 1;
        if (memcmp(&o, &initial, sizeof(o)) != 0) {
            fail_msg("%s does something else", rows[i].flag);
        }
    }
}

static void parse__numbers_and_periods__in_the_hosts_form(void **state)
{
    struct gce_options o;
    assert_int_equal(parse(*state,
                           "max-ig-size=250 sync-period=60000 neg-gc-period=5000 "
                           "prevent-legacy-race-l4-ilb=3000",
                           &o, NULL),
                     ERR_OK);
    assert_int_equal(o.max_ig_size, 250);
    assert_int_equal(o.periods.sync_ms, 60000);
    assert_int_equal(o.periods.neg_gc_ms, 5000);
    assert_int_equal(o.periods.legacy_race_ms, 3000);
}

static void parse__flags_that_say_the_same__are_one(void **state)
{
    struct arena *a = *state;
    struct gce_options o;
    assert_int_equal(parse(a, "enable-rbs-default-l4-netlb=true", &o, NULL), ERR_OK);
    assert_true(o.switches.rbs_default && o.rbs_default);
    assert_int_equal(parse(a, "enable-l4-netlb-rbs-by-default=true", &o, NULL), ERR_OK);
    assert_true(o.switches.rbs_default && o.rbs_default);
    assert_int_equal(parse(a,
                           "enable-l4-deny-firewall=true "
                           "enable-l4-deny-firewall-rollback-cleanup=true",
                           &o, NULL),
                     ERR_OK);
    assert_true(o.deny_firewall && o.l4.deny_firewall && o.deny_cleanup && o.l4.deny_cleanup);
    assert_int_equal(parse(a, "run-l4-controller=true", &o, NULL), ERR_OK);
    assert_true(o.switches.run_ilb && o.switches.ilb_subsets && o.switches.neg_ilb);
    assert_int_equal(
        parse(a, "run-l4-controller=true run-l4-netlb-controller=true read-only-controllers=true",
              &o, NULL),
        ERR_OK);
    assert_false(o.switches.run_ilb || o.switches.run_netlb || o.switches.ilb_subsets);
}

static void parse__what_does_not_work__is_refused_at_start(void **state)
{
    static const struct tt_kv rows[] = {
        {"enable-l4-deny-firewall=true", "--enable-l4-deny-firewall needs "
                                         "--enable-l4-deny-firewall-rollback-cleanup"},
        {"enable-l4-deny-firewall=true enable-l4-deny-firewall-rollback-cleanup=true "
         "enable-pinhole=false",
         "--enable-l4-deny-firewall needs --enable-pinhole"},
        {"enable-l3-default-forwarding-rule-for-netlb-mixed-protocol=true",
         "--enable-l3-default-forwarding-rule-for-netlb-mixed-protocol needs "
         "--enable-l4netlb-mixed-protocol"},
        {"max-ig-size=0", "--max-ig-size must be at least 1"},
        {"sync-period=0", "--sync-period must be at least 1000 ms"},
        {"neg-gc-period=-1", "--neg-gc-period must be at least 1000 ms"},
        {"cloud-provider-gce-lb-src-cidrs=10.0.0.0",
         "--cloud-provider-gce-lb-src-cidrs: invalid CIDR address: 10.0.0.0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_options o;
        struct err err = ERR_INIT;
        assert_int_equal(parse(*state, rows[i].key, &o, &err), ERR_INVALID);
        same_text(rows[i].key, err.message, rows[i].value);
    }
    struct gce_options o;
    assert_int_equal(parse(*state,
                           "enable-l3-default-forwarding-rule-for-netlb-mixed-protocol=true "
                           "enable-l4netlb-mixed-protocol=true",
                           &o, NULL),
                     ERR_OK);
    assert_true(o.l4.l3_default);
}

static void doubts__flags_without_effect__are_told(void **state)
{
    static const struct tt_kv rows[] = {
        {"", ""},
        {"run-l4-controller=true", "--run-l4-controller without --enable-l4-neg"},
        {"run-l4-controller=true enable-l4-neg=true", ""},
        {"enable-l4-neg=true", "--enable-l4-neg has no effect"},
        {"enable-l4-netlb-neg=true", "--enable-l4-netlb-neg has no effect"},
        {"run-l4-netlb-controller=true enable-l4-netlb-neg-default=true",
         "--enable-l4-netlb-neg-default has no effect"},
        {"run-l4-standalone-neg-controller=true",
         "--run-l4-standalone-neg-controller without --enable-l4-standalone-negs"},
        {"run-l4-standalone-neg-controller=true enable-l4-standalone-negs=true", ""},
        {"enable-l4-standalone-negs=true", ""},
        {"run-l4-netlb-controller=true enable-multi-networking=true",
         "--enable-multi-networking without --run-l4-controller: internal"},
        {"run-l4-controller=true enable-l4-neg=true enable-multi-networking=true",
         "--enable-multi-networking without --run-l4-netlb-controller: external"},
        {"run-l4-controller=true enable-l4-neg=true run-l4-netlb-controller=true "
         "enable-multi-networking=true",
         ""},
        {"read-only-controllers=true", "--read-only-controllers"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n;
        const struct tt_kv *flags = flags_of(a, rows[i].key, &n);
        const struct gce_strs doubts = gce_options_doubts(a, flags, n);
        assert_int_equal(doubts.n, *rows[i].value == '\0' ? 0 : 1);
        if (doubts.n == 1 && !str_has_prefix(doubts.items[0], rows[i].value)) {
            fail_msg("%s: %s", rows[i].key, doubts.items[0]);
        }
    }
}

UNIT_MAIN(options)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(rates__rules_of_methods__are_found_by_version_and_method),
        PURE_TEST(rates__wrong_rules__are_refused_with_the_rule),
        PURE_TEST(table__every_flag_of_upstream__with_its_default),
        PURE_TEST(parse__nothing_given__upstreams_defaults),
        PURE_TEST(parse__one_flag__one_member),
        PURE_TEST(parse__numbers_and_periods__in_the_hosts_form),
        PURE_TEST(parse__flags_that_say_the_same__are_one),
        PURE_TEST(parse__what_does_not_work__is_refused_at_start),
        PURE_TEST(doubts__flags_without_effect__are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
