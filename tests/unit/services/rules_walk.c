/* SPDX-License-Identifier: Apache-2.0 */
/* rules_walk.c: what both walkers share; see rules_walk_internal.h. */
#include "tests/unit/services/rules_walk_internal.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void walk_fail(const char *why, const struct walk_rule *rule)
{
    fprintf(stderr, "rules_walk: %s:", why);
    for (size_t i = 0; rule != NULL && i < rule->n; i++) {
        fprintf(stderr, " %s", rule->words[i]);
    }
    fprintf(stderr, "\n");
    abort();
}

size_t walk_number(const char *text)
{
    char *end = NULL;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text) {
        fprintf(stderr, "rules_walk: not a number: %s\n", text);
        abort();
    }
    return n;
}

static void *more(void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return items;
    }
    *cap = *cap == 0 ? 8 : 2 * *cap;
    items = realloc(items, *cap * size);
    if (items == NULL) {
        walk_fail("out of memory", NULL);
    }
    return items;
}

/* --- text ------------------------------------------------------------------------------------- */

struct walk_rule walk_split(const char *text)
{
    struct walk_rule rule = {0};
    size_t cap = 0;
    while (*(text += strspn(text, " ")) != '\0') {
        char *word = malloc(strlen(text) + 1);
        size_t n = 0;
        if (*text == '"') {
            for (text++; *text != '\0' && *text != '"'; text++) {
                text += *text == '\\';
                word[n++] = *text;
            }
            text += *text == '"';
        } else {
            n = strcspn(text, " ");
            memcpy(word, text, n);
            text += n;
        }
        word[n] = '\0';
        rule.words = more(rule.words, rule.n, &cap, sizeof(*rule.words));
        rule.words[rule.n++] = word;
    }
    return rule;
}

/* --- chains ----------------------------------------------------------------------------------- */

struct walk_rules *walk_rules_new(void)
{
    return calloc(1, sizeof(struct walk_rules));
}

struct walk_chain *walk_chain_add(struct walk_rules *r, const char *kind, const char *name)
{
    struct walk_chain *c = calloc(1, sizeof(*c));
    size_t size = strlen(kind) + strlen(name) + 2;
    r->chains = more(r->chains, r->n, &r->cap, sizeof(*r->chains));
    r->chains[r->n++] = c;
    c->name = malloc(size);
    snprintf(c->name, size, "%s %s", kind, name);
    return c;
}

static int cmp_chains(const void *a, const void *b)
{
    return strcmp((*(struct walk_chain *const *)a)->name, (*(struct walk_chain *const *)b)->name);
}

void walk_rules_sort(struct walk_rules *r)
{
    if (r->n > 0) {
        qsort(r->chains, r->n, sizeof(*r->chains), cmp_chains);
    }
    for (size_t i = 1; i < r->n; i++) {
        if (strcmp(r->chains[i - 1]->name, r->chains[i]->name) == 0) {
            fprintf(stderr, "rules_walk: twice: %s\n", r->chains[i]->name);
            abort();
        }
    }
}

const struct walk_chain *walk_chain_get(const struct walk_rules *r, const char *kind,
                                        const char *name)
{
    size_t low = 0;
    size_t high = r->n;
    size_t kind_len = strlen(kind);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *at = r->chains[middle]->name;
        int c = strncmp(kind, at, kind_len);
        c = c != 0 ? c : ' ' - (unsigned char)at[kind_len];
        c = c != 0 ? c : strcmp(name, at + kind_len + 1);
        if (c == 0) {
            return r->chains[middle];
        }
        if (c < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

const struct walk_chain *walk_chain_find(const struct walk_rules *r, const char *kind,
                                         const char *name)
{
    const struct walk_chain *c = walk_chain_get(r, kind, name);
    if (c == NULL) {
        fprintf(stderr, "rules_walk: no %s %s\n", kind, name);
        abort();
    }
    return c;
}

void walk_chain_append(struct walk_chain *c, struct walk_rule rule)
{
    c->rules = more(c->rules, c->n, &c->cap, sizeof(*c->rules));
    c->rules[c->n++] = rule;
}

void walk_rules_free(struct walk_rules *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct walk_chain *c = r->chains[i];
        for (size_t j = 0; j < c->n; j++) {
            for (size_t w = 0; w < c->rules[j].n; w++) {
                free(c->rules[j].words[w]);
            }
            free(c->rules[j].words);
        }
        free(c->rules);
        free(c->name);
        free(c);
    }
    free(r->chains);
    free(r);
}

void walk_push(struct walk_state *s, const struct walk_chain *c)
{
    if (s->depth == WALK_DEPTH) {
        walk_fail("chains call each other too deeply", NULL);
    }
    s->chain[s->depth] = c;
    s->at[s->depth++] = 0;
}

/* --- outcome ---------------------------------------------------------------------------------- */

void walk_end_at(struct walk_state *s, const char *endpoint, bool masquerade)
{
    struct walk_outcome *o = s->outcome;
    for (size_t i = 0; i < o->n; i++) {
        if (strcmp(o->ends[i].endpoint, endpoint) == 0 && o->ends[i].masquerade == masquerade) {
            o->ends[i].probability += s->probability;
            return;
        }
    }
    o->ends = more(o->ends, o->n, &o->cap, sizeof(*o->ends));
    struct walk_end *end = &o->ends[o->n++];
    *end = (struct walk_end){.probability = s->probability, .masquerade = masquerade};
    snprintf(end->endpoint, sizeof(end->endpoint), "%s", endpoint);
}

void walk_outcome_done(struct walk_outcome *o)
{
    free(o->ends);
    *o = (struct walk_outcome){0};
}

/* --- addresses -------------------------------------------------------------------------------- */

/* 4 or 16 bytes; 0 when it is not an address. */
static size_t read_address(const char *text, size_t len, unsigned char out[16])
{
    char copy[WALK_TEXT];
    if (len >= sizeof(copy)) {
        return 0;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    return inet_pton(AF_INET, copy, out) == 1 ? 4 : inet_pton(AF_INET6, copy, out) == 1 ? 16 : 0;
}

bool walk_address_in(const char *address, const char *net)
{
    unsigned char a[16];
    unsigned char n[16];
    size_t slash = strcspn(net, "/");
    size_t len = read_address(net, slash, n);
    if (len == 0) {
        fprintf(stderr, "rules_walk: not a network: %s\n", net);
        abort();
    }
    if (read_address(address, strlen(address), a) != len) {
        return false;
    }
    size_t bits = net[slash] == '/' ? walk_number(net + slash + 1) : 8 * len;
    for (size_t i = 0; i < bits; i++) {
        if (((a[i / 8] ^ n[i / 8]) >> (7 - i % 8) & 1) != 0) {
            return false;
        }
    }
    return true;
}

bool walk_is_local(const struct walk_packet *p, const char *address)
{
    if (walk_address_in(address, "127.0.0.0/8") || walk_address_in(address, "::1")) {
        return true;
    }
    for (size_t i = 0; i < p->n_local; i++) {
        if (walk_address_in(address, p->local[i])) {
            return true;
        }
    }
    return false;
}

bool walk_interface_is(const struct walk_packet *p, const char *name, char wild)
{
    size_t len = strlen(name);
    if (p->interface == NULL) {
        return false;
    }
    return len > 0 && name[len - 1] == wild ? strncmp(p->interface, name, len - 1) == 0
                                            : strcmp(p->interface, name) == 0;
}
