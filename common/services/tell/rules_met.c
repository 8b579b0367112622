/* SPDX-License-Identifier: Apache-2.0 */
/* rules_met.c: finds the rule that decides in each step of a trace; see rules_met.h.
 *
 * Within a step a rule is met when it leads to the next step, or is the end of the way, and its
 * addresses, port and source fit the packet.  KUBE-MARK-MASQ returns to the chain before it, so the
 * step behind it is that chain's. */
#include "common/services/tell/rules_met.h"

#include <stdlib.h>
#include <string.h>

#include "common/services/render/rules.h"

#define MARKS "KUBE-MARK-MASQ"

struct finding {
    struct arena *a;
    const struct ks_world *w;
    enum ks_mode mode;
    const struct ks_packet *p;
    const struct ks_trace *t;
    char ip[IP_TEXT_MAX]; /* the destination */
    const char *proto;    /* in lower case */
    struct ks_tables tables;
    struct ks_lines lines;
    struct ks_ipvs ipvs;
};

/* `word` stands in the text between blanks. */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The word behind `flag`; NULL: the rule has no such flag, or "!" stands before it. */
static const char *behind(struct arena *a, const char *rule, const char *flag)
{
    size_t n = strlen(flag);
    for (const char *at = rule; (at = strstr(at, flag)) != NULL; at += n) {
        bool begins = at == rule || (at[-1] == ' ' && (at - rule < 2 || at[-2] != '!'));
        if (begins && at[n] == ' ') {
            return arena_strndup(a, at + n + 1, strcspn(at + n + 1, " "));
        }
    }
    return NULL;
}

static bool holds(const char *network, const struct ip_addr *ip)
{
    struct ip_net net;
    struct ip_addr one;
    return network == NULL || (ip_net_parse_sloppy(network, &net) && ip_net_contains(&net, ip)) ||
           (ip_parse_sloppy(network, &one) && ip_eq(&one, ip));
}

/* Addresses and port of the rule are those of the packet, as far as it names any. */
static bool fits(const struct finding *f, const char *rule)
{
    const char *v = f->mode == KS_NFTABLES ? NULL : behind(f->a, rule, "--dport");
    int64_t port = f->p->port;
    if (f->mode == KS_NFTABLES) {
        bool six = f->p->source.len == 16;
        const char *from = behind(f->a, rule, six ? "ip6 saddr" : "ip saddr");
        bool network = from != NULL && (strchr(from, '.') != NULL || strchr(from, ':') != NULL) &&
                       *from != '@';
        return !network || holds(from, &f->p->source);
    }
    return (v == NULL || (str_to_i64(v, &port) && port == f->p->port)) &&
           holds(behind(f->a, rule, "-d"), &f->p->dest) &&
           holds(behind(f->a, rule, "-s"), &f->p->source) &&
           (behind(f->a, rule, "-p") == NULL || str_eq(behind(f->a, rule, "-p"), f->proto));
}

/* The rule leads to the step `next`; NULL: it ends the way. */
static bool leads(const struct finding *f, const char *rule, const char *next)
{
    static const char *const ends[][3] = {
        [KS_TO_ENDPOINTS] = {"KUBE-SEP-", "numgen", " dnat "},
        [KS_DROP] = {"-j DROP", "drop", NULL},
        [KS_REJECT] = {"-j REJECT", "reject", NULL},
        [KS_ACCEPT] = {"-j ACCEPT", NULL, NULL},
    };
    if (next != NULL) {
        bool firewall = str_has_prefix(next, "firewall-") && strstr(rule, "@firewall-ips") != NULL;
        return firewall || has_word(rule, next) || has_word(rule, arena_printf(f->a, "@%s", next));
    }
    if (f->t->verdict == KS_NOT_OURS) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(ends[0]); i++) {
        const char *end = ends[f->t->verdict][i];
        if (end != NULL && strstr(rule, end) != NULL) {
            return true;
        }
    }
    return false;
}

/* The first rule of a list that leads on; *n counts further ones. */
struct found {
    const char *rule;
    size_t n;
};

static void look_at(const struct finding *f, struct found *found, const char *rule,
                    const char *next)
{
    bool by_node = f->t->reason == KS_R_SHORT_CIRCUIT_NODE && next != NULL &&
                   strstr(rule, "local") == NULL && strstr(rule, "LOCAL") == NULL &&
                   (str_has_prefix(next, "KUBE-SVC-") || str_has_prefix(next, "service-")) &&
                   found->rule == NULL;
    if (!by_node && leads(f, rule, next) && fits(f, rule)) {
        found->rule = found->rule == NULL ? rule : found->rule;
        found->n++;
    }
}

/* ---- the three modes ------------------------------------------------------------------------- */

static struct found in_tables(const struct finding *f, const struct ks_tables *tables,
                              const char *chain, const char *next)
{
    struct found found = {0};
    for (size_t t = tables->n_tables; t-- > 0 && found.rule == NULL;) { /* nat comes first */
        const struct ks_table *table = &tables->tables[t];
        for (size_t i = 0; i < table->n_chains; i++) {
            const struct ks_chain *c = &table->chains[i];
            for (size_t k = 0; str_eq(c->name, chain) && k < c->n_rules; k++) {
                if (str_eq(chain, MARKS)) {
                    found = (struct found){c->rules[k], 1};
                } else {
                    look_at(f, &found, c->rules[k], next);
                }
            }
        }
    }
    return found;
}

/* "10.0.0.1 . tcp . 80 …" in braces, or "tcp . 30080 …". */
static bool is_element(const struct finding *f, const char *rest)
{
    const char *whole = arena_printf(f->a, "{ %s . %s . %d ", f->ip, f->proto, (int)f->p->port);
    const char *port = arena_printf(f->a, "{ %s . %d ", f->proto, (int)f->p->port);
    return str_has_prefix(rest, whole) || str_has_prefix(rest, port);
}

static struct found in_lines(const struct finding *f, const char *name, const char *next)
{
    struct found found = {0};
    for (size_t i = 0; i < f->lines.n; i++) { /* "add rule ip kube-proxy NAME …" */
        const char *line = f->lines.items[i];
        const char *at = strstr(line, " kube-proxy ");
        const char *rest = at == NULL ? NULL : at + strlen(" kube-proxy ");
        size_t n = strlen(name);
        if (rest == NULL || strncmp(rest, name, n) != 0 || rest[n] != ' ') {
            continue;
        }
        if (str_has_prefix(line, "add rule ")) {
            look_at(f, &found, rest + n + 1, next);
        } else if (str_has_prefix(line, "add element ") && is_element(f, rest + n + 1)) {
            found = (struct found){rest + n + 1, 1};
        }
    }
    return found;
}

static const char *virtual_server(const struct finding *f)
{
    for (size_t i = 0; i < f->ipvs.n_servers; i++) {
        const struct ks_virtual_server *s = &f->ipvs.servers[i];
        if (s->port == f->p->port && ip_eq(&s->address, &f->p->dest) &&
            str_eq_nocase(s->protocol, f->p->protocol)) {
            return arena_printf(f->a, "%s %s port %d, scheduler %s, %s", s->protocol, f->ip,
                                (int)s->port, s->scheduler,
                                str_count(f->a, s->n_real, "real server"));
        }
    }
    return NULL;
}

/* A set is named by the rules that ask it; of IPv6 with "KUBE-6-". */
static struct found in_ipvs(const struct finding *f, const char *name, const char *next)
{
    struct found found = in_tables(f, &f->ipvs.tables, name, next);
    const char *six = arena_printf(f->a, "KUBE-6-%s", name + strlen("KUBE-"));
    for (size_t t = 0; t < f->ipvs.tables.n_tables && found.rule == NULL; t++) {
        const struct ks_table *table = &f->ipvs.tables.tables[t];
        for (size_t i = 0; i < table->n_chains; i++) {
            for (size_t k = 0; k < table->chains[i].n_rules && found.rule == NULL; k++) {
                const char *rule = table->chains[i].rules[k];
                const char *asks = behind(f->a, rule, "--match-set");
                if (str_eq(asks, name) || str_eq(asks, six)) {
                    found =
                        (struct found){arena_printf(f->a, "%s %s", table->chains[i].name, rule), 1};
                }
            }
        }
    }
    return found;
}

static struct found find_rule(const struct finding *f, const char *name, const char *next)
{
    if (f->mode == KS_NFTABLES) {
        return in_lines(f, name, next);
    }
    return f->mode == KS_IPVS ? in_ipvs(f, name, next) : in_tables(f, &f->tables, name, next);
}

/* ---- all steps ------------------------------------------------------------------------------- */

static const char *end_text(const struct finding *f, size_t n)
{
    switch (f->t->verdict) {
    case KS_TO_ENDPOINTS:
        return n > 1 ? arena_printf(f->a, "the first of %zu rules, of which chance takes one", n)
               : f->t->list.n > 1 ? arena_printf(f->a, "one of %zu pods, by chance", f->t->list.n)
                                  : "the only pod";
    case KS_DROP:
        return "dropped without an answer";
    case KS_REJECT:
        return "refused at once";
    case KS_ACCEPT:
        return "kube-proxy answers";
    case KS_NOT_OURS:
        break;
    }
    return NULL;
}

static struct ks_met step_met(const struct finding *f, size_t i)
{
    const char *name = f->t->steps[i];
    size_t next = i + 1;
    if (str_eq(name, "ip_vs")) {
        return (struct ks_met){virtual_server(f), end_text(f, 1)};
    }
    while (next < f->t->n_steps && str_eq(f->t->steps[next], MARKS)) {
        next++;
    }
    bool last = next == f->t->n_steps;
    const struct found found = find_rule(f, name, last ? NULL : f->t->steps[next]);
    struct ks_met met = {.rule = found.rule};
    if (str_eq(name, MARKS)) {
        met.why = "marks it: its source address becomes the node's";
    } else if (found.rule == NULL) {
        met.why = f->mode == KS_IPVS ? NULL : "no rule of it takes the packet, which goes on";
    } else if (last) {
        met.why = end_text(f, found.n);
    }
    return met;
}

/* The chains that are steps, as iptables-save prints them: a table of one Service can have
 * thousands of others. */
static struct ks_tables steps_saved(struct arena *a, const struct ks_tables *all,
                                    const struct ks_trace *t, enum ks_family family)
{
    struct ks_tables of = *all;
    for (size_t i = 0; i < all->n_tables; i++) {
        const struct ks_table *from = &all->tables[i];
        struct ks_chain *chains = ARENA_ARRAY(a, struct ks_chain, from->n_chains);
        size_t n = 0;
        for (size_t c = 0; c < from->n_chains; c++) {
            bool is_step = false;
            for (size_t k = 0; k < t->n_steps && !is_step; k++) {
                is_step = str_eq(t->steps[k], from->chains[c].name);
            }
            if (is_step) {
                chains[n++] = from->chains[c];
            }
        }
        of.tables[i] = (struct ks_table){.name = from->name, .chains = chains, .n_chains = n};
    }
    return ks_iptables_saved(a, &of, family);
}

const struct ks_met *ks_rules_met(struct arena *a, const struct ks_world *w, enum ks_mode mode,
                                  const struct ks_packet *p, const struct ks_trace *t)
{
    struct finding f = {.a = a, .w = w, .mode = mode, .p = p, .t = t};
    struct ks_met *met = ARENA_ARRAY(a, struct ks_met, t->n_steps + 1);
    f.proto = str_lower(a, p->protocol);
    ip_format(&p->dest, f.ip);
    if (t->n_steps == 0) {
        return met;
    }
    if (mode == KS_NFTABLES) {
        f.lines = ks_render_nftables(a, w);
    } else if (mode == KS_IPVS) {
        f.ipvs = ks_render_ipvs(a, w);
        f.ipvs.tables = ks_iptables_saved(a, &f.ipvs.tables, w->config.family);
    } else {
        const struct ks_tables tables = ks_render_iptables(a, w);
        f.tables = steps_saved(a, &tables, t, w->config.family);
    }
    for (size_t i = 0; i < t->n_steps; i++) {
        met[i] = step_met(&f, i);
    }
    return met;
}
