/* SPDX-License-Identifier: Apache-2.0 */
/* gce_options.c: see gce_options.h.  Which flag fills which member is the table `readers`; what stands
 * in no row there is accepted and does nothing. */
#include "providers/gce/config/gce_options.h"

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <stddef.h>
#include <stdlib.h>

/* ---- from flags to members ------------------------------------------------------------------------- */

enum reader_type {
    READ_BOOL,
    READ_NUMBER, /* int32_t */
    READ_MS,     /* int64_t */
};
struct reader {
    const char *name;
    enum reader_type type;
    size_t offset;
    int64_t min; /* numbers and periods */
};
#define READER(name_, type_, member, min_)                                                         \
    {                                                                                              \
        .name = (name_), .type = (type_), .offset = offsetof(struct gce_options, member),          \
        .min = (min_)                                                                              \
    }
#define BOOL(name, member)         READER(name, READ_BOOL, member, 0)
#define MEMBER(type, base, offset) ((type *)(void *)((char *)(base) + (offset)))

static const struct reader readers[] = {
    BOOL("enable-l4-lb-annotations", lb_annotations),
    BOOL("enable-l4-deny-firewall", deny_firewall),
    BOOL("enable-l4-deny-firewall-rollback-cleanup", deny_cleanup),
    BOOL("repair-adopted", repair_adopted),
    BOOL("run-l4-controller", switches.run_ilb),
    BOOL("run-l4-netlb-controller", switches.run_netlb),
    BOOL("enable-l4-standalone-negs", switches.standalone_negs),
    BOOL("run-l4-standalone-neg-controller", switches.standalone_status),
    BOOL("enable-l4-neg", switches.neg_ilb),
    BOOL("enable-l4-netlb-neg", switches.neg_netlb),
    BOOL("enable-l4-netlb-neg-default", switches.neg_default),
    BOOL("enable-l4ilb-dual-stack", l4.dual_stack_ilb),
    BOOL("enable-l4netlb-dual-stack", l4.dual_stack_netlb),
    BOOL("enable-l4ilb-mixed-protocol", l4.mixed_ilb),
    BOOL("enable-l4netlb-mixed-protocol", l4.mixed_netlb),
    BOOL("enable-l3-default-forwarding-rule-for-netlb-mixed-protocol", l4.l3_default),
    BOOL("enable-discrete-port-forwarding", l4.discrete_ports),
    BOOL("enable-weighted-l4-ilb", l4.weighted_ilb),
    BOOL("enable-weighted-l4-netlb", l4.weighted_netlb),
    BOOL("enable-l4ilb-zonal-affinity", l4.zonal_affinity),
    BOOL("enable-l4lb-strong-sa", l4.strong_affinity),
    BOOL("enable-pinhole", l4.pinhole),
    BOOL("disable-l4-lb-fw", l4.disable_firewall),
    BOOL("manage-l4lb-logging", l4.logging),
    BOOL("enable-byo-ipv6", l4.byo_ipv6),
    BOOL("enable-ipv6-node-neg-endpoints", l4.ipv6_node_endpoints),
    BOOL("enable-dual-stack-neg", l4.dual_stack_neg),
    BOOL("enable-l4-neg-detach-cancel", l4.neg_detach_cancel),
    BOOL("enable-l4-neg-local-include-drain-nodes", l4.neg_local_draining),
    BOOL("enable-multi-subnet-cluster-phase1", l4.multi_subnet),
    BOOL("enable-multi-networking", l4.multi_network),
    BOOL("gce-nodes-need-pod-cidr", l4.needs_pod_cidr),
    BOOL("lenient-load-balancer-type", lenient_type),
    BOOL("empty-source-family-allows-all", l4.empty_family_opens),
    BOOL("enable-ig-controller", ig_controller),
    BOOL("gate-l4-by-lock", gate_l4),
    BOOL("gate-neg-by-lock", gate_neg),
    READER("max-ig-size", READ_NUMBER, max_ig_size, 1),
    READER("sync-period", READ_MS, periods.sync_ms, 1000),
    READER("neg-gc-period", READ_MS, periods.neg_gc_ms, 1000),
    READER("prevent-legacy-race-l4-ilb", READ_MS, periods.legacy_race_ms, 0),
    READER("l4-netlb-provision-deadline", READ_MS, periods.provision_ms, 0),
};

static const char *given(const struct tt_kv *options, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(options[i].key, name)) {
            return options[i].value;
        }
    }
    return NULL;
}

static const char *default_of(const char *name)
{
    for (size_t i = 0; i < GCE_OPTION_COUNT; i++) {
        if (str_eq(gce_option_table[i].name, name)) {
            return gce_option_table[i].default_text;
        }
    }
    return "false";
}

static bool is_on(const struct tt_kv *options, size_t n, const char *name)
{
    bool on = false;
    return str_to_go_bool(str_or(given(options, n, name), default_of(name)), &on) && on;
}

/* What was given is in milliseconds; defaults are as people write them. */
static int read_ms(const struct tt_kv *options, size_t n, const char *name, int64_t *ret,
                   struct err *err)
{
    const char *text = given(options, n, name);
    int64_t ns;
    if (text != NULL && str_to_i64(text, ret)) {
        return ERR_OK;
    }
    int rc = duration_parse(text != NULL ? text : default_of(name), &ns, err);
    if (rc == ERR_OK) {
        *ret = ns / 1000000;
    }
    return rc;
}

static int out_of_range(const struct reader *r, struct err *err)
{
    return err_set(err, ERR_INVALID, "--%s must be at least %lld%s", r->name, (long long)r->min,
                   r->type == READ_MS ? " ms" : "");
}

static int read_one(const struct reader *r, const struct tt_kv *options, size_t n,
                    struct gce_options *o, struct err *err)
{
    int64_t v = 0;
    if (r->type == READ_BOOL) {
        *MEMBER(bool, o, r->offset) = is_on(options, n, r->name);
        return ERR_OK;
    }
    int rc = ERR_OK;
    if (r->type == READ_MS) {
        rc = read_ms(options, n, r->name, &v, err);
    } else if (!str_to_i64(str_or(given(options, n, r->name), default_of(r->name)), &v)) {
        rc = err_set(err, ERR_INVALID, "not a number");
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "--%s", r->name);
        return rc;
    }
    if (v < r->min || (r->type == READ_NUMBER && v > INT32_MAX)) {
        return out_of_range(r, err);
    }
    if (r->type == READ_MS) {
        *MEMBER(int64_t, o, r->offset) = v;
    } else {
        *MEMBER(int32_t, o, r->offset) = (int32_t)v;
    }
    return ERR_OK;
}

/* ---- the rest ---------------------------------------------------------------------------------------- */

static int source_cidrs(struct arena *a, const char *text, struct gce_options *o, struct err *err)
{
    size_t n;
    char **items = str_split(a, text, ',', &n);
    for (size_t i = 0; i < n; i++) {
        struct ip_net net;
        items[i] = str_trim(a, items[i]);
        if (!ip_net_parse(items[i], &net)) {
            return err_set(err, ERR_INVALID,
                           "--cloud-provider-gce-lb-src-cidrs: invalid CIDR address: %s", items[i]);
        }
    }
    o->lb_src_cidrs = (const char *const *)items;
    o->n_lb_src_cidrs = n;
    return ERR_OK;
}

/* What both upstreams refuse at start. */
static int check(const struct gce_options *o, struct err *err)
{
    if (o->deny_firewall && !o->deny_cleanup) {
        return err_set(
            err, ERR_INVALID,
            "--enable-l4-deny-firewall needs --enable-l4-deny-firewall-rollback-cleanup");
    }
    if (o->deny_firewall && !o->l4.pinhole) {
        return err_set(err, ERR_INVALID, "--enable-l4-deny-firewall needs --enable-pinhole");
    }
    if (o->l4.l3_default && !o->l4.mixed_netlb) {
        return err_set(err, ERR_INVALID,
                       "--enable-l3-default-forwarding-rule-for-netlb-mixed-protocol needs "
                       "--enable-l4netlb-mixed-protocol");
    }
    return ERR_OK;
}

/* Flags that say the same, and what one says for another. */
static void derive(struct gce_options *o, const struct tt_kv *options, size_t n)
{
    struct gce_switches *s = &o->switches;
    o->l4.deny_firewall = o->deny_firewall;
    o->l4.deny_cleanup = o->deny_cleanup;
    s->rbs_default = is_on(options, n, "enable-rbs-default-l4-netlb") ||
                     is_on(options, n, "enable-l4-netlb-rbs-by-default");
    o->rbs_default = s->rbs_default;
    if (is_on(options, n, "read-only-controllers")) {
        s->run_ilb = s->run_netlb = false;
        s->standalone_negs = s->standalone_status = false;
    }
    s->neg_ilb = s->neg_ilb || s->run_ilb;
    s->ilb_subsets = s->run_ilb;
    s->multi_network = o->l4.multi_network;
}

int gce_options_parse(struct arena *a, const struct tt_kv *options, size_t n,
                      struct gce_options *ret, struct err *err)
{
    struct gce_options o = {0};
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < ARRAY_LEN(readers); i++) {
        rc = read_one(&readers[i], options, n, &o, err);
    }
    if (rc == ERR_OK) {
        rc = check(&o, err);
    }
    if (rc == ERR_OK) {
        const char *name = "cloud-provider-gce-lb-src-cidrs";
        rc = source_cidrs(a, str_or(given(options, n, name), default_of(name)), &o, err);
    }
    if (rc == ERR_OK) {
        rc = gce_rates_parse(a, str_nonnull(given(options, n, "gce-ratelimit")), &o.rates, err);
    }
    if (rc == ERR_OK) {
        derive(&o, options, n);
        *ret = o;
    }
    return rc;
}

struct gce_strs gce_options_doubts(struct arena *a, const struct tt_kv *options, size_t n)
{
    static const struct {
        const char *on;
        const char *without; /* NULL: alone */
        const char *text;
    } doubts[] = {
        {"run-l4-controller", "enable-l4-neg",
         "--run-l4-controller without --enable-l4-neg: the NEGs of internal load balancers are "
         "made "
         "all the same"},
        {"enable-l4-netlb-neg", "run-l4-netlb-controller",
         "--enable-l4-netlb-neg has no effect without --run-l4-netlb-controller"},
        {"enable-l4-netlb-neg-default", "enable-l4-netlb-neg",
         "--enable-l4-netlb-neg-default has no effect without --enable-l4-netlb-neg"},
        {"enable-l4-neg", "run-l4-controller",
         "--enable-l4-neg has no effect without --run-l4-controller"},
        {"run-l4-standalone-neg-controller", "enable-l4-standalone-negs",
         "--run-l4-standalone-neg-controller without --enable-l4-standalone-negs: addresses are "
         "published for NEGs that another program makes"},
        {"enable-multi-networking", "run-l4-controller",
         "--enable-multi-networking without --run-l4-controller: internal Services of other "
         "networks are not served"},
        {"enable-multi-networking", "run-l4-netlb-controller",
         "--enable-multi-networking without --run-l4-netlb-controller: external Services of other "
         "networks are not served"},
        {"read-only-controllers", NULL,
         "--read-only-controllers: Services of ingress-gce's kinds are left alone"},
    };
    struct gce_strs out = {.items = ARENA_ARRAY(a, const char *, ARRAY_LEN(doubts))};
    for (size_t i = 0; i < ARRAY_LEN(doubts); i++) {
        if (is_on(options, n, doubts[i].on) &&
            (doubts[i].without == NULL || !is_on(options, n, doubts[i].without))) {
            out.items[out.n++] = doubts[i].text;
        }
    }
    return out;
}
