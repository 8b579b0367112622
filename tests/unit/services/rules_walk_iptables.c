/* SPDX-License-Identifier: Apache-2.0 */
/* rules_walk_iptables.c: a packet's way through kube-proxy's chains of iptables.
 *
 * The chains hang on hooks of the kernel; a new connection goes first through nat KUBE-SERVICES.
 * When no rule there gave it another destination, tables filter's chains see it: those of INPUT
 * when it is for the node, else those of FORWARD; a packet of the node itself sees those of OUTPUT,
 * and those of FORWARD and INPUT as well, as upstream's tracer has it. */
#include "tests/unit/services/rules_walk_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The verdict of a rule's matches: it matches with a probability (0 or 1 unless it draws). */
struct matched {
    double probability;
    size_t target; /* place of the target's name; 0: the rule has none */
};

struct walk_rules *walk_iptables_parse(const char *text)
{
    struct walk_rules *r = walk_rules_new();
    char table[WALK_TEXT] = "";
    char name[WALK_TEXT];
    bool sorted = false;
    for (int pass = 0; pass < 2; pass++) { /* chains, then rules */
        for (const char *line = text; *line != '\0';) {
            size_t len = strcspn(line, "\n");
            char *copy = strndup(line, len);
            if (copy[0] == '*') {
                snprintf(table, sizeof(table), "%s", copy + 1);
            } else if (copy[0] == ':' && pass == 0) {
                sscanf(copy, ":%63s", name);
                walk_chain_add(r, table, name);
            } else if (strncmp(copy, "-A ", 3) == 0 && pass == 1) {
                sscanf(copy, "-A %63s", name);
                struct walk_chain *c = (struct walk_chain *)walk_chain_find(r, table, name);
                walk_chain_append(c, walk_split(copy + 3 + strlen(name)));
            }
            free(copy);
            line += len + (line[len] == '\n');
        }
        if (!sorted) {
            walk_rules_sort(r);
            sorted = true;
        }
    }
    return r;
}

/* --- matches ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(word, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* Options that do not decide about a new connection with empty lists, by the words
 * that follow them. */
static bool skips(const struct walk_rule *r, size_t *i)
{
    static const char *const none[] = {"--set", "--reap", "--rsource", NULL};
    static const char *const one[] = {"-m",     "--comment", "--mode",        "--name",
                                      "--mask", "--seconds", "--nfacct-name", NULL};
    if (is_one_of(r->words[*i], none)) {
        return true;
    }
    if (is_one_of(r->words[*i], one) && *i + 1 < r->n) {
        (*i)++;
        return true;
    }
    return false;
}

/* Returns whether an entry of an ipset, as text, is the packet's; `sides` says of each part whether
 * it is of the source. */
static bool entry_is(const struct walk_packet *p, const char *entry, const char *sides)
{
    char copy[4 * WALK_TEXT];
    size_t part = 0;
    bool is = true;
    snprintf(copy, sizeof(copy), "%s", entry);
    for (char *save = NULL, *text = strtok_r(copy, ",", &save); text != NULL && is;
         text = strtok_r(NULL, ",", &save), part++) {
        const char *side = strstr(sides, part == 0 ? "" : ",");
        for (size_t i = 1; i < part && side != NULL; i++) {
            side = strchr(side + 1, ',');
        }
        bool source = side != NULL && strncmp(side + (part > 0), "src", 3) == 0;
        char protocol[WALK_TEXT];
        unsigned port = 0;
        if (sscanf(text, "%63[a-z]:%u", protocol, &port) == 2) {
            is = strcmp(protocol, p->protocol) == 0 && (int)port == p->port && !source;
        } else if (strchr(text, '.') == NULL && strchr(text, ':') == NULL) {
            is = (int)walk_number(text) == p->port;
        } else {
            is = walk_address_in(source ? p->source : p->dest, text);
        }
    }
    return is;
}

static bool in_set(const struct walk_state *s, const char *name, const char *sides)
{
    const struct walk_chain *set = walk_chain_find(s->rules, "set", name);
    bool in = false;
    for (size_t i = 0; i < set->n && !in; i++) {
        in = entry_is(s->packet, set->rules[i].words[0], sides);
    }
    return in;
}

/* One match with its value; a word that is not known ends the process. */
static bool holds(const struct walk_state *s, const struct walk_rule *r, size_t i)
{
    const struct walk_packet *p = s->packet;
    const char *word = r->words[i];
    const char *value = r->words[i + 1];
    if (strcmp(word, "-s") == 0) {
        return walk_address_in(p->source, value);
    }
    if (strcmp(word, "-d") == 0) {
        return walk_address_in(p->dest, value);
    }
    if (strcmp(word, "-p") == 0) {
        return strcmp(p->protocol, value) == 0;
    }
    if (strcmp(word, "--vaddr") == 0) {
        return walk_address_in(p->dest, value);
    }
    if (strcmp(word, "--vproto") == 0) {
        return strcmp(p->protocol, value) == 0;
    }
    if (strcmp(word, "--ctstate") == 0) {
        return strcmp(value, "NEW") == 0;
    }
    if (strcmp(word, "--mark") == 0) {
        return (s->mark & strtoul(value, NULL, 16)) != 0;
    }
    if (strcmp(word, "--dport") == 0 || strcmp(word, "--vport") == 0) {
        return p->port == (int)walk_number(value);
    }
    if (strcmp(word, "-i") == 0) {
        return walk_interface_is(p, value, '+');
    }
    bool source = strcmp(word, "--src-type") == 0;
    if ((source || strcmp(word, "--dst-type") == 0) && strcmp(value, "LOCAL") == 0) {
        return walk_is_local(p, source ? p->source : p->dest);
    }
    walk_fail("not understood", r);
    return false;
}

static struct matched match(const struct walk_state *s, const struct walk_rule *r)
{
    struct matched m = {.probability = 1};
    bool negated = false;
    for (size_t i = 0; i < r->n; i++) {
        const char *word = r->words[i];
        if (strcmp(word, "-j") == 0) {
            m.target = i + 1;
            return m;
        }
        if (strcmp(word, "!") == 0) {
            negated = true;
        } else if (strcmp(word, "--rcheck") == 0) {
            m.probability = 0; /* no client is in a list */
        } else if (strcmp(word, "--match-set") == 0) {
            m.probability *= in_set(s, r->words[i + 1], r->words[i + 2]);
            i += 2;
        } else if (strcmp(word, "--physdev-is-in") == 0) {
            m.probability *= negated; /* no bridge hands packets on */
            negated = false;
        } else if (strcmp(word, "--probability") == 0) {
            m.probability *= strtod(r->words[++i], NULL);
        } else if (!skips(r, &i)) {
            m.probability *= holds(s, r, i) != negated;
            negated = false;
            i++;
        }
    }
    return m;
}

/* --- the way ---------------------------------------------------------------------------------- */

/* Does what the rule's target says. */
static enum walk_way follow(struct walk_state *s, const char *table, const struct walk_rule *r,
                            size_t target)
{
    const char *name = r->words[target];
    if (strcmp(name, "DNAT") == 0) {
        walk_end_at(s, r->words[target + 2], s->mark != 0);
        return WALK_ENDED;
    }
    if (strcmp(name, "MASQUERADE") == 0) {
        s->masquerade = true;
        return WALK_LEFT;
    }
    if (strcmp(name, "ACCEPT") == 0 && strcmp(table, "nat") == 0) {
        return WALK_LEFT;
    }
    if (strcmp(name, "DROP") == 0 || strcmp(name, "REJECT") == 0 || strcmp(name, "ACCEPT") == 0) {
        walk_end_at(s, name, false);
        return WALK_ENDED;
    }
    if (strcmp(name, "RETURN") == 0) {
        s->depth--;
    } else if (strcmp(name, "MARK") == 0) {
        unsigned long mark = strtoul(r->words[target + 2], NULL, 16);
        bool clears = strcmp(r->words[target + 1], "--xor-mark") == 0;
        s->mark = clears ? s->mark ^ mark : s->mark | mark;
    } else {
        walk_push(s, walk_chain_find(s->rules, table, name));
    }
    return WALK_ON;
}

/* Walks until the chain in which the way began ends, or the way does. */
static enum walk_way walk(struct walk_state *s, const char *table)
{
    while (s->depth > 0) {
        const struct walk_chain *c = s->chain[s->depth - 1];
        size_t at = s->at[s->depth - 1]++;
        if (at == c->n) {
            s->depth--;
            continue;
        }
        struct matched m = match(s, &c->rules[at]);
        if (m.target == 0 || m.probability <= 0) {
            continue;
        }
        if (m.probability < 1) {
            struct walk_state taken = *s;
            taken.probability *= m.probability;
            if (follow(&taken, table, &c->rules[at], m.target) == WALK_ON &&
                walk(&taken, table) == WALK_ON) {
                walk_fail("a way that was drawn comes back", &c->rules[at]);
            }
            s->probability *= 1 - m.probability;
            continue;
        }
        enum walk_way way = follow(s, table, &c->rules[at], m.target);
        if (way != WALK_ON) {
            return way;
        }
    }
    return WALK_ON;
}

enum walk_way walk_iptables_chain(struct walk_state *s, const char *table, const char *chain)
{
    s->depth = 0;
    walk_push(s, walk_chain_find(s->rules, table, chain));
    return walk(s, table);
}

struct walk_outcome walk_iptables(const struct walk_rules *rules, const struct walk_packet *p)
{
    struct walk_outcome outcome = {0};
    struct walk_state s = {.rules = rules, .packet = p, .outcome = &outcome, .probability = 1};
    if (walk_iptables_chain(&s, "nat", "KUBE-SERVICES") == WALK_ENDED) {
        return outcome;
    }
    static const struct {
        const char *chain;
        bool only_input;
    } hooks[] = {{"KUBE-SERVICES", false},
                 {"KUBE-EXTERNAL-SERVICES", false},
                 {"KUBE-NODEPORTS", true},
                 {"KUBE-PROXY-FIREWALL", false}};
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        if (!hooks[i].only_input || walk_is_local(p, p->dest)) {
            if (walk_iptables_chain(&s, "filter", hooks[i].chain) == WALK_ENDED) {
                return outcome;
            }
        }
    }
    walk_end_at(&s, "", false);
    return outcome;
}
