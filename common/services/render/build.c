/* SPDX-License-Identifier: Apache-2.0 */
/* build.c: groups of lines, and the pieces of rules. */
#include "common/services/render/build.h"

#include <stdio.h>
#include <string.h>

/* --- groups ----------------------------------------------------------------------------------- */

struct ks_groups ks_groups_make(struct arena *a)
{
    return (struct ks_groups){.arena = a};
}

/* Doubles an array of the arena when it is full. */
static void *grown(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return items;
    }
    *cap = *cap == 0 ? 16 : 2 * *cap;
    void *bigger = arena_calloc(a, *cap, size);
    if (n > 0) {
        memcpy(bigger, items, n * size);
    }
    return bigger;
}

size_t ks_group_new(struct ks_groups *g, const char *name, const char *tail)
{
    g->groups = grown(g->arena, g->groups, g->n_groups, &g->cap_groups, sizeof(*g->groups));
    g->groups[g->n_groups] = (struct ks_group){.name = name, .tail = tail};
    return g->n_groups++;
}

void ks_group_add(struct ks_groups *g, size_t group, const char *text)
{
    g->items = grown(g->arena, g->items, g->n_items, &g->cap_items, sizeof(*g->items));
    g->items[g->n_items++] = (struct ks_item){.text = text, .group = (uint32_t)group};
    g->groups[group].n++;
}

const char *ks_words(struct arena *a, const char *const *pieces, size_t n)
{
    size_t size = 1;
    for (size_t i = 0; i < n; i++) {
        size += pieces[i] == NULL ? 0 : strlen(pieces[i]) + 1;
    }
    char *text = arena_alloc(a, size);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (pieces[i] != NULL) {
            size_t len = strlen(pieces[i]);
            if (at > 0) {
                text[at++] = ' ';
            }
            memcpy(text + at, pieces[i], len);
            at += len;
        }
    }
    return text;
}

void ks_groups_finish(struct ks_groups *g)
{
    const char **all = ARENA_ARRAY(g->arena, const char *, g->n_items);
    const char ***next = ARENA_ARRAY(g->arena, const char **, g->n_groups);
    size_t at = 0;
    for (size_t i = 0; i < g->n_groups; i++) {
        next[i] = all + at;
        g->groups[i].items = g->groups[i].n == 0 ? NULL : next[i];
        at += g->groups[i].n;
    }
    for (size_t i = 0; i < g->n_items; i++) {
        *next[g->items[i].group]++ = g->items[i].text;
    }
}

struct keyed {
    const char *item;
    size_t key_len;
    size_t place;
};

static int cmp_keys(const struct keyed *a, const struct keyed *b)
{
    int c = memcmp(a->item, b->item, a->key_len < b->key_len ? a->key_len : b->key_len);
    return c != 0 ? c : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static int cmp_keyed(const void *a, const void *b)
{
    const struct keyed *x = a;
    const struct keyed *y = b;
    int c = cmp_keys(x, y);
    return c != 0 ? c : (x->place > y->place) - (x->place < y->place);
}

static void sort_group(struct arena *a, struct ks_group *g, size_t (*key_len)(const char *item))
{
    struct keyed *sorted = ARENA_ARRAY(a, struct keyed, g->n);
    const char **items = ARENA_ARRAY(a, const char *, g->n);
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const char *item = g->items[i];
        sorted[i] = (struct keyed){item, key_len == NULL ? strlen(item) : key_len(item), i};
    }
    qsort(sorted, g->n, sizeof(sorted[0]), cmp_keyed);
    for (size_t i = 0; i < g->n; i++) {
        if (i == 0 || cmp_keys(&sorted[i - 1], &sorted[i]) != 0) {
            items[n++] = sorted[i].item;
        }
    }
    g->items = items;
    g->n = n;
}

void ks_groups_sort_items(struct ks_groups *g, size_t (*key_len)(const char *item))
{
    for (size_t i = 0; i < g->n_groups; i++) {
        if (g->groups[i].n > 1) {
            sort_group(g->arena, &g->groups[i], key_len);
        }
    }
}

static int cmp_groups(const void *a, const void *b)
{
    const struct ks_group *x = *(const struct ks_group *const *)a;
    const struct ks_group *y = *(const struct ks_group *const *)b;
    int c = strcmp(x->name, y->name);
    return c != 0 ? c : (x > y) - (x < y);
}

const size_t *ks_groups_by_name(const struct ks_groups *g)
{
    const struct ks_group **sorted = ARENA_ARRAY(g->arena, const struct ks_group *, g->n_groups);
    size_t *numbers = ARENA_ARRAY(g->arena, size_t, g->n_groups);
    for (size_t i = 0; i < g->n_groups; i++) {
        sorted[i] = &g->groups[i];
    }
    if (g->n_groups > 0) {
        qsort(sorted, g->n_groups, sizeof(sorted[0]), cmp_groups);
    }
    for (size_t i = 0; i < g->n_groups; i++) {
        numbers[i] = (size_t)(sorted[i] - g->groups);
    }
    return numbers;
}

struct ks_table ks_groups_table(struct ks_groups *g, const char *name)
{
    ks_groups_finish(g);
    struct ks_chain *chains = ARENA_ARRAY(g->arena, struct ks_chain, g->n_groups);
    uint32_t *order = ARENA_ARRAY(g->arena, uint32_t, g->n_items);
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct ks_group *from = &g->groups[i];
        chains[i] = (struct ks_chain){from->name, from->items, from->n};
    }
    for (size_t i = 0; i < g->n_items; i++) {
        order[i] = g->items[i].group;
    }
    return (struct ks_table){.name = name,
                             .chains = chains,
                             .n_chains = g->n_groups,
                             .order = order,
                             .n_order = g->n_items};
}

/* --- decisions -------------------------------------------------------------------------------- */

struct ks_exists ks_exists_of(const struct ks_world *w, const struct ks_port *p)
{
    bool restricted = p->n_lb_vips > 0 && p->n_source_ranges > 0;
    return (struct ks_exists){
        .cluster = p->uses_cluster && p->cluster.n > 0,
        .local = p->uses_local && p->local.n > 0,
        .external = p->has_any && p->externally_accessible,
        .restricted = restricted,
        .node_allowed = restricted && ks_node_in_ranges(&w->config, p),
        .has_internal = ks_has_internal(p),
        .has_external = ks_has_external(p),
    };
}

/* --- pieces ----------------------------------------------------------------------------------- */

const char *ks_ip_text(struct arena *a, const struct ip_addr *ip)
{
    char text[IP_TEXT_MAX];
    ip_format(ip, text);
    return arena_strdup(a, text);
}

const char *ks_net_text(struct arena *a, const struct ip_net *net)
{
    char text[IP_TEXT_MAX];
    ip_net_format(net, text);
    return arena_strdup(a, text);
}

const char *ks_number(struct arena *a, int64_t n)
{
    return arena_printf(a, "%lld", (long long)n);
}

const char *ks_mark(struct arena *a, const struct ks_node_config *config)
{
    return arena_printf(a, "0x%08lx", 1UL << (config->masquerade_bit & 31));
}

const char *ks_comment(struct arena *a, const char *text)
{
    return arena_printf(
        a, strchr(text, ' ') != NULL ? "-m comment --comment \"%s\"" : "-m comment --comment %s",
        text);
}

const char *ks_commentf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return ks_comment(a, text);
}

static const char *detector(struct arena *a, const struct ks_node_config *config,
                            const char *negation)
{
    const char *value = str_nonnull(config->detect_value);
    switch (config->detect) {
    case KS_DETECT_CIDR:
        return arena_printf(a, "%s-s %s", negation, value);
    case KS_DETECT_BRIDGE:
        return arena_printf(a, "%s-i %s", negation, value);
    case KS_DETECT_PREFIX:
        return arena_printf(a, "%s-i %s+", negation, value);
    case KS_DETECT_NONE:
        break;
    }
    return NULL;
}

const char *ks_if_local(struct arena *a, const struct ks_node_config *config)
{
    return detector(a, config, "");
}

const char *ks_if_not_local(struct arena *a, const struct ks_node_config *config)
{
    return detector(a, config, "! ");
}

void ks_masquerade_rules(struct ks_groups *nat, size_t postrouting, size_t mark_masq,
                         const struct ks_node_config *config)
{
    const char *mark = ks_mark(nat->arena, config);
    KS_RULE(nat, postrouting, "-m mark ! --mark", arena_printf(nat->arena, "%s/%s", mark, mark),
            "-j RETURN");
    KS_RULE(nat, postrouting, "-j MARK --xor-mark", mark);
    KS_RULE(nat, postrouting, ks_comment(nat->arena, "kubernetes service traffic requiring SNAT"),
            "-j MASQUERADE", config->random_fully ? "--random-fully" : NULL);
    KS_RULE(nat, mark_masq, "-j MARK --or-mark", mark);
}

void ks_forward_rules(struct ks_groups *filter, size_t forward, const struct ks_node_config *config)
{
    const char *mark = ks_mark(filter->arena, config);
    KS_RULE(filter, forward, ks_comment(filter->arena, "kubernetes forwarding rules"),
            "-m mark --mark", arena_printf(filter->arena, "%s/%s", mark, mark), "-j ACCEPT");
    KS_RULE(filter, forward, ks_comment(filter->arena, "kubernetes forwarding conntrack rule"),
            "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT");
}
