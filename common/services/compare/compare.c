/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: two saved texts, chain by chain; see compare.h.
 *
 * The wanted side is rendered with the facts that the node's rules show (mark, --random-fully,
 * counters of the kernel), and read by the same reader, so that only Services, pods and policies
 * are left to differ. */
#include "common/services/compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "common/services/compare/differences.h"
#include "common/services/compare/saved.h"
#include "common/services/node/names.h"
#include "common/services/render/rules.h"

struct comparing {
    struct arena *a;
    struct ks_saved want;
    struct ks_saved have;
    struct map *renamed; /* old name of a chain → today's; NULL: the node has today's */
    bool coarse;         /* the node's release writes other rules: only what exists is compared */
    struct ks_differences *d;
    enum ks_mode mode;
    size_t n_rules;
    size_t n_others;
};

/* Chains that several Services share: their rules are a set. */
static const char *const shared[] = {"KUBE-SERVICES",  "KUBE-EXTERNAL-SERVICES", "KUBE-FORWARD",
                                     "KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL",    "KUBE-POSTROUTING",
                                     "KUBE-MARK-MASQ"};
static const char *const own[] = {"KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-",
                                  "KUBE-FW-",  "KUBE-SEP-", "KUBE-XLB-"};
/* All chains of mode ipvs. */
static const char *const of_ipvs[] = {"KUBE-SERVICES",        "KUBE-POSTROUTING",
                                      "KUBE-NODE-PORT",       "KUBE-LOAD-BALANCER",
                                      "KUBE-MARK-MASQ",       "KUBE-FORWARD",
                                      "KUBE-IPVS-FILTER",     "KUBE-PROXY-FIREWALL",
                                      "KUBE-IPVS-OUT-FILTER", "KUBE-SOURCE-RANGES-FIREWALL"};

static bool is_one_of(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(name, names[i])) {
            return true;
        }
    }
    return false;
}

/* A chain whose rules are a set. */
static bool is_shared(const struct comparing *c, const char *name)
{
    return c->mode == KS_IPVS ? str_eq(name, "KUBE-IPVS-OUT-FILTER")
                              : is_one_of(shared, ARRAY_LEN(shared), name);
}

/* A chain whose rules are a list. */
static bool is_own(const struct comparing *c, const char *name)
{
    if (c->mode == KS_IPVS) {
        return is_one_of(of_ipvs, ARRAY_LEN(of_ipvs), name);
    }
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (str_has_prefix(name, own[i])) {
            return true;
        }
    }
    return false;
}

static void differ(struct comparing *c, struct ks_difference d)
{
    ks_differences_add(c->d, d);
}

static void note(struct comparing *c, const char *text)
{
    ks_differences_note(c->d, text);
}

/* ---- what the node's rules tell -------------------------------------------------------------- */

static struct ks_world adopt_facts(struct comparing *c, const struct ks_world *w)
{
    struct ks_world as = *w;
    const struct ks_saved *have = &c->have;
    as.config.random_fully = have->random_fully;
    as.config.nfacct = have->nfacct;
    as.config.tcp_be_liberal = !have->drops_invalid;
    if (have->has_mark && have->mark != 1UL << w->config.masquerade_bit) {
        as.config.masquerade_bit = ks_mark_bit(have->mark);
        note(c, arena_printf(c->a,
                             "the node marks with 0x%lx: masqueradeBit is %u there, %u in the "
                             "configuration that was read",
                             have->mark, as.config.masquerade_bit, w->config.masquerade_bit));
    }
    if (!have->random_fully) {
        note(c, "the node masquerades without --random-fully: an old kernel or iptables");
    }
    return as;
}

/* Chain names of unnamed ports as releases up to 1.19 made them. */
static void map_old_names(struct comparing *c, const struct ks_world *w)
{
    static const char *const prefixes[] = {"KUBE-SVC-", "KUBE-FW-", "KUBE-EXT-", "KUBE-SVL-"};
    c->renamed = map_new(NULL);
    c->coarse = true;
    note(c,
         "display names end in ':' (default/web:): the node runs a kube-proxy of release 1.19 or "
         "older; only Services and endpoints are compared, not each rule");
    for (size_t i = 0; i < w->n_ports; i++) {
        const struct ks_port *p = &w->ports[i];
        if (*p->port_name != '\0') {
            continue;
        }
        const char *old = arena_printf(c->a, "%s:", p->display);
        const char *old_hash = ks_iptables_hash(c->a, old, p->proto, "");
        const char *hash = ks_iptables_hash(c->a, p->display, p->proto, "");
        for (size_t k = 0; k < ARRAY_LEN(prefixes); k++) {
            map_set(c->renamed, arena_printf(c->a, "%s%s", prefixes[k], old_hash),
                    arena_printf(c->a, "%s%s", prefixes[k], hash));
        }
        for (size_t k = 0; k < p->n_endpoints; k++) {
            const char *e = p->endpoints[k].text;
            map_set(c->renamed, ks_iptables_sep(c->a, old, p->proto, e),
                    (void *)ks_iptables_sep(c->a, p->display, p->proto, e));
        }
    }
}

static const char *today(const struct comparing *c, const char *name)
{
    const char *now = c->renamed == NULL ? NULL : map_get(c->renamed, name);
    return now != NULL ? now : name;
}

/* ---- chains ---------------------------------------------------------------------------------- */

static const char *chain_subject(const struct ks_saved_chain *chain)
{
    for (size_t i = 0; i < chain->n_rules; i++) {
        if (*chain->rules[i].subject != '\0') {
            return chain->rules[i].subject;
        }
    }
    return "";
}

/* "endpoint 10.0.0.1:80 (KUBE-SEP-…)", "chain KUBE-SVC-…". */
static const char *chain_what(struct comparing *c, const struct ks_saved_chain *chain)
{
    for (size_t i = 0; str_has_prefix(chain->name, "KUBE-SEP-") && i < chain->n_rules; i++) {
        if (*chain->rules[i].to != '\0') {
            return arena_printf(c->a, "endpoint %s (%s)", chain->rules[i].to, chain->name);
        }
    }
    return arena_printf(c->a, "chain %s", chain->name);
}

static void chain_differs(struct comparing *c, const struct ks_saved_chain *chain,
                          enum ks_difference_kind kind)
{
    differ(c, (struct ks_difference){
                  .kind = kind, .subject = chain_subject(chain), .what = chain_what(c, chain)});
}

static void rule_differs(struct comparing *c, const struct ks_saved_chain *chain,
                         const struct ks_saved_rule *rule, enum ks_difference_kind kind)
{
    const char *subject = *rule->subject != '\0' ? rule->subject : chain_subject(chain);
    differ(c, (struct ks_difference){
                  .kind = kind,
                  .subject = subject,
                  .what = arena_printf(c->a, "rule of %s (%s)", chain->name, chain->table),
                  .want = kind == KS_DIFF_MISSING ? rule->full : NULL,
                  .have = kind == KS_DIFF_EXTRA ? rule->full : NULL});
}

static int cmp_rule(const void *x, const void *y)
{
    return strcmp((*(const struct ks_saved_rule *const *)x)->text,
                  (*(const struct ks_saved_rule *const *)y)->text);
}

static const struct ks_saved_rule **sorted_rules(struct arena *a,
                                                 const struct ks_saved_chain *chain)
{
    const struct ks_saved_rule **all = ARENA_ARRAY(a, const struct ks_saved_rule *, chain->n_rules);
    for (size_t i = 0; i < chain->n_rules; i++) {
        all[i] = &chain->rules[i];
    }
    if (chain->n_rules > 1) {
        qsort(all, chain->n_rules, sizeof(*all), cmp_rule);
    }
    return all;
}

/* The other side has no chain for the target of this rule: that chain is already reported. */
static bool follows_chain(const struct comparing *c, const struct ks_saved *other,
                          const struct ks_saved_chain *chain, const struct ks_saved_rule *rule)
{
    return is_own(c, rule->jump) && ks_saved_find(other, chain->table, rule->jump) == NULL;
}

/* The rules of both as sets. */
static void compare_sets(struct comparing *c, const struct ks_saved_chain *want,
                         const struct ks_saved_chain *have)
{
    const struct ks_saved_rule **x = sorted_rules(c->a, want);
    const struct ks_saved_rule **y = sorted_rules(c->a, have);
    size_t i = 0;
    size_t k = 0;
    while (i < want->n_rules || k < have->n_rules) {
        int order = i == want->n_rules   ? 1
                    : k == have->n_rules ? -1
                                         : strcmp(x[i]->text, y[k]->text);
        if (order < 0) {
            rule_differs(c, want, x[i++], KS_DIFF_MISSING);
        } else if (order > 0) {
            rule_differs(c, have, y[k++], KS_DIFF_EXTRA);
        } else {
            i++;
            k++;
        }
    }
}

/* Order decides here, unless endpoints came or went: then the probabilities of all the others
 * change with them. */
static void compare_lists(struct comparing *c, const struct ks_saved_chain *want,
                          const struct ks_saved_chain *have)
{
    bool follows = false;
    bool same = want->n_rules == have->n_rules;
    for (size_t i = 0; i < want->n_rules; i++) {
        follows |= follows_chain(c, &c->have, want, &want->rules[i]);
        same = same && str_eq(want->rules[i].text, have->rules[i].text);
    }
    for (size_t i = 0; i < have->n_rules; i++) {
        follows |= follows_chain(c, &c->want, have, &have->rules[i]);
    }
    if (same || follows) {
        return;
    }
    size_t before = c->d->n;
    compare_sets(c, want, have);
    if (c->d->n == before) {
        differ(c, (struct ks_difference){
                      .kind = KS_DIFF_CHANGED,
                      .subject = chain_subject(want),
                      .what = arena_printf(c->a, "order of the rules of %s", want->name)});
    }
}

/* The jump to the node ports stands last: behind it no other rule of KUBE-SERVICES is met. */
static void compare_last(struct comparing *c, const struct ks_saved_chain *want,
                         const struct ks_saved_chain *have)
{
    if (!str_eq(want->name, "KUBE-SERVICES") || !str_eq(want->table, "nat") || have->n_rules == 0) {
        return;
    }
    for (size_t i = 0; i + 1 < have->n_rules; i++) {
        bool early = str_eq(have->rules[i].jump, "KUBE-NODEPORTS") &&
                     !str_eq(have->rules[i + 1].jump, "KUBE-NODEPORTS");
        if (early) {
            differ(c,
                   (struct ks_difference){
                       .kind = KS_DIFF_CHANGED,
                       .subject = "",
                       .what = "place of the jump to KUBE-NODEPORTS: it must be the last rule of "
                               "KUBE-SERVICES",
                       .have = have->rules[i].full});
            return;
        }
    }
}

static const struct ks_saved_chain *had(struct comparing *c, const struct ks_saved_chain *want,
                                        struct map *by_name)
{
    const char *key = arena_printf(c->a, "%s/%s", want->table, want->name);
    size_t at = (size_t)(uintptr_t)map_get(by_name, key);
    return at == 0 ? NULL : &c->have.chains[at - 1];
}

static void compare_wanted(struct comparing *c, struct map *by_name)
{
    for (size_t i = 0; i < c->want.n_chains; i++) {
        const struct ks_saved_chain *want = &c->want.chains[i];
        const struct ks_saved_chain *have = had(c, want, by_name);
        bool shared_chain = is_shared(c, want->name);
        if (!shared_chain && !is_own(c, want->name)) {
            continue;
        }
        if (have == NULL) {
            bool matters = want->n_rules > 0 && (!c->coarse || is_own(c, want->name));
            if (matters && !(c->coarse && str_has_prefix(want->name, "KUBE-EXT-"))) {
                chain_differs(c, want, KS_DIFF_MISSING);
            }
        } else if (!c->coarse && shared_chain) {
            compare_sets(c, want, have);
            compare_last(c, want, have);
        } else if (!c->coarse) {
            compare_lists(c, want, have);
        }
    }
}

static void compare_had(struct comparing *c)
{
    bool told_xlb = false;
    for (size_t i = 0; i < c->have.n_chains; i++) {
        const struct ks_saved_chain *have = &c->have.chains[i];
        const char *name = today(c, have->name);
        if (!is_own(c, name) && !is_shared(c, name)) {
            c->n_others += have->n_rules;
            continue;
        }
        c->n_rules += have->n_rules;
        if (str_has_prefix(name, "KUBE-XLB-")) {
            if (!told_xlb) {
                note(c, "chains KUBE-XLB-…: the node runs a kube-proxy older than 1.24");
            }
            told_xlb = true;
            continue;
        }
        if (is_own(c, name) && have->n_rules > 0 &&
            ks_saved_find(&c->want, have->table, name) == NULL) {
            chain_differs(c, have, KS_DIFF_EXTRA);
        }
    }
}

/* ---- jumps from built-in chains -------------------------------------------------------------- */

/* The consequence of a jump that is missing; "" where the target's name says it. */
static const char *without_jump(const char *chain, const char *target)
{
    static const char *const rows[][3] = {
        {"PREROUTING", "KUBE-SERVICES", ": no packet from outside or from pods meets a Service"},
        {"OUTPUT", "KUBE-SERVICES", ": processes of the node reach no Service"},
        {"POSTROUTING", "KUBE-POSTROUTING", ": nothing is masqueraded"},
        {"FORWARD", "KUBE-FORWARD", ": forwarding depends on other rules"},
        {"FORWARD", "KUBE-SERVICES", ": Services without endpoints do not refuse"},
        {"INPUT", "KUBE-NODEPORTS", ": health checks depend on other rules"},
        {"INPUT", "KUBE-EXTERNAL-SERVICES", ": node ports without endpoints do not refuse or drop"},
        {"FORWARD", "KUBE-PROXY-FIREWALL", ": source ranges are not enforced"},
        {"INPUT", "KUBE-IPVS-FILTER", ": other ports of service addresses reach the node itself"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(chain, rows[i][0]) && str_eq(target, rows[i][1])) {
            return rows[i][2];
        }
    }
    return "";
}

static bool has_jump(const struct ks_saved_chain *chain, const char *target)
{
    for (size_t k = 0; chain != NULL && k < chain->n_rules; k++) {
        if (str_eq(chain->rules[k].jump, target)) {
            return true;
        }
    }
    return false;
}

/* The target of a rule: what stands behind its last "-j ". */
static const char *target_of(const char *rule)
{
    const char *target = "";
    for (const char *at = rule; (at = strstr(at, "-j ")) != NULL; at += 3) {
        target = at + 3;
    }
    return target;
}

static void compare_jumps(struct comparing *c, const struct ks_world *w)
{
    if (ks_saved_find(&c->have, "nat", "PREROUTING") == NULL) {
        note(c, "the text has no built-in chains: the jumps from them are not compared");
        return;
    }
    const struct ks_tables jumps =
        c->mode == KS_IPVS ? ks_ipvs_jumps(c->a) : ks_iptables_jumps(c->a, w);
    for (size_t t = 0; t < jumps.n_tables; t++) {
        const struct ks_table *table = &jumps.tables[t];
        for (size_t i = 0; i < table->n_chains; i++) {
            const struct ks_chain *chain = &table->chains[i];
            const struct ks_saved_chain *have = ks_saved_find(&c->have, table->name, chain->name);
            for (size_t k = 0; k < chain->n_rules; k++) {
                const char *target = target_of(chain->rules[k]);
                bool shared_target = /* KUBE-FIREWALL is kubelet's, too */
                    is_shared(c, target) || (c->mode == KS_IPVS && is_own(c, target));
                bool exists = ks_saved_find(&c->have, table->name, target) != NULL;
                if (!shared_target || has_jump(have, target) || (c->coarse && !exists)) {
                    continue;
                }
                const char *what =
                    arena_printf(c->a, "jump from %s (%s) to %s%s", chain->name, table->name,
                                 target, without_jump(chain->name, target));
                differ(c, (struct ks_difference){
                              .kind = KS_DIFF_MISSING, .subject = "", .what = what});
            }
        }
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int check_mode(const struct comparing *c, struct err *err)
{
    bool of_sets = ks_saved_find(&c->have, "nat", "KUBE-LOAD-BALANCER") != NULL;
    const char *asked = c->mode == KS_IPVS ? "ipvs" : "iptables";
    if (ks_saved_find(&c->have, "nat", "KUBE-SERVICES") == NULL) {
        return err_set(err, ERR_INVALID,
                       "there is no chain KUBE-SERVICES in table nat: kube-proxy does not run in "
                       "mode %s there, or this is another node's or another family's text",
                       asked);
    }
    if (of_sets != (c->mode == KS_IPVS)) {
        return err_set(err, ERR_INVALID,
                       "these are the rules of mode %s (%s chain KUBE-LOAD-BALANCER), and mode %s "
                       "was asked for",
                       of_sets ? "ipvs" : "iptables", of_sets ? "there is a" : "there is no",
                       asked);
    }
    return ERR_OK;
}

static int read_wanted(struct comparing *c, const struct ks_world *w, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct ks_world as = adopt_facts(c, w);
    const struct ks_tables t =
        c->mode == KS_IPVS ? ks_render_ipvs(c->a, &as).tables : ks_render_iptables(c->a, &as);
    const struct ks_tables saved = ks_iptables_saved(c->a, &t, w->config.family);
    ks_iptables_saved_text(&b, &saved);
    return ks_saved_read(&c->want, c->a, str_buf_text(&b), b.len, err);
}

static void compare(struct comparing *c, const struct ks_world *w)
{
    struct map *by_name = map_new(NULL);
    if (c->have.old_names) {
        map_old_names(c, w);
    }
    for (size_t i = 0; i < c->have.n_chains; i++) {
        const struct ks_saved_chain *chain = &c->have.chains[i];
        map_set(by_name, arena_printf(c->a, "%s/%s", chain->table, today(c, chain->name)),
                (void *)(uintptr_t)(i + 1));
    }
    compare_wanted(c, by_name);
    compare_had(c);
    compare_jumps(c, w);
    map_free(by_name);
    map_free(c->renamed);
}

int ks_compare_saved(struct ks_differences *d, const struct ks_world *w, enum ks_mode mode,
                     const char *text, size_t n, struct err *err)
{
    struct comparing *c = ARENA_NEW(d->a, struct comparing);
    c->a = d->a;
    c->d = d;
    c->mode = mode;
    int code = ks_saved_read(&c->have, c->a, text, n, err);
    if (code == ERR_OK) {
        code = check_mode(c, err);
    }
    if (code == ERR_OK) {
        code = read_wanted(c, w, err);
    }
    if (code == ERR_OK) {
        compare(c, w);
        d->n_rules += c->n_rules;
        d->n_others += c->n_others;
    }
    ks_saved_done(&c->have);
    ks_saved_done(&c->want);
    return code;
}

int ks_compare_iptables(struct arena *a, const struct ks_world *w, const char *text, size_t n,
                        struct ks_compared *ret, struct err *err)
{
    struct ks_differences d = {.a = a};
    int code = ks_compare_saved(&d, w, KS_IPTABLES, text, n, err);
    if (code == ERR_OK) {
        ks_differences_finish(&d, ret);
    }
    return code;
}
