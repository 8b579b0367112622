/* SPDX-License-Identifier: Apache-2.0 */
/* rules_walk_nftables.c: a packet's way through kube-proxy's table of nftables.
 *
 * The hooks in their order: pre-dnat, nat, then input or forward (of the node: output), and
 * postrouting for what got another destination.  Chains, sets and maps are all walk_chains; an
 * element is a rule of one. */
#include "tests/unit/services/rules_walk_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk_rules *walk_nftables_parse(const char *const *lines, size_t n)
{
    struct walk_rules *r = walk_rules_new();
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            struct walk_rule words = walk_split(lines[i]); /* add KIND FAMILY TABLE NAME … */
            const char *kind = words.n > 1 ? words.words[1] : "";
            bool declares =
                strcmp(kind, "chain") == 0 || strcmp(kind, "set") == 0 || strcmp(kind, "map") == 0;
            bool fills = strcmp(kind, "rule") == 0 || strcmp(kind, "element") == 0;
            if (words.n < 5 || (!declares && !fills && strcmp(kind, "table") != 0)) {
                walk_fail("not a line of a table", &words);
            }
            if (pass == 0 && declares) {
                walk_chain_add(r, strcmp(kind, "chain") == 0 ? "chain" : "set", words.words[4]);
            }
            if (pass == 1 && fills) {
                const char *as = strcmp(kind, "rule") == 0 ? "chain" : "set";
                struct walk_chain *c = (struct walk_chain *)walk_chain_find(r, as, words.words[4]);
                struct walk_rule rule = {calloc(words.n, sizeof(char *)), words.n - 5};
                for (size_t w = 0; w < words.n; w++) {
                    if (w < 5) {
                        free(words.words[w]);
                    } else {
                        rule.words[w - 5] = words.words[w];
                    }
                }
                free(words.words);
                walk_chain_append(c, rule);
            } else {
                for (size_t w = 0; w < words.n; w++) {
                    free(words.words[w]);
                }
                free(words.words);
            }
        }
        if (pass == 0) {
            walk_rules_sort(r);
        }
    }
    return r;
}

/* --- expressions ------------------------------------------------------------------------------ */

/* A rule that is being read. */
struct reading {
    struct walk_state *s;
    const struct walk_rule *rule;
    size_t at;
    bool dnated; /* the packet has its new destination */
};

static const char *word(const struct reading *x)
{
    return x->at < x->rule->n ? x->rule->words[x->at] : "";
}

static bool accept(struct reading *x, const char *text)
{
    struct walk_rule want = walk_split(text);
    bool same = x->at + want.n <= x->rule->n;
    for (size_t i = 0; i < want.n; i++) {
        same = same && strcmp(x->rule->words[x->at + i], want.words[i]) == 0;
        free(want.words[i]);
    }
    free(want.words);
    x->at += same ? want.n : 0;
    return same;
}

/* A field of the packet as text. */
static bool field(struct reading *x, char out[WALK_TEXT])
{
    const struct walk_packet *p = x->s->packet;
    if (accept(x, "ip saddr") || accept(x, "ip6 saddr")) {
        snprintf(out, WALK_TEXT, "%s", p->source);
    } else if (accept(x, "ip daddr") || accept(x, "ip6 daddr")) {
        snprintf(out, WALK_TEXT, "%s", p->dest);
    } else if (accept(x, "meta l4proto")) {
        snprintf(out, WALK_TEXT, "%s", p->protocol);
    } else if (accept(x, "th dport")) {
        snprintf(out, WALK_TEXT, "%d", p->port);
    } else {
        return false;
    }
    return true;
}

/* The element of a set or map with this key; NULL: none.  *ret_at is the word behind the key. */
static const struct walk_rule *element(const struct walk_chain *set, const struct walk_rule *key,
                                       size_t *ret_at)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct walk_rule *e = &set->rules[i]; /* { KEY [comment TEXT] [: VERDICT] } */
        bool same = e->n >= key->n + 2;
        for (size_t w = 0; same && w < key->n; w++) {
            same = strcmp(e->words[1 + w], key->words[w]) == 0;
        }
        const char *behind = same ? e->words[1 + key->n] : "";
        if (strcmp(behind, ":") == 0 || strcmp(behind, "}") == 0) {
            *ret_at = 1 + key->n;
            return e;
        }
        if (strcmp(behind, "comment") == 0) {
            *ret_at = 3 + key->n;
            return e;
        }
    }
    return NULL;
}

/* "{ a,b }" or "{ a , b }". */
static bool in_braces(struct reading *x, const char *value)
{
    bool found = false;
    for (; strcmp(word(x), "}") != 0; x->at++) {
        char *items = strdup(word(x));
        for (char *save = NULL, *item = strtok_r(items, ",", &save); item != NULL;
             item = strtok_r(NULL, ",", &save)) {
            found = found || walk_address_in(value, item);
        }
        free(items);
    }
    x->at++;
    return found;
}

static void jump(struct reading *x, const struct walk_rule *from, size_t at)
{
    const char *verb = from->words[at];
    if (strcmp(verb, "goto") == 0) {
        x->s->depth--; /* the chain that is left is not come back to */
    } else if (strcmp(verb, "jump") != 0) {
        walk_fail("not a jump", from);
    }
    walk_push(x->s, walk_chain_find(x->s->rules, "chain", from->words[at + 1]));
}

enum step {
    STEP_NEXT_WORD = 0, /* the match holds */
    STEP_NEXT_RULE,     /* it does not, or the rule is over */
    STEP_ENDED,
};

static enum step verdict(struct reading *x, const struct walk_rule *from, size_t at)
{
    const char *verb = from->words[at];
    if (strcmp(verb, "drop") == 0 || strcmp(verb, "reject") == 0) {
        walk_end_at(x->s, strcmp(verb, "drop") == 0 ? "DROP" : "REJECT", false);
        return STEP_ENDED;
    }
    jump(x, from, at);
    return STEP_NEXT_RULE;
}

/* Fields joined by dots, and what they are compared with. */
static enum step compare(struct reading *x)
{
    char text[6 * WALK_TEXT] = "";
    char value[WALK_TEXT];
    while (field(x, value)) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                 text[0] == '\0' ? "" : " . ", value);
        if (!accept(x, ".")) {
            break;
        }
    }
    struct walk_rule key = walk_split(text);
    enum step step = STEP_NEXT_RULE;
    if (accept(x, "vmap") || word(x)[0] == '@') {
        size_t at = 0;
        bool map = strcmp(x->rule->words[x->at - 1], "vmap") == 0;
        const struct walk_chain *set = walk_chain_find(x->s->rules, "set", word(x) + 1);
        const struct walk_rule *found = element(set, &key, &at);
        x->at++;
        if (found != NULL) {
            step = map ? verdict(x, found, at + 1) : STEP_NEXT_WORD;
        }
    } else {
        bool negated = accept(x, "!=");
        bool is = accept(x, "{") ? in_braces(x, text)
                  : strchr(text, '.') == NULL && strchr(text, ':') == NULL
                      ? strcmp(text, x->rule->words[x->at++]) == 0
                      : walk_address_in(text, x->rule->words[x->at++]);
        step = is != negated ? STEP_NEXT_WORD : STEP_NEXT_RULE;
    }
    for (size_t i = 0; i < key.n; i++) {
        free(key.words[i]);
    }
    free(key.words);
    return step;
}

static enum step run(struct walk_state *s, bool dnated, bool *ret_masquerade);

/* "numgen random mod N vmap { 0 : goto C , … }". */
static enum step draw_chain(struct reading *x)
{
    size_t n = walk_number(word(x));
    x->at += 3;                                  /* N vmap { */
    for (size_t i = 0; i < n; i++, x->at += 5) { /* i : goto C , */
        struct walk_state way = *x->s;
        struct reading there = {.s = &way, .rule = x->rule};
        bool masquerade = false;
        way.probability /= (double)n;
        if (walk_number(word(x)) != i) {
            walk_fail("numbers have a gap", x->rule);
        }
        jump(&there, x->rule, x->at + 2);
        if (run(&way, false, &masquerade) != STEP_ENDED) {
            walk_fail("a way that was drawn comes back", x->rule);
        }
    }
    return STEP_ENDED;
}

/* The packet has a new destination: what postrouting makes of it. */
static void dnat(struct reading *x, const char *ip, const char *port)
{
    char endpoint[2 * WALK_TEXT];
    struct walk_packet moved = *x->s->packet;
    struct walk_state way = *x->s;
    bool masquerade = false;
    moved.dest = ip;
    moved.port = (int)walk_number(port);
    way.packet = &moved;
    way.depth = 0;
    walk_push(&way, walk_chain_find(way.rules, "chain", "nat-postrouting"));
    run(&way, true, &masquerade);
    snprintf(endpoint, sizeof(endpoint), strchr(ip, ':') != NULL ? "[%s]:%s" : "%s:%s", ip, port);
    walk_end_at(x->s, endpoint, masquerade);
}

/* "dnat ip addr . port to numgen random mod N map { 0 : A . P , … }", or "dnat to A:P". */
static enum step rewrite(struct reading *x)
{
    if (accept(x, "to")) {
        char *text = strdup(word(x));
        char *colon = strrchr(text, ':');
        *colon = '\0';
        bool six = text[0] == '[';
        colon[-1] = six ? '\0' : colon[-1];
        dnat(x, text + six, colon + 1);
        free(text);
        return STEP_ENDED;
    }
    if (!accept(x, "ip addr . port to numgen random mod") &&
        !accept(x, "ip6 addr . port to numgen random mod")) {
        walk_fail("not understood", x->rule);
    }
    size_t n = walk_number(word(x));
    x->at += 3; /* N map { */
    x->s->probability /= (double)n;
    for (size_t i = 0; i < n; i++, x->at += 6) { /* i : A . P , */
        if (x->at + 4 >= x->rule->n || walk_number(word(x)) != i) {
            walk_fail("numbers have a gap", x->rule);
        }
        dnat(x, x->rule->words[x->at + 2], x->rule->words[x->at + 4]);
    }
    return STEP_ENDED;
}

/* "mark and M != 0", "mark set mark or M", "mark set mark xor M". */
static enum step mark(struct reading *x)
{
    if (accept(x, "and")) {
        unsigned long mask = strtoul(word(x), NULL, 16);
        x->at += 3;
        return (x->s->mark & mask) != 0 ? STEP_NEXT_WORD : STEP_NEXT_RULE;
    }
    bool either = accept(x, "set mark or");
    if (!either && !accept(x, "set mark xor")) {
        walk_fail("not understood", x->rule);
    }
    unsigned long bits = strtoul(word(x), NULL, 16);
    x->at++;
    x->s->mark = either ? x->s->mark | bits : x->s->mark ^ bits;
    return STEP_NEXT_WORD;
}

static enum step local(struct reading *x, const char *address)
{
    return walk_is_local(x->s->packet, address) ? STEP_NEXT_WORD : STEP_NEXT_RULE;
}

/* One statement or match of a rule. */
static enum step statement(struct reading *x, bool *ret_masquerade)
{
    if (accept(x, "ct state new")) {
        return STEP_NEXT_WORD;
    }
    if (accept(x, "ct status dnat")) {
        return x->dnated ? STEP_NEXT_WORD : STEP_NEXT_RULE;
    }
    if (accept(x, "fib saddr type local")) {
        return local(x, x->s->packet->source);
    }
    if (accept(x, "fib daddr type local")) {
        return local(x, x->s->packet->dest);
    }
    if (accept(x, "iifname")) {
        bool negated = accept(x, "!=");
        bool is = walk_interface_is(x->s->packet, x->rule->words[x->at++], '*');
        return is != negated ? STEP_NEXT_WORD : STEP_NEXT_RULE;
    }
    if (accept(x, "mark")) {
        return mark(x);
    }
    if (accept(x, "masquerade fully-random")) {
        *ret_masquerade = true;
        return STEP_ENDED;
    }
    if (accept(x, "numgen random mod")) {
        return draw_chain(x);
    }
    if (accept(x, "dnat")) {
        return rewrite(x);
    }
    if (accept(x, "update")) {
        x->at += 5; /* @set { ip saddr } */
        return STEP_NEXT_WORD;
    }
    if (accept(x, "comment")) {
        x->at++;
        return STEP_NEXT_WORD;
    }
    static const char *const verbs[] = {"drop", "reject", "goto", "jump"};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(word(x), verbs[i]) == 0) {
            return verdict(x, x->rule, x->at);
        }
    }
    size_t before = x->at;
    enum step step = compare(x);
    if (x->at == before) {
        walk_fail("not understood", x->rule);
    }
    return step;
}

/* Walks until the chain in which the way began ends (STEP_NEXT_RULE), or the way does. */
static enum step run(struct walk_state *s, bool dnated, bool *ret_masquerade)
{
    while (s->depth > 0) {
        const struct walk_chain *c = s->chain[s->depth - 1];
        size_t at = s->at[s->depth - 1]++;
        if (at == c->n) {
            s->depth--;
            continue;
        }
        struct reading x = {.s = s, .rule = &c->rules[at], .dnated = dnated};
        enum step step = STEP_NEXT_WORD;
        while (step == STEP_NEXT_WORD && x.at < x.rule->n) {
            step = statement(&x, ret_masquerade);
        }
        if (step == STEP_ENDED) {
            return STEP_ENDED;
        }
    }
    return STEP_NEXT_RULE;
}

struct walk_outcome walk_nftables(const struct walk_rules *rules, const struct walk_packet *p)
{
    struct walk_outcome outcome = {0};
    struct walk_state s = {.rules = rules, .packet = p, .outcome = &outcome, .probability = 1};
    bool own = p->interface == NULL;
    bool to_node = walk_is_local(p, p->dest);
    const char *hooks[5] = {own ? "filter-output-pre-dnat" : "filter-prerouting-pre-dnat",
                            own ? "nat-output" : "nat-prerouting"};
    size_t n = 2;
    if (own) {
        hooks[n++] = "filter-output";
    } else if (!to_node) {
        hooks[n++] = "filter-forward";
    }
    if (to_node) {
        hooks[n++] = "filter-input";
    }
    bool masquerade = false;
    for (size_t i = 0; i < n; i++) {
        walk_push(&s, walk_chain_find(rules, "chain", hooks[i]));
        if (run(&s, false, &masquerade) == STEP_ENDED) {
            return outcome;
        }
    }
    walk_end_at(&s, "", false);
    return outcome;
}
