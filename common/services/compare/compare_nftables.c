/* SPDX-License-Identifier: Apache-2.0 */
/* compare_nftables.c: what `nft -j list table` printed, against the table that kube-proxy would
 * make; see compare.h.
 *
 * Chains are compared rule by rule, sets and maps element by element; both sides by the keys of
 * nft_table.h.  The order of rules counts within the chains that all Services share, and where a
 * packet changes on its way through a Service's. */
#include <stdlib.h>
#include <string.h>

#include "common/services/compare/differences.h"
#include "common/services/compare/nft_table.h"
#include "common/services/node/names.h"

struct comparing {
    struct arena *a;
    struct ks_differences d;
    struct nft_table want;
    struct nft_table have;
    struct map *subjects; /* names of chains and sets, keys of elements → service port */
    struct map *told;     /* service ports whose timeout is reported */
    bool knows_cidrs;     /* the ranges of cluster IPs were read */
};

/* ---- the service port of an object ----------------------------------------------------------- */

static void name_port(struct comparing *c, const struct ks_port *p)
{
    const struct ks_nftables_names names =
        ks_nftables_names(c->a, p->ns, p->name, p->port_name, p->proto);
    const char *const chains[] = {names.service, names.local, names.external, names.firewall};
    char ip[IP_TEXT_MAX] = "";
    for (size_t i = 0; i < ARRAY_LEN(chains); i++) {
        map_set(c->subjects, chains[i], (void *)p->display);
    }
    ip_format(&p->cluster_ip, ip);
    map_set(c->subjects, ip, (void *)arena_printf(c->a, "%s/%s", p->ns, p->name));
    for (size_t i = 0; i < p->n_endpoints; i++) {
        const struct ks_endpoint *e = &p->endpoints[i];
        ip_format(&e->ip, ip);
        map_set(c->subjects,
                arena_printf(c->a, "%s . %s . %s . %d", ip, ip, p->proto, (int)e->port),
                (void *)p->display);
    }
}

/* "ns/name:port" in "service-ABCDEFGH-ns/name/tcp/port" and
 * "endpoint-ABCDEFGH-ns/name/tcp/port__10.0.0.1/80"; "" when the name is none of these,
 * or was cut. */
static const char *parse_subject(struct arena *a, const char *name)
{
    const char *hash = strchr(name, '-');
    const char *rest = hash == NULL ? NULL : strchr(hash + 1, '-');
    size_t n = 0;
    if (rest == NULL || rest - hash != 9) {
        return "";
    }
    char **parts = str_split(a, rest + 1, '/', &n);
    if (n < 4) {
        return "";
    }
    const char *end = strstr(parts[3], "__");
    const char *port =
        end == NULL ? parts[3] : arena_strndup(a, parts[3], (size_t)(end - parts[3]));
    return ks_display_name(a, parts[0], parts[1], port);
}

static const char *subject_of(const struct comparing *c, const char *name)
{
    const char *known = map_get(c->subjects, name);
    return known != NULL ? known : parse_subject(c->a, name);
}

static const char *subject_of_element(const struct comparing *c, const struct nft_entry *e)
{
    if (*e->comment != '\0') {
        return e->comment;
    }
    if (str_has_prefix(e->value, "goto ")) {
        return subject_of(c, e->value + strlen("goto "));
    }
    return str_nonnull(map_get(c->subjects, e->key));
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* "endpoint 10.0.0.1:80 (endpoint-…)", "chain service-…", "map service-ips". */
static const char *object_what(struct comparing *c, const struct nft_object *o)
{
    static const char dnat[] = " dnat to ";
    for (size_t i = 0; str_has_prefix(o->name, "endpoint-") && i < o->n; i++) {
        const char *to = strstr(o->entries[i].words, dnat);
        if (to != NULL) {
            return arena_printf(c->a, "endpoint %s (%s)", to + strlen(dnat), o->name);
        }
    }
    return arena_printf(c->a, "%s %s", o->is_chain ? "chain" : o->is_map ? "map" : "set", o->name);
}

static void object_differs(struct comparing *c, const struct nft_object *o,
                           enum ks_difference_kind kind)
{
    ks_differences_add(&c->d, (struct ks_difference){.kind = kind,
                                                     .subject = subject_of(c, o->name),
                                                     .what = object_what(c, o)});
}

/* A list of rules, sorted by key, without the random choice. */
struct rules {
    const struct nft_entry **items;
    size_t n;
    const struct nft_entry *choice; /* NULL: none */
};

static int cmp_entry(const void *x, const void *y)
{
    const struct nft_entry *p = *(const struct nft_entry *const *)x;
    const struct nft_entry *q = *(const struct nft_entry *const *)y;
    int c = strcmp(p->key, q->key);
    return c != 0 ? c : strcmp(p->value, q->value);
}

static bool is_choice(const struct nft_entry *rule)
{
    return strstr(rule->key, "map { ") != NULL;
}

static struct rules sorted_rules(struct arena *a, const struct nft_object *o, bool choices)
{
    struct rules r = {.items = ARENA_ARRAY(a, const struct nft_entry *, o->n)};
    for (size_t i = 0; i < o->n; i++) {
        if (choices && r.choice == NULL && is_choice(&o->entries[i])) {
            r.choice = &o->entries[i];
        } else {
            r.items[r.n++] = &o->entries[i];
        }
    }
    if (r.n > 1) {
        qsort(r.items, r.n, sizeof(*r.items), cmp_entry);
    }
    return r;
}

/* The words name a chain that the other side lacks: that chain is already reported. */
static bool follows_chain(const struct nft_table *other, const char *words)
{
    const char *at = strstr(words, "goto ");
    return at != NULL && strchr(at + 5, ' ') == NULL && nft_table_find(other, true, at + 5) == NULL;
}

static void rule_differs(struct comparing *c, const struct nft_object *chain,
                         const struct nft_entry *rule, enum ks_difference_kind kind)
{
    bool missing = kind == KS_DIFF_MISSING;
    bool cidrs = strstr(rule->comment, "unallocated ClusterIPs") != NULL;
    if (follows_chain(missing ? &c->have : &c->want, rule->words)) {
        return;
    }
    if (cidrs && !missing && !c->knows_cidrs) {
        ks_differences_note(&c->d, "the node drops what goes to cluster IPs that no Service has; "
                                   "no ServiceCIDR was read, so that rule is not compared");
        return;
    }
    ks_differences_add(&c->d,
                       (struct ks_difference){.kind = kind,
                                              .subject = subject_of(c, chain->name),
                                              .what = arena_printf(c->a, "rule of %s", chain->name),
                                              .want = missing ? rule->words : NULL,
                                              .have = missing ? NULL : rule->words});
}

/* ---- endpoints ------------------------------------------------------------------------------- */

/* The choices between the braces of a rule's key, sorted there; *ret_head is what stands before
 * them, without their number. */
static char **choices_of(struct arena *a, const struct nft_entry *rule, const char **ret_head,
                         size_t *ret_n)
{
    const char *open = strstr(rule->key, "map { ") + strlen("map { ");
    const char *close = strstr(open, " }");
    const char *mod = strstr(rule->key, " mod ");
    size_t head = (size_t)((mod != NULL && mod < open ? mod : open) - rule->key);
    *ret_head = arena_strndup(a, rule->key, head);
    *ret_n = 0;
    if (close == NULL || close == open) {
        return NULL;
    }
    const char *list = arena_strndup(a, open, (size_t)(close - open));
    return str_split(a, str_replace(a, list, " , ", "\n"), '\n', ret_n);
}

/* "10.0.0.1 . 80" to "endpoint 10.0.0.1:80". */
static void choice_differs(struct comparing *c, const struct nft_object *chain, const char *choice,
                           enum ks_difference_kind kind)
{
    const char *dot = strstr(choice, " . ");
    const char *name = choice;
    if (follows_chain(kind == KS_DIFF_MISSING ? &c->have : &c->want, choice)) {
        return;
    }
    if (dot != NULL) {
        bool v6 = memchr(choice, ':', (size_t)(dot - choice)) != NULL;
        name = arena_printf(c->a, "endpoint %s%.*s%s:%s", v6 ? "[" : "", (int)(dot - choice),
                            choice, v6 ? "]" : "", dot + 3);
    }
    ks_differences_add(&c->d, (struct ks_difference){
                                  .kind = kind,
                                  .subject = subject_of(c, chain->name),
                                  .what = arena_printf(c->a, "%s of chain %s", name, chain->name)});
}

static void compare_choices(struct comparing *c, const struct nft_object *chain,
                            const struct nft_entry *want, const struct nft_entry *have)
{
    const char *head_x;
    const char *head_y;
    size_t n_x;
    size_t n_y;
    size_t i = 0;
    size_t k = 0;
    bool same = true;
    char **x = choices_of(c->a, want, &head_x, &n_x);
    char **y = choices_of(c->a, have, &head_y, &n_y);
    while (i < n_x || k < n_y) {
        int order = i == n_x ? 1 : k == n_y ? -1 : strcmp(x[i], y[k]);
        same = same && order == 0;
        if (order < 0) {
            choice_differs(c, chain, x[i], KS_DIFF_MISSING);
        } else if (order > 0) {
            choice_differs(c, chain, y[k], KS_DIFF_EXTRA);
        }
        i += order <= 0;
        k += order >= 0;
    }
    if (!str_eq(head_x, head_y) || (same && !str_eq(want->key, have->key))) {
        ks_differences_add(
            &c->d, (struct ks_difference){.kind = KS_DIFF_CHANGED,
                                          .subject = subject_of(c, chain->name),
                                          .what = arena_printf(c->a, "rule of %s", chain->name),
                                          .want = want->words,
                                          .have = have->words});
    }
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* The endpoint that a client had is asked for first, in any order. */
static bool order_counts(const struct nft_object *chain)
{
    return !str_has_prefix(chain->name, "service-") && !str_has_prefix(chain->name, "local-");
}

static bool same_order(const struct nft_object *want, const struct nft_object *have)
{
    for (size_t i = 0; i < want->n; i++) {
        if (!str_eq(want->entries[i].key, have->entries[i].key)) {
            return false;
        }
    }
    return true;
}

static bool has_choice(const struct nft_object *o)
{
    for (size_t i = 0; i < o->n; i++) {
        if (is_choice(&o->entries[i])) {
            return true;
        }
    }
    return false;
}

static void compare_chain(struct comparing *c, const struct nft_object *want,
                          const struct nft_object *have)
{
    bool choices = has_choice(want) && has_choice(have);
    const struct rules x = sorted_rules(c->a, want, choices);
    const struct rules y = sorted_rules(c->a, have, choices);
    size_t before = c->d.n;
    size_t i = 0;
    size_t k = 0;
    if (!str_eq(want->about, have->about)) {
        ks_differences_add(
            &c->d, (struct ks_difference){.kind = KS_DIFF_CHANGED,
                                          .subject = "",
                                          .what = arena_printf(c->a, "hook of %s", want->name),
                                          .want = str_or(want->about, "none"),
                                          .have = str_or(have->about, "none")});
    }
    while (i < x.n || k < y.n) {
        int order = i == x.n ? 1 : k == y.n ? -1 : strcmp(x.items[i]->key, y.items[k]->key);
        if (order < 0) {
            rule_differs(c, want, x.items[i], KS_DIFF_MISSING);
        } else if (order > 0) {
            rule_differs(c, have, y.items[k], KS_DIFF_EXTRA);
        }
        i += order <= 0;
        k += order >= 0;
    }
    if (choices) {
        compare_choices(c, want, x.choice, y.choice);
    }
    if (c->d.n == before && want->n == have->n && order_counts(want) && !same_order(want, have)) {
        ks_differences_add(&c->d,
                           (struct ks_difference){
                               .kind = KS_DIFF_CHANGED,
                               .subject = subject_of(c, want->name),
                               .what = arena_printf(c->a, "order of the rules of %s", want->name)});
    }
}

/* ---- sets and maps --------------------------------------------------------------------------- */

static void element_differs(struct comparing *c, const struct nft_object *o,
                            const struct nft_entry *want, const struct nft_entry *have)
{
    const struct nft_entry *e = want != NULL ? want : have;
    bool changed = want != NULL && have != NULL;
    ks_differences_add(
        &c->d,
        (struct ks_difference){.kind = changed        ? KS_DIFF_CHANGED
                                       : want != NULL ? KS_DIFF_MISSING
                                                      : KS_DIFF_EXTRA,
                               .subject = subject_of_element(c, e),
                               .what = arena_printf(c->a, "%s in the %s %s", e->key,
                                                    o->is_map ? "map" : "set", o->name),
                               .want = want != NULL && *want->value != '\0' ? want->value : NULL,
                               .have = have != NULL && *have->value != '\0' ? have->value : NULL});
}

static void compare_elements(struct comparing *c, const struct nft_object *want,
                             const struct nft_object *have)
{
    const struct rules x = sorted_rules(c->a, want, false);
    const struct rules y = sorted_rules(c->a, have, false);
    size_t i = 0;
    size_t k = 0;
    while (i < x.n || k < y.n) {
        int order = i == x.n ? 1 : k == y.n ? -1 : strcmp(x.items[i]->key, y.items[k]->key);
        if (order != 0 || !str_eq(x.items[i]->value, y.items[k]->value)) {
            element_differs(c, want, order <= 0 ? x.items[i] : NULL,
                            order >= 0 ? y.items[k] : NULL);
        }
        i += order <= 0;
        k += order >= 0;
    }
}

/* The clients of one endpoint come and go with its chain. */
static bool goes_with_chain(const struct nft_table *other, const char *name)
{
    return str_has_prefix(name, "affinity-") &&
           nft_table_find(other, true,
                          arena_printf(other->a, "endpoint-%s", name + strlen("affinity-"))) ==
               NULL;
}

static void compare_set(struct comparing *c, const struct nft_object *want,
                        const struct nft_object *have)
{
    const char *subject = subject_of(c, want->name);
    if (!str_eq(want->about, have->about) && !map_has(c->told, subject)) {
        map_set(c->told, subject, NULL);
        ks_differences_add(&c->d, (struct ks_difference){.kind = KS_DIFF_CHANGED,
                                                         .subject = subject,
                                                         .what = "session affinity",
                                                         .want = str_or(want->about, "none"),
                                                         .have = str_or(have->about, "none")});
    }
    compare_elements(c, want, have);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void compare_objects(struct comparing *c)
{
    for (size_t i = 0; i < c->want.n; i++) {
        const struct nft_object *want = &c->want.objects[i];
        const struct nft_object *have = nft_table_find(&c->have, want->is_chain, want->name);
        if (have == NULL) {
            if (!goes_with_chain(&c->have, want->name)) {
                object_differs(c, want, KS_DIFF_MISSING);
            }
        } else if (want->is_chain) {
            compare_chain(c, want, have);
        } else {
            compare_set(c, want, have);
        }
    }
    for (size_t i = 0; i < c->have.n; i++) {
        const struct nft_object *have = &c->have.objects[i];
        bool empty = have->is_chain && have->n == 0; /* kube-proxy deletes it within a second */
        if (!empty && nft_table_find(&c->want, have->is_chain, have->name) == NULL &&
            !goes_with_chain(&c->want, have->name)) {
            object_differs(c, have, KS_DIFF_EXTRA);
        }
    }
}

/* The bit of the mark and --random-fully's twin come from configuration and kernel: said once. */
static struct ks_world adopt_facts(struct comparing *c, const struct ks_world *w)
{
    struct ks_world as = *w;
    const struct nft_object *masquerading = nft_table_find(&c->have, true, "masquerading");
    for (size_t i = 0; masquerading != NULL && i < masquerading->n; i++) {
        const char *words = masquerading->entries[i].words;
        unsigned long mark =
            str_has_prefix(words, "mark and ") ? strtoul(words + strlen("mark and "), NULL, 16) : 0;
        if (mark != 0 && mark != 1UL << w->config.masquerade_bit) {
            as.config.masquerade_bit = ks_mark_bit(mark);
            ks_differences_note(
                &c->d,
                arena_printf(c->a,
                             "the node marks with 0x%lx: masqueradeBit is %u there, %u in the "
                             "configuration that was read",
                             mark, as.config.masquerade_bit, w->config.masquerade_bit));
        }
    }
    return as;
}

/* Takes "fully-random" out of the wanted rules where the node has none. */
static void adopt_random(struct comparing *c)
{
    const struct nft_object *have = nft_table_find(&c->have, true, "masquerading");
    const struct nft_object *want = nft_table_find(&c->want, true, "masquerading");
    bool masks = false;
    for (size_t i = 0; have != NULL && i < have->n; i++) {
        masks |= strstr(have->entries[i].key, "masquerade") != NULL;
        if (strstr(have->entries[i].key, "fully-random") != NULL) {
            return;
        }
    }
    if (!masks) {
        return;
    }
    ks_differences_note(&c->d, "the node masquerades without fully-random: another release");
    for (size_t i = 0; i < want->n; i++) {
        struct nft_entry *e = &want->entries[i];
        e->key = str_replace(c->a, e->key, " fully-random", "");
        e->words = str_replace(c->a, e->words, " fully-random", "");
    }
}

static size_t count_entries(const struct nft_table *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        n += t->objects[i].n;
    }
    return n;
}

int ks_compare_nftables(struct arena *a, const struct ks_world *w, const char *text, size_t n,
                        struct ks_compared *ret, struct err *err)
{
    struct comparing *c = ARENA_NEW(a, struct comparing);
    const char *family = w->config.family == KS_IPV6 ? "ip6" : "ip";
    c->a = a;
    c->d.a = a;
    c->knows_cidrs = w->config.n_service_cidrs > 0;
    c->subjects = map_new(NULL);
    c->told = map_new(NULL);
    nft_table_begin(&c->want, a, family);
    nft_table_begin(&c->have, a, family);
    int code = nft_table_read_json(&c->have, text, n, err);
    if (code == ERR_OK) {
        const struct ks_world as = adopt_facts(c, w);
        const struct ks_lines lines = ks_render_nftables(a, &as);
        nft_table_read_lines(&c->want, &lines);
        adopt_random(c);
        for (size_t i = 0; i < w->n_ports; i++) {
            name_port(c, &w->ports[i]);
        }
        compare_objects(c);
        c->d.n_rules = count_entries(&c->have);
        c->d.n_others = c->have.n_others;
        ks_differences_finish(&c->d, ret);
    }
    nft_table_done(&c->want);
    nft_table_done(&c->have);
    map_free(c->subjects);
    map_free(c->told);
    return code;
}
